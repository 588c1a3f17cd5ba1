//! TCP-LP (Kuzmanovic & Knightly 2003) as Linux has it: Reno that backs off when one-way delays
//! rise.
//!
//! The article's authors and others have measured with Linux's version since. It differs from the
//! article in the measurement of delays. Linux estimates the rate of the other host's clock from
//! the timestamps of successive ACKs. The estimate is a whole number that falls easily and rarely
//! rises. Above 1000 ticks per second, integer division turns the other clock's scale into 0, and
//! the delay becomes a number near 2^32 that falls with time. TCP-LP then behaves as Reno for long
//! times, and backs off without reason at other times. How often depends on the clock at the start:
//! 0 in today's Linux, five minutes before its overflow in Linux 3.x. This file keeps that
//! behaviour with its 32-bit arithmetic.
//!
//! On a 64-bit machine ns-2 runs the same code with 64-bit arithmetic. The wrong delay then grows
//! with time, and TCP-LP backs off much more often. The parameter `word` selects the width.

use goodqueue::Instant;

use crate::clock::timestamp;
use crate::congestion::parameter::{Parameter, Value};
use crate::congestion::reno::Reno;
use crate::congestion::{
    About, Ack, Congestion, CongestionControl, Constant, Controller, Feedback, FeedbackTiming, Needs, Window,
};

/// Ticks of the timestamps clock per second (`TCP_TS_HZ`), and units of delay per second
/// (`LP_RESOL`).
const HZ: u64 = 1000;

/// TCP Low Priority. Delays are in milliseconds, as in Linux.
#[derive(Clone, Debug)]
pub struct TcpLp {
    reno: Reno,
    /// δ: share of the way from the least to the greatest delay beyond which congestion is near, in
    /// hundredths.
    delta: u64,
    /// Length of the inference phase in round trips.
    inference_rounds: u32,
    /// The bits of a delay that are kept: 32 in Linux, 64 in ns-2 on a 64-bit machine.
    mask: u64,
    /// Estimate of the other host's ticks per second; 0: none.
    remote_hz: u64,
    /// Timestamps of the previous ACK: the other host's and our own.
    reference: Option<(u64, u64)>,
    /// Smoothed one-way delay, times eight.
    smoothed: u64,
    /// Least one-way delay.
    least: u64,
    /// Greatest one-way delay that counts.
    most: u64,
    /// Greatest one-way delay. It counts when a greater one follows.
    reserve: u64,
    /// Length of the inference phase in ticks.
    inference: u32,
    /// Tick of the last early indication of congestion.
    last_drop: Option<u32>,
    /// True in the inference phase, in which the window does not grow.
    infers: bool,
}

impl Default for TcpLp {
    fn default() -> Self {
        Self {
            reno: Reno::default(),
            delta: 15,
            inference_rounds: 3,
            mask: u64::from(u32::MAX),
            remote_hz: 0,
            reference: None,
            smoothed: 0,
            least: u64::from(u32::MAX),
            most: 0,
            reserve: 0,
            inference: 0,
            last_drop: None,
            infers: false,
        }
    }
}

impl TcpLp {
    /// Updates the estimate of the other host's clock after an ACK with these timestamps. The old
    /// estimate has a weight of 63/64, and the result is rounded down.
    fn estimate_clock(&mut self, theirs: u64, ours: u64) {
        if let Some((their_last, our_last)) = self.reference
            // Within one tick of either clock there is no rate to measure.
            && theirs != their_last
            && ours != our_last
        {
            let [they, we] = [theirs.wrapping_sub(their_last), ours.wrapping_sub(our_last)];
            let rate = (HZ.wrapping_mul(they) & self.mask) / (we & self.mask);
            let rate = rate.cast_signed().wrapping_abs();
            let old = self.remote_hz.cast_signed();
            let scaled = if old > 0 { (old << 6).wrapping_add(rate).wrapping_sub(old) } else { rate << 6 };
            self.remote_hz = (scaled >> 6).cast_unsigned() & self.mask;
        }
        self.reference = Some((theirs, ours));
    }

    /// Returns the one-way delay that follows from these timestamps; 0: none.
    fn delay(&self, theirs: u64, ours: u64) -> u64 {
        let Some(scale) = HZ.checked_div(self.remote_hz) else { return 0 };
        let delay = theirs.wrapping_mul(scale).wrapping_sub(ours) & self.mask;
        // Linux stores it as a signed 64-bit number and negates a negative one.
        delay.cast_signed().unsigned_abs()
    }

    fn sample(&mut self, delay: u64) {
        self.least = self.least.min(delay);
        if delay > self.most {
            if delay > self.reserve {
                self.most = if self.reserve == 0 { delay } else { self.reserve };
                self.reserve = delay;
            } else {
                self.most = delay;
            }
        }
        let smoothed = if self.smoothed == 0 {
            delay << 3
        } else {
            self.smoothed.wrapping_add(delay.wrapping_sub(self.smoothed >> 3))
        };
        self.smoothed = smoothed & self.mask;
    }

    fn is_near(&self) -> bool {
        let part = (self.delta.wrapping_mul(self.most.wrapping_sub(self.least)) & self.mask) / 100;
        self.smoothed >> 3 >= self.least.wrapping_add(part) & self.mask
    }
}

/// Returns the timestamps clock in milliseconds at the time of `stamp`, at most 71 minutes before
/// `now`. `start_ms`: the clock at time 0.
#[expect(clippy::cast_possible_truncation, reason = "both clocks wrap")]
const fn ticks(now: Instant, stamp: u32, start_ms: u32) -> u32 {
    let micros = now.as_nanos() / 1000;
    let age = (micros as u32).wrapping_sub(stamp) as u64;
    ((micros.saturating_sub(age) / 1000) as u32).wrapping_add(start_ms)
}

impl CongestionControl for TcpLp {
    fn on_ack(&mut self, ack: &mut Ack, cwnd: u64) -> u64 {
        if self.infers { cwnd } else { self.reno.on_ack(ack, cwnd) }
    }

    fn on_congestion(&mut self, event: &Congestion) -> u64 {
        self.reno.on_congestion(event)
    }

    fn on_feedback(&mut self, feedback: &Feedback, window: &mut Window) {
        let Some((theirs, ours)) = feedback.stamps else { return };
        let ticks = |stamp| ticks(feedback.now, stamp, feedback.clock_start_ms);
        let [theirs, ours] = [theirs, ours].map(ticks);
        let now = ticks(timestamp(feedback.now));
        // Linux takes a delay only from an ACK that gives an RTT.
        if feedback.rtt.is_some() {
            let [theirs, ours] = [theirs, ours].map(u64::from);
            self.estimate_clock(theirs, ours);
            let delay = self.delay(theirs, ours);
            if delay > 0 {
                self.sample(delay);
            }
        }
        let round_trip = now.wrapping_sub(ours);
        // Positive as a signed number of 32 bits, as Linux 6.1 compares it.
        if round_trip > 0 && round_trip < u32::MAX / 2 {
            self.inference = round_trip.saturating_mul(self.inference_rounds);
        }
        self.infers = self.last_drop.is_some_and(|last| now.wrapping_sub(last) < self.inference);
        if !self.is_near() {
            return;
        }
        // The delay of now is the new measure.
        self.least = self.smoothed >> 3;
        // The smoothed delay is stored times eight, so this is twice the delay (Linux
        // `tcp_lp_pkts_acked()`).
        self.most = self.smoothed >> 2;
        self.reserve = self.smoothed >> 2;
        let mss = u64::from(feedback.mss).max(1);
        // A second sign within the inference phase leaves one segment.
        let segments = if self.infers { 1 } else { (window.cwnd / mss / 2).max(1) };
        window.cwnd = segments * mss;
        self.last_drop = Some(now);
    }
}

impl Controller for TcpLp {
    const ABOUT: About = About {
        name: "tcp_lp",
        summary: "Reno that halves when the one-way delay rises, and then waits",
        reference: "Kuzmanovic & Knightly, INFOCOM 2003; Linux 6.1 tcp_lp",
        parameters: &[
            Parameter::count(
                "delta",
                15,
                [0, 100],
                "0 to 100",
                "INFOCOM 2003",
                "per cent of the way from the least to the greatest delay beyond which congestion is near",
            ),
            Parameter::count(
                "inference",
                3,
                [0, 1000],
                "0 to 1000",
                "Linux 6.1 tcp_lp",
                "round trips for which an early sign of congestion is remembered",
            ),
            Parameter::count(
                "word",
                32,
                [32, 64],
                "32 to 64",
                "Linux 6.1 tcp_lp",
                "width of the delay arithmetic in bits; 64 as in ns-2 on a 64-bit machine",
            ),
        ],
        constants: &[Constant { name: "gamma", value: "1/8", source: "INFOCOM 2003" }],
        needs: Needs::Timestamps,
        feedback: FeedbackTiming::EveryAckFirst,
        ..About::PLAIN
    };

    fn set(&mut self, parameter: &str, value: Value) {
        let value = value.as_count();
        match parameter {
            "delta" => self.delta = value,
            "word" => self.mask = u64::MAX >> 64_u64.saturating_sub(value).min(63),
            _ => self.inference_rounds = u32::try_from(value).unwrap_or(u32::MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn from_10_to_30_ms_the_threshold_is_13() {
        // 15 % of the way. The smoothed delay is in eighths.
        let mut lp = TcpLp { least: 10, most: 30, ..TcpLp::default() };
        lp.smoothed = 13 * 8 - 1;
        assert!(!lp.is_near());
        lp.smoothed = 13 * 8;
        assert!(lp.is_near(), "Linux takes the threshold itself for near, so the first delay of all is");
    }

    #[test]
    fn the_estimate_of_the_other_clock_falls_by_one_and_rises_by_no_less_than_64_at_once() {
        let mut lp = TcpLp { remote_hz: 1000, reference: Some((0, 0)), ..TcpLp::default() };
        lp.estimate_clock(1000, 1001);
        assert_eq!(lp.remote_hz, 999);
        lp.estimate_clock(2030, 2001); // 1030 per second
        assert_eq!(lp.remote_hz, 999);
    }

    #[test]
    fn a_clock_taken_for_fast_counts_for_nothing() {
        let lp = TcpLp { remote_hz: 1001, ..TcpLp::default() };
        // 1000 / 1001 is 0, so nothing is left of the other clock.
        assert_eq!(lp.delay(5025, 5000), (1 << 32) - 5000);
        let lp = TcpLp { remote_hz: 1000, ..TcpLp::default() };
        assert_eq!(lp.delay(5025, 5000), 25);
    }

    /// 2^32 ms less five minutes is small enough for a threshold that a queue can reach.
    #[test]
    fn a_clock_taken_for_fast_shows_five_minutes_just_after_the_start_of_linux_3() {
        let ours = ticks(Instant::from_nanos(7_000_000), 5_000, u32::MAX - 300_000 + 1);
        let lp = TcpLp { remote_hz: 1001, ..TcpLp::default() };
        assert_eq!(lp.delay(u64::from(ours) + 25, u64::from(ours)), 300_000 - 5);
    }

    #[test]
    fn with_64_bits_the_delay_of_a_clock_taken_for_fast_grows_with_time() {
        let mut lp = TcpLp { remote_hz: 1001, ..TcpLp::default() };
        lp.set("word", Value::Count(64));
        assert_eq!([lp.delay(5025, 5000), lp.delay(6025, 6000)], [5000, 6000]);
    }
}
