//! `ProbeRTT`: a short time with half of the bandwidth-delay product in flight, so that a queue
//! that several flows keep becomes empty.

use goodqueue::Instant;

use super::machine::Bbr3;
use super::state::State;
use crate::congestion::Feedback;

impl Bbr3 {
    pub(super) fn check_probe_rtt(&mut self, feedback: &Feedback) {
        if self.state != State::ProbeRtt && self.rtt.expired && !self.idle_restart {
            self.save_cwnd();
            self.state = State::ProbeRtt;
            self.rtt.done_at = None;
            self.cycle.stop_probe();
            self.model.start_round();
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(feedback);
        }
        if feedback.delivered > 0 {
            self.idle_restart = false;
        }
    }

    fn handle_probe_rtt(&mut self, feedback: &Feedback) {
        self.rtt.limit.extend(self.model.delivered(), feedback.pipe);
        if self.rtt.done_at.is_some() {
            self.rtt.round_done |= self.model.round_start();
            if self.rtt.round_done {
                self.check_probe_rtt_done(feedback.now);
            }
        } else if feedback.pipe <= self.probe_rtt_cwnd() {
            self.rtt.done_at = Some(feedback.now + self.params.probe_rtt_time);
            self.rtt.round_done = false;
            self.model.start_round();
        }
    }

    pub(super) fn check_probe_rtt_done(&mut self, now: Instant) {
        if self.rtt.done_at.is_some_and(|done| now > done) {
            self.rtt.min_delay_at = now;
            self.restore_cwnd();
            self.exit_probe_rtt(now);
        }
    }

    fn exit_probe_rtt(&mut self, now: Instant) {
        self.losses.reset_shortterm();
        if self.full.is_reached() {
            self.start_down(now);
            self.start_cruise();
        } else {
            self.state = State::Startup;
        }
    }
}
