//! The runs of a scenario, before they are made: every combination of discipline, sweep point and
//! seed is one run. [`session`](crate::session) makes them.

mod point;
mod runs;
pub mod series;
mod spec;

pub use point::{PointRuns, runs_of};
pub use runs::{Runs, ScenarioRuns, no_run};
pub use spec::{ExtraMeasurements, PacketFile, RunSpec};
