//! BBR version 1 (Cardwell et al. 2016; draft-cardwell-iccrg-bbr-congestion-control-00): paces at
//! the bottleneck's rate as estimated, with about two bandwidth-delay products in flight at most.

mod aggregation;
mod params;
mod policer;

use goodqueue::random::{Random, Xoshiro256PlusPlus};
use goodqueue::{Duration, Instant};

use crate::clock::ticks_between;
use crate::congestion::max_filter::MaxFilter;
use crate::congestion::own_limit::OwnLimit;
use crate::congestion::parameter::Value;
use crate::congestion::whole::whole;
use crate::congestion::{
    About, Ack, Congestion, CongestionControl, Constant, Controller, Feedback, FeedbackTiming, Pacing,
    RateSample, Signal, Start, Window,
};

use aggregation::Aggregation;
use params::{PHASES, Params};
use policer::{Policer, PolicerSample};

/// The bandwidth is the maximum of this number of rounds (draft-00 §4.1.1.3): the eight phases of a
/// cycle, one of which probes, and two more (Linux `bbr_bw_rtts`).
const BANDWIDTH_ROUNDS: u64 = 10;
/// Startup ends when the bandwidth grew by less than a quarter in each of three rounds.
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;
/// The pacing rate is this share of the estimate, so that the queue becomes shorter (Linux).
const PACING_MARGIN: f64 = 0.99;
/// Least window in segments, and that of PROBE_RTT: two ACKs of two segments each are under way.
const MIN_WINDOW: u64 = 4;
/// So many bursts are allowed above the bandwidth-delay product (draft-00 §4.2.3.2), and what a
/// burst holds: what the pacing rate brings in 1/1024 s, two segments at least, one below 1.2
/// Mbit/s, and at most what a super-packet holds (Linux).
const BURSTS: u64 = 3;
const BURSTS_PER_SECOND: f64 = 1024.0;
const SINGLE_BELOW: f64 = 150_000.0;
const LONGEST_BURST: f64 = 65_215.0;
/// Assumed before the first RTT sample (Linux).
const INITIAL_RTT: Duration = Duration::from_millis(1);
const INITIAL_WINDOW: u64 = 10;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    Startup,
    Drain,
    ProbeBandwidth,
    ProbeRtt,
}

/// What the sender is recovering from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Recovery {
    None,
    /// Losses that ACKs showed; the first round sends only as much as is delivered.
    Fast,
    /// A timeout.
    Timeout,
}

/// BBR. Rates are in bytes per second, windows in bytes.
#[derive(Clone, Debug)]
pub struct Bbr {
    params: Params,
    mode: Mode,
    bandwidth: MaxFilter,
    round: u64,
    round_end: u64,
    min_rtt: Option<Duration>,
    min_rtt_at: Instant,
    full: f64,
    full_rounds: u32,
    is_full: bool,
    phase: usize,
    phase_at: Instant,
    /// Gain of the pacing rate, as of the last ACK.
    gain: f64,
    /// No ACK has come since the first segment after a pause.
    restarts: bool,
    /// Since when `PROBE_RTT` has had its small window, and whether a round has begun since then.
    probe_since: Option<Instant>,
    probe_round_over: bool,
    /// Samples of the small window of `PROBE_RTT` say nothing of the bandwidth.
    limited: OwnLimit,
    cwnd: u64,
    before: u64,
    /// What the last ACK found the sender recovering from, and what it is recovering from now.
    recovered_from: Recovery,
    recovers_from: Recovery,
    conserves: bool,
    pace: f64,
    aggregation: Aggregation,
    policer: Policer,
    /// Time of the last delivery, and bytes delivered in all by then.
    delivered_at: Instant,
    delivered: u64,
    seen_rtt: bool,
    mss: u32,
}

impl Default for Bbr {
    fn default() -> Self {
        let params = Params::default();
        Self {
            params,
            mode: Mode::Startup,
            bandwidth: MaxFilter::default(),
            round: 0,
            round_end: 0,
            min_rtt: None,
            min_rtt_at: Instant::ZERO,
            full: 0.0,
            full_rounds: 0,
            is_full: false,
            phase: 2,
            phase_at: Instant::ZERO,
            gain: params.startup_gain,
            restarts: false,
            probe_since: None,
            probe_round_over: false,
            limited: OwnLimit::default(),
            cwnd: 0,
            before: 0,
            recovered_from: Recovery::None,
            recovers_from: Recovery::None,
            conserves: false,
            pace: initial_pace(&params),
            aggregation: Aggregation::default(),
            policer: Policer::default(),
            delivered_at: Instant::ZERO,
            delivered: 0,
            seen_rtt: false,
            mss: 1460,
        }
    }
}

impl Bbr {
    fn most_bandwidth(&self) -> f64 {
        self.bandwidth.value()
    }

    /// The bandwidth to send at: a policer's rate, or the most of the last rounds.
    fn used_bandwidth(&self) -> f64 {
        self.policer.rate().unwrap_or_else(|| self.most_bandwidth())
    }

    /// `gain` bandwidth-delay products in bytes; before the first sample the initial window.
    fn product(&self, bandwidth: f64, gain: f64) -> u64 {
        let mss = u64::from(self.mss);
        let Some(rtt) = self.min_rtt else { return INITIAL_WINDOW * mss };
        // Linux rounds up: a product that is too small would lower the rate, and thereby the next
        // product.
        whole(gain * bandwidth * micros(rtt) as f64 * 1e-6).next_multiple_of(mss.max(1))
    }

    /// What `product` bytes need so that bursts and delayed ACKs do not keep the path waiting.
    fn with_bursts(&self, product: u64) -> u64 {
        let probes = self.mode == Mode::ProbeBandwidth && self.phase == 0;
        let mss = u64::from(self.mss);
        let segments = product.div_ceil(mss) + BURSTS * self.burst();
        // Linux `bbr_quantization_budget()`: delayed ACKs come for two segments, and a probe must
        // exceed even a small product.
        (segments.next_multiple_of(2) + if probes { 2 } else { 0 }) * mss
    }

    fn inflight(&self, gain: f64) -> u64 {
        self.with_bursts(self.product(self.most_bandwidth(), gain))
    }

    /// Least segments of a burst.
    fn least_burst(&self) -> u32 {
        if self.pace < SINGLE_BELOW { 1 } else { 2 }
    }

    /// Segments of a burst.
    fn burst(&self) -> u64 {
        let least = u64::from(self.least_burst());
        let bytes = whole((self.pace / BURSTS_PER_SECOND).min(LONGEST_BURST));
        // Linux keeps the number in seven bits (`bbr_tso_segs_goal()`).
        (bytes / u64::from(self.mss.max(1))).clamp(least, 127)
    }

    /// Returns whether a round begins.
    fn take_bandwidth(&mut self, sample: &RateSample, feedback: &Feedback) -> bool {
        // An ACK sooner than the least RTT tells of nothing that was sent once.
        if micros(sample.interval) < micros(feedback.min_rtt).max(1) {
            return false;
        }
        let begins = sample.prior_delivered >= self.round_end;
        if begins {
            self.round_end = sample.total;
            self.round += 1;
            // Only the first round of a recovery sends no more than is delivered.
            self.conserves = false;
        }
        let app_limited = sample.app_limited || self.limited.covers(sample.prior_delivered);
        self.look_for_policer(&PolicerSample {
            delivered_at: self.delivered_at,
            delivered: sample.total,
            lost: sample.lost,
            has_losses: feedback.lost > 0,
            begins_round: begins,
            app_limited,
        });
        let rate = sample.delivered as f64 / (micros(sample.interval) as f64 * 1e-6);
        // A sample that the application limited can be too small, but not too large.
        if !app_limited || rate >= self.most_bandwidth() {
            self.bandwidth.take(self.round, rate, BANDWIDTH_ROUNDS);
        }
        if feedback.delivered > 0 {
            let bandwidth = self.used_bandwidth();
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
        begins
    }

    fn look_for_policer(&mut self, account: &PolicerSample) {
        if self.policer.take(account, self.mode == Mode::ProbeBandwidth) {
            self.probe_bandwidth(account.delivered_at);
        }
        if self.policer.rate().is_some() && self.mode == Mode::ProbeBandwidth {
            self.gain = 1.0;
        }
    }

    /// What of `pipe` bytes will be in flight when the next segment leaves, that burst included if
    /// more is to be.
    fn at_departure(&self, pipe: u64, feedback: &Feedback) -> u64 {
        let delivered = whole(self.used_bandwidth() * feedback.until_departure.as_nanos() as f64 * 1e-9);
        let burst = if self.gain > 1.0 { self.burst() * u64::from(self.mss) } else { 0 };
        (pipe + burst).saturating_sub(delivered)
    }

    fn advance(&mut self, feedback: &Feedback) {
        let now = feedback.now;
        if self.mode == Mode::ProbeBandwidth {
            let before = self.at_departure(feedback.pipe_before, feedback);
            let elapsed = now.since(self.phase_at) > self.min_rtt.unwrap_or(Duration::ZERO);
            let gain = self.gain;
            // A path with a small buffer may not hold the probe, so a loss ends it too. A longer
            // drain than the queue needs would leave the path idle (Linux
            // `bbr_is_next_cycle_phase()`).
            let over = if gain > 1.0 {
                elapsed && (feedback.lost > 0 || before >= self.inflight(gain))
            } else if gain < 1.0 {
                elapsed || before <= self.inflight(1.0)
            } else {
                elapsed
            };
            if over {
                self.phase = (self.phase + 1) % PHASES;
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

    /// Begins anywhere in the cycle but where it drains (draft-00 §4.3.4.4), by chance: by the
    /// nanosecond that it is.
    fn probe_bandwidth(&mut self, now: Instant) {
        self.mode = Mode::ProbeBandwidth;
        // A controller has no random source, and flows reach this point at different times.
        let drawn = Xoshiro256PlusPlus::new(now.as_nanos()).next_u64() % (PHASES as u64 - 1);
        self.phase = (PHASES - usize::try_from(drawn).unwrap_or(0)) % PHASES;
        self.phase_at = now;
    }

    fn watch_rtt(&mut self, feedback: &Feedback, begins_round: bool) {
        let now = feedback.now;
        if self.min_rtt.is_none() && feedback.min_rtt > Duration::ZERO {
            // That of the handshake.
            self.min_rtt = Some(feedback.min_rtt);
            self.min_rtt_at = now - feedback.rtt.unwrap_or(Duration::ZERO);
        }
        // Linux keeps this time in ticks (`min_rtt_stamp`).
        let expired =
            self.min_rtt.is_some() && ticks_between(self.min_rtt_at, now) > self.params.min_rtt_window;
        // What is not less by a microsecond does not count.
        if let Some(rtt) = feedback.rtt
            && (expired || self.min_rtt.is_none_or(|least| micros(rtt) < micros(least)))
        {
            self.min_rtt = Some(rtt);
            self.min_rtt_at = now;
        }
        // A pause drains the queue better than PROBE_RTT does, so what comes after it is measured
        // first.
        if expired && self.mode != Mode::ProbeRtt && !self.restarts {
            self.mode = Mode::ProbeRtt;
            self.before = self.before.max(self.cwnd);
            self.probe_since = None;
        }
        if self.mode == Mode::ProbeRtt {
            self.probe_rtt(feedback, begins_round);
        }
        if feedback.delivered > 0 {
            self.restarts = false;
        }
    }

    /// The first segment after a pause of the application is about to leave (Linux
    /// `bbr_cwnd_event()`).
    fn restart_from_idle(&mut self, now: Instant) {
        self.restarts = true;
        self.aggregation.restart(now);
        match self.mode {
            // A queue need not be probed for or drained at once: the pause has drained it.
            Mode::ProbeBandwidth => self.set_pace(1.0),
            Mode::ProbeRtt => self.end_probe_rtt(now),
            Mode::Startup | Mode::Drain => {}
        }
    }

    /// Keeps the small window for 200 ms and a round, which begins when the window is small.
    fn probe_rtt(&mut self, feedback: &Feedback, begins_round: bool) {
        let now = feedback.now;
        self.limited.extend(self.delivered, feedback.pipe);
        if self.probe_since.is_none() {
            if feedback.pipe <= MIN_WINDOW * u64::from(self.mss) {
                self.probe_since = Some(now);
                self.probe_round_over = false;
                self.round_end = self.delivered;
            }
            return;
        }
        self.probe_round_over |= begins_round;
        if self.probe_round_over {
            self.end_probe_rtt(now);
        }
    }

    /// Ends `PROBE_RTT` if its time is over.
    fn end_probe_rtt(&mut self, now: Instant) {
        let is_over = |since| ticks_between(since, now) > self.params.probe_rtt_time;
        if self.probe_since.is_some_and(is_over) {
            self.min_rtt_at = now;
            self.cwnd = self.cwnd.max(self.before);
            if self.is_full {
                self.probe_bandwidth(now);
            } else {
                self.mode = Mode::Startup;
            }
        }
    }

    fn set_rate(&mut self, feedback: &Feedback) {
        self.gain = match self.mode {
            Mode::Startup => self.params.startup_gain,
            Mode::Drain => self.params.drain_gain,
            Mode::ProbeBandwidth if self.policer.rate().is_some() => 1.0,
            Mode::ProbeBandwidth => self.params.gain_of(self.phase),
            Mode::ProbeRtt => 1.0,
        };
        if !self.seen_rtt && !feedback.srtt.is_zero() {
            self.seen_rtt = true;
            // That of the handshake.
            let rtt = if feedback.min_rtt.is_zero() { feedback.srtt } else { feedback.min_rtt };
            self.pace =
                PACING_MARGIN * self.params.startup_gain * self.cwnd as f64 / (rtt.as_nanos() as f64 * 1e-9);
        }
        self.set_pace(self.gain);
    }

    /// Paces at `gain` times the bandwidth, if one has been measured.
    fn set_pace(&mut self, gain: f64) {
        let bandwidth = self.used_bandwidth();
        if bandwidth > 0.0 {
            let rate = gain * bandwidth * PACING_MARGIN;
            // Linux `bbr_set_pacing_rate()`: until the pipe is full the rate only rises.
            if self.is_full || rate > self.pace {
                self.pace = rate;
            }
        }
    }

    /// A timeout: nothing is in flight any more.
    fn lose_all(&mut self) {
        self.recovered_from = Recovery::Timeout;
        self.recovers_from = Recovery::Timeout;
        self.full = 0.0;
        self.cwnd = u64::from(self.mss);
    }

    fn set_window(&mut self, feedback: &Feedback) {
        let mss = u64::from(self.mss);
        let acked = feedback.delivered;
        if acked == 0 {
            return;
        }
        // An ACK lets at most twice as much leave as it delivered. Losses are subtracted first, and
        // the window then grows by what was delivered (Linux
        // `bbr_set_cwnd_to_recover_or_restore()`).
        if feedback.lost > 0 {
            self.cwnd = self.cwnd.saturating_sub(feedback.lost).max(mss);
        }
        if self.recovers_from == Recovery::Fast && self.recovered_from != Recovery::Fast {
            self.conserves = true;
            self.round_end = self.delivered;
            // The part of the window that was not in use is cut off.
            self.cwnd = feedback.pipe + acked;
        } else if self.recovers_from == Recovery::None && self.recovered_from != Recovery::None {
            self.conserves = false;
            self.cwnd = self.cwnd.max(self.before);
        }
        self.recovered_from = self.recovers_from;
        if self.conserves {
            // Packet conservation: a segment leaves for each one that arrived.
            self.cwnd = self.cwnd.max(feedback.pipe + acked);
        } else {
            let gain = match self.mode {
                Mode::Startup | Mode::Drain => self.params.startup_gain,
                Mode::ProbeBandwidth => self.params.cwnd_gain,
                Mode::ProbeRtt => 1.0,
            };
            let bandwidth = self.used_bandwidth();
            let aggregated = if self.is_full { self.aggregation.allowance(bandwidth) } else { 0 };
            let target = self.with_bursts(self.product(bandwidth, gain) + aggregated);
            // Before the pipe is full the target is too small to cut the window to it.
            if self.is_full {
                self.cwnd = (self.cwnd + acked).min(target);
            } else if self.cwnd < target || self.delivered < INITIAL_WINDOW * mss {
                self.cwnd += acked;
            }
            self.cwnd = self.cwnd.max(MIN_WINDOW * mss);
        }
    }
}

impl CongestionControl for Bbr {
    fn on_ack(&mut self, _ack: &mut Ack, _cwnd: u64) -> u64 {
        self.cwnd
    }

    fn on_congestion(&mut self, event: &Congestion) -> u64 {
        if self.cwnd == 0 {
            self.cwnd = event.cwnd;
        }
        // In recovery and in PROBE_RTT the window is small for a time, so the one saved before
        // counts.
        let keeps_last = self.recovered_from != Recovery::None || self.mode == Mode::ProbeRtt;
        self.before = if keeps_last { self.before.max(self.cwnd) } else { self.cwnd };
        match event.signal {
            Signal::Loss => self.recovers_from = Recovery::Fast,
            Signal::Timeout => {
                self.mss = event.mss;
                self.lose_all();
            }
            Signal::Ecn => {}
        }
        // There is no threshold: the window alone decides.
        u64::MAX / 2
    }

    fn on_timeout(&mut self, lost: u64) {
        self.lose_all();
        self.look_for_policer(&PolicerSample {
            delivered_at: self.delivered_at,
            delivered: self.delivered,
            lost,
            has_losses: true,
            // Linux takes a timeout for the end of a round (`bbr_set_state()`).
            begins_round: true,
            app_limited: false,
        });
    }

    fn on_undo(&mut self) {
        self.full = 0.0;
        self.full_rounds = 0;
        self.policer = Policer::default();
    }

    fn on_idle(&mut self, now: Instant, _idle: Duration) {
        self.restart_from_idle(now);
    }

    fn on_start(&mut self, start: &Start) {
        if start.app_limited {
            self.restart_from_idle(start.now);
        }
    }

    fn on_feedback(&mut self, feedback: &Feedback, window: &mut Window) {
        self.mss = feedback.mss;
        if self.cwnd == 0 {
            self.cwnd = window.cwnd;
        }
        if !feedback.in_recovery {
            self.recovers_from = Recovery::None;
        } else if self.recovers_from == Recovery::None {
            self.recovers_from = Recovery::Fast;
        }
        if feedback.delivered > 0 {
            self.delivered_at = feedback.now;
            self.delivered += feedback.delivered;
        }
        let begins_round = feedback.rate.is_some_and(|sample| self.take_bandwidth(&sample, feedback));
        self.advance(feedback);
        self.watch_rtt(feedback, begins_round);
        self.set_rate(feedback);
        self.set_window(feedback);
        if self.mode == Mode::ProbeRtt {
            self.cwnd = self.cwnd.min(MIN_WINDOW * u64::from(self.mss));
        }
        window.cwnd = self.cwnd;
        window.ssthresh = u64::MAX / 2;
    }

    fn pacing(&self) -> Pacing {
        // A rate of 0 would let nothing leave.
        Pacing { rate: Some(whole(self.pace).max(1)), least_burst: self.least_burst(), ..Pacing::UNPACED }
    }
}

impl Controller for Bbr {
    const ABOUT: About = About {
        name: "bbr",
        summary: "paces at the bandwidth that it measures; losses change nothing but one round",
        reference: "Cardwell et al. 2016; draft-cardwell-iccrg-bbr-congestion-control-00 (version 1)",
        parameters: Params::TABLE,
        constants: &[
            Constant { name: "phases of a probe cycle", value: "8", source: "draft-00 §4.3.4" },
            Constant { name: "bursts above it", value: "3", source: "draft-00 §4.2.3.2" },
            Constant { name: "aggregation window", value: "5 rounds", source: "Linux 6.1 tcp_bbr" },
            Constant {
                name: "policer",
                value: "20 % lost in each of two intervals of 4 to 16 rounds",
                source: "Linux 6.1 tcp_bbr",
            },
            Constant { name: "pacing margin", value: "1 %", source: "Linux 6.1 tcp_bbr" },
        ],
        feedback: FeedbackTiming::EveryAck,
        controls_all: true,
        ..About::PLAIN
    };

    fn set(&mut self, parameter: &str, value: Value) {
        self.params.set(parameter, value);
        self.gain = self.params.startup_gain;
        self.pace = initial_pace(&self.params);
    }
}

/// Bytes per second before the first RTT sample.
fn initial_pace(params: &Params) -> f64 {
    PACING_MARGIN * params.startup_gain * (INITIAL_WINDOW * 1460) as f64
        / (INITIAL_RTT.as_nanos() as f64 * 1e-9)
}

/// In microseconds, as Linux has times.
fn micros(span: Duration) -> u64 {
    span.as_nanos() / 1000
}

#[cfg(test)]
mod tests;
