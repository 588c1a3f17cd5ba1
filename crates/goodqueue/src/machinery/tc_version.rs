//! How tc rounds the times that it hands over to the kernel, which differs between its versions.

use crate::config::{Settings, VARIANT, Value, Variant};
use crate::time::Duration;

/// The version of tc and Linux that a discipline follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TcVersion {
    /// tc and Linux 7.3.
    Linux,
    /// tc and Linux 6.1.
    Linux61,
}

/// The variants of `htb` and `netem`, whose times tc rounds.
pub(crate) const VARIANTS: &[Variant] = &[
    Variant { name: TcVersion::Linux.name(), doc: "Linux 7.3, whose tc hardly rounds times" },
    Variant { name: TcVersion::Linux61.name(), doc: "Linux 6.1, whose tc rounds times down" },
];

impl TcVersion {
    const fn name(self) -> &'static str {
        match self {
            Self::Linux => "linux",
            Self::Linux61 => "linux61",
        }
    }

    /// Returns the version that `variant` names, or else the newest one.
    pub(crate) fn from_settings(settings: &Settings) -> Self {
        if settings.choice(VARIANT) == Some(Self::Linux61.name()) { Self::Linux61 } else { Self::Linux }
    }

    /// Adds the version to `settings`.
    pub(crate) fn add_to(self, settings: Settings) -> Settings {
        settings.with(VARIANT, Value::Choice(self.name()))
    }

    /// Returns `span` as the kernel gets it.
    pub(crate) const fn hands_over(self, span: Duration) -> Duration {
        match self {
            Self::Linux => span,
            Self::Linux61 => Duration::from_nanos(span.as_nanos() / TICK * TICK),
        }
    }
}

/// The unit of time between tc and the kernel, in nanoseconds (Linux `PSCHED_SHIFT` is 6). tc 7.3
/// hands delays over without it.
pub(crate) const TICK: u64 = 64;
