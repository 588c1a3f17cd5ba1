//! Evidence of the decisions of `dualpi2`.

use super::queues::Service;
use super::rules::{HIT_C, HIT_L, MISSED_C, MISSED_L, OVERLOAD, SHORT_C, SHORT_L, STEP};
use super::{DualPi2, DualPi2Variant, Signal};
use crate::config::Configure;
use crate::decision::{Decision, Evidence, FULL, FULL_MEMORY, Fate, Limit, Moment, Quantity, Rule};
use crate::packet::{Flow, Packet};
use crate::qdisc::{DropReason, Qdisc as _};
use crate::random::Random;
use crate::time::Duration;

impl<P: Packet + Flow, R: Random> DualPi2<P, R> {
    pub(super) fn evidence_about(&self, packet: &P, about: &Decision) -> Evidence {
        let mut evidence = Evidence::from_kind(super::DualPi2Config::KIND.name);
        let config = &self.config;
        let low_latency = self.service(packet) != Service::Classic;
        let part = |units: u64| units as f64 / config.one() as f64;
        let super::Pi { probability, last_delay: delay } = self.due(about.now);
        let base = part(probability);
        let coupled = (base * f64::from(config.coupling)).min(1.0);
        let native = self.native(packet, about.sojourn());
        let queue = if low_latency { "L" } else { "C" };
        evidence.given("queue", Quantity::Word(queue), "L: ECT(1) and CE, or by class; C: all others");
        evidence.given("sojourn", Quantity::Span(about.sojourn()), "how long this packet had waited");
        evidence.given("target", Quantity::Span(config.target), "queue delay aimed at in C");
        evidence.fact("delay", Quantity::Span(delay), "queue delay at the last update");
        evidence.fact("p'", Quantity::Fraction(base), "base probability");
        evidence.fact("p_C = p'^2", Quantity::Fraction(base * base), "probability in C");
        evidence.fact("p_CL = k p'", Quantity::Fraction(coupled), "probability in L by the coupling");
        evidence.given("k", Quantity::Number(u64::from(config.coupling)), "coupling factor");
        evidence.fact("p'_L", Quantity::Fraction(native), "probability in L by its own delay");
        evidence.given("step", config.step.quantity(), "threshold of L");
        evidence.fact("packets_l", Quantity::Packets(self.queues.low_latency.len() as u64), "packets in L");
        evidence.fact("packets_c", Quantity::Packets(self.queues.classic.len() as u64), "packets in C");
        evidence.fact("credit", Quantity::Credit(self.queues.credit), "above 0 it is the turn of C");
        if about.moment == Moment::Departure {
            if let Some(rule) = self.rule(low_latency, probability, native, about) {
                let step = ("step", config.step.quantity());
                evidence.rule(rule, "RFC 9332 §2.4, §4.1 and appendix A", &[step]);
            }
        }
        let source = "RFC 9332 §4.1";
        let packets = Limit {
            held: Quantity::Packets(self.len() as u64),
            allowed: Quantity::Packets(u64::from(config.limit)),
            rule: FULL,
            source,
        };
        evidence.limit(about, DropReason::Overlimit, &packets);
        let memory = Limit {
            held: Quantity::Bytes(self.memory.used()),
            allowed: Quantity::Bytes(config.memory_limit),
            rule: FULL_MEMORY,
            source,
        };
        evidence.limit(about, DropReason::Overmemory, &memory);
        evidence
    }

    /// Returns the mark probability of L's own AQM.
    fn native(&self, packet: &P, sojourn: Duration) -> f64 {
        // The packet has left its queue already.
        let behind = self.queues.low_latency.len();
        match self.config.variant {
            DualPi2Variant::Rfc9332 => self.config.ramp(sojourn, behind) as f64 / self.config.one() as f64,
            DualPi2Variant::Linux => {
                f64::from(u8::from(self.linux_step(packet.ecn(), sojourn, behind) != Signal::None))
            }
        }
    }

    fn rule(&self, low_latency: bool, probability: u64, native: f64, about: &Decision) -> Option<Rule> {
        Some(match (low_latency, about.fate) {
            _ if about.is_signal() && probability > self.config.saturation() => OVERLOAD,
            (true, Fate::Marked) if native >= 1.0 => STEP,
            (true, Fate::Marked) => HIT_L,
            (false, _) if about.is_signal() => HIT_C,
            (true, Fate::Sent) if self.is_small(self.queues.bytes()) => SHORT_L,
            (true, Fate::Sent) => MISSED_L,
            (false, Fate::Sent) if self.is_small(self.queues.bytes()) => SHORT_C,
            (false, Fate::Sent) => MISSED_C,
            _ => return None,
        })
    }
}
