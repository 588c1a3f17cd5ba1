//! What every environment is.

use goodqueue::Duration;
use goodqueue_tc::diagnostic::Diagnostic;

/// A simulated line that an agent controls.
pub trait Environment: Send {
    /// The numbers of an observation, in order. All are between 0 and 1.
    const OBSERVED: &'static [Channel];

    /// The measured values of an interval, in order, in SI units.
    const MEASURED: &'static [Channel];

    /// Least and greatest action.
    const ACTIONS: [f64; 2];

    /// Begins an episode on the line that `seed` selects.
    ///
    /// # Errors
    /// The settings do not fit together.
    fn begin(&mut self, seed: u64) -> Result<(), Diagnostic>;

    /// Applies an action and simulates one control interval.
    ///
    /// # Errors
    /// The action is no number or out of range, or the run holds too many packets.
    fn step(&mut self, action: f64) -> Result<Step, Diagnostic>;

    /// Writes the observation after the last step; all zeros before the first.
    fn observe(&self, observation: &mut [f32]);

    /// Writes the measured values of the last step.
    fn measure(&self, values: &mut [f64]);

    /// Returns the number of packets that the bottleneck has sent in this episode.
    fn packets(&mut self) -> u64;
}

/// One number of an observation or of a measurement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Channel {
    /// Its name.
    pub name: &'static str,
    /// What it is, with its unit.
    pub doc: &'static str,
}

/// The result of a control interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Step {
    /// Reward of the interval.
    pub reward: f64,
    /// The episode is over: its time is up.
    pub is_over: bool,
}

/// Returns `action` if it is possible.
pub(crate) fn checked(action: f64, [low, high]: [f64; 2]) -> Result<f64, Diagnostic> {
    // NaN is in no range.
    if (low..=high).contains(&action) {
        return Ok(action);
    }
    let problem = format!("an action of {action} is not possible");
    Err(Diagnostic::new(problem).allowed(format!("{low} to {high}")).help("clip the agent's output"))
}

/// Narrows a number for an observation.
#[expect(clippy::cast_possible_truncation, reason = "observations are single precision")]
pub(crate) const fn narrow(number: f64) -> f32 {
    number as f32
}

/// Checks the times of an environment.
pub(crate) fn check_times(interval: Duration, duration: Duration) -> Result<(), Diagnostic> {
    if interval < Duration::from_millis(1) || interval > Duration::from_secs(10) {
        return Err(
            Diagnostic::new(format!("an interval of {interval} is not possible")).allowed("1ms to 10s")
        );
    }
    if duration < interval || duration > Duration::from_secs(86_400) {
        let problem = format!("an episode of {duration} is not possible");
        return Err(Diagnostic::new(problem).allowed(format!("{interval} (one interval) to 86400s")));
    }
    Ok(())
}

/// The error of a step before the first episode.
pub(crate) fn not_begun() -> Diagnostic {
    Diagnostic::new("no episode has begun").help("begin an episode (`reset`) before the first step")
}
