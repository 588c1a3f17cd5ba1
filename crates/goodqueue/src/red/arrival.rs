//! What an arriving packet finds, and what RED wants done about the packet.

use crate::time::Instant;

/// What an arriving packet finds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) now: Instant,
    pub(crate) backlog: u64,
    pub(crate) packets: usize,
    pub(crate) bytes: u32,
}

/// What the algorithm wants done about an arriving packet.
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
