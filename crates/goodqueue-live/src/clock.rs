//! The only clock of this crate.

use std::time::{Duration as SystemDuration, Instant as SystemInstant};

use goodqueue::{Duration, Instant};

/// A monotonic clock that starts at 0. It also runs while the process is stopped.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: SystemInstant,
}

impl Clock {
    /// Creates a clock that is at 0 now.
    #[must_use]
    pub fn start() -> Self {
        Self::start_in(Duration::ZERO)
    }

    /// Creates a clock that stays at 0 for `wait` and then starts to run.
    #[must_use]
    #[expect(
        clippy::disallowed_methods,
        reason = "real packets come in real time; this is the place that reads it"
    )]
    pub fn start_in(wait: Duration) -> Self {
        Self { origin: SystemInstant::now() + SystemDuration::from_nanos(wait.as_nanos()) }
    }

    /// Returns the current time.
    #[must_use]
    pub fn now(&self) -> Instant {
        // Before the origin, `elapsed` returns 0.
        Instant::from_nanos(u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}
