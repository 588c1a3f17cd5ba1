//! A timeout that may have been a mistake: the scoreboard's part of F-RTO as Linux had it up to
//! 3.9.

use super::{AMBIGUOUS, APART, LOST, RESENT, SACKED, Scoreboard};

impl Scoreboard {
    /// The retransmission of the oldest segment is not in the network any more.
    pub fn take_front_resent_back(&mut self) {
        if self.is_empty() {
            return;
        }
        let front = *self.at(self.first);
        if front.marks & (RESENT | SACKED) == RESENT {
            self.resent -= front.len();
        }
        self.at_mut(self.first).marks &= !RESENT;
        self.resend = self.first;
    }

    /// Something beyond the oldest segment was sent more than once, and is not cumulatively
    /// acknowledged.
    pub fn has_resent_beyond_front(&self) -> bool {
        (self.first + 1..self.next).any(|position| self.at(position).is(AMBIGUOUS))
    }

    /// Everything not SACKED is lost, and no retransmission is in the network but, with
    /// `keeps_front`, that of the oldest segment.
    pub fn lose_all(&mut self, keeps_front: bool) {
        self.lost = 0;
        self.resent = 0;
        for position in self.first..self.next {
            let kept = if keeps_front && position == self.first { RESENT } else { 0 };
            let record = self.at_mut(position);
            let was_out = record.is_out();
            record.marks &= SACKED | AMBIGUOUS | APART | kept;
            if !record.is(SACKED) {
                record.marks |= LOST;
                let record = *record;
                self.lost += record.len();
                self.resent += if record.is(RESENT) { record.len() } else { 0 };
                if was_out && !record.is_out() {
                    self.note_lost(position, record.len());
                }
            }
        }
        self.undecided = self.first;
        self.doubted = self.next;
        // Counting finds no further loss in what is lost already.
        self.edge = self.next;
        self.sacked_above = 0;
        self.ranges_above = 0;
        self.resend = self.first;
    }
}
