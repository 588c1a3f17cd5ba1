//! ns-2.35's `Agent/TCP/Linux`, where it differs from the RFCs, from Linux and from ns-2's other
//! agents.
//!
//! It is a one-way agent that borrows the controllers of Linux 2.6.22 and counts segments. There is
//! no handshake: the SYN is the first segment of the window, and data follows it at once. If the
//! SYN is lost, the sink SACKs the data, and the SYN is sent again like any other segment. Its own
//! scoreboard (`blocks`) finds losses, also of retransmissions. A recovery therefore keeps its
//! window as long as segments are lost in it. The window is cut at once, and the segments in the
//! network fall by one for two ACKs. Each ACK, also a duplicate, gives an RTT sample from the
//! timestamp that it echoes, and restarts the timer without back-off (`ts_resetRTO_`). The receiver
//! offers no window: `window_`, here the receive window of the settings, bounds the congestion
//! window.

use alloc::sync::Arc;

use goodqueue::{Duration, Instant};

use crate::least_window::least_window;
use crate::ns2::{self, Ns2Sink};
use goodqueue_tcp::Profile;
use goodqueue_tcp::clock::sent_at;
use goodqueue_tcp::config::{Config, DelayedAck, MAX_WINDOW, RtoRule};
use goodqueue_tcp::congestion::Signal;
use goodqueue_tcp::intake::{self, InOrder, Intake};
use goodqueue_tcp::machinery::ack_changes::AckChanges;
use goodqueue_tcp::machinery::{Core, FIRST_BYTE, Phase, State};
use goodqueue_tcp::receiver_stack::ReceiverStack;
use goodqueue_tcp::scoreboard::Scoreboard;
use goodqueue_tcp::segment::{MAX_SACK_BLOCKS, Segment};
use goodqueue_tcp::stack::{Listed, Stack};
use goodqueue_tcp::{Origin, SackOption, StackInfo};

mod blocks;

use blocks::{Blocks, Shown};

/// Most segments by which the window exceeds the segments in the network when a recovery ends
/// (`tcp_max_burst`).
const BURST: u64 = 3;

/// State of the sender.
#[derive(Clone, Debug)]
pub(crate) struct Ns2Linux {
    blocks: Blocks,
    /// The SYN is out, and counts as a segment.
    syn: bool,
    /// Segments that may be in the network although the window is smaller (`next_pkts_in_flight_`).
    allowed: i64,
    /// An event happened since the last segment was requested.
    is_asked_anew: bool,
    /// The segment that is timed: its position, and when it was sent.
    timed: Option<(u64, Instant)>,
    /// When the timer was last set.
    timer_set: Instant,
}

static INFO: StackInfo = StackInfo {
    name: "ns2_linux",
    summary: "ns-2.35's Agent/TCP/Linux, with a scoreboard of its own and without a handshake",
    mechanisms: &[],
    sack_option: SackOption::BlocksOnly, // tcp-sink.cc
    origin: Origin::new::<Ns2Linux>(),
    ..StackInfo::PLAIN
};

impl Listed for Ns2Linux {
    const INFO: &'static StackInfo = &INFO;
    const PROFILES: &'static [Profile] = &[Profile {
        name: "ns2_linux",
        summary: "ns-2.35 Agent/TCP/Linux: the CUBIC of Linux 2.6.22, every segment acknowledged",
        settings: SETTINGS,
        controllers: &[("cubic", "cubic_ns2"), ("ledbat", "ledbat_ns2"), ("nice", "nice_ns2")],
        sources: &[
            "ns-default.tcl of ns-2.35 as for ns2_sack1, but maxrto_ 120, ts_resetRTO_ true; TCPSink/Sack1 acknowledges every segment; timestamps_ true",
            "tcp-linux.cc and scoreboard1.cc: no handshake, lost retransmissions, rate halving, a timer that begins anew with each ACK",
            "tcp-sink.cc: what fell out of the last three SACK blocks is not reported again",
            "checked against traces of single CUBIC flows: the same packets for 30 s",
        ],
    }];

    type Receiver = Ns2LinuxSink;
}

const SETTINGS: Config = Config {
    max_rto: Duration::from_secs(120),
    delayed_ack: DelayedAck { every: 1, ..ns2::SETTINGS.delayed_ack },
    timestamps: true,
    stack: &INFO,
    rto_rule: RtoRule::StampedTicks,
    tick: Duration::from_millis(1),
    whole_segments: true,
    forget_on_timeout: false,
    ..ns2::SETTINGS
};

impl Stack for Ns2Linux {
    const WIDENS_FOR_DUPLICATES: bool = false;
    const RESENDS_AT_TIMEOUT: bool = false;

    fn new(_config: &Config) -> Self {
        Self {
            blocks: Blocks::default(),
            syn: true,
            allowed: 0,
            is_asked_anew: true,
            timed: None,
            timer_set: Instant::ZERO,
        }
    }

    fn scoreboard(config: &Config) -> Scoreboard {
        let mut scoreboard = Scoreboard::of_deciding_stack(config.payload(), FIRST_BYTE);
        scoreboard.skip_first();
        scoreboard
    }

    /// The receiver offers no window.
    fn on_open(&mut self, core: &mut Core) {
        core.offered.edge = u64::MAX;
    }

    /// The SYN has not been acknowledged yet: it is a segment like any other.
    fn on_handshake(&mut self, core: &mut Core, now: Instant, segment: &Segment, _is_syn: bool) {
        if segment.ack > core.snd_nxt {
            core.stats.invalid_acks += 1;
            return;
        }
        if segment.ack >= FIRST_BYTE {
            core.state = State::Established;
            core.ecn = core.config.ecn;
        }
        self.on_ack(core, now, segment);
        core.cwnd = core.cwnd.max(core.mss);
    }

    fn on_ack(&mut self, core: &mut Core, now: Instant, segment: &Segment) {
        let ack = segment.ack;
        // The controller hears of the flight before this ACK (`prior_in_flight`).
        let limited = self.in_network(core) >= Self::window(core);
        let mut news = core.news_of(segment);
        if self.syn && news.acked > 0 {
            self.syn = false;
            news.acked += core.mss - FIRST_BYTE; // the SYN counts as a segment
        }
        if news.acked > 0 {
            core.acknowledge(ack, &mut news);
        } else {
            core.stats.duplicate_acks += 1;
        }
        let una = self.oldest(core);
        let shown = self.take_sacks(core, segment, una, &mut news);
        let is_dubious = news.acked == 0 || shown.sacked || news.echo || core.phase != Phase::Open;
        self.take_rtt(core, now, segment, una, is_dubious, &mut news);
        self.renew_timer(core, now);
        if core.feedback {
            core.tell(now, segment, &news);
        }
        // A mark forbids growth only from the threshold on (`tcp_may_raise_cwnd`).
        let may_raise = (!news.echo || core.cwnd < core.ssthresh) && core.phase != Phase::Recovery;
        if news.acked > 0 && may_raise {
            // Linux's bound stops growth, but does not lower a window that is larger already.
            let most = core.cwnd.max(u64::from(core.config.rwnd));
            core.grow(now, &news, core.growth_rule(), core.mss, limited);
            core.cwnd = core.cwnd.min(most);
        }
        if is_dubious {
            self.alert(core, now, shown.lost || news.echo);
        }
        self.is_asked_anew = true;
    }

    /// The SYN times out like any other segment.
    fn on_syn_timeout(&mut self, core: &mut Core, now: Instant) {
        self.time_out(core, now);
    }

    fn reduce_at_timeout(&mut self, core: &mut Core, now: Instant, _first: bool) {
        // Each timeout lowers the threshold: `enter_loss` leaves Linux's condition out.
        core.ssthresh = core.reduced_window(now, Signal::Timeout, 0);
        let first = self.oldest(core);
        let next = core.scoreboard.next_position();
        self.blocks.lose_all(first, next);
        self.allowed = 0;
        self.timed = None;
        self.timer_set = now;
        self.is_asked_anew = true;
        core.lose_all(now, Instant::MAX);
    }

    fn transmit_unanswered(&mut self, core: &mut Core, now: Instant) -> Option<Segment> {
        if core.state == State::Closed { None } else { self.transmit(core, now) }
    }

    fn transmit(&mut self, core: &mut Core, now: Instant) -> Option<Segment> {
        let segment = self.next_segment(core, now);
        if segment.is_some() {
            // Each segment lowers the bound, and each ACK lets it be one above the flight: two ACKs
            // let out one.
            self.allowed = self.allowed.min((self.in_network(core) - 1).max(1));
        }
        segment
    }

    /// Its own blocks decide which segments are lost, and none is sent on suspicion.
    fn fill_hole(&mut self, _core: &mut Core, _now: Instant, _pipe: u64) -> Option<Segment> {
        None
    }

    /// The window restarts earlier, in `next_segment`.
    fn restart_after_idle(&mut self, _core: &mut Core, _now: Instant) {}
}

impl Ns2Linux {
    /// Takes the SACK blocks into its own scoreboard, and the shared one.
    fn take_sacks(&mut self, core: &mut Core, segment: &Segment, una: u64, news: &mut AckChanges) -> Shown {
        let ack = segment.ack;
        let mut sacks = [(0, 0); MAX_SACK_BLOCKS];
        let mut count = 0;
        // `UpdateScoreBoard` leaves out blocks below the ACK, which report duplicates.
        for (start, end) in segment.sack.iter(ack).filter(|block| block.0 < block.1 && block.0 >= ack) {
            let (low, high) = core.scoreboard.positions(start, end);
            if low < high
                && let Some(slot) = sacks.get_mut(count)
            {
                *slot = (low, high);
                count += 1;
            }
        }
        let sacks = sacks.get_mut(..count).unwrap_or(&mut []);
        // The blocks are taken in by a single walk upwards.
        sacks.sort_unstable();
        if count > 0 {
            core.mark_sacked(segment, news);
        }
        let shown = self.blocks.take(una, sacks);
        news.lost = shown.lost;
        news.duplicate = shown.sacked;
        shown
    }

    /// Takes an RTT sample from the timestamp, or from the segment that is timed.
    fn take_rtt(
        &mut self,
        core: &mut Core,
        now: Instant,
        segment: &Segment,
        una: u64,
        is_dubious: bool,
        news: &mut AckChanges,
    ) {
        let timed = self.timed.filter(|timed| una > timed.0);
        let stamped = core.config.timestamps.then(|| sent_at(now, segment.ts_ecr));
        if let Some(sent) = stamped.or(timed.map(|timed| timed.1)) {
            let rtt = now.since(sent);
            core.rtt.sample(rtt);
            // CUBIC measures no delay with a dubious ACK, for which `cong_avoid` gets `good` 0.
            news.rtt = (!is_dubious).then_some(rtt);
        }
        if timed.is_some() {
            self.timed = None;
        }
        if timed.is_some() || stamped.is_some() {
            core.rtt.clear_back_off();
        }
    }

    /// Segments in the network.
    fn in_network(&self, core: &Core) -> i64 {
        let out = core.scoreboard.next_position() - core.scoreboard.first() + u64::from(self.syn);
        i64::try_from(out).unwrap_or(i64::MAX) - i64::try_from(self.blocks.gone()).unwrap_or(0)
    }

    fn window(core: &Core) -> i64 {
        i64::try_from(core.cwnd / core.mss).unwrap_or(i64::MAX)
    }

    /// Position of the oldest segment; the SYN has 0.
    fn oldest(&self, core: &Core) -> u64 {
        if self.syn { 0 } else { core.scoreboard.first() }
    }

    /// Ends a recovery, or begins one.
    fn alert(&mut self, core: &mut Core, now: Instant, is_congested: bool) {
        if core.phase != Phase::Open && core.snd_una >= core.recovery_point {
            self.blocks.clear();
            if core.cwnd < core.ssthresh {
                let out = u64::try_from(self.in_network(core)).unwrap_or(0);
                // Linux moderates the window at the end of a recovery, so that no burst leaves
                // (`tcp_moderate_cwnd`).
                core.cwnd = core.ssthresh.min((out + BURST) * core.mss);
            }
            core.phase = Phase::Open;
            self.allowed = 0;
        } else if core.phase != Phase::Recovery && is_congested {
            core.stats.fast_recoveries += 1;
            core.recovery_point = core.snd_nxt;
            self.allowed = Self::window(core);
            core.ssthresh = core.reduced_window(now, Signal::Loss, 0);
            // At once, where Linux goes there over a round trip; TCP-LP and LEDBAT of ns-2 thus
            // begin a recovery with a quarter of the window.
            core.cwnd = least_window(core).max(core.mss);
            core.phase = Phase::Recovery;
        }
    }

    fn renew_timer(&mut self, core: &mut Core, now: Instant) {
        self.timer_set = now;
        core.timer = (self.syn || !core.scoreboard.is_empty()).then(|| now + core.rtt.rto());
    }

    /// The timer also runs while nothing is out. Once it has run out, the window becomes the
    /// initial one, even if that is larger.
    fn restart(&mut self, core: &mut Core, now: Instant) {
        if core.config.idle_restart && now >= self.timer_set + core.rtt.rto() {
            self.timer_set = now;
            core.stats.idle_restarts += 1;
            core.cwnd = core.mss * u64::from(core.config.iw);
        }
    }

    /// The SYN once more; the timer runs on.
    fn syn_again(core: &mut Core, now: Instant) -> Option<Segment> {
        core.stats.syn_retransmits += 1;
        let timer = core.timer;
        core.due.syn = true;
        let syn = core.syn(now);
        core.timer = timer.or(core.timer);
        syn
    }

    /// The next segment that the window allows: a lost one, or a new one.
    fn next_segment(&mut self, core: &mut Core, now: Instant) -> Option<Segment> {
        let out = self.in_network(core);
        if core::mem::take(&mut self.is_asked_anew) {
            self.allowed = self.allowed.min(out + 1);
        }
        if out >= Self::window(core).max(self.allowed) {
            return None;
        }
        if self.syn && self.blocks.next_lost() == Some(0) {
            self.blocks.resent(core.scoreboard.next_position());
            return Self::syn_again(core, now);
        }
        if let Some(position) = self.blocks.next_lost()
            && let Some(record) = core.scoreboard.record(position)
        {
            self.blocks.resent(core.scoreboard.next_position());
            return Some(self.retransmit(core, now, position, record));
        }
        if !core.has_new() {
            return None;
        }
        if core.scoreboard.is_empty() && !self.syn {
            self.restart(core, now);
        }
        let segment = self.new_data(core, now, 0)?;
        self.timed.get_or_insert((core.scoreboard.next_position() - 1, now));
        Some(segment)
    }
}

/// ns-2's sink without a handshake and without a window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ns2LinuxSink;

impl ReceiverStack for Ns2LinuxSink {
    fn new(_config: &Config) -> Self {
        Self
    }

    fn intake(config: Arc<Config>) -> Intake {
        let mut intake = Ns2Sink::intake(config);
        intake.edge = u64::from(MAX_WINDOW);
        intake.window = MAX_WINDOW;
        intake
    }

    /// The SYN is the first segment, even if data came before it.
    fn on_syn(&mut self, intake: &mut Intake, segment: &Segment) {
        if intake.state == intake::State::Listen {
            intake.state = intake::State::Established;
            intake.ecn = intake.config.ecn;
            intake.ts_recent = segment.ts_val;
            intake.rcv_nxt = intake.reassembly.advance(1);
        }
        intake.ack_due = true;
    }

    fn takes_data(&mut self, intake: &mut Intake, _now: Instant, segment: &Segment) -> bool {
        if intake.state == intake::State::Listen
            && segment.seq == 1
            && intake.rcv_nxt == 0
            && intake.ts_recent == 0
        {
            intake.ts_recent = segment.ts_val;
        }
        true
    }

    fn on_duplicate(&mut self, intake: &mut Intake, now: Instant, segment: &Segment) {
        Ns2Sink.on_duplicate(intake, now, segment);
    }

    fn answer(&mut self, intake: &mut Intake, now: Instant, segment: &Segment, arrival: &InOrder) {
        Ns2Sink.answer(intake, now, segment, arrival);
    }
}
