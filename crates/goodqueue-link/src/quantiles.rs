//! Quantiles of durations in bounded memory.

use alloc::vec::Vec;
use core::fmt;

use goodqueue::Duration;

/// Counts durations in buckets whose width is at most 1/128 of their value, so a quantile is at
/// most 0.8 % too high. The counts take at most 59 kB. Minimum, maximum and mean are exact.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Quantiles {
    counts: Vec<u64>,
    count: u64,
    sum: u128,
    least: Option<Duration>,
    most: Duration,
}

impl Quantiles {
    /// Adds a value.
    pub fn add(&mut self, value: Duration) {
        let bucket = bucket_of(value.as_nanos());
        if bucket >= self.counts.len() {
            self.counts.resize(bucket + 1, 0);
        }
        if let Some(count) = self.counts.get_mut(bucket) {
            *count += 1;
        }
        self.count += 1;
        self.sum += u128::from(value.as_nanos());
        self.least = Some(self.least.map_or(value, |least| least.min(value)));
        self.most = self.most.max(value);
    }

    /// Returns the number of values.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Returns the value that `share` (from 0 to 1) of all values do not exceed.
    ///
    /// Without values it is [`Duration::MAX`], so that an assertion of an upper bound fails if no
    /// packet was measured.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a rank of at most `count`; negative shares and NaN become rank 1"
    )]
    pub fn quantile(&self, share: f64) -> Duration {
        if self.count == 0 {
            return Duration::MAX;
        }
        let exact = share * self.count as f64;
        let below = exact as u64;
        // The rank is rounded up; `ceil` needs the standard library.
        let rank = (below + u64::from(exact > below as f64)).clamp(1, self.count);
        let mut passed = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            passed += count;
            if passed >= rank {
                // The bucket of the highest value may end above it.
                return Duration::from_nanos(highest_in(bucket)).min(self.most);
            }
        }
        self.most
    }

    /// Returns the median, as [`Self::quantile`].
    #[must_use]
    pub fn p50(&self) -> Duration {
        self.quantile(0.5)
    }

    /// Returns the 95th percentile, as [`Self::quantile`].
    #[must_use]
    pub fn p95(&self) -> Duration {
        self.quantile(0.95)
    }

    /// Returns the 99th percentile, as [`Self::quantile`].
    #[must_use]
    pub fn p99(&self) -> Duration {
        self.quantile(0.99)
    }

    /// Returns the lowest value; [`Duration::MAX`] without values.
    #[must_use]
    pub fn min(&self) -> Duration {
        self.least.unwrap_or(Duration::MAX)
    }

    /// Returns the highest value; [`Duration::MAX`] without values.
    #[must_use]
    pub const fn max(&self) -> Duration {
        if self.count == 0 { Duration::MAX } else { self.most }
    }

    /// Returns the mean, rounded down to the nanosecond; [`Duration::MAX`] without values.
    #[must_use]
    pub fn mean(&self) -> Duration {
        let mean = self.sum.checked_div(u128::from(self.count));
        mean.and_then(|mean| u64::try_from(mean).ok()).map_or(Duration::MAX, Duration::from_nanos)
    }
}

/// Shows quantiles instead of the counts.
impl fmt::Debug for Quantiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [min, median, high, max] = [self.min(), self.p50(), self.p99(), self.max()];
        write!(f, "{} values, min {min}, median {median}, p99 {high}, max {max}", self.count)
    }
}

/// Bits of a value that its bucket keeps.
const KEPT: u32 = 7;

/// Values below 256 have a bucket each; above, each power of two has 128 buckets.
fn bucket_of(nanos: u64) -> usize {
    // 0 has no logarithm, and is in the first bucket.
    let shift = nanos.checked_ilog2().unwrap_or(0).saturating_sub(KEPT);
    let low = usize::try_from(nanos >> shift).unwrap_or(0);
    (shift as usize) * (1 << KEPT) + low
}

/// Returns the highest value in a bucket.
fn highest_in(bucket: usize) -> u64 {
    let buckets = 1_usize << KEPT;
    let shift = (bucket / buckets).saturating_sub(1);
    let low = (bucket - shift * buckets) as u64;
    // The last bucket ends at 2^64 - 1.
    let end = (u128::from(low) + 1) << shift;
    u64::try_from(end - 1).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn without_values_every_upper_bound_fails() {
        let none = Quantiles::default();
        assert_eq!([none.p50(), none.p99(), none.min(), none.max(), none.mean()], [Duration::MAX; 5]);
    }

    #[test]
    fn ranks_are_rounded_up_and_small_values_are_exact() {
        let mut hundred = Quantiles::default();
        (1..=100).for_each(|value| hundred.add(Duration::from_nanos(value)));
        let nanos = [0.0, 0.01, 0.011, 0.5, 0.99, 0.991, 1.0, 7.0].map(|q| hundred.quantile(q).as_nanos());
        assert_eq!(nanos, [1, 1, 2, 50, 99, 100, 100, 100]);
        assert_eq!((hundred.mean().as_nanos(), hundred.count()), (50, 100));
    }

    proptest! {
        #[test]
        fn a_quantile_is_at_most_one_part_in_128_above_the_sorted_list(
            mut values in proptest::collection::vec(any::<u64>().prop_flat_map(|v| 0..=v), 1..200),
            share in 0.0_f64..=1.0,
        ) {
            let mut counted = Quantiles::default();
            values.iter().for_each(|value| counted.add(Duration::from_nanos(*value)));
            values.sort_unstable();
            // The first value that at least this share of all values does not exceed.
            let enough = |rank: &usize| (rank + 1) as f64 >= share * values.len() as f64;
            let rank = (0..values.len()).find(enough).unwrap_or(values.len() - 1);
            let exact = values[rank];
            let found = counted.quantile(share).as_nanos();
            prop_assert!(found >= exact && found - exact <= exact / 128, "{found} for {exact}");
        }
    }
}
