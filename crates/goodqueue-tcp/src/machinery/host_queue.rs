//! Segments that the host's own queue drops or refuses.

use goodqueue::{Duration, Instant};

use super::{Core, Phase, State, TimerPurpose};
use crate::congestion::Signal;
use crate::prr::Prr;
use crate::segment::{Flags, Segment};

/// Longest wait before a refused segment is offered again, when nothing is out (Linux
/// `TCP_RESOURCE_PROBE_INTERVAL`).
const OFFER_AGAIN: Duration = Duration::from_millis(500);

impl Core {
    /// Congestion in the host's own queue: reduces the threshold, once per window of data. Returns
    /// the window before, if this is a new event.
    pub fn note_host_congestion(&mut self, now: Instant) -> Option<u64> {
        let is_new = self.phase == Phase::Open && self.snd_una >= self.reduction_point;
        if self.state != State::Established || !is_new || self.controls_all {
            return None;
        }
        let cwnd = self.cwnd;
        self.ssthresh = self.reduced_window(now, Signal::Ecn, 0);
        Some(cwnd)
    }

    /// Begins to reduce the window `cwnd` over a round trip.
    pub fn begin_reduction(&mut self, cwnd: u64) {
        self.prr = Prr::begin_whole(cwnd);
        self.phase = Phase::Reduction;
        self.recovery_point = self.snd_nxt;
    }

    /// Forgets that `segment` was sent for the first time, since the host's queue refused it.
    pub fn take_new_data_back(&mut self, now: Instant, segment: &Segment) {
        let has_fin = segment.flags.contains(Flags::FIN);
        let len = u64::from(segment.len) + u64::from(has_fin);
        self.scoreboard.pop();
        self.snd_nxt -= len;
        self.fin_sent &= !has_fin;
        self.cwr_due |= segment.flags.contains(Flags::CWR);
        self.stats.data_segments -= 1;
        self.limited = self.limited.saturating_sub(len);
        self.prr.take_back(self.whole(len));
        if let Some(rates) = &mut self.rates {
            rates.take_back();
        }
        if self.scoreboard.is_empty() {
            // Linux starts the timer of its window probes, which begins with the RTO. Each further
            // refusal sets it to `TCP_RESOURCE_PROBE_INTERVAL` at most (`tcp_send_probe0()`).
            let again = core::mem::replace(&mut self.host.refused_alone, true);
            let wait = if again { self.rtt.rto().min(OFFER_AGAIN) } else { self.rtt.rto() };
            self.purpose = TimerPurpose::Timeout;
            self.set_timer(now, wait);
        }
    }

    /// Forgets that `segment` was sent again. A timeout that sent it does not count as one: it
    /// comes again.
    pub fn take_retransmission_back(&mut self, now: Instant, segment: &Segment) {
        self.scoreboard.take_resent_back(segment.seq);
        self.stats.retransmits -= 1;
        self.prr.take_back(self.whole(u64::from(segment.len)));
        let of_timeout = self.timed_out_at == Some(self.snd_una) && segment.seq <= self.snd_una;
        if of_timeout {
            self.rtt.take_back_off();
            self.set_timer(now, self.rtt.rto().min(OFFER_AGAIN));
        }
    }
}
