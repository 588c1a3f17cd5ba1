//! The fates of a flow's packets: sent, arrived, dropped.

/// The fates of a flow's packets in one direction.
///
/// Copies that a queue makes (`netem duplicate`) are not counted. Every packet sent has arrived,
/// was dropped, or is in flight.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Fates {
    /// Packets sent into the network.
    pub sent: u64,
    /// Packets that arrived at the other host.
    pub arrived: u64,
    /// Packets dropped by a queue or lost in the air.
    pub dropped: u64,
}

impl Fates {
    /// Returns the difference from an earlier state.
    pub(crate) const fn since(&self, before: &Self) -> Self {
        Self {
            sent: self.sent - before.sent,
            arrived: self.arrived - before.arrived,
            dropped: self.dropped - before.dropped,
        }
    }
}
