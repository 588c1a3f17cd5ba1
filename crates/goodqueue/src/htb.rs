//! Hierarchical token bucket: `htb`.
//!
//! # What it does
//! A tree of classes, each with a guaranteed rate and a ceiling. A class below its rate may send. A
//! class between rate and ceiling may borrow from its parent, if the parent may send or borrow in
//! turn. A class at its ceiling waits. Packets queue in the disciplines of the leaf classes. Leaves
//! that borrow from the same ancestor are served by priority. Leaves of equal priority take turns,
//! one quantum of bytes each.
//!
//! # Reference
//! M. Devera, "Hierarchical token bucket theory", 2002; tc-htb(8); behaviour of Linux 6.1
//! `net/sched/sch_htb.c`.
//!
//! # State
//! ```text
//! class: tokens and ctokens (ns), mode (can send, may borrow, cannot send), prios at which its subtree is active
//! row[level][prio]: classes of that level that can send and are active     feed[class][prio]: its children that borrow
//! waiting[level]: classes that cannot send on their own, by the time at which their mode changes
//! direct: packets of no class, sent before all others
//! ```
//! Leaves are at level 0. Classes with children but no parent are at level 7, their children with
//! children at level 6, and so on.
//!
//! # Parameters
//! | name | meaning | unit | default | source of the default | range |
//! |---|---|---|---|---|---|
//! | `default` | class of packets that have none; 0: they bypass all classes | class, hexadecimal | 0 | tc | |
//! | `r2q` | divisor that turns a class's rate in bytes per second into its quantum | number | 10 | tc | 1 to 4294967295 |
//! | `direct_qlen` | packets without a class that may wait | packets | 1000p | Linux: txqueuelen of Ethernet | 1 to 4294967295 |
//! | class `rate` | rate that the class is guaranteed | rate | none | tc wants one | 8bit or more |
//! | class `ceil` | rate up to which the class may borrow | rate | rate | tc | 8bit or more |
//! | class `burst` | bytes that may leave at once at the guaranteed rate | bytes | 1600 | tc | 1 to 4294967295 |
//! | class `cburst` | bytes that may leave at once at the ceiling | bytes | 1600 | tc | 1 to 4294967295 |
//! | class `prio` | order of borrowing, the lowest number first | number | 0 | tc | 0 to 7; limited to 7 |
//! | class `quantum` | bytes that a leaf class borrows per turn | bytes | rate / r2q, within 1000 to 200000 | Linux sch_htb | 1 to 2147483647 |
//! | class `overhead` | bytes that the link adds to each packet | bytes | 0 | tc | 0 to 65535 |
//! | class `mpu` | smallest length of a packet on the link, overhead included | bytes | 0 | tc | 0 to 65535 |
//! | class `linklayer` | framing of the link; `atm` and `adsl` send cells of 53 bytes that carry 48 | `ethernet`, `atm`, `adsl` | ethernet | tc | |
//!
//! Classes are written in brackets: `htb default 20 [1 rate 10mbit [10 rate 2mbit ceil 10mbit:
//! pfifo limit 30] [20 rate 8mbit: fq_codel]]`. A leaf without a discipline holds a `pfifo` of 1000
//! packets.
//!
//! # Deviations
//! As in Linux, a packet goes to the leaf that [`Flow::class`] names, else to the `default` leaf,
//! else it bypasses the classes unshaped. There are no filters and no hardware offload, and no
//! limit on the number of mode changes per call. The defaults of `burst` and `cburst` are those of
//! tc on a kernel with high-resolution timers. On other kernels tc adds the bytes that the rate
//! sends between two clock ticks. As in Linux, debts beyond 60 s are forgotten, and a change keeps
//! buckets and turns.
//!
//! # Cost
//! Constant per packet, except for the depth of the tree (at most 8) and the logarithm of the
//! number of classes.
//!
//! # Example
//! ```
//! use goodqueue::{AnyConfig, Configure, Link, Rate, Settings, config::{Child, Value}, htb::HtbConfig};
//! let rate = Settings::new().with("rate", Value::Rate(Rate::from_bps(1_000_000)));
//! let settings = Settings::new().with_child(Child { class: 1, settings: rate, ..Child::default() });
//! assert!(HtbConfig::<AnyConfig>::from_settings(&settings, &Link::default()).is_ok());
//! ```

mod change;
mod config;

use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Ordering;

use config::{CEIL, DIRECT_PACKETS, Index, LEVELS, RATE, Terms};
pub use config::{HtbClass, HtbConfig};

use crate::config::{Build, Configure as _};
use crate::decision::{Evidence, Fate, Moment, Quantity, Question, Rule, rules};
use crate::gauge::{Gauge, Observation, Observe, Part};
use crate::leaf::{Leaf, Load};
use crate::nesting::{self, Inner};
use crate::packet::{Flow, Packet};
use crate::qdisc::{DropReason, Drops, Lookahead, Qdisc, Stats};
use crate::queue::Fifo;
use crate::random::Source;
use crate::time::{Duration, Instant};

/// Hierarchical token bucket.
#[derive(Clone, Debug)]
pub struct Htb<P, Q: Qdisc<P>> {
    config: HtbConfig<Q::Config>,
    /// In the order of their numbers: `Index` counts here.
    classes: Vec<Class>,
    /// The discipline of each class that is a leaf.
    leaves: Vec<Option<Leaf<P, Q>>>,
    rows: Vec<[Turn; PRIOS]>,
    /// Classes by the time at which their mode changes; equal times in the order in which they
    /// came.
    waiting: Vec<BTreeSet<(u64, u64, Index)>>,
    waits: u64,
    direct: Fifo<P>,
    now: Instant,
    salt: u32,
    random: Source,
    len: usize,
    bytes: u64,
    /// Packets of no class, and the counters of deleted leaves.
    beside: Stats,
    /// Number of times that a class reached its ceiling.
    overlimits: u64,
    /// Packets of no class.
    direct_packets: u64,
}

/// Classes served in turn.
#[derive(Clone, Default, Debug)]
struct Turn {
    classes: BTreeSet<Index>,
    /// Returns the flow whose turn it is.
    at: Option<Index>,
    /// Whose turn it was when it left.
    left: Option<Index>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    CanSend,
    MayBorrow,
    CannotSend,
}

#[derive(Clone, Debug)]
struct Class {
    terms: Terms,
    parent: Option<Index>,
    level: usize,
    tokens: i64,
    ctokens: i64,
    filled_at: u64,
    mode: Mode,
    /// Bit `p` is set: active at priority `p`.
    active: u8,
    /// Where it stands in `waiting`.
    wait: Option<(u64, u64)>,
    /// Packets sent with its own tokens, by whomever, and packets of classes below it, or its own,
    /// sent with those of a class above.
    lended: u64,
    borrowed: u64,
    deficit: [i64; LEVELS],
    feed: [Turn; PRIOS],
}

impl Turn {
    /// The turn passes to the next class; past the last one there is none until the next look.
    fn pass(&mut self) {
        if let Some(at) = self.at {
            self.at = self.classes.range(at + 1..).next().copied();
        }
    }
}

impl Class {
    fn new(terms: Terms, parent: Option<Index>, now: u64) -> Self {
        Self {
            terms,
            parent,
            level: 0,
            tokens: terms.depth,
            ctokens: terms.cdepth,
            filled_at: now,
            mode: Mode::CanSend,
            active: 0,
            wait: None,
            lended: 0,
            borrowed: 0,
            deficit: [0; LEVELS],
            feed: core::array::from_fn(|_| Turn::default()),
        }
    }

    fn elapsed(&self, now: u64) -> i64 {
        i64::try_from(now.saturating_sub(self.filled_at)).unwrap_or(LONGEST_WAIT).min(LONGEST_WAIT)
    }

    /// Its mode once `elapsed` has gone by, and how long until that changes.
    fn mode_after(&self, elapsed: i64) -> (Mode, i64) {
        // Without the hysteresis that Linux has as an option (`htb_hysteresis`, off by default).
        let ctokens = self.ctokens.saturating_add(elapsed);
        if ctokens < 0 {
            return (Mode::CannotSend, ctokens.saturating_neg());
        }
        let tokens = self.tokens.saturating_add(elapsed);
        if tokens >= 0 { (Mode::CanSend, elapsed) } else { (Mode::MayBorrow, tokens.saturating_neg()) }
    }
}

fn empty_rows() -> Vec<[Turn; PRIOS]> {
    (0..LEVELS).map(|_| core::array::from_fn(|_| Turn::default())).collect()
}

/// A bucket after `elapsed` and a packet that costs `cost`.
fn charged(tokens: i64, elapsed: i64, depth: i64, cost: i64) -> i64 {
    // Linux `htb_accnt_tokens()` limits a debt to one nanosecond less than the longest wait.
    tokens.saturating_add(elapsed).min(depth).saturating_sub(cost).max(1 - LONGEST_WAIT)
}

fn prios(mask: u8) -> impl Iterator<Item = usize> {
    (0..PRIOS).filter(move |prio| mask & (1 << prio) != 0)
}

impl<P: Packet + Flow, Q: Inner<P>> Htb<P, Q> {
    /// Full buckets and nothing queued.
    #[must_use]
    pub fn new(config: HtbConfig<Q::Config>, salt: u32, random: Source) -> Self {
        let mut htb = Self {
            classes: Vec::new(),
            leaves: Vec::new(),
            rows: empty_rows(),
            waiting: (0..LEVELS).map(|_| BTreeSet::new()).collect(),
            waits: 0,
            direct: Fifo::default(),
            now: Instant::ZERO,
            salt,
            random,
            len: 0,
            bytes: 0,
            beside: Stats::default(),
            overlimits: 0,
            direct_packets: 0,
            config,
        };
        htb.classes = htb.fresh_classes();
        for class in &htb.config.classes {
            let inner = class.leaf.clone();
            htb.leaves.push(inner.map(|inner| Leaf::new(inner, class.minor, salt, &mut htb.random)));
        }
        htb
    }

    /// The classes of the configuration with full buckets, none of them active.
    fn fresh_classes(&self) -> Vec<Class> {
        let now = self.clock();
        let class = |class: &HtbClass<Q::Config>| Class {
            level: self.config.level(class.minor),
            ..Class::new(class.terms, self.config.index(class.parent), now)
        };
        self.config.classes.iter().map(class).collect()
    }

    /// The time as the buckets count it.
    fn clock(&self) -> u64 {
        self.now.as_nanos()
    }

    fn class(&self, index: Index) -> Option<&Class> {
        self.classes.get(index as usize)
    }

    fn class_mut(&mut self, index: Index) -> Option<&mut Class> {
        self.classes.get_mut(index as usize)
    }

    fn leaf_mut(&mut self, index: Index) -> Option<&mut Leaf<P, Q>> {
        self.leaves.get_mut(index as usize)?.as_mut()
    }

    /// The leaf that takes `packet`; `None`: straight through.
    fn classify(&self, packet: &P) -> Option<Index> {
        let leaf = |minor| {
            let position = self.config.position(minor)?;
            self.leaves.get(position)?.as_ref()?;
            Index::try_from(position).ok()
        };
        match packet.class() {
            // Linux `htb_classify()`: the handle of the discipline itself selects no class.
            Some(0) => None,
            chosen => chosen.and_then(leaf).or_else(|| leaf(self.config.default)),
        }
    }

    /// Puts `index`, whose mode is new, into the rows or the feeds of its ancestors at its active
    /// priorities.
    fn join(&mut self, index: Index) {
        let mut index = index;
        let Some(mut mask) = self.class(index).map(|class| class.active) else { return };
        loop {
            let Some(class) = self.class(index) else { return };
            let mode = class.mode;
            let level = class.level;
            let parent = class.parent;
            match (mode, parent) {
                _ if mask == 0 => return,
                (Mode::MayBorrow, Some(above)) => {
                    let Some(lender) = self.class_mut(above) else { return };
                    for prio in prios(mask) {
                        let Some(feed) = lender.feed.get_mut(prio) else { continue };
                        if !feed.classes.is_empty() {
                            // The classes above know of this feed already.
                            mask &= !(1 << prio);
                        }
                        feed.classes.insert(index);
                    }
                    lender.active |= mask;
                    index = above;
                }
                (Mode::CanSend, _) => {
                    for prio in prios(mask) {
                        if let Some(row) = self.rows.get_mut(level).and_then(|row| row.get_mut(prio)) {
                            row.classes.insert(index);
                        }
                    }
                    return;
                }
                _ => return,
            }
        }
    }

    /// Takes `index`, whose mode is still the old one, out of rows and feeds.
    fn part(&mut self, index: Index) {
        let mut index = index;
        let Some(mut mask) = self.class(index).map(|class| class.active) else { return };
        loop {
            let Some(class) = self.class(index) else { return };
            let mode = class.mode;
            let level = class.level;
            let parent = class.parent;
            match (mode, parent) {
                _ if mask == 0 => return,
                (Mode::MayBorrow, Some(above)) => {
                    let Some(lender) = self.class_mut(above) else { return };
                    let mut emptied = 0;
                    for prio in prios(mask) {
                        let Some(feed) = lender.feed.get_mut(prio) else { continue };
                        if feed.at == Some(index) {
                            // Linux forgets the class but remembers its number, so that the turn
                            // resumes behind it.
                            (feed.at, feed.left) = (None, Some(index));
                        }
                        feed.classes.remove(&index);
                        if feed.classes.is_empty() {
                            emptied |= 1 << prio;
                        }
                    }
                    mask = emptied;
                    lender.active &= !mask;
                    index = above;
                }
                (Mode::CanSend, _) => {
                    for prio in prios(mask) {
                        let Some(row) = self.rows.get_mut(level).and_then(|row| row.get_mut(prio)) else {
                            continue;
                        };
                        if row.at == Some(index) {
                            row.pass();
                        }
                        row.classes.remove(&index);
                    }
                    return;
                }
                _ => return,
            }
        }
    }

    fn activate(&mut self, index: Index) {
        if let Some(class) = self.class_mut(index).filter(|class| class.active == 0) {
            class.active = 1 << class.terms.prio;
            self.join(index);
        }
    }

    fn deactivate(&mut self, index: Index) {
        if self.class(index).is_some_and(|class| class.active != 0) {
            self.part(index);
            if let Some(class) = self.class_mut(index) {
                class.active = 0;
            }
        }
    }

    /// True if class `index` has tokens, or may borrow from a class that has some.
    fn may_send(&self, index: Index) -> bool {
        let mut next = Some(index);
        while let Some(class) = next.and_then(|above| self.class(above)) {
            match class.mode {
                Mode::CanSend => return true,
                Mode::MayBorrow => next = class.parent,
                Mode::CannotSend => return false,
            }
        }
        false
    }

    /// Gives class `index` the mode that it has after `elapsed`. Returns how long that mode lasts.
    fn change_mode(&mut self, index: Index, elapsed: i64) -> i64 {
        let Some(class) = self.class(index) else { return 0 };
        let old = class.mode;
        let active = class.active != 0;
        let (new, lasts) = class.mode_after(elapsed);
        if new == old {
            return lasts;
        }
        self.overlimits = self.overlimits.wrapping_add(u64::from(new == Mode::CannotSend));
        if active && old != Mode::CannotSend {
            self.part(index);
        }
        if let Some(changed) = self.class_mut(index) {
            changed.mode = new;
        }
        if active && new != Mode::CannotSend {
            self.join(index);
        }
        lasts
    }

    fn wait(&mut self, index: Index, span: i64) {
        // At least a nanosecond ahead, as in Linux `htb_add_to_wait_tree()`.
        let due = self.clock().saturating_add(span.max(1).unsigned_abs());
        self.waits = self.waits.wrapping_add(1);
        let place = (due, self.waits);
        let Some(class) = self.class_mut(index) else { return };
        class.wait = Some(place);
        let level = class.level;
        if let Some(waiting) = self.waiting.get_mut(level) {
            waiting.insert((place.0, place.1, index));
        }
    }

    fn wait_no_more(&mut self, index: Index) {
        let Some(class) = self.class_mut(index) else { return };
        let level = class.level;
        if let Some((due, number)) = class.wait.take()
            && let Some(waiting) = self.waiting.get_mut(level)
        {
            waiting.remove(&(due, number, index));
        }
    }

    /// Changes of mode that are due at `level`: at most one for each class, since each lasts.
    fn change_due_modes(&mut self, level: usize) {
        let now = self.clock();
        let bound = self.classes.len();
        for _ in 0..bound {
            let first = self.waiting.get(level).and_then(|waiting| waiting.first().copied());
            let Some((_, _, index)) = first.filter(|first| first.0 <= now) else { return };
            self.wait_no_more(index);
            let Some(elapsed) = self.class(index).map(|class| class.elapsed(now)) else { return };
            let lasts = self.change_mode(index, elapsed);
            if self.class(index).is_some_and(|class| class.mode != Mode::CanSend) {
                self.wait(index, lasts);
            }
        }
    }

    /// Books a packet of `bytes` that `leaf` sent, borrowing from `level`: every class on the way
    /// up pays at its ceiling, those from `level` on at their rate.
    fn charge(&mut self, leaf: Index, level: usize, bytes: u32) {
        let now = self.clock();
        let mut next = Some(leaf);
        while let Some(index) = next {
            let Some(class) = self.class_mut(index) else { return };
            let terms = class.terms;
            let elapsed = class.elapsed(now);
            match class.level.cmp(&level) {
                Ordering::Less => class.borrowed = class.borrowed.wrapping_add(1),
                Ordering::Equal => class.lended = class.lended.wrapping_add(1),
                Ordering::Greater => {}
            }
            class.tokens = if class.level >= level {
                charged(class.tokens, elapsed, terms.depth, terms.rate.nanos(bytes))
            } else {
                // The depth is no bound here (Linux `htb_charge_class()`).
                class.tokens.saturating_add(elapsed)
            };
            class.ctokens = charged(class.ctokens, elapsed, terms.cdepth, terms.ceil.nanos(bytes));
            class.filled_at = now;
            let old = class.mode;
            next = class.parent;
            // The tokens are those of now, so no time has elapsed.
            let lasts = self.change_mode(index, 0);
            let Some(new) = self.class(index).map(|changed| changed.mode) else { return };
            if old != new {
                if old != Mode::CanSend {
                    self.wait_no_more(index);
                }
                if new != Mode::CanSend {
                    self.wait(index, lasts);
                }
            }
        }
    }

    /// The row or feed below which a search is.
    fn turn(&mut self, place: Place, prio: usize) -> Option<&mut Turn> {
        match place {
            Place::Row(level) => self.rows.get_mut(level)?.get_mut(prio),
            Place::Feed(index) => self.class_mut(index)?.feed.get_mut(prio),
        }
    }

    /// The leaf whose turn it is, down from the row of `level`.
    fn leaf_in_turn(&mut self, level: usize, prio: usize) -> Option<Index> {
        let mut path = [Place::Row(level); LEVELS + 1];
        let mut depth = 0;
        // Each step goes down, or up at the end of a feed: no feed is looked at more than twice.
        for _ in 0..4 * LEVELS + 4 {
            let place = *path.get(depth)?;
            let turn = self.turn(place, prio)?;
            if turn.at.is_none()
                && let Some(left) = turn.left
            {
                turn.at = turn.classes.range(left..).next().copied();
            }
            turn.left = None;
            let Some(at) = turn.at else {
                // At the end: from the first one again, and the turn passes one level up.
                turn.at = Some(*turn.classes.first()?);
                if depth > 0 {
                    depth -= 1;
                    let above = *path.get(depth)?;
                    self.turn(above, prio)?.pass();
                }
                continue;
            };
            if self.class(at)?.level == 0 {
                return Some(at);
            }
            depth += 1;
            *path.get_mut(depth)? = Place::Feed(at);
        }
        None
    }

    /// The turn at `level` passes on from leaf `index`.
    fn pass_turn(&mut self, index: Index, level: usize, prio: usize) {
        let place = match self.class(index).and_then(|class| class.parent) {
            Some(parent) if level > 0 => Place::Feed(parent),
            _ => Place::Row(0),
        };
        if let Some(turn) = self.turn(place, prio) {
            turn.pass();
        }
    }

    fn dequeue_from(&mut self, level: usize, prio: usize, drops: &mut impl Drops<P>) -> Option<P> {
        let mut start = self.leaf_in_turn(level, prio)?;
        let mut index = start;
        // Once round at most; leaves that turn out empty shorten the round.
        for _ in 0..=self.classes.len() {
            let now = self.now;
            let leaf = self.leaf_mut(index)?;
            let before = leaf.load();
            let packet = if before.packets > 0 { leaf.dequeue(now, drops) } else { None };
            self.settle(index, before);
            let empty = self.leaf_mut(index)?.is_empty();
            if let Some(packet) = packet {
                let bytes = packet.len();
                let class = self.class_mut(index)?;
                let quantum = i64::from(class.terms.quantum);
                let deficit = class.deficit.get_mut(level)?;
                *deficit = deficit.saturating_sub(i64::from(bytes));
                if *deficit < 0 {
                    *deficit = deficit.saturating_add(quantum);
                    self.pass_turn(index, level, prio);
                }
                if empty {
                    self.deactivate(index);
                }
                self.charge(index, level, bytes);
                return Some(packet);
            }
            if empty {
                self.deactivate(index);
                let next = self.leaf_in_turn(level, prio)?;
                if index == start {
                    start = next;
                }
                index = next;
                continue;
            }
            // It has packets, but not now.
            self.pass_turn(index, level, prio);
            index = self.leaf_in_turn(level, prio)?;
            if index == start {
                return None;
            }
        }
        None
    }

    /// Brings the totals up to date after leaf `index` held `before`.
    fn settle(&mut self, index: Index, before: Load) {
        let Some(leaf) = self.leaf_mut(index) else { return };
        let after = leaf.load();
        self.len = (self.len + after.packets).saturating_sub(before.packets);
        self.bytes = self.bytes.saturating_add(after.bytes).saturating_sub(before.bytes);
    }

    /// Forgets which classes are active or wait, and fills the buckets. The counters stay.
    fn forget(&mut self) {
        let fresh = self.fresh_classes();
        let before = core::mem::replace(&mut self.classes, fresh);
        for (class, counted) in self.classes.iter_mut().zip(before) {
            (class.lended, class.borrowed) = (counted.lended, counted.borrowed);
        }
        self.rows = empty_rows();
        self.waiting = (0..LEVELS).map(|_| BTreeSet::new()).collect();
    }

    fn drop_direct(&mut self, why: DropReason, drops: &mut impl Drops<P>) -> bool {
        let queued = if why == DropReason::Purged { self.direct.pop_front() } else { self.direct.pop_back() };
        let Some(packet) = queued.map(|queued| queued.packet) else { return false };
        self.len = self.len.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(u64::from(packet.len()));
        self.beside.dropped_after.add(packet.len());
        drops.dropped(packet, why);
        true
    }
}

#[derive(Clone, Copy)]
enum Place {
    Row(usize),
    Feed(Index),
}

impl<P: Packet + Flow, Q: Inner<P>> Build<P, Source> for Htb<P, Q> {
    fn build(config: HtbConfig<Q::Config>, salt: u32, random: Source) -> Self {
        Self::new(config, salt, random)
    }
}

impl<P: Packet + Flow, Q: Inner<P>> Qdisc<P> for Htb<P, Q> {
    type Config = HtbConfig<Q::Config>;

    fn enqueue(&mut self, now: Instant, packet: P, drops: &mut impl Drops<P>) {
        self.now = self.now.max(now);
        let clock = self.now;
        let bytes = packet.len();
        let Some(index) = self.classify(&packet) else {
            self.beside.offered.add(bytes);
            if self.direct.len() >= self.config.direct_qlen as usize {
                self.beside.dropped_before.add(bytes);
                drops.dropped(packet, DropReason::Overlimit);
                return;
            }
            self.beside.enqueued.add(bytes);
            self.direct_packets = self.direct_packets.wrapping_add(1);
            self.len += 1;
            self.bytes = self.bytes.saturating_add(u64::from(bytes));
            self.direct.push_back(clock, packet);
            return;
        };
        let Some(leaf) = self.leaf_mut(index) else { return };
        let before = leaf.load();
        leaf.enqueue(clock, packet, drops);
        let queued = !leaf.is_empty();
        self.settle(index, before);
        if queued {
            self.activate(index);
        }
    }

    fn dequeue(&mut self, now: Instant, drops: &mut impl Drops<P>) -> Option<P> {
        self.now = self.now.max(now);
        if let Some(queued) = self.direct.pop_front() {
            let bytes = queued.packet.len();
            self.len = self.len.saturating_sub(1);
            self.bytes = self.bytes.saturating_sub(u64::from(bytes));
            self.beside.dequeued.add(bytes);
            return Some(queued.packet);
        }
        if self.len == 0 {
            return None;
        }
        for level in 0..LEVELS {
            self.change_due_modes(level);
            for prio in 0..PRIOS {
                let turn = self.rows.get(level).and_then(|row| row.get(prio));
                if turn.is_none_or(|turn| turn.classes.is_empty()) {
                    continue;
                }
                if let Some(packet) = self.dequeue_from(level, prio, drops) {
                    return Some(packet);
                }
            }
        }
        None
    }

    fn next_event(&self, now: Instant) -> Option<Instant> {
        if self.len == 0 {
            return None;
        }
        let now = self.now.max(now);
        let change = self.waiting.iter().filter_map(|waiting| waiting.first()).map(|first| first.0).min();
        let change = change.map(|due| Instant::from_nanos(due).max(now + Duration::from_nanos(1)));
        // A class without tokens does not dequeue from its leaf. The leaf's own events therefore
        // matter only after `change`.
        let leaves = (0..).zip(&self.leaves).filter_map(|(index, leaf)| Some((index, leaf.as_ref()?)));
        let asked = leaves.filter(|(index, leaf)| !leaf.is_empty() && self.may_send(*index));
        asked.fold(change, |first, (_, leaf)| nesting::earlier(first, leaf.next_event(now)))
    }

    fn len(&self) -> usize {
        self.len
    }

    fn backlog(&self) -> u64 {
        self.bytes
    }

    fn stats(&self) -> Stats {
        let mut stats = self.beside;
        for leaf in self.leaves.iter().flatten() {
            stats = stats.plus(&leaf.stats());
        }
        stats
    }

    fn reconfigure(&mut self, now: Instant, config: HtbConfig<Q::Config>, drops: &mut impl Drops<P>) {
        self.now = self.now.max(now);
        if config != self.config {
            self.change(config, drops);
        }
    }

    fn config(&self) -> HtbConfig<Q::Config> {
        self.config.clone()
    }

    fn purge(&mut self, now: Instant, drops: &mut impl Drops<P>) {
        self.now = self.now.max(now);
        while self.drop_direct(DropReason::Purged, drops) {}
        let clock = self.now;
        for leaf in self.leaves.iter_mut().flatten() {
            leaf.purge(clock, drops);
        }
        (self.len, self.bytes) = (0, 0);
        self.forget();
    }
}

impl<P: Packet + Flow, Q: Inner<P>> Lookahead<P> for Htb<P, Q> {
    const RULES: &'static [&'static [Rule]] = &[RULES];

    fn other_flow(&self, packet: &P) -> Option<&P> {
        self.leaves.get(self.classify(packet)? as usize)?.as_ref()?.other_flow(packet)
    }

    fn evidence(&self, question: &Question<'_, P>) -> Evidence {
        let mut evidence = Evidence::from_kind(HtbConfig::<Q::Config>::KIND.name);
        let index = self.classify(question.packet).map(|index| index as usize);
        let class = index.and_then(|index| self.config.classes.get(index));
        if let Some(class) = class {
            evidence.given("class", Quantity::Number(u64::from(class.minor)), "the class of this packet");
            evidence.given(RATE.name, Quantity::Rate(class.rate), "rate that it is guaranteed");
            evidence.given(CEIL.name, Quantity::Rate(class.ceil), "rate up to which it may borrow");
        } else {
            evidence.rule(DIRECT, SOURCE, &[]);
        }
        let about = &question.about;
        if let Some(state) = index.and_then(|index| self.classes.get(index)) {
            let elapsed = state.elapsed(about.now.as_nanos());
            let seconds = |tokens: i64| Quantity::Difference(tokens.saturating_add(elapsed) as f64 / 1e9);
            evidence.fact("tokens", seconds(state.tokens), "time at its rate that it has saved, or owes");
            evidence.fact("ctokens", seconds(state.ctokens), "the same at its ceil");
            let is_sent = about.is_end() && !matches!(about.fate, Fate::Dropped(_));
            if about.moment == Moment::Departure && is_sent {
                let rule = match state.mode_after(elapsed).0 {
                    Mode::CanSend => OWN_RATE,
                    Mode::MayBorrow => BORROWED,
                    Mode::CannotSend => ABOVE_CEIL,
                };
                evidence.rule(rule, SOURCE, &[]);
            }
        }
        let leaf = index.and_then(|index| self.leaves.get(index)?.as_ref());
        evidence.with_inner(leaf.map(|leaf| leaf.evidence(question)))
    }
}

/// Source of the rules in stories.
const SOURCE: &str = "tc-htb(8), LINK SHARING ALGORITHM";

impl<P: Packet + Flow, Q: Inner<P>> Observe for Htb<P, Q> {
    fn observe(&self, now: Instant, seen: &mut Observation) {
        seen.overlimits = self.overlimits;
        seen.number(DIRECT_PACKETS, self.direct_packets);
        for ((config, class), leaf) in self.config.classes.iter().zip(&self.classes).zip(&self.leaves) {
            let gauges = vec![
                ("lended", Gauge::Number(class.lended)),
                ("borrowed", Gauge::Number(class.borrowed)),
                ("tokens", Gauge::tokens(class.tokens)),
                ("ctokens", Gauge::tokens(class.ctokens)),
            ];
            seen.parts.push(Part { class: config.minor, parent: config.parent, gauges });
            if let Some(leaf) = leaf {
                seen.children.push((config.minor, leaf.observe(now)));
            }
        }
    }
}

impl<P: Packet + Flow, Q: Inner<P>> Inner<P> for Htb<P, Q> {}

/// Linux `TC_HTB_NUMPRIO`.
const PRIOS: usize = 8;
/// Nanoseconds beyond which debts are forgotten.
const LONGEST_WAIT: i64 = 60_000_000_000;

rules! {
    /// Rules of HTB.
    RULES;
    /// No class takes the packet.
    DIRECT: "htb.direct" [];
    /// The class sends at its own rate.
    OWN_RATE: "htb.own_rate" [];
    /// The class borrows.
    BORROWED: "htb.borrowed" [];
    /// The class was above its ceil until now.
    ABOVE_CEIL: "htb.above_ceil" [];
}

#[cfg(test)]
mod tests;
