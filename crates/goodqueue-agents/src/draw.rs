//! Seeds of lines, and the drawing of their properties.
//!
//! Draws use integers and the portable library `libm`, so a seed gives the same line on every
//! machine.

use goodqueue::random::{Random as _, Xoshiro256PlusPlus};
use goodqueue::{Duration, Rate};
use goodqueue_tc::diagnostic::{Diagnostic, unknown};

/// The lines that a seed selects: those to learn from, or those to judge with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Split {
    /// Lines to learn from.
    #[default]
    Training,
    /// Lines that an agent never sees while it learns. No seed gives a line of [`Self::Training`].
    HeldOut,
}

impl Split {
    /// All splits.
    pub const ALL: [Self; 2] = [Self::Training, Self::HeldOut];

    /// Returns the name: `training` or `held_out`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Training => "training",
            Self::HeldOut => "held_out",
        }
    }

    /// Returns the split of this name.
    ///
    /// # Errors
    /// There is no such split.
    pub fn by_name(name: &str) -> Result<Self, Diagnostic> {
        let known = Self::ALL.into_iter().find(|split| split.name() == name);
        known.ok_or_else(|| unknown("split", name, &Self::ALL.map(Self::name)))
    }

    /// Returns the generator from which the line of this seed is drawn. Both splits have random
    /// streams of their own.
    #[must_use]
    pub fn generator(self, seed: u64) -> Xoshiro256PlusPlus {
        Xoshiro256PlusPlus::stream(seed, self as u64)
    }
}

/// Draws uniformly from 0 to 1, without 1.
#[expect(clippy::cast_precision_loss, reason = "the upper 53 bits are exact")]
pub(crate) fn unit(random: &mut Xoshiro256PlusPlus) -> f64 {
    // 53 bits over 2^53: as many as an f64 holds exactly.
    (random.next_u64() >> 11) as f64 / 9_007_199_254_740_992.0
}

/// Draws between the bounds, so that each ratio is equally likely.
pub(crate) fn log_uniform(random: &mut Xoshiro256PlusPlus, [low, high]: [f64; 2]) -> f64 {
    let share = unit(random);
    // No ratio leads to 0, so a range from 0 is uniform.
    if low > 0.0 { low * libm::pow(high / low, share) } else { low + (high - low) * share }
}

/// Draws a rate.
#[expect(clippy::cast_precision_loss, reason = "rates are far below 2^53 bit/s")]
pub(crate) fn rate(random: &mut Xoshiro256PlusPlus, range: [Rate; 2]) -> Rate {
    Rate::from_bps(whole(log_uniform(random, range.map(|rate| rate.as_bps() as f64))))
}

/// Draws a span of time.
#[expect(clippy::cast_precision_loss, reason = "spans are far below 2^53 ns")]
pub(crate) fn time(random: &mut Xoshiro256PlusPlus, range: [Duration; 2]) -> Duration {
    Duration::from_nanos(whole(log_uniform(random, range.map(|span| span.as_nanos() as f64))))
}

/// Draws uniformly from the whole numbers between the bounds, which belong to the range.
pub(crate) fn count(random: &mut Xoshiro256PlusPlus, [low, high]: [u32; 2]) -> u32 {
    // The ranges of lines are far below the largest number, so nothing saturates here.
    low + random.below(high.saturating_sub(low).saturating_add(1))
}

/// Returns the number without its fraction, within the range of the type.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates, and NaN is 0")]
pub(crate) const fn whole(number: f64) -> u64 {
    number as u64
}

/// Returns the product of a span and a factor.
#[expect(clippy::cast_precision_loss, reason = "spans are far below 2^53 ns")]
pub(crate) fn scaled(span: Duration, factor: f64) -> Duration {
    Duration::from_nanos(whole(span.as_nanos() as f64 * factor))
}

/// Returns a span in seconds.
#[expect(clippy::cast_precision_loss, reason = "spans are far below 2^53 ns")]
pub(crate) const fn seconds(span: Duration) -> f64 {
    span.as_nanos() as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_seed_gives_the_same_line_in_both_splits() {
        for seed in 0..1000 {
            let mut draws = Split::ALL.map(|split| split.generator(seed));
            let [training, held_out] = &mut draws;
            assert_ne!(training.next_u64(), held_out.next_u64());
        }
    }

    #[test]
    fn draws_stay_in_their_ranges_and_reach_every_octave() {
        let mut random = Split::Training.generator(1);
        let mut octaves = [0; 5];
        for _ in 0..5000 {
            let value = log_uniform(&mut random, [2.0, 64.0]);
            assert!((2.0..64.0).contains(&value));
            octaves[usize::try_from(libm::ilogb(value / 2.0)).expect("2 or more")] += 1;
            assert!((1..=8).contains(&count(&mut random, [1, 8])));
        }
        // 1000 are expected in each, and the bounds are 3.5 standard deviations away.
        assert!(octaves.iter().all(|&count| (900..1100).contains(&count)), "{octaves:?}");
    }

    #[test]
    fn an_unknown_split_is_refused_with_the_known_ones() {
        let message = Split::by_name("heldout").unwrap_err().to_string();
        assert!(message.contains("training, held_out") && message.contains("did you mean"), "{message}");
    }
}
