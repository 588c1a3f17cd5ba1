//! The metrics of a WiFi channel.

use goodqueue::Duration;
use goodqueue_sim::LinkOutcome;
use goodqueue_sim::wifi::{MacConfig, MediumConfig, RadioStats, WifiOutcome};
use goodqueue_tc as tc;

use super::link::{drops, packets};
use crate::results::{MeanMax, RadioResult, StationResult, WifiQueueResult, WifiResult};
use crate::statistics::{float, histogram_summary, seconds};

/// Returns the metrics of a channel over this time.
pub(super) fn result(config: &MediumConfig, seen: &WifiOutcome, measured: Duration) -> WifiResult {
    let queue = |mac: Option<&MacConfig>, queue: &LinkOutcome| WifiQueueResult {
        qdisc: match mac {
            Some(MacConfig::Driver(driver)) => Some(tc::to_tc(&driver.qdisc)),
            _ => None,
        },
        throughput_bps: queue.sent.per_second(measured),
        sojourn_s: histogram_summary(&queue.sojourn, queue.sojourn_mean),
        queue_packets: MeanMax { mean: queue.queue_mean, max: float(queue.queue_max) },
        packets: packets(&queue.stats),
        drops: drops(queue),
    };
    let stations: Vec<[RadioResult; 2]> =
        seen.clients.iter().map(|station| [radio(&station[0]), radio(&station[1])]).collect();
    let airtime = |[down, up]: &[RadioResult; 2]| down.airtime_s + up.airtime_s;
    let total: f64 = stations.iter().map(airtime).sum();
    let result = |(client, station): (u32, &[RadioResult; 2])| StationResult {
        client,
        airtime_share: (total > 0.0).then(|| airtime(station) / total),
        down: station[0],
        up: station[1],
    };
    WifiResult {
        down: queue(Some(&config.access_point), &seen.queues[0]),
        // All clients of a scenario queue alike (`mac_up`), so the first one names the discipline.
        up: queue(config.clients.first().map(|client| &client.mac), &seen.queues[1]),
        stations: (1..).zip(&stations).map(result).collect(),
    }
}

fn radio(stats: &RadioStats) -> RadioResult {
    RadioResult {
        airtime_s: seconds(stats.airtime),
        transmissions: stats.ppdus,
        collisions: stats.collisions,
        aggregate: (stats.ppdus > 0).then(|| float(stats.mpdus) / float(stats.ppdus)),
        lost: stats.lost,
        given_up: stats.given_up,
    }
}
