//! Figures over seeds: their mean, and how far off it may be.

mod estimate;
pub mod series;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::series::MeanSeries;
use crate::metrics;
use crate::results::Run;
pub use estimate::Estimate;

/// The metrics of one discipline at one point of the sweep, over all seeds.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Aggregate {
    /// The discipline as given.
    pub qdisc: String,
    /// The swept keys and their values; absent without a sweep.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sweep: BTreeMap<String, Value>,
    /// Runs.
    pub seeds: u64,
    /// Mean and confidence interval of each metric by its path in a run, such as
    /// `bottleneck.down.sojourn_s.p95`. Metrics of single flows are not included.
    pub figures: BTreeMap<String, Estimate>,
    /// Pointwise means of the time series; absent in JSON unless time series are requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<MeanSeries>,
}

/// Returns the means over the seeds of `runs`. The list is empty if there is only one seed.
#[must_use]
pub fn over_seeds(runs: &[Run]) -> Vec<Aggregate> {
    let mut groups: Vec<Vec<&Run>> = Vec::new();
    for run in runs {
        let alike = |group: &&mut Vec<&Run>| group[0].qdisc == run.qdisc && group[0].sweep == run.sweep;
        match groups.iter_mut().find(alike) {
            Some(group) => group.push(run),
            None => groups.push(vec![run]),
        }
    }
    if groups.iter().all(|group| group.len() < 2) {
        return Vec::new();
    }
    groups.iter().map(|group| aggregate(group)).collect()
}

fn aggregate(runs: &[&Run]) -> Aggregate {
    let mut all: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for run in runs {
        for (key, value) in metrics::values(run) {
            all.entry(key).or_default().push(value);
        }
    }
    Aggregate {
        qdisc: runs[0].qdisc.clone(),
        sweep: runs[0].sweep.clone(),
        seeds: runs.len() as u64,
        figures: all.into_iter().filter_map(|(key, values)| Some((key, Estimate::of(&values)?))).collect(),
        series: MeanSeries::of(runs),
    }
}
