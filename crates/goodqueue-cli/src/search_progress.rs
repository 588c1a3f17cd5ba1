//! The progress of a search for advice.

use goodqueue_advise::{First, Observe, first_words};
use goodqueue_scenario::session::{self, Watch};

use crate::messages::note;
use crate::progress::Progress;

/// Shows how far a search has come, and its first answer.
pub(crate) struct SearchProgress(Progress);

impl SearchProgress {
    /// Creates a bar. It appears only on a terminal, and only after half a second.
    pub(crate) fn new() -> Self {
        let progress = Progress::new(1, false);
        progress.rename("searching and verifying");
        Self(progress)
    }

    /// Removes the bar.
    pub(crate) fn clear(&self) {
        self.0.clear();
    }
}

impl Watch for SearchProgress {
    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }
}

impl Observe for SearchProgress {
    fn first(&self, answer: &First) {
        self.0.beside(|| note(first_words(answer)));
    }

    fn came(&self, fraction: f64) {
        // The search is shown as one run, which has a thousand units (`Progress::OF_A_RUN`).
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a fraction of a thousand"
        )]
        let done = (fraction.clamp(0.0, 1.0) * 1000.0) as u64;
        self.0.progressed(session::Progress {
            runs: 1,
            done,
            simulated: done,
            ..session::Progress::default()
        });
    }
}
