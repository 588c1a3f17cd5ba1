//! Compound TCP (Tan, Song, Zhang & Sridharan 2006): Reno's window and, while the queue is short, a delay-based one on top.

use goodqueue::{Duration, Instant};

use crate::congestion::{Ack, Congestion, CongestionControl, Feedback, Signal, Window};
use crate::registry::{About, Constant, Needs};
use crate::vegas::Rounds;

/// dwnd grows by α · win^k − 1 segments per round.
const ALPHA: f64 = 0.125;
const K: f64 = 0.75;
/// Share of the window that is left after a loss.
const BETA: f64 = 0.5;
/// Segments in the queue from which on dwnd shrinks, and how fast.
const GAMMA: f64 = 30.0;
const ZETA: f64 = 1.0;
/// Below this window in segments it is Reno (draft-sridharan-tcpm-ctcp-02).
const LOW_WINDOW: f64 = 41.0;
/// RTT samples that a round needs.
const MIN_SAMPLES: u32 = 3;

/// Compound TCP. Windows are in segments inside.
#[derive(Clone, Debug, Default)]
pub struct Compound {
    rounds: Rounds,
    /// The delay-based window.
    delay_window: f64,
    /// Growth of less than a byte.
    fraction: f64,
}

impl Compound {
    /// What it is.
    pub const ABOUT: About = About {
        name: "compound",
        summary: "Reno, and a window on top that grows fast while the queue is short",
        reference: "Tan, Song, Zhang & Sridharan, INFOCOM 2006; draft-sridharan-tcpm-ctcp-02",
        constants: &[
            Constant { name: "alpha", value: "1/8", source: "INFOCOM 2006" },
            Constant { name: "beta", value: "1/2", source: "INFOCOM 2006" },
            Constant { name: "k", value: "3/4", source: "INFOCOM 2006" },
            Constant { name: "gamma", value: "30 segments", source: "INFOCOM 2006" },
            Constant { name: "zeta", value: "1", source: "INFOCOM 2006" },
            Constant { name: "low window", value: "41 segments", source: "draft-sridharan-tcpm-ctcp-02" },
        ],
        needs: Needs::Nothing,
    };

    /// By how much the delay-based window changes after a round with so many segments in the queue.
    fn change(&self, window: f64, queued: f64) -> f64 {
        if queued < GAMMA {
            (ALPHA * libm::pow(window, K) - 1.0).max(0.0)
        } else {
            (self.delay_window - ZETA * queued).max(0.0) - self.delay_window
        }
    }
}

impl CongestionControl for Compound {
    fn name(&self) -> &'static str {
        Self::ABOUT.name
    }

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
            if let Some(queued) = queued.filter(|_| window >= LOW_WINDOW || self.delay_window > 0.0) {
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
            Signal::Loss | Signal::Ecn => (window * (1.0 - BETA) - reno / 2.0).max(0.0),
        };
        event.rounded(whole((reno / 2.0 + self.delay_window) * mss)).max(2 * u64::from(event.mss))
    }

    fn on_idle(&mut self, _now: Instant, _idle: Duration) {
        self.rounds.begin();
    }

    fn wants_feedback(&self) -> bool {
        true
    }

    fn on_feedback(&mut self, feedback: &Feedback, _window: &mut Window) {
        self.rounds.take(feedback);
    }
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

    #[test]
    fn an_empty_queue_lets_the_delay_window_grow_by_the_power_law() {
        let compound = Compound::default();
        assert!((compound.change(100.0, 0.0) - 2.953).abs() < 0.001);
        assert!((compound.change(10_000.0, 0.0) - 124.0).abs() < 0.001);
        assert!(compound.change(10.0, 0.0).abs() < f64::EPSILON);
    }

    #[test]
    fn a_long_queue_takes_the_delay_window_away() {
        let compound = Compound { delay_window: 50.0, ..Compound::default() };
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
