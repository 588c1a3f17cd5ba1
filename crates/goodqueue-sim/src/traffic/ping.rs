//! ICMP-like echo: the client sends a small packet at a fixed interval, and the server returns it
//! at once.

use goodqueue::random::Xoshiro256PlusPlus;
use goodqueue::{ConfigError, Direction, Duration, Ecn, Instant};

use super::samples::{Earlier, Room, RoundTrip, Samples};
use super::source::{Settings, Source, Tally};
use crate::id::FlowId;
use crate::network::Network;
use crate::packet::{Packet, Payload};

/// The settings of a ping.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PingSettings {
    /// Time between requests.
    pub interval: Duration,
    /// Length of the IP packet in bytes.
    pub bytes: u32,
    /// The packets carry ECT(1), the identifier of L4S (RFC 9331 §4.1), in both directions.
    pub l4s: bool,
}

impl Settings for PingSettings {
    const KIND: &'static str = "ping";
    const IS_PROBE: bool = true;

    fn direction(&self) -> Direction {
        Direction::Up
    }

    fn probe_interval(&self) -> Option<Duration> {
        Some(self.interval)
    }
}

/// A ping from the client.
#[derive(Debug)]
pub struct Ping {
    flow: FlowId,
    interval: Duration,
    bytes: u32,
    ecn: Ecn,
    stopped: bool,
    round_trips: Samples<RoundTrip>,
    answered: u64,
}

impl Ping {
    /// Creates the ping for flow number `flow`.
    ///
    /// # Errors
    /// Never.
    pub fn new(flow: FlowId, settings: &PingSettings, _: Xoshiro256PlusPlus) -> Result<Self, ConfigError> {
        // An interval of zero would stop time.
        let interval = settings.interval.max(Duration::from_micros(1));
        let bytes = settings.bytes;
        let ecn = if settings.l4s { Ecn::Ect1 } else { Ecn::NotEct };
        Ok(Self { flow, interval, bytes, ecn, stopped: false, round_trips: Samples::new(), answered: 0 })
    }
}

impl Source for Ping {
    fn start(&mut self, now: Instant, network: &mut Network) {
        self.on_wake(now, network);
    }

    fn stop(&mut self, _now: Instant) {
        self.stopped = true;
    }

    fn on_packet(&mut self, now: Instant, packet: &Packet, direction: Direction, network: &mut Network) {
        let Payload::Datagram { number, sent_at, .. } = packet.payload else { return };
        if direction == Direction::Up {
            // The answer does not carry the mark of the request.
            let payload = Payload::Datagram { number, sent_at, ecn: self.ecn };
            network.send(now, Direction::Down, self.flow, self.bytes, payload);
        } else {
            self.answered += u64::from(self.round_trips.arrive(number, now.since(sent_at)));
        }
    }

    fn on_wake(&mut self, now: Instant, network: &mut Network) {
        // A wake-up that was asked for before the stop still comes.
        if self.stopped {
            return;
        }
        let number = self.round_trips.send(now);
        let payload = Payload::Datagram { sent_at: now, number, ecn: self.ecn };
        network.send(now, Direction::Up, self.flow, self.bytes, payload);
        network.wake(self.flow, now + self.interval);
    }

    fn delivered(&self) -> u64 {
        self.answered * u64::from(self.bytes)
    }

    fn tally(&self) -> Tally {
        Tally { delivered: self.delivered(), sent: self.round_trips.sent(), ..Tally::default() }
    }

    fn round_trips(&self) -> &[RoundTrip] {
        self.round_trips.latest()
    }

    fn earlier(&self) -> Option<&Earlier> {
        self.round_trips.earlier()
    }

    fn measure_from(&mut self, now: Instant) {
        self.round_trips.measure_from(now);
    }

    fn set_room(&mut self, room: Room) {
        self.round_trips.set_room(room);
    }
}
