//! Which time series the store keeps of a run, and which of them its result has.

use goodqueue::Duration;

/// The time series of a run and its result.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SeriesUse {
    /// The result has the series that the simulator measured. The key of the run names their step,
    /// so that a store keeps results with other steps apart.
    #[default]
    InResult,
    /// The store keeps the series beside the result, for later. The result does not have them.
    Kept,
    /// The store keeps them, and the result has them; if they were kept before in another step
    /// only, that step will do.
    AnyStep,
    /// The store keeps them, and the result has them in the step of the run.
    ThisStep,
}

impl SeriesUse {
    /// True if the result has the series.
    #[must_use]
    pub const fn is_in_result(self) -> bool {
        !matches!(self, Self::Kept)
    }
}

/// The time series that are measured in the runs of a scenario.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Steps {
    /// Series in this step, or none. All of them are in the results.
    Given(Option<Duration>),
    /// No series. A store may hold series of the same runs.
    Unasked,
    /// Series for the store, in the step that was asked for, or else in about 600 steps.
    Kept {
        /// Step that was asked for. The results then have the series.
        asked: Option<Duration>,
        /// Whether the results must have series in some step.
        are_needed: bool,
    },
}

impl Steps {
    /// Returns the step in a run of this duration with this number of flows, and the use of its
    /// series.
    pub(crate) fn of_run(self, duration: Duration, flows: u64) -> (Option<Duration>, SeriesUse) {
        match self {
            Self::Given(step) => (step, SeriesUse::InResult),
            Self::Unasked => (None, SeriesUse::Kept),
            Self::Kept { asked: Some(step), .. } => (Some(step), SeriesUse::ThisStep),
            Self::Kept { asked: None, are_needed: true } => {
                (Some(default_step(duration)), SeriesUse::AnyStep)
            }
            Self::Kept { asked: None, are_needed: false } => {
                ((flows <= MOST_FLOWS).then(|| default_step(duration)), SeriesUse::Kept)
            }
        }
    }
}

/// Returns the step of time series that nobody chose: about 600 steps in a run.
#[must_use]
pub fn default_step(duration: Duration) -> Duration {
    let step = Duration::from_nanos(duration.as_nanos() / 600);
    [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000]
        .map(Duration::from_millis)
        .into_iter()
        .find(|round| *round >= step)
        // In a run of more than 6,000 s 600 steps are longer than 10 s, and are not rounded.
        .unwrap_or(step)
}

/// Series of more flows are kept only if somebody asks for them: they would take megabytes per run.
const MOST_FLOWS: u64 = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_are_kept_though_nobody_needs_them_yet_unless_there_are_very_many_flows() {
        let kept = Steps::Kept { asked: None, are_needed: false };
        let minute = Duration::from_secs(60);
        // 60 s in 600 steps.
        assert_eq!(kept.of_run(minute, 9), (Some(Duration::from_millis(100)), SeriesUse::Kept));
        assert_eq!(kept.of_run(minute, 5000), (None, SeriesUse::Kept));
        let needed = Steps::Kept { asked: None, are_needed: true };
        assert_eq!(needed.of_run(minute, 5000), (Some(Duration::from_millis(100)), SeriesUse::AnyStep));
    }
}
