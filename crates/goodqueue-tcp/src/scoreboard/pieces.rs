//! The pieces of memory in which the host keeps the segments that are out. A burst is one piece
//! until a part of it is changed (Linux `tcp_fragment`). A SACKed segment is joined with the SACKed
//! segments before it (`tcp_shift_skb_data`).

use super::{APART, SACKED, Scoreboard};

impl Scoreboard {
    /// How many.
    #[inline]
    pub fn pieces(&self) -> u64 {
        self.pieces
    }

    /// True if the record at `position` begins one.
    pub fn begins_piece(&self, position: u64) -> bool {
        self.at(position).is(APART)
    }

    /// The record at `position` begins one.
    #[inline]
    pub(super) fn part(&mut self, position: u64) {
        let record = self.at_mut(position);
        let together = !record.is(APART);
        record.marks |= APART;
        self.pieces += u64::from(together);
    }

    /// The record at `position` belongs to the piece before it.
    fn unite(&mut self, position: u64) {
        let record = self.at_mut(position);
        let apart = record.is(APART);
        record.marks &= !APART;
        self.pieces -= u64::from(apart);
    }

    /// The record at `position` was just SACKed.
    pub(super) fn join(&mut self, position: u64) {
        if position + 1 < self.next {
            self.part(position + 1);
        }
        if position > self.first && self.at(position - 1).is(SACKED) {
            self.unite(position);
            if self.is_sacked(position + 1) {
                self.unite(position + 1);
            }
        } else {
            self.part(position);
        }
    }

    /// The record at `position` is about to be sent again, with those that follow it in its piece,
    /// of which `most` may leave together. The rest is cut off.
    pub fn cut(&mut self, position: u64, most: u64) {
        let ends = (position + 1..self.next).find(|&next| self.at(next).is(APART)).unwrap_or(self.next);
        if position + most < ends {
            self.part(position + most);
        }
    }

    /// The record at `position` is sent again alone.
    pub fn cut_out(&mut self, position: u64) {
        self.part(position);
        self.cut(position, 1);
    }
}
