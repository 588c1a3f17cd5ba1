//! Memory fetched ahead: with thousands of flows the state of each is out of the cache when its next packet arrives. Which
//! flows are next is known, as they wait in a delay line, so their state is asked for while others are served. Nothing
//! that is computed depends on it.

use prefetch_index::prefetch_index;

/// Bytes that a cache fetches at a time.
pub(crate) const CACHE_LINE: usize = 64;

/// So much memory; lists of none mark where an aligned structure begins.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct CacheLine {
    _bytes: [u8; CACHE_LINE],
}

/// What is fetched of a flow, as far ahead as it says: each step needs what the one before has fetched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ahead {
    /// The memory that says how it goes on.
    First,
    /// The state of the end at which the packet will arrive.
    Second,
    /// What that refers to.
    Last,
}

impl Ahead {
    /// All steps, with how many packets ahead of its own each is made.
    pub(crate) const STEPS: [(Self, usize); 3] = [(Self::First, 12), (Self::Second, 8), (Self::Last, 4)];
    /// Packets ahead at which the entry of a flow in the tables is fetched.
    pub(crate) const ENTRY: usize = 16;
    /// Packets ahead at which a packet itself is fetched.
    pub(crate) const PACKET: usize = 24;
    /// With fewer flows all of them fit a cache.
    pub(crate) const FLOWS: usize = 400;
}

/// Fetches the line that is `number` lines behind the beginning.
#[inline]
pub(crate) fn fetch_line<T>(beginning: &[T], number: usize) {
    prefetch_index(beginning, number);
}
