//! Probabilities as Linux has them, and draws that depend on the last one.

use crate::random::{Random as _, Source};

/// A fraction, as given and in tc's units, where 2^32 - 1 is 1.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Share {
    pub(super) fraction: f64,
    pub(super) scaled: u32,
}

/// How often something happens, and how much that depends on whether it did the last time.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Chance {
    pub(super) share: Share,
    pub(super) correlation: Share,
}

impl Share {
    pub(super) fn new(fraction: f64) -> Self {
        Self { fraction, scaled: scale(fraction) }
    }

    pub(super) const fn is_zero(self) -> bool {
        self.scaled == 0
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the conversion saturates, and a fraction is between 0 and 1"
)]
fn scale(fraction: f64) -> u32 {
    (fraction * f64::from(u32::MAX) + 0.5) as u32
}

/// A number from a source that remembers: the larger the correlation, the closer to the last one.
pub(super) fn correlated(random: &mut Source, last: &mut Option<u32>, correlation: Share) -> u32 {
    if correlation.is_zero() {
        return random.next_u32();
    }
    let before = last.unwrap_or_else(|| random.next_u32());
    let drawn = u64::from(random.next_u32());
    let rho = u64::from(correlation.scaled) + 1;
    let mixed = u128::from(drawn) * u128::from((1 << 32) - rho) + u128::from(before) * u128::from(rho);
    let answer = u32::try_from(mixed >> 32).unwrap_or(u32::MAX);
    *last = Some(answer);
    answer
}

/// Returns true with probability `chance`. Does not draw if the probability is 0.
pub(super) fn happens(random: &mut Source, last: &mut Option<u32>, chance: &Chance) -> bool {
    !chance.share.is_zero() && chance.share.scaled >= correlated(random, last, chance.correlation)
}
