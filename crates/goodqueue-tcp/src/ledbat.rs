//! LEDBAT (RFC 6817): a window that aims at a fixed queuing delay, as one-way delays tell it; and with libutp's constants.

use goodqueue::{Duration, Instant};

use crate::congestion::{Ack, Congestion, CongestionControl, Feedback, Signal, Window};
use crate::registry::{About, Constant, Needs};

/// One-way delays are in microseconds; TARGET (RFC 6817 §3.3).
const TARGET: f64 = 100_000.0;
/// How long each entry of the base history lasts (RFC 6817 §3.4.2).
const MINUTE: Duration = Duration::from_secs(60);
/// `BASE_HISTORY` of the RFC and of libutp.
const BASE_HISTORY: [usize; 2] = [10, 13];
/// Samples whose least is the current delay: `CURRENT_FILTER` (RFC 6817 §3.4.2, at least 1) and libutp's.
const CURRENT_FILTER: [usize; 2] = [4, 3];
/// Least window in segments (RFC 6817 §2.4.2 `MIN_CWND`).
const MIN_WINDOW: u64 = 2;
/// `ALLOWED_INCREASE` in segments (RFC 6817 §2.4.2).
const ALLOWED_INCREASE: u64 = 1;
/// libutp `MAX_CWND_INCREASE_BYTES_PER_RTT`.
const UTP_GAIN: f64 = 3000.0;
/// libutp: the window halves at most so often.
const UTP_DECAY_INTERVAL: Duration = Duration::from_millis(100);

/// LEDBAT; `UTP`: with libutp's constants.
#[derive(Clone, Debug, Default)]
pub struct Ledbat<const UTP: bool = false> {
    base: [Option<u32>; 13],
    minute: Option<Instant>,
    current: [Option<u32>; 4],
    next_sample: usize,
    /// Queuing delay now, in microseconds.
    queuing: f64,
    /// Growth of less than a byte.
    fraction: f64,
    pipe_before: u64,
    last_cut: Option<Instant>,
}

impl<const UTP: bool> Ledbat<UTP> {
    /// What it is.
    pub const ABOUT: About = if UTP {
        About {
            name: "ledbat_utp",
            summary: "aims at 100 ms of queuing delay, 3000 bytes per RTT at most",
            reference: "libutp utp_internal.cpp",
            constants: &[
                Constant { name: "CCONTROL_TARGET", value: "100 ms", source: "libutp" },
                Constant { name: "MAX_CWND_INCREASE_BYTES_PER_RTT", value: "3000 bytes", source: "libutp" },
                Constant { name: "CUR_DELAY_SIZE", value: "3 samples", source: "libutp" },
                Constant { name: "DELAY_BASE_HISTORY", value: "13 minutes", source: "libutp" },
            ],
            needs: Needs::Timestamps,
        }
    } else {
        About {
            name: "ledbat",
            summary: "aims at 100 ms of queuing delay, one segment per RTT at most",
            reference: "RFC 6817",
            constants: &[
                Constant { name: "TARGET", value: "100 ms", source: "RFC 6817 §3.3" },
                Constant { name: "GAIN", value: "1", source: "RFC 6817 §3.3" },
                Constant { name: "BASE_HISTORY", value: "10 minutes", source: "RFC 6817 §3.4.2" },
                Constant {
                    name: "CURRENT_FILTER",
                    value: "4 samples",
                    source: "RFC 6817 §3.4.2 (at least 1)",
                },
                Constant { name: "MIN_CWND", value: "2 segments", source: "RFC 6817 §2.4.2" },
            ],
            needs: Needs::Timestamps,
        }
    };

    fn take(&mut self, now: Instant, delay: u32) {
        let filter = CURRENT_FILTER[usize::from(UTP)];
        self.next_sample = (self.next_sample + 1) % filter;
        self.current[self.next_sample] = Some(delay);
        let begins = self.minute.is_none_or(|minute| now.since(minute) >= MINUTE);
        if begins {
            self.minute = Some(now);
            let history = BASE_HISTORY[usize::from(UTP)];
            self.base.copy_within(0..history - 1, 1);
            self.base[0] = Some(delay);
        } else {
            self.base[0] = least([self.base[0], Some(delay)].into_iter());
        }
        if let (Some(current), Some(base)) =
            (least(self.current.iter().copied()), least(self.base.iter().copied()))
        {
            self.queuing = f64::from(current.wrapping_sub(base).cast_signed().max(0));
        }
    }

    /// The window after `acked` bytes, in bytes.
    fn steer(&mut self, cwnd: u64, acked: u64, mss: u64) -> u64 {
        let off = ((TARGET - self.queuing) / TARGET).clamp(-1.0, 1.0);
        let window = (cwnd as f64).max(1.0);
        let share = (acked as f64 / window).min(1.0);
        let gain = if UTP { UTP_GAIN } else { mss as f64 };
        let wanted = window + self.fraction + gain * off * share;
        let least = (MIN_WINDOW * mss) as f64;
        // Not further than what was in flight allows (RFC 6817 §2.4.2).
        let allowed = (self.pipe_before.max(cwnd - mss.min(cwnd)) + (ALLOWED_INCREASE + 1) * mss) as f64;
        let wanted = wanted.min(allowed).max(least);
        let bytes = whole(wanted);
        self.fraction = wanted - bytes as f64;
        bytes
    }
}

impl<const UTP: bool> CongestionControl for Ledbat<UTP> {
    fn name(&self) -> &'static str {
        Self::ABOUT.name
    }

    fn on_ack(&mut self, ack: &mut Ack, cwnd: u64) -> u64 {
        // No slow start: RFC 6817 §2.4.2 does without; libutp's ends before it matters with a delay above the target.
        ack.ssthresh = ack.ssthresh.min(cwnd);
        let grown = self.steer(cwnd, ack.acked, u64::from(ack.mss));
        if ack.may_grow { grown } else { grown.min(cwnd) }
    }

    fn on_congestion(&mut self, event: &Congestion) -> u64 {
        let mss = u64::from(event.mss);
        if UTP && event.signal != Signal::Timeout {
            if self.last_cut.is_some_and(|last| event.now.since(last) < UTP_DECAY_INTERVAL) {
                return event.cwnd;
            }
            self.last_cut = Some(event.now);
        }
        self.fraction = 0.0;
        event.rounded(event.cwnd / 2).max(MIN_WINDOW * mss)
    }

    fn on_idle(&mut self, _now: Instant, _idle: Duration) {}

    fn wants_feedback(&self) -> bool {
        true
    }

    fn on_feedback(&mut self, feedback: &Feedback, _window: &mut Window) {
        self.pipe_before = feedback.pipe_before;
        if let Some(delay) = feedback.one_way_delay {
            self.take(feedback.now, delay);
        }
    }
}

/// The least of delays whose clock may have wrapped.
fn least(delays: impl Iterator<Item = Option<u32>>) -> Option<u32> {
    delays.flatten().reduce(|low, delay| if delay.wrapping_sub(low).cast_signed() < 0 { delay } else { low })
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates at 0 and u64::MAX"
)]
fn whole(value: f64) -> u64 {
    value as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Growth over one window of ten segments at this queuing delay, in segments.
    fn per_round<const UTP: bool>(queuing_ms: u32) -> f64 {
        let mut ledbat = Ledbat::<UTP>::default();
        ledbat.take(Instant::ZERO, 7000);
        for _ in 0..4 {
            ledbat.take(Instant::ZERO, 7000 + queuing_ms * 1000);
        }
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
            assert!((per_round::<false>(delay) - growth).abs() < 0.06, "{delay} ms");
        }
        assert!((per_round::<true>(0) - 3000.0 / 1460.0).abs() < 0.2);
    }

    #[test]
    fn the_base_is_the_least_of_ten_minutes_and_forgets_older_ones() {
        let mut ledbat = Ledbat::<false>::default();
        for minute in 0..10 {
            ledbat.take(Instant::ZERO + MINUTE.saturating_mul(minute), if minute == 0 { 1000 } else { 5000 });
        }
        assert!((ledbat.queuing - 4000.0).abs() < 1.0);
        ledbat.take(Instant::ZERO + MINUTE.saturating_mul(10), 5000);
        assert!(ledbat.queuing < 1.0);
    }

    #[test]
    fn a_clock_that_wraps_is_no_delay() {
        let mut ledbat = Ledbat::<false>::default();
        for delay in [u32::MAX - 10, 5, 5, 5, 5] {
            ledbat.take(Instant::ZERO, delay);
        }
        assert!((ledbat.queuing - 16.0).abs() < 0.1);
    }
}
