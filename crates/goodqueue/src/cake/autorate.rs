//! The rate at which packets come at most, as `autorate-ingress` takes it for the link's.

use super::tally::moving;
use crate::cobalt::CobaltVariant;
use crate::time::{Duration, Instant};

/// An estimate of the peaks of the rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Estimate {
    /// Time of arrival of the last packet.
    pub(super) last: Instant,
    /// Moving average of the time between two packets, in nanoseconds.
    interval: u64,
    /// Bytes that arrived since `window_begin`. A window ends with the first packet that is later
    /// than usual.
    window_bytes: u64,
    window_begin: Instant,
    /// Moving average of the windows' rates that rises fast, in bytes per second.
    pub(super) peak: u64,
    /// Time before which the rate of the shaper stays.
    keeps_until: Instant,
}

impl Estimate {
    pub(super) const fn new(rate: u64) -> Self {
        Self {
            last: Instant::ZERO,
            interval: 0,
            window_bytes: 0,
            window_begin: Instant::ZERO,
            peak: rate,
            // Linux's time of the last change starts at 0.
            keeps_until: Instant::from_nanos(PAUSE.as_nanos()),
        }
    }

    /// Starts a window at the last packet.
    pub(super) const fn begin(&mut self) {
        self.window_bytes = 0;
    }

    /// Counts an arrival of `bytes`. Returns a new rate for the shaper in bytes per second, if it
    /// changes.
    pub(super) fn arrives(&mut self, now: Instant, bytes: u64, variant: CobaltVariant) -> Option<u64> {
        self.window_bytes = self.window_bytes.wrapping_add(bytes);
        // Linux counts a longer pause as one second.
        let interval = now.since(self.last).as_nanos().min(NANOS_PER_SECOND);
        // As in Linux, the averages follow a rise by 1/4 and a fall by 1/256.
        let shift = |above: bool| if above { 2 } else { 8 };
        self.interval = moving(self.interval, interval, shift(interval > self.interval));
        self.last = now;
        // A burst, for example an aggregate of a radio link, counts as one.
        if interval <= self.interval {
            return None;
        }
        let window = now.since(self.window_begin).as_nanos().max(1);
        // The product wraps at 64 bits, as in `cake_enqueue()`.
        let rate = self.window_bytes.wrapping_mul(NANOS_PER_SECOND) / window;
        self.peak = moving(self.peak, rate, shift(rate > self.peak));
        (self.window_bytes, self.window_begin) = (0, now);
        // Linux compares with `ktime_after()`, which is strict.
        if now <= self.keeps_until {
            return None;
        }
        // Linux 6.1 never notes when it set the rate.
        if variant != CobaltVariant::Linux61 {
            self.keeps_until = now + PAUSE;
        }
        // Linux `cake_enqueue()` shapes to 15/16 of the estimate.
        Some(self.peak.wrapping_mul(15) >> 4)
    }
}

const NANOS_PER_SECOND: u64 = 1_000_000_000;
/// Linux keeps a rate for at least this time.
const PAUSE: Duration = Duration::from_millis(250);
