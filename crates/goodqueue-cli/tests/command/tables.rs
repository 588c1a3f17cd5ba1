//! What `compare` and `run` print.

use crate::{folder, goodqueue, stdout};

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
    for (discipline, best) in [("fq_codel ", "A"), ("cake ", "A"), ("red adaptive ", "C")] {
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

/// A modem without an AQM behind the bottleneck, which is the slowest link.
const MODEM: &str = r#"
    duration = "4s"
    qdiscs = ["codel", "cake"]
    link = { down = "50mbit", up = "50mbit" }
    [[hops]]
    name = "modem"
    down = "50mbit"
    up = "2mbit"
    [[flows]]
    kind = "cbr"
    rate = "20mbit"
    direction = "up"
    [[flows]]
    kind = "ping"
"#;

#[test]
fn a_hop_that_drops_packets_is_named_below_the_table_and_in_the_report() {
    let folder = folder();
    std::fs::write(folder.path().join("modem.toml"), MODEM).expect("written");
    let printed = stdout(&goodqueue(folder.path(), &["compare", "modem.toml", "--report", "r.html"]));
    let said = "Beside the bottleneck, `modem` (pfifo limit 1000p) dropped packets up: codel ";
    assert!(printed.contains(said) && printed.contains("%, overlimit), cake "), "{printed}");
    assert!(std::fs::read_to_string(folder.path().join("r.html")).expect("written").contains(said));
    let swept = format!("sweep.\"link.rtt\" = [\"20ms\", \"40ms\"]\n{MODEM}");
    std::fs::write(folder.path().join("modem.toml"), swept).expect("written");
    let printed = stdout(&goodqueue(folder.path(), &["run", "modem.toml", "--out", "kept"]));
    assert!(printed.contains(said), "{printed}");
}
