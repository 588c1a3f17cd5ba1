//! TCP Vegas (Brakmo & Peterson 1995): holds a few segments in the queue, as the RTT tells them.

use goodqueue::{Duration, Instant};

use crate::congestion::parameter::{Parameter, Value};
use crate::congestion::reno::Reno;
use crate::congestion::{
    About, Ack, Congestion, CongestionControl, Controller, Feedback, FeedbackTiming, Start, Window,
};

/// Source of the defaults.
const LINUX: &str = "Linux 6.1, module parameter";
/// RTT samples that a round needs. With fewer, all of them are probably from delayed ACKs (Linux
/// `tcp_vegas_cong_avoid()`).
const MIN_SAMPLES: u32 = 3;
/// Least window in segments (Linux `tcp_vegas_cong_avoid()`).
const MIN_WINDOW: u64 = 2;

/// Rounds and their RTTs, shared with controllers built on Vegas.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rounds {
    /// Least RTT of all, and of this round, with the number of samples.
    pub(crate) base: Option<Duration>,
    pub(crate) least: Option<Duration>,
    pub(crate) samples: u32,
    una: u64,
    next: u64,
    end: u64,
    paused: bool,
}

impl Rounds {
    pub(crate) fn take(&mut self, feedback: &Feedback) {
        self.una = feedback.una;
        self.next = feedback.next;
        if feedback.in_recovery {
            self.paused = true;
        } else if self.paused {
            self.paused = false;
            self.begin();
        }
        if let Some(rtt) = feedback.rtt {
            self.base = Some(self.base.map_or(rtt, |base| base.min(rtt)));
            self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
            self.samples += 1;
        }
    }

    /// True if a round is over: its end was acknowledged.
    pub(crate) fn is_over(&self) -> bool {
        // Strictly above, as in Linux: a segment that was sent in this round was acknowledged.
        self.una > self.end
    }

    pub(crate) fn begin(&mut self) {
        self.end = self.next;
        self.least = None;
        self.samples = 0;
    }

    /// Segments of a window of `segments` that stand in the queue, and the window that would hold
    /// none there.
    pub(crate) fn queued(&self, segments: u64) -> Option<(u64, u64)> {
        let base = self.base?.as_nanos().max(1);
        let least = self.least?.as_nanos().max(1);
        let wide = u128::from(segments);
        let target = wide * u128::from(base) / u128::from(least);
        // Linux (`tcp_vegas_cong_avoid()`) divides by the least RTT of all, unlike the paper, which
        // divides by that of the round.
        let diff = wide * u128::from(least.saturating_sub(base)) / u128::from(base);
        Some((u64::try_from(diff).ok()?, u64::try_from(target).ok()?))
    }
}

/// Vegas congestion control.
#[derive(Clone, Debug)]
pub struct Vegas {
    rounds: Rounds,
    reno: Reno,
    /// Least and most segments to keep in the queue.
    alpha: u64,
    beta: u64,
    /// Segments in the queue at which slow start ends.
    gamma: u64,
}

impl Default for Vegas {
    fn default() -> Self {
        Self { rounds: Rounds::default(), reno: Reno::default(), alpha: 2, beta: 4, gamma: 1 }
    }
}

impl CongestionControl for Vegas {
    fn on_ack(&mut self, ack: &mut Ack, cwnd: u64) -> u64 {
        if self.rounds.paused {
            return self.reno.on_ack(ack, cwnd); // after a timeout
        }
        // `Config::check` refuses an MSS of 0, but no division may depend on it.
        let mss = u64::from(ack.mss).max(1);
        let slow_start = cwnd < ack.ssthresh;
        if !self.rounds.is_over() {
            return if slow_start && ack.may_grow { ack.slow_start(cwnd).min(ack.ssthresh) } else { cwnd };
        }
        let segments = cwnd / mss;
        let enough = self.rounds.samples >= MIN_SAMPLES;
        let queued = self.rounds.queued(segments);
        self.rounds.begin();
        let Some((diff, target)) = queued.filter(|_| enough) else { return self.reno.on_ack(ack, cwnd) };
        let mut window = segments;
        let mut threshold = ack.ssthresh / mss;
        if slow_start && diff > self.gamma {
            // One more, because the division rounds down.
            window = window.min(target + 1);
            threshold = threshold.min(window);
        } else if slow_start {
            return ack.slow_start(cwnd).min(ack.ssthresh);
        } else if diff > self.beta {
            window = window.saturating_sub(1);
            threshold = threshold.min(window);
        } else if diff < self.alpha && ack.may_grow {
            window += 1;
        }
        window = window.max(MIN_WINDOW);
        // The threshold is at least three quarters of the window (Linux `tcp_current_ssthresh()`).
        ack.ssthresh = threshold.max(window / 2 + window / 4) * mss;
        window * mss
    }

    fn on_congestion(&mut self, event: &Congestion) -> u64 {
        self.reno.on_congestion(event)
    }

    fn on_idle(&mut self, _now: Instant, _idle: Duration) {
        // After a pause only fresh samples count (Linux `tcp_vegas_cwnd_event()`).
        self.rounds.base = None;
        self.rounds.begin();
    }

    fn on_start(&mut self, _start: &Start) {
        // Linux begins anew here too, even if a recovery had paused Vegas (`tcp_vegas_init()`).
        self.rounds.base = None;
        self.rounds.paused = false;
        self.rounds.begin();
    }

    fn on_feedback(&mut self, feedback: &Feedback, _window: &mut Window) {
        self.rounds.take(feedback);
    }
}

impl Controller for Vegas {
    const ABOUT: About = About {
        name: "vegas",
        summary: "keeps two to four segments in the queue",
        reference: "Brakmo & Peterson 1995; Linux 6.1 tcp_vegas",
        parameters: &[
            Parameter::count(
                "alpha",
                2,
                [0, 1000],
                "0 to 1000",
                LINUX,
                "least segments to keep in the queue",
            ),
            Parameter::count("beta", 4, [0, 1000], "0 to 1000", LINUX, "most segments to keep in the queue"),
            Parameter::count(
                "gamma",
                1,
                [0, 1000],
                "0 to 1000",
                LINUX,
                "segments in the queue at which slow start ends",
            ),
        ],
        feedback: FeedbackTiming::EveryAck,
        ..About::PLAIN
    };

    fn set(&mut self, parameter: &str, value: Value) {
        match parameter {
            "alpha" => self.alpha = value.as_count(),
            "beta" => self.beta = value.as_count(),
            _ => self.gamma = value.as_count(),
        }
    }
}
