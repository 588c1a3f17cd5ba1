//! What a reference measured, and what the same set-up measures here.

use std::collections::BTreeMap;

use goodqueue_scenario::run::{self, RunSpec};
use goodqueue_scenario::scenario::{Document, Names};
use goodqueue_scenario::session::{NoWatch, Session};
use goodqueue_tc::diagnostic::Diagnostic;
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

/// The runs of a scenario written here.
pub(super) fn runs_of(scenario: &str) -> Result<Vec<RunSpec>, Diagnostic> {
    let document = Document::parse("reference", scenario, std::path::Path::new(""))?;
    run::runs_of(&goodqueue_scenario::sweep::expand(&document, &Names::default())?, None)
}

/// The figures of every run, side by side on all processors.
pub(super) fn each<T: Send>(
    runs: &[RunSpec],
    figures: impl Fn(&RunSpec, &goodqueue_sim::Outcome) -> T + Sync,
) -> Result<Vec<T>, Diagnostic> {
    let all = Session::from_runs(runs).outcomes(&NoWatch, figures)?;
    Ok(all.into_iter().flatten().collect())
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
