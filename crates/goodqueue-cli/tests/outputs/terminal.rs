//! Nothing that a terminal obeys reaches it: names and values from files that others wrote, from
//! the command line and from a control socket.

use super::*;

/// Renames the window, clears the screen, makes text look like other text, and begins a line of its
/// own.
const HOSTILE: &str =
    "a\u{1b}]0;x\u{7}\u{1b}[2J\u{9b}31m\u{7f}\u{85}\u{202e}\u{2066}\u{200f}\u{61c}\u{2028}\u{2029}\nFORGED";

/// Returns what the command prints, after a check of all of it.
fn printed(folder: &Path, args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_goodqueue"))
        .args(args)
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let mut all = String::new();
    for text in [output.stdout, output.stderr] {
        all += &String::from_utf8(text).unwrap_or_else(|error| panic!("{args:?}: {error}"));
    }
    let is_obeyed = |c: &char| !goodqueue_tc::printable::is_printable(*c) && !"\n\t".contains(*c);
    assert_eq!(all.chars().find(is_obeyed), None, "{args:?}: {all:?}");
    assert!(!all.lines().any(|line| line.starts_with("FORGED")), "{args:?}: {all}");
    all
}

/// Text as a value of a scenario file.
fn quoted(text: &str) -> String {
    // JSON may contain DEL as it is, and TOML may not.
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

/// A scenario that has `text` wherever a scenario takes text.
fn scenario(text: &str) -> String {
    let (text, other) = (quoted(text), quoted(&format!("{text}2")));
    format!(
        "title = {text}\nquestion = {text}\nexpect = {text}\nsource = {text}\nduration = '1s'\n\
         qdiscs = [{{ label = {text}, down = 'pfifo limit 10' }}, 'fq_codel']\n\
         [[hops]]\nname = {text}\ndown = '5mbit'\nqdisc = 'pfifo limit 20'\n\
         [[flows]]\nkind = 'tcp'\nlabel = {text}\n[[flows]]\nkind = 'ping'\n\
         [sweep]\n'flows.0.label' = [{text}, {other}]\n"
    )
}

#[test]
fn labels_and_swept_values_of_a_scenario_reach_no_terminal_raw() {
    let text = HOSTILE;
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("s.toml"), scenario(text)).unwrap();
    let table = printed(folder.path(), &["run", "s.toml", "--wide", "--explain-columns"]);
    assert!(table.contains("a\u{fffd}"), "the label is in the tables:\n{table}");
    for args in [
        &["compare", "s.toml", "--fail-if", "ping.p99 > 0ms"][..],
        &["compare", "s.toml", "--metric", "goodput.down", "--seeds", "2"],
        &["compare", "s.toml", "--json", "-"],
        &["compare", "s.toml", "--set", "sweep={}", "--tc-stats", "-"],
        &["compare", "s.toml", "--explain", "drop"],
        &["run", "s.toml", "--shard", "1/2"],
        &["run", "s.toml", "--submit", "slurm"],
    ] {
        printed(folder.path(), args);
    }
}

#[test]
fn json_on_a_terminal_keeps_its_contents() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("s.toml"), scenario(HOSTILE)).unwrap();
    let json = printed(folder.path(), &["compare", "s.toml", "--quiet", "--json", "-"]);
    let results: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(results["runs"][0]["qdisc"], HOSTILE);
}

#[test]
fn names_of_files_and_arguments_reach_no_terminal_raw() {
    let text = HOSTILE;
    let folder = TempDir::new().unwrap();
    let name = |end: &str| format!("{text}{end}");
    fs::write(folder.path().join(name(".toml")), SMALL).unwrap();
    fs::write(folder.path().join(name(".trace")), "1\n").unwrap();
    let scenario = name(".toml");
    let trace = name(".trace");
    let line = format!("pfifo {text}");
    let report = name(".html");
    let recording = name(".jsonl");
    let equal = format!("{text}=1");
    let option = format!("--{text}");
    for args in [
        &["run", &scenario, "--out", text][..],
        &["run", &scenario, "--out", text, "--shard", "1/1"],
        &["compare", &scenario, "--trace-down", &trace, "--report", &report],
        &["compare", &scenario, "--packets", &recording],
        &["compare", "--qdisc", &line],
        &["compare", "--qdisc", text],
        &["compare", "--metric", text],
        &["compare", "--fail-if", text],
        &["compare", "--set", &equal],
        &["compare", "--rate", text],
        &["compare", "--jobs", text],
        &["compare", "--explain", text],
        &["compare", "--playground", text],
        &["compare", text],
        &["compare", &option],
        &["compare", "pie", text],
        &["run", text, "--store", text],
        &["replay", text],
        &["replay", text, "--compare"],
        &["reproduce", text],
        &["reproduce", "--verdicts", text],
        &["reproduce", "--papers", text],
        &["validate", "--set-up", text],
        &["advise", text, "--link", "dsl"],
        &["advise", "40mbit/10mbit", "--link", text],
        &["advise", "40mbit/10mbit", "--link", "dsl", "--device", text],
        &["advise", "--link", "dsl", "--flent", text],
        &["list", text],
        &["list", "qdiscs", text],
        &["explain", text],
        &["schema", text],
        &["new-aqm", text],
        &["new-aqm", "a", "--path", text],
        &["completions", text],
        &["man", "--out", text],
        &[text],
        &[&option],
    ] {
        printed(folder.path(), args);
    }
    let recordings = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let recordings: Vec<String> = recordings.filter_map(|name| name.into_string().ok()).collect();
    let recording = recordings.iter().find(|name| name.ends_with(".jsonl")).unwrap();
    printed(folder.path(), &["replay", recording, "--compare"]);
    printed(folder.path(), &["replay", recording, "--qdisc", "pie", "--qdisc", "codel"]);
}

#[test]
fn a_recording_reaches_no_terminal_raw() {
    let folder = TempDir::new().unwrap();
    let text = HOSTILE;
    let note = serde_json::json!(text);
    let command = serde_json::json!(format!("tc qdisc change {text}"));
    let lines = format!(
        "{{\"qdisc\":\"pfifo limit 1\",\"rate_bps\":1000000,\"note\":{note}}}\n\
         [\"A\",0,0,1,1500,0]\n[\"A\",0,1,1,1500,0]\n[\"D\",0,1,{note}]\n[\"C\",1,{command}]\n[\"X\",9,0,1500,0]\n"
    );
    fs::write(folder.path().join("r.jsonl"), lines).unwrap();
    for args in [
        &["replay", "r.jsonl"][..],
        &["replay", "r.jsonl", "--compare"],
        &["replay", "r.jsonl", "--explain", "drop"],
    ] {
        printed(folder.path(), args);
    }
}

#[test]
fn the_answers_of_a_control_socket_reach_no_terminal_raw() {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::os::unix::net::UnixListener;

    let folder = TempDir::new().unwrap();
    let listener = UnixListener::bind(folder.path().join("q.sock")).unwrap();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let mut client = client.unwrap();
            let mut line = String::new();
            let _ = BufReader::new(client.try_clone().unwrap()).read_line(&mut line);
            let text = HOSTILE;
            let flow = serde_json::json!({"protocol": text, "source": text, "destination": text});
            let link = serde_json::json!({"qdisc": text, "drops": {text: 1}});
            let answer = match line.trim() {
                "confirm" => serde_json::json!({"error": text}),
                _ => serde_json::json!({"down": link, "metrics": text, "flows": {"down": [flow]}}),
            };
            let _ = client.write_all(format!("{answer}\n").as_bytes());
        }
    });
    for args in [&["top"][..], &["stats"], &["stats", "--format", "tc-json"], &["stats", "confirm"]] {
        let all = printed(folder.path(), &[args, &["--control", "q.sock"][..]].concat());
        assert!(!all.is_empty(), "{args:?}");
    }
    for command in ["top", "stats"] {
        printed(folder.path(), &[command, "--control", HOSTILE]);
    }
    for args in
        [&["shell", "--rate"][..], &["shell", "--qdisc"], &["shell", "--scenario"], &["shell", "--fail-if"]]
    {
        printed(folder.path(), &[args, &[HOSTILE, "--", "true"]].concat());
    }
    for args in [&["shape", "--before"][..], &["shape", "--undo"]] {
        printed(folder.path(), &[args, &[HOSTILE]].concat());
    }
}
