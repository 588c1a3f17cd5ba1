//! The commands, one file each.

pub(crate) mod advise;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod explain;
pub(crate) mod judgement;
#[cfg(target_os = "linux")]
mod line;
pub(crate) mod list;
pub(crate) mod man;
pub(crate) mod new_aqm;
pub(crate) mod replay;
#[cfg(feature = "papers")]
pub(crate) mod reproduce;
pub(crate) mod run;
pub(crate) mod schema;
#[cfg(target_os = "linux")]
pub(crate) mod shape;
#[cfg(target_os = "linux")]
pub(crate) mod shell;
mod simulation;
#[cfg(target_os = "linux")]
pub(crate) mod stats;
mod story;
#[cfg(target_os = "linux")]
pub(crate) mod top;
#[cfg(feature = "papers")]
pub(crate) mod validate;

use goodqueue::Disciplines;
use goodqueue_scenario::scenario::signed;
use goodqueue_tc::diagnostic::Diagnostic;

use crate::messages;

/// The end of a command without an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ending {
    /// Success.
    Done,
    /// A check failed.
    CheckFailed,
    /// The machine was too busy for a live test, so nothing was judged.
    #[cfg(target_os = "linux")]
    TooBusy,
    /// The user interrupted it. Finished results are kept.
    Interrupted,
    /// A program was run. This is its exit code.
    #[cfg(target_os = "linux")]
    Program(u8),
}

/// The result of a command.
pub(crate) type Outcome = Result<Ending, Diagnostic>;

/// Prints remarks about the lines that an option gave.
fn remark_on<'l>(option: &str, lines: impl IntoIterator<Item = &'l String>, disciplines: &Disciplines) {
    for line in lines {
        for about in goodqueue_tc::remarks(disciplines, line) {
            messages::remark(&about.in_argument(option, line));
        }
    }
}
