//! Tables of distributions, as standard deviations from the mean: entry `i` of `n` is the quantile at `(i + 1/2) / n`.
//!
//! They are computed when this is compiled, by additions, multiplications and divisions alone, so that they are the same
//! everywhere.

/// One standard deviation.
pub(super) const ONE: i64 = 8192;
const SIZE: usize = 4096;

/// The normal distribution.
pub(super) static NORMAL: [i32; SIZE] = scaled(&normal());
/// The Pareto distribution of shape 3: `1 - x^-3` from 1 on, mean 3/2, variance 3/4.
pub(super) static PARETO: [i32; SIZE] = scaled(&pareto());
/// Three parts of the Pareto and one of the normal distribution, quantile by quantile.
pub(super) static PARETO_NORMAL: [i32; SIZE] = {
    let (mut mixed, normal) = (pareto(), normal());
    let mut index = 0;
    while index < SIZE {
        mixed[index] = 0.75 * mixed[index] + 0.25 * normal[index];
        index += 1;
    }
    scaled(&mixed)
};

#[expect(clippy::cast_possible_truncation, reason = "a few dozen deviations at most")]
const fn scaled(quantiles: &[f64; SIZE]) -> [i32; SIZE] {
    let mut table = [0; SIZE];
    let mut index = 0;
    while index < SIZE {
        let wide = quantiles[index] * ONE as f64;
        table[index] = (if wide < 0.0 { wide - 0.5 } else { wide + 0.5 }) as i32;
        index += 1;
    }
    table
}

/// The density is summed up from the middle outwards in small steps.
const fn normal() -> [f64; SIZE] {
    const STEP: f64 = 1.0 / 2048.0;
    // 1 / sqrt(2 pi)
    const PEAK: f64 = 0.398_942_280_401_432_7;
    // The density at x + h is that at x times e^(-h x - h^2/2); this factor shrinks by e^(-h^2) per step.
    let shrink = exp_of_small(-STEP * STEP);
    let mut factor = exp_of_small(-STEP * STEP / 2.0);
    let (mut x, mut density, mut sum) = (0.0, PEAK, 0.0);
    let mut table = [0.0; SIZE];
    let mut index = SIZE / 2;
    while index < SIZE {
        let wanted = (index as f64 + 0.5) / SIZE as f64 - 0.5;
        loop {
            let next = density * factor;
            let part = (density + next) / 2.0 * STEP;
            if sum + part >= wanted {
                table[index] = x + STEP * (wanted - sum) / part;
                table[SIZE - 1 - index] = -table[index];
                break;
            }
            sum += part;
            density = next;
            factor *= shrink;
            x += STEP;
        }
        index += 1;
    }
    table
}

/// `(1 - u)^(-1/3)`, less the mean, over the deviation.
const fn pareto() -> [f64; SIZE] {
    // sqrt(3) / 2
    const DEVIATION: f64 = 0.866_025_403_784_438_6;
    let mut table = [0.0; SIZE];
    let mut root = 1.0;
    let mut index = 0;
    while index < SIZE {
        let cube = 1.0 / (1.0 - (index as f64 + 0.5) / SIZE as f64);
        // Newton's iteration from the root before; the last few are far apart.
        let mut step = 0;
        while step < 12 {
            root = (2.0 * root + cube / (root * root)) / 3.0;
            step += 1;
        }
        table[index] = (root - 1.5) / DEVIATION;
        index += 1;
    }
    table
}

const fn exp_of_small(x: f64) -> f64 {
    1.0 + x * (1.0 + x / 2.0 * (1.0 + x / 3.0 * (1.0 + x / 4.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean and standard deviation, in deviations.
    fn moments(table: &[i32; SIZE]) -> (f64, f64) {
        let of = |power: i32| {
            table.iter().map(|entry| (f64::from(*entry) / ONE as f64).powi(power)).sum::<f64>() / SIZE as f64
        };
        let mean = of(1);
        (mean, (of(2) - mean * mean).sqrt())
    }

    #[test]
    fn quantiles_of_the_normal_distribution_are_those_of_the_books() {
        // 4096 times 0.5, 0.841, 0.977, 0.99865 and 0.025.
        for (place, deviations) in [(2048, 0.0), (3446, 1.0), (4002, 2.0), (4090, 3.0), (102, -1.96)] {
            let here = f64::from(NORMAL[place]) / ONE as f64;
            assert!((here - deviations).abs() < 0.03, "{place}: {here} for {deviations}");
        }
        let (mean, deviation) = moments(&NORMAL);
        assert!(mean.abs() < 1e-3 && (deviation - 1.0).abs() < 2e-3, "{mean} {deviation}");
    }

    #[test]
    fn pareto_has_a_mean_of_nothing_no_left_tail_and_a_long_right_one() {
        let (mean, deviation) = moments(&PARETO);
        // Half of the variance beyond 4096 quantiles is missing.
        assert!(mean.abs() < 0.01 && (0.9..1.0).contains(&deviation), "{mean} {deviation}");
        assert_eq!(PARETO[0], -4729, "the least is 1: half below the mean, over 0.866");
        assert!(PARETO[SIZE - 1] > 20 * 8192);
        assert_eq!(PARETO_NORMAL[10], (PARETO[10] * 3 + NORMAL[10] + 2) / 4);
    }

    #[test]
    fn every_table_rises() {
        for table in [&NORMAL, &PARETO, &PARETO_NORMAL] {
            assert!(table.windows(2).all(|pair| pair[0] <= pair[1]));
        }
    }
}
