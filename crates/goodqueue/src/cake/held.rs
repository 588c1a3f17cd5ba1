//! Packets, bytes and memory queued in all tins.

use super::overflow::Heap;
use crate::memory::{Buffers, Memory, Size};
use crate::queue::Passage;

/// What is queued in all tins.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) passage: Passage,
    /// How many packets of no bytes there are.
    pub(super) empty: u64,
    pub(super) memory: Memory,
    /// The longest queue.
    pub(super) longest: Heap,
}

impl Held {
    pub(super) fn new(buffers: Buffers) -> Self {
        Self { passage: Passage::default(), empty: 0, memory: Memory::new(buffers), longest: Heap::default() }
    }

    /// Counts a packet of this size that arrives.
    #[inline]
    pub(super) fn enters(&mut self, size: Size) {
        self.passage.enters(size.bytes);
        self.memory.enters(size);
    }

    /// Counts a packet of this size that is inserted again.
    pub(super) fn returns(&mut self, size: Size) {
        self.passage.returns(size.bytes);
        self.memory.enters(size);
    }

    /// Tells the heap that a queue got a packet of `bytes` and now holds `holds`.
    #[inline]
    pub(super) fn add(&mut self, bytes: u32, queue: u32, holds: u64) {
        if bytes == 0 {
            self.empty = self.empty.wrapping_add(1);
        }
        self.longest.grows(queue, holds);
    }

    /// Counts a packet of this size that left a queue, which now holds `holds`. It was `sent` or
    /// dropped.
    #[inline]
    pub(super) fn remove(&mut self, size: Size, queue: u32, holds: u64, sent: bool) {
        self.passage.leaves(size.bytes);
        self.memory.leaves(size);
        if size.bytes == 0 {
            self.empty = self.empty.wrapping_sub(1);
        }
        self.longest.shrinks(queue, holds, sent);
    }

    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.passage.packets() == 0
    }

    /// The memory; without buffers the bytes, a packet of no bytes counted as one.
    #[inline]
    pub(super) fn used(&self) -> u64 {
        self.memory.used(self.passage.bytes().wrapping_add(self.empty))
    }
}
