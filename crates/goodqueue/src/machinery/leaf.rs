//! A discipline inside another one, and what every discipline with children needs.
//!
//! A parent passes its own sink for drops to its children and asks them for their counters. Some
//! parents must know the length of the next packet before they may take it (a token bucket, a
//! deficit): [`Leaf::peek_len`] leaves the packet where it is if the child can tell, and takes it
//! ahead of time otherwise, as Linux does (`qdisc_peek_dequeued`). So an AQM below such a parent
//! decides when a packet reaches the head, not when it is sent.

use alloc::boxed::Box;

use crate::config::{Configure, Value};
use crate::decision::{Evidence, FULL, Limit, Quantity, Question};
use crate::fifo::PfifoConfig;
use crate::gauge::Observation;
use crate::hash::mix_64;
use crate::nesting::{Inner, InnerConfig};
use crate::packet::Packet;
use crate::qdisc::{DropReason, Drops, Lookahead, Qdisc};
use crate::queue::{Chain, Pool};
use crate::random::Source;
use crate::stats::{Count, Stats};
use crate::time::Instant;

/// A discipline whose parent may look ahead. The usual one, `pfifo`, is called without a detour
/// through all disciplines.
#[derive(Clone, Debug)]
pub(crate) struct Leaf<P, Q> {
    // In a box, because a discipline may hold one of its own kind.
    qdisc: Box<Q>,
    /// A packet taken out of the discipline and not sent yet.
    ahead: Option<P>,
    /// Counters to add to the discipline's own.
    beside: Stats,
}

/// Packets and bytes that a discipline holds.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Load {
    pub(crate) packets: usize,
    pub(crate) bytes: u64,
}

/// Returns the salt and the random source of child number `index`, for a parent that was built with
/// `salt` and `random`.
fn seeds(index: u32, salt: u32, random: &mut Source) -> (u32, Source) {
    let mixed = mix_64((u64::from(index) << 32 | u64::from(salt)) ^ CHILD);
    let own_salt = u32::try_from(mixed >> 32).unwrap_or(salt);
    (own_salt, random.fork(u64::from(index)))
}

impl<P: Packet, Q: Inner<P>> Leaf<P, Q> {
    /// Returns child number `index` of a discipline that was built with `salt` and `random`.
    pub(crate) fn new(config: Q::Config, index: u32, salt: u32, random: &mut Source) -> Self {
        let (own_salt, own_random) = seeds(index, salt, random);
        Self::from_qdisc(Q::build(config, own_salt, own_random))
    }

    fn from_qdisc(qdisc: Q) -> Self {
        Self { qdisc: Box::new(qdisc), ahead: None, beside: Stats::default() }
    }

    #[inline]
    pub(crate) fn enqueue(&mut self, now: Instant, packet: P, drops: &mut impl Drops<P>) {
        match self.qdisc.as_pfifo_mut() {
            Some(pfifo) => pfifo.enqueue(now, packet, drops),
            None => self.qdisc.enqueue(now, packet, drops),
        }
    }

    /// Returns the length of the next packet, or `None` if the discipline sends none now.
    #[inline]
    pub(crate) fn peek_len(&mut self, now: Instant, drops: &mut impl Drops<P>) -> Option<u32> {
        match (self.qdisc.as_pfifo(), &self.ahead) {
            // A `pfifo` always knows its next length, so no packet of it is ever taken ahead.
            (Some(pfifo), _) => pfifo.next_len(),
            (None, Some(packet)) => Some(packet.len()),
            (None, None) => self.qdisc.look_ahead(now, drops).unwrap_or_else(|| self.take_ahead(now, drops)),
        }
    }

    // Only disciplines that cannot tell the next length without a dequeue come here.
    #[inline(never)]
    fn take_ahead(&mut self, now: Instant, drops: &mut impl Drops<P>) -> Option<u32> {
        let packet = self.qdisc.dequeue(now, drops)?;
        let len = packet.len();
        self.ahead = Some(packet);
        self.qdisc.set_taken_ahead(now, true);
        Some(len)
    }

    /// Returns the length of the next packet, if it is known without a dequeue.
    #[inline]
    pub(crate) fn known_len(&self) -> Option<u32> {
        match (&self.ahead, self.qdisc.as_pfifo()) {
            (Some(packet), _) => Some(packet.len()),
            (None, Some(pfifo)) => pfifo.next_len(),
            (None, None) => self.qdisc.next_len(),
        }
    }

    /// Takes the next packet.
    #[inline]
    pub(crate) fn dequeue(&mut self, now: Instant, drops: &mut impl Drops<P>) -> Option<P> {
        if self.ahead.is_some() {
            self.qdisc.set_taken_ahead(now, false);
            // Its AQM has already let this packet pass.
            return self.ahead.take();
        }
        match self.qdisc.as_pfifo_mut() {
            Some(pfifo) => pfifo.dequeue(now, drops),
            None => self.qdisc.dequeue(now, drops),
        }
    }

    /// Takes the next packet and drops it.
    pub(crate) fn drop_next(&mut self, now: Instant, why: DropReason, drops: &mut impl Drops<P>) {
        if let Some(packet) = self.dequeue(now, drops) {
            self.discard(packet, why, drops);
        }
    }

    /// See [`crate::qdisc::Lookahead::other_flow`].
    pub(crate) fn other_flow(&self, packet: &P) -> Option<&P> {
        self.qdisc.other_flow(packet)
    }

    /// See [`crate::qdisc::Lookahead::evidence`].
    pub(crate) fn evidence(&self, question: &Question<'_, P>) -> Evidence {
        let mut evidence = self.qdisc.evidence(question);
        evidence.kind = self.qdisc.name();
        evidence
    }

    /// When the discipline may have a packet to give that it does not give at `now`.
    pub(crate) fn next_event(&self, now: Instant) -> Option<Instant> {
        // The packet taken ahead can be sent at once, so there is no event to wait for.
        if self.ahead.is_some() { None } else { self.qdisc.next_event(now) }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        let queued = match self.qdisc.as_pfifo() {
            Some(pfifo) => pfifo.len(),
            None => self.qdisc.len(),
        };
        queued + usize::from(self.ahead.is_some())
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn backlog(&self) -> u64 {
        self.qdisc.backlog().saturating_add(self.ahead.as_ref().map_or(0, |packet| u64::from(packet.len())))
    }

    pub(crate) fn load(&self) -> Load {
        Load { packets: self.len(), bytes: self.backlog() }
    }

    pub(crate) fn stats(&self) -> Stats {
        let mut stats = self.qdisc.stats();
        stats = stats.plus(&self.beside);
        if let Some(packet) = &self.ahead {
            // The discipline counted the packet as sent, but it is still queued.
            take_back(&mut stats.dequeued, packet.len());
        }
        stats
    }

    /// Returns everything visible of the discipline. A packet taken ahead counts as queued.
    pub(crate) fn observe(&self, now: Instant) -> Observation {
        Observation {
            kind: self.qdisc.name(),
            stats: self.stats(),
            packets: self.len() as u64,
            bytes: self.backlog(),
            ..Observation::from_qdisc(&*self.qdisc, now)
        }
    }

    pub(crate) fn config(&self) -> Q::Config {
        self.qdisc.config()
    }

    /// Changes the configuration. If another kind of discipline replaces this one, the queued
    /// packets are dropped.
    pub(crate) fn reconfigure(&mut self, now: Instant, config: Q::Config, drops: &mut impl Drops<P>) {
        if self.qdisc.config() == config {
            return;
        }
        if self.qdisc.config().kind().name != config.kind().name {
            self.purge(now, drops);
            // Counters never go back, so a parent adds those of the replaced discipline.
            self.beside = self.beside.plus(&self.qdisc.stats());
        }
        let is_too_long = match config.to_settings().get("limit") {
            Some(Value::Packets(limit)) => config.limit_drops_next() && self.len() as u64 > limit,
            _ => false,
        };
        // The packet taken ahead is the next one to leave, so Linux's `qdisc_dequeue_internal()`
        // gives it first.
        if let Some(next) = self.ahead.take_if(|_| is_too_long) {
            self.qdisc.set_taken_ahead(now, false);
            self.discard(next, DropReason::Overlimit, drops);
        }
        self.qdisc.reconfigure(now, config, drops);
    }

    pub(crate) fn purge(&mut self, now: Instant, drops: &mut impl Drops<P>) {
        if let Some(packet) = self.ahead.take() {
            self.qdisc.set_taken_ahead(now, false);
            self.discard(packet, DropReason::Purged, drops);
        }
        self.qdisc.purge(now, drops);
    }

    /// Drops a packet that the discipline has counted as sent.
    fn discard(&mut self, packet: P, why: DropReason, drops: &mut impl Drops<P>) {
        take_back(&mut self.beside.dequeued, packet.len());
        self.beside.dropped_after.add(packet.len());
        drops.dropped(packet, why);
    }
}

/// A discipline in a class among very many. A `pfifo`, the usual one, has its packets in a pool
/// that all classes share, so that a thousand classes with a few packets cost a thousand small
/// entries.
#[derive(Clone, Debug)]
pub(crate) struct ClassLeaf<P, Q> {
    /// Packets of a `pfifo`.
    queue: Chain,
    /// Limit of the `pfifo` in packets; 0 if another discipline is in this class.
    limit: u32,
    /// Everything that ever entered `queue`.
    entered: Count,
    /// Bytes that have left `queue`.
    left: u64,
    rest: Box<Rest<P, Q>>,
}

/// Rarely used state of a `pfifo` in a class.
#[derive(Clone, Debug)]
struct Rest<P, Q> {
    /// The discipline in the place of a `pfifo`.
    leaf: Option<Leaf<P, Q>>,
    /// Drops of the `pfifo`.
    stats: Stats,
    /// Counters of disciplines that were replaced.
    beside: Stats,
    /// Salt of a discipline that replaces the `pfifo`.
    salt: u32,
    /// Random source of a discipline that replaces the `pfifo`.
    random: Source,
}

impl<P: Packet, Q: Inner<P>> ClassLeaf<P, Q> {
    /// Returns child number `index` of a discipline that was built with `salt` and `random`.
    pub(crate) fn new(config: Q::Config, index: u32, salt: u32, random: &mut Source) -> Self {
        let limit = config.pfifo_limit();
        let (salt, random) = seeds(index, salt, random);
        // Cloned before the discipline draws, so that a replacement does not depend on its draws.
        let spare = random.spare();
        let leaf = (limit == 0).then(|| Leaf::from_qdisc(Q::build(config, salt, random)));
        let stats = Stats::default();
        let beside = Stats::default();
        Self {
            queue: Chain::default(),
            limit,
            entered: Count::default(),
            left: 0,
            rest: Box::new(Rest { leaf, stats, beside, salt, random: spare }),
        }
    }

    #[inline]
    pub(crate) fn enqueue(&mut self, pool: &mut Pool<P>, now: Instant, packet: P, drops: &mut impl Drops<P>) {
        // With another discipline the limit is 0, so this comparison answers both questions.
        if self.queue.len() < self.limit {
            self.entered.add(packet.len());
            pool.push_back(&mut self.queue, now, packet);
        } else {
            self.enqueue_otherwise(now, packet, drops);
        }
    }

    // A class holds a `pfifo` unless told otherwise, and that one is served without a call.
    #[inline(never)]
    fn enqueue_otherwise(&mut self, now: Instant, packet: P, drops: &mut impl Drops<P>) {
        if let Some(leaf) = &mut self.rest.leaf {
            leaf.enqueue(now, packet, drops);
        } else {
            self.rest.stats.dropped_before.add(packet.len());
            drops.dropped(packet, DropReason::Overlimit);
        }
    }

    /// Returns the length of the next packet, or `None` if the discipline sends none now.
    #[inline]
    pub(crate) fn peek_len(
        &mut self,
        pool: &Pool<P>,
        now: Instant,
        drops: &mut impl Drops<P>,
    ) -> Option<u32> {
        match pool.front(&self.queue) {
            Some(oldest) => Some(oldest.packet.len()),
            None => self.rest.leaf.as_mut()?.peek_len(now, drops),
        }
    }

    /// Returns the length of the next packet, if it is known without a dequeue.
    pub(crate) fn known_len(&self, pool: &Pool<P>) -> Option<u32> {
        match pool.front(&self.queue) {
            Some(oldest) => Some(oldest.packet.len()),
            None => self.rest.leaf.as_ref()?.known_len(),
        }
    }

    /// Takes the next packet.
    #[inline]
    pub(crate) fn dequeue(
        &mut self,
        pool: &mut Pool<P>,
        now: Instant,
        drops: &mut impl Drops<P>,
    ) -> Option<P> {
        match pool.oldest(&mut self.queue) {
            Some(oldest) => {
                self.left = self.left.wrapping_add(u64::from(oldest.bytes()));
                oldest.take()
            }
            None => self.rest.leaf.as_mut()?.dequeue(now, drops),
        }
    }

    /// See [`crate::qdisc::Lookahead::evidence`].
    pub(crate) fn evidence(&self, question: &Question<'_, P>) -> Evidence {
        if let Some(leaf) = &self.rest.leaf {
            return leaf.evidence(question);
        }
        let mut evidence = Evidence::from_kind(PfifoConfig::KIND.name);
        let held = Quantity::Packets(self.len() as u64);
        evidence.fact("queued", held, "what the class held");
        let allowed = Quantity::Packets(u64::from(self.limit));
        let limit = Limit { held, allowed, rule: FULL, source: PfifoConfig::KIND.reference };
        evidence.limit(&question.about, DropReason::Overlimit, &limit);
        evidence
    }

    /// When the discipline may have a packet to give that it does not give at `now`.
    pub(crate) fn next_event(&self, now: Instant) -> Option<Instant> {
        self.rest.leaf.as_ref()?.next_event(now)
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        if self.limit > 0 { self.queue.len() as usize } else { self.other_len() }
    }

    // See `enqueue_otherwise`.
    #[inline(never)]
    fn other_len(&self) -> usize {
        self.rest.leaf.as_ref().map_or(0, Leaf::len)
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.len() == 0
    }

    #[inline]
    pub(crate) fn backlog(&self) -> u64 {
        if self.limit > 0 {
            self.entered.bytes.wrapping_sub(self.left)
        } else {
            self.rest.leaf.as_ref().map_or(0, Leaf::backlog)
        }
    }

    pub(crate) fn load(&self) -> Load {
        Load { packets: self.len(), bytes: self.backlog() }
    }

    /// Returns the counters of the discipline in this class and of those that it replaced.
    pub(crate) fn stats(&self) -> Stats {
        let mut stats = match &self.rest.leaf {
            Some(leaf) => leaf.stats(),
            None => {
                let queued = Count { packets: self.len() as u64, bytes: self.backlog() };
                self.rest.stats.with_queue(self.entered, queued)
            }
        };
        stats = stats.plus(&self.rest.beside);
        stats
    }

    /// Returns everything visible of the discipline. A packet taken ahead counts as queued.
    pub(crate) fn observe(&self, now: Instant) -> Observation {
        let seen = match &self.rest.leaf {
            Some(leaf) => leaf.observe(now),
            None => Observation { kind: PfifoConfig::KIND.name, ..Observation::default() },
        };
        let packets = self.len() as u64;
        let bytes = self.backlog();
        Observation { stats: self.stats(), packets, bytes, ..seen }
    }

    /// Changes the configuration. If another kind of discipline replaces this one, the queued
    /// packets are dropped.
    pub(crate) fn reconfigure(
        &mut self,
        pool: &mut Pool<P>,
        now: Instant,
        config: Q::Config,
        drops: &mut impl Drops<P>,
    ) {
        let limit = config.pfifo_limit();
        match &mut self.rest.leaf {
            Some(leaf) if limit == 0 => leaf.reconfigure(now, config, drops),
            None if limit > 0 => self.limit = limit,
            _ => {
                self.purge(pool, now, drops);
                let beside = self.stats();
                let Rest { salt, random, .. } = &mut *self.rest;
                let leaf =
                    (limit == 0).then(|| Leaf::from_qdisc(Q::build(config, *salt, random.fork(REPLACED))));
                (self.limit, self.entered, self.left) = (limit, Count::default(), 0);
                (self.rest.leaf, self.rest.stats, self.rest.beside) = (leaf, Stats::default(), beside);
            }
        }
    }

    pub(crate) fn purge(&mut self, pool: &mut Pool<P>, now: Instant, drops: &mut impl Drops<P>) {
        if let Some(leaf) = &mut self.rest.leaf {
            leaf.purge(now, drops);
        }
        while let Some(oldest) = pool.pop_front(&mut self.queue) {
            self.lose(oldest, DropReason::Purged, drops);
        }
    }

    /// A packet that was queued is dropped.
    fn lose(&mut self, packet: P, why: DropReason, drops: &mut impl Drops<P>) {
        let bytes = packet.len();
        self.left = self.left.wrapping_add(u64::from(bytes));
        self.rest.stats.dropped_after.add(bytes);
        drops.dropped(packet, why);
    }
}

fn take_back(count: &mut Count, bytes: u32) {
    count.packets = count.packets.wrapping_sub(1);
    count.bytes = count.bytes.wrapping_sub(u64::from(bytes));
}

/// Number of the random stream of a discipline that replaces another one.
pub(crate) const REPLACED: u64 = u64::from_be_bytes(*b"replaced");
/// Makes children hash differently from their parents.
const CHILD: u64 = u64::from_be_bytes(*b"children");
