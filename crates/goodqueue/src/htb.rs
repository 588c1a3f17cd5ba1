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
//! M. Devera, "Hierarchical token bucket theory", 2002; tc-htb(8); behaviour of Linux 7.3
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
//! | `variant` | `linux`: Linux 7.3, whose tc hardly rounds times. `linux61`: Linux 6.1, whose tc rounds times down | word | linux | | |
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
//! `linux`: the depth of a bucket in time is rounded up to units of 64 ns.
//!
//! `linux61`: the depth of a bucket in time is rounded down, first to microseconds and then to
//! units of 64 ns.
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
mod class;
mod config;
mod tree;

use alloc::vec;
use alloc::vec::Vec;

use class::{Class, Mode, PRIOS};
use config::{CEIL, DIRECT_PACKETS, Index, LEVELS, RATE};
pub use config::{HtbClass, HtbConfig};
use tree::Tree;

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
    tree: Tree,
    /// The discipline of each class that is a leaf.
    leaves: Vec<Option<Leaf<P, Q>>>,
    direct: Fifo<P>,
    now: Instant,
    salt: u32,
    random: Source,
    len: usize,
    bytes: u64,
    /// Packets of no class, and the counters of deleted leaves.
    beside: Stats,
    /// Packets of no class.
    direct_packets: u64,
}

impl<P: Packet + Flow, Q: Inner<P>> Htb<P, Q> {
    /// Full buckets and nothing queued.
    #[must_use]
    pub fn new(config: HtbConfig<Q::Config>, salt: u32, random: Source) -> Self {
        let mut htb = Self {
            tree: Tree::with_idle(Vec::new()),
            leaves: Vec::new(),
            direct: Fifo::default(),
            now: Instant::ZERO,
            salt,
            random,
            len: 0,
            bytes: 0,
            beside: Stats::default(),
            direct_packets: 0,
            config,
        };
        htb.tree = Tree::with_idle(htb.fresh_classes());
        for class in &htb.config.classes {
            let inner = class.leaf.clone();
            htb.leaves.push(inner.map(|inner| Leaf::new(inner, class.minor, salt, &mut htb.random)));
        }
        htb
    }

    /// The classes of the configuration with full buckets, none of them active.
    fn fresh_classes(&self) -> Vec<Class> {
        let now = self.now.as_nanos();
        let class = |class: &HtbClass<Q::Config>| Class {
            level: self.config.level(class.minor),
            ..Class::new(class.terms, self.config.index(class.parent), now)
        };
        self.config.classes.iter().map(class).collect()
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

    fn dequeue_from(&mut self, level: usize, prio: usize, drops: &mut impl Drops<P>) -> Option<P> {
        let mut start = self.tree.leaf_in_turn(level, prio)?;
        let mut index = start;
        // Once round at most; leaves that turn out empty shorten the round.
        for _ in 0..=self.tree.classes.len() {
            let now = self.now;
            let leaf = self.leaf_mut(index)?;
            let before = leaf.load();
            let packet = if before.packets > 0 { leaf.dequeue(now, drops) } else { None };
            self.settle(index, before);
            let empty = self.leaf_mut(index)?.is_empty();
            if let Some(packet) = packet {
                let bytes = packet.len();
                let class = self.tree.class_mut(index)?;
                let quantum = i64::from(class.terms.quantum);
                let deficit = class.deficit.get_mut(level)?;
                // As in Linux, the turn ends only below 0: a leaf overdraws by at most one packet,
                // and owes it in its next turn.
                *deficit = deficit.saturating_sub(i64::from(bytes));
                if *deficit < 0 {
                    *deficit = deficit.saturating_add(quantum);
                    self.tree.pass_turn(index, level, prio);
                }
                if empty {
                    // As in Linux, an empty leaf is deactivated before it is charged.
                    self.tree.deactivate(index);
                }
                self.tree.charge(index, level, bytes, now.as_nanos());
                return Some(packet);
            }
            if empty {
                self.tree.deactivate(index);
                let next = self.tree.leaf_in_turn(level, prio)?;
                if index == start {
                    start = next;
                }
                index = next;
                continue;
            }
            // It has packets, but not now.
            self.tree.pass_turn(index, level, prio);
            index = self.tree.leaf_in_turn(level, prio)?;
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
        // Added first, so that the difference does not stop at 0.
        self.len = (self.len + after.packets).saturating_sub(before.packets);
        self.bytes = self.bytes.saturating_add(after.bytes).saturating_sub(before.bytes);
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

impl<P: Packet + Flow, Q: Inner<P>> Build<P, Source> for Htb<P, Q> {
    fn build(config: HtbConfig<Q::Config>, salt: u32, random: Source) -> Self {
        Self::new(config, salt, random)
    }
}

impl<P: Packet + Flow, Q: Inner<P>> Qdisc<P> for Htb<P, Q> {
    type Config = HtbConfig<Q::Config>;

    fn enqueue(&mut self, now: Instant, packet: P, drops: &mut impl Drops<P>) {
        // Rule 1 of the contract: a time before the latest one counts as the latest.
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
            self.tree.activate(index);
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
        // Leaves with tokens of their own are in the rows of level 0, and so come before those that
        // borrow.
        for level in 0..LEVELS {
            self.tree.change_due_modes(level, self.now.as_nanos());
            for prio in 0..PRIOS {
                if !self.tree.has_turn(level, prio) {
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
        let change =
            // A change that is due already happens at the next dequeue. A time that has passed
            // would make the caller ask for ever.
            self.tree.next_change().map(|due| Instant::from_nanos(due).max(now + Duration::from_nanos(1)));
        // A class without tokens does not dequeue from its leaf. The leaf's own events therefore
        // matter only after `change`.
        let leaves = (0..).zip(&self.leaves).filter_map(|(index, leaf)| Some((index, leaf.as_ref()?)));
        let asked = leaves.filter(|(index, leaf)| !leaf.is_empty() && self.tree.may_send(*index));
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
        self.tree.restart();
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
        if let Some(state) = index.and_then(|index| self.tree.classes.get(index)) {
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
        seen.overlimits = self.tree.overlimits;
        seen.number(DIRECT_PACKETS, self.direct_packets);
        for ((config, class), leaf) in self.config.classes.iter().zip(&self.tree.classes).zip(&self.leaves) {
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
