//! Compound TCP (Tan, Song, Zhang & Sridharan 2006): Reno's window, and a delay-based window on top
//! of it while the queue is short.

use goodqueue::{Duration, Instant};

use crate::congestion::parameter::{Parameter, Value};
use crate::congestion::vegas::Rounds;
use crate::congestion::whole::whole;
use crate::congestion::{
    About, Ack, Congestion, CongestionControl, Controller, Feedback, FeedbackTiming, Signal, Window,
};

/// Parameters of the delay-based window (dwnd).
#[derive(Clone, Copy, PartialEq, Debug)]
struct Params {
    /// Factor α: dwnd grows by α · win^k − 1 segments per round.
    alpha: f64,
    /// Exponent k of the same formula.
    k: f64,
    /// Share of the window that a loss removes.
    beta: f64,
    /// Segments in the queue at which dwnd begins to shrink.
    gamma: f64,
    /// Segments by which dwnd shrinks per segment in the queue.
    zeta: f64,
    /// Window in segments below which dwnd does not grow (draft-sridharan-tcpm-ctcp-02).
    low_window: f64,
}

impl Default for Params {
    fn default() -> Self {
        Self { alpha: 0.125, k: 0.75, beta: 0.5, gamma: 30.0, zeta: 1.0, low_window: 41.0 }
    }
}

/// Source of the defaults.
const PAPER: &str = "INFOCOM 2006";
/// RTT samples that a round needs, as in Vegas: fewer are probably all from delayed ACKs.
const MIN_SAMPLES: u32 = 3;

/// Compound TCP. It computes windows in segments.
#[derive(Clone, Debug, Default)]
pub struct Compound {
    rounds: Rounds,
    params: Params,
    /// Delay-based window (dwnd) in segments.
    delay_window: f64,
    /// Growth below one byte that is not in the window yet.
    fraction: f64,
}

impl Compound {
    /// Returns the change of the delay-based window after a round with `queued` segments in the
    /// queue.
    fn change(&self, window: f64, queued: f64) -> f64 {
        if queued < self.params.gamma {
            // One segment less, because the loss-based window grows by one itself (INFOCOM 2006).
            (self.params.alpha * libm::pow(window, self.params.k) - 1.0).max(0.0)
        } else {
            (self.delay_window - self.params.zeta * queued).max(0.0) - self.delay_window
        }
    }
}

impl CongestionControl for Compound {
    fn on_ack(&mut self, ack: &mut Ack, cwnd: u64) -> u64 {
        if !ack.may_grow {
            return cwnd;
        }
        if cwnd < ack.ssthresh {
            return ack.slow_start(cwnd);
        }
        let mss = f64::from(ack.mss);
        let window = cwnd as f64 / mss;
        let mut grown = cwnd as f64 + self.fraction + mss * (ack.acked as f64 / cwnd as f64).min(1.0);
        if self.rounds.is_over() {
            let queued = match (self.rounds.base, self.rounds.least) {
                (Some(base), Some(least)) if self.rounds.samples >= MIN_SAMPLES && !least.is_zero() => {
                    Some(window * (1.0 - base.as_nanos() as f64 / least.as_nanos() as f64))
                }
                _ => None,
            };
            if let Some(queued) =
                queued.filter(|_| window >= self.params.low_window || self.delay_window > 0.0)
            {
                let change = self.change(window, queued);
                self.delay_window += change;
                grown += change * mss;
            }
            self.rounds.begin();
        }
        let bytes = whole(grown);
        self.fraction = grown - bytes as f64;
        bytes.max(2 * u64::from(ack.mss))
    }

    fn on_congestion(&mut self, event: &Congestion) -> u64 {
        let mss = f64::from(event.mss);
        let window = event.cwnd as f64 / mss;
        let reno = (window - self.delay_window).max(0.0);
        self.fraction = 0.0;
        self.delay_window = match event.signal {
            Signal::Timeout => 0.0,
            // The loss-based window halves. The delay-based one makes up the rest of the window's
            // share that stays.
            Signal::Loss | Signal::Ecn => (window * (1.0 - self.params.beta) - reno / 2.0).max(0.0),
        };
        event.rounded(whole((reno / 2.0 + self.delay_window) * mss)).max(2 * u64::from(event.mss))
    }

    fn on_idle(&mut self, _now: Instant, _idle: Duration) {
        self.rounds.begin();
    }

    fn on_feedback(&mut self, feedback: &Feedback, _window: &mut Window) {
        self.rounds.take(feedback);
    }
}

impl Controller for Compound {
    const ABOUT: About = About {
        name: "compound",
        summary: "Reno, and a window on top that grows fast while the queue is short",
        reference: "Tan, Song, Zhang & Sridharan, INFOCOM 2006; draft-sridharan-tcpm-ctcp-02",
        parameters: &[
            Parameter::number(
                "alpha",
                0.125,
                [0.0, 10.0],
                "0 to 10",
                PAPER,
                "growth is alpha * window^k - 1 segments",
            ),
            Parameter::number(
                "k",
                0.75,
                [0.0, 1.0],
                "0 to 1",
                PAPER,
                "growth is alpha * window^k - 1 segments",
            ),
            Parameter::number("beta", 0.5, [0.0, 1.0], "0 to 1", PAPER, "share of the window lost to a loss"),
            Parameter::number(
                "gamma",
                30.0,
                [0.0, 1e6],
                "0 to 1000000",
                PAPER,
                "segments in the queue at which it shrinks",
            ),
            Parameter::number(
                "zeta",
                1.0,
                [0.0, 1e3],
                "0 to 1000",
                PAPER,
                "how fast it shrinks per segment in the queue",
            ),
            Parameter::number(
                "low_window",
                41.0,
                [0.0, 1e6],
                "0 to 1000000",
                "draft-sridharan-tcpm-ctcp-02",
                "window in segments below which it is Reno",
            ),
        ],
        feedback: FeedbackTiming::EveryAck,
        ..About::PLAIN
    };

    fn set(&mut self, parameter: &str, value: Value) {
        let value = value.as_number();
        match parameter {
            "alpha" => self.params.alpha = value,
            "k" => self.params.k = value,
            "beta" => self.params.beta = value,
            "gamma" => self.params.gamma = value,
            "zeta" => self.params.zeta = value,
            _ => self.params.low_window = value,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_queue_lets_the_delay_window_grow_by_the_power_law() {
        let compound = Compound::default();
        // The window to the power of 3/4, an eighth of it, less one; and nothing where that is
        // negative.
        assert!((compound.change(100.0, 0.0) - 2.953).abs() < 0.001);
        assert!((compound.change(10_000.0, 0.0) - 124.0).abs() < 0.001);
        assert!(compound.change(10.0, 0.0).abs() < f64::EPSILON);
    }

    #[test]
    fn a_long_queue_takes_the_delay_window_away() {
        let compound = Compound { delay_window: 50.0, ..Compound::default() };
        // What is queued, as ζ is 1, and at most the delay window.
        assert!((compound.change(200.0, 35.0) + 35.0).abs() < 0.001);
        assert!((compound.change(200.0, 60.0) + 50.0).abs() < 0.001);
    }

    #[test]
    fn a_loss_leaves_half_of_the_window() {
        let mut compound = Compound { delay_window: 60.0, ..Compound::default() };
        let event = Congestion {
            now: Instant::ZERO,
            signal: Signal::Loss,
            cwnd: 100_000,
            in_flight: 100_000,
            mss: 1000,
            whole: false,
        };
        assert_eq!(compound.on_congestion(&event), 50_000);
        assert!((compound.delay_window - 30.0).abs() < 0.001);
    }
}
