//! Rates, times and sizes as text, in two readings.
//!
//! **Inside a tc line** ([`tc_rate`], [`tc_time`], ...) a word means exactly what iproute2 takes it
//! for. The trap: tc's `mbps` is mega**bytes** per second. Units are case-insensitive and directly
//! follow the number.
//!
//! | what | units in a tc line | bare number |
//! |---|---|---|
//! | rate | `bit kbit mbit gbit tbit` (1000), `kibit mibit gibit tibit` (1024), `bps kbps mbps gbps tbps kibps ...` (bytes/s) | bit/s |
//! | size | `b`, `k kb`, `m mb`, `g gb` (1024), `kbit mbit gbit` (1024 / 8) | bytes |
//! | probability | `%` | a fraction; in netem percent |
//! | time | `s sec secs`, `ms msec msecs`, `us usec usecs`, `ns nsec nsecs` | µs |
//!
//! **Everywhere else** ([`rate`], [`time`], [`size`]: scenario files, the command line) what could
//! be read in two ways is refused, a unit is obligatory and may stand apart from the number.
//!
//! | what | units elsewhere | bare number |
//! |---|---|---|
//! | rate | `bit kbit mbit gbit tbit`, `kibit ...`, each also with `/s`, in any case; `Mbps Gbps Tbps`, `Mb/s Gb/s Tb/s` with that capital | refused |
//! | size | as in a tc line, and `KiB MiB GiB` | bytes |
//! | time | as in a tc line, and `µs`, `min`, `h` | refused |
//!
//! Arithmetic is exact: `1.1mbit` is 1100000 bit/s; what is below one bit per second, byte or
//! nanosecond is cut off. (tc itself calculates in floating point and keeps whole bytes per second
//! and, in most places, whole microseconds.)

use goodqueue::{Duration, Rate};

use crate::diagnostic::{Diagnostic, nearest, shortened};

/// A rate as tc reads it.
///
/// # Errors
/// Not a number, an unknown unit, negative, or above 2^64 - 1 bit/s.
pub fn tc_rate(text: &str) -> Result<Rate, Diagnostic> {
    tc(text, "rate", "bit/s", TC_RATE_UNITS).map(Rate::from_bps)
}

/// A size in bytes as tc reads it.
///
/// # Errors
/// Not a number, an unknown unit, negative, or above 2^64 - 1 bytes.
pub fn tc_size(text: &str) -> Result<u64, Diagnostic> {
    tc(text, "size", "bytes", TC_SIZE_UNITS)
}

/// A time as tc reads it: a bare number is microseconds.
///
/// # Errors
/// Not a number, an unknown unit, negative, or above 584 years.
pub fn tc_time(text: &str) -> Result<Duration, Diagnostic> {
    tc(text, "time", "microseconds", TC_TIME_UNITS).map(Duration::from_nanos)
}

/// A time whose bare number is seconds (sfq's `perturb`).
///
/// # Errors
/// As [`tc_time`].
pub fn tc_seconds(text: &str) -> Result<Duration, Diagnostic> {
    tc(text, "time", "seconds", TC_SECONDS_UNITS).map(Duration::from_nanos)
}

/// A number of packets: `1000`, or `1000p` as `tc qdisc show` prints it.
///
/// # Errors
/// Not a whole number of packets.
pub fn tc_packets(text: &str) -> Result<u64, Diagnostic> {
    whole(text.strip_suffix(['p', 'P']).unwrap_or(text)).ok_or_else(|| {
        Diagnostic::new(format!("`{}` is not a number of packets", shortened(text)))
            .allowed("a whole number, such as `1000` or `1000p`")
    })
}

/// A whole number, decimal or `0x` hexadecimal.
///
/// # Errors
/// Anything else. Octal (`010`), which tc would read as 8, is refused.
pub fn tc_integer(text: &str) -> Result<u64, Diagnostic> {
    whole(text).ok_or_else(|| {
        Diagnostic::new(format!("`{}` is not a whole number from 0 to {}", shortened(text), u64::MAX))
            .allowed("decimal digits without a leading 0, or `0x` and hexadecimal digits")
    })
}

/// A number with a decimal point, such as `0.16`, in 256ths. As in tc, the rest is cut off.
///
/// # Errors
/// Anything else, or more than eight digits behind the point.
pub fn tc_256ths(text: &str) -> Result<u64, Diagnostic> {
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let read = || {
        let (whole, fraction) = text.split_once('.')?;
        let number = |part: &str| if part.is_empty() { Some(0) } else { part.parse::<u64>().ok() };
        let places = u32::try_from(fraction.len()).ok().filter(|places| (1..=8).contains(places))?;
        // Eight digits times 256 have at most 35 bits.
        let parts = number(fraction)? * 256 / 10_u64.pow(places);
        // `parse` alone accepts a `+`.
        if !digits(whole) || !digits(fraction) {
            None
        } else {
            number(whole)?.checked_mul(256)?.checked_add(parts)
        }
    };
    read().ok_or_else(|| {
        Diagnostic::new(format!("`{}` is not a decimal number", shortened(text)))
            .allowed("digits with a decimal point, such as `0.16`")
    })
}

/// A whole number that may be below zero: as [`tc_integer`], with or without a `-`.
///
/// # Errors
/// Anything else.
pub fn tc_signed(text: &str) -> Result<i64, Diagnostic> {
    let (digits, negative) = match text.strip_prefix('-') {
        Some(digits) => (digits, true),
        None => (text, false),
    };
    // The number without its sign has to fit, so the negation below cannot overflow.
    let number = whole(digits).and_then(|number| i64::try_from(number).ok());
    number.map(|number| if negative { -number } else { number }).ok_or_else(|| {
        Diagnostic::new(format!("`{}` is not a whole number", shortened(text))).allowed(
            "decimal digits without a leading 0, or `0x` and hexadecimal digits; with a `-` if below zero",
        )
    })
}

/// A fraction from 0 to 1: `0.02`, or `2%`.
///
/// # Errors
/// Not a number, or outside 0 to 1.
pub fn tc_probability(text: &str) -> Result<f64, Diagnostic> {
    let read = match text.strip_suffix('%') {
        Some(digits) => fraction(digits, PERCENT),
        None => fraction(text, 0),
    };
    read.ok_or_else(|| {
        Diagnostic::new(format!("`{}` is not a fraction", shortened(text)))
            .allowed("0 to 1, such as `0.02`, or a percentage such as `2%`")
    })
}

/// A percentage as a fraction: `2` and `2%` are 0.02 (probabilities of netem).
///
/// # Errors
/// Not a number, or outside 0 to 100.
pub fn tc_percentage(text: &str) -> Result<f64, Diagnostic> {
    fraction(text.strip_suffix('%').unwrap_or(text), PERCENT).ok_or_else(|| {
        Diagnostic::new(format!("`{}` is not a percentage", shortened(text)))
            .allowed("0 to 100, such as `2` or `2%`")
    })
}

/// The number of `digits` times 10 to the `power`, if it is from 0 to 1.
fn fraction(digits: &str, power: i64) -> Option<f64> {
    // `parse` alone would take `+1` and `-0`. Here a number starts with a digit or a point.
    split(digits).filter(|(_, unit)| unit.is_empty())?;
    let (mantissa, exponent) = digits.split_once(['e', 'E']).unwrap_or((digits, "0"));
    // A division would round a second time: 0.7 / 100 is not 0.007.
    let exponent = exponent.parse::<i64>().ok()?.checked_add(power)?;
    let value = format!("{mantissa}e{exponent}").parse::<f64>().ok()?;
    (0.0..=1.0).contains(&value).then_some(value)
}

/// A rate as a percentage of that of a link: `95%`.
///
/// # Errors
/// Not a percentage, or 0.
pub fn share(text: &str, link: Rate) -> Result<Rate, Diagnostic> {
    // Without a `%` nothing is left, which is refused below.
    let digits = text.trim().strip_suffix('%').unwrap_or_default();
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let are_digits = |text: &str| text.chars().all(|digit| digit.is_ascii_digit());
    let refused = || {
        Diagnostic::new(format!("`{}` is not a share of the line", shortened(text)))
            .allowed("a percentage above 0 and up to 1000, such as `95%`")
    };
    if whole.is_empty() || fraction.len() > 3 || !are_digits(whole) || !are_digits(fraction) {
        return Err(refused());
    }
    // Digits are padded instead of multiplied, so that no floating-point number cuts a bit per
    // second off.
    let thousandths = format!("{whole}{fraction:0<3}").parse::<u32>().map_err(|_| refused())?;
    if thousandths == 0 || thousandths > LARGEST_SHARE {
        return Err(refused());
    }
    // The product may need more than 64 bits.
    let bps = u128::from(link.as_bps()) * u128::from(thousandths) / 100_000;
    u64::try_from(bps).map(Rate::from_bps).map_err(|_| refused())
}

/// A rate outside a tc line.
///
/// # Errors
/// As [`tc_rate`], and no unit, or one that means bits to some and bytes to others.
pub fn rate(text: &str) -> Result<Rate, Diagnostic> {
    let (number, unit) = parts(text, "rate", "10mbit")?;
    if unit.is_empty() {
        return Err(without_unit(text, "rate", RATE_EXAMPLES)
            .help(format!("write `{}mbit` if Mbit/s is meant", text.trim())));
    }
    let strict = BITS_PER_SECOND.iter().find(|known| known.0 == unit).map(|known| known.1);
    // Of tc's units only those of bits are left: `mbps` is bytes in tc, and bits to most people.
    let per_second = unit.strip_suffix("/s").unwrap_or(unit);
    let bits = strict.or_else(|| {
        let in_bits = per_second.to_ascii_lowercase().ends_with("bit");
        find(TC_RATE_UNITS, per_second).filter(|_| in_bits).map(|scale| scale.0)
    });
    match bits {
        Some(scale) => exactly(number, (scale, 1), text, "rate").map(Rate::from_bps),
        None => Err(two_readings(text, number, unit).unwrap_or_else(|| {
            bad_unit(text, unit, "rate", TC_RATE_UNITS.iter().map(|known| known.0)).allowed(RATE_EXAMPLES)
        })),
    }
}

/// A time outside a tc line.
///
/// # Errors
/// As [`tc_time`], and no unit.
pub fn time(text: &str) -> Result<Duration, Diagnostic> {
    let (number, unit) = parts(text, "time", "50ms")?;
    if unit.is_empty() {
        return Err(without_unit(text, "time", TIME_EXAMPLES)
            .help(format!("write `{0}s` for seconds, `{0}ms` for milliseconds", text.trim())));
    }
    match find(TC_TIME_UNITS, unit).or_else(|| find(LONG_TIMES, unit)) {
        Some(scale) => exactly(number, scale, text, "time").map(Duration::from_nanos),
        None => {
            let units = TC_TIME_UNITS.iter().chain(LONG_TIMES).map(|known| known.0);
            Err(bad_unit(text, unit, "time", units).allowed(TIME_EXAMPLES))
        }
    }
}

/// A size in bytes outside a tc line.
///
/// # Errors
/// As [`tc_size`].
pub fn size(text: &str) -> Result<u64, Diagnostic> {
    let (number, unit) = parts(text, "size", "360kb")?;
    match find(TC_SIZE_UNITS, unit).or_else(|| find(BINARY_SIZES, unit)) {
        Some(scale) => exactly(number, scale, text, "size"),
        None => {
            let units = TC_SIZE_UNITS.iter().chain(BINARY_SIZES).map(|known| known.0);
            Err(bad_unit(text, unit, "size", units).allowed(SIZE_EXAMPLES))
        }
    }
}

/// A rate for people: `10 Mbit/s`.
#[must_use]
pub fn show_rate(rate: Rate) -> String {
    let units = [(1_000_000_000, "Gbit/s"), (1_000_000, "Mbit/s"), (1000, "kbit/s"), (1, "bit/s")];
    show(rate.as_bps(), &units)
}

/// A time for people: `50 ms`.
#[must_use]
pub fn show_time(span: Duration) -> String {
    // `show` would print `0 ns`.
    if span.is_zero() {
        return "0 s".to_owned();
    }
    show(span.as_nanos(), &[(1_000_000_000, "s"), (1_000_000, "ms"), (1000, "µs"), (1, "ns")])
}

/// A size for people: `32 MiB`.
#[must_use]
pub fn show_size(bytes: u64) -> String {
    show(bytes, &[(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B")])
}

/// Factor of a unit: a numerator and a denominator.
type Scale = (u64, u64);

/// A decimal number as written: `mantissa * 10^exponent`, the first 20 significant digits of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Decimal {
    mantissa: u128,
    exponent: i64,
}

impl Decimal {
    /// The number times `scale`, cut to a whole number; `None` if that is above 2^64 - 1.
    fn times(self, scale: Scale) -> Option<u64> {
        // 10^20 * 2^43 (`tibps`) is below 2^110.
        let mut value = self.mantissa.checked_mul(u128::from(scale.0))?;
        if self.exponent >= 0 {
            // Nothing is cut off yet: each numerator is a multiple of its denominator.
            value /= u128::from(scale.1);
            // A larger power of ten overflows unless the number is 0. The bound keeps `0e999999999`
            // short.
            for _ in 0..self.exponent.min(40) {
                value = value.checked_mul(10)?;
            }
        } else {
            // The value is below 2^128, so it is 0 after 39 divisions at the latest.
            for _ in 0..self.exponent.unsigned_abs().min(60) {
                value /= 10;
            }
            value /= u128::from(scale.1);
        }
        u64::try_from(value).ok()
    }
}

fn tc(text: &str, what: &str, bare: &str, units: &[(&str, Scale)]) -> Result<u64, Diagnostic> {
    let Some((number, unit)) = split(text) else {
        return Err(not_a_number(text, what, &format!("a number and a unit; a bare number is {bare}")));
    };
    match find(units, unit) {
        Some(scale) => exactly(number, scale, text, what),
        None => {
            let names: Vec<&str> =
                units.iter().map(|known| known.0).filter(|name| !name.is_empty()).collect();
            Err(bad_unit(text, unit, what, names.iter().copied())
                .allowed(format!("{}; a bare number is {bare}", names.join(" "))))
        }
    }
}

fn parts<'a>(text: &'a str, what: &str, example: &str) -> Result<(Decimal, &'a str), Diagnostic> {
    let trimmed = text.trim();
    match split(trimmed) {
        Some((number, unit)) => Ok((number, unit.trim_start())),
        None => Err(not_a_number(text, what, &format!("a number and a unit, such as `{example}`"))),
    }
}

/// Splits a number from the text after it; `None` if the text does not start with a digit.
fn split(text: &str) -> Option<(Decimal, &str)> {
    let bytes = text.as_bytes();
    let mut position = 0;
    let mut digits = 0;
    let mut number = Decimal { mantissa: 0, exponent: 0 };
    let mut fraction = false;
    while let Some(&byte) = bytes.get(position) {
        match byte {
            b'0'..=b'9' => {
                digits += 1;
                if number.mantissa < SIGNIFICANT {
                    number.mantissa = number.mantissa * 10 + u128::from(byte - b'0');
                    number.exponent -= i64::from(fraction);
                } else {
                    // A digit beyond the significant ones only shifts the number. Behind the point
                    // it changes nothing.
                    number.exponent += i64::from(!fraction);
                }
            }
            b'.' if !fraction => fraction = true,
            _ => break,
        }
        position += 1;
    }
    if digits == 0 {
        return None;
    }
    if let Some((power, length)) = exponent(&text[position..]) {
        number.exponent = number.exponent.saturating_add(power);
        position += length;
    }
    Some((number, &text[position..]))
}

/// `e6`, `E-3`: the power of ten and the length of its text.
fn exponent(text: &str) -> Option<(i64, usize)> {
    let rest = text.strip_prefix(['e', 'E'])?;
    let (negative, unsigned) = match rest.strip_prefix('-') {
        Some(unsigned) => (true, unsigned),
        None => (false, rest.strip_prefix('+').unwrap_or(rest)),
    };
    let digits = unsigned.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return None;
    }
    // Beyond 9 digits the number is 0 or too large in any unit.
    let power = if digits > 9 { 1_000_000_000 } else { unsigned[..digits].parse::<i64>().ok()? };
    Some((if negative { -power } else { power }, text.len() - unsigned.len() + digits))
}

fn whole(text: &str) -> Option<u64> {
    if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        // `from_str_radix` accepts a `+`, which tc refuses behind `0x`.
        return u64::from_str_radix(hex, 16).ok().filter(|_| !hex.starts_with('+'));
    }
    // `strtoul` of tc reads `010` as 8, a person as 10.
    let octal = text.len() > 1 && text.starts_with('0');
    let digits = !octal && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits)
}

fn exactly(number: Decimal, scale: Scale, text: &str, what: &str) -> Result<u64, Diagnostic> {
    number.times(scale).ok_or_else(|| {
        let most = match what {
            "rate" => format!("up to {} bit/s", u64::MAX),
            "time" => "up to 18446744073s (584 years)".to_owned(),
            _ => format!("up to {} bytes", u64::MAX),
        };
        Diagnostic::new(format!("the {what} `{}` is too large", shortened(text))).allowed(most)
    })
}

fn find(units: &[(&str, Scale)], unit: &str) -> Option<Scale> {
    units.iter().find(|known| known.0.eq_ignore_ascii_case(unit)).map(|known| known.1)
}

/// Bytes to some and bits to others: both readings of `10mbps`, `10MB`, `10 kb/s`.
fn two_readings(text: &str, number: Decimal, unit: &str) -> Option<Diagnostic> {
    let lower = unit.to_ascii_lowercase();
    let prefix = ["bps", "b/s", "b"].iter().find_map(|end| lower.strip_suffix(end))?;
    let bits = match prefix {
        "" => 1,
        "k" => 1000,
        "m" => 1_000_000,
        "g" => 1_000_000_000,
        "t" => 1_000_000_000_000,
        _ => return None,
    };
    let in_bits = Rate::from_bps(number.times((bits, 1))?);
    let in_bytes = Rate::from_bps(number.times((bits * 8, 1))?);
    Some(
        Diagnostic::new(format!(
            "the unit of the rate `{}` has two readings: bytes per second, as in tc, which is {}, or bits per second, \
             which is {}",
            shortened(text),
            show_rate(in_bytes),
            show_rate(in_bits),
        ))
        .help(format!("write `{in_bytes}` or `{in_bits}`")),
    )
}

fn not_a_number(text: &str, what: &str, allowed: &str) -> Diagnostic {
    let trimmed = text.trim();
    let why = if trimmed.starts_with('-') && trimmed[1..].starts_with(|c: char| c.is_ascii_digit()) {
        format!("the {what} `{}` is negative", shortened(text))
    } else if trimmed.is_empty() {
        format!("the {what} is empty")
    } else {
        format!("`{}` is not a {what}", shortened(text))
    };
    Diagnostic::new(why).allowed(allowed)
}

fn without_unit(text: &str, what: &str, examples: &str) -> Diagnostic {
    Diagnostic::new(format!("the {what} `{}` has no unit", shortened(text.trim()))).allowed(examples)
}

fn bad_unit<'a>(text: &str, unit: &str, what: &str, units: impl Iterator<Item = &'a str>) -> Diagnostic {
    let message = Diagnostic::new(format!(
        "`{}` of the {what} `{}` is not a unit of {what}",
        shortened(unit),
        shortened(text.trim())
    ));
    match nearest(unit, units.filter(|known| !known.is_empty())) {
        Some(near) => message.help(format!("did you mean `{near}`?")),
        None => message,
    }
}

/// Returns `value` with up to three decimals in the largest of `units` that it reaches. The largest
/// one comes first.
fn show(value: u64, units: &[(u64, &str)]) -> String {
    let thousandths = |scale: u64| (u128::from(value) * 1000 + u128::from(scale) / 2) / u128::from(scale);
    // Once it is rounded: 999,999,999 ns are 1000 ms, which is 1 s.
    let reaches =
        |unit: u64, smaller: u64| thousandths(smaller) * u128::from(smaller) >= u128::from(unit) * 1000;
    let reached = units.windows(2).find(|pair| reaches(pair[0].0, pair[1].0));
    // 0 is below every unit and takes the last one.
    let (scale, name) = reached.map_or(units[units.len() - 1], |pair| pair[0]);
    let whole = thousandths(scale) / 1000;
    let rest = thousandths(scale) % 1000;
    if rest == 0 {
        return format!("{whole} {name}");
    }
    let decimals = format!("{rest:03}");
    format!("{whole}.{} {name}", decimals.trim_end_matches('0'))
}

// Shares above 100 % are for links in front of the line, such as the port of a router.
/// In thousandths of a percent.
const LARGEST_SHARE: u32 = 1_000_000;
const TC_RATE_UNITS: &[(&str, Scale)] = &[
    ("", (1, 1)),
    ("bit", (1, 1)),
    ("kbit", (1000, 1)),
    ("mbit", (1_000_000, 1)),
    ("gbit", (1_000_000_000, 1)),
    ("tbit", (1_000_000_000_000, 1)),
    ("kibit", (1 << 10, 1)),
    ("mibit", (1 << 20, 1)),
    ("gibit", (1 << 30, 1)),
    ("tibit", (1 << 40, 1)),
    ("bps", (8, 1)),
    ("kbps", (8000, 1)),
    ("mbps", (8_000_000, 1)),
    ("gbps", (8_000_000_000, 1)),
    ("tbps", (8_000_000_000_000, 1)),
    ("kibps", (8 << 10, 1)),
    ("mibps", (8 << 20, 1)),
    ("gibps", (8 << 30, 1)),
    ("tibps", (8 << 40, 1)),
];

const TC_SIZE_UNITS: &[(&str, Scale)] = &[
    ("", (1, 1)),
    ("b", (1, 1)),
    ("k", (1 << 10, 1)),
    ("kb", (1 << 10, 1)),
    ("m", (1 << 20, 1)),
    ("mb", (1 << 20, 1)),
    ("g", (1 << 30, 1)),
    ("gb", (1 << 30, 1)),
    ("kbit", (1 << 10, 8)),
    ("mbit", (1 << 20, 8)),
    ("gbit", (1 << 30, 8)),
];

const TC_TIME_UNITS: &[(&str, Scale)] = &[
    ("", (1000, 1)),
    ("s", (1_000_000_000, 1)),
    ("sec", (1_000_000_000, 1)),
    ("secs", (1_000_000_000, 1)),
    ("ms", (1_000_000, 1)),
    ("msec", (1_000_000, 1)),
    ("msecs", (1_000_000, 1)),
    ("us", (1000, 1)),
    ("usec", (1000, 1)),
    ("usecs", (1000, 1)),
    ("ns", (1, 1)),
    ("nsec", (1, 1)),
    ("nsecs", (1, 1)),
];

// tc takes bare seconds only. The units let a line of `to_tc` be read again.
const TC_SECONDS_UNITS: &[(&str, Scale)] = &[
    ("", (1_000_000_000, 1)),
    ("s", (1_000_000_000, 1)),
    ("sec", (1_000_000_000, 1)),
    ("secs", (1_000_000_000, 1)),
    ("ms", (1_000_000, 1)),
    ("msec", (1_000_000, 1)),
    ("us", (1000, 1)),
    ("usec", (1000, 1)),
    ("ns", (1, 1)),
];

/// In exactly this spelling the capital prefix is the SI prefix, and the unit is bits.
const BITS_PER_SECOND: &[(&str, u64)] = &[
    ("Mbps", 1_000_000),
    ("Gbps", 1_000_000_000),
    ("Tbps", 1_000_000_000_000),
    ("Mb/s", 1_000_000),
    ("Gb/s", 1_000_000_000),
    ("Tb/s", 1_000_000_000_000),
];

const LONG_TIMES: &[(&str, Scale)] =
    &[("µs", (1000, 1)), ("min", (60_000_000_000, 1)), ("h", (3_600_000_000_000, 1))];

const BINARY_SIZES: &[(&str, Scale)] = &[("kib", (1 << 10, 1)), ("mib", (1 << 20, 1)), ("gib", (1 << 30, 1))];

/// Power of ten of a percent.
const PERCENT: i64 = -2;
const RATE_EXAMPLES: &str = "`10mbit`, `1.5 Mbit/s`, `10Mbps`, `1gbit`";
const TIME_EXAMPLES: &str = "`50ms`, `0.5s`, `100us`, `1 min`";
const SIZE_EXAMPLES: &str = "`1500` (bytes), `360kb` and `1mb` (1024, as in tc), `32MiB`";

/// A mantissa below this takes one more digit. Every `u64` has at most the resulting 20 digits.
const SIGNIFICANT: u128 = 10_000_000_000_000_000_000;

/// A number as people write it: `0.25`, and `1e308` where digits would fill lines.
#[must_use]
pub fn show_number(number: f64) -> String {
    let size = number.abs();
    let is_handy = size == 0.0 || (1e-6..1e15).contains(&size) || !number.is_finite();
    if is_handy { number.to_string() } else { format!("{number:e}") }
}

#[cfg(test)]
mod tests;
