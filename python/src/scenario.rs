//! Scenarios: values that are changed by making a new one.

use std::path::{Path, PathBuf};

use goodqueue_scenario::library;
use goodqueue_scenario::run::Runs as _;
use goodqueue_scenario::scenario::{Document, Overrides};
use goodqueue_scenario::session::{Outline, Session};
use goodqueue_tc::diagnostic::Diagnostic;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};
use serde::{Deserialize, Serialize};

use crate::aqm::{Factories, disciplines};
use crate::errors::{Error, guarded, raised, warn_of};
use crate::options;
use crate::toml;

/// One bottleneck with its traffic, the disciplines to compare, and a sweep.
#[pyclass(frozen, module = "goodqueue")]
pub(crate) struct Scenario {
    document: Document,
    changes: Vec<Change>,
    pub(crate) aqms: Factories,
}

/// A change since the scenario was read.
#[derive(Clone, Serialize, Deserialize)]
enum Change {
    /// Another value of a key, as TOML.
    Set {
        key: String,
        value: String,
    },
    Options(Box<Overrides>),
}

impl Change {
    fn apply(&self, document: &mut Document) -> Result<(), Diagnostic> {
        match self {
            Self::Set { key, value } => document.set(key, key, value),
            Self::Options(options) => document.apply(options),
        }
    }
}

/// The arguments with which another process makes the scenario.
type Arguments = (String, Vec<Py<PyAny>>);

/// A scenario on its way to another process.
#[derive(Serialize, Deserialize)]
struct Packed {
    /// Name, text and folder of the file that was read.
    written: Option<(String, String, PathBuf)>,
    changes: Vec<Change>,
}

#[pymethods]
impl Scenario {
    /// Returns the load of `goodqueue compare` without arguments, or a packed scenario.
    #[new]
    #[pyo3(signature = (packed = None, aqms = Vec::new()))]
    fn new(packed: Option<&str>, aqms: Vec<Py<PyAny>>) -> PyResult<Self> {
        let aqms = Factories::from(aqms);
        let Some(packed) = packed else { return Ok(Self::of(Document::default())) };
        let packed: Packed = serde_json::from_str(packed).map_err(|error| {
            Error::new_err(format!(
                "this is not a packed scenario: {error}\n  help: `Scenario.parse` reads text"
            ))
        })?;
        let mut document = match &packed.written {
            Some((name, text, folder)) => {
                Document::parse(name, text, folder).map_err(|error| raised(&error))?
            }
            None => Document::default(),
        };
        for change in &packed.changes {
            change.apply(&mut document).map_err(|error| raised(&error))?;
        }
        Ok(Self { document: with_aqms(document, &aqms), changes: packed.changes, aqms })
    }

    /// Packs the scenario for `pickle`.
    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyType>, Arguments)> {
        let class = this.get_type();
        let scenario = this.get();
        Ok((class, (scenario.packed()?, scenario.aqms.to_list(this.py()))))
    }

    /// Returns the scenario as text that no other scenario has, except for AQMs written in Python.
    fn packed(&self) -> PyResult<String> {
        let written = self.document.written();
        let written =
            written.map(|(name, text, folder)| (name.to_owned(), text.to_owned(), folder.to_owned()));
        let packed = Packed { written, changes: self.changes.clone() };
        serde_json::to_string(&packed).map_err(|error| Error::new_err(error.to_string()))
    }

    /// True if disciplines of the scenario are written in Python.
    fn uses_python(&self) -> bool {
        !self.aqms.is_empty()
    }

    /// Reads a scenario file, or a built-in scenario by its name.
    #[staticmethod]
    fn load(py: Python<'_>, name: &str) -> PyResult<Self> {
        let loaded = guarded(|| library::load(name).map(Self::of).map_err(|error| raised(&error)))?;
        warn_of(py, &loaded.document.remarks())?;
        Ok(loaded)
    }

    /// Reads a scenario from the text of a scenario file.
    #[staticmethod]
    #[pyo3(signature = (text, name = "scenario"))]
    fn parse(py: Python<'_>, text: &str, name: &str) -> PyResult<Self> {
        let parsed = || Document::parse(name, text, Path::new("")).map(Self::of);
        let parsed = guarded(|| parsed().map_err(|error| raised(&error)))?;
        warn_of(py, &parsed.document.remarks())?;
        Ok(parsed)
    }

    /// Returns the scenario with another value of `key`, such as `link.up` or `flows.0.count`.
    fn set(&self, key: &str, value: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = value.py();
        let mut aqms = self.aqms.clone();
        let value = toml::text(key, value, &mut aqms)?;
        self.changed(py, Change::Set { key: key.to_owned(), value }, aqms)
    }

    /// Returns the scenario with the options of a request. Two for the same key are an error, as in
    /// the command.
    #[pyo3(signature = (**options))]
    fn with_options(&self, py: Python<'_>, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let mut aqms = self.aqms.clone();
        let options = options::read(options, &mut aqms)?;
        self.changed(py, Change::Options(Box::new(options)), aqms)
    }

    /// Returns the number of runs: sweep points times disciplines times seeds. Checks the scenario.
    fn count(&self) -> PyResult<usize> {
        Ok(self.session()?.count())
    }

    /// Returns the resolved scenario as JSON.
    fn to_json(&self) -> PyResult<String> {
        Ok(self.session()?.record().as_json().to_string())
    }
}

impl Scenario {
    fn of(document: Document) -> Self {
        Self { document, changes: Vec::new(), aqms: Factories::default() }
    }

    /// Returns the scenario with a change, and warns of its remarks that were not known before.
    fn changed(&self, py: Python<'_>, change: Change, aqms: Factories) -> PyResult<Self> {
        let mut document = self.document.clone();
        guarded(|| change.apply(&mut document).map_err(|error| raised(&error)))?;
        let changes = self.changes.iter().cloned().chain([change]).collect();
        let document = with_aqms(document, &aqms);
        let known = self.document.remarks();
        let mut remarks = document.remarks();
        remarks.retain(|remark| !known.contains(remark));
        warn_of(py, &remarks)?;
        Ok(Self { document, changes, aqms })
    }

    /// Returns the scenario with its first point resolved.
    pub(crate) fn outline(&self) -> PyResult<Outline> {
        guarded(|| Outline::new(&self.document).map_err(|error| raised(&error)))
    }

    /// Returns all runs, without time series.
    fn session(&self) -> PyResult<Session> {
        guarded(|| Session::new(&self.document).map_err(|error| raised(&error)))
    }
}

/// Returns the document, whose lines may also name these AQMs.
fn with_aqms(document: Document, aqms: &Factories) -> Document {
    if aqms.is_empty() { document } else { document.with_disciplines(disciplines()) }
}
