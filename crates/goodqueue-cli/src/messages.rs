//! Messages to the user. This is the only place that writes to standard error, and nothing that a
//! terminal would obey passes it: see [`goodqueue_tc::printable`].

use std::fmt::Display;
use std::io::{IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tc::printable;

/// Prints a message that `--quiet` suppresses, as one line.
pub(crate) fn note(message: impl Display) {
    if !is_quiet() {
        say(message);
    }
}

/// Prints a remark on the input that `--quiet` suppresses.
pub(crate) fn remark(about: &Diagnostic) {
    if !is_quiet() {
        say_lines(format_args!("remark: {about}"));
    }
}

/// Suppresses notes, remarks and progress from now on.
pub(crate) fn be_quiet() {
    // The flag guards no other data, so its order among other accesses does not matter.
    QUIET.store(true, Ordering::Relaxed);
}

/// True if notes, remarks and progress are suppressed.
pub(crate) fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Prints a message as one line: a name in it cannot begin another one.
pub(crate) fn say(message: impl Display) {
    write(&printable::line(&message.to_string()));
}

/// Prints an error.
pub(crate) fn error(error: &Diagnostic) {
    say_lines(format_args!("error: {error}"));
}

/// Prints a message of several lines, whose names were made printable when it was composed, as a
/// [`Diagnostic`] does.
pub(crate) fn say_lines(message: impl Display) {
    write(&printable::lines(&message.to_string()));
}

/// True if standard error is a terminal.
pub(crate) fn are_on_a_terminal() -> bool {
    stderr().is_terminal()
}

/// Writes a text and a newline. A failed write (closed pipe, full disk) is ignored, because it must
/// not stop any work.
fn write(text: &str) {
    // A single write keeps messages of several processes apart.
    let _ = stderr().write_all(format!("{text}\n").as_bytes());
}

#[expect(clippy::disallowed_methods, reason = "the one door to standard error")]
fn stderr() -> std::io::Stderr {
    std::io::stderr()
}

static QUIET: AtomicBool = AtomicBool::new(false);
