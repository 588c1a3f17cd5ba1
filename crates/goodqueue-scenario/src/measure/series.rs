//! Time series.

use goodqueue_sim::{Config, Direction, Outcome};

use super::delays::at_quantiles;
use super::ping::{over_time, round_trips};
use crate::results::{FlowSeries, PerDirection, Quantiles, QueueSeries, Series};
use crate::statistics::{float, nanos_to_s, per_second, seconds};

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
        .filter(|(_, (flow, _))| flow.traffic.transport().controls_congestion())
        .map(|(id, (_, delivered))| FlowSeries {
            id,
            values: delivered.iter().map(|bytes| per_second(*bytes, step_s)).collect(),
        })
        .collect();
    let probabilities: Vec<f64> = (0..=QUANTILE_STEPS).map(|n| float(n) / float(QUANTILE_STEPS)).collect();
    Series {
        step_s,
        queues: PerDirection { down: queue(Direction::Down), up: queue(Direction::Up) },
        goodput_bps,
        pings: over_time(config, outcome)
            .iter()
            .map(|ping| (nanos_to_s(ping.sent_at.as_nanos()), ping.time.map(seconds)))
            .collect(),
        quantiles: Quantiles {
            sojourn_down_s: at_quantiles(&outcome.links[0].sojourn, &probabilities),
            sojourn_up_s: at_quantiles(&outcome.links[1].sojourn, &probabilities),
            ping_s: round_trips(config, outcome).at(&probabilities),
            probabilities,
        },
    }
}

/// Quantiles are given in steps of half a percent.
const QUANTILE_STEPS: u64 = 200;
