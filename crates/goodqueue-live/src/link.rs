//! One direction of the bottleneck, without a clock: a [`Line`] of real IP packets, with its meter
//! and its observers.
//!
//! A process wakes up late. The line computes in the time of its packets, so lateness only delays
//! the handing over of packets: see [`goodqueue_link::line`].

use goodqueue::{AnyConfig, AnyQdisc, DropReason, Duration, Instant, Packet, Stats};
use goodqueue_link::capacity::Capacity;
use goodqueue_link::line::{Line, LineConfig};
use goodqueue_link::watch::{Change, Delays, Numbered, Watch};

use crate::meter::Meter;
use crate::observer::{Direction, Observer};
use crate::packet::IpPacket;

/// Configuration of a link.
pub type LinkConfig = LineConfig<Delay>;

/// Propagation delay of all packets, or by their ports.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Delay {
    /// Delay of packets without an entry in `by_port`.
    pub base: Duration,
    /// Delays of packets from or to these ports, in ascending order of ports.
    pub by_port: Vec<(u16, Duration)>,
}

impl Delay {
    /// Returns a delay that all packets share.
    #[must_use]
    pub const fn from_base(base: Duration) -> Self {
        Self { base, by_port: Vec::new() }
    }
}

impl Delays<IpPacket> for Delay {
    fn delay_of(&self, packet: &IpPacket) -> Duration {
        if self.by_port.is_empty() {
            return self.base;
        }
        let (source, destination) = packet.headers().ports;
        let of = |port| {
            let index = self.by_port.binary_search_by_key(&port, |entry| entry.0).ok()?;
            self.by_port.get(index).map(|entry| entry.1)
        };
        // A flow has one port of its own. The other one depends on the system.
        of(source).or_else(|| of(destination)).unwrap_or(self.base)
    }

    fn longest(&self) -> Duration {
        self.by_port.iter().map(|entry| entry.1).fold(self.base, Duration::max)
    }
}

impl Numbered for IpPacket {
    fn number(&self) -> u64 {
        self.seq
    }
}

/// One running direction of the bottleneck.
#[derive(Debug)]
pub struct Link {
    direction: Direction,
    line: Line<IpPacket, Delay>,
    /// Measurements of this direction.
    pub meter: Meter,
}

impl Link {
    /// Creates a link that starts at time 0.
    #[must_use]
    pub fn new(direction: Direction, config: &LinkConfig) -> Self {
        Self { direction, line: Line::from_config(config.clone()), meter: Meter::default() }
    }

    /// Takes an arriving packet. Times must not decrease.
    pub fn arrive(&mut self, now: Instant, packet: IpPacket, observer: &mut impl Observer) {
        let mut watch = Measured { direction: self.direction, meter: &mut self.meter, observer };
        self.line.arrive(now, packet, &mut watch);
    }

    /// Processes everything that is due before `now`, and returns the next packet that has reached
    /// the other side.
    pub fn poll(&mut self, now: Instant, observer: &mut impl Observer) -> Option<IpPacket> {
        let mut watch = Measured { direction: self.direction, meter: &mut self.meter, observer };
        self.line.poll(now, &mut watch).map(|(_, packet)| packet)
    }

    /// Returns the time at which [`Self::poll`] has something to do next.
    #[must_use]
    pub fn next_event(&self) -> Option<Instant> {
        self.line.next_event()
    }

    /// True if sending the backlog takes longer than `span` and sending a full packet takes less.
    /// The link then stays busy for that long, whatever arrives.
    pub(crate) fn is_dense(&self, now: Instant, span: Duration) -> bool {
        self.line.is_dense(now, span, FULL_PACKET)
    }

    /// Ends the link: sends the queued packets as if no others arrived, and purges packets that a
    /// blocked link holds.
    pub fn finish(&mut self, now: Instant, observer: &mut impl Observer) {
        let mut watch = Measured { direction: self.direction, meter: &mut self.meter, observer };
        self.line.finish(now, &mut watch);
    }

    /// Replaces the discipline or its configuration, as [`Line::reconfigure`].
    pub fn reconfigure(&mut self, now: Instant, config: AnyConfig, observer: &mut impl Observer) {
        let mut watch = Measured { direction: self.direction, meter: &mut self.meter, observer };
        self.line.reconfigure(now, config, &mut watch);
    }

    /// Changes the capacity. The current packet finishes at the old rate.
    pub fn set_capacity(&mut self, now: Instant, capacity: Capacity, observer: &mut impl Observer) {
        let mut watch = Measured { direction: self.direction, meter: &mut self.meter, observer };
        self.line.set_capacity(now, capacity, &mut watch);
    }

    /// Returns the capacity.
    #[must_use]
    pub const fn capacity(&self) -> &Capacity {
        self.line.capacity()
    }

    /// Returns the discipline.
    #[must_use]
    pub const fn qdisc(&self) -> &AnyQdisc<IpPacket> {
        self.line.qdisc()
    }

    /// Returns the counters of the discipline and of its predecessors.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.line.stats()
    }

    /// Returns the most bytes that can propagate at a time; `None` without a limit.
    pub(crate) fn most_propagating(&self) -> Option<u64> {
        self.line.most_propagating()
    }

    /// Returns the number of packets that have left the queue and not yet reached the other side.
    #[must_use]
    pub fn propagating(&self) -> usize {
        self.line.propagating()
    }
}

/// Measures each event and passes it to the observer.
struct Measured<'a, O> {
    direction: Direction,
    meter: &'a mut Meter,
    observer: &'a mut O,
}

impl<O: Observer> Watch<IpPacket> for Measured<'_, O> {
    fn arrived(&mut self, at: Instant, packet: &IpPacket) {
        self.observer.arrived(at, self.direction, packet);
        self.meter.arrived(packet.len());
    }

    fn sent(&mut self, at: Instant, packet: &IpPacket) {
        self.meter.sent(packet.len(), at.since(packet.arrived));
        self.observer.sent(at, self.direction, packet);
    }

    fn dropped(&mut self, at: Instant, packet: IpPacket, why: DropReason) {
        self.meter.dropped(why);
        self.observer.dropped(at, self.direction, &packet, why);
    }

    fn lost(&mut self, at: Instant, packet: IpPacket, why: DropReason) {
        self.observer.lost(at, self.direction, &packet, why);
    }

    fn length_is(&mut self, at: Instant, packets: usize) {
        self.meter.length_is(at, packets);
    }

    fn reconfigured(&mut self, at: Instant, change: Change<'_>) {
        self.observer.reconfigured(at, self.direction, change);
    }
}

/// Bytes of a full packet on Ethernet.
const FULL_PACKET: u32 = 1514;

#[cfg(test)]
mod tests;
