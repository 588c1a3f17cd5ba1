//! What a stack is: the sender of some system, which answers events with the help of the shared
//! [machinery](crate::machinery).
//!
//! # How to write a stack
//!
//! A stack is a type with its own state, in this crate or in another one:
//!
//! 1. Implement [`Stack`], its sender. [`Stack::on_ack`] is the only method that a stack must have.
//!    The provided methods do what the RFCs say; override those in which the system differs. All
//!    of them borrow the [`Core`], which has the sequence numbers, the scoreboard, the RTT
//!    estimate, the timer, the window and the controller.
//! 2. Choose a receiver: [`Standard`](crate::receiver_stack::Standard), or a type with the trait
//!    [`ReceiverStack`], whose methods borrow the [`Intake`](crate::intake::Intake).
//! 3. Implement [`Listed`]: the description, and a profile for each system that used the stack.
//!    [`StackInfo::origin`] of a stack of another crate is `Origin::new::<MyStack>()`.
//! 4. Settings that name the description run the stack: `Config { stack: &INFO, ..Config::RFC }`.
//!    [`Catalogue::with_stack`](crate::Catalogue::with_stack) makes its profiles known by name.
//!
//! A stack of this crate costs one branch per event, and the compiler sees through its calls. A
//! stack of another crate costs one call through a virtual table per event; the calls within the
//! stack are direct.
//!
//! The machinery follows the needs of the stacks, so its functions may change with each minor
//! version of this crate.
//!
//! ```
//! use goodqueue::Instant;
//! use goodqueue_tcp::receiver_stack::Standard;
//! use goodqueue_tcp::machinery::Core;
//! use goodqueue_tcp::stack::{Listed, Stack};
//! use goodqueue_tcp::{Catalogue, Config, NewReno, Origin, Profile, Segment, Sender, StackInfo};
//!
//! /// Sends one segment per round trip.
//! #[derive(Clone, Debug)]
//! struct StopAndWait;
//!
//! static INFO: StackInfo = StackInfo {
//!     name: "stop_and_wait",
//!     summary: "one segment per round trip",
//!     origin: Origin::new::<StopAndWait>(),
//!     ..StackInfo::PLAIN
//! };
//!
//! impl Listed for StopAndWait {
//!     const INFO: &'static StackInfo = &INFO;
//!     const PROFILES: &'static [Profile] = &[Profile {
//!         name: "stop_and_wait",
//!         summary: "one segment per round trip",
//!         settings: Config { stack: &INFO, iw: 1, sack: false, ..Config::RFC },
//!         controllers: &[],
//!         sources: &["RFC 1350 §2"],
//!     }];
//!     type Receiver = Standard;
//! }
//!
//! impl Stack for StopAndWait {
//!     fn new(_config: &Config) -> Self {
//!         Self
//!     }
//!
//!     fn on_ack(&mut self, core: &mut Core, now: Instant, segment: &Segment) {
//!         let mut news = core.news_of(segment);
//!         if news.acked > 0 {
//!             core.acknowledge(segment.ack, &mut news);
//!             core.note_progress();
//!             core.restart_timer(now);
//!         }
//!         core.take_window(segment);
//!         core.cwnd = core.mss;
//!     }
//! }
//!
//! let catalogue = Catalogue::new().with_stack::<StopAndWait>();
//! let profile = catalogue.profile("stop_and_wait").expect("it was added");
//! let sender = Sender::new(profile.settings, NewReno::default())?;
//! # let _ = sender;
//! # Ok::<(), goodqueue::ConfigError>(())
//! ```

use core::fmt::Debug;

use goodqueue::Instant;

use crate::clock::ticks_since;
use crate::config::Config;
use crate::congestion::{CongestionControl, Signal};
use crate::machinery::send_buffer::Burst;
use crate::machinery::tail_probe::probe_wait;
use crate::machinery::undo::UndoState;
use crate::machinery::{Core, FIRST_BYTE, FORGIVEN_SYN_RETRANSMITS, Phase, State, TimerPurpose};
use crate::profile::Profile;
use crate::receiver_stack::ReceiverStack;
use crate::scoreboard::{Record, Scoreboard};
use crate::segment::Segment;
use crate::stack_info::StackInfo;

/// Segments that limited transmit may send beyond the window (RFC 3042 §2).
const LIMITED_TRANSMIT: u64 = 2;

/// What lists have to know of a stack. Its sender implements this.
pub trait Listed: Stack {
    /// The stack as settings know it.
    const INFO: &'static StackInfo;
    /// The settings that systems with this stack had.
    const PROFILES: &'static [Profile];

    /// Its receiver.
    type Receiver: ReceiverStack;
}

/// The sender of some system.
pub trait Stack: Clone + Debug + Send + Sync + 'static {
    /// Limited transmit without SACK widens the window by the duplicates (RFC 3042).
    const WIDENS_FOR_DUPLICATES: bool = true;
    /// The oldest segment is sent as soon as the retransmission timer ran out.
    const RESENDS_AT_TIMEOUT: bool = true;
    /// No tail loss probe is sent while the answer to another one is awaited, and new data counts
    /// as a probe as well.
    const PROBES_ONE_AT_A_TIME: bool = true;

    /// The stack of a new connection with these settings.
    fn new(config: &Config) -> Self;

    /// Its scoreboard.
    fn scoreboard(config: &Config) -> Scoreboard {
        Scoreboard::new(config.payload(), FIRST_BYTE, false)
    }

    /// The connection opens.
    fn on_open(&mut self, core: &mut Core) {
        // Named without an underscore, because the documentation shows the names of arguments.
        let _ = core;
    }

    /// Bytes that the application wrote and that the stack does not give back.
    fn kept(&mut self, core: &Core) -> u64 {
        let _ = core;
        0
    }

    /// An ACK arrived while the SYN is out. `is_syn`: it is a SYN/ACK.
    fn on_handshake(&mut self, core: &mut Core, now: Instant, segment: &Segment, is_syn: bool) {
        if !is_syn {
            core.stats.invalid_acks += 1;
        } else if core.establish(segment) {
            self.on_syn_ack(core, now, segment);
        }
    }

    /// The SYN/ACK arrived, and the connection is established.
    #[cold]
    fn on_syn_ack(&mut self, core: &mut Core, now: Instant, segment: &Segment) {
        if core.stats.syn_retransmits == 0 {
            core.rtt.sample(now.since(core.last_sent));
            core.rtt.remember();
        } else if core.config.timestamps && segment.ts_ecr != 0 {
            // The timestamp tells which SYN was answered (RFC 7323 §4.3).
            core.rtt.sample(ticks_since(now, segment.ts_ecr));
        } else {
            core.rtt.restart_after_syn_timeout();
        }
        if core.stats.syn_retransmits > FORGIVEN_SYN_RETRANSMITS {
            core.cwnd = core.mss;
        }
    }

    /// An ACK arrived that is neither older than the last one nor beyond what was sent.
    fn on_ack(&mut self, core: &mut Core, now: Instant, segment: &Segment);

    /// The timer ran out.
    #[cold]
    fn on_timer(&mut self, core: &mut Core, now: Instant) {
        run_timer(self, core, now);
    }

    /// The timer ran out, and its purpose was not a timeout. Returns false if it counts as a
    /// timeout.
    fn on_other_timer(&mut self, core: &mut Core, now: Instant, purpose: TimerPurpose) -> bool {
        if purpose != TimerPurpose::Probe {
            return false;
        }
        core.probe_tail(now, Self::PROBES_ONE_AT_A_TIME);
        true
    }

    /// The SYN was not answered in time.
    fn on_syn_timeout(&mut self, core: &mut Core, now: Instant) {
        let _ = now;
        core.stats.syn_retransmits += 1;
        core.rtt.back_off();
        core.due.syn = true;
    }

    /// The retransmission timer ran out (RFC 5681 §3.1, RFC 6298 §5.4 to §5.6, RFC 6675 §5.1).
    fn time_out(&mut self, core: &mut Core, now: Instant) {
        core.stats.timeouts += 1;
        let first = core.timed_out_at != Some(core.snd_una);
        core.timed_out_at = Some(core.snd_una);
        self.reduce_at_timeout(core, now, first);
        core.duplicate_acks = 0;
        core.limited = 0;
        core.due.front = Self::RESENDS_AT_TIMEOUT;
        core.rtt.back_off();
        core.set_retransmission_timer(now);
    }

    /// Reduces the window after a timeout, and marks all segments that are out as lost. `first`:
    /// the oldest segment did not time out before.
    fn reduce_at_timeout(&mut self, core: &mut Core, now: Instant, first: bool) {
        if first {
            core.ssthresh = core.reduced_window(now, Signal::Timeout, 0);
        }
        core.lose_all(now, Instant::MAX);
    }

    /// The host's own queue took the last segment and dropped it. `dropped`: its payload in bytes.
    #[cold]
    fn on_host_congestion(&mut self, core: &mut Core, now: Instant, dropped: u64) {
        let _ = dropped;
        if let Some(cwnd) = core.note_host_congestion(now) {
            core.cwnd = cwnd.min(core.ssthresh);
        }
    }

    /// The host's own queue refused the last segment.
    #[cold]
    fn on_refused(&mut self, core: &mut Core, now: Instant, segment: &Segment) {
        self.on_host_congestion(core, now, u64::from(segment.len));
    }

    /// Returns the next segment to send, if there is one, after running the timer if it is due.
    #[inline]
    fn poll_transmit(&mut self, core: &mut Core, now: Instant) -> Option<Segment> {
        if core.is_timer_due(now) {
            self.on_timer(core, now);
        }
        // With a queue that keeps departures, everything below happens at the departure: Linux
        // stamps the segment with it, and measures the round-trip time from it.
        let now = core.departure(now)?;
        if core.state != State::Established {
            return core.syn(now).or_else(|| self.transmit_unanswered(core, now));
        }
        if core.due.ack {
            return core.due_ack(now);
        }
        if core.host.refused {
            return None;
        }
        if core.due.front {
            core.due.front = false;
            // A timeout after which nothing may be sent counts all the same, and backs off. The
            // next ACK or timeout tries again.
            if !core.may_resend() {
                core.host.refused = true;
                return None;
            }
            if let Some((position, record)) = core.scoreboard.front() {
                return Some(self.retransmit(core, now, position, record));
            }
        }
        self.transmit(core, now)
    }

    /// Returns a segment that may leave before the SYN is answered, beside the SYN.
    fn transmit_unanswered(&mut self, core: &mut Core, now: Instant) -> Option<Segment> {
        let _ = (core, now);
        None
    }

    /// Returns the next segment that the windows allow (NextSeg, RFC 6675 §4).
    #[inline]
    fn transmit(&mut self, core: &mut Core, now: Instant) -> Option<Segment> {
        if let Some(new) = core.tail.due {
            return self.send_tail_probe(core, now, new);
        }
        let pipe = core.scoreboard.pipe();
        if let Some((position, record)) = core.scoreboard.next_lost() {
            return self.mend(core, now, position, record, pipe);
        }
        self.transmit_new(core, now, pipe)
    }

    /// Sends the lost segment at a position again, if the window allows.
    #[inline]
    fn mend(
        &mut self,
        core: &mut Core,
        now: Instant,
        position: u64,
        record: Record,
        pipe: u64,
    ) -> Option<Segment> {
        // With nothing in the network a segment leaves even if it exceeds the window. After a
        // timeout the window is one segment, and a FIN makes the last segment longer.
        if pipe > 0 && pipe + u64::from(record.len) > core.cwnd {
            self.note_use(core, pipe, true);
            return None;
        }
        Some(self.retransmit(core, now, position, record))
    }

    /// New data, or else a segment that is only suspected to be lost.
    #[inline]
    fn transmit_new(&mut self, core: &mut Core, now: Instant, pipe: u64) -> Option<Segment> {
        if !core.has_new() {
            self.note_use(core, pipe, false);
            return self.fill_hole(core, now, pipe);
        }
        loop {
            let segment = self.new_data(core, now, pipe);
            if segment.is_some() || !core.buffer.is_limited {
                return segment;
            }
            if !core.write_more() {
                let has_unsent = core.snd_nxt < core.sendable();
                return if has_unsent { None } else { self.fill_hole(core, now, pipe) };
            }
        }
    }

    /// The application is about to write.
    fn on_write(&mut self, core: &mut Core) {
        let _ = core;
    }

    /// Nothing more is sent now; `limited`: because of the window.
    #[inline]
    fn note_use(&mut self, core: &mut Core, pipe: u64, limited: bool) {
        core.note_app_limit(pipe, limited);
    }

    /// A new segment, if the congestion window and the receiver's window have room (RFC 5681 §3,
    /// NextSeg rule 2 of RFC 6675 §4).
    #[inline(always)]
    fn new_data(&mut self, core: &mut Core, now: Instant, mut pipe: u64) -> Option<Segment> {
        if core.scoreboard.is_empty() && core.snd_nxt > FIRST_BYTE {
            self.restart_after_idle(core, now);
        }
        let mut cwnd = core.cwnd;
        if core.duplicate_acks > 0 && core.phase == Phase::Open {
            // SACKed segments count too, so that duplicates make no room for new data.
            if !core.config.limited_transmit {
                pipe = core.scoreboard.outstanding();
            } else if !core.config.sack && Self::WIDENS_FOR_DUPLICATES {
                cwnd += core.mss * core.duplicate_acks.min(LIMITED_TRANSMIT);
            }
        }
        let end = core.sendable();
        if end <= core.snd_nxt && end < core.data_end {
            self.note_use(core, pipe, false); // the application sleeps
            return None;
        }
        let mut payload = core.mss.min(end - core.snd_nxt);
        if pipe + payload > cwnd {
            self.note_use(core, pipe, true);
            return None;
        }
        let usable = core.offered.edge.saturating_sub(core.snd_nxt);
        if payload > usable {
            // A part of a segment leaves only if it is half of the largest window that the receiver
            // ever offered (RFC 9293 §3.8.6.2.1).
            let worthwhile = usable > 0 && usable >= core.offered.most / 2;
            if !worthwhile && !core.persist.probe_due {
                return self.wait_for_window(core, now, pipe);
            }
            core.persist.probe_due = false;
            if usable == 0 {
                return Some(core.window_probe(now));
            }
            payload = usable;
        }
        if core.config.bursts && core.burst.left == 0 {
            if core.burst.awaits_ack {
                return None;
            }
            let burst = core.begin_burst(now, cwnd - pipe, usable);
            if burst != Burst::Begins {
                core.burst.awaits_ack = burst == Burst::Waits;
                // A burst that waits because the window is small counts as limited by it (Linux
                // `is_cwnd_limited`).
                self.note_use(core, pipe, core.burst.awaits_ack);
                return None;
            }
        }
        core.persist.probe_due = false;
        Some(self.send_new(core, now, payload))
    }

    /// The receiver's window is too small for the next segment.
    #[cold]
    fn wait_for_window(&mut self, core: &mut Core, now: Instant, pipe: u64) -> Option<Segment> {
        self.note_use(core, pipe, false);
        if core.scoreboard.is_empty() {
            core.begin_persisting(now);
            return None;
        }
        self.fill_hole(core, now, pipe)
    }

    /// With no new data that may be sent, a segment that is only suspected to be lost (NextSeg
    /// rules 3 and 4, RFC 6675 §4).
    #[cold]
    fn fill_hole(&mut self, core: &mut Core, now: Instant, pipe: u64) -> Option<Segment> {
        if core.phase != Phase::Recovery || !core.config.sack || pipe + core.mss > core.cwnd {
            return None;
        }
        if let Some((position, record)) = core.scoreboard.next_hole() {
            return Some(self.retransmit(core, now, position, record));
        }
        if core.recovery.rescued {
            return None;
        }
        core.recovery.rescued = true;
        let (position, record) = core.scoreboard.rescue()?;
        Some(self.retransmit(core, now, position, record))
    }

    /// Sends the tail loss probe that is due.
    #[cold]
    fn send_tail_probe(&mut self, core: &mut Core, now: Instant, new: bool) -> Option<Segment> {
        core.tail.due = None;
        let segment = if new {
            let payload = core.next_payload();
            core.begin_single();
            self.send_new(core, now, payload)
        } else {
            let (position, record) = core.scoreboard.rescue()?;
            // Linux sends one segment of the last burst as a probe (`tcp_send_loss_probe()`).
            core.scoreboard.cut_out(position);
            self.probe_again(core, now, position, record)
        };
        if !new || Self::PROBES_ONE_AT_A_TIME {
            core.tail.probed = Some((core.snd_nxt, !new));
        }
        // RFC 8985 §7.3: the timeout counts from the probe.
        core.purpose = TimerPurpose::Timeout;
        core.set_retransmission_timer(now);
        Some(segment)
    }

    /// Sends the last segment again as a probe. A probe does not count as a retransmission when a
    /// reduction is to be taken back.
    fn probe_again(&mut self, core: &mut Core, now: Instant, position: u64, record: Record) -> Segment {
        let before = self.undoing().map(|undoing| undoing.resent_since);
        let segment = self.retransmit(core, now, position, record);
        if let Some((undoing, since)) = self.undoing().zip(before) {
            undoing.resent_since = since;
        }
        segment
    }

    /// Returns the state of undoing, in a stack that takes back wrong reductions.
    #[inline]
    fn undoing(&mut self) -> Option<&mut UndoState> {
        None
    }

    /// Sends `payload` bytes for the first time.
    #[inline(always)]
    fn send_new(&mut self, core: &mut Core, now: Instant, payload: u64) -> Segment {
        self.before_sending(core, now);
        let segment = core.first_transmission(now, payload);
        self.on_sent(core, now);
        segment
    }

    /// Sends the segment at `position` again.
    fn retransmit(&mut self, core: &mut Core, now: Instant, position: u64, record: Record) -> Segment {
        self.before_sending(core, now);
        // The scoreboard does not count the copy yet, so the snapshot adds it.
        core.begin_retransmission(now, position);
        self.mark_resent(core, now, position);
        let segment = core.retransmission(now, record);
        self.on_resent(core, now, record);
        segment
    }

    /// Tells the scoreboard that the segment at `position` is sent again.
    #[inline]
    fn mark_resent(&mut self, core: &mut Core, now: Instant, position: u64) {
        core.scoreboard.resent(position, now);
    }

    /// A segment is about to be sent.
    #[inline]
    fn before_sending(&mut self, core: &mut Core, now: Instant) {
        let _ = (core, now);
    }

    /// A segment was sent for the first time.
    #[inline]
    fn on_sent(&mut self, core: &mut Core, now: Instant) {
        if core.config.tail_loss_probe {
            self.schedule_probe(core, now, false);
        }
    }

    /// A segment was sent again.
    #[inline]
    fn on_resent(&mut self, core: &mut Core, now: Instant, record: Record) {
        if let Some(undoing) = self.undoing() {
            undoing.note_resent(core, now, record);
        }
    }

    /// Sets the timer for a tail loss probe, if one is called for. `afresh`: the timeout counts
    /// from now. Returns false if not.
    fn schedule_probe(&mut self, core: &mut Core, now: Instant, afresh: bool) -> bool {
        core.schedule_probe(now, afresh, probe_wait)
    }

    /// Nothing is out, and a new segment is about to be sent: the restart window (RFC 5681 §4.1).
    #[cold]
    fn restart_after_idle(&mut self, core: &mut Core, now: Instant) {
        if !core.config.idle_restart {
            return;
        }
        let timeouts = self.timeouts_in_pause(core, now);
        if timeouts == 0 {
            return;
        }
        core.stats.idle_restarts += 1;
        core.controller.on_idle(now, now.since(core.last_sent));
        // `last_sent` moves below, so the controller must hear of the pause here.
        self.before_sending(core, now);
        // A controller that controls all remembers the path: it paces what the window lets out
        // (Linux `tcp_slow_start_after_idle_check()`).
        if !core.controls_all {
            self.lower_window(core, timeouts);
        }
        core.last_sent = now;
    }

    /// The number of retransmission timeouts since the last segment was sent. One stands for any
    /// number of them if [`lower_window`](Self::lower_window) treats all numbers alike.
    fn timeouts_in_pause(&self, core: &Core, now: Instant) -> u64 {
        u64::from(now.since(core.last_sent) > core.rtt.rto())
    }

    /// Lowers the window after a pause in which nothing was out. The pause lasted for this number
    /// of retransmission `timeouts`. RFC 5681 §4.1 asks for the initial window at once.
    fn lower_window(&self, core: &mut Core, timeouts: u64) {
        let _ = timeouts;
        core.cwnd = core.cwnd.min(core.initial_window());
    }
}

/// Does what the timer was set for.
pub fn run_timer<S: Stack>(stack: &mut S, core: &mut Core, now: Instant) {
    core.timer = None;
    core.burst.awaits_ack = false;
    // What the host refused is offered again by the timer, too.
    core.host.refused = false;
    let purpose = core::mem::replace(&mut core.purpose, TimerPurpose::Timeout);
    if purpose != TimerPurpose::Timeout && stack.on_other_timer(core, now, purpose) {
        return;
    }
    if core.state == State::SynSent {
        stack.on_syn_timeout(core, now);
    } else if core.persist.is_on {
        core.rtt.back_off();
        core.persist.probe_due = true;
    } else if !core.scoreboard.is_empty() {
        stack.time_out(core, now);
    }
}
