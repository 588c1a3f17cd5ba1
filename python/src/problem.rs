//! Scored problems, and policies written in Python.

use std::sync::Mutex;

use goodqueue_agents::{AqmSeen, Candidate, Policy, PolicyMaker, Split, WasmPolicy, problem};
use goodqueue_tc::diagnostic::Diagnostic;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

use crate::errors::{guarded, raised};

/// One control interval at the queue, in SI units: what a policy sees.
#[pyclass(frozen, module = "goodqueue")]
pub(crate) struct Interval {
    seen: AqmSeen,
}

#[pymethods]
impl Interval {
    #[new]
    #[pyo3(signature = (*, backlog = 0.0, sojourn = 0.0, sojourn_max = 0.0, utilization = 0.0, arrived = 0.0,
        dropped = 0.0, marked = 0.0, rate = 0.0, setting = 0.0))]
    #[expect(clippy::too_many_arguments, reason = "Python names each of them")]
    const fn new(
        backlog: f64,
        sojourn: f64,
        sojourn_max: f64,
        utilization: f64,
        arrived: f64,
        dropped: f64,
        marked: f64,
        rate: f64,
        setting: f64,
    ) -> Self {
        let seen =
            AqmSeen { backlog, sojourn, sojourn_max, utilization, arrived, dropped, marked, rate, setting };
        Self { seen }
    }

    #[getter]
    const fn backlog(&self) -> f64 {
        self.seen.backlog
    }

    #[getter]
    const fn sojourn(&self) -> f64 {
        self.seen.sojourn
    }

    #[getter]
    const fn sojourn_max(&self) -> f64 {
        self.seen.sojourn_max
    }

    #[getter]
    const fn utilization(&self) -> f64 {
        self.seen.utilization
    }

    #[getter]
    const fn arrived(&self) -> f64 {
        self.seen.arrived
    }

    #[getter]
    const fn dropped(&self) -> f64 {
        self.seen.dropped
    }

    #[getter]
    const fn marked(&self) -> f64 {
        self.seen.marked
    }

    #[getter]
    const fn rate(&self) -> f64 {
        self.seen.rate
    }

    #[getter]
    const fn setting(&self) -> f64 {
        self.seen.setting
    }

    fn __repr__(&self) -> String {
        let AqmSeen { backlog, sojourn, utilization, setting, .. } = self.seen;
        format!(
            "Interval(backlog={backlog}, sojourn={sojourn}, utilization={utilization}, setting={setting}, ...)"
        )
    }
}

/// A scored problem.
#[pyclass(frozen, module = "goodqueue._goodqueue")]
pub(crate) struct Scorer {
    problem: problem::Problem,
}

/// What is scored.
#[derive(FromPyObject)]
enum Given {
    /// A discipline in tc's grammar.
    Line(String),
    /// A WebAssembly module.
    Module(Vec<u8>),
    /// A callable.
    Function(Py<PyAny>),
}

#[pymethods]
impl Scorer {
    #[new]
    fn new(name: &str) -> PyResult<Self> {
        problem::Problem::by_name(name).map(|problem| Self { problem }).map_err(|error| raised(&error))
    }

    /// The seeds of a panel's lines.
    fn seeds(&self, split: &str, seed: u64) -> PyResult<Vec<u64>> {
        let split = Split::by_name(split).map_err(|error| raised(&error))?;
        Ok(self.problem.seeds(split, seed))
    }

    /// Scores a policy on both panels. Returns JSON.
    fn score(&self, py: Python<'_>, name: &str, policy: Given, seed: u64, jobs: usize) -> PyResult<String> {
        guarded(|| {
            judge(py, policy, jobs, |candidate, jobs| {
                Ok(self.problem.score(name, candidate, seed, jobs)?.to_json_line())
            })
        })
    }

    /// Judges a policy on the training lines. Returns JSON.
    fn train(&self, py: Python<'_>, policy: Given, jobs: usize) -> PyResult<String> {
        guarded(|| {
            judge(py, policy, jobs, |candidate, jobs| {
                let panel = self.problem.panel(candidate, Split::Training, 0, jobs)?;
                Ok(serde_json::to_string(&panel).unwrap_or_default())
            })
        })
    }

    /// The disciplines of the problem's table.
    #[classattr]
    #[pyo3(name = "TABLE")]
    fn table() -> Vec<&'static str> {
        problem::TABLE.to_vec()
    }
}

/// Judges a policy. Disciplines and modules run in threads without the GIL, functions in this
/// thread.
fn judge(
    py: Python<'_>,
    policy: Given,
    jobs: usize,
    work: impl Fn(Candidate<'_>, usize) -> Result<String, Diagnostic> + Send + Sync,
) -> PyResult<String> {
    let judged = match policy {
        Given::Line(line) => py.detach(|| work(Candidate::Qdisc(&line), jobs)),
        Given::Module(bytes) => py.detach(|| {
            let module = WasmPolicy::new(&bytes)?;
            work(Candidate::Policy(&module), jobs)
        }),
        Given::Function(function) => {
            let maker = Function { function, failure: Mutex::new(None) };
            let judged = work(Candidate::Policy(&maker), 1);
            let failure = maker.failure.into_inner().unwrap_or(None);
            return judged.map_err(|error| match failure {
                // Ctrl-C and the like are no failures of the policy.
                Some(cause) if !cause.is_instance_of::<PyException>(py) => cause,
                cause => {
                    let error = raised(&error);
                    error.set_cause(py, cause);
                    error
                }
            });
        }
    };
    judged.map_err(|error| raised(&error))
}

/// A policy that is a Python function.
struct Function {
    function: Py<PyAny>,
    /// The exception that ended the judgement.
    failure: Mutex<Option<PyErr>>,
}

impl Function {
    /// Keeps an exception, and returns it as a message.
    fn keep(&self, what: &str, error: PyErr) -> Diagnostic {
        let message = Diagnostic::new(format!("{what} raised {error}"))
            .help("the exception below this one shows the line of the policy");
        if let Ok(mut failure) = self.failure.lock() {
            *failure = Some(error);
        }
        message
    }
}

impl PolicyMaker for Function {
    fn make(&self) -> Result<Box<dyn Policy + '_>, Diagnostic> {
        Python::attach(|py| {
            let function = self.function.bind(py);
            if !function.is_callable() {
                let kind = function.get_type().to_string();
                return Err(Diagnostic::new(format!("a policy of type {kind} is not possible")).allowed(
                    "a function of one Interval, the bytes or the path of a WebAssembly module, or a tc line",
                ));
            }
            py.check_signals().map_err(|error| self.keep("the scoring", error))?;
            if let Ok(reset) = function.getattr("reset") {
                reset.call0().map_err(|error| self.keep("`reset` of the policy", error))?;
            }
            Ok(())
        })?;
        Ok(Box::new(Call { maker: self, calls: 0 }))
    }
}

/// The policy on one line.
struct Call<'a> {
    maker: &'a Function,
    calls: u32,
}

/// Number of calls between two looks at signals.
const LOOK_EVERY: u32 = 64;

impl Policy for Call<'_> {
    fn decide(&mut self, seen: &AqmSeen) -> Result<f64, Diagnostic> {
        Python::attach(|py| {
            self.calls += 1;
            if self.calls.is_multiple_of(LOOK_EVERY) {
                py.check_signals().map_err(|error| self.maker.keep("the scoring", error))?;
            }
            let answer = self.maker.function.bind(py).call1((Interval { seen: *seen },));
            let answer = answer.map_err(|error| self.maker.keep("the policy", error))?;
            answer.extract::<f64>().map_err(|_| {
                let kind = answer.get_type().to_string();
                let shown = answer.repr().map_or_else(|_| String::new(), |shown| shown.to_string());
                let problem = format!("the policy returned {shown} of type {kind}");
                Diagnostic::new(problem).allowed("one number from 0 to 1").help("return a float")
            })
        })
    }
}
