//! Delivery rate samples (draft-cheng-iccrg-delivery-rate-estimation): the bytes delivered between
//! the sending of a segment and its acknowledgement, over the longer of the times that sending and
//! acknowledging took.

use alloc::collections::VecDeque;

use goodqueue::Instant;

use crate::congestion::RateSample;

/// The state at the sending of a segment.
#[derive(Clone, Copy, Debug)]
struct Snapshot {
    delivered: u64,
    delivered_at: Instant,
    first_sent: Instant,
    sent: Instant,
    app_limited: bool,
}

/// State of the estimator; one snapshot per segment that is out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rates {
    delivered: u64,
    delivered_at: Instant,
    lost: u64,
    first_sent: Instant,
    /// Samples are limited by the application until this number of bytes was delivered.
    app_limited_until: u64,
    /// Position of the first snapshot.
    first: u64,
    snapshots: VecDeque<Snapshot>,
    newest: Option<Snapshot>,
}

impl Rates {
    fn snapshot(&self, now: Instant) -> Snapshot {
        Snapshot {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            sent: now,
            app_limited: self.app_limited_until > self.delivered,
        }
    }

    /// A segment is sent for the first time; `idle`: none was out.
    pub(crate) fn on_sent(&mut self, now: Instant, idle: bool) {
        if idle {
            self.first_sent = now;
            self.delivered_at = now;
        }
        let snapshot = self.snapshot(now);
        self.snapshots.push_back(snapshot);
    }

    /// The last new segment does not count as sent.
    pub(crate) fn take_back(&mut self) {
        self.snapshots.pop_back();
    }

    /// The segment at `position` is sent again.
    pub(crate) fn on_resent(&mut self, now: Instant, position: u64) {
        let snapshot = self.snapshot(now);
        let slot = usize::try_from(position.wrapping_sub(self.first)).ok();
        if let Some(old) = slot.and_then(|slot| self.snapshots.get_mut(slot)) {
            *old = snapshot;
        }
    }

    /// The segment at `position` was delivered.
    pub(crate) fn on_delivered(&mut self, position: u64) {
        let slot = usize::try_from(position.wrapping_sub(self.first)).ok();
        let Some(&snapshot) = slot.and_then(|slot| self.snapshots.get(slot)) else { return };
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

    /// `bytes` more are taken for lost.
    pub(crate) fn on_lost(&mut self, bytes: u64) {
        self.lost += bytes;
    }

    /// Bytes taken for lost in all.
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }

    /// The sample of an ACK that delivered `bytes`.
    pub(crate) fn sample(&mut self, now: Instant, bytes: u64) -> Option<RateSample> {
        if bytes > 0 {
            self.delivered += bytes;
            self.delivered_at = now;
        }
        let newest = self.newest.take()?;
        self.first_sent = newest.sent;
        let interval = newest.sent.since(newest.first_sent).max(now.since(newest.delivered_at));
        Some(RateSample {
            delivered: self.delivered - newest.delivered,
            interval,
            prior_delivered: newest.delivered,
            total: self.delivered,
            lost: self.lost,
            app_limited: newest.app_limited,
        })
    }

    /// Nothing more is sent now.
    pub(crate) fn note_app_limited(&mut self, limited: bool, pipe: u64) {
        if limited {
            self.app_limited_until = (self.delivered + pipe).max(1);
        }
    }
}
