//! Messages to the user. This is the only place that writes to standard error.

use std::fmt::Display;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

/// Prints a message that `--quiet` suppresses.
pub(crate) fn note(message: impl Display) {
    if !QUIET.load(Ordering::Relaxed) {
        say(message);
    }
}

/// Suppresses notes and progress from now on.
pub(crate) fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

/// True if notes and progress are suppressed.
pub(crate) fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Prints a message and a newline to standard error. A failed write (closed pipe, full disk) is
/// ignored, because it must not stop any work.
pub(crate) fn say(message: impl Display) {
    // A single write keeps messages of several processes apart.
    let _ = std::io::stderr().write_all(format!("{message}\n").as_bytes());
}

static QUIET: AtomicBool = AtomicBool::new(false);
