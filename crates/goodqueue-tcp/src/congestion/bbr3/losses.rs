//! What losses change: the long-term bound of what is in flight while the sender probes, and the
//! short-term bounds at other times.

use super::bounds::Undo;
use super::cycle::Phase;
use super::machine::Bbr3;
use super::model::Sample;
use super::state::State;
use super::units::INFINITE;
use crate::congestion::LostSegment;
use crate::congestion::whole::whole;

impl Bbr3 {
    /// `SaveStateUponLoss`, once per loss episode. The draft saves anew with the first loss after
    /// each reset of the signals. It would forget here which state the episode ended, since the
    /// change of state resets the signals.
    pub(super) fn save_state_upon_loss(&mut self) {
        if self.undo.is_saved {
            return;
        }
        self.save_cwnd();
        self.undo = Undo {
            is_saved: true,
            state: None,
            bw_shortterm: self.losses.bw_shortterm,
            inflight_shortterm: self.losses.inflight_shortterm,
            inflight_longterm: self.losses.inflight_longterm,
        };
    }

    /// Recovery is over.
    pub(super) fn end_loss_episode(&mut self) {
        self.undo.is_saved = false;
        self.restore_cwnd();
    }

    pub(super) fn handle_lost_packet(&mut self, lost: &LostSegment) {
        self.save_state_upon_loss();
        if !self.losses.in_round {
            self.model.start_loss_round();
        }
        self.losses.in_round = true;
        self.losses.count_gap(lost.position);
        if self.cycle.is_probe_sample && lost.lost as f64 > lost.tx_in_flight as f64 * self.params.loss_thresh
        {
            self.handle_inflight_too_high(lost);
        }
    }

    fn handle_inflight_too_high(&mut self, lost: &LostSegment) {
        self.cycle.was_too_high = true;
        // It reacts once to a probe.
        self.cycle.is_probe_sample = false;
        if !lost.app_limited {
            let least = whole(self.target_inflight() as f64 * self.params.beta);
            self.losses.inflight_longterm = self.inflight_at_loss(lost).max(least);
        }
        if self.state == State::ProbeBw(Phase::Up) {
            self.undo.state = Some(self.state);
            self.start_down(lost.now);
        }
    }

    /// What was in flight when the losses came to be too many. That may have been in the middle of
    /// a burst, so part of the segment counts.
    fn inflight_at_loss(&self, lost: &LostSegment) -> u64 {
        let thresh = self.params.loss_thresh;
        let before = lost.tx_in_flight.saturating_sub(lost.bytes);
        let lost_before = lost.lost.saturating_sub(lost.bytes);
        let prefix = (thresh * before as f64 - lost_before as f64) / (1.0 - thresh);
        whole(before as f64 + prefix)
    }

    /// `UpdateCongestionSignals`: once per round with losses, outside of probes, the short-term
    /// bounds go down to what was delivered, or to `Beta` of what they were.
    pub(super) fn update_congestion_signals(&mut self, sample: &Sample) {
        if self.model.take_bw(sample) {
            self.cycle.begin_round();
        }
        if !self.model.loss_round_start() {
            return;
        }
        if self.losses.in_round && !self.is_probing() {
            let beta = self.params.beta;
            let losses = &mut self.losses;
            if losses.bw_shortterm.is_infinite() {
                losses.bw_shortterm = self.model.max_bw();
            }
            if losses.inflight_shortterm == INFINITE {
                losses.inflight_shortterm = self.cwnd;
            }
            losses.bw_shortterm = self.model.bw_latest().max(beta * losses.bw_shortterm);
            let reduced = whole(beta * losses.inflight_shortterm as f64);
            losses.inflight_shortterm = self.model.inflight_latest().max(reduced);
        }
        self.losses.end_round();
    }

    /// The sender goes faster on purpose, and losses tell how far it can (`IsProbingBW`).
    fn is_probing(&self) -> bool {
        matches!(self.state, State::Startup | State::ProbeBw(Phase::Refill | Phase::Up))
    }

    /// Nothing was lost after all (`HandleSpuriousLossDetection`).
    pub(super) fn handle_spurious_loss(&mut self) {
        self.restore_cwnd();
        self.losses.end_round();
        self.full.reset(0.0);
        let losses = &mut self.losses;
        losses.bw_shortterm = losses.bw_shortterm.max(self.undo.bw_shortterm);
        losses.inflight_shortterm = losses.inflight_shortterm.max(self.undo.inflight_shortterm);
        losses.inflight_longterm = losses.inflight_longterm.max(self.undo.inflight_longterm);
        let Some(before) = self.undo.state.take() else { return };
        if before == State::Startup && self.state != State::Startup {
            self.full.set_reached(false);
            if self.state != State::ProbeRtt {
                self.state = State::Startup;
            }
        } else if before == State::ProbeBw(Phase::Up)
            && !matches!(self.state, State::ProbeRtt)
            && self.state != before
        {
            self.start_refill();
        }
    }
}
