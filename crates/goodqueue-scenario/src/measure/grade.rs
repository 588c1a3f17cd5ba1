//! The grade of a run: one letter for what a person feels.

use goodqueue_sim::{Config, LinkOutcome};

use crate::choice::starves;
use crate::emodel::{CONCEALED, mos, rating};
use crate::results::{FlowKind, FlowResult, Grade, Probes, Run};
use crate::statistics::float;

/// The grades known from speed tests, each with the mean induced latency in seconds below which it
/// is given.
pub const GRADES: [(Grade, f64); 6] = [
    (Grade::APlus, 0.005),
    (Grade::A, 0.030),
    (Grade::B, 0.060),
    (Grade::C, 0.200),
    (Grade::D, 0.400),
    (Grade::F, f64::INFINITY),
];

/// The best grade above each share of lost pings: a video meeting works up to 1 % of lost packets,
/// and a call up to 3 % (ITU-T G.1010, table I.1).
pub const LOSS_CAPS: &[(f64, Grade)] = &[(0.03, Grade::C), (0.01, Grade::B)];

/// The best grade below each mean opinion score of calls. From the highest of these scores down,
/// some users, many and nearly all of them are dissatisfied (ITU-T G.107, table B.1).
pub const VOICE_CAPS: &[(f64, Grade)] = &[(3.10, Grade::D), (3.60, Grade::C), (4.03, Grade::B)];

/// The round-trip time of a conversation that works: 150 ms one way (ITU-T G.114).
pub const CONVERSATION_RTT_S: f64 = 0.300;

/// The best grade if more than one of twenty pings takes longer than [`CONVERSATION_RTT_S`].
pub const LATE_CAP: Grade = Grade::C;

/// The best grade of a run in which a queue leaves a direction less than half of its rate.
pub const STARVED_CAP: Grade = Grade::C;

/// Returns the grade for this mean induced latency in seconds.
#[must_use]
pub fn grade(induced_s: f64) -> Grade {
    GRADES.iter().find(|(_, bound)| induced_s < *bound).map_or(Grade::F, |(grade, _)| *grade)
}

/// Returns the best grade that the conversations of a run allow; `None` if they work, or if the
/// delay of the line alone spoils them as much. `flows`: those of the run, for their base
/// round-trip times.
#[must_use]
pub fn voice_cap(probes: &Probes, flows: &[FlowResult]) -> Option<Grade> {
    let longest_s = |kind: &FlowKind| {
        flows.iter().filter(|flow| flow.kind == *kind).map(|flow| flow.rtt_s).fold(0.0, f64::max)
    };
    let score = probes.voip.as_ref().and_then(|call| call.mos);
    let of_calls = score.and_then(|score| {
        // The score of the line alone: half of its round-trip time one way, and no loss.
        let idle = mos(rating(longest_s(&FlowKind::Voip) / 2.0, 0.0, CONCEALED));
        VOICE_CAPS.iter().find(|(bound, _)| score < *bound && idle >= *bound).map(|(_, cap)| *cap)
    });
    let is_late = probes.ping_s.p95.is_some_and(|ping| ping > CONVERSATION_RTT_S);
    let of_pings = (is_late && longest_s(&FlowKind::Ping) <= CONVERSATION_RTT_S).then_some(LATE_CAP);
    // The worse of two, and `None` only if both are.
    of_calls.max(of_pings)
}

/// Returns the best grade that the conversations of at least half of these runs allow.
pub fn voice_cap_of_most<'r>(runs: impl IntoIterator<Item = &'r Run>) -> Option<Grade> {
    let mut caps: Vec<Option<Grade>> =
        runs.into_iter().map(|run| voice_cap(&run.probes, &run.flows)).collect();
    // `None`, which limits nothing, comes first, and the worst grade last.
    caps.sort_unstable();
    caps.get(caps.len() / 2).copied().flatten()
}

/// Returns the grade of a run: that of its latency, lowered where packets are lost, conversations
/// fail or a direction starves. Short pings are no cure for a line that carries nothing.
pub(super) fn of_run(
    induced_s: f64,
    probes: &Probes,
    flows: &[FlowResult],
    config: &Config,
    links: &[LinkOutcome; 2],
) -> Grade {
    // The order of grades is from the best to the worst, so `max` takes the worse of two.
    let mut letter = grade(induced_s);
    if probes.ping_sent > 0 {
        let lost = float(probes.ping_lost) / float(probes.ping_sent);
        // The largest share is the first, so the first match is the strictest cap.
        if let Some((_, cap)) = LOSS_CAPS.iter().find(|(share, _)| lost > *share) {
            // Grades are ordered from the best one, so `max` takes the worse one.
            letter = letter.max(*cap);
        }
    }
    if let Some(cap) = voice_cap(probes, flows) {
        letter = letter.max(cap);
    }
    if has_own_bottleneck(config) && links.iter().any(is_starved) {
        letter = letter.max(STARVED_CAP);
    }
    letter
}

/// True if the path has no other link that may be slower than the bottleneck.
fn has_own_bottleneck(config: &Config) -> bool {
    config.wifi.is_none() && config.before.is_empty() && config.after.is_empty()
}

/// True if the queue drops packets, and the link is idle most of the time in which a flow always
/// has data to send. A link without such a flow may be idle.
fn is_starved(link: &LinkOutcome) -> bool {
    let used = link.loaded.and_then(|loaded| loaded.sent.share_of(loaded.capacity));
    let drops: u64 = link.drops.iter().sum();
    drops > 0 && used.is_some_and(|share| starves(share, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::VoipResult;

    #[test]
    fn grades_change_at_their_bounds() {
        let at = [0.0049, 0.005, 0.0299, 0.03, 0.06, 0.2, 0.4].map(grade);
        assert_eq!(at.map(Grade::name), ["A+", "A", "A", "B", "C", "D", "F"]);
    }

    /// A run with a ping and a call to a server this far away.
    fn conversation(rtt_s: f64, ping_p95_s: f64, score: Option<f64>) -> Run {
        let flow = |kind| FlowResult { kind, rtt_s, ..FlowResult::default() };
        let mut run = Run { flows: vec![flow(FlowKind::Ping), flow(FlowKind::Voip)], ..Run::default() };
        run.probes.ping_s.p95 = Some(ping_p95_s);
        run.probes.voip = score.map(|mos| Box::new(VoipResult { mos: Some(mos), ..VoipResult::default() }));
        run
    }

    #[test]
    fn calls_that_dissatisfy_their_users_lower_the_grade() {
        let cap = |score| {
            let run = conversation(0.03, 0.05, Some(score));
            voice_cap(&run.probes, &run.flows)
        };
        assert_eq!(
            [4.4, 4.03, 4.0, 3.5, 3.0, 1.2].map(cap),
            [None, None, Some(Grade::B), Some(Grade::C), Some(Grade::D), Some(Grade::D)]
        );
    }

    #[test]
    fn pings_that_a_conversation_cannot_wait_for_lower_the_grade() {
        let cap = |rtt_s, p95_s| {
            let run = conversation(rtt_s, p95_s, None);
            voice_cap(&run.probes, &run.flows)
        };
        assert_eq!(cap(0.03, 0.29), None);
        // G.114 allows 150 ms one way, so 300 ms for both.
        assert_eq!(cap(0.03, 0.31), Some(Grade::C));
        assert_eq!(cap(0.6, 0.62), None, "the way to a satellite is not the fault of a queue");
    }

    #[test]
    fn a_call_over_a_satellite_is_compared_with_one_on_the_idle_line() {
        let cap = |score| {
            let run = conversation(0.6, 0.62, Some(score));
            voice_cap(&run.probes, &run.flows)
        };
        // The idle line has a score of 3.71, which is below 4.03 and above 3.60.
        assert_eq!(cap(3.7), None, "300 ms one way without any load");
        assert_eq!(cap(3.5), Some(Grade::C));
    }

    #[test]
    fn one_unlucky_seed_of_three_does_not_lower_the_grade() {
        let runs = |scores: &[f64]| {
            let all: Vec<Run> = scores.iter().map(|score| conversation(0.03, 0.05, Some(*score))).collect();
            voice_cap_of_most(&all)
        };
        assert_eq!(runs(&[4.4, 4.4, 3.0]), None);
        assert_eq!(runs(&[4.4, 3.5, 3.0]), Some(Grade::C));
        assert_eq!(runs(&[]), None);
    }
}
