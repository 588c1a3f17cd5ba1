//! What ns-2's Agent/TCP/Linux knows of the segments that are out (scoreboard1.cc).
//!
//! Segments of one kind lie together in a block. An ACK is taken in by one walk from the oldest
//! block on, which ends where its SACK blocks do unless something changed that concerns later ones:
//! what the walk did not reach is judged by a later ACK. A retransmission is lost again if
//! something that was sent after it arrived: a segment that was new when it left, or a
//! retransmission more than four places behind it.

use alloc::vec::Vec;

/// A segment is lost if one so many places above it arrived: one more than elsewhere.
const DISTANCE: u64 = 4;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Out,
    Sacked,
    Lost,
    /// Sent again, as the `order`-th, when `next` was the segment to be sent next. Such a block has
    /// one segment.
    Resent {
        next: u64,
        order: i64,
    },
}

/// Segments from `start` to before `end`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Block {
    start: u64,
    end: u64,
    kind: Kind,
}

/// What an ACK showed.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Shown {
    /// Something was SACKed for the first time.
    pub(crate) sacked: bool,
    /// Something was found lost.
    pub(crate) lost: bool,
}

/// The blocks, from the oldest segment on without a gap; none while nothing is SACKED or lost.
/// Segments are counted by their positions, see [`Scoreboard`](super::Scoreboard).
#[derive(Clone, Debug)]
pub(crate) struct Blocks {
    blocks: Vec<Block>,
    /// Where the walk puts what it has seen.
    walked: Vec<Block>,
    sacked: u64,
    lost: u64,
    /// The highest SACKED segment.
    highest: u64,
    /// What is to be sent again is looked for from here on; nothing is, if it is not known.
    resend_from: Option<u64>,
    /// Place of the next retransmission in their order, and of the last one that is known to have
    /// arrived.
    order: i64,
    arrived: i64,
}

impl Default for Blocks {
    fn default() -> Self {
        let blocks = Vec::new();
        let walked = Vec::new();
        // The first retransmission has place 0, so -1 means that none has arrived.
        Self { blocks, walked, sacked: 0, lost: 0, highest: 0, resend_from: None, order: 0, arrived: -1 }
    }
}

impl Blocks {
    /// Segments that are out but not in the network.
    pub(crate) fn gone(&self) -> u64 {
        self.sacked + self.lost
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        self.blocks.clear();
        self.sacked = 0;
        self.lost = 0;
        self.highest = 0;
        self.resend_from = None;
        self.order = 0;
        self.arrived = -1;
    }

    /// Takes in an ACK of everything below `una`, with SACK blocks `sacks`, first and last but one,
    /// in rising order.
    pub(crate) fn take(&mut self, una: u64, sacks: &[(u64, u64)]) -> Shown {
        let mut whole = self.acknowledge(una);
        // With nothing SACKED or lost any more, ns-2 counts retransmissions from 0 again
        // (`ClearScoreBoard`).
        if self.blocks.is_empty() {
            self.clear();
            whole = false;
        }
        if let Some(&(_, end)) = sacks.last()
            && self.highest + 1 < end
        {
            self.highest = end - 1;
            whole = true;
        }
        // Nothing changed that could show another segment lost.
        if !whole && sacks.is_empty() {
            return Shown::default();
        }
        if self.blocks.is_empty() {
            self.blocks.push(Block { start: una, end: self.highest + 1, kind: Kind::Out });
        }
        self.walk(sacks, whole)
    }

    /// Takes off what is below `una`. True if a retransmission arrived that is later than those
    /// known.
    fn acknowledge(&mut self, una: u64) -> bool {
        let mut is_news = false;
        let mut passed = 0;
        for block in &mut self.blocks {
            if block.start >= una {
                break;
            }
            let count = block.end.min(una) - block.start;
            match block.kind {
                Kind::Sacked => self.sacked -= count,
                Kind::Lost => self.lost -= count,
                Kind::Resent { order, .. } if order > self.arrived => {
                    self.arrived = order;
                    is_news = true;
                }
                Kind::Resent { .. } | Kind::Out => {}
            }
            if block.end > una {
                block.start = una;
                break;
            }
            passed += 1;
        }
        self.blocks.drain(..passed);
        is_news
    }

    fn walk(&mut self, sacks: &[(u64, u64)], mut whole: bool) -> Shown {
        let mut shown = Shown::default();
        let mut sacks = sacks;
        self.resend_from = None;
        self.walked.clear();
        let mut index = 0;
        // What is left of a block that was cut.
        let mut rest: Option<Block> = None;
        while whole || !sacks.is_empty() {
            let Some(mut block) = rest.take().or_else(|| self.blocks.get(index).copied()) else {
                // Segments above the last block, up to the highest SACKED one.
                let Some(last) = self.walked.last().filter(|last| last.end <= self.highest) else { break };
                self.blocks.push(Block { start: last.end, end: self.highest + 1, kind: Kind::Out });
                continue;
            };
            if block.kind != Kind::Sacked {
                while sacks.first().is_some_and(|sack| sack.1 <= block.start) {
                    sacks = &sacks[1..];
                }
                let cut = match sacks.first() {
                    Some(&(start, _)) if start < block.end && start > block.start => Some(start),
                    Some(&(start, end)) if start < block.end && end < block.end => Some(end),
                    _ => None,
                };
                if let Some(cut) = cut {
                    rest = Some(Block { start: cut, ..block });
                    block.end = cut;
                }
                if sacks.first().is_some_and(|sack| sack.0 < block.end) {
                    whole |= self.note_sacked(&mut block);
                    shown.sacked = true;
                } else if let Some(above) = self.judge(&mut block, &mut shown) {
                    debug_assert!(rest.is_none_or(|rest| rest.start == above.end));
                    // What is not lost of the block comes next, before what was cut off above it.
                    let end = rest.map_or(above.end, |rest| rest.end);
                    rest = Some(Block { end, ..above });
                }
            }
            index += usize::from(rest.is_none());
            match self.walked.last_mut() {
                // Each retransmission has a place of its own, so its block stays alone.
                Some(last) if last.kind == block.kind && !matches!(last.kind, Kind::Resent { .. }) => {
                    last.end = block.end;
                }
                _ => self.walked.push(block),
            }
        }
        if let Some(rest) = rest {
            self.walked.push(rest);
            index += 1;
        }
        self.walked.extend_from_slice(self.blocks.get(index..).unwrap_or(&[]));
        core::mem::swap(&mut self.blocks, &mut self.walked);
        shown
    }

    /// A block is SACKED. True if that tells of others: it is a retransmission that arrived.
    fn note_sacked(&mut self, block: &mut Block) -> bool {
        let count = block.end - block.start;
        let mut is_news = false;
        match block.kind {
            Kind::Lost => self.lost -= count,
            Kind::Resent { order, .. } => {
                // ns-2 does not keep the greatest place here: an earlier retransmission sets it
                // back (`acked_rtx_id_`).
                self.arrived = order;
                is_news = true;
            }
            Kind::Out | Kind::Sacked => {}
        }
        self.sacked += count;
        block.kind = Kind::Sacked;
        is_news
    }

    /// Whether a block is lost. If only the beginning is, the rest is cut off and returned.
    fn judge(&mut self, block: &mut Block, shown: &mut Shown) -> Option<Block> {
        let mut above = None;
        let is_lost = match block.kind {
            Kind::Out if block.start + DISTANCE <= self.highest => {
                let edge = self.highest + 1 - DISTANCE;
                if edge < block.end {
                    above = Some(Block { start: edge, ..*block });
                    block.end = edge;
                }
                true
            }
            // Something that was sent later arrived: a new segment, or a retransmission more than
            // `dupack_threshold` + 1 places behind.
            Kind::Resent { next, order } => next <= self.highest || order + 4 < self.arrived,
            Kind::Lost => {
                self.resend_from.get_or_insert(block.start);
                false
            }
            Kind::Out | Kind::Sacked => false,
        };
        if is_lost {
            self.lost += block.end - block.start;
            block.kind = Kind::Lost;
            shown.lost = true;
            self.resend_from.get_or_insert(block.start);
        }
        above
    }

    /// The timer ran out: of the segments from `una` to before `next`, all that are not SACKED are
    /// lost.
    pub(crate) fn lose_all(&mut self, una: u64, next: u64) {
        self.walked.clear();
        let end = self.blocks.last().map_or(una, |last| last.end);
        if end < next {
            self.blocks.push(Block { start: end, end: next, kind: Kind::Out });
        }
        self.resend_from = None;
        for &block in &self.blocks {
            let kind = if block.kind == Kind::Sacked { Kind::Sacked } else { Kind::Lost };
            if kind == Kind::Lost {
                self.resend_from.get_or_insert(block.start);
                self.lost += if block.kind == Kind::Lost { 0 } else { block.end - block.start };
            }
            match self.walked.last_mut() {
                // Only what is lost is joined, as in `MarkLoss`.
                Some(last) if last.kind == Kind::Lost && kind == Kind::Lost => last.end = block.end,
                _ => self.walked.push(Block { kind, ..block }),
            }
        }
        // The lists change places, so that no ACK allocates.
        core::mem::swap(&mut self.blocks, &mut self.walked);
        // `MarkLoss` counts retransmissions from 0 again.
        self.order = 0;
        self.arrived = -1;
    }

    /// The segment to send again next, if there is one.
    pub(crate) fn next_lost(&mut self) -> Option<u64> {
        let from = self.resend_from?;
        let index = self.blocks.partition_point(|block| block.end <= from);
        let found = self.blocks.iter().skip(index).find(|block| block.kind == Kind::Lost);
        let start = found.map(|block| block.start);
        self.resend_from = start;
        start
    }

    /// The segment that [`next_lost`](Self::next_lost) gave is sent again, while `next` is the one
    /// to be sent next.
    pub(crate) fn resent(&mut self, next: u64) {
        let Some(position) = self.next_lost() else { return };
        let index = self.blocks.partition_point(|block| block.end <= position);
        let kind = Kind::Resent { next, order: self.order };
        self.order += 1;
        self.lost -= 1;
        let Some(block) = self.blocks.get_mut(index) else { return };
        if block.end > position + 1 {
            block.start = position + 1;
            self.blocks.insert(index, Block { start: position, end: position + 1, kind });
        } else {
            block.kind = kind;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_lost_when_the_fourth_above_it_arrived() {
        let mut blocks = Blocks::default();
        assert_eq!(blocks.take(10, &[(11, 14)]), Shown { sacked: true, lost: false });
        assert_eq!(blocks.take(10, &[(11, 15)]), Shown { sacked: true, lost: true });
        assert_eq!(blocks.gone(), 5);
        assert_eq!(blocks.next_lost(), Some(10));
        blocks.resent(15);
        assert_eq!((blocks.next_lost(), blocks.gone()), (None, 4));
        assert_eq!(blocks.take(15, &[]), Shown::default());
        assert_eq!(blocks.gone(), 0);
    }

    #[test]
    fn a_retransmission_is_lost_again_when_something_newer_arrived() {
        let mut blocks = Blocks::default();
        blocks.take(10, &[(11, 16)]);
        blocks.next_lost();
        blocks.resent(16);
        assert_eq!(blocks.take(10, &[(11, 16)]), Shown::default());
        assert_eq!(blocks.take(10, &[(11, 17)]), Shown { sacked: true, lost: true });
        assert_eq!(blocks.next_lost(), Some(10));
    }

    #[test]
    fn a_retransmission_is_lost_again_when_the_fifth_behind_it_arrived() {
        let mut blocks = Blocks::default();
        // Every other segment from 10 to 20 is missing.
        let sacks: Vec<(u64, u64)> = (0..8).map(|n| (11 + 2 * n, 12 + 2 * n)).collect();
        for sack in &sacks {
            blocks.take(10, core::slice::from_ref(sack));
        }
        for position in [10, 12, 14, 16, 18, 20] {
            assert_eq!(blocks.next_lost(), Some(position));
            blocks.resent(40);
        }
        // That of 18 is the fourth behind that of 10, that of 20 the fifth.
        assert!(!blocks.take(10, &[(17, 20)]).lost);
        assert!(!blocks.take(10, &[(17, 20)]).lost);
        assert!(!blocks.take(10, &[(17, 22)]).lost, "the walk has passed it");
        assert!(blocks.take(10, &[(17, 22)]).lost);
        assert_eq!(blocks.next_lost(), Some(10));
    }

    #[test]
    fn after_a_timeout_all_that_is_not_sacked_is_lost() {
        let mut blocks = Blocks::default();
        blocks.take(10, &[(12, 13)]);
        blocks.lose_all(10, 20);
        assert_eq!(blocks.gone(), 10);
        assert_eq!(blocks.next_lost(), Some(10));
        blocks.resent(20);
        assert_eq!(blocks.next_lost(), Some(11));
        blocks.clear();
        assert_eq!((blocks.gone(), blocks.next_lost()), (0, None));
    }
}
