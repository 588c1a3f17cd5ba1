//! The program as a user runs it.

use std::path::Path;
use std::process::{Command, Output};

fn run(folder: &Path, arguments: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_own-discipline");
    Command::new(program).args(arguments).current_dir(folder).output().expect("started")
}

/// An empty folder.
fn folder(name: &str) -> std::path::PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("created");
    folder
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

#[test]
fn the_default_load_is_compared_with_codel_and_fq_codel() {
    let folder = folder("compare");
    let qdiscs = ["--qdisc", "ramp", "--qdisc", "codel", "--qdisc", "fq_codel"];
    let table = stdout(&run(&folder, &[&["compare", "--report", "report.html"], &qdiscs[..]].concat()));
    for name in ["ramp", "codel", "fq_codel"] {
        assert!(table.lines().any(|line| line.trim_start().starts_with(name)), "{name}: {table}");
    }
    let report = std::fs::read_to_string(folder.join("report.html")).expect("written");
    assert!(report.contains("ramp min 5ms max 100ms"), "the report lists all parameters");
}

#[test]
fn parameters_can_be_swept_in_a_scenario_file_and_inside_other_disciplines() {
    let folder = folder("sweep");
    let scenario = "duration = \"2s\"\nqdiscs = [\"prio [1: ramp min 1ms] [2: codel]\", \"ramp min 2ms\"]\n\
                    [sweep]\n\"link.rtt\" = [\"10ms\", \"50ms\"]\n";
    std::fs::write(folder.join("sweep.toml"), scenario).expect("written");
    let table = stdout(&run(&folder, &["run", "sweep.toml", "--out", "out"]));
    assert!(table.contains("link.rtt"), "a table across the sweep: {table}");
    assert!(table.contains("[1: ramp min") && table.contains("ramp min 2ms"), "{table}");
    let results = std::fs::read_to_string(folder.join("out/sweep.json")).expect("written");
    assert!(results.contains("[1: ramp min 1ms max 100ms]"), "every parameter has its value");
}

#[test]
fn a_recorded_run_is_replayed_with_the_same_fates() {
    let folder = folder("replay");
    stdout(&run(&folder, &["compare", "--time", "5s", "--qdisc", "ramp", "--packets", "run.jsonl"]));
    let recordings: Vec<_> = std::fs::read_dir(&folder).expect("readable").collect();
    assert!(!recordings.is_empty());
    for recording in recordings {
        let recording = recording.expect("readable").file_name();
        stdout(&run(&folder, &["replay", "--compare", &recording.to_string_lossy()]));
    }
}

#[test]
fn the_story_of_a_packet_shows_what_the_discipline_remembers() {
    let arguments = ["compare", "--time", "5s", "--qdisc", "ramp", "--explain", "drop"];
    let story = stdout(&run(&folder("story"), &arguments));
    assert!(story.contains("ramp: The algorithm dropped it."), "{story}");
    for field in ["signals ", "last_signal "] {
        assert!(story.lines().any(|line| line.starts_with(field)), "{field}is missing: {story}");
    }
    assert!(!story.contains("[]"), "no source, no brackets: {story}");
}

#[test]
fn errors_name_the_parameters_of_the_discipline() {
    let refused = |line| {
        let output = run(Path::new("."), &["compare", "--qdisc", line]);
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).expect("UTF-8")
    };
    assert!(refused("ramp mni 1ms").contains("did you mean `min`?"));
    assert!(refused("ramp max 1ms").contains("ramp does not accept `max 1ms`"));
    assert!(refused("no_such_name").contains("ramp"), "all names are listed");
}
