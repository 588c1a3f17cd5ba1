//! The reasons for which a discipline drops a packet.

/// Why a packet was dropped.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum DropReason {
    /// The AQM decided so: the drop is the congestion signal.
    Congested,
    /// The packet limit (or a byte limit in its place) was reached.
    Overlimit,
    /// The memory limit was reached.
    Overmemory,
    /// The limit of one flow was reached while the queue had room.
    FlowLimit,
    /// The packet is larger than the discipline can ever send.
    Oversize,
    /// The packet was queued when the discipline was purged.
    Purged,
    /// An emulated network lost the packet.
    Lost,
    /// The packet was an acknowledgement that a later one makes redundant.
    Superseded,
    /// The limit of one band was reached.
    BandLimit,
    /// The sender asked for a departure too far in the future.
    Horizon,
    /// The AQM wanted to mark a packet that cannot carry a mark, in a queue for packets that can.
    NotEct,
}

impl DropReason {
    /// Every reason, in the order in which they are reported.
    pub const ALL: &'static [Self] = &[
        Self::Congested,
        Self::Overlimit,
        Self::Overmemory,
        Self::FlowLimit,
        Self::Oversize,
        Self::Purged,
        Self::Lost,
        Self::Superseded,
        Self::BandLimit,
        Self::Horizon,
        Self::NotEct,
    ];

    /// Returns the reasons of Linux 7.3 (`enum qdisc_drop_reason`, in lower case) that may stand
    /// for this one; none if Linux has no such drop, or names no reason for it.
    ///
    /// Linux distinguishes less in some disciplines, and more in others. FIFOs, `choke`, `netem`
    /// and full queues of classes have `generic` for every drop; memory and packets have one reason
    /// (`overlimit`); `red` calls a drop above its maximum `overlimit`, and `sfb` one from a full
    /// bin. On the other hand `cake` calls a drop by BLUE `flood_protection`, which is
    /// [`Self::Congested`] here.
    #[must_use]
    pub const fn linux_names(self) -> &'static [&'static str] {
        match self {
            Self::Congested => &["congested", "flood_protection", "overlimit", "generic"],
            Self::Overlimit => &["overlimit", "generic"],
            Self::Overmemory | Self::Oversize => &["overlimit"],
            Self::FlowLimit => &["flow_limit", "overlimit"],
            Self::Lost => &["generic"],
            Self::BandLimit => &["band_limit"],
            Self::Horizon => &["horizon_limit"],
            Self::NotEct => &["l4s_step_non_ecn"],
            Self::Purged | Self::Superseded => &[],
        }
    }

    /// Returns the name used in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Congested => "congested",
            Self::Overlimit => "overlimit",
            Self::Overmemory => "overmemory",
            Self::FlowLimit => "flow_limit",
            Self::Oversize => "oversize",
            Self::Purged => "purged",
            Self::Lost => "lost",
            Self::Superseded => "superseded",
            Self::BandLimit => "band_limit",
            Self::Horizon => "horizon",
            Self::NotEct => "not_ect",
        }
    }

    /// Returns the position in [`Self::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        // `ALL` has the order of the declaration.
        self as usize
    }
}
