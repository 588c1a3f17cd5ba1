//! LEDBAT as TCP-LEDBAT has it, Silvio Valenti's module for Linux and ns-2: whole segments, whole
//! milliseconds, and a window of one segment at least.

use goodqueue::Duration;

use goodqueue_tcp::congestion::ledbat::Delays;
use goodqueue_tcp::congestion::parameter::{Parameter, Value};
use goodqueue_tcp::congestion::{
    About, Ack, Congestion, CongestionControl, Constant, Controller, Feedback, FeedbackTiming, Needs, Window,
};

/// `target`, in milliseconds.
const TARGET: u32 = 100;
/// Least threshold after a loss, in segments (`tcp_reno_ssthresh`).
const LEAST_THRESHOLD: u64 = 2;

/// The LEDBAT of TCP-LEDBAT, of draft-shalunov-ledbat-congestion-00. Each ACK counts by how far its
/// delay is from the target; a window's worth of targets is a segment more, less than nothing one
/// less.
#[derive(Clone, Debug)]
pub struct LedbatNs2 {
    /// Queuing delay aimed at, in milliseconds.
    target: u32,
    delays: Delays<10, 4>,
    /// Queuing delay now, in milliseconds; `None` before the first sample.
    queuing: Option<i64>,
    /// `snd_cwnd_cnt`, in segments times milliseconds.
    count: i64,
}

impl Default for LedbatNs2 {
    fn default() -> Self {
        Self { target: TARGET, delays: Delays::default(), queuing: None, count: 0 }
    }
}

impl LedbatNs2 {
    /// The window in segments after an ACK.
    fn steer(&mut self, window: u64) -> u64 {
        let Some(queuing) = self.queuing else { return window };
        // No window has 2^63 segments.
        let segments = i64::try_from(window).unwrap_or(i64::MAX);
        let target = i64::from(self.target);
        // tcp_ledbat.c never grows faster than TCP, even if the delay is below its base.
        let count = self.count + (target - queuing).min(target);
        if count >= segments.saturating_mul(target) {
            self.count = 0;
            window + 1
        } else if count >= 0 {
            self.count = count;
            window
        } else if window > 1 {
            // The count begins anew at one less than the new window, times the target.
            self.count = (segments - 2) * target;
            window - 1
        } else {
            // TCP-LEDBAT clears a counter of TCP here instead of its own, so this count stays.
            window
        }
    }
}

impl CongestionControl for LedbatNs2 {
    fn on_ack(&mut self, ack: &mut Ack, cwnd: u64) -> u64 {
        ack.ssthresh = ack.ssthresh.min(cwnd); // do_ss 0: no slow start
        // `Config::check` refuses an MSS of 0, but no division may depend on it.
        let mss = u64::from(ack.mss).max(1);
        if ack.may_grow { self.steer((cwnd / mss).max(1)) * mss } else { cwnd }
    }

    fn on_congestion(&mut self, event: &Congestion) -> u64 {
        let mss = u64::from(event.mss).max(1);
        (event.cwnd / mss / 2).max(LEAST_THRESHOLD) * mss
    }

    fn on_feedback(&mut self, feedback: &Feedback, _window: &mut Window) {
        if let Some(delay) = feedback.one_way_delay {
            self.queuing = Some(i64::from(self.delays.take(feedback.now, delay) / 1000));
        }
    }
}

impl Controller for LedbatNs2 {
    const ABOUT: About = About {
        name: "ledbat_ns2",
        variant_of: Some("ledbat"),
        summary: "aims at 100 ms of queuing delay, in whole segments and milliseconds, one segment at least",
        reference: "TCP-LEDBAT tcp_ledbat.c",
        parameters: &[Parameter::time(
            "target",
            Duration::from_millis(TARGET as u64),
            [Duration::from_millis(1), Duration::from_secs(10)],
            "1ms to 10s",
            "TCP-LEDBAT, module parameter",
            "queuing delay aimed at, in whole milliseconds",
        )],
        constants: &[
            Constant { name: "base_histo_len", value: "10 minutes", source: "TCP-LEDBAT" },
            Constant { name: "noise_filter_len", value: "4 samples", source: "TCP-LEDBAT" },
        ],
        needs: Needs::Timestamps,
        feedback: FeedbackTiming::EveryAck,
        ..About::PLAIN
    };

    fn set(&mut self, _parameter: &str, value: Value) {
        self.target = u32::try_from(value.as_time().as_nanos() / MILLISECOND).unwrap_or(u32::MAX);
    }
}

const MILLISECOND: u64 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn after(queuing: i64, acks: u32, mut window: u64) -> u64 {
        let mut ledbat = LedbatNs2 { queuing: Some(queuing), ..LedbatNs2::default() };
        for _ in 0..acks {
            window = ledbat.steer(window);
        }
        window
    }

    #[test]
    fn a_window_of_acks_without_delay_is_a_segment_more_and_at_the_target_nothing() {
        assert_eq!(after(0, 9, 10), 10);
        assert_eq!(after(0, 10, 10), 11);
        assert_eq!(after(50, 20, 10), 11);
        assert_eq!(after(100, 1000, 10), 10);
    }

    #[test]
    fn beyond_the_target_the_window_falls_to_one_segment() {
        // Each ACK takes 1100 from a count that begins at 800 at most, so each narrows the window.
        assert_eq!(after(1200, 1, 10), 9);
        assert_eq!(after(1200, 20, 10), 1);
    }
}
