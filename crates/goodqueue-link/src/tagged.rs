//! Packets with something that their owner wants back.

use goodqueue::{Ecn, Flow, Instant, Packet, TcpAck};

use crate::watch::Numbered;

/// A packet and a tag. A discipline sees the packet only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tagged<T, P> {
    /// The tag.
    pub tag: T,
    /// The packet.
    pub packet: P,
}

/// The arrival of a packet at the queue of a [`Link`](crate::Link).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// Time of the arrival.
    pub at: Instant,
    /// Number of the arrival, from 0. A copy that `netem` makes has the number of its original.
    pub number: u64,
}

/// A packet in a [`Link`](crate::Link).
pub type Queued<P> = Tagged<Arrival, P>;

impl<P> Numbered for Queued<P> {
    fn number(&self) -> u64 {
        self.tag.number
    }
}

impl<T: Clone, P: Packet> Packet for Tagged<T, P> {
    fn len(&self) -> u32 {
        self.packet.len()
    }

    fn ecn(&self) -> Ecn {
        self.packet.ecn()
    }

    fn set_ce(&mut self) -> bool {
        self.packet.set_ce()
    }

    fn truesize(&self) -> Option<u32> {
        self.packet.truesize()
    }

    fn earliest_departure(&self) -> Option<Instant> {
        self.packet.earliest_departure()
    }

    fn duplicate(&self) -> Option<Self> {
        let packet = self.packet.duplicate()?;
        Some(Self { tag: self.tag.clone(), packet })
    }

    fn corrupt(&mut self, byte: u32, bit: u8) -> bool {
        self.packet.corrupt(byte, bit)
    }
}

impl<T, P: Flow> Flow for Tagged<T, P> {
    fn flow_hash(&self, salt: u32) -> u32 {
        self.packet.flow_hash(salt)
    }

    fn class(&self) -> Option<u32> {
        self.packet.class()
    }

    fn mark(&self) -> u32 {
        self.packet.mark()
    }

    fn source_hash(&self, salt: u32) -> u32 {
        self.packet.source_hash(salt)
    }

    fn destination_hash(&self, salt: u32) -> u32 {
        self.packet.destination_hash(salt)
    }

    fn nodes(&self) -> Option<(u32, u32)> {
        self.packet.nodes()
    }

    fn dscp(&self) -> u8 {
        self.packet.dscp()
    }

    fn clear_dscp(&mut self) {
        self.packet.clear_dscp();
    }

    fn priority(&self) -> u8 {
        self.packet.priority()
    }

    fn tcp_ack(&self) -> Option<TcpAck> {
        self.packet.tcp_ack()
    }

    fn same_flow(&self, other: &Self) -> bool {
        self.packet.same_flow(&other.packet)
    }
}
