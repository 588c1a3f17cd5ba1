//! The one place where settings are checked against a discipline's parameter table.
//!
//! Every configuration is created by [`Configure::from_settings`](crate::Configure::from_settings),
//! which checks here first. A discipline then checks only what its table cannot say: relations
//! between values, and bounds that depend on the variant.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::config::{Child, Children, ConfigError, Kind, Parameter, Settings, Unit, VARIANT, Value};

impl Kind {
    /// Checks `settings`, and those of its classes, against the tables of this discipline.
    ///
    /// # Errors
    /// A name is no parameter, a value has the wrong unit or is out of range, the variant is
    /// unknown, or there is a class where none can be.
    pub fn check(&self, settings: &Settings) -> Result<(), ConfigError> {
        for (name, value) in settings.entries() {
            if *name == VARIANT && !self.variants.is_empty() {
                self.check_variant(value)?;
            } else {
                check_value(self.name, self.parameters, name, value)?;
            }
        }
        settings.children().iter().try_for_each(|child| {
            self.check_child(child).map_err(|error| ConfigError { class: Some(child.class), ..error })
        })
    }

    fn check_variant(&self, value: &Value) -> Result<(), ConfigError> {
        if matches!(value, Value::Choice(word) if self.variants.iter().any(|known| known.name == *word)) {
            return Ok(());
        }
        let names: Vec<&str> = self.variants.iter().map(|variant| variant.name).collect();
        Err(ConfigError::new(VARIANT, format!("{value}"), names.join(", ")))
    }

    fn check_child(&self, child: &Child) -> Result<(), ConfigError> {
        let parameters = match self.children {
            Children::Classes(parameters) => parameters,
            Children::One | Children::Bands => &[],
            Children::None => {
                let allowed = format!("no class: {} holds no other discipline", self.name);
                return Err(ConfigError::new("class", format!("{:x}", child.class), allowed));
            }
        };
        let of = format!("a class of {}", self.name);
        child
            .settings
            .entries()
            .iter()
            .try_for_each(|(name, value)| check_value(&of, parameters, name, value))
    }
}

fn check_value(
    owner: &str,
    parameters: &[Parameter],
    name: &'static str,
    value: &Value,
) -> Result<(), ConfigError> {
    let Some(parameter) = parameters.iter().find(|parameter| parameter.name == name) else {
        let names: Vec<&str> = parameters.iter().map(|parameter| parameter.name).collect();
        let allowed = format!("a parameter of {owner}: {}", names.join(", "));
        return Err(ConfigError::new(name, format!("{value}"), allowed));
    };
    if !parameter.unit.takes(value) {
        return Err(ConfigError::new(name, format!("{value}"), parameter.unit.in_words()));
    }
    match (value, parameter.bounds()) {
        (Value::Packets(number) | Value::Bytes(number) | Value::Integer(number), Some((low, high)))
            if !(low..=high).contains(number) =>
        {
            Err(ConfigError::new(name, format!("{value}"), format!("a value from {low} to {high}")))
        }
        (Value::Probability(part), _) if !(0.0..=1.0).contains(part) => {
            Err(ConfigError::new(name, format!("{value}"), "a value from 0 to 1"))
        }
        _ => Ok(()),
    }
}

impl Parameter {
    /// Returns the bounds of a whole number, if [`Self::range`] is of the form `1 to 65536`.
    #[must_use]
    pub fn bounds(&self) -> Option<(u64, u64)> {
        let (low, high) = self.range.split_once(" to ")?;
        Some((low.parse().ok()?, high.parse().ok()?))
    }
}

impl Unit {
    /// Returns true if a parameter of this unit can have `value`.
    #[must_use]
    pub fn takes(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Packets, Value::Packets(_))
            | (Self::Bytes, Value::Bytes(_))
            | (Self::Time | Self::Seconds, Value::Time(_))
            | (Self::Rate, Value::Rate(_))
            | (Self::Integer, Value::Integer(_))
            | (Self::Signed, Value::Signed(_) | Value::Integer(_))
            | (Self::Class, Value::Class(_))
            | (Self::Probability, Value::Probability(_))
            | (Self::Flag { .. }, Value::Flag(_))
            | (Self::Table(_), Value::Table(_))
            | (Self::Priomap, Value::Priomap(_)) => true,
            (Self::Choice(words) | Self::Table(words), Value::Choice(word)) => words.contains(word),
            _ => false,
        }
    }

    /// Returns what a value of this unit is, for an error message.
    fn in_words(&self) -> String {
        String::from(match self {
            Self::Packets => "a number of packets",
            Self::Bytes => "a number of bytes",
            Self::Time | Self::Seconds => "a time",
            Self::Rate => "a rate",
            Self::Integer => "a whole number",
            Self::Signed => "a whole number, which may be negative",
            Self::Class => "the number of a class",
            Self::Probability => "a fraction from 0 to 1",
            Self::Flag { .. } => "on or off",
            Self::Choice(words) => return words.join(", "),
            Self::Table(words) => return format!("{}, or a table", words.join(", ")),
            Self::Priomap => "a band for each of sixteen priorities",
        })
    }
}
