//! LTE and 5G: a rate that changes all the time, behind a deep buffer.

use goodqueue::Duration;

use crate::bottleneck::Bottleneck;
use crate::encapsulation::Encapsulation;
use crate::kind::{Buffer, LinkKind, bytes_of};
use crate::port::Port;
use crate::shares::Shares;
use crate::variation::Variation;

/// The rates are means over some minutes.
pub(super) const LTE: LinkKind = LinkKind {
    name: "lte",
    title: "LTE or 5G",
    source: "Rate: a random walk as in the model of Winstein, Sivaraman & Balakrishnan (Sprout, NSDI 2013), whose rate \
             moves by a fifth of the highest rate in a second; a quarter to twice the mean: assumed. Buffers: one \
             second: assumed; the same authors saw queues of several seconds. RTT: assumed. Your line is another one: \
             a recording of it (`--trace-down`, `--trace-up`) is better.",
    rtt: Duration::from_millis(50),
    mtu: 1500,
    encapsulation: Encapsulation::ETHERNET,
    accounted: Encapsulation::ETHERNET,
    buffer: Buffer::TailDrop,
    buffers: |rates| rates.map(|rate| bytes_of(rate, 1000, [256 * 1024, 16 * 1024 * 1024])),
    real: 1000,
    variation: Variation::Walk { per_second: 0.4, bounds: [0.25, 2.0] },
    shares: Shares::VARYING,
    bottleneck: Bottleneck::Modem,
    port: Port::TO_MODEM,
    instead: None,
};
