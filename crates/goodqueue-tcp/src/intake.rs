//! The part of a receiver that all stacks share: puts data in order, forms acknowledgements, echoes
//! congestion marks.
//!
//! When an acknowledgement is due is decided by the stack ([`Answer`](crate::answer::Answer)).
//! Nothing here asks which stack that is.

use alloc::boxed::Box;
use alloc::sync::Arc;

use goodqueue::{Duration, Ecn, Instant};

use crate::clock::{TICK, tick_of, ticks_between, ticks_since, timestamp};
use crate::config::{Config, MAX_WINDOW};
use crate::reassembly::{Reassembly, Stored};
use crate::receive_buffer::{ReceiveBuffer, SCALE};
use crate::segment::{Flags, SackBlocks, Segment};

/// An ACK is never delayed by more: Linux `TCP_DELACK_MAX`.
const LONGEST_DELAY: Duration = Duration::from_millis(200);
/// SACKs wait for a twentieth of the RTT of the handshake at most; the timer is late by a tenth of
/// the longest wait, as it may be (`tcp_comp_sack_delay_ns` and `tcp_comp_sack_slack_ns` of Linux).
const SACK_DELAY_SHARE: u64 = 20;
const SACK_SLACK_SHARE: u64 = 10;
/// Duplicate ACKs of a gap that are never delayed: as many as a sender needs to see a loss (RFC
/// 5681 §3.2).
const EAGER_DUPLICATES: u32 = 3;

/// What a receiver counted.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ReceiverStats {
    /// Segments that came in.
    pub segments: u64,
    /// Segments that went out: SYN/ACKs and ACKs.
    pub sent: u64,
    /// Segments of which every byte had come before.
    pub duplicates: u64,
    /// Segments that came while an earlier byte was missing.
    pub out_of_order: u64,
    /// Segments dropped because they do not fit the window or the store.
    pub refused: u64,
    /// Data segments that carried [`Ecn::Ce`].
    pub marked: u64,
    /// SYN/ACKs sent again because the timer ran out.
    pub syn_retransmits: u64,
}

/// State of the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    Listen,
    SynReceived,
    Established,
}

/// What became of a segment that came too early.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    /// All of it was here already.
    pub(crate) is_duplicate: bool,
    /// An earlier ACK goes out instead of one for this segment.
    is_answered: bool,
}

/// An in-order segment, as a stack is told of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InOrder {
    /// It filled a gap.
    pub(crate) filled_gap: bool,
    /// Sequence number after it.
    pub(crate) last: u64,
    /// It completes the number of segments after which an ACK is due.
    pub(crate) is_enough: bool,
    /// The buffer holds the window that was offered.
    pub(crate) fits: bool,
}

/// The shared part of a receiver.
///
/// The fields that every segment needs come last and lie together.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Intake {
    /// When data last came; when some last came in order, and the gap after which ACKs are quick
    /// again.
    last_data: Instant,
    last_in_order: Option<Instant>,
    quick_after: Duration,
    /// With adaptive ACKs: how long one may be delayed now, and at most.
    patience: Duration,
    most_patience: Duration,
    /// How long SACKs wait for further ones.
    sack_patience: Duration,
    /// The ACK that `is_early` tells of.
    early: Segment,
    /// When the last SYN/ACK went out.
    answered: Instant,
    /// The last ACK acknowledged what is below.
    pub(crate) acknowledged: u64,
    /// Timeout of the SYN/ACK now.
    syn_rto: Duration,
    /// The duplicate that the next ACK reports (RFC 2883 §4).
    pub(crate) duplicate: Option<(u64, u64)>,
    /// Sequence number of the FIN, once it is known.
    fin: Option<u64>,
    pub(crate) reassembly: Reassembly,
    pub(crate) stats: ReceiverStats,
    pub(crate) config: Arc<Config>,
    /// The tuned buffer, if timestamps let it be tuned.
    buffer: Option<Box<ReceiveBuffer>>,
    /// The next byte expected (RCV.NXT, RFC 9293 §3.3.1).
    pub(crate) rcv_nxt: u64,
    /// The right edge of the window; it never moves left (RFC 9293 §3.8.6.2.2).
    pub(crate) edge: u64,
    /// When the delayed ACK must go, or the SYN/ACK again.
    pub(crate) timer: Option<Instant>,
    /// An ACK of what was here before the last segment is to be sent.
    pub(crate) is_early: bool,
    /// When the timer of a delayed ACK runs out that was last set, whether or not the ACK has gone
    /// since.
    delayed_until: Instant,
    /// The window that an ACK announces if it goes before the application reads; 0: it has read.
    unread_window: u64,
    /// Segments in order that no ACK has covered yet.
    pub(crate) unacknowledged: u32,
    pub(crate) ts_recent: u32,
    /// When the newest segment came, by the timestamps clock, and the stamp that it carried, if
    /// ACKs are to tell that.
    arrived: Option<(u32, u32)>,
    pub(crate) window: u32,
    /// The window that the last ACK announced.
    offered: u64,
    /// So many ACKs are not delayed.
    pub(crate) quick: u32,
    /// Until the next segment in order, so many duplicate ACKs were sent at once; more wait for
    /// `sack_delay`.
    eager: u32,
    pub(crate) state: State,
    pub(crate) ack_due: bool,
    /// Congestion marks are echoed until the sender says that it reduced (RFC 3168 §6.1.3).
    echo: bool,
    pub(crate) ecn: bool,
    /// A segment came that was ECN-capable.
    had_ecn: bool,
    pub(crate) fin_received: bool,
    /// The last segment carried a mark (RFC 8257 §3.2).
    marked: bool,
    /// What the segment at hand says of congestion is to be answered at once.
    ack_now: bool,
    /// The SYN/ACK has a timer of its own.
    pub(crate) repeats_syn_ack: bool,
    /// ACKs report duplicates (DSACK, RFC 2883).
    pub(crate) reports_duplicates: bool,
}

impl Intake {
    /// Of a connection that waits for a SYN. `config` is valid.
    pub(crate) fn new(config: Arc<Config>, reassembly: Reassembly) -> Self {
        Self {
            rcv_nxt: 0,
            edge: 0,
            unacknowledged: 0,
            ack_due: false,
            timer: None,
            state: State::Listen,
            echo: false,
            ecn: false,
            had_ecn: false,
            fin_received: false,
            fin: None,
            ts_recent: 0,
            arrived: None,
            offered: 0,
            window: config.rwnd,
            reassembly,
            duplicate: None,
            quick: config.quick_acks,
            buffer: None,
            eager: 0,
            last_data: Instant::ZERO,
            last_in_order: None,
            quick_after: config.initial_rto,
            patience: config.delayed_ack.timeout,
            most_patience: LONGEST_DELAY,
            sack_patience: config.sack_delay
                + Duration::from_nanos(config.sack_delay.as_nanos() / SACK_SLACK_SHARE),
            ack_now: false,
            answered: Instant::ZERO,
            acknowledged: 0,
            marked: false,
            is_early: false,
            early: Segment::default(),
            delayed_until: Instant::ZERO,
            unread_window: 0,
            syn_rto: config.initial_rto,
            config,
            stats: ReceiverStats::default(),
            repeats_syn_ack: true,
            reports_duplicates: true,
        }
    }

    /// The handshake is complete.
    fn establish(&mut self, now: Instant) {
        self.state = State::Established;
        self.ack_due = false;
        self.timer = None;
        let rtt = now.since(self.answered);
        let rto = rtt + self.config.min_rto.max(rtt.saturating_mul(2));
        self.quick_after = Duration::from_nanos(rto.as_nanos().next_multiple_of(TICK));
        let share = Duration::from_nanos(rtt.as_nanos() / SACK_DELAY_SHARE);
        let slack = Duration::from_nanos(self.config.sack_delay.as_nanos() / SACK_SLACK_SHARE);
        self.sack_patience = self.config.sack_delay.min(share) + slack;
        self.most_patience = rtt.max(self.config.delayed_ack.timeout).min(LONGEST_DELAY);
        if let Some(buffer) = &mut self.buffer {
            **buffer = ReceiveBuffer::new(self.config.payload(), self.config.buffer_tuning, now);
        }
    }

    /// The ACK of the SYN/ACK arrived, perhaps. Returns true if the segment may carry data.
    pub(crate) fn is_established_by(&mut self, now: Instant, segment: &Segment) -> bool {
        let answers = segment.flags.contains(Flags::ACK) && segment.ack >= 1;
        if self.state == State::SynReceived && answers {
            self.establish(now);
        }
        self.state == State::Established
    }

    /// A SYN arrived, perhaps again.
    pub(crate) fn on_syn(&mut self, segment: &Segment) {
        if self.state == State::Listen {
            self.state = State::SynReceived;
            self.rcv_nxt = segment.seq.saturating_add(1);
            if self.config.adaptive_acks && self.config.timestamps {
                let tuning = self.config.buffer_tuning;
                let buffer = ReceiveBuffer::new(self.config.payload(), tuning, Instant::ZERO);
                self.buffer = Some(Box::new(buffer));
            }
            self.edge = self.rcv_nxt.saturating_add(self.free_window());
            // An ECN-setup SYN has both bits (RFC 3168 §6.1.1).
            self.ecn = self.config.ecn && segment.flags.contains(Flags::ECE | Flags::CWR);
            self.ts_recent = segment.ts_val;
        }
        // A repeated SYN: the answer, SYN/ACK or plain ACK, did not arrive.
        self.ack_due = true;
    }

    /// Notes congestion marks and the time at which data came.
    pub(crate) fn note_data(&mut self, now: Instant, segment: &Segment) {
        self.last_data = now;
        if self.ecn && segment.flags.contains(Flags::CWR) {
            // CWR ends the echo of earlier marks, not of this segment's own (RFC 3168 §6.1.3).
            self.echo &= self.config.accurate_ecn_echo;
            self.ack_now = self.config.adaptive_acks; // the window may be small now
        }
    }

    /// True if the segment brings something new that lies within the window.
    #[inline]
    pub(crate) fn is_acceptable(&self, segment: &Segment) -> bool {
        let end = segment.seq.saturating_add(u64::from(segment.len));
        segment.end() > self.rcv_nxt && segment.seq <= self.edge && end <= self.edge
    }

    /// Takes in what an acceptable segment says beside its data.
    #[inline(always)]
    pub(crate) fn take_header(&mut self, now: Instant, segment: &Segment) {
        if self.config.quick_acks > 0 && segment.seq <= self.rcv_nxt {
            if let Some(before) = self.last_in_order {
                self.note_gap(ticks_between(before, now));
            }
            self.last_in_order = Some(now);
        }
        if self.ecn && self.config.accurate_ecn_echo {
            self.echo_accurately(now, segment);
        } else if self.ecn {
            self.latch_echo(segment);
        }
        if segment.flags.contains(Flags::FIN) {
            self.fin.get_or_insert(segment.seq.saturating_add(u64::from(segment.len)));
        }
        if self.config.stamps_arrival {
            self.arrived = Some((timestamp(now), segment.ts_val));
        }
        if let Some(buffer) = &mut self.buffer {
            buffer.time(segment.len, tick_of(now, segment.ts_ecr), ticks_since(now, segment.ts_ecr));
        }
    }

    /// Takes in a segment that begins at or before the next byte expected.
    #[inline(always)]
    pub(crate) fn advance(&mut self, now: Instant, segment: &Segment) -> InOrder {
        let last = segment.end();
        if self.config.timestamps && self.unacknowledged == 0 {
            self.ts_recent = segment.ts_val; // RFC 7323 §4.3: of the first segment that the ACK covers
        }
        let before = self.rcv_nxt;
        self.rcv_nxt = last;
        let filled_gap = !self.reassembly.is_empty();
        if filled_gap {
            self.rcv_nxt = self.reassembly.advance(last);
        }
        self.unacknowledged += 1;
        let is_enough = self.unacknowledged >= self.config.delayed_ack.every;
        let mut arrival = InOrder { filled_gap, last, is_enough, fits: true };
        if self.buffer.is_some() {
            arrival.fits = self.fit_buffer(now, segment, before, &arrival);
        } else {
            self.edge = self.edge.max(self.rcv_nxt.saturating_add(self.window.into()));
        }
        self.fin_received = self.fin.is_some_and(|fin| self.rcv_nxt > fin);
        self.eager = 0;
        arrival
    }

    /// Fits the tuned buffer to an in-order segment; `before` is the byte that was expected.
    /// Returns true if it still holds the window that was offered. With less room, since nothing is
    /// read yet, the ACK is left to the application.
    #[inline]
    fn fit_buffer(&mut self, now: Instant, segment: &Segment, before: u64, arrival: &InOrder) -> bool {
        let Some(buffer) = &mut self.buffer else { return true };
        let end = segment.seq.saturating_add(u64::from(segment.len));
        let mut unread = ReceiveBuffer::of_segment(segment.len);
        self.quick |= u32::from(buffer.grow(segment.len, unread));
        let mut first_read = arrival.last;
        if arrival.filled_gap {
            (first_read, unread) = buffer.release(before, end, self.rcv_nxt);
        }
        let (window, is_scarce) = buffer.window(unread);
        let fits = window >= self.offered;
        if is_scarce && !fits && (arrival.is_enough || self.rcv_nxt > arrival.last) {
            self.quick = 0;
        }
        let at_once = self.quick > 0 || (arrival.is_enough && fits) || self.ack_now;
        self.unread_window = if at_once || arrival.filled_gap { window } else { 0 };
        buffer.on_read(now, first_read);
        fits
    }

    /// Answers an in-order segment: at once if it fills a gap, ends the data, or completes the
    /// number of segments that an ACK waits for (RFC 5681 §4.2). `ends`: the end of the data is
    /// acknowledged at once.
    #[inline(always)]
    pub(crate) fn answer(&mut self, now: Instant, segment: &Segment, arrival: &InOrder, ends: bool) {
        let InOrder { filled_gap, last, is_enough, fits } = *arrival;
        let answers_mark = core::mem::replace(&mut self.ack_now, false);
        if self.config.sack_delay > Duration::ZERO && !self.reassembly.is_empty() && !answers_mark {
            // A gap moved on, but another is left. By more than a segment: at once, else as a
            // duplicate.
            if fits && (is_enough || self.rcv_nxt > last) {
                self.ack_due = true;
            } else {
                self.acknowledge_gap(now);
            }
            return;
        }
        if filled_gap || answers_mark || self.quick > 0 || ends || (is_enough && fits) {
            self.ack_due = true;
            return;
        }
        let earlier = self.timer;
        self.wait_for_more(now);
        if let Some(earlier) = earlier {
            self.delayed_until = self.delayed_until.min(earlier);
            self.timer = Some(self.delayed_until);
        }
        // The application answers to what is enough or was pushed, as soon as it has read it.
        self.ack_due |= is_enough
            || self.config.adaptive_acks
                && (segment.flags.contains(Flags::PSH) || segment.len < self.config.payload());
    }

    /// A segment outside the window was dropped.
    pub(crate) fn note_refused(&mut self) {
        self.be_quick(self.config.quick_acks);
        self.stats.refused += 1;
        self.ack_due = true;
    }

    /// A segment of which nothing is new is acknowledged at once and reported (RFC 9293 §3.10.7.4,
    /// RFC 2883).
    pub(crate) fn answer_duplicate(&mut self, segment: &Segment) {
        self.stats.duplicates += 1;
        self.be_quick(self.config.quick_acks);
        self.duplicate = Some((segment.seq, segment.end()));
        self.ack_due = true;
    }

    /// The segment at hand was refused: nothing that it says of congestion is answered.
    pub(crate) fn forget_marks(&mut self) {
        self.ack_now = false;
    }

    /// Keeps a segment that came too early. Returns true if it is to be answered now: SACKs that
    /// wait go before those that they cannot all tell, and this segment then waits for the next
    /// ACK.
    pub(crate) fn hold(&mut self, now: Instant, segment: &Segment) -> Held {
        let (start, end) = (segment.seq, segment.end());
        self.stats.out_of_order += 1;
        let flushes =
            self.buffer.is_some() && self.waits_with_sacks() && !self.reassembly.is_usual(start, end);
        if flushes {
            self.early = self.acknowledgement(now);
            self.is_early = true;
        }
        let stored = self.reassembly.insert(start, end);
        match stored {
            Stored::New => {
                if let Some(buffer) = &mut self.buffer {
                    self.quick |= u32::from(buffer.hold(start, end));
                }
            }
            Stored::Duplicate => self.stats.duplicates += 1,
            Stored::Full => {
                self.stats.refused += 1;
                if segment.flags.contains(Flags::FIN) {
                    self.fin = None;
                }
            }
        }
        Held { is_duplicate: stored == Stored::Duplicate, is_answered: flushes }
    }

    /// Answers a segment that came too early.
    pub(crate) fn answer_early(&mut self, now: Instant, segment: &Segment, held: Held) {
        if held.is_duplicate {
            self.duplicate = Some((segment.seq, segment.end()));
        }
        if self.config.quick_after_gap {
            self.be_quick(self.config.quick_acks);
        }
        if !held.is_answered {
            self.acknowledge_gap(now);
        }
    }

    /// What may be announced now: what the application allows and the buffer holds.
    #[inline]
    fn free_window(&self) -> u64 {
        let window = u64::from(self.window);
        self.buffer.as_ref().map_or(window, |buffer| window.min(buffer.window(0).0))
    }

    /// So much time went by between two segments: a long pause ends in quick ACKs, shorter ones
    /// make the receiver wait about as long for a second segment.
    #[inline]
    fn note_gap(&mut self, gap: Duration) {
        let least = self.config.delayed_ack.timeout;
        if gap > self.quick_after {
            self.quick = self.config.quick_acks;
        } else if gap.as_nanos() <= least.as_nanos() / 2 {
            self.patience = half(self.patience) + half(least);
        } else if gap < self.patience {
            self.patience = half(self.patience) + gap;
        }
    }

    /// Sets the timer of a delayed ACK.
    fn wait_for_more(&mut self, now: Instant) {
        let patience = if self.config.adaptive_acks {
            self.patience.min(self.most_patience).max(self.config.delayed_ack.timeout)
        } else {
            self.config.delayed_ack.timeout
        };
        self.delayed_until = self.config.timers.expiry(now, patience);
        self.timer = Some(self.delayed_until);
    }

    /// One more segment to acknowledge, not necessarily now.
    pub(crate) fn delay(&mut self, now: Instant) {
        self.unacknowledged += 1;
        if self.unacknowledged >= self.config.delayed_ack.every {
            self.ack_due = true;
        } else if self.timer.is_none() {
            self.wait_for_more(now);
        }
    }

    /// SACKs wait for their timer.
    fn waits_with_sacks(&self) -> bool {
        self.config.sack_delay > Duration::ZERO && !self.reassembly.is_empty() && self.timer.is_some()
    }

    /// An ACK while something is missing goes at once; with `sack_delay` only the first three of a
    /// gap do.
    fn acknowledge_gap(&mut self, now: Instant) {
        let asked = core::mem::replace(&mut self.ack_now, false) || self.quick > 0;
        if self.config.sack_delay == Duration::ZERO || self.duplicate.is_some() || asked {
            self.ack_due = true;
            return;
        }
        if self.eager < EAGER_DUPLICATES {
            self.eager += 1;
            self.ack_due = true;
            return;
        }
        let mut due = now + self.sack_patience;
        if self.delayed_until > now {
            // The timer of an ACK that has gone still runs, and sends what waits then.
            due = due.min(self.delayed_until);
        }
        self.timer = Some(self.timer.map_or(due, |timer| timer.min(due)));
    }

    /// The mark is echoed until the sender tells that it reduced (RFC 3168 §6.1.3). Linux answers
    /// quickly to the first mark, and to a segment without ECN after others that had it, which was
    /// probably sent again.
    fn latch_echo(&mut self, segment: &Segment) {
        let marked = segment.ecn == Ecn::Ce;
        self.stats.marked += u64::from(marked);
        let is_odd = segment.ecn == Ecn::NotEct && self.had_ecn;
        self.had_ecn |= segment.ecn != Ecn::NotEct;
        if self.config.quick_acks > 0 && (is_odd || (marked && !self.echo)) {
            self.be_quick(if self.config.quick_after_gap { self.config.quick_acks } else { 2 });
        }
        self.echo |= marked;
    }

    /// So many ACKs at least are not delayed, and then they are delayed for a short time (Linux
    /// `tcp_enter_quickack_mode`).
    fn be_quick(&mut self, acks: u32) {
        self.quick = self.quick.max(acks);
        self.patience = self.config.delayed_ack.timeout;
    }

    /// A change of marking is acknowledged at once, with the echo that what came before it had (RFC
    /// 8257 §3.2).
    fn echo_accurately(&mut self, now: Instant, segment: &Segment) {
        let marked = segment.ecn == Ecn::Ce;
        self.stats.marked += u64::from(marked);
        if marked != self.marked {
            self.marked = marked;
            if self.unacknowledged > 0 {
                self.early = self.answer_to_change(now);
                self.is_early = true;
            }
            self.ack_now = self.config.adaptive_acks;
        }
        self.echo = marked;
    }

    /// The next segment to send, if there is one; runs the timers that are due at `now`. To be
    /// called until it gives `None`.
    #[inline]
    pub(crate) fn poll_transmit(&mut self, now: Instant) -> Option<Segment> {
        if let Some(due) = self.timer
            && now >= due
        {
            self.timer = None;
            if self.state == State::SynReceived {
                self.stats.syn_retransmits += 1;
                self.syn_rto = self.syn_rto.saturating_mul(2).min(self.config.max_rto);
            } else if self.reassembly.is_empty() {
                // It waited in vain.
                self.patience = self.patience.saturating_mul(2).min(self.quick_after);
            } else if self.config.sack_delay > Duration::ZERO && due != self.delayed_until {
                // SACKs that waited bear the time at which data last came
                // (`tcp_compressed_ack_kick` looks at no clock).
                return Some(self.acknowledgement(self.last_data));
            }
            self.ack_due = true;
        }
        if core::mem::take(&mut self.is_early) {
            return Some(self.early);
        }
        self.ack_due.then(|| self.acknowledgement(now))
    }

    /// An ACK, or SYN/ACK, of what is here.
    fn acknowledgement(&mut self, now: Instant) -> Segment {
        self.ack_due = false;
        self.unacknowledged = 0;
        let unread = core::mem::take(&mut self.unread_window);
        if let Some(buffer) = &self.buffer {
            let (read, is_scarce) = buffer.window(0);
            if is_scarce {
                self.quick = 0;
            }
            let left = self.edge.saturating_sub(self.rcv_nxt);
            let window = u64::from(self.window).min(if unread > 0 { unread } else { read });
            self.edge = self.rcv_nxt + if window < left { left.next_multiple_of(SCALE) } else { window };
        }
        self.offered = self.edge.saturating_sub(self.rcv_nxt);
        if self.quick > 0 && self.state == State::Established {
            self.quick -= 1;
            if self.quick == 0 {
                self.patience = self.config.delayed_ack.timeout;
            }
        }
        self.stats.sent += 1;
        self.acknowledged = self.rcv_nxt;
        let mut segment = Segment {
            seq: 1,
            ack: self.rcv_nxt,
            len: 0,
            window: u32::try_from(self.edge.saturating_sub(self.rcv_nxt)).unwrap_or(u32::MAX),
            ts_val: if self.config.timestamps { timestamp(now) } else { 0 },
            ts_ecr: if self.config.timestamps { self.ts_recent } else { 0 },
            sack: SackBlocks::NONE,
            flags: Flags::ACK.and_if(self.echo, Flags::ECE),
            ecn: if self.ecn && self.config.covers_all_by_ecn() { Ecn::Ect0 } else { Ecn::NotEct },
        };
        if self.state == State::SynReceived {
            segment.seq = 0;
            // An ECN-setup SYN/ACK has ECE alone (RFC 3168 §6.1.1).
            segment.flags = (Flags::SYN | Flags::ACK).and_if(self.ecn, Flags::ECE);
            self.timer = self.repeats_syn_ack.then(|| now + self.syn_rto);
            self.answered = now;
            return segment;
        }
        if let Some((arrival, sent)) = self.arrived {
            (segment.ts_val, segment.ts_ecr) = (arrival, sent);
        }
        self.timer = None;
        if self.config.sack && (self.duplicate.is_some() || !self.reassembly.is_empty()) {
            let duplicate = self.duplicate.take().filter(|_| self.reports_duplicates);
            segment.sack = self.reassembly.blocks(self.rcv_nxt, duplicate);
        }
        segment
    }

    /// Of what came before the marking changed.
    #[cold]
    fn answer_to_change(&mut self, now: Instant) -> Segment {
        self.stats.sent += 1;
        self.unacknowledged = self.unacknowledged.min(1);
        Segment {
            seq: 1,
            ack: self.rcv_nxt,
            len: 0,
            window: u32::try_from(self.edge.saturating_sub(self.rcv_nxt)).unwrap_or(u32::MAX),
            ts_val: if self.config.timestamps { timestamp(now) } else { 0 },
            ts_ecr: if self.config.timestamps { self.ts_recent } else { 0 },
            sack: SackBlocks::NONE,
            flags: Flags::ACK.and_if(self.echo, Flags::ECE),
            ecn: if self.ecn && self.config.covers_all_by_ecn() { Ecn::Ect0 } else { Ecn::NotEct },
        }
    }

    /// When [`poll_transmit`](Self::poll_transmit) has something to do if no segment arrives
    /// before.
    #[inline]
    pub(crate) fn next_event(&self) -> Option<Instant> {
        self.timer
    }

    /// The application takes data at another pace: the window is `window` bytes from now on, at
    /// most [`MAX_WINDOW`]. A window already granted is not taken back; one that opens by a segment
    /// or more is announced at once (RFC 9293 §3.8.6.2.2).
    pub(crate) fn set_window(&mut self, window: u32) {
        self.window = window.min(MAX_WINDOW);
        let edge = self.rcv_nxt.saturating_add(self.free_window());
        let opened = edge.saturating_sub(self.edge);
        if self.state == State::Listen || opened == 0 {
            return;
        }
        let announced = u64::from(self.config.payload().min(self.window / 2));
        self.edge = edge;
        self.ack_due |= self.state == State::Established && opened >= announced;
    }

    /// Payload bytes delivered to the application, in order.
    #[inline]
    pub(crate) fn delivered(&self) -> u64 {
        self.rcv_nxt.saturating_sub(1 + u64::from(self.fin_received))
    }

    /// What the next segment will read beside the receiver itself, for those who fetch memory
    /// ahead: the first range that is held out of order.
    #[inline]
    pub(crate) fn held(&self) -> Option<&impl Copy> {
        self.reassembly.first()
    }
}

/// Half of a time in ticks of Linux's, rounded down to one.
fn half(span: Duration) -> Duration {
    Duration::from_nanos(span.as_nanos() / TICK / 2 * TICK)
}
