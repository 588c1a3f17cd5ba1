//! The phases of `ProbeBW`, and what the cycle remembers.

use goodqueue::{Duration, Instant};

use super::units::INFINITE;

/// A phase of the cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// Drains the queue, and leaves room for others.
    Down,
    /// Sends what the path delivers.
    Cruise,
    /// Fills the pipe for one round.
    Refill,
    /// Sends faster, to see whether the path delivers more.
    Up,
}

/// What ACKs tell of the last probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AckPhase {
    /// Nothing.
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    /// The probe is over, but ACKs still tell of it.
    ProbeStopping,
}

/// The state of the cycle.
#[derive(Clone, Debug)]
pub(super) struct Cycle {
    pub(super) ack_phase: AckPhase,
    /// ACKs tell of what was sent to probe.
    pub(super) is_probe_sample: bool,
    pub(super) up_acked: u64,
    pub(super) up_acked_per_inc: u64,
    pub(super) up_rounds: u32,
    pub(super) rounds_since_up: u64,
    pub(super) wait: Duration,
    pub(super) began_at: Instant,
    /// The last probe lost too much.
    pub(super) was_too_high: bool,
    /// The last probe stopped early, because the one before lost too much.
    pub(super) was_precautionary: bool,
}

impl Default for Cycle {
    fn default() -> Self {
        Self {
            ack_phase: AckPhase::Init,
            is_probe_sample: false,
            up_acked: 0,
            up_acked_per_inc: INFINITE,
            up_rounds: 0,
            rounds_since_up: 0,
            wait: Duration::ZERO,
            began_at: Instant::ZERO,
            was_too_high: false,
            was_precautionary: false,
        }
    }
}

impl Cycle {
    pub(super) fn begin_round(&mut self) {
        self.rounds_since_up += 1;
    }

    pub(super) fn stop_probe(&mut self) {
        self.ack_phase = AckPhase::ProbeStopping;
    }
}
