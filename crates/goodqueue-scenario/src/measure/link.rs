//! The metrics of queues.

use std::collections::BTreeMap;

use goodqueue::config::Value;
use goodqueue::{DropReason, Duration, Stats};
use goodqueue_sim as sim;
use goodqueue_sim::backlog::Spike;
use goodqueue_sim::link::LinkConfig;
use goodqueue_sim::{Config, Direction, LinkOutcome, Outcome};
use goodqueue_tc as tc;

use crate::results::{HopResult, LinkResult, MeanMax, Packets, PauseResult, SharedQueue, SpikeResult};
use crate::statistics::{float, histogram_summary, seconds};

pub(super) fn link_result(measured: Duration, link_config: &LinkConfig, link: &LinkOutcome) -> LinkResult {
    LinkResult {
        qdisc: tc::to_tc(&link_config.qdisc),
        rate_bps: link.capacity.per_second(measured),
        utilization: link.sent.share_of(link.capacity),
        throughput_bps: link.sent.per_second(measured),
        sojourn_s: histogram_summary(&link.sojourn, link.sojourn_mean),
        queue_packets: MeanMax { mean: link.queue_mean, max: float(link.queue_max) },
        queue_share: match link_config.qdisc.to_settings().get("limit") {
            Some(Value::Packets(limit)) if limit > 0 => Some(link.queue_mean / float(limit)),
            // The backlog in bytes is measured only where a limit or a threshold is in bytes.
            Some(Value::Bytes(limit)) if limit > 0 => link.backlog_mean.map(|mean| mean / float(limit)),
            _ => None,
        },
        spikes: link.spikes.iter().map(spike).collect(),
        pauses: link.pauses.map(|pauses| PauseResult {
            frames: pauses.frames,
            time_s: seconds(pauses.time),
            share: if measured.is_zero() { 0.0 } else { seconds(pauses.time) / seconds(measured) },
        }),
        packets: packets(&link.stats),
        drops: drops(link),
    }
}

pub(super) fn shared_queue(shared: &sim::SharedQueue, hops: &[HopResult]) -> SharedQueue {
    let hop = shared.hop.and_then(|hop| hops.get(hop));
    SharedQueue {
        flow: shared.flow.number(),
        queue: hop.map_or_else(|| "bottleneck".to_owned(), |hop| hop.name.clone()),
        direction: shared.direction,
        with: shared.collisions.with.iter().map(|flow| flow.number()).collect(),
        packets: shared.collisions.packets,
        met: shared.collisions.met,
    }
}

pub(super) fn packets(stats: &Stats) -> Packets {
    Packets {
        offered: stats.offered.packets,
        enqueued: stats.enqueued.packets,
        dequeued: stats.dequeued.packets,
        dropped: stats.dropped().packets,
        marked: stats.marked.packets,
    }
}

pub(super) fn drops(link: &LinkOutcome) -> BTreeMap<String, u64> {
    let occurred = DropReason::ALL.iter().filter(|why| link.drops[why.index()] > 0);
    occurred.map(|why| (why.name().to_owned(), link.drops[why.index()])).collect()
}

/// Returns all queues as tc prints the queues of several devices. The devices of the bottleneck are
/// `down` and `up`; the names of the others start with the name of the hop.
pub(super) fn tc_stats(
    config: &Config,
    outcome: &Outcome,
    bottleneck: [&LinkResult; 2],
    hops: &[HopResult],
) -> Vec<serde_json::Value> {
    let mut all = Vec::new();
    let mut add = |device: String, link: &LinkConfig, seen: &LinkOutcome, measured: &LinkResult| {
        for mut qdisc in
            tc::statistics_of(&link.qdisc, &seen.seen, Some(&serde_json::json!(measured.sojourn_s)))
        {
            if let Some(fields) = qdisc.as_object_mut() {
                // Behind kind and handle, as in tc.
                fields.shift_insert(fields.len().min(2), "dev".to_owned(), device.as_str().into());
            }
            all.push(qdisc);
        }
    };
    for direction in [Direction::Down, Direction::Up] {
        let of = direction.index();
        add(direction.name().to_owned(), &config.links[of], &outcome.links[of], bottleneck[of]);
    }
    let configured = config.before.iter().chain(&config.after);
    for (hop, (configured, seen)) in hops.iter().zip(configured.zip(&outcome.hops)) {
        for (direction, measured) in [(Direction::Down, &hop.down), (Direction::Up, &hop.up)] {
            let of = direction.index();
            let device = format!("{}-{}", hop.name, direction.name());
            add(device, &configured.links[of], &seen[of], measured);
        }
    }
    all
}

fn spike(spike: &Spike) -> SpikeResult {
    let Spike { above, longest, total } = *spike;
    SpikeResult { above_bytes: above, longest_s: seconds(longest), total_s: seconds(total) }
}
