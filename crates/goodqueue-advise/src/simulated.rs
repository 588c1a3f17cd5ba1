//! Runs of several scenarios side by side.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use goodqueue::Duration;
use goodqueue_scenario::results::Run;
use goodqueue_scenario::run::{RunSpec, runs_of};
use goodqueue_scenario::scenario::{Document, Names};
use goodqueue_scenario::session::{Progress, Session, Watch, side_by_side};
use goodqueue_scenario::sweep::Sweep;
use goodqueue_tc::diagnostic::Diagnostic;

use crate::advice::Observe;
use crate::judge::{Blocks, Judge, Observed, Rule};

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
        part: [f64; 2],
    ) -> Result<Option<Vec<Run>>, Diagnostic> {
        let mut all = Vec::new();
        for document in documents {
            all.extend(runs_of_document(document, None)?);
        }
        let watch = PartOfSearch { observer: self.observer, part };
        Ok(Session::from_runs(all).threads(self.threads).run(&watch)?.whole())
    }

    /// Runs the one run of a scenario on this thread until the rule ends it. `earlier`: runs of the
    /// same load. `None` if the observer cancels.
    pub(crate) fn judged(
        &self,
        document: &Document,
        series: Option<Duration>,
        earlier: &[Blocks],
        rule: Rule,
    ) -> Result<Option<(Run, Observed)>, Diagnostic> {
        let mut runs = runs_of_document(document, series)?;
        // A session would run all of a document's runs, and the judge counts the blocks of one.
        runs.truncate(1);
        let Some(config) = runs.first().map(|run| run.config.clone()) else { return Ok(None) };
        let judge = Judge::new(&config, earlier, rule, self.observer);
        let run = Session::from_runs(runs).threads(1).run(&judge)?.runs().pop();
        Ok(run.map(|run| (run, judge.into_seen())))
    }

    /// Calls `work` for each item, the first ones first, on all threads, and returns the items in
    /// order. `None` if `work` returns false: the observer cancels. The observer hears of progress
    /// from `part[0]` to `part[1]`.
    pub(crate) fn each<T: Send>(
        &self,
        items: Vec<T>,
        part: [f64; 2],
        work: impl Fn(&mut T) -> Result<bool, Diagnostic> + Sync,
    ) -> Result<Option<Vec<T>>, Diagnostic> {
        let count = items.len();
        let watch = PartOfSearch { observer: self.observer, part };
        let finished = AtomicUsize::new(0);
        // Threads take items by their numbers, and no two threads take the same one.
        let waiting: Vec<Mutex<Option<T>>> = items.into_iter().map(|item| Mutex::new(Some(item))).collect();
        let one = |number: usize| {
            let taken = waiting[number].lock().unwrap_or_else(PoisonError::into_inner).take();
            let Some(mut item) = taken.filter(|_| !self.observer.is_cancelled()) else { return Ok(None) };
            if !work(&mut item)? {
                return Ok(None);
            }
            // Only the count matters; no other memory is ordered by it.
            let done = finished.fetch_add(1, Ordering::Relaxed) + 1;
            #[expect(clippy::cast_precision_loss, reason = "a few items")]
            watch.came(done as f64 / count as f64);
            Ok(Some(item))
        };
        Ok(side_by_side(count, self.threads, one)?.into_iter().collect())
    }
}

/// Returns the runs of a scenario.
fn runs_of_document(document: &Document, series: Option<Duration>) -> Result<Vec<RunSpec>, Diagnostic> {
    runs_of(&[Sweep::new(document, &Names::default())?.point(0)?], series)
}

/// Tells the observer which share of a part of the search is done.
struct PartOfSearch<'o> {
    observer: &'o dyn Observe,
    part: [f64; 2],
}

impl PartOfSearch<'_> {
    fn came(&self, share: f64) {
        self.observer.came(self.part[0] + (self.part[1] - self.part[0]) * share);
    }
}

impl Watch for PartOfSearch<'_> {
    fn is_cancelled(&self) -> bool {
        self.observer.is_cancelled()
    }

    fn progressed(&self, progress: Progress) {
        self.came(progress.share());
    }
}
