//! `Startup` doubles the rate each round until the pipe is full. `Drain` empties the queue that
//! this built.

use goodqueue::Instant;

use super::model::Sample;
use super::{Bbr3, State};

/// The pipe is full when the rate grew by less than a quarter in each of three rounds (§5.3.1.2).
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;
/// Gaps of losses within a round that end `Startup` (`BBRStartupFullLossCnt`, §5.3.1.3).
const FULL_LOSS_COUNT: u32 = 6;
/// `Drain` ends after so many rounds at the latest (§5.3.2).
const DRAIN_ROUNDS: u64 = 3;

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

impl Bbr3 {
    pub(super) fn check_startup_done(&mut self, sample: &Sample) {
        self.check_startup_high_loss(sample);
        if self.state == State::Startup && self.full.is_reached() {
            self.enter_drain();
        }
    }

    /// Ends `Startup` when a full round in recovery had many losses in many places.
    fn check_startup_high_loss(&mut self, sample: &Sample) {
        let round_is_over = self.model.loss_round_start();
        let gaps = self.losses.gaps_in_round(round_is_over);
        let whole_round = self.in_recovery && self.model.round() > self.recovery_round;
        if self.state == State::Startup
            && round_is_over
            && whole_round
            && gaps >= FULL_LOSS_COUNT
            && sample.is_inflight_too_high(self.params.loss_thresh)
        {
            self.undo.state = Some(State::Startup);
            self.full.set_reached(true);
            self.losses.inflight_longterm = self.bdp().max(self.model.inflight_latest());
        }
    }

    fn enter_drain(&mut self) {
        self.state = State::Drain;
        self.drain_start_round = self.model.round();
    }

    pub(super) fn check_drain_done(&mut self, inflight: u64, now: Instant) {
        let is_drained = inflight <= self.inflight(self.model.bw(), 1.0);
        let is_late = self.model.round() > self.drain_start_round + DRAIN_ROUNDS;
        if self.state == State::Drain && (is_drained || is_late) {
            self.start_down(now);
        }
    }
}
