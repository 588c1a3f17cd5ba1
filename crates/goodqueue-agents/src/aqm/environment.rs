//! The environment of an AQM agent.

use goodqueue::config::Value;
use goodqueue::{AnyConfig, Direction, Disciplines, Duration, Instant, Link, Settings};
use goodqueue_sim::{Outcome, Run};
use goodqueue_tc::diagnostic::Diagnostic;

use super::line::{AqmLine, AqmRanges};
use super::seen::{AqmSeen, MEASURED, OBSERVED};
use crate::draw::{Split, scaled, seconds};
use crate::environment::{Channel, Environment, Step, check_times, checked, not_begun};
use crate::reward::reward;
use crate::signal::{disciplines, signal};

/// What controls the queue.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum AqmControl {
    /// The agent sets the probability of a mark or drop, which is the square of the action. Squares
    /// give small probabilities a large part of the range, and are the signal that PI2 uses
    /// (RFC 9332 §2).
    #[default]
    Probability,
    /// The agent sets CoDel's target: 1 ms, plus 99 ms times the square of the action.
    Target,
    /// A discipline of its own right, for comparisons. Actions change nothing.
    Qdisc(Box<AnyConfig>),
}

/// The settings of an environment.
#[derive(Clone, PartialEq, Debug)]
pub struct AqmSettings {
    /// Ranges from which lines are drawn.
    pub ranges: AqmRanges,
    /// Lines that seeds select.
    pub split: Split,
    /// What controls the queue.
    pub control: AqmControl,
    /// Length of a control interval.
    pub interval: Duration,
    /// Length of an episode.
    pub duration: Duration,
}

impl Default for AqmSettings {
    /// Returns training lines with intervals of 15 ms and episodes of 30 s.
    fn default() -> Self {
        Self {
            ranges: AqmRanges::default(),
            split: Split::default(),
            control: AqmControl::default(),
            interval: Duration::from_millis(15),
            duration: Duration::from_secs(30),
        }
    }
}

/// A line whose AQM is an agent.
pub struct AqmEnvironment {
    settings: AqmSettings,
    known: Disciplines,
    episode: Option<Episode>,
    seen: AqmSeen,
    action: f64,
}

struct Episode {
    line: AqmLine,
    run: Run<'static>,
    /// Probability or target in force.
    setting: f64,
}

impl AqmEnvironment {
    /// Returns an environment. An episode begins with [`Environment::begin`].
    #[must_use]
    pub fn new(settings: AqmSettings) -> Self {
        Self { settings, known: disciplines(), episode: None, seen: AqmSeen::default(), action: 0.0 }
    }

    /// Returns the line of the present episode.
    #[must_use]
    pub fn line(&self) -> Option<&AqmLine> {
        self.episode.as_ref().map(|episode| &episode.line)
    }

    /// Returns the last control interval.
    #[must_use]
    pub const fn seen(&self) -> &AqmSeen {
        &self.seen
    }

    /// Sets the probability itself, which is not squared, and simulates one control interval.
    ///
    /// # Errors
    /// As [`Environment::step`].
    pub fn step_with(&mut self, probability: f64) -> Result<Step, Diagnostic> {
        self.apply(probability)?;
        self.simulate()
    }

    /// Ends the episode and returns its outcome.
    pub fn finish(&mut self) -> Option<Outcome> {
        self.episode.take().map(|episode| episode.run.finish())
    }

    /// Puts a probability or target into force.
    fn apply(&mut self, setting: f64) -> Result<(), Diagnostic> {
        let Self { settings, known, episode: Some(episode), .. } = self else { return Err(not_begun()) };
        // Comparing bits: the same setting needs no change.
        if setting.to_bits() != episode.setting.to_bits()
            && let Some(config) = controlled(&settings.control, known, setting)?
        {
            let changed = episode.run.reconfigure(Direction::Down, config);
            changed.map_err(|error| Diagnostic::new(error.to_string()))?;
            episode.setting = setting;
        }
        Ok(())
    }

    fn simulate(&mut self) -> Result<Step, Diagnostic> {
        let Some(episode) = &mut self.episode else { return Err(not_begun()) };
        let until = episode.run.now() + self.settings.interval;
        episode.run.advance(until, None).map_err(|error| Diagnostic::new(error.to_string()))?;
        let step = episode.run.queue(Direction::Down);
        let interval = seconds(self.settings.interval);
        self.seen = AqmSeen::from_step(&step, episode.line.rate, interval, episode.setting);
        // The last step may pass the end of the episode: the run itself is open-ended.
        let is_over = until >= Instant::ZERO + self.settings.duration;
        Ok(Step { reward: reward(self.seen.utilization, self.seen.sojourn), is_over })
    }
}

impl Environment for AqmEnvironment {
    const OBSERVED: &'static [Channel] = OBSERVED;
    const MEASURED: &'static [Channel] = MEASURED;
    const ACTIONS: [f64; 2] = [0.0, 1.0];

    fn begin(&mut self, seed: u64) -> Result<(), Diagnostic> {
        let AqmSettings { ranges, split, control, interval, duration } = &self.settings;
        check_times(*interval, *duration)?;
        let line = AqmLine::draw(ranges, *split, seed, *duration)?;
        let setting = setting(control, 0.0);
        let config = match control {
            AqmControl::Qdisc(config) => Some(config.as_ref().clone()),
            _ => controlled(control, &self.known, setting)?,
        };
        let config = line.config(config.ok_or_else(not_begun)?);
        // Coarse histograms are enough here, and thousands of such runs fit into memory.
        let run = Run::open_ended(config).map_err(|error| Diagnostic::new(error.to_string()))?.coarse();
        self.episode = Some(Episode { line, run, setting });
        self.seen = AqmSeen { setting, ..AqmSeen::default() };
        self.action = 0.0;
        Ok(())
    }

    fn step(&mut self, action: f64) -> Result<Step, Diagnostic> {
        self.action = checked(action, Self::ACTIONS)?;
        self.apply(setting(&self.settings.control, action))?;
        self.simulate()
    }

    fn observe(&self, observation: &mut [f32]) {
        self.seen.observe(self.action, observation);
    }

    fn measure(&self, values: &mut [f64]) {
        for (place, value) in values.iter_mut().zip(self.seen.values()) {
            *place = value;
        }
    }

    fn packets(&mut self) -> u64 {
        self.episode.as_mut().map_or(0, |episode| episode.run.packets())
    }
}

/// Returns the probability or target that an action asks for.
fn setting(control: &AqmControl, action: f64) -> f64 {
    let square = action * action;
    match control {
        AqmControl::Probability => square,
        AqmControl::Target => LEAST_TARGET + (MOST_TARGET - LEAST_TARGET) * square,
        AqmControl::Qdisc(_) => 0.0,
    }
}

/// Range of CoDel's target in seconds.
const LEAST_TARGET: f64 = 0.001;
const MOST_TARGET: f64 = 0.100;

/// Returns the configuration for a probability or target; `None` if the agent controls nothing.
fn controlled(
    control: &AqmControl,
    known: &Disciplines,
    setting: f64,
) -> Result<Option<AnyConfig>, Diagnostic> {
    let config = match control {
        AqmControl::Probability => signal(known, setting),
        AqmControl::Target => {
            let target = scaled(Duration::from_secs(1), setting);
            let settings = Settings::new().with("target", Value::Time(target)).with("ecn", Value::Flag(true));
            AnyConfig::from_settings("codel", &settings, &Link::default())
                .ok_or_else(|| Diagnostic::new("there is no `codel`"))?
        }
        AqmControl::Qdisc(_) => return Ok(None),
    };
    config.map(Some).map_err(|error| Diagnostic::new(error.to_string()))
}
