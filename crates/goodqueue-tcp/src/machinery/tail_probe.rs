//! Tail loss probes (RFC 8985 §7).

use goodqueue::{Duration, Instant};

use super::{Core, Phase, TimerPurpose};
use crate::congestion::Signal;

/// Least time that a timer adds to its wait: two ticks of a 1 kHz clock (Linux `TCP_TIMEOUT_MIN`).
pub const TIMER_SLACK: Duration = Duration::from_millis(2);
/// Additional wait of a probe if a single segment is out, since its ACK may be delayed: Linux
/// `TCP_RTO_MIN`, RFC 8985 §7.2 `WCDelAckT`.
pub const DELAYED_ACK: Duration = Duration::from_millis(200);

/// How long a probe waits (RFC 8985 §7.2). `alone`: a single segment is out.
pub fn probe_wait(srtt: Duration, alone: bool) -> Duration {
    srtt.saturating_mul(2) + if alone { DELAYED_ACK } else { TIMER_SLACK }
}

impl Core {
    /// Sets the timer for a probe after `wait`, if one is called for (RFC 8985 §7.2). `afresh`: the
    /// timeout counts from now. Returns false if not.
    pub fn schedule_probe(
        &mut self,
        now: Instant,
        afresh: bool,
        wait: impl Fn(Duration, bool) -> Duration,
    ) -> bool {
        if !self.config.tail_loss_probe
            || self.persist.is_on
            || self.scoreboard.is_empty()
            || !matches!(self.phase, Phase::Open | Phase::Reduction)
            || self.scoreboard.sacked() > 0
        {
            return false;
        }
        let alone = self.scoreboard.outstanding() <= self.mss + 1; // a FIN may go with it
        let wait = match self.rtt.srtt() {
            Some(srtt) => wait(srtt, alone),
            // RFC 8985 §7.2: the wait without an SRTT.
            None => Duration::from_secs(1),
        };
        // The probe comes at the latest when the timeout would (RFC 8985 §7.2).
        let timeout = if afresh { self.rtt.rto() } else { self.wait_of_front(now) };
        self.set_timer(now, wait.min(timeout));
        self.purpose = TimerPurpose::Probe;
        true
    }

    /// The probe timer ran out (RFC 8985 §7.3). `one_at_a_time`: no probe while the answer to
    /// another is awaited.
    pub fn probe_tail(&mut self, now: Instant, one_at_a_time: bool) {
        if self.scoreboard.is_empty() {
            return;
        }
        self.timer = Some(self.timeout_of_front(now));
        if self.tail.probed.is_some() && one_at_a_time {
            return;
        }
        let fits = self.offered.edge.saturating_sub(self.snd_nxt) >= self.next_payload();
        let new = self.snd_nxt < self.sendable() && fits;
        if self.tail.probed.is_some() && !new {
            return;
        }
        self.stats.tail_loss_probes += 1;
        self.tail.due = Some(new);
    }

    /// Payload of the next new segment, as far as the application has written.
    #[inline]
    pub fn next_payload(&self) -> u64 {
        self.mss.min(self.sendable().saturating_sub(self.snd_nxt))
    }

    /// An ACK while the answer to a probe is awaited (RFC 8985 §7.4).
    pub fn on_probe_answer(&mut self, ack: u64, is_plain_duplicate: bool, duplicate_reported: bool) {
        let Some((high, again)) = self.tail.probed else { return };
        if ack < high {
            return;
        }
        if !again || duplicate_reported {
            self.tail.probed = None;
        } else if ack > high {
            // The probe repaired the only loss, which was congestion as well.
            self.tail.probed = None;
            if self.phase == Phase::Open {
                self.ssthresh = self.reduced_window(self.last_sent, Signal::Loss, 0);
                self.cwnd = self.cwnd.min(self.ssthresh);
            }
        } else if is_plain_duplicate {
            self.tail.probed = None;
        }
    }
}
