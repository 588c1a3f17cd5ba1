//! COBALT's state around one decision, in words.

use alloc::format;
use alloc::string::String;

use super::{CobaltParams, CobaltVars, TWO_TO_32};
use crate::decision::{Decision, Evidence, Fate, Moment, Quantity, readable};

impl CobaltVars {
    /// Adds the state of the law, and its rule if it decided. `is_last`: nothing is queued behind
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
            "target",
            Quantity::Span(params.target),
            "acceptable sojourn time of a standing queue",
        );
        evidence.given("interval", Quantity::Span(params.interval), "how long a queue may exceed the target");
        evidence.fact("dropping", Quantity::Flag(self.dropping), "CoDel is in a dropping phase");
        evidence.fact("count", Quantity::Number(u64::from(self.count)), "signals, less those that decayed");
        evidence.fact("drop_next", Quantity::at(self.drop_next, about.now), "when the next signal is due");
        evidence.fact("blue_prob", Quantity::Fraction(blue), "BLUE's drop probability");
        if about.moment == Moment::Departure
            && let Some(text) = self.rule(params, about, is_last, blue)
        {
            evidence.rule(text, "Linux sch_cake; RFC 8289 §5.5");
        }
    }

    fn rule(&self, params: &CobaltParams, about: &Decision, is_last: bool, blue: f64) -> Option<String> {
        let (sojourn, target, verb) = (about.sojourn(), readable(params.target), about.verb());
        let waited = readable(sojourn);
        let late = sojourn > params.target;
        let due = self.count > 0 && about.now >= self.drop_next;
        let next = Quantity::at(self.drop_next, about.now);
        Some(match about.fate {
            _ if about.is_signal() && late && due => format!(
                "It had waited {waited}, longer than the target of {target}, and signal {} was due {next}. The \
                 packet was {verb}; the next signal is due interval / sqrt(count) after that time.",
                u64::from(self.count) + 1
            ),
            _ if about.is_signal() && blue > 0.0 => format!(
                "BLUE's probability was {}, because the queue had overflowed. A draw with it hit the packet.",
                Quantity::Fraction(blue)
            ),
            _ if about.is_signal() => {
                format!("It had waited {waited}, longer than the target of {target}: the packet was {verb}.")
            }
            Fate::Sent if !late => {
                format!("It had waited {waited}, not longer than the target of {target}: no signal.")
            }
            Fate::Sent if is_last => {
                format!(
                    "It had waited {waited}, but it was the last packet of its queue, which is never dropped."
                )
            }
            Fate::Sent => format!(
                "It had waited {waited}, longer than the target of {target}, but a signal was not due{}.",
                if due { String::new() } else { format!(": the next one is due {next}") }
            ),
            _ => return None,
        })
    }
}
