//! Parameters of congestion controllers: what `list tcps` prints, and what scenarios and sweeps
//! set.

use alloc::string::ToString;
use core::fmt;

use goodqueue::{ConfigError, Duration};

/// A value of a parameter.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value {
    /// A span of time.
    Time(Duration),
    /// A number, whole or not.
    Number(f64),
    /// A whole number.
    Count(u64),
}

impl Value {
    /// Returns the number; a time in seconds.
    #[must_use]
    pub fn as_number(self) -> f64 {
        match self {
            Self::Time(span) => span.as_nanos() as f64 * 1e-9,
            Self::Number(number) => number,
            Self::Count(count) => count as f64,
        }
    }

    /// Returns the whole number, and 0 for another sort of value.
    #[must_use]
    pub fn as_count(self) -> u64 {
        match self {
            Self::Count(count) => count,
            Self::Time(_) | Self::Number(_) => 0,
        }
    }

    /// Returns the span of time, and zero for a number.
    #[must_use]
    pub fn as_time(self) -> Duration {
        match self {
            Self::Time(span) => span,
            Self::Number(_) | Self::Count(_) => Duration::ZERO,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time(span) => write!(f, "{span}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Count(count) => write!(f, "{count}"),
        }
    }
}

/// A parameter of a controller.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Parameter {
    /// Name in scenarios.
    pub name: &'static str,
    /// Value of a connection that does not set it. It also shows the sort of the value.
    pub default: Value,
    /// Least value, of the same sort.
    pub least: Value,
    /// Greatest value, of the same sort.
    pub most: Value,
    /// Admissible values, in words.
    pub range: &'static str,
    /// Where the default comes from.
    pub source: &'static str,
    /// Effect of the parameter, with its unit.
    pub doc: &'static str,
}

impl Parameter {
    /// A number from `least` to `most`.
    #[must_use]
    pub const fn number(
        name: &'static str,
        default: f64,
        [least, most]: [f64; 2],
        range: &'static str,
        source: &'static str,
        doc: &'static str,
    ) -> Self {
        let [default, least, most] = [Value::Number(default), Value::Number(least), Value::Number(most)];
        Self { name, default, least, most, range, source, doc }
    }

    /// A whole number from `least` to `most`.
    #[must_use]
    pub const fn count(
        name: &'static str,
        default: u64,
        [least, most]: [u64; 2],
        range: &'static str,
        source: &'static str,
        doc: &'static str,
    ) -> Self {
        let [default, least, most] = [Value::Count(default), Value::Count(least), Value::Count(most)];
        Self { name, default, least, most, range, source, doc }
    }

    /// A span of time from `least` to `most`.
    #[must_use]
    pub const fn time(
        name: &'static str,
        default: Duration,
        [least, most]: [Duration; 2],
        range: &'static str,
        source: &'static str,
        doc: &'static str,
    ) -> Self {
        let [default, least, most] = [Value::Time(default), Value::Time(least), Value::Time(most)];
        Self { name, default, least, most, range, source, doc }
    }

    /// Checks that a value is of the parameter's sort and within its range.
    ///
    /// # Errors
    /// Names the parameter, with what was given and what is allowed.
    pub fn check(&self, value: Value) -> Result<(), ConfigError> {
        let is_within = match (value, self.least, self.most) {
            (Value::Time(given), Value::Time(least), Value::Time(most)) => (least..=most).contains(&given),
            (Value::Number(given), Value::Number(least), Value::Number(most)) => {
                (least..=most).contains(&given)
            }
            (Value::Count(given), Value::Count(least), Value::Count(most)) => (least..=most).contains(&given),
            _ => false,
        };
        if is_within { Ok(()) } else { Err(ConfigError::new(self.name, value.to_string(), self.range)) }
    }
}
