//! The AQM of a flow, and the flow's queue as the AQM sees it.

use crate::head::{CodelTally, Head, Mark, Source, mark};
use crate::largest::Largest;
use crate::memory::Memory;
use crate::packet::{Ecn, Packet};
use crate::qdisc::{DropReason, Drops, Stats};
use crate::queue::{Chain, Passage, Pool};
use crate::time::Instant;

/// An AQM of which every flow has its own state.
pub trait FlowAqm: Clone {
    /// What all flows share.
    type Params;

    /// Returns true if the packet at the `head` of the flow may be sent without further work. False
    /// (the default) requires a call of [`Self::decide`].
    fn passes(&mut self, now: Instant, params: &Self::Params, head: Head) -> bool {
        // Named without an underscore, because the documentation shows the names of arguments.
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

/// One flow's queue, as its AQM sees it.
pub(super) struct FlowSource<'a, P, D> {
    pub(super) packets: &'a mut Chain,
    pub(super) backlog: &'a mut u64,
    pub(super) index: u32,
    pub(super) fattest: &'a mut Largest,
    pub(super) pool: &'a mut Pool<P>,
    /// Of all flows.
    pub(super) passage: &'a mut Passage,
    pub(super) memory: &'a mut Memory,
    /// The AQM sees the bytes of the whole discipline.
    pub(super) whole: bool,
    pub(super) stats: &'a mut Stats,
    pub(super) tally: &'a mut CodelTally,
    pub(super) drops: &'a mut D,
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

    fn head_ecn(&self) -> Option<Ecn> {
        self.pool.front(self.packets).map(|queued| queued.packet.ecn())
    }

    fn drop_head(&mut self) {
        let Some(oldest) = self.pool.oldest(self.packets) else { return };
        let memory = oldest.memory();
        if let Some(packet) = oldest.take() {
            let bytes = packet.len();
            // Dropped packets count as well: Linux notes every length that it judges
            // (`codel_should_drop()`).
            self.tally.max_packet = self.tally.max_packet.max(bytes);
            *self.backlog = self.backlog.wrapping_sub(charge(bytes));
            self.fattest.set(self.index, *self.backlog);
            self.passage.leaves(bytes);
            self.memory.leaves(memory);
            self.stats.dropped_after.add(bytes);
            self.drops.dropped(packet, DropReason::Congested);
        }
    }

    fn mark_head(&mut self, why: Mark) -> bool {
        let Some(packet) = self.pool.front_mut(self.packets) else { return false };
        mark(packet, why, self.stats, self.tally)
    }
}

/// Returns what a packet adds to the backlog of its flow: at least one byte, so that a flow of
/// empty packets differs from an empty flow.
#[inline]
pub(super) fn charge(bytes: u32) -> u64 {
    u64::from(bytes.max(1))
}
