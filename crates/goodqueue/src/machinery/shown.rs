//! Options of a discipline as `tc -s -j qdisc show` prints them.
//!
//! tc prints some settings of a discipline, in an order of its own, partly under other names, in
//! other units or in groups. A discipline lists them in [`Show::SHOWN`]. The registry finds the
//! list by the name of the discipline, and the crate `goodqueue-tc` writes the options as JSON.
//!
//! ```
//! use goodqueue::gauge::Observation;
//! use goodqueue::shown::{Show, options};
//! use goodqueue::{Configure, fq_codel::FqCodelConfig};
//!
//! let settings = FqCodelConfig::default().to_settings();
//! let options = options(FqCodelConfig::SHOWN, &settings, &Observation::default());
//! let names: Vec<&str> = options.iter().map(|option| option.0).collect();
//! assert_eq!(names[..4], ["limit", "flows", "quantum", "target"]);
//! ```

use alloc::vec::Vec;

use crate::config::{Settings, VARIANT, Value};
use crate::gauge::{Gauge, Observation};
use crate::time::Duration;

/// A configuration whose discipline `tc qdisc show` prints.
pub trait Show {
    /// Options in tc's order. The default prints every setting.
    const SHOWN: &'static [Shown] = &[Shown::Every];
}

/// One or more options in tc's order.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Shown {
    /// Every setting except the variant, under its own name.
    Every,
    /// The setting of this name, if it is set.
    Setting(&'static str),
    /// The flag of this name, on or off.
    Flag(&'static str),
    /// The flag of this name, only if it is on.
    FlagIfOn(&'static str),
    /// The gauge of this name, or 0. tc prints it among the options, not among the statistics.
    Gauge(&'static str),
    /// A value that follows from the settings. `None`: the option is not printed.
    Computed(&'static str, fn(&Settings) -> Option<Printed>),
}

/// The value of an option.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Printed {
    /// A value as it can be set.
    Setting(Value),
    /// A value that cannot be set, such as a fraction above 1.
    Gauge(Gauge),
    /// Several values, each with its name.
    Group(Vec<(&'static str, Printed)>),
}

impl From<Value> for Printed {
    fn from(value: Value) -> Self {
        Self::Setting(value)
    }
}

impl From<Gauge> for Printed {
    fn from(gauge: Gauge) -> Self {
        Self::Gauge(gauge)
    }
}

impl Printed {
    /// Returns a time in seconds, with a fraction.
    pub(crate) fn seconds(span: Duration) -> Self {
        Self::Gauge(Gauge::Fraction(span.as_nanos() as f64 / 1e9))
    }
}

/// Returns the options of a discipline with these settings, each with its name.
#[must_use]
pub fn options(shown: &[Shown], settings: &Settings, seen: &Observation) -> Vec<(&'static str, Printed)> {
    let mut all = Vec::new();
    for option in shown {
        match *option {
            Shown::Every => {
                let entries = settings.iter().filter(|(name, _)| *name != VARIANT);
                all.extend(entries.map(|(name, value)| (name, value.into())));
            }
            Shown::Setting(name) => all.extend(settings.get(name).map(|value| (name, value.into()))),
            Shown::Flag(name) => {
                all.push((name, Value::Flag(settings.flag(name) == Some(true)).into()));
            }
            Shown::FlagIfOn(name) if settings.flag(name) == Some(true) => {
                all.push((name, Value::Flag(true).into()));
            }
            Shown::FlagIfOn(_) => {}
            Shown::Gauge(name) => all.push((name, seen.get(name).unwrap_or(Gauge::Number(0)).into())),
            Shown::Computed(name, value) => all.extend(value(settings).map(|value| (name, value))),
        }
    }
    all
}

/// Returns the whole number set for `name`, or 0. A rate is in bytes per second, as tc prints it.
pub(crate) fn number(settings: &Settings, name: &str) -> u64 {
    match settings.get(name) {
        Some(Value::Packets(n) | Value::Bytes(n) | Value::Integer(n)) => n,
        Some(Value::Rate(rate)) => rate.as_bps() / 8,
        _ => 0,
    }
}

/// Returns the signed number set for `name`, or 0.
pub(crate) fn signed(settings: &Settings, name: &str) -> i64 {
    if let Some(Value::Signed(n)) = settings.get(name) { n } else { 0 }
}
