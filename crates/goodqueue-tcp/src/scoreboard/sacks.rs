//! Selective acknowledgements: the records that they mark, and those that they show to be lost (RFC
//! 6675 §4).

use crate::segment::{MAX_SACK_BLOCKS, SackBlocks};

use super::{DUP_THRESH, LOST, MarkedBlock, RESENT, SACKED, Scoreboard};

impl Scoreboard {
    /// Marks the records of the blocks, then the records that are thereby lost (Update and IsLost,
    /// RFC 6675 §4). Returns the bytes newly marked, and how many blocks make no sense and were
    /// ignored.
    pub fn sack(&mut self, ack: u64, blocks: &SackBlocks) -> (u64, u64) {
        let mut bytes = 0;
        let mut invalid = 0;
        let known = self.known;
        let mut seen = [MarkedBlock::default(); MAX_SACK_BLOCKS];
        // The lowest first, as Linux sorts them: after an ACK that was lost two may be new, and
        // neither overtook the other.
        let mut list = [(u64::MAX, 0); MAX_SACK_BLOCKS];
        list.iter_mut().zip(blocks.iter(ack)).for_each(|(place, block)| *place = block);
        list.sort_unstable();
        for (slot, (start, end)) in seen.iter_mut().zip(list).take(blocks.len()) {
            if start >= end || end > self.end_seq {
                invalid += 1;
                continue;
            }
            if end <= ack {
                continue; // DSACK, or old
            }
            // Most blocks repeat one of the last ACK, so their records need no second look.
            if let Some(same) = known.iter().find(|known| known.start == start && known.end == end) {
                *slot = *same;
                continue;
            }
            let low = self.position(start);
            let high = self.position_before(end);
            bytes += self.mark_sacked(low, high, &known);
            *slot = MarkedBlock { start, end, low, high };
        }
        self.known = seen;
        if bytes > 0 && self.counts {
            self.mark_lost();
        }
        (bytes, invalid)
    }

    /// Marks the records `low..high` except those in `known`.
    fn mark_sacked(&mut self, low: u64, high: u64, known: &[MarkedBlock]) -> u64 {
        if low >= high {
            return 0;
        }
        for (index, old) in known.iter().enumerate() {
            if old.low < high && low < old.high {
                // Each level has fewer known blocks, and an ACK has three, so the recursion is
                // short.
                let rest = known.get(index + 1..).unwrap_or(&[]);
                return self.mark_sacked(low, old.low, rest) + self.mark_sacked(old.high, high, rest);
            }
        }
        let mut bytes = 0;
        for position in low..high {
            let record = *self.at(position);
            if record.is(SACKED) {
                continue;
            }
            let len = record.len();
            bytes += len;
            if self.watched {
                self.note_sacked(position, record);
            }
            self.at_mut(position).marks |= SACKED;
            // Only hosts with Linux join SACKed segments, and only their scoreboards have `rack`.
            if self.rack {
                self.join(position);
            }
            if record.is(LOST) {
                self.lost -= len;
            }
            if record.is(RESENT) {
                self.resent -= len;
            }
            if position >= self.edge {
                self.sacked_above += len;
                // A range counts at its last record, so a record that extends a range replaces its
                // count.
                self.ranges_above += u64::from(!self.is_sacked(position + 1));
                self.ranges_above -= u64::from(position > self.edge && self.is_sacked(position - 1));
            }
        }
        self.sacked += bytes;
        self.high_sacked = self.high_sacked.max(high);
        bytes
    }

    /// Marks as lost each record with enough SACKED above it (IsLost, RFC 6675 §4): more than two
    /// segments' bytes, or three separate ranges.
    fn mark_lost(&mut self) {
        while self.edge < self.next
            && (self.sacked_above > (DUP_THRESH - 1) * u64::from(self.mss) || self.ranges_above >= DUP_THRESH)
        {
            let record = *self.at(self.edge);
            let len = record.len();
            if record.is(SACKED) {
                self.sacked_above -= len;
                self.ranges_above -= u64::from(!self.is_sacked(self.edge + 1));
            } else if !record.is(LOST) {
                self.at_mut(self.edge).marks |= LOST;
                self.lost += len;
                self.note_lost(self.edge, len);
            }
            self.edge += 1;
        }
    }
}
