//! Where a record is: by its position in the ring, and by its sequence number.

use alloc::vec;

use super::slot::{low, whole};
use super::{Record, SACKED, Scoreboard, Slot};

impl Scoreboard {
    /// Position of the oldest segment.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// Position of the segment to come next.
    pub fn next_position(&self) -> u64 {
        self.next
    }

    /// The segment at `position`, if it is out.
    pub fn record(&self, position: u64) -> Option<Record> {
        (position >= self.first && position < self.next).then(|| self.unpacked(position))
    }

    pub(super) fn seq_of_first(&self) -> u64 {
        if self.is_empty() { self.end_seq } else { self.seq_of(*self.at(self.first)) }
    }

    /// Positions of the records that lie within a block, the second after the last.
    pub fn positions(&self, start: u64, end: u64) -> (u64, u64) {
        (self.position(start), self.position_before(end.min(self.end_seq)))
    }

    /// Position of the first record that begins at or after `seq`.
    pub(super) fn position(&self, seq: u64) -> u64 {
        if seq >= self.end_seq {
            return self.next;
        }
        let start = self.seq_of_first();
        if seq <= start {
            return self.first;
        }
        // Nearly always all segments are full, and the narrow division is the cheap one.
        let distance = u32::try_from(seq - start).unwrap_or(u32::MAX);
        let guess = self.first + u64::from(distance / self.mss);
        if guess < self.next && self.at(guess).low == low(seq) {
            return guess;
        }
        let mut low = self.first;
        let mut high = self.next;
        while low < high {
            let middle = low + (high - low) / 2;
            if self.seq_of(*self.at(middle)) < seq {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Position after the last record that ends at or before `seq`.
    pub(super) fn position_before(&self, seq: u64) -> u64 {
        let position = self.position(seq);
        let start = if position < self.next { self.seq_of(*self.at(position)) } else { self.end_seq };
        if start == seq { position } else { position.saturating_sub(1).max(self.first) }
    }

    /// Returns true if the segment at `position` is out and was selectively acknowledged.
    #[inline]
    pub fn is_sacked(&self, position: u64) -> bool {
        position < self.next && position >= self.first && self.at(position).is(SACKED)
    }

    #[inline]
    fn slot(&self, position: u64) -> usize {
        // The number of records is a power of two, so a mask replaces the division.
        usize::try_from(position & (self.records.len() as u64 - 1)).unwrap_or(0)
    }

    #[inline]
    pub(super) fn at(&self, position: u64) -> &Slot {
        &self.records[self.slot(position)]
    }

    #[inline]
    pub(super) fn at_mut(&mut self, position: u64) -> &mut Slot {
        let slot = self.slot(position);
        &mut self.records[slot]
    }

    /// Places from the oldest record on, a cache line from each other, and that of the next record
    /// to come.
    #[inline]
    pub fn sample(&self) -> impl Iterator<Item = &Slot> {
        // Four slots of 16 bytes make a cache line of 64.
        let from_oldest = (self.first..self.next).step_by(4).take(3);
        from_oldest.chain([self.next]).map(|position| self.at(position))
    }

    /// The whole sequence number of a record that is out.
    #[inline]
    pub(super) fn seq_of(&self, record: Slot) -> u64 {
        whole(self.end_seq, record.low)
    }

    #[inline]
    pub(super) fn unpacked(&self, position: u64) -> Record {
        let record = *self.at(position);
        Record { seq: self.seq_of(record), len: u32::from(record.len) }
    }

    #[cold]
    pub(super) fn grow(&mut self) {
        let capacity = self.records.len() * 2;
        let mut records = vec![Slot::default(); capacity].into_boxed_slice();
        for position in self.first..self.next {
            // The lower bits of a position are its place in the ring, and there is one bit more
            // now.
            records[usize::try_from(position & (capacity as u64 - 1)).unwrap_or(0)] = *self.at(position);
        }
        self.records = records;
    }
}
