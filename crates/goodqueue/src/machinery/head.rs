//! The head of a queue as a control law sees it, and the marks that a law makes there.

use crate::packet::{Ecn, Packet};
use crate::stats::Stats;
use crate::time::Instant;

/// The queue that a control law works on. The law judges the packet at the head in place, so that a
/// packet is moved only once, when it is sent or dropped.
pub trait Source {
    /// Returns the oldest packet, or `None` if the queue is empty.
    fn head(&self) -> Option<Head>;
    /// Returns the ECN field of the oldest packet, or `None` if the queue is empty.
    fn head_ecn(&self) -> Option<Ecn>;
    /// Drops the oldest packet as the congestion signal.
    fn drop_head(&mut self);
    /// Marks the oldest packet. Returns true if it now carries the signal (RFC 3168 §5).
    fn mark_head(&mut self, why: Mark) -> bool;
}

/// The packet at the head of a queue, as far as a control law cares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Head {
    /// Time of its arrival.
    pub at: Instant,
    /// Its length in bytes.
    pub bytes: u32,
    /// Bytes queued behind it, as this discipline counts them.
    pub bytes_behind: u64,
}

/// Why CoDel marked a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Mark {
    /// The control law would have dropped it.
    Law,
    /// It was queued for longer than `ce_threshold`.
    Threshold,
}

/// Values that Linux counts for `tc -s` beside the packets, over all queues of a discipline.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct CodelTally {
    /// Largest packet that has left, in bytes.
    pub max_packet: u32,
    /// Marks instead of drops. Packets that were marked already count too.
    pub ecn_mark: u64,
    /// Marks by `ce_threshold`, counted in the same way.
    pub ce_mark: u64,
}

impl CodelTally {
    /// Counts a mark.
    pub const fn marked(&mut self, why: Mark) {
        match why {
            Mark::Law => self.ecn_mark = self.ecn_mark.wrapping_add(1),
            Mark::Threshold => self.ce_mark = self.ce_mark.wrapping_add(1),
        }
    }
}

/// Marks `packet` and counts the mark. Returns true if the packet now carries the signal
/// (RFC 3168 §5).
pub(crate) fn mark<P: Packet>(packet: &mut P, why: Mark, stats: &mut Stats, tally: &mut CodelTally) -> bool {
    let already = packet.ecn() == Ecn::Ce;
    if !packet.set_ce() {
        return false;
    }
    // Linux counts each success of `INET_ECN_set_ce()`, also for a packet that has CE already.
    tally.marked(why);
    if !already {
        stats.marked.add(packet.len());
    }
    true
}
