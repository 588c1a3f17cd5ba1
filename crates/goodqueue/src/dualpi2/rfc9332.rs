//! The decisions of RFC 9332: exact probabilities, and a ramp for the low-latency queue.

use super::config::{DualPi2Config, ONE};
use super::queues::{Head, Service};
use super::{DualPi2, Signal};
use crate::packet::{Flow, Packet};
use crate::random::Random;
use crate::time::Duration;

impl DualPi2Config {
    /// Returns the base probability after an update that finds `delay`, given that and the delay
    /// before.
    pub(super) fn rfc_updated(&self, delay: Duration, probability: u64, last_delay: Duration) -> u64 {
        let gap = |a: Duration, b: Duration| i128::from(a.as_nanos()) - i128::from(b.as_nanos());
        let change =
            i128::from(self.alpha) * gap(delay, self.target) + i128::from(self.beta) * gap(delay, last_delay);
        let most = if self.overflow { self.saturation() } else { ONE };
        let moved =
            (i128::from(probability) + change.saturating_mul(PER_256_NANOS)).clamp(0, i128::from(most));
        u64::try_from(moved).unwrap_or(0)
    }

    /// The mark probability of L's own AQM, with `behind` packets in L behind the judged one.
    pub(super) fn ramp(&self, sojourn: Duration, behind: usize) -> u64 {
        if behind == 0 {
            return 0;
        }
        // RFC 9332 §A.1: a ramp from 0.8 to 1.2 ms.
        let step = self.step.delay().as_nanos();
        let low = step / 5 * 4;
        let range = step / 5 * 2;
        let above = sojourn.as_nanos().saturating_sub(low);
        if above >= range {
            // Without a ramp, at a threshold of 0, a packet that has not waited is still spared.
            return if sojourn.as_nanos() > low { ONE } else { 0 };
        }
        u64::try_from(u128::from(above) * u128::from(ONE) / u128::from(range.max(1))).unwrap_or(ONE)
    }
}

impl<P: Packet + Flow, R: Random> DualPi2<P, R> {
    /// Returns the signal for the packet whose turn it is.
    pub(super) fn rfc_signal(&mut self, head: Head) -> Signal {
        // Both AQMs look at what is behind the packet.
        if self.is_small(self.queues.bytes().saturating_sub(u64::from(head.bytes))) {
            return Signal::None;
        }
        match head.service {
            Service::Classic => self.rfc_signal_in_c(head.ecn.is_capable()),
            Service::LowLatency | Service::Untouched => self.rfc_signal_in_l(self.now.since(head.at)),
        }
    }

    fn rfc_signal_in_c(&mut self, capable: bool) -> Signal {
        if !self.rfc_rolls_twice() {
            Signal::None
        } else if capable && !self.is_overloaded() {
            Signal::Mark
        } else {
            Signal::Drop
        }
    }

    /// Returns the signal for an L packet that waited for `sojourn`.
    fn rfc_signal_in_l(&mut self, sojourn: Duration) -> Signal {
        if self.is_overloaded() {
            return if self.rfc_rolls_twice() { Signal::Drop } else { Signal::Mark };
        }
        let coupled = self.pi.probability.saturating_mul(u64::from(self.config.coupling)).min(ONE);
        let native = self.config.ramp(sojourn, self.queues.low_latency.len().saturating_sub(1));
        // RFC 9332 Appendix A.1: p_L is the larger one of p'_L and p_CL.
        match self.rfc_rolls(coupled.max(native)) {
            true if native == ONE => Signal::StepMark,
            true => Signal::Mark,
            false => Signal::None,
        }
    }

    fn is_overloaded(&self) -> bool {
        self.pi.probability > self.config.saturation()
    }

    /// True with `probability`, and never with 0.
    fn rfc_rolls(&mut self, probability: u64) -> bool {
        let drawn = (u128::from(self.random.next_u64()) * u128::from(ONE)) >> 64;
        drawn < u128::from(probability)
    }

    /// p'²: two draws.
    fn rfc_rolls_twice(&mut self) -> bool {
        self.rfc_rolls(self.pi.probability) && self.rfc_rolls(self.pi.probability)
    }
}

/// A gain of 1/256 per second times a nanosecond, in units of 10^-18: exact.
const PER_256_NANOS: i128 = 3_906_250;
