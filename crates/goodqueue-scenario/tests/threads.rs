//! How runs are spread over threads.

use std::sync::{Condvar, Mutex};
use std::time::Duration;

use goodqueue_scenario::run::{RunSpec, ScenarioRuns};
use goodqueue_scenario::scenario::{Document, Names, Overrides};
use goodqueue_scenario::session::{Session, Watch};
use goodqueue_scenario::sweep::Sweep;

const RUNS: usize = 64;

/// Holds the first run until all others have begun.
#[derive(Default)]
struct LongRun {
    begun: Mutex<usize>,
    change: Condvar,
}

impl Watch for LongRun {
    fn started(&self, number: usize, _: &RunSpec) {
        let mut begun = self.begun.lock().expect("no thread fails with the lock");
        *begun += 1;
        self.change.notify_all();
        if number == 0 {
            let held = self.change.wait_timeout_while(begun, Duration::from_secs(30), |begun| *begun < RUNS);
            let (begun, time_out) = held.expect("no thread fails with the lock");
            assert!(!time_out.timed_out(), "{} runs have waited for the first one", RUNS - *begun);
        }
    }
}

#[test]
fn no_run_waits_for_a_long_one() {
    let mut document = Document::default();
    document
        .apply(&Overrides {
            time: Some("10ms".to_owned()),
            qdiscs: vec!["pfifo".to_owned()],
            set: vec!["warmup=0s".to_owned(), format!("seeds={RUNS}")],
            ..Overrides::default()
        })
        .expect("known");
    let names = Names { cc: Some(&["cubic"]), ..Names::default() };
    let runs = ScenarioRuns::new(Sweep::new(&document, &names).expect("good"), None).expect("good");
    let finished = Session::from_runs(runs).threads(2).run(&LongRun::default()).expect("no error");
    assert_eq!(finished.runs().len(), RUNS);
}
