//! `kind = "quic_transfers"`: the user of `kind = "transfers"` over QUIC.

use goodqueue::{Direction, Duration};
#[cfg(feature = "quic")]
use goodqueue_quic::sim::{QuicSettings, QuicTransfersSettings};
use goodqueue_sim as sim;
#[cfg(feature = "quic")]
use goodqueue_sim::traffic::{Habits, OwnSettings};
use goodqueue_tc::diagnostic::Diagnostic;

use super::kind::{FlowContext, Kind};
use super::quic_connection::QuicConnection;
#[cfg(not(feature = "quic"))]
use super::quic_connection::missing;
use super::transfers::{COUNT, REQUEST, check_size};
use crate::scenario::drawn::{Drawn, Random};
use crate::scenario::form::Maybe;
use crate::scenario::keys::keys;
use crate::scenario::plain::Flag;

keys! {
    /// Over QUIC: a user who fetches ("down") or sends ("up") data, thinks, and starts again.
    pub struct QuicTransfers(table, around: &FlowContext<'_>) {
        /// Bytes of each transfer; may be random.
        size: Drawn<u64> = "20kb", Random => required("a flow of kind quic_transfers needs a size");
        /// Time from the end of a transfer to the next one; may be random.
        think: Drawn<Duration> = "5s", Random => required("a flow of kind quic_transfers needs a think time");
        /// Bytes of the request before each fetch; only for "down".
        request: u64 = 300, REQUEST;
        /// Use one connection for all transfers, each on a stream, instead of one for each.
        persistent: bool = false, Flag;
        /// Number of transfers. Default: until the run ends.
        transfers: Option<u64> = 10, Maybe(COUNT) => none;
    }
    shared {
        /// How the ends of each connection behave.
        connection: QuicConnection;
    }
    then {
        check_size(table, &size)?;
    }
}

impl Kind for QuicTransfers {
    const NAME: &'static str = "quic_transfers";

    #[cfg(feature = "quic")]
    fn to_sim(&self, direction: Direction) -> Result<sim::Traffic, Diagnostic> {
        let connection = QuicSettings { request: self.request, ..self.connection.settings(direction) };
        let habits = Habits {
            size: self.size.to_sim(),
            think: self.think.to_sim(),
            persistent: self.persistent,
            count: self.transfers,
        };
        Ok(OwnSettings::from_settings(QuicTransfersSettings { connection, habits }).into())
    }

    #[cfg(not(feature = "quic"))]
    fn to_sim(&self, _direction: Direction) -> Result<sim::Traffic, Diagnostic> {
        Err(missing())
    }

    fn congestion_control(&self) -> Option<&str> {
        Some(self.connection.cc.name())
    }
}
