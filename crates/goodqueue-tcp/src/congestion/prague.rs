//! Prague (draft-briscoe-iccrg-prague-congestion-control-04): DCTCP for the Internet. The window is
//! cut in proportion to the share of marked packets, packets are paced, and the rate depends less
//! on the round-trip time.
//!
//! The controller follows TCP Prague for Linux where the draft leaves a choice: the newest release,
//! and others as a [`Release`]. One part is missing: segments keep their size below 1 Mbit/s, where
//! Linux shortens them.
//!
//! A classic AQM is looked for if `ecn_fallback` is 1. The default is 0, as in Linux 5.15. For
//! Linux 6 this part was removed.
//!
//! One deviation from the draft. A mark within the target begins an event that cuts nothing, but
//! lasts a round trip (`TCP_CA_CWR`), so cuts are whole round trips apart. In the draft the first
//! mark after the target cuts the window. All releases for Linux do the former. 30 runs each of 42
//! paths agree with it, not with the draft (`docs/l4s-tests.md`).
//!
//! One deviation from the newest release. It grows only if the window limits the sender
//! (`tcp_is_cwnd_limited()`). A paced flow fills its window seldom, so at 8 Mbit/s through DualPI2
//! it stays at the least rate. Here it grows unless its application limits it, as in the release
//! for Linux 5.15.

mod classic;
mod rate;
mod release;

use core::marker::PhantomData;

use goodqueue::{Duration, Instant};

use crate::congestion::parameter::{Parameter, Value};
use crate::congestion::whole::whole;
use crate::congestion::{
    About, Ack, Congestion, CongestionControl, Constant, Controller, Feedback, FeedbackTiming, Needs, Pacing,
    Signal, Window,
};

use classic::Detector;
use rate::{MIN_RATE, PacedRate};
pub use release::{Current, MIN_WINDOW, RateMode, Release};

/// A burst has the segments that leave at the pacing rate in 1/4096 s, about 250 µs
/// (`prague_burst_shift`; draft §2.5.1).
const BURSTS_PER_SECOND: f64 = 4096.0;
/// Above this round-trip time the increase is not scaled (`MAX_SCALED_RTT`).
const LONGEST_SCALED: Duration = Duration::from_millis(100);

/// Value of `alpha_mode`: the first mark halves the window.
pub const HALVES: u64 = 0;
/// Value of `alpha_mode`: alpha begins at 1, so the first mark halves the window as well, and those
/// after it cut nearly half.
pub const BEGINS_AT_ONE: u64 = 1;

/// Prague. The sender must have AccECN ([`Config::suited_to`](crate::Config::suited_to)); if the
/// other end has not, it is Reno without ECN (draft §2.3.1).
#[derive(Clone, Debug)]
pub struct Prague<R: Release = Current> {
    release: PhantomData<R>,
    /// The window in bytes, with fractions; 0 before the first ACK.
    window: f64,
    /// Window and rate before the last loss.
    before: Before,
    rate: PacedRate,
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
    /// An event is over when more than this is acknowledged; `None` before the first.
    event_end: Option<u64>,
    /// Time of the last cut.
    cut: Option<Instant>,
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
    /// A classic AQM is looked for.
    falls_back: bool,
    detector: Detector,
}

/// What a loss reduced, to bring it back.
#[derive(Clone, Copy, Default, Debug)]
struct Before {
    window: f64,
    rate: f64,
}

impl<R: Release> Default for Prague<R> {
    fn default() -> Self {
        let mut prague = Self {
            release: PhantomData,
            window: 0.0,
            before: Before::default(),
            rate: PacedRate::default(),
            alpha: 0.0,
            has_marks: false,
            delivered: 0,
            marked: 0,
            round_end: 0,
            updated: Instant::ZERO,
            rounds: 0,
            event_end: None,
            cut: None,
            adopts: false,
            pace: None,
            mss: 1460,
            headers: 40,
            shift_g: 4,
            target: Duration::from_millis(25),
            transition: R::TRANSITION,
            alpha_mode: HALVES,
            falls_back: false,
            detector: Detector::default(),
        };
        prague.set_alpha_mode(R::ALPHA_MODE);
        prague
    }
}

impl<R: Release> Prague<R> {
    /// Smoothed share of marked bytes.
    #[must_use]
    pub const fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Least share of marked bytes that a cut assumes: above 0 behind a queue that looks like that
    /// of a classic AQM, and 0.625 when that is certain.
    #[must_use]
    pub fn least_alpha(&self) -> f64 {
        self.detector.least_alpha()
    }

    /// When a mark last cut the window.
    #[must_use]
    pub const fn last_cut(&self) -> Option<Instant> {
        self.cut
    }

    /// A value of [`BEGINS_AT_ONE`] is the alpha of the start as well.
    fn set_alpha_mode(&mut self, mode: u64) {
        self.alpha_mode = mode;
        self.alpha = if mode == BEGINS_AT_ONE { 1.0 } else { 0.0 };
    }

    fn mss(&self) -> f64 {
        f64::from(self.mss.max(1))
    }

    /// Bytes of a full packet.
    fn packet(&self) -> f64 {
        self.mss() + f64::from(self.headers)
    }

    /// A long flow whose rate no longer depends on round-trip times below the target (draft
    /// §2.4.4).
    fn is_independent(&self, slow_start: bool) -> bool {
        !slow_start && self.rounds >= self.transition
    }

    /// The rate takes the place of the window.
    fn is_by_rate(&self, slow_start: bool) -> bool {
        self.rate.decides && self.has_marks && self.is_independent(slow_start)
    }

    /// The round trip over which the window goes.
    fn virtual_rtt(&self, feedback: &Feedback) -> Duration {
        self.target.max(feedback.srtt)
    }

    /// Cuts the window at a mark, once per round trip and per target (draft §2.4.2).
    fn reduce(&mut self, feedback: &Feedback, window: &Window, slow_start: bool) {
        if self.event_end.is_some_and(|end| feedback.una <= end) {
            return;
        }
        self.event_end = Some(feedback.next);
        self.detector.scale(window.ssthresh / u64::from(self.mss).max(1));
        let is_recent = |cut: Instant| feedback.now.since(cut) < self.target;
        if self.is_independent(slow_start) && self.cut.is_some_and(is_recent) {
            return;
        }
        self.cut = Some(feedback.now);
        let share = self.alpha.max(self.least_alpha()) / 2.0;
        if self.is_by_rate(slow_start) {
            self.rate.cut(share);
            self.window = self.rate.window(self.packet()) * self.mss();
        } else {
            self.window -= R::to_cut(self.window, window) * share;
        }
    }

    /// Lets the window grow by unmarked bytes, also in a round with marks (draft §2.4.3). In slow
    /// start the sender's window grows at once. So a cut ends slow start with an ACK of marked
    /// packets only.
    fn grow(&mut self, feedback: &Feedback, window: &mut Window, unmarked: u64) {
        let started = unmarked.min(window.ssthresh.saturating_sub(window.cwnd));
        if started > 0 {
            window.cwnd += started;
            self.window = R::after_slow_start(self.window, window, started);
        }
        if unmarked > started {
            self.avoid(feedback, window, unmarked - started);
            self.window = R::step(self.window, window, u64::from(self.mss));
        }
    }

    /// Congestion avoidance.
    fn avoid(&mut self, feedback: &Feedback, window: &Window, unmarked: u64) {
        let mss = self.mss();
        if self.is_by_rate(false) {
            self.rate.grow(unmarked as f64 / mss, self.virtual_rtt(feedback), self.packet());
            self.window = self.window.max(self.rate.window(self.packet()) * mss);
        } else {
            let divisor = R::divisor(self.window, window).max(mss);
            self.window += self.increase(feedback) * mss * unmarked as f64 / divisor;
        }
    }

    /// Segments by which the window grows per round trip. Below the target the rate grows as fast
    /// as with a round-trip time of the target: by the square of the ratio (draft §2.4.4).
    fn increase(&self, feedback: &Feedback) -> f64 {
        let srtt = feedback.srtt;
        let scales = feedback.accurate && self.rounds >= self.transition && srtt <= LONGEST_SCALED;
        if !scales || srtt.is_zero() || srtt >= self.target {
            return 1.0;
        }
        let ratio = srtt.as_nanos() as f64 / self.target.as_nanos() as f64;
        ratio * ratio
    }

    /// Ends a round: updates alpha (draft §2.3.2). Flows that are independent of the round-trip
    /// time do so at most once per target.
    fn end_round(&mut self, feedback: &Feedback, slow_start: bool) {
        let is_early = self.is_independent(slow_start) && feedback.now.since(self.updated) < self.target;
        if feedback.una < self.round_end || is_early {
            return;
        }
        // Before the first mark there may be no AQM that marks, and a share of 0 would mean
        // nothing.
        if self.has_marks {
            self.detector.update(feedback.min_rtt);
            let share = (self.marked as f64 / self.delivered.max(1) as f64).min(1.0);
            let weight = 1.0 / f64::from(1_u32 << self.shift_g);
            self.alpha += (share - self.alpha) * weight;
        }
        self.updated = feedback.now;
        self.delivered = 0;
        self.marked = 0;
        self.round_end = feedback.next;
        self.rounds += u64::from(!slow_start);
        self.rate.end_round(feedback.srtt);
    }

    /// Sets the rate at which the window or what is in flight goes over a round trip, twice as much
    /// in slow start (draft §2.5.1). Headers count as well (`prague_update_pacing_rate`), while
    /// Linux spaces segments by their payload: so the pace is a few percent faster than the window.
    fn set_pace(&mut self, feedback: &Feedback, window: &Window) {
        if !feedback.accurate || feedback.srtt.is_zero() {
            self.pace = None;
            return;
        }
        let pace = if self.is_by_rate(window.cwnd < window.ssthresh) {
            let half = self.virtual_rtt(feedback).as_nanos() / 2;
            self.rate.of_half(feedback.now.since(self.updated).as_nanos() < half)
        } else {
            let bytes = R::paced(self.window, window, u64::from(self.mss)).max(feedback.pipe);
            self.rate.follow(bytes as f64 / self.mss(), feedback.srtt, self.packet());
            self.rate.bytes
        };
        // From half of the threshold on, slow start is about to end (as
        // `tcp_update_pacing_rate()`).
        let start = if window.cwnd < window.ssthresh / 2 { 2.0 } else { 1.0 };
        self.pace = Some((pace * start).max(MIN_RATE));
    }

    /// Chooses between window and rate.
    fn choose(&mut self, feedback: &Feedback, window: &Window) {
        if R::RATE == RateMode::None || feedback.srtt.is_zero() {
            return;
        }
        let packets = window.cwnd as f64 / self.mss();
        self.rate.decides = self.has_marks && rate::is_small(packets * self.packet());
        if R::RATE == RateMode::Kept {
            return;
        }
        if self.rate.decides {
            self.window = self.rate.window(self.packet()) * self.mss();
        } else {
            self.rate.follow(self.window / self.mss(), feedback.srtt, self.packet());
        }
    }
}

impl<R: Release> CongestionControl for Prague<R> {
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
            self.before = Before { window: self.window, rate: self.rate.bytes };
            if self.is_by_rate(false) {
                self.rate.cut(0.5);
                self.window = self.rate.window(self.packet()) * self.mss();
            } else {
                self.window /= 2.0;
            }
        }
        event.rounded(whole(self.window)).max(MIN_WINDOW * mss)
    }

    fn on_idle(&mut self, _now: Instant, _idle: Duration) {
        // The sender cuts its window to the restart window after this call.
        self.adopts = true;
    }

    fn on_undo(&mut self) {
        self.window = self.window.max(self.before.window);
        self.rate.bytes = self.rate.bytes.max(self.before.rate);
    }

    fn on_feedback(&mut self, feedback: &Feedback, window: &mut Window) {
        (self.mss, self.headers) = (feedback.mss, feedback.headers);
        if self.window == 0.0 || core::mem::take(&mut self.adopts) {
            let known = if self.window == 0.0 { f64::INFINITY } else { self.window };
            self.window = known.min(window.cwnd as f64);
        }
        self.rate.start(feedback.srtt);
        if let (true, Some(rtt)) = (self.falls_back, feedback.rtt) {
            self.detector.observe(rtt, feedback.srtt);
        }
        self.delivered += feedback.delivered;
        self.marked += feedback.marked;
        let slow_start = window.cwnd < window.ssthresh;
        if feedback.marked > 0 && feedback.accurate {
            self.reduce(feedback, window, slow_start);
            // Nothing is known of the share yet, so the first mark halves the window (draft
            // §2.4.5).
            if !self.has_marks && self.alpha_mode == HALVES {
                self.window /= 2.0;
            }
            self.has_marks = true;
        }
        let unmarked = feedback.delivered.saturating_sub(feedback.marked);
        if unmarked > 0 && !feedback.app_limited && !feedback.in_recovery {
            self.grow(feedback, window, unmarked);
        } else if feedback.delivered > 0 {
            self.window = R::step(self.window, window, u64::from(self.mss));
        }
        self.end_round(feedback, window.cwnd < window.ssthresh);
        self.set_pace(feedback, window);
        self.choose(feedback, window);
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

impl<R: Release> Controller for Prague<R> {
    const ABOUT: About = About {
        name: R::NAME,
        variant_of: R::VARIANT_OF,
        summary: R::SUMMARY,
        reference: R::REFERENCE,
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
                R::TRANSITION,
                [0, 1_000_000],
                "0 to 1000000",
                "Linux prague_rtt_transition",
                "rounds after slow start until then",
            ),
            Parameter::count(
                "alpha_mode",
                R::ALPHA_MODE,
                [HALVES, BEGINS_AT_ONE],
                "0 or 1",
                "Linux prague_alpha_mode",
                "0: the first mark halves the window; 1: alpha begins at 1",
            ),
            Parameter::count(
                "ecn_fallback",
                0,
                [0, 1],
                "0 or 1",
                "Linux prague_ecn_fallback",
                "1: at a queue that looks like that of a classic AQM, a mark cuts the window by up to 0.31",
            ),
            Parameter::time(
                "v0",
                classic::VARIATION,
                [Duration::from_nanos(1), Duration::from_secs(1)],
                "above 0s, at most 1s",
                "arXiv:1911.00710v3; Linux V0_LG",
                "variation of the RTT above which a queue looks classic",
            ),
            Parameter::time(
                "d0",
                classic::DEPTH,
                [Duration::from_nanos(1), Duration::from_secs(1)],
                "above 0s, at most 1s",
                "arXiv:1911.00710v3; Linux D0_LG",
                "depth above which a queue looks more classic",
            ),
        ],
        constants: &[
            Constant {
                name: "first mark",
                value: "half of the window, with alpha_mode 0",
                source: "Linux prague_alpha_mode",
            },
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
            "ecn_fallback" => self.falls_back = value.as_count() == 1,
            "v0" => self.detector.variation = value.as_time(),
            "d0" => self.detector.depth = value.as_time(),
            _ => self.set_alpha_mode(value.as_count()),
        }
    }
}

#[cfg(test)]
mod tests;
