//! `kind = "quic"`: a QUIC connection with data in one direction, of a given size or unlimited.

use goodqueue::Direction;
#[cfg(feature = "quic")]
use goodqueue_quic::sim::QuicSettings;
use goodqueue_sim as sim;
#[cfg(feature = "quic")]
use goodqueue_sim::traffic::OwnSettings;
use goodqueue_tc::diagnostic::Diagnostic;

use super::kind::{FlowContext, Kind};
use super::quic_connection::QuicConnection;
#[cfg(not(feature = "quic"))]
use super::quic_connection::missing;
use super::transfers::REQUEST;
use crate::scenario::form::Maybe;
use crate::scenario::keys::keys;
use crate::scenario::plain::{Size, size};

keys! {
    /// A QUIC connection of quinn with data in one direction: a client fetches ("down") or sends
    /// ("up").
    pub struct Quic(table, around: &FlowContext<'_>) {
        /// Bytes to transfer. Default: unlimited.
        size: Option<u64> = "360kb", Maybe(TRANSFER) => none;
        /// Bytes of the request before a fetch; only for "down".
        request: u64 = 300, REQUEST;
    }
    shared {
        /// How the ends of the connection behave.
        connection: QuicConnection;
    }
}

const TRANSFER: Size = size("a transfer of {} bytes is not possible", 1..=u64::MAX);

impl Kind for Quic {
    const NAME: &'static str = "quic";

    #[cfg(feature = "quic")]
    fn to_sim(&self, direction: Direction) -> Result<sim::Traffic, Diagnostic> {
        let &Self { size, request, .. } = self;
        let settings = QuicSettings { size, request, ..self.connection.settings(direction) };
        Ok(OwnSettings::from_settings(settings).into())
    }

    #[cfg(not(feature = "quic"))]
    fn to_sim(&self, _direction: Direction) -> Result<sim::Traffic, Diagnostic> {
        Err(missing())
    }

    fn congestion_control(&self) -> Option<&str> {
        Some(self.connection.cc.name())
    }
}
