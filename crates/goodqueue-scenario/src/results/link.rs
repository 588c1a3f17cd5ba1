//! The queues of a link in a run.

use std::collections::BTreeMap;

use goodqueue_sim::Direction;
use serde::{Deserialize, Serialize};

use crate::statistics::Summary;

/// A value for each direction.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct PerDirection<T> {
    /// Towards the client.
    pub down: T,
    /// From the client.
    pub up: T,
}

impl<T> PerDirection<T> {
    /// Returns the value of this direction.
    pub const fn get(&self, direction: Direction) -> &T {
        match direction {
            Direction::Down => &self.down,
            Direction::Up => &self.up,
        }
    }
}

/// A link in series with the bottleneck.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct HopResult {
    /// What the scenario calls it.
    pub name: String,
    /// Towards the client.
    pub down: LinkResult,
    /// From the client.
    pub up: LinkResult,
}

/// What one direction of a link did.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct LinkResult {
    /// The discipline on it, every parameter in tc's grammar.
    pub qdisc: String,
    /// Mean rate over the time measured (of the schedule or trace, where there is one; a packet on
    /// the wire keeps its rate).
    pub rate_bps: f64,
    /// Throughput as a fraction of that rate, from 0 to 1.
    pub utilization: Option<f64>,
    /// Bits on the wire per second. A packet that was half sent when the measurement began or ended
    /// counts half.
    pub throughput_bps: f64,
    /// Time that transmitted packets spent in the queue.
    pub sojourn_s: Summary,
    /// Packets queued: mean over time, and maximum.
    pub queue_packets: MeanMax,
    /// Mean backlog as a share of the discipline's `limit`, in the unit of that (E\[Q\]/Qmax);
    /// `null` if it has none.
    #[serde(default)]
    pub queue_share: Option<f64>,
    /// How long the queue held more than so many bytes; absent unless asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spikes: Vec<SpikeResult>,
    /// Packet counters.
    pub packets: Packets,
    /// Dropped packets by reason; only reasons that occurred.
    pub drops: BTreeMap<String, u64>,
}

/// Time for which a queue held more than so many bytes.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct SpikeResult {
    /// The queue held more bytes than these.
    pub above_bytes: u64,
    /// The longest time without a break: the duration of a delay spike (Järvinen & Kojo 2014).
    pub longest_s: f64,
    /// All such time.
    pub total_s: f64,
}

/// A mean and a maximum.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct MeanMax {
    /// Mean.
    pub mean: f64,
    /// Maximum.
    pub max: f64,
}

/// Packet counters of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Packets {
    /// Arrived.
    pub offered: u64,
    /// Accepted.
    pub enqueued: u64,
    /// Transmitted.
    pub dequeued: u64,
    /// Dropped, before or after being queued.
    pub dropped: u64,
    /// Marked CE by the discipline.
    pub marked: u64,
}
