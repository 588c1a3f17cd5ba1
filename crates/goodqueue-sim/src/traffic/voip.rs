//! A voice call in one direction: a packet at a fixed interval, each with its one-way delay.

use goodqueue::random::Xoshiro256PlusPlus;
use goodqueue::{ConfigError, Direction, Duration, Instant};

use super::datagrams::Datagrams;
use super::samples::{Earlier, OneWay, Room, Samples};
use super::source::{Settings, Source, Tally};
use crate::id::FlowId;
use crate::network::Network;
use crate::packet::{Packet, Payload};

/// The settings of a voice call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VoipSettings {
    /// Direction of the voice.
    pub direction: Direction,
    /// Time between packets. Each packet carries 20 ms of voice, the default of G.711 over RTP (RFC
    /// 3551 §4.2).
    pub interval: Duration,
    /// Length of the IP packet in bytes: 160 of voice and 40 of RTP, UDP and IPv4 headers.
    pub bytes: u32,
    /// True if the packets are ECN-capable, ECT(0).
    pub ecn: bool,
}

impl Settings for VoipSettings {
    const KIND: &'static str = "voip";
    const IS_PROBE: bool = true;

    fn direction(&self) -> Direction {
        self.direction
    }

    fn probe_interval(&self) -> Option<Duration> {
        Some(self.interval)
    }
}

/// Both ends of a voice call.
#[derive(Debug)]
pub struct Voip {
    flow: FlowId,
    settings: VoipSettings,
    datagrams: Datagrams,
    one_way: Samples<OneWay>,
    stopped: bool,
}

impl Voip {
    /// Creates the call for flow number `flow`.
    ///
    /// # Errors
    /// Never.
    pub fn new(flow: FlowId, settings: &VoipSettings, _: Xoshiro256PlusPlus) -> Result<Self, ConfigError> {
        // An interval of zero would stop time.
        let settings =
            VoipSettings { interval: settings.interval.max(Duration::from_micros(1)), ..*settings };
        let datagrams = Datagrams::new(flow, settings.direction, settings.ecn);
        Ok(Self { flow, settings, datagrams, one_way: Samples::new(), stopped: false })
    }
}

impl Source for Voip {
    fn start(&mut self, now: Instant, network: &mut Network) {
        self.on_wake(now, network);
    }

    fn stop(&mut self, _now: Instant) {
        self.stopped = true;
    }

    fn on_packet(&mut self, now: Instant, packet: &Packet, _direction: Direction, network: &mut Network) {
        let Payload::Datagram { number, sent_at, .. } = packet.payload else { return };
        // If the path duplicated the packet, the first copy counts.
        if self.one_way.arrive(number, now.since(sent_at)) {
            self.datagrams.on_packet(packet, network);
        }
    }

    fn on_wake(&mut self, now: Instant, network: &mut Network) {
        // A wake-up that was asked for before the stop still comes.
        if self.stopped {
            return;
        }
        self.one_way.send(now);
        self.datagrams.send(now, self.settings.bytes, network);
        network.wake(self.flow, now + self.settings.interval);
    }

    fn delivered(&self) -> u64 {
        self.datagrams.delivered()
    }

    fn tally(&self) -> Tally {
        self.datagrams.tally()
    }

    fn one_way(&self) -> &[OneWay] {
        self.one_way.latest()
    }

    fn earlier(&self) -> Option<&Earlier> {
        self.one_way.earlier()
    }

    fn measure_from(&mut self, now: Instant) {
        self.one_way.measure_from(now);
    }

    fn set_room(&mut self, room: Room) {
        self.one_way.set_room(room);
    }
}
