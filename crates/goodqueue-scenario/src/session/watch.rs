//! What a caller hears while runs are made.

use goodqueue_sim as sim;

use crate::results::Run;
use crate::run::RunSpec;

/// Observes the runs of a session and may cancel them. Its methods are called on the threads of the
/// runs.
pub trait Watch: Sync {
    /// A run, by its number, is simulated next, on the thread that calls this.
    fn started(&self, number: usize, run: &RunSpec) {
        // Named without an underscore, because the documentation shows the names of arguments.
        let _ = (number, run);
    }

    /// A run has come this far: a fraction from 0 to 1.
    fn advanced(&self, number: usize, fraction: f64) {
        let _ = (number, fraction);
    }

    /// A run has finished with this result. `stored`: the store had it already.
    fn finished(&self, number: usize, result: &Run, stored: bool) {
        let _ = (number, result, stored);
    }

    /// All runs together have come this far. Called after each of the events above but the first.
    fn progressed(&self, progress: Progress) {
        let _ = progress;
    }

    /// Returns true if a run may end now, because its values are known well enough. Its result is
    /// that of the time until then. Runs whose results are stored always go to their end.
    fn knows_enough(&self, number: usize, so_far: sim::SoFar<'_>) -> bool {
        let _ = (number, so_far);
        false
    }

    /// Returns true to stop: running runs are abandoned, and no further run starts.
    fn is_cancelled(&self) -> bool {
        false
    }

    /// CPU time of this thread in seconds, if runs are to be timed.
    fn cpu_time(&self) -> Option<f64> {
        None
    }
}

/// A watch that ignores all events.
#[derive(Clone, Copy, Debug)]
pub struct NoWatch;

impl Watch for NoWatch {}

/// How far a session has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Progress {
    /// All runs of the session.
    pub runs: usize,
    /// Runs that have a result.
    pub finished: usize,
    /// Number of them whose results the store had.
    pub stored: usize,
    /// Work that is done, in thousandths of a run. A running run counts in part.
    pub done: u64,
    /// The part of `done` that was simulated, not read from the store.
    pub simulated: u64,
}

impl Progress {
    /// Units of [`done`](Self::done) for each run.
    pub const OF_A_RUN: u64 = 1000;

    /// Returns the share of the work that is done, from 0 to 1.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a fraction for a progress bar")]
    pub fn share(&self) -> f64 {
        let all = self.runs as u64 * Self::OF_A_RUN;
        if all == 0 { 1.0 } else { self.done as f64 / all as f64 }
    }
}
