//! How jobs are spread over threads.

use std::sync::{Condvar, Mutex};
use std::time::Duration;

use goodqueue_scenario::results::Run;
use goodqueue_scenario::run::{Watch, execute};
use goodqueue_scenario::runs::Runs;
use goodqueue_scenario::scenario::{Document, Names, Overrides};
use goodqueue_scenario::sweep::Sweep;

const JOBS: usize = 64;

/// Holds the first job until all others have begun.
#[derive(Default)]
struct LongJob {
    begun: Mutex<usize>,
    change: Condvar,
}

impl Watch for LongJob {
    fn started(&self, job: usize) {
        let mut begun = self.begun.lock().expect("no thread fails with the lock");
        *begun += 1;
        self.change.notify_all();
        if job == 0 {
            let held = self.change.wait_timeout_while(begun, Duration::from_secs(30), |begun| *begun < JOBS);
            let (begun, time_out) = held.expect("no thread fails with the lock");
            assert!(!time_out.timed_out(), "{} jobs have waited for the first one", JOBS - *begun);
        }
    }
}

#[test]
fn no_job_waits_for_a_long_one() {
    let mut document = Document::default();
    document
        .apply(&Overrides {
            time: Some("10ms".to_owned()),
            qdiscs: vec!["pfifo".to_owned()],
            set: vec!["warmup=0s".to_owned(), format!("seeds={JOBS}")],
            ..Overrides::default()
        })
        .expect("known");
    let names = Names { cc: Some(&["cubic"]), ..Names::default() };
    let runs = Runs::new(Sweep::new(&document, &names).expect("good"), None).expect("good");
    let results = execute::<Run>(&runs, 2, None, &LongJob::default()).expect("no error");
    assert_eq!(results.iter().flatten().count(), JOBS);
}
