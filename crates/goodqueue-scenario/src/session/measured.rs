//! What is kept of a simulated run.

use goodqueue_sim as sim;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::measure;
use crate::results::Run;
use crate::run::RunSpec;

/// The measurements that are kept of a run.
pub trait Measured: Serialize + DeserializeOwned + Send {
    /// Measures a simulated run.
    fn measure(run: &RunSpec, outcome: &sim::Outcome) -> Self;

    /// Returns the metrics that every run has.
    fn run(&self) -> &Run;

    /// Returns these metrics for changes.
    fn run_mut(&mut self) -> &mut Run;
}

impl Measured for Run {
    fn measure(run: &RunSpec, outcome: &sim::Outcome) -> Self {
        measure::run(run.labels.clone(), &run.config, outcome)
    }

    fn run(&self) -> &Run {
        self
    }

    fn run_mut(&mut self) -> &mut Run {
        self
    }
}
