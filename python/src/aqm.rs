//! AQMs written in Python, as disciplines of a run.
//!
//! A scenario names such an AQM by its number in a list of factories: `python aqm 0`. Before a run
//! starts on a thread, [`begin`] gives the thread this list. Each queue then makes an object of its
//! own. An exception cannot leave a queue, so the first one is kept until [`take_failure`].

use std::cell::RefCell;
use std::sync::Arc;

use goodqueue::aqm::{self, Aqm};
use goodqueue::config::{Configure, Declaration, Kind, Parameter};
use goodqueue::random::{Random as _, Source};
use goodqueue::{ConfigError, Disciplines, Ecn, Link, Settings, Verdict};
use goodqueue_tc::diagnostic::Diagnostic;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{Error, raised};
use crate::qdisc::ecn_name;

/// The built-in disciplines, and those written in Python.
pub(crate) fn disciplines() -> Disciplines {
    Disciplines::new().with_aqm::<Python>()
}

/// Callables that make AQMs, by their numbers.
#[derive(Clone, Default)]
pub(crate) struct Factories(Vec<Arc<Py<PyAny>>>);

impl Factories {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a factory, unless it is there, and returns the line that names it.
    pub(crate) fn line(&mut self, factory: &Bound<'_, PyAny>) -> PyResult<String> {
        let number = self.0.iter().position(|known| known.is(factory)).unwrap_or(self.0.len());
        if number == self.0.len() {
            self.0.push(Arc::new(factory.clone().unbind()));
        }
        let limit: u32 = match factory.getattr("limit") {
            Ok(limit) => limit.extract().map_err(|_| {
                Error::new_err(format!(
                    "the `limit` of {} is no number of packets\n  allowed: a whole number, such as `limit = 1000`",
                    label(factory)
                ))
            })?,
            Err(_) => USUAL_LIMIT,
        };
        Ok(format!("python aqm {number} limit {limit}"))
    }

    pub(crate) fn to_list(&self, py: pyo3::Python<'_>) -> Vec<Py<PyAny>> {
        self.0.iter().map(|factory| factory.clone_ref(py)).collect()
    }
}

impl From<Vec<Py<PyAny>>> for Factories {
    fn from(factories: Vec<Py<PyAny>>) -> Self {
        Self(factories.into_iter().map(Arc::new).collect())
    }
}

/// Returns the name of a factory in results: its `label`, its name, or the call that a
/// `functools.partial` stands for.
pub(crate) fn label(factory: &Bound<'_, PyAny>) -> String {
    let text = |name: &str| factory.getattr(name).and_then(|value| value.extract::<String>()).ok();
    if let Some(name) = text("label").or_else(|| text("__name__")) {
        return name;
    }
    let partial = || -> PyResult<String> {
        let mut words = vec![label(&factory.getattr("func")?)];
        for argument in factory.getattr("args")?.try_iter()? {
            words.push(argument?.str()?.to_string());
        }
        for (key, value) in factory.getattr("keywords")?.cast_into::<PyDict>()?.iter() {
            words.push(format!("{key}={value}"));
        }
        Ok(words.join(" "))
    };
    partial().unwrap_or_else(|_| {
        factory.get_type().name().map_or_else(|_| "AQM".to_owned(), |name| name.to_string())
    })
}

/// An AQM written in Python.
#[derive(Clone, Debug)]
struct Python {
    /// Number of its factory.
    aqm: u64,
    limit: u32,
}

/// The parameter [`Python::aqm`].
const NUMBER: Parameter = Declaration::integer("aqm").default(0).meaning("number of the AQM in its scenario");

/// The parameter [`Python::limit`].
const LIMIT: Parameter = Declaration::packets("limit")
    .default(USUAL_LIMIT as u64)
    .meaning("packets in the queue, beyond which arrivals are dropped");

impl Configure for Python {
    const KIND: Kind = Kind::new("python", "An AQM written in Python").with_parameters(&[NUMBER, LIMIT]);

    fn from_checked(settings: &Settings, _: &Link) -> Result<Self, ConfigError> {
        Ok(Self { aqm: NUMBER.read(settings)?, limit: LIMIT.read(settings)? })
    }

    fn to_settings(&self) -> Settings {
        Settings::new().and(&NUMBER, self.aqm).and(&LIMIT, self.limit)
    }
}

/// The object of a queue, from its first packet on. Copies of a queue share it.
#[derive(Clone, Debug, Default)]
struct Object(Option<Arc<Made>>);

#[derive(Debug)]
struct Made {
    object: Py<PyAny>,
    /// Whether it has `on_enqueue` and `on_dequeue`.
    has: [bool; 2],
}

impl Aqm for Python {
    type State = Object;

    fn on_enqueue(&self, state: &mut Object, seen: &aqm::Seen, random: &mut Source) -> Verdict {
        self.ask(state, 0, seen, random)
    }

    fn on_dequeue(&self, state: &mut Object, seen: &aqm::Seen, random: &mut Source) -> Verdict {
        self.ask(state, 1, seen, random)
    }

    fn limit(&self) -> u32 {
        self.limit
    }
}

impl Python {
    /// Calls a method of the AQM. After a failure no method is called, and every packet passes
    /// until the run stops.
    fn ask(&self, state: &mut Object, method: usize, seen: &aqm::Seen, random: &mut Source) -> Verdict {
        if HERE.with_borrow(|here| here.failure.is_some()) {
            return Verdict::Pass;
        }
        // Two draws each time, so the random numbers of a run do not depend on the answers.
        let draws = [fraction(random), fraction(random)];
        // While the interpreter ends, nobody waits for the run, and nobody may enter.
        let answer = pyo3::Python::try_attach(|py| {
            self.answer(py, state, method, seen, draws).unwrap_or_else(|failure| {
                HERE.with_borrow_mut(|here| here.failure = Some(failure));
                Verdict::Pass
            })
        });
        answer.unwrap_or(Verdict::Pass)
    }

    fn answer(
        &self,
        py: pyo3::Python<'_>,
        state: &mut Object,
        method: usize,
        seen: &aqm::Seen,
        [shown, drawn]: [f64; 2],
    ) -> PyResult<Verdict> {
        let made = match &state.0 {
            Some(made) => Arc::clone(made),
            None => Arc::clone(state.0.insert(Arc::new(self.make(py)?))),
        };
        let object = made.object.bind(py);
        let name = METHODS[method];
        if !made.has[method] {
            return Ok(Verdict::Pass);
        }
        let place = || {
            let class = object.get_type().name().map_or_else(|_| "AQM".to_owned(), |name| name.to_string());
            let run = HERE.with_borrow(|here| here.run.clone());
            (format!("`{class}.{name}`"), format!("at {} s of {run}", seconds(seen.now.as_nanos())))
        };
        let answer = object.call_method1(name, (Seen::of(seen, shown),)).map_err(|error| {
            let (method, at) = place();
            failed(py, &Diagnostic::new(format!("{method} raised {error} {at}")).help(HELP), error)
        })?;
        verdict(&answer, drawn).ok_or_else(|| {
            let (method, at) = place();
            let shown = answer.repr().map_or_else(|_| "an object".to_owned(), |shown| shown.to_string());
            raised(&Diagnostic::new(format!("{method} returned {shown} {at}")).allowed(ANSWERS).help(HELP))
        })
    }

    fn make(&self, py: pyo3::Python<'_>) -> PyResult<Made> {
        let (factory, run) = HERE.with_borrow(|here| {
            let number = usize::try_from(self.aqm).unwrap_or(usize::MAX);
            (here.factories.0.get(number).map(|factory| factory.clone_ref(py)), here.run.clone())
        });
        let Some(factory) = factory else {
            let number = self.aqm;
            return Err(raised(
                &Diagnostic::new(format!("the scenario has no AQM {number} written in Python"))
                    .help("list the class itself among `qdiscs`"),
            ));
        };
        let factory = factory.bind(py);
        let name = label(factory);
        let object = factory.call0().map_err(|error| {
            let message = format!("`{name}()` raised {error} in {run}");
            failed(py, &Diagnostic::new(message).help("list a class, or another callable, that needs no arguments: `functools.partial` gives them"), error)
        })?;
        let has = METHODS.map(|method| object.hasattr(method).unwrap_or(false));
        if has == [false, false] {
            return Err(raised(
                &Diagnostic::new(format!("`{name}` has neither `on_enqueue` nor `on_dequeue`"))
                    .help("an AQM written in Python has one of these methods, or both"),
            ));
        }
        Ok(Made { object: object.unbind(), has })
    }
}

/// Returns the verdict for an answer, if it is one. `drawn` decides about a probability.
fn verdict(answer: &Bound<'_, PyAny>, drawn: f64) -> Option<Verdict> {
    if answer.is_none() {
        return Some(Verdict::Pass);
    }
    if let Ok(word) = answer.extract::<String>() {
        return match word.as_str() {
            "pass" => Some(Verdict::Pass),
            "mark" => Some(Verdict::Mark),
            "drop" => Some(Verdict::Drop),
            _ => None,
        };
    }
    let probability: f64 = answer.extract().ok().filter(|number| (0.0..=1.0).contains(number))?;
    Some(if drawn < probability { Verdict::Mark } else { Verdict::Pass })
}

/// Returns the error that `message` tells, caused by another one.
fn failed(py: pyo3::Python<'_>, message: &Diagnostic, cause: PyErr) -> PyErr {
    let failure = raised(message);
    failure.set_cause(py, Some(cause));
    failure
}

/// What an AQM sees when it decides about a packet. Times are in seconds.
#[pyclass(frozen, get_all, module = "goodqueue")]
pub(crate) struct Seen {
    now: f64,
    sojourn: f64,
    bytes: u32,
    ecn: &'static str,
    packets: usize,
    backlog: u64,
    random: f64,
}

impl Seen {
    fn of(seen: &aqm::Seen, random: f64) -> Self {
        let ecn: Ecn = seen.ecn;
        Self {
            now: seconds(seen.now.as_nanos()),
            sojourn: seconds(seen.sojourn.as_nanos()),
            bytes: seen.bytes,
            ecn: ecn_name(ecn),
            packets: seen.packets,
            backlog: seen.backlog,
            random,
        }
    }
}

/// What AQMs on this thread need to know.
#[derive(Default)]
struct Here {
    factories: Factories,
    /// The run, in words.
    run: String,
    failure: Option<PyErr>,
}

thread_local! {
    static HERE: RefCell<Here> = RefCell::default();
}

/// A run starts on this thread.
pub(crate) fn begin(factories: &Factories, run: String) {
    HERE.set(Here { factories: factories.clone(), run, failure: None });
}

/// Returns the failure of an AQM of this thread's run, if there is one.
pub(crate) fn take_failure() -> Option<PyErr> {
    HERE.with_borrow_mut(|here| here.failure.take())
}

/// Uniform over 0 to below 1, from 53 random bits.
#[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
fn fraction(random: &mut Source) -> f64 {
    (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

#[expect(clippy::cast_precision_loss, reason = "microseconds of a simulated day fit")]
fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

const METHODS: [&str; 2] = ["on_enqueue", "on_dequeue"];
const ANSWERS: &str = "None or \"pass\", \"mark\", \"drop\", or the probability of a mark, from 0 to 1";
const HELP: &str = "correct the method and run again; `results` of this exception has the finished runs";
/// Default limit of a queue in packets.
const USUAL_LIMIT: u32 = 1000;
