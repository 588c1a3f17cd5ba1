//! Packets: written, replayed, and told about.

use serde_json::Value;

use crate::{folder, goodqueue, refusal, stdout};

#[test]
fn packets_of_a_run_are_written_and_replayed() {
    let folder = folder();
    let args = ["compare", "--time", "3s", "--qdisc", "pie", "--qdisc", "fq_codel", "--seeds", "2"];
    let wanted = ["--packets", "a.csv", "--packets", "a.pcapng", "--packets", "a.jsonl.gz"];
    assert!(goodqueue(folder.path(), &[&args[..], &wanted].concat()).status.success());
    let names = |end: &str| -> Vec<String> {
        let all = std::fs::read_dir(folder.path()).expect("listed");
        let named = all.map(|entry| entry.expect("listed").file_name().to_string_lossy().into_owned());
        named.filter(|name| name.ends_with(end)).collect()
    };
    assert!(names(".csv").contains(&"a.fq_codel.seed2.csv".to_owned()), "{:?}", names(".csv"));
    // Two disciplines have two seeds each. A recording has one direction, so a run has two of them.
    assert_eq!([names(".csv").len(), names(".pcapng").len(), names(".jsonl.gz").len()], [4, 4, 8]);
    let recordings = names(".jsonl.gz");
    let replay = [&["replay", "--compare"][..], &recordings.iter().map(String::as_str).collect::<Vec<_>>()];
    let compared = goodqueue(folder.path(), &replay.concat());
    assert_eq!(compared.status.code(), Some(0), "{}", stdout(&compared));
    assert!(stdout(&compared).contains("8 of 8 recordings equal"));
    // A path that duplicates and damages packets replays exactly.
    let paths = [
        "netem duplicate 30% delay 20ms 5ms limit 60",
        "netem corrupt 10% duplicate 10% loss 3% limit 30",
        "netem corrupt 20%",
    ];
    for path in paths {
        let args = [
            "compare",
            "--time",
            "3s",
            "--qdisc",
            path,
            "--packets",
            "copies.jsonl",
            "--packets",
            "copies.csv",
        ];
        assert!(goodqueue(folder.path(), &args).status.success(), "{path}");
        let replay = ["replay", "--compare", "copies.down.jsonl", "copies.up.jsonl"];
        let compared = goodqueue(folder.path(), &replay);
        assert_eq!(compared.status.code(), Some(0), "{path}: {}", stdout(&compared));
    }
    // Kept runs are repeated, because their packets were not kept.
    let run = ["run", "voip", "--set", "duration=2s", "--set", "warmup=0s", "--out", "kept"];
    assert!(goodqueue(folder.path(), &run).status.success());
    let repeated = goodqueue(folder.path(), &[&run[..], &["--packets", "b.csv"]].concat());
    assert!(repeated.status.success());
    let said = String::from_utf8_lossy(&repeated.stderr).into_owned();
    assert!(said.contains("runs were simulated again: their packets had not been kept"), "{said}");
    assert!(names(".csv").iter().any(|name| name.starts_with("b.")), "{:?}", names(".csv"));

    std::fs::create_dir(folder.path().join("taken.csv")).expect("made");
    let refused = [
        (vec!["compare", "--qdisc", "pie", "--packets", "taken.csv"], "it is a directory"),
        (vec!["compare", "--packets", "a.pcap"], ".csv, .parquet, .pcapng, .sqlog, .jsonl or .jsonl.gz"),
        (vec!["compare", "--packets", "no/a.csv"], "cannot be written"),
        (vec!["compare", "--export", "a.pcapng"], "`--packets FILE` writes every packet"),
        (vec!["run", "rrul-10-1", "voip", "--packets", "a.csv"], "several scenarios"),
    ];
    for (args, says) in refused {
        let output = goodqueue(folder.path(), &args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(says), "{output:?}");
    }
}

#[test]
fn tc_stats_prints_one_array_of_all_queues_as_tc_does_for_all_devices() {
    let folder = folder();
    let args = [
        "compare",
        "--time",
        "2s",
        "--qdisc",
        "fq_codel",
        "--qdisc",
        "tbf rate 5mbit [pie]",
        "--tc-stats",
        "-",
    ];
    let output = goodqueue(folder.path(), &args);
    assert!(output.status.success());
    let all: Value = serde_json::from_str(&stdout(&output)).expect("nothing but JSON");
    let queues = all.as_array().expect("an array").iter();
    let places: Vec<String> = queues
        .map(|queue| [&queue["kind"], &queue["dev"], &queue["parent"]].map(|word| word.to_string()).join(" "))
        .collect();
    let expected = [
        r#""fq_codel" "down" null"#,
        r#""fq_codel" "up" null"#,
        r#""tbf" "down" null"#,
        r#""pie" "down" "1:1""#,
        r#""tbf" "up" null"#,
        r#""pie" "up" "1:1""#,
    ];
    assert_eq!(places, expected);
    let first = &all[0];
    assert!(first["packets"].as_u64() > Some(100) && first["new_flow_count"].as_u64() > Some(0), "{first}");
    assert!(first["goodqueue"]["sojourn_s"]["p95"].as_f64() > Some(0.0), "{first}");
    assert_eq!(first["goodqueue"]["run"]["qdisc"], "fq_codel");
}

#[test]
fn replay_prints_fates_and_compares_them() {
    let folder = folder();
    // 125 bytes at 1 Mbit/s take 1 ms.
    let recording = concat!(
        r#"{"qdisc": "pfifo limit 1", "rate_bps": 1000000}"#,
        "\n",
        r#"["A", 0, 0, 0, 125, 0]"#,
        "\n",
        r#"["X", 0, 0, 125, 0]"#,
        "\n",
        r#"["A", 10, 1, 0, 125, 0]"#,
        "\n",
        r#"["A", 20, 2, 0, 125, 0]"#,
        "\n",
        r#"["D", 20, 2]"#,
        "\n",
        r#"["X", 1000000, 1, 125, 0]"#,
        "\n"
    );
    std::fs::write(folder.path().join("small.jsonl"), recording).expect("written");
    let answer = stdout(&goodqueue(folder.path(), &["replay", "small.jsonl"]));
    let rows: Vec<&str> = answer.lines().skip(1).collect();
    assert_eq!(rows, [r#"["X",0,0,125,0]"#, r#"["D",20,2,"overlimit"]"#, r#"["X",1000000,1,125,0]"#]);
    let same = goodqueue(folder.path(), &["replay", "small.jsonl", "--compare"]);
    assert_eq!(same.status.code(), Some(0));
    let other =
        goodqueue(folder.path(), &["replay", "small.jsonl", "--compare", "--qdisc", "pfifo", "--json", "-"]);
    assert_eq!(other.status.code(), Some(1), "fates differ");
    let rows: Value = serde_json::from_slice(&other.stdout).expect("JSON");
    assert_eq!(rows[0]["equal"], false);
    insta::assert_snapshot!(rows[0]["first_difference"].as_str().expect("a sentence"),
        @"recorded: packet 2 is dropped at 20 ns; here: packet 1 (125 bytes) leaves at 1000000 ns");
    let listed = rows[0]["differences"].as_array().expect("a list");
    assert_eq!(listed.len(), 1, "only packet 2 has another fate: {listed:?}");
    assert_eq!(listed[0]["recorded_state"], serde_json::json!({ "queued_packets": 1, "queued_bytes": 125 }));
    let text = stdout(&goodqueue(folder.path(), &["replay", "small.jsonl", "--compare", "--qdisc", "pfifo"]));
    insta::assert_snapshot!(text, @r"
    small.jsonl        3 packets  DIFFERS  pfifo limit 1000p
      1 packet has another fate:

      packet 2
        before    packet 0 (125 bytes, flow 0) arrives at 0 ns
        before    packet 0 (125 bytes) leaves at 0 ns
        before    packet 1 (125 bytes, flow 0) arrives at 10 ns
        recorded  packet 2 is dropped at 20 ns  (queued: 1 packet, 125 bytes)
        here      packet 2 (125 bytes) leaves at 2000000 ns  (queued: 1 packet, 125 bytes)
    0 of 1 recordings equal, packet by packet
    ");
    let beside = ["replay", "small.jsonl", "--qdisc", "pfifo", "--qdisc", "pfifo limit 1p"];
    insta::assert_snapshot!(stdout(&goodqueue(folder.path(), &beside)), @r"
    small.jsonl: 3 packets; sojourn times of sent packets in ms
     qdisc            sent   dropped   marked   mean    p50    p95    p99    max
    ─────────────────────────────────────────────────────────────────────────────
     pfifo               3         0        0   1.00   1.00   2.00   2.00   2.00
     pfifo limit 1p      2         1        0   0.50   0.00   1.00   1.00   1.00
    ");
    let story = stdout(&goodqueue(folder.path(), &["replay", "small.jsonl", "--explain", "drop"]));
    insta::assert_snapshot!(story, @r"
    pfifo limit 1p

    Packet 2 (125 bytes; flow 0) arrived at 0 s. It found 1 packet (125 bytes)
    queued.

    It was dropped at once (overlimit).

    pfifo: The queue held 1 packet; the limit is 1 packet. A full queue drops the
    packet that arrives. [tc-pfifo(8)]

    state     before     after
    queued  1 packet  1 packet  what the queue held
    limit   1 packet            what the queue holds
    ");
}

#[test]
fn the_story_of_a_packet_names_the_rule_and_what_cannot_be_told_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let told = |packet: &str| {
        let args = ["compare", "--time", "5s", "--qdisc", "codel", "--explain", packet];
        stdout(&goodqueue(folder.path(), &args))
    };
    let dropped = told("drop");
    assert!(dropped.contains("a dropping phase") && dropped.contains("RFC 8289 §5.5"), "{dropped}");
    let number = dropped.split_whitespace().skip_while(|word| *word != "Packet").nth(1).expect("a number");
    assert_eq!(told(number), dropped, "the same packet by its number");
    assert!(told("0").contains("less than the target of 5 ms"), "{}", told("0"));
    let said = [
        refusal(&["compare", "--qdisc", "codel", "--time", "1s", "--explain", "99999999"]),
        refusal(&["compare", "--qdisc", "codel", "--time", "1s", "--explain", "mark"]),
        refusal(&["compare", "--qdisc", "codel", "--explain", "first"]),
        refusal(&["compare", "--qdisc", "codel", "--qdisc", "pie", "--explain", "5"]),
        refusal(&["compare", "--qdisc", "codel", "--explain", "5", "--report", "r.html"]),
    ];
    insta::assert_snapshot!(said.join("\n"), @r"
    error: --explain: only 469 packets arrived at the bottleneck
      allowed: 0 to 468, counted over both directions as in --packets
    error: --explain: none of the 469 packets was marked
      help: give the number of a packet
    error: --explain: `first` is not a packet
      allowed: the packet's number from 0, or `drop` or `mark` for the first packet with this fate
    error: --explain: a story is about one run, and here are 2
      allowed: one of `codel` with seed 1, `pie` with seed 1
      help: choose the run with --qdisc, --seed and --set, such as `--qdisc codel`
    error: `--report` has no effect with --explain
      help: run the command twice, once with --explain
    ");
}
