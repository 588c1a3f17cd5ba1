//! From what a simulation counted to the figures of a result.

mod transfers;
mod video;
mod voice;
mod wifi;

use std::collections::{BTreeMap, BTreeSet};

use goodqueue::config::Value;
use goodqueue::{DropReason, Duration, Instant, Stats};
use goodqueue_sim as sim;
use goodqueue_sim::FlowOutcome;
use goodqueue_sim::backlog::Spike;
use goodqueue_sim::link::LinkConfig;
use goodqueue_sim::network::Fates;
use goodqueue_sim::traffic::{OneWay, RoundTrip};
use goodqueue_sim::{Config, Direction, FlowConfig, LinkOutcome, Outcome, Traffic};
use goodqueue_tc as tc;
use hdrhistogram::Histogram;

use self::transfers::{completion, groups, is_of_pieces, summary_of_transfers, web};
use crate::results::{
    Bottleneck, Engine, Fairness, FlowLosses, FlowPackets, FlowResult, FlowSeries, GroupFairness, HopResult,
    LinkResult, MeanMax, Packets, PerDirection, Probes, Quantiles, QueueSeries, Run, Series, SharedQueue,
    SpikeResult, Summary, VoipResult,
};
use crate::scenario::Hearing;

/// What a run is called, beside what it measured.
#[derive(Clone, PartialEq, Debug)]
pub struct Labels {
    /// The discipline as given.
    pub qdisc: String,
    /// The swept keys and their values.
    pub sweep: BTreeMap<String, serde_json::Value>,
    /// The links in series with the bottleneck, in the order from the servers to the clients.
    pub hops: Vec<String>,
    /// The tables of flows.
    pub flows: Vec<FlowLabels>,
}

/// What the flows of one table are called, and how they are looked at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlowLabels {
    /// How many flows it has.
    pub count: u32,
    /// What results call them.
    pub label: Option<String>,
    /// How a call is heard.
    pub hearing: Option<Hearing>,
}

/// The figures of one run.
#[must_use]
pub fn run(labels: Labels, config: &Config, outcome: &Outcome) -> Run {
    let measured_s = seconds(outcome.measured);
    let named = labels.flows.iter().flat_map(|table| (0..table.count).map(move |_| table));
    let flows: Vec<FlowResult> = (0_u32..)
        .zip(config.flows.iter().zip(&outcome.flows))
        .zip(named.map(Some).chain(std::iter::repeat(None)))
        .map(|((id, (flow, seen)), table)| flow_result(id, config, flow, seen, table))
        .collect();
    let goodput = |direction: Direction, of: &dyn Fn(&FlowResult) -> bool| {
        let counted = flows.iter().filter(|flow| flow.direction == direction.name() && of(flow));
        per_second(counted.map(|flow| flow.bytes_delivered).sum(), measured_s)
    };
    let both_ways = |of: &dyn Fn(&FlowResult) -> bool| PerDirection {
        down: goodput(Direction::Down, of),
        up: goodput(Direction::Up, of),
    };
    let kinds: BTreeSet<&str> = flows.iter().map(|flow| flow.kind.as_str()).collect();
    let goodput_by_kind =
        kinds.into_iter().map(|kind| (kind.to_owned(), both_ways(&|flow| flow.kind == kind))).collect();
    let (pings, base_rtt) = pings(config, outcome);
    let induced: Vec<f64> = pings
        .iter()
        .zip(&base_rtt)
        .filter_map(|(ping, base)| Some((seconds(ping.time?) - base).max(0.0)))
        .collect();
    let induced_latency_s = exact_summary(&induced);
    let link = |direction: Direction| {
        let of = direction.index();
        link_result(outcome.measured, &config.links[of], &outcome.links[of])
    };
    let (down, up) = (link(Direction::Down), link(Direction::Up));
    let configured = config.before.iter().chain(&config.after);
    let hops: Vec<HopResult> = labels
        .hops
        .into_iter()
        .zip(configured.zip(&outcome.hops))
        .map(|(name, (hop, seen))| {
            let [down, up] = [0, 1].map(|of| link_result(outcome.measured, &hop.links[of], &seen[of]));
            HopResult { name, down, up }
        })
        .collect();
    let tc_stats = tc_stats(config, outcome, [&down, &up], &hops);
    Run {
        qdisc: labels.qdisc,
        qdisc_resolved: down.qdisc.clone(),
        sweep: labels.sweep,
        seed: config.seed,
        duration_s: measured_s,
        goodput: both_ways(&is_over_tcp),
        goodput_by_kind,
        completion: completion(config, outcome),
        groups: groups(&labels.flows, config, outcome),
        grade: induced_latency_s.mean.map(|mean| grade(mean).to_owned()),
        induced_latency_s,
        probes: Probes {
            ping_s: exact_summary(&answered(&pings)),
            ping_sent: pings.len() as u64,
            ping_lost: pings.iter().filter(|ping| is_lost(ping, config)).count() as u64,
            voip: calls(&flows, outcome),
            web: web(config, outcome),
            video: video::together(&flows),
        },
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
        tc_stats: Some(tc_stats),
        series: outcome.series.as_ref().map(|series| series_result(config, outcome, series)),
        bottleneck: Bottleneck { down, up },
        hops,
        wifi: config
            .wifi
            .as_ref()
            .zip(outcome.wifi.as_ref())
            .map(|(channel, seen)| wifi::result(channel, seen, outcome.measured)),
        flows,
    }
}

/// The letter that people know from speed tests, for the mean latency that load adds: A+ below 5
/// ms, A 30, B 60, C 200, D 400, F.
#[must_use]
pub fn grade(induced_s: f64) -> &'static str {
    match induced_s {
        s if s < 0.005 => "A+",
        s if s < 0.030 => "A",
        s if s < 0.060 => "B",
        s if s < 0.200 => "C",
        s if s < 0.400 => "D",
        _ => "F",
    }
}

/// Jain's index of fairness: (Σx)² / (nΣx²), 1 for equal shares, 1/n if one has all. `None` for
/// fewer than two shares or if nobody got anything.
#[must_use]
pub fn jain(shares: &[f64]) -> Option<f64> {
    let (sum, squares) = shares.iter().fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
    (shares.len() > 1 && squares > 0.0).then(|| sum * sum / (float(shares.len() as u64) * squares))
}

/// The figures of exact samples; percentiles by nearest rank.
#[must_use]
pub fn exact_summary(samples: &[f64]) -> Summary {
    let mut sorted: Vec<f64> = samples.iter().copied().filter(|sample| sample.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let at = |quantile: f64| sorted.get(nearest_rank(quantile, sorted.len())).copied();
    Summary {
        count: sorted.len() as u64,
        mean: (!sorted.is_empty()).then(|| sorted.iter().sum::<f64>() / float(sorted.len() as u64)),
        p25: at(0.25),
        p50: at(0.5),
        p75: at(0.75),
        p95: at(0.95),
        p99: at(0.99),
        max: sorted.last().copied(),
    }
}

/// Index of the sample with a share of at least `quantile` at or below it.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of a length is a length"
)]
fn nearest_rank(quantile: f64, len: usize) -> usize {
    ((quantile * float(len as u64)).ceil() as usize).saturating_sub(1)
}

/// The figures of a histogram of nanoseconds, whose exact mean is `mean` seconds.
#[must_use]
pub fn histogram_summary(histogram: &Histogram<u64>, mean: Option<f64>) -> Summary {
    if histogram.is_empty() {
        return Summary::default();
    }
    let at = |quantile| Some(nanos_to_s(histogram.value_at_quantile(quantile).min(histogram.max())));
    Summary {
        count: histogram.len(),
        mean,
        p25: at(0.25),
        p50: at(0.5),
        p75: at(0.75),
        p95: at(0.95),
        p99: at(0.99),
        max: Some(nanos_to_s(histogram.max())),
    }
}

fn flow_result(
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
        kind: config.traffic.kind().to_owned(),
        cc: config.traffic.congestion_control().map(str::to_owned),
        direction: direction.name().to_owned(),
        rtt_s: seconds(config.rtt),
        goodput_bps: per_second(outcome.tally.delivered, seconds(outcome.active)),
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
        ping_s: is_ping.then(|| exact_summary(&answered(&outcome.round_trips))),
        voip: hearing.map(|hearing| voice::call(&outcome.one_way, hearing, end)),
        transfers: is_of_pieces(&config.traffic).then(|| summary_of_transfers(&outcome.transfers)),
        video: video::viewer(run, config, outcome),
    }
}

fn losses(outcome: &FlowOutcome, sent: u64) -> Option<FlowLosses> {
    let sim::losses::FlowLosses { packets, events, span } = outcome.losses?;
    Some(FlowLosses {
        share: (sent > 0).then(|| float(packets) / float(sent)),
        events,
        packets_per_event: (events > 0).then(|| float(packets) / float(events)),
        interval_s: (events > 1).then(|| seconds(span) / float(events - 1)),
    })
}

/// All calls as one.
fn calls(flows: &[FlowResult], outcome: &Outcome) -> Option<VoipResult> {
    let (calls, packets): (Vec<VoipResult>, Vec<&[OneWay]>) = flows
        .iter()
        .zip(&outcome.flows)
        .filter_map(|(flow, seen)| Some((flow.voip.clone()?, seen.one_way.as_slice())))
        .unzip();
    voice::together(&calls, &packets)
}

/// Flows over TCP have a congestion control, others have none.
const fn is_over_tcp(flow: &FlowResult) -> bool {
    flow.cc.is_some()
}

fn link_result(measured: Duration, link_config: &LinkConfig, link: &LinkOutcome) -> LinkResult {
    LinkResult {
        qdisc: tc::to_tc(&link_config.qdisc),
        rate_bps: link.capacity.per_second(measured),
        utilization: link.sent.share_of(link.capacity),
        throughput_bps: link.sent.per_second(measured),
        sojourn_s: histogram_summary(&link.sojourn, link.sojourn_mean),
        queue_packets: MeanMax { mean: link.queue_mean, max: float(link.queue_max) },
        queue_share: match link_config.qdisc.to_settings().get("limit") {
            Some(Value::Packets(limit)) if limit > 0 => Some(link.queue_mean / float(limit)),
            Some(Value::Bytes(limit)) if limit > 0 => link.backlog_mean.map(|mean| mean / float(limit)),
            _ => None,
        },
        spikes: link.spikes.iter().map(spike).collect(),
        packets: packets(&link.stats),
        drops: drops(link),
    }
}

fn shared_queue(shared: &sim::SharedQueue, hops: &[HopResult]) -> SharedQueue {
    let hop = shared.hop.and_then(|hop| hops.get(hop));
    SharedQueue {
        flow: shared.flow,
        queue: hop.map_or_else(|| "bottleneck".to_owned(), |hop| hop.name.clone()),
        direction: shared.direction.name().to_owned(),
        with: shared.meetings.with.iter().copied().collect(),
        packets: shared.meetings.packets,
        met: shared.meetings.met,
    }
}

fn packets(stats: &Stats) -> Packets {
    Packets {
        offered: stats.offered.packets,
        enqueued: stats.enqueued.packets,
        dequeued: stats.dequeued.packets,
        dropped: stats.dropped().packets,
        marked: stats.marked.packets,
    }
}

fn drops(link: &LinkOutcome) -> BTreeMap<String, u64> {
    let occurred = DropReason::ALL.iter().filter(|why| link.drops[why.index()] > 0);
    occurred.map(|why| (why.name().to_owned(), link.drops[why.index()])).collect()
}

/// All queues as tc prints those of several devices: the bottleneck's two are `down` and `up`,
/// those of a hop have its name in front.
fn tc_stats(
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

/// All pings of all ping flows, and the base round-trip time in seconds of each.
fn pings(config: &Config, outcome: &Outcome) -> (Vec<RoundTrip>, Vec<f64>) {
    config
        .flows
        .iter()
        .zip(&outcome.flows)
        .flat_map(|(flow, result)| {
            result.round_trips.iter().map(|ping| (*ping, seconds(config.base_rtt(flow))))
        })
        .unzip()
}

fn answered(pings: &[RoundTrip]) -> Vec<f64> {
    pings.iter().filter_map(|ping| ping.time).map(seconds).collect()
}

/// No answer, although there would have been 10 s for it before the run ended (those sent later may
/// be on their way).
fn is_lost(ping: &RoundTrip, config: &Config) -> bool {
    let end = Instant::ZERO + config.duration;
    ping.time.is_none() && end.since(ping.sent_at) > Duration::from_secs(10).min(config.duration)
}

fn fairness(flows: &[FlowResult]) -> Fairness {
    let goodputs = |direction: Direction| -> Vec<f64> {
        let of = flows.iter().filter(|flow| flow.kind == "tcp" && flow.direction == direction.name());
        of.map(|flow| flow.goodput_bps).collect()
    };
    let (down, up) = (goodputs(Direction::Down), goodputs(Direction::Up));
    let tcp = || flows.iter().filter(|flow| flow.kind == "tcp" && flow.packets_sent > 0);
    let dropped = float(tcp().map(|flow| flow.packets_dropped).sum());
    let sent = float(tcp().map(|flow| flow.packets_sent).sum());
    // Share of drops in proportion to share of packets sent (Nichols & Jacobson 2012, Fig. 9).
    let shares: Vec<f64> = tcp()
        .map(|flow| (float(flow.packets_dropped) / dropped) / (float(flow.packets_sent) / sent))
        .collect();
    Fairness {
        jain_goodput: jain(if down.is_empty() { &up } else { &down }),
        jain_goodput_up: jain(&up),
        jain_drop_share: if dropped > 0.0 { jain(&shares) } else { None },
        groups: Vec::new(),
    }
}

/// Of each table with several TCP flows.
fn group_fairness(tables: &[FlowLabels], flows: &[FlowResult]) -> Vec<GroupFairness> {
    let mut rest = flows;
    let mut groups = Vec::new();
    for (number, table) in tables.iter().enumerate() {
        let (own, others) = rest.split_at((table.count as usize).min(rest.len()));
        rest = others;
        if own.len() > 1 && own[0].kind == "tcp" {
            let goodputs: Vec<f64> = own.iter().map(|flow| flow.goodput_bps).collect();
            groups.push(GroupFairness {
                group: table.label.clone().unwrap_or_else(|| number.to_string()),
                flows: table.count,
                jain_goodput: jain(&goodputs),
            });
        }
    }
    groups
}

fn tcp_share(flows: &[FlowResult]) -> Option<f64> {
    let bytes = |wanted: fn(&FlowResult) -> bool| {
        float(flows.iter().filter(|flow| wanted(flow)).map(|flow| flow.bytes_delivered).sum())
    };
    let all = bytes(|_| true);
    (all > 0.0).then(|| bytes(is_over_tcp) / all)
}

fn series_result(config: &Config, outcome: &Outcome, series: &goodqueue_sim::Series) -> Series {
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
    // Flow by flow so far; a series is in the order of time.
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

fn per_second(bytes: u64, span_s: f64) -> f64 {
    if span_s > 0.0 { float(bytes) * 8.0 / span_s } else { 0.0 }
}

fn seconds(span: Duration) -> f64 {
    nanos_to_s(span.as_nanos())
}

fn nanos_to_s(nanos: u64) -> f64 {
    float(nanos) / 1e9
}

/// A count as a floating-point number.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "results are given in floating point; counts stay below 2^53")]
pub const fn float(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jain_index_follows_its_examples() {
        // Examples after Jain, Chiu & Hawe 1984.
        for (shares, index) in [
            (vec![1.0; 4], 1.0),
            (vec![1.0, 0.0, 0.0, 0.0], 0.25),
            (vec![10.0, 5.0], 0.9),
            (vec![4.0, 2.0, 1.0, 1.0], 64.0 / 88.0),
        ] {
            assert!((jain(&shares).expect("two or more") - index).abs() < 1e-12, "{shares:?}");
        }
        assert_eq!((jain(&[1.0]), jain(&[0.0, 0.0]), jain(&[])), (None, None, None));
    }

    #[test]
    fn percentiles_are_nearest_ranks() {
        let hundred: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        let summary = exact_summary(&hundred);
        assert_eq!(
            (summary.p25, summary.p50, summary.p95, summary.p99),
            (Some(25.0), Some(50.0), Some(95.0), Some(99.0))
        );
        assert_eq!((summary.mean, summary.max, summary.count), (Some(50.5), Some(100.0), 100));
        let one = exact_summary(&[7.0]);
        assert_eq!((one.p25, one.p99, one.max), (Some(7.0), Some(7.0), Some(7.0)));
        assert_eq!(exact_summary(&[]), Summary::default());
        assert_eq!(exact_summary(&[f64::NAN]).count, 0);
    }

    #[test]
    fn grades_change_at_their_bounds() {
        let at = [0.0049, 0.005, 0.0299, 0.03, 0.06, 0.2, 0.4].map(grade);
        assert_eq!(at, ["A+", "A", "A", "B", "C", "D", "F"]);
    }
}
