//! The event queue: two collections that share one total order, by time and then by insertion.
//!
//! One holds the events of packets. Its size is the number of links and delay lines, however many
//! flows there are. The other one holds timers, of which there may be several per flow. Because
//! they are separate, a packet's events do not sift through the timers of ten thousand flows.

mod few;
mod heap;

use goodqueue::Instant;

use few::Few;
use heap::{Heap, NONE};

/// Scheduled events in the order in which they are due. An event is a number (`what`) of at most 24
/// bits, whose meaning the caller defines.
///
/// An entry has 16 bytes and compares as one 128-bit integer: the time, then the running number of
/// its insertion. Two events at the same instant therefore happen in the order in which they were
/// scheduled.
#[derive(Clone, Debug, Default)]
pub struct EventQueue {
    soon: Few,
    later: Heap,
    inserted: u64,
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
        // The time is in the upper half, so the comparison of two entries looks at it first.
        (u128::from(when.as_nanos()) << 64) | u128::from(order)
    }

    /// Removes and returns the event that is due first.
    #[inline]
    pub fn pop(&mut self) -> Option<(Instant, u32)> {
        self.pop_if(|first| first != NONE)
    }

    /// Removes and returns the event that is due first, if it is due before `end`.
    #[inline]
    pub fn pop_before(&mut self, end: Instant) -> Option<(Instant, u32)> {
        // An entry due at `end` is never below this, whatever its number of insertion is.
        let end = u128::from(end.as_nanos()) << 64;
        self.pop_if(|first| first < end)
    }

    #[inline]
    fn pop_if(&mut self, is_wanted: impl FnOnce(u128) -> bool) -> Option<(Instant, u32)> {
        let soon = self.soon.first();
        let later = self.later.first();
        // No two entries are equal, because each has its own number of insertion.
        let is_soon = soon < later;
        let first = if is_soon { soon } else { later };
        if !is_wanted(first) {
            return None;
        }
        if is_soon {
            self.soon.take_first();
        } else {
            self.later.take_first();
        }
        Some(decode(first))
    }

    /// Returns the time at which the next event is due.
    #[must_use]
    pub fn next_time(&self) -> Option<Instant> {
        // `NONE`, which an empty heap returns, is above every entry.
        let first = self.soon.peek().min(self.later.peek());
        (first != NONE).then(|| decode(first).0)
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
    fn few_and_many_events_come_in_the_order_of_a_sorted_list() {
        for events in [3, 100] {
            hold(events);
        }
    }

    /// Keeps this number of events scheduled, in the queue and in a sorted list.
    fn hold(events: usize) {
        let mut random = Xoshiro256PlusPlus::new(1);
        let mut queue = EventQueue::default();
        let mut sorted: Vec<(u64, u64, u32)> = Vec::new();
        let mut now = 0;
        for (order, step) in (0_u64..).zip(0..100_000_u32) {
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
            if sorted.len() > events {
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
