//! The error for a name that no list has.

use goodqueue_tc::diagnostic::Diagnostic;

/// Returns the error for `name`, with the nearest of the names that are `known`.
pub(super) fn unknown(name: &str, known: &[String]) -> Diagnostic {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    Diagnostic::new(format!("there is no `{name}` to list")).one_of(name, &known).in_argument("NAME", name)
}
