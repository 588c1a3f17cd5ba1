//! Running scenarios. Every combination of discipline, sweep point and seed is one job. Jobs share
//! nothing and run in parallel.

mod job;
pub mod series;

use std::num::NonZero;
use std::sync::atomic::{AtomicBool, Ordering};

use goodqueue_sim as sim;
use goodqueue_tc::diagnostic::Diagnostic;
use rayon::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::export::packets::PacketLog;
use crate::measure;
use crate::results::{Results, Run};
use crate::run::series::SeriesUse;
use crate::runs::Jobs;
use crate::store::{Damaged, Found, Store};
pub use job::{Job, PacketFile, PointRuns, Wanted, jobs};

/// The measurements that are kept of a run.
pub trait Measured: Serialize + DeserializeOwned + Send {
    /// Measures a simulated run.
    fn measure(job: &Job, outcome: &sim::Outcome) -> Self;

    /// Returns the metrics that every run has.
    fn run(&self) -> &Run;

    /// Returns these metrics for changes.
    fn run_mut(&mut self) -> &mut Run;
}

impl Measured for Run {
    fn measure(job: &Job, outcome: &sim::Outcome) -> Self {
        measure::run(job.labels.clone(), &job.config, outcome)
    }

    fn run(&self) -> &Run {
        self
    }

    fn run_mut(&mut self) -> &mut Run {
        self
    }
}

/// Observes the progress of jobs and may cancel them.
pub trait Watch: Sync {
    /// A job, by its number, is simulated next, on the thread that calls this.
    fn started(&self, job: usize) {
        let _ = job;
    }

    /// A job, by its number, has come this far: a fraction from 0 to 1.
    fn advanced(&self, job: usize, fraction: f64) {
        let _ = (job, fraction);
    }

    /// A job has finished, or its result was there already.
    fn finished(&self, job: usize, stored: bool) {
        let _ = (job, stored);
    }

    /// A stored result does not have all that is wanted now (packets, series in another step), so
    /// the job is simulated again.
    fn repeated(&self, job: usize) {
        let _ = job;
    }

    /// The file of a job in the store cannot be used, so the job is simulated and its file
    /// replaced.
    fn damaged(&self, job: usize, file: &Damaged) {
        let _ = (job, file);
    }

    /// Returns true if a job, by its number, may end now, because its values are known well enough.
    /// Its result is that of the time until then. Jobs whose results are stored always run to their
    /// end.
    fn knows_enough(&self, job: usize, so_far: sim::SoFar<'_>) -> bool {
        let _ = (job, so_far);
        false
    }

    /// Returns true to stop: running jobs are abandoned, and no further job starts.
    fn is_cancelled(&self) -> bool {
        false
    }

    /// CPU time of this thread in seconds, if runs are to be timed.
    fn cpu_time(&self) -> Option<f64> {
        None
    }
}

/// A watch that ignores all events.
#[derive(Clone, Copy, Debug)]
pub struct Unwatched;

impl Watch for Unwatched {}

/// Runs `jobs` on `threads` threads (0: one for each processor; at most one for each job). The
/// results are in the order of the jobs; an unfinished job has no result. Results in `store` are
/// used, and new results are added to it.
///
/// # Errors
/// A job that cannot run, or a store that cannot be written.
pub fn execute<M: Measured>(
    jobs: &(impl Jobs + ?Sized),
    threads: usize,
    store: Option<&Store>,
    watch: &dyn Watch,
) -> Result<Vec<Option<M>>, Diagnostic> {
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    let threads = if threads == 0 { processors } else { threads };
    let one = |number: usize| -> Result<Option<M>, Diagnostic> {
        if watch.is_cancelled() {
            return Ok(None);
        }
        let job = &*jobs.job(number)?;
        if let Some(store) = store {
            match stored(job, store)? {
                Found::Whole(kept) => {
                    watch.finished(number, true);
                    return Ok(Some(kept));
                }
                Found::Damaged(file) => watch.damaged(number, &file),
                Found::Absent if store.has(&job.key)? => watch.repeated(number),
                Found::Absent => {}
            }
        }
        let mut run: Option<M> = simulate(number, job, store.is_none(), watch)?;
        if let (Some(store), Some(run)) = (store, &mut run) {
            keep(job, run, store)?;
        }
        if let Some(run) = &mut run {
            drop_unwanted(job, run);
            watch.finished(number, false);
        }
        Ok(run)
    };
    if threads.min(jobs.count()) <= 1 {
        // On this thread: a browser has no others.
        return (0..jobs.count()).map(one).collect();
    }
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads.min(jobs.count()))
        .build()
        .map_err(|error| Diagnostic::new(format!("threads cannot be started: {error}")))?;
    // Each thread takes one job at a time. By default it takes several neighbouring jobs. Near the
    // end, one thread would then still have several jobs while the others have none. A resumed
    // sweep would suffer most, because its missing jobs are neighbours.
    pool.install(|| in_order(jobs.count(), one))
}

/// Calls `one` with each number below `count` on the threads of the pool, and returns the results
/// in their order. After an error it is not called again.
pub(crate) fn in_order<T: Send>(
    count: usize,
    one: impl Fn(usize) -> Result<T, Diagnostic> + Sync,
) -> Result<Vec<T>, Diagnostic> {
    let has_failed = AtomicBool::new(false);
    let unless_failed = |number: usize| {
        (!has_failed.load(Ordering::Relaxed))
            .then(|| one(number).inspect_err(|_| has_failed.store(true, Ordering::Relaxed)))
    };
    // The threads write into one list. Collecting into a `Result` would join the lists of all
    // threads, and hold every result twice meanwhile.
    let mut all = Vec::new();
    (0..count).into_par_iter().with_max_len(1).map(unless_failed).collect_into_vec(&mut all);
    all.into_iter().flatten().collect()
}

/// The stored result of a job, if it has all that the job wants.
///
/// # Errors
/// The store cannot be reached.
pub fn stored<M: Measured>(job: &Job, store: &Store) -> Result<Found<M>, Diagnostic> {
    if !job.packets.is_empty() {
        return Ok(Found::Absent);
    }
    let mut found: Found<M> = match (job.series, job.config.series_step) {
        (SeriesUse::AnyStep | SeriesUse::ThisStep, Some(step)) => {
            let any_step = job.series == SeriesUse::AnyStep;
            let found = store.load_with_series::<M, _>(&job.key, step.as_nanos(), any_step)?;
            found.and_then(|(mut kept, series)| {
                kept.run_mut().series = Some(series);
                Some(kept)
            })
        }
        _ => store.load(&job.key)?,
    };
    if let Found::Whole(kept) = &mut found {
        // The metrics are the same, but the labels in this scenario may differ.
        let run = kept.run_mut();
        run.qdisc.clone_from(&job.labels.qdisc);
        run.sweep.clone_from(&job.labels.sweep);
        drop_unwanted(job, kept);
    }
    Ok(found)
}

/// Frees the parts of a result that nobody wants until all runs have finished.
fn drop_unwanted(job: &Job, measured: &mut impl Measured) {
    if !job.wanted.tc_stats {
        measured.run_mut().tc_stats = None;
    }
}

/// Keeps the result of a job in the store. The result loses time series that are for the store
/// only.
///
/// # Errors
/// The store cannot be written.
pub fn keep<M: Measured>(job: &Job, measured: &mut M, store: &Store) -> Result<(), Diagnostic> {
    if job.series == SeriesUse::InResult {
        return store.save(&job.key, measured);
    }
    let Some((step, series)) = job.config.series_step.zip(measured.run_mut().series.take()) else {
        return store.save(&job.key, measured);
    };
    store.save_with_series(&job.key, measured, step.as_nanos(), &series)?;
    measured.run_mut().series = Some(series).filter(|_| job.series.is_in_result());
    Ok(())
}

/// All of a scenario's runs as a result.
#[must_use]
pub fn results(scenario: serde_json::Value, runs: Vec<Run>) -> Results {
    let summary = crate::summary::over_seeds(&runs);
    Results { goodqueue: env!("CARGO_PKG_VERSION").to_owned(), scenario, runs, summary }
}

fn simulate<M: Measured>(
    number: usize,
    job: &Job,
    may_end_early: bool,
    watch: &dyn Watch,
) -> Result<Option<M>, Diagnostic> {
    watch.started(number);
    // Before the first event, nothing else looks whether the user has interrupted the command.
    for flow in &job.config.flows {
        if watch.is_cancelled() {
            return Ok(None);
        }
        flow.traffic.prepare();
    }
    let begun = watch.cpu_time();
    let total = job.config.duration.as_nanos().max(1);
    let mut cancelled = false;
    let mut watched = |so_far: sim::SoFar<'_>| {
        cancelled = watch.is_cancelled();
        watch.advanced(number, fraction(so_far.now().as_nanos(), total));
        let is_known = may_end_early && watch.knows_enough(number, so_far);
        !(cancelled || is_known)
    };
    let simulated = sim::Run::new(&job.config);
    let outcome = if job.packets.is_empty() {
        simulated.and_then(|run| run.to_end(watched, None))
    } else {
        let mut packets = PacketLog::create(job)?;
        let outcome = simulated.and_then(|run| run.to_end(&mut watched, Some(&mut packets)));
        if !cancelled {
            packets.finish()?;
        }
        outcome
    };
    let outcome = outcome.map_err(|error| {
        let message = Diagnostic::new(error.to_string());
        match error {
            sim::RunError::Config(_) => message,
            sim::RunError::TooManyProbes { .. } => message.help(
                "have fewer pings and calls, longer intervals between their packets, or a shorter duration",
            ),
            sim::RunError::TooManyPackets(_) => message
                .prefixed(&format!("the run with `{}` and seed {}", job.labels.qdisc, job.config.seed))
                .help("lower the `limit` of the discipline, the rates of the flows, or the delays"),
        }
    })?;
    if cancelled {
        return Ok(None);
    }
    let mut measured = M::measure(job, &outcome);
    measured.run_mut().engine.cpu_s = begun.zip(watch.cpu_time()).map(|(begin, end)| end - begin);
    Ok(Some(measured))
}

#[expect(clippy::cast_precision_loss, reason = "a fraction for a progress bar")]
fn fraction(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}
