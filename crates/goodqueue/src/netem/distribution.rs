//! The distributions of random delays.

mod tables;

use alloc::sync::Arc;

use crate::config::{ConfigError, Settings, Table, Value};
use crate::time::Duration;

// `NETEM_DIST_MAX`.
/// Most entries that Linux takes in a table.
const MOST_ENTRIES: usize = 16_384;

/// The distribution of random delays.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Distribution {
    Uniform,
    Normal,
    Pareto,
    ParetoNormal,
    Given(Arc<Table>),
}

impl Distribution {
    pub(super) fn from_settings(settings: &Settings, name: &'static str) -> Result<Self, ConfigError> {
        Ok(match settings.get(name) {
            Some(Value::Choice("normal")) => Self::Normal,
            Some(Value::Choice("pareto")) => Self::Pareto,
            Some(Value::Choice("paretonormal")) => Self::ParetoNormal,
            Some(Value::Table(table)) if (1..=MOST_ENTRIES).contains(&table.entries.len()) => {
                Self::Given(table)
            }
            Some(Value::Table(table)) => {
                let allowed = alloc::format!(
                    "a table of 1 to {MOST_ENTRIES} entries, where this one has {}",
                    table.entries.len()
                );
                return Err(ConfigError::new(name, table.name.as_str(), allowed));
            }
            _ => Self::Uniform,
        })
    }

    pub(super) fn to_value(&self) -> Value {
        match self {
            Self::Uniform => Value::Choice("uniform"),
            Self::Normal => Value::Choice("normal"),
            Self::Pareto => Value::Choice("pareto"),
            Self::ParetoNormal => Value::Choice("paretonormal"),
            Self::Given(table) => Value::Table(Arc::clone(table)),
        }
    }

    /// `mean` and a random deviation, which the drawn number decides.
    pub(super) fn around(&self, mean: Duration, deviation: Duration, drawn: u32) -> i64 {
        // Both are at most `LONGEST`, see `config.rs`.
        let signed = |span: u64| i64::try_from(span).unwrap_or(i64::MAX);
        let mean = signed(mean.as_nanos());
        let sigma = deviation.as_nanos();
        let table = match self {
            Self::Uniform => {
                let width = sigma.saturating_mul(2);
                // Linux takes the remainder of 32 bits, in which a larger width has no place.
                let offset = if width <= u64::from(u32::MAX) {
                    u64::from(drawn).checked_rem(width).unwrap_or(0)
                } else {
                    u64::try_from((u128::from(drawn) * u128::from(width)) >> 32).unwrap_or(u64::MAX)
                };
                return mean.saturating_add(signed(offset)).saturating_sub(signed(sigma));
            }
            Self::Normal => &tables::NORMAL[..],
            Self::Pareto => &tables::PARETO,
            Self::ParetoNormal => &tables::PARETO_NORMAL,
            Self::Given(table) => &table.entries,
        };
        let index = (drawn as usize).checked_rem(table.len()).unwrap_or(0);
        let deviations = table.get(index).copied().unwrap_or(0);
        // Rounded, away from the mean in the middle.
        let wide = i128::from(sigma) * i128::from(deviations);
        let half = i128::from(tables::ONE / 2) * wide.signum();
        let offset = (wide + half) / i128::from(tables::ONE);
        mean.saturating_add(i64::try_from(offset).unwrap_or(i64::MAX))
    }
}
