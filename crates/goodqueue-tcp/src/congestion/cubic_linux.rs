//! CUBIC as Linux computes it: in whole segments, milliseconds and fixed point, with `HyStart`.

use goodqueue::{Duration, Instant};

use crate::clock::{TICK, ticks_between};
use crate::congestion::cube_root::cube_root;
use crate::congestion::parameter::{Parameter, Value};
use crate::congestion::{
    About, Ack, Congestion, CongestionControl, Constant, Controller, Feedback, FeedbackTiming, Start, Window,
};

/// β in 1024ths.
const BETA: u64 = 717;
const BETA_SCALE: u64 = 1024;
/// The Reno-friendly window grows by a segment for each 15/8 windows acknowledged: 8 (1 + β) / (3
/// (1 − β)), rounded down.
const FRIENDLY_EIGHTHS: u64 = 8 * (BETA_SCALE + BETA) / 3 / (BETA_SCALE - BETA);
/// C = 410 / 1024 segments per second cubed; with times in 1024ths of a second the cube is shifted
/// by 40 bits.
const C_SCALED: u64 = 410;
const CUBE_SHIFT: u32 = 40;
/// The least number of acknowledged segments for one of growth, and the most while no plateau is
/// known.
const MIN_COUNT: u64 = 2;
/// Where growth counts ACKs (Linux up to 3.19): segments that an ACK is taken to acknowledge, in
/// 16ths, a moving average by a 16th that begins at two segments.
const FIRST_RATIO: u64 = 2 << RATIO_SHIFT;
const RATIO_SHIFT: u32 = 4;
const MAX_RATIO: u64 = 32 << RATIO_SHIFT;
const MAX_COUNT_WITHOUT_PLATEAU: u64 = 20;
/// Least time between two computations of the target while the window stays the same (Linux: HZ /
/// 32, with 1000 ticks per second).
const UPDATE_INTERVAL: u64 = 31;
/// RTT samples within this time after the start of an epoch do not count for the least RTT, because
/// they are those of a recovery (Linux `cubictcp_acked()`).
const DELAY_MIN_PAUSE: u64 = 1000;
/// `HyStart`: samples per round.
const MIN_SAMPLES: u32 = 8;
/// `HyStart`: how much the RTT may rise: an eighth (a sixteenth up to Linux 3.19), within these
/// bounds.
const MIN_DELAY_THRESHOLD: Duration = Duration::from_millis(4);
const MAX_DELAY_THRESHOLD: Duration = Duration::from_millis(16);
/// `HyStart`: what a train may be late on paths slower than about 2 Gbit/s (the time of four
/// bursts, at most).
const BURST_DELAY: Duration = Duration::from_millis(1);
/// Least delay where it is counted in ticks: an eighth of one (Linux `bictcp_acked()`).
const LEAST_DELAY: Duration = Duration::from_nanos(TICK / 8);
/// Least slow-start threshold in segments.
const MIN_SSTHRESH: u64 = 2;

/// Parameters of `HyStart`.
#[derive(Clone, Copy, Debug)]
struct HyStartParams {
    /// Window in segments from which on it watches.
    low_window: u64,
    /// Greatest spacing of the ACKs of a train.
    ack_delta: Duration,
}

impl Default for HyStartParams {
    fn default() -> Self {
        Self { low_window: 16, ack_delta: Duration::from_millis(2) }
    }
}

/// CUBIC with Linux's arithmetic. Windows are in segments inside, times but the RTTs in
/// milliseconds of the kernel's clock.
#[derive(Clone, Debug, Default)]
pub struct CubicLinux {
    /// Acknowledged segments for one of growth, and those counted so far.
    count: u64,
    counted: u64,
    /// Segments per ACK in 16ths, where growth counts ACKs; 0: unknown.
    ratio: u64,
    /// `W_max`, the plateau; 0: none is known.
    last_max: u64,
    /// The window at the last computation, and when that was.
    last_cwnd: u64,
    last_time: Option<u64>,
    /// Where this epoch's curve has its plateau, and after how many 1024ths of a second.
    origin: u64,
    k: u64,
    /// Least RTT.
    delay_min: Option<Duration>,
    epoch: Option<u64>,
    /// Segments acknowledged in this epoch that the Reno-friendly window has not used, and that
    /// window.
    acked: u64,
    friendly: u64,
    /// SND.UNA and SND.NXT at the last ACK.
    sequence: [u64; 2],
    /// `HyStart`: of this round its end, its start, the last ACK of its train, its least RTT and
    /// the number of samples.
    round_end: u64,
    round_start: Instant,
    train: Instant,
    round_rtt: Option<Duration>,
    samples: u32,
    /// `HyStart` ended slow start.
    found: bool,
    hystart: HyStartParams,
}

impl CubicLinux {
    #[inline(always)]
    fn hystart(&mut self, feedback: &Feedback, delay: Duration, window: &mut Window) {
        let now = feedback.now;
        // What is different where growth counts ACKs: the ACK that begins a round still counts for
        // the one before, times are whole ticks, there is no allowance for bursts, the first
        // samples of a round alone decide, and the RTT may rise by a sixteenth.
        let early = self.ratio > 0;
        if !early {
            self.begin_round(now);
        }
        if window.cwnd < self.hystart.low_window * u64::from(feedback.mss) {
            return;
        }
        let least = self.delay_min.unwrap_or(delay);
        let since = |earlier| if early { ticks_between(earlier, now) } else { now.since(earlier) };
        if since(self.train) <= self.hystart.ack_delta {
            let allowance = if early { Duration::ZERO } else { BURST_DELAY };
            let threshold = Duration::from_nanos((least + allowance).as_nanos() / 2);
            self.found |= since(self.round_start) > threshold;
            self.train = now;
        }
        let mut round_rtt = self.round_rtt.map_or(delay, |rtt| rtt.min(delay));
        if early && self.samples >= MIN_SAMPLES {
            round_rtt = self.round_rtt.unwrap_or(round_rtt);
        }
        self.round_rtt = Some(round_rtt);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
        } else {
            let share = Duration::from_nanos(least.as_nanos() / if early { 16 } else { 8 });
            self.found |= round_rtt > least + share.clamp(MIN_DELAY_THRESHOLD, MAX_DELAY_THRESHOLD);
        }
        if self.found {
            window.ssthresh = window.cwnd;
        }
    }

    /// Begins a round of `HyStart` if the one before is acknowledged.
    #[inline]
    fn begin_round(&mut self, now: Instant) {
        let [una, next] = self.sequence;
        if una > self.round_end {
            self.round_start = now;
            self.train = now;
            self.round_end = next;
            self.round_rtt = None;
            self.samples = 0;
        }
    }

    /// Counts an ACK of `bytes`, where growth counts ACKs: what the delay of ACKs takes from growth
    /// is given back.
    fn note_ratio(&mut self, bytes: u64, mss: u64) {
        let ratio = if self.ratio == 0 { FIRST_RATIO } else { self.ratio };
        self.ratio = (ratio - (ratio >> RATIO_SHIFT) + bytes.div_ceil(mss)).min(MAX_RATIO);
    }

    /// After how many acknowledged segments, or ACKs, the window of `cwnd` segments grows by one.
    fn update(&mut self, now: u64, cwnd: u64, acked: u64) {
        self.acked += acked;
        let since = self.last_time.map(|time| now.saturating_sub(time));
        if self.last_cwnd == cwnd && since.is_some_and(|since| since <= UPDATE_INTERVAL) {
            return;
        }
        // Where growth counts ACKs, the kernel does not yet spare itself a second computation in
        // the same millisecond.
        if self.epoch.is_none() || self.ratio > 0 || since.is_none_or(|since| since > 0) {
            self.last_cwnd = cwnd;
            self.last_time = Some(now);
            let epoch = match self.epoch {
                Some(epoch) => epoch,
                None => self.start_epoch(now, cwnd, acked),
            };
            self.aim(now.saturating_sub(epoch), cwnd);
        }
        // The Reno-friendly window.
        let step = ((cwnd * FRIENDLY_EIGHTHS) >> 3).max(1);
        if self.acked > step {
            // Linux subtracts steps while more than one step is left.
            let steps = (self.acked - 1) / step;
            self.acked -= steps * step;
            self.friendly += steps;
        }
        if self.friendly > cwnd {
            // In the TCP-friendly region the window grows at least as fast as that of Reno.
            self.count = self.count.min(cwnd / (self.friendly - cwnd));
        }
        // One segment for two acknowledged is 1.5 times the window per round trip (RFC 9438 §4.2).
        self.count = match self.ratio {
            0 => self.count.max(MIN_COUNT),
            ratio => ((self.count << RATIO_SHIFT) / ratio).max(1),
        };
    }

    fn start_epoch(&mut self, now: u64, cwnd: u64, acked: u64) -> u64 {
        self.epoch = Some(now);
        self.acked = acked;
        self.friendly = cwnd;
        if self.last_max <= cwnd {
            self.k = 0;
            self.origin = cwnd;
        } else {
            // (W_max - cwnd) / C in 1024ths of a second, cubed.
            let cubed = ((self.last_max - cwnd) << CUBE_SHIFT) / C_SCALED;
            self.k = cube_root(cubed);
            self.origin = self.last_max;
        }
        now
    }

    /// How far the curve is, one least RTT from now.
    fn aim(&mut self, elapsed: u64, cwnd: u64) {
        let least = self.delay_min.unwrap_or(Duration::ZERO).as_nanos() / 1000;
        // Up to the next millisecond since RTTs are in microseconds.
        let ahead = if self.ratio > 0 { least / 1000 } else { least.div_ceil(1000) };
        let t = ((elapsed + ahead) << 10) / 1000;
        let distance = u128::from(t.abs_diff(self.k));
        let delta = (u128::from(C_SCALED) * distance * distance * distance) >> CUBE_SHIFT;
        let delta = u64::try_from(delta).unwrap_or(u64::MAX);
        let target =
            if t < self.k { self.origin.saturating_sub(delta) } else { self.origin.saturating_add(delta) };
        self.count = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
        // The curve begins too slowly while nothing is known of the bandwidth, so it grows by 5 %
        // per round trip at least (Linux `bictcp_update()`).
        if self.last_max == 0 {
            self.count = self.count.min(MAX_COUNT_WITHOUT_PLATEAU);
        }
    }
}

impl CongestionControl for CubicLinux {
    #[inline]
    fn on_ack(&mut self, ack: &mut Ack, cwnd: u64) -> u64 {
        // `Config::check` refuses an MSS of 0, but no division may depend on it.
        let mss = u64::from(ack.mss).max(1);
        if ack.growth.per_ack {
            self.note_ratio(ack.covered, mss);
        }
        if !ack.may_grow {
            return cwnd;
        }
        let mut acked = ack.acked;
        let mut cwnd = cwnd;
        if cwnd < ack.ssthresh {
            if ack.growth.per_ack {
                self.begin_round(ack.now);
            }
            let grown = ack.slow_start(cwnd).min(ack.ssthresh.max(cwnd));
            acked = if ack.growth.whole { acked - (grown - cwnd).min(acked) } else { 0 };
            cwnd = grown;
            if acked == 0 {
                return cwnd;
            }
        }
        let segments = (cwnd / mss).max(1);
        let acked = acked.div_ceil(mss);
        self.update(ticks(ack.now), segments, acked);
        // A segment for each `count` acknowledged.
        let mut grown = segments;
        // Linux `tcp_cong_avoid_ai()`: credit from the time of a larger window is spent gently, a
        // segment at once.
        if self.counted >= self.count {
            self.counted = 0;
            grown += 1;
            if ack.growth.late {
                return cwnd.saturating_add(mss);
            }
        }
        self.counted += acked;
        if !ack.growth.late && self.counted >= self.count {
            let steps = self.counted / self.count.max(1);
            self.counted -= steps * self.count;
            grown += steps;
        }
        cwnd.saturating_add((grown - segments) * mss)
    }

    fn on_congestion(&mut self, event: &Congestion) -> u64 {
        let mss = u64::from(event.mss).max(1);
        let cwnd = event.cwnd / mss;
        self.epoch = None;
        self.last_max =
            if cwnd < self.last_max { cwnd * (BETA_SCALE + BETA) / (2 * BETA_SCALE) } else { cwnd };
        self.counted = 0;
        // At least two segments, as in every congestion control of Linux.
        (event.basis() / mss * BETA / BETA_SCALE).max(MIN_SSTHRESH) * mss
    }

    /// Everything but `HyStart`'s round is forgotten, also where the window was reduced before.
    fn on_timeout(&mut self, _lost: u64) {
        let ratio = if self.ratio > 0 { FIRST_RATIO } else { 0 };
        *self = Self { hystart: self.hystart, ratio, ..Self::default() };
    }

    /// The curve does not go on while nothing is out; before Linux 4.3, where growth counts ACKs,
    /// it does.
    fn on_start(&mut self, start: &Start) {
        if self.ratio == 0 {
            let pause = ticks(Instant::ZERO + start.pause);
            self.epoch = self.epoch.map(|epoch| (epoch + pause).min(ticks(start.now)));
        }
    }

    #[inline]
    fn on_feedback(&mut self, feedback: &Feedback, window: &mut Window) {
        self.sequence = [feedback.una, feedback.next];
        let Some(mut delay) = feedback.rtt else { return };
        if self.ratio > 0 {
            if feedback.acked == 0 {
                return;
            }
            delay = ticks_between(feedback.now - delay, feedback.now).max(LEAST_DELAY);
        }
        if self.epoch.is_some_and(|epoch| ticks(feedback.now) - epoch < DELAY_MIN_PAUSE) {
            return;
        }
        self.delay_min = Some(self.delay_min.map_or(delay, |least| least.min(delay)));
        if !self.found && feedback.own_slow_start && window.cwnd < window.ssthresh {
            self.hystart(feedback, delay, window);
        }
    }
}

impl Controller for CubicLinux {
    const ABOUT: About = About {
        name: "cubic_linux",
        variant_of: Some("cubic"),
        summary: "CUBIC in Linux's fixed point and whole segments, with HyStart",
        reference: "Linux 6.1 tcp_cubic, RFC 9438; Ha & Rhee 2011 (HyStart)",
        parameters: &[
            Parameter::count(
                "hystart_low_window",
                16,
                [0, 1_000_000],
                "0 to 1000000",
                "Linux 6.1, module parameter",
                "window in segments below which HyStart does not end slow start",
            ),
            Parameter::time(
                "hystart_ack_delta",
                Duration::from_millis(2),
                [Duration::ZERO, Duration::from_secs(1)],
                "0s to 1s",
                "Linux 6.1, module parameter",
                "greatest time between two ACKs of a train",
            ),
        ],
        constants: &[
            Constant {
                name: "C",
                value: "410/1024 segments/s^3",
                source: "Linux 6.1, module parameter bic_scale 41",
            },
            Constant { name: "beta", value: "717/1024", source: "Linux 6.1, module parameter beta" },
        ],
        feedback: FeedbackTiming::EveryAck,
        standard_slow_start: true,
        ..About::PLAIN
    };

    fn set(&mut self, parameter: &str, value: Value) {
        match parameter {
            "hystart_low_window" => self.hystart.low_window = value.as_count(),
            _ => self.hystart.ack_delta = value.as_time(),
        }
    }
}

fn ticks(instant: Instant) -> u64 {
    instant.as_nanos() / TICK
}

#[cfg(test)]
mod tests {
    use crate::congestion::GrowthRule;

    use super::*;

    #[test]
    fn congestion_leaves_717_of_1024_and_fast_convergence_lowers_the_plateau() {
        let event = |segments: u64| Congestion {
            now: Instant::ZERO,
            signal: crate::congestion::Signal::Loss,
            cwnd: segments * 1448,
            in_flight: segments * 1448,
            mss: 1448,
            whole: true,
        };
        let mut cubic = CubicLinux::default();
        assert_eq!(cubic.on_congestion(&event(103)), 72 * 1448);
        assert_eq!(cubic.last_max, 103);
        assert_eq!(cubic.on_congestion(&event(80)), 56 * 1448);
        assert_eq!(cubic.last_max, 68);
    }

    #[test]
    fn what_was_counted_for_growth_before_a_reduction_is_forgotten() {
        let mut cubic = CubicLinux { counted: 19, ..CubicLinux::default() };
        let event = Congestion {
            now: Instant::ZERO,
            signal: crate::congestion::Signal::Loss,
            cwnd: 50 * 1448,
            in_flight: 50 * 1448,
            mss: 1448,
            whole: true,
        };
        cubic.on_congestion(&event);
        assert_eq!(cubic.counted, 0);
    }

    #[test]
    fn the_curve_stands_still_while_nothing_is_out() {
        let mut cubic = CubicLinux { epoch: Some(1000), ..CubicLinux::default() };
        let mut start = |pause| {
            let now = Instant::from_nanos(1_500_000_000);
            cubic.on_start(&Start {
                now,
                pause,
                app_limited: false,
                srtt: Duration::ZERO,
                cwnd: 0,
                mss: 1460,
            });
            cubic.epoch
        };
        assert_eq!(start(Duration::from_millis(200)), Some(1200));
        let epoch = start(Duration::from_secs(2));
        assert_eq!(epoch, Some(1500), "never later than now");
    }

    #[test]
    fn a_timeout_within_a_recovery_forgets_the_plateau_too() {
        let mut cubic =
            CubicLinux { last_max: 100, delay_min: Some(Duration::from_millis(50)), ..CubicLinux::default() };
        cubic.on_timeout(0);
        assert_eq!((cubic.last_max, cubic.delay_min), (0, None));
    }

    #[test]
    fn where_growth_counts_acks_their_delay_is_made_up_for() {
        let grown = |segments_per_ack: u64, per_ack: bool| {
            let mut cubic = CubicLinux { last_max: 100, ..CubicLinux::default() };
            let mut cwnd = 50 * 1448;
            // Ten segments each 100 ms, for 4 s.
            for number in 0..400 / segments_per_ack {
                let bytes = segments_per_ack * 1448;
                let mut ack = Ack {
                    now: Instant::ZERO + Duration::from_millis(10 * segments_per_ack * number),
                    acked: if per_ack { 1448 } else { bytes },
                    srtt: Duration::from_millis(100),
                    rtt: None,
                    ssthresh: 0,
                    mss: 1448,
                    covered: bytes,
                    growth: GrowthRule { whole: true, per_ack, late: false },
                    may_grow: true,
                    ecn_echo: false,
                };
                cwnd = cubic.on_ack(&mut ack, cwnd);
            }
            cwnd / 1448
        };
        let counting_bytes = grown(2, false);
        assert!(counting_bytes > 60, "{counting_bytes}");
        for segments in [1, 2, 4] {
            let counting_acks = grown(segments, true);
            assert!(counting_acks.abs_diff(counting_bytes) <= 6, "{segments}: {counting_acks}");
        }
    }

    /// An ACK each 1.2 ms from `first` µs on, of a window of 40 segments that grows by one with
    /// each, on a path of 50 ms. Returns the time, in µs, of the ACK that ends slow start.
    fn end_of_train(first: u64, ratio: u64) -> Option<u64> {
        let growth = GrowthRule { whole: true, per_ack: ratio > 0, late: ratio > 0 };
        let mut cubic = CubicLinux { ratio, ..CubicLinux::default() };
        let mut window = Window { cwnd: 40 * 1448, ssthresh: u64::MAX };
        for number in 0..40_u64 {
            let micros = first + 1211 * number;
            let feedback = Feedback {
                now: Instant::from_nanos(micros * 1000),
                una: 1 + number * 1448,
                next: 1 + (number + 40) * 1448,
                acked: 1448,
                delivered: 1448,
                lost: 0,
                pipe: 39 * 1448,
                pipe_before: 40 * 1448,
                until_departure: Duration::ZERO,
                rtt: Some(Duration::from_millis(50)),
                srtt: Duration::from_millis(50),
                min_rtt: Duration::from_millis(50),
                one_way_delay: None,
                stamps: None,
                app_limited: false,
                clock_start_ms: 0,
                ecn_echo: false,
                marked: 0,
                accurate: false,
                in_recovery: false,
                own_slow_start: true,
                rate: None,
                mss: 1448,
                headers: 52,
            };
            cubic.on_feedback(&feedback, &mut window);
            if window.ssthresh < u64::MAX {
                return Some(micros);
            }
            let mut ack = Ack {
                now: feedback.now,
                acked: 1448,
                srtt: feedback.srtt,
                rtt: feedback.rtt,
                ssthresh: window.ssthresh,
                mss: 1448,
                covered: 1448,
                growth,
                may_grow: true,
                ecn_echo: false,
            };
            window.cwnd = cubic.on_ack(&mut ack, window.cwnd);
        }
        None
    }

    #[test]
    fn linux_3_14_measures_a_train_of_acks_in_ticks() {
        // The round begins with the first ACK, and the train must be longer than half of the RTT.
        // In the tick 125 it is 25.4 ms long, of which 25 ticks count.
        assert_eq!(end_of_train(100_000, FIRST_RATIO), Some(100_000 + 22 * 1211));
        // From 100.9 ms on, the tick 126 is reached after 25.1 ms. Linux 6.1 measures to the
        // microsecond, and allows half a millisecond for bursts.
        assert_eq!(end_of_train(100_900, FIRST_RATIO), Some(100_900 + 21 * 1211));
        assert_eq!(end_of_train(100_900, 0), Some(100_900 + 22 * 1211));
    }

    #[test]
    fn the_reno_friendly_window_grows_once_per_fifteen_eighths_of_a_window() {
        assert_eq!(FRIENDLY_EIGHTHS, 15);
    }
}
