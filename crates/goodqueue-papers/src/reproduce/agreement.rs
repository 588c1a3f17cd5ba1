//! Whether goodqueue behaves as the system that the authors of a paper ran, and what a claim comes
//! to in that light.

use serde::Serialize;

use super::finding::{Measurement, Outcome};
use super::prediction;
use super::results::{CheckResult, ClaimResult, Verdict};
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
    pub fn of(result: &ClaimResult) -> Self {
        match (result.verdict, Agreement::of(result)) {
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
    pub fn of(result: &ClaimResult) -> Self {
        let system = match verdict_of_system(result) {
            OfSystem::None => return Self::NoReference,
            OfSystem::Open => return Self::Open,
            OfSystem::Holds => true,
            OfSystem::Fails => false,
        };
        match result.verdict {
            Verdict::Reproduced | Verdict::Consistent if system => Self::Same,
            Verdict::NotReproduced if !system => Self::Same,
            Verdict::Undecided | Verdict::NotRun => Self::Open,
            _ => Self::Differs,
        }
    }
}

enum OfSystem {
    None,
    Holds,
    Fails,
    /// Values for some of the checks, which hold; or two versions of the system disagree.
    Open,
}

fn verdict_of_system(result: &ClaimResult) -> OfSystem {
    let mut known = 0;
    let mut fails = false;
    let mut is_split = false;
    for check in &result.checks {
        let mut outcomes: Vec<bool> = check
            .real
            .iter()
            .filter(|real| real.own)
            .map(|real| real.outcome == Outcome::Holds || scatters(result, check, real.values[0]))
            .collect();
        // The number of a claim stands beside its only check.
        if let Some((low, high)) = result.limits {
            let agrees = |value: f64| (low..=high).contains(&value) || scatters(result, check, value);
            outcomes.extend(result.real.iter().filter(|real| real.own).map(|real| agrees(real.value)));
        }
        known += usize::from(!outcomes.is_empty());
        let holds = outcomes.iter().filter(|holds| **holds).count();
        is_split |= holds > 0 && holds < outcomes.len();
        fails |= holds == 0 && !outcomes.is_empty();
    }
    match known {
        0 => OfSystem::None,
        _ if is_split => OfSystem::Open,
        _ if fails => OfSystem::Fails,
        _ if known < result.checks.len() => OfSystem::Open,
        _ => OfSystem::Holds,
    }
}

/// True if the paper's number is one that the system may give with as many repetitions as the paper
/// had, if its runs scatter as ours do. Goodqueue's number is judged by the same rule.
fn scatters(result: &ClaimResult, check: &CheckResult, system: f64) -> bool {
    let (Some(expected), [value]) = (check.expected, check.values.as_slice()) else { return false };
    let measured = Measurement { value: *value, interval: check.intervals.first().copied().flatten() };
    let range = prediction::interval(measured, result.repetitions, result.paper_runs);
    range.is_some_and(|(low, high)| (low..=high).contains(&(expected - system + value)))
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
    pub fn of<'r>(results: impl IntoIterator<Item = &'r ClaimResult>) -> Self {
        let mut all = Self::default();
        for result in results.into_iter().filter(|result| result.kind.counts()) {
            let count = match Agreement::of(result) {
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
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pair {
    /// Here, with its 95 % interval.
    pub here: f64,
    /// 95 % interval over the repetitions.
    pub interval: Option<(f64, f64)>,
    /// The system's.
    pub system: f64,
}

impl Pair {
    /// True if both are within 10 % of each other, or the interval here reaches the system's value.
    #[must_use]
    pub fn is_near(&self) -> bool {
        let covers = self.interval.is_some_and(|(low, high)| (low..=high).contains(&self.system));
        covers || (self.here - self.system).abs() <= SHARE * self.system.abs()
    }
}

/// Returns the numbers of a claim for which the paper's own system has a value.
#[must_use]
pub fn pairs(result: &ClaimResult) -> Vec<Pair> {
    let numbers = result.numbers();
    let own = |name: &str| {
        let of_claim = result.real.iter().any(|real| real.own && real.of == name);
        of_claim || result.checks.iter().flat_map(|check| &check.real).any(|real| real.own && real.of == name)
    };
    let mut all = Vec::new();
    for number in &numbers {
        let systems = number.real.iter().filter(|(name, _)| own(name));
        all.extend(systems.map(|(_, system)| Pair {
            here: number.got,
            interval: number.interval,
            system: *system,
        }));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::verdicts::read;

    fn result(verdict: &str, real: &str) -> ClaimResult {
        let text = format!(
            r#"{{"claims":[{{"id":"x-1","paper":"x","kind":"number","expected":10.0,"got":10.5,"verdict":"{verdict}",
            "where":"","says":"","repetitions":3,"limits":[9.0,11.0],"real":[{real}],
            "checks":[{{"check":"a = 10","outcome":"holds","values":[10.5],"intervals":[[10.4,10.6]],"expected":10.0}}]}}]}}"#
        );
        read("v.json", text.as_bytes()).unwrap().remove(0)
    }

    #[test]
    fn a_claim_agrees_with_the_system_if_both_reproduce_it_or_neither_does() {
        let own = |value: f64| format!(r#"{{"of":"ns-2.35","value":{value},"own":true}}"#);
        let of = |verdict: &str, real: &str| {
            let result = result(verdict, real);
            (Agreement::of(&result), Class::of(&result))
        };
        assert_eq!(of("reproduced", &own(10.0)), (Agreement::Same, Class::Reproduced));
        assert_eq!(of("reproduced", &own(20.0)), (Agreement::Differs, Class::Reproduced));
        assert_eq!(of("not reproduced", &own(10.0)), (Agreement::Differs, Class::Differs));
        assert_eq!(of("not reproduced", &own(20.0)), (Agreement::Same, Class::LikeTheSystem));
        assert_eq!(of("undecided", &own(20.0)), (Agreement::Open, Class::Undecided));
        let other = r#"{"of":"Linux 6.1","value":10}"#;
        assert_eq!(of("not reproduced", other), (Agreement::NoReference, Class::NoReference));
    }

    #[test]
    fn numbers_are_near_within_a_tenth_or_within_the_interval() {
        let near = |here, interval, system| Pair { here, interval, system }.is_near();
        assert!(near(10.9, None, 10.0) && !near(11.1, None, 10.0));
        assert!(near(12.0, Some((9.0, 15.0)), 10.0));
        let counted = Agreements::of([&result("reproduced", r#"{"of":"ns-2.35","value":10.2,"own":true}"#)]);
        assert_eq!((counted.same, counted.near, counted.numbers), (1, 1, 1));
    }
}
