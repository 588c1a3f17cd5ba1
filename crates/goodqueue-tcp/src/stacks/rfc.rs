//! The sender that the RFCs recommend: losses are found by counting what was SACKed above them (RFC
//! 6675), or without SACK by duplicate ACKs (RFC 6582).

use goodqueue::{Duration, Instant};

use crate::config::{
    BufferTuning, Config, DelayedAck, Growth, MAX_WINDOW, RtoRule, SackDelay, SendTuning, UndoRule,
};
use crate::congestion::Signal;
use crate::hystart::HyStart;
use crate::machinery::ack_changes::AckChanges;
use crate::machinery::{Core, Phase, TimerPurpose};
use crate::mechanism::Mechanism;
use crate::profile::Profile;
use crate::prr::{Progress, Prr};
use crate::receiver_stack::Standard;
use crate::scoreboard::DUP_THRESH;
use crate::segment::Segment;
use crate::stack::{Listed, Stack};
use crate::stack_info::StackInfo;
use crate::timers::Timers;

/// The stack of the RFCs. All of its state is in the shared machinery.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rfc;

static INFO: StackInfo = StackInfo {
    name: "rfc",
    summary: "what the RFCs recommend: losses are found by counting what was SACKed above them",
    mechanisms: &[Mechanism::RecoveryWithoutSack, Mechanism::TailLossProbe, Mechanism::AccurateEcn],
    ..StackInfo::PLAIN
};

impl Listed for Rfc {
    const INFO: &'static StackInfo = &INFO;
    const PROFILES: &'static [Profile] = &[Profile {
        name: "rfc",
        summary: "what the RFCs recommend",
        settings: Config::RFC,
        controllers: &[],
        sources: &["each setting cites its RFC, see Config"],
    }];

    type Receiver = Standard;
}

impl Default for Config {
    fn default() -> Self {
        Self::RFC
    }
}

impl Config {
    /// What the RFCs recommend, as the documentation of each setting says: the profile `rfc`, and
    /// the default.
    pub const RFC: Self = Self {
        mss: 1460,
        iw: 10,
        delayed_ack: DelayedAck { every: 2, timeout: Duration::from_millis(40) },
        sack: true,
        ecn: false,
        accecn: false,
        counters_on_data: false,
        timestamps: false,
        reports_rate: false,
        min_rto: Duration::from_secs(1),
        initial_rto: Duration::from_secs(1),
        max_rto: Duration::from_secs(60),
        remembered_rtt: Duration::ZERO,
        remembered_rttvar: Duration::ZERO,
        limited_transmit: true,
        prr: true,
        rate_halving: false,
        offers_again: false,
        idle_restart: true,
        rwnd: MAX_WINDOW,
        initial_ssthresh: u64::MAX,
        hystart: HyStart::Own,
        stack: &INFO,
        tail_loss_probe: false,
        early_retransmit: false,
        undo: UndoRule::Never,
        rto_rule: RtoRule::Rfc6298,
        timed_by_stamps: false,
        rearm_in_recovery: true,
        tick: Duration::ZERO,
        tick_phase: Duration::ZERO,
        growth: Growth::Abc,
        whole_segments: false,
        bursts: false,
        piece_overhead: 1280,
        fills_bursts: false,
        adaptive_acks: false,
        buffer_tuning: BufferTuning::LINUX_6,
        send_tuning: SendTuning::Unlimited,
        timers: Timers::Exact,
        quick_acks: 0,
        quick_after_gap: false,
        sack_delay: SackDelay::NONE,
        forget_on_timeout: false,
        accurate_ecn_echo: false,
        ecn_on_all: false,
        l4s: false,
        stamps_arrival: false,
    };
}

impl Stack for Rfc {
    fn new(_config: &Config) -> Self {
        Self
    }

    #[inline]
    fn on_ack(&mut self, core: &mut Core, now: Instant, segment: &Segment) {
        let ack = segment.ack;
        let spurious_before = core.stats.spurious;
        let mut news = core.news_of(segment);
        take(core, now, segment, &mut news);
        // The ACK that ends recovery sets the window, so the window does not grow on that ACK.
        let was_in_recovery = core.phase == Phase::Recovery;
        if core.tail.probed.is_some() {
            let duplicate_reported = core.stats.spurious > spurious_before;
            core.on_probe_answer(ack, news.acked == 0 && news.sacked == 0, duplicate_reported);
        }
        if core.phase != Phase::Open {
            recover(core, ack, &news);
        }
        if news.duplicate && core.phase == Phase::Open && is_loss_evident(core) {
            enter_recovery(core, now, &news);
        }
        if news.acked > 0 && core.config.tail_loss_probe && !core.scoreboard.is_empty() {
            core.purpose = TimerPurpose::Timeout;
            self.schedule_probe(core, now, true);
        }
        if core.feedback {
            core.tell(now, segment, &news);
        }
        let reduces = news.echo && core.phase != Phase::Recovery && ack > core.reduction_point;
        if reduces {
            core.stats.ecn_reductions += 1;
            core.ssthresh = core.reduced_window(now, Signal::Ecn, news.acked);
            core.cwnd = core.cwnd.min(core.ssthresh);
        } else if news.acked > 0 && !was_in_recovery && core.phase != Phase::Recovery {
            let may_grow = !news.echo && news.pipe_before + core.mss > core.cwnd;
            let acked = core.counted(&news);
            core.grow(now, &news, core.growth_rule(), acked, may_grow);
        }
    }
}

/// Takes an ACK into the scoreboard, the window, the RTT and the timer.
#[inline]
fn take(core: &mut Core, now: Instant, segment: &Segment, news: &mut AckChanges) {
    let ack = segment.ack;
    if news.acked > 0 {
        let done = core.acknowledge(ack, news);
        core.note_progress();
        if let Some(sent) = done.sent {
            let rtt = now.since(sent);
            core.rtt.take(rtt, ack, core.snd_nxt);
            news.rtt = Some(rtt);
        }
        core.restart_timer(now);
    }
    let same_window = core.take_window(segment);
    if core.config.sack {
        core.take_sacks(segment, news);
    } else {
        // The definition of a duplicate ACK (RFC 5681 §2).
        news.duplicate = news.acked == 0 && same_window && segment.len == 0 && !core.scoreboard.is_empty();
    }
    core.take_counters(segment, news);
    core.count_duplicate(news);
}

/// True after three duplicates, or with enough SACKed above the oldest segment (RFC 6675 §5 steps 1
/// and 2). Without SACK the ACK must also go beyond the data sent before the last recovery (RFC
/// 6582 §3.2 step 1).
fn is_loss_evident(core: &Core) -> bool {
    if core.config.sack {
        core.duplicate_acks >= DUP_THRESH || core.scoreboard.is_front_lost()
    } else {
        core.duplicate_acks >= DUP_THRESH && core.snd_una > core.recovery_point
    }
}

#[cold]
fn enter_recovery(core: &mut Core, now: Instant, news: &AckChanges) {
    core.stats.fast_recoveries += 1;
    // One reduction per window of data, for all signals together (RFC 3168 §6.1.2).
    if core.snd_una >= core.reduction_point {
        core.ssthresh = core.reduced_window(now, Signal::Loss, news.acked);
    }
    core.phase = Phase::Recovery;
    core.recovery_point = core.snd_nxt;
    core.due.front = true;
    core.recovery.rescued = false;
    core.recovery.first_partial = true;
    core.limited = 0;
    core.scoreboard.mark_front_lost();
    if !core.config.sack {
        core.cwnd = core.ssthresh + DUP_THRESH * core.mss; // RFC 6582 §3.2 step 2
    } else if core.config.prr {
        // Both numbers are those before this ACK.
        let in_flight = core.scoreboard.outstanding() + news.acked;
        core.prr = Prr::begin(in_flight, core.scoreboard.sacked() - news.sacked);
        reduce_rate(core, news, true);
    } else {
        core.cwnd = core.ssthresh; // RFC 6675 §5 step 4.2
    }
}

/// An ACK while in recovery or after a timeout.
fn recover(core: &mut Core, ack: u64, news: &AckChanges) {
    let is_over = ack >= core.recovery_point;
    match core.phase {
        Phase::Loss if is_over => core.phase = Phase::Open,
        Phase::Recovery if is_over => {
            core.phase = Phase::Open;
            core.due.front = false;
            core.cwnd = if core.config.sack {
                core.ssthresh
            } else {
                // RFC 6582 §3.2 step 3, the choice that sends no burst
                core.ssthresh.min(core.scoreboard.outstanding().max(core.mss) + core.mss)
            };
        }
        Phase::Recovery if !core.config.sack => inflate_or_deflate(core, news),
        Phase::Recovery if core.config.prr => reduce_rate(core, news, false),
        _ => {}
    }
}

/// Recovery without SACK (RFC 6582 §3.2 steps 3 and 4).
fn inflate_or_deflate(core: &mut Core, news: &AckChanges) {
    if news.acked > 0 {
        core.cwnd = core.cwnd.saturating_sub(news.acked);
        if news.acked >= core.mss {
            core.cwnd += core.mss;
        }
        core.recovery.first_partial = false;
        core.scoreboard.mark_front_lost();
        core.due.front = true;
    } else if news.duplicate {
        core.cwnd += core.mss;
    }
}

/// Proportional rate reduction.
fn reduce_rate(core: &mut Core, news: &AckChanges, is_entry: bool) {
    // Linux leaves the window alone too if nothing was delivered (`tcp_cwnd_reduction()`).
    if news.delivered == 0 {
        return;
    }
    let progress = Progress {
        delivered: news.delivered,
        pipe: core.scoreboard.pipe(),
        ssthresh: core.ssthresh,
        mss: core.mss,
        safe: news.acked > 0 && !news.lost && !is_entry,
    };
    core.cwnd = core.prr.on_ack(&progress);
}
