//! Measurements of one direction of the bottleneck.

use goodqueue::{Count, DropReason, Duration, Instant};
use hdrhistogram::Histogram;

/// Counters, sojourn times and queue length.
#[derive(Clone, Debug)]
pub struct Meter {
    sojourn: Histogram<u64>,
    // The histogram rounds to three digits; the sum gives the exact mean.
    sojourn_sum: u128,
    drops: [u64; DropReason::ALL.len()],
    offered: Count,
    sent: Count,
    length: usize,
    length_most: usize,
    length_area: u128,
    last: Instant,
    begin: Instant,
    step: Step,
}

/// Measurements of one time step, for time series and displays.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Step {
    /// Packets that left the queue.
    pub packets: u64,
    /// Sum of their sojourn times in nanoseconds.
    pub sojourn_sum: u64,
    /// Longest of their sojourn times.
    pub sojourn_most: Duration,
    /// Bytes put on the link.
    pub bytes: u64,
    /// Packets dropped.
    pub drops: u64,
    /// Packets queued at the end of the step.
    pub queued: u64,
}

impl Default for Meter {
    fn default() -> Self {
        Self {
            sojourn: sojourn_histogram(),
            sojourn_sum: 0,
            drops: [0; DropReason::ALL.len()],
            offered: Count::default(),
            sent: Count::default(),
            length: 0,
            length_most: 0,
            length_area: 0,
            last: Instant::ZERO,
            begin: Instant::ZERO,
            step: Step::default(),
        }
    }
}

/// Returns a histogram with three significant digits from a microsecond to an hour.
fn sojourn_histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1_000, 3_600_000_000_000, 3)
        .or_else(|_| Histogram::new(3))
        .unwrap_or_else(|_| unreachable!("3 is a valid number of digits"))
}

impl Meter {
    /// Discards the measurements before `now`: the warm-up is over.
    pub fn restart(&mut self, now: Instant) {
        // Packets stay queued, and a step of the time series may span the end of the warm-up.
        let length = self.length;
        let step = self.step;
        *self = Self { length, length_most: length, last: now, begin: now, step, ..Self::default() };
    }

    pub(crate) fn arrived(&mut self, bytes: u32) {
        self.offered.add(bytes);
    }

    /// Records that the queue has this length from `now` on.
    pub(crate) fn length_is(&mut self, now: Instant, packets: usize) {
        self.length_area += u128::from(now.since(self.last).as_nanos()) * self.length as u128;
        // After `restart`, the line can still report events of an earlier packet time.
        self.last = self.last.max(now);
        self.length = packets;
        self.length_most = self.length_most.max(packets);
    }

    pub(crate) fn dropped(&mut self, why: DropReason) {
        self.drops[why.index()] += 1;
        self.step.drops += 1;
    }

    pub(crate) fn sent(&mut self, bytes: u32, sojourn: Duration) {
        let nanos = sojourn.as_nanos();
        // A longer time than the histogram's bound counts as the bound.
        self.sojourn.saturating_record(nanos);
        self.sojourn_sum += u128::from(nanos);
        self.sent.add(bytes);
        self.step.packets += 1;
        self.step.sojourn_sum = self.step.sojourn_sum.saturating_add(nanos);
        self.step.sojourn_most = self.step.sojourn_most.max(sojourn);
        self.step.bytes += u64::from(bytes);
    }

    /// Ends the current step and begins the next one.
    pub fn take_step(&mut self) -> Step {
        let queued = self.length as u64;
        Step { queued, ..std::mem::take(&mut self.step) }
    }

    /// Returns the beginning of the measurement: the last restart, or 0.
    #[must_use]
    pub const fn begun(&self) -> Instant {
        self.begin
    }

    /// Returns the sojourn times of the sent packets in nanoseconds.
    #[must_use]
    pub const fn sojourn(&self) -> &Histogram<u64> {
        &self.sojourn
    }

    /// Returns the exact mean sojourn time in seconds, or `None` without a packet.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "results are given in floating point")]
    pub fn sojourn_mean(&self) -> Option<f64> {
        let samples = self.sojourn.len();
        (samples > 0).then(|| self.sojourn_sum as f64 / samples as f64 / 1e9)
    }

    /// Returns the dropped packets by reason, in the order of [`DropReason::ALL`].
    #[must_use]
    pub const fn drops(&self) -> &[u64; DropReason::ALL.len()] {
        &self.drops
    }

    /// Returns the packets and bytes that arrived.
    #[must_use]
    pub const fn offered(&self) -> Count {
        self.offered
    }

    /// Returns the packets and bytes put on the link.
    #[must_use]
    pub const fn sent_count(&self) -> Count {
        self.sent
    }

    /// Returns the maximum queue length in packets.
    #[must_use]
    pub const fn length_most(&self) -> usize {
        self.length_most
    }

    /// Returns the mean queue length in packets, from the beginning of the measurement to `end`.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "results are given in floating point")]
    pub fn length_mean(&self, end: Instant) -> f64 {
        let rest = u128::from(end.since(self.last).as_nanos()) * self.length as u128;
        // At the very beginning no time has passed.
        (self.length_area + rest) as f64 / end.since(self.begin).as_nanos().max(1) as f64
    }
}
