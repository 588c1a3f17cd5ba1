//! Reductions that are taken back because no segment was lost. DSACK (RFC 3708), timestamps (RFC
//! 4015) and, after a timeout, F-RTO (RFC 5682) show that.
//!
//! A stack that undoes reductions owns an [`UndoState`].

use goodqueue::Instant;

use super::ack_changes::AckChanges;
use super::{Core, Phase, TimerPurpose};
use crate::clock::ticks;
use crate::config::UndoRule;
use crate::congestion::CongestionControl;
use crate::scoreboard::Record;

/// The window before a reduction that may be taken back.
#[derive(Clone, Copy, Debug)]
pub struct Undo {
    /// Congestion window in bytes.
    pub cwnd: u64,
    /// Slow-start threshold in bytes.
    pub ssthresh: u64,
    /// SND.UNA at the reduction.
    pub since: u64,
    /// Retransmissions minus reported duplicates; `None` before the first retransmission. At 0
    /// nothing was lost.
    pub retransmissions: Option<u64>,
    /// Neither duplicates nor timestamps are evidence, since a segment had been sent again before.
    pub needs_test: bool,
}

/// State of undoing.
#[derive(Clone, Copy, Debug, Default)]
pub struct UndoState {
    /// F-RTO: the timeout may have been spurious.
    pub timeout_in_doubt: bool,
    /// F-RTO: new data leaves before lost segments, after the first ACK (RFC 5682 §3.1 step 2b).
    pub new_data_first: bool,
    /// The last reduction may yet be taken back.
    pub undo: Option<Undo>,
    /// When a segment was first sent again, since the last time at which no such segment was out.
    pub resent_since: Option<Instant>,
}

impl UndoState {
    /// Before a reduction that may be wrong.
    pub fn remember_window(&mut self, core: &Core) {
        if core.config.undo == UndoRule::Never {
            return;
        }
        self.undo = Some(Undo {
            cwnd: core.cwnd,
            ssthresh: core.ssthresh,
            since: core.snd_una,
            retransmissions: None,
            needs_test: false,
        });
    }

    /// After a mark the window is not restored, even if nothing was lost.
    pub fn forgo_window(&mut self) {
        if let Some(undo) = &mut self.undo {
            // `undo` takes the larger of old and new, so zeros change nothing.
            (undo.cwnd, undo.ssthresh) = (0, 0);
        }
    }

    /// The receiver reported a duplicate that begins at `start`.
    pub fn on_duplicate_report(&mut self, start: u64) {
        if let Some(undo) = &mut self.undo
            // Duplicates of data below SND.UNA at the reduction are not copies that the reduction
            // caused (Linux `undo_marker`).
            && start >= undo.since
        {
            undo.retransmissions = undo.retransmissions.map(|count| count.saturating_sub(1));
        }
    }

    /// A segment was sent again. If it is the oldest, the timeout counts from now.
    pub fn note_resent(&mut self, core: &mut Core, now: Instant, record: Record) {
        self.resent_since.get_or_insert(now);
        if let Some(undo) = &mut self.undo {
            undo.retransmissions = Some(undo.retransmissions.unwrap_or(0) + 1);
        }
        // A timer that waits for a reordered segment keeps running (Linux
        // `tcp_xmit_retransmit_queue()`).
        if record.seq <= core.snd_una && core.purpose != TimerPurpose::Reordering {
            core.purpose = TimerPurpose::Timeout;
            core.set_retransmission_timer(now);
        }
    }

    /// In the open phase, with no retransmission out: the next one is the first again.
    pub fn forget_resent(&mut self, core: &Core) {
        if core.phase == Phase::Open
            && self.resent_since.is_some()
            && !core.scoreboard.has_resent()
            && !core.scoreboard.is_front_resent()
        {
            self.resent_since = None;
        }
    }

    /// True if every segment that was sent again was reported as a duplicate (RFC 3708).
    pub fn were_all_duplicates(&self) -> bool {
        self.undo.is_some_and(|undo| undo.retransmissions == Some(0) && !undo.needs_test)
    }

    /// True if the segment that the ACK answers was sent before any segment was sent again (Eifel,
    /// RFC 3522 §3.2), or none was.
    pub fn answers_original(&self, answered: Option<Instant>) -> bool {
        self.undo.is_some_and(|undo| !undo.needs_test) && {
            let first = self.resent_since;
            // Timestamps are whole ticks in Linux. Within one tick the order of the two is unknown.
            first.is_none_or(|first| answered.is_some_and(|sent| ticks(sent) < ticks(first)))
        }
    }

    /// Takes the last reduction back (RFC 4015 §3.2). `unmark`: no segment counts as lost any more.
    pub fn undo(&mut self, core: &mut Core, unmark: bool) {
        if let Some(undo) = self.undo.take() {
            core.stats.undone += 1;
            core.controller.on_undo();
            // A window that has grown beyond the old one stays (`tcp_reno_undo_cwnd()`).
            core.cwnd = core.cwnd.max(undo.cwnd);
            if undo.ssthresh > core.ssthresh {
                core.ssthresh = undo.ssthresh;
                // The receiver must not hear of a reduction that was taken back
                // (`tcp_ecn_withdraw_cwr()`).
                core.cwr_due = false;
            }
            if unmark {
                core.scoreboard.unmark_lost();
            }
            core.phase = Phase::Open;
            core.due.front = false;
            core.timed_out_at = None;
        }
    }

    /// Ends a recovery, a reduction or the time after a timeout if the ACK completes it. Returns
    /// false if the ACK only shows reordering and no losses. `any_ack_tells`: after a timeout, an
    /// ACK that does not advance can also show that the timeout was wrong.
    #[cold]
    pub fn end_phase(
        &mut self,
        core: &mut Core,
        ack: u64,
        answered: Option<Instant>,
        news: &AckChanges,
        any_ack_tells: bool,
    ) -> bool {
        let is_over = ack >= core.recovery_point;
        match core.phase {
            Phase::Recovery if is_over => {
                if self.were_all_duplicates() || self.answers_original(answered) {
                    self.undo(core, false);
                } else {
                    core.cwnd = core.ssthresh;
                    core.phase = Phase::Open;
                }
                if core.controls_all {
                    core.phase = Phase::Open;
                }
            }
            Phase::Recovery if news.acked > 0 && self.answers_original(answered) => {
                // A hole was filled by a segment that came late.
                // Linux waits until no retransmission is out, and marks no more losses until then
                // (`tcp_try_undo_partial()`).
                if core.scoreboard.has_resent() {
                    return false;
                }
                self.undo(core, true);
            }
            Phase::Recovery if self.were_all_duplicates() => self.undo(core, false),
            // Strictly above, as in Linux: only then has a segment with CWR reached the receiver.
            Phase::Reduction if ack > core.recovery_point => {
                if !core.config.rate_halving {
                    core.cwnd = core.ssthresh;
                }
                core.phase = Phase::Open;
            }
            Phase::Loss => self.doubt_timeout(core, answered, news, is_over, any_ack_tells),
            _ => {}
        }
        if core.phase == Phase::Open {
            self.timeout_in_doubt = false;
        }
        true
    }

    /// An ACK after a timeout. F-RTO (RFC 5682 §3.1): the first ACK that advances asks for new data
    /// (step 2b); SACKs of that data show the loss to be real (step 3a).
    fn doubt_timeout(
        &mut self,
        core: &mut Core,
        answered: Option<Instant>,
        news: &AckChanges,
        is_over: bool,
        any_ack_tells: bool,
    ) {
        let advanced = news.acked > 0;
        let original = self.timeout_in_doubt && core.scoreboard.arrivals().was_not_lost;
        let tells = advanced || any_ack_tells;
        if original || (tells && (self.were_all_duplicates() || self.answers_original(answered))) {
            self.undo(core, true);
        } else if is_over {
            core.phase = Phase::Open;
        } else if self.timeout_in_doubt {
            if core.snd_nxt > core.recovery_point {
                self.timeout_in_doubt &= news.sacked == 0;
            } else if advanced {
                core.recovery_point = core.snd_nxt;
                self.new_data_first = true;
            }
        }
    }

    /// Whether new data goes before a lost segment (RFC 5682 §3.1 step 2b). Ends the test if no new
    /// data may be sent.
    #[cold]
    pub fn next_step(&mut self, core: &Core, pipe: u64) -> NextStep {
        let usable = core.offered.edge.saturating_sub(core.snd_nxt);
        let payload = core.next_payload();
        if payload > 0 && payload <= usable && pipe + payload <= core.cwnd {
            return NextStep::Send(payload);
        }
        if core.snd_nxt > core.recovery_point {
            return NextStep::Wait;
        }
        self.new_data_first = false;
        self.timeout_in_doubt = false;
        NextStep::Mend
    }
}

/// The next step of F-RTO.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NextStep {
    /// Send this number of bytes of new data.
    Send(u64),
    /// Nothing before the next ACK.
    Wait,
    /// The lost segments.
    Mend,
}
