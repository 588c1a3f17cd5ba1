//! Cable: DOCSIS without AQM in the modem.

use goodqueue::Duration;

use crate::bottleneck::Bottleneck;
use crate::encapsulation::{Encapsulation, Framing};
use crate::kind::{Buffer, LinkKind, bytes_of};
use crate::port::Port;
use crate::shares::Shares;
use crate::variation::Variation;

/// The rates are those of the contract, which DOCSIS counts from the Ethernet header to the FCS.
pub(super) const CABLE: LinkKind = LinkKind {
    name: "cable",
    title: "cable (DOCSIS)",
    source: "Overhead: Ethernet header and FCS, 18 bytes, at least 64 (DOCSIS 3.1 MULPI). Buffers: 256 kB upstream, the \
             most common size of cable modems (Kreibich et al., Netalyzr, IMC 2010); at least 100 ms each way, at most \
             2 MB: assumed. The line is 3 % slower than the rate given: assumed. RTT: assumed.",
    rtt: Duration::from_millis(20),
    mtu: 1500,
    encapsulation: Encapsulation { overhead: 18, mpu: 64, framing: Framing::Whole },
    accounted: Encapsulation { overhead: 18, mpu: 64, framing: Framing::Whole },
    buffer: Buffer::TailDrop,
    buffers: |rates| rates.map(|rate| bytes_of(rate, 100, [256 * 1024, 2 * 1024 * 1024])),
    real: 970,
    variation: Variation::Steady,
    shares: Shares::STEADY,
    bottleneck: Bottleneck::Modem,
    port: Port::TO_MODEM,
    instead: None,
};
