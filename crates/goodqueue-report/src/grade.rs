//! The letter grade for latency under load, over several seeds.

use goodqueue_scenario::measure::grade;
use goodqueue_scenario::results::{Grade, Run};

/// The best and the worst grade of several runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Grades {
    best: Grade,
    worst: Grade,
}

impl Grades {
    /// Returns the grades of the runs that have one; `None` if no run has one.
    pub(crate) fn from_runs(runs: &[&Run]) -> Option<Self> {
        let letters = || runs.iter().filter_map(|run| run.grade);
        Some(Self { best: letters().min()?, worst: letters().max()? })
    }

    /// Returns `A`, or `A–C` if the grades differ.
    pub(crate) fn text(self) -> String {
        if self.best == self.worst {
            self.best.to_string()
        } else {
            format!("{}–{}", self.best, self.worst)
        }
    }

    /// Returns the CSS class of the worst grade.
    pub(crate) fn class(self) -> &'static str {
        match self.worst {
            Grade::APlus => "g-aa",
            Grade::A => "g-a",
            Grade::B => "g-b",
            Grade::C => "g-c",
            Grade::D => "g-d",
            Grade::F => "g-f",
        }
    }
}

/// Returns the grade of the mean induced latency of several runs, lowered if loss, failing calls or
/// starvation lowered that of at least half of them; `None` if a run has no pings.
pub(crate) fn of_mean(runs: &[&Run]) -> Option<Grade> {
    let latencies: Option<Vec<f64>> = runs.iter().map(|run| run.induced_latency_s.mean).collect();
    let latencies = latencies.filter(|all| !all.is_empty())?;
    #[expect(clippy::cast_precision_loss, reason = "a few runs")]
    let letter = grade(latencies.iter().sum::<f64>() / latencies.len() as f64);
    let lowered: Vec<Grade> = runs
        .iter()
        .zip(&latencies)
        .filter_map(|(run, latency)| run.grade.filter(|letter| *letter != grade(*latency)))
        .collect();
    match lowered.first() {
        // A worse grade is greater.
        Some(cap) if lowered.len() * 2 >= runs.len() => Some(letter.max(*cap)),
        _ => Some(letter),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(latency_ms: f64, letter: Grade) -> Run {
        let mut run = Run { grade: Some(letter), ..Run::default() };
        run.induced_latency_s.mean = Some(latency_ms / 1e3);
        run
    }

    #[test]
    fn a_line_whose_runs_lose_pings_has_their_grade_and_not_that_of_its_latency() {
        let of = |runs: &[Run]| of_mean(&runs.iter().collect::<Vec<_>>());
        assert_eq!(of(&[run(20.0, Grade::C), run(22.0, Grade::C)]), Some(Grade::C));
        assert_eq!(of(&[run(20.0, Grade::A), run(22.0, Grade::A), run(21.0, Grade::B)]), Some(Grade::A));
        assert_eq!(
            of(&[run(20.0, Grade::A), run(80.0, Grade::C)]),
            Some(Grade::B),
            "the mean latency decides"
        );
        assert_eq!(of(&[Run::default()]), None);
    }
}
