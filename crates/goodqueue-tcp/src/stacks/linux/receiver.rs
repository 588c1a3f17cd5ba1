//! The receiver of Linux: how long an ACK is delayed follows the gaps between segments, the first
//! ACKs are quick, SACKs may wait for further ones, and the window follows the rate.
//!
//! The settings say which of this a kernel had.

use alloc::boxed::Box;
use alloc::sync::Arc;

use goodqueue::{Duration, Ecn, Instant};

use crate::clock::{TICK, tick_of, ticks_between, ticks_since};
use crate::config::Config;
use crate::intake::{InOrder, Intake, State};
use crate::reassembly::Reassembly;
use crate::receive_buffer::ReceiveBuffer;
use crate::receiver_stack::ReceiverStack;
use crate::segment::{Flags, Segment};

/// Longest delay of an ACK (`TCP_DELACK_MAX`).
const LONGEST_DELAY: Duration = Duration::from_millis(200);
/// Duplicate ACKs of a gap that are never delayed: the number that a sender needs to see a loss
/// (RFC 5681 §3.2).
const EAGER_DUPLICATES: u32 = 3;
/// Quick ACKs where not even two segments fit into the window (`tcp_incr_quickack`).
const QUICK_AT_LEAST: u64 = 2;

/// State of the receiver of Linux.
#[derive(Clone, Debug)]
pub struct LinuxReceiver {
    /// The tuned buffer, if timestamps let it be tuned.
    buffer: Option<Box<ReceiveBuffer>>,
    /// The window that an ACK announces if it leaves before the application reads; 0: the
    /// application has read.
    unread_window: u64,
    /// The window that the last ACK announced.
    offered: u64,
    /// Time of the last data.
    last_data: Instant,
    /// Time of the last data in order.
    last_in_order: Option<Instant>,
    /// Gap between segments after which ACKs are quick again.
    quick_after: Duration,
    /// With adaptive ACKs: how long an ACK may be delayed now.
    patience: Duration,
    /// With adaptive ACKs: upper bound of `patience`.
    most_patience: Duration,
    /// How long SACKs wait for further ones.
    sack_patience: Duration,
    /// When the timer of a delayed ACK runs out that was last set, even if the ACK has left since.
    delayed_until: Instant,
    /// Number of ACKs that are not delayed.
    quick: u32,
    /// Number of duplicate ACKs that were sent at once since the last segment in order.
    eager: u32,
    /// A segment came that was ECN-capable.
    had_ecn: bool,
    /// The congestion mark of the segment at hand is to be answered at once.
    ack_now: bool,
}

impl ReceiverStack for LinuxReceiver {
    fn new(config: &Config) -> Self {
        Self {
            buffer: None,
            unread_window: 0,
            offered: 0,
            last_data: Instant::ZERO,
            last_in_order: None,
            quick_after: config.initial_rto,
            patience: config.delayed_ack.timeout,
            most_patience: LONGEST_DELAY,
            sack_patience: config.sack_delay.of_rtt(Duration::MAX),
            delayed_until: Instant::ZERO,
            quick: 0,
            eager: 0,
            had_ecn: false,
            ack_now: false,
        }
    }

    fn intake(config: Arc<Config>) -> Intake {
        Intake::new(config, Reassembly::of_linux())
    }

    fn on_syn(&mut self, intake: &mut Intake, segment: &Segment) {
        let is_first = intake.state == State::Listen;
        intake.on_syn(segment);
        if is_first && intake.config.adaptive_acks && intake.config.timestamps {
            self.buffer = Some(Box::new(new_buffer(&intake.config, Instant::ZERO)));
            intake.edge = intake.rcv_nxt.saturating_add(self.free_window(intake));
        }
    }

    #[inline]
    fn takes_data(&mut self, intake: &mut Intake, now: Instant, segment: &Segment) -> bool {
        if intake.state == State::Established {
            return true;
        }
        let is_established = intake.is_established_by(segment);
        if is_established {
            self.on_established(intake, now, segment);
        }
        is_established
    }

    #[inline]
    fn note_data(&mut self, intake: &mut Intake, now: Instant, segment: &Segment) {
        self.last_data = now;
        if intake.takes_reduction(segment) {
            self.ack_now = intake.config.adaptive_acks; // the window may be small now
        }
    }

    #[inline]
    fn take_header(&mut self, intake: &mut Intake, now: Instant, segment: &Segment) {
        if intake.config.quick_acks > 0 && segment.seq <= intake.rcv_nxt {
            match self.last_in_order {
                Some(before) => self.note_gap(&intake.config, ticks_between(before, now)),
                None => self.add_quick(&intake.config, intake.config.quick_acks), // the first data
            }
            self.last_in_order = Some(now);
        }
        if intake.ecn {
            self.note_mark(intake, segment);
        }
        intake.take_header(now, segment);
        if let Some(buffer) = &mut self.buffer {
            buffer.time(segment.len, tick_of(now, segment.ts_ecr), ticks_since(now, segment.ts_ecr));
        }
    }

    #[cold]
    fn refuse(&mut self, intake: &mut Intake, _now: Instant, segment: &Segment) {
        self.ack_now = false;
        self.be_quick(&intake.config, intake.config.quick_acks);
        if segment.end() <= intake.rcv_nxt {
            intake.answer_duplicate(segment);
        } else {
            intake.note_refused();
        }
    }

    #[inline]
    fn on_in_order(&mut self, intake: &mut Intake, now: Instant, segment: &Segment) {
        let before = intake.rcv_nxt;
        let arrival = intake.advance(segment);
        let fits = if self.buffer.is_some() {
            self.fit_buffer(intake, now, segment, before, &arrival)
        } else {
            intake.open_window();
            true
        };
        self.eager = 0;
        self.answer_in_order(intake, now, segment, &arrival, fits);
    }

    /// SACKs that wait leave before those that they cannot all report, and this segment then waits
    /// for the next ACK.
    fn on_early(&mut self, intake: &mut Intake, now: Instant, segment: &Segment) {
        let start = segment.seq;
        let end = segment.end();
        let flushes =
            self.buffer.is_some() && waits_with_sacks(intake) && !intake.reassembly.is_usual(start, end);
        if flushes {
            intake.early = self.acknowledgement(intake, now);
            intake.is_early = true;
        }
        let held = intake.hold(segment);
        if held.is_new
            && let Some(buffer) = &mut self.buffer
        {
            self.quick |= u32::from(buffer.hold(start, end));
        }
        intake.report(segment, held);
        if intake.config.quick_after_gap {
            self.be_quick(&intake.config, intake.config.quick_acks);
        }
        if !flushes {
            self.acknowledge_gap(intake, now);
        }
    }

    #[inline]
    fn poll_transmit(&mut self, intake: &mut Intake, now: Instant) -> Option<Segment> {
        let due = intake.timer;
        if intake.has_timed_out(now) {
            if intake.state == State::SynReceived {
                // The SYN/ACK is repeated.
            } else if intake.reassembly.is_empty() {
                // The ACK waited in vain.
                self.patience = self.patience.saturating_mul(2).min(self.quick_after);
            } else if intake.config.sack_delay.waits() && due != Some(self.delayed_until) {
                // The sender takes this stamp for the time of the arrival, so it decides round-
                // trip times.
                let stamped = if intake.config.sack_delay.reads_clock { now } else { self.last_data };
                return Some(self.acknowledgement(intake, stamped));
            }
            intake.ack_due = true;
        }
        if core::mem::take(&mut intake.is_early) {
            return Some(intake.early);
        }
        intake.ack_due.then(|| self.acknowledgement(intake, now))
    }

    fn set_window(&mut self, intake: &mut Intake, window: u32) {
        intake.set_window(window);
        intake.grant(self.free_window(intake));
    }
}

impl LinuxReceiver {
    /// The handshake is complete.
    #[cold]
    fn on_established(&mut self, intake: &Intake, now: Instant, segment: &Segment) {
        let config = &intake.config;
        let is_repeated = intake.stats.sent > 1;
        // The timestamp tells which of several SYN/ACKs was answered (`tcp_ack_update_rtt()`).
        let rtt = if is_repeated && config.timestamps && segment.ts_ecr != 0 {
            ticks_since(now, segment.ts_ecr)
        } else {
            now.since(intake.answered)
        };
        let rto = rtt + config.min_rto.max(rtt.saturating_mul(2));
        self.quick_after = Duration::from_nanos(rto.as_nanos().next_multiple_of(TICK));
        self.sack_patience = config.sack_delay.of_rtt(rtt);
        self.most_patience = rtt.max(config.delayed_ack.timeout).min(LONGEST_DELAY);
        if let Some(buffer) = &mut self.buffer {
            **buffer = new_buffer(config, now);
        }
    }

    /// A segment came `gap` after the one before it. A long gap ends in quick ACKs. Shorter gaps
    /// make the receiver wait about as long for a second segment.
    #[inline]
    fn note_gap(&mut self, config: &Config, gap: Duration) {
        let least = config.delayed_ack.timeout;
        if gap > self.quick_after {
            self.add_quick(config, config.quick_acks);
        } else if gap.as_nanos() <= least.as_nanos() / 2 {
            self.patience = half(self.patience) + half(least);
        } else if gap < self.patience {
            self.patience = half(self.patience) + gap;
        }
    }

    /// Notes how the segment at hand is marked, before the mark is taken in. With an accurate echo
    /// a change is answered at once. Otherwise the first mark has quick answers, and so has a
    /// segment without ECN after others with ECN, as it probably was sent again.
    fn note_mark(&mut self, intake: &Intake, segment: &Segment) {
        let config = &intake.config;
        if let Some(received) = &intake.accurate {
            self.ack_now = received.urges && config.adaptive_acks;
            return;
        }
        let marked = segment.ecn == Ecn::Ce;
        if config.accurate_ecn_echo {
            if marked != intake.marked {
                self.ack_now = config.adaptive_acks;
            }
            return;
        }
        let is_odd = segment.ecn == Ecn::NotEct && self.had_ecn;
        self.had_ecn |= segment.ecn != Ecn::NotEct;
        if config.quick_acks > 0 && (is_odd || (marked && !intake.echo)) {
            self.be_quick(config, if config.quick_after_gap { config.quick_acks } else { 2 });
        }
    }

    /// At least the next `acks` ACKs are not delayed. Later ones are delayed for a short time
    /// (`tcp_enter_quickack_mode`).
    fn be_quick(&mut self, config: &Config, acks: u32) {
        self.add_quick(config, acks);
        self.patience = config.delayed_ack.timeout;
    }

    /// At least the next `acks` ACKs are not delayed, but no more than one for two segments of the
    /// window that was offered (`tcp_incr_quickack`): a small window is not used up by them.
    fn add_quick(&mut self, config: &Config, acks: u32) {
        let for_window = match self.offered / (2 * u64::from(config.payload())) {
            0 => QUICK_AT_LEAST,
            pairs => pairs,
        };
        let most = u32::try_from(for_window).unwrap_or(u32::MAX);
        // A new reason for quick ACKs takes no earlier ones away (`tcp_incr_quickack()`).
        self.quick = self.quick.max(acks.min(most));
    }

    /// Returns the window that may be announced now: what the application allows and the buffer
    /// holds.
    #[inline]
    fn free_window(&self, intake: &Intake) -> u64 {
        let window = u64::from(intake.window);
        self.buffer.as_ref().map_or(window, |buffer| window.min(buffer.window(0).0))
    }

    /// Fits the tuned buffer to an in-order segment; `before` is the byte that was expected.
    /// Returns true if it still holds the window that was offered. With less room, since nothing is
    /// read yet, the ACK is left to the application.
    #[inline]
    fn fit_buffer(
        &mut self,
        intake: &Intake,
        now: Instant,
        segment: &Segment,
        before: u64,
        arrival: &InOrder,
    ) -> bool {
        let Some(buffer) = &mut self.buffer else { return true };
        let end = segment.seq.saturating_add(u64::from(segment.len));
        let mut unread = buffer.of_segment(segment.len);
        self.quick |= u32::from(buffer.grow(segment.len, unread));
        let mut first_read = arrival.last;
        if arrival.filled_gap {
            (first_read, unread) = buffer.release(before, end, intake.rcv_nxt);
        }
        let (window, is_scarce) = buffer.window(unread);
        let fits = window >= self.offered;
        if is_scarce && !fits && (arrival.is_enough || intake.rcv_nxt > arrival.last) {
            self.quick = 0;
        }
        let at_once = self.quick > 0 || (arrival.is_enough && fits) || self.ack_now;
        self.unread_window = if at_once || arrival.filled_gap { window } else { 0 };
        buffer.on_read(now, first_read);
        fits
    }

    /// Answers an in-order segment: at once if it fills a gap, ends the data, answers a mark, or
    /// completes the number of segments that an ACK waits for. `fits`: the buffer holds the window
    /// that was offered.
    #[inline]
    fn answer_in_order(
        &mut self,
        intake: &mut Intake,
        now: Instant,
        segment: &Segment,
        arrival: &InOrder,
        fits: bool,
    ) {
        let InOrder { filled_gap, last, is_enough } = *arrival;
        let answers_mark = core::mem::replace(&mut self.ack_now, false);
        if intake.config.sack_delay.waits() && !intake.reassembly.is_empty() && !answers_mark {
            // One gap is filled, and another is left. More than this segment is acknowledged at
            // once, less like a duplicate.
            if fits && (is_enough || intake.rcv_nxt > last) {
                intake.ack_due = true;
            } else {
                self.acknowledge_gap(intake, now);
            }
            return;
        }
        if filled_gap || answers_mark || self.quick > 0 || intake.fin_received || (is_enough && fits) {
            intake.ack_due = true;
            return;
        }
        self.wait_for_more(intake, now);
        // The application answers as soon as it has read enough segments, or a pushed one.
        intake.ack_due |= is_enough
            || intake.config.adaptive_acks
                && (segment.flags.contains(Flags::PSH) || segment.len < intake.config.payload());
    }

    /// Sets the timer of a delayed ACK, unless an earlier one is set.
    #[inline(always)]
    fn wait_for_more(&mut self, intake: &mut Intake, now: Instant) {
        let config = &intake.config;
        let patience = if config.adaptive_acks {
            self.patience.min(self.most_patience).max(config.delayed_ack.timeout)
        } else {
            config.delayed_ack.timeout
        };
        let least = config.timers.least_expiry(now, patience);
        let surely_earlier = intake.timer.filter(|due| *due <= least);
        self.delayed_until = surely_earlier.unwrap_or_else(|| {
            let due = config.timers.expiry(now, patience);
            intake.timer.map_or(due, |earlier| earlier.min(due))
        });
        intake.timer = Some(self.delayed_until);
    }

    /// Acknowledges data while something is missing: at once, or after the first three ACKs of a
    /// gap when further SACKs have had time to arrive.
    fn acknowledge_gap(&mut self, intake: &mut Intake, now: Instant) {
        let asked = core::mem::replace(&mut self.ack_now, false) || self.quick > 0;
        if !intake.config.sack_delay.waits() || intake.duplicate.is_some() || asked {
            intake.ack_due = true;
            return;
        }
        if self.eager < EAGER_DUPLICATES {
            self.eager += 1;
            intake.ack_due = true;
            return;
        }
        let mut due = now + self.sack_patience;
        if self.delayed_until > now {
            // The timer of an ACK that has left still runs, and sends what waits then.
            due = due.min(self.delayed_until);
        }
        intake.timer = Some(intake.timer.map_or(due, |timer| timer.min(due)));
    }

    /// Returns an ACK, or a SYN/ACK, of everything here, and announces the window.
    fn acknowledgement(&mut self, intake: &mut Intake, now: Instant) -> Segment {
        let unread = core::mem::take(&mut self.unread_window);
        if let Some(buffer) = &self.buffer {
            let (read, is_scarce) = buffer.window(0);
            if is_scarce {
                self.quick = 0;
            }
            let left = intake.edge.saturating_sub(intake.rcv_nxt);
            let window = u64::from(intake.window).min(if unread > 0 { unread } else { read });
            let offered = if window < left { buffer.aligned(left) } else { window };
            intake.edge = intake.rcv_nxt + offered;
        }
        self.offered = intake.edge.saturating_sub(intake.rcv_nxt);
        if self.quick > 0 && intake.state == State::Established {
            self.quick -= 1;
            if self.quick == 0 {
                self.patience = intake.config.delayed_ack.timeout;
            }
        }
        intake.acknowledgement(now)
    }
}

/// SACKs wait for their timer.
fn waits_with_sacks(intake: &Intake) -> bool {
    intake.config.sack_delay.waits() && !intake.reassembly.is_empty() && intake.timer.is_some()
}

fn new_buffer(config: &Config, now: Instant) -> ReceiveBuffer {
    ReceiveBuffer::new(config.payload(), config.buffer_tuning, now)
}

/// Half of a time in ticks of Linux's clock, rounded down to a tick.
fn half(span: Duration) -> Duration {
    Duration::from_nanos(span.as_nanos() / TICK / 2 * TICK)
}
