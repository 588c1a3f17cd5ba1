//! The work of a link: the bits that it sent and the bits that it could have sent, exact to a
//! fraction of a bit.

use goodqueue::{Duration, Rate};

/// An amount of work. The unit is the work of 1 bit/s in 1 ns, so a half-sent packet needs no
/// rounding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct Work(u128);

impl Work {
    /// No work.
    pub const ZERO: Self = Self(0);

    /// Returns the work of this number of bytes.
    #[must_use]
    pub const fn of_bytes(bytes: u64) -> Self {
        Self(bytes as u128 * 8_000_000_000)
    }

    /// Returns the work of this number of units.
    #[must_use]
    pub const fn of_units(units: u64) -> Self {
        Self(units as u128)
    }

    /// Returns the work of `rate` in `span`.
    #[must_use]
    pub const fn at(rate: Rate, span: Duration) -> Self {
        // The product of two numbers of 64 bits always fits.
        Self(rate.as_bps() as u128 * span.as_nanos() as u128)
    }

    /// Returns the work in bits.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "results are given in floating point")]
    pub const fn bits(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Returns the rate in bits per second that does this work in `span`; 0 if `span` is zero.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "results are given in floating point")]
    pub const fn per_second(self, span: Duration) -> f64 {
        if span.is_zero() { 0.0 } else { self.0 as f64 / span.as_nanos() as f64 }
    }

    /// Returns the work as a share of `whole`; `None` if `whole` is zero.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "results are given in floating point")]
    pub fn share_of(self, whole: Self) -> Option<f64> {
        (whole.0 > 0).then(|| self.0 as f64 / whole.0 as f64)
    }

    /// Returns the sum, or the most work that can be named.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// Returns the difference, or no work.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

/// The state of a link's work at some instant, in addition to the bytes whose transmission it has
/// begun.
#[derive(Clone, Copy, Default, Debug)]
pub struct Progress {
    /// Part of those bytes that is still to be sent.
    pub unsent: Work,
    /// Work that the link could have sent since the start of the run.
    pub capacity: Work,
}
