//! The command as its users see it: reproducible bytes, errors that tell what to do, and files that
//! appear completely or not at all.

use std::path::Path;
use std::process::{Command, Output};

mod documents;
mod messages;
mod packets;
mod papers;
mod quic;
mod results;
mod tables;

/// Runs `goodqueue` in `folder`.
fn goodqueue(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_goodqueue")).args(args).current_dir(folder).output().expect("it starts")
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Returns the message of a refusal. The exit code must be 2, and nothing else may be printed.
fn refusal(args: &[&str]) -> String {
    let folder = folder();
    refusal_in(folder.path(), args)
}

fn refusal_in(folder: &Path, args: &[&str]) -> String {
    let output = goodqueue(folder, args);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(stdout(&output), "", "{args:?}");
    String::from_utf8_lossy(&output.stderr).trim_end().to_owned()
}
