//! Stochastic fairness queueing: `sfq`.
//!
//! # What it does
//! Flows are hashed into buckets. Each bucket in use has its own FIFO, and the FIFOs are served in
//! turn, `quantum` bytes each. When the buffer is full, the longest FIFO (in packets) loses its
//! newest packet, so a flow can only displace its own packets. There is no AQM: a flow that fills
//! its FIFO delays itself as a drop-tail queue would.
//!
//! # Reference
//! P. McKenney, "Stochastic Fairness Queueing", INFOCOM 1990; tc-sfq(8); behaviour of Linux 6.1
//! `net/sched/sch_sfq.c`.
//!
//! # State
//! ```text
//! table[bucket] -> slot           round: tail -> slot -> slot -> ... -> tail   (served next: the one after tail)
//! slot: FIFO, allot, bucket       with[n]: the slots that hold n packets (n > 1), last changed first
//!                                 deepest: the largest n whose list is not empty
//! ```
//!
//! # Parameters
//! | name | meaning | unit | default | source of the default | range |
//! |---|---|---|---|---|---|
//! | `limit` | packets that the queue holds | packets | 127p | Linux sch_sfq | 1 to 4294967295; limited to depth x flows |
//! | `depth` | packets that one flow may have queued | packets | 127p | Linux sch_sfq | 1 to 127 |
//! | `flows` | number of flows that can have packets queued at once | number | 128 | Linux sch_sfq | 1 to 65408; limited to divisor and to limit |
//! | `divisor` | number of hash buckets | number | 1024 | Linux sch_sfq | a power of 2 from 1 to 65536 |
//! | `quantum` | bytes that a flow sends per turn | bytes | MTU | Linux sch_sfq | 1 to 2147483647 |
//! | `perturb` | time between changes of the hash function; 0: never | time; without a unit: seconds | 0s | Linux sch_sfq | 0 to 1000000s |
//! | `headdrop` | drop the oldest packet of a flow, not the youngest | flag | off | Linux sch_sfq | |
//! | `redflowlimit` | bytes that a flow may have queued; switches on RED for each flow | bytes | none | tc-sfq(8) | 1 to 4294967295 |
//! | `min` | average backlog of a flow above which packets are signalled | bytes | max / 3 | tc-sfq(8) | needs redflowlimit |
//! | `max` | average backlog above which every packet is signalled | bytes | redflowlimit / 4 | tc-sfq(8) | needs redflowlimit |
//! | `avpkt` | typical packet length, from which the averaging filter is computed | bytes | 1000 | tc-sfq(8) | needs redflowlimit |
//! | `burst` | length of a burst that passes without a signal | packets | (2 min + max) / (3 avpkt) | tc-sfq(8) | needs redflowlimit |
//! | `probability` | probability of a signal at `max` | fraction, 0 to 1 | 0.02 | tc-sfq(8) | above 0 (at least 2^-32), to 1; needs redflowlimit |
//! | `ecn` | mark ECN-capable packets instead of dropping them | flag | off | tc-sfq(8) | needs redflowlimit |
//! | `harddrop` | above max, drop ECN-capable packets too | flag | off | tc-sfq(8) | needs redflowlimit |
//! | `variant` | `linux`: Linux 6.1; byte quanta, depth and headdrop. `mckenney1990`: the paper; one packet per turn, whatever its length. `ns2`: ns-2.35; one packet per turn, and arrivals of flows with many packets are dropped when little room is left | word | linux | | |
//!
//! `min` and `max` need 0 < min < max, and `burst` more than min / avpkt.
//!
//! # Deviations
//! * `mckenney1990`: serves by packets, as the paper does. Details that the paper leaves open are
//!   as in Linux: which of several longest FIFOs loses a packet, and where a new FIFO joins the
//!   round.
//! * `ns2`: drops an arrival if its FIFO holds at least half as many packets as still fit into the
//!   queue. It also drops an arrival if its FIFO holds more than limit / divisor packets and fewer
//!   packets than buckets still fit. It hashes the numbers of both nodes, if packets have them
//!   ([`Flow::nodes`]), so flows between consecutively numbered nodes hardly collide.
//! * `limit 1` works; Linux 6.1 refuses it since CVE-2024-57996. A quantum below 256 is not
//!   raised.
//! * As in Linux, `redflowlimit` itself limits nothing. It gives each flow its own RED and sets
//!   the default of `max`.
//! * A class chosen by the caller ([`Flow::class`]) survives `perturb`; Linux hashes such
//!   packets. The order of a FIFO survives it in both.
//! * After `perturb`, RED averages the packets that moved, as in Linux. There a flow can also get
//!   the average of an earlier flow; here it starts at 0.
//! * Linux refuses `tc qdisc change`. Here a change of `depth`, `divisor` or `flows` hashes the
//!   queued packets again.
//! * A packet of no bytes is charged one byte, so that a flow of such packets cannot be served
//!   forever.
//! * Service is counted in bytes, as in Linux 6.1.192; older kernels count in units of 8 bytes.
//!
//! # Cost
//! Constant per packet while `quantum` is at least the packet length. With smaller quanta, a
//! `dequeue` visits every active slot at most three times. `perturb` moves every queued packet once
//! per period. At most one drop per `enqueue`. Memory: 64 bytes per flow in use, 8 for its backlog,
//! 4 per bucket.
//!
//! # Example
//! ```
//! use goodqueue::{Configure, Link, Settings, config::Value, sfq::SfqConfig};
//! let settings = Settings::new().with("limit", Value::Packets(30));
//! let config = SfqConfig::from_settings(&settings, &Link::default()).unwrap();
//! println!("{:?}", config.to_settings());
//! assert_eq!(config.to_settings().get("flows"), Some(Value::Integer(30)), "more flows than packets are of no use");
//! ```

mod config;
mod flow_red;

#[cfg(test)]
mod tests;

use alloc::vec::Vec;

use crate::config::{Build, Configure as _};
use crate::decision::{Evidence, Fate, Limit, Moment, Quantity, Question, Rule, rules};
use crate::gauge::{Observation, Observe};
use crate::nesting::Inner;
use crate::packet::{Ecn, Flow, Packet};
use crate::qdisc::{DropReason, Drops, Lookahead, Qdisc, Stats};
use crate::queue::{Chain, Passage, Pool, Turns};
use crate::random::Random;
use crate::red::linux::Average;
use crate::time::{Duration, Instant};
use flow_red::{FlowRed, Outcome, Tally};

/// Stochastic fairness queueing.
#[derive(Clone, Debug)]
pub struct Sfq<P, R> {
    config: SfqConfig,
    random: R,
    salt: u32,
    /// Latest time seen (contract rule 1).
    now: Instant,
    /// When the salt changes next; set by the first call.
    perturb_at: Option<Instant>,
    pool: Pool<P>,
    slots: Vec<Slot>,
    /// Slot of each bucket.
    table: Vec<u32>,
    /// First slot with as many packets as the index, from 2 on. If all slots hold one packet, the
    /// slot whose turn is next loses it.
    with: Vec<u32>,
    /// First of the free slots, which are linked by `older`.
    free: u32,
    /// How many packets the longest FIFO holds; while none has more than one, 0 or 1.
    deepest: u32,
    /// The slots that have packets.
    turns: Turns,
    passage: Passage,
    /// A packet that the parent keeps counts against the limit.
    taken_ahead: bool,
    /// Counters except offered and sent packets, which follow from them.
    stats: Stats,
    tally: Tally,
}

// A packet then touches one line of the cache of its slot.
/// A bucket in use.
#[derive(Clone, PartialEq, Eq, Debug)]
#[repr(align(64))]
struct Slot {
    chain: Chain,
    bucket: u32,
    /// Neighbours among the slots with as many packets, two at least.
    newer: u32,
    older: u32,
    /// Bytes that it may still send in this round.
    allot: i64,
    /// Its bytes, which RED averages.
    backlog: u64,
    average: Average,
}

const _: () = assert!(size_of::<Slot>() <= 64, "a thousand flows must stay in the cache");

/// Configuration of [`Sfq`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SfqConfig {
    red: Option<FlowRed>,
    limit: u32,
    depth: u32,
    flows: u32,
    divisor: u32,
    quantum: u32,
    perturb: Duration,
    head_drop: bool,
    variant: SfqVariant,
}

/// Whose behaviour.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SfqVariant {
    Linux,
    /// A turn is a packet, whatever its length.
    McKenney1990,
    /// The same, but refuses packets of a FIFO before the buffer is full.
    Ns2,
}

impl SfqConfig {
    /// Returns the cost of sending `bytes`: at least one byte, or packets of no bytes would be
    /// served forever.
    fn charge(bytes: u32) -> i64 {
        i64::from(bytes.max(1))
    }
}

impl<P: Packet + Flow, R: Random> Sfq<P, R> {
    /// An empty queue. Flows are hashed with `salt`; `random` gives the salts that follow when
    /// `perturb` is set.
    #[must_use]
    pub fn new(config: SfqConfig, salt: u32, random: R) -> Self {
        Self {
            config,
            random,
            salt,
            now: Instant::ZERO,
            perturb_at: None,
            pool: Pool::default(),
            slots: Vec::new(),
            table: alloc::vec![NONE; config.divisor as usize],
            with: alloc::vec![NONE; config.depth as usize + 1],
            free: NONE,
            deepest: 0,
            turns: Turns::with_room_for(config.flows),
            passage: Passage::default(),
            taken_ahead: false,
            stats: Stats::default(),
            tally: Tally::default(),
        }
    }

    /// Flows that have packets queued.
    #[must_use]
    pub const fn active_flows(&self) -> u32 {
        self.turns.len()
    }

    /// The bucket of `packet`: the class given by the caller where it names one, else the hash.
    #[inline]
    fn bucket(&self, packet: &P) -> u32 {
        // Linux `sfq_classify()` takes a class up to the divisor for the bucket itself, counted
        // from 1.
        if let Some(class) = packet.class().filter(|class| (1..=self.config.divisor).contains(class)) {
            return class - 1;
        }
        if self.config.variant == SfqVariant::Ns2 {
            if let Some((source, destination)) = packet.nodes() {
                return ns2_hash(source, destination) % self.config.divisor;
            }
        }
        // The divisor is a power of two.
        packet.flow_hash(self.salt) & (self.config.divisor - 1)
    }

    /// Advances the clock and changes the salt when it is due, once however many periods have
    /// passed.
    #[inline]
    fn advance(&mut self, now: Instant, drops: &mut impl Drops<P>) {
        // Rule 1 of the contract: a time before the latest one counts as the latest.
        self.now = self.now.max(now);
        let period = self.config.perturb;
        if period.is_zero() {
            return;
        }
        // A queue learns the time from its calls only, so the first call starts the first period.
        let due = *self.perturb_at.get_or_insert(self.now + period);
        if self.now >= due {
            // The phase of the periods is kept, as that of a periodic timer.
            let late = self.now.since(due).as_nanos() % period.as_nanos();
            self.perturb_at = Some(self.now - Duration::from_nanos(late) + period);
            self.salt = self.random.next_u32();
            self.rehash(drops);
        }
    }

    // Only once per `perturb`, and at a change of the settings.
    /// Puts every queued packet into the bucket it belongs to now, FIFO by FIFO, so that no flow is
    /// reordered.
    #[cold]
    #[inline(never)]
    fn rehash(&mut self, drops: &mut impl Drops<P>) {
        let mut pool = core::mem::take(&mut self.pool);
        let slots = core::mem::take(&mut self.slots);
        let turns = core::mem::replace(&mut self.turns, Turns::with_room_for(0));
        self.forget();
        for index in turns.iter() {
            let mut chain = slots.get(index as usize).map(|slot| slot.chain).unwrap_or_default();
            while let Some(at) = pool.front(&chain).map(|queued| queued.at) {
                let Some(packet) = pool.pop_front(&mut chain) else { break };
                let bucket = self.bucket(&packet);
                // Linux `sfq_rehash()` drops packets for which there is no slot, or whose slot is
                // full.
                match self.slot_of(bucket, self.known_slot(bucket)) {
                    Ok(new) => {
                        // As in Linux, each packet moved is a sample, as if it arrived now.
                        if let (Some(red), Some(slot)) = (&self.config.red, self.slots.get_mut(new as usize))
                        {
                            slot.average.sample(&red.terms, slot.backlog);
                        }
                        self.append(new, at, packet);
                    }
                    Err(why) => {
                        self.passage.leaves(packet.len());
                        self.stats.dropped_after.add(packet.len());
                        drops.dropped(packet, why);
                    }
                }
            }
        }
    }

    /// Empties the structures. The caller handles their packets, which still count as queued.
    fn forget(&mut self) {
        self.pool = Pool::default();
        self.slots.clear();
        self.table.clear();
        self.table.resize(self.config.divisor as usize, NONE);
        self.with.clear();
        self.with.resize(self.config.depth as usize + 1, NONE);
        self.turns = Turns::with_room_for(self.config.flows);
        (self.free, self.deepest) = (NONE, 0);
    }

    /// The slot that `bucket` has, if it has one.
    #[inline]
    fn known_slot(&self, bucket: u32) -> u32 {
        self.table.get(bucket as usize).copied().unwrap_or(NONE)
    }

    // In line, as are `append` and `unlink`: with a call inside, `admit` would save registers for
    // every packet.
    /// The slot for a packet of `bucket`, which has slot `known`; or why it gets none: no slot is
    /// free, or the FIFO is full.
    #[inline(always)]
    fn slot_of(&mut self, bucket: u32, known: u32) -> Result<u32, DropReason> {
        if self.config.variant == SfqVariant::Ns2 && self.is_refused(known) {
            return Err(DropReason::FlowLimit);
        }
        match self.slots.get(known as usize) {
            Some(slot) if slot.chain.len() < self.config.depth => Ok(known),
            Some(_) => Err(DropReason::FlowLimit),
            None => self.take_slot(bucket).ok_or(DropReason::Overlimit),
        }
    }

    // A call, because `is_ready` has excluded ns-2's rule from the path without calls.
    /// ns-2.35 sfq.cc: half of the remaining room, or the share of a bucket when less room is left
    /// than there are buckets.
    #[inline(never)]
    fn is_refused(&self, known: u32) -> bool {
        let held = self.slots.get(known as usize).map_or(0, |slot| slot.chain.len()) as usize;
        let limit = self.config.limit as usize;
        let buckets = self.config.divisor as usize;
        let left = limit.saturating_sub(self.len());
        held >= left / 2 || (left < buckets && held > limit / buckets)
    }

    /// Returns true if [`Self::admit`] calls no other function before its end, because memory is
    /// left and nothing is drawn or averaged. The compiler then saves no registers.
    #[inline]
    fn is_ready(&self) -> bool {
        let SfqConfig { red, perturb, variant, .. } = &self.config;
        let simple = red.is_none() && perturb.is_zero() && !matches!(variant, SfqVariant::Ns2);
        simple && self.free != NONE && self.pool.has_free()
    }

    // Twice in the machine code: in line where `is_ready`, and behind a call elsewhere.
    #[inline(always)]
    fn admit(&mut self, now: Instant, mut packet: P, drops: &mut impl Drops<P>) {
        self.advance(now, drops);
        let bucket = self.bucket(&packet);
        let known = self.known_slot(bucket);
        // A new flow would be spared, because its average is 0.
        if self.config.red.is_some() && known != NONE && !self.red_admits(known, &mut packet) {
            self.refuse(known, packet, DropReason::Congested, drops);
            return;
        }
        match self.slot_of(bucket, known) {
            Ok(index) => {
                self.passage.enters(packet.len());
                self.append(index, self.now, packet);
                // Linux `sfq_enqueue()` compares after it has queued the packet, so an arrival of a
                // short FIFO displaces a packet of the longest one.
                if self.passage.packets() + u64::from(self.taken_ahead) > u64::from(self.config.limit) {
                    self.drop_one(DropReason::Overlimit, drops);
                }
            }
            // Where no slot is free there is no FIFO that could give up its oldest packet.
            Err(why) => self.refuse(known, packet, why, drops),
        }
    }

    #[inline(never)]
    fn admit_by_call(&mut self, now: Instant, packet: P, drops: &mut impl Drops<P>) {
        self.admit(now, packet, drops);
    }

    /// Queues `packet` at the end of the FIFO in slot `index`.
    #[inline(always)]
    fn append(&mut self, index: u32, at: Instant, packet: P) {
        let bytes = u64::from(packet.len());
        let Some(slot) = self.slots.get_mut(index as usize) else { return };
        let before = slot.chain.len();
        slot.backlog = slot.backlog.wrapping_add(bytes);
        if before == 0 {
            // It waits for all others.
            slot.allot = SfqConfig::charge(self.config.quantum);
            self.turns.push(index);
        }
        self.pool.push_back(&mut slot.chain, at, packet);
        self.longer(index, before);
    }

    /// The slot whose turn it is leaves the round and forgets its bucket; it must be empty.
    #[inline]
    fn leave_round(&mut self) {
        let Some(slot) = self.turns.first().and_then(|index| self.slots.get(index as usize)) else { return };
        if let Some(entry) = self.table.get_mut(slot.bucket as usize) {
            *entry = NONE;
        }
        self.turns.advance();
    }

    /// A free slot for `bucket`, if any is left.
    #[inline]
    fn take_slot(&mut self, bucket: u32) -> Option<u32> {
        if self.free == NONE {
            self.add_slot()?;
        }
        let index = self.free;
        let slot = self.slots.get_mut(index as usize)?;
        self.free = slot.older;
        // As in Linux, a new flow starts with an average of 0.
        (slot.bucket, slot.average) = (bucket, Average::default());
        *self.table.get_mut(bucket as usize)? = index;
        Some(index)
    }

    // A slot is used again by the next flow, so only more flows than ever before need another one.
    /// Makes one more free slot, if there may be one.
    #[cold]
    #[inline(never)]
    fn add_slot(&mut self) -> Option<()> {
        // Slots are made on demand, so that memory follows the flows in use and not `flows`.
        let index = u32::try_from(self.slots.len()).ok().filter(|&index| index < self.config.flows)?;
        self.slots.push(Slot {
            chain: Chain::default(),
            bucket: 0,
            newer: NONE,
            older: core::mem::replace(&mut self.free, index),
            allot: 0,
            backlog: 0,
            average: Average::default(),
        });
        Some(())
    }

    /// Slot `index` has got one more packet than the `before` it had.
    #[inline]
    fn longer(&mut self, index: u32, before: u32) {
        if before > 1 {
            self.unlink(index, before);
        }
        // A FIFO of one packet is in no list: while all hold one, the FIFO of the next turn loses
        // it, and nobody asks for another order. Sparse flows thus touch no neighbours.
        if before > 0 {
            self.link(index, before + 1);
            self.deepest = self.deepest.max(before + 1);
        }
    }

    /// Slot `index` has got one packet less than the `before` it had; with none it is free.
    #[inline]
    fn shorter(&mut self, index: u32, before: u32) {
        if before > 1 {
            let others = self.unlink(index, before);
            if before == self.deepest && !others {
                // This FIFO itself holds that many now.
                self.deepest = before - 1;
            }
            if before > 2 {
                self.link(index, before - 1);
            }
        } else if let Some(slot) = self.slots.get_mut(index as usize) {
            // A free slot is in no list of depths, so its link is free for the list of free slots.
            slot.older = core::mem::replace(&mut self.free, index);
        }
    }

    /// Takes a slot off the list of slots with `depth` packets; true if others are left there.
    #[inline(always)]
    fn unlink(&mut self, index: u32, depth: u32) -> bool {
        let Some(slot) = self.slots.get(index as usize) else { return false };
        let newer = slot.newer;
        let older = slot.older;
        if older != NONE {
            if let Some(neighbour) = self.slots.get_mut(older as usize) {
                neighbour.newer = newer;
            }
        }
        if newer != NONE {
            if let Some(neighbour) = self.slots.get_mut(newer as usize) {
                neighbour.older = older;
                return true;
            }
        }
        if let Some(head) = self.with.get_mut(depth as usize) {
            *head = older;
        }
        older != NONE
    }

    #[inline]
    fn link(&mut self, index: u32, depth: u32) {
        let Some(head) = self.with.get_mut(depth as usize) else { return };
        let older = core::mem::replace(head, index);
        if let Some(slot) = self.slots.get_mut(index as usize) {
            (slot.newer, slot.older) = (NONE, older);
        }
        if older != NONE {
            if let Some(slot) = self.slots.get_mut(older as usize) {
                slot.newer = index;
            }
        }
    }

    /// Takes a packet out of slot `index`, which stays in the round.
    fn take(&mut self, index: u32, youngest: bool) -> Option<P> {
        let slot = self.slots.get_mut(index as usize)?;
        let before = slot.chain.len();
        let taken = if youngest {
            self.pool.pop_back(&mut slot.chain)?
        } else {
            self.pool.pop_front(&mut slot.chain)?
        };
        slot.backlog = slot.backlog.wrapping_sub(u64::from(taken.len()));
        self.passage.leaves(taken.len());
        self.shorter(index, before);
        Some(taken)
    }

    /// A FIFO takes `packet` for its oldest one, if it is configured to; else the packet is
    /// dropped.
    #[inline(never)]
    fn refuse(&mut self, index: u32, packet: P, why: DropReason, drops: &mut impl Drops<P>) {
        let bytes = packet.len();
        // The FIFO keeps its length, hence its place in every list.
        let fifo = if self.config.head_drop { self.slots.get_mut(index as usize) } else { None };
        let popped = fifo.and_then(|slot| Some((self.pool.pop_front(&mut slot.chain)?, slot)));
        if let Some((oldest, slot)) = popped {
            let gone = oldest.len();
            self.pool.push_back(&mut slot.chain, self.now, packet);
            self.passage.enters(bytes);
            self.passage.leaves(gone);
            // Added first, so that the difference does not stop at 0.
            slot.backlog = (slot.backlog + u64::from(bytes)).saturating_sub(u64::from(gone));
            self.stats.dropped_after.add(gone);
            drops.dropped(oldest, why);
        } else {
            self.stats.dropped_before.add(bytes);
            drops.dropped(packet, why);
        }
    }

    /// Makes room: the longest FIFO loses a packet; if all hold one, the one whose turn is next.
    /// False if all are empty.
    #[inline(never)]
    fn drop_one(&mut self, why: DropReason, drops: &mut impl Drops<P>) -> bool {
        let longest =
            if self.deepest > 1 { self.with.get(self.deepest as usize).copied() } else { self.turns.first() };
        let Some(index) = longest else { return false };
        let alone = self.deepest <= 1;
        let Some(packet) = self.take(index, !self.config.head_drop) else { return false };
        // A FIFO of more than one packet still has one, and keeps its place in the round.
        if alone {
            self.leave_round();
        }
        self.stats.dropped_after.add(packet.len());
        drops.dropped(packet, why);
        true
    }

    /// A packet of many quanta would take as many rounds. All but the last of these rounds are
    /// skipped at once.
    #[cold]
    fn skip_fruitless_rounds(&mut self, quantum: i64) {
        let mut rounds = i64::MAX;
        for index in self.turns.iter() {
            let Some(slot) = self.slots.get(index as usize) else { return };
            rounds = rounds.min(if slot.allot > 0 { 0 } else { -slot.allot / quantum });
        }
        for index in self.turns.iter() {
            let Some(slot) = self.slots.get_mut(index as usize) else { return };
            slot.allot += rounds * quantum;
        }
    }

    // Most queues have no RED.
    /// Whether RED lets `packet` into the FIFO of its flow, which has packets already; a signal may
    /// be a mark on it, or on the oldest one there.
    #[inline(never)]
    fn red_admits(&mut self, index: u32, packet: &mut P) -> bool {
        let Some(red) = &self.config.red else { return true };
        let Some(slot) = self.slots.get_mut(index as usize) else { return true };
        let Some(reason) = red.signals(&mut slot.average, slot.backlog, &mut self.random) else {
            return true;
        };
        let may_mark = red.may_mark(reason);
        let mut marks = |marked: &mut P| {
            let already = marked.ecn() == Ecn::Ce;
            let carries = marked.set_ce();
            if carries && !already {
                self.stats.marked.add(marked.len());
            }
            carries
        };
        // As in Linux, `headdrop` also moves the mark to the oldest packet.
        let outcome = if may_mark
            && self.config.head_drop
            && self.pool.front_mut(&slot.chain).is_some_and(&mut marks)
        {
            Outcome::MarkHead
        // As in Linux, the arrival gets the mark that the oldest packet cannot carry.
        } else if may_mark && marks(packet) {
            Outcome::Mark
        } else {
            Outcome::Drop
        };
        self.tally.count(reason, outcome);
        outcome != Outcome::Drop
    }
}

impl<P: Packet + Flow, R: Random> Observe for Sfq<P, R> {
    fn observe(&self, _now: Instant, seen: &mut Observation) {
        // `tc -s` prints these counters only if the queue has RED.
        if self.config.red.is_some() {
            self.tally.show(seen);
        }
    }
}

impl<P: Packet + Flow, R: Random> Build<P, R> for Sfq<P, R> {
    fn build(config: SfqConfig, salt: u32, random: R) -> Self {
        Self::new(config, salt, random)
    }
}

impl<P: Packet + Flow, R: Random> Qdisc<P> for Sfq<P, R> {
    type Config = SfqConfig;

    #[inline]
    fn enqueue(&mut self, now: Instant, packet: P, drops: &mut impl Drops<P>) {
        if self.is_ready() {
            self.admit(now, packet, drops);
        } else {
            self.admit_by_call(now, packet, drops);
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Instant, drops: &mut impl Drops<P>) -> Option<P> {
        self.advance(now, drops);
        let quantum = SfqConfig::charge(self.config.quantum);
        let mut skipped = 0;
        loop {
            let index = self.turns.first()?;
            let slot = self.slots.get_mut(index as usize)?;
            // As in Linux, any rest of a turn sends a whole packet, and later turns pay for it. So
            // a quantum below the packet length works.
            if slot.allot <= 0 {
                slot.allot += quantum;
                self.turns.advance();
                self.turns.push(index);
                skipped += 1;
                // Each FIFO was passed over since the last packet, so none may send in this round.
                if skipped == self.turns.len() {
                    self.skip_fruitless_rounds(quantum);
                }
                continue;
            }
            let packets = slot.chain.len();
            let oldest = self.pool.oldest(&mut slot.chain)?;
            let bytes = oldest.bytes();
            slot.allot -= match self.config.variant {
                SfqVariant::Linux => SfqConfig::charge(bytes),
                // Every packet uses up the turn, so that the round is one of packets.
                SfqVariant::McKenney1990 | SfqVariant::Ns2 => quantum,
            };
            slot.backlog = slot.backlog.wrapping_sub(u64::from(bytes));
            self.passage.leaves(bytes);
            let sent = oldest.take();
            if packets == 1 {
                self.leave_round();
            }
            self.shorter(index, packets);
            return sent;
        }
    }

    fn len(&self) -> usize {
        usize::try_from(self.passage.packets()).unwrap_or(usize::MAX)
    }

    fn backlog(&self) -> u64 {
        self.passage.bytes()
    }

    fn stats(&self) -> Stats {
        self.passage.complete(self.stats)
    }

    fn reconfigure(&mut self, now: Instant, config: SfqConfig, drops: &mut impl Drops<P>) {
        self.advance(now, drops);
        // A change to the configuration in force must change nothing (`Qdisc::config`).
        if config == self.config {
            return;
        }
        let old = core::mem::replace(&mut self.config, config);
        if old.perturb != config.perturb {
            self.perturb_at = None;
        }
        if (old.depth, old.divisor, old.flows) != (config.depth, config.divisor, config.flows) {
            self.rehash(drops);
        }
        while self.passage.packets() > u64::from(self.config.limit)
            && self.drop_one(DropReason::Overlimit, drops)
        {}
    }

    fn config(&self) -> SfqConfig {
        self.config
    }

    fn purge(&mut self, now: Instant, drops: &mut impl Drops<P>) {
        self.now = self.now.max(now);
        while let Some(index) = self.turns.first() {
            let Some(packet) = self.take(index, false) else { break };
            if self.slots.get(index as usize).is_some_and(|slot| slot.chain.is_empty()) {
                self.leave_round();
            }
            self.stats.dropped_after.add(packet.len());
            drops.dropped(packet, DropReason::Purged);
        }
    }
}

impl<P: Packet + Flow, R: Random> Lookahead<P> for Sfq<P, R> {
    const RULES: &'static [&'static [Rule]] = &[RULES];

    fn set_taken_ahead(&mut self, _now: Instant, taken: bool) {
        self.taken_ahead = taken;
    }

    fn other_flow(&self, packet: &P) -> Option<&P> {
        let slot = self.slots.get(self.known_slot(self.bucket(packet)) as usize)?;
        self.pool.other_flow(&slot.chain, packet)
    }

    fn evidence(&self, question: &Question<'_, P>) -> Evidence {
        let mut evidence = Evidence::from_kind(SfqConfig::KIND.name);
        let about = &question.about;
        let bucket = self.bucket(question.packet);
        let slot = self.slots.get(self.known_slot(bucket) as usize);
        let held = slot.map_or(0, |slot| u64::from(slot.chain.len()));
        evidence.given(
            "bucket",
            Quantity::Number(u64::from(bucket)),
            "the bucket to which this packet's flow hashes",
        );
        evidence.fact("flow_packets", Quantity::Packets(held), "packets in that bucket");
        evidence.fact("deepest", Quantity::Packets(u64::from(self.deepest)), "packets in the fullest bucket");
        evidence.fact("active", Quantity::Number(u64::from(self.turns.len())), "buckets that have packets");
        evidence.fact("queued", Quantity::Packets(self.passage.packets()), "packets in all buckets");
        let source = SfqConfig::KIND.reference;
        let whole = Limit {
            held: Quantity::Packets(self.passage.packets()),
            allowed: Quantity::Packets(u64::from(self.config.limit)),
            rule: FULL,
            source,
        };
        evidence.limit(about, DropReason::Overlimit, &whole);
        let depth = Quantity::Packets(u64::from(self.config.depth));
        let of_flow = Limit { held: Quantity::Packets(held), allowed: depth, rule: DEPTH, source };
        evidence.limit(about, DropReason::FlowLimit, &of_flow);
        if about.moment == Moment::Departure && about.fate == Fate::Sent {
            evidence.rule(TURN, source, &[]);
        }
        evidence
    }
}

impl<P: Packet + Flow> Inner<P> for Sfq<P, crate::random::Source> {}

/// ns-2.35 sfq.cc: of the sum of both addresses, modulo 2^20 - 1. There are no ports in it, so all
/// flows between two nodes share a bucket.
fn ns2_hash(source: u32, destination: u32) -> u32 {
    let sum = i64::from(source) + i64::from(destination);
    // Negative only if both numbers are 0: the result is then -1.
    let mixed = (sum + (sum >> 8) + !(sum >> 4)) % ((2 << 19) - 1);
    u32::try_from(mixed).unwrap_or(0)
}

/// "No slot": there are at most 65408.
const NONE: u32 = u32::MAX;

rules! {
    /// Rules of SFQ.
    RULES;
    /// The turn of the bucket came.
    TURN: "sfq.turn" [];
    /// The fullest bucket loses a packet.
    FULL: "sfq.full" ["held", "allowed"];
    /// The flow holds as many packets as it may.
    DEPTH: "sfq.depth" ["held", "allowed"];
}
