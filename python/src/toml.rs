//! Python's values as TOML, the form of values in scenarios.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::aqm::{Factories, label};

/// Returns `value` as TOML on one line. A callable is an AQM written in Python: it is added to
/// `factories`, and the text names it.
///
/// # Errors
/// A type that scenarios do not have.
pub(crate) fn text(value: &Bound<'_, PyAny>, factories: &mut Factories) -> PyResult<String> {
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
        let items: PyResult<Vec<String>> =
            value.try_iter()?.map(|item| item_text(&item?, factories)).collect();
        return Ok(format!("[{}]", items?.join(", ")));
    }
    if let Ok(table) = value.cast::<PyDict>() {
        let mut entries = Vec::new();
        for (key, value) in table.iter() {
            entries.push(format!("{} = {}", quoted(&key.extract::<String>()?), text(&value, factories)?));
        }
        return Ok(format!("{{ {} }}", entries.join(", ")));
    }
    if value.is_callable() {
        return factories.line(value).map(|line| quoted(&line));
    }
    let class = value.get_type().name()?;
    Err(PyTypeError::new_err(if value.hasattr("on_dequeue")? || value.hasattr("on_enqueue")? {
        format!(
            "each queue makes an AQM of its own, so an object of {class} cannot be shared; pass the class {class}, or \
             functools.partial({class}, ...)"
        )
    } else {
        format!(
            "a scenario has no values of type {class}; allowed: str, int, float, bool, list and dict of these, and \
             classes of AQMs"
        )
    }))
}

/// An item of a list. An AQM in a list of disciplines has its name for a label.
fn item_text(value: &Bound<'_, PyAny>, factories: &mut Factories) -> PyResult<String> {
    if !value.is_callable() {
        return text(value, factories);
    }
    let line = factories.line(value)?;
    Ok(format!("{{ label = {}, down = {} }}", quoted(&label(value)), quoted(&line)))
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
