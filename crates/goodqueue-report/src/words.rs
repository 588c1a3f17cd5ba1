//! The parameters of a sweep point in words, taken from its runs.

use std::collections::BTreeSet;

use goodqueue_scenario::number::trim;
use goodqueue_scenario::results::{FlowKind, Run};

use crate::escape::clip;
use crate::group::Point;
use crate::number::{rate, time};

/// Returns the parameters except the seeds.
///
/// Example: `10 Mbit/s down, 1 Mbit/s up · base RTT 50 ms · 1 TCP cubic down + 1 ping · 60 s
/// measured`.
pub(crate) fn parameters(point: &Point<'_>) -> String {
    let Some(run) = point.first() else { return String::new() };
    let b = &run.bottleneck;
    let mut parts = vec![format!("{} down, {} up", rate(b.down.rate_bps), rate(b.up.rate_bps))];
    parts.extend(base_rtt(run));
    parts.extend(load(run));
    parts.push(format!("{} s measured", trim(&format!("{:.1}", run.duration_s))));
    parts.join(" · ")
}

/// Returns `seed 7`, `seeds 1–5`, `seeds 1, 4, 9` or `30 seeds`.
pub(crate) fn seeds(point: &Point<'_>) -> String {
    let all: BTreeSet<u64> = point.runs.iter().flatten().map(|r| r.seed).collect();
    let (Some(first), Some(last)) = (all.first(), all.last()) else { return "no seeds".to_owned() };
    if all.len() == 1 {
        format!("seed {first}")
    // Different numbers without a gap. Seeds have 64 bits, which `usize` may not have.
    } else if usize::try_from(last - first).is_ok_and(|d| d == all.len() - 1) {
        format!("seeds {first}–{last}")
    } else if all.len() <= 6 {
        format!("seeds {}", all.iter().map(u64::to_string).collect::<Vec<_>>().join(", "))
    } else {
        format!("{} seeds", all.len())
    }
}

fn base_rtt(run: &Run) -> Option<String> {
    let all = || run.flows.iter().map(|f| f.rtt_s).filter(|r| r.is_finite());
    let low = time(all().reduce(f64::min)?);
    let high = time(all().reduce(f64::max)?);
    Some(if low == high { format!("base RTT {low}") } else { format!("base RTT {low} to {high}") })
}

/// Counts the flows that differ only in number, in the order of the scenario.
fn load(run: &Run) -> Option<String> {
    let mut kinds: Vec<(String, usize)> = Vec::new();
    for flow in &run.flows {
        let cc = flow.cc.as_deref().map_or(String::new(), |cc| format!(" {}", clip(cc, 24)));
        let name = flow.kind.name();
        // The kinds of bulk flows are acronyms: TCP and QUIC.
        let kind = if flow.kind.is_bulk() { name.to_uppercase() } else { clip(name, 24) };
        let name = match flow.kind {
            // A ping crosses the line in both directions.
            FlowKind::Ping => format!("{kind}{cc}"),
            _ => format!("{kind}{cc} {}", flow.direction.name()),
        };
        match kinds.iter_mut().find(|(known, _)| *known == name) {
            Some((_, n)) => *n += 1,
            None => kinds.push((name, 1)),
        }
    }
    let words: Vec<String> = kinds.iter().take(8).map(|(name, n)| format!("{n} {name}")).collect();
    (!words.is_empty()).then(|| words.join(" + "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::run;
    use crate::group::Grouped;

    #[test]
    fn seeds_are_named_or_counted() {
        let text = |seeds_given: &[u64]| {
            let runs: Vec<_> = seeds_given.iter().map(|s| run("pfifo", *s, None)).collect();
            seeds(&Grouped::new(&runs).points[0])
        };
        assert_eq!(text(&[7]), "seed 7");
        assert_eq!(text(&[1, 2, 3]), "seeds 1–3");
        assert_eq!(text(&[1, 5]), "seeds 1, 5");
        assert_eq!(text(&[1, 2, 3, 4, 5, 6, u64::MAX]), "7 seeds");
    }

    #[test]
    fn parameters_come_from_the_run() {
        let runs = [run("pfifo", 1, None)];
        assert_eq!(
            parameters(&Grouped::new(&runs).points[0]),
            "10 Mbit/s down, 1 Mbit/s up · base RTT 50 ms · 1 TCP cubic down + 1 ping · 60 s measured"
        );
    }
}
