//! Numbers for people: a few significant digits.

/// Returns the number of digits after the point with which `value` has this number of significant
/// digits; at most `most`. A whole number keeps all of its digits.
#[must_use]
pub fn decimals(value: f64, significant: i32, most: usize) -> usize {
    // 99.95 in three digits is 100, and not 100.0. Only the quotient of integers is exactly 99.95.
    let least_with = |decimals: usize| {
        let places = i32::try_from(decimals).unwrap_or(i32::MAX);
        (power_of_ten(significant + 1) - 5.0) / power_of_ten(places + 2)
    };
    (0..most).find(|decimals| value.abs() >= least_with(*decimals)).unwrap_or(most)
}

/// Formats `value` with this number of significant digits, and at most `most` digits after the
/// point.
#[must_use]
pub fn with_digits(value: f64, significant: i32, most: usize) -> String {
    format!("{value:.*}", decimals(value, significant, most))
}

/// Removes the zeros at the end of a decimal fraction.
#[must_use]
pub fn trim(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

/// Returns a power of ten, exactly up to 10^15. `powi` may round differently on another machine.
fn power_of_ten(exponent: i32) -> f64 {
    (0..exponent).fold(1.0, |power, _| power * 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_does_not_add_a_digit() {
        let three = |value: f64| with_digits(value, 3, 3);
        assert_eq!([842.6, 99.95, 99.94, 9.995, 9.994].map(three), ["843", "100", "99.9", "10.0", "9.99"]);
        assert_eq!(
            [9.996, 0.9996, 0.9994, 0.01, -84.26].map(three),
            ["10.0", "1.00", "0.999", "0.010", "-84.3"]
        );
        assert_eq!(
            [843.0, 84.3, 8.43, 0.84].map(|value| with_digits(value, 2, 2)),
            ["843", "84", "8.4", "0.84"]
        );
    }

    #[test]
    fn numbers_without_digits_stay_what_they_are() {
        assert_eq!(with_digits(f64::NAN, 3, 2), "NaN");
        assert_eq!(with_digits(f64::INFINITY, 3, 2), "inf");
        assert_eq!(["2.50", "10", "0.0"].map(trim), ["2.5", "10", "0"]);
    }
}
