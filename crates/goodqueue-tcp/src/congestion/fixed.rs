//! A window and a pacing rate that somebody else decides: constants of a scenario, or the actions
//! of an agent that changes them while the connection runs
//! ([`Sender::set_parameter`](crate::Sender::set_parameter)).

use crate::congestion::parameter::{Parameter, Value};
use crate::congestion::{
    About, Ack, Congestion, CongestionControl, Constant, Controller, Feedback, FeedbackTiming, Pacing, Window,
};

/// Initial window of RFC 6928 §2 in segments.
const WINDOW: u64 = 10;
/// Greatest window in segments: far above what a receiver can offer.
const MOST_WINDOW: u64 = 1_000_000;
/// Greatest pacing rate: 1 Tbit/s.
const MOST_RATE: u64 = 1_000_000_000_000;

/// A window that neither grows nor shrinks by itself.
///
/// Losses and marks are repaired and echoed as always, but reduce nothing. After a retransmission
/// timeout the window is one segment until the next ACK. A change of the window takes effect with
/// the next ACK, a change of the rate with the next segment.
#[derive(Clone, Debug)]
pub struct Fixed {
    /// Window in segments.
    window: u64,
    /// Pacing rate in bits per second; 0: segments leave as soon as the window allows.
    rate: u64,
}

impl Default for Fixed {
    fn default() -> Self {
        Self { window: WINDOW, rate: 0 }
    }
}

impl CongestionControl for Fixed {
    fn on_ack(&mut self, _ack: &mut Ack, cwnd: u64) -> u64 {
        cwnd
    }

    fn on_congestion(&mut self, event: &Congestion) -> u64 {
        event.cwnd
    }

    fn on_feedback(&mut self, feedback: &Feedback, window: &mut Window) {
        window.cwnd = self.window.saturating_mul(u64::from(feedback.mss));
    }

    fn pacing(&self) -> Pacing {
        Pacing { rate: (self.rate > 0).then_some(self.rate / 8), ..Pacing::UNPACED }
    }
}

impl Controller for Fixed {
    const ABOUT: About = About {
        name: "fixed",
        summary: "a constant window and pacing rate; an agent may change both",
        reference: "none: the window is the user's or an agent's",
        parameters: &[
            Parameter::count(
                "window",
                WINDOW,
                [1, MOST_WINDOW],
                "1 to 1000000",
                "RFC 6928 §2",
                "congestion window in segments",
            ),
            Parameter::count(
                "rate",
                0,
                [0, MOST_RATE],
                "0 to 1000000000000",
                "none: segments are not paced",
                "pacing rate in bits per second; 0 for none",
            ),
        ],
        constants: &[Constant { name: "decrease", value: "none", source: "this file" }],
        feedback: FeedbackTiming::EveryAck,
        controls_all: true,
        ..About::PLAIN
    };

    fn set(&mut self, parameter: &str, value: Value) {
        match parameter {
            // A window of 0 would let nothing leave.
            "window" => self.window = value.as_count().max(1),
            "rate" => self.rate = value.as_count(),
            _ => {}
        }
    }
}
