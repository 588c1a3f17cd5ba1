//! Time series over seeds: their pointwise mean, as papers draw them, and how far off it may be.

use crate::results::time_series::{QUEUES, present};
use crate::results::{Band, FlowMeans, MeanSeries, PerDirection, QueueMeans, QueueSeries, Run, Series};
use crate::statistics::float;

/// Returns the means of runs of one discipline at one point of a sweep; `None` with fewer than two
/// that have series.
pub(super) fn means(runs: &[&Run]) -> Option<MeanSeries> {
    let all: Vec<_> = runs.iter().filter_map(|run| Some((*run, run.series.as_ref()?))).collect();
    let (first, one) = *all.first().filter(|_| all.len() > 1)?;
    let queue = |side: fn(&PerDirection<QueueSeries>) -> &QueueSeries| {
        let means = QUEUES.iter().map(|metric| {
            let of_runs: Vec<_> = all.iter().map(|(_, series)| (metric.of)(side(&series.queues))).collect();
            (metric.about.name.to_owned(), Band::from_series(&of_runs))
        });
        QueueMeans(means.collect())
    };
    let total = |direction: &str| {
        let of_run = |(run, _): &(&Run, _)| total(run, direction);
        Band::from_series(&all.iter().map(of_run).collect::<Vec<_>>())
    };
    let flow = |id: u32| {
        let of_run = |series: &Series| {
            let flow = series.goodput_bps.iter().find(|flow| flow.id == id);
            flow.map_or_else(Vec::new, |flow| present(&flow.values))
        };
        let values = Band::from_series(&all.iter().map(|(_, series)| of_run(series)).collect::<Vec<_>>());
        FlowMeans { id, values }
    };
    let steps = one.queues.down.throughput_bps.len();
    let pings = |pings: &[(f64, Option<f64>)]| pings_per_step(pings, one.step_s, steps);
    debug_assert!(all.iter().all(|(run, _)| run.qdisc == first.qdisc), "runs of one discipline");
    Some(MeanSeries {
        step_s: one.step_s,
        queues: PerDirection { down: queue(|both| &both.down), up: queue(|both| &both.up) },
        goodput: PerDirection { down: total("down"), up: total("up") },
        goodput_bps: one.goodput_bps.iter().map(|series| flow(series.id)).collect(),
        ping_s: Band::from_series(&all.iter().map(|(_, series)| pings(&series.pings)).collect::<Vec<_>>()),
    })
}

/// Mean round-trip time of the answered pings that were sent in each of `steps` steps of `step_s`
/// seconds.
#[must_use]
pub fn pings_per_step(pings: &[(f64, Option<f64>)], step_s: f64, steps: usize) -> Vec<Option<f64>> {
    let mut sums = vec![(0.0, 0_u64); steps];
    for (sent_s, time_s) in pings {
        // Of a ping at the very beginning of a step the quotient may come out just below it.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "times of a run over its step: a number of steps; what is off is of no step"
        )]
        let step = (sent_s / step_s + 1e-6).floor() as usize;
        if let (Some(sum), Some(time_s)) = (sums.get_mut(step), time_s) {
            *sum = (sum.0 + time_s, sum.1 + 1);
        }
    }
    sums.into_iter().map(|(sum, count)| (count > 0).then(|| sum / float(count))).collect()
}

/// Returns the total goodput of the flows of a direction that have a series.
fn total(run: &Run, direction: &str) -> Vec<Option<f64>> {
    let Some(series) = &run.series else { return Vec::new() };
    let goes = |id: u32| run.flows.iter().any(|flow| flow.id == id && flow.direction == direction);
    let mut sum: Vec<Option<f64>> = Vec::new();
    for flow in series.goodput_bps.iter().filter(|flow| goes(flow.id)) {
        sum.resize(sum.len().max(flow.values.len()), Some(0.0));
        for (sum, value) in sum.iter_mut().zip(&flow.values) {
            *sum = sum.map(|sum| sum + value);
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_band_is_the_mean_of_what_is_there_at_each_step() {
        let band = Band::from_series(&[
            vec![Some(1.0), None, Some(5.0), None],
            vec![Some(3.0), None, None],
            vec![Some(2.0), None, Some(f64::NAN)],
        ]);
        assert_eq!(band.mean, [Some(2.0), None, Some(5.0), None]);
        // Standard error 1/sqrt(3), t(2) = 4.3027.
        assert!((band.ci95[0].unwrap() - 4.3027 / 3.0_f64.sqrt()).abs() < 1e-9);
        assert_eq!(band.ci95[1..], [None, None, None]);
        assert_eq!(Band::from_series(&[]), Band::default());
    }

    #[test]
    fn pings_belong_to_the_step_in_which_they_were_sent() {
        let pings = [(0.0, Some(0.05)), (0.1, Some(0.06)), (0.3, Some(0.08)), (0.35, None), (9.0, Some(1.0))];
        let means = pings_per_step(&pings, 0.1, 5);
        assert_eq!(means, [Some(0.05), Some(0.06), None, Some(0.08), None]);
        assert_eq!(pings_per_step(&pings, 0.2, 1), [Some(0.055)]);
    }
}
