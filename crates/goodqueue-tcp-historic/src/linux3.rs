//! The sender of Linux 3.2 and 3.14, before RACK, with the timers and windows of those kernels.
//! Losses are found by forward acknowledgement (FACK, Mathis & Mahdavi 1996): if a segment is
//! SACKed that is more than three above the oldest, every un-SACKed segment more than three below
//! the highest SACK is lost. A retransmission is lost if a segment that was sent after it is
//! SACKed. Once reordering was seen, SACKed segments are counted instead.
//!
//! The kernels differ in their settings: Linux 3.2 halves the rate for marks and tests timeouts by
//! the older F-RTO (RFC 4138 appendix B; `tcp_enter_frto`, `tcp_process_frto`), in which nothing is
//! taken for lost at first. The oldest segment goes out again; the first ACK that advances asks for
//! two new segments; the next one decides. With nothing SACKed beyond what was out, and progress,
//! the timeout was wrong.

use goodqueue::{Duration, Instant};

use crate::least_window::least_window;
use goodqueue_tcp::Profile;
use goodqueue_tcp::config::{
    BufferGrowth, BufferTuning, Config, Growth, RtoRule, SackDelay, SegmentMemory, SendTuning, UndoRule,
};
use goodqueue_tcp::congestion::{GrowthRule, Signal};
use goodqueue_tcp::machinery::ack_changes::AckChanges;
use goodqueue_tcp::machinery::samples::ProcessedAck;
use goodqueue_tcp::machinery::tail_probe::{DELAYED_ACK, TIMER_SLACK};
use goodqueue_tcp::machinery::undo::{NextStep, Undo, UndoState};
use goodqueue_tcp::machinery::{Core, FIRST_BYTE, Phase, State, TimerPurpose};
use goodqueue_tcp::prr::Prr;
use goodqueue_tcp::scoreboard::{DUP_THRESH, Scoreboard};
use goodqueue_tcp::segment::Segment;
use goodqueue_tcp::stack::{Listed, Stack};
use goodqueue_tcp::stacks::linux;
use goodqueue_tcp::timers::Timers;
use goodqueue_tcp::{Mechanism, Origin, StackInfo, SynOptions};

/// The window counts as used with this number of segments to spare, and is moderated to this number
/// of segments above the bytes in flight (`tcp_max_burst`).
const MAX_BURST: u64 = 3;
/// Upper bound of the reordering, in segments (`TCP_MAX_REORDERING`).
const MAX_REORDERING: u64 = 127;
// Linux waits 10 ms at least (`tcp_schedule_loss_probe`).
/// Least time that a probe waits.
const LEAST_PROBE_WAIT: Duration = Duration::from_millis(10);
/// F-RTO: segments of new data beyond those in flight that may leave after the first ACK that
/// advances.
const NEW_SEGMENTS: u64 = 2;
// `tcp_process_frto` passes these numbers to `tcp_enter_frto_loss`.
/// F-RTO: the window beyond the segments in flight once the timeout is known to be right, before
/// and after that ACK.
const AFTER_LOSS: [u64; 2] = [2, 3];

/// State of the sender of Linux 3.x.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Linux3 {
    undoing: UndoState,
    /// Reordering was seen, so that SACKed segments are counted instead of all below the highest
    /// SACK.
    reordered: bool,
    /// A reduction by halves still owes a segment.
    odd: bool,
    /// Number of segments that may overtake one that is not lost.
    reordering: u64,
    /// A timeout that may have been a mistake.
    test: Option<Test>,
}

static INFO: StackInfo = StackInfo {
    name: "linux3",
    summary: "Linux 3.x: losses are found by forward acknowledgement (FACK)",
    mechanisms: &[
        Mechanism::TailLossProbe,
        Mechanism::EarlyRetransmit,
        Mechanism::OfferAgain,
        Mechanism::AdaptiveAcks,
        Mechanism::Undo,
    ],
    syn_options: SynOptions::Counted,
    // The clock of these kernels is five minutes before its overflow when the host starts
    // (INITIAL_JIFFIES, include/linux/jiffies.h).
    clock_start_ms: u32::MAX - 300_000 + 1,
    origin: Origin::new::<Linux3>(),
    ..StackInfo::PLAIN
};

impl Listed for Linux3 {
    const INFO: &'static StackInfo = &INFO;
    const PROFILES: &'static [Profile] = &[
        Profile {
            name: "linux314",
            summary: "Linux 3.14: FACK, PRR, tail loss probes, early retransmit, CUBIC with HyStart",
            settings: LINUX_314,
            controllers: linux::CONTROLLERS,
            sources: &[
                "read in Linux 3.14.1, net/ipv4/tcp_input.c, tcp_output.c, tcp_timer.c, tcp_cong.c, tcp_cubic.c; checked against loads of that kernel",
                "each segment out of order makes up to 16 ACKs quick, one for two segments of the window (tcp_data_queue until 4.17, tcp_incr_quickack)",
                "tcp_fack 1 until reordering is seen, a retransmission passed by newer data is lost (tcp_mark_lost_retrans); RACK came with 4.4",
                "slow start counts acknowledged segments since 3.13 and goes on at the threshold; avoidance grows with the ACK after tcp_cong_avoid_ai's count",
                "the window counts as used with three segments to spare (tcp_is_cwnd_limited without offloads); PRR always with the slow-start bound",
                "tail loss probes and early retransmit with its delay (tcp_early_retrans 3), F-RTO as in RFC 5682, which takes what was SACKed before for original",
                "CUBIC counts ACKs and makes up for their delay (delayed_ack), HyStart is without allowance for bursts: net/ipv4/tcp_cubic.c until 3.19",
                "the smoothed RTT and its deviation are whole numbers of eighths and quarters of a tick (tcp_rtt_estimator until 3.14)",
                "no segments in bursts: the testbeds of its time had offloads off; receive buffers as tcp_fixup_rcvbuf and tcp_rcv_space_adjust have them",
                "send buffer of 4352 bytes for each segment of two windows, as a kernel with WLAN and tunnels has it, made larger only where an ACK finds the window with room (tcp_new_space)",
            ],
        },
        Profile {
            name: "linux32",
            summary: "Linux 3.2: FACK, PRR for losses, rate halving for marks, growth per ACK, no tail loss probes",
            settings: LINUX_32,
            controllers: linux::CONTROLLERS,
            sources: &[
                "growth per ACK until Linux 3.12; PRR, in place of rate halving, since 3.2; the 1 s initial timeout since 3.1, ten segments at first since 2.6.39",
                "read in Linux 3.2.71, the same files; checked against single flows and loads of that kernel",
                "send buffer: 2324 bytes are reserved for a segment, which takes 4352 (tcp_new_space, __alloc_skb); receive buffer: ten segments announced at first, measured from the first read on",
                "early retransmit came with 3.5, tail loss probes with 3.10, RTT samples from SACKs with 3.12: each ACK that advances is timed by its stamp",
                "marks and drops by the host itself halve the rate (tcp_cwnd_down), the window is moderated to three segments beyond the flight (tcp_moderate_cwnd)",
                "F-RTO with SACK (tcp_enter_frto, tcp_process_frto): tcp_frto 2; a spurious timeout halves the rate, tcp_frto_response 0",
                "what the host's own queue refuses is offered again (tcp_write_xmit, tcp_retransmit_timer), also in 3.14",
            ],
        },
    ];

    type Receiver = linux::LinuxReceiver;
}

/// Linux 3.14.
const LINUX_314: Config = Config {
    buffer_tuning: BUFFER_314,
    send_tuning: SendTuning::TwoWindows(SegmentMemory {
        taken: SEGMENT_314,
        reserved: SEGMENT_314,
        first: 2 * INITIAL_SEGMENTS,
        least_window: INITIAL_SEGMENTS,
    }),
    stack: &INFO,
    early_retransmit: true,
    offers_again: true,
    growth: Growth::SlowStart,
    bursts: false,
    timers: Timers::Ticks,
    rto_rule: RtoRule::PeakTicks,
    quick_after_gap: true,
    sack_delay: SackDelay::NONE,
    ecn_on_all: false,
    l4s: false,
    ..linux::LINUX_61
};

/// Linux 3.2.
const LINUX_32: Config = Config {
    buffer_tuning: BUFFER_32,
    send_tuning: SendTuning::TwoWindows(SegmentMemory {
        taken: SEGMENT_32,
        reserved: RESERVED_32,
        first: INITIAL_SEGMENTS,
        least_window: LEAST_SEGMENTS_32,
    }),
    growth: Growth::PerAck,
    tail_loss_probe: false,
    early_retransmit: false,
    undo: UndoRule::Halved,
    timed_by_stamps: true,
    rate_halving: true,
    ..LINUX_314
};

/// The receive buffer of Linux 3.14. It begins with room for eight times `ANNOUNCED_314` segments
/// of 1460 bytes with their overhead (`tcp_fixup_rcvbuf`).
const BUFFER_314: BufferTuning = BufferTuning {
    taken: SEGMENT_314 as u64 - FULL,
    joins: false,
    most: 6_291_456,
    scale: 128,
    growth: BufferGrowth::Stepwise,
    initial: 8 * ANNOUNCED_314 * (1460 + OVERHEAD_314),
    first_window: Some(ANNOUNCED_314),
    overhead: OVERHEAD_314,
};
/// Segments of the first window that Linux 3.14 announces (`tcp_default_init_rwnd`).
const ANNOUNCED_314: u64 = 20;
/// Memory in bytes that Linux 3.14 assumes a segment takes beside its payload: room for headers,
/// its description (`sk_buff`) and the list of its parts (`skb_shared_info`); see `SKB_TRUESIZE`.
const OVERHEAD_314: u64 = HEADERS_314 + 256 + 320;
/// Room in bytes in front of a segment for the headers of all links and tunnels that the kernel was
/// built for (`MAX_TCP_HEADER`). Kernels of distributions are built for WLAN and tunnels.
const HEADERS_314: u64 = 320;
/// The receive buffer of Linux 3.2. It begins with the default of `tcp_rmem`. Ten segments are
/// announced (`TCP_DEFAULT_INIT_RCVWND`).
const BUFFER_32: BufferTuning = BufferTuning {
    taken: SEGMENT_32 as u64 - FULL,
    joins: false,
    most: 6_291_456,
    scale: 128,
    growth: BufferGrowth::TwoRoundTrips,
    initial: 87_380,
    first_window: Some(10),
    overhead: 864,
};
/// Payload in bytes of a full segment with timestamps.
const FULL: u64 = 1448;
/// Memory in bytes that a segment of 1448 bytes takes in Linux 3.14: a power of two that holds it
/// with the room for headers and the list of its parts, and its description. 2048 bytes are 40 too
/// few. Without WLAN and tunnels they are enough.
const SEGMENT_314: u32 = 4096 + 256;
/// The same in Linux 3.2, whose list has one entry more: 2048 bytes never suffice.
const SEGMENT_32: u32 = 4096 + 256;
/// Memory that Linux 3.2 reserves for a segment, which is not what it takes: 1460 bytes, headers,
/// and both descriptions (`SKB_TRUESIZE`).
const RESERVED_32: u32 = 1460 + 224 + 256 + 384;
/// Segments of the first window, which the first buffer holds (`TCP_INIT_CWND`); in Linux 3.14 it
/// holds two windows.
const INITIAL_SEGMENTS: u32 = 10;
/// Least window in Linux 3.2 that a later buffer holds twice (`tcp_reordering` and one).
const LEAST_SEGMENTS_32: u32 = 4;

/// A timeout that may have been a mistake.
#[derive(Clone, Copy, Debug)]
struct Test {
    /// An ACK advanced since the timeout, and new data was sent.
    advanced: bool,
    /// The ACK that decides must be below this: SND.NXT at the timeout, or the end of an earlier
    /// recovery.
    high: u64,
    began: Instant,
}

/// An ACK, and the state in which it arrived.
struct Turn {
    now: Instant,
    news: AckChanges,
    /// Sending time of the segment that the ACK answers, by its timestamp.
    answered: Option<Instant>,
    /// The ACK reports a duplicate.
    duplicate_reported: bool,
    /// A timeout was in doubt when the ACK arrived.
    tested: bool,
    /// A reduction was under way when the ACK arrived.
    was_reducing: bool,
    /// The ACK enlarges the receiver's window.
    opens_window: bool,
}

/// How long a probe waits (draft-dukkipati-tcpm-tcp-loss-probe, as in Linux 3.10). `alone`: a
/// single segment is out.
fn probe_wait(srtt: Duration, alone: bool) -> Duration {
    let most =
        // `tcp_schedule_loss_probe()`: the ACK of a single segment may be delayed.
        if alone { srtt + Duration::from_nanos(srtt.as_nanos() / 2) + DELAYED_ACK } else { LEAST_PROBE_WAIT };
    srtt.saturating_mul(2).max(most).max(LEAST_PROBE_WAIT)
}

impl Stack for Linux3 {
    const PROBES_ONE_AT_A_TIME: bool = false;

    fn new(_config: &Config) -> Self {
        Self {
            undoing: UndoState::default(),
            reordered: false,
            odd: false,
            reordering: DUP_THRESH,
            test: None,
        }
    }

    fn scoreboard(config: &Config) -> Scoreboard {
        let mut scoreboard = Scoreboard::new(config.payload(), FIRST_BYTE, true);
        if config.undo == UndoRule::Whole {
            scoreboard.trust_sacked();
        }
        scoreboard
    }

    fn on_ack(&mut self, core: &mut Core, now: Instant, segment: &Segment) {
        let lost_before = core.scoreboard.lost();
        core.count_timeout_from_front(now);
        let set_timer = core.timer;
        let mut turn = self.take(core, now, segment);
        self.undoing.new_data_first = false;
        if turn.tested {
            self.go_on_testing(core, &turn.news, turn.duplicate_reported);
        }
        if !core.controls_all {
            // The window grows before the ACK changes the phase (Linux up to 4.5).
            self.grow(core, segment, &turn);
        }
        let was_open = core.phase == Phase::Open;
        let looks = self.end_phase(core, segment.ack, &turn);
        self.detect_forward(core, &turn, looks);
        let newly_lost = core.scoreboard.lost().saturating_sub(lost_before);
        self.begin_recovery_or_reduction(core, &turn);
        if self.test.is_none() {
            self.undoing.forget_resent(core);
        }
        self.renew_timer(core, &turn, set_timer);
        if core.config.early_retransmit {
            self.schedule_early_retransmit(core, now);
        }
        if core.controls_all {
            if core.feedback {
                turn.news.newly_lost = newly_lost;
                core.tell(now, segment, &turn.news);
            }
            return;
        }
        let was_plain = was_open && !turn.news.echo;
        self.change_window(core, &turn.news, was_plain);
    }

    fn on_other_timer(&mut self, core: &mut Core, now: Instant, purpose: TimerPurpose) -> bool {
        match purpose {
            TimerPurpose::Probe => core.probe_tail(now, false),
            TimerPurpose::Early => self.retransmit_early(core, now),
            TimerPurpose::Timeout | TimerPurpose::Reordering => return false,
        }
        true
    }

    fn reduce_at_timeout(&mut self, core: &mut Core, now: Instant, first: bool) {
        if core.config.undo == UndoRule::Halved {
            self.begin_test(core, now, first);
            return;
        }
        if core.timeout_reduces(first) {
            self.undoing.remember_window(core);
            core.ssthresh = core.reduced_window(now, Signal::Timeout, 0);
        }
        self.doubt_reordering(core);
        // A timeout that follows another after progress counts as new (tcp_enter_loss).
        let alone = core.phase != Phase::Recovery || !first;
        self.undoing.timeout_in_doubt = core.config.undoes() && alone;
        self.undoing.new_data_first = false;
        core.lose_all(now, Instant::MAX);
    }

    #[cold]
    fn on_host_congestion(&mut self, core: &mut Core, now: Instant, dropped: u64) {
        let Some(cwnd) = core.note_host_congestion(now) else { return };
        self.undoing.undo = None;
        if !core.config.prr {
            core.cwnd = cwnd.min(core.ssthresh);
            return;
        }
        core.begin_reduction(cwnd);
        self.odd = false;
        core.cwnd = cwnd;
        if core.config.rate_halving {
            // `tcp_enter_cwr()` of Linux 3.2 leaves room for one segment more than is out.
            core.cwnd = cwnd.min((core.scoreboard.pipe() + core.mss).saturating_sub(dropped));
        }
    }

    #[cold]
    fn on_refused(&mut self, core: &mut Core, now: Instant, segment: &Segment) {
        // Segments of the handshake and bare ACKs are not offered again.
        if !core.config.offers_again || segment.len == 0 || core.state != State::Established {
            self.on_host_congestion(core, now, u64::from(segment.len));
            return;
        }
        core.host.refused = true;
        core.stats.segments -= 1;
        if core.scoreboard.was_resent(segment.seq) {
            core.take_retransmission_back(now, segment);
            self.forget_retransmission(core, now);
        } else {
            core.take_new_data_back(now, segment);
        }
        self.on_host_congestion(core, now, 0);
    }

    fn transmit(&mut self, core: &mut Core, now: Instant) -> Option<Segment> {
        if let Some(new) = core.tail.due {
            return self.send_tail_probe(core, now, new);
        }
        let pipe = core.scoreboard.pipe();
        // While nothing may be sent again, an ACK still lets new data leave (tcp_data_snd_check).
        if let Some((position, record)) = core.scoreboard.next_lost()
            && self.test.is_none()
            && core.may_resend()
        {
            if self.undoing.new_data_first {
                match self.undoing.next_step(core, pipe) {
                    NextStep::Send(payload) => return Some(self.send_new(core, now, payload)),
                    NextStep::Wait => return None,
                    NextStep::Mend => {}
                }
            }
            return self.mend(core, now, position, record, pipe);
        }
        self.transmit_new(core, now, pipe)
    }

    fn fill_hole(&mut self, core: &mut Core, now: Instant, pipe: u64) -> Option<Segment> {
        if core.phase != Phase::Recovery || pipe + core.mss > core.cwnd || !core.may_resend() {
            return None;
        }
        let (position, record) = core.scoreboard.first_hole()?;
        Some(self.retransmit(core, now, position, record))
    }

    #[inline]
    fn undoing(&mut self) -> Option<&mut UndoState> {
        Some(&mut self.undoing)
    }

    fn timeouts_in_pause(&self, core: &Core, now: Instant) -> u64 {
        core.timeouts_since_last_sent(now)
    }

    fn lower_window(&self, core: &mut Core, timeouts: u64) {
        core.halve_window(timeouts);
    }

    fn on_sent(&mut self, core: &mut Core, now: Instant) {
        if core.config.tail_loss_probe && !self.schedule_probe(core, now, false) {
            core.count_timeout_from_front(now);
        }
    }

    /// A probe may help if nothing is SACKed or sent again, and the window or the application
    /// prevents sending.
    fn schedule_probe(&mut self, core: &mut Core, now: Instant, afresh: bool) -> bool {
        let is_quiet = core.phase == Phase::Open
            && !core.scoreboard.has_resent()
            && (core.scoreboard.pipe() + core.mss > core.cwnd || core.snd_nxt >= core.data_end);
        is_quiet && core.schedule_probe(now, afresh, probe_wait)
    }
}

impl Linux3 {
    /// Takes an ACK into the scoreboard, the window and the RTT.
    fn take(&mut self, core: &mut Core, now: Instant, segment: &Segment) -> Turn {
        let was_reducing = matches!(core.phase, Phase::Recovery | Phase::Reduction);
        let edge = core.offered.edge;
        let ProcessedAck { news, answered, reported } = core.take_ack(now, segment);
        let opens_window = core.offered.edge > edge;
        if let Some(duplicate) = reported {
            self.undoing.on_duplicate_report(duplicate.start);
        }
        let duplicate_reported = reported.is_some();
        Turn {
            now,
            news,
            answered,
            duplicate_reported,
            tested: self.test.is_some(),
            was_reducing,
            opens_window,
        }
    }

    /// Gives the controller feedback and lets it grow the window.
    fn grow(&self, core: &mut Core, segment: &Segment, turn: &Turn) {
        let news = &turn.news;
        if core.feedback {
            core.tell(turn.now, segment, news);
        }
        if news.acked > 0 && !turn.was_reducing && !turn.tested {
            let may_grow = news.pipe_before + MAX_BURST * core.mss >= core.cwnd;
            let acked = core.counted(news);
            let rule = GrowthRule { late: true, ..core.growth_rule() };
            core.grow(turn.now, news, rule, acked, may_grow);
        }
    }

    /// Ends a recovery or reduction that the ACK completes. Returns false if the ACK shows no
    /// losses.
    fn end_phase(&mut self, core: &mut Core, ack: u64, turn: &Turn) -> bool {
        let news = &turn.news;
        if core.phase == Phase::Open {
            if turn.duplicate_reported && self.undoing.were_all_duplicates() {
                self.undoing.undo(core, false);
            }
            return true;
        }
        let fills_hole = core.phase == Phase::Recovery && ack < core.recovery_point && news.acked > 0;
        if fills_hole && self.undoing.answers_original(turn.answered) {
            self.note_reordering(core.scoreboard.forward() + news.acked / core.mss);
        }
        let any_ack_tells = core.config.undo == UndoRule::Whole;
        self.undoing.end_phase(core, ack, turn.answered, news, any_ack_tells)
    }

    /// A segment was overtaken by `segments` others. The largest such number is remembered.
    fn note_reordering(&mut self, segments: u64) {
        if segments > self.reordering {
            // `tcp_update_reordering()` has this bound, too.
            self.reordering = segments.min(MAX_REORDERING);
            // From here on FACK is off for the connection (`tcp_disable_fack`).
            self.reordered = true;
        }
    }

    /// Marks the segments that the SACKs of this ACK show to be lost in a recovery. `looks`: the
    /// ACK may show losses.
    fn detect_forward(&mut self, core: &mut Core, turn: &Turn, looks: bool) {
        self.note_reordering(core.scoreboard.arrivals().displaced);
        if core.phase != Phase::Recovery || !looks {
            return;
        }
        if !self.reordered {
            core.scoreboard.detect_passed_resent();
        }
        // An ACK that enlarges the window is no duplicate (`FLAG_WIN_UPDATE`).
        let is_duplicate = turn.news.acked == 0 && turn.news.duplicate && !turn.opens_window;
        if is_duplicate || core.scoreboard.forward() > self.reordering {
            self.mark_forward(core, false);
        }
    }

    /// True if more than three segments are between the oldest one and the highest SACKed one.
    fn is_loss_likely(&self, core: &Core) -> bool {
        if core.scoreboard.lost() > 0 {
            return true;
        }
        let sacked = core.scoreboard.sacked();
        let evidence = if !self.reordered {
            core.scoreboard.forward()
        } else if sacked > 0 {
            // The missing segment itself counts as one more (`tcp_dupack_heuristics`).
            sacked / core.mss + 1
        } else {
            0
        };
        evidence > self.reordering
    }

    /// Marks all but the last three segments below the highest SACK; with `first` the oldest at
    /// least.
    fn mark_forward(&self, core: &mut Core, first: bool) {
        // Segments that a recovery itself sent are looked at in it since Linux 3.7.
        let end = if core.config.rate_halving { core.recovery_point } else { core.snd_nxt };
        if !self.reordered {
            // Linux marks at least the oldest segment (`tcp_update_scoreboard`).
            let lost = core.scoreboard.forward().saturating_sub(self.reordering).max(1);
            core.scoreboard.mark_first(lost, end);
        } else if core.scoreboard.sacked() >= self.reordering * core.mss {
            core.scoreboard.mark_with_sacked_above(self.reordering, end);
        } else if first {
            core.scoreboard.mark_front_lost();
        }
    }

    fn begin_recovery_or_reduction(&mut self, core: &mut Core, turn: &Turn) {
        let begins = match core.phase {
            Phase::Recovery | Phase::Loss => false,
            Phase::Open if self.test.is_some() => false,
            Phase::Open | Phase::Reduction => self.is_loss_likely(core),
        };
        if begins {
            self.undoing.timeout_in_doubt = false;
            self.begin_recovery(core, turn.now, turn.news.acked);
            self.mark_forward(core, true);
        } else if turn.news.echo && !core.controls_all && core.phase == Phase::Open {
            core.reduce_for_mark(turn.now, turn.news.acked);
            self.undoing.undo = None;
            self.odd = false;
        }
    }

    /// Enters recovery. `acked`: bytes that this ACK acknowledged.
    fn begin_recovery(&mut self, core: &mut Core, now: Instant, acked: u64) {
        let reduced = core.phase == Phase::Reduction;
        let end = core.recovery_point;
        if !reduced {
            self.undoing.remember_window(core);
            let cwnd = core.cwnd;
            core.ssthresh = core.reduced_window(now, Signal::Loss, acked);
            core.prr = Prr::begin_whole(cwnd);
        } else if core.config.rate_halving {
            // The reduction did not count for PRR (Linux up to 3.6).
            core.prr = Prr::begin_whole(core.cwnd);
        }
        core.enter_recovery();
        if reduced && !core.config.rate_halving {
            // The window was set with the reduction, and so was its end (`tcp_enter_recovery()`).
            core.recovery_point = end;
        }
    }

    fn renew_timer(&mut self, core: &mut Core, turn: &Turn, set_timer: Option<Instant>) {
        if turn.news.acked > 0 || core.sack_renews_timer() {
            core.purpose = TimerPurpose::Timeout;
            if core.scoreboard.is_empty() {
                core.timer = None;
            } else if !self.schedule_probe(core, turn.now, true) {
                core.set_retransmission_timer(turn.now);
            }
        } else {
            core.timer = set_timer;
            self.schedule_probe(core, turn.now, false);
        }
    }

    /// Sets the window during a recovery or a reduction, and after an ACK that reports a problem.
    /// `was_plain`: there was no problem before.
    fn change_window(&mut self, core: &mut Core, news: &AckChanges, was_plain: bool) {
        let reducing = matches!(core.phase, Phase::Recovery | Phase::Reduction);
        if core.phase == Phase::Reduction && core.config.rate_halving {
            if news.delivered > 0 {
                let is_second = self.odd;
                self.odd = !is_second;
                if is_second && core.cwnd > least_window(core) {
                    core.cwnd -= core.mss;
                }
                // Linux bounds the window by the flight here, too (`tcp_cwnd_down`).
                core.cwnd = core.cwnd.min(core.scoreboard.pipe() + core.mss);
            }
        } else if reducing && core.config.prr {
            core.reduce_rate(news.delivered, true);
        } else if core.config.rate_halving {
            let is_plain = was_plain && core.scoreboard.sacked() == 0 && !news.duplicate;
            if !is_plain {
                // `tcp_moderate_cwnd()`: no ACK may release a burst.
                core.cwnd = core.cwnd.min(core.scoreboard.pipe() + MAX_BURST * core.mss);
            }
        }
    }

    /// The timer ran out: reordering is smaller than assumed. While a retransmission is out, only
    /// F-RTO can show that the timeout was wrong (`tcp_enter_loss`, `tcp_try_undo_loss`).
    fn doubt_reordering(&mut self, core: &Core) {
        if core.phase == Phase::Open && core.scoreboard.sacked() >= DUP_THRESH * core.mss {
            self.reordering = DUP_THRESH;
        }
        let needs_test = core.scoreboard.has_resent();
        let before = self.undoing.undo;
        self.undoing.undo =
            before.map(|undo| Undo { since: core.snd_una, retransmissions: None, needs_test, ..undo });
    }

    /// Sets the timer for an early retransmit if Linux's conditions hold (after RFC 5827 §3.2):
    /// fewer than four segments are out, some of them were SACKed, none was sent again, and there
    /// is nothing else to send.
    fn schedule_early_retransmit(&self, core: &mut Core, now: Instant) {
        let out = core.scoreboard.outstanding();
        let called_for = out < 4 * core.mss
            && matches!(core.phase, Phase::Open | Phase::Reduction)
            && core.scoreboard.sacked() > 0
            && !core.scoreboard.has_resent()
            && !self.reordered
            && (core.snd_nxt >= core.data_end || core.scoreboard.pipe() + core.mss > core.cwnd);
        if called_for && core.purpose != TimerPurpose::Early {
            let quarter = Duration::from_nanos(core.rtt.srtt().unwrap_or(Duration::ZERO).as_nanos() / 4);
            // A quarter of the smoothed RTT, and 2 ms at least (`tcp_pause_early_retransmit`).
            let wait = quarter.max(TIMER_SLACK).min(core.rtt.rto());
            core.set_timer(now, wait);
            core.purpose = TimerPurpose::Early;
        }
    }

    /// The time for an early retransmit has come.
    fn retransmit_early(&mut self, core: &mut Core, now: Instant) {
        if core.scoreboard.is_empty() {
            return;
        }
        core.timer = Some(core.timeout_of_front(now));
        if matches!(core.phase, Phase::Open | Phase::Reduction) {
            self.begin_recovery(core, now, 0);
            self.mark_forward(core, true);
        }
    }

    /// The host's queue refused a retransmission, which does not count as sent.
    fn forget_retransmission(&mut self, core: &Core, now: Instant) {
        if let Some(undo) = &mut self.undoing.undo {
            undo.retransmissions = undo.retransmissions.map(|count| count - 1).filter(|&count| count > 0);
        }
        if !core.scoreboard.has_resent() && self.undoing.resent_since == Some(now) {
            self.undoing.resent_since = None;
        }
    }

    /// F-RTO: the retransmission timer ran out. `first`: the oldest segment did not time out
    /// before.
    fn begin_test(&mut self, core: &mut Core, now: Instant, first: bool) {
        let tested = self.test.is_some();
        let front_resent = core.scoreboard.is_front_resent();
        let reduces = if tested { first } else { core.timeout_reduces(first) };
        if reduces {
            self.undoing.remember_window(core);
            let cwnd = core.cwnd;
            if tested {
                core.cwnd = 2 * core.mss; // the window would have been small by now
            }
            core.ssthresh = core.reduced_window(now, Signal::Timeout, 0);
            core.cwnd = cwnd;
        }
        let before = self.undoing.undo.filter(|_| !front_resent);
        self.undoing.undo = before.map(|undo| Undo { since: core.snd_una, retransmissions: None, ..undo });
        core.scoreboard.take_front_resent_back();
        core.cwnd = core.cwnd.min(core.scoreboard.pipe() + core.mss);
        let recovers = tested || matches!(core.phase, Phase::Recovery | Phase::Loss);
        let high =
            if recovers && core.recovery_point > core.snd_una { core.recovery_point } else { core.snd_nxt };
        self.test = Some(Test { advanced: false, high, began: now });
        core.phase = Phase::Open;
        core.recovery_point = core.snd_nxt;
    }

    /// F-RTO: an ACK arrived while a timeout is in doubt.
    #[cold]
    fn go_on_testing(&mut self, core: &mut Core, news: &AckChanges, duplicate_reported: bool) {
        let Some(test) = self.test else { return };
        let mended = core.scoreboard.arrivals().acknowledged_resent;
        // An ACK of a retransmission does not show that the original arrived.
        if mended.1 || (test.advanced && mended.0) {
            self.undoing.undo = None;
        }
        if core.snd_una >= test.high {
            self.end_test(core, test, news);
        } else if !test.advanced && news.acked == 0 {
            let pipe = core.scoreboard.pipe();
            if pipe == 0 {
                self.end_test(core, test, news);
            } else {
                core.cwnd = core.cwnd.min(pipe); // nothing new
            }
        } else if !test.advanced {
            self.test = Some(Test { advanced: true, ..test });
            core.cwnd = core.scoreboard.pipe() + NEW_SEGMENTS * core.mss;
            let payload = core.next_payload();
            let usable = core.offered.edge.saturating_sub(core.snd_nxt);
            // F-RTO decides by new data, and there is none to send (RFC 4138 §2.1).
            if payload == 0 || payload > usable {
                self.end_test(core, Test { advanced: false, ..test }, news);
            }
        } else if news.acked == 0 && news.sacked == 0 {
            if duplicate_reported {
                self.end_test(core, test, news);
            }
        } else if news.sacked > 0
            && core.scoreboard.arrivals().last_sacked.is_none_or(|sent| sent >= test.began)
        {
            self.end_test(core, test, news);
        } else {
            // The timeout was wrong: the rate is halved over a round trip.
            self.test = None;
            self.undoing.undo = None;
            self.odd = false;
            core.stats.undone += 1;
            core.timed_out_at = None;
            core.phase = Phase::Reduction;
            core.recovery_point = core.snd_nxt;
            core.cwnd = core.cwnd.min(core.scoreboard.pipe() + core.mss);
        }
    }

    /// F-RTO: the timeout was right, or the test has no result. Every segment that is not SACKed is
    /// lost.
    fn end_test(&mut self, core: &mut Core, test: Test, news: &AckChanges) {
        let keeps_front = !test.advanced && news.acked == 0;
        if core.scoreboard.has_resent_beyond_front() || (!keeps_front && core.scoreboard.is_front_resent()) {
            self.undoing.undo = None;
        }
        core.scoreboard.lose_all(keeps_front);
        core.cwnd = core.scoreboard.pipe() + AFTER_LOSS[usize::from(test.advanced)] * core.mss;
        self.test = None;
        // As in `tcp_enter_frto_loss`: a timeout means that the reordering was overestimated.
        self.reordering = self.reordering.min(DUP_THRESH);
        core.phase = Phase::Loss;
        core.recovery_point = core.snd_nxt;
    }
}
