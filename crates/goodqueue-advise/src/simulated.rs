//! Runs of several scenarios side by side.

use std::sync::atomic::{AtomicUsize, Ordering};

use goodqueue::Duration;
use goodqueue_scenario::results::Run;
use goodqueue_scenario::run::{Watch, execute, jobs};
use goodqueue_scenario::scenario::{Document, Names};
use goodqueue_scenario::sweep::Sweep;
use goodqueue_tc::diagnostic::Diagnostic;

use crate::observe::Observe;

/// Where and for whom to simulate.
#[derive(Clone, Copy)]
pub(crate) struct Simulator<'o> {
    /// Threads; 0: one per processor.
    pub(crate) threads: usize,
    /// Who hears how far it came.
    pub(crate) observer: &'o dyn Observe,
}

impl Simulator<'_> {
    /// Runs scenarios side by side and returns their runs in order; `None` if the observer cancels.
    /// The observer hears of progress from `part[0]` to `part[1]`.
    pub(crate) fn runs(
        &self,
        documents: &[Document],
        series: Option<Duration>,
        part: [f64; 2],
    ) -> Result<Option<Vec<Run>>, Diagnostic> {
        let mut all = Vec::new();
        for document in documents {
            all.extend(jobs(&[Sweep::new(document, &Names::default())?.point(0)?], series)?);
        }
        let watch = Counting { observer: self.observer, part, jobs: all.len(), done: AtomicUsize::new(0) };
        let runs = execute::<Run>(&all, self.threads, None, &watch)?;
        Ok(runs.into_iter().collect())
    }
}

/// Tells the observer which share of the jobs has finished.
struct Counting<'o> {
    observer: &'o dyn Observe,
    part: [f64; 2],
    jobs: usize,
    done: AtomicUsize,
}

impl Watch for Counting<'_> {
    fn is_cancelled(&self) -> bool {
        self.observer.is_cancelled()
    }

    fn finished(&self, _: usize, _: bool) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        #[expect(clippy::cast_precision_loss, reason = "a few jobs")]
        let share = done as f64 / self.jobs.max(1) as f64;
        self.observer.came(self.part[0] + (self.part[1] - self.part[0]) * share);
    }
}
