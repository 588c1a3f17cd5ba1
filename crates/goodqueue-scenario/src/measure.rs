//! The metrics of a run, from what the simulator counted.

mod delays;
mod fairness;
mod flow;
mod grade;
mod labels;
mod link;
mod ping;
mod series;
mod transfers;
mod video;
mod voice;
mod wifi;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use goodqueue::Instant;
use goodqueue_sim::{Config, Direction, Outcome};

use self::fairness::{fairness, group_fairness};
use self::flow::{calls, flow_result, takes_the_rest, tcp_share};
use self::link::{link_result, shared_queue, tc_stats};
use self::ping::{induced, responsiveness, round_trips, sent_and_lost};
use self::series::series_result;
use self::transfers::{completion, groups, web};
pub use crate::statistics::{exact_summary, float, histogram_summary, jain};
pub use grade::{
    CONVERSATION_RTT_S, GRADES, LATE_CAP, LOSS_CAPS, STARVED_CAP, VOICE_CAPS, grade, voice_cap,
    voice_cap_of_most,
};
pub use labels::{FlowLabels, Labels};

use crate::results::{
    Bottleneck, Engine, Fairness, FlowResult, HopResult, LinkResult, PerDirection, Probes, Run, Summary,
};
use crate::statistics::{per_second, seconds};

/// Returns the metrics of one run.
#[must_use]
pub fn run(labels: Labels, config: &Config, outcome: &Outcome) -> Run {
    let config = &*as_it_ended(config, outcome);
    let measured_s = seconds(outcome.measured);
    let flows = flows(&labels, config, outcome);
    let (induced_latency_s, probes) = probes(&flows, config, outcome);
    let link = |direction: Direction| {
        let of = direction.index();
        link_result(outcome.measured, &config.links[of], &outcome.links[of])
    };
    let down = link(Direction::Down);
    let up = link(Direction::Up);
    let hops = hops(labels.hops, config, outcome);
    Run {
        qdisc: labels.qdisc,
        qdisc_resolved: down.qdisc.clone(),
        sweep: labels.sweep,
        seed: config.seed,
        duration_s: measured_s,
        goodput: goodput(&flows, measured_s, takes_the_rest),
        goodput_by_kind: goodput_by_kind(&flows, measured_s),
        completion: completion(config, outcome),
        groups: groups(&labels.flows, config, outcome),
        // A run without pings has no grade.
        grade: induced_latency_s
            .mean
            .map(|mean| grade::of_run(mean, &probes, &flows, config, &outcome.links)),
        induced_latency_s,
        probes,
        fairness: Fairness { groups: group_fairness(&labels.flows, &flows), ..fairness(&flows) },
        loss_synchronization: PerDirection {
            down: outcome.synchronization[0],
            up: outcome.synchronization[1],
        },
        tcp_share: tcp_share(&flows),
        shared_queues: outcome.shared_queues.iter().map(|shared| shared_queue(shared, &hops)).collect(),
        engine: Engine {
            events: outcome.events,
            cpu_s: None,
            bottleneck_packets: outcome.bottleneck_packets,
            in_flight_packets: outcome.in_flight.packets,
        },
        tc_stats: Some(tc_stats(config, outcome, [&down, &up], &hops)),
        series: outcome.series.as_ref().map(|series| series_result(config, outcome, series)),
        bottleneck: Bottleneck { down, up },
        hops,
        wifi: config
            .wifi
            .as_ref()
            .zip(outcome.wifi.as_ref())
            .map(|(channel, seen)| Box::new(wifi::result(channel, seen, outcome.measured))),
        flows,
    }
}

/// Returns the configuration with the duration that the run had. What was on its way at the end of
/// a run is not lost, also if the run was stopped early.
fn as_it_ended<'c>(config: &'c Config, outcome: &Outcome) -> Cow<'c, Config> {
    if outcome.end == Instant::ZERO + config.duration {
        return Cow::Borrowed(config);
    }
    Cow::Owned(Config { duration: outcome.end.since(Instant::ZERO), ..config.clone() })
}

fn flows(labels: &Labels, config: &Config, outcome: &Outcome) -> Vec<FlowResult> {
    let named = labels.flows.iter().flat_map(|table| (0..table.count).map(move |_| table));
    (0_u32..)
        .zip(config.flows.iter().zip(&outcome.flows))
        .zip(named.map(Some).chain(std::iter::repeat(None)))
        .map(|((id, (flow, seen)), table)| flow_result(id, config, flow, seen, table))
        .collect()
}

/// Returns the sum of the goodput of the flows that `counts` accepts, for each direction.
fn goodput(flows: &[FlowResult], measured_s: f64, counts: impl Fn(&FlowResult) -> bool) -> PerDirection<f64> {
    let of = |direction: Direction| {
        let counted = flows.iter().filter(|flow| flow.direction == direction && counts(flow));
        per_second(counted.map(|flow| flow.bytes_delivered).sum(), measured_s)
    };
    PerDirection { down: of(Direction::Down), up: of(Direction::Up) }
}

fn goodput_by_kind(flows: &[FlowResult], measured_s: f64) -> BTreeMap<String, PerDirection<f64>> {
    let kinds: BTreeSet<&str> = flows.iter().map(|flow| flow.kind.name()).collect();
    let of_kind = |kind: &str| (kind.to_owned(), goodput(flows, measured_s, |flow| flow.kind.name() == kind));
    kinds.into_iter().map(of_kind).collect()
}

/// Returns the induced latency of the pings, and the metrics of all probes.
fn probes(flows: &[FlowResult], config: &Config, outcome: &Outcome) -> (Summary, Probes) {
    let times = round_trips(config, outcome);
    let (ping_sent, ping_lost) = sent_and_lost(config, outcome);
    let probes = Probes {
        ping_s: times.summary(),
        ping_sent,
        ping_lost,
        responsiveness_rpm: responsiveness(&times),
        voip: calls(flows, outcome).map(Box::new),
        web: web(config, outcome).map(Box::new),
        video: video::together(flows).map(Box::new),
    };
    (induced(config, outcome).summary(), probes)
}

fn hops(names: Vec<String>, config: &Config, outcome: &Outcome) -> Vec<HopResult> {
    let configured = config.before.iter().chain(&config.after);
    names
        .into_iter()
        .zip(configured.zip(&outcome.hops))
        .map(|(name, (hop, seen))| {
            let of = |direction: usize| -> LinkResult {
                link_result(outcome.measured, &hop.links[direction], &seen[direction])
            };
            HopResult { name, down: of(0), up: of(1) }
        })
        .collect()
}
