//! `kind = "quic"`: a QUIC connection with data in one direction, of a given size or unlimited.

use goodqueue::Direction;
use goodqueue_quic::sim::{CongestionControl, MIN_MTU, QuicSettings, RECEIVE_WINDOW};
use goodqueue_sim as sim;
use goodqueue_sim::traffic::OwnSettings;
use goodqueue_tc::diagnostic::Diagnostic;

use super::kind::{FlowContext, Kind};
use super::transfers::REQUEST;
use crate::scenario::form::{Maybe, Unless};
use crate::scenario::keys::keys;
use crate::scenario::plain::{Flag, Size, Words, size};

keys! {
    /// A QUIC connection of quinn with data in one direction: a client fetches ("down") or sends
    /// ("up").
    pub struct Quic(table, around: &FlowContext<'_>) {
        /// Bytes to transfer. Default: unlimited.
        size: Option<u64> = "360kb", Maybe(TRANSFER) => none;
        /// Bytes of the request before a fetch; only for "down".
        request: u64 = 300, REQUEST;
        /// Congestion control.
        cc: CongestionControl = "cubic", CC;
        /// Send packets as ECT(0), if the path passes quinn's validation of ECN.
        ecn: bool = false, Flag;
        /// Bytes that the receiver accepts before they are read. Default: that of quinn.
        rwnd: u32 = 1_250_000, Unless(RECEIVE_WINDOW, WINDOW);
    }
    with {
        /// Largest packet of the path in bytes.
        mtu: u32;
    }
    then {
        let mtu = around.link.mtu;
        if mtu < MIN_MTU {
            let message = Diagnostic::new(format!("QUIC does not work over an MTU of {mtu}"));
            return Err(table.error("kind", message.allowed(format!("`link.mtu` of {MIN_MTU} or more"))));
        }
    }
}

const TRANSFER: Size = size("a transfer of {} bytes is not possible", 1..=u64::MAX);
const WINDOW: Size = size("a window of {} bytes is not possible", 10_000..=1 << 30);
const CC: Words<CongestionControl> = Words(&[
    (CongestionControl::Cubic.name(), CongestionControl::Cubic),
    (CongestionControl::NewReno.name(), CongestionControl::NewReno),
]);

impl Kind for Quic {
    const NAME: &'static str = "quic";

    fn to_sim(&self, direction: Direction) -> Result<sim::Traffic, Diagnostic> {
        let &Self { size, request, cc: congestion_control, ecn, rwnd: receive_window, mtu } = self;
        let settings =
            QuicSettings { direction, size, request, congestion_control, ecn, receive_window, mtu };
        Ok(OwnSettings::from_settings(settings).into())
    }

    fn congestion_control(&self) -> Option<&str> {
        Some(self.cc.name())
    }
}
