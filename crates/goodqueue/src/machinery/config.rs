//! Parameters by name: what `tc` accepts, `list qdiscs` prints, and a discipline's configuration is
//! made from.
//!
//! Each discipline describes itself in one [`Kind`] table and turns [`Settings`] (names and values,
//! units already resolved) into its own configuration type, which is valid by construction. Text
//! and units are not this crate's business: the tc grammar lives in `goodqueue-tc`.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::any::Any;
use core::fmt;

use crate::time::{Duration, Rate};

pub use crate::parameter::{
    Condition, Declaration, DefaultValue, Literal, Parameter, Range, Setting, Table, Unit, Value,
    VariantDefaults,
};

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
        let variants = &[];
        let children = Children::None;
        let parameters = &[];
        Self { name, summary, reference: "", variants, children, parameters }
    }

    /// Returns the variant `name`, or `linux` in place of a kernel's version that the discipline
    /// does not distinguish (`linux61`). `None` if the discipline has neither.
    #[must_use]
    pub fn variant_like(&self, name: &str) -> Option<&'static str> {
        let find = |wanted: &str| self.variants.iter().map(|known| known.name).find(|known| *known == wanted);
        find(name).or_else(|| if name.starts_with("linux") { find("linux") } else { None })
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
        // `Disciplines` keeps one of each name.
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
    pub const fn with_owner(mut self, owner: Owner) -> Self {
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
        // A list and not a map: it is short, and settings are printed in the order of their entry.
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

    /// Sets `parameter` to `value`.
    pub fn put(&mut self, parameter: &Parameter, value: impl Setting) {
        self.set(parameter.name, value.into_value(parameter.unit));
    }

    /// Returns the settings with `parameter` set to `value`.
    #[must_use]
    pub fn and(mut self, parameter: &Parameter, value: impl Setting) -> Self {
        self.put(parameter, value);
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
        // Named without an underscore, because the documentation shows the names of arguments.
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
