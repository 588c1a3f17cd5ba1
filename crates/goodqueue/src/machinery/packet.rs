//! What a discipline needs to know of a packet: its length, its ECN field and, for flow queueing,
//! its flow.

pub use crate::hash::scale_hash;
use crate::time::Instant;

#[cfg(test)]
pub(crate) mod story;

/// The two ECN bits of the IP header (RFC 3168 §5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Ecn {
    /// `00`: the transport does not understand ECN; congestion is signalled by a drop.
    #[default]
    NotEct,
    /// `01`: ECN-capable, and asking for L4S treatment (RFC 9331).
    Ect1,
    /// `10`: ECN-capable.
    Ect0,
    /// `11`: congestion experienced.
    Ce,
}

impl Ecn {
    /// Returns the field in the low two bits of the TOS byte. Higher bits are ignored.
    #[must_use]
    pub const fn from_bits(tos: u8) -> Self {
        match tos & 3 {
            0 => Self::NotEct,
            1 => Self::Ect1,
            2 => Self::Ect0,
            _ => Self::Ce,
        }
    }

    /// The two bits.
    #[must_use]
    pub const fn bits(self) -> u8 {
        match self {
            Self::NotEct => 0,
            Self::Ect1 => 1,
            Self::Ect0 => 2,
            Self::Ce => 3,
        }
    }

    /// True unless the transport is not ECN-capable.
    #[must_use]
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotEct)
    }

    /// Sets CE if the transport is ECN-capable. Returns whether it is, as [`Packet::set_ce`] must.
    #[inline]
    pub const fn mark(&mut self) -> bool {
        if self.is_capable() {
            *self = Self::Ce;
        }
        self.is_capable()
    }
}

/// A packet, as far as a queue cares.
pub trait Packet {
    /// Length in bytes as the link counts it. The kernel counts the Ethernet header: 1514 for a
    /// 1500-byte IP packet.
    fn len(&self) -> u32;

    /// True for a packet of no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The ECN field now.
    fn ecn(&self) -> Ecn;

    /// Sets CE (RFC 3168 §5). Returns true if the packet now carries CE, also when it did before;
    /// returns false and changes nothing if it is Not-ECT.
    fn set_ce(&mut self) -> bool;

    /// Returns the bytes of memory that the packet's buffers take (Linux: `skb->truesize`). The
    /// memory limits of Linux's disciplines count them. `None` (the default): the discipline's
    /// `truesize` derives them from the length.
    fn truesize(&self) -> Option<u32> {
        None
    }

    /// Returns the time before which the sender lets the packet not depart (Linux: `skb->tstamp`,
    /// the "earliest departure time"). A discipline that paces waits for it. `None` (the default):
    /// at once.
    fn earliest_departure(&self) -> Option<Instant> {
        None
    }

    /// Returns a second packet of the same content, for an emulated network that duplicates
    /// packets. `None` (the default): this packet is not duplicated.
    fn duplicate(&self) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }

    /// Flips bit `bit` of byte `byte`, for an emulated network that corrupts. False (the default):
    /// there are no bytes to flip bits in; such a network loses the packet, as a checksum would
    /// make the receiver do.
    fn corrupt(&mut self, byte: u32, bit: u8) -> bool {
        // Named without an underscore, because the documentation shows the names of arguments.
        let _ = (byte, bit);
        false
    }
}

/// The flow, hosts and class of a packet.
pub trait Flow {
    /// Returns a hash of the flow's identity (the 5-tuple), well mixed with `salt`.
    fn flow_hash(&self, salt: u32) -> u32;

    /// Returns the class that was chosen for this packet earlier, counted from 1, as tc does with
    /// `skb->priority`. It overrides the hash. `None` (the default): the hash decides.
    fn class(&self) -> Option<u32> {
        None
    }

    /// Returns the mark that a firewall put on the packet, as Linux's `skb->mark`. 0 (the default)
    /// means no mark.
    fn mark(&self) -> u32 {
        0
    }

    /// A hash of the host that sent the packet, well mixed with `salt`. The default: each flow has
    /// a host of its own.
    fn source_hash(&self, salt: u32) -> u32 {
        self.flow_hash(salt)
    }

    /// A hash of the host that the packet goes to, well mixed with `salt`. The default: each flow
    /// has a host of its own.
    fn destination_hash(&self, salt: u32) -> u32 {
        self.flow_hash(salt)
    }

    /// The numbers of the two nodes that the packet travels between, in a simulator that numbers
    /// them one after the other; what ns-2's SFQ hashes. `None` (the default): there are none.
    fn nodes(&self) -> Option<(u32, u32)> {
        None
    }

    /// The Differentiated Services code point (RFC 2474), the upper six bits of the TOS byte.
    fn dscp(&self) -> u8 {
        0
    }

    /// Clears the Differentiated Services code point, as a border of a domain does (RFC 2475
    /// §2.3.3). The default leaves it.
    fn clear_dscp(&mut self) {}

    /// The priority that a classless scheduler of bands goes by, from 0 to 15, as Linux's
    /// `skb->priority`. The default follows the TOS byte as Linux's routers have it (tc-prio(8)):
    /// bulk 2, interactive 6, both 4, else 0.
    fn priority(&self) -> u8 {
        // The bits of RFC 1349's TOS field for throughput and for delay.
        match self.dscp() >> 1 & 3 {
            1 => 2,
            2 => 6,
            3 => 4,
            _ => 0,
        }
    }

    /// Returns the acknowledgement of a TCP segment with the ACK flag and without SYN.
    fn tcp_ack(&self) -> Option<TcpAck> {
        None
    }

    /// True if both packets belong to one flow, whatever class was chosen for them. The default
    /// compares 64 bits of hash.
    fn same_flow(&self, other: &Self) -> bool
    where
        Self: Sized,
    {
        [0, u32::MAX].into_iter().all(|salt| self.flow_hash(salt) == other.flow_hash(salt))
    }
}

/// The acknowledgement that a TCP segment carries, as far as an ACK filter cares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TcpAck {
    /// The acknowledgement number.
    pub number: u32,
    /// The flags ECE (2) and CWR (1).
    pub ecn: u8,
    /// Bytes acknowledged by SACK blocks; `u32::MAX` for a duplicate SACK, which is never
    /// superfluous and makes nothing superfluous that has SACK blocks.
    pub sacked: u32,
    /// TSval and TSecr of the timestamps option; 0 without.
    pub timestamps: (u32, u32),
    /// True if the segment carries nothing but an acknowledgement: no data, no other flag and no
    /// other option.
    pub pure: bool,
}

impl TcpAck {
    /// Returns true if `later`, of the same connection, repeats everything that this
    /// acknowledgement reports.
    #[must_use]
    pub fn is_superseded_by(&self, later: &Self) -> bool {
        // Sequence numbers and timestamps wrap, so half of their range counts as later.
        let not_after = |a: u32, b: u32| b.wrapping_sub(a) <= u32::MAX >> 1;
        self.pure
            && not_after(self.number, later.number)
            && not_after(self.timestamps.0, later.timestamps.0)
            && not_after(self.timestamps.1, later.timestamps.1)
            && self.sacked <= later.sacked
            && (self.sacked == 0 || later.sacked < u32::MAX)
            // Two equal ones are duplicate ACKs: their number counts.
            && (self.number != later.number || self.sacked < later.sacked)
    }
}
