//! WiFi that is slower than the line behind it, with a FIFO in the access point.

use super::wifi_fq::WIFI_FQ;
use crate::bottleneck::Bottleneck;
use crate::kind::{Equipment, LinkKind};

/// The rates are those of a speed test over WiFi, one direction at a time.
pub(super) const WIFI: LinkKind = LinkKind {
    name: "wifi",
    title: "WiFi, FIFO in the access point",
    source: "802.11n at 5 GHz without losses or neighbours, the modulation with which TCP reaches the rates, a second \
             device with half of them, and a line of 1 Gbit/s behind the access point: assumed. Driver of the access \
             point: 123 packets (ath9k), of the devices: 224 (iwlwifi), as in The Good, the Bad and the WiFi \
             (Høiland-Jørgensen et al., Computer Networks 2015), below 1000 full packets (Linux's txqueuelen). Real \
             WiFi changes its rate all the time: give rates that it keeps. RTT: assumed.",
    bottleneck: Bottleneck::AccessPoint { mac: "fifo" },
    instead: Some(Equipment {
        kind: &WIFI_FQ,
        how: "an access point that queues per flow, such as OpenWrt on ath9k, ath10k or mt76 (`tc qdisc show dev wlan0` \
              shows noqueue), without a shaper",
    }),
    ..WIFI_FQ
};
