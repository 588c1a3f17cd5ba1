//! The order of service: deficit round robin, new flows first (RFC 8290 §4.2).

use super::aqm::{FlowSource, charge};
use super::{FlowAqm, FlowQueues};
use crate::head::Head;
use crate::packet::Packet;
use crate::qdisc::Drops;
use crate::time::Instant;

/// Outcome of a flow's turn.
enum Turn<P> {
    /// It sends this.
    Sends(P),
    /// It sends nothing: it has no packet, or its AQM dropped all.
    Empty,
    /// That takes a decision of its AQM.
    Undecided,
}

impl<P: Packet, A: FlowAqm> FlowQueues<P, A> {
    /// Returns the next packet to send. With `whole`, the AQM sees the bytes left in all flows,
    /// else those in its own.
    #[inline]
    pub fn pop(
        &mut self,
        now: Instant,
        quantum: u32,
        params: &A::Params,
        whole: bool,
        drops: &mut impl Drops<P>,
    ) -> Option<P> {
        self.serve::<false, _>(now, quantum, params, whole, drops)
    }

    /// As [`Self::pop`], asking the AQMs to decide.
    #[inline(never)]
    fn pop_deciding(
        &mut self,
        now: Instant,
        quantum: u32,
        params: &A::Params,
        whole: bool,
        drops: &mut impl Drops<P>,
    ) -> Option<P> {
        self.serve::<true, _>(now, quantum, params, whole, drops)
    }

    /// Implements [`Self::pop`]. Without `DECIDES`, every step that needs a function call is left
    /// to [`Self::pop_deciding`], which continues from there. The common case then saves no
    /// registers.
    #[inline(always)]
    fn serve<const DECIDES: bool, D: Drops<P>>(
        &mut self,
        now: Instant,
        quantum: u32,
        params: &A::Params,
        whole: bool,
        drops: &mut D,
    ) -> Option<P> {
        if !DECIDES && self.fattest.is_kept() {
            return self.pop_deciding(now, quantum, params, whole, drops);
        }
        while let Some(index) = self.new_flows.first() {
            if self.may_send(index, quantum)? {
                match self.send::<DECIDES, D>(now, index, params, whole, drops) {
                    Turn::Sends(sent) => return Some(sent),
                    Turn::Undecided => return self.pop_deciding(now, quantum, params, whole, drops),
                    Turn::Empty => (),
                }
                // Nobody can be starved then, so the flow leaves at once.
                if self.old_flows.is_empty() {
                    self.flows.get_mut(index as usize)?.listed = false;
                    self.new_flows.advance();
                    continue;
                }
                // RFC 8290 §4.2: an emptied new flow goes through the old ones once, else it could
                // starve them by becoming new again and again.
            }
            // A new flow that has used up its quantum becomes an old one, too.
            self.new_flows.advance();
            self.old_flows.push(index);
        }
        let mut denied = 0;
        while let Some(index) = self.old_flows.first() {
            if self.may_send(index, quantum)? {
                match self.send::<DECIDES, D>(now, index, params, whole, drops) {
                    Turn::Sends(sent) => return Some(sent),
                    Turn::Undecided => return self.pop_deciding(now, quantum, params, whole, drops),
                    Turn::Empty => (),
                }
                self.flows.get_mut(index as usize)?.listed = false;
                self.old_flows.advance();
            } else {
                self.old_flows.advance();
                self.old_flows.push(index);
                denied += 1;
                if denied > self.old_flows.len() {
                    // No flow could send in a whole round.
                    if !DECIDES {
                        return self.pop_deciding(now, quantum, params, whole, drops);
                    }
                    self.skip_fruitless_rounds(quantum);
                    denied = 0;
                }
            }
        }
        None
    }

    /// Slot of the packet that the next flow would send.
    #[inline]
    pub fn upcoming(&self) -> Option<&Option<P>> {
        // After a full packet the flow in front has used up its quantum, and the second one is
        // next.
        let index = self.old_flows.nth(1)?;
        self.pool.place_of_front(&self.flows.get(index as usize)?.packets)
    }

    /// Whether flow `index` has bytes left in this round; else it gets those of the next.
    #[inline]
    fn may_send(&mut self, index: u32, quantum: u32) -> Option<bool> {
        let flow = self.flows.get_mut(index as usize)?;
        let may = flow.deficit > 0;
        if !may {
            flow.deficit = flow.deficit.wrapping_add(i64::from(quantum));
        }
        Some(may)
    }

    /// What flow `index`, whose turn it is, does.
    #[inline(always)]
    fn send<const DECIDES: bool, D: Drops<P>>(
        &mut self,
        now: Instant,
        index: u32,
        params: &A::Params,
        whole: bool,
        drops: &mut D,
    ) -> Turn<P> {
        let Some(flow) = self.flows.get_mut(index as usize) else { return Turn::Empty };
        let Some(oldest) = self.pool.oldest(&mut flow.packets) else {
            flow.aqm.emptied(params);
            return Turn::Empty;
        };
        let bytes = oldest.bytes();
        let memory = oldest.memory();
        let behind = if whole {
            self.passage.bytes().saturating_sub(u64::from(bytes))
        } else {
            flow.backlog.saturating_sub(charge(bytes))
        };
        if !flow.aqm.passes(now, params, Head { at: oldest.at(), bytes, bytes_behind: behind }) {
            if !DECIDES {
                return Turn::Undecided;
            }
            return self.decide(now, index, params, whole, drops).map_or(Turn::Empty, Turn::Sends);
        }
        self.tally.max_packet = self.tally.max_packet.max(bytes);
        self.passage.leaves(bytes);
        self.memory.leaves(memory);
        flow.backlog = flow.backlog.wrapping_sub(charge(bytes));
        if DECIDES {
            self.fattest.set(index, flow.backlog);
        }
        // A packet of no bytes costs a byte, or a flow of such packets would be served for ever.
        flow.deficit = flow.deficit.wrapping_sub(i64::from(bytes.max(1)));
        oldest.take().map_or(Turn::Empty, Turn::Sends)
    }

    // Most packets have waited for less than the target, and are sent without the AQM's view of the
    // queue being set up.
    /// Asks the AQM of flow `index` about the packet at its head, and the next if that one is
    /// dropped; takes the one that is sent.
    #[inline(never)]
    fn decide(
        &mut self,
        now: Instant,
        index: u32,
        params: &A::Params,
        whole: bool,
        drops: &mut impl Drops<P>,
    ) -> Option<P> {
        let flow = self.flows.get_mut(index as usize)?;
        let mut source = FlowSource {
            packets: &mut flow.packets,
            backlog: &mut flow.backlog,
            index,
            fattest: &mut self.fattest,
            pool: &mut self.pool,
            passage: &mut self.passage,
            memory: &mut self.memory,
            whole,
            stats: &mut self.stats,
            tally: &mut self.tally,
            drops,
        };
        if !flow.aqm.decide(now, params, &mut source) {
            return None;
        }
        let oldest = self.pool.oldest(&mut flow.packets)?;
        let bytes = oldest.bytes();
        let memory = oldest.memory();
        self.tally.max_packet = self.tally.max_packet.max(bytes);
        self.passage.leaves(bytes);
        self.memory.leaves(memory);
        flow.backlog = flow.backlog.wrapping_sub(charge(bytes));
        self.fattest.set(index, flow.backlog);
        flow.deficit = flow.deficit.wrapping_sub(i64::from(bytes.max(1)));
        oldest.take()
    }

    /// A packet of many quanta would take as many rounds. Rounds in which no flow with packets may
    /// send are skipped at once. An empty flow that pays off its debt in them leaves at its next
    /// turn, before any flow sends, so the result is the same.
    #[cold]
    fn skip_fruitless_rounds(&mut self, quantum: u32) {
        let quantum = i64::from(quantum.max(1));
        // Each quotient is rounded down, so no deficit becomes positive: the round after these is a
        // usual one.
        let mut rounds = i64::MAX;
        for index in self.old_flows.iter() {
            if let Some(flow) = self.flows.get(index as usize).filter(|flow| !flow.packets.is_empty()) {
                rounds =
                    rounds.min(if flow.deficit > 0 { 0 } else { flow.deficit.saturating_neg() / quantum });
            }
        }
        for index in self.old_flows.iter() {
            // An empty flow leaves as soon as its deficit is positive, which is at most a quantum.
            if let Some(flow) = self.flows.get_mut(index as usize).filter(|flow| flow.deficit <= 0) {
                flow.deficit = flow.deficit.saturating_add(rounds.saturating_mul(quantum)).min(quantum);
            }
        }
    }
}
