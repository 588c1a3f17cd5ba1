//! BBR version 3 (draft-ietf-ccwg-bbr): keeps a model of the path, and sends as fast as the path
//! delivers. Unlike version 1, it reduces when more than 2 % are lost, and leaves room for others.
//!
//! The names are those of the draft. The file `startup.rs` has the states `Startup` and `Drain`,
//! `probe_bw.rs` the cycle that looks for bandwidth, `probe_rtt.rs` the search for the least RTT,
//! `losses.rs` what losses change, `model.rs` the measurements.
//!
//! # Deviations
//! The draft leaves some things to the sender. Here a connection has SACK. The random waits come
//! from the nanosecond at which a cycle begins. A window that the pause of an application would end
//! in `ProbeRTT` ends with the next ACK. Marks change nothing, as in the draft.
//!
//! The state before a loss episode is saved once per episode, and not again after each reset of the
//! signals. A cautious probe ends when what was in flight before an ACK leaves no room for another
//! segment below the bound. Both places give the reason.

mod bounds;
mod cycle;
mod full_pipe;
mod least_rtt;
mod losses;
mod machine;
mod model;
mod params;
mod probe_bw;
mod probe_rtt;
mod startup;
mod state;
mod units;

use goodqueue::{Duration, Instant};

use crate::congestion::parameter::Value;
use crate::congestion::whole::whole;
use crate::congestion::{
    About, Ack, Congestion, CongestionControl, Constant, Controller, Feedback, FeedbackTiming, LostSegment,
    Pacing, Signal, Start, Window,
};

pub use machine::Bbr3;
use model::Sample;
use params::Params;

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

    fn on_start(&mut self, start: &Start) {
        // Before the first data, because its ACK already changes the RTT.
        self.set_initial_pace(start.cwnd, start.srtt);
        // A timeout empties the path as well, but then there is no pause to forget.
        if start.app_limited {
            self.restart_from_idle(start.now);
        }
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
        // Only for senders that tell of no start.
        self.set_initial_pace(self.initial_cwnd, feedback.srtt);
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
        // A rate of 0 would let nothing leave.
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
        // While it recovers from losses, a window more is kept (Linux `bbr_sndbuf_expand`).
        buffered_windows: 3,
        ..About::PLAIN
    };

    fn set(&mut self, parameter: &str, value: Value) {
        self.params.set(parameter, value);
        self.pace = Self::initial_pace(&self.params, self.mss);
    }
}

#[cfg(test)]
mod tests;
