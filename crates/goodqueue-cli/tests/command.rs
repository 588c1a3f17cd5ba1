//! The command as its users see it: reproducible bytes, errors that tell what to do, and files that
//! appear completely or not at all.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// Runs `goodqueue` in `folder`.
fn goodqueue(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_goodqueue")).args(args).current_dir(folder).output().expect("it starts")
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Returns the message of a refusal. The exit code must be 2, and nothing else may be printed.
fn refusal(args: &[&str]) -> String {
    let folder = folder();
    refusal_in(folder.path(), args)
}

fn refusal_in(folder: &Path, args: &[&str]) -> String {
    let output = goodqueue(folder, args);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(stdout(&output), "", "{args:?}");
    String::from_utf8_lossy(&output.stderr).trim_end().to_owned()
}

fn scenario_files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../goodqueue-scenario/scenarios");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("there").map(|entry| entry.expect("readable").path()).collect();
    files.sort();
    files
}

#[test]
fn compare_without_arguments_shows_bufferbloat_and_its_cure_in_80_columns() {
    let output = goodqueue(folder().path(), &["compare"]);
    assert!(output.status.success());
    let text = stdout(&output);
    let grade = |discipline: &str| {
        let row = text.lines().find_map(|line| line.trim_start().strip_prefix(discipline));
        row.and_then(|row| row.split_whitespace().next()).map(str::to_owned)
    };
    assert_eq!(grade("bfifo limit 256kb ").as_deref(), Some("F"), "{text}");
    for (discipline, best) in [("fq_codel ", "A"), ("cake ", "A"), ("red adaptive ", "A")] {
        assert_eq!(grade(discipline).as_deref(), Some(best), "{text}");
    }
    assert!(["pie ", "codel ", "sfq "].iter().all(|discipline| grade(discipline).is_some()), "{text}");
    let widest = text.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{widest:?} columns:\n{text}");
    assert!(text.contains("fq_codel does best: it adds"), "{text}");
}

#[test]
fn all_metrics_are_shown_on_request() {
    let output = goodqueue(folder().path(), &["compare", "--time", "2s", "--wide"]);
    let text = stdout(&output);
    let losses = text.split("\n\n").nth(2).expect("a second table");
    assert_eq!(losses.lines().filter(|line| line.contains('/')).count(), 8, "{losses}");
    for heading in ["goodput", "induced latency", "RPM", "sojourn down", "drops", "Jain index", "grade"] {
        assert!(text.contains(heading), "{heading} is missing in\n{text}");
    }
}

#[test]
fn a_shaper_that_does_not_fit_the_line_is_pointed_out() {
    let said = |qdisc: &str| {
        let output =
            goodqueue(folder().path(), &["compare", "--time", "1s", "--up", "10mbit", "--qdisc", qdisc]);
        assert!(output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(
        said("cake bandwidth 50mbit").contains("its shaper of 50 Mbit/s is above the line's 10 Mbit/s down")
    );
    assert!(said("cake bandwidth 1mbit").contains("is far below the line's"));
    assert_eq!(said("cake bandwidth 9mbit"), "");
}

#[test]
fn marks_have_a_column_if_a_discipline_marks() {
    let has_marks = |more: &[&str]| {
        let compare = ["compare", "--wide", "--time", "5s", "--qdisc", "fq_codel", "--qdisc", "pfifo"];
        stdout(&goodqueue(folder().path(), &[&compare, more].concat())).contains("marks")
    };
    assert!(!has_marks(&[]));
    assert!(has_marks(&["--set", "tcp.ecn=true"]));
}

#[test]
fn the_readme_shows_what_the_command_prints() {
    // If this fails because results changed, put the new table into README.md and the reason into
    // CHANGELOG.md.
    let example = README.split("```\n$ goodqueue ").nth(1).expect("an example");
    let (command, shown) = example.split_once('\n').expect("the output is below the command");
    let shown = shown.split("```").next().expect("the output ends");
    let printed = stdout(&goodqueue(folder().path(), &words(command)));
    let lines =
        |text: &str| text.trim_end().lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>();
    assert_eq!(lines(shown), lines(&printed));
}

#[test]
fn the_readme_describes_its_picture_with_the_headline_of_the_report() {
    // If this fails because results changed, run `make screenshot`.
    let folder = folder();
    assert!(goodqueue(folder.path(), &["compare", "--report", "report.html"]).status.success());
    let report = std::fs::read_to_string(folder.path().join("report.html")).expect("a report");
    let headline = report.split("<h1>").nth(1).and_then(|rest| rest.split("</h1>").next());
    // Numbers and units do not break in the report.
    let headline = headline.map(|text| text.replace('\u{a0}', " "));
    let described = README.split("![").nth(1).and_then(|rest| rest.split("](").next());
    assert_eq!(described, headline.as_deref());
}

const README: &str = include_str!("../../../README.md");

#[test]
fn tables_tell_what_a_scenario_has_beside_the_main_figures() {
    let folder = folder();
    std::fs::write(
        folder.path().join("air.toml"),
        "duration = \"2s\"\nqdiscs = [\"pfifo limit 100\"]\nlink.down = \"100mbit\"\n[wifi]\nmcs = 7\n\
         [[flows]]\nclient = 1\n[[flows]]\nclient = 2\n[output]\nspikes = [15000]\n",
    )
    .expect("written");
    let printed = stdout(&goodqueue(folder.path(), &["compare", "air.toml", "--wide"]));
    for heading in ["down above 15000 B", "WiFi down", "airtime of station", "loss events", "synchronized"] {
        assert!(printed.contains(heading), "no `{heading}` in\n{printed}");
    }
    let plain = stdout(&goodqueue(folder.path(), &["compare", "--time", "2s", "--qdisc", "pfifo"]));
    assert!(!plain.contains("above") && !plain.contains("WiFi") && !plain.contains("airtime"), "{plain}");
}

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

#[cfg(target_os = "linux")]
#[test]
fn shape_without_a_place_names_both_that_it_knows() {
    let output = goodqueue(folder().path(), &["shape"]);
    assert_eq!(output.status.code(), Some(2));
    let says = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(says.contains("--between") && says.contains("--before"), "{says}");
}

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
        (vec!["compare", "--packets", "a.pcap"], ".csv, .parquet, .pcapng, .jsonl or .jsonl.gz"),
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
    assert_eq!(run["qdisc_resolved"].as_str().map(|line| line.contains("quantum 1514")), Some(true));
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

#[test]
fn a_claim_of_a_paper_is_tried_with_the_runs_that_it_needs() {
    let folder = folder();
    let args = ["reproduce", "jk-table2-codel-1+1", "rfc7928-12", "--json", "claims.json"];
    let output = goodqueue(folder.path(), &args);
    let text = stdout(&output);
    assert!(text.contains("jk-table2-codel-1+1") && text.contains("reproduced"), "{text}");
    let json = std::fs::read_to_string(folder.path().join("claims.json")).expect("written");
    let json: Value = serde_json::from_str(&json).expect("JSON");
    let claims = json["claims"].as_array().expect("claims");
    for claim in claims {
        for key in ["id", "paper", "kind", "expected", "got", "verdict"] {
            assert!(claim.get(key).is_some(), "{key} of {claim}");
        }
    }
    assert_eq!(claims[0]["expected"], 0.09);
    assert_eq!((&claims[1]["verdict"], &claims[1]["got"]), (&Value::from("not run"), &Value::Null));
    let runs =
        std::fs::read_dir(folder.path().join("goodqueue-results/runs")).expect("runs are kept").count();
    assert_eq!(runs, 400, "one cell of the table, and all of its replications");
    let again = goodqueue(folder.path(), &args);
    assert_eq!(stdout(&again), text);
}

#[test]
fn a_discipline_that_is_given_stands_the_guidelines_instead_of_those_listed() {
    let folder = folder();
    let own = folder.path().join("papers/own");
    std::fs::create_dir_all(&own).expect("made");
    let scenario = "duration = \"2s\"\nqdiscs = [\"pfifo\", \"codel\"]\nflows = 1\n";
    std::fs::write(own.join("load.toml"), scenario).expect("written");
    let claims = "name = \"own\"\ntitle = \"Own\"\nsource = \"none\"\naqm = [\"codel\"]\n\
        [[metrics]]\nname = \"goodput\"\nof = \"mean(goodput.down)\"\nunit = \"Mbit/s\"\nscale = 1e-6\n\
        [[experiments]]\nname = \"load\"\nscenario = \"load.toml\"\n\
        [[claims]]\nid = \"own-1\"\nkind = \"own\"\nsays = \"more\"\n\
        check = \"mean(goodput.down)[{aqm}@load] > mean(goodput.down)[pfifo@load] / 2\"\n";
    std::fs::write(own.join("claims.toml"), claims).expect("written");
    let given = "tbf rate 5mbit burst 5000 [fq_codel]";
    let args = ["reproduce", "--papers", "papers", "--qdisc", given, "--qdisc", "pie", "--json", "out.json"];
    let text = stdout(&goodqueue(folder.path(), &args));
    assert!(text.contains("Mbit/s") && !text.contains(" codel "), "{text}");
    for label in ["pfifo", "pie", "tbf rate 5mbit burst 5000 (fq_codel)"] {
        assert!(text.contains(&format!(" load  {label} ")), "{label}: {text}");
    }
    assert!(refusal(&["reproduce", "jk", "--qdisc", "pie"]).contains("ask `rfc7928`"));
    assert!(refusal(&["reproduce", "rfc7928", "--qdisc", "piee"]).contains("did you mean"));
}

#[test]
fn papers_of_ones_own_are_reproduced_and_reported() {
    let folder = folder();
    let own = folder.path().join("papers/own");
    std::fs::create_dir_all(&own).expect("made");
    std::fs::write(own.join("load.toml"), "duration = \"2s\"\nqdiscs = [\"codel\", \"pfifo\"]\nflows = 1\n")
        .expect("written");
    let claims = "name = \"own\"\ntitle = \"Own\"\nsource = \"none\"\n\
        [[experiments]]\nname = \"load\"\nscenario = \"load.toml\"\n\
        [[claims]]\nid = \"own-1\"\nkind = \"order\"\nsays = \"more\"\n\
        check = \"mean(goodput.down)[codel@load] > 1mbit\"\n\
        [[figures]]\nid = \"Fig. 1\"\ntitle = \"CDF\"\nform = \"cdf\"\ncells = [\"{codel,pfifo}@load\"]\n\
        of = [\"details.sojourn_s.down\"]\naxes = [\"s\", \"share\"]\n";
    std::fs::write(own.join("claims.toml"), claims).expect("written");
    let output = goodqueue(folder.path(), &["reproduce", "--papers", "papers", "--report", "own.html"]);
    assert!(stdout(&output).contains("own: 1 of 1 claims reproduced"));
    let page = std::fs::read_to_string(folder.path().join("own.html")).expect("a report");
    assert!(page.contains("<svg") && page.contains("own-1") && !page.contains("<script"));
    std::fs::write(own.join("claims.toml"), claims.replace("goodput.down", "goodput")).expect("written");
    assert!(refusal_in(folder.path(), &["reproduce", "--papers", "papers"]).contains("own-1"));
}

#[test]
fn lists_are_for_people_and_for_programs() {
    let folder = folder();
    for what in ["qdiscs", "tcps", "profiles", "scenarios", "claims"] {
        assert!(stdout(&goodqueue(folder.path(), &["list"])).contains(&format!("goodqueue list {what} ")));
        assert!(!stdout(&goodqueue(folder.path(), &["list", what])).is_empty());
        let output = goodqueue(folder.path(), &["list", what, "--json", "-"]);
        let list: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert!(
            list.as_array()
                .is_some_and(|list| !list.is_empty() && list.iter().all(|entry| entry["name"].is_string()))
        );
    }
    let short = stdout(&goodqueue(folder.path(), &["list", "qdiscs"]));
    assert!(short.lines().count() < 45 && short.contains("goodqueue list qdiscs codel"), "{short}");
    assert!(stdout(&goodqueue(folder.path(), &["list", "qdiscs", "codel"])).contains("  interval "));
    let output = goodqueue(folder.path(), &["list", "qdiscs", "--json", "-"]);
    let qdiscs: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    for qdisc in qdiscs.as_array().expect("an array") {
        for parameter in qdisc["parameters"].as_array().expect("an array") {
            for field in ["name", "unit", "default", "source", "doc"] {
                assert!(
                    parameter[field].as_str().is_some_and(|text| !text.is_empty()),
                    "{parameter}: {field}"
                );
            }
        }
    }
}

#[test]
fn every_discipline_has_a_page_with_the_seven_headings() {
    let folder = folder();
    let short = stdout(&goodqueue(folder.path(), &["list", "qdiscs"]));
    assert!(short.lines().count() < 45 && short.contains("goodqueue list qdiscs codel"), "{short}");
    assert!(stdout(&goodqueue(folder.path(), &["list", "qdiscs", "codel"])).contains("  interval "));
    let output = goodqueue(folder.path(), &["list", "qdiscs", "--json", "-"]);
    let qdiscs: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    for qdisc in qdiscs.as_array().expect("an array") {
        let name = qdisc["name"].as_str().expect("a name");
        let page = stdout(&goodqueue(folder.path(), &["explain", name]));
        for heading in ["What it does", "Reference", "State", "Parameters", "Deviations", "Cost", "Example"] {
            assert!(page.contains(&format!("\n# {heading}\n")), "{name} has no heading `{heading}`");
        }
    }
}

#[test]
fn the_list_of_deviations_is_that_of_the_pages() {
    // If this fails: make deviations
    let printed = stdout(&goodqueue(folder().path(), &["explain", "--deviations"]));
    assert!(printed == include_str!("../../../docs/DEVIATIONS.md"), "docs/DEVIATIONS.md is stale");
}

#[test]
fn the_scenario_format_is_explained_as_the_book_has_it() {
    // If this fails, run `make deviations`.
    let printed = stdout(&goodqueue(folder().path(), &["explain", "scenario"]));
    assert!(printed == include_str!("../../../docs/scenarios.md"), "docs/scenarios.md is stale");
}

#[test]
fn every_command_of_the_tutorial_runs() {
    let tutorial = include_str!("../../../docs/tutorial.md");
    let folder = folder();
    let block = |language: &str| {
        let opening = format!("```{language}\n");
        tutorial.split(&opening).skip(1).filter_map(|rest| rest.split("```").next()).collect::<Vec<_>>()
    };
    std::fs::write(folder.path().join("home.toml"), block("toml").concat()).expect("written");
    let commands: Vec<&str> = block("sh").into_iter().flat_map(str::lines).collect();
    assert!(commands.len() > 10);
    for line in commands {
        let output = goodqueue(folder.path(), &words(line)[1..]);
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// Returns the words of a command line. Single quotes hold words together.
fn words(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for (number, part) in line.split('\'').enumerate() {
        if number % 2 == 1 {
            words.push(part);
        } else {
            words.extend(part.split_whitespace());
        }
    }
    words
}

#[test]
fn replay_prints_fates_and_compares_them() {
    let folder = folder();
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
    error: --explain: only 372 packets arrived at the bottleneck
      allowed: 0 to 371, counted over both directions as in --packets
    error: --explain: none of the 372 packets was marked
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

#[test]
fn an_output_that_cannot_be_written_is_refused_before_any_work() {
    for (option, targets) in
        [("--json", ["missing/results.json", "."]), ("--report", ["missing/r.html", "r.html/"])]
    {
        for target in targets {
            let said = refusal(&["compare", option, target]);
            assert!(said.starts_with(&format!("error: {option}: `{target}` cannot be written")), "{said}");
        }
    }
}

#[test]
fn a_closed_pipe_is_no_error() {
    let command = format!("{} compare --time 1s | true", env!("CARGO_BIN_EXE_goodqueue"));
    let output = Command::new("sh").args(["-c", &command]).output().expect("it starts");
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn bad_arguments_are_answered_with_where_what_and_what_next() {
    let said = [
        refusal(&["compare", "--qdisc", "fqcodel"]),
        refusal(&["compare", "--qdisc", "codel target 5 mss"]),
        refusal(&["compare", "--qdisc", "codel target 5parsec"]),
        refusal(&["compare", "--qdisc", "pfifo limit 0"]),
        refusal(&["compare", "--rate", "10mbps"]),
        refusal(&["compare", "--rate", "0mbit"]),
        refusal(&["compare", "--rate", "NaN"]),
        refusal(&["compare", "--rtt", "-5ms"]),
        refusal(&["compare", "--rtt", "--time", "5s"]),
        refusal(&["compare", "--time", "60"]),
        refusal(&["compare", "--flows", "-3"]),
        refusal(&["run", "rrul-10-2"]),
        refusal(&["list", "qdiscs", "codle"]),
    ];
    insta::assert_snapshot!(without_lists_that_grow(&said));
}

#[test]
fn bad_files_are_answered_with_line_and_column() {
    let folder = folder();
    for (name, text) in [
        ("empty.trace", ""),
        ("decreasing.trace", "5\n3\n"),
        ("words.trace", "1\nfast\n"),
        ("typo.toml", "[link]\ndwon = \"10mbit\"\n"),
        ("broken.toml", "duration = \n"),
        ("broken.jsonl", "{}\n[\"A\", 0]\n"),
    ] {
        std::fs::write(folder.path().join(name), text).expect("written");
    }
    let said = |args: &[&str]| refusal_in(folder.path(), args);
    let all = [
        said(&["compare", "--trace-down", "missing.trace"]),
        said(&["compare", "--trace-down", "empty.trace"]),
        said(&["compare", "--trace-down", "decreasing.trace"]),
        said(&["compare", "--trace-up", "words.trace"]),
        said(&["run", "typo.toml"]),
        said(&["run", "broken.toml"]),
        said(&["replay", "broken.jsonl", "--qdisc", "pfifo", "--rate", "1mbit"]),
    ];
    insta::assert_snapshot!(without_lists_that_grow(&all));
    assert!(
        !folder.path().join("goodqueue-results").exists(),
        "nothing is written before all input is known to be good"
    );
}

/// Removes the lists of disciplines and scenarios from messages, because they grow.
fn without_lists_that_grow(messages: &[String]) -> String {
    let shorter = |line: &str| {
        let grows = ["pfifo_head_drop", "rrul-10-10"].iter().any(|entry| line.contains(entry));
        if line.starts_with("  allowed: ") && grows { "  allowed: ..." } else { line }.to_owned()
    };
    let message = |message: &String| message.lines().map(shorter).collect::<Vec<_>>().join("\n");
    messages.iter().map(message).collect::<Vec<_>>().join("\n\n")
}

#[test]
fn errors_in_the_arguments_have_the_form_of_all_others() {
    let said = [
        refusal(&["compare", "--qdsic", "codel"]),
        refusal(&["comapre"]),
        refusal(&["compare", "--jobs", "0"]),
        refusal(&["compare", "--live", "--both"]),
        refusal(&["replay"]),
        refusal(&["list", "foo"]),
        refusal(&["compare", "--qdisc"]),
        refusal(&["compare", "rrul", "voip"]),
    ];
    insta::assert_snapshot!(said.join("\n"), @r"
    error: `goodqueue compare` has no option `--qdsic`
      help: did you mean `--qdisc`?
    error: there is no command `comapre`
      allowed: advise, compare, run, reproduce, replay, validate, list, explain, schema, shell, shape, stats, top, completions, man
      help: did you mean `compare`?
    error: --jobs: `0` is out of range
      allowed: 1 to 1024
    error: `--live` cannot be used with `--both`
      help: omit one of them
    error: `goodqueue replay` needs <FILE>...
      help: `goodqueue replay --help` describes the arguments
    error: argument: `foo` is not one of its values
      allowed: qdiscs, tcps, profiles, scenarios, links, claims
    error: --qdisc: its value is missing
      help: give one, as in `--qdisc <TC>`
    error: `goodqueue compare` takes no further argument, but there is `voip`
      help: `goodqueue compare --help` describes the arguments
    ");
}

#[test]
fn help_wraps_at_the_terminal_but_leaves_examples_whole() {
    let output = Command::new(env!("CARGO_BIN_EXE_goodqueue"))
        .args(["compare", "--help"])
        .env("COLUMNS", "60")
        .output()
        .expect("it starts");
    let help = String::from_utf8(output.stdout).expect("text");
    let (options, examples) = help.split_once("\nExamples:\n").expect("examples");
    assert!(options.contains("\nReal packets:\n"), "the options are in groups:\n{options}");
    assert!(examples.lines().all(|line| line.starts_with("  goodqueue compare")), "{examples}");
    assert!(examples.lines().any(|line| line.len() > 60), "{examples}");
    assert!(!help.contains('\u{a0}'), "examples can be pasted");
}

#[test]
fn the_help_of_commands_with_many_options_is_in_groups() {
    for (command, group) in [
        ("compare", "Real packets"),
        ("run", "Runs and results"),
        ("advise", "Your line"),
        ("replay", "Results"),
        ("reproduce", "Experiments"),
        ("shell", "While it runs"),
        ("shape", "Taking over an interface"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_goodqueue")).args([command, "--help"]).output();
        let help = String::from_utf8(output.expect("it starts").stdout).expect("text");
        assert!(help.contains(&format!("\n{group}:\n")), "{command}:\n{help}");
        let ungrouped = help.split_once("\nOptions:\n").map_or("", |(_, rest)| rest);
        let ungrouped = ungrouped.split("\n\n\n").next().unwrap_or_default();
        let first = ungrouped.lines().take_while(|line| line.is_empty() || line.starts_with(' '));
        let count = first.filter(|line| line.trim_start().starts_with('-')).count();
        assert!(count <= 5, "{command} has {count} options in no group:\n{help}");
    }
}
