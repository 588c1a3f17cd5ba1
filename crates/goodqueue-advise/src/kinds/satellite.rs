//! Geostationary satellites.

use goodqueue::Duration;

use crate::bottleneck::Bottleneck;
use crate::encapsulation::{Encapsulation, Framing};
use crate::kind::{Buffer, LinkKind, bytes_of};
use crate::port::Port;
use crate::shares::Shares;
use crate::variation::Variation;

/// The rates are those of the contract.
pub(super) const SATELLITE: LinkKind = LinkKind {
    name: "satellite",
    title: "geostationary satellite",
    source: "RTT: four times the 35,786 km to the orbit take 480 ms, and 120 ms for the ground: assumed. Buffers: one \
             second, at least the 600 ms of the path: assumed. The line is 3 % slower than the rate given: assumed.",
    rtt: Duration::from_millis(600),
    mtu: 1500,
    encapsulation: Encapsulation { overhead: 18, mpu: 64, framing: Framing::Whole },
    accounted: Encapsulation { overhead: 18, mpu: 64, framing: Framing::Whole },
    buffer: Buffer::TailDrop,
    buffers: |rates| rates.map(|rate| bytes_of(rate, 1000, [256 * 1024, 16 * 1024 * 1024])),
    real: 970,
    variation: Variation::Steady,
    shares: Shares::STEADY,
    bottleneck: Bottleneck::Modem,
    port: Port::TO_MODEM,
    instead: None,
};
