//! Results as the command writes them.

use goodqueue_scenario::measure;
use goodqueue_scenario::results::Run;
use goodqueue_scenario::run::{Job, results};
use goodqueue_scenario::runs::{Jobs as _, Runs};
use goodqueue_sim::{Outcome, RunError};
use goodqueue_tc::diagnostic::Diagnostic;

use crate::request::Request;

/// Makes all runs of a request, one after another, and returns their results: the bytes that
/// `goodqueue compare ... --json FILE` writes.
///
/// # Errors
/// What the command prints.
pub fn of(request: &str) -> Result<String, Diagnostic> {
    let runs = Request::parse(request)?.runs()?;
    let mut measured = Vec::with_capacity(runs.count());
    for number in 0..runs.count() {
        let job = runs.job(number)?;
        let outcome = goodqueue_sim::run(&job.config).map_err(|error| refused(&job, &error))?;
        measured.push(measure(&job, &outcome));
    }
    written(&runs, measured)
}

/// Returns the metrics of a run.
pub(crate) fn measure(job: &Job, outcome: &Outcome) -> Run {
    measure::run(job.labels.clone(), &job.config, outcome)
}

/// Returns results as text, with a final newline.
pub(crate) fn written(runs: &Runs<'_>, measured: Vec<Run>) -> Result<String, Diagnostic> {
    let mut results = results(runs.to_json(&runs.scenario()?), measured);
    for run in &mut results.runs {
        // The command writes them to a file of their own.
        run.tc_stats = None;
    }
    let mut text = serde_json::to_string_pretty(&results)
        .map_err(|error| Diagnostic::new(format!("the result cannot be written as JSON: {error}")))?;
    text.push('\n');
    Ok(text)
}

/// The error of a run that the simulator refuses.
pub(crate) fn refused(job: &Job, error: &RunError) -> Diagnostic {
    Diagnostic::new(error.to_string())
        .prefixed(&format!("the run with `{}` and seed {}", job.labels.qdisc, job.config.seed))
}
