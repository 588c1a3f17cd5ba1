//! A scenario in one call.

use goodqueue_tc::diagnostic::Diagnostic;

use crate::results::Results;
use crate::run::{Unwatched, execute, results};
use crate::runs::Runs;
use crate::scenario::{Document, Names};
use crate::sweep::Sweep;

/// Simulates all runs of a scenario, without time series, on all processors: every discipline,
/// every point of the sweep, every seed.
///
/// # Errors
/// The scenario does not resolve, or a run cannot be made.
pub fn simulate(document: &Document) -> Result<Results, Diagnostic> {
    let all = Runs::new(Sweep::new(document, &Names::default())?, None)?;
    let measured = execute(&all, 0, None, &Unwatched)?;
    Ok(results(all.to_json(&all.scenario()?), measured.into_iter().flatten().collect()))
}
