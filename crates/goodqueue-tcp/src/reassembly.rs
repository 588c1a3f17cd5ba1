//! Data that arrived beyond a gap, and the SACK blocks that report it (RFC 2018 §4).

mod four_blocks;

use alloc::vec::Vec;

use four_blocks::FourBlocks;

use crate::segment::{MAX_SACK_BLOCKS, SackBlocks};

/// Largest number of separate ranges. A segment that would begin another range is dropped. The
/// limit bounds memory (256 KiB) and work if a sender leaves out every other byte. A window of 47
/// MB in which every second segment is lost fits.
pub const MAX_RANGES: usize = 16_384;

/// Ranges of sequence numbers beyond the data in order.
#[derive(Clone, Debug, Default)]
pub struct Reassembly {
    /// Ranges in order, with gaps between them.
    ranges: Vec<(u64, u64)>,
    /// A sequence number in each of the ranges reported last, the most recent first.
    recent: [Option<u64>; MAX_SACK_BLOCKS],
    /// True if only the ranges in `recent` are reported.
    is_forgetful: bool,
    /// A sequence number in each range, in the order in which the ranges began; `None` if the
    /// reports do not follow this order.
    created: Option<Vec<u64>>,
    /// The blocks of Linux's list, which are reported instead of ranges.
    four: Option<FourBlocks>,
}

/// The fate of a segment that did not come in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stored {
    /// At least a part is new and was kept.
    New,
    /// All of its data was here already.
    Duplicate,
    /// There are too many ranges.
    Full,
}

impl Reassembly {
    /// Returns a store that reports only the three ranges that received a segment last, as ns-2's
    /// sink does (tcp-sink.cc).
    pub fn forgetful() -> Self {
        Self { is_forgetful: true, ..Self::default() }
    }

    /// Returns a store that reports the ranges that began last, as the reassembly queue of ns-2's
    /// FullTcp does (rq.cc). Where two ranges merge, the beginning of the lower one counts.
    pub fn in_order_of_creation() -> Self {
        Self { created: Some(Vec::new()), ..Self::default() }
    }

    /// Returns a store that reports the blocks that Linux keeps.
    pub fn of_linux() -> Self {
        Self { four: Some(FourBlocks::default()), ..Self::default() }
    }

    /// Returns true if no data is held beyond a gap.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Returns the first range.
    #[inline]
    pub fn first(&self) -> Option<&(u64, u64)> {
        self.ranges.first()
    }

    /// Returns the number of bytes in all ranges.
    pub fn held(&self) -> u64 {
        self.ranges.iter().map(|range| range.1 - range.0).sum()
    }

    /// Keeps `start..end`.
    pub fn insert(&mut self, start: u64, end: u64) -> Stored {
        // Ranges `low..high` overlap or touch the new one.
        let low = self.ranges.partition_point(|range| range.1 < start);
        let touching = self.ranges.iter().skip(low).take_while(|range| range.0 <= end).count();
        let stored = match self.ranges.get(low).copied() {
            Some(range) if touching > 0 && range.0 <= start && end <= range.1 => Stored::Duplicate,
            Some(first) if touching > 0 => {
                let last = self.ranges.get(low + touching - 1).copied().unwrap_or(first);
                let merged = (start.min(first.0), end.max(last.1));
                self.ranges[low] = merged;
                if touching > 1 {
                    self.ranges.drain(low + 1..low + touching);
                }
                Stored::New
            }
            _ if self.ranges.len() >= MAX_RANGES => return Stored::Full,
            _ => {
                self.ranges.insert(low, (start, end));
                Stored::New
            }
        };
        if let Some(four) = &mut self.four {
            four.insert(start, end);
            return stored;
        }
        self.remember(low, start);
        self.note_creation(low, start, touching);
        stored
    }

    /// Returns true if `start..end` overlaps or touches one of the two ranges reported last, or if
    /// there is at most one range.
    pub fn is_usual(&self, start: u64, end: u64) -> bool {
        if let Some(four) = &self.four {
            return four.is_usual(start, end);
        }
        let mut reported = self.recent.iter().flatten().filter_map(|&seq| self.range_of(seq)).take(2);
        self.ranges.len() < 2 || reported.any(|range| start <= range.1 && range.0 <= end)
    }

    /// Everything below `next` is in order now. Removes the ranges that it reaches and returns the
    /// end of the data in order.
    pub fn advance(&mut self, next: u64) -> u64 {
        let reached = self.ranges.iter().take_while(|range| range.0 <= next).count();
        let mut end = next;
        for range in self.ranges.drain(..reached) {
            end = end.max(range.1);
        }
        if let Some(four) = &mut self.four {
            four.advance(end, self.ranges.is_empty());
        }
        if let Some(created) = &mut self.created {
            created.retain(|&seq| seq >= end);
        }
        if self.is_forgetful {
            let mut others = self.recent.into_iter().flatten().filter(|&seq| seq >= end);
            self.recent = [others.next(), others.next(), others.next()];
        }
        end
    }

    /// Returns the range that holds `seq`.
    pub fn range_of(&self, seq: u64) -> Option<(u64, u64)> {
        let index = self.ranges.partition_point(|range| range.1 <= seq);
        self.ranges.get(index).copied().filter(|range| range.0 <= seq)
    }

    /// Returns the blocks of an ACK: `first` (a DSACK) if given, then the ranges reported last,
    /// then any others (RFC 2018 §4).
    pub fn blocks(&self, ack: u64, first: Option<(u64, u64)>) -> SackBlocks {
        let mut blocks = SackBlocks::NONE;
        if let Some((start, end)) = first {
            blocks.push(ack, start, end);
        }
        if let Some(four) = &self.four {
            four.report(ack, &mut blocks);
            return blocks;
        }
        let mut reported = [(0, 0); MAX_SACK_BLOCKS];
        let mut count = 0;
        if let Some(created) = &self.created {
            for (start, end) in
                created.iter().rev().filter_map(|&seq| self.range_of(seq)).take(MAX_SACK_BLOCKS)
            {
                blocks.push(ack, start, end);
            }
            return blocks;
        }
        let recent = self.recent.iter().flatten().filter_map(|&seq| self.range_of(seq));
        // At most three of the first six ranges were reported already, so six are enough.
        let others = if self.is_forgetful { 0 } else { MAX_SACK_BLOCKS * 2 };
        for range in recent.chain(self.ranges.iter().copied().take(others)) {
            if reported[..count].contains(&range) {
                continue;
            }
            if count == reported.len() || !blocks.push(ack, range.0, range.1) {
                break;
            }
            reported[count] = range;
            count += 1;
        }
        blocks
    }

    /// The range at `index` received a segment at `start`, which joined `touching` ranges.
    fn note_creation(&mut self, index: usize, start: u64, touching: usize) {
        let (Some(created), Some(&(low, high))) = (&mut self.created, self.ranges.get(index)) else { return };
        if touching == 0 {
            created.push(start);
        } else if touching > 1 {
            let lowest = created.iter().copied().filter(|seq| (low..high).contains(seq)).min();
            created.retain(|seq| !(low..high).contains(seq) || Some(*seq) == lowest);
        }
    }

    /// Puts the range at `index`, which received the segment at `start`, before those reported
    /// last.
    fn remember(&mut self, index: usize, start: u64) {
        let Some(&(low, high)) = self.ranges.get(index) else { return };
        let elsewhere = |seq: &u64| *seq < low || *seq >= high;
        let mut others = self.recent.into_iter().flatten().filter(elsewhere);
        self.recent = [Some(start), others.next(), others.next()];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn list(store: &Reassembly) -> Vec<(u64, u64)> {
        store.blocks(10, None).iter(10).collect()
    }

    #[test]
    fn ranges_merge_when_they_touch_and_are_reported_most_recent_first() {
        let mut store = Reassembly::default();
        for start in [20, 40, 60, 80] {
            assert_eq!(store.insert(start, start + 10), Stored::New);
        }
        assert_eq!(list(&store), vec![(80, 90), (60, 70), (40, 50)]);
        assert_eq!(store.insert(30, 40), Stored::New);
        assert_eq!(list(&store), vec![(20, 50), (80, 90), (60, 70)]);
        assert_eq!(store.held(), 50);
        assert_eq!(store.insert(25, 45), Stored::Duplicate);
        assert_eq!(store.insert(0, 100), Stored::New);
        assert_eq!(store.held(), 100);
        assert_eq!(store.advance(5), 100);
        assert_eq!(store.held(), 0);
        assert!(store.is_empty());
        assert!(store.blocks(100, None).is_empty());
    }

    #[test]
    fn a_sender_that_leaves_every_other_byte_out_is_bounded() {
        let mut store = Reassembly::default();
        for hole in 0..MAX_RANGES as u64 {
            assert_eq!(store.insert(hole * 2, hole * 2 + 1), Stored::New);
        }
        let next = MAX_RANGES as u64 * 2;
        assert_eq!(store.insert(next, next + 1), Stored::Full);
        assert_eq!(store.insert(1, 2), Stored::New);
    }
}
