//! PIE's state around one decision, in words.

use alloc::format;
use alloc::string::String;

use super::config::PieConfig;
use super::flow::{ALPHA, BETA, TARGET};
use super::law::Vars;
use super::rules::{Arithmetic, DelayFrom, MEAN_PACKET};
use crate::decision::{Decision, Evidence, Fate, Moment, Quantity, readable};
use crate::time::Duration;

impl Vars {
    /// Adds the state of the controller, and its rule about a packet of `bytes` that arrives behind
    /// `backlog` bytes. The updates that are due have been done.
    pub(crate) fn observe(
        &self,
        config: &PieConfig,
        about: &Decision,
        (backlog, bytes): (u64, u32),
        evidence: &mut Evidence,
    ) {
        let terms = Terms::of(self, config);
        let span = |ticks: u64| Quantity::Span(config.span(ticks));
        evidence.fact(
            "probability",
            Quantity::Fraction(config.fraction(self.probability)),
            "drop probability",
        );
        evidence.fact("delay", span(terms.delay), "queue delay");
        evidence.fact("delay_old", span(terms.old), "queue delay at the update before");
        evidence.given(TARGET.name, Quantity::Span(config.target), "queue delay aimed at");
        evidence.fact("error", Quantity::Difference(terms.error), "delay - target");
        evidence.fact("change", Quantity::Difference(terms.change), "delay - delay_old");
        evidence.given(ALPHA.name, Quantity::Real(terms.alpha), "gain on the error, per second");
        evidence.given(BETA.name, Quantity::Real(terms.beta), "gain on the change, per second");
        evidence.fact("scaling", Quantity::Real(terms.scaling), "factor on both gains at this probability");
        evidence.fact(
            "step",
            Quantity::Fraction(terms.scaling * (terms.alpha * terms.error + terms.beta * terms.change)),
            "scaling x (alpha x error + beta x change): what an update adds",
        );
        evidence.fact("burst_allowance", span(self.burst), "time for which no packet is dropped");
        evidence.fact("accumulated", Quantity::Real(self.sum(config)), "probabilities since the last drop");
        if about.moment == Moment::Arrival
            && let Some((text, source)) = self.rule(config, about, &terms, backlog, bytes)
        {
            evidence.rule(text, source);
        }
    }

    /// Sum of the probabilities since the last drop.
    fn sum(&self, config: &PieConfig) -> f64 {
        self.accumulated as f64 / config.rules().one as f64
    }

    fn rule(
        &self,
        config: &PieConfig,
        about: &Decision,
        terms: &Terms,
        backlog: u64,
        bytes: u32,
    ) -> Option<(String, &'static str)> {
        let rules = config.rules();
        let probability = Quantity::Fraction(config.fraction(self.probability));
        let delay = readable(config.span(terms.delay));
        let target = readable(config.target);
        let of_packet = config.of_packet(self.probability, bytes);
        let then = (self.accumulated.saturating_add(of_packet)) as f64 / rules.one as f64;
        let tiny = match rules.arithmetic {
            Arithmetic::Exact => backlog <= 2 * MEAN_PACKET,
            Arithmetic::Linux64 | Arithmetic::Linux32 => backlog < 2 * u64::from(config.mtu),
        };
        let measured = config.delay_from() != DelayFrom::Either;
        let last = if rules.current_delay || measured { self.delay } else { self.old_delay };
        let small = last < config.ticks(config.target) / 2 && self.probability < rules.one / 5;
        let verb = about.verb();
        if about.is_signal() {
            let certain = rules.spaced && self.accumulated.saturating_add(of_packet) >= rules.one / 2 * 17;
            let how = if certain {
                format!(
                    "The probabilities since the last drop add up to {then:.2}, and from 8.5 on a drop is certain"
                )
            } else {
                format!("A random draw with this probability hit the packet, which was {verb}")
            };
            return Some((
                format!(
                    "The drop probability was {probability}, after a queue delay of {delay} where {target} is \
                     aimed at. {how}."
                ),
                "RFC 8033 §4.1, §4.2 and §5.4",
            ));
        }
        if about.fate != Fate::Sent && !matches!(about.fate, Fate::Marked) {
            return None;
        }
        Some(match () {
            () if !self.active => {
                ("PIE was not active: it begins when a third of the limit is in use.".into(), "RFC 8033 §5.3")
            }
            () if self.burst > 0 => (
                format!(
                    "A burst allowance of {} was left: PIE drops nothing until it is used up.",
                    readable(config.span(self.burst))
                ),
                "RFC 8033 §4.4",
            ),
            () if self.probability == 0 => (
                format!("The drop probability was 0: the queue delay was {delay}, and {target} is aimed at."),
                "RFC 8033 §4.1",
            ),
            () if rules.safeguards && small => (
                format!(
                    "The queue delay ({}) was below half of the target ({target}), and the probability \
                     ({probability}) below 20 %: no drop, so that the link stays busy.",
                    readable(config.span(last))
                ),
                "RFC 8033 §4.1",
            ),
            () if rules.safeguards && tiny => (
                format!("Only {backlog} bytes were queued. PIE drops nothing behind at most two packets."),
                "RFC 8033 §4.1",
            ),
            () if rules.spaced && then < 0.85 => (
                format!(
                    "The drop probability was {probability}, but the probabilities since the last drop add up \
                     to {then:.3} only; below 0.85 no packet is dropped."
                ),
                "RFC 8033 §5.4",
            ),
            () => (
                format!(
                    "The drop probability was {probability}, and a random draw with it missed the packet."
                ),
                "RFC 8033 §4.1",
            ),
        })
    }
}

/// The terms of PIE's sum, in seconds.
struct Terms {
    /// Delays in ticks.
    delay: u64,
    old: u64,
    error: f64,
    change: f64,
    /// Gains per second.
    alpha: f64,
    beta: f64,
    scaling: f64,
}

impl Terms {
    fn of(vars: &Vars, config: &PieConfig) -> Self {
        let (delay, old) = (vars.delay, vars.old_delay);
        let seconds = |ticks: u64| config.span(ticks).as_nanos() as f64 / 1e9;
        let (alpha, beta) = (f64::from(config.alpha) / 16.0, f64::from(config.beta) / 16.0);
        // The increment at an error of a second and at this probability, over that without scaling.
        let second = config.ticks(Duration::from_secs(1));
        let target = config.ticks(config.target);
        let far = second.saturating_add(target);
        let step = config.increment(vars.probability, far, far) as f64 / config.rules().one as f64;
        let scaling = if config.alpha == 0 { 1.0 } else { step / alpha };
        Self {
            delay,
            old,
            error: seconds(delay) - seconds(target),
            change: seconds(delay) - seconds(old),
            alpha,
            beta,
            scaling,
        }
    }
}

impl PieConfig {
    /// Returns a number of ticks as a span of time.
    fn span(&self, ticks: u64) -> Duration {
        Duration::from_nanos(ticks.saturating_mul(1 << self.rules().tick))
    }
}
