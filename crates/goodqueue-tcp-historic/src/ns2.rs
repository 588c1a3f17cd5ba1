//! ns-2.35's one-way agents, `Agent/TCP/Sack1` and, without SACK, `Agent/TCP/Newreno`, where they
//! differ from the RFCs.
//!
//! They count segments. The window is a real number, and its whole part counts. During recovery a
//! counter holds the segments in the network: each ACK lowers it and each transmission raises it.
//! Every segment below a SACKed one that is not SACKed itself counts as lost. The third duplicate
//! sends one segment and nothing else. A timeout discards all SACKs and starts again from the
//! oldest segment, and every timeout halves the threshold. One segment per round trip is timed, by
//! a coarse clock of the agent.

use alloc::sync::Arc;

use goodqueue::{Duration, Instant};

use goodqueue_tcp::Profile;
use goodqueue_tcp::config::{Config, DelayedAck, Growth, RtoRule};
use goodqueue_tcp::congestion::Signal;
use goodqueue_tcp::intake::{InOrder, Intake};
use goodqueue_tcp::machinery::ack_changes::AckChanges;
use goodqueue_tcp::machinery::{Core, FIRST_BYTE, FORGIVEN_SYN_RETRANSMITS, Phase};
use goodqueue_tcp::reassembly::Reassembly;
use goodqueue_tcp::receiver_stack::ReceiverStack;
use goodqueue_tcp::scoreboard::{DUP_THRESH, Scoreboard};
use goodqueue_tcp::segment::Segment;
use goodqueue_tcp::stack::{Listed, Stack};
use goodqueue_tcp::{Mechanism, Origin, SackOption, StackInfo};

/// Segments that one duplicate ACK may let out in recovery without SACK.
const BURST_ON_DUPLICATE: u32 = 2;

/// State of the sender.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ns2 {
    /// Segments in the network during recovery. The counter can fall below zero.
    pipe: i64,
    /// Segments by which duplicates widen the window in recovery without SACK.
    inflation: u64,
    /// The ACK at hand lets one segment out beyond the window (limited transmit).
    one_due: bool,
    /// Number of further segments that may leave on the ACK at hand.
    burst: u32,
    /// The ACK at hand began recovery: the oldest segment goes out and no other.
    begins: bool,
    /// No duplicate counts until an ACK of new data comes.
    timed_out: bool,
    /// Position of the segment to send next (`t_seqno_`); after a timeout it goes back to the
    /// oldest.
    next: u64,
    /// The segment that is timed: the sequence number after it, and when it was sent.
    timed: Option<(u64, Instant)>,
}

static INFO: StackInfo = StackInfo {
    name: "ns2",
    summary: "ns-2.35's one-way agents Agent/TCP/Sack1 and Agent/TCP/Newreno",
    mechanisms: &[Mechanism::RecoveryWithoutSack],
    sack_option: SackOption::BlocksOnly, // tcp-sink.cc
    origin: Origin::new::<Ns2>(),
    ..StackInfo::PLAIN
};

impl Listed for Ns2 {
    const INFO: &'static StackInfo = &INFO;
    const PROFILES: &'static [Profile] = &[
        Profile {
            name: "ns2_sack1",
            summary: "ns-2.35 Agent/TCP/Sack1 with a delayed-ACK sink",
            settings: SETTINGS,
            controllers: CONTROLLERS,
            sources: &[
                "ns-default.tcl of ns-2.35: windowInit_ 2, minrto_ 0.2, maxrto_ 60, rtxcur_init_ 3.0, tcpTick_ 0.01, singledup_ 1",
                "TCPSink/Sack1/DelAck interval_ 100 ms; what the agent does otherwise than the RFCs: tcp-sack1.cc, see stacks/ns2.rs",
                "checked against traces of single flows: the same window at every instant for 30 s",
            ],
        },
        Profile {
            name: "ns2_newreno",
            summary: "ns-2.35 Agent/TCP/Newreno with a delayed-ACK sink",
            settings: Config { sack: false, ..SETTINGS },
            controllers: CONTROLLERS,
            sources: &[
                "as ns2_sack1; tcp-newreno.cc; checked in the same way",
                "whole runs agree packet by packet, goodqueue validate --set-up packets",
            ],
        },
    ];

    type Receiver = Ns2Sink;
}

/// The controllers that ns-2's agents have another variant of.
pub(crate) const CONTROLLERS: &[(&str, &str)] =
    &[("newreno", "newreno_ns2"), ("reno", "newreno_ns2"), ("ledbat", "ledbat_ns2"), ("nice", "nice_ns2")];

/// The defaults of ns-2.35.
pub(crate) const SETTINGS: Config = Config {
    iw: 2,
    delayed_ack: DelayedAck { every: 2, timeout: Duration::from_millis(100) },
    min_rto: Duration::from_millis(200),
    initial_rto: Duration::from_secs(3),
    prr: false,
    stack: &INFO,
    rto_rule: RtoRule::Ticks,
    rearm_in_recovery: false,
    tick: Duration::from_millis(10),
    growth: Growth::PerAck,
    forget_on_timeout: true,
    ..Config::RFC
};

impl Stack for Ns2 {
    const WIDENS_FOR_DUPLICATES: bool = false;
    const RESENDS_AT_TIMEOUT: bool = false;

    fn new(_config: &Config) -> Self {
        Self::default()
    }

    fn scoreboard(config: &Config) -> Scoreboard {
        Scoreboard::of_deciding_stack(config.payload(), FIRST_BYTE)
    }

    /// The handshake is timed by the agent's coarse clock, and data carries the ACK of the SYN/ACK.
    #[cold]
    fn on_syn_ack(&mut self, core: &mut Core, now: Instant, _segment: &Segment) {
        core.due.ack = core.snd_nxt >= core.data_end;
        if core.stats.syn_retransmits == 0 {
            core.rtt.sample(core.between_ticks(core.last_sent, now));
            core.rtt.remember();
        } else {
            // The window begins at one segment and avoids congestion at once; the timeout stays
            // backed off.
            core.cwnd = core.mss;
            core.ssthresh = 2 * core.mss;
        }
        if core.stats.syn_retransmits > FORGIVEN_SYN_RETRANSMITS {
            core.cwnd = core.mss;
        }
    }

    fn on_ack(&mut self, core: &mut Core, now: Instant, segment: &Segment) {
        let ack = segment.ack;
        self.begins = false;
        core.widen_window(segment);
        let mut news = core.news_of(segment);
        if news.acked > 0 {
            core.acknowledge(ack, &mut news);
        }
        if core.phase != Phase::Recovery {
            self.on_ack_outside_recovery(core, now, segment, &mut news);
        } else if core.config.sack {
            self.on_ack_in_recovery(core, now, segment, &mut news);
        } else {
            self.on_ack_in_recovery_without_sack(core, now, &mut news);
        }
        let grows = news.acked > 0 && core.phase == Phase::Open;
        if core.feedback {
            core.tell(now, segment, &news);
        }
        if news.echo && core.phase == Phase::Open && ack > core.reduction_point {
            core.stats.ecn_reductions += 1;
            core.halve(now, Signal::Ecn);
        } else if grows {
            core.grow(now, &news, core.growth_rule(), core.mss, !news.echo);
        }
    }

    fn reduce_at_timeout(&mut self, core: &mut Core, now: Instant, _first: bool) {
        core.halve(now, Signal::Timeout);
        // Only Sack1 ignores duplicates after a timeout (`timeout_`); Newreno counts them.
        *self = Self { timed_out: core.config.sack, next: core.scoreboard.first(), ..Self::default() };
        core.lose_all(now, Instant::MAX);
    }

    /// Returns the next segment, if the agent may send one now.
    fn transmit(&mut self, core: &mut Core, now: Instant) -> Option<Segment> {
        let whole = core.cwnd - core.cwnd % core.mss;
        if core.phase == Phase::Recovery && core.config.sack {
            // On the third duplicate, `recv()` sends only the oldest segment and no more.
            if self.begins {
                return None;
            }
            let room = Self::segments(core, whole) - self.pipe;
            if room <= 0 {
                return None;
            }
            let segment = match core.scoreboard.next_hole() {
                Some((position, record)) => Some(self.retransmit(core, now, position, record)),
                None => self.next_segment(core, now),
            };
            self.pipe += i64::from(segment.is_some());
            return segment;
        }
        let mut window = whole;
        if core.phase == Phase::Recovery {
            if self.burst == 0 {
                return None;
            }
            self.burst -= 1;
            window += self.inflation * core.mss;
        } else if core.duplicate_acks >= DUP_THRESH && self.burst > 0 {
            self.burst -= 1;
        } else if core.duplicate_acks > 0 {
            if !core::mem::take(&mut self.one_due) {
                return None;
            }
            // Unlike `window()`, `send_one()` does not round the window down.
            window = core.cwnd + core.duplicate_acks * core.mss;
        }
        self.next = self.next.max(core.scoreboard.first());
        let end = match core.scoreboard.record(self.next) {
            // A FIN takes no room in the window.
            Some(record) => (record.seq + u64::from(record.len)).min(core.data_end),
            None => core.snd_nxt + core.mss.min(core.data_end.saturating_sub(core.snd_nxt)),
        };
        // A window of less than a segment, which a controller may ask for, counts as one.
        if end.saturating_sub(core.snd_una) > window.max(core.mss) {
            return None;
        }
        self.next_segment(core, now)
    }

    fn on_sent(&mut self, core: &mut Core, now: Instant) {
        self.next = core.scoreboard.next_position();
        if self.timed.is_none() {
            self.timed = Some((core.snd_nxt, now));
        }
    }
}

impl Ns2 {
    fn on_ack_outside_recovery(
        &mut self,
        core: &mut Core,
        now: Instant,
        segment: &Segment,
        news: &mut AckChanges,
    ) {
        if news.acked > 0 {
            core.duplicate_acks = 0;
            self.timed_out = false;
            core.due.front = false;
            // Outside recovery each ACK of new data clears ns-2's scoreboard (tcp-sack1.cc,
            // `recv`).
            if core.scoreboard.sacked() > 0 {
                core.scoreboard.forget_sacked();
            }
            core.phase = Phase::Open;
            // The sample comes first, so that the timer counts with it (`timerfix_` true).
            news.rtt = self.take_timed(core, now);
            Self::renew_timer(core, now);
            return;
        }
        if self.timed_out || core.scoreboard.is_empty() {
            return;
        }
        if core.config.sack {
            Self::take_sacked(core, segment, news);
        } else {
            news.duplicate = segment.len == 0;
        }
        if !news.duplicate {
            return;
        }
        core.stats.duplicate_acks += 1;
        core.duplicate_acks += 1;
        if core.duplicate_acks < DUP_THRESH {
            self.one_due = core.config.limited_transmit;
        // ns-2 reduces once for a window of data (`bug_fix_`).
        } else if core.duplicate_acks == DUP_THRESH && core.snd_una > core.recovery_point {
            self.start_recovery(core, now);
        } else if !core.config.sack {
            self.burst = BURST_ON_DUPLICATE;
        }
    }

    fn start_recovery(&mut self, core: &mut Core, now: Instant) {
        core.stats.fast_recoveries += 1;
        core.recovery_point = core.snd_nxt;
        let threshold = i64::try_from(DUP_THRESH).unwrap_or(0);
        // The three duplicates show that three segments left the network.
        self.pipe = Self::segments(core, core.scoreboard.outstanding()) - threshold;
        self.inflation = DUP_THRESH;
        self.begins = true;
        core.recovery.first_partial = true;
        // `reset_rtx_timer` gives up the timed segment.
        self.timed = None;
        core.scoreboard.forget_lost();
        core.halve(now, Signal::Loss);
        core.phase = Phase::Recovery;
        core.due.front = true;
        core.timer = Some(now + core.rtt.rto());
    }

    fn on_ack_in_recovery(
        &mut self,
        core: &mut Core,
        now: Instant,
        segment: &Segment,
        news: &mut AckChanges,
    ) {
        self.pipe -= 1;
        if segment.ack >= core.recovery_point {
            self.end_recovery(core, now, news);
            // `recover_` is 0 now, so the next three duplicates always begin a recovery.
            core.recovery_point = 0;
            return;
        }
        // If the ACK answers a retransmission, two segments have left: the lost one and its copy.
        // With both counted, recovery is never slower than slow start (tcp-sack1.cc).
        if news.acked > 0 {
            self.pipe -= 1;
            core.rtt.clear_back_off();
            Self::renew_timer(core, now);
        }
        Self::take_sacked(core, segment, news);
        core.duplicate_acks += u64::from(news.duplicate);
        news.acked = 0;
    }

    fn end_recovery(&mut self, core: &mut Core, now: Instant, news: &mut AckChanges) {
        core.phase = Phase::Open;
        core.duplicate_acks = 0;
        core.due.front = false;
        core.scoreboard.forget_sacked();
        news.rtt = self.take_timed(core, now);
        Self::renew_timer(core, now);
        if core.config.sack {
            news.acked = 0; // the window does not grow on this one
        }
    }

    /// Recovery without SACK (RFC 6582 §3.2): each duplicate widens the window by a segment. A
    /// partial ACK narrows it by the segments that it covers less one, and sends the next hole.
    fn on_ack_in_recovery_without_sack(&mut self, core: &mut Core, now: Instant, news: &mut AckChanges) {
        self.burst = BURST_ON_DUPLICATE;
        if news.acked == 0 {
            core.stats.duplicate_acks += 1;
            core.duplicate_acks += 1;
            self.inflation += 1;
            return;
        }
        if core.snd_una >= core.recovery_point {
            self.inflation = 0;
            self.end_recovery(core, now, news);
            return;
        }
        let covered = u64::try_from(Self::segments(core, news.acked)).unwrap_or(0);
        if self.inflation > covered {
            self.inflation -= covered - 1;
        } else {
            // The duplicates widened the window by less than this ACK covers, so `cwnd_` itself
            // shrinks.
            core.cwnd = core.cwnd.saturating_sub((covered - self.inflation) * core.mss).max(core.mss);
            self.inflation = 1;
        }
        // A partial ACK ends the timing without a sample (`partialnewack`).
        if self.timed.is_some_and(|(end, _)| core.snd_una >= end) {
            self.timed = None;
            core.rtt.clear_back_off();
        }
        // Only the first partial ACK renews the timer (`newreno_changes1_` 1), as in RFC 6582's
        // impatient variant.
        if core.recovery.first_partial {
            core.recovery.first_partial = false;
            Self::renew_timer(core, now);
        }
        core.due.front = true;
        news.acked = 0;
    }

    fn take_sacked(core: &mut Core, segment: &Segment, news: &mut AckChanges) {
        core.mark_sacked(segment, news);
        // A duplicate counts only if its SACKs tell something new (`CheckUpdate`).
        news.duplicate = news.sacked > 0;
    }

    /// Returns the RTT of the segment that is timed, if it was acknowledged.
    fn take_timed(&mut self, core: &mut Core, now: Instant) -> Option<Duration> {
        let (end, sent) = self.timed?;
        if core.snd_una < end {
            return None;
        }
        self.timed = None;
        core.rtt.sample(core.between_ticks(sent, now));
        Some(now.since(sent))
    }

    fn renew_timer(core: &mut Core, now: Instant) {
        core.timer = (!core.scoreboard.is_empty()).then(|| now + core.rtt.rto());
    }

    /// Returns the number of segments of `bytes`. The FIN is a part of the last one.
    fn segments(core: &Core, bytes: u64) -> i64 {
        i64::try_from(bytes.saturating_sub(u64::from(core.fin_sent)).div_ceil(core.mss)).unwrap_or(i64::MAX)
    }

    /// Sends the next segment in order: one that a timeout went back to, or a new one.
    fn next_segment(&mut self, core: &mut Core, now: Instant) -> Option<Segment> {
        let position = self.next.max(core.scoreboard.first());
        if let Some(record) = core.scoreboard.record(position) {
            self.next = position + 1;
            return Some(self.retransmit(core, now, position, record));
        }
        if core.has_new() { self.new_data(core, now, 0) } else { None }
    }
}

/// ns-2's sinks (tcp-sink.cc): SACKs report the last three ranges only, there is no FIN, and a
/// SYN/ACK is repeated only when the SYN comes again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ns2Sink;

impl ReceiverStack for Ns2Sink {
    fn new(_config: &Config) -> Self {
        Self
    }

    fn intake(config: Arc<Config>) -> Intake {
        let mut intake = Intake::new(config, Reassembly::forgetful());
        intake.repeats_syn_ack = false;
        // `generateDSacks_` is false in ns-default.tcl.
        intake.reports_duplicates = false;
        intake
    }

    /// The ACK echoes the stamp of the duplicate. The last segment received in order counts as in
    /// order when it comes again.
    fn on_duplicate(&mut self, intake: &mut Intake, now: Instant, segment: &Segment) {
        intake.ts_recent = segment.ts_val;
        intake.stats.duplicates += 1;
        if segment.end() == intake.rcv_nxt && intake.reassembly.is_empty() {
            intake.delay(now);
        } else {
            intake.ack_due = true;
        }
    }

    fn answer(&mut self, intake: &mut Intake, now: Instant, _segment: &Segment, arrival: &InOrder) {
        intake.answer(now, arrival, false);
    }
}
