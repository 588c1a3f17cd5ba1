//! LEDBAT as libutp has it, the transport of BitTorrent clients: three kilobytes per round trip at
//! most, and a window that may be less than a packet.

use goodqueue::{Duration, Instant};

use goodqueue_tcp::congestion::ledbat::Delays;
use goodqueue_tcp::congestion::parameter::{Parameter, Value};
use goodqueue_tcp::congestion::whole::whole;
use goodqueue_tcp::congestion::{
    About, Ack, Congestion, CongestionControl, Constant, Controller, Feedback, FeedbackTiming, Needs, Pacing,
    Signal, Window,
};

/// What can be set; the names are those of utp.cpp.
#[derive(Clone, Copy, Debug)]
struct Params {
    /// `CCONTROL_TARGET`: queuing delay aimed at.
    target: Duration,
    /// `MAX_CWND_INCREASE_BYTES_PER_RTT`.
    max_increase: u32,
    /// Share of the window that a loss leaves: libutp of May 2010; half since July of that year.
    decay: f64,
    /// `MAX_WINDOW_DECAY`: least time between two reductions.
    decay_interval: Duration,
}

impl Default for Params {
    fn default() -> Self {
        let target = Duration::from_millis(100);
        let decay_interval = Duration::from_millis(100);
        Self { target, max_increase: 3000, decay: 0.78, decay_interval }
    }
}

/// `MIN_WINDOW_SIZE`, in bytes.
const MIN_WINDOW: f64 = 10.0;

/// The window does not grow if no packet had to wait for it for this time. The application limits
/// the rate then, and the window would grow without bound (`last_maxed_out_window`).
const FULL: Duration = Duration::from_millis(300);

/// The congestion control of libutp. A window of less than a packet is a rate: that number of bytes
/// per least round-trip time. The profile `libutp` adds libutp's own handling of it.
#[derive(Clone, Debug, Default)]
pub struct LedbatUtp {
    params: Params,
    delays: Delays<13, 3>,
    /// Queuing delay now, in microseconds.
    queuing: f64,
    /// The window in whole bytes; `None` before the first ACK.
    window: Option<f64>,
    mss: u32,
    least_rtt: Duration,
    last_cut: Option<Instant>,
    /// When the window was last full.
    full: Instant,
}

impl LedbatUtp {
    /// The window in bytes after `acked` ones. The further the delay is
    /// beyond the target the faster down, without bound.
    fn steer(&self, window: f64, acked: f64, was_full: bool) -> f64 {
        // libutp's `window_factor`, which is at most 1 also for an ACK of more than the window.
        let share = acked.min(window) / acked.max(window).max(1.0);
        let target = self.params.target.as_nanos() as f64 / 1000.0;
        let gain = f64::from(self.params.max_increase) * share * (target - self.queuing) / target;
        if gain < 0.0 || was_full { whole((window + gain).max(MIN_WINDOW)) as f64 } else { window }
    }
}

impl CongestionControl for LedbatUtp {
    fn on_ack(&mut self, _ack: &mut Ack, cwnd: u64) -> u64 {
        cwnd // all is done with the feedback, which comes in recovery too
    }

    fn on_congestion(&mut self, event: &Congestion) -> u64 {
        let mss = f64::from(event.mss);
        let window = self.window.unwrap_or(event.cwnd as f64);
        let window = if event.signal == Signal::Timeout {
            mss
        } else if self.last_cut.is_some_and(|last| event.now.since(last) < self.params.decay_interval) {
            window
        } else {
            self.last_cut = Some(event.now);
            whole((window * self.params.decay).max(MIN_WINDOW)) as f64
        };
        self.window = Some(window);
        whole(window.max(mss))
    }

    fn on_feedback(&mut self, feedback: &Feedback, window: &mut Window) {
        self.mss = feedback.mss;
        self.least_rtt = feedback.min_rtt;
        if let Some(delay) = feedback.one_way_delay {
            let queuing = f64::from(self.delays.take(feedback.now, delay));
            // No delay is longer than the round trip.
            let bound = feedback.rtt.map_or(f64::INFINITY, |rtt| rtt.as_nanos() as f64 / 1000.0);
            self.queuing = queuing.min(bound);
        }
        let mss = f64::from(feedback.mss);
        let mut now = self.window.unwrap_or(window.cwnd as f64);
        if feedback.delivered > 0 {
            if feedback.pipe_before as f64 + mss >= now {
                self.full = feedback.now;
            }
            now = self.steer(now, feedback.delivered as f64, feedback.now.since(self.full) <= FULL);
        }
        self.window = Some(now);
        window.cwnd = whole(now.max(mss));
        // There is no slow start, nor a window that recovery returns to.
        window.ssthresh = window.cwnd;
    }

    fn pacing(&self) -> Pacing {
        let small = self.window.filter(|window| *window < f64::from(self.mss));
        // Before the first sample the least RTT is 0.
        let rtt = (self.least_rtt.as_nanos() as f64 * 1e-9).max(1e-6);
        let rate = small.map(|window| whole(window / rtt).max(1));
        Pacing { rate, fine_window: self.window.map(whole), ..Pacing::UNPACED }
    }
}

impl Controller for LedbatUtp {
    const ABOUT: About = About {
        name: "ledbat_utp",
        variant_of: Some("ledbat"),
        summary: "aims at 100 ms of queuing delay, 3000 bytes per RTT at most, down to 10 bytes per RTT",
        reference: "libutp of May 2010, utp.cpp",
        parameters: &[
            Parameter::time(
                "target",
                Duration::from_millis(100),
                [Duration::from_millis(1), Duration::from_secs(10)],
                "1ms to 10s",
                "libutp, CCONTROL_TARGET",
                "queuing delay aimed at",
            ),
            Parameter::count(
                "max_increase",
                3000,
                [1, 1_000_000],
                "1 to 1000000",
                "libutp, MAX_CWND_INCREASE_BYTES_PER_RTT",
                "bytes by which the window grows per round trip without a queue",
            ),
            Parameter::number(
                "decay",
                0.78,
                [0.01, 0.99],
                "0.01 to 0.99",
                "libutp of May 2010; later versions have 0.5",
                "share of the window that is left after a loss",
            ),
            Parameter::time(
                "decay_interval",
                Duration::from_millis(100),
                [Duration::ZERO, Duration::from_secs(10)],
                "0s to 10s",
                "libutp, MAX_WINDOW_DECAY",
                "least time between two reductions of the window",
            ),
        ],
        constants: &[
            Constant { name: "CUR_DELAY_SIZE", value: "3 samples", source: "libutp" },
            Constant { name: "DELAY_BASE_HISTORY", value: "13 minutes", source: "libutp" },
            Constant { name: "MIN_WINDOW_SIZE", value: "10 bytes", source: "libutp" },
        ],
        needs: Needs::Timestamps,
        feedback: FeedbackTiming::EveryAck,
        ..About::PLAIN
    };

    fn set(&mut self, parameter: &str, value: Value) {
        match parameter {
            "target" => self.params.target = value.as_time(),
            "max_increase" => {
                self.params.max_increase = u32::try_from(value.as_count()).unwrap_or(u32::MAX);
            }
            "decay" => self.params.decay = value.as_number(),
            "decay_interval" => self.params.decay_interval = value.as_time(),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_packets_more_per_round_trip_without_delay_and_none_at_the_target() {
        // `MAX_CWND_INCREASE_BYTES_PER_RTT`, 3000, in proportion to the distance from the target.
        for (queuing, growth) in [(0.0, 3000.0), (50_000.0, 1500.0), (100_000.0, 0.0)] {
            let utp = LedbatUtp { queuing, ..LedbatUtp::default() };
            let window = (0..10).fold(14_000.0, |window, _| utp.steer(window, 1400.0, true));
            // The window grows meanwhile, so that later ACKs are a smaller share of it.
            assert!((window - 14_000.0 - growth).abs() < 300.0, "{window}");
        }
    }

    #[test]
    fn far_beyond_the_target_it_is_ten_bytes_per_round_trip() {
        let utp = LedbatUtp { queuing: 5e6, ..LedbatUtp::default() };
        let window = utp.steer(utp.steer(14_000.0, 1400.0, true), 1400.0, true);
        assert!((window - MIN_WINDOW).abs() < 1e-9);
        let least_rtt = Duration::from_millis(30);
        let utp = LedbatUtp { window: Some(window), mss: 1382, least_rtt, ..utp };
        // Ten bytes per 30 ms.
        assert_eq!(utp.pacing().rate, Some(333));
    }

    #[test]
    fn losses_within_100_ms_count_once() {
        let mut utp = LedbatUtp { window: Some(8000.0), ..LedbatUtp::default() };
        let mut lose = |at| {
            utp.on_congestion(&Congestion {
                now: Instant::ZERO + Duration::from_millis(at),
                signal: Signal::Loss,
                cwnd: 8000,
                in_flight: 8000,
                mss: 1000,
                whole: false,
            })
        };
        // libutp leaves 0.78 of the window: of 8000, then of 6240.
        assert_eq!([0, 99, 100].map(&mut lose), [6240, 6240, 4867]);
    }
}
