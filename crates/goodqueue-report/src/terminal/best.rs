//! Two sentences below the table: which discipline does best, and what it costs.

use goodqueue_tc::brief;

use super::line::Line;

/// Returns the sentences; `None` with one discipline, or if a run has no pings.
///
/// The best discipline adds the least latency to pings. Among those that add hardly more, it is
/// the one that carries most.
pub(super) fn best(lines: &[Line<'_>]) -> Option<String> {
    if lines.len() < 2 {
        return None;
    }
    let all: Vec<Of> = lines.iter().map(Of::new).collect::<Option<_>>()?;
    let least = all.iter().map(|of| of.latency_ms).fold(f64::INFINITY, f64::min);
    let worst = all.iter().max_by(|one, other| one.latency_ms.total_cmp(&other.latency_ms))?;
    let hardly_more = |of: &&Of| of.latency_ms <= least * (1.0 + SHARE) + MS;
    let best =
        all.iter().filter(hardly_more).max_by(|one, other| one.carried().total_cmp(&other.carried()))?;
    if hardly_more(&worst) {
        return Some("The disciplines hardly differ in the latency that they add to pings.".to_owned());
    }
    Some(format!(
        "{} does best: it adds {} ms to pings, {} adds {} ms.\n{}",
        best.name,
        digits(best.latency_ms),
        worst.name,
        digits(worst.latency_ms),
        cost(best, worst)
    ))
}

/// Says how much the best discipline carries, compared with the worst one.
fn cost(best: &Of, worst: &Of) -> String {
    let changed = |direction: usize| {
        let ratio = best.goodput[direction] / worst.goodput[direction];
        let change = match ratio {
            ratio if !ratio.is_finite() || (ratio - 1.0).abs() < CLEAR => return None,
            ratio if ratio >= 2.0 => format!("{ratio:.1} times as much"),
            ratio if ratio > 1.0 => format!("{:.0} % more", (ratio - 1.0) * 100.0),
            ratio => format!("{:.0} % less", (1.0 - ratio) * 100.0),
        };
        Some(format!("{} carry {change}", ["downloads", "uploads"][direction]))
    };
    let all: Vec<String> = (0..2).filter_map(changed).collect();
    if all.is_empty() { "It costs no goodput.".to_owned() } else { format!("With it, {}.", all.join(", ")) }
}

/// The means of one discipline.
struct Of {
    name: String,
    latency_ms: f64,
    goodput: [f64; 2],
}

impl Of {
    fn new(line: &Line<'_>) -> Option<Self> {
        Some(Self {
            name: brief(&line.runs[0].qdisc),
            latency_ms: line.mean(|run| run.induced_latency_s.mean)? * 1e3,
            goodput: [line.mean(|run| Some(run.goodput.down))?, line.mean(|run| Some(run.goodput.up))?],
        })
    }

    fn carried(&self) -> f64 {
        self.goodput[0] + self.goodput[1]
    }
}

/// Three digits.
fn digits(value: f64) -> String {
    let decimals = if value >= 99.95 {
        0
    } else if value >= 9.995 {
        1
    } else {
        2
    };
    format!("{value:.decimals$}")
}

/// A latency that is higher by less than this share and this time in ms is hardly more: nobody
/// feels the difference.
const SHARE: f64 = 0.1;
const MS: f64 = 1.0;
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
    fn without_a_difference_or_without_pings_nothing_is_best() {
        let equal = [run("pie", 0.2, 9e6, 9e6), run("codel", 0.3, 9e6, 9e6)];
        assert!(said(&equal).unwrap().contains("hardly differ"));
        assert_eq!(said(&equal[..1]), None);
        let mut silent = run("pie", 1.0, 9e6, 9e6);
        silent.induced_latency_s.mean = None;
        assert_eq!(said(&[silent, run("codel", 5.0, 9e6, 9e6)]), None);
    }
}
