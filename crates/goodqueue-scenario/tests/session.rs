//! Sessions: what a watch hears, a store keeps, and a part has.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use goodqueue_scenario::results::Run;
use goodqueue_scenario::run::{RunSpec, Runs as _};
use goodqueue_scenario::scenario::Document;
use goodqueue_scenario::session::{NoWatch, Progress, Session, Watch};
use goodqueue_scenario::store::{Place, Store, StoredRun};

fn session(seeds: usize) -> Session {
    let text = format!(
        "duration = '200ms'\nwarmup = '0s'\nqdiscs = ['pfifo', 'codel']\nseeds = {seeds}\n[[flows]]\nkind = 'ping'\n"
    );
    Session::new(&Document::parse("short.toml", &text, Path::new("")).expect("a table")).expect("valid")
}

/// Notes everything that it hears, and stops after a number of runs.
struct Notes {
    stop_after: usize,
    finished: AtomicUsize,
    started: Mutex<Vec<(usize, String)>>,
    results: Mutex<Vec<(usize, u64, bool)>>,
    progress: Mutex<Vec<Progress>>,
}

impl Notes {
    fn new(stop_after: usize) -> Self {
        Self {
            stop_after,
            finished: AtomicUsize::new(0),
            started: Mutex::default(),
            results: Mutex::default(),
            progress: Mutex::default(),
        }
    }
}

impl Watch for Notes {
    fn started(&self, number: usize, run: &RunSpec) {
        self.started.lock().expect("whole").push((number, run.labels.qdisc.clone()));
    }

    fn finished(&self, number: usize, result: &Run, stored: bool) {
        self.finished.fetch_add(1, Ordering::Relaxed);
        self.results.lock().expect("whole").push((number, result.seed, stored));
    }

    fn progressed(&self, progress: Progress) {
        self.progress.lock().expect("whole").push(progress);
    }

    fn is_cancelled(&self) -> bool {
        self.finished.load(Ordering::Relaxed) >= self.stop_after
    }
}

#[test]
fn a_watch_hears_of_each_run_and_of_all_together() {
    let session = session(3);
    let notes = Notes::new(usize::MAX);
    let finished = session.run(&notes).expect("runs");
    let mut heard = notes.results.into_inner().expect("whole");
    heard.sort_unstable();
    let expected = [1, 2, 3, 1, 2, 3].into_iter().enumerate().map(|(at, seed)| (at, seed, false));
    assert_eq!(heard, expected.collect::<Vec<_>>());
    let mut started = notes.started.into_inner().expect("whole");
    started.sort_unstable();
    let names = ["pfifo", "pfifo", "pfifo", "codel", "codel", "codel"];
    assert_eq!(started, names.map(str::to_owned).into_iter().enumerate().collect::<Vec<_>>());
    let last = notes.progress.into_inner().expect("whole").into_iter().max_by_key(|one| one.done);
    let last = last.expect("heard");
    assert_eq!((last.runs, last.finished, last.stored), (6, 6, 0));
    assert_eq!((last.share(), last.simulated), (1.0, 6 * Progress::OF_A_RUN));
    assert_eq!(session.results(finished.runs()).summary.len(), 2);
}

#[test]
fn a_cancelled_session_has_the_finished_runs_and_resumes_from_its_store() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::of_program(folder.path(), 1).expect("made");
    let stored = session(4).threads(1).with_store(Some(store));
    let stopped = stored.run(&Notes::new(3)).expect("no error");
    let is_there: Vec<bool> = stopped.all.iter().map(Option::is_some).collect();
    assert_eq!(is_there, [true, true, true, false, false, false, false, false]);
    assert_eq!(stopped.whole(), None);
    let resumed = stored.run(&NoWatch).expect("runs");
    assert_eq!((resumed.stored, resumed.repeated, resumed.damaged.len()), (3, 0, 0));
    let whole = resumed.whole().expect("all runs");
    assert_eq!(whole, stored.merged().expect("all are stored"));
    assert_eq!(whole, session(4).threads(3).run(&NoWatch).expect("runs").runs());
}

/// A place in memory that counts how often a file is asked for.
#[derive(Debug, Default)]
struct Counting {
    files: Mutex<BTreeMap<String, Vec<u8>>>,
    reads: AtomicUsize,
}

impl Place for Counting {
    fn read(&self, name: &str, _: u64) -> io::Result<Option<Vec<u8>>> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        Ok(self.files.lock().expect("whole").get(name).cloned())
    }

    fn write(&self, name: &str, contents: &[u8]) -> io::Result<()> {
        self.files.lock().expect("whole").insert(name.to_owned(), contents.to_vec());
        Ok(())
    }

    fn write_lasting(&self, name: &str, contents: &[u8]) -> io::Result<()> {
        self.write(name, contents)
    }

    fn shown(&self) -> String {
        "memory".to_owned()
    }

    fn another(&self) -> String {
        "another place".to_owned()
    }

    fn needed(&self) -> [&'static str; 2] {
        ["memory", "buy some"]
    }

    fn is_remote(&self) -> bool {
        true
    }
}

/// Each question is a request over the network if the place is remote.
#[test]
fn a_store_is_asked_once_for_a_run_that_it_does_not_have() {
    let place = Arc::new(Counting::default());
    let stored = session(3).with_store(Some(Store::at(place.clone()).expect("a program")));
    stored.run(&NoWatch).expect("runs");
    assert_eq!((place.reads.load(Ordering::Relaxed), place.files.lock().expect("whole").len()), (6, 6));
    assert_eq!(stored.run(&NoWatch).expect("runs").stored, 6);
}

#[test]
fn a_part_has_its_own_numbers_and_the_store_of_the_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::of_program(folder.path(), 1).expect("made");
    let whole = session(3).with_store(Some(store));
    let part = whole.part(vec![5, 0]);
    let runs = part.run(&NoWatch).expect("runs").runs();
    assert_eq!(
        runs.iter().map(|run| (&*run.qdisc, run.seed)).collect::<Vec<_>>(),
        [("codel", 3), ("pfifo", 1)]
    );
    let known = whole.known::<Run>().expect("readable");
    let is_known: Vec<bool> = known.iter().map(|found| matches!(found, StoredRun::Whole(_))).collect();
    assert_eq!(is_known, [true, false, false, false, false, true]);
    let missing = whole.merged::<Run>().expect_err("four are missing").to_string();
    assert!(missing.contains("4 of 6 runs are not in the store"), "{missing}");
    let mut elsewhere = session(3).part(vec![1]).run(&NoWatch).expect("runs").runs().remove(0);
    whole.keep(1, &mut elsewhere).expect("written");
    assert!(matches!(whole.known::<Run>().expect("readable")[1], StoredRun::Whole(_)));
    assert!(part.spec(2).is_err());
}

#[test]
fn outcomes_are_seen_without_a_measurement() {
    let seconds = session(1).outcomes(&NoWatch, |run, outcome| (run.labels.qdisc.clone(), outcome.measured));
    let seconds = seconds.expect("runs");
    let fifth = goodqueue::Duration::from_millis(200);
    assert_eq!(seconds, [Some(("pfifo".to_owned(), fifth)), Some(("codel".to_owned(), fifth))]);
}
