//! Tables as columns of Python values.

use goodqueue_scenario::export::frame::{Frame, Values};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// Returns a dict with a list for each column, from left to right.
pub(crate) fn columns<'py>(py: Python<'py>, frame: &Frame) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    for column in &frame.columns {
        let values = match &column.values {
            Values::Whole(values) => PyList::new(py, values)?,
            Values::Number(values) => PyList::new(py, values)?,
            Values::Text(values) => PyList::new(py, values)?,
        };
        columns.set_item(&column.name, values)?;
    }
    Ok(columns)
}
