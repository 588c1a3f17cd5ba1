//! The transport protocols of flows.

/// The transport protocol of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Transport {
    /// TCP: reliable, with congestion control.
    Tcp,
    /// QUIC: reliable, with congestion control, in UDP.
    Quic,
    /// Datagrams, which nobody sends again: UDP, and the echo requests of pings.
    Datagrams,
}

impl Transport {
    /// Returns true if flows of this transport have a congestion control. Their goodput counts, and
    /// they are the load to which others are compared.
    #[must_use]
    pub const fn controls_congestion(self) -> bool {
        match self {
            Self::Tcp | Self::Quic => true,
            Self::Datagrams => false,
        }
    }

    /// Returns the number of the protocol in the IP header: that of TCP, or that of UDP.
    #[must_use]
    pub const fn protocol(self) -> u8 {
        match self {
            Self::Tcp => 6,
            Self::Quic | Self::Datagrams => 17,
        }
    }
}
