//! CUBIC (RFC 9438): the window is a cubic function of the time since the last congestion event.

use goodqueue::{Duration, Instant};

use crate::congestion::parameter::{Parameter, Value};
use crate::congestion::whole::whole;
use crate::congestion::{About, Ack, Congestion, CongestionControl, Constant, Controller, Signal};

/// The constants of the function, and what follows from them.
#[derive(Clone, Copy, Debug)]
struct Law {
    /// C in segments per second cubed (RFC 9438 §5).
    c: f64,
    /// β in thousandths (RFC 9438 §4.6).
    beta: u64,
    /// Factor of the window that gives `W_max` in fast convergence: (1 + β) / 2 (RFC 9438 §4.7).
    fast_convergence: f64,
    /// α of the Reno-friendly window: 3 · (1 − β) / (1 + β) (RFC 9438 §4.3).
    alpha: f64,
}

impl Law {
    fn new(c: f64, beta: f64) -> Self {
        let thousandths = whole(libm::round(beta * 1000.0));
        Self {
            c,
            beta: thousandths,
            fast_convergence: (1.0 + beta) / 2.0,
            alpha: bytes(3 * (1000 - thousandths)) / bytes(1000 + thousandths),
        }
    }
}

impl Default for Law {
    fn default() -> Self {
        Self::new(0.4, 0.7)
    }
}

/// The target is at most this multiple of the window (RFC 9438 §4.2).
const MAX_TARGET: f64 = 1.5;
/// Least slow-start threshold in segments (RFC 9438 §4.6).
const MIN_SSTHRESH: u64 = 2;

/// CUBIC congestion control. Windows are in bytes inside as well; the cube root is taken once per
/// epoch.
#[derive(Clone, Debug, Default)]
pub struct Cubic {
    law: Law,
    /// When the current congestion avoidance stage began, later by all the time in which the window
    /// was not used; `None` outside congestion avoidance.
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
    /// `W_cubic(t)` in bytes (RFC 9438 §4.2, equation 1), `t` seconds into the epoch.
    #[inline]
    fn window_at(&self, t: f64, mss: f64) -> f64 {
        let distance = t - self.k;
        self.law.c * mss * distance * distance * distance + self.w_max
    }

    /// Starts a congestion avoidance stage (RFC 9438 §4.2, equation 2; §4.8 and §4.10 where there
    /// is no plateau above the window).
    fn start_epoch(&mut self, now: Instant, cwnd: f64, mss: f64) -> Instant {
        if self.w_max > cwnd {
            self.k = libm::cbrt((self.w_max - cwnd) / mss / self.law.c);
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
    #[inline]
    fn on_ack(&mut self, ack: &mut Ack, cwnd: u64) -> u64 {
        let pause = ack.now.since(self.last_ack);
        self.last_ack = ack.now;
        if !ack.may_grow {
            // Time in which the application did not fill the window is not part of t (RFC 9438
            // §5.8).
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
        let alpha = if self.w_est < self.cwnd_prior { self.law.alpha } else { 1.0 };
        self.w_est += alpha * mss * share;
        let grown = if self.window_at(t, mss) < self.w_est {
            window.max(self.w_est)
        } else {
            // §4.4 and §4.5: towards where the function is one RTT from now.
            let target = self.window_at(t + seconds(ack.srtt), mss);
            window + (target.clamp(window, window * MAX_TARGET) - window) * share
        };
        let whole = whole(grown);
        self.fraction = grown - bytes(whole);
        whole
    }

    fn on_congestion(&mut self, event: &Congestion) -> u64 {
        let cwnd = bytes(event.cwnd);
        self.w_max = match event.signal {
            // §4.8: after a timeout the plateau is where congestion avoidance begins.
            Signal::Timeout => 0.0,
            // §4.7: a window that did not reach the last plateau makes room for others.
            Signal::Loss | Signal::Ecn if cwnd < self.w_max => cwnd * self.law.fast_convergence,
            Signal::Loss | Signal::Ecn => cwnd,
        };
        self.cwnd_prior = cwnd;
        self.epoch = None;
        // §4.6: the reduction starts from the bytes in flight, which are fewer than the window if
        // the application had little to send.
        let reduced = scaled(event.in_flight, self.law.beta);
        reduced.max(MIN_SSTHRESH * u64::from(event.mss))
    }

    fn on_idle(&mut self, now: Instant, _idle: Duration) {
        // The epoch moves on by the time since the last ACK; the pause begins anew from here.
        let pause = now.since(self.last_ack);
        self.epoch = self.epoch.map(|epoch| epoch + pause);
        self.last_ack = now;
    }
}

impl Controller for Cubic {
    const ABOUT: About = About {
        name: "cubic",
        summary: "a cubic function of the time since the last congestion event, 0.7 of the window on congestion",
        reference: "RFC 9438",
        parameters: &[
            Parameter::number(
                "c",
                0.4,
                [1e-6, 1e6],
                "0.000001 to 1000000",
                "RFC 9438 §5",
                "how fast the window grows, in segments per second cubed",
            ),
            Parameter::number(
                "beta",
                0.7,
                [0.001, 0.999],
                "0.001 to 0.999",
                "RFC 9438 §4.6",
                "share of the window that is left after congestion",
            ),
        ],
        constants: &[Constant {
            name: "alpha",
            value: "3 (1 - beta) / (1 + beta), 0.529 by default",
            source: "RFC 9438 §4.3",
        }],
        standard_slow_start: true,
        ..About::PLAIN
    };

    fn set(&mut self, parameter: &str, value: Value) {
        let beta = bytes(self.law.beta) / 1000.0;
        self.law = match parameter {
            "c" => Law::new(value.as_number(), beta),
            _ => Law::new(self.law.c, value.as_number()),
        };
    }
}

/// Returns `thousandths` of a window.
fn scaled(window: u64, thousandths: u64) -> u64 {
    u64::try_from(u128::from(window) * u128::from(thousandths) / 1000).unwrap_or(u64::MAX)
}

#[inline]
fn seconds(span: Duration) -> f64 {
    bytes(span.as_nanos()) * 1e-9
}

#[inline]
fn bytes(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests;
