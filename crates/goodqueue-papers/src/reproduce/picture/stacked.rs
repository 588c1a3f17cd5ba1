//! The shares of the flows in what one run delivered, second by second, stacked.

use goodqueue_tc::diagnostic::Diagnostic;

use super::traces::{Trace, thinned};
use crate::reproduce::evidence::Evidence;
use crate::reproduce::expression::{Cell, Expression};
use crate::reproduce::paper::{Figure, Paper};

/// Returns a trace for each flow of each cell, from the bottom up: the flows of the first of the
/// `[[flows]]` first.
pub(super) fn traces(
    figure: &Figure,
    paper: &Paper,
    cells: &[&Cell],
    evidence: &Evidence<'_>,
) -> Result<Vec<Trace>, Diagnostic> {
    let mut traces = Vec::new();
    for cell in cells {
        let mut flows: Vec<(&str, Vec<f64>)> = Vec::new();
        let mut step_s = 0.0;
        for (number, sort) in figure.names.iter().enumerate() {
            for _ in 0..flows_of(cell, number, evidence)? {
                let path = format!("series.goodput_bps.{}.values", flows.len());
                let series = evidence.series_of_first(cell, &path)?;
                step_s = series.0;
                flows.push((sort, series.1.into_iter().map(|value| value.unwrap_or(0.0)).collect()));
            }
        }
        let group = Some(paper.name_of(&cell.label).to_owned());
        let edges = upper_edges(flows.iter().map(|(_, values)| values.as_slice()));
        for (number, ((sort, _), edge)) in flows.iter().zip(edges).enumerate() {
            let points = (1_u32..)
                .zip(edge)
                .map(|(step, share)| (f64::from(step) * step_s, share))
                .take_while(|(at, _)| figure.until.is_none_or(|until| *at <= until));
            traces.push(Trace {
                name: format!("{sort}, flow {}", number + 1),
                label: (*sort).to_owned(),
                group: group.clone(),
                beyond: paper.is_beyond(&cell.label),
                paper: Vec::new(),
                points: thinned(points.collect()),
            });
        }
    }
    Ok(traces)
}

/// The number of flows in one of the `[[flows]]` of a scenario.
fn flows_of(cell: &Cell, group: usize, evidence: &Evidence<'_>) -> Result<u32, Diagnostic> {
    // The series of a run has single flows, while the figure names the `[[flows]]`.
    let count = Expression::parse(&format!("setup(flows.{group}.count)"))?;
    let count = evidence.measure(&Expression::In(Box::new(count), cell.clone()))?.value;
    Ok((0..MOST_FLOWS).take_while(|flow| f64::from(*flow) < count).count().try_into().unwrap_or(0))
}

/// The upper edge of each flow in each step, in percent of what all flows delivered. Nothing
/// delivered: the edges of the step before.
fn upper_edges<'v>(flows: impl Iterator<Item = &'v [f64]> + Clone) -> Vec<Vec<f64>> {
    let steps = flows.clone().map(<[f64]>::len).max().unwrap_or(0);
    let mut edges = vec![Vec::with_capacity(steps); flows.clone().count()];
    for step in 0..steps {
        let at = |values: &[f64]| values.get(step).copied().unwrap_or(0.0);
        let all: f64 = flows.clone().map(at).sum();
        let mut below = 0.0;
        for (edge, values) in edges.iter_mut().zip(flows.clone()) {
            below += at(values);
            let before = edge.last().copied().unwrap_or(0.0);
            edge.push(if all > 0.0 { 100.0 * below / all } else { before });
        }
    }
    edges
}

/// Flows that can be told apart in a picture, and more.
const MOST_FLOWS: u32 = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flows_of_each_step_stand_on_each_other_and_reach_100_percent() {
        let flows: [&[f64]; 3] = [&[1.0, 0.0, 2.0], &[1.0, 0.0, 1.0], &[2.0, 0.0, 1.0]];
        let edges = upper_edges(flows.into_iter());
        assert_eq!(edges, [[25.0, 25.0, 50.0], [50.0, 50.0, 75.0], [100.0, 100.0, 100.0]]);
    }
}
