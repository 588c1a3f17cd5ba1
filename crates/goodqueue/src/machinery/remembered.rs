//! What an algorithm remembers, for the story of a packet.
//!
//! Every state of an [`Aqm`](crate::aqm::Aqm) has the trait `Debug`. Its text has the names and the
//! values of the fields, so an algorithm appears in stories without code of its own.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::{self, Debug, Write as _};

use crate::quantity::Quantity;
use crate::time::{Duration, Instant, Rate};

/// One value that an algorithm remembers.
#[derive(Clone, PartialEq, Debug)]
pub struct Remembered {
    /// Name of the field; `state` if the state has no named fields.
    pub name: String,
    /// The value.
    pub value: Recalled,
}

/// The value of a field.
#[derive(Clone, PartialEq, Debug)]
pub enum Recalled {
    /// A value with a unit, a number or a flag.
    Quantity(Quantity),
    /// Anything else, as `Debug` writes it, shortened.
    Text(String),
}

impl fmt::Display for Recalled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Quantity(quantity) => fmt::Display::fmt(quantity, f),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// Returns the fields of `state`; points in time are relative to `now`.
pub(crate) fn remembered(state: &impl Debug, now: Instant) -> Vec<Remembered> {
    let mut text = Bounded(String::new());
    // An error says that the text is longer than the bound. Its beginning is enough.
    let _ = write!(text, "{state:?}");
    let text = text.0.trim();
    let named = |name: &str, value: &str| Remembered { name: name.to_owned(), value: recalled(value, now) };
    // `Debug` writes a struct with fields as `Name { field: value }`.
    let inside = text.split_once(" {").filter(|(name, _)| is_identifier(name));
    match inside {
        Some((_, inside)) => {
            let inside = inside.strip_suffix('}').unwrap_or(inside);
            let fields = parts(inside).into_iter().filter_map(|field| field.split_once(": "));
            fields.map(|(name, value)| named(name.trim(), value.trim())).collect()
        }
        // A state without fields remembers nothing.
        None if text == "()" => Vec::new(),
        None => Vec::from([named("state", text)]),
    }
}

fn recalled(text: &str, now: Instant) -> Recalled {
    match quantity(text, now) {
        Some(quantity) => Recalled::Quantity(quantity),
        None => Recalled::Text(shortened(&with_units(text, now))),
    }
}

/// Reads a value that has a unit of its own.
fn quantity(text: &str, now: Instant) -> Option<Quantity> {
    let inside = |name: &str| text.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')');
    let whole = |name: &str| inside(name).and_then(|digits| digits.parse::<u64>().ok());
    if let Some(inner) = inside("Some") {
        return quantity(inner, now);
    }
    if let Some(nanos) = whole("Duration") {
        return Some(Quantity::Span(Duration::from_nanos(nanos)));
    }
    if let Some(nanos) = whole("Instant") {
        return Some(Quantity::at(Instant::from_nanos(nanos), now));
    }
    if let Some(bps) = whole("Rate") {
        return Some(Quantity::Rate(Rate::from_bps(bps)));
    }
    match text {
        "None" => Some(Quantity::Unset),
        "true" => Some(Quantity::Flag(true)),
        "false" => Some(Quantity::Flag(false)),
        _ if !text.starts_with(|c: char| c.is_ascii_digit() || c == '-') => None,
        _ => match text.parse() {
            Ok(number) => Some(Quantity::Number(number)),
            Err(_) => text.parse().ok().map(Quantity::Real),
        },
    }
}

/// Writes values with units as people read them, inside of other text such as a list.
fn with_units(text: &str, now: Instant) -> String {
    let mut told = String::new();
    let mut rest = text;
    while let Some((start, end)) = next_unit(rest) {
        told.push_str(&rest[..start]);
        match quantity(&rest[start..end], now) {
            Some(quantity) => told += &quantity.to_string(),
            None => told.push_str(&rest[start..end]),
        }
        rest = &rest[end..];
    }
    told + rest
}

/// Finds the first value with a unit.
fn next_unit(text: &str) -> Option<(usize, usize)> {
    let starts = ["Duration(", "Instant(", "Rate("].iter().filter_map(|name| text.find(name));
    let start = starts.min()?;
    let length = text[start..].find(')')?;
    Some((start, start + length + 1))
}

/// Splits at the commas that no bracket and no quotes enclose.
fn parts(text: &str) -> Vec<&str> {
    let mut all = Vec::new();
    let mut begin = 0;
    let mut depth = 0_u32;
    let mut is_quoted = false;
    let mut is_escaped = false;
    for (index, character) in text.char_indices() {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                all.push(&text[begin..index]);
                begin = index + 1;
            }
            _ => {}
        }
    }
    all.push(&text[begin..]);
    all
}

fn is_identifier(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

fn shortened(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(LONGEST).collect();
    if text.chars().nth(LONGEST).is_some() { format!("{line}...") } else { line }
}

/// Text that takes no more than a bound.
struct Bounded(String);

impl fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > MOST_BYTES {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

/// Characters of a value that has no unit: such values are columns of a table.
const LONGEST: usize = 40;
/// Bytes of a state's text: an algorithm may remember a long list.
const MOST_BYTES: usize = 1 << 14;

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    #[expect(dead_code, reason = "read through Debug")]
    struct State {
        probability: f64,
        count: u32,
        marking: bool,
        updated: Instant,
        next: Option<Instant>,
        delay: Option<Duration>,
        rate: Rate,
        phase: Phase,
        recent: Vec<Duration>,
        name: &'static str,
    }

    #[derive(Debug)]
    enum Phase {
        Waiting,
    }

    fn told(state: &impl Debug) -> Vec<(String, String)> {
        let now = Instant::from_nanos(2_000_000_000);
        remembered(state, now).into_iter().map(|one| (one.name, one.value.to_string())).collect()
    }

    #[test]
    fn every_field_is_told_with_its_unit() {
        let state = State {
            probability: 0.123_456,
            count: 7,
            marking: true,
            updated: Instant::from_nanos(1_985_000_000),
            next: Some(Instant::from_nanos(2_001_000_000)),
            delay: None,
            rate: Rate::from_bps(10_000_000),
            phase: Phase::Waiting,
            recent: Vec::from([Duration::from_millis(1), Duration::from_millis(20)]),
            name: "a, \"b\": {",
        };
        let told = told(&state);
        let told: Vec<(&str, &str)> =
            told.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(
            told,
            [
                ("probability", "0.123"),
                ("count", "7"),
                ("marking", "yes"),
                ("updated", "15 ms ago"),
                ("next", "in 1 ms"),
                ("delay", "not set"),
                ("rate", "10mbit"),
                ("phase", "Waiting"),
                ("recent", "[1 ms, 20 ms]"),
                ("name", r#""a, \"b\": {""#),
            ]
        );
    }

    #[test]
    fn a_state_without_fields_is_one_value_or_none() {
        assert_eq!(told(&()), []);
        assert_eq!(told(&7_u32), [("state".to_owned(), "7".to_owned())]);
        assert_eq!(told(&Some(Duration::from_millis(3))), [("state".to_owned(), "3 ms".to_owned())]);
        assert_eq!(told(&(1, 2)), [("state".to_owned(), "(1, 2)".to_owned())]);
    }

    #[test]
    fn a_long_list_is_shortened() {
        let told = told(&alloc::vec![1.5_f64; 1_000_000]);
        assert_eq!(told.len(), 1);
        assert!(told[0].1.ends_with("...") && told[0].1.len() < 50, "{told:?}");
    }
}
