//! How the rate of a line changes while it is in use.

use std::fmt::Write as _;

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
    /// Returns the rate of a link as a value in a scenario file: that of this run, for
    /// `duration_s`.
    pub(crate) fn rate(&self, mean_bps: u64, duration_s: f64, seed: u64) -> String {
        let (every_s, next): (f64, &dyn Fn(f64, f64) -> f64) = match self {
            Self::Steady => return format!("\"{mean_bps}bit\""),
            Self::Walk { per_second, bounds } => (WALK_S, &move |now, random| {
                // A uniform step with the variance of a tenth of a second.
                let step = (random - 0.5) * per_second * (12.0 * WALK_S).sqrt();
                reflected(now + step, *bounds)
            }),
            Self::Steps { every_s, bounds } => {
                (*every_s, &move |_, random| bounds[0] + random * (bounds[1] - bounds[0]))
            }
        };
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let (mut share, mut at, mut steps) = (1.0, 0.0, String::new());
        while at < duration_s {
            share = next(share, random(&mut state));
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                clippy::cast_precision_loss,
                reason = "a rate of a line, above 0"
            )]
            let bps = (mean_bps as f64 * share) as u64;
            // Writing to a string cannot fail.
            let _ = write!(steps, "[\"{at:.1}s\", \"{bps}bit\"], ");
            at += every_s;
        }
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
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    let fraction = ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64;
    fraction
}

/// Time between two steps of a random walk.
const WALK_S: f64 = 0.1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_stays_between_its_bounds_and_differs_between_seeds() {
        let walk = Variation::Walk { per_second: 0.5, bounds: [0.25, 2.0] };
        let [one, other] = [1, 2].map(|seed| walk.rate(1_000_000, 60.0, seed));
        assert_ne!(one, other);
        assert_eq!(one, walk.rate(1_000_000, 60.0, 1));
        let rates = one.split("\", \"").skip(1).map(|rest| rest.split("bit").next().unwrap());
        let rates: Vec<f64> = rates.map(|rate| rate.parse().unwrap()).collect();
        assert_eq!(rates.len(), 600);
        assert!(rates.iter().all(|rate| (250_000.0..=2_000_000.0).contains(rate)), "{rates:?}");
    }
}
