//! `pulse`: bursts of datagrams at fixed times.

use goodqueue::config::{Declaration, Kind, Parameter};
use goodqueue::{ConfigError, Direction, Duration, Instant, Settings};
use goodqueue_sim::FlowId;
use goodqueue_sim::network::Network;
use goodqueue_sim::packet::Packet;
use goodqueue_sim::traffic::{Datagrams, Named, OwnFlow, Source, Tally};

/// Both ends of a flow of bursts.
#[derive(Debug)]
pub struct Pulse {
    flow: FlowId,
    every: Duration,
    packets: u64,
    stopped: bool,
    datagrams: Datagrams,
}

const EVERY: Parameter = Declaration::time("every")
    .default(Duration::from_secs(1))
    .range(Duration::from_millis(1)..=Duration::from_secs(60))
    .meaning("time from burst to burst");

const PACKETS: Parameter =
    Declaration::packets("packets").default(20).range(1..=10_000).meaning("packets of 1200 bytes in a burst");

impl Named for Pulse {
    const KIND: Kind =
        Kind::new("pulse", "Bursts of datagrams at fixed times").with_parameters(&[EVERY, PACKETS]);

    fn new(flow: OwnFlow, settings: &Settings) -> Result<Self, ConfigError> {
        let datagrams = Datagrams::new(flow.number, flow.direction, false);
        let every = EVERY.read(settings)?;
        let packets = PACKETS.read(settings)?;
        Ok(Self { flow: flow.number, every, packets, stopped: false, datagrams })
    }
}

impl Source for Pulse {
    fn start(&mut self, now: Instant, network: &mut Network) {
        self.on_wake(now, network);
    }

    fn stop(&mut self, _now: Instant) {
        self.stopped = true;
    }

    fn on_wake(&mut self, now: Instant, network: &mut Network) {
        if !self.stopped {
            (0..self.packets).for_each(|_| self.datagrams.send(now, 1200, network));
            network.wake(self.flow, now + self.every);
        }
    }

    fn on_packet(&mut self, _now: Instant, packet: &Packet, _: Direction, network: &mut Network) {
        self.datagrams.on_packet(packet, network);
    }

    fn delivered(&self) -> u64 {
        self.datagrams.delivered()
    }

    fn tally(&self) -> Tally {
        self.datagrams.tally()
    }
}
