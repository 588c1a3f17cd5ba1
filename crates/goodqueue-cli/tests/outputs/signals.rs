//! Signals that end a sweep.

use std::process::Stdio;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::*;

#[test]
fn a_signal_ends_a_sweep_tidily_and_nothing_is_left_of_unfinished_files() {
    for (signal, code) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143), (Signal::SIGHUP, 129)] {
        // Under `nohup` the command goes on, as it should.
        if signal == Signal::SIGHUP && hangups_are_ignored() {
            continue;
        }
        let folder = TempDir::new().unwrap();
        let long = SMALL.replace("\"1s\"", "\"2000s\"");
        fs::write(folder.path().join("s.toml"), format!("{long}seeds = 50\n")).unwrap();
        let args = ["run", "s.toml", "--jobs", "1", "--packets", "p.csv"];
        let child = goodqueue(folder.path()).args(args).stderr(Stdio::piped()).spawn().unwrap();
        let process = Pid::from_raw(child.id().cast_signed());
        // The sweep has begun once its folder exists.
        while !folder.path().join("goodqueue-results/runs").exists() {
            std::thread::yield_now();
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
        kill(process, signal).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", said(&output));
        assert!(said(&output).contains("repeat the command to resume"), "{}", said(&output));
        assert!(names(folder.path()).iter().all(|name| !name.starts_with('.')), "{:?}", names(folder.path()));
    }
}

#[test]
fn a_sweep_outlives_its_terminal_under_nohup() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("s.toml"), SMALL).unwrap();
    let script = "trap '' HUP; goodqueue run s.toml & pid=$!; kill -HUP $pid; wait $pid";
    good(&in_a_shell(folder.path(), script));
}

fn hangups_are_ignored() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}
