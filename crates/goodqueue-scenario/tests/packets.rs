//! Packets of a run, in every format.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use goodqueue_scenario::export::packets;
use goodqueue_scenario::results::Run;
use goodqueue_scenario::run::ScenarioRuns;
use goodqueue_scenario::scenario::{Document, Names, Overrides};
use goodqueue_scenario::session::{NoWatch, Session, Watch};
use goodqueue_scenario::sweep::Sweep;
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tc::recording::{Recording, Row};
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
use pcap_file::pcapng::{Block, PcapNgReader};

fn runs_of(set: &[&str]) -> ScenarioRuns<'static> {
    let mut document = Document::default();
    document
        .apply(&Overrides {
            time: Some("2s".to_owned()),
            qdiscs: vec!["codel ecn".to_owned()],
            set: set.iter().map(|&setting| setting.to_owned()).collect(),
            ..Overrides::default()
        })
        .expect("known");
    let names = Names { cc: Some(&["cubic", "reno"]), ..Names::default() };
    ScenarioRuns::new(Sweep::new(&document, &names).expect("good"), None).expect("good")
}

fn run(runs: &ScenarioRuns<'_>, watch: &dyn Watch) -> Result<Vec<Option<Run>>, Diagnostic> {
    Session::from_runs(runs).threads(1).run(watch).map(|finished| finished.all)
}

/// Runs the default load with ECN, its packets written to `path`.
fn written(path: &Path, set: &[&str]) -> Run {
    let mut runs = runs_of(set);
    packets::request(path, &mut runs).expect("a format");
    run(&runs, &NoWatch).expect("runs").pop().flatten().expect("a run")
}

/// The rows of a table, each by the names of its columns.
fn rows(path: &Path) -> Vec<BTreeMap<String, String>> {
    let text = std::fs::read_to_string(path).expect("written");
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned));
    let heading: Vec<String> = lines.next().expect("a heading").collect();
    lines.map(|fields| heading.iter().cloned().zip(fields).collect()).collect()
}

#[test]
fn a_table_has_a_row_for_each_packet_and_its_sums_are_the_results() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("packets.csv");
    let run = written(&path, &["tcp.ecn=true"]);
    let rows = rows(&path);
    for (direction, queue) in [("down", &run.bottleneck.down), ("up", &run.bottleneck.up)] {
        let here = || rows.iter().filter(|row| row["direction"] == direction);
        let fate = |name: &str| here().filter(|row| row["fate"] == name).count() as u64;
        assert_eq!(here().count() as u64, queue.packets.offered);
        assert_eq!(fate("marked"), queue.packets.marked);
        assert_eq!(fate("sent") + fate("marked"), queue.packets.dequeued);
        assert_eq!(fate("dropped"), queue.packets.dropped);
        let number = |row: &BTreeMap<String, String>, column: &str| row[column].parse::<f64>().expect(column);
        let sent = here().filter(|row| ["sent", "marked"].contains(&row["fate"].as_str()));
        let sojourns: Vec<f64> = sent.map(|row| number(row, "sojourn_ns") / 1e9).collect();
        let mean = sojourns.iter().sum::<f64>() / f64::from(u32::try_from(sojourns.len()).expect("few"));
        assert!((mean - queue.sojourn_s.mean.expect("packets")).abs() < 1e-9);
        for row in here().filter(|row| row["fate"] != "queued") {
            let time = number(row, "departure_ns") - number(row, "arrival_ns");
            assert!((time - number(row, "sojourn_ns")).abs() < 0.5);
        }
    }
    let marked = rows.iter().find(|row| row["fate"] == "marked").expect("with ECN");
    assert_eq!(marked["ecn"], "ECT(0)", "as it came");
    assert!(rows.iter().any(|row| row["fate"] == "queued" && row["departure_ns"].is_empty()));
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_holds_the_same_table() {
    use parquet::file::reader::{FileReader as _, SerializedFileReader};

    let folder = tempfile::tempdir().expect("a folder");
    let mut runs = runs_of(&["tcp.ecn=true"]);
    let [csv, columns] = ["a.csv", "a.parquet"].map(|name| folder.path().join(name));
    for path in [&csv, &columns] {
        packets::request(path, &mut runs).expect("a format");
    }
    run(&runs, &NoWatch).expect("runs");
    let reader = SerializedFileReader::new(std::fs::File::open(&columns).expect("written")).expect("Parquet");
    let mut read = reader.get_row_iter(None).expect("rows");
    for row in rows(&csv) {
        let other = read.next().expect("as many").expect("readable");
        for (name, field) in other.get_column_iter() {
            let shown = field.to_string();
            let shown = if shown == "null" { "" } else { shown.trim_matches('"') };
            assert_eq!(shown, row[name], "{name}");
        }
    }
    assert!(read.next().is_none());
}

#[test]
fn wireshark_finds_headers_with_right_checksums_and_a_reason_at_every_drop() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("packets.pcapng");
    let run = written(&path, &["tcp.profile=linux"]);
    let mut reader = PcapNgReader::new(std::fs::File::open(&path).expect("written")).expect("pcapng");
    let mut packets = [0; 6];
    let mut syns = 0;
    let mut sacks = 0;
    while let Some(block) = reader.next_block() {
        let Block::EnhancedPacket(packet) = block.expect("whole") else { continue };
        let interface = packet.interface_id as usize;
        packets[interface] += 1;
        let ip = &packet.data[..];
        assert_eq!(sum(&ip[..20]), 0xffff, "the checksum of the IP header");
        assert_eq!(u32::from(u16::from_be_bytes([ip[2], ip[3]])), packet.original_len);
        if ip[9] == 6 {
            let length = u16::try_from(packet.original_len - 20).expect("short").to_be_bytes();
            let pseudo = [&ip[12..20], &[0, 6], &length].concat();
            assert_eq!(sum(&[&pseudo, &ip[20..]].concat()), 0xffff, "that of TCP");
            // Byte 12 of a TCP header has its length in words, byte 13 the flags.
            assert_eq!(usize::from(ip[32] >> 4) * 4 + 20, ip.len(), "the payload is cut off");
            let is_syn = ip[33] & 2 != 0;
            // SACK permitted and a window scale of 10, with padding.
            syns += usize::from(is_syn && ip[40..48] == [1, 1, 4, 2, 1, 3, 3, 10]);
            assert_eq!(ip[if is_syn { 48 } else { 40 }..][..4], [1, 1, 8, 10], "timestamps");
            sacks += usize::from(ip.get(52..55) == Some(&[1, 1, 5]));
        }
        let comment = packet.options.iter().find_map(|option| match option {
            EnhancedPacketOption::Comment(comment) => Some(comment.as_ref()),
            _ => None,
        });
        // The third interface of each direction has the drops.
        assert_eq!(comment == Some("dropped by the queue discipline: congested"), interface % 3 == 2);
    }
    let queues = [&run.bottleneck.down, &run.bottleneck.up].map(|queue| &queue.packets);
    let expected = queues.map(|packets| [packets.offered, packets.dequeued, packets.dropped]).concat();
    assert_eq!(packets.to_vec(), expected);
    assert!(packets[2] > 0 && sacks > 0, "something was lost, and SACKed");
    // Of the 8 connections a SYN and its answer, at two points each.
    assert_eq!(syns, 8 * 2 * 2);
}

/// RFC 1071.
fn sum(bytes: &[u8]) -> u32 {
    let all: u32 =
        bytes.chunks(2).map(|two| u32::from(two[0]) << 8 | u32::from(*two.get(1).unwrap_or(&0))).sum();
    (all & 0xffff) + (all >> 16)
}

#[test]
fn a_recording_has_the_arrivals_and_the_fates_of_one_direction() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = written(&folder.path().join("run.jsonl.gz"), &[]);
    for (direction, queue) in [("down", &run.bottleneck.down), ("up", &run.bottleneck.up)] {
        let recording =
            Recording::open(&folder.path().join(format!("run.{direction}.jsonl.gz"))).expect("written");
        assert!(recording.header().qdisc.as_deref().is_some_and(|qdisc| qdisc.starts_with("codel limit")));
        let rows: Vec<Row> = recording.collect::<Result<_, _>>().expect("rows");
        let count = |is: fn(&Row) -> bool| rows.iter().filter(|row| is(row)).count() as u64;
        assert_eq!(count(|row| matches!(row, Row::Arrival { .. })), queue.packets.offered);
        assert_eq!(count(|row| matches!(row, Row::Exit { .. })), queue.packets.dequeued);
        assert_eq!(count(|row| matches!(row, Row::Drop { .. })), queue.packets.dropped);
    }
}

#[test]
fn several_runs_have_files_of_their_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut runs = runs_of(&["seeds=2"]);
    let files = packets::request(&folder.path().join("a.csv"), &mut runs).expect("a format");
    let expected = ["a.codel_ecn.seed1.csv", "a.codel_ecn.seed2.csv"].map(|name| folder.path().join(name));
    assert_eq!(files, expected);
    run(&runs, &NoWatch).expect("runs");
    assert!(files.iter().all(|file| file.exists()));
}

#[test]
fn a_run_that_is_given_up_leaves_no_file() {
    /// Is asked before the run, and gives it up when it has begun.
    #[derive(Default)]
    struct Impatient(AtomicUsize);
    impl Watch for Impatient {
        fn is_cancelled(&self) -> bool {
            self.0.fetch_add(1, Ordering::Relaxed) > 3
        }
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut runs = runs_of(&[]);
    for name in ["a.csv", "a.pcapng", "a.jsonl", "a.jsonl.gz"] {
        packets::request(&folder.path().join(name), &mut runs).expect("a format");
    }
    assert!(run(&runs, &Impatient::default()).expect("no error")[0].is_none());
    assert_eq!(std::fs::read_dir(folder.path()).expect("listed").count(), 0);
}

#[test]
fn a_link_that_a_replay_could_not_know_is_refused_as_a_recording() {
    let mut runs = runs_of(&["link.down={rate=\"10mbit\",driver=\"bql\"}"]);
    let refused = packets::request(Path::new("a.jsonl"), &mut runs).expect_err("no replay").to_string();
    assert!(refused.contains("the link down has a queue in its device"), "{refused}");
    let mut with_grants = runs_of(&["link.up={rate=\"10mbit\",grants={}}"]);
    let refused =
        packets::request(Path::new("a.jsonl"), &mut with_grants).expect_err("no replay").to_string();
    assert!(refused.contains("the link up waits for grants"), "{refused}");
    assert!(packets::request(Path::new("a.csv"), &mut runs).is_ok());
    let unknown = packets::request(Path::new("a.pcap"), &mut runs).expect_err("no format").to_string();
    assert!(unknown.contains(".pcapng, .sqlog, .jsonl or .jsonl.gz"), "{unknown}");
}
