//! Who looks on at what happens to packets.

pub use goodqueue::Direction;
use goodqueue::{AnyConfig, DropReason, Instant};

use crate::packet::IpPacket;

/// How a direction is changed.
#[derive(Clone, Copy, Debug)]
pub enum Reconfigured<'a> {
    /// The discipline goes on with other settings.
    Settings(&'a AnyConfig),
    /// Another discipline takes over what is queued.
    Discipline(&'a AnyConfig),
    /// The link carries something else.
    Capacity,
}

/// Is told of every packet, in the order in which things happen in each direction.
pub trait Observer {
    /// It came to its queue.
    fn arrived(&mut self, now: Instant, direction: Direction, packet: &IpPacket) {
        let _ = (now, direction, packet);
    }

    /// It left the queue, and its first bit went on the link.
    fn sent(&mut self, now: Instant, direction: Direction, packet: &IpPacket) {
        let _ = (now, direction, packet);
    }

    /// The discipline dropped it.
    fn dropped(&mut self, now: Instant, direction: Direction, packet: &IpPacket, why: DropReason) {
        let _ = (now, direction, packet, why);
    }

    /// The path behind the link lost it.
    fn lost(&mut self, now: Instant, direction: Direction, packet: &IpPacket, why: DropReason) {
        let _ = (now, direction, packet, why);
    }

    /// The discipline or the link is changed now; what it drops in doing so comes next.
    fn reconfigured(&mut self, now: Instant, direction: Direction, change: Reconfigured<'_>) {
        let _ = (now, direction, change);
    }

    /// Nothing happens any more.
    fn ended(&mut self, now: Instant) {
        let _ = now;
    }

    /// A sentence for the user, if this observer could not go on: a full disk, say.
    fn trouble(&mut self) -> Option<String> {
        None
    }
}

/// Any number of them.
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
}
