//! The flows of a run.

use goodqueue_sim::{Direction, Transport};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::probes::{VideoResult, VoipResult};
use super::words::DirectionWord;
use crate::scenario::FlowKind;
use crate::statistics::Summary;

/// The metrics of one flow. Those of few kinds of flow are boxed, because a sweep holds millions of
/// flows.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct FlowResult {
    /// Number in the scenario, from 0.
    pub id: u32,
    /// Kind of traffic.
    pub kind: FlowKind,
    /// Congestion control as the scenario names it; absent for flows without one.
    pub cc: Option<String>,
    /// Direction of its data; of a ping, of its requests.
    #[serde(with = "DirectionWord")]
    pub direction: Direction,
    /// Base round-trip time.
    pub rtt_s: f64,
    /// In-order payload per second at the receiver, over the part of the measured time in which the
    /// flow was active.
    pub goodput_bps: f64,
    /// Mean over the same time of the delivery rate that Linux shows (`tcpi_delivery_rate`, as `ss`
    /// and Flent read it); absent unless the flow has `delivery_rate = true`, and in live runs.
    /// Each ACK gives a sample: the bytes delivered since its segment was sent, per time. The last
    /// sample is reported until the next one. Samples shorter than the least RTT do not count, nor
    /// lower ones that the application limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery_rate_bps: Option<f64>,
    /// In-order payload delivered in the measured time.
    pub bytes_delivered: u64,
    /// Packets sent in the direction of its data (of a ping, its requests), retransmissions
    /// included. Each of them has arrived, was dropped, or is on its way. Copies made by the path
    /// are not counted.
    pub packets_sent: u64,
    /// Packets in that direction that arrived.
    #[serde(default)]
    pub packets_arrived: u64,
    /// Packets in that direction that a queue dropped or the air lost.
    pub packets_dropped: u64,
    /// Packets in the other direction: acknowledgements, requests, answers to pings.
    #[serde(default)]
    pub reverse: FlowPackets,
    /// Segments retransmitted; of QUIC, packets declared lost, whose data is sent again.
    pub retransmits: u64,
    /// Retransmission timeouts; 0 for QUIC, whose probe timeouts are not counted.
    pub timeouts: u64,
    /// How queues dropped its data (RFC 7928 §2.3); `null` in live runs, which do not measure it.
    #[serde(default)]
    pub losses: Option<FlowLosses>,
    /// Time from the start to the first byte at the receiver (RFC 7928 §2.2); `null` for a flow
    /// that is not a single TCP connection, or that delivered nothing.
    #[serde(default)]
    pub startup_s: Option<f64>,
    /// Flow completion time, first SYN to last byte acknowledged; `null` if it did not complete.
    pub fct_s: Option<f64>,
    /// Label from the scenario; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Round-trip time of its pings; absent for other kinds of flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ping_s: Option<Box<Summary>>,
    /// Quality of the call; absent for other kinds of flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voip: Option<Box<VoipResult>>,
    /// Transfers of a flow that makes several; absent for other kinds of flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfers: Option<Box<Transfers>>,
    /// Adaptive video as its viewer sees it; absent for other kinds of flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub video: Option<Box<VideoResult>>,
}

impl FlowResult {
    /// Returns the transport protocol of the flow. Results name the congestion control, which flows
    /// of QUIC and over TCP alone have.
    #[must_use]
    pub const fn transport(&self) -> Transport {
        match (&self.kind, &self.cc) {
            (FlowKind::Quic | FlowKind::QuicTransfers, _) => Transport::Quic,
            (_, Some(_)) => Transport::Tcp,
            (_, None) => Transport::Datagrams,
        }
    }
}

/// Packets of a flow in one direction. Each sent packet has arrived, was dropped, or is on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct FlowPackets {
    /// Sent.
    pub sent: u64,
    /// Arrived.
    pub arrived: u64,
    /// Dropped by a queue, or lost in the air.
    pub dropped: u64,
}

/// How the packets of a flow in the direction of its data were dropped.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct FlowLosses {
    /// Dropped per packet sent.
    pub share: Option<f64>,
    /// Loss events. Drops within a base round-trip time of the first drop are one event (RFC 5348
    /// §5.2).
    pub events: u64,
    /// Drops per event: 1 if packets are lost one by one.
    pub packets_per_event: Option<f64>,
    /// Mean time between the starts of two events.
    pub interval_s: Option<f64>,
}

/// Transfers that began in the time measured, and how long they took.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Transfers {
    /// Begun.
    pub begun: u64,
    /// Number of them that are complete at the end of the run.
    pub completed: u64,
    /// Time of the complete ones, from the first packet to the last byte.
    pub time_s: Summary,
}

/// A group of transfers side by side (Järvinen & Kojo 2014).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct GroupResult {
    /// Number of the table among the scenario's flows, from 0.
    pub table: u32,
    /// Its flows.
    pub flows: u32,
    /// Number of them that are complete at the end of the run.
    pub completed: u32,
    /// From the first SYN to the last byte acknowledged; `null` if a flow did not complete.
    pub response_s: Option<f64>,
}
