//! The time at which a node forms its aggregates: at channel access, or ahead of it.

/// The time at which a node forms its aggregates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Forming {
    /// At channel access: every packet present by then may join. This is the behaviour of ns-3 and
    /// of hardware that forms aggregates itself.
    AtAccess,
    /// As soon as fewer than this number of an access category's aggregates are ready or in the
    /// air. A later packet waits for the next aggregate.
    Ahead(u32),
}

impl Default for Forming {
    /// The default of ath9k, whose hardware queue gets a second aggregate while the first is in the
    /// air (`ATH_AGGR_MIN_QDEPTH`).
    fn default() -> Self {
        Self::Ahead(2)
    }
}
