//! The forms of values: how the value of a key is read, written and described.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use goodqueue::{Duration, Rate};
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tc::units::{self, show_number};
use serde_json::{Value, json};

use super::document::{Node, Origin, Raw};
use super::quantity::Quantity;
use super::reader::Reader;

/// How values of type `T` are written in a scenario.
pub(super) trait Form<T> {
    /// Reads `node`, which is the value of `key` or its default.
    fn read(&self, table: &Reader<'_>, key: &str, node: &Node) -> Result<T, Diagnostic>;

    /// Reads the value of `key`, if it is given.
    fn given(&self, table: &Reader<'_>, key: &str) -> Result<Option<T>, Diagnostic> {
        table.node(key).map(|node| self.read(table, key, node)).transpose()
    }

    /// Returns the value as [`Form::read`] takes it; `None`: the key is left out.
    fn write(&self, value: &T) -> Option<Value>;

    /// Returns the JSON schema of all values.
    fn schema(&self) -> Value;

    /// Returns the allowed values in words; nothing if the schema says all.
    fn range(&self) -> String {
        String::new()
    }

    /// Returns the quantity of bare numbers.
    fn quantity(&self) -> Option<Quantity> {
        None
    }
}

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

    fn write(&self, value: &Duration) -> Option<Value> {
        Some(json!(value.to_string()))
    }

    fn schema(&self) -> Value {
        json!({ "type": "string" })
    }

    fn range(&self) -> String {
        const SHORTEST: Duration = Duration::from_nanos(1);
        let (low, high) = (*self.range.start(), *self.range.end());
        match (low, high) {
            (Duration::ZERO, Duration::MAX) => String::new(),
            (Duration::ZERO, _) => format!("at most {high}"),
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
            table.error(key, message.allowed(Form::<T>::range(self)))
        })
    }

    fn write(&self, value: &T) -> Option<Value> {
        Some(json!((*value).into()))
    }

    fn schema(&self) -> Value {
        let least = *self.range.start();
        json!({ "type": ["integer", "string"], "minimum": least })
    }

    fn range(&self) -> String {
        let (low, high) = (self.range.start(), self.range.end());
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
        let allowed = || format!("a whole number from {}", Form::<T>::range(self));
        let number = number.and_then(|number| T::try_from(number).ok());
        number.ok_or_else(|| table.mismatch(key, node, &allowed()))
    }

    fn write(&self, value: &T) -> Option<Value> {
        Some(json!((*value).into()))
    }

    fn schema(&self) -> Value {
        json!({ "type": "integer", "minimum": self.0.start(), "maximum": self.0.end() })
    }

    fn range(&self) -> String {
        format!("{} to {}", self.0.start(), self.0.end())
    }
}

/// A number without a unit, whole or not.
pub(super) struct Number {
    /// What is said of other numbers, with `{}` for the number.
    refusal: &'static str,
    range: RangeInclusive<f64>,
    /// What the numbers count; nothing: the range says all.
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
    pub(super) const fn of(mut self, of: &'static str) -> Self {
        self.of = of;
        self
    }
}

impl Form<f64> for Number {
    fn read(&self, table: &Reader<'_>, key: &str, node: &Node) -> Result<f64, Diagnostic> {
        let number = match &node.raw {
            Raw::Integer(number) => number.to_string().parse().ok(),
            Raw::Other(text) => text.replace('_', "").parse::<f64>().ok(),
            _ => None,
        };
        let Some(number) = number.filter(|number| number.is_finite()) else {
            return Err(table.mismatch(key, node, "a number, such as 1.5"));
        };
        if self.range.contains(&number) {
            return Ok(number);
        }
        let message = Diagnostic::new(self.refusal.replace("{}", &show_number(number)));
        Err(table.error(key, message.allowed(self.range())))
    }

    fn write(&self, value: &f64) -> Option<Value> {
        Some(json!(value))
    }

    fn schema(&self) -> Value {
        json!({ "type": "number", "minimum": self.range.start(), "maximum": self.range.end() })
    }

    fn range(&self) -> String {
        format!("{}{} to {}", self.of, self.range.start(), self.range.end())
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

    fn write(&self, value: &T) -> Option<Value> {
        self.0.iter().find(|(_, known)| known == value).map(|(word, _)| json!(word))
    }

    fn schema(&self) -> Value {
        json!({ "enum": self.names() })
    }
}

/// One of the words that a list holds.
pub(super) struct Listed(pub(super) fn() -> Vec<&'static str>);

impl Form<String> for Listed {
    fn read(&self, table: &Reader<'_>, key: &str, node: &Node) -> Result<String, Diagnostic> {
        let (given, known) = (TEXT.read(table, key, node)?, (self.0)());
        if known.contains(&given.as_str()) { Ok(given) } else { Err(table.unknown(key, &given, &known)) }
    }

    fn write(&self, value: &String) -> Option<Value> {
        Some(json!(value))
    }

    fn schema(&self) -> Value {
        json!({ "enum": (self.0)() })
    }
}

/// A form that one key has.
pub(super) struct Own<T> {
    pub(super) read: fn(&Reader<'_>, &str, &Node) -> Result<T, Diagnostic>,
    pub(super) write: fn(&T) -> Value,
    pub(super) schema: fn() -> Value,
    pub(super) quantity: Option<Quantity>,
}

impl<T> Form<T> for Own<T> {
    fn read(&self, table: &Reader<'_>, key: &str, node: &Node) -> Result<T, Diagnostic> {
        (self.read)(table, key, node)
    }

    fn write(&self, value: &T) -> Option<Value> {
        Some((self.write)(value))
    }

    fn schema(&self) -> Value {
        (self.schema)()
    }

    fn quantity(&self) -> Option<Quantity> {
        self.quantity
    }
}

/// A value that may be absent.
pub(super) struct Maybe<F>(pub(super) F);

impl<T, F: Form<T>> Form<Option<T>> for Maybe<F> {
    fn read(&self, table: &Reader<'_>, key: &str, node: &Node) -> Result<Option<T>, Diagnostic> {
        self.0.read(table, key, node).map(Some)
    }

    fn write(&self, value: &Option<T>) -> Option<Value> {
        value.as_ref().and_then(|value| self.0.write(value))
    }

    fn schema(&self) -> Value {
        self.0.schema()
    }

    fn range(&self) -> String {
        self.0.range()
    }

    fn quantity(&self) -> Option<Quantity> {
        self.0.quantity()
    }
}

/// A value that is not written if it is this one.
pub(super) struct Unless<T, F>(pub(super) T, pub(super) F);

impl<T: PartialEq, F: Form<T>> Form<T> for Unless<T, F> {
    fn read(&self, table: &Reader<'_>, key: &str, node: &Node) -> Result<T, Diagnostic> {
        self.1.read(table, key, node)
    }

    fn write(&self, value: &T) -> Option<Value> {
        if *value == self.0 { None } else { self.1.write(value) }
    }

    fn schema(&self) -> Value {
        self.1.schema()
    }

    fn range(&self) -> String {
        self.1.range()
    }

    fn quantity(&self) -> Option<Quantity> {
        self.1.quantity()
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

/// Returns the schema of a table with these keys and no others.
pub(super) fn object(properties: &Value, required: &[&str]) -> Value {
    let mut schema = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}
