//! A running bottleneck changes to your discipline.
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

#[test]
fn a_control_line_changes_a_running_bottleneck_to_ramp() {
    let socket = Path::new(env!("CARGO_TARGET_TMPDIR")).join("control");
    let _ = std::fs::remove_file(&socket);
    let mut program = Command::new(env!("CARGO_BIN_EXE_own-discipline"))
        .args(["shell", "--allow-root", "--rate", "10mbit", "--qdisc", "codel", "--control"])
        .arg(&socket)
        .args(["--", "cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("started");
    let client = loop {
        if let Ok(client) = UnixStream::connect(&socket) {
            break client;
        }
        if let Some(status) = program.try_wait().expect("a child") {
            eprintln!("skipped: no live bottleneck here ({status})");
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    (&client).write_all(b"qdisc down ramp min 2ms\n").expect("sent");
    let mut answer = String::new();
    BufReader::new(&client).read_line(&mut answer).expect("answered");
    assert!(answer.contains("ramp min 2ms max 100ms"), "{answer}");
    drop(program.stdin.take());
    assert!(program.wait().expect("a child").success());
}
