//! Numbering and counting of datagrams, shared by all senders of unanswered datagrams.

use goodqueue::{Direction, Ecn, Instant};

use super::source::Tally;
use crate::network::Network;
use crate::packet::{Packet, Payload};

/// Both ends of a flow of datagrams in one direction.
#[derive(Debug)]
pub(crate) struct Datagrams {
    flow: u32,
    direction: Direction,
    ecn: Ecn,
    sent: u64,
    delivered: u64,
    /// One bit per number: whether the datagram has arrived.
    arrived: Vec<u64>,
}

/// Bytes of the IPv4 and UDP headers.
pub(crate) const HEADERS: u32 = 28;

impl Datagrams {
    pub(crate) const fn new(flow: u32, direction: Direction, ecn: bool) -> Self {
        let ecn = if ecn { Ecn::Ect0 } else { Ecn::NotEct };
        Self { flow, direction, ecn, sent: 0, delivered: 0, arrived: Vec::new() }
    }

    /// Sends a datagram. `bytes` is its length at the IP layer.
    pub(crate) fn send(&mut self, now: Instant, bytes: u32, network: &mut Network) {
        let payload = Payload::Datagram { sent_at: now, number: self.sent, ecn: self.ecn };
        self.sent += 1;
        network.send(now, self.direction, self.flow, bytes, payload);
    }

    /// Counts a datagram that arrives. Of several copies made by the path, only the first counts.
    pub(crate) fn on_packet(&mut self, packet: &Packet, network: &Network) {
        if let Payload::Datagram { number, .. } = packet.payload
            && self.is_new(number)
        {
            self.delivered += u64::from(network.ip_bytes(packet).saturating_sub(HEADERS));
        }
    }

    fn is_new(&mut self, number: u64) -> bool {
        let Ok(word) = usize::try_from(number / 64) else { return false };
        if self.arrived.len() <= word {
            self.arrived.resize(word + 1, 0);
        }
        let (bits, bit) = (&mut self.arrived[word], 1 << (number % 64));
        let is_new = *bits & bit == 0;
        *bits |= bit;
        is_new
    }

    /// Returns the number of datagrams sent.
    pub(crate) const fn sent(&self) -> u64 {
        self.sent
    }

    /// Returns the payload bytes that arrived.
    pub(crate) const fn delivered(&self) -> u64 {
        self.delivered
    }

    pub(crate) fn tally(&self) -> Tally {
        Tally { delivered: self.delivered, sent: self.sent, ..Tally::default() }
    }
}
