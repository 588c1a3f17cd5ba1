//! Loss recovery of Linux before RACK: forward acknowledgement (FACK), and the timers and windows that went with it.

use goodqueue::Instant;

use super::reaction::{MAX_BURST, News};
use super::{Phase, Purpose, Sender, Undo};
use crate::congestion::CongestionControl;
use crate::scoreboard::{DUP_THRESH, Found};

/// No reordering is taken for larger, in segments (Linux `TCP_MAX_REORDERING`).
const MAX_REORDERING: u64 = 127;

impl<C: CongestionControl> Sender<C> {
    /// So many segments overtook one: if there never were as many, that is known from now on.
    pub(super) fn note_reordering(&mut self, segments: u64) {
        let rack = &mut self.rack;
        if segments > rack.reordering {
            rack.reordering = segments.min(MAX_REORDERING);
            rack.reordered = true;
        }
    }

    /// No reordering was seen: what lies forward of a hole counts, not what was SACKed.
    fn counts_forward(&self) -> bool {
        !self.rack.reordered
    }

    /// Marks what the SACKs of this ACK show to be lost in a recovery; before one, says whether it is to begin. `looks`: losses
    /// are to be looked for.
    pub(super) fn detect_forward(&mut self, news: &News, looks: bool) -> Found {
        let arrivals = *self.scoreboard.arrivals();
        self.note_reordering(arrivals.displaced);
        let mut found = Found::default();
        if self.phase != Phase::Recovery || !looks {
            return found;
        }
        if self.counts_forward() {
            found.retransmission = self.scoreboard.detect_passed_resent();
        }
        let is_duplicate = news.acked == 0 && news.duplicate;
        if is_duplicate || self.scoreboard.forward() > self.rack.reordering {
            self.mark_forward(false);
        }
        found
    }

    /// More than three segments lie between the oldest one and the highest that was SACKed.
    pub(super) fn is_loss_likely(&self) -> bool {
        if self.scoreboard.lost() > 0 {
            return true;
        }
        let sacked = self.scoreboard.sacked();
        let evidence = if self.counts_forward() {
            self.scoreboard.forward()
        } else if sacked > 0 {
            sacked / self.mss + 1
        } else {
            0
        };
        evidence > self.rack.reordering
    }

    /// Marks all but the last three segments below the highest SACK; with `first` the oldest at least.
    pub(super) fn mark_forward(&mut self, first: bool) {
        let reordering = self.rack.reordering;
        // What a recovery itself sent is looked at in it since Linux 3.7.
        let end = if self.config.rate_halving { self.recovery_point } else { self.snd_nxt };
        if self.counts_forward() {
            let lost = self.scoreboard.forward().saturating_sub(reordering).max(1);
            self.scoreboard.mark_first(lost, end);
        } else if self.scoreboard.sacked() >= reordering * self.mss {
            self.scoreboard.mark_with_sacked_above(reordering, end);
        } else if first {
            self.scoreboard.mark_front_lost();
        }
    }

    /// The window while a recovery or a reduction lasts, or after an ACK of trouble. `was_plain`: there was none before.
    pub(super) fn reduce_forward(&mut self, news: &News, reducing: bool, was_plain: bool) {
        let pipe = self.scoreboard.pipe();
        if reducing && self.phase == Phase::Reduction && self.config.rate_halving {
            if news.delivered > 0 {
                let is_second = self.rack.odd;
                self.rack.odd = !is_second;
                if is_second && self.cwnd > self.ssthresh / 2 {
                    self.cwnd -= self.mss;
                }
                self.cwnd = self.cwnd.min(pipe + self.mss);
            }
        } else if reducing && self.config.prr {
            self.reduce_rate(news.delivered, true);
        } else if self.config.rate_halving {
            let is_plain = was_plain && self.scoreboard.sacked() == 0 && !news.duplicate;
            if !is_plain {
                self.cwnd = self.cwnd.min(pipe + MAX_BURST * self.mss);
            }
        }
    }

    /// The timer of a probe, or of an early retransmit, becomes that of the timeout, which counts from when the oldest segment
    /// was sent.
    pub(super) fn count_timeout_from_front(&mut self, now: Instant) {
        if self.config.fack()
            && matches!(self.purpose, Purpose::Early | Purpose::Probe)
            && !self.scoreboard.is_empty()
        {
            self.purpose = Purpose::Timeout;
            self.timer = Some(self.timeout_of_front(now));
        }
    }

    /// Nothing is SACKed or sent again, and the window or the application forbids to send: then a probe may help.
    pub(super) fn is_quiet(&self) -> bool {
        self.phase == Phase::Open
            && !self.scoreboard.has_resent()
            && (self.scoreboard.pipe() + self.mss > self.cwnd || self.snd_nxt >= self.data_end)
    }

    /// The timer ran out: reordering is not as large as was thought, and with something sent again still out only F-RTO can tell
    /// that it was wrong (`tcp_enter_loss`, `tcp_try_undo_loss`).
    pub(super) fn doubt_reordering(&mut self) {
        if self.phase == Phase::Open && self.scoreboard.sacked() >= DUP_THRESH * self.mss {
            self.rack.reordering = DUP_THRESH;
        }
        let needs_test = self.scoreboard.has_resent();
        let before = self.rack.undo;
        self.rack.undo =
            before.map(|undo| Undo { since: self.snd_una, retransmissions: None, needs_test, ..undo });
    }
}
