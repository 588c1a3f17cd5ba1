//! The least RTT.

use goodqueue::{Duration, Instant};

use super::params::Params;
use crate::congestion::Feedback;
use crate::congestion::own_limit::OwnLimit;

/// The least RTT, and the visit to `ProbeRTT` that measures it.
#[derive(Clone, Debug, Default)]
pub(super) struct ProbeRtt {
    min_rtt: Option<Duration>,
    min_rtt_at: Instant,
    /// The least RTT since the last visit.
    min_delay: Option<Duration>,
    pub(super) min_delay_at: Instant,
    pub(super) expired: bool,
    /// The end of the visit, once the window is small.
    pub(super) done_at: Option<Instant>,
    pub(super) round_done: bool,
    pub(super) limit: OwnLimit,
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
