//! What an AQM agent sees of a control interval.

use goodqueue::Rate;
use goodqueue_sim::QueueStep;
use serde::Serialize;

use crate::environment::{Channel, narrow};
use crate::reward::{HALVING_DELAY, squashed};

/// One control interval at the queue, in SI units.
#[derive(Clone, Copy, PartialEq, Default, Debug, Serialize)]
pub struct AqmSeen {
    /// Time that the link needs for the bytes queued at the end of the interval, in seconds.
    pub backlog: f64,
    /// Mean sojourn time of the packets that left, in seconds; 0 if none left.
    pub sojourn: f64,
    /// Longest sojourn time of the packets that left, in seconds.
    pub sojourn_max: f64,
    /// Sent bits as a share of the bits that the link could have sent.
    pub utilization: f64,
    /// Bits that arrived as a share of the bits that the link could have sent; may exceed 1.
    pub arrived: f64,
    /// Dropped packets as a share of the packets that arrived; may exceed 1.
    pub dropped: f64,
    /// Marked packets as a share of the packets that arrived; may exceed 1.
    pub marked: f64,
    /// Sent bits per second.
    pub rate: f64,
    /// The probability, or CoDel's target in seconds, that was in force.
    pub setting: f64,
}

/// The rate that an observation shows as 0.5, in bits per second.
const HALF_RATE: f64 = 10e6;

/// The channels of an observation and of a measurement.
pub(crate) const OBSERVED: &[Channel] = &[
    Channel { name: "backlog", doc: "d / (d + 20 ms) of the time to send the backlog" },
    Channel { name: "sojourn", doc: "d / (d + 20 ms) of the mean sojourn time" },
    Channel { name: "sojourn_max", doc: "d / (d + 20 ms) of the longest sojourn time" },
    Channel { name: "utilization", doc: "sent bits / bits that the link could have sent" },
    Channel { name: "arrived", doc: "a / (a + 1) of the bits that arrived / bits that the link could send" },
    Channel { name: "dropped", doc: "dropped packets / packets that arrived, at most 1" },
    Channel { name: "marked", doc: "marked packets / packets that arrived, at most 1" },
    Channel { name: "rate", doc: "r / (r + 10 Mbit/s) of the rate at which the link sent" },
    Channel { name: "action", doc: "the action in force" },
];

/// The channels of a measurement.
pub(crate) const MEASURED: &[Channel] = &[
    Channel { name: "backlog", doc: "time to send the backlog, s" },
    Channel { name: "sojourn", doc: "mean sojourn time of the packets that left, s" },
    Channel { name: "sojourn_max", doc: "longest sojourn time of the packets that left, s" },
    Channel { name: "utilization", doc: "sent bits / bits that the link could have sent" },
    Channel { name: "arrived", doc: "bits that arrived / bits that the link could have sent" },
    Channel { name: "dropped", doc: "dropped packets / packets that arrived" },
    Channel { name: "marked", doc: "marked packets / packets that arrived" },
    Channel { name: "rate", doc: "rate at which the link sent, bit/s" },
    Channel { name: "setting", doc: "probability, or CoDel's target in s, that was in force" },
];

impl AqmSeen {
    /// Reads a step of the queue in front of a link with this rate.
    #[expect(clippy::cast_precision_loss, reason = "counters of an interval are small")]
    pub(crate) fn from_step(step: &QueueStep, link: Rate, interval: f64, setting: f64) -> Self {
        // A rate of 0 must not make infinite values, from which no agent could learn.
        let rate = (link.as_bps() as f64).max(1.0);
        // Packets that arrived earlier can be dropped in an interval without arrivals.
        let share = |part: u64, whole: u64| if whole > 0 { part as f64 / whole as f64 } else { part as f64 };
        let sent = step.bin.sent.bits();
        let capacity = step.capacity.bits().max(1.0);
        // Without packets the sum of their sojourn times is 0, and so is the mean.
        // Without packets the sums are 0, so their means are 0 as well.
        let packets = step.bin.packets.max(1) as f64;
        Self {
            backlog: step.backlog as f64 * 8.0 / rate,
            sojourn: step.bin.sojourn_sum as f64 / packets / 1e9,
            sojourn_max: step.bin.sojourn_max.as_nanos() as f64 / 1e9,
            utilization: sent / capacity,
            arrived: step.offered.bytes as f64 * 8.0 / capacity,
            dropped: share(step.dropped.packets, step.offered.packets),
            marked: share(step.marked.packets, step.offered.packets),
            rate: sent / interval,
            setting,
        }
    }

    /// Returns all values, in the order of the fields.
    #[must_use]
    pub const fn values(&self) -> [f64; 9] {
        [
            self.backlog,
            self.sojourn,
            self.sojourn_max,
            self.utilization,
            self.arrived,
            self.dropped,
            self.marked,
            self.rate,
            self.setting,
        ]
    }

    /// Writes the observation after an `action`.
    pub(crate) fn observe(&self, action: f64, observation: &mut [f32]) {
        // Every number of an observation is between 0 and 1 (`Environment::OBSERVED`).
        let numbers = [
            squashed(self.backlog, HALVING_DELAY),
            squashed(self.sojourn, HALVING_DELAY),
            squashed(self.sojourn_max, HALVING_DELAY),
            self.utilization.min(1.0),
            squashed(self.arrived, 1.0),
            self.dropped.min(1.0),
            self.marked.min(1.0),
            squashed(self.rate, HALF_RATE),
            action,
        ];
        for (place, number) in observation.iter_mut().zip(numbers) {
            *place = narrow(number);
        }
    }
}
