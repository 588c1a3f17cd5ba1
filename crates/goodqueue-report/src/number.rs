//! Numbers for readers: a few significant digits and a unit.

use goodqueue_scenario::number::{trim, with_digits};
use serde::{Serialize, Serializer};

/// A rounded number whose JSON is as short as possible.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct ShortNumber(f64);

impl ShortNumber {
    /// Rounds `value` to four significant digits; `None` if it is not finite.
    pub(crate) fn new(value: f64) -> Option<Self> {
        Self::with_digits(value, 4)
    }

    /// Rounds `value` to `digits` significant digits, at least one; `None` if it is not finite.
    pub(crate) fn with_digits(value: f64, digits: usize) -> Option<Self> {
        let after_point = digits.saturating_sub(1);
        // The number that a short decimal text stands for is also written as that text. Arithmetic
        // could miss it by the last binary digit.
        value.is_finite().then(|| Self(format!("{value:.after_point$e}").parse().unwrap_or(value)))
    }

    /// Rounds `value` to four significant digits; 0 if it is not finite.
    pub(crate) fn or_zero(value: f64) -> Self {
        Self::new(value).unwrap_or(Self(0.0))
    }
}

impl Serialize for ShortNumber {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // As a floating-point number, 5 would be written as 5.0.
        if self.0.fract() == 0.0 && self.0.abs() < 1e15 {
            #[expect(clippy::cast_possible_truncation, reason = "an integer below 2^53")]
            return serializer.serialize_i64(self.0 as i64);
        }
        serializer.serialize_f64(self.0)
    }
}

/// Formats a time, as in `12 ms`, `4.2 ms`, `1.25 s`.
pub(crate) fn time(seconds: f64) -> String {
    // Each bound is where the form below it would round up: 999.5 ms would become 1000 ms.
    let ms = seconds * 1e3;
    match ms.abs() {
        v if v >= 999.5 => format!("{} s", trim(&format!("{seconds:.2}"))),
        v if v >= 9.95 => format!("{ms:.0} ms"),
        v if v >= 0.095 => format!("{} ms", trim(&format!("{ms:.1}"))),
        v if v >= 0.0005 => format!("{:.0} µs", ms * 1e3),
        _ => "0 ms".to_owned(),
    }
}

/// Formats a rate, as in `10 Mbit/s`.
pub(crate) fn rate(bps: f64) -> String {
    let (scale, unit) = match bps.abs() {
        v if v >= 1e9 => (1e9, "Gbit/s"),
        v if v >= 1e6 => (1e6, "Mbit/s"),
        v if v >= 1e3 => (1e3, "kbit/s"),
        _ => (1.0, "bit/s"),
    };
    format!("{} {unit}", trim(&with_digits(bps / scale, 3, 3)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_rates_read_as_people_say_them() {
        assert_eq!(time(0.0123), "12 ms");
        assert_eq!(time(0.0042), "4.2 ms");
        assert_eq!(time(0.84), "840 ms");
        assert_eq!(time(1.25), "1.25 s");
        assert_eq!(time(2.0), "2 s");
        assert_eq!(time(0.000_012), "12 µs");
        assert_eq!(time(0.0), "0 ms");
        assert_eq!(rate(10e6), "10 Mbit/s");
        assert_eq!(rate(1.5e9), "1.5 Gbit/s");
        assert_eq!(rate(0.0), "0 bit/s");
        assert_eq!(rate(100e3), "100 kbit/s");
    }

    #[test]
    fn short_numbers_are_short() {
        let json = |v| serde_json::to_string(&ShortNumber::new(v)).unwrap();
        assert_eq!(json(12.345_678), "12.35");
        assert_eq!(json(842.0), "842");
        assert_eq!(json(0.0), "0");
        assert_eq!(json(f64::NAN), "null");
        assert_eq!(json(f64::INFINITY), "null");
        assert_eq!(json(123_456.0), "123500");
    }
}
