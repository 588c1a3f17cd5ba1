//! What a timeout, or a stack that starts again, discards.

use goodqueue::Instant;

use super::{AMBIGUOUS, APART, LOST, MarkedBlock, RESENT, SACKED, Scoreboard};
use crate::segment::MAX_SACK_BLOCKS;

impl Scoreboard {
    /// The retransmission timer ran out: everything not SACKED is lost, and no retransmission is in
    /// the network. What is SACKED stays so, unless the oldest segment is SACKED: then the receiver
    /// reneged (RFC 2018 §8).
    ///
    /// What was sent after `recent`, except the oldest segment, may still arrive and is kept (RFC
    /// 8985 §6.3).
    pub fn time_out(&mut self, recent: Instant, forget: bool) {
        let reneged = forget || (!self.is_empty() && self.at(self.first).is(SACKED));
        if reneged {
            self.known = [MarkedBlock::default(); MAX_SACK_BLOCKS];
            self.high_sacked = self.first;
        }
        self.sacked = 0;
        self.lost = 0;
        self.resent = 0;
        let first = self.first;
        for position in self.first..self.next {
            let record = self.at_mut(position);
            let len = record.len();
            let was_out = record.is_out();
            if record.is(SACKED) && !reneged {
                self.sacked += len;
            } else if record.sent > recent && position != first {
                record.marks &= AMBIGUOUS | RESENT | LOST | APART;
                let marks = record.marks;
                self.lost += if marks & LOST != 0 { len } else { 0 };
                self.resent += if marks & RESENT != 0 { len } else { 0 };
            } else {
                record.marks = (record.marks & (AMBIGUOUS | APART)) | LOST;
                self.lost += len;
                if was_out {
                    self.note_lost(position, len);
                }
            }
        }
        self.undecided = self.first;
        self.doubted = self.next;
        // Counting finds no further loss in what was sent before the timeout.
        self.edge = self.next;
        self.sacked_above = 0;
        self.ranges_above = 0;
        self.resend = self.first;
    }

    /// Discards all SACKs, and the retransmission marks of segments that are not lost.
    pub fn forget_sacked(&mut self) {
        for position in self.first..self.next {
            let record = self.at_mut(position);
            let before = *record;
            let kept = if before.is(LOST) { LOST | RESENT | AMBIGUOUS } else { AMBIGUOUS };
            record.marks &= kept | APART;
            let len = before.len();
            if before.is(SACKED) && before.is(LOST) {
                self.lost += len;
                self.resent += if before.is(RESENT) { len } else { 0 };
            } else if before.is(RESENT) && !before.is(LOST | SACKED) {
                self.resent -= len;
            }
        }
        self.sacked = 0;
        self.sacked_above = 0;
        self.ranges_above = 0;
        self.edge = self.first;
        self.resend = self.first;
        self.high_sacked = self.first;
        self.known = [MarkedBlock::default(); MAX_SACK_BLOCKS];
    }

    /// Removes all marks of losses and retransmissions.
    pub fn forget_lost(&mut self) {
        for position in self.first..self.next {
            self.at_mut(position).marks &= SACKED | AMBIGUOUS | APART;
        }
        self.lost = 0;
        self.resent = 0;
        self.resend = self.first;
    }
}
