//! On/off traffic over TCP: a sender that alternates between unlimited data and silence (Gong et
//! al., "Fighting the bufferbloat", 2013: exponential times, duty cycles of 10 to 100 %).
//!
//! When silence begins, the sender takes back the data that it has not sent; the application has no
//! buffer of its own. Data in flight is delivered, and retransmitted where necessary.

use goodqueue::random::Xoshiro256PlusPlus;
use goodqueue::{ConfigError, Direction, Instant};
use goodqueue_tcp::{AnyCongestionControl, Config};

use super::connections::{Connections, Handle};
use super::distribution::Distribution;
use super::source::{Settings, Source, Tally};
use crate::id::FlowId;
use crate::network::Network;
use crate::packet::Packet;
use crate::transport::Transport;

/// The settings of an on/off TCP sender.
#[derive(Clone, Debug)]
pub struct TcpOnOffSettings {
    /// Direction of the data.
    pub direction: Direction,
    /// Length of a time with data, in seconds.
    pub on: Distribution,
    /// Length of a silence, in seconds.
    pub off: Distribution,
    /// True if all data uses one connection; otherwise each time with data opens its own.
    pub persistent: bool,
    /// TCP settings of both ends.
    pub config: Config,
    /// Congestion control of the senders.
    pub congestion_control: AnyCongestionControl,
}

impl Settings for TcpOnOffSettings {
    const KIND: &'static str = "tcp_onoff";
    const TRANSPORT: Transport = Transport::Tcp;

    fn direction(&self) -> Direction {
        self.direction
    }

    fn congestion_control(&self) -> Option<&'static str> {
        Some(self.congestion_control.about().name)
    }
}

/// An on/off TCP sender and its receiver.
#[derive(Debug)]
pub struct TcpOnOff {
    flow: FlowId,
    settings: TcpOnOffSettings,
    connections: Connections,
    random: Xoshiro256PlusPlus,
    current: Option<Handle>,
    is_on: bool,
    /// Time at which `is_on` changes.
    change_at: Instant,
    stopped: bool,
}

impl TcpOnOff {
    /// Creates the sender for flow number `flow`.
    ///
    /// # Errors
    /// The TCP configuration is invalid.
    pub fn new(
        flow: FlowId,
        settings: &TcpOnOffSettings,
        random: Xoshiro256PlusPlus,
    ) -> Result<Self, ConfigError> {
        Ok(Self {
            flow,
            settings: settings.clone(),
            connections: Connections::new(
                flow,
                // The client opens the connections, whichever way the data goes.
                Direction::Up,
                settings.config,
                settings.congestion_control.clone(),
            )?,
            random,
            current: None,
            is_on: false,
            change_at: Instant::MAX,
            stopped: false,
        })
    }

    fn begin(&mut self, now: Instant, network: &mut Network) {
        if self.current.is_none() {
            self.current = self.connections.open(now, network);
        }
        // Without a connection, because the largest number of them is still closing, this time
        // stays silent.
        if let Some(handle) = self.current {
            // Unlimited data; `end` takes back what was not sent.
            self.connections.write(now, handle, self.settings.direction, u64::MAX, network);
        }
    }

    fn end(&mut self, now: Instant, network: &mut Network) {
        let Some(handle) = self.current else { return };
        self.connections.take_back(now, handle, self.settings.direction, network);
        if !self.settings.persistent {
            self.connections.close(now, handle, network);
            // The closing connection stays in the table until its data has arrived.
            self.current = None;
        }
    }

    fn change(&mut self, now: Instant, network: &mut Network) {
        self.is_on = !self.is_on;
        let span = if self.is_on { &self.settings.on } else { &self.settings.off };
        let span = span.draw_time(&mut self.random);
        // At least 1 ns, so that durations of zero cannot stop time.
        self.change_at = (now + span).max(Instant::from_nanos(now.as_nanos() + 1));
        if self.is_on {
            self.begin(now, network);
        } else {
            self.end(now, network);
        }
    }
}

impl Source for TcpOnOff {
    fn start(&mut self, now: Instant, network: &mut Network) {
        self.change(now, network);
        network.wake(self.flow, self.change_at);
    }

    fn stop(&mut self, _now: Instant) {
        self.stopped = true;
        self.connections.abort_all();
    }

    fn on_packet(&mut self, now: Instant, packet: &Packet, direction: Direction, network: &mut Network) {
        self.connections.on_packet(now, packet, direction, network);
    }

    fn on_wake(&mut self, now: Instant, network: &mut Network) {
        self.connections.on_wake(now, network);
        // Its connections still have timers, but no burst begins any more.
        if self.stopped {
            return;
        }
        if self.change_at <= now {
            self.change(now, network);
        }
        network.wake(self.flow, self.change_at);
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
}
