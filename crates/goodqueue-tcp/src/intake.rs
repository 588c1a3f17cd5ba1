//! The part of a receiver that all stacks share: it puts data in order, forms acknowledgements, and
//! echoes congestion marks.
//!
//! The stack decides when an acknowledgement is due
//! ([`ReceiverStack`](crate::receiver_stack::ReceiverStack)). Nothing here asks for the name of the
//! stack.

use alloc::boxed::Box;
use alloc::sync::Arc;

use goodqueue::{Duration, Ecn, Instant};

use crate::clock::timestamp;
use crate::config::{Config, MAX_WINDOW};
use crate::reassembly::{Reassembly, Stored};
use crate::received::Received;
use crate::segment::{Flags, SackBlocks, Segment};

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
pub enum State {
    /// No SYN arrived yet.
    Listen,
    /// The SYN was answered, and the answer not yet acknowledged.
    SynReceived,
    /// Data may arrive.
    Established,
}

/// What became of a segment that came too early.
#[derive(Clone, Copy, Debug)]
pub struct EarlySegment {
    /// Nothing of it is new.
    pub is_duplicate: bool,
    /// It is kept, and was not here before.
    pub is_new: bool,
}

/// An in-order segment, as a stack is told of it.
#[derive(Clone, Copy, Debug)]
pub struct InOrder {
    /// It filled a gap.
    pub filled_gap: bool,
    /// Sequence number after it.
    pub last: u64,
    /// It completes the number of segments after which an ACK is due.
    pub is_enough: bool,
}

// `repr(C)` keeps the fields in this order.
/// The shared part of a receiver.
///
/// The fields that every segment needs come last and lie together.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Intake {
    /// The ACK that `is_early` announces.
    pub early: Segment,
    /// Time of the last SYN/ACK.
    pub answered: Instant,
    /// Everything below this sequence number was acknowledged.
    pub acknowledged: u64,
    /// Timeout of the SYN/ACK now.
    syn_rto: Duration,
    /// The duplicate that the next ACK reports (RFC 2883 §4).
    pub duplicate: Option<(u64, u64)>,
    /// Sequence number of the FIN, once it is known.
    fin: Option<u64>,
    /// The counters of AccECN, if both ends agreed on it.
    pub accurate: Option<Box<Received>>,
    /// Data beyond a gap.
    pub reassembly: Reassembly,
    /// Counters since the start.
    pub stats: ReceiverStats,
    /// The settings.
    pub config: Arc<Config>,
    /// The next byte expected (RCV.NXT, RFC 9293 §3.3.1).
    pub rcv_nxt: u64,
    /// The right edge of the window; it never moves left (RFC 9293 §3.8.6.2.2).
    pub edge: u64,
    /// When the delayed ACK must go, or the SYN/ACK again.
    pub timer: Option<Instant>,
    /// An ACK that covers less than the last segment is to be sent.
    pub is_early: bool,
    /// Number of segments in order that no ACK has covered yet.
    pub unacknowledged: u32,
    /// Timestamp that the next ACK echoes (TS.Recent, RFC 7323 §4.3).
    pub ts_recent: u32,
    /// Arrival of the newest segment on the timestamps clock, and the stamp that it carried, if
    /// ACKs report both.
    arrived: Option<(u32, u32)>,
    /// Window in bytes that the application grants.
    pub window: u32,
    /// State of the connection.
    pub state: State,
    /// An ACK or SYN/ACK is to be sent now.
    pub ack_due: bool,
    /// Congestion marks are echoed until the sender reports its reduction (RFC 3168 §6.1.3).
    pub echo: bool,
    /// Both ends agreed on ECN.
    pub ecn: bool,
    /// The FIN arrived in order.
    pub fin_received: bool,
    /// The last segment carried a mark (RFC 8257 §3.2).
    pub marked: bool,
    /// The SYN/ACK has a timer of its own.
    pub repeats_syn_ack: bool,
    /// ACKs report duplicates (DSACK, RFC 2883).
    pub reports_duplicates: bool,
}

impl Intake {
    /// Of a connection that waits for a SYN. `config` is valid.
    pub fn new(config: Arc<Config>, reassembly: Reassembly) -> Self {
        Self {
            early: Segment::default(),
            answered: Instant::ZERO,
            acknowledged: 0,
            syn_rto: config.initial_rto,
            duplicate: None,
            fin: None,
            accurate: None,
            reassembly,
            stats: ReceiverStats::default(),
            rcv_nxt: 0,
            edge: 0,
            timer: None,
            is_early: false,
            unacknowledged: 0,
            ts_recent: 0,
            arrived: None,
            window: config.rwnd,
            state: State::Listen,
            ack_due: false,
            echo: false,
            ecn: false,
            fin_received: false,
            marked: false,
            repeats_syn_ack: true,
            reports_duplicates: true,
            config,
        }
    }

    /// Completes the handshake if the segment acknowledges the SYN/ACK. Returns true if it does.
    pub fn is_established_by(&mut self, segment: &Segment) -> bool {
        // Data acknowledges the SYN/ACK too, since the plain ACK may be lost.
        let answers = segment.flags.contains(Flags::ACK) && segment.ack >= 1;
        if self.state != State::SynReceived || !answers {
            return false;
        }
        self.state = State::Established;
        self.ack_due = false;
        self.timer = None;
        true
    }

    /// Takes in a SYN, which may be a repeated one.
    pub fn on_syn(&mut self, segment: &Segment) {
        if self.state == State::Listen {
            self.state = State::SynReceived;
            self.rcv_nxt = segment.seq.saturating_add(1);
            self.edge = self.rcv_nxt.saturating_add(self.window.into());
            self.take_request(segment);
            self.ts_recent = segment.ts_val;
        }
        // A repeated SYN: the answer, SYN/ACK or plain ACK, did not arrive.
        self.ack_due = true;
    }

    /// Chooses the mode of the connection: an ECN-setup SYN has both bits (RFC 3168 §6.1.1), all
    /// other combinations but none ask for AccECN (RFC 9768 §3.1.2, §3.1.3).
    fn take_request(&mut self, segment: &Segment) {
        let ace = segment.flags.ace();
        self.ecn = self.config.ecn && segment.flags.contains(Flags::ECE | Flags::CWR);
        if self.config.accecn && ace != 0b000 && ace != 0b011 {
            self.ecn = true;
            self.accurate = Some(Box::new(Received::new(segment.ecn)));
        }
    }

    /// Counts the ECN field of any segment but a SYN.
    #[inline]
    pub fn note_field(&mut self, segment: &Segment) {
        if let Some(received) = &mut self.accurate {
            received.count(segment, self.config.stack.ecn_feedback);
        }
    }

    /// True if the segment reports a reduction of the window. Its own mark is echoed nevertheless
    /// (RFC 3168 §6.1.3).
    #[inline]
    pub fn takes_reduction(&mut self, segment: &Segment) -> bool {
        let reduced = self.ecn && segment.flags.contains(Flags::CWR) && self.accurate.is_none();
        if reduced {
            self.echo &= self.config.accurate_ecn_echo;
        }
        reduced
    }

    /// True if the segment has new data that lies within the window.
    #[inline]
    pub fn is_acceptable(&self, segment: &Segment) -> bool {
        // A FIN takes a sequence number, but no room in the window.
        let end = segment.seq.saturating_add(u64::from(segment.len));
        segment.end() > self.rcv_nxt && segment.seq <= self.edge && end <= self.edge
    }

    /// Takes in the header of an acceptable segment: its mark, its FIN and its timestamp.
    #[inline(always)]
    pub fn take_header(&mut self, now: Instant, segment: &Segment) {
        if self.ecn {
            self.take_mark(now, segment);
        }
        if segment.flags.contains(Flags::FIN) {
            self.fin.get_or_insert(segment.seq.saturating_add(u64::from(segment.len)));
        }
        if self.config.stamps_arrival {
            self.arrived = Some((timestamp(now), segment.ts_val));
        }
    }

    /// Takes in a segment that begins at or before the next byte expected.
    #[inline(always)]
    pub fn advance(&mut self, segment: &Segment) -> InOrder {
        let last = segment.end();
        if self.config.timestamps && self.unacknowledged == 0 {
            self.ts_recent = segment.ts_val; // RFC 7323 §4.3: of the first segment that the ACK covers
        }
        self.rcv_nxt = last;
        let filled_gap = !self.reassembly.is_empty();
        if filled_gap {
            self.rcv_nxt = self.reassembly.advance(last);
        }
        self.unacknowledged += 1;
        let is_enough = self.unacknowledged >= self.config.delayed_ack.every;
        self.fin_received = self.fin.is_some_and(|fin| self.rcv_nxt > fin);
        InOrder { filled_gap, last, is_enough }
    }

    /// The application has read everything in order: the window opens by as much.
    #[inline(always)]
    pub fn open_window(&mut self) {
        self.edge = self.edge.max(self.rcv_nxt.saturating_add(self.window.into()));
    }

    /// Answers an in-order segment: at once if it fills a gap, ends the data, or completes the
    /// number of segments that an ACK waits for (RFC 5681 §4.2). `ends`: the end of the data is
    /// acknowledged at once.
    #[inline(always)]
    pub fn answer(&mut self, now: Instant, arrival: &InOrder, ends: bool) {
        if arrival.filled_gap || arrival.is_enough || ends {
            self.ack_due = true;
        } else {
            let due = self.config.timers.expiry(now, self.config.delayed_ack.timeout);
            // A later segment does not extend the wait of an earlier one (RFC 5681 §4.2).
            self.timer = Some(self.timer.map_or(due, |earlier| earlier.min(due)));
        }
    }

    /// A segment outside the window was dropped.
    pub fn note_refused(&mut self) {
        self.stats.refused += 1;
        self.ack_due = true;
    }

    /// A segment without new data is acknowledged at once and reported (RFC 9293 §3.10.7.4, RFC
    /// 2883).
    pub fn answer_duplicate(&mut self, segment: &Segment) {
        self.stats.duplicates += 1;
        self.duplicate = Some((segment.seq, segment.end()));
        self.ack_due = true;
    }

    /// Keeps a segment that came too early, if there is room.
    pub fn hold(&mut self, segment: &Segment) -> EarlySegment {
        self.stats.out_of_order += 1;
        let stored = self.reassembly.insert(segment.seq, segment.end());
        match stored {
            Stored::New => {}
            Stored::Duplicate => self.stats.duplicates += 1,
            Stored::Full => {
                self.stats.refused += 1;
                if segment.flags.contains(Flags::FIN) {
                    // The FIN was dropped with its segment, and comes again.
                    self.fin = None;
                }
            }
        }
        EarlySegment { is_duplicate: stored == Stored::Duplicate, is_new: stored == Stored::New }
    }

    /// The next ACK reports a segment that came too early, if it is a duplicate.
    pub fn report(&mut self, segment: &Segment, held: EarlySegment) {
        if held.is_duplicate {
            self.duplicate = Some((segment.seq, segment.end()));
        }
    }

    /// Counts one more segment to acknowledge, not necessarily now.
    pub fn delay(&mut self, now: Instant) {
        self.unacknowledged += 1;
        if self.unacknowledged >= self.config.delayed_ack.every {
            self.ack_due = true;
        } else if self.timer.is_none() {
            self.timer = Some(self.config.timers.expiry(now, self.config.delayed_ack.timeout));
        }
    }

    /// Takes the congestion mark of a segment, or the lack of one. It is echoed until the sender
    /// reports its reduction (RFC 3168 §6.1.3), or for this segment alone. Then a change is
    /// acknowledged at once, with the echo of the segments before it (RFC 8257 §3.2).
    fn take_mark(&mut self, now: Instant, segment: &Segment) {
        let marked = segment.ecn == Ecn::Ce;
        self.stats.marked += u64::from(marked);
        if let Some(received) = &self.accurate {
            self.ack_due |= received.urges;
            return;
        }
        if !self.config.accurate_ecn_echo {
            self.echo |= marked;
            return;
        }
        if marked != self.marked {
            self.marked = marked;
            if self.unacknowledged > 0 {
                self.early = self.answer_to_change(now);
                self.is_early = true;
            }
        }
        self.echo = marked;
    }

    /// True if a segment is to be sent, or the timer has run out.
    #[inline]
    pub fn is_answer_due(&self, now: Instant) -> bool {
        self.ack_due || self.is_early || self.timer.is_some_and(|due| now >= due)
    }

    /// Stops the timer if it has run out. Returns true if a SYN/ACK or a delayed ACK is due by it.
    #[inline]
    pub fn has_timed_out(&mut self, now: Instant) -> bool {
        if self.timer.is_none_or(|due| now < due) {
            return false;
        }
        self.timer = None;
        if self.state == State::SynReceived {
            self.stats.syn_retransmits += 1;
            // RFC 6298 §5.5, for the SYN/ACK as for data.
            self.syn_rto = self.syn_rto.saturating_mul(2).min(self.config.max_rto);
        }
        true
    }

    /// An ACK, or SYN/ACK, of what is here.
    #[inline(always)]
    pub fn acknowledgement(&mut self, now: Instant) -> Segment {
        self.ack_due = false;
        self.unacknowledged = 0;
        self.stats.sent += 1;
        self.acknowledged = self.rcv_nxt;
        let mut segment = Segment {
            seq: 1,
            ack: self.rcv_nxt,
            len: 0,
            // A window is 1 GiB at most (RFC 7323 §2.3), so the fallback is never needed.
            window: u32::try_from(self.edge.saturating_sub(self.rcv_nxt)).unwrap_or(u32::MAX),
            ts_val: if self.config.timestamps { timestamp(now) } else { 0 },
            ts_ecr: if self.config.timestamps { self.ts_recent } else { 0 },
            sack: SackBlocks::NONE,
            flags: Flags::ACK.and_if(self.echo, Flags::ECE),
            ecn: if self.ecn && self.config.covers_all_by_ecn() {
                self.config.capable()
            } else {
                Ecn::NotEct
            },
        };
        if self.state == State::SynReceived {
            return self.syn_ack(now, segment);
        }
        if let Some((arrival, sent)) = self.arrived {
            (segment.ts_val, segment.ts_ecr) = (arrival, sent);
        }
        self.timer = None;
        if self.config.sack && (self.duplicate.is_some() || !self.reassembly.is_empty()) {
            let duplicate = self.duplicate.take().filter(|_| self.reports_duplicates);
            segment.sack = self.reassembly.blocks(self.rcv_nxt, duplicate);
        }
        if self.accurate.is_some() {
            return self.counted(segment);
        }
        segment
    }

    /// Makes an ACK a SYN/ACK.
    #[cold]
    fn syn_ack(&mut self, now: Instant, mut segment: Segment) -> Segment {
        segment.seq = 0;
        // An ECN-setup SYN/ACK has ECE alone (RFC 3168 §6.1.1).
        segment.flags = (Flags::SYN | Flags::ACK).and_if(self.ecn, Flags::ECE);
        if let Some(received) = &self.accurate {
            received.answer_syn(&mut segment, &self.config);
            if !self.config.covers_syn_by_ecn() {
                segment.ecn = Ecn::NotEct;
            }
        }
        self.timer = self.repeats_syn_ack.then(|| self.config.timers.expiry(now, self.syn_rto));
        self.answered = now;
        segment
    }

    /// Returns an ACK with the counters of AccECN.
    #[cold]
    fn counted(&mut self, mut segment: Segment) -> Segment {
        if let Some(received) = &mut self.accurate {
            received.stamp(&mut segment, &self.config);
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
            ecn: if self.ecn && self.config.covers_all_by_ecn() {
                self.config.capable()
            } else {
                Ecn::NotEct
            },
        }
    }

    /// Returns when an acknowledgement is due if no segment arrives before.
    #[inline]
    pub fn next_event(&self) -> Option<Instant> {
        self.timer
    }

    /// The application takes data at another pace: the window is `window` bytes from now on, at
    /// most [`MAX_WINDOW`].
    pub fn set_window(&mut self, window: u32) {
        self.window = window.min(MAX_WINDOW);
    }

    /// Grants a window of `free` bytes. A window already granted is not taken back; one that opens
    /// by a segment or more is announced at once (RFC 9293 §3.8.6.2.2).
    pub fn grant(&mut self, free: u64) {
        let edge = self.rcv_nxt.saturating_add(free);
        let opened = edge.saturating_sub(self.edge);
        if self.state == State::Listen || opened == 0 {
            return;
        }
        // The lesser of a segment and half of the buffer (RFC 9293 §3.8.6.2.2).
        let announced = u64::from(self.config.payload().min(self.window / 2));
        self.edge = edge;
        self.ack_due |= self.state == State::Established && opened >= announced;
    }

    /// Payload bytes delivered to the application, in order.
    #[inline]
    pub fn delivered(&self) -> u64 {
        // The SYN takes a number, and so does the FIN.
        self.rcv_nxt.saturating_sub(1 + u64::from(self.fin_received))
    }

    /// Returns the payload bytes that arrived, each counted once.
    pub fn received(&self) -> u64 {
        self.delivered() + self.reassembly.held()
    }

    /// Prefetch hint: the first range that is held out of order, which the next segment will read.
    #[inline]
    pub fn held(&self) -> Option<&impl Copy> {
        self.reassembly.first()
    }
}
