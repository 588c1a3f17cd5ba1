//! Flow queueing, whatever the AQM: the scheduler of `fq_codel` and `fq_pie`.
//!
//! [`FlowQueues`] holds a queue per flow and serves them by deficit round robin, flows that have
//! just become active first (RFC 8290 §4). What happens to a packet inside its flow's queue is the
//! business of a [`FlowAqm`], of which each flow has its own.
//!
//! An overflow takes packets from the flow with the most bytes. That flow is known without a scan:
//! a tree of pairwise comparisons over all flows is built at an overflow and kept up to date for as
//! long as overflows go on, so that a queue that never overflows pays nothing for it.

use alloc::vec;
use alloc::vec::Vec;

use crate::head::{CodelTally, Head, Mark, Source, mark};
use crate::memory::{Buffers, Memory, Size};
use crate::packet::{Flow, Packet, scale_hash};
use crate::qdisc::{DropReason, Drops, Stats};
use crate::queue::{Chain, Passage, Pool, Turns};
use crate::time::Instant;

/// An AQM of which every flow has its own state.
pub trait FlowAqm: Clone {
    /// What all flows share.
    type Params;

    /// Returns true if the packet at the `head` of the flow may be sent without further work. False
    /// (the default) requires a call of [`Self::decide`].
    fn passes(&mut self, now: Instant, params: &Self::Params, head: Head) -> bool {
        let _ = (now, params, head);
        false
    }

    /// Tells the AQM that the flow had its turn and has no packet.
    fn emptied(&mut self, params: &Self::Params) {
        let _ = params;
    }

    /// The largest packet that any flow has sent so far, said before [`Self::decide`] in
    /// [`crate::sfq_codel`]'s round.
    fn know_largest(&mut self, bytes: u32) {
        let _ = bytes;
    }

    /// Drops and marks at the head of `source`, which there is, until a packet may be sent: it is
    /// then at the head, and is sent. False if none is left.
    fn decide<S: Source>(&mut self, now: Instant, params: &Self::Params, source: &mut S) -> bool;

    /// An overflow took `drops` packets from this flow.
    fn overflowed(&mut self, drops: u32) {
        let _ = drops;
    }
}

/// A queue per flow, served by deficit round robin with new flows first.
#[derive(Clone, Debug)]
pub struct FlowQueues<P, A> {
    flows: Vec<FlowState<A>>,
    /// How many.
    count: u32,
    fattest: Largest,
    pool: Pool<P>,
    /// Packets of one overflow on their way out; empty between calls.
    victims: Vec<P>,
    /// Flows to be served, by number. They are rings and not linked lists, so that the processor
    /// knows the next flow before the current one is in its cache.
    new_flows: Turns,
    old_flows: Turns,
    passage: Passage,
    memory: Memory,
    /// Flows that became new so far.
    activations: u64,
    /// Drops and marks; [`FlowQueues::stats`] knows the rest.
    pub stats: Stats,
    /// Marks and drops of CoDel in all flows.
    pub tally: CodelTally,
}

/// One flow, aligned to a cache line, so that a flow with CoDel takes one line. The two sums that
/// change together are not neighbours, as in `Passage`.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct FlowState<A> {
    /// Bytes that the flow may still send in this round; may go below zero by one packet.
    deficit: i64,
    packets: Chain,
    listed: bool,
    /// Bytes queued; a packet of no bytes counts as one.
    backlog: u64,
    aqm: A,
}

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
    /// `flows` empty queues, each with an AQM that is in the state `aqm`.
    #[must_use]
    pub fn new(flows: u32, aqm: A) -> Self {
        Self::with_buffers(flows, aqm, Buffers::Bare)
    }

    /// Returns the queues with this memory per packet.
    pub(crate) fn with_buffers(flows: u32, aqm: A, buffers: Buffers) -> Self {
        let flow = FlowState { packets: Chain::default(), listed: false, deficit: 0, backlog: 0, aqm };
        Self {
            flows: vec![flow; flows as usize],
            count: flows,
            fattest: Largest::default(),
            pool: Pool::default(),
            victims: Vec::new(),
            new_flows: Turns::of(flows),
            old_flows: Turns::of(flows),
            passage: Passage::default(),
            memory: Memory::new(buffers),
            activations: 0,
            stats: Stats::default(),
            tally: CodelTally::default(),
        }
    }

    /// Changes the number of flows. The queue must be empty.
    pub fn resize(&mut self, flows: u32, aqm: A) {
        let (passage, stats, tally, activations) = (self.passage, self.stats, self.tally, self.activations);
        *self = Self {
            passage,
            stats,
            tally,
            activations,
            ..Self::with_buffers(flows, aqm, self.memory.buffers())
        };
    }

    /// The flow of `packet`: its class if that names one, else by hash.
    #[inline]
    pub fn classify(&self, packet: &P, salt: u32) -> u32
    where
        P: Flow,
    {
        match packet.class() {
            Some(class) if (1..=self.count).contains(&class) => class.saturating_sub(1),
            _ => scale_hash(packet.flow_hash(salt), self.count),
        }
    }

    /// A packet of another flow where `packet` is queued.
    #[must_use]
    pub fn stranger(&self, packet: &P, salt: u32) -> Option<&P>
    where
        P: Flow,
    {
        let flow = self.flows.get(self.classify(packet, salt) as usize)?;
        self.pool.stranger(&flow.packets, packet)
    }

    /// Returns true if [`Self::push`] calls no other function, because memory is left and the tree
    /// of backlogs is not in use. The compiler then saves no registers.
    #[must_use]
    #[inline]
    pub const fn is_ready(&self) -> bool {
        !self.fattest.is_kept() && self.pool.has_free()
    }

    /// Queues `packet` in flow `index`.
    #[inline(always)]
    pub fn push(&mut self, now: Instant, index: u32, packet: P, quantum: u32) {
        let size = Size::of(&packet);
        let bytes = size.bytes;
        let Some(flow) = self.flows.get_mut(index as usize) else { return };
        // First of all, so that the rest need not remember the packet.
        let node = self.pool.put(now, packet);
        flow.backlog = flow.backlog.wrapping_add(charge(bytes));
        self.fattest.set(index, flow.backlog);
        if !flow.listed {
            // RFC 8290 §4.1.2: a flow on no list is a new one, whatever its AQM remembers.
            flow.listed = true;
            flow.deficit = i64::from(quantum);
            self.activations = self.activations.wrapping_add(1);
            self.new_flows.push(index);
        }
        self.pool.link(&mut flow.packets, node);
        self.passage.enters(bytes);
        self.memory.enters(size);
    }

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
                if self.old_flows.is_empty() {
                    self.flows.get_mut(index as usize)?.listed = false;
                    self.new_flows.advance();
                    continue;
                }
                // RFC 8290 §4.2: an emptied new flow goes through the old ones once, else it could
                // starve them by becoming new again and again.
            }
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
        let size = oldest.size();
        let bytes = size.bytes;
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
        self.memory.leaves(size);
        flow.backlog = flow.backlog.wrapping_sub(charge(bytes));
        if DECIDES {
            self.fattest.set(index, flow.backlog);
        }
        flow.deficit = flow.deficit.wrapping_sub(i64::from(bytes.max(1)));
        oldest.take().map_or(Turn::Empty, Turn::Sends)
    }

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
        let sent = self.pool.pop_front(&mut flow.packets)?;
        let size = Size::of(&sent);
        let bytes = size.bytes;
        self.tally.max_packet = self.tally.max_packet.max(bytes);
        self.passage.leaves(bytes);
        self.memory.leaves(size);
        flow.backlog = flow.backlog.wrapping_sub(charge(bytes));
        self.fattest.set(index, flow.backlog);
        flow.deficit = flow.deficit.wrapping_sub(i64::from(bytes.max(1)));
        Some(sent)
    }

    /// A packet of many quanta would take as many rounds. Rounds in which no flow with packets may
    /// send are skipped at once. An empty flow that pays off its debt in them leaves at its next
    /// turn, before any flow sends, so the result is the same.
    #[cold]
    fn skip_fruitless_rounds(&mut self, quantum: u32) {
        let quantum = i64::from(quantum.max(1));
        let mut rounds = i64::MAX;
        for index in self.old_flows.iter() {
            if let Some(flow) = self.flows.get(index as usize).filter(|flow| !flow.packets.is_empty()) {
                rounds =
                    rounds.min(if flow.deficit > 0 { 0 } else { flow.deficit.saturating_neg() / quantum });
            }
        }
        for index in self.old_flows.iter() {
            if let Some(flow) = self.flows.get_mut(index as usize).filter(|flow| flow.deficit <= 0) {
                flow.deficit = flow.deficit.saturating_add(rounds.saturating_mul(quantum)).min(quantum);
            }
        }
    }

    /// Returns the flow with the most bytes (the first one of several), and its bytes as
    /// [`Self::backlog`] counts them.
    pub fn fattest(&mut self) -> (u32, u64) {
        let index = self.fattest.find(self.flows.iter().map(|flow| flow.backlog));
        (index, self.backlog(index))
    }

    /// RFC 8290 §4.1.3: drops packets from the head of the flow with the most bytes, at most
    /// `batch`, until half of its bytes are gone. With `last_first` they are reported in reverse
    /// order. Returns the flow and the number of dropped packets.
    pub fn drop_from_fattest(
        &mut self,
        batch: u32,
        why: DropReason,
        last_first: bool,
        drops: &mut impl Drops<P>,
    ) -> (u32, u32) {
        let (index, backlog) = self.fattest();
        let Some(flow) = self.flows.get_mut(index as usize) else { return (index, 0) };
        let (mut dropped, mut charged) = (0_u32, 0_u64);
        while dropped < batch && (dropped == 0 || charged < backlog / 2) {
            let Some(victim) = self.pool.pop_front(&mut flow.packets) else { break };
            let size = Size::of(&victim);
            let bytes = size.bytes;
            dropped = dropped.saturating_add(1);
            charged = charged.saturating_add(charge(bytes));
            self.passage.leaves(bytes);
            self.memory.leaves(size);
            self.stats.dropped_after.add(bytes);
            if last_first {
                self.victims.push(victim);
            } else {
                drops.dropped(victim, why);
            }
        }
        while let Some(victim) = self.victims.pop() {
            drops.dropped(victim, why);
        }
        flow.backlog = flow.backlog.saturating_sub(charged);
        self.fattest.set(index, flow.backlog);
        (index, dropped)
    }

    /// Gives every packet to `drops` and puts every flow's AQM into the state `aqm`.
    pub fn purge(&mut self, aqm: &A, drops: &mut impl Drops<P>) {
        for flow in &mut self.flows {
            while let Some(packet) = self.pool.pop_front(&mut flow.packets) {
                self.stats.dropped_after.add(packet.len());
                drops.dropped(packet, DropReason::Purged);
            }
            flow.aqm = aqm.clone();
            (flow.listed, flow.backlog) = (false, 0);
        }
        self.fattest = Largest::default();
        self.new_flows.clear();
        self.old_flows.clear();
        self.passage.all_leave();
        self.memory = Memory::new(self.memory.buffers());
    }
}

impl<P, A> FlowQueues<P, A> {
    /// Packets queued.
    #[must_use]
    #[inline]
    pub(crate) const fn packets(&self) -> u64 {
        self.passage.packets()
    }

    /// Packets queued.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        usize::try_from(self.packets()).unwrap_or(usize::MAX)
    }

    /// True if no packet is queued.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.passage.packets() == 0
    }

    /// Bytes queued.
    #[must_use]
    #[inline]
    pub const fn bytes(&self) -> u64 {
        self.passage.bytes()
    }

    /// Memory that the queued packets take.
    #[inline]
    pub(crate) fn memory(&self) -> u64 {
        self.memory.used(self.passage.bytes())
    }

    /// Changes the memory per packet, also for queued packets.
    pub(crate) fn set_buffers(&mut self, buffers: Buffers)
    where
        P: Packet,
    {
        if buffers == self.memory.buffers() {
            return;
        }
        self.memory = Memory::new(buffers);
        for (_, packet) in self.flows.iter().flat_map(|flow| self.pool.nodes(&flow.packets)) {
            self.memory.enters(Size::of(packet));
        }
    }

    /// Returns the counters.
    #[must_use]
    pub const fn stats(&self) -> Stats {
        self.passage.complete(self.stats)
    }

    /// Returns the bytes queued in flow `index`. A packet of no bytes counts as one byte.
    #[must_use]
    pub fn backlog(&self, index: u32) -> u64 {
        self.flows.get(index as usize).map_or(0, |flow| flow.backlog)
    }

    /// Flows that became new so far.
    #[must_use]
    pub const fn activations(&self) -> u64 {
        self.activations
    }

    /// Flows among the new ones, and among the old ones.
    #[must_use]
    pub fn listed(&self) -> (u64, u64) {
        (u64::from(self.new_flows.len()), u64::from(self.old_flows.len()))
    }

    /// The AQM of flow `index`.
    #[must_use]
    pub fn aqm(&self, index: u32) -> Option<&A> {
        self.flows.get(index as usize).map(|flow| &flow.aqm)
    }

    /// The AQM of flow `index`.
    pub fn aqm_mut(&mut self, index: u32) -> Option<&mut A> {
        self.flows.get_mut(index as usize).map(|flow| &mut flow.aqm)
    }

    /// The AQMs of all flows.
    pub fn aqms(&mut self) -> impl Iterator<Item = &mut A> {
        self.flows.iter_mut().map(|flow| &mut flow.aqm)
    }
}

/// Returns what a packet adds to the backlog of its flow: at least one byte, so that a flow of
/// empty packets differs from an empty flow.
#[inline]
fn charge(bytes: u32) -> u64 {
    u64::from(bytes.max(1))
}

/// One flow's queue, as its AQM sees it.
struct FlowSource<'a, P, D> {
    packets: &'a mut Chain,
    backlog: &'a mut u64,
    index: u32,
    fattest: &'a mut Largest,
    pool: &'a mut Pool<P>,
    /// Of all flows.
    passage: &'a mut Passage,
    memory: &'a mut Memory,
    /// The AQM sees the bytes of the whole discipline.
    whole: bool,
    stats: &'a mut Stats,
    tally: &'a mut CodelTally,
    drops: &'a mut D,
}

impl<P: Packet, D: Drops<P>> Source for FlowSource<'_, P, D> {
    #[inline]
    fn head(&self) -> Option<Head> {
        let queued = self.pool.front(self.packets)?;
        let bytes = queued.packet.len();
        let bytes_behind = if self.whole {
            self.passage.bytes().saturating_sub(u64::from(bytes))
        } else {
            self.backlog.saturating_sub(charge(bytes))
        };
        Some(Head { at: queued.at, bytes, bytes_behind })
    }

    fn drop_head(&mut self) {
        if let Some(packet) = self.pool.pop_front(self.packets) {
            let size = Size::of(&packet);
            let bytes = size.bytes;
            self.tally.max_packet = self.tally.max_packet.max(bytes);
            *self.backlog = self.backlog.wrapping_sub(charge(bytes));
            self.fattest.set(self.index, *self.backlog);
            self.passage.leaves(bytes);
            self.memory.leaves(size);
            self.stats.dropped_after.add(bytes);
            self.drops.dropped(packet, DropReason::Congested);
        }
    }

    fn mark_head(&mut self, why: Mark) -> bool {
        let Some(packet) = self.pool.front_mut(self.packets) else { return false };
        mark(packet, why, self.stats, self.tally)
    }
}

/// Finds the largest of up to 2^17 sizes. The owner of the sizes reports each change. Sizes are
/// limited to 2^47 - 1.
#[derive(Clone, Default, Debug)]
pub(crate) struct Largest {
    /// A binary tree: 1 is the root, the children of `n` are `2n` and `2n + 1`, the sizes are the
    /// leaves, and each inner node is the larger one below it. Means nothing while `kept` is 0.
    nodes: Vec<Ranked>,
    sizes: u32,
    /// Number of further changes for which the tree is kept up to date. An overflow resets it.
    kept: u32,
}

/// A size and its index in one number. Of two equal sizes the first compares as larger.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
struct Ranked(u64);

impl Ranked {
    const INDEX_BITS: u32 = 17;
    const LAST: u32 = (1 << Self::INDEX_BITS) - 1;
    const MOST: u64 = u64::MAX >> Self::INDEX_BITS;

    #[inline]
    fn of(index: u32, size: u64) -> Self {
        Self(size.min(Self::MOST) << Self::INDEX_BITS | u64::from(Self::LAST - index.min(Self::LAST)))
    }

    fn index(self) -> u32 {
        Self::LAST - u32::try_from(self.0 & u64::from(Self::LAST)).unwrap_or(0)
    }
}

impl Largest {
    /// True while changes are followed.
    #[inline]
    const fn is_kept(&self) -> bool {
        self.kept > 0
    }

    /// Reports that size `index` is now `size`.
    #[inline]
    pub(crate) fn set(&mut self, index: u32, size: u64) {
        if self.kept > 0 {
            self.climb(index, size);
        }
    }

    /// Returns the index of the largest of `sizes`, the first one of several. Reads `sizes` only if
    /// the tree is not up to date.
    pub(crate) fn find(&mut self, sizes: impl Iterator<Item = u64>) -> u32 {
        if self.kept == 0 {
            self.build(sizes);
        }
        // A tree costs about one comparison per size: it is kept until that is spread over as many
        // changes.
        self.kept = self.sizes.saturating_mul(2).max(16);
        self.nodes.get(1).map_or(0, |winner| winner.index())
    }

    fn build(&mut self, sizes: impl Iterator<Item = u64>) {
        self.nodes.clear();
        self.nodes.extend((0..).zip(sizes).map(|(index, size)| Ranked::of(index, size)));
        self.sizes = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        // The leaves are the upper half. A single size gets a second leaf, so that it is not the
        // root.
        let leaves = self.nodes.len().next_power_of_two().max(2);
        self.nodes.resize(leaves, Ranked::default());
        self.nodes.extend_from_within(..);
        for node in (1..leaves).rev() {
            let winner = self.nodes.get(2 * node).max(self.nodes.get(2 * node + 1)).copied();
            if let Some((entry, winner)) = self.nodes.get_mut(node).zip(winner) {
                *entry = winner;
            }
        }
    }

    #[inline(never)]
    fn climb(&mut self, index: u32, size: u64) {
        self.kept = self.kept.saturating_sub(1);
        let nodes = self.nodes.as_mut_slice();
        let mut node = nodes.len() / 2 + index as usize;
        let mut winner = Ranked::of(index, size);
        while let Some(entry) = nodes.get_mut(node) {
            if *entry == winner {
                return;
            }
            *entry = winner;
            // The root has nothing beside it.
            if node <= 1 {
                return;
            }
            winner = winner.max(nodes.get(node ^ 1).copied().unwrap_or_default());
            node /= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::collections::VecDeque;

    use super::*;
    use crate::packet::Ecn;
    use crate::random::{Random, Xoshiro256PlusPlus};

    #[derive(Clone, Copy, PartialEq, Debug)]
    struct Frame(u32, u32);

    impl Packet for Frame {
        fn len(&self) -> u32 {
            self.1
        }
        fn ecn(&self) -> Ecn {
            Ecn::NotEct
        }
        fn set_ce(&mut self) -> bool {
            false
        }
    }

    #[derive(Clone)]
    struct NoAqm;

    impl FlowAqm for NoAqm {
        type Params = ();

        fn decide<S: Source>(&mut self, _: Instant, (): &(), source: &mut S) -> bool {
            source.head().is_some()
        }
    }

    /// RFC 8290 §4.2 word for word: every round is gone through.
    #[derive(Default)]
    struct Literal {
        flows: [(VecDeque<Frame>, i64, bool); 12],
        new: VecDeque<usize>,
        old: VecDeque<usize>,
    }

    impl Literal {
        fn push(&mut self, flow: usize, frame: Frame, quantum: i64) {
            let (packets, deficit, listed) = &mut self.flows[flow];
            packets.push_back(frame);
            if !*listed {
                (*deficit, *listed) = (quantum, true);
                self.new.push_back(flow);
            }
        }

        fn pop(&mut self, quantum: i64) -> Option<Frame> {
            loop {
                let from_new = !self.new.is_empty();
                let list = if from_new { &mut self.new } else { &mut self.old };
                let flow = *list.front()?;
                let (packets, deficit, listed) = &mut self.flows[flow];
                if *deficit <= 0 {
                    *deficit += quantum;
                    list.pop_front();
                    self.old.push_back(flow);
                } else if let Some(frame) = packets.pop_front() {
                    *deficit -= i64::from(frame.1.max(1));
                    return Some(frame);
                } else {
                    list.pop_front();
                    if from_new && !self.old.is_empty() {
                        self.old.push_back(flow);
                    } else {
                        *listed = false;
                    }
                }
            }
        }
    }

    #[test]
    fn rounds_done_at_once_end_as_if_they_had_been_gone_through() {
        for quantum in [1, 3, 100, 1_514] {
            let mut random = Xoshiro256PlusPlus::new(u64::from(quantum));
            let mut queues = FlowQueues::new(12, NoAqm);
            let mut literal = Literal::default();
            for number in 0..4_000 {
                let flow = random.below(12);
                let len = [0, 1, 40, 1_514, 20_000][random.below(5) as usize];
                if random.below(9) < 4 {
                    let frame = Frame(number, len);
                    queues.push(Instant::ZERO, flow, frame, quantum);
                    literal.push(flow as usize, frame, i64::from(quantum));
                } else {
                    let ours = queues.pop(Instant::ZERO, quantum, &(), false, &mut |_, _| ());
                    assert_eq!(ours, literal.pop(i64::from(quantum)), "quantum {quantum}, step {number}");
                }
            }
        }
    }

    #[test]
    fn the_largest_is_the_first_of_equals_however_it_got_there() {
        for flows in [1, 2, 3, 7, 8, 100] {
            let mut random = Xoshiro256PlusPlus::new(u64::from(flows));
            let mut sizes = vec![0; flows as usize];
            let mut largest = Largest::default();
            for step in 0..5_000 {
                let index = random.below(flows);
                let size = u64::from(random.below(4));
                sizes[index as usize] = size;
                largest.set(index, size);
                // Now often, now rarely, so that the tree is kept as well as forgotten.
                if step % 1_500 < 700 {
                    let most = sizes.iter().max();
                    let first = sizes.iter().position(|size| Some(size) == most);
                    assert_eq!(Some(largest.find(sizes.iter().copied()) as usize), first);
                }
            }
        }
    }
}
