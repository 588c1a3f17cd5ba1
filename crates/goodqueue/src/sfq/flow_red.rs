//! RED on each flow of `sfq` (SFQRED): its parameters, its decisions, and what it has done.

use super::Sfq;
use crate::gauge::{Observation, Observe};
use crate::packet::{Ecn, Flow, Packet};
use crate::random::Random;
use crate::red::Signal;
use crate::red::linux::Terms;
use crate::time::Instant;

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

/// What RED has done, for `tc -s`; packets that had a mark already count as marked.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Tally {
    /// Marks, marks of the oldest packet in place of the arriving one, and drops, by chance and
    /// above `max`.
    early: [u64; 3],
    forced: [u64; 3],
}

impl<P: Packet + Flow, R: Random> Sfq<P, R> {
    // Most queues have no RED.
    /// Whether RED lets `packet` into the FIFO of its flow, which has packets already; a signal may
    /// be a mark on it, or on the oldest one there.
    #[inline(never)]
    pub(super) fn red_admits(&mut self, index: u32, packet: &mut P) -> bool {
        let Some(red) = &self.config.red else { return true };
        let Some(slot) = self.slots.get_mut(index as usize) else { return true };
        slot.average.sample(&red.terms, slot.backlog);
        let signal = slot.average.signal(&red.terms, &mut self.random);
        let forced = match signal {
            Signal::Spared(_) => return true,
            Signal::Early => false,
            Signal::Forced | Signal::Unmarkable => true,
        };
        // Linux `sfq_hard_mark()`: `harddrop` concerns averages above `max` only.
        let may_mark = red.ecn && !(forced && red.hard_drop);
        let [mark, mark_head, dropped] = if forced { &mut self.tally.forced } else { &mut self.tally.early };
        let mut marks = |marked: &mut P| {
            let already = marked.ecn() == Ecn::Ce;
            let carries = marked.set_ce();
            if carries && !already {
                self.stats.marked.add(marked.len());
            }
            carries
        };
        // As in Linux, `headdrop` also moves the mark to the oldest packet.
        let count = if may_mark
            && self.config.head_drop
            && self.pool.front_mut(&slot.chain).is_some_and(&mut marks)
        {
            mark_head
        // As in Linux, the arrival gets the mark that the oldest packet cannot carry.
        } else if may_mark && marks(packet) {
            mark
        } else {
            *dropped = dropped.wrapping_add(1);
            return false;
        };
        *count = count.wrapping_add(1);
        true
    }
}

impl<P: Packet + Flow, R: Random> Observe for Sfq<P, R> {
    fn observe(&self, _now: Instant, seen: &mut Observation) {
        if self.config.red.is_none() {
            return;
        }
        let [mark, mark_head, drop] = self.tally.early;
        let [hard, hard_head, hard_drop] = self.tally.forced;
        seen.overlimits = [mark, mark_head, drop, hard, hard_head, hard_drop].iter().sum();
        seen.number("prob_mark", mark);
        seen.number("prob_mark_head", mark_head);
        seen.number("prob_drop", drop);
        seen.number("forced_mark", hard);
        seen.number("forced_mark_head", hard_head);
        seen.number("forced_drop", hard_drop);
    }
}
