//! What `tc -s qdisc show` said of the kernel's disciplines at the end of each recording, figure by
//! figure, beside what ours say after the same arrivals.

use std::collections::BTreeMap;
use std::path::Path;

use goodqueue::config::Link;
use goodqueue::random::{Recorded, Source};
use goodqueue::{AnyQdisc, Duration, Instant, registry};
use goodqueue_tc as tc;
use goodqueue_tc::recording::{Recording, Row};
use goodqueue_tc::replay::{Arrival, Fate, replay};
use serde_json::Value;

/// tc prints these seconds after the last packet, when the kernel's timers have gone on. Not looked
/// at either: the memory of `cake`, which is what the kernel's buffers take, not what is in them.
const NOT_COMPARED: [&str; 3] = ["prob", "delay", "avg_dq_rate"];

/// Linux does not count a copy of netem's that finds the queue full. Linux's tbf looks at its next
/// packet also without tokens for it, and so takes a flow that has become empty off fq_codel's
/// lists earlier.
const ELSEWISE: [(&str, &str); 2] =
    [("netem_duplicate_limit", "drops"), ("fq_codel_truesize_tcp", "new_flow_count")];

#[test]
fn every_figure_that_tc_printed_of_a_recorded_discipline_is_ours_too() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../goodqueue-testkit/recordings");
    let mut names: Vec<_> = std::fs::read_dir(folder).expect("the recordings").flatten().collect();
    // A file system lists in any order, but failures are to read alike everywhere.
    names.sort_by_key(std::fs::DirEntry::path);
    let mut compared = 0;
    let mut failures = Vec::new();
    for path in names.iter().map(std::fs::DirEntry::path) {
        let recording = Recording::open(&path).expect("readable");
        let header = recording.header().clone();
        let Some(said) = header.other.get("tc_after").and_then(Value::as_array) else { continue };
        let lines: Vec<&str> = said.iter().filter_map(Value::as_str).collect();
        let recorded = header.name.as_deref().unwrap_or_default();
        // What goes in a change Linux does not always count.
        let Some(ours) = ours(recording) else { continue };
        let blocks = lines.iter().enumerate().filter(|(_, line)| line.starts_with("qdisc "));
        for (start, first) in blocks {
            let block = lines[start + 1..].iter().take_while(|line| !line.starts_with("qdisc "));
            let block: Vec<&str> = block.copied().collect();
            // tc lists the children of a discipline in no order of ours, and its handles are its
            // own: they are told by their class.
            let words: Vec<&str> = first.split_whitespace().collect();
            let parent = words.iter().skip_while(|word| **word != "parent").nth(1);
            let class = |parent: &str| parent.split_once(':').map(|(_, minor)| minor.to_owned());
            let is_meant = |qdisc: &&Value| {
                qdisc["kind"] == words[1]
                    && qdisc["parent"].as_str().map(class) == parent.map(|text| class(text))
            };
            let Some(qdisc) = ours.iter().find(is_meant) else {
                failures.push(format!("{}: we have no `{first}`", path.display()));
                continue;
            };
            for (name, theirs) in figures(&block) {
                let Some(own) = own_figure(qdisc, &name) else { continue };
                compared += 1;
                if own != theirs && !ELSEWISE.contains(&(recorded, name.as_str())) {
                    failures.push(format!("{}: {name} is {theirs} in Linux, {own} here", path.display()));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} of {compared}:\n{}", failures.len(), failures.join("\n"));
    assert!(compared > 500, "{compared} figures are few");
}

/// What `tc -s -j qdisc show` of iproute2 6.1 on Linux 6.1 printed as the options of each of these.
const OPTIONS: [(&str, &str); 12] = [
    // CoDel of Linux keeps times in units of 1024 ns: 5 ms are shown as 4999 us.
    ("codel ecn variant linux", r#"{"limit":1000,"target":4999,"interval":99999,"ecn":true}"#),
    (
        "fq_codel variant linux",
        r#"{"limit":10240,"flows":1024,"quantum":1514,"target":4999,"interval":99999,"memory_limit":33554432,"ecn":true,"drop_batch":64}"#,
    ),
    (
        "pie target 10ms tupdate 16ms ecn",
        r#"{"limit":1000,"target":10000,"tupdate":16000,"alpha":2,"beta":20,"ecn":true}"#,
    ),
    (
        "fq_pie tupdate 16ms",
        r#"{"limit":10240,"flows":1024,"target":15000,"tupdate":16000,"alpha":2,"beta":20,"quantum":1514,"memory_limit":33554432,"ecn_prob":10}"#,
    ),
    (
        "red limit 100000 min 5000 max 15000 avpkt 1400 burst 6 bandwidth 1mbit adaptive ecn",
        r#"{"limit":100000,"min":5000,"max":15000,"ecn":true,"harddrop":false,"adaptive":true,"nodrop":false}"#,
    ),
    (
        "choke limit 100 min 5 max 20 bandwidth 1mbit burst 10",
        r#"{"limit":100,"min":5,"max":20,"ecn":false,"harddrop":false,"adaptive":false,"nodrop":false}"#,
    ),
    ("sfq perturb 10", r#"{"limit":127,"quantum":1514,"depth":127,"divisor":1024,"perturb":10}"#),
    (
        // sfb keeps probabilities in 65535ths: here 33 and 3 of them.
        "sfb",
        r#"{"rehash":600000000,"db":60000000,"limit":1000,"max":25,"target":20,"increment":0.000503548,"decrement":4.57771e-05,"penalty_rate":10,"penalty_burst":20}"#,
    ),
    (
        // Times are in whole milliseconds, rounded up.
        "hhf quantum 100 reset_timeout 1500us",
        r#"{"limit":1000,"quantum":256,"hh_limit":2048,"reset_timeout":2000,"admit_bytes":131072,"evict_timeout":1000000,"non_hh_weight":2}"#,
    ),
    (
        "netem delay 10ms 2ms loss 1%",
        r#"{"limit":1000,"delay":{"delay":0.01,"jitter":0.002,"correlation":0},"loss-random":{"loss":0.01,"correlation":0},"ecn":false,"gap":0}"#,
    ),
    // The latency is the time of (200,000 - 3072) bytes at 125,000 bytes per second.
    ("tbf rate 1mbit burst 3072 limit 200000", r#"{"rate":125000,"burst":3072,"lat":1575424}"#),
    (
        "cake bandwidth 1mbit",
        r#"{"bandwidth":125000,"diffserv":"diffserv3","flowmode":"triple-isolate","nat":false,"wash":false,"ingress":false,"ack-filter":"disabled","split_gso":true,"rtt":100000,"raw":true,"overhead":0,"fwmark":"0"}"#,
    ),
];

fn unused(line: &str) -> Vec<Value> {
    let config = tc::parse(line, &Link::default()).unwrap_or_else(|error| panic!("{line}: {error}"));
    tc::statistics(&AnyQdisc::<Arrival>::new(config, 0, Source::seeded(1)), Instant::ZERO, None)
}

#[test]
fn options_are_those_that_tc_prints_in_its_order() {
    for (line, printed) in OPTIONS {
        let theirs: Value = serde_json::from_str(printed).expect("JSON");
        let ours = &unused(line)[0]["options"];
        let order = |value: &Value| value.as_object().expect("an object").keys().cloned().collect::<Vec<_>>();
        assert_eq!((ours, order(ours)), (&theirs, order(&theirs)), "{line}");
    }
}

#[test]
fn an_unused_cake_of_a_megabit_tells_of_itself_what_linux_tells() {
    // A target is at least the time of 1.5 packets of 1514 bytes at the rate of its tin, and the
    // interval grows with the target.
    let printed = r#"{"memory_used":0,"memory_limit":4194304,"capacity_estimate":125000,"min_network_size":65535,"max_network_size":0,"min_adj_size":65535,"max_adj_size":0,"avg_hdr_offset":0,"tins":[{"threshold_rate":7812,"sent_bytes":0,"backlog_bytes":0,"target_us":290706,"interval_us":581413,"peak_delay_us":0,"avg_delay_us":0,"base_delay_us":0,"sent_packets":0,"way_indirect_hits":0,"way_misses":0,"way_collisions":0,"drops":0,"ecn_mark":0,"ack_drops":0,"sparse_flows":0,"bulk_flows":0,"unresponsive_flows":0,"max_pkt_len":0,"flow_quantum":300},{"threshold_rate":125000,"sent_bytes":0,"backlog_bytes":0,"target_us":18168,"interval_us":113168,"peak_delay_us":0,"avg_delay_us":0,"base_delay_us":0,"sent_packets":0,"way_indirect_hits":0,"way_misses":0,"way_collisions":0,"drops":0,"ecn_mark":0,"ack_drops":0,"sparse_flows":0,"bulk_flows":0,"unresponsive_flows":0,"max_pkt_len":0,"flow_quantum":300},{"threshold_rate":31250,"sent_bytes":0,"backlog_bytes":0,"target_us":72672,"interval_us":167672,"peak_delay_us":0,"avg_delay_us":0,"base_delay_us":0,"sent_packets":0,"way_indirect_hits":0,"way_misses":0,"way_collisions":0,"drops":0,"ecn_mark":0,"ack_drops":0,"sparse_flows":0,"bulk_flows":0,"unresponsive_flows":0,"max_pkt_len":0,"flow_quantum":300}]}"#;
    let theirs: serde_json::Map<String, Value> = serde_json::from_str(printed).expect("JSON");
    let ours = &unused("cake bandwidth 1mbit")[0];
    for (name, value) in theirs {
        assert_eq!(ours[&name], value, "{name}");
    }
}

#[test]
fn a_tree_is_listed_parents_first_with_the_class_that_each_is_in() {
    let all =
        unused("htb default 20 [1 rate 10mbit [10 rate 2mbit: codel] [20 rate 8mbit: tbf rate 1mbit [sfq]]]");
    let places: Vec<[String; 3]> =
        all.iter().map(|qdisc| ["kind", "handle", "parent"].map(|key| qdisc[key].to_string())).collect();
    let expected = [["htb", "1:", ""], ["codel", "2:", "1:10"], ["tbf", "3:", "1:20"], ["sfq", "4:", "3:1"]]
        .map(|line| line.map(|word| if word.is_empty() { "null".to_owned() } else { format!("\"{word}\"") }));
    assert_eq!(places, expected);
    assert_eq!(all[0]["options"]["default"], "0x20");
    let classes = all[0]["goodqueue"]["classes"].as_array().expect("classes");
    assert_eq!(classes.len(), 3);
    assert_eq!((&classes[1]["class"], &classes[1]["parent"]), (&Value::from("1:10"), &Value::from("1:1")));
}

#[test]
fn every_discipline_has_statistics_and_no_name_twice() {
    for kind in registry::KINDS {
        let line = if kind.name == "htb" { "htb [1 rate 1mbit]" } else { kind.name };
        let all = unused(line);
        for name in ["kind", "handle", "options", "bytes", "packets", "drops", "backlog", "qlen", "goodqueue"]
        {
            assert!(!all[0][name].is_null(), "{} has no {name}", kind.name);
        }
        assert_eq!(all[0]["kind"], kind.name);
    }
}

#[test]
fn the_code_that_writes_statistics_names_no_discipline() {
    let source = include_str!("../src/statistics.rs").to_lowercase();
    let words: Vec<&str> = source.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    let named: Vec<_> = registry::names().into_iter().filter(|name| words.contains(name)).collect();
    assert!(named.is_empty(), "{named:?}: the file of a discipline declares what tc prints of it");
}

/// The statistics at the end; `None` if the discipline was changed on the way.
fn ours(recording: Recording) -> Option<Vec<Value>> {
    let header = recording.header().clone();
    let rate = header.rate().expect("a rate");
    let text = header.commands().join("\n");
    let link = Link { rate, ..Link::default() };
    let variant = Some(header.variant());
    let config = tc::parse_as(&text, &link, variant).unwrap_or_else(|error| panic!("{text}: {error}"));
    let rows: Vec<Row> = recording.collect::<Result<_, _>>().expect("readable");
    if rows.iter().any(|row| matches!(row, Row::Change { .. })) {
        return None;
    }
    let mut draws = Recorded::default();
    for row in &rows {
        if let Row::Random { value, .. } = row {
            draws.push(*value);
        }
    }
    let mut packets = header.arrivals().expect("a header");
    let arrivals = rows.iter().filter_map(|row| packets.next(row));
    let mut qdisc = AnyQdisc::new(config, 0, Source::Recorded(draws));
    let origin = Duration::from_nanos(header.t_start_ns);
    let mut last = Instant::ZERO;
    replay(&mut qdisc, rate, origin, arrivals, |fate| {
        last = match fate {
            Fate::Sent { at, .. } | Fate::Dropped { at, .. } => at,
        };
    });
    Some(tc::statistics(&qdisc, last + origin, None))
}

/// Names and values as tc printed them; those of a tin are `name number`.
fn figures(block: &[&str]) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let mut is_table = false;
    for line in block {
        let line = line.trim();
        let words: Vec<&str> = line.split([' ', ',', '(', ')']).filter(|word| !word.is_empty()).collect();
        is_table |= line.is_empty() || line.starts_with("thresh");
        match words.as_slice() {
            [
                "Sent",
                bytes,
                "bytes",
                packets,
                "pkt",
                "dropped",
                drops,
                "overlimits",
                overlimits,
                "requeues",
                _,
            ] => {
                for (name, value) in
                    [("bytes", bytes), ("packets", packets), ("drops", drops), ("overlimits", overlimits)]
                {
                    all.insert(name.to_owned(), (*value).to_owned());
                }
            }
            ["min/max", what, .., least, "/", most] => {
                let name = if *what == "network" { "network" } else { "adj" };
                all.insert(format!("min_{name}_size"), (*least).to_owned());
                all.insert(format!("max_{name}_size"), (*most).to_owned());
            }
            ["average", "network", "hdr", "offset:", header] => {
                all.insert("avg_hdr_offset".to_owned(), (*header).to_owned());
            }
            [name, values @ ..] if is_table => {
                for (tin, value) in values.iter().enumerate() {
                    all.insert(format!("{name} {tin}"), (*value).to_owned());
                }
            }
            ["backlog" | "memory" | "capacity", ..] => {}
            pairs => {
                for pair in pairs.chunks_exact(2) {
                    all.insert(pair[0].to_owned(), pair[1].to_owned());
                }
            }
        }
    }
    all
}

/// The figure that tc prints under `name`, as tc would print it; `None` if it is none of ours to
/// compare.
fn own_figure(qdisc: &Value, name: &str) -> Option<String> {
    if NOT_COMPARED.contains(&name) {
        return None;
    }
    let (value, is_time) = match name.split_once(' ') {
        None => (&qdisc[name], matches!(name, "ldelay" | "drop_next")),
        Some((row, tin)) => {
            let key = TIN_ROWS.iter().find(|(short, _)| *short == row)?.1;
            (&qdisc["tins"][tin.parse::<usize>().ok()?][key], key.ends_with("_us"))
        }
    };
    let number = value.as_u64()?;
    Some(if is_time { printed_time(number) } else { number.to_string() })
}

/// What tc calls the figures of a tin in its table, and in JSON.
const TIN_ROWS: [(&str, &str); 17] = [
    ("target", "target_us"),
    ("interval", "interval_us"),
    ("pk_delay", "peak_delay_us"),
    ("av_delay", "avg_delay_us"),
    ("sp_delay", "base_delay_us"),
    ("pkts", "sent_packets"),
    ("bytes", "sent_bytes"),
    ("way_inds", "way_indirect_hits"),
    ("way_miss", "way_misses"),
    ("way_cols", "way_collisions"),
    ("drops", "drops"),
    ("marks", "ecn_mark"),
    ("ack_drop", "ack_drops"),
    ("sp_flows", "sparse_flows"),
    ("bk_flows", "bulk_flows"),
    ("un_flows", "unresponsive_flows"),
    ("max_len", "max_pkt_len"),
];

/// Three significant figures.
fn printed_time(micros: u64) -> String {
    let (value, unit) = match micros {
        0..1_000 => return format!("{micros}us"),
        1_000..1_000_000 => (micros as f64 / 1e3, "ms"),
        _ => (micros as f64 / 1e6, "s"),
    };
    let decimals = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    let text = format!("{value:.decimals$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}{unit}")
}
