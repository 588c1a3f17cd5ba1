//! Whether the pipe is full.

use super::model::Sample;

/// The pipe is full when the rate grew by less than a quarter in each of three rounds (§5.3.1.2).
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;

/// Whether the rate still grows when the sender goes faster.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    /// The pipe was full once.
    reached: bool,
    /// The pipe has been full since the last [reset](Self::reset).
    now: bool,
    bw: f64,
    rounds: u32,
}

impl FullPipe {
    pub(super) fn is_reached(&self) -> bool {
        self.reached
    }

    pub(super) fn is_now(&self) -> bool {
        self.now
    }

    pub(super) fn set_reached(&mut self, reached: bool) {
        self.reached = reached;
    }

    /// Looks again, from `bw` on (`ResetFullBW`).
    pub(super) fn reset(&mut self, bw: f64) {
        *self = Self { reached: self.reached, now: false, bw, rounds: 0 };
    }

    /// `CheckFullBWReached`
    pub(super) fn check(&mut self, sample: &Sample, round_start: bool) {
        if self.now || !round_start || sample.app_limited {
            return;
        }
        if sample.delivery_rate >= self.bw * FULL_GROWTH {
            self.reset(sample.delivery_rate);
            return;
        }
        self.rounds += 1;
        self.now = self.rounds >= FULL_ROUNDS;
        self.reached |= self.now;
    }
}
