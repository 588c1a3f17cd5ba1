//! Satellites in low orbits, such as Starlink.

use goodqueue::Duration;

use crate::bottleneck::Bottleneck;
use crate::encapsulation::Encapsulation;
use crate::kind::{Buffer, LinkKind, bytes_of};
use crate::port::Port;
use crate::shares::Shares;
use crate::variation::Variation;

/// The rates are means over some minutes.
pub(super) const LEO: LinkKind = LinkKind {
    name: "leo",
    title: "satellites in low orbits",
    source: "Rate: another satellite every 15 s (Mohan et al., A Multifaceted Look at Starlink Performance, WWW 2024), \
             with half to one and a half of the mean rate: assumed. The queue drops its oldest packet and knows no \
             flows (arXiv 2605.27717, IMC 2026). Buffers: 200 ms: assumed. RTT: assumed. Your line is another one: a \
             recording of it (`--trace-down`, `--trace-up`) is better.",
    rtt: Duration::from_millis(40),
    mtu: 1500,
    encapsulation: Encapsulation::ETHERNET,
    accounted: Encapsulation::ETHERNET,
    buffer: Buffer::HeadDrop,
    buffers: |rates| rates.map(|rate| bytes_of(rate, 200, [256 * 1024, 8 * 1024 * 1024])),
    real: 1000,
    variation: Variation::Steps { every_s: 15.0, bounds: [0.5, 1.5] },
    shares: Shares::VARYING,
    bottleneck: Bottleneck::Modem,
    port: Port::TO_MODEM,
    instead: None,
};
