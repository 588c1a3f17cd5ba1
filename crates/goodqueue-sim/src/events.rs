//! The event queue: two 4-ary implicit heaps that share one total order, by time and then by
//! insertion.
//!
//! One heap holds the events of packets. Its size is the number of links and delay lines, however
//! many flows there are. The other heap holds timers, of which there may be several per flow.
//! Because they are separate, a packet's events do not sift through the timers of ten thousand
//! flows.

use goodqueue::Instant;

/// Scheduled events in the order in which they are due. An event is a number (`what`) of at most 24
/// bits, whose meaning the caller defines.
///
/// An entry has 16 bytes and compares as one 128-bit integer: the time, then the running number of
/// its insertion. Two events at the same instant therefore happen in the order in which they were
/// scheduled.
#[derive(Clone, Debug, Default)]
pub struct EventQueue {
    soon: Heap,
    later: Heap,
    inserted: u64,
}

#[derive(Clone, Debug, Default)]
struct Heap {
    entries: Vec<u128>,
    /// True after the root was taken and before it is refilled. Most events schedule another event,
    /// which then fills the root with one sift instead of two.
    has_hole: bool,
}

/// Bits of an entry that belong to the caller.
const WHAT_BITS: u32 = 24;

impl EventQueue {
    /// Largest value of `what`.
    pub const MAX_WHAT: u32 = (1 << WHAT_BITS) - 1;

    /// Schedules `what` at `when`. Bits of `what` above the 24th are discarded.
    #[inline]
    pub fn push(&mut self, when: Instant, what: u32) {
        let entry = self.entry(when, what);
        self.soon.push(entry);
    }

    /// Schedules a timer: an event that may stay in the queue for a long time among many others.
    /// The order of events does not depend on the choice between this method and [`Self::push`].
    #[inline]
    pub fn push_timer(&mut self, when: Instant, what: u32) {
        let entry = self.entry(when, what);
        self.later.push(entry);
    }

    #[inline]
    fn entry(&mut self, when: Instant, what: u32) -> u128 {
        // 2^40 insertions are 10^12 events, which take weeks to run.
        let order = (self.inserted << WHAT_BITS) | u64::from(what & Self::MAX_WHAT);
        self.inserted += 1;
        (u128::from(when.as_nanos()) << 64) | u128::from(order)
    }

    /// Removes and returns the event that is due first.
    #[inline]
    pub fn pop(&mut self) -> Option<(Instant, u32)> {
        self.pop_before(Instant::MAX).or_else(|| {
            let first = self.first()?;
            self.take(first);
            Some(decode(first))
        })
    }

    /// Removes and returns the event that is due first, if it is due before `end`.
    #[inline]
    pub fn pop_before(&mut self, end: Instant) -> Option<(Instant, u32)> {
        let first = self.first()?;
        let event = decode(first);
        if event.0 >= end {
            return None;
        }
        self.take(first);
        Some(event)
    }

    /// Returns the smallest entry of both heaps.
    #[inline]
    fn first(&mut self) -> Option<u128> {
        let soon = self.soon.first();
        let later = self.later.first();
        match (soon, later) {
            (Some(soon), Some(later)) => Some(soon.min(later)),
            _ => soon.or(later),
        }
    }

    /// Removes `first`, which must be the entry that [`Self::first`] just returned.
    #[inline]
    fn take(&mut self, first: u128) {
        let heap = if self.soon.entries.first() == Some(&first) { &mut self.soon } else { &mut self.later };
        heap.has_hole = true;
    }

    /// Returns the time at which the next event is due.
    #[must_use]
    pub fn next_time(&self) -> Option<Instant> {
        let least = [self.soon.peek(), self.later.peek()].into_iter().flatten().min()?;
        Some(decode(least).0)
    }

    /// Returns the number of pending events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.soon.len() + self.later.len()
    }

    /// Returns true if no event is pending.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Heap {
    #[inline]
    fn push(&mut self, entry: u128) {
        if self.has_hole {
            self.has_hole = false;
            self.sift_down(entry);
        } else {
            self.entries.push(entry);
            self.sift_up(self.entries.len() - 1, entry);
        }
    }

    /// Returns the root, refilled if necessary.
    #[inline]
    fn first(&mut self) -> Option<u128> {
        if self.has_hole {
            self.fill_hole();
        }
        self.entries.first().copied()
    }

    /// Returns the root without refilling it.
    fn peek(&self) -> Option<u128> {
        // The hole is at the root, so the smallest of its children is next.
        if self.has_hole {
            return self.entries.get(1..).and_then(least_of_four).map(|(_, least)| least);
        }
        self.entries.first().copied()
    }

    #[inline]
    fn fill_hole(&mut self) {
        self.has_hole = false;
        if let Some(last) = self.entries.pop()
            && !self.entries.is_empty()
        {
            self.sift_down(last);
        }
    }

    fn len(&self) -> usize {
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
        return Some(lesser(lesser((0, a), (1, b)), lesser((2, c), (3, d))));
    }
    entries.iter().copied().enumerate().reduce(lesser)
}

#[expect(clippy::cast_possible_truncation, reason = "taking the fields of the packed entry apart")]
#[inline]
fn decode(entry: u128) -> (Instant, u32) {
    (Instant::from_nanos((entry >> 64) as u64), entry as u32 & EventQueue::MAX_WHAT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodqueue::random::{Random, Xoshiro256PlusPlus};

    #[test]
    fn events_at_one_instant_happen_in_the_order_of_their_insertion() {
        let mut queue = EventQueue::default();
        for what in 0..1000 {
            if what % 3 == 0 {
                queue.push_timer(Instant::from_nanos(7), what);
            } else {
                queue.push(Instant::from_nanos(7), what);
            }
        }
        for what in 0..1000 {
            assert_eq!(queue.pop(), Some((Instant::from_nanos(7), what)));
        }
        assert_eq!(queue.pop(), None);
    }

    #[test]
    fn a_hold_model_agrees_with_a_sorted_list() {
        let mut random = Xoshiro256PlusPlus::new(1);
        let mut queue = EventQueue::default();
        let mut sorted: Vec<(u64, u64, u32)> = Vec::new();
        let mut now = 0;
        for (order, step) in (0_u64..).zip(0..200_000_u32) {
            // Bimodal increments with many ties, as serialization and propagation delays produce
            // them.
            let increment =
                if random.below(4) == 0 { u64::from(random.below(1000)) } else { u64::from(random.below(3)) };
            let when = Instant::from_nanos(now + increment);
            if random.below(3) == 0 {
                queue.push_timer(when, step & 0xFFFF);
            } else {
                queue.push(when, step & 0xFFFF);
            }
            let entry = (now + increment, order, step & 0xFFFF);
            let at = sorted.partition_point(|other| *other > entry);
            sorted.insert(at, entry);
            if sorted.len() > 100 {
                let expected = sorted.pop().expect("not empty");
                now = expected.0;
                assert_eq!(queue.next_time(), Some(Instant::from_nanos(expected.0)));
                assert_eq!(queue.pop(), Some((Instant::from_nanos(expected.0), expected.2)));
                assert_eq!(queue.next_time().map(Instant::as_nanos), sorted.last().map(|entry| entry.0));
            }
        }
        assert_eq!(queue.len(), sorted.len());
    }
}
