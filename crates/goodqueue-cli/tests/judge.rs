//! Queues in other programs, judged by recordings of the kernel, and the page of the book about it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

#[test]
fn the_page_shows_the_program_and_its_first_difference() {
    let folder = tempfile::tempdir().expect("a folder");
    let exported = goodqueue(folder.path(), &["--export", "arrivals.csv"]);
    assert!(exported.status.success(), "{}", stderr(&exported));
    let source = examples().join("codel.c");
    let decided = decisions(folder.path(), &source);
    fs::write(folder.path().join("decisions.csv"), decided).expect("written");
    let judged = goodqueue(folder.path(), &["--decisions", "decisions.csv"]);
    assert_eq!(judged.status.code(), Some(1), "{}", stderr(&judged));

    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/judge.md");
    let kept = fs::read_to_string(&page).expect("the page");
    let code = fs::read_to_string(source).expect("the program");
    let (before, link) = code.split_once("// Your queue ends here.\n").expect("an end");
    let queue = before.split_once("// Your queue begins here.\n").expect("a begin").1;
    let mut fresh = kept.clone();
    for (name, language, text) in [
        ("exported", "text", &*stdout(&exported)),
        ("queue", "c", queue),
        ("link", "c", link.trim_start()),
        ("difference", "text", stdout(&judged).trim_end()),
    ] {
        fresh = with_block(&fresh, name, &format!("```{language}\n{}\n```\n", text.trim_end()));
    }
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&page, &fresh).expect("written");
    } else {
        assert!(kept == fresh, "docs/judge.md is stale: UPDATE=1 cargo test -p goodqueue-cli --test judge");
    }
}

#[test]
fn the_decisions_of_the_kernel_are_equal_and_a_missing_mark_is_a_difference() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    // `replay` without options decides as the kernel did.
    let replayed = replay(folder, "codel_ecn", &[]);
    let header: serde_json::Value =
        serde_json::from_str(stdout(&replayed).lines().next().expect("a header")).expect("JSON");
    let origin = header["t_start_ns"].as_u64().expect("a time");
    let lines: Vec<String> = stdout(&replayed)
        .lines()
        .skip(1)
        .map(|line| {
            let row: serde_json::Value = serde_json::from_str(line).expect("a row");
            let fate = match row[0].as_str() {
                Some("D") => "dropped",
                // CE has both bits of the ECN field set (RFC 3168 §5).
                _ if row[4].as_u64().expect("a TOS byte") & 3 == 3 => "marked",
                _ => "sent",
            };
            format!("{},{},{fate}\n", row[1].as_u64().expect("a time") + origin, row[2])
        })
        .collect();
    assert!(lines.iter().any(|line| line.ends_with("marked\n")), "the recording has marks");
    let judge = |lines: &[String]| {
        fs::write(folder.join("mine.csv"), format!("t_ns,packet,fate\n{}", lines.concat())).expect("written");
        replay(folder, "codel_ecn", &["--decisions", "mine.csv"])
    };
    let equal = judge(&lines);
    assert_eq!(equal.status.code(), Some(0), "{}{}", stdout(&equal), stderr(&equal));
    assert!(stdout(&equal).starts_with("equal: all "), "{}", stdout(&equal));
    let unmarked: Vec<String> = lines.iter().map(|line| line.replace("marked", "sent")).collect();
    let differs = judge(&unmarked);
    assert_eq!(differs.status.code(), Some(1));
    assert!(stdout(&differs).contains("bytes, CE) leaves"), "{}", stdout(&differs));
    let short = judge(&lines[..lines.len() - 1]);
    assert_eq!(short.status.code(), Some(1), "{}", stdout(&short));
}

#[test]
fn a_wrong_file_of_decisions_is_named_with_its_line() {
    let folder = tempfile::tempdir().expect("a folder");
    for (text, said) in [
        ("time,packet,fate\n", "mine.csv:1:1: the first line is not the heading"),
        ("t_ns,packet,fate\n1,2\n", "mine.csv:2:1: `1,2` has 2 of 3 fields"),
        ("t_ns,packet,fate\n10220206,0,left\n", "mine.csv:2:1: `left` is not a fate"),
        ("t_ns,packet,fate\n10220206,999999,sent\n", "packet 999999 did not arrive"),
        ("t_ns,packet,fate\n1,0,sent\n", "1 ns is before the recording"),
        ("t_ns,packet,fate\n-1,0,sent\n", "is not a time in ns"),
    ] {
        fs::write(folder.path().join("mine.csv"), text).expect("written");
        let refused = goodqueue(folder.path(), &["--decisions", "mine.csv"]);
        assert_eq!(refused.status.code(), Some(2), "{text}");
        assert!(stderr(&refused).contains(said), "{text}: {}", stderr(&refused));
    }
}

/// Compiles a program with a queue, feeds the arrivals to it, and returns its decisions.
fn decisions(folder: &Path, source: &Path) -> Vec<u8> {
    let program = folder.join("codel");
    let compiled = Command::new("cc")
        .args(["-std=c99", "-O2", "-Wall", "-Wextra", "-Werror"])
        .arg(source)
        .arg("-o")
        .arg(&program)
        .arg("-lm")
        .output()
        .expect("a compiler");
    assert!(compiled.status.success(), "{}", stderr(&compiled));
    let arrivals = File::open(folder.join("arrivals.csv")).expect("exported");
    let output =
        Command::new(program).arg("10000000").stdin(Stdio::from(arrivals)).output().expect("it starts");
    assert!(output.status.success());
    output.stdout
}

fn goodqueue(folder: &Path, options: &[&str]) -> Output {
    replay(folder, "codel_default", options)
}

fn replay(folder: &Path, recording: &str, options: &[&str]) -> Output {
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../goodqueue-testkit/recordings");
    Command::new(env!("CARGO_BIN_EXE_goodqueue"))
        .arg("replay")
        .arg(recordings.join(recording).with_extension("jsonl.gz"))
        .args(options)
        .current_dir(folder)
        .output()
        .expect("it starts")
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/judge")
}

fn with_block(page: &str, name: &str, block: &str) -> String {
    let begin = format!("<!-- {name} -->\n");
    let (before, rest) = page.split_once(&begin).unwrap_or_else(|| panic!("the page has no {begin}"));
    let after = rest.split_once("<!-- end -->").expect("an end").1;
    format!("{before}{begin}{block}<!-- end -->{after}")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
