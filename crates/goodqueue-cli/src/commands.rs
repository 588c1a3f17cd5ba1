//! One file per command.

pub(crate) mod compare;
pub(crate) mod explain;
pub(crate) mod list;
pub(crate) mod replay;
pub(crate) mod reproduce;
pub(crate) mod run;
#[cfg(target_os = "linux")]
pub(crate) mod shape;
#[cfg(target_os = "linux")]
pub(crate) mod shell;
#[cfg(target_os = "linux")]
pub(crate) mod stats;
#[cfg(target_os = "linux")]
pub(crate) mod top;
pub(crate) mod validate;

use goodqueue_tc::diagnostic::Diagnostic;

/// How a command ended, if it did not fail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ending {
    /// Done.
    Done,
    /// Something was checked and is not as it should be.
    CheckFailed,
    /// The user interrupted it; what was finished is kept.
    Interrupted,
    /// A program was run and ended with this exit code.
    #[cfg(target_os = "linux")]
    Program(u8),
}

/// What a command returns.
pub(crate) type Outcome = Result<Ending, Diagnostic>;

/// A value that may begin with a minus, so that it is the reader of rates and times that says what is wrong with it; not an
/// option behind one whose value was forgotten.
fn signed(text: &str) -> Result<String, String> {
    if text.starts_with("--") {
        return Err(format!("its value is missing: `{text}` is the next option"));
    }
    Ok(text.to_owned())
}
