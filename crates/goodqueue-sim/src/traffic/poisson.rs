//! Datagrams that arrive as a Poisson process, with fixed or random lengths. They make a link the
//! M/D/1 or M/M/1 queue of queueing theory.

use goodqueue::random::Xoshiro256PlusPlus;
use goodqueue::{ConfigError, Direction, Duration, Instant, Rate};

use super::datagrams::Datagrams;
use super::distribution::Distribution;
use super::source::{Settings, Source, Tally};
use crate::id::FlowId;
use crate::network::Network;
use crate::packet::Packet;

/// The settings of a Poisson sender.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PoissonSettings {
    /// Direction of the datagrams.
    pub direction: Direction,
    /// Mean rate of the IP packets. It gives the mean gap: the time that a packet of mean length
    /// takes at this rate.
    pub rate: Rate,
    /// Mean length of the IP packets in bytes, within the limits ([`Distribution::mean_within`]).
    pub mean_bytes: u32,
    /// Length of each IP packet in bytes.
    pub bytes: Distribution,
    /// Shortest and longest packet in bytes; lengths beyond these are limited to them.
    pub limits: (u32, u32),
    /// True if the packets are ECN-capable, ECT(0).
    pub ecn: bool,
}

impl Settings for PoissonSettings {
    const KIND: &'static str = "poisson";

    fn direction(&self) -> Direction {
        self.direction
    }
}

/// A Poisson sender.
#[derive(Debug)]
pub struct Poisson {
    flow: FlowId,
    settings: PoissonSettings,
    random: Xoshiro256PlusPlus,
    datagrams: Datagrams,
    gap: Distribution,
    next_at: Instant,
    stopped: bool,
}

impl Poisson {
    /// Creates the sender for flow number `flow`.
    ///
    /// # Errors
    /// Never.
    #[expect(clippy::cast_precision_loss, reason = "a rate is far below 2^53 bit/s")]
    pub fn new(
        flow: FlowId,
        settings: &PoissonSettings,
        random: Xoshiro256PlusPlus,
    ) -> Result<Self, ConfigError> {
        let rate = settings.rate.as_bps();
        Ok(Self {
            flow,
            settings: *settings,
            random,
            datagrams: Datagrams::new(flow, settings.direction, settings.ecn),
            // A rate of 0 sends nothing (`stopped`), and must not divide.
            gap: Distribution::Exponential(f64::from(settings.mean_bytes) * 8.0 / rate.max(1) as f64),
            next_at: Instant::ZERO,
            stopped: rate == 0 || settings.mean_bytes == 0,
        })
    }

    fn wait(&mut self, now: Instant, network: &mut Network) {
        // A gap of at least 1 ns, so that an extreme rate cannot stop time.
        self.next_at = now + self.gap.draw_time(&mut self.random).max(Duration::from_nanos(1));
        network.wake(self.flow, self.next_at);
    }
}

impl Source for Poisson {
    fn start(&mut self, now: Instant, network: &mut Network) {
        if !self.stopped {
            self.wait(now, network);
        }
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
        let (shortest, longest) = self.settings.limits;
        let drawn = self.settings.bytes.draw_bytes(&mut self.random);
        // Not `clamp`, which panics if the shortest packet is longer than the longest.
        let bytes = u32::try_from(drawn).unwrap_or(u32::MAX).min(longest).max(shortest);
        self.datagrams.send(now, bytes, network);
        self.wait(now, network);
    }

    fn delivered(&self) -> u64 {
        self.datagrams.delivered()
    }

    fn tally(&self) -> Tally {
        self.datagrams.tally()
    }
}
