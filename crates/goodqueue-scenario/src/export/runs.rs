//! The metrics of runs as a table with a row for each run:
//!
//! | column | value |
//! |---|---|
//! | `run` | number of the run in the results, from 0 |
//! | `qdisc` | the discipline as given |
//! | swept keys | one column for each, in SI units where all values have one ([`Swept`]) |
//! | `seed` | seed of the run |
//! | metrics | one column for each metric of the catalogue and direction, by its key, in SI units; empty if the run has no value |

use crate::export::frame::{Frame, Values};
use crate::export::swept::Swept;
use crate::metrics;
use crate::results::{Results, Run};

/// Returns the table.
#[must_use]
pub fn frame(results: &Results) -> Frame {
    let runs: Vec<&Run> = results.runs.iter().collect();
    let mut frame = Frame::default();
    frame.push("run", Values::Whole((0..).take(runs.len()).collect()));
    frame.push("qdisc", Values::Text(runs.iter().map(|run| Some(run.qdisc.clone())).collect()));
    for swept in Swept::all(results) {
        frame.push(
            swept.heading(),
            if swept.is_number() {
                Values::Number(runs.iter().map(|run| swept.number(run)).collect())
            } else {
                Values::Text(runs.iter().map(|run| swept.text(run)).collect())
            },
        );
    }
    frame.push("seed", Values::Whole(runs.iter().map(|run| run.seed).collect()));
    let groups = metrics::catalogue(&runs);
    let keyed = metrics::by_key(&groups);
    let mut columns = vec![Vec::with_capacity(runs.len()); keyed.len()];
    for run in runs {
        let values = metrics::values(run);
        for (metric, column) in keyed.iter().zip(&mut columns) {
            column.push(values.get(&metric.key).copied());
        }
    }
    for (metric, column) in keyed.iter().zip(columns) {
        frame.push(metric.key.clone(), Values::Number(column));
    }
    frame
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::frame::Column;
    use crate::export::tests::{results, run};

    #[test]
    fn each_run_has_a_row_and_each_metric_and_swept_key_a_column() {
        let mut swept = run("pie", 7);
        swept.sweep.insert("link.rtt".to_owned(), "10ms".into());
        swept.sweep.insert("qdiscs".to_owned(), "pie".into());
        swept.goodput.down = 9.5e6;
        swept.bottleneck.up.sojourn_s.p95 = Some(0.0123);
        let frame = frame(&results(vec![run("codel", 1), swept]));
        let names: Vec<&str> = frame.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names[..6], ["run", "qdisc", "link.rtt", "qdiscs", "seed", "goodput.down"]);
        assert_eq!(frame.rows(), 2);
        let of = |name: &str| -> &Values {
            let column: &Column = frame.columns.iter().find(|column| column.name == name).unwrap();
            &column.values
        };
        assert_eq!(of("run"), &Values::Whole(vec![0, 1]));
        assert_eq!(of("seed"), &Values::Whole(vec![1, 7]));
        assert_eq!(of("link.rtt"), &Values::Number(vec![None, Some(0.01)]));
        assert_eq!(of("qdiscs"), &Values::Text(vec![None, Some("pie".to_owned())]));
        assert_eq!(of("goodput.down"), &Values::Number(vec![Some(0.0), Some(9.5e6)]));
        assert_eq!(of("bottleneck.up.sojourn_s.p95"), &Values::Number(vec![None, Some(0.0123)]));
    }
}
