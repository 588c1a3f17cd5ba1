//! What can be set of BBR.

use goodqueue::Duration;

use crate::congestion::parameter::{Parameter, Value};

/// Phases of the cycle in `PROBE_BW`: one that probes for more bandwidth, one that drains the queue
/// of the first, and six at the estimated rate.
pub(super) const PHASES: usize = 8;
/// 2 / ln 2, the least gain that doubles the rate each round, in the 256ths that Linux rounds it
/// to.
const STARTUP_GAIN: f64 = 739.0 / 256.0;
/// Its inverse, in the same way.
const DRAIN_GAIN: f64 = 88.0 / 256.0;
const CWND_GAIN: f64 = 2.0;
const PROBE_GAIN: f64 = 1.25;
const PROBE_DRAIN_GAIN: f64 = 0.75;
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);

/// The parameters of BBR. Gains are factors of the bandwidth, or of the bandwidth-delay product.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Params {
    pub(super) startup_gain: f64,
    pub(super) drain_gain: f64,
    pub(super) cwnd_gain: f64,
    pub(super) probe_gain: f64,
    pub(super) probe_drain_gain: f64,
    /// Time for which a least RTT is valid.
    pub(super) min_rtt_window: Duration,
    /// Least time of a search for the least RTT.
    pub(super) probe_rtt_time: Duration,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            startup_gain: STARTUP_GAIN,
            drain_gain: DRAIN_GAIN,
            cwnd_gain: CWND_GAIN,
            probe_gain: PROBE_GAIN,
            probe_drain_gain: PROBE_DRAIN_GAIN,
            min_rtt_window: MIN_RTT_WINDOW,
            probe_rtt_time: PROBE_RTT_TIME,
        }
    }
}

impl Params {
    pub(super) const TABLE: &[Parameter] = &[
        Parameter::number(
            "startup_gain",
            STARTUP_GAIN,
            [1.0, 10.0],
            "1 to 10",
            "draft-00 §4.3.2 (2 / ln 2), in Linux's 256ths",
            "pacing and window gain while the bandwidth is unknown",
        ),
        Parameter::number(
            "drain_gain",
            DRAIN_GAIN,
            [0.01, 1.0],
            "0.01 to 1",
            "draft-00 §4.3.3 (ln 2 / 2), in Linux's 256ths",
            "pacing gain while the queue of the startup drains",
        ),
        Parameter::number(
            "cwnd_gain",
            CWND_GAIN,
            [1.0, 10.0],
            "1 to 10",
            "draft-00 §4.2.3",
            "window in bandwidth-delay products after the startup",
        ),
        Parameter::number(
            "probe_gain",
            PROBE_GAIN,
            [1.0, 4.0],
            "1 to 4",
            "draft-00 §4.3.4",
            "pacing gain in the phase that probes for more bandwidth",
        ),
        Parameter::number(
            "probe_drain_gain",
            PROBE_DRAIN_GAIN,
            [0.1, 1.0],
            "0.1 to 1",
            "draft-00 §4.3.4",
            "pacing gain in the phase after the probe",
        ),
        Parameter::time(
            "min_rtt_window",
            MIN_RTT_WINDOW,
            [Duration::from_millis(1), Duration::from_secs(3600)],
            "1ms to 3600s",
            "draft-00 §4.1.2",
            "time after which the least RTT is measured again",
        ),
        Parameter::time(
            "probe_rtt_time",
            PROBE_RTT_TIME,
            [Duration::ZERO, Duration::from_secs(10)],
            "0s to 10s",
            "draft-00 §4.3.5",
            "least time with a window of four segments to measure the least RTT",
        ),
    ];

    /// Sets a parameter of the table.
    pub(super) fn set(&mut self, parameter: &str, value: Value) {
        match parameter {
            "startup_gain" => self.startup_gain = value.as_number(),
            "drain_gain" => self.drain_gain = value.as_number(),
            "cwnd_gain" => self.cwnd_gain = value.as_number(),
            "probe_gain" => self.probe_gain = value.as_number(),
            "probe_drain_gain" => self.probe_drain_gain = value.as_number(),
            "min_rtt_window" => self.min_rtt_window = value.as_time(),
            "probe_rtt_time" => self.probe_rtt_time = value.as_time(),
            _ => {}
        }
    }

    /// The pacing gain of a phase of the cycle in `PROBE_BW`.
    pub(super) fn gain_of(&self, phase: usize) -> f64 {
        match phase {
            0 => self.probe_gain,
            1 => self.probe_drain_gain,
            _ => 1.0,
        }
    }
}
