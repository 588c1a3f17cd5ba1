//! Losses by forward acknowledgement: the scoreboard's part of Linux's loss detection before RACK.

use super::{LOST, RESENT, SACKED, Scoreboard, Slot};

impl Scoreboard {
    /// Segments from the oldest to the highest that is SACKed, both of them counted; 0 if none is.
    #[inline]
    pub fn forward(&self) -> u64 {
        self.high_sacked.saturating_sub(self.first)
    }

    /// Marks as lost the un-SACKed of the first `count` segments that begin below `end`.
    pub fn mark_first(&mut self, count: u64, end: u64) {
        let end = (self.first + count).min(self.position(end));
        let mut position = self.undecided.max(self.first);
        while position < end {
            self.mark(position);
            position += 1;
        }
        self.undecided = position;
    }

    /// Marks as lost each segment with more than `above` SACKed segments above it that begins below
    /// `end`.
    pub fn mark_with_sacked_above(&mut self, above: u64, end: u64) {
        let end = self.high_sacked.min(self.position(end));
        // Nearly all segments are full, so the bytes stand for the number of segments.
        let mut ahead = self.sacked / u64::from(self.mss);
        for position in self.first..end {
            if ahead < above {
                break;
            }
            if self.is_sacked(position) {
                ahead = ahead.saturating_sub(1);
            } else {
                self.mark(position);
            }
        }
    }

    fn mark(&mut self, position: u64) {
        let record = self.at_mut(position);
        if record.marks & (SACKED | LOST) == 0 {
            record.marks |= LOST;
            let bytes = u64::from(record.len);
            self.lost += bytes;
            // The search for the next retransmission starts at `resend`.
            self.resend = self.resend.min(position);
            self.note_lost(position, bytes);
        }
    }

    /// Retransmissions are lost when something was SACKed that was sent for the first time after
    /// them. Returns whether one is.
    pub fn detect_passed_resent(&mut self) -> bool {
        let mut found = false;
        while let Some(&(position, sent, next)) = self.resends.front() {
            let known = position >= self.first && position < self.next;
            let record = if known { *self.at(position) } else { Slot::default() };
            // A segment that was sent again since then has a later entry, which decides about it.
            let is_out = record.sent == sent && record.marks & (SACKED | RESENT) == RESENT;
            if is_out && self.high_sacked <= next {
                break;
            }
            self.resends.pop_front();
            if is_out {
                self.lose_resent(position);
                found = true;
            }
        }
        found
    }

    /// The first segment below the highest SACKed one that is neither SACKed nor sent again, lost
    /// or not.
    pub fn first_hole(&mut self) -> Option<(u64, super::Record)> {
        let hole = (self.first..self.high_sacked).find(|&at| self.at(at).marks & (SACKED | RESENT) == 0)?;
        Some((hole, self.unpacked(hole)))
    }
}
