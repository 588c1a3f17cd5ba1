//! Terminals that hang up, as when their window is closed.

use std::os::unix::fs::OpenOptionsExt;

use nix::fcntl::OFlag;
use nix::pty::{PtyMaster, grantpt, posix_openpt, ptsname_r, unlockpt};

use super::*;

/// A shell that leads the session of a terminal, as in `xterm -e goodqueue shell`.
struct InTerminal {
    child: Child,
    /// The other side of the terminal. Dropping it hangs up.
    terminal: PtyMaster,
    folder: TempDir,
}

impl InTerminal {
    /// Starts it, and waits until its program has created the file `ready`. `with` stands in front
    /// of the command. Returns `None` where that cannot be tested.
    fn start(test: &str, with: &[&str], script: &str) -> Option<Self> {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        // SIGHUP is signal 1, whose bit is the lowest.
        if ignored.is_some_and(|mask| mask & 1 == 1) {
            tell_skipped(test, "this process ignores SIGHUP, and so does all that it starts");
            return None;
        }
        let folder = TempDir::new().unwrap();
        // No other process, of this test or another, may hold the side that hangs up.
        let terminal = posix_openpt(OFlag::O_RDWR | OFlag::O_NOCTTY | OFlag::O_CLOEXEC).unwrap();
        grantpt(&terminal).unwrap();
        unlockpt(&terminal).unwrap();
        let mut inside = std::fs::OpenOptions::new();
        inside.read(true).write(true).custom_flags(OFlag::O_NOCTTY.bits());
        let inside = inside.open(ptsname_r(&terminal).unwrap()).unwrap();
        let mut command = Command::new("setsid");
        command.arg("--ctty").args(with).arg(env!("CARGO_BIN_EXE_goodqueue"));
        command.args(["shell", "--quiet", "--control", "q.sock", "--", "sh", "-c", script]);
        command.current_dir(folder.path());
        command.stdin(inside.try_clone().unwrap()).stdout(inside.try_clone().unwrap()).stderr(inside);
        let child = match command.spawn() {
            Ok(child) => child,
            Err(error) => {
                tell_skipped(test, &format!("setsid: {error}"));
                return None;
            }
        };
        // Only the child holds the terminal's inner side now.
        drop(command);
        let started = Self { child, terminal, folder };
        wait_until("the start of the program", || started.folder.path().join("ready").exists());
        Some(started)
    }

    /// Hangs up and returns the code with which the shell ends.
    fn hang_up(mut self, meanwhile: impl FnOnce(&Path)) -> i32 {
        drop(self.terminal);
        meanwhile(self.folder.path());
        wait_until("the end of the shell", || self.child.try_wait().unwrap().is_some());
        let socket = self.folder.path().join("q.sock");
        assert!(!socket.exists(), "the socket is removed");
        self.child.wait().unwrap().code().unwrap()
    }
}

#[test]
fn a_shell_ends_with_its_terminal_and_takes_everybody_along() {
    let test = "a_shell_ends_with_its_terminal_and_takes_everybody_along";
    if skipped(test) {
        return;
    }
    let marker = format!("{}.79", 1_000_000 + std::process::id());
    let ends = format!("sleep {marker} & touch ready; exec sleep {marker}");
    let Some(shell) = InTerminal::start(test, &[], &ends) else { return };
    assert_eq!(shell.hang_up(|_| ()), 128 + 1, "the program ended by SIGHUP");
    // As interactive shells do.
    let no_term = format!("trap '' TERM; touch ready; while :; do sleep 0.1; done # {marker}");
    let Some(shell) = InTerminal::start(test, &[], &no_term) else { return };
    assert_eq!(shell.hang_up(|_| ()), 128 + 1);
    // As servers do, which read their settings again.
    let no_hangup = format!("trap 'touch again' HUP; touch ready; while :; do sleep 0.1; done # {marker}");
    let Some(shell) = InTerminal::start(test, &[], &no_hangup) else { return };
    assert_eq!(shell.hang_up(|_| ()), 128 + 15);
    wait_until("the end of every process", || processes(&marker).is_empty());
}

#[test]
fn a_program_that_ignores_the_hangup_is_killed_in_the_end() {
    let test = "a_program_that_ignores_the_hangup_is_killed_in_the_end";
    if skipped(test) {
        return;
    }
    let deaf = "trap '' HUP TERM; touch ready; while :; do sleep 0.1; done";
    let Some(shell) = InTerminal::start(test, &[], deaf) else { return };
    assert_eq!(shell.hang_up(|_| ()), 128 + 9);
}

#[test]
fn with_nohup_the_program_runs_on() {
    let test = "with_nohup_the_program_runs_on";
    if skipped(test) {
        return;
    }
    let until_told = "touch ready; while [ ! -e go ]; do sleep 0.05; done; exit 6";
    let Some(shell) = InTerminal::start(test, &["nohup"], until_told) else { return };
    // The kernel has told the hangup before the terminal is closed.
    assert_eq!(shell.hang_up(|folder| std::fs::write(folder.join("go"), "").unwrap()), 6);
}
