use goodqueue::Instant;

use super::*;
use crate::buffer::Pool;
use crate::packet::Framing;

/// A frame of Ethernet, IPv4 and TCP with `payload` bytes of payload and incomplete checksums.
fn tcp_frame(payload: usize) -> Vec<u8> {
    let mut frame = [&[0; 12][..], &[8, 0]].concat();
    frame.extend_from_slice(&[0x45, 2, 0, 0, 0, 7, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    // The sequence number wraps within 256 bytes. 0x99 are the flags CWR, ACK, PSH and FIN.
    frame.extend_from_slice(&[0, 80, 1, 0, 0xff, 0xff, 0xff, 0, 0, 0, 0, 9, 0x50, 0x99, 1, 0, 0, 0, 0, 0]);
    frame.extend((0..payload).map(|n| n.to_le_bytes()[0]));
    frame
}

fn offload(kind: u8, size: u16) -> Offload {
    // TCP begins behind 14 bytes of Ethernet and 20 of IPv4.
    let [size, start, offset] = [size, 34, 16].map(u16::to_ne_bytes);
    Offload::read([1, kind, 0, 0, size[0], size[1], start[0], start[1], offset[0], offset[1]])
}

fn cut(offload: Offload, frame: &[u8]) -> Option<Vec<Vec<u8>>> {
    let cuts = SegmentedPacket::from_frame(offload, frame, true)?;
    (0..cuts.count())
        .map(|index| {
            let mut packet = vec![0xaa; cuts.length(index)];
            cuts.write(index, &mut packet)?;
            Some(packet)
        })
        .collect()
}

/// True if the packet is correct once its checksum is completed.
fn is_correct(segment: &[u8]) -> bool {
    let mut segment = segment.to_vec();
    Checksum::Open { start: 34, offset: 16 }.complete(&mut segment);
    let length = u32::try_from(segment.len() - 34).unwrap();
    folded(sum_of(&segment[14..34], 0)) == 0xffff
        && folded(sum_of(&segment[34..], sum_of(&segment[26..34], 6 + length))) == 0xffff
        && word16(&segment, 16) == u16::try_from(segment.len() - 14).ok()
}

#[test]
fn a_super_packet_becomes_the_packets_that_go_on_the_wire() {
    let frame = tcp_frame(2500);
    let cuts = cut(offload(TCP_V4 | WITH_ECN, 1000), &frame).unwrap();
    // 54 bytes of headers in front of 1000, 1000 and 500 bytes of payload.
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
    // The kernel leaves the sum of the pseudo-header in the field.
    let pseudo = folded(sum_of(&frame[26..34], 6 + 120));
    frame[50..52].copy_from_slice(&pseudo.to_be_bytes());
    frame[16..18].copy_from_slice(&140_u16.to_be_bytes());
    let header = !folded(sum_of(&frame[14..34], 0));
    frame[24..26].copy_from_slice(&header.to_be_bytes());
    let done = cut(offload(NONE, 0), &frame).unwrap();
    assert_eq!(done, [frame.clone()], "until then it is carried unchanged");
    assert!(is_correct(&done[0]));
}

#[test]
fn headers_that_contradict_each_other_give_nothing_and_harm_nothing() {
    let frame = tcp_frame(3000);
    for kind in [TCP_V4, TCP_V6, UDP, NONE, 77] {
        for size in [0, 1, 1000, u16::MAX] {
            // Around the ends of the Ethernet, IPv4 and TCP headers, and beyond the frame.
            for start in [0, 13, 14, 34, 60, 3000, u16::MAX] {
                for length in [0, 10, 14, 20, 34, 40, 53, 54, 60, frame.len()] {
                    for ethernet in [true, false] {
                        let what = Offload { start, ..offload(kind, size) };
                        let Some(cuts) = SegmentedPacket::from_frame(what, &frame[..length], ethernet) else {
                            continue;
                        };
                        assert!(cuts.count() <= MOST_SEGMENTS);
                        for index in 0..cuts.count() {
                            let _ = cuts.write(index, &mut vec![0; cuts.length(index)]);
                        }
                    }
                }
            }
        }
    }
}

/// The packets of a super-packet of three and a half segments, as they leave a queue.
fn segments() -> Vec<IpPacket> {
    let pool = Pool::new(1 << 20);
    let frame = tcp_frame(3500);
    let what = Offload { flags: NEEDS_CHECKSUM, ..offload(TCP_V4, 1000) };
    let cuts = SegmentedPacket::from_frame(what, &frame, true).unwrap();
    let packets = (0..cuts.count()).map(|index| {
        let mut buffer = pool.take(cuts.length(index)).unwrap();
        cuts.write(index, buffer.bytes_mut()).unwrap();
        IpPacket::new(buffer, Framing::Ethernet, index as u64, Instant::ZERO).with_checksum(cuts.checksum())
    });
    packets
        .map(|mut packet| {
            // Segments with CWR or FIN are never joined.
            packet.bytes_mut()[47] &= PSH | ACK;
            packet
        })
        .collect()
}

/// Returns the frames, with their headers, that the kernel gets for these packets.
fn coupled(packets: Vec<IpPacket>) -> Vec<(Offload, Vec<u8>)> {
    let mut train = Train::default();
    let mut all = Vec::new();
    let mut depart = |train: &mut Train| {
        let (offload, pieces) = train.couple();
        all.push((offload, pieces.collect::<Vec<_>>().concat()));
        train.clear();
    };
    for packet in packets {
        if let Err(packet) = train.push(packet) {
            depart(&mut train);
            train.push(packet).unwrap();
        }
    }
    depart(&mut train);
    all
}

#[test]
fn packets_that_were_cut_are_joined_as_they_were() {
    let all = coupled(segments());
    assert_eq!(all.len(), 1);
    let (offload, frame) = &all[0];
    assert_eq!((offload.kind, offload.size, offload.start, offload.offset), (TCP_V4, 1000, 34, 16));
    assert_eq!(frame[54..], tcp_frame(3500)[54..]);
    assert!(is_correct(frame));
    assert_eq!(frame[47], ACK | PSH, "the flags of the last packet");
    // Cut again, it gives the packets that were joined.
    let again = cut(*offload, frame).unwrap();
    let before: Vec<Vec<u8>> = segments().iter().map(|packet| packet.bytes().to_vec()).collect();
    assert_eq!(again, before);
}

#[test]
fn only_plain_consecutive_segments_of_one_connection_are_joined() {
    type Change = fn(&mut [u8]);
    let changes: [(&str, Change); 9] = [
        ("CE", |packet| packet[15] |= 3),
        ("another TTL", |packet| packet[22] -= 1),
        ("another port", |packet| packet[35] ^= 1),
        ("a gap", |packet| packet[41] ^= 1),
        ("another acknowledgement", |packet| packet[45] ^= 1),
        ("ECE", |packet| packet[47] |= 64),
        ("another window", |packet| packet[48] ^= 1),
        ("another address", |packet| packet[33] ^= 1),
        ("a fragment", |packet| packet[20] = 0x20),
    ];
    for (name, change) in changes {
        let mut packets = segments();
        let second = packets.remove(1);
        let pool = Pool::new(1 << 20);
        let mut buffer = pool.copy(second.bytes()).unwrap();
        change(buffer.bytes_mut());
        let changed =
            IpPacket::new(buffer, Framing::Ethernet, 1, Instant::ZERO).with_checksum(second.checksum());
        packets.insert(1, changed);
        let bytes: Vec<Vec<u8>> = packets.iter().map(|packet| packet.bytes().to_vec()).collect();
        let all = coupled(packets);
        assert_eq!(all.len(), 3, "{name}: the first, this one, and the two behind it");
        assert_eq!(all[1].1, bytes[1], "{name}");
    }
    let unknown = segments().into_iter().map(|packet| packet.with_checksum(Checksum::Unknown)).collect();
    assert_eq!(coupled(unknown).len(), 4, "their checksums are not verified");
}
