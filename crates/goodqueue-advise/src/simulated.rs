//! Runs of several scenarios side by side.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use goodqueue::Duration;
use goodqueue_scenario::results::Run;
use goodqueue_scenario::run::{Job, Watch, execute, jobs};
use goodqueue_scenario::scenario::{Document, Names};
use goodqueue_scenario::sweep::Sweep;
use goodqueue_tc::diagnostic::Diagnostic;

use crate::judge::{Judge, Seen};
use crate::known::Blocks;
use crate::observe::Observe;
use crate::rule::Rule;

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
            all.extend(jobs_of(document, None)?);
        }
        let watch = Counting { observer: self.observer, part, jobs: all.len(), done: AtomicUsize::new(0) };
        let runs = execute::<Run>(&all, self.threads, None, &watch)?;
        Ok(runs.into_iter().collect())
    }

    /// Runs the one run of a scenario on this thread until the rule ends it. `earlier`: runs of the
    /// same load. `None` if the observer cancels.
    pub(crate) fn judged(
        &self,
        document: &Document,
        series: Option<Duration>,
        earlier: &[Blocks],
        rule: Rule,
    ) -> Result<Option<(Run, Seen)>, Diagnostic> {
        let mut jobs = jobs_of(document, series)?;
        jobs.truncate(1);
        let Some(job) = jobs.first() else { return Ok(None) };
        let judge = Judge::new(&job.config, earlier, rule, self.observer);
        let run = execute::<Run>(&jobs, 1, None, &judge)?.into_iter().next().flatten();
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
        let watch = Counting { observer: self.observer, part, jobs: count, done: AtomicUsize::new(0) };
        let waiting = Mutex::new(items.into_iter().enumerate());
        let finished = Mutex::new(Vec::with_capacity(count));
        let take_turns = || {
            loop {
                let next = locked(&waiting).next();
                let Some((number, mut item)) = next else { break };
                let result = work(&mut item);
                let goes_on = matches!(result, Ok(true));
                locked(&finished).push((number, result.map(|goes_on| goes_on.then_some(item))));
                if !goes_on {
                    break;
                }
                watch.finished(number, false);
            }
        };
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        let threads = if self.threads == 0 { processors } else { self.threads };
        if threads.min(count) <= 1 {
            // On this thread: a browser has no others.
            take_turns();
        } else {
            std::thread::scope(|scope| {
                for _ in 0..threads.min(count) {
                    scope.spawn(take_turns);
                }
            });
        }
        let mut finished = finished.into_inner().unwrap_or_else(PoisonError::into_inner);
        finished.sort_by_key(|(number, _)| *number);
        let items: Option<Vec<T>> =
            finished.into_iter().map(|(_, result)| result).collect::<Result<_, Diagnostic>>()?;
        Ok(items.filter(|items| items.len() == count))
    }
}

/// Returns the runs of a scenario.
fn jobs_of(document: &Document, series: Option<Duration>) -> Result<Vec<Job>, Diagnostic> {
    jobs(&[Sweep::new(document, &Names::default())?.point(0)?], series)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
