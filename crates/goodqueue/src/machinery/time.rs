//! Time and rate: integer nanoseconds and bits per second.
//!
//! Nothing in this crate reads a clock. Every call is told the time as an [`Instant`], whose origin
//! is the caller's business (start of the run, boot of the machine). All arithmetic saturates: no
//! time panics.

use core::fmt;
use core::ops::{Add, AddAssign, Sub};

/// A point in time, in nanoseconds since an origin that the caller chose.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Instant(u64);

/// A span of time in nanoseconds, never negative.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Duration(u64);

/// A rate in bits per second. Zero means "blocked".
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Rate(u64);

impl Instant {
    /// The origin of the caller's clock.
    pub const ZERO: Self = Self(0);
    /// The last instant that can be named, 584 years after the origin.
    pub const MAX: Self = Self(u64::MAX);

    /// The instant `nanos` nanoseconds after the origin.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the origin.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The span from `earlier` to `self`; zero if `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest span, 584 years.
    pub const MAX: Self = Self(u64::MAX);

    /// A span of `nanos` nanoseconds.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// A span of `micros` microseconds.
    #[must_use]
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros.saturating_mul(1_000))
    }

    /// A span of `millis` milliseconds.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// A span of `secs` seconds.
    #[must_use]
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1_000_000_000))
    }

    /// The span in nanoseconds.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// True for the empty span.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// `self - other`, or zero.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// `self * factor`, or the longest span.
    #[must_use]
    pub const fn saturating_mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

impl Rate {
    /// The highest rate.
    pub const MAX: Self = Self(u64::MAX);

    /// A rate of `bits` bits per second.
    #[must_use]
    pub const fn from_bps(bits: u64) -> Self {
        Self(bits)
    }

    /// The rate in bits per second.
    #[must_use]
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// Serialization delay of `bytes` at this rate, rounded down to the nanosecond.
    /// [`Duration::MAX`] at rate 0.
    #[must_use]
    pub const fn serialization(self, bytes: u32) -> Duration {
        if self.0 == 0 {
            return Duration::MAX;
        }
        // 2^32 bytes are less than 2^65 bit-nanoseconds, hence the wide product; but for packets it
        // fits in 64 bits and the narrow division is several times faster.
        if bytes < (1 << 30) {
            Duration(bytes as u64 * 8_000_000_000 / self.0)
        } else {
            let nanos = bytes as u128 * 8_000_000_000 / self.0 as u128;
            if nanos > u64::MAX as u128 { Duration::MAX } else { Duration(low_64(nanos)) }
        }
    }

    /// How many whole bytes this rate carries in `span`.
    #[must_use]
    pub const fn bytes_in(self, span: Duration) -> u64 {
        // The product of 20 Gbit/s and one second does not fit in 64 bits.
        let bytes = self.0 as u128 * span.0 as u128 / 8_000_000_000;
        if bytes > u64::MAX as u128 { u64::MAX } else { low_64(bytes) }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "both callers have compared with u64::MAX")]
const fn low_64(wide: u128) -> u64 {
    wide as u64
}

/// Durations above 584 years become [`Duration::MAX`].
impl From<core::time::Duration> for Duration {
    fn from(span: core::time::Duration) -> Self {
        Self(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Duration> for core::time::Duration {
    fn from(span: Duration) -> Self {
        Self::from_nanos(span.0)
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    fn add(self, span: Duration) -> Self {
        // No time of a caller may panic (rule 1 of the contract of disciplines).
        Self(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, span: Duration) {
        *self = *self + span;
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;
    fn sub(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

impl Add for Duration {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Duration {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// Written as tc writes times: the largest unit that needs no fraction (`5ms`, `100ms`, `1s`,
/// `17ns`).
impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("0s"),
            n if n % 1_000_000_000 == 0 => write!(f, "{}s", n / 1_000_000_000),
            n if n % 1_000_000 == 0 => write!(f, "{}ms", n / 1_000_000),
            n if n % 1_000 == 0 => write!(f, "{}us", n / 1_000),
            n => write!(f, "{n}ns"),
        }
    }
}

/// Written as tc writes rates: the largest SI unit that needs no fraction (`10mbit`, `1gbit`,
/// `64kbit`).
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("0bit"),
            n if n % 1_000_000_000 == 0 => write!(f, "{}gbit", n / 1_000_000_000),
            n if n % 1_000_000 == 0 => write!(f, "{}mbit", n / 1_000_000),
            n if n % 1_000 == 0 => write!(f, "{}kbit", n / 1_000),
            n => write!(f, "{n}bit"),
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::ToString;

    #[test]
    fn serialization_delay_rounds_down_and_never_divides_by_zero() {
        // A bit takes 100 ns.
        assert_eq!(Rate::from_bps(10_000_000).serialization(1514), Duration::from_nanos(1_211_200));
        assert_eq!(Rate::from_bps(0).serialization(1), Duration::MAX);
        assert_eq!(Rate::from_bps(1).serialization(u32::MAX), Duration::MAX);
        // Eight bits take 2.67 s.
        assert_eq!(Rate::from_bps(3).serialization(1), Duration::from_nanos(2_666_666_666));
    }

    #[test]
    fn time_saturates_at_both_ends() {
        assert_eq!(Instant::MAX + Duration::from_secs(1), Instant::MAX);
        assert_eq!(Instant::ZERO - Duration::from_secs(1), Instant::ZERO);
        assert_eq!(Instant::ZERO.since(Instant::MAX), Duration::ZERO);
    }

    #[test]
    fn durations_convert_to_those_of_the_standard_library_and_back() {
        let span = Duration::from_micros(1_234_567);
        assert_eq!(core::time::Duration::from(span), core::time::Duration::from_nanos(1_234_567_000));
        assert_eq!(Duration::from(core::time::Duration::from(span)), span);
        assert_eq!(Duration::from(core::time::Duration::MAX), Duration::MAX);
    }

    #[test]
    fn times_and_rates_are_written_in_tc_units() {
        assert_eq!(Duration::from_millis(5).to_string(), "5ms");
        assert_eq!(Duration::from_micros(1500).to_string(), "1500us");
        assert_eq!(Duration::from_secs(100).to_string(), "100s");
        assert_eq!(Rate::from_bps(10_000_000).to_string(), "10mbit");
        assert_eq!(Rate::from_bps(1_500_000).to_string(), "1500kbit");
    }
}
