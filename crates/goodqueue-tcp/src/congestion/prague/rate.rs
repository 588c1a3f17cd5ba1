//! Where the window has few segments, a rate takes its place: half a segment more or less would
//! be much, and packets leave one by one (`prague_cwnd_mode` 2).

use goodqueue::Duration;

/// Up to this number of full packets the rate decides (`prague_cwnd_transit`).
const SMALL_WINDOW: f64 = 4.0;
/// The packet of which `SMALL_WINDOW` and the growth are multiples (`MTU_SYS`).
const PACKET: f64 = 1500.0;
/// The rate is above its average in the first half of a round trip and below it in the second
/// half, by this share (`RATE_OFFSET`). So a step threshold marks a part of each round trip.
const SWING: f64 = 4.0 / 128.0;
/// Least rate in bytes per second: 100 kbit/s (`MINIMUM_RATE`).
pub(super) const MIN_RATE: f64 = 12_500.0;
/// A second, where Linux divides by 2^20 microseconds (`RTT2SEC_SHIFT`).
const SECOND: f64 = 1.048_576;
/// A round trip counts this share of the average (`HSRTT_SHIFT`).
const ROUND: f64 = 1.0 / 128.0;

/// The rate, whether it decides or follows the window.
#[derive(Clone, Debug)]
pub(super) struct PacedRate {
    /// Bytes per second, with headers.
    pub(super) bytes: f64,
    /// The rate decides.
    pub(super) decides: bool,
    /// Round-trip time, averaged over many of them, in seconds; 0 before the first.
    average_rtt: f64,
}

impl Default for PacedRate {
    fn default() -> Self {
        Self { bytes: MIN_RATE, decides: false, average_rtt: 0.0 }
    }
}

impl PacedRate {
    /// Grows by a packet per round trip of `rtt`, for `packets` that were not marked.
    pub(super) fn grow(&mut self, packets: f64, rtt: Duration, packet: f64) {
        let rtt = seconds(rtt);
        let window = libm::ceil(self.bytes * rtt / SECOND / packet).max(1.0);
        self.bytes += packets * PACKET * SECOND / rtt / window;
    }

    /// Falls by `share`.
    pub(super) fn cut(&mut self, share: f64) {
        self.bytes = (self.bytes * (1.0 - share)).max(MIN_RATE);
    }

    /// Returns the packets of a round trip.
    pub(super) fn window(&self, packet: f64) -> f64 {
        self.bytes * self.average_rtt / SECOND / packet
    }

    /// Follows a window of `packets`.
    pub(super) fn follow(&mut self, packets: f64, srtt: Duration, packet: f64) {
        self.bytes = (packets * packet / seconds(srtt)).max(MIN_RATE);
    }

    /// A round trip is over.
    pub(super) fn end_round(&mut self, srtt: Duration) {
        self.average_rtt += (seconds(srtt) - self.average_rtt) * ROUND;
    }

    /// The first round-trip time is the first average.
    pub(super) fn start(&mut self, srtt: Duration) {
        if self.average_rtt == 0.0 {
            self.average_rtt = seconds(srtt);
        }
    }

    /// Returns the rate at which packets leave in a half of a round trip.
    pub(super) fn of_half(&self, is_first: bool) -> f64 {
        self.bytes * if is_first { 1.0 + SWING } else { 1.0 - SWING }
    }
}

/// Returns whether the rate takes the place of a window whose packets have `bytes` in all, with
/// headers.
pub(super) fn is_small(bytes: f64) -> bool {
    bytes <= SMALL_WINDOW * PACKET
}

fn seconds(time: Duration) -> f64 {
    time.as_nanos() as f64 * 1e-9
}
