//! Time series.

use goodqueue_sim::{Config, Direction, Outcome};
use hdrhistogram::Histogram;

use super::ping::{answered, pings};
use crate::results::{FlowSeries, PerDirection, Quantiles, QueueSeries, Series};
use crate::statistics::{float, nanos_to_s, nearest_rank, per_second, seconds};

pub(super) fn series_result(config: &Config, outcome: &Outcome, series: &goodqueue_sim::Series) -> Series {
    let step_s = seconds(series.step);
    let queue = |direction: Direction| {
        let bins = &series.queues[direction.index()];
        let left = |value: fn(&goodqueue_sim::Bin) -> f64| -> Vec<Option<f64>> {
            bins.iter().map(|bin| (bin.packets > 0).then(|| value(bin))).collect()
        };
        QueueSeries {
            sojourn_mean_s: left(|bin| nanos_to_s(bin.sojourn_sum) / float(bin.packets)),
            sojourn_max_s: left(|bin| seconds(bin.sojourn_max)),
            queue_packets: bins.iter().map(|bin| float(bin.queue_packets)).collect(),
            throughput_bps: bins.iter().map(|bin| bin.sent.per_second(series.step)).collect(),
            drops: bins.iter().map(|bin| bin.drops).collect(),
        }
    };
    let goodput_bps = (0_u32..)
        .zip(config.flows.iter().zip(&series.delivered))
        .filter(|(_, (flow, _))| flow.traffic.congestion_control().is_some())
        .map(|(id, (_, delivered))| FlowSeries {
            id,
            values: delivered.iter().map(|bytes| per_second(*bytes, step_s)).collect(),
        })
        .collect();
    let (mut pings, _) = pings(config, outcome);
    // The pings are ordered by flow; the series is ordered by time.
    pings.sort_by_key(|ping| ping.sent_at);
    let probabilities: Vec<f64> = (0..=QUANTILE_STEPS).map(|n| float(n) / float(QUANTILE_STEPS)).collect();
    let of_histogram = |histogram: &Histogram<u64>| -> Vec<f64> {
        if histogram.is_empty() {
            return Vec::new();
        }
        let value = |p: &f64| nanos_to_s(histogram.value_at_quantile(*p).min(histogram.max()));
        probabilities.iter().map(value).collect()
    };
    let mut times = answered(&pings);
    times.sort_by(f64::total_cmp);
    let ping_s = if times.is_empty() {
        Vec::new()
    } else {
        probabilities.iter().map(|p| times[nearest_rank(*p, times.len())]).collect()
    };
    Series {
        step_s,
        queues: PerDirection { down: queue(Direction::Down), up: queue(Direction::Up) },
        goodput_bps,
        pings: pings
            .iter()
            .map(|ping| (nanos_to_s(ping.sent_at.as_nanos()), ping.time.map(seconds)))
            .collect(),
        quantiles: Quantiles {
            sojourn_down_s: of_histogram(&outcome.links[0].sojourn),
            sojourn_up_s: of_histogram(&outcome.links[1].sojourn),
            ping_s,
            probabilities,
        },
    }
}

/// Quantiles are given in steps of half a percent.
const QUANTILE_STEPS: u64 = 200;
