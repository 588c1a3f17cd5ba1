//! The controller's state, and how it sets pacing rate and window.

use goodqueue::{Duration, Instant};

use super::bounds::{Losses, Undo};
use super::cycle::{Cycle, Phase};
use super::full_pipe::FullPipe;
use super::least_rtt::ProbeRtt;
use super::model::{Model, Sample};
use super::params::Params;
use super::state::State;
use super::units::{INFINITE, seconds};
use crate::congestion::Feedback;
use crate::congestion::whole::whole;

/// Least window in segments (`MinPipeCwnd`, §2.7).
const MIN_PIPE: u64 = 4;
/// The pacing rate is this share of the bandwidth (`PacingMarginPercent`, §2.4).
const PACING_MARGIN: f64 = 0.99;
/// What leaves together lasts this long at the pacing rate, within these bounds in segments and in
/// bytes (`SetSendQuantum`, §5.6.3).
const QUANTUM_SECONDS: f64 = 0.001;
const LEAST_QUANTUM: u64 = 2;
const MOST_QUANTUM: u64 = 64 * 1024;
/// So many of these are in the hosts at both ends (§5.5.8.1).
const QUANTA_IN_HOSTS: u64 = 3;
/// Assumed before the first RTT sample (§5.6.2).
const INITIAL_RTT: Duration = Duration::from_millis(1);
const INITIAL_WINDOW: u64 = 10;

/// BBR version 3. Rates are in bytes per second, windows in bytes.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    pub(super) params: Params,
    pub(super) state: State,
    pub(super) model: Model,
    pub(super) full: FullPipe,
    pub(super) cycle: Cycle,
    pub(super) rtt: ProbeRtt,
    pub(super) losses: Losses,
    pub(super) undo: Undo,
    /// Number of the round in which `Drain` began.
    pub(super) drain_start_round: u64,
    /// The sender began again after a pause.
    pub(super) idle_restart: bool,
    pub(super) in_recovery: bool,
    /// Number of the round in which recovery began.
    pub(super) recovery_round: u64,
    pub(super) cwnd: u64,
    /// The window before recovery or `ProbeRTT`.
    pub(super) prior_cwnd: u64,
    pub(super) initial_cwnd: u64,
    pub(super) pace: f64,
    pub(super) seen_rtt: bool,
    pub(super) mss: u64,
}

impl Default for Bbr3 {
    fn default() -> Self {
        let params = Params::default();
        Self {
            params,
            state: State::Startup,
            model: Model::default(),
            full: FullPipe::default(),
            cycle: Cycle::default(),
            rtt: ProbeRtt::default(),
            losses: Losses::default(),
            undo: Undo::default(),
            drain_start_round: 0,
            idle_restart: false,
            in_recovery: false,
            recovery_round: 0,
            cwnd: 0,
            prior_cwnd: 0,
            initial_cwnd: 0,
            pace: Self::initial_pace(&params, 1460),
            seen_rtt: false,
            mss: 1460,
        }
    }
}

impl Bbr3 {
    /// The pacing rate before the first RTT sample.
    pub(super) fn initial_pace(params: &Params, mss: u64) -> f64 {
        params.startup_pacing_gain * (INITIAL_WINDOW * mss) as f64 / seconds(INITIAL_RTT)
    }

    pub(super) fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => self.params.startup_pacing_gain,
            State::Drain => self.params.drain_pacing_gain,
            State::ProbeBw(Phase::Down) => self.params.probe_down_gain,
            State::ProbeBw(Phase::Up) => self.params.probe_up_gain,
            State::ProbeBw(Phase::Cruise | Phase::Refill) | State::ProbeRtt => 1.0,
        }
    }

    pub(super) fn cwnd_gain(&self) -> f64 {
        match self.state {
            State::ProbeBw(Phase::Up) => self.params.probe_up_cwnd_gain,
            State::ProbeRtt => self.params.probe_rtt_cwnd_gain,
            _ => self.params.cwnd_gain,
        }
    }

    /// `gain` bandwidth-delay products; before the first RTT sample the initial window
    /// (`BDPMultiple`).
    pub(super) fn bdp_multiple(&self, bw: f64, gain: f64) -> u64 {
        match self.rtt.min_rtt() {
            Some(rtt) => whole(gain * bw * seconds(rtt)),
            None => self.initial_cwnd,
        }
    }

    /// The estimated bandwidth-delay product.
    pub(super) fn bdp(&self) -> u64 {
        self.bdp_multiple(self.model.bw(), 1.0)
    }

    /// What is to be in flight: the bandwidth-delay product, unless congestion cut the window
    /// (`TargetInflight`).
    pub(super) fn target_inflight(&self) -> u64 {
        self.bdp().min(self.cwnd)
    }

    pub(super) fn send_quantum(&self) -> u64 {
        // Two segments may exceed 64 KiB, and `clamp` must not see bounds that cross.
        whole(self.pace * QUANTUM_SECONDS)
            .clamp(LEAST_QUANTUM * self.mss, MOST_QUANTUM.max(LEAST_QUANTUM * self.mss))
    }

    /// `inflight`, and at least what the hosts and delayed ACKs need (`QuantizationBudget`).
    pub(super) fn quantized(&self, inflight: u64) -> u64 {
        let least = (QUANTA_IN_HOSTS * self.send_quantum()).max(self.min_pipe());
        // A probe must exceed even a small product.
        let probing = if self.state == State::ProbeBw(Phase::Up) { 2 * self.mss } else { 0 };
        inflight.max(least) + probing
    }

    /// What is in flight at `bw` with `gain` (`Inflight`).
    pub(super) fn inflight(&self, bw: f64, gain: f64) -> u64 {
        self.quantized(self.bdp_multiple(bw, gain))
    }

    pub(super) fn min_pipe(&self) -> u64 {
        MIN_PIPE * self.mss
    }

    pub(super) fn probe_rtt_cwnd(&self) -> u64 {
        self.bdp_multiple(self.model.bw(), self.params.probe_rtt_cwnd_gain).max(self.min_pipe())
    }

    pub(super) fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * self.model.bw() * PACING_MARGIN;
        // Startup does not slow down because the application had little to send.
        if rate > 0.0 && (self.full.is_reached() || rate > self.pace) {
            self.pace = rate;
        }
    }

    /// The rate of the initial window over the first RTT that is known (`InitPacingRate`).
    pub(super) fn set_initial_pace(&mut self, initial_cwnd: u64, rtt: Duration) {
        if !self.seen_rtt && !rtt.is_zero() {
            self.seen_rtt = true;
            self.pace = self.params.startup_pacing_gain * initial_cwnd as f64 / seconds(rtt);
        }
    }

    pub(super) fn set_cwnd(&mut self, newly_acked: u64) {
        let max_inflight =
            self.quantized(self.bdp_multiple(self.model.bw(), self.cwnd_gain()) + self.model.extra_acked());
        if self.full.is_reached() {
            self.cwnd = (self.cwnd + newly_acked).min(max_inflight);
        } else if self.cwnd < max_inflight || self.model.delivered() < self.initial_cwnd {
            self.cwnd += newly_acked;
        }
        self.cwnd = self.cwnd.max(self.min_pipe());
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        self.cwnd = self.cwnd.min(self.model_cap());
    }

    /// The bound of the window that losses set (`BoundCwndForModel`).
    pub(super) fn model_cap(&self) -> u64 {
        let cap = match self.state {
            State::ProbeBw(Phase::Cruise) | State::ProbeRtt => self.inflight_with_headroom(),
            State::ProbeBw(_) => self.losses.inflight_longterm,
            State::Startup | State::Drain => INFINITE,
        };
        cap.min(self.losses.inflight_shortterm).max(self.min_pipe())
    }

    /// Leaves room in the bottleneck for other flows.
    pub(super) fn inflight_with_headroom(&self) -> u64 {
        let longterm = self.losses.inflight_longterm;
        if longterm == INFINITE {
            return INFINITE;
        }
        let headroom = whole(self.params.headroom * longterm as f64).max(self.mss);
        longterm.saturating_sub(headroom).max(self.min_pipe())
    }

    pub(super) fn save_cwnd(&mut self) {
        let modulated = self.in_recovery || self.state == State::ProbeRtt;
        self.prior_cwnd = if modulated { self.prior_cwnd.max(self.cwnd) } else { self.cwnd };
    }

    pub(super) fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    /// `UpdateModelAndState`, for an ACK that delivered something.
    pub(super) fn update_model_and_state(&mut self, feedback: &Feedback, sample: &Sample) {
        let now = feedback.now;
        // The order is the draft's: each step reads what the steps before it changed.
        self.model.take_latest(sample);
        self.update_congestion_signals(sample);
        self.model.take_aggregation(now, sample, self.cwnd, self.full.is_reached());
        self.full.check(sample, self.model.round_start());
        self.check_startup_done(sample);
        self.check_drain_done(feedback.pipe, now);
        self.update_cycle_phase(feedback, sample);
        self.rtt.take(feedback, &self.params);
        self.check_probe_rtt(feedback);
        self.model.advance_latest(sample);
        self.model.bound_bw(self.losses.bw_shortterm);
    }

    /// The first segment after a pause of the application is about to leave
    /// (`HandleRestartFromIdle`).
    pub(super) fn restart_from_idle(&mut self, now: Instant) {
        self.idle_restart = true;
        self.model.restart_aggregation(now);
        match self.state {
            State::ProbeBw(_) => self.set_pacing_rate(1.0),
            State::ProbeRtt => self.check_probe_rtt_done(now),
            State::Startup | State::Drain => {}
        }
    }
}
