//! Results as the command writes them.

use goodqueue_scenario::request::Request;
use goodqueue_scenario::results::Run;
use goodqueue_scenario::session::{NoWatch, Session};
use goodqueue_tc::diagnostic::Diagnostic;

use crate::request::{outline, session};

/// Makes all runs of a request, one after another, and returns their results: the bytes that
/// `goodqueue compare ... --json FILE` writes.
///
/// # Errors
/// What the command prints.
pub fn results_of(request: &str) -> Result<String, Diagnostic> {
    let session = session(outline(&Request::from_json(request)?)?)?.threads(1);
    let runs = session.run(&NoWatch)?.runs();
    written(&session, runs)
}

/// Returns results as text, with a final newline.
pub(crate) fn written(session: &Session, runs: Vec<Run>) -> Result<String, Diagnostic> {
    let mut results = session.results(runs);
    for run in &mut results.runs {
        // The command writes them to a file of their own.
        run.tc_stats = None;
    }
    let mut text = serde_json::to_string_pretty(&results)
        .map_err(|error| Diagnostic::new(format!("the result cannot be written as JSON: {error}")))?;
    text.push('\n');
    Ok(text)
}
