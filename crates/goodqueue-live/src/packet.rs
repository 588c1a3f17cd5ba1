//! Packets of the real Internet, as far as a queue cares: length, ECN, flow.
//!
//! Every byte comes from somebody who may mean harm. Whatever stands in a packet, reading it stays within its bounds and
//! takes a bounded time, and it belongs to some flow.
//!
//! # Flows
//! A flow is addresses, protocol and ports. What has no ports that can be relied on is told apart by less:
//!
//! | packet | flow |
//! |---|---|
//! | TCP, UDP, UDP-Lite, DCCP, SCTP | addresses, protocol, ports |
//! | ICMP echo | addresses, protocol, identifier |
//! | fragments, the first included | addresses, protocol: all fragments of a datagram share a flow |
//! | other protocols, truncated headers | addresses, protocol |
//! | not IP | one flow |
//!
//! They are hashed to 32 bits with a key that is drawn when the program starts, so that nobody outside can aim at a bucket.

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
    /// Length as the queue counts it.
    len: u32,
    headers: Headers,
    /// Number in the order of arrival at its queue.
    pub seq: u64,
    /// When it came to its queue.
    pub arrived: Instant,
    checksum: Checksum,
}

/// What the headers say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Headers {
    /// Where the IP header begins; beyond the end for what is not IP.
    ip: usize,
    /// 4, 6, or 0 for what is neither.
    version: u8,
    /// The TOS byte or traffic class.
    pub tos: u8,
    /// Protocol behind the IP headers.
    pub protocol: u8,
    /// Where that begins, if it is here.
    transport: Option<usize>,
    /// Source and destination port; 0 where there are none.
    pub ports: (u16, u16),
    /// The flow, by a keyed hash.
    pub flow: u32,
    /// The host that sent it, by a keyed hash.
    pub source: u32,
    /// The host that it goes to, by a keyed hash.
    pub destination: u32,
}

/// What stands in front of the IP header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Framing {
    /// Nothing: a TUN device. Queues count so many bytes on top.
    Ip {
        /// Bytes of a link header that is not there.
        counted: u32,
    },
    /// An Ethernet header, VLAN tags maybe; counted as it stands there.
    Ethernet,
}

impl IpPacket {
    /// The packet in `buffer`.
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

    /// With what is known of its checksum.
    #[must_use]
    pub fn with_checksum(self, checksum: Checksum) -> Self {
        Self { checksum, ..self }
    }

    /// What is known of its checksum.
    #[must_use]
    pub const fn checksum(&self) -> Checksum {
        self.checksum
    }

    /// All of it, link header included; a checksum may be left to complete ([`Self::checksum`]).
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.buffer.bytes()
    }

    /// The same, to be changed.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        self.buffer.bytes_mut()
    }

    /// All of it as it goes on a wire: with its checksum.
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

    /// What its headers say.
    #[must_use]
    pub const fn headers(&self) -> &Headers {
        &self.headers
    }

    /// Writes the TOS byte, or the traffic class; false where there is none.
    fn set_tos(&mut self, tos: u8) -> bool {
        let at = self.headers.ip;
        match (self.headers.version, self.buffer.bytes_mut().get_mut(at..at + IPV4_HEADER)) {
            (4, Some(header)) => {
                let before = u16::from_be_bytes([header[0], header[1]]);
                let after = u16::from_be_bytes([header[0], tos]);
                let checksum = u16::from_be_bytes([header[10], header[11]]);
                header[1] = tos;
                header[10..12].copy_from_slice(&updated_checksum(checksum, before, after).to_be_bytes());
            }
            (6, Some(header)) => {
                // RFC 8200 §3: version, 8 bits of traffic class, 20 of flow label; no checksum.
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
    /// As a replay hashes the flow of a recording: equal numbers, equal buckets.
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

/// Where the payload of an Ethernet frame begins, if that is IP.
pub(crate) fn ethernet_payload(frame: &[u8]) -> Option<usize> {
    let mut at = 12;
    // Two tags at most, as 802.1ad has them.
    for _ in 0..3 {
        match frame.get(at..at + 2)? {
            [0x08, 0x00] | [0x86, 0xdd] => return Some(at + 2),
            [0x81, 0x00] | [0x88, 0xa8] => at += 4,
            _ => return None,
        }
    }
    None
}

impl Headers {
    /// Reads the IP packet that begins at `start` of `bytes`.
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
                    let ([a, b], [c, d]) = (word(0), word(2));
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

    /// RFC 791 §3.1. The addresses, and all but what is derived from them.
    fn read_v4(ip: &[u8]) -> Option<(&[u8], Self)> {
        let header = ip.get(..IPV4_HEADER)?;
        let words = usize::from(header[0] & 0x0f) * 4;
        let fragment = u16::from_be_bytes([header[6], header[7]]) & !DONT_FRAGMENT != 0;
        let transport = (words >= IPV4_HEADER && words < ip.len() && !fragment).then_some(words);
        Some((&header[12..20], Self::basic(4, header[1], header[9], transport)))
    }

    /// RFC 8200 §3 and §4.
    fn read_v6(ip: &[u8]) -> Option<(&[u8], Self)> {
        let header = ip.get(..IPV6_HEADER)?;
        let tos = (header[0] << 4) | (header[1] >> 4);
        let (mut protocol, mut at) = (header[6], IPV6_HEADER);
        for _ in 0..MOST_EXTENSIONS {
            let Some(extension) = ip.get(at..at + 2) else { break };
            match protocol {
                HOP_BY_HOP | ROUTING | DESTINATION => {
                    protocol = extension[0];
                    at += (usize::from(extension[1]) + 1) * 8;
                }
                AUTHENTICATION => {
                    protocol = extension[0];
                    at += (usize::from(extension[1]) + 2) * 4;
                }
                FRAGMENT => {
                    // The protocol stands in every fragment, the ports only in the first.
                    return Some((&header[8..40], Self::basic(6, tos, extension[0], None)));
                }
                _ => return Some((&header[8..40], Self::basic(6, tos, protocol, Some(at)))),
            }
        }
        // A chain that does not end here: by its addresses alone, since whoever makes it chooses the rest.
        Some((&header[8..40], Self::basic(6, tos, 0, None)))
    }

    const fn basic(version: u8, tos: u8, protocol: u8, transport: Option<usize>) -> Self {
        Self { ip: 0, version, tos, protocol, transport, ports: (0, 0), flow: 0, source: 0, destination: 0 }
    }

    /// Who sent the packet in `bytes`, and to whom; `None` if it is not IP.
    #[must_use]
    pub fn addresses(&self, bytes: &[u8]) -> Option<(IpAddr, IpAddr)> {
        let ip = bytes.get(self.ip..)?;
        if self.version == 4 {
            let (source, rest) = ip.get(12..)?.split_first_chunk::<4>()?;
            Some((IpAddr::from(*source), IpAddr::from(*rest.first_chunk::<4>()?)))
        } else {
            let (source, rest) = ip.get(8..)?.split_first_chunk::<16>()?;
            Some((IpAddr::from(*source), IpAddr::from(*rest.first_chunk::<16>()?)))
        }
    }

    /// 4, 6, or 0 for what is neither.
    pub(crate) const fn version(&self) -> u8 {
        self.version
    }

    /// Where the IP header and that of TCP begin, if it is TCP and no fragment.
    pub(crate) fn tcp(&self) -> Option<(usize, usize)> {
        let transport = self.transport.filter(|_| self.protocol == TCP)?;
        Some((self.ip, transport))
    }

    /// Where the IP packet ends by its own account, from the transport header on.
    fn end_of(&self, bytes: &[u8]) -> usize {
        self.end(bytes).saturating_sub(self.transport.unwrap_or(0))
    }

    /// Where the IP packet ends by its own account.
    pub(crate) fn end(&self, bytes: &[u8]) -> usize {
        let word = |at: usize| {
            let at = self.ip + at;
            bytes.get(at..at + 2).map_or(0, |word| usize::from(u16::from_be_bytes([word[0], word[1]])))
        };
        let total = if self.version == 4 { word(2) } else { word(4) + IPV6_HEADER };
        (self.ip + total).min(bytes.len())
    }
}

/// RFC 1624 §3, equation 3: HC' = ~(~HC + ~m + m').
fn updated_checksum(checksum: u16, before: u16, after: u16) -> u16 {
    let mut sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    !u16::try_from(sum).unwrap_or(0)
}

/// What a TCP segment acknowledges (RFC 9293 §3.1, RFC 2018, RFC 2883, RFC 7323). `segment` begins with the TCP header,
/// `end` is the length of the segment.
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
        pure: flags & !(ACK | ECE | CWR) == 0 && words == end,
    };
    let mut options = segment.get(TCP_HEADER..words).unwrap_or_default();
    while let Some((&kind, rest)) = options.split_first() {
        match kind {
            END_OF_OPTIONS => break,
            NO_OPERATION => options = rest,
            _ => {
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
                let (left, right) = (number(block), number(block + 4));
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
/// More extension headers than that nobody sends in good faith; Linux reads as many as there are.
const MOST_EXTENSIONS: usize = 8;

// Protocol numbers, as IANA assigns them.
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
const END_OF_OPTIONS: u8 = 0;
const NO_OPERATION: u8 = 1;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;

#[cfg(test)]
mod tests;
