//! The time of a simulation as QUIC stacks take it.

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
use std::time::Instant as StdInstant;

use goodqueue::{Duration, Instant};
// `std` has no clock in a browser. Both stacks then take the type of this crate as time.
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
use web_time::Instant as StdInstant;

/// Converts between simulated time and [`std::time::Instant`], which both stacks take as time. On
/// `wasm32-unknown-unknown` they take `web_time::Instant`, and so does this type.
///
/// Such an instant can only be read from the clock of the system, or of the page. The clock is read
/// once, when this value is made; only differences to that reading matter, so equal runs are equal.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: StdInstant,
}

impl Clock {
    /// Returns a clock whose time 0 is now.
    #[must_use]
    #[allow(
        clippy::disallowed_methods,
        reason = "the origin; no result depends on it; only that of `std` is disallowed"
    )]
    #[expect(clippy::new_without_default, reason = "two clocks differ, so there is no default one")]
    pub fn new() -> Self {
        Self { origin: StdInstant::now() }
    }

    /// Returns a simulated time as the stacks take it.
    #[must_use]
    pub fn to_std(&self, time: Instant) -> StdInstant {
        self.origin + time.since(Instant::ZERO).into()
    }

    /// Returns a time of a stack as simulated time. Times before the origin become 0.
    #[must_use]
    pub fn from_std(&self, time: StdInstant) -> Instant {
        Instant::ZERO + Duration::from(time.saturating_duration_since(self.origin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_conversions_are_exact() {
        let clock = Clock::new();
        let time = Instant::from_nanos(3_000_000_001);
        assert_eq!(clock.from_std(clock.to_std(time)), time);
        assert_eq!(clock.from_std(clock.origin), Instant::ZERO);
    }
}
