use super::*;
use crate::buffer::Pool;

const FRAMING: Framing = Framing::Ip { counted: 14 };

fn packet(bytes: &[u8]) -> IpPacket {
    IpPacket::new(Pool::new(1 << 20).copy(bytes).unwrap(), FRAMING, 0, Instant::ZERO)
}

/// Returns an IPv4 packet with a correct header checksum.
fn v4(tos: u8, protocol: u8, fragment: u16, payload: &[u8]) -> Vec<u8> {
    let total = u16::try_from(20 + payload.len()).unwrap();
    let mut bytes = vec![0x45, tos, 0, 0, 0x12, 0x34, 0, 0, 64, protocol, 0, 0, 198, 18, 0, 1, 198, 18, 0, 2];
    bytes[2..4].copy_from_slice(&total.to_be_bytes());
    bytes[6..8].copy_from_slice(&fragment.to_be_bytes());
    let checksum = checksum(&bytes);
    bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

fn v6(tos: u8, next: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x60 | (tos >> 4), (tos << 4) | 0x0a, 0xbc, 0xde, 0, 0, next, 64];
    bytes[4..6].copy_from_slice(&u16::try_from(payload.len()).unwrap().to_be_bytes());
    bytes.extend_from_slice(&[0x20, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    bytes.extend_from_slice(&[0x20, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
    bytes.extend_from_slice(payload);
    bytes
}

/// The checksum of RFC 1071, computed word by word.
fn checksum(header: &[u8]) -> u16 {
    let mut sum: u32 = header.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !u16::try_from(sum).unwrap()
}

fn ports(source: u16, destination: u16) -> Vec<u8> {
    [source.to_be_bytes(), destination.to_be_bytes(), [0; 2], [0; 2]].concat()
}

#[test]
fn marking_leaves_a_correct_checksum_whatever_the_header_says() {
    for tos in 0..=255_u8 {
        for identification in [0_u16, 1, 0x1234, 0xfffe, 0xffff] {
            let mut bytes = v4(tos, 17, 0x4000, &ports(1, 2));
            bytes[4..6].copy_from_slice(&identification.to_be_bytes());
            bytes[10..12].copy_from_slice(&[0; 2]);
            let sum = checksum(&bytes[..20]);
            bytes[10..12].copy_from_slice(&sum.to_be_bytes());
            let mut packet = packet(&bytes);
            let capable = tos & 3 != 0;
            assert_eq!(packet.set_ce(), capable, "a Not-ECT packet is never marked");
            assert_eq!(packet.bytes()[1], if capable { tos | 3 } else { tos });
            assert_eq!(checksum(&packet.bytes()[..20]), 0, "tos {tos}, identification {identification}");
            assert_eq!(packet.ecn() == Ecn::Ce, capable);
        }
    }
}

#[test]
fn marking_ipv6_changes_two_bits_and_no_others() {
    for tos in 0..=255_u8 {
        let before = v6(tos, 17, &ports(1, 2));
        let mut packet = packet(&before);
        assert_eq!(packet.headers().tos, tos);
        let capable = tos & 3 != 0;
        assert_eq!(packet.set_ce(), capable);
        let mut expected = before.clone();
        if capable {
            // The last two bits of the traffic class are in the second byte (RFC 8200 §3).
            expected[1] |= 0x30;
        }
        assert_eq!(packet.bytes(), expected);
    }
}

#[test]
fn packets_with_equal_addresses_protocol_and_ports_share_a_flow() {
    let one = packet(&v4(0, 6, 0x4000, &ports(1000, 80)));
    assert!(one.same_flow(&packet(&v4(3, 6, 0, &ports(1000, 80)))), "TOS and flags do not identify a flow");
    for other in [v4(0, 6, 0, &ports(1001, 80)), v4(0, 17, 0, &ports(1000, 80)), v6(0, 6, &ports(1000, 80))] {
        assert!(!one.same_flow(&packet(&other)));
    }
    assert_eq!(one.headers().ports, (1000, 80));
    // `FRAMING` counts 14 bytes for an Ethernet header.
    assert_eq!(one.len(), 20 + 8 + 14);
    assert_ne!(one.source_hash(0), one.destination_hash(0));
    assert_eq!(one.source_hash(0), packet(&v4(0, 17, 0, &[])).source_hash(0));
}

#[test]
fn all_fragments_of_a_datagram_share_a_flow() {
    // 0x2000 means that more fragments follow (RFC 791 §3.1).
    let first = packet(&v4(0, 17, 0x2000, &ports(1, 2)));
    let middle = packet(&v4(0, 17, 0x2001, &ports(3, 4)));
    let last = packet(&v4(0, 17, 0x0007, &[]));
    assert!(first.same_flow(&middle) && first.same_flow(&last));
    // Fields of a fragment header: next header, reserved, offset and flags, identification.
    let of_v6 =
        |offset: u8, rest: &[u8]| packet(&v6(0, 44, &[&[17, 0, 0, offset, 0, 0, 0, 9], rest].concat()));
    // 1 is the flag of more fragments with offset 0, 8 the last fragment with offset 1.
    assert!(of_v6(1, &ports(1, 2)).same_flow(&of_v6(8, &[0; 3])));
}

#[test]
fn pings_are_distinguished_by_their_identifier_and_errors_are_not() {
    let echo = |kind: u8, id: u8| packet(&v4(0, 1, 0, &[kind, 0, 0, 0, 0, id, 0, 1]));
    // 8 is an echo request, 0 its reply, and 3 the error "destination unreachable" (RFC 792).
    assert!(echo(8, 1).same_flow(&echo(0, 1)));
    assert!(!echo(8, 1).same_flow(&echo(8, 2)));
    assert!(echo(3, 1).same_flow(&echo(3, 2)));
}

#[test]
fn extension_headers_are_skipped_up_to_a_limit() {
    // One option PadN that fills the header of eight bytes (RFC 8200 §4.2).
    let options = |next: u8| [next, 0, 1, 4, 0, 0, 0, 0];
    let plain = packet(&v6(0, 6, &ports(5, 6)));
    // 0 is the hop-by-hop header, 60 destination options.
    let behind = packet(&v6(0, 0, &[&options(60)[..], &options(6)[..], &ports(5, 6)].concat()));
    assert!(plain.same_flow(&behind), "ports are found behind extension headers");
    let endless: Vec<u8> = options(60).repeat(100);
    let chain = packet(&v6(0, 60, &endless));
    assert!(chain.same_flow(&packet(&v6(0, 60, &endless[..16]))), "one flow per pair of hosts");
}

#[test]
fn whatever_bytes_come_they_belong_to_a_flow_and_are_never_read_beyond() {
    let long_chain = v6(0, 0, &[0xff; 64]);
    let mut ihl_too_large = v4(0, 6, 0, &ports(1, 2));
    // 15 words of header are 60 bytes, and the packet has 28.
    ihl_too_large[0] = 0x4f;
    let mut ihl_too_small = v4(0, 6, 0, &ports(1, 2));
    // One word of header is shorter than the fixed part.
    ihl_too_small[0] = 0x41;
    let wholes = [
        v4(3, 6, 0, &[0xff; 60]),
        v6(3, 6, &[0xff; 60]),
        long_chain,
        ihl_too_large,
        ihl_too_small,
        vec![0; 64],
    ];
    for whole in wholes {
        for length in 0..=whole.len() {
            let mut packet = packet(&whole[..length]);
            let _ = (
                packet.flow_hash(7),
                packet.source_hash(1),
                packet.tcp_ack(),
                packet.dscp(),
                packet.set_ce(),
            );
            assert_eq!(packet.bytes().len(), length);
        }
    }
    // Random bytes.
    let mut state = 1_u64;
    for _ in 0..20_000 {
        let bytes: Vec<u8> = (0..state % 97)
            .map(|_| {
                state = mix_64(state);
                state.to_le_bytes()[0]
            })
            .collect();
        state = mix_64(state);
        let mut packet = packet(&bytes);
        let _ = (packet.tcp_ack(), packet.set_ce());
    }
}

#[test]
fn ethernet_frames_are_read_behind_up_to_two_tags() {
    let inner = v4(2, 6, 0, &ports(1, 2));
    let frame = |types: &[u8]| [&[0; 12][..], types, &inner].concat();
    let of = |bytes: &[u8]| {
        IpPacket::new(Pool::new(1 << 20).copy(bytes).unwrap(), Framing::Ethernet, 0, Instant::ZERO)
    };
    let plain = of(&frame(&[8, 0]));
    let tagged = of(&frame(&[0x88, 0xa8, 0, 1, 0x81, 0, 0, 2, 8, 0]));
    assert!(plain.same_flow(&tagged));
    assert_eq!(plain.len(), 14 + 28);
    // ARP, three tags, and a frame that ends in its type.
    for types in [vec![0x08, 0x06], vec![0x81, 0, 0, 1, 0x81, 0, 0, 1, 0x81, 0, 0, 1, 8, 0], vec![8]] {
        let mut other = of(&frame(&types));
        assert_eq!((other.ecn(), other.set_ce()), (Ecn::NotEct, false));
    }
    let mut marked = of(&frame(&[0x81, 0, 0, 1, 8, 0]));
    assert!(marked.set_ce());
    // 14 bytes of Ethernet and 4 of the tag precede the IP header.
    assert_eq!(checksum(&marked.bytes()[18..38]), 0);
}

#[test]
fn acknowledgements_are_read_with_their_sacks_and_timestamps() {
    // A data offset of 8 words: 20 bytes of header and 12 of options.
    let with_reserved = |reserved: u8, flags: u8, options: &[u8; 12], data: &[u8]| {
        let mut tcp = vec![0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 100, 0x80 | reserved, flags, 0, 0, 0, 0, 0, 0];
        tcp.extend_from_slice(options);
        tcp.extend_from_slice(data);
        packet(&v4(0, 6, 0, &tcp)).tcp_ack()
    };
    let segment = |flags: u8, options: &[u8; 12], data: &[u8]| with_reserved(0, flags, options, data);
    // Two no-operations pad the option to whole words (RFC 7323, appendix A).
    let timestamps = [1, 1, 8, 10, 0, 0, 0, 7, 0, 0, 0, 9];
    let ack = segment(0x10, &timestamps, &[]).unwrap();
    assert_eq!((ack.number, ack.timestamps, ack.sacked, ack.ecn, ack.pure), (100, (7, 9), 0, 0, true));
    // ACK, ECE and CWR.
    assert_eq!(segment(0xd0, &timestamps, &[]).unwrap().ecn, 3);
    assert!(!segment(0x10, &timestamps, &[1]).unwrap().pure, "it carries data");
    assert!(!segment(0x18, &timestamps, &[]).unwrap().pure, "PSH");
    // AE of accurate ECN (RFC 9768 §3.1), and three flags without a meaning yet.
    for reserved in [1, 2, 4, 8] {
        let ack = with_reserved(reserved, 0x10, &timestamps, &[]).unwrap();
        assert!(!ack.pure && ack.number == 100, "{reserved}");
    }
    assert_eq!(segment(0x12, &timestamps, &[]), None, "SYN");
    assert_eq!(segment(0x02, &timestamps, &[]), None);
    // The block is above the acknowledgement of 100; the next one is below it, a duplicate.
    let sack = [1, 1, 5, 10, 0, 0, 0, 200, 0, 0, 0, 250];
    assert_eq!(segment(0x10, &sack, &[]).unwrap().sacked, 50);
    let duplicate = [1, 1, 5, 10, 0, 0, 0, 50, 0, 0, 0, 60];
    assert_eq!(segment(0x10, &duplicate, &[]).unwrap().sacked, u32::MAX);
    // A length of 0, an option without a length, and one that is longer than the header.
    for broken in [[5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 8], [254; 12]] {
        assert!(!segment(0x10, &broken, &[]).unwrap().pure);
    }
}
