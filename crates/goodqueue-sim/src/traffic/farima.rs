//! Long-range dependent Gaussian noise: fractionally differenced noise, FARIMA(0, d, 0), with white noise added.
//!
//! The noise is drawn from its autoregressive form, whose coefficients the Durbin-Levinson recursion gives (Hosking,
//! "Modeling persistence in hydrological time series using fractional differencing", Water Resources Research 20(12),
//! 1984). The first draws use as many coefficients as there are draws before them, which is exact: there is nothing to
//! wait for until the process is stationary. From some number of coefficients on they are kept.

use goodqueue::random::Xoshiro256PlusPlus;

use super::distribution::normal;

/// Fractionally differenced noise: mean 0, innovations of variance 1.
#[derive(Clone, Debug)]
pub(super) struct Farima {
    d: f64,
    /// Coefficients kept.
    terms: usize,
    /// Coefficients of the draws before, the last one first.
    phi: Vec<f64>,
    /// Variance of what the coefficients do not explain.
    variance: f64,
    /// The draws, from the last one backwards, begin at `newest`; twice as long as needed, so that they are moved seldom.
    history: Vec<f64>,
    newest: usize,
}

impl Farima {
    /// A process with this parameter `d`, 0 <= d < 0.5, that keeps so many coefficients.
    pub(super) fn new(d: f64, terms: usize) -> Self {
        let terms = terms.max(1);
        Self {
            d,
            terms,
            phi: Vec::new(),
            variance: variance(d),
            history: vec![0.0; 2 * terms],
            newest: 2 * terms,
        }
    }

    /// The next value.
    pub(super) fn draw(&mut self, random: &mut Xoshiro256PlusPlus) -> f64 {
        let known = self.phi.len();
        let value = dot(&self.phi, &self.history[self.newest..]) + self.variance.sqrt() * normal(random);
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

    /// One coefficient more.
    #[expect(clippy::cast_precision_loss, reason = "some thousands of coefficients")]
    fn learn(&mut self) {
        let last = self.d / ((self.phi.len() + 1) as f64 - self.d);
        // Each pair from both ends needs the other one's former value.
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

/// Sum of the products, in eight sums side by side that processors add at once. The order is fixed, and so is the result.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    const LANES: usize = 8;
    let b = &b[..a.len()];
    let mut sums = [0.0; LANES];
    let (mut left, mut right) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    for (x, y) in left.by_ref().zip(right.by_ref()) {
        for lane in 0..LANES {
            sums[lane] += x[lane] * y[lane];
        }
    }
    let rest: f64 = left.remainder().iter().zip(right.remainder()).map(|(x, y)| x * y).sum();
    sums.iter().sum::<f64>() + rest
}

/// Variance of the process: Γ(1-2d) / Γ(1-d)² (Hosking 1984).
fn variance(d: f64) -> f64 {
    libm::exp(libm::lgamma(1.0 - 2.0 * d) - 2.0 * libm::lgamma(1.0 - d))
}

/// Standard normal values of which neighbours depend on each other, and those far apart still do: sums of two neighbours
/// in fractionally differenced noise, and white noise (Cao et al. 2004).
#[derive(Clone, Debug)]
pub(super) struct LongRange {
    noise: Farima,
    before: f64,
    /// Weights of the dependent part and of the white noise.
    dependent: f64,
    white: f64,
}

impl LongRange {
    /// With the parameter `d`, of which so many coefficients are kept, and this share of the variance in white noise.
    pub(super) fn new(d: f64, terms: usize, share_of_white: f64, random: &mut Xoshiro256PlusPlus) -> Self {
        let mut noise = Farima::new(d, terms);
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

    /// The next value.
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

    /// Mean of the products of values so far apart; the process has mean 0.
    fn covariance(series: &[f64], lag: usize) -> f64 {
        let products = series.iter().zip(&series[lag..]).map(|(a, b)| a * b);
        products.sum::<f64>() / (series.len() - lag) as f64
    }

    #[test]
    fn the_recursion_gives_the_coefficients_of_hosking() {
        // φ(n, j) = -C(n, j) Γ(j-d) Γ(n-d-j+1) / (Γ(-d) Γ(n-d+1)), Hosking 1984; here for n = 2 and n = 3.
        let d = 0.3;
        let mut noise = Farima::new(d, 3);
        for expected in [vec![], vec![d / (1.0 - d)]] {
            assert_eq!(noise.phi.len(), expected.len());
            assert!(noise.phi.iter().zip(&expected).all(|(a, b): (&f64, &f64)| (a - b).abs() < 1e-12));
            noise.learn();
        }
        let closed = |n: i32, j: i32| {
            let choose =
                f64::from([1, 2, 1, 0, 1, 3, 3, 1][usize::try_from(4 * (n - 2) + j).expect("small")]);
            let (n, j) = (f64::from(n), f64::from(j));
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
        // γ(0) = Γ(1-2d)/Γ(1-d)², ρ(1) = d/(1-d), ρ(2) = d(1+d)/((1-d)(2-d)). Means of long-range dependent values
        // converge slowly, so many short runs are taken: all are stationary.
        let d = 0.33;
        let (gamma, rho1) = (variance(d), d / (1.0 - d));
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
        // Means over m values have a variance in proportion to m^(2d-1) = m^(2H-2), H = d + 1/2, where independent
        // values have m^-1.
        let slope = |series: &[f64]| {
            let of_means = |m: usize| {
                let means: Vec<f64> =
                    series.chunks_exact(m).map(|chunk| chunk.iter().sum::<f64>() / m as f64).collect();
                covariance(&means, 0)
            };
            (of_means(128) / of_means(8)).ln() / 16_f64.ln()
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
        let (d, share) = (0.31, 0.4);
        let mut noise = LongRange::new(d, 100, share, &mut Xoshiro256PlusPlus::new(1));
        let series = series(200_000, |random| noise.draw(random));
        assert!((covariance(&series, 0) - 1.0).abs() < 0.03, "{}", covariance(&series, 0));
        // Neighbours share one of their two values: (2 ρ(1) + 1 + ρ(2)) / (2 + 2 ρ(1)) of the dependent part.
        let (rho1, rho2) = (d / (1.0 - d), d * (1.0 + d) / ((1.0 - d) * (2.0 - d)));
        let expected = (1.0 - share) * (1.0 + 2.0 * rho1 + rho2) / (2.0 + 2.0 * rho1);
        assert!((covariance(&series, 1) - expected).abs() < 0.03, "{} {expected}", covariance(&series, 1));
        let above = series.iter().filter(|value| **value > 1.0).count() as f64 / series.len() as f64;
        assert!((above - 0.1587).abs() < 0.01, "{above}");
    }
}
