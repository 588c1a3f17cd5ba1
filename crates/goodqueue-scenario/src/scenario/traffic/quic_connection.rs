//! The keys of every QUIC flow: how both ends of a QUIC connection behave.

#[cfg(feature = "quic")]
use goodqueue::Direction;
#[cfg(feature = "quic")]
use goodqueue_quic::sim::{CongestionControl, MIN_MTU, QuicSettings};
use goodqueue_tc::diagnostic::Diagnostic;

use super::kind::FlowContext;
use crate::scenario::form::Maybe;
use crate::scenario::keys::keys;
use crate::scenario::plain::{Flag, Size, Words, size};

keys! {
    /// The ends of a QUIC connection.
    pub struct QuicConnection(table, around: &FlowContext<'_>) {
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

const CC: Words<QuicControl> = Words(&[
    (QuicControl::Cubic.name(), QuicControl::Cubic),
    (QuicControl::NewReno.name(), QuicControl::NewReno),
]);
const WINDOW: Size = size("a window of {} bytes is not possible", 10_000..=1 << 30);

#[cfg(feature = "quic")]
impl QuicConnection {
    /// Settings of a connection that transfers data without end.
    pub(super) fn settings(&self, direction: Direction) -> QuicSettings {
        let usual = QuicSettings::new(direction);
        let &Self { cc, ecn, rwnd, mtu } = self;
        let congestion_control = match cc {
            QuicControl::Cubic => CongestionControl::Cubic,
            QuicControl::NewReno => CongestionControl::NewReno,
        };
        let receive_window = rwnd.unwrap_or(usual.receive_window);
        QuicSettings { congestion_control, ecn, receive_window, mtu, ..usual }
    }
}

/// Refuses paths over which QUIC does not work.
#[cfg(feature = "quic")]
fn check(mtu: u32) -> Result<(), Diagnostic> {
    if mtu >= MIN_MTU {
        return Ok(());
    }
    let message = Diagnostic::new(format!("QUIC does not work over an MTU of {mtu}"));
    Err(message.allowed(format!("`link.mtu` of {MIN_MTU} or more")))
}

/// Refuses QUIC.
#[cfg(not(feature = "quic"))]
fn check(_mtu: u32) -> Result<(), Diagnostic> {
    Err(missing())
}

#[cfg(not(feature = "quic"))]
pub(super) fn missing() -> Diagnostic {
    let message = Diagnostic::new("this program was built without QUIC");
    message.help("use the command `goodqueue` or the Python package, or leave these flows out")
}
