//! Losses by time: the scoreboard's part of RACK (RFC 8985 §6.2).

use goodqueue::{Duration, Instant};

use super::slot::whole;
use super::{AMBIGUOUS, Delivered, LOST, LateSegments, RESENT, SACKED, Scoreboard, Slot};

impl Scoreboard {
    pub(super) fn note_sacked(&mut self, position: u64, record: Slot) {
        self.note_delivered(position);
        self.note_marked_arrival(record, self.recent, false);
        if !record.is(AMBIGUOUS) {
            self.note_displacement(position);
            let arrivals = &mut self.arrivals;
            arrivals.first_sacked =
                Some(arrivals.first_sacked.map_or(record.sent, |time| time.min(record.sent)));
            arrivals.last_sacked = arrivals.last_sacked.max(Some(record.sent));
        }
    }

    /// Marks as lost the segments that were sent before `newest` and had `wait` to arrive (RFC 8985
    /// §6.2 step 5). Segments that were sent once stand in the order of their times, as do the
    /// retransmissions in theirs: both are walked from the oldest undecided one, so that the cost
    /// of an ACK does not depend on the window unless it must wait.
    pub fn detect(&mut self, now: Instant, newest: Delivered, wait: Duration) -> LateSegments {
        let mut found = LateSegments::default();
        let end_seq = self.end_seq;
        let remaining = |record: &Slot| {
            let this = Delivered { sent: record.sent, end: whole(end_seq, record.low) + record.len() };
            (this < newest).then(|| (record.sent + wait).since(now))
        };
        let mut position = self.undecided.max(self.first);
        self.undecided = position;
        while position < self.next {
            let record = *self.at(position);
            if record.marks & (SACKED | LOST | AMBIGUOUS) == 0 {
                match remaining(&record) {
                    Some(Duration::ZERO) => {
                        self.at_mut(position).marks |= LOST;
                        self.lost += record.len();
                        found.lost += record.len();
                        self.resend = self.resend.min(position);
                        self.note_lost(position, record.len());
                    }
                    // The timer waits for the last of them, so that it runs out once for all (RFC
                    // 8985 §6.2 step 5).
                    Some(later) => found.next = found.next.max(Some(later)),
                    None => break,
                }
            }
            position += 1;
            // The cursor stays at the first segment that must wait, which the next call looks at
            // again.
            if found.next.is_none() {
                self.undecided = position;
            }
        }
        if self.resends.is_empty() {
            return found;
        }
        let after_newest = self.position_before(newest.end);
        self.detect_resent(&mut found, |record, next| {
            // Linux orders segments of one instant by sequence number (`tcp_rack_sent_after()`), as
            // new data follows retransmissions in what one ACK lets out. Several ACKs may come in
            // one instant here, so the order is that of leaving.
            let left_before = record.sent < newest.sent || after_newest > next;
            remaining(record).filter(|_| left_before)
        });
        found
    }

    /// As [`detect`](Self::detect), of segments that were sent again. `remaining` is given the
    /// record, and the position of the next new segment when it was sent again.
    fn detect_resent(
        &mut self,
        found: &mut LateSegments,
        remaining: impl Fn(&Slot, u64) -> Option<Duration>,
    ) {
        let mut kept = 0;
        while let Some(&(position, sent, next)) = self.resends.get(kept) {
            // A segment that is no longer out compares as a record that was never sent again.
            let known = position >= self.first && position < self.next;
            let record = if known { *self.at(position) } else { Slot::default() };
            if record.sent != sent || record.marks & (SACKED | RESENT) != RESENT {
                self.resends.remove(kept);
                continue;
            }
            match remaining(&record, next) {
                Some(Duration::ZERO) => {
                    self.resends.remove(kept);
                    self.lose_resent(position);
                    found.lost += record.len();
                    found.retransmission = true;
                }
                Some(later) => {
                    found.next = found.next.max(Some(later));
                    kept += 1;
                }
                None => break,
            }
        }
    }

    /// The retransmission at `position` was lost.
    pub(super) fn lose_resent(&mut self, position: u64) {
        let record = self.at_mut(position);
        let len = record.len();
        let was_lost = record.is(LOST);
        record.marks = (record.marks & !RESENT) | LOST;
        self.resent -= len;
        if !was_lost {
            self.lost += len;
        }
        self.resend = self.resend.min(position);
        self.note_lost(position, len);
    }

    /// When the oldest segment was last sent.
    pub fn front_sent(&self) -> Option<Instant> {
        (!self.is_empty()).then(|| self.at(self.first).sent)
    }

    /// Removes all loss marks. Retransmissions stay marked.
    pub fn unmark_lost(&mut self) {
        for position in self.first..self.next {
            self.at_mut(position).marks &= !LOST;
        }
        self.lost = 0;
        self.undecided = self.first;
        self.resend = self.first;
        self.edge = self.first;
        self.sacked_above = self.sacked;
        let ends = (self.first..self.next).filter(|&at| self.is_sacked(at) && !self.is_sacked(at + 1));
        self.ranges_above = ends.count() as u64;
    }
}
