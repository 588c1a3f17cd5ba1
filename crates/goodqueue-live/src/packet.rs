//! Real IP packets as a queue sees them: length, ECN field and flow.
//!
//! Every byte may come from an attacker. For any contents, reading a packet stays within its
//! bounds, takes a bounded time and gives a flow.
//!
//! # Flows
//! A flow is identified by addresses, protocol and ports. Packets without reliable ports are
//! identified by less:
//!
//! | packet | flow |
//! |---|---|
//! | TCP, UDP, UDP-Lite, DCCP, SCTP | addresses, protocol, ports |
//! | ICMP echo | addresses, protocol, identifier |
//! | fragments, including the first | addresses, protocol: shared by all fragments of a datagram |
//! | other protocols, truncated headers | addresses, protocol |
//! | not IP | one flow |
//!
//! Flows are hashed to 32 bits with a key that is drawn at the start of the program, so that no
//! sender can choose a hash bucket.

use std::borrow::Cow;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::net::IpAddr;
use std::sync::LazyLock;

use goodqueue::random::mix_64;
use goodqueue::{Ecn, Flow, Instant, Packet, TcpAck};

use crate::buffer::Buffer;
use crate::checksum::Checksum;

/// A packet on its way through the bottleneck.
#[derive(Debug)]
pub struct IpPacket {
    buffer: Buffer,
    /// Length in bytes as the queue counts it.
    len: u32,
    headers: Headers,
    /// Number of the packet in the order of arrival at its queue.
    pub seq: u64,
    /// Arrival time at its queue.
    pub arrived: Instant,
    checksum: Checksum,
}

/// The fields of the headers that queues use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Headers {
    /// Offset of the IP header; beyond the end if the packet is not IP.
    ip: usize,
    /// IP version: 4, 6, or 0 if the packet is not IP.
    version: u8,
    /// TOS byte or traffic class.
    pub tos: u8,
    /// Protocol of the payload behind all IP headers.
    pub protocol: u8,
    /// Offset of the transport header, if the packet contains it.
    transport: Option<usize>,
    /// Source and destination port; 0 without ports.
    pub ports: (u16, u16),
    /// Keyed hash of the flow.
    pub flow: u32,
    /// Keyed hash of the source address.
    pub source: u32,
    /// Keyed hash of the destination address.
    pub destination: u32,
}

/// The link header of packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Framing {
    /// None, as on a TUN device.
    Ip {
        /// Bytes that queues count for the absent link header.
        counted: u32,
    },
    /// An Ethernet header, perhaps with VLAN tags. Queues count its bytes.
    Ethernet,
}

impl IpPacket {
    /// Creates a packet from the bytes in `buffer`.
    #[must_use]
    pub fn new(buffer: Buffer, framing: Framing, seq: u64, arrived: Instant) -> Self {
        let bytes = buffer.bytes();
        let (start, counted) = match framing {
            Framing::Ip { counted } => (Some(0), counted),
            Framing::Ethernet => (ethernet_payload(bytes), 0),
        };
        let headers = Headers::read(bytes, start);
        let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX).saturating_add(counted);
        Self { buffer, len, headers, seq, arrived, checksum: Checksum::Unknown }
    }

    /// Sets the state of the packet's checksum.
    #[must_use]
    pub fn with_checksum(self, checksum: Checksum) -> Self {
        Self { checksum, ..self }
    }

    /// Returns the state of the packet's checksum.
    #[must_use]
    pub const fn checksum(&self) -> Checksum {
        self.checksum
    }

    /// Returns all bytes including the link header. The checksum may be incomplete, see
    /// [`Self::checksum`].
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.buffer.bytes()
    }

    /// Returns all bytes for changes.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        self.buffer.bytes_mut()
    }

    /// Returns all bytes as on the wire: with a complete checksum.
    #[must_use]
    pub fn complete(&self) -> Cow<'_, [u8]> {
        match self.checksum {
            Checksum::Open { .. } => {
                let mut bytes = self.bytes().to_vec();
                self.checksum.complete(&mut bytes);
                Cow::Owned(bytes)
            }
            Checksum::Unknown | Checksum::Verified => Cow::Borrowed(self.bytes()),
        }
    }

    /// Returns the fields of its headers.
    #[must_use]
    pub const fn headers(&self) -> &Headers {
        &self.headers
    }

    /// Sets the TOS byte or traffic class. Returns false if the packet is not IP.
    fn set_tos(&mut self, tos: u8) -> bool {
        let at = self.headers.ip;
        // An IPv6 header is longer, but only its first two bytes are needed.
        match (self.headers.version, self.buffer.bytes_mut().get_mut(at..at + IPV4_HEADER)) {
            (4, Some(header)) => {
                // The checksum adds words of 16 bits, and TOS is in the first one.
                let before = u16::from_be_bytes([header[0], header[1]]);
                let after = u16::from_be_bytes([header[0], tos]);
                let checksum = u16::from_be_bytes([header[10], header[11]]);
                header[1] = tos;
                header[10..12].copy_from_slice(&updated_checksum(checksum, before, after).to_be_bytes());
            }
            (6, Some(header)) => {
                // RFC 8200 §3: 4 bits of version, 8 bits of traffic class, 20 bits of flow label.
                // IPv6 has no header checksum.
                header[0] = (header[0] & 0xf0) | (tos >> 4);
                header[1] = (header[1] & 0x0f) | (tos << 4);
            }
            _ => return false,
        }
        self.headers.tos = tos;
        true
    }
}

impl Packet for IpPacket {
    fn len(&self) -> u32 {
        self.len
    }

    fn ecn(&self) -> Ecn {
        Ecn::from_bits(self.headers.tos)
    }

    fn set_ce(&mut self) -> bool {
        if !self.ecn().is_capable() {
            return false;
        }
        self.set_tos(self.headers.tos | Ecn::Ce.bits())
    }

    fn duplicate(&self) -> Option<Self> {
        Some(Self {
            buffer: self.buffer.duplicate()?,
            len: self.len,
            headers: self.headers,
            seq: self.seq,
            arrived: self.arrived,
            checksum: self.checksum,
        })
    }
}

impl Flow for IpPacket {
    /// Uses the hash of `goodqueue replay`, so that a replay finds the same buckets.
    fn flow_hash(&self, salt: u32) -> u32 {
        hash(self.headers.flow, salt)
    }

    fn source_hash(&self, salt: u32) -> u32 {
        hash(self.headers.source, salt)
    }

    fn destination_hash(&self, salt: u32) -> u32 {
        hash(self.headers.destination, salt)
    }

    fn dscp(&self) -> u8 {
        self.headers.tos >> 2
    }

    fn clear_dscp(&mut self) {
        self.set_tos(self.headers.tos & 3);
    }

    fn tcp_ack(&self) -> Option<TcpAck> {
        // The header of a fragment is not read, because `transport` is `None` then.
        let start = self.headers.transport.filter(|_| self.headers.protocol == TCP)?;
        tcp_ack(self.buffer.bytes().get(start..)?, self.headers.end_of(self.buffer.bytes()))
    }

    fn same_flow(&self, other: &Self) -> bool {
        self.headers.flow == other.headers.flow
    }
}

fn hash(what: u32, salt: u32) -> u32 {
    u32::try_from(mix_64((u64::from(salt) << 32) | (u64::from(what) + 1)) >> 32).unwrap_or(0)
}

/// Returns the offset of the IP packet in an Ethernet frame, or `None` for other payloads.
pub(crate) fn ethernet_payload(frame: &[u8]) -> Option<usize> {
    // The type field is behind two hardware addresses of six bytes.
    let mut at = 12;
    // At most two VLAN tags, as in 802.1ad.
    for _ in 0..3 {
        match frame.get(at..at + 2)? {
            // IPv4, IPv6, then the two types of tags (802.1Q and 802.1ad). A tag has four bytes.
            [0x08, 0x00] | [0x86, 0xdd] => return Some(at + 2),
            [0x81, 0x00] | [0x88, 0xa8] => at += 4,
            _ => return None,
        }
    }
    None
}

impl Headers {
    /// Reads the IP packet that begins at offset `start` of `bytes`.
    #[must_use]
    pub fn read(bytes: &[u8], start: Option<usize>) -> Self {
        let ip = start.and_then(|start| bytes.get(start..)).unwrap_or_default();
        let at = start.unwrap_or(bytes.len());
        let found = match ip.first().map(|first| first >> 4) {
            Some(4) => Self::read_v4(ip),
            Some(6) => Self::read_v6(ip),
            _ => None,
        };
        let Some((addresses, mut headers)) = found else {
            return Self {
                ip: at,
                version: 0,
                tos: 0,
                protocol: 0,
                transport: None,
                ports: (0, 0),
                flow: keyed(&(0_u8,)),
                source: 0,
                destination: 0,
            };
        };
        let detail = headers.transport.and_then(|at| ip.get(at..)).map_or([0; 4], |transport| {
            let word = |at: usize| transport.get(at..at + 2).map_or([0; 2], |word| [word[0], word[1]]);
            match (headers.protocol, transport.first()) {
                (TCP | UDP | DCCP | SCTP | UDP_LITE, _) => {
                    let [a, b] = word(0);
                    let [c, d] = word(2);
                    headers.ports = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
                    [a, b, c, d]
                }
                // Echo requests and replies of one ping share an identifier (RFC 792, RFC 4443 §4).
                (ICMP, Some(0 | 8)) | (ICMP_V6, Some(128 | 129)) => {
                    let [a, b] = word(4);
                    [a, b, 0, 0]
                }
                _ => [0; 4],
            }
        });
        let middle = addresses.len() / 2;
        headers.ip = at;
        headers.transport = headers.transport.map(|offset| at + offset);
        headers.flow = keyed(&(addresses, headers.protocol, detail));
        headers.source = keyed(&&addresses[..middle]);
        headers.destination = keyed(&&addresses[middle..]);
        headers
    }

    /// Reads an IPv4 header (RFC 791 §3.1). Returns the addresses, and the fields that do not
    /// derive from them.
    fn read_v4(ip: &[u8]) -> Option<(&[u8], Self)> {
        let header = ip.get(..IPV4_HEADER)?;
        let words = usize::from(header[0] & 0x0f) * 4;
        // More fragments follow, or this one has an offset. The first fragment has ports, but the
        // others could not be assigned to its flow.
        let fragment = u16::from_be_bytes([header[6], header[7]]) & !DONT_FRAGMENT != 0;
        let transport = (words >= IPV4_HEADER && words < ip.len() && !fragment).then_some(words);
        Some((&header[12..20], Self::basic(4, header[1], header[9], transport)))
    }

    /// Reads an IPv6 header with its extension headers (RFC 8200 §3 and §4).
    fn read_v6(ip: &[u8]) -> Option<(&[u8], Self)> {
        let header = ip.get(..IPV6_HEADER)?;
        let tos = (header[0] << 4) | (header[1] >> 4);
        let mut protocol = header[6];
        let mut at = IPV6_HEADER;
        for _ in 0..MOST_EXTENSIONS {
            let Some(extension) = ip.get(at..at + 2) else { break };
            match protocol {
                HOP_BY_HOP | ROUTING | DESTINATION => {
                    protocol = extension[0];
                    // The length does not count the first eight bytes (RFC 8200 §4.3).
                    at += (usize::from(extension[1]) + 1) * 8;
                }
                AUTHENTICATION => {
                    protocol = extension[0];
                    // This length counts words of four bytes, less two (RFC 4302 §2.2).
                    at += (usize::from(extension[1]) + 2) * 4;
                }
                FRAGMENT => {
                    // Every fragment names the protocol, but only the first one has the ports.
                    return Some((&header[8..40], Self::basic(6, tos, extension[0], None)));
                }
                _ => return Some((&header[8..40], Self::basic(6, tos, protocol, Some(at)))),
            }
        }
        // A longer chain is identified by addresses alone, because its sender can choose everything
        // else.
        Some((&header[8..40], Self::basic(6, tos, 0, None)))
    }

    const fn basic(version: u8, tos: u8, protocol: u8, transport: Option<usize>) -> Self {
        Self { ip: 0, version, tos, protocol, transport, ports: (0, 0), flow: 0, source: 0, destination: 0 }
    }

    /// Returns source and destination address of the packet in `bytes`, or `None` if it is not IP.
    #[must_use]
    pub fn addresses(&self, bytes: &[u8]) -> Option<(IpAddr, IpAddr)> {
        let ip = bytes.get(self.ip..)?;
        match self.version {
            4 => {
                let (source, rest) = ip.get(12..)?.split_first_chunk::<4>()?;
                Some((IpAddr::from(*source), IpAddr::from(*rest.first_chunk::<4>()?)))
            }
            6 => {
                let (source, rest) = ip.get(8..)?.split_first_chunk::<16>()?;
                Some((IpAddr::from(*source), IpAddr::from(*rest.first_chunk::<16>()?)))
            }
            // Without a link header the offset is 0 for any bytes.
            _ => None,
        }
    }

    /// Returns the IP version: 4, 6, or 0 if the packet is not IP.
    pub(crate) const fn version(&self) -> u8 {
        self.version
    }

    /// Returns the offsets of the IP and the TCP header, or `None` for other packets and fragments.
    pub(crate) fn tcp(&self) -> Option<(usize, usize)> {
        let transport = self.transport.filter(|_| self.protocol == TCP)?;
        Some((self.ip, transport))
    }

    /// Returns the length of the transport header and payload by the IP header's length field.
    fn end_of(&self, bytes: &[u8]) -> usize {
        self.end(bytes).saturating_sub(self.transport.unwrap_or(0))
    }

    /// Returns the end of the IP packet by its length field, at most the end of `bytes`.
    pub(crate) fn end(&self, bytes: &[u8]) -> usize {
        let word = |at: usize| {
            let at = self.ip + at;
            bytes.get(at..at + 2).map_or(0, |word| usize::from(u16::from_be_bytes([word[0], word[1]])))
        };
        let total = if self.version == 4 { word(2) } else { word(4) + IPV6_HEADER };
        // The field is the sender's, and may claim more bytes than there are.
        (self.ip + total).min(bytes.len())
    }
}

/// Updates a checksum after a change of one word (RFC 1624 §3, equation 3): HC' = ~(~HC + ~m + m').
fn updated_checksum(checksum: u16, before: u16, after: u16) -> u16 {
    let mut sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
    // The sum of three words needs two additions of the carry: the first one can carry again.
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    !u16::try_from(sum).unwrap_or(0)
}

/// Reads the acknowledgement of a TCP segment (RFC 9293 §3.1, RFC 2018, RFC 2883, RFC 7323).
/// `segment` begins with the TCP header; `end` is the length of the segment.
fn tcp_ack(segment: &[u8], end: usize) -> Option<TcpAck> {
    let header = segment.get(..TCP_HEADER)?;
    let flags = header[13];
    if flags & ACK == 0 || flags & SYN != 0 {
        return None;
    }
    let number = u32::from_be_bytes([header[8], header[9], header[10], header[11]]);
    let words = usize::from(header[12] >> 4) * 4;
    let mut ack = TcpAck {
        number,
        ecn: ((flags & ECE) >> 5) | ((flags & CWR) >> 7),
        sacked: 0,
        timestamps: (0, 0),
        // CAKE compares ECE and CWR separately. Data or another flag makes the segment more than an
        // ACK, also a flag that has no meaning yet.
        pure: flags & !(ACK | ECE | CWR) == 0 && header[12] & AE_AND_RESERVED == 0 && words == end,
    };
    let mut options = segment.get(TCP_HEADER..words).unwrap_or_default();
    while let Some((&kind, rest)) = options.split_first() {
        match kind {
            END_OF_OPTIONS => break,
            NO_OPERATION => options = rest,
            _ => {
                // The length includes the bytes of kind and length (RFC 9293 §3.1).
                let Some(length) = rest.first().map(|&length| usize::from(length)).filter(|&l| l >= 2) else {
                    ack.pure = false;
                    break;
                };
                let Some(value) = options.get(2..length) else {
                    ack.pure = false;
                    break;
                };
                read_option(kind, value, &mut ack);
                options = &options[length..];
            }
        }
    }
    Some(ack)
}

fn read_option(kind: u8, value: &[u8], ack: &mut TcpAck) {
    let number = |at: usize| {
        value.get(at..at + 4).map_or(0, |word| u32::from_be_bytes([word[0], word[1], word[2], word[3]]))
    };
    match (kind, value.len()) {
        (TIMESTAMPS, 8) => ack.timestamps = (number(0), number(4)),
        (SACK, length) if length % 8 == 0 => {
            for block in (0..length).step_by(8) {
                let left = number(block);
                let right = number(block + 4);
                // Sequence numbers wrap, so "before" means up to 2^31 behind. A first block before
                // the acknowledgement reports a duplicate (RFC 2883 §4).
                let behind = ack.number.wrapping_sub(left);
                let duplicate = block == 0 && behind > 0 && behind <= u32::MAX >> 1;
                let bytes = if duplicate { u32::MAX } else { right.wrapping_sub(left) };
                ack.sacked = ack.sacked.saturating_add(bytes);
            }
        }
        _ => ack.pure = false,
    }
}

fn keyed(what: &impl std::hash::Hash) -> u32 {
    u32::try_from(KEY.hash_one(what) >> 32).unwrap_or(0)
}

/// SipHash with a key of this process.
static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);

const IPV4_HEADER: usize = 20;
const IPV6_HEADER: usize = 40;
const TCP_HEADER: usize = 20;
const DONT_FRAGMENT: u16 = 0x4000;
/// Extension headers that are read. No honest sender uses more.
const MOST_EXTENSIONS: usize = 8;

// Protocol numbers assigned by IANA.
const HOP_BY_HOP: u8 = 0;
const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;
const DCCP: u8 = 33;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const ICMP_V6: u8 = 58;
const DESTINATION: u8 = 60;
const SCTP: u8 = 132;
const UDP_LITE: u8 = 136;

// TCP flags and options.
const SYN: u8 = 2;
const ACK: u8 = 16;
const ECE: u8 = 64;
const CWR: u8 = 128;
/// The flags beside the data offset: three reserved ones, and AE (RFC 9768 §3.1).
const AE_AND_RESERVED: u8 = 0x0f;
const END_OF_OPTIONS: u8 = 0;
const NO_OPERATION: u8 = 1;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;

#[cfg(test)]
mod tests;
