//! The letter grade for latency under load, over several seeds.

use goodqueue_scenario::measure::{grade, worse_of};
use goodqueue_scenario::results::Run;

/// The grades, best first.
const LETTERS: [&str; 6] = ["A+", "A", "B", "C", "D", "F"];

/// The best and the worst grade of several runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Grades {
    best: usize,
    worst: usize,
}

impl Grades {
    /// Returns the grades of the runs that have one; `None` if no run has one.
    pub(crate) fn from_runs(runs: &[&Run]) -> Option<Self> {
        let letters = || {
            runs.iter()
                .filter_map(|r| r.grade.as_deref())
                .filter_map(|g| LETTERS.iter().position(|l| *l == g))
        };
        Some(Self { best: letters().min()?, worst: letters().max()? })
    }

    /// Returns `A`, or `A–C` if the grades differ.
    pub(crate) fn text(self) -> String {
        if self.best == self.worst {
            LETTERS[self.best].to_owned()
        } else {
            format!("{}–{}", LETTERS[self.best], LETTERS[self.worst])
        }
    }

    /// Returns the CSS class of the worst grade.
    pub(crate) fn class(self) -> &'static str {
        ["g-aa", "g-a", "g-b", "g-c", "g-d", "g-f"][self.worst]
    }
}

/// Returns the grade of the mean induced latency of several runs, lowered if loss, failing calls or
/// starvation lowered that of at least half of them; `None` if a run has no pings.
pub(crate) fn of_mean<'r>(runs: &[&'r Run]) -> Option<&'r str> {
    let latencies: Option<Vec<f64>> = runs.iter().map(|run| run.induced_latency_s.mean).collect();
    let latencies = latencies.filter(|all| !all.is_empty())?;
    #[expect(clippy::cast_precision_loss, reason = "a few runs")]
    let letter = grade(latencies.iter().sum::<f64>() / latencies.len() as f64);
    let lowered: Vec<&str> = runs
        .iter()
        .zip(&latencies)
        .filter_map(|(run, latency)| run.grade.as_deref().filter(|letter| *letter != grade(*latency)))
        .collect();
    match lowered.first() {
        Some(cap) if lowered.len() * 2 >= runs.len() => Some(worse_of(letter, cap)),
        _ => Some(letter),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(latency_ms: f64, letter: &str) -> Run {
        let mut run = Run { grade: Some(letter.to_owned()), ..Run::default() };
        run.induced_latency_s.mean = Some(latency_ms / 1e3);
        run
    }

    #[test]
    fn a_line_whose_runs_lose_pings_has_their_grade_and_not_that_of_its_latency() {
        let of = |runs: &[Run]| of_mean(&runs.iter().collect::<Vec<_>>()).map(str::to_owned);
        assert_eq!(of(&[run(20.0, "C"), run(22.0, "C")]), Some("C".to_owned()));
        assert_eq!(of(&[run(20.0, "A"), run(22.0, "A"), run(21.0, "B")]), Some("A".to_owned()));
        assert_eq!(of(&[run(20.0, "A"), run(80.0, "C")]), Some("B".to_owned()), "the mean latency decides");
        assert_eq!(of(&[Run::default()]), None);
    }
}
