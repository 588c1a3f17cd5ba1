//! On/off traffic: bursts of datagrams at a constant rate with silence between them, without any
//! reaction to loss.
//!
//! It follows the `Exponential` and `Pareto` sources of ns-2. The length of a burst is drawn as a
//! time and rounded to whole packets, at least one. Silence begins one packet interval after the
//! last packet of a burst.

use goodqueue::random::Xoshiro256PlusPlus;
use goodqueue::{ConfigError, Direction, Duration, Instant, Rate};

use super::datagrams::Datagrams;
use super::distribution::Distribution;
use super::source::{Settings, Source, Tally};
use crate::id::FlowId;
use crate::network::Network;
use crate::packet::Packet;

/// The settings of an on/off sender.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OnOffSettings {
    /// Direction of the datagrams.
    pub direction: Direction,
    /// Rate of the IP packets within a burst.
    pub rate: Rate,
    /// Length of the IP packet in bytes.
    pub bytes: u32,
    /// Length of a burst in seconds.
    pub on: Distribution,
    /// Length of the silence after a burst, in seconds.
    pub off: Distribution,
    /// True if the packets are ECN-capable, ECT(0).
    pub ecn: bool,
}

impl Settings for OnOffSettings {
    const KIND: &'static str = "onoff";

    fn direction(&self) -> Direction {
        self.direction
    }
}

/// An on/off sender.
#[derive(Debug)]
pub struct OnOff {
    flow: FlowId,
    settings: OnOffSettings,
    random: Xoshiro256PlusPlus,
    datagrams: Datagrams,
    /// Time between two packets of a burst.
    interval: Duration,
    /// Packets of the burst that are still to be sent.
    left: u64,
    next_at: Instant,
    stopped: bool,
}

impl OnOff {
    /// Creates the sender for flow number `flow`.
    ///
    /// # Errors
    /// Never.
    pub fn new(
        flow: FlowId,
        settings: &OnOffSettings,
        random: Xoshiro256PlusPlus,
    ) -> Result<Self, ConfigError> {
        // A packet without bytes, or at an extreme rate, takes less than 1 ns. An interval of 0
        // would stop time, and divide by zero in `burst`.
        let interval = settings.rate.serialization(settings.bytes).max(Duration::from_nanos(1));
        Ok(Self {
            flow,
            settings: *settings,
            random,
            datagrams: Datagrams::new(flow, settings.direction, settings.ecn),
            interval,
            left: 0,
            next_at: Instant::ZERO,
            stopped: settings.rate.as_bps() == 0 || settings.bytes == 0,
        })
    }

    /// Draws the number of packets in the next burst.
    fn burst(&mut self) -> u64 {
        let span = self.settings.on.draw_time(&mut self.random).as_nanos();
        let interval = self.interval.as_nanos();
        // Half an interval more rounds to the nearest number.
        ((span.saturating_add(interval / 2)) / interval).max(1)
    }
}

impl Source for OnOff {
    fn start(&mut self, now: Instant, network: &mut Network) {
        self.left = self.burst();
        self.next_at = now;
        self.on_wake(now, network);
    }

    fn stop(&mut self, _now: Instant) {
        self.stopped = true;
    }

    fn on_packet(&mut self, _now: Instant, packet: &Packet, _direction: Direction, network: &mut Network) {
        self.datagrams.on_packet(packet, network);
    }

    fn on_wake(&mut self, now: Instant, network: &mut Network) {
        // A wake-up that was asked for earlier may come before the packet is due.
        if self.stopped || now < self.next_at {
            return;
        }
        self.datagrams.send(now, self.settings.bytes, network);
        // Never below 0, because a burst has at least one packet.
        self.left -= 1;
        self.next_at = now + self.interval;
        // The pause comes on top of the interval: silence begins one interval after the last
        // packet, as in ns-2.
        if self.left == 0 {
            self.next_at += self.settings.off.draw_time(&mut self.random);
            self.left = self.burst();
        }
        network.wake(self.flow, self.next_at);
    }

    fn delivered(&self) -> u64 {
        self.datagrams.delivered()
    }

    fn tally(&self) -> Tally {
        self.datagrams.tally()
    }
}
