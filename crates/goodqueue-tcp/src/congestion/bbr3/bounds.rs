//! The bounds that losses set, and what is restored if nothing was lost.

use super::state::State;
use super::units::INFINITE;

/// The bounds that losses set, and the losses of this round.
#[derive(Clone, Debug)]
pub(super) struct Losses {
    /// What is safe until the next probe, of the bandwidth and in flight.
    pub(super) bw_shortterm: f64,
    pub(super) inflight_shortterm: u64,
    /// What the last probes found to be safe in flight.
    pub(super) inflight_longterm: u64,
    pub(super) in_round: bool,
    /// Gaps of losses in this round, and the last position lost.
    gaps: u32,
    last: Option<u64>,
}

impl Default for Losses {
    fn default() -> Self {
        Self {
            bw_shortterm: f64::INFINITY,
            inflight_shortterm: INFINITE,
            inflight_longterm: INFINITE,
            in_round: false,
            gaps: 0,
            last: None,
        }
    }
}

impl Losses {
    pub(super) fn reset_shortterm(&mut self) {
        self.bw_shortterm = f64::INFINITY;
        self.inflight_shortterm = INFINITE;
    }

    pub(super) fn end_round(&mut self) {
        self.in_round = false;
    }

    /// Gaps of losses in the round. The count begins again when the round is over.
    pub(super) fn gaps_in_round(&mut self, is_over: bool) -> u32 {
        let gaps = self.gaps;
        if is_over {
            self.gaps = 0;
        }
        gaps
    }

    pub(super) fn count_gap(&mut self, position: u64) {
        let continues = self.last.is_some_and(|last| last + 1 == position);
        self.gaps += u32::from(!continues);
        self.last = Some(position);
    }
}

/// What was before a loss episode, in case that nothing was lost (§2.13).
#[derive(Clone, Debug, Default)]
pub(super) struct Undo {
    /// An episode is under way, and the rest was saved when it began.
    pub(super) is_saved: bool,
    /// The state that the episode ended.
    pub(super) state: Option<State>,
    pub(super) bw_shortterm: f64,
    pub(super) inflight_shortterm: u64,
    pub(super) inflight_longterm: u64,
}
