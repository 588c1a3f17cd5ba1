//! What a reference measured, and what the same set-up measures here.

use std::collections::BTreeMap;

use goodqueue_scenario::run::Job;
use goodqueue_scenario::scenario::{Document, Names};
use goodqueue_tc::diagnostic::Diagnostic;
use rayon::prelude::*;
use serde::Deserialize;

/// A figure of the reference: its unit, its mean, its standard deviation over seeds (0: not known).
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub(super) struct Figure(pub(super) String, pub(super) f64, pub(super) f64);

/// What was simulated.
pub(super) struct Measured {
    pub(super) figures: BTreeMap<String, f64>,
    /// The standard deviation between sets of runs like the reference's, where that is not known of
    /// the reference.
    pub(super) spreads: BTreeMap<String, f64>,
}

impl From<BTreeMap<String, f64>> for Measured {
    fn from(figures: BTreeMap<String, f64>) -> Self {
        Self { figures, spreads: BTreeMap::new() }
    }
}

/// The jobs of a scenario written here.
pub(super) fn jobs(scenario: &str) -> Result<Vec<Job>, Diagnostic> {
    let document = Document::parse("reference", scenario, std::path::Path::new(""))?;
    goodqueue_scenario::run::jobs(&goodqueue_scenario::sweep::expand(&document, &Names::default())?, None)
}

/// The figures of every job, side by side on all processors.
pub(super) fn each<T: Send>(
    jobs: &[Job],
    figures: impl Fn(&Job, goodqueue_sim::Outcome) -> T + Sync,
) -> Result<Vec<T>, Diagnostic> {
    let one = |job: &Job| {
        let outcome = goodqueue_sim::run(&job.config).map_err(|error| Diagnostic::new(error.to_string()))?;
        Ok(figures(job, outcome))
    };
    // One job at a time, so that no thread is idle while another one has several left.
    jobs.par_iter().with_max_len(1).map(one).collect()
}

/// The mean of each figure over runs that all have it.
pub(super) fn means(runs: &[BTreeMap<String, f64>]) -> BTreeMap<String, f64> {
    let mut sums: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    for (name, value) in runs.iter().flatten() {
        let sum = sums.entry(name.clone()).or_default();
        *sum = (sum.0 + value, sum.1 + 1.0);
    }
    sums.into_iter().map(|(name, (sum, count))| (name, sum / count)).collect()
}
