//! Configurations at the edges of what a discipline accepts, found by asking the discipline, so
//! that one that is registered tomorrow has its edges tested tomorrow.

use goodqueue::config::{Child, Children, Kind, Parameter, Value};
use goodqueue::registry::KINDS;
use goodqueue::{AnyConfig, Link, Rate, Settings};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};

use crate::operation;
pub use crate::values::values;

/// A configuration and how it came about.
#[derive(Clone, PartialEq, Debug)]
pub struct Case {
    /// The discipline and what was set, for messages.
    pub name: String,
    /// The configuration.
    pub config: AnyConfig,
}

/// Random configurations per discipline among [`cases`]; disciplines with disciplines inside are
/// among them.
const RANDOM_CASES: usize = 4;

/// The configuration that these settings give on a 10 Mbit/s Ethernet, if the discipline accepts
/// them.
#[must_use]
pub fn accepted(kind: &Kind, settings: &Settings) -> Option<AnyConfig> {
    AnyConfig::from_settings(kind.name, settings, &Link::default()).and_then(Result::ok)
}

/// `value` for one parameter, everything else at its default.
#[must_use]
pub fn only(parameter: &Parameter, value: Value) -> Settings {
    Settings::new().with(parameter.name, value)
}

/// The discipline with its defaults.
///
/// # Panics
/// It refuses them.
#[must_use]
pub fn default_config(kind: &Kind) -> AnyConfig {
    accepted(kind, &Settings::new()).unwrap_or_else(|| panic!("{} refuses its defaults", kind.name))
}

/// The configurations that hostile inputs are tried on: the defaults of every variant; everything
/// as small and as large as can be had together; each parameter alone at its least and greatest
/// value; some random ones.
#[must_use]
pub fn cases(kind: &Kind) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let mut add = |name: String, config: AnyConfig| {
        // Many values are a default, so the same configuration comes about more than once.
        if !cases.iter().any(|case| case.config == config) {
            cases.push(Case { name: format!("{} {name}", kind.name), config });
        }
    };
    let variants: Vec<Settings> = if kind.variants.is_empty() {
        vec![Settings::new()]
    } else {
        kind.variants.iter().map(|v| Settings::new().with("variant", Value::Choice(v.name))).collect()
    };
    for (number, variant) in variants.iter().enumerate() {
        if let Some(config) = accepted(kind, variant) {
            add(format!("variant {number}"), config);
        }
        for (name, greatest) in [("least", false), ("greatest", true)] {
            if let Some(config) = together(kind, variant, greatest) {
                add(format!("variant {number}, everything {name}"), config);
            }
        }
    }
    for parameter in kind.parameters {
        for value in least_and_greatest(kind, parameter) {
            if is_slow(kind, &value) {
                continue;
            }
            let name = format!("{} {value}", parameter.name);
            if let Some(config) = accepted(kind, &only(parameter, value)) {
                add(name, config);
            }
        }
    }
    let mut runner = TestRunner::new_with_rng(
        proptest::test_runner::Config::default(),
        // Each test that asks gets the same cases.
        TestRng::deterministic_rng(RngAlgorithm::ChaCha),
    );
    let strategy = operation::config(*kind);
    for number in 0..RANDOM_CASES {
        if let Ok(tree) = strategy.new_tree(&mut runner) {
            add(format!("random {number}"), tree.current());
        }
    }
    cases
}

/// A parent asks every child for its counters, and a test asks after every operation: ten thousands
/// of children are for tests of their own.
fn is_slow(kind: &Kind, value: &Value) -> bool {
    kind.children != Children::None && matches!(value, Value::Integer(1_025..))
}

/// Every discipline that holds others with every discipline inside, and a tower of `depth` of them
/// over each.
#[must_use]
pub fn trees(depth: usize) -> Vec<Case> {
    let mut trees = Vec::new();
    for parent in KINDS.iter().filter(|kind| kind.children != Children::None) {
        for child in KINDS {
            let below = |inner: &Settings| holding(parent, child.name, inner);
            let Some(settings) = below(&Settings::new()) else { continue };
            if let Some(config) = accepted(parent, &settings) {
                trees.push(Case { name: format!("{} over {}", parent.name, child.name), config });
            }
            // Parent and child are two levels already.
            if depth <= 2 {
                continue;
            }
            let mut tower = settings;
            for _ in 2..depth {
                let Some(higher) = holding(parent, parent.name, &tower) else { break };
                tower = higher;
            }
            if let Some(config) = accepted(parent, &tower) {
                trees.push(Case { name: format!("a tower of {} over {}", parent.name, child.name), config });
            }
        }
    }
    trees
}

/// Settings of `parent` with a discipline of this name in its first class, and an ordinary second
/// class if it has classes.
#[must_use]
pub fn holding(parent: &Kind, child: &'static str, inner: &Settings) -> Option<Settings> {
    let mut own = Settings::new();
    if let Children::Classes(parameters) = parent.children
        && let Some(rate) = parameters.iter().find(|parameter| parameter.name == "rate")
    {
        own.set(rate.name, Value::Rate(Rate::from_bps(1_000_000)));
    }
    let first = Child { class: 1, parent: 0, settings: own.clone(), qdisc: Some((child, inner.clone())) };
    let second = Child { class: 2, parent: 0, settings: own, qdisc: None };
    let mut settings = Settings::new().with_child(first);
    if parent.children != Children::One {
        settings.add_child(second);
    }
    let link = Link::default();
    AnyConfig::from_settings(parent.name, &settings, &link)?.ok().map(|_| settings)
}

/// As many parameters at their least or greatest value as the discipline accepts together.
fn together(kind: &Kind, variant: &Settings, greatest: bool) -> Option<AnyConfig> {
    let mut settings = variant.clone();
    for parameter in kind.parameters {
        let mut values = values(parameter.unit);
        if greatest {
            values.reverse();
        }
        let fits = |value: &Value| {
            !is_slow(kind, value)
                && accepted(kind, &settings.clone().with(parameter.name, value.clone())).is_some()
        };
        if let Some(value) = values.into_iter().find(fits) {
            settings.set(parameter.name, value);
        }
    }
    accepted(kind, &settings)
}

/// The least and the greatest of [`values`] that the discipline accepts beside its other defaults.
#[must_use]
pub fn least_and_greatest(kind: &Kind, parameter: &Parameter) -> Vec<Value> {
    let fitting: Vec<Value> = values(parameter.unit)
        .into_iter()
        .filter(|value| accepted(kind, &only(parameter, value.clone())).is_some())
        .collect();
    let mut ends: Vec<Value> = fitting.first().into_iter().chain(fitting.last()).cloned().collect();
    // If one value fits, it is both the first and the last.
    ends.dedup();
    ends
}
