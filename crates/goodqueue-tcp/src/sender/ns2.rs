//! ns-2.35's one-way agents, `Agent/TCP/Sack1` and, without SACK, `Agent/TCP/Newreno`: what they do otherwise than the RFCs.
//!
//! They count segments. The window is a real number of which the whole part counts. What is in the network during recovery
//! is a number that each ACK lowers and each transmission raises; whatever is not SACKed below what is counts as lost; the
//! third duplicate sends one segment and nothing else. A timeout forgets what was SACKed and starts again from the oldest
//! segment, and every timeout halves the threshold. One segment per round trip is timed, by a coarse clock of the agent's
//! own.

use goodqueue::{Duration, Instant};

use super::reaction::News;
use super::{Phase, Sender};
use crate::congestion::{CongestionControl, Signal};
use crate::scoreboard::DUP_THRESH;
use crate::segment::{Flags, Segment};

/// Segments that one duplicate ACK may let out in recovery without SACK.
const BURST_ON_DUPLICATE: u32 = 2;

/// What such an agent remembers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ns2 {
    /// Segments in the network during recovery; can fall below zero.
    pipe: i64,
    /// Segments by which duplicates widen the window in recovery without SACK.
    inflation: u64,
    /// The ACK at hand lets one segment out beyond the window (limited transmit).
    one_due: bool,
    /// So many more may go out on the ACK at hand.
    burst: u32,
    /// The ACK at hand began recovery: the oldest segment goes out and no other.
    begins: bool,
    /// No duplicate counts until an ACK of new data comes.
    timed_out: bool,
    /// Position of the segment to send next (`t_seqno_`); after a timeout it goes back to the oldest.
    next: u64,
    /// The segment that is timed: the sequence number after it, and when it was sent.
    timed: Option<(u64, Instant)>,
}

impl<C: CongestionControl> Sender<C> {
    pub(super) fn on_ack_as_ns2(&mut self, now: Instant, segment: &Segment, pipe_before: u64) {
        let ack = segment.ack;
        let acked = ack - self.snd_una;
        self.ns2.begins = false;
        self.window_edge = self.window_edge.max(ack + u64::from(segment.window));
        self.max_window = self.max_window.max(u64::from(segment.window));
        let mut news = News { acked, ..News::default() };
        let echo = self.ecn && segment.flags.contains(Flags::ECE);
        if acked > 0 {
            news.delivered = self.scoreboard.acknowledge(ack).delivered;
            self.snd_una = ack;
        }
        if self.phase != Phase::Recovery {
            self.on_ack_outside_recovery(now, segment, &mut news);
        } else if self.config.sack {
            self.on_ack_in_recovery(now, segment, &mut news);
        } else {
            self.on_ack_in_recovery_without_sack(now, &mut news);
        }
        let grows = news.acked > 0 && self.phase == Phase::Open;
        if self.feedback {
            self.tell(now, segment, &mut news, pipe_before, echo);
        }
        if echo && self.phase == Phase::Open && ack > self.reduction_point {
            self.stats.ecn_reductions += 1;
            self.halve(now, Signal::Ecn);
        } else if grows {
            let mss = self.mss;
            self.grow(now, &news, mss, !echo, echo);
        }
    }

    fn on_ack_outside_recovery(&mut self, now: Instant, segment: &Segment, news: &mut News) {
        if news.acked > 0 {
            self.duplicate_acks = 0;
            self.ns2.timed_out = false;
            self.front_due = false;
            if self.scoreboard.sacked() > 0 {
                self.scoreboard.forget_sacked();
            }
            self.phase = Phase::Open;
            news.rtt = self.take_timed(now);
            self.renew_timer(now);
            return;
        }
        if self.ns2.timed_out || self.scoreboard.is_empty() {
            return;
        }
        if self.config.sack {
            self.take_sacked(segment, news);
        } else {
            news.duplicate = segment.len == 0;
        }
        if !news.duplicate {
            return;
        }
        self.stats.duplicate_acks += 1;
        self.duplicate_acks += 1;
        if self.duplicate_acks < DUP_THRESH {
            self.ns2.one_due = self.config.limited_transmit;
        } else if self.duplicate_acks == DUP_THRESH && self.snd_una > self.recovery_point {
            self.start_recovery_as_ns2(now);
        } else if !self.config.sack {
            self.ns2.burst = BURST_ON_DUPLICATE;
        }
    }

    fn start_recovery_as_ns2(&mut self, now: Instant) {
        self.stats.fast_recoveries += 1;
        self.recovery_point = self.snd_nxt;
        let threshold = i64::try_from(DUP_THRESH).unwrap_or(0);
        self.ns2.pipe = self.segments(self.scoreboard.outstanding()) - threshold;
        self.ns2.inflation = DUP_THRESH;
        self.ns2.begins = true;
        self.first_partial = true;
        self.ns2.timed = None;
        self.scoreboard.forget_lost();
        self.halve(now, Signal::Loss);
        self.phase = Phase::Recovery;
        self.front_due = true;
        self.timer = Some(now + self.rtt.rto());
    }

    /// Window and threshold after congestion: the threshold counts whole segments.
    pub(super) fn halve(&mut self, now: Instant, signal: Signal) {
        self.cwnd = self.reduced_window(now, signal, 0);
        self.ssthresh = (self.cwnd - self.cwnd % self.mss).max(2 * self.mss);
    }

    fn on_ack_in_recovery(&mut self, now: Instant, segment: &Segment, news: &mut News) {
        self.ns2.pipe -= 1;
        if segment.ack >= self.recovery_point {
            self.end_recovery_as_ns2(now, news);
            self.recovery_point = 0;
            return;
        }
        if news.acked > 0 {
            self.ns2.pipe -= 1;
            self.rtt.clear_back_off();
            self.renew_timer(now);
        }
        self.take_sacked(segment, news);
        self.duplicate_acks += u64::from(news.duplicate);
        news.acked = 0;
    }

    fn end_recovery_as_ns2(&mut self, now: Instant, news: &mut News) {
        self.phase = Phase::Open;
        self.duplicate_acks = 0;
        self.front_due = false;
        self.scoreboard.forget_sacked();
        news.rtt = self.take_timed(now);
        self.renew_timer(now);
        if self.config.sack {
            news.acked = 0; // the window does not grow on this one
        }
    }

    /// Recovery without SACK: duplicates widen the window by a segment each, a partial ACK narrows it by what it covers
    /// less one, and sends the next hole (RFC 6582 §3.2).
    fn on_ack_in_recovery_without_sack(&mut self, now: Instant, news: &mut News) {
        self.ns2.burst = BURST_ON_DUPLICATE;
        if news.acked == 0 {
            self.stats.duplicate_acks += 1;
            self.duplicate_acks += 1;
            self.ns2.inflation += 1;
            return;
        }
        if self.snd_una >= self.recovery_point {
            self.ns2.inflation = 0;
            self.end_recovery_as_ns2(now, news);
            return;
        }
        let covered = u64::try_from(self.segments(news.acked)).unwrap_or(0);
        if self.ns2.inflation > covered {
            self.ns2.inflation -= covered - 1;
        } else {
            self.cwnd = self.cwnd.saturating_sub((covered - self.ns2.inflation) * self.mss).max(self.mss);
            self.ns2.inflation = 1;
        }
        if self.ns2.timed.is_some_and(|(end, _)| self.snd_una >= end) {
            self.ns2.timed = None;
            self.rtt.clear_back_off();
        }
        if self.first_partial {
            self.first_partial = false;
            self.renew_timer(now);
        }
        self.front_due = true;
        news.acked = 0;
    }

    fn take_sacked(&mut self, segment: &Segment, news: &mut News) {
        let (sacked, invalid) = self.scoreboard.sack(segment.ack, &segment.sack);
        self.stats.invalid_sack_blocks += invalid;
        news.sacked = sacked;
        news.delivered += sacked;
        news.duplicate = sacked > 0;
    }

    /// The RTT of the segment that is timed, if it was acknowledged.
    fn take_timed(&mut self, now: Instant) -> Option<Duration> {
        let (end, sent) = self.ns2.timed?;
        if self.snd_una < end {
            return None;
        }
        self.ns2.timed = None;
        self.rtt.sample(self.between_ticks(sent, now));
        Some(now.since(sent))
    }

    /// From the tick before `sent` to the tick before `now`.
    pub(super) fn between_ticks(&self, sent: Instant, now: Instant) -> Duration {
        let tick = self.config.tick.as_nanos().max(1);
        let ticks = |at: Instant| (at + self.config.tick_phase).as_nanos() / tick;
        Duration::from_nanos((ticks(now) - ticks(sent)) * tick)
    }

    fn renew_timer(&mut self, now: Instant) {
        self.timer = (!self.scoreboard.is_empty()).then(|| now + self.rtt.rto());
    }

    /// How many segments so many bytes are. The FIN is a part of the last one.
    fn segments(&self, bytes: u64) -> i64 {
        i64::try_from(bytes.saturating_sub(u64::from(self.fin_sent)).div_ceil(self.mss)).unwrap_or(i64::MAX)
    }

    /// A segment is sent for the first time.
    pub(super) fn time_as_ns2(&mut self, now: Instant) {
        self.ns2.next = self.scoreboard.next_position();
        if self.ns2.timed.is_none() {
            self.ns2.timed = Some((self.snd_nxt, now));
        }
    }

    /// The retransmission timer ran out.
    pub(super) fn time_out_as_ns2(&mut self, now: Instant) {
        self.halve(now, Signal::Timeout);
        self.ns2 = Ns2 { timed_out: self.config.sack, next: self.scoreboard.first(), ..Ns2::default() };
    }

    /// The SYN was lost: so the window begins at one segment and avoids congestion at once; the timeout stays backed off.
    pub(super) fn begin_slowly_as_ns2(&mut self) {
        self.cwnd = self.mss;
        self.ssthresh = 2 * self.mss;
    }

    /// What may be sent now, if anything.
    pub(super) fn send_as_ns2(&mut self, now: Instant) -> Option<Segment> {
        let whole = self.cwnd - self.cwnd % self.mss;
        if self.phase == Phase::Recovery && self.config.sack {
            if self.ns2.begins {
                return None;
            }
            let room = self.segments(whole) - self.ns2.pipe;
            if room <= 0 {
                return None;
            }
            let segment = match self.scoreboard.next_hole() {
                Some((position, record)) => Some(self.retransmit(now, position, record)),
                None => self.next_as_ns2(now),
            };
            self.ns2.pipe += i64::from(segment.is_some());
            return segment;
        }
        let mut window = whole;
        if self.phase == Phase::Recovery {
            if self.ns2.burst == 0 {
                return None;
            }
            self.ns2.burst -= 1;
            window += self.ns2.inflation * self.mss;
        } else if self.duplicate_acks >= DUP_THRESH && self.ns2.burst > 0 {
            self.ns2.burst -= 1;
        } else if self.duplicate_acks > 0 {
            if !core::mem::take(&mut self.ns2.one_due) {
                return None;
            }
            window = self.cwnd + self.duplicate_acks * self.mss;
        }
        self.ns2.next = self.ns2.next.max(self.scoreboard.first());
        let end = match self.scoreboard.record(self.ns2.next) {
            // A FIN takes no room in the window.
            Some(record) => (record.seq + u64::from(record.len)).min(self.data_end),
            None => self.snd_nxt + self.mss.min(self.data_end.saturating_sub(self.snd_nxt)),
        };
        // A window of less than a segment, which a controller may ask for, counts as one.
        if end.saturating_sub(self.snd_una) > window.max(self.mss) {
            return None;
        }
        self.next_as_ns2(now)
    }

    /// Sends the segment whose turn it is: one that a timeout went back to, or a new one.
    fn next_as_ns2(&mut self, now: Instant) -> Option<Segment> {
        let position = self.ns2.next.max(self.scoreboard.first());
        if let Some(record) = self.scoreboard.record(position) {
            self.ns2.next = position + 1;
            return Some(self.retransmit(now, position, record));
        }
        let more = self.snd_nxt < self.data_end || (self.closing && !self.fin_sent);
        if more { self.new_data(now, 0) } else { None }
    }
}
