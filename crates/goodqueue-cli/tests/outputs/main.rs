//! Output files: files of the user that must stay, devices, pipes, and remains of a killed command.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

mod messages;
mod signals;
mod terminal;

fn goodqueue(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_goodqueue"));
    command.current_dir(folder);
    command
}

fn run(folder: &Path, args: &[&str]) -> Output {
    goodqueue(folder).args(args).output().unwrap()
}

/// Runs a script in a shell in which `goodqueue` is this program.
fn in_a_shell(folder: &Path, script: &str) -> Output {
    let script = format!("goodqueue() {{ \"{}\" \"$@\"; }}\n{script}", env!("CARGO_BIN_EXE_goodqueue"));
    Command::new("sh").args(["-c", &script]).current_dir(folder).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).trim_end().to_owned()
}

fn good(output: &Output) {
    assert!(output.status.success(), "{}", said(output));
}

fn refused(folder: &Path, args: &[&str]) -> String {
    let output = run(folder, args);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {}", said(&output));
    assert!(output.stdout.is_empty(), "{args:?}");
    said(&output)
}

fn names(folder: &Path) -> Vec<String> {
    let listed = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        listed.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// The shortest possible scenario.
const SMALL: &str = "duration = \"1s\"\nqdiscs = \"pfifo\"\nflows = 1\n";

#[test]
fn a_fifo_gets_the_results_and_stays_a_fifo() {
    let folder = TempDir::new().unwrap();
    let script = "mkfifo pipe; cat pipe > got & goodqueue explain codel --json pipe; wait; test -p pipe";
    good(&in_a_shell(folder.path(), script));
    assert!(fs::read_to_string(folder.path().join("got")).unwrap().starts_with('{'));
    assert_eq!(names(folder.path()), ["got", "pipe"]);
}

#[test]
fn standard_output_can_be_named_as_a_device() {
    let folder = TempDir::new().unwrap();
    let script = "goodqueue explain codel --json /dev/stdout | head -c 1
                  goodqueue explain codel --json /dev/stdout > direct; goodqueue explain codel --json plain";
    let output = in_a_shell(folder.path(), script);
    good(&output);
    assert_eq!(output.stdout, b"{");
    let read = |name: &str| fs::read(folder.path().join(name)).unwrap();
    assert!(read("direct") == read("plain"));
}

#[test]
fn a_new_file_has_the_mode_that_the_umask_allows_and_an_old_one_keeps_its_own() {
    let folder = TempDir::new().unwrap();
    good(&in_a_shell(folder.path(), "umask 027; goodqueue explain codel --json new"));
    assert_eq!(mode(&folder.path().join("new")), 0o640);
    fs::set_permissions(folder.path().join("new"), Permissions::from_mode(0o600)).unwrap();
    good(&in_a_shell(folder.path(), "umask 022; goodqueue explain codel --json new"));
    assert_eq!(mode(&folder.path().join("new")), 0o600);
}

#[test]
fn a_symbolic_link_of_the_user_stays_and_leads_to_the_new_results() {
    let folder = TempDir::new().unwrap();
    fs::create_dir(folder.path().join("disk")).unwrap();
    symlink("disk/results.json", folder.path().join("latest.json")).unwrap();
    good(&run(folder.path(), &["explain", "codel", "--json", "latest.json"]));
    assert!(fs::symlink_metadata(folder.path().join("latest.json")).unwrap().is_symlink());
    assert!(fs::metadata(folder.path().join("disk/results.json")).unwrap().is_file());
}

#[test]
fn a_planted_link_without_a_target_is_named_in_the_error() {
    for (name, target, args) in [
        ("x.json", "missing/x.json", &["compare", "s.toml", "--json", "x.json"][..]),
        ("goodqueue-results", "missing", &["run", "s.toml"]),
        ("o/runs", "missing", &["run", "s.toml", "--out", "o"]),
        ("pages", "missing", &["man", "--out", "pages"]),
    ] {
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join("s.toml"), SMALL).unwrap();
        fs::create_dir(folder.path().join("o")).unwrap();
        symlink(target, folder.path().join(name)).unwrap();
        let message = refused(folder.path(), args);
        assert!(message.contains(&format!("{name}` is a symbolic link to `")), "{message}");
        assert!(message.contains(target) && message.contains("remove the link"), "{message}");
    }
}

#[test]
fn a_scenario_writes_to_plain_names_below_the_working_directory_only() {
    let folder = TempDir::new().unwrap();
    let outside = TempDir::new().unwrap();
    symlink(outside.path(), folder.path().join("elsewhere")).unwrap();
    let mut messages = Vec::new();
    for name in [
        "json = \"/etc/cron.d/job.json\"",
        "json = \"../results.json\"",
        "json = \"sub/../../results.json\"",
        "json = \".config/results.json\"",
        "json = \"authorized_keys\"",
        "json = \"-\"",
        "json = \"\"",
        "report = \"report.pdf\"",
        "json = \"elsewhere/results.json\"",
        "json = \"missing/results.json\"",
    ] {
        fs::write(folder.path().join("s.toml"), format!("{SMALL}[output]\n{name}\n")).unwrap();
        for command in ["compare", "run"] {
            let message = refused(folder.path(), &[command, "s.toml"]);
            if command == "run" {
                messages.push(message);
            }
        }
    }
    assert_eq!(names(folder.path()), ["elsewhere", "s.toml"]);
    assert_eq!(names(outside.path()), [""; 0]);
    insta::assert_snapshot!(messages.join("\n\n"));
}

#[test]
fn a_scenario_replaces_earlier_results_and_no_file_of_the_user() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("s.toml"), format!("{SMALL}[output]\njson = \"own.json\"\nreport = \"./own.html\"\n"))
        .unwrap();
    // The second time, both exist.
    for _ in 0..2 {
        good(&run(folder.path(), &["compare", "s.toml"]));
        good(&run(folder.path(), &["run", "s.toml", "--out", "out"]));
    }
    for name in ["own.json", "own.html", "out/s.json"] {
        let results = fs::read(path(name)).unwrap();
        fs::write(path(name), "of the user").unwrap();
        let message = refused(folder.path(), &["run", "s.toml", "--out", "out"]);
        assert!(message.contains("goodqueue did not write it"), "{message}");
        assert!(message.contains("move it away"), "{message}");
        assert_eq!(fs::read_to_string(path(name)).unwrap(), "of the user");
        fs::write(path(name), results).unwrap();
    }
    // A name on the command line is deliberate.
    fs::write(path("own.json"), "of the user").unwrap();
    good(&run(folder.path(), &["compare", "s.toml", "--json", "own.json"]));
    assert!(fs::read_to_string(path("own.json")).unwrap().starts_with('{'));
}

#[test]
fn two_outputs_of_one_file_are_refused_before_any_work() {
    let folder = TempDir::new().unwrap();
    symlink("x.html", folder.path().join("link")).unwrap();
    for name in ["a.toml", "b.toml"] {
        fs::write(folder.path().join(name), format!("name = \"same\"\n{SMALL}")).unwrap();
    }
    let messages: Vec<String> = [
        &["compare", "--json", "x.html", "--report", "x.html"][..],
        &["compare", "--json", "link", "--report", "x.html"],
        &["compare", "--export", "x.csv", "--packets", "x.csv", "--qdisc", "pie"],
        &["compare", "--json", "-", "--tc-stats", "-"],
        &["run", "a.toml", "b.toml"],
        &["run", "a.toml", "--json", "goodqueue-results/same.json"],
        &["replay", "x.jsonl", "--json", "x", "--tc-stats", "x"],
    ]
    .iter()
    .map(|args| refused(folder.path(), args))
    .collect();
    assert_eq!(names(folder.path()), ["a.toml", "b.toml", "link"]);
    insta::assert_snapshot!(messages.join("\n\n"));
}

/// A discipline whose jitter is that of a file.
const WITH_TABLE: &str = "netem delay 1ms 1ms distribution t.dist";

#[test]
fn an_output_that_would_replace_an_input_is_refused_before_any_work() {
    let folder = TempDir::new().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("s.toml", &format!("{SMALL}[sweep]\n\"link.down\" = [\"1mbit\", {{ trace = \"lte\" }}]\n"));
    write("lte", "1\n2\n3\n");
    write("r.jsonl", "[\"A\", 0, 1, 100, 0, 1]\n");
    write("d.csv", "0,1,sent\n");
    write("t.dist", "-8192 0 8192\n");
    symlink("r.jsonl", folder.path().join("link")).unwrap();
    let before = names(folder.path());
    let messages: Vec<String> = [
        &["compare", "s.toml", "--json", "s.toml"][..],
        &["compare", "--trace-down", "lte", "--json", "lte"],
        &["run", "s.toml", "--tc-stats", "lte"],
        &["replay", "r.jsonl", "--json", "r.jsonl"],
        &["replay", "link", "--export", "r.jsonl"],
        &["replay", "r.jsonl", "r.jsonl", "--tc-stats", "./link"],
        &["replay", "r.jsonl", "--decisions", "d.csv", "--json", "d.csv"],
        &["replay", "r.jsonl", "--qdisc", WITH_TABLE, "--json", "t.dist"],
        &["compare", "--qdisc", WITH_TABLE, "--json", "t.dist"],
        &[
            "compare",
            "--qdisc",
            "tbf rate 1mbit burst 2kb latency 50ms [netem delay 1ms 1ms distribution ./t.dist]",
            "--json",
            "t.dist",
        ],
        &["advise", "--flent", "lte", "--json", "lte"],
        &["advise", "--link", "lte", "--trace-down", "lte", "--trace-up", "lte", "--scenario", "lte"],
        &["shell", "--scenario", "s.toml", "--json", "s.toml", "--", "true"],
        &["shell", "--trace-up", "lte", "--json", "lte", "--", "true"],
    ]
    .iter()
    .map(|args| refused(folder.path(), args))
    .collect();
    assert_eq!(names(folder.path()), before);
    insta::assert_snapshot!(messages.join("\n\n"));
}

#[test]
fn a_report_of_thousands_of_points_is_refused_before_any_work() {
    let folder = TempDir::new().unwrap();
    let delays: Vec<String> = (1..=600).map(|ms| format!("\"{ms}ms\"")).collect();
    let swept = format!("[sweep]\n\"link.rtt\" = [{}]\n", delays.join(","));
    fs::write(folder.path().join("s.toml"), format!("duration = \"1s\"\n{swept}")).unwrap();
    let message = refused(folder.path(), &["run", "s.toml", "--report", "r.html"]);
    // Seven default disciplines at each point.
    assert!(message.contains("4200 disciplines at 600 points") && message.contains("--export"), "{message}");
    assert_eq!(names(folder.path()), ["s.toml"]);
}

#[test]
fn a_report_is_called_html() {
    let folder = TempDir::new().unwrap();
    for name in ["r.pdf", "report", "-", "r.html.gz"] {
        for command in ["compare", "reproduce"] {
            let message = refused(folder.path(), &[command, "--report", name]);
            assert!(message.contains(".html or .htm"), "{message}");
        }
    }
    for name in ["r.HTML", "r.htm", "/dev/null"] {
        good(&run(folder.path(), &["compare", "--time", "1s", "--qdisc", "pfifo", "--report", name]));
    }
    assert_eq!(names(folder.path()), ["r.HTML", "r.htm"]);
}

#[test]
fn what_cannot_be_written_is_called_as_the_user_calls_it() {
    let folder = TempDir::new().unwrap();
    for args in [
        &["compare", "--json", "no/x.json"][..],
        &["compare", "--packets", "no/x.csv"],
        &["explain", "codel", "--json", "no/x.json"],
    ] {
        let message = refused(folder.path(), args);
        assert!(message.contains("`no/x.") && !message.contains(".goodqueue-"), "{message}");
    }
}
