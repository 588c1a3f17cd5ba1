//! How the rate of a line changes while it is in use.

/// How the rate of a line changes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Variation {
    /// Not at all.
    Steady,
    /// A random walk around the mean rate, reflected at the bounds, in steps of 100 ms.
    Walk {
        /// Standard deviation after one second, relative to the mean rate.
        per_second: f64,
        /// Lowest and highest rate, relative to the mean rate.
        bounds: [f64; 2],
    },
    /// A new rate at equal intervals, uniform between the bounds.
    Steps {
        /// Time between two changes in seconds.
        every_s: f64,
        /// Lowest and highest rate, relative to the mean rate.
        bounds: [f64; 2],
    },
}

impl Variation {
    /// Returns the rates of a link in bit/s and the seconds from which they hold, for one run of
    /// `duration_s` seconds.
    #[must_use]
    pub fn rates(&self, mean_bps: u64, duration_s: f64, seed: u64) -> Vec<(f64, u64)> {
        let (every_s, next): (f64, &dyn Fn(f64, f64) -> f64) = match self {
            Self::Steady => return vec![(0.0, mean_bps)],
            Self::Walk { per_second, bounds } => (WALK_S, &move |now, random| {
                // A uniform step with the variance of a tenth of a second.
                let step = (random - 0.5) * per_second * (12.0 * WALK_S).sqrt();
                reflected(now + step, *bounds)
            }),
            Self::Steps { every_s, bounds } => {
                (*every_s, &move |_, random| bounds[0] + random * (bounds[1] - bounds[0]))
            }
        };
        // Without mixing, the next seed would give the same numbers, one step later.
        let mut state = mixed(seed);
        let (mut share, mut at, mut rates) = (1.0, 0.0, Vec::new());
        while at < duration_s {
            share = next(share, random(&mut state));
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                clippy::cast_precision_loss,
                reason = "a rate of a line, above 0"
            )]
            rates.push((at, (mean_bps as f64 * share) as u64));
            #[expect(clippy::cast_precision_loss, reason = "few steps")]
            let steps = rates.len() as f64;
            at = steps * every_s;
        }
        rates
    }

    /// Returns the rate of a link as a value in a scenario file: that of this run, for
    /// `duration_s`.
    pub(crate) fn rate(&self, mean_bps: u64, duration_s: f64, seed: u64) -> String {
        if *self == Self::Steady {
            return format!("\"{mean_bps}bit\"");
        }
        let rates = self.rates(mean_bps, duration_s, seed);
        let steps: String = rates.iter().map(|(at, bps)| format!("[\"{at:.1}s\", \"{bps}bit\"], ")).collect();
        format!("{{ schedule = [{steps}] }}")
    }
}

/// Mirrors a value at the bounds.
fn reflected(value: f64, [low, high]: [f64; 2]) -> f64 {
    if value < low {
        (2.0 * low - value).min(high)
    } else if value > high {
        (2.0 * high - value).max(low)
    } else {
        value
    }
}

/// Returns a number from 0 to 1: SplitMix64 (Steele, Lea & Flood 2014).
fn random(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    let fraction = (mixed(*state) >> 11) as f64 / (1_u64 << 53) as f64;
    fraction
}

/// The mixing function of SplitMix64.
fn mixed(state: u64) -> u64 {
    let mut mixed = state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// Time between two steps of a random walk.
const WALK_S: f64 = 0.1;

#[cfg(test)]
mod tests {
    use super::*;

    /// The rates towards the home and the Internet, and those of the search and the verification,
    /// have neighbouring seeds.
    #[test]
    fn walks_of_neighbouring_seeds_have_nothing_in_common() {
        let walk = Variation::Walk { per_second: 0.5, bounds: [0.25, 2.0] };
        let steps = |seed| {
            let rates = walk.rates(1_000_000, 60.0, seed);
            rates
                .windows(2)
                .map(|pair| pair[1].1.cast_signed() - pair[0].1.cast_signed())
                .collect::<Vec<i64>>()
        };
        for seed in 1..20 {
            let (one, other) = (steps(seed), steps(seed + 1));
            for late in 0..3 {
                let equal = one.iter().zip(&other[late..]).filter(|(one, other)| one == other).count()
                    + one[late..].iter().zip(&other).filter(|(one, other)| one == other).count();
                assert!(equal < 10, "seeds {seed} and {}, {late} steps apart: {equal}", seed + 1);
            }
        }
    }

    #[test]
    fn a_walk_stays_between_its_bounds_and_differs_between_seeds() {
        let walk = Variation::Walk { per_second: 0.5, bounds: [0.25, 2.0] };
        let [one, other] = [1, 2].map(|seed| walk.rates(1_000_000, 60.0, seed));
        assert_ne!(one, other);
        assert_eq!(one, walk.rates(1_000_000, 60.0, 1));
        assert_eq!(one.len(), 600);
        assert!(one.iter().all(|(_, bps)| (250_000..=2_000_000).contains(bps)), "{one:?}");
    }
}
