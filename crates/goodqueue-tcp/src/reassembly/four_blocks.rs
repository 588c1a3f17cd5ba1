//! The list of SACK blocks of Linux (`selective_acks` in tcp_input.c): the last four only.
//!
//! Linux forgets a fifth range. If a segment then comes next to the forgotten range, its block is
//! that of the segment alone, and such blocks can lie within others.

use crate::segment::{MAX_SACK_BLOCKS, SackBlocks};

/// Blocks that are kept (`TCP_NUM_SACKS`).
const MOST: usize = 4;
/// Blocks that SACKs which wait for further ones can report (`TCP_SACK_BLOCKS_EXPECTED`).
const EXPECTED: usize = 2;

/// The last four blocks, the one of the last segment first.
#[derive(Clone, Debug, Default)]
pub(super) struct FourBlocks {
    blocks: [(u64, u64); MOST],
    count: usize,
}

impl FourBlocks {
    fn list(&self) -> &[(u64, u64)] {
        self.blocks.get(..self.count).unwrap_or_default()
    }

    /// The first block that overlaps or touches `start..end`.
    fn position(&self, start: u64, end: u64) -> Option<usize> {
        self.list().iter().position(|block| touches(*block, (start, end)))
    }

    /// A segment came too early, or once more (`tcp_sack_new_ofo_skb`).
    pub(super) fn insert(&mut self, start: u64, end: u64) {
        let Some(position) = self.position(start, end) else {
            // The oldest block makes room.
            self.count = (self.count + 1).min(MOST);
            self.blocks.rotate_right(1);
            self.blocks[0] = (start, end);
            return;
        };
        self.blocks[..=position].rotate_right(1);
        self.blocks[0] = joined(self.blocks[0], (start, end));
        // Only the first block has grown, so only it can reach others (`tcp_sack_maybe_coalesce`).
        let mut kept = 1;
        for other in 1..self.count {
            let block = self.blocks[other];
            if touches(self.blocks[0], block) {
                self.blocks[0] = joined(self.blocks[0], block);
            } else {
                self.blocks[kept] = block;
                kept += 1;
            }
        }
        self.count = kept;
    }

    /// Everything below `next` is in order (`tcp_sack_remove`). `is_empty`: nothing else is held.
    pub(super) fn advance(&mut self, next: u64, is_empty: bool) {
        let mut kept = 0;
        for index in 0..if is_empty { 0 } else { self.count } {
            let block = self.blocks[index];
            if block.0 > next {
                self.blocks[kept] = block;
                kept += 1;
            }
        }
        self.count = kept;
    }

    /// Returns true if a waiting SACK can report `start..end`, too.
    pub(super) fn is_usual(&self, start: u64, end: u64) -> bool {
        self.position(start, end).unwrap_or(self.count) < EXPECTED
    }

    /// Appends the blocks that fit.
    pub(super) fn report(&self, ack: u64, blocks: &mut SackBlocks) {
        for block in self.list().iter().take(MAX_SACK_BLOCKS) {
            if !blocks.push(ack, block.0, block.1) {
                break;
            }
        }
    }
}

/// True if the two overlap, or one begins where the other ends.
const fn touches(a: (u64, u64), b: (u64, u64)) -> bool {
    a.0 <= b.1 && b.0 <= a.1
}

fn joined(a: (u64, u64), b: (u64, u64)) -> (u64, u64) {
    (a.0.min(b.0), a.1.max(b.1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn with(segments: &[(u64, u64)]) -> FourBlocks {
        let mut blocks = FourBlocks::default();
        for segment in segments {
            blocks.insert(segment.0, segment.1);
        }
        blocks
    }

    fn reported(blocks: &FourBlocks) -> Vec<(u64, u64)> {
        let mut report = SackBlocks::NONE;
        blocks.report(1, &mut report);
        report.iter(1).collect()
    }

    #[test]
    fn the_block_of_the_last_segment_comes_first() {
        let blocks = with(&[(20, 30), (40, 50), (60, 70), (50, 60)]);
        assert_eq!(reported(&blocks), [(40, 70), (20, 30)], "a hole was filled");
        assert_eq!(reported(&with(&[(20, 30), (40, 50), (20, 30)])), [(20, 30), (40, 50)]);
    }

    #[test]
    fn a_fifth_range_takes_the_place_of_the_oldest() {
        let mut blocks = with(&[(20, 30), (40, 50), (60, 70), (80, 90), (100, 110)]);
        assert_eq!(reported(&blocks), [(100, 110), (80, 90), (60, 70)]);
        // The range from 20 to 30 is forgotten: its new end stands alone.
        blocks.insert(30, 35);
        assert_eq!(reported(&blocks), [(30, 35), (100, 110), (80, 90)]);
    }

    #[test]
    fn a_block_that_is_reached_by_data_in_order_goes() {
        let mut blocks = with(&[(20, 30), (40, 50), (60, 70)]);
        blocks.advance(40, false);
        assert_eq!(reported(&blocks), [(60, 70)]);
        blocks.advance(41, true);
        assert!(reported(&blocks).is_empty());
    }

    #[test]
    fn waiting_sacks_report_the_first_two_blocks() {
        let usual = |segments: &[(u64, u64)], start| with(segments).is_usual(start, start + 10);
        assert!(usual(&[], 20) && usual(&[(20, 30)], 100), "a second block");
        assert!(!usual(&[(20, 30), (40, 50)], 100), "a third one");
        assert!(usual(&[(20, 30), (40, 50)], 30) && usual(&[(20, 30), (40, 50)], 50));
        assert!(!usual(&[(20, 30), (50, 60), (80, 90)], 30), "the oldest of three");
    }
}
