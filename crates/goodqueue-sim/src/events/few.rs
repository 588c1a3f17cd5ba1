//! A few entries in order, or many in a heap.

use super::heap::{Heap, NONE};

/// Entries of which there are usually few: then they are a sorted list, which is faster than a
/// heap.
#[derive(Clone, Debug, Default)]
pub(super) struct Few {
    /// The first `listed` entries are in use. The smallest one is the last of them, where it
    /// is cheap to remove.
    sorted: [u128; MOST],
    /// Number of entries in the list; [`IN_HEAP`] once there were more than [`MOST`].
    listed: usize,
    /// All entries then.
    many: Heap,
}

/// With more entries than this a list takes as many instructions as a heap. A path with one
/// bottleneck and flows of one round-trip time has four: two links and two delay lines.
const MOST: usize = 16;
/// Stands for the length of a list that became a heap. It is no index of the list, so the bounds
/// check of each access is also the question whether there is a list.
const IN_HEAP: usize = MOST + 1;

impl Few {
    #[inline]
    pub(super) fn push(&mut self, entry: u128) {
        // The range exceeds a full list, and the length of one that became a heap.
        let Some(sorted) = self.sorted.get_mut(..=self.listed) else {
            self.push_many(entry);
            return;
        };
        let mut at = self.listed;
        while at > 0 && sorted[at - 1] < entry {
            sorted[at] = sorted[at - 1];
            at -= 1;
        }
        sorted[at] = entry;
        self.listed += 1;
    }

    /// Adds an entry to the heap, which the list becomes for the rest of the run.
    // Out of line, because there are usually few entries.
    #[inline(never)]
    fn push_many(&mut self, entry: u128) {
        if self.listed == MOST {
            // A heap has its smallest entry first. Ascending entries are a heap without further
            // moves.
            self.sorted.reverse();
            self.many = Heap::from_sorted(self.sorted.to_vec());
            self.listed = IN_HEAP;
        }
        self.many.push(entry);
    }

    /// Returns the smallest entry, or [`NONE`].
    #[inline]
    pub(super) fn first(&mut self) -> u128 {
        // An empty list wraps to an index that no list has.
        match self.sorted.get(self.listed.wrapping_sub(1)) {
            Some(least) => *least,
            None if self.listed == IN_HEAP => self.many.first(),
            None => NONE,
        }
    }

    /// Removes the smallest entry, which [`Self::first`] just returned.
    #[inline]
    pub(super) const fn take_first(&mut self) {
        if self.listed == IN_HEAP {
            self.many.take_first();
        } else {
            self.listed -= 1;
        }
    }

    /// Returns the smallest entry, or [`NONE`].
    pub(super) fn peek(&self) -> u128 {
        // As in `first`, except that the root of the heap is not refilled.
        match self.sorted.get(self.listed.wrapping_sub(1)) {
            Some(least) => *least,
            None if self.listed == IN_HEAP => self.many.peek(),
            None => NONE,
        }
    }

    pub(super) fn len(&self) -> usize {
        if self.listed == IN_HEAP { self.many.len() } else { self.listed }
    }
}
