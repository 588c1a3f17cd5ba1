//! Whole bytes of a window that is computed with fractions.

/// Returns the whole part of `value`, within the range of a `u64`.
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates at 0 and u64::MAX"
)]
#[must_use]
pub fn whole(value: f64) -> u64 {
    value as u64
}
