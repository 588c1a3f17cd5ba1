//! The command in scripts and continuous integration: checks that fail, and what they say.

mod completions;
mod own;

use std::path::Path;
use std::process::{Command, Output};

/// Runs `goodqueue` in `folder`.
fn goodqueue(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_goodqueue")).args(args).current_dir(folder).output().expect("it starts")
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A full queue of 127 packets delays uploads by seconds; fq_codel does not.
const SHORT: &[&str] =
    &["compare", "--quiet", "--time", "10s", "--qdisc", "pfifo limit 127", "--qdisc", "fq_codel"];

#[test]
fn a_check_fails_with_code_1_and_the_values_of_the_disciplines_that_fail() {
    let folder = folder();
    let args = [SHORT, &["--fail-if", "ping.p99 > 200ms", "--fail-if", "goodput.down < 1mbit"]].concat();
    let output = goodqueue(folder.path(), &args);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let said = said(&output);
    assert!(said.starts_with("failed: ping.p99 > 200ms\n  pfifo limit 127: "), "{said}");
    assert!(said.trim_end().ends_with('s') && said.lines().count() == 2, "only pfifo fails: {said}");
    assert!(!output.stdout.is_empty(), "the table is printed all the same");
}

#[test]
fn checks_that_pass_say_nothing() {
    let args = [SHORT, &["--fail-if", "ping.p99 > 10s", "--fail-if", "bottleneck.up.sojourn_s.p50 > 9s"]];
    let output = goodqueue(folder().path(), &args.concat());
    assert_eq!((output.status.code(), said(&output).as_str()), (Some(0), ""));
}

#[test]
fn a_metric_without_a_value_fails_the_check() {
    let output = goodqueue(folder().path(), &[SHORT, &["--fail-if", "voip.mos < 3.5"]].concat());
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("fq_codel: has no such value"), "{}", said(&output));
}

#[test]
fn a_sweep_names_the_points_that_fail() {
    let folder = folder();
    let sweep = r#"
        duration = "5s"
        qdiscs = ["pfifo limit 127"]
        [link]
        up = "1mbit"
        [sweep]
        "link.rtt" = ["10ms", "300ms"]
    "#;
    std::fs::write(folder.path().join("sweep.toml"), sweep).unwrap();
    let args = ["run", "sweep.toml", "--quiet", "--fail-if", "goodput.down < 100mbit"];
    let output = goodqueue(folder.path(), &args);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let said = said(&output);
    assert!(
        said.contains("pfifo limit 127 at link.rtt 10ms: ") && said.contains("link.rtt 300ms: "),
        "{said}"
    );
    // Stored runs are judged as well.
    let args = ["run", "sweep.toml", "--quiet", "--fail-if", "goodput.down < 100kbit"];
    assert_eq!(goodqueue(folder.path(), &args).status.code(), Some(0));
}

#[test]
fn a_condition_that_cannot_be_read_is_refused_before_any_run() {
    for (condition, answer) in [
        ("ping.p99", "allowed: METRIC > VALUE"),
        ("pnig.p99 > 80ms", "there is no metric `pnig.p99`"),
        ("goodput.down < 9", "unit"),
    ] {
        let output = goodqueue(folder().path(), &[SHORT, &["--fail-if", condition]].concat());
        assert_eq!(output.status.code(), Some(2));
        let said = said(&output);
        assert!(said.starts_with("error: --fail-if: ") && said.contains(answer), "{said}");
    }
    let output =
        goodqueue(folder().path(), &["run", "rrul-10-1", "--shard", "1/2", "--fail-if", "ping.p99 > 1s"]);
    assert!(said(&output).contains("add `--fail-if` to the command with `--merge`"), "{}", said(&output));
}

#[test]
fn a_name_never_becomes_a_command_of_a_generated_script() {
    let engines = ["slurm", "hq", "kubernetes", "dask", "parallel"];
    let outer = folder();
    let sweep = "duration = '1s'\nqdiscs = 'pie'\n";
    for name in ["a\ntouch PWN\n#b", "a\rb", "a\u{2028}b", "a\u{2029}b", "a\u{202e}b", "a\u{7f}b", "a\u{85}b"]
    {
        let hostile = outer.path().join(name);
        std::fs::create_dir(&hostile).unwrap();
        std::fs::write(hostile.join("s.toml"), sweep).unwrap();
        let set = format!("flows.0.label={name}");
        let out = outer.path().join(name);
        std::fs::write(outer.path().join("s.toml"), sweep).unwrap();
        // One engine is enough to see that each character is refused.
        let engines = if name.contains("PWN") { &engines[..] } else { &engines[..1] };
        for engine in engines {
            let in_folder = goodqueue(&hostile, &["run", "s.toml", "--submit", engine]);
            let of_option = goodqueue(
                outer.path(),
                &["run", "s.toml", "--submit", engine, "--out", out.to_str().unwrap()],
            );
            let of_value = goodqueue(
                outer.path(),
                &["run", "s.toml", "--submit", engine, "--set", "flows=[{kind='tcp'}]", "--set", &set],
            );
            for (output, what) in
                [(in_folder, "the working directory"), (of_option, "an argument"), (of_value, "")]
            {
                assert_eq!(output.status.code(), Some(2), "{name:?} for {engine}");
                assert!(output.stdout.is_empty(), "{name:?} for {engine}");
                let said = said(&output);
                assert!(said.contains(&format!("the script would contain {what}")), "{said}");
                assert!(said.contains("control characters") && !said.contains(name), "{said:?}");
            }
        }
    }
    let output = goodqueue(outer.path(), &["run", "s.toml", "--out", "it's here", "--submit", "slurm"]);
    assert!(output.status.success(), "{}", said(&output));
    assert!(String::from_utf8_lossy(&output.stdout).contains(r"--out 'it'\''s here'"));
}

#[test]
fn each_command_has_a_manual_page_with_its_examples_line_by_line() {
    let folder = folder();
    let output = goodqueue(folder.path(), &["man", "--out", "share/man1"]);
    assert!(output.status.success(), "{}", said(&output));
    let page = std::fs::read_to_string(folder.path().join("share/man1/goodqueue-compare.1")).unwrap();
    assert!(page.contains("\n\\&  goodqueue compare \\-\\-seeds 10 \\-\\-json results.json\n"), "{page}");
    let main = goodqueue(folder.path(), &["man"]).stdout;
    assert_eq!(main, std::fs::read(folder.path().join("share/man1/goodqueue.1")).unwrap());
}

#[test]
fn the_book_s_check_does_what_the_book_says() {
    let page = include_str!("../../../../docs/ci.md");
    let block = |opening: &str| {
        let (_, rest) = page.split_once(opening).expect("the block is there");
        rest.split("```").next().expect("it ends").to_owned()
    };
    let command = format!("export PATH={}:$PATH\n", folder_of_the_command()) + &block("```sh\n");
    let run = |command: String| Command::new("sh").args(["-c", &command]).output().expect("sh starts");
    let passed = run(command.clone());
    assert_eq!((passed.status.code(), said(&passed).as_str()), (Some(0), ""));
    let failed = run(format!("{} --qdisc 'pfifo limit 127'", command.trim_end()));
    assert_eq!((failed.status.code(), said(&failed)), (Some(1), block("it says:\n\n```\n")));
}

fn folder_of_the_command() -> String {
    Path::new(env!("CARGO_BIN_EXE_goodqueue")).parent().expect("a folder").display().to_string()
}

#[test]
fn the_numbers_of_the_tables_are_explained_on_request() {
    let folder = folder();
    let output = goodqueue(folder.path(), &[SHORT, &["--explain-columns"]].concat());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for explained in
        ["\nGoodput [Mbit/s]\n  down ", "\nGrade\n  A+ to F ", "  events per flow    loss events of"]
    {
        assert!(text.contains(explained), "{explained} is missing in\n{text}");
    }
}
