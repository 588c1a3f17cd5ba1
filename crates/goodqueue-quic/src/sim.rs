//! QUIC as traffic of simulated scenarios: both endpoints of quinn-proto, with its loss recovery,
//! congestion control, pacing, flow control, MTU discovery and validation of ECN.
//!
//! * A client asks for data, or sends data, on one connection with one stream; once, or again after
//!   a pause.
//! * Every datagram passes the network with its size and the 28 bytes of IPv4 and UDP. The network
//!   carries its number; the flow keeps the bytes until the datagram arrives.
//! * The maximum size of datagrams is found by quinn's own search (RFC 8899), from 1200 bytes up to
//!   1452, its default, or to the MTU of the link. A path of the simulator carries every size, so
//!   no probe is lost for its size.
//! * All randomness comes from the flow's stream. quinn computes CUBIC with [`f64::cbrt`], whose
//!   last digit may differ between platforms and compilers, so runs with CUBIC are equal on one
//!   platform with one compiler.
//! * Segmentation offload is off: a queue decides about each packet.

mod arrived;
mod contents;
mod endpoint;
mod pair;
mod program;
mod settings;
mod source;
mod transfers;

use goodqueue::random::Xoshiro256PlusPlus;
use goodqueue::{ConfigError, Direction};
use goodqueue_sim::traffic::{OwnSource, OwnTraffic, Settings};
use goodqueue_sim::{FlowId, Transport};

pub use self::settings::{CongestionControl, MIN_MTU, QuicSettings, RECEIVE_WINDOW};
use self::source::Quic;
use self::transfers::QuicTransfers;
pub use self::transfers::QuicTransfersSettings;

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

impl Settings for QuicTransfersSettings {
    const KIND: &'static str = "quic_transfers";
    const TRANSPORT: Transport = Transport::Quic;
    const IS_OF_PIECES: bool = true;

    fn direction(&self) -> Direction {
        self.connection.direction
    }

    fn congestion_control(&self) -> Option<&'static str> {
        Some(self.connection.congestion_control.name())
    }
}

impl OwnTraffic for QuicTransfersSettings {
    fn source(&self, flow: FlowId, random: Xoshiro256PlusPlus) -> Result<Box<dyn OwnSource>, ConfigError> {
        Ok(Box::new(QuicTransfers::from_settings(flow, self, random)))
    }
}
