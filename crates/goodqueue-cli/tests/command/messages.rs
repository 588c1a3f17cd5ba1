//! Help, and what is said about bad input.

use std::process::Command;

use crate::{folder, goodqueue, refusal, refusal_in};

#[cfg(target_os = "linux")]
#[test]
fn shape_without_a_place_names_both_that_it_knows() {
    let output = goodqueue(folder().path(), &["shape"]);
    assert_eq!(output.status.code(), Some(2));
    let says = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(says.contains("--between") && says.contains("--before"), "{says}");
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
fn values_that_an_error_allows_are_accepted() {
    let said = refusal(&["compare", "--seed", "-1"]);
    assert!(said.contains("a whole number from 0 to 18446744073709551614"), "{said}");
    let most = ["compare", "--time", "1s", "--qdisc", "pfifo", "--seed", "18446744073709551614"];
    assert!(goodqueue(folder().path(), &most).status.success());
    let said = refusal(&["compare", "--flows", "1.5"]);
    assert!(said.contains("a whole number from 0 to ") && !said.contains("[[flows]]"), "{said}");
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
        refusal(&["reproduce", "jk", "--verdicts", "x.json"]),
    ];
    insta::assert_snapshot!(said.join("\n"), @r"
    error: `goodqueue compare` has no option `--qdsic`
      help: did you mean `--qdisc`?
    error: there is no command `comapre`
      allowed: advise, compare, run, reproduce, replay, validate, list, explain, schema, shell, shape, stats, top, new-aqm, completions, man
      help: did you mean `compare`?
    error: --jobs: `0` is out of range
      allowed: 1 to 1024
    error: `--live` cannot be used with `--both`
      help: omit one of them
    error: `goodqueue replay` needs <FILE>...
      help: `goodqueue replay --help` describes the arguments
    error: argument: `foo` is not one of its values
      allowed: qdiscs, tcps, profiles, scenarios, links, papers, claims
    error: --qdisc: its value is missing
      help: give one, as in `--qdisc <TC>`
    error: `goodqueue compare` takes no further argument, but there is `voip`
      help: `goodqueue compare --help` describes the arguments
    error: `[PAPER or CLAIM-ID]...` cannot be used with `--verdicts`
      help: omit one of them
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
