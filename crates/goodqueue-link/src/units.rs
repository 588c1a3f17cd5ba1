//! Durations and rates as one word.

use goodqueue::{Duration, Rate};

/// Writes whole numbers as durations and rates: `30.ms()`, `20.mbit()`.
///
/// Values that do not fit saturate.
pub trait Units {
    /// Microseconds.
    fn us(self) -> Duration;
    /// Milliseconds.
    fn ms(self) -> Duration;
    /// Seconds.
    fn s(self) -> Duration;
    /// Thousands of bits per second.
    fn kbit(self) -> Rate;
    /// Millions of bits per second.
    fn mbit(self) -> Rate;
    /// Thousands of millions of bits per second.
    fn gbit(self) -> Rate;
}

impl Units for u64 {
    fn us(self) -> Duration {
        Duration::from_micros(self)
    }

    fn ms(self) -> Duration {
        Duration::from_millis(self)
    }

    fn s(self) -> Duration {
        Duration::from_secs(self)
    }

    fn kbit(self) -> Rate {
        Rate::from_bps(self.saturating_mul(1_000))
    }

    fn mbit(self) -> Rate {
        Rate::from_bps(self.saturating_mul(1_000_000))
    }

    fn gbit(self) -> Rate {
        Rate::from_bps(self.saturating_mul(1_000_000_000))
    }
}
