//! The queue that loses a packet when the memory is used up: the heap of Linux sch_cake.

use alloc::vec::Vec;

use super::queues::{MOST_TINS, QUEUES_32, number};

/// A heap of queues by backlog, kept up to date for a while after an overflow. As in Linux, an
/// entry that became smaller does not sink as far as it should, so the first queue is not always
/// the longest.
#[derive(Clone, Debug, Default)]
pub(super) struct Heap {
    /// The queues, the first of which loses; empty before the first overflow.
    entries: Vec<u16>,
    /// Where each queue stands.
    places: Vec<u16>,
    /// Backlog of each queue; undefined while `kept` is 0.
    sizes: Vec<u32>,
    /// Number of further packets for which the heap is kept up to date.
    kept: u16,
}

impl Heap {
    /// Tells the heap that a queue got a packet and now holds `size`.
    #[inline]
    pub(super) fn grows(&mut self, queue: u32, size: u64) {
        if self.kept > 0 {
            self.rise(queue, size);
        }
    }

    /// Tells the heap that a queue lost a packet, `sent` or dropped, and now holds `size`.
    #[inline]
    pub(super) fn shrinks(&mut self, queue: u32, size: u64, sent: bool) {
        if self.kept > 0 {
            self.sink_queue(queue, size, sent);
        }
    }

    /// Returns the queue that loses a packet. `backlogs`, tin by tin, are read only if the heap is
    /// not up to date.
    pub(super) fn first(&mut self, backlogs: impl Iterator<Item = u64>) -> u32 {
        if self.kept == 0 {
            self.build(backlogs);
        }
        // Linux `overflow_timeout`: the heap is kept for 65,535 packets after an overflow.
        self.kept = u16::MAX;
        self.entries.first().copied().map_or(0, u32::from)
    }

    /// Forgets the heap, because its first queue turned out empty.
    pub(super) const fn mistrust(&mut self) {
        self.kept = 0;
    }

    fn build(&mut self, backlogs: impl Iterator<Item = u64>) {
        // As in Linux, a new heap starts from the order that the last one left, which decides among
        // equal queues.
        if self.entries.is_empty() {
            self.entries = (0..QUEUES).collect();
            self.places = (0..QUEUES).collect();
        }
        self.sizes.clear();
        self.sizes.resize(usize::from(QUEUES), 0);
        for (index, size) in (0..).zip(backlogs) {
            let queue = number(index as usize / QUEUES_32 as usize, index % QUEUES_32);
            if let Some(entry) = self.sizes.get_mut(queue as usize) {
                *entry = narrow(size);
            }
        }
        for place in (0..usize::from(QUEUES / 2)).rev() {
            self.sink(place);
        }
    }

    // The heap is kept only after an overflow, so most packets pass without this and `sink_queue`.
    #[inline(never)]
    fn rise(&mut self, queue: u32, size: u64) {
        let mut place = self.note(queue, size);
        while place > 0 {
            let above = (place - 1) / 2;
            if self.held_at(place) <= self.held_at(above) {
                break;
            }
            self.swap(place, above);
            place = above;
        }
    }

    #[inline(never)]
    fn sink_queue(&mut self, queue: u32, size: u64, sent: bool) {
        let place = self.note(queue, size);
        self.sink(place);
        // `cake_dequeue()` counts the timeout down, once for each packet that it sends.
        self.kept -= u16::from(sent);
    }

    /// Records the backlog of a queue. Returns its place.
    fn note(&mut self, queue: u32, size: u64) -> usize {
        if let Some(entry) = self.sizes.get_mut(queue as usize) {
            *entry = narrow(size);
        }
        self.places.get(queue as usize).copied().map_or(0, usize::from)
    }

    /// Swaps a place with the larger of its two children, if that is larger. One level down Linux
    /// compares with the entry that moved up, not with the one that moved down, so it usually stops
    /// there.
    fn sink(&mut self, place: usize) {
        let mut place = place;
        let mut largest = place;
        let mut most = self.held_at(place);
        loop {
            let left = 2 * largest + 1;
            for below in [left, left + 1] {
                if below < self.entries.len() && self.held_at(below) > most {
                    (largest, most) = (below, self.held_at(below));
                }
            }
            if largest == place {
                return;
            }
            self.swap(place, largest);
            place = largest;
        }
    }

    fn held_at(&self, place: usize) -> u32 {
        let queue = self.entries.get(place).copied().map_or(0, usize::from);
        self.sizes.get(queue).copied().unwrap_or(0)
    }

    fn swap(&mut self, one: usize, other: usize) {
        if one.max(other) < self.entries.len() {
            self.entries.swap(one, other);
        }
        for place in [one, other] {
            let Some(&queue) = self.entries.get(place) else { continue };
            if let Some(entry) = self.places.get_mut(usize::from(queue)) {
                *entry = u16::try_from(place).unwrap_or(u16::MAX);
            }
        }
    }
}

fn narrow(size: u64) -> u32 {
    u32::try_from(size).unwrap_or(u32::MAX)
}

/// All queues of all tins that there can be.
#[expect(clippy::cast_possible_truncation, reason = "8 times 1024")]
const QUEUES: u16 = (MOST_TINS as u32 * QUEUES_32) as u16;
