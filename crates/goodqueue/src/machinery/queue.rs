//! Storage that the disciplines share: a FIFO of packets with their enqueue times, a pool of such
//! FIFOs, and the order in which flows take their turns.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use crate::packet::{Flow, Packet};
use crate::qdisc::{Count, Stats};
use crate::time::Instant;

/// A queued packet and its time of arrival.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Queued<P> {
    /// When `enqueue` accepted it.
    pub at: Instant,
    /// The packet.
    pub packet: P,
}

/// Packets and bytes that entered a queue and that left it. The queued ones are the difference.
/// With a counter of its own, each call would wait for the previous call's store.
///
/// The order of the fields keeps two fields that change together apart. The compiler would turn
/// neighbours into one vector and use three times as many instructions.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[repr(C)]
pub(crate) struct Passage {
    entered_packets: u64,
    left_packets: u64,
    entered_bytes: u64,
    left_bytes: u64,
}

impl Passage {
    /// Counts a packet of `bytes` that entered the queue.
    #[inline]
    pub(crate) const fn enters(&mut self, bytes: u32) {
        self.entered_packets = self.entered_packets.wrapping_add(1);
        self.entered_bytes = self.entered_bytes.wrapping_add(bytes as u64);
    }

    /// Counts a packet of `bytes` that left the queue, sent or dropped.
    #[inline]
    pub(crate) const fn leaves(&mut self, bytes: u32) {
        self.left_packets = self.left_packets.wrapping_add(1);
        self.left_bytes = self.left_bytes.wrapping_add(bytes as u64);
    }

    /// Takes back the departure of a packet of `bytes`.
    pub(crate) const fn returns(&mut self, bytes: u32) {
        self.left_packets = self.left_packets.wrapping_sub(1);
        self.left_bytes = self.left_bytes.wrapping_sub(bytes as u64);
    }

    /// Counts every queued packet as left.
    pub(crate) const fn all_leave(&mut self) {
        (self.left_packets, self.left_bytes) = (self.entered_packets, self.entered_bytes);
    }

    /// Returns everything that ever entered.
    pub(crate) const fn entered(&self) -> Count {
        Count { packets: self.entered_packets, bytes: self.entered_bytes }
    }

    /// Packets queued.
    #[inline]
    pub(crate) const fn packets(&self) -> u64 {
        self.entered_packets.wrapping_sub(self.left_packets)
    }

    /// Bytes queued.
    #[inline]
    pub(crate) const fn bytes(&self) -> u64 {
        self.entered_bytes.wrapping_sub(self.left_bytes)
    }

    /// Completes the statistics of a discipline whose packets were all counted here.
    pub(crate) const fn complete(&self, stats: Stats) -> Stats {
        stats.with_queue(self.entered(), Count { packets: self.packets(), bytes: self.bytes() })
    }
}

/// A first-in first-out queue that counts its bytes and the packets that passed through it.
#[derive(Clone, Debug)]
pub struct Fifo<P> {
    ring: VecDeque<Queued<P>>,
    passage: Passage,
}

impl<P> Default for Fifo<P> {
    fn default() -> Self {
        Self { ring: VecDeque::new(), passage: Passage::default() }
    }
}

impl<P: Packet> Fifo<P> {
    /// Appends.
    #[inline]
    pub fn push_back(&mut self, at: Instant, packet: P) {
        self.passage.enters(packet.len());
        self.ring.push_back(Queued { at, packet });
    }

    /// Removes and returns the oldest packet.
    #[inline]
    pub fn pop_front(&mut self) -> Option<Queued<P>> {
        let queued = self.ring.pop_front()?;
        self.passage.leaves(queued.packet.len());
        Some(queued)
    }

    /// Removes and returns the newest packet.
    pub fn pop_back(&mut self) -> Option<Queued<P>> {
        let queued = self.ring.pop_back()?;
        self.passage.leaves(queued.packet.len());
        Some(queued)
    }

    /// Returns true if the next packet needs no allocation.
    #[must_use]
    #[inline]
    pub fn has_room(&self) -> bool {
        self.ring.len() != self.ring.capacity()
    }

    /// Returns the oldest packet without removing it.
    #[must_use]
    #[inline]
    pub fn front(&self) -> Option<&Queued<P>> {
        self.ring.front()
    }

    /// Iterates over the queued packets, oldest first. Their lengths must not change.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut P> {
        self.ring.iter_mut().map(|queued| &mut queued.packet)
    }

    /// Returns everything that ever entered.
    pub(crate) const fn entered(&self) -> Count {
        self.passage.entered()
    }

    /// Returns the oldest packet for marking. Its length must not change.
    #[must_use]
    pub fn front_mut(&mut self) -> Option<&mut P> {
        self.ring.front_mut().map(|queued| &mut queued.packet)
    }

    /// Packets queued.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.ring.len()
    }

    /// True if no packet is queued.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// Bytes queued.
    #[must_use]
    #[inline]
    pub const fn bytes(&self) -> u64 {
        self.passage.bytes()
    }

    /// Completes the statistics of a discipline whose packets are all in this queue.
    #[must_use]
    pub fn complete(&self, stats: Stats) -> Stats {
        self.passage.complete(stats)
    }
}

/// The nodes of many FIFOs in one allocation, so that a thousand mostly empty flows cost a thousand
/// small headers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pool<P> {
    nodes: Vec<Node<P>>,
    free: u32,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Node<P> {
    /// In an `Option` of its own, so that it moves out without a copy.
    packet: Option<P>,
    at: Instant,
    /// Memory that the packet is charged, in disciplines that count it.
    memory: u64,
    next: u32,
    /// Previous node of its FIFO; undefined for the oldest one.
    before: u32,
}

/// One FIFO of a [`Pool`]: its first and last node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Chain {
    head: u32,
    tail: u32,
    packets: u32,
}

/// The oldest packet of a FIFO, still in its slot.
#[derive(Debug)]
pub struct Oldest<'a, P> {
    node: &'a mut Node<P>,
    free: &'a mut u32,
    chain: &'a mut Chain,
}

impl<P> Oldest<'_, P> {
    /// Time of arrival.
    #[must_use]
    #[inline]
    pub const fn at(&self) -> Instant {
        self.node.at
    }

    /// Returns the packet, which always exists.
    #[inline]
    pub const fn packet(&mut self) -> Option<&mut P> {
        self.node.packet.as_mut()
    }

    /// Its length.
    #[must_use]
    #[inline]
    pub fn bytes(&self) -> u32
    where
        P: Packet,
    {
        self.node.packet.as_ref().map_or(0, Packet::len)
    }

    /// Memory that it is charged.
    #[inline]
    pub(crate) const fn memory(&self) -> u64 {
        self.node.memory
    }

    /// Removes the packet from its FIFO.
    #[inline]
    pub const fn take(self) -> Option<P> {
        self.chain.packets = self.chain.packets.wrapping_sub(1);
        // The tail of an emptied chain is stale: `link` asks for the number of packets.
        let index = core::mem::replace(&mut self.chain.head, self.node.next);
        // The last node freed is used next, because it is still in the cache.
        self.node.next = core::mem::replace(self.free, index);
        self.node.packet.take()
    }
}

/// "No node": pools stay far below 2^32 nodes because every discipline's packet limit does.
const NIL: u32 = u32::MAX;

impl Default for Chain {
    fn default() -> Self {
        Self { head: NIL, tail: NIL, packets: 0 }
    }
}

impl Chain {
    /// Packets in this FIFO.
    #[must_use]
    pub const fn len(&self) -> u32 {
        self.packets
    }

    /// True if it holds none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.packets == 0
    }
}

impl<P> Default for Pool<P> {
    fn default() -> Self {
        Self { nodes: Vec::new(), free: NIL }
    }
}

impl<P> Pool<P> {
    /// Returns true if the next packet needs no allocation.
    #[must_use]
    #[inline]
    pub fn has_free(&self) -> bool {
        (self.free as usize) < self.nodes.len()
    }

    /// Appends to `chain`.
    #[inline]
    pub fn push_back(&mut self, chain: &mut Chain, at: Instant, packet: P) {
        let index = self.put(at, packet, None);
        self.link(chain, index);
    }

    /// Appends a packet that is charged `memory` to `chain`.
    #[inline]
    pub(crate) fn push_back_charged(&mut self, chain: &mut Chain, at: Instant, packet: P, memory: u64) {
        let index = self.put(at, packet, Some(memory));
        self.link(chain, index);
    }

    /// Puts a packet into a free node that belongs to no FIFO yet. Returns the node's number.
    #[inline]
    fn put(&mut self, at: Instant, packet: P, memory: Option<u64>) -> u32 {
        match self.nodes.get_mut(self.free as usize) {
            Some(node) => {
                // Field by field, so that the packet is moved once.
                node.packet = Some(packet);
                node.at = at;
                if let Some(memory) = memory {
                    node.memory = memory;
                }
                // Free nodes are a list through `next`, too.
                core::mem::replace(&mut self.free, node.next)
            }
            None => {
                let memory = memory.unwrap_or(0);
                self.append(Node { packet: Some(packet), at, memory, next: NIL, before: NIL })
            }
        }
    }

    /// Appends a node that [`Self::put`] has filled to `chain`.
    #[inline]
    fn link(&mut self, chain: &mut Chain, index: u32) {
        let before = core::mem::replace(&mut chain.tail, index);
        if let Some(node) = self.nodes.get_mut(index as usize) {
            node.before = before;
        }
        chain.packets = chain.packets.wrapping_add(1);
        if chain.packets == 1 {
            chain.head = index;
        } else if let Some(last) = self.nodes.get_mut(before as usize) {
            last.next = index;
        }
    }

    // Departures leave their nodes for the next arrivals, so only a queue that is longer than ever
    // before needs this. Apart, so that the usual arrival saves no registers.
    #[cold]
    #[inline(never)]
    fn append(&mut self, node: Node<P>) -> u32 {
        let index = u32::try_from(self.nodes.len()).unwrap_or(NIL);
        self.nodes.push(node);
        index
    }

    /// Returns the oldest packet of `chain`, which the caller may inspect and then take.
    #[inline]
    pub fn oldest<'a>(&'a mut self, chain: &'a mut Chain) -> Option<Oldest<'a, P>> {
        if chain.packets == 0 {
            return None;
        }
        let node = self.nodes.get_mut(chain.head as usize)?;
        Some(Oldest { node, free: &mut self.free, chain })
    }

    /// Removes and returns the oldest packet of `chain`.
    #[inline]
    pub fn pop_front(&mut self, chain: &mut Chain) -> Option<P> {
        self.oldest(chain)?.take()
    }

    /// Removes and returns the newest packet of `chain`.
    pub fn pop_back(&mut self, chain: &mut Chain) -> Option<P> {
        if chain.packets <= 1 {
            return self.pop_front(chain);
        }
        let index = chain.tail;
        let node = self.nodes.get_mut(index as usize)?;
        chain.tail = node.before;
        chain.packets = chain.packets.saturating_sub(1);
        node.next = self.free;
        self.free = index;
        node.packet.take()
    }

    /// Returns the oldest packet of `chain` and its time of arrival, without removing it.
    #[must_use]
    #[inline]
    pub fn front(&self, chain: &Chain) -> Option<Queued<&P>> {
        if chain.packets == 0 { None } else { self.at(chain.head) }
    }

    /// Returns the slot of the oldest packet of `chain` without reading it.
    #[must_use]
    #[inline]
    pub fn place_of_front(&self, chain: &Chain) -> Option<&Option<P>> {
        self.nodes.get(chain.head as usize).map(|node| &node.packet)
    }

    /// Returns the oldest packet of `chain` for marking.
    #[must_use]
    pub fn front_mut(&mut self, chain: &Chain) -> Option<&mut P> {
        if chain.packets == 0 { None } else { self.nodes.get_mut(chain.head as usize)?.packet.as_mut() }
    }

    /// Returns the newest packet of `chain` and its node.
    #[must_use]
    pub fn back(&self, chain: &Chain) -> Option<(u32, Queued<&P>)> {
        if chain.packets == 0 { None } else { Some((chain.tail, self.at(chain.tail)?)) }
    }

    /// The packet in node `index`.
    #[inline]
    pub(crate) fn at(&self, index: u32) -> Option<Queued<&P>> {
        let node = self.nodes.get(index as usize)?;
        Some(Queued { at: node.at, packet: node.packet.as_ref()? })
    }

    /// Memory that the packet in node `index` is charged.
    pub(crate) fn memory(&self, index: u32) -> u64 {
        self.nodes.get(index as usize).map_or(0, |node| node.memory)
    }

    /// Charges the packets of `chain` again, by another rule. Returns the sum.
    pub(crate) fn charge_again(&mut self, chain: &Chain, rule: impl Fn(&P) -> u64) -> u64 {
        let mut at = chain.head;
        let mut sum = 0_u64;
        for _ in 0..chain.packets {
            let Some(node) = self.nodes.get_mut(at as usize) else { break };
            node.memory = node.packet.as_ref().map_or(0, &rule);
            sum = sum.wrapping_add(node.memory);
            at = node.next;
        }
        sum
    }

    /// The packets of `chain` and their nodes, oldest first.
    pub fn nodes(&self, chain: &Chain) -> impl Iterator<Item = (u32, &P)> {
        let mut at = chain.head;
        (0..chain.packets).map_while(move |_| {
            let index = at;
            let node = self.nodes.get(at as usize)?;
            at = node.next;
            node.packet.as_ref().map(|packet| (index, packet))
        })
    }

    /// The oldest of `chain` that belongs to another flow than `packet`.
    #[must_use]
    pub fn other_flow(&self, chain: &Chain, packet: &P) -> Option<&P>
    where
        P: Flow,
    {
        self.nodes(chain).map(|(_, other)| other).find(|other| !other.same_flow(packet))
    }

    /// Takes the packet at `node`, which must be one of `chain`.
    pub fn remove(&mut self, chain: &mut Chain, node: u32) -> Option<P> {
        if chain.packets <= 1 || node == chain.head {
            return self.pop_front(chain);
        }
        if node == chain.tail {
            return self.pop_back(chain);
        }
        let entry = self.nodes.get_mut(node as usize)?;
        let before = entry.before;
        let next = entry.next;
        let packet = entry.packet.take()?;
        entry.next = self.free;
        self.free = node;
        if let Some(neighbour) = self.nodes.get_mut(before as usize) {
            neighbour.next = next;
        }
        if let Some(neighbour) = self.nodes.get_mut(next as usize) {
            neighbour.before = before;
        }
        chain.packets = chain.packets.saturating_sub(1);
        Some(packet)
    }
}

/// Flows in the order of their turns, each at most once: a ring with room for all.
#[derive(Clone, Debug)]
pub(crate) struct Turns {
    ring: Box<[u32]>,
    /// Number of places, a power of two, minus one.
    mask: u32,
    /// Place of the first flow and of the next free place. Both wrap.
    head: u32,
    tail: u32,
}

impl Turns {
    /// Returns an empty ring for up to `flows` flows.
    pub(crate) fn with_room_for(flows: u32) -> Self {
        // More flows than 2^31 have no memory.
        let size = flows.min(1 << 31).next_power_of_two();
        Self { ring: vec![0; size as usize].into_boxed_slice(), mask: size - 1, head: 0, tail: 0 }
    }

    #[inline]
    const fn place(&self, at: u32) -> usize {
        (at & self.mask) as usize
    }

    /// Returns the flow whose turn it is.
    #[inline]
    pub(crate) fn first(&self) -> Option<u32> {
        if self.is_empty() { None } else { self.ring.get(self.place(self.head)).copied() }
    }

    /// Ends the current turn.
    #[inline]
    pub(crate) const fn advance(&mut self) {
        self.head = self.head.wrapping_add(1);
    }

    /// Appends `flow` after all others.
    #[inline]
    pub(crate) fn push(&mut self, flow: u32) {
        // Read once: the compiler cannot know that the entry is not the tail.
        let tail = self.tail;
        let place = self.place(tail);
        if let Some(entry) = self.ring.get_mut(place) {
            *entry = flow;
        }
        self.tail = tail.wrapping_add(1);
    }

    /// Removes `flow`. The others keep their order.
    pub(crate) fn remove(&mut self, flow: u32) {
        for _ in 0..self.len() {
            let Some(next) = self.first() else { return };
            self.advance();
            if next != flow {
                self.push(next);
            }
        }
    }

    /// Returns the flow whose turn comes after `turn` others.
    pub(crate) fn nth(&self, turn: u32) -> Option<u32> {
        let there = turn < self.len();
        self.ring.get(self.place(self.head.wrapping_add(turn))).copied().filter(|_| there)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> {
        (0..self.len()).filter_map(|turn| self.nth(turn))
    }

    pub(crate) const fn clear(&mut self) {
        self.head = self.tail;
    }

    pub(crate) const fn len(&self) -> u32 {
        self.tail.wrapping_sub(self.head)
    }

    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.head == self.tail
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_share_nodes_and_keep_their_own_order() {
        let mut pool = Pool::default();
        let mut a = Chain::default();
        let mut b = Chain::default();
        for n in 0..4_u32 {
            pool.push_back(&mut a, Instant::ZERO, n);
            pool.push_back(&mut b, Instant::ZERO, 10 + n);
        }
        assert_eq!(pool.pop_front(&mut a), Some(0));
        assert_eq!(pool.pop_back(&mut a), Some(3));
        assert_eq!(pool.pop_back(&mut b), Some(13));
        pool.push_back(&mut a, Instant::ZERO, 9);
        let left: Vec<u32> = core::iter::from_fn(|| pool.pop_front(&mut a)).collect();
        assert_eq!(left, [1, 2, 9]);
        let left_of_b: Vec<u32> = core::iter::from_fn(|| pool.pop_front(&mut b)).collect();
        assert_eq!(left_of_b, [10, 11, 12]);
        assert_eq!(pool.nodes.len(), 8, "freed nodes are used again");
        for n in 0..4_u32 {
            pool.push_back(&mut a, Instant::ZERO, n);
        }
        let second = pool.nodes(&a).nth(1).map(|(node, _)| node).expect("four are there");
        assert_eq!(pool.remove(&mut a, second), Some(1));
        assert_eq!(pool.back(&a).map(|(_, q)| *q.packet), Some(3));
        assert_eq!(pool.pop_back(&mut a), Some(3));
        let rest: Vec<u32> = core::iter::from_fn(|| pool.pop_front(&mut a)).collect();
        assert_eq!(rest, [0, 2]);
        assert!(a.is_empty() && b.is_empty() && pool.pop_back(&mut a).is_none());
    }
}
