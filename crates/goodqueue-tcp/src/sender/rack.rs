//! RACK-TLP (RFC 8985), and what Linux does with it: tail loss probes, and taking reductions back.

use goodqueue::{Duration, Instant};

use super::{Phase, Purpose, Sender, Undo};
use crate::clock::ticks;
use crate::congestion::{CongestionControl, Signal};
use crate::prr::Prr;
use crate::scoreboard::{DUP_THRESH, Found, Record};
use crate::segment::Segment;

/// Least time that a timer waits beyond what it waits for: two ticks of a 1 kHz clock (Linux `TCP_TIMEOUT_MIN`).
const TIMER_SLACK: Duration = Duration::from_millis(2);
/// What a probe waits longer if one segment alone is out, as its ACK may be delayed: Linux `TCP_RTO_MIN`, RFC 8985 §7.2
/// `WCDelAckT`.
const DELAYED_ACK: Duration = Duration::from_millis(200);
/// Least time that a probe waited before RACK came.
const LEAST_PROBE_WAIT: Duration = Duration::from_millis(10);
/// Greatest multiple of the reordering window (RFC 8985 §6.2 step 4).
const MAX_STEPS: u32 = 255;

/// How long a probe waited before RACK came (draft-dukkipati-tcpm-tcp-loss-probe, as in Linux 3.10).
fn probe_wait_before_rack(srtt: Duration, alone: bool) -> Duration {
    let most =
        if alone { srtt + Duration::from_nanos(srtt.as_nanos() / 2) + DELAYED_ACK } else { LEAST_PROBE_WAIT };
    srtt.saturating_mul(2).max(most).max(LEAST_PROBE_WAIT)
}

impl<C: CongestionControl> Sender<C> {
    /// Takes the arrivals of this ACK and marks what they show to be lost (RFC 8985 §6.2). Returns whether a
    /// retransmission was lost, and whether the timer now waits for a reordered segment.
    pub(super) fn detect_losses(&mut self, now: Instant) -> Found {
        let arrivals = *self.scoreboard.arrivals();
        self.rack.reordered |= arrivals.reordered;
        let Some(newest) = arrivals.newest else { return Found::default() };
        // Linux's, and not always that of the newest (`tcp_rack_advance`).
        self.rack.rtt = now.since(arrivals.highest.1);
        self.rack.newest = self.rack.newest.max(Some(newest));
        let found = self.mark_late(now);
        if let Some(wait) = found.next {
            self.timer = Some(self.config.timers.expiry(now, wait + TIMER_SLACK));
            self.purpose = Purpose::Reordering;
        }
        found
    }

    fn mark_late(&mut self, now: Instant) -> Found {
        let Some(newest) = self.rack.newest else { return Found::default() };
        let wait = self.rack.rtt + self.reordering_window();
        self.scoreboard.detect(now, newest, wait)
    }

    /// RFC 8985 §6.2 step 4: nothing if no reordering was ever seen and the evidence is good.
    fn reordering_window(&self) -> Duration {
        let evident = matches!(self.phase, Phase::Recovery | Phase::Loss)
            || self.scoreboard.sacked() >= DUP_THRESH * self.mss;
        if !self.rack.reordered && evident {
            return Duration::ZERO;
        }
        let quarter = self.rtt.min_rtt().as_nanos() / 4;
        let window = Duration::from_nanos(quarter.saturating_mul(u64::from(self.rack.steps)));
        window.min(self.rtt.srtt().unwrap_or(Duration::ZERO))
    }

    /// The receiver reported a duplicate: reordering was larger than thought, or a reduction was wrong.
    pub(super) fn on_duplicate_report(&mut self, start: u64) {
        if self.rack.reordered {
            self.rack.steps = (self.rack.steps + 1).min(MAX_STEPS);
        }
        if let Some(undo) = &mut self.rack.undo
            && start >= undo.since
        {
            undo.retransmissions = undo.retransmissions.map(|count| count.saturating_sub(1));
        }
    }

    /// A segment will not come any more (RFC 8985 §6.3). Returns false if the timer has nothing to do here.
    pub(super) fn on_reordering_timer(&mut self, now: Instant) -> bool {
        if self.scoreboard.is_empty() {
            return true;
        }
        let lost_before = self.scoreboard.lost();
        let found = self.mark_late(now);
        if let Some(rates) = &mut self.rates {
            rates.on_lost(found.lost);
        }
        if let Some(wait) = found.next {
            self.timer = Some(self.config.timers.expiry(now, wait + TIMER_SLACK));
            self.purpose = Purpose::Reordering;
        } else {
            self.timer = Some(self.timeout_of_front(now));
        }
        let lost = self.scoreboard.lost() > lost_before;
        if lost && self.phase != Phase::Recovery {
            self.begin_recovery(now, 0);
            if !self.controls_all {
                self.reduce_rate(self.mss, false);
            }
        }
        true
    }

    /// The timeout as counted from when the oldest segment was sent.
    pub(super) fn timeout_of_front(&self, now: Instant) -> Instant {
        let sent = self.scoreboard.front_sent().unwrap_or(now);
        let wait = (sent + self.rtt.rto()).max(now + Duration::from_nanos(1)).since(now);
        self.config.timers.expiry(now, wait)
    }

    /// Sets the timer for a probe, if one is called for (RFC 8985 §7.2); `afresh`: the timeout counts from now.
    /// Returns false if not.
    pub(super) fn schedule_probe(&mut self, now: Instant, afresh: bool) -> bool {
        if !self.config.tail_loss_probe
            || self.persisting
            || self.scoreboard.is_empty()
            || !matches!(self.phase, Phase::Open | Phase::Reduction)
            || self.scoreboard.sacked() > 0
            || (self.config.fack() && !self.is_quiet())
        {
            return false;
        }
        let alone = self.scoreboard.outstanding() <= self.mss + 1; // a FIN may go with it
        let wait = match self.rtt.srtt() {
            Some(srtt) if self.config.fack() => probe_wait_before_rack(srtt, alone),
            Some(srtt) => srtt.saturating_mul(2) + if alone { DELAYED_ACK } else { TIMER_SLACK },
            None => Duration::from_secs(1),
        };
        let timeout = if afresh {
            self.rtt.rto()
        } else {
            let sent = self.scoreboard.front_sent().unwrap_or(now);
            (sent + self.rtt.rto()).max(now + Duration::from_nanos(1)).since(now)
        };
        self.timer = Some(self.config.timers.expiry(now, wait.min(timeout)));
        self.purpose = Purpose::Probe;
        true
    }

    /// The probe timer ran out (RFC 8985 §7.3). Returns false if there is nothing to probe.
    pub(super) fn probe_tail(&mut self, now: Instant) -> bool {
        if self.scoreboard.is_empty() {
            return true;
        }
        self.timer = Some(self.timeout_of_front(now));
        if self.probed.is_some() && !self.config.fack() {
            return true; // one at a time
        }
        let fits = self.window_edge.saturating_sub(self.snd_nxt)
            >= self.mss.min(self.sendable().saturating_sub(self.snd_nxt));
        let new = self.snd_nxt < self.sendable() && fits;
        if self.probed.is_some() && !new {
            return true;
        }
        self.stats.tail_loss_probes += 1;
        self.tail_due = Some(new);
        true
    }

    /// Sends the probe that is due.
    #[cold]
    pub(super) fn send_tail_probe(&mut self, now: Instant, new: bool) -> Option<Segment> {
        self.tail_due = None;
        let segment = if new {
            let payload = self.mss.min(self.sendable().saturating_sub(self.snd_nxt));
            let segment = self.first_transmission(now, payload);
            self.purpose = Purpose::Timeout;
            Some(segment)
        } else {
            let (position, record) = self.scoreboard.rescue()?;
            let since = self.rack.resent_since;
            self.scoreboard.cut_out(position);
            let segment = self.retransmit(now, position, record);
            self.rack.resent_since = since; // a probe does not count
            Some(segment)
        };
        if !new || !self.config.fack() {
            self.probed = Some((self.snd_nxt, !new));
        }
        // RFC 8985 §7.3: the timeout counts from the probe.
        self.purpose = Purpose::Timeout;
        self.timer = Some(self.config.timers.expiry(now, self.rtt.rto()));
        segment
    }

    /// An ACK while the answer to a probe is awaited (RFC 8985 §7.4).
    pub(super) fn on_probe_answer(&mut self, ack: u64, is_plain_duplicate: bool, duplicate_reported: bool) {
        let Some((high, again)) = self.probed else { return };
        if ack < high {
            return;
        }
        if !again || duplicate_reported {
            self.probed = None;
        } else if ack > high {
            // The probe mended the only loss: that was congestion as well.
            self.probed = None;
            if self.phase == Phase::Open {
                self.ssthresh = self.reduced_window(self.last_sent, Signal::Loss, 0);
                self.cwnd = self.cwnd.min(self.ssthresh);
            }
        } else if is_plain_duplicate {
            self.probed = None;
        }
    }

    /// A segment went out again.
    pub(super) fn note_resent(&mut self, now: Instant, record: Record) {
        self.rack.resent_since.get_or_insert(now);
        if let Some(undo) = &mut self.rack.undo {
            undo.retransmissions = Some(undo.retransmissions.unwrap_or(0) + 1);
        }
        if record.seq <= self.snd_una && self.purpose != Purpose::Reordering {
            self.purpose = Purpose::Timeout;
            self.timer = Some(self.config.timers.expiry(now, self.rtt.rto()));
        }
    }

    /// Sets the timer for an early retransmit, if one is called for (RFC 5827 §3.2, as Linux has it): some of fewer than four
    /// segments were SACKed, nothing was sent again, and there is nothing else to send.
    pub(super) fn schedule_early_retransmit(&mut self, now: Instant) {
        let out = self.scoreboard.outstanding();
        let called_for = out < 4 * self.mss
            && matches!(self.phase, Phase::Open | Phase::Reduction)
            && self.scoreboard.sacked() > 0
            && !self.scoreboard.has_resent()
            && !self.rack.reordered
            && (self.snd_nxt >= self.data_end || self.scoreboard.pipe() + self.mss > self.cwnd);
        if called_for && self.purpose != Purpose::Early {
            let quarter = Duration::from_nanos(self.rtt.srtt().unwrap_or(Duration::ZERO).as_nanos() / 4);
            let wait = quarter.max(TIMER_SLACK).min(self.rtt.rto());
            self.timer = Some(self.config.timers.expiry(now, wait));
            self.purpose = Purpose::Early;
        }
    }

    /// The time for an early retransmit has come.
    pub(super) fn retransmit_early(&mut self, now: Instant) {
        if self.scoreboard.is_empty() {
            return;
        }
        self.timer = Some(self.timeout_of_front(now));
        if matches!(self.phase, Phase::Open | Phase::Reduction) {
            self.begin_recovery(now, 0);
            self.mark_forward(true);
        }
    }

    /// Whether a timeout is a new sign of congestion, as Linux has it: not while an earlier reduction is not answered yet,
    /// and not when the same segment times out again. `first`: it did not time out before.
    pub(super) fn timeout_reduces(&self, first: bool) -> bool {
        if !self.config.undoes() {
            return first;
        }
        match self.phase {
            Phase::Open => true,
            Phase::Loss => first || self.snd_una >= self.recovery_point,
            Phase::Recovery | Phase::Reduction => self.snd_una >= self.recovery_point,
        }
    }

    /// Before a reduction that may be wrong.
    pub(super) fn remember_window(&mut self) {
        if !self.config.undoes() {
            return;
        }
        self.rack.undo = Some(Undo {
            cwnd: self.cwnd,
            ssthresh: self.ssthresh,
            since: self.snd_una,
            retransmissions: None,
            needs_test: false,
        });
    }

    /// A mark says that the window is not to come back, even if nothing was lost.
    pub(super) fn forgo_window(&mut self) {
        if let Some(undo) = &mut self.rack.undo {
            (undo.cwnd, undo.ssthresh) = (0, 0);
        }
    }

    /// True if every segment that was sent again was reported as a duplicate (RFC 3708).
    pub(super) fn were_all_duplicates(&self) -> bool {
        self.rack.undo.is_some_and(|undo| undo.retransmissions == Some(0) && !undo.needs_test)
    }

    /// True if what the ACK answers to was sent before anything was sent again (Eifel, RFC 3522 §3.2), or nothing was.
    pub(super) fn answers_original(&self, answered: Option<Instant>) -> bool {
        self.rack.undo.is_some_and(|undo| !undo.needs_test) && {
            let first = self.rack.resent_since;
            first.is_none_or(|first| answered.is_some_and(|sent| ticks(sent) < ticks(first)))
        }
    }

    /// Takes the last reduction back (RFC 4015 §3.2); with `unmark` also what was taken for lost.
    pub(super) fn undo(&mut self, unmark: bool) {
        if let Some(undo) = self.rack.undo.take() {
            self.stats.undone += 1;
            self.controller.on_undo();
            self.cwnd = self.cwnd.max(undo.cwnd);
            if undo.ssthresh > self.ssthresh {
                self.ssthresh = undo.ssthresh;
                self.cwr_due = false;
            }
            if unmark {
                self.scoreboard.unmark_lost();
            }
            self.phase = Phase::Open;
            self.front_due = false;
            self.timed_out_at = None;
        }
    }

    /// F-RTO (RFC 5682 §3.1): what an ACK that shows nothing yet tells of a timeout in doubt. Step 2b: the first one that
    /// advances asks for new data; step 3a: SACKs of that show the loss to be real.
    pub(super) fn test_timeout(&mut self, advanced: bool, sacked: bool) {
        if self.snd_nxt > self.recovery_point {
            self.rack.timeout_in_doubt &= !sacked;
        } else if advanced {
            self.recovery_point = self.snd_nxt;
            self.rack.new_data_first = true;
        }
    }

    /// Sends new data where there are losses to mend (RFC 5682 §3.1 step 2b). The outer `None`: there is no new data that
    /// may be sent, and losses are mended at once.
    #[cold]
    pub(super) fn test_with_new_data(&mut self, now: Instant, pipe: u64) -> Option<Option<Segment>> {
        let usable = self.window_edge.saturating_sub(self.snd_nxt);
        let payload = self.mss.min(self.sendable().saturating_sub(self.snd_nxt));
        if payload > 0 && payload <= usable && pipe + payload <= self.cwnd {
            return Some(Some(self.first_transmission(now, payload)));
        }
        if self.snd_nxt > self.recovery_point {
            return Some(None);
        }
        self.rack.new_data_first = false;
        self.rack.timeout_in_doubt = false;
        None
    }

    /// Enters recovery; losses are marked already. `sacked`: bytes that this ACK was the first to SACK.
    pub(super) fn begin_recovery(&mut self, now: Instant, acked: u64) {
        self.stats.fast_recoveries += 1;
        if self.phase != Phase::Reduction {
            self.remember_window();
            let cwnd = self.cwnd;
            self.ssthresh = self.reduced_window(now, Signal::Loss, acked);
            self.prr = Prr::begin_whole(cwnd);
        } else if self.config.rack() {
            let event = self.congestion(now, Signal::Loss, acked);
            if let Some(threshold) = self.controller.on_loss_after_mark(&event) {
                self.ssthresh = threshold.max(self.mss);
            }
            self.remember_window();
            self.forgo_window();
        } else if self.config.rate_halving {
            // The reduction did not count for PRR (Linux up to 3.6).
            self.prr = Prr::begin_whole(self.cwnd);
        }
        self.phase = Phase::Recovery;
        self.recovery_point = self.snd_nxt;
        self.rescued = false;
        self.first_partial = true;
        self.limited = 0;
        if !self.config.prr {
            self.cwnd = self.ssthresh;
        }
    }
}
