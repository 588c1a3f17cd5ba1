//! All live runs of a scenario.

use goodqueue_scenario::results::Run;
use goodqueue_scenario::run::{Runs as _, ScenarioRuns};
use goodqueue_scenario::session::{Progress, Session, Watch};
use goodqueue_tc::diagnostic::Diagnostic;

use crate::execute::execute;

/// The runs of a session, made with real packets instead of simulated ones.
#[derive(Clone, Copy, Debug)]
pub struct LiveSession<'s> {
    session: &'s Session<ScenarioRuns<'s>>,
}

/// Observes live runs and may cancel those that have not started.
pub trait LiveWatch: Watch {
    /// The kernel made something of this run different from the scenario, or an event may have
    /// influenced its results. Called before [`finished`](Watch::finished).
    fn remarked(&self, number: usize, remark: &str) {
        // Named without an underscore, because the documentation shows the names of arguments.
        let _ = (number, remark);
    }
}

/// What live runs resulted in.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LiveFinished {
    /// The result of each run by its number; `None` for a run that the watch cancelled.
    pub all: Vec<Option<Run>>,
    /// Why the machine was too busy for the results to be judged, if it was.
    pub disturbed: Option<String>,
}

impl<'s> LiveSession<'s> {
    /// The live counterpart of `session`, with the same runs and numbers.
    #[must_use]
    pub const fn from_session(session: &'s Session<ScenarioRuns<'s>>) -> Self {
        Self { session }
    }

    /// Makes all runs, one after another, in real time. The calling process must have a single
    /// thread: one with several cannot create namespaces. A store is not used, because no two live
    /// runs are equal.
    ///
    /// # Errors
    /// A run that the kernel cannot make, or a machine without the necessary devices.
    pub fn run(&self, watch: &dyn LiveWatch) -> Result<LiveFinished, Diagnostic> {
        let mtu = self.session.scenario().link.mtu;
        let mut finished = LiveFinished::default();
        for number in 0..self.session.count() {
            if watch.is_cancelled() {
                finished.all.push(None);
                continue;
            }
            let run = &*self.session.spec(number)?;
            watch.started(number, run);
            let one = execute(run, mtu)?;
            for remark in &one.remarks {
                watch.remarked(number, remark);
            }
            watch.finished(number, &one.run, false);
            finished.all.push(Some(one.run));
            // One disturbed run spoils the whole comparison, so the first reason is enough.
            finished.disturbed = finished.disturbed.or(one.disturbed);
            watch.progressed(self.progress(number + 1));
        }
        Ok(finished)
    }

    fn progress(&self, finished: usize) -> Progress {
        let done = finished as u64 * Progress::OF_A_RUN;
        // Live runs are neither taken from a store nor simulated.
        Progress { runs: self.session.count(), finished, stored: 0, done, simulated: 0 }
    }
}

impl LiveFinished {
    /// Returns the results in the order of the runs, without those that were cancelled.
    #[must_use]
    pub fn runs(self) -> Vec<Run> {
        self.all.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use goodqueue_scenario::run::RunSpec;
    use goodqueue_scenario::scenario::Document;

    use super::*;

    /// Keeps the disciplines of the runs that began.
    struct Heard {
        is_cancelled: bool,
        began: Mutex<Vec<String>>,
    }

    impl Heard {
        fn new(is_cancelled: bool) -> Self {
            Self { is_cancelled, began: Mutex::default() }
        }
    }

    impl Watch for Heard {
        fn started(&self, _: usize, run: &RunSpec) {
            self.began.lock().unwrap().push(run.labels.qdisc.clone());
        }

        fn is_cancelled(&self) -> bool {
            self.is_cancelled
        }
    }

    impl LiveWatch for Heard {}

    fn session(key: &str, value: &str) -> Session<ScenarioRuns<'static>> {
        let mut document = Document::default();
        document.set("here", "qdiscs", "[\"pie\", \"codel\"]").unwrap();
        document.set("here", key, value).unwrap();
        Session::new(&document).unwrap()
    }

    #[test]
    fn a_cancelled_session_begins_no_run_and_has_a_place_for_each() {
        let session = session("duration", "1s");
        let heard = Heard::new(true);
        let finished = LiveSession::from_session(&session).run(&heard).unwrap();
        assert_eq!(finished.all, [None, None]);
        assert!(heard.began.into_inner().unwrap().is_empty());
        assert!(finished.runs().is_empty());
    }

    #[test]
    fn traffic_that_the_kernel_cannot_send_is_refused_before_a_process_starts() {
        let keys = [
            ("driver = \"bql\"", "no device queue", "omit `driver`"),
            ("grants = {}", "without `grants`", "omit `grants`"),
        ];
        for (key, reason, help) in keys {
            let session = session("link.down", &format!("{{rate = \"10mbit\", {key}}}"));
            let heard = Heard::new(false);
            let error = LiveSession::from_session(&session).run(&heard).unwrap_err().to_string();
            assert!(error.contains(reason) && error.contains(help), "{error}");
            // A watch hears of a run before it is refused.
            assert_eq!(heard.began.into_inner().unwrap(), ["pie"]);
        }
    }
}
