//! Completions as shells use them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use super::*;

fn script(shell: &str) -> String {
    let output = goodqueue(folder().path(), &["completions", shell]);
    assert!(output.status.success(), "{shell}: {}", said(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// Returns what Bash offers behind these words, as Bash splits them; the last one is completed.
/// `None` without Bash.
fn offered(script: &Path, words: &[&str]) -> Option<Vec<String>> {
    let (last, words_before) = words.split_last().unwrap();
    // Bash passes the value behind a `=` as the current word.
    let current = if *last == "=" { "" } else { last };
    let ask = r#"
        source "$1"; shift
        COMP_WORDS=("${@:3}"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        function=$(complete -p goodqueue | sed 's/.*-F \([^ ]*\).*/\1/')
        "$function" goodqueue "$1" "$2"
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let previous = words_before.last().copied().unwrap_or("goodqueue");
    let output = Command::new("bash")
        .args(["--norc", "-c", ask, "bash"])
        .arg(script)
        .args([current, previous, "goodqueue"])
        .args(words)
        .output()
        .ok()?;
    assert!(output.stderr.is_empty(), "{}", said(&output));
    let offered = String::from_utf8(output.stdout).unwrap();
    let mut offered: Vec<String> = offered.lines().map(str::to_owned).collect();
    offered.sort();
    Some(offered)
}

#[test]
fn shells_complete_commands_options_and_values() {
    for (shell, option) in [("bash", "--fail-if"), ("zsh", "--fail-if"), ("fish", "fail-if")] {
        let script = script(shell);
        assert!(!script.contains("@files@"), "{shell}");
        let names = [
            "compare",
            option,
            "fq_codel",
            "rrul-10-1",
            "induced_latency_s.mean",
            "rfc7928",
            "leo",
            "tcp.cc=cubic",
        ];
        for name in names {
            assert!(script.contains(name), "{shell} does not complete {name}");
        }
    }
    assert_eq!(goodqueue(folder().path(), &["completions", "tcsh"]).status.code(), Some(2));
}

#[test]
fn bash_offers_the_values_of_options_and_arguments() {
    let folder = folder();
    let file = folder.path().join("goodqueue.bash");
    std::fs::write(&file, script("bash")).unwrap();
    for (words, answers) in [
        (&["comp"][..], &["compare", "completions"][..]),
        (&["compare", "--fail"], &["--fail-if"]),
        (&["compare", "--qdisc", "sfq_"], &["sfq_codel", "sfq_pie"]),
        (&["compare", "--qdisc", "=", "sfq_"], &["sfq_codel", "sfq_pie"]),
        (&["shell", "--rate", "1mbit", "--qdisc-up", "dual"], &["dualpi2"]),
        (&["run", "--set", "link.rtt=1ms", "rrul-10-"], &["rrul-10-1", "rrul-10-10"]),
        (&["advise", "40mbit/10mbit", "--link", "wifi"], &["wifi", "wifi-fq"]),
        (&["advise", "--only", "net"], &["networkd", "networkmanager"]),
        (
            &["compare", "--metric", "induced_latency_s.p9"],
            &["induced_latency_s.p95", "induced_latency_s.p99"],
        ),
        (&["compare", "--fail-if", "pi"], &["ping"]),
        (&["reproduce", "rfc"], &["rfc7928"]),
        (&["compare", "--set", "tcp.profile", "=", "linux3"], &["linux314", "linux32"]),
        (&["compare", "--set", "=", "tcp.cc", "=", "newr"], &["newreno", "newreno_ns2"]),
        (&["explain", "scen"], &["scenario"]),
        (&["list", "qdiscs", "fq_p"], &["fq_pie"]),
    ] {
        let Some(offered) = offered(&file, words) else {
            eprintln!("skipped: there is no bash");
            return;
        };
        assert_eq!(offered, answers, "{words:?}");
    }
    // Behind a `=` without a value, all values are offered, and nothing but values.
    let all = offered(&file, &["compare", "--set", "tcp.profile", "="]).unwrap();
    assert!(all.contains(&"linux".to_owned()) && all.contains(&"rfc".to_owned()), "{all:?}");
    assert!(!all.iter().any(|one| one.starts_with("tcp.profile")), "{all:?}");
}

#[test]
fn zsh_and_fish_complete_files_beside_the_names_of_scenarios() {
    let zsh = script("zsh");
    assert!(zsh.contains(r#"{_alternative "names\:name\:(rrul-10-1 "#), "{zsh}");
    assert!(zsh.contains(r#"" "files\:file\:_files"}' \"#), "{zsh}");
    let fish = script("fish");
    let run = fish.lines().find(|line| line.contains("using_subcommand run\" -a \"rrul-10-1 "));
    assert!(run.is_some(), "{fish}");
    let papers = fish.lines().find(|line| line.contains("using_subcommand reproduce\" -f -a"));
    assert!(papers.is_some_and(|line| line.contains("rfc7928")), "{fish}");
    let shell = fish.lines().find(|line| line.contains("using_subcommand shell\" -l scenario"));
    assert!(shell.is_some_and(|line| line.contains(" -r -F -a \"rrul-10-1")), "{shell:?}");
}
