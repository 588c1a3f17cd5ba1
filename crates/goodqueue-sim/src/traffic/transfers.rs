//! A user who fetches or sends something, thinks, and does it again: sized transfers with think times.

use goodqueue::random::Xoshiro256PlusPlus;
use goodqueue::{ConfigError, Duration, Instant};
use goodqueue_tcp::{AnyCongestionControl, Config};

use super::connections::{Connections, Handle};
use super::{Distribution, Settings, Source, Tally, Transfer};
use crate::network::Network;
use crate::packet::{Direction, Packet};

/// What a user does.
#[derive(Clone, Debug)]
pub struct TransfersSettings {
    /// Where the data goes: `Down` fetches, `Up` sends.
    pub direction: Direction,
    /// Bytes of each transfer.
    pub size: Distribution,
    /// Seconds between the end of a transfer and the beginning of the next.
    pub think: Distribution,
    /// Bytes of the request that a fetch sends first.
    pub request: u64,
    /// All transfers use one connection; otherwise each opens its own.
    pub persistent: bool,
    /// Transfers in all; `None`: as many as there is time for.
    pub count: Option<u64>,
    /// Settings of both ends.
    pub config: Config,
    /// The senders' congestion control.
    pub congestion_control: AnyCongestionControl,
}

impl Settings for TransfersSettings {
    const KIND: &'static str = "transfers";

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
    flow: u32,
    settings: TransfersSettings,
    connections: Connections,
    random: Xoshiro256PlusPlus,
    /// The connection of the transfer that runs, or of the next one.
    current: Option<Handle>,
    /// Bytes that must have arrived over it for the server to answer, and for the transfer to be complete.
    asked: u64,
    awaited: u64,
    /// The request of this transfer has been answered.
    answered: bool,
    /// A transfer is under way.
    running: bool,
    next_at: Option<Instant>,
    transfers: Vec<Transfer>,
    stopped: bool,
}

impl Transfers {
    /// A user as flow number `flow`.
    ///
    /// # Errors
    /// The TCP configuration is refused.
    pub fn new(
        flow: u32,
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

    /// Looks whether the request has arrived, or the transfer is complete.
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
        // Time passes between two transfers, so that none without a link or a distance are endless at one instant.
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
            // Who asks for several times is only woken at the first.
            Some(when) => network.wake(self.flow, when),
            None => {}
        }
    }

    fn delivered(&self) -> u64 {
        self.connections.delivered_in_all(self.settings.direction)
    }

    fn tally(&self) -> Tally {
        self.connections.tally(self.settings.direction)
    }

    fn transfers(&self) -> &[Transfer] {
        &self.transfers
    }
}
