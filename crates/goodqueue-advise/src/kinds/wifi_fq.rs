//! WiFi that is slower than the line behind it, with fair queueing in the access point's MAC.

use goodqueue::Duration;

use crate::bottleneck::Bottleneck;
use crate::encapsulation::Encapsulation;
use crate::kind::{Buffer, LinkKind};
use crate::port::Port;
use crate::shares::Shares;
use crate::variation::Variation;

/// The rates are those of a speed test over WiFi, one direction at a time.
pub(super) const WIFI_FQ: LinkKind = LinkKind {
    name: "wifi-fq",
    title: "WiFi, fair queueing in the access point",
    source: "As `wifi`, but the access point queues per flow and device, with CoDel, and shares the airtime (Ending the \
             Anomaly, Høiland-Jørgensen et al., USENIX ATC 2017). Linux does so with drivers that use mac80211's queues, \
             such as ath9k, ath10k and mt76: `tc qdisc show dev wlan0` then shows `noqueue`. The devices still have \
             FIFOs: assumed.",
    rtt: Duration::from_millis(20),
    mtu: 1500,
    encapsulation: Encapsulation::ETHERNET,
    accounted: Encapsulation::ETHERNET,
    buffer: Buffer::TailDrop,
    buffers: |_| [BUFFER, BUFFER],
    real: 1000,
    variation: Variation::Steady,
    shares: SHARES,
    bottleneck: Bottleneck::AccessPoint { mac: "fq" },
    port: Port::WIFI,
    instead: None,
};

/// 1000 packets of 1514 bytes.
const BUFFER: u64 = 1000 * 1514;
/// With both directions busy each has less than half of the air.
const SHARES: Shares = Shares::Together(&[500, 900, 800, 700, 600, 550, 450, 400]);
