//! `NewReno` as ns-2 computes it: each ACK adds the window's inverse, and fractions of a segment
//! are kept.

use goodqueue::{Duration, Instant};

use crate::congestion::{About, Ack, Congestion, CongestionControl, Constant, Controller, Signal};

/// The window of ns-2's TCP agents (`opencwnd` and `slowdown` of tcp.cc with `windowOption_` 1).
/// Other than [`NewReno`](crate::NewReno) it grows by each ACK, whatever that covers, and halves
/// itself, not what is in flight. ns-2's window is a double-precision number of segments, so the
/// fraction of a byte counts, through halvings too.
#[derive(Clone, Debug, Default)]
pub struct NewRenoNs2 {
    /// What the window lacks of the exact value, in 2^-32 bytes.
    remainder: u64,
}

/// Places of the binary fraction.
const PLACES: u32 = 32;

impl NewRenoNs2 {
    /// What it is.
    pub const ABOUT: About = About {
        name: "newreno_ns2",
        summary: "a segment per ACK in slow start, 1/window per ACK after it, half the window on congestion",
        reference: "ns-2.35 tcp.cc",
        constants: &[
            Constant { name: "increase_num_", value: "1 segment", source: "ns-2.35 ns-default.tcl" },
            Constant { name: "decrease_num_", value: "0.5", source: "ns-2.35 ns-default.tcl" },
        ],
        ..About::PLAIN
    };
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
    fn about(&self) -> &'static About {
        &Self::ABOUT
    }

    #[inline]
    fn on_ack(&mut self, ack: &mut Ack, cwnd: u64) -> u64 {
        if !ack.may_grow {
            return cwnd;
        }
        let mss = u64::from(ack.mss);
        if cwnd < ack.ssthresh {
            return cwnd.saturating_add(mss);
        }
        let exact = self.exact(cwnd);
        let square = u128::from(mss * mss) << (2 * PLACES);
        self.split(exact.saturating_add(square / exact.max(1)))
    }

    fn on_congestion(&mut self, event: &Congestion) -> u64 {
        let half = self.exact(event.cwnd) / 2;
        let whole = self.split(half);
        if event.signal == Signal::Timeout {
            self.remainder = 0; // the window will be one segment
        }
        whole
    }

    fn on_idle(&mut self, _now: Instant, _idle: Duration) {
        self.remainder = 0;
    }
}

impl Controller for NewRenoNs2 {}

#[cfg(test)]
mod tests {
    use crate::congestion::GrowthRule;

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
        assert_eq!(acks, 14);
    }
}
