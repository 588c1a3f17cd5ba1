//! Constant bit rate over UDP: datagrams at a fixed interval, without any reaction to loss.

use goodqueue::random::Xoshiro256PlusPlus;
use goodqueue::{ConfigError, Direction, Instant, Rate};

use super::datagrams::Datagrams;
use super::source::{Settings, Source, Tally};
use crate::id::FlowId;
use crate::network::Network;
use crate::packet::Packet;

/// The settings of a sender with a constant bit rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CbrSettings {
    /// Direction of the datagrams.
    pub direction: Direction,
    /// Rate of the IP packets.
    pub rate: Rate,
    /// Length of the IP packet in bytes.
    pub bytes: u32,
    /// True if the packets are ECN-capable, ECT(0).
    pub ecn: bool,
    /// True if the packets carry ECT(1), the identifier of L4S, although the sender ignores marks.
    pub l4s: bool,
}

impl Settings for CbrSettings {
    const KIND: &'static str = "cbr";

    fn direction(&self) -> Direction {
        self.direction
    }
}

/// A sender with a constant bit rate.
#[derive(Debug)]
pub struct Cbr {
    flow: FlowId,
    rate: Rate,
    bytes: u32,
    datagrams: Datagrams,
    stopped: bool,
    started_at: Instant,
}

impl Cbr {
    /// Creates the sender for flow number `flow`.
    ///
    /// # Errors
    /// Never.
    pub fn new(flow: FlowId, settings: &CbrSettings, _: Xoshiro256PlusPlus) -> Result<Self, ConfigError> {
        let CbrSettings { direction, rate, bytes, ecn, l4s } = *settings;
        // Neither sends anything. A rate of 0 would also be a divisor, and packets without bytes
        // have no interval.
        let stopped = rate.as_bps() == 0 || bytes == 0;
        let datagrams = Datagrams::new(flow, direction, ecn);
        let datagrams = if l4s { datagrams.as_l4s() } else { datagrams };
        Ok(Self { flow, rate, bytes, datagrams, stopped, started_at: Instant::ZERO })
    }
}

impl Source for Cbr {
    fn start(&mut self, now: Instant, network: &mut Network) {
        self.started_at = now;
        self.on_wake(now, network);
    }

    fn stop(&mut self, _now: Instant) {
        self.stopped = true;
    }

    fn on_packet(&mut self, _now: Instant, packet: &Packet, _direction: Direction, network: &mut Network) {
        self.datagrams.on_packet(packet, network);
    }

    fn on_wake(&mut self, now: Instant, network: &mut Network) {
        // A wake-up that was asked for before the stop still comes.
        if self.stopped {
            return;
        }
        self.datagrams.send(now, self.bytes, network);
        // The time counts from the start, not from the last datagram, so that rounding errors do
        // not add up.
        let bits = u128::from(self.datagrams.sent()) * u128::from(self.bytes) * 8;
        let nanos = bits * 1_000_000_000 / u128::from(self.rate.as_bps());
        let due = self.started_at.as_nanos().saturating_add(u64::try_from(nanos).unwrap_or(u64::MAX));
        // At least 1 ns later, so that an extreme rate cannot stop time.
        network.wake(self.flow, Instant::from_nanos(due.max(now.as_nanos() + 1)));
    }

    fn delivered(&self) -> u64 {
        self.datagrams.delivered()
    }

    fn tally(&self) -> Tally {
        self.datagrams.tally()
    }
}
