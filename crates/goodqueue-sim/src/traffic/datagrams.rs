//! Numbering and counting of datagrams, shared by all senders of unanswered datagrams.

use goodqueue::{Direction, Ecn, Instant};

use super::source::Tally;
use crate::id::FlowId;
use crate::network::Network;
use crate::packet::{Packet, Payload};

/// Both ends of a flow of unanswered datagrams in one direction: their numbers and counters.
#[derive(Debug)]
pub struct Datagrams {
    flow: FlowId,
    direction: Direction,
    ecn: Ecn,
    sent: u64,
    delivered: u64,
    /// One bit per number: whether the datagram has arrived.
    arrived: Vec<u64>,
}

/// Bytes of the IPv4 and UDP headers.
pub const HEADERS: u32 = 28;

impl Datagrams {
    /// Returns both ends of flow number `flow`. With `ecn` the datagrams are ECN-capable, ECT(0).
    #[must_use]
    pub const fn new(flow: FlowId, direction: Direction, ecn: bool) -> Self {
        let ecn = if ecn { Ecn::Ect0 } else { Ecn::NotEct };
        Self { flow, direction, ecn, sent: 0, delivered: 0, arrived: Vec::new() }
    }

    /// Returns the sender with datagrams that carry ECT(1), the identifier of L4S.
    #[must_use]
    pub fn as_l4s(self) -> Self {
        Self { ecn: Ecn::Ect1, ..self }
    }

    /// Sends a datagram. `bytes` is its length at the IP layer.
    pub fn send(&mut self, now: Instant, bytes: u32, network: &mut Network) {
        let payload = Payload::Datagram { sent_at: now, number: self.sent, ecn: self.ecn };
        self.sent += 1;
        network.send(now, self.direction, self.flow, bytes, payload);
    }

    /// Counts a datagram that arrives. Of several copies made by the path, only the first counts.
    pub fn on_packet(&mut self, packet: &Packet, network: &Network) {
        if let Payload::Datagram { number, .. } = packet.payload
            && self.is_new(number)
        {
            // The length of a datagram may be set below that of its headers.
            self.delivered += u64::from(network.ip_bytes(packet).saturating_sub(HEADERS));
        }
    }

    fn is_new(&mut self, number: u64) -> bool {
        let Ok(word) = usize::try_from(number / 64) else { return false };
        // All numbers are kept, because a copy may arrive at any time after its original.
        if self.arrived.len() <= word {
            self.arrived.resize(word + 1, 0);
        }
        let bits = &mut self.arrived[word];
        let bit = 1 << (number % 64);
        let is_new = *bits & bit == 0;
        *bits |= bit;
        is_new
    }

    /// Returns the number of datagrams sent.
    #[must_use]
    pub const fn sent(&self) -> u64 {
        self.sent
    }

    /// Returns the payload bytes that arrived.
    #[must_use]
    pub const fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Returns the flow's counters.
    #[must_use]
    pub const fn tally(&self) -> Tally {
        Tally { delivered: self.delivered, sent: self.sent, retransmits: 0, timeouts: 0, completed_at: None }
    }
}
