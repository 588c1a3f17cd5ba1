//! A user who repeatedly transfers data over QUIC and then thinks, as `Transfers` of the simulator
//! over TCP.

use goodqueue::random::{Random, Xoshiro256PlusPlus};
use goodqueue::{Direction, Duration, Instant};
use goodqueue_sim::FlowId;
use goodqueue_sim::network::Network;
use goodqueue_sim::packet::Packet;
use goodqueue_sim::traffic::{Distribution, Source, Tally, Transfer};

use super::pair::Pair;
use super::settings::QuicSettings;

/// The settings of a user.
#[derive(Clone, Debug)]
pub struct QuicTransfersSettings {
    /// Direction, request and transport of the connections. Each transfer has a size of its own
    /// instead of the size in here.
    pub connection: QuicSettings,
    /// Size of each transfer in bytes.
    pub size: Distribution,
    /// Time between the end of a transfer and the beginning of the next, in seconds.
    pub think: Distribution,
    /// True if all transfers use one connection, each with a stream of its own; otherwise each
    /// opens a connection.
    pub persistent: bool,
    /// Number of transfers; `None` for no limit.
    pub count: Option<u64>,
}

/// The user and the server.
#[derive(Debug)]
pub(super) struct QuicTransfers {
    flow: FlowId,
    settings: QuicTransfersSettings,
    pair: Pair,
    random: Xoshiro256PlusPlus,
    /// Seed of the identifiers of the next connection.
    seed: u64,
    /// Bytes of the transfers before this one.
    delivered_before: u64,
    /// Packets lost on the connections before this one.
    lost_before: u64,
    is_running: bool,
    /// Start of the next transfer, while the user thinks.
    next_at: Option<Instant>,
    transfers: Vec<Transfer>,
    is_stopped: bool,
}

impl QuicTransfers {
    pub(super) fn from_settings(
        flow: FlowId,
        settings: &QuicTransfersSettings,
        mut random: Xoshiro256PlusPlus,
    ) -> Self {
        let pair = Pair::from_settings(flow, &settings.connection, &mut random);
        let seed = random.next_u64();
        Self {
            flow,
            settings: settings.clone(),
            pair,
            random,
            seed,
            delivered_before: 0,
            lost_before: 0,
            is_running: false,
            next_at: None,
            transfers: Vec::new(),
            is_stopped: false,
        }
    }

    fn begin(&mut self, now: Instant, network: &mut Network) {
        let is_over = self.settings.count.is_some_and(|count| self.transfers.len() as u64 >= count);
        if self.is_stopped || is_over {
            return;
        }
        if self.transfers.is_empty() || !self.settings.persistent {
            self.lost_before += self.pair.lost();
            self.pair.connect(now, self.seed);
            self.seed = self.seed.wrapping_add(1);
        }
        let bytes = self.settings.size.draw_bytes(&mut self.random);
        self.transfers.push(Transfer { begun_at: now, ended_at: None, bytes });
        self.delivered_before += self.pair.delivered();
        self.is_running = true;
        self.pair.begin(now, Some(bytes), network);
    }

    /// Checks whether the transfer is complete.
    fn advance(&mut self, now: Instant, network: &mut Network) {
        if !self.is_running || !self.pair.is_delivered() {
            return;
        }
        self.is_running = false;
        if let Some(transfer) = self.transfers.last_mut() {
            transfer.ended_at = Some(now);
        }
        if !self.settings.persistent {
            self.pair.close(now, network);
        }
        // At least 1 ns, so that transfers over a path without delay cannot stop time.
        let next_at = now + self.settings.think.draw_time(&mut self.random).max(Duration::from_nanos(1));
        self.next_at = Some(next_at);
        network.wake(self.flow, next_at);
    }
}

impl Source for QuicTransfers {
    fn start(&mut self, now: Instant, network: &mut Network) {
        self.begin(now, network);
    }

    fn stop(&mut self, _now: Instant) {
        self.is_stopped = true;
        self.pair.stop();
    }

    fn on_packet(&mut self, now: Instant, packet: &Packet, direction: Direction, network: &mut Network) {
        self.pair.on_packet(now, packet, direction, network);
        self.advance(now, network);
    }

    fn on_wake(&mut self, now: Instant, network: &mut Network) {
        self.pair.on_wake(now, network);
        match self.next_at {
            Some(when) if when <= now => {
                self.next_at = None;
                self.begin(now, network);
            }
            // The network keeps only the earliest wake-up of a flow, so this one is requested
            // again.
            Some(when) => network.wake(self.flow, when),
            None => {}
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
        &self.transfers
    }
}
