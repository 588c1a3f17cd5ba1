//! `ProbeRTT`: a short time with half of the bandwidth-delay product in flight, so that a queue
//! that several flows keep becomes empty.

use goodqueue::{Duration, Instant};

use super::params::Params;
use super::{Bbr3, State};
use crate::congestion::Feedback;
use crate::congestion::own_limit::OwnLimit;

/// The least RTT, and the visit to `ProbeRTT` that measures it.
#[derive(Clone, Debug, Default)]
pub(super) struct ProbeRtt {
    min_rtt: Option<Duration>,
    min_rtt_at: Instant,
    /// The least RTT since the last visit.
    min_delay: Option<Duration>,
    min_delay_at: Instant,
    expired: bool,
    /// The end of the visit, once the window is small.
    done_at: Option<Instant>,
    pub(super) round_done: bool,
    limit: OwnLimit,
}

impl ProbeRtt {
    pub(super) fn min_rtt(&self) -> Option<Duration> {
        self.min_rtt
    }

    /// What was sent after `delivered` bytes says nothing of the bandwidth.
    pub(super) fn limited(&self, delivered: u64) -> bool {
        self.limit.covers(delivered)
    }

    /// `UpdateMinRTT`
    pub(super) fn take(&mut self, feedback: &Feedback, params: &Params) {
        let now = feedback.now;
        if self.min_rtt.is_none() && !feedback.min_rtt.is_zero() {
            // That of the handshake.
            self.min_rtt = Some(feedback.min_rtt);
            self.min_rtt_at = now;
            self.min_delay_at = now;
        }
        self.expired = self.min_delay.is_some() && now > self.min_delay_at + params.probe_rtt_interval;
        if let Some(rtt) = feedback.rtt
            && (self.expired || self.min_delay.is_none_or(|least| rtt < least))
        {
            self.min_delay = Some(rtt);
            self.min_delay_at = now;
        }
        let min_rtt_expired = now > self.min_rtt_at + params.min_rtt_window;
        if let Some(delay) = self.min_delay
            && (min_rtt_expired || self.min_rtt.is_none_or(|least| delay < least))
        {
            self.min_rtt = Some(delay);
            self.min_rtt_at = self.min_delay_at;
        }
    }
}

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
