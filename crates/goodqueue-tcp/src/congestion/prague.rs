//! Prague (draft-briscoe-iccrg-prague-congestion-control-04): DCTCP for the Internet. The window is
//! cut in proportion to the share of marked packets, packets are paced, and the rate depends less
//! on the round-trip time.
//!
//! The controller follows TCP Prague 0.7 for Linux where the draft leaves a choice. Three parts of
//! it are missing. Segments keep their size below 1 Mbit/s, where Linux shortens them. The window
//! never hands over to a rate. No classic AQM is looked for. Linux can do so, and does not by
//! default (`prague_ecn_fallback`).
//!
//! Two deviations. The growth per ACK is divided by the exact window, and in Linux by that of the
//! sender, which differs by up to a segment. The first mark after the target cuts the window, as in
//! the draft. In Linux a mark within the target begins an event that cuts nothing but lasts a round
//! trip (`TCP_CA_CWR`), so cuts of a path below the target are whole round trips apart, and Prague
//! gets more beside CUBIC.

mod steps;

use goodqueue::{Duration, Instant};
use steps::{MIN_WINDOW, Steps};

use crate::congestion::parameter::{Parameter, Value};
use crate::congestion::whole::whole;
use crate::congestion::{
    About, Ack, Congestion, CongestionControl, Constant, Controller, Feedback, FeedbackTiming, Needs, Pacing,
    Signal, Window,
};

/// Least pacing rate in bytes per second: 100 kbit/s (`MINIMUM_RATE`).
const MIN_RATE: f64 = 12_500.0;
/// A burst has the segments that leave at the pacing rate in 1/4096 s, about 250 µs
/// (`prague_burst_shift`; draft §2.5.1).
const BURSTS_PER_SECOND: f64 = 4096.0;
/// Up to this number of segments the pacing rate is above the average in the first half of a round
/// trip and below it in the second half, by this share (`prague_cwnd_transit`, `RATE_OFFSET`).
const SMALL_WINDOW: f64 = 4.0;
const SWING: f64 = 4.0 / 128.0;
/// Above this round-trip time the increase is not scaled (`MAX_SCALED_RTT`).
const LONGEST_SCALED: Duration = Duration::from_millis(100);

/// Values of `alpha_mode`: the first mark halves the window, or alpha begins at 1.
const HALVES: u64 = 0;
const BEGINS_AT_ONE: u64 = 1;

/// Prague. The sender must have AccECN ([`Config::suited_to`](crate::Config::suited_to)); if the
/// other end has not, it is Reno without ECN (draft §2.3.1).
#[derive(Clone, Debug)]
pub struct Prague {
    /// The window in bytes, with fractions; 0 before the first ACK.
    window: f64,
    /// Window before the last loss.
    before: f64,
    /// Smoothed share of marked bytes (draft §2.3.2).
    alpha: f64,
    /// A mark was seen, so there is an AQM that marks.
    has_marks: bool,
    /// Bytes delivered in this round, and those of them that were marked.
    delivered: u64,
    marked: u64,
    /// The round ends when this is acknowledged.
    round_end: u64,
    /// Time of the last update of alpha.
    updated: Instant,
    /// Number of rounds since slow start.
    rounds: u64,
    /// A reduction is over when this is acknowledged, and when it was.
    reduction_end: u64,
    reduced: Option<Instant>,
    /// The window is what the sender says at the next ACK, if that is less.
    adopts: bool,
    /// Bytes per second; `None` without AccECN.
    pace: Option<f64>,
    mss: u32,
    /// Bytes of a full segment's headers.
    headers: u32,
    shift_g: u32,
    target: Duration,
    transition: u64,
    /// How the first mark is answered: [`HALVES`] or [`BEGINS_AT_ONE`].
    alpha_mode: u64,
    steps: Steps,
}

impl Default for Prague {
    fn default() -> Self {
        Self {
            window: 0.0,
            before: 0.0,
            alpha: 0.0,
            has_marks: false,
            delivered: 0,
            marked: 0,
            round_end: 0,
            updated: Instant::ZERO,
            rounds: 0,
            reduction_end: 0,
            reduced: None,
            adopts: false,
            pace: None,
            mss: 1460,
            headers: 40,
            shift_g: 4,
            target: Duration::from_millis(25),
            transition: 4,
            alpha_mode: HALVES,
            steps: Steps::default(),
        }
    }
}

impl Prague {
    /// Smoothed share of marked bytes.
    #[must_use]
    pub const fn alpha(&self) -> f64 {
        self.alpha
    }

    /// A long flow whose rate no longer depends on round-trip times below the target (draft
    /// §2.4.4).
    fn is_independent(&self) -> bool {
        self.rounds >= self.transition
    }

    /// Cuts the window at a mark, once per round trip and per target (draft §2.4.2). The first mark
    /// ends slow start and halves the window, since nothing is known of the share yet (§2.4.5).
    /// Where alpha begins at 1, the same follows from alpha, and slow start ends only when the
    /// window falls.
    fn reduce(&mut self, feedback: &Feedback, window: &mut Window) {
        self.has_marks |= self.alpha_mode == BEGINS_AT_ONE;
        if !self.has_marks {
            self.has_marks = true;
            self.window /= 2.0;
        }
        if self.alpha_mode == HALVES {
            window.ssthresh = window.ssthresh.min(whole(self.window));
        }
        let recent = |reduced: Instant| feedback.now.since(reduced) < self.target;
        let is_same_event =
            feedback.una < self.reduction_end || (self.is_independent() && self.reduced.is_some_and(recent));
        if !is_same_event {
            self.reduction_end = feedback.next;
            self.reduced = Some(feedback.now);
            self.window -= self.steps.to_cut(self.window, window) * self.alpha / 2.0;
        }
    }

    /// Lets the window grow by unmarked bytes, also in a round with marks (draft §2.4.3).
    fn grow(&mut self, feedback: &Feedback, unmarked: u64, slow_start: bool) {
        let mss = f64::from(self.mss);
        if slow_start {
            self.window += unmarked as f64;
        } else {
            self.window += self.increase(feedback) * mss * unmarked as f64 / self.window.max(mss);
        }
    }

    /// Segments by which the window grows per round trip. Below the target the rate grows as fast
    /// as with a round-trip time of the target: by the square of the ratio (draft §2.4.4).
    fn increase(&self, feedback: &Feedback) -> f64 {
        let srtt = feedback.srtt;
        let scales = feedback.accurate && self.is_independent() && srtt <= LONGEST_SCALED;
        if !scales || srtt.is_zero() || srtt >= self.target {
            return 1.0;
        }
        let ratio = srtt.as_nanos() as f64 / self.target.as_nanos() as f64;
        ratio * ratio
    }

    /// Ends a round: updates alpha (draft §2.3.2). Flows that are independent of the round-trip
    /// time do so at most once per target.
    fn end_round(&mut self, feedback: &Feedback, slow_start: bool) {
        let is_early = self.is_independent() && feedback.now.since(self.updated) < self.target;
        if feedback.una < self.round_end || is_early {
            return;
        }
        // Before the first mark there may be no AQM that marks, and a share of 0 would mean
        // nothing.
        if self.has_marks {
            let share = (self.marked as f64 / self.delivered.max(1) as f64).min(1.0);
            let weight = 1.0 / f64::from(1_u32 << self.shift_g);
            self.alpha += (share - self.alpha) * weight;
        }
        self.updated = feedback.now;
        self.delivered = 0;
        self.marked = 0;
        self.round_end = feedback.next;
        self.rounds += u64::from(!slow_start);
    }

    /// Sets the rate at which the sender's window or what is in flight goes over a round trip,
    /// twice as much in slow start (draft §2.5.1). Headers count as well
    /// (`prague_update_pacing_rate`), while Linux spaces segments by their payload: so the pace is
    /// a few percent faster than the window.
    fn set_pace(&mut self, feedback: &Feedback, window: &Window) {
        if !feedback.accurate || feedback.srtt.is_zero() {
            self.pace = None;
            return;
        }
        let srtt = feedback.srtt.as_nanos() as f64 * 1e-9;
        let mss = f64::from(self.mss.max(1));
        let segments = window.cwnd.max(feedback.pipe) as f64 / mss;
        let rate = segments * (mss + f64::from(self.headers)) / srtt;
        let is_small = window.cwnd as f64 <= SMALL_WINDOW * mss;
        let swing = if self.has_marks && self.is_independent() && is_small {
            let half = self.target.max(feedback.srtt).as_nanos() / 2;
            if feedback.now.since(self.updated).as_nanos() < half { SWING } else { -SWING }
        } else {
            0.0
        };
        // From half of the threshold on, slow start is about to end (as
        // `tcp_update_pacing_rate()`).
        let start = if window.cwnd < window.ssthresh / 2 { 2.0 } else { 1.0 };
        self.pace = Some((rate * start * (1.0 + swing)).max(MIN_RATE));
    }
}

impl CongestionControl for Prague {
    /// All growth follows from the feedback.
    fn on_ack(&mut self, _ack: &mut Ack, cwnd: u64) -> u64 {
        cwnd
    }

    /// A loss halves the window, as in Reno (draft §2.4.1). Marks were answered with the feedback.
    fn on_congestion(&mut self, event: &Congestion) -> u64 {
        let mss = u64::from(event.mss).max(1);
        if self.window == 0.0 {
            self.window = event.cwnd as f64;
        }
        if event.signal != Signal::Ecn {
            self.before = self.window;
            self.window /= 2.0;
        }
        event.rounded(whole(self.window)).max(MIN_WINDOW * mss)
    }

    fn on_idle(&mut self, _now: Instant, _idle: Duration) {
        // The sender cuts its window to the restart window after this call.
        self.adopts = true;
    }

    fn on_undo(&mut self) {
        self.window = self.window.max(self.before);
    }

    fn on_feedback(&mut self, feedback: &Feedback, window: &mut Window) {
        (self.mss, self.headers) = (feedback.mss, feedback.headers);
        let least = (MIN_WINDOW * u64::from(self.mss)) as f64;
        if self.window == 0.0 || core::mem::take(&mut self.adopts) {
            let known = if self.window == 0.0 { f64::INFINITY } else { self.window };
            self.window = known.min(window.cwnd as f64);
        }
        self.delivered += feedback.delivered;
        self.marked += feedback.marked;
        if feedback.marked > 0 && feedback.accurate {
            self.reduce(feedback, window);
        }
        // Asked after the marks, since the first one ends slow start.
        let slow_start = window.cwnd < window.ssthresh;
        let unmarked = feedback.delivered.saturating_sub(feedback.marked);
        // At least half of the window is in use (RFC 7661 §4.2).
        let is_used = feedback.pipe_before >= window.cwnd / 2;
        let grows = unmarked > 0 && is_used && !feedback.in_recovery;
        if grows {
            self.grow(feedback, unmarked, slow_start);
        }
        if slow_start && self.alpha_mode == BEGINS_AT_ONE && self.has_marks {
            // The cut of the first mark waits for an ACK without unmarked packets, and slow start
            // goes on until then (TCP Prague 0.5 for Linux, `prague_update_cwnd`).
            if grows {
                window.cwnd += unmarked;
            } else {
                self.window = self.steps.step(self.window, window, u64::from(self.mss));
            }
        } else if slow_start && !feedback.in_recovery {
            window.cwnd = whole(self.window.max(least));
        } else if feedback.delivered > 0 {
            self.window = self.steps.step(self.window, window, u64::from(self.mss));
        }
        self.end_round(feedback, slow_start);
        self.set_pace(feedback, window);
    }

    fn pacing(&self) -> Pacing {
        let Some(rate) = self.pace else { return Pacing::UNPACED };
        let packet = u64::from(self.mss).saturating_add(u64::from(self.headers)).max(1);
        let burst = whole(rate / BURSTS_PER_SECOND) / packet;
        let burst = u32::try_from(burst).unwrap_or(u32::MAX).max(1);
        // A rate of 0 would let nothing leave.
        Pacing { rate: Some(whole(rate).max(1)), burst: Some(burst), ..Pacing::UNPACED }
    }
}

impl Controller for Prague {
    const ABOUT: About = About {
        name: "prague",
        summary: "L4S: cut by half of the smoothed share of marked packets, paced, less RTT-dependent",
        reference: "draft-briscoe-iccrg-prague-congestion-control-04; TCP Prague 0.7 for Linux",
        parameters: &[
            Parameter::count(
                "shift_g",
                4,
                [0, 10],
                "0 to 10",
                "draft-04 §2.3.2 (g = 1/16)",
                "weight of the last round in alpha: g is 1 / 2^shift_g",
            ),
            Parameter::time(
                "target",
                Duration::from_millis(25),
                [Duration::from_nanos(1), Duration::from_secs(1)],
                "above 0s, at most 1s",
                "draft-04 §2.4.4",
                "round-trip time below which the rate does not depend on it",
            ),
            Parameter::count(
                "transition",
                4,
                [0, 1_000_000],
                "0 to 1000000",
                "Linux prague_rtt_transition",
                "rounds after slow start until then",
            ),
            Parameter::count(
                "alpha_mode",
                HALVES,
                [HALVES, BEGINS_AT_ONE],
                "0 or 1",
                "Linux prague_alpha_mode",
                "0: the first mark halves the window; 1: alpha begins at 1, as in TCP Prague 0.5",
            ),
            Parameter::count(
                "carry",
                0,
                [0, 1],
                "0 or 1",
                "TCP Prague 0.7 for Linux",
                "0: the window is rounded up to segments; 1: it moves when a segment has gathered, as in 0.5 and 0.6",
            ),
        ],
        constants: &[
            Constant { name: "first mark", value: "half of the window", source: "Linux prague_alpha_mode 0" },
            Constant { name: "loss", value: "half of the window", source: "draft-04 §2.4.1" },
            Constant { name: "burst", value: "1/4096 s at the rate", source: "Linux prague_burst_shift" },
            Constant { name: "least rate", value: "100 kbit/s", source: "Linux MINIMUM_RATE" },
            Constant { name: "least window", value: "2 segments", source: "Linux MIN_CWND_RTT" },
        ],
        needs: Needs::L4s,
        feedback: FeedbackTiming::EveryAck,
        controls_all: true,
        ..About::PLAIN
    };

    fn set(&mut self, parameter: &str, value: Value) {
        match parameter {
            "shift_g" => self.shift_g = u32::try_from(value.as_count()).unwrap_or(0).min(10),
            "target" => self.target = value.as_time(),
            "transition" => self.transition = value.as_count(),
            "carry" => self.steps = if value.as_count() == 0 { Steps::Rounded } else { Steps::Gathered },
            _ => {
                self.alpha_mode = value.as_count();
                // A value of `BEGINS_AT_ONE` is the alpha of the start as well.
                self.alpha = if self.alpha_mode == BEGINS_AT_ONE { 1.0 } else { 0.0 };
            }
        }
    }
}

#[cfg(test)]
mod tests;
