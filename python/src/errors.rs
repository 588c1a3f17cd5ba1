//! Errors as Python exceptions, and remarks as warnings.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use goodqueue_tc::diagnostic::Diagnostic;
use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::described::in_words_of_python;

create_exception!(
    goodqueue,
    Error,
    PyValueError,
    "Bad input. The message names the place, the given value, what is allowed, and the remedy."
);

/// Returns a diagnostic as an exception, with the names that options of the command have here.
pub(crate) fn raised(diagnostic: &Diagnostic) -> PyErr {
    Error::new_err(in_words_of_python(&diagnostic.to_string()))
}

/// Warns of each remark.
///
/// # Errors
/// The caller turned warnings into exceptions.
pub(crate) fn warn_of(py: Python<'_>, remarks: &[Diagnostic]) -> PyResult<()> {
    remarks.iter().try_for_each(|remark| warn(py, &in_words_of_python(&remark.to_string())))
}

/// Gives a `UserWarning`.
///
/// # Errors
/// The caller turned warnings into exceptions.
pub(crate) fn warn(py: Python<'_>, message: &str) -> PyResult<()> {
    py.import("warnings")?.call_method1("warn", (message,)).map(drop)
}

/// Returns a diagnostic as an exception, with the words of this package for the store.
pub(crate) fn of_store(diagnostic: &Diagnostic) -> PyErr {
    let text = diagnostic.to_string();
    Error::new_err(
        text.replace("another one with `--out`", "another `store`")
            .replace("another folder with `--out`", "another `store`")
            .replace("another prefix with `--store`", "another `store`")
            .replace("repeat the command", "repeat the call"),
    )
}

/// Does the work. A panic becomes a `RuntimeError`.
///
/// PyO3 would make it a `PanicException`, which `except Exception` misses: a notebook or a server
/// would end for one wrong run.
pub(crate) fn guarded<T>(work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(of_panic(&*panic)))
}

/// Returns a panic as an exception.
pub(crate) fn of_panic(panic: &(dyn Any + Send)) -> PyErr {
    let words = panic.downcast_ref::<String>().map(String::as_str);
    let words = words.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
    PyRuntimeError::new_err(format!(
        "goodqueue has a defect: {words}\n  help: report it with the call that you made; the traceback of Rust is on \
         standard error"
    ))
}

/// Fails as a defect would, for the test that a panic reaches Python as an exception.
#[pyfunction]
pub(crate) fn _panic(words: &str) -> PyResult<()> {
    guarded(|| std::panic::panic_any(words.to_owned()))
}
