//! Distributions of delays: exact, or in a histogram if the simulator summed up some of them.

use goodqueue::Duration;
use goodqueue_sim::traffic::Earlier;
use hdrhistogram::Histogram;

use crate::statistics::{
    Summary, exact_summary, float, histogram_summary, nanos_to_s, nearest_rank, seconds,
};

/// Delays in seconds. The histogram grows as needed, so that every delay can be recorded.
pub(super) enum Delays {
    /// All of them.
    Exact(Vec<f64>),
    /// A histogram of nanoseconds, and the sum.
    Binned(Box<Histogram<u64>>, f64),
}

impl Delays {
    /// Returns the delays that the simulator has one by one, without samples that it summed up.
    pub(super) fn from_exact(exact: Vec<f64>) -> Self {
        Self::Exact(exact)
    }

    /// Adds samples that the simulator summed up. `minus` is subtracted from each.
    pub(super) fn add_earlier(&mut self, earlier: &Earlier, minus: f64) {
        if let Self::Exact(exact) = self {
            let mut binned = histogram();
            let mut sum = 0.0;
            for delay in exact.drain(..) {
                // A histogram that grows takes every number.
                let _ = binned.record(nanos(delay));
                sum += delay;
            }
            *self = Self::Binned(Box::new(binned), sum);
        }
        let Self::Binned(binned, sum) = self else { return };
        for bin in earlier.times.iter_recorded() {
            // The bounds of a bin exceed the largest sample.
            let time = earlier.times.median_equivalent(bin.value_iterated_to()).min(earlier.times.max());
            // The middle of a bin has three digits only, and may lie below `minus`.
            let delay = (nanos_to_s(time) - minus).max(0.0);
            let _ = binned.record_n(nanos(delay), bin.count_since_last_iteration());
        }
        // Both are rounded, so the difference may come out below 0.
        *sum += (earlier.sum_s - minus * float(earlier.times.len())).max(0.0);
    }

    pub(super) fn summary(&self) -> Summary {
        match self {
            Self::Exact(exact) => exact_summary(exact),
            Self::Binned(binned, sum) => histogram_summary(binned, Some(*sum / float(binned.len()))),
        }
    }

    /// Returns the mean of the shortest delays, up to this quantile.
    pub(super) fn trimmed_mean(&self, quantile: f64) -> Option<f64> {
        match self {
            Self::Exact(exact) => {
                let mut sorted = exact.clone();
                sorted.sort_by(f64::total_cmp);
                // The rank is an index, and the sample at this index counts.
                sorted.truncate(nearest_rank(quantile, sorted.len()) + 1);
                exact_summary(&sorted).mean
            }
            Self::Binned(binned, _) => {
                let bound = binned.value_at_quantile(quantile);
                let kept = binned.iter_recorded().take_while(|bin| bin.value_iterated_to() <= bound);
                let (sum, count) = kept.fold((0.0, 0), |(sum, count), bin| {
                    let value = nanos_to_s(binned.median_equivalent(bin.value_iterated_to()));
                    let more = bin.count_since_last_iteration();
                    (sum + value * float(more), count + more)
                });
                (count > 0).then(|| sum / float(count))
            }
        }
    }

    /// Returns the delay at each of these ascending quantiles; nothing without delays.
    pub(super) fn at(&self, quantiles: &[f64]) -> Vec<f64> {
        match self {
            Self::Exact(exact) if exact.is_empty() => Vec::new(),
            Self::Exact(exact) => {
                let mut sorted = exact.clone();
                sorted.sort_by(f64::total_cmp);
                quantiles.iter().map(|quantile| sorted[nearest_rank(*quantile, sorted.len())]).collect()
            }
            Self::Binned(binned, _) => at_quantiles(binned, quantiles),
        }
    }
}

/// Returns the value of a histogram of nanoseconds at each of these ascending quantiles in seconds;
/// nothing without samples.
pub(super) fn at_quantiles(histogram: &Histogram<u64>, quantiles: &[f64]) -> Vec<f64> {
    if histogram.is_empty() {
        return Vec::new();
    }
    let values = histogram.value_at_quantiles(quantiles.iter().copied());
    // The bounds of a bin may exceed the largest sample.
    values.map(|value| nanos_to_s(value.min(histogram.max()))).collect()
}

/// Returns the number of samples above a bound, of which those in the bin of the bound count as
/// below.
pub(super) fn above(earlier: &Earlier, bound: Duration) -> u64 {
    let below = earlier.times.count_between(0, bound.as_nanos());
    earlier.times.len().saturating_sub(below)
}

fn histogram() -> Histogram<u64> {
    Histogram::new(3).unwrap_or_else(|_| unreachable!("3 digits are possible"))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a delay, which is not negative")]
fn nanos(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

/// Returns the delays in seconds.
pub(super) fn in_seconds(delays: impl Iterator<Item = Option<Duration>>) -> Vec<f64> {
    delays.flatten().map(seconds).collect()
}
