//! What comes out of claims and metrics, as `goodqueue reproduce --json` writes it, and in words.

use goodqueue_scenario::number::{trim, with_digits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::finding::Outcome;
use super::paper::ClaimKind;

/// How a claim came out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub enum Verdict {
    /// All that it says holds here.
    #[serde(rename = "reproduced")]
    Reproduced,
    /// The paper's number is within the scatter of as many repetitions as the paper had, which is
    /// wide: it neither confirms nor refutes.
    #[serde(rename = "consistent")]
    Consistent,
    /// The repetitions do not decide whether all that it says holds here.
    #[serde(rename = "undecided")]
    Undecided,
    /// Something that it says does not hold here.
    #[serde(rename = "not reproduced")]
    NotReproduced,
    /// It was not tried.
    #[serde(rename = "not run")]
    NotRun,
}

/// A claim and how it came out.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ClaimResult {
    /// The claim's id.
    pub id: String,
    /// The paper's name.
    pub paper: String,
    /// What it is.
    pub kind: ClaimKind,
    /// What the paper says: its number, or its words.
    pub expected: Value,
    /// What came out: a number, or the checks in words; `null` if it was not run.
    pub got: Value,
    /// How it came out.
    pub verdict: Verdict,
    /// 95 % interval of the number over resampled repetitions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<(f64, f64)>,
    /// Unit of the number.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// Where in the paper it stands.
    #[serde(rename = "where")]
    pub place: String,
    /// The paper's own words; empty if the claim is our own.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub quote: String,
    /// What is checked, in words.
    pub says: String,
    /// The lowest and the highest value that agree with the paper's number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<(f64, f64)>,
    /// The rule for these limits; empty if the claim has no number.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tolerance: String,
    /// The parameter that was chosen by looking at this result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fitted: Option<String>,
    /// Parameter that decides the claim and that the paper does not give.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
    /// Repetitions behind the paper's number, where the paper says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paper_runs: Option<usize>,
    /// Repetitions.
    pub repetitions: usize,
    /// Every check with its figures.
    pub checks: Vec<CheckResult>,
    /// Why it was not run, what was tried, what differs.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// Metrics that the same experiments have.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct MetricsTable {
    /// Their names and units.
    pub metrics: Vec<(String, String)>,
    /// A line for each discipline in each experiment.
    pub measured: Vec<MetricsResult>,
}

/// What is measured of a discipline in an experiment.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct MetricsResult {
    /// Name of the experiment.
    pub experiment: String,
    /// Label of the discipline.
    pub qdisc: String,
    /// In the order of the metrics, in their units; `null` without a sample.
    pub values: Vec<Option<f64>>,
}

/// A check and its figures.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CheckResult {
    /// As written in `claims.toml`.
    pub check: String,
    /// How it came out.
    pub outcome: Outcome,
    /// The values in it.
    pub values: Vec<f64>,
    /// The 95 % interval of each value, if the claim has few checks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<Option<(f64, f64)>>,
    /// What the paper has, if it is of a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<f64>,
    /// How it comes out by the values of real systems, where these are known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub real: Vec<RealResult>,
}

/// Outcome of a check with the values of a real system.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RealResult {
    /// Which system.
    pub of: String,
    /// True if it is the system that the paper ran.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own: bool,
    /// How it comes out.
    pub outcome: Outcome,
    /// The values in it.
    pub values: Vec<f64>,
    /// The 95 % interval of each value, if its runs are known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<Option<(f64, f64)>>,
    /// Repetitions behind the values, if its runs are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repetitions: Option<usize>,
}

/// A number that a claim gives.
#[derive(Clone, PartialEq, Debug)]
pub struct Number<'c> {
    /// The paper's.
    pub expected: f64,
    /// What came out; NaN without a sample.
    pub got: f64,
    /// 95 % interval over the repetitions.
    pub interval: Option<(f64, f64)>,
    /// Real systems and their numbers.
    pub real: Vec<(&'c str, f64)>,
    /// Whether it is as near as it has to be.
    pub outcome: Outcome,
}

impl ClaimResult {
    /// Its numbers, if it consists of one or of few; none of a claim in words.
    #[must_use]
    pub fn numbers(&self) -> Vec<Number<'_>> {
        if self.checks.len() > FEW_CHECKS {
            return Vec::new();
        }
        let all = self.checks.iter().map(|check| {
            let real = check.real.iter().map(|real| (real.of.as_str(), real.values[0]));
            Some(Number {
                expected: check.expected?,
                got: check.values[0],
                interval: check.intervals.first().copied().flatten(),
                real: real.collect(),
                outcome: check.outcome,
            })
        });
        all.collect::<Option<_>>().unwrap_or_default()
    }
}

/// How many of the checks hold, and what was measured where they are few or do not.
pub(super) fn in_words(checks: &[CheckResult]) -> String {
    counted(checks.iter().map(|check| {
        (check.check.as_str(), check.outcome, check.values.as_slice(), check.intervals.as_slice())
    }))
}

/// Each real system with the outcome of the checks for which it has values: how many of them hold.
#[must_use]
pub fn real_in_words(checks: &[CheckResult]) -> Vec<(String, String)> {
    let mut systems: Vec<&str> = Vec::new();
    for real in checks.iter().flat_map(|check| &check.real) {
        if !systems.contains(&real.of.as_str()) {
            systems.push(&real.of);
        }
    }
    let of_system = |system: &str| {
        let known = checks.iter().filter_map(|check| {
            let real = check.real.iter().find(|real| real.of == system)?;
            Some((check.check.as_str(), real.outcome, real.values.as_slice(), [].as_slice()))
        });
        (system.to_owned(), counted(known))
    };
    systems.into_iter().map(of_system).collect()
}

/// A check, how it came out, its values and their intervals.
type Shown<'c> = (&'c str, Outcome, &'c [f64], &'c [Option<(f64, f64)>]);

/// How many of these checks hold, and the values of those that do not, or of all if they are few.
fn counted<'c>(checks: impl Iterator<Item = Shown<'c>> + Clone) -> String {
    let holds = |check: &Shown<'_>| check.1 == Outcome::Holds;
    let all = checks.clone().count();
    let holding = checks.clone().filter(holds).count();
    let mut words = format!("{holding} of {all} hold");
    for (check, outcome, values, intervals) in checks.filter(|check| !holds(check) || all <= FEW_CHECKS) {
        let outcome = match outcome {
            Outcome::Holds => "",
            Outcome::Consistent => "consistent: ",
            Outcome::Undecided => "undecided: ",
            Outcome::Fails => "not ",
        };
        let values: Vec<String> = (values.iter().enumerate())
            .map(|(number, value)| match intervals.get(number).copied().flatten() {
                Some((low, high)) => {
                    format!("{} [{} to {}]", figures(*value), figures(low), figures(high))
                }
                None => figures(*value),
            })
            .collect();
        words.push_str(&format!("; {outcome}{check} ({})", values.join(", ")));
    }
    words
}

/// A number in three or four significant figures.
#[must_use]
pub fn figures(value: f64) -> String {
    if value.is_nan() {
        return NO_SAMPLE.to_owned();
    }
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    if value.abs() >= HUGE {
        return format!("{value:.3e}");
    }
    trim(&with_digits(value, 4, 9)).to_owned()
}

/// Three significant figures are enough where columns stand side by side.
#[must_use]
pub fn three_figures(value: f64) -> String {
    if value.abs() >= HUGE && value.is_finite() {
        return format!("{value:.2e}");
    }
    with_digits(value, 3, if value == 0.0 { 2 } else { 3 })
}

/// From here on digits would fill lines. Rates of terabits are below.
const HUGE: f64 = 1e15;

/// Checks up to this number are all shown with their values.
pub(super) const FEW_CHECKS: usize = 3;
/// Shown instead of a figure of which no run has a sample.
pub(super) const NO_SAMPLE: &str = "no sample";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_checks_are_shown_with_what_was_measured_many_only_where_they_do_not_hold() {
        let check = |outcome| CheckResult {
            check: "a < 1".to_owned(),
            outcome,
            values: vec![0.5, 1.0],
            intervals: vec![Some((0.25, 0.75)), None],
            expected: None,
            real: Vec::new(),
        };
        let few = "1 of 2 hold; a < 1 (0.5 [0.25 to 0.75], 1); not a < 1 (0.5 [0.25 to 0.75], 1)";
        assert_eq!(in_words(&[Outcome::Holds, Outcome::Fails].map(check)), few);
        let many = [Outcome::Holds, Outcome::Holds, Outcome::Holds, Outcome::Undecided];
        let shown = "3 of 4 hold; undecided: a < 1 (0.5 [0.25 to 0.75], 1)";
        assert_eq!(in_words(&many.map(check)), shown);
    }

    #[test]
    fn numbers_are_shown_with_four_figures_at_most() {
        let shown = [0.0, 0.12346, 12.0, 123_456.7, 0.000_123_46].map(figures);
        assert_eq!(shown, ["0", "0.1235", "12", "123457", "0.0001235"]);
        assert_eq!([1e308, -1.23456e15, 1e12].map(figures), ["1.000e308", "-1.235e15", "1000000000000"]);
        assert_eq!([1e308, f64::INFINITY, 0.5].map(three_figures), ["1.00e308", "inf", "0.500"]);
    }
}
