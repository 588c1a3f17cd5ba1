//! Python's values as TOML, the form of values in scenarios.

use goodqueue_scenario::scenario::Quantity;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::aqm::{Factories, label};
use crate::errors::Error;
use crate::quantity;

/// Returns the value of `key` as TOML on one line. A bare number of a time or a rate gets its unit.
/// A callable is an AQM written in Python: it is added to `factories`, and the text names it.
///
/// # Errors
/// A type that scenarios do not have, or a number that is no time or rate.
pub(crate) fn text(key: &str, value: &Bound<'_, PyAny>, factories: &mut Factories) -> PyResult<String> {
    of(Place { key, quantity: Quantity::of_key(key) }, value, factories)
}

/// The place of a value in a scenario.
#[derive(Clone, Copy)]
struct Place<'k> {
    /// Name in messages.
    key: &'k str,
    /// The quantity of bare numbers.
    quantity: Option<Quantity>,
}

fn of(place: Place<'_>, value: &Bound<'_, PyAny>, factories: &mut Factories) -> PyResult<String> {
    if value.is_instance_of::<PyString>() {
        return Ok(quoted(&value.extract::<String>()?));
    }
    if let Some(text) = quantity::self_describing(place.key, value)? {
        return Ok(quoted(&text));
    }
    // Arrays, series and numbers of numpy and pandas.
    if value.hasattr("tolist")? {
        return of(place, &value.call_method0("tolist")?, factories);
    }
    // A truth value of Python is also an integer, so it is tested first.
    if value.is_instance_of::<PyBool>() {
        return Ok(value.extract::<bool>()?.to_string());
    }
    if let Some(text) = number(place, value)? {
        return Ok(text);
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let items: PyResult<Vec<String>> =
            value.try_iter()?.map(|item| item_text(place, &item?, factories)).collect();
        return Ok(format!("[{}]", items?.join(", ")));
    }
    if let Ok(table) = value.cast::<PyDict>() {
        let mut entries = Vec::new();
        for (key, value) in table.iter() {
            let key = key
                .extract::<String>()
                .map_err(|_| PyTypeError::new_err(format!("`{}` has a key that is no text", place.key)))?;
            let quantity = if Quantity::is_inherited(&key) { place.quantity } else { Quantity::of_key(&key) };
            let text = of(Place { key: &key, quantity }, &value, factories)?;
            entries.push(format!("{} = {text}", quoted(&key)));
        }
        return Ok(format!("{{ {} }}", entries.join(", ")));
    }
    if value.is_callable() {
        return factories.line(value).map(|line| quoted(&line));
    }
    Err(impossible(place, value)?)
}

/// Returns a number; `None` if the value is something else. `Decimal` and the like are numbers.
fn number(place: Place<'_>, value: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let is_whole = value.is_instance_of::<PyInt>() || value.hasattr("__index__")?;
    if !is_whole && !value.is_instance_of::<PyFloat>() && !value.hasattr("__float__")? {
        return Ok(None);
    }
    if let Some(quantity) = place.quantity {
        return quantity::text(place.key, quantity, value).map(|text| Some(quoted(&text)));
    }
    if is_whole {
        return Ok(Some(value.call_method0("__index__")?.str()?.to_string()));
    }
    let number: f64 = value.extract()?;
    if !number.is_finite() {
        return Err(Error::new_err(format!(
            "`{}` is {number}, which is not possible\n  allowed: numbers that are finite",
            place.key
        )));
    }
    // The shortest text of the same number, which TOML takes for a fraction.
    Ok(Some(format!("{number:?}")))
}

fn impossible(place: Place<'_>, value: &Bound<'_, PyAny>) -> PyResult<PyErr> {
    let key = place.key;
    let class = value.get_type().name()?;
    Ok(PyTypeError::new_err(if value.hasattr("on_dequeue")? || value.hasattr("on_enqueue")? {
        format!(
            "`{key}`: each queue makes an AQM of its own, so an object of {class} cannot be shared\n  help: pass the class \
             {class}, or functools.partial({class}, ...)"
        )
    } else {
        format!(
            "`{key}`: a scenario has no values of type {class}\n  allowed: str, int, float, bool, timedelta, list and \
             dict of these, and classes of AQMs"
        )
    }))
}

/// An item of a list. An AQM in a list of disciplines has its name for a label.
fn item_text(place: Place<'_>, value: &Bound<'_, PyAny>, factories: &mut Factories) -> PyResult<String> {
    if place.key.ends_with("schedule") {
        return step(value, factories);
    }
    if !value.is_callable() {
        return of(place, value, factories);
    }
    let line = factories.line(value)?;
    Ok(format!("{{ label = {}, down = {} }}", quoted(&label(value)), quoted(&line)))
}

/// A step of a schedule: a time and a rate.
fn step(value: &Bound<'_, PyAny>, factories: &mut Factories) -> PyResult<String> {
    let quantities = [Some(Quantity::Time), Some(Quantity::Rate)];
    let parts = value.try_iter()?.zip(quantities.into_iter().chain(std::iter::repeat(None)));
    let parts: PyResult<Vec<String>> =
        parts.map(|(part, quantity)| of(Place { key: "schedule", quantity }, &part?, factories)).collect();
    Ok(format!("[{}]", parts?.join(", ")))
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
