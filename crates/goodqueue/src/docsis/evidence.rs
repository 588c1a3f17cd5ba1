//! Evidence of the decisions of `docsis`.

use super::classic::{Burst, ClassicAqm};
use super::config::{CRITICAL_DELAY, CRITICAL_SCORE, TARGET};
use super::protection::{Arriving, is_critical};
use super::rules::{BURST, HIT_C, INACTIVE, MARK, MISSED_C, NO_MARK, SANCTION, SHORT_C};
use super::{CERTAIN, Docsis};
use crate::config::Configure;
use crate::decision::{Decision, Evidence, FULL, Fate, Limit, Moment, Quantity, Rule};
use crate::packet::{Flow, Packet};
use crate::pie::ONE;
use crate::qdisc::DropReason;
use crate::random::Random;
use crate::time::Duration;

/// An arriving packet and the state that decides about it.
struct Scene {
    aqm: ClassicAqm,
    is_for_l: bool,
    arriving: Arriving,
    /// Score of the flow with the packet, in ns.
    score: u64,
    is_sanctioned: bool,
    /// Mark probability of L.
    marks: f64,
}

impl<P: Packet + Flow, R: Random> Docsis<P, R> {
    pub(super) fn evidence_about(&self, packet: &P, about: &Decision) -> Evidence {
        let mut evidence = Evidence::from_kind(super::DocsisConfig::KIND.name);
        let config = &self.config;
        let scene = self.scene(packet, about);
        let nanos = |nanos: u64| Quantity::Span(Duration::from_nanos(nanos));
        let queue = if scene.is_for_l { "L" } else { "C" };
        evidence.given("queue", Quantity::Word(queue), "L: ECT(1), CE and NQB; C: all others");
        evidence.fact("delay_l", nanos(scene.arriving.delay), "delay of L with this packet");
        let native = scene.arriving.native as f64 / (1_u64 << config.lg_range) as f64;
        evidence.fact("native", Quantity::Fraction(native), "mark probability of L by its own delay");
        evidence.fact("p_L", Quantity::Fraction(scene.marks), "mark probability of L");
        let due = self.marks_due as f64 / CERTAIN as f64;
        evidence.fact("marks_due", Quantity::Real(due), "probabilities of L since its last mark");
        evidence.fact("score", nanos(scene.score), "score of the flow with this packet");
        let critical_delay = Quantity::Span(config.critical_delay);
        evidence.given(CRITICAL_DELAY.name, critical_delay, "delay of L that is critical");
        let critical_score = Quantity::Span(config.critical_score);
        evidence.given(CRITICAL_SCORE.name, critical_score, "score of a flow that is critical at that delay");
        let drops = Quantity::Fraction(config.pie.fraction(scene.aqm.probability));
        evidence.fact("p_C", drops, "drop probability of C");
        evidence.fact("delay_c", nanos(scene.aqm.delay), "delay of C at the last update");
        evidence.given(TARGET.name, Quantity::Span(config.pie.target()), "delay of C aimed at");
        evidence.fact("burst", Quantity::Span(scene.aqm.burst), "time for which C drops no packet");
        let sum = scene.aqm.accumulated as f64 / ONE as f64;
        evidence.fact("accumulated", Quantity::Real(sum), "probabilities of C since its last drop");
        evidence.fact("credit", Quantity::Credit(self.credit), "above 0 it is the turn of C");
        if about.moment == Moment::Arrival {
            self.add_rules(&mut evidence, &scene, about);
        }
        let in_l = scene.is_for_l && !scene.is_sanctioned;
        let held = if in_l { self.low_latency.bytes() } else { self.classic.bytes() };
        let allowed = if in_l { config.low_latency_limit } else { config.classic_limit };
        let full = Limit {
            held: Quantity::Bytes(held),
            allowed: Quantity::Bytes(allowed),
            rule: FULL,
            source: "RFC 8034 appendix A; MULPIv3.1 Annex N",
        };
        evidence.limit(about, DropReason::Overlimit, &full);
        evidence
    }

    fn scene(&self, packet: &P, about: &Decision) -> Scene {
        let now = self.now.max(about.now);
        let aqm = self.updated(now).aqm;
        let arriving = self.arriving(packet);
        let score = self.protection.score_with(&self.config, now, arriving);
        let is_for_l = self.is_for_l(packet);
        let is_sanctioned =
            is_for_l && self.config.qprotect && is_critical(&self.config, arriving.delay, score);
        let marks = self.mark_probability(&aqm, arriving.native) as f64 / CERTAIN as f64;
        Scene { aqm, is_for_l, arriving, score, is_sanctioned, marks }
    }

    fn add_rules(&self, evidence: &mut Evidence, scene: &Scene, about: &Decision) {
        if scene.is_sanctioned {
            evidence.rule(SANCTION, "RFC 9957 §4.2", &[]);
        }
        let of_l = "MULPIv3.1 Annex N; RFC 9332 §2.4";
        let of_c = "RFC 8034 appendix A";
        let in_c = !scene.is_for_l || scene.is_sanctioned;
        match about.fate {
            Fate::Marked => evidence.rule(MARK, of_l, &[]),
            Fate::Dropped(DropReason::Congested) => evidence.rule(HIT_C, of_c, &[]),
            Fate::Sent if in_c => evidence.rule(self.rule_of_entry(&scene.aqm), of_c, &[]),
            Fate::Sent => evidence.rule(NO_MARK, of_l, &[]),
            Fate::Dropped(_) => {}
        }
    }

    /// Returns the rule by which C takes a packet.
    fn rule_of_entry(&self, aqm: &ClassicAqm) -> Rule {
        let backlog = self.classic.bytes();
        if !aqm.burst.is_zero() {
            BURST
        } else if aqm.state == Burst::None && backlog < self.config.classic_limit / 3 {
            INACTIVE
        } else if aqm.spares(&self.config, backlog) {
            SHORT_C
        } else {
            MISSED_C
        }
    }
}
