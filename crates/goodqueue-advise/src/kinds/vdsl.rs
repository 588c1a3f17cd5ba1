//! VDSL2: IP over PPPoE over Ethernet with a VLAN tag, in packet transfer mode.

use goodqueue::Duration;

use crate::bottleneck::Bottleneck;
use crate::encapsulation::{Encapsulation, Framing};
use crate::kind::{Buffer, LinkKind, bytes_of};
use crate::port::Port;
use crate::shares::Shares;
use crate::variation::Variation;

/// The rates are those at which the modem synchronised.
pub(super) const VDSL: LinkKind = LinkKind {
    name: "vdsl",
    title: "VDSL2 (packet transfer mode)",
    source: "Overhead: PPPoE 8, Ethernet with VLAN tag and FCS 22, PTM 4 bytes, and 65 bytes for each 64 (ITU-T G.993.2, \
             IEEE 802.3). Buffers: 200 ms, between 128 kB and 1 MB: assumed, after the sizes that Netalyzr found in \
             2010 (Kreibich et al., IMC 2010). The line is 1 % slower than the rate given: assumed. RTT: assumed.",
    rtt: Duration::from_millis(25),
    mtu: 1492,
    encapsulation: Encapsulation { overhead: 34, mpu: 0, framing: Framing::Ptm },
    accounted: Encapsulation { overhead: 34, mpu: 0, framing: Framing::Ptm },
    buffer: Buffer::TailDrop,
    buffers: |rates| rates.map(|rate| bytes_of(rate, 200, [128 * 1024, 1024 * 1024])),
    real: 990,
    variation: Variation::Steady,
    shares: Shares::STEADY,
    bottleneck: Bottleneck::Modem,
    port: Port::TO_MODEM,
    instead: None,
};
