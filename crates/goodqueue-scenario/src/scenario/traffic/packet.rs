//! `packet`: the length of the packets of traffic over UDP and ICMP.

use super::Surroundings;
use crate::diagnostic::Diagnostic;
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

/// IPv4 and UDP headers.
const MIN_PACKET: u32 = 28;
