//! The remaining time in words, once a minute, for a sweep whose messages go to a file.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Counts the minutes for which a message was printed.
#[derive(Default)]
pub(super) struct Minutes(AtomicU64);

impl Minutes {
    /// Returns true once for each minute, to one of the threads that ask.
    pub(super) fn has_passed(&self, elapsed: Duration) -> bool {
        let told = self.0.load(Ordering::Relaxed);
        let now = elapsed.as_secs() / 60;
        now > told && self.0.compare_exchange(told, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

/// Returns the time that the work `left` will take if the work `done` took `elapsed`; `None` before
/// any work.
pub(super) fn remaining(elapsed: Duration, done: u64, left: u64) -> Option<Duration> {
    let millis = elapsed.as_millis().checked_mul(u128::from(left))?.checked_div(u128::from(done))?;
    Some(Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX)))
}

/// Formats a time, rounded up: `40 s`, `14 min`, `3 h 20 min`.
pub(crate) fn in_words(time: Duration) -> String {
    let minutes = time.as_secs().div_ceil(60);
    match (time.as_secs(), minutes) {
        (seconds @ 0..=59, _) => format!("{seconds} s"),
        (_, 0..=89) => format!("{minutes} min"),
        _ => format!("{} h {} min", minutes / 60, minutes % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_minute_is_told_once() {
        let minutes = Minutes::default();
        let told = [1, 59, 60, 61, 119, 121, 400, 401].map(|s| minutes.has_passed(Duration::from_secs(s)));
        assert_eq!(told, [false, false, true, false, false, true, true, false]);
    }

    #[test]
    fn the_remaining_time_follows_from_the_work_that_was_simulated() {
        let minute = Duration::from_secs(60);
        assert_eq!(remaining(minute, 100, 1000).map(in_words).as_deref(), Some("10 min"));
        assert_eq!(remaining(minute, 1000, 500).map(in_words).as_deref(), Some("30 s"));
        assert_eq!(remaining(minute, 1, 200).map(in_words).as_deref(), Some("3 h 20 min"));
        assert_eq!(remaining(minute, 0, 200), None);
    }
}
