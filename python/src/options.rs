//! The options of a request as named arguments of Python: one conversion for each form of a value.
//!
//! Names, forms and meanings come from the declarations in [`Overrides`]. A test of the package
//! compares its signatures and its documentation with them.

use std::path::PathBuf;

use goodqueue_scenario::scenario::{Overrides, Quantity};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PyString};
use serde_json::{Map, Value};

use crate::aqm::Factories;
use crate::described::OPTIONS;
use crate::errors::Error;
use crate::quantity;
use crate::toml;

/// Reads named arguments; `None` stands for one that was not given. AQMs written in Python are
/// added to `aqms`.
///
/// # Errors
/// An unknown name, or a value of another type. The message names the argument.
pub(crate) fn read(given: Option<&Bound<'_, PyDict>>, aqms: &mut Factories) -> PyResult<Overrides> {
    let mut keys = Map::new();
    // Disciplines that are not one line of text, as the value of the key `qdiscs`.
    let mut assigned = None;
    for (name, value) in given.into_iter().flatten() {
        let name: String = name.extract()?;
        let option = OPTIONS.iter().find(|option| option.name == name).ok_or_else(|| unknown(&name))?;
        if value.is_none() {
            continue;
        }
        let read = match option.form.as_str() {
            "RATE" => quantity::text(&name, Quantity::Rate, &value)?.into(),
            "TIME" => quantity::text(&name, Quantity::Time, &value)?.into(),
            "N" => whole(&name, &value)?.into(),
            "FILE" => path(&name, &value)?.into(),
            "KEY=VALUE" => assignments(&name, &value, aqms)?.into(),
            "TC" => match lines(&name, &value, aqms)? {
                Lines::Text(lines) => lines.into(),
                Lines::Assignment(assignment) => {
                    assigned = Some(assignment);
                    continue;
                }
            },
            form => {
                return Err(Error::new_err(format!(
                    "`{name}` has the form {form}, which Python cannot give"
                )));
            }
        };
        keys.insert(name, read);
    }
    let mut options: Overrides = serde_json::from_value(Value::Object(keys))
        .map_err(|error| Error::new_err(format!("the options cannot be read: {error}")))?;
    if let Some(assignment) = assigned {
        if !options.qdiscs_up.is_empty() {
            return Err(Error::new_err(
                "`qdiscs_up` needs lines of text in `qdiscs`\n  help: pass {\"down\": ..., \"up\": ...} in `qdiscs`",
            ));
        }
        options.set.push(assignment);
    }
    Ok(options)
}

/// Disciplines as they were given.
enum Lines {
    Text(Vec<String>),
    /// Classes of AQMs, or tables: an assignment of the key `qdiscs`.
    Assignment(String),
}

/// Returns the disciplines of a list, or a single one.
fn lines(name: &str, value: &Bound<'_, PyAny>, aqms: &mut Factories) -> PyResult<Lines> {
    // A single line would otherwise become a list of letters.
    let is_one = value.is_instance_of::<PyString>() || value.is_callable() || value.hasattr("keys")?;
    let all: Vec<Bound<'_, PyAny>> = if is_one {
        vec![value.clone()]
    } else {
        let items = value
            .try_iter()
            .map_err(|_| wrong(name, value, "a list of disciplines, such as [\"pfifo\", \"fq_codel\"]"))?;
        items.collect::<PyResult<_>>()?
    };
    let texts: PyResult<Vec<String>> = all.iter().map(|line| line.extract::<String>()).collect();
    if let Ok(texts) = texts {
        return Ok(Lines::Text(texts));
    }
    if name != "qdiscs" {
        return Err(wrong(name, value, "lines of text, such as [\"pfifo\", \"fq_codel\"]"));
    }
    let list = PyList::new(value.py(), &all)?;
    Ok(Lines::Assignment(format!("qdiscs={}", toml::text("qdiscs", list.as_any(), aqms)?)))
}

/// Returns the entries of a mapping as assignments of keys.
fn assignments(name: &str, value: &Bound<'_, PyAny>, aqms: &mut Factories) -> PyResult<Vec<String>> {
    const EXAMPLE: &str = "{\"tcp.ecn\": True}";
    if !value.hasattr("keys")? {
        return Err(wrong(name, value, &format!("a dict, such as {EXAMPLE}")));
    }
    let mut assignments = Vec::new();
    for key in value.call_method0("keys")?.try_iter()? {
        let key = key?;
        let Ok(text) = key.extract::<String>() else {
            return Err(PyTypeError::new_err(format!(
                "`{name}` has the key {}, which is no text\n  allowed: keys such as those in {EXAMPLE}",
                key.repr()?
            )));
        };
        assignments.push(format!("{text}={}", toml::text(&text, &value.get_item(&key)?, aqms)?));
    }
    Ok(assignments)
}

/// Returns a whole number as text; numpy's numbers are some, too.
fn whole(name: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    // A truth value of Python also has `__index__`.
    if value.is_instance_of::<PyBool>() || !value.hasattr("__index__")? {
        return Err(wrong(name, value, "a whole number"));
    }
    let number = value.call_method0("__index__")?;
    let text = number.str()?.to_cow()?.into_owned();
    if number.extract::<u64>().is_err() {
        return Err(Error::new_err(format!(
            "`{name}` is {text}, which is not possible\n  allowed: 0 to {}",
            u64::MAX
        )));
    }
    Ok(text)
}

/// Returns a path as text.
fn path(name: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    let path: PathBuf = value.extract().map_err(|_| wrong(name, value, "a path, as text or pathlib.Path"))?;
    path.into_os_string().into_string().map_err(|path| {
        Error::new_err(format!(
            "`{name}` is {}, which is not UTF-8\n  allowed: a path of text",
            path.display()
        ))
    })
}

fn unknown(name: &str) -> PyErr {
    let all: Vec<&str> = OPTIONS.iter().map(|option| option.name.as_str()).collect();
    PyTypeError::new_err(format!("there is no option `{name}`\n  allowed: {}", all.join(", ")))
}

/// Returns the error of a value whose type is wrong.
fn wrong(name: &str, value: &Bound<'_, PyAny>, allowed: &str) -> PyErr {
    // A value without a description is an error of its own.
    let described = || -> PyResult<String> {
        let shown = value.repr()?.to_cow()?.into_owned();
        let cut = || shown.chars().take(MOST_SHOWN - 3).chain("...".chars()).collect();
        let shown = if shown.chars().count() <= MOST_SHOWN { shown } else { cut() };
        Ok(format!("`{name}` is {shown} of type {}\n  allowed: {allowed}", value.get_type().name()?))
    };
    described().map_or_else(|error| error, PyTypeError::new_err)
}

/// Characters of a value in a message.
const MOST_SHOWN: usize = 80;
