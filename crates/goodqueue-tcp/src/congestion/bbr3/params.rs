//! What can be set of BBR version 3.

use goodqueue::Duration;

use crate::congestion::parameter::{Parameter, Value};

const STARTUP_PACING_GAIN: f64 = 2.77;
const DRAIN_PACING_GAIN: f64 = 0.5;
const CWND_GAIN: f64 = 2.0;
const PROBE_UP_GAIN: f64 = 1.25;
const PROBE_UP_CWND_GAIN: f64 = 2.25;
const PROBE_DOWN_GAIN: f64 = 0.9;
const PROBE_RTT_CWND_GAIN: f64 = 0.5;
const LOSS_THRESH: f64 = 0.02;
const BETA: f64 = 0.7;
const HEADROOM: f64 = 0.15;
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);

/// The parameters. Gains are factors of the bandwidth, or of the bandwidth-delay product.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Params {
    pub(super) startup_pacing_gain: f64,
    pub(super) drain_pacing_gain: f64,
    pub(super) cwnd_gain: f64,
    pub(super) probe_up_gain: f64,
    pub(super) probe_up_cwnd_gain: f64,
    pub(super) probe_down_gain: f64,
    pub(super) probe_rtt_cwnd_gain: f64,
    pub(super) loss_thresh: f64,
    pub(super) beta: f64,
    pub(super) headroom: f64,
    pub(super) min_rtt_window: Duration,
    pub(super) probe_rtt_interval: Duration,
    pub(super) probe_rtt_time: Duration,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            startup_pacing_gain: STARTUP_PACING_GAIN,
            drain_pacing_gain: DRAIN_PACING_GAIN,
            cwnd_gain: CWND_GAIN,
            probe_up_gain: PROBE_UP_GAIN,
            probe_up_cwnd_gain: PROBE_UP_CWND_GAIN,
            probe_down_gain: PROBE_DOWN_GAIN,
            probe_rtt_cwnd_gain: PROBE_RTT_CWND_GAIN,
            loss_thresh: LOSS_THRESH,
            beta: BETA,
            headroom: HEADROOM,
            min_rtt_window: MIN_RTT_WINDOW,
            probe_rtt_interval: PROBE_RTT_INTERVAL,
            probe_rtt_time: PROBE_RTT_TIME,
        }
    }
}

impl Params {
    pub(super) const TABLE: &[Parameter] = &[
        Parameter::number(
            "startup_pacing_gain",
            STARTUP_PACING_GAIN,
            [1.0, 10.0],
            "1 to 10",
            "draft-ietf-ccwg-bbr §2.4 (4 ln 2)",
            "pacing gain while the bandwidth is unknown",
        ),
        Parameter::number(
            "drain_pacing_gain",
            DRAIN_PACING_GAIN,
            [0.01, 1.0],
            "0.01 to 1",
            "draft-ietf-ccwg-bbr §2.4",
            "pacing gain while the queue of the startup drains",
        ),
        Parameter::number(
            "cwnd_gain",
            CWND_GAIN,
            [1.0, 10.0],
            "1 to 10",
            "draft-ietf-ccwg-bbr §2.5",
            "window in bandwidth-delay products",
        ),
        Parameter::number(
            "probe_up_gain",
            PROBE_UP_GAIN,
            [1.0, 4.0],
            "1 to 4",
            "draft-ietf-ccwg-bbr §5.6.1",
            "pacing gain while it looks for more bandwidth",
        ),
        Parameter::number(
            "probe_up_cwnd_gain",
            PROBE_UP_CWND_GAIN,
            [1.0, 10.0],
            "1 to 10",
            "draft-ietf-ccwg-bbr §5.6.1",
            "window in bandwidth-delay products while it looks for more bandwidth",
        ),
        Parameter::number(
            "probe_down_gain",
            PROBE_DOWN_GAIN,
            [0.1, 1.0],
            "0.1 to 1",
            "draft-ietf-ccwg-bbr §5.6.1",
            "pacing gain after it looked",
        ),
        Parameter::number(
            "probe_rtt_cwnd_gain",
            PROBE_RTT_CWND_GAIN,
            [0.1, 2.0],
            "0.1 to 2",
            "draft-ietf-ccwg-bbr §2.14.2",
            "window in bandwidth-delay products while it measures the least RTT",
        ),
        Parameter::number(
            "loss_thresh",
            LOSS_THRESH,
            [0.0, 0.5],
            "0 to 0.5",
            "draft-ietf-ccwg-bbr §2.7",
            "share of losses that it tolerates while it looks for more bandwidth",
        ),
        Parameter::number(
            "beta",
            BETA,
            [0.1, 1.0],
            "0.1 to 1",
            "draft-ietf-ccwg-bbr §2.7",
            "least share of the bounds that a round of losses leaves",
        ),
        Parameter::number(
            "headroom",
            HEADROOM,
            [0.0, 0.9],
            "0 to 0.9",
            "draft-ietf-ccwg-bbr §2.7",
            "share of the long-term bound that it leaves to others",
        ),
        Parameter::time(
            "min_rtt_window",
            MIN_RTT_WINDOW,
            [Duration::from_millis(1), Duration::from_secs(3600)],
            "1ms to 3600s",
            "draft-ietf-ccwg-bbr §2.14.1",
            "time after which a least RTT is no longer valid",
        ),
        Parameter::time(
            "probe_rtt_interval",
            PROBE_RTT_INTERVAL,
            [Duration::from_millis(1), Duration::from_secs(3600)],
            "1ms to 3600s",
            "draft-ietf-ccwg-bbr §2.14.2",
            "time after which the least RTT is measured again",
        ),
        Parameter::time(
            "probe_rtt_time",
            PROBE_RTT_TIME,
            [Duration::ZERO, Duration::from_secs(10)],
            "0s to 10s",
            "draft-ietf-ccwg-bbr §2.14.2",
            "least time with a small window to measure the least RTT",
        ),
    ];

    /// Sets a parameter of the table.
    pub(super) fn set(&mut self, parameter: &str, value: Value) {
        match parameter {
            "startup_pacing_gain" => self.startup_pacing_gain = value.as_number(),
            "drain_pacing_gain" => self.drain_pacing_gain = value.as_number(),
            "cwnd_gain" => self.cwnd_gain = value.as_number(),
            "probe_up_gain" => self.probe_up_gain = value.as_number(),
            "probe_up_cwnd_gain" => self.probe_up_cwnd_gain = value.as_number(),
            "probe_down_gain" => self.probe_down_gain = value.as_number(),
            "probe_rtt_cwnd_gain" => self.probe_rtt_cwnd_gain = value.as_number(),
            "loss_thresh" => self.loss_thresh = value.as_number(),
            "beta" => self.beta = value.as_number(),
            "headroom" => self.headroom = value.as_number(),
            "min_rtt_window" => self.min_rtt_window = value.as_time(),
            "probe_rtt_interval" => self.probe_rtt_interval = value.as_time(),
            "probe_rtt_time" => self.probe_rtt_time = value.as_time(),
            _ => {}
        }
    }
}
