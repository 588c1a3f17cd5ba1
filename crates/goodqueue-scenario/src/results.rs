//! The result of runs, as written to JSON and drawn by the report.
//!
//! Units are SI base units: seconds, bits per second, bytes. Names are stable. A metric without a
//! sample is `null`, never 0.

mod flow;
mod link;
mod probes;
mod run;
mod scenario;
mod series;
mod summary;
pub mod time_series;
mod wifi;
mod words;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::estimate::{Estimate, median_apart, student_t};
pub use crate::scenario::FlowKind;
pub use crate::statistics::Summary;
pub use flow::{FlowLosses, FlowPackets, FlowResult, GroupResult, Transfers};
pub use link::{HopResult, LinkResult, MeanMax, Packets, PauseResult, PerDirection, SpikeResult};
pub use probes::{LossPattern, Probes, VideoResult, VoipResult, WebProbe};
pub use run::{Bottleneck, Engine, Fairness, GroupFairness, Run, SharedQueue, WIFI_QUEUE};
pub use scenario::{FlowsRecord, LinkRecord, RateRecord, ScenarioRecord};
pub use series::{FlowSeries, Quantiles, QueueSeries, Series};
pub use summary::{Aggregate, Band, Difference, FlowMeans, MeanSeries, QueueMeans};
pub use wifi::{RadioResult, StationResult, WifiQueueResult, WifiResult};
pub use words::Grade;

/// All runs of a scenario.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Results {
    /// Version of goodqueue that ran them.
    pub goodqueue: String,
    /// The scenario as resolved, with every default filled in.
    pub scenario: ScenarioRecord,
    /// One entry per discipline, sweep point and seed, in that order.
    pub runs: Vec<Run>,
    /// Mean and confidence interval of every metric over the seeds, for each discipline and sweep
    /// point; absent with one seed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub summary: Vec<Aggregate>,
}
