//! The receiver of the packets that leave a channel, and the counters of radio links.

use goodqueue::{Direction, DropReason, Duration, Instant};

/// Receives the packets that leave the channel, and its measurements.
pub trait Sink<P> {
    /// Reports that `packet` arrived at the other end of `client`'s radio link.
    fn delivered(&mut self, now: Instant, direction: Direction, client: usize, packet: P);

    /// Reports that `packet` will not arrive: its queue dropped it, or the air lost it for good
    /// ([`DropReason::Lost`]).
    fn dropped(&mut self, now: Instant, node: Node, packet: P, why: DropReason);

    /// Reports that `packet` left the managed queue: the discipline's, or the MAC's.
    fn left_queue(&mut self, now: Instant, node: Node, packet: &P) {
        // Named without an underscore, because the documentation shows the names of arguments.
        let _ = (now, node, packet);
    }

    /// Reports that the managed queue now holds `packets`.
    fn queue_length(&mut self, now: Instant, node: Node, packets: usize) {
        let _ = (now, node, packets);
    }
}

/// A sender on the channel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Node {
    /// The access point.
    AccessPoint,
    /// The client with this index.
    Client(usize),
}

/// Counters of one direction of a client's radio link.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct RadioStats {
    /// Time in the air: PPDUs and their answers, without waiting for the channel. Colliding PPDUs
    /// each count in full.
    pub airtime: Duration,
    /// PPDUs sent.
    pub ppdus: u64,
    /// PPDUs that collided.
    pub collisions: u64,
    /// MPDUs sent, retransmissions included.
    pub mpdus: u64,
    /// MPDUs sent that did not arrive.
    pub lost: u64,
    /// MPDUs given up.
    pub given_up: u64,
}

impl RadioStats {
    pub(super) fn since(&self, before: &Self) -> Self {
        Self {
            airtime: Duration::saturating_sub(self.airtime, before.airtime),
            ppdus: self.ppdus - before.ppdus,
            collisions: self.collisions - before.collisions,
            mpdus: self.mpdus - before.mpdus,
            lost: self.lost - before.lost,
            given_up: self.given_up - before.given_up,
        }
    }
}
