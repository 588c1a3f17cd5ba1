//! One live run in a process of its own.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;

use goodqueue_live::process::{self, Forked, Pid};
use goodqueue_live::session::Session;
use goodqueue_scenario::results::Run;
use goodqueue_scenario::run::RunSpec;
use goodqueue_tc::diagnostic::Diagnostic;
use serde::{Deserialize, Serialize};

use crate::statistics::too_busy;
use crate::{measured, plan};

/// The results of one live run.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LiveRun {
    /// Remarks for the user.
    pub(crate) remarks: Vec<String>,
    /// Why the machine was too busy for the results to be judged, if it was.
    pub(crate) disturbed: Option<String>,
    /// The results.
    pub(crate) run: Run,
}

/// What the process of a run writes at its end.
#[derive(Serialize, Deserialize)]
enum Answer {
    Finished(Box<LiveRun>),
    Failed { problem: String, help: Option<String> },
}

/// Makes one run in its own process, which ends all its programs with itself. `mtu` is the link's.
///
/// # Errors
/// The kernel cannot make this run, or the namespaces cannot be created.
pub(crate) fn execute(run: &RunSpec, mtu: u32) -> Result<LiveRun, Diagnostic> {
    // Unsupported runs are refused before any work.
    let (session, mut remarks) = plan::session(run, mtu)?;
    let failed = |error: io::Error| Diagnostic::new(format!("a live run cannot be started: {error}"));
    let (read, write) = io::pipe().map_err(failed)?;
    match process::fork_together().map_err(|errno| failed(errno.into()))? {
        Forked::Child => {
            drop(read);
            let answer = serde_json::to_vec(&answer(run, &session)).unwrap_or_default();
            // The parent reports an empty or a cut answer as an error, so this process needs no
            // message of its own.
            let _ = File::from(OwnedFd::from(write)).write_all(&answer);
            process::leave(0)
        }
        Forked::Parent(child) => {
            // The parent reads until the end of the pipe, which comes only once no process can
            // write any more.
            drop(write);
            let mut one = collect(child, OwnedFd::from(read).into())?;
            remarks.append(&mut one.remarks);
            // Remarks on the plan come before those on the run.
            Ok(LiveRun { remarks, ..one })
        }
    }
}

fn answer(run: &RunSpec, session: &Session) -> Answer {
    match session.run() {
        Ok(outcome) => Answer::Finished(Box::new(LiveRun {
            remarks: measured::remarks(&outcome),
            disturbed: too_busy(outcome.counters.latest, outcome.kernel_drops),
            run: measured::results(run, &outcome),
        })),
        Err(error) => {
            Answer::Failed { problem: error.problem().to_owned(), help: error.advice().map(str::to_owned) }
        }
    }
}

/// Returns the results that the process of a run writes to `answers`, and waits for its end.
fn collect(child: Pid, mut answers: File) -> Result<LiveRun, Diagnostic> {
    let mut answer = Vec::new();
    let read = answers.read_to_end(&mut answer);
    // A sweep with thousands of runs would otherwise leave as many ended processes.
    process::reap(child);
    // An error is returned only behind `reap`, so that it leaves no ended process, either.
    read.map_err(|error| Diagnostic::new(format!("the results of a live run cannot be read: {error}")))?;
    understand(&answer)
}

fn understand(answer: &[u8]) -> Result<LiveRun, Diagnostic> {
    if answer.is_empty() {
        return Err(Diagnostic::new("the process of a live run ended too early"));
    }
    match serde_json::from_slice(answer) {
        Ok(Answer::Finished(run)) => Ok(*run),
        Ok(Answer::Failed { problem, help }) => {
            let message = Diagnostic::new(problem);
            Err(match help {
                Some(help) => message.help(help),
                None => message,
            })
        }
        Err(error) => Err(Diagnostic::new(format!("the results of a live run cannot be read: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn the_process_of_a_run_has_ended_once_its_results_are_there() {
        let mut child = Command::new("true").stdout(Stdio::piped()).spawn().unwrap();
        let answers = OwnedFd::from(child.stdout.take().unwrap());
        let error = collect(Pid::from_raw(child.id().cast_signed()), answers.into()).unwrap_err().to_string();
        assert!(error.contains("ended too early"), "{error}");
        // There is no such child any more.
        assert!(child.try_wait().is_err());
    }

    #[test]
    fn a_process_that_failed_hands_over_its_error_with_the_advice() {
        let failed = Answer::Failed { problem: "no device".to_owned(), help: Some("load tun".to_owned()) };
        let error = understand(&serde_json::to_vec(&failed).unwrap()).unwrap_err().to_string();
        assert!(error.contains("no device") && error.contains("help: load tun"), "{error}");
    }

    #[test]
    fn a_process_that_was_killed_is_an_error_and_no_result() {
        let error = understand(b"").unwrap_err().to_string();
        assert!(error.contains("ended too early"), "{error}");
        let error = understand(b"{\"Finished\":{").unwrap_err().to_string();
        assert!(error.contains("cannot be read"), "{error}");
    }
}
