//! Sweeps: the table across them, quiet commands, and shards.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod damage;
mod shards;
mod table;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

/// Eight short runs.
const SWEEP: &str = r#"
duration = "1s"
qdiscs = ["pfifo", "codel"]
flows = 2
seeds = 2
link.down = "2mbit"
[sweep]
"link.rtt" = ["10ms", "20ms"]
"#;

fn folder() -> TempDir {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("sweep.toml"), SWEEP).unwrap();
    folder
}

fn goodqueue(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_goodqueue")).args(args).current_dir(folder).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).trim_end().to_owned()
}

/// Runs a command that must succeed, and returns its output.
fn good(folder: &Path, args: &[&str]) -> String {
    let output = goodqueue(folder, args);
    assert!(output.status.success(), "{args:?}: {}", said(&output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs a command that must be refused, and returns the error.
fn refused(folder: &Path, args: &[&str]) -> String {
    let output = goodqueue(folder, args);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {}", said(&output));
    assert!(output.stdout.is_empty(), "{args:?}");
    said(&output)
}
