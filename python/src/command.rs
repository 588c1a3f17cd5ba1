//! The command `goodqueue`.

use goodqueue_cli::Extensions;
use pyo3::prelude::*;

/// Runs the command with these arguments, the name of the program first, and returns its exit code.
#[pyfunction]
pub(crate) fn main(py: Python<'_>, arguments: Vec<String>) -> u8 {
    py.detach(|| goodqueue_cli::run_with(&Extensions::new(), arguments))
}
