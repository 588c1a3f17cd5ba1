//! How an ACK lets the window grow.

use goodqueue::{Duration, Instant};

use super::ack_changes::AckChanges;
use super::{Core, narrow};
use crate::config::Growth;
use crate::congestion::{Ack, CongestionControl, GrowthRule};
use crate::hystart::{HyStart, SlowStartAck, Verdict};

impl Core {
    /// The growth rule of the settings.
    #[inline]
    pub fn growth_rule(&self) -> GrowthRule {
        GrowthRule {
            whole: matches!(self.config.growth, Growth::Delivered | Growth::SlowStart),
            per_ack: matches!(self.config.growth, Growth::PerAck | Growth::SlowStart),
            late: false,
        }
    }

    /// The bytes that an ACK counts for growth.
    #[inline]
    pub fn counted(&self, news: &AckChanges) -> u64 {
        match self.config.growth {
            Growth::Abc | Growth::Delivered => news.acked,
            Growth::PerAck => self.mss,
            Growth::SlowStart => {
                // Slow start of Linux 3.13 to 3.19 ends one segment above the threshold.
                let room = self.ssthresh.saturating_add(self.mss).saturating_sub(self.cwnd);
                // Linux counts segments, also short ones.
                if room > 0 { self.whole(news.acked).min(room.max(self.mss)) } else { self.mss }
            }
        }
    }

    /// Lets the controller grow the window on an ACK that counts `acked` bytes.
    #[inline]
    pub fn grow(&mut self, now: Instant, news: &AckChanges, rule: GrowthRule, acked: u64, may_grow: bool) {
        // Stacks that grow late also continue slow start at the threshold itself (Linux up to
        // 3.19).
        let threshold = if rule.late { self.ssthresh.saturating_add(self.mss) } else { self.ssthresh };
        let mut event = Ack {
            now,
            acked,
            srtt: self.rtt.srtt().unwrap_or(Duration::ZERO),
            rtt: news.rtt,
            ssthresh: threshold,
            mss: narrow(self.mss),
            covered: news.acked,
            growth: rule,
            may_grow,
            ecn_echo: news.echo,
        };
        if self.config.hystart == HyStart::Rfc9406 {
            self.shape_slow_start(&mut event);
        }
        self.cwnd = self.controller.on_ack(&mut event, self.cwnd);
        // Only a changed threshold is taken over, since the event's may be a segment too high.
        if event.ssthresh != threshold {
            self.ssthresh = event.ssthresh;
        }
    }

    /// `HyStart++`, in the initial slow start only (RFC 9406 §4.2): until the first reduction of
    /// the window.
    fn shape_slow_start(&mut self, ack: &mut Ack) {
        if self.ssthresh != self.config.initial_ssthresh || self.cwnd >= self.ssthresh {
            return;
        }
        let Some(hystart) = &mut self.hystart else { return };
        let seen = SlowStartAck {
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
                // The bound of ABC does not apply: `HyStart++` has its own, of eight segments.
                ack.growth.whole = true;
            }
            Verdict::Leave => ack.ssthresh = self.cwnd,
        }
    }
}
