//! The series of runs as one long table, a row for each sample:
//!
//! | column | what |
//! |---|---|
//! | `run` | number of the run in the results, from 0 |
//! | `qdisc` | the discipline as given |
//! | swept keys | a column for each, with its value in this run |
//! | `seed` | of this run |
//! | `t_s` | simulated time: the beginning of the step, or when the ping was sent |
//! | `series` | `sojourn_mean_s`, `sojourn_max_s`, `queue_packets`, `throughput_bps`, `drops`, `goodput_bps`, `ping_s` |
//! | `direction` | `down` or `up`; none of a ping |
//! | `flow` | its number, of `goodput_bps` |
//! | `value` | none: no packet left in the step, or the ping was lost |

use crate::results::{QueueSeries, Results, Run};
use crate::statistics::float;

/// What a run has at an instant.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sample {
    /// Simulated time in seconds.
    pub t_s: f64,
    /// What was measured.
    pub series: &'static str,
    /// Where.
    pub direction: Option<&'static str>,
    /// Of which flow.
    pub flow: Option<u32>,
    /// How much.
    pub value: Option<f64>,
}

/// All samples of a run, series by series.
#[must_use]
pub fn of_run(run: &Run) -> Vec<Sample> {
    let Some(series) = &run.series else { return Vec::new() };
    let mut all = Vec::new();
    let times = times(series.step_s);
    for (direction, queue) in [("down", &series.queues.down), ("up", &series.queues.up)] {
        for (name, values) in of_queue(queue) {
            all.extend(times.clone().zip(values).map(|(t_s, value)| Sample {
                t_s,
                series: name,
                direction: Some(direction),
                flow: None,
                value,
            }));
        }
    }
    for flow in &series.goodput_bps {
        let direction = run
            .flows
            .iter()
            .find(|known| known.id == flow.id)
            .map(|known| if known.direction == "up" { "up" } else { "down" });
        all.extend(times.clone().zip(&flow.values).map(|(t_s, value)| Sample {
            t_s,
            series: "goodput_bps",
            direction,
            flow: Some(flow.id),
            value: Some(*value),
        }));
    }
    all.extend(series.pings.iter().map(|(t_s, value)| Sample {
        t_s: *t_s,
        series: "ping_s",
        direction: None,
        flow: None,
        value: *value,
    }));
    all
}

/// The beginnings of steps of so many seconds, without the error that adding them up would make.
pub(super) fn times(step_s: f64) -> impl Iterator<Item = f64> + Clone {
    let at = move |step: u64| (float(step) * (step_s * 1e9).round()) / 1e9;
    (0_u64..).map(at)
}

/// The keys that are swept, in any run.
#[must_use]
pub fn swept_keys(results: &Results) -> Vec<&str> {
    let mut keys: Vec<&str> =
        results.runs.iter().flat_map(|run| run.sweep.keys()).map(String::as_str).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

fn of_queue(queue: &QueueSeries) -> [(&'static str, Vec<Option<f64>>); 5] {
    let some = |values: &[f64]| values.iter().copied().map(Some).collect();
    let drops = queue.drops.iter().map(|drops| Some(float(*drops))).collect();
    [
        ("sojourn_mean_s", queue.sojourn_mean_s.clone()),
        ("sojourn_max_s", queue.sojourn_max_s.clone()),
        ("queue_packets", some(&queue.queue_packets)),
        ("throughput_bps", some(&queue.throughput_bps)),
        ("drops", drops),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::tests::run;

    #[test]
    fn every_sample_of_a_run_has_its_row() {
        let all = of_run(&run("pie", 1));
        // 5 of a queue and 2 queues, 2 flows, of 2 steps each; 3 pings.
        assert_eq!(all.len(), 5 * 2 * 2 + 2 * 2 + 3);
        let lost = Sample { t_s: 0.05, series: "ping_s", direction: None, flow: None, value: None };
        assert!(all.contains(&lost));
        let up = Sample {
            t_s: 0.1,
            series: "goodput_bps",
            direction: Some("up"),
            flow: Some(1),
            value: Some(5e6),
        };
        assert!(all.contains(&up));
    }

    #[test]
    fn times_of_steps_have_no_dust() {
        assert_eq!(times(0.1).nth(3).map(|t| t.to_string()), Some("0.3".to_owned()));
        assert_eq!(times(0.2).nth(299).map(|t| t.to_string()), Some("59.8".to_owned()));
    }
}
