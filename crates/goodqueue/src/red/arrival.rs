//! The state of the queue at an arrival, and RED's decision about it.

use crate::time::Instant;

/// The state of the queue at an arrival.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) now: Instant,
    pub(crate) backlog: u64,
    pub(crate) packets: usize,
    pub(crate) bytes: u32,
}

/// The algorithm's decision about an arriving packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Signal {
    /// Nothing.
    None,
    /// A probabilistic signal, between the thresholds.
    Early,
    /// A certain one, above them.
    Forced,
    /// One that must be a drop.
    Unmarkable,
}
