//! Metrics that every run has: goodput, latency, drops, fairness.

use goodqueue_sim::Direction;

use super::metric::Better::{High, Low, Neither};
use super::metric::Digits::{AfterPoint, Three};
use super::metric::{DirectionColumns, Group, Metric, P50, P95, P99, link, ms};
use crate::results::{LinkResult, Run, Summary};
use crate::statistics::float;

/// Title of the sojourn times at the bottleneck.
pub const SOJOURN: &str = "Sojourn time";
/// Title of the packet counts.
pub const PACKETS: &str = "Packets";

pub(super) fn groups() -> Vec<Group> {
    let drops = packets("dropped", |of| of.packets.dropped, "packets that the discipline dropped");
    let marks = packets("marked", |of| of.packets.marked, "packets that the discipline marked CE");
    vec![
        goodput(),
        induced_latency(),
        ping(),
        responsiveness(),
        sojourn(),
        Group::new(PACKETS, "drops\n\ndown/up", DirectionColumns::Sum, vec![drops]),
        Group {
            hides_zeros: true,
            ..Group::new(PACKETS, "marks\n\ndown/up", DirectionColumns::Sum, vec![marks])
        },
        fairness(),
    ]
}

fn goodput() -> Group {
    let goodput = |name: &str, of: fn(&Run) -> f64, doc| {
        Metric::new(name, "Mbit/s", High, move |run, _| Some(of(run) / 1e6), doc)
            .digits(Three, AfterPoint(2))
            .with_interval()
            .compared()
            .at(&format!("goodput.{name}"))
    };
    let metrics = vec![
        goodput(
            "down",
            |run| run.goodput.down,
            "payload that flows of TCP and QUIC delivered to the clients",
        ),
        goodput("up", |run| run.goodput.up, "payload that flows of TCP and QUIC delivered to the servers"),
    ];
    Group::new("Goodput", "goodput\nMbit/s\ndown/up", DirectionColumns::One, metrics)
}

fn induced_latency() -> Group {
    let induced = |name: &str, of: fn(&Summary) -> Option<f64>, doc| {
        Metric::new(name, "ms", Low, move |run, _| ms(of(&run.induced_latency_s)), doc)
            .at(&format!("induced_latency_s.{name}"))
    };
    let metrics = vec![
        induced(
            "mean",
            |of| of.mean,
            "round-trip time of pings minus the base round-trip time, which has no transmission times, mean",
        )
        .with_interval()
        .compared(),
        induced("p95", P95, "its 95th percentile"),
        induced("p99", P99, "its 99th percentile"),
    ];
    Group::new("Induced latency", "induced latency\nms\nmean/p95/p99", DirectionColumns::One, metrics)
}

/// The round-trip time as a user of ping sees it. Wide tables and the report show more of the
/// induced latency instead.
fn ping() -> Group {
    let ping = |name: &str, of: fn(&Summary) -> Option<f64>, doc| {
        Metric::new(name, "ms", Low, move |run, _| ms(of(&run.probes.ping_s)), doc)
            .only_in_terminal()
            .at(&format!("probes.ping_s.{name}"))
    };
    let metrics = vec![
        ping("mean", |of| of.mean, "round-trip time of pings, mean"),
        // Neither the terminal nor the report shows these three. They have keys, for conditions and
        // exports.
        ping("p50", P50, "its median").only_in_report(),
        ping("p95", P95, "its 95th percentile").only_in_report(),
        ping("p99", P99, "its 99th percentile").only_in_report(),
    ];
    let has_pings = |run: &Run| run.probes.ping_s.mean.is_some();
    let group = Group::new("Ping", "ping\nms\n", DirectionColumns::One, metrics);
    Group { applies: has_pings, is_always_there: false, ..group }
}

fn responsiveness() -> Group {
    let rpm = Metric::new(
        "RPM",
        "",
        High,
        |run, _| run.probes.responsiveness_rpm,
        "responsiveness: round trips per minute of pings under the load of the run, see [Concepts](concepts.md)",
    )
    .digits(AfterPoint(0), AfterPoint(0))
    .at("probes.responsiveness_rpm");
    let has_pings = |run: &Run| run.probes.responsiveness_rpm.is_some();
    let group = Group::new("Responsiveness", "RPM\n\n", DirectionColumns::One, vec![rpm]);
    Group { applies: has_pings, is_always_there: false, ..group }
}

fn sojourn() -> Group {
    let sojourn = |name: &str, of: fn(&Summary) -> Option<f64>, doc| {
        Metric::new(name, "ms", Low, move |run, side| ms(of(&link(run, side).sojourn_s)), doc)
            .at(&format!("bottleneck.{{}}.sojourn_s.{name}"))
    };
    let metrics = vec![
        sojourn("p50", P50, "time that transmitted packets spent in the bottleneck's queue, median")
            .compared(),
        sojourn("p95", P95, "its 95th percentile"),
        sojourn("p99", P99, "its 99th percentile"),
    ];
    Group::new(SOJOURN, "sojourn {}\nms\np50/p95/p99", DirectionColumns::Loaded, metrics)
}

fn packets(name: &str, of: fn(&LinkResult) -> u64, doc: &'static str) -> Metric {
    Metric::new(name, "", Neither, move |run, side| Some(float(of(link(run, side)))), doc)
        .digits(AfterPoint(0), AfterPoint(0))
        .at(&format!("bottleneck.{{}}.packets.{name}"))
}

fn fairness() -> Group {
    let jain = |run: &Run, side| match side {
        Direction::Down => run.fairness.jain_goodput,
        Direction::Up => run.fairness.jain_goodput_up,
    };
    let metric = Metric::new(
        "goodput",
        "",
        High,
        jain,
        "fairness of the goodput of TCP and QUIC flows: 1 if all are equal",
    )
    .digits(AfterPoint(3), AfterPoint(2))
    .at("fairness.jain_goodput{_up}");
    Group::new("Jain index", "Jain index\n\ndown/up", DirectionColumns::LoadedOrDown, vec![metric])
}
