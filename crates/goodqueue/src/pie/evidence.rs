//! Evidence of PIE's decisions.

use super::config::PieConfig;
use super::flow::{ALPHA, BETA, TARGET};
use super::law::Vars;
use crate::decision::{Decision, Evidence, Fate, Moment, Quantity, Rule, rules};
use crate::time::Duration;

impl Vars {
    /// Adds the state of the controller, and its rule about a packet of `bytes` that arrives behind
    /// `backlog` bytes. The updates that are due have been done.
    pub(crate) fn observe(
        &self,
        config: &PieConfig,
        about: &Decision,
        backlog: u64,
        bytes: u32,
        evidence: &mut Evidence,
    ) {
        let terms = Terms::from_vars(self, config);
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
        if about.moment == Moment::Arrival {
            if let Some(rule) = self.rule(config, about, backlog, bytes) {
                let rules = config.rules();
                let real = |probability: u64| probability as f64 / rules.one as f64;
                let numbers = [
                    ("sum", Quantity::Real(real(self.then(config, bytes)))),
                    ("spacing", Quantity::Real(real(rules.spacing()))),
                    ("certain", Quantity::Real(real(rules.certain()))),
                    ("tested_delay", span(self.tested_delay(config))),
                    ("calm", Quantity::Fraction(real(rules.calm()))),
                    ("backlog", Quantity::Bytes(backlog)),
                ];
                evidence.rule(rule, section(rule), &numbers);
            }
        }
    }

    /// Sum of the probabilities since the last drop.
    fn sum(&self, config: &PieConfig) -> f64 {
        self.accumulated as f64 / config.rules().one as f64
    }

    /// Sum of the probabilities since the last drop, with that of a packet of `bytes`.
    fn then(&self, config: &PieConfig, bytes: u32) -> u64 {
        self.accumulated.saturating_add(config.of_packet(self.probability, bytes))
    }

    fn rule(&self, config: &PieConfig, about: &Decision, backlog: u64, bytes: u32) -> Option<Rule> {
        let rules = config.rules();
        let sum = self.then(config, bytes);
        Some(match about.fate {
            _ if about.is_signal() && rules.spaced && sum >= rules.certain() => CERTAIN,
            _ if about.is_signal() => HIT,
            Fate::Dropped(_) => return None,
            _ if !self.active => INACTIVE,
            _ if self.burst > 0 => BURST,
            _ if self.probability == 0 => ZERO,
            _ if rules.safeguards && self.is_calm(config) => CALM,
            _ if rules.safeguards && config.is_few(backlog) => FEW,
            _ if rules.spaced && sum < rules.spacing() => SPACED,
            _ => MISSED,
        })
    }
}

rules! {
    /// Rules of PIE.
    pub(crate) RULES;
    /// The accumulated probability makes a drop certain.
    CERTAIN: "pie.certain" ["probability", "delay", TARGET.name, "sum", "certain"];
    /// The draw hit the packet.
    HIT: "pie.hit" ["probability", "delay", TARGET.name];
    /// The queue is too short for PIE to begin.
    INACTIVE: "pie.inactive" [];
    /// A burst allowance is left.
    BURST: "pie.burst" ["burst_allowance"];
    /// The drop probability is 0.
    ZERO: "pie.zero" ["delay", TARGET.name];
    /// The delay and the probability are small.
    CALM: "pie.calm" ["tested_delay", TARGET.name, "probability", "calm"];
    /// At most two packets are queued.
    FEW: "pie.few" ["backlog"];
    /// The last drop was too close.
    SPACED: "pie.spaced" ["probability", "sum", "spacing"];
    /// The draw missed the packet.
    MISSED: "pie.missed" ["probability"];
}

/// Returns the section of a rule.
fn section(rule: Rule) -> &'static str {
    match rule {
        CERTAIN | HIT => "RFC 8033 §4.1, §4.2 and §5.4",
        INACTIVE => "RFC 8033 §5.3",
        BURST => "RFC 8033 §4.4",
        SPACED => "RFC 8033 §5.4",
        _ => "RFC 8033 §4.1",
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
    fn from_vars(vars: &Vars, config: &PieConfig) -> Self {
        let delay = vars.delay;
        let old = vars.old_delay;
        let seconds = |ticks: u64| config.span(ticks).as_nanos() as f64 / 1e9;
        let alpha = f64::from(config.alpha) / 16.0;
        let beta = f64::from(config.beta) / 16.0;
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
