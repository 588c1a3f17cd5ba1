//! LEDBAT (RFC 6817): a window that aims at a fixed queuing delay, as one-way delays tell it.

use goodqueue::{Duration, Instant};

use crate::congestion::parameter::{Parameter, Value};
use crate::congestion::whole::whole;
use crate::congestion::{
    About, Ack, Congestion, CongestionControl, Constant, Controller, Feedback, FeedbackTiming, Needs, Window,
};

/// How long each entry of the base history lasts (RFC 6817 §3.4.2).
const MINUTE: Duration = Duration::from_secs(60);
/// Least window in segments (RFC 6817 §2.4.2 `MIN_CWND`).
const MIN_WINDOW: u64 = 2;
/// `ALLOWED_INCREASE` in segments (RFC 6817 §2.4.2).
const ALLOWED_INCREASE: u64 = 1;

/// One-way delays: the least of each of the last `BASE` minutes, and the last `CURRENT` ones (RFC
/// 6817 §3.4.2).
#[derive(Clone, Debug)]
pub struct Delays<const BASE: usize, const CURRENT: usize> {
    base: [Option<u32>; BASE],
    minute: Option<Instant>,
    current: [Option<u32>; CURRENT],
    next_sample: usize,
}

impl<const BASE: usize, const CURRENT: usize> Default for Delays<BASE, CURRENT> {
    fn default() -> Self {
        Self { base: [None; BASE], minute: None, current: [None; CURRENT], next_sample: 0 }
    }
}

impl<const BASE: usize, const CURRENT: usize> Delays<BASE, CURRENT> {
    /// Takes a delay and tells the queuing delay now, the least of the last ones above the least of
    /// all, in microseconds.
    pub fn take(&mut self, now: Instant, delay: u32) -> u32 {
        self.next_sample = (self.next_sample + 1) % CURRENT;
        self.current[self.next_sample] = Some(delay);
        let begins = self.minute.is_none_or(|minute| now.since(minute) >= MINUTE);
        if begins {
            self.minute = Some(now);
            self.base.copy_within(0..BASE - 1, 1);
            self.base[0] = Some(delay);
        } else {
            self.base[0] = least([self.base[0], Some(delay)].into_iter());
        }
        let current = least(self.current.iter().copied());
        let base = least(self.base.iter().copied());
        let queuing = current.unwrap_or(delay).wrapping_sub(base.unwrap_or(delay)).cast_signed();
        queuing.max(0).cast_unsigned()
    }
}

/// What LEDBAT aims at, and how fast (RFC 6817 §3.3).
#[derive(Clone, Copy, PartialEq, Debug)]
struct Params {
    /// Queuing delay aimed at.
    target: Duration,
    /// Segments by which the window grows per round trip without a queue.
    gain: f64,
}

impl Default for Params {
    fn default() -> Self {
        Self { target: Duration::from_millis(100), gain: 1.0 }
    }
}

/// LEDBAT.
#[derive(Clone, Debug, Default)]
pub struct Ledbat {
    params: Params,
    delays: Delays<10, 4>,
    /// Queuing delay now, in microseconds.
    queuing: f64,
    /// Growth of less than a byte.
    fraction: f64,
    pipe_before: u64,
}

impl Ledbat {
    /// The window after `acked` bytes, in bytes.
    fn steer(&mut self, cwnd: u64, acked: u64, mss: u64) -> u64 {
        let target = self.params.target.as_nanos() as f64 / 1000.0;
        let off = ((target - self.queuing) / target).clamp(-1.0, 1.0) * self.params.gain;
        let window = (cwnd as f64).max(1.0);
        let share = (acked as f64 / window).min(1.0);
        let wanted = window + self.fraction + mss as f64 * off * share;
        let least = (MIN_WINDOW * mss) as f64;
        // Not further than what was in flight allows (RFC 6817 §2.4.2).
        let allowed = (self.pipe_before.max(cwnd - mss.min(cwnd)) + (ALLOWED_INCREASE + 1) * mss) as f64;
        let wanted = wanted.min(allowed).max(least);
        let bytes = whole(wanted);
        self.fraction = wanted - bytes as f64;
        bytes
    }
}

impl CongestionControl for Ledbat {
    fn on_ack(&mut self, ack: &mut Ack, cwnd: u64) -> u64 {
        // No slow start: RFC 6817 §2.4.2 does without.
        ack.ssthresh = ack.ssthresh.min(cwnd);
        let grown = self.steer(cwnd, ack.acked, u64::from(ack.mss));
        if ack.may_grow { grown } else { grown.min(cwnd) }
    }

    fn on_congestion(&mut self, event: &Congestion) -> u64 {
        self.fraction = 0.0;
        event.rounded(event.cwnd / 2).max(MIN_WINDOW * u64::from(event.mss))
    }

    fn on_feedback(&mut self, feedback: &Feedback, _window: &mut Window) {
        self.pipe_before = feedback.pipe_before;
        if let Some(delay) = feedback.one_way_delay {
            self.queuing = f64::from(self.delays.take(feedback.now, delay));
        }
    }
}

impl Controller for Ledbat {
    const ABOUT: About = About {
        name: "ledbat",
        summary: "aims at 100 ms of queuing delay, one segment per RTT at most",
        reference: "RFC 6817",
        parameters: &[
            Parameter::time(
                "target",
                Duration::from_millis(100),
                [Duration::from_nanos(1), Duration::from_secs(10)],
                "above 0s, at most 10s",
                "RFC 6817 §3.3, which allows 100 ms at most",
                "queuing delay aimed at",
            ),
            Parameter::number(
                "gain",
                1.0,
                [f64::MIN_POSITIVE, 1000.0],
                "above 0, at most 1000",
                "RFC 6817 §3.3, which allows 1 at most",
                "segments by which the window grows per round trip without a queue",
            ),
        ],
        constants: &[
            Constant { name: "BASE_HISTORY", value: "10 minutes", source: "RFC 6817 §3.4.2" },
            Constant { name: "CURRENT_FILTER", value: "4 samples", source: "RFC 6817 §3.4.2 (at least 1)" },
            Constant { name: "MIN_CWND", value: "2 segments", source: "RFC 6817 §2.4.2" },
        ],
        needs: Needs::Timestamps,
        feedback: FeedbackTiming::EveryAck,
        ..About::PLAIN
    };

    fn set(&mut self, parameter: &str, value: Value) {
        match parameter {
            "target" => self.params.target = value.as_time(),
            _ => self.params.gain = value.as_number(),
        }
    }
}

/// The least of delays whose clock may have wrapped.
fn least(delays: impl Iterator<Item = Option<u32>>) -> Option<u32> {
    delays.flatten().reduce(|low, delay| if delay.wrapping_sub(low).cast_signed() < 0 { delay } else { low })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Growth over one window of ten segments at this queuing delay, in segments.
    fn per_round(queuing_ms: u32) -> f64 {
        let mut ledbat = Ledbat { queuing: f64::from(queuing_ms) * 1000.0, ..Ledbat::default() };
        let mut cwnd = 14_600;
        for _ in 0..10 {
            ledbat.pipe_before = cwnd;
            cwnd = ledbat.steer(cwnd, 1460, 1460);
        }
        (cwnd as f64 - 14_600.0) / 1460.0
    }

    #[test]
    fn the_growth_per_round_follows_the_distance_from_the_target() {
        for (delay, growth) in [(0, 1.0), (50, 0.5), (100, 0.0), (200, -1.0)] {
            assert!((per_round(delay) - growth).abs() < 0.06, "{delay} ms");
        }
    }

    #[test]
    fn the_delay_is_the_least_of_the_last_four_samples() {
        let mut delays = Delays::<10, 4>::default();
        let told = [7000, 9000, 9000, 9000, 8000].map(|delay| delays.take(Instant::ZERO, delay));
        assert_eq!(told, [0, 0, 0, 0, 1000]);
    }

    #[test]
    fn the_base_is_the_least_of_ten_minutes_and_forgets_older_ones() {
        let mut delays = Delays::<10, 1>::default();
        for minute in 0..10 {
            let now = Instant::ZERO + MINUTE.saturating_mul(minute);
            let queuing = delays.take(now, if minute == 0 { 1000 } else { 5000 });
            assert_eq!(queuing, if minute == 0 { 0 } else { 4000 });
        }
        assert_eq!(delays.take(Instant::ZERO + MINUTE.saturating_mul(10), 5000), 0);
    }

    #[test]
    fn another_target_and_gain_hold_another_queue() {
        let mut eager = Ledbat::default();
        eager.set("target", Value::Time(Duration::from_millis(5)));
        eager.set("gain", Value::Number(10.0));
        eager.pipe_before = 146_000;
        assert_eq!(eager.steer(14_600, 14_600, 1460), 14_600 + 10 * 1460, "no queue: ten segments a round");
        eager.queuing = 5_000.0;
        assert_eq!(eager.steer(29_200, 29_200, 1460), 29_200, "at the target it stays");
        eager.queuing = 10_000.0;
        assert_eq!(eager.steer(29_200, 29_200, 1460), 29_200 - 10 * 1460);
    }

    #[test]
    fn a_clock_that_wraps_is_no_delay() {
        let mut delays = Delays::<10, 4>::default();
        let told = [u32::MAX - 10, 5, 5, 5, 5].map(|delay| delays.take(Instant::ZERO, delay));
        assert_eq!(told.last(), Some(&16)); // from 2^32 - 11 to 5
    }
}
