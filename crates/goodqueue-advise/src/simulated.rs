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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use goodqueue_scenario::session::NoWatch;

    use super::*;
    use crate::judge::Precision;

    /// Returns the measured seconds and the blocks of a run of at most 30 s whose latency has to be
    /// known this well.
    fn judged(wanted: Precision) -> (f64, Blocks) {
        let text = "duration = '32s'\nwarmup = '2s'\nqdiscs = ['pfifo limit 50']\n\
                    link = { down = '5mbit', rtt = '20ms' }\n[[flows]]\n[[flows]]\nkind = 'ping'\n";
        let document = Document::parse("judged.toml", text, Path::new("")).unwrap();
        let rule =
            Rule { wanted, goodput_of_bps: None, block_s: 1.0, least_blocks: 2, rtt_s: 0.02, least_runs: 1 };
        let simulator = Simulator { threads: 1, observer: &NoWatch };
        let (run, seen) = simulator.judged(&document, None, &[], rule).unwrap().unwrap();
        (run.duration_s, seen.blocks)
    }

    #[test]
    fn a_run_that_knows_its_latency_ends_early_and_one_that_does_not_lasts_to_its_bound() {
        let coarse = Precision { latency_s: 0.05, ..Precision::COMPARED };
        let (early_s, _) = judged(coarse);
        // The queue is a tenth of a second long, and the run has at least fifty round trips under
        // load.
        assert!((5.0..15.0).contains(&early_s), "{early_s}");
        let exact = Precision { latency_share: 0.0, latency_s: 0.0, ..Precision::COMPARED };
        let (bound_s, blocks) = judged(exact);
        assert!((bound_s - 30.0).abs() < 1e-9, "{bound_s}");
        assert!(blocks.added_s.len() >= 28, "{}", blocks.added_s.len());
    }
}
