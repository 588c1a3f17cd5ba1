//! What a run leaves behind: results, series, reports and stored sweeps.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::{folder, goodqueue, refusal_in, stdout};

#[test]
fn series_of_several_seeds_have_their_pointwise_mean_in_the_results_if_series_are_asked_for() {
    let folder = folder();
    let args = ["compare", "--time", "2s", "--qdisc", "pie", "--seeds", "3", "--json", "-"];
    let results = |more: &[&str]| -> Value {
        let printed = stdout(&goodqueue(folder.path(), &[&args, more].concat()));
        serde_json::from_str(&printed).expect("nothing but JSON")
    };
    let with = results(&["--series", "100ms"]);
    let series = &with["summary"][0]["series"];
    let step = |run: usize| with["runs"][run]["series"]["queues"]["up"]["throughput_bps"][15].as_f64();
    let mean = [0, 1, 2].map(|run| step(run).expect("a rate")).iter().sum::<f64>() / 3.0;
    let got = series["queues"]["up"]["throughput_bps"]["mean"][15].as_f64().expect("a mean");
    assert!((got - mean).abs() < 1e-6, "{got} {mean}");
    assert_eq!(series["goodput"]["down"]["mean"].as_array().map(Vec::len), Some(20));
    assert!(series["ping_s"]["mean"].as_array().expect("pings").iter().any(Value::is_number));
    let report = folder.path().join("r.html");
    let without = results(&["--report", report.to_str().expect("UTF-8")]);
    assert!(without["summary"][0]["figures"].is_object() && without["summary"][0]["series"].is_null());
}

#[test]
fn a_run_over_a_line_that_is_blocked_for_ever_ends_in_time_and_tells_what_was_left() {
    let folder = folder();
    let blocked = "duration = \"5s\"\nqdiscs = [\"pfifo limit 50\"]\nflows = 2\n[link]\n\
                   down = { schedule = [[\"0s\", \"10mbit\"], [\"2s\", \"0bit\"]] }\nup = \"1mbit\"\n";
    std::fs::write(folder.path().join("blocked.toml"), blocked).expect("written");
    let printed = stdout(&goodqueue(folder.path(), &["compare", "blocked.toml", "--json", "r.json"]));
    let json = std::fs::read(folder.path().join("r.json")).expect("written");
    let json: Value = serde_json::from_slice(&json).expect("JSON");
    let left = json["runs"][0]["engine"]["in_flight_packets"].as_u64().expect("a number");
    // The packets in the queue, and others that were on their way.
    assert!(left >= 50, "{left}");
    let says = format!("the line was blocked when the run ended; {left} packets were queued or on their way");
    assert!(printed.contains(&says), "{printed}");
    assert!((json["runs"][0]["duration_s"].as_f64().expect("a time") - 5.0).abs() < 1e-9);
}

#[test]
fn series_are_exported_to_other_programs_by_the_name_of_the_file() {
    let folder = folder();
    let args = ["compare", "--time", "2s", "--qdisc", "pie", "--qdisc", "codel"];
    let exports = [
        "--export",
        "a.series.csv",
        "--export",
        "a.series.parquet",
        "--export",
        "a.flent.gz",
        "--json",
        "a.json",
    ];
    assert!(goodqueue(folder.path(), &[&args[..], &exports].concat()).status.success());
    let read = |name: &str| std::fs::read(folder.path().join(name)).expect(name);
    let csv = String::from_utf8(read("a.series.csv")).expect("text");
    assert!(
        csv.starts_with("run,qdisc,seed,t_s,series,direction,flow,value\n0,pie,1,0,sojourn_mean_s,down,,")
    );
    // Steps of 200 ms, as in Flent: two queues of 5 series, 8 flows, 10 pings.
    assert_eq!(csv.lines().count(), 1 + 2 * (10 * 10 + 8 * 10 + 10));
    assert!(read("a.series.parquet").starts_with(b"PAR1") && read("a.series.parquet").ends_with(b"PAR1"));
    for run in ["a.pie.flent.gz", "a.codel.flent.gz"] {
        // A gzip file begins with these bytes (RFC 1952 §2.3.1).
        assert!(read(run).starts_with(&[0x1f, 0x8b]), "{run}");
    }
    let json: Value = serde_json::from_slice(&read("a.json")).expect("JSON");
    assert!(json["runs"][0]["series"].is_null(), "nobody asked for them there");
    for (wrong, says) in
        [("a.xls", ".csv or .parquet (a row for each run)"), ("no/a.csv", "cannot be written")]
    {
        let output = goodqueue(folder.path(), &[&args[..], &["--export", wrong]].concat());
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains(says), "{output:?}");
    }
    let several = ["run", "rrul-10-1", "voip", "--export", "a.csv"];
    assert_eq!(goodqueue(folder.path(), &several).status.code(), Some(2));
}

#[test]
fn the_same_seed_gives_the_same_bytes_at_any_number_of_threads() {
    let run = |jobs| {
        let args =
            ["compare", "--time", "5s", "--seeds", "2", "--series", "100ms", "--json", "-", "--jobs", jobs];
        let output = goodqueue(folder().path(), &args);
        assert!(output.status.success());
        output.stdout
    };
    let once = run("1");
    assert!(!once.is_empty());
    assert!(once == run("1"), "one thread, twice");
    assert!(once == run("2"), "one thread and two");
}

#[test]
fn another_seed_gives_another_run() {
    let run = |seed| {
        stdout(&goodqueue(folder().path(), &["compare", "--time", "3s", "--qdisc", "codel", "--seed", seed]))
    };
    assert_ne!(run("1"), run("2"));
}

#[test]
fn the_json_holds_what_the_documentation_names() {
    let output =
        goodqueue(folder().path(), &["compare", "--time", "3s", "--qdisc", "fq_codel", "--json", "-"]);
    let results: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(results["goodqueue"].is_string() && results["scenario"].is_object());
    let run = &results["runs"][0];
    for pointer in [
        "/qdisc",
        "/qdisc_resolved",
        "/seed",
        "/duration_s",
        "/bottleneck/down/rate_bps",
        "/bottleneck/down/utilization",
        "/bottleneck/up/throughput_bps",
        "/bottleneck/down/sojourn_s/p95",
        "/bottleneck/down/queue_packets/mean",
        "/bottleneck/down/packets/offered",
        "/bottleneck/down/packets/marked",
        "/bottleneck/down/drops",
        "/flows/0/goodput_bps",
        "/flows/0/retransmits",
        "/flows/0/cc",
        "/flows/0/rtt_s",
        "/induced_latency_s/mean",
        "/induced_latency_s/p99",
        "/probes/ping_s/p50",
        "/probes/responsiveness_rpm",
        "/fairness/jain_goodput",
        "/fairness/jain_drop_share",
        "/tcp_share",
        "/engine/events",
        "/engine/cpu_s",
        "/engine/bottleneck_packets",
        "/grade",
    ] {
        assert!(run.pointer(pointer).is_some(), "{pointer} is missing");
    }
    let offered = run["bottleneck"]["down"]["packets"]["offered"].as_u64();
    assert!(offered.is_some_and(|packets| packets > 100));
    // The default of Linux is the MTU and the 14 bytes of an Ethernet header.
    assert_eq!(run["qdisc_resolved"].as_str().map(|line| line.contains("quantum 1514")), Some(true));
}

#[test]
fn a_scenario_in_results_can_be_run_again() {
    let folder = folder();
    let text = "duration = \"1s\"\nqdiscs = [\"pfifo\", \"codel / pie\"]\nseeds = 2\n";
    std::fs::write(folder.path().join("s.toml"), text).expect("written");
    let compare = |scenario: &str| {
        let output = goodqueue(folder.path(), &["compare", scenario, "--json", "-"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    let results = compare("s.toml");
    std::fs::write(folder.path().join("results.json"), &results).expect("written");
    assert!(compare("results.json") == results);
    let parsed: Value = serde_json::from_slice(&results).expect("JSON");
    std::fs::write(folder.path().join("scenario.json"), parsed["scenario"].to_string()).expect("written");
    assert!(compare("scenario.json") == results);
    for (text, says) in [
        ("{\n\"seed\": }", "bad.json:2"),
        ("{\"scenario\": 3}", "not an object"),
        ("{\"scenario\": {\"sweep\": {\"link.rtt\": [\"1ms\", \"2ms\"]}}}", "the results of a sweep"),
        ("{\"sed\": 3}", "did you mean `seed`?"),
    ] {
        std::fs::write(folder.path().join("bad.json"), text).expect("written");
        let said = refusal_in(folder.path(), &["run", "bad.json"]);
        assert!(said.contains(says) && said.contains("bad.json"), "{said}");
    }
}

#[test]
fn timing_is_given_only_when_asked_for() {
    let json = |args: &[&str]| -> Value {
        let all = [&["compare", "--time", "1s", "--qdisc", "pfifo", "--json", "-"], args].concat();
        serde_json::from_slice(&goodqueue(folder().path(), &all).stdout).expect("JSON")
    };
    assert!(json(&[])["runs"][0]["engine"]["cpu_s"].is_null());
    assert!(json(&["--timing"])["runs"][0]["engine"]["cpu_s"].as_f64().is_some_and(|seconds| seconds > 0.0));
}

#[test]
fn a_report_is_one_file_that_loads_nothing() {
    let folder = folder();
    let output = goodqueue(folder.path(), &["compare", "--time", "2s", "--report", "report.html"]);
    assert!(output.status.success());
    let page = std::fs::read_to_string(folder.path().join("report.html")).expect("written");
    assert!(page.starts_with("<!doctype html>") && page.contains("goodqueue compare --time 2s"));
    assert!(!page.contains("src=\"http") && !page.contains("href=\"http://"));
    assert_eq!(std::fs::read_dir(folder.path()).expect("listed").count(), 1, "no temporary file is left");
}

#[test]
fn a_report_leads_to_a_playground_but_not_to_a_script() {
    let folder = folder();
    let compare = |playground: &str| {
        let args =
            ["compare", "--time", "2s", "--qdisc", "pie", "--report", "r.html", "--playground", playground];
        goodqueue(folder.path(), &args)
    };
    let refused = compare("javascript:alert(1)");
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("not the address of a page"));
    assert!(!folder.path().join("r.html").exists(), "it is refused before the runs");
    assert!(compare("../playground/").status.success());
    let page = std::fs::read_to_string(folder.path().join("r.html")).expect("written");
    assert!(page.contains("\"playground\":\"../playground/\""));
}

#[test]
fn a_mahimahi_trace_is_the_link() {
    let folder = folder();
    // One opportunity of 1504 bytes per millisecond is 12.032 Mbit/s.
    std::fs::write(folder.path().join("12mbit.trace"), "1\n").expect("written");
    let args =
        ["compare", "--trace-down", "12mbit.trace", "--time", "10s", "--qdisc", "fq_codel", "--json", "-"];
    let output = goodqueue(folder.path(), &args);
    let results: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let down = &results["runs"][0]["bottleneck"]["down"];
    let rate = down["rate_bps"].as_f64().expect("a rate");
    assert!((rate - 12_032_000.0).abs() < 13_000.0, "{rate}");
    assert!(down["throughput_bps"].as_f64().expect("a rate") <= rate);
    assert!(down["utilization"].as_f64().expect("a share") > 0.8);
}

fn scenario_files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../goodqueue-scenario/scenarios");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("there").map(|entry| entry.expect("readable").path()).collect();
    files.sort();
    files
}

#[test]
fn every_scenario_that_comes_along_runs() {
    let folder = folder();
    for file in scenario_files() {
        let name = file.to_string_lossy().into_owned();
        let output = goodqueue(
            folder.path(),
            &["run", &name, "--set", "duration=2s", "--set", "warmup=0s", "--out", "out"],
        );
        // Scenarios with events after 2 s are refused with a message about the duration; all others
        // run.
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() || said.contains("duration"), "{name}: {said}");
    }
}

#[test]
fn a_sweep_that_was_run_before_is_not_run_again() {
    let folder = folder();
    let scenario =
        "duration = \"1s\"\nqdiscs = [\"pfifo\", \"codel\"]\n[sweep]\n\"link.up\" = [\"1mbit\", \"2mbit\"]\n";
    std::fs::write(folder.path().join("small.toml"), scenario).expect("written");
    let run = || goodqueue(folder.path(), &["run", "small.toml", "--out", "out"]);
    let first = run();
    assert!(first.status.success(), "{}", String::from_utf8_lossy(&first.stderr));
    let results = std::fs::read(folder.path().join("out/small.json")).expect("written");
    // One result is missing, as after an interruption before the last run.
    let lost = std::fs::read_dir(folder.path().join("out/runs"))
        .expect("there")
        .next()
        .expect("one")
        .expect("readable");
    std::fs::remove_file(lost.path()).expect("removed");
    let again = run();
    assert!(String::from_utf8_lossy(&again.stderr).contains("3 of 4 runs had been finished before"));
    assert_eq!(stdout(&again), stdout(&first));
    assert!(std::fs::read(folder.path().join("out/small.json")).expect("written") == results);
}

#[test]
fn another_export_or_report_of_a_sweep_reads_what_is_stored() {
    let folder = folder();
    let scenario = "duration = \"1s\"\nqdiscs = [\"pfifo\", \"codel\"]\nseeds = 2\n\
                    [sweep]\n\"link.rtt\" = [\"10ms\", \"20ms\"]\n";
    std::fs::write(folder.path().join("small.toml"), scenario).expect("written");
    let run = |more: &[&str]| {
        let output = goodqueue(folder.path(), &[&["run", "small.toml", "--out", "out"], more].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(!run(&[]).contains("before"));
    for more in [
        &["--export", "runs.csv"][..],
        &["--export", "runs.parquet"],
        &["--export", "series.csv"],
        &["--export", "a.flent.gz"],
        &["--report", "r.html"],
        &["--json", "r.json"],
    ] {
        let said = run(more);
        assert!(said.contains("8 of 8 runs had been finished before"), "{more:?}: {said}");
        assert!(!said.contains("again"), "{more:?}: {said}");
    }
    // Series in other steps were not kept. They are from now on.
    let fine = ["--series", "10ms", "--export", "fine.series.csv"];
    assert!(
        run(&fine).contains("8 of 8 runs were simulated again: their time series in these steps had not")
    );
    for more in [&fine[..], &["--report", "r.html"]] {
        assert!(run(more).contains("8 of 8 runs had been finished before"), "{more:?}");
    }
    let text = std::fs::read_to_string(folder.path().join("runs.csv")).expect("written");
    let mut lines = text.lines();
    assert!(lines.next().is_some_and(|heading| heading.starts_with("run,qdisc,link.rtt,seed,goodput.down,")));
    let begins: Vec<String> =
        lines.map(|line| line.split(',').take(4).collect::<Vec<_>>().join(",")).collect();
    assert_eq!(begins[..3], ["0,pfifo,0.01,1", "1,pfifo,0.01,2", "2,codel,0.01,1"]);
    assert_eq!((begins.len(), begins[7].as_str()), (8, "7,codel,0.02,2"));
}

#[test]
fn a_program_that_was_built_anew_runs_anew() {
    let folder = folder();
    std::fs::write(folder.path().join("small.toml"), "duration = \"1s\"\nqdiscs = \"pfifo\"\n")
        .expect("written");
    // Appended bytes change the file, but not its behaviour.
    let rebuilt = folder.path().join("rebuilt");
    let mut program = std::fs::read(env!("CARGO_BIN_EXE_goodqueue")).expect("the program");
    program.push(0);
    std::fs::copy(env!("CARGO_BIN_EXE_goodqueue"), &rebuilt).expect("copied");
    std::fs::write(&rebuilt, program).expect("written");
    let run = |program: &Path| {
        let mut command = Command::new(program);
        let args = ["run", "small.toml", "--out", "out"];
        let output = command.args(args).current_dir(folder.path()).output().expect("it starts");
        let kept = std::fs::read_dir(folder.path().join("out/runs")).expect("there").count();
        (stdout(&output), kept)
    };
    let (shown, kept) = run(Path::new(env!("CARGO_BIN_EXE_goodqueue")));
    assert_eq!(kept, 1);
    assert_eq!(run(Path::new(env!("CARGO_BIN_EXE_goodqueue"))), (shown.clone(), 1));
    assert_eq!(run(&rebuilt), (shown, 2));
}
