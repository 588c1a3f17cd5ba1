//! Packets, bytes and memory queued in all tins.

use super::overflow::Heap;
use crate::memory::{Buffers, Memory};
use crate::packet::Packet;
use crate::queue::Passage;

/// What is queued in all tins.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) passage: Passage,
    pub(super) memory: Memory,
    /// The longest queue.
    pub(super) longest: Heap,
}

impl Held {
    pub(super) fn new(buffers: Buffers) -> Self {
        Self { passage: Passage::default(), memory: Memory::new(buffers), longest: Heap::default() }
    }

    /// Returns the memory that a packet is charged: at least one byte, so that empty packets reach
    /// the limit as well.
    #[inline]
    pub(super) fn charge(&self, packet: &impl Packet) -> u64 {
        charge_by(self.memory.buffers(), packet)
    }

    /// Counts a packet that is charged `memory`. Tells the heap that its queue now holds `holds`.
    #[inline]
    pub(super) fn add(&mut self, memory: u64, queue: u32, holds: u64) {
        self.memory.enters(memory);
        self.longest.grows(queue, holds);
    }

    /// Counts a packet of `bytes` that left a queue, which now holds `holds`. It was charged
    /// `memory`, and was `sent` or dropped.
    #[inline]
    pub(super) fn remove(&mut self, bytes: u32, memory: u64, queue: u32, holds: u64, sent: bool) {
        self.passage.leaves(bytes);
        self.memory.leaves(memory);
        self.longest.shrinks(queue, holds, sent);
    }

    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.passage.packets() == 0
    }
}

/// Returns the memory that a packet is charged by the rule `buffers`.
#[inline]
pub(super) fn charge_by(buffers: Buffers, packet: &impl Packet) -> u64 {
    buffers.memory_of(packet, packet.len()).max(1)
}
