//! What a congestion control sees of a control interval.

use goodqueue::{Duration, Rate};
use goodqueue_sim::SenderView;
use serde::Serialize;

use crate::draw::seconds;
use crate::environment::{Channel, narrow};
use crate::reward::{HALVING_DELAY, squashed};

/// One control interval at the sender, in SI units.
#[derive(Clone, Copy, PartialEq, Default, Debug, Serialize)]
pub struct CongestionSeen {
    /// Smoothed RTT in seconds; 0 before the first sample.
    pub rtt: f64,
    /// Least smoothed RTT of the episode in seconds.
    pub rtt_min: f64,
    /// Payload delivered in order, in bits per second.
    pub rate: f64,
    /// Segments sent again as a share of the segments sent.
    pub lost: f64,
    /// Bytes in flight as a share of the window.
    pub in_flight: f64,
    /// Congestion window in segments.
    pub window: f64,
    /// Pacing rate in bits per second; 0 without pacing.
    pub pacing: f64,
}

/// The rate that an observation shows as 0.5, in bits per second.
const HALF_RATE: f64 = 10e6;
/// The window that an observation shows as 0.5, in segments.
const HALF_WINDOW: f64 = 100.0;
/// The least RTT that an observation shows as 0.5, in seconds.
const HALF_RTT: f64 = 0.1;

/// The channels of an observation.
pub(crate) const OBSERVED: &[Channel] = &[
    Channel { name: "delay", doc: "d / (d + 20 ms) of the smoothed RTT above its minimum" },
    Channel { name: "rtt_min", doc: "t / (t + 100 ms) of the least smoothed RTT" },
    Channel { name: "rate", doc: "r / (r + 10 Mbit/s) of the payload delivered in order" },
    Channel { name: "lost", doc: "segments sent again / segments sent" },
    Channel { name: "in_flight", doc: "bytes in flight / window, at most 1" },
    Channel { name: "window", doc: "w / (w + 100 segments) of the window" },
    Channel { name: "pacing", doc: "r / (r + 10 Mbit/s) of the pacing rate" },
];

/// The channels of a measurement.
pub(crate) const MEASURED: &[Channel] = &[
    Channel { name: "rtt", doc: "smoothed RTT, s" },
    Channel { name: "rtt_min", doc: "least smoothed RTT of the episode, s" },
    Channel { name: "rate", doc: "payload delivered in order, bit/s" },
    Channel { name: "lost", doc: "segments sent again / segments sent" },
    Channel { name: "in_flight", doc: "bytes in flight / window" },
    Channel { name: "window", doc: "congestion window, segments" },
    Channel { name: "pacing", doc: "pacing rate, bit/s; 0 without pacing" },
];

impl CongestionSeen {
    /// Compares two looks at a sender.
    #[expect(clippy::cast_precision_loss, reason = "counters of an interval are small")]
    pub(crate) fn from_view(
        now: &SenderView,
        before: &SenderView,
        interval: f64,
        least: Duration,
        mss: u64,
        pacing: f64,
    ) -> Self {
        let delivered = now.delivered.saturating_sub(before.delivered);
        let sent = now.sent.saturating_sub(before.sent);
        let lost = now.retransmits.saturating_sub(before.retransmits);
        Self {
            rtt: seconds(now.srtt),
            rtt_min: seconds(least),
            rate: delivered as f64 * 8.0 / interval,
            // Without a segment sent nothing was sent again.
            lost: lost as f64 / sent.max(1) as f64,
            in_flight: now.in_flight.unwrap_or(0) as f64 / now.cwnd.max(1) as f64,
            window: now.cwnd as f64 / mss.max(1) as f64,
            pacing,
        }
    }

    /// Returns all values, in the order of the fields.
    #[must_use]
    pub const fn values(&self) -> [f64; 7] {
        [self.rtt, self.rtt_min, self.rate, self.lost, self.in_flight, self.window, self.pacing]
    }

    /// Returns the share of a link that the flow used, and the delay that the reward counts: that
    /// above the true base round-trip time.
    #[expect(clippy::cast_precision_loss, reason = "rates are far below 2^53 bit/s")]
    pub(crate) fn rewarded(&self, link: Rate, base: Duration) -> (f64, f64) {
        (self.rate / (link.as_bps() as f64).max(1.0), (self.rtt - seconds(base)).max(0.0))
    }

    /// Writes the observation.
    pub(crate) fn observe(&self, observation: &mut [f32]) {
        // Every number of an observation is between 0 and 1 (`Environment::OBSERVED`).
        let numbers = [
            squashed((self.rtt - self.rtt_min).max(0.0), HALVING_DELAY),
            squashed(self.rtt_min, HALF_RTT),
            squashed(self.rate, HALF_RATE),
            self.lost.min(1.0),
            self.in_flight.min(1.0),
            squashed(self.window, HALF_WINDOW),
            squashed(self.pacing, HALF_RATE),
        ];
        for (place, number) in observation.iter_mut().zip(numbers) {
            *place = narrow(number);
        }
    }
}
