//! All runs of a scenario: those that are stored, those that this process simulates, and those that
//! other processes hand in.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use goodqueue::random::mix_64;
use goodqueue_cli::stores::open_objects;
use goodqueue_scenario::results::Run;
use goodqueue_scenario::run::Runs as _;
use goodqueue_scenario::run::series::Steps;
use goodqueue_scenario::series_step;
use goodqueue_scenario::session::Session;
use goodqueue_scenario::store::{PlaceName, Store, StoredRun, this_program};
use goodqueue_tc::diagnostic::Diagnostic;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::aqm::Factories;
use crate::errors::{Error, guarded, of_store, raised};
use crate::results::Results;
use crate::running;
use crate::scenario::Scenario;

/// The runs of a scenario with their results, as far as they are known.
#[pyclass(frozen, module = "goodqueue")]
pub(crate) struct Sweep {
    session: Session,
    aqms: Factories,
    found: Mutex<Vec<Option<Run>>>,
    /// Files with the packets of all runs.
    #[pyo3(get)]
    packets: Vec<PathBuf>,
}

#[pymethods]
impl Sweep {
    /// Resolves all runs of `scenario`, and reads those that are in `store` (a folder or a URL),
    /// unless `read` is false. With `claimed` the store then belongs to this sweep, as one that
    /// shards use.
    #[new]
    #[pyo3(signature = (scenario, series = None, store = None, packets = None, claimed = false, read = true))]
    fn new(
        py: Python<'_>,
        scenario: &Scenario,
        series: Option<&str>,
        store: Option<PathBuf>,
        packets: Option<PathBuf>,
        claimed: bool,
        read: bool,
    ) -> PyResult<Self> {
        let given = match series {
            Some(text) => {
                Some(series_step::parse(text).map_err(|error| raised(&error.in_argument("series", text)))?)
            }
            None => None,
        };
        let outline = scenario.outline()?;
        let steps = match (given.or(outline.scenario().output.series), &store) {
            (step, None) => Steps::Given(step),
            (None, Some(_)) => Steps::Unasked,
            (asked, Some(_)) => Steps::Kept { asked, are_needed: false },
        };
        let mut session = guarded(|| outline.session(steps).map_err(|error| raised(&error)))?;
        // The store of another process may keep the results, which would miss them otherwise.
        session.keep_tc_stats();
        let files = match &packets {
            Some(target) => session
                .write_packets(target)
                .map_err(|error| raised(&error.in_argument("packets", &target.display().to_string())))?,
            None => Vec::new(),
        };
        let (session, found) = py
            .detach(|| -> Result<(Session, Vec<Option<Run>>), Diagnostic> {
                match store.map(open_store).transpose()? {
                    Some(store) if claimed => session.share_in(store)?,
                    Some(store) => session.keep_in(store)?,
                    None => {}
                }
                let found = if read {
                    session.known()?.into_iter().map(StoredRun::whole).collect()
                } else {
                    (0..session.count()).map(|_| None).collect()
                };
                Ok((session, found))
            })
            .map_err(|error| of_store(&error))?;
        Ok(Self { session, aqms: scenario.aqms.clone(), found: Mutex::new(found), packets: files })
    }

    /// Number of runs.
    fn count(&self) -> usize {
        self.session.count()
    }

    /// Numbers of the runs without a result.
    fn missing(&self) -> Vec<usize> {
        self.found().iter().enumerate().filter(|(_, run)| run.is_none()).map(|(number, _)| number).collect()
    }

    /// Simulates the runs with these numbers that have no result yet, on `jobs` threads (0: one for
    /// each processor), without the GIL. `progress` is called several times a second, and at the
    /// end, with the number of finished runs and of all runs. Ctrl-C, or an exception in
    /// `progress`, stops the runs. Finished ones are kept.
    #[pyo3(signature = (numbers, jobs = 0, progress = None))]
    fn simulate(
        &self,
        py: Python<'_>,
        numbers: Vec<usize>,
        jobs: usize,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let mut numbers = numbers;
        numbers.retain(|number| self.found().get(*number).is_some_and(Option::is_none));
        // The code of an AQM written in Python may change, so its runs are not kept.
        let (changing, lasting) = if self.aqms.is_empty() {
            (Vec::new(), numbers)
        } else {
            let is_changing = |number: &usize| -> Result<bool, Diagnostic> {
                Ok(self.session.spec(*number)?.key.contains(AQM))
            };
            let mut parts = (Vec::new(), Vec::new());
            for number in numbers {
                let part = is_changing(&number).map_err(|error| raised(&error))?;
                if part { parts.0.push(number) } else { parts.1.push(number) }
            }
            parts
        };
        for (numbers, is_kept) in [(lasting, true), (changing, false)] {
            let part = self.session.part(numbers.clone()).threads(jobs);
            let part = if is_kept { part } else { part.with_store(None) };
            let known = self.count() - self.missing().len();
            let told = running::Told { progress: progress.as_ref(), known, all: self.count() };
            let (measured, outcome) = running::simulate(py, &part, &self.aqms, &told);
            let mut found = self.found();
            for (number, run) in numbers.into_iter().zip(measured) {
                found[number] = run;
            }
            drop(found);
            // Only then, because finished runs are kept even if an exception ended the others.
            outcome?;
        }
        Ok(())
    }

    /// Returns a checksum of everything that determines the runs with these numbers.
    fn checksum(&self, numbers: Vec<usize>) -> PyResult<u64> {
        let mut sum = 0;
        for number in numbers {
            let run = self.session.spec(number).map_err(|error| raised(&error))?;
            sum =
                run.key.bytes().fold(mix_64(sum ^ number as u64), |sum, byte| mix_64(sum ^ u64::from(byte)));
        }
        Ok(sum)
    }

    /// Returns the results of the runs with these numbers as bytes for `take_in`, and forgets them.
    fn hand_out<'py>(&self, py: Python<'py>, numbers: Vec<usize>) -> PyResult<Bound<'py, PyBytes>> {
        let text = py.detach(|| {
            let mut found = self.found();
            let chosen = numbers.iter().filter_map(|number| found.get_mut(*number).map(Option::take));
            serde_json::to_vec(&chosen.collect::<Vec<Option<Run>>>())
        });
        Ok(PyBytes::new(py, &text.map_err(|error| Error::new_err(error.to_string()))?))
    }

    /// Takes results that another process handed out for these numbers, and keeps them.
    fn take_in(&self, py: Python<'_>, numbers: Vec<usize>, bytes: &[u8]) -> PyResult<()> {
        py.detach(|| {
            let runs: Vec<Option<Run>> = serde_json::from_slice(bytes)
                .map_err(|error| Error::new_err(format!("these are no results of runs: {error}")))?;
            for (number, run) in numbers.into_iter().zip(runs) {
                let Some(mut run) = run else { continue };
                if self.session.store().is_some() {
                    let spec = self.session.spec(number).map_err(|error| raised(&error))?;
                    if !spec.key.contains(AQM) {
                        self.session.keep(number, &mut run).map_err(|error| of_store(&error))?;
                    }
                }
                if let Some(place) = self.found().get_mut(number) {
                    *place = Some(run);
                }
            }
            Ok(())
        })
    }

    /// Returns the results of all runs that have one.
    fn results(&self) -> Results {
        Results::new(self.session.results(self.found().iter().flatten().cloned().collect()))
    }
}

impl Sweep {
    fn found(&self) -> MutexGuard<'_, Vec<Option<Run>>> {
        // Each place is whole, even after a panic.
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Opens the store in a folder, or at a URL.
fn open_store(folder: PathBuf) -> Result<Store, Diagnostic> {
    let named = folder.to_str().map_or_else(|| Ok(PlaceName::Folder(folder.clone())), PlaceName::parse)?;
    match named {
        PlaceName::Objects(url) => open_objects(&url, BUILD),
        PlaceName::Folder(folder) => Store::open(&folder.join("runs")),
    }
}

/// Returns the version of this program and its checksum. Results of programs with other ones are
/// not mixed.
#[pyfunction]
pub(crate) fn program() -> PyResult<(&'static str, String)> {
    let sum = this_program().map_err(|error| raised(&error))?;
    Ok((env!("CARGO_PKG_VERSION"), format!("{sum:016x}")))
}

/// The line of an AQM written in Python.
const AQM: &str = "python aqm ";
/// Builds this package with object stores, in a checkout.
const BUILD: &str = "pip install ./python --config-settings=build-args='--features object-store'";
