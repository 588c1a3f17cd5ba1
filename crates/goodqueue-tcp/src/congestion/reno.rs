//! Reno as stacks that count segments have it: a segment more per window of acknowledged segments,
//! half of it on congestion.

use crate::congestion::{About, Ack, Congestion, CongestionControl, Constant, Controller};

/// Least slow-start threshold, in segments (RFC 5681 §3.1, equation 4).
const MIN_SSTHRESH: u64 = 2;

/// Reno that counts whole segments. [`NewReno`](crate::NewReno) counts bytes; the recovery of both
/// is the sender's.
///
/// It has no parameters: RFC 5681 fixes growth and reduction.
#[derive(Clone, Debug, Default)]
pub struct Reno {
    /// Segments acknowledged in congestion avoidance since the window last grew.
    pub(crate) acked: u64,
}

impl Reno {
    /// Growth by one segment for each `per` acknowledged; all in segments.
    pub(crate) fn additive(&mut self, segments: u64, per: u64, acked: u64) -> u64 {
        let mut grown = segments;
        let per = per.max(1);
        // Credit from the time of a larger window is spent gently, a segment at once (Linux
        // `tcp_cong_avoid_ai()`).
        if self.acked >= per {
            self.acked = 0;
            grown += 1;
        }
        self.acked += acked;
        let steps = self.acked / per;
        self.acked -= steps * per;
        grown + steps
    }

    /// Growth by one with the ACK after as many as the window has segments (Linux up to 3.19).
    fn additive_late(&mut self, segments: u64) -> u64 {
        if self.acked >= segments {
            self.acked = 0;
            return segments + 1;
        }
        self.acked += 1;
        segments
    }

    /// The usual growth; returns the new window in bytes.
    pub(crate) fn grow(&mut self, ack: &Ack, cwnd: u64) -> u64 {
        // `Config::check` refuses an MSS of 0, but no division may depend on it.
        let mss = u64::from(ack.mss).max(1);
        let mut acked = ack.acked;
        let mut cwnd = cwnd;
        if cwnd < ack.ssthresh {
            let grown = ack.slow_start(cwnd).min(ack.ssthresh);
            acked = if ack.growth.whole { acked.saturating_sub(grown - cwnd) } else { 0 };
            cwnd = grown;
            if acked == 0 {
                return cwnd;
            }
        }
        let segments = (cwnd / mss).max(1);
        let grown = if ack.growth.late {
            self.additive_late(segments)
        } else {
            self.additive(segments, segments, acked.div_ceil(mss))
        };
        cwnd.saturating_add((grown - segments) * mss)
    }

    /// Half of the window, two segments at least.
    pub(crate) fn half(event: &Congestion) -> u64 {
        let mss = u64::from(event.mss).max(1);
        // RFC 5681 §3.1, equation 4: at least two segments.
        (event.basis() / mss / 2).max(MIN_SSTHRESH) * mss
    }
}

impl CongestionControl for Reno {
    #[inline]
    fn on_ack(&mut self, ack: &mut Ack, cwnd: u64) -> u64 {
        if ack.may_grow { self.grow(ack, cwnd) } else { cwnd }
    }

    fn on_congestion(&mut self, event: &Congestion) -> u64 {
        self.acked = 0;
        Self::half(event)
    }
}

impl Controller for Reno {
    const ABOUT: About = About {
        name: "reno",
        summary: "one segment more per window of segments acknowledged, half the window on congestion",
        reference: "RFC 5681; Linux 6.1 tcp_cong",
        constants: &[
            Constant { name: "increase", value: "1 segment per window", source: "RFC 5681 §3.1" },
            Constant { name: "decrease", value: "0.5", source: "RFC 5681 §3.1" },
        ],
        standard_slow_start: true,
        ..About::PLAIN
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_of_ten_grows_by_one_per_ten_acknowledged() {
        let mut reno = Reno::default();
        let mut window = 10;
        for _ in 0..9 {
            window = reno.additive(window, window, 1);
        }
        assert_eq!(window, 10);
        assert_eq!(reno.additive(window, window, 1), 11);
        assert_eq!(reno.additive(11, 11, 25), 13);
    }
}
