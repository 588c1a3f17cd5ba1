//! Observers of the packets in a bottleneck.

pub use goodqueue::Direction;
use goodqueue::{DropReason, Instant};
/// A change of one direction.
pub use goodqueue_link::watch::Change as Reconfigured;

use crate::packet::IpPacket;

/// Receives all events of the packets, in order within each direction.
pub trait Observer {
    /// A packet arrived at its queue.
    fn arrived(&mut self, now: Instant, direction: Direction, packet: &IpPacket) {
        // Named without an underscore, because the documentation shows the names of arguments.
        let _ = (now, direction, packet);
    }

    /// A packet left the queue, and its first bit went on the link.
    fn sent(&mut self, now: Instant, direction: Direction, packet: &IpPacket) {
        let _ = (now, direction, packet);
    }

    /// The discipline dropped a packet.
    fn dropped(&mut self, now: Instant, direction: Direction, packet: &IpPacket, why: DropReason) {
        let _ = (now, direction, packet, why);
    }

    /// The path behind the link lost a packet.
    fn lost(&mut self, now: Instant, direction: Direction, packet: &IpPacket, why: DropReason) {
        let _ = (now, direction, packet, why);
    }

    /// The discipline or the link is about to change. Packets that the change drops are reported
    /// next.
    fn reconfigured(&mut self, now: Instant, direction: Direction, change: Reconfigured<'_>) {
        let _ = (now, direction, change);
    }

    /// The run has ended.
    fn ended(&mut self, now: Instant) {
        let _ = now;
    }

    /// Returns a message for the user if this observer had to stop, for example because of a full
    /// disk.
    fn trouble(&mut self) -> Option<String> {
        None
    }

    /// Returns why a file of this observer is incomplete, after [`trouble`](Self::trouble) told it.
    fn failure(&self) -> Option<&str> {
        None
    }
}

/// Passes each event to all observers of the list.
impl Observer for Vec<Box<dyn Observer>> {
    fn arrived(&mut self, now: Instant, direction: Direction, packet: &IpPacket) {
        self.iter_mut().for_each(|one| one.arrived(now, direction, packet));
    }

    fn sent(&mut self, now: Instant, direction: Direction, packet: &IpPacket) {
        self.iter_mut().for_each(|one| one.sent(now, direction, packet));
    }

    fn dropped(&mut self, now: Instant, direction: Direction, packet: &IpPacket, why: DropReason) {
        self.iter_mut().for_each(|one| one.dropped(now, direction, packet, why));
    }

    fn lost(&mut self, now: Instant, direction: Direction, packet: &IpPacket, why: DropReason) {
        self.iter_mut().for_each(|one| one.lost(now, direction, packet, why));
    }

    fn reconfigured(&mut self, now: Instant, direction: Direction, change: Reconfigured<'_>) {
        self.iter_mut().for_each(|one| one.reconfigured(now, direction, change));
    }

    fn ended(&mut self, now: Instant) {
        self.iter_mut().for_each(|one| one.ended(now));
    }

    fn trouble(&mut self) -> Option<String> {
        self.iter_mut().find_map(|one| one.trouble())
    }

    fn failure(&self) -> Option<&str> {
        self.iter().find_map(|one| one.failure())
    }
}
