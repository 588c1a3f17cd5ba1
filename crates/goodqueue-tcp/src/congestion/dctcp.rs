//! DCTCP (RFC 8257): the window is cut in proportion to the share of marked bytes.

use crate::congestion::parameter::{Parameter, Value};
use crate::congestion::reno::Reno;
use crate::congestion::{
    About, Ack, Congestion, CongestionControl, Constant, Controller, Feedback, FeedbackTiming, Needs, Signal,
    Window,
};

/// Unit of α: Linux `DCTCP_MAX_ALPHA`.
const ONE: u64 = 1024;
/// Least window in segments.
const MIN_WINDOW: u64 = 2;

/// Data Center TCP. The receiver must echo marks accurately
/// ([`Config::suited_to`](crate::Config::suited_to)).
#[derive(Clone, Debug)]
pub struct Dctcp {
    reno: Reno,
    /// DCTCP.Alpha in 1024ths; 1 at the start (RFC 8257 §3.3).
    alpha: u64,
    /// Bytes acknowledged in this observation window, and those of them under a mark.
    acked: u64,
    marked: u64,
    /// Where the observation window ends.
    window_end: u64,
    /// g is 1 / 2 to the power of this.
    shift_g: u32,
}

impl Default for Dctcp {
    fn default() -> Self {
        Self { reno: Reno::default(), alpha: ONE, acked: 0, marked: 0, window_end: 0, shift_g: 4 }
    }
}

impl Dctcp {
    /// DCTCP.Alpha as a fraction.
    #[must_use]
    pub fn alpha(&self) -> f64 {
        self.alpha as f64 / ONE as f64
    }
}

impl CongestionControl for Dctcp {
    fn on_ack(&mut self, ack: &mut Ack, cwnd: u64) -> u64 {
        self.reno.on_ack(ack, cwnd)
    }

    fn on_congestion(&mut self, event: &Congestion) -> u64 {
        if event.signal != Signal::Ecn {
            return self.reno.on_congestion(event);
        }
        // A reduction forgets what was counted for growth (Linux `snd_cwnd_cnt`).
        self.reno.acked = 0;
        let mss = u64::from(event.mss).max(1);
        let cwnd = event.cwnd / mss;
        // Ten places for the unit of α, and one more for its half.
        (cwnd - ((cwnd * self.alpha) >> 11)).max(MIN_WINDOW) * mss
    }

    /// A loss halves the window independently of marks (RFC 8257 §3.5).
    fn on_loss_after_mark(&mut self, event: &Congestion) -> Option<u64> {
        Some(Reno::half(event))
    }

    fn on_feedback(&mut self, feedback: &Feedback, _window: &mut Window) {
        self.acked += feedback.delivered;
        self.marked += feedback.marked;
        if feedback.una >= self.window_end {
            // RFC 8257 §3.3 steps 5 to 9, with Linux's rounding: α always falls, and to 0.
            let decay = self.alpha >> self.shift_g;
            self.alpha -= if decay == 0 { self.alpha } else { decay };
            // The share in 1024ths, times g.
            let share = (self.marked << (10 - self.shift_g)) / self.acked.max(1);
            self.alpha = (self.alpha + share).min(ONE);
            self.acked = 0;
            self.marked = 0;
            self.window_end = feedback.next;
        }
    }
}

impl Controller for Dctcp {
    const ABOUT: About = About {
        name: "dctcp",
        summary: "cut by half of the smoothed share of bytes that were marked",
        reference: "RFC 8257",
        parameters: &[Parameter::count(
            "shift_g",
            4,
            [0, 10],
            "0 to 10",
            "RFC 8257 §4.2 (g = 1/16)",
            "weight of the last window in alpha: g is 1 / 2^shift_g",
        )],
        constants: &[Constant { name: "initial alpha", value: "1", source: "RFC 8257 §3.3" }],
        needs: Needs::AccurateEcn,
        feedback: FeedbackTiming::EveryAckFirst,
        ..About::PLAIN
    };

    fn set(&mut self, parameter: &str, value: Value) {
        let _ = parameter; // there is one
        self.shift_g = u32::try_from(value.as_count()).unwrap_or(0).min(10);
    }
}

#[cfg(test)]
mod tests {
    use goodqueue::Instant;

    use super::*;

    fn congestion(signal: Signal, segments: u64) -> Congestion {
        let cwnd = segments * 1448;
        Congestion { now: Instant::ZERO, signal, cwnd, in_flight: cwnd, mss: 1448, whole: true }
    }

    #[test]
    fn a_reduction_for_marks_begins_to_count_for_growth_anew() {
        let mut dctcp = Dctcp { alpha: 0, ..Dctcp::default() };
        dctcp.reno.acked = 9;
        assert_eq!(dctcp.on_congestion(&congestion(Signal::Ecn, 10)), 10 * 1448);
        assert_eq!(dctcp.reno.acked, 0);
    }

    #[test]
    fn a_loss_halves_the_window_also_while_it_is_being_reduced_for_marks() {
        let mut dctcp = Dctcp { alpha: 64, ..Dctcp::default() };
        // Half of alpha, which is 64 of 1024, is a segment of 32.
        assert_eq!(dctcp.on_congestion(&congestion(Signal::Ecn, 32)), 31 * 1448);
        assert_eq!(dctcp.on_loss_after_mark(&congestion(Signal::Loss, 31)), Some(15 * 1448));
    }
}
