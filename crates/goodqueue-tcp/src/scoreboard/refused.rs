//! Segments that the host's own queue refused, and that therefore do not count as sent.

use super::{AMBIGUOUS, APART, RESENT, SACKED, Scoreboard};

impl Scoreboard {
    /// The last new segment does not count as sent.
    pub fn pop(&mut self) {
        if self.is_empty() {
            return;
        }
        let record = *self.at(self.next - 1);
        let len = record.len();
        self.next -= 1;
        self.pieces -= u64::from(record.is(APART));
        self.end_seq -= len;
        self.outstanding -= len;
        // `high_sacked` is no cursor to move: a segment that never left cannot have been SACKed.
        for cursor in [&mut self.resend, &mut self.edge, &mut self.undecided, &mut self.doubted] {
            *cursor = (*cursor).min(self.next);
        }
    }

    /// The last retransmission, of the segment that begins at `seq`, does not count as sent.
    pub fn take_resent_back(&mut self, seq: u64) {
        let position = self.position(seq);
        if position >= self.next || !self.at(position).is(RESENT) {
            return;
        }
        let record = self.at_mut(position);
        record.marks &= !RESENT;
        let before = *record;
        if !before.is(SACKED) {
            self.resent -= before.len();
        }
        self.resend = self.resend.min(position);
        self.resends.pop_back();
    }

    /// True if the segment that begins at `seq` was sent more than once.
    pub fn was_resent(&self, seq: u64) -> bool {
        let position = self.position(seq);
        position < self.next && self.at(position).is(AMBIGUOUS)
    }
}
