//! A front end of its own in a few lines: each result as soon as it is known, progress, and an end
//! before the last run.
//!
//! `cargo run -p goodqueue-scenario --example progress -- 3` stops after three runs.

use std::sync::atomic::{AtomicBool, Ordering};

use goodqueue_scenario::Extensions;
use goodqueue_scenario::request::Request;
use goodqueue_scenario::results::Run;
use goodqueue_scenario::session::{Progress, Session, Watch};
use goodqueue_tc::diagnostic::Diagnostic;

struct Terminal {
    wanted: usize,
    has_enough: AtomicBool,
}

impl Watch for Terminal {
    fn finished(&self, number: usize, result: &Run, _: bool) {
        println!("run {number}, {}: {:.2} Mbit/s", result.qdisc, result.goodput.down / 1e6);
    }

    fn progressed(&self, progress: Progress) {
        eprint!("\r{:.0} %, {} of {} runs ", 100.0 * progress.share(), progress.finished, progress.runs);
        self.has_enough.fetch_or(progress.finished >= self.wanted, Ordering::Relaxed);
    }

    fn is_cancelled(&self) -> bool {
        self.has_enough.load(Ordering::Relaxed)
    }
}

fn main() -> Result<(), Diagnostic> {
    let request = Request::from_json(r#"{"rate": "20mbit", "time": "1s", "seeds": "2"}"#)?;
    let session = Session::new(&request.document(&Extensions::new())?)?.threads(2);
    let wanted = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(usize::MAX);
    let finished = session.run(&Terminal { wanted, has_enough: AtomicBool::new(false) })?;
    println!("{} results", session.results(finished.runs()).runs.len());
    Ok(())
}

#[test]
fn it_runs_to_its_end() {
    main().unwrap();
}
