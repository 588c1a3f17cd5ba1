//! The settings of a QUIC flow.

use std::sync::Arc;

use goodqueue::Direction;
use goodqueue_sim::traffic::HEADERS;
use quinn_proto::congestion::{ControllerFactory, CubicConfig, NewRenoConfig};
use quinn_proto::{MtuDiscoveryConfig, TransportConfig, VarInt};

/// The settings of a QUIC flow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QuicSettings {
    /// Direction of the data: `Down` fetches, `Up` sends.
    pub direction: Direction,
    /// Bytes to send; `None` for data without end.
    pub size: Option<u64>,
    /// Size in bytes of the request that starts a fetch.
    pub request: u64,
    /// Congestion control of both ends.
    pub congestion_control: CongestionControl,
    /// True if the system passes the ECN field on in both directions. quinn then sends ECT(0) until
    /// its validation fails (RFC 9000 §13.4.2).
    pub ecn: bool,
    /// Bytes of the stream that the receiver accepts before its program has read them. quinn does
    /// not adapt this window.
    pub receive_window: u32,
    /// Largest packet of the path in bytes, IP header included. At least [`MIN_MTU`].
    pub mtu: u32,
}

/// Smallest MTU over which QUIC works: datagrams of 1200 bytes (RFC 9000 §14) and their headers.
pub const MIN_MTU: u32 = 1200 + HEADERS;

/// quinn's default window for a stream: 100 Mbit/s with a round-trip time of 100 ms.
pub const RECEIVE_WINDOW: u32 = 1_250_000;

/// The congestion controls of quinn. Its BBR draws from the generator of the thread, so that equal
/// seeds would not give equal runs, and is not offered.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum CongestionControl {
    /// CUBIC of RFC 8312, the default of quinn.
    #[default]
    Cubic,
    /// NewReno of RFC 9002.
    NewReno,
}

impl CongestionControl {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Cubic, Self::NewReno];

    /// Returns the name in scenarios and results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cubic => "cubic",
            Self::NewReno => "newreno",
        }
    }

    fn factory(self) -> Arc<dyn ControllerFactory + Send + Sync> {
        match self {
            Self::Cubic => Arc::new(CubicConfig::default()),
            Self::NewReno => Arc::new(NewRenoConfig::default()),
        }
    }
}

impl QuicSettings {
    /// Returns a transfer without end, with quinn's defaults, over a path of Ethernet's MTU.
    #[must_use]
    pub const fn new(direction: Direction) -> Self {
        Self {
            direction,
            size: None,
            request: 300,
            congestion_control: CongestionControl::Cubic,
            ecn: false,
            receive_window: RECEIVE_WINDOW,
            mtu: 1500,
        }
    }

    pub(super) fn transport(&self) -> TransportConfig {
        // The subtraction must not underflow, and QUIC does not work over a smaller MTU.
        let payload = self.mtu.max(MIN_MTU) - HEADERS;
        let mut search = MtuDiscoveryConfig::default();
        search.upper_bound(u16::try_from(payload).unwrap_or(u16::MAX).min(LARGEST_PAYLOAD));
        let mut transport = TransportConfig::default();
        // With offload one datagram to transmit may be many packets, but a queue decides about
        // each.
        transport.enable_segmentation_offload(false);
        transport.mtu_discovery_config(Some(search));
        transport.stream_receive_window(VarInt::from_u32(self.receive_window));
        transport.congestion_controller_factory(self.congestion_control.factory());
        transport
    }
}

/// quinn's default upper bound of its search: Ethernet's MTU less the headers of IPv6 and UDP.
const LARGEST_PAYLOAD: u16 = 1452;
