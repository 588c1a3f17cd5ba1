//! Evidence of COBALT's decisions.

use super::rules::{ABOVE_TARGET, BLUE, LAST_PACKET, NOT_DUE, NOT_SIGNALLED, ON_TIME, SIGNAL_DUE};
use super::{CobaltParams, CobaltVars, INTERVAL, TARGET, TWO_TO_32};
use crate::decision::{Decision, Evidence, Fate, Moment, Quantity, Rule};

impl CobaltVars {
    /// Adds the state of the law, and its rule if it decides. `is_last`: nothing is queued behind
    /// the packet.
    pub(crate) fn observe(
        &self,
        params: &CobaltParams,
        about: &Decision,
        is_last: bool,
        evidence: &mut Evidence,
    ) {
        let blue = f64::from(self.p_drop) / TWO_TO_32;
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
        evidence.fact("dropping", Quantity::Flag(self.dropping), "CoDel is in a dropping phase");
        evidence.fact("count", Quantity::Number(u64::from(self.count)), "signals, less those that decayed");
        evidence.fact("drop_next", Quantity::at(self.drop_next, about.now), "when the next signal is due");
        evidence.fact("blue_prob", Quantity::Fraction(blue), "BLUE's drop probability");
        if about.moment == Moment::Departure {
            if let Some(rule) = self.rule(params, about, is_last) {
                let signal = ("signal", Quantity::Number(u64::from(self.count) + 1));
                evidence.rule(rule, "Linux sch_cake; RFC 8289 §5.5", &[signal]);
            }
        }
    }

    fn rule(&self, params: &CobaltParams, about: &Decision, is_last: bool) -> Option<Rule> {
        let late = about.sojourn() > params.target;
        let due = self.count > 0 && about.now >= self.drop_next;
        Some(match about.fate {
            _ if about.is_signal() && late && due => SIGNAL_DUE,
            _ if about.is_signal() && self.p_drop > 0 => BLUE,
            _ if about.is_signal() => ABOVE_TARGET,
            Fate::Sent if !late => ON_TIME,
            Fate::Sent if is_last => LAST_PACKET,
            Fate::Sent if due => NOT_SIGNALLED,
            Fate::Sent => NOT_DUE,
            _ => return None,
        })
    }
}
