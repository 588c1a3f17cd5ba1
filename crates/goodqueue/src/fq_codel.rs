//! FQ-CoDel: a queue per flow, served by deficit round robin, each under its own CoDel.
//!
//! # What it does
//! Hashes packets to one of `flows` queues and serves them in turn, `quantum` bytes a round. A flow that has just become
//! active is served before those that have been busy for a round, so sparse flows (DNS, VoIP, the first packets of a page)
//! hardly queue. Each queue is controlled by CoDel; when the packet or memory limit is exceeded, the flow with the most
//! bytes loses packets from its head.
//!
//! # Reference
//! RFC 8290 (2018); Linux 6.1 `net/sched/sch_fq_codel.c`.
//!
//! # State
//! ```text
//!   enqueue -> hash -> flow (FIFO, deficit, CoDel vars)      new flows --,
//!                         |  was on no list: deficit = quantum, to ->    |  served first
//!                         |  deficit used up: + quantum, to -----> old flows
//!                         '- emptied: from new to old (once), from old to no list
//! ```
//!
//! # Parameters
//! | name | unit | default | source of the default | range |
//! |---|---|---|---|---|
//! | `limit` | packets | 10240 | RFC 8290 §5.2.2 | 1 to 2^24 |
//! | `flows` | number | 1024 | RFC 8290 §5.2.4 | 1 to 65536 |
//! | `quantum` | bytes | the link's MTU, 1514 | RFC 8290 §5.2.3; Linux `psched_mtu` | 1 to 2^30; `linux` raises it to 256 |
//! | `memory_limit` | bytes | 32 MiB | Linux | 1 to 2^64 - 1 |
//! | `drop_batch` | packets | 64 | RFC 8290 §5.2.6; Linux | 1 to 2^32 - 1 |
//! | `target`, `interval`, `ce_threshold` | time | 5 ms, 100 ms, off | RFC 8290 §5.2.1, §5.2.5 | as for `codel` |
//! | `ecn` | flag | on | RFC 8290 §5.2.7 | |
//! | `variant` | | `rfc8290` | | `rfc8290`, `linux` |
//!
//! # Deviations
//! * `rfc8290`: CoDel's "not more than an MTU left" looks at the flow's own queue (RFC 8290 §4.2 runs CoDel on each queue).
//! * `linux`: it looks at the whole discipline, as the kernel does; the control law is the kernel's; the packets
//!   of one overflow are reported last first, the order in which the kernel frees them.
//! * Both: `memory_limit` counts packet bytes, where the kernel counts the larger `truesize` of its buffers. A packet of no
//!   bytes is charged one byte of deficit, so that it cannot be served for ever. The hash is the packet's own, with a salt.
//! * `ce_threshold_selector` is not there.
//!
//! # Cost
//! Constant per packet, plus packets dropped. An overflow scans the backlogs of all flows once. A dequeue visits at most
//! `flows * (packet / quantum + 2)` list entries. 56 bytes and a backlog per flow.
//!
//! # Example
//! ```
//! use goodqueue::config::{Configure, Link, Settings};
//! use goodqueue::fq_codel::FqCodelConfig;
//! let config = FqCodelConfig::from_settings(&Settings::new(), &Link::default()).unwrap();
//! assert_eq!(config.quantum(), 1514);
//! ```

use alloc::vec;
use alloc::vec::Vec;

use crate::codel::{CE_THRESHOLD, CodelParams, CodelVariant, CodelVars, INTERVAL, Source, TARGET};
use crate::config::{Build, ConfigError, Configure, Kind, Link, Parameter, Settings, Unit, Value, Variant};
use crate::packet::{Flow, Packet, scale_hash};
use crate::qdisc::{DropReason, Drops, Qdisc, Stats};
use crate::queue::{Chain, Pool, Queued};
use crate::time::Instant;

/// The discipline `fq_codel`.
#[derive(Clone, Debug)]
pub struct FqCodel<P> {
    config: FqCodelConfig,
    salt: u32,
    flows: Vec<FlowQueue>,
    /// Bytes queued per flow, apart from the flows: an overflow scans them all.
    backlogs: Vec<u64>,
    pool: Pool<P>,
    /// Packets of one overflow on their way out; empty between calls.
    victims: Vec<P>,
    new_flows: FlowList,
    old_flows: FlowList,
    len: usize,
    bytes: u64,
    stats: Stats,
    now: Instant,
}

/// Configuration of [`FqCodel`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FqCodelConfig {
    limit: u32,
    flows: u32,
    quantum: u32,
    memory_limit: u64,
    drop_batch: u32,
    params: CodelParams,
}

#[derive(Clone, Debug)]
struct FlowQueue {
    packets: Chain,
    /// Bytes that the flow may still send in this round; may go below zero by one packet.
    deficit: i64,
    codel: CodelVars,
    /// The flow behind this one on its list.
    next: u32,
    listed: bool,
}

const _: () = assert!(size_of::<FlowQueue>() <= 64, "a thousand flows must stay in the cache");

/// First-in first-out list of flows, linked through `FlowQueue::next`.
#[derive(Clone, Copy, Debug)]
struct FlowList {
    head: u32,
    tail: u32,
}

/// "No flow".
const NIL: u32 = u32::MAX;

impl FqCodelConfig {
    /// Bytes that a flow may send in a round.
    #[must_use]
    pub const fn quantum(&self) -> u32 {
        self.quantum
    }

    /// Number of queues.
    #[must_use]
    pub const fn flows(&self) -> u32 {
        self.flows
    }

    /// What every flow's CoDel is told.
    #[must_use]
    pub const fn params(&self) -> &CodelParams {
        &self.params
    }
}

impl Configure for FqCodelConfig {
    const KIND: Kind = Kind {
        name: "fq_codel",
        summary: "Flow queueing with CoDel: a queue per flow, sparse flows first, CoDel on each",
        reference: "RFC 8290",
        variants: &[
            Variant { name: "rfc8290", doc: "RFC 8290 with exact arithmetic" },
            Variant { name: "linux", doc: "Linux 6.1 sch_fq_codel, bit for bit" },
        ],
        parameters: &[
            Parameter {
                name: "limit",
                unit: Unit::Packets,
                default: "10240p",
                source: "RFC 8290 §5.2.2",
                range: "1 to 16777216",
                doc: "packets that all queues together hold",
            },
            Parameter {
                name: "flows",
                unit: Unit::Integer,
                default: "1024",
                source: "RFC 8290 §5.2.4",
                range: "1 to 65536",
                doc: "number of queues; fixed while packets are queued",
            },
            Parameter {
                name: "quantum",
                unit: Unit::Bytes,
                default: "MTU (1514)",
                source: "RFC 8290 §5.2.3",
                range: "1 to 1073741824",
                doc: "bytes that a flow may send in a round",
            },
            TARGET,
            INTERVAL,
            Parameter {
                name: "memory_limit",
                unit: Unit::Bytes,
                default: "32mb",
                source: "Linux sch_fq_codel",
                range: "1 or more",
                doc: "bytes that all queues together hold",
            },
            Parameter {
                name: "ecn",
                unit: Unit::Flag { off: Some("noecn") },
                default: "ecn",
                source: "RFC 8290 §5.2.7",
                range: "",
                doc: "mark ECN-capable packets instead of dropping them",
            },
            CE_THRESHOLD,
            Parameter {
                name: "drop_batch",
                unit: Unit::Integer,
                default: "64",
                source: "RFC 8290 §5.2.6",
                range: "1 to 4294967295",
                doc: "packets that the fattest flow loses at most at an overflow (Linux before 4.7: 1)",
            },
        ],
    };

    fn from_settings(settings: &Settings, link: &Link) -> Result<Self, ConfigError> {
        let number = |name, high: u32, default: u32| {
            settings
                .number(name, 1, u64::from(high))
                .map(|given| given.and_then(|n| u32::try_from(n).ok()).unwrap_or(default))
        };
        let linux = settings.choice("variant") == Some("linux");
        let law = if linux { CodelVariant::Linux } else { CodelVariant::Rfc8289 };
        let quantum = number("quantum", MAX_QUANTUM, link.mtu.clamp(1, MAX_QUANTUM))?;
        Ok(Self {
            limit: number("limit", MAX_LIMIT, 10_240)?,
            flows: number("flows", 65_536, 1024)?,
            quantum: if linux { quantum.max(LINUX_MIN_QUANTUM) } else { quantum },
            memory_limit: settings.number("memory_limit", 1, u64::MAX)?.unwrap_or(32 << 20),
            drop_batch: number("drop_batch", u32::MAX, 64)?,
            params: CodelParams::from_settings(settings, link, true, law)?,
        })
    }

    fn to_settings(&self) -> Settings {
        let shape = Settings::new()
            .with("limit", Value::Packets(u64::from(self.limit)))
            .with("flows", Value::Integer(u64::from(self.flows)))
            .with("quantum", Value::Bytes(u64::from(self.quantum)));
        let linux = self.params.variant == CodelVariant::Linux;
        self.params
            .add_to_settings(shape)
            .with("memory_limit", Value::Bytes(self.memory_limit))
            .with("drop_batch", Value::Integer(u64::from(self.drop_batch)))
            .with("variant", Value::Choice(if linux { "linux" } else { "rfc8290" }))
    }
}

impl<P: Packet + Flow> FqCodel<P> {
    /// An empty queue; `salt` seeds the hash of flows.
    #[must_use]
    pub fn new(config: FqCodelConfig, salt: u32) -> Self {
        let flow = FlowQueue {
            packets: Chain::default(),
            deficit: 0,
            codel: CodelVars::new(config.params.variant),
            next: NIL,
            listed: false,
        };
        Self {
            config,
            salt,
            flows: vec![flow; config.flows as usize],
            backlogs: vec![0; config.flows as usize],
            pool: Pool::default(),
            victims: Vec::new(),
            new_flows: FlowList::EMPTY,
            old_flows: FlowList::EMPTY,
            len: 0,
            bytes: 0,
            stats: Stats::default(),
            now: Instant::ZERO,
        }
    }

    fn classify(&self, packet: &P) -> u32 {
        match packet.class() {
            Some(class) if (1..=self.config.flows).contains(&class) => class.saturating_sub(1),
            _ => scale_hash(packet.flow_hash(self.salt), self.config.flows),
        }
    }

    fn is_over(&self) -> bool {
        self.len > self.config.limit as usize || self.bytes > self.config.memory_limit
    }

    /// RFC 8290 §4.1.3: the flow with the most bytes loses packets from its head, up to half of its bytes.
    fn drop_from_fattest(&mut self, batch: u32, drops: &mut impl Drops<P>) {
        let mut fattest = (0, 0);
        for (index, &backlog) in self.backlogs.iter().enumerate() {
            if backlog > fattest.1 {
                fattest = (index, backlog);
            }
        }
        let (index, backlog) = fattest;
        let why = if self.len > self.config.limit as usize {
            DropReason::Overlimit
        } else {
            DropReason::Overmemory
        };
        let (Some(flow), Some(flow_bytes)) = (self.flows.get_mut(index), self.backlogs.get_mut(index)) else {
            return;
        };
        let (mut dropped, mut dropped_bytes) = (0_u32, 0_u64);
        while dropped < batch && (dropped == 0 || dropped_bytes < backlog / 2) {
            let Some(victim) = self.pool.pop_front(&mut flow.packets) else { break };
            let bytes = victim.packet.len();
            dropped = dropped.saturating_add(1);
            dropped_bytes = dropped_bytes.saturating_add(u64::from(bytes));
            self.len = self.len.saturating_sub(1);
            self.stats.dropped_after.add(bytes);
            if self.config.params.variant == CodelVariant::Linux {
                self.victims.push(victim.packet);
            } else {
                drops.dropped(victim.packet, why);
            }
        }
        // The kernel frees a batch from its last packet to its first.
        while let Some(victim) = self.victims.pop() {
            drops.dropped(victim, why);
        }
        *flow_bytes = flow_bytes.saturating_sub(dropped_bytes);
        self.bytes = self.bytes.saturating_sub(dropped_bytes);
        flow.codel.add_to_count(dropped);
    }
}

impl<P: Packet + Flow, R> Build<P, R> for FqCodel<P> {
    fn build(config: FqCodelConfig, salt: u32, _random: R) -> Self {
        Self::new(config, salt)
    }
}

impl<P: Packet + Flow> Qdisc<P> for FqCodel<P> {
    type Config = FqCodelConfig;

    #[inline]
    fn enqueue(&mut self, now: Instant, packet: P, drops: &mut impl Drops<P>) {
        self.now = self.now.max(now);
        let bytes = packet.len();
        let index = self.classify(&packet);
        self.stats.offered.add(bytes);
        self.stats.enqueued.add(bytes);
        if let (Some(flow), Some(backlog)) =
            (self.flows.get_mut(index as usize), self.backlogs.get_mut(index as usize))
        {
            self.pool.push_back(&mut flow.packets, self.now, packet);
            *backlog = backlog.saturating_add(u64::from(bytes));
            if !flow.listed {
                // RFC 8290 §4.1.2: a flow on no list is a new one, whatever its CoDel remembers.
                flow.listed = true;
                flow.deficit = i64::from(self.config.quantum);
                self.new_flows.push_back(&mut self.flows, index);
            }
        }
        self.len = self.len.saturating_add(1);
        self.bytes = self.bytes.saturating_add(u64::from(bytes));
        while self.is_over() {
            self.drop_from_fattest(self.config.drop_batch, drops);
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Instant, drops: &mut impl Drops<P>) -> Option<P> {
        self.now = self.now.max(now);
        loop {
            let from_new = self.new_flows.head != NIL;
            let index = if from_new { self.new_flows.head } else { self.old_flows.head };
            let flow = self.flows.get_mut(index as usize)?;
            if flow.deficit <= 0 {
                flow.deficit = flow.deficit.saturating_add(i64::from(self.config.quantum));
                self.rotate(from_new, index);
                continue;
            }
            let mut source = FlowSource {
                packets: &mut flow.packets,
                backlog: self.backlogs.get_mut(index as usize)?,
                pool: &mut self.pool,
                len: &mut self.len,
                bytes: &mut self.bytes,
                whole: self.config.params.variant == CodelVariant::Linux,
                stats: &mut self.stats,
                drops,
            };
            match flow.codel.dequeue(self.now, &self.config.params, &mut source) {
                Some(packet) => {
                    flow.deficit = flow.deficit.saturating_sub(i64::from(packet.len().max(1)));
                    self.stats.dequeued.add(packet.len());
                    return Some(packet);
                }
                // RFC 8290 §4.2: an emptied new flow goes through the old ones once, else it could starve them by
                // becoming new again and again.
                None if from_new && self.old_flows.head != NIL => self.rotate(from_new, index),
                None => {
                    flow.listed = false;
                    self.unlink_head(from_new);
                }
            }
        }
    }

    fn len(&self) -> usize {
        self.len
    }

    fn backlog(&self) -> u64 {
        self.bytes
    }

    fn stats(&self) -> Stats {
        self.stats
    }

    /// The number of flows stays as it is while packets are queued: a flow cannot be split or joined.
    fn reconfigure(&mut self, _now: Instant, config: FqCodelConfig, drops: &mut impl Drops<P>) {
        if config.flows != self.config.flows && self.len == 0 {
            *self = Self { stats: self.stats, now: self.now, ..Self::new(config, self.salt) };
            return;
        }
        if config.params.variant != self.config.params.variant {
            for flow in &mut self.flows {
                flow.codel = CodelVars::new(config.params.variant);
            }
        }
        self.config = FqCodelConfig { flows: self.config.flows, ..config };
        while self.is_over() {
            self.drop_from_fattest(1, drops);
        }
    }

    fn config(&self) -> FqCodelConfig {
        self.config
    }

    fn purge(&mut self, _now: Instant, drops: &mut impl Drops<P>) {
        for flow in &mut self.flows {
            while let Some(queued) = self.pool.pop_front(&mut flow.packets) {
                self.stats.dropped_after.add(queued.packet.len());
                drops.dropped(queued.packet, DropReason::Purged);
            }
            flow.codel = CodelVars::new(self.config.params.variant);
            flow.listed = false;
            flow.next = NIL;
        }
        self.backlogs.fill(0);
        (self.new_flows, self.old_flows) = (FlowList::EMPTY, FlowList::EMPTY);
        (self.len, self.bytes) = (0, 0);
    }
}

impl<P> FqCodel<P> {
    /// Moves the flow at the head of its list to the tail of the old flows.
    fn rotate(&mut self, from_new: bool, index: u32) {
        self.unlink_head(from_new);
        self.old_flows.push_back(&mut self.flows, index);
    }

    fn unlink_head(&mut self, from_new: bool) {
        let list = if from_new { &mut self.new_flows } else { &mut self.old_flows };
        list.pop_front(&self.flows);
    }
}

impl FlowList {
    const EMPTY: Self = Self { head: NIL, tail: NIL };

    fn push_back(&mut self, flows: &mut [FlowQueue], index: u32) {
        if let Some(flow) = flows.get_mut(index as usize) {
            flow.next = NIL;
        }
        match flows.get_mut(self.tail as usize) {
            Some(last) => last.next = index,
            None => self.head = index,
        }
        self.tail = index;
    }

    fn pop_front(&mut self, flows: &[FlowQueue]) {
        self.head = flows.get(self.head as usize).map_or(NIL, |flow| flow.next);
        if self.head == NIL {
            self.tail = NIL;
        }
    }
}

/// One flow's queue, as CoDel sees it.
struct FlowSource<'a, P, D> {
    packets: &'a mut Chain,
    backlog: &'a mut u64,
    pool: &'a mut Pool<P>,
    len: &'a mut usize,
    bytes: &'a mut u64,
    /// CoDel's byte rule looks at the whole discipline.
    whole: bool,
    stats: &'a mut Stats,
    drops: &'a mut D,
}

impl<P: Packet, D: Drops<P>> Source<P> for FlowSource<'_, P, D> {
    #[inline]
    fn pop(&mut self) -> Option<Queued<P>> {
        let queued = self.pool.pop_front(self.packets)?;
        let bytes = u64::from(queued.packet.len());
        *self.backlog = self.backlog.saturating_sub(bytes);
        *self.len = self.len.saturating_sub(1);
        *self.bytes = self.bytes.saturating_sub(bytes);
        Some(queued)
    }

    #[inline]
    fn bytes_left(&self) -> u64 {
        if self.whole { *self.bytes } else { *self.backlog }
    }

    fn drop_congested(&mut self, packet: P) {
        self.stats.dropped_after.add(packet.len());
        self.drops.dropped(packet, DropReason::Congested);
    }

    fn marked(&mut self, bytes: u32) {
        self.stats.marked.add(bytes);
    }
}

/// Nodes of the pool are numbered in 32 bits; this many packets would be 24 GB of frames.
const MAX_LIMIT: u32 = 1 << 24;
/// A deficit counts in 64 bits; this is beyond any packet.
const MAX_QUANTUM: u32 = 1 << 30;
/// Linux sch_fq_codel raises a smaller quantum to 256.
const LINUX_MIN_QUANTUM: u32 = 256;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Ecn;
    use crate::time::Duration;

    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    struct Of {
        flow: u32,
        bytes: u32,
    }

    impl Packet for Of {
        fn len(&self) -> u32 {
            self.bytes
        }
        fn ecn(&self) -> Ecn {
            Ecn::NotEct
        }
        fn set_ce(&mut self) -> bool {
            false
        }
    }

    impl Flow for Of {
        fn flow_hash(&self, _salt: u32) -> u32 {
            0
        }
        fn class(&self) -> Option<u32> {
            Some(self.flow + 1)
        }
    }

    fn fq_codel(settings: &Settings) -> FqCodel<Of> {
        FqCodel::new(FqCodelConfig::from_settings(settings, &Link::default()).expect("valid"), 0)
    }

    fn put(queue: &mut FqCodel<Of>, flow: u32, bytes: u32, packets: u32) -> u32 {
        let mut dropped = 0;
        for _ in 0..packets {
            queue.enqueue(Instant::ZERO, Of { flow, bytes }, &mut |_, _| dropped += 1);
        }
        dropped
    }

    fn order(queue: &mut FqCodel<Of>) -> Vec<u32> {
        core::iter::from_fn(|| queue.dequeue(Instant::ZERO, &mut |_, _| ()))
            .map(|packet| packet.flow)
            .collect()
    }

    #[test]
    fn full_frames_of_two_flows_alternate() {
        let mut queue = fq_codel(&Settings::new());
        put(&mut queue, 0, 1514, 3);
        put(&mut queue, 1, 1514, 3);
        assert_eq!(order(&mut queue), [0, 1, 0, 1, 0, 1]);
    }

    #[test]
    fn a_quantum_not_used_up_lets_a_second_packet_go() {
        let mut queue = fq_codel(&Settings::new());
        put(&mut queue, 0, 1500, 3);
        put(&mut queue, 1, 1500, 3);
        assert_eq!(order(&mut queue), [0, 0, 1, 1, 0, 1], "1514 - 1500 = 14 left: one more each, then 28");
    }

    #[test]
    fn a_sparse_flow_overtakes_the_queue_of_a_bulk_flow() {
        let mut queue = fq_codel(&Settings::new());
        put(&mut queue, 0, 1514, 10);
        let mut first = || queue.dequeue(Instant::ZERO, &mut |_, _| ()).map(|packet| packet.flow);
        assert_eq!([first(), first()], [Some(0), Some(0)]);
        put(&mut queue, 1, 100, 1);
        assert_eq!(order(&mut queue)[..2], [1, 0]);
    }

    #[test]
    fn shares_are_of_bytes_not_of_packets() {
        let mut queue = fq_codel(&Settings::new());
        put(&mut queue, 0, 1500, 1000);
        put(&mut queue, 1, 300, 5000);
        let mut bytes = [0_u32; 2];
        for _ in 0..1200 {
            let packet = queue.dequeue(Instant::ZERO, &mut |_, _| ()).expect("backlogged");
            bytes[packet.flow as usize] += packet.bytes;
        }
        // RFC 8290 (DRR): backlogged flows differ by at most a quantum and a packet.
        assert!(bytes[0].abs_diff(bytes[1]) <= 1514 + 1500, "{bytes:?}");
    }

    #[test]
    fn an_overflow_takes_a_batch_from_the_head_of_the_fattest_flow() {
        let mut queue = fq_codel(&Settings::new());
        assert_eq!(put(&mut queue, 3, 1514, 10_240), 0);
        assert_eq!(put(&mut queue, 4, 64, 1), 64);
        assert_eq!(queue.flows[3].codel.count(), 64);
        assert_eq!((queue.len(), queue.stats().dropped_after.packets), (10_177, 64));
    }

    #[test]
    fn an_overflow_drops_no_more_than_half_of_the_fattest_flow() {
        let mut queue = fq_codel(&Settings::new().with("limit", Value::Packets(10)));
        put(&mut queue, 0, 1000, 10);
        assert_eq!(put(&mut queue, 1, 1000, 1), 5);
    }

    #[test]
    fn a_packet_larger_than_the_memory_limit_leaves_at_once_with_its_reason() {
        let mut queue = fq_codel(&Settings::new().with("memory_limit", Value::Bytes(1)));
        let mut reasons = Vec::new();
        queue.enqueue(Instant::ZERO, Of { flow: 0, bytes: 2 }, &mut |_, why| reasons.push(why));
        assert_eq!((reasons, queue.len()), ([DropReason::Overmemory].into(), 0));
        assert_eq!(order(&mut queue), []);
    }

    #[test]
    fn a_flow_of_empty_packets_cannot_be_served_for_ever() {
        let mut queue = fq_codel(&Settings::new().with("quantum", Value::Bytes(3)));
        put(&mut queue, 0, 0, 10);
        put(&mut queue, 1, 3, 2);
        assert_eq!(order(&mut queue)[..5], [0, 0, 0, 1, 0]);
    }

    #[test]
    fn every_flow_has_its_own_codel() {
        let mut queue = fq_codel(&Settings::new());
        put(&mut queue, 0, 1514, 200);
        let late = |ms| Instant::ZERO + Duration::from_millis(ms);
        for ms in 0..150 {
            queue.dequeue(late(ms), &mut |_, _| ());
        }
        assert!(queue.flows[0].codel.is_dropping());
        assert!(!queue.flows[1].codel.is_dropping());
    }
}
