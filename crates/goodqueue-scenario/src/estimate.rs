//! The mean of a metric over several seeds, with its confidence interval.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::statistics::float;

/// A metric over several runs that differ only in their seed.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// Number of runs that have the metric.
    pub count: u64,
    /// Mean.
    pub mean: f64,
    /// Half width of the 95 % confidence interval of the mean, by Student's t distribution; `null`
    /// for one run.
    pub ci95: Option<f64>,
}

impl Estimate {
    /// Of these values; `None` without any.
    #[must_use]
    pub fn from_values(values: &[f64]) -> Option<Self> {
        let count = values.len() as u64;
        // Without values this is no number, and `None` is returned below.
        let mean = values.iter().sum::<f64>() / float(count);
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let freedom = count.saturating_sub(1);
        let ci95 =
            (freedom > 0).then(|| student_t(freedom) * (squares / float(freedom) / float(count)).sqrt());
        (count > 0).then_some(Self { count, mean, ci95 })
    }
}

/// Returns the median of `values` if it differs from their mean by more than a fifth of the mean: a
/// few runs, such as one with a hash collision, then move the mean.
#[must_use]
pub fn median_apart(values: &[f64]) -> Option<f64> {
    let Estimate { mean, .. } = Estimate::from_values(values)?;
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    let median = if sorted.len() % 2 == 1 { upper } else { f64::midpoint(sorted[middle - 1], upper) };
    ((median - mean).abs() > APART * mean.abs()).then_some(median)
}

/// Share of the mean by which a median differs that is worth a remark.
const APART: f64 = 0.2;

/// The 97.5 % quantile of Student's t distribution with these degrees of freedom; between the rows
/// of the table that of fewer degrees, which is wider.
#[must_use]
pub fn student_t(freedom: u64) -> f64 {
    T_97_5.iter().rev().find(|row| row.0 <= freedom).map_or(T_97_5[0].1, |row| row.1)
}

// A 95 % interval leaves 2.5 % on each side.
const T_97_5: [(u64, f64); 38] = [
    (1, 12.706_2),
    (2, 4.302_7),
    (3, 3.182_4),
    (4, 2.776_4),
    (5, 2.570_6),
    (6, 2.446_9),
    (7, 2.364_6),
    (8, 2.306_0),
    (9, 2.262_2),
    (10, 2.228_1),
    (11, 2.201_0),
    (12, 2.178_8),
    (13, 2.160_4),
    (14, 2.144_8),
    (15, 2.131_4),
    (16, 2.119_9),
    (17, 2.109_8),
    (18, 2.100_9),
    (19, 2.093_0),
    (20, 2.086_0),
    (21, 2.079_6),
    (22, 2.073_9),
    (23, 2.068_7),
    (24, 2.063_9),
    (25, 2.059_5),
    (26, 2.055_5),
    (27, 2.051_8),
    (28, 2.048_4),
    (29, 2.045_2),
    (30, 2.042_3),
    (40, 2.021_1),
    (50, 2.008_6),
    (60, 2.000_3),
    (80, 1.990_1),
    (100, 1.984_0),
    (200, 1.971_9),
    (500, 1.964_7),
    (1000, 1.962_3),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_that_of_student() {
        // Mean 5, standard deviation 2.138; t(7) = 2.3646.
        let estimate = Estimate::from_values(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap();
        assert!((estimate.mean - 5.0).abs() < 1e-12 && estimate.count == 8);
        assert!((estimate.ci95.unwrap() - 1.7875).abs() < 1e-3, "{estimate:?}");
        assert_eq!(Estimate::from_values(&[3.0]), Some(Estimate { count: 1, mean: 3.0, ci95: None }));
        assert_eq!(Estimate::from_values(&[]), None);
    }

    #[test]
    fn a_median_is_told_if_one_run_moves_the_mean() {
        assert_eq!(median_apart(&[20.0, 21.0, 300.0, 19.0, 20.0]), Some(20.0), "the mean is 76");
        assert_eq!(median_apart(&[1.0, 2.0, 3.0, 10.0]), Some(2.5), "the mean is 4");
        assert_eq!(median_apart(&[100.0, 110.0, 150.0]), None, "the mean is 120");
        assert_eq!(median_apart(&[0.0, 0.0, 0.0]), None);
        assert_eq!(median_apart(&[5.0]), None);
        assert_eq!(median_apart(&[]), None);
    }

    #[test]
    fn quantiles_of_t_fall_towards_that_of_the_normal_distribution() {
        assert!(T_97_5.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 > pair[1].1));
        assert!((student_t(35) - 2.042_3).abs() < 1e-12, "the row below");
        assert!(student_t(u64::MAX) > 1.96);
    }
}
