//! BBR version 1 (Cardwell et al. 2016; draft-cardwell-iccrg-bbr-congestion-control-00): paces at the bottleneck's rate as
//! estimated, with about two bandwidth-delay products in flight at most.

use core::ops::Range;

use goodqueue::random::{Random, Xoshiro256PlusPlus};
use goodqueue::{Duration, Instant};

use crate::congestion::{Ack, Congestion, CongestionControl, Feedback, RateSample, Signal, Window};
use crate::registry::{About, Constant, Needs};

/// 2 / ln 2, the least gain that doubles the rate each round, and its inverse, in the 256ths that Linux rounds them to.
const HIGH_GAIN: f64 = 739.0 / 256.0;
const DRAIN_GAIN: f64 = 88.0 / 256.0;
const CWND_GAIN: f64 = 2.0;
/// The cycle of PROBE_BW.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// The bandwidth is the most of so many rounds.
const BANDWIDTH_ROUNDS: u64 = 10;
/// The least RTT is that of so long; then it is looked for, so long at least.
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);
/// Startup ends when the bandwidth grew by less than a quarter in each of three rounds.
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;
/// The pacing rate stays so much below the estimate (Linux).
const PACING_MARGIN: f64 = 0.99;
/// Least window in segments, and that of PROBE_RTT.
const MIN_WINDOW: u64 = 4;
/// So many bursts are allowed above the bandwidth-delay product (draft-00 §4.2.3.2), and what a burst holds: what the pacing rate
/// brings in 1/1024 s, two segments at least, one below 1.2 Mbit/s, and at most what a super-packet holds (Linux).
const BURSTS: u64 = 3;
const BURSTS_PER_SECOND: f64 = 1024.0;
const SINGLE_BELOW: f64 = 150_000.0;
const LONGEST_BURST: f64 = 65_215.0;
/// Assumed before the first RTT sample (Linux).
const INITIAL_RTT: Duration = Duration::from_millis(1);
const INITIAL_WINDOW: u64 = 10;
/// What came beyond the bandwidth is the most of five to ten rounds, and at most what 100 ms bring (Linux from 5.1 on).
const AGGREGATION_ROUNDS: u32 = 5;
const AGGREGATION_TIME: f64 = 0.1;
/// Segments after which the counting begins anew.
const LONGEST_EPOCH: u64 = 1 << 20;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    Startup,
    Drain,
    ProbeBandwidth,
    ProbeRtt,
}

/// BBR. Rates are in bytes per second, windows in bytes.
#[derive(Clone, Debug)]
pub struct Bbr {
    mode: Mode,
    bandwidth: Most,
    round: u64,
    round_end: u64,
    min_rtt: Option<Duration>,
    min_rtt_at: Instant,
    full: f64,
    full_rounds: u32,
    is_full: bool,
    phase: usize,
    phase_at: Instant,
    probe_until: Option<Instant>,
    probe_round: u64,
    /// Samples of what is sent while so much was delivered say nothing of the bandwidth: the window was that of PROBE_RTT.
    limited: Range<u64>,
    cwnd: u64,
    before: u64,
    /// Fast recovery, of which the first round sends what is delivered and no more.
    recovers: bool,
    conserves: bool,
    pace: f64,
    aggregation: Aggregation,
    seen_rtt: bool,
    mss: u32,
}

/// The most of the last rounds, as Linux estimates it from three samples (Nichols' windowed filter): the best, the best of those
/// that came a quarter of the window later, and of those half a window later.
#[derive(Clone, Copy, Default, Debug)]
struct Most {
    /// Round and value; the best first.
    best: [(u64, f64); 3],
}

impl Most {
    fn value(&self) -> f64 {
        self.best[0].1
    }

    fn take(&mut self, round: u64, value: f64) {
        let new = (round, value);
        if value >= self.best[0].1 || round - self.best[2].0 > BANDWIDTH_ROUNDS {
            self.best = [new; 3];
            return;
        }
        if value >= self.best[1].1 {
            (self.best[1], self.best[2]) = (new, new);
        } else if value >= self.best[2].1 {
            self.best[2] = new;
        }
        let [first, second, third] = self.best;
        if round - first.0 > BANDWIDTH_ROUNDS {
            self.best = [second, third, new];
            if round - second.0 > BANDWIDTH_ROUNDS {
                self.best = [third, new, new];
            }
        } else if second.0 == first.0 && round - first.0 > BANDWIDTH_ROUNDS / 4 {
            (self.best[1], self.best[2]) = (new, new);
        } else if third.0 == second.0 && round - first.0 > BANDWIDTH_ROUNDS / 2 {
            self.best[2] = new;
        }
    }
}

/// How much more is acknowledged at times than the bandwidth brings: paths that hold ACKs back and let many go at once
/// (draft-cardwell-iccrg-bbr-congestion-control-02 §4.6.4.2.3).
#[derive(Clone, Copy, Default, Debug)]
struct Aggregation {
    /// Counted since.
    epoch: Instant,
    acked: u64,
    /// The most of these rounds, and of those before.
    extra: [u64; 2],
    rounds: u32,
}

impl Aggregation {
    fn restart(&mut self, now: Instant) {
        self.epoch = now;
        self.acked = 0;
    }

    /// `acked` bytes more were delivered.
    fn take(&mut self, now: Instant, acked: u64, bandwidth: f64, begins_round: bool, cwnd: u64, mss: u32) {
        if begins_round {
            self.rounds += 1;
            if self.rounds >= AGGREGATION_ROUNDS {
                self.rounds = 0;
                self.extra = [0, self.extra[0]];
            }
        }
        let brings = |since: Instant| whole(bandwidth * now.since(since).as_nanos() as f64 * 1e-9);
        if self.acked <= brings(self.epoch) || self.acked + acked >= LONGEST_EPOCH * u64::from(mss) {
            self.restart(now);
        }
        self.acked += acked;
        let extra = self.acked.saturating_sub(brings(self.epoch)).min(cwnd);
        self.extra[0] = self.extra[0].max(extra);
    }

    /// Bytes that the window needs for it.
    fn allowance(&self, bandwidth: f64) -> u64 {
        self.extra[0].max(self.extra[1]).min(whole(bandwidth * AGGREGATION_TIME))
    }
}

impl Default for Bbr {
    fn default() -> Self {
        Self {
            mode: Mode::Startup,
            bandwidth: Most::default(),
            round: 0,
            round_end: 0,
            min_rtt: None,
            min_rtt_at: Instant::ZERO,
            full: 0.0,
            full_rounds: 0,
            is_full: false,
            phase: 2,
            phase_at: Instant::ZERO,
            probe_until: None,
            probe_round: 0,
            limited: 0..0,
            cwnd: 0,
            before: 0,
            recovers: false,
            conserves: false,
            pace: PACING_MARGIN * HIGH_GAIN * (INITIAL_WINDOW * 1460) as f64
                / (INITIAL_RTT.as_nanos() as f64 * 1e-9),
            aggregation: Aggregation::default(),
            seen_rtt: false,
            mss: 1460,
        }
    }
}

impl Bbr {
    /// What it is.
    pub const ABOUT: About = About {
        name: "bbr",
        summary: "paces at the bandwidth that it measures; losses change nothing but one round",
        reference: "Cardwell et al. 2016; draft-cardwell-iccrg-bbr-congestion-control-00 (version 1)",
        constants: &[
            Constant { name: "startup gain", value: "2.885", source: "draft-00 §4.3.2" },
            Constant { name: "probe gains", value: "1.25, 0.75, 6 x 1", source: "draft-00 §4.3.4" },
            Constant { name: "cwnd gain", value: "2", source: "draft-00 §4.2.3" },
            Constant { name: "bursts above it", value: "3", source: "draft-00 §4.2.3.2" },
            Constant { name: "aggregation window", value: "5 rounds", source: "Linux 6.1 tcp_bbr" },
            Constant { name: "RTprop window", value: "10 s", source: "draft-00 §4.1.2" },
            Constant { name: "pacing margin", value: "1 %", source: "Linux 6.1 tcp_bbr" },
        ],
        needs: Needs::Nothing,
    };

    fn most_bandwidth(&self) -> f64 {
        self.bandwidth.value()
    }

    /// `gain` bandwidth-delay products in bytes; before the first sample the initial window.
    fn product(&self, gain: f64) -> u64 {
        let mss = u64::from(self.mss);
        let Some(rtt) = self.min_rtt else { return INITIAL_WINDOW * mss };
        whole(gain * self.most_bandwidth() * rtt.as_nanos() as f64 * 1e-9).next_multiple_of(mss.max(1))
    }

    /// What `product` bytes need so that bursts and delayed ACKs do not keep the path waiting.
    fn with_bursts(&self, product: u64) -> u64 {
        let probes = self.mode == Mode::ProbeBandwidth && self.phase == 0;
        let mss = u64::from(self.mss);
        let segments = product.div_ceil(mss) + BURSTS * self.burst();
        (segments.next_multiple_of(2) + if probes { 2 } else { 0 }) * mss
    }

    fn inflight(&self, gain: f64) -> u64 {
        self.with_bursts(self.product(gain))
    }

    /// Segments of a burst.
    fn burst(&self) -> u64 {
        let least = if self.pace < SINGLE_BELOW { 1 } else { 2 };
        let bytes = whole((self.pace / BURSTS_PER_SECOND).min(LONGEST_BURST));
        (bytes / u64::from(self.mss.max(1))).clamp(least, 127)
    }

    fn take_bandwidth(&mut self, sample: &RateSample, feedback: &Feedback) {
        // An ACK sooner than the least RTT tells of nothing that was sent once.
        if micros(sample.interval) < micros(feedback.min_rtt).max(1) {
            return;
        }
        let begins = sample.prior_delivered >= self.round_end;
        if begins {
            self.round_end = sample.total;
            self.round += 1;
            self.conserves = false;
        }
        let app_limited = sample.app_limited || self.limited.contains(&sample.prior_delivered);
        let rate = sample.delivered as f64 / (micros(sample.interval) as f64 * 1e-6);
        if !app_limited || rate >= self.most_bandwidth() {
            self.bandwidth.take(self.round, rate);
        }
        if feedback.delivered > 0 {
            let bandwidth = self.most_bandwidth();
            self.aggregation.take(feedback.now, feedback.delivered, bandwidth, begins, self.cwnd, self.mss);
        }
        if begins && !self.is_full && !app_limited {
            if self.most_bandwidth() >= self.full * FULL_GROWTH {
                self.full = self.most_bandwidth();
                self.full_rounds = 0;
            } else {
                self.full_rounds += 1;
                self.is_full = self.full_rounds >= FULL_ROUNDS;
            }
        }
    }

    /// What of `pipe` bytes will be in flight when the next segment leaves, that burst included if more is to be.
    fn at_departure(&self, pipe: u64, feedback: &Feedback) -> u64 {
        let delivered = whole(self.most_bandwidth() * feedback.until_departure.as_nanos() as f64 * 1e-9);
        let probes = self.mode == Mode::ProbeBandwidth && CYCLE[self.phase] > 1.0;
        let burst = if probes { self.burst() * u64::from(self.mss) } else { 0 };
        (pipe + burst).saturating_sub(delivered)
    }

    fn advance(&mut self, feedback: &Feedback) {
        let now = feedback.now;
        if self.mode == Mode::ProbeBandwidth {
            let before = self.at_departure(feedback.pipe_before, feedback);
            let elapsed = now.since(self.phase_at) > self.min_rtt.unwrap_or(Duration::ZERO);
            let gain = CYCLE[self.phase];
            let over = if gain > 1.0 {
                elapsed && (feedback.lost > 0 || before >= self.inflight(gain))
            } else if gain < 1.0 {
                elapsed || before <= self.inflight(1.0)
            } else {
                elapsed
            };
            if over {
                self.phase = (self.phase + 1) % CYCLE.len();
                self.phase_at = now;
            }
        }
        if self.mode == Mode::Startup && self.is_full {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain && self.at_departure(feedback.pipe, feedback) <= self.inflight(1.0) {
            self.probe_bandwidth(now);
        }
    }

    /// Begins anywhere in the cycle but where it drains (draft-00 §4.3.4.4), by chance: by the nanosecond that it is.
    fn probe_bandwidth(&mut self, now: Instant) {
        self.mode = Mode::ProbeBandwidth;
        let drawn = Xoshiro256PlusPlus::new(now.as_nanos()).next_u64() % (CYCLE.len() as u64 - 1);
        self.phase = (CYCLE.len() - usize::try_from(drawn).unwrap_or(0)) % CYCLE.len();
        self.phase_at = now;
    }

    fn watch_rtt(&mut self, feedback: &Feedback) {
        let now = feedback.now;
        if self.min_rtt.is_none() && feedback.min_rtt > Duration::ZERO {
            // That of the handshake.
            self.min_rtt = Some(feedback.min_rtt);
            self.min_rtt_at = now - feedback.rtt.unwrap_or(Duration::ZERO);
        }
        let expired = self.min_rtt.is_some() && now.since(self.min_rtt_at) > MIN_RTT_WINDOW;
        // What is not less by a microsecond does not count.
        if let Some(rtt) = feedback.rtt
            && (expired || self.min_rtt.is_none_or(|least| micros(rtt) < micros(least)))
        {
            self.min_rtt = Some(rtt);
            self.min_rtt_at = now;
        }
        if expired && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.before = self.before.max(self.cwnd);
            self.probe_until = None;
        }
        if self.mode == Mode::ProbeRtt {
            let total = feedback.rate.map_or(self.limited.start, |sample| sample.total);
            if self.probe_until.is_none() && !self.limited.contains(&total) {
                self.limited.start = total;
            }
            self.limited.end = total + feedback.pipe.max(1);
            match self.probe_until {
                None if feedback.pipe <= MIN_WINDOW * u64::from(self.mss) => {
                    self.probe_until = Some(now + PROBE_RTT_TIME);
                    self.probe_round = self.round + 1;
                }
                Some(until) if now > until && self.round >= self.probe_round => {
                    self.min_rtt_at = now;
                    self.cwnd = self.cwnd.max(self.before);
                    self.before = 0;
                    if self.is_full {
                        self.probe_bandwidth(now);
                    } else {
                        self.mode = Mode::Startup;
                    }
                }
                _ => {}
            }
        }
    }

    fn set_rate(&mut self, feedback: &Feedback) {
        let gain = match self.mode {
            Mode::Startup => HIGH_GAIN,
            Mode::Drain => DRAIN_GAIN,
            Mode::ProbeBandwidth => CYCLE[self.phase],
            Mode::ProbeRtt => 1.0,
        };
        let bandwidth = self.most_bandwidth();
        if !self.seen_rtt && !feedback.srtt.is_zero() {
            self.seen_rtt = true;
            // That of the handshake.
            let rtt = if feedback.min_rtt.is_zero() { feedback.srtt } else { feedback.min_rtt };
            self.pace = PACING_MARGIN * HIGH_GAIN * self.cwnd as f64 / (rtt.as_nanos() as f64 * 1e-9);
        }
        if bandwidth > 0.0 {
            let rate = gain * bandwidth * PACING_MARGIN;
            if self.is_full || rate > self.pace {
                self.pace = rate;
            }
        }
    }

    fn set_window(&mut self, feedback: &Feedback) {
        let mss = u64::from(self.mss);
        let acked = feedback.delivered;
        if acked == 0 {
            return;
        }
        if feedback.lost > 0 {
            self.cwnd = self.cwnd.saturating_sub(feedback.lost).max(mss);
        }
        if feedback.in_recovery != self.recovers {
            self.recovers = feedback.in_recovery;
            if self.recovers {
                self.conserves = true;
                self.round_end = feedback.rate.map_or(self.round_end, |sample| sample.total);
                self.cwnd = feedback.pipe + acked;
            } else {
                self.conserves = false;
                self.cwnd = self.cwnd.max(self.before);
                self.before = 0;
            }
        }
        if self.conserves {
            self.cwnd = self.cwnd.max(feedback.pipe + acked);
        } else {
            let gain = match self.mode {
                Mode::Startup | Mode::Drain => HIGH_GAIN,
                Mode::ProbeBandwidth => CWND_GAIN,
                Mode::ProbeRtt => 1.0,
            };
            let aggregated = if self.is_full { self.aggregation.allowance(self.most_bandwidth()) } else { 0 };
            let target = self.with_bursts(self.product(gain) + aggregated);
            let total = feedback.rate.map_or(0, |sample| sample.total);
            if self.is_full {
                self.cwnd = (self.cwnd + acked).min(target);
            } else if self.cwnd < target || total < INITIAL_WINDOW * mss {
                self.cwnd += acked;
            }
            self.cwnd = self.cwnd.max(MIN_WINDOW * mss);
        }
    }
}

impl CongestionControl for Bbr {
    fn name(&self) -> &'static str {
        Self::ABOUT.name
    }

    fn on_ack(&mut self, _ack: &mut Ack, _cwnd: u64) -> u64 {
        self.cwnd
    }

    fn on_congestion(&mut self, event: &Congestion) -> u64 {
        if self.cwnd == 0 {
            self.cwnd = event.cwnd;
        }
        self.before =
            if self.recovers || self.mode == Mode::ProbeRtt { self.before.max(self.cwnd) } else { self.cwnd };
        if event.signal == Signal::Timeout {
            self.recovers = true;
            self.conserves = true;
            self.full = 0.0;
            self.cwnd = u64::from(event.mss);
        }
        // There is no threshold: the window alone decides.
        u64::MAX / 2
    }

    fn on_idle(&mut self, now: Instant, _idle: Duration) {
        self.aggregation.restart(now);
    }

    fn wants_feedback(&self) -> bool {
        true
    }

    fn on_feedback(&mut self, feedback: &Feedback, window: &mut Window) {
        self.mss = feedback.mss;
        if self.cwnd == 0 {
            self.cwnd = window.cwnd;
        }
        if let Some(sample) = feedback.rate {
            self.take_bandwidth(&sample, feedback);
        }
        self.advance(feedback);
        self.watch_rtt(feedback);
        self.set_rate(feedback);
        self.set_window(feedback);
        if self.mode == Mode::ProbeRtt {
            self.cwnd = self.cwnd.min(MIN_WINDOW * u64::from(self.mss));
        }
        window.cwnd = self.cwnd;
        window.ssthresh = u64::MAX / 2;
    }

    fn controls_all(&self) -> bool {
        true
    }

    fn pacing_rate(&self) -> Option<u64> {
        Some(whole(self.pace).max(1))
    }
}

/// In microseconds, as Linux has times.
fn micros(span: Duration) -> u64 {
    span.as_nanos() / 1000
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates at 0 and u64::MAX"
)]
fn whole(value: f64) -> u64 {
    value as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1.25 MB/s (10 Mbit/s).
    const BANDWIDTH: f64 = 1.25e6;

    #[test]
    fn the_best_of_the_last_rounds_is_followed_by_the_best_of_their_later_quarters() {
        let mut most = Most::default();
        for (round, value) in [(1, 10.0), (2, 5.0), (5, 7.0), (8, 6.0), (9, 4.0)] {
            most.take(round, value);
            assert!((most.value() - 10.0).abs() < 1e-9);
        }
        most.take(12, 3.0);
        assert!((most.value() - 7.0).abs() < 1e-9, "the ten of eleven rounds ago are gone");
        most.take(17, 3.0);
        assert!(most.value() < 7.0);
        most.take(18, 20.0);
        assert!((most.value() - 20.0).abs() < 1e-9);
    }

    #[test]
    fn what_is_in_flight_counts_as_it_will_be_when_the_next_burst_leaves() {
        let mut bbr = Bbr { mode: Mode::ProbeBandwidth, phase: 2, ..Bbr::default() };
        bbr.bandwidth.take(1, BANDWIDTH);
        bbr.pace = BANDWIDTH;
        let feedback = feedback(Duration::from_millis(4));
        assert_eq!(bbr.at_departure(20_000, &feedback), 15_000);
        bbr.phase = 0;
        assert_eq!(bbr.at_departure(20_000, &feedback), 15_000 + 2 * 1460, "probing, with the burst itself");
        assert_eq!(bbr.at_departure(1000, &feedback), 0);
    }

    #[test]
    fn the_cycle_begins_anywhere_but_where_it_drains() {
        let mut begun = [0; CYCLE.len()];
        for nanos in 0..700 {
            let mut bbr = Bbr::default();
            bbr.probe_bandwidth(Instant::from_nanos(nanos * 1_234_567));
            begun[bbr.phase] += 1;
        }
        assert_eq!(begun[1], 0);
        assert!(begun.iter().enumerate().all(|(phase, &times)| phase == 1 || times > 60), "{begun:?}");
    }

    fn feedback(until_departure: Duration) -> Feedback {
        Feedback {
            now: Instant::ZERO,
            una: 0,
            next: 0,
            acked: 0,
            delivered: 0,
            lost: 0,
            pipe: 0,
            pipe_before: 0,
            until_departure,
            rtt: None,
            srtt: Duration::ZERO,
            min_rtt: Duration::ZERO,
            one_way_delay: None,
            stamps: None,
            ecn_echo: false,
            in_recovery: false,
            rate: None,
            mss: 1460,
        }
    }

    #[test]
    fn acks_that_come_in_bunches_of_ten_segments_let_the_window_be_as_much_larger_for_five_to_ten_rounds() {
        let mut aggregation = Aggregation::default();
        let mut now = Instant::ZERO;
        let mut round = |aggregation: &mut Aggregation, bunch: u64| {
            for ack in 0..4 {
                now += Duration::from_millis(12);
                aggregation.take(now, bunch, BANDWIDTH, ack == 0, u64::MAX, 1460);
            }
            aggregation.allowance(BANDWIDTH)
        };
        assert_eq!(round(&mut aggregation, 14_600), 14_600);
        for later in 1..=10 {
            let allowed = round(&mut aggregation, 1460);
            assert!(later > 4 || allowed == 14_600, "{allowed} in round {later}");
            assert!(later < 10 || allowed == 1460, "{allowed} in round {later}");
        }
    }
}
