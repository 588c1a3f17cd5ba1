//! Messages to the user on standard error: the one place that writes there.

use std::fmt::Display;
use std::io::Write;

/// Says one thing to the user, with a newline behind it. That nobody can read it (a closed pipe, a full disk) stops nothing.
pub(crate) fn say(message: impl Display) {
    // At once, so that messages of several processes do not mix.
    let _ = std::io::stderr().write_all(format!("{message}\n").as_bytes());
}
