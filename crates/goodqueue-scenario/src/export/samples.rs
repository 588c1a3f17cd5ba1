//! The time series of runs as one long table with a row for each sample:
//!
//! | column | value |
//! |---|---|
//! | `run` | number of the run in the results, from 0 |
//! | `qdisc` | the discipline as given |
//! | swept keys | one column for each, in SI units where all values have one |
//! | `seed` | seed of the run |
//! | `t_s` | simulated time of the beginning of the step, or of the ping's request |
//! | `series` | a name from the catalogue of time series ([`crate::metrics::series`]) |
//! | `direction` | `down` or `up`; empty for a ping |
//! | `flow` | number of the flow; only for its goodput |
//! | `value` | empty if no packet left in the step, or if the ping was lost |

use crate::metrics::series::{GOODPUT, PING, QUEUES};
use crate::results::Run;
use crate::statistics::float;

/// One value of a time series.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sample {
    /// Simulated time in seconds.
    pub t_s: f64,
    /// Name of the series.
    pub series: &'static str,
    /// Where.
    pub direction: Option<&'static str>,
    /// Number of the flow, for series of flows.
    pub flow: Option<u32>,
    /// Value; `None` if the step has none or the ping was lost.
    pub value: Option<f64>,
}

/// All samples of a run, series by series.
#[must_use]
pub fn of_run(run: &Run) -> Vec<Sample> {
    let Some(series) = &run.series else { return Vec::new() };
    let mut all = Vec::new();
    let times = times(series.step_s);
    for (direction, queue) in [("down", &series.queues.down), ("up", &series.queues.up)] {
        for metric in &QUEUES {
            all.extend(times.clone().zip((metric.of)(queue)).map(|(t_s, value)| Sample {
                t_s,
                series: metric.about.name,
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
            series: GOODPUT.name,
            direction,
            flow: Some(flow.id),
            value: Some(*value),
        }));
    }
    all.extend(series.pings.iter().map(|(t_s, value)| Sample {
        t_s: *t_s,
        series: PING.name,
        direction: None,
        flow: None,
        value: *value,
    }));
    all
}

/// Returns the start of each step of `step_s` seconds, without the rounding error of repeated
/// addition.
pub(super) fn times(step_s: f64) -> impl Iterator<Item = f64> + Clone {
    let at = move |step: u64| (float(step) * (step_s * 1e9).round()) / 1e9;
    (0_u64..).map(at)
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
