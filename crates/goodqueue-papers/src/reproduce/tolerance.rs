//! How far a measured number may be from the paper's, and what the papers' words of degree mean.
//!
//! Both are fixed here for all claims, so that no claim has a limit that was chosen after a run.

use goodqueue_tc::diagnostic::Diagnostic;
use serde::Deserialize;

use super::expression::{Expression, Statement};

/// How far a measured number may be from the number in the paper.
#[derive(Clone, PartialEq, Default, Debug)]
pub enum Tolerance {
    /// The paper gives the number: [`SHARE`] of it.
    #[default]
    Share,
    /// The number was read from a plot with a linear axis of this length: [`SHARE`] of the number
    /// or [`READING`] of the axis, whichever is more.
    Plot(f64),
    /// The number was read from a plot with a logarithmic axis of this many decades: [`SHARE`] of
    /// the number or [`READING`] of the axis, whichever is more.
    Decades(f64),
    /// The paper gives the number, rounded to a multiple of this: [`SHARE`] of it or half of this,
    /// whichever is more.
    Digit(f64),
    /// The paper gives a spread of the number, and says what it is: [`SHARE`] of the number or this
    /// spread, whichever is more.
    Spread(f64, String),
    /// The paper counted no occurrence, such as a lost packet: at most [`UNSEEN`] occurrences in as
    /// many cases.
    NoneAmong {
        /// Number of cases in the paper, such as packets.
        among: u32,
        /// True if the claim's number is in percent; otherwise it is a fraction.
        in_percent: bool,
    },
}

/// Share of a number by which the measured one may differ.
pub const SHARE: f64 = 0.1;
/// Share of a plot's axis by which a value read from it may be wrong.
pub const READING: f64 = 0.02;

/// Upper end of the 95 % interval of a Poisson variable of which no occurrence was counted:
/// -ln 0.025 (Garwood 1936).
pub const UNSEEN: f64 = 3.689;

/// Words of degree in the papers, and the number for which each stands in a check.
pub const WORDS: &[(&str, f64, &str)] = &[
    ("about", SHARE, "about, approximately, almost the same, similar, comparable: within 10 %"),
    ("slight", 0.05, "slight, small, little, marginal: at most 5 %, or 5 points of a share"),
    ("clear", 1.2, "clearly, significantly, considerably, noticeably: at least by a factor of 1.2"),
    ("much", 2.0, "much, far, drastically: at least by a factor of 2"),
    ("magnitude", 10.0, "an order of magnitude: a factor of 10"),
    ("negligible", 0.01, "no, none, eliminated, full: within 1 %"),
];

/// The number for which a word of degree stands.
#[must_use]
pub fn word(name: &str) -> Option<f64> {
    WORDS.iter().find(|word| word.0 == name).map(|word| word.1)
}

impl Tolerance {
    /// The lowest and the highest value that agree with the `expected` one.
    #[must_use]
    pub fn limits(&self, expected: f64) -> (f64, f64) {
        let share = SHARE * expected.abs();
        let around = |within: f64| (expected - within, expected + within);
        match self {
            Self::Share => around(share),
            Self::Plot(axis) => around(share.max(READING * axis)),
            Self::Decades(decades) => {
                // On a logarithmic axis an error of reading is a factor.
                let factor = libm::exp10(READING * decades);
                let (low, high) = around(share);
                (low.min(expected / factor), high.max(expected * factor))
            }
            // A rounded number is off by half of its last digit at most.
            Self::Digit(digit) => around(share.max(digit / 2.0)),
            Self::Spread(spread, _) => around(share.max(*spread)),
            Self::NoneAmong { among, in_percent } => {
                around(UNSEEN / f64::from(*among) * if *in_percent { 100.0 } else { 1.0 })
            }
        }
    }

    /// The rule in words.
    #[must_use]
    pub fn in_words(&self) -> String {
        let share = SHARE * 100.0;
        let reading = READING * 100.0;
        match self {
            Self::Share => format!("{share} %"),
            Self::Plot(_) => format!("{share} % or {reading} % of the plot's axis"),
            Self::Decades(_) => format!("{share} % or {reading} % of the plot's logarithmic axis"),
            Self::Digit(_) => format!("{share} % or the rounding of the last digit"),
            Self::Spread(_, of) => format!("{share} % or the paper's own spread ({of})"),
            Self::NoneAmong { among, .. } => {
                format!("at most {UNSEEN} in {among}, where the paper counted none")
            }
        }
    }

    /// Refuses a tolerance that lets any small number pass, or none.
    pub(super) fn check(&self, statement: &Statement) -> Result<(), Diagnostic> {
        let Statement::Equal { expected: Expression::Number(expected), within: None, .. } = statement else {
            return Ok(());
        };
        if matches!(self, Self::NoneAmong { .. }) && *expected != 0.0 {
            return Err(Diagnostic::new(format!(
                "`none_among` needs a number of 0, but this one is {expected}"
            ))
            .help("leave out `none_among`: the tolerance is then 10 %"));
        }
        let (low, high) = self.limits(*expected);
        if low >= high {
            return Err(Diagnostic::new(format!("a measured number cannot be {expected} exactly")).help(
                "give the last digit of the paper's number, as in `tolerance = { digit = \"0.01%\" }`",
            ));
        }
        if *expected != 0.0 && (low..=high).contains(&0.0) {
            return Err(Diagnostic::new(format!("the tolerance of {expected} is wider than the number"))
                .help("write a bound, or compare a figure that can be read from the paper"));
        }
        Ok(())
    }
}

/// A tolerance as `claims.toml` has it.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ToleranceTable {
    plot: Option<String>,
    decades: Option<f64>,
    digit: Option<String>,
    spread: Option<String>,
    of: Option<String>,
    none_among: Option<u32>,
}

impl ToleranceTable {
    /// The tolerance of a claim about numbers with this unit.
    pub(super) fn read(&self, unit: &str) -> Result<Tolerance, Diagnostic> {
        let Self { plot, decades, digit, spread, of, none_among } = self;
        match (plot, decades, digit, (spread, of), none_among) {
            (None, None, None, (None, None), None) => Ok(Tolerance::Share),
            (Some(axis), None, None, (None, None), None) => Ok(Tolerance::Plot(length(axis)?)),
            (None, Some(decades), None, (None, None), None) if (0.1..=20.0).contains(decades) => {
                Ok(Tolerance::Decades(*decades))
            }
            (None, None, Some(digit), (None, None), None) => Ok(Tolerance::Digit(length(digit)?)),
            (None, None, None, (Some(spread), Some(of)), None) => {
                Ok(Tolerance::Spread(length(spread)?, of.clone()))
            }
            (None, None, None, (None, None), Some(among @ 1..)) if ["", "%"].contains(&unit) => {
                Ok(Tolerance::NoneAmong { among: *among, in_percent: unit == "%" })
            }
            _ => Err(Diagnostic::new("this tolerance follows no rule").allowed(
                "{ plot = \"300ms\" }, { decades = 3 }, { digit = \"0.01%\" }, { spread = \"6ms\", of = \"what the paper calls it\" }, \
                 { none_among = 420000 } for a number of 0 in percent or without a unit, or none for 10 %",
            )),
        }
    }
}

/// A number above zero, with its unit.
fn length(text: &str) -> Result<f64, Diagnostic> {
    match Expression::parse(text) {
        Ok(Expression::Number(number)) if number > 0.0 && number.is_finite() => Ok(number),
        _ => Err(Diagnostic::new(format!("`{text}` is no length")).allowed("a number above 0 with its unit")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::expression::checks;

    #[test]
    fn the_limits_follow_from_where_the_paper_has_its_number() {
        let near = |limits: (f64, f64), low: f64, high: f64| {
            assert!((limits.0 - low).abs() < 1e-9 && (limits.1 - high).abs() < 1e-9, "{limits:?}");
        };
        near(Tolerance::Share.limits(0.2), 0.18, 0.22);
        // 2 % of an axis of 0.3, or 10 % of the number if that is more.
        near(Tolerance::Plot(0.3).limits(0.02), 0.014, 0.026);
        near(Tolerance::Plot(0.3).limits(0.2), 0.18, 0.22);
        // 2 % of five decades are a tenth of a decade.
        near(Tolerance::Decades(5.0).limits(10.0), 10.0 / libm::exp10(0.1), 10.0 * libm::exp10(0.1));
        // Half of the last digit, or 10 % if that is more.
        near(Tolerance::Digit(0.01).limits(0.02), 0.015, 0.025);
        near(Tolerance::Digit(0.01).limits(0.88), 0.792, 0.968);
        near(Tolerance::Spread(0.05, String::new()).limits(0.2), 0.15, 0.25);
        // `UNSEEN` in 1000.
        near(Tolerance::NoneAmong { among: 1000, in_percent: false }.limits(0.0), -0.003_689, 0.003_689);
        near(Tolerance::NoneAmong { among: 1000, in_percent: true }.limits(0.0), -0.3689, 0.3689);
    }

    #[test]
    fn a_tolerance_wider_than_its_number_is_refused() {
        let statement = |text: &str| checks(text).unwrap().remove(0).statement;
        assert!(Tolerance::Share.check(&statement("p95[codel@x] = 3ms")).is_ok());
        assert!(Tolerance::Plot(0.3).check(&statement("p95[codel@x] = 3ms")).is_err());
        assert!(Tolerance::Plot(0.3).check(&statement("p95[codel@x] = 30ms")).is_ok());
        assert!(Tolerance::Share.check(&statement("loss[codel@x] = 0")).is_err());
        assert!(Tolerance::Digit(0.01).check(&statement("loss[codel@x] = 0")).is_ok());
        let none = Tolerance::NoneAmong { among: 1000, in_percent: true };
        assert!(none.check(&statement("loss[codel@x] = 0")).is_ok());
        assert!(none.check(&statement("loss[codel@x] = 9")).is_err());
    }

    #[test]
    fn a_tolerance_without_a_rule_is_refused() {
        let table = |text: &str| toml::from_str::<ToleranceTable>(text).unwrap();
        let read = |text: &str| table(text).read("%");
        assert_eq!(read("").unwrap(), Tolerance::Share);
        assert_eq!(read("plot = '300ms'").unwrap(), Tolerance::Plot(0.3));
        assert_eq!(read("none_among = 9").unwrap(), Tolerance::NoneAmong { among: 9, in_percent: true });
        assert!(table("none_among = 9").read("ms").is_err(), "what would one occurrence be in ms?");
        for wrong in [
            "plot = '0s'",
            "decades = 90",
            "spread = '6ms'",
            "plot = '1s'\ndecades = 3",
            "of = 'x'",
            "none_among = 0",
            "none_among = 9\ndigit = '1'",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn words_of_degree_have_one_meaning_each() {
        assert_eq!(word("much"), Some(2.0));
        assert_eq!(word("rather"), None);
    }
}
