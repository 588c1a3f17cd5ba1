//! Memory prefetching for simulations with thousands of flows.
//!
//! With that many flows the state of each flow has left the cache when its next packet arrives.
//! Packets wait in delay lines, so the simulator knows which flows are next and can prefetch their
//! state while it serves other packets. Prefetching never changes a result.

use prefetch_index::prefetch_index;

/// Bytes of a cache line.
pub(crate) const CACHE_LINE: usize = 64;

/// One cache line of memory. A zero-length array of these aligns a structure to a cache line.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct CacheLine {
    _bytes: [u8; CACHE_LINE],
}

/// The steps of prefetching a flow. Each step needs the memory that the previous step fetched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ahead {
    /// The fields that tell which end of the flow receives the packet.
    First,
    /// The state of the receiving end.
    Second,
    /// The memory to which that state points.
    Last,
}

impl Ahead {
    /// All steps, each with its lead: the number of packets between the packet served now and the
    /// packet whose flow is prefetched.
    pub(crate) const STEPS: [(Self, usize); 3] = [(Self::First, 12), (Self::Second, 8), (Self::Last, 4)];
    /// Lead, in packets, for a flow's entry in the tables.
    pub(crate) const ENTRY: usize = 16;
    /// Lead, in packets, for the packet itself.
    pub(crate) const PACKET: usize = 24;
    /// Number of flows up to which all flow state fits into the cache, so that prefetching only
    /// costs time.
    pub(crate) const FLOWS: usize = 400;
}

/// Prefetches the cache line that holds element `number` of `beginning`.
#[inline]
pub(crate) fn fetch_line<T>(beginning: &[T], number: usize) {
    prefetch_index(beginning, number);
}
