//! What must hold of every discipline, whatever is done to it. A new discipline is covered as soon
//! as it is registered.

use goodqueue::config::Kind;
use goodqueue::{AnyConfig, Duration, Ecn, Link, Settings, registry};
use goodqueue_testkit::check::{Checked, round_trip};
use goodqueue_testkit::operation::{Operation, Step, config, config_and_link, tree};
use proptest::prelude::{Just, Strategy};
use proptest::test_runner::{Config, TestCaseError, TestRunner};

/// Sequences per discipline; `PROPTEST_CASES` asks for more.
const CASES: u32 = 96;

fn runner() -> TestRunner {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(CASES);
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    TestRunner::new(config)
}

fn holds(config: AnyConfig, operations: &[Operation]) -> Result<(), TestCaseError> {
    let mut queue = Checked::new(config, 1);
    for (index, operation) in operations.iter().enumerate() {
        let fail = |broken| TestCaseError::fail(format!("operation {index}, {operation:?}: {broken}"));
        queue.apply(operation).map_err(fail)?;
    }
    queue.drain().map_err(TestCaseError::fail)
}

fn default_config(kind: Kind) -> AnyConfig {
    let config = AnyConfig::from_settings(kind.name, &Settings::new(), &Link::default());
    config.expect("registered").expect("defaults are valid")
}

#[test]
fn invariants_hold_with_the_defaults() {
    for kind in registry::KINDS {
        let outcome = runner()
            .run(&Operation::sequence(*kind, 300), |operations| holds(default_config(*kind), &operations));
        assert!(outcome.is_ok(), "{}: {}", kind.name, outcome.unwrap_err());
    }
}

#[test]
fn invariants_hold_with_any_configuration() {
    for kind in registry::KINDS {
        let cases = (config(*kind), Operation::sequence(*kind, 300));
        let outcome = runner().run(&cases, |(config, operations)| holds(config, &operations));
        assert!(outcome.is_ok(), "{}: {}", kind.name, outcome.unwrap_err());
    }
}

#[test]
fn invariants_hold_in_trees_of_disciplines() {
    let cases = tree(4).prop_flat_map(|config| {
        let operations = Operation::sequence(config.kind(), 200);
        (Just(config), operations)
    });
    let outcome = runner().run(&cases, |(config, operations)| holds(config, &operations));
    assert!(outcome.is_ok(), "{}", outcome.unwrap_err());
}

#[test]
fn configurations_read_back_as_written() {
    for kind in registry::KINDS {
        let outcome = runner().run(&config_and_link(*kind), |(config, link)| {
            round_trip(&config, &link).map_err(TestCaseError::fail)
        });
        assert!(outcome.is_ok(), "{}: {}", kind.name, outcome.unwrap_err());
    }
}

#[test]
fn the_longest_packet_that_can_be_written_harms_nobody() {
    for kind in registry::KINDS {
        let huge = |flow| Operation::Enqueue { len: u32::MAX, flow, class: None, ecn: Ecn::Ect0 };
        let mut operations: Vec<Operation> = (0..20).map(huge).collect();
        operations.push(Operation::Advance(Step::Forward(Duration::from_secs(1))));
        for _ in 0..10 {
            operations
                .extend([Operation::Dequeue, Operation::Advance(Step::Forward(Duration::from_secs(3_600)))]);
        }
        let outcome = holds(default_config(*kind), &operations);
        assert!(outcome.is_ok(), "{}: {}", kind.name, outcome.unwrap_err());
    }
}
