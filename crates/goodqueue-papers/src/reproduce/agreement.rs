//! Whether goodqueue behaves as the system that the authors of a paper ran, and what a claim comes
//! to in that light.

use serde::Serialize;

use super::finding::{Measurement, Outcome};
use super::prediction;
use super::results::{CheckResult, ClaimResult, Number, RealResult, Verdict};
use super::tolerance::SHARE;

/// What the paper's own system says about a claim, beside goodqueue's verdict.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Agreement {
    /// Both reproduce the claim, or neither does.
    Same,
    /// One of them reproduces it.
    Differs,
    /// Goodqueue's repetitions, or the values of the system, do not decide.
    Open,
    /// The system has no value for the claim.
    NoReference,
}

/// What a claim comes to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Class {
    /// Not reproduced, although the paper's own system reproduces it.
    Differs,
    /// Not reproduced, and by the paper's own system neither.
    LikeTheSystem,
    /// Not reproduced; a parameter that the paper does not give decides.
    Unknown,
    /// Not reproduced, without a value of the paper's own system.
    NoReference,
    /// The repetitions do not decide.
    Undecided,
    /// Within the scatter of the paper's few repetitions.
    Consistent,
    /// Reproduced.
    Reproduced,
    /// Not run.
    NotRun,
}

impl Class {
    /// All classes, those that ask for work first.
    pub const ALL: [Self; 8] = [
        Self::Differs,
        Self::LikeTheSystem,
        Self::Unknown,
        Self::NoReference,
        Self::Undecided,
        Self::Consistent,
        Self::Reproduced,
        Self::NotRun,
    ];

    /// Returns the class in words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Differs => "differs from the paper's own system",
            Self::LikeTheSystem => "as the paper's own system, not as the paper",
            Self::Unknown => "depends on a parameter that the paper does not give",
            Self::NoReference => "not reproduced, no value of the paper's own system",
            Self::Undecided => "undecided",
            Self::Consistent => "consistent with the paper's few repetitions",
            Self::Reproduced => "reproduced",
            Self::NotRun => "not run",
        }
    }

    /// Returns the class of a claim.
    #[must_use]
    pub fn from_result(result: &ClaimResult) -> Self {
        match (result.verdict, Agreement::from_result(result)) {
            (Verdict::Reproduced, _) => Self::Reproduced,
            (Verdict::Consistent, _) => Self::Consistent,
            (Verdict::Undecided, _) => Self::Undecided,
            (Verdict::NotRun, _) => Self::NotRun,
            (Verdict::NotReproduced, Agreement::Differs) => Self::Differs,
            (Verdict::NotReproduced, Agreement::Same) => Self::LikeTheSystem,
            (Verdict::NotReproduced, _) if result.unknown.is_some() => Self::Unknown,
            (Verdict::NotReproduced, _) => Self::NoReference,
        }
    }
}

impl Agreement {
    /// Compares the verdict on a claim with what the paper's own system gives for its checks.
    #[must_use]
    pub fn from_result(result: &ClaimResult) -> Self {
        match (result.verdict, verdict_of_system(result)) {
            (_, OfSystem::None) => Self::NoReference,
            (_, OfSystem::Open) | (Verdict::Undecided | Verdict::NotRun, _) => Self::Open,
            (Verdict::Reproduced | Verdict::Consistent, OfSystem::Holds | OfSystem::Consistent)
            | (Verdict::NotReproduced, OfSystem::Fails) => Self::Same,
            // What is consistent neither confirms nor refutes, so that it contradicts nothing.
            (Verdict::Consistent, OfSystem::Fails) | (Verdict::NotReproduced, OfSystem::Consistent) => {
                Self::Open
            }
            (Verdict::Reproduced, OfSystem::Fails) | (Verdict::NotReproduced, OfSystem::Holds) => {
                Self::Differs
            }
        }
    }
}

enum OfSystem {
    None,
    Holds,
    Consistent,
    Fails,
    /// Values for some of the checks, which hold; or they do not decide; or two versions of the
    /// system disagree.
    Open,
}

fn verdict_of_system(result: &ClaimResult) -> OfSystem {
    let mut known = 0;
    let mut fails = false;
    let mut is_open = false;
    let mut is_consistent = false;
    for check in &result.checks {
        let own = check.real.iter().filter(|real| real.own);
        let outcomes: Vec<Outcome> = own.map(|real| of_real(result, check, real)).collect();
        known += usize::from(!outcomes.is_empty());
        let is = |wanted: Outcome| outcomes.iter().filter(|outcome| **outcome == wanted).count();
        let failing = is(Outcome::Fails);
        // All versions of the system must fail; if only some do, they disagree.
        fails |= failing > 0 && failing == outcomes.len();
        is_consistent |= is(Outcome::Consistent) > 0;
        is_open |= is(Outcome::Undecided) > 0 || failing > 0 && failing < outcomes.len();
    }
    match known {
        0 => OfSystem::None,
        // A check that fails decides the claim. One without a value leaves it open.
        _ if fails => OfSystem::Fails,
        _ if is_open || known < result.checks.len() => OfSystem::Open,
        _ if is_consistent => OfSystem::Consistent,
        _ => OfSystem::Holds,
    }
}

/// What a system says of a check. Where its runs are known they have judged the paper's number by
/// its few repetitions already.
fn of_real(result: &ClaimResult, check: &CheckResult, real: &RealResult) -> Outcome {
    match real.outcome {
        // Every value of a real system exists: the reader of verdicts refuses a check without
        // values.
        Outcome::Fails if real.repetitions.is_none() => scattered(result, check, real.values[0]),
        outcome => outcome,
    }
}

/// Fails, unless the paper's number is one that the system may give with as many repetitions as the
/// paper had, if its runs scatter as ours do. Goodqueue's number is judged by the same rule.
fn scattered(result: &ClaimResult, check: &CheckResult, system: f64) -> Outcome {
    let (Some(expected), [value]) = (check.expected, check.values.as_slice()) else { return Outcome::Fails };
    // Runs of the system were not kept, so the scatter of ours stands for theirs.
    let away = system - value;
    let interval = check.intervals.first().copied().flatten().map(|(low, high)| (low + away, high + away));
    let measured = Measurement { value: system, interval };
    prediction::outcome(Outcome::Fails, expected, measured, result.repetitions, result.paper_runs)
}

/// How far goodqueue agrees with the systems that the authors of papers ran.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Agreements {
    /// Claims with the same verdict.
    pub same: usize,
    /// Claims with another verdict.
    pub differ: usize,
    /// Claims that either does not decide.
    pub open: usize,
    /// Claims without a value of the system.
    pub no_reference: usize,
    /// Numbers within 10 % of the system's, or whose interval reaches it.
    pub near: usize,
    /// Numbers with a value of the system.
    pub numbers: usize,
}

impl Agreements {
    /// Counts the claims that count towards the score.
    #[must_use]
    pub fn from_results<'r>(results: impl IntoIterator<Item = &'r ClaimResult>) -> Self {
        let mut all = Self::default();
        for result in results.into_iter().filter(|result| result.kind.counts()) {
            let count = match Agreement::from_result(result) {
                Agreement::Same => &mut all.same,
                Agreement::Differs => &mut all.differ,
                Agreement::Open => &mut all.open,
                Agreement::NoReference => &mut all.no_reference,
            };
            *count += 1;
            for pair in pairs(result) {
                all.numbers += 1;
                all.near += usize::from(pair.is_near());
            }
        }
        all
    }

    /// Adds the counts of another paper.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            same: self.same + other.same,
            differ: self.differ + other.differ,
            open: self.open + other.open,
            no_reference: self.no_reference + other.no_reference,
            near: self.near + other.near,
            numbers: self.numbers + other.numbers,
        }
    }

    /// Claims that both systems decide.
    #[must_use]
    pub const fn decided(self) -> usize {
        self.same + self.differ
    }

    /// Claims with a value of the system.
    #[must_use]
    pub const fn with_reference(self) -> usize {
        self.same + self.differ + self.open
    }
}

/// A number here and in the paper's own system.
#[derive(Clone, PartialEq, Debug)]
pub struct Pair {
    /// Here.
    pub here: f64,
    /// 95 % interval over the repetitions here.
    pub interval: Option<(f64, f64)>,
    /// The system's.
    pub system: f64,
    /// 95 % interval over the system's repetitions, if its runs are known.
    pub system_interval: Option<(f64, f64)>,
}

impl Pair {
    /// True if both are within 10 % of each other, or their intervals overlap.
    #[must_use]
    pub fn is_near(&self) -> bool {
        // A value without an interval counts as one of no width.
        let (low, high) = self.interval.unwrap_or((self.here, self.here));
        let (lowest, highest) = self.system_interval.unwrap_or((self.system, self.system));
        let overlap = low <= highest && lowest <= high;
        overlap || (self.here - self.system).abs() <= SHARE * self.system.abs()
    }
}

/// Returns the numbers of a claim for which the paper's own system has a value.
#[must_use]
pub fn pairs(result: &ClaimResult) -> Vec<Pair> {
    let numbers = result.numbers();
    let mut pairs = Vec::new();
    // A claim has a number for each check, or none at all.
    for (number, check) in numbers.iter().zip(&result.checks) {
        pairs.extend(pairs_of(number, check));
    }
    pairs
}

fn pairs_of(number: &Number<'_>, check: &CheckResult) -> Vec<Pair> {
    let beside = |real: &RealResult| Pair {
        here: number.got,
        interval: number.interval,
        system: real.values[0],
        system_interval: real.intervals.first().copied().flatten(),
    };
    check.real.iter().filter(|real| real.own).map(beside).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::verdicts::read;

    fn result(verdict: &str, real: &str) -> ClaimResult {
        let text = format!(
            r#"{{"claims":[{{"id":"x-1","paper":"x","kind":"number","expected":10.0,"got":10.5,"verdict":"{verdict}",
            "where":"","says":"","repetitions":3,"limits":[9.0,11.0],
            "checks":[{{"check":"a = 10","outcome":"holds","values":[10.5],"intervals":[[10.4,10.6]],"expected":10.0,"real":[{real}]}}]}}]}}"#
        );
        read("v.json", text.as_bytes()).unwrap().remove(0)
    }

    #[test]
    fn a_claim_agrees_with_the_system_if_both_reproduce_it_or_neither_does() {
        let own = |value: f64| {
            let outcome = if value == 10.0 { "holds" } else { "fails" };
            format!(r#"{{"of":"ns-2.35","outcome":"{outcome}","values":[{value}],"own":true}}"#)
        };
        let of = |verdict: &str, real: &str| {
            let result = result(verdict, real);
            (Agreement::from_result(&result), Class::from_result(&result))
        };
        assert_eq!(of("reproduced", &own(10.0)), (Agreement::Same, Class::Reproduced));
        assert_eq!(of("reproduced", &own(20.0)), (Agreement::Differs, Class::Reproduced));
        assert_eq!(of("not reproduced", &own(10.0)), (Agreement::Differs, Class::Differs));
        assert_eq!(of("not reproduced", &own(20.0)), (Agreement::Same, Class::LikeTheSystem));
        assert_eq!(of("undecided", &own(20.0)), (Agreement::Open, Class::Undecided));
        let other = r#"{"of":"Linux 6.1","outcome":"holds","values":[10]}"#;
        assert_eq!(of("not reproduced", other), (Agreement::NoReference, Class::NoReference));
    }

    #[test]
    fn numbers_are_near_within_a_tenth_or_within_the_interval() {
        let near = |here, interval, system| Pair { here, interval, system, system_interval: None }.is_near();
        assert!(near(10.9, None, 10.0) && !near(11.1, None, 10.0));
        assert!(near(12.0, Some((9.0, 15.0)), 10.0));
        let both = Pair {
            here: 12.0,
            interval: Some((11.0, 13.0)),
            system: 10.0,
            system_interval: Some((9.0, 11.5)),
        };
        assert!(both.is_near());
        let counted = Agreements::from_results([&result(
            "reproduced",
            r#"{"of":"ns-2.35","outcome":"holds","values":[10.2],"own":true}"#,
        )]);
        assert_eq!((counted.same, counted.near, counted.numbers), (1, 1, 1));
    }
}
