//! Scenarios: values that are changed by making a new one.

use std::path::Path;

use goodqueue_scenario::library;
use goodqueue_scenario::runs::{Jobs as _, Runs};
use goodqueue_scenario::scenario::{Document, Names, Overrides};
use goodqueue_scenario::sweep::Sweep;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::raised;
use crate::toml;

/// One bottleneck with its traffic, the disciplines to compare, and a sweep.
#[pyclass(frozen, module = "goodqueue")]
pub(crate) struct Scenario {
    pub(crate) document: Document,
}

#[pymethods]
impl Scenario {
    /// Returns the load of `goodqueue compare` without arguments.
    #[new]
    fn new() -> Self {
        Self { document: Document::default() }
    }

    /// Reads a scenario file, or a built-in scenario by its name.
    #[staticmethod]
    fn load(name: &str) -> PyResult<Self> {
        let document = library::load(name).map_err(|error| raised(&error))?;
        Ok(Self { document })
    }

    /// Reads a scenario from the text of a scenario file.
    #[staticmethod]
    #[pyo3(signature = (text, name = "scenario"))]
    fn parse(text: &str, name: &str) -> PyResult<Self> {
        let document = Document::parse(name, text, Path::new("")).map_err(|error| raised(&error))?;
        Ok(Self { document })
    }

    /// Returns the scenario with another value of `key`, such as `link.up` or `flows.0.count`.
    fn set(&self, key: &str, value: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut document = self.document.clone();
        document.set(key, key, &toml::text(value)?).map_err(|error| raised(&error))?;
        Ok(Self { document })
    }

    /// Returns the scenario with the options of `goodqueue compare`. Two for the same key are an
    /// error, as in the command.
    #[pyo3(signature = (
        *, rate = None, up = None, rtt = None, trace_down = None, trace_up = None, flows = None, time = None,
        seed = None, seeds = None, qdiscs = Vec::new(), set = None
    ))]
    #[expect(clippy::too_many_arguments, reason = "Python passes options by name")]
    fn with_options(
        &self,
        rate: Option<String>,
        up: Option<String>,
        rtt: Option<String>,
        trace_down: Option<String>,
        trace_up: Option<String>,
        flows: Option<u64>,
        time: Option<String>,
        seed: Option<u64>,
        seeds: Option<u64>,
        qdiscs: Vec<String>,
        set: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let assignment = |(key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| -> PyResult<String> {
            Ok(format!("{}={}", key.extract::<String>()?, toml::text(&value)?))
        };
        let set = set.into_iter().flatten().map(assignment).collect::<PyResult<Vec<String>>>()?;
        let number = |number: Option<u64>| number.map(|number| number.to_string());
        let (flows, seed, seeds) = (number(flows), number(seed), number(seeds));
        let beside = Vec::new();
        let options =
            Overrides { rate, up, rtt, trace_down, trace_up, flows, time, seed, seeds, qdiscs, set, beside };
        let mut document = self.document.clone();
        document.apply(&options).map_err(|error| raised(&error))?;
        Ok(Self { document })
    }

    /// Returns the number of runs: sweep points times disciplines times seeds. Checks the scenario.
    fn count(&self) -> PyResult<usize> {
        Ok(self.runs(None)?.count())
    }

    /// Returns the resolved scenario as JSON.
    fn to_json(&self) -> PyResult<String> {
        let runs = self.runs(None)?;
        let first = runs.scenario().map_err(|error| raised(&error))?;
        Ok(runs.to_json(&first).to_string())
    }
}

impl Scenario {
    /// Returns the runs of the scenario, with time series in steps of `series`.
    pub(crate) fn runs(&self, series: Option<goodqueue::Duration>) -> PyResult<Runs<'static>> {
        let sweep = Sweep::new(&self.document, &Names::default()).map_err(|error| raised(&error))?;
        Runs::new(sweep, series).map_err(|error| raised(&error))
    }
}
