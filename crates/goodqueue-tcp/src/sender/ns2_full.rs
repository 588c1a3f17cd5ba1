//! ns-2.35's `Agent/TCP/FullTcp/Sack`: what it does otherwise than the RFCs and than ns-2's one-way agents.
//!
//! It is a TCP both ways, after 4.4BSD, that counts bytes. The SYN/ACK is acknowledged before data follows. Three duplicates begin
//! recovery, in which the bytes in the network are counted: lowered by a segment for each ACK, by two for one that advances. What
//! lies below something SACKed is sent again once, from where the last recovery stopped looking; there is no limited transmit. The timer
//! begins anew with the timeout of before the ACK's RTT sample, and any ACK that advances ends the back-off. A timeout forgets
//! what was SACKed and starts again from the oldest segment, but leaves the count of what is in the network. The last part of what
//! the application wrote, if it is no full segment, waits until all else is acknowledged (Nagle). An idle time longer than the
//! unbounded timeout sets the window to the initial one.

use goodqueue::{Duration, Instant};

use super::reaction::News;
use super::{FIRST_BYTE, Phase, Sender};
use crate::clock::sent_at;
use crate::congestion::{CongestionControl, Signal};
use crate::scoreboard::DUP_THRESH;
use crate::segment::{Flags, Segment};

/// What such an agent remembers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ns2Full {
    /// Position of the segment to send next (`t_seqno_`); after a timeout it goes back to the oldest.
    next: u64,
    /// Position from which holes are looked for (`h_seqno_`).
    hole: u64,
    /// Bytes in the network, as counted since recovery began (`pipe_`); can fall below zero.
    pipe: i64,
    /// Three duplicates came, and no ACK beyond what was sent by then (`fastrecov_`).
    recovers: bool,
    /// The count decides what may be sent, not the window (`pipectrl_`).
    counts: bool,
    /// One segment may go out whatever the window says.
    forced: bool,
    /// The segment that is timed: the sequence number after its first byte, and when it was sent.
    timed: Option<(u64, Instant)>,
}

impl<C: CongestionControl> Sender<C> {
    /// The SYN/ACK came, after so many timeouts: they leave a threshold of two segments and whatever is lost in the first window
    /// to the timer.
    pub(super) fn on_syn_ack_as_ns2_full(&mut self, now: Instant, segment: &Segment) {
        if self.stats.syn_retransmits > 0 {
            self.ssthresh = 2 * self.mss;
            self.recovery_point = FIRST_BYTE;
        }
        if self.config.timestamps {
            self.take_stamp_as_ns2_full(now, segment);
        } else if self.stats.syn_retransmits == 0 {
            self.rtt.sample(self.between_ticks(self.last_sent, now));
        }
    }

    fn take_stamp_as_ns2_full(&mut self, now: Instant, segment: &Segment) -> Duration {
        let rtt = now.since(sent_at(now, segment.ts_ecr));
        let tick = self.config.tick.as_nanos().max(1);
        self.rtt.sample(Duration::from_nanos((rtt.as_nanos() + tick / 2) / tick * tick));
        rtt
    }

    pub(super) fn on_ack_as_ns2_full(&mut self, now: Instant, segment: &Segment, pipe_before: u64) {
        let Some(mut full) = self.ns2_full.take() else { return };
        let ack = segment.ack;
        self.window_edge = self.window_edge.max(ack + u64::from(segment.window));
        self.max_window = self.max_window.max(u64::from(segment.window));
        let mut news = News { acked: ack - self.snd_una, ..News::default() };
        let echo = self.ecn && segment.flags.contains(Flags::ECE);
        let timer_ran = self.timer.is_some();
        if news.acked > 0 {
            news.delivered = self.scoreboard.acknowledge(ack).delivered;
            self.snd_una = ack;
        }
        if self.config.sack && !segment.sack.is_empty() {
            let (sacked, invalid) = self.scoreboard.sack(ack, &segment.sack);
            self.stats.invalid_sack_blocks += invalid;
            news.sacked = sacked;
            news.delivered += sacked;
        }
        if full.recovers {
            full.pipe -= self.mss_as_i64();
        }
        let mut grows = false;
        if news.acked == 0 {
            self.stats.duplicate_acks += 1;
            self.duplicate_acks = if timer_ran { self.duplicate_acks + 1 } else { 0 };
            if self.duplicate_acks == DUP_THRESH {
                self.recover_as_ns2_full(now, &mut full);
            }
        } else {
            self.phase = Phase::Open;
            self.timer = (!self.scoreboard.is_empty()).then(|| now + self.rtt.rto());
            full.next = full.next.max(self.scoreboard.first());
            self.take_rtt_as_ns2_full(now, segment, &mut full, &mut news);
            let is_partial = full.recovers && ack < self.recovery_point;
            if is_partial {
                full.pipe -= self.mss_as_i64();
            } else {
                full.recovers = false;
                full.counts = false;
                self.duplicate_acks = 0;
            }
            full.hole = full.hole.max(self.scoreboard.first());
            full.forced = self.scoreboard.is_empty();
            grows = !is_partial;
        }
        self.ns2_full = Some(full);
        if self.feedback {
            self.tell(now, segment, &mut news, pipe_before, echo);
        }
        if echo && ack > self.reduction_point {
            self.stats.ecn_reductions += 1;
            self.halve(now, Signal::Ecn);
        } else if grows {
            let mss = self.mss;
            self.grow(now, &news, mss, !echo, echo);
        }
    }

    fn take_rtt_as_ns2_full(&mut self, now: Instant, segment: &Segment, full: &mut Ns2Full, news: &mut News) {
        if self.config.timestamps {
            news.rtt = Some(self.take_stamp_as_ns2_full(now, segment));
        } else if let Some((_, sent)) = full.timed.filter(|timed| self.snd_una >= timed.0) {
            full.timed = None;
            self.rtt.sample(self.between_ticks(sent, now));
            news.rtt = Some(now.since(sent));
        } else {
            self.rtt.clear_back_off();
        }
    }

    /// The third duplicate: recovery, unless what is missing was sent before the last one began.
    fn recover_as_ns2_full(&mut self, now: Instant, full: &mut Ns2Full) {
        full.recovers = true;
        let out = self.scoreboard.outstanding() - self.scoreboard.sacked();
        full.pipe = i64::try_from(out).unwrap_or(i64::MAX);
        if self.snd_una <= self.recovery_point {
            return;
        }
        self.stats.fast_recoveries += 1;
        self.halve(now, Signal::Loss);
        full.timed = None;
        full.counts = true;
        full.hole = self.scoreboard.first() + 1;
        self.recovery_point = self.snd_nxt;
        self.front_due = true;
        self.timer = Some(now + self.rtt.rto());
    }

    /// The retransmission timer ran out.
    pub(super) fn time_out_as_ns2_full(&mut self, now: Instant) {
        self.halve(now, Signal::Timeout);
        let first = self.scoreboard.first();
        if let Some(full) = &mut self.ns2_full {
            full.next = first;
            full.recovers = false;
            full.timed = None;
            full.forced = true;
        }
    }

    /// What may be sent now, if anything.
    pub(super) fn send_as_ns2_full(&mut self, now: Instant) -> Option<Segment> {
        let mut full = self.ns2_full.take()?;
        let segment = self.send_for_ns2_full(now, &mut full);
        self.ns2_full = Some(full);
        segment
    }

    fn send_for_ns2_full(&mut self, now: Instant, full: &mut Ns2Full) -> Option<Segment> {
        let forced = core::mem::take(&mut full.forced);
        full.next = full.next.max(self.scoreboard.first());
        let mut position = full.next;
        if self.snd_una < self.recovery_point
            && let Some(hole) = self.scoreboard.hole_from(full.hole)
        {
            position = hole;
            full.hole = full.hole.max(hole);
        }
        let record = self.scoreboard.record(position);
        let seq = record.map_or(self.snd_nxt, |record| record.seq);
        let window = self.cwnd - self.cwnd % self.mss;
        let edge = self.snd_una.saturating_add(window);
        let allowed =
            if full.counts { full.pipe < i64::try_from(window).unwrap_or(i64::MAX) } else { seq < edge };
        if !forced && !allowed {
            return None;
        }
        let segment = match record {
            Some(record) => self.retransmit(now, position, record),
            None => self.new_as_ns2_full(now, full, edge)?,
        };
        let length = i64::from(segment.len);
        full.hole += u64::from(full.hole == position);
        full.next += u64::from(full.next == position);
        full.pipe += length;
        Some(segment)
    }

    /// New data, or the FIN; `edge` is that of the congestion window.
    fn new_as_ns2_full(&mut self, now: Instant, full: &mut Ns2Full, edge: u64) -> Option<Segment> {
        let left = self.data_end.saturating_sub(self.snd_nxt);
        if left == 0 && (!self.closing || self.fin_sent) {
            return None;
        }
        let is_quiet = self.scoreboard.is_empty();
        let room = if full.counts { u64::MAX } else { edge.saturating_sub(self.snd_nxt) };
        let empties = left <= self.mss.min(room);
        let fills = left.min(room) >= self.mss;
        if left > 0 && !fills && !(empties && is_quiet) {
            return None;
        }
        if is_quiet && left > 0 {
            self.restart_after_idle_as_ns2_full(now);
        }
        if full.timed.is_none() {
            full.timed = Some((self.snd_nxt + 1, now));
        }
        self.new_data(now, 0)
    }

    fn restart_after_idle_as_ns2_full(&mut self, now: Instant) {
        if self.config.idle_restart
            && self.stats.data_segments > 0
            && now.since(self.last_sent) > self.rtt.unbounded()
        {
            self.stats.idle_restarts += 1;
            self.controller.on_idle(now, now.since(self.last_sent));
            self.cwnd = self.mss * u64::from(self.config.iw);
        }
    }

    fn mss_as_i64(&self) -> i64 {
        i64::try_from(self.mss).unwrap_or(i64::MAX)
    }
}
