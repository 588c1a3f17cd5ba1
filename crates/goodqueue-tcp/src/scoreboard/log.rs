//! What happened to segments since somebody last asked, for samples of the delivery rate.

use alloc::vec::Vec;

/// A transmission that is taken for lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LostRecord {
    /// Position of the segment.
    pub position: u64,
    /// Its sequence numbers.
    pub bytes: u64,
}

/// Deliveries and losses, in the order in which they were found.
#[derive(Clone, Debug, Default)]
pub(super) struct Log {
    pub(super) delivered: Vec<u64>,
    pub(super) lost: Vec<LostRecord>,
}
