//! Captures of a link for Wireshark.

extern crate std;

use core::net::IpAddr;
use std::io::{self, Write};
use std::string::{String, ToString};
use std::vec::Vec;

use goodqueue::hash::FlowKey;
use goodqueue::{Datagram, DropReason, Flow as _, Instant, Packet as _};

use crate::observe::Observer;
use crate::pcapng;
use crate::tagged::Queued;

/// Writes every packet as pcapng when it arrives, and again when it leaves the queue, is dropped or
/// is lost. Time 0 is the Unix epoch.
///
/// ```
/// use goodqueue::Datagram;
/// use goodqueue_link::capture::{Capture, datagram};
/// use goodqueue_link::{Link, Units};
///
/// let mut link: Link<Datagram<Vec<u8>>> = Link::builder().rate(8.mbit()).build()?;
/// link.observe(Capture::to(std::io::sink(), datagram)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Capture<W, F> {
    to: W,
    /// Appends the bytes of an IP packet.
    bytes: F,
    block: Vec<u8>,
    packet: Vec<u8>,
    trouble: Option<String>,
}

impl<W: Write, F> Capture<W, F> {
    /// Begins a file. `bytes` appends the bytes of a packet, from its IP header on.
    ///
    /// # Errors
    /// The writer's.
    pub fn to(mut to: W, bytes: F) -> io::Result<Self> {
        let mut block = Vec::new();
        pcapng::section(&mut block, &[(pcapng::APPLICATION, APPLICATION.as_bytes())]);
        for point in pcapng::POINTS {
            pcapng::interface(&mut block, pcapng::RAW_IP, point);
        }
        to.write_all(&block)?;
        Ok(Self { to, bytes, block, packet: Vec::new(), trouble: None })
    }

    fn write<P>(&mut self, at: Instant, packet: &Queued<P>, point: u32, options: &[pcapng::Opt<'_>])
    where
        F: FnMut(&P, &mut Vec<u8>),
    {
        if self.trouble.is_some() {
            return;
        }
        self.packet.clear();
        (self.bytes)(&packet.packet, &mut self.packet);
        self.block.clear();
        let length = u32::try_from(self.packet.len()).unwrap_or(u32::MAX);
        pcapng::packet(&mut self.block, point, at, length, &self.packet, options);
        self.trouble = self.to.write_all(&self.block).err().map(|error| error.to_string());
    }
}

impl<P, W: Write, F: FnMut(&P, &mut Vec<u8>)> Observer<P> for Capture<W, F> {
    fn arrived(&mut self, at: Instant, packet: &Queued<P>) {
        self.write(at, packet, pcapng::INGRESS, &[]);
    }

    fn sent(&mut self, at: Instant, packet: &Queued<P>) {
        self.write(at, packet, pcapng::EGRESS, &[]);
    }

    fn dropped(&mut self, at: Instant, packet: &Queued<P>, why: DropReason) {
        let comment = std::format!("dropped by the queue discipline: {}", why.name());
        self.write(at, packet, pcapng::DROPS, &[(pcapng::COMMENT, comment.as_bytes()), pcapng::SHOT]);
    }

    fn lost(&mut self, at: Instant, packet: &Queued<P>, why: DropReason) {
        let comment = std::format!("lost on the path: {}", why.name());
        self.write(at, packet, pcapng::DROPS, &[(pcapng::COMMENT, comment.as_bytes()), pcapng::SHOT]);
    }

    fn ended(&mut self, _: Instant) {
        if let (Err(error), None) = (self.to.flush(), &self.trouble) {
            self.trouble = Some(error.to_string());
        }
    }

    fn trouble(&self) -> Option<String> {
        self.trouble.clone()
    }
}

/// Appends a datagram as an IP packet: its headers, with UDP if that is its protocol, and its
/// content.
///
/// The UDP checksum is 0, "not computed", over IPv4. IPv6 does not allow that (RFC 8200 §8.1). A
/// packet whose addresses are of different families gets no header.
pub fn datagram<T: AsRef<[u8]>>(packet: &Datagram<T>, to: &mut Vec<u8>) {
    let content = packet.content.as_ref();
    let key = &packet.key;
    let is_udp = key.protocol() == FlowKey::UDP;
    let payload = content.len() + if is_udp { UDP } else { 0 };
    // A packet too long for the field gets the largest length.
    let length = |bytes: usize| u16::try_from(bytes).unwrap_or(u16::MAX).to_be_bytes();
    let tos = packet.dscp() << 2 | packet.ecn().bits();
    match (key.source().ip(), key.destination().ip()) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let begin = to.len();
            // Version 4, and a header of five words.
            to.extend([0x45, tos]);
            to.extend(length(IPV4 + payload));
            // No identification and no fragments; 64 hops.
            to.extend([0, 0, 0x40, 0, 64, key.protocol(), 0, 0]);
            to.extend(source.octets());
            to.extend(destination.octets());
            let checksum = checksum(to.get(begin..).unwrap_or_default()).to_be_bytes();
            // The checksum is computed over a header in which it is 0.
            if let Some(place) = to.get_mut(begin + 10..begin + 12) {
                place.copy_from_slice(&checksum);
            }
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            // Version 6; the traffic class is in two bytes. The flow label is 0.
            to.extend([0x60 | tos >> 4, tos << 4, 0, 0]);
            to.extend(length(payload));
            to.extend([key.protocol(), 64]);
            to.extend(source.octets());
            to.extend(destination.octets());
        }
        _ => return to.extend(content),
    }
    if !is_udp {
        return to.extend(content);
    }
    let begin = to.len();
    to.extend(key.source().port().to_be_bytes());
    to.extend(key.destination().port().to_be_bytes());
    to.extend(length(payload));
    to.extend([0, 0]);
    to.extend(content);
    if let (IpAddr::V6(source), IpAddr::V6(destination)) = (key.source().ip(), key.destination().ip()) {
        let mut covered = Vec::with_capacity(PSEUDO_HEADER + payload);
        covered.extend(source.octets());
        covered.extend(destination.octets());
        covered.extend([0, 0]);
        covered.extend(length(payload));
        covered.extend([0, 0, 0, key.protocol()]);
        covered.extend(to.get(begin..).unwrap_or_default());
        // A sum of 0 is sent as its other form, because 0 means that there is none (RFC 768).
        let sum = match checksum(&covered) {
            0 => u16::MAX,
            sum => sum,
        };
        if let Some(place) = to.get_mut(begin + 6..begin + 8) {
            place.copy_from_slice(&sum.to_be_bytes());
        }
    }
}

/// The checksum of RFC 1071.
fn checksum(bytes: &[u8]) -> u16 {
    // An odd last byte counts as if a byte of 0 followed (RFC 1071).
    let words = bytes.chunks(2).map(|two| {
        u64::from(u16::from_be_bytes([two.first().copied().unwrap_or(0), two.get(1).copied().unwrap_or(0)]))
    });
    let mut sum: u64 = words.sum();
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    !u16::try_from(sum).unwrap_or(0)
}

// The headers that `datagram` writes have no options.
const IPV4: usize = 20;
const UDP: usize = 8;
/// What the checksum covers in front of the UDP header: both addresses, the length and the protocol
/// (RFC 8200 §8.1).
const PSEUDO_HEADER: usize = 40;
const APPLICATION: &str = concat!("goodqueue-link ", env!("CARGO_PKG_VERSION"));

#[cfg(test)]
mod tests {
    use core::net::SocketAddr;

    use super::*;

    #[test]
    fn a_datagram_over_ipv6_has_a_checksum_and_one_over_ipv4_says_that_it_has_none() {
        let bytes = |from: &str, to: &str, content: &[u8]| {
            let address = |text: &str| text.parse::<SocketAddr>().ok();
            let key = FlowKey::new(address(from)?, address(to)?, FlowKey::UDP);
            let mut bytes = Vec::new();
            let length = u32::try_from(content.len()).unwrap_or(0);
            datagram(&Datagram::new(key, length, content.to_vec()), &mut bytes);
            Some(bytes)
        };
        for content in [&b"hello"[..], &[0xFF; 1200], &[]] {
            let packet = bytes("[2001:db8::1]:4433", "[2001:db8::2]:50000", content).unwrap_or_default();
            let (header, segment) = packet.split_at(40);
            // Addresses, length and protocol, then the segment with its checksum: all sum up to 0.
            let mut covered = header[8..].to_vec();
            covered.extend(u32::try_from(segment.len()).unwrap_or(0).to_be_bytes());
            covered.extend([0, 0, 0, 17]);
            covered.extend(segment);
            assert_eq!(checksum(&covered), 0);
            let packet = bytes("192.0.2.1:4433", "192.0.2.2:50000", content).unwrap_or_default();
            assert_eq!(packet.get(26..28), Some(&[0, 0][..]));
        }
    }
}
