//! Throughput formulas, units and comparison.

use goodqueue::Duration;
use goodqueue_sim::wifi::phy::{self, Modulation};

#[allow(clippy::cast_precision_loss)]
pub(crate) fn mbits(packets: u64, millis: u64) -> f64 {
    packets as f64 * 1500.0 * 8.0 / millis as f64 / 1e3
}

#[allow(clippy::cast_precision_loss)]
pub(crate) fn micros(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / 1e3
}

#[allow(clippy::cast_precision_loss)]
pub(crate) fn fraction(part: u64, of: u64) -> f64 {
    part as f64 / of.max(1) as f64
}

pub(crate) fn close(value: f64, expected: f64, relative: f64, what: &str) {
    assert!((value / expected - 1.0).abs() <= relative, "{what}: {value}, expected {expected}");
}

/// Returns the throughput in Mbit/s by the formula of "Ending the Anomaly" §2.2.1, for aggregates
/// of `n` packets of 1500 bytes at `mbit` Mbit/s.
pub(crate) fn paper_formula(n: f64, mbit: f64) -> f64 {
    let subframe: f64 = 1500.0 + 4.0 + 34.0 + 4.0;
    let bytes = n * (subframe / 4.0).ceil() * 4.0;
    let data = 32.0 + 8.0 * bytes / mbit;
    // DIFS, SIFS, the answer of 58 bytes, and half of CWmin slots.
    let overhead = 34.0 + 16.0 + (32.0 + 8.0 * 58.0 / mbit) + 9.0 * 15.0 / 2.0;
    8.0 * n * 1500.0 / (data + overhead)
}

/// Returns the same throughput with the standard's airtimes, which the model uses.
pub(crate) fn standard_formula(n: u32, modulation: Modulation) -> f64 {
    let frame = phy::mpdu_bytes(1500);
    let bytes = if n == 1 { frame } else { n * phy::subframe_bytes(frame) };
    let time = 43.0 + 67.5 + micros(modulation.ppdu(bytes)) + 16.0 + micros(modulation.answer(n > 1));
    8.0 * f64::from(n) * 1500.0 / time
}
