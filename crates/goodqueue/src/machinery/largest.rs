//! Finds the largest of many sizes without a scan.
//!
//! An overflow asks for the longest queue. A tree of pairwise comparisons over all queues is then
//! built, and kept up to date while overflows continue. A discipline that never overflows pays
//! nothing for the tree.

use alloc::vec::Vec;

/// Finds the largest of up to 2^17 sizes. The owner of the sizes reports each change. Sizes are
/// limited to 2^47 - 1.
#[derive(Clone, Default, Debug)]
pub(crate) struct Largest {
    /// A binary tree: 1 is the root, the children of `n` are `2n` and `2n + 1`, the sizes are the
    /// leaves, and each inner node is the larger one below it. Means nothing while `kept` is 0.
    nodes: Vec<Ranked>,
    sizes: u32,
    /// Number of further changes for which the tree is kept up to date. An overflow resets it.
    kept: u32,
}

/// A size and its index in one number. Of two equal sizes the first compares as larger.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
struct Ranked(u64);

impl Ranked {
    // Enough for the 2^16 flows of `fq_codel` and `fq_pie`; 47 bits remain for a size in bytes.
    const INDEX_BITS: u32 = 17;
    const LAST: u32 = (1 << Self::INDEX_BITS) - 1;
    const MOST: u64 = u64::MAX >> Self::INDEX_BITS;

    #[inline]
    fn from_size(index: u32, size: u64) -> Self {
        // Of equal sizes that with the lowest index must be the greatest.
        Self(size.min(Self::MOST) << Self::INDEX_BITS | u64::from(Self::LAST - index.min(Self::LAST)))
    }

    fn index(self) -> u32 {
        Self::LAST - u32::try_from(self.0 & u64::from(Self::LAST)).unwrap_or(0)
    }
}

impl Largest {
    /// True while changes are followed.
    #[inline]
    pub(crate) const fn is_kept(&self) -> bool {
        self.kept > 0
    }

    /// Reports that size `index` is now `size`.
    #[inline]
    pub(crate) fn set(&mut self, index: u32, size: u64) {
        if self.kept > 0 {
            self.climb(index, size);
        }
    }

    /// Returns the index of the largest of `sizes`, the first one of several. Reads `sizes` only if
    /// the tree is not up to date.
    pub(crate) fn find(&mut self, sizes: impl Iterator<Item = u64>) -> u32 {
        if self.kept == 0 {
            self.build(sizes);
        }
        // A tree costs about one comparison per size: it is kept until that is spread over as many
        // changes.
        self.kept = self.sizes.saturating_mul(2).max(16);
        self.nodes.get(1).map_or(0, |winner| winner.index())
    }

    fn build(&mut self, sizes: impl Iterator<Item = u64>) {
        self.nodes.clear();
        self.nodes.extend((0..).zip(sizes).map(|(index, size)| Ranked::from_size(index, size)));
        self.sizes = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        // The leaves are the upper half. A single size gets a second leaf, so that it is not the
        // root.
        let leaves = self.nodes.len().next_power_of_two().max(2);
        // The padding ranks below every size: a size of 0 still has the rank of its index.
        self.nodes.resize(leaves, Ranked::default());
        self.nodes.extend_from_within(..);
        for node in (1..leaves).rev() {
            let winner = self.nodes.get(2 * node).max(self.nodes.get(2 * node + 1)).copied();
            if let Some((entry, winner)) = self.nodes.get_mut(node).zip(winner) {
                *entry = winner;
            }
        }
    }

    // The tree is followed only for a while after an overflow, so `set` is a comparison for most
    // packets.
    #[inline(never)]
    fn climb(&mut self, index: u32, size: u64) {
        self.kept = self.kept.saturating_sub(1);
        let nodes = self.nodes.as_mut_slice();
        let mut node = nodes.len() / 2 + index as usize;
        let mut winner = Ranked::from_size(index, size);
        while let Some(entry) = nodes.get_mut(node) {
            // The nodes above saw this winner already, so they stay as they are.
            if *entry == winner {
                return;
            }
            *entry = winner;
            // The root has nothing beside it.
            if node <= 1 {
                return;
            }
            // The two children of a node differ in the lowest bit.
            winner = winner.max(nodes.get(node ^ 1).copied().unwrap_or_default());
            node /= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::random::{Random, Xoshiro256PlusPlus};

    #[test]
    fn the_largest_is_the_first_of_equals_however_it_got_there() {
        for flows in [1, 2, 3, 7, 8, 100] {
            let mut random = Xoshiro256PlusPlus::new(u64::from(flows));
            let mut sizes = vec![0; flows as usize];
            let mut largest = Largest::default();
            for step in 0..5_000 {
                let index = random.below(flows);
                let size = u64::from(random.below(4));
                sizes[index as usize] = size;
                largest.set(index, size);
                // Now often, now rarely, so that the tree is kept as well as forgotten.
                if step % 1_500 < 700 {
                    let most = sizes.iter().max();
                    let first = sizes.iter().position(|size| Some(size) == most);
                    assert_eq!(Some(largest.find(sizes.iter().copied()) as usize), first);
                }
            }
        }
    }
}
