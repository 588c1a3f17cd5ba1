//! Detection of policers (Linux `lt_bw`).
//!
//! A policer drops everything above its rate, so a sender that probes for bandwidth loses a large
//! share of its packets and still gets that rate. Two intervals in a row with many losses and the
//! same delivery rate are taken for a policer. BBR then sends at that rate and does not probe for
//! some time.

use goodqueue::Instant;

use super::bandwidth::{Bandwidth, Gain};
use crate::clock::TICK;

/// Rounds that an interval lasts at least, and at most.
const INTERVAL_ROUNDS: core::ops::RangeInclusive<u32> = 4..=16;
/// Least share of losses among delivered segments, in 256ths: a fifth.
const LOSSES: u64 = 50;
/// Greatest difference between two intervals: as a share of the rate, an eighth, and in bytes per
/// second (4 kbit/s).
const SAME_SHARE: Gain = Gain::of_256ths(256 / 8);
const SAME_RATE: u64 = 500;
/// Rounds for which the rate is kept before BBR probes again.
const KEPT_ROUNDS: u32 = 48;
/// An interval of this number of ticks is too long to be evidence: in Linux its microseconds would
/// not fit in 32 bits.
const TOO_LONG: u64 = (1 << 32) / 1000;

/// What is known after an ACK or a timeout. Counts are in segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct PolicerSample {
    /// Time of the last delivery.
    pub(super) delivered_at: Instant,
    /// Delivered in all.
    pub(super) delivered: u64,
    /// Taken for lost in all.
    pub(super) lost: u64,
    /// Something was found lost just now.
    pub(super) has_losses: bool,
    /// A round begins.
    pub(super) begins_round: bool,
    /// The sample was limited by the application.
    pub(super) app_limited: bool,
    /// Payload of a segment in bytes.
    pub(super) mss: u32,
}

/// The detector.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Policer {
    interval: Option<Interval>,
    /// Rate of the last interval with many losses.
    rate: Option<Bandwidth>,
    /// Two intervals agreed: `rate` is the policer's.
    found: bool,
    /// Rounds of the interval; once the policer is found, rounds since then.
    rounds: u32,
}

/// Where an interval began: tick of the last delivery, and what was delivered and lost in all.
#[derive(Clone, Copy, Debug)]
struct Interval {
    tick: u64,
    delivered: u64,
    lost: u64,
}

impl Interval {
    fn from(account: &PolicerSample) -> Self {
        Self {
            tick: account.delivered_at.as_nanos() / TICK,
            delivered: account.delivered,
            lost: account.lost,
        }
    }
}

impl Policer {
    /// The rate of the policer, if there seems to be one.
    pub(super) fn rate(&self) -> Option<Bandwidth> {
        self.rate.filter(|_| self.found)
    }

    /// Takes note of an ACK or a timeout; `probes`: BBR is in `PROBE_BW`. Returns true when the
    /// rate has been kept long enough and the bandwidth is to be probed anew.
    pub(super) fn take(&mut self, account: &PolicerSample, probes: bool) -> bool {
        if self.found {
            self.rounds += u32::from(probes && account.begins_round);
            let expired = self.rounds >= KEPT_ROUNDS;
            if expired {
                *self = Self::default();
            }
            return expired;
        }
        if self.interval.is_none() {
            // Before the first loss a policer's bucket is not empty and lets bursts pass, so the
            // rate would be too high.
            if !account.has_losses {
                return false;
            }
            self.begin(account);
        }
        // With too little data the rate would be too low.
        if account.app_limited {
            *self = Self::default();
            return false;
        }
        self.rounds += u32::from(account.begins_round);
        if self.rounds > *INTERVAL_ROUNDS.end() {
            *self = Self::default();
        } else if self.rounds >= *INTERVAL_ROUNDS.start() && account.has_losses {
            self.end_interval(account);
        }
        false
    }

    fn begin(&mut self, account: &PolicerSample) {
        self.interval = Some(Interval::from(account));
        self.rounds = 0;
    }

    /// Intervals end with a loss, as a policer's bucket is empty then.
    fn end_interval(&mut self, account: &PolicerSample) {
        let Some(start) = self.interval else { return };
        let end = Interval::from(account);
        let delivered = end.delivered - start.delivered;
        let lost = end.lost - start.lost;
        if delivered == 0 || lost * 256 < LOSSES * delivered {
            return;
        }
        let ticks = end.tick - start.tick;
        if ticks == 0 {
            return;
        }
        if ticks >= TOO_LONG {
            *self = Self::default();
            return;
        }
        let rate = Bandwidth::of(delivered, ticks * TICK / 1000);
        if let Some(last) = self.rate {
            let difference = rate.difference(last);
            if difference <= last.times(SAME_SHARE) || difference.pace(Gain::ONE, account.mss) <= SAME_RATE {
                *self = Self { interval: None, rate: Some(rate.mean(last)), found: true, rounds: 0 };
                return;
            }
        }
        self.rate = Some(rate);
        self.begin(account);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path that delivers `rate` segments per second and drops `dropped` segments for each that
    /// it delivers, in rounds of 40 ms.
    struct Path {
        now: u64,
        delivered: u64,
        lost: f64,
    }

    impl Path {
        fn new() -> Self {
            Self { now: 0, delivered: 0, lost: 0.0 }
        }

        /// One round of ten ACKs, all of which tell of losses if there are any. Returns whether to
        /// probe anew.
        fn round(&mut self, policer: &mut Policer, rate: u64, dropped: f64) -> bool {
            (0..10).fold(false, |probe, ack| {
                self.now += 4;
                self.delivered += rate / 250;
                self.lost += rate as f64 / 250.0 * dropped;
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "small and positive"
                )]
                let lost = self.lost as u64;
                let account = PolicerSample {
                    delivered_at: Instant::from_nanos(self.now * TICK),
                    delivered: self.delivered,
                    lost,
                    has_losses: dropped > 0.0,
                    begins_round: ack == 0,
                    app_limited: false,
                    mss: 1000,
                };
                probe | policer.take(&account, true)
            })
        }
    }

    #[test]
    fn a_policer_is_found_after_two_intervals_of_four_rounds_and_forgotten_after_48_rounds() {
        let mut policer = Policer::default();
        let mut path = Path::new();
        for _ in 0..8 {
            assert_eq!(policer.rate(), None);
            path.round(&mut policer, 500_000, 0.25);
        }
        let rate = policer.rate().expect("two intervals had the same rate");
        let difference = rate.difference(Bandwidth::of(500, 1000));
        assert!(difference <= Bandwidth::of(10, 1000), "{rate:?}");
        let probed = (1..=48).find(|_| path.round(&mut policer, 500_000, 0.0));
        assert_eq!(probed, Some(48));
        assert_eq!(policer.rate(), None);
    }

    #[test]
    fn less_than_a_fifth_of_losses_is_congestion_and_no_policer() {
        let mut policer = Policer::default();
        let mut path = Path::new();
        for _ in 0..100 {
            path.round(&mut policer, 500_000, 0.18);
            assert_eq!(policer.rate(), None);
        }
    }

    #[test]
    fn rates_that_change_by_more_than_an_eighth_are_no_policers() {
        let mut policer = Policer::default();
        let mut path = Path::new();
        for rate in [500_000, 400_000, 300_000, 400_000, 500_000] {
            for _ in 0..4 {
                path.round(&mut policer, rate, 0.5);
            }
            assert_eq!(policer.rate(), None, "{rate}");
        }
    }
}
