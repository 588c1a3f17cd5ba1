//! A packet for programs that have no packet type of their own.

use crate::hash::FlowKey;
use crate::packet::{Ecn, Flow, Packet};

/// Content of any type with what a discipline must know of it: length, ECN field and flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Datagram<T> {
    /// Addresses, ports and protocol.
    pub key: FlowKey,
    /// Length on the link in bytes.
    pub bytes: u32,
    /// ECN field. A discipline sets [`Ecn::Ce`] as a congestion mark.
    pub ecn: Ecn,
    /// Differentiated Services code point.
    pub dscp: u8,
    /// Your packet, buffer or request.
    pub content: T,
}

impl<T> Datagram<T> {
    /// Returns a datagram of `bytes` that is not ECN-capable and has the default code point.
    pub const fn new(key: FlowKey, bytes: u32, content: T) -> Self {
        Self { key, bytes, ecn: Ecn::NotEct, dscp: 0, content }
    }
}

impl<T> Packet for Datagram<T> {
    fn len(&self) -> u32 {
        self.bytes
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn set_ce(&mut self) -> bool {
        self.ecn.mark()
    }
}

impl<T> Flow for Datagram<T> {
    fn flow_hash(&self, salt: u32) -> u32 {
        self.key.flow_hash(salt)
    }

    fn source_hash(&self, salt: u32) -> u32 {
        self.key.source_hash(salt)
    }

    fn destination_hash(&self, salt: u32) -> u32 {
        self.key.destination_hash(salt)
    }

    fn dscp(&self) -> u8 {
        self.dscp
    }

    fn clear_dscp(&mut self) {
        self.dscp = 0;
    }

    fn same_flow(&self, other: &Self) -> bool {
        self.key == other.key
    }
}
