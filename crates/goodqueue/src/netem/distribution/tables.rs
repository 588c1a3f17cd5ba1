//! Tables of distributions, in 8192nds of the deviation from the mean: entry by entry those that tc
//! hands to Linux.
//!
//! They are computed when this is compiled, by additions, multiplications and divisions alone, so
//! that they are the same everywhere.

/// One standard deviation.
pub(super) const ONE: i64 = 8192;
// As many as in tc's tables.
const SIZE: usize = 4096;
/// tc's tables have 16 bits an entry.
const MOST: i32 = i16::MAX as i32;

/// The normal distribution.
pub(super) static NORMAL: [i16; SIZE] = narrow(normal());
/// The Pareto distribution of shape 3.
pub(super) static PARETO: [i16; SIZE] = narrow(pareto());
/// Three parts of the Pareto and one of the normal distribution, quantile by quantile.
pub(super) static PARETO_NORMAL: [i16; SIZE] = {
    let mut mixed = pareto();
    let normal = normal();
    let mut index = 0;
    while index < SIZE {
        mixed[index] = (3 * mixed[index] + normal[index]) / 4;
        index += 1;
    }
    narrow(mixed)
};

#[expect(clippy::cast_possible_truncation, reason = "an entry below the least of 16 bits becomes that")]
const fn narrow(wide: [i32; SIZE]) -> [i16; SIZE] {
    let mut table = [0; SIZE];
    let mut index = 0;
    while index < SIZE {
        table[index] = if wide[index] < i16::MIN as i32 { i16::MIN } else { wide[index] as i16 };
        index += 1;
    }
    table
}

/// Entry `i` is the quantile at `(i + 1/8) / 4096`, an eighth of the way into its share of the
/// probability, rounded down to a whole number of 20,000ths of a deviation.
const fn normal() -> [i32; SIZE] {
    let mut table = [0; SIZE];
    let mut above = Walk::new();
    let mut below = Walk::new();
    let mut index = 0;
    while index < SIZE / 2 {
        let up = above.to((index as f64 + 0.125) / SIZE as f64);
        let down = below.to((index as f64 + 0.875) / SIZE as f64);
        table[SIZE / 2 + index] = rounded(floor(up * GRAIN) / GRAIN * ONE as f64);
        table[SIZE / 2 - 1 - index] = rounded(floor(-down * GRAIN) / GRAIN * ONE as f64);
        index += 1;
    }
    table
}

/// A walk along the normal density, from the middle outwards.
struct Walk {
    x: f64,
    density: f64,
    /// The probability of what lies between the middle and `x`.
    passed: f64,
}

impl Walk {
    // Fine enough for entries equal to tc's, which a checksum in the tests compares.
    const STEP: f64 = 1.0 / 512.0;

    const fn new() -> Self {
        // 1 / sqrt(2 pi)
        Self { x: 0.0, density: 0.398_942_280_401_432_7, passed: 0.0 }
    }

    /// The probability of the next `t`, by the Taylor series of the integral.
    const fn ahead(&self, t: f64) -> f64 {
        let x = self.x;
        let cubic = (x * x - 1.0) / 6.0;
        let quartic = -(x * x - 3.0) * x / 24.0;
        let quintic = ((x * x - 6.0) * x * x + 3.0) / 120.0;
        self.density * t * (1.0 + t * (-x / 2.0 + t * (cubic + t * (quartic + t * quintic))))
    }

    /// Where `probability` lies between the middle and that place; not less than at the call
    /// before.
    const fn to(&mut self, probability: f64) -> f64 {
        loop {
            let step = self.ahead(Self::STEP);
            if self.passed + step > probability {
                break;
            }
            self.passed += step;
            self.density *= exp_of_small(-Self::STEP * (self.x + Self::STEP / 2.0));
            self.x += Self::STEP;
        }
        // Newton's iteration; the density hardly changes within a step.
        let wanted = probability - self.passed;
        let mut t = 0.0;
        let mut turn = 0;
        while turn < 5 {
            let here = self.density * exp_of_small(-t * (self.x + t / 2.0));
            t += (wanted - self.ahead(t)) / here;
            turn += 1;
        }
        self.x + t
    }
}

/// Entry `i` is the quantile at `i / 4096`, less the mean of 3/2, over 3/4, which is the variance:
/// tc divides by that, so that the deviation is .87 of what it is called.
const fn pareto() -> [i32; SIZE] {
    let mut table = [0; SIZE];
    let mut root = 1.0;
    let mut index = 0;
    while index < SIZE {
        let cube = SIZE as f64 / (SIZE - index) as f64;
        // Newton's iteration from the root before; the last few are far apart.
        let mut turn = 0;
        while turn < 12 {
            root = (2.0 * root + cube / (root * root)) / 3.0;
            turn += 1;
        }
        let entry = rounded((root - 1.5) / 0.75 * ONE as f64);
        table[index] = if entry > MOST { MOST } else { entry };
        index += 1;
    }
    table
}

/// tc's grain of the normal distribution, per deviation.
const GRAIN: f64 = 20_000.0;

// The argument is at most a step times the outermost place, below 0.01, so that the terms left out
// are below the precision of `f64`.
const fn exp_of_small(x: f64) -> f64 {
    1.0 + x * (1.0 + x / 2.0 * (1.0 + x / 3.0 * (1.0 + x / 4.0 * (1.0 + x / 5.0 * (1.0 + x / 6.0)))))
}

#[expect(clippy::cast_possible_truncation, reason = "a few hundred thousand at most")]
const fn rounded(x: f64) -> i32 {
    (if x < 0.0 { x - 0.5 } else { x + 0.5 }) as i32
}

#[expect(clippy::cast_possible_truncation, reason = "a few hundred thousand at most")]
const fn floor(x: f64) -> f64 {
    let cut = x as i32 as f64;
    if cut > x { cut - 1.0 } else { cut }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean and standard deviation, in deviations.
    fn moments(table: &[i16; SIZE]) -> (f64, f64) {
        let of = |power: i32| {
            table.iter().map(|entry| (f64::from(*entry) / ONE as f64).powi(power)).sum::<f64>() / SIZE as f64
        };
        let mean = of(1);
        (mean, (of(2) - mean * mean).sqrt())
    }

    /// FNV-1a over the entries as numbers of 16 bits, the low byte first.
    fn checksum(table: &[i16; SIZE]) -> u64 {
        let bytes = table.iter().flat_map(|entry| entry.to_le_bytes());
        bytes.fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
    }

    #[test]
    fn every_entry_is_that_of_the_tables_of_iproute2() {
        // Of normal.dist, pareto.dist and paretonormal.dist of iproute2 6.1.
        assert_eq!([checksum(&NORMAL), checksum(&PARETO), checksum(&PARETO_NORMAL)], TC);
        let sampled = |table: &[i16; SIZE]| [0, 1, 1000, 2048, 3000, 4095].map(|index| table[index]);
        assert_eq!(sampled(&NORMAL), SAMPLES[0]);
        assert_eq!(sampled(&PARETO), SAMPLES[1]);
        assert_eq!(sampled(&PARETO_NORMAL), SAMPLES[2]);
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
    fn pareto_has_no_left_tail_and_less_than_the_deviation_it_is_called() {
        let (mean, deviation) = moments(&PARETO);
        assert!((-0.04..0.0).contains(&mean), "cut off at four deviations: {mean}");
        assert!((0.8..0.87).contains(&deviation), "{deviation}");
        assert_eq!(PARETO[0], -5461, "the least is 1: half below the mean, over 3/4");
    }

    #[test]
    fn every_table_rises() {
        for table in [&NORMAL, &PARETO, &PARETO_NORMAL] {
            assert!(table.windows(2).all(|pair| pair[0] <= pair[1]));
        }
    }

    const TC: [u64; 3] = [0x3f19_8b60_14c3_b3b8, 0x209e_1d3c_8618_19fa, 0x468c_e9c9_62a5_ecf9];
    const SAMPLES: [[i16; 6]; 3] = [
        [-32768, -28307, -5677, 0, 5081, 28858],
        [-5461, -5460, -4393, -2622, 566, 32767],
        [-12305, -11171, -4714, -1966, 1694, 31789],
    ];
}
