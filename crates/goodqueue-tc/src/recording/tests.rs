//! Recordings that are read back, and those that are refused.

use super::*;
use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use std::io::{Cursor, Write};

// 2^56 - 1 is a probability of 1 in a `P` row, and 42949672 is 1 % in an `M` row.
const STORY: &str = r#"{"golden": 1, "name": "two", "qdisc": "pfifo limit 1", "rate_bps": 10000000, "t_start_ns": 7}
["A",1000,0,3,1514,2]
["X",1000,0,1514,3]
["A",1001,1,0,60,0]
["A",1001,2,9,60,0,4000000000,7]
["A",1001,3,9,60,0,7,4000000000,1,2,3,4,5,1]
["R",1001,4,3735928559]
["D",1001,1]
["D",1001,2,"overlimit"]
["P",15000,72057594037927935,64]
["M",500000,42949672,12500]
["H",500000,4294967295]
["H",500001,1,2,3]
["T",500001,2304]
["C",500002,"tc qdisc change dev eth0 root pfifo limit 2"]
["E",500003]
"#;

fn read(bytes: &[u8]) -> Result<Recording, Diagnostic> {
    Recording::read("two.jsonl", Cursor::new(bytes.to_vec()))
}

fn rows(bytes: &[u8]) -> Result<Vec<Row>, Diagnostic> {
    read(bytes)?.collect()
}

#[test]
fn plain_or_compressed_gives_the_same_rows_and_writing_gives_the_same_text() {
    let recording = read(STORY.as_bytes()).unwrap();
    assert_eq!(recording.header().qdisc.as_deref(), Some("pfifo limit 1"));
    assert_eq!(recording.header().rate(), Some(Rate::from_bps(10_000_000)));
    assert_eq!(recording.header().clock(Instant::from_nanos(3)), Instant::from_nanos(10));
    assert_eq!(recording.header().other["golden"], 1);
    let plain: Vec<Row> = recording.map(Result::unwrap).collect();
    assert_eq!(plain.len(), 15);
    assert_eq!(
        plain[0],
        Row::Arrival { t: Instant::from_nanos(1000), seq: 0, flow: 3, bytes: 1514, tos: 2, headers: None }
    );

    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(STORY.as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    assert_eq!(rows(&packed), Ok(plain.clone()));
    let byte_by_byte = BufReader::with_capacity(1, Cursor::new(packed));
    let piped: Result<Vec<Row>, Diagnostic> = Recording::read("pipe", byte_by_byte).unwrap().collect();
    assert_eq!(piped, Ok(plain.clone()));

    let mut written = Vec::new();
    for row in &plain {
        row.write(&mut written).unwrap();
    }
    assert_eq!(String::from_utf8(written).unwrap(), STORY.split_once('\n').unwrap().1);
}

/// A folder with a short recording, its arrivals, and a recording that refers to the first.
fn folder_of_short_recordings(rows: &[Row]) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("goodqueue-short-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("arrivals")).unwrap();
    let mut arrivals = b"{}\n".to_vec();
    let of_arrivals = |row: &&Row| matches!(row, Row::Arrival { .. });
    rows.iter().filter(of_arrivals).for_each(|row| row.write(&mut arrivals).unwrap());
    std::fs::write(folder.join("arrivals/two.jsonl.gz"), arrivals).unwrap();
    let mut context = short::Context::new(Rate::from_bps(10_000_000));
    let mut text = "{\"rate_bps\": 10000000, \"arrivals\": \"two\"}\n".to_owned();
    rows.iter().for_each(|row| context.write(row, &mut text));
    std::fs::write(folder.join("first.jsonl.gz"), text).unwrap();
    std::fs::write(folder.join("second.jsonl.gz"), "{\"rows_of\": \"first\"}\n").unwrap();
    folder
}

#[test]
fn a_short_recording_has_the_rows_of_the_whole_one() {
    // The 1514 bytes of packet 0 take 1,211,200 ns at 10 Mbit/s, so the link is free at 1,212,200
    // ns.
    let rows = rows(
        br#"{}
["A",1000,0,3,1514,2]
["X",1000,0,1514,3]
["A",1001,1,0,60,0]
["A",1001,2,9,60,0]
["R",1001,4,3735928559]
["D",1001,2,"overlimit"]
["A",15000,3,9,60,0]
["P",15000,72057594037927935,64]
["R",1212200,2,17]
["D",1212200,1,"congested"]
["X",1212200,3,60,0]
["A",9000000,4,9,60,0]
["A",9000000,5,9,60,0]
["X",9000500,5,60,0]
["X",9999999,4,60,0]
"#,
    )
    .unwrap();
    let folder = folder_of_short_recordings(&rows);
    let text = std::fs::read_to_string(folder.join("first.jsonl.gz")).unwrap();
    insta::assert_snapshot!(text.lines().skip(1).collect::<Vec<_>>().join(" "), @r#"["a"] ["c",0] ["a"] ["a"] ["r",4,3735928559] ["t","overlimit"] ["a"] ["P",15000,72057594037927935,64] ["f"] ["r",2,17] ["d",0,"congested"] ["x",1] ["a"] ["a"] ["X",9000500,5,60,0] ["X",9999999,4,60,0]"#);
    for name in ["first", "second"] {
        let read = Recording::open(&folder.join(format!("{name}.jsonl.gz"))).unwrap();
        assert_eq!(read.collect::<Result<Vec<Row>, _>>().unwrap(), rows, "{name}");
    }
    for (header, wrong) in
        [("arrivals", "../two"), ("rows_of", "a/b"), ("rows_of", "missing"), ("arrivals", "")]
    {
        std::fs::write(folder.join("third.jsonl.gz"), format!("{{\"{header}\": \"{wrong}\"}}\n")).unwrap();
        assert!(Recording::open(&folder.join("third.jsonl.gz")).is_err(), "{header} {wrong}");
    }
    let bad = "{\"rate_bps\": 1, \"arrivals\": \"two\"}\n[\"x\",7]\n";
    std::fs::write(folder.join("fourth.jsonl.gz"), bad).unwrap();
    let refused = Recording::open(&folder.join("fourth.jsonl.gz")).unwrap().next().unwrap().unwrap_err();
    assert!(refused.to_string().contains("the packet is not queued"), "{refused}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn an_error_in_shared_arrivals_is_shown_in_their_file() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("arrivals")).unwrap();
    let arrivals = "{}\n[\"A\",1000,0,3,1514,2]\n[\"A\",2000,oops\n";
    std::fs::write(folder.path().join("arrivals/two.jsonl.gz"), arrivals).unwrap();
    let path = folder.path().join("first.jsonl.gz");
    let text = "{\"rate_bps\": 10000000, \"arrivals\": \"two\"}\n[\"a\"]\n[\"a\"]\n[\"a\"]\n";
    std::fs::write(&path, text).unwrap();
    let rows: Vec<_> = Recording::open(&path).unwrap().collect();
    assert!(rows.len() == 2 && rows[0].is_ok(), "{rows:?}");
    let refused = rows[1].as_ref().unwrap_err().to_string();
    assert!(refused.contains("two.jsonl.gz:3:1: `[\"A\",2000,oops` is not a row"), "{refused}");
    // A file that ends too early has no error of its own.
    std::fs::write(folder.path().join("arrivals/two.jsonl.gz"), "{}\n").unwrap();
    let refused = Recording::open(&path).unwrap().next().unwrap().unwrap_err().to_string();
    assert!(
        refused.contains("first.jsonl.gz:2:1") && refused.contains("no further packet arrives"),
        "{refused}"
    );
}

#[test]
fn any_reason_of_a_drop_is_written_in_short_form() {
    let reason = "a \"full\" queue, \\ and\na line end";
    let t = Instant::from_nanos(1000);
    let arrival = |seq| Row::Arrival { t, seq, flow: 0, bytes: 60, tos: 0, headers: None };
    let drop = |seq| Row::Drop { t, seq, reason: Some(reason.to_owned()) };
    let mut context = short::Context::new(Rate::from_bps(10_000_000));
    let mut text = String::new();
    for row in [arrival(0), arrival(1), drop(1), drop(0)] {
        context.write(&row, &mut text);
    }
    let words: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let expected = serde_json::json!([["a"], ["a"], ["t", reason], ["d", 0, reason]]);
    assert_eq!(serde_json::Value::from(words), expected);
}

#[test]
fn the_kernel_of_a_recording_chooses_the_variant() {
    let variant =
        |kernel: &str| read(format!("{{\"kernel\": \"{kernel}\"}}\n").as_bytes()).unwrap().header().variant();
    assert_eq!(variant("Linux 6.1.192 (Debian)"), "linux61");
    assert_eq!(variant("Linux 7.3.4"), "linux");
    assert_eq!(read(b"{}\n").unwrap().header().variant(), "linux");
}

#[test]
fn a_bad_row_is_shown_with_its_line_and_ends_the_reading() {
    let mut recording = read(b"{}\n[\"A\",1,0,0,60,0]\n[\"A\",2,1,0]\n[\"A\",3,0,0,60,0]\n").unwrap();
    assert!(recording.next().unwrap().is_ok());
    insta::assert_snapshot!(recording.next().unwrap().unwrap_err(), @r#"
    two.jsonl:3:1: `["A",2,1,0]` is not a row: the length is missing at line 1 column 11
      allowed: ["A", t, seq, flow, bytes, tos], ["X", t, seq, bytes, tos], ["D", t, seq], ["R", t, len, value], ["P", t, prob, qdelay], ["M", t, max_p, qavg], ["H", t, flow], ["T", t, memory], ["C", t, command] or ["E", t]
    "#);
    assert!(recording.next().is_none());
    insta::assert_snapshot!(rows(b"{}\n[\"D\",5,0]\n[\"D\",4,1]\n").unwrap_err(), @r"
    two.jsonl:3:1: time goes back from 5 ns to 4 ns
      allowed: rows in the order in which they happened
    ");
    insta::assert_snapshot!(rows(b"{}\n[\"E\",5]\n[\"D\",6,1]\n").unwrap_err(), @r"
    two.jsonl:3:1: the recording has ended in the line before
      help: remove the row that says so, or those behind it
    ");
    insta::assert_snapshot!(rows(b"{}\n[\"A\",5,0,0,60,0]\n[\"X\",6,0,60,0]\n[\"A\",7,0,0,60,0]\n").unwrap_err(), @r"
    two.jsonl:4:1: packet 0 arrives a second time
      allowed: a number of its own for each arrival
    ");
    insta::assert_snapshot!(rows(b"{\"t_end_ns\": 6}\n[\"A\",6,0,0,60,0]\n[\"X\",7,0,60,0]\n").unwrap_err(), @r"
    two.jsonl:3:1: the row is of 7 ns, after the end of the recording at 6 ns
      allowed: rows up to `t_end_ns` of the first line
    ");
    for end in ["-5", "1.5", "\"7\"", "1e30", "[]"] {
        let refused = read(format!("{{\"t_end_ns\": {end}}}\n").as_bytes()).unwrap_err().to_string();
        assert!(refused.starts_with("two.jsonl:1:1: `t_end_ns` is "), "{refused}");
    }
    for bad in ["[\"Q\",1,2]", "[\"A\",-1,0,0,60,0]", "[\"A\",1,0,0,60,256]", "[]", "7", "", "[\"D\",1,2,3,4"]
    {
        assert!(rows(format!("{{}}\n{bad}\n").as_bytes()).is_err(), "{bad}");
    }
}

#[test]
fn a_file_that_is_no_recording_is_refused() {
    insta::assert_snapshot!(read(b"").unwrap_err(), @r#"
    two.jsonl: the recording is empty
      allowed: a JSON object, such as {"qdisc": "codel", "rate_bps": 10000000}
    "#);
    assert!(read(b"[1]\n").is_err());
    assert!(read(&[0x1f, 0x8b, 0, 0, 1]).is_err());
    assert!(read(&vec![b' '; 2 << 20]).unwrap_err().to_string().contains("longer than 1024 KiB"));
    assert!(Recording::open(Path::new("/nonexistent")).unwrap_err().to_string().contains("cannot be opened"));
}

proptest! {
    #[test]
    fn every_number_is_new_once(numbers in prop::collection::vec(0u64..40, 0..80)) {
        let mut ranges = Seen::default();
        let mut list = Vec::new();
        for number in numbers {
            prop_assert_eq!(ranges.insert(number), !list.contains(&number));
            list.push(number);
        }
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..80), text in "[\\[\\]\",AXD0-9]{0,40}") {
        let _ = rows(&bytes);
        let _ = rows(format!("{{}}\n{text}").as_bytes());
    }
}
