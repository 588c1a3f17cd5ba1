//! The state of `dualpi2` around one decision, in words.

use alloc::format;
use alloc::string::String;

use super::{DualPi2, DualPi2Variant, Service, Signal};
use crate::config::Configure;
use crate::decision::{Decision, Evidence, Fate, Moment, Quantity, readable};
use crate::packet::{Flow, Packet};
use crate::qdisc::{DropReason, Qdisc as _};
use crate::random::Random;
use crate::time::Duration;

impl<P: Packet + Flow, R: Random> DualPi2<P, R> {
    pub(super) fn evidence_about(&self, packet: &P, about: &Decision) -> Evidence {
        let mut evidence = Evidence::of(super::DualPi2Config::KIND.name);
        let config = &self.config;
        let low_latency = self.service(packet) != Service::Classic;
        let part = |units: u64| units as f64 / config.one() as f64;
        let (probability, delay) = self.due(about.now);
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
        evidence.fact("packets_l", Quantity::Packets(self.low_latency.len() as u64), "packets in L");
        evidence.fact("packets_c", Quantity::Packets(self.classic.len() as u64), "packets in C");
        evidence.fact("credit", Quantity::Credit(self.credit), "above 0 it is the turn of C");
        if about.moment == Moment::Departure
            && let Some(text) = self.rule(low_latency, probability, (base, coupled, native), about)
        {
            evidence.rule(text, "RFC 9332 §2.4, §4.1 and appendix A");
        }
        let full = ("A full queue drops the packet that arrives.", "RFC 9332 §4.1");
        let packets = (Quantity::Packets(self.len() as u64), Quantity::Packets(u64::from(config.limit)));
        evidence.limit(about, DropReason::Overlimit, packets, full);
        let memory = (Quantity::Bytes(self.memory.used()), Quantity::Bytes(config.memory_limit));
        evidence.limit(about, DropReason::Overmemory, memory, full);
        evidence
    }

    /// Returns the mark probability of L's own AQM.
    fn native(&self, packet: &P, sojourn: Duration) -> f64 {
        match self.config.variant {
            DualPi2Variant::Rfc9332 => self.ramp(sojourn) as f64 / self.config.one() as f64,
            DualPi2Variant::Linux => f64::from(u8::from(self.linux_step(packet, sojourn) != Signal::None)),
        }
    }

    fn rule(
        &self,
        low_latency: bool,
        probability: u64,
        probabilities: (f64, f64, f64),
        about: &Decision,
    ) -> Option<String> {
        let (base, coupled, native) = probabilities;
        let [base, squared, coupled_shown, native_shown] =
            [base, base * base, coupled, native].map(Quantity::Fraction);
        let waited = readable(about.sojourn());
        let verb = about.verb();
        Some(match (low_latency, about.fate) {
            _ if about.is_signal() && probability > self.config.saturation() => format!(
                "The base probability p' ({base}) is above the one at which L is marked with certainty: the \
                 queue is overloaded, and both queues drop with p'^2 = {squared}. This packet was {verb}."
            ),
            (true, Fate::Marked) if native >= 1.0 => format!(
                "It had waited {waited} in L, and L is beyond its threshold of {}: marked.",
                self.config.step.quantity()
            ),
            (true, Fate::Marked) => format!(
                "L marks with the larger of its own probability ({native_shown}) and that of the coupling, k p' \
                 = {coupled_shown}. A draw with it hit the packet."
            ),
            (false, _) if about.is_signal() => format!(
                "C drops or marks with p'^2 = {squared}: two draws with p' = {base} hit the packet, which was {verb}."
            ),
            (true, Fate::Sent) => format!(
                "L marks with the larger of its own probability ({native_shown}) and that of the coupling, k p' \
                 = {coupled_shown}. The packet was not hit{}.",
                if self.is_small() { ": less than two packets were queued" } else { "" }
            ),
            (false, Fate::Sent) => format!(
                "C drops or marks with p'^2 = {squared}. The packet was not hit{}.",
                if self.is_small() { ": less than two packets were queued" } else { "" }
            ),
            _ => return None,
        })
    }
}
