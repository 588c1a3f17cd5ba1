//! LEDBAT as libutp has it, the transport of BitTorrent clients: three kilobytes per round trip at most, and a window that may
//! be less than a packet.

use goodqueue::{Duration, Instant};

use crate::congestion::{Ack, Congestion, CongestionControl, Feedback, Signal, Window};
use crate::ledbat::{Delays, TARGET, whole};
use crate::registry::{About, Constant, Needs};

/// `MAX_CWND_INCREASE_BYTES_PER_RTT`.
const GAIN: f64 = 3000.0;
/// A loss leaves so much of the window: libutp of May 2010; half since July of that year.
const DECAY: f64 = 0.78;
/// `MAX_WINDOW_DECAY`: it does so at most this often.
const DECAY_INTERVAL: Duration = Duration::from_millis(100);
/// `MIN_WINDOW_SIZE`, in bytes.
const MIN_WINDOW: f64 = 10.0;

/// `send_quota` holds so many packets, or half a window.
const SAVED_PACKETS: f64 = 5.0;
/// Round-trip time for `send_quota` before the first sample.
const UNKNOWN_RTT: Duration = Duration::from_millis(50);

/// The congestion control of libutp. A window of less than a packet is a rate, of so many bytes in the least round-trip time.
/// What it brings is saved up, also by larger windows, which do not spend it: after one that was larger, five packets
/// leave at once, each after the acknowledgement of the last.
#[derive(Clone, Debug, Default)]
pub struct LedbatUtp {
    delays: Delays<13, 3>,
    /// Queuing delay now, in microseconds.
    queuing: f64,
    /// The window in bytes; `None` before the first ACK.
    window: Option<f64>,
    mss: u32,
    least_rtt: Duration,
    last_cut: Option<Instant>,
    /// `send_quota`: bytes that may leave while the window is less than a packet; when it was last filled.
    quota: f64,
    filled: Instant,
}

impl LedbatUtp {
    /// What it is.
    pub const ABOUT: About = About {
        name: "ledbat_utp",
        summary: "aims at 100 ms of queuing delay, 3000 bytes per RTT at most, down to 10 bytes per RTT",
        reference: "libutp of May 2010, utp.cpp",
        constants: &[
            Constant { name: "CCONTROL_TARGET", value: "100 ms", source: "libutp" },
            Constant { name: "MAX_CWND_INCREASE_BYTES_PER_RTT", value: "3000 bytes", source: "libutp" },
            Constant { name: "CUR_DELAY_SIZE", value: "3 samples", source: "libutp" },
            Constant { name: "DELAY_BASE_HISTORY", value: "13 minutes", source: "libutp" },
            Constant { name: "MAX_WINDOW_DECAY", value: "100 ms", source: "libutp" },
            Constant { name: "decay", value: "0.78", source: "libutp of May 2010" },
            Constant { name: "MIN_WINDOW_SIZE", value: "10 bytes", source: "libutp" },
        ],
        needs: Needs::Timestamps,
    };

    /// The window in bytes after `acked` ones, with `pipe` of them and others in flight before. The further the delay is
    /// beyond the target the faster down, without bound.
    fn steer(&self, window: f64, acked: f64, was_full: bool) -> f64 {
        let share = acked.min(window) / acked.max(window).max(1.0);
        let gain = GAIN * share * (TARGET - self.queuing) / TARGET;
        if gain < 0.0 || was_full { (window + gain).max(MIN_WINDOW) } else { window }
    }

    /// Nanoseconds in which the quota grows by a window.
    fn refill(&self) -> f64 {
        let rtt = if self.least_rtt == Duration::ZERO { UNKNOWN_RTT } else { self.least_rtt };
        rtt.as_nanos() as f64
    }

    /// Saves what `window` brings until now.
    fn save(&mut self, now: Instant, window: f64) {
        let limit = (window / 2.0).max(SAVED_PACKETS * f64::from(self.mss));
        let passed = now.since(self.filled).as_nanos() as f64;
        self.quota = (self.quota + window * passed / self.refill()).min(limit);
        self.filled = now;
    }
}

impl CongestionControl for LedbatUtp {
    fn name(&self) -> &'static str {
        Self::ABOUT.name
    }

    fn on_ack(&mut self, _ack: &mut Ack, cwnd: u64) -> u64 {
        cwnd // all is done with the feedback, which comes in recovery too
    }

    fn on_congestion(&mut self, event: &Congestion) -> u64 {
        let mss = f64::from(event.mss);
        let window = self.window.unwrap_or(event.cwnd as f64);
        let window = if event.signal == Signal::Timeout {
            self.quota = self.quota.max(mss);
            mss
        } else if self.last_cut.is_some_and(|last| event.now.since(last) < DECAY_INTERVAL) {
            window
        } else {
            self.last_cut = Some(event.now);
            (window * DECAY).max(MIN_WINDOW)
        };
        self.window = Some(window);
        whole(window.max(mss))
    }

    fn on_idle(&mut self, _now: Instant, _idle: Duration) {}

    fn wants_feedback(&self) -> bool {
        true
    }

    fn on_feedback(&mut self, feedback: &Feedback, window: &mut Window) {
        self.mss = feedback.mss;
        self.save(feedback.now, self.window.unwrap_or(window.cwnd as f64));
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
            let was_full = feedback.pipe_before as f64 + mss > now;
            now = self.steer(now, feedback.delivered as f64, was_full);
        }
        self.window = Some(now);
        window.cwnd = whole(now.max(mss));
        // There is no slow start, nor a window that recovery returns to.
        window.ssthresh = window.cwnd;
    }

    fn pacing_rate(&self) -> Option<u64> {
        let window = self.window.filter(|window| *window < f64::from(self.mss))?;
        let rtt = (self.least_rtt.as_nanos() as f64 * 1e-9).max(1e-6);
        Some(whole(window / rtt).max(1))
    }

    fn departure_after(&mut self, now: Instant, len: u64, is_new: bool) -> Option<Instant> {
        let window = self.window?;
        self.save(now, window);
        let mss = f64::from(self.mss);
        if is_new && window < mss {
            self.quota -= len as f64;
        }
        let wait = (mss - self.quota).max(0.0) / window * self.refill();
        Some(now + Duration::from_nanos(whole(wait)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_packets_more_per_round_trip_without_delay_and_none_at_the_target() {
        for (queuing, growth) in [(0.0, 3000.0), (50_000.0, 1500.0), (100_000.0, 0.0)] {
            let utp = LedbatUtp { queuing, ..LedbatUtp::default() };
            let window = (0..10).fold(14_000.0, |window, _| utp.steer(window, 1400.0, true));
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
        assert_eq!(utp.pacing_rate(), Some(333));
    }

    #[test]
    fn what_a_larger_window_saved_lets_five_packets_out_before_the_rate_holds_them() {
        let least_rtt = Duration::from_millis(50);
        let mut utp = LedbatUtp { window: Some(5000.0), mss: 1000, least_rtt, ..LedbatUtp::default() };
        let now = Instant::ZERO + Duration::from_secs(1);
        assert_eq!(utp.departure_after(now, 1000, true), Some(now), "a larger window spends nothing");
        utp.window = Some(100.0);
        let sent = (1..).find(|_| utp.departure_after(now, 1000, true) != Some(now));
        assert_eq!(sent, Some(5));
        // The next one when the quota is full again, at 100 bytes in 50 ms, or earlier if the window has grown.
        assert_eq!(utp.departure_after(now, 0, false), Some(now + Duration::from_millis(500)));
        utp.window = Some(500.0);
        assert_eq!(utp.departure_after(now, 0, false), Some(now + Duration::from_millis(100)));
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
        assert_eq!([0, 99, 100].map(&mut lose), [6240, 6240, 4867]);
    }
}
