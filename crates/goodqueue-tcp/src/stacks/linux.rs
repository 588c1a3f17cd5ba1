//! The sender of Linux 6 and 7: losses are found by time (RACK-TLP, RFC 8985), the window counts
//! whole segments, and a reduction is taken back when nothing was lost.

use goodqueue::{Duration, Instant};

use crate::config::{BufferTuning, Config, Growth, RtoRule, SackDelay, UndoRule};
use crate::congestion::{CongestionControl, FeedbackTiming, Signal};
use crate::machinery::ack_changes::AckChanges;
use crate::machinery::samples::ProcessedAck;
use crate::machinery::tail_probe::TIMER_SLACK;
use crate::machinery::undo::{NextStep, UndoState};
use crate::machinery::{Core, FIRST_BYTE, Phase, TimerPurpose};
use crate::mechanism::Mechanism;
use crate::profile::Profile;
use crate::prr::Prr;
use crate::scoreboard::{DUP_THRESH, Delivered, LateSegments, Record, Scoreboard};
use crate::segment::Segment;
use crate::stack::{Listed, Stack};
use crate::stack_info::{EcnFeedback, StackInfo, SynOptions};
use crate::timers::Timers;

mod receiver;
mod reordering;

pub use receiver::LinuxReceiver;
use reordering::Reordering;

/// State of the sender of Linux 6 and 7.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Linux {
    undoing: UndoState,
    /// How long a loss has to wait because the segment may be reordered.
    reordering: Reordering,
    /// The window limited sending in this round trip.
    limited: bool,
    /// New data was sent since `limited` was last decided.
    sent: bool,
    /// Most bytes that were out in this round trip.
    most_out: u64,
    /// The round trip ends when this is acknowledged.
    round_end: u64,
    /// The delivered segment that was sent last.
    newest: Option<Delivered>,
    /// RTT of that segment.
    rtt: Duration,
}

static INFO: StackInfo = StackInfo {
    name: "linux",
    summary: "Linux 6 and 7: losses are found by time (RACK-TLP)",
    mechanisms: &[
        Mechanism::TailLossProbe,
        Mechanism::AdaptiveAcks,
        Mechanism::Undo,
        Mechanism::SmallQueues,
        Mechanism::AccurateEcn,
    ],
    ecn_feedback: EcnFeedback::Linux,
    syn_options: SynOptions::Counted,
    ..StackInfo::PLAIN
};

impl Listed for Linux {
    const INFO: &'static StackInfo = &INFO;
    const PROFILES: &'static [Profile] = &[
        Profile {
            name: "linux",
            summary: "Linux 7.3: RACK-TLP, PRR, timestamps, quick ACKs, compressed SACKs, HyStart",
            settings: Config {
                buffer_tuning: BufferTuning::LINUX_7,
                // 640 bytes for headers and 256 for the `sk_buff` (`BufferTuning::LINUX_7`).
                piece_overhead: 896,
                fills_bursts: true,
                sack_delay: SackDelay::LINUX_7,
                ..LINUX_61
            },
            controllers: CONTROLLERS,
            sources: &[
                "tcp_measure_rcv_mss, tcp_rcvbuf_grow and tcp_data_queue_ofo: Linux 7.3.4 net/ipv4/tcp_input.c",
                "tcp_grow_skb: net/ipv4/tcp_output.c of that kernel; tcp_comp_sack_rtt_percent 33, tcp_comp_sack_slack_ns 10 µs",
                "tcp_rmem up to 32 MB and tcp_rcvbuf_low_rtt 1 ms: that kernel's defaults on a host with 4 GB of memory",
                "AccECN: include/net/tcp_ecn.h of that kernel; tcp_ecn=2, so that a sender does not ask for it",
                "all else is that of linux61",
                "checked against recordings of single flows and loads of Linux 7.3.4",
            ],
        },
        Profile {
            name: "linux61",
            summary: "Linux 6.1: as linux, with the buffers, bursts and compressed SACKs of that kernel",
            settings: LINUX_61,
            controllers: CONTROLLERS,
            sources: &[
                "tcp_recovery=1 (RACK) and tcp_early_retrans=3 (TLP): Linux 6.1 Documentation/networking/ip-sysctl",
                "TCP_RTO_MIN 200 ms, TCP_RTO_MAX 120 s, TCP_TIMEOUT_INIT 1 s, TCP_DELACK_MIN 40 ms, TCP_MAX_QUICKACKS 16",
                "tcp_comp_sack_delay_ns 1 ms: ip-sysctl; PRR in segments from the window: RFC 6937 as in Linux 6.1",
                "send buffer from 46,080 bytes (2304 for each of 20 segments, or of 30 with BBR) to 4 MB, tcp_wmem: as that kernel has it, without IPv6",
                "checked against recordings of single flows and loads of Linux 6.1.192",
            ],
        },
    ];

    type Receiver = LinuxReceiver;
}

/// The controllers that Linux has another variant of.
pub const CONTROLLERS: &[(&str, &str)] = &[("cubic", "cubic_linux")];

/// Linux 6.1, without IPv6.
pub const LINUX_61: Config = Config {
    timestamps: true,
    min_rto: Duration::from_millis(200),
    max_rto: Duration::from_secs(120),
    stack: &INFO,
    tail_loss_probe: true,
    undo: UndoRule::Whole,
    rto_rule: RtoRule::PeakDeviation,
    rearm_in_recovery: false,
    growth: Growth::Delivered,
    whole_segments: true,
    bursts: true,
    adaptive_acks: true,
    timers: Timers::Wheel,
    quick_acks: 16,
    sack_delay: SackDelay::LINUX_6,
    ecn_on_all: true,
    counters_on_data: true,
    ..Config::RFC
};

/// An ACK, and how far it has been answered.
struct AckInProgress<'s> {
    now: Instant,
    segment: &'s Segment,
    news: AckChanges,
    /// Sending time of the segment that the ACK answers, by its timestamp.
    answered: Option<Instant>,
    /// The ACK reports a duplicate.
    duplicate_reported: bool,
}

impl Stack for Linux {
    fn new(_config: &Config) -> Self {
        Self {
            undoing: UndoState::default(),
            reordering: Reordering::new(),
            limited: false,
            sent: false,
            most_out: 0,
            round_end: 0,
            newest: None,
            rtt: Duration::ZERO,
        }
    }

    fn scoreboard(config: &Config) -> Scoreboard {
        Scoreboard::new(config.payload(), FIRST_BYTE, true)
    }

    fn on_ack(&mut self, core: &mut Core, now: Instant, segment: &Segment) {
        let set_timer = core.timer;
        let mut turn = self.take(core, now, segment);
        // New data goes first on the ACK that asks for it, and on no later one (RFC 5682 §3.1 step
        // 2b).
        self.undoing.new_data_first = false;
        let feedback_first =
            core.feedback && core.controller.about().feedback == FeedbackTiming::EveryAckFirst;
        if feedback_first {
            core.tell(now, segment, &turn.news);
        }
        if turn.news.echo {
            self.undoing.forgo_window();
        }
        let found = self.look_for_losses(core, &mut turn);
        let begins = self.begin_recovery_or_reduction(core, &turn, &found);
        self.undoing.forget_resent(core);
        self.renew_timer(core, &turn, found.next.is_some(), set_timer);
        if core.feedback && !feedback_first {
            turn.news.newly_lost = found.lost;
            core.tell(now, segment, &turn.news);
        }
        if !core.controls_all {
            self.change_window(core, now, &turn.news, begins);
        }
    }

    fn on_other_timer(&mut self, core: &mut Core, now: Instant, purpose: TimerPurpose) -> bool {
        match purpose {
            TimerPurpose::Probe => core.probe_tail(now, true),
            TimerPurpose::Reordering => self.on_reordering_timer(core, now),
            TimerPurpose::Timeout | TimerPurpose::Early => return false,
        }
        true
    }

    fn reduce_at_timeout(&mut self, core: &mut Core, now: Instant, first: bool) {
        if core.timeout_reduces(first) {
            self.undoing.remember_window(core);
            core.ssthresh = core.reduced_window(now, Signal::Timeout, 0);
        }
        // RFC 5682 §3.1 step 1: not if another recovery is under way, except the recovery of this
        // timeout.
        let alone = matches!(core.phase, Phase::Open | Phase::Reduction) || !first;
        self.undoing.timeout_in_doubt = core.config.undoes() && alone;
        self.undoing.new_data_first = false;
        // Linux `tcp_timeout_mark_lost()`: segments sent within the last RTT may still arrive. The
        // window then is what is left in flight and one segment (`tcp_enter_loss()`).
        core.lose_all(now, now - self.rtt);
        if core.config.whole_segments {
            core.cwnd += core.whole(core.scoreboard.pipe());
        }
    }

    #[cold]
    fn on_host_congestion(&mut self, core: &mut Core, now: Instant, _dropped: u64) {
        let Some(cwnd) = core.note_host_congestion(now) else { return };
        // Congestion is certain, so the reduction stays (`tcp_enter_cwr()`).
        self.undoing.undo = None;
        if core.config.prr {
            core.begin_reduction(cwnd);
            core.cwnd = cwnd;
        } else {
            core.cwnd = cwnd.min(core.ssthresh);
        }
    }

    #[inline]
    fn mend(
        &mut self,
        core: &mut Core,
        now: Instant,
        position: u64,
        record: Record,
        pipe: u64,
    ) -> Option<Segment> {
        if self.undoing.new_data_first {
            match self.undoing.next_step(core, pipe) {
                NextStep::Send(payload) => return Some(self.send_new(core, now, payload)),
                NextStep::Wait => return None,
                NextStep::Mend => {}
            }
        }
        // With nothing in the network a segment leaves even if it exceeds the window, as in
        // `Stack::mend`.
        if pipe > 0 && pipe + u64::from(record.len) > core.cwnd {
            self.note_use(core, pipe, true);
            return None;
        }
        Some(self.retransmit(core, now, position, record))
    }

    #[inline]
    fn note_use(&mut self, core: &mut Core, pipe: u64, limited: bool) {
        if core.config.whole_segments {
            let limited = limited || pipe + core.mss > core.cwnd;
            // The ACKs of an application's last data leave it as it was: Linux looks only when it
            // sends, or has something that the window holds back (`tcp_write_xmit()`).
            let looks = self.sent || (limited && core.snd_nxt < core.sendable());
            self.sent = false;
            if !looks {
                return;
            }
            // Linux `tcp_cwnd_validate()`: of a round trip, the strongest sign of a used window
            // counts.
            if limited {
                // What was out at most does not matter then.
                self.limited = true;
                self.round_end = core.snd_nxt;
                return;
            }
            let out = core.whole(core.snd_nxt - core.snd_una);
            if core.snd_una >= self.round_end || (!self.limited && out > self.most_out) {
                self.limited = false;
                self.most_out = out;
                self.round_end = core.snd_nxt;
            }
        }
    }

    #[inline]
    fn on_sent(&mut self, core: &mut Core, now: Instant) {
        self.sent = true;
        if core.config.tail_loss_probe {
            self.schedule_probe(core, now, false);
        }
    }

    fn on_write(&mut self, core: &mut Core) {
        core.note_write();
    }

    /// Suspected segments are not sent: RACK decides what is lost.
    fn fill_hole(&mut self, _core: &mut Core, _now: Instant, _pipe: u64) -> Option<Segment> {
        None
    }

    #[inline]
    fn undoing(&mut self) -> Option<&mut UndoState> {
        Some(&mut self.undoing)
    }

    /// Notifies the controller if nothing is in flight.
    #[inline]
    fn before_sending(&mut self, core: &mut Core, now: Instant) {
        if core.scoreboard.pipe() == 0 {
            core.tell_of_start(now);
        }
    }

    fn timeouts_in_pause(&self, core: &Core, now: Instant) -> u64 {
        core.timeouts_since_last_sent(now)
    }

    fn lower_window(&self, core: &mut Core, timeouts: u64) {
        core.halve_window(timeouts);
    }
}

impl Linux {
    /// Takes an ACK into the scoreboard, the window and the RTT.
    fn take<'s>(&mut self, core: &mut Core, now: Instant, segment: &'s Segment) -> AckInProgress<'s> {
        let probe = core.tail.probed;
        let ProcessedAck { mut news, answered, reported } = core.take_ack(now, segment);
        if let Some(duplicate) = reported {
            // A retransmission that was not needed has arrived too, and makes room for as much. A
            // copy that the network made does not (`tcp_dsack_seen()`, since Linux 5.8).
            if core.stats.spurious <= core.stats.retransmits {
                news.delivered += (duplicate.end - duplicate.start).div_ceil(core.mss).max(1) * core.mss;
            }
            // The copy of a probe says nothing about reordering: a timer sent it
            // (`tcp_dsack_seen()`).
            let is_of_probe = probe.is_some_and(|probe| probe.0 == duplicate.end)
                && duplicate.end - duplicate.start <= core.mss;
            if !is_of_probe {
                self.reordering.on_duplicate_report();
            }
            self.undoing.on_duplicate_report(duplicate.start);
        }
        self.reordering.on_delivery(now, core.scoreboard.arrivals().newest);
        AckInProgress { now, segment, news, answered, duplicate_reported: reported.is_some() }
    }

    /// Ends a recovery or reduction that the ACK completes, and marks the segments that it shows to
    /// be lost.
    fn look_for_losses(&mut self, core: &mut Core, turn: &mut AckInProgress<'_>) -> LateSegments {
        let mut looks = true;
        if core.phase != Phase::Open {
            looks = self.end_phase(core, turn);
        } else if turn.duplicate_reported && self.undoing.were_all_duplicates() {
            self.undoing.undo(core, false);
        }
        let found = if looks { self.detect_losses(core, turn.now) } else { LateSegments::default() };
        turn.news.lost = found.lost > 0;
        found
    }

    /// Ends a recovery or reduction that the ACK completes. Returns false if the ACK only shows
    /// reordering and no losses.
    #[cold]
    fn end_phase(&mut self, core: &mut Core, turn: &AckInProgress<'_>) -> bool {
        let was_recovering = matches!(core.phase, Phase::Recovery | Phase::Loss);
        let is_over = was_recovering && turn.segment.ack >= core.recovery_point;
        let undone = core.stats.undone;
        let looks = self.undoing.end_phase(core, turn.segment.ack, turn.answered, &turn.news, false);
        // A reduction that was taken back was no recovery: nothing was lost.
        if is_over && core.stats.undone == undone {
            self.reordering.on_recovery_end();
        }
        looks
    }

    /// Takes the arrivals of this ACK and marks the segments that they show to be lost (RFC 8985
    /// §6.2).
    fn detect_losses(&mut self, core: &mut Core, now: Instant) -> LateSegments {
        let arrivals = *core.scoreboard.arrivals();
        self.reordering.note(arrivals.reordered);
        // Without an arrival no later segment overtook another (`rack.advanced`).
        let Some(newest) = arrivals.newest else { return LateSegments::default() };
        // Linux takes this RTT, which is not always the RTT of the newest segment
        // (`tcp_rack_advance`).
        self.rtt = now.since(arrivals.highest.1);
        self.newest = self.newest.max(Some(newest));
        let found = self.mark_late(core, now);
        if let Some(wait) = found.next {
            core.set_timer(now, wait + TIMER_SLACK);
            core.purpose = TimerPurpose::Reordering;
        }
        found
    }

    fn mark_late(&self, core: &mut Core, now: Instant) -> LateSegments {
        let Some(newest) = self.newest else { return LateSegments::default() };
        let wait = self.rtt + self.reordering_window(core);
        core.scoreboard.detect(now, newest, wait)
    }

    /// RFC 8985 §6.2 step 4: nothing if no reordering was ever seen and the evidence is good.
    fn reordering_window(&self, core: &Core) -> Duration {
        let evident = matches!(core.phase, Phase::Recovery | Phase::Loss)
            || core.whole(core.scoreboard.sacked()) >= DUP_THRESH * core.mss;
        self.reordering.window(evident, core.rtt.min_rtt(), core.rtt.srtt().unwrap_or(Duration::ZERO))
    }

    /// Begins a recovery if something is lost, or else a reduction if the ACK echoes a mark.
    /// Returns whether a recovery begins.
    fn begin_recovery_or_reduction(
        &mut self,
        core: &mut Core,
        turn: &AckInProgress<'_>,
        found: &LateSegments,
    ) -> bool {
        let begins = match core.phase {
            Phase::Recovery => false,
            // Linux `tcp_fastretrans_alert()`: after a timeout only the loss of a retransmission
            // begins a recovery.
            Phase::Loss => found.retransmission,
            Phase::Open | Phase::Reduction => core.scoreboard.lost() > 0,
        };
        if begins {
            self.undoing.timeout_in_doubt = false;
            self.begin_recovery(core, turn.now, turn.news.acked);
            if turn.news.echo {
                self.undoing.forgo_window();
            }
        } else if turn.news.echo && !core.controls_all && core.phase == Phase::Open {
            core.reduce_for_mark(turn.now, turn.news.acked);
            // A mark makes congestion certain, so the reduction stays (`tcp_enter_cwr()`).
            self.undoing.undo = None;
        }
        begins
    }

    /// Enters recovery; losses are marked already. `acked`: bytes that this ACK acknowledged.
    fn begin_recovery(&mut self, core: &mut Core, now: Instant, acked: u64) {
        if core.phase == Phase::Reduction {
            let event = core.congestion(now, Signal::Loss, acked);
            if let Some(threshold) = core.controller.on_loss_after_mark(&event) {
                core.ssthresh = threshold.max(core.mss);
            }
            // The reduction for the mark stays, even if nothing was lost.
            self.undoing.remember_window(core);
            self.undoing.forgo_window();
            // The recovery ends where the reduction would have ended (`high_seq`). A loss beyond
            // that point is a new event, even if the segment has been sent again by then.
            let end = core.recovery_point;
            core.enter_recovery();
            core.recovery_point = end;
        } else {
            self.undoing.remember_window(core);
            let cwnd = core.cwnd;
            core.ssthresh = core.reduced_window(now, Signal::Loss, acked);
            core.prr = Prr::begin_whole(cwnd);
            core.enter_recovery();
        }
    }

    /// Sets the timer after an ACK. `awaits_reordered`: it waits for a reordered segment now.
    /// `set_timer`: the timer before the ACK.
    fn renew_timer(
        &mut self,
        core: &mut Core,
        turn: &AckInProgress<'_>,
        awaits_reordered: bool,
        set_timer: Option<Instant>,
    ) {
        if awaits_reordered {
            return;
        }
        if turn.news.acked > 0 || core.sack_renews_timer() {
            core.purpose = TimerPurpose::Timeout;
            if core.scoreboard.is_empty() {
                core.timer = None;
            } else if !self.schedule_probe(core, turn.now, true) {
                core.set_retransmission_timer(turn.now);
            }
        } else if core.purpose == TimerPurpose::Reordering {
            // The timer no longer has a segment to wait for.
            core.purpose = TimerPurpose::Timeout;
            core.timer = Some(core.timeout_of_front(turn.now));
        } else {
            // An ACK of nothing new leaves the timer as it was.
            core.timer = set_timer;
        }
    }

    /// Reduces the window in recovery, or lets it grow.
    fn change_window(&self, core: &mut Core, now: Instant, news: &AckChanges, begins: bool) {
        let reducing = matches!(core.phase, Phase::Recovery | Phase::Reduction);
        if reducing && core.config.prr {
            if news.delivered > 0 || begins {
                core.reduce_rate(news.delivered, news.acked > 0 && !news.lost);
            }
        } else if news.acked > 0 && !reducing {
            let may_grow = if core.config.whole_segments {
                // Linux `tcp_is_cwnd_limited()`: slow start may grow to twice what was out.
                self.limited || (core.cwnd < core.ssthresh && core.cwnd < 2 * self.most_out)
            } else {
                news.pipe_before + core.mss > core.cwnd
            };
            let acked = match core.config.growth {
                Growth::Delivered => core.whole(news.delivered),
                _ => core.counted(news),
            };
            core.grow(now, news, core.growth_rule(), acked, may_grow);
        }
    }

    /// The timer for a reordered segment ran out (RFC 8985 §6.3).
    fn on_reordering_timer(&mut self, core: &mut Core, now: Instant) {
        if core.scoreboard.is_empty() {
            return;
        }
        let lost_before = core.scoreboard.lost();
        let found = self.mark_late(core, now);
        core.settle_losses(now);
        if let Some(wait) = found.next {
            core.set_timer(now, wait + TIMER_SLACK);
            core.purpose = TimerPurpose::Reordering;
        } else {
            core.timer = Some(core.timeout_of_front(now));
        }
        let lost = core.scoreboard.lost() > lost_before;
        if lost && core.phase != Phase::Recovery {
            self.begin_recovery(core, now, 0);
            if !core.controls_all {
                // The kernel counts one segment as delivered, since without a delivery it would set
                // no window (`tcp_rack_reo_timeout()`).
                core.reduce_rate(core.mss, false);
            }
        }
    }
}
