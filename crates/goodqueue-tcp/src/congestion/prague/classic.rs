//! Looks for a classic AQM at the bottleneck: one that marks ECT(1) as it marks ECT(0). Beside
//! classic flows Prague must then cut its window as they do (RFC 9331 §4.3).
//!
//! A classic AQM lets a queue swing and an L4S AQM keeps it shallow, so a score rises with the
//! variation and the depth of the queue, and falls where the variation is small (Briscoe and Ahmed,
//! "TCP Prague Fall-back on Detection of a Classic ECN AQM", arXiv:1911.00710v3;
//! `prague_classic_ecn_detection`).

use goodqueue::Duration;

/// Weight of a doubling of the variation, and of the depth (`V`, `D`).
const WEIGHT: f64 = 0.5;
/// The score from which the AQM counts as classic (`L_STICKY`): this much evidence has to gather.
const CLASSIC: f64 = 8.0;
/// The highest score (`C_STICKY`): as much evidence leads back, with a transition of 1 between.
const HIGHEST: f64 = 17.0;
/// Beside classic flows alpha is at least this, so the window falls by 0.31. CUBIC's falls by 0.3
/// (`prague_classic_ecn_fallback`).
const CLASSIC_ALPHA: f64 = 0.625;
/// The largest exponent of a gain (`PRAGUE_MAX_SRTT_BITS`).
const SLOWEST: u32 = 18;

/// Default bounds of a queue that looks like that of an L4S AQM (`V0`, `D0`).
pub(super) const VARIATION: Duration = Duration::from_micros(750);
pub(super) const DEPTH: Duration = Duration::from_millis(2);

/// What is known of the queue.
#[derive(Clone, Debug)]
pub(super) struct Detector {
    /// A queue that varies more, or is deeper, looks classic (`V0`, `D0`).
    pub(super) variation: Duration,
    pub(super) depth: Duration,
    /// Smoothed RTT and its mean deviation in microseconds; 0 before the first RTT.
    srtt: f64,
    mdev: f64,
    /// A sample counts 1 / 2^`shift` of the smoothed RTT, and half as much of its deviation.
    shift: u32,
    lg_mdev: Logarithm,
    lg_depth: Logarithm,
    score: f64,
}

impl Default for Detector {
    fn default() -> Self {
        Self {
            variation: VARIATION,
            depth: DEPTH,
            srtt: 0.0,
            mdev: 1.0,
            shift: SLOWEST,
            lg_mdev: Logarithm::default(),
            lg_depth: Logarithm::default(),
            score: 0.0,
        }
    }
}

impl Detector {
    /// Takes the RTT of an ACK (`prague_rtt_estimator`). The sender's own smoothed RTT follows each
    /// swing of the queue, and this one is to see past them. It starts at the sender's.
    pub(super) fn observe(&mut self, rtt: Duration, srtt: Duration) {
        if self.srtt == 0.0 {
            self.srtt = micros(srtt);
            return;
        }
        let error = micros(rtt) - self.srtt;
        let gain = 1.0 / f64::from(1_u32 << self.shift);
        self.srtt += error * gain;
        self.mdev += (error.abs() - self.mdev) * gain / 2.0;
    }

    /// A reduction begins at a threshold of `segments`. A sawtooth takes as many round trips as the
    /// window has segments, more or less, so the gain falls with the window to the power of 1.5
    /// (`prague_update_rtt_scaling`).
    pub(super) fn scale(&mut self, segments: u64) {
        let bits = segments.max(1).ilog2();
        self.shift = (bits + bits / 2 + 1).min(SLOWEST);
    }

    /// Moves the score, once for each update of alpha after the first mark.
    pub(super) fn update(&mut self, min_rtt: Duration) {
        if self.srtt == 0.0 || min_rtt.is_zero() {
            return;
        }
        let mut score = self.score + WEIGHT * (self.lg_mdev.of(self.mdev) - lg(self.variation));
        let depth = self.srtt - micros(min_rtt);
        if depth > 0.0 {
            // A shallow queue says nothing: that of a classic AQM is shallow at times.
            score += WEIGHT * (self.lg_depth.of(depth) - lg(self.depth)).max(0.0);
        }
        self.score = score.clamp(0.0, HIGHEST);
    }

    /// Returns the least alpha.
    pub(super) fn least_alpha(&self) -> f64 {
        (self.score - CLASSIC).clamp(0.0, 1.0) * CLASSIC_ALPHA
    }
}

/// A binary logarithm in whole numbers. The remainder is kept for the next value, so the mean is
/// exact. Linux computes it so, as it has no fractions, and the score moves in the same steps here.
#[derive(Clone, Debug)]
struct Logarithm {
    /// From 1 to 2. It starts in the middle, in steps of the logarithm.
    rest: f64,
}

impl Default for Logarithm {
    fn default() -> Self {
        Self { rest: core::f64::consts::SQRT_2 }
    }
}

impl Logarithm {
    fn of(&mut self, value: f64) -> f64 {
        let mut steps = 0.0;
        self.rest = (self.rest * value).max(1.0);
        while self.rest >= 2.0 {
            self.rest /= 2.0;
            steps += 1.0;
        }
        steps
    }
}

fn micros(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e3
}

fn lg(time: Duration) -> f64 {
    libm::log2(micros(time))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The score after `updates` updates, when the RTT swings by `swing` around a queue of `depth`
    /// over a path of 20 ms.
    fn after(updates: u32, swing: u64, depth: u64) -> f64 {
        let mut detector = Detector::default();
        let path = Duration::from_millis(20);
        detector.observe(path, path);
        detector.scale(16);
        for _ in 0..updates {
            for high in [true, false].repeat(10) {
                let rtt = 20_000 + depth + if high { swing } else { 0 } - if high { 0 } else { swing };
                detector.observe(Duration::from_micros(rtt), path);
            }
            detector.update(path);
        }
        detector.score
    }

    #[test]
    fn a_swinging_queue_is_classic_and_a_shallow_one_is_not() {
        assert_eq!(after(500, 200, 300), 0.0, "as behind an L4S AQM");
        assert_eq!(after(500, 4000, 5000), HIGHEST);
        // A deep queue counts alone, if it does not stand still.
        assert!(after(500, 700, 40_000) > after(500, 700, 2000));
    }

    #[test]
    fn evidence_gathers_before_alpha_changes() {
        let mut detector = Detector { score: CLASSIC, ..Detector::default() };
        assert_eq!(detector.least_alpha(), 0.0);
        detector.score = CLASSIC + 0.5;
        assert_eq!(detector.least_alpha(), CLASSIC_ALPHA / 2.0);
        detector.score = HIGHEST;
        assert_eq!(detector.least_alpha(), CLASSIC_ALPHA);
        assert!(after(3, 4000, 5000) < CLASSIC);
    }

    #[test]
    fn nothing_is_said_without_a_round_trip_time() {
        let mut detector = Detector::default();
        detector.update(Duration::from_millis(20));
        detector.observe(Duration::from_millis(30), Duration::from_millis(20));
        detector.update(Duration::ZERO);
        assert_eq!(detector.score, 0.0);
    }

    #[test]
    fn steps_of_the_logarithm_have_its_mean() {
        let mut steps = Logarithm::default();
        let sum: f64 = (0..1000).map(|_| steps.of(1000.0)).sum();
        assert!((sum - 1000.0 * libm::log2(1000.0)).abs() < 1.0, "{sum}");
    }

    #[test]
    fn a_larger_window_is_watched_for_longer() {
        let mut detector = Detector::default();
        let shifts = [2, 16, 100, u64::MAX].map(|segments| {
            detector.scale(segments);
            detector.shift
        });
        assert_eq!(shifts, [2, 7, 10, SLOWEST]);
    }
}
