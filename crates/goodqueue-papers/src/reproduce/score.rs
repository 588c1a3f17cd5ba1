//! How many claims reproduce. Only claims of a kind that counts are in the score; the others are
//! counted beside it.

use serde::Serialize;

use super::agreement::Agreements;
use super::results::{ClaimResult, Verdict};

/// Claims by verdict.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Verdicts {
    /// Reproduced.
    pub reproduced: usize,
    /// Within the scatter of the paper's few repetitions.
    pub consistent: usize,
    /// The repetitions do not decide.
    pub undecided: usize,
    /// Not reproduced.
    pub not_reproduced: usize,
    /// Not run.
    pub not_run: usize,
}

/// The score of a paper.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Score {
    /// Name of the paper.
    pub paper: String,
    /// Numbers, orders and shapes.
    pub counted: Verdicts,
    /// All other claims, which do not count.
    pub others: Verdicts,
    /// The counted claims beside the system that the paper ran.
    pub agreements: Agreements,
}

impl Verdicts {
    /// All of them.
    #[must_use]
    pub const fn all(self) -> usize {
        self.run() + self.not_run
    }

    /// Those that were run.
    #[must_use]
    pub const fn run(self) -> usize {
        self.reproduced + self.consistent + self.undecided + self.not_reproduced
    }

    /// Adds a verdict.
    pub const fn add(&mut self, verdict: Verdict) {
        let count = match verdict {
            Verdict::Reproduced => &mut self.reproduced,
            Verdict::Consistent => &mut self.consistent,
            Verdict::Undecided => &mut self.undecided,
            Verdict::NotReproduced => &mut self.not_reproduced,
            Verdict::NotRun => &mut self.not_run,
        };
        *count += 1;
    }
}

/// The score of each paper among `results`, in their order.
#[must_use]
pub fn scores(results: &[ClaimResult]) -> Vec<Score> {
    let mut scores: Vec<Score> = Vec::new();
    for result in results {
        // The results of a paper are next to each other.
        if scores.last().is_none_or(|last| last.paper != result.paper) {
            let of_paper = results.iter().filter(|other| other.paper == result.paper);
            scores.push(Score {
                paper: result.paper.clone(),
                counted: Verdicts::default(),
                others: Verdicts::default(),
                agreements: Agreements::from_results(of_paper),
            });
        }
        if let Some(score) = scores.last_mut() {
            let kind = if result.kind.counts() { &mut score.counted } else { &mut score.others };
            kind.add(result.verdict);
        }
    }
    scores
}

impl std::fmt::Display for Score {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { paper, counted, others, agreements } = self;
        write!(f, "{paper}: ")?;
        if counted.all() > 0 {
            if agreements.with_reference() > 0 {
                let Agreements { same, near, numbers, no_reference, .. } = agreements;
                write!(f, "as the paper's own system in {same} of {} claims", agreements.decided())?;
                write!(f, " and {near} of {numbers} values ({no_reference} claims without reference); ")?;
            }
            write!(f, "{} of {} claims reproduced as worded", counted.reproduced, counted.run())?;
            write!(f, ", {} consistent, {} undecided", counted.consistent, counted.undecided)?;
            write!(f, ", {} not run", counted.not_run)?;
        }
        if others.all() > 0 {
            let separator = if counted.all() > 0 { "; " } else { "" };
            write!(f, "{separator}{} of {} other checks hold", others.reproduced, others.run())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_says_what_was_reproduced_of_what_was_run_and_keeps_other_checks_apart() {
        let counted = Verdicts { reproduced: 7, consistent: 0, undecided: 1, not_reproduced: 2, not_run: 3 };
        let others = Verdicts { reproduced: 4, not_reproduced: 1, ..Verdicts::default() };
        let agreements = Agreements::default();
        let both = Score { paper: "jk".to_owned(), counted, others, agreements };
        let text = "jk: 7 of 10 claims reproduced as worded, 0 consistent, 1 undecided, 3 not run; 4 of 5 other checks hold";
        assert_eq!(both.to_string(), text);
        let agreements = Agreements { same: 3, differ: 1, near: 5, numbers: 6, no_reference: 6, open: 0 };
        let beside = Score { agreements, ..both.clone() }.to_string();
        let first =
            "jk: as the paper's own system in 3 of 4 claims and 5 of 6 values (6 claims without reference); ";
        assert!(beside.starts_with(first), "{beside}");
        let own = Score { counted: Verdicts::default(), ..both };
        assert_eq!(own.to_string(), "jk: 4 of 5 other checks hold");
    }
}
