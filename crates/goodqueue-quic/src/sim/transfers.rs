//! A user who repeatedly transfers data over QUIC and then thinks, as `Transfers` of the simulator
//! over TCP.

use goodqueue::random::{Random, Xoshiro256PlusPlus};
use goodqueue::{Direction, Instant};
use goodqueue_sim::FlowId;
use goodqueue_sim::network::Network;
use goodqueue_sim::packet::Packet;
use goodqueue_sim::traffic::{Habits, Source, Tally, Transfer, User};

use super::pair::Pair;
use super::settings::QuicSettings;

/// The settings of a user.
#[derive(Clone, Debug)]
pub struct QuicTransfersSettings {
    /// Direction, request and transport of the connections. Each transfer has a size of its own
    /// instead of the size in here.
    pub connection: QuicSettings,
    /// Sizes, pauses and connections. On one connection each transfer has a stream of its own.
    pub habits: Habits,
}

/// The user and the server.
#[derive(Debug)]
pub(super) struct QuicTransfers {
    user: User,
    pair: Pair,
    /// Seed of the identifiers of the next connection.
    seed: u64,
    /// Bytes of the transfers before this one.
    delivered_before: u64,
    /// Packets lost on the connections before this one.
    lost_before: u64,
}

impl QuicTransfers {
    pub(super) fn from_settings(
        flow: FlowId,
        settings: &QuicTransfersSettings,
        mut random: Xoshiro256PlusPlus,
    ) -> Self {
        let pair = Pair::from_settings(flow, &settings.connection, &mut random);
        let seed = random.next_u64();
        let user = User::new(flow, settings.habits, random);
        Self { user, pair, seed, delivered_before: 0, lost_before: 0 }
    }

    fn begin(&mut self, now: Instant, network: &mut Network) {
        let Some(bytes) = self.user.next_size() else { return };
        if self.user.needs_connection() {
            // The counter ends with the connection that `connect` forgets.
            self.lost_before += self.pair.lost();
            self.pair.connect(now, self.seed);
            // The next connection needs identifiers of its own.
            self.seed = self.seed.wrapping_add(1);
        }
        self.user.begin(now, bytes);
        // The pair counts each transfer from 0.
        self.delivered_before += self.pair.delivered();
        self.pair.begin(now, Some(bytes), network);
    }

    /// Checks whether the transfer is complete.
    fn advance(&mut self, now: Instant, network: &mut Network) {
        if !self.user.is_transferring() || !self.pair.is_delivered() {
            return;
        }
        if !self.user.is_persistent() {
            self.pair.close(now, network);
        }
        self.user.end(now, network);
    }
}

impl Source for QuicTransfers {
    fn start(&mut self, now: Instant, network: &mut Network) {
        self.begin(now, network);
    }

    fn stop(&mut self, _now: Instant) {
        self.user.stop();
        self.pair.stop();
    }

    fn on_packet(&mut self, now: Instant, packet: &Packet, direction: Direction, network: &mut Network) {
        self.pair.on_packet(now, packet, direction, network);
        self.advance(now, network);
    }

    fn on_wake(&mut self, now: Instant, network: &mut Network) {
        self.pair.on_wake(now, network);
        if self.user.on_wake(now, network) {
            self.begin(now, network);
        }
    }

    fn delivered(&self) -> u64 {
        self.delivered_before + self.pair.delivered()
    }

    fn received(&self) -> u64 {
        self.delivered_before + self.pair.received()
    }

    fn tally(&self) -> Tally {
        Tally {
            delivered: self.delivered(),
            sent: self.pair.sent(),
            retransmits: self.lost_before + self.pair.lost(),
            // As for one transfer.
            timeouts: 0,
            completed_at: None,
        }
    }

    fn transfers(&self) -> &[Transfer] {
        self.user.transfers()
    }
}
