//! The part of a sender that all stacks share: sequence space, scoreboard, round-trip times, timer,
//! window, statistics, pacing and buffers.
//!
//! A [stack](crate::stack) borrows it and decides how to answer each event. Nothing here asks for
//! the name of the stack.

use alloc::boxed::Box;
use alloc::sync::Arc;

use goodqueue::{Duration, Ecn, Instant};

use crate::clock::timestamp;
use crate::config::{Config, SendTuning};
use crate::congestion::{Congestion, CongestionControl, FeedbackTiming, Signal};
use crate::hystart::{HyStart, HyStartPlusPlus};
use crate::prr::Prr;
use crate::registry::AnyCongestionControl;
use crate::rtt::RttEstimator;
use crate::scoreboard::{Record, Scoreboard};
use crate::segment::{Flags, SackBlocks, Segment};

pub mod accurate;
pub mod ack_changes;
mod acks;
mod bursts;
mod ecn;
mod growth;
mod host_queue;
mod parts;
mod pause;
mod plain_buffer;
pub(crate) mod rates;
mod reduction;
mod reported_rate;
pub mod samples;
pub(crate) mod send_buffer;
mod small_queue;
pub mod stats;
pub mod tail_probe;
pub mod undo;

use accurate::Accurate;
pub(crate) use parts::Buffers;
pub use parts::{BurstState, DueSegments, HostQueue, OfferedWindow, Pacer, Persist, Recovery, TailProbe};
use plain_buffer::PlainBuffer;
use rates::Rates;
use send_buffer::SendBuffer;
use stats::SenderStats;

/// First sequence number of data: the SYN has number 0.
pub const FIRST_BYTE: u64 = 1;
/// Data segments after which no departure is computed yet. The tenth is the first that delays the
/// next one, so that an initial window leaves unpaced (Linux `tcp_update_skb_after_send()`).
const UNPACED: u64 = 9;
/// After more SYN retransmissions than this, the initial window is one segment (RFC 6928 §2).
pub const FORGIVEN_SYN_RETRANSMITS: u64 = 1;

/// State of the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// The connection is not open yet.
    Closed,
    /// The SYN was sent or is due.
    SynSent,
    /// Data may be sent.
    Established,
}

/// State of loss recovery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
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
pub enum TimerPurpose {
    /// Retransmission, SYN or persist timer.
    Timeout,
    /// Tail loss probe (RFC 8985 §7).
    Probe,
    /// A segment will be lost then (RFC 8985 §6.3).
    Reordering,
    /// An early retransmit is due (RFC 5827).
    Early,
}

// `repr(C)` keeps the fields in this order.
/// The shared part of a sender, with its congestion controller.
///
/// The fields that every ACK and every transmission need come first and lie together. With
/// thousands of connections each one has left the cache when its turn comes, so that its cost is
/// the number of cache lines that it touches.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Core {
    /// State of the connection.
    pub state: State,
    /// State of loss recovery.
    pub phase: Phase,
    /// What the timer is for.
    pub purpose: TimerPurpose,
    /// Segments that leave before all others.
    pub due: DueSegments,
    /// The application has no more to send.
    pub closing: bool,
    /// The FIN was sent.
    pub fin_sent: bool,
    /// Both ends agreed on ECN.
    pub ecn: bool,
    /// The next new segment reports that the window was reduced (RFC 3168 §6.1.2).
    pub cwr_due: bool,
    /// The probes of a closed window.
    pub persist: Persist,
    /// State of the present recovery.
    pub recovery: Recovery,
    /// The controller, or the measurement of the reported delivery rate, hears of every ACK.
    pub feedback: bool,
    /// The controller sets the window in recovery too.
    pub controls_all: bool,
    /// Segments that leave together.
    pub burst: BurstState,
    ts_recent: u32,
    /// The settings.
    pub config: Arc<Config>,
    /// SND.UNA (RFC 9293 §3.3.1).
    pub snd_una: u64,
    /// SND.NXT (RFC 9293 §3.3.1).
    pub snd_nxt: u64,
    /// Congestion window in bytes.
    pub cwnd: u64,
    /// Slow-start threshold in bytes.
    pub ssthresh: u64,
    /// Payload of a full segment in bytes.
    pub mss: u64,
    /// Number of duplicate ACKs since the last ACK of new data.
    pub duplicate_acks: u64,
    /// Sequence number after the last byte that the application wrote.
    pub data_end: u64,
    /// The receiver's window.
    pub offered: OfferedWindow,
    /// When the timer runs out.
    pub timer: Option<Instant>,
    /// When the last segment was sent.
    pub last_sent: Instant,
    /// Bytes that limited transmit sent (RFC 5681 §3.2 step 2).
    pub limited: u64,
    /// How segments are spread over time.
    pub pacer: Pacer,
    pub(crate) rates: Option<Box<Rates>>,
    /// The tail loss probe that is due or awaited.
    pub tail: TailProbe,
    /// The host's own queue.
    pub host: HostQueue,
    /// Round-trip times and the retransmission timeout.
    pub rtt: RttEstimator,
    /// The segments that are out.
    pub scoreboard: Scoreboard,
    /// Counters since the start.
    pub stats: SenderStats,
    /// The congestion controller.
    pub controller: AnyCongestionControl,
    /// Sequence number that recovery has to pass to end (RecoveryPoint, RFC 6675 §2; recover, RFC
    /// 6582 §3.1).
    pub recovery_point: u64,
    /// SND.NXT at the last window reduction: a mark on an older segment is part of the same event
    /// (RFC 3168 §6.1.2).
    pub reduction_point: u64,
    /// Proportional rate reduction of the present recovery.
    pub prr: Prr,
    /// SND.UNA at the last timeout (RFC 5681 §3.1: a repeated timeout leaves ssthresh).
    pub timed_out_at: Option<u64>,
    pub(crate) buffer: Buffers,
    /// The counters of AccECN, if both ends agreed on it.
    accurate: Option<Box<Accurate>>,
    hystart: Option<Box<HyStartPlusPlus>>,
}

impl Core {
    /// Of a connection that is not open yet. `config` is valid.
    pub fn new(config: Arc<Config>, controller: AnyCongestionControl, mut scoreboard: Scoreboard) -> Self {
        let mss = u64::from(config.payload());
        let about = controller.about();
        let rate = controller.pacing().rate;
        let shaped = about.standard_slow_start && config.hystart == HyStart::Rfc9406;
        // Such a controller samples the delivery rate, for which the scoreboard logs what each ACK
        // acknowledged. The others do not pay for the log, unless the rate is to be reported.
        let samples = about.controls_all || config.reports_rate;
        if samples {
            scoreboard.keep_log();
        }
        Self {
            state: State::Closed,
            phase: Phase::Open,
            purpose: TimerPurpose::Timeout,
            due: DueSegments::default(),
            closing: false,
            fin_sent: false,
            ecn: false,
            cwr_due: false,
            persist: Persist::default(),
            recovery: Recovery::default(),
            feedback: about.feedback != FeedbackTiming::Nothing || config.reports_rate,
            controls_all: about.controls_all,
            burst: BurstState::default(),
            ts_recent: 0,
            snd_una: 0,
            // The SYN takes sequence number 0; data begins at `FIRST_BYTE`. Numbers have 64 bits
            // and do not wrap, so comparisons are plain. Captures get them modulo 2^32.
            snd_nxt: 0,
            cwnd: mss * u64::from(config.iw),
            ssthresh: config.initial_ssthresh,
            mss,
            duplicate_acks: 0,
            data_end: FIRST_BYTE,
            offered: OfferedWindow::default(),
            timer: None,
            last_sent: Instant::ZERO,
            limited: 0,
            pacer: Pacer { rate, ..Pacer::default() },
            rates: samples.then(|| Box::new(Rates::new(config.reports_rate))),
            tail: TailProbe::default(),
            host: HostQueue::default(),
            rtt: RttEstimator::new(Arc::clone(&config)),
            scoreboard,
            stats: SenderStats::default(),
            controller,
            recovery_point: 0,
            reduction_point: 0,
            prr: Prr::begin(0, 0),
            timed_out_at: None,
            buffer: Buffers {
                is_limited: config.bursts || config.send_tuning != SendTuning::Unlimited,
                of_bursts: config.bursts.then(|| {
                    Box::new(SendBuffer::new(FIRST_BYTE, config.piece_overhead, about.buffered_windows))
                }),
                plain: match config.send_tuning {
                    SendTuning::TwoWindows(memory) if !config.bursts => {
                        Some(Box::new(PlainBuffer::new(memory, FIRST_BYTE)))
                    }
                    _ => None,
                },
            },
            accurate: None,
            hystart: shaped.then(Box::default),
            config,
        }
    }

    /// Opens the connection. Returns false if it was open already.
    pub fn open(&mut self, now: Instant) {
        if self.state == State::Closed {
            self.state = State::SynSent;
            self.due.syn = true;
            // The SYN counts as sent from now on, although it leaves with the next `poll_transmit`.
            self.snd_nxt = FIRST_BYTE;
            self.last_sent = now;
        }
    }

    /// The application has `bytes` more to send.
    pub fn write(&mut self, bytes: u64) {
        // Data after `close` is ignored: the FIN has a sequence number behind the data.
        if !self.closing {
            self.data_end = self.data_end.saturating_add(bytes);
            self.burst.awaits_ack = false;
            self.host.refused = false;
        }
    }

    /// The application takes back unsent bytes, except `kept` ones that the stack does not return.
    pub fn take_back(&mut self, kept: u64) {
        // Before the connection opens, SND.NXT is 0, which is below the first byte.
        self.data_end = self.data_end.min(self.snd_nxt.max(FIRST_BYTE) + kept);
        if let Some(buffer) = &mut self.buffer.of_bursts {
            buffer.take_back(self.data_end);
        }
        if let Some(buffer) = &mut self.buffer.plain {
            buffer.take_back(self.data_end);
        }
    }

    /// False while the host's own queue holds so much of the connection that nothing is sent again.
    #[inline]
    pub fn may_resend(&self) -> bool {
        let is_full = |buffer: &PlainBuffer| buffer.is_full_of(self.host.waiting, self.snd_una, self.mss);
        self.host.waiting == 0 || !self.buffer.plain.as_deref().is_some_and(is_full)
    }

    /// The application has no more to send.
    pub fn close(&mut self) {
        self.closing = true;
        self.burst.awaits_ack = false;
    }

    /// True if the timer has run out.
    #[inline]
    pub fn is_timer_due(&self, now: Instant) -> bool {
        self.timer.is_some_and(|due| now >= due)
    }

    /// When [`is_timer_due`](Self::is_timer_due) or the pacing changes without an ACK.
    #[inline]
    pub fn next_event(&self) -> Option<Instant> {
        if self.pacer.rate.is_some() && self.pacer.paced_out {
            let departure = self.pacer.next_departure;
            return Some(self.timer.map_or(departure, |timer| timer.min(departure)));
        }
        self.timer
    }

    /// True if pacing holds the next segment back.
    #[inline]
    pub fn is_held_by_pacing(&mut self, now: Instant) -> bool {
        // The ACK of the handshake is not paced, nor is the rest of a burst that has begun.
        if self.pacer.rate.is_some()
            && self.state == State::Established
            && !self.due.ack
            && self.burst.left == 0
        {
            let was_paced_out =
                core::mem::replace(&mut self.pacer.paced_out, now < self.pacer.next_departure);
            if self.pacer.paced_out {
                self.write_while_held();
                return true;
            }
            // Linux decides again whether a burst waits when its pacing timer runs out.
            self.burst.awaits_ack &= !was_paced_out;
        }
        false
    }

    /// The ACK of the SYN/ACK, if it is due.
    #[inline]
    pub fn due_ack(&mut self, now: Instant) -> Option<Segment> {
        if !self.due.ack {
            return None;
        }
        self.due.ack = false;
        let ecn = self.ecn_of_rest(self.ecn);
        Some(Segment { ecn, ..self.segment(now, self.snd_nxt, 0, Flags::ACK) })
    }

    /// Sets the timer to run out `wait` from now.
    #[inline]
    pub fn set_timer(&mut self, now: Instant, wait: Duration) {
        self.timer = Some(self.config.timers.expiry(now, wait));
    }

    /// Sets the timer to the retransmission timeout from now.
    #[inline]
    pub fn set_retransmission_timer(&mut self, now: Instant) {
        self.set_timer(now, self.rtt.rto());
    }

    /// Data, or the FIN, that was never sent.
    #[inline]
    pub fn has_new(&self) -> bool {
        self.snd_nxt < self.data_end || (self.closing && !self.fin_sent)
    }

    /// Rounds bytes of payload up to full segments, if windows count whole segments. The last
    /// segment of each write of an application is short, and counts as one.
    #[inline]
    pub fn whole(&self, bytes: u64) -> u64 {
        if !self.config.whole_segments {
            return bytes;
        }
        // A division of 32 bits is the cheaper one, and this runs for each ACK.
        match u32::try_from(bytes) {
            Ok(bytes) => u64::from(bytes.div_ceil(narrow(self.mss))) * self.mss,
            Err(_) => bytes.next_multiple_of(self.mss),
        }
    }

    /// Notifies the rate estimator that nothing more is sent now. `limited`: because of the window.
    #[inline]
    pub fn note_app_limit(&mut self, pipe: u64, limited: bool) {
        if let Some(rates) = &mut self.rates {
            let has_all = self.snd_nxt >= self.data_end;
            rates.note_app_limited(has_all && !limited && pipe < self.cwnd, pipe);
        }
    }

    /// Notifies the rate estimator and the controller of segments newly taken for lost.
    #[inline]
    pub fn settle_losses(&mut self, now: Instant) {
        let Some(rates) = &mut self.rates else { return };
        for record in self.scoreboard.drain_lost() {
            if let Some(lost) = rates.on_lost(now, record)
                && self.controls_all
            {
                self.controller.on_lost(&lost);
            }
        }
    }

    /// Sends `payload` bytes for the first time.
    #[inline(always)]
    pub fn first_transmission(&mut self, now: Instant, payload: u64) -> Segment {
        let seq = self.snd_nxt;
        let mut flags = Flags::ACK;
        let mut len = payload;
        // The FIN travels with the last data and takes one sequence number (RFC 9293 §3.4).
        if self.closing && seq + payload == self.data_end {
            flags |= Flags::FIN;
            len += 1;
            self.fin_sent = true;
        }
        // CWR goes with new data (RFC 3168 §6.1.2), not with a FIN alone.
        if self.cwr_due && payload > 0 {
            self.cwr_due = false;
            flags = flags.and_if(self.ecn, Flags::CWR);
        }
        // The snapshot of this segment notes the bytes lost in all, so older losses count first.
        self.settle_losses(now);
        if let Some(rates) = &mut self.rates {
            rates.on_sent(now, self.scoreboard.pipe() + len, self.scoreboard.is_empty());
        }
        // A segment that begins a burst stands apart: Linux does not join it with the one before.
        let apart = core::mem::take(&mut self.burst.begins) || self.burst.left == 0;
        self.scoreboard.push(narrow(len), now, apart);
        self.snd_nxt += len;
        if self.config.bursts && payload > 0 && self.ends_burst() {
            flags |= Flags::PSH;
        }
        self.stats.data_segments += 1;
        // RFC 5681 §3.2 step 2: these bytes are not in flight when ssthresh is computed.
        if self.duplicate_acks > 0 && self.phase == Phase::Open {
            self.limited += len;
        }
        self.note_sent(now, len);
        let mut segment = self.segment(now, seq, narrow(payload), flags);
        if self.ecn {
            segment.ecn = self.config.capable();
        }
        segment
    }

    /// Prepares the segment at `position` to be sent again. The scoreboard is updated afterwards.
    #[inline]
    pub fn begin_retransmission(&mut self, now: Instant, position: u64) {
        self.settle_losses(now);
        if let Some(rates) = &mut self.rates {
            let len = self.scoreboard.record(position).map_or(0, |record| u64::from(record.len));
            rates.on_resent(now, position, self.scoreboard.pipe() + len);
        }
        if self.buffer.of_bursts.is_some() {
            self.cut_burst(position);
        }
    }

    /// Sends a segment again that the scoreboard has marked as sent.
    pub fn retransmission(&mut self, now: Instant, record: Record) -> Segment {
        self.stats.retransmits += 1;
        self.note_sent(now, u64::from(record.len));
        // ACKs that come in bunches can bring the third duplicate late. The timeout, which counts
        // from the last ACK of new data, would then run out before this retransmission is answered.
        if self.config.rearm_in_recovery && self.config.sack && self.phase == Phase::Recovery {
            self.set_retransmission_timer(now);
        }
        let has_fin = self.fin_sent && record.seq + u64::from(record.len) == self.snd_nxt;
        let payload = record.len - u32::from(has_fin);
        let segment = self.segment(now, record.seq, payload, Flags::ACK.and_if(has_fin, Flags::FIN));
        Segment { ecn: self.ecn_of_rest(self.ecn), ..segment }
    }

    /// The ECN field of segments other than new data and SYNs: not ECN-capable (RFC 3168 §6.1.1,
    /// §6.1.4, §6.1.5), unless all segments are to be.
    fn ecn_of_rest(&self, agreed: bool) -> Ecn {
        if agreed && self.config.covers_all_by_ecn() { self.config.capable() } else { Ecn::NotEct }
    }

    /// Starts the persist timer, if no timer runs.
    pub fn begin_persisting(&mut self, now: Instant) {
        if self.timer.is_none() {
            self.persist.is_on = true;
            self.set_retransmission_timer(now);
        }
    }

    /// Returns a segment with a byte that the receiver has already, so that its ACK announces the
    /// window (RFC 9293 §3.8.6.1 allows a retransmission).
    pub fn window_probe(&mut self, now: Instant) -> Segment {
        self.stats.window_probes += 1;
        self.persist.is_on = true;
        self.set_retransmission_timer(now);
        // A byte that was acknowledged: the receiver answers it, although its window is closed.
        self.segment(now, self.snd_una.saturating_sub(1), 1, Flags::ACK)
    }

    #[inline(always)]
    fn note_sent(&mut self, now: Instant, len: u64) {
        self.last_sent = now;
        if matches!(self.phase, Phase::Recovery | Phase::Reduction) {
            self.prr.on_sent(self.whole(len));
        }
        if let Some(rate) = self.pacer.rate {
            self.pace_next(now, len, rate);
        }
        // RFC 6298 §5.1. A persist timer becomes a retransmission timer, because data is out now.
        if self.timer.is_none() || self.persist.is_on {
            self.persist.is_on = false;
            self.purpose = TimerPurpose::Timeout;
            self.set_retransmission_timer(now);
        }
    }

    /// Sets when the segment after one of `len` bytes may leave at `rate` bytes per second. The
    /// time by which a burst left late shortens the wait of the next one, by up to half of it
    /// (Linux).
    #[inline(never)]
    fn pace_next(&mut self, now: Instant, len: u64, rate: u64) {
        if now >= self.pacer.next_departure {
            self.pacer.late_by = now.since(self.pacer.next_departure);
            self.pacer.next_departure = now;
        }
        if self.stats.data_segments > UNPACED {
            // Linux grants the credit once for a burst, which is one packet there. Here the
            // segments of a burst share the credit.
            let wait = u128::from(len) * 1_000_000_000 / u128::from(rate.max(1));
            let wait = Duration::from_nanos(u64::try_from(wait).unwrap_or(u64::MAX));
            // Linux shortens a wait by half of it at most (`tcp_update_skb_after_send()`).
            let credit = self.pacer.late_by.min(Duration::from_nanos(wait.as_nanos() / 2));
            self.pacer.late_by = self.pacer.late_by.saturating_sub(credit);
            self.pacer.next_departure += wait.saturating_sub(credit);
        }
    }

    #[inline]
    fn segment(&mut self, now: Instant, seq: u64, len: u32, flags: Flags) -> Segment {
        if self.accurate.is_some() {
            return self.counted_segment(now, seq, len, flags);
        }
        self.plain_segment(now, seq, len, flags)
    }

    #[inline(always)]
    fn plain_segment(&mut self, now: Instant, seq: u64, len: u32, flags: Flags) -> Segment {
        self.stats.segments += 1;
        let timestamps = self.config.timestamps;
        Segment {
            seq,
            // The receiver sends no data, so its SYN is all that can be acknowledged.
            ack: if flags.contains(Flags::ACK) { FIRST_BYTE } else { 0 },
            len,
            // Data flows one way: the window of this end never closes.
            window: self.config.rwnd,
            ts_val: if timestamps { timestamp(now) } else { 0 },
            ts_ecr: if timestamps { self.ts_recent } else { 0 },
            sack: SackBlocks::NONE,
            flags,
            ecn: Ecn::NotEct,
        }
    }

    /// The SYN, if it is due.
    pub fn syn(&mut self, now: Instant) -> Option<Segment> {
        if !self.due.syn {
            return None;
        }
        self.due.syn = false;
        self.last_sent = now;
        self.set_retransmission_timer(now);
        let (flags, ecn) = self.request_ecn(Flags::SYN);
        Some(Segment { ecn, ..self.segment(now, 0, 0, flags) })
    }

    /// Everything that is out and not SACKed is lost with the timeout, except segments sent after
    /// `recent`.
    pub fn lose_all(&mut self, now: Instant, recent: Instant) {
        self.scoreboard.time_out(recent, self.config.forget_on_timeout);
        // The timeout decides about the tail, so the answer to a probe no longer matters (Linux
        // clears `tlp_high_seq`).
        self.tail.probed = None;
        self.phase = Phase::Loss;
        self.settle_losses(now);
        let lost = self.rates.as_ref().filter(|_| self.controls_all).map_or(0, |rates| rates.lost());
        self.controller.on_timeout(lost);
        // The loss window (RFC 5681 §3.1, equation 4).
        self.cwnd = self.mss;
        self.recovery_point = self.snd_nxt;
    }

    /// The retransmission timeout as counted from when the oldest segment was sent.
    pub fn timeout_of_front(&self, now: Instant) -> Instant {
        self.config.timers.expiry(now, self.wait_of_front(now))
    }

    /// Time until the oldest segment times out; at least a nanosecond.
    fn wait_of_front(&self, now: Instant) -> Duration {
        let sent = self.scoreboard.front_sent().unwrap_or(now);
        // A timeout in the past still waits, as in Linux, where it waits a microsecond
        // (`tcp_rearm_rto`).
        (sent + self.rtt.rto()).max(now + Duration::from_nanos(1)).since(now)
    }

    /// Asks the controller for the slow-start threshold and notes that the window was reduced. The
    /// bytes in flight are those before this ACK, which acknowledged `acked` bytes.
    pub fn reduced_window(&mut self, now: Instant, signal: Signal, acked: u64) -> u64 {
        self.reduction_point = self.snd_nxt;
        // CWR is sent after every reduction, not only after a mark (RFC 3168 §6.1.2). AccECN has no
        // report of a reduction (RFC 9768 §3.1.5).
        self.cwr_due = self.ecn && self.accurate.is_none();
        let event = self.congestion(now, signal, acked);
        // A controller may return less than a segment; the window must not reach zero.
        self.controller.on_congestion(&event).max(self.mss)
    }

    /// Returns the congestion event for the controller.
    pub fn congestion(&self, now: Instant, signal: Signal, acked: u64) -> Congestion {
        Congestion {
            now,
            signal,
            cwnd: self.cwnd,
            // In recovery the unacknowledged bytes exceed the window by the SACKed ones, which are
            // not in flight.
            in_flight: (self.scoreboard.outstanding() + acked).saturating_sub(self.limited).min(self.cwnd),
            mss: narrow(self.mss),
            whole: self.config.whole_segments,
        }
    }

    /// Reduces the window at once, and sets the threshold to it in whole segments (ns-2's agents).
    pub fn halve(&mut self, now: Instant, signal: Signal) {
        self.cwnd = self.reduced_window(now, signal, 0);
        // ns-2's threshold is a whole number of segments, and 2 at least (`slowdown`).
        self.ssthresh = (self.cwnd - self.cwnd % self.mss).max(2 * self.mss);
    }

    /// The time from the tick before `sent` to the tick before `now`, by the coarse clock of
    /// [`Config::tick`].
    pub fn between_ticks(&self, sent: Instant, now: Instant) -> Duration {
        let tick = self.config.tick.as_nanos().max(1);
        // ns-2 draws the phase of its clock, so that flows with one tick do not time out together.
        let ticks = |at: Instant| (at + self.config.tick_phase).as_nanos() / tick;
        Duration::from_nanos((ticks(now) - ticks(sent)) * tick)
    }
}

/// The length of a segment, which [`Config::check`] keeps below 2^16.
#[inline]
pub fn narrow(len: u64) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}
