//! What an observer of a link writes: recordings for `goodqueue replay`, captures, and qlog.

use std::io::{self, Cursor, Write};
use std::sync::{Arc, Mutex};

use goodqueue::random::Source;
use goodqueue::{AnyQdisc, Datagram, Disciplines, Duration, Ecn, FlowKey, Instant, Link as LinkDefaults};
use goodqueue_link::capture::{Capture, datagram};
use goodqueue_link::qlog::{Qlog, SCHEMA};
use goodqueue_link::{Link, LinkBuilder, Units};
use goodqueue_tc::recording::{Recording, Row, configs};
use goodqueue_tc::replay::{Fate, SerialLink};
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
use pcap_file::pcapng::{Block, PcapNgReader};

/// A file in memory.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Memory {
    fn bytes(&self) -> Vec<u8> {
        self.0.lock().expect("no panic").clone()
    }
}

/// A disk without space.
struct Full;

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // The header fits.
        if bytes.first() == Some(&b'[') { Err(io::Error::other("no space")) } else { Ok(bytes.len()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

type Packet = Datagram<Vec<u8>>;

fn packet(flow: u16, number: u32) -> Packet {
    let source = ([192, 0, 2, 1], 443).into();
    let key = FlowKey::new(source, ([198, 51, 100, 7], 5000 + flow).into(), FlowKey::UDP);
    let content = number.to_be_bytes().repeat(if flow == 0 { 300 } else { 10 });
    // 42 bytes of Ethernet, IPv4 and UDP headers.
    let bytes = u32::try_from(content.len()).expect("short") + 42;
    Datagram { ecn: if flow == 0 { Ecn::Ect0 } else { Ecn::NotEct }, ..Datagram::new(key, bytes, content) }
}

/// Sends a burst at 20 Mbit/s over a link of 5 Mbit/s, beside a thin flow.
fn send(link: &mut Link<Packet>) {
    for number in 0..2000_u32 {
        let now = Instant::ZERO + Duration::from_micros(500 * u64::from(number));
        link.send(now, packet(0, number));
        if number % 20 == 0 {
            link.send(now, packet(1, number));
        }
        while link.poll(now).is_some() {}
    }
    while let Some(now) = link.next_event() {
        while link.poll(now).is_some() {}
    }
}

/// Replays a recording as `goodqueue replay --compare` does.
fn replayed(text: Vec<u8>) -> [Vec<(u64, u64, Option<u8>)>; 2] {
    let recording = Recording::read("memory", Cursor::new(text)).expect("a recording");
    let header = recording.header().clone();
    let rate = header.rate().expect("a recording");
    let link = LinkDefaults { rate, ..LinkDefaults::default() };
    let rows: Vec<Row> = recording.collect::<Result<_, _>>().expect("a recording");
    let config = configs(&Disciplines::new(), &header.commands(), &rows, &link, Some(header.variant()));
    let number = |name: &str| header.other[name].as_u64().expect("a recording");
    let salt = u32::try_from(number("qdisc_salt")).expect("a recording");
    let mut qdisc = AnyQdisc::new(config.expect("a recording").0, salt, Source::seeded(number("qdisc_seed")));
    let mut arrivals = header.arrivals().expect("a recording");
    let mut serial = SerialLink::new(rate, Duration::ZERO);
    let mut here = Vec::new();
    let mut report = |fate: Fate| {
        here.push(match fate {
            Fate::Sent { at, seq, tos, .. } => (at.as_nanos(), seq, Some(tos)),
            Fate::Dropped { at, seq, .. } => (at.as_nanos(), seq, None),
        });
    };
    for arrival in rows.iter().filter_map(|row| arrivals.next(row)) {
        serial.arrive(&mut qdisc, arrival, &mut report);
    }
    serial.run_until(&mut qdisc, Instant::MAX, &mut report);
    let recorded = rows.iter().filter_map(|row| match *row {
        Row::Exit { t, seq, tos, .. } => Some((t.as_nanos(), seq, Some(tos))),
        Row::Drop { t, seq, .. } => Some((t.as_nanos(), seq, None)),
        _ => None,
    });
    [recorded.collect(), here]
}

#[test]
fn a_replay_of_a_recorded_link_makes_the_same_decisions() {
    for line in [
        "5mbit delay 10ms loss 1% [codel ecn]",
        "5mbit [fq_codel limit 200]",
        "5mbit [pie ecn]",
        "5mbit [cake bandwidth 4mbit]",
        "5mbit [tbf rate 4mbit burst 5kb limit 100kb]",
        "5mbit preset cable",
    ] {
        let mut link = line.parse::<LinkBuilder>().unwrap().seed(3).build().unwrap();
        let file = Memory::default();
        link.record(file.clone()).unwrap();
        send(&mut link);
        assert_eq!(link.stop_observing(), None);
        let [recorded, here] = replayed(file.bytes());
        // 2000 packets of the burst, and 100 of the thin flow.
        assert!(recorded.len() >= 2100, "{line}: {} fates", recorded.len());
        // 3 is the code point of CE.
        assert!(recorded.iter().any(|fate| fate.2.is_none_or(|tos| tos == 3)), "{line}: something happened");
        assert_eq!(recorded, here, "{line}");
    }
}

#[test]
fn a_recording_ends_with_its_link() {
    let mut link = Link::builder().rate(1.mbit()).build().unwrap();
    let file = Memory::default();
    link.record(file.clone()).unwrap();
    link.send(Instant::ZERO, packet(0, 0));
    link.send(Instant::from_nanos(7), packet(0, 1));
    drop(link);
    let text = String::from_utf8(file.bytes()).unwrap();
    let kinds: Vec<&str> = text.lines().skip(1).map(|row| &row[2..3]).collect();
    // The first packet is sent at once. The second one is still queued at the end.
    assert_eq!(kinds, ["H", "A", "X", "H", "A", "E"], "{text}");
}

#[test]
fn a_full_disk_is_told_and_changes_nothing_for_the_packets() {
    let mut link: Link<Packet> = Link::builder().rate(5.mbit()).build().unwrap();
    link.record(Full).unwrap();
    send(&mut link);
    assert_eq!(link.stats().arrived.packets + link.stats().queue.dropped().packets, 2100);
    assert_eq!(link.stop_observing().as_deref(), Some("no space"));
}

#[test]
fn a_capture_has_every_packet_twice_and_the_reasons_of_drops() {
    let mut link: Link<Packet> =
        "5mbit delay 10ms [codel noecn]".parse::<LinkBuilder>().unwrap().build().unwrap();
    let file = Memory::default();
    link.observe(Capture::to(file.clone(), datagram).unwrap());
    send(&mut link);
    assert_eq!(link.stop_observing(), None);
    let mut reader = PcapNgReader::new(Cursor::new(file.bytes())).unwrap();
    let mut points = [0_u64; 3];
    while let Some(block) = reader.next_block() {
        let Block::EnhancedPacket(packet) = block.unwrap() else { continue };
        points[packet.interface_id as usize] += 1;
        let [version, .., protocol] = packet.data[..10] else { panic!("an IP header") };
        assert_eq!((version, protocol), (0x45, 17));
        let length = usize::from(u16::from_be_bytes([packet.data[2], packet.data[3]]));
        assert_eq!((length, packet.original_len as usize), (packet.data.len(), length));
        let comments =
            packet.options.iter().filter(|option| matches!(option, EnhancedPacketOption::Comment(_)));
        assert_eq!(comments.count(), usize::from(packet.interface_id == 2), "drops have a reason");
    }
    let dropped = link.stats().queue.dropped().packets;
    assert!(dropped > 0, "the queue overflowed or CoDel dropped");
    assert_eq!(points, [2100, 2100 - dropped, dropped]);
}

#[test]
fn a_qlog_has_every_packet_and_how_long_it_waited() {
    let mut link: Link<Packet> =
        "5mbit delay 10ms loss 2% [codel noecn]".parse::<LinkBuilder>().unwrap().build().unwrap();
    let file = Memory::default();
    link.observe(Qlog::to(file.clone(), "a \"line\"\tof\\ours").unwrap());
    send(&mut link);
    assert_eq!(link.stop_observing(), None);
    let text = String::from_utf8(file.bytes()).unwrap();
    // RFC 7464 §2: each text has a record separator in front of it and a line feed behind it.
    let mut records = text.split_terminator('\n').map(|line| {
        let line = line.strip_prefix('\u{1e}').expect("a record separator");
        serde_json::from_str::<serde_json::Value>(line).expect("JSON")
    });
    let header = records.next().unwrap();
    assert_eq!(header["title"], "a \"line\"\tof\\ours");
    assert_eq!(header["file_schema"], "urn:ietf:params:qlog:file:sequential");
    assert_eq!(header["trace"]["event_schemas"][0], SCHEMA);

    let mut counts = std::collections::BTreeMap::new();
    let mut longest = 0.0_f64;
    for record in records {
        *counts.entry(record["name"].as_str().unwrap().to_owned()).or_insert(0_u64) += 1;
        longest = longest.max(record["data"]["sojourn"].as_f64().unwrap_or(0.0));
        let is_gone =
            record["name"] == "goodqueue:packet_dropped" || record["name"] == "goodqueue:packet_lost";
        assert_eq!(record["data"]["reason"].is_string(), is_gone, "{record}");
    }
    let stats = link.stats();
    let dropped = stats.queue.dropped().packets;
    let lost = 2100 - dropped - stats.arrived.packets;
    assert!(dropped > 0 && lost > 0, "{stats:?}");
    let count = |name: &str| counts[&format!("goodqueue:packet_{name}")];
    assert_eq!(["enqueued", "dequeued", "dropped", "lost"].map(count), [2100, 2100 - dropped, dropped, lost]);
    assert!(longest > 5.0, "CoDel drops only above its target of 5 ms: {longest} ms");
}
