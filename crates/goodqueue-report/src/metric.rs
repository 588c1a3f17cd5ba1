//! The figures of the table and of the sweep chart, each defined once.

use goodqueue_scenario::results::{LinkResult, Run, VoipResult};

use goodqueue_scenario::summary::Estimate;

use crate::group::{Grouped, Link};

/// One column.
#[derive(Clone, Copy)]
pub(crate) struct Metric {
    /// Heading above several columns.
    pub(crate) group: &'static str,
    /// Heading of the column.
    pub(crate) name: &'static str,
    /// Unit, or empty.
    pub(crate) unit: &'static str,
    /// Which end of the column is good.
    pub(crate) better: Better,
    /// The figure in this unit.
    pub(crate) of: fn(&Run, Link) -> Option<f64>,
}

/// Which end of a column is good.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Better {
    /// Large values.
    High,
    /// Small values.
    Low,
    /// Neither: more drops are no fault in themselves.
    Neither,
}

/// All columns, left to right.
const METRICS: [Metric; 22] = [
    metric("Goodput", "down", "Mbit/s", Better::High, |r, _| Some(r.goodput.down / 1e6)),
    metric("Goodput", "up", "Mbit/s", Better::High, |r, _| Some(r.goodput.up / 1e6)),
    metric("Induced latency", "mean", "ms", Better::Low, |r, _| ms(r.induced_latency_s.mean)),
    metric("Induced latency", "p95", "ms", Better::Low, |r, _| ms(r.induced_latency_s.p95)),
    metric("Induced latency", "p99", "ms", Better::Low, |r, _| ms(r.induced_latency_s.p99)),
    metric("Sojourn time", "p50", "ms", Better::Low, |r, l| ms(link(r, l).sojourn_s.p50)),
    metric("Sojourn time", "p95", "ms", Better::Low, |r, l| ms(link(r, l).sojourn_s.p95)),
    metric("Sojourn time", "p99", "ms", Better::Low, |r, l| ms(link(r, l).sojourn_s.p99)),
    metric("Packets", "dropped", "", Better::Neither, |r, _| packets(r, |l| l.packets.dropped)),
    metric("Packets", "marked", "", Better::Neither, |r, _| packets(r, |l| l.packets.marked)),
    metric("Fairness", "Jain", "", Better::High, |r, l| match l {
        Link::Down => r.fairness.jain_goodput,
        Link::Up => r.fairness.jain_goodput_up.or(r.fairness.jain_goodput),
    }),
    metric(VOICE, "lost", "%", Better::Low, |r, _| voice(r)?.loss.map(|share| share * 1e2)),
    metric(VOICE, "delay", "ms", Better::Low, |r, _| ms(voice(r)?.one_way_delay_s.mean)),
    metric(VOICE, "jitter", "ms", Better::Low, |r, _| ms(voice(r)?.jitter_s)),
    metric(VOICE, "MOS", "", Better::High, |r, _| voice(r)?.mos),
    metric(PAGES, "p50", "ms", Better::Low, |r, _| ms(r.probes.web.as_ref()?.page_fetch_s.p50)),
    metric(PAGES, "p95", "ms", Better::Low, |r, _| ms(r.probes.web.as_ref()?.page_fetch_s.p95)),
    metric(TRANSFERS, "p50", "ms", Better::Low, |r, _| ms(r.completion.as_ref()?.time_s.p50)),
    metric(TRANSFERS, "p95", "ms", Better::Low, |r, _| ms(r.completion.as_ref()?.time_s.p95)),
    metric(TRANSFERS, "p99", "ms", Better::Low, |r, _| ms(r.completion.as_ref()?.time_s.p99)),
    metric(GROUPS, "mean", "ms", Better::Low, |r, _| ms(r.mean_response_s())),
    metric(GROUPS, "max", "ms", Better::Low, |r, _| ms(r.max_response_s())),
];

const VOICE: &str = "Voice";
const PAGES: &str = "Page fetch";
const TRANSFERS: &str = "Flow completion";
const GROUPS: &str = "Group response";
/// About traffic that only some scenarios have.
const OF_SOME_TRAFFIC: [&str; 4] = [VOICE, PAGES, TRANSFERS, GROUPS];

/// The columns that this report has: those about which any of its runs says something, and those about the link always.
pub(crate) fn columns(grouped: &Grouped<'_>) -> Vec<&'static Metric> {
    let says = |metric: &&Metric| {
        let mut runs = grouped.points.iter().flat_map(|point| point.runs.iter().flatten());
        !OF_SOME_TRAFFIC.contains(&metric.group) || runs.any(|run| (metric.of)(run, grouped.link).is_some())
    };
    METRICS.iter().filter(says).collect()
}

const fn metric(
    group: &'static str,
    name: &'static str,
    unit: &'static str,
    better: Better,
    of: fn(&Run, Link) -> Option<f64>,
) -> Metric {
    Metric { group, name, unit, better, of }
}

/// A metric over the seeds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Spread {
    /// Mean.
    pub(crate) mean: f64,
    /// Half width of its 95 % confidence interval; `None` with one value.
    pub(crate) ci95: Option<f64>,
}

impl Spread {
    /// Of the values that exist and are finite.
    pub(crate) fn of(values: impl Iterator<Item = Option<f64>>) -> Option<Self> {
        let values: Vec<f64> = values.flatten().filter(|v| v.is_finite()).collect();
        Estimate::of(&values).map(|Estimate { mean, ci95, .. }| Self { mean, ci95 })
    }
}

/// A count as a number to divide by.
pub(crate) fn count(n: usize) -> f64 {
    f64::from(u32::try_from(n).unwrap_or(u32::MAX))
}

/// One direction of the bottleneck.
pub(crate) fn link(run: &Run, link: Link) -> &LinkResult {
    match link {
        Link::Down => &run.bottleneck.down,
        Link::Up => &run.bottleneck.up,
    }
}

fn voice(run: &Run) -> Option<&VoipResult> {
    run.probes.voip.as_ref()
}

fn ms(seconds: Option<f64>) -> Option<f64> {
    seconds.map(|s| s * 1e3)
}

#[expect(clippy::cast_precision_loss, reason = "a count of packets to show, far below 2^53")]
fn packets(run: &Run, of: fn(&LinkResult) -> u64) -> Option<f64> {
    Some(of(&run.bottleneck.down).saturating_add(of(&run.bottleneck.up)) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_of_none_one_and_several() {
        assert_eq!(Spread::of([None, Some(f64::NAN)].into_iter()), None);
        assert_eq!(Spread::of([Some(3.0), None].into_iter()), Some(Spread { mean: 3.0, ci95: None }));
        let two = Spread::of([Some(1.0), Some(3.0)].into_iter()).unwrap();
        // Student's t with one degree of freedom, times the standard error of 1.
        assert!((two.mean - 2.0).abs() < 1e-12 && (two.ci95.unwrap() - 12.7062).abs() < 1e-9);
    }
}
