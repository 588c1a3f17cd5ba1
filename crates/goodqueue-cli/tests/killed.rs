//! `kill -9` of `run` at any moment: the same command then finishes the work with the same bytes,
//! and leaves no other files.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use goodqueue::random::mix_64;
use tempfile::TempDir;

/// Eight short runs.
const SWEEP: &str = r#"
duration = "1s"
qdiscs = ["pfifo", "codel"]
flows = 2
seeds = 2
link.down = "2mbit"
[sweep]
"link.up" = ["1mbit", "2mbit"]
[output]
json = "own.json"
report = "own.html"
"#;

fn begin(folder: &Path) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_goodqueue"));
    command.args(["run", "sweep.toml", "--out", "out", "--jobs", "2", "--export", "series.csv"]);
    command.current_dir(folder).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn folder() -> TempDir {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("sweep.toml"), SWEEP).unwrap();
    folder
}

/// Returns all files below a folder with their contents.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            found.push((name, fs::read(&path).unwrap()));
        }
    }
    found.sort();
    found
}

/// Counts the files below a folder, while others create and remove some.
fn count(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| if entry.path().is_dir() { count(&entry.path()) } else { 1 }).sum()
}

#[test]
fn a_sweep_that_is_killed_at_any_moment_resumes_and_ends_with_the_same_bytes() {
    let all: u64 = std::env::var("GOODQUEUE_KILLS").map_or(50, |count| count.parse().unwrap());
    let kills = all * 3 / 5;
    let undisturbed = folder();
    assert!(begin(undisturbed.path()).wait().unwrap().success());
    let expected = files(undisturbed.path());
    let mut done = 0;
    while done < kills {
        let folder = folder();
        // Kills several times in a row, because a resumed sweep can be killed, too.
        for _ in 0..(1 + mix_64(done) % 4).min(kills - done) {
            let mut child = begin(folder.path());
            // Once some more files are there: none, some of the runs, or all outputs. And a moment
            // later, because much happens between two files.
            let at_first = count(folder.path());
            // The constant is `kill` in ASCII. It makes this draw independent of the other draws of
            // `done`.
            let more = usize::try_from(mix_64(done ^ 0x6B69_6C6C) % (expected.len() as u64 + 1)).unwrap();
            while count(folder.path()) < at_first + more && child.try_wait().unwrap().is_none() {
                std::thread::sleep(Duration::from_millis(1));
            }
            std::thread::sleep(Duration::from_micros(mix_64(done) % 4000));
            // It may have ended already.
            let _ = child.kill();
            child.wait().unwrap();
            done += 1;
        }
        assert!(begin(folder.path()).wait().unwrap().success());
        let got = files(folder.path());
        let names = |files: &[(String, Vec<u8>)]| files.iter().map(|file| file.0.clone()).collect::<Vec<_>>();
        assert_eq!(names(&got), names(&expected), "after {done} kills");
        assert!(got == expected, "the same files with other contents, after {done} kills");
    }
}
