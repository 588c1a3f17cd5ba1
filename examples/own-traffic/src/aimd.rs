//! `aimd`: a segment more per round trip, and a share of the window on congestion.

use goodqueue_tcp::CongestionControl;
use goodqueue_tcp::congestion::parameter::{Parameter, Value};
use goodqueue_tcp::congestion::{About, Ack, Congestion, Controller};

/// The share of the window that is left after congestion, in per cent.
#[derive(Clone, Debug)]
pub struct Aimd(u64);

impl Default for Aimd {
    fn default() -> Self {
        Self(50)
    }
}

impl CongestionControl for Aimd {
    fn on_ack(&mut self, ack: &mut Ack, cwnd: u64) -> u64 {
        match ack.may_grow {
            false => cwnd,
            true if cwnd < ack.ssthresh => ack.slow_start(cwnd),
            true => cwnd + (ack.acked * u64::from(ack.mss)).div_ceil(cwnd),
        }
    }

    fn on_congestion(&mut self, event: &Congestion) -> u64 {
        (event.in_flight * self.0 / 100).max(2 * u64::from(event.mss))
    }
}

const SHARE: &str = "share of the window that is left after congestion";

impl Controller for Aimd {
    const ABOUT: About = About {
        name: "aimd",
        summary: "one segment more per round trip, a share of the window on congestion",
        reference: "Chiu & Jain 1989",
        parameters: &[Parameter::count("percent", 50, [10, 90], "10 to 90", "Chiu & Jain 1989", SHARE)],
        ..About::PLAIN
    };

    fn set(&mut self, _parameter: &str, value: Value) {
        self.0 = value.as_count();
    }
}
