//! A TCP connection that carries data one way: unlimited, or of a given size.

use goodqueue::random::Xoshiro256PlusPlus;
use goodqueue::{ConfigError, Instant};
use goodqueue_tcp::{AnyCongestionControl, Config, Receiver, Sender};

use super::{Settings, Source, Tally};
use crate::network::Network;
use crate::packet::{Direction, Packet, Payload};

/// A connection with data one way.
#[derive(Clone, Debug)]
pub struct TcpSettings {
    /// Where the data goes.
    pub direction: Direction,
    /// Bytes to send; `None`: without end.
    pub size: Option<u64>,
    /// Settings of both ends.
    pub config: Config,
    /// The sender's congestion control.
    pub congestion_control: AnyCongestionControl,
}

impl Settings for TcpSettings {
    const KIND: &'static str = "tcp";

    fn direction(&self) -> Direction {
        self.direction
    }

    fn congestion_control(&self) -> Option<&'static str> {
        Some(self.congestion_control.about().name)
    }
}

/// Both ends of a connection.
#[derive(Debug)]
pub struct Tcp {
    flow: u32,
    direction: Direction,
    size: Option<u64>,
    config: Config,
    sender: Sender,
    receiver: Receiver,
    stopped: bool,
    first_at: Option<Instant>,
    completed_at: Option<Instant>,
}

impl Tcp {
    /// A connection as flow number `flow`.
    ///
    /// # Errors
    /// The configuration is refused.
    pub fn new(flow: u32, settings: &TcpSettings, _: Xoshiro256PlusPlus) -> Result<Self, ConfigError> {
        let &TcpSettings { direction, size, config, .. } = settings;
        let sender = Sender::new(config, settings.congestion_control.clone())?;
        let receiver = Receiver::new(config)?;
        Ok(Self {
            flow,
            direction,
            size,
            config,
            sender,
            receiver,
            stopped: false,
            first_at: None,
            completed_at: None,
        })
    }

    #[inline]
    fn send_all(&mut self, now: Instant, network: &mut Network) {
        let mut has_room = network.has_room(self.direction, self.flow);
        while has_room && let Some(segment) = self.sender.poll_transmit(now) {
            let bytes = segment.wire_len(&self.config);
            network.send(now, self.direction, self.flow, bytes, Payload::Tcp(segment));
            has_room = network.has_room(self.direction, self.flow);
        }
        // Without room it is woken as soon as there is some, and what is due waits until then.
        if let Some(when) = self.sender.next_event()
            && (has_room || when > now)
        {
            network.wake(self.flow, when.max(now));
        }
    }

    #[inline]
    fn acknowledge(&mut self, now: Instant, network: &mut Network) {
        while let Some(segment) = self.receiver.poll_transmit(now) {
            let bytes = segment.wire_len(&self.config);
            network.send(now, self.direction.reverse(), self.flow, bytes, Payload::Tcp(segment));
        }
        if let Some(when) = self.receiver.next_event() {
            network.wake(self.flow, when.max(now));
        }
    }
}

impl Source for Tcp {
    fn start(&mut self, now: Instant, network: &mut Network) {
        self.sender.open(now);
        self.sender.write(self.size.unwrap_or(u64::MAX));
        if self.size.is_some() {
            self.sender.close();
        }
        self.send_all(now, network);
    }

    fn stop(&mut self, _now: Instant) {
        self.stopped = true;
    }

    #[inline]
    fn on_packet(&mut self, now: Instant, packet: &Packet, direction: Direction, network: &mut Network) {
        let Payload::Tcp(segment) = &packet.payload else { return };
        if direction == self.direction {
            self.receiver.on_segment(now, segment);
            if self.first_at.is_none() && self.receiver.delivered() > 0 {
                self.first_at = Some(now);
            }
            self.acknowledge(now, network);
        } else if !self.stopped {
            self.sender.on_segment(now, segment);
            self.send_all(now, network);
            if self.completed_at.is_none() && self.sender.is_finished() {
                self.completed_at = Some(now);
            }
        }
    }

    fn on_wake(&mut self, now: Instant, network: &mut Network) {
        self.acknowledge(now, network);
        if !self.stopped {
            self.send_all(now, network);
        }
    }

    fn first_delivery(&self) -> Option<Instant> {
        self.first_at
    }

    fn delivered(&self) -> u64 {
        self.receiver.delivered()
    }

    fn tally(&self) -> Tally {
        let stats = self.sender.stats();
        Tally {
            delivered: self.receiver.delivered(),
            sent: stats.segments,
            retransmits: stats.retransmits,
            timeouts: stats.timeouts,
            completed_at: self.completed_at,
        }
    }
}
