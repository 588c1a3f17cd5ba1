//! Retransmissions: which segment is next (NextSeg, RFC 6675 §4), and the marks of segments that
//! were sent again.

use goodqueue::Instant;

use super::{AMBIGUOUS, LOST, RESENT, Record, SACKED, Scoreboard};

impl Scoreboard {
    /// True if the oldest segment is taken for lost.
    pub fn is_front_lost(&self) -> bool {
        !self.is_empty() && self.at(self.first).marks & (LOST | SACKED) == LOST
    }

    /// True if the oldest segment was sent again.
    pub fn is_front_resent(&self) -> bool {
        !self.is_empty() && self.at(self.first).is(AMBIGUOUS)
    }

    /// Marks the oldest segment as lost, without regard to SACKs above it.
    pub fn mark_front_lost(&mut self) {
        if self.is_empty() {
            return;
        }
        let front = *self.at(self.first);
        if front.marks & (LOST | SACKED) == 0 {
            self.at_mut(self.first).marks |= LOST;
            self.lost += front.len();
            if front.is_out() {
                self.note_lost(self.first, front.len());
            }
        }
    }

    /// The first segment that is lost and not yet resent (NextSeg rule 1, RFC 6675 §4).
    #[inline]
    pub fn next_lost(&mut self) -> Option<(u64, Record)> {
        if self.lost == 0 {
            return None;
        }
        if self.rack {
            // Lost ones may lie beyond others that are not.
            while self.resend < self.next {
                if self.at(self.resend).marks & (SACKED | RESENT | LOST) == LOST {
                    return Some((self.resend, self.unpacked(self.resend)));
                }
                self.resend += 1;
            }
            return None;
        }
        let position = self.next_to_resend()?;
        self.at(position).is(LOST).then(|| (position, self.unpacked(position)))
    }

    /// The first segment that is neither SACKED nor resent, below one that is SACKED (NextSeg rule
    /// 3).
    pub fn next_hole(&mut self) -> Option<(u64, Record)> {
        let hole = self.next_to_resend()?;
        (hole < self.high_sacked).then(|| (hole, self.unpacked(hole)))
    }

    /// Position of the first segment from `position` on that is not SACKED, below one that is.
    pub fn hole_from(&self, position: u64) -> Option<u64> {
        (position.max(self.first)..self.high_sacked).find(|&hole| !self.at(hole).is(SACKED))
    }

    /// The last segment that is not SACKED (NextSeg rule 4, the rescue retransmission).
    pub fn rescue(&self) -> Option<(u64, Record)> {
        let last = (self.first..self.next).rev().find(|&position| !self.at(position).is(SACKED))?;
        Some((last, self.unpacked(last)))
    }

    /// The oldest segment.
    pub fn front(&self) -> Option<(u64, Record)> {
        (!self.is_empty()).then(|| (self.first, self.unpacked(self.first)))
    }

    /// The segment at `position` was sent again.
    pub fn resent(&mut self, position: u64, now: Instant) {
        let record = self.at_mut(position);
        let before = *record;
        record.marks |= RESENT | AMBIGUOUS;
        record.sent = now;
        // A retransmission that is sent a second time replaces the first, so its bytes count once.
        if before.marks & (SACKED | RESENT) == 0 {
            self.resent += before.len();
        }
        if self.rack {
            self.resends.push_back((position, now, self.next));
        }
    }

    /// The segment at `position` was sent again, and takes the place of what was sent before, if
    /// that is not taken for lost.
    pub fn resent_in_place(&mut self, position: u64, now: Instant) {
        let lost = self.at(position).is(LOST);
        if lost {
            self.resent(position, now);
        } else {
            let record = self.at_mut(position);
            record.marks |= AMBIGUOUS;
            record.sent = now;
        }
    }

    /// When the segment at `position` was last sent; whether it was sent once.
    pub fn last_sent(&self, position: u64) -> (Instant, bool) {
        let record = self.at(position);
        (record.sent, !record.is(AMBIGUOUS))
    }

    fn next_to_resend(&mut self) -> Option<u64> {
        while self.resend < self.next {
            if self.at(self.resend).marks & (SACKED | RESENT) == 0 {
                return Some(self.resend);
            }
            self.resend += 1;
        }
        None
    }
}
