//! Statistics of a bottleneck that anybody may have started.

use std::path::Path;

use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tc::printable;
use serde_json::Value;

use crate::commands::stats::request;

/// Returns the statistics of the bottleneck at `control`. Whoever owns the socket chose the texts.
pub(super) fn fetch(control: &Path) -> Result<Value, Diagnostic> {
    request(control, "stats").map(cleaned)
}

/// Replaces what a terminal would obey in all texts of an answer.
fn cleaned(answer: Value) -> Value {
    match answer {
        Value::String(text) => Value::from(printable::line(&text)),
        Value::Array(items) => items.into_iter().map(cleaned).collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, field)| (printable::line(&name).into_owned(), cleaned(field)))
            .collect(),
        other => other,
    }
}
