//! A scenario in one call.

use goodqueue_tc::diagnostic::Diagnostic;

use crate::results::Results;
use crate::scenario::Document;
use crate::session::{NoWatch, Session};

/// Simulates all runs of a scenario, without time series, on all processors: every discipline,
/// every point of the sweep, every seed. [`Session`] has threads, a store, progress and an end
/// before the last run.
///
/// # Errors
/// The scenario does not resolve, or a run cannot be made.
pub fn simulate(document: &Document) -> Result<Results, Diagnostic> {
    let session = Session::new(document)?;
    let finished = session.run(&NoWatch)?;
    Ok(session.results(finished.runs()))
}
