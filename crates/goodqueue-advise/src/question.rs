//! What is asked: the line, what was measured on it, and how much effort to make.

use std::path::PathBuf;

use goodqueue::{Duration, Rate};

use crate::kind::LinkKind;

/// A line that needs advice.
#[derive(Clone, Debug)]
pub struct Question {
    /// Kind of line.
    pub kind: &'static LinkKind,
    /// Rates towards the home and towards the Internet.
    pub rates: [Rate; 2],
    /// Base round-trip time.
    pub rtt: Duration,
    /// Recorded rates, instead of the kind's model.
    pub traces: Option<Traces>,
    /// Round-trip times on the real line; its buffers follow from them.
    pub measured: Option<Measurement>,
    /// Network interface of the router towards the bottleneck.
    pub device: String,
    /// Whether packets have priorities by their DSCP.
    pub diffserv: bool,
    /// Whether the router translates addresses.
    pub nat: bool,
    /// How much to simulate.
    pub effort: Effort,
}

/// Recordings of a line in Mahimahi's format.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Traces {
    /// Towards the home.
    pub down: PathBuf,
    /// Towards the Internet.
    pub up: PathBuf,
}

/// Round-trip times that somebody measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Measurement {
    /// Without load.
    pub idle: Duration,
    /// Mean, with downloads and uploads.
    pub loaded: Duration,
}

/// How much to simulate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effort {
    /// Most seeds with which the advice is verified, for each traffic mix. Fewer do if the values
    /// are known well enough.
    pub seeds: u64,
    /// True if the results of the verification are to have time series, for a report.
    pub series: bool,
}

impl Question {
    /// True if the rate of the line changes while it is in use.
    pub(crate) fn varies(&self) -> bool {
        self.kind.line.varies() || self.traces.is_some()
    }

    /// Returns the base round-trip time in seconds.
    #[expect(clippy::cast_precision_loss, reason = "a round-trip time")]
    pub(crate) fn rtt_s(&self) -> f64 {
        self.rtt.as_nanos() as f64 / 1e9
    }
}

impl Default for Effort {
    fn default() -> Self {
        Self { seeds: 3, series: false }
    }
}
