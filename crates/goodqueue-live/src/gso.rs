//! Super-packets. A packet of the kernel that stands for several is cut before it reaches a queue.
//! Behind the queue, packets are joined again where no receiver can tell the difference.
//!
//! A header in front of each packet (`struct virtio_net_hdr`, VIRTIO 1.2 §5.1.6) tells what is left
//! to do; it is the same in both directions. An incomplete checksum stays incomplete: its field
//! holds the sum of the pseudo-header, which ECN marks do not change. [`Checksum::complete`] adds
//! the rest where it is needed.

use crate::checksum::{Checksum, folded, sum_of};
use crate::packet::{IpPacket, ethernet_payload};

/// The offload header in front of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Offload {
    flags: u8,
    kind: u8,
    header: u16,
    size: u16,
    start: u16,
    offset: u16,
}

/// Bytes of the offload header.
pub const OFFLOAD_HEADER: usize = 10;

impl Offload {
    /// Reads an offload header, in this machine's byte order.
    #[must_use]
    pub fn read(header: [u8; OFFLOAD_HEADER]) -> Self {
        // TUN devices and packet sockets use the header's legacy form, whose words have the
        // machine's byte order. The VIRTIO 1 form is little-endian.
        let word = |at: usize| u16::from_ne_bytes([header[at], header[at + 1]]);
        Self {
            flags: header[0],
            // The bit says that the first segment has CWR. `write` looks at the segment itself.
            kind: header[1] & !WITH_ECN,
            header: word(2),
            size: word(4),
            start: word(6),
            offset: word(8),
        }
    }

    /// Returns the bytes of the header.
    #[must_use]
    pub fn write(self) -> [u8; OFFLOAD_HEADER] {
        let [header, size, start, offset] =
            [self.header, self.size, self.start, self.offset].map(u16::to_ne_bytes);
        let [flags, kind] = [self.flags, self.kind];
        [flags, kind, header[0], header[1], size[0], size[1], start[0], start[1], offset[0], offset[1]]
    }

    /// Returns the header of a packet that stands for itself.
    #[must_use]
    pub fn from_checksum(checksum: Checksum) -> Self {
        match checksum {
            Checksum::Open { start, offset } => {
                Self { flags: NEEDS_CHECKSUM, start, offset, ..Self::default() }
            }
            Checksum::Verified => Self { flags: DATA_VALID, ..Self::default() },
            Checksum::Unknown => Self::default(),
        }
    }
}

/// The packets that one packet of the kernel stands for.
#[derive(Debug)]
pub struct SegmentedPacket<'f> {
    frame: &'f [u8],
    checksum: Checksum,
    /// The layout of a super-packet; `None` for a single packet.
    segments: Option<Segments>,
}

#[derive(Debug)]
struct Segments {
    ip: usize,
    version: u8,
    transport: usize,
    /// Bytes of all headers together.
    headers: usize,
    size: usize,
    is_tcp: bool,
    count: usize,
}

impl<'f> SegmentedPacket<'f> {
    /// Reads the headers of a packet. Returns `None` if they contradict each other. `ethernet`
    /// tells whether the packet begins with an Ethernet header.
    #[must_use]
    pub fn from_frame(offload: Offload, frame: &'f [u8], ethernet: bool) -> Option<Self> {
        let Offload { flags, kind, size, start, offset, .. } = offload;
        if kind == NONE {
            let checksum = match flags {
                flags if flags & NEEDS_CHECKSUM != 0 => {
                    frame.get(usize::from(start) + usize::from(offset)..)?.get(..2)?;
                    Checksum::Open { start, offset }
                }
                flags if flags & DATA_VALID != 0 => Checksum::Verified,
                _ => Checksum::Unknown,
            };
            return Some(Self { frame, checksum, segments: None });
        }
        let is_tcp = match kind {
            TCP_V4 | TCP_V6 => true,
            UDP => false,
            _ => return None,
        };
        let ip = if ethernet { ethernet_payload(frame)? } else { 0 };
        let transport = usize::from(start);
        // VIRTIO 1.2 §5.1.6.2 calls the field `hdr_len` a hint only, so the length comes from the
        // TCP header. Its data offset counts words of 32 bits (RFC 9293 §3.1).
        let headers = if is_tcp {
            transport + usize::from(*frame.get(transport + 12)? >> 4) * 4
        } else {
            transport + UDP_HEADER
        };
        let least = transport + if is_tcp { TCP_HEADER } else { UDP_HEADER };
        let version = frame.get(ip)? >> 4;
        // The fixed headers of RFC 791 §3.1 and RFC 8200 §3.
        let least_ip = if version == 4 { ip + 20 } else { ip + 40 };
        let size = usize::from(size);
        // The payload is divided by the size.
        if headers < least || transport < least_ip || size == 0 {
            return None;
        }
        // Without payload, the headers are one packet.
        let count = frame.get(headers..)?.len().div_ceil(size).max(1);
        if count > MOST_SEGMENTS || frame.len() > LARGEST {
            return None;
        }
        let offset = if is_tcp { TCP_CHECKSUM } else { UDP_CHECKSUM };
        let segments = Segments { ip, version, transport, headers, size, is_tcp, count };
        Some(Self { frame, checksum: Checksum::Open { start, offset }, segments: Some(segments) })
    }

    /// Returns the number of packets.
    #[must_use]
    pub fn count(&self) -> usize {
        self.segments.as_ref().map_or(1, |segments| segments.count)
    }

    /// Returns the state of the packets' checksums.
    #[must_use]
    pub const fn checksum(&self) -> Checksum {
        self.checksum
    }

    /// Returns the length of packet `index` (from 0).
    #[must_use]
    pub fn length(&self, index: usize) -> usize {
        let Some(Segments { headers, size, .. }) = self.segments else { return self.frame.len() };
        let payload = self.frame.len() - headers;
        // Only the last packet has less than `size`.
        headers + payload.saturating_sub(index * size).min(size)
    }

    /// Writes packet `index` into memory of its length. Returns `None` if the headers do not allow
    /// it.
    pub fn write(&self, index: usize, into: &mut [u8]) -> Option<()> {
        let Some(segments) = &self.segments else {
            into.copy_from_slice(self.frame);
            return Some(());
        };
        let &Segments { ip, version, transport, headers, size, is_tcp, count } = segments;
        let from = index * size;
        let (head, part) = into.split_at_mut_checked(headers)?;
        head.copy_from_slice(self.frame.get(..headers)?);
        part.copy_from_slice(self.frame.get(headers + from..)?.get(..part.len())?);
        if is_tcp {
            let sequence = word32(head, transport + 4)?.wrapping_add(u32::try_from(from).ok()?);
            head.get_mut(transport + 4..transport + 8)?.copy_from_slice(&sequence.to_be_bytes());
            let flags = head.get_mut(transport + 13)?;
            // FIN and PSH belong to the end of the data, CWR to its first segment (RFC 3168
            // §6.1.2). Linux cuts in the same way (`tcp_gso_segment`).
            if index + 1 < count {
                *flags &= !(FIN | PSH);
            }
            if index > 0 {
                *flags &= !CWR;
            }
        } else {
            let length = u16::try_from(into.len() - transport).ok()?;
            into.get_mut(transport + 4..transport + 6)?.copy_from_slice(&length.to_be_bytes());
        }
        if version == 4 {
            // Linux counts the identification of segments upwards, too (`inet_gso_segment`).
            let identification = word16(into, ip + 4)?.wrapping_add(u16::try_from(index).ok()?);
            into.get_mut(ip + 4..ip + 6)?.copy_from_slice(&identification.to_be_bytes());
        }
        let total = into.len();
        set_lengths(into, total, ip, version, transport, is_tcp)
    }
}

/// Writes the length of an IP packet that ends after `total` bytes of the frame, and the fields
/// that depend on it: the checksum of IPv4 and the sum of the pseudo-header, which goes into the
/// transport checksum.
fn set_lengths(
    packet: &mut [u8],
    total: usize,
    ip: usize,
    version: u8,
    transport: usize,
    is_tcp: bool,
) -> Option<()> {
    if version == 4 {
        let header = usize::from(*packet.get(ip)? & 0x0f) * 4;
        packet.get_mut(ip + 2..ip + 4)?.copy_from_slice(&u16::try_from(total - ip).ok()?.to_be_bytes());
        // The checksum's own field counts as zero (RFC 791 §3.1).
        packet.get_mut(ip + 10..ip + 12)?.fill(0);
        let checksum = !folded(sum_of(packet.get(ip..ip + header)?, 0));
        packet.get_mut(ip + 10..ip + 12)?.copy_from_slice(&checksum.to_be_bytes());
    } else {
        // The length of IPv6 does not include the header itself (RFC 8200 §3).
        let length = u16::try_from((total - ip).checked_sub(40)?).ok()?;
        packet.get_mut(ip + 4..ip + 6)?.copy_from_slice(&length.to_be_bytes());
    }
    // RFC 9293 §3.1, RFC 768, RFC 8200 §8.1.
    let addresses = if version == 4 { ip + 12..ip + 20 } else { ip + 8..ip + 40 };
    let (field, protocol) = if is_tcp { (TCP_CHECKSUM, 6) } else { (UDP_CHECKSUM, 17) };
    let length = u32::try_from(total - transport).ok()?;
    let pseudo = folded(sum_of(packet.get(addresses)?, 0) + protocol + (length >> 16) + (length & 0xffff));
    let field = transport + usize::from(field);
    packet.get_mut(field..field + 2)?.copy_from_slice(&pseudo.to_be_bytes());
    Some(())
}

/// Consecutive packets that can be written to the kernel as one: full segments of one TCP
/// connection with otherwise equal headers, of which only the last may be shorter. These are the
/// packets that Linux's GRO joins (`tcp_gro_receive`).
#[derive(Debug, Default)]
pub struct Train {
    packets: Vec<IpPacket>,
    shape: Option<Shape>,
}

#[derive(Clone, Copy, Debug)]
struct Shape {
    ip: usize,
    version: u8,
    transport: usize,
    headers: usize,
    size: usize,
    /// Bytes of the joined packet.
    total: usize,
    next_sequence: u32,
    is_closed: bool,
}

impl Train {
    /// True if the train has no packets.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Returns the number of packets.
    #[must_use]
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// Appends a packet. Returns it if it does not fit this train. An empty train takes any packet.
    pub fn push(&mut self, packet: IpPacket) -> Result<(), IpPacket> {
        if self.packets.is_empty() {
            self.shape = Shape::from_packet(&packet);
            self.packets.push(packet);
            return Ok(());
        }
        let joined = self
            .packets
            .first()
            .zip(self.shape)
            .and_then(|(first, shape)| shape.join(self.packets.len(), first, &packet));
        match joined {
            Some(shape) => {
                self.shape = Some(shape);
                self.packets.push(packet);
                Ok(())
            }
            None => Err(packet),
        }
    }

    /// Changes the headers of the first packet to those of the joined packet. Returns the offload
    /// header and the pieces: the whole first packet, and the payload of the others.
    pub fn couple(&mut self) -> (Offload, impl Iterator<Item = &[u8]>) {
        let mut skipped = 0;
        let mut offload = self
            .packets
            .first()
            .map_or_else(Offload::default, |first| Offload::from_checksum(first.checksum()));
        if let (Some(shape), true) = (self.shape, self.packets.len() > 1) {
            // The flags of the joined packet are those of its first segment, so PSH of the last one
            // is copied. Linux's GRO does the same.
            let pushes =
                self.packets.last().is_some_and(|last| last.bytes()[shape.transport + 13] & PSH != 0);
            let first = self.packets[0].bytes_mut();
            if pushes {
                first[shape.transport + 13] |= PSH;
            }
            let Shape { ip, version, transport, headers, size, total, .. } = shape;
            // `Shape::from_packet` has checked the headers.
            let _ = set_lengths(first, total, ip, version, transport, true);
            let word = |number: usize| u16::try_from(number).unwrap_or(0);
            offload = Offload {
                flags: NEEDS_CHECKSUM,
                // `WITH_ECN` is never set, because no segment with CWR is joined.
                kind: if version == 4 { TCP_V4 } else { TCP_V6 },
                header: word(headers),
                size: word(size),
                start: word(transport),
                offset: TCP_CHECKSUM,
            };
            skipped = headers;
        }
        // A single packet keeps its headers: `skipped` is 0.
        let pieces = self.packets.iter().enumerate().map(move |(index, packet)| {
            packet.bytes().get(if index > 0 { skipped } else { 0 }..).unwrap_or_default()
        });
        (offload, pieces)
    }

    /// Removes all packets.
    pub fn clear(&mut self) {
        self.packets.clear();
        self.shape = None;
    }
}

impl Shape {
    /// Returns the shape of a train that begins with this packet, or `None` if no other packet can
    /// be joined to it.
    fn from_packet(packet: &IpPacket) -> Option<Self> {
        let bytes = packet.bytes();
        let (ip, transport) = packet.headers().tcp()?;
        // A joined packet claims a correct checksum, which is not known of this packet.
        if packet.checksum() == Checksum::Unknown {
            return None;
        }
        let version = packet.headers().version();
        let headers = transport + usize::from(*bytes.get(transport + 12)? >> 4) * 4;
        // An ACK without data stays alone. A segment size of 0 cannot describe a super-packet.
        let size = bytes.len().checked_sub(headers).filter(|&size| size > 0)?;
        // Bytes behind the IP packet, such as the padding of short Ethernet frames, would get
        // between the payloads.
        if headers < transport + TCP_HEADER || packet.headers().end(bytes) != bytes.len() {
            return None;
        }
        let flags = *bytes.get(transport + 13)?;
        // A packet that may be fragmented needs its identification, which a joined packet loses.
        // With DF the identification has no meaning (RFC 6864 §4).
        let is_fragile = version == 4 && word16(bytes, ip + 6)? != DONT_FRAGMENT;
        // Any other flag belongs to one segment. The joined packet would lose it or give it to
        // others.
        if flags & !PSH != ACK || is_fragile {
            return None;
        }
        Some(Self {
            ip,
            version,
            transport,
            headers,
            size,
            total: bytes.len(),
            next_sequence: word32(bytes, transport + 4)?.wrapping_add(u32::try_from(size).ok()?),
            // GRO ends a packet at PSH as well, so that the receiver gets the data at once.
            is_closed: flags & PSH != 0,
        })
    }

    /// Returns the shape with `packet` appended, if it fits.
    fn join(self, count: usize, first: &IpPacket, packet: &IpPacket) -> Option<Self> {
        let other = Self::from_packet(packet)?;
        let total = self.total + other.size;
        let is_next = !self.is_closed
            && count < MOST_COUPLED
            && other.size <= self.size
            && total - self.ip <= LARGEST_IP
            && (other.ip, other.version, other.transport, other.headers)
                == (self.ip, self.version, self.transport, self.headers)
            // Shapes hold the end of their data: the new data begin where the old ones end.
            && other.next_sequence == self.next_sequence.wrapping_add(u32::try_from(other.size).ok()?);
        if !is_next || !same_headers(first.bytes(), packet.bytes(), &self) {
            return None;
        }
        Some(Self {
            total,
            next_sequence: other.next_sequence,
            // The kernel cuts the joined packet into equal parts, so only its last one may be
            // short.
            is_closed: other.is_closed || other.size < self.size,
            ..self
        })
    }
}

/// True if the headers differ only in lengths, identification, sequence number, checksums and PSH.
fn same_headers(one: &[u8], other: &[u8], shape: &Shape) -> bool {
    let Shape { ip, version, transport, headers, .. } = *shape;
    let same = |from: usize, to: usize| one.get(from..to) == other.get(from..to);
    let same_ip = if version == 4 {
        // Compares version and TOS; fragmentation, TTL and protocol; addresses and options.
        same(0, ip + 2) && same(ip + 6, ip + 10) && same(ip + 12, transport)
    } else {
        same(0, ip + 4) && same(ip + 6, transport)
    };
    // Compares ports; acknowledgement and data offset; window; urgent pointer and options.
    same_ip
        && same(transport, transport + 4)
        && same(transport + 8, transport + 13)
        && same(transport + 14, transport + 16)
        && same(transport + 18, headers)
}

fn word16(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|word| u16::from_be_bytes(*word))
}

fn word32(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|word| u32::from_be_bytes(*word))
}

// Flags and kinds of `struct virtio_net_hdr` (VIRTIO 1.2 §5.1.6): `VIRTIO_NET_HDR_F_*`,
// `VIRTIO_NET_HDR_GSO_*`. The kind 3, which cuts UDP into IP fragments, is missing, because
// `tun.rs` does not ask for it.
const NEEDS_CHECKSUM: u8 = 1;
const DATA_VALID: u8 = 2;
const NONE: u8 = 0;
const TCP_V4: u8 = 1;
const TCP_V6: u8 = 4;
const UDP: u8 = 5;
const WITH_ECN: u8 = 0x80;
// Lengths, offsets and flags of RFC 768 and RFC 9293 §3.1.
const UDP_HEADER: usize = 8;
const UDP_CHECKSUM: u16 = 6;
const TCP_HEADER: usize = 20;
const TCP_CHECKSUM: u16 = 16;
const FIN: u8 = 1;
const PSH: u8 = 8;
const ACK: u8 = 16;
const CWR: u8 = 128;
const DONT_FRAGMENT: u16 = 0x4000;
/// Segments of a super-packet: 64 KiB in the smallest segments that Linux sends (`TCP_MIN_SND_MSS`
/// less options) are fewer.
const MOST_SEGMENTS: usize = 2048;
/// Bytes of the longest frame.
const LARGEST: usize = 1 << 17;
// The length field of IPv4 has 16 bits.
const LARGEST_IP: usize = 65_535;
/// Packets of a train: fewer than the pieces that one system call takes (`IOV_MAX`).
const MOST_COUPLED: usize = 512;

#[cfg(test)]
mod tests;
