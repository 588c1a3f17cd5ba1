//! Runs of several scenarios side by side.

use goodqueue::Duration;
use goodqueue_scenario::results::Run;
use goodqueue_scenario::run::{Watch, execute, jobs};
use goodqueue_scenario::scenario::{Document, Names};
use goodqueue_scenario::sweep::Sweep;
use goodqueue_tc::diagnostic::Diagnostic;

/// Runs scenarios side by side and returns their runs in order; `None` if `watch` cancels.
pub(crate) fn simulated(
    documents: &[Document],
    series: Option<Duration>,
    threads: usize,
    watch: &dyn Watch,
) -> Result<Option<Vec<Run>>, Diagnostic> {
    let mut all = Vec::new();
    for document in documents {
        all.extend(jobs(&[Sweep::new(document, &Names::default())?.point(0)?], series)?);
    }
    let runs = execute::<Run>(&all, threads, None, &Cancelling(watch))?;
    Ok(runs.into_iter().collect())
}

/// Passes on nothing but the question whether to stop: the search has no fixed number of jobs.
struct Cancelling<'w>(&'w dyn Watch);

impl Watch for Cancelling<'_> {
    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }
}
