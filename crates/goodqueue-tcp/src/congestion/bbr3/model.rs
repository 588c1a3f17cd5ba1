//! The measurements: rounds, bandwidth, aggregation, and what the last round delivered.

use goodqueue::Instant;

use super::least_rtt::ProbeRtt;
use super::units::seconds;
use crate::congestion::Feedback;
use crate::congestion::max_filter::MaxFilter;
use crate::congestion::whole::whole;

/// Rounds over which the most aggregation counts after `Startup` (`ExtraAckedFilterLen`, §2.11).
const EXTRA_ACKED_ROUNDS: u64 = 10;

/// The rate sample of an ACK (`RS`, §2.3).
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// Zero if the ACK gives no usable rate.
    pub(super) delivery_rate: f64,
    pub(super) delivered: u64,
    pub(super) prior_delivered: u64,
    /// Bytes delivered in all.
    pub(super) total: u64,
    pub(super) newly_acked: u64,
    pub(super) tx_in_flight: u64,
    pub(super) lost: u64,
    pub(super) app_limited: bool,
}

impl Sample {
    /// `None` if the ACK delivered nothing.
    pub(super) fn from_feedback(feedback: &Feedback, rtt: &ProbeRtt) -> Option<Self> {
        let rate = feedback.rate?;
        // An ACK sooner than the least RTT says nothing of what was sent once (§4.1.2.3).
        let usable = rate.interval >= feedback.min_rtt && !rate.interval.is_zero();
        Some(Self {
            delivery_rate: if usable { rate.delivered as f64 / seconds(rate.interval) } else { 0.0 },
            delivered: rate.delivered,
            prior_delivered: rate.prior_delivered,
            total: rate.total,
            newly_acked: feedback.delivered,
            tx_in_flight: rate.tx_in_flight,
            lost: rate.lost_since,
            app_limited: rate.app_limited || rtt.limited(rate.prior_delivered),
        })
    }

    /// More than `thresh` of what was in flight was lost (`IsInflightTooHigh`).
    pub(super) fn is_inflight_too_high(&self, thresh: f64) -> bool {
        self.lost as f64 > self.tx_in_flight as f64 * thresh
    }
}

/// The state of the measurements.
#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    /// Bytes delivered in all.
    delivered: u64,
    round: u64,
    round_start: bool,
    next_round_delivered: u64,
    /// The most of the last cycle and of this one.
    max_bw: [f64; 2],
    bw: f64,
    bw_latest: f64,
    inflight_latest: u64,
    loss_round_delivered: u64,
    loss_round_start: bool,
    extra_acked_since: Instant,
    extra_acked_delivered: u64,
    extra_acked: MaxFilter<f64>,
    /// The window was full in this round, and in the last one.
    full_window: [bool; 2],
}

impl Model {
    pub(super) fn delivered(&self) -> u64 {
        self.delivered
    }

    pub(super) fn round(&self) -> u64 {
        self.round
    }

    pub(super) fn round_start(&self) -> bool {
        self.round_start
    }

    /// A round of losses ends with this ACK.
    pub(super) fn loss_round_start(&self) -> bool {
        self.loss_round_start
    }

    /// The most bandwidth of the last two cycles.
    pub(super) fn max_bw(&self) -> f64 {
        self.max_bw[0].max(self.max_bw[1])
    }

    /// The bandwidth to send at.
    pub(super) fn bw(&self) -> f64 {
        self.bw
    }

    pub(super) fn bw_latest(&self) -> f64 {
        self.bw_latest
    }

    pub(super) fn inflight_latest(&self) -> u64 {
        self.inflight_latest
    }

    pub(super) fn extra_acked(&self) -> u64 {
        whole(self.extra_acked.value())
    }

    /// The window was full at some time in the last round trip (`C.is_cwnd_limited`, §2.2).
    pub(super) fn is_cwnd_limited(&self) -> bool {
        self.full_window[0] || self.full_window[1]
    }

    pub(super) fn note_window(&mut self, full: bool) {
        self.full_window[1] |= full;
    }

    /// A round begins with what is sent from now on (`StartRound`).
    pub(super) fn start_round(&mut self) {
        self.next_round_delivered = self.delivered;
    }

    /// The first loss of a round: the round lasts until what is sent now is delivered.
    pub(super) fn start_loss_round(&mut self) {
        self.loss_round_delivered = self.delivered;
    }

    pub(super) fn reset_latest(&mut self) {
        self.bw_latest = 0.0;
        self.inflight_latest = 0;
    }

    /// `UpdateLatestDeliverySignals`
    pub(super) fn take_latest(&mut self, sample: &Sample) {
        self.delivered = sample.total;
        self.loss_round_start = false;
        self.bw_latest = self.bw_latest.max(sample.delivery_rate);
        self.inflight_latest = self.inflight_latest.max(sample.delivered);
        if sample.prior_delivered >= self.loss_round_delivered {
            self.loss_round_delivered = self.delivered;
            self.loss_round_start = true;
        }
    }

    /// `AdvanceLatestDeliverySignals`
    pub(super) fn advance_latest(&mut self, sample: &Sample) {
        if self.loss_round_start {
            self.bw_latest = sample.delivery_rate;
            self.inflight_latest = sample.delivered;
        }
    }

    /// `UpdateMaxBw`. Returns whether a round begins.
    pub(super) fn take_bw(&mut self, sample: &Sample) -> bool {
        self.round_start = sample.prior_delivered >= self.next_round_delivered;
        if self.round_start {
            self.start_round();
            self.round += 1;
            self.full_window = [self.full_window[1], false];
        }
        // A sample that the application limited can be too small, but not too large.
        if sample.delivery_rate > 0.0 && (sample.delivery_rate >= self.max_bw() || !sample.app_limited) {
            self.max_bw[1] = self.max_bw[1].max(sample.delivery_rate);
        }
        self.round_start
    }

    /// A cycle ends: what came before it is forgotten, unless it brought no sample
    /// (`AdvanceMaxBwFilter`).
    pub(super) fn advance_max_bw(&mut self) {
        if self.max_bw[1] > 0.0 {
            self.max_bw = [self.max_bw[1], 0.0];
        }
    }

    /// `BoundBWForModel`
    pub(super) fn bound_bw(&mut self, bw_shortterm: f64) {
        self.bw = self.max_bw().min(bw_shortterm);
    }

    pub(super) fn restart_aggregation(&mut self, now: Instant) {
        self.extra_acked_since = now;
    }

    /// How much more than the bandwidth brings is acknowledged at times (`UpdateACKAggregation`).
    pub(super) fn take_aggregation(
        &mut self,
        now: Instant,
        sample: &Sample,
        cwnd: u64,
        full_bw_reached: bool,
    ) {
        let mut expected = whole(self.bw * seconds(now.since(self.extra_acked_since)));
        // As long as no more comes than the bandwidth brings, nothing was held back.
        if self.extra_acked_delivered <= expected {
            self.extra_acked_delivered = 0;
            self.extra_acked_since = now;
            expected = 0;
        }
        self.extra_acked_delivered += sample.newly_acked;
        // More than the window cannot have been held back.
        let extra = (self.extra_acked_delivered - expected).min(cwnd);
        let rounds = if full_bw_reached { EXTRA_ACKED_ROUNDS } else { 1 };
        self.extra_acked.take(self.round, extra as f64, rounds);
    }
}
