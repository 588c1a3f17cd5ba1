//! Unintended inputs: files without an end or without a writer, deeply nested texts, and options
//! that ask for more than a machine has.

#![cfg(unix)]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn goodqueue(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_goodqueue"))
        .args(args)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .expect("it starts")
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// Returns the message of a refusal. The exit code must be 2.
fn refusal(folder: &Path, args: &[&str]) -> String {
    let output = goodqueue(folder, args);
    let said = String::from_utf8_lossy(&output.stderr).trim_end().to_owned();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
    said
}

/// Returns every argument with a value that may be the name of a file: `COMMAND --OPTION`, or
/// `COMMAND <NAME>`.
fn arguments_for_files() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let program = goodqueue_cli::command();
    for (command, argument) in program
        .get_subcommands()
        .flat_map(|command| command.get_arguments().map(move |argument| (command.get_name(), argument)))
        .filter(|(_, argument)| argument.get_action().takes_values())
    {
        let names: Vec<_> =
            argument.get_value_names().unwrap_or_default().iter().map(|name| name.as_str()).collect();
        let is_path = argument.get_value_hint() == clap::ValueHint::AnyPath;
        if is_path || !names.iter().all(|name| NO_FILES.contains(name)) {
            let shown = match argument.get_long() {
                Some(long) => format!("--{long}"),
                None => format!("<{}>", argument.get_id()),
            };
            found.insert(format!("{command} {shown}"));
        }
    }
    found
}

/// Names of values that are no files by themselves. Those of `--qdisc` and `--set` may contain one.
const NO_FILES: &[&str] = &[
    "ADDRESS",
    "CHANGE",
    "CLIENTS",
    "CMD",
    "CONDITION",
    "ENGINE",
    "I/N",
    "IDLE,LOADED",
    "KEY",
    "KEY=VALUE",
    "KIND",
    "LOSS",
    "METRIC",
    "N",
    "NAME",
    "PACKET",
    "QDISC",
    "RATE",
    "ROUTER",
    "SERVERS",
    "STEP",
    "TC",
    "TIME",
    "URL",
];

/// Arguments that name a file to read, each with a command line that reads `odd`.
const READ: &[(&str, &[&str])] = &[
    ("advise --flent", &["advise", "--link", "dsl", "--flent", "odd"]),
    ("advise --trace-down", &["advise", "--trace-down", "odd", "--trace-up", "good"]),
    ("advise --trace-up", &["advise", "--trace-down", "good", "--trace-up", "odd"]),
    ("compare --qdisc", &["compare", "--qdisc", "netem delay 20ms 5ms distribution ./odd"]),
    ("compare --set", &["compare", "--set", "flows=[{kind=\"capture\", file=\"odd\"}]"]),
    ("compare --trace-down", &["compare", "--trace-down", "odd"]),
    ("compare --trace-up", &["compare", "--trace-up", "odd"]),
    ("compare <scenario>", &["compare", "odd"]),
    ("replay --decisions", &["replay", "good", "--decisions", "odd"]),
    ("replay <files>", &["replay", "odd"]),
    ("reproduce --papers", &["reproduce", "--papers", "papers"]),
    ("reproduce --verdicts", &["reproduce", "--verdicts", "odd"]),
    ("run --trace-down", &["run", "rrul-10-1", "--trace-down", "odd"]),
    ("run --trace-up", &["run", "rrul-10-1", "--trace-up", "odd"]),
    ("run <scenarios>", &["run", "odd.toml"]),
    ("shape --undo", &["shape", "--undo", "odd"]),
    ("shell --scenario", &["shell", "--scenario", "odd", "--", "true"]),
    ("shell --trace-down", &["shell", "--trace-down", "odd", "--", "true"]),
    ("shell --trace-up", &["shell", "--trace-up", "odd", "--", "true"]),
    ("stats --control", &["stats", "--control", "odd"]),
    ("top --control", &["top", "--control", "odd"]),
];

/// Arguments that name a file or a folder to write, or a socket to create.
const WRITTEN: &[&str] = &[
    "advise --json",
    "advise --report",
    "advise --scenario",
    "compare --export",
    "compare --json",
    "compare --packets",
    "compare --report",
    "compare --tc-stats",
    "explain --json",
    "list --json",
    "man --out",
    "replay --export",
    "replay --json",
    "replay --tc-stats",
    "reproduce --json",
    "reproduce --out",
    "reproduce --report",
    "run --export",
    "run --json",
    "run --out",
    "run --packets",
    "run --report",
    "run --store",
    "run --tc-stats",
    "shape --control",
    "shape --json",
    "shape --pcap",
    "shape --record",
    "shape --undo-file",
    "shell --control",
    "shell --json",
    "shell --pcap",
    "shell --record",
    "shell --undo-file",
    "validate --json",
];

/// Arguments whose values are folders or words and not in [`NO_FILES`], and a file that only a
/// working bottleneck reads: `--config` has the reader of `goodqueue_live::orders`, which has a
/// test.
const OTHERS: &[&str] = &[
    "advise <rates>",
    "advise <up>",
    "completions <shell>",
    "explain --between",
    "list <what>",
    "new-aqm --out",
    "new-aqm --path",
    "reproduce <what>",
    "schema <format>",
    "shape --config",
    "stats --format",
];

#[test]
fn every_argument_that_names_a_file_is_listed_here() {
    let read = READ.iter().map(|(argument, _)| *argument);
    let listed: BTreeSet<String> =
        read.chain(WRITTEN.iter().copied()).chain(OTHERS.iter().copied()).map(str::to_owned).collect();
    let found = arguments_for_files();
    let new: Vec<_> = found.difference(&listed).collect();
    assert!(new.is_empty(), "add these to a list of this test: {new:?}");
    let gone = listed
        .difference(&found)
        .filter(|gone| !["compare --qdisc", "compare --set"].contains(&gone.as_str()));
    assert_eq!(gone.collect::<Vec<_>>(), Vec::<&String>::new(), "these exist no more");
}

/// A folder in which every name that a command line of [`READ`] uses is made by `make`.
fn folder_of(make: impl Fn(&Path)) -> tempfile::TempDir {
    let folder = folder();
    std::fs::create_dir_all(folder.path().join("papers/x")).expect("made");
    std::fs::write(folder.path().join("good"), "1\n").expect("written");
    for name in ["odd", "odd.toml", "papers/x/claims.toml"] {
        make(&folder.path().join(name));
    }
    folder
}

/// Runs each command line of [`READ`] with little memory. Each must name the file and say one of
/// these.
fn all_refuse(folder: &tempfile::TempDir, says: &[&str]) {
    for (argument, line) in READ {
        let mut limited = Command::new("sh");
        limited
            // The unit of `ulimit -v` is KiB, so this is 1 GiB.
            .args(["-c", "ulimit -v 1048576; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_goodqueue")])
            .args(*line);
        let output = limited.current_dir(folder.path()).stdin(Stdio::null()).output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr).trim_end().to_owned();
        assert_eq!(output.status.code(), Some(2), "{argument}: {said}");
        assert!(said.contains("odd") || said.contains("claims.toml"), "{argument}: {said}");
        let is_socket = argument.ends_with("--control");
        assert!(is_socket || says.iter().any(|one| said.contains(one)), "{argument}: {said}");
    }
}

#[test]
fn a_fifo_that_nobody_writes_is_refused_wherever_a_file_is_read() {
    let folder = folder_of(|path| {
        assert!(Command::new("mkfifo").arg(path).status().expect("mkfifo is there").success());
    });
    all_refuse(&folder, &["it is a FIFO, and nothing has opened it for writing", "is not a regular file"]);
}

#[test]
fn a_directory_is_refused_wherever_a_file_is_read() {
    let folder = folder_of(|path| std::fs::create_dir(path).expect("made"));
    all_refuse(&folder, &["is a directory", "Is a directory", "is not a regular file"]);
}

#[test]
fn a_device_without_end_is_refused_by_the_limit_wherever_a_file_is_read() {
    let folder = folder_of(|path| std::os::unix::fs::symlink("/dev/zero", path).expect("linked"));
    all_refuse(
        &folder,
        &["larger than ", "longer than 1024 KiB", "is not a regular file", "not a recording of packets"],
    );
    for (args, limit) in [
        (&["compare", "/dev/zero"][..], "1 MiB"),
        (&["compare", "--trace-up", "/dev/zero"], "64 MiB"),
        (&["advise", "--link", "dsl", "--flent", "/dev/zero"], "64 MiB"),
        (&["replay", "/dev/zero"], "1024 KiB"),
        (&["reproduce", "--verdicts", "/dev/zero"], "64 MiB"),
        (&["reproduce", "--papers", "papers"], "4 MiB"),
    ] {
        let said = refusal(folder.path(), args);
        assert!(said.contains(&format!("er than {limit}")), "{said}");
    }
}

#[test]
fn a_file_of_gigabytes_is_refused_by_the_limit_wherever_a_file_is_read() {
    // It has no blocks, so it takes no space.
    let folder =
        folder_of(|path| std::fs::File::create(path).and_then(|file| file.set_len(64 << 30)).expect("made"));
    all_refuse(&folder, &["larger than ", "longer than 1024 KiB", "could have been written by another user"]);
}

#[test]
fn a_scenario_may_come_through_a_pipe() {
    let folder = folder();
    let mut started = Command::new(env!("CARGO_BIN_EXE_goodqueue"))
        .args(["compare", "/dev/stdin"])
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut pipe = started.stdin.take().expect("a pipe");
    std::io::Write::write_all(&mut pipe, b"duration = \"1s\"\nqdiscs = \"codel\"\n").expect("written");
    drop(pipe);
    let output = started.wait_with_output().expect("it ends");
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stdout).contains("codel"));
}

#[test]
fn verdicts_of_another_shape_are_refused_and_not_a_panic() {
    let folder = folder();
    for text in ["[]", "7", "null", "{}", "{\"claims\":7}", "{\"claims\":[[]]}", "{\"claims\":[]}"] {
        std::fs::write(folder.path().join("v.json"), text).expect("written");
        let said = refusal(folder.path(), &["reproduce", "--verdicts", "v.json"]);
        assert!(
            said.starts_with("error: v.json:") && said.contains("`goodqueue reproduce --json` wrote"),
            "{said}"
        );
    }
}

#[test]
fn more_runs_at_a_time_than_threads_should_be_are_refused() {
    let folder = folder();
    for command in [&["compare"][..], &["run", "voip"], &["reproduce", "jk"]] {
        for jobs in ["20000", "1025", "0"] {
            let said = refusal(folder.path(), &[command, &["--jobs", jobs]].concat());
            assert!(said.contains("is out of range\n  allowed: 1 to 1024"), "{said}");
        }
    }
    assert!(goodqueue(folder.path(), &["compare", "--time", "1s", "--jobs", "1024"]).status.success());
}

#[test]
fn options_that_contradict_each_other_are_refused_together() {
    let folder = folder();
    for (args, says) in [
        (
            &["compare", "--rate", "5mbit", "--set", "link.down=6mbit"][..],
            "`--set link.down=6mbit` and `--rate`",
        ),
        (&["compare", "--qdisc", "pie", "--set", "qdiscs=codel"], "`--set qdiscs=codel` and `--qdisc`"),
        (&["compare", "--seeds", "2", "--set", "seeds=3"], "`--set seeds=3` and `--seeds`"),
        (&["run", "voip", "--time", "2s", "--set", "duration=3s"], "`--set duration=3s` and `--time`"),
        (&["run", "voip", "--set", "seed=2", "--set", "seed=3"], "`--set seed=3` and `--set seed=2`"),
        (&["compare", "--json", "a.json", "--set", "output.json=b.json"], "and `--json` set the same key"),
        (&["run", "voip", "--series", "1s", "--set", "output.series=2s"], "and `--series` set the same key"),
        (&["compare", "--live", "--both"], "cannot be used with"),
    ] {
        let said = refusal(folder.path(), args);
        assert!(said.contains(says), "{args:?}: {said}");
    }
}

#[test]
fn a_metric_that_the_scenario_cannot_have_is_refused() {
    let folder = folder();
    let hops = "duration = \"1s\"\nqdiscs = \"pfifo\"\n[[hops]]\nname = \"modem\"\n";
    std::fs::write(folder.path().join("hops.toml"), hops).expect("written");
    for (args, says) in [
        (&["compare", "--metric", "queues.hop.up.sojourn_s.p95"][..], "the scenario has no queue `hop`"),
        (&["run", "hops.toml", "--metric", "queues.modm.up.sojourn_s.p95"], "did you mean `modem`?"),
        // Known only after the runs: no packet waits in a hop without a rate.
        (
            &["run", "hops.toml", "--metric", "queues.modem.up.sojourn_s.p95"],
            "no run has a metric `queues.modem",
        ),
        (&["run", "hops.toml", "--metric", "bottleneck.up.spikes.3.longest_s"], "no run has a metric"),
    ] {
        let said = refusal(folder.path(), args);
        assert!(said.contains(says) && said.contains("--metric"), "{args:?}: {said}");
    }
}

#[test]
fn options_without_an_effect_are_refused() {
    let folder = folder();
    let datagrams = "duration = \"1s\"\n[[flows]]\nkind = \"cbr\"\nrate = \"1mbit\"\n";
    std::fs::write(folder.path().join("one-way.toml"), datagrams).expect("written");
    for (args, says) in [
        (&["compare", "rtt-fairness", "--rtt", "99ms"][..], "`--rtt 99ms` has no effect"),
        (&["run", "rtt-fairness", "--set", "link.rtt=99ms"], "has no effect"),
        (&["compare", "one-way.toml", "--up", "5mbit"], "`--up 5mbit` has no effect"),
        (&["compare", "--time", "1s", "--timing"], "`--timing` has no effect"),
        (&["compare", "--time", "1s", "--series", "100ms"], "`--series` has no effect"),
        (&["compare", "--time", "1s", "--allow-root"], "`--allow-root` has no effect"),
        (&["compare", "--live", "--allow-root", "--jobs", "2"], "`--jobs` has no effect"),
    ] {
        let said = refusal(folder.path(), args);
        assert!(said.contains(says), "{args:?}: {said}");
    }
}

#[test]
fn the_headline_shows_the_round_trip_times_that_flows_have() {
    let folder = folder();
    let shown = |args: &[&str]| {
        let output =
            goodqueue(folder.path(), &[args, &["--set", "duration=2s", "--qdisc", "pfifo"]].concat());
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines().next().map(str::to_owned).unwrap_or_default()
    };
    assert!(shown(&["compare", "--rtt", "20ms"]).contains("base RTT 20ms,"));
    let fairness = shown(&["compare", "rtt-fairness", "--set", "warmup=0s"]);
    assert!(fairness.contains("base RTT 10ms to 500ms,"), "{fairness}");
}

#[test]
fn the_headline_of_a_sweep_calls_swept_values_varied() {
    let folder = folder();
    let sweep = "duration = \"1s\"\nqdiscs = \"pfifo\"\n[sweep]\n\"link.up\" = [\"1mbit\", \"2mbit\"]\n\"link.down\" = [\"5mbit\"]\n";
    std::fs::write(folder.path().join("sweep.toml"), sweep).expect("written");
    let output = goodqueue(folder.path(), &["compare", "sweep.toml"]);
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(printed.starts_with("5mbit down, varied up, base RTT 50ms, "), "{printed}");
}

#[test]
fn a_sweep_that_cannot_finish_is_refused_before_any_run() {
    let folder = folder();
    let list = format!("[{}]", vec!["1"; 500].join(","));
    let text = format!("[sweep]\nseed = {list}\n\"tcp.iw\" = {list}\n");
    std::fs::write(folder.path().join("sweep.toml"), text).expect("written");
    for command in ["compare", "run"] {
        let said = refusal(folder.path(), &[command, "sweep.toml"]);
        assert!(
            // 500 × 500 points of the sweep, with the seven default disciplines each.
            said.contains("the scenario makes 1750000 runs") && said.contains("at most 100000"),
            "{said}"
        );
    }
}

#[test]
fn claims_that_are_nested_without_end_are_refused_and_long_ones_are_read() {
    let folder = folder();
    std::fs::create_dir(folder.path().join("x")).expect("made");
    let claims = |measures: &str| {
        let text = format!("name = \"x\"\ntitle = \"\"\nsource = \"\"\n[measures]\n{measures}\n");
        std::fs::write(folder.path().join("x/claims.toml"), text).expect("written");
    };
    for (measures, says) in [
        (format!("a = '{}1{}'", "(".repeat(10_000), ")".repeat(10_000)), "nested too deeply"),
        (format!("a = '{}1'", "-".repeat(100_000)), "nested too deeply"),
        (format!("a{} = '1'", ".a".repeat(10_000)), "nested deeper than"),
        ("a = 'b'\nb = 'a'".to_owned(), "defined by itself"),
    ] {
        claims(&measures);
        let said = refusal(folder.path(), &["reproduce", "--papers", "."]);
        // A message quotes the beginning of a text only; these have up to 100,000 characters.
        assert!(said.contains(says) && said.len() < 2000, "{said}");
    }
    // A measure may have 100,000 terms.
    claims(&format!("a = '{}'", ["1"; 50_000].join(" + ")));
    let output = goodqueue(folder.path(), &["reproduce", "--all", "--papers", "."]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}
