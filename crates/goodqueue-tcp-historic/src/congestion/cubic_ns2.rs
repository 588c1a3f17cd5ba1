//! CUBIC as ns-2.35 has it, from the Linux of 2007: four fifths of the window on congestion, slow
//! start without `HyStart`.

use goodqueue_tcp::congestion::cube_root::cube_root;
use goodqueue_tcp::congestion::parameter::{Parameter, Value};
use goodqueue_tcp::congestion::{
    About, Ack, Congestion, CongestionControl, Constant, Controller, Feedback, FeedbackTiming, Signal, Window,
};

/// Unit of β.
const BETA_SCALE: u64 = 1024;
/// C is in 1024ths of a segment per second cubed. With times in 1024ths of a second the cube is
/// shifted by 40 bits.
const CUBE_SHIFT: u32 = 40;

/// The module parameters of the kernel's file.
#[derive(Clone, Copy, Debug)]
struct Params {
    /// β in 1024ths.
    beta: u64,
    /// C in 1024ths is ten times this.
    bic_scale: u64,
    /// Most segments in 100 ms by which the window grows beyond the plateau.
    max_increment: u64,
}

impl Default for Params {
    fn default() -> Self {
        // 819 of 1024 are four fifths, and 41 makes C 0.4.
        Self { beta: 819, bic_scale: 41, max_increment: 16 }
    }
}

impl Params {
    /// Returns the eighths of a window whose acknowledgement lets the Reno-friendly window grow by
    /// a segment: 8 (1 + β) / (3 (1 − β)), rounded down.
    fn friendly_eighths(self) -> u64 {
        8 * (BETA_SCALE + self.beta) / 3 / (BETA_SCALE - self.beta)
    }

    /// C in 1024ths of a segment per second cubed.
    fn c_scaled(self) -> u64 {
        10 * self.bic_scale
    }
}

/// Acknowledged segments for one of growth while no plateau is known.
const COUNT_WITHOUT_PLATEAU: u64 = 50;
/// Its clock shows whole milliseconds.
const TICK: u64 = 1_000_000;
/// Least time between two computations of the target while the window stays the same: a 32nd of a
/// second, in ticks.
const UPDATE_INTERVAL: u64 = 31;
/// RTT samples within this time after the start of an epoch, or of the connection, do not count for
/// the least RTT.
const DELAY_MIN_PAUSE: u64 = 1000;
/// Segments for each acknowledgement are kept in sixteenths, and taken for two at first.
const RATIO_SHIFT: u32 = 4;
const FIRST_RATIO: u64 = 2 << RATIO_SHIFT;
/// Least slow-start threshold in segments.
const MIN_SSTHRESH: u64 = 2;

/// The CUBIC 2.1 of ns-2.35's `Agent/TCP/Linux`, whose source is that of Linux 2.6.22. Windows are
/// in segments inside, times in whole milliseconds. Where the stack counts ACKs it divides by its
/// estimate of segments per ACK, which begins at two and, with an ACK for each, sticks just below:
/// such windows grow nearly twice as fast as CUBIC is meant to.
#[derive(Clone, Debug)]
pub struct CubicNs2 {
    params: Params,
    /// Acknowledged segments for one of growth, and those counted so far.
    count: u64,
    counted: u64,
    /// `W_max`, the plateau; 0: none is known.
    last_max: u64,
    /// The window at the last computation, and when that was.
    last_cwnd: u64,
    last_time: Option<u64>,
    /// When this epoch began, where its curve has the plateau, and after how many 1024ths of a
    /// second.
    epoch: Option<u64>,
    origin: u64,
    k: u64,
    /// Least RTT, in eighths.
    delay_min: Option<u64>,
    /// Segments per ACK, in sixteenths.
    ratio: u64,
    /// Segments acknowledged in this epoch that the Reno-friendly window has not used, and that
    /// window.
    acked: u64,
    friendly: u64,
}

impl Default for CubicNs2 {
    fn default() -> Self {
        Self {
            params: Params::default(),
            count: 0,
            counted: 0,
            last_max: 0,
            last_cwnd: 0,
            last_time: None,
            epoch: None,
            origin: 0,
            k: 0,
            delay_min: None,
            ratio: FIRST_RATIO,
            acked: 0,
            friendly: 0,
        }
    }
}

impl CubicNs2 {
    /// After how many acknowledged segments the window of `cwnd` segments grows by one.
    fn update(&mut self, now: u64, cwnd: u64, acked: u64, ratio: u64) {
        self.acked += acked;
        let since = self.last_time.map(|time| now - time);
        if self.last_cwnd == cwnd && since.is_some_and(|since| since <= UPDATE_INTERVAL) {
            return;
        }
        self.last_cwnd = cwnd;
        self.last_time = Some(now);
        let epoch = match self.epoch {
            Some(epoch) => epoch,
            None => self.start_epoch(now, cwnd),
        };
        let count = self.towards_the_curve(now - epoch, cwnd).min(self.as_reno(cwnd));
        // tcp_cubic.c raises a count of 0 to 1, too.
        self.count = ((count << RATIO_SHIFT) / ratio).max(1);
    }

    fn start_epoch(&mut self, now: u64, cwnd: u64) -> u64 {
        self.epoch = Some(now);
        // As in Linux, the acknowledgement that begins the epoch counts as one segment.
        self.acked = 1;
        self.friendly = cwnd;
        self.origin = self.last_max.max(cwnd);
        // (W_max - cwnd) / C in 1024ths of a second, cubed.
        self.k = cube_root((self.origin - cwnd).saturating_mul((1 << CUBE_SHIFT) / self.params.c_scaled()));
        now
    }

    /// The count that leads to where the curve is one least RTT from now.
    fn towards_the_curve(&self, elapsed: u64, cwnd: u64) -> u64 {
        if self.last_max == 0 {
            return COUNT_WITHOUT_PLATEAU;
        }
        let eighths = self.delay_min.unwrap_or(0);
        let t = ((elapsed + (eighths >> 3)) << 10) / 1000;
        let distance = u128::from(t.abs_diff(self.k));
        let delta = (u128::from(self.params.c_scaled()) * distance * distance * distance) >> CUBE_SHIFT;
        let delta = u64::try_from(delta).unwrap_or(u64::MAX);
        // Linux wraps in 32 bits where these sums saturate; its windows stay below a million
        // segments.
        let target =
            if t < self.k { self.origin.saturating_sub(delta) } else { self.origin.saturating_add(delta) };
        // Linux lets a window beyond the curve grow too, by a segment in a hundred windows.
        let count = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
        // A window in each RTT, of which `max_increment` segments in 100 ms.
        // `eighths` is at least 1 after a sample; before one the product may be 0, and is not used.
        let steepest = cwnd * 800 / (self.params.max_increment * eighths).max(1);
        // A larger count is slower growth, so a maximum bounds the growth from above.
        if t >= self.k && eighths > 0 { count.max(steepest) } else { count }
    }

    /// The count of a window that is smaller than that of Reno in its place.
    fn as_reno(&mut self, cwnd: u64) -> u64 {
        let step = ((cwnd * self.params.friendly_eighths()) >> 3).max(1);
        // Linux takes a step while the count is above it, so a count that equals a step waits.
        let steps = self.acked.saturating_sub(1) / step;
        self.acked -= steps * step;
        self.friendly += steps;
        // `update` shifts the count to the left, so a larger number would overflow.
        if self.friendly > cwnd { cwnd / (self.friendly - cwnd) } else { u64::MAX >> RATIO_SHIFT }
    }
}

impl CongestionControl for CubicNs2 {
    #[inline]
    fn on_ack(&mut self, ack: &mut Ack, cwnd: u64) -> u64 {
        if !ack.may_grow {
            return cwnd;
        }
        // Linux 2.6.22 is in slow start at the threshold itself, too.
        if cwnd <= ack.ssthresh {
            return ack.slow_start(cwnd);
        }
        // `Config::check` refuses an MSS of 0, but no division may depend on it.
        let mss = u64::from(ack.mss).max(1);
        let acked = ack.acked.div_ceil(mss);
        let ratio = if ack.growth.per_ack { self.ratio } else { 1 << RATIO_SHIFT };
        self.update(ack.now.as_nanos() / TICK, (cwnd / mss).max(1), acked, ratio);
        // The acknowledgement that completes the count is not counted itself.
        if self.counted >= self.count {
            self.counted = 0;
            return cwnd.saturating_add(mss);
        }
        self.counted += acked;
        cwnd
    }

    fn on_congestion(&mut self, event: &Congestion) -> u64 {
        let mss = u64::from(event.mss).max(1);
        let cwnd = event.cwnd / mss;
        let beta = self.params.beta;
        self.epoch = None;
        self.counted = 0;
        self.last_max =
            if cwnd < self.last_max { cwnd * (BETA_SCALE + beta) / (2 * BETA_SCALE) } else { cwnd };
        // Linux resets all when it enters the state Loss (`bictcp_state`), after the threshold is
        // known.
        if event.signal == Signal::Timeout {
            *self = Self { params: self.params, ..Self::default() };
        }
        (cwnd * beta / BETA_SCALE).max(MIN_SSTHRESH) * mss
    }

    fn on_feedback(&mut self, feedback: &Feedback, _window: &mut Window) {
        let mss = u64::from(feedback.mss).max(1);
        if feedback.acked > 0 && !feedback.in_recovery {
            self.ratio = self.ratio + feedback.acked.div_ceil(mss) - (self.ratio >> RATIO_SHIFT);
        }
        let Some(rtt) = feedback.rtt else { return };
        let now = feedback.now.as_nanos();
        // An epoch that has not begun is 0 in Linux, the start of the clock.
        if now / TICK < self.epoch.unwrap_or(0) + DELAY_MIN_PAUSE {
            return;
        }
        // The time of sending is rounded, that of arrival cut.
        let sent = (now.saturating_sub(rtt.as_nanos()) + TICK / 2) / TICK;
        // 0 means an unknown delay in Linux, so a delay below a tick counts as an eighth.
        let delay = ((now / TICK).saturating_sub(sent) << 3).max(1);
        self.delay_min = Some(self.delay_min.map_or(delay, |least| least.min(delay)));
    }
}

impl Controller for CubicNs2 {
    const ABOUT: About = About {
        name: "cubic_ns2",
        variant_of: Some("cubic"),
        summary: "CUBIC 2.1 of Linux 2.6.22: four fifths of the window on congestion, no HyStart",
        reference: "ns-2.35 Agent/TCP/Linux, Rhee & Xu 2005",
        parameters: &[
            Parameter::count(
                "beta",
                819,
                [1, 1023],
                "1 to 1023",
                "ns-2.35, module parameter",
                "share of the window that is left after congestion, in 1024ths",
            ),
            Parameter::count(
                "bic_scale",
                41,
                [1, 10_000],
                "1 to 10000",
                "ns-2.35, module parameter",
                "how fast the window grows: C is 10 bic_scale / 1024 segments per second cubed",
            ),
            Parameter::count(
                "max_increment",
                16,
                [1, 1_000_000],
                "1 to 1000000",
                "ns-2.35, module parameter",
                "most segments in 100 ms by which the window grows beyond the plateau",
            ),
        ],
        constants: &[Constant {
            name: "growth without a plateau",
            value: "1 segment per 50 acknowledged",
            source: "ns-2.35 tcp_cubic.c",
        }],
        feedback: FeedbackTiming::EveryAck,
        ..About::PLAIN
    };

    fn set(&mut self, parameter: &str, value: Value) {
        match parameter {
            "beta" => self.params.beta = value.as_count(),
            "bic_scale" => self.params.bic_scale = value.as_count(),
            "max_increment" => self.params.max_increment = value.as_count(),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use goodqueue::{Duration, Instant};
    use goodqueue_tcp::congestion::GrowthRule;

    use super::*;

    const MSS: u32 = 1460;
    const RTT_MS: u64 = 100;

    fn segments(count: u64) -> u64 {
        count * u64::from(MSS)
    }

    fn event(signal: Signal, cwnd: u64) -> Congestion {
        let cwnd = segments(cwnd);
        let now = Instant::ZERO;
        Congestion { now, signal, cwnd, in_flight: cwnd / 2, mss: MSS, whole: true }
    }

    /// The window after acknowledgements of each segment, evenly spread, until `end_ms`.
    fn grown(cubic: &mut CubicNs2, mut cwnd: u64, ssthresh: u64, end_ms: u64) -> u64 {
        cubic.delay_min = Some(8 * RTT_MS);
        let mut us = 0;
        while us < end_ms * 1000 {
            let now = Instant::ZERO + Duration::from_micros(us);
            let acked = u64::from(MSS);
            let srtt = Duration::from_millis(RTT_MS);
            let ssthresh = segments(ssthresh);
            let mss = MSS;
            let mut ack = Ack {
                now,
                acked,
                srtt,
                rtt: None,
                ssthresh,
                mss,
                covered: 0,
                growth: GrowthRule { whole: true, ..GrowthRule::ABC },
                may_grow: true,
                ecn_echo: false,
            };
            cwnd = cubic.on_ack(&mut ack, cwnd);
            us += RTT_MS * 1000 * u64::from(MSS) / cwnd;
        }
        cwnd / u64::from(MSS)
    }

    #[test]
    fn congestion_leaves_819_of_1024_of_the_window_and_fast_convergence_lowers_the_plateau() {
        let mut cubic = CubicNs2::default();
        // The results are 79.98, 63.98 and, for the plateau of 80, 71.99 without rounding down.
        assert_eq!(cubic.on_congestion(&event(Signal::Loss, 100)), segments(79));
        assert_eq!(cubic.last_max, 100);
        assert_eq!(cubic.on_congestion(&event(Signal::Loss, 80)), segments(63));
        assert_eq!(cubic.last_max, 71);
        assert_eq!(cubic.on_congestion(&event(Signal::Loss, 2)), segments(2));
        cubic.on_congestion(&event(Signal::Timeout, 80));
        assert_eq!(cubic.last_max, 0, "a timeout forgets the plateau");
    }

    #[test]
    fn the_plateau_is_back_after_the_cube_root_of_the_loss() {
        // K = ((200 - 159) / 0.4)^(1/3) = 4.7 s.
        let mut cubic = CubicNs2::default();
        assert_eq!(cubic.on_congestion(&event(Signal::Loss, 200)), segments(159));
        let after = grown(&mut cubic, segments(159), 159, 4700);
        assert!((196..=201).contains(&after), "{after}");
        // 4.7 s are 4813 1024ths of a second.
        assert!((4660..=4900).contains(&cubic.k), "{}", cubic.k);
    }

    #[test]
    fn beyond_the_plateau_growth_is_sixteen_segments_in_100_ms_at_most() {
        let mut cubic = CubicNs2::default();
        cubic.on_congestion(&event(Signal::Loss, 200));
        cubic.delay_min = Some(8 * RTT_MS);
        let long = 30_000;
        // A window of 1600 in an RTT of 100 ms may grow by 16, which is one for 100.
        assert_eq!(cubic.towards_the_curve(long, 1600), 100);
    }

    #[test]
    fn without_a_plateau_a_window_grows_by_a_segment_for_fifty() {
        let mut cubic = CubicNs2::default();
        // Ten windows that grow by a fiftieth each make 121.9 segments of 100.
        let after = grown(&mut cubic, segments(100), 99, 1000);
        assert!((118..=123).contains(&after), "{after}");
    }

    #[test]
    fn the_reno_friendly_window_grows_once_per_twenty_three_eighths_of_a_window() {
        // 8 (1 + 0.8) / (3 (1 - 0.8)) is 24, but 819 is a little less than 0.8 of 1024.
        assert_eq!(Params::default().friendly_eighths(), 23);
    }
}
