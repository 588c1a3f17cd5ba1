//! Two endpoints on one line, in virtual time.

use goodqueue::{Direction, Duration, Flow, Instant, Packet};

use crate::duplex::Duplex;

/// An endpoint without a clock and without sockets.
pub trait Peer<P> {
    /// Takes a packet that arrived.
    fn receive(&mut self, now: Instant, packet: P);

    /// Handles timers that are due, and returns the next packet to send; `None` if there is none
    /// now.
    fn transmit(&mut self, now: Instant) -> Option<P>;

    /// Returns the time of the next timer.
    fn next_timeout(&mut self) -> Option<Instant>;
}

/// A client and a server on a line.
#[derive(Debug)]
pub struct Lab<P: Packet + Flow, C, S> {
    /// The line between them.
    pub line: Duplex<P>,
    /// The endpoint that sends up and receives from the link down.
    pub client: C,
    /// The endpoint that sends down.
    pub server: S,
    now: Instant,
}

impl<P: Packet + Flow, C: Peer<P>, S: Peer<P>> Lab<P, C, S> {
    /// Returns two endpoints at time 0.
    #[must_use]
    pub const fn new(line: Duplex<P>, client: C, server: S) -> Self {
        Self { line, client, server, now: Instant::ZERO }
    }

    /// Returns the time.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// Runs until `is_done` is true, until `end`, or until nothing happens any more. Returns
    /// whether `is_done` became true. It is asked after all that happens at an instant.
    pub fn run(&mut self, end: Instant, mut is_done: impl FnMut(&Self) -> bool) -> bool {
        loop {
            while let Some(packet) = self.client.transmit(self.now) {
                self.line.up.send(self.now, packet);
            }
            while let Some(packet) = self.server.transmit(self.now) {
                self.line.down.send(self.now, packet);
            }
            if is_done(self) {
                return true;
            }
            let timers = [self.client.next_timeout(), self.server.next_timeout(), self.line.next_event()];
            let Some(next) = timers.into_iter().flatten().min().filter(|&next| next <= end) else {
                self.now = self.now.max(end);
                return false;
            };
            // A timer in the past must not stop time.
            self.now = next.max(self.now + Duration::from_nanos(1));
            while let Some((direction, packet)) = self.line.arrival(self.now) {
                match direction {
                    Direction::Down => self.client.receive(self.now, packet),
                    Direction::Up => self.server.receive(self.now, packet),
                }
            }
        }
    }
}
