//! A user who repeatedly transfers data and then thinks: sized transfers with think times.

use goodqueue::random::Xoshiro256PlusPlus;
use goodqueue::{ConfigError, Direction, Duration, Instant};
use goodqueue_tcp::{AnyCongestionControl, Config};

use super::connections::{Connections, Handle};
use super::distribution::Distribution;
use super::source::{Settings, Source, Tally, Transfer};
use crate::id::FlowId;
use crate::network::Network;
use crate::packet::Packet;
use crate::transport::Transport;

/// The settings of a user.
#[derive(Clone, Debug)]
pub struct TransfersSettings {
    /// Direction of the data: `Down` fetches, `Up` sends.
    pub direction: Direction,
    /// Size of each transfer in bytes.
    pub size: Distribution,
    /// Time between the end of a transfer and the beginning of the next, in seconds.
    pub think: Distribution,
    /// Size in bytes of the request that starts a fetch.
    pub request: u64,
    /// True if all transfers use one connection; otherwise each opens its own.
    pub persistent: bool,
    /// Number of transfers; `None` for no limit.
    pub count: Option<u64>,
    /// TCP settings of both ends.
    pub config: Config,
    /// Congestion control of the senders.
    pub congestion_control: AnyCongestionControl,
}

impl Settings for TransfersSettings {
    const KIND: &'static str = "transfers";
    const TRANSPORT: Transport = Transport::Tcp;
    const IS_OF_PIECES: bool = true;

    fn direction(&self) -> Direction {
        self.direction
    }

    fn congestion_control(&self) -> Option<&'static str> {
        Some(self.congestion_control.about().name)
    }
}

/// The user and the servers.
#[derive(Debug)]
pub struct Transfers {
    flow: FlowId,
    settings: TransfersSettings,
    connections: Connections,
    random: Xoshiro256PlusPlus,
    /// Connection of the transfer in progress, or of the next one.
    current: Option<Handle>,
    /// Bytes that must have arrived on the connection for the server to answer.
    asked: u64,
    /// Bytes that must have arrived on the connection for the transfer to be complete.
    awaited: u64,
    /// True once the server has answered the request of this transfer.
    answered: bool,
    /// True while a transfer is in progress.
    running: bool,
    /// Start of the next transfer, while the user thinks.
    next_at: Option<Instant>,
    transfers: Vec<Transfer>,
    stopped: bool,
}

impl Transfers {
    /// Creates the user for flow number `flow`.
    ///
    /// # Errors
    /// The TCP configuration is invalid.
    pub fn new(
        flow: FlowId,
        settings: &TransfersSettings,
        random: Xoshiro256PlusPlus,
    ) -> Result<Self, ConfigError> {
        let connections =
            Connections::new(flow, Direction::Up, settings.config, settings.congestion_control.clone())?;
        Ok(Self {
            flow,
            settings: settings.clone(),
            connections,
            random,
            current: None,
            asked: 0,
            awaited: 0,
            answered: true,
            running: false,
            next_at: None,
            transfers: Vec::new(),
            stopped: false,
        })
    }

    fn begin(&mut self, now: Instant, network: &mut Network) {
        let is_over = self.settings.count.is_some_and(|count| self.transfers.len() as u64 >= count);
        if self.stopped || is_over {
            return;
        }
        let bytes = self.settings.size.draw_bytes(&mut self.random);
        let handle = match self.current {
            Some(handle) if self.settings.persistent => handle,
            _ => {
                let Some(handle) = self.connections.open(now, network) else { return };
                (self.asked, self.awaited) = (0, 0);
                self.current = Some(handle);
                handle
            }
        };
        self.transfers.push(Transfer { begun_at: now, ended_at: None, bytes });
        (self.running, self.answered) = (true, false);
        self.awaited += bytes;
        let first = match self.settings.direction {
            Direction::Down => {
                self.asked += self.settings.request;
                (Direction::Up, self.settings.request)
            }
            Direction::Up => (Direction::Up, bytes),
        };
        self.connections.write(now, handle, first, network);
    }

    /// Checks whether the request has arrived, and whether the transfer is complete.
    fn advance(&mut self, now: Instant, handle: Handle, network: &mut Network) {
        if self.current != Some(handle) || !self.running {
            return;
        }
        if self.settings.direction == Direction::Down && !self.answered {
            if self.connections.delivered(handle, Direction::Up) < self.asked {
                return;
            }
            self.answered = true;
            let bytes = self.transfers.last().map_or(0, |transfer| transfer.bytes);
            self.connections.write(now, handle, (Direction::Down, bytes), network);
        }
        if self.connections.delivered(handle, self.settings.direction) < self.awaited {
            return;
        }
        self.running = false;
        if let Some(transfer) = self.transfers.last_mut() {
            transfer.ended_at = Some(now);
        }
        if !self.settings.persistent {
            self.connections.close(now, handle, network);
        }
        // At least 1 ns, so that transfers over a path without delay cannot stop time.
        let next_at = now + self.settings.think.draw_time(&mut self.random).max(Duration::from_nanos(1));
        self.next_at = Some(next_at);
        network.wake(self.flow, next_at);
    }
}

impl Source for Transfers {
    fn start(&mut self, now: Instant, network: &mut Network) {
        self.begin(now, network);
    }

    fn stop(&mut self, _now: Instant) {
        self.stopped = true;
        if let Some(handle) = self.current.filter(|_| self.running) {
            self.connections.abort(handle);
        }
    }

    fn on_packet(&mut self, now: Instant, packet: &Packet, direction: Direction, network: &mut Network) {
        if let Some(handle) = self.connections.on_packet(now, packet, direction, network) {
            self.advance(now, handle, network);
        }
    }

    fn on_wake(&mut self, now: Instant, network: &mut Network) {
        self.connections.on_wake(now, network);
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
        self.connections.delivered_in_all(self.settings.direction)
    }

    fn received(&self) -> u64 {
        self.connections.received_in_all(self.settings.direction)
    }

    fn tally(&self) -> Tally {
        self.connections.tally(self.settings.direction)
    }

    fn transfers(&self) -> &[Transfer] {
        &self.transfers
    }
}
