//! The environment of a congestion control agent.

use goodqueue::{Duration, Instant};
use goodqueue_sim::{Run, SenderView};
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tcp::congestion::parameter::Value;

use super::line::{AGENT, CongestionLine, CongestionRanges};
use super::seen::{CongestionSeen, MEASURED, OBSERVED};
use crate::draw::{Split, seconds, whole};
use crate::environment::{Channel, Environment, Step, check_times, checked, not_begun};
use crate::reward::reward;

/// What controls the sender.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum SenderControl {
    /// The agent multiplies the window, which begins with ten segments, by 2 to the power of the
    /// action.
    #[default]
    Window,
    /// The agent multiplies the pacing rate, which begins with 1 Mbit/s, by 2 to the power of the
    /// action. The window does not limit the flow.
    Rate,
    /// A congestion control by its name in Linux, for comparisons. Actions change nothing.
    Named(String),
}

/// The settings of an environment.
#[derive(Clone, PartialEq, Debug)]
pub struct CongestionSettings {
    /// Ranges from which lines are drawn.
    pub ranges: CongestionRanges,
    /// Lines that seeds select.
    pub split: Split,
    /// What controls the sender.
    pub control: SenderControl,
    /// Length of a control interval.
    pub interval: Duration,
    /// Length of an episode.
    pub duration: Duration,
}

impl Default for CongestionSettings {
    /// Returns training lines with intervals of 50 ms and episodes of 20 s.
    fn default() -> Self {
        Self {
            ranges: CongestionRanges::default(),
            split: Split::default(),
            control: SenderControl::default(),
            interval: Duration::from_millis(50),
            duration: Duration::from_secs(20),
        }
    }
}

/// A line on which an agent is the congestion control of one flow.
pub struct CongestionEnvironment {
    settings: CongestionSettings,
    episode: Option<Episode>,
    seen: CongestionSeen,
}

struct Episode {
    line: CongestionLine,
    run: Run<'static>,
    before: SenderView,
    /// Least smoothed RTT; the maximum before the first sample.
    least: Duration,
    /// Window in segments, or rate in bits per second, that the agent has set.
    set: f64,
    /// Payload of a full segment in bytes.
    mss: u64,
}

/// Windows that an agent can set, in segments.
const WINDOWS: [f64; 2] = [2.0, 20_000.0];
/// Window at the start in segments (RFC 6928 §2).
const FIRST_WINDOW: f64 = 10.0;
/// Pacing rates that an agent can set, in bits per second.
const RATES: [f64; 2] = [100_000.0, 10_000_000_000.0];
/// Pacing rate at the start in bits per second.
const FIRST_RATE: f64 = 1_000_000.0;

impl CongestionEnvironment {
    /// Returns an environment. An episode begins with [`Environment::begin`].
    #[must_use]
    pub fn new(settings: CongestionSettings) -> Self {
        Self { settings, episode: None, seen: CongestionSeen::default() }
    }

    /// Returns the line of the present episode.
    #[must_use]
    pub fn line(&self) -> Option<&CongestionLine> {
        self.episode.as_ref().map(|episode| &episode.line)
    }

    /// Returns the last control interval.
    #[must_use]
    pub const fn seen(&self) -> &CongestionSeen {
        &self.seen
    }
}

impl Episode {
    /// Applies an action.
    fn apply(&mut self, control: &SenderControl, action: f64) -> Result<(), Diagnostic> {
        let (parameter, [low, high]) = match control {
            SenderControl::Window => ("window", WINDOWS),
            SenderControl::Rate => ("rate", RATES),
            SenderControl::Named(_) => return Ok(()),
        };
        // `libm` computes the same bits on every machine.
        self.set = (self.set * libm::exp2(action)).clamp(low, high);
        self.put(parameter, self.set)
    }

    fn put(&mut self, parameter: &'static str, value: f64) -> Result<(), Diagnostic> {
        let put = self.run.set_parameter(AGENT, parameter, Value::Count(whole(value)));
        put.map_err(|error| Diagnostic::new(error.to_string()))
    }
}

impl Environment for CongestionEnvironment {
    const OBSERVED: &'static [Channel] = OBSERVED;
    const MEASURED: &'static [Channel] = MEASURED;
    const ACTIONS: [f64; 2] = [-1.0, 1.0];

    fn begin(&mut self, seed: u64) -> Result<(), Diagnostic> {
        let CongestionSettings { ranges, split, control, interval, duration } = &self.settings;
        check_times(*interval, *duration)?;
        let line = CongestionLine::draw(ranges, *split, seed)?;
        let name = if let SenderControl::Named(name) = control { name } else { "fixed" };
        let config = line.config(name)?;
        let mss = match &config.flows[AGENT].traffic {
            goodqueue_sim::Traffic::Tcp(tcp) => u64::from(tcp.config.payload()),
            // The agent's flow is always TCP (`CongestionLine::config`).
            _ => 1,
        };
        let run = Run::open_ended(config).map_err(|error| Diagnostic::new(error.to_string()))?.coarse();
        let set = if *control == SenderControl::Rate { FIRST_RATE } else { FIRST_WINDOW };
        let before = SenderView::default();
        let mut episode = Episode { line, run, before, least: Duration::MAX, set, mss };
        if *control == SenderControl::Rate {
            // The largest window never limits a paced flow.
            episode.put("window", WINDOWS[1])?;
        }
        // An action of 0 multiplies by 1, and so puts the first window or rate into force.
        episode.apply(control, 0.0)?;
        self.episode = Some(episode);
        self.seen = CongestionSeen::default();
        Ok(())
    }

    fn step(&mut self, action: f64) -> Result<Step, Diagnostic> {
        let action = checked(action, Self::ACTIONS)?;
        let Self { settings, episode: Some(episode), .. } = self else { return Err(not_begun()) };
        episode.apply(&settings.control, action)?;
        let until = episode.run.now() + settings.interval;
        episode.run.advance(until, None).map_err(|error| Diagnostic::new(error.to_string()))?;
        let now = episode.run.so_far().sender(AGENT).unwrap_or_default();
        if !now.srtt.is_zero() {
            episode.least = episode.least.min(now.srtt);
        }
        // The observation shows 0 before the first sample.
        let least = if episode.least == Duration::MAX { Duration::ZERO } else { episode.least };
        let pacing = if settings.control == SenderControl::Rate { episode.set } else { 0.0 };
        let interval = seconds(settings.interval);
        let seen = CongestionSeen::from_view(&now, &episode.before, interval, least, episode.mss, pacing);
        episode.before = now;
        self.seen = seen;
        let (share, delay) = seen.rewarded(episode.line.rate, episode.line.rtt);
        let is_over = until >= Instant::ZERO + settings.duration;
        // Lost work is no gain: without this term an agent could flood a line with a small buffer.
        Ok(Step { reward: reward(share, delay) - seen.lost, is_over })
    }

    fn observe(&self, observation: &mut [f32]) {
        self.seen.observe(observation);
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
