//! NewReno: additive increase, halving (RFC 5681 §3.1).

use crate::congestion::{About, Ack, Congestion, CongestionControl, Constant, Controller};

/// Least slow-start threshold, in segments (RFC 5681 §3.1, equation 4).
const MIN_SSTHRESH: u64 = 2;

/// The standard congestion control of TCP. Its loss recovery is the sender's.
///
/// It has no parameters: RFC 5681 fixes growth and reduction.
#[derive(Clone, Debug, Default)]
pub struct NewReno {
    /// Bytes acknowledged in congestion avoidance since the window last grew.
    acked: u64,
}

impl CongestionControl for NewReno {
    #[inline]
    fn on_ack(&mut self, ack: &mut Ack, cwnd: u64) -> u64 {
        if !ack.may_grow {
            return cwnd;
        }
        if cwnd < ack.ssthresh {
            return ack.slow_start(cwnd);
        }
        // One segment per window of acknowledged bytes: the way that RFC 5681 §3.1 recommends.
        self.acked += ack.acked;
        if self.acked < cwnd {
            return cwnd;
        }
        self.acked -= cwnd;
        cwnd.saturating_add(u64::from(ack.mss))
    }

    fn on_congestion(&mut self, event: &Congestion) -> u64 {
        self.acked = 0;
        // RFC 5681 §3.1, equation 4: at least two segments.
        event.rounded(event.basis() / 2).max(MIN_SSTHRESH * u64::from(event.mss))
    }
}

impl Controller for NewReno {
    const ABOUT: About = About {
        name: "newreno",
        summary: "one segment more per round trip, half the window on congestion",
        reference: "RFC 5681, RFC 6582",
        constants: &[
            Constant { name: "increase", value: "1 segment per RTT", source: "RFC 5681 §3.1" },
            Constant { name: "decrease", value: "0.5", source: "RFC 5681 §3.1" },
        ],
        standard_slow_start: true,
        ..About::PLAIN
    };
}
