//! Conditions on metrics, such as `ping.p99 > 80ms`: a command fails if one holds.

use goodqueue_tc::diagnostic::{Diagnostic, nearest, shortened};
use goodqueue_tc::units;

use super::catalogue::described;
use super::columns::{by_key, check_key, keys, placeholders};
use super::{Metric, values};
use crate::estimate::Estimate;
use crate::results::Run;
use crate::statistics::{float, seconds};

/// A condition on one metric.
#[derive(Clone, PartialEq, Debug)]
pub struct Condition {
    text: String,
    key: String,
    comparison: Comparison,
    /// In SI units.
    limit: f64,
    unit: Unit,
}

/// What a condition found for one discipline at one point of a sweep.
#[derive(Clone, PartialEq, Debug)]
pub struct ConditionResult {
    /// The discipline's label.
    pub qdisc: String,
    /// Swept keys and their values; empty without a sweep.
    pub point: String,
    /// The metric, mean over the seeds, in SI units; `None` if a run has no such value.
    pub value: Option<f64>,
    /// Whether the condition holds. True without a value: what cannot be checked has not passed.
    pub holds: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Comparison {
    Above,
    AtLeast,
    Below,
    AtMost,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Unit {
    Time,
    Rate,
    Share,
    Number,
}

impl Condition {
    /// Reads a condition: a metric's key or short name, a comparison, and a value with its unit.
    ///
    /// # Errors
    /// There is no such metric or comparison, or the value has another unit.
    pub fn parse(text: &str) -> Result<Self, Diagnostic> {
        let form = "METRIC > VALUE with >, >=, < or <=, such as 'ping.p99 > 80ms' or 'goodput.down < 9mbit'";
        let malformed = || Diagnostic::new(format!("`{}` is not a condition", shortened(text))).allowed(form);
        // `=` and `!` begin no comparison, but `=> 80ms` should not end up in the name of a metric.
        let at = text.find(['<', '>', '=', '!']).ok_or_else(malformed)?;
        let (name, rest) = text.split_at(at);
        let found = COMPARISONS.iter().find_map(|&(sign, as_comparison)| {
            rest.strip_prefix(sign).map(|value| (as_comparison, value.trim()))
        });
        let (comparison, value) = found.ok_or_else(malformed)?;
        if name.trim().is_empty() || value.is_empty() || value.contains(['<', '>', '=']) {
            return Err(malformed());
        }
        let key = key_of(name.trim());
        check(name.trim(), &key)?;
        let groups = described();
        // The catalogue without runs has a placeholder where a key has a number or the name of a
        // queue.
        let known = by_key(&groups).into_iter().find(|metric| metric.key == placeholders(&key));
        let unit = known.map_or(Unit::Number, |known| Unit::from_metric(known.metric));
        let limit = unit.read(value)?;
        Ok(Self { text: text.trim().to_owned(), key, comparison, limit, unit })
    }

    /// Returns the short names that stand for a metric by themselves.
    pub fn short_names() -> impl Iterator<Item = &'static str> {
        SHORT_NAMES.iter().map(|(short, ..)| *short)
    }

    /// The condition as it was given.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The key of the metric.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Checks the condition for every discipline and every point of a sweep, on the mean over the
    /// seeds.
    #[must_use]
    pub fn check(&self, runs: &[Run]) -> Vec<ConditionResult> {
        let mut groups: Vec<(&Run, Vec<Option<f64>>)> = Vec::new();
        for run in runs {
            let value = values(run).get(&self.key).copied();
            let same =
                |of: &&mut (&Run, Vec<Option<f64>>)| of.0.qdisc == run.qdisc && of.0.sweep == run.sweep;
            match groups.iter_mut().find(same) {
                Some(group) => group.1.push(value),
                None => groups.push((run, vec![value])),
            }
        }
        let found = |(run, of_seeds): (&Run, Vec<Option<f64>>)| {
            // A mean over the other seeds would hide a run without a value, as one without any
            // answered ping.
            let all: Option<Vec<f64>> = of_seeds.into_iter().collect();
            let value = all.and_then(|all| Estimate::from_values(&all)).map(|over_seeds| over_seeds.mean);
            let swept = run.swept().map(|(key, value)| match value.as_str() {
                Some(text) => format!("{key} {text}"),
                None => format!("{key} {value}"),
            });
            ConditionResult {
                qdisc: run.qdisc.clone(),
                point: swept.collect::<Vec<_>>().join(", "),
                value,
                holds: value.is_none_or(|value| self.comparison.holds(value, self.limit)),
            }
        };
        groups.into_iter().map(found).collect()
    }

    /// Returns a value of the metric as text, in the unit of people.
    #[must_use]
    pub fn show(&self, value: f64) -> String {
        let (value, unit) = match self.unit {
            Unit::Time if value.abs() < 1.0 => (value * 1e3, " ms"),
            Unit::Time => (value, " s"),
            Unit::Rate => (value / 1e6, " Mbit/s"),
            Unit::Share => (value * 1e2, " %"),
            Unit::Number => (value, ""),
        };
        // Four digits tell most values from the limit.
        let digits = if value.abs() >= 1000.0 {
            0
        } else if value.abs() >= 10.0 {
            2
        } else {
            3
        };
        format!("{value:.digits$}{unit}")
    }
}

impl Comparison {
    fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Self::Above => value > limit,
            Self::AtLeast => value >= limit,
            Self::Below => value < limit,
            Self::AtMost => value <= limit,
        }
    }
}

impl Unit {
    fn from_metric(metric: &Metric) -> Self {
        match metric.unit {
            "ms" | "s" => Self::Time,
            "Mbit/s" => Self::Rate,
            "%" => Self::Share,
            _ => Self::Number,
        }
    }

    /// Reads a value in this unit.
    fn read(self, text: &str) -> Result<f64, Diagnostic> {
        let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
        match self {
            Self::Time => units::time(text).map(seconds),
            Self::Rate => units::rate(text).map(|rate| float(rate.as_bps())),
            Self::Share => text
                .strip_suffix('%')
                .and_then(number)
                .map(|percent| percent / 1e2)
                .ok_or_else(|| wrong(text, "a share in per cent, such as 2%")),
            Self::Number => number(text).ok_or_else(|| wrong(text, "a number without a unit")),
        }
    }
}

fn wrong(text: &str, allowed: &str) -> Diagnostic {
    Diagnostic::new(format!("`{}` is not a value of this metric", shortened(text))).allowed(allowed)
}

/// Returns the key of a metric that may have a short name.
fn key_of(name: &str) -> String {
    for (short, long, itself) in SHORT_NAMES {
        match name.strip_prefix(short) {
            Some("") => return format!("{long}.{itself}"),
            Some(rest) if rest.starts_with('.') => return format!("{long}{rest}"),
            _ => {}
        }
    }
    name.to_owned()
}

/// Checks that there is a metric with this key.
fn check(name: &str, key: &str) -> Result<(), Diagnostic> {
    let Err(error) = check_key(key) else { return Ok(()) };
    let keys = keys();
    let parts: Vec<&str> =
        keys.iter().map(String::as_str).filter(|known| known.starts_with(&format!("{key}."))).collect();
    if !parts.is_empty() {
        let problem = format!("`{}` has several metrics", shortened(name));
        return Err(Diagnostic::new(problem).allowed(parts.join(", ")));
    }
    let first = name.split('.').next().unwrap_or(name);
    Err(match nearest(first, Condition::short_names()) {
        // Only the first part has a short form; the rest stays as it was typed.
        Some(near) => error.help(format!("did you mean `{near}{}`?", &name[first.len()..])),
        None => error,
    })
}

/// Names that are shorter than the keys, for what people ask most, and the metric that the short
/// name alone means.
const SHORT_NAMES: &[(&str, &str, &str)] = &[
    ("ping", "probes.ping_s", "mean"),
    ("latency", "induced_latency_s", "mean"),
    ("voip", "probes.voip", "mos"),
];

/// The longer sign first.
const COMPARISONS: &[(&str, Comparison)] = &[
    (">=", Comparison::AtLeast),
    ("<=", Comparison::AtMost),
    (">", Comparison::Above),
    ("<", Comparison::Below),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn run(qdisc: &str, seed: u64, ping_s: f64) -> Run {
        let mut run = Run { qdisc: qdisc.to_owned(), seed, ..Run::default() };
        run.probes.ping_s.p99 = Some(ping_s);
        run.goodput.down = 9e6;
        run
    }

    #[test]
    fn a_condition_is_checked_on_the_mean_over_the_seeds_of_each_discipline() {
        let runs = [
            run("pfifo", 1, 0.30),
            run("pfifo", 2, 0.50),
            run("fq_codel", 1, 0.07),
            run("fq_codel", 2, 0.06),
        ];
        let condition = Condition::parse("ping.p99 > 80ms").unwrap();
        let found = condition.check(&runs);
        let told: Vec<_> = found.iter().map(|one| (one.qdisc.as_str(), one.holds)).collect();
        // The means are 400 ms and 65 ms.
        assert_eq!(told, [("pfifo", true), ("fq_codel", false)]);
        assert_eq!(condition.show(found[0].value.unwrap()), "400.00 ms");
        assert_eq!(condition.text(), "ping.p99 > 80ms");
    }

    #[test]
    fn each_comparison_means_what_it_says() {
        for (text, holds) in [
            ("goodput.down < 9mbit", false),
            ("goodput.down <= 9mbit", true),
            ("goodput.down>8.9mbit", true),
            ("goodput.down >= 9001kbit", false),
        ] {
            let found = Condition::parse(text).unwrap().check(&[run("pie", 1, 0.1)]);
            assert_eq!(found[0].holds, holds, "{text}");
        }
    }

    #[test]
    fn a_short_name_alone_means_the_mean_or_the_score() {
        for (text, key) in [
            ("latency>2ms", "induced_latency_s.mean"),
            ("ping > 80ms", "probes.ping_s.mean"),
            ("voip < 3.5", "probes.voip.mos"),
            ("latency.p95 > 2ms", "induced_latency_s.p95"),
        ] {
            assert_eq!(Condition::parse(text).unwrap().key(), key, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_checked_has_not_passed() {
        let found = Condition::parse("voip.mos < 3.5").unwrap().check(&[run("pie", 1, 0.1)]);
        assert_eq!((found[0].value, found[0].holds), (None, true));
    }

    #[test]
    fn a_bad_condition_is_refused_with_what_is_allowed() {
        for (text, said) in [
            ("ping.p99", "not a condition"),
            ("ping.p99 > ", "not a condition"),
            ("ping.p99 => 80ms", "not a condition"),
            ("pong.p99 > 80ms", "no metric `pong.p99`"),
            ("pong.p99 > 80ms", "did you mean `ping.p99`?"),
            ("latncy > 80ms", "did you mean `latency`?"),
            ("goodput > 8mbit", "`goodput` has several metrics"),
            ("goodput > 8mbit", "allowed: goodput.down, goodput.up"),
            ("goodput.dwn > 8mbit", "did you mean `goodput.down`?"),
            ("ping.p99 > 80", "unit"),
            ("ping.p99 > 80mbit", "unit"),
            ("probes.voip.loss > 0.02", "such as 2%"),
            ("probes.voip.mos < 4ms", "a number without a unit"),
        ] {
            let error = Condition::parse(text).unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
