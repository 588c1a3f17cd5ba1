//! `ProbeBW`: a cycle that drains the queue, cruises, fills the pipe and looks for more bandwidth.

use goodqueue::random::{Random, Xoshiro256PlusPlus};
use goodqueue::{Duration, Instant};

use super::cycle::{AckPhase, Phase};
use super::machine::Bbr3;
use super::model::Sample;
use super::state::State;
use super::units::INFINITE;
use crate::congestion::Feedback;

/// A probe follows after 2 to 3 s, or after about as many rounds as Reno needs to fill the pipe,
/// at most 63 (§5.3.3.8).
const LEAST_WAIT: Duration = Duration::from_secs(2);
const RANDOM_WAIT: Duration = Duration::from_secs(1);
const MOST_RENO_ROUNDS: u64 = 63;
/// Rounds after which the growth of the long-term bound no longer doubles (§5.3.3.9).
const MOST_UP_ROUNDS: u32 = 30;

impl Bbr3 {
    pub(super) fn start_down(&mut self, now: Instant) {
        self.losses.end_round();
        self.model.reset_latest();
        self.cycle.up_acked_per_inc = INFINITE;
        self.pick_probe_wait(now);
        self.cycle.began_at = now;
        self.cycle.stop_probe();
        self.model.start_round();
        self.state = State::ProbeBw(Phase::Down);
    }

    pub(super) fn start_cruise(&mut self) {
        self.state = State::ProbeBw(Phase::Cruise);
    }

    pub(super) fn start_refill(&mut self) {
        self.losses.reset_shortterm();
        self.cycle.up_rounds = 0;
        self.cycle.up_acked = 0;
        self.cycle.was_precautionary = false;
        self.cycle.ack_phase = AckPhase::Refilling;
        self.model.start_round();
        self.state = State::ProbeBw(Phase::Refill);
    }

    fn start_up(&mut self, sample: &Sample) {
        self.cycle.ack_phase = AckPhase::ProbeStarting;
        self.model.start_round();
        self.full.reset(sample.delivery_rate);
        self.state = State::ProbeBw(Phase::Up);
        self.raise_slope();
    }

    /// Waits for a random time, so that flows do not probe together. The nanosecond at which the
    /// cycle begins is what is random here.
    fn pick_probe_wait(&mut self, now: Instant) {
        let mut random = Xoshiro256PlusPlus::new(now.as_nanos());
        // Flows that probe after a number of rounds do not probe together either.
        self.cycle.rounds_since_up = random.next_u64() & 1;
        self.cycle.wait = LEAST_WAIT + Duration::from_nanos(random.next_u64() % RANDOM_WAIT.as_nanos());
    }

    pub(super) fn update_cycle_phase(&mut self, feedback: &Feedback, sample: &Sample) {
        if !self.full.is_reached() || self.adapt_longterm_model(sample) {
            return;
        }
        let State::ProbeBw(phase) = self.state else { return };
        let now = feedback.now;
        match phase {
            Phase::Down | Phase::Cruise if self.is_time_to_probe(now) => self.start_refill(),
            Phase::Down if self.is_time_to_cruise(feedback.pipe) => self.start_cruise(),
            Phase::Refill if self.model.round_start() => {
                self.cycle.is_probe_sample = true;
                self.start_up(sample);
            }
            Phase::Up if self.is_time_to_go_down(feedback.pipe_before, sample) => {
                self.cycle.was_too_high = false;
                self.start_down(now);
            }
            _ => {}
        }
    }

    fn is_time_to_probe(&self, now: Instant) -> bool {
        let reno_rounds = (self.target_inflight() / self.mss).min(MOST_RENO_ROUNDS);
        now > self.cycle.began_at + self.cycle.wait || self.cycle.rounds_since_up >= reno_rounds
    }

    fn is_time_to_cruise(&self, inflight: u64) -> bool {
        inflight <= self.inflight_with_headroom() && inflight <= self.inflight(self.model.max_bw(), 1.0)
    }

    /// `inflight` is that before the ACK: after an ACK it is always below the window. The bound is
    /// reached when it has no room for another segment.
    fn is_time_to_go_down(&mut self, inflight: u64, sample: &Sample) -> bool {
        let longterm = self.losses.inflight_longterm;
        if self.cycle.was_too_high && inflight.saturating_add(self.mss) > longterm {
            self.cycle.was_precautionary = true;
            // The caller forgets that the last probe went too high, so the next one may stay.
            return true;
        }
        if self.model.is_cwnd_limited() && self.cwnd >= longterm {
            // The bound, and not the path, limits the rate.
            self.full.reset(sample.delivery_rate);
            return false;
        }
        self.full.is_now()
    }

    /// `RaiseInflightLongtermSlope`
    fn raise_slope(&mut self) {
        let growth = 1_u64 << self.cycle.up_rounds;
        self.cycle.up_rounds = (self.cycle.up_rounds + 1).min(MOST_UP_ROUNDS);
        self.cycle.up_acked_per_inc = (self.cwnd / growth).max(self.mss);
    }

    /// Raises the long-term bound by one segment, then two, four and so on per round trip
    /// (`ProbeInflightLongtermUpward`).
    fn raise_longterm(&mut self, sample: &Sample) {
        if !self.model.is_cwnd_limited() || self.cwnd < self.losses.inflight_longterm {
            return;
        }
        self.cycle.up_acked += sample.newly_acked;
        let steps = self.cycle.up_acked / self.cycle.up_acked_per_inc;
        self.cycle.up_acked -= steps * self.cycle.up_acked_per_inc;
        self.losses.inflight_longterm += steps * self.mss;
        if self.model.round_start() {
            self.raise_slope();
        }
    }

    /// `AdaptLongTermModel`. Returns whether it changed the state.
    fn adapt_longterm_model(&mut self, sample: &Sample) -> bool {
        let in_cycle = matches!(self.state, State::ProbeBw(_));
        if self.model.round_start() {
            match self.cycle.ack_phase {
                AckPhase::ProbeStarting => self.cycle.ack_phase = AckPhase::ProbeFeedback,
                AckPhase::ProbeStopping => {
                    // A round after the probe ended, its last samples have arrived.
                    self.cycle.is_probe_sample = false;
                    self.cycle.ack_phase = AckPhase::Init;
                    if in_cycle && !sample.app_limited {
                        self.model.advance_max_bw();
                    }
                    // The cautious probe lost too little to matter, so another probe follows at
                    // once.
                    if in_cycle && self.cycle.was_precautionary && !self.cycle.was_too_high {
                        self.start_refill();
                        return true;
                    }
                }
                _ => {}
            }
        }
        if self.losses.inflight_longterm != INFINITE && !sample.is_inflight_too_high(self.params.loss_thresh)
        {
            self.losses.inflight_longterm = self.losses.inflight_longterm.max(sample.tx_in_flight);
            if self.state == State::ProbeBw(Phase::Up) {
                self.raise_longterm(sample);
            }
        }
        false
    }
}
