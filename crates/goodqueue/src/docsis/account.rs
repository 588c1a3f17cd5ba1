//! The state of `docsis` around one decision, in words.

use alloc::format;
use alloc::string::String;

use super::classic::{Burst, ClassicAqm};
use super::config::{CRITICAL_DELAY, CRITICAL_SCORE, TARGET};
use super::protection::{Arriving, is_critical};
use super::{CERTAIN, Docsis};
use crate::account::{Account, Decision, Fate, Moment, Quantity, readable};
use crate::config::Configure;
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
    pub(super) fn told(&self, packet: &P, about: &Decision) -> Account {
        let mut account = Account::of(super::DocsisConfig::KIND.name);
        let config = &self.config;
        let scene = self.scene(packet, about);
        let nanos = |nanos: u64| Quantity::Span(Duration::from_nanos(nanos));
        let queue = if scene.is_for_l { "L" } else { "C" };
        account.given("queue", Quantity::Word(queue), "L: ECT(1), CE and NQB; C: all others");
        account.fact("delay_l", nanos(scene.arriving.delay), "delay of L with this packet");
        let native = scene.arriving.native as f64 / (1_u64 << config.lg_range) as f64;
        account.fact("native", Quantity::Fraction(native), "mark probability of L by its own delay");
        account.fact("p_L", Quantity::Fraction(scene.marks), "mark probability of L");
        account.fact("marks_due", Quantity::Fraction(self.due()), "probabilities of L since its last mark");
        account.fact("score", nanos(scene.score), "score of the flow with this packet");
        account.given(
            CRITICAL_DELAY.name,
            Quantity::Span(config.critical_delay),
            "delay of L that is critical",
        );
        let given = Quantity::Span(config.critical_score);
        account.given(CRITICAL_SCORE.name, given, "score of a flow that is critical at that delay");
        account.fact(
            "p_C",
            Quantity::Fraction(config.pie.fraction(scene.aqm.probability)),
            "drop probability of C",
        );
        account.fact("delay_c", nanos(scene.aqm.delay), "delay of C at the last update");
        account.given(TARGET.name, Quantity::Span(config.pie.target()), "delay of C aimed at");
        account.fact("burst", Quantity::Span(scene.aqm.burst), "time for which C drops no packet");
        account.fact(
            "accumulated",
            Quantity::Real(scene.aqm.sum()),
            "probabilities of C since its last drop",
        );
        account.fact("credit", Quantity::Credit(self.credit), "above 0 it is the turn of C");
        if about.moment == Moment::Arrival {
            self.add_rules(&mut account, &scene, about);
        }
        let in_l = scene.is_for_l && !scene.is_sanctioned;
        let both = if in_l {
            (Quantity::Bytes(self.low_latency.bytes()), Quantity::Bytes(config.low_latency_limit))
        } else {
            (Quantity::Bytes(self.classic.bytes()), Quantity::Bytes(config.classic_limit))
        };
        let full = ("A full queue drops the packet that arrives.", "RFC 8034 appendix A; MULPIv3.1 Annex N");
        account.limit(about, DropReason::Overlimit, both, full);
        account
    }

    fn scene(&self, packet: &P, about: &Decision) -> Scene {
        let aqm = self.updated(self.now.max(about.now)).aqm;
        let arriving = self.arriving(packet);
        let score = self.protection.score_with(&self.config, self.now.max(about.now), arriving);
        let is_for_l = self.is_for_l(packet);
        let is_sanctioned =
            is_for_l && self.config.qprotect && is_critical(&self.config, arriving.delay, score);
        let marks = self.mark_probability(&aqm, arriving.native) as f64 / CERTAIN as f64;
        Scene { aqm, is_for_l, arriving, score, is_sanctioned, marks }
    }

    /// The probabilities of the low-latency queue since its last mark.
    fn due(&self) -> f64 {
        self.marks_due as f64 / CERTAIN as f64
    }

    fn add_rules(&self, account: &mut Account, scene: &Scene, about: &Decision) {
        if scene.is_sanctioned {
            let text = format!(
                "Queue protection moved it to C: the delay of L was {}, and the score of its flow {}. The \
                 product exceeds that of {} and {}.",
                readable(Duration::from_nanos(scene.arriving.delay)),
                readable(Duration::from_nanos(scene.score)),
                readable(self.config.critical_delay),
                readable(self.config.critical_score),
            );
            account.rule(text, "RFC 9957 §4.2");
        }
        let in_c = !scene.is_for_l || scene.is_sanctioned;
        match about.fate {
            Fate::Marked => account.rule(self.of_mark(scene, true), "MULPIv3.1 Annex N; RFC 9332 §2.4"),
            Fate::Dropped(DropReason::Congested) => {
                account.rule(self.of_drop(&scene.aqm), "RFC 8034 appendix A");
            }
            Fate::Sent if in_c => account.rule(self.of_entry(&scene.aqm), "RFC 8034 appendix A"),
            Fate::Sent => account.rule(self.of_mark(scene, false), "MULPIv3.1 Annex N; RFC 9332 §2.4"),
            Fate::Dropped(_) => {}
        }
    }

    fn of_mark(&self, scene: &Scene, is_marked: bool) -> String {
        let sum = self.due() + scene.marks;
        let what = match is_marked {
            true => format!("{sum:.3}: above 1 the packet that arrives is marked"),
            false => format!("{sum:.3}, and not above 1: no mark"),
        };
        format!(
            "L marks with {}, the larger of its own probability and that of the coupling. The probabilities \
             since the last mark add up to {what}.",
            Quantity::Fraction(scene.marks)
        )
    }

    fn of_drop(&self, aqm: &ClassicAqm) -> String {
        format!(
            "The drop probability of C was {}, after a delay of {} where {} is aimed at. A random draw hit the \
             packet, or the probabilities since the last drop reached 8.5.",
            Quantity::Fraction(self.config.pie.fraction(aqm.probability)),
            readable(Duration::from_nanos(aqm.delay)),
            readable(self.config.pie.target()),
        )
    }

    fn of_entry(&self, aqm: &ClassicAqm) -> String {
        if !aqm.burst.is_zero() {
            return format!(
                "A burst allowance of {} was left: C drops nothing until it is used up.",
                readable(aqm.burst)
            );
        }
        if aqm.state == Burst::None && self.classic.bytes() < self.config.classic_limit / 3 {
            return String::from("C was less than a third full: it drops nothing.");
        }
        let why = if aqm.spares(&self.config, self.classic.bytes()) {
            "C was short, so that nothing is dropped"
        } else {
            "the draw missed the packet, or the probabilities since the last drop were below 0.85"
        };
        format!(
            "The drop probability of C was {}: {why}.",
            Quantity::Fraction(self.config.pie.fraction(aqm.probability))
        )
    }
}

impl ClassicAqm {
    /// Returns the probabilities since the last drop.
    fn sum(&self) -> f64 {
        self.accumulated as f64 / ONE as f64
    }
}
