//! Sentences below the table: which discipline does best, and what it costs.

use goodqueue_scenario::choice::{self, Candidate};
use goodqueue_scenario::number::with_digits;
use goodqueue_scenario::results::PerDirection;
use goodqueue_tc::brief;

use super::line::Line;

/// Returns the sentences; `None` with one discipline, or if a run has no pings.
pub(super) fn best(lines: &[Line<'_>]) -> Option<String> {
    if lines.len() < 2 {
        return None;
    }
    let all: Vec<DisciplineMeans> = lines.iter().map(DisciplineMeans::new).collect::<Option<_>>()?;
    let candidates: Vec<Candidate> = all.iter().map(|of| of.measured).collect();
    // Runs of a sweep may have several round-trip times, so none of them hides latency here.
    let best = &all[choice::best(&candidates, 0.0)?];
    let worst = all.iter().max_by(|one, other| one.latency_ms().total_cmp(&other.latency_ms()))?;
    let shortest = all.iter().min_by(|one, other| one.latency_ms().total_cmp(&other.latency_ms()))?;
    if worst.measured.is_hardly_slower_than(shortest.measured.latency_s, 0.0) {
        return Some("The disciplines hardly differ in the latency that they add to pings.".to_owned());
    }
    let mut text = if std::ptr::eq(best, worst) {
        format!("{} does best: it adds {} ms to pings.", best.name, digits(best.latency_ms()))
    } else {
        format!(
            "{} does best: it adds {} ms to pings, {} adds {} ms.\n{}",
            best.name,
            digits(best.latency_ms()),
            worst.name,
            digits(worst.latency_ms()),
            cost(best, worst)
        )
    };
    if !best.measured.is_hardly_slower_than(shortest.measured.latency_s, 0.0) {
        let lost = starved(shortest, &candidates);
        text += &format!(
            "\n{} adds {} ms only, but takes more than half of the goodput from {lost}.",
            shortest.name,
            digits(shortest.latency_ms())
        );
    }
    Some(text)
}

/// Names the directions that a discipline leaves less than half of what another one gives them.
fn starved(of: &DisciplineMeans, all: &[Candidate]) -> String {
    let sides = (0..2).filter(|side| of.measured.starves(*side, all));
    sides.map(|side| DIRECTIONS[side]).collect::<Vec<_>>().join(" and ")
}

/// Says how much the best discipline carries, compared with the worst one.
fn cost(best: &DisciplineMeans, worst: &DisciplineMeans) -> String {
    let changed = |direction: usize| {
        let ratio = best.measured.goodput_bps[direction] / worst.measured.goodput_bps[direction];
        let change = match ratio {
            // A direction without traffic has no ratio.
            ratio if !ratio.is_finite() || (ratio - 1.0).abs() < CLEAR => return None,
            ratio if ratio >= 2.0 => format!("{ratio:.1} times as much"),
            ratio if ratio > 1.0 => format!("{:.0} % more", (ratio - 1.0) * 100.0),
            ratio => format!("{:.0} % less", (1.0 - ratio) * 100.0),
        };
        Some(format!("{} carry {change}", DIRECTIONS[direction]))
    };
    let all: Vec<String> = (0..2).filter_map(changed).collect();
    if all.is_empty() { "It costs no goodput.".to_owned() } else { format!("With it, {}.", all.join(", ")) }
}

/// The means of one discipline.
struct DisciplineMeans {
    name: String,
    measured: Candidate,
}

impl DisciplineMeans {
    fn new(line: &Line<'_>) -> Option<Self> {
        let goodput_bps = [line.mean(|run| Some(run.goodput.down))?, line.mean(|run| Some(run.goodput.up))?];
        let latency_s = line.mean(|run| run.induced_latency_s.mean)?;
        // The goodput of a run is that of its flows with congestion control.
        let all = |of: fn(&PerDirection<f64>) -> f64| {
            line.mean(|run| Some(run.goodput_by_kind.values().map(of).sum()))
        };
        let other_bps =
            [all(|of| of.down)? - goodput_bps[0], all(|of| of.up)? - goodput_bps[1]].map(|bps| bps.max(0.0));
        Some(Self {
            name: brief(&line.runs[0].qdisc),
            measured: Candidate { latency_s, goodput_bps, other_bps },
        })
    }

    fn latency_ms(&self) -> f64 {
        self.measured.latency_s * 1e3
    }
}

/// Three digits.
fn digits(value: f64) -> String {
    with_digits(value, 3, 2)
}

const DIRECTIONS: [&str; 2] = ["downloads", "uploads"];
/// Goodput that is lower by less than 1 % is no cost.
const CLEAR: f64 = 0.01;

#[cfg(test)]
mod tests {
    use goodqueue_scenario::results::Run;

    use super::super::line::lines;
    use super::*;

    fn run(qdisc: &str, latency_ms: f64, down: f64, up: f64) -> Run {
        let mut run = Run { qdisc: qdisc.to_owned(), ..Run::default() };
        run.induced_latency_s.mean = Some(latency_ms / 1e3);
        (run.goodput.down, run.goodput.up) = (down, up);
        run
    }

    fn said(runs: &[Run]) -> Option<String> {
        best(&lines(&runs.iter().collect::<Vec<_>>()))
    }

    #[test]
    fn the_discipline_with_the_least_latency_is_named_with_its_cost() {
        let pfifo = run("pfifo", 314.2, 7e6, 0.80e6);
        let all = [pfifo.clone(), run("fq_codel", 6.871, 9.5e6, 0.76e6)];
        let sentence = "fq_codel does best: it adds 6.87 ms to pings, pfifo adds 314 ms.";
        assert_eq!(
            said(&all),
            Some(format!("{sentence}\nWith it, downloads carry 36 % more, uploads carry 5 % less."))
        );
        let all = [pfifo.clone(), run("fq_codel", 6.871, 15e6, 0.796e6)];
        assert_eq!(said(&all), Some(format!("{sentence}\nWith it, downloads carry 2.1 times as much.")));
        let all = [pfifo, run("fq_codel", 6.871, 7.05e6, 0.8e6)];
        assert_eq!(said(&all), Some(format!("{sentence}\nIt costs no goodput.")));
    }

    #[test]
    fn among_equals_in_latency_the_one_that_carries_most_does_best() {
        let all = [run("pie", 90.0, 9e6, 9e6), run("codel", 5.0, 8e6, 8e6), run("cake", 5.9, 9e6, 9e6)];
        assert!(said(&all).unwrap().starts_with("cake does best"), "{:?}", said(&all));
    }

    #[test]
    fn a_discipline_that_starves_a_direction_is_not_best_and_the_text_says_so() {
        let all =
            [run("bfifo", 300.0, 9e6, 0.9e6), run("gkred", 2.0, 9e6, 0.2e6), run("pie", 30.0, 9e6, 0.8e6)];
        let text = said(&all).unwrap();
        assert!(text.starts_with("pie does best: it adds 30.0 ms"), "{text}");
        assert!(
            text.ends_with("gkred adds 2.00 ms only, but takes more than half of the goodput from uploads."),
            "{text}"
        );
    }

    #[test]
    fn a_sender_that_fills_the_line_does_not_make_a_discipline_starve_the_others() {
        let beside = |qdisc, latency_ms, down, datagrams: f64| {
            let mut run = run(qdisc, latency_ms, down, 0.0);
            let kinds = [("tcp", down), ("cbr", datagrams)];
            run.goodput_by_kind =
                kinds.map(|(kind, bps)| (kind.to_owned(), PerDirection { down: bps, up: 0.0 })).into();
            run
        };
        let all = [beside("docsis", 8.19, 1.66e6, 37e6), beside("docsis noqprotect", 16.4, 3.9e6, 35e6)];
        let text = said(&all).unwrap();
        assert!(text.starts_with("docsis does best: it adds 8.19 ms to pings, docsis noqprotect"), "{text}");
        assert!(text.ends_with("With it, downloads carry 57 % less."), "{text}");
    }

    #[test]
    fn without_a_difference_or_without_pings_nothing_is_best() {
        let equal = [run("pie", 0.2, 9e6, 9e6), run("codel", 0.3, 9e6, 9e6)];
        assert!(said(&equal).unwrap().contains("hardly differ"));
        assert_eq!(said(&equal[..1]), None);
        let mut silent = run("pie", 1.0, 9e6, 9e6);
        silent.induced_latency_s.mean = None;
        assert_eq!(said(&[silent, run("codel", 5.0, 9e6, 9e6)]), None);
    }
}
