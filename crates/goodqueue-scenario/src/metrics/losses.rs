//! How packets were lost, and shares.

use goodqueue_sim::Transport;

use super::metric::Better::{High, Low, Neither};
use super::metric::Digits::{AfterPoint, Three};
use super::metric::{DirectionColumns, Group, Metric, Table, link, percent};
use crate::results::{FlowKind, FlowResult, Run};

/// Title of the losses.
pub const LOSSES: &str = "Losses";
/// Title of the share of packets lost.
pub const LOSS: &str = "Packet loss";

pub(super) fn groups() -> Vec<Group> {
    let mut groups = vec![loss()];
    groups.extend(of_tcp_flows());
    groups.extend(shares());
    groups
}

fn group(title: &str, heading: &str, sides: DirectionColumns, metric: Metric) -> Group {
    Group { table: Table::Losses, is_always_there: false, ..Group::new(title, heading, sides, vec![metric]) }
}

/// The share of packets that were lost, wherever that was.
fn loss() -> Group {
    let loss = Metric::new(
        "loss",
        "%",
        Neither,
        |run, side| percent(run.loss_share(side)),
        "packets dropped in any queue or in the air, as a share of these and of those that the bottleneck sent",
    )
    .at("loss.{}");
    group(LOSS, "loss\n%\ndown/up", DirectionColumns::Loaded, loss)
}

fn of_tcp_flows() -> Vec<Group> {
    let events = Metric::new(
        "events per flow",
        "",
        Neither,
        |run, side| run.loss_events(side),
        "loss events of a flow of TCP or QUIC, mean",
    )
    .at("losses.{}.events_per_flow");
    let packets = Metric::new(
        "packets per event",
        "",
        Neither,
        |run, side| run.packets_per_loss_event(side),
        "packets dropped in a loss event, mean",
    )
    .at("losses.{}.packets_per_event");
    let synchronized = Metric::new(
        "synchronized",
        "%",
        Low,
        |run, side| percent(*run.loss_synchronization.get(side)),
        "share of the flows that lose packets in the same congestion period",
    )
    .digits(Three, AfterPoint(0))
    .at("loss_synchronization.{}");
    vec![
        group(LOSSES, "loss events\nper TCP flow\ndown/up", DirectionColumns::Loaded, events),
        group(LOSSES, "packets lost\nper event\ndown/up", DirectionColumns::Loaded, packets),
        group(LOSSES, "synchronized\n% of flows\ndown/up", DirectionColumns::Loaded, synchronized),
    ]
}

fn shares() -> Vec<Group> {
    let drops =
        Metric::new("drops", "", High, |run, _| run.fairness.jain_drop_share, "fairness of the drops")
            .digits(AfterPoint(3), AfterPoint(2))
            .at("fairness.jain_drop_share");
    let queue = Metric::new(
        "of limit",
        "%",
        Neither,
        |run, side| percent(link(run, side).queue_share),
        "mean backlog as a share of the discipline's limit",
    )
    .at("bottleneck.{}.queue_share");
    let paused = Metric::new(
        "of time",
        "%",
        Neither,
        |run, side| percent(link(run, side).pauses.map(|pauses| pauses.share)),
        "share of the time for which the device behind the link had stopped it with PAUSE frames",
    )
    .at("bottleneck.{}.pauses.share");
    let tcp = Metric::new(
        "in bytes",
        "%",
        Neither,
        |run, _| percent(run.tcp_share),
        "TCP's share of the delivered bytes",
    )
    .digits(Three, AfterPoint(0))
    .at("tcp_share");
    vec![
        group("Jain index", "Jain index\nof drops\n", DirectionColumns::One, drops),
        group("Mean queue", "mean queue\n% of limit\ndown/up", DirectionColumns::Loaded, queue),
        group("Paused link", "paused\n% of time\ndown/up", DirectionColumns::Loaded, paused),
        Group {
            applies: has_rival_of_tcp,
            ..group("Share of TCP", "TCP's share\n% of bytes\n", DirectionColumns::One, tcp)
        },
    ]
}

/// Returns whether a flow other than TCP and pings delivered bytes.
fn has_rival_of_tcp(run: &Run) -> bool {
    let is_rival = |flow: &FlowResult| {
        flow.transport() != Transport::Tcp && flow.kind != FlowKind::Ping && flow.bytes_delivered > 0
    };
    run.flows.iter().any(is_rival)
}
