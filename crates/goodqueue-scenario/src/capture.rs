//! Packets of a pcap or pcapng file: the arrival time and the length of each.
//!
//! Only IP packets are read: over Ethernet (with or without VLAN tags), Linux's cooked link layer,
//! a loopback interface or no link layer. The length comes from the IP header, so a file cut to the
//! headers (`tcpdump -s 64`) is sufficient. Payloads are ignored.

use std::io::{BufRead, BufReader, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

use goodqueue::Duration;
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tc::input::Input;
use pcap_parser::{Block, Linktype, PcapBlockOwned, PcapError, create_reader};

/// IP packets in order of time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PacketCapture {
    packets: Vec<(Duration, u32)>,
}

impl PacketCapture {
    /// Largest number of packets; a file with more is refused.
    pub const MAX_PACKETS: usize = 10_000_000;
    /// Largest file in bytes; a larger one is refused.
    pub const MAX_FILE_BYTES: u64 = 16 << 30;

    /// Reads the file at `path`. With a `source`, only the packets from this address are kept.
    ///
    /// # Errors
    /// The file cannot be read, is truncated, is not a capture, or contains no IP packet (from
    /// `source`).
    pub fn load(path: &Path, source: Option<IpAddr>) -> Result<Self, Diagnostic> {
        let name = path.display().to_string();
        let open = |error: std::io::Error| {
            Diagnostic::new(format!("the recording cannot be opened: {error}")).in_file(&name)
        };
        let mut file = BufReader::new(Input::open(path, Self::MAX_FILE_BYTES).map_err(open)?);
        // The reader of captures does not say why a file cannot be read.
        file.fill_buf().map_err(open)?;
        Self::read(&name, file, source)
    }

    /// Reads a capture. Error messages call it `name`.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn read(name: &str, reader: impl Read + Send, source: Option<IpAddr>) -> Result<Self, Diagnostic> {
        let refuse = |message: Diagnostic| message.in_file(name);
        let mut blocks = create_reader(BUFFER, reader).map_err(|error| refuse(not_a_capture(&error)))?;
        let mut found = Found::default();
        let mut stalled = false;
        let mut order: Option<ByteOrder> = None;
        loop {
            let held = blocks.data().len();
            if order.is_some_and(|order| order.block_is_too_short(blocks.data())) {
                return Err(refuse(damaged(found.seen)));
            }
            match blocks.next() {
                Ok((used, block)) => {
                    stalled = false;
                    order = ByteOrder::after(&block).or(order);
                    found.take(&block, source).map_err(refuse)?;
                    blocks.consume(used);
                }
                Err(PcapError::Eof) => break,
                Err(error @ PcapError::Incomplete(_)) => {
                    let error = error.to_owned_vec();
                    blocks.refill().map_err(|error| refuse(broken(&error, found.seen)))?;
                    // The reader reports the end of the file at the next request.
                    if blocks.data().len() == held && std::mem::replace(&mut stalled, true) {
                        return Err(refuse(broken(&error, found.seen)));
                    }
                }
                Err(error) => return Err(refuse(broken(&error, found.seen))),
            }
        }
        found.finish(source).map_err(refuse)
    }

    /// For each packet the time since the first one, ascending, and the bytes of the IP packet.
    #[must_use]
    pub fn packets(&self) -> &[(Duration, u32)] {
        &self.packets
    }

    /// Period with which the capture repeats: its length plus one mean gap. `None` if its length is
    /// zero.
    #[must_use]
    pub fn period(&self) -> Option<Duration> {
        let span = self.packets.last()?.0;
        // Without the gap, the last packet and the first one of the next turn would be sent at
        // once.
        let gaps = (self.packets.len() as u64).saturating_sub(1);
        let mean = span.as_nanos() / gaps.max(1);
        (!span.is_zero()).then(|| Duration::from_nanos(span.as_nanos().saturating_add(mean)))
    }
}

/// Byte order of a pcapng section.
#[derive(Clone, Copy)]
enum ByteOrder {
    Big,
    Little,
}

impl ByteOrder {
    /// Bytes of an empty block: the type and twice the length.
    const SHORTEST_BLOCK: u32 = 12;

    /// Byte order from this block on, if the block begins a section.
    fn after(block: &PcapBlockOwned<'_>) -> Option<Self> {
        match block {
            PcapBlockOwned::NG(Block::SectionHeader(header)) if header.big_endian() => Some(Self::Big),
            PcapBlockOwned::NG(Block::SectionHeader(_)) => Some(Self::Little),
            _ => None,
        }
    }

    /// Whether the block at the start of `data` declares fewer bytes than an empty block.
    /// pcap-parser 0.17 subtracts them without a check.
    fn block_is_too_short(self, data: &[u8]) -> bool {
        let Some(length) = data.get(4..8).and_then(|bytes| bytes.try_into().ok()) else { return false };
        let length = match self {
            Self::Big => u32::from_be_bytes(length),
            Self::Little => u32::from_le_bytes(length),
        };
        length < Self::SHORTEST_BLOCK
    }
}

/// One interface of a capture.
#[derive(Clone, Copy)]
struct Interface {
    link: Linktype,
    /// Units of time in a second.
    units: u64,
}

/// Packets that have been read so far.
#[derive(Default)]
struct Found {
    interfaces: Vec<Interface>,
    seen: usize,
    /// Link types whose packets are skipped.
    unknown_link: Option<i32>,
    first: Option<u64>,
    packets: Vec<(Duration, u32)>,
}

impl Found {
    fn take(&mut self, block: &PcapBlockOwned<'_>, source: Option<IpAddr>) -> Result<(), Diagnostic> {
        match block {
            PcapBlockOwned::LegacyHeader(header) => {
                let units = if header.is_nanosecond_precision() { 1_000_000_000 } else { 1_000_000 };
                self.interfaces = vec![Interface { link: header.network, units }];
            }
            PcapBlockOwned::Legacy(packet) => {
                let units = self.interfaces.first().map_or(1_000_000, |interface| interface.units);
                let ticks =
                    // 2^32 s in nanoseconds are less than 2^62, so this is exact.
                    u64::from(packet.ts_sec).saturating_mul(units).saturating_add(u64::from(packet.ts_usec));
                self.packet(0, ticks, packet.data, packet.origlen, source)?;
            }
            // A packet names an interface of its own section (draft-ietf-opsawg-pcapng §4.3).
            PcapBlockOwned::NG(Block::SectionHeader(_)) => self.interfaces.clear(),
            PcapBlockOwned::NG(Block::InterfaceDescription(about)) => {
                let units = match about.if_tsresol() {
                    // draft-ietf-opsawg-pcapng §4.2: the highest bit selects powers of two.
                    Some(Ok(power)) if power & 0x80 != 0 => 1_u64.checked_shl(u32::from(power & 0x7f)),
                    Some(Ok(power)) => 10_u64.checked_pow(u32::from(power)),
                    // Without the option, times are in microseconds.
                    _ => Some(1_000_000),
                };
                let units = units.filter(|units| *units > 0).ok_or_else(|| {
                    Diagnostic::new("an interface has a resolution of time that no clock has")
                })?;
                self.interfaces.push(Interface { link: about.linktype, units });
            }
            PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => {
                // The block is padded to 32 bits behind the captured bytes
                // (draft-ietf-opsawg-pcapng §4.3).
                let data = packet.data.get(..packet.caplen as usize).unwrap_or(packet.data);
                let ticks = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
                self.packet(packet.if_id as usize, ticks, data, packet.origlen, source)?;
            }
            PcapBlockOwned::NG(Block::SimplePacket(_)) => {
                return Err(Diagnostic::new("the packets have no times (simple packet blocks)"));
            }
            // Names, statistics and other blocks hold no packets.
            PcapBlockOwned::NG(_) => {}
        }
        Ok(())
    }

    fn packet(
        &mut self,
        interface: usize,
        ticks: u64,
        data: &[u8],
        original: u32,
        source: Option<IpAddr>,
    ) -> Result<(), Diagnostic> {
        self.seen += 1;
        let Some(Interface { link, units }) = self.interfaces.get(interface).copied() else {
            return Err(Diagnostic::new(format!(
                "packet {} is of an interface that the file does not describe",
                self.seen
            )));
        };
        let Some(header) = link_header(link, data) else {
            // Other interfaces may have packets. The type is told only if none can be read.
            self.unknown_link.get_or_insert(link.0);
            return Ok(());
        };
        let whole = usize::try_from(original).unwrap_or(usize::MAX).saturating_sub(header);
        let Some((bytes, from)) = data.get(header..).and_then(|ip| ip_packet(ip, whole)) else {
            return Ok(());
        };
        if source.is_some_and(|wanted| wanted != from) {
            return Ok(());
        }
        // This many packets take 160 MB: 16 bytes each.
        if self.packets.len() == PacketCapture::MAX_PACKETS {
            let message = Diagnostic::new(format!("more than {} packets", PacketCapture::MAX_PACKETS));
            return Err(message.help("cut the recording (editcap, tcpdump -c)"));
        }
        // The ticks since 1970 times 10^9 do not fit in 64 bits.
        let nanos = u128::from(ticks) * 1_000_000_000 / u128::from(units);
        let nanos = u64::try_from(nanos).unwrap_or(u64::MAX);
        let since = nanos.saturating_sub(*self.first.get_or_insert(nanos));
        // With several interfaces, or after the clock was set, time may go backwards. Such a packet
        // gets the time of its predecessor.
        let last = self.packets.last().map_or(Duration::ZERO, |packet| packet.0);
        self.packets.push((Duration::from_nanos(since).max(last), bytes));
        Ok(())
    }

    fn finish(self, source: Option<IpAddr>) -> Result<PacketCapture, Diagnostic> {
        if !self.packets.is_empty() {
            return Ok(PacketCapture { packets: self.packets });
        }
        let message = match (self.seen, self.unknown_link, source) {
            (0, ..) => Diagnostic::new("the recording holds no packet"),
            (_, Some(link), _) => Diagnostic::new(format!("the link type {link} is not known")).allowed(
                "Ethernet (1), raw IP (12, 14, 101, 228, 229), loopback (0, 108), Linux cooked (113, 276)",
            ),
            (seen, None, Some(source)) => {
                Diagnostic::new(format!("none of the {seen} packets is an IP packet from {source}"))
            }
            (seen, None, None) => Diagnostic::new(format!("none of the {seen} packets is an IP packet")),
        };
        Err(message)
    }
}

/// Bytes of the link header before the IP packet; `None` for an unknown link type.
fn link_header(link: Linktype, data: &[u8]) -> Option<usize> {
    Some(match link.0 {
        // `LINKTYPE` numbers; the error above names them.
        0 | 108 => 4,
        1 => {
            // Behind the two addresses.
            let mut at = 12;
            // IEEE 802.1Q and 802.1ad tags.
            while matches!(data.get(at..at + 2), Some([0x81, 0x00] | [0x88, 0xa8])) {
                at += 4;
            }
            at + 2
        }
        12 | 14 | 101 | 228 | 229 => 0,
        113 => 16,
        276 => 20,
        _ => return None,
    })
}

/// Returns the length and the source of an IP packet, or `None` if this is no IP packet: ARP, for
/// example, fails the test of the version. `whole` is the length of the frame without its link
/// header. It is used if the header gives no length, as with segments that the device splits.
fn ip_packet(data: &[u8], whole: usize) -> Option<(u32, IpAddr)> {
    let be16 = |at: usize| Some(u32::from(u16::from_be_bytes(data.get(at..at + 2)?.try_into().ok()?)));
    let said = |bytes: u32| if bytes == 0 { u32::try_from(whole).unwrap_or(u32::MAX) } else { bytes };
    match data.first()? >> 4 {
        // The header of IPv4 has at least five words of 4 bytes (RFC 791 §3.1).
        4 if data[0] & 0xf >= 5 => {
            let source: [u8; 4] = data.get(12..16)?.try_into().ok()?;
            let bytes = said(be16(2)?);
            // The total length includes the header (RFC 791 §3.1), so a smaller one is none.
            (bytes >= 20).then_some((bytes, IpAddr::V4(Ipv4Addr::from(source))))
        }
        6 => {
            let source: [u8; 16] = data.get(8..24)?.try_into().ok()?;
            let payload = be16(4)?;
            // The length of IPv6 leaves out its header of 40 bytes (RFC 8200 §3).
            let bytes = if payload == 0 { said(0) } else { payload + 40 };
            (bytes >= 40).then_some((bytes, IpAddr::V6(Ipv6Addr::from(source))))
        }
        _ => None,
    }
}

fn not_a_capture<I>(error: &PcapError<I>) -> Diagnostic {
    match error {
        PcapError::Eof => Diagnostic::new("the file is empty"),
        PcapError::ReadError => Diagnostic::new("the file cannot be read"),
        PcapError::Incomplete(_) | PcapError::UnexpectedEof => {
            Diagnostic::new("the file is cut within its first bytes")
        }
        _ => Diagnostic::new("this is not a recording of packets").allowed("pcap or pcapng"),
    }
}

fn broken<I>(error: &PcapError<I>, seen: usize) -> Diagnostic {
    let behind = behind(seen);
    match error {
        PcapError::Incomplete(_) | PcapError::UnexpectedEof | PcapError::Eof => {
            Diagnostic::new(format!("the recording is cut {behind}"))
        }
        PcapError::BufferTooSmall => {
            Diagnostic::new(format!("the block {behind} is larger than {BUFFER} bytes"))
        }
        PcapError::ReadError => Diagnostic::new("the file cannot be read"),
        _ => damaged(seen),
    }
}

fn damaged(seen: usize) -> Diagnostic {
    Diagnostic::new(format!("the recording is damaged {}", behind(seen)))
}

/// Describes the place in a capture after `seen` packets.
fn behind(seen: usize) -> String {
    match seen {
        0 => "before the first packet".to_owned(),
        _ => format!("behind packet {seen}"),
    }
}

/// Largest block: a packet of the largest snapshot length and its options.
const BUFFER: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An IPv4 packet of this length from 10.0.0.`host`, truncated after its header.
    fn ipv4(bytes: u16, host: u8) -> Vec<u8> {
        let mut packet = vec![0x45, 0];
        packet.extend(bytes.to_be_bytes());
        packet.extend([0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, host, 10, 0, 0, 99]);
        packet
    }

    fn ethernet(payload: &[u8], tags: usize) -> Vec<u8> {
        let mut frame = vec![0; 12];
        (0..tags).for_each(|_| frame.extend([0x81, 0, 0, 7]));
        frame.extend([8, 0]);
        frame.extend(payload);
        frame
    }

    /// A pcap file with microseconds.
    fn pcap(link: u32, packets: &[(u32, u32, Vec<u8>)]) -> Vec<u8> {
        let mut file = 0xa1b2_c3d4_u32.to_le_bytes().to_vec();
        file.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0]);
        file.extend(link.to_le_bytes());
        for (seconds, micros, data) in packets {
            let length = u32::try_from(data.len()).unwrap();
            // The original length is wrong, so that the tests see which length counts.
            for field in [*seconds, *micros, length, length + 100] {
                file.extend(field.to_le_bytes());
            }
            file.extend(data);
        }
        file
    }

    /// A pcapng file with one interface of this resolution and packets at these ticks.
    fn pcapng(resolution: u8, packets: &[(u64, Vec<u8>)]) -> Vec<u8> {
        let block = |kind: u32, body: &[u8]| {
            let length = u32::try_from(12 + body.len()).unwrap();
            [&kind.to_le_bytes(), &length.to_le_bytes(), body, &length.to_le_bytes()].concat()
        };
        let mut file =
            block(0x0a0d_0d0a, &[0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255]);
        file.extend(block(1, &[101, 0, 0, 0, 0, 0, 0, 0, 9, 0, 1, 0, resolution, 0, 0, 0, 0, 0, 0, 0]));
        for (ticks, data) in packets {
            let length = u32::try_from(data.len()).unwrap().to_le_bytes();
            let high = u32::try_from(ticks >> 32).unwrap().to_le_bytes();
            let low = u32::try_from(ticks & 0xffff_ffff).unwrap().to_le_bytes();
            let padding = vec![0; data.len().next_multiple_of(4) - data.len()];
            file.extend(block(6, &[&[0; 4], &high[..], &low, &length, &length, data, &padding].concat()));
        }
        file
    }

    fn read(file: &[u8]) -> Result<PacketCapture, Diagnostic> {
        PacketCapture::read("call.pcap", file, None)
    }

    #[test]
    fn lengths_are_those_of_the_ip_headers_and_times_begin_with_the_first_packet() {
        let arp = ethernet(&[0, 1, 8, 0, 6, 4, 0, 1], 0);
        let file = pcap(
            1,
            &[
                (5, 0, arp),
                (7, 999_999, ethernet(&ipv4(200, 1), 0)),
                (8, 20_000, ethernet(&ipv4(1500, 2), 1)),
            ],
        );
        let found = read(&file).unwrap();
        // The packet of ARP, which came first, sets no time: from 7.999999 s to 8.02 s are 20,001
        // us.
        assert_eq!(found.packets(), [(Duration::ZERO, 200), (Duration::from_micros(20_001), 1500)]);
        // The length, and one gap of the same 20,001 us.
        assert_eq!(found.period(), Some(Duration::from_micros(40_002)));
        let one = PacketCapture::read("x", &file[..], Some("10.0.0.2".parse().unwrap())).unwrap();
        assert_eq!((one.packets(), one.period()), (&[(Duration::ZERO, 1500)][..], None));
    }

    #[test]
    fn pcapng_times_have_the_resolution_of_their_interface() {
        // IPv6 states the bytes behind its header: 100 and the header's 40 are 140.
        let mut ipv6 = vec![0x60, 0, 0, 0, 0, 100];
        ipv6.extend([0; 34]);
        // With the highest bit set, the resolution is a power of 2 instead of 10: 2^10 ticks a
        // second.
        for (resolution, ticks) in [(9, 1_000_000_000), (6, 1_000_000), (0x80 | 10, 1 << 10)] {
            let file =
                pcapng(resolution, &[(ticks << 10, ipv4(60, 1)), ((ticks << 10) + ticks, ipv6.clone())]);
            let found = read(&file).unwrap();
            assert_eq!(
                found.packets(),
                [(Duration::ZERO, 60), (Duration::from_secs(1), 140)],
                "{resolution}"
            );
        }
    }

    #[test]
    fn what_is_no_recording_of_ip_packets_is_refused_with_the_reason() {
        let good = pcap(101, &[(0, 0, ipv4(200, 1)), (1, 0, ipv4(200, 1))]);
        let told = |file: &[u8]| read(file).unwrap_err().to_string();
        assert_eq!(told(b""), "call.pcap: the file is empty");
        insta::assert_snapshot!(told(b"1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14"), @r"
        call.pcap: this is not a recording of packets
          allowed: pcap or pcapng
        ");
        assert_eq!(told(&good[..good.len() - 5]), "call.pcap: the recording is cut behind packet 1");
        assert_eq!(told(&good[..10]), "call.pcap: the file is cut within its first bytes");
        assert_eq!(told(&pcap(101, &[])), "call.pcap: the recording holds no packet");
        assert_eq!(
            told(&pcap(1, &[(0, 0, ethernet(b"hello", 0))])),
            "call.pcap: none of the 1 packets is an IP packet"
        );
        // Type 147 is reserved for private use, so no reader can know its header.
        insta::assert_snapshot!(told(&pcap(147, &[(0, 0, ipv4(200, 1))])), @r"
        call.pcap: the link type 147 is not known
          allowed: Ethernet (1), raw IP (12, 14, 101, 228, 229), loopback (0, 108), Linux cooked (113, 276)
        ");
        let elsewhere = PacketCapture::read("x", &good[..], Some("10.9.9.9".parse().unwrap()));
        assert_eq!(
            elsewhere.unwrap_err().to_string(),
            "x: none of the 2 packets is an IP packet from 10.9.9.9"
        );
        // 10^127 ticks a second are more than 64 bits hold.
        assert!(read(&pcapng(0x7f, &[])).is_err());
        let missing = PacketCapture::load(Path::new("no/such.pcap"), None).unwrap_err().to_string();
        assert!(missing.contains("cannot be opened"), "{missing}");
    }

    #[test]
    fn a_clock_that_goes_back_does_not_make_time_go_back() {
        let file = pcap(101, &[(9, 0, ipv4(40, 1)), (5, 0, ipv4(41, 1)), (10, 0, ipv4(42, 1))]);
        let times: Vec<_> = read(&file).unwrap().packets().iter().map(|packet| packet.0).collect();
        assert_eq!(times, [Duration::ZERO, Duration::ZERO, Duration::from_secs(1)]);
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&bytes);
        }

        #[test]
        fn no_damage_makes_the_reader_panic(
            ng in any::<bool>(),
            damage in prop::collection::vec((0usize..240, any::<u8>()), 1..6),
            cut in 0usize..240,
        ) {
            let data = ipv4(200, 1);
            let mut file = if ng {
                pcapng(6, &[(1, data.clone()), (2, data)])
            } else {
                pcap(1, &[(0, 0, ethernet(&data, 2)), (0, 9, ethernet(&data, 0))])
            };
            for (at, byte) in damage {
                if let Some(place) = file.get_mut(at) {
                    *place = byte;
                }
            }
            file.truncate(cut.max(1));
            let _ = read(&file);
        }
    }
}
