//! TCP Nice (Venkataramani, Kokku, Dahlin 2002): Vegas that halves its window when many RTTs of a
//! round are long. The window may be a fraction of a segment.

use goodqueue::{Duration, Instant};

use crate::congestion::parameter::{Parameter, Value};
use crate::congestion::vegas::Rounds;
use crate::congestion::whole::whole;
use crate::congestion::{
    About, Ack, Congestion, CongestionControl, Constant, Controller, Feedback, FeedbackTiming, Pacing, Window,
};

/// Parameters of both variants.
const PARAMETERS: &[Parameter] = &[
    Parameter::number(
        "threshold",
        0.1,
        [0.0, 1.0],
        "0 to 1",
        "OSDI 2002, which gives 0.1 to 0.2",
        "share of the way from the least to the greatest RTT beyond which an RTT is long",
    ),
    Parameter::number(
        "fraction",
        0.5,
        [0.0, 1.0],
        "0 to 1",
        "OSDI 2002",
        "share of a window whose RTTs must be long for it to be halved",
    ),
];
/// Least window in segments.
const MIN_WINDOW: f64 = 1.0 / 48.0;
/// Queued segments below which the window grows (ns-2 `v_alpha_`).
const ALPHA: f64 = 1.0;
/// Queued segments above which the window shrinks (ns-2 `v_beta_`).
const BETA: f64 = 3.0;
/// Queued segments that end slow start (ns-2 `v_gamma_`).
const GAMMA: f64 = 1.0;

/// TCP Nice.
#[derive(Clone, Debug)]
pub struct Nice {
    rounds: Rounds,
    /// Greatest RTT.
    most: Duration,
    /// Number of long RTTs in this round.
    long: u32,
    /// Window in segments, if it is below one.
    small: Option<f64>,
    /// True in every other round, in which slow start grows.
    grows: bool,
    /// Smoothed RTT.
    srtt: Duration,
    /// Payload of a full segment in bytes.
    mss: u32,
    /// Share of the way from the least to the greatest RTT beyond which an RTT is long.
    threshold: f64,
    /// Share of a window whose RTTs must be long for a reduction.
    fraction: f64,
    /// Least window in segments that an ACK leaves.
    least: f64,
}

impl Default for Nice {
    fn default() -> Self {
        Self {
            rounds: Rounds::default(),
            most: Duration::ZERO,
            long: 0,
            small: None,
            grows: true,
            srtt: Duration::ZERO,
            mss: 1,
            threshold: 0.1,
            fraction: 0.5,
            least: 0.0,
        }
    }
}

impl Nice {
    /// Returns the controller whose ACKs leave a window of at least `segments`.
    #[must_use]
    pub fn with_least_window(segments: f64) -> Self {
        Self { least: segments, ..Self::default() }
    }

    /// Returns the window in segments if it is below one.
    #[must_use]
    pub fn small_window(&self) -> Option<f64> {
        self.small
    }

    fn end_round(&mut self, ack: &mut Ack, cwnd: u64) -> u64 {
        // `Config::check` refuses an MSS of 0, but no division may depend on it.
        let mss = u64::from(ack.mss).max(1);
        let slow_start = cwnd < ack.ssthresh;
        let mut window = self.small.unwrap_or(cwnd as f64 / mss as f64);
        let long = f64::from(self.long) > self.fraction * window;
        let diff = match (self.rounds.base, self.rounds.least) {
            (Some(base), Some(least)) if !least.is_zero() => {
                window * (1.0 - base.as_nanos() as f64 / least.as_nanos() as f64)
            }
            _ => 0.0,
        };
        self.rounds.begin();
        self.long = 0;
        // Vegas grows in every other round only, so that the round between them shows the effect
        // (Brakmo and Peterson 1995).
        self.grows = !self.grows;
        if long {
            window = (window / 2.0).max(MIN_WINDOW);
            ack.ssthresh = ack.ssthresh.min(cwnd.max(mss));
        } else if slow_start {
            if diff > GAMMA {
                ack.ssthresh = cwnd;
            }
        } else if diff < ALPHA {
            window = if window < 1.0 { (window * 2.0).min(1.0) } else { window + 1.0 };
        } else if diff > BETA {
            window = if window > 2.0 { window - 1.0 } else { window / 2.0 };
        }
        window = window.max(self.least);
        if window < 1.0 {
            self.small = Some(window.max(MIN_WINDOW));
            return mss;
        }
        self.small = None;
        whole(window * mss as f64)
    }
}

impl CongestionControl for Nice {
    fn on_ack(&mut self, ack: &mut Ack, cwnd: u64) -> u64 {
        if self.rounds.is_over() {
            return self.end_round(ack, cwnd);
        }
        if cwnd < ack.ssthresh && self.grows && ack.may_grow { ack.slow_start(cwnd) } else { cwnd }
    }

    fn on_congestion(&mut self, event: &Congestion) -> u64 {
        self.small = self.small.map(|window| (window / 2.0).max(MIN_WINDOW));
        (event.rounded(event.basis() / 2)).max(2 * u64::from(event.mss))
    }

    fn on_idle(&mut self, _now: Instant, _idle: Duration) {
        self.rounds.begin();
    }

    fn on_feedback(&mut self, feedback: &Feedback, _window: &mut Window) {
        self.rounds.take(feedback);
        self.srtt = feedback.srtt;
        self.mss = feedback.mss;
        let (Some(rtt), Some(base)) = (feedback.rtt, self.rounds.base) else { return };
        // Twice the least RTT stands for the greatest one until a longer RTT was seen.
        self.most = self.most.max(rtt);
        let most = if self.most > base { self.most } else { base.saturating_mul(2) };
        let span = most.as_nanos().saturating_sub(base.as_nanos()) as f64;
        if rtt.as_nanos() as f64 > base.as_nanos() as f64 + self.threshold * span {
            self.long += 1;
        }
    }

    fn pacing(&self) -> Pacing {
        let Some(window) = self.small else { return Pacing::UNPACED };
        let srtt = (self.srtt.as_nanos() as f64 * 1e-9).max(1e-6);
        // A rate of 0 would let nothing leave.
        Pacing { rate: Some(whole(window * f64::from(self.mss) / srtt).max(1)), ..Pacing::UNPACED }
    }
}

impl Controller for Nice {
    const ABOUT: About = About {
        name: "nice",
        summary: "Vegas that halves when half of a round's RTTs are long; below one segment it skips rounds",
        reference: "Venkataramani, Kokku & Dahlin, OSDI 2002",
        parameters: PARAMETERS,
        constants: &[Constant { name: "min window", value: "1/48 segment", source: "OSDI 2002" }],
        feedback: FeedbackTiming::EveryAck,
        ..About::PLAIN
    };

    fn set(&mut self, parameter: &str, value: Value) {
        match parameter {
            "threshold" => self.threshold = value.as_number(),
            _ => self.fraction = value.as_number(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::congestion::GrowthRule;

    use super::*;

    fn ack() -> Ack {
        Ack {
            now: Instant::ZERO,
            acked: 1000,
            srtt: Duration::from_millis(50),
            rtt: None,
            ssthresh: 1000,
            mss: 1000,
            covered: 0,
            growth: GrowthRule { whole: true, ..GrowthRule::ABC },
            may_grow: true,
            ecn_echo: false,
        }
    }

    fn round(long: u32, cwnd: u64, small: Option<f64>) -> (u64, Option<f64>) {
        let mut nice = Nice { long, small, ..Nice::default() };
        nice.rounds.base = Some(Duration::from_millis(50));
        nice.rounds.least = Some(Duration::from_millis(62));
        (nice.end_round(&mut ack(), cwnd), nice.small_window())
    }

    #[test]
    fn two_long_rtts_of_ten_change_nothing_and_six_halve() {
        assert_eq!(round(2, 10_000, None), (10_000, None));
        assert_eq!(round(6, 10_000, None), (5000, None));
    }

    #[test]
    fn a_least_window_of_two_segments_is_left() {
        let mut nice = Nice { long: 6, ..Nice::with_least_window(2.0) };
        assert_eq!(nice.end_round(&mut ack(), 3000), 2000);
        assert_eq!(nice.small_window(), None);
    }

    #[test]
    fn below_one_segment_the_window_is_a_rate() {
        assert_eq!(round(1, 1000, None), (1000, Some(0.5)));
        let mut nice =
            Nice { small: Some(0.5), srtt: Duration::from_millis(100), mss: 1000, ..Nice::default() };
        // one segment per two round trips
        assert_eq!(nice.pacing().rate, Some(5000));
        for _ in 0..20 {
            nice.on_congestion(&Congestion {
                now: Instant::ZERO,
                signal: crate::congestion::Signal::Loss,
                cwnd: 1000,
                in_flight: 1000,
                mss: 1000,
                whole: true,
            });
        }
        assert_eq!(nice.small_window(), Some(MIN_WINDOW));
    }
}
