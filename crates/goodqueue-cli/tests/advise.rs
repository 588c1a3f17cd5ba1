//! `goodqueue advise` as a user calls it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::process::{Command, Output};

fn goodqueue(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_goodqueue")).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn the_answer_has_today_the_lines_to_set_and_the_improvement() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).display().to_string();
    let json = place("a.json");
    let report = place("a.html");
    let scenario = place("a.toml");
    let out = goodqueue(&[
        "advise",
        "2mbit/1mbit",
        "--link",
        "cable",
        "--device",
        "wan0",
        "--seeds",
        "1",
        "--json",
        &json,
        "--report",
        &report,
        "--scenario",
        &scenario,
    ]);
    assert!(out.status.success(), "{}", text(&out.stderr));
    let said = text(&out.stdout);
    for part in [
        "Today:  pings take",
        "Advice: pings take",
        "tc qdisc replace dev wan0 root ",
        "dev ifb4wan0",
        "option interface 'wan0'",
        "Before you start\n1. Measure now",
        "\n# Undo:\n# tc qdisc del dev wan0 root\n",
        "Other routers: --only luci,",
        "Verified with 5 traffic mixes, each with 1 seed",
    ] {
        assert!(said.contains(part), "`{part}` is not in:\n{said}");
    }
    let advice: serde_json::Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    assert!(advice["today"]["ping_s"].as_f64() > advice["advised"]["ping_s"].as_f64());
    assert!(advice["tried"].as_array().unwrap().len() >= 10);
    let report = std::fs::read_to_string(report).unwrap();
    for part in [
        "2 Mbit/s down, 1 Mbit/s up, cable (DOCSIS)",
        "<h2>What happens today, and with the setting</h2>",
        "<circle class=\"with\"",
        "option interface 'wan0'",
        "<h2>What it costs</h2>",
    ] {
        assert!(report.contains(part), "`{part}` is not in the report:\n{report}");
    }
    let again = goodqueue(&["compare", &scenario, "--time", "6s", "--quiet"]);
    assert!(again.status.success() && text(&again.stdout).contains("today"), "{}", text(&again.stderr));
}

/// The page of the book that shows an output. `UPDATE=1` writes the output into it.
#[test]
fn the_page_of_the_book_shows_the_real_output() {
    let out = goodqueue(&["advise", "16mbit/1mbit", "--link", "dsl", "--quiet"]);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/advise.md");
    let page = std::fs::read_to_string(path).unwrap();
    let (before, rest) = page.split_once("and their effect:\n\n```\n").unwrap();
    let (_, after) = rest.split_once("```\n\n## What you give").unwrap();
    let shown = text(&out.stdout).trim_end().replace('\t', "    ");
    let fresh = format!("{before}and their effect:\n\n```\n{shown}\n```\n\n## What you give{after}");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, fresh).unwrap();
    } else {
        assert_eq!(
            page, fresh,
            "docs/advise.md is stale: UPDATE=1 cargo test -p goodqueue-cli --test advise"
        );
    }
}

/// networkd sets cake only, which is the one discipline with priorities.
#[test]
fn the_setting_of_one_router_can_go_into_a_file() {
    let out = goodqueue(&[
        "advise",
        "2mbit/1mbit",
        "--link",
        "cable",
        "--seeds",
        "1",
        "--diffserv",
        "--quiet",
        "--only",
        "networkd",
    ]);
    assert!(out.status.success() && out.stderr.is_empty(), "{}", text(&out.stderr));
    assert!(text(&out.stdout).starts_with("[CAKE]\nBandwidth="), "{}", text(&out.stdout));
}

#[test]
fn the_help_and_the_book_name_each_kind_of_router() {
    let help = text(&goodqueue(&["advise", "--help"]).stdout);
    let book = include_str!("../../../docs/advise.md");
    for (name, _) in goodqueue_advise::routers() {
        assert!(help.contains(name), "`{name}` is not in:\n{help}");
        assert!(book.contains(&format!("| `{name}` |")), "`{name}` has no row in docs/advise.md");
    }
}

/// What belongs into a file goes to standard output, and what to do before goes to standard error.
#[test]
fn the_steps_before_are_told_beside_the_file() {
    let out = goodqueue(&["advise", "2mbit/1mbit", "--link", "cable", "--seeds", "1", "--only", "routeros"]);
    assert!(out.status.success(), "{}", text(&out.stderr));
    assert!(
        text(&out.stdout).starts_with("/queue type\nadd name=goodqueue-down kind="),
        "{}",
        text(&out.stdout)
    );
    assert!(text(&out.stderr).contains("fasttrack-connection"), "{}", text(&out.stderr));
}

#[test]
fn two_rates_may_stand_apart_and_the_line_may_have_its_everyday_name() {
    let said = |rates: &[&str], link: &str| {
        let arguments = [&["advise"], rates, &["--link", link, "--seeds", "1", "--quiet"]].concat();
        let out = goodqueue(&arguments);
        assert!(out.status.success(), "{}", text(&out.stderr));
        text(&out.stdout)
    };
    assert_eq!(said(&["2mbit", "1mbit"], "docsis"), said(&["2mbit/1mbit"], "cable"));
}

/// A device without end, and a FIFO into which nothing writes.
#[cfg(unix)]
#[test]
fn inputs_without_end_are_refused_soon() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("fifo").display().to_string();
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    for endless in ["/dev/zero", &fifo] {
        for arguments in [
            &["advise", "--link", "dsl", "--flent", endless][..],
            &["advise", "--trace-down", endless, "--trace-up", endless],
        ] {
            let out = goodqueue(arguments);
            let said = text(&out.stderr);
            assert_eq!(out.status.code(), Some(2), "{arguments:?}: {said}");
            assert!(said.starts_with("error: ") && said.contains(endless), "{arguments:?}: {said}");
        }
    }
}

#[test]
fn bad_questions_get_one_clear_error() {
    for (arguments, part) in [
        (&["advise", "40mbit/10mbit"][..], "which kind of line is it?"),
        (&["advise", "--link", "dsl"], "the rates of the line are missing"),
        (&["advise", "40mbit/10mbit", "--link", "dls"], "did you mean `dsl`"),
        (&["advise", "40mbit", "--link", "dsl"], "the rate of the upload is missing"),
        (&["advise", "40mbit", "10", "--link", "dsl"], "10"),
        (&["advise", "40mbit/10mbit", "10mbit", "--link", "dsl"], "both rates already"),
        (&["advise", "40mbit/10mbit", "--link", "dsl", "--ping", "20ms"], "IDLE,LOADED"),
        (&["advise", "40mbit/10mbit", "--link", "dsl", "--ping", "30ms,20ms"], "below the idle ping"),
        (&["advise", "40mbit/10mbit", "--link", "dsl", "--device", "eth0; reboot"], "no network interface"),
        (&["advise", "16mbit/1mbit", "--link", "dsl", "--rtt", "100s"], "--rtt: advice for a base"),
        (&["advise", "16mbit/1mbit", "--link", "dsl", "--rtt", "3601s"], "allowed: up to 3 s"),
        (&["advise", "16mbit/1mbit", "--link", "dsl", "--ping", "4s,5s"], "--ping: advice for a base"),
        (&["advise", "40mbit/10mbit", "--link", "dsl", "--only", "fritzbox"], "no kind of router"),
        (&["advise", "--link", "dsl", "--flent", "Cargo.toml"], "no measurement of a line by Flent"),
        (&["advise", "--link", "dsl", "--flent", "not-here.flent"], "`not-here.flent` cannot be read"),
        (&["advise", "--trace-down", "not-here", "--trace-up", "not-here"], "not-here"),
    ] {
        let out = goodqueue(arguments);
        let said = text(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.starts_with("error: ") && said.contains(part), "{arguments:?}: {said}");
        assert!(out.stdout.is_empty());
    }
}
