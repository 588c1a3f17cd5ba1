//! CUBIC (RFC 9438): the window is a cubic function of the time since the last congestion event.

use goodqueue::{Duration, Instant};

use crate::congestion::{Ack, Congestion, CongestionControl, Signal};
use crate::registry::{About, Constant, Needs};

/// C in segments per second cubed (RFC 9438 §5).
const C: f64 = 0.4;
/// β as a fraction: 7/10 (RFC 9438 §4.6).
const BETA: (u64, u64) = (7, 10);
/// What fast convergence multiplies the window with to get `W_max`: (1 + β) / 2 (RFC 9438 §4.7).
const FAST_CONVERGENCE: f64 = 0.85;
/// α of the Reno-friendly window: 3 · (1 − β) / (1 + β) (RFC 9438 §4.3).
const ALPHA: f64 = 0.9 / 1.7;
/// The target is at most this multiple of the window (RFC 9438 §4.2).
const MAX_TARGET: f64 = 1.5;
/// Least slow-start threshold in segments (RFC 9438 §4.6).
const MIN_SSTHRESH: u64 = 2;

/// CUBIC congestion control. Windows are in bytes inside as well; the cube root is taken once per epoch.
#[derive(Clone, Debug, Default)]
pub struct Cubic {
    /// When the current congestion avoidance stage began, later by all the time in which the window was not used;
    /// `None` outside congestion avoidance.
    epoch: Option<Instant>,
    /// `W_max`: the plateau, in bytes. Zero: the window at which congestion avoidance begins.
    w_max: f64,
    /// Time from the start of the epoch to the plateau, in seconds.
    k: f64,
    /// Window of a Reno flow in the same place, in bytes.
    w_est: f64,
    /// The window before the last reduction, in bytes.
    cwnd_prior: f64,
    /// Growth of less than a byte, not yet in the window.
    fraction: f64,
    /// When the last ACK came.
    last_ack: Instant,
}

impl Cubic {
    /// What it is.
    pub const ABOUT: About = About {
        name: "cubic",
        summary: "a cubic function of the time since the last congestion event, 0.7 of the window on congestion",
        reference: "RFC 9438",
        constants: &[
            Constant { name: "C", value: "0.4 segments/s^3", source: "RFC 9438 §5" },
            Constant { name: "beta", value: "0.7", source: "RFC 9438 §4.6" },
            Constant { name: "alpha", value: "0.529", source: "RFC 9438 §4.3" },
        ],
        needs: Needs::Nothing,
    };

    /// `W_cubic(t)` in bytes (RFC 9438 §4.2, equation 1), `t` seconds into the epoch.
    #[inline]
    fn window_at(&self, t: f64, mss: f64) -> f64 {
        let distance = t - self.k;
        C * mss * distance * distance * distance + self.w_max
    }

    /// Starts a congestion avoidance stage (RFC 9438 §4.2, equation 2; §4.8 and §4.10 where there is no plateau
    /// above the window).
    fn start_epoch(&mut self, now: Instant, cwnd: f64, mss: f64) -> Instant {
        if self.w_max > cwnd {
            self.k = libm::cbrt((self.w_max - cwnd) / mss / C);
        } else {
            self.w_max = cwnd;
            self.k = 0.0;
        }
        self.w_est = cwnd;
        self.fraction = 0.0;
        self.epoch = Some(now);
        now
    }
}

impl CongestionControl for Cubic {
    fn name(&self) -> &'static str {
        Self::ABOUT.name
    }

    #[inline]
    fn on_ack(&mut self, ack: &mut Ack, cwnd: u64) -> u64 {
        let pause = ack.now.since(self.last_ack);
        self.last_ack = ack.now;
        if !ack.may_grow {
            // Time in which the application did not fill the window is not part of t (RFC 9438 §5.8).
            self.epoch = self.epoch.map(|epoch| epoch + pause);
            return cwnd;
        }
        if cwnd < ack.ssthresh {
            self.epoch = None;
            return ack.slow_start(cwnd);
        }
        let mss = f64::from(ack.mss);
        let epoch = match self.epoch {
            Some(epoch) => epoch,
            None => self.start_epoch(ack.now, bytes(cwnd), mss),
        };
        let t = seconds(ack.now.since(epoch));
        let window = bytes(cwnd) + self.fraction;
        let share = (bytes(ack.acked) / window).min(1.0);

        // §4.3: as fast as Reno from the former window on, slower below it.
        let alpha = if self.w_est < self.cwnd_prior { ALPHA } else { 1.0 };
        self.w_est += alpha * mss * share;
        let grown = if self.window_at(t, mss) < self.w_est {
            window.max(self.w_est)
        } else {
            // §4.4 and §4.5: towards where the function is one RTT from now.
            let target = self.window_at(t + seconds(ack.srtt), mss);
            window + (target.clamp(window, window * MAX_TARGET) - window) * share
        };
        let whole = whole_bytes(grown);
        self.fraction = grown - bytes(whole);
        whole
    }

    fn on_congestion(&mut self, event: &Congestion) -> u64 {
        let cwnd = bytes(event.cwnd);
        self.w_max = match event.signal {
            // §4.8: after a timeout the plateau is where congestion avoidance begins.
            Signal::Timeout => 0.0,
            // §4.7: a window that did not reach the last plateau makes room for others.
            Signal::Loss | Signal::Ecn if cwnd < self.w_max => cwnd * FAST_CONVERGENCE,
            Signal::Loss | Signal::Ecn => cwnd,
        };
        self.cwnd_prior = cwnd;
        self.epoch = None;
        let reduced = event.in_flight.saturating_mul(BETA.0) / BETA.1;
        reduced.max(MIN_SSTHRESH * u64::from(event.mss))
    }

    fn takes_standard_slow_start(&mut self) -> bool {
        true
    }

    fn on_idle(&mut self, now: Instant, _idle: Duration) {
        // The epoch moves on by the time since the last ACK; the pause begins anew from here.
        let pause = now.since(self.last_ack);
        self.epoch = self.epoch.map(|epoch| epoch + pause);
        self.last_ack = now;
    }
}

#[inline]
fn seconds(span: Duration) -> f64 {
    bytes(span.as_nanos()) * 1e-9
}

#[inline]
fn bytes(count: u64) -> f64 {
    count as f64
}

#[inline]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates at 0 and u64::MAX"
)]
fn whole_bytes(count: f64) -> u64 {
    count as u64
}

#[cfg(test)]
mod tests;
