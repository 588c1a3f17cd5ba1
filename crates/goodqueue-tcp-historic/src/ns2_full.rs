//! ns-2.35's `Agent/TCP/FullTcp/Sack`, where it differs from the RFCs and from ns-2's one-way
//! agents.
//!
//! It is a TCP in both directions, after 4.4BSD, that counts bytes. The SYN/ACK is acknowledged
//! before data follows. Three duplicates begin recovery, in which a counter holds the bytes in the
//! network. Each ACK lowers it by a segment, and an ACK that advances by two. Every segment below a
//! SACKed one is sent again once, starting where the last recovery stopped looking. There is no
//! limited transmit. The timer restarts with the timeout before the ACK's RTT sample, and any ACK
//! that advances ends the back-off. A timeout discards all SACKs and starts again from the oldest
//! segment, but keeps the counter. A last part of the application's data that is no full segment
//! waits until all other data is acknowledged (Nagle). An idle time longer than the unbounded
//! timeout sets the window to the initial one.

use alloc::sync::Arc;

use goodqueue::{Duration, Instant};

use crate::ns2;
use goodqueue_tcp::Profile;
use goodqueue_tcp::clock::sent_at;
use goodqueue_tcp::config::{Config, DelayedAck};
use goodqueue_tcp::congestion::{CongestionControl, Signal};
use goodqueue_tcp::intake::{InOrder, Intake, State};
use goodqueue_tcp::machinery::ack_changes::AckChanges;
use goodqueue_tcp::machinery::{Core, FIRST_BYTE, Phase};
use goodqueue_tcp::reassembly::Reassembly;
use goodqueue_tcp::receiver_stack::ReceiverStack;
use goodqueue_tcp::scoreboard::{DUP_THRESH, Scoreboard};
use goodqueue_tcp::segment::Segment;
use goodqueue_tcp::stack::{Listed, Stack};
use goodqueue_tcp::{AckCarrier, Origin, SackOption, StackInfo};

/// State of the sender.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ns2Full {
    /// Position of the segment to send next (`t_seqno_`); after a timeout it goes back to the
    /// oldest.
    next: u64,
    /// Position from which holes are looked for (`h_seqno_`).
    hole: u64,
    /// Bytes in the network, as counted since recovery began (`pipe_`); can fall below zero.
    pipe: i64,
    /// Three duplicates came, and no ACK beyond what was sent by then (`fastrecov_`).
    recovers: bool,
    /// The count decides what may be sent, not the window (`pipectrl_`).
    counts: bool,
    /// One segment may leave without room in the window.
    forced: bool,
    /// The segment that is timed: the sequence number after its first byte, and when it was sent.
    timed: Option<(u64, Instant)>,
}

static INFO: StackInfo = StackInfo {
    name: "ns2_full",
    summary: "ns-2.35's Agent/TCP/FullTcp/Sack, a TCP in both directions that counts bytes",
    mechanisms: &[],
    ack_carrier: AckCarrier::DataToo,
    sack_option: SackOption::Unpadded,
    origin: Origin::new::<Ns2Full>(),
    ..StackInfo::PLAIN
};

impl Listed for Ns2Full {
    const INFO: &'static StackInfo = &INFO;
    const PROFILES: &'static [Profile] = &[Profile {
        name: "ns2_fulltcp",
        summary: "ns-2.35 Agent/TCP/FullTcp/Sack with 1460-byte segments, as PackMime uses it",
        settings: Config {
            iw: 4,
            delayed_ack: DelayedAck { every: 1, timeout: Duration::from_millis(400) },
            timestamps: true,
            stack: &INFO,
            ..ns2::SETTINGS
        },
        controllers: ns2::CONTROLLERS,
        sources: &[
            "ns-default.tcl of ns-2.35; segsperack_ 1, timestamps_ true and window 4 as in Nichols' codel.tcl",
            "tcp-full.cc and rq.cc, see stacks/ns2_full.rs",
        ],
    }];

    type Receiver = Ns2FullReceiver;
}

impl Stack for Ns2Full {
    const RESENDS_AT_TIMEOUT: bool = false;

    fn new(_config: &Config) -> Self {
        Self::default()
    }

    fn scoreboard(config: &Config) -> Scoreboard {
        Scoreboard::of_deciding_stack(config.payload(), FIRST_BYTE)
    }

    /// Timeouts of the SYN leave a threshold of two segments, and leave losses in the first window
    /// to the timer.
    #[cold]
    fn on_syn_ack(&mut self, core: &mut Core, now: Instant, segment: &Segment) {
        if core.stats.syn_retransmits > 0 {
            core.ssthresh = 2 * core.mss;
            core.recovery_point = FIRST_BYTE;
        }
        if core.config.timestamps {
            Self::take_stamp(core, now, segment);
        } else if core.stats.syn_retransmits == 0 {
            core.rtt.sample(core.between_ticks(core.last_sent, now));
        }
    }

    fn on_ack(&mut self, core: &mut Core, now: Instant, segment: &Segment) {
        let ack = segment.ack;
        core.widen_window(segment);
        let mut news = core.news_of(segment);
        let timer_ran = core.timer.is_some();
        if news.acked > 0 {
            core.acknowledge(ack, &mut news);
        }
        if core.config.sack && !segment.sack.is_empty() {
            core.mark_sacked(segment, &mut news);
        }
        if self.recovers {
            self.pipe -= Self::mss_as_i64(core);
        }
        let mut grows = false;
        if news.acked == 0 {
            core.stats.duplicate_acks += 1;
            // As in 4.4BSD, duplicates count only while the retransmission timer runs.
            core.duplicate_acks = if timer_ran { core.duplicate_acks + 1 } else { 0 };
            if core.duplicate_acks == DUP_THRESH {
                self.start_recovery(core, now);
            }
        } else {
            core.phase = Phase::Open;
            core.timer = (!core.scoreboard.is_empty()).then(|| now + core.rtt.rto());
            self.next = self.next.max(core.scoreboard.first());
            self.take_rtt(core, now, segment, &mut news);
            let is_partial = self.recovers && ack < core.recovery_point;
            if is_partial {
                self.pipe -= Self::mss_as_i64(core);
            } else {
                self.recovers = false;
                self.counts = false;
                core.duplicate_acks = 0;
            }
            self.hole = self.hole.max(core.scoreboard.first());
            // With everything acknowledged, the next output does not look at the window
            // (`needoutput`).
            self.forced = core.scoreboard.is_empty();
            // `open_cwnd_on_pack_` is false for FullTcp/Sack (ns-default.tcl).
            grows = !is_partial;
        }
        if core.feedback {
            core.tell(now, segment, &news);
        }
        if news.echo && ack > core.reduction_point {
            core.stats.ecn_reductions += 1;
            core.halve(now, Signal::Ecn);
        } else if grows {
            core.grow(now, &news, core.growth_rule(), core.mss, !news.echo);
        }
    }

    fn reduce_at_timeout(&mut self, core: &mut Core, now: Instant, _first: bool) {
        core.halve(now, Signal::Timeout);
        self.next = core.scoreboard.first();
        self.recovers = false;
        self.timed = None;
        // A timeout calls `send_much` with force, which asks for no room in the window.
        self.forced = true;
        core.lose_all(now, Instant::MAX);
    }

    fn transmit(&mut self, core: &mut Core, now: Instant) -> Option<Segment> {
        let forced = core::mem::take(&mut self.forced);
        self.next = self.next.max(core.scoreboard.first());
        let mut position = self.next;
        if core.snd_una < core.recovery_point
            && let Some(hole) = core.scoreboard.hole_from(self.hole)
        {
            position = hole;
            self.hole = self.hole.max(hole);
        }
        let record = core.scoreboard.record(position);
        let seq = record.map_or(core.snd_nxt, |record| record.seq);
        // The `window()` of ns-2 is a whole number of segments.
        let window = core.cwnd - core.cwnd % core.mss;
        let edge = core.snd_una.saturating_add(window);
        let allowed =
            if self.counts { self.pipe < i64::try_from(window).unwrap_or(i64::MAX) } else { seq < edge };
        if !forced && !allowed {
            return None;
        }
        let segment = match record {
            Some(record) => self.retransmit(core, now, position, record),
            None => self.new_segment(core, now, edge)?,
        };
        let length = i64::from(segment.len);
        self.hole += u64::from(self.hole == position);
        self.next += u64::from(self.next == position);
        self.pipe += length;
        Some(segment)
    }

    /// Only a pause before new data counts as one, not a pause before the FIN.
    fn restart_after_idle(&mut self, core: &mut Core, now: Instant) {
        if core.config.idle_restart
            && core.data_end > core.snd_nxt
            && core.stats.data_segments > 0
            && now.since(core.last_sent) > core.rtt.unbounded()
        {
            core.stats.idle_restarts += 1;
            core.controller.on_idle(now, now.since(core.last_sent));
            core.cwnd = core.mss * u64::from(core.config.iw);
        }
    }
}

impl Ns2Full {
    fn take_stamp(core: &mut Core, now: Instant, segment: &Segment) -> Duration {
        let rtt = now.since(sent_at(now, segment.ts_ecr));
        let tick = core.config.tick.as_nanos().max(1);
        // With timestamps ns-2 rounds to the nearest tick (`rtt_update`).
        core.rtt.sample(Duration::from_nanos((rtt.as_nanos() + tick / 2) / tick * tick));
        rtt
    }

    fn take_rtt(&mut self, core: &mut Core, now: Instant, segment: &Segment, news: &mut AckChanges) {
        if core.config.timestamps {
            news.rtt = Some(Self::take_stamp(core, now, segment));
        } else if let Some((_, sent)) = self.timed.filter(|timed| core.snd_una >= timed.0) {
            self.timed = None;
            core.rtt.sample(core.between_ticks(sent, now));
            news.rtt = Some(now.since(sent));
        } else {
            core.rtt.clear_back_off();
        }
    }

    /// The third duplicate begins a recovery, unless the missing segment was sent before the last
    /// recovery began.
    fn start_recovery(&mut self, core: &mut Core, now: Instant) {
        self.recovers = true;
        // Unlike the one-way agents, FullTcp takes SACKed bytes off the counter at its beginning.
        let out = core.scoreboard.outstanding() - core.scoreboard.sacked();
        self.pipe = i64::try_from(out).unwrap_or(i64::MAX);
        // The counter begins anew even if no recovery does (`dupack_action()`).
        if core.snd_una <= core.recovery_point {
            return;
        }
        core.stats.fast_recoveries += 1;
        core.halve(now, Signal::Loss);
        self.timed = None;
        self.counts = true;
        // The oldest segment is sent at once, so the search begins after it.
        self.hole = core.scoreboard.first() + 1;
        core.recovery_point = core.snd_nxt;
        core.due.front = true;
        core.timer = Some(now + core.rtt.rto());
    }

    /// New data, or the FIN; `edge` is that of the congestion window.
    fn new_segment(&mut self, core: &mut Core, now: Instant, edge: u64) -> Option<Segment> {
        let left = core.data_end.saturating_sub(core.snd_nxt);
        if !core.has_new() {
            return None;
        }
        let is_quiet = core.scoreboard.is_empty();
        let room = if self.counts { u64::MAX } else { edge.saturating_sub(core.snd_nxt) };
        let empties = left <= core.mss.min(room);
        let fills = left.min(room) >= core.mss;
        // Nagle: a part of a segment leaves only if nothing is out and it empties the buffer.
        if left > 0 && !fills && !(empties && is_quiet) {
            return None;
        }
        if self.timed.is_none() {
            self.timed = Some((core.snd_nxt + 1, now));
        }
        self.new_data(core, now, 0)
    }

    fn mss_as_i64(core: &Core) -> i64 {
        i64::try_from(core.mss).unwrap_or(i64::MAX)
    }
}

/// The receiving half of FullTcp: no DSACK, and SACKs in the order in which ranges began (rq.cc).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ns2FullReceiver;

impl ReceiverStack for Ns2FullReceiver {
    fn new(_config: &Config) -> Self {
        Self
    }

    fn intake(config: Arc<Config>) -> Intake {
        let mut intake = Intake::new(config, Reassembly::in_order_of_creation());
        intake.reports_duplicates = false;
        intake
    }

    /// The SYN/ACK has a timer of its own, so that a repeated SYN is not answered.
    fn on_syn(&mut self, intake: &mut Intake, segment: &Segment) {
        if intake.state != State::SynReceived {
            intake.on_syn(segment);
        }
    }

    /// The ACK echoes the stamp of the duplicate.
    fn on_duplicate(&mut self, intake: &mut Intake, _now: Instant, segment: &Segment) {
        intake.ts_recent = segment.ts_val;
        intake.stats.duplicates += 1;
        intake.ack_due = true;
    }

    /// The bytes of a full segment are acknowledged at once, and so are a filled gap and a FIN.
    /// Fewer bytes wait for data in the other direction, or for the timer, which runs out at
    /// multiples of its interval.
    fn answer(&mut self, intake: &mut Intake, now: Instant, segment: &Segment, arrival: &InOrder) {
        let at_once = arrival.filled_gap || segment.len == 0;
        let worth = u64::from(intake.config.payload()) * u64::from(intake.config.delayed_ack.every);
        if at_once || intake.rcv_nxt - intake.acknowledged >= worth {
            intake.ack_due = true;
        } else if intake.timer.is_none() {
            let interval = intake.config.delayed_ack.timeout.as_nanos().max(1);
            intake.timer = Some(Instant::from_nanos((now.as_nanos() / interval + 1) * interval));
        }
    }

    fn carry(&mut self, intake: &mut Intake) -> Option<(u64, u32)> {
        if intake.state != State::Established || !intake.reassembly.is_empty() {
            return None;
        }
        intake.ack_due = false;
        intake.timer = None;
        intake.unacknowledged = 0;
        intake.acknowledged = intake.rcv_nxt;
        Some((intake.rcv_nxt, intake.ts_recent))
    }
}
