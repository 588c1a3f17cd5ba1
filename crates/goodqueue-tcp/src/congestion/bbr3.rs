//! BBR version 3 (draft-ietf-ccwg-bbr): keeps a model of the path, and sends as fast as the path
//! delivers. Unlike version 1, it reduces when more than 2 % are lost, and leaves room for others.
//!
//! The names are those of the draft. Each file below has one part: [`startup`] the states `Startup`
//! and `Drain`, [`probe_bw`] the cycle that looks for bandwidth, [`probe_rtt`] the search for the
//! least RTT, [`losses`] what losses change, [`model`] the measurements.
//!
//! # Deviations
//! The draft leaves some things to the sender. Here a connection has SACK. The random waits come
//! from the nanosecond at which a cycle begins. A window that the pause of an application would end
//! in `ProbeRTT` ends with the next ACK. Marks change nothing, as in the draft.

mod losses;
mod model;
mod params;
mod probe_bw;
mod probe_rtt;
mod startup;

use goodqueue::{Duration, Instant};

use crate::congestion::parameter::Value;
use crate::congestion::whole::whole;
use crate::congestion::{
    About, Ack, Congestion, CongestionControl, Constant, Controller, Feedback, FeedbackTiming, LostSegment,
    Pacing, Signal, Window,
};

use losses::{Losses, Undo};
use model::{Model, Sample};
use params::Params;
use probe_bw::{Cycle, Phase};
use probe_rtt::ProbeRtt;
use startup::FullPipe;

/// No bound.
const INFINITE: u64 = u64::MAX;
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

/// The state machine (§5.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Startup,
    Drain,
    ProbeBw(Phase),
    ProbeRtt,
}

/// BBR version 3. Rates are in bytes per second, windows in bytes.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    params: Params,
    state: State,
    model: Model,
    full: FullPipe,
    cycle: Cycle,
    rtt: ProbeRtt,
    losses: Losses,
    undo: Undo,
    /// Number of the round in which `Drain` began.
    drain_start_round: u64,
    /// The sender began again after a pause.
    idle_restart: bool,
    in_recovery: bool,
    /// Number of the round in which recovery began.
    recovery_round: u64,
    cwnd: u64,
    /// The window before recovery or `ProbeRTT`.
    prior_cwnd: u64,
    initial_cwnd: u64,
    pace: f64,
    seen_rtt: bool,
    mss: u64,
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
            pace: params.startup_pacing_gain * (INITIAL_WINDOW * 1460) as f64 / seconds(INITIAL_RTT),
            seen_rtt: false,
            mss: 1460,
        }
    }
}

impl Bbr3 {
    fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => self.params.startup_pacing_gain,
            State::Drain => self.params.drain_pacing_gain,
            State::ProbeBw(Phase::Down) => self.params.probe_down_gain,
            State::ProbeBw(Phase::Up) => self.params.probe_up_gain,
            State::ProbeBw(Phase::Cruise | Phase::Refill) | State::ProbeRtt => 1.0,
        }
    }

    fn cwnd_gain(&self) -> f64 {
        match self.state {
            State::ProbeBw(Phase::Up) => self.params.probe_up_cwnd_gain,
            State::ProbeRtt => self.params.probe_rtt_cwnd_gain,
            _ => self.params.cwnd_gain,
        }
    }

    /// `gain` bandwidth-delay products; before the first RTT sample the initial window
    /// (`BDPMultiple`).
    fn bdp_multiple(&self, bw: f64, gain: f64) -> u64 {
        match self.rtt.min_rtt() {
            Some(rtt) => whole(gain * bw * seconds(rtt)),
            None => self.initial_cwnd,
        }
    }

    /// The estimated bandwidth-delay product.
    fn bdp(&self) -> u64 {
        self.bdp_multiple(self.model.bw(), 1.0)
    }

    /// What is to be in flight: the bandwidth-delay product, unless congestion cut the window
    /// (`TargetInflight`).
    fn target_inflight(&self) -> u64 {
        self.bdp().min(self.cwnd)
    }

    fn send_quantum(&self) -> u64 {
        whole(self.pace * QUANTUM_SECONDS)
            .clamp(LEAST_QUANTUM * self.mss, MOST_QUANTUM.max(LEAST_QUANTUM * self.mss))
    }

    /// `inflight`, and at least what the hosts and delayed ACKs need (`QuantizationBudget`).
    fn quantized(&self, inflight: u64) -> u64 {
        let least = (QUANTA_IN_HOSTS * self.send_quantum()).max(self.min_pipe());
        let probing = if self.state == State::ProbeBw(Phase::Up) { 2 * self.mss } else { 0 };
        inflight.max(least) + probing
    }

    /// What is in flight at `bw` with `gain` (`Inflight`).
    fn inflight(&self, bw: f64, gain: f64) -> u64 {
        self.quantized(self.bdp_multiple(bw, gain))
    }

    fn min_pipe(&self) -> u64 {
        MIN_PIPE * self.mss
    }

    fn probe_rtt_cwnd(&self) -> u64 {
        self.bdp_multiple(self.model.bw(), self.params.probe_rtt_cwnd_gain).max(self.min_pipe())
    }

    fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * self.model.bw() * PACING_MARGIN;
        // Startup does not slow down because the application had little to send.
        if rate > 0.0 && (self.full.is_reached() || rate > self.pace) {
            self.pace = rate;
        }
    }

    /// The rate of the initial window, once the RTT of the handshake is known (`InitPacingRate`).
    fn set_initial_pace(&mut self, feedback: &Feedback) {
        let rtt = if feedback.min_rtt.is_zero() { feedback.srtt } else { feedback.min_rtt };
        if !self.seen_rtt && !rtt.is_zero() {
            self.seen_rtt = true;
            self.pace = self.params.startup_pacing_gain * self.initial_cwnd as f64 / seconds(rtt);
        }
    }

    fn set_cwnd(&mut self, newly_acked: u64) {
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
    fn model_cap(&self) -> u64 {
        let cap = match self.state {
            State::ProbeBw(Phase::Cruise) | State::ProbeRtt => self.inflight_with_headroom(),
            State::ProbeBw(_) => self.losses.inflight_longterm,
            State::Startup | State::Drain => INFINITE,
        };
        cap.min(self.losses.inflight_shortterm).max(self.min_pipe())
    }

    /// Leaves room in the bottleneck for other flows.
    fn inflight_with_headroom(&self) -> u64 {
        let longterm = self.losses.inflight_longterm;
        if longterm == INFINITE {
            return INFINITE;
        }
        let headroom = whole(self.params.headroom * longterm as f64).max(self.mss);
        longterm.saturating_sub(headroom).max(self.min_pipe())
    }

    fn save_cwnd(&mut self) {
        let modulated = self.in_recovery || self.state == State::ProbeRtt;
        self.prior_cwnd = if modulated { self.prior_cwnd.max(self.cwnd) } else { self.cwnd };
    }

    fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    /// `UpdateModelAndState`, for an ACK that delivered something.
    fn update_model_and_state(&mut self, feedback: &Feedback, sample: &Sample) {
        let now = feedback.now;
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
    fn restart_from_idle(&mut self, now: Instant) {
        self.idle_restart = true;
        self.model.restart_aggregation(now);
        match self.state {
            State::ProbeBw(_) => self.set_pacing_rate(1.0),
            State::ProbeRtt => self.check_probe_rtt_done(now),
            State::Startup | State::Drain => {}
        }
    }
}

impl CongestionControl for Bbr3 {
    fn on_ack(&mut self, _ack: &mut Ack, _cwnd: u64) -> u64 {
        self.cwnd
    }

    fn on_congestion(&mut self, event: &Congestion) -> u64 {
        if self.cwnd == 0 {
            self.cwnd = event.cwnd;
        }
        if event.signal != Signal::Ecn {
            self.save_state_upon_loss();
            self.in_recovery = true;
            self.recovery_round = self.model.round();
        }
        if event.signal == Signal::Timeout {
            // The sender puts what is still in flight on top of it.
            self.cwnd = u64::from(event.mss);
        }
        // There is no threshold: the window alone decides.
        u64::MAX / 2
    }

    fn on_lost(&mut self, lost: &LostSegment) {
        self.handle_lost_packet(lost);
    }

    fn on_undo(&mut self) {
        self.handle_spurious_loss();
    }

    fn on_idle(&mut self, now: Instant, _idle: Duration) {
        self.restart_from_idle(now);
    }

    fn on_start(&mut self, now: Instant, _pause: Duration) {
        self.restart_from_idle(now);
    }

    fn on_feedback(&mut self, feedback: &Feedback, window: &mut Window) {
        self.mss = u64::from(feedback.mss);
        if self.cwnd == 0 {
            self.cwnd = window.cwnd;
        }
        if self.initial_cwnd == 0 {
            self.initial_cwnd = window.cwnd;
        }
        if self.in_recovery && !feedback.in_recovery {
            self.in_recovery = false;
            self.end_loss_episode();
        }
        self.set_initial_pace(feedback);
        self.model.note_window(feedback.pipe_before + self.mss > self.cwnd);
        if let Some(sample) = Sample::from_feedback(feedback, &self.rtt) {
            self.update_model_and_state(feedback, &sample);
        }
        self.set_pacing_rate(self.pacing_gain());
        self.set_cwnd(feedback.delivered);
        window.cwnd = self.cwnd;
        window.ssthresh = u64::MAX / 2;
    }

    fn pacing(&self) -> Pacing {
        Pacing { rate: Some(whole(self.pace).max(1)), ..Pacing::UNPACED }
    }
}

impl Controller for Bbr3 {
    const ABOUT: About = About {
        name: "bbr3",
        variant_of: Some("bbr"),
        summary: "version 3: paces at the bandwidth that it measures, and reduces above 2 % of losses",
        reference: "draft-ietf-ccwg-bbr (August 2026)",
        parameters: Params::TABLE,
        constants: &[
            Constant { name: "pacing margin", value: "1 %", source: "draft-ietf-ccwg-bbr §2.4" },
            Constant { name: "bandwidth filter", value: "2 cycles", source: "draft-ietf-ccwg-bbr §2.10" },
            Constant {
                name: "filter of aggregation",
                value: "10 rounds",
                source: "draft-ietf-ccwg-bbr §2.11",
            },
            Constant {
                name: "gaps of losses that end Startup",
                value: "6 in a round",
                source: "draft-ietf-ccwg-bbr §5.3.1.3",
            },
            Constant {
                name: "wait between probes",
                value: "2 to 3 s",
                source: "draft-ietf-ccwg-bbr §5.3.3.8",
            },
        ],
        feedback: FeedbackTiming::EveryAck,
        controls_all: true,
        ..About::PLAIN
    };

    fn set(&mut self, parameter: &str, value: Value) {
        self.params.set(parameter, value);
        self.pace =
            self.params.startup_pacing_gain * (INITIAL_WINDOW * self.mss) as f64 / seconds(INITIAL_RTT);
    }
}

fn seconds(span: Duration) -> f64 {
    span.as_nanos() as f64 * 1e-9
}

#[cfg(test)]
mod tests;
