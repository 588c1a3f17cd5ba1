//! The decisions of Linux 7.3: probabilities of 32 bits, and a step for the low-latency queue.

use super::config::{DualPi2Config, ONE_OF_LINUX as ONE, Step};
use super::queues::Service;
use super::{DualPi2, Signal};
use crate::packet::{Ecn, Flow, Packet};
use crate::qdisc::DropReason;
use crate::random::Random;
use crate::time::Duration;

impl DualPi2Config {
    /// Returns the base probability after an update that finds `delay`, given that and the delay
    /// before. As in the kernel, the change is added modulo 2^32.
    pub(super) fn linux_updated(&self, delay: Duration, probability: u64, last_delay: Duration) -> u64 {
        // The difference modulo 2^64, as a signed number.
        let gap = |a: Duration, b: Duration| a.as_nanos().wrapping_sub(b.as_nanos()) as i64;
        let change = gap(delay, self.target)
            .wrapping_mul(scaled(self.alpha))
            .wrapping_add(gap(delay, last_delay).wrapping_mul(scaled(self.beta)));
        let step = (change.unsigned_abs() >> SCALE) & ONE;
        let moved = if change > 0 {
            let sum = (probability + step) & ONE;
            if sum < probability { ONE } else { sum }
        } else {
            probability.saturating_sub(step)
        };
        // Without drops the probability stops where the marks of L are certain: more of it would
        // only drop from C.
        if self.overflow { moved.min(ONE / u64::from(self.coupling)) } else { moved }
    }
}

/// A gain of 1/256 per second, per nanosecond and as a fraction of 2^32, with 6 binary places.
fn scaled(gain: u32) -> i64 {
    // Two of the eight binary places go here, the others after the sum: with all eight a gain of
    // 1/256 would be 0 (Linux `ALPHA_BETA_SCALING`).
    (((u64::from(gain) * ONE) >> 2) / 1_000_000_000) as i64
}

impl<P: Packet + Flow, R: Random> DualPi2<P, R> {
    /// Returns the queue for an arriving packet: L if its ECN field says so, or else that of its
    /// class.
    pub(super) fn linux_service(&self, packet: &P) -> Service {
        let is_l = match packet.ecn() {
            Ecn::NotEct => false,
            Ecn::Ect0 => self.config.any_ect,
            Ecn::Ect1 | Ecn::Ce => true,
        };
        match packet.class() {
            // `dualpi2_skb_classify()` does not look for a class then.
            _ if is_l => Service::LowLatency,
            Some(1) => Service::LowLatency,
            Some(2) => Service::Untouched,
            _ => Service::Classic,
        }
    }

    /// Returns the signal of the coupled AQM for a packet, beside a backlog of this many bytes.
    #[inline]
    pub(super) fn linux_signal(&mut self, service: Service, ecn: Ecn, backlog: u64) -> Signal {
        // Linux spares a small queue here but not in its step AQM.
        if self.is_small(backlog) || service == Service::Untouched {
            return Signal::None;
        }
        let coupled = self.pi.probability * u64::from(self.config.coupling);
        let overloaded = coupled > ONE;
        let capable = ecn.is_capable();
        match service {
            Service::Classic if !self.linux_rolls_twice() => Signal::None,
            // RFC 9332 §4.2: an overloaded queue drops packets that could be marked, too.
            Service::Classic if capable && !overloaded => Signal::Mark,
            Service::Classic => Signal::Drop,
            _ if overloaded && !self.config.overflow && self.linux_rolls_twice() => Signal::Drop,
            _ if overloaded => Signal::Mark,
            _ if !self.linux_rolls(coupled) => Signal::None,
            // A class may have brought it here.
            _ if !capable => Signal::Drop,
            _ => Signal::Mark,
        }
    }

    /// Returns the signal of L's own AQM for a packet that waited for `sojourn`, with `behind`
    /// packets in L behind it.
    pub(super) fn linux_step(&self, ecn: Ecn, sojourn: Duration, behind: usize) -> Signal {
        let is_above = match self.config.step {
            Step::Delay(most) => sojourn > most,
            Step::Packets(most) => behind as u64 > u64::from(most),
        };
        match (is_above, ecn.is_capable()) {
            (false, _) => Signal::None,
            (true, true) => Signal::StepMark,
            (true, false) => Signal::StepDrop,
        }
    }

    /// True with `probability`; with 0 still once in 2^32 draws.
    fn linux_rolls(&mut self, probability: u64) -> bool {
        u64::from(self.random.next_u32()) <= probability
    }

    /// p'²: a second draw only if the first one signals.
    fn linux_rolls_twice(&mut self) -> bool {
        self.linux_rolls(self.pi.probability) && self.linux_rolls(self.pi.probability)
    }
}

impl Signal {
    /// Returns the reason if the packet is to be dropped.
    pub(super) const fn reason(self) -> Option<DropReason> {
        match self {
            Self::Drop => Some(DropReason::Congested),
            Self::StepDrop => Some(DropReason::NotEct),
            Self::None | Self::Mark | Self::StepMark => None,
        }
    }
}

/// Binary places of a gain.
const SCALE: u32 = 6;
