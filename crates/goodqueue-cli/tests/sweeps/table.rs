//! The table across a sweep.

use super::*;

#[test]
fn a_sweep_prints_one_metric_with_points_as_rows_and_disciplines_as_columns() {
    let folder = folder();
    let printed = good(folder.path(), &["run", "sweep.toml", "--metric", "goodput.down"]);
    let (values, differences) = printed.split_once("Difference from pfifo").unwrap();
    for table in [values, differences] {
        let rows = |rtt: &str| table.lines().filter(|line| line.trim_start().starts_with(rtt)).count();
        assert_eq!((rows("10ms"), rows("20ms")), (1, 1), "{printed}");
        assert!(table.contains('±'), "{printed}");
    }
    assert!(values.starts_with("Goodput, down [Mbit/s], higher is better\n"), "{printed}");
    assert!(values.contains("link.rtt") && values.contains("codel"), "{printed}");
    // Without the option it is the latency, and nothing is simulated again.
    let other = goodqueue(folder.path(), &["run", "sweep.toml"]);
    assert!(
        String::from_utf8_lossy(&other.stdout).starts_with("Induced latency, mean [ms], lower is better\n")
    );
    assert!(said(&other).contains("8 of 8 runs had been finished before"));
}

#[test]
fn a_quiet_command_prints_the_table_and_nothing_else() {
    let folder = folder();
    let args = ["run", "sweep.toml", "--quiet"];
    for _ in 0..2 {
        let output = goodqueue(folder.path(), &args);
        assert_eq!(said(&output), "");
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(printed.starts_with("Induced latency") && !printed.contains("sweep.json"), "{printed}");
    }
    assert!(folder.path().join("goodqueue-results/sweep.json").exists());
}

#[test]
fn an_unknown_metric_is_refused_before_any_work() {
    let folder = folder();
    let error = refused(folder.path(), &["run", "sweep.toml", "--metric", "goodput.dwon"]);
    assert!(
        error.contains("there is no metric `goodput.dwon`") && error.contains("`goodput.down`"),
        "{error}"
    );
    assert!(!folder.path().join("goodqueue-results").exists());
}

#[test]
fn several_seeds_compare_the_disciplines_pairwise_in_table_report_and_json() {
    let folder = folder();
    let args = [
        "compare", "--wide", "--time", "1s", "--flows", "1", "--seeds", "3", "--report", "r.html", "--json",
        "r.json",
    ];
    let lines = ["--qdisc", "pfifo", "--qdisc", "codel", "--qdisc", "pie"];
    let printed = good(folder.path(), &[&args[..], &lines].concat());
    let report = fs::read_to_string(folder.path().join("r.html")).unwrap();
    for pair in ["codel − pfifo", "pie − pfifo", "pie − codel"] {
        assert!(printed.contains(pair), "{printed}");
        assert!(report.contains(&format!("<th scope=\"row\">{pair}</th>")), "{pair}");
    }
    let json: serde_json::Value =
        serde_json::from_slice(&fs::read(folder.path().join("r.json")).unwrap()).unwrap();
    let goodput = |run: usize| json["runs"][run]["goodput"]["down"].as_f64().unwrap();
    // pie is the third discipline, pfifo the first, of three seeds each.
    let mean = (0..3).map(|seed| goodput(6 + seed) - goodput(seed)).sum::<f64>() / 3.0;
    let difference = &json["summary"][2]["differences"][0];
    assert_eq!(difference["from"], "pfifo");
    let got = difference["figures"]["goodput.down"]["mean"].as_f64().unwrap();
    assert!((got - mean).abs() <= mean.abs() * 1e-9 + 1e-9, "{got} and {mean}");
    let alone = good(folder.path(), &["compare", "--time", "1s", "--flows", "1", "--qdisc", "pfifo"]);
    assert!(!alone.contains("difference"), "{alone}");
}
