//! Quick fair queueing: `qfq`.
//!
//! # What it does
//! Classes share the link in the ratio of their weights. The delay is close to the best that any
//! scheduler can guarantee, at a constant cost per packet. QFQ computes start and finish times in
//! virtual time and rounds them, so that classes fall into a few groups. Bit maps tell which group
//! is next.
//!
//! # Reference
//! F. Checconi, L. Rizzo & P. Valente, "QFQ: Efficient packet scheduling with tight guarantees",
//! IEEE/ACM ToN 2013; P. Valente, "Reducing the execution time of fair-queueing packet schedulers",
//! 2014 (aggregates); tc-qfq(8); behaviour of Linux 7.3 `net/sched/sch_qfq.c`.
//!
//! # State
//! ```text
//! aggregate: up to 8 classes of one weight and packet length, served by deficits; virtual start and finish, budget
//! group: aggregates of similar (length / weight), in 32 slots by their rounded start        maps: groups by
//! (eligible: start is not ahead of virtual time) and (ready: no higher group finishes earlier)
//! ```
//!
//! # Parameters
//! | name | meaning | unit | default | source of the default | range |
//! |---|---|---|---|---|---|
//! | `flows` | number of classes to create if none is given; flows are hashed into them | number | 1024 | ours; Linux has no classes until they are made | 1 to 65536 |
//! | class `weight` | share of the link | number | 1 | Linux sch_qfq | 1 to 1024; all together 65536 |
//! | class `maxpkt` | length of the longest expected packet | bytes | MTU | Linux sch_qfq | 512 to 65536 |
//!
//! `maxpkt` grows when longer packets arrive. All weights together are at most 65536. `flows` has
//! no effect if classes are given.
//!
//! # Deviations
//! A packet goes to the class that [`Flow::class`] names, or to one chosen by the hash of its flow;
//! Linux drops a packet of no class. If no class is given, `flows` classes are created, each with a
//! `pfifo` of 1000 packets. A class whose discipline holds packets back is set aside until they are
//! due; Linux stops serving. As in Linux, a packet that arrives at an active class makes the
//! class's discipline decide about its oldest packet, and a change of some classes keeps the
//! virtual times of the others. As in Linux, a class keeps its turn until it is empty if its
//! deficit falls below 0, after a drop that made a longer packet its next one. In Linux a class
//! also passes its turn on if an arriving packet is sent next, before older ones as in `prio`, and
//! exceeds the deficit; here it does not.
//!
//! # Cost
//! Constant per packet, apart from the classes that are set aside.
//!
//! # Example
//! ```
//! use goodqueue::{AnyConfig, Configure, Link, Settings, config::{Child, Value}, qfq::QfqConfig};
//! let class = Child { class: 1, settings: Settings::new().with("weight", Value::Integer(10)), ..Child::default() };
//! let config = QfqConfig::<AnyConfig>::from_settings(&Settings::new().with_child(class), &Link::default()).unwrap();
//! assert_eq!(config.classes().len(), 1);
//! ```

mod config;
mod scheduler;

use alloc::vec;
use alloc::vec::Vec;

use config::MAX_LONGEST;
pub use config::{QfqClass, QfqConfig};
use scheduler::Scheduler;

use crate::config::{Build, Configure as _};
use crate::decision::{Evidence, Fate, Moment, Quantity, Question, Rule, rules};
use crate::gauge::{Gauge, Observation, Observe, Part};
use crate::leaf::{ClassLeaf, Load};
use crate::nesting::{self, Inner};
use crate::packet::{Flow, Packet, scale_hash};
use crate::qdisc::{DropReason, Drops, Lookahead, Qdisc, Stats};
use crate::queue::Pool;
use crate::random::Source;
use crate::time::Instant;

/// Quick fair queueing between disciplines.
#[derive(Clone, Debug)]
pub struct Qfq<P, Q: Qdisc<P>> {
    config: QfqConfig<Q::Config>,
    /// In the order of their numbers.
    classes: Vec<Class<P, Q>>,
    /// Packets of those classes that hold a `pfifo`.
    pool: Pool<P>,
    scheduler: Scheduler,
    /// Classes whose disciplines hold packets back.
    aside: Vec<u32>,
    /// Latest time that any child has seen (contract rule 1).
    now: Instant,
    salt: u32,
    random: Source,
    len: usize,
    bytes: u64,
    /// Packets that no class took, and the counters of deleted classes.
    beside: Stats,
}

#[derive(Clone, Debug)]
struct Class<P, Q> {
    minor: u32,
    leaf: ClassLeaf<P, Q>,
    aggregate: u32,
    deficit: i64,
    active: bool,
}

impl<P, Q> Class<P, Q> {
    /// True if the deficit is too small for a packet of `len` bytes.
    fn is_short(&self, len: u32) -> bool {
        // A packet at the head may be longer than the one that the deficit was checked for, which
        // was dropped meanwhile. The deficit is then below 0, and Linux compares it as a number
        // without a sign: the class keeps its turn until it is empty.
        (0..i64::from(len)).contains(&self.deficit)
    }
}

impl<P: Packet + Flow, Q: Inner<P>> Qfq<P, Q> {
    /// Empty classes. Flows are hashed with `salt`.
    #[must_use]
    pub fn new(config: QfqConfig<Q::Config>, salt: u32, random: Source) -> Self {
        let mut qfq = Self {
            classes: Vec::new(),
            pool: Pool::default(),
            scheduler: Scheduler::new(),
            aside: Vec::new(),
            now: Instant::ZERO,
            salt,
            random,
            len: 0,
            bytes: 0,
            beside: Stats::default(),
            config,
        };
        let classes = qfq.config.all_classes();
        qfq.add_missing(&classes);
        qfq
    }

    /// Creates the missing classes of `wanted` and inserts them between the existing ones, which
    /// are all wanted. Takes one pass, because there may be tens of thousands.
    fn add_missing(&mut self, wanted: &[QfqClass<Q::Config>]) {
        let mut there = core::mem::take(&mut self.classes).into_iter().peekable();
        let mut numbers = Vec::with_capacity(there.len());
        self.classes.reserve(wanted.len());
        for (number, class) in (0..).zip(wanted) {
            let made = match there.next_if(|old| old.minor == class.minor) {
                Some(old) => {
                    numbers.push(number);
                    old
                }
                None => Class {
                    minor: class.minor,
                    aggregate: self.scheduler.join(class.weight, class.longest),
                    leaf: ClassLeaf::new(class.qdisc.clone(), class.minor, self.salt, &mut self.random),
                    deficit: 0,
                    active: false,
                },
            };
            self.classes.push(made);
        }
        self.renumber(|index| numbers.get(index as usize).copied().unwrap_or(index));
    }

    /// Purges the classes that are not to stay and takes them out, all in one pass: there may be
    /// tens of thousands.
    fn retain(&mut self, stays: impl Fn(&Class<P, Q>) -> bool, drops: &mut impl Drops<P>) {
        let mut left = 0;
        let mut numbers = Vec::with_capacity(self.classes.len());
        for class in &self.classes {
            numbers.push(stays(class).then_some(left));
            left += u32::from(stays(class));
        }
        for index in (0..numbers.len()).rev().filter(|index| numbers[*index].is_none()) {
            self.deactivate(index);
            let Some(gone) = self.classes.get_mut(index) else { continue };
            (self.len, self.bytes) = (self.len - gone.leaf.len(), self.bytes - gone.leaf.backlog());
            gone.leaf.purge(&mut self.pool, self.now, drops);
            self.beside = self.beside.plus(&gone.leaf.stats());
            self.scheduler.leave(gone.aggregate);
        }
        let number = |index: u32| numbers.get(index as usize).copied().flatten();
        self.aside.retain(|&index| number(index).is_some());
        let mut places = numbers.iter();
        self.classes.retain(|_| places.next().is_some_and(Option::is_some));
        self.renumber(|index| number(index).unwrap_or(index));
    }

    /// Changes class number `index` from `old` to `new`.
    fn change(
        &mut self,
        index: usize,
        old: &QfqClass<Q::Config>,
        new: QfqClass<Q::Config>,
        drops: &mut impl Drops<P>,
    ) {
        if (old.weight, old.longest) != (new.weight, new.longest) {
            self.change_aggregate(index, new.weight, new.longest);
        }
        let Some(class) = self.classes.get_mut(index) else { return };
        let before = class.leaf.load();
        class.leaf.reconfigure(&mut self.pool, self.now, new.qdisc, drops);
        let emptied = class.leaf.is_empty();
        self.settle(index, before);
        if emptied {
            self.deactivate(index);
            self.aside.retain(|&other| other as usize != index);
        }
    }

    /// Classes have other numbers from now on.
    fn renumber(&mut self, number: impl Fn(u32) -> u32) {
        let listed = self.scheduler.listed().chain(&mut self.aside);
        listed.for_each(|index| *index = number(*index));
    }

    fn classify(&self, packet: &P) -> usize {
        let chosen = packet
            .class()
            .and_then(|minor| self.classes.binary_search_by_key(&minor, |class| class.minor).ok());
        let count = u32::try_from(self.classes.len()).unwrap_or(u32::MAX);
        chosen.unwrap_or_else(|| scale_hash(packet.flow_hash(self.salt), count) as usize)
    }

    /// Brings the totals up to date after a class held `before`.
    fn settle(&mut self, index: usize, before: Load) {
        let Some(class) = self.classes.get(index) else { return };
        // Added first, so that the difference does not stop at 0.
        self.len = (self.len + class.leaf.len()).saturating_sub(before.packets);
        self.bytes = self.bytes.saturating_add(class.leaf.backlog()).saturating_sub(before.bytes);
    }

    fn activate(&mut self, index: usize) {
        let Some(class) = self.classes.get_mut(index) else { return };
        let place = class.aggregate;
        let Some(aggregate) = self.scheduler.aggregate(place) else { return };
        class.active = true;
        // As in Linux `qfq_enqueue()`: the first packet of a turn always fits.
        class.deficit = i64::from(aggregate.longest);
        aggregate.active.push_back(u32::try_from(index).unwrap_or(0));
        // The aggregate in service has no place in the schedule until its budget is spent.
        if aggregate.active.len() == 1 && self.scheduler.serving != Some(place) {
            self.scheduler.activate(place);
        }
    }

    fn deactivate(&mut self, index: usize) {
        let Some(class) = self.classes.get_mut(index).filter(|class| class.active) else { return };
        class.active = false;
        let place = class.aggregate;
        let Some(aggregate) = self.scheduler.aggregate(place) else { return };
        aggregate.active.retain(|&entry| entry as usize != index);
        if aggregate.active.is_empty() {
            self.scheduler.deactivate(place);
        }
    }

    /// Moves a class to an aggregate for packets of `len` bytes.
    fn lengthen(&mut self, index: usize, len: u32) {
        let Some(class) = self.classes.get(index) else { return };
        let weight = self.scheduler.aggregate(class.aggregate).map_or(1, |aggregate| aggregate.weight);
        self.change_aggregate(index, u32::try_from(weight).unwrap_or(1), len);
    }

    fn change_aggregate(&mut self, index: usize, weight: u32, longest: u32) {
        let Some(class) = self.classes.get(index) else { return };
        let old = class.aggregate;
        let was_active = class.active;
        if was_active {
            self.deactivate(index);
        }
        self.scheduler.leave(old);
        let place = self.scheduler.join(weight, longest);
        let Some(joined) = self.classes.get_mut(index) else { return };
        joined.aggregate = place;
        if was_active {
            let deficit = joined.deficit;
            self.activate(index);
            if let Some(moved) = self.classes.get_mut(index) {
                // `activate` has given it a full deficit, but a change of the aggregate keeps the
                // old one.
                moved.deficit = deficit;
            }
        }
    }

    /// Classes that had stepped aside and can send now come back.
    fn wake(&mut self, drops: &mut impl Drops<P>) {
        for index in core::mem::take(&mut self.aside) {
            let Some(class) = self.classes.get_mut(index as usize) else { continue };
            let before = class.leaf.load();
            let ready = class.leaf.peek_len(&self.pool, self.now, drops).is_some();
            let empty = class.leaf.is_empty();
            self.settle(index as usize, before);
            if ready {
                self.activate(index as usize);
            } else if !empty {
                self.aside.push(index);
            }
        }
    }

    /// Takes the packet whose length is known out of class `index`, and passes the turn if its
    /// deficit is used up.
    fn take(&mut self, index: usize, len: u32, drops: &mut impl Drops<P>) -> Option<P> {
        let clock = self.now;
        let class = self.classes.get_mut(index)?;
        let before = class.leaf.load();
        let packet = class.leaf.dequeue(&mut self.pool, clock, drops);
        class.deficit = class.deficit.saturating_sub(i64::from(len));
        let next = if class.leaf.is_empty() { None } else { class.leaf.peek_len(&self.pool, clock, drops) };
        let empty = class.leaf.is_empty();
        let place = class.aggregate;
        let short = class.is_short(next.unwrap_or(0));
        let aggregate = self.scheduler.aggregate(place)?;
        if empty {
            class.active = false;
            aggregate.active.pop_front();
        } else if short {
            class.deficit = class.deficit.saturating_add(i64::from(aggregate.longest));
            aggregate.active.rotate_left(1);
        }
        self.settle(index, before);
        packet
    }
}

impl<P: Packet + Flow, Q: Inner<P>> Build<P, Source> for Qfq<P, Q> {
    fn build(config: QfqConfig<Q::Config>, salt: u32, random: Source) -> Self {
        Self::new(config, salt, random)
    }
}

impl<P: Packet + Flow, Q: Inner<P>> Qdisc<P> for Qfq<P, Q> {
    type Config = QfqConfig<Q::Config>;

    fn enqueue(&mut self, now: Instant, packet: P, drops: &mut impl Drops<P>) {
        // Rule 1 of the contract: a time before the latest one counts as the latest.
        self.now = self.now.max(now);
        let len = packet.len();
        let index = self.classify(&packet);
        let place = self.classes.get(index).map(|class| class.aggregate);
        let known =
            place.and_then(|place| self.scheduler.aggregate(place)).map(|aggregate| aggregate.longest);
        let Some(longest) = known.filter(|_| len <= MAX_LONGEST) else {
            self.beside.offered.add(len);
            self.beside.dropped_before.add(len);
            drops.dropped(packet, DropReason::Oversize);
            return;
        };
        if len > longest {
            // Linux, too, moves the class to an aggregate for such lengths for good.
            self.lengthen(index, len);
        }
        let Some(class) = self.classes.get_mut(index) else { return };
        let before = class.leaf.load();
        class.leaf.enqueue(&mut self.pool, self.now, packet, drops);
        let active = class.active;
        if active && class.leaf.len() > before.packets {
            // Linux looks whether the packet is the next one, so that an AQM decides about the
            // oldest packet already.
            class.leaf.peek_len(&self.pool, self.now, drops);
        }
        let queued = !class.leaf.is_empty();
        self.settle(index, before);
        if active && !queued {
            // An overflow has cost it all that it had.
            self.deactivate(index);
        }
        let waits = u32::try_from(index).is_ok_and(|index| self.aside.contains(&index));
        if queued && !active && !waits {
            self.activate(index);
        }
    }

    fn dequeue(&mut self, now: Instant, drops: &mut impl Drops<P>) -> Option<P> {
        self.now = self.now.max(now);
        let clock = self.now;
        if !self.aside.is_empty() {
            self.wake(drops);
        }
        // A packet queued before its class was made for shorter ones goes with whatever budget its
        // aggregate has in its turn.
        let mut in_turn = false;
        loop {
            let serving = self.scheduler.serving?;
            let aggregate = self.scheduler.aggregate(serving)?;
            let first = aggregate.active.front().map(|&index| index as usize);
            let budget = aggregate.budget;
            if let Some(index) = first {
                let class = self.classes.get_mut(index)?;
                let before = class.leaf.load();
                let next = class.leaf.peek_len(&self.pool, clock, drops);
                let empty = class.leaf.is_empty();
                self.settle(index, before);
                match next {
                    Some(len) if u64::from(len) <= budget || in_turn => {
                        let packet = self.take(index, len, drops);
                        if let Some(paid) = self.scheduler.aggregate(serving) {
                            // A flow of empty packets must not keep its turn for ever.
                            paid.budget = paid.budget.saturating_sub(u64::from(len.max(1)));
                        }
                        self.scheduler.advance(len);
                        return packet;
                    }
                    Some(_) => {}
                    None => {
                        self.deactivate(index);
                        if !empty {
                            self.aside.push(u32::try_from(index).unwrap_or(0));
                        }
                        continue;
                    }
                }
            }
            let spent = self.scheduler.aggregate(serving)?;
            spent.charge_service();
            spent.recharge();
            if first.is_some() {
                self.scheduler.update_times(serving, true);
                self.scheduler.schedule(serving);
            }
            self.scheduler.serving = self.scheduler.choose();
            in_turn = true;
        }
    }

    fn next_event(&self, now: Instant) -> Option<Instant> {
        let clock = self.now.max(now);
        let aside = self.aside.iter().filter_map(|&index| self.classes.get(index as usize));
        aside.fold(None, |first, class| nesting::earlier(first, class.leaf.next_event(clock)))
    }

    fn len(&self) -> usize {
        self.len
    }

    fn backlog(&self) -> u64 {
        self.bytes
    }

    fn stats(&self) -> Stats {
        let mut stats = self.beside;
        for class in &self.classes {
            stats = stats.plus(&class.leaf.stats());
        }
        stats
    }

    /// Deleted classes are purged; the others keep their packets and virtual times.
    fn reconfigure(&mut self, now: Instant, config: QfqConfig<Q::Config>, drops: &mut impl Drops<P>) {
        self.now = self.now.max(now);
        // A change to the configuration in force must change nothing (`Qdisc::config`).
        if config == self.config {
            return;
        }
        let before = core::mem::replace(&mut self.config, config).all_classes();
        let wanted = self.config.all_classes();
        let known = |classes: &[QfqClass<Q::Config>], minor| {
            classes.binary_search_by_key(&minor, |class| class.minor)
        };
        self.retain(|class| known(&wanted, class.minor).is_ok(), drops);
        self.add_missing(&wanted);
        for (index, class) in wanted.into_iter().enumerate() {
            if let Some(old) = known(&before, class.minor).ok().and_then(|at| before.get(at)) {
                self.change(index, old, class, drops);
            }
        }
    }

    fn config(&self) -> QfqConfig<Q::Config> {
        self.config.clone()
    }

    fn purge(&mut self, now: Instant, drops: &mut impl Drops<P>) {
        self.now = self.now.max(now);
        self.scheduler = Scheduler::new();
        self.aside.clear();
        for (class, wanted) in self.classes.iter_mut().zip(self.config.all_classes()) {
            class.leaf.purge(&mut self.pool, self.now, drops);
            class.aggregate = self.scheduler.join(wanted.weight, wanted.longest);
            (class.deficit, class.active) = (0, false);
        }
        (self.len, self.bytes) = (0, 0);
    }
}

impl<P: Packet + Flow, Q: Inner<P>> Lookahead<P> for Qfq<P, Q> {
    const RULES: &'static [&'static [Rule]] = &[RULES];

    fn evidence(&self, question: &Question<'_, P>) -> Evidence {
        let mut evidence = Evidence::from_kind(QfqConfig::<Q::Config>::KIND.name);
        let Some(class) = self.classes.get(self.classify(question.packet)) else { return evidence };
        let minor = class.minor;
        evidence.given("class", Quantity::Number(u64::from(minor)), "the class of this packet");
        evidence.fact("deficit", Quantity::Credit(class.deficit), "bytes that the class may still send");
        if let Some((time, weight, [start, finish], budget)) = self.scheduler.times(class.aggregate) {
            evidence.given("weight", Quantity::Number(weight), "share of the class");
            evidence.fact("virtual_time", Quantity::Number(time), "V, which the sum of the weights advances");
            evidence.fact("start", Quantity::Number(start), "virtual start time of its aggregate");
            evidence.fact("finish", Quantity::Number(finish), "virtual finish time of its aggregate");
            evidence.fact("budget", Quantity::Bytes(budget), "bytes that its aggregate may still send");
            let about = &question.about;
            if about.moment == Moment::Departure && about.is_end() && !matches!(about.fate, Fate::Dropped(_))
            {
                let serves = self.scheduler.serving == Some(class.aggregate);
                let rule = if serves { IN_SERVICE } else { EARLIEST_FINISH };
                evidence.rule(rule, QfqConfig::<Q::Config>::KIND.reference, &[]);
            }
        }
        evidence.with_inner(Some(class.leaf.evidence(question)))
    }
}

impl<P: Packet + Flow, Q: Inner<P>> Observe for Qfq<P, Q> {
    fn observe(&self, now: Instant, seen: &mut Observation) {
        for class in &self.classes {
            let deficit = Gauge::Signed(class.deficit);
            seen.parts.push(Part { class: class.minor, parent: 0, gauges: vec![("deficit", deficit)] });
            seen.children.push((class.minor, class.leaf.observe(now)));
        }
    }
}

impl<P: Packet + Flow, Q: Inner<P>> Inner<P> for Qfq<P, Q> {}

rules! {
    /// Rules of QFQ.
    RULES;
    /// The aggregate of the packet is in service.
    IN_SERVICE: "qfq.in_service" [];
    /// The aggregate in service spent its budget, and that of the packet is next.
    EARLIEST_FINISH: "qfq.earliest_finish" [];
}
