//! A progress bar for work that takes longer than a moment, Ctrl-C, and the clock that times runs.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use goodqueue_scenario::run::Watch;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Looks on while jobs run.
pub(crate) struct Progress {
    bar: ProgressBar,
    /// Thousandths of each job that the bar has been told of.
    told: Vec<AtomicU64>,
    stored: AtomicU64,
    timing: bool,
}

impl Progress {
    /// For so many jobs. The bar shows on a terminal only, and only once the work has taken half a second.
    pub(crate) fn new(jobs: usize, timing: bool) -> Self {
        // The first Ctrl-C asks for a tidy end, the second ends at once. Without a handler it ends at once anyway; work
        // that comes in several parts has the first part's.
        let _ = ctrlc::set_handler(|| {
            if INTERRUPTED.swap(true, Ordering::SeqCst) {
                std::process::exit(130);
            }
        });
        let bar = ProgressBar::with_draw_target(Some(jobs as u64 * JOB), ProgressDrawTarget::hidden());
        bar.set_style(
            ProgressStyle::with_template("{bar:30} {percent:>3} %  {msg}  {elapsed} elapsed, {eta} left")
                .unwrap_or_else(|_| ProgressStyle::default_bar()),
        );
        bar.set_message(format!("{jobs} runs"));
        Self { bar, told: (0..jobs).map(|_| AtomicU64::new(0)).collect(), stored: AtomicU64::new(0), timing }
    }

    /// Removes the bar.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }

    /// True once Ctrl-C was pressed.
    pub(crate) fn was_interrupted(&self) -> bool {
        INTERRUPTED.load(Ordering::SeqCst)
    }

    /// Runs whose results were there already.
    pub(crate) fn stored(&self) -> u64 {
        self.stored.load(Ordering::Relaxed)
    }

    fn tell(&self, job: usize, thousandths: u64) {
        if let Some(told) = self.told.get(job) {
            let before = told.swap(thousandths, Ordering::Relaxed);
            self.bar.inc(thousandths.saturating_sub(before));
        }
        if self.bar.is_hidden() && self.bar.elapsed() > PATIENCE {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }
}

impl Watch for Progress {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a fraction of a thousand")]
    fn advanced(&self, job: usize, fraction: f64) {
        self.tell(job, (fraction.clamp(0.0, 1.0) * JOB as f64) as u64);
    }

    fn finished(&self, job: usize, stored: bool) {
        self.stored.fetch_add(u64::from(stored), Ordering::Relaxed);
        self.tell(job, JOB);
    }

    fn is_cancelled(&self) -> bool {
        self.was_interrupted()
    }

    fn cpu_time(&self) -> Option<f64> {
        self.timing.then(|| cpu_time::ThreadTime::now().as_duration().as_secs_f64())
    }
}

/// Ctrl-C was pressed.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// What the bar counts per job.
const JOB: u64 = 1000;

/// Nobody wants to see a bar for less.
const PATIENCE: Duration = Duration::from_millis(500);
