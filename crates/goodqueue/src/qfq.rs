//! Quick fair queueing: `qfq`.
//!
//! # What it does
//! Classes share the link in the ratio of their weights, packet by packet, with a delay close to the best that any
//! scheduler can guarantee, at a constant cost: start and finish times in virtual time are rounded so that classes fall
//! into a few groups, and bit maps say which group is next.
//!
//! # Reference
//! F. Checconi, L. Rizzo & P. Valente, "QFQ: Efficient packet scheduling with tight guarantees", IEEE/ACM ToN 2013;
//! P. Valente, "Reducing the execution time of fair-queueing packet schedulers", 2014 (aggregates); tc-qfq(8); behaviour of
//! Linux 6.1 `net/sched/sch_qfq.c`.
//!
//! # State
//! ```text
//! aggregate: up to 8 classes of one weight and packet length, served by deficits; virtual start and finish, budget
//! group: aggregates of like (length / weight), in 32 slots by their rounded start        maps: groups by
//! (eligible: start is not ahead of virtual time) and (ready: no group above finishes earlier)
//! ```
//!
//! # Parameters
//! | name | unit | default | source of the default | range |
//! |---|---|---|---|---|
//! | `flows` | number | 1024 if there are no classes | ours; as fq_codel | 1 to 65536; not with classes |
//! | class `weight` | number | 1 | Linux sch_qfq | 1 to 1024; all together 65536 |
//! | class `maxpkt` | bytes | MTU | Linux sch_qfq | 512 to 65536; grows with the packets that come |
//!
//! # Deviations
//! A packet goes to the class that [`Flow::class`] says, or else to one by a hash of its flow, where Linux drops it; without
//! classes there are `flows` of them with a `pfifo` of 1000 packets. A class whose discipline holds its packets back steps
//! aside until they are due, where Linux stops serving. A change of the classes starts virtual time anew.
//!
//! # Cost
//! Constant per packet, beside the classes that have stepped aside.
//!
//! # Example
//! ```
//! use goodqueue::{Configure, Link, Settings, config::{Child, Value}, qfq::QfqConfig};
//! let class = Child { class: 1, settings: Settings::new().with("weight", Value::Integer(10)), ..Child::default() };
//! let config = QfqConfig::from_settings(&Settings::new().with_child(class), &Link::default()).unwrap();
//! assert_eq!(config.classes().len(), 1);
//! ```

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use crate::config::{Build, Children, ConfigError, Configure, Kind, Link, Parameter, Settings, Unit, Value};
use crate::gauge::{Gauge, Observation, Part};
use crate::leaf::{self, Leaf};
use crate::packet::{Flow, Packet, scale_hash};
use crate::qdisc::{DropReason, Drops, Qdisc, Stats};
use crate::random::Source;
use crate::registry::AnyConfig;
use crate::time::Instant;

/// Quick fair queueing between disciplines.
#[derive(Clone, Debug)]
pub struct Qfq<P> {
    config: QfqConfig,
    /// In the order of their numbers.
    classes: Vec<Class<P>>,
    scheduler: Scheduler,
    /// Classes whose disciplines hold packets back.
    aside: Vec<u32>,
    /// Latest time seen (contract rule 1): what one child is told, all know.
    now: Instant,
    salt: u32,
    random: Source,
    len: usize,
    bytes: u64,
    /// Packets that no class took, and the counters of classes that are no more.
    beside: Stats,
}

#[derive(Clone, Debug)]
struct Class<P> {
    minor: u32,
    leaf: Leaf<P>,
    aggregate: u32,
    deficit: i64,
    active: bool,
    /// The longest packet that came.
    longest: u32,
}

/// Virtual time and who is served in it.
#[derive(Clone, Debug)]
struct Scheduler {
    aggregates: Vec<Aggregate>,
    groups: Vec<Group>,
    /// Groups by state: bit 0 of the index is "not eligible", bit 1 "blocked".
    maps: [u64; 4],
    time: u64,
    time_before: u64,
    weights: u64,
    serving: Option<u32>,
}

#[derive(Clone, Debug)]
struct Aggregate {
    weight: u64,
    longest: u32,
    classes: u64,
    /// Active classes; the one in turn first.
    active: VecDeque<u32>,
    group: usize,
    start: u64,
    finish: u64,
    initial_budget: u64,
    budget: u64,
}

#[derive(Clone, Default, Debug)]
struct Group {
    start: u64,
    finish: u64,
    front: usize,
    /// Bit `n`: the slot `n` behind the front is not empty.
    full: u64,
    /// The aggregate put in last is served first.
    slots: [Vec<u32>; SLOTS],
}

/// Configuration of [`Qfq`].
#[derive(Clone, PartialEq, Debug)]
pub struct QfqConfig {
    /// Classes that are made if none is given.
    flows: u32,
    longest: u32,
    classes: Vec<QfqClass>,
}

/// One class of a [`QfqConfig`].
#[derive(Clone, PartialEq, Debug)]
pub struct QfqClass {
    minor: u32,
    weight: u32,
    longest: u32,
    qdisc: AnyConfig,
}

impl QfqConfig {
    /// The classes that were given, in the order of their numbers.
    #[must_use]
    pub fn classes(&self) -> &[QfqClass] {
        &self.classes
    }

    /// The classes that there are.
    fn all_classes(&self) -> Vec<QfqClass> {
        if !self.classes.is_empty() {
            return self.classes.clone();
        }
        (1..=self.flows)
            .map(|minor| QfqClass { minor, weight: 1, longest: self.longest, qdisc: leaf::default_leaf() })
            .collect()
    }
}

impl QfqClass {
    /// The minor number.
    #[must_use]
    pub const fn minor(&self) -> u32 {
        self.minor
    }

    /// Its share of the link.
    #[must_use]
    pub const fn weight(&self) -> u32 {
        self.weight
    }
}

impl Configure for QfqConfig {
    const KIND: Kind = KIND;

    fn from_settings(settings: &Settings, link: &Link) -> Result<Self, ConfigError> {
        let mtu = link.mtu.clamp(MIN_LONGEST, MAX_LONGEST);
        let flows = settings.number("flows", 1, MAX_FLOWS)?;
        leaf::check_minors(settings.children())?;
        let mut classes: Vec<QfqClass> = Vec::new();
        for child in settings.children() {
            let number = |name, low: u32, high: u32, default: u32| -> Result<u32, ConfigError> {
                let given = child.settings.number(name, u64::from(low), u64::from(high));
                let given = given.map_err(|error| error.in_class(child.class))?;
                Ok(given.and_then(|value| u32::try_from(value).ok()).unwrap_or(default))
            };
            let weight = number("weight", 1, MAX_WEIGHT, 1)?;
            let longest = number("maxpkt", MIN_LONGEST, MAX_LONGEST, mtu)?;
            let qdisc = leaf::qdisc_of(child, link)?.unwrap_or_else(leaf::default_leaf);
            classes.push(QfqClass { minor: child.class, weight, longest, qdisc });
            let sum: u64 = classes.iter().map(|class| u64::from(class.weight)).sum();
            if sum > MAX_WEIGHTS {
                let error =
                    ConfigError::new("weight", alloc::format!("{weight}"), "65536 for all classes together");
                return Err(error.in_class(child.class));
            }
        }
        classes.sort_by_key(|class| class.minor);
        let flows = if classes.is_empty() { flows.unwrap_or(DEFAULT_FLOWS) } else { 0 };
        Ok(Self { flows: u32::try_from(flows).unwrap_or(0), longest: mtu, classes })
    }

    fn to_settings(&self) -> Settings {
        let mut settings = Settings::new();
        if self.classes.is_empty() {
            settings.set("flows", Value::Integer(u64::from(self.flows)));
        }
        self.classes.iter().fold(settings, |all, class| {
            let own = Settings::new()
                .with("weight", Value::Integer(u64::from(class.weight)))
                .with("maxpkt", Value::Bytes(u64::from(class.longest)));
            all.with_child(leaf::child(class.minor, own, &class.qdisc))
        })
    }
}

/// `a` is later than `b` in a time that wraps around.
const fn later(a: u64, b: u64) -> bool {
    let ahead = a.wrapping_sub(b);
    ahead != 0 && ahead < 1 << 63
}

const fn round_down(time: u64, shift: u32) -> u64 {
    time >> shift << shift
}

/// The bits of `map` from `from` on.
const fn from_bit(map: u64, from: usize) -> u64 {
    map >> from << from
}

const fn below_bit(index: usize) -> u64 {
    (1 << index) - 1
}

const fn first_bit(map: u64) -> usize {
    map.trailing_zeros() as usize
}

/// Groups are few.
fn shift_of(group: usize) -> u32 {
    MIN_SLOT_SHIFT.saturating_add(u32::try_from(group).unwrap_or(0))
}

impl Aggregate {
    fn most(&self) -> u64 {
        self.classes * u64::from(self.longest)
    }

    fn inverse_weight(&self) -> u64 {
        ONE.checked_div(self.weight * self.classes).unwrap_or(ONE)
    }

    /// Its finish is that of what it has sent, not of what it might have.
    fn charge_service(&mut self) {
        let sent = self.initial_budget.saturating_sub(self.budget).min(self.most());
        self.finish = self.start.wrapping_add(sent * self.inverse_weight());
    }

    fn recharge(&mut self) {
        self.budget = self.most();
        self.initial_budget = self.budget;
    }
}

impl Group {
    fn head(&self) -> Option<u32> {
        self.slots.get(self.front)?.last().copied()
    }

    fn remove_head(&mut self) {
        let Some(slot) = self.slots.get_mut(self.front) else { return };
        slot.pop();
        if slot.is_empty() {
            self.full &= !1;
        }
    }

    /// The first aggregate; the front moves to it.
    fn scan(&mut self) -> Option<u32> {
        if self.full == 0 {
            return None;
        }
        let empty = first_bit(self.full);
        self.front = (self.front + empty) % SLOTS;
        self.full >>= empty;
        self.head()
    }
}

impl Scheduler {
    fn new() -> Self {
        Self {
            aggregates: Vec::new(),
            groups: (0..GROUPS).map(|_| Group::default()).collect(),
            maps: [0; 4],
            time: 0,
            time_before: 0,
            weights: 0,
            serving: None,
        }
    }

    fn aggregate(&mut self, index: u32) -> Option<&mut Aggregate> {
        self.aggregates.get_mut(index as usize)
    }

    fn set_state(&mut self, group: usize, state: usize) {
        if let Some(map) = self.maps.get_mut(state) {
            *map |= 1 << group;
        }
    }

    fn clear_state(&mut self, group: usize, state: usize) {
        if let Some(map) = self.maps.get_mut(state) {
            *map &= !(1 << group);
        }
    }

    fn move_groups(&mut self, mask: u64, from: usize, to: usize) {
        let moved = self.maps.get(from).copied().unwrap_or(0) & mask;
        if let Some(map) = self.maps.get_mut(to) {
            *map |= moved;
        }
        if let Some(map) = self.maps.get_mut(from) {
            *map &= !mask;
        }
    }

    fn ready(&self) -> u64 {
        self.maps[READY]
    }

    /// The state in which group `index` belongs.
    fn state_of(&self, index: usize) -> usize {
        let Some(group) = self.groups.get(index) else { return READY };
        let waits = usize::from(later(group.start, self.time));
        let above = from_bit(self.ready(), index);
        let blocker = if above == 0 { None } else { self.groups.get(first_bit(above)) };
        let blocked = blocker.is_some_and(|next| later(group.finish, next.finish));
        waits | usize::from(blocked) << 1
    }

    fn unblock(&mut self, index: usize, old_finish: u64) {
        let above = from_bit(self.ready(), index + 1);
        if above != 0
            && let Some(next) = self.groups.get(first_bit(above))
            && !later(next.finish, old_finish)
        {
            return;
        }
        self.unblock_masked(below_bit(index));
    }

    fn unblock_masked(&mut self, mask: u64) {
        self.move_groups(mask, BLOCKED, READY);
        self.move_groups(mask, BLOCKED_WAITING, WAITING);
    }

    fn update_eligible(&mut self) {
        let waiting = self.maps[WAITING] | self.maps[BLOCKED_WAITING];
        if waiting == 0 {
            return;
        }
        if self.ready() == 0
            && let Some(first) = self.groups.get(first_bit(waiting))
            && later(first.start, self.time)
        {
            self.time = first.start;
        }
        let flipped = (self.time >> MIN_SLOT_SHIFT) ^ (self.time_before >> MIN_SLOT_SHIFT);
        if flipped != 0 {
            let highest = 64 - flipped.leading_zeros();
            let mask = if highest > 31 { u64::MAX } else { (1 << highest) - 1 };
            self.move_groups(mask, WAITING, READY);
            self.move_groups(mask, BLOCKED_WAITING, BLOCKED);
        }
    }

    /// A start time for an aggregate that was idle.
    fn update_start(&mut self, index: u32) {
        let (time, ready) = (self.time, self.ready());
        let Some(aggregate) = self.aggregates.get(index as usize) else { return };
        let shift = shift_of(aggregate.group);
        let rounded = round_down(aggregate.finish, shift);
        let limit = round_down(time, shift).wrapping_add(1 << shift);
        let stale = !later(aggregate.finish, time) || later(rounded, limit);
        let start = if stale {
            let above = from_bit(ready, aggregate.group);
            let next = if above == 0 { None } else { self.groups.get(first_bit(above)) };
            match next.filter(|next| later(rounded, next.finish)) {
                Some(next) if later(limit, next.finish) => next.finish,
                Some(_) => limit,
                None => time,
            }
        } else {
            aggregate.finish
        };
        if let Some(changed) = self.aggregate(index) {
            changed.start = start;
        }
    }

    /// Start and finish for the next service, the latter as if the whole budget were used.
    fn update_times(&mut self, index: u32, again: bool) {
        if !again {
            self.update_start(index);
        }
        if let Some(aggregate) = self.aggregate(index) {
            if again {
                aggregate.start = aggregate.finish;
            }
            aggregate.finish = aggregate.start.wrapping_add(aggregate.most() * aggregate.inverse_weight());
        }
    }

    fn activate(&mut self, index: u32) {
        if let Some(aggregate) = self.aggregate(index) {
            aggregate.recharge();
        }
        self.update_times(index, false);
        match self.serving {
            None => {
                self.serving = Some(index);
                self.time = self.aggregates.get(index as usize).map_or(self.time, |first| first.start);
                self.time_before = self.time;
            }
            Some(serving) if serving != index => self.schedule(index),
            Some(_) => {}
        }
    }

    fn schedule(&mut self, index: u32) {
        let Some(aggregate) = self.aggregates.get(index as usize) else { return };
        let (start, at) = (aggregate.start, aggregate.group);
        let shift = shift_of(at);
        let rounded = round_down(start, shift);
        let idle = self.serving.is_none() && self.ready() == 0;
        let Some(group) = self.groups.get_mut(at) else { return };
        let settled = group.full != 0 && !later(group.start, start);
        if !settled {
            if group.full != 0 {
                // Room for an earlier start.
                let slots = group.start.wrapping_sub(rounded) >> shift;
                let back = usize::try_from(slots).unwrap_or(0) % SLOTS;
                group.full = group.full.checked_shl(u32::try_from(slots).unwrap_or(64)).unwrap_or(0);
                group.front = (group.front + SLOTS - back) % SLOTS;
                group.start = rounded;
                self.clear_state(at, WAITING);
                self.clear_state(at, BLOCKED_WAITING);
            } else if idle && later(rounded, self.time) {
                self.time = rounded;
            }
            if let Some(moved) = self.groups.get_mut(at) {
                moved.start = rounded;
                moved.finish = rounded.wrapping_add(2 << shift);
            }
            let state = self.state_of(at);
            self.set_state(at, state);
        }
        self.insert(index, at, rounded);
    }

    fn insert(&mut self, index: u32, at: usize, rounded: u64) {
        let shift = shift_of(at);
        let Some(group) = self.groups.get_mut(at) else { return };
        let ahead = rounded.wrapping_sub(group.start);
        let most = SLOTS as u64 - 2;
        let slot = (ahead >> shift).min(most);
        let excess = if ahead >> shift > most { ahead - (most << shift) } else { 0 };
        let position = (group.front + usize::try_from(slot).unwrap_or(0)) % SLOTS;
        group.full |= 1 << slot;
        if let Some(entries) = group.slots.get_mut(position) {
            entries.push(index);
        }
        if let Some(aggregate) = self.aggregate(index) {
            aggregate.start = aggregate.start.wrapping_sub(excess);
            aggregate.finish = aggregate.finish.wrapping_sub(excess);
        }
    }

    /// Takes the next aggregate out of the schedule.
    fn choose(&mut self) -> Option<u32> {
        self.update_eligible();
        self.time_before = self.time;
        if self.ready() == 0 {
            return None;
        }
        let at = first_bit(self.ready());
        let group = self.groups.get_mut(at)?;
        let old_finish = group.finish;
        let chosen = group.head();
        group.remove_head();
        match group.scan() {
            None => self.clear_state(at, READY),
            Some(front) => {
                if !self.restart(at, front) {
                    return chosen;
                }
            }
        }
        self.unblock(at, old_finish);
        chosen
    }

    /// Group `at` starts with aggregate `front` now; says whether that changed anything.
    fn restart(&mut self, at: usize, front: u32) -> bool {
        let shift = shift_of(at);
        let rounded = self.aggregates.get(front as usize).map_or(0, |first| round_down(first.start, shift));
        let Some(group) = self.groups.get_mut(at).filter(|group| group.start != rounded) else {
            return false;
        };
        group.start = rounded;
        group.finish = rounded.wrapping_add(2 << shift);
        for state in [READY, WAITING, BLOCKED, BLOCKED_WAITING] {
            self.clear_state(at, state);
        }
        let state = self.state_of(at);
        self.set_state(at, state);
        true
    }

    /// Takes an aggregate without active classes out of the schedule.
    fn deactivate(&mut self, index: u32) {
        if self.serving == Some(index) {
            if let Some(aggregate) = self.aggregate(index) {
                aggregate.charge_service();
            }
            self.serving = self.choose();
            return;
        }
        let Some(aggregate) = self.aggregate(index) else { return };
        aggregate.finish = aggregate.start;
        let (start, at) = (aggregate.start, aggregate.group);
        let shift = shift_of(at);
        let Some(group) = self.groups.get_mut(at) else { return };
        let offset =
            usize::try_from(round_down(start, shift).wrapping_sub(group.start) >> shift).unwrap_or(0) % SLOTS;
        let position = (group.front + offset) % SLOTS;
        if let Some(slot) = group.slots.get_mut(position) {
            slot.retain(|&entry| entry != index);
            if slot.is_empty() {
                group.full &= !(1 << offset);
            }
        }
        if group.full == 0 {
            for state in [WAITING, BLOCKED, BLOCKED_WAITING] {
                self.clear_state(at, state);
            }
            let ready = self.ready();
            if ready & (1 << at) != 0 && from_bit(ready, at) == 1 << at {
                let below = ready & below_bit(at);
                let mask =
                    if below == 0 { u64::MAX } else { !below_bit(63 - below.leading_zeros() as usize) };
                self.unblock_masked(mask);
            }
            self.clear_state(at, READY);
        } else if group.head().is_none()
            && let Some(front) = group.scan()
        {
            self.restart(at, front);
        }
    }

    /// An aggregate with room for one more class of this weight and length.
    fn join(&mut self, weight: u32, longest: u32) -> u32 {
        // Weights are rounded as their inverses are.
        let weight = ONE / (ONE / u64::from(weight.max(1)));
        let fits = |entry: &Aggregate| {
            entry.weight == weight && entry.longest == longest && (1..FULL).contains(&entry.classes)
        };
        let unused = |entry: &Aggregate| entry.classes == 0;
        let found = self.aggregates.iter().position(fits);
        let place =
            found.or_else(|| self.aggregates.iter().position(unused)).unwrap_or(self.aggregates.len());
        if found.is_none() {
            let span = u64::from(longest) * (ONE / weight);
            let fresh = Aggregate {
                weight,
                longest,
                classes: 0,
                active: VecDeque::new(),
                group: group_of(span),
                start: 0,
                finish: 0,
                initial_budget: u64::from(longest),
                budget: u64::from(longest),
            };
            match self.aggregates.get_mut(place) {
                Some(old) => *old = fresh,
                None => self.aggregates.push(fresh),
            }
        }
        self.weights += weight;
        if let Some(aggregate) = self.aggregates.get_mut(place) {
            aggregate.classes += 1;
        }
        u32::try_from(place).unwrap_or(0)
    }

    fn leave(&mut self, index: u32) {
        let Some(aggregate) = self.aggregate(index) else { return };
        aggregate.classes = aggregate.classes.saturating_sub(1);
        let (weight, empty) = (aggregate.weight, aggregate.classes == 0);
        self.weights = self.weights.saturating_sub(weight);
        if empty && self.serving == Some(index) {
            self.serving = self.choose();
        }
    }

    /// Virtual time goes on by what was sent.
    fn advance(&mut self, bytes: u32) {
        let inverse = ONE.checked_div(self.weights).unwrap_or(0);
        self.time = self.time.wrapping_add(u64::from(bytes) * inverse);
    }
}

/// The group of aggregates that need so much virtual time for their longest packets.
fn group_of(span: u64) -> usize {
    let map = span >> MIN_SLOT_SHIFT;
    if map == 0 {
        return 0;
    }
    let index = 64 - map.leading_zeros() as usize;
    let exact = span == 1 << (index + MIN_SLOT_SHIFT as usize - 1);
    (index - usize::from(exact)).min(GROUPS - 1)
}

impl<P: Packet + Flow> Qfq<P> {
    /// Empty classes. Flows are hashed with `salt`.
    #[must_use]
    pub fn new(config: QfqConfig, salt: u32, random: Source) -> Self {
        let mut qfq = Self {
            classes: Vec::new(),
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
        qfq.make_classes(Vec::new());
        qfq
    }

    /// Makes the classes of the configuration; disciplines that are left in `old` are taken from there.
    fn make_classes(&mut self, mut old: Vec<Class<P>>) {
        self.scheduler = Scheduler::new();
        self.classes.clear();
        self.aside.clear();
        for class in self.config.all_classes() {
            let aggregate = self.scheduler.join(class.weight, class.longest);
            let kept = old.iter().position(|before| before.minor == class.minor);
            let (leaf, longest) = match kept.map(|place| old.swap_remove(place)) {
                Some(before) => (before.leaf, before.longest),
                None => (Leaf::new(class.qdisc, class.minor, self.salt, &mut self.random), 0),
            };
            self.classes.push(Class {
                minor: class.minor,
                leaf,
                aggregate,
                deficit: 0,
                active: false,
                longest,
            });
        }
    }

    fn classify(&self, packet: &P) -> usize {
        let chosen = packet
            .class()
            .and_then(|minor| self.classes.binary_search_by_key(&minor, |class| class.minor).ok());
        let count = u32::try_from(self.classes.len()).unwrap_or(u32::MAX);
        chosen.unwrap_or_else(|| scale_hash(packet.flow_hash(self.salt), count) as usize)
    }

    /// Brings the totals up to date after a class held `before`.
    fn settle(&mut self, index: usize, before: (usize, u64)) {
        let Some(class) = self.classes.get(index) else { return };
        self.len = (self.len + class.leaf.len()).saturating_sub(before.0);
        self.bytes = self.bytes.saturating_add(class.leaf.backlog()).saturating_sub(before.1);
    }

    fn activate(&mut self, index: usize) {
        let Some(class) = self.classes.get_mut(index) else { return };
        let place = class.aggregate;
        let Some(aggregate) = self.scheduler.aggregate(place) else { return };
        class.active = true;
        class.deficit = i64::from(aggregate.longest);
        aggregate.active.push_back(u32::try_from(index).unwrap_or(0));
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
        let (old, was_active) = (class.aggregate, class.active);
        let weight = self.scheduler.aggregate(old).map_or(1, |aggregate| aggregate.weight);
        if was_active {
            self.deactivate(index);
        }
        self.scheduler.leave(old);
        let place = self.scheduler.join(u32::try_from(weight).unwrap_or(1), len);
        let Some(joined) = self.classes.get_mut(index) else { return };
        joined.aggregate = place;
        if was_active {
            let deficit = joined.deficit;
            self.activate(index);
            if let Some(moved) = self.classes.get_mut(index) {
                moved.deficit = deficit;
            }
        }
    }

    /// Classes that had stepped aside and can send now come back.
    fn wake(&mut self, drops: &mut impl Drops<P>) {
        for index in core::mem::take(&mut self.aside) {
            let Some(class) = self.classes.get_mut(index as usize) else { continue };
            let before = (class.leaf.len(), class.leaf.backlog());
            let ready = class.leaf.peek_len(self.now, drops).is_some();
            let empty = class.leaf.is_empty();
            self.settle(index as usize, before);
            if ready {
                self.activate(index as usize);
            } else if !empty {
                self.aside.push(index);
            }
        }
    }

    /// Takes the packet whose length is known out of class `index`, and passes the turn if its deficit is used up.
    fn take(&mut self, index: usize, len: u32, drops: &mut impl Drops<P>) -> Option<P> {
        let clock = self.now;
        let class = self.classes.get_mut(index)?;
        let before = (class.leaf.len(), class.leaf.backlog());
        let packet = class.leaf.dequeue(clock, drops);
        class.deficit = class.deficit.saturating_sub(i64::from(len));
        let next = if class.leaf.is_empty() { None } else { class.leaf.peek_len(clock, drops) };
        let empty = class.leaf.is_empty();
        let place = class.aggregate;
        let short = class.deficit < i64::from(next.unwrap_or(0));
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

impl<P: Packet + Flow> Build<P, Source> for Qfq<P> {
    fn build(config: QfqConfig, salt: u32, random: Source) -> Self {
        Self::new(config, salt, random)
    }
}

impl<P: Packet + Flow> Qdisc<P> for Qfq<P> {
    type Config = QfqConfig;

    fn enqueue(&mut self, now: Instant, packet: P, drops: &mut impl Drops<P>) {
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
            self.lengthen(index, len);
        }
        let Some(class) = self.classes.get_mut(index) else { return };
        class.longest = class.longest.max(len);
        let before = (class.leaf.len(), class.leaf.backlog());
        class.leaf.enqueue(self.now, packet, drops);
        let queued = !class.leaf.is_empty();
        let active = class.active;
        self.settle(index, before);
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
        loop {
            let serving = self.scheduler.serving?;
            let aggregate = self.scheduler.aggregate(serving)?;
            let first = aggregate.active.front().map(|&index| index as usize);
            let budget = aggregate.budget;
            if let Some(index) = first {
                let class = self.classes.get_mut(index)?;
                let before = (class.leaf.len(), class.leaf.backlog());
                let next = class.leaf.peek_len(clock, drops);
                let empty = class.leaf.is_empty();
                self.settle(index, before);
                match next {
                    Some(len) if u64::from(len) <= budget => {
                        let packet = self.take(index, len, drops);
                        if let Some(paid) = self.scheduler.aggregate(serving) {
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
        }
    }

    fn next_event(&self, now: Instant) -> Option<Instant> {
        let clock = self.now.max(now);
        let aside = self.aside.iter().filter_map(|&index| self.classes.get(index as usize));
        aside.fold(None, |first, class| leaf::earlier(first, class.leaf.next_event(clock)))
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
            leaf::add(&mut stats, &class.leaf.stats());
        }
        stats
    }

    fn observe(&self, now: Instant, seen: &mut Observation) {
        for class in &self.classes {
            let deficit = Gauge::Signed(class.deficit);
            seen.parts.push(Part { class: class.minor, parent: 0, gauges: vec![("deficit", deficit)] });
            seen.children.push((class.minor, class.leaf.observe(now)));
        }
    }

    /// Classes that are no more are purged; the others keep their packets.
    fn reconfigure(&mut self, now: Instant, config: QfqConfig, drops: &mut impl Drops<P>) {
        self.now = self.now.max(now);
        if config == self.config {
            return;
        }
        self.config = config;
        let wanted = self.config.all_classes();
        let mut kept = Vec::new();
        for mut class in core::mem::take(&mut self.classes) {
            match wanted
                .binary_search_by_key(&class.minor, |entry| entry.minor)
                .ok()
                .and_then(|at| wanted.get(at))
            {
                Some(entry) => {
                    class.leaf.reconfigure(self.now, entry.qdisc.clone(), drops);
                    kept.push(class);
                }
                None => {
                    class.leaf.purge(self.now, drops);
                    leaf::add(&mut self.beside, &class.leaf.stats());
                }
            }
        }
        self.make_classes(kept);
        self.len = self.classes.iter().map(|class| class.leaf.len()).sum();
        self.bytes = self.classes.iter().map(|class| class.leaf.backlog()).sum();
        for index in 0..self.classes.len() {
            let Some(class) = self.classes.get(index).filter(|class| !class.leaf.is_empty()) else {
                continue;
            };
            let (longest, place) = (class.longest, class.aggregate);
            if self.scheduler.aggregate(place).is_some_and(|aggregate| aggregate.longest < longest) {
                self.lengthen(index, longest);
            }
            self.activate(index);
        }
    }

    fn config(&self) -> QfqConfig {
        self.config.clone()
    }

    fn purge(&mut self, now: Instant, drops: &mut impl Drops<P>) {
        self.now = self.now.max(now);
        let mut classes = core::mem::take(&mut self.classes);
        for class in &mut classes {
            class.leaf.purge(self.now, drops);
            class.longest = 0;
        }
        self.make_classes(classes);
        (self.len, self.bytes) = (0, 0);
    }
}

const KIND: Kind = Kind {
    name: "qfq",
    summary: "Quick fair queueing: classes share the link in the ratio of their weights, each with its discipline",
    reference: "Checconi, Rizzo & Valente 2013; tc-qfq(8)",
    variants: &[],
    children: Children::Classes(&[
        Parameter {
            name: "weight",
            unit: Unit::Integer,
            default: "1",
            source: "Linux sch_qfq",
            range: "1 to 1024; all together 65536",
            doc: "share of the link",
        },
        Parameter {
            name: "maxpkt",
            unit: Unit::Bytes,
            default: "MTU",
            source: "Linux sch_qfq",
            range: "512 to 65536",
            doc: "longest packet to expect",
        },
    ]),
    parameters: &[Parameter {
        name: "flows",
        unit: Unit::Integer,
        default: "1024",
        source: "ours; Linux has no classes until they are made",
        range: "1 to 65536",
        doc: "classes that are made if none is given; flows are hashed into them",
    }],
};

const READY: usize = 0;
const WAITING: usize = 1;
const BLOCKED: usize = 2;
const BLOCKED_WAITING: usize = 3;
/// Virtual time has 30 bits behind the point.
const ONE: u64 = 1 << 30;
const SLOTS: usize = 32;
const GROUPS: usize = 25;
/// Classes of an aggregate, at most.
const FULL: u64 = 8;
/// So that the largest group holds the largest budget at weight 1: 30 + 16 + 3 bits in 24 groups.
const MIN_SLOT_SHIFT: u32 = 25;
const MIN_LONGEST: u32 = 512;
const MAX_LONGEST: u32 = 65_536;
const MAX_WEIGHT: u32 = 1024;
const MAX_WEIGHTS: u64 = 65_536;
const DEFAULT_FLOWS: u64 = 1024;
const MAX_FLOWS: u64 = 65_536;
