//! What the host's own queue tells of the segments that it is offered: that it drops them as they come.

use goodqueue::{Duration, Instant};

use super::{Phase, Purpose, Sender, State};
use crate::congestion::{CongestionControl, Signal};
use crate::prr::Prr;
use crate::segment::{Flags, Segment};

/// So soon is a segment offered again, if not before, when nothing is out (Linux `TCP_RESOURCE_PROBE_INTERVAL`).
const OFFER_AGAIN: Duration = Duration::from_millis(500);

impl<C: CongestionControl> Sender<C> {
    /// The host's own queue took `segment`, the last that [`poll_transmit`](Self::poll_transmit) gave, and dropped it as the
    /// signal that it is: congestion, as a mark of ECN is (Linux `NET_XMIT_CN`, `tcp_enter_cwr`). The segment counts as sent,
    /// and is found lost in the usual way.
    #[cold]
    pub fn on_local_drop(&mut self, now: Instant, segment: &Segment) {
        let len = u64::from(segment.len);
        self.enter_reduction(now, len);
    }

    /// The host's own queue is full and did not take `segment`, the last that [`poll_transmit`](Self::poll_transmit) gave:
    /// that is congestion too (Linux `NET_XMIT_DROP`). With [`offers_again`](crate::Config::offers_again) it was not sent,
    /// and comes again with the next ACK or timer, and nothing before.
    #[cold]
    pub fn on_refused(&mut self, now: Instant, segment: &Segment) {
        // A handshake's segments and bare ACKs are not looked after.
        if !self.config.offers_again || segment.len == 0 || self.state != State::Established {
            self.on_local_drop(now, segment);
            return;
        }
        self.refused = true;
        self.stats.segments -= 1;
        if self.scoreboard.was_resent(segment.seq) {
            self.take_retransmission_back(now, segment);
        } else {
            self.take_new_data_back(now, segment);
        }
        self.enter_reduction(now, 0);
    }

    /// A reduction over a round trip, one per window of data, whatever told of it. `dropped`: bytes in flight that the host
    /// knows to be lost.
    fn enter_reduction(&mut self, now: Instant, dropped: u64) {
        let is_new = self.phase == Phase::Open && self.snd_una >= self.reduction_point;
        if self.state != State::Established || !is_new || self.controls_all {
            return;
        }
        let (cwnd, is_due) = (self.cwnd, self.cwr_due);
        self.ssthresh = self.reduced_window(now, Signal::Ecn, 0);
        self.cwr_due = is_due;
        self.rack.undo = None;
        if self.config.linux() && self.config.prr {
            self.prr = Prr::begin_whole(cwnd);
            self.phase = Phase::Reduction;
            self.recovery_point = self.snd_nxt;
            self.rack.odd = false;
            self.cwnd = cwnd;
            if self.config.rate_halving {
                self.cwnd = cwnd.min((self.scoreboard.pipe() + self.mss).saturating_sub(dropped));
            }
        } else {
            self.cwnd = cwnd.min(self.ssthresh);
        }
    }

    /// Forgets that `segment` was sent for the first time.
    fn take_new_data_back(&mut self, now: Instant, segment: &Segment) {
        let has_fin = segment.flags.contains(Flags::FIN);
        let len = u64::from(segment.len) + u64::from(has_fin);
        self.scoreboard.pop();
        self.snd_nxt -= len;
        self.fin_sent &= !has_fin;
        self.cwr_due |= segment.flags.contains(Flags::CWR);
        self.stats.data_segments -= 1;
        self.limited = self.limited.saturating_sub(len);
        self.prr.take_back(len);
        if let Some(rates) = &mut self.rates {
            rates.take_back();
        }
        if self.scoreboard.is_empty() {
            let again = core::mem::replace(&mut self.refused_alone, true);
            let wait = if again { self.rtt.rto().min(OFFER_AGAIN) } else { self.rtt.rto() };
            self.purpose = Purpose::Timeout;
            self.timer = Some(self.config.timers.expiry(now, wait));
        }
    }

    /// Forgets that `segment` was sent again. If that was because of a timeout, that does not count as one: it comes again.
    fn take_retransmission_back(&mut self, now: Instant, segment: &Segment) {
        self.scoreboard.take_resent_back(segment.seq);
        self.stats.retransmits -= 1;
        self.prr.take_back(u64::from(segment.len));
        if let Some(undo) = &mut self.rack.undo {
            undo.retransmissions = undo.retransmissions.map(|count| count - 1).filter(|&count| count > 0);
        }
        if !self.scoreboard.has_resent() && self.rack.resent_since == Some(now) {
            self.rack.resent_since = None;
        }
        let of_timeout = self.timed_out_at == Some(self.snd_una) && segment.seq <= self.snd_una;
        if of_timeout {
            self.rtt.take_back_off();
            self.timer = Some(self.config.timers.expiry(now, self.rtt.rto().min(OFFER_AGAIN)));
        }
    }
}
