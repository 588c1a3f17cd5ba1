//! Whether a paper's number is one that goodqueue's runs would give with as many repetitions as the
//! paper had.
//!
//! A mean of three runs scatters more than one of a hundred. The 95 % prediction interval says in
//! which range a new mean of the paper's number of runs lies. It is wider than the confidence
//! interval of our mean by √(1 + ours / theirs), because both means scatter. That is exact for
//! means; other statistics scatter in about the same way.

use super::finding::{Measurement, Outcome};

/// A prediction interval whose ends differ by more than this factor proves little: a number inside
/// is consistent with ours, but not reproduced.
const NARROW: f64 = 1.5;

/// Returns the outcome of a number that its limits alone judge as `by_limits`. `ours` and `theirs`
/// are numbers of repetitions.
pub(super) fn outcome(
    by_limits: Outcome,
    expected: f64,
    measured: Measurement,
    ours: usize,
    theirs: Option<usize>,
) -> Outcome {
    let Some((lowest, highest)) = interval(measured, ours, theirs) else { return by_limits };
    if by_limits == Outcome::Holds || !(lowest..=highest).contains(&expected) {
        return by_limits;
    }
    // A range that reaches zero has no factor between its ends.
    if lowest > 0.0 && highest <= NARROW * lowest { Outcome::Holds } else { Outcome::Consistent }
}

/// Returns the range in which the number lies with as many repetitions as the paper had; `None` if
/// these are not known, or nothing was repeated here.
pub(super) fn interval(measured: Measurement, ours: usize, theirs: Option<usize>) -> Option<(f64, f64)> {
    let (Some(theirs @ 1..), Some((low, high)), 1..) = (theirs, measured.interval, ours) else { return None };
    #[expect(clippy::cast_precision_loss, reason = "numbers of repetitions")]
    let factor = (1.0 + ours as f64 / theirs as f64).sqrt();
    let value = measured.value;
    Some((value - factor * (value - low), value + factor * (high - value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(low: f64, value: f64, high: f64) -> Measurement {
        Measurement { value, interval: Some((low, high)) }
    }

    #[test]
    fn a_mean_of_three_runs_may_be_further_away_than_one_of_a_hundred() {
        // The paper's number is 5.3 points away. Our interval is 0.6 points wide on each side, and
        // the factor is √(1 + 100/3) = 5.9 or √101 = 10.
        let of = |theirs| outcome(Outcome::Fails, 49.3, measured(54.0, 54.6, 55.2), 100, Some(theirs));
        assert_eq!(of(3), Outcome::Fails, "3.5 points are allowed");
        assert_eq!(of(1), Outcome::Holds, "6 points are allowed");
        let wide = measured(53.0, 54.6, 56.4);
        assert_eq!(outcome(Outcome::Fails, 49.3, wide, 100, Some(3)), Outcome::Holds);
        assert_eq!(outcome(Outcome::Fails, 49.3, wide, 100, None), Outcome::Fails);
    }

    #[test]
    fn a_number_in_a_wide_prediction_is_consistent_and_not_reproduced() {
        // With as many repetitions as ours the interval is √2 times as wide, and reaches below
        // zero.
        let rare = measured(0.000_3, 0.002_6, 0.006_9);
        assert_eq!(outcome(Outcome::Undecided, 0.002, rare, 30, Some(30)), Outcome::Consistent);
        assert_eq!(outcome(Outcome::Fails, 0.2, rare, 30, Some(30)), Outcome::Fails);
        assert_eq!(outcome(Outcome::Holds, 0.002, rare, 30, Some(30)), Outcome::Holds);
    }
}
