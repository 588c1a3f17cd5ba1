//! One parameter of a discipline: its unit, its default, its range, where the default comes from,
//! and what it does.
//!
//! A discipline declares each of its parameters once, as a [`Declaration`]. Reading and checking
//! settings, `list`, `explain` and the documentation all use the resulting [`Parameter`]:
//!
//! ```
//! use goodqueue::Settings;
//! use goodqueue::config::{Declaration, Parameter, Value};
//!
//! const LIMIT: Parameter = Declaration::packets("limit")
//!     .default(10_240)
//!     .range(1..=16_777_216)
//!     .source("RFC 8290 §5.2.3")
//!     .meaning("packets that all queues together hold");
//!
//! assert_eq!(LIMIT.default_text(), "10240p");
//! assert_eq!(LIMIT.range_text(), "1 to 16777216");
//! assert_eq!(LIMIT.read::<u32>(&Settings::new()), Ok(10_240));
//! assert!(LIMIT.check(&Value::Packets(0)).is_err());
//! ```

use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;
use core::ops::RangeInclusive;

use crate::time::{Duration, Rate};

/// One parameter.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Parameter {
    /// The word in tc's grammar. A name `a.b` is one that tc writes without a name, behind the
    /// value of `a` and the parameters `a.…` that come before it in the table: `delay 100ms 10ms`.
    pub name: &'static str,
    /// What values it takes.
    pub unit: Unit,
    /// The value of a configuration that does not set it.
    pub default: DefaultValue,
    /// Admissible values.
    pub range: Range,
    /// What the range cannot express.
    pub condition: Condition,
    /// Where the default comes from.
    pub source: &'static str,
    /// What it does.
    pub doc: &'static str,
}

/// The value of a parameter that is not set.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum DefaultValue {
    /// A value.
    Is(Literal),
    /// A value, and the values of some variants.
    OfVariants(Literal, VariantDefaults),
    /// It follows from other values, or there is none. In words.
    Derived(&'static str),
}

/// The defaults of variants that differ from the usual one, each with the names of the variants.
#[derive(Clone, Copy, PartialEq, Debug)]
#[expect(missing_docs, reason = "the sorts of values of `Literal`")]
pub enum VariantDefaults {
    Numbers(&'static [(&'static [&'static str], u64)]),
    Times(&'static [(&'static [&'static str], Duration)]),
    Flags(&'static [(&'static [&'static str], bool)]),
}

/// Admissible values of a parameter. Both ends are included.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Range {
    /// Every value of the unit.
    Any,
    /// Values from one to another.
    Within(Literal, Literal),
    /// Powers of 2 from one number to another.
    PowersOfTwo(u64, u64),
}

/// What a range cannot express, such as a relation to another parameter. In words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Condition {
    /// Nothing.
    None,
    /// Words that stand behind the range.
    Beside(&'static str),
    /// Words that stand in place of the range, because they include it.
    Instead(&'static str),
}

/// A value whose unit is known from its parameter.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Literal {
    /// Packets, bytes, a whole number or the minor number of a class.
    Number(u64),
    /// A whole number that may be below zero.
    Signed(i64),
    /// A span of time.
    Time(Duration),
    /// A rate.
    Rate(Rate),
    /// A fraction.
    Probability(f64),
    /// On or off.
    Flag(bool),
    /// A word.
    Choice(&'static str),
    /// A band, counted from 0, for each priority.
    Priomap([u8; 16]),
}

impl Parameter {
    /// Returns the default as it is written in a line, or in words where it is derived.
    #[must_use]
    pub fn default_text(&self) -> String {
        match self.default {
            DefaultValue::Is(value) => self.written(value),
            DefaultValue::OfVariants(usual, others) => {
                let others = others
                    .all()
                    .map(|(variants, value)| format!("; {}: {}", variants.join(", "), self.written(value)));
                self.written(usual) + &others.collect::<String>()
            }
            DefaultValue::Derived(words) => words.to_string(),
        }
    }

    /// Returns the default in variant `variant`, or `None` if it is derived.
    #[must_use]
    pub fn default_of(&self, variant: &str) -> Option<Value> {
        let value = match self.default {
            DefaultValue::Is(value) => value,
            DefaultValue::OfVariants(usual, others) => {
                others.all().find(|(variants, _)| variants.contains(&variant)).map_or(usual, |own| own.1)
            }
            DefaultValue::Derived(_) => return None,
        };
        Some(value.with_unit(self.unit))
    }

    /// Returns the default number.
    ///
    /// # Panics
    /// The default is none, which is found when a constant is computed from it.
    pub(crate) const fn default_number(&self) -> u64 {
        match self.default {
            DefaultValue::Is(Literal::Number(number)) => number,
            // A constant reads it, so the compiler reports the mistake.
            _ => panic!("the default is no number"),
        }
    }

    /// Returns the default time.
    ///
    /// # Panics
    /// The default is none, which is found when a constant is computed from it.
    pub(crate) const fn default_time(&self) -> Duration {
        match self.default {
            DefaultValue::Is(Literal::Time(span)) => span,
            _ => panic!("the default is no time"),
        }
    }

    /// Returns the admissible values in words; nothing if every value is admissible.
    #[must_use]
    pub fn range_text(&self) -> String {
        match (self.range, self.condition) {
            (range, Condition::None) => range.to_string(),
            (Range::Any, Condition::Beside(words)) | (_, Condition::Instead(words)) => words.to_string(),
            (range, Condition::Beside(words)) => format!("{range}; {words}"),
        }
    }

    fn written(&self, value: Literal) -> String {
        // tc reads `mb` in a size as 2^20 bytes.
        const MEGABYTE: u64 = 1 << 20;
        match (value, self.unit) {
            (Literal::Flag(true), Unit::Flag { off: Some(_) }) => self.name.to_string(),
            (Literal::Flag(false), Unit::Flag { off: Some(off) }) => off.to_string(),
            (Literal::Number(bytes), Unit::Bytes) if bytes > 0 && bytes % MEGABYTE == 0 => {
                format!("{}mb", bytes / MEGABYTE)
            }
            _ => self.unit.written(&value.with_unit(self.unit)),
        }
    }
}

impl VariantDefaults {
    /// Returns the names of variants, and their default.
    fn all(self) -> impl Iterator<Item = (&'static [&'static str], Literal)> {
        // Only one of the three lists has entries; together they make one type of iterator.
        let numbers: &[_] = if let Self::Numbers(numbers) = self { numbers } else { &[] };
        let times: &[_] = if let Self::Times(times) = self { times } else { &[] };
        let flags: &[_] = if let Self::Flags(flags) = self { flags } else { &[] };
        let numbers = numbers.iter().map(|(variants, number)| (*variants, Literal::Number(*number)));
        let times = times.iter().map(|(variants, span)| (*variants, Literal::Time(*span)));
        let flags = flags.iter().map(|(variants, is_on)| (*variants, Literal::Flag(*is_on)));
        numbers.chain(times).chain(flags)
    }
}

impl Range {
    /// Returns true if `value` is admissible.
    #[must_use]
    pub fn contains(&self, value: &Value) -> bool {
        use Literal::{Number, Probability, Rate, Signed, Time};
        match (self, value) {
            (
                Self::Within(Number(low), Number(high)),
                Value::Packets(given) | Value::Bytes(given) | Value::Integer(given),
            ) => (low..=high).contains(&given),
            (Self::PowersOfTwo(low, high), Value::Packets(given) | Value::Integer(given)) => {
                given.is_power_of_two() && (low..=high).contains(&given)
            }
            (Self::Within(Signed(low), Signed(high)), Value::Signed(given)) => (low..=high).contains(&given),
            // A number without a sign is one of a parameter that may be below zero, too.
            (Self::Within(Signed(low), Signed(high)), Value::Integer(given)) => {
                i64::try_from(*given).is_ok_and(|given| (*low..=*high).contains(&given))
            }
            (Self::Within(Time(low), Time(high)), Value::Time(given)) => (low..=high).contains(&given),
            (Self::Within(Rate(low), Rate(high)), Value::Rate(given)) => (low..=high).contains(&given),
            (Self::Within(Probability(low), Probability(high)), Value::Probability(given)) => {
                (low..=high).contains(&given)
            }
            // The unit is checked first, so a mismatch of range and value has been refused already.
            _ => true,
        }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHORTEST: Duration = Duration::from_nanos(1);
        match *self {
            Self::Any => Ok(()),
            Self::PowersOfTwo(low, high) => write!(f, "a power of 2 from {low} to {high}"),
            Self::Within(Literal::Time(Duration::ZERO), Literal::Time(Duration::MAX)) => f.write_str("any"),
            Self::Within(Literal::Time(SHORTEST), Literal::Time(Duration::MAX)) => f.write_str("more than 0"),
            Self::Within(low, high) if high.is_greatest() => write!(f, "{low} or more"),
            Self::Within(low, high) => write!(f, "{low} to {high}"),
        }
    }
}

impl Literal {
    /// Returns the value that this is for a parameter of `unit`.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "the number is compared with the largest")]
    pub const fn with_unit(self, unit: Unit) -> Value {
        match self {
            Self::Number(number) => match unit {
                Unit::Packets => Value::Packets(number),
                Unit::Bytes => Value::Bytes(number),
                Unit::Class if number <= u32::MAX as u64 => Value::Class(number as u32),
                _ => Value::Integer(number),
            },
            Self::Signed(number) => Value::Signed(number),
            Self::Time(span) => Value::Time(span),
            Self::Rate(rate) => Value::Rate(rate),
            Self::Probability(fraction) => Value::Probability(fraction),
            Self::Flag(is_on) => Value::Flag(is_on),
            Self::Choice(word) => Value::Choice(word),
            Self::Priomap(bands) => Value::Priomap(bands),
        }
    }

    /// Returns true if no value of this sort is above it, so that it is no bound.
    pub(crate) fn is_greatest(self) -> bool {
        match self {
            Self::Number(number) => number == u64::MAX,
            Self::Time(span) => span == Duration::MAX,
            Self::Rate(rate) => rate.as_bps() == u64::MAX,
            _ => false,
        }
    }
}

/// Written without a unit where the parameter's unit is clear.
impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Time(Duration::ZERO) => f.write_str("0"),
            value => value.with_unit(Unit::Integer).fmt(f),
        }
    }
}

/// How the value of a parameter is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// A number of packets: `1000` or `1000p`.
    Packets,
    /// A size: `1514`, `32mb`, `60kb`.
    Bytes,
    /// A time: `5ms`; a bare number is microseconds, as in tc.
    Time,
    /// A time whose bare number is seconds (sfq's `perturb`).
    Seconds,
    /// A rate: `10mbit`; a bare number is bits per second.
    Rate,
    /// A whole number.
    Integer,
    /// A whole number that may be below zero.
    Signed,
    /// The minor number of a class: hexadecimal, as in tc.
    Class,
    /// A fraction between 0 and 1.
    Probability,
    /// A fraction between 0 and 1 that tc writes as a percentage (netem): `2%`; a bare number is
    /// percent.
    Percentage,
    /// A word that switches something on, and the word that switches it off.
    Flag {
        /// The word for "off", if tc has one.
        off: Option<&'static str>,
    },
    /// One of several words.
    Choice(&'static [&'static str]),
    /// One of several words, or a table.
    Table(&'static [&'static str]),
    /// A band for each of sixteen priorities: up to sixteen numbers, the rest as by default.
    Priomap,
}

impl Unit {
    /// Returns `value` as tc reads it for a parameter of this unit.
    #[must_use]
    pub fn written(self, value: &Value) -> String {
        match (self, value) {
            (Self::Percentage, Value::Probability(fraction)) => percentage(*fraction),
            _ => value.to_string(),
        }
    }
}

/// Returns a fraction as a percentage. Moves the point in the text, because a product would be
/// rounded.
fn percentage(fraction: f64) -> String {
    let text = fraction.to_string();
    let (whole, behind) = text.split_once('.').unwrap_or((&text, ""));
    let (percent, rest) = match behind.split_at_checked(2) {
        Some((percent, rest)) => (percent.to_string(), rest),
        None => (format!("{behind:0<2}"), ""),
    };
    let digits = format!("{whole}{percent}");
    let number = match digits.trim_start_matches('0') {
        "" => "0",
        number => number,
    };
    if rest.is_empty() { format!("{number}%") } else { format!("{number}.{rest}%") }
}

/// A value with its unit resolved.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// Packets.
    Packets(u64),
    /// Bytes.
    Bytes(u64),
    /// A span of time.
    Time(Duration),
    /// A rate.
    Rate(Rate),
    /// A whole number.
    Integer(u64),
    /// A whole number that may be below zero.
    Signed(i64),
    /// The minor number of a class.
    Class(u32),
    /// A fraction.
    Probability(f64),
    /// On or off.
    Flag(bool),
    /// A word.
    Choice(&'static str),
    /// A table that has none of the words for a name.
    Table(Arc<Table>),
    /// A band, counted from 0, for each priority.
    Priomap([u8; 16]),
}

/// Numbers, and the name under which they are asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    /// The word in tc's grammar, such as the path of a file.
    pub name: String,
    /// The numbers.
    pub entries: Vec<i16>,
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packets(n) => write!(f, "{n}p"),
            Self::Bytes(n) | Self::Integer(n) => write!(f, "{n}"),
            Self::Signed(n) => write!(f, "{n}"),
            Self::Class(minor) => write!(f, "{minor:x}"),
            Self::Time(span) => write!(f, "{span}"),
            Self::Rate(rate) => write!(f, "{rate}"),
            Self::Probability(p) => write!(f, "{p}"),
            Self::Flag(on) => f.write_str(if *on { "on" } else { "off" }),
            Self::Choice(word) => f.write_str(word),
            Self::Table(table) => f.write_str(&table.name),
            Self::Priomap(bands) => {
                for (index, band) in bands.iter().enumerate() {
                    write!(f, "{}{band}", if index > 0 { " " } else { "" })?;
                }
                Ok(())
            }
        }
    }
}

/// A type of the values that a configuration holds for its parameters.
pub trait Setting: Sized {
    /// Returns the value, or `None` if it is of another sort or this type cannot hold it.
    fn from_value(value: &Value) -> Option<Self>;

    /// Returns the value of a parameter of `unit`.
    fn into_value(self, unit: Unit) -> Value;
}

/// Implements [`Setting`] for types of whole numbers.
macro_rules! whole_numbers {
    ($($type:ty)+) => {$(
        impl Setting for $type {
            fn from_value(value: &Value) -> Option<Self> {
                match *value {
                    Value::Packets(n) | Value::Bytes(n) | Value::Integer(n) => n.try_into().ok(),
                    Value::Class(minor) => u64::from(minor).try_into().ok(),
                    _ => None,
                }
            }

            fn into_value(self, unit: Unit) -> Value {
                Literal::Number(self.into()).with_unit(unit)
            }
        }
    )+};
}

whole_numbers! { u8 u16 u32 u64 }

/// Implements [`Setting`] for types of whole numbers that may be below zero.
macro_rules! signed_numbers {
    ($($type:ty)+) => {$(
        impl Setting for $type {
            fn from_value(value: &Value) -> Option<Self> {
                match *value {
                    Value::Signed(n) => n.try_into().ok(),
                    Value::Integer(n) => n.try_into().ok(),
                    _ => None,
                }
            }

            fn into_value(self, _: Unit) -> Value {
                Value::Signed(self.into())
            }
        }
    )+};
}

signed_numbers! { i32 i64 }

/// Implements [`Setting`] for types that one variant of [`Value`] holds.
macro_rules! one_sort {
    ($($type:ty = $sort:ident;)+) => {$(
        impl Setting for $type {
            fn from_value(value: &Value) -> Option<Self> {
                if let Value::$sort(value) = *value { Some(value) } else { None }
            }

            fn into_value(self, _: Unit) -> Value {
                Value::$sort(self)
            }
        }
    )+};
}

one_sort! {
    Duration = Time;
    Rate = Rate;
    f64 = Probability;
    bool = Flag;
    &'static str = Choice;
    [u8; 16] = Priomap;
}

/// A parameter that is being declared. Its values have the type `T`.
///
/// A declaration starts with the unit and the name, and ends with [`Self::meaning`].
#[derive(Clone, Copy, Debug)]
pub struct Declaration<T> {
    parameter: Parameter,
    values: PhantomData<T>,
}

impl<T> Declaration<T> {
    const fn new(name: &'static str, unit: Unit) -> Self {
        let parameter = Parameter {
            name,
            unit,
            default: DefaultValue::Derived(""),
            range: Range::Any,
            condition: Condition::None,
            source: "",
            doc: "",
        };
        Self { parameter, values: PhantomData }
    }

    /// Says in words how the default follows from other values, or that there is none.
    #[must_use]
    pub const fn derived(mut self, words: &'static str) -> Self {
        self.parameter.default = DefaultValue::Derived(words);
        self
    }

    /// Adds what the range cannot express, in words.
    #[must_use]
    pub const fn condition(mut self, words: &'static str) -> Self {
        self.parameter.condition = Condition::Beside(words);
        self
    }

    /// Says in words what is admissible. They include the range, which is not printed.
    #[must_use]
    pub const fn range_in_words(mut self, words: &'static str) -> Self {
        self.parameter.condition = Condition::Instead(words);
        self
    }

    /// Names the document that the default comes from.
    #[must_use]
    pub const fn source(mut self, source: &'static str) -> Self {
        self.parameter.source = source;
        self
    }

    /// Returns the parameter, which does what `doc` says.
    #[must_use]
    pub const fn meaning(mut self, doc: &'static str) -> Parameter {
        // The text of a doc comment begins with the space behind its slashes.
        self.parameter.doc = match doc.as_bytes() {
            [b' ', rest @ ..] => match core::str::from_utf8(rest) {
                Ok(text) => text,
                Err(_) => doc,
            },
            _ => doc,
        };
        self.parameter
    }
}

/// Writes the first and last methods of declarations: one function per unit, and defaults and
/// ranges in the type of the values.
macro_rules! declarations {
    ($($type:ty = $literal:ident [$($(#[$doc:meta])* $name:ident => $unit:expr;)+])+) => {$(
        impl Declaration<$type> {
            $(
                $(#[$doc])*
                #[must_use]
                pub const fn $name(name: &'static str) -> Self {
                    Self::new(name, $unit)
                }
            )+

            /// Sets the default.
            #[must_use]
            pub const fn default(mut self, value: $type) -> Self {
                self.parameter.default = DefaultValue::Is(Literal::$literal(value));
                self
            }

            /// Sets the range, whose ends are admissible.
            #[must_use]
            pub const fn range(mut self, range: RangeInclusive<$type>) -> Self {
                self.parameter.range =
                    Range::Within(Literal::$literal(*range.start()), Literal::$literal(*range.end()));
                self
            }
        }
    )+};
}

declarations! {
    u64 = Number [
        /// Declares a number of packets.
        packets => Unit::Packets;
        /// Declares a size.
        bytes => Unit::Bytes;
        /// Declares a whole number.
        integer => Unit::Integer;
        /// Declares the minor number of a class.
        class => Unit::Class;
    ]
    i64 = Signed [
        /// Declares a whole number that may be below zero.
        signed => Unit::Signed;
    ]
    Duration = Time [
        /// Declares a time.
        time => Unit::Time;
        /// Declares a time whose bare number is seconds.
        seconds => Unit::Seconds;
    ]
    Rate = Rate [
        /// Declares a rate.
        rate => Unit::Rate;
    ]
    f64 = Probability [
        /// Declares a fraction between 0 and 1.
        probability => Unit::Probability;
        /// Declares a fraction that is written as a percentage.
        percentage => Unit::Percentage;
    ]
    bool = Flag [
        /// Declares a word that switches something on.
        flag => Unit::Flag { off: None };
    ]
    &'static str = Choice [
        /// Declares a choice between the words of [`Self::words`].
        choice => Unit::Choice(&[]);
        /// Declares a choice between the words of [`Self::words`] and a table.
        table => Unit::Table(&[]);
    ]
    [u8; 16] = Priomap [
        /// Declares a band for each of sixteen priorities.
        priomap => Unit::Priomap;
    ]
}

/// Writes the method that sets the defaults of variants.
macro_rules! variant_defaults {
    ($($type:ty = $sort:ident;)+) => {$(
        impl Declaration<$type> {
            /// Sets the defaults of the variants that differ. The usual default is already set.
            #[must_use]
            pub const fn of_variants(mut self, others: &'static [(&'static [&'static str], $type)]) -> Self {
                if let DefaultValue::Is(usual) = self.parameter.default {
                    self.parameter.default = DefaultValue::OfVariants(usual, VariantDefaults::$sort(others));
                }
                self
            }
        }
    )+};
}

variant_defaults! {
    u64 = Numbers;
    Duration = Times;
    bool = Flags;
}

impl Declaration<u64> {
    /// Sets a range of which only the powers of 2 are admissible.
    #[must_use]
    pub const fn powers_of_two(mut self, range: RangeInclusive<u64>) -> Self {
        self.parameter.range = Range::PowersOfTwo(*range.start(), *range.end());
        self
    }
}

impl Declaration<bool> {
    /// Sets the word that switches the flag off.
    #[must_use]
    pub const fn off(mut self, word: &'static str) -> Self {
        self.parameter.unit = Unit::Flag { off: Some(word) };
        self
    }
}

impl Declaration<&'static str> {
    /// Sets the words to choose from.
    #[must_use]
    pub const fn words(mut self, words: &'static [&'static str]) -> Self {
        self.parameter.unit = match self.parameter.unit {
            Unit::Table(_) => Unit::Table(words),
            _ => Unit::Choice(words),
        };
        self
    }
}
