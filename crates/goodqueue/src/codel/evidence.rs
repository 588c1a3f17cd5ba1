//! CoDel's state around one decision, in words.

use alloc::format;
use alloc::string::String;

use super::vars::below;
use super::{CodelParams, CodelVariant, CodelVars, linux};
use crate::decision::{Decision, Evidence, Fate, Moment, Quantity, readable};
use crate::gauge::Gauge;
use crate::time::{Duration, Instant};

impl CodelVars {
    /// Adds the state of the law, and its rule if it decided. `behind`: bytes that the law counts
    /// behind the packet.
    pub(crate) fn observe(
        &self,
        params: &CodelParams,
        about: &Decision,
        behind: u64,
        source: &'static str,
        evidence: &mut Evidence,
    ) {
        let now = about.now;
        evidence.given("sojourn", Quantity::Span(about.sojourn()), "how long this packet had waited");
        evidence.given(
            "target",
            Quantity::Span(params.target),
            "acceptable sojourn time of a standing queue",
        );
        evidence.given("interval", Quantity::Span(params.interval), "how long a queue may exceed the target");
        evidence.fact(
            "first_above",
            self.first_above(params, now),
            "when the queue has been above target for an interval",
        );
        evidence.fact("dropping", Quantity::Flag(self.dropping), "CoDel is in a dropping phase");
        evidence.fact("count", Quantity::Number(u64::from(self.count)), "drops or marks of this phase");
        evidence.fact("lastcount", Quantity::Number(u64::from(self.lastcount)), "count at the phase's start");
        evidence.fact("drop_next", self.drop_next(params, now), "when the next drop is due");
        if about.moment == Moment::Departure
            && let Some(text) = self.rule(params, about, behind)
        {
            evidence.rule(text, source);
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
            CodelVariant::Linux | CodelVariant::Linux61 => match linux::until(at, now) {
                Gauge::Time(span) => Quantity::In(span),
                Gauge::Overdue(span) => Quantity::Ago(span),
                other => other.into(),
            },
            _ => Quantity::at(Instant::from_nanos(at), now),
        }
    }

    fn rule(&self, params: &CodelParams, about: &Decision, behind: u64) -> Option<String> {
        let (target, interval) = (readable(params.target), readable(params.interval));
        let (sojourn, verb, count) = (about.sojourn(), about.verb(), self.count);
        let waited = readable(sojourn);
        let is_due = |at: Quantity| matches!(at, Quantity::Ago(_));
        let (first_above, drop_next) =
            (self.first_above(params, about.now), self.drop_next(params, about.now));
        let by_threshold = params.ce_threshold.filter(|&threshold| sojourn > threshold);
        match about.fate {
            Fate::Sent if sojourn < params.target => Some(format!(
                "It had waited {waited}, less than the target of {target}: there is no standing queue{}.",
                if self.dropping { ", and the dropping phase ends" } else { "" }
            )),
            Fate::Sent if behind <= u64::from(params.mtu) => Some(format!(
                "It had waited {waited}, but at most one packet ({behind} bytes) was queued behind it. \
                 CoDel never drops the last packet."
            )),
            Fate::Sent if first_above == Quantity::Unset => Some(format!(
                "It had waited {waited}, not less than the target of {target}, but the packet before it had \
                 waited for less. The queue now has an interval of {interval} to recover."
            )),
            Fate::Sent if self.dropping && !is_due(drop_next) => Some(format!(
                "CoDel is in a dropping phase (count {count}), but the next drop is due only {drop_next}."
            )),
            Fate::Sent if !is_due(first_above) => Some(format!(
                "It had waited {waited}, not less than the target of {target}, but the queue has not been \
                 above the target for an interval of {interval}: that will be the case {first_above}."
            )),
            Fate::Sent => Some(format!(
                "It had waited {waited}. CoDel dropped other packets in the same call, so none was due any more."
            )),
            _ if !about.is_signal() => None,
            _ if self.dropping && is_due(drop_next) => Some(format!(
                "It had waited {waited}, not less than the target of {target}. CoDel was in a dropping phase \
                 (count {count}), and the next drop was due {drop_next}: the packet was {verb}. The following \
                 one is due interval / sqrt(count) = {} after that time.",
                readable(spacing(params.interval, count.saturating_add(1)))
            )),
            _ if !self.dropping && is_due(first_above) => Some(format!(
                "It had waited {waited}, and no packet had waited less than the target of {target} for a whole \
                 interval of {interval}. So there was a standing queue: a dropping phase began, and the \
                 packet was {verb}."
            )),
            _ => Some(match by_threshold {
                Some(threshold) if about.fate == Fate::Marked => format!(
                    "It had waited {waited}, longer than ce_threshold ({}): the packet was marked.",
                    readable(threshold)
                ),
                _ => format!(
                    "It had waited {waited}, not less than the target of {target}, and was {verb} after other \
                     packets in the same call."
                ),
            }),
        }
    }
}

/// Time between two drops.
fn spacing(interval: Duration, count: u32) -> Duration {
    super::control_law(Instant::ZERO, interval, count).since(Instant::ZERO)
}

/// RFC 8289: the routine that dequeues, and the helper that judges a packet.
pub(crate) const DEQUEUE: &str = "RFC 8289 §5.5 and §5.6";
