//! ns-2.35's `Agent/TCP/Linux`: what it does otherwise than the RFCs, than Linux and than ns-2's other agents.
//!
//! It is a one-way agent that borrows the controllers of Linux 2.6.22 and counts segments. There is no handshake: the SYN is
//! the first segment of the window, and data follows it at once; if it is lost, the sink SACKs what came, and it is sent again
//! as any other segment. What is lost is said by its own scoreboard
//! ([`Blocks`]), which finds lost retransmissions too, so that a recovery can go on with the same window for as long as
//! anything is lost in it. The window is cut at once; the segments in the network follow it one for two ACKs. Each ACK,
//! duplicates too, gives an RTT sample from the timestamp it echoes and starts the timer anew without back-off
//! (`ts_resetRTO_`). The receiver offers no window: `window_`, here the receive window of
//! the settings, is what the congestion window does not grow beyond.

use goodqueue::Instant;

use super::reaction::News;
use super::{FIRST_BYTE, Phase, Sender, State};
use crate::clock::sent_at;
use crate::congestion::{CongestionControl, Signal};
use crate::scoreboard::Blocks;
use crate::segment::{Flags, MAX_SACK_BLOCKS, Segment};

/// Beyond what is in the network the window has so many segments at most when a recovery ends (`tcp_max_burst`).
const BURST: u64 = 3;

/// What such an agent remembers.
#[derive(Clone, Debug)]
pub(super) struct Ns2Linux {
    blocks: Blocks,
    /// The SYN is out, and counts as a segment.
    syn: bool,
    /// Segments that may be in the network although the window is smaller (`next_pkts_in_flight_`).
    allowed: i64,
    /// Something happened since it was last asked what to send.
    is_asked_anew: bool,
    /// The segment that is timed: its position, and when it was sent.
    timed: Option<(u64, Instant)>,
    /// When the timer was last set.
    timer_set: Instant,
}

impl Ns2Linux {
    pub(super) fn new() -> Self {
        Self {
            blocks: Blocks::default(),
            syn: true,
            allowed: 0,
            is_asked_anew: true,
            timed: None,
            timer_set: Instant::ZERO,
        }
    }
}

impl<C: CongestionControl> Sender<C> {
    /// Segments in the network.
    fn in_network(&self, agent: &Ns2Linux) -> i64 {
        let out = self.scoreboard.next_position() - self.scoreboard.first() + u64::from(agent.syn);
        i64::try_from(out).unwrap_or(i64::MAX) - i64::try_from(agent.blocks.gone()).unwrap_or(0)
    }

    fn window_as_ns2_linux(&self) -> i64 {
        i64::try_from(self.cwnd / self.mss).unwrap_or(i64::MAX)
    }

    /// The SYN has not been acknowledged yet.
    pub(super) fn on_first_ack_as_ns2_linux(&mut self, now: Instant, segment: &Segment) {
        if segment.ack > self.snd_nxt {
            self.stats.invalid_acks += 1;
            return;
        }
        if segment.ack >= FIRST_BYTE {
            self.state = State::Established;
            self.ecn = self.config.ecn;
        }
        let pipe_before = self.scoreboard.pipe();
        self.on_ack_as_ns2_linux(now, segment, pipe_before);
        self.cwnd = self.cwnd.max(self.mss);
    }

    /// Position of the oldest segment; the SYN has 0.
    fn oldest(&self, agent: &Ns2Linux) -> u64 {
        if agent.syn { 0 } else { self.scoreboard.first() }
    }

    pub(super) fn on_ack_as_ns2_linux(&mut self, now: Instant, segment: &Segment, pipe_before: u64) {
        let Some(mut agent) = self.ns2_linux.take() else { return };
        let ack = segment.ack;
        let limited = self.in_network(&agent) >= self.window_as_ns2_linux();
        let mut news = News { acked: ack - self.snd_una, ..News::default() };
        if agent.syn && news.acked > 0 {
            agent.syn = false;
            news.acked += self.mss - FIRST_BYTE; // the SYN counts as a segment
        }
        if news.acked > 0 {
            news.delivered = self.scoreboard.acknowledge(ack).delivered;
            self.snd_una = ack;
        } else {
            self.stats.duplicate_acks += 1;
        }
        let una = self.oldest(&agent);
        let mut sacks = [(0, 0); MAX_SACK_BLOCKS];
        let mut count = 0;
        for (start, end) in segment.sack.iter(ack).filter(|block| block.0 < block.1 && block.0 >= ack) {
            let (low, high) = self.scoreboard.positions(start, end);
            if low < high
                && let Some(slot) = sacks.get_mut(count)
            {
                *slot = (low, high);
                count += 1;
            }
        }
        let sacks = sacks.get_mut(..count).unwrap_or(&mut []);
        sacks.sort_unstable();
        if count > 0 {
            let (sacked, invalid) = self.scoreboard.sack(ack, &segment.sack);
            self.stats.invalid_sack_blocks += invalid;
            news.sacked = sacked;
            news.delivered += sacked;
        }
        let shown = agent.blocks.take(una, sacks);
        news.lost = shown.lost;
        news.duplicate = shown.sacked;
        let echo = self.ecn && segment.flags.contains(Flags::ECE);
        let is_dubious = news.acked == 0 || shown.sacked || echo || self.phase != Phase::Open;
        let timed = agent.timed.filter(|timed| una > timed.0);
        let stamped = self.config.timestamps.then(|| sent_at(now, segment.ts_ecr));
        if let Some(sent) = stamped.or(timed.map(|timed| timed.1)) {
            let rtt = now.since(sent);
            self.rtt.sample(rtt);
            news.rtt = (!is_dubious).then_some(rtt);
        }
        if timed.is_some() {
            agent.timed = None;
        }
        if timed.is_some() || stamped.is_some() {
            self.rtt.clear_back_off();
        }
        self.renew_timer_as_ns2_linux(now, &mut agent);
        if self.feedback {
            self.tell(now, segment, &mut news, pipe_before, echo);
        }
        let may_raise = (!echo || self.cwnd < self.ssthresh) && self.phase != Phase::Recovery;
        if news.acked > 0 && may_raise {
            let most = self.cwnd.max(u64::from(self.config.rwnd));
            self.grow(now, &news, self.mss, limited, echo);
            self.cwnd = self.cwnd.min(most);
        }
        if is_dubious {
            self.alert_as_ns2_linux(now, &mut agent, shown.lost || echo);
        }
        agent.is_asked_anew = true;
        self.ns2_linux = Some(agent);
    }

    /// Ends a recovery, or begins one.
    fn alert_as_ns2_linux(&mut self, now: Instant, agent: &mut Ns2Linux, is_congested: bool) {
        if self.phase != Phase::Open && self.snd_una >= self.recovery_point {
            agent.blocks.clear();
            if self.cwnd < self.ssthresh {
                let out = u64::try_from(self.in_network(agent)).unwrap_or(0);
                self.cwnd = self.ssthresh.min((out + BURST) * self.mss);
            }
            self.phase = Phase::Open;
            agent.allowed = 0;
        } else if self.phase != Phase::Recovery && is_congested {
            self.stats.fast_recoveries += 1;
            self.recovery_point = self.snd_nxt;
            agent.allowed = self.window_as_ns2_linux();
            self.ssthresh = self.reduced_window(now, Signal::Loss, 0);
            self.cwnd = self.ssthresh;
            self.phase = Phase::Recovery;
        }
    }

    fn renew_timer_as_ns2_linux(&mut self, now: Instant, agent: &mut Ns2Linux) {
        agent.timer_set = now;
        self.timer = (agent.syn || !self.scoreboard.is_empty()).then(|| now + self.rtt.rto());
    }

    /// The retransmission timer ran out.
    pub(super) fn time_out_as_ns2_linux(&mut self, now: Instant) {
        self.ssthresh = self.reduced_window(now, Signal::Timeout, 0);
        let (first, next) = (self.scoreboard.first(), self.scoreboard.next_position());
        if let Some(agent) = &mut self.ns2_linux {
            agent.blocks.lose_all(if agent.syn { 0 } else { first }, next);
            agent.allowed = 0;
            agent.timed = None;
            agent.timer_set = now;
            agent.is_asked_anew = true;
        }
    }

    /// The timer runs while nothing is out, too: once it has run out the window is the initial one, be that more or less.
    fn restart_after_idle_as_ns2_linux(&mut self, now: Instant, agent: &mut Ns2Linux) {
        if self.config.idle_restart && now >= agent.timer_set + self.rtt.rto() {
            agent.timer_set = now;
            self.stats.idle_restarts += 1;
            self.cwnd = self.mss * u64::from(self.config.iw);
        }
    }

    /// What may be sent now, if anything.
    pub(super) fn send_as_ns2_linux(&mut self, now: Instant) -> Option<Segment> {
        if self.state == State::Closed {
            return None;
        }
        let mut agent = self.ns2_linux.take()?;
        let segment = self.send_for(now, &mut agent);
        if segment.is_some() {
            agent.allowed = agent.allowed.min((self.in_network(&agent) - 1).max(1));
        }
        self.ns2_linux = Some(agent);
        segment
    }

    /// The SYN once more; the timer runs on.
    fn syn_again(&mut self, now: Instant) -> Option<Segment> {
        self.stats.syn_retransmits += 1;
        let timer = self.timer;
        self.syn_due = true;
        let syn = self.syn(now);
        self.timer = timer.or(self.timer);
        syn
    }

    fn send_for(&mut self, now: Instant, agent: &mut Ns2Linux) -> Option<Segment> {
        let out = self.in_network(agent);
        if core::mem::take(&mut agent.is_asked_anew) {
            agent.allowed = agent.allowed.min(out + 1);
        }
        if out >= self.window_as_ns2_linux().max(agent.allowed) {
            return None;
        }
        if agent.syn && agent.blocks.next_lost() == Some(0) {
            agent.blocks.resent(self.scoreboard.next_position());
            return self.syn_again(now);
        }
        if let Some(position) = agent.blocks.next_lost()
            && let Some(record) = self.scoreboard.record(position)
        {
            agent.blocks.resent(self.scoreboard.next_position());
            return Some(self.retransmit(now, position, record));
        }
        if self.snd_nxt >= self.data_end && (!self.closing || self.fin_sent) {
            return None;
        }
        if self.scoreboard.is_empty() && !agent.syn {
            self.restart_after_idle_as_ns2_linux(now, agent);
        }
        let segment = self.new_data(now, 0)?;
        agent.timed.get_or_insert((self.scoreboard.next_position() - 1, now));
        Some(segment)
    }
}
