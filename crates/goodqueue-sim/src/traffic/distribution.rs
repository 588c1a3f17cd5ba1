//! Random distributions of traffic. They are computed with `libm`, so values are the same on every
//! platform.

use goodqueue::Duration;
use goodqueue::random::{Random, Xoshiro256PlusPlus};

/// The distribution of a quantity in seconds or bytes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Distribution {
    /// A constant.
    Constant(f64),
    /// Uniform between these bounds.
    Uniform(f64, f64),
    /// Exponential with this mean.
    Exponential(f64),
    /// Pareto. With a shape of at most 1 there is no mean, and `mean` is the smallest value.
    Pareto {
        /// Exponent of the tail, above 0.
        shape: f64,
        /// Mean, or the smallest value.
        mean: f64,
    },
    /// Log-normal.
    LogNormal {
        /// Mean of the natural logarithm.
        mu: f64,
        /// Standard deviation of the natural logarithm; with 0 every value is the median.
        sigma: f64,
    },
}

impl Distribution {
    /// Returns a log-normal distribution with this median and this standard deviation of the
    /// natural logarithm.
    #[must_use]
    pub fn log_normal(median: f64, sigma: f64) -> Self {
        Self::LogNormal { mu: libm::log(median), sigma }
    }

    /// Returns the mean. A Pareto distribution with a shape of at most 1 has none; for it, returns
    /// the smallest value.
    #[must_use]
    pub fn mean(&self) -> f64 {
        match *self {
            Self::Constant(value) | Self::Exponential(value) => value,
            Self::Uniform(low, high) => f64::midpoint(low, high),
            Self::Pareto { mean, .. } => mean,
            Self::LogNormal { mu, sigma } => libm::exp(mu + sigma * sigma / 2.0),
        }
    }

    /// Returns the mean of values that are limited to `low` and `high`, which are above 0.
    #[must_use]
    pub fn mean_within(&self, low: f64, high: f64) -> f64 {
        let within = |value: f64| value.min(high).max(low);
        // The mean is `low` plus the integral from `low` to `high` of the probability that a value
        // is larger.
        match *self {
            Self::Constant(value) => within(value),
            Self::Uniform(first, last) if first < last => {
                // The probability falls from 1 at `first` to 0 at `last`.
                let above = |value: f64| last - within(value);
                let fall = above(first) * above(first) - above(last) * above(last);
                within(first) + fall / (2.0 * (last - first))
            }
            // Equal bounds are a constant, and the slope above would divide by zero.
            Self::Uniform(value, _) => within(value),
            Self::Exponential(mean) if mean > 0.0 => {
                low + mean * (libm::exp(-low / mean) - libm::exp(-high / mean))
            }
            // With a mean of 0 every value is 0, which counts as `low`.
            Self::Exponential(_) => low,
            Self::Pareto { shape, mean } => {
                let least = least(shape, mean);
                let first = within(least);
                let tail = |value: f64| libm::pow(least / value, shape);
                // The integral of 1 / x is a logarithm. The general form would be 0 / 0.
                let more = if (shape - 1.0).abs() < f64::EPSILON {
                    least * libm::log(high / first)
                } else {
                    (first * tail(first) - high * tail(high)) / (shape - 1.0)
                };
                // Only values above `least` exist, and above `high` none counts.
                if least < high { first + more } else { high }
            }
            Self::LogNormal { mu, sigma } if sigma > 0.0 => {
                // Share of a normal distribution below `z`.
                let below = |z: f64| 0.5 * libm::erfc(-z * core::f64::consts::FRAC_1_SQRT_2);
                let [low_z, high_z] = [low, high].map(|bound| (libm::log(bound) - mu) / sigma);
                // The partial mean of a log-normal distribution is its mean times a share of the
                // normal distribution whose centre lies one `sigma` further up.
                let between = self.mean() * (below(high_z - sigma) - below(low_z - sigma));
                low * below(low_z) + high * below(-high_z) + between
            }
            // Without a deviation every value is the median. A median at a bound would give 0 / 0.
            Self::LogNormal { mu, .. } => within(libm::exp(mu)),
        }
    }

    /// Draws a value, never below 0.
    pub fn draw(&self, random: &mut Xoshiro256PlusPlus) -> f64 {
        let value = match *self {
            Self::Constant(value) => value,
            Self::Uniform(low, high) => low + unit(random) * (high - low),
            // `unit` may be 0 but is never 1, so the logarithm is finite. `libm` gives the same
            // bits on every platform; the methods of `f64` need not.
            Self::Exponential(mean) => -libm::log(1.0 - unit(random)) * mean,
            Self::Pareto { shape, mean } => least(shape, mean) * libm::pow(1.0 - unit(random), -1.0 / shape),
            Self::LogNormal { mu, sigma } => libm::exp(mu + sigma * normal(random)),
        };
        // A program may give a constant or bounds below 0.
        value.max(0.0)
    }

    /// Draws a span of time from a distribution in seconds.
    pub fn draw_time(&self, random: &mut Xoshiro256PlusPlus) -> Duration {
        duration(self.draw(random))
    }

    /// Draws a number of bytes, at least 1.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "saturates, and is not negative"
    )]
    pub fn draw_bytes(&self, random: &mut Xoshiro256PlusPlus) -> u64 {
        (libm::round(self.draw(random)) as u64).max(1)
    }
}

/// Returns the smallest value of a Pareto distribution: its mean is `least * shape / (shape - 1)`.
fn least(shape: f64, mean: f64) -> f64 {
    if shape > 1.0 { mean * (shape - 1.0) / shape } else { mean }
}

/// Converts seconds to a duration; negative values become zero.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates: below 0 to 0")]
pub(super) fn duration(seconds: f64) -> Duration {
    Duration::from_nanos(libm::round(seconds * 1e9) as u64)
}

/// Draws from the uniform distribution on [0, 1), with 53 random bits.
#[expect(clippy::cast_precision_loss, reason = "53 bits are exact")]
pub(super) fn unit(random: &mut Xoshiro256PlusPlus) -> f64 {
    // The upper 53 bits: as many as the significand of `f64` has.
    (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// Draws from the normal distribution with mean 0 and variance 1 (Box & Muller 1958, one of the two
/// values).
pub(super) fn normal(random: &mut Xoshiro256PlusPlus) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - unit(random)));
    radius * libm::cos(2.0 * core::f64::consts::PI * unit(random))
}

/// Draws from the gamma distribution with this shape, at least 1, and scale 1 (Marsaglia & Tsang
/// 2000).
pub(super) fn gamma(shape: f64, random: &mut Xoshiro256PlusPlus) -> f64 {
    let d = shape - 1.0 / 3.0;
    // IEEE 754 rounds square roots correctly, so `sqrt` gives the same bits on every platform.
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = normal(random);
        let v = (1.0 + c * x) * (1.0 + c * x) * (1.0 + c * x);
        // Above 0, so the logarithm is finite.
        let u = 1.0 - unit(random);
        if v > 0.0 && libm::log(u) < 0.5 * x * x + d - d * v + d * libm::log(v) {
            return d * v;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_what_they_are_called() {
        let cases = [
            (Distribution::Constant(3.0), 3.0),
            (Distribution::Uniform(1.0, 5.0), 3.0),
            (Distribution::Exponential(3.0), 3.0),
            (Distribution::Pareto { shape: 2.5, mean: 3.0 }, 3.0),
            // exp(mu + sigma²/2) = 3
            (Distribution::LogNormal { mu: libm::log(3.0) - 0.125, sigma: 0.5 }, 3.0),
        ];
        for (distribution, mean) in cases {
            assert!((distribution.mean() - mean).abs() < 1e-12);
            let mut random = Xoshiro256PlusPlus::new(1);
            let draws = 200_000;
            let sum: f64 = (0..draws).map(|_| distribution.draw(&mut random)).sum();
            assert!((sum / f64::from(draws) - mean).abs() < 0.03, "{distribution:?}: {}", sum / 2e5);
        }
    }

    #[test]
    fn means_of_limited_values_are_those_of_many_draws() {
        let log_normal = Distribution::log_normal;
        for distribution in [
            Distribution::Constant(20.0),
            Distribution::Constant(700.0),
            Distribution::Constant(2000.0),
            Distribution::Uniform(10.0, 900.0),
            Distribution::Uniform(500.0, 1900.0),
            Distribution::Uniform(0.0, 20.0),
            Distribution::Uniform(1600.0, 1700.0),
            Distribution::Uniform(300.0, 300.0),
            Distribution::Exponential(30.0),
            Distribution::Exponential(1400.0),
            Distribution::Exponential(0.0),
            Distribution::Pareto { shape: 1.2, mean: 1400.0 },
            Distribution::Pareto { shape: 3.0, mean: 30.0 },
            Distribution::Pareto { shape: 1.0, mean: 100.0 },
            Distribution::Pareto { shape: 0.5, mean: 100.0 },
            Distribution::Pareto { shape: 9.0, mean: 2000.0 },
            log_normal(700.0, 1.0),
            log_normal(20.0, 3.0),
            log_normal(5000.0, 0.2),
            log_normal(1500.0, 0.0),
            log_normal(28.0, 0.0),
            log_normal(700.0, 0.0),
        ] {
            let mut random = Xoshiro256PlusPlus::new(1);
            let draws = 100_000;
            let sum: f64 = (0..draws).map(|_| distribution.draw(&mut random).clamp(28.0, 1500.0)).sum();
            let drawn = sum / f64::from(draws);
            let mean = distribution.mean_within(28.0, 1500.0);
            // The standard deviation is at most half of the range, so that of the mean is 2.3.
            assert!((mean - drawn).abs() < 7.0, "{distribution:?}: {mean}, drawn {drawn}");
        }
    }

    #[test]
    fn gamma_has_its_mean_and_variance() {
        let mut random = Xoshiro256PlusPlus::new(1);
        for shape in [1.0, 1.85, 3.22] {
            let draws: Vec<f64> = (0..200_000).map(|_| gamma(shape, &mut random)).collect();
            let mean = draws.iter().sum::<f64>() / 2e5;
            let variance = draws.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / 2e5;
            assert!((mean - shape).abs() < 0.02 && (variance - shape).abs() < 0.06, "{mean} {variance}");
        }
    }
}
