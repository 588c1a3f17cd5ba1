//! A driver's queue below the queue disciplines, as in ath9k and iwlwifi before the MAC took over
//! queueing.
//!
//! Each access category has one discipline (as in Linux's `mq`) and one budget of packets. The
//! driver takes packets from the discipline as fast as it gives them, whether or not the air
//! accepts them. No algorithm manages this buffer. All receivers share it, and the driver serves
//! them in an [`Order`].

use std::collections::VecDeque;

use goodqueue::random::{Random, Source, Xoshiro256PlusPlus};
use goodqueue::{AnyConfig, AnyQdisc, Count, Drops, Duration, Flow, Instant, Packet, Qdisc, Stats};

use super::block_ack::Taken;
use super::contention::AccessCategory;
use super::demand::Outside;
use super::order::{Head, Order, Schedule};

/// The configuration of a driver's queue.
#[derive(Clone, PartialEq, Debug)]
pub struct DriverConfig {
    /// Discipline above the driver; each access category has its own instance.
    pub qdisc: AnyConfig,
    /// Packets of an access category that the driver holds, those in the air included, before it
    /// stops the discipline.
    pub limit: u32,
    /// Order in which receivers are served.
    pub order: Order,
}

/// The disciplines and the driver's queues of one node.
#[derive(Clone, Debug)]
pub(crate) struct Driver<P: Packet + Flow> {
    config: DriverConfig,
    seed: u64,
    hash_key: u32,
    categories: [Option<Box<Category<P>>>; 4],
    peers: usize,
    len: usize,
}

#[derive(Clone, Debug)]
struct Category<P: Packet + Flow> {
    qdisc: AnyQdisc<P>,
    /// Time at which to ask the discipline again, if it holds packets back.
    wake: Option<Instant>,
    /// Packets for each receiver.
    queues: Vec<VecDeque<Taken<P>>>,
    schedule: Schedule,
    /// Packets taken from the discipline so far.
    pulled: u64,
    /// Packets below the discipline.
    held: usize,
}

impl<P: Packet + Flow> Driver<P> {
    pub(crate) fn new(config: DriverConfig, peers: usize, seed: u64, hash_key: u32) -> Self {
        Self { config, seed, hash_key, categories: [const { None }; 4], peers, len: 0 }
    }

    /// Returns the packets in the disciplines.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn queued(&self) -> Count {
        let qdiscs = self.categories.iter().flatten().map(|category| &category.qdisc);
        qdiscs.fold(Count::default(), |sum, qdisc| {
            sum.plus(Count { packets: qdisc.len() as u64, bytes: qdisc.backlog() })
        })
    }

    /// Calls `show` for the packets that wait below the disciplines.
    pub(crate) fn for_each_below(&self, show: &mut impl FnMut(&P)) {
        let queues = self.categories.iter().flatten().flat_map(|category| &category.queues);
        queues.flatten().for_each(|taken| show(&taken.packet));
    }

    /// Returns the sum of the disciplines' counters.
    pub(crate) fn stats(&self) -> Stats {
        let categories = self.categories.iter().flatten();
        categories.fold(Stats::default(), |sum, category| sum.plus(&category.qdisc.stats()))
    }

    pub(crate) fn enqueue(
        &mut self,
        now: Instant,
        category: AccessCategory,
        packet: P,
        drops: &mut impl Drops<P>,
    ) {
        let Self { config, seed, hash_key, peers, .. } = self;
        let place = &mut self.categories[category.index()];
        let queue = place.get_or_insert_with(|| {
            // A stream for each category, so that the draws of one do not depend on the packets of
            // another.
            let mut generator = Xoshiro256PlusPlus::stream(*seed, category.index() as u64);
            let salt = generator.next_u32() ^ *hash_key;
            Box::new(Category {
                qdisc: AnyQdisc::new(config.qdisc.clone(), salt, Source::Seeded(generator)),
                wake: None,
                queues: (0..*peers).map(|_| VecDeque::new()).collect(),
                schedule: Schedule::new(config.order, *peers),
                pulled: 0,
                held: 0,
            })
        });
        let before = queue.qdisc.len();
        queue.qdisc.enqueue(now, packet, drops);
        // The sum comes first, because drops can leave fewer packets than before.
        self.len = self.len + queue.qdisc.len() - before;
    }

    /// Moves packets from the discipline to the driver's queues while there is room. `peer` returns
    /// the receiver of a packet; `left` is called for each packet moved.
    pub(crate) fn pull(
        &mut self,
        now: Instant,
        category: AccessCategory,
        peer: impl Fn(&P) -> usize,
        left: &mut impl FnMut(&P),
        drops: &mut impl Drops<P>,
    ) {
        let limit = self.config.limit as usize;
        let Some(queue) = &mut self.categories[category.index()] else { return };
        let before = queue.qdisc.len();
        while queue.held < limit {
            let Some(packet) = queue.qdisc.dequeue(now, drops) else {
                // An event that is already due must not stop time.
                let later = now + Duration::from_nanos(1);
                queue.wake = queue.qdisc.next_event(now).map(|event| event.max(later));
                break;
            };
            left(&packet);
            queue.held += 1;
            let receiver = peer(&packet);
            queue.queues[receiver].push_back(Taken { position: queue.pulled, packet });
            queue.pulled += 1;
            queue.schedule.list(receiver);
        }
        self.len = self.len + queue.qdisc.len() - before;
    }

    /// Returns the earliest time at which to ask a discipline again, and its category.
    pub(crate) fn wake(&self) -> Option<(Instant, AccessCategory)> {
        let wakes = AccessCategory::ALL.into_iter().filter_map(|category| {
            let wake = self.categories[category.index()].as_ref()?.wake?;
            Some((wake, category))
        });
        wakes.min_by_key(|(wake, _)| *wake)
    }

    pub(crate) fn woken(&mut self, category: AccessCategory) {
        if let Some(queue) = &mut self.categories[category.index()] {
            queue.wake = None;
        }
    }

    /// Returns the receiver whose turn it is. `outside` describes a receiver's packets that have
    /// left this queue.
    pub(crate) fn next_peer(
        &mut self,
        category: AccessCategory,
        outside: impl Fn(usize) -> Outside,
    ) -> Option<usize> {
        let Category { queues, schedule, .. } = &mut **self.categories[category.index()].as_mut()?;
        schedule.next(|peer| head(&queues[peer], outside(peer)))
    }

    /// Returns true if [`Self::next_peer`] would return a receiver.
    pub(crate) fn has_ready_peer(
        &self,
        category: AccessCategory,
        outside: impl Fn(usize) -> Outside,
    ) -> bool {
        self.categories[category.index()]
            .as_ref()
            .is_some_and(|queue| queue.schedule.has_next(|peer| head(&queue.queues[peer], outside(peer))))
    }

    pub(crate) fn take(&mut self, category: AccessCategory, peer: usize) -> Option<Taken<P>> {
        self.categories[category.index()].as_mut()?.queues[peer].pop_front()
    }

    /// Accounts for `packets` that were delivered or given up. There may be something to send
    /// again.
    pub(crate) fn completed(&mut self, category: AccessCategory, peer: usize, packets: usize) {
        if let Some(queue) = &mut self.categories[category.index()] {
            queue.held = queue.held.saturating_sub(packets);
            queue.schedule.list(peer);
        }
    }
}

/// Packets that have left the queue precede those that are in it.
fn head<P>(queue: &VecDeque<Taken<P>>, outside: Outside) -> Head {
    let position = outside.waiting.or_else(|| queue.front().map(|taken| taken.position));
    // Without a packet there is no demand, and nobody reads the position.
    Head { demand: outside.demand(!queue.is_empty()), position: position.unwrap_or(0) }
}
