//! The path behind a link: its delay and its faults.

use goodqueue::config::{ConfigError, Configure, Link as LinkDefaults, Settings, Value};
use goodqueue::netem::NetemConfig;
use goodqueue::{AnyConfig, Duration};

/// Delay and faults, the latter as settings of `netem`.
#[derive(Clone, Default, Debug)]
pub(crate) struct Air {
    pub(crate) delay: Duration,
    faults: Settings,
}

impl Air {
    /// Returns the path that a `netem` line describes.
    #[cfg(feature = "tc")]
    pub(crate) fn from_netem(settings: &Settings) -> Self {
        let delay = settings.time("delay").unwrap_or_default();
        let mut faults = Settings::new();
        let perfect = NetemConfig::<AnyConfig>::default().to_settings();
        // A setting that a perfect `netem` has is no fault. Without faults the path needs no
        // discipline.
        let chosen = settings
            .iter()
            .filter(|(name, value)| perfect.get(name).as_ref() != Some(value) && *name != "delay");
        chosen.for_each(|(name, value)| faults.set(name, value));
        Self { delay, faults }
    }

    pub(crate) fn set(&mut self, name: &'static str, value: Value) {
        self.faults.set(name, value);
    }

    /// Replaces every setting whose name begins with `family`.
    pub(crate) fn replace(&mut self, family: &str, values: &[(&'static str, f64)]) {
        let mut faults = Settings::new();
        let others = self.faults.iter().filter(|(name, _)| !name.starts_with(family));
        others.for_each(|(name, value)| faults.set(name, value));
        for (name, value) in values {
            faults.set(name, Value::Probability(*value));
        }
        self.faults = faults;
    }

    /// True if `netem` holds the packets for their delay, because not all have the same.
    fn spreads(&self) -> bool {
        let varies = self.faults.time("delay.jitter").is_some_and(|jitter| !jitter.is_zero());
        let skips = matches!(self.faults.get("reorder"), Some(Value::Probability(share)) if share > 0.0);
        varies || skips
    }

    /// Returns the delay that all packets have in addition to that of [`Self::netem`].
    pub(crate) fn common_delay(&self) -> Duration {
        if self.spreads() { Duration::ZERO } else { self.delay }
    }

    /// Returns the discipline that acts as the path; `None` for a path without faults.
    ///
    /// # Errors
    /// A setting is out of its range.
    pub(crate) fn netem(&self) -> Result<Option<AnyConfig>, ConfigError> {
        if self.faults.iter().next().is_none() {
            return Ok(None);
        }
        let mut settings = self.faults.clone().with("limit", Value::Packets(MOST_HELD));
        if self.spreads() {
            settings.set("delay", Value::Time(self.delay));
        }
        NetemConfig::from_settings(&settings, &LinkDefaults::default()).map(|netem| Some(netem.into()))
    }
}

/// Packets that a path with jitter holds. tc's default of 1000 would limit a fast link.
const MOST_HELD: u64 = 1_000_000;
/// The settings of all models of loss begin with this word.
pub(crate) const LOSS: &str = "loss";
