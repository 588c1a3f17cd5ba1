//! Several connections at one link.

use goodqueue::{Flow, Instant, Packet};

use crate::event::Event;
use crate::link::Link;
use crate::tagged::Tagged;

/// A link at which several connections meet. Each packet comes back with the key of its connection.
///
/// A connection is whatever the caller drives apart from the others, such as an endpoint. The
/// discipline separates flows by [`Flow::flow_hash`], not by these keys.
#[derive(Debug)]
pub struct Shared<K: Clone, P: Packet + Flow> {
    /// The link.
    pub link: Link<Tagged<K, P>>,
}

impl<K: Clone, P: Packet + Flow> Shared<K, P> {
    /// Returns a shared link.
    #[must_use]
    pub const fn from_link(link: Link<Tagged<K, P>>) -> Self {
        Self { link }
    }

    /// Offers a packet of connection `key`.
    pub fn send(&mut self, key: K, now: Instant, packet: P) {
        self.link.send(now, Tagged { tag: key, packet });
    }

    /// Returns the next event until `now`, and the connection whose packet it concerns.
    pub fn poll(&mut self, now: Instant) -> Option<(K, Event<P>)> {
        let event = self.link.poll(now)?;
        let mut key = None;
        let event = event.map(|keyed| {
            key = Some(keyed.tag);
            keyed.packet
        });
        key.map(|key| (key, event))
    }

    /// Returns the time at which [`Self::poll`] has something to do next, as
    /// [`Link::next_event`].
    #[must_use]
    pub fn next_event(&self) -> Option<Instant> {
        self.link.next_event()
    }
}
