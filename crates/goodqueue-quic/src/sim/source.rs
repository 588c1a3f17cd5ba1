//! A QUIC flow with one transfer.

use goodqueue::random::{Random, Xoshiro256PlusPlus};
use goodqueue::{Direction, Instant};
use goodqueue_sim::FlowId;
use goodqueue_sim::network::Network;
use goodqueue_sim::packet::Packet;
use goodqueue_sim::traffic::{SenderState, Source, Tally};

use super::pair::Pair;
use super::settings::QuicSettings;

/// Both ends of a QUIC flow.
#[derive(Debug)]
pub(super) struct Quic {
    pair: Pair,
    size: Option<u64>,
    /// Seed of the client's first connection identifier.
    seed: u64,
    first_at: Option<Instant>,
    completed_at: Option<Instant>,
}

impl Quic {
    pub(super) fn from_settings(
        flow: FlowId,
        settings: &QuicSettings,
        mut random: Xoshiro256PlusPlus,
    ) -> Self {
        let pair = Pair::from_settings(flow, settings, &mut random);
        let seed = random.next_u64();
        Self { pair, size: settings.size, seed, first_at: None, completed_at: None }
    }

    /// Notes the times of the first and of the last byte.
    fn note(&mut self, now: Instant) {
        if self.completed_at.is_none() && self.pair.is_acknowledged() {
            self.completed_at = Some(now);
        }
        if self.first_at.is_none() && self.delivered() > 0 {
            self.first_at = Some(now);
        }
    }
}

impl Source for Quic {
    fn start(&mut self, now: Instant, network: &mut Network) {
        self.pair.connect(now, self.seed);
        self.pair.begin(now, self.size, network);
    }

    fn stop(&mut self, _now: Instant) {
        self.pair.stop();
    }

    fn on_packet(&mut self, now: Instant, packet: &Packet, direction: Direction, network: &mut Network) {
        self.pair.on_packet(now, packet, direction, network);
        self.note(now);
    }

    fn on_wake(&mut self, now: Instant, network: &mut Network) {
        self.pair.on_wake(now, network);
        self.note(now);
    }

    fn delivered(&self) -> u64 {
        self.pair.delivered()
    }

    fn received(&self) -> u64 {
        self.pair.received()
    }

    fn sender(&self) -> Option<SenderState> {
        self.pair.sender_state()
    }

    fn first_delivery(&self) -> Option<Instant> {
        self.first_at
    }

    fn tally(&self) -> Tally {
        Tally {
            delivered: self.delivered(),
            sent: self.pair.sent(),
            // QUIC sends the data of each lost packet again, in a new one.
            retransmits: self.pair.lost(),
            // Probe timeouts of QUIC declare nothing lost (RFC 9002 §6.2), and quinn does not count
            // them.
            timeouts: 0,
            completed_at: self.completed_at,
        }
    }
}
