//! Experiments of articles, as ns-2.35 had them.

use std::collections::BTreeMap;

use goodqueue::{Duration, Instant};
use goodqueue_sim::{Direction, Outcome};
use serde::Deserialize;

use super::{each, jobs, means};
use crate::diagnostic::Diagnostic;

/// Load transients (Järvinen & Kojo 2014): two groups of short transfers, the second up to 0.65 s after the first.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub(super) struct Transients {
    qdisc: String,
    /// Transfers of each group.
    flows: u32,
    runs: u32,
}

/// Bytes of a group, and of a segment.
const GROUP: u64 = 360_000;
const MSS: u64 = 1460;

impl Transients {
    fn scenario(&self) -> String {
        let (flows, runs, qdisc) = (self.flows, self.runs, &self.qdisc);
        // ns-2 sends whole packets.
        let size = (GROUP / u64::from(flows)).div_ceil(MSS) * MSS;
        format!(
            r#"
duration = "60s"
seeds = {runs}
qdiscs = [{{ label = "set-up", down = "{qdisc}", up = "pfifo limit 1000" }}]
[link]
down = "2mbit"
up = "2mbit"
rtt = "162ms"
framing = 0
[[hops]]
name = "hosts"
side = "server"
down = "100mbit"
up = "unlimited"
qdisc = "drr"
[tcp]
profile = "ns2_sack1"
cc = "newreno"
iw = 3
[[flows]]
count = {flows}
size = "{size}b"
[[flows]]
count = {flows}
size = "{size}b"
start_jitter = "650ms"
together = true
"#
        )
    }

    pub(super) fn measure(&self) -> Result<BTreeMap<String, f64>, Diagnostic> {
        let flows = self.flows as usize;
        let runs = each(&jobs(&self.scenario())?, |job, outcome| {
            let starts: Vec<Instant> = job.config.flows.iter().map(|flow| flow.start).collect();
            let times = outcome.flows.iter().zip(&starts).map(|(flow, &start)| {
                flow.tally.completed_at.map_or(f64::INFINITY, |end| seconds(end.since(start)))
            });
            // A group is answered when the last of its transfers is.
            let times: Vec<f64> = times.collect();
            let group = |part: &[f64]| part.iter().copied().fold(0.0, f64::max);
            let (first, second) = times.split_at(flows);
            let [down, _] = outcome.links;
            (down, group(first), group(second))
        })?;
        let mut figures = BTreeMap::new();
        let mut pooled = None;
        for (down, _, _) in &runs {
            match &mut pooled {
                None => pooled = Some(down.sojourn.clone()),
                Some(all) => all
                    .add(&down.sojourn)
                    .map_err(|error| Diagnostic::new(format!("delays cannot be pooled: {error}")))?,
            }
        }
        if let Some(pooled) = pooled {
            figures.insert(
                "queuing delay, 95th percentile".to_owned(),
                pooled.value_at_quantile(0.95) as f64 / 1e9,
            );
            figures.insert("queuing delay, greatest".to_owned(), pooled.max() as f64 / 1e9);
        }
        let of_runs = |figure: &dyn Fn(&(goodqueue_sim::LinkOutcome, f64, f64)) -> f64| {
            median(runs.iter().map(figure).collect())
        };
        let greatest = of_runs(&|run| run.0.sojourn.max() as f64 / 1e9);
        figures.insert("greatest of a run, median".to_owned(), greatest);
        figures.insert("response time, first group".to_owned(), of_runs(&|run| run.1));
        figures.insert("response time, second group".to_owned(), of_runs(&|run| run.2));
        let drops: u64 = runs.iter().map(|run| run.0.drops.iter().sum::<u64>()).sum();
        figures.insert("drops per run".to_owned(), drops as f64 / runs.len() as f64);
        Ok(figures)
    }
}

/// Ten long flows (after Gong et al. 2014).
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub(super) struct LongFlows {
    qdisc: String,
    runs: u32,
}

impl LongFlows {
    fn scenario(&self) -> String {
        let (runs, qdisc) = (self.runs, &self.qdisc);
        format!(
            r#"
duration = "60s"
seeds = {runs}
qdiscs = [{{ label = "set-up", down = "{qdisc}", up = "pfifo limit 1000" }}]
[link]
down = "4mbit"
up = "4mbit"
rtt = "50ms"
framing = 0
[tcp]
profile = "ns2_newreno"
cc = "newreno"
[[flows]]
count = 10
start_jitter = "100ms"
"#
        )
    }

    pub(super) fn measure(&self) -> Result<BTreeMap<String, f64>, Diagnostic> {
        Ok(means(&each(&jobs(&self.scenario())?, |_, outcome| long_flows(&outcome))?))
    }
}

fn long_flows(outcome: &Outcome) -> BTreeMap<String, f64> {
    const RATE: f64 = 4e6;
    let down = &outcome.links[Direction::Down.index()];
    let bits = down.sent.bytes as f64 * 8.0;
    [
        ("queue length, mean", down.queue_mean),
        ("utilisation", bits / seconds(outcome.measured) / RATE),
        ("queuing delay, 95th percentile", down.sojourn.value_at_quantile(0.95) as f64 / 1e9),
        ("drops per run", down.drops.iter().sum::<u64>() as f64),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

fn seconds(span: Duration) -> f64 {
    span.as_nanos() as f64 / 1e9
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        even if even % 2 == 0 => f64::midpoint(values[middle - 1], values[middle]),
        _ => values[middle],
    }
}
