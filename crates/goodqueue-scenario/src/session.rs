//! From a scenario to its results: one [`Session`] for every front end.
//!
//! A session makes the runs of a scenario on several threads, takes finished ones from a store and
//! keeps new ones there. A [`Watch`] hears of each event, gets each result as soon as it is known,
//! and may cancel the rest.
//!
//! ```
//! use goodqueue_scenario::run::Runs as _;
//! use goodqueue_scenario::scenario::Document;
//! use goodqueue_scenario::session::{Session, NoWatch};
//!
//! let mut document = Document::default();
//! document.set("here", "duration", "1s")?;
//! let session = Session::new(&document)?.threads(2);
//! let finished = session.run(&NoWatch)?;
//! let results = session.results(finished.runs());
//! assert_eq!(results.runs.len(), session.count());
//! # Ok::<(), goodqueue_tc::diagnostic::Diagnostic>(())
//! ```

mod execute;
mod measured;
mod outline;
mod stored;
mod threads;
mod tracker;
mod watch;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use goodqueue_sim as sim;
use goodqueue_tc::diagnostic::Diagnostic;

use crate::claim;
use crate::export::packets;
use crate::results::{Results, Run, ScenarioRecord};
use crate::run::series::Steps;
use crate::run::{RunSpec, Runs, ScenarioRuns, no_run};
use crate::scenario::{Document, Scenario};
use crate::shard::Shard;
use crate::store::{Store, StoredRun};
use crate::summary;
pub use execute::refused;
pub use measured::Measured;
pub use outline::Outline;
pub use threads::side_by_side;
pub use tracker::Finished;
use tracker::Tracker;
pub use watch::{NoWatch, Progress, Watch};

/// Runs, and how they are made.
#[derive(Debug)]
pub struct Session<R = ScenarioRuns<'static>> {
    runs: R,
    /// Numbers of the runs to make; `None`: all of them.
    numbers: Option<Vec<usize>>,
    threads: usize,
    store: Option<Store>,
}

impl Session {
    /// The session of a scenario without time series. [`Outline`] gives it some.
    ///
    /// # Errors
    /// The scenario does not resolve, or has a setting that the simulator refuses.
    pub fn new(document: &Document) -> Result<Self, Diagnostic> {
        Outline::new(document)?.session(Steps::Given(None))
    }
}

impl Outline {
    /// Returns the session with all runs, with these time series.
    ///
    /// # Errors
    /// A point that does not resolve, a setting that the simulator refuses, an option of the
    /// command line that changes no run, or results that would take more than a gigabyte.
    pub fn session(self, steps: Steps) -> Result<Session, Diagnostic> {
        self.runs(steps).map(Session::from_runs)
    }
}

impl<R: Runs> Session<R> {
    /// The session that makes all of `runs`.
    #[must_use]
    pub const fn from_runs(runs: R) -> Self {
        Self { runs, numbers: None, threads: 0, store: None }
    }

    /// Sets the number of threads; 0, which is the default: one for each processor. A session never
    /// has more threads than runs. With one thread, the caller's own thread makes the runs.
    #[must_use]
    pub fn threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// Sets the store that keeps finished runs, and from which finished ones are taken. It may hold
    /// runs of any scenario; [`keep_in`](Session::keep_in) checks that it is not reserved for
    /// another one.
    #[must_use]
    pub fn with_store(self, store: Option<Store>) -> Self {
        Self { store, ..self }
    }

    /// All runs, also those that this session does not make.
    #[must_use]
    pub const fn all(&self) -> &R {
        &self.runs
    }

    /// The store that keeps finished runs.
    #[must_use]
    pub const fn store(&self) -> Option<&Store> {
        self.store.as_ref()
    }

    /// A session with the same threads and the same store that makes only the runs with these
    /// numbers. Its own numbers begin at 0.
    #[must_use]
    pub fn part(&self, numbers: Vec<usize>) -> Session<&R> {
        let store = self.store.clone();
        Session { runs: &self.runs, numbers: Some(numbers), threads: self.threads, store }
    }

    /// The part of the runs that is in this shard.
    ///
    /// # Errors
    /// A point that does not resolve any more.
    pub fn shard(&self, shard: Shard) -> Result<Session<&R>, Diagnostic> {
        let mut numbers = Vec::new();
        for number in 0..self.runs.count() {
            // A hash of the run decides, and not its number, so that no shard changes if a sweep
            // grows.
            if shard.has(&*self.runs.spec(number)?) {
                numbers.push(number);
            }
        }
        Ok(self.part(numbers))
    }

    /// Makes all runs of the session and measures them.
    ///
    /// # Errors
    /// A run that the simulator refuses, or a store that cannot be used.
    pub fn run(&self, watch: &dyn Watch) -> Result<Finished, Diagnostic> {
        self.run_as(watch)
    }

    /// As [`run`](Self::run), with other measurements.
    ///
    /// # Errors
    /// As `run`.
    pub fn run_as<M: Measured>(&self, watch: &dyn Watch) -> Result<Finished<M>, Diagnostic> {
        let tracker = Tracker::new(self.count(), watch);
        let one = |number: usize| {
            // No error: the session keeps what was finished before.
            if watch.is_cancelled() {
                return Ok(None);
            }
            execute::make(number, &*self.spec(number)?, self.store.as_ref(), &tracker)
        };
        let all = side_by_side(self.count(), self.threads, one)?;
        Ok(tracker.end(all))
    }

    /// Simulates all runs without a store, and returns what `look` sees in each; `None` for a run
    /// that the watch cancelled. The outcome of a run is freed after the look.
    ///
    /// # Errors
    /// A run that the simulator refuses.
    pub fn outcomes<T: Send>(
        &self,
        watch: &dyn Watch,
        look: impl Fn(&RunSpec, &sim::Outcome) -> T + Sync,
    ) -> Result<Vec<Option<T>>, Diagnostic> {
        let tracker = Tracker::new(self.count(), watch);
        side_by_side(self.count(), self.threads, |number| {
            let run = &*self.spec(number)?;
            // Nothing is kept here, so a run that ends early cannot be taken for a whole one later.
            let simulated = execute::simulate(number, run, true, &tracker)?;
            Ok(simulated.map(|simulated| look(run, &simulated.of)))
        })
    }

    /// Returns what the store has of each run; without a store nothing.
    ///
    /// # Errors
    /// A point that does not resolve any more, or a store that cannot be reached.
    pub fn known<M: Measured>(&self) -> Result<Vec<StoredRun<M>>, Diagnostic> {
        let Some(store) = &self.store else {
            return Ok((0..self.count()).map(|_| StoredRun::Absent).collect());
        };
        let threads = if store.place().is_remote() { READERS } else { 0 };
        side_by_side(self.count(), threads, |number| stored::stored(&*self.spec(number)?, store))
    }

    /// Returns the results of all runs from the store, and simulates nothing.
    ///
    /// # Errors
    /// Runs are missing or damaged.
    pub fn merged<M: Measured>(&self) -> Result<Vec<M>, Diagnostic> {
        let all = self.known()?;
        if let Some(file) = all.iter().find_map(StoredRun::damage) {
            let damaged = all.iter().filter_map(StoredRun::damage).count();
            return Err(Diagnostic::new(format!(
                "{damaged} of {} runs in the store are damaged; the first of them is {file}",
                all.len()
            ))
            .help(
                "run the shards again, which replaces damaged runs, or omit `--merge` to simulate them here",
            ));
        }
        let missing = all.iter().filter(|run| matches!(run, StoredRun::Absent)).count();
        if let Some(first) = all.iter().position(|run| matches!(run, StoredRun::Absent)) {
            let run = &*self.spec(first)?;
            let swept = run.labels.sweep.iter();
            let point: String = swept.map(|(key, value)| format!(", {key} = {value}")).collect();
            let place = self.store.as_ref().map(|store| store.place().shown()).unwrap_or_default();
            return Err(Diagnostic::new(format!(
                "{missing} of {} runs are not in the store `{place}`; the first of them is {}, seed {}{point}",
                all.len(),
                run.labels.qdisc,
                run.config.seed
            ))
            .allowed("a store with all runs of the sweep, made by this program")
            .help("run the other shards first, or omit `--merge` to simulate the missing runs here"));
        }
        Ok(all.into_iter().filter_map(StoredRun::whole).collect())
    }

    /// Keeps the result of a run that was made elsewhere, unless the store has it. The result loses
    /// time series that are for the store only.
    ///
    /// # Errors
    /// There is no such run, or the store cannot be written.
    pub fn keep<M: Measured>(&self, number: usize, result: &mut M) -> Result<(), Diagnostic> {
        let Some(store) = &self.store else { return Ok(()) };
        let run = self.spec(number)?;
        if store.has(&run.key)? { Ok(()) } else { stored::keep(&run, result, store) }
    }
}

/// The runs that the session makes, by their numbers in it.
impl<R: Runs> Runs for Session<R> {
    fn count(&self) -> usize {
        self.numbers.as_ref().map_or_else(|| self.runs.count(), Vec::len)
    }

    fn spec(&self, number: usize) -> Result<Cow<'_, RunSpec>, Diagnostic> {
        match &self.numbers {
            Some(numbers) => self.runs.spec(*numbers.get(number).ok_or_else(|| no_run(number))?),
            None => self.runs.spec(number),
        }
    }
}

impl Session<ScenarioRuns<'_>> {
    /// The resolved scenario; of a sweep, its first point.
    #[must_use]
    pub const fn scenario(&self) -> &Scenario {
        self.runs.scenario()
    }

    /// Returns the scenario as results contain it.
    #[must_use]
    pub fn record(&self) -> ScenarioRecord {
        self.runs.record()
    }

    /// Has the results contain the statistics of the queues as `tc` prints them. They take more
    /// memory than all other metrics of a run.
    pub const fn keep_tc_stats(&mut self) {
        self.runs.keep_tc_stats();
    }

    /// Has every packet of the bottleneck written to `path`, and returns the files. With several
    /// runs, each has its own file with the discipline, the sweep point and the seed in its name.
    ///
    /// # Errors
    /// An unknown ending, or a link that a recording cannot describe.
    pub fn write_packets(&mut self, path: &Path) -> Result<Vec<PathBuf>, Diagnostic> {
        packets::request(path, &mut self.runs)
    }

    /// Sets the store that keeps finished runs.
    ///
    /// # Errors
    /// The store belongs to another sweep, or shards of another program began it.
    pub fn keep_in(&mut self, store: Store) -> Result<(), Diagnostic> {
        claim::check(&store, &self.runs)?;
        self.store = Some(store);
        Ok(())
    }

    /// Sets the store that keeps finished runs, and reserves it for this sweep: several processes
    /// share it.
    ///
    /// # Errors
    /// As [`keep_in`](Self::keep_in), or the store cannot be written.
    pub fn share_in(&mut self, store: Store) -> Result<(), Diagnostic> {
        claim::claim(&store, &self.runs)?;
        self.store = Some(store);
        Ok(())
    }

    /// Returns the results of runs of this scenario, with the means over seeds.
    #[must_use]
    pub fn results(&self, runs: Vec<Run>) -> Results {
        summary::results(self.record(), runs)
    }
}

/// Threads that read from a remote place. They wait for its answers most of the time.
const READERS: usize = 32;
