//! Signals that end a sweep.

use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::*;

#[test]
fn a_signal_ends_a_sweep_tidily_and_nothing_is_left_of_unfinished_files() {
    // 128 and the number of the signal, as shells report it.
    for (signal, code) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143), (Signal::SIGHUP, 129)] {
        // Under `nohup` the command goes on, as it should.
        if signal == Signal::SIGHUP && is_ignored(signal) {
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
fn ctrl_c_ends_a_command_that_computes_web_pages_before_its_first_run() {
    let folder = TempDir::new().unwrap();
    let pages: String = (0..20)
        .map(|page| {
            format!(
                "[[flows]]\nkind = \"web\"\npage = {{ size = \"{}mb\", requests = 100000 }}\n",
                900 + page
            )
        })
        .collect();
    fs::write(folder.path().join("s.toml"), format!("duration = \"1s\"\nqdiscs = \"pie\"\n{pages}")).unwrap();
    // The pages are computed after the command has begun to handle the signal.
    let output = interrupted(&folder, |status, _| handles(status, Signal::SIGINT));
    assert_eq!(output.status.code(), Some(130), "{}", said(&output));
    assert!(said(&output).contains("interrupted: 0 finished runs"), "{}", said(&output));
}

#[test]
fn ctrl_c_ends_a_command_that_still_checks_the_points_of_a_sweep() {
    // A shell ignores it for its background jobs. The command heeds it only when the runs begin.
    if is_ignored(Signal::SIGINT) {
        eprintln!("SKIPPED: this process ignores SIGINT, so the command does, too");
        return;
    }
    let folder = TempDir::new().unwrap();
    let rates: Vec<String> = (1..=200).map(|mbit| format!("\"{mbit}mbit\"")).collect();
    let swept = format!("\"link.up\" = [{0}]\n\"link.down\" = [{0}]\n", rates.join(","));
    fs::write(folder.path().join("s.toml"), format!("qdiscs = \"pie\"\n[sweep]\n{swept}")).unwrap();
    // Reading the file takes less than a tenth of a second of CPU time, and all points take many.
    // Twenty ticks are 0.2 s, because `/proc` counts 100 in a second.
    let output = interrupted(&folder, |_, ticks| ticks >= 20);
    let ended_at_once = output.status.signal() == Some(Signal::SIGINT as i32);
    assert!(ended_at_once || output.status.code() == Some(130), "{:?}", output.status);
    assert!(!folder.path().join("goodqueue-results").exists(), "the points had been checked");
}

/// Runs `s.toml` and sends SIGINT as soon as `is_time` holds for `/proc/PID/status` and the CPU
/// time in clock ticks.
fn interrupted(folder: &TempDir, is_time: impl Fn(&str, u64) -> bool) -> Output {
    let mut command = goodqueue(folder.path());
    command.args(["run", "s.toml", "--jobs", "1"]);
    let mut child = command.stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let folder_of_process = format!("/proc/{}", child.id());
    let about = |file: &str| fs::read_to_string(format!("{folder_of_process}/{file}")).unwrap_or_default();
    let ticks = || {
        let numbers = about("stat");
        // The name of the program, in parentheses, may have spaces.
        // The first word behind it is field 3 (the state), so word 11 is field 14, `utime`
        // (proc(5)).
        let user = numbers.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(11));
        user.and_then(|ticks| ticks.parse().ok()).unwrap_or(0)
    };
    let process = Pid::from_raw(child.id().cast_signed());
    while !is_time(&about("status"), ticks()) {
        assert_eq!(child.try_wait().unwrap(), None, "it ended too soon");
        std::thread::yield_now();
    }
    kill(process, Signal::SIGINT).unwrap();
    child.wait_with_output().unwrap()
}

fn handles(status: &str, signal: Signal) -> bool {
    // Bit n - 1 of these masks stands for signal n (proc(5)).
    let mask = u64::from_str_radix(field(status, "SigCgt"), 16).unwrap_or(0);
    mask >> (signal as i32 - 1) & 1 == 1
}

/// Returns the value of a field of `/proc/PID/status`.
fn field<'s>(status: &'s str, name: &str) -> &'s str {
    let lines = status.lines().filter_map(|line| line.split_once(':'));
    lines.filter(|(field, _)| *field == name).map(|(_, value)| value.trim()).next().unwrap_or_default()
}

#[test]
fn a_sweep_outlives_its_terminal_under_nohup() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("s.toml"), SMALL).unwrap();
    let script = "trap '' HUP; goodqueue run s.toml & pid=$!; kill -HUP $pid; wait $pid";
    good(&in_a_shell(folder.path(), script));
}

fn is_ignored(signal: Signal) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = u64::from_str_radix(field(&status, "SigIgn"), 16).unwrap_or(0);
    mask >> (signal as i32 - 1) & 1 == 1
}
