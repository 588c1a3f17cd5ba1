//! Parameters by name: what `tc` accepts, `list qdiscs` prints, and a discipline's configuration is
//! made from.
//!
//! Each discipline describes itself in one [`Kind`] table and turns [`Settings`] (names and values,
//! units already resolved) into its own configuration type, which is valid by construction. Text
//! and units are not this crate's business: the tc grammar lives in `goodqueue-tc`.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::any::Any;
use core::fmt;

use crate::time::{Duration, Rate};

/// A discipline as its users see it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Kind {
    /// Name in tc's grammar.
    pub name: &'static str,
    /// One sentence: what it does.
    pub summary: &'static str,
    /// The document that defines it.
    pub reference: &'static str,
    /// Variants, the default first; empty if there is only one.
    pub variants: &'static [Variant],
    /// What disciplines it may hold.
    pub children: Children,
    /// What can be set.
    pub parameters: &'static [Parameter],
}

impl Kind {
    /// Returns a description without parameters, for a discipline that holds no other one.
    #[must_use]
    pub const fn new(name: &'static str, summary: &'static str) -> Self {
        let (variants, children, parameters) = (&[], Children::None, &[]);
        Self { name, summary, reference: "", variants, children, parameters }
    }

    /// Returns the same description with these parameters.
    #[must_use]
    pub const fn with_parameters(mut self, parameters: &'static [Parameter]) -> Self {
        self.parameters = parameters;
        self
    }

    /// Returns the same description with the document that defines the discipline.
    #[must_use]
    pub const fn with_reference(mut self, reference: &'static str) -> Self {
        self.reference = reference;
        self
    }
}

/// What disciplines a discipline may hold.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Children {
    /// None: it queues packets itself.
    None,
    /// One, or none.
    One,
    /// One for each band; bands are numbered from 1.
    Bands,
    /// Classes with these parameters, each with a discipline or with classes below it.
    Classes(&'static [Parameter]),
}

/// One implementation whose decisions a discipline can reproduce.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Variant {
    /// Name after the keyword `variant`.
    pub name: &'static str,
    /// Whose behaviour it is.
    pub doc: &'static str,
}

/// One parameter.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Parameter {
    /// The word in tc's grammar. A name `a.b` is one that tc writes without a name, behind the
    /// value of `a` and the parameters `a.…` that come before it in the table: `delay 100ms 10ms`.
    pub name: &'static str,
    /// What values it takes.
    pub unit: Unit,
    /// The default as it would be written, or in words where it is derived.
    pub default: &'static str,
    /// Where the default comes from.
    pub source: &'static str,
    /// Admissible values, in words.
    pub range: &'static str,
    /// What it does.
    pub doc: &'static str,
}

impl Parameter {
    /// Returns a parameter without a range. `default` is written as in a `tc` line.
    #[must_use]
    pub const fn new(name: &'static str, unit: Unit, default: &'static str, doc: &'static str) -> Self {
        Self { name, unit, default, source: "", range: "", doc }
    }

    /// Returns the same parameter with its range. Whole numbers are checked against a range such as
    /// `1 to 65536`.
    #[must_use]
    pub const fn with_range(mut self, range: &'static str) -> Self {
        self.range = range;
        self
    }

    /// Returns the same parameter with the document that its default comes from.
    #[must_use]
    pub const fn with_source(mut self, source: &'static str) -> Self {
        self.source = source;
        self
    }
}

/// A word that stands for settings of other parameters, as `docsis` of cake does for `mpu 64 noatm`
/// and 18 bytes of overhead.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Keyword {
    /// The word.
    pub name: &'static str,
    /// A number that the word increases, and by how much. An unset number counts as 0.
    pub adds: Option<(&'static str, i64)>,
    /// Settings for which it stands.
    pub sets: &'static [(&'static str, Value)],
    /// Purpose, and the settings for which it stands.
    pub doc: &'static str,
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

/// The setting that every discipline with variants has.
pub const VARIANT: &str = "variant";

/// Parameters that were given, by name, in the order given.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Settings {
    entries: Vec<(&'static str, Value)>,
    children: Vec<Child>,
    owner: Option<Owner>,
}

/// The discipline that settings belong to, if another crate defines it. No list of this crate has
/// its name, so the settings lead to it, also those of a child.
#[derive(Clone, Copy)]
pub struct Owner {
    pub(crate) kind: &'static Kind,
    /// Builds the configuration; its type is known to the module `own` only.
    pub(crate) maker: &'static (dyn Any + Send + Sync),
}

impl Owner {
    /// Returns the description of the discipline.
    #[must_use]
    pub const fn kind(&self) -> &'static Kind {
        self.kind
    }
}

impl PartialEq for Owner {
    fn eq(&self, other: &Self) -> bool {
        self.kind.name == other.kind.name
    }
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.name)
    }
}

/// A class or band of a discipline, and the discipline in it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Child {
    /// Its minor number; bands count from 1.
    pub class: u32,
    /// The class that it is below; 0: none.
    pub parent: u32,
    /// Parameters of the class.
    pub settings: Settings,
    /// Name and settings of the discipline in it; `None`: the default one, or classes below it.
    pub qdisc: Option<(&'static str, Settings)>,
}

impl Settings {
    /// No settings: everything at its default.
    #[must_use]
    pub const fn new() -> Self {
        Self { entries: Vec::new(), children: Vec::new(), owner: None }
    }

    /// Returns the same settings as those of a discipline of another crate.
    #[must_use]
    pub const fn of(mut self, owner: Owner) -> Self {
        self.owner = Some(owner);
        self
    }

    /// Returns the discipline that the settings belong to, if another crate defines it.
    #[must_use]
    pub const fn owner(&self) -> Option<Owner> {
        self.owner
    }

    /// Sets `name`; a later value replaces an earlier one.
    pub fn set(&mut self, name: &'static str, value: Value) {
        match self.entries.iter_mut().find(|entry| entry.0 == name) {
            Some(entry) => entry.1 = value,
            None => self.entries.push((name, value)),
        }
    }

    /// Returns the settings with `name` set to `value`.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: Value) -> Self {
        self.set(name, value);
        self
    }

    /// Adds a class, a band or the one inner discipline, behind those that were given.
    pub fn add_child(&mut self, child: Child) {
        self.children.push(child);
    }

    /// Returns the settings with one more child.
    #[must_use]
    pub fn with_child(mut self, child: Child) -> Self {
        self.add_child(child);
        self
    }

    pub(crate) fn entries(&self) -> &[(&'static str, Value)] {
        &self.entries
    }

    pub(crate) fn retain(&mut self, stays: impl Fn(&str) -> bool) {
        self.entries.retain(|entry| stays(entry.0));
    }

    /// Removes the child of class `minor`.
    pub(crate) fn remove_child(&mut self, minor: u32) {
        self.children.retain(|child| child.class != minor);
    }

    /// The children, in the order given.
    #[must_use]
    pub fn children(&self) -> &[Child] {
        &self.children
    }

    /// All names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, Value)> + '_ {
        self.entries.iter().cloned()
    }

    /// The value of `name`, if set.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Value> {
        self.entries.iter().find(|entry| entry.0 == name).map(|entry| entry.1.clone())
    }

    /// The span of time set for `name`.
    #[must_use]
    pub fn time(&self, name: &str) -> Option<Duration> {
        match self.get(name) {
            Some(Value::Time(span)) => Some(span),
            _ => None,
        }
    }

    /// The rate set for `name`.
    #[must_use]
    pub fn rate(&self, name: &str) -> Option<Rate> {
        match self.get(name) {
            Some(Value::Rate(rate)) => Some(rate),
            _ => None,
        }
    }

    /// The fraction set for `name`.
    #[must_use]
    pub fn probability(&self, name: &str) -> Option<f64> {
        match self.get(name) {
            Some(Value::Probability(p)) => Some(p),
            _ => None,
        }
    }

    /// Whether the flag `name` was set, and how.
    #[must_use]
    pub fn flag(&self, name: &str) -> Option<bool> {
        match self.get(name) {
            Some(Value::Flag(on)) => Some(on),
            _ => None,
        }
    }

    /// The word set for `name`.
    #[must_use]
    pub fn choice(&self, name: &str) -> Option<&'static str> {
        match self.get(name) {
            Some(Value::Choice(word)) => Some(word),
            _ => None,
        }
    }

    /// Returns the signed number set for `name`.
    ///
    /// # Errors
    /// The number is not within `low..=high`.
    pub fn signed(&self, name: &'static str, low: i32, high: i32) -> Result<Option<i32>, ConfigError> {
        let given = match self.get(name) {
            Some(Value::Signed(n)) => i32::try_from(n).ok(),
            Some(Value::Integer(n)) => i32::try_from(n).ok(),
            _ => return Ok(None),
        };
        match given.filter(|n| (low..=high).contains(n)) {
            Some(n) => Ok(Some(n)),
            None => Err(self.refused(name, alloc::format!("a value from {low} to {high}"))),
        }
    }

    fn refused(&self, name: &'static str, allowed: String) -> ConfigError {
        let value = self.get(name).map_or_else(String::new, |value| alloc::format!("{value}"));
        ConfigError::new(name, value, allowed)
    }

    /// Returns the number set for `name`, of any unit.
    ///
    /// # Errors
    /// The number is not within `low..=high`.
    pub fn number(&self, name: &'static str, low: u64, high: u64) -> Result<Option<u64>, ConfigError> {
        let given = match self.get(name) {
            Some(Value::Packets(n) | Value::Bytes(n) | Value::Integer(n)) => n,
            Some(Value::Rate(rate)) => rate.as_bps(),
            Some(Value::Time(span)) => span.as_nanos(),
            _ => return Ok(None),
        };
        if (low..=high).contains(&given) {
            return Ok(Some(given));
        }
        // Bounds are shown in the unit in which they can be written.
        let show = |bound: u64| match self.get(name) {
            Some(Value::Time(_)) => alloc::format!("{}", Duration::from_nanos(bound)),
            Some(Value::Rate(_)) => alloc::format!("{}", Rate::from_bps(bound)),
            _ => alloc::format!("{bound}"),
        };
        Err(self.refused(name, alloc::format!("a value from {} to {}", show(low), show(high))))
    }

    /// Like [`Self::number`], for a number that fits in 32 bits.
    ///
    /// # Errors
    /// The number is out of range.
    pub fn small(&self, name: &'static str, low: u64, high: u64) -> Result<Option<u32>, ConfigError> {
        let given = self.number(name, low, high.min(u64::from(u32::MAX)))?;
        Ok(given.and_then(|value| u32::try_from(value).ok()))
    }

    /// Like [`Self::small`], with the number for a setting that is not given.
    ///
    /// # Errors
    /// The number is out of range.
    pub fn small_or(
        &self,
        name: &'static str,
        low: u64,
        high: u64,
        default: u32,
    ) -> Result<u32, ConfigError> {
        Ok(self.small(name, low, high)?.unwrap_or(default))
    }

    /// Returns `bandwidth`, or else the rate of the link. An unknown rate counts as 10 Mbit/s, as
    /// in tc (tc-red(8)).
    ///
    /// # Errors
    /// `bandwidth` is less than one byte per second.
    pub(crate) fn bandwidth(&self, link: &Link) -> Result<Rate, ConfigError> {
        Ok(match (self.number("bandwidth", 8, u64::MAX)?, link.rate.as_bps()) {
            (Some(bits), _) => Rate::from_bps(bits),
            (None, 0) => Rate::from_bps(10_000_000),
            (None, bits) => Rate::from_bps(bits.max(8)),
        })
    }
}

/// A refused parameter: its name, the given value and the allowed values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConfigError {
    /// The parameter.
    pub parameter: &'static str,
    /// Given value.
    pub given: String,
    /// Allowed values.
    pub allowed: Cow<'static, str>,
    /// Class that the parameter belongs to, if it belongs to one.
    pub class: Option<u32>,
}

impl ConfigError {
    /// Returns the error that `parameter` was `given` but must be `allowed`.
    pub fn new(
        parameter: &'static str,
        given: impl Into<String>,
        allowed: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { parameter, given: given.into(), allowed: allowed.into(), class: None }
    }

    /// Returns the same error for a parameter of class `minor`.
    #[must_use]
    pub fn in_class(mut self, minor: u32) -> Self {
        self.class = Some(minor);
        self
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(minor) = self.class {
            write!(f, "class {minor:x}: ")?;
        }
        write!(f, "`{} {}` is not possible: allowed is {}", self.parameter, self.given, self.allowed)
    }
}

impl core::error::Error for ConfigError {}

/// The link in front of which a discipline is. tc derives defaults from it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link {
    /// Rate of the link.
    pub rate: Rate,
    /// Largest packet as the queue counts it, link header included: 1514 for Ethernet (Linux
    /// `psched_mtu`).
    pub mtu: u32,
    /// Propagation delay, from which ns-2's RED derives its filter.
    pub delay: Duration,
}

impl Default for Link {
    /// 10 Mbit/s Ethernet; 10 Mbit/s is what tc assumes for `red` when no bandwidth is given.
    fn default() -> Self {
        Self { rate: Rate::from_bps(10_000_000), mtu: 1514, delay: Duration::ZERO }
    }
}

/// A configuration that is read from [`Settings`] and written as such.
pub trait Configure: Sized + Clone {
    /// The discipline it configures.
    const KIND: Kind;

    /// Words that stand for settings of other parameters.
    const KEYWORDS: &'static [Keyword] = &[];

    /// True if the discipline, as in Linux, makes room for a lower limit at the head of the queue.
    /// A packet that the parent took ahead of time is then dropped first.
    const LIMIT_DROPS_NEXT: bool = false;

    /// Returns the configuration with `settings`, everything else at its default on `link`.
    ///
    /// # Errors
    /// A name is no parameter of the discipline, or a value has the wrong unit, is out of range or
    /// contradicts another one.
    fn from_settings(settings: &Settings, link: &Link) -> Result<Self, ConfigError> {
        Self::KIND.check(settings)?;
        Self::from_checked(settings, link)
    }

    /// Completes `settings`, which [`Kind::check`] has checked against the table of parameters.
    ///
    /// # Errors
    /// A value is out of range in this variant or contradicts another one.
    fn from_checked(settings: &Settings, link: &Link) -> Result<Self, ConfigError>;

    /// Returns every parameter with the value in force. `from_settings` of it gives the same
    /// configuration.
    fn to_settings(&self) -> Settings;

    /// Returns the link for which the configuration was made, as far as it depends on the link
    /// beyond its parameters.
    fn link(&self) -> Link {
        Link::default()
    }

    /// Returns true if `parameter` keeps its value when a typed setter sets those of `given`. False
    /// if the two exclude each other.
    #[must_use]
    fn stays_beside(parameter: &str, given: &Settings) -> bool {
        let _ = (parameter, given);
        true
    }

    /// Returns true if `tc qdisc change` leaves `parameter` as it is when only `given` are set.
    /// Otherwise the parameter takes its default again, as when the discipline was created. Linux
    /// sends and reads some parameters one by one and others all together.
    #[must_use]
    fn is_kept_by_change(parameter: &str, given: &Settings) -> bool {
        let _ = (parameter, given);
        false
    }

    /// Returns the setting that `tc qdisc change` of this discipline with `changed` also makes in
    /// the one called `inner` inside it.
    #[must_use]
    fn handed_down(inner: &str, changed: &Settings) -> Option<(&'static str, Value)> {
        let _ = (inner, changed);
        None
    }
}

/// A discipline that can be created from its configuration.
pub trait Build<P, R>: crate::Qdisc<P> + Sized {
    /// Returns an empty queue. Flows are hashed with `salt`, and `random` gives random numbers. A
    /// discipline that needs neither ignores them.
    fn build(config: Self::Config, salt: u32, random: R) -> Self;
}
