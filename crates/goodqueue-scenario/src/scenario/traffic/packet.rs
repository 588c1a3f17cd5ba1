//! `packet` and `rate`: the length of the packets of traffic over UDP and ICMP, and how fast they
//! follow each other.

use goodqueue::Rate;
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tc::units;

use super::kind::FlowContext;
use crate::scenario::reader::Reader;

/// Refuses packets that a link cannot carry.
pub(super) fn check_packet(
    table: &Reader<'_>,
    bytes: u32,
    around: &FlowContext<'_>,
) -> Result<(), Diagnostic> {
    let mtu = around.link.mtu;
    if (MIN_PACKET..=mtu).contains(&bytes) {
        return Ok(());
    }
    let message = Diagnostic::new(format!("packets of {bytes} bytes are not possible"));
    let allowed = format!("{MIN_PACKET} (an IP and a UDP header) to the MTU of {mtu}");
    Err(table.error("packet", message.allowed(allowed)))
}

/// Refuses a rate at which packets of this length follow each other without time between them.
pub(super) fn check_pace(table: &Reader<'_>, rate: Rate, packet: u32) -> Result<(), Diagnostic> {
    if !rate.serialization(packet).is_zero() {
        return Ok(());
    }
    let message = Diagnostic::new(format!("{packet} bytes at {} are less than 1 ns", units::show_rate(rate)));
    Err(table.error("rate", message.help("give a lower rate or larger packets")))
}

/// IPv4 and UDP headers.
pub(super) const MIN_PACKET: u32 = 28;
