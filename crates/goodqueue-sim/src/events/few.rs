//! A few entries in order, or many in a heap.

use super::heap::{Heap, NONE};

/// Entries of which there are usually few: then they are a sorted list, which is faster than a
/// heap.
#[derive(Clone, Debug, Default)]
pub(super) struct Few {
    /// The smallest entry is the last one, where it is cheap to remove.
    sorted: Vec<u128>,
    /// All entries once there were more than [`MOST`].
    many: Option<Heap>,
}

/// With more entries than this a list takes as many instructions as a heap. A path with one
/// bottleneck and flows of one round-trip time has four: two links and two delay lines.
const MOST: usize = 16;

impl Few {
    #[inline]
    pub(super) fn push(&mut self, entry: u128) {
        if self.many.is_some() || self.sorted.len() == MOST {
            self.push_many(entry);
            return;
        }
        self.sorted.push(entry);
        let sorted = &mut self.sorted[..];
        let mut at = sorted.len() - 1;
        while at > 0 && sorted[at - 1] < entry {
            sorted[at] = sorted[at - 1];
            at -= 1;
        }
        sorted[at] = entry;
    }

    /// Adds an entry to the heap, which the list becomes for the rest of the run.
    #[inline(never)]
    fn push_many(&mut self, entry: u128) {
        let sorted = &mut self.sorted;
        let many = self.many.get_or_insert_with(|| {
            sorted.reverse();
            Heap::from_sorted(std::mem::take(sorted))
        });
        many.push(entry);
    }

    /// Returns the smallest entry, or [`NONE`].
    #[inline]
    pub(super) fn first(&mut self) -> u128 {
        match &mut self.many {
            None => self.sorted.last().copied().unwrap_or(NONE),
            Some(many) => many.first(),
        }
    }

    /// Removes the smallest entry, which [`Self::first`] just returned.
    #[inline]
    pub(super) fn take_first(&mut self) {
        match &mut self.many {
            None => {
                self.sorted.pop();
            }
            Some(many) => many.take_first(),
        }
    }

    /// Returns the smallest entry, or [`NONE`].
    pub(super) fn peek(&self) -> u128 {
        match &self.many {
            None => self.sorted.last().copied().unwrap_or(NONE),
            Some(many) => many.peek(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.sorted.len() + self.many.as_ref().map_or(0, Heap::len)
    }
}
