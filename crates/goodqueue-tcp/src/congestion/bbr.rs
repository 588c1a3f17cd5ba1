//! BBR version 1 (Cardwell et al. 2016; draft-cardwell-iccrg-bbr-congestion-control-00): paces at
//! the bottleneck's rate as estimated, with about two bandwidth-delay products in flight at most.

mod aggregation;
mod bandwidth;
mod params;
mod policer;

use goodqueue::random::{Random, Xoshiro256PlusPlus};
use goodqueue::{Duration, Instant};

use crate::clock::{micros_between, ticks_between};
use crate::congestion::max_filter::MaxFilter;
use crate::congestion::own_limit::OwnLimit;
use crate::congestion::parameter::Value;
use crate::congestion::{
    About, Ack, Congestion, CongestionControl, Constant, Controller, Feedback, FeedbackTiming, Pacing,
    RateSample, Signal, Start, Window,
};

use aggregation::Aggregation;
use bandwidth::{Bandwidth, Gain};
use params::{PHASES, Params};
use policer::{Policer, PolicerSample};

/// The bandwidth is the maximum of this number of rounds (draft-00 §4.1.1.3): the eight phases of a
/// cycle, one of which probes, and two more (Linux `bbr_bw_rtts`).
const BANDWIDTH_ROUNDS: u64 = 10;
/// Startup ends when the bandwidth grew by less than a quarter in each of three rounds.
const FULL_GROWTH: Gain = Gain::of_256ths(320);
const FULL_ROUNDS: u32 = 3;
/// Least window in segments, and that of PROBE_RTT: two ACKs of two segments each are under way.
const MIN_WINDOW: u64 = 4;
/// So many bursts are allowed above the bandwidth-delay product (draft-00 §4.2.3.2), and what a
/// burst holds: what the pacing rate brings in 1/1024 s, two segments at least, one below 1.2
/// Mbit/s, and at most what a super-packet holds (Linux).
const BURSTS: u64 = 3;
const BURSTS_PER_SECOND: u64 = 1024;
const SINGLE_BELOW: u64 = 150_000;
const LONGEST_BURST: u64 = 65_215;
/// Assumed before the first RTT sample (Linux).
const INITIAL_RTT_MICROS: u64 = 1000;
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

/// BBR. Windows are in segments, as in Linux. One deviation: Linux counts packets. Here their bytes
/// are divided by the size of a full segment, so short segments count less.
#[derive(Clone, Debug)]
pub struct Bbr {
    params: Params,
    mode: Mode,
    bandwidth: MaxFilter<Bandwidth>,
    round: u64,
    round_end: u64,
    min_rtt: Option<Duration>,
    min_rtt_at: Instant,
    full: Bandwidth,
    full_rounds: u32,
    is_full: bool,
    phase: usize,
    phase_at: Instant,
    /// Gain of the pacing rate, as of the last ACK.
    gain: Gain,
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
    /// Pacing rate in bytes per second.
    pace: u64,
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
            full: Bandwidth::default(),
            full_rounds: 0,
            is_full: false,
            phase: 2,
            phase_at: Instant::ZERO,
            gain: Gain::of(params.startup_gain),
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
    /// `bytes` in segments.
    fn segments(&self, bytes: u64) -> u64 {
        bytes.div_ceil(u64::from(self.mss.max(1)))
    }

    fn most_bandwidth(&self) -> Bandwidth {
        self.bandwidth.value()
    }

    /// The bandwidth to send at: a policer's rate, or the most of the last rounds.
    fn used_bandwidth(&self) -> Bandwidth {
        self.policer.rate().unwrap_or_else(|| self.most_bandwidth())
    }

    /// `gain` bandwidth-delay products; before the first sample the initial window.
    fn product(&self, bandwidth: Bandwidth, gain: Gain) -> u64 {
        self.min_rtt.map_or(INITIAL_WINDOW, |rtt| bandwidth.product(micros(rtt), gain))
    }

    /// What a `product` needs so that bursts and delayed ACKs do not keep the path waiting.
    fn with_bursts(&self, product: u64) -> u64 {
        let probes = self.mode == Mode::ProbeBandwidth && self.phase == 0;
        let segments = product + BURSTS * self.burst();
        // Linux `bbr_quantization_budget()`: delayed ACKs come for two segments, and a probe must
        // exceed even a small product.
        segments.next_multiple_of(2) + if probes { 2 } else { 0 }
    }

    fn inflight(&self, gain: Gain) -> u64 {
        self.with_bursts(self.product(self.most_bandwidth(), gain))
    }

    /// Least segments of a burst.
    fn least_burst(&self) -> u32 {
        if self.pace < SINGLE_BELOW { 1 } else { 2 }
    }

    /// Segments of a burst.
    fn burst(&self) -> u64 {
        let least = u64::from(self.least_burst());
        let bytes = (self.pace / BURSTS_PER_SECOND).min(LONGEST_BURST);
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
            delivered: self.segments(sample.total),
            lost: self.segments(sample.lost),
            has_losses: feedback.lost > 0,
            begins_round: begins,
            app_limited,
            mss: self.mss,
        });
        let rate = Bandwidth::of(self.segments(sample.delivered), micros(sample.interval));
        // A sample that the application limited can be too small, but not too large.
        if !app_limited || rate >= self.most_bandwidth() {
            self.bandwidth.take(self.round, rate, BANDWIDTH_ROUNDS);
        }
        if feedback.delivered > 0 {
            let bandwidth = self.used_bandwidth();
            let acked = self.segments(feedback.delivered);
            self.aggregation.take(feedback.now, acked, bandwidth, begins, self.cwnd);
        }
        if begins && !self.is_full && !app_limited {
            if self.most_bandwidth() >= self.full.times(FULL_GROWTH) {
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
            self.gain = Gain::ONE;
        }
    }

    /// How many segments of `pipe` bytes will be in flight when the next segment leaves, that burst
    /// included if more is to be (Linux `bbr_packets_in_net_at_edt()`).
    fn at_departure(&self, pipe: u64, feedback: &Feedback) -> u64 {
        let delivered = self.used_bandwidth().segments_in(micros(feedback.until_departure));
        let burst = if self.gain > Gain::ONE { self.burst() } else { 0 };
        (self.segments(pipe) + burst).saturating_sub(delivered)
    }

    fn advance(&mut self, feedback: &Feedback) {
        let now = feedback.now;
        if self.mode == Mode::ProbeBandwidth {
            let before = self.at_departure(feedback.pipe_before, feedback);
            let elapsed = micros_between(self.phase_at, self.delivered_at) > self.min_rtt.map_or(0, micros);
            let gain = self.gain;
            // A path with a small buffer may not hold the probe, so a loss ends it too. A longer
            // drain than the queue needs would leave the path idle (Linux
            // `bbr_is_next_cycle_phase()`).
            let over = if gain > Gain::ONE {
                elapsed && (feedback.lost > 0 || before >= self.inflight(gain))
            } else if gain < Gain::ONE {
                elapsed || before <= self.inflight(Gain::ONE)
            } else {
                elapsed
            };
            if over {
                self.phase = (self.phase + 1) % PHASES;
                self.phase_at = self.delivered_at;
            }
        }
        if self.mode == Mode::Startup && self.is_full {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain && self.at_departure(feedback.pipe, feedback) <= self.inflight(Gain::ONE)
        {
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
        self.phase_at = self.delivered_at;
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
            Mode::ProbeBandwidth => self.set_pace(Gain::ONE),
            Mode::ProbeRtt => self.end_probe_rtt(now),
            Mode::Startup | Mode::Drain => {}
        }
    }

    /// Keeps the small window for 200 ms and a round, which begins when the window is small.
    fn probe_rtt(&mut self, feedback: &Feedback, begins_round: bool) {
        let now = feedback.now;
        self.limited.extend(self.delivered, feedback.pipe);
        if self.probe_since.is_none() {
            if self.segments(feedback.pipe) <= MIN_WINDOW {
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
            Mode::Startup => Gain::of(self.params.startup_gain),
            Mode::Drain => Gain::of(self.params.drain_gain),
            Mode::ProbeBandwidth if self.policer.rate().is_some() => Gain::ONE,
            Mode::ProbeBandwidth => Gain::of(self.params.gain_of(self.phase)),
            Mode::ProbeRtt => Gain::ONE,
        };
        // Only for senders that tell of no start.
        self.set_initial_pace(self.cwnd, feedback.srtt);
        self.set_pace(self.gain);
    }

    /// Paces a window of `cwnd` segments over the first RTT that is known
    /// (`bbr_init_pacing_rate_from_rtt`).
    fn set_initial_pace(&mut self, cwnd: u64, rtt: Duration) {
        if self.seen_rtt || rtt.is_zero() {
            return;
        }
        self.seen_rtt = true;
        self.pace = Bandwidth::of(cwnd, micros(rtt)).pace(Gain::of(self.params.startup_gain), self.mss);
    }

    /// Paces at `gain` times the bandwidth, if one has been measured.
    fn set_pace(&mut self, gain: Gain) {
        let bandwidth = self.used_bandwidth();
        if !bandwidth.is_zero() {
            let rate = bandwidth.pace(gain, self.mss);
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
        self.full = Bandwidth::default();
        self.cwnd = 1;
    }

    fn set_window(&mut self, feedback: &Feedback) {
        let acked = self.segments(feedback.delivered);
        let pipe = self.segments(feedback.pipe);
        if acked == 0 {
            return;
        }
        // An ACK lets at most twice as much leave as it delivered. Losses are subtracted first, and
        // the window then grows by what was delivered (Linux
        // `bbr_set_cwnd_to_recover_or_restore()`).
        if feedback.lost > 0 {
            self.cwnd = self.cwnd.saturating_sub(self.segments(feedback.lost)).max(1);
        }
        if self.recovers_from == Recovery::Fast && self.recovered_from != Recovery::Fast {
            self.conserves = true;
            self.round_end = self.delivered;
            // The part of the window that was not in use is cut off.
            self.cwnd = pipe + acked;
        } else if self.recovers_from == Recovery::None && self.recovered_from != Recovery::None {
            self.conserves = false;
            self.cwnd = self.cwnd.max(self.before);
        }
        self.recovered_from = self.recovers_from;
        if self.conserves {
            // Packet conservation: a segment leaves for each one that arrived.
            self.cwnd = self.cwnd.max(pipe + acked);
        } else {
            let gain = match self.mode {
                Mode::Startup | Mode::Drain => Gain::of(self.params.startup_gain),
                Mode::ProbeBandwidth => Gain::of(self.params.cwnd_gain),
                Mode::ProbeRtt => Gain::ONE,
            };
            let bandwidth = self.used_bandwidth();
            let aggregated = if self.is_full { self.aggregation.allowance(bandwidth) } else { 0 };
            let target = self.with_bursts(self.product(bandwidth, gain) + aggregated);
            // Before the pipe is full the target is too small to cut the window to it.
            if self.is_full {
                self.cwnd = (self.cwnd + acked).min(target);
            // Linux counts the SYN, or the SYN/ACK, as a delivered segment.
            } else if self.cwnd < target || self.segments(self.delivered) + 1 < INITIAL_WINDOW {
                self.cwnd += acked;
            }
            self.cwnd = self.cwnd.max(MIN_WINDOW);
        }
    }
}

impl CongestionControl for Bbr {
    fn on_ack(&mut self, _ack: &mut Ack, _cwnd: u64) -> u64 {
        self.cwnd * u64::from(self.mss)
    }

    fn on_congestion(&mut self, event: &Congestion) -> u64 {
        self.mss = event.mss;
        if self.cwnd == 0 {
            self.cwnd = self.segments(event.cwnd);
        }
        // In recovery and in PROBE_RTT the window is small for a time, so the one saved before
        // counts.
        let keeps_last = self.recovered_from != Recovery::None || self.mode == Mode::ProbeRtt;
        self.before = if keeps_last { self.before.max(self.cwnd) } else { self.cwnd };
        match event.signal {
            Signal::Loss => self.recovers_from = Recovery::Fast,
            Signal::Timeout => self.lose_all(),
            Signal::Ecn => {}
        }
        // There is no threshold: the window alone decides.
        u64::MAX / 2
    }

    fn on_timeout(&mut self, lost: u64) {
        self.lose_all();
        self.look_for_policer(&PolicerSample {
            delivered_at: self.delivered_at,
            delivered: self.segments(self.delivered),
            lost: self.segments(lost),
            has_losses: true,
            // Linux takes a timeout for the end of a round (`bbr_set_state()`).
            begins_round: true,
            app_limited: false,
            mss: self.mss,
        });
    }

    fn on_undo(&mut self) {
        self.full = Bandwidth::default();
        self.full_rounds = 0;
        self.policer = Policer::default();
    }

    fn on_idle(&mut self, now: Instant, _idle: Duration) {
        self.restart_from_idle(now);
    }

    fn on_start(&mut self, start: &Start) {
        // Before the first data, because its ACK already changes the RTT.
        self.mss = start.mss;
        self.set_initial_pace(self.segments(start.cwnd), start.srtt);
        if start.app_limited {
            self.restart_from_idle(start.now);
        }
    }

    fn on_feedback(&mut self, feedback: &Feedback, window: &mut Window) {
        self.mss = feedback.mss;
        if self.cwnd == 0 {
            self.cwnd = self.segments(window.cwnd);
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
            self.cwnd = self.cwnd.min(MIN_WINDOW);
        }
        window.cwnd = self.cwnd * u64::from(self.mss);
        window.ssthresh = u64::MAX / 2;
    }

    fn pacing(&self) -> Pacing {
        // A rate of 0 would let nothing leave.
        Pacing { rate: Some(self.pace.max(1)), least_burst: self.least_burst(), ..Pacing::UNPACED }
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
        // While it recovers from losses, a window more is kept (Linux `bbr_sndbuf_expand`).
        buffered_windows: 3,
        ..About::PLAIN
    };

    fn set(&mut self, parameter: &str, value: Value) {
        self.params.set(parameter, value);
        self.gain = Gain::of(self.params.startup_gain);
        self.pace = initial_pace(&self.params);
    }
}

/// Bytes per second before the first RTT sample.
fn initial_pace(params: &Params) -> u64 {
    Bandwidth::of(INITIAL_WINDOW, INITIAL_RTT_MICROS).pace(Gain::of(params.startup_gain), 1460)
}

/// In microseconds, as Linux has times.
fn micros(span: Duration) -> u64 {
    span.as_nanos() / 1000
}

#[cfg(test)]
mod tests;
