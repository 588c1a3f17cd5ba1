//! Operations on a queue discipline.

use goodqueue::config::{Children, Kind, Value};
use goodqueue::registry::KINDS;
use goodqueue::{AnyConfig, Duration, Ecn, Link, Settings};
use goodqueue_testkit::check::{Checked, round_trip};
use goodqueue_testkit::edge;
use goodqueue_testkit::operation::{Operation, Step};

use crate::choices::Choices;

/// Applies operations to a configured discipline. The invariants of [`Checked`] must hold.
///
/// The first byte selects the discipline by its place among the [names in alphabetical
/// order](sorted_kinds).
///
/// # Panics
/// If an invariant does not hold.
pub fn operations(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let kind = choices.of(&sorted_kinds());
    let config = configuration(&mut choices, &kind);
    if let Err(broken) = round_trip(&config, &Link::default()) {
        panic!("{broken}");
    }
    let mut queue = Checked::new(config.clone(), 1);
    let mut number = 0;
    while !choices.is_empty() {
        let operation = operation(&mut choices, &kind);
        if let Err(broken) = queue.apply(&operation) {
            panic!("{config:?}\noperation {number}, {operation:?}: {broken}");
        }
        number += 1;
    }
    if let Err(broken) = queue.drain() {
        panic!("{config:?}\nafter {number} operations: {broken}");
    }
}

/// Returns the disciplines in alphabetical order, so that a new one moves only those behind it.
#[must_use]
pub fn sorted_kinds() -> Vec<Kind> {
    let mut kinds = KINDS.to_vec();
    kinds.sort_by_key(|kind| kind.name);
    kinds
}

/// Deepest nesting of disciplines.
const DEPTH: u32 = 4;

/// Returns a configuration with as many of the selected values as the discipline accepts together,
/// and with inner disciplines if it can contain any.
fn configuration(choices: &mut Choices<'_>, kind: &Kind) -> AnyConfig {
    let settings = settings(choices, kind, DEPTH);
    edge::accepted(kind, &settings).unwrap_or_else(|| edge::default_config(kind))
}

fn settings(choices: &mut Choices<'_>, kind: &Kind, depth: u32) -> Settings {
    let mut settings = Settings::new();
    if !kind.variants.is_empty() {
        settings.set("variant", Value::Choice(choices.of(kind.variants).name));
    }
    if edge::accepted(kind, &settings).is_none() {
        settings = Settings::new();
    }
    for parameter in kind.parameters {
        let choice = choices.byte();
        let values = edge::values(parameter.unit);
        // Half of the parameters keep their defaults.
        if choice < 128 || values.is_empty() {
            continue;
        }
        let value = values[usize::from(choice - 128) % values.len()].clone();
        let wider = settings.clone().with(parameter.name, value);
        if edge::accepted(kind, &wider).is_some() {
            settings = wider;
        }
    }
    if kind.children != Children::None && depth > 1 && choices.byte() >= 64 {
        let child = choices.of(&sorted_kinds());
        let inner = self::settings(choices, &child, depth - 1);
        let tree = edge::holding(kind, child.name, &inner);
        let wider =
            tree.map(|tree| tree.children().iter().cloned().fold(settings.clone(), Settings::with_child));
        if let Some(wider) = wider.filter(|wider| edge::accepted(kind, wider).is_some()) {
            settings = wider;
        }
    }
    settings
}

fn operation(choices: &mut Choices<'_>, kind: &Kind) -> Operation {
    const LENGTHS: [u32; 12] = [1514, 1514, 1514, 64, 40, 0, 1, 2, 9_014, 65_535, 262_144, u32::MAX];
    const ECN: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];
    match choices.byte() {
        0..=99 => {
            let shape = choices.byte();
            let class = match shape >> 6 {
                0 => None,
                1 => Some(u32::from(choices.byte())),
                _ => Some(1),
            };
            Operation::Enqueue {
                len: LENGTHS[usize::from(shape & 15) % LENGTHS.len()],
                flow: u32::from(choices.byte()),
                // Half of the packets name no class.
                class: class.filter(|_| shape >> 6 != 2),
                ecn: ECN[usize::from(shape >> 4 & 3)],
            }
        }
        100..=169 => Operation::Dequeue,
        170..=239 => {
            // A full frame at 10 Mbit/s takes 1.2112 ms. Others are CoDel's target and interval
            // with neighbours, the periods of PIE and DualPI2, and the interval of adaptive RED.
            const SPANS: [u64; 16] = [
                0,
                1,
                1_000,
                1_211_200,
                4_999_999,
                5_000_000,
                5_000_001,
                15_000_000,
                16_000_000,
                100_000_000,
                100_000_001,
                500_000_000,
                1_000_000_000,
                3_600_000_000_000,
                1 << 42,
                1 << 60,
            ];
            let choice = choices.byte();
            let span = Duration::from_nanos(SPANS[usize::from(choice & 15)]);
            Operation::Advance(match choice >> 4 {
                15 => Step::End,
                13 | 14 => Step::Back(span),
                // Large steps are rare, because otherwise every run would reach the end of time.
                0..=9 => Step::Forward(Duration::from_nanos(u64::from(choices.word()) * 1_000)),
                _ => Step::Forward(span),
            })
        }
        240..=243 => Operation::Reconfigure(configuration(choices, kind)),
        244..=246 => Operation::Purge,
        247..=251 => Operation::Snapshot,
        _ => Operation::Restore,
    }
}
