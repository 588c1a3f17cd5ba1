//! Random numbers as an argument: a discipline that draws is generic over its source.
//!
//! [`Xoshiro256PlusPlus`] (Blackman & Vigna 2019) is the named generator of all simulations;
//! [`Recorded`] plays back numbers that somebody else drew, so that a random discipline can be
//! compared with a recording decision by decision.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::Relaxed;

pub use crate::hash::mix_64;
use crate::hash::{GOLDEN, scale_hash};

/// A source of uniformly distributed integers.
pub trait Random {
    /// Uniform over all 32-bit values.
    fn next_u32(&mut self) -> u32;

    /// Uniform over all 64-bit values.
    fn next_u64(&mut self) -> u64;

    /// Uniform over `0..bound` by multiply-shift (bias below `bound / 2^32`), the rule of Linux's
    /// `reciprocal_scale`; 0 if `bound` is 0.
    fn below(&mut self, bound: u32) -> u32 {
        scale_hash(self.next_u32(), bound)
    }
}

/// xoshiro256++ 1.0, seeded through splitmix64 as its authors advise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Xoshiro256PlusPlus {
    state: [u64; 4],
}

impl Xoshiro256PlusPlus {
    /// A generator for `seed`; every seed, 0 included, gives a full-period stream.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut mixer = seed;
        let state = core::array::from_fn(|_| {
            mixer = mixer.wrapping_add(GOLDEN);
            mix_64(mixer)
        });
        Self { state }
    }

    /// A generator for part number `stream` of the run with this `seed`: parts draw independently
    /// of each other.
    #[must_use]
    pub fn stream(seed: u64, stream: u64) -> Self {
        // Without the inner mix, seed 1 with stream 2 would be seed 2 with stream 1.
        Self::new(mix_64(seed ^ mix_64(stream.wrapping_add(GOLDEN))))
    }
}

impl Random for Xoshiro256PlusPlus {
    fn next_u32(&mut self) -> u32 {
        // The upper half is the better one in all generators of this family.
        u32::try_from(self.next_u64() >> 32).unwrap_or(0)
    }

    fn next_u64(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        // The rotations and the shift are those of Blackman and Vigna for xoshiro256++ 1.0.
        let result = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let c = c ^ a;
        let d = d ^ b;
        self.state = [a ^ d, b ^ c, c ^ (b << 17), d.rotate_left(45)];
        result
    }
}

/// Recorded random numbers, returned in order. After the last number it returns zeros and counts
/// them. The disciplines of a tree share one record and draw from it in turn. A clone continues
/// independently with the remaining numbers.
#[derive(Default, Debug)]
pub struct Recorded {
    draws: Arc<Vec<u64>>,
    given: Arc<AtomicUsize>,
}

impl Recorded {
    /// Adds a draw at the end. It has no effect on a tree that already exists.
    pub fn push(&mut self, value: u64) {
        Arc::make_mut(&mut self.draws).push(value);
    }

    /// Returns the number of draws after the end of the record.
    #[must_use]
    pub fn missing(&self) -> u64 {
        self.given().saturating_sub(self.draws.len()) as u64
    }

    /// Returns the number of remaining draws.
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.draws.len().saturating_sub(self.given())
    }

    fn given(&self) -> usize {
        self.given.load(Relaxed)
    }

    /// Returns the same record for another discipline. Each number is drawn by one of them.
    fn shared(&self) -> Self {
        Self { draws: Arc::clone(&self.draws), given: Arc::clone(&self.given) }
    }
}

impl Clone for Recorded {
    fn clone(&self) -> Self {
        Self { draws: Arc::clone(&self.draws), given: Arc::new(AtomicUsize::new(self.given())) }
    }
}

impl PartialEq for Recorded {
    fn eq(&self, other: &Self) -> bool {
        (&self.draws, self.given()) == (&other.draws, other.given())
    }
}

impl Eq for Recorded {}

impl Random for Recorded {
    #[expect(clippy::cast_possible_truncation, reason = "a recorded 32-bit draw has its upper half zero")]
    fn next_u32(&mut self) -> u32 {
        self.next_u64() as u32
    }

    fn next_u64(&mut self) -> u64 {
        // The disciplines of a tree run in one thread. The counter is atomic only so that a tree
        // can move to another one.
        let next = self.given.fetch_add(1, Relaxed);
        self.draws.get(next).copied().unwrap_or(0)
    }
}

/// Either of the two, chosen when a discipline is made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Source {
    /// A seeded generator.
    Seeded(Xoshiro256PlusPlus),
    /// Recorded draws.
    Recorded(Recorded),
}

impl Source {
    /// A seeded generator.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self::Seeded(Xoshiro256PlusPlus::new(seed))
    }
}

impl Source {
    /// Returns a source to [fork](Self::fork) later, independent of the draws in the meantime.
    pub(crate) fn spare(&self) -> Self {
        match self {
            Self::Seeded(generator) => Self::Seeded(generator.clone()),
            Self::Recorded(record) => Self::Recorded(record.shared()),
        }
    }

    /// Returns a source for part number `part` of the owner of this source. A generator is seeded
    /// from the next draw; a record is shared.
    pub(crate) fn fork(&mut self, part: u64) -> Self {
        match self {
            Self::Seeded(generator) => Self::Seeded(Xoshiro256PlusPlus::stream(generator.next_u64(), part)),
            Self::Recorded(record) => Self::Recorded(record.shared()),
        }
    }
}

impl Random for Source {
    fn next_u32(&mut self) -> u32 {
        match self {
            Self::Seeded(generator) => generator.next_u32(),
            Self::Recorded(record) => record.next_u32(),
        }
    }

    fn next_u64(&mut self) -> u64 {
        match self {
            Self::Seeded(generator) => generator.next_u64(),
            Self::Recorded(record) => record.next_u64(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xoshiro_follows_its_published_recurrence() {
        // From state (1, 2, 3, 4) the first outputs are known: they follow from the definition by
        // hand.
        let mut generator = Xoshiro256PlusPlus { state: [1, 2, 3, 4] };
        assert_eq!(generator.next_u64(), 41_943_041); // 5 x 2^23 + 1
        assert_eq!(generator.next_u64(), 58_720_359); // 7 x 2^23 + 6 x 2^4 + 7
    }

    #[test]
    fn a_record_that_ends_says_how_much_was_missing() {
        let mut record = Recorded::default();
        record.push(7);
        assert_eq!((record.next_u64(), record.next_u32(), record.missing()), (7, 0, 1));
    }

    #[test]
    fn the_parts_of_a_tree_draw_from_one_record_in_turn_and_a_clone_for_itself() {
        let mut record = Recorded::default();
        (1..=4).for_each(|draw| record.push(draw));
        let mut tree = Source::Recorded(record);
        let mut part = tree.fork(1);
        let mut clone = part.clone();
        assert_eq!([tree.next_u64(), part.next_u64(), tree.next_u64()], [1, 2, 3]);
        assert_eq!([clone.next_u64(), part.next_u64(), clone.next_u64()], [1, 4, 2]);
    }
}
