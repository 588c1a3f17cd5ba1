//! Which queue loses a packet when the memory is used up: the heap of Linux sch_cake, step by step.

use alloc::vec::Vec;

use super::queues::{MOST_TINS, QUEUES_32, number};

/// A heap of queues by what they hold, kept up to date for a while after an overflow. As in Linux,
/// an entry that became smaller does not sink as far as it should, so that the first is not always
/// the longest queue.
#[derive(Clone, Debug, Default)]
pub(super) struct Heap {
    /// The queues, the first of which loses; empty before the first overflow.
    entries: Vec<u16>,
    /// Where each queue stands.
    places: Vec<u16>,
    /// What each queue holds. Means nothing while `kept` is 0.
    sizes: Vec<u32>,
    /// The heap is kept up to date for so many packets more.
    kept: u16,
}

impl Heap {
    /// A queue got a packet and holds `size` now.
    #[inline]
    pub(super) fn grows(&mut self, queue: u32, size: u64) {
        if self.kept > 0 {
            self.rise(queue, size);
        }
    }

    /// A queue lost a packet, which was `sent` or not, and holds `size` now.
    #[inline]
    pub(super) fn shrinks(&mut self, queue: u32, size: u64, sent: bool) {
        if self.kept > 0 {
            self.sink_queue(queue, size, sent);
        }
    }

    /// The queue that is to lose a packet. `backlogs` are what the queues hold, tin by tin; they
    /// are looked at only if the heap is not up to date.
    pub(super) fn first(&mut self, backlogs: impl Iterator<Item = u64>) -> u32 {
        if self.kept == 0 {
            self.build(backlogs);
        }
        self.kept = u16::MAX;
        self.entries.first().copied().map_or(0, u32::from)
    }

    /// The first turned out empty: it is looked for anew next time.
    pub(super) const fn mistrust(&mut self) {
        self.kept = 0;
    }

    fn build(&mut self, backlogs: impl Iterator<Item = u64>) {
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
        self.kept -= u16::from(sent);
    }

    /// Takes down what a queue holds; where it stands.
    fn note(&mut self, queue: u32, size: u64) -> usize {
        if let Some(entry) = self.sizes.get_mut(queue as usize) {
            *entry = narrow(size);
        }
        self.places.get(queue as usize).copied().map_or(0, usize::from)
    }

    /// Puts the larger of the two below a place there, if it is larger than what stands there.
    /// Further down Linux compares with the one that went up, not with the one that came down,
    /// which most often ends it.
    fn sink(&mut self, place: usize) {
        let (mut place, mut largest, mut most) = (place, place, self.held_at(place));
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
            if let Some(&queue) = self.entries.get(place)
                && let Some(entry) = self.places.get_mut(usize::from(queue))
            {
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
