//! How the sender reacts to what the receiver tells: ACKs, SACK blocks, congestion echoes, the window.

use goodqueue::{Duration, Instant};

use super::{FIRST_BYTE, FORGIVEN_SYN_RETRANSMITS, Phase, Sender, State, narrow};
use crate::congestion::{Ack, CongestionControl, Signal};
use crate::prr::{Progress, Prr};
use crate::scoreboard::DUP_THRESH;
use crate::segment::{Flags, Segment};

/// What one ACK changed, in bytes.
struct News {
    /// Cumulatively acknowledged for the first time.
    acked: u64,
    /// Cumulatively or selectively acknowledged for the first time.
    delivered: u64,
    /// Selectively acknowledged for the first time.
    sacked: u64,
    /// Taken for lost because of this ACK.
    lost: bool,
    /// It is a duplicate (RFC 6675 §2; without SACK RFC 5681 §2).
    duplicate: bool,
    rtt: Option<Duration>,
}

impl<C: CongestionControl> Sender<C> {
    /// A segment arrived.
    #[inline]
    pub fn on_segment(&mut self, now: Instant, segment: &Segment) {
        if !segment.flags.contains(Flags::ACK) {
            return;
        }
        self.stats.acks += 1;
        self.ts_recent = segment.ts_val;
        let is_syn = segment.flags.contains(Flags::SYN);
        match self.state {
            State::Closed => {}
            State::SynSent if is_syn => self.on_syn_ack(now, segment),
            State::SynSent => self.stats.invalid_acks += 1,
            // A repeated SYN/ACK: our ACK of the first did not arrive (RFC 9293 §3.10.7.4).
            State::Established if is_syn => self.ack_due = true,
            State::Established => self.on_ack(now, segment),
        }
    }

    #[cold]
    fn on_syn_ack(&mut self, now: Instant, segment: &Segment) {
        if segment.ack != FIRST_BYTE {
            self.stats.invalid_acks += 1;
            return;
        }
        self.state = State::Established;
        self.snd_una = FIRST_BYTE;
        self.window_edge = FIRST_BYTE + u64::from(segment.window);
        self.max_window = u64::from(segment.window);
        self.timer = None;
        self.ack_due = true;
        // ECE alone accepts ECN (RFC 3168 §6.1.1).
        self.ecn =
            self.config.ecn && segment.flags.contains(Flags::ECE) && !segment.flags.contains(Flags::CWR);
        if self.stats.syn_retransmits == 0 {
            self.rtt.sample(now.since(self.last_sent));
        } else {
            self.rtt.restart_after_syn_timeout();
        }
        if self.stats.syn_retransmits > FORGIVEN_SYN_RETRANSMITS {
            self.cwnd = self.mss;
        }
    }

    #[inline]
    fn on_ack(&mut self, now: Instant, segment: &Segment) {
        let ack = segment.ack;
        if ack > self.snd_nxt {
            self.stats.invalid_acks += 1;
            return;
        }
        if ack < self.snd_una {
            return; // overtaken by a later one
        }
        let pipe_before = self.scoreboard.pipe();
        let news = self.update(now, segment);
        let was_in_recovery = self.phase == Phase::Recovery;
        if self.phase != Phase::Open {
            self.recover(ack, &news);
        }
        if news.duplicate && self.phase == Phase::Open && self.is_loss_evident() {
            self.enter_recovery(now, &news);
        }
        let echo = self.ecn && segment.flags.contains(Flags::ECE);
        let reduces = echo && self.phase != Phase::Recovery && ack > self.reduction_point;
        if reduces {
            self.stats.ecn_reductions += 1;
            self.ssthresh = self.reduced_window(now, Signal::Ecn, news.acked);
            self.cwnd = self.cwnd.min(self.ssthresh);
        } else if news.acked > 0 && !was_in_recovery && self.phase != Phase::Recovery {
            let event = Ack {
                now,
                acked: news.acked,
                srtt: self.rtt.srtt().unwrap_or(Duration::ZERO),
                rtt: news.rtt,
                ssthresh: self.ssthresh,
                mss: narrow(self.mss),
                may_grow: !echo && pipe_before + self.mss > self.cwnd,
                ecn_echo: echo,
            };
            self.cwnd = self.controller.on_ack(&event, self.cwnd);
        }
        self.cwnd = self.cwnd.max(self.mss);
    }

    /// Takes what the ACK says into the scoreboard, the window, the RTT and the timer.
    #[inline]
    fn update(&mut self, now: Instant, segment: &Segment) -> News {
        let ack = segment.ack;
        let acked = ack - self.snd_una;
        let mut news = News { acked, delivered: 0, sacked: 0, lost: false, duplicate: false, rtt: None };
        if acked > 0 {
            let done = self.scoreboard.acknowledge(ack);
            self.snd_una = ack;
            self.duplicate_acks = 0;
            self.limited = 0;
            self.front_due = false; // another segment is the oldest now
            news.delivered = done.delivered;
            if let Some(sent) = done.sent {
                let rtt = now.since(sent);
                self.rtt.sample(rtt);
                news.rtt = Some(rtt);
            }
            self.restart_timer(now);
        }
        let edge = ack + u64::from(segment.window);
        let same_window = edge == self.window_edge;
        if !same_window {
            self.window_edge = edge;
            self.max_window = self.max_window.max(u64::from(segment.window));
        }
        if self.persisting {
            self.on_window_told(edge);
        }
        if self.config.sack {
            if !segment.sack.is_empty() {
                let lost = self.scoreboard.lost();
                self.count_duplicate_report(segment);
                let (sacked, invalid) = self.scoreboard.sack(ack, &segment.sack);
                self.stats.invalid_sack_blocks += invalid;
                news.sacked = sacked;
                news.delivered += sacked;
                news.lost = self.scoreboard.lost() > lost;
                news.duplicate = sacked > 0;
            }
        } else {
            news.duplicate = acked == 0 && same_window && segment.len == 0 && !self.scoreboard.is_empty();
        }
        if news.duplicate {
            self.stats.duplicate_acks += 1;
            self.duplicate_acks += 1;
        }
        news
    }

    /// RFC 6298 §5.2 and §5.3; in recovery without SACK the first partial ACK only (RFC 6582 §3.2 step 3).
    #[inline]
    fn restart_timer(&mut self, now: Instant) {
        if self.scoreboard.is_empty() {
            self.timer = None;
        } else if self.config.sack || self.phase != Phase::Recovery || self.first_partial {
            self.timer = Some(now + self.rtt.rto());
        }
    }

    /// An answer to a window probe, perhaps.
    #[cold]
    fn on_window_told(&mut self, edge: u64) {
        let usable = edge.saturating_sub(self.snd_nxt);
        if usable > 0 && usable >= self.mss.min(self.max_window / 2) {
            self.persisting = false;
            self.timer = None;
            self.rtt.clear_back_off();
        }
    }

    /// A first block below the ACK or within the second one reports a duplicate (RFC 2883 §4).
    fn count_duplicate_report(&mut self, segment: &Segment) {
        let mut blocks = segment.sack.iter(segment.ack);
        let Some((start, end)) = blocks.next() else { return };
        let within_second = blocks.next().is_some_and(|second| second.0 <= start && end <= second.1);
        // The byte of a window probe is a duplicate by intent.
        if start < end && (end <= segment.ack || within_second) && !self.persisting {
            self.stats.spurious += 1;
        }
    }

    /// Three duplicates, or enough SACKed above the oldest segment (RFC 6675 §5 steps 1 and 2); without SACK only
    /// if the ACK goes beyond what was sent before the last recovery (RFC 6582 §3.2 step 1).
    fn is_loss_evident(&self) -> bool {
        if self.config.sack {
            self.duplicate_acks >= DUP_THRESH || self.scoreboard.is_front_lost()
        } else {
            self.duplicate_acks >= DUP_THRESH && self.snd_una > self.recovery_point
        }
    }

    #[cold]
    fn enter_recovery(&mut self, now: Instant, news: &News) {
        self.stats.fast_recoveries += 1;
        // One reduction per window of data, whatever told of it (RFC 3168 §6.1.2).
        if self.snd_una >= self.reduction_point {
            self.ssthresh = self.reduced_window(now, Signal::Loss, news.acked);
        }
        self.phase = Phase::Recovery;
        self.recovery_point = self.snd_nxt;
        self.front_due = true;
        self.rescued = false;
        self.first_partial = true;
        self.limited = 0;
        self.scoreboard.mark_front_lost();
        if !self.config.sack {
            self.cwnd = self.ssthresh + DUP_THRESH * self.mss; // RFC 6582 §3.2 step 2
        } else if self.config.prr {
            let in_flight = self.scoreboard.outstanding() + news.acked;
            self.prr = Prr::begin(in_flight, self.scoreboard.sacked() - news.sacked);
            self.pace_recovery(news, true);
        } else {
            self.cwnd = self.ssthresh; // RFC 6675 §5 step 4.2
        }
    }

    /// An ACK while in recovery or after a timeout.
    #[cold]
    fn recover(&mut self, ack: u64, news: &News) {
        let is_over = ack >= self.recovery_point;
        match self.phase {
            Phase::Loss if is_over => self.phase = Phase::Open,
            Phase::Recovery if is_over => {
                self.phase = Phase::Open;
                self.front_due = false;
                self.cwnd = if self.config.sack {
                    self.ssthresh
                } else {
                    // RFC 6582 §3.2 step 3, the choice that sends no burst
                    self.ssthresh.min(self.scoreboard.outstanding().max(self.mss) + self.mss)
                };
            }
            Phase::Recovery if !self.config.sack => self.inflate_or_deflate(news),
            Phase::Recovery if self.config.prr => self.pace_recovery(news, false),
            _ => {}
        }
    }

    /// Recovery without SACK (RFC 6582 §3.2 steps 3 and 4).
    fn inflate_or_deflate(&mut self, news: &News) {
        if news.acked > 0 {
            self.cwnd = self.cwnd.saturating_sub(news.acked);
            if news.acked >= self.mss {
                self.cwnd += self.mss;
            }
            self.first_partial = false;
            self.scoreboard.mark_front_lost();
            self.front_due = true;
        } else if news.duplicate {
            self.cwnd += self.mss;
        }
    }

    fn pace_recovery(&mut self, news: &News, is_entry: bool) {
        if news.delivered == 0 {
            return;
        }
        let progress = Progress {
            delivered: news.delivered,
            pipe: self.scoreboard.pipe(),
            ssthresh: self.ssthresh,
            mss: self.mss,
            safe: news.acked > 0 && !news.lost && !is_entry,
        };
        self.cwnd = self.prr.on_ack(&progress);
    }
}
