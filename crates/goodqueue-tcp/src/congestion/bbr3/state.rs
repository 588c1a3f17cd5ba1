//! The states.

use super::cycle::Phase;

/// The state machine (§5.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    Startup,
    Drain,
    ProbeBw(Phase),
    ProbeRtt,
}
