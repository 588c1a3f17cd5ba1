//! Links in series.

use alloc::vec::Vec;

use goodqueue::{Flow, Instant, Packet};

use crate::event::Event;
use crate::link::Link;

/// Links one behind the other: a packet that arrives at the end of one is offered to the next.
#[derive(Debug)]
pub struct Path<P: Packet + Flow> {
    /// The links, from the sender to the receiver.
    pub links: Vec<Link<P>>,
}

impl<P: Packet + Flow> Path<P> {
    /// Returns a path of these links, the first nearest to the sender.
    #[must_use]
    pub const fn from_links(links: Vec<Link<P>>) -> Self {
        Self { links }
    }

    /// Offers a packet to the first link. A path without links returns it as an event at once.
    pub fn send(&mut self, now: Instant, packet: P) -> Option<Event<P>> {
        match self.links.first_mut() {
            Some(first) => {
                first.send(now, packet);
                None
            }
            None => Some(Event::Arrived { at: now, packet }),
        }
    }

    /// Returns the next arrival at the end of the path, drop or loss until `now`. Events of one
    /// link come in order of time.
    pub fn poll(&mut self, now: Instant) -> Option<Event<P>> {
        // In the order of the path: what leaves a link now may pass the next one within this call.
        for index in 0..self.links.len() {
            while let Some(event) = self.links[index].poll(now) {
                match (event, self.links.get_mut(index + 1)) {
                    // At the time of the arrival, which may be before `now`.
                    (Event::Arrived { at, packet }, Some(next)) => next.send(at, packet),
                    (event, _) => return Some(event),
                }
            }
        }
        None
    }

    /// Returns the time at which [`Self::poll`] has something to do next, as
    /// [`Link::next_event`].
    #[must_use]
    pub fn next_event(&self) -> Option<Instant> {
        self.links.iter().filter_map(Link::next_event).min()
    }
}
