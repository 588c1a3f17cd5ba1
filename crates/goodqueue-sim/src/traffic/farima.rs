//! Long-range dependent Gaussian noise: fractionally differenced noise, FARIMA(0, d, 0), plus white
//! noise.
//!
//! The noise comes from its autoregressive form. The Durbin-Levinson recursion gives the
//! coefficients (Hosking, "Modeling persistence in hydrological time series using fractional
//! differencing", Water Resources Research 20(12), 1984). The first draws use as many coefficients
//! as there are previous draws. This is exact, so the process is stationary from its first value.
//! The number of coefficients stops growing at a limit.

use goodqueue::random::Xoshiro256PlusPlus;

use super::distribution::normal;

/// Fractionally differenced noise with mean 0 and innovations of variance 1.
#[derive(Clone, Debug)]
pub(super) struct Farima {
    /// Parameter of the process, 0 <= d < 0.5.
    d: f64,
    /// Largest number of coefficients.
    terms: usize,
    /// Coefficients of the previous draws, the last draw first.
    phi: Vec<f64>,
    /// Variance of the innovations that the coefficients leave unexplained.
    variance: f64,
    /// Previous draws from index `newest` on, the last draw first. The buffer has twice the needed
    /// length, so that it is moved rarely.
    history: Vec<f64>,
    /// Index of the last draw in `history`.
    newest: usize,
}

impl Farima {
    /// Creates a process with this parameter `d`, 0 <= d < 0.5, that keeps at most `terms`
    /// coefficients.
    pub(super) fn new(d: f64, terms: usize) -> Self {
        let terms = terms.max(1);
        Self {
            d,
            terms,
            phi: Vec::new(),
            variance: variance(d),
            history: vec![0.0; 2 * terms],
            // No draw is known. `phi` is empty as well, so the zeros are never read.
            newest: 2 * terms,
        }
    }

    /// Draws the next value.
    pub(super) fn draw(&mut self, random: &mut Xoshiro256PlusPlus) -> f64 {
        let known = self.phi.len();
        let value = dot(&self.phi, &self.history[self.newest..]) + self.variance.sqrt() * normal(random);
        // The buffer is used up from its end. Only its first half is still needed.
        if self.newest == 0 {
            let (old, new) = self.history.split_at_mut(self.terms);
            new.copy_from_slice(old);
            self.newest = self.terms;
        }
        self.newest -= 1;
        self.history[self.newest] = value;
        if known < self.terms {
            self.learn();
        }
        value
    }

    /// Adds one coefficient.
    #[expect(clippy::cast_precision_loss, reason = "some thousands of coefficients")]
    fn learn(&mut self) {
        // The new coefficient is d / (t - d) for t coefficients (Hosking 1984).
        let last = self.d / ((self.phi.len() + 1) as f64 - self.d);
        // A pair of coefficients from both ends is updated together, because each needs the other's
        // previous value.
        let count = self.phi.len();
        let (front, back) = self.phi.split_at_mut(count / 2);
        for (a, b) in front.iter_mut().zip(back.iter_mut().rev()) {
            (*a, *b) = (*a - last * *b, *b - last * *a);
        }
        if count % 2 == 1 {
            let middle = &mut self.phi[count / 2];
            *middle -= last * *middle;
        }
        self.phi.push(last);
        self.variance *= 1.0 - last * last;
    }
}

/// Returns the scalar product. Eight partial sums let the processor add in parallel; their fixed
/// order makes the result reproducible.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    const LANES: usize = 8;
    let b = &b[..a.len()];
    let mut sums = [0.0; LANES];
    let mut left = a.chunks_exact(LANES);
    let mut right = b.chunks_exact(LANES);
    for (x, y) in left.by_ref().zip(right.by_ref()) {
        for lane in 0..LANES {
            sums[lane] += x[lane] * y[lane];
        }
    }
    let rest: f64 = left.remainder().iter().zip(right.remainder()).map(|(x, y)| x * y).sum();
    sums.iter().sum::<f64>() + rest
}

/// Returns the variance of the process: Γ(1-2d) / Γ(1-d)² (Hosking 1984).
fn variance(d: f64) -> f64 {
    libm::exp(libm::lgamma(1.0 - 2.0 * d) - 2.0 * libm::lgamma(1.0 - d))
}

/// Standard normal values with short-range and long-range dependence: sums of two neighbours in
/// fractionally differenced noise, plus white noise (Cao et al. 2004).
#[derive(Clone, Debug)]
pub(super) struct LongRange {
    noise: Farima,
    /// Previous value of the noise.
    before: f64,
    /// Weight of the dependent part.
    dependent: f64,
    /// Weight of the white noise.
    white: f64,
}

impl LongRange {
    /// Creates a process with parameter `d`, at most `terms` coefficients, and this share of white
    /// noise in the variance.
    pub(super) fn new(d: f64, terms: usize, share_of_white: f64, random: &mut Xoshiro256PlusPlus) -> Self {
        let mut noise = Farima::new(d, terms);
        // The first sum needs a predecessor.
        let before = noise.draw(random);
        // A sum of two neighbours has the variance γ(0) (2 + 2 ρ(1)), where ρ(1) = d / (1 - d).
        let of_sum = variance(d) * (2.0 + 2.0 * d / (1.0 - d));
        Self {
            noise,
            before,
            dependent: ((1.0 - share_of_white) / of_sum).sqrt(),
            white: share_of_white.sqrt(),
        }
    }

    /// Draws the next value.
    pub(super) fn draw(&mut self, random: &mut Xoshiro256PlusPlus) -> f64 {
        let value = self.noise.draw(random);
        let sum = value + core::mem::replace(&mut self.before, value);
        self.dependent * sum + self.white * normal(random)
    }
}

#[cfg(test)]
#[expect(clippy::cast_precision_loss, reason = "lengths of series")]
mod tests {
    use super::*;

    fn series(len: usize, mut draw: impl FnMut(&mut Xoshiro256PlusPlus) -> f64) -> Vec<f64> {
        let mut random = Xoshiro256PlusPlus::new(7);
        (0..len).map(|_| draw(&mut random)).collect()
    }

    /// Returns the mean product of values that are `lag` apart. The process has mean 0.
    fn covariance(series: &[f64], lag: usize) -> f64 {
        let products = series.iter().zip(&series[lag..]).map(|(a, b)| a * b);
        products.sum::<f64>() / (series.len() - lag) as f64
    }

    #[test]
    fn the_recursion_gives_the_coefficients_of_hosking() {
        // φ(n, j) = -C(n, j) Γ(j-d) Γ(n-d-j+1) / (Γ(-d) Γ(n-d+1)), Hosking 1984; here for n = 2 and
        // n = 3.
        let d = 0.3;
        let mut noise = Farima::new(d, 3);
        for expected in [vec![], vec![d / (1.0 - d)]] {
            assert_eq!(noise.phi.len(), expected.len());
            assert!(noise.phi.iter().zip(&expected).all(|(a, b): (&f64, &f64)| (a - b).abs() < 1e-12));
            noise.learn();
        }
        let closed = |n: i32, j: i32| {
            // C(2, j) and C(3, j), four places for each n.
            let choose =
                f64::from([1, 2, 1, 0, 1, 3, 3, 1][usize::try_from(4 * (n - 2) + j).expect("small")]);
            let n = f64::from(n);
            let j = f64::from(j);
            -choose * libm::tgamma(j - d) * libm::tgamma(n - d - j + 1.0)
                / (libm::tgamma(-d) * libm::tgamma(n - d + 1.0))
        };
        for n in [2, 3] {
            let expected: Vec<f64> = (1..=n).map(|j| closed(n, j)).collect();
            assert!(
                noise.phi.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-12),
                "{:?} {expected:?}",
                noise.phi
            );
            noise.learn();
        }
    }

    #[test]
    fn fractional_noise_has_its_variance_and_correlations_from_the_first_draw_on() {
        // γ(0) = Γ(1-2d)/Γ(1-d)², ρ(1) = d/(1-d), ρ(2) = d(1+d)/((1-d)(2-d)). The mean of
        // long-range dependent values converges slowly, so the test takes many short runs. Each run
        // is stationary from its start.
        let d = 0.33;
        let gamma = variance(d);
        let rho1 = d / (1.0 - d);
        let rho2 = d * (1.0 + d) / ((1.0 - d) * (2.0 - d));
        let mut random = Xoshiro256PlusPlus::new(3);
        let mut products = [0.0; 3];
        let runs = 40_000;
        for _ in 0..runs {
            let mut noise = Farima::new(d, 20);
            let values = [(); 3].map(|()| noise.draw(&mut random));
            for (lag, product) in products.iter_mut().enumerate() {
                *product += values[0] * values[lag] / f64::from(runs);
            }
        }
        for (measured, expected) in products.into_iter().zip([gamma, gamma * rho1, gamma * rho2]) {
            assert!((measured - expected).abs() < 0.03, "{measured} {expected}");
        }
    }

    #[test]
    fn the_variance_of_means_decays_as_the_hurst_parameter_says() {
        // The variance of a mean of m values is proportional to m^(2d-1) = m^(2H-2) with H = d +
        // 1/2. For independent values it is proportional to m^-1.
        let slope = |series: &[f64]| {
            let of_means = |m: usize| {
                let means: Vec<f64> =
                    series.chunks_exact(m).map(|chunk| chunk.iter().sum::<f64>() / m as f64).collect();
                covariance(&means, 0)
            };
            libm::log(of_means(128) / of_means(8)) / libm::log(16.0)
        };
        let d = 0.33;
        let mut noise = Farima::new(d, 300);
        let dependent = series(100_000, |random| noise.draw(random));
        assert!((slope(&dependent) - (2.0 * d - 1.0)).abs() < 0.07, "{}", slope(&dependent));
        let white = series(100_000, normal);
        assert!((slope(&white) + 1.0).abs() < 0.07, "{}", slope(&white));
    }

    #[test]
    fn mixed_noise_is_standard_normal_with_the_correlation_of_its_parts() {
        let d = 0.31;
        let share = 0.4;
        let mut noise = LongRange::new(d, 100, share, &mut Xoshiro256PlusPlus::new(1));
        let series = series(200_000, |random| noise.draw(random));
        assert!((covariance(&series, 0) - 1.0).abs() < 0.03, "{}", covariance(&series, 0));
        // Neighbouring sums share one of their two values, so the dependent part has the
        // correlation (2 ρ(1) + 1 + ρ(2)) / (2 + 2 ρ(1)).
        let rho1 = d / (1.0 - d);
        let rho2 = d * (1.0 + d) / ((1.0 - d) * (2.0 - d));
        let expected = (1.0 - share) * (1.0 + 2.0 * rho1 + rho2) / (2.0 + 2.0 * rho1);
        assert!((covariance(&series, 1) - expected).abs() < 0.03, "{} {expected}", covariance(&series, 1));
        let above = series.iter().filter(|value| **value > 1.0).count() as f64 / series.len() as f64;
        // A standard normal value is above 1 with probability 0.1587.
        assert!((above - 0.1587).abs() < 0.01, "{above}");
    }
}
