//! Time series of a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::link::PerDirection;

/// Time series on a common clock, and distributions.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// Length of a step: sample `i` covers `[i, i + 1) * step_s` of simulated time.
    pub step_s: f64,
    /// Series of the two queues.
    pub queues: PerDirection<QueueSeries>,
    /// Goodput per step and flow (TCP flows only), in bit/s.
    pub goodput_bps: Vec<FlowSeries>,
    /// Each ping: when it was sent, and its round-trip time (`null`: lost).
    pub pings: Vec<(f64, Option<f64>)>,
    /// Quantiles of ping RTT and of the sojourn times, at `QUANTILES`.
    pub quantiles: Quantiles,
}

/// One queue over time. `null`: no packet left in this step.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct QueueSeries {
    /// Mean sojourn time of the packets that left in the step.
    pub sojourn_mean_s: Vec<Option<f64>>,
    /// Longest of them.
    pub sojourn_max_s: Vec<Option<f64>>,
    /// Packets queued at the end of the step.
    pub queue_packets: Vec<f64>,
    /// Bits sent per second.
    pub throughput_bps: Vec<f64>,
    /// Packets dropped in the step.
    pub drops: Vec<u64>,
}

/// One flow over time.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct FlowSeries {
    /// The flow.
    pub id: u32,
    /// Its values.
    pub values: Vec<f64>,
}

/// Distributions as quantile functions; empty without a sample.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Quantiles {
    /// The probabilities, ascending, from 0 to 1.
    pub probabilities: Vec<f64>,
    /// Sojourn time on the down link at each.
    pub sojourn_down_s: Vec<f64>,
    /// Sojourn time on the up link at each.
    pub sojourn_up_s: Vec<f64>,
    /// Ping round-trip time at each.
    pub ping_s: Vec<f64>,
}
