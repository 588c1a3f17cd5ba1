//! The result of one run.

use std::collections::BTreeMap;

use goodqueue_sim::Direction;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::flow::{FlowResult, GroupResult, Transfers};
use super::link::{HopResult, LinkResult, PerDirection};
use super::probes::Probes;
use super::series::Series;
use super::wifi::WifiResult;
use super::words::{DirectionWord, Grade};
use crate::statistics::{Summary, exact_summary, float};

/// Name of the queue of a WiFi channel in the keys of metrics.
pub const WIFI_QUEUE: &str = "WiFi";

/// One discipline, one seed.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// The discipline as given.
    pub qdisc: String,
    /// The discipline of the down link with every parameter, in tc's grammar.
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
    pub wifi: Option<Box<WifiResult>>,
    /// Every flow, in the order of the scenario.
    pub flows: Vec<FlowResult>,
    /// Groups of short transfers: tables of the scenario with several TCP flows of given size;
    /// absent without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupResult>,
    /// Sum of the goodput of all flows of TCP and QUIC per direction.
    pub goodput: PerDirection<f64>,
    /// The same of each kind of flow, also over UDP.
    #[serde(default)]
    pub goodput_by_kind: BTreeMap<String, PerDirection<f64>>,
    /// Flow completion times: of sized TCP flows and of the transfers of users; web pages are under
    /// `probes`. Absent without such traffic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion: Option<Transfers>,
    /// Ping round-trip time minus the base round-trip time, over all pings.
    pub induced_latency_s: Summary,
    /// Letter for the latency under load: A+ below 5 ms of mean induced latency, A 30, B 60, C 200,
    /// D 400, F above. It is B at best if more than 1 % of the pings are lost, and C at best if
    /// more than 3 % are, or if the queue drops packets and its link is used less than half of the
    /// time in which endless TCP flows of its direction are active. It is B, C or D at best if
    /// calls have a mean opinion score below 4.03, 3.60 or 3.10, and C at best if more than 5 % of
    /// the pings take longer than 300 ms, unless the line alone is as bad for calls.
    pub grade: Option<Grade>,
    /// Measurements of the probes.
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
    /// Probes that a hash put into one queue with another flow, so that they measured the delay of
    /// a shared queue. Absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared_queues: Vec<SharedQueue>,
    /// Cost of the run.
    pub engine: Engine,
    /// All queues at the end of the run as `tc -s -j qdisc show` prints them; absent in JSON unless
    /// requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tc_stats: Option<Vec<serde_json::Value>>,
    /// Time series and distributions; absent in JSON unless requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<Series>,
}

impl Run {
    /// Returns the point of the sweep as text: the swept keys and their values, without the
    /// disciplines.
    #[must_use]
    pub fn point(&self) -> String {
        // Points are keys of maps, and JSON values have no order.
        serde_json::json!(self.swept().collect::<Vec<_>>()).to_string()
    }

    /// Returns the swept keys and their values, without the disciplines.
    pub fn swept(&self) -> impl Iterator<Item = (&String, &serde_json::Value)> {
        // Each run names its discipline in `qdisc`. Runs that differ only in it are compared.
        self.sweep.iter().filter(|(key, _)| *key != "qdiscs")
    }

    /// Returns the mean response time of the groups, or `None` without groups or if a group did not
    /// complete.
    #[must_use]
    pub fn mean_response_s(&self) -> Option<f64> {
        let times: Option<Vec<f64>> = self.groups.iter().map(|group| group.response_s).collect();
        exact_summary(&times?).mean
    }

    /// Returns the longest response time of the groups.
    #[must_use]
    pub fn max_response_s(&self) -> Option<f64> {
        let times: Option<Vec<f64>> = self.groups.iter().map(|group| group.response_s).collect();
        exact_summary(&times?).max
    }

    /// Returns the mean number of loss events of the flows of TCP and QUIC in this direction, or
    /// `None` without such flows or in a live run.
    #[must_use]
    pub fn loss_events(&self, direction: Direction) -> Option<f64> {
        let events: Option<Vec<f64>> =
            self.responsive(direction).map(|flow| flow.losses.map(|losses| float(losses.events))).collect();
        exact_summary(&events?).mean
    }

    /// Returns the mean number of packets dropped in a loss event of these flows, or `None` without
    /// events.
    #[must_use]
    pub fn packets_per_loss_event(&self, direction: Direction) -> Option<f64> {
        let losses = || self.responsive(direction).filter_map(|flow| flow.losses);
        let events: f64 = losses().map(|losses| float(losses.events)).sum();
        // Results hold the quotient only.
        let packets: f64 = losses().filter_map(|of| Some(float(of.events) * of.packets_per_event?)).sum();
        (events > 0.0).then(|| packets / events)
    }

    /// Returns the queues outside the bottleneck with their names and sojourn times: first the
    /// hops, then the WiFi channel. Queues in which no packet waited are omitted.
    #[must_use]
    pub fn other_queues(&self) -> Vec<(&str, PerDirection<&Summary>)> {
        let hops = self.hops.iter().map(|hop| {
            let down = &hop.down.sojourn_s;
            let up = &hop.up.sojourn_s;
            (hop.name.as_str(), PerDirection { down, up })
        });
        let air = self.wifi.iter().map(|wifi| {
            let down = &wifi.down.sojourn_s;
            let up = &wifi.up.sojourn_s;
            (WIFI_QUEUE, PerDirection { down, up })
        });
        let takes_time = |both: &PerDirection<&Summary>| {
            [both.down, both.up].into_iter().any(|sojourn| sojourn.max.is_some_and(|longest| longest > 0.0))
        };
        hops.chain(air).filter(|(_, both)| takes_time(both)).collect()
    }

    /// Returns the share of packets in this direction that were dropped in any
    /// queue or in the air, or `None` if no packet was sent.
    #[must_use]
    pub fn loss_share(&self, direction: Direction) -> Option<f64> {
        let is_down = direction == Direction::Down;
        let of = |both: &PerDirection<u64>| if is_down { both.down } else { both.up };
        let link = self.bottleneck.link(direction);
        let hops = self
            .hops
            .iter()
            .map(|hop| of(&PerDirection { down: hop.down.packets.dropped, up: hop.up.packets.dropped }));
        let air = self
            .wifi
            .iter()
            .map(|air| of(&PerDirection { down: air.down.packets.dropped, up: air.up.packets.dropped }));
        let dropped = link.packets.dropped + hops.chain(air).sum::<u64>();
        // Packets that are still queued have no fate yet, so the arrivals would be too many.
        let all = dropped + link.packets.dequeued;
        (all > 0).then(|| float(dropped) / float(all))
    }

    fn responsive(&self, direction: Direction) -> impl Iterator<Item = &FlowResult> {
        self.flows
            .iter()
            .filter(move |flow| flow.transport().controls_congestion() && flow.direction == direction)
    }
}

/// A probe (a ping, a call) whose packets waited in one queue with those of another flow, under a
/// discipline that keeps flows apart by a hash.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct SharedQueue {
    /// Number of the probe's flow.
    pub flow: u32,
    /// Queue: `bottleneck` or the name of a hop.
    pub queue: String,
    /// Direction of the packets in this queue.
    #[serde(with = "DirectionWord")]
    pub direction: Direction,
    /// Numbers of the flows that shared the queue.
    pub with: Vec<u32>,
    /// Packets of the probe that arrived at this queue.
    pub packets: u64,
    /// Number of these packets that found a packet of another flow in their queue.
    pub met: u64,
}

/// The two directions of the bottleneck.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
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

/// Jain's fairness indices (Jain, Chiu & Hawe 1984); `null` with fewer than two flows.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct GroupFairness {
    /// Label from the scenario, or the number of the table, from 0.
    pub group: String,
    /// Number of flows.
    pub flows: u32,
    /// Jain's index of their goodput.
    pub jain_goodput: Option<f64>,
}

/// Cost of a run.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Engine {
    /// Events handled.
    pub events: u64,
    /// CPU seconds; `null` unless timing is requested, because CPU time varies between runs.
    pub cpu_s: Option<f64>,
    /// Packets that left the two bottleneck queues.
    pub bottleneck_packets: u64,
    /// Packets that were queued or on their way when the run ended.
    #[serde(default)]
    pub in_flight_packets: u64,
}
