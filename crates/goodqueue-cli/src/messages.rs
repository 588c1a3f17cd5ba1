//! Messages to the user. This is the only place that writes to standard error.

use std::fmt::Display;
use std::io::Write;

/// Prints a message and a newline to standard error. A failed write (closed pipe, full disk) is
/// ignored, because it must not stop any work.
pub(crate) fn say(message: impl Display) {
    // A single write keeps messages of several processes apart.
    let _ = std::io::stderr().write_all(format!("{message}\n").as_bytes());
}
