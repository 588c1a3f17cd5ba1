//! The counters of a tin of `cake`, and their moving average.

use crate::time::Duration;

/// What Linux counts for `tc -s` in each tin.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct TinTally {
    pub(super) packets: u64,
    pub(super) bytes: u64,
    /// Moving averages of the sojourn time: of its peaks, of all, of its troughs.
    pub(super) peak_delay: u64,
    pub(super) mean_delay: u64,
    pub(super) base_delay: u64,
    /// Flows that found their queue elsewhere in their set, that found a new one, that had to share
    /// one.
    pub(super) indirect_hits: u64,
    pub(super) misses: u64,
    pub(super) collisions: u64,
    pub(super) drops: u64,
    pub(super) marks: u64,
    pub(super) ack_drops: u64,
    pub(super) largest: u32,
}

impl TinTally {
    /// A packet that waited for `sojourn` is sent.
    pub(super) fn sent(&mut self, sojourn: Duration) {
        let delay = sojourn.as_nanos();
        let peak = self.peak_delay;
        let base = self.base_delay;
        // Weights of Linux `cake_dequeue()`: peaks and troughs are entered fast and left slowly.
        self.mean_delay = moving(self.mean_delay, delay, 8);
        self.peak_delay = moving(peak, delay, if delay > peak { 2 } else { 8 });
        self.base_delay = moving(base, delay, if delay < base { 2 } else { 8 });
    }
}

/// Moves an average by a part in `2^shift` of the way.
pub(super) const fn moving(average: u64, sample: u64, shift: u32) -> u64 {
    // Never more than the larger of the two.
    (average - (average >> shift)).wrapping_add(sample >> shift)
}
