//! The queues of a tin, and their numbers among the queues of all tins.

use alloc::boxed::Box;
use alloc::vec;

use crate::cobalt::CobaltVars;
use crate::queue::Chain;

// A packet then touches one line of the cache of its queue.
/// One queue.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct CakeFlow {
    pub(super) packets: Chain,
    pub(super) deficit: i32,
    /// Bytes queued, a packet of no bytes counted as one.
    pub(super) backlog: u64,
    pub(super) cobalt: CobaltVars,
    /// Entries of its hosts.
    pub(super) source: u16,
    pub(super) destination: u16,
    pub(super) set: Set,
}

const _: () = assert!(size_of::<CakeFlow>() <= 64, "a thousand flows must stay in the cache");

/// Where a flow stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Set {
    None,
    Sparse,
    /// Counted as sparse, but among the old flows, since it has a deficit.
    SparseWait,
    Bulk,
    Decaying,
}

/// The queues of a tin.
#[derive(Clone, Debug)]
pub(super) struct Flows(pub(super) Box<[CakeFlow; QUEUES]>);

impl Flows {
    #[inline]
    pub(super) fn at(&self, index: u32) -> &CakeFlow {
        &self.0[index as usize % QUEUES]
    }

    #[inline]
    pub(super) fn at_mut(&mut self, index: u32) -> &mut CakeFlow {
        &mut self.0[index as usize % QUEUES]
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &CakeFlow> {
        self.0.iter()
    }
}

/// Returns one `value` for each queue, allocated on the heap.
pub(super) fn for_each_queue<T: Clone, const N: usize>(value: &T) -> Box<[T; N]> {
    let many = vec![value.clone(); N].into_boxed_slice();
    many.try_into().unwrap_or_else(|_| Box::new(core::array::from_fn(|_| value.clone())))
}

/// Returns the charge for a packet of `bytes`: at least one byte.
#[inline]
pub(super) fn charge(bytes: u32) -> u64 {
    u64::from(bytes.max(1))
}

/// The number of a queue among those of all tins, as Linux counts: the first of each tin, then the
/// second.
#[inline]
pub(super) fn number(tin: usize, index: u32) -> u32 {
    index * MOST_TINS_32 + u32::try_from(tin % MOST_TINS).unwrap_or(0)
}

/// Linux sch_cake: queues per tin.
pub(super) const QUEUES: usize = 1024;
pub(super) const QUEUES_32: u32 = 1024;
/// Linux sch_cake: `diffserv8` and `precedence` have the most.
pub(super) const MOST_TINS: usize = 8;
pub(super) const MOST_TINS_32: u32 = 8;
