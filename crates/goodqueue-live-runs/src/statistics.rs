//! Statistics of a live bottleneck in the form of results.

use std::collections::BTreeMap;

use goodqueue::{DropReason, Duration, Instant, Qdisc};
use goodqueue_live::bottleneck::Bottleneck;
use goodqueue_live::link::Link;
use goodqueue_live::observer::Direction;
use goodqueue_scenario::measure::histogram_summary;
use goodqueue_scenario::results::{LinkResult, MeanMax, Packets};
use goodqueue_tc as tc;
use goodqueue_tc::units;

/// Returns the results of one direction until `now`, since its start or since its measurement was
/// restarted. The packets of each fate count from the start in any case.
#[must_use]
pub fn link_result(link: &Link, now: Instant) -> LinkResult {
    let meter = &link.meter;
    let stats = link.stats();
    let span = seconds(Instant::ZERO + now.since(meter.begun()));
    // Statistics that are requested at the very start find a span of 0.
    let throughput_bps = if span > 0.0 { float(meter.sent_count().bytes) * 8.0 / span } else { 0.0 };
    // 0 stands for a link without a limit, and for one that follows a trace.
    let rate_bps = link.capacity().rate_at(now).map_or(0.0, |(rate, _)| float(rate.as_bps()));
    LinkResult {
        qdisc: tc::to_tc(&link.qdisc().config()),
        rate_bps,
        utilization: (rate_bps > 0.0).then(|| throughput_bps / rate_bps),
        throughput_bps,
        sojourn_s: histogram_summary(meter.sojourn(), meter.sojourn_mean()),
        queue_packets: MeanMax { mean: meter.length_mean(now), max: float(meter.length_most() as u64) },
        packets: Packets {
            offered: stats.offered.packets,
            enqueued: stats.enqueued.packets,
            dequeued: stats.dequeued.packets,
            dropped: stats.dropped().packets,
            marked: stats.marked.packets,
        },
        drops: drops(link),
        ..LinkResult::default()
    }
}

/// Returns the dropped packets by reason, without reasons that did not occur.
fn drops(link: &Link) -> BTreeMap<String, u64> {
    DropReason::ALL
        .iter()
        .map(|why| (why.name().to_owned(), link.meter.drops()[why.index()]))
        .filter(|(_, count)| *count > 0)
        .collect()
}

/// Returns all statistics of a running bottleneck, for `--json` and `stats`.
pub fn statistics(bottleneck: &mut Bottleneck) -> serde_json::Value {
    let now = bottleneck.now();
    let kernel = bottleneck.kernel_counters();
    let (memory, memory_most) = bottleneck.memory();
    let counters = *bottleneck.counters();
    let kernel = |side: usize| match kernel.get(side).copied().flatten() {
        Some(of) => serde_json::json!({
            "interface_dropped": of.dropped, "interface_up": of.is_up, "mtu": of.mtu,
        }),
        None => serde_json::Value::Null,
    };
    let side = |direction: Direction| {
        let link = bottleneck.link(direction);
        // Only maps whose keys are no text cannot be JSON, and there are none.
        let mut value = serde_json::to_value(link_result(link, now)).unwrap_or_default();
        value["queued"] = serde_json::json!({
            "packets": Qdisc::len(link.qdisc()), "bytes": Qdisc::backlog(link.qdisc()),
        });
        value["propagating_packets"] = link.propagating().into();
        value
    };
    serde_json::json!({
        "goodqueue": env!("CARGO_PKG_VERSION"),
        "duration_s": seconds(now),
        "down": side(Direction::Down),
        "up": side(Direction::Up),
        "client": kernel(0),
        "server": kernel(1),
        "process": {
            "read_packets": counters.read[0] + counters.read[1],
            "written_packets": counters.written[0] + counters.written[1],
            "not_written_packets": counters.not_written,
            "out_of_memory_packets": counters.out_of_memory,
            "contradictory_packets": counters.contradictory,
            "late_wakeups": counters.late,
            "latest_s": seconds(Instant::ZERO + counters.latest),
            "memory_bytes": memory,
            "memory_max_bytes": memory_most,
        },
    })
}

/// Returns why the machine was too busy for results to be judged, if it was.
#[must_use]
pub fn too_busy(latest: Duration, kernel_drops: u64) -> Option<String> {
    if latest > VERY_LATE {
        return Some(format!("goodqueue woke up {} late", units::show_time(latest)));
    }
    (kernel_drops > 0).then(|| {
        format!(
            "the kernel dropped {kernel_drops} packets in front of the bottleneck, which goodqueue read too late"
        )
    })
}

/// Returns a remark if packets were lost for lack of memory. No discipline saw them.
#[must_use]
pub fn discarded(bottleneck: &Bottleneck) -> Option<String> {
    let count = bottleneck.counters().out_of_memory;
    let memory = bottleneck.memory_limit() >> 20;
    (count > 0).then(|| {
        format!(
            "{count} packets were discarded in front of the queues, because the {memory} MiB of memory for \
             packets were full; they do not count as dropped. A lower rate, a shorter delay or a shorter queue \
             needs less"
        )
    })
}

/// Converts to seconds since the start.
pub(crate) fn seconds(at: Instant) -> f64 {
    float(at.as_nanos()) / 1e9
}

#[expect(clippy::cast_precision_loss, reason = "results are given in floating point; counts stay below 2^53")]
pub(crate) const fn float(number: u64) -> f64 {
    number as f64
}

/// Lateness that is reported and disturbs a test: a fifth of a noticeable delay. A busy machine is
/// always a few milliseconds late.
pub(crate) const VERY_LATE: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use goodqueue::Rate;
    use goodqueue::config::Link as LinkOf;
    use goodqueue_link::capacity::Capacity;
    use goodqueue_live::buffer::Pool;
    use goodqueue_live::link::{Delay, LinkConfig};
    use goodqueue_live::packet::{Framing, IpPacket};

    use super::*;

    #[test]
    fn throughput_is_that_since_the_measurement_was_restarted() {
        let config = LinkConfig {
            capacity: Capacity::Constant(Rate::from_bps(80_000)),
            qdisc: tc::parse("pfifo", &LinkOf::default()).unwrap(),
            path: None,
            delay: Delay::default(),
            framing: 0,
            salt: 0,
            seed: 1,
        };
        let mut link = Link::new(Direction::Down, &config);
        let mut nobody: Vec<Box<dyn goodqueue_live::observer::Observer>> = Vec::new();
        let at = |seconds| Instant::ZERO + Duration::from_secs(seconds);
        link.meter.restart(at(9));
        let packet = Pool::new(1 << 20).copy(&[0; 1000]).unwrap();
        link.arrive(at(9), IpPacket::new(packet, Framing::Ip { counted: 0 }, 0, at(9)), &mut nobody);
        assert!(link.poll(at(10), &mut nobody).is_some());
        // 8000 bits in one second, a tenth of the capacity.
        let result = link_result(&link, at(10));
        assert_eq!((result.throughput_bps, result.utilization), (8000.0, Some(0.1)));
    }

    #[test]
    fn a_late_wake_up_and_packets_lost_in_the_kernel_disturb_a_test() {
        assert_eq!(too_busy(Duration::from_millis(20), 0), None);
        let late = too_busy(Duration::from_millis(21), 3);
        assert!(late.is_some_and(|why| why.contains("woke up 21")));
        let dropped = too_busy(Duration::from_millis(1), 3);
        assert!(dropped.is_some_and(|why| why.contains("dropped 3 packets")));
    }
}
