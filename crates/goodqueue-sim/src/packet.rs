//! The packet of the simulator: plain data, moved by value.

use goodqueue::random::mix_64;
use goodqueue::{Ecn, Flow, Instant, TcpAck};
use goodqueue_tcp::{Flags, Segment};

/// Towards the client or away from it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Direction {
    /// From the server to the client: a download's data.
    Down,
    /// From the client to the server: an upload's data, a download's acknowledgements.
    Up,
}

impl Direction {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::Down, Self::Up];

    /// The other one.
    #[must_use]
    pub const fn reverse(self) -> Self {
        match self {
            Self::Down => Self::Up,
            Self::Up => Self::Down,
        }
    }

    /// 0 for down, 1 for up.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The word used in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Down => "down",
            Self::Up => "up",
        }
    }
}

/// A packet on its way.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// When it came to the queue that it is in.
    pub queued_at: Instant,
    /// The flow that it belongs to, by its number in the scenario.
    pub flow: u32,
    /// Which of the flow's connections, times two; the two halves of a connection differ in the last bit.
    pub connection: u32,
    /// Bytes as the queue counts them, link header included.
    pub len: u32,
    /// Who sent it to whom, and how it is marked.
    pub ends: Ends,
    /// What it carries.
    pub payload: Payload,
}

/// The hosts of a packet and its marking, in four bytes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Ends {
    /// Number of the client.
    pub client: u16,
    /// Number of the server.
    pub server: u8,
    /// The code point, and above it the direction, and whether it is a copy.
    marks: u8,
}

impl Ends {
    /// Of packets between these two that travel down, with this Differentiated Services code point (RFC 2474), whose low six
    /// bits are taken.
    #[must_use]
    pub const fn new(client: u16, server: u8, dscp: u8) -> Self {
        Self { client, server, marks: dscp & DSCP }
    }

    /// The same, in this direction.
    #[must_use]
    #[inline]
    pub const fn towards(self, direction: Direction) -> Self {
        Self { marks: (self.marks & DSCP) | (direction as u8) << 6, ..self }
    }

    /// The code point.
    #[must_use]
    pub const fn dscp(self) -> u8 {
        self.marks & DSCP
    }

    /// The same, with code point 0.
    #[must_use]
    pub const fn without_dscp(self) -> Self {
        Self { marks: self.marks & !DSCP, ..self }
    }

    /// True if the client is the sender.
    #[must_use]
    pub const fn is_up(self) -> bool {
        self.marks & UP != 0
    }

    /// True if a queue made it as a copy of another packet.
    #[must_use]
    #[inline]
    pub const fn is_copy(self) -> bool {
        self.marks & COPY != 0
    }

    /// The sender and the receiver, each by a number among all hosts.
    #[must_use]
    pub fn hosts(self) -> (u32, u32) {
        (self.host(self.is_up()), self.host(!self.is_up()))
    }
}

/// In [`Ends::marks`].
const DSCP: u8 = 63;
const UP: u8 = 64;
const COPY: u8 = 128;

const _: () = assert!(size_of::<Packet>() <= 88, "a packet is moved often");

/// What a packet carries.
#[derive(Clone, Copy, Debug)]
pub enum Payload {
    /// A TCP segment; its ECN field is the packet's.
    Tcp(Segment),
    /// A datagram.
    Datagram {
        /// When the sender sent it; an echo keeps it.
        sent_at: Instant,
        /// Its number in the flow.
        number: u64,
        /// Its ECN field.
        ecn: Ecn,
    },
}

impl goodqueue::Packet for Packet {
    #[inline]
    fn len(&self) -> u32 {
        self.len
    }

    #[inline]
    fn ecn(&self) -> Ecn {
        match &self.payload {
            Payload::Tcp(segment) => segment.ecn,
            Payload::Datagram { ecn, .. } => *ecn,
        }
    }

    #[inline]
    fn set_ce(&mut self) -> bool {
        let ecn = match &mut self.payload {
            Payload::Tcp(segment) => &mut segment.ecn,
            Payload::Datagram { ecn, .. } => ecn,
        };
        if ecn.is_capable() {
            *ecn = Ecn::Ce;
        }
        ecn.is_capable()
    }

    fn duplicate(&self) -> Option<Self> {
        let ends = Ends { marks: self.ends.marks | COPY, ..self.ends };
        Some(Self { ends, ..*self })
    }
}

impl Flow for Packet {
    #[inline]
    fn flow_hash(&self, salt: u32) -> u32 {
        let hash_of_flow = hash(salt, self.flow);
        // The only connection of most flows costs nothing more.
        if self.connection < 2 { hash_of_flow } else { hash(hash_of_flow, self.connection >> 1) }
    }

    fn same_flow(&self, other: &Self) -> bool {
        (self.flow, self.connection >> 1) == (other.flow, other.connection >> 1)
    }

    fn source_hash(&self, salt: u32) -> u32 {
        hash(salt, self.ends.hosts().0)
    }

    fn destination_hash(&self, salt: u32) -> u32 {
        hash(salt, self.ends.hosts().1)
    }

    fn nodes(&self) -> Option<(u32, u32)> {
        // As a script for ns-2 makes them: two routers, then the sender and the receiver of each flow.
        let sender = 2_u32.wrapping_add(self.flow.wrapping_mul(2));
        Some((sender, sender.wrapping_add(1)))
    }

    fn dscp(&self) -> u8 {
        self.ends.dscp()
    }

    fn clear_dscp(&mut self) {
        self.ends = self.ends.without_dscp();
    }

    fn tcp_ack(&self) -> Option<TcpAck> {
        match &self.payload {
            Payload::Tcp(segment) => acknowledgement(segment),
            Payload::Datagram { .. } => None,
        }
    }
}

impl Ends {
    /// The client, or the server, among all hosts.
    fn host(self, client: bool) -> u32 {
        if client { 1 + u32::from(self.client) } else { u32::from(self.server) << 17 }
    }
}

/// Of a flow's or a host's number.
pub(crate) fn hash(salt: u32, number: u32) -> u32 {
    let mixed = mix_64((u64::from(salt) << 32) | u64::from(number));
    u32::try_from(mixed >> 32).unwrap_or(0)
}

/// What an ACK filter sees of a segment: the low 32 bits of its 64-bit numbers, as in a TCP header.
fn acknowledgement(segment: &Segment) -> Option<TcpAck> {
    let has = |flag| segment.flags.contains(flag);
    if !has(Flags::ACK) || has(Flags::SYN) {
        return None;
    }
    let blocks = || segment.sack.iter(segment.ack);
    let is_duplicate_sack = blocks().any(|(start, _)| start < segment.ack);
    let sacked: u64 = blocks().map(|(start, end)| end.saturating_sub(start)).sum();
    Some(TcpAck {
        number: u32::try_from(segment.ack & u64::from(u32::MAX)).unwrap_or(0),
        ecn: u8::from(has(Flags::ECE)) << 1 | u8::from(has(Flags::CWR)),
        sacked: if is_duplicate_sack { u32::MAX } else { u32::try_from(sacked).unwrap_or(u32::MAX - 1) },
        timestamps: (segment.ts_val, segment.ts_ecr),
        pure: segment.len == 0 && !has(Flags::FIN),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodqueue_tcp::SackBlocks;

    fn ack(change: impl Fn(&mut Segment)) -> Option<TcpAck> {
        let mut segment = Segment {
            seq: 1,
            ack: (1 << 32) + 5000,
            len: 0,
            window: 0,
            ts_val: 7,
            ts_ecr: 3,
            sack: SackBlocks::NONE,
            flags: Flags::ACK,
            ecn: Ecn::NotEct,
        };
        change(&mut segment);
        acknowledgement(&segment)
    }

    #[test]
    fn an_ack_filter_sees_what_a_header_would_tell_it() {
        let plain = TcpAck { number: 5000, ecn: 0, sacked: 0, timestamps: (7, 3), pure: true };
        assert_eq!(ack(|_| ()), Some(plain));
        assert_eq!(ack(|segment| segment.len = 1), Some(TcpAck { pure: false, ..plain }));
        assert_eq!(ack(|segment| segment.flags = Flags::ACK | Flags::ECE), Some(TcpAck { ecn: 2, ..plain }));
        assert_eq!(ack(|segment| segment.flags = Flags::ACK | Flags::SYN), None);
        let with_block = |start, end| ack(move |segment| assert!(segment.sack.push(segment.ack, start, end)));
        let later = (1 << 32) + 6000;
        assert_eq!(with_block(later, later + 1460), Some(TcpAck { sacked: 1460, ..plain }));
        assert_eq!(with_block(later - 2000, later - 1500), Some(TcpAck { sacked: u32::MAX, ..plain }));
    }
}
