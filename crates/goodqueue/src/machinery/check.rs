//! The one place where settings are checked against a discipline's parameter table.
//!
//! Every configuration is created by [`Configure::from_settings`](crate::Configure::from_settings),
//! which checks here first. A discipline then checks only what its table cannot say: relations
//! between values, and bounds that depend on the variant.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::config::{
    Child, Children, Condition, ConfigError, Kind, Literal, Parameter, Range, Setting, Settings, Unit,
    VARIANT, Value,
};

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
    parameter.check(value)
}

impl Parameter {
    /// Checks that `value` is of this parameter's unit and within its range.
    ///
    /// # Errors
    /// It is not. The error names the range.
    pub fn check(&self, value: &Value) -> Result<(), ConfigError> {
        let refuse = |allowed: String| Err(ConfigError::new(self.name, format!("{value}"), allowed));
        if !self.unit.takes(value) {
            return refuse(self.unit.in_words());
        }
        match value {
            // NaN is in no range either.
            Value::Probability(part) if !(0.0..=1.0).contains(part) => refuse("a value from 0 to 1".into()),
            _ if !self.range.contains(value) => refuse(self.allowed()),
            _ => Ok(()),
        }
    }

    /// Returns the value in `settings`, or else the default of the variant in `settings`.
    ///
    /// # Errors
    /// `T` cannot hold the value, or there is neither a value nor a default.
    pub fn read<T: Setting>(&self, settings: &Settings) -> Result<T, ConfigError> {
        if let Some(given) = self.given(settings)? {
            return Ok(given);
        }
        let default = self.default_of(settings.choice(VARIANT).unwrap_or_default());
        match default.as_ref().and_then(T::from_value) {
            Some(value) => Ok(value),
            None => Err(ConfigError::new(self.name, "", self.unit.in_words())),
        }
    }

    /// Returns the value in `settings`, or else `default`, which is derived from other values.
    ///
    /// # Errors
    /// `T` cannot hold the value.
    pub fn read_or<T: Setting>(&self, settings: &Settings, default: T) -> Result<T, ConfigError> {
        Ok(self.given(settings)?.unwrap_or(default))
    }

    /// Returns the value in `settings`, if there is one.
    ///
    /// # Errors
    /// `T` cannot hold the value.
    pub fn given<T: Setting>(&self, settings: &Settings) -> Result<Option<T>, ConfigError> {
        let Some(value) = settings.get(self.name) else { return Ok(None) };
        match T::from_value(&value) {
            Some(given) => Ok(Some(given)),
            None => Err(ConfigError::new(self.name, format!("{value}"), self.allowed())),
        }
    }

    /// Returns the admissible values for an error message.
    fn allowed(&self) -> String {
        match (self.range, self.condition) {
            // The smallest fraction has many digits.
            (Range::Within(Literal::Probability(_), _), Condition::Instead(words)) => words.into(),
            (Range::Within(low, high), _) if !high.is_greatest() => format!("a value from {low} to {high}"),
            (Range::Any, _) => self.unit.in_words(),
            _ => self.range_text(),
        }
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
            | (Self::Probability | Self::Percentage, Value::Probability(_))
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
            Self::Probability | Self::Percentage => "a fraction from 0 to 1",
            Self::Flag { .. } => "on or off",
            Self::Choice(words) => return words.join(", "),
            Self::Table(words) => return format!("{}, or a table", words.join(", ")),
            Self::Priomap => "a band for each of sixteen priorities",
        })
    }
}
