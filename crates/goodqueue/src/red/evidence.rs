//! RED's state around one decision, in words.

use alloc::format;
use alloc::string::String;

use super::arrival::Arrival;
use super::config::RedConfig;
use crate::decision::{Decision, Evidence, Fate, Moment, Quantity};
use crate::random::Random;

/// The state of RED's algorithm.
pub(super) struct State {
    /// Average queue in bytes, the arriving packet included.
    pub(super) average: f64,
    /// Largest probability of an early signal.
    pub(super) max_p: f64,
    /// Packets since the last signal; `None` below the thresholds.
    pub(super) count: Option<u64>,
}

/// Adds the state of RED, and its rule about an arriving packet.
pub(super) fn observe(
    config: &RedConfig,
    state: &State,
    arrival: &Arrival,
    about: &Decision,
    evidence: &mut Evidence,
) {
    let &State { average, max_p, count } = state;
    let (min, max) = (f64::from(config.min), f64::from(config.max));
    let base = match average {
        average if average < min => 0.0,
        average if average < max => max_p * (average - min) / (max - min),
        average if config.gentle && average < 2.0 * max => max_p + (1.0 - max_p) * (average - max) / max,
        _ => 1.0,
    };
    evidence.fact("queue", Quantity::Bytes(arrival.backlog), "bytes in the queue");
    evidence.fact("average", Quantity::Real(average), "average queue in bytes, this arrival included");
    evidence.given("min", Quantity::Bytes(u64::from(config.min)), "average below which nothing is dropped");
    evidence.given(
        "max",
        Quantity::Bytes(u64::from(config.max)),
        "average above which everything is dropped",
    );
    evidence.fact("max_p", Quantity::Fraction(max_p), "probability at max");
    evidence.fact("probability", Quantity::Fraction(base), "probability at this average");
    let count = count.map_or(Quantity::Unset, Quantity::Number);
    evidence.fact("count", count, "packets since the last mark or drop");
    if about.moment == Moment::Arrival
        && let Some(text) = rule(config, average, base, about)
    {
        evidence.rule(text, SOURCE);
    }
}

fn rule(config: &RedConfig, average: f64, base: f64, about: &Decision) -> Option<String> {
    let (min, max) = (config.min, config.max);
    let (mean, probability) = (Quantity::Real(average), Quantity::Fraction(base));
    let verb = about.verb();
    match about.fate {
        _ if about.is_signal() && base >= 1.0 => Some(format!(
            "The average queue was {mean} bytes, not below the upper threshold of {max} bytes. There every \
             packet is {verb}."
        )),
        _ if about.is_signal() => Some(format!(
            "The average queue was {mean} bytes, between the thresholds of {min} and {max} bytes. That gives a \
             probability of {probability}, which grows with every packet that is spared. This packet was {verb}."
        )),
        Fate::Sent if average < f64::from(min) => {
            Some(format!("The average queue was {mean} bytes, below the lower threshold of {min} bytes."))
        }
        Fate::Sent => Some(format!(
            "The average queue was {mean} bytes, between the thresholds of {min} and {max} bytes, but the draw \
             with a probability of {probability} spared the packet."
        )),
        _ => None,
    }
}

/// A source of the largest number only, which is never below a probability.
pub(super) struct Highest;

impl Random for Highest {
    fn next_u32(&mut self) -> u32 {
        u32::MAX
    }

    fn next_u64(&mut self) -> u64 {
        u64::MAX
    }
}

const SOURCE: &str = "Floyd and Jacobson 1993, §4; RFC 2309 §3";
