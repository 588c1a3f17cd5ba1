//! Counts the runs of a session, and passes what happens on to the watch.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::watch::{Progress, Watch};
use crate::results::Run;
use crate::store::DamagedFile;

/// The counts of a session that is running.
pub(super) struct Tracker<'w> {
    pub(super) watch: &'w dyn Watch,
    /// Thousandths of each run that are counted in `done`.
    parts: Vec<AtomicU64>,
    done: AtomicU64,
    simulated: AtomicU64,
    finished: AtomicUsize,
    stored: AtomicUsize,
    repeated: AtomicUsize,
    damaged: Mutex<Vec<String>>,
}

impl<'w> Tracker<'w> {
    pub(super) fn new(runs: usize, watch: &'w dyn Watch) -> Self {
        Self {
            watch,
            parts: (0..runs).map(|_| AtomicU64::new(0)).collect(),
            done: AtomicU64::new(0),
            simulated: AtomicU64::new(0),
            finished: AtomicUsize::new(0),
            stored: AtomicUsize::new(0),
            repeated: AtomicUsize::new(0),
            damaged: Mutex::default(),
        }
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a fraction of a thousand")]
    pub(super) fn advanced(&self, number: usize, fraction: f64) {
        self.watch.advanced(number, fraction);
        self.count(number, (fraction.clamp(0.0, 1.0) * 1000.0) as u64, false);
    }

    pub(super) fn finished(&self, number: usize, result: &Run, stored: bool) {
        // Relaxed: the counts order nothing else, and `end` reads them after all threads have
        // ended.
        self.stored.fetch_add(usize::from(stored), Ordering::Relaxed);
        self.finished.fetch_add(1, Ordering::Relaxed);
        self.watch.finished(number, result, stored);
        self.count(number, Progress::OF_A_RUN, stored);
    }

    /// Counts a run whose stored result does not have all that is wanted now (packets, series in
    /// another step).
    pub(super) fn repeated(&self) {
        self.repeated.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes a file of the store that cannot be used.
    pub(super) fn damaged(&self, file: &DamagedFile) {
        self.damaged.lock().unwrap_or_else(PoisonError::into_inner).push(file.to_string());
    }

    fn count(&self, number: usize, thousandths: u64, stored: bool) {
        let Some(part) = self.parts.get(number) else { return };
        // A run reports its progress from one thread, so its thousandths never fall.
        let more = thousandths.saturating_sub(part.swap(thousandths, Ordering::Relaxed));
        self.done.fetch_add(more, Ordering::Relaxed);
        if !stored {
            self.simulated.fetch_add(more, Ordering::Relaxed);
        }
        // Relaxed: only a display reads these counts, and their order does not matter to it.
        self.watch.progressed(Progress {
            runs: self.parts.len(),
            finished: self.finished.load(Ordering::Relaxed),
            stored: self.stored.load(Ordering::Relaxed),
            done: self.done.load(Ordering::Relaxed),
            simulated: self.simulated.load(Ordering::Relaxed),
        });
    }

    /// Returns the results with the counts.
    pub(super) fn end<M>(self, all: Vec<Option<M>>) -> Finished<M> {
        let mut damaged = self.damaged.into_inner().unwrap_or_else(PoisonError::into_inner);
        // The order of the threads is random.
        damaged.sort();
        let stored = self.stored.into_inner();
        let repeated = self.repeated.into_inner();
        Finished { all, stored, repeated, damaged }
    }
}

/// The results of a session.
#[derive(Clone, PartialEq, Debug)]
pub struct Finished<M = Run> {
    /// The result of each run, in the order of the runs; `None` for a run that did not finish.
    pub all: Vec<Option<M>>,
    /// Number of results that the store had.
    pub stored: usize,
    /// Runs that were simulated again, because their stored results do not have all that is wanted
    /// now: packets, or series in another step.
    pub repeated: usize,
    /// Files of the store that could not be used, each with the problem. Their runs were simulated
    /// again, and the files replaced.
    pub damaged: Vec<String>,
}

impl<M> Finished<M> {
    /// Returns the results of the runs that finished.
    #[must_use]
    pub fn runs(self) -> Vec<M> {
        self.all.into_iter().flatten().collect()
    }

    /// Returns all results; `None` if a run did not finish, because the watch cancelled the
    /// session.
    #[must_use]
    pub fn whole(self) -> Option<Vec<M>> {
        self.all.into_iter().collect()
    }
}
