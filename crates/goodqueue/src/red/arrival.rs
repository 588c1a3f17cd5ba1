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
    /// Nothing, for this reason.
    Spared(Spared),
    /// A probabilistic signal, between the thresholds.
    Early,
    /// A certain one, above them.
    Forced,
    /// One that must be a drop.
    Unmarkable,
}

/// Why an arriving packet is not signalled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Spared {
    /// The average is below the lower threshold.
    BelowMin,
    /// The average was below the threshold at the arrival before. The count of packets, on which
    /// the probability depends, begins with this one.
    First,
    /// The queue holds at most one packet (ns-2, which spares a link that is hardly used).
    ShortQueue,
    /// Its random number did not hit it.
    Missed,
}
