//! RTT samples as Linux takes them: from acknowledged segments, from SACKed ones, and from
//! timestamps.

use goodqueue::Instant;

use super::Core;
use super::ack_changes::AckChanges;
use super::acks::Duplicate;
use crate::clock::{TICK, sent_at, ticks, ticks_since};
use crate::scoreboard::Acknowledged;
use crate::segment::Segment;

/// An ACK that was taken into the scoreboard, the window and the RTT.
pub struct ProcessedAck {
    /// The content of the ACK.
    pub news: AckChanges,
    /// When the segment was sent that the ACK answers, by its timestamp.
    pub answered: Option<Instant>,
    /// The duplicate that the ACK reports, if it reports one.
    pub reported: Option<Duplicate>,
}

impl Core {
    /// Takes an ACK into the scoreboard, the window and the RTT, with all samples that it gives.
    #[inline(always)]
    pub fn take_ack(&mut self, now: Instant, segment: &Segment) -> ProcessedAck {
        let ack = segment.ack;
        let stamped = self.config.timestamps && segment.ts_ecr != 0;
        let answered = stamped.then(|| sent_at(now, segment.ts_ecr));
        self.begin_ack(now, answered);
        let mut news = self.news_of(segment);
        if news.acked > 0 {
            let done = self.acknowledge(ack, &mut news);
            self.note_progress();
            self.take_acknowledged_rtt(now, ack, &done, self.is_timed_by_stamps(segment), &mut news);
        }
        self.take_window(segment);
        let reported = self.take_sacks(segment, &mut news);
        self.take_other_rtts(now, segment, &mut news);
        self.take_counters(segment, &mut news);
        self.count_duplicate(&news);
        if self.tail.probed.is_some() {
            let plain = news.acked == 0 && news.sacked == 0;
            self.on_probe_answer(ack, plain, reported.is_some());
        }
        ProcessedAck { news, answered, reported }
    }

    /// True if the SACKs of this ACK renew the timeout: if the segment that they acknowledge was
    /// sent before the last transmission of the oldest segment.
    pub fn sack_renews_timer(&self) -> bool {
        if self.config.timed_by_stamps {
            return false;
        }
        // SACKs of newer data would extend the timeout again and again while the oldest segment is
        // missing (Linux `tcp_clean_rtx_queue()`).
        let sacked = self.scoreboard.arrivals().first_sacked;
        sacked.is_some_and(|sacked| self.scoreboard.front_sent().is_some_and(|front| sacked < front))
    }

    /// Prepares the scoreboard for an ACK that answers a segment sent at `answered`. A
    /// retransmission sent later, or less than the least RTT ago, did not cause the ACK.
    fn begin_ack(&mut self, now: Instant, answered: Option<Instant>) {
        // Linux's timestamps are whole ticks, so any segment sent within the tick may be meant.
        let stamped =
            answered.map_or(Instant::MAX, |sent| Instant::from_nanos(ticks(sent) * TICK + TICK - 1));
        self.scoreboard.begin_ack(now - self.rtt.min_rtt(), stamped);
    }

    /// True if the timestamps of ACKs give all samples.
    fn is_timed_by_stamps(&self, segment: &Segment) -> bool {
        self.config.timed_by_stamps && self.config.timestamps && segment.ts_ecr != 0
    }

    /// Takes the samples that SACKs and timestamps give beside the cumulative ACK.
    #[inline]
    fn take_other_rtts(&mut self, now: Instant, segment: &Segment, news: &mut AckChanges) {
        let by_stamps = self.is_timed_by_stamps(segment);
        if !by_stamps {
            self.take_sacked_rtt(now, segment.ack, news);
        }
        let stamped = self.config.timestamps && segment.ts_ecr != 0;
        // Linux trusts its own clock more than an echoed timestamp. The timestamp serves where
        // segments that were sent again give no sample (`tcp_ack_update_rtt()`).
        if (news.rtt.is_none() || by_stamps) && news.acked > 0 && stamped {
            self.take_stamped_rtt(now, segment, news);
        }
    }

    /// Takes RTT samples from cumulatively acknowledged segments: of the first one for the timeout,
    /// unless timestamps give that; of the last one for all else.
    #[inline]
    fn take_acknowledged_rtt(
        &mut self,
        now: Instant,
        ack: u64,
        done: &Acknowledged,
        by_stamps: bool,
        news: &mut AckChanges,
    ) {
        if let (Some(first), Some(last)) = (done.first_sent, done.sent) {
            if !by_stamps {
                self.rtt.take_between(first, now, ack, self.snd_nxt);
            }
            news.rtt = Some(now.since(last));
        }
    }

    /// Takes the RTT of newly SACKed segments, where the cumulative ACK gave none.
    #[inline]
    fn take_sacked_rtt(&mut self, now: Instant, ack: u64, news: &mut AckChanges) {
        let arrivals = self.scoreboard.arrivals();
        if let (Some(first), Some(last)) = (arrivals.first_sacked, arrivals.last_sacked) {
            if news.rtt.is_none() {
                self.rtt.take_between(first, now, ack, self.snd_nxt);
            }
            news.rtt = Some(now.since(last));
        }
        if let Some(rtt) = news.rtt {
            self.rtt.note_least(rtt);
        }
    }

    /// Takes the RTT that the timestamps show, in whole milliseconds as Linux's clock has them (RFC
    /// 7323 §4.3).
    #[cold]
    fn take_stamped_rtt(&mut self, now: Instant, segment: &Segment, news: &mut AckChanges) {
        let rtt = ticks_since(now, segment.ts_ecr);
        self.rtt.take(rtt, segment.ack, self.snd_nxt);
        news.rtt.get_or_insert(rtt);
    }
}
