//! Both directions of a line.

use goodqueue::config::ConfigError;
use goodqueue::{Direction, Flow, Instant, Packet};

use crate::builder::LinkBuilder;
use crate::event::Event;
use crate::link::Link;

/// Two links in opposite directions.
#[derive(Debug)]
pub struct Duplex<P: Packet + Flow> {
    /// From the server to the client.
    pub down: Link<P>,
    /// From the client to the server.
    pub up: Link<P>,
}

impl<P: Packet + Flow> Duplex<P> {
    /// Returns a line with these links.
    #[must_use]
    pub const fn new(down: Link<P>, up: Link<P>) -> Self {
        Self { down, up }
    }

    /// Returns a line whose directions are alike, except that they draw different random numbers.
    ///
    /// # Errors
    /// As [`LinkBuilder::build`].
    pub fn symmetric(builder: &LinkBuilder) -> Result<Self, ConfigError> {
        // With equal seeds both directions would draw the same losses.
        Ok(Self::new(builder.build()?, builder.clone().with_other_seed().build()?))
    }

    /// Offers a packet to the queue of a direction.
    pub fn send(&mut self, direction: Direction, now: Instant, packet: P) {
        self.link_mut(direction).send(now, packet);
    }

    /// Returns the next event of either direction until `now`, in order of time in each direction.
    pub fn poll(&mut self, now: Instant) -> Option<(Direction, Event<P>)> {
        Direction::BOTH
            .into_iter()
            .find_map(|direction| self.link_mut(direction).poll(now).map(|event| (direction, event)))
    }

    /// Returns the next packet that arrives until `now`, as [`Self::poll`]. Dropped and lost
    /// packets are only counted.
    pub fn arrival(&mut self, now: Instant) -> Option<(Direction, P)> {
        loop {
            let (direction, event) = self.poll(now)?;
            if let Some(packet) = event.arrived() {
                return Some((direction, packet));
            }
        }
    }

    /// Returns the time at which [`Self::poll`] has something to do next, as
    /// [`Link::next_event`].
    #[must_use]
    pub fn next_event(&self) -> Option<Instant> {
        [&self.down, &self.up].into_iter().filter_map(Link::next_event).min()
    }

    /// Returns the link of a direction.
    pub const fn link_mut(&mut self, direction: Direction) -> &mut Link<P> {
        match direction {
            Direction::Down => &mut self.down,
            Direction::Up => &mut self.up,
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use goodqueue::{Datagram, FlowKey};

    use super::*;
    use crate::units::Units as _;

    #[test]
    fn an_arrival_is_a_packet_that_was_neither_dropped_nor_lost() {
        let line = LinkBuilder::new().rate(10.mbit()).loss(0.5).seed(7);
        let mut line = Duplex::symmetric(&line).expect("valid");
        let flow = FlowKey::new(([192, 0, 2, 1], 1).into(), ([192, 0, 2, 2], 2).into(), FlowKey::UDP);
        for number in 0..100 {
            line.send(Direction::Up, Instant::ZERO, Datagram::new(flow, 1000, number));
            line.send(Direction::Down, Instant::ZERO, Datagram::new(flow.reversed(), 1000, number));
        }
        let end = Instant::ZERO + 1.s();
        let arrived: Vec<Direction> =
            core::iter::from_fn(|| line.arrival(end)).map(|(direction, _)| direction).collect();
        for (direction, link) in [(Direction::Down, &line.down), (Direction::Up, &line.up)] {
            let stats = link.stats();
            let count = arrived.iter().filter(|&&arrival| arrival == direction).count();
            assert_eq!(count as u64, stats.arrived.packets);
            assert!((1..100).contains(&count), "{count} of 100");
        }
        assert_eq!(line.next_event(), None);
    }
}
