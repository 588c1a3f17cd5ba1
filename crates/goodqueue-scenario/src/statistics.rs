//! Distributions, indices and units as floating-point numbers.

use goodqueue::Duration;
use hdrhistogram::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A distribution. All values are `null` without a sample.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// Number of samples.
    pub count: u64,
    /// Mean.
    pub mean: Option<f64>,
    /// Lower quartile.
    pub p25: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// Upper quartile.
    pub p75: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// Largest sample.
    pub max: Option<f64>,
}

/// Summarizes samples that are kept exactly. Percentiles are nearest ranks.
#[must_use]
pub fn exact_summary(samples: &[f64]) -> Summary {
    let mut sorted: Vec<f64> = samples.iter().copied().filter(|sample| sample.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let at = |quantile: f64| sorted.get(nearest_rank(quantile, sorted.len())).copied();
    Summary {
        count: sorted.len() as u64,
        mean: (!sorted.is_empty()).then(|| sorted.iter().sum::<f64>() / float(sorted.len() as u64)),
        p25: at(0.25),
        p50: at(0.5),
        p75: at(0.75),
        p95: at(0.95),
        p99: at(0.99),
        max: sorted.last().copied(),
    }
}

/// Returns the index of the smallest sample that has a share of at least `quantile` of the samples
/// at or below it.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of a length is a length"
)]
pub(crate) fn nearest_rank(quantile: f64, len: usize) -> usize {
    // The first rank is index 0. So is that of no samples, where nothing is found.
    ((quantile * float(len as u64)).ceil() as usize).saturating_sub(1)
}

/// Summarizes a histogram of nanoseconds whose exact mean is `mean` seconds.
#[must_use]
pub fn histogram_summary(histogram: &Histogram<u64>, mean: Option<f64>) -> Summary {
    if histogram.is_empty() {
        return Summary::default();
    }
    let most = histogram.max();
    let mut values = histogram.value_at_quantiles([0.25, 0.5, 0.75, 0.95, 0.99]);
    // The bounds of a bin may exceed the largest sample.
    let mut next = || values.next().map(|value| nanos_to_s(value.min(most)));
    Summary {
        count: histogram.len(),
        mean,
        p25: next(),
        p50: next(),
        p75: next(),
        p95: next(),
        p99: next(),
        max: Some(nanos_to_s(most)),
    }
}

/// Returns Jain's fairness index (Σx)² / (nΣx²): 1 if all shares are equal, 1/n if one flow has
/// everything. Returns `None` for fewer than two shares, or if all are 0.
#[must_use]
pub fn jain(shares: &[f64]) -> Option<f64> {
    let (sum, squares) = shares.iter().fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
    (shares.len() > 1 && squares > 0.0).then(|| sum * sum / (float(shares.len() as u64) * squares))
}

pub(crate) fn seconds(span: Duration) -> f64 {
    nanos_to_s(span.as_nanos())
}

pub(crate) fn nanos_to_s(nanos: u64) -> f64 {
    float(nanos) / 1e9
}

/// Converts a number of bytes in a number of seconds to bits per second; 0 if the time is 0.
pub(crate) fn per_second(bytes: u64, span_s: f64) -> f64 {
    if span_s > 0.0 { float(bytes) * 8.0 / span_s } else { 0.0 }
}

/// Converts a count to a floating-point number.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "results are given in floating point; counts stay below 2^53")]
pub const fn float(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jain_index_follows_its_examples() {
        // Examples after Jain, Chiu & Hawe 1984.
        for (shares, index) in [
            (vec![1.0; 4], 1.0),
            (vec![1.0, 0.0, 0.0, 0.0], 0.25),
            (vec![10.0, 5.0], 0.9),
            (vec![4.0, 2.0, 1.0, 1.0], 64.0 / 88.0),
        ] {
            assert!((jain(&shares).expect("two or more") - index).abs() < 1e-12, "{shares:?}");
        }
        assert_eq!((jain(&[1.0]), jain(&[0.0, 0.0]), jain(&[])), (None, None, None));
    }

    #[test]
    fn percentiles_are_nearest_ranks() {
        let hundred: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        let summary = exact_summary(&hundred);
        assert_eq!(
            (summary.p25, summary.p50, summary.p95, summary.p99),
            (Some(25.0), Some(50.0), Some(95.0), Some(99.0))
        );
        assert_eq!((summary.mean, summary.max, summary.count), (Some(50.5), Some(100.0), 100));
        let one = exact_summary(&[7.0]);
        assert_eq!((one.p25, one.p99, one.max), (Some(7.0), Some(7.0), Some(7.0)));
        assert_eq!(exact_summary(&[]), Summary::default());
        assert_eq!(exact_summary(&[f64::NAN]).count, 0);
    }
}
