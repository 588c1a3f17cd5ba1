//! What happens when the timer runs out, and a timeout's losses.

use goodqueue::Instant;

use super::{Phase, Purpose, Sender, State};
use crate::config::UndoRule;
use crate::congestion::{CongestionControl, Signal};

impl<C: CongestionControl> Sender<C> {
    /// The timer that was set ran out, for whatever it was set.
    #[cold]
    pub(super) fn on_timer(&mut self, now: Instant) {
        self.timer = None;
        self.awaits_ack = false;
        self.refused = false;
        if self.config.libutp() && self.state == State::Established {
            self.look_as_libutp(now);
            return;
        }
        let purpose = core::mem::replace(&mut self.purpose, Purpose::Timeout);
        if purpose == Purpose::Probe && self.probe_tail(now) {
            return;
        }
        if purpose == Purpose::Reordering && self.on_reordering_timer(now) {
            return;
        }
        if purpose == Purpose::Early {
            self.retransmit_early(now);
            return;
        }
        if self.state == State::SynSent && !self.config.ns2_linux() {
            self.stats.syn_retransmits += 1;
            self.rtt.back_off();
            self.syn_due = true;
        } else if self.persisting {
            self.rtt.back_off();
            self.probe_due = true;
        } else if !self.scoreboard.is_empty() || self.state == State::SynSent {
            self.time_out(now);
        }
    }

    /// The retransmission timer ran out (RFC 5681 §3.1, RFC 6298 §5.4 to §5.6, RFC 6675 §5.1).
    fn time_out(&mut self, now: Instant) {
        self.stats.timeouts += 1;
        let first = self.timed_out_at != Some(self.snd_una);
        self.timed_out_at = Some(self.snd_una);
        if self.config.ns2_linux() {
            self.time_out_as_ns2_linux(now);
        } else if self.config.ns2_full() {
            self.time_out_as_ns2_full(now);
        } else if self.config.ns2() {
            self.time_out_as_ns2(now);
        } else if self.config.undo == UndoRule::Halved {
            self.begin_test(now, first);
        } else if self.timeout_reduces(first) {
            self.remember_window();
            self.ssthresh = self.reduced_window(now, Signal::Timeout, 0);
        }
        if !self.tests_timeout() {
            self.lose_all(now, first);
        }
        self.duplicate_acks = 0;
        self.limited = 0;
        self.front_due = !self.config.ns2() && !self.config.ns2_full();
        self.rtt.back_off();
        self.timer = Some(self.config.timers.expiry(now, self.rtt.rto()));
    }

    /// What is out is lost with the timeout.
    fn lose_all(&mut self, now: Instant, first: bool) {
        if self.config.fack() {
            self.doubt_reordering();
        }
        let recent = if self.config.rack() { now - self.rack.rtt } else { Instant::MAX };
        let pipe = self.scoreboard.pipe();
        self.scoreboard.time_out(recent, self.config.forget_on_timeout);
        // RFC 5682 §3.1 step 1: not if another recovery is under way, unless it is that of this very timeout.
        // In Linux 3.14 one that follows another after progress counts as new (tcp_enter_loss).
        let again = self.config.fack() && self.phase == Phase::Loss;
        let alone = matches!(self.phase, Phase::Open | Phase::Reduction) || !first || again;
        self.rack.timeout_in_doubt = self.config.undoes() && alone;
        self.rack.new_data_first = false;
        self.probed = None;
        self.phase = Phase::Loss;
        let lost = self.rates.as_mut().map_or(0, |rates| {
            rates.on_lost(pipe.saturating_sub(self.scoreboard.pipe()));
            rates.lost()
        });
        self.controller.on_timeout(lost);
        self.cwnd = self.mss; // LW
        if self.config.whole_segments && self.config.rack() {
            self.cwnd += self.scoreboard.pipe();
        }
        self.recovery_point = self.snd_nxt;
    }
}
