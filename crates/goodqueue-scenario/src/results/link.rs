//! The queues of a link in a run.

use std::collections::BTreeMap;

use goodqueue_sim::Direction;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::statistics::Summary;

/// A value for each direction.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct HopResult {
    /// Name from the scenario.
    pub name: String,
    /// Towards the client.
    pub down: LinkResult,
    /// From the client.
    pub up: LinkResult,
}

/// The metrics of one direction of a link.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct LinkResult {
    /// The discipline with every parameter, in tc's grammar.
    pub qdisc: String,
    /// Mean rate over the measured time, also for a schedule or a trace. A packet keeps the rate at
    /// which its transmission started.
    pub rate_bps: f64,
    /// Throughput as a fraction of that rate, from 0 to 1.
    pub utilization: Option<f64>,
    /// Bits on the wire per second. A packet whose transmission was half done when the measurement
    /// began or ended counts half.
    pub throughput_bps: f64,
    /// Time that transmitted packets spent in the queue.
    pub sojourn_s: Summary,
    /// Packets queued: mean over time, and maximum.
    pub queue_packets: MeanMax,
    /// Mean backlog as a share of the discipline's `limit`, in the unit of the limit (E\[Q\]/Qmax);
    /// `null` without a limit.
    #[serde(default)]
    pub queue_share: Option<f64>,
    /// Time for which the queue held more bytes than each threshold; absent unless requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spikes: Vec<SpikeResult>,
    /// Pauses by the device behind the link; absent if that device sends no PAUSE frames.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pauses: Option<PauseResult>,
    /// Packet counters.
    pub packets: Packets,
    /// Dropped packets by reason; only reasons that occurred.
    pub drops: BTreeMap<String, u64>,
}

/// Time for which a queue held more bytes than a threshold.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct SpikeResult {
    /// Threshold in bytes.
    pub above_bytes: u64,
    /// Longest uninterrupted time above the threshold: the duration of a delay spike (Järvinen &
    /// Kojo 2014).
    pub longest_s: f64,
    /// Total time above the threshold.
    pub total_s: f64,
}

/// Pauses that a link obeyed (IEEE 802.3, Annex 31B).
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct PauseResult {
    /// PAUSE frames received, both XOFF and XON.
    pub frames: u64,
    /// Time for which the link was not allowed to begin a packet, whether it had one or not.
    pub time_s: f64,
    /// The same as a share of the measured time, from 0 to 1.
    pub share: f64,
}

/// A mean and a maximum.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct MeanMax {
    /// Mean.
    pub mean: f64,
    /// Maximum.
    pub max: f64,
}

/// Packet counters of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
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
