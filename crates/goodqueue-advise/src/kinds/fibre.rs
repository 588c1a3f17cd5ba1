//! Fibre to the home.

use goodqueue::Duration;

use crate::bottleneck::Bottleneck;
use crate::encapsulation::{Encapsulation, Framing};
use crate::kind::{Buffer, LinkKind, bytes_of};
use crate::port::Port;
use crate::shares::Shares;
use crate::variation::Variation;

/// The rates are those of the contract.
pub(super) const FIBRE: LinkKind = LinkKind {
    name: "fibre",
    title: "fibre (GPON or Ethernet)",
    source: "Overhead: Ethernet with VLAN tag and FCS 22, PPPoE 8 bytes, at least 64; 44 bytes and 84 cover Ethernet's \
             preamble and gap as well (IEEE 802.3). Buffers: 100 ms, between 256 kB and 4 MB: assumed. The line is 3 % slower than the rate given: assumed. RTT: assumed.",
    rtt: Duration::from_millis(12),
    mtu: 1500,
    encapsulation: Encapsulation { overhead: 30, mpu: 64, framing: Framing::Whole },
    accounted: Encapsulation { overhead: 44, mpu: 84, framing: Framing::Whole },
    buffer: Buffer::TailDrop,
    buffers: |rates| rates.map(|rate| bytes_of(rate, 100, [256 * 1024, 4 * 1024 * 1024])),
    real: 970,
    variation: Variation::Steady,
    shares: Shares::FIBRE,
    bottleneck: Bottleneck::Modem,
    port: Port::TO_MODEM,
    instead: None,
};
