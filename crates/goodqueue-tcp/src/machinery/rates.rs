//! Delivery rate samples (draft-cheng-iccrg-delivery-rate-estimation): the bytes delivered between
//! the sending of a segment and its acknowledgement, over the longer of the times that sending and
//! acknowledging took.

use alloc::collections::VecDeque;

use goodqueue::{Duration, Instant};

use super::reported_rate::ReportedRate;
use crate::clock::micros_between;
use crate::congestion::{LostSegment, RateSample};
use crate::scoreboard::LostRecord;

/// The state at the sending of a segment.
#[derive(Clone, Copy, Debug)]
struct Snapshot {
    delivered: u64,
    delivered_at: Instant,
    first_sent: Instant,
    sent: Instant,
    /// Bytes in the network, with the segment.
    in_flight: u64,
    /// Bytes taken for lost in all.
    lost: u64,
    app_limited: bool,
}

/// State of the estimator; one snapshot per segment that is out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rates {
    delivered: u64,
    delivered_at: Instant,
    lost: u64,
    first_sent: Instant,
    /// Samples are limited by the application until more than this number of bytes has been
    /// delivered. At equality they still are: the path was empty when they left. So the first
    /// window is limited, too, as in Linux (`tcp_init_sock()`).
    app_limited_until: u64,
    /// Position of the first snapshot.
    first: u64,
    snapshots: VecDeque<Snapshot>,
    newest: Option<Snapshot>,
    /// What Linux would report of the samples, if somebody wants to know.
    reported: Option<ReportedRate>,
}

impl Rates {
    /// `reports`: the samples also give the rate that Linux would report.
    pub(crate) fn new(reports: bool) -> Self {
        Self { reported: reports.then(ReportedRate::default), ..Self::default() }
    }

    /// The rate that Linux would report.
    pub(crate) fn reported(&self) -> Option<&ReportedRate> {
        self.reported.as_ref()
    }

    /// Begins the mean of the reported rate anew.
    pub(crate) fn restart_reported(&mut self, now: Instant) {
        if let Some(reported) = &mut self.reported {
            reported.restart(now);
        }
    }

    fn snapshot(&self, now: Instant, in_flight: u64) -> Snapshot {
        Snapshot {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            sent: now,
            in_flight,
            lost: self.lost,
            app_limited: self.app_limited(),
        }
    }

    /// A segment is sent for the first time. `in_flight` bytes are in the network with it; `idle`:
    /// none was out.
    pub(crate) fn on_sent(&mut self, now: Instant, in_flight: u64, idle: bool) {
        if idle {
            // A pause with nothing in flight is no part of any sample.
            self.first_sent = now;
            self.delivered_at = now;
        }
        let snapshot = self.snapshot(now, in_flight);
        self.snapshots.push_back(snapshot);
    }

    /// The last new segment does not count as sent.
    pub(crate) fn take_back(&mut self) {
        self.snapshots.pop_back();
    }

    /// The segment at `position` is sent again, and `in_flight` bytes are in the network with it.
    pub(crate) fn on_resent(&mut self, now: Instant, position: u64, in_flight: u64) {
        let snapshot = self.snapshot(now, in_flight);
        // A position below the first one wraps to a place that has no snapshot.
        let slot = usize::try_from(position.wrapping_sub(self.first)).ok();
        if let Some(old) = slot.and_then(|slot| self.snapshots.get_mut(slot)) {
            *old = snapshot;
        }
    }

    fn snapshot_at(&self, position: u64) -> Option<Snapshot> {
        let slot = usize::try_from(position.wrapping_sub(self.first)).ok()?;
        self.snapshots.get(slot).copied()
    }

    /// The segment at `position` was delivered.
    pub(crate) fn on_delivered(&mut self, position: u64) {
        let Some(snapshot) = self.snapshot_at(position) else { return };
        // The segment that was sent last gives the sample, since its interval is the most recent.
        if self.newest.is_none_or(|newest| snapshot.delivered >= newest.delivered) {
            self.newest = Some(snapshot);
        }
    }

    /// Everything below `position` was cumulatively acknowledged.
    pub(crate) fn forget_below(&mut self, position: u64) {
        while self.first < position && self.snapshots.pop_front().is_some() {
            self.first += 1;
        }
    }

    /// A transmission is taken for lost. Returns what a controller may know of it.
    pub(crate) fn on_lost(&mut self, now: Instant, record: LostRecord) -> Option<LostSegment> {
        self.lost += record.bytes;
        let snapshot = self.snapshot_at(record.position)?;
        Some(LostSegment {
            now,
            position: record.position,
            bytes: record.bytes,
            tx_in_flight: snapshot.in_flight,
            lost: self.lost - snapshot.lost,
            app_limited: snapshot.app_limited,
        })
    }

    /// An ACK delivered `bytes`.
    pub(crate) fn deliver(&mut self, now: Instant, bytes: u64) {
        if bytes > 0 {
            self.delivered += bytes;
            self.delivered_at = now;
        }
    }

    /// Bytes taken for lost in all.
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }

    /// The sample of the ACK whose bytes were [delivered](Self::deliver). `min_rtt` is the shortest
    /// RTT of the connection.
    pub(crate) fn sample(&mut self, now: Instant, min_rtt: Duration) -> Option<RateSample> {
        let newest = self.newest.take()?;
        // The sending interval of later segments begins where that of this sample ends.
        self.first_sent = newest.sent;
        let interval = interval(newest.first_sent, newest.sent).max(interval(newest.delivered_at, now));
        let sample = RateSample {
            delivered: self.delivered - newest.delivered,
            interval,
            prior_delivered: newest.delivered,
            total: self.delivered,
            lost: self.lost,
            tx_in_flight: newest.in_flight,
            lost_since: self.lost - newest.lost,
            app_limited: newest.app_limited,
        };
        if let Some(reported) = &mut self.reported {
            reported.take(now, &sample, min_rtt);
        }
        Some(sample)
    }

    /// The application had too little to send, and nothing that left later has been delivered yet.
    pub(crate) fn app_limited(&self) -> bool {
        self.delivered <= self.app_limited_until
    }

    /// Nothing more is sent now.
    pub(crate) fn note_app_limited(&mut self, limited: bool, pipe: u64) {
        if limited {
            self.app_limited_until = self.delivered + pipe;
        }
    }
}

/// The time between two times, in whole microseconds as Linux has them.
fn interval(earlier: Instant, later: Instant) -> Duration {
    Duration::from_micros(micros_between(earlier, later))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_between_whole_microseconds() {
        let time = Instant::from_nanos;
        assert_eq!(interval(time(10_900), time(12_100)), Duration::from_micros(2));
        assert_eq!(interval(time(12_000), time(12_900)), Duration::ZERO);
    }
}
