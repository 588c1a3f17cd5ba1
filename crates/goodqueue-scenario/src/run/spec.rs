//! One run, before it is made.

use std::path::PathBuf;

use goodqueue_sim as sim;

use super::series::SeriesUse;
use crate::files::Existing;
use crate::measure::Labels;

/// One run of the simulator.
#[derive(Clone, Debug)]
pub struct RunSpec {
    /// Names of the run and of its flows.
    pub labels: Labels,
    /// Configuration of the simulator.
    pub config: sim::Config,
    /// Everything that determines the run except the program, as text. Equal keys give equal runs.
    pub key: String,
    /// Measurements beyond the metrics that every run has.
    pub wanted: ExtraMeasurements,
    /// Whether the store keeps the time series apart, and whether the result has them.
    pub series: SeriesUse,
    /// Files for its packets, see [`packets::request`](crate::export::packets::request). Such a run
    /// is simulated even if its result is already stored.
    pub packets: Vec<PacketFile>,
}

/// A file for the packets of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PacketFile {
    /// Where it is written.
    pub path: PathBuf,
    /// What happens to a link or a device of this name.
    pub existing: Existing,
}

/// Measurements beyond the metrics that every run has.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ExtraMeasurements {
    /// Numbers of flows of the `[[flows]]`.
    pub groups: Vec<u32>,
    /// Thresholds of the down queue in packets. The time above each one is measured.
    pub spikes: Vec<u64>,
    /// Time series are to be kept.
    pub series: bool,
    /// The statistics of the queues are kept as `tc` prints them.
    pub tc_stats: bool,
    /// The share of packets of initial windows in the longest queue is measured.
    pub initial_windows: bool,
}
