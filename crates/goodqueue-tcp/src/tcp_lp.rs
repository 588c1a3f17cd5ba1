//! TCP-LP (Kuzmanovic & Knightly 2003) as Linux has it: Reno that backs off when one-way delays rise.

use goodqueue::{Duration, Instant};

use crate::congestion::{Ack, Congestion, CongestionControl, Feedback, Window};
use crate::registry::{About, Constant, Needs};
use crate::reno::Reno;

/// δ: share of the way from the least to the greatest delay beyond which congestion is near, in hundredths.
const DELTA: u64 = 15;
/// The inference phase lasts so many round trips.
const INFERENCE: u64 = 3;

/// TCP Low Priority. Delays are in milliseconds, as Linux has them.
#[derive(Clone, Debug, Default)]
pub struct TcpLp {
    reno: Reno,
    /// Smoothed one-way delay, times eight.
    smoothed: u64,
    least: Option<u64>,
    most: u64,
    /// A greater one that is not believed yet.
    reserve: u64,
    inference: Duration,
    last_drop: Option<Instant>,
    infers: bool,
}

impl TcpLp {
    /// What it is.
    pub const ABOUT: About = About {
        name: "tcp_lp",
        summary: "Reno that halves when the one-way delay rises, and then waits",
        reference: "Kuzmanovic & Knightly, INFOCOM 2003; Linux 6.1 tcp_lp",
        constants: &[
            Constant { name: "delta", value: "0.15", source: "INFOCOM 2003" },
            Constant { name: "gamma", value: "1/8", source: "INFOCOM 2003" },
            Constant { name: "inference", value: "3 RTT", source: "Linux 6.1 tcp_lp" },
        ],
        needs: Needs::PromptTimestamps,
    };

    fn sample(&mut self, delay: u64) {
        self.least = Some(self.least.map_or(delay, |least| least.min(delay)));
        if delay > self.most {
            if delay > self.reserve {
                self.most = if self.reserve == 0 { delay } else { self.reserve };
                self.reserve = delay;
            } else {
                self.most = delay;
            }
        }
        self.smoothed =
            if self.smoothed == 0 { delay * 8 } else { self.smoothed - self.smoothed / 8 + delay };
    }

    fn is_near(&self) -> bool {
        let least = self.least.unwrap_or(0);
        self.smoothed / 8 > least + DELTA * self.most.saturating_sub(least) / 100
    }
}

impl CongestionControl for TcpLp {
    fn name(&self) -> &'static str {
        Self::ABOUT.name
    }

    fn on_ack(&mut self, ack: &mut Ack, cwnd: u64) -> u64 {
        if self.infers { cwnd } else { self.reno.on_ack(ack, cwnd) }
    }

    fn on_congestion(&mut self, event: &Congestion) -> u64 {
        self.reno.on_congestion(event)
    }

    fn on_idle(&mut self, _now: Instant, _idle: Duration) {}

    fn wants_feedback(&self) -> bool {
        true
    }

    fn on_feedback(&mut self, feedback: &Feedback, window: &mut Window) {
        let Some(delay) = feedback.one_way_delay else { return };
        self.sample(u64::from(delay / 1000));
        if let Some(rtt) = feedback.rtt {
            self.inference = rtt.saturating_mul(INFERENCE);
        }
        self.infers = self.last_drop.is_some_and(|last| feedback.now.since(last) < self.inference);
        if !self.is_near() {
            return;
        }
        // The delay of now is the new measure.
        self.least = Some(self.smoothed / 8);
        self.most = self.smoothed / 4;
        self.reserve = self.smoothed / 4;
        let mss = u64::from(feedback.mss).max(1);
        let segments = if self.infers { 1 } else { (window.cwnd / mss / 2).max(1) };
        window.cwnd = segments * mss;
        self.last_drop = Some(feedback.now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn from_10_to_30_ms_the_threshold_is_13() {
        let mut lp = TcpLp { least: Some(10), most: 30, ..TcpLp::default() };
        lp.smoothed = 13 * 8;
        assert!(!lp.is_near());
        lp.smoothed = 14 * 8;
        assert!(lp.is_near());
    }
}
