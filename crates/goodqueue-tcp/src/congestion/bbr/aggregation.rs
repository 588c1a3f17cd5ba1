//! What paths that hold ACKs back deliver beyond the bandwidth.

use goodqueue::Instant;

use crate::congestion::whole::whole;

/// What came beyond the bandwidth is the most of five to ten rounds, and at most what 100 ms bring
/// (Linux from 5.1 on).
const AGGREGATION_ROUNDS: u32 = 5;
const AGGREGATION_TIME: f64 = 0.1;
/// Segments after which the counting begins anew: Linux counts them in 20 bits.
const LONGEST_EPOCH: u64 = 1 << 20;

/// How much more is acknowledged at times than the bandwidth brings: paths that hold ACKs back and
/// let many go at once (draft-cardwell-iccrg-bbr-congestion-control-02 §4.6.4.2.3).
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

    /// `acked` bytes more were delivered.
    pub(super) fn take(
        &mut self,
        now: Instant,
        acked: u64,
        bandwidth: f64,
        begins_round: bool,
        cwnd: u64,
        mss: u32,
    ) {
        if begins_round {
            self.rounds += 1;
            if self.rounds >= AGGREGATION_ROUNDS {
                self.rounds = 0;
                self.extra = [0, self.extra[0]];
            }
        }
        // Linux counts whole segments: what has come of the next one does not count yet.
        let segment = u64::from(mss.max(1));
        let brings = |since: Instant| {
            whole(bandwidth * now.since(since).as_nanos() as f64 * 1e-9 / segment as f64) * segment
        };
        // As long as no more comes than the bandwidth brings, nothing was held back.
        if self.acked <= brings(self.epoch) || self.acked + acked >= LONGEST_EPOCH * u64::from(mss) {
            self.restart(now);
        }
        self.acked += acked;
        // More than the window cannot have been held back.
        let extra = self.acked.saturating_sub(brings(self.epoch)).min(cwnd);
        self.extra[0] = self.extra[0].max(extra);
    }

    /// Bytes that the window needs for it.
    pub(super) fn allowance(&self, bandwidth: f64) -> u64 {
        self.extra[0].max(self.extra[1]).min(whole(bandwidth * AGGREGATION_TIME))
    }
}

#[cfg(test)]
mod tests {
    use goodqueue::Duration;

    use super::*;

    /// 1.25 MB/s (10 Mbit/s).
    const BANDWIDTH: f64 = 1.25e6;

    #[test]
    fn what_the_bandwidth_brings_counts_in_whole_segments() {
        let mut aggregation = Aggregation::default();
        let now = Instant::ZERO + Duration::from_millis(100);
        aggregation.take(now, 10 * 1460, BANDWIDTH, true, u64::MAX, 1460);
        // 1.8 segments later five come.
        let now = now + Duration::from_nanos(18 * 116_800);
        aggregation.take(now, 5 * 1460, BANDWIDTH, false, u64::MAX, 1460);
        // 10 and 5, less the whole one of the 1.8.
        assert_eq!(aggregation.allowance(BANDWIDTH), 14 * 1460);
    }

    #[test]
    fn acks_that_come_in_bunches_of_ten_segments_let_the_window_be_as_much_larger_for_five_to_ten_rounds() {
        let mut aggregation = Aggregation::default();
        let mut now = Instant::ZERO;
        let mut round = |aggregation: &mut Aggregation, bunch: u64| {
            for ack in 0..4 {
                now += Duration::from_millis(12);
                aggregation.take(now, bunch, BANDWIDTH, ack == 0, u64::MAX, 1460);
            }
            aggregation.allowance(BANDWIDTH)
        };
        assert_eq!(round(&mut aggregation, 14_600), 14_600);
        for later in 1..=10 {
            let allowed = round(&mut aggregation, 1460);
            assert!(later > 4 || allowed == 14_600, "{allowed} in round {later}");
            assert!(later < 10 || allowed == 1460, "{allowed} in round {later}");
        }
    }
}
