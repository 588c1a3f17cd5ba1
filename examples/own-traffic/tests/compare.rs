//! The program as a user runs it.

use std::path::Path;
use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = env!("CARGO_BIN_EXE_own-traffic");
    Command::new(program).args(arguments).current_dir(folder).output().expect("started")
}

fn stdout(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn refused(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert_eq!(output.status.code(), Some(2));
    String::from_utf8(output.stderr).expect("UTF-8")
}

#[test]
fn a_scenario_file_names_the_controller_and_the_source_and_results_have_every_parameter() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mixed.json");
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("out");
    let path = |path: &Path| path.to_string_lossy().into_owned();
    stdout(&["run", "mixed.toml", "--json", &path(&file), "--out", &path(&out)]);
    let results: String = std::fs::read_to_string(file).expect("written").split_whitespace().collect();
    for part in [
        r#""cc":"aimd""#,
        r#""aimd":{"percent":70}"#,
        r#""kind":"pulse""#,
        r#""every":"500ms""#,
        r#""packets":30"#,
    ] {
        assert!(results.contains(part), "{part} is missing");
    }
}

#[test]
fn the_command_line_names_the_controller_and_sets_its_parameter() {
    let windows = ["10", "90"].map(|percent| {
        let set = format!("tcp.aimd={{percent={percent}}}");
        let qdisc = "pfifo limit 20";
        let arguments = ["compare", "--time", "10s", "--qdisc", qdisc, "--set", "tcp.cc=aimd"];
        stdout(&[&arguments[..], &["--set", &set]].concat())
    });
    assert_ne!(windows[0], windows[1], "the parameter changes the run");
}

#[test]
fn lists_show_the_controller_and_its_parameter() {
    assert!(stdout(&["list", "tcps"]).contains("aimd"));
    assert!(stdout(&["list", "tcps", "aimd"]).contains("percent"));
}

#[test]
fn errors_name_the_values_that_are_allowed() {
    let with = |set: &str| refused(&["compare", "--set", set]);
    let cc = with("tcp.cc=aidm");
    assert!(cc.contains("did you mean `aimd`?"), "{cc}");
    let flows = with("flows=[{kind=\"pulse\", packets=0}]");
    assert!(flows.contains("1 to 10000"), "{flows}");
    let kind = with("flows=[{kind=\"puls\"}]");
    assert!(kind.contains("did you mean `pulse`?"), "{kind}");
    let key = with("flows=[{kind=\"pulse\", evry=\"1s\"}]");
    assert!(key.contains("did you mean `every`?"), "{key}");
}
