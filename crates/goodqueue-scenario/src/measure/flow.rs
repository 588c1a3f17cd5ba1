//! The metrics of single flows, and of the TCP flows together.

use goodqueue::Instant;
use goodqueue_sim as sim;
use goodqueue_sim::network::Fates;
use goodqueue_sim::{Config, FlowConfig, FlowOutcome, Outcome, Traffic, Transport};

use super::labels::FlowLabels;
use super::ping::of_flow;
use super::transfers::summary_of_transfers;
use super::voice::Packets;
use super::{video, voice};
use crate::results::{FlowKind, FlowLosses, FlowPackets, FlowResult, VoipResult};
use crate::statistics::{float, per_second, seconds};

pub(super) fn flow_result(
    id: u32,
    run: &Config,
    config: &FlowConfig,
    outcome: &FlowOutcome,
    table: Option<&FlowLabels>,
) -> FlowResult {
    let end = Instant::ZERO + run.duration;
    let hearing = table.and_then(|table| table.hearing);
    let is_ping = matches!(config.traffic, Traffic::Ping(_));
    let direction = config.traffic.direction();
    let [own, reverse] = [direction, direction.reverse()].map(|direction| {
        let Fates { sent, arrived, dropped } = outcome.fates[direction.index()];
        FlowPackets { sent, arrived, dropped }
    });
    FlowResult {
        id,
        kind: FlowKind::named(config.traffic.kind()),
        // The name in the scenario comes first: a profile may have a variant of its own.
        cc: match table {
            Some(table) => table.cc.clone(),
            None => config.traffic.congestion_control().map(str::to_owned),
        },
        direction,
        rtt_s: seconds(config.rtt),
        goodput_bps: per_second(outcome.tally.delivered, seconds(outcome.active)),
        delivery_rate_bps: outcome.delivery_rate.map(|rate| 8.0 * float(rate)),
        bytes_delivered: outcome.tally.delivered,
        packets_sent: own.sent,
        packets_arrived: own.arrived,
        packets_dropped: own.dropped,
        reverse,
        retransmits: outcome.tally.retransmits,
        timeouts: outcome.tally.timeouts,
        losses: losses(outcome, own.sent),
        startup_s: outcome.first_delivery.map(|at| seconds(at.since(config.start))),
        fct_s: outcome.tally.completed_at.map(|at| seconds(at.since(config.start))),
        label: table.and_then(|table| table.label.clone()),
        ping_s: is_ping.then(|| Box::new(of_flow(outcome).summary())),
        voip: hearing.map(|hearing| Box::new(voice::call(outcome.into(), hearing, end))),
        transfers: config.traffic.is_of_pieces().then(|| Box::new(summary_of_transfers(&outcome.transfers))),
        video: video::viewer(run, config, outcome).map(Box::new),
    }
}

fn losses(outcome: &FlowOutcome, sent: u64) -> Option<FlowLosses> {
    let sim::losses::FlowLosses { packets, events, span } = outcome.losses?;
    Some(FlowLosses {
        share: (sent > 0).then(|| float(packets) / float(sent)),
        events,
        packets_per_event: (events > 0).then(|| float(packets) / float(events)),
        // The span lies between the starts of the first and the last event, so it has one interval
        // less than there are events.
        interval_s: (events > 1).then(|| seconds(span) / float(events - 1)),
    })
}

/// All calls as one.
pub(super) fn calls(flows: &[FlowResult], outcome: &Outcome) -> Option<VoipResult> {
    let (calls, packets): (Vec<VoipResult>, Vec<Packets<'_>>) = flows
        .iter()
        .zip(&outcome.flows)
        .filter_map(|(flow, seen)| Some((flow.voip.as_deref()?.clone(), Packets::from(seen))))
        .unzip();
    voice::together(&calls, &packets)
}

/// Flows with congestion control take what the bottleneck leaves them: their goodput counts.
pub(super) const fn takes_the_rest(flow: &FlowResult) -> bool {
    flow.transport().controls_congestion()
}

pub(super) fn tcp_share(flows: &[FlowResult]) -> Option<f64> {
    let bytes = |wanted: fn(&FlowResult) -> bool| {
        float(flows.iter().filter(|flow| wanted(flow)).map(|flow| flow.bytes_delivered).sum())
    };
    let all = bytes(|_| true);
    (all > 0.0).then(|| bytes(|flow| flow.transport() == Transport::Tcp) / all)
}
