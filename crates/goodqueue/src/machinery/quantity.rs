//! Values with their units, as people read them.

use alloc::format;
use core::fmt;

use crate::time::{Duration, Instant, Rate};

/// A value with its unit. [`Display`](fmt::Display) writes it for people, in three digits.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub enum Quantity {
    /// A span of time.
    Span(Duration),
    /// A time that much later than the decision.
    In(Duration),
    /// A time that much earlier than the decision.
    Ago(Duration),
    /// Not set.
    Unset,
    /// A span of time that may be negative, in seconds.
    Difference(f64),
    /// Packets.
    Packets(u64),
    /// Bytes.
    Bytes(u64),
    /// Bytes, negative for a debt.
    Credit(i64),
    /// A number without a unit.
    Number(u64),
    /// A number without a unit that may have a fraction.
    Real(f64),
    /// A fraction of 1.
    Fraction(f64),
    /// Bits per second.
    Rate(Rate),
    /// Yes or no.
    Flag(bool),
    /// A word.
    Word(&'static str),
}

impl Quantity {
    /// Returns `at` relative to `now`.
    #[must_use]
    pub fn at(at: Instant, now: Instant) -> Self {
        if at > now { Self::In(at.since(now)) } else { Self::Ago(now.since(at)) }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Span(span) => write!(f, "{}", readable(span)),
            Self::In(span) => write!(f, "in {}", readable(span)),
            Self::Ago(span) if span.is_zero() => f.write_str("now"),
            Self::Ago(span) => write!(f, "{} ago", readable(span)),
            Self::Unset => f.write_str("not set"),
            Self::Difference(seconds) => write!(f, "{}", Readable::new(seconds, SPANS)),
            Self::Packets(1) => f.write_str("1 packet"),
            Self::Packets(packets) => write!(f, "{packets} packets"),
            Self::Bytes(1) => f.write_str("1 byte"),
            Self::Bytes(bytes) => write!(f, "{bytes} bytes"),
            Self::Credit(bytes) => write!(f, "{bytes} bytes"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Real(number) => write!(f, "{}", Readable::new(number, &[(1.0, "")])),
            Self::Fraction(part) => write!(f, "{}", Readable::new(part * 100.0, &[(1.0, " %")])),
            Self::Rate(rate) => write!(f, "{rate}"),
            Self::Flag(flag) => f.write_str(if flag { "yes" } else { "no" }),
            Self::Word(word) => f.write_str(word),
        }
    }
}

/// Returns a span of time in three digits with its unit, such as "142 ms".
pub(crate) fn readable(span: Duration) -> impl fmt::Display {
    Readable::new(span.as_nanos() as f64 / 1e9, SPANS)
}

/// Units of a span of time in seconds, the largest first.
const SPANS: &[(f64, &str)] = &[(1.0, " s"), (1e-3, " ms"), (1e-6, " µs"), (1e-9, " ns")];

/// A number in three digits, in the largest of some units that is not above it.
struct Readable {
    value: f64,
    unit: &'static str,
}

impl Readable {
    fn new(value: f64, units: &'static [(f64, &'static str)]) -> Self {
        // Without the margin, 0.9999 ms would be 1000 µs.
        let fits = units.iter().find(|(unit, _)| value.abs() >= unit * 0.9995);
        let &(unit, name) = fits.or(units.last()).unwrap_or(&(1.0, ""));
        Self { value: value / unit, unit: name }
    }
}

impl fmt::Display for Readable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.value.abs();
        // `core` has no `trunc`.
        let whole = size - size % 1.0;
        let digits = match size {
            // The largest places after which three digits are exact need none.
            _ if (size - whole).abs() < 1e-9 || size >= 99.95 => 0,
            // The bounds are those at which rounding to three digits reaches the next power of ten.
            size if size >= 9.995 => 1,
            size if size >= 0.9995 => 2,
            size if size >= 0.01 => 3,
            _ => 6,
        };
        let mut text = format!("{:.*}", digits, self.value);
        if digits > 0 {
            text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
        }
        write!(f, "{text}{}", self.unit)
    }
}
