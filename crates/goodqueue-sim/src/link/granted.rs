//! The state of a link that sends only what it has been granted.

use goodqueue::{Instant, Rate};

use crate::grants::{Grants, Requests};
use crate::packet::Packet;
use goodqueue_link::work::{Progress, Work};

/// The server of a link with grants.
#[derive(Debug)]
pub(super) struct Granted {
    pub(super) requests: Requests,
    /// Number of the next interval whose grant is to be used.
    pub(super) next: u64,
    /// Unused bytes of that grant, while its packets leave.
    pub(super) left: Option<u64>,
    /// A packet that did not fit into the last grant, and its remaining bytes.
    pub(super) in_transit: Option<(Packet, u32)>,
    pub(super) changes: Vec<(Instant, Rate)>,
    /// Work that the link could have sent in the intervals before `settled`.
    capacity: Work,
    /// Number of the first interval that `capacity` does not contain.
    settled: u64,
}

impl Granted {
    pub(super) const fn new(grants: Grants, rate: Rate, changes: Vec<(Instant, Rate)>) -> Self {
        Self {
            requests: Requests::new(grants, rate),
            next: 0,
            left: None,
            in_transit: None,
            changes,
            capacity: Work::ZERO,
            settled: 0,
        }
    }

    /// Returns the time, `now` or later, of the next grant; `None` while the rate is 0.
    pub(super) fn next_grant(&mut self, now: Instant) -> Option<Instant> {
        let grants = self.requests.grants();
        // The grant that begins at `now` may be used already.
        self.next = grants.first_not_before(now).max(self.next);
        (self.requests.rate().as_bps() > 0).then(|| grants.start_of(self.next))
    }

    /// Returns the state of the link's work at `now`. An interval counts once it has begun, because
    /// its whole burst leaves at its beginning.
    pub(super) fn progress(&self, now: Instant) -> Progress {
        Progress { unsent: Work::ZERO, capacity: self.capacity_before(now) }
    }

    fn capacity_before(&self, now: Instant) -> Work {
        let grants = self.requests.grants();
        let begun = grants.first_not_before(now).saturating_sub(self.settled);
        self.capacity.plus(Work::at(self.requests.rate(), grants.interval().saturating_mul(begun)))
    }

    /// Applies the rate of the schedule to the intervals that begin at `now` or later.
    pub(super) fn change_rate(&mut self, now: Instant) {
        // With the old rate, and so before it changes.
        self.capacity = self.capacity_before(now);
        self.settled = self.requests.grants().first_not_before(now);
        // Of several changes at one time the last one counts.
        if let Some(due) = self.changes.iter().rev().find(|change| change.0 <= now) {
            self.requests.change_rate(now, due.1);
        }
    }
}
