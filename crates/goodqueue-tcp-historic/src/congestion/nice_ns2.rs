//! TCP Nice on ns-2's Vegas, whose window is at least two segments.

use goodqueue::{Duration, Instant};
use goodqueue_tcp::Nice;
use goodqueue_tcp::congestion::parameter::Value;
use goodqueue_tcp::congestion::{
    About, Ack, Congestion, CongestionControl, Constant, Controller, Feedback, Pacing, Window,
};

/// Least window of ns-2's Vegas in segments (tcp-vegas.cc).
const LEAST_WINDOW: f64 = 2.0;

/// TCP Nice with the least window of ns-2's Vegas.
#[derive(Clone, Debug)]
pub struct NiceNs2(Nice);

impl Default for NiceNs2 {
    fn default() -> Self {
        Self(Nice::with_least_window(LEAST_WINDOW))
    }
}

impl CongestionControl for NiceNs2 {
    fn on_ack(&mut self, ack: &mut Ack, cwnd: u64) -> u64 {
        self.0.on_ack(ack, cwnd)
    }

    fn on_congestion(&mut self, event: &Congestion) -> u64 {
        self.0.on_congestion(event)
    }

    fn on_idle(&mut self, now: Instant, idle: Duration) {
        self.0.on_idle(now, idle);
    }

    fn on_feedback(&mut self, feedback: &Feedback, window: &mut Window) {
        self.0.on_feedback(feedback, window);
    }

    fn pacing(&self) -> Pacing {
        self.0.pacing()
    }
}

impl Controller for NiceNs2 {
    const ABOUT: About = About {
        name: "nice_ns2",
        variant_of: Some("nice"),
        summary: "Vegas that halves when half of a round's RTTs are long; two segments at least",
        reference: "Venkataramani, Kokku & Dahlin, OSDI 2002, on ns-2.35 tcp-vegas.cc",
        constants: &[Constant { name: "min window", value: "2 segments", source: "ns-2.35 tcp-vegas.cc" }],
        ..Nice::ABOUT
    };

    fn set(&mut self, parameter: &str, value: Value) {
        self.0.set(parameter, value);
    }
}
