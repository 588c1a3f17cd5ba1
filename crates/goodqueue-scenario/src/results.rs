//! The result of runs, as written to JSON and drawn by the report.
//!
//! Units are SI base units: seconds, bits per second, bytes. Names are stable. A figure for which
//! there is no sample is `null`, never 0.

use std::collections::BTreeMap;

use goodqueue_sim::Direction;
use serde::{Deserialize, Serialize};

use crate::measure::float;

/// All runs of a scenario.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Results {
    /// Version of goodqueue that ran them.
    pub goodqueue: String,
    /// The scenario as resolved, with every default filled in.
    pub scenario: serde_json::Value,
    /// One entry per discipline, sweep point and seed, in that order.
    pub runs: Vec<Run>,
    /// Mean and confidence interval of every figure over the seeds, for each discipline and sweep
    /// point; absent with one seed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub summary: Vec<crate::summary::Aggregate>,
}

/// One discipline, one seed.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Run {
    /// The discipline as given.
    pub qdisc: String,
    /// The same in tc's grammar with every parameter, as it sits on the down link.
    pub qdisc_resolved: String,
    /// The swept keys and their values in this run; absent without a sweep.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sweep: BTreeMap<String, serde_json::Value>,
    /// Seed of this run.
    pub seed: u64,
    /// Simulated time measured, after the warm-up.
    pub duration_s: f64,
    /// The two directions of the bottleneck.
    pub bottleneck: Bottleneck,
    /// The links in series with it, in the order from the servers to the clients; absent without
    /// any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hops: Vec<HopResult>,
    /// The WiFi channel; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wifi: Option<WifiResult>,
    /// Every flow, in the order of the scenario.
    pub flows: Vec<FlowResult>,
    /// Groups of short transfers: tables of the scenario with several TCP flows of given size;
    /// absent without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupResult>,
    /// Sum of the goodput of all flows over TCP per direction.
    pub goodput: PerDirection<f64>,
    /// The same of each kind of flow, over TCP or not.
    #[serde(default)]
    pub goodput_by_kind: BTreeMap<String, PerDirection<f64>>,
    /// Flow completion times: of sized TCP flows and of the transfers of users; web pages are under
    /// `probes`. Absent without such traffic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion: Option<Transfers>,
    /// Ping round-trip time less the base round-trip time, over all pings.
    pub induced_latency_s: Summary,
    /// Letter for the latency under load: A+ below 5 ms of mean induced latency, A 30, B 60, C 200,
    /// D 400, F above.
    pub grade: Option<String>,
    /// What the probes saw.
    pub probes: Probes,
    /// Jain's indices.
    pub fairness: Fairness,
    /// Share of the TCP flows without end that lose packets in the same congestion period, mean
    /// over the periods (RFC 7928 §2.4): 1 if all slow down together, 1/n if one at a time. A
    /// period begins with a drop and lasts for the longest base round-trip time of these flows.
    /// `null` without a drop, or with fewer than two such flows.
    #[serde(default)]
    pub loss_synchronization: PerDirection<Option<f64>>,
    /// The share of flows over TCP in the bytes delivered by all flows.
    pub tcp_share: Option<f64>,
    /// Probes that a hash put into one queue with another flow: the delays that they measured are
    /// not those of a flow by itself. Absent if there was none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared_queues: Vec<SharedQueue>,
    /// What the run cost.
    pub engine: Engine,
    /// All queues at the end of the run as `tc -s -j qdisc show` prints them; left out of JSON
    /// unless asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tc_stats: Option<Vec<serde_json::Value>>,
    /// Time series and distributions; left out of JSON unless asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<Series>,
}

impl Run {
    /// Mean of the response times of the groups; `None` without groups, or if one did not complete.
    #[must_use]
    pub fn mean_response_s(&self) -> Option<f64> {
        let times: Option<Vec<f64>> = self.groups.iter().map(|group| group.response_s).collect();
        crate::measure::exact_summary(&times?).mean
    }

    /// The longest of them.
    #[must_use]
    pub fn max_response_s(&self) -> Option<f64> {
        let times: Option<Vec<f64>> = self.groups.iter().map(|group| group.response_s).collect();
        crate::measure::exact_summary(&times?).max
    }

    /// Loss events of a TCP flow `down` or `up`, mean over these flows; `None` without any, or if
    /// nobody watched.
    #[must_use]
    pub fn loss_events(&self, direction: &str) -> Option<f64> {
        let events: Option<Vec<f64>> =
            self.tcp(direction).map(|flow| flow.losses.map(|losses| float(losses.events))).collect();
        crate::measure::exact_summary(&events?).mean
    }

    /// Packets dropped in a loss event of these flows, mean over the events; `None` without any.
    #[must_use]
    pub fn packets_per_loss_event(&self, direction: &str) -> Option<f64> {
        let losses = || self.tcp(direction).filter_map(|flow| flow.losses);
        let events: f64 = losses().map(|losses| float(losses.events)).sum();
        let packets: f64 = losses().filter_map(|of| Some(float(of.events) * of.packets_per_event?)).sum();
        (events > 0.0).then(|| packets / events)
    }

    /// The queues beside those of the bottleneck: what they are called, and the time in them, down
    /// and up. Those of hops, then the one of the WiFi channel; what takes no time at all is left
    /// out.
    #[must_use]
    pub fn other_queues(&self) -> Vec<(&str, PerDirection<&Summary>)> {
        let hops = self.hops.iter().map(|hop| {
            let (down, up) = (&hop.down.sojourn_s, &hop.up.sojourn_s);
            (hop.name.as_str(), PerDirection { down, up })
        });
        let air = self.wifi.iter().map(|wifi| {
            let (down, up) = (&wifi.down.sojourn_s, &wifi.up.sojourn_s);
            ("WiFi", PerDirection { down, up })
        });
        let takes_time = |both: &PerDirection<&Summary>| {
            [both.down, both.up].into_iter().any(|sojourn| sojourn.max.is_some_and(|longest| longest > 0.0))
        };
        hops.chain(air).filter(|(_, both)| takes_time(both)).collect()
    }

    fn tcp<'r>(&'r self, direction: &'r str) -> impl Iterator<Item = &'r FlowResult> {
        self.flows.iter().filter(move |flow| flow.cc.is_some() && flow.direction == direction)
    }
}

/// A probe (a ping, a call) whose packets waited in one queue with those of another flow, under a
/// discipline that keeps flows apart by a hash.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct SharedQueue {
    /// The probe, by its number.
    pub flow: u32,
    /// Where: `bottleneck`, or the name of a hop.
    pub queue: String,
    /// `down` or `up`.
    pub direction: String,
    /// The flows that it met there, by their numbers.
    pub with: Vec<u32>,
    /// Packets of the probe that came to this queue.
    pub packets: u64,
    /// Of them, those that found a packet of another flow in their queue.
    pub met: u64,
}

/// A value for each direction.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct PerDirection<T> {
    /// Towards the client.
    pub down: T,
    /// From the client.
    pub up: T,
}

impl<T> PerDirection<T> {
    /// Returns the value of this direction.
    pub const fn get(&self, direction: Direction) -> &T {
        match direction {
            Direction::Down => &self.down,
            Direction::Up => &self.up,
        }
    }
}

/// The two directions of the bottleneck.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Bottleneck {
    /// Towards the client.
    pub down: LinkResult,
    /// From the client.
    pub up: LinkResult,
}

impl Bottleneck {
    /// Returns the link of this direction.
    #[must_use]
    pub const fn link(&self, direction: Direction) -> &LinkResult {
        match direction {
            Direction::Down => &self.down,
            Direction::Up => &self.up,
        }
    }
}

/// A link in series with the bottleneck.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct HopResult {
    /// What the scenario calls it.
    pub name: String,
    /// Towards the client.
    pub down: LinkResult,
    /// From the client.
    pub up: LinkResult,
}

/// A WiFi channel.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct WifiResult {
    /// The access point's queue.
    pub down: WifiQueueResult,
    /// Those of the clients together.
    pub up: WifiQueueResult,
    /// The clients, in the order of the scenario.
    pub stations: Vec<StationResult>,
}

/// The queue above a driver, or in the MAC.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct WifiQueueResult {
    /// The discipline, every parameter in tc's grammar; absent where the MAC queues.
    pub qdisc: Option<String>,
    /// Bits of packets, link header included, that arrived over the air per second; a packet counts
    /// when it arrives.
    pub throughput_bps: f64,
    /// Time that packets spent in this queue; what follows in the driver and the air is not in it.
    pub sojourn_s: Summary,
    /// Packets queued: mean over time, and maximum.
    pub queue_packets: MeanMax,
    /// Packet counters.
    pub packets: Packets,
    /// Dropped packets by reason, `lost` in the air included; only reasons that occurred.
    pub drops: BTreeMap<String, u64>,
}

impl WifiResult {
    /// Jain's index of the airtime of the stations; `None` with fewer than two, or if none sent
    /// anything.
    #[must_use]
    pub fn jain_airtime(&self) -> Option<f64> {
        let shares: Vec<f64> = self.stations.iter().filter_map(|station| station.airtime_share).collect();
        crate::measure::jain(&shares)
    }
}

/// A client of a WiFi channel.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct StationResult {
    /// Its number, from 1.
    pub client: u32,
    /// Its share of the time that all stations spent in the air, both directions.
    pub airtime_share: Option<f64>,
    /// Its radio link towards it.
    pub down: RadioResult,
    /// And from it.
    pub up: RadioResult,
}

/// What a radio link did in one direction.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct RadioResult {
    /// Seconds in the air, answers included, of the time measured.
    pub airtime_s: f64,
    /// Transmissions.
    pub transmissions: u64,
    /// Of them, those that collided.
    pub collisions: u64,
    /// MPDUs in a transmission, mean.
    pub aggregate: Option<f64>,
    /// MPDUs that were sent and did not arrive.
    pub lost: u64,
    /// Packets given up.
    pub given_up: u64,
}

/// What one direction of a link did.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct LinkResult {
    /// The discipline on it, every parameter in tc's grammar.
    pub qdisc: String,
    /// Mean rate over the time measured (of the schedule or trace, where there is one; a packet on
    /// the wire keeps its rate).
    pub rate_bps: f64,
    /// Throughput as a fraction of that rate, from 0 to 1.
    pub utilization: Option<f64>,
    /// Bits on the wire per second. A packet that was half sent when the measurement began or ended
    /// counts half.
    pub throughput_bps: f64,
    /// Time that transmitted packets spent in the queue.
    pub sojourn_s: Summary,
    /// Packets queued: mean over time, and maximum.
    pub queue_packets: MeanMax,
    /// Mean backlog as a share of the discipline's `limit`, in the unit of that (E\[Q\]/Qmax);
    /// `null` if it has none.
    #[serde(default)]
    pub queue_share: Option<f64>,
    /// How long the queue held more than so many bytes; absent unless asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spikes: Vec<SpikeResult>,
    /// Packet counters.
    pub packets: Packets,
    /// Dropped packets by reason; only reasons that occurred.
    pub drops: BTreeMap<String, u64>,
}

/// Time for which a queue held more than so many bytes.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct SpikeResult {
    /// The queue held more bytes than these.
    pub above_bytes: u64,
    /// The longest time without a break: the duration of a delay spike (Järvinen & Kojo 2014).
    pub longest_s: f64,
    /// All such time.
    pub total_s: f64,
}

/// A mean and a maximum.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct MeanMax {
    /// Mean.
    pub mean: f64,
    /// Maximum.
    pub max: f64,
}

/// Packet counters of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Packets {
    /// Arrived.
    pub offered: u64,
    /// Accepted.
    pub enqueued: u64,
    /// Transmitted.
    pub dequeued: u64,
    /// Dropped, before or after being queued.
    pub dropped: u64,
    /// Marked CE by the discipline.
    pub marked: u64,
}

/// A distribution in figures; all `null` without a sample.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Summary {
    /// Samples.
    pub count: u64,
    /// Mean.
    pub mean: Option<f64>,
    /// Lower quartile.
    pub p25: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// Upper quartile.
    pub p75: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// Largest.
    pub max: Option<f64>,
}

/// What one flow got.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct FlowResult {
    /// Number in the scenario, from 0.
    pub id: u32,
    /// `tcp`, `ping`, `cbr`, ...
    pub kind: String,
    /// Congestion control; absent for flows without one.
    pub cc: Option<String>,
    /// `down` or `up`.
    pub direction: String,
    /// Base round-trip time.
    pub rtt_s: f64,
    /// In-order payload per second at the receiver, over the part of the measured time in which the
    /// flow was active.
    pub goodput_bps: f64,
    /// In-order payload delivered in the measured time.
    pub bytes_delivered: u64,
    /// Packets sent in the direction of its data (of a ping, its requests), retransmissions
    /// included. Each has arrived, was dropped, or is on its way; a copy that a path makes counts
    /// nowhere.
    pub packets_sent: u64,
    /// Packets in that direction that arrived.
    #[serde(default)]
    pub packets_arrived: u64,
    /// Packets in that direction that a queue dropped or the air lost.
    pub packets_dropped: u64,
    /// Packets in the other direction: acknowledgements, requests, answers to pings.
    #[serde(default)]
    pub reverse: FlowPackets,
    /// Segments retransmitted.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// How its data was lost at queues (RFC 7928 §2.3); `null` if nobody watched, as in a live run.
    #[serde(default)]
    pub losses: Option<FlowLosses>,
    /// From the start to the first byte at the receiver (RFC 7928 §2.2); `null` unless it is a
    /// single TCP connection that got so far.
    #[serde(default)]
    pub startup_s: Option<f64>,
    /// Flow completion time, first SYN to last byte acknowledged; `null` if it did not complete.
    pub fct_s: Option<f64>,
    /// What the scenario calls it; absent if nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Round-trip time of its probes; absent for flows that are no ping.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ping_s: Option<Summary>,
    /// What a call sounded like; absent for flows that are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voip: Option<VoipResult>,
    /// What it transferred piece by piece; absent for flows that are one piece.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfers: Option<Transfers>,
    /// What a viewer of adaptive video saw; absent for other flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub video: Option<VideoResult>,
}

/// Packets of a flow in one direction. Each that was sent has arrived, was dropped, or is on its
/// way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct FlowPackets {
    /// Sent.
    pub sent: u64,
    /// Arrived.
    pub arrived: u64,
    /// Dropped by a queue, or lost in the air.
    pub dropped: u64,
}

/// Transfers that began in the time measured, and how long they took.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Transfers {
    /// Begun.
    pub begun: u64,
    /// Of those, complete at the end of the run.
    pub completed: u64,
    /// Time of the complete ones, from the first packet to the last byte.
    pub time_s: Summary,
}

/// A group of transfers side by side (Järvinen & Kojo 2014).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct GroupResult {
    /// Number of the table among the scenario's flows, from 0.
    pub table: u32,
    /// Its flows.
    pub flows: u32,
    /// Of those, complete at the end of the run.
    pub completed: u32,
    /// From the first SYN to the last byte acknowledged; `null` if a flow did not complete.
    pub response_s: Option<f64>,
}

/// How the packets of a flow were dropped, of those in the direction of its data.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct FlowLosses {
    /// Dropped per packet sent.
    pub share: Option<f64>,
    /// Loss events: drops within a base round-trip time of the first of them are one (RFC 5348
    /// §5.2).
    pub events: u64,
    /// Drops per event: 1 if packets are lost one by one.
    pub packets_per_event: Option<f64>,
    /// Time between the beginnings of two events, mean.
    pub interval_s: Option<f64>,
}

/// What the probes saw.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Probes {
    /// Round-trip time of the pings.
    pub ping_s: Summary,
    /// Pings sent and lost.
    pub ping_sent: u64,
    /// Pings without an answer.
    pub ping_lost: u64,
    /// All voice calls together; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voip: Option<VoipResult>,
    /// What browsers saw; absent without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub web: Option<WebProbe>,
    /// What viewers of adaptive video saw, all together; absent without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub video: Option<VideoResult>,
}

/// Adaptive video, in the time measured.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct VideoResult {
    /// Segments that were asked for and are complete.
    pub segments: u64,
    /// Their bit rate, mean.
    pub bitrate_bps: Option<f64>,
    /// Segments of another bit rate than the one before.
    pub switches: u64,
    /// Times that the buffer was empty, after showing had begun.
    pub stalls: u64,
    /// Length of all of them together.
    pub stalled_s: f64,
    /// From the start of the flow until showing began, whenever that was; `null` if it did not.
    pub shown_after_s: Option<f64>,
}

/// Voice calls. Packets that may still have been on their way when the run ended count nowhere.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct VoipResult {
    /// Packets sent.
    pub sent: u64,
    /// Packets that never arrived.
    pub lost: u64,
    /// Their share.
    pub loss: Option<f64>,
    /// Packets that arrived too late for the de-jitter buffer; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late: Option<u64>,
    /// Whether packets were lost one by one or in a row.
    pub loss_pattern: LossPattern,
    /// Time from end to end.
    pub one_way_delay_s: Summary,
    /// The same less that of the fastest packet of the call (packet delay variation, RFC 5481
    /// §4.2).
    pub delay_variation_s: Summary,
    /// Interarrival jitter (RFC 3550 §6.4.1), mean over the packets.
    pub jitter_s: Option<f64>,
    /// Mean opinion score by the E-model (ITU-T G.107) for G.711, 1 to 4.5: of the mean delay one
    /// way and the loss, or, with a de-jitter buffer, of that buffer's delay and of all packets
    /// that are lost or late. Time to encode and to collect a packet is not added.
    pub mos: Option<f64>,
}

/// How losses follow each other (RFC 3357).
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct LossPattern {
    /// Runs of packets lost in a row; a single loss is a run of 1.
    pub runs: u64,
    /// Their mean length in packets.
    pub mean_run: Option<f64>,
    /// The longest.
    pub longest_run: u64,
    /// Packets from the beginning of a run to that of the next, in the mean.
    pub mean_distance: Option<f64>,
}

/// What browsers saw.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct WebProbe {
    /// Page fetches begun in the time measured.
    pub pages: u64,
    /// Of those, complete at the end of the run.
    pub completed: u64,
    /// Requests of the complete ones: one for each object.
    #[serde(default)]
    pub requests: u64,
    /// Payload of their objects in bytes.
    #[serde(default)]
    pub bytes: u64,
    /// Time of the complete ones, from the query for the name to the last byte of the last object.
    pub page_fetch_s: Summary,
}

/// Jain's fairness indices (Jain, Chiu & Hawe 1984); `null` with fewer than two flows.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Fairness {
    /// Over the goodput of the TCP flows down (up, if none goes down).
    pub jain_goodput: Option<f64>,
    /// Over the goodput of the TCP flows up.
    pub jain_goodput_up: Option<f64>,
    /// Over each flow's share of drops relative to its share of packets.
    pub jain_drop_share: Option<f64>,
    /// Over the goodput of the flows of each `[[flows]]` table that has several TCP flows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupFairness>,
}

/// Fairness among flows that are alike.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct GroupFairness {
    /// What the scenario calls them, or the number of their table, from 0.
    pub group: String,
    /// How many they are.
    pub flows: u32,
    /// Jain's index of their goodput.
    pub jain_goodput: Option<f64>,
}

/// What a run cost.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Engine {
    /// Events handled.
    pub events: u64,
    /// CPU seconds; `null` unless timing was asked for, because it differs from run to run.
    pub cpu_s: Option<f64>,
    /// Packets that left the two bottleneck queues.
    pub bottleneck_packets: u64,
    /// Packets that were queued or on their way when the run ended.
    #[serde(default)]
    pub in_flight_packets: u64,
}

/// Time series on a common clock, and distributions.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Series {
    /// Length of a step: sample `i` covers `[i, i + 1) * step_s` of simulated time.
    pub step_s: f64,
    /// Series of the two queues.
    pub queues: PerDirection<QueueSeries>,
    /// Goodput per step and flow (TCP flows only), in bit/s.
    pub goodput_bps: Vec<FlowSeries>,
    /// Each ping: when it was sent, and its round-trip time (`null`: lost).
    pub pings: Vec<(f64, Option<f64>)>,
    /// Quantiles of ping RTT and of the sojourn times, at `QUANTILES`.
    pub quantiles: Quantiles,
}

/// One queue over time. `null`: no packet left in this step.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct QueueSeries {
    /// Mean sojourn time of the packets that left in the step.
    pub sojourn_mean_s: Vec<Option<f64>>,
    /// Longest of them.
    pub sojourn_max_s: Vec<Option<f64>>,
    /// Packets queued at the end of the step.
    pub queue_packets: Vec<f64>,
    /// Bits sent per second.
    pub throughput_bps: Vec<f64>,
    /// Packets dropped in the step.
    pub drops: Vec<u64>,
}

/// One flow over time.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct FlowSeries {
    /// The flow.
    pub id: u32,
    /// Its values.
    pub values: Vec<f64>,
}

/// Distributions as quantile functions; empty without a sample.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Quantiles {
    /// The probabilities, ascending, from 0 to 1.
    pub probabilities: Vec<f64>,
    /// Sojourn time on the down link at each.
    pub sojourn_down_s: Vec<f64>,
    /// Sojourn time on the up link at each.
    pub sojourn_up_s: Vec<f64>,
    /// Ping round-trip time at each.
    pub ping_s: Vec<f64>,
}
