//! Files of a live bottleneck, and files of the user that it must not touch.

use super::*;

/// Returns the message of a refusal. The program must not have run.
fn refusal(folder: &TempDir, options: &[&str]) -> String {
    let ran = folder.path().join("ran");
    let mut command = goodqueue();
    command.args(["shell", "--quiet"]).args(options).arg("--").arg("touch").arg(&ran);
    let output = command.current_dir(folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(!ran.exists());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_file_where_a_socket_should_be_is_kept() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("notes");
    std::fs::write(&path, "of the user").unwrap();
    for option in ["--control", "--metrics"] {
        let said = refusal(&folder, &[option, "./notes"]);
        assert!(said.contains("`./notes` exists and is not a socket"), "{said}");
        assert!(said.contains(&format!("choose another path for {option}")), "{said}");
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "of the user");
}

#[test]
fn the_metrics_socket_is_served_by_one_bottleneck_and_removed_with_it() {
    if skipped("the_metrics_socket_is_served_by_one_bottleneck_and_removed_with_it") {
        return;
    }
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("metrics");
    let options = ["--metrics", path.to_str().unwrap()];
    let mut killed = control::Running::start(&options, &["cat"]);
    let said = refusal(&folder, &options);
    assert!(said.contains("another program listens at"), "{said}");
    killed.child.kill().unwrap();
    killed.child.wait().unwrap();
    assert!(path.exists(), "a killed process cannot remove its socket");
    let next = control::Running::start(&options, &["cat"]);
    assert!(UnixStream::connect(&path).is_ok());
    assert_eq!(next.end().0, 0);
    assert!(!path.exists());
}

#[test]
fn an_earlier_recording_is_kept() {
    let folder = TempDir::new().unwrap();
    for name in ["run.pcapng", "run.down.jsonl"] {
        std::fs::write(folder.path().join(name), "recorded before").unwrap();
    }
    for options in [["--pcap", "run.pcapng"], ["--record", "run.jsonl"]] {
        let said = refusal(&folder, &options);
        assert!(said.contains("exists, and a recording replaces no file"), "{said}");
        assert!(said.contains(options[0]) && said.contains("choose a new name"), "{said}");
    }
    for name in ["run.pcapng", "run.down.jsonl"] {
        assert_eq!(std::fs::read_to_string(folder.path().join(name)).unwrap(), "recorded before");
    }
}

#[test]
fn packets_are_not_written_to_where_a_symbolic_link_leads() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("target"), "kept").unwrap();
    for link in ["run.pcapng", "run.up.jsonl"] {
        std::os::unix::fs::symlink("target", folder.path().join(link)).unwrap();
    }
    for options in [["--pcap", "run.pcapng"], ["--record", "run.jsonl"]] {
        let said = refusal(&folder, &options);
        assert!(said.contains("is a symbolic link"), "{said}");
    }
    assert_eq!(std::fs::read_to_string(folder.path().join("target")).unwrap(), "kept");
}

#[test]
fn packets_are_carried_on_when_nobody_can_read_messages() {
    if skipped("packets_are_carried_on_when_nobody_can_read_messages") {
        return;
    }
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let (reader, closed) = std::io::pipe().unwrap();
    drop(reader);
    for stderr in [Stdio::from(full), Stdio::from(closed)] {
        // The capture ends at once with a message.
        let mut command = shell(&["--rate", "20mbit", "--pcap", "/dev/full"], "fetch 300000");
        assert_eq!(command.stderr(stderr).status().unwrap().code(), Some(INCOMPLETE));
    }
}

#[test]
fn a_sweep_and_a_server_that_fails_are_told() {
    if skipped("a_sweep_and_a_server_that_fails_are_told") {
        return;
    }
    let said = |options: &[&str]| {
        let output = goodqueue().arg("shell").args(options).args(["--", "sleep", "0.2"]).output().unwrap();
        assert!(output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let sweep = said(&["--scenario", "upload-sweep"]);
    assert!(sweep.contains("remark: the sweep over `link.up` has no effect here"), "{sweep}");
    let chosen = said(&["--scenario", "upload-sweep", "--set", "link.up=1mbit"]);
    assert!(!chosen.contains("sweep"), "{chosen}");
    let failed = said(&["--quiet", "--serve", "exit 3"]);
    assert_eq!(failed.trim_end(), "error: the server of --serve ended with exit code 3");
    assert_eq!(said(&["--quiet", "--serve", "true"]), "");
}

#[test]
fn an_incomplete_capture_is_an_error_after_the_program() {
    if skipped("an_incomplete_capture_is_an_error_after_the_program") {
        return;
    }
    let options = ["--quiet", "--rate", "20mbit", "--pcap", "/dev/full"];
    let output = run(shell(&options, "fetch 300000"));
    assert_eq!(output.status.code(), Some(INCOMPLETE));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("error: `/dev/full` is incomplete: No space left on device"), "{said}");
    // The code of a program that failed comes first.
    let output = run(shell(&options, "fail"));
    assert!(![Some(0), Some(INCOMPLETE)].contains(&output.status.code()), "{:?}", output.status);
}

/// Exit code of a command whose capture ended too early. A test program that fails has another one.
pub(super) const INCOMPLETE: i32 = 2;
