//! Times of a simulation in seconds.

use goodqueue_scenario::measure::float;

/// Nanoseconds in seconds.
pub(super) fn seconds(nanos: u64) -> f64 {
    float(nanos) / 1e9
}
