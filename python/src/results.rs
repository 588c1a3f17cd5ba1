//! Results of runs.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use goodqueue_report::{Options, terminal};
use goodqueue_scenario::export::{self, Contents, Format};
use goodqueue_scenario::files::{self, Existing, StreamedFile};
use goodqueue_scenario::metrics;
use goodqueue_tc::diagnostic::Diagnostic;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

use crate::errors::{Error, guarded, raised};
use crate::frame::Table;

/// Results of all runs of a scenario.
#[pyclass(frozen, module = "goodqueue")]
pub(crate) struct Results {
    results: goodqueue_scenario::results::Results,
}

impl Results {
    pub(crate) const fn new(results: goodqueue_scenario::results::Results) -> Self {
        Self { results }
    }
}

#[pymethods]
impl Results {
    /// Reads results that `to_json` or the command wrote.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Self> {
        let results = serde_json::from_str(text);
        results.map(Self::new).map_err(|error| {
            Error::new_err(format!("this is not the JSON of results: {error}\n  help: read a file that `to_json` or `goodqueue compare --json` wrote"))
        })
    }

    /// Returns the results as JSON.
    fn to_json(&self) -> PyResult<String> {
        serde_json::to_string(&self.results).map_err(|error| Error::new_err(error.to_string()))
    }

    /// Returns the tables that `goodqueue compare` prints.
    fn tables(&self) -> PyResult<String> {
        guarded(|| {
            let headline = terminal::headline(&self.results.scenario, "simulated");
            let tables = terminal::tables(&self.results, terminal::View::Short(COLUMNS));
            Ok(format!("{headline}\n{tables}"))
        })
    }

    /// Returns the most important metrics as a small piece of HTML.
    fn glance(&self) -> PyResult<String> {
        guarded(|| Ok(goodqueue_report::glance(&self.results)))
    }

    /// Returns the report as a self-contained HTML page.
    #[pyo3(signature = (title = None))]
    fn html(&self, title: Option<String>) -> PyResult<String> {
        let options = title.into_iter().fold(Options::default(), Options::title);
        guarded(|| Ok(goodqueue_report::html(&self.results, &options)))
    }

    /// Returns the link and the traffic in one line.
    fn headline(&self, varied: Vec<String>) -> PyResult<String> {
        guarded(|| Ok(terminal::headline_of_sweep(&self.results.scenario, "simulated", &varied)))
    }

    /// Returns the name and the unit in tables of each metric, by its key.
    fn metrics(&self) -> BTreeMap<String, (String, &'static str)> {
        let runs: Vec<_> = self.results.runs.iter().collect();
        let groups = metrics::catalogue(&runs);
        let named = metrics::by_key(&groups).into_iter().map(|of| {
            let title = &of.group.title;
            let name = &of.metric.name;
            let way = of.direction.name();
            let words = if name == way {
                format!("{title} {way}")
            } else if of.key.contains(way) {
                format!("{title} {way}, {name}")
            } else {
                format!("{title}, {name}")
            };
            (of.key, (words, of.metric.unit))
        });
        named.collect()
    }

    /// Returns the table with a row for each run.
    fn table(&self, py: Python<'_>) -> Table {
        Table::new(py.detach(|| export::runs::frame(&self.results)))
    }

    /// Returns the table of all time series.
    fn series(&self, py: Python<'_>) -> Table {
        Table::new(py.detach(|| export::samples::frame(&self.results)))
    }

    /// Writes the results in the format that the end of `path` names. Returns the files.
    fn export(&self, path: PathBuf) -> PyResult<Vec<PathBuf>> {
        let shown = path.display().to_string();
        let mut failed = None;
        let written = guarded(|| {
            let place = &mut |path: &Path, existing, contents: &mut Contents<'_>| {
                let mut write = || {
                    let mut file = StreamedFile::create(path, existing)?;
                    contents(&mut file)?;
                    file.finish()
                };
                write().map_err(|error| {
                    failed = Some(unwritable(path, &error));
                    Diagnostic::new(error.to_string())
                })
            };
            let files = Format::from_path(&path).and_then(|format| format.write(&path, &self.results, place));
            files.map_err(|error| raised(&error.in_argument("export", &shown)))
        });
        // Programs expect an `OSError` of a file that cannot be written.
        failed.map_or(written, Err)
    }

    /// Writes text to a file that appears completely or not at all.
    #[staticmethod]
    fn write(path: PathBuf, text: &str) -> PyResult<()> {
        write(&path, text.as_bytes(), Existing::Used)
    }

    fn __len__(&self) -> usize {
        self.results.runs.len()
    }
}

fn write(path: &Path, contents: &[u8], existing: Existing) -> PyResult<()> {
    files::write_whole(path, contents, existing).map_err(|error| unwritable(path, &error))
}

fn unwritable(path: &Path, why: &io::Error) -> PyErr {
    PyOSError::new_err(format!("`{}` cannot be written: {why}", path.display()))
}

/// Columns of a table: those of most terminals and notebooks.
const COLUMNS: usize = 80;
