//! CoDel with approximate fairness: COBALT on the sojourn time, weighted by the flow's share of the
//! queue.

use crate::cobalt::{Verdict, root_by_steps};
use crate::packet::{Ecn, Packet};
use crate::random::Random;
use crate::time::{Duration, Instant};

/// Parameters that all flows share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Params {
    /// Acceptable weighted sojourn time, and how often BLUE may move.
    pub(super) target: Duration,
    /// Unit of the pace of signals.
    pub(super) interval: Duration,
}

/// State of the law for one flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Vars {
    /// Time of the next signal; while not dropping, time of the next decay.
    pub(super) next: Instant,
    blue_timer: Instant,
    /// Signals, less those that have decayed.
    pub(super) count: u32,
    /// 1/sqrt(count) as a fraction of 2^32.
    root: u32,
    /// BLUE's probability as a fraction of 2^32.
    pub(super) p_drop: u32,
    pub(super) dropping: bool,
}

/// A flow's share of the queue, with the packet that is judged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Share {
    /// Packets of the flow in the bulk queue.
    pub(super) of_flow: u32,
    /// Flows that build a queue.
    pub(super) flows: u32,
    /// Packets of all flows.
    pub(super) of_all: u64,
}

impl Share {
    /// True if `sojourn`, times the flow's share of the queue and the number of flows, is more than
    /// `bound`. Without a division, as in the module.
    pub(super) fn exceeds(&self, sojourn: Duration, bound: Duration) -> bool {
        // The module's product has 64 bits and wraps around; this one cannot.
        self.weight(sojourn) > u128::from(bound.as_nanos()).saturating_mul(u128::from(self.of_all))
    }

    /// Returns the weighted sojourn time that is compared with the target.
    pub(super) fn weighted(&self, sojourn: Duration) -> Duration {
        let nanos = self.weight(sojourn).checked_div(u128::from(self.of_all)).unwrap_or(0);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    fn weight(&self, sojourn: Duration) -> u128 {
        let weight = u64::from(self.of_flow).saturating_mul(u64::from(self.flows));
        u128::from(sojourn.as_nanos()).saturating_mul(u128::from(weight))
    }
}

impl Vars {
    /// A flow that was never late. The first step has no length, because the module clears the
    /// state and finds a root only when the count changes.
    pub(super) const NEW: Self = Self {
        next: Instant::ZERO,
        blue_timer: Instant::ZERO,
        count: 0,
        root: 0,
        p_drop: 0,
        dropping: false,
    };

    /// Decides about `packet`, which has waited for `sojourn` and is to be sent at `now`.
    pub(super) fn judge<P: Packet>(
        &mut self,
        now: Instant,
        params: &Params,
        sojourn: Duration,
        share: &Share,
        packet: &mut P,
        random: &mut impl Random,
    ) -> Verdict {
        let mut verdict = Verdict::SEND;
        let mut due = self.is_due(now);
        // The module keeps the comparison with the time that it had last looked at, although some
        // branches set a new time.
        let mut late = now > self.next;
        if share.exceeds(sojourn, params.target) {
            if !self.dropping {
                self.dropping = true;
                self.next = self.after(now, params);
                due = false;
            }
            // The root stays that of the last count, since the module finds a new one only when it
            // counts a signal or a decay.
            self.count = self.count.max(1);
        } else if self.dropping {
            self.next = self.after(now, params);
            self.dropping = false;
        }
        if due && self.dropping {
            let already = packet.ecn() == Ecn::Ce;
            let carries = packet.set_ce();
            verdict = Verdict { drop: !carries, marked: carries && !already };
            // As in the module, the count does not wrap.
            self.set_count(self.count.saturating_add(1));
            self.next = self.after(self.next, params);
            late = now > self.next;
        } else {
            while due {
                self.decay(params);
                late = now > self.next;
                due = self.is_due(now);
            }
        }
        if share.exceeds(sojourn, params.interval.saturating_mul(4)) {
            self.queue_full(now, params);
        }
        if self.p_drop > 0 && random.next_u32() < self.p_drop {
            verdict.drop = true;
        }
        if self.count == 0 {
            // Nothing is left to decay: what comes late next waits for a whole interval.
            self.next = now + params.interval;
        } else if late && !verdict.drop {
            self.next = now;
        }
        verdict
    }

    /// The flow has sent a packet without a queue, or has been idle. Changes nothing if the flow is
    /// in the state [`Self::NEW`].
    pub(super) fn queue_empty(&mut self, now: Instant, params: &Params) {
        if self.p_drop > 0 && now.since(self.blue_timer) > params.target {
            self.p_drop = self.p_drop.saturating_sub(P_DEC);
            self.blue_timer = now;
        }
        while self.is_due(now) {
            self.decay(params);
        }
        if self.dropping {
            self.next = self.after(now, params);
            self.dropping = false;
        }
    }

    /// The weighted sojourn time is far above the target: CoDel does not suffice.
    fn queue_full(&mut self, now: Instant, params: &Params) {
        if now.since(self.blue_timer) > params.target {
            self.p_drop = self.p_drop.saturating_add(P_INC);
            self.blue_timer = now;
        }
        self.dropping = true;
        self.next = now;
        self.count = self.count.max(1);
    }

    /// True if a signal, or a decay, is due.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.count > 0 && now >= self.next
    }

    fn decay(&mut self, params: &Params) {
        self.set_count(self.count.saturating_sub(1));
        self.next = self.after(self.next, params);
    }

    fn set_count(&mut self, count: u32) {
        self.count = count;
        self.root = root_by_steps(self.root, count);
    }

    /// `time + interval / sqrt(count)`.
    fn after(&self, time: Instant, params: &Params) -> Instant {
        // The module multiplies 32 bits.
        let interval = params.interval.as_nanos() & u64::from(u32::MAX);
        time + Duration::from_nanos((interval * u64::from(self.root)) >> 32)
    }
}

/// 1/256, as a fraction of 2^32.
const P_INC: u32 = 1 << 24;
/// 1/4096, as a fraction of 2^32.
const P_DEC: u32 = 1 << 20;
