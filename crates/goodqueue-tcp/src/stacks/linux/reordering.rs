//! How long Linux waits for a segment that may only be reordered (RFC 8985 §6.2 step 4): a quarter
//! of the least RTT, and longer where such a wait was too short.

use goodqueue::{Duration, Instant};

use crate::scoreboard::Delivered;

/// Greatest multiple of the quarter. Linux keeps it in eight bits (`reo_wnd_steps`).
const MAX_STEPS: u32 = 255;
/// Recoveries after which the window is a single quarter again (`TCP_RACK_RECOVERY_THRESH`).
const RECOVERIES: u32 = 16;

/// What the sender knows of reordering on the path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reordering {
    /// It was seen.
    seen: bool,
    /// A duplicate was reported that a longer wait would have prevented.
    was_too_short: bool,
    steps: u32,
    /// Recoveries for which the steps stay.
    recoveries: u32,
    /// When the steps last grew.
    grew: Instant,
}

impl Reordering {
    pub(super) const fn new() -> Self {
        Self { seen: false, was_too_short: false, steps: 1, recoveries: 0, grew: Instant::ZERO }
    }

    /// An ACK shows it, or not.
    pub(super) fn note(&mut self, is_shown: bool) {
        self.seen |= is_shown;
    }

    /// The receiver reported a duplicate that is no answer to a probe.
    pub(super) fn on_duplicate_report(&mut self) {
        // Without reordering the copy was lost or delayed, and a longer wait would not have helped.
        self.was_too_short |= self.seen;
    }

    /// An ACK delivered segments, of which `newest` was sent last.
    #[inline]
    pub(super) fn on_delivery(&mut self, now: Instant, newest: Option<Delivered>) {
        // Before reordering is seen, no duplicate counts, and the window is as at the start.
        if self.seen
            && let Some(newest) = newest
        {
            self.adapt(now, newest);
        }
    }

    #[cold]
    fn adapt(&mut self, now: Instant, newest: Delivered) {
        // A segment that was sent before the window grew says nothing about the new window: once
        // per round trip is enough (`tcp_rack_update_reo_wnd()`).
        self.was_too_short &= newest.sent >= self.grew;
        if core::mem::take(&mut self.was_too_short) {
            self.steps = (self.steps + 1).min(MAX_STEPS);
            self.grew = now;
            // Each new duplicate renews the time for which the longer wait stays.
            self.recoveries = RECOVERIES;
        } else if self.recoveries == 0 {
            self.steps = 1;
        }
    }

    /// A recovery ended, and its reduction was right.
    pub(super) fn on_recovery_end(&mut self) {
        self.recoveries = self.recoveries.saturating_sub(1);
    }

    /// The wait. Nothing if no reordering was ever seen and `is_evident` that a segment is lost.
    pub(super) fn window(&self, is_evident: bool, least_rtt: Duration, srtt: Duration) -> Duration {
        if !self.seen && is_evident {
            return Duration::ZERO;
        }
        let quarter = least_rtt.as_nanos() / 4;
        let window = Duration::from_nanos(quarter.saturating_mul(u64::from(self.steps)));
        // `tcp_rack_reo_wnd()`; RFC 8985 §6.2 step 4 has the same bound.
        window.min(srtt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SRTT: Duration = Duration::from_millis(100);

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn sent(ms: u64) -> Delivered {
        Delivered { sent: at(ms), end: 0 }
    }

    fn quarters(reordering: &Reordering) -> u64 {
        reordering.window(true, Duration::from_millis(4), SRTT).as_nanos() / 1_000_000
    }

    /// Reordering was seen, and a duplicate reported at 100 ms.
    fn widened() -> Reordering {
        let mut reordering = Reordering::new();
        reordering.note(true);
        reordering.on_duplicate_report();
        reordering.on_delivery(at(100), Some(sent(50)));
        reordering
    }

    #[test]
    fn a_duplicate_counts_only_after_reordering_was_seen() {
        let mut reordering = Reordering::new();
        reordering.on_duplicate_report();
        reordering.on_delivery(at(100), Some(sent(50)));
        assert_eq!(quarters(&reordering), 0);
        reordering.note(true);
        reordering.on_delivery(at(100), Some(sent(50)));
        assert_eq!(quarters(&reordering), 1, "an earlier report does not count later");
        assert_eq!(quarters(&widened()), 2);
    }

    #[test]
    fn the_window_grows_once_per_round_trip() {
        let mut reordering = widened();
        reordering.on_duplicate_report();
        reordering.on_delivery(at(110), Some(sent(99)));
        assert_eq!(quarters(&reordering), 2, "a segment from before it grew");
        reordering.on_duplicate_report();
        reordering.on_delivery(at(160), Some(sent(100)));
        assert_eq!(quarters(&reordering), 3);
    }

    #[test]
    fn the_window_is_a_quarter_again_after_16_recoveries() {
        let mut reordering = widened();
        for recovery in 1..=16 {
            reordering.on_delivery(at(100 + recovery), Some(sent(100)));
            assert_eq!(quarters(&reordering), 2, "recovery {recovery}");
            reordering.on_recovery_end();
        }
        reordering.on_delivery(at(120), Some(sent(100)));
        assert_eq!(quarters(&reordering), 1);
    }

    #[test]
    fn the_window_never_exceeds_the_smoothed_rtt() {
        let mut reordering = widened();
        for round in 1..300 {
            reordering.on_duplicate_report();
            reordering.on_delivery(at(100 + 100 * round), Some(sent(100 * round)));
        }
        assert_eq!(reordering.steps, MAX_STEPS);
        assert_eq!(reordering.window(true, Duration::from_millis(4), SRTT), SRTT);
    }
}
