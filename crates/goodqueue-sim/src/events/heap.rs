//! A 4-ary implicit heap of entries.

/// Stands for the entry of an empty collection. It is behind every entry, because no queue lives
/// for 2^40 insertions.
pub(super) const NONE: u128 = u128::MAX;

/// Entries of which the smallest is at hand, however many there are.
#[derive(Clone, Debug, Default)]
pub(super) struct Heap {
    entries: Vec<u128>,
    /// True after the root was taken and before it is refilled. Most events schedule another event,
    /// which then fills the root with one sift instead of two.
    has_hole: bool,
}

impl Heap {
    /// Returns a heap of entries in ascending order.
    pub(super) const fn from_sorted(entries: Vec<u128>) -> Self {
        Self { entries, has_hole: false }
    }

    #[inline]
    pub(super) fn push(&mut self, entry: u128) {
        if self.has_hole {
            self.has_hole = false;
            self.sift_down(entry);
        } else {
            self.entries.push(entry);
            self.sift_up(self.entries.len() - 1, entry);
        }
    }

    /// Returns the smallest entry, or [`NONE`].
    #[inline]
    pub(super) fn first(&mut self) -> u128 {
        if self.has_hole {
            self.fill_hole();
        }
        self.entries.first().copied().unwrap_or(NONE)
    }

    /// Removes the smallest entry, which [`Self::first`] just returned.
    #[inline]
    pub(super) const fn take_first(&mut self) {
        self.has_hole = true;
    }

    /// Returns the smallest entry without refilling the root.
    pub(super) fn peek(&self) -> u128 {
        // The hole is at the root, so the smallest of its children is next.
        if self.has_hole {
            return self.entries.get(1..).and_then(least_of_four).map_or(NONE, |(_, least)| least);
        }
        self.entries.first().copied().unwrap_or(NONE)
    }

    #[inline]
    fn fill_hole(&mut self) {
        self.has_hole = false;
        // The last entry fills the root, or was the root.
        if let Some(last) = self.entries.pop()
            && !self.entries.is_empty()
        {
            self.sift_down(last);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len() - usize::from(self.has_hole)
    }

    #[inline]
    fn sift_up(&mut self, mut at: usize, entry: u128) {
        while at > 0 {
            let parent = (at - 1) / 4;
            if self.entries[parent] <= entry {
                break;
            }
            self.entries[at] = self.entries[parent];
            at = parent;
        }
        self.entries[at] = entry;
    }

    /// Sifts `entry` down from the root.
    #[inline]
    fn sift_down(&mut self, entry: u128) {
        let heap = &mut self.entries[..];
        let mut at = 0;
        loop {
            // Four children of 16 bytes are as long as a cache line, and the heap is half as deep
            // as a binary one.
            let first_child = 4 * at + 1;
            let Some((offset, least)) = heap.get(first_child..).and_then(least_of_four) else { break };
            if entry <= least {
                break;
            }
            heap[at] = least;
            at = first_child + offset;
        }
        heap[at] = entry;
    }
}

/// Returns the smallest of the first four entries and its position; with fewer than four, the
/// smallest of all.
#[inline]
fn least_of_four(entries: &[u128]) -> Option<(usize, u128)> {
    let lesser = |a: (usize, u128), b: (usize, u128)| if b.1 < a.1 { b } else { a };
    if let Some(&[a, b, c, d]) = entries.first_chunk() {
        // Two independent comparisons and one between their results. A loop took more instructions.
        return Some(lesser(lesser((0, a), (1, b)), lesser((2, c), (3, d))));
    }
    entries.iter().copied().enumerate().reduce(lesser)
}
