//! The 95 % interval of a value over several repetitions.
//!
//! The repetitions are resampled (the percentile bootstrap of Efron 1979). That alone gives
//! intervals that are too narrow in two cases, which are mended here:
//!
//! * **Few repetitions.** A resample of two repetitions never lies beyond these two, although a
//!   third one often would. Student's t widens the interval.
//! * **A count of zero.** No resample of runs without a loss has a loss. But where few losses are
//!   expected, all runs may have none by chance. The interval of a count of zero therefore reaches
//!   up to 3.6. (The upper end of the 95 % interval of a Poisson variable is 3.69, Garwood 1936;
//!   the quantiles that are drawn here end a little lower.)
//!
//! Larger resamples of the same repetitions scatter less. They give the interval that more
//! repetitions would probably have.

use goodqueue::random::{Random, Xoshiro256PlusPlus, mix_64};
use goodqueue_scenario::results::student_t;

/// Enough for the ends of a 95 % interval to be steady in two figures.
const RESAMPLES: u32 = 200;
/// Number of quantiles that are drawn for a count of zero; a prime.
const UNSEEN_DRAWS: u32 = 199;
/// Any number would do; it is fixed so that equal runs give equal intervals.
const RESAMPLING_SEED: u64 = 1979;
/// From this number of repetitions on, Student's interval and the percentile interval differ by
/// less than 2 %.
const MANY: usize = 100;
/// The 97.5 % quantile of the normal distribution.
const NORMAL: f64 = 1.96;

/// Which repetitions count in an evaluation, and how often.
#[derive(Clone, Debug)]
pub(super) enum Weights {
    /// Each once.
    Every,
    /// Each once. A count of zero is replaced by the draw with this number.
    Unseen {
        draw: u32,
        /// As if it were zero in this many times as many repetitions.
        times: u32,
    },
    /// The run of this number alone.
    Alone(usize),
    /// Each once but that of this number.
    Without(usize),
    /// As often as drawn: a resample for each number of repetitions that a cell has. Cells with
    /// equally many share theirs, as they share their seeds.
    Resampled(Vec<Vec<f64>>),
}

impl Weights {
    /// Draws repetitions at random: `times` draws for each repetition. A draw has the weight
    /// 1 / `times`, so sums over the draws are as large as sums over the repetitions.
    fn resampled(repetitions: &[usize], times: u32, random: &mut Xoshiro256PlusPlus) -> Self {
        let share = 1.0 / f64::from(times);
        let mut draw = |number: usize| {
            let mut counts = vec![0.0; number];
            for _ in 0..number.saturating_mul(times as usize) {
                counts[random.below(u32::try_from(number).unwrap_or(u32::MAX)) as usize] += share;
            }
            counts
        };
        // A draw that all cells shared could leave a cell with fewer repetitions without any run.
        Self::Resampled(repetitions.iter().map(|number| draw(*number)).collect())
    }

    /// Number of times that a run counts in a cell with `repetitions` per load. The runs of a load
    /// stand next to each other, in the order of the seeds.
    pub(super) fn of_run(&self, run: usize, repetitions: usize) -> f64 {
        match self {
            Self::Every | Self::Unseen { .. } => 1.0,
            // This number counts the runs of all loads. The numbers of the next variants are those
            // of seeds, which every load has.
            Self::Alone(only) => f64::from(u8::from(run == *only)),
            Self::Without(left_out) => f64::from(u8::from(run % repetitions != *left_out)),
            Self::Resampled(drawn) => {
                let own = drawn.iter().find(|counts| counts.len() == repetitions);
                own.map_or(1.0, |counts| counts[run % repetitions])
            }
        }
    }

    /// Value of a count that is zero in all repetitions. Each draw has another quantile of the
    /// exponential distribution. Counts with different names have their quantiles in different
    /// orders, as if they were drawn independently.
    pub(super) fn of_unseen(&self, name: &str) -> f64 {
        let Self::Unseen { draw, times } = self else { return 0.0 };
        let hash = name.bytes().fold(RESAMPLING_SEED, |sum, byte| mix_64(sum ^ u64::from(byte)));
        // Multiples of a number modulo a prime are a permutation.
        let step = 1 + hash % (u64::from(UNSEEN_DRAWS) - 1);
        let first = mix_64(hash);
        let rank = (first % u64::from(UNSEEN_DRAWS) + u64::from(*draw) * step) % u64::from(UNSEEN_DRAWS);
        // The middle of each share is drawn, so no quantile is infinite.
        let share = (f64::from(u32::try_from(rank).unwrap_or(0)) + 0.5) / f64::from(UNSEEN_DRAWS);
        -libm::log(1.0 - share) / f64::from(*times)
    }
}

/// The 95 % interval of a value that `times` as many repetitions would probably have; 1: that of
/// those that there are. `value` gives it for weights, and `None` if they leave it without a
/// sample; `repetitions` are the numbers of them that its cells have. `None` if chance has no say:
/// nothing was repeated, and nothing that was counted never occurred.
pub(super) fn interval(
    repetitions: &[usize],
    times: u32,
    value: impl Fn(&Weights) -> Option<f64>,
) -> Option<(f64, f64)> {
    let point = value(&Weights::Every).filter(|point| !point.is_nan())?;
    let repeated = repetitions.iter().copied().filter(|number| *number > 1).min();
    let over_repetitions = repeated.and_then(|fewest| {
        // Every interval starts from the seed, so it does not depend on the intervals computed
        // before.
        let mut random = Xoshiro256PlusPlus::new(RESAMPLING_SEED);
        let (low, high) = ends(RESAMPLES, |_| value(&Weights::resampled(repetitions, times, &mut random)))?;
        let factor = widening(fewest.saturating_mul(times as usize));
        Some((point - factor * (point - low), point + factor * (high - point)))
    });
    let unseen = |draw| value(&Weights::Unseen { draw, times });
    let over_unseen = has_unseen(point, &value).then(|| ends(UNSEEN_DRAWS, unseen)).flatten();
    match (over_repetitions, over_unseen) {
        // Draws of a count of zero are all above it, so the value itself may lie outside their
        // ends.
        (Some(a), Some(b)) => Some((a.0.min(b.0).min(point), a.1.max(b.1).max(point))),
        (None, Some((low, high))) => Some((low.min(point), high.max(point))),
        (over, None) => over,
    }
}

/// Whether the value, which is `point`, depends on a count that is zero in all repetitions.
pub(super) fn has_unseen(point: f64, value: impl Fn(&Weights) -> Option<f64>) -> bool {
    // No draw is zero, so the first one shows whether a count of zero has a say.
    value(&Weights::Unseen { draw: 0, times: 1 }).is_some_and(|drawn| drawn.total_cmp(&point).is_ne())
}

/// The ends between which 95 % of the values of all resamples are.
fn ends(resamples: u32, value: impl FnMut(u32) -> Option<f64>) -> Option<(f64, f64)> {
    let mut values: Vec<f64> = (0..resamples).filter_map(value).filter(|value| !value.is_nan()).collect();
    values.sort_by(f64::total_cmp);
    // Shares are in thousandths.
    let at = |share: usize| values.get(share * values.len().saturating_sub(1) / 1000).copied();
    at(25).zip(at(975))
}

/// Factor for the distance between a value and each end of its percentile interval. It turns the
/// interval of a mean into Student's. (The percentile interval divides by the number of
/// repetitions where an unbiased variance divides by one less.)
fn widening(repetitions: usize) -> f64 {
    if repetitions >= MANY {
        return 1.0;
    }
    let freedom = repetitions.saturating_sub(1).max(1);
    let t = student_t(freedom as u64);
    if freedom == 1 {
        // The ends are the two repetitions. Half their distance is the standard error of the mean.
        return t;
    }
    #[expect(clippy::cast_precision_loss, reason = "there are never as many repetitions")]
    let ratio = repetitions as f64 / freedom as f64;
    t * ratio.sqrt() / NORMAL
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodqueue_scenario::results::Estimate;

    fn mean_of(values: &[f64]) -> impl Fn(&Weights) -> Option<f64> {
        let values = values.to_vec();
        move |weights| {
            let mut sum = 0.0;
            let mut total = 0.0;
            for (run, value) in values.iter().enumerate() {
                let weight = weights.of_run(run, values.len());
                (sum, total) = (sum + weight * value, total + weight);
            }
            (total > 0.0).then(|| sum / total)
        }
    }

    #[test]
    fn two_repetitions_give_the_interval_of_student() {
        let (low, high) = interval(&[2], 1, mean_of(&[1.0, 3.0])).unwrap();
        let half = Estimate::from_values(&[1.0, 3.0]).unwrap().ci95.unwrap();
        assert!((low - (2.0 - half)).abs() < 1e-9 && (high - (2.0 + half)).abs() < 1e-9, "{low} {high}");
    }

    /// Values with means of 10: how many of their intervals have 10 inside?
    #[test]
    fn of_the_intervals_of_few_and_of_many_repetitions_about_95_in_100_have_the_true_value_inside() {
        let mut random = Xoshiro256PlusPlus::new(7);
        let mut uniform = move || f64::from(random.next_u32()) / f64::from(u32::MAX);
        // The sum of twelve uniform variables is nearly normal.
        let mut normal = move || 4.0 + (0..12).map(|_| uniform()).sum::<f64>();
        for repetitions in [2, 3, 4, 5, 10, 30] {
            let trials: usize = 400;
            let hits = (0..trials).filter(|_| {
                let values: Vec<f64> = (0..repetitions).map(|_| normal()).collect();
                let (low, high) = interval(&[repetitions], 1, mean_of(&values)).unwrap();
                low <= 10.0 && 10.0 <= high
            });
            let covered = hits.count() * 1000 / trials;
            // The standard error of 95 % in 400 trials is 1.1 %, so the bounds are about three of
            // them away.
            assert!((915..=980).contains(&covered), "{repetitions} repetitions: {covered} in 1000");
        }
    }

    #[test]
    fn what_never_occurred_may_have_been_expected_almost_four_times() {
        let losses = |weights: &Weights| Some(weights.of_unseen("lost"));
        let (low, high) = interval(&[30], 1, losses).unwrap();
        // With a mean of 3.69, a Poisson variable is zero in 2.5 % of the cases.
        assert!(low.abs() < f64::EPSILON && (3.5..3.69).contains(&high), "{high}");
        // Once it occurred, the repetitions tell.
        assert_eq!(interval(&[1], 1, |_| Some(2.0)), None);
    }

    #[test]
    fn four_times_as_many_repetitions_would_halve_the_interval() {
        let mut random = Xoshiro256PlusPlus::new(3);
        let values: Vec<f64> = (0..200).map(|_| f64::from(random.below(1000))).collect();
        let width = |times| {
            let (low, high) = interval(&[values.len()], times, mean_of(&values)).unwrap();
            high - low
        };
        let ratio = width(4) / width(1);
        assert!((0.4..0.6).contains(&ratio), "{ratio}");
        // A sum is over the repetitions that there are, and losses that none of them had become
        // rarer.
        let sum = |weights: &Weights| {
            Some(
                values.iter().enumerate().map(|(run, value)| value * weights.of_run(run, values.len())).sum(),
            )
        };
        let (low, high) = interval(&[values.len()], 4, sum).unwrap();
        let total: f64 = values.iter().sum();
        assert!(low < total && total < high && high < 1.1 * total, "{low} {total} {high}");
        let losses = |weights: &Weights| Some(weights.of_unseen("lost"));
        assert!(interval(&[30], 4, losses).unwrap().1 < 1.0);
    }

    #[test]
    fn two_counts_of_zero_are_drawn_independently() {
        let both = |weights: &Weights| Some(weights.of_unseen("mine") - weights.of_unseen("yours"));
        let (low, high) = interval(&[2], 1, both).unwrap();
        assert!(low < -1.0 && high > 1.0, "{low} {high}");
    }

    #[test]
    fn cells_with_different_numbers_of_repetitions_are_resampled_by_themselves() {
        let few = mean_of(&[1.0]);
        let many = mean_of(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0]);
        let ratio = |weights: &Weights| Some(many(weights)? / few(weights)?);
        let (low, high) = interval(&[1, 10], 1, ratio).unwrap();
        let alone = interval(&[10], 1, &many).unwrap();
        assert!((low - alone.0).abs() < 0.5 && (high - alone.1).abs() < 0.5, "{low} {high} {alone:?}");
    }
}
