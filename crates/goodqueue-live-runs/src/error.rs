//! Errors of the live path as diagnostics.

use goodqueue_live::LiveError;
use goodqueue_tc::diagnostic::Diagnostic;

/// Returns an error of the live path as a diagnostic, with its advice.
#[must_use]
pub fn diagnostic(error: &LiveError) -> Diagnostic {
    let message = Diagnostic::new(error.problem());
    match error.advice() {
        Some(advice) => message.help(advice),
        None => message,
    }
}
