//! The catalogue of time series. The exports, the means over seeds and the documentation iterate
//! over it.

use super::series::QueueSeries;
use crate::statistics::float;

/// A time series.
pub struct TimeSeries {
    /// Name in the JSON and in exports.
    pub name: &'static str,
    /// Unit; empty for a plain number.
    pub unit: &'static str,
    /// Meaning, for the documentation.
    pub doc: &'static str,
}

/// A time series of a queue.
pub struct QueueMetric {
    /// Name, unit and meaning.
    pub about: TimeSeries,
    /// One value for each step; `None` if the step has no value.
    pub of: fn(&QueueSeries) -> Vec<Option<f64>>,
}

/// The time series of the two queues of the bottleneck, in the order of the exports.
pub const QUEUES: [QueueMetric; 5] = [
    QueueMetric {
        about: TimeSeries {
            name: "sojourn_mean_s",
            unit: "s",
            doc: "mean sojourn time of the packets that left in the step; empty if none left",
        },
        of: |queue| queue.sojourn_mean_s.clone(),
    },
    QueueMetric {
        about: TimeSeries { name: "sojourn_max_s", unit: "s", doc: "longest sojourn time of these packets" },
        of: |queue| queue.sojourn_max_s.clone(),
    },
    QueueMetric {
        about: TimeSeries {
            name: "queue_packets",
            unit: "packets",
            doc: "packets queued at the end of the step",
        },
        of: |queue| present(&queue.queue_packets),
    },
    QueueMetric {
        about: TimeSeries { name: "throughput_bps", unit: "bit/s", doc: "bits sent per second" },
        of: |queue| present(&queue.throughput_bps),
    },
    QueueMetric {
        about: TimeSeries { name: "drops", unit: "packets", doc: "packets dropped in the step" },
        of: |queue| queue.drops.iter().map(|drops| Some(float(*drops))).collect(),
    },
];

/// Goodput of each TCP flow.
pub const GOODPUT: TimeSeries =
    TimeSeries { name: "goodput_bps", unit: "bit/s", doc: "goodput of a TCP flow in the step" };

/// Round-trip time of each ping.
pub const PING: TimeSeries = TimeSeries {
    name: "ping_s",
    unit: "s",
    doc: "round-trip time of a ping, at the time of its request; empty if the ping was lost",
};

/// Converts a series without gaps.
pub(crate) fn present(values: &[f64]) -> Vec<Option<f64>> {
    values.iter().copied().map(Some).collect()
}
