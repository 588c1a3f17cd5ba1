//! Sources of other crates: the keys of a flow are the parameters of its source.

use goodqueue::config::{DefaultValue, Parameter, Unit, Value};
use goodqueue::{Direction, Settings};
use goodqueue_sim as sim;
use goodqueue_sim::traffic::KnownSource;
use goodqueue_tc::diagnostic::Diagnostic;
use serde_json::json;

use crate::scenario::form::Form as _;
use crate::scenario::plain::{Flag, NUMBER, SIZE, SPEED, TIME, Whole, whole};
use crate::scenario::reader::Reader;

/// Traffic of a source of another crate.
#[derive(Clone, PartialEq, Debug)]
pub struct Own {
    /// The source.
    pub source: KnownSource,
    /// Its parameters, with every default filled in.
    pub settings: Settings,
}

impl Own {
    /// Returns the keys of the flows of a source.
    pub(super) fn keys(source: KnownSource) -> Vec<&'static str> {
        source.kind().parameters.iter().map(|parameter| parameter.name).collect()
    }

    /// Reads the parameters. Absent ones get their defaults.
    pub(super) fn read(source: KnownSource, table: &Reader<'_>) -> Result<Self, Diagnostic> {
        let mut settings = Settings::new();
        for parameter in source.kind().parameters {
            if let Some(value) = read_value(table, parameter)?.or_else(|| default_of(parameter)) {
                settings.set(parameter.name, value);
            }
        }
        let own = Self { source, settings };
        // Whether the values agree with each other is known to the source alone.
        match own.source.traffic(Direction::Down, own.settings.clone()) {
            Ok(_) => Ok(own),
            Err(error) => Err(table.error(error.parameter, Diagnostic::new(error.to_string()))),
        }
    }

    /// Writes the parameters.
    pub(super) fn write(&self, flow: &mut serde_json::Value) {
        for (name, value) in self.settings.iter() {
            flow[name] = match value {
                Value::Packets(number) | Value::Bytes(number) | Value::Integer(number) => json!(number),
                Value::Probability(number) => json!(number),
                Value::Flag(on) => json!(on),
                other => json!(other.to_string()),
            };
        }
    }

    /// Configuration of the simulator.
    pub(super) fn to_sim(&self, direction: Direction) -> Result<sim::Traffic, Diagnostic> {
        let settings = self.source.traffic(direction, self.settings.clone());
        settings.map(sim::Traffic::from).map_err(|error| Diagnostic::new(error.to_string()))
    }
}

fn default_of(parameter: &Parameter) -> Option<Value> {
    match parameter.default {
        DefaultValue::Is(value) => Some(value.with_unit(parameter.unit)),
        // A source has no variants, and computes a derived default itself.
        DefaultValue::OfVariants(..) | DefaultValue::Derived(_) => None,
    }
}

/// Reads the value of a parameter, if it is given.
fn read_value(table: &Reader<'_>, parameter: &Parameter) -> Result<Option<Value>, Diagnostic> {
    let name = parameter.name;
    if table.node(name).is_none() {
        return Ok(None);
    }
    let integer = || WHOLE.given(table, name);
    let value = match parameter.unit {
        Unit::Time | Unit::Seconds => TIME.given(table, name)?.map(Value::Time),
        Unit::Rate => SPEED.given(table, name)?.map(Value::Rate),
        Unit::Bytes => SIZE.given(table, name)?.map(Value::Bytes),
        Unit::Probability | Unit::Percentage => NUMBER.given(table, name)?.map(Value::Probability),
        Unit::Flag { .. } => Flag.given(table, name)?.map(Value::Flag),
        // The key is given, so the empty default is never taken.
        Unit::Choice(words) => Some(Value::Choice(table.choice(name, "", words)?)),
        Unit::Packets => integer()?.map(Value::Packets),
        Unit::Integer => integer()?.map(Value::Integer),
        Unit::Signed | Unit::Class | Unit::Table(_) | Unit::Priomap => {
            let message = Diagnostic::new("a flow has no values of this sort");
            return Err(table.error(name, message.help(format!("leave `{name}` out"))));
        }
    };
    match value {
        Some(value) if !parameter.range.contains(&value) => {
            let message = Diagnostic::new(format!("a {name} of {value} is not possible"));
            Err(table.error(name, message.allowed(parameter.range_text())))
        }
        value => Ok(value),
    }
}

const WHOLE: Whole = whole(0..=u64::MAX);
