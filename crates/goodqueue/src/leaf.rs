//! A discipline inside another one, and what every discipline with children needs.
//!
//! A parent passes its own sink for drops to its children and asks them for their counters. Some parents must know the
//! length of the next packet before they may take it (a token bucket, a deficit): [`Leaf::peek_len`] leaves the packet
//! where it is if the child can tell, and takes it ahead of time otherwise, as Linux does (`qdisc_peek_dequeued`). So an
//! AQM below such a parent decides when a packet reaches the head, not when it is sent.

use alloc::boxed::Box;

use crate::config::{Child, ConfigError, Configure, Link, Settings, Value};
use crate::fifo::PfifoConfig;
use crate::gauge::Observation;
use crate::packet::{Flow, Packet};
use crate::qdisc::{Count, DropReason, Drops, Qdisc, Stats};
use crate::queue::{Chain, Pool};
use crate::random::{Source, mix_64};
use crate::registry::{AnyConfig, AnyQdisc, names};
use crate::time::Instant;

/// A discipline whose parent may look ahead. What is in a class if nothing else is asked for, `pfifo`, is called without a
/// detour through all disciplines.
#[derive(Clone, Debug)]
pub(crate) struct Leaf<P> {
    qdisc: Box<AnyQdisc<P>>,
    /// Taken out of the discipline, not sent yet.
    ahead: Option<P>,
    /// What belongs to the statistics beside the discipline's own.
    beside: Stats,
}

impl<P: Packet + Flow> Leaf<P> {
    /// Child number `index` of a discipline that was built with `salt` and `random`.
    pub(crate) fn new(config: AnyConfig, index: u32, salt: u32, random: &mut Source) -> Self {
        let mixed = mix_64((u64::from(index) << 32 | u64::from(salt)) ^ CHILD);
        let own_salt = u32::try_from(mixed >> 32).unwrap_or(salt);
        Self::of(AnyQdisc::new(config, own_salt, random.fork(u64::from(index))))
    }

    fn of(qdisc: AnyQdisc<P>) -> Self {
        Self { qdisc: Box::new(qdisc), ahead: None, beside: Stats::default() }
    }

    #[inline]
    pub(crate) fn enqueue(&mut self, now: Instant, packet: P, drops: &mut impl Drops<P>) {
        match &mut *self.qdisc {
            AnyQdisc::Pfifo(pfifo) => pfifo.enqueue(now, packet, drops),
            qdisc => qdisc.enqueue(now, packet, drops),
        }
    }

    /// Length of the next packet. `None`: the discipline has none to give now.
    #[inline]
    pub(crate) fn peek_len(&mut self, now: Instant, drops: &mut impl Drops<P>) -> Option<u32> {
        match &mut *self.qdisc {
            AnyQdisc::Pfifo(pfifo) => pfifo.next_len(),
            qdisc => match &self.ahead {
                Some(packet) => Some(packet.len()),
                None => qdisc.look_ahead(now, drops).unwrap_or_else(|| self.take_ahead(now, drops)),
            },
        }
    }

    #[inline(never)]
    fn take_ahead(&mut self, now: Instant, drops: &mut impl Drops<P>) -> Option<u32> {
        let packet = self.qdisc.dequeue(now, drops)?;
        let len = packet.len();
        self.ahead = Some(packet);
        self.qdisc.set_taken_ahead(now, true);
        Some(len)
    }

    /// Length of the next packet, if it is known without asking the discipline to dequeue.
    #[inline]
    pub(crate) fn known_len(&self) -> Option<u32> {
        match (&self.ahead, &*self.qdisc) {
            (Some(packet), _) => Some(packet.len()),
            (None, AnyQdisc::Pfifo(pfifo)) => pfifo.next_len(),
            (None, qdisc) => qdisc.next_len(),
        }
    }

    /// Takes the next packet.
    #[inline]
    pub(crate) fn dequeue(&mut self, now: Instant, drops: &mut impl Drops<P>) -> Option<P> {
        if self.ahead.is_some() {
            self.qdisc.set_taken_ahead(now, false);
            return self.ahead.take();
        }
        match &mut *self.qdisc {
            AnyQdisc::Pfifo(pfifo) => pfifo.dequeue(now, drops),
            qdisc => qdisc.dequeue(now, drops),
        }
    }

    /// Takes the next packet and drops it.
    pub(crate) fn drop_next(&mut self, now: Instant, why: DropReason, drops: &mut impl Drops<P>) {
        if let Some(packet) = self.dequeue(now, drops) {
            self.discard(packet, why, drops);
        }
    }

    /// See [`Qdisc::stranger`].
    pub(crate) fn stranger(&self, packet: &P) -> Option<&P> {
        self.qdisc.stranger(packet)
    }

    /// When the discipline may have a packet to give that it does not give at `now`.
    pub(crate) fn next_event(&self, now: Instant) -> Option<Instant> {
        if self.ahead.is_some() { None } else { self.qdisc.next_event(now) }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        let queued = match &*self.qdisc {
            AnyQdisc::Pfifo(pfifo) => Qdisc::<P>::len(pfifo),
            qdisc => qdisc.len(),
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

    pub(crate) fn stats(&self) -> Stats {
        let mut stats = self.qdisc.stats();
        stats = stats.plus(&self.beside);
        if let Some(packet) = &self.ahead {
            take_back(&mut stats.dequeued, packet.len());
        }
        stats
    }

    /// What there is to be seen of the discipline, a packet taken ahead counted as queued.
    pub(crate) fn observe(&self, now: Instant) -> Observation {
        Observation {
            stats: self.stats(),
            packets: self.len() as u64,
            bytes: self.backlog(),
            ..Observation::of(&self.qdisc, now)
        }
    }

    pub(crate) fn config(&self) -> AnyConfig {
        self.qdisc.config()
    }

    /// Another kind of discipline takes the place of this one; what was queued is dropped then.
    pub(crate) fn reconfigure(&mut self, now: Instant, config: AnyConfig, drops: &mut impl Drops<P>) {
        if self.qdisc.config() == config {
            return;
        }
        if self.qdisc.config().kind().name != config.kind().name {
            self.purge(now, drops);
            self.beside = self.beside.plus(&self.qdisc.stats());
        }
        if let Some(Value::Packets(limit)) = config.to_settings().get("limit")
            && DROPS_THE_NEXT.contains(&config.kind().name)
            && self.len() as u64 > limit
            && let Some(next) = self.ahead.take()
        {
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

    /// Drops a packet that the discipline counts as sent.
    fn discard(&mut self, packet: P, why: DropReason, drops: &mut impl Drops<P>) {
        take_back(&mut self.beside.dequeued, packet.len());
        self.beside.dropped_after.add(packet.len());
        drops.dropped(packet, why);
    }
}

/// Disciplines that in Linux make room for a lower limit from what they would send next: a packet that the parent took ahead
/// of time is the first to go.
const DROPS_THE_NEXT: [&str; 4] = ["codel", "fq_codel", "pie", "fq_pie"];

/// A discipline in a class among very many. A `pfifo`, which is what is in a class unless something else is asked for, has
/// its packets in a pool that all classes share, so that a thousand classes with a few packets cost a thousand small
/// entries.
#[derive(Clone, Debug)]
pub(crate) struct ClassLeaf<P> {
    /// What a `pfifo` has queued, and its limit; 0: something else is in this class.
    queue: Chain,
    limit: u32,
    /// All that was ever in `queue`, and bytes of what is there no longer.
    entered: Count,
    left: u64,
    rest: Box<Rest<P>>,
}

/// What a `pfifo` in a class needs rarely.
#[derive(Clone, Debug)]
struct Rest<P> {
    /// The discipline that is there in place of a `pfifo`.
    leaf: Option<Leaf<P>>,
    /// Drops of the `pfifo`.
    stats: Stats,
    /// The counters of disciplines that are no more.
    beside: Stats,
}

impl<P: Packet + Flow> ClassLeaf<P> {
    /// Child number `index` of a discipline that was built with `salt` and `random`.
    pub(crate) fn new(config: AnyConfig, index: u32, salt: u32, random: &mut Source) -> Self {
        let limit = limit_of(&config);
        let leaf = Leaf::new(config, index, salt, random);
        Self {
            queue: Chain::default(),
            limit,
            entered: Count::default(),
            left: 0,
            rest: Box::new(Rest {
                leaf: (limit == 0).then_some(leaf),
                stats: Stats::default(),
                beside: Stats::default(),
            }),
        }
    }

    #[inline]
    pub(crate) fn enqueue(&mut self, pool: &mut Pool<P>, now: Instant, packet: P, drops: &mut impl Drops<P>) {
        if self.queue.len() < self.limit {
            self.entered.add(packet.len());
            pool.push_back(&mut self.queue, now, packet);
        } else {
            self.enqueue_otherwise(now, packet, drops);
        }
    }

    #[inline(never)]
    fn enqueue_otherwise(&mut self, now: Instant, packet: P, drops: &mut impl Drops<P>) {
        if let Some(leaf) = &mut self.rest.leaf {
            leaf.enqueue(now, packet, drops);
        } else {
            self.rest.stats.dropped_before.add(packet.len());
            drops.dropped(packet, DropReason::Overlimit);
        }
    }

    /// Length of the next packet. `None`: the discipline has none to give now.
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

    /// Length of the next packet, if it is known without asking the discipline to dequeue.
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

    /// When the discipline may have a packet to give that it does not give at `now`.
    pub(crate) fn next_event(&self, now: Instant) -> Option<Instant> {
        self.rest.leaf.as_ref()?.next_event(now)
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        if self.limit > 0 { self.queue.len() as usize } else { self.other_len() }
    }

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

    /// What the discipline that is there now has done, and what those before it did.
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

    /// What there is to be seen of the discipline, a packet taken ahead counted as queued.
    pub(crate) fn observe(&self, now: Instant) -> Observation {
        let seen = match &self.rest.leaf {
            Some(leaf) => leaf.observe(now),
            None => Observation { kind: PfifoConfig::KIND.name, ..Observation::default() },
        };
        let (packets, bytes) = (self.len() as u64, self.backlog());
        Observation { stats: self.stats(), packets, bytes, ..seen }
    }

    /// Another kind of discipline takes the place of this one; what was queued is dropped then.
    pub(crate) fn reconfigure(
        &mut self,
        pool: &mut Pool<P>,
        now: Instant,
        config: AnyConfig,
        drops: &mut impl Drops<P>,
    ) {
        let limit = limit_of(&config);
        match &mut self.rest.leaf {
            Some(leaf) if limit == 0 => leaf.reconfigure(now, config, drops),
            None if limit > 0 => self.limit = limit,
            _ => {
                self.purge(pool, now, drops);
                let beside = self.stats();
                let leaf = (limit == 0).then(|| Leaf::of(AnyQdisc::new(config, 0, Source::seeded(0))));
                (self.limit, self.entered, self.left) = (limit, Count::default(), 0);
                *self.rest = Rest { leaf, stats: Stats::default(), beside };
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

/// The limit of a `pfifo`; 0 of anything else.
const fn limit_of(config: &AnyConfig) -> u32 {
    match config {
        AnyConfig::Pfifo(pfifo) => pfifo.limit(),
        _ => 0,
    }
}

fn take_back(count: &mut Count, bytes: u32) {
    count.packets = count.packets.wrapping_sub(1);
    count.bytes = count.bytes.wrapping_sub(u64::from(bytes));
}

/// The earlier of two events, either of which may not come.
pub(crate) fn earlier(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (one, other) => one.or(other),
    }
}

/// The configuration of the discipline in `child`, if one is given.
pub(crate) fn qdisc_of(child: &Child, link: &Link) -> Result<Option<AnyConfig>, ConfigError> {
    let Some((kind, settings)) = &child.qdisc else { return Ok(None) };
    match AnyConfig::from_settings(kind, settings, link) {
        Some(config) => config.map(Some),
        None => Err(ConfigError::new("qdisc", *kind, names().join(", "))),
    }
}

/// A child that holds `qdisc`.
pub(crate) fn child(class: u32, settings: Settings, qdisc: &AnyConfig) -> Child {
    Child { class, parent: 0, settings, qdisc: Some((qdisc.kind().name, qdisc.to_settings())) }
}

/// What is in a class or band if nothing else is asked for: Linux's `pfifo` with the device's queue length.
pub(crate) fn default_leaf() -> AnyConfig {
    AnyConfig::Pfifo(PfifoConfig::with_default_limit())
}

/// Makes children hash otherwise than their parents.
const CHILD: u64 = 0x6368_696C_6472_656E;

/// Checks that every class has a number of its own, from 1 to 65535 (tc: 16 bits, of which 0 is the discipline itself).
pub(crate) fn check_minors(children: &[Child]) -> Result<(), ConfigError> {
    let mut minors: alloc::vec::Vec<u32> = children.iter().map(|child| child.class).collect();
    minors.sort_unstable();
    for pair in minors.windows(2) {
        if let [a, b] = pair
            && a == b
        {
            return Err(ConfigError::new("class", alloc::format!("{a:x}"), "each class once").in_class(*a));
        }
    }
    match minors.iter().find(|minor| !(1..=0xffff).contains(*minor)) {
        Some(minor) => {
            Err(ConfigError::new("class", alloc::format!("{minor:x}"), "1 to ffff").in_class(*minor))
        }
        None => Ok(()),
    }
}
