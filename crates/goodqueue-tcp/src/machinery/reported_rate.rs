//! The delivery rate that Linux reports (`tcpi_delivery_rate` of `TCP_INFO`), and its mean over
//! time.
//!
//! Each ACK gives a [sample](super::rates). Linux keeps the last one and shows it to whoever asks,
//! for example to `ss`, until a later one replaces it (`tcp_rate_gen()`,
//! `tcp_compute_delivery_rate()`). A reader that asks at regular times and takes the mean gets the
//! mean over time, in which a sample counts for as long as it was kept.

use goodqueue::{Duration, Instant};

use crate::congestion::RateSample;

/// The sample that is reported.
#[derive(Clone, Copy, Debug)]
struct Kept {
    delivered: u64,
    interval: Duration,
}

impl Kept {
    /// Whole bytes per second, as Linux computes them.
    fn rate(&self) -> u128 {
        u128::from(self.delivered) * 1_000_000_000 / u128::from(self.interval.as_nanos())
    }

    fn is_below(&self, other: &Self) -> bool {
        let own = u128::from(self.delivered) * u128::from(other.interval.as_nanos());
        own < u128::from(other.delivered) * u128::from(self.interval.as_nanos())
    }
}

/// The reported rate of a connection.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct ReportedRate {
    /// `None` before the first sample: `ss` shows no rate then, so that time does not count.
    kept: Option<Kept>,
    /// Start of the time that `sum` and `over` do not contain yet.
    since: Instant,
    /// Sum of rate and time, in bytes per second and nanoseconds.
    sum: u128,
    /// Time that `sum` covers.
    over: Duration,
}

impl ReportedRate {
    /// Takes the sample of an ACK. `min_rtt` is the shortest RTT of the connection.
    pub(crate) fn take(&mut self, now: Instant, sample: &RateSample, min_rtt: Duration) {
        // ACKs that come in bunches after segments that left in bunches would show a rate above
        // that of the path.
        if sample.interval < min_rtt || sample.interval.is_zero() {
            return;
        }
        let new = Kept { delivered: sample.delivered, interval: sample.interval };
        if sample.app_limited && self.kept.is_some_and(|kept| new.is_below(&kept)) {
            return;
        }
        self.settle(now);
        self.kept = Some(new);
    }

    /// Adds the time until `now` to the sum.
    fn settle(&mut self, now: Instant) {
        if let Some(kept) = self.kept {
            let wait = now.since(self.since);
            self.sum += kept.rate() * u128::from(wait.as_nanos());
            self.over += wait;
        }
        self.since = now;
    }

    /// Begins the mean anew. The kept sample stays.
    pub(crate) fn restart(&mut self, now: Instant) {
        *self = Self { kept: self.kept, since: now, ..Self::default() };
    }

    /// Returns the mean in bytes per second; `None` if no rate was reported for any time.
    pub(crate) fn mean(mut self, until: Instant) -> Option<u64> {
        self.settle(until);
        let mean = self.sum.checked_div(u128::from(self.over.as_nanos()))?;
        Some(u64::try_from(mean).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    const MIN_RTT: Duration = Duration::from_millis(20);

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn sample(delivered: u64, millis: u64) -> RateSample {
        RateSample {
            delivered,
            interval: Duration::from_millis(millis),
            prior_delivered: 0,
            total: delivered,
            lost: 0,
            tx_in_flight: 0,
            lost_since: 0,
            app_limited: false,
        }
    }

    fn taken(samples: &[(u64, RateSample)]) -> ReportedRate {
        let mut reported = ReportedRate::default();
        for (millis, sample) in samples {
            reported.take(at(*millis), sample, MIN_RTT);
        }
        reported
    }

    #[test]
    fn nothing_is_reported_before_the_first_sample() {
        assert_eq!(ReportedRate::default().mean(at(1000)), None);
        // The time before the first sample does not lower the mean.
        assert_eq!(taken(&[(900, sample(2000, 20))]).mean(at(1000)), Some(100_000));
    }

    #[test]
    fn the_mean_is_over_time_and_not_over_acks() {
        // Ten ACKs within 10 ms show 200 kB/s, and one shows 100 kB/s for 90 ms.
        let quick = (0..10).map(|millis| (millis, sample(4000, 20)));
        let samples: Vec<_> = quick.chain([(10, sample(2000, 20))]).collect();
        assert_eq!(taken(&samples).mean(at(100)), Some(110_000));
    }

    #[test]
    fn a_sample_shorter_than_the_least_rtt_is_ignored() {
        let reported = taken(&[(0, sample(2000, 20)), (10, sample(9000, 19))]);
        assert_eq!(reported.mean(at(100)), Some(100_000));
        let reported = taken(&[(0, sample(2000, 20)), (50, sample(4000, 20))]);
        assert_eq!(reported.mean(at(100)), Some(150_000), "as long as the least RTT is long enough");
    }

    #[test]
    fn a_lower_sample_that_the_application_limits_is_ignored() {
        let limited = |delivered| RateSample { app_limited: true, ..sample(delivered, 20) };
        let reported = taken(&[(0, sample(2000, 20)), (50, limited(1000))]);
        assert_eq!(reported.mean(at(100)), Some(100_000));
        let reported = taken(&[(0, sample(2000, 20)), (50, limited(4000))]);
        assert_eq!(reported.mean(at(100)), Some(150_000), "a higher one shows what the path can do");
        let reported = taken(&[(0, limited(1000))]);
        assert_eq!(reported.mean(at(100)), Some(50_000), "nothing is kept yet");
    }

    #[test]
    fn a_new_start_forgets_the_mean_and_keeps_the_sample() {
        let mut reported = taken(&[(0, sample(4000, 20)), (50, sample(2000, 20))]);
        reported.restart(at(60));
        assert_eq!(reported.mean(at(60)), None);
        assert_eq!(reported.mean(at(100)), Some(100_000));
    }
}
