//! Probabilities in Linux's units, and random draws that depend on the previous draw.

use crate::config::{Setting, Unit, Value};
use crate::random::{Random as _, Source};

/// A fraction, for instance of the packets.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Share {
    /// The fraction as the user gave it, from 0 to 1.
    pub(super) fraction: f64,
    /// The fraction in tc's units, where 2^32 - 1 is 1.
    pub(super) scaled: u32,
}

/// How often something happens to a packet.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Chance {
    /// Share of the packets to which it happens.
    pub(super) share: Share,
    /// How much a draw depends on the previous draw.
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

impl Setting for Share {
    fn from_value(value: &Value) -> Option<Self> {
        f64::from_value(value).map(Self::new)
    }

    fn into_value(self, unit: Unit) -> Value {
        self.fraction.into_value(unit)
    }
}

/// Converts a fraction to tc's units.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the conversion saturates, and a fraction is between 0 and 1"
)]
fn scale(fraction: f64) -> u32 {
    // tc rounds with `rint()`.
    (fraction * f64::from(u32::MAX) + 0.5) as u32
}

/// Draws a number that depends on the one in `last`, and stores it there. The larger the
/// correlation, the closer the two are.
pub(super) fn correlated(random: &mut Source, last: &mut Option<u32>, correlation: Share) -> u32 {
    if correlation.is_zero() {
        return random.next_u32();
    }
    // Linux `init_crandom()` draws the first of the correlated numbers, too.
    let before = last.unwrap_or_else(|| random.next_u32());
    let drawn = u64::from(random.next_u32());
    // As in Linux `get_crandom()`, 2^32 - 1 is a full correlation.
    let rho = u64::from(correlation.scaled) + 1;
    let mixed = u128::from(drawn) * u128::from((1 << 32) - rho) + u128::from(before) * u128::from(rho);
    let answer = u32::try_from(mixed >> 32).unwrap_or(u32::MAX);
    *last = Some(answer);
    answer
}

/// Returns true with probability `chance`. Does not draw if the probability is 0.
pub(super) fn happens(random: &mut Source, last: &mut Option<u32>, chance: &Chance) -> bool {
    // `>=`, so that 2^32 - 1 always happens (Linux `loss_event()`).
    !chance.share.is_zero() && chance.share.scaled >= correlated(random, last, chance.correlation)
}
