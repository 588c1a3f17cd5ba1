//! Evidence of CoDel's decisions.

use alloc::vec::Vec;

use super::config::{CE_THRESHOLD, INTERVAL, TARGET};
use super::vars::below;
use super::{CodelParams, CodelVariant, CodelVars, Head, linux};
use crate::decision::{Decision, Evidence, Fate, Moment, Quantity, Rule, rules};
use crate::gauge::Gauge;
use crate::time::{Duration, Instant};

impl CodelVars {
    /// Adds the state of the law, and its rule if it decides about the packet `head`.
    pub(crate) fn observe(
        &self,
        params: &CodelParams,
        about: &Decision,
        head: &Head,
        source: &'static str,
        evidence: &mut Evidence,
    ) {
        let now = about.now;
        evidence.given("sojourn", Quantity::Span(about.sojourn()), "how long this packet had waited");
        evidence.given(
            TARGET.name,
            Quantity::Span(params.target),
            "acceptable sojourn time of a standing queue",
        );
        evidence.given(
            INTERVAL.name,
            Quantity::Span(params.interval),
            "how long a queue may exceed the target",
        );
        evidence.fact(
            "first_above",
            self.first_above(params, now),
            "when the queue has been above target for an interval",
        );
        evidence.fact("dropping", Quantity::Flag(self.dropping), "CoDel is in a dropping phase");
        evidence.fact("count", Quantity::Number(u64::from(self.count)), "drops or marks of this phase");
        evidence.fact("lastcount", Quantity::Number(u64::from(self.lastcount)), "count at the phase's start");
        evidence.fact("drop_next", self.drop_next(params, now), "when the next drop is due");
        if about.moment == Moment::Departure {
            if let Some(rule) = self.rule(params, about, head) {
                // The law counts a drop before it computes the time of the next one.
                let count = self.count.saturating_add(1);
                let mut numbers = Vec::from([
                    ("behind", Quantity::Bytes(head.bytes_behind)),
                    ("spacing", Quantity::Span(spacing(params.interval, count))),
                ]);
                numbers.extend(params.ce_threshold.map(|span| (CE_THRESHOLD.name, Quantity::Span(span))));
                evidence.rule(rule, source, &numbers);
            }
        }
    }

    fn first_above(&self, params: &CodelParams, now: Instant) -> Quantity {
        match self.first_above {
            at if at == below(params.variant) => Quantity::Unset,
            at => self.on_the_clock(at, params, now),
        }
    }

    fn drop_next(&self, params: &CodelParams, now: Instant) -> Quantity {
        if self.dropping { self.on_the_clock(self.drop_next, params, now) } else { Quantity::Unset }
    }

    fn on_the_clock(&self, at: u64, params: &CodelParams, now: Instant) -> Quantity {
        match params.variant {
            // Linux's times have 32 bits and wrap around.
            CodelVariant::Linux | CodelVariant::Linux61 => match linux::until(at, now) {
                Gauge::Time(span) => Quantity::In(span),
                Gauge::Overdue(span) => Quantity::Ago(span),
                other => other.into(),
            },
            _ => Quantity::at(Instant::from_nanos(at), now),
        }
    }

    fn rule(&self, params: &CodelParams, about: &Decision, head: &Head) -> Option<Rule> {
        let is_due = |at: Quantity| matches!(at, Quantity::Ago(_));
        let is_below = params.is_below_target(head.at, about.now);
        let one_packet = u64::from(self.one_packet(params, head.bytes));
        let first_above = self.first_above(params, about.now);
        let drop_next = self.drop_next(params, about.now);
        let by_threshold =
            params.ce_threshold.is_some_and(|threshold| params.age(head.at, about.now) > threshold);
        Some(match about.fate {
            Fate::Sent if is_below && self.dropping => PHASE_ENDS,
            Fate::Sent if is_below => BELOW_TARGET,
            Fate::Sent if head.bytes_behind <= one_packet => LAST_PACKET,
            Fate::Sent if first_above == Quantity::Unset => FIRST_ABOVE,
            Fate::Sent if self.dropping && !is_due(drop_next) => DROP_NOT_DUE,
            Fate::Sent if !is_due(first_above) => WITHIN_INTERVAL,
            Fate::Sent => AFTER_DROPS,
            _ if !about.is_signal() => return None,
            _ if self.dropping && is_due(drop_next) => DROP_DUE,
            _ if !self.dropping && is_due(first_above) => PHASE_BEGINS,
            Fate::Marked if by_threshold => ABOVE_CE_THRESHOLD,
            _ => SAME_CALL,
        })
    }
}

rules! {
    /// Rules of CoDel's control law.
    pub(crate) RULES;
    /// The sojourn time is below the target.
    BELOW_TARGET: "codel.below_target" ["sojourn", TARGET.name];
    /// The same in a dropping phase.
    PHASE_ENDS: "codel.phase_ends" ["sojourn", TARGET.name];
    /// At most one packet is behind this one.
    LAST_PACKET: "codel.last_packet" ["sojourn", "behind"];
    /// The queue was below the target until now.
    FIRST_ABOVE: "codel.first_above" ["sojourn", TARGET.name, INTERVAL.name];
    /// The next drop of the phase is later.
    DROP_NOT_DUE: "codel.drop_not_due" ["count", "drop_next"];
    /// The queue has been above the target for less than an interval.
    WITHIN_INTERVAL: "codel.within_interval" ["sojourn", TARGET.name, INTERVAL.name, "first_above"];
    /// The call dropped packets in front of this one.
    AFTER_DROPS: "codel.after_drops" ["sojourn"];
    /// A drop of the phase is due.
    DROP_DUE: "codel.drop_due" ["sojourn", TARGET.name, "count", "drop_next", "spacing"];
    /// The queue has been above the target for an interval.
    PHASE_BEGINS: "codel.phase_begins" ["sojourn", TARGET.name, INTERVAL.name];
    /// The sojourn time is above `ce_threshold`.
    ABOVE_CE_THRESHOLD: "codel.ce_threshold" ["sojourn", CE_THRESHOLD.name];
    /// A signal after others in the same call.
    SAME_CALL: "codel.same_call" ["sojourn", TARGET.name];
}

/// Time between two drops.
fn spacing(interval: Duration, count: u32) -> Duration {
    super::control_law(Instant::ZERO, interval, count).since(Instant::ZERO)
}

/// RFC 8289: the routine that dequeues, and the helper that judges a packet.
pub(crate) const DEQUEUE: &str = "RFC 8289 §5.5 and §5.6";

rules! {
    /// Rules of a queue around the law.
    pub(super) OF_QUEUE;
    /// A full queue drops the packet that arrives, without asking the law.
    FULL: "codel.full" ["held", "allowed"];
}
