//! Flow queueing, whatever the AQM: the scheduler of `fq_codel` and `fq_pie`.
//!
//! [`FlowQueues`] holds a queue per flow and serves them by deficit round robin. Flows that have
//! just become active come first (RFC 8290 §4). Each flow has its own [`FlowAqm`], which drops and
//! marks packets in the flow's queue.
//!
//! An overflow takes packets from the flow with the most bytes, found without a scan.

mod aqm;
pub(crate) mod evidence;
mod round;

use alloc::vec;
use alloc::vec::Vec;

pub use aqm::FlowAqm;
use aqm::charge;

use crate::head::CodelTally;
use crate::largest::Largest;
use crate::memory::{Buffers, Memory};
use crate::packet::{Flow, Packet, scale_hash};
use crate::qdisc::{DropReason, Drops, Stats};
use crate::queue::{Chain, Passage, Pool, Turns};
use crate::time::Instant;

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
            new_flows: Turns::with_room_for(flows),
            old_flows: Turns::with_room_for(flows),
            passage: Passage::default(),
            memory: Memory::new(buffers),
            activations: 0,
            stats: Stats::default(),
            tally: CodelTally::default(),
        }
    }

    /// Changes the number of flows. The queue must be empty.
    pub fn resize(&mut self, flows: u32, aqm: A) {
        let passage = self.passage;
        let stats = self.stats;
        let tally = self.tally;
        let activations = self.activations;
        // Counters count since the discipline was created, so they survive.
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
            // As `fq_codel_classify()` in Linux: classes count from 1, flows from 0.
            Some(class) if (1..=self.count).contains(&class) => class.saturating_sub(1),
            _ => scale_hash(packet.flow_hash(salt), self.count),
        }
    }

    /// A packet of another flow where `packet` is queued.
    #[must_use]
    pub fn other_flow(&self, packet: &P, salt: u32) -> Option<&P>
    where
        P: Flow,
    {
        let flow = self.flows.get(self.classify(packet, salt) as usize)?;
        self.pool.other_flow(&flow.packets, packet)
    }

    /// Returns true if [`Self::push`] calls no other function, because memory is left and the tree
    /// of backlogs is not in use. The compiler then saves no registers.
    #[must_use]
    #[inline]
    pub fn is_ready(&self) -> bool {
        !self.fattest.is_kept() && self.pool.has_free()
    }

    /// Queues `packet` in flow `index`.
    #[inline(always)]
    pub fn push(&mut self, now: Instant, index: u32, packet: P, quantum: u32) {
        let memory = self.memory.buffers().memory_of(&packet, packet.len());
        self.push_charged(now, index, packet, quantum, memory);
    }

    /// As [`Self::push`], for a packet whose memory is known.
    #[inline(always)]
    pub(crate) fn push_charged(&mut self, now: Instant, index: u32, packet: P, quantum: u32, memory: u64) {
        let bytes = packet.len();
        let Some(flow) = self.flows.get_mut(index as usize) else { return };
        // The packet comes before the flow's state, so that few registers are in use at once.
        self.passage.enters(bytes);
        self.memory.enters(memory);
        self.pool.push_back_charged(&mut flow.packets, now, packet, memory);
        flow.backlog = flow.backlog.wrapping_add(charge(bytes));
        self.fattest.set(index, flow.backlog);
        if !flow.listed {
            // RFC 8290 §4.1: a flow on no list is a new one, whatever its AQM remembers.
            flow.listed = true;
            flow.deficit = i64::from(quantum);
            self.activations = self.activations.wrapping_add(1);
            self.new_flows.push(index);
        }
    }

    /// Returns the flow with the most bytes (the first one of several), and its bytes as
    /// [`Self::backlog`] counts them.
    pub fn fattest(&mut self) -> (u32, u64) {
        let index = self.fattest.find(self.flows.iter().map(|flow| flow.backlog));
        (index, self.backlog(index))
    }

    /// RFC 8290 §4.1: drops packets from the head of the flow with the most bytes, at most
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
        let mut dropped = 0_u32;
        let mut charged = 0_u64;
        // As in Linux, at least one packet goes, even if it is more than half of the bytes.
        while dropped < batch && (dropped == 0 || charged < backlog / 2) {
            let Some(oldest) = self.pool.oldest(&mut flow.packets) else { break };
            let memory = oldest.memory();
            let Some(victim) = oldest.take() else { break };
            let bytes = victim.len();
            dropped = dropped.saturating_add(1);
            charged = charged.saturating_add(charge(bytes));
            self.passage.leaves(bytes);
            self.memory.leaves(memory);
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
    pub fn purge(&mut self, reset: impl Fn(&A) -> A, drops: &mut impl Drops<P>) {
        for flow in &mut self.flows {
            while let Some(packet) = self.pool.pop_front(&mut flow.packets) {
                self.stats.dropped_after.add(packet.len());
                drops.dropped(packet, DropReason::Purged);
            }
            // The deficit needs no reset: a flow gets its quantum when it is listed again.
            flow.aqm = reset(&flow.aqm);
            (flow.listed, flow.backlog) = (false, 0);
        }
        // The tree of backlogs is built again at the next overflow.
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
    pub(crate) const fn memory(&self) -> u64 {
        self.memory.used()
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
        for flow in &self.flows {
            let rule = |packet: &P| buffers.memory_of(packet, packet.len());
            self.memory.enters(self.pool.charge_again(&flow.packets, rule));
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

#[cfg(test)]
mod tests;
