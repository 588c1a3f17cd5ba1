//! Values of each unit at which limits usually lie.

use std::sync::Arc;

use goodqueue::config::{Table, Unit, Value};
use goodqueue::{Duration, Rate};

/// Returns values of a unit worth trying, ascending. Empty for a unit whose values depend on
/// others.
#[must_use]
pub fn values(unit: Unit) -> Vec<Value> {
    let numbers = || NUMBERS.iter().copied();
    match unit {
        Unit::Packets => numbers().map(Value::Packets).collect(),
        Unit::Bytes => numbers().map(Value::Bytes).collect(),
        Unit::Integer => numbers().map(Value::Integer).collect(),
        Unit::Signed => {
            let numbers = numbers().filter_map(|n| i64::try_from(n).ok());
            let mut both: Vec<i64> = numbers.flat_map(|n| [-n, n]).collect();
            both.sort_unstable();
            // 0 and -0 are one number.
            both.dedup();
            both.into_iter().map(Value::Signed).collect()
        }
        Unit::Time => NANOS.iter().map(|n| Value::Time(Duration::from_nanos(*n))).collect(),
        Unit::Seconds => [0, 1, 10, 100_000, 1_000_000, 10_000_000]
            .iter()
            .map(|n| Value::Time(Duration::from_secs(*n)))
            .collect(),
        Unit::Rate => RATES.iter().map(|n| Value::Rate(Rate::from_bps(*n))).collect(),
        Unit::Probability | Unit::Percentage => [0.0, 1e-12, 0.02, 0.5, 1.0].map(Value::Probability).to_vec(),
        Unit::Flag { .. } => vec![Value::Flag(false), Value::Flag(true)],
        Unit::Choice(words) => words.iter().map(|word| Value::Choice(word)).collect(),
        Unit::Table(words) => words
            .iter()
            .map(|word| Value::Choice(word))
            .chain(tables().map(|table| Value::Table(Arc::new(table))))
            .collect(),
        // Others mean something only in company: the random configurations have them.
        #[allow(unreachable_patterns, reason = "units are added as disciplines need them")]
        _ => Vec::new(),
    }
}

/// None, one and too many entries.
fn tables() -> impl Iterator<Item = Table> {
    [0, 1, 20_000]
        .into_iter()
        .map(|length| Table { name: format!("{length}.dist"), entries: vec![i16::MIN; length] })
}

/// Whole numbers at which limits use to lie, each with its neighbours.
const NUMBERS: &[u64] = &[
    0,
    1,
    2,
    3,
    7,
    8,
    9,
    15,
    16,
    31,
    32,
    33,
    63,
    64,
    65,
    127,
    128,
    129,
    255,
    256,
    257,
    1_000,
    1_024,
    // Around the length of a full Ethernet frame.
    1_513,
    1_514,
    1_515,
    65_534,
    65_535,
    65_536,
    65_537,
    1 << 20,
    1 << 24,
    (1 << 24) + 1,
    1 << 30,
    (1 << 31) - 1,
    1 << 31,
    u32::MAX as u64 - 1,
    u32::MAX as u64,
    1 << 32,
    u64::MAX,
];

/// Times at which limits use to lie.
const NANOS: &[u64] = &[
    0,
    1,
    999,
    1_000,
    1_024,
    1_000_000,
    5_000_000,
    100_000_000,
    1_000_000_000,
    3_600_000_000_000,
    86_400_000_000_000,
    1 << 42,
    1 << 62,
    u64::MAX - 1,
    u64::MAX,
];

/// Rates at which limits use to lie.
const RATES: &[u64] =
    &[0, 1, 8, 100, 64_000, 1_000_000, 10_000_000_000, 1_000_000_000_000, u32::MAX as u64 * 8, u64::MAX];
