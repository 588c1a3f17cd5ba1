//! How a check comes out: it holds, it fails, or the repetitions do not decide it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::expression::{Check, Expression, Operator, Relation, Statement};
use super::tolerance::Tolerance;

/// How a check came out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It holds, and the whole 95 % interval is on its side of the limit.
    Holds,
    /// The paper's number lies in the range that as many repetitions as the paper's would give, but
    /// this range is wide (see `prediction.rs`).
    Consistent,
    /// The 95 % interval has the limit inside.
    Undecided,
    /// It does not hold, and the whole 95 % interval is beyond the limit.
    Fails,
}

/// A value with its 95 % interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Measurement {
    /// Over all repetitions.
    pub value: f64,
    /// Lower and upper end; `None` if chance has no say, as of constants and single repetitions.
    pub interval: Option<(f64, f64)>,
}

impl From<f64> for Measurement {
    fn from(value: f64) -> Self {
        Self { value, interval: None }
    }
}

/// How a check came out, and what was measured.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    /// The check, as written.
    pub check: String,
    /// How it came out.
    pub outcome: Outcome,
    /// What was measured: one value if the paper gives a number, or all members of a chain.
    pub values: Vec<f64>,
    /// The 95 % interval of each value, over resampled repetitions; `None` of a constant, and where
    /// there is a single repetition. Empty if nobody asked for intervals.
    pub intervals: Vec<Option<(f64, f64)>>,
    /// What the paper says, if it says a number.
    pub expected: Option<f64>,
    /// The lowest and the highest value that agree with such a number.
    pub limits: Option<(f64, f64)>,
}

/// Something that knows the values of expressions.
pub(super) trait Values {
    /// What it says of an expression that it does not know.
    type Unknown;

    /// The value of an expression over all repetitions.
    fn value(&self, expression: &Expression) -> Result<f64, Self::Unknown>;

    /// The value with its 95 % interval.
    fn measure(&self, expression: &Expression) -> Result<Measurement, Self::Unknown>;

    /// The difference of two values, with an interval only if they are so close that resampling
    /// may change which is greater.
    fn margin(&self, difference: &Expression) -> Result<Measurement, Self::Unknown>;
}

/// Judges a check. With `thorough` every value has its interval; otherwise only as much is
/// resampled as it takes to decide.
pub(super) fn judge<V: Values>(
    check: &Check,
    tolerance: &Tolerance,
    thorough: bool,
    known: &V,
) -> Result<Finding, V::Unknown> {
    match &check.statement {
        Statement::Equal { value, expected, within } => {
            let measured = known.measure(value)?;
            let expected = known.value(expected)?;
            let (low, high) = match within {
                Some(within) => {
                    let within = known.value(within)?;
                    (expected - within, expected + within)
                }
                None => tolerance.limits(expected),
            };
            Ok(Finding {
                check: check.text.clone(),
                outcome: within_limits(measured, [low, high]),
                values: vec![measured.value],
                intervals: vec![measured.interval],
                expected: Some(expected),
                limits: Some((low, high)),
            })
        }
        Statement::Ordered(first, rest) => ordered(check, first, rest, thorough, known),
    }
}

fn ordered<V: Values>(
    check: &Check,
    first: &Expression,
    rest: &[(Relation, Expression)],
    thorough: bool,
    known: &V,
) -> Result<Finding, V::Unknown> {
    let members: Vec<&Expression> = std::iter::once(first).chain(rest.iter().map(|(_, next)| next)).collect();
    let mut outcomes = Vec::new();
    for (left, (relation, right)) in members.iter().zip(rest) {
        // The difference is measured as one value, so that a resample has the same seeds on both
        // sides.
        let difference =
            Expression::Chain(Box::new((*left).clone()), vec![(Operator::Subtract, right.clone())]);
        let margin = known.margin(&difference)?;
        outcomes.push(related(margin, *relation));
    }
    let measured: Vec<Measurement> = members
        .iter()
        .map(|member| if thorough { known.measure(member) } else { Ok(known.value(member)?.into()) })
        .collect::<Result<_, _>>()?;
    Ok(Finding {
        check: check.text.clone(),
        outcome: all(outcomes),
        values: measured.iter().map(|measured| measured.value).collect(),
        intervals: if thorough {
            measured.iter().map(|measured| measured.interval).collect()
        } else {
            Vec::new()
        },
        expected: None,
        limits: None,
    })
}

/// The outcome of checks that all have to hold: one that fails decides.
pub(super) fn all(outcomes: impl IntoIterator<Item = Outcome>) -> Outcome {
    outcomes.into_iter().fold(Outcome::Holds, |so_far, next| match (so_far, next) {
        (Outcome::Fails, _) | (_, Outcome::Fails) => Outcome::Fails,
        (Outcome::Undecided, _) | (_, Outcome::Undecided) => Outcome::Undecided,
        (Outcome::Consistent, _) | (_, Outcome::Consistent) => Outcome::Consistent,
        (Outcome::Holds, Outcome::Holds) => Outcome::Holds,
    })
}

/// Judges a number by the lowest and the highest value that agree with it.
pub(super) fn within_limits(measured: Measurement, [low, high]: [f64; 2]) -> Outcome {
    // What is written as 0.006 and measured as 0.006 may differ in the last binary digit.
    let rounding = (high - low) * ROUNDING;
    between(measured, low - rounding, high + rounding)
}

/// What a value and its interval say of two limits. A value without a sample fails.
fn between(measured: Measurement, lowest: f64, highest: f64) -> Outcome {
    let (low, high) = measured.interval.unwrap_or((measured.value, measured.value));
    if low >= lowest && high <= highest {
        Outcome::Holds
    } else if low <= highest && high >= lowest {
        Outcome::Undecided
    } else {
        Outcome::Fails
    }
}

/// What the difference of two values and its interval say of their relation. A difference without a
/// sample fails.
fn related(margin: Measurement, relation: Relation) -> Outcome {
    let (low, high) = margin.interval.unwrap_or((margin.value, margin.value));
    match (relation.holds(low, 0.0), relation.holds(high, 0.0)) {
        (true, true) => Outcome::Holds,
        (false, false) => Outcome::Fails,
        _ => Outcome::Undecided,
    }
}

/// Share of the allowed range that is taken for a rounding error.
const ROUNDING: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(value: f64, low: f64, high: f64) -> Measurement {
        Measurement { value, interval: Some((low, high)) }
    }

    #[test]
    fn an_order_is_decided_only_if_the_whole_interval_of_the_difference_is_on_one_side_of_zero() {
        let less = |margin: Measurement| related(margin, Relation::Less);
        assert_eq!(less(measured(-2.0, -3.0, -1.0)), Outcome::Holds);
        assert_eq!(less(measured(-1.0, -2.0, 1.0)), Outcome::Undecided);
        assert_eq!(less(measured(1.0, -1.0, 2.0)), Outcome::Undecided);
        assert_eq!(less(measured(2.0, 1.0, 3.0)), Outcome::Fails);
        assert_eq!(less(f64::NAN.into()), Outcome::Fails);
        assert_eq!(related(0.0.into(), Relation::AtMost), Outcome::Holds);
    }

    #[test]
    fn a_number_is_decided_only_if_its_whole_interval_is_inside_or_outside_of_the_limits() {
        let limits = |measured: Measurement| between(measured, 9.0, 11.0);
        assert_eq!(limits(measured(10.0, 9.5, 10.5)), Outcome::Holds);
        assert_eq!(limits(measured(12.0, 11.5, 13.0)), Outcome::Fails);
        assert_eq!(limits(measured(12.0, 10.8, 13.0)), Outcome::Undecided);
        assert_eq!(limits(measured(10.0, 5.0, 15.0)), Outcome::Undecided, "wider than what is allowed");
        assert_eq!(limits(f64::NAN.into()), Outcome::Fails);
    }

    #[test]
    fn of_several_checks_one_that_fails_decides_and_then_one_that_is_undecided() {
        use Outcome::{Fails, Holds, Undecided};
        assert_eq!(all([]), Holds);
        assert_eq!(all([Holds, Undecided]), Undecided);
        assert_eq!(all([Undecided, Fails, Holds]), Fails);
    }
}
