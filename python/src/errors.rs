//! Errors as Python exceptions.

use goodqueue_tc::diagnostic::Diagnostic;
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

create_exception!(
    goodqueue,
    Error,
    PyValueError,
    "Bad input. The message names the place, the given value, what is allowed, and the remedy."
);

/// Returns a diagnostic as an exception.
pub(crate) fn raised(diagnostic: &Diagnostic) -> PyErr {
    Error::new_err(diagnostic.to_string())
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
