//! The end that sends data: handshake, what may be sent when. How it reacts to ACKs is in `reaction`, to
//! its timer in `timeout`, what can be seen of it from outside in `view`.

use alloc::boxed::Box;
use alloc::sync::Arc;

use goodqueue::{ConfigError, Duration, Ecn, Instant};

use crate::Config;
use crate::clock::{ticks_between, timestamp};
use crate::config::{SendTuning, UndoRule};
use crate::congestion::{CongestionControl, Hears};
use crate::hystart::{HyStart, HyStartPlusPlus};
use crate::prr::Prr;
use crate::registry::AnyCongestionControl;
use crate::rtt::RttEstimator;
use crate::scoreboard::{DUP_THRESH, Delivered, Record, Scoreboard};
use crate::segment::{Flags, SackBlocks, Segment};

mod bursts;
mod fack;
mod frto;
mod libutp;
mod local;
mod ns2;
mod ns2_full;
mod ns2_linux;
mod plain_buffer;
mod rack;
mod rates;
mod reaction;
mod send_buffer;
mod timeout;
mod view;

use bursts::Burst;
use frto::Test;
use libutp::Libutp;
use ns2::Ns2;
use ns2_full::Ns2Full;
use ns2_linux::Ns2Linux;
use plain_buffer::PlainBuffer;
use rates::Rates;
use send_buffer::SendBuffer;

pub use view::SenderStats;

/// First sequence number of data: the SYN has number 0.
const FIRST_BYTE: u64 = 1;
/// Segments that limited transmit may send beyond the window (RFC 3042 §2).
const LIMITED_TRANSMIT: u64 = 2;
/// So many segments leave unpaced at first: those of an initial window (Linux).
const UNPACED: u64 = 9;
/// After more SYN retransmissions than this, the initial window is one segment (RFC 6928 §2).
const FORGIVEN_SYN_RETRANSMITS: u64 = 1;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Closed,
    SynSent,
    Established,
}

/// Where loss recovery stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// Nothing is known to be lost.
    Open,
    /// Fast recovery (RFC 6675 §5, RFC 6582 §3.2).
    Recovery,
    /// After a timeout (RFC 6675 §5.1).
    Loss,
    /// The window shrinks over a round trip because of a mark; nothing is known to be lost.
    Reduction,
}

/// What the timer is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Purpose {
    /// Retransmission, SYN or persist timer.
    Timeout,
    /// Tail loss probe (RFC 8985 §7).
    Probe,
    /// A segment will be lost then (RFC 8985 §6.3).
    Reordering,
    /// An early retransmit is due (RFC 5827).
    Early,
}

/// What time-based loss detection and all that goes with it remember (RFC 8985).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Rack {
    /// F-RTO: nothing since the timeout speaks against its having been spurious.
    timeout_in_doubt: bool,
    /// F-RTO: the first ACK after the timeout asks for new data, before what was lost (RFC 5682 §3.1 step 2b).
    new_data_first: bool,
    /// The same, as Linux had it up to 3.9.
    test: Option<Test>,
    /// Reordering was seen; then losses wait for a quarter of the least RTT, times `steps`.
    reordered: bool,
    /// Was the window what limited sending, and the most that was out, in this round trip; it ends at `round_end`.
    limited: bool,
    steps: u32,
    /// With forward acknowledgement: so many segments may overtake one that is not lost; once there was more reordering than
    /// three, SACKed segments are counted. Whether a reduction by halves still owes a segment.
    reordering: u64,
    odd: bool,
    most_out: u64,
    round_end: u64,
    /// Of all delivered segments the one that was sent last, and its RTT.
    newest: Option<Delivered>,
    rtt: Duration,
    /// The last reduction may yet be taken back.
    undo: Option<Undo>,
    /// When something was first sent again since nothing that was is out any more.
    resent_since: Option<Instant>,
}

/// What is needed to take a reduction back.
#[derive(Clone, Copy, Debug)]
struct Undo {
    cwnd: u64,
    ssthresh: u64,
    /// SND.UNA at the reduction.
    since: u64,
    /// Retransmissions made less duplicates reported, once there were any; none left: nothing was lost.
    retransmissions: Option<u64>,
    /// Neither duplicates nor timestamps tell, as something had been sent again before.
    needs_test: bool,
}

/// The sending end of a connection, with congestion controller `C`. See the [crate's page](crate) for how to drive it;
/// timers run in [`poll_transmit`](Self::poll_transmit).
///
/// What every ACK and every transmission need comes first and lies together: with thousands of flows each is out of the
/// cache when its turn comes, and costs by the cache lines that it touches.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Sender<C = AnyCongestionControl> {
    state: State,
    phase: Phase,
    purpose: Purpose,
    ack_due: bool,
    syn_due: bool,
    /// The oldest segment goes out whatever the window says (RFC 6675 §5 step 4.3, RFC 6298 §5.4).
    front_due: bool,
    closing: bool,
    fin_sent: bool,
    /// Both ends agreed on ECN.
    ecn: bool,
    /// The next new segment tells that the window was reduced (RFC 3168 §6.1.2).
    cwr_due: bool,
    /// The timer is the persist timer (RFC 9293 §3.8.6.1).
    persisting: bool,
    probe_due: bool,
    /// A tail loss probe goes out whatever the window says: new data (true) or the last segment again.
    tail_due: Option<bool>,
    /// The rescue retransmission of this recovery is spent (RFC 6675 §4, NextSeg rule 4).
    rescued: bool,
    /// No partial ACK came yet in this recovery (RFC 6582 §3.2 step 3).
    first_partial: bool,
    /// The controller wants all feedback; it sets the window in recovery too.
    feedback: bool,
    controls_all: bool,
    /// Segments wait for their departure.
    paced_out: bool,
    /// A burst waits for the next ACK, whoever asks before.
    awaits_ack: bool,
    /// The host's own queue refused a segment: the next ACK or timer is awaited. Nothing is out, and what would have been was
    /// refused.
    refused: bool,
    refused_alone: bool,
    ts_recent: u32,
    config: Arc<Config>,
    /// SND.UNA and SND.NXT (RFC 9293 §3.3.1).
    snd_una: u64,
    snd_nxt: u64,
    cwnd: u64,
    ssthresh: u64,
    mss: u64,
    duplicate_acks: u64,
    /// Sequence number after the last byte that the application wrote.
    data_end: u64,
    /// Right edge of the receiver's window, and the largest window it ever offered.
    window_edge: u64,
    max_window: u64,
    timer: Option<Instant>,
    last_sent: Instant,
    /// Bytes that limited transmit sent (RFC 5681 §3.2 step 2).
    limited: u64,
    /// With pacing: bytes per second.
    pace: Option<u64>,
    rates: Option<Box<Rates>>,
    /// SND.NXT when a tail loss probe was sent whose answer is awaited; whether it was a retransmission.
    probed: Option<(u64, bool)>,
    rtt: RttEstimator,
    scoreboard: Scoreboard,
    stats: SenderStats,
    controller: C,
    rack: Rack,
    /// What recovery has to pass to end (RecoveryPoint, RFC 6675 §2; recover, RFC 6582 §3.1).
    recovery_point: u64,
    /// SND.NXT at the last window reduction: a mark on something older says nothing new (RFC 3168 §6.1.2).
    reduction_point: u64,
    prr: Prr,
    /// SND.UNA at the last timeout (RFC 5681 §3.1: a repeated timeout leaves ssthresh).
    timed_out_at: Option<u64>,
    /// With pacing: when the next segment may leave.
    next_departure: Instant,
    /// So much later than it might have did the last burst leave.
    late_by: Duration,
    /// Segments that are still to go of this burst; whether none has gone; whether it has several; what the application has
    /// written.
    burst: u32,
    burst_begins: bool,
    burst_of_several: bool,
    is_buffered: bool,
    send_buffer: Option<Box<SendBuffer>>,
    plain_buffer: Option<Box<PlainBuffer>>,
    ns2: Ns2,
    libutp: Box<Libutp>,
    ns2_linux: Option<Box<Ns2Linux>>,
    ns2_full: Option<Box<Ns2Full>>,
    hystart: Option<Box<HyStartPlusPlus>>,
}

impl<C: CongestionControl> Sender<C> {
    /// A connection that is not open yet.
    ///
    /// # Errors
    /// See [`Config::check`].
    pub fn new(config: impl Into<Arc<Config>>, controller: C) -> Result<Self, ConfigError> {
        let config = config.into();
        config.check()?;
        let mss = u64::from(config.payload());
        let about = controller.about();
        let feedback = about.hears != Hears::Nothing;
        let controls_all = about.controls_all;
        let pace = controller.pacing().rate;
        let shaped = about.standard_slow_start && config.hystart == HyStart::Rfc9406;
        let hystart = shaped.then(Box::default);
        let mut scoreboard = Scoreboard::new(config.payload(), FIRST_BYTE, config.linux());
        if config.fack() && config.undo == UndoRule::Whole {
            scoreboard.trust_sacked();
        }
        if controls_all {
            scoreboard.keep_log();
        }
        if config.ns2() || config.ns2_full() || config.libutp() {
            scoreboard.count_no_losses();
        }
        if config.ns2_linux() {
            scoreboard.skip_first();
        }
        let is_buffered = config.bursts || config.send_tuning != SendTuning::Unlimited;
        Ok(Self {
            is_buffered,
            state: State::Closed,
            phase: Phase::Open,
            ack_due: false,
            syn_due: false,
            front_due: false,
            closing: false,
            fin_sent: false,
            ecn: false,
            cwr_due: false,
            persisting: false,
            probe_due: false,
            tail_due: None,
            rescued: false,
            first_partial: false,
            duplicate_acks: 0,
            mss,
            snd_una: 0,
            snd_nxt: 0,
            cwnd: mss * u64::from(config.iw),
            ssthresh: config.initial_ssthresh,
            data_end: FIRST_BYTE,
            window_edge: 0,
            max_window: 0,
            recovery_point: 0,
            reduction_point: 0,
            limited: 0,
            timer: None,
            purpose: Purpose::Timeout,
            rack: Rack {
                newest: None,
                rtt: Duration::ZERO,
                reordered: false,
                steps: 1,
                reordering: DUP_THRESH,
                odd: false,
                undo: None,
                resent_since: None,
                timeout_in_doubt: false,
                new_data_first: false,
                test: None,
                limited: false,
                most_out: 0,
                round_end: 0,
            },
            ns2: Ns2::default(),
            libutp: Box::default(),
            ns2_linux: config.ns2_linux().then(|| Box::new(Ns2Linux::new())),
            ns2_full: config.ns2_full().then(Box::default),
            hystart,
            probed: None,
            rates: controls_all.then(Box::default),
            feedback,
            controls_all,
            pace,
            next_departure: Instant::ZERO,
            late_by: Duration::ZERO,
            paced_out: false,
            awaits_ack: false,
            refused: false,
            refused_alone: false,
            burst: 0,
            burst_begins: false,
            burst_of_several: false,
            send_buffer: config.bursts.then(|| Box::new(SendBuffer::new(FIRST_BYTE))),
            plain_buffer: (is_buffered && !config.bursts)
                .then(|| Box::new(PlainBuffer::new(config.send_tuning, FIRST_BYTE))),
            last_sent: Instant::ZERO,
            scoreboard,
            rtt: RttEstimator::new(Arc::clone(&config)),
            prr: Prr::begin(0, 0),
            controller,
            ts_recent: 0,
            timed_out_at: None,
            config,
            stats: SenderStats::default(),
        })
    }

    /// Opens the connection: [`poll_transmit`](Self::poll_transmit) gives a SYN. Does nothing a second time.
    pub fn open(&mut self, now: Instant) {
        if self.state == State::Closed {
            self.state = State::SynSent;
            self.syn_due = true;
            self.snd_nxt = FIRST_BYTE;
            self.last_sent = now;
            if self.config.ns2_linux() {
                self.window_edge = u64::MAX;
            }
        }
    }

    /// The application has `bytes` more to send; `u64::MAX` for a flow without end. Nothing is taken after
    /// [`close`](Self::close).
    pub fn write(&mut self, bytes: u64) {
        if !self.closing {
            self.data_end = self.data_end.saturating_add(bytes);
            self.awaits_ack = false;
            self.refused = false;
        }
    }

    /// The application takes back what has not been sent; what it writes later follows what has.
    pub fn take_back(&mut self) {
        let kept = self.libutp.queued() * self.mss; // libutp gives nothing back
        self.data_end = self.data_end.min(self.snd_nxt.max(FIRST_BYTE) + kept);
        if let Some(buffer) = &mut self.send_buffer {
            buffer.take_back(self.data_end);
        }
        if let Some(buffer) = &mut self.plain_buffer {
            buffer.take_back(self.data_end);
        }
    }

    /// The application has no more to send: a FIN follows the data.
    pub fn close(&mut self) {
        self.closing = true;
        self.awaits_ack = false;
    }

    /// The next segment to send, if there is one; runs the timers that are due at `now`. To be called until it gives
    /// `None`.
    #[inline]
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Segment> {
        if let Some(due) = self.timer
            && now >= due
        {
            self.on_timer(now);
        }
        if self.pace.is_some() && self.state == State::Established && !self.ack_due && self.burst == 0 {
            let was_paced_out = core::mem::replace(&mut self.paced_out, now < self.next_departure);
            if self.paced_out {
                return None;
            }
            self.awaits_ack &= !was_paced_out;
        }
        if self.state != State::Established {
            return self.syn(now).or_else(|| self.send_as_ns2_linux(now));
        }
        if self.ack_due {
            self.ack_due = false;
            let ecn = self.ecn_of_rest(self.ecn);
            return Some(Segment { ecn, ..self.segment(now, self.snd_nxt, 0, Flags::ACK) });
        }
        if self.refused {
            return None;
        }
        if self.front_due {
            self.front_due = false;
            if let Some((position, record)) = self.scoreboard.front() {
                return Some(self.retransmit(now, position, record));
            }
        }
        if self.config.ns2_linux() {
            return self.send_as_ns2_linux(now);
        }
        if self.config.ns2() {
            return self.send_as_ns2(now);
        }
        if self.config.ns2_full() {
            return self.send_as_ns2_full(now);
        }
        if self.config.libutp() {
            return self.send_as_libutp(now);
        }
        if let Some(new) = self.tail_due {
            return self.send_tail_probe(now, new);
        }
        let pipe = self.scoreboard.pipe();
        if let Some((position, record)) = self.scoreboard.next_lost()
            && !self.tests_timeout()
        {
            if self.rack.new_data_first
                && let Some(answer) = self.test_with_new_data(now, pipe)
            {
                return answer;
            }
            if pipe > 0 && pipe + u64::from(record.len) > self.cwnd {
                self.note_use(pipe, true);
                return None;
            }
            return Some(self.retransmit(now, position, record));
        }
        if self.snd_nxt < self.data_end || (self.closing && !self.fin_sent) {
            let mut segment = self.new_data(now, pipe);
            while segment.is_none() && self.is_buffered && self.write_more() {
                segment = self.new_data(now, pipe);
            }
            segment
        } else {
            self.note_use(pipe, false);
            self.fill_hole(now, pipe)
        }
    }

    /// Notes that nothing more is sent now, and whether the window is what forbids it.
    #[inline]
    fn note_use(&mut self, pipe: u64, limited: bool) {
        if self.config.whole_segments {
            let rack = &mut self.rack;
            let out = self.snd_nxt - self.snd_una;
            let limited = limited || pipe + self.mss > self.cwnd;
            if self.snd_una >= rack.round_end || limited || (!rack.limited && out > rack.most_out) {
                rack.limited = limited;
                rack.most_out = out;
                rack.round_end = self.snd_nxt;
            }
        }
        if let Some(rates) = &mut self.rates {
            let has_all = self.snd_nxt >= self.data_end;
            rates.note_app_limited(has_all && !limited && pipe < self.cwnd, pipe);
        }
    }

    /// When [`poll_transmit`](Self::poll_transmit) has something to do if no segment arrives before: the timer.
    #[must_use]
    #[inline]
    pub fn next_event(&self) -> Option<Instant> {
        if self.pace.is_some() && self.paced_out {
            let departure = self.next_departure;
            return Some(self.timer.map_or(departure, |timer| timer.min(departure)));
        }
        self.timer
    }

    /// A new segment, if the congestion window and the receiver's window have room (RFC 5681 §3, NextSeg rule 2 of
    /// RFC 6675 §4).
    #[inline]
    fn new_data(&mut self, now: Instant, mut pipe: u64) -> Option<Segment> {
        if self.scoreboard.is_empty() && self.snd_nxt > FIRST_BYTE {
            self.restart_after_idle(now);
        }
        let mut cwnd = self.cwnd;
        if self.duplicate_acks > 0 && self.phase == Phase::Open {
            if !self.config.limited_transmit {
                pipe = self.scoreboard.outstanding();
            } else if !self.config.sack && !self.config.ns2() {
                cwnd += self.mss * self.duplicate_acks.min(LIMITED_TRANSMIT);
            }
        }
        let end = self.sendable();
        if end <= self.snd_nxt && end < self.data_end {
            self.note_use(pipe, false); // the application sleeps
            return None;
        }
        let mut payload = self.mss.min(end - self.snd_nxt);
        if pipe + payload > cwnd {
            self.note_use(pipe, true);
            return None;
        }
        let usable = self.window_edge.saturating_sub(self.snd_nxt);
        if payload > usable {
            // A part only if it is half of what the receiver ever offered (RFC 9293 §3.8.6.2.1).
            let worthwhile = usable > 0 && usable >= self.max_window / 2;
            if !worthwhile && !self.probe_due {
                return self.wait_for_window(now, pipe);
            }
            self.probe_due = false;
            if usable == 0 {
                return Some(self.probe(now));
            }
            payload = usable;
        }
        if self.config.bursts && self.burst == 0 {
            if self.awaits_ack {
                return None;
            }
            let burst = self.begin_burst(now, cwnd - pipe, usable);
            if burst != Burst::Begins {
                self.awaits_ack = burst == Burst::Waits;
                self.note_use(pipe, self.awaits_ack);
                return None;
            }
        }
        self.probe_due = false;
        Some(self.first_transmission(now, payload))
    }

    fn first_transmission(&mut self, now: Instant, payload: u64) -> Segment {
        let seq = self.snd_nxt;
        let mut flags = Flags::ACK;
        let mut len = payload;
        if self.closing && seq + payload == self.data_end {
            flags |= Flags::FIN;
            len += 1;
            self.fin_sent = true;
        }
        if self.cwr_due && payload > 0 {
            self.cwr_due = false;
            flags = flags.and_if(self.ecn, Flags::CWR);
        }
        if let Some(rates) = &mut self.rates {
            rates.on_sent(now, self.scoreboard.is_empty());
        }
        self.note_start(now);
        let apart = core::mem::take(&mut self.burst_begins) || self.burst == 0;
        self.scoreboard.push(narrow(len), now, apart);
        self.snd_nxt += len;
        if self.config.bursts && payload > 0 && self.ends_burst() {
            flags |= Flags::PSH;
        }
        if self.config.ns2() && !self.config.ns2_linux() {
            self.time_as_ns2(now);
        }
        self.stats.data_segments += 1;
        if self.duplicate_acks > 0 && self.phase == Phase::Open {
            self.limited += len;
        }
        self.note_sent(now, len);
        if self.config.tail_loss_probe && !self.schedule_probe(now, false) {
            self.count_timeout_from_front(now);
        }
        let mut segment = self.segment(now, seq, narrow(payload), flags);
        if self.ecn {
            segment.ecn = Ecn::Ect0;
        }
        segment
    }

    /// What is not new data is not ECN-capable (RFC 3168 §6.1.1, §6.1.4, §6.1.5), but where all is.
    fn ecn_of_rest(&self, agreed: bool) -> Ecn {
        if agreed && self.config.covers_all_by_ecn() { Ecn::Ect0 } else { Ecn::NotEct }
    }

    fn retransmit(&mut self, now: Instant, position: u64, record: Record) -> Segment {
        if let Some(rates) = &mut self.rates {
            rates.on_resent(now, position);
        }
        self.note_start(now);
        if self.send_buffer.is_some() {
            self.cut_burst(position);
        }
        if self.config.libutp() {
            self.scoreboard.resent_in_place(position, now);
        } else {
            self.scoreboard.resent(position, now);
        }
        self.stats.retransmits += 1;
        self.note_sent(now, u64::from(record.len));
        if self.config.linux() {
            self.note_resent(now, record);
        }
        if self.config.rearm_in_recovery && self.config.sack && self.phase == Phase::Recovery {
            self.timer = Some(self.config.timers.expiry(now, self.rtt.rto()));
        }
        let has_fin = self.fin_sent && record.seq + u64::from(record.len) == self.snd_nxt;
        let payload = record.len - u32::from(has_fin);
        let segment = self.segment(now, record.seq, payload, Flags::ACK.and_if(has_fin, Flags::FIN));
        Segment { ecn: self.ecn_of_rest(self.ecn), ..segment }
    }

    /// With no new data that may be sent, something that is only suspected (NextSeg rules 3 and 4, RFC 6675 §4).
    #[cold]
    fn fill_hole(&mut self, now: Instant, pipe: u64) -> Option<Segment> {
        if self.phase != Phase::Recovery
            || !self.config.sack
            || self.config.rack()
            || self.config.ns2_linux()
            || pipe + self.mss > self.cwnd
        {
            return None;
        }
        let hole =
            if self.config.fack() { self.scoreboard.first_hole() } else { self.scoreboard.next_hole() };
        if let Some((position, record)) = hole {
            return Some(self.retransmit(now, position, record));
        }
        if self.rescued || self.config.fack() {
            return None;
        }
        self.rescued = true;
        let (position, record) = self.scoreboard.rescue()?;
        Some(self.retransmit(now, position, record))
    }

    /// The receiver's window is too small for the next segment.
    #[cold]
    fn wait_for_window(&mut self, now: Instant, pipe: u64) -> Option<Segment> {
        self.note_use(pipe, false);
        if self.scoreboard.is_empty() {
            if self.timer.is_none() {
                self.persisting = true;
                self.timer = Some(self.config.timers.expiry(now, self.rtt.rto()));
            }
            return None;
        }
        self.fill_hole(now, pipe)
    }

    /// One byte that the receiver has, to make it tell its window (RFC 9293 §3.8.6.1: a retransmission will do).
    fn probe(&mut self, now: Instant) -> Segment {
        self.stats.window_probes += 1;
        self.persisting = true;
        self.timer = Some(self.config.timers.expiry(now, self.rtt.rto()));
        self.segment(now, self.snd_una.saturating_sub(1), 1, Flags::ACK)
    }

    #[inline]
    fn note_sent(&mut self, now: Instant, len: u64) {
        self.last_sent = now;
        if matches!(self.phase, Phase::Recovery | Phase::Reduction) {
            self.prr.on_sent(len);
        }
        if let Some(rate) = self.pace {
            self.pace_next(now, len, rate);
        }
        // RFC 6298 §5.1
        if self.timer.is_none() || self.persisting {
            self.persisting = false;
            self.purpose = Purpose::Timeout;
            self.timer = Some(self.config.timers.expiry(now, self.rtt.rto()));
        }
    }

    /// Tells the controller if nothing is in flight, where it is to know.
    #[inline]
    fn note_start(&mut self, now: Instant) {
        if self.config.rack() && self.scoreboard.pipe() == 0 {
            self.controller.on_start(now, ticks_between(self.last_sent, now));
        }
    }

    /// When the segment after one of `len` bytes may leave at `rate` bytes per second. What a burst left too late, the next
    /// may leave earlier, by up to half of the time that it takes (Linux).
    fn pace_next(&mut self, now: Instant, len: u64, rate: u64) {
        if now >= self.next_departure {
            self.late_by = now.since(self.next_departure);
            self.next_departure = now;
        }
        if self.stats.data_segments > UNPACED {
            let wait = u128::from(len) * 1_000_000_000 / u128::from(rate.max(1));
            let wait = Duration::from_nanos(u64::try_from(wait).unwrap_or(u64::MAX));
            let credit = self.late_by.min(Duration::from_nanos(wait.as_nanos() / 2));
            self.late_by = self.late_by.saturating_sub(credit);
            self.next_departure += wait.saturating_sub(credit);
        }
    }

    #[inline]
    fn segment(&mut self, now: Instant, seq: u64, len: u32, flags: Flags) -> Segment {
        self.stats.segments += 1;
        let timestamps = self.config.timestamps;
        Segment {
            seq,
            ack: if flags.contains(Flags::ACK) { FIRST_BYTE } else { 0 },
            len,
            window: self.config.rwnd,
            ts_val: if timestamps { timestamp(now) } else { 0 },
            ts_ecr: if timestamps { self.ts_recent } else { 0 },
            sack: SackBlocks::NONE,
            flags,
            ecn: Ecn::NotEct,
        }
    }

    fn syn(&mut self, now: Instant) -> Option<Segment> {
        if !self.syn_due {
            return None;
        }
        self.syn_due = false;
        self.last_sent = now;
        self.timer = Some(self.config.timers.expiry(now, self.rtt.rto()));
        // An ECN-setup SYN (RFC 3168 §6.1.1).
        let flags = Flags::SYN.and_if(self.config.ecn, Flags::ECE | Flags::CWR);
        Some(Segment { ecn: self.ecn_of_rest(self.config.ecn), ..self.segment(now, 0, 0, flags) })
    }

    /// Restart window (RFC 5681 §4.1).
    #[cold]
    fn restart_after_idle(&mut self, now: Instant) {
        let idle = now.since(self.last_sent);
        if !self.config.idle_restart
            || self.config.ns2_linux()
            || self.config.ns2_full()
            || idle <= self.rtt.rto()
        {
            return;
        }
        let window = self.mss * u64::from(self.config.iw);
        self.stats.idle_restarts += 1;
        self.controller.on_idle(now, idle);
        self.note_start(now);
        self.cwnd = self.cwnd.min(window);
        self.last_sent = now;
    }
}

/// The length of a segment, which [`Config::check`] keeps below 2^16.
#[inline]
fn narrow(len: u64) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}
