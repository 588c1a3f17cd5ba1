//! QUIC as traffic of simulated scenarios: both endpoints of quinn-proto, with its loss recovery,
//! congestion control, pacing, flow control, MTU discovery and validation of ECN.
//!
//! * A client asks for data, or sends data, on one connection with one stream.
//! * Every datagram passes the network with its size and the 28 bytes of IPv4 and UDP. The network
//!   carries its number; the flow keeps the bytes until the datagram arrives.
//! * The maximum size of datagrams is found by quinn's own search (RFC 8899), from 1200 bytes up to
//! 1452, its default, or to the MTU of the link. A path of the simulator carries every size, so no
//! probe is lost for its size.
//! * All randomness comes from the flow's stream. quinn computes CUBIC in floating point with the
//!   cube root of the platform, so runs with it are equal on one platform only.
//! * Segmentation offload is off: a queue decides about each packet.

mod contents;
mod endpoint;
mod program;
mod source;

use std::sync::Arc;

use goodqueue::random::Xoshiro256PlusPlus;
use goodqueue::{ConfigError, Direction};
use goodqueue_sim::traffic::{HEADERS, OwnSource, OwnTraffic, Settings};
use goodqueue_sim::{FlowId, Transport};
use quinn_proto::congestion::{ControllerFactory, CubicConfig, NewRenoConfig};
use quinn_proto::{MtuDiscoveryConfig, TransportConfig, VarInt};

use self::source::Quic;

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

impl Settings for QuicSettings {
    const KIND: &'static str = "quic";
    const TRANSPORT: Transport = Transport::Quic;

    fn direction(&self) -> Direction {
        self.direction
    }

    fn congestion_control(&self) -> Option<&'static str> {
        Some(self.congestion_control.name())
    }
}

impl OwnTraffic for QuicSettings {
    fn source(&self, flow: FlowId, random: Xoshiro256PlusPlus) -> Result<Box<dyn OwnSource>, ConfigError> {
        Ok(Box::new(Quic::from_settings(flow, self, random)))
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

    fn transport(&self) -> TransportConfig {
        let payload = self.mtu.max(MIN_MTU) - HEADERS;
        let mut search = MtuDiscoveryConfig::default();
        search.upper_bound(u16::try_from(payload).unwrap_or(u16::MAX).min(LARGEST_PAYLOAD));
        let mut transport = TransportConfig::default();
        transport.enable_segmentation_offload(false);
        transport.mtu_discovery_config(Some(search));
        transport.stream_receive_window(VarInt::from_u32(self.receive_window));
        transport.congestion_controller_factory(self.congestion_control.factory());
        transport
    }
}

/// quinn's default upper bound of its search: Ethernet's MTU less the headers of IPv6 and UDP.
const LARGEST_PAYLOAD: u16 = 1452;
