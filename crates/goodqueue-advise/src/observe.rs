//! What a caller hears while advice is searched.

use goodqueue_scenario::session::{NoWatch, Watch};
use schemars::JsonSchema;
use serde::Serialize;

/// Observes a search, and may cancel it. Of [`Watch`] only the question whether to stop is asked:
/// the search has no fixed number of runs.
pub trait Observe: Watch {
    /// There is a first answer: the usual setting of such a line, after a short simulation.
    fn first(&self, answer: &First) {
        let _ = answer;
    }

    /// The search has come this far: a fraction from 0 to 1.
    fn came(&self, fraction: f64) {
        let _ = fraction;
    }
}

impl Observe for NoWatch {}

/// The first answer. Nothing of it is verified yet.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct First {
    /// Name of the discipline.
    pub discipline: String,
    /// Rates of the shapers in bit/s, towards the home and the Internet.
    pub shaped_bps: [u64; 2],
    /// The disciplines in tc's grammar, towards the home and the Internet.
    pub lines: [String; 2],
    /// Mean ping under load beyond the idle ping in seconds: today, and with this setting.
    pub latency_s: [f64; 2],
    /// Goodput of TCP in bit/s towards the home and the Internet: today, and with this setting.
    pub goodput_bps: [[f64; 2]; 2],
}
