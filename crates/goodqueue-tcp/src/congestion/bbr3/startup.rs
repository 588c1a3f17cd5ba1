//! `Startup` doubles the rate each round until the pipe is full. `Drain` empties the queue that
//! this built.

use goodqueue::Instant;

use super::machine::Bbr3;
use super::model::Sample;
use super::state::State;

/// Gaps of losses within a round that end `Startup` (`BBRStartupFullLossCnt`, §5.3.1.3).
const FULL_LOSS_COUNT: u32 = 6;
/// Most rounds that `Drain` lasts (§5.3.2).
const DRAIN_ROUNDS: u64 = 3;

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
