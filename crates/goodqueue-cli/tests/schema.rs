//! What `--json` writes keeps to the schemas that `goodqueue schema` prints.

#![allow(missing_docs)]

use std::path::Path;
use std::process::Command;

use jsonschema::Validator;
use serde_json::{Value, json};

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

fn goodqueue(arguments: &[&str]) -> Vec<u8> {
    let output = Command::new(env!("CARGO_BIN_EXE_goodqueue"))
        .current_dir(REPOSITORY)
        .args(arguments)
        .output()
        .expect("it starts");
    // 1: a check failed, which is a result.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{arguments:?}: {output:?}");
    output.stdout
}

fn schema(format: &str) -> Validator {
    let schema: Value = serde_json::from_slice(&goodqueue(&["schema", format])).expect("JSON");
    jsonschema::draft202012::meta::validate(&schema).expect("a schema");
    jsonschema::draft202012::new(&schema).expect("a schema")
}

/// Returns what a command writes with `--json -`.
fn written(arguments: &[&str]) -> Value {
    serde_json::from_slice(&goodqueue(&[arguments, &["--json", "-"]].concat())).expect("JSON")
}

fn kept(path: &str) -> Value {
    let text = std::fs::read_to_string(Path::new(REPOSITORY).join(path)).expect(path);
    serde_json::from_str(&text).expect("JSON")
}

#[track_caller]
fn keeps(schema: &Validator, value: &Value) {
    let problems: Vec<String> = schema
        .iter_errors(value)
        .take(5)
        .map(|error| format!("{}: {error}", error.instance_path()).chars().take(300).collect())
        .collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn results_of_every_kind_of_traffic_keep_to_their_schema() {
    let schema = schema("results");
    keeps(&schema, &written(&["compare", "--time", "2s", "--seeds", "2", "--series", "500ms", "--timing"]));
    let mixed = mixed();
    keeps(&schema, &written(&["compare", mixed.to_str().expect("a path"), "--seeds", "2"]));
    keeps(&schema, &written(&["compare", "wifi", "--time", "3s", "--set", "warmup=1s"]));
}

/// A scenario with a sweep, several hops, calls, web pages, transfers and spikes.
fn mixed() -> std::path::PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mixed.toml");
    let text = r#"
        title = "Every kind of traffic"
        duration = "4s"
        qdiscs = ["codel", "fq_codel"]
        output.spikes = ["20kb"]
        sweep."link.rtt" = ["20ms", "40ms"]
        [link]
        down = "10mbit"
        up = "2mbit"
        [[hops]]
        name = "modem"
        down = "20mbit"
        up = "20mbit"
        [[flows]]
        kind = "tcp"
        count = 2
        [[flows]]
        kind = "tcp"
        count = 3
        size = "20kb"
        [[flows]]
        kind = "ping"
        [[flows]]
        kind = "voip"
        [[flows]]
        kind = "web"
    "#;
    std::fs::write(&path, text).expect("written");
    path
}

#[test]
fn a_new_key_is_refused_until_the_schema_names_it() {
    let schema = schema("results");
    let mut results = written(&["compare", "--qdisc", "codel", "--time", "1s"]);
    keeps(&schema, &results);
    results["runs"][0]["bottleneck"]["down"]["invented"] = json!(1);
    assert!(!schema.is_valid(&results));
}

#[test]
fn every_key_has_a_description() {
    for line in String::from_utf8(goodqueue(&["schema"])).expect("text").lines() {
        let name = line.split_whitespace().next().expect("a name");
        let schema: Value = serde_json::from_slice(&goodqueue(&["schema", name])).expect("JSON");
        let mut missing = Vec::new();
        undescribed(&schema, name, &mut missing);
        assert!(missing.is_empty(), "{}", missing.join("\n"));
    }
}

fn undescribed(schema: &Value, path: &str, missing: &mut Vec<String>) {
    let Some(fields) = schema.as_object() else {
        return schema.as_array().into_iter().flatten().for_each(|item| undescribed(item, path, missing));
    };
    for (name, of) in fields {
        let path = format!("{path}.{name}");
        if let ("properties", Some(properties)) = (name.as_str(), of.as_object()) {
            let without =
                properties.iter().filter(|(_, of)| of["description"].as_str().is_none_or(str::is_empty));
            missing.extend(without.map(|(key, _)| format!("{path}.{key}")));
        }
        undescribed(of, &path, missing);
    }
}

#[test]
fn stories_of_sent_marked_and_dropped_packets_keep_to_their_schema() {
    let schema = schema("story");
    for (qdisc, packet) in
        [("codel", "drop"), ("pie", "0"), ("cake bandwidth 900kbit", "drop"), ("red", "40")]
    {
        let asked = ["compare", "--qdisc", qdisc, "--time", "5s", "--explain", packet];
        keeps(&schema, &written(&asked));
    }
    let marked = ["--set", "tcp.ecn=true", "--explain", "mark"];
    keeps(&schema, &written(&[&["compare", "--qdisc", "dualpi2", "--time", "5s"], &marked[..]].concat()));
}

#[cfg(target_os = "linux")]
#[test]
fn requirements_of_real_packets_keep_to_their_schema() {
    let found = written(&["shell", "--check"]);
    assert!(found.as_array().is_some_and(|found| found.len() > 10), "{found}");
    keeps(&schema("requirements"), &found);
}

#[test]
fn comparisons_and_tables_of_recordings_keep_to_their_schemas() {
    let recording = "crates/goodqueue-testkit/recordings/bfifo.jsonl.gz";
    let comparison = schema("comparison");
    let beside = schema("side-by-side");
    keeps(&comparison, &written(&["replay", recording, "--compare"]));
    let differing = written(&["replay", recording, "--compare", "--qdisc", "codel"]);
    assert!(differing[0]["differences"].as_array().is_some_and(|listed| !listed.is_empty()));
    keeps(&comparison, &differing);
    keeps(&comparison, &kept("docs/measured/replay.json"));
    keeps(&beside, &written(&["replay", recording, "--qdisc", "codel", "--qdisc", "pfifo"]));
    let recorded: Value =
        serde_json::from_slice(&goodqueue(&["replay", recording, "--compare", "--tc-stats", "-"]))
            .expect("JSON");
    keeps(&schema("tc-stats"), &recorded);
}

/// Measuring these again takes many minutes, so the committed outputs are tried.
#[test]
fn committed_verdicts_and_validations_keep_to_their_schemas() {
    let verdicts = schema("verdicts");
    for paper in ["gbw", "gong", "jk", "l4s", "nj", "rfc7928"] {
        keeps(&verdicts, &kept(&format!("crates/goodqueue-papers/papers/{paper}/verdicts.json")));
    }
    keeps(&schema("validation"), &kept("docs/measured/validation.json"));
}

#[test]
fn advice_lists_and_explanations_keep_to_their_schemas() {
    keeps(&schema("advice"), &written(&["advise", "10mbit/2mbit", "--link", "dsl"]));
    let list = schema("list");
    keeps(&list, &written(&["list"]));
    for what in ["qdiscs", "tcps", "profiles", "scenarios", "links", "papers", "claims"] {
        keeps(&list, &written(&["list", what]));
    }
    keeps(&schema("explanation"), &written(&["explain", "codel"]));
}

#[test]
fn final_statistics_of_all_disciplines_keep_to_their_schema() {
    let qdiscs = ["cake", "drr", "prio", "netem delay 1ms", "sfq", "pie"];
    let chosen = qdiscs.into_iter().flat_map(|qdisc| ["--qdisc", qdisc]);
    let arguments: Vec<&str> =
        ["compare", "--time", "1s", "--tc-stats", "-"].into_iter().chain(chosen).collect();
    let statistics: Value = serde_json::from_slice(&goodqueue(&arguments)).expect("JSON");
    keeps(&schema("tc-stats"), &statistics);
}

#[cfg(target_os = "linux")]
#[test]
fn statistics_of_a_live_bottleneck_keep_to_their_schema() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("live.json");
    goodqueue(&["shell", "--rate", "10mbit", "--json", path.to_str().expect("a path"), "--", "true"]);
    let text = std::fs::read_to_string(&path).expect("written");
    keeps(&schema("live"), &serde_json::from_str(&text).expect("JSON"));
}

/// Returns the value that a scenario file describes.
fn scenario(text: &str) -> Value {
    toml::from_str(text).expect("TOML")
}

#[test]
fn scenario_files_and_resolved_scenarios_keep_to_their_schema() {
    let schema = schema("scenario");
    let crates = Path::new(REPOSITORY).join("crates");
    let mut folders = vec![crates.join("goodqueue-scenario/scenarios")];
    for entry in std::fs::read_dir(crates.join("goodqueue-papers/papers")).expect("readable") {
        folders.push(entry.expect("readable").path());
    }
    let mut names = Vec::new();
    for folder in folders.iter().filter(|folder| folder.is_dir()) {
        for entry in std::fs::read_dir(folder).expect("readable") {
            let path = entry.expect("readable").path();
            let is_scenario = path.extension().is_some_and(|ending| ending == "toml")
                && !["claims", "statements"].iter().any(|other| path.file_stem().expect("a name") == *other);
            if is_scenario {
                keeps(&schema, &scenario(&std::fs::read_to_string(&path).expect("readable")));
                names.push(path);
            }
        }
    }
    assert!(names.len() > 40, "{names:?}");
    for name in ["rrul-10-1", "wifi"] {
        let short = ["compare", name, "--time", "1s", "--set", "warmup=0s"];
        keeps(&schema, &written(&short)["scenario"]);
    }
    keeps(&schema, &scenario(""));
    keeps(&schema, &scenario(&std::fs::read_to_string(mixed()).expect("written")));
}

#[test]
fn wrong_scenarios_do_not_keep_to_their_schema() {
    let schema = schema("scenario");
    for wrong in [
        "durration = '60s'",
        "duration = 60",
        "seeds = 0",
        "link.mtu = 67",
        "link.up = { rate = '1mbit', speed = 3 }",
        "hops = [{ side = 'left' }]",
        "wifi.width = 30",
        "wifi.stations = [{ mcs = 32 }]",
        "tcp.cc = 'cubik'",
        "tcp.ledbat = { gian = 1 }",
        "tcp.delayed_ack = { evry = 2 }",
        "flows = -1",
        "flows = [{ kind = 'udp' }]",
        "flows = [{ kind = 'ping', intervall = '1s' }]",
        "flows = [{ kind = 'cbr' }]",
        "flows = [{ kind = 'cbr', rate = '1mbit', cc = 'cubic' }]",
        "flows = [{ kind = 'transfers', size = { gamma = 3 }, think = '1s' }]",
        "qdiscs = [3]",
        "output.spikes = '25kb'",
    ] {
        assert!(!schema.is_valid(&scenario(wrong)), "{wrong}");
    }
}
