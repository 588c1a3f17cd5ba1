//! Super-packets: what an interface with offloads hands over as one packet is cut into those that go on the wire, and
//! checksums that were left to the hardware are completed, before a queue sees anything.
//!
//! The kernel says in front of each frame (`struct virtio_net_hdr`, VIRTIO 1.2 §5.1.6) what is left to do.

use std::collections::VecDeque;

use crate::packet::ethernet_payload;

/// What the kernel says in front of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Offload {
    needs_checksum: bool,
    kind: u8,
    size: usize,
    start: usize,
    offset: usize,
}

/// Bytes of that.
pub(crate) const OFFLOAD_HEADER: usize = 10;

impl Offload {
    /// Reads it, in this machine's byte order.
    pub(crate) fn read(header: [u8; OFFLOAD_HEADER]) -> Self {
        let word = |at: usize| usize::from(u16::from_ne_bytes([header[at], header[at + 1]]));
        Self {
            needs_checksum: header[0] & NEEDS_CHECKSUM != 0,
            kind: header[1] & !WITH_ECN,
            size: word(4),
            start: word(6),
            offset: word(8),
        }
    }
}

/// Gives the frames that `frame` stands for to `into`. False, and none, if its headers contradict each other.
pub(crate) fn cut(offload: Offload, frame: &[u8], into: &mut VecDeque<Vec<u8>>) -> bool {
    match offload.kind {
        NONE if offload.needs_checksum => {
            let mut whole = frame.to_vec();
            let done = complete_checksum(&mut whole, offload.start, offload.offset).is_some();
            if done {
                into.push_back(whole);
            }
            done
        }
        NONE => {
            into.push_back(frame.to_vec());
            true
        }
        TCP_V4 | TCP_V6 | UDP => segments(offload, frame, into).is_some(),
        _ => false,
    }
}

/// The checksum field holds the sum over the pseudo-header; what follows it is added.
fn complete_checksum(frame: &mut [u8], start: usize, offset: usize) -> Option<()> {
    let sum = folded(sum_of(frame.get(start..)?, 0));
    let sum = if sum == 0xffff { sum } else { !sum };
    frame.get_mut(start + offset..start + offset + 2)?.copy_from_slice(&sum.to_be_bytes());
    Some(())
}

fn segments(offload: Offload, frame: &[u8], into: &mut VecDeque<Vec<u8>>) -> Option<()> {
    let ip = ethernet_payload(frame)?;
    let transport = offload.start;
    let is_tcp = offload.kind != UDP;
    let headers = if is_tcp {
        transport + usize::from(*frame.get(transport + 12)? >> 4) * 4
    } else {
        transport + UDP_HEADER
    };
    let least = transport + if is_tcp { 20 } else { UDP_HEADER };
    let version = frame.get(ip)? >> 4;
    let least_ip = if version == 4 { ip + 20 } else { ip + 40 };
    if headers < least || transport < least_ip || offload.size == 0 {
        return None;
    }
    let payload = frame.get(headers..)?;
    let count = payload.len().div_ceil(offload.size).max(1);
    if count > MOST_SEGMENTS {
        return None;
    }
    for index in 0..count {
        let from = index * offload.size;
        let part = payload.get(from..payload.len().min(from + offload.size))?;
        let mut segment = frame.get(..headers)?.to_vec();
        segment.extend_from_slice(part);
        if is_tcp {
            let sequence = word32(&segment, transport + 4)?.wrapping_add(u32::try_from(from).ok()?);
            segment.get_mut(transport + 4..transport + 8)?.copy_from_slice(&sequence.to_be_bytes());
            let flags = segment.get_mut(transport + 13)?;
            if index + 1 < count {
                *flags &= !(FIN | PSH);
            }
            if index > 0 {
                *flags &= !CWR;
            }
        } else {
            let length = u16::try_from(segment.len() - transport).ok()?;
            segment.get_mut(transport + 4..transport + 6)?.copy_from_slice(&length.to_be_bytes());
        }
        set_ip_length(&mut segment, ip, version, index)?;
        set_checksum(&mut segment, ip, version, transport, is_tcp)?;
        into.push_back(segment);
    }
    Some(())
}

fn set_ip_length(segment: &mut [u8], ip: usize, version: u8, index: usize) -> Option<()> {
    let total = segment.len() - ip;
    if version == 4 {
        let header = usize::from(*segment.get(ip)? & 0x0f) * 4;
        let identification = word16(segment, ip + 4)?.wrapping_add(u16::try_from(index).ok()?);
        segment.get_mut(ip + 2..ip + 4)?.copy_from_slice(&u16::try_from(total).ok()?.to_be_bytes());
        segment.get_mut(ip + 4..ip + 6)?.copy_from_slice(&identification.to_be_bytes());
        segment.get_mut(ip + 10..ip + 12)?.fill(0);
        let checksum = !folded(sum_of(segment.get(ip..ip + header)?, 0));
        segment.get_mut(ip + 10..ip + 12)?.copy_from_slice(&checksum.to_be_bytes());
    } else {
        let length = u16::try_from(total.checked_sub(40)?).ok()?;
        segment.get_mut(ip + 4..ip + 6)?.copy_from_slice(&length.to_be_bytes());
    }
    Some(())
}

/// RFC 9293 §3.1, RFC 768, RFC 8200 §8.1.
fn set_checksum(segment: &mut [u8], ip: usize, version: u8, transport: usize, is_tcp: bool) -> Option<()> {
    let addresses = if version == 4 { ip + 12..ip + 20 } else { ip + 8..ip + 40 };
    let (field, protocol) = if is_tcp { (transport + 16, 6) } else { (transport + 6, 17) };
    segment.get_mut(field..field + 2)?.fill(0);
    let length = u32::try_from(segment.len() - transport).ok()?;
    let pseudo = sum_of(segment.get(addresses)?, 0) + protocol + (length >> 16) + (length & 0xffff);
    let sum = !folded(sum_of(segment.get(transport..)?, pseudo));
    // A UDP checksum of 0 would mean that there is none.
    let sum = if sum == 0 && !is_tcp { 0xffff } else { sum };
    segment.get_mut(field..field + 2)?.copy_from_slice(&sum.to_be_bytes());
    Some(())
}

/// RFC 1071 §4.1; at most 64 KiB, so 32 bits hold it.
fn sum_of(bytes: &[u8], begin: u32) -> u32 {
    bytes.chunks(2).fold(begin, |sum, word| {
        let low = word.get(1).copied().unwrap_or(0);
        sum.wrapping_add(u32::from(u16::from_be_bytes([word[0], low])))
    })
}

fn folded(sum: u32) -> u16 {
    let once = (sum & 0xffff) + (sum >> 16);
    u16::try_from((once & 0xffff) + (once >> 16)).unwrap_or(u16::MAX)
}

fn word16(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|word| u16::from_be_bytes(*word))
}

fn word32(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|word| u32::from_be_bytes(*word))
}

const NEEDS_CHECKSUM: u8 = 1;
const NONE: u8 = 0;
const TCP_V4: u8 = 1;
const TCP_V6: u8 = 4;
const UDP: u8 = 5;
const WITH_ECN: u8 = 0x80;
const UDP_HEADER: usize = 8;
const FIN: u8 = 1;
const PSH: u8 = 8;
const CWR: u8 = 128;
/// 64 KiB in the smallest segments that Linux sends (`TCP_MIN_SND_MSS` less options) are fewer.
const MOST_SEGMENTS: usize = 2048;

#[cfg(test)]
mod tests {
    use super::*;

    /// Ethernet, IPv4 and TCP with so much payload, checksums left open.
    fn tcp_frame(payload: usize) -> Vec<u8> {
        let mut frame = [&[0; 12][..], &[8, 0]].concat();
        frame.extend_from_slice(&[0x45, 2, 0, 0, 0, 7, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        frame
            .extend_from_slice(&[0, 80, 1, 0, 0xff, 0xff, 0xff, 0, 0, 0, 0, 9, 0x50, 0x99, 1, 0, 0, 0, 0, 0]);
        frame.extend((0..payload).map(|n| n.to_le_bytes()[0]));
        frame
    }

    fn offload(kind: u8, size: u16) -> Offload {
        let [size, start, offset] = [size, 34, 16].map(u16::to_ne_bytes);
        Offload::read([1, kind, 0, 0, size[0], size[1], start[0], start[1], offset[0], offset[1]])
    }

    fn is_correct(segment: &[u8]) -> bool {
        let length = u32::try_from(segment.len() - 34).unwrap();
        folded(sum_of(&segment[14..34], 0)) == 0xffff
            && folded(sum_of(&segment[34..], sum_of(&segment[26..34], 6 + length))) == 0xffff
            && word16(segment, 16) == u16::try_from(segment.len() - 14).ok()
    }

    #[test]
    fn a_super_packet_becomes_the_packets_that_go_on_the_wire() {
        let frame = tcp_frame(2500);
        let mut cuts = VecDeque::new();
        assert!(cut(offload(TCP_V4 | WITH_ECN, 1000), &frame, &mut cuts));
        assert_eq!(cuts.iter().map(Vec::len).collect::<Vec<_>>(), [1054, 1054, 554]);
        assert!(cuts.iter().all(|segment| is_correct(segment)));
        let sequence: Vec<_> = cuts.iter().map(|segment| word32(segment, 38).unwrap()).collect();
        assert_eq!(
            sequence,
            [0xffff_ff00, 0xffff_ff00_u32.wrapping_add(1000), 0xffff_ff00_u32.wrapping_add(2000)]
        );
        let flags: Vec<_> = cuts.iter().map(|segment| segment[47]).collect();
        assert_eq!(flags, [0x90, 0x10, 0x19], "CWR with the first, FIN and PSH with the last");
        let rejoined: Vec<u8> = cuts.iter().flat_map(|segment| segment[54..].to_vec()).collect();
        assert_eq!(rejoined, frame[54..]);
    }

    #[test]
    fn a_checksum_left_to_the_hardware_is_completed() {
        let mut frame = tcp_frame(100);
        // What the kernel leaves in the field: the sum over the pseudo-header.
        let pseudo = folded(sum_of(&frame[26..34], 6 + 120));
        frame[50..52].copy_from_slice(&pseudo.to_be_bytes());
        frame[16..18].copy_from_slice(&140_u16.to_be_bytes());
        let header = !folded(sum_of(&frame[14..34], 0));
        frame[24..26].copy_from_slice(&header.to_be_bytes());
        let mut done = VecDeque::new();
        assert!(cut(offload(NONE, 0), &frame, &mut done));
        assert!(is_correct(&done[0]));
    }

    #[test]
    fn headers_that_contradict_each_other_give_nothing_and_harm_nothing() {
        let frame = tcp_frame(3000);
        for kind in [TCP_V4, TCP_V6, UDP, 77] {
            for size in [0, 1, 1000, u16::MAX] {
                for start in [0, 13, 14, 34, 60, 3000, u16::MAX] {
                    for length in [0, 10, 14, 20, 34, 40, 53, 54, 60, frame.len()] {
                        let mut cuts = VecDeque::new();
                        let what = Offload { start: usize::from(start), ..offload(kind, size) };
                        cut(what, &frame[..length], &mut cuts);
                        assert!(cuts.len() <= MOST_SEGMENTS);
                        let mut one = VecDeque::new();
                        cut(Offload { kind: NONE, ..what }, &frame[..length], &mut one);
                    }
                }
            }
        }
    }
}
