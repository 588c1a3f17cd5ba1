//! Times and rates as Python gives them: texts with a unit, numbers in SI base units, `timedelta`.
//!
//! Each becomes the text that a scenario file has, so that one reading of units serves all.

use goodqueue::{Duration, Rate};
use goodqueue_scenario::scenario::Quantity;
use goodqueue_tc::units;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString};

use crate::errors::{Error, raised};

/// Returns a time or rate for the argument or key `name` as text with its unit.
///
/// # Errors
/// Another type, another quantity, or a number that is none.
pub(crate) fn text(name: &str, quantity: Quantity, value: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(text.to_cow()?.into_owned());
    }
    let own = own(value)?;
    if own.is_some_and(|own| own != quantity) {
        let shown = value.str()?;
        let what = called(own);
        return Err(PyTypeError::new_err(format!(
            "`{name}` is a {what}, {shown}\n  allowed: {}",
            allowed(quantity)
        )));
    }
    let time = if own.is_none() { nanoseconds_of(value)? } else { None };
    let number: Option<f64> = if is_bool(value)? { None } else { value.extract().ok() };
    match (quantity, time, number) {
        (Quantity::Time, Some(nanos), _) => match u64::try_from(nanos) {
            Ok(nanos) => Ok(Duration::from_nanos(nanos).to_string()),
            Err(_) => Err(refused(name, quantity, &value.str()?.to_cow()?)),
        },
        (_, None, Some(number)) => {
            let shown = || format!("{number} {}", unit(quantity));
            if own.is_none() && looks_like_a_slip(name, quantity, number) {
                return Err(Error::new_err(format!(
                    "`{name}` is the number {number}, which means {}\n  help: {}",
                    shown(),
                    remedy(quantity, number)
                )));
            }
            from_number(quantity, number).ok_or_else(|| refused(name, quantity, &shown()))
        }
        _ => {
            let shown = value.repr()?;
            let class = value.get_type().name()?;
            Err(PyTypeError::new_err(format!(
                "`{name}` is {shown} of type {class}\n  allowed: {}",
                allowed(quantity)
            )))
        }
    }
}

/// Returns the same for an argument that may be left out.
pub(crate) fn option(
    name: &str,
    quantity: Quantity,
    value: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<String>> {
    value.filter(|value| !value.is_none()).map(|value| text(name, quantity, value)).transpose()
}

/// Returns a value with a quantity of its own as text: `gq.Rate`, `gq.Time` or a `timedelta`.
pub(crate) fn self_describing(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let quantity = match own(value)? {
        Some(quantity) => quantity,
        None if nanoseconds_of(value)?.is_some() => Quantity::Time,
        None => return Ok(None),
    };
    text(name, quantity, value).map(Some)
}

/// Returns the number in SI base units that a time or rate has, and its text.
///
/// `kind` is `"time"` or `"rate"`; `name` is the argument that errors name.
#[pyfunction]
pub(crate) fn quantity(kind: &str, name: &str, value: &Bound<'_, PyAny>) -> PyResult<(f64, String)> {
    let kind = if kind == "rate" { Quantity::Rate } else { Quantity::Time };
    let text = text(name, kind, value)?;
    let base = match kind {
        Quantity::Time => units::time(&text).map(|time| (seconds(time), time.to_string())),
        Quantity::Rate => units::rate(&text).map(|rate| (bits(rate), rate.to_string())),
    };
    base.map_err(|error| raised(&error.in_argument(name, &text)))
}

/// The quantity of a `gq.Rate` or a `gq.Time`.
fn own(value: &Bound<'_, PyAny>) -> PyResult<Option<Quantity>> {
    let class = value.get_type();
    if !class.hasattr(OWN)? {
        return Ok(None);
    }
    let name: String = class.getattr(OWN)?.extract()?;
    Ok(Some(if name == "rate" { Quantity::Rate } else { Quantity::Time }))
}

/// Returns the nanoseconds of a `timedelta`, of its relative in pandas, or of numpy's.
fn nanoseconds_of(value: &Bound<'_, PyAny>) -> PyResult<Option<i128>> {
    if value.get_type().name()? == "timedelta64" {
        // A number of another unit, which a conversion to float would take for seconds.
        let nanos: i64 =
            value.call_method1("astype", ("timedelta64[ns]",))?.call_method0("item")?.extract()?;
        return Ok(Some(i128::from(nanos)));
    }
    if !value.hasattr("total_seconds")? {
        return Ok(None);
    }
    // These parts are whole numbers, while `total_seconds` returns a float.
    let part = |name: &str| -> PyResult<i128> { value.getattr(name)?.extract::<i64>().map(i128::from) };
    let nanos = if value.hasattr("nanoseconds")? { part("nanoseconds")? } else { 0 };
    let seconds = part("days")? * 86_400 + part("seconds")?;
    Ok(Some((seconds * 1_000_000 + part("microseconds")?) * 1000 + nanos))
}

/// True for Python's and numpy's truth values, which are numbers to Python.
fn is_bool(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    let class = value.get_type().name()?;
    // Numpy calls it `bool_` before version 2 and `bool` from then on.
    Ok(value.is_instance_of::<PyBool>() || class == "bool_" || class == "bool")
}

/// Returns a number in SI base units as text; `None` if it is no number of this quantity.
fn from_number(quantity: Quantity, number: f64) -> Option<String> {
    let scale = if quantity == Quantity::Time { 1e9 } else { 1.0 };
    let whole = (number * scale).round();
    // -0.0 is 0.
    if !(0.0..MOST).contains(&whole) || number < 0.0 {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked above")]
    let whole = whole as u64;
    Some(match quantity {
        Quantity::Time => Duration::from_nanos(whole).to_string(),
        Quantity::Rate => Rate::from_bps(whole).to_string(),
    })
}

/// True if a bare number probably means Mbit/s or milliseconds.
fn looks_like_a_slip(name: &str, quantity: Quantity, number: f64) -> bool {
    match quantity {
        Quantity::Rate => number > 0.0 && number < SLOWEST,
        Quantity::Time => name.ends_with("rtt") && number.is_finite() && number >= FARTHEST,
    }
}

fn remedy(quantity: Quantity, number: f64) -> String {
    match quantity {
        Quantity::Rate => format!(
            "for Mbit/s pass gq.mbit({number}) or \"{number}mbit\"; if {number} bit/s are meant, pass \"{number}bit\""
        ),
        Quantity::Time => format!(
            "for milliseconds pass gq.ms({number}) or \"{number}ms\"; if {number} s are meant, pass \"{number}s\""
        ),
    }
}

fn refused(name: &str, quantity: Quantity, shown: &str) -> PyErr {
    Error::new_err(format!(
        "`{name}` is {shown}, which is not possible\n  allowed: {}, 0 or more",
        allowed(quantity)
    ))
}

const fn unit(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::Time => "s",
        Quantity::Rate => "bit/s",
    }
}

fn called(quantity: Option<Quantity>) -> &'static str {
    if quantity == Some(Quantity::Rate) { "rate" } else { "time" }
}

const fn allowed(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::Time => {
            "a time: text such as \"50ms\", seconds such as 0.05, gq.ms(50) or timedelta(milliseconds=50)"
        }
        Quantity::Rate => "a rate: text such as \"10mbit\", bit/s such as 10e6, or gq.mbit(10)",
    }
}

#[expect(clippy::cast_precision_loss, reason = "a number for people")]
fn seconds(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e9
}

#[expect(clippy::cast_precision_loss, reason = "rates below 9 Pbit/s are exact")]
fn bits(rate: Rate) -> f64 {
    rate.as_bps() as f64
}

/// The attribute of classes whose numbers have a quantity.
const OWN: &str = "_QUANTITY";
/// Beyond it a number does not fit 64 bits: 584 years, or 18 Ebit/s.
const MOST: f64 = 1.8e19;
/// No link of today is slower. A smaller number of bit/s is one of Mbit/s.
const SLOWEST: f64 = 1000.0;
/// No path on Earth is longer. A larger number of seconds is one of milliseconds.
const FARTHEST: f64 = 10.0;
