//! Simulation in threads, while Python stays responsive.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use goodqueue_scenario::results::Run;
use goodqueue_scenario::run::{RunSpec, Runs};
use goodqueue_scenario::session::{Session, Watch};
use pyo3::prelude::*;

use crate::aqm::{self, Factories};
use crate::errors::{of_panic, of_store, warn};

/// Who is told of the progress, and what is known before.
pub(crate) struct Told<'p, 'py> {
    pub(crate) progress: Option<&'p Bound<'py, PyAny>>,
    /// Runs that have a result already.
    pub(crate) known: usize,
    /// All runs.
    pub(crate) all: usize,
}

/// Makes the runs of `session`, and returns their results; `None` for one that did not finish.
/// Ctrl-C, an exception in `progress` or in an AQM stops all.
pub(crate) fn simulate(
    py: Python<'_>,
    session: &Session<impl Runs>,
    aqms: &Factories,
    told: &Told<'_, '_>,
) -> (Vec<Option<Run>>, PyResult<()>) {
    if session.count() == 0 {
        return (Vec::new(), Ok(()));
    }
    let seen = Seen {
        aqms,
        finished: AtomicUsize::new(0),
        cancelled: AtomicBool::new(false),
        failure: Mutex::new(None),
        spoilt: Mutex::new(Vec::new()),
    };
    let tell = || {
        told.progress.map_or(Ok(()), |progress| {
            progress.call1((told.known + seen.finished.load(Ordering::Relaxed), told.all)).map(|_| ())
        })
    };
    let mut interruption = Ok(());
    let finished = std::thread::scope(|scope| {
        let simulation = scope.spawn(|| session.run(&seen));
        while !simulation.is_finished() {
            // AQMs written in Python need the GIL in their threads.
            py.detach(|| std::thread::park_timeout(PAUSE));
            interruption = py.check_signals().and_then(|()| tell());
            if interruption.is_err() {
                seen.cancelled.store(true, Ordering::Relaxed);
                break;
            }
        }
        py.detach(|| simulation.join())
    });
    let finished = match finished {
        Ok(Ok(finished)) => finished,
        Ok(Err(error)) => return (Vec::new(), Err(of_store(&error))),
        Err(panic) => return (Vec::new(), Err(of_panic(&*panic))),
    };
    let mut measured = finished.all;
    for spoilt in seen.spoilt.into_inner().unwrap_or_else(PoisonError::into_inner) {
        measured[spoilt] = None;
    }
    for file in finished.damaged {
        let warned = warn(py, &format!("a stored run is damaged, so it is simulated again: {file}"));
        // An error if the caller turned warnings into exceptions.
        if interruption.is_ok() {
            interruption = warned;
        }
    }
    let failure = seen.failure.into_inner().unwrap_or_else(PoisonError::into_inner);
    let outcome = match (failure, interruption) {
        (Some(failure), _) => Err(failure),
        (None, interruption) => interruption.and_then(|()| {
            told.progress.map_or(Ok(()), |progress| {
                progress.call1((told.known + measured.iter().flatten().count(), told.all)).map(|_| ())
            })
        }),
    };
    (measured, outcome)
}

/// What Python reads and writes while the threads simulate.
struct Seen<'s> {
    aqms: &'s Factories,
    finished: AtomicUsize,
    cancelled: AtomicBool,
    /// The first exception of an AQM.
    failure: Mutex<Option<PyErr>>,
    /// Runs that ended although their AQM had failed.
    spoilt: Mutex<Vec<usize>>,
}

impl Seen<'_> {
    /// Stops all runs if an AQM of this thread's run has failed. Returns true if so.
    fn look_for_failure(&self) -> bool {
        if self.aqms.is_empty() {
            return false;
        }
        let Some(failure) = aqm::take_failure() else { return false };
        self.cancelled.store(true, Ordering::Relaxed);
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failure);
        true
    }
}

impl Watch for Seen<'_> {
    fn started(&self, _: usize, run: &RunSpec) {
        if !self.aqms.is_empty() {
            let point = run.labels.sweep.iter().map(|(key, value)| format!(", {key} = {value}"));
            let point: String = point.collect();
            let name = format!("the run with `{}`, seed {}{point}", run.labels.qdisc, run.config.seed);
            aqm::begin(self.aqms, name);
        }
    }

    fn finished(&self, number: usize, _: &Run, _: bool) {
        if self.look_for_failure() {
            // The AQM failed after the last look: this result is not that of the AQM.
            self.spoilt.lock().unwrap_or_else(PoisonError::into_inner).push(number);
        }
        self.finished.fetch_add(1, Ordering::Relaxed);
    }

    fn is_cancelled(&self) -> bool {
        self.look_for_failure();
        self.cancelled.load(Ordering::Relaxed)
    }
}

/// Time between two looks at signals and progress. Short, so that a short run returns at once.
const PAUSE: Duration = Duration::from_millis(20);
