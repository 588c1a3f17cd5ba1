//! Simulation in threads, while Python stays responsive.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use goodqueue_scenario::results::Run;
use goodqueue_scenario::run::{Watch, execute, results};
use goodqueue_scenario::runs::Jobs as _;
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tc::units;
use pyo3::prelude::*;

use crate::errors::raised;
use crate::results::Results;
use crate::scenario::Scenario;

/// Simulates all runs of a scenario on `jobs` threads (0: one for each processor), without the GIL.
/// `progress` is called several times a second, and at the end, with the number of finished runs
/// and of all runs.
/// Ctrl-C, or an exception in `progress`, stops the runs.
#[pyfunction]
#[pyo3(signature = (scenario, jobs = 0, series = None, progress = None))]
pub(crate) fn simulate(
    py: Python<'_>,
    scenario: &Scenario,
    jobs: usize,
    series: Option<&str>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Results> {
    let step = series.map(|text| units::time(text).map_err(|error| error.in_argument("series", text)));
    let runs = scenario.runs(step.transpose().map_err(|error| raised(&error))?)?;
    let count = runs.count();
    let seen = Seen::default();
    let tell = || {
        progress.as_ref().map_or(Ok(()), |progress| {
            progress.call1((seen.finished.load(Ordering::Relaxed), count)).map(|_| ())
        })
    };
    let mut interruption = Ok(());
    let measured = std::thread::scope(|scope| {
        let simulation = scope.spawn(|| execute::<Run>(&runs, jobs, None, &seen));
        while !simulation.is_finished() {
            py.detach(|| std::thread::park_timeout(PAUSE));
            interruption = py.check_signals().and_then(|()| tell());
            if interruption.is_err() {
                seen.cancelled.store(true, Ordering::Relaxed);
                break;
            }
        }
        py.detach(|| simulation.join())
    });
    interruption?;
    tell()?;
    let measured = measured.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    let measured: Result<Vec<Run>, Diagnostic> = measured.map(|runs| runs.into_iter().flatten().collect());
    let measured = measured.map_err(|error| raised(&error))?;
    let first = runs.scenario().map_err(|error| raised(&error))?;
    Ok(Results::new(results(runs.to_json(&first), measured)))
}

/// What Python reads and writes while the threads simulate.
#[derive(Default)]
struct Seen {
    finished: AtomicUsize,
    cancelled: AtomicBool,
}

impl Watch for Seen {
    fn finished(&self, _: usize, _: bool) {
        self.finished.fetch_add(1, Ordering::Relaxed);
    }

    fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}

/// Time between two looks at signals and progress. Short, so that a short run returns at once.
const PAUSE: Duration = Duration::from_millis(20);
