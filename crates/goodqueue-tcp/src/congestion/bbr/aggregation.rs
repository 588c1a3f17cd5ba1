//! What paths that hold ACKs back deliver beyond the bandwidth.

use goodqueue::Instant;

use super::bandwidth::Bandwidth;
use crate::clock::micros_between;

/// What came beyond the bandwidth is the most of five to ten rounds, and at most what 100 ms bring
/// (Linux from 5.1 on).
const AGGREGATION_ROUNDS: u32 = 5;
const AGGREGATION_MICROS: u64 = 100_000;
/// Segments after which the counting begins anew: Linux counts them in 20 bits.
const LONGEST_EPOCH: u64 = (1 << 20) - 1;

/// How much more is acknowledged at times than the bandwidth brings: paths that hold ACKs back and
/// let many go at once (draft-cardwell-iccrg-bbr-congestion-control-02 §4.6.4.2.3). In segments.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Aggregation {
    /// Counted since.
    epoch: Instant,
    acked: u64,
    /// The most of these rounds, and of those before.
    extra: [u64; 2],
    rounds: u32,
}

impl Aggregation {
    pub(super) fn restart(&mut self, now: Instant) {
        self.epoch = now;
        self.acked = 0;
    }

    /// `acked` segments more were delivered.
    pub(super) fn take(
        &mut self,
        now: Instant,
        acked: u64,
        bandwidth: Bandwidth,
        begins_round: bool,
        cwnd: u64,
    ) {
        if begins_round {
            self.rounds += 1;
            if self.rounds >= AGGREGATION_ROUNDS {
                self.rounds = 0;
                self.extra = [0, self.extra[0]];
            }
        }
        let brings = |since: Instant| bandwidth.segments_in(micros_between(since, now));
        // As long as no more comes than the bandwidth brings, nothing was held back.
        if self.acked <= brings(self.epoch) || self.acked + acked >= LONGEST_EPOCH {
            self.restart(now);
        }
        self.acked += acked;
        // More than the window cannot have been held back.
        let extra = self.acked.saturating_sub(brings(self.epoch)).min(cwnd);
        self.extra[0] = self.extra[0].max(extra);
    }

    /// Segments that the window needs for it.
    pub(super) fn allowance(&self, bandwidth: Bandwidth) -> u64 {
        self.extra[0].max(self.extra[1]).min(bandwidth.segments_in(AGGREGATION_MICROS))
    }
}

#[cfg(test)]
mod tests {
    use goodqueue::Duration;

    use super::*;

    /// A segment in 1.168 ms (10 Mbit/s).
    fn bandwidth() -> Bandwidth {
        Bandwidth::of(1000, 1_168_000)
    }

    #[test]
    fn what_the_bandwidth_brings_counts_in_whole_segments() {
        let mut aggregation = Aggregation::default();
        let now = Instant::ZERO + Duration::from_millis(100);
        aggregation.take(now, 10, bandwidth(), true, u64::MAX);
        // 1.8 segments later five come.
        let now = now + Duration::from_nanos(18 * 116_800);
        aggregation.take(now, 5, bandwidth(), false, u64::MAX);
        // 10 and 5, less the whole one of the 1.8.
        assert_eq!(aggregation.allowance(bandwidth()), 14);
    }

    #[test]
    fn acks_that_come_in_bunches_of_ten_segments_let_the_window_be_as_much_larger_for_five_to_ten_rounds() {
        let mut aggregation = Aggregation::default();
        let mut now = Instant::ZERO;
        let mut round = |aggregation: &mut Aggregation, bunch: u64| {
            for ack in 0..4 {
                now += Duration::from_millis(12);
                aggregation.take(now, bunch, bandwidth(), ack == 0, u64::MAX);
            }
            aggregation.allowance(bandwidth())
        };
        assert_eq!(round(&mut aggregation, 10), 10);
        for later in 1..=10 {
            let allowed = round(&mut aggregation, 1);
            assert!(later > 4 || allowed == 10, "{allowed} in round {later}");
            assert!(later < 10 || allowed == 1, "{allowed} in round {later}");
        }
    }
}
