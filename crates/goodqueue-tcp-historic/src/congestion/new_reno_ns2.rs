//! `NewReno` as ns-2 computes it: each ACK adds the window's inverse, and fractions of a segment
//! are kept.

use goodqueue::{Duration, Instant};

use goodqueue_tcp::congestion::parameter::{Parameter, Value};
use goodqueue_tcp::congestion::whole::whole;
use goodqueue_tcp::congestion::{About, Ack, Congestion, CongestionControl, Controller, Signal};

/// The window of ns-2's TCP agents (`opencwnd` and `slowdown` of tcp.cc with `windowOption_` 1).
/// Unlike [`NewReno`](goodqueue_tcp::NewReno), the window grows with each ACK, independent of the
/// bytes that the ACK covers, and congestion halves the window and not the bytes in flight. ns-2's
/// window is a double-precision number of segments, so the fraction of a byte counts, through
/// halvings too.
#[derive(Clone, Debug)]
pub struct NewRenoNs2 {
    /// Growth per window in thousandths of a segment.
    increase: u64,
    /// Thousandths of the window that congestion leaves.
    decrease: u64,
    /// What the window lacks of the exact value, in 2^-32 bytes.
    remainder: u64,
}

/// Places of the binary fraction.
const PLACES: u32 = 32;
/// Unit of the two parameters.
const THOUSAND: u64 = 1000;

impl Default for NewRenoNs2 {
    fn default() -> Self {
        Self { increase: THOUSAND, decrease: THOUSAND / 2, remainder: 0 }
    }
}

impl NewRenoNs2 {
    /// The window in 2^-32 bytes.
    fn exact(&self, cwnd: u64) -> u128 {
        (u128::from(cwnd) << PLACES) | u128::from(self.remainder)
    }

    /// The whole bytes of it; the rest is remembered.
    fn split(&mut self, exact: u128) -> u64 {
        self.remainder = u64::try_from(exact & ((1 << PLACES) - 1)).unwrap_or(0);
        u64::try_from(exact >> PLACES).unwrap_or(u64::MAX)
    }
}

impl CongestionControl for NewRenoNs2 {
    #[inline]
    fn on_ack(&mut self, ack: &mut Ack, cwnd: u64) -> u64 {
        if !ack.may_grow {
            return cwnd;
        }
        let mss = u64::from(ack.mss);
        // At the threshold itself ns-2 avoids congestion (`opencwnd`).
        if cwnd < ack.ssthresh {
            return cwnd.saturating_add(mss);
        }
        let exact = self.exact(cwnd);
        // A segment's share of the window; the division takes one of the two factors of 2^32 away.
        let square = u128::from(mss * mss * self.increase) << (2 * PLACES);
        self.split(exact.saturating_add(square / exact.max(1) / u128::from(THOUSAND)))
    }

    fn on_congestion(&mut self, event: &Congestion) -> u64 {
        let left = self.exact(event.cwnd).saturating_mul(self.decrease.into()) / u128::from(THOUSAND);
        let window = self.split(left);
        if event.signal == Signal::Timeout {
            self.remainder = 0; // the window will be one segment
        }
        window
    }

    fn on_idle(&mut self, _now: Instant, _idle: Duration) {
        // The window restarts at whole segments.
        self.remainder = 0;
    }
}

impl Controller for NewRenoNs2 {
    const ABOUT: About = About {
        name: "newreno_ns2",
        variant_of: Some("newreno"),
        summary: "a segment per ACK in slow start, 1/window per ACK after it, half the window on congestion",
        reference: "ns-2.35 tcp.cc",
        parameters: &[
            Parameter::number(
                "increase_num",
                1.0,
                [0.001, 1000.0],
                "0.001 to 1000",
                "ns-2.35 ns-default.tcl, increase_num_",
                "segments by which the window grows per window acknowledged, in thousandths",
            ),
            Parameter::number(
                "decrease_num",
                0.5,
                [0.001, 0.999],
                "0.001 to 0.999",
                "ns-2.35 ns-default.tcl, decrease_num_",
                "share of the window that is left after congestion, in thousandths",
            ),
        ],
        ..About::PLAIN
    };

    fn set(&mut self, parameter: &str, value: Value) {
        // A share such as 0.29 has no exact binary form, so cutting could lose a thousandth.
        let thousandths = whole(libm::round(value.as_number() * THOUSAND as f64));
        match parameter {
            "increase_num" => self.increase = thousandths,
            "decrease_num" => self.decrease = thousandths,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use goodqueue_tcp::congestion::GrowthRule;

    use super::*;

    #[test]
    fn a_window_of_27_and_a_half_takes_14_acks_to_be_28() {
        let mut reno = NewRenoNs2::default();
        let mut cwnd = 27 * 1460 + 730;
        let mut acks = 0;
        while cwnd < 28 * 1460 {
            let mut ack = Ack {
                now: Instant::ZERO,
                acked: 2920,
                srtt: Duration::ZERO,
                rtt: None,
                ssthresh: 27 * 1460,
                mss: 1460,
                covered: 0,
                growth: GrowthRule::ABC,
                may_grow: true,
                ecn_echo: false,
            };
            cwnd = reno.on_ack(&mut ack, cwnd);
            acks += 1;
        }
        // Each adds a segment over the window: 13 bring at most 13 / 27.5, which is less than half.
        assert_eq!(acks, 14);
    }
}
