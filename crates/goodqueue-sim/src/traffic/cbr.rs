//! Constant bit rate over UDP: datagrams at a fixed interval, whatever becomes of them.

use goodqueue::random::Xoshiro256PlusPlus;
use goodqueue::{ConfigError, Ecn, Instant, Rate};

use super::{Settings, Source, Tally};
use crate::network::Network;
use crate::packet::{Direction, Packet, Payload};

/// What an unresponsive sender sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CbrSettings {
    /// Where the datagrams go.
    pub direction: Direction,
    /// Rate of the IP packets.
    pub rate: Rate,
    /// Bytes of the IP packet.
    pub bytes: u32,
    /// The packets are ECN-capable, ECT(0).
    pub ecn: bool,
}

impl Settings for CbrSettings {
    const KIND: &'static str = "cbr";

    fn direction(&self) -> Direction {
        self.direction
    }
}

/// An unresponsive sender.
#[derive(Debug)]
pub struct Cbr {
    flow: u32,
    direction: Direction,
    rate: Rate,
    bytes: u32,
    ecn: Ecn,
    stopped: bool,
    started_at: Instant,
    sent: u64,
    delivered: u64,
}

/// Bytes of the IPv4 and UDP headers.
const HEADERS: u32 = 28;

impl Cbr {
    /// A sender as flow number `flow`.
    ///
    /// # Errors
    /// Never.
    pub fn new(flow: u32, settings: &CbrSettings, _: Xoshiro256PlusPlus) -> Result<Self, ConfigError> {
        let CbrSettings { direction, rate, bytes, ecn } = *settings;
        let ecn = if ecn { Ecn::Ect0 } else { Ecn::NotEct };
        let (stopped, started_at) = (rate.as_bps() == 0 || bytes == 0, Instant::ZERO);
        Ok(Self { flow, direction, rate, bytes, ecn, stopped, started_at, sent: 0, delivered: 0 })
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

    fn on_packet(&mut self, _now: Instant, packet: &Packet, _direction: Direction, _network: &mut Network) {
        if let Payload::Datagram { .. } = packet.payload {
            self.delivered += u64::from(self.bytes.saturating_sub(HEADERS));
        }
    }

    fn on_wake(&mut self, now: Instant, network: &mut Network) {
        if self.stopped {
            return;
        }
        let payload = Payload::Datagram { sent_at: now, number: self.sent, ecn: self.ecn };
        network.send(now, self.direction, self.flow, self.bytes, payload);
        self.sent += 1;
        // From the start, not from the last datagram: roundings must not add up.
        let nanos =
            u128::from(self.sent) * u128::from(self.bytes) * 8_000_000_000 / u128::from(self.rate.as_bps());
        let due = self.started_at.as_nanos().saturating_add(u64::try_from(nanos).unwrap_or(u64::MAX));
        network.wake(self.flow, Instant::from_nanos(due.max(now.as_nanos() + 1)));
    }

    fn delivered(&self) -> u64 {
        self.delivered
    }

    fn tally(&self) -> Tally {
        Tally { delivered: self.delivered, sent: self.sent, ..Tally::default() }
    }
}
