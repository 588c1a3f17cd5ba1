//! Scenario files.

use std::collections::BTreeMap;
use std::path::Path;

use goodqueue::{Duration, Instant};
use goodqueue_scenario::scenario::{Document, Names, Scenario};
use goodqueue_scenario::sweep::Sweep;
use goodqueue_scenario::{measure, run};
use goodqueue_sim::Run;
use goodqueue_sim::observer::{Fate, Observer, Visit};

/// Reads a scenario file. Either an error explains what is wrong, or its JSON form reads back as
/// the same scenario, and the scenario runs.
///
/// # Panics
/// If neither happens.
pub fn scenario(bytes: &[u8]) {
    /// Points of a sweep that are tried, of perhaps thousands.
    const POINTS: usize = 3;
    let text = String::from_utf8_lossy(bytes);
    // Files that the scenario names do not exist there.
    let document = match Document::parse("fuzz.toml", &text, Path::new("/nonexistent")) {
        Ok(document) => document,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    match document.resolve(&Names::default()) {
        Ok(scenario) => {
            let json = scenario.to_json();
            let again = Document::from_json(&json).and_then(|read| read.resolve(&Names::default()));
            let again = again.unwrap_or_else(|error| panic!("{json}: {error}"));
            assert_eq!(again.to_json(), json, "of {text:?}");
            run_a_little(scenario);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    let names = Names::default();
    match Sweep::new(&document, &names) {
        Ok(sweep) => {
            for point in sweep.points().take(POINTS) {
                if let Err(error) = point {
                    assert!(!error.to_string().is_empty());
                }
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Runs the first second of one discipline with one seed, or a few thousand packets of it.
fn run_a_little(mut scenario: Scenario) {
    scenario.qdiscs.truncate(1);
    scenario.seeds = 1;
    scenario.duration = scenario.duration.min(Duration::from_secs(1));
    // The warm-up has to fit the shorter run.
    scenario.warmup = scenario.warmup.min(Duration::from_nanos(scenario.duration.as_nanos() / 2));
    let step = Some(Duration::from_millis(100));
    let runs = match run::runs_of(&[(BTreeMap::new(), scenario)], step) {
        Ok(runs) => runs,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    for run in runs {
        let mut patience = Patience::default();
        match Run::new(&run.config).and_then(|run| run.to_end(|_| true, Some(&mut patience))) {
            Ok(outcome) => drop(measure::run(run.labels.clone(), &run.config, &outcome)),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

/// Counts packets, and ends the run after a certain number.
#[derive(Default)]
struct Patience {
    packets: u64,
}

impl Observer for Patience {
    fn arrived(&mut self, _: &Visit) {
        self.packets += 1;
    }

    fn ended(&mut self, _: &Visit, _: Instant, _: Fate) {}

    fn goes_on(&self) -> bool {
        self.packets < 5_000
    }
}
