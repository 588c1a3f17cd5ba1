//! `kind = "quic"`: a QUIC connection with data in one direction, of a given size or unlimited.

use goodqueue::Direction;
#[cfg(feature = "quic")]
use goodqueue_quic::sim::{CongestionControl, MIN_MTU, QuicSettings};
use goodqueue_sim as sim;
#[cfg(feature = "quic")]
use goodqueue_sim::traffic::OwnSettings;
use goodqueue_tc::diagnostic::Diagnostic;

use super::kind::{FlowContext, Kind};
use super::transfers::REQUEST;
use crate::scenario::form::Maybe;
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
        cc: QuicControl = "cubic", CC;
        /// Send packets as ECT(0), until quinn's validation of ECN fails.
        ecn: bool = false, Flag;
        /// Bytes that the receiver accepts before they are read. Default: 1.25 MB, that of quinn.
        rwnd: Option<u32> = "10mb", Maybe(WINDOW) => none;
    }
    with {
        /// Largest packet of the path in bytes.
        mtu: u32;
    }
    then {
        let mtu = around.link.mtu;
        check(mtu).map_err(|message| table.error("kind", message))?;
    }
}

/// Congestion control of a QUIC connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QuicControl {
    /// CUBIC (RFC 8312).
    Cubic,
    /// NewReno (RFC 9002).
    NewReno,
}

impl QuicControl {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Cubic => "cubic",
            Self::NewReno => "newreno",
        }
    }
}

pub(super) const CC: Words<QuicControl> = Words(&[
    (QuicControl::Cubic.name(), QuicControl::Cubic),
    (QuicControl::NewReno.name(), QuicControl::NewReno),
]);
const TRANSFER: Size = size("a transfer of {} bytes is not possible", 1..=u64::MAX);
pub(super) const WINDOW: Size = size("a window of {} bytes is not possible", 10_000..=1 << 30);

impl Kind for Quic {
    const NAME: &'static str = "quic";

    #[cfg(feature = "quic")]
    fn to_sim(&self, direction: Direction) -> Result<sim::Traffic, Diagnostic> {
        Ok(OwnSettings::from_settings(self.settings(direction)).into())
    }

    #[cfg(not(feature = "quic"))]
    fn to_sim(&self, _direction: Direction) -> Result<sim::Traffic, Diagnostic> {
        Err(missing())
    }

    fn congestion_control(&self) -> Option<&str> {
        Some(self.cc.name())
    }
}

#[cfg(feature = "quic")]
impl Quic {
    /// Settings of a connection.
    pub(super) fn settings(&self, direction: Direction) -> QuicSettings {
        let usual = QuicSettings::new(direction);
        let &Self { size, request, cc, ecn, rwnd, mtu } = self;
        let congestion_control = match cc {
            QuicControl::Cubic => CongestionControl::Cubic,
            QuicControl::NewReno => CongestionControl::NewReno,
        };
        let receive_window = rwnd.unwrap_or(usual.receive_window);
        QuicSettings { size, request, congestion_control, ecn, receive_window, mtu, ..usual }
    }
}

/// Refuses paths over which QUIC does not work.
#[cfg(feature = "quic")]
pub(super) fn check(mtu: u32) -> Result<(), Diagnostic> {
    if mtu >= MIN_MTU {
        return Ok(());
    }
    let message = Diagnostic::new(format!("QUIC does not work over an MTU of {mtu}"));
    Err(message.allowed(format!("`link.mtu` of {MIN_MTU} or more")))
}

/// Refuses QUIC.
#[cfg(not(feature = "quic"))]
pub(super) fn check(_mtu: u32) -> Result<(), Diagnostic> {
    Err(missing())
}

#[cfg(not(feature = "quic"))]
pub(super) fn missing() -> Diagnostic {
    let message = Diagnostic::new("this program was built without QUIC");
    message.help("use the command `goodqueue` or the Python package, or leave these flows out")
}
