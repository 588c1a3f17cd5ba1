//! The time series of runs as one long table with a row for each sample:
//!
//! | column | value |
//! |---|---|
//! | `run` | number of the run in the results, from 0 |
//! | `qdisc` | the discipline as given |
//! | swept keys | one column for each, in SI units where all values have one |
//! | `seed` | seed of the run |
//! | `t_s` | simulated time of the beginning of the step, or of the ping's request |
//! | `series` | a name from the catalogue of time series ([`crate::results::time_series`]) |
//! | `direction` | `down` or `up`; empty for a ping |
//! | `flow` | number of the flow; only for its goodput |
//! | `value` | empty if no packet left in the step, or if the ping was lost |

use goodqueue_sim::Direction;

use crate::export::frame::{Frame, Values};
use crate::export::swept::Swept;
use crate::results::time_series::{GOODPUT, PING, QUEUES};
use crate::results::{Results, Run};
use crate::statistics::float;

/// One value of a time series.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sample {
    /// Simulated time in seconds.
    pub t_s: f64,
    /// Name of the series.
    pub series: &'static str,
    /// Where.
    pub direction: Option<Direction>,
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
    for (direction, queue) in [(Direction::Down, &series.queues.down), (Direction::Up, &series.queues.up)] {
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
        let direction = run.flows.iter().find(|known| known.id == flow.id).map(|known| known.direction);
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

/// Returns the table of all time series of `results`.
#[must_use]
pub fn frame(results: &Results) -> Frame {
    let rows: Vec<(u64, &Run, Sample)> = (0..)
        .zip(&results.runs)
        .flat_map(|(number, run)| of_run(run).into_iter().map(move |sample| (number, run, sample)))
        .collect();
    let mut frame = Frame::default();
    let texts = |of: &dyn Fn(&Run, &Sample) -> Option<String>| {
        Values::Text(rows.iter().map(|(_, run, sample)| of(run, sample)).collect())
    };
    let numbers = |of: &dyn Fn(&Run, &Sample) -> Option<f64>| {
        Values::Number(rows.iter().map(|(_, run, sample)| of(run, sample)).collect())
    };
    frame.push("run", Values::Whole(rows.iter().map(|row| row.0).collect()));
    frame.push("qdisc", texts(&|run, _| Some(run.qdisc.clone())));
    for swept in Swept::all(results) {
        let values = if swept.is_number() {
            numbers(&|run, _| swept.number(run))
        } else {
            texts(&|run, _| swept.text(run))
        };
        frame.push(swept.heading(), values);
    }
    frame.push("seed", Values::Whole(rows.iter().map(|row| row.1.seed).collect()));
    frame.push("t_s", numbers(&|_, sample| Some(sample.t_s)));
    frame.push("series", texts(&|_, sample| Some(sample.series.to_owned())));
    frame
        .push("direction", texts(&|_, sample| sample.direction.map(|direction| direction.name().to_owned())));
    frame.push("flow", numbers(&|_, sample| sample.flow.map(f64::from)));
    frame.push("value", numbers(&|_, sample| sample.value));
    frame
}

/// Returns the start of each step of `step_s` seconds, without the rounding error of repeated
/// addition.
pub(super) fn times(step_s: f64) -> impl Iterator<Item = f64> + Clone {
    // A step is a whole number of nanoseconds, so the product is exact up to 104 days (2^53 ns).
    let at = move |step: u64| (float(step) * (step_s * 1e9).round()) / 1e9;
    (0_u64..).map(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::tests::{results, run};

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
            direction: Some(Direction::Up),
            flow: Some(1),
            value: Some(5e6),
        };
        assert!(all.contains(&up));
    }

    #[test]
    fn the_table_has_the_samples_of_all_runs_and_a_column_for_each_swept_key() {
        let mut swept = run("pie", 7);
        swept.sweep.insert("link.rtt".to_owned(), "10ms".into());
        let frame = frame(&results(vec![run("codel", 1), swept]));
        let names: Vec<&str> = frame.columns.iter().map(|column| column.name.as_str()).collect();
        let all = ["run", "qdisc", "link.rtt", "seed", "t_s", "series", "direction", "flow", "value"];
        assert_eq!((names, frame.rows()), (all.to_vec(), 2 * 27));
        let Values::Number(rtts) = &frame.columns[2].values else { panic!("link.rtt is a number") };
        assert_eq!((rtts[0], rtts[27]), (None, Some(0.01)));
    }

    #[test]
    fn times_of_steps_have_no_dust() {
        assert_eq!(times(0.1).nth(3).map(|t| t.to_string()), Some("0.3".to_owned()));
        assert_eq!(times(0.2).nth(299).map(|t| t.to_string()), Some("59.8".to_owned()));
    }
}
