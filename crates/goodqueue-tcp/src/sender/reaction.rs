//! How the sender reacts to what the receiver tells: ACKs, SACK blocks, congestion echoes, the window.

use goodqueue::{Duration, Instant};

use super::{FIRST_BYTE, FORGIVEN_SYN_RETRANSMITS, Phase, Purpose, Sender, State, narrow};
use crate::clock::{TICK, sent_at, ticks, ticks_since};
use crate::config::{Growth, LossDetection, RtoRule, UndoRule};
use crate::congestion::{Ack, Congestion, CongestionControl, Feedback, GrowthRule, Hears, Signal, Window};
use crate::hystart::{HyStart, Seen, Verdict};
use crate::prr::{Progress, Prr};
use crate::scoreboard::{DUP_THRESH, Found};
use crate::segment::{Flags, Segment};

/// The window counts as used with so many segments of it to spare, and is moderated to so many more than are in flight
/// (`tcp_max_burst` of Linux up to 3.x).
pub(super) const MAX_BURST: u64 = 3;

/// What one ACK changed, in bytes.
#[derive(Default)]
pub(super) struct News {
    /// Cumulatively acknowledged for the first time.
    pub(super) acked: u64,
    /// Cumulatively or selectively acknowledged for the first time.
    pub(super) delivered: u64,
    /// Selectively acknowledged for the first time.
    pub(super) sacked: u64,
    /// Taken for lost because of this ACK.
    pub(super) lost: bool,
    /// It is a duplicate (RFC 6675 §2; without SACK RFC 5681 §2).
    pub(super) duplicate: bool,
    pub(super) rtt: Option<Duration>,
    /// Bytes newly taken for lost, if anybody wants to know.
    pub(super) newly_lost: u64,
}

impl<C: CongestionControl> Sender<C> {
    /// A segment arrived.
    #[inline]
    pub fn on_segment(&mut self, now: Instant, segment: &Segment) {
        if !segment.flags.contains(Flags::ACK) {
            return;
        }
        self.stats.acks += 1;
        self.awaits_ack = false;
        self.refused = false;
        self.refused_alone = false;
        self.ts_recent = segment.ts_val;
        let is_syn = segment.flags.contains(Flags::SYN);
        match self.state {
            State::Closed => {}
            State::SynSent if self.config.ns2_linux() => self.on_first_ack_as_ns2_linux(now, segment),
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
        self.window_edge = self.window_edge.max(FIRST_BYTE + u64::from(segment.window));
        self.max_window = u64::from(segment.window);
        self.timer = None;
        // ns-2's agents and libutp acknowledge the SYN/ACK with data.
        self.ack_due = !self.config.ns2() && !self.config.libutp() || self.snd_nxt >= self.data_end;
        // ECE alone accepts ECN (RFC 3168 §6.1.1).
        self.ecn =
            self.config.ecn && segment.flags.contains(Flags::ECE) && !segment.flags.contains(Flags::CWR);
        if self.config.ns2_full() {
            self.on_syn_ack_as_ns2_full(now, segment);
            return;
        }
        if self.stats.syn_retransmits == 0 {
            let ns2 = self.config.ns2();
            let rtt = if ns2 { self.between_ticks(self.last_sent, now) } else { now.since(self.last_sent) };
            self.rtt.sample(rtt);
            self.rtt.remember();
        } else if self.config.ns2() {
            self.begin_slowly_as_ns2();
        } else {
            self.rtt.restart_after_syn_timeout();
        }
        if self.stats.syn_retransmits > FORGIVEN_SYN_RETRANSMITS {
            self.cwnd = self.mss;
        }
        if self.config.libutp() {
            self.on_syn_ack_as_libutp(now);
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
        if self.config.linux() {
            self.on_ack_as_linux(now, segment, pipe_before);
        } else if self.config.ns2_linux() {
            self.on_ack_as_ns2_linux(now, segment, pipe_before);
        } else if self.config.ns2_full() {
            self.on_ack_as_ns2_full(now, segment, pipe_before);
        } else if self.config.ns2() {
            self.on_ack_as_ns2(now, segment, pipe_before);
        } else if self.config.libutp() {
            self.on_ack_as_libutp(now, segment, pipe_before);
        } else {
            self.on_ack_by_count(now, segment, pipe_before);
        }
        self.cwnd = self.cwnd.max(self.mss);
    }

    /// An ACK, with losses found by counting (RFC 6675, RFC 6582).
    #[inline]
    fn on_ack_by_count(&mut self, now: Instant, segment: &Segment, pipe_before: u64) {
        let ack = segment.ack;
        let spurious_before = self.stats.spurious;
        let mut news = self.update(now, segment);
        let was_in_recovery = self.phase == Phase::Recovery;
        if self.probed.is_some() {
            let duplicate_reported = self.stats.spurious > spurious_before;
            self.on_probe_answer(ack, news.acked == 0 && news.sacked == 0, duplicate_reported);
        }
        if self.phase != Phase::Open {
            self.recover(ack, &news);
        }
        if news.duplicate && self.phase == Phase::Open && self.is_loss_evident() {
            self.enter_recovery(now, &news);
        }
        if news.acked > 0 && self.config.tail_loss_probe && !self.scoreboard.is_empty() {
            self.purpose = Purpose::Timeout;
            self.schedule_probe(now, true);
        }
        let echo = self.ecn && segment.flags.contains(Flags::ECE);
        if self.feedback {
            self.tell(now, segment, &mut news, pipe_before, echo);
        }
        let reduces = echo && self.phase != Phase::Recovery && ack > self.reduction_point;
        if reduces {
            self.stats.ecn_reductions += 1;
            self.ssthresh = self.reduced_window(now, Signal::Ecn, news.acked);
            self.cwnd = self.cwnd.min(self.ssthresh);
        } else if news.acked > 0 && !was_in_recovery && self.phase != Phase::Recovery {
            let may_grow = !echo && pipe_before + self.mss > self.cwnd;
            let acked = self.counted(&news);
            self.grow(now, &news, acked, may_grow, echo);
        }
    }

    /// An ACK, with losses found by time (RFC 8985) or by forward acknowledgement, and windows as Linux has them.
    fn on_ack_as_linux(&mut self, now: Instant, segment: &Segment, pipe_before: u64) {
        let ack = segment.ack;
        let spurious_before = self.stats.spurious;
        let answered = self.config.timestamps && segment.ts_ecr != 0;
        let answered = answered.then(|| sent_at(now, segment.ts_ecr));
        // What was sent again after that, or too lately to be what the ACK answers to, did not cause it.
        let stamped =
            answered.map_or(Instant::MAX, |sent| Instant::from_nanos(ticks(sent) * TICK + TICK - 1));
        self.scoreboard.begin_ack(now - self.rtt.min_rtt(), stamped);
        let lost_before = self.scoreboard.lost();
        let resent_before = self.stats.retransmits;
        let forward = self.config.fack();
        let grows_first = forward && !self.controls_all;
        let was_reducing = matches!(self.phase, Phase::Recovery | Phase::Reduction);
        if forward {
            self.count_timeout_from_front(now);
        }
        let set_timer = self.timer;
        let mut news = self.update(now, segment);
        debug_assert_eq!(resent_before, self.stats.retransmits);
        let duplicate_reported = self.stats.spurious > spurious_before;
        if self.probed.is_some() {
            let plain = news.acked == 0 && news.sacked == 0;
            self.on_probe_answer(ack, plain, duplicate_reported);
        }
        let echo = self.ecn && segment.flags.contains(Flags::ECE);
        let reduces = echo && !self.controls_all;
        self.rack.new_data_first = false;
        let tested = self.tests_timeout();
        if tested {
            self.go_on_testing(&news, duplicate_reported);
        }
        let hears_first = self.feedback && !forward && self.controller.about().hears == Hears::EveryAckFirst;
        if hears_first {
            self.tell(now, segment, &mut news, pipe_before, echo);
        }
        if grows_first {
            // Before anything that the ACK tells changes what is going on (Linux up to 4.5).
            if self.feedback {
                self.tell(now, segment, &mut news, pipe_before, echo);
            }
            if news.acked > 0 && !was_reducing && !tested {
                let may_grow = pipe_before + MAX_BURST * self.mss >= self.cwnd;
                let acked = self.counted(&news);
                self.grow(now, &news, acked, may_grow, echo);
            }
        }
        if echo && !forward {
            self.forgo_window();
        }
        let was_open = self.phase == Phase::Open;
        let mut looks = true;
        if self.phase != Phase::Open {
            looks = self.end_phase(ack, answered, &news);
        } else if duplicate_reported && self.were_all_duplicates() {
            self.undo(false);
        }
        let found = match self.config.loss_detection {
            LossDetection::Fack => self.detect_forward(&news, looks),
            _ if looks => self.detect_losses(now),
            _ => Found::default(),
        };
        let newly_lost =
            if forward { self.scoreboard.lost().saturating_sub(lost_before) } else { found.lost };
        news.lost = newly_lost > 0;
        let begins = match self.phase {
            Phase::Recovery => false,
            Phase::Loss => found.retransmission && !forward,
            Phase::Open if self.tests_timeout() => false,
            Phase::Open | Phase::Reduction if forward => self.is_loss_likely(),
            Phase::Open | Phase::Reduction => self.scoreboard.lost() > 0,
        };
        if begins {
            self.rack.timeout_in_doubt = false;
            self.begin_recovery(now, news.acked);
            if echo && !forward {
                self.forgo_window();
            }
        } else if reduces && self.phase == Phase::Open {
            self.stats.ecn_reductions += 1;
            let cwnd = self.cwnd;
            self.ssthresh = self.reduced_window(now, Signal::Ecn, news.acked);
            self.prr = Prr::begin_whole(cwnd);
            self.phase = Phase::Reduction;
            self.recovery_point = self.snd_nxt;
            self.rack.undo = None;
            self.rack.odd = false;
        }
        if begins && forward {
            self.mark_forward(true);
        }
        if self.phase == Phase::Open
            && !self.tests_timeout()
            && self.rack.resent_since.is_some()
            && !self.scoreboard.has_resent()
            && !self.scoreboard.is_front_resent()
        {
            self.rack.resent_since = None;
        }
        if found.next.is_none() && (news.acked > 0 || self.sack_renews_timer(now)) {
            self.purpose = Purpose::Timeout;
            if self.scoreboard.is_empty() {
                self.timer = None;
            } else if !self.schedule_probe(now, true) {
                self.timer = Some(self.config.timers.expiry(now, self.rtt.rto()));
            }
        } else if found.next.is_none() && self.purpose == Purpose::Reordering {
            // What the timer waited for was decided.
            self.purpose = Purpose::Timeout;
            self.timer = Some(self.timeout_of_front(now));
        } else if found.next.is_none() {
            self.timer = set_timer;
            if forward {
                self.schedule_probe(now, false);
            }
        }
        if self.config.early_retransmit {
            self.schedule_early_retransmit(now);
        }
        if self.feedback && !grows_first && !hears_first {
            news.newly_lost = newly_lost;
            if let Some(rates) = &mut self.rates {
                rates.on_lost(newly_lost);
            }
            self.tell(now, segment, &mut news, pipe_before, echo);
        }
        if self.controls_all {
            return;
        }
        let reducing = matches!(self.phase, Phase::Recovery | Phase::Reduction);
        if forward {
            self.reduce_forward(&news, reducing, was_open && !echo);
        } else if reducing && self.config.prr {
            if news.delivered > 0 || begins {
                self.reduce_rate(news.delivered, news.acked > 0 && !news.lost);
            }
        } else if news.acked > 0 && !reducing {
            let rack = &self.rack;
            let may_grow = if self.config.whole_segments {
                rack.limited || (self.cwnd < self.ssthresh && self.cwnd < 2 * rack.most_out)
            } else {
                pipe_before + self.mss > self.cwnd
            };
            let acked = match self.config.growth {
                Growth::Delivered => news.delivered,
                _ => self.counted(&news),
            };
            self.grow(now, &news, acked, may_grow, echo);
        }
    }

    /// What an ACK counts for the growth of the window, in bytes.
    #[inline]
    fn counted(&self, news: &News) -> u64 {
        match self.config.growth {
            Growth::Abc | Growth::Delivered => news.acked,
            Growth::PerAck => self.mss,
            Growth::SlowStart => {
                let room = self.ssthresh.saturating_add(self.mss).saturating_sub(self.cwnd);
                if room > 0 { news.acked.min(room.max(self.mss)) } else { self.mss }
            }
        }
    }

    #[inline]
    pub(super) fn grow(&mut self, now: Instant, news: &News, acked: u64, may_grow: bool, echo: bool) {
        // Slow start went on at the threshold itself (Linux up to 3.19).
        let threshold =
            if self.config.fack() { self.ssthresh.saturating_add(self.mss) } else { self.ssthresh };
        let mut event = Ack {
            now,
            acked,
            srtt: self.rtt.srtt().unwrap_or(Duration::ZERO),
            rtt: news.rtt,
            ssthresh: threshold,
            mss: narrow(self.mss),
            covered: news.acked,
            growth: GrowthRule {
                whole: matches!(self.config.growth, Growth::Delivered | Growth::SlowStart),
                per_ack: matches!(self.config.growth, Growth::PerAck | Growth::SlowStart),
                late: self.config.fack(),
            },
            may_grow,
            ecn_echo: echo,
        };
        if self.config.hystart == HyStart::Rfc9406 {
            self.shape_slow_start(&mut event);
        }
        self.cwnd = self.controller.on_ack(&mut event, self.cwnd);
        if event.ssthresh != threshold {
            self.ssthresh = event.ssthresh;
        }
    }

    /// `HyStart++`, in the initial slow start only (RFC 9406 §4.2): until something reduced the window.
    fn shape_slow_start(&mut self, ack: &mut Ack) {
        if self.ssthresh != self.config.initial_ssthresh || self.cwnd >= self.ssthresh {
            return;
        }
        let Some(hystart) = &mut self.hystart else { return };
        let seen = Seen {
            una: self.snd_una,
            next: self.snd_nxt,
            rtt: ack.rtt,
            acked: if ack.may_grow { ack.acked } else { 0 },
            mss: self.mss,
            step: if self.config.whole_segments { self.mss } else { 1 },
        };
        match hystart.on_ack(&seen) {
            Verdict::Grow(bytes) => {
                ack.acked = bytes;
                ack.growth.whole = true;
            }
            Verdict::Leave => ack.ssthresh = self.cwnd,
        }
    }

    /// Tells the controller everything.
    pub(super) fn tell(
        &mut self,
        now: Instant,
        segment: &Segment,
        news: &mut News,
        pipe_before: u64,
        echo: bool,
    ) {
        let stamps = self.config.timestamps && segment.ts_ecr != 0;
        let min_rtt = self.rtt.min_rtt();
        let rate = self.rates.as_mut().and_then(|rates| {
            for position in self.scoreboard.drain_log() {
                rates.on_delivered(position);
            }
            rates.forget_below(self.scoreboard.first());
            rates.sample(now, news.delivered)
        });
        let feedback = Feedback {
            now,
            una: self.snd_una,
            next: self.snd_nxt,
            acked: news.acked,
            delivered: news.delivered,
            lost: news.newly_lost,
            pipe: self.scoreboard.pipe(),
            pipe_before,
            until_departure: self.next_departure.since(now),
            rtt: news.rtt,
            srtt: self.rtt.srtt().unwrap_or(Duration::ZERO),
            min_rtt: if min_rtt == Duration::MAX { Duration::ZERO } else { min_rtt },
            one_way_delay: stamps.then(|| segment.ts_val.wrapping_sub(segment.ts_ecr)),
            stamps: stamps.then_some((segment.ts_val, segment.ts_ecr)),
            ecn_echo: echo,
            in_recovery: matches!(self.phase, Phase::Recovery | Phase::Loss),
            own_slow_start: self.config.hystart == HyStart::Own,
            rate,
            mss: narrow(self.mss),
        };
        let mut window = Window { cwnd: self.cwnd, ssthresh: self.ssthresh };
        self.controller.on_feedback(&feedback, &mut window);
        self.cwnd = window.cwnd.max(self.mss);
        self.ssthresh = window.ssthresh;
        self.pace = self.controller.pacing().rate.filter(|_| !self.config.libutp());
    }

    /// Ends what the ACK shows to be over: recovery, the time after a timeout, a reduction. Returns false if losses are not
    /// to be looked for, as reordering seems to be all there is.
    #[cold]
    fn end_phase(&mut self, ack: u64, answered: Option<Instant>, news: &News) -> bool {
        let is_over = ack >= self.recovery_point;
        match self.phase {
            Phase::Recovery if is_over => {
                if self.were_all_duplicates() || self.answers_original(answered) {
                    self.undo(false);
                } else {
                    self.cwnd = self.ssthresh;
                    self.phase = Phase::Open;
                }
                if self.controls_all {
                    self.phase = Phase::Open;
                }
            }
            Phase::Recovery if news.acked > 0 && self.answers_original(answered) => {
                // A hole was filled by what came late.
                if self.config.fack() {
                    self.note_reordering(self.scoreboard.forward() + news.acked / self.mss);
                }
                if self.scoreboard.has_resent() {
                    return false;
                }
                self.undo(true);
            }
            Phase::Recovery if self.were_all_duplicates() => self.undo(false),
            Phase::Reduction if ack > self.recovery_point => {
                if !self.config.rate_halving {
                    self.cwnd = self.ssthresh;
                }
                self.phase = Phase::Open;
            }
            Phase::Loss => {
                let advanced = news.acked > 0;
                let original = self.rack.timeout_in_doubt && self.scoreboard.arrivals().was_not_lost;
                // The kernels of forward acknowledgement asked any ACK.
                let tells = advanced || (self.config.fack() && self.config.undo == UndoRule::Whole);
                if original || (tells && (self.were_all_duplicates() || self.answers_original(answered))) {
                    self.undo(true);
                } else if is_over {
                    self.phase = Phase::Open;
                } else if self.rack.timeout_in_doubt {
                    self.test_timeout(advanced, news.sacked > 0);
                }
            }
            _ => {}
        }
        if self.phase == Phase::Open {
            self.rack.timeout_in_doubt = false;
        }
        true
    }

    /// A SACK renews the timeout if what it tells of was sent before the oldest segment last was (Linux).
    fn sack_renews_timer(&self, _now: Instant) -> bool {
        if self.config.rto_rule == RtoRule::LinuxStamps {
            return false;
        }
        let sacked = self.scoreboard.arrivals().first_sacked;
        sacked.is_some_and(|sacked| self.scoreboard.front_sent().is_some_and(|front| sacked < front))
    }

    /// Proportional rate reduction on an ACK that delivered so many bytes.
    pub(super) fn reduce_rate(&mut self, delivered: u64, safe: bool) {
        let progress = Progress {
            delivered,
            pipe: self.scoreboard.pipe(),
            ssthresh: self.ssthresh,
            mss: self.mss,
            safe,
        };
        self.cwnd = self.prr.on_ack(&progress);
    }

    /// Takes what the ACK says into the scoreboard, the window, the RTT and the timer.
    #[inline]
    fn update(&mut self, now: Instant, segment: &Segment) -> News {
        let ack = segment.ack;
        let acked = ack - self.snd_una;
        let mut news =
            News { acked, delivered: 0, sacked: 0, lost: false, duplicate: false, rtt: None, newly_lost: 0 };
        if acked > 0 {
            let done = self.scoreboard.acknowledge(ack);
            self.snd_una = ack;
            if let Some(buffer) = &mut self.plain_buffer {
                buffer.on_acknowledged();
            }
            self.duplicate_acks = 0;
            self.limited = 0;
            self.front_due = false; // another segment is the oldest now
            news.delivered = done.delivered;
            if self.config.linux() {
                if let (Some(first), Some(last)) = (done.first_sent, done.sent) {
                    if !self.takes_stamps(segment) {
                        self.rtt.take(now.since(first), ack, self.snd_nxt);
                    }
                    news.rtt = Some(now.since(last));
                }
            } else {
                if let Some(sent) = done.sent {
                    let rtt = now.since(sent);
                    self.rtt.take(rtt, ack, self.snd_nxt);
                    news.rtt = Some(rtt);
                }
                self.restart_timer(now);
            }
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
            let stamps = self.takes_stamps(segment);
            if self.config.linux() && !stamps {
                self.take_sacked_rtt(now, &mut news, ack);
            }
            if (news.rtt.is_none() || stamps)
                && acked > 0
                && self.config.linux()
                && self.config.timestamps
                && segment.ts_ecr != 0
            {
                self.take_stamped_rtt(now, &mut news, segment);
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
            self.timer = Some(self.config.timers.expiry(now, self.rtt.rto()));
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
            if self.config.linux() {
                self.on_duplicate_report(start);
            }
        }
    }

    /// RTT of newly SACKed segments, where the cumulative ACK gave none.
    #[inline]
    fn take_sacked_rtt(&mut self, now: Instant, news: &mut News, ack: u64) {
        let arrivals = self.scoreboard.arrivals();
        if let (Some(first), Some(last)) = (arrivals.first_sacked, arrivals.last_sacked) {
            if news.rtt.is_none() {
                self.rtt.take(now.since(first), ack, self.snd_nxt);
            }
            news.rtt = Some(now.since(last));
        }
        if let Some(rtt) = news.rtt {
            self.rtt.note_least(rtt);
        }
    }

    /// The RTT that the timestamps show, in whole milliseconds as Linux's clock has them, where what was acknowledged had been
    /// sent more than once (RFC 7323 §4.3).
    #[cold]
    fn take_stamped_rtt(&mut self, now: Instant, news: &mut News, segment: &Segment) {
        let rtt = ticks_since(now, segment.ts_ecr);
        self.rtt.take(rtt, segment.ack, self.snd_nxt);
        news.rtt.get_or_insert(rtt);
    }

    /// The timestamps of ACKs give all samples.
    fn takes_stamps(&self, segment: &Segment) -> bool {
        self.config.rto_rule == RtoRule::LinuxStamps && self.config.timestamps && segment.ts_ecr != 0
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
    pub(super) fn enter_recovery(&mut self, now: Instant, news: &News) {
        self.stats.fast_recoveries += 1;
        // One reduction per window of data, whatever told of it (RFC 3168 §6.1.2).
        if self.snd_una >= self.reduction_point {
            self.remember_window();
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

    /// Asks the controller for the slow-start threshold and notes that the window was reduced. What was in flight is
    /// counted as before this ACK, which acknowledged `acked` bytes.
    pub(super) fn reduced_window(&mut self, now: Instant, signal: Signal, acked: u64) -> u64 {
        self.reduction_point = self.snd_nxt;
        self.cwr_due = self.ecn;
        let event = self.congestion(now, signal, acked);
        self.controller.on_congestion(&event).max(self.mss)
    }

    /// What a controller is told of congestion.
    pub(super) fn congestion(&self, now: Instant, signal: Signal, acked: u64) -> Congestion {
        Congestion {
            now,
            signal,
            cwnd: self.cwnd,
            // In recovery what is not acknowledged grows beyond the window by what is SACKed: that is not in flight.
            in_flight: (self.scoreboard.outstanding() + acked).saturating_sub(self.limited).min(self.cwnd),
            mss: narrow(self.mss),
            whole: self.config.whole_segments,
        }
    }
}
