//! Conditions of `--fail-if`, and how a command ends that has them.

use goodqueue_scenario::metrics::Condition;
use goodqueue_scenario::results::Run;
use goodqueue_tc::diagnostic::Diagnostic;

use super::Ending;
use crate::messages::say;

/// Reads the conditions.
pub(crate) fn conditions(texts: &[String]) -> Result<Vec<Condition>, Diagnostic> {
    let read = |text: &String| Condition::parse(text).map_err(|error| error.in_argument("--fail-if", text));
    texts.iter().map(read).collect()
}

/// Returns how a command ends that has these runs, and prints the conditions that hold.
pub(crate) fn judge(conditions: &[Condition], runs: &[Run]) -> Ending {
    let mut ending = Ending::Done;
    for condition in conditions {
        let found = condition.check(runs);
        let holds: Vec<_> = found.iter().filter(|found| found.holds).collect();
        if holds.is_empty() {
            continue;
        }
        ending = Ending::CheckFailed;
        say(format_args!("failed: {}", condition.text()));
        for found in holds {
            let place = if found.point.is_empty() { String::new() } else { format!(" at {}", found.point) };
            let value =
                found.value.map_or_else(|| "has no such value".to_owned(), |value| condition.show(value));
            say(format_args!("  {}{place}: {value}", found.qdisc));
        }
    }
    ending
}

/// As [`judge`], for live runs. `disturbed` says why the machine was too busy for them, if it was:
/// neither success nor failure then means anything.
#[cfg(target_os = "linux")]
pub(crate) fn judge_live(conditions: &[Condition], runs: &[Run], disturbed: Option<&str>) -> Ending {
    let ending = judge(conditions, runs);
    match disturbed.filter(|_| !conditions.is_empty()) {
        None => ending,
        Some(why) => {
            say(format_args!("not judged: the machine was too busy for a live test: {why}"));
            say(format_args!("  help: repeat the command when the machine is less busy, or simulate"));
            Ending::TooBusy
        }
    }
}
