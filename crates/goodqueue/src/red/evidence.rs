//! Evidence of RED's decisions.

use super::arrival::{Arrival, Signal, Spared};
use super::config::{MAX, MIN, RedConfig};
use crate::decision::{Decision, Evidence, Fate, Quantity, Rule, rules};
use crate::random::Random;

/// The state of RED's algorithm.
pub(super) struct State {
    /// Average queue in bytes, the arriving packet included.
    pub(super) average: f64,
    /// Largest probability of an early signal.
    pub(super) max_p: f64,
    /// Probability at this average, before spacing.
    pub(super) probability: f64,
    /// Packets since the last signal; `None` below the thresholds.
    pub(super) count: Option<u64>,
    /// The decision about an arriving packet, if its random number is the highest.
    pub(super) signal: Option<Signal>,
}

/// Adds the state of RED, and its rule about an arriving packet.
pub(super) fn observe(
    config: &RedConfig,
    state: &State,
    arrival: &Arrival,
    about: &Decision,
    evidence: &mut Evidence,
) {
    let &State { average, max_p, probability: base, count, signal } = state;
    evidence.fact("queue", Quantity::Bytes(arrival.backlog), "bytes in the queue");
    evidence.fact("average", Quantity::Real(average), "average queue in bytes, this arrival included");
    evidence.given(
        MIN.name,
        Quantity::Bytes(u64::from(config.min)),
        "average below which nothing is dropped",
    );
    evidence.given(
        MAX.name,
        Quantity::Bytes(u64::from(config.max)),
        "average above which everything is dropped",
    );
    evidence.fact("max_p", Quantity::Fraction(max_p), "probability at max");
    evidence.fact(BASE, Quantity::Fraction(base), "probability at this average");
    let count = count.map_or(Quantity::Unset, Quantity::Number);
    evidence.fact("count", count, "packets since the last mark or drop");
    evidence.fact(PACKETS, Quantity::Number(arrival.packets as u64), "packets in the queue");
    if let Some(rule) = signal.and_then(|signal| rule(signal, base, about)) {
        evidence.rule(rule, SOURCE, &[]);
    }
}

/// Name of the probability at an average, which is not the parameter `probability`.
const BASE: &str = "probability";

/// Name of the length of the queue in packets.
const PACKETS: &str = "packets";

fn rule(signal: Signal, base: f64, about: &Decision) -> Option<Rule> {
    if about.is_signal() {
        return Some(if base >= 1.0 { FORCED } else { EARLY });
    }
    if about.fate != Fate::Sent {
        return None;
    }
    Some(match signal {
        Signal::Spared(Spared::BelowMin) => BELOW_MIN,
        Signal::Spared(Spared::First) => FIRST,
        Signal::Spared(Spared::ShortQueue) => SHORT,
        Signal::Spared(Spared::Missed) => MISSED,
        // Only `nodrop` lets a packet stay that was to be signalled and carries no mark.
        Signal::Early | Signal::Forced | Signal::Unmarkable => KEPT,
    })
}

rules! {
    /// Rules of RED.
    pub(super) RULES;
    /// Every packet is dropped at this average.
    FORCED: "red.forced" ["average", MAX.name];
    /// The draw hit the packet.
    EARLY: "red.early" ["average", MIN.name, MAX.name, BASE];
    /// The average is below the lower threshold.
    BELOW_MIN: "red.below_min" ["average", MIN.name];
    /// The first packet since the average was below the lower threshold.
    FIRST: "red.first" ["average", MIN.name, MAX.name];
    /// The queue holds too few packets.
    SHORT: "red.short" [PACKETS];
    /// The signal would be a drop, which `nodrop` forbids.
    KEPT: "red.kept" ["average", MIN.name, BASE];
    /// The draw missed the packet.
    MISSED: "red.missed" ["average", MIN.name, MAX.name, BASE];
    /// A packet does not fit into the queue.
    FULL: "red.full" ["held", "allowed"];
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
