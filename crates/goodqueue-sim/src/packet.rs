//! The packet of the simulator: plain data, moved by value.

use goodqueue::random::mix_64;
use goodqueue::{Direction, Ecn, Flow, Instant, TcpAck};
use goodqueue_tcp::{Flags, Segment};

use crate::id::FlowId;
use crate::transport::Transport;

/// A packet in the network.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// Time at which the packet entered its present queue. In the queue of its own host this is the
    /// planned departure instead, if there is one, with the highest bit set. That needs no room of
    /// its own in the packet, and a packet on its way has no departure any more, as in Linux.
    pub queued_at: Instant,
    /// The packet's flow.
    pub flow: FlowId,
    /// Twice the number of the connection within the flow; the lowest bit tells the two halves of a
    /// connection apart.
    pub connection: u32,
    /// Length in bytes as queues count it, link header included.
    pub len: u32,
    /// Sender, receiver, DSCP and direction.
    pub ends: Ends,
    /// Contents of the packet.
    pub payload: Payload,
}

/// The two hosts of a packet, its DSCP and its direction, packed into four bytes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Ends {
    /// Number of the client.
    pub client: u16,
    /// Number of the server.
    pub server: u8,
    /// Bits 0 to 5: DSCP; bit 6: direction; bit 7: copy.
    marks: u8,
}

impl Ends {
    /// Describes packets that travel down between these two hosts. Only the low six bits of `dscp`
    /// (RFC 2474) are used.
    #[must_use]
    pub const fn new(client: u16, server: u8, dscp: u8) -> Self {
        Self { client, server, marks: dscp & DSCP }
    }

    /// Returns the same hosts and DSCP with this direction.
    #[must_use]
    #[inline]
    pub const fn towards(self, direction: Direction) -> Self {
        Self { marks: (self.marks & DSCP) | (direction as u8) << 6, ..self }
    }

    /// Returns the DSCP.
    #[must_use]
    pub const fn dscp(self) -> u8 {
        self.marks & DSCP
    }

    /// Returns the same hosts and direction with DSCP 0.
    #[must_use]
    pub const fn without_dscp(self) -> Self {
        Self { marks: self.marks & !DSCP, ..self }
    }

    /// Returns true if the client is the sender.
    #[must_use]
    pub const fn is_up(self) -> bool {
        self.marks & UP != 0
    }

    /// Returns true if a queue made this packet as a copy of another one (`netem duplicate`).
    #[must_use]
    #[inline]
    pub const fn is_copy(self) -> bool {
        self.marks & COPY != 0
    }

    /// Returns the sender and the receiver, numbered among all hosts.
    #[must_use]
    pub fn hosts(self) -> (u32, u32) {
        (self.host(self.is_up()), self.host(!self.is_up()))
    }
}

/// DSCP bits of [`Ends::marks`].
const DSCP: u8 = 63;
/// Direction bit of [`Ends::marks`]: set if the client is the sender.
const UP: u8 = 64;
/// Copy bit of [`Ends::marks`].
const COPY: u8 = 128;

const _: () = assert!(size_of::<Packet>() <= 88, "a packet is moved often");

/// The contents of a packet.
#[derive(Clone, Copy, Debug)]
pub enum Payload {
    /// A TCP segment, which also holds the packet's ECN field.
    Tcp(Segment),
    /// A datagram.
    Datagram {
        /// Time at which the sender sent it; an echo reply keeps the value of its request.
        sent_at: Instant,
        /// Sequence number of the datagram in its flow.
        number: u64,
        /// ECN field.
        ecn: Ecn,
    },
    /// A datagram with QUIC packets. The source keeps their bytes.
    Quic {
        /// Sequence number of the datagram in its flow and direction.
        number: u64,
        /// What the datagram is for.
        contents: QuicContents,
        /// ECN field.
        ecn: Ecn,
    },
}

/// What a datagram of QUIC is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QuicContents {
    /// Its first packet belongs to the handshake.
    Handshake,
    /// It has data of a stream.
    Data,
    /// It has other frames only, such as acknowledgements.
    Control,
}

impl Payload {
    /// Returns the transport protocol of the packet.
    #[must_use]
    pub const fn transport(&self) -> Transport {
        match self {
            Self::Tcp(_) => Transport::Tcp,
            Self::Datagram { .. } => Transport::Datagrams,
            Self::Quic { .. } => Transport::Quic,
        }
    }

    /// Returns the numbers that tell the packet apart from others of its flow.
    #[must_use]
    pub const fn numbers(&self) -> [u64; 2] {
        match self {
            Self::Tcp(segment) => [segment.seq, segment.ack],
            // A repeated query has the number of the first one (`Web::look_up`), but another time.
            Self::Datagram { sent_at, number, .. } => [*number, sent_at.as_nanos()],
            Self::Quic { number, .. } => [*number, 0],
        }
    }

    /// Returns what the packet is, in words, if it belongs to `flow`.
    #[must_use]
    pub fn words(&self, flow: FlowId) -> String {
        match self {
            Self::Tcp(segment) if segment.len == 0 => format!("ACK of flow {flow}"),
            Self::Tcp(segment) => format!("TCP segment of flow {flow} from sequence number {}", segment.seq),
            Self::Datagram { number, .. } => format!("datagram {number} of flow {flow}"),
            Self::Quic { number, contents, .. } => {
                let contents = match contents {
                    QuicContents::Handshake => ", of the handshake",
                    QuicContents::Data => "",
                    QuicContents::Control => ", without data",
                };
                format!("QUIC datagram {number} of flow {flow}{contents}")
            }
        }
    }
}

impl Packet {
    /// Returns the number of the packet's flow as a queue sees it, for recordings. To a queue, each
    /// connection is a flow; those after the first have the hash of the connection with the highest
    /// bit set, which no number of a configured flow has.
    #[must_use]
    pub fn queue_flow(&self) -> u32 {
        match self.connection {
            0 | 1 => self.flow.number(),
            _ => self.flow_hash(0) | 1 << 31,
        }
    }
}

/// The bit of [`Packet::queued_at`] that marks a planned departure. No simulated time is so late.
const PLANNED: u64 = 1 << 63;

impl Packet {
    /// Returns the packet with a planned departure.
    pub(crate) fn planned_for(self, departure: Instant) -> Self {
        Self { queued_at: Instant::from_nanos(departure.as_nanos() | PLANNED), ..self }
    }
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
            Payload::Datagram { ecn, .. } | Payload::Quic { ecn, .. } => *ecn,
        }
    }

    #[inline]
    fn set_ce(&mut self) -> bool {
        let ecn = match &mut self.payload {
            Payload::Tcp(segment) => &mut segment.ecn,
            Payload::Datagram { ecn, .. } | Payload::Quic { ecn, .. } => ecn,
        };
        if ecn.is_capable() {
            *ecn = Ecn::Ce;
        }
        ecn.is_capable()
    }

    #[inline]
    fn earliest_departure(&self) -> Option<Instant> {
        let at = self.queued_at.as_nanos();
        (at & PLANNED != 0).then(|| Instant::from_nanos(at & !PLANNED))
    }

    fn duplicate(&self) -> Option<Self> {
        let ends = Ends { marks: self.ends.marks | COPY, ..self.ends };
        Some(Self { ends, ..*self })
    }
}

impl Flow for Packet {
    #[inline]
    fn flow_hash(&self, salt: u32) -> u32 {
        let hash_of_flow = hash(salt, self.flow.number());
        // Most flows have a single connection, which needs only one hash.
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
        // ns-2 scripts create two routers first, then a sender and a receiver for each flow.
        let sender = 2_u32.wrapping_add(self.flow.number().wrapping_mul(2));
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
            Payload::Datagram { .. } | Payload::Quic { .. } => None,
        }
    }
}

impl Ends {
    /// Returns the number of the client or of the server among all hosts.
    fn host(self, client: bool) -> u32 {
        // Clients have the numbers 1 to 65,536, so no server's number is one of theirs.
        if client { 1 + u32::from(self.client) } else { u32::from(self.server) << 17 }
    }
}

/// Returns the salted hash of a flow's or a host's number.
pub(crate) fn hash(salt: u32, number: u32) -> u32 {
    let mixed = mix_64((u64::from(salt) << 32) | u64::from(number));
    u32::try_from(mixed >> 32).unwrap_or(0)
}

/// Returns the fields that an ACK filter reads from a segment; 64-bit numbers are cut to 32 bits,
/// as in a TCP header. A filter drops no ACK with a bit or an option that it does not know, and so
/// none of AccECN (Linux `cake_tcph_may_drop`).
fn acknowledgement(segment: &Segment) -> Option<TcpAck> {
    let has = |flag| segment.flags.contains(flag);
    // An ACK filter leaves the handshake alone.
    if !has(Flags::ACK) || has(Flags::SYN) {
        return None;
    }
    let blocks = || segment.sack.iter(segment.ack);
    // A block below the acknowledgement reports a duplicate (RFC 2883).
    let is_duplicate_sack = blocks().any(|(start, _)| start < segment.ack);
    let sacked: u64 = blocks().map(|(start, end)| end.saturating_sub(start)).sum();
    Some(TcpAck {
        number: u32::try_from(segment.ack & u64::from(u32::MAX)).unwrap_or(0),
        ecn: u8::from(has(Flags::ECE)) << 1 | u8::from(has(Flags::CWR)),
        // `u32::MAX` means a duplicate SACK, so a larger sum ends one below it.
        sacked: if is_duplicate_sack { u32::MAX } else { u32::try_from(sacked).unwrap_or(u32::MAX - 1) },
        timestamps: (segment.ts_val, segment.ts_ecr),
        pure: segment.len == 0 && !has(Flags::FIN) && !has(Flags::AE) && segment.ecn_option().is_none(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodqueue_tcp::SackBlocks;
    use goodqueue_tcp::accecn::{EcnBytes, EcnOption};

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
        let option = EcnOption::new(&EcnBytes::default(), false, 3);
        let accurate = ack(|segment| assert!(segment.set_ecn_option(&option)));
        assert_eq!(accurate, Some(TcpAck { pure: false, ..plain }));
        let counter = ack(|segment| segment.flags = Flags::ACK | Flags::AE);
        assert_eq!(counter, Some(TcpAck { pure: false, ..plain }));
        assert_eq!(ack(|segment| segment.len = 1), Some(TcpAck { pure: false, ..plain }));
        assert_eq!(ack(|segment| segment.flags = Flags::ACK | Flags::ECE), Some(TcpAck { ecn: 2, ..plain }));
        assert_eq!(ack(|segment| segment.flags = Flags::ACK | Flags::SYN), None);
        let with_block = |start, end| ack(move |segment| assert!(segment.sack.push(segment.ack, start, end)));
        let later = (1 << 32) + 6000;
        assert_eq!(with_block(later, later + 1460), Some(TcpAck { sacked: 1460, ..plain }));
        assert_eq!(with_block(later - 2000, later - 1500), Some(TcpAck { sacked: u32::MAX, ..plain }));
    }
}
