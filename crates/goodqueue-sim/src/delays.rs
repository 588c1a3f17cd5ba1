//! Counts of delays on the data path, which become a histogram at the end of a run.

use hdrhistogram::Histogram;

/// Bounds of a histogram of delays in nanoseconds.
const LOWEST_DELAY: u64 = 1_000;
const HIGHEST_DELAY: u64 = 3_600_000_000_000;
/// Binary logarithm of the finest bucket's width in nanoseconds, the power of two below
/// [`LOWEST_DELAY`].
const UNIT: u32 = LOWEST_DELAY.ilog2();

/// Number of significant decimal digits of a histogram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Digits {
    /// In some KiB.
    One = 1,
    /// An error of at most 0.1 %, in about 200 KiB.
    Three = 3,
}

/// Delays in nanoseconds, counted in the buckets of a [`Histogram`] from 1 µs to 1 h.
///
/// A packet costs a third of the instructions of [`Histogram::saturating_record`], which does not
/// know the bounds when it is compiled.
#[derive(Clone, Debug)]
pub(crate) struct DelayCounts {
    digits: Digits,
    /// Binary logarithm of the number of buckets in each octave.
    octave: u32,
    counts: Vec<u64>,
    /// Least delay of a unit or more.
    least: u64,
    /// Greatest delay.
    most: u64,
}

impl DelayCounts {
    /// Returns no delays, to be counted with this number of digits.
    pub(crate) fn with_digits(digits: Digits) -> Self {
        // An octave has as many buckets as the digits distinguish, rounded up to a power of two.
        let octave = 10_u32.pow(digits as u32).next_power_of_two().ilog2();
        let mut delays = Self { digits, octave, counts: Vec::new(), least: u64::MAX, most: 0 };
        // The last octave is whole.
        delays.counts = vec![0; (delays.bucket_of(HIGHEST_DELAY) + 1).next_multiple_of(1 << octave)];
        delays
    }

    /// Returns no delays, with the same number of digits.
    pub(crate) fn emptied(&self) -> Self {
        Self::with_digits(self.digits)
    }

    /// Counts a delay. One that has no bucket, of more than an hour, counts as an hour.
    #[inline]
    pub(crate) fn record(&mut self, mut nanos: u64) {
        let mut bucket = self.bucket_of(nanos);
        if bucket >= self.counts.len() {
            nanos = HIGHEST_DELAY;
            bucket = self.bucket_of(nanos);
        }
        self.counts[bucket] += 1;
        self.most = self.most.max(nanos);
        // The histogram treats delays below a unit as 0, and leaves them out of its least value.
        if nanos >> UNIT > 0 {
            self.least = self.least.min(nanos);
        }
    }

    /// Returns the bucket of a delay: units up to two octaves' worth of them, then octaves.
    #[inline]
    fn bucket_of(&self, nanos: u64) -> usize {
        let units = nanos >> UNIT;
        // `| 1`: 0 has no logarithm, and all other numbers keep theirs.
        let octave = (units | 1).ilog2().saturating_sub(self.octave);
        // From octave 1 on the second term begins at 2^`self.octave`, so the numbers of the buckets
        // continue those of the octave before without a gap.
        usize::try_from((u64::from(octave) << self.octave) + (units >> octave)).unwrap_or(usize::MAX)
    }

    /// Returns the least delay of a bucket.
    fn least_of(&self, bucket: usize) -> u64 {
        let bucket = bucket as u64;
        // The buckets of two octaves are one unit wide, so octaves are counted from the second one.
        let octave = (bucket >> self.octave).saturating_sub(1);
        (bucket - (octave << self.octave)) << octave << UNIT
    }

    /// Returns the histogram of all delays, with their exact least and greatest.
    pub(crate) fn to_histogram(&self) -> Histogram<u64> {
        let mut histogram = histogram(self.digits);
        let [least, most] = [self.least, self.most].map(|delay| self.bucket_of(delay));
        for (bucket, &count) in self.counts.iter().enumerate().take(most + 1).filter(|(_, count)| **count > 0)
        {
            // The histogram takes its extremes from the recorded values, so the least and the
            // greatest delay are recorded as they were.
            let usual = if bucket == least { self.least } else { self.least_of(bucket) };
            let greatest = u64::from(bucket == most);
            histogram.saturating_record_n(usual, count - greatest);
            histogram.saturating_record_n(self.most, greatest);
        }
        histogram
    }
}

/// Returns an empty histogram of delays.
fn histogram(digits: Digits) -> Histogram<u64> {
    // The bounds are constants that the crate accepts. `new`, which grows as needed, is the
    // fallback.
    Histogram::new_with_bounds(LOWEST_DELAY, HIGHEST_DELAY, digits as u8)
        .or_else(|_| Histogram::new(digits as u8))
        .unwrap_or_else(|_| unreachable!("both are valid numbers of figures"))
}

#[cfg(test)]
mod tests {
    use goodqueue::random::{Random, Xoshiro256PlusPlus};

    use super::*;

    /// Counts delays of any size, and compares the histogram with one that recorded them itself.
    fn compare(digits: Digits, delays: impl IntoIterator<Item = u64>) {
        let mut counts = DelayCounts::with_digits(digits);
        let mut recorded = histogram(digits);
        for delay in delays {
            counts.record(delay);
            recorded.saturating_record(delay);
        }
        let counted = counts.to_histogram();
        assert_eq!(counted, recorded);
        let bounds = |histogram: &Histogram<u64>| {
            (histogram.min(), histogram.min_nz(), histogram.max(), histogram.len())
        };
        assert_eq!(bounds(&counted), bounds(&recorded));
    }

    #[test]
    fn the_histogram_is_the_one_that_would_have_recorded_each_delay() {
        let mut random = Xoshiro256PlusPlus::new(1);
        for digits in [Digits::One, Digits::Three] {
            for runs in 0..200 {
                let mut delay = || random.next_u64() >> random.below(64);
                compare(digits, (0..runs).map(|_| delay()).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn delays_below_a_microsecond_and_above_an_hour_are_recorded_at_the_bounds() {
        // The finest bucket has 512 ns.
        for delays in [&[0][..], &[511], &[0, 300], &[1_000_000], &[u64::MAX, 512], &[HIGHEST_DELAY + 1]] {
            compare(Digits::Three, delays.iter().copied());
        }
    }
}
