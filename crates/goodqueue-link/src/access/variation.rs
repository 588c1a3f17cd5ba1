//! How the rate of an access line changes.

use alloc::vec;
use alloc::vec::Vec;

use goodqueue::hash::mix_64;
use goodqueue::{Instant, Rate};

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
        /// Time between two changes in seconds. A time below a millisecond counts as a
        /// millisecond.
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
                let step = (random - 0.5) * per_second * WIDTH;
                reflected(now + step, *bounds)
            }),
            Self::Steps { every_s, bounds } => {
                // A time of zero, a negative one and one that is no number would never reach the
                // end of the run.
                (every_s.max(LEAST_STEP_S), &move |_, random| bounds[0] + random * (bounds[1] - bounds[0]))
            }
        };
        // Without mixing, the next seed would give the same numbers, one step later.
        let mut state = mix_64(seed);
        let mut share = 1.0;
        let mut at = 0.0;
        let mut rates = Vec::new();
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
            // A product, because a sum would add up the rounding of every step.
            at = steps * every_s;
        }
        rates
    }

    /// Returns the same as a schedule for a link.
    #[must_use]
    pub fn schedule(&self, mean: Rate, duration_s: f64, seed: u64) -> Vec<(Instant, Rate)> {
        let rates = self.rates(mean.as_bps(), duration_s, seed).into_iter();
        rates
            .map(|(at_s, bps)| {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a time of a run"
                )]
                let at = Instant::from_nanos((at_s * 1e9) as u64);
                (at, Rate::from_bps(bps))
            })
            .collect()
    }
}

/// Mirrors a value at the bounds.
fn reflected(value: f64, [low, high]: [f64; 2]) -> f64 {
    if value < low {
        // A step may be wider than the room between the bounds.
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
    let fraction = (mix_64(*state) >> 11) as f64 / (1_u64 << 53) as f64;
    fraction
}

/// Shortest time between two rates of [`Variation::Steps`].
const LEAST_STEP_S: f64 = 0.001;
/// Time between two steps of a random walk.
const WALK_S: f64 = 0.1;
/// The square root of `12.0 * WALK_S`, which the standard library computes and `core` does not: the
/// width of a uniform distribution with the variance of one step.
const WIDTH: f64 = 1.095_445_115_010_332_4;

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;

    #[test]
    fn the_step_is_the_root_that_the_standard_library_computes() {
        assert_eq!(WIDTH.to_bits(), (12.0 * WALK_S).sqrt().to_bits());
    }

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
            let one = steps(seed);
            let other = steps(seed + 1);
            for late in 0..3 {
                let equal = one.iter().zip(&other[late..]).filter(|(one, other)| one == other).count()
                    + one[late..].iter().zip(&other).filter(|(one, other)| one == other).count();
                assert!(equal < 10, "seeds {seed} and {}, {late} steps apart: {equal}", seed + 1);
            }
        }
    }

    #[test]
    fn steps_without_a_time_between_them_end() {
        for every_s in [0.0, -15.0, f64::MIN_POSITIVE, f64::NAN, 0.001] {
            let steps = Variation::Steps { every_s, bounds: [0.5, 1.5] };
            assert_eq!(steps.rates(1_000_000, 2.0, 1).len(), 2000, "{every_s}");
        }
        let never = Variation::Steps { every_s: f64::INFINITY, bounds: [0.5, 1.5] };
        assert_eq!(never.rates(1_000_000, 2.0, 1).len(), 1);
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
