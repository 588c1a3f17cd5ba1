//! What a [`Line`](crate::line::Line) reports of its packets.

use goodqueue::{AnyConfig, DropReason, Duration, Instant};

/// Receives every event of a line, in the order in which they happen.
///
/// The times are those of the events. They may be earlier than the call that reports them, because
/// a line catches up with everything that happened since its last call. Every method has an empty
/// default.
pub trait Watch<P> {
    /// A packet arrived at the queue.
    fn arrived(&mut self, at: Instant, packet: &P) {
        // Named without an underscore, because the documentation shows the names of arguments.
        let _ = (at, packet);
    }

    /// A packet left the queue, and its first bit went on the line.
    fn sent(&mut self, at: Instant, packet: &P) {
        let _ = (at, packet);
    }

    /// The discipline dropped a packet.
    fn dropped(&mut self, at: Instant, packet: P, why: DropReason) {
        let _ = (at, packet, why);
    }

    /// The path behind the line lost a packet.
    fn lost(&mut self, at: Instant, packet: P, why: DropReason) {
        let _ = (at, packet, why);
    }

    /// The queue holds this number of packets from `at` on.
    fn length_is(&mut self, at: Instant, packets: usize) {
        let _ = (at, packets);
    }

    /// The discipline or the line is about to change. Packets that the change drops are reported
    /// next.
    fn reconfigured(&mut self, at: Instant, change: Change<'_>) {
        let _ = (at, change);
    }
}

/// A change of a line.
#[derive(Clone, Copy, Debug)]
pub enum Change<'a> {
    /// The discipline continues with other settings.
    Settings(&'a AnyConfig),
    /// Another discipline takes over the queued packets.
    Discipline(&'a AnyConfig),
    /// The capacity of the line changes.
    Capacity,
}

/// A packet that is numbered in the order of its arrival.
///
/// A change of the discipline can drop packets of many queues, and can hand packets over to another
/// discipline. Both happen in the order of these numbers.
pub trait Numbered {
    /// Returns the number of the packet.
    fn number(&self) -> u64;
}

#[cfg(feature = "tc")]
impl Numbered for goodqueue_tc::replay::Arrival {
    fn number(&self) -> u64 {
        self.seq
    }
}

/// The propagation delay of each packet.
pub trait Delays<P> {
    /// Returns the delay of `packet`. Few different delays are expected: the line keeps one queue
    /// for each.
    fn delay_of(&self, packet: &P) -> Duration;

    /// Returns the longest delay of any packet.
    fn longest(&self) -> Duration;
}

/// All packets have the same delay.
impl<P> Delays<P> for Duration {
    fn delay_of(&self, _: &P) -> Duration {
        *self
    }

    fn longest(&self) -> Duration {
        *self
    }
}
