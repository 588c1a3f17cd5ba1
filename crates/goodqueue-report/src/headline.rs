//! The headline: the result in one sentence.

use goodqueue_scenario::results::Run;

use crate::group::Grouped;
use crate::metric::Spread;
use crate::number::{rate, time};

/// The headline and the sentence below it.
pub(crate) struct Headline {
    /// One sentence without a full stop.
    pub(crate) answer: String,
    /// Base round-trip time, and goodput of the disciplines in the headline; may be empty.
    pub(crate) detail: String,
}

/// Writes the headline about latency under load. Without pings it is about sojourn times, or else
/// about goodput.
pub(crate) fn headline(grouped: &Grouped<'_>) -> Headline {
    if grouped.points.is_empty() {
        return Headline { answer: "No runs in these results".to_owned(), detail: String::new() };
    }
    by_ping(grouped).or_else(|| by_sojourn(grouped)).or_else(|| by_goodput(grouped)).unwrap_or_else(|| {
        Headline {
            answer: format!("{} compared", many(grouped.labels.len(), "discipline")),
            detail: "Nothing was delivered.".to_owned(),
        }
    })
}

/// The value of one discipline: its worst sweep point, each a mean over seeds.
struct WorstPoint {
    discipline: usize,
    value: f64,
}

/// Ranks the disciplines by this value, smallest first.
fn ranking(grouped: &Grouped<'_>, of: impl Fn(&Run) -> Option<f64>) -> Vec<WorstPoint> {
    let mut all: Vec<WorstPoint> = (0..grouped.labels.len())
        .filter_map(|discipline| {
            let at_point =
                |runs: &Vec<Vec<&Run>>| Spread::from_values(runs[discipline].iter().map(|r| of(r)));
            let means = grouped.points.iter().filter_map(|p| at_point(&p.runs)).map(|s| s.mean);
            let value = means.reduce(f64::max)?;
            Some(WorstPoint { discipline, value })
        })
        .collect();
    all.sort_by(|a, b| a.value.total_cmp(&b.value));
    all
}

fn by_ping(grouped: &Grouped<'_>) -> Option<Headline> {
    let swept = grouped.points.len() > 1;
    let induced = ranking(grouped, |r| r.induced_latency_s.mean);
    let best = induced.first()?;
    let worst = induced.last()?;
    // In a sweep the base round-trip times may differ, so only the induced part can be compared.
    let ping_of = |s: &WorstPoint| {
        let mean =
            // The sentences about a sweep do not use this value, and without one there is one
            // point.
            Spread::from_values(grouped.points[0].runs[s.discipline].iter().map(|r| r.probes.ping_s.mean));
        mean.map_or(s.value, |m| m.mean)
    };
    let low = time(ping_of(best));
    let high = time(ping_of(worst));
    let good = &grouped.labels[best.discipline];
    let bad = &grouped.labels[worst.discipline];
    let alike = worst.value - best.value < (0.1 * worst.value).max(0.002);
    let kept = best.value < KEPT_S;
    let answer = match (induced.len(), alike, kept) {
        (1, _, _) if swept => {
            format!("{good} adds up to {} to ping, at the worst point of the sweep", time(worst.value))
        }
        (1, _, true) => format!("{good} keeps ping at {low} under load"),
        (1, _, false) => format!("{good} lets ping grow to {low} under load"),
        (n, true, _) if swept => {
            format!(
                "All {n} disciplines add much the same to ping: up to {} in this sweep",
                time(worst.value)
            )
        }
        (n, true, true) => format!("All {n} disciplines keep ping near {high} under load"),
        (n, true, false) => format!("Ping grows to about {high} under load with all {n} disciplines"),
        (_, false, true) if swept => format!(
            "{good} adds at most {} to ping at any point of the sweep; {bad} adds up to {}",
            time(best.value),
            time(worst.value)
        ),
        (_, false, true) => format!("{good} keeps ping at {low} under load; {bad} lets it grow to {high}"),
        (_, false, false) if swept => format!(
            "None keeps ping low across the sweep: {good} adds up to {}, {bad} up to {}",
            time(best.value),
            time(worst.value)
        ),
        (_, false, false) => format!("None keeps ping low under load: {low} with {good}, {high} with {bad}"),
    };
    let idle = grouped.points[0].runs[best.discipline].iter().find_map(|r| {
        let base = r.probes.ping_s.mean? - r.induced_latency_s.mean?;
        (!swept && base > 0.0).then(|| format!("The base round-trip time is {}. ", time(base)))
    });
    let named = if alike { vec![best] } else { vec![best, worst] };
    Some(Headline { answer, detail: format!("{}{}", idle.unwrap_or_default(), price(grouped, &named)) })
}

fn by_sojourn(grouped: &Grouped<'_>) -> Option<Headline> {
    let ranked = ranking(grouped, |r| r.bottleneck.link(grouped.link).sojourn_s.p95);
    let best = ranked.first()?;
    let worst = ranked.last()?;
    let good = &grouped.labels[best.discipline];
    let low = time(best.value);
    let high = time(worst.value);
    let answer = if best.discipline == worst.discipline {
        format!("95 % of packets wait less than {low} in {good}")
    // The texts are compared, because a reader cannot see a difference beyond their digits.
    } else if low == high {
        format!("95 % of packets wait less than {low} in all {} disciplines", ranked.len())
    } else {
        format!(
            "95 % of packets wait less than {low} in {good}, {high} in {}",
            grouped.labels[worst.discipline]
        )
    };
    Some(Headline { answer, detail: price(grouped, &[best, worst]) })
}

fn by_goodput(grouped: &Grouped<'_>) -> Option<Headline> {
    let ranked =
        ranking(grouped, |r| (r.goodput.down + r.goodput.up > 0.0).then_some(r.goodput.down + r.goodput.up));
    let least = ranked.first()?;
    let most = ranked.last()?;
    let answer = if least.discipline == most.discipline {
        format!("{} delivers {}", grouped.labels[most.discipline], rate(most.value))
    } else {
        format!(
            "{} delivers {}, {} {}",
            grouped.labels[most.discipline],
            rate(most.value),
            grouped.labels[least.discipline],
            rate(least.value)
        )
    };
    Some(Headline {
        answer,
        detail: "Without pings and queue measurements the latency is unknown.".to_owned(),
    })
}

/// Describes the goodput of the named disciplines.
fn price(grouped: &Grouped<'_>, named: &[&WorstPoint]) -> String {
    let mut known: Vec<usize> = named.iter().map(|s| s.discipline).collect();
    // With one discipline the best one is also the worst one.
    known.dedup();
    let goodput = |d: usize| {
        let runs = &grouped.points[0].runs[d];
        Spread::from_values(
            runs.iter()
                .map(|r| Some(if grouped.link.name() == "up" { r.goodput.up } else { r.goodput.down })),
        )
    };
    let parts: Vec<String> = known
        .iter()
        .filter_map(|&d| Some(format!("{} {}", grouped.labels[d], rate(goodput(d)?.mean))))
        .collect();
    // The points of a sweep may have other rates, so the goodput of the first one says little.
    if parts.is_empty() || grouped.points.len() > 1 {
        return String::new();
    }
    format!("Goodput {}: {}.", grouped.link.name(), parts.join(", "))
}

/// Returns "1 flow" or "2 flows".
pub(crate) fn many(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// Largest induced latency, in seconds, at which ping counts as kept low: the upper limit of grade
/// B.
const KEPT_S: f64 = 0.060;
