//! A WiFi channel in a run.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::link::{MeanMax, Packets};
use crate::statistics::{Summary, jain};

/// A WiFi channel.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct WifiResult {
    /// The access point's queue.
    pub down: WifiQueueResult,
    /// The queues of all clients together.
    pub up: WifiQueueResult,
    /// The clients, in the order of the scenario.
    pub stations: Vec<StationResult>,
}

impl WifiResult {
    /// Jain's index of the airtime of the stations; `None` with fewer than two, or if none sent
    /// anything.
    #[must_use]
    pub fn jain_airtime(&self) -> Option<f64> {
        let shares: Vec<f64> = self.stations.iter().filter_map(|station| station.airtime_share).collect();
        jain(&shares)
    }
}

/// The queue above a driver, or in the MAC.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct WifiQueueResult {
    /// The discipline, every parameter in tc's grammar; absent where the MAC queues.
    pub qdisc: Option<String>,
    /// Bits of packets, link header included, that arrived over the air per second; a packet counts
    /// when it arrives.
    pub throughput_bps: f64,
    /// Time that packets spent in this queue, without the time in the driver and in the air.
    pub sojourn_s: Summary,
    /// Packets queued: mean over time, and maximum.
    pub queue_packets: MeanMax,
    /// Packet counters.
    pub packets: Packets,
    /// Dropped packets by reason, `lost` in the air included; only reasons that occurred.
    pub drops: BTreeMap<String, u64>,
}

/// A client of a WiFi channel.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct StationResult {
    /// Its number, from 1.
    pub client: u32,
    /// Share of the station in the airtime of all stations, both directions.
    pub airtime_share: Option<f64>,
    /// Radio link towards the station.
    pub down: RadioResult,
    /// Radio link from the station.
    pub up: RadioResult,
}

/// The metrics of one direction of a radio link.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct RadioResult {
    /// Seconds in the air, answers included, of the time measured.
    pub airtime_s: f64,
    /// Transmissions.
    pub transmissions: u64,
    /// Number of transmissions that collided.
    pub collisions: u64,
    /// MPDUs in a transmission, mean.
    pub aggregate: Option<f64>,
    /// MPDUs that were sent and did not arrive.
    pub lost: u64,
    /// Packets given up.
    pub given_up: u64,
}
