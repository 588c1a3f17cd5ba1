//! CAKE: common applications kept enhanced.
//!
//! # What it does
//! A shaper, a few classes (tins), a queue per flow, fairness between hosts and an AQM per flow, as
//! one discipline. The shaper lets packets go when the link is free, without a burst. Packets are
//! put into tins by DSCP; within a tin each flow has a queue of its own (an 8-way set-associative
//! hash keeps flows apart until there are very many), flows that send little go first, and every
//! queue is under COBALT. When the memory is used up, the longest queue loses its oldest packet.
//!
//! # Reference
//! T. Høiland-Jørgensen, D. Täht, J. Morton, "Piece of CAKE", LANMAN 2018; tc-cake(8); behaviour of
//! Linux 6.1 `net/sched/sch_cake.c`.
//!
//! # State
//! ```text
//! arrival --> tin (DSCP) --> flow (hash, 8 ways): FIFO, deficit, COBALT, hosts
//! flow:  none --> sparse (new flows) --> bulk (old flows) --> decaying (empty, COBALT not at rest) --> none
//! dequeue: not before time_next (or the failsafe, at 2/3 of the rate); the highest tin that is on schedule, else the
//!          one due first; in it a decaying flow (once), else new, else old ones by deficit
//! ```
//!
//! # Parameters
//! | name | unit | default | source of the default | range |
//! |---|---|---|---|---|
//! | `bandwidth` | rate | none (`unlimited`) | tc-cake(8) | 8 bit/s to 2^64 - 1 |
//! | `besteffort`, `diffserv3`, `diffserv4`, `diffserv8`, `precedence` | flags | `diffserv3` | tc-cake(8) | one of them |
//! | `flowblind`, `srchost`, `dsthost`, `hosts`, `flows`, `dual-srchost`, `dual-dsthost`, `triple-isolate` | flags | `triple-isolate` | tc-cake(8) | one of them |
//! | `rtt` | time | 100 ms | tc-cake(8) | 1 us to 4294 s; the target is a twentieth of it |
//! | `overhead`, `raw` | bytes, flag | `raw` | tc-cake(8) | -64 to 256 beyond the IP packet; beyond the whole packet if `raw` |
//! | `mpu` | bytes | 0 | tc-cake(8) | 0 to 256 |
//! | `atm`, `ptm` | flags | `noatm` | tc-cake(8) | one of them |
//! | `ack-filter`, `ack-filter-aggressive` | flags | off | tc-cake(8) | one of them |
//! | `ingress` | flag | off (`egress`) | tc-cake(8) | |
//! | `memlimit` | bytes | 4 × bandwidth × rtt, at least 4 MiB, at most 10240 × MTU | Linux sch_cake | 1 to 2^32 - 1 |
//! | `truesize` | bytes | as Linux 6.1 allocates with `linux`, else the packet's bytes | Linux | 1 to 2^30 |
//! | `autorate-ingress` | flag | off | tc-cake(8) | |
//! | `fwmark` | number | 0 | tc-cake(8) | 0 to 2^32 - 1: these bits of [`Flow::mark`] choose the tin, from 1 |
//! | `wash`, `nat`, `split-gso` | flags | off, off, on | tc-cake(8) | |
//! | `variant` | | `linux` | | `linux`, `paper`: how COBALT begins |
//!
//! tc's words for links and distances (`docsis`, `pppoe-ptm`, `regional`, ...) stand for settings
//! of these.
//!
//! # Deviations
//! Which queue loses when the memory is used up is decided by Linux's heap, in which it is not
//! always the longest. `autorate-ingress` counts before and behind `bandwidth`, with tc behind it
//! only; the rate that it finds holds until another `bandwidth` is given. A negative overhead
//! leaves a packet one byte at least, where Linux counts on below 0. Packets are never aggregates
//! and addresses never translated, so `split-gso` and `nat` change nothing. A class chosen by the
//! caller picks the tin, as `skb->priority` does. Flows and hosts are told apart by
//! [`Flow::flow_hash`], [`Flow::source_hash`] and [`Flow::destination_hash`]; for packets that know
//! no hosts each flow has its own. The ACK filter knows what [`Flow::tcp_ack`] tells. A packet of
//! no bytes is charged for one. As in Linux, a flow can be reordered when more than eight flows
//! share a set of the hash, for one of them then loses its queue to another, or when a change of
//! the isolation or the classes sends what comes then elsewhere; what is in tins that are no more
//! is dropped. A change of `overhead` or of cells holds for what comes from then on, as there. A
//! change of the variant puts what is queued where it belongs. Where a quantum is far smaller than
//! the packets (many flows of one host), rounds that serve nobody are made up at once, without
//! dithering.
//!
//! # Cost
//! Constant per packet, plus packets dropped; the ACK filter looks at every packet of the flow, an
//! overflow at up to `log2` of all flows. 64 bytes, two tags and two hosts per queue, 1024 queues
//! per tin.
//!
//! # Example
//! ```
//! use goodqueue::{Configure, Link, Rate, Settings, cake::CakeConfig, config::Value};
//! let settings = Settings::new().with("bandwidth", Value::Rate(Rate::from_bps(20_000_000)));
//! let config = CakeConfig::from_settings(&settings, &Link::default()).unwrap();
//! println!("{:?}", config.to_settings());
//! assert_eq!(config.memory(), 4 << 20);
//! ```

mod ack_filter;
mod autorate;
mod config;
mod hash;
mod keywords;
mod overflow;
mod shaper;
mod tin;
mod turns;

#[cfg(test)]
mod tests;

use alloc::vec::Vec;

use autorate::Estimate;
use config::{AckFilter, Classes, Isolation};
use overflow::Heap;
use shaper::{ETHERNET_HEADER, Shaper};
use tin::{QUEUES_32, Tin, TinTally, charge, moving};

use crate::cobalt::CobaltVariant;
use crate::config::Build;
use crate::gauge::{Observation, Observe, Part};
use crate::memory::{Buffers, Memory, Size};
use crate::nesting::Inner;
use crate::packet::{Flow, Packet};
use crate::qdisc::{DropReason, Drops, Lookahead, Qdisc, Stats};
use crate::queue::{Passage, Pool, Queued};
use crate::random::Random;
use crate::time::{Duration, Instant, Rate};

/// The discipline `cake`.
#[derive(Clone, Debug)]
pub struct Cake<P, R> {
    config: CakeConfig,
    salt: u32,
    random: R,
    tins: Vec<Tin>,
    /// Tins that were in use under another configuration, the last one first: they remember what
    /// they learned.
    spare: Vec<Tin>,
    pool: Pool<P>,
    held: Held,
    /// How many bytes of memory may be used.
    memory: u64,
    /// Bytes per second that the tins share, which `autorate-ingress` sets; 0: no shaper.
    rate: u64,
    estimate: Estimate,
    shaper: Shaper,
    /// The link adds nothing to packets.
    plain: bool,
    /// Each arrival is looked at once more: by the ACK filter, or for the estimate of the rate.
    watched: bool,
    /// Packets that came before this were measured under another configuration, the earliest first.
    measured: Vec<Measured>,
    /// The tin of each DSCP.
    tin_of_dscp: [u8; DSCPS],
    /// The tin served last.
    current: usize,
    /// A bit for each tin that has flows to serve, and for each that has no deficit left.
    served: u8,
    spent: u8,
    /// Drops and marks.
    stats: Stats,
    sizes: Sizes,
    overlimits: u64,
    now: Instant,
}

/// Configuration of [`Cake`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CakeConfig {
    /// Bytes per second; 0: no shaper.
    rate: u64,
    bandwidth: Rate,
    classes: Classes,
    isolation: Isolation,
    ack_filter: AckFilter,
    cells: config::Cells,
    ingress: bool,
    split_gso: bool,
    wash: bool,
    nat: bool,
    /// What the link adds to what a packet has: the IP packet, or where `raw`, the whole of it.
    overhead: i32,
    raw: bool,
    mpu: u32,
    rtt: Duration,
    memory_limit: Option<u64>,
    buffers: Buffers,
    mtu: u32,
    autorate: bool,
    /// Of a packet's mark, these bits choose the tin.
    fwmark: u32,
    variant: CobaltVariant,
}

/// What is queued in all tins.
#[derive(Clone, Debug)]
struct Held {
    passage: Passage,
    /// How many packets of no bytes there are.
    empty: u64,
    memory: Memory,
    /// Which queue has the most of them.
    longest: Heap,
}

/// Until when packets came under a configuration, and how many packets had come by then.
#[derive(Clone, Copy, Debug)]
struct Measured {
    until: Instant,
    entered: u64,
    by: CakeConfig,
}

/// The smallest and the largest packet: as they came and as the link has them, and as they are
/// since `overhead` was set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Sizes {
    network: (u32, u32),
    adjusted: (u32, u32),
    recent: (u32, u32),
    most_memory: u64,
}

impl Default for Sizes {
    fn default() -> Self {
        let none = (u32::from(u16::MAX), 0);
        Self { network: none, adjusted: none, recent: NO_SIZES, most_memory: 0 }
    }
}

impl Sizes {
    /// As seen by who asks: what the link adds to small packets it adds to large ones.
    fn complete(self, config: &CakeConfig) -> Self {
        let (least, most) = self.recent;
        if least > most {
            return self;
        }
        let widened =
            |old: (u32, u32), size: &dyn Fn(u32) -> u32| (old.0.min(size(least)), old.1.max(size(most)));
        Self {
            network: widened(self.network, &|bytes| config.on_the_network(bytes)),
            adjusted: widened(self.adjusted, &|bytes| config.on_the_link(bytes)),
            recent: NO_SIZES,
            ..self
        }
    }
}

impl<P: Packet + Flow, R: Random> Cake<P, R> {
    /// An empty queue; flows and hosts are hashed with `salt`, COBALT and the quanta draw from
    /// `random`.
    #[must_use]
    pub fn new(config: CakeConfig, salt: u32, random: R) -> Self {
        let mut cake = Self {
            config,
            salt,
            random,
            tins: Vec::new(),
            spare: Vec::new(),
            pool: Pool::default(),
            held: Held::new(config.buffers),
            memory: 0,
            rate: config.rate,
            estimate: Estimate::new(config.rate),
            shaper: Shaper::default(),
            plain: true,
            watched: false,
            measured: Vec::new(),
            tin_of_dscp: [0; DSCPS],
            current: 0,
            served: 0,
            spent: 0,
            stats: Stats::default(),
            sizes: Sizes::default(),
            overlimits: 0,
            now: Instant::ZERO,
        };
        cake.set_up();
        cake
    }

    /// Brings tins and rates into line with the configuration.
    fn set_up(&mut self) {
        let config = CakeConfig { rate: self.rate, ..self.config };
        let shares = config.classes.tins(config.rate);
        while self.tins.len() < shares.len() {
            self.tins.push(self.spare.pop().unwrap_or_else(|| Tin::new(&config)));
        }
        (self.served, self.spent) = (0, 0);
        for (index, tin) in self.tins.iter().enumerate() {
            self.served |= if tin.has_flows() { bit(index) } else { 0 };
            self.spent |= if tin.weight.deficit <= 0 { bit(index) } else { 0 };
        }
        for (tin, share) in self.tins.iter_mut().zip(shares) {
            tin.set_rate(&config, share.0);
            tin.weight.quantum = share.1.max(1);
        }
        for (dscp, tin) in (0..).zip(&mut self.tin_of_dscp) {
            *tin = u8::try_from(config.classes.of_dscp(dscp)).unwrap_or(0);
        }
        self.plain = config.is_plain() && self.measured.is_empty();
        self.watched = config.autorate || config.ack_filter != AckFilter::Off;
        self.memory = config.memory();
        self.shaper.pace = self.tins.first().map(|tin| tin.shaper.pace).unwrap_or_default();
        self.current = self.current.min(self.tins.len().saturating_sub(1));
    }

    /// Takes the size of an arriving packet down, for the statistics.
    #[inline]
    fn measure(&mut self, bytes: u32) {
        let sizes = &mut self.sizes;
        sizes.recent = (sizes.recent.0.min(bytes), sizes.recent.1.max(bytes));
        sizes.most_memory = sizes.most_memory.max(self.held.used());
    }

    /// Moving average of the length of the link's header, with 16 binary places: of always the same
    /// length, so that it follows from how many packets came.
    fn mean_header(&self) -> u64 {
        let mut mean = 0;
        for _ in 0..self.held.passage.entered().packets {
            let moved = moving(mean, u64::from(ETHERNET_HEADER) << 16, 8);
            if moved == mean {
                break;
            }
            mean = moved;
        }
        mean
    }

    #[inline]
    fn tin_of(&self, packet: &P) -> usize {
        let mark = (packet.mark() & self.config.fwmark).checked_shr(self.config.fwmark.trailing_zeros());
        let classes = self.config.classes;
        let marked = mark.and_then(|mark| classes.of_class(mark));
        let chosen = marked.or_else(|| packet.class().and_then(|class| classes.of_class(class)));
        chosen.unwrap_or_else(|| usize::from(self.tin_of_dscp[usize::from(packet.dscp()) % DSCPS]))
    }

    /// The hash that tells flows, or hosts, apart.
    #[inline]
    fn tag_of(&self, packet: &P) -> u32 {
        match self.config.isolation {
            Isolation::FlowBlind => 0,
            Isolation::SourceHost => packet.source_hash(self.salt),
            Isolation::DestinationHost => packet.destination_hash(self.salt),
            // Salted otherwise, or two hosts would share the queue of what they send each other.
            Isolation::Hosts => packet.source_hash(self.salt) ^ packet.destination_hash(!self.salt),
            _ => packet.flow_hash(self.salt),
        }
    }

    /// Takes the oldest packet of a queue.
    fn take(&mut self, tin: usize, index: u32) -> Option<P> {
        let taken = self.pool.pop_front(&mut self.tins.get_mut(tin)?.flows.at_mut(index).packets)?;
        self.forget(tin, index, Size::of(&taken));
        Some(taken)
    }

    /// Counts the memory anew, since packets take another one.
    fn count_memory(&mut self) {
        self.held.memory = Memory::new(self.config.buffers);
        let chains =
            self.tins.iter().flat_map(|tin| (0..QUEUES_32).map(|index| &tin.flows.at(index).packets));
        for (_, packet) in chains.flat_map(|chain| self.pool.nodes(chain)) {
            self.held.memory.enters(Size::of(packet));
        }
    }

    /// When the oldest packet of a queue came.
    fn arrival(&self, tin: usize, index: u32) -> Option<Instant> {
        self.pool.front(&self.tins.get(tin)?.flows.at(index).packets).map(|queued| queued.at)
    }

    /// A packet of this size has left a queue.
    fn forget(&mut self, tin: usize, index: u32, size: Size) {
        if let Some(state) = self.tins.get_mut(tin) {
            self.held.remove(size, number(tin, index), state.leaves(index, size.bytes), false);
        }
    }

    /// Drops all that is queued in a tin.
    fn clear(&mut self, tin: usize, drops: &mut impl Drops<P>) {
        for index in 0..QUEUES_32 {
            while let Some(packet) = self.take(tin, index) {
                self.stats.dropped_after.add(packet.len());
                drops.dropped(packet, DropReason::Purged);
            }
        }
    }

    /// The queue that Linux takes for the longest, and when its oldest packet came.
    fn longest(&mut self) -> Option<(usize, u32, Instant)> {
        let first = self.held.longest.first(self.tins.iter().flat_map(Tin::backlogs));
        let (tin, index) = (first as usize % MOST_TINS, first / MOST_TINS_32);
        Some((tin, index, self.arrival(tin, index)?))
    }

    /// The memory is used up: the longest queue loses its oldest packet.
    fn drop_from_longest(&mut self, drops: &mut impl Drops<P>) -> bool {
        let mut found = self.longest();
        if found.is_none() {
            self.held.longest.mistrust();
            found = self.longest();
        }
        let Some((tin, index, at)) = found else { return false };
        let Some(lost) = self.take(tin, index) else { return false };
        if let Some(state) = self.tins.get_mut(tin) {
            state.flows.at_mut(index).cobalt.queue_full(self.now, &state.cobalt);
            state.tally.drops = state.tally.drops.wrapping_add(1);
        }
        let bytes = lost.len();
        self.charge_drop(tin, at, bytes);
        self.stats.dropped_after.add(bytes);
        drops.dropped(lost, DropReason::Overmemory);
        true
    }

    /// In ingress mode a dropped packet has come over the link and is paid for.
    fn charge_drop(&mut self, tin: usize, at: Instant, bytes: u32) {
        let charged = self.on_the_link(at, bytes);
        if self.config.ingress
            && let Some(tin) = self.tins.get_mut(tin)
        {
            self.shaper.charge(&mut tin.shaper, self.now, charged, true);
        }
    }

    /// What a packet of `bytes` that came at `at` takes on the link: it was measured then.
    #[inline]
    fn on_the_link(&self, at: Instant, bytes: u32) -> u32 {
        measured_by(&self.measured, &self.config, at).on_the_link(bytes)
    }

    #[inline(never)]
    fn drop_excess(&mut self, drops: &mut impl Drops<P>) {
        while self.held.used() > self.memory && self.drop_from_longest(drops) {}
    }

    /// Puts a packet that came at `at`, when there were `none`, into its queue.
    #[inline]
    fn insert(&mut self, at: Instant, mut packet: P, none: bool, drops: &mut impl Drops<P>) {
        let (now, salt, isolation) = (self.now, self.salt, self.config.isolation);
        let bytes = packet.len();
        let tin_index = self.tin_of(&packet);
        if self.config.wash {
            packet.clear_dscp();
        }
        let tag = self.tag_of(&packet);
        let Some(tin) = self.tins.get_mut(tin_index) else { return };
        let hosts = || (packet.source_hash(salt), packet.destination_hash(salt));
        let index = tin.queue_of(tag, hosts, isolation);
        // An idle shaper has no credit.
        if tin.backlog == 0 {
            tin.shaper.time_next = tin.shaper.time_next.max(now);
            if none {
                if !self.measured.is_empty() {
                    self.measured.clear();
                    self.plain = self.config.is_plain();
                }
                if self.shaper.wakes(now) {
                    self.overlimits = self.overlimits.wrapping_add(1);
                }
            }
        }
        self.served |= bit(tin_index);
        let flow = tin.flows.at_mut(index);
        self.pool.push_back(&mut flow.packets, at, packet);
        flow.backlog = flow.backlog.wrapping_add(charge(bytes));
        tin.backlog = tin.backlog.wrapping_add(charge(bytes));
        tin.tally.packets = tin.tally.packets.wrapping_add(1);
        tin.tally.bytes = tin.tally.bytes.wrapping_add(u64::from(bytes));
        tin.tally.largest = tin.tally.largest.max(bytes);
        self.held.add(bytes, number(tin_index, index), flow.backlog);
        if !self.watched {
            tin.enlist(index, isolation, &mut self.random);
            return;
        }
        let gone = if self.config.ack_filter == AckFilter::Off {
            0
        } else {
            self.filter_acks(tin_index, index, drops)
        };
        if self.config.autorate {
            self.follow_rate(u64::from(bytes).wrapping_sub(u64::from(gone)));
            self.served |= bit(tin_index);
        }
        if let Some(listed) = self.tins.get_mut(tin_index) {
            listed.enlist(index, isolation, &mut self.random);
        }
    }

    /// So many bytes more came: the shaper follows the rate at which they come.
    fn follow_rate(&mut self, bytes: u64) {
        if let Some(rate) = self.estimate.arrives(self.now, bytes) {
            self.rate = rate;
            self.set_up();
            self.go_on_at_first();
        }
    }

    /// Linux sch_cake clears the tins that are not in use whenever it sets rates, and goes on at
    /// the first one then.
    fn go_on_at_first(&mut self) {
        self.current = if self.tins.len() < MOST_TINS { 0 } else { self.current };
    }

    /// Makes all tins and queues anew and puts every packet where it belongs now, queue by queue,
    /// so that no flow is reordered.
    fn rebuild(&mut self, drops: &mut impl Drops<P>) {
        let mut queued = Vec::new();
        for tin in 0..self.tins.len() {
            for index in 0..QUEUES_32 {
                while let Some((at, packet)) = self.arrival(tin, index).zip(self.take(tin, index)) {
                    queued.push(Queued { at, packet });
                }
            }
        }
        let tallies = self.begin_anew();
        for Queued { at, packet } in queued {
            let none = self.held.is_empty();
            // What was queued is not counted twice.
            self.held.returns(Size::of(&packet));
            self.insert(at, packet, none, drops);
        }
        self.restore(tallies);
    }

    /// What is queued keeps the length on the link that it was measured with.
    fn remember_measures(&mut self, next: &CakeConfig) {
        let queued = &*self;
        let queues = (0..self.tins.len()).flat_map(|tin| (0..QUEUES_32).map(move |index| (tin, index)));
        let oldest = queues.filter_map(|(tin, index)| queued.arrival(tin, index)).min();
        let Some(oldest) = oldest else { return self.measured.clear() };
        self.measured.retain(|earlier| earlier.until > oldest);
        let entered = self.held.passage.entered().packets;
        let unused =
            self.measured.last().is_some_and(|last| last.entered == entered || last.until == self.now);
        if !unused && !self.config.measures_as(next) {
            self.measured.push(Measured { until: self.now, entered, by: self.config });
        }
    }

    /// Makes all tins anew; what was counted in the old ones is for [`Self::restore`].
    fn begin_anew(&mut self) -> Vec<TinTally> {
        let tallies = self.tins.iter().map(|tin| tin.tally).collect();
        self.tins.clear();
        self.spare.clear();
        self.set_up();
        tallies
    }

    fn restore(&mut self, tallies: Vec<TinTally>) {
        for (tin, tally) in self.tins.iter_mut().zip(tallies) {
            tin.tally = tally;
        }
    }

    /// The next packet of this tin; `None` if another tin may be to be served first.
    #[inline(always)]
    fn serve(&mut self, chosen: usize, first: bool, drops: &mut impl Drops<P>) -> Option<P> {
        let clock = self.now;
        if first {
            self.tins.get_mut(chosen)?.visit_decaying(clock);
        }
        loop {
            let tin = self.tins.get_mut(chosen)?;
            // If flows turn out empty, would this tin be chosen again?
            let stays = !self.shaper.is_on() && tin.weight.deficit >= 0;
            let Some(index) = tin.flow_to_serve(clock, stays, self.config.isolation, &mut self.random) else {
                if !tin.has_flows() {
                    self.served &= !bit(chosen);
                }
                return None;
            };
            let flow = tin.flows.at_mut(index);
            // It is judged where it lies.
            let oldest = self.pool.oldest(&mut flow.packets)?;
            let sojourn = clock.since(oldest.at());
            let size = oldest.size();
            let bytes = size.bytes;
            if !flow.cobalt.passes(clock, &tin.cobalt, sojourn) {
                if let Some(sent) = self.decide(chosen, index, drops) {
                    return Some(sent);
                }
                continue;
            }
            let charged = if self.plain {
                bytes.max(1)
            } else {
                measured_by(&self.measured, &self.config, oldest.at()).on_the_link(bytes)
            };
            flow.deficit = flow.deficit.saturating_sub_unsigned(charged);
            if tin.weight.pays(charged) {
                self.spent |= bit(chosen);
            }
            self.shaper.charge(&mut tin.shaper, clock, charged, false);
            flow.backlog = flow.backlog.wrapping_sub(charge(bytes));
            tin.backlog = tin.backlog.wrapping_sub(charge(bytes));
            self.held.remove(size, number(chosen, index), flow.backlog, true);
            tin.tally.sent(sojourn);
            return oldest.take();
        }
    }

    /// Asks COBALT about the oldest packet of a queue, which there is; `None` if it is dropped.
    #[inline(never)]
    fn decide(&mut self, chosen: usize, index: u32, drops: &mut impl Drops<P>) -> Option<P> {
        let (clock, ingress) = (self.now, self.config.ingress);
        let tin = self.tins.get_mut(chosen)?;
        let bulk = if ingress { tin.bulk } else { 0 };
        let flow = tin.flows.at_mut(index);
        let only = flow.packets.len() == 1;
        let mut oldest = self.pool.oldest(&mut flow.packets)?;
        let at = oldest.at();
        let sojourn = clock.since(at);
        let packet = oldest.packet()?;
        let verdict = flow.cobalt.decide(clock, &tin.cobalt, sojourn, bulk, packet, &mut self.random);
        let size = Size::of(packet);
        let bytes = size.bytes;
        // The last packet may be marked, not dropped.
        let sent = !verdict.drop || only;
        if sent || ingress {
            let charged = measured_by(&self.measured, &self.config, at).on_the_link(bytes);
            flow.deficit = flow.deficit.saturating_sub_unsigned(charged);
            if tin.weight.pays(charged) {
                self.spent |= bit(chosen);
            }
            self.shaper.charge(&mut tin.shaper, clock, charged, !sent);
        }
        if verdict.marked {
            self.stats.marked.add(bytes);
            // Linux does not count the mark of a packet that BLUE drops nevertheless.
            tin.tally.marks = tin.tally.marks.wrapping_add(u64::from(sent));
        }
        flow.backlog = flow.backlog.wrapping_sub(charge(bytes));
        tin.backlog = tin.backlog.wrapping_sub(charge(bytes));
        self.held.remove(size, number(chosen, index), flow.backlog, sent);
        if sent {
            tin.tally.sent(sojourn);
            return oldest.take();
        }
        tin.tally.drops = tin.tally.drops.wrapping_add(1);
        self.stats.dropped_after.add(bytes);
        if let Some(lost) = oldest.take() {
            drops.dropped(lost, DropReason::Congested);
        }
        None
    }
}

impl Held {
    fn new(buffers: Buffers) -> Self {
        Self { passage: Passage::default(), empty: 0, memory: Memory::new(buffers), longest: Heap::default() }
    }

    /// A packet of this size comes.
    #[inline]
    fn enters(&mut self, size: Size) {
        self.passage.enters(size.bytes);
        self.memory.enters(size);
    }

    /// A packet of this size that had gone is back.
    fn returns(&mut self, size: Size) {
        self.passage.returns(size.bytes);
        self.memory.enters(size);
    }

    /// A packet of `bytes` came to a queue, which holds so much now.
    #[inline]
    fn add(&mut self, bytes: u32, queue: u32, holds: u64) {
        if bytes == 0 {
            self.empty = self.empty.wrapping_add(1);
        }
        self.longest.grows(queue, holds);
    }

    /// A packet of this size left a queue, which holds so much now: it was `sent`, or dropped.
    #[inline]
    fn remove(&mut self, size: Size, queue: u32, holds: u64, sent: bool) {
        self.passage.leaves(size.bytes);
        self.memory.leaves(size);
        if size.bytes == 0 {
            self.empty = self.empty.wrapping_sub(1);
        }
        self.longest.shrinks(queue, holds, sent);
    }

    #[inline]
    const fn is_empty(&self) -> bool {
        self.passage.packets() == 0
    }

    /// The memory; without buffers the bytes, a packet of no bytes counted as one.
    #[inline]
    fn used(&self) -> u64 {
        self.memory.used(self.passage.bytes().wrapping_add(self.empty))
    }
}

/// The bit of a tin.
#[inline]
const fn bit(tin: usize) -> u8 {
    1 << (tin % MOST_TINS)
}

/// The number of a queue among those of all tins, as Linux counts: the first of each tin, then the
/// second.
#[inline]
fn number(tin: usize, index: u32) -> u32 {
    index * MOST_TINS_32 + u32::try_from(tin % MOST_TINS).unwrap_or(0)
}

/// The configuration under which a packet was measured that came at `at`.
#[inline]
fn measured_by<'a>(former: &'a [Measured], now: &'a CakeConfig, at: Instant) -> &'a CakeConfig {
    former.iter().find(|earlier| at < earlier.until).map_or(now, |earlier| &earlier.by)
}

impl<P: Packet + Flow, R: Random> Build<P, R> for Cake<P, R> {
    fn build(config: CakeConfig, salt: u32, random: R) -> Self {
        Self::new(config, salt, random)
    }
}

impl<P: Packet + Flow, R: Random> Qdisc<P> for Cake<P, R> {
    type Config = CakeConfig;

    #[inline]
    fn enqueue(&mut self, now: Instant, packet: P, drops: &mut impl Drops<P>) {
        self.now = self.now.max(now);
        let size = Size::of(&packet);
        let none = self.held.is_empty();
        self.held.enters(size);
        self.insert(self.now, packet, none, drops);
        self.estimate.last = self.now;
        self.measure(size.bytes);
        if self.held.used() > self.memory {
            self.drop_excess(drops);
        }
    }

    /// Long enough that a call costs less than to have it at each place.
    #[inline(never)]
    fn dequeue(&mut self, now: Instant, drops: &mut impl Drops<P>) -> Option<P> {
        self.now = self.now.max(now);
        let mut first = true;
        while !self.held.is_empty() {
            if self.shaper.held_until(self.now).is_some() {
                self.overlimits = self.overlimits.wrapping_add(1);
                return None;
            }
            let chosen = self.choose_tin()?;
            self.current = chosen;
            if let Some(sent) = self.serve(chosen, core::mem::take(&mut first), drops) {
                return Some(sent);
            }
        }
        None
    }

    fn next_event(&self, now: Instant) -> Option<Instant> {
        self.shaper.held_until(self.now.max(now)).filter(|_| !self.held.is_empty())
    }

    fn len(&self) -> usize {
        usize::try_from(self.held.passage.packets()).unwrap_or(usize::MAX)
    }

    fn backlog(&self) -> u64 {
        self.held.passage.bytes()
    }

    fn stats(&self) -> Stats {
        self.held.passage.complete(self.stats)
    }

    /// As in Linux: what is queued stays where it is, however packets are told apart from now on;
    /// only what is in tins that are no more is dropped. A lower limit of memory is for what comes.
    fn reconfigure(&mut self, now: Instant, config: CakeConfig, drops: &mut impl Drops<P>) {
        self.now = self.now.max(now);
        if config == self.config {
            return;
        }
        self.sizes = self.sizes.complete(&self.config);
        self.remember_measures(&config);
        let old = core::mem::replace(&mut self.config, config);
        if old.buffers != config.buffers {
            self.count_memory();
        }
        if old.rate != config.rate {
            self.rate = config.rate;
        }
        if config.autorate && !old.autorate {
            self.estimate.begin();
        }
        if old.variant != config.variant {
            self.rebuild(drops);
            return;
        }
        let wanted = config.classes.tins(config.rate).len();
        while self.tins.len() > wanted {
            self.clear(self.tins.len().saturating_sub(1), drops);
            self.spare.extend(self.tins.pop());
        }
        self.set_up();
        self.go_on_at_first();
    }

    fn config(&self) -> CakeConfig {
        self.config
    }

    fn purge(&mut self, now: Instant, drops: &mut impl Drops<P>) {
        self.now = self.now.max(now);
        for tin in 0..self.tins.len() {
            self.clear(tin, drops);
        }
        let tallies = self.begin_anew();
        self.restore(tallies);
    }
}

impl<P: Packet + Flow, R: Random> Lookahead<P> for Cake<P, R> {
    fn stranger(&self, packet: &P) -> Option<&P> {
        let tin = self.tins.get(self.tin_of(packet))?;
        let index = tin.known_queue_of(self.tag_of(packet));
        self.pool.stranger(&tin.flows.at(index).packets, packet)
    }
}

impl<P: Packet + Flow, R: Random> Observe for Cake<P, R> {
    fn observe(&self, _now: Instant, seen: &mut Observation) {
        let Sizes { network, adjusted, most_memory, .. } = self.sizes.complete(&self.config);
        seen.overlimits = self.overlimits;
        seen.number("memory_used", most_memory);
        seen.number("memory_limit", self.memory);
        seen.number("capacity_estimate", self.estimate.peak);
        seen.number("min_network_size", u64::from(network.0));
        seen.number("max_network_size", u64::from(network.1));
        seen.number("min_adj_size", u64::from(adjusted.0));
        seen.number("max_adj_size", u64::from(adjusted.1));
        seen.number("avg_hdr_offset", (self.mean_header() + (1 << 15)) >> 16);
        let shares = self.config.classes.tins(self.rate);
        for (class, index) in (1..).zip(self.config.classes.order()) {
            if let (Some(tin), Some(share)) = (self.tins.get(index), shares.get(index)) {
                seen.parts.push(Part { class, parent: 0, gauges: tin.gauges(share.0) });
            }
        }
    }
}

impl<P: Packet + Flow> Inner<P> for Cake<P, crate::random::Source> {}

/// Linux sch_cake: `diffserv8` and `precedence` have the most.
const MOST_TINS: usize = 8;
const MOST_TINS_32: u32 = 8;
/// RFC 2474: six bits.
const DSCPS: usize = 64;
/// No packet came yet.
const NO_SIZES: (u32, u32) = (u32::MAX, 0);
