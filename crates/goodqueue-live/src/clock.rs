//! The only clock of this crate.

use std::time::{Duration as SystemDuration, Instant as SystemInstant};

use goodqueue::{Duration, Instant};

/// Time since it was made. It never goes back, and does not stand still while the process does.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: SystemInstant,
}

impl Clock {
    /// A clock that is at 0 now.
    #[must_use]
    pub fn start() -> Self {
        Self::start_in(Duration::ZERO)
    }

    /// A clock that stays at 0 for `wait` and then begins to run.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "real packets come in real time; this is where it is read")]
    pub fn start_in(wait: Duration) -> Self {
        Self { origin: SystemInstant::now() + SystemDuration::from_nanos(wait.as_nanos()) }
    }

    /// The time.
    #[must_use]
    pub fn now(&self) -> Instant {
        Instant::from_nanos(u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}
