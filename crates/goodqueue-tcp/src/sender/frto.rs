//! F-RTO as Linux had it up to 3.9 (RFC 4138 appendix B; `tcp_enter_frto`, `tcp_process_frto`): after a timeout nothing is taken
//! for lost at first. The oldest segment goes out again; the first ACK that advances asks for two new segments; the next one
//! decides. With nothing SACKed beyond what was out, and progress, the timeout was wrong.

use goodqueue::Instant;

use super::reaction::News;
use super::{Phase, Sender, Undo};
use crate::congestion::{CongestionControl, Signal};

/// Segments beyond what is in flight that new data may use after the first ACK that advances.
const NEW_SEGMENTS: u64 = 2;
/// Likewise once the timeout is known to be no mistake, before and after that ACK.
const AFTER_LOSS: [u64; 2] = [2, 3];

/// A timeout that may have been a mistake.
#[derive(Clone, Copy, Debug)]
pub(super) struct Test {
    /// An ACK advanced since the timeout, and new data was sent.
    advanced: bool,
    /// What the ACK that decides is to stay below: SND.NXT at the timeout, or where an earlier recovery was to end.
    high: u64,
    began: Instant,
}

impl<C: CongestionControl> Sender<C> {
    /// The retransmission timer ran out. `first`: the oldest segment did not time out before.
    pub(super) fn begin_test(&mut self, now: Instant, first: bool) {
        let tested = self.rack.test.is_some();
        let front_resent = self.scoreboard.is_front_resent();
        let reduces = if tested { first } else { self.timeout_reduces(first) };
        if reduces {
            self.remember_window();
            let cwnd = self.cwnd;
            if tested {
                self.cwnd = 2 * self.mss; // the window would have been small by now
            }
            self.ssthresh = self.reduced_window(now, Signal::Timeout, 0);
            self.cwnd = cwnd;
        }
        let before = self.rack.undo.filter(|_| !front_resent);
        self.rack.undo = before.map(|undo| Undo { since: self.snd_una, retransmissions: None, ..undo });
        self.scoreboard.take_front_resent_back();
        self.cwnd = self.cwnd.min(self.scoreboard.pipe() + self.mss);
        let recovers = tested || matches!(self.phase, Phase::Recovery | Phase::Loss);
        let high =
            if recovers && self.recovery_point > self.snd_una { self.recovery_point } else { self.snd_nxt };
        self.rack.test = Some(Test { advanced: false, high, began: now });
        self.phase = Phase::Open;
        self.recovery_point = self.snd_nxt;
    }

    /// A timeout is in doubt.
    #[inline]
    pub(super) fn tests_timeout(&self) -> bool {
        self.rack.test.is_some()
    }

    /// What an ACK tells of a timeout in doubt.
    #[cold]
    pub(super) fn go_on_testing(&mut self, news: &News, duplicate_reported: bool) {
        let Some(test) = self.rack.test else { return };
        let mended = self.scoreboard.arrivals().acknowledged_resent;
        if mended.1 || (test.advanced && mended.0) {
            self.rack.undo = None;
        }
        if self.snd_una >= test.high {
            self.end_test(test, news);
        } else if !test.advanced && news.acked == 0 {
            let pipe = self.scoreboard.pipe();
            if pipe == 0 {
                self.end_test(test, news);
            } else {
                self.cwnd = self.cwnd.min(pipe); // nothing new
            }
        } else if !test.advanced {
            self.rack.test = Some(Test { advanced: true, ..test });
            self.cwnd = self.scoreboard.pipe() + NEW_SEGMENTS * self.mss;
            let payload = self.mss.min(self.sendable().saturating_sub(self.snd_nxt));
            let usable = self.window_edge.saturating_sub(self.snd_nxt);
            if payload == 0 || payload > usable {
                self.end_test(Test { advanced: false, ..test }, news);
            }
        } else if news.acked == 0 && news.sacked == 0 {
            if duplicate_reported {
                self.end_test(test, news);
            }
        } else if news.sacked > 0
            && self.scoreboard.arrivals().last_sacked.is_none_or(|sent| sent >= test.began)
        {
            self.end_test(test, news);
        } else {
            // It was a mistake: the rate is halved over a round trip.
            self.rack.test = None;
            self.rack.undo = None;
            self.rack.odd = false;
            self.stats.undone += 1;
            self.timed_out_at = None;
            self.phase = Phase::Reduction;
            self.recovery_point = self.snd_nxt;
            self.cwnd = self.cwnd.min(self.scoreboard.pipe() + self.mss);
        }
    }

    /// It was no mistake, or nothing can tell: everything that is not SACKed is lost.
    fn end_test(&mut self, test: Test, news: &News) {
        let keeps_front = !test.advanced && news.acked == 0;
        if self.scoreboard.has_resent_beyond_front() || (!keeps_front && self.scoreboard.is_front_resent()) {
            self.rack.undo = None;
        }
        self.scoreboard.lose_all(keeps_front);
        self.cwnd = self.scoreboard.pipe() + AFTER_LOSS[usize::from(test.advanced)] * self.mss;
        self.rack.test = None;
        self.rack.reordering = self.rack.reordering.min(crate::scoreboard::DUP_THRESH);
        self.phase = Phase::Loss;
        self.recovery_point = self.snd_nxt;
    }
}
