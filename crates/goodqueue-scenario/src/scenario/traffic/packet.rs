//! `packet` and `rate`: the length of the packets of traffic over UDP and ICMP, and how fast they
//! follow each other.

use goodqueue::Rate;
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tc::units;

use super::kind::Surroundings;
use crate::scenario::link::read_rate_above_0;
use crate::scenario::reader::Reader;

/// IP bytes of a packet, from `packet`; `default` (or the MTU, if that is less) if it is not there.
pub(super) fn read_packet(
    table: &Reader<'_>,
    default: u32,
    around: &Surroundings<'_>,
) -> Result<u32, Diagnostic> {
    let mtu = around.link.mtu;
    let bytes = table.size("packet")?.unwrap_or(u64::from(default.min(mtu)));
    u32::try_from(bytes).ok().filter(|bytes| (MIN_PACKET..=mtu).contains(bytes)).ok_or_else(|| {
        let message = Diagnostic::new(format!("packets of {bytes} bytes are not possible"));
        let allowed = format!("{MIN_PACKET} (an IP and a UDP header) to the MTU of {mtu}");
        table.error("packet", message.allowed(allowed))
    })
}

/// The rate under `rate`, which must be there, at which packets of this length follow each other.
pub(super) fn read_paced_rate(table: &Reader<'_>, kind: &str, packet: u32) -> Result<Rate, Diagnostic> {
    let Some(rate) = read_rate_above_0(table, "rate")? else {
        let message = Diagnostic::new(format!("a flow of kind {kind} needs a rate"));
        return Err(table.error("rate", message.allowed("such as rate = \"64kbit\"")));
    };
    if rate.serialization(packet).is_zero() {
        let message =
            Diagnostic::new(format!("{packet} bytes at {} are less than 1 ns", units::show_rate(rate)));
        return Err(table.error("rate", message.help("give a lower rate or larger packets")));
    }
    Ok(rate)
}

/// IPv4 and UDP headers.
pub(super) const MIN_PACKET: u32 = 28;
