//! CAKE: common applications kept enhanced.
//!
//! # What it does
//! CAKE combines a shaper, a few classes (tins), a queue per flow, fairness between hosts and an
//! AQM per flow. The shaper sends packets at the rate of the link, without bursts. The DSCP of a
//! packet chooses its tin. Within a tin each flow has its own queue: an 8-way set-associative hash
//! keeps flows apart until there are very many. Flows that send little are served first. COBALT
//! controls every queue. When the memory is used up, the longest queue loses its oldest packet.
//!
//! # Reference
//! T. Høiland-Jørgensen, D. Täht, J. Morton, "Piece of CAKE", LANMAN 2018; tc-cake(8); behaviour of
//! Linux 7.3 and 6.1 `net/sched/sch_cake.c`.
//!
//! # State
//! ```text
//! arrival --> tin (DSCP) --> flow (hash, 8 ways): FIFO, deficit, COBALT, hosts
//! flow:  none --> sparse (new flows) --> bulk (old flows) --> decaying (empty, COBALT not at rest) --> none
//! dequeue: not before time_next (or the failsafe, at 2/3 of the rate); the highest tin that is on schedule, else the
//!          tin due first; in it one decaying flow, then new flows, then old flows by deficit
//! ```
//!
//! # Parameters
//! | name | meaning | unit | default | source of the default | range |
//! |---|---|---|---|---|---|
//! | `bandwidth` | rate of the shaper | rate | unlimited | tc-cake(8) | 8bit or more |
//! | `unlimited` | no shaper | flag | on | tc-cake(8) | |
//! | `besteffort` | one tin for all packets | flag | off | tc-cake(8) | |
//! | `precedence` | eight tins by the three IP precedence bits (RFC 791) | flag | off | tc-cake(8) | |
//! | `diffserv8` | eight tins by DSCP | flag | off | tc-cake(8) | |
//! | `diffserv4` | four tins by DSCP: bulk, best effort, video, voice | flag | off | tc-cake(8) | |
//! | `diffserv3` | three tins by DSCP: bulk, best effort, voice | flag | on | tc-cake(8) | |
//! | `flowblind` | one queue for all flows | flag | off | tc-cake(8) | |
//! | `srchost` | one queue per source host | flag | off | tc-cake(8) | |
//! | `dsthost` | one queue per destination host | flag | off | tc-cake(8) | |
//! | `hosts` | one queue per pair of hosts | flag | off | tc-cake(8) | |
//! | `flows` | one queue per flow | flag | off | tc-cake(8) | |
//! | `dual-srchost` | fairness between source hosts, then between the flows of each | flag | off | tc-cake(8) | |
//! | `dual-dsthost` | fairness between destination hosts, then between the flows of each | flag | off | tc-cake(8) | |
//! | `triple-isolate` | fairness between source hosts and between destination hosts, then between flows | flag | on | tc-cake(8) | |
//! | `rtt` | expected round-trip time; COBALT's interval, and twenty times its target | time | 100ms | tc-cake(8) | 0 to 4294967295us; raised to 1us |
//! | `overhead` | bytes that the link adds to each IP packet | number, may be negative | raw | tc-cake(8) | -64 to 256 |
//! | `raw` | charge each packet its length with the Ethernet header, nothing more | flag | on | tc-cake(8) | |
//! | `mpu` | smallest length of a packet on the link, in bytes | number | 0 | tc-cake(8) | 0 to 256 |
//! | `atm` | the link sends cells of 53 bytes that carry 48 | flag | noatm | tc-cake(8) | |
//! | `ptm` | the link adds one byte to every 64 (VDSL2) | flag | off | tc-cake(8) | |
//! | `ack-filter` | drop an ACK when two later ones make it superfluous | flag | no-ack-filter | tc-cake(8) | |
//! | `ack-filter-aggressive` | drop an ACK when one later one makes it superfluous | flag | off | tc-cake(8) | |
//! | `ingress` | charge dropped packets to the shaper, for a shaper behind the bottleneck | flag | egress | tc-cake(8) | |
//! | `memlimit` | bytes of memory that all queues together hold | bytes | 4 x bandwidth x rtt, at least 4mb, at most 10240 x MTU | Linux sch_cake | 1 to 4294967295 |
//! | `truesize` | memory that each packet is charged, at least its length; 2304 for many network drivers, 1 to charge lengths | bytes | linux: as Linux allocates; others: the packet's length | Linux skb->truesize | 1 to 1073741824 |
//! | `autorate-ingress` | set the shaper to 15/16 of the measured peak arrival rate | flag | off | tc-cake(8) | |
//! | `fwmark` | mask of the firewall mark whose bits choose the tin, counted from 1; if they are 0, the DSCP does | number | 0 | tc-cake(8) | 0 to 4294967295 |
//! | `wash` | clear the DSCP of each packet after its tin is chosen | flag | nowash | tc-cake(8) | |
//! | `nat` | look up addresses behind NAT; accepted without effect, since nothing is translated here | flag | nonat | tc-cake(8) | |
//! | `split-gso` | split aggregated packets; accepted without effect, since there are none here | flag | split-gso | tc-cake(8) | |
//! | `variant` | `linux`: Linux 7.3 sch_cake; the first packet above target is signalled at once. `linux61`: Linux 6.1 sch_cake; as linux, with slightly different square roots and draws. `paper`: the article; the first signal comes one interval after the first packet above target | word | linux | | |
//!
//! At most one flag of each group may be on. Tins: `besteffort`, `precedence`, `diffserv8`,
//! `diffserv4`, `diffserv3`. Isolation: `flowblind`, `srchost`, `dsthost`, `hosts`, `flows`,
//! `dual-srchost`, `dual-dsthost`, `triple-isolate`. Cells: `atm`, `ptm`. ACK filter: `ack-filter`,
//! `ack-filter-aggressive`.
//!
//! tc's words for links and distances (`docsis`, `pppoe-ptm`, `regional`, ...) stand for settings
//! of these parameters.
//!
//! # Deviations
//! * As in Linux, a heap decides which queue loses when the memory is used up, and the queue on
//!   top is not always the longest.
//! * `autorate-ingress` may stand before or after `bandwidth`; in tc it has an effect only after
//!   it. The measured rate holds until another `bandwidth` is given.
//! * A negative overhead leaves a packet at least one byte; Linux counts below 0.
//! * Packets are never aggregates and addresses never translated, so `split-gso` and `nat` have
//!   no effect.
//! * A class chosen by the caller picks the tin, as `skb->priority` does.
//! * Flows and hosts are identified by [`Flow::flow_hash`], [`Flow::source_hash`] and
//!   [`Flow::destination_hash`]. Packets without hosts count each flow as a host. The ACK filter
//!   uses [`Flow::tcp_ack`].
//! * A packet of no bytes is charged one byte.
//! * As in Linux, a flow can be reordered in two cases. If more than eight flows share a set of
//!   the hash, one of them loses its queue to another. After a change of isolation or classes,
//!   new packets may go to another queue.
//! * As in Linux, a change that removes tins drops their packets, and a change of `overhead` or
//!   cells applies to packets that arrive later. Here it also applies to packets that arrived at
//!   the instant of the change. A change of the variant moves queued packets to
//!   the queues where they belong.
//! * `linux61`: `autorate-ingress` may set the rate for each packet; since Linux 7.3, at most every
//!   250 ms. See also `cobalt`.
//! * If a quantum is far smaller than the packets (many flows of one host), rounds in which no
//!   flow may send are skipped at once, without dithering.
//!
//! # Cost
//! Constant per packet, plus dropped packets. The ACK filter looks at every packet of the flow. An
//! overflow costs up to `log2` of the number of queues. Memory per queue: 64 bytes, two tags and
//! two hosts; there are 1024 queues per tin.
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
mod change;
mod config;
mod evidence;
mod hash;
mod held;
mod links;
mod measured;
mod overflow;
mod placement;
mod queues;
mod rules;
mod sets;
mod shaper;
mod shown;
mod tally;
mod tin;
mod turns;

#[cfg(test)]
mod tests;

use alloc::vec::Vec;

use autorate::Estimate;
pub use config::CakeConfig;
use config::{AckFilter, Isolation};
use held::Held;
use measured::{Measured, Sizes, measured_by};
use placement::HostTags;
use queues::{MOST_TINS, MOST_TINS_32, QUEUES_32, charge, number};
use shaper::{ETHERNET_HEADER, Shaper};
use tally::moving;
use tin::Tin;

use crate::config::Build;
use crate::decision::{Evidence, Question, Rule};
use crate::gauge::{Observation, Observe, Part};
use crate::nesting::Inner;
use crate::packet::{Flow, Packet};
use crate::qdisc::{DropReason, Drops, Lookahead, Qdisc, Stats};
use crate::queue::Pool;
use crate::random::Random;
use crate::time::Instant;

/// The discipline `cake`.
#[derive(Clone, Debug)]
pub struct Cake<P, R> {
    config: CakeConfig,
    salt: u32,
    random: R,
    tins: Vec<Tin>,
    /// Tins that another configuration used, the last one first. They keep their state.
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
    /// True if each arrival needs a second look, by the ACK filter or the estimate of the rate.
    watched: bool,
    /// Earlier configurations under which queued packets were measured, the earliest first.
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

    /// Adapts tins and rates to the configuration.
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
            // With a weight of 0 the rounds of `choose_by_weight` would never end.
            tin.weight.quantum = share.1.max(1);
        }
        for (dscp, tin) in (0..).zip(&mut self.tin_of_dscp) {
            *tin = u8::try_from(config.classes.of_dscp(dscp)).unwrap_or(0);
        }
        self.plain = config.is_plain() && self.measured.is_empty();
        self.watched = config.autorate || config.ack_filter != AckFilter::Off;
        self.memory = config.memory();
        // In every classification the share of the first tin is the whole rate.
        self.shaper.pace = self.tins.first().map(|tin| tin.shaper.pace).unwrap_or_default();
        // A change may have removed the tin that was served last.
        self.current = self.current.min(self.tins.len().saturating_sub(1));
    }

    /// Records the size of an arriving packet for the statistics.
    #[inline]
    fn measure(&mut self, bytes: u32) {
        let sizes = &mut self.sizes;
        sizes.recent.widen(bytes);
        sizes.most_memory = sizes.most_memory.max(self.held.memory.used());
    }

    /// Returns the moving average of the header length, with 16 binary places. The length is always
    /// the same, so the average follows from the number of packets.
    fn mean_header(&self) -> u64 {
        let mut mean = 0;
        for _ in 0..self.held.passage.entered().packets {
            let moved = moving(mean, u64::from(ETHERNET_HEADER) << 16, 8);
            // The average stops at a value below the length, because each step is cut.
            if moved == mean {
                break;
            }
            mean = moved;
        }
        mean
    }

    #[inline]
    fn tin_of(&self, packet: &P) -> usize {
        // A mask of 0 has 32 trailing zeros, and a shift by 32 is `None`.
        let mark = (packet.mark() & self.config.fwmark).checked_shr(self.config.fwmark.trailing_zeros());
        let classes = self.config.classes;
        let marked = mark.and_then(|mark| classes.of_class(mark));
        // The order of Linux `cake_select_tin()`: the mark, then the class (`skb->priority`), then
        // the DSCP.
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
            // The other salt keeps the two directions between two hosts in separate queues.
            Isolation::Hosts => packet.source_hash(self.salt) ^ packet.destination_hash(!self.salt),
            _ => packet.flow_hash(self.salt),
        }
    }

    /// Takes the oldest packet of a queue.
    fn take(&mut self, tin: usize, index: u32) -> Option<P> {
        let oldest = self.pool.oldest(&mut self.tins.get_mut(tin)?.flows.at_mut(index).packets)?;
        let bytes = oldest.bytes();
        let memory = oldest.memory();
        let taken = oldest.take();
        self.forget(tin, index, bytes, memory);
        taken
    }

    /// Returns the time of arrival of a queue's oldest packet.
    fn arrival(&self, tin: usize, index: u32) -> Option<Instant> {
        self.pool.front(&self.tins.get(tin)?.flows.at(index).packets).map(|queued| queued.at)
    }

    /// Counts a packet of this length and memory that left a queue.
    fn forget(&mut self, tin: usize, index: u32, bytes: u32, memory: u64) {
        if let Some(state) = self.tins.get_mut(tin) {
            self.held.remove(bytes, memory, number(tin, index), state.leaves(index, bytes), false);
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

    /// Returns the queue that Linux considers the longest, and the time of arrival of its oldest
    /// packet.
    fn longest(&mut self) -> Option<(usize, u32, Instant)> {
        let first = self.held.longest.first(self.tins.iter().flat_map(Tin::backlogs));
        let tin = first as usize % MOST_TINS;
        let index = first / MOST_TINS_32;
        Some((tin, index, self.arrival(tin, index)?))
    }

    /// Drops the oldest packet of the longest queue, because the memory is used up.
    fn drop_from_longest(&mut self, drops: &mut impl Drops<P>) -> bool {
        let mut found = self.longest();
        if found.is_none() {
            // Linux's heap can have an empty queue on top, and `cake_drop()` then builds it anew.
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

    /// Charges a dropped packet in ingress mode, because it has used the link.
    fn charge_drop(&mut self, tin: usize, at: Instant, bytes: u32) {
        let charged = self.on_the_link(at, bytes);
        if self.config.ingress {
            if let Some(tin) = self.tins.get_mut(tin) {
                self.shaper.charge(&mut tin.shaper, self.now, charged, true);
            }
        }
    }

    /// Returns the length on the link of a packet of `bytes` that arrived at `at`, under the
    /// configuration of that time.
    #[inline]
    fn on_the_link(&self, at: Instant, bytes: u32) -> u32 {
        measured_by(&self.measured, &self.config, at).on_the_link(bytes)
    }

    #[inline(never)]
    fn drop_excess(&mut self, drops: &mut impl Drops<P>) {
        while self.held.memory.used() > self.memory && self.drop_from_longest(drops) {}
    }

    /// Puts a packet that arrived at `at` into its queue. `none`: no packet was queued before.
    #[inline]
    fn insert(&mut self, at: Instant, mut packet: P, none: bool, drops: &mut impl Drops<P>) {
        let now = self.now;
        let salt = self.salt;
        let isolation = self.config.isolation;
        let bytes = packet.len();
        let memory = self.held.charge(&packet);
        let tin_index = self.tin_of(&packet);
        // The tin is chosen first, because washing clears the DSCP that chooses it.
        if self.config.wash {
            packet.clear_dscp();
        }
        let tag = self.tag_of(&packet);
        let Some(tin) = self.tins.get_mut(tin_index) else { return };
        let hosts =
            || HostTags { source: packet.source_hash(salt), destination: packet.destination_hash(salt) };
        let index = tin.queue_of(tag, hosts, isolation);
        // An idle shaper has no credit.
        if tin.backlog == 0 {
            tin.shaper.time_next = tin.shaper.time_next.max(now);
            if none {
                if !self.measured.is_empty() {
                    // No queued packet was measured under an earlier configuration.
                    self.measured.clear();
                    self.plain = self.config.is_plain();
                }
                // Linux counts an overlimit whenever it sets its timer, which also happens at an
                // arrival.
                if self.shaper.wakes(now) {
                    self.overlimits = self.overlimits.wrapping_add(1);
                }
            }
        }
        self.served |= bit(tin_index);
        let flow = tin.flows.at_mut(index);
        self.pool.push_back_charged(&mut flow.packets, at, packet, memory);
        flow.backlog = flow.backlog.wrapping_add(charge(bytes));
        tin.backlog = tin.backlog.wrapping_add(charge(bytes));
        tin.tally.packets = tin.tally.packets.wrapping_add(1);
        tin.tally.bytes = tin.tally.bytes.wrapping_add(u64::from(bytes));
        tin.tally.largest = tin.tally.largest.max(bytes);
        self.held.add(memory, number(tin_index, index), flow.backlog);
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
            // Linux subtracts the bytes of filtered ACKs from those of the arrival, and the
            // difference may wrap.
            self.follow_rate(u64::from(bytes).wrapping_sub(u64::from(gone)));
            // `set_up` has counted only tins with listed flows, and this flow is not listed yet.
            self.served |= bit(tin_index);
        }
        // As in Linux, the flow is listed last: its first quantum follows from the rate that this
        // arrival may have changed.
        if let Some(listed) = self.tins.get_mut(tin_index) {
            listed.enlist(index, isolation, &mut self.random);
        }
    }

    /// Adds `bytes` to the estimate of the arrival rate, which the shaper follows.
    fn follow_rate(&mut self, bytes: u64) {
        if let Some(rate) = self.estimate.arrives(self.now, bytes, self.config.variant) {
            self.rate = rate;
            self.set_up();
            self.go_on_at_first();
        }
    }

    /// Linux sch_cake clears unused tins whenever it sets rates, and then continues at the first
    /// tin.
    fn go_on_at_first(&mut self) {
        self.current = if self.tins.len() < MOST_TINS { 0 } else { self.current };
    }

    // A function with one busy caller is inlined (docs/DESIGN.md), as are its steps in `tin.rs`.
    /// Returns the next packet of this tin, or `None` if another tin may come first.
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
            // The packet is judged in its slot.
            let oldest = self.pool.oldest(&mut flow.packets)?;
            let sojourn = clock.since(oldest.at());
            let bytes = oldest.bytes();
            let memory = oldest.memory();
            if !flow.cobalt.passes(clock, &tin.cobalt, sojourn) {
                if let Some(sent) = self.decide(chosen, index, drops) {
                    return Some(sent);
                }
                continue;
            }
            let charged = if self.plain {
                // At least one byte, as `on_the_link` counts.
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
            self.held.remove(bytes, memory, number(chosen, index), flow.backlog, true);
            tin.tally.sent(sojourn);
            return oldest.take();
        }
    }

    // COBALT lets most packets pass before this.
    /// Asks COBALT about the oldest packet of a queue that is not empty. `None`: it was dropped.
    #[inline(never)]
    fn decide(&mut self, chosen: usize, index: u32, drops: &mut impl Drops<P>) -> Option<P> {
        let clock = self.now;
        let ingress = self.config.ingress;
        let tin = self.tins.get_mut(chosen)?;
        // tc-cake(8): in ingress mode each bulk flow keeps two packets, because a dropped packet
        // has crossed the link and crosses it again when it is retransmitted.
        let bulk = if ingress { tin.bulk } else { 0 };
        let flow = tin.flows.at_mut(index);
        let only = flow.packets.len() == 1;
        let mut oldest = self.pool.oldest(&mut flow.packets)?;
        let at = oldest.at();
        let memory = oldest.memory();
        let sojourn = clock.since(at);
        let packet = oldest.packet()?;
        let verdict = flow.cobalt.decide(clock, &tin.cobalt, sojourn, bulk, packet, &mut self.random);
        let bytes = packet.len();
        // The last packet may be marked, not dropped.
        let sent = !verdict.drop || only;
        // In ingress mode the dropped packet has used the link in front of the shaper.
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
        self.held.remove(bytes, memory, number(chosen, index), flow.backlog, sent);
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

/// The bit of a tin.
#[inline]
const fn bit(tin: usize) -> u8 {
    1 << (tin % MOST_TINS)
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
        // Rule 1 of the contract: a time before the latest one counts as the latest.
        self.now = self.now.max(now);
        let bytes = packet.len();
        let none = self.held.is_empty();
        self.held.passage.enters(bytes);
        self.insert(self.now, packet, none, drops);
        self.estimate.last = self.now;
        self.measure(bytes);
        if self.held.memory.used() > self.memory {
            self.drop_excess(drops);
        }
    }

    /// This function is so long that a call costs less than inlining it.
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
            // Linux's `first_flow`: a dequeue visits at most one decaying flow.
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

    fn reconfigure(&mut self, now: Instant, config: CakeConfig, drops: &mut impl Drops<P>) {
        self.change(now, config, drops);
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
    const RULES: &'static [&'static [Rule]] = &[rules::RULES, crate::cobalt::rules::RULES];

    fn other_flow(&self, packet: &P) -> Option<&P> {
        let tin = self.tins.get(self.tin_of(packet))?;
        let index = tin.known_queue_of(self.tag_of(packet));
        self.pool.other_flow(&tin.flows.at(index).packets, packet)
    }

    fn evidence(&self, question: &Question<'_, P>) -> Evidence {
        self.evidence_about(question.packet, &question.about)
    }
}

impl<P: Packet + Flow, R: Random> Observe for Cake<P, R> {
    fn observe(&self, _now: Instant, seen: &mut Observation) {
        let Sizes { network, adjusted, most_memory, .. } = self.sizes.complete(&self.config);
        seen.overlimits = self.overlimits;
        seen.number("memory_used", most_memory);
        seen.number("memory_limit", self.memory);
        seen.number("capacity_estimate", self.estimate.peak);
        seen.number("min_network_size", u64::from(network.least));
        seen.number("max_network_size", u64::from(network.most));
        seen.number("min_adj_size", u64::from(adjusted.least));
        seen.number("max_adj_size", u64::from(adjusted.most));
        // Rounded to the nearest byte, as by Linux `cake_dump_stats()`.
        seen.number("avg_hdr_offset", (self.mean_header() + (1 << 15)) >> 16);
        seen.parts_key = Some("tins");
        let shares = self.config.classes.tins(self.rate);
        for (class, index) in (1..).zip(self.config.classes.order()) {
            if let (Some(tin), Some(share)) = (self.tins.get(index), shares.get(index)) {
                seen.parts.push(Part { class, parent: 0, gauges: tin.gauges(share.0) });
            }
        }
    }
}

impl<P: Packet + Flow> Inner<P> for Cake<P, crate::random::Source> {}

/// RFC 2474: six bits.
const DSCPS: usize = 64;
