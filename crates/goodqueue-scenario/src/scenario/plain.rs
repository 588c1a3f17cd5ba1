//! The forms of plain values: times, rates, sizes, numbers, texts and words.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use goodqueue::{Duration, Rate};
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tc::units::{self, show_number};
use serde_json::{Value, json};

use super::document::{Node, Origin, Raw};
use super::form::{Form, Own, Shape};
use super::quantity::Quantity;
use super::reader::Reader;

/// A time with its unit.
pub(super) struct Time {
    /// What is said of other times, with `{}` for the time.
    refusal: &'static str,
    range: RangeInclusive<Duration>,
}

/// Any time.
pub(super) const TIME: Time = time("", Duration::ZERO..=Duration::MAX);

/// A time within a range. `refusal` has `{}` in place of a time outside.
pub(super) const fn time(refusal: &'static str, range: RangeInclusive<Duration>) -> Time {
    Time { refusal, range }
}

impl Form<Duration> for Time {
    fn read(&self, table: &Reader<'_>, key: &str, node: &Node) -> Result<Duration, Diagnostic> {
        let span = table.measure(key, node, "a time in quotes, such as \"50ms\"", units::time)?;
        if self.range.contains(&span) {
            return Ok(span);
        }
        let message = Diagnostic::new(self.refusal.replace("{}", &span.to_string()));
        Err(table.error(key, message.allowed(self.range())))
    }
}

impl Shape<Duration> for Time {
    fn write(&self, value: &Duration) -> Option<Value> {
        Some(json!(value.to_string()))
    }

    fn schema(&self) -> Value {
        json!({ "type": "string" })
    }

    fn range(&self) -> String {
        const SHORTEST: Duration = Duration::from_nanos(1);
        let low = *self.range.start();
        let high = *self.range.end();
        match (low, high) {
            (Duration::ZERO, Duration::MAX) => String::new(),
            (Duration::ZERO, _) => format!("at most {high}"),
            // 1 ns is the shortest time above 0.
            (SHORTEST, _) => format!("above 0s, at most {high}"),
            (_, Duration::MAX) => format!("at least {low}"),
            _ => format!("{low} to {high}"),
        }
    }

    fn quantity(&self) -> Option<Quantity> {
        Some(Quantity::Time)
    }
}

/// A rate above 0 with its unit.
pub(super) struct Speed {
    /// What is said of rate 0.
    pub(super) refusal: &'static str,
    pub(super) allowed: &'static str,
    /// What to do instead of rate 0.
    pub(super) help: &'static str,
}

/// The rate of a link or of a sender.
pub(super) const SPEED: Speed = Speed {
    refusal: "at a rate of 0 nothing ever leaves the queue",
    allowed: "a rate above 0",
    help: "for an outage write a schedule with a step of \"0bit\"",
};

impl Form<Rate> for Speed {
    fn read(&self, table: &Reader<'_>, key: &str, node: &Node) -> Result<Rate, Diagnostic> {
        let rate = table.measure(key, node, "a rate in quotes, such as \"10mbit\"", units::rate)?;
        if rate.as_bps() > 0 {
            return Ok(rate);
        }
        let message = Diagnostic::new(self.refusal).allowed(self.allowed);
        Err(table.error(key, if self.help.is_empty() { message } else { message.help(self.help) }))
    }
}

impl Shape<Rate> for Speed {
    fn write(&self, value: &Rate) -> Option<Value> {
        Some(json!(value.to_string()))
    }

    fn schema(&self) -> Value {
        json!({ "type": "string" })
    }

    fn quantity(&self) -> Option<Quantity> {
        Some(Quantity::Rate)
    }
}

/// A number of bytes.
pub(super) struct Size {
    /// What is said of other sizes, with `{}` for the bytes.
    refusal: &'static str,
    range: RangeInclusive<u64>,
}

/// Any size.
pub(super) const SIZE: Size = size("{} bytes are not possible", 0..=u64::MAX);

/// A size within a range. `refusal` has `{}` in place of a size outside.
pub(super) const fn size(refusal: &'static str, range: RangeInclusive<u64>) -> Size {
    Size { refusal, range }
}

impl<T: TryFrom<u64> + Copy + Into<u64>> Form<T> for Size {
    fn read(&self, table: &Reader<'_>, key: &str, node: &Node) -> Result<T, Diagnostic> {
        let bytes = table.measure(key, node, "a size, such as 1500 (bytes) or \"360kb\"", units::size)?;
        let possible = T::try_from(bytes).ok().filter(|_| self.range.contains(&bytes));
        possible.ok_or_else(|| {
            let message = Diagnostic::new(self.refusal.replace("{}", &bytes.to_string()));
            table.error(key, message.allowed(Shape::<T>::range(self)))
        })
    }
}

impl<T: TryFrom<u64> + Copy + Into<u64>> Shape<T> for Size {
    fn write(&self, value: &T) -> Option<Value> {
        Some(json!((*value).into()))
    }

    fn schema(&self) -> Value {
        let least = *self.range.start();
        json!({ "type": ["integer", "string"], "minimum": least })
    }

    fn range(&self) -> String {
        let low = self.range.start();
        let high = self.range.end();
        if *high == u64::MAX { String::new() } else { format!("{low} to {high}") }
    }
}

/// A whole number within a range.
pub(super) struct Whole(RangeInclusive<u64>);

/// A whole number within `range`.
pub(super) const fn whole(range: RangeInclusive<u64>) -> Whole {
    Whole(range)
}

impl<T: TryFrom<u64> + Copy + Into<u64>> Form<T> for Whole {
    fn read(&self, table: &Reader<'_>, key: &str, node: &Node) -> Result<T, Diagnostic> {
        let number = match node.raw {
            Raw::Integer(number) => u64::try_from(number).ok().filter(|number| self.0.contains(number)),
            _ => None,
        };
        let allowed = || format!("a whole number from {} to {}", self.0.start(), self.0.end());
        let number = number.and_then(|number| T::try_from(number).ok());
        number.ok_or_else(|| table.mismatch(key, node, &allowed()))
    }
}

impl<T: TryFrom<u64> + Copy + Into<u64>> Shape<T> for Whole {
    fn write(&self, value: &T) -> Option<Value> {
        Some(json!((*value).into()))
    }

    fn schema(&self) -> Value {
        json!({ "type": "integer", "minimum": self.0.start(), "maximum": self.0.end() })
    }

    fn range(&self) -> String {
        // The bound of a type is no bound to look up.
        if *self.0.end() >= u64::from(u32::MAX) {
            return String::new();
        }
        format!("{} to {}", self.0.start(), self.0.end())
    }
}

/// A number without a unit, whole or not.
pub(super) struct Number {
    /// What is said of other numbers, with `{}` for the number.
    refusal: &'static str,
    range: RangeInclusive<f64>,
    /// What the numbers count, for messages; nothing: the range says all.
    of: &'static str,
}

/// Any number.
pub(super) const NUMBER: Number = number("", f64::MIN..=f64::MAX);

/// A number within `range`. `refusal` has `{}` in place of a number outside.
pub(super) const fn number(refusal: &'static str, range: RangeInclusive<f64>) -> Number {
    Number { refusal, range, of: "" }
}

impl Number {
    /// Names what the numbers count, for messages.
    pub(super) const fn counting(mut self, of: &'static str) -> Self {
        self.of = of;
        self
    }

    /// Returns what numbers are allowed, for messages.
    pub(super) fn allowed(&self) -> String {
        format!("{}{}", self.of, self.range())
    }
}

impl Form<f64> for Number {
    fn read(&self, table: &Reader<'_>, key: &str, node: &Node) -> Result<f64, Diagnostic> {
        let number = match &node.raw {
            Raw::Integer(number) => number.to_string().parse().ok(),
            // TOML allows underscores between digits, Rust's parser of numbers does not.
            Raw::Other(text) => text.replace('_', "").parse::<f64>().ok(),
            _ => None,
        };
        // TOML has `inf` and `nan`, which no key can use.
        let Some(number) = number.filter(|number| number.is_finite()) else {
            return Err(table.mismatch(key, node, "a number, such as 1.5"));
        };
        if self.range.contains(&number) {
            return Ok(number);
        }
        let message = Diagnostic::new(self.refusal.replace("{}", &show_number(number)));
        Err(table.error(key, message.allowed(self.allowed())))
    }
}

impl Shape<f64> for Number {
    fn write(&self, value: &f64) -> Option<Value> {
        Some(json!(value))
    }

    fn schema(&self) -> Value {
        json!({ "type": "number", "minimum": self.range.start(), "maximum": self.range.end() })
    }

    fn range(&self) -> String {
        format!("{} to {}", self.range.start(), self.range.end())
    }
}

/// `true` or `false`.
pub(super) struct Flag;

impl Form<bool> for Flag {
    fn read(&self, table: &Reader<'_>, key: &str, node: &Node) -> Result<bool, Diagnostic> {
        match node.raw {
            Raw::Bool(value) => Ok(value),
            _ => Err(table.mismatch(key, node, "`true` or `false`")),
        }
    }
}

impl Shape<bool> for Flag {
    fn write(&self, value: &bool) -> Option<Value> {
        Some(json!(value))
    }

    fn schema(&self) -> Value {
        json!({ "type": "boolean" })
    }
}

/// Text with a limited number of bytes.
pub(super) struct Text {
    /// What the text is, for messages.
    what: &'static str,
    bytes: RangeInclusive<usize>,
}

/// Any text.
pub(super) const TEXT: Text = text("", 0..=usize::MAX);

/// Text with a number of bytes within a range. Messages call it `what`.
pub(super) const fn text(what: &'static str, bytes: RangeInclusive<usize>) -> Text {
    Text { what, bytes }
}

impl Form<String> for Text {
    fn read(&self, table: &Reader<'_>, key: &str, node: &Node) -> Result<String, Diagnostic> {
        let Raw::Text(text) = &node.raw else { return Err(table.mismatch(key, node, "text in quotes")) };
        if self.bytes.contains(&text.len()) {
            return Ok(text.clone());
        }
        let problem = if text.is_empty() { "empty" } else { "too long" };
        let message = Diagnostic::new(format!("the {} is {problem}", self.what)).allowed(self.range());
        // The start of a long text is enough.
        Err(table.error(key, if text.len() > MOST_SHOWN { message.at(0..0) } else { message }))
    }
}

impl Shape<String> for Text {
    fn write(&self, value: &String) -> Option<Value> {
        Some(json!(value))
    }

    fn schema(&self) -> Value {
        json!({ "type": "string" })
    }

    fn range(&self) -> String {
        match (self.bytes.start(), self.bytes.end()) {
            (_, &usize::MAX) => String::new(),
            (0, high) => format!("at most {high} bytes"),
            (low, high) => format!("{low} to {high} bytes"),
        }
    }
}

/// Bytes of a text that a message quotes.
const MOST_SHOWN: usize = 1000;

/// One of several words, each with its value.
pub(super) struct Words<T: 'static>(pub(super) &'static [(&'static str, T)]);

impl<T> Words<T> {
    fn names(&self) -> Vec<&'static str> {
        self.0.iter().map(|(word, _)| *word).collect()
    }
}

impl<T: Clone + PartialEq> Form<T> for Words<T> {
    fn read(&self, table: &Reader<'_>, key: &str, node: &Node) -> Result<T, Diagnostic> {
        let given = TEXT.read(table, key, node)?;
        match self.0.iter().find(|(word, _)| *word == given) {
            Some((_, value)) => Ok(value.clone()),
            None => Err(table.unknown(key, &given, &self.names())),
        }
    }
}

impl<T: Clone + PartialEq> Shape<T> for Words<T> {
    fn write(&self, value: &T) -> Option<Value> {
        self.0.iter().find(|(_, known)| known == value).map(|(word, _)| json!(word))
    }

    fn schema(&self) -> Value {
        json!({ "enum": self.names() })
    }
}

/// A file, relative to the scenario file if that names it.
pub(super) const FILE: Own<PathBuf> = Own {
    read: |table, key, node| {
        let given = TEXT.read(table, key, node)?;
        Ok(match node.origin {
            Origin::File(_) => table.document().folder().join(given),
            _ => PathBuf::from(given),
        })
    },
    write: |file| json!(file.to_string_lossy()),
    schema: || json!({ "type": "string" }),
    quantity: None,
};
