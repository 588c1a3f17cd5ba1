//! Units and bounds of BBR version 3.

use goodqueue::Duration;

/// No bound.
pub(super) const INFINITE: u64 = u64::MAX;

pub(super) fn seconds(span: Duration) -> f64 {
    span.as_nanos() as f64 * 1e-9
}
