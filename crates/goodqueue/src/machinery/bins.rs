//! ns-2's round of bins, whatever the AQM in them: the scheduler of `sfq_codel` and `sfq_pie`.
//!
//! Packets are hashed to bins, which are served in turn, a packet or a quantum each. A bin that
//! becomes active goes in front of the first that is not new (K. Nichols, ns-2 `queue/sfqcodel.cc`,
//! 2012).

use alloc::vec;
use alloc::vec::Vec;

use crate::config::{Declaration, Parameter};
use crate::decision::{Evidence, Quantity};
use crate::flow_queue::FlowAqm;
use crate::head::{CodelTally, Head, Mark, Source, mark};
use crate::largest::Largest;
use crate::packet::{Ecn, Flow, Packet, scale_hash};
use crate::qdisc::{DropReason, Drops, Stats};
use crate::queue::{Chain, Passage, Pool};
use crate::time::Instant;

/// ns-2's round of bins, whatever the AQM in them.
#[derive(Clone, Debug)]
pub(crate) struct Bins<P, A> {
    bins: Vec<Bin<A>>,
    /// The bin with the most packets. Of several equal bins it is the last.
    longest: Largest,
    /// The bin that [`Self::drop_from_another_longest`] took from last.
    last_robbed: u32,
    pool: Pool<P>,
    /// The bin to serve next.
    turn: u32,
    /// Last bin of the round; undefined while the round is empty.
    last: u32,
    passage: Passage,
    /// Drops and marks; [`Bins::stats`] knows the rest.
    pub(crate) stats: Stats,
    /// Marks and drops of CoDel in all bins.
    pub(crate) tally: CodelTally,
}

/// Bytes that an AQM counts as left behind a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Behind {
    /// Bytes of its bin.
    Bin,
    /// Bytes of all bins.
    All,
    /// Bytes of all bins, or 0 if its bin is empty.
    AllIfAnyInBin,
}

/// What a bin holds.
#[derive(Clone, Copy)]
struct InBin {
    packets: u32,
    bytes: u64,
}

impl Behind {
    /// Bytes behind a packet of `bytes` in `bin`, with `all` bytes in all bins.
    #[inline]
    fn bytes_behind(self, bytes: u32, bin: InBin, all: u64) -> u64 {
        match self {
            Self::Bin => bin.bytes.saturating_sub(u64::from(bytes)),
            Self::AllIfAnyInBin if bin.packets <= 1 => 0,
            Self::All | Self::AllIfAnyInBin => all.saturating_sub(u64::from(bytes)),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Bin<A> {
    packets: Chain,
    bytes: u64,
    /// Bytes that it may still send in this turn.
    deficit: i64,
    aqm: A,
    place: Place,
}

/// Place of a bin. The two highest bits tell whether it is in the round and whether it is new
/// there; the others are the number of the next bin. 0 means that it is not in the round.
#[derive(Clone, Copy, Debug)]
// The round needs no links backwards, because only the bin whose turn it is leaves it. In one
// number, the link and the flags let a bin with CoDel fit into a line of the cache.
struct Place(u32);

impl Place {
    const NONE: Self = Self(0);
    const LISTED: u32 = 1 << 31;
    const NEW: u32 = 1 << 30;

    /// In the round, before bin `next`.
    const fn before(next: u32, new: bool) -> Self {
        Self(next | Self::LISTED | if new { Self::NEW } else { 0 })
    }

    const fn next(self) -> u32 {
        self.0 & !(Self::LISTED | Self::NEW)
    }

    const fn is_listed(self) -> bool {
        self.0 & Self::LISTED != 0
    }

    const fn is_new(self) -> bool {
        self.0 & Self::NEW != 0
    }
}

const NIL: u32 = u32::MAX;

impl<P: Packet, A: FlowAqm> Bins<P, A> {
    pub(crate) fn new(bins: u32, aqm: A) -> Self {
        let bin = Bin { packets: Chain::default(), bytes: 0, deficit: 0, aqm, place: Place::NONE };
        Self {
            bins: vec![bin; bins as usize],
            longest: Largest::default(),
            last_robbed: 0,
            pool: Pool::default(),
            turn: NIL,
            last: NIL,
            passage: Passage::default(),
            stats: Stats::default(),
            tally: CodelTally::default(),
        }
    }

    /// Changes the number of bins. The queue must be empty.
    pub(crate) fn resize(&mut self, bins: u32, aqm: A) {
        let passage = self.passage;
        let stats = self.stats;
        let tally = self.tally;
        *self = Self { passage, stats, tally, ..Self::new(bins, aqm) };
    }

    pub(crate) fn len(&self) -> usize {
        usize::try_from(self.passage.packets()).unwrap_or(usize::MAX)
    }

    pub(crate) const fn bytes(&self) -> u64 {
        self.passage.bytes()
    }

    /// Returns the counters.
    pub(crate) const fn stats(&self) -> Stats {
        self.passage.complete(self.stats)
    }

    /// The bin of `packet`: its class if that names one, else by hash.
    #[inline]
    pub(crate) fn classify(&self, packet: &P, salt: u32) -> u32
    where
        P: Flow,
    {
        let bins = u32::try_from(self.bins.len()).unwrap_or(u32::MAX);
        match packet.class() {
            // Minor numbers count from 1, and bins from 0.
            Some(class) if (1..=bins).contains(&class) => class.saturating_sub(1),
            _ => scale_hash(packet.flow_hash(salt), bins),
        }
    }

    /// A packet of another flow in the bin of `packet`.
    pub(crate) fn other_flow(&self, packet: &P, salt: u32) -> Option<&P>
    where
        P: Flow,
    {
        let bin = self.bins.get(self.classify(packet, salt) as usize)?;
        self.pool.other_flow(&bin.packets, packet)
    }

    /// Bytes in bin `index`.
    pub(crate) fn backlog(&self, index: u32) -> u64 {
        self.bins.get(index as usize).map_or(0, |bin| bin.bytes)
    }

    /// Packets in bin `index`.
    pub(crate) fn packets_of(&self, index: u32) -> u32 {
        self.bins.get(index as usize).map_or(0, |bin| bin.packets.len())
    }

    /// Bins in the round.
    pub(crate) fn active(&self) -> u64 {
        self.bins.iter().filter(|bin| bin.place.is_listed()).count() as u64
    }

    pub(crate) fn aqm_mut(&mut self, index: u32) -> Option<&mut A> {
        self.bins.get_mut(index as usize).map(|bin| &mut bin.aqm)
    }

    pub(crate) fn aqms(&mut self) -> impl Iterator<Item = &mut A> {
        self.bins.iter_mut().map(|bin| &mut bin.aqm)
    }

    /// Queues `packet` in bin `index`.
    #[inline]
    pub(crate) fn push(&mut self, now: Instant, index: u32, packet: P, quantum: u32) {
        let mirrored = self.mirrored(index);
        let bytes = packet.len();
        let Some(bin) = self.bins.get_mut(index as usize) else { return };
        self.passage.enters(bytes);
        self.pool.push_back(&mut bin.packets, now, packet);
        bin.bytes = bin.bytes.wrapping_add(u64::from(bytes));
        self.longest.set(mirrored, u64::from(bin.packets.len()));
        if !bin.place.is_listed() {
            bin.deficit = i64::from(quantum);
            self.join(index);
        }
    }

    /// Puts a bin into the round: behind other new bins, ahead of the rest.
    fn join(&mut self, index: u32) {
        if self.turn == NIL {
            (self.turn, self.last) = (index, index);
            self.set_place(index, Place::before(index, true));
            return;
        }
        let mut before = self.last;
        let mut at = self.turn;
        while self.place(at).is_new() && self.place(at).next() != self.turn {
            (before, at) = (at, self.place(at).next());
        }
        if self.place(at).next() == self.turn {
            // ns-2's walk ends at the last bin, new or not. A new bin is therefore behind a single
            // old one.
            (before, at, self.last) = (at, self.turn, index);
        } else if at == self.turn {
            // No bin is new, so this one is served before all.
            self.turn = index;
        }
        self.set_place(index, Place::before(at, true));
        self.set_place(before, Place::before(index, self.place(before).is_new()));
    }

    fn place(&self, index: u32) -> Place {
        self.bins.get(index as usize).map_or(Place::NONE, |bin| bin.place)
    }

    fn set_place(&mut self, index: u32, place: Place) {
        if let Some(bin) = self.bins.get_mut(index as usize) {
            bin.place = place;
        }
    }

    /// Takes the bin whose turn it is out of the round.
    fn leave(&mut self, params: &A::Params) {
        if let Some(bin) = self.bins.get_mut(self.turn as usize) {
            bin.aqm.emptied(params);
        }
        let next = self.place(self.turn).next();
        self.set_place(self.turn, Place::NONE);
        if next == self.turn {
            self.turn = NIL;
            return;
        }
        self.set_place(self.last, Place::before(next, self.place(self.last).is_new()));
        self.turn = next;
    }

    /// Returns the next packet to send. A `quantum` of 0 serves packet by packet. `behind` selects
    /// the backlog that the AQM sees.
    #[inline]
    pub(crate) fn pop(
        &mut self,
        now: Instant,
        quantum: u32,
        params: &A::Params,
        behind: Behind,
        drops: &mut impl Drops<P>,
    ) -> Option<P> {
        // A bin was denied by its deficit: from then on empty ones are passed over.
        let mut denied = false;
        // First bin without deficit: when its turn comes again, no bin could send in a whole round.
        let mut first_denied = NIL;
        loop {
            let index = self.turn;
            let mirrored = self.mirrored(index);
            let bin = self.bins.get_mut(index as usize)?;
            let next = bin.place.next();
            if bin.packets.is_empty() {
                if denied {
                    (self.last, self.turn) = (index, next);
                } else {
                    // When serving packet by packet, an emptied bin stays for a round, so that its
                    // flow is not new again immediately.
                    self.leave(params);
                }
                continue;
            }
            bin.place = Place::before(next, false);
            if quantum > 0 && bin.deficit <= 0 {
                bin.deficit = bin.deficit.saturating_add(i64::from(quantum));
                (self.last, self.turn) = (index, next);
                denied = true;
                if first_denied == index {
                    self.skip_fruitless_rounds(quantum);
                    first_denied = NIL;
                } else if first_denied == NIL {
                    first_denied = index;
                }
                continue;
            }
            let queued = bin.packets.len();
            let oldest = self.pool.oldest(&mut bin.packets)?;
            let bytes = oldest.bytes();
            let bytes_behind =
                behind.bytes_behind(bytes, InBin { packets: queued, bytes: bin.bytes }, self.passage.bytes());
            let head = Head { at: oldest.at(), bytes, bytes_behind };
            if bin.aqm.passes(now, params, head) {
                self.tally.max_packet = self.tally.max_packet.max(bytes);
                self.passage.leaves(bytes);
                bin.bytes = bin.bytes.wrapping_sub(u64::from(bytes));
                if quantum == 0 {
                    (self.last, self.turn) = (index, next);
                } else {
                    // A packet of no bytes costs one, or a flow of such packets would be served for
                    // ever.
                    bin.deficit = bin.deficit.wrapping_sub(i64::from(bytes.max(1)));
                }
                let packet = oldest.take();
                self.longest.set(mirrored, u64::from(bin.packets.len()));
                return packet;
            }
            // ns-2's `sfqcodel.cc` has one `maxpacket` for all bins.
            bin.aqm.know_largest(self.tally.max_packet);
            let mut source = BinSource {
                bin_packets: &mut bin.packets,
                bin_bytes: &mut bin.bytes,
                mirrored,
                longest: &mut self.longest,
                pool: &mut self.pool,
                passage: &mut self.passage,
                behind,
                stats: &mut self.stats,
                tally: &mut self.tally,
                drops,
            };
            if bin.aqm.decide(now, params, &mut source) {
                let sent = source.pass();
                if quantum == 0 {
                    (self.last, self.turn) = (index, next);
                } else {
                    // At least one byte, or a bin of empty packets would be served for ever.
                    bin.deficit = bin.deficit.wrapping_sub(i64::from(sent.max(1)));
                }
                return self.pool.pop_front(&mut bin.packets);
            }
            // The AQM dropped all packets of the bin.
            self.leave(params);
            denied = false;
            if first_denied == index {
                first_denied = NIL;
            }
        }
    }

    /// A packet of many quanta would take as many rounds. Rounds in which no bin may send are
    /// skipped at once. Empty bins take no part in them.
    #[cold]
    fn skip_fruitless_rounds(&mut self, quantum: u32) {
        let quantum = i64::from(quantum.max(1));
        let mut rounds = i64::MAX;
        let mut at = self.turn;
        while let Some(bin) = self.bins.get(at as usize) {
            if !bin.packets.is_empty() {
                rounds = rounds.min(bin.deficit.min(0).saturating_neg() / quantum);
            }
            at = bin.place.next();
            if at == self.turn {
                break;
            }
        }
        while let Some(bin) = self.bins.get_mut(at as usize) {
            if bin.deficit <= 0 && !bin.packets.is_empty() {
                bin.deficit = bin.deficit.saturating_add(rounds.saturating_mul(quantum));
            }
            at = bin.place.next();
            if at == self.turn {
                break;
            }
        }
    }

    /// Drops the newest packet of the bin with the most packets.
    pub(crate) fn drop_from_longest(&mut self, why: DropReason, drops: &mut impl Drops<P>) -> bool {
        let index = self.longest_bin();
        self.drop_youngest(index, why, drops)
    }

    /// Returns the bin with the most packets, the last one of several.
    fn longest_bin(&mut self) -> u32 {
        let mirrored = self.longest.find(self.bins.iter().rev().map(|bin| u64::from(bin.packets.len())));
        self.mirrored(mirrored)
    }

    /// As [`Self::longest_bin`], but prefers any other equally long bin to the previous one.
    pub(crate) fn drop_from_another_longest(&mut self, why: DropReason, drops: &mut impl Drops<P>) -> bool {
        let mut index = self.longest_bin();
        if index == self.last_robbed {
            // Is another as long?
            let most = self.packets_of(index);
            let mirrored = self.mirrored(index);
            // The tree finds one bin. For a second search this bin counts as empty.
            self.longest.set(mirrored, 0);
            let other = self.longest_bin();
            self.longest.set(mirrored, u64::from(most));
            if self.packets_of(other) >= most {
                index = other;
            }
        }
        self.last_robbed = index;
        self.drop_youngest(index, why, drops)
    }

    fn drop_youngest(&mut self, index: u32, why: DropReason, drops: &mut impl Drops<P>) -> bool {
        let mirrored = self.mirrored(index);
        let Some(bin) = self.bins.get_mut(index as usize) else { return false };
        let Some(lost) = self.pool.pop_back(&mut bin.packets) else { return false };
        let bytes = lost.len();
        bin.bytes = bin.bytes.wrapping_sub(u64::from(bytes));
        self.longest.set(mirrored, u64::from(bin.packets.len()));
        self.passage.leaves(bytes);
        self.stats.dropped_after.add(bytes);
        drops.dropped(lost, why);
        true
    }

    /// Adds the state of bin `index`.
    pub(crate) fn observe(&self, index: u32, evidence: &mut Evidence) {
        let Some(bin) = self.bins.get(index as usize) else { return };
        evidence.given(
            "bin",
            Quantity::Number(u64::from(index)),
            "the bin to which this packet's flow hashes",
        );
        evidence.fact("bin_packets", Quantity::Packets(u64::from(bin.packets.len())), "packets in that bin");
        evidence.fact("bin_backlog", Quantity::Bytes(bin.bytes), "bytes in that bin");
        evidence.fact("deficit", Quantity::Credit(bin.deficit), "bytes that the bin may send in this turn");
        evidence.fact("bins_active", Quantity::Number(self.active()), "bins that have packets");
        evidence.fact("queued", Quantity::Packets(self.len() as u64), "packets in all bins");
    }

    /// Returns the AQM of bin `index`, and the bytes that it counts behind a packet of `bytes`.
    pub(crate) fn aqm_of(&self, index: u32, behind: Behind, bytes: u32) -> Option<(&A, u64)> {
        let bin = self.bins.get(index as usize)?;
        let held = InBin { packets: bin.packets.len(), bytes: bin.bytes };
        Some((&bin.aqm, behind.bytes_behind(bytes, held, self.bytes())))
    }

    /// Gives every packet to `drops` and resets everything except the statistics.
    pub(crate) fn purge(&mut self, aqm: A, drops: &mut impl Drops<P>) {
        for bin in &mut self.bins {
            while let Some(packet) = self.pool.pop_front(&mut bin.packets) {
                self.stats.dropped_after.add(packet.len());
                drops.dropped(packet, DropReason::Purged);
            }
        }
        self.passage.all_leave();
        let bins = u32::try_from(self.bins.len()).unwrap_or(u32::MAX);
        self.resize(bins, aqm);
    }

    /// The last bin first: `Largest` finds the first of several equal sizes, and ns-2 drops from
    /// the last.
    fn mirrored(&self, index: u32) -> u32 {
        let bins = u32::try_from(self.bins.len()).unwrap_or(u32::MAX);
        bins.wrapping_sub(1).wrapping_sub(index)
    }
}

/// One bin, as its AQM sees it.
struct BinSource<'a, P, D> {
    bin_packets: &'a mut Chain,
    bin_bytes: &'a mut u64,
    mirrored: u32,
    longest: &'a mut Largest,
    pool: &'a mut Pool<P>,
    /// Of all bins.
    passage: &'a mut Passage,
    behind: Behind,
    stats: &'a mut Stats,
    tally: &'a mut CodelTally,
    drops: &'a mut D,
}

impl<P: Packet, D> BinSource<'_, P, D> {
    /// Counts the packet at the head as gone and returns its bytes.
    #[inline]
    fn pass(&mut self) -> u32 {
        let len = self.pool.front(self.bin_packets).map_or(0, |queued| queued.packet.len());
        self.tally.max_packet = self.tally.max_packet.max(len);
        // The packet is still there, and leaves next.
        self.longest.set(self.mirrored, u64::from(self.bin_packets.len().saturating_sub(1)));
        *self.bin_bytes = self.bin_bytes.wrapping_sub(u64::from(len));
        self.passage.leaves(len);
        len
    }
}

impl<P: Packet, D: Drops<P>> Source for BinSource<'_, P, D> {
    #[inline]
    fn head(&self) -> Option<Head> {
        let queued = self.pool.front(self.bin_packets)?;
        let bytes = queued.packet.len();
        let bin = InBin { packets: self.bin_packets.len(), bytes: *self.bin_bytes };
        let bytes_behind = self.behind.bytes_behind(bytes, bin, self.passage.bytes());
        Some(Head { at: queued.at, bytes, bytes_behind })
    }

    fn head_ecn(&self) -> Option<Ecn> {
        self.pool.front(self.bin_packets).map(|queued| queued.packet.ecn())
    }

    fn drop_head(&mut self) {
        let bytes = self.pass();
        if let Some(packet) = self.pool.pop_front(self.bin_packets) {
            self.stats.dropped_after.add(bytes);
            self.drops.dropped(packet, DropReason::Congested);
        }
    }

    fn mark_head(&mut self, why: Mark) -> bool {
        let Some(packet) = self.pool.front_mut(self.bin_packets) else { return false };
        mark(packet, why, self.stats, self.tally)
    }
}

/// `limit` of the disciplines that serve bins.
pub(crate) const LIMIT: Parameter = Declaration::packets("limit")
    .default(1000)
    // `Pool` numbers its nodes in 32 bits and relies on a bound far below that.
    .range(1..=16_777_216)
    .source("ours; ns-2's scripts set it")
    .meaning("packets that all bins together hold");

/// `flows` of the disciplines that serve bins.
pub(crate) const FLOWS: Parameter = Declaration::integer("flows")
    .default(1024)
    .range(1..=65_536)
    .source("ns-2 sfqcodel")
    .meaning("number of bins; does not change while packets are queued");
