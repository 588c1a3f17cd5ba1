//! A progress bar, the signals that end a command, and the clock that times runs.

mod minutes;

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Once};
use std::time::Duration;

use goodqueue_scenario::session::{self, Watch};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
#[cfg(unix)]
use signal_hook::consts::SIGHUP;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

pub(crate) use self::minutes::in_words;
use self::minutes::{Minutes, remaining};
use crate::messages::{self, is_quiet, note};

/// Shows the progress of runs.
pub(crate) struct Progress {
    bar: ProgressBar,
    runs: usize,
    minutes: Minutes,
    /// Work that was done when it was last shown, in thousandths of a run.
    shown: AtomicU64,
    /// Standard error is a file or a pipe, in which a bar would be unreadable.
    is_written: bool,
    timing: bool,
}

impl Progress {
    /// Says on the bar what goes on, instead of the number of runs.
    pub(crate) fn rename(&self, message: &'static str) {
        self.bar.set_message(message);
    }

    /// Prints something without the bar in between.
    pub(crate) fn beside(&self, print: impl FnOnce()) {
        self.bar.suspend(print);
    }

    /// Creates a bar for this number of runs. It appears only on a terminal, and only after half a
    /// second. Elsewhere the remaining time is printed once a minute.
    pub(crate) fn new(runs: usize, timing: bool) -> Self {
        // A command may show several bars, but signals are handled once.
        static WATCHED: Once = Once::new();
        WATCHED.call_once(watch_signals);
        let units = runs as u64 * session::Progress::OF_A_RUN;
        let bar = ProgressBar::with_draw_target(Some(units), ProgressDrawTarget::hidden());
        bar.set_style(
            ProgressStyle::with_template("{bar:30} {percent:>3} %  {msg}  {elapsed} elapsed, {eta} left")
                .unwrap_or_else(|_| ProgressStyle::default_bar()),
        );
        bar.set_message(format!("{runs} runs"));
        Self {
            bar,
            runs,
            minutes: Minutes::default(),
            shown: AtomicU64::new(0),
            is_written: !messages::are_on_a_terminal(),
            timing,
        }
    }

    /// Removes the bar.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }

    /// True once a signal has asked for the end.
    pub(crate) fn was_interrupted(&self) -> bool {
        SIGNAL.load(Ordering::SeqCst) != 0
    }

    fn tell_remaining(&self, progress: session::Progress) {
        let left = self.bar.length().unwrap_or(0).saturating_sub(progress.done);
        // Runs from the store took no time, so only the simulated ones tell the speed.
        let time = remaining(self.bar.elapsed(), progress.simulated, left);
        let time =
            time.map_or_else(|| "an unknown time".to_owned(), |time| format!("about {}", in_words(time)));
        note(format_args!("{} of {} runs finished, {time} left", progress.finished, self.runs));
    }
}

impl Watch for Progress {
    fn progressed(&self, progress: session::Progress) {
        // A short run reports its progress every few microseconds, and a look at the clock takes
        // longer than all else here. Only a display depends on the order of the threads.
        if progress.done.saturating_sub(self.shown.load(Ordering::Relaxed)) < VISIBLE {
            return;
        }
        self.shown.store(progress.done, Ordering::Relaxed);
        self.bar.set_position(progress.done);
        if is_quiet() {
            return;
        }
        if self.is_written {
            if self.minutes.has_passed(self.bar.elapsed()) {
                self.tell_remaining(progress);
            }
        } else if self.bar.is_hidden() && self.bar.elapsed() > PATIENCE {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }

    fn is_cancelled(&self) -> bool {
        self.was_interrupted()
    }

    fn cpu_time(&self) -> Option<f64> {
        self.timing.then(|| cpu_time::ThreadTime::now().as_duration().as_secs_f64())
    }
}

/// The signal that asked for the end, or 0.
static SIGNAL: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);

/// Returns the exit code that shells use for a command ended by a signal.
pub(crate) fn interrupted_code() -> u8 {
    // As shells report a program that a signal ended.
    u8::try_from(128 + SIGNAL.load(Ordering::SeqCst)).unwrap_or(130)
}

/// Handles signals: the first asks for a tidy end, the second ends the process at once.
fn watch_signals() {
    let again = Arc::new(AtomicBool::new(false));
    // The actions of a signal run in the order of registration, so the first signal still finds
    // `again` unset. The request to end comes first: with another action alone, a signal that
    // comes between two registrations would be lost.
    for signal in ENDING.into_iter().filter(|&signal| !is_ignored(signal)) {
        let _ = flag::register_usize(signal, Arc::clone(&SIGNAL), usize::try_from(signal).unwrap_or(0));
        let _ = flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&again));
        let _ = flag::register(signal, Arc::clone(&again));
    }
}

/// True of SIGHUP under `nohup`.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    // Bit n - 1 of the mask stands for signal n (proc(5)).
    signal == SIGHUP && ignored >> (signal - 1) & 1 == 1
}

#[cfg(not(unix))]
fn is_ignored(_: i32) -> bool {
    false
}

#[cfg(unix)]
const ENDING: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];
#[cfg(not(unix))]
const ENDING: [i32; 2] = [SIGINT, SIGTERM];

/// Progress that is worth a look at the clock: a hundredth of a run.
const VISIBLE: u64 = session::Progress::OF_A_RUN / 100;

/// Time before the bar appears.
const PATIENCE: Duration = Duration::from_millis(500);
