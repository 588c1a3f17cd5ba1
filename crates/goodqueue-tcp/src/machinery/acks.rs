//! How an ACK enters the scoreboard and the window, and how the controller hears of it.

use goodqueue::{Duration, Ecn, Instant};

use super::ack_changes::AckChanges;
use super::{Core, FIRST_BYTE, Phase, State, TimerPurpose, narrow};
use crate::congestion::{CongestionControl, Feedback, FeedbackTiming, RateSample, Window};
use crate::hystart::HyStart;
use crate::scoreboard::Acknowledged;
use crate::segment::{Flags, Segment};

/// Data that came twice, as the receiver reports it (RFC 2883): its first sequence number, and the
/// one after its last byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Duplicate {
    pub start: u64,
    pub end: u64,
}

impl Core {
    /// An ACK of any kind arrived.
    #[inline]
    pub fn note_ack(&mut self, segment: &Segment) {
        self.stats.acks += 1;
        self.burst.awaits_ack = false;
        self.host.refused = false;
        self.host.refused_alone = false;
        if let Some(buffer) = &mut self.buffer.of_bursts {
            buffer.on_ack();
        }
        self.ts_recent = segment.ts_val;
        if segment.ecn == Ecn::Ce && !segment.flags.contains(Flags::SYN) {
            self.count_marked_ack();
        }
    }

    /// Takes in a SYN/ACK. Returns false if it does not answer the SYN.
    pub fn establish(&mut self, segment: &Segment) -> bool {
        // Nothing but the SYN is out.
        if segment.ack != FIRST_BYTE {
            self.stats.invalid_acks += 1;
            return false;
        }
        self.state = State::Established;
        self.snd_una = FIRST_BYTE;
        self.offered.edge = self.offered.edge.max(FIRST_BYTE + u64::from(segment.window));
        self.offered.most = u64::from(segment.window);
        self.timer = None;
        self.due.ack = true;
        self.take_answer(segment);
        true
    }

    /// Returns the changes of an ACK that its header shows.
    #[inline]
    pub fn news_of(&self, segment: &Segment) -> AckChanges {
        AckChanges {
            acked: segment.ack - self.snd_una,
            pipe_before: self.scoreboard.pipe(),
            echo: self.ecn && segment.flags.contains(Flags::ECE),
            ..AckChanges::default()
        }
    }

    /// Takes the acknowledged segments off the scoreboard.
    #[inline]
    pub fn acknowledge(&mut self, ack: u64, news: &mut AckChanges) -> Acknowledged {
        let done = self.scoreboard.acknowledge(ack);
        self.snd_una = ack;
        news.delivered = done.delivered;
        done
    }

    /// After [`acknowledge`](Self::acknowledge): there is room in the send buffer, and another
    /// segment is the oldest.
    #[inline]
    pub fn note_progress(&mut self) {
        if let Some(buffer) = &mut self.buffer.plain {
            buffer.on_acknowledged();
        }
        self.duplicate_acks = 0;
        self.limited = 0;
        self.due.front = false;
    }

    /// Takes the receiver's window from an ACK. Returns true if it is as before.
    #[inline]
    pub fn take_window(&mut self, segment: &Segment) -> bool {
        let edge = segment.ack + u64::from(segment.window);
        let same_window = edge == self.offered.edge;
        if !same_window {
            self.offered.edge = edge;
            self.offered.most = self.offered.most.max(u64::from(segment.window));
        }
        if self.persist.is_on {
            self.on_window_told(edge);
        }
        same_window
    }

    /// Lets the receiver's window grow, never shrink (ns-2's agents).
    pub fn widen_window(&mut self, segment: &Segment) {
        self.offered.edge = self.offered.edge.max(segment.ack + u64::from(segment.window));
        self.offered.most = self.offered.most.max(u64::from(segment.window));
    }

    /// An answer to a window probe, perhaps.
    #[cold]
    fn on_window_told(&mut self, edge: u64) {
        let usable = edge.saturating_sub(self.snd_nxt);
        // A smaller window lets no segment leave (RFC 9293 §3.8.6.2.1), so the probes continue.
        if usable > 0 && usable >= self.mss.min(self.offered.most / 2) {
            self.persist.is_on = false;
            self.timer = None;
            self.rtt.clear_back_off();
        }
    }

    /// Marks the SACKed segments. Returns the duplicate that the ACK reports, if it reports one.
    #[inline]
    pub fn take_sacks(&mut self, segment: &Segment, news: &mut AckChanges) -> Option<Duplicate> {
        if segment.sack.is_empty() {
            return None;
        }
        let lost = self.scoreboard.lost();
        let reported = self.reported_duplicate(segment);
        self.stats.spurious += u64::from(reported.is_some());
        self.mark_sacked(segment, news);
        news.lost = self.scoreboard.lost() > lost;
        news.duplicate = news.sacked > 0;
        reported
    }

    /// Marks the SACKed segments, and counts their bytes.
    #[inline]
    pub fn mark_sacked(&mut self, segment: &Segment, news: &mut AckChanges) {
        let (sacked, invalid) = self.scoreboard.sack(segment.ack, &segment.sack);
        self.stats.invalid_sack_blocks += invalid;
        news.sacked = sacked;
        news.delivered += sacked;
    }

    /// A first block below the ACK or within the second one reports a duplicate (RFC 2883 §4).
    fn reported_duplicate(&self, segment: &Segment) -> Option<Duplicate> {
        let mut blocks = segment.sack.iter(segment.ack);
        let (start, end) = blocks.next()?;
        let within_second = blocks.next().is_some_and(|second| second.0 <= start && end <= second.1);
        // The byte of a window probe is a duplicate by intent.
        let is_reported = start < end && (end <= segment.ack || within_second) && !self.persist.is_on;
        is_reported.then_some(Duplicate { start, end })
    }

    /// Counts a duplicate ACK, if it is one.
    #[inline]
    pub fn count_duplicate(&mut self, news: &AckChanges) {
        if news.duplicate {
            self.stats.duplicate_acks += 1;
            self.duplicate_acks += 1;
        }
    }

    /// Gives the controller feedback on an ACK.
    pub fn tell(&mut self, now: Instant, segment: &Segment, news: &AckChanges) {
        // An echo of 0 is not valid (RFC 7323 §3.2).
        let stamps = self.config.timestamps && segment.ts_ecr != 0;
        let min_rtt = self.rtt.min_rtt();
        let mut rate = None;
        if self.rates.is_some() {
            rate = self.sample_rate(now, news.delivered, min_rtt);
            if !self.controls_all {
                // The samples are for the reported rate alone.
                rate = None;
                if self.controller.about().feedback == FeedbackTiming::Nothing {
                    return;
                }
            }
        }
        let marked = if news.echo { self.marked_bytes(news) } else { 0 };
        let feedback = || Feedback {
            now,
            una: self.snd_una,
            next: self.snd_nxt,
            acked: news.acked,
            delivered: news.delivered,
            lost: news.newly_lost,
            pipe: self.scoreboard.pipe(),
            pipe_before: news.pipe_before,
            until_departure: self.pacer.next_departure.since(now),
            rtt: news.rtt,
            srtt: self.rtt.srtt().unwrap_or(Duration::ZERO),
            // Controllers take 0 for no sample, and the estimator has the longest time instead.
            min_rtt: if min_rtt == Duration::MAX { Duration::ZERO } else { min_rtt },
            one_way_delay: stamps.then(|| segment.ts_val.wrapping_sub(segment.ts_ecr)),
            stamps: stamps.then_some((segment.ts_val, segment.ts_ecr)),
            clock_start_ms: self.config.stack.clock_start_ms,
            app_limited: self.rates.as_ref().is_some_and(|rates| rates.app_limited()),
            ecn_echo: news.echo,
            marked,
            accurate: self.accurate.is_some(),
            in_recovery: matches!(self.phase, Phase::Recovery | Phase::Loss),
            own_slow_start: self.config.hystart == HyStart::Own,
            rate,
            mss: narrow(self.mss),
            headers: self.config.headers(),
        };
        let mut window = Window { cwnd: self.cwnd, ssthresh: self.ssthresh };
        self.controller.take_feedback(feedback, &mut window);
        self.cwnd = window.cwnd.max(self.mss);
        self.ssthresh = window.ssthresh;
        self.pacer.rate = self.controller.pacing().rate;
    }

    /// Returns the sample of the delivery rate that an ACK gives. `delivered` is the number of
    /// bytes that it reports for the first time.
    fn sample_rate(&mut self, now: Instant, delivered: u64, min_rtt: Duration) -> Option<RateSample> {
        if let Some(rates) = &mut self.rates {
            for position in self.scoreboard.drain_delivered() {
                rates.on_delivered(position);
            }
            rates.deliver(now, delivered);
        }
        self.settle_losses(now);
        let rates = self.rates.as_mut()?;
        // Deliveries and losses of this ACK need the snapshots, so they are forgotten after both.
        rates.forget_below(self.scoreboard.first());
        rates.sample(now, min_rtt)
    }

    /// RFC 6298 §5.2 and §5.3; in recovery without SACK the first partial ACK only (RFC 6582 §3.2
    /// step 3).
    #[inline]
    pub fn restart_timer(&mut self, now: Instant) {
        if self.scoreboard.is_empty() {
            self.timer = None;
        } else if self.config.sack || self.phase != Phase::Recovery || self.recovery.first_partial {
            self.set_retransmission_timer(now);
        }
    }

    /// The timer of a probe, or of an early retransmit, becomes that of the timeout, which counts
    /// from when the oldest segment was sent.
    pub fn count_timeout_from_front(&mut self, now: Instant) {
        if matches!(self.purpose, TimerPurpose::Early | TimerPurpose::Probe) && !self.scoreboard.is_empty() {
            self.purpose = TimerPurpose::Timeout;
            self.timer = Some(self.timeout_of_front(now));
        }
    }
}
