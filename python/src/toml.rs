//! Python's values as TOML, the form of values in scenarios.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

/// Returns `value` as TOML on one line.
///
/// # Errors
/// A type that scenarios do not have.
pub(crate) fn text(value: &Bound<'_, PyAny>) -> PyResult<String> {
    if value.is_instance_of::<PyString>() {
        return Ok(quoted(&value.extract::<String>()?));
    }
    if value.is_instance_of::<PyBool>() {
        return Ok(value.extract::<bool>()?.to_string());
    }
    if value.is_instance_of::<PyInt>() || value.is_instance_of::<PyFloat>() {
        return Ok(value.str()?.to_string());
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let items: PyResult<Vec<String>> = value.try_iter()?.map(|item| text(&item?)).collect();
        return Ok(format!("[{}]", items?.join(", ")));
    }
    if let Ok(table) = value.cast::<PyDict>() {
        let entry = |(key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| -> PyResult<String> {
            Ok(format!("{} = {}", quoted(&key.extract::<String>()?), text(&value)?))
        };
        let entries: PyResult<Vec<String>> = table.iter().map(entry).collect();
        return Ok(format!("{{ {} }}", entries?.join(", ")));
    }
    Err(PyTypeError::new_err(format!(
        "a scenario has no values of type {}; allowed: str, int, float, bool, list and dict of these",
        value.get_type().name()?
    )))
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
