//! Reductions of the window over a round trip.

use goodqueue::Instant;

use super::{Core, Phase};
use crate::config::UndoRule;
use crate::congestion::Signal;
use crate::prr::Progress;

impl Core {
    /// True if a timeout is a new sign of congestion for a stack that undoes reductions: not while
    /// an earlier reduction is unanswered, and not when the same segment times out again (Linux).
    /// `first`: it did not time out before.
    pub fn timeout_reduces(&self, first: bool) -> bool {
        if self.config.undo == UndoRule::Never {
            return first;
        }
        match self.phase {
            Phase::Open => true,
            Phase::Loss => first || self.snd_una >= self.recovery_point,
            Phase::Recovery | Phase::Reduction => self.snd_una >= self.recovery_point,
        }
    }

    /// Applies Proportional Rate Reduction to an ACK that delivered `delivered` bytes.
    pub fn reduce_rate(&mut self, delivered: u64, safe: bool) {
        let progress = Progress {
            delivered: self.whole(delivered),
            pipe: self.whole(self.scoreboard.pipe()),
            ssthresh: self.ssthresh,
            mss: self.mss,
            safe,
        };
        self.cwnd = self.prr.on_ack(&progress);
    }

    /// Begins a reduction of the window over a round trip because of a mark.
    pub fn reduce_for_mark(&mut self, now: Instant, acked: u64) {
        self.stats.ecn_reductions += 1;
        let cwnd = self.cwnd;
        self.ssthresh = self.reduced_window(now, Signal::Ecn, acked);
        self.begin_reduction(cwnd);
    }

    /// Enters recovery, in which losses are marked already.
    pub fn enter_recovery(&mut self) {
        self.stats.fast_recoveries += 1;
        self.phase = Phase::Recovery;
        self.recovery_point = self.snd_nxt;
        self.recovery.rescued = false;
        self.recovery.first_partial = true;
        self.limited = 0;
        if !self.config.prr {
            self.cwnd = self.ssthresh;
        }
    }
}
