//! RED on each flow of `sfq` (SFQRED): its parameters, its signals, and what it has done.

use crate::gauge::Observation;
use crate::random::Random;
use crate::red::Signal;
use crate::red::linux::{Average, Terms};

/// RED on each flow.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct FlowRed {
    pub(super) limit: u32,
    pub(super) min: u32,
    pub(super) max: u32,
    pub(super) avpkt: u32,
    pub(super) burst: u32,
    pub(super) probability: f64,
    pub(super) ecn: bool,
    pub(super) hard_drop: bool,
    pub(super) terms: Terms,
}

/// Why RED signals.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reason {
    /// By chance, between the thresholds.
    Early,
    /// The average is above `max`.
    Forced,
}

impl FlowRed {
    /// Whether to signal, and why, when a packet arrives at a FIFO of this average with `backlog`
    /// bytes.
    pub(super) fn signals(
        &self,
        average: &mut Average,
        backlog: u64,
        random: &mut impl Random,
    ) -> Option<Reason> {
        // Sampled at arrivals only, before the packet counts, as in Linux.
        average.sample(&self.terms, backlog);
        match average.signal(&self.terms, random) {
            Signal::Spared(_) => None,
            Signal::Early => Some(Reason::Early),
            Signal::Forced | Signal::Unmarkable => Some(Reason::Forced),
        }
    }

    /// Whether a signal may be a mark.
    pub(super) fn may_mark(&self, reason: Reason) -> bool {
        // Linux `sfq_hard_mark()`: `harddrop` concerns averages above `max` only.
        self.ecn && !(reason == Reason::Forced && self.hard_drop)
    }
}

/// What became of a signal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    /// The arriving packet is marked.
    Mark,
    /// The oldest packet is marked in its place.
    MarkHead,
    /// The arriving packet is dropped.
    Drop,
}

/// What RED has done, for `tc -s`; packets that had a mark already count as marked.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Tally {
    /// In the order of [`Outcome`], by chance and above `max`.
    early: [u64; 3],
    forced: [u64; 3],
}

impl Tally {
    pub(super) fn count(&mut self, reason: Reason, outcome: Outcome) {
        let counts = match reason {
            Reason::Early => &mut self.early,
            Reason::Forced => &mut self.forced,
        };
        let count = &mut counts[outcome as usize];
        // Counters wrap in Linux, too, and a long run must not panic.
        *count = count.wrapping_add(1);
    }

    pub(super) fn show(&self, seen: &mut Observation) {
        let [mark, mark_head, drop] = self.early;
        let [hard, hard_head, hard_drop] = self.forced;
        seen.overlimits = [mark, mark_head, drop, hard, hard_head, hard_drop].iter().sum();
        seen.number("prob_mark", mark);
        seen.number("prob_mark_head", mark_head);
        seen.number("prob_drop", drop);
        seen.number("forced_mark", hard);
        seen.number("forced_mark_head", hard_head);
        seen.number("forced_drop", hard_drop);
    }
}
