//! A user who repeatedly transfers data and then thinks: sized transfers with think times.

use goodqueue::random::Xoshiro256PlusPlus;
use goodqueue::{ConfigError, Direction, Instant};
use goodqueue_tcp::{AnyCongestionControl, Config};

use super::connections::{Connections, Handle};
use super::source::{Settings, Source, Tally, Transfer};
use super::user::{Habits, User};
use crate::id::FlowId;
use crate::network::Network;
use crate::packet::Packet;
use crate::transport::Transport;

/// The settings of a user.
#[derive(Clone, Debug)]
pub struct TransfersSettings {
    /// Direction of the data: `Down` fetches, `Up` sends.
    pub direction: Direction,
    /// Sizes, pauses and connections.
    pub habits: Habits,
    /// Size in bytes of the request that starts a fetch.
    pub request: u64,
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
    settings: TransfersSettings,
    user: User,
    connections: Connections,
    /// Connection of the transfer in progress, or of the next one.
    current: Option<Handle>,
    /// Bytes that must have arrived on the connection for the server to answer.
    asked: u64,
    /// Bytes that must have arrived on the connection for the transfer to be complete.
    awaited: u64,
    /// True once the server has answered the request of this transfer.
    answered: bool,
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
        // The client opens the connections, whichever way the data goes.
        let connections =
            Connections::new(flow, Direction::Up, settings.config, settings.congestion_control.clone())?;
        Ok(Self {
            settings: settings.clone(),
            user: User::new(flow, settings.habits, random),
            connections,
            current: None,
            asked: 0,
            awaited: 0,
            answered: true,
        })
    }

    fn begin(&mut self, now: Instant, network: &mut Network) {
        let Some(bytes) = self.user.next_size() else { return };
        let handle = match self.current {
            Some(handle) if !self.user.needs_connection() => handle,
            _ => {
                let Some(handle) = self.connections.open(now, network) else { return };
                // Both count the bytes of one connection, as `Connections::delivered` does.
                (self.asked, self.awaited) = (0, 0);
                self.current = Some(handle);
                handle
            }
        };
        self.user.begin(now, bytes);
        self.answered = false;
        self.awaited += bytes;
        let first = match self.settings.direction {
            Direction::Down => {
                self.asked += self.settings.request;
                self.settings.request
            }
            // An upload needs no request.
            Direction::Up => bytes,
        };
        self.connections.write(now, handle, Direction::Up, first, network);
    }

    /// Checks whether the request has arrived, and whether the transfer is complete.
    fn advance(&mut self, now: Instant, handle: Handle, network: &mut Network) {
        // Packets of a connection that is closing concern no transfer.
        if self.current != Some(handle) || !self.user.is_transferring() {
            return;
        }
        if self.settings.direction == Direction::Down && !self.answered {
            if self.connections.delivered(handle, Direction::Up) < self.asked {
                return;
            }
            self.answered = true;
            let bytes = self.user.transfers().last().map_or(0, |transfer| transfer.bytes);
            self.connections.write(now, handle, Direction::Down, bytes, network);
        }
        if self.connections.delivered(handle, self.settings.direction) < self.awaited {
            return;
        }
        if !self.user.is_persistent() {
            self.connections.close(now, handle, network);
        }
        self.user.end(now, network);
    }
}

impl Source for Transfers {
    fn start(&mut self, now: Instant, network: &mut Network) {
        self.begin(now, network);
    }

    fn stop(&mut self, _now: Instant) {
        self.user.stop();
        if let Some(handle) = self.current.filter(|_| self.user.is_transferring()) {
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
        if self.user.on_wake(now, network) {
            self.begin(now, network);
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
        self.user.transfers()
    }
}
