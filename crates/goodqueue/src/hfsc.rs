//! Hierarchical fair service curve: `hfsc`.
//!
//! # What it does
//! A tree of classes. A leaf may have a real-time curve: the bytes that it is guaranteed to send
//! within any time after it has become active. A curve has two slopes, so that a class can have a
//! short delay at a low rate. What the guarantees leave is shared by the link-sharing curves, level
//! by level. An upper-limit curve bounds what a class gets by its share.
//!
//! # Reference
//! I. Stoica, H. Zhang and T. S. E. Ng, "A Hierarchical Fair Service Curve Algorithm for
//! Link-Sharing, Real-Time and Priority Services", SIGCOMM 1997; tc-hfsc(7); behaviour of Linux 6.1
//! `net/sched/sch_hfsc.c`.
//!
//! # State
//! ```text
//! eligible: active leaves with a guarantee, by the time from which on they need it     deadline: of each leaf's next packet
//! each class: virtual time (what it has sent, by its link-sharing curve), fit time (when its upper limit lets it send)
//! dequeue: of the eligible leaves the one with the first deadline;
//!          without one, from the root down the child with the smallest virtual time that fits
//! ```
//!
//! # Parameters
//! | name | meaning | unit | default | source of the default | range |
//! |---|---|---|---|---|---|
//! | `default` | class of packets that have none; 0: they are dropped if there are classes | class, hexadecimal | 0 | tc | |
//! | class `rt m1` | guaranteed rate of the first `d` | rate | 0bit | tc | 0bit to 34359738367bit |
//! | class `rt d` | time for which `m1` holds when the class becomes active | time | 0us | tc | 0 to 4294967295us |
//! | class `rt m2` | guaranteed rate after `d` | rate | none | tc | 0bit to 34359738367bit |
//! | class `rt umax` | bytes that are sent within `dmax` | bytes | 0 | tc | 0 to 4294967295 |
//! | class `rt dmax` | time within which `umax` bytes are sent | time | 0us | tc | 0 to 4294967295us |
//! | class `rt rate` | guaranteed rate, in place of `m2` | rate | none | tc | 0bit to 34359738367bit |
//! | class `ls m1` | share in the first `d` | rate | 0bit | tc | 0bit to 34359738367bit |
//! | class `ls d` | time for which `m1` holds when the class becomes active | time | 0us | tc | 0 to 4294967295us |
//! | class `ls m2` | share after `d` | rate | none | tc | 0bit to 34359738367bit |
//! | class `ls umax` | bytes that have the share of `umax` within `dmax` | bytes | 0 | tc | 0 to 4294967295 |
//! | class `ls dmax` | time of `umax` | time | 0us | tc | 0 to 4294967295us |
//! | class `ls rate` | share, in place of `m2` | rate | none | tc | 0bit to 34359738367bit |
//! | class `sc m1` | `rt m1` and `ls m1` together | rate | 0bit | tc | 0bit to 34359738367bit |
//! | class `sc d` | `rt d` and `ls d` together | time | 0us | tc | 0 to 4294967295us |
//! | class `sc m2` | `rt m2` and `ls m2` together | rate | none | tc | 0bit to 34359738367bit |
//! | class `sc umax` | `rt umax` and `ls umax` together | bytes | 0 | tc | 0 to 4294967295 |
//! | class `sc dmax` | `rt dmax` and `ls dmax` together | time | 0us | tc | 0 to 4294967295us |
//! | class `sc rate` | `rt rate` and `ls rate` together | rate | none | tc | 0bit to 34359738367bit |
//! | class `ul m1` | upper limit of the share in the first `d` | rate | 0bit | tc | 0bit to 34359738367bit |
//! | class `ul d` | time for which `m1` holds when the class becomes active | time | 0us | tc | 0 to 4294967295us |
//! | class `ul m2` | upper limit of the share after `d` | rate | none | tc | 0bit to 34359738367bit |
//! | class `ul umax` | bytes that the class may send within `dmax` | bytes | 0 | tc | 0 to 4294967295 |
//! | class `ul dmax` | time of `umax` | time | 0us | tc | 0 to 4294967295us |
//! | class `ul rate` | upper limit, in place of `m2` | rate | none | tc | 0bit to 34359738367bit |
//!
//! Classes are written in brackets: `hfsc default 20 [1 ls m2 10mbit [10 rt m1 2mbit d 10ms m2
//! 1mbit ls m2 1mbit: pfifo limit 30] [20 ls m2 8mbit ul m2 9mbit: fq_codel]]`. The words `rt`,
//! `ls`, `ul` and `sc` stand once, in front of their curve. A leaf without a discipline holds a
//! `pfifo` of 1000 packets.
//!
//! # Deviations
//! As in Linux, a packet goes to the leaf that [`Flow::class`] names, else to the `default` leaf,
//! else it is dropped. There are no filters. As in Linux, all packets go through one `pfifo` of
//! 1000 packets if there is no class, and a class with classes below it that has `rt` alone also
//! shares by this curve. As in Linux, no other class is served while the chosen class's discipline
//! holds its packets back.
//!
//! If that discipline drops all that it had, Linux serves nobody until the next packet arrives;
//! here the next class is served. If it drops all but one packet when Linux looks at the next one,
//! and the class was served by its share, Linux forgets the class; here it stays active. A class
//! that changes its place or loses a curve starts anew and drops its packets; in Linux a class
//! cannot do so. tc multiplies `umax` in 32 bits and is wrong above 4294 bytes; here it is right.
//!
//! The paper lowers the curve of a class that becomes active to the minimum of the curve and its
//! restarted form. As in Linux, a convex curve that is below its restarted form stays as it is,
//! also where the two cross later. So a convex upper limit can let a class send more than the
//! restarted form allows. As in Linux, a changed upper limit of a class with classes below it has
//! no effect before the class sends a packet or becomes active again. A changed `ls` curve gives a
//! class once more the virtual time that it was given while its upper limit held it back.
//!
//! # Cost
//! Per packet, the depth of the tree times the logarithm of the number of classes, and a look at
//! all eligible classes and at those that do not fit.
//!
//! # Example
//! ```
//! use goodqueue::hfsc::{Curve, Curves, HfscConfig};
//! use goodqueue::{AnyConfig, Configure, Duration, Link, Rate, Settings, fifo::PfifoConfig};
//! let [fast, slow] = [2_000_000, 100_000].map(Rate::from_bps);
//! // 2 Mbit/s for the first 5 ms, so that the first packet of a call is sent at once.
//! let voice = Curves { rt: Some(Curve::new([fast, slow], Duration::from_millis(5))?), ..Curves::default() };
//! let bulk = Curves { ls: Some(Curve::from_rate(fast)?), ..Curves::default() };
//! let queue = AnyConfig::from(PfifoConfig::new(30)?);
//! let config = HfscConfig::<AnyConfig>::from_settings(&Settings::new(), &Link::default())?
//!     .with_leaf(1, 0, &voice, &queue)?
//!     .with_leaf(2, 0, &bulk, &queue)?
//!     .with_default(2)?;
//! assert_eq!(config.classes().len(), 2);
//! # Ok::<(), goodqueue::ConfigError>(())
//! ```

mod config;
mod curve;
mod tree;

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

pub use config::{Curves, HfscClass, HfscConfig};
pub use curve::Curve;
use tree::{Choice, Node, Times, Tree};

use crate::config::{Build, Configure as _};
use crate::decision::{Evidence, Fate, Moment, Quantity, Question, Rule, rules};
use crate::gauge::{Gauge, Observation, Observe, Part};
use crate::leaf::{Leaf, Load};
use crate::nesting::{self, Inner, InnerConfig as _};
use crate::packet::{Flow, Packet};
use crate::qdisc::{DropReason, Drops, Lookahead, Qdisc, Stats};
use crate::random::Source;
use crate::time::Instant;

/// Hierarchical fair service curves.
#[derive(Clone, Debug)]
pub struct Hfsc<P, Q: Qdisc<P>> {
    config: HfscConfig<Q::Config>,
    tree: Tree,
    /// The discipline of each leaf, by number. Without any class, the root is a leaf.
    leaves: BTreeMap<u32, Leaf<P, Q>>,
    now: Instant,
    salt: u32,
    random: Source,
    len: usize,
    bytes: u64,
    /// Packets of no class, and the counters of deleted leaves.
    beside: Stats,
    /// Number of times that no class might send.
    overlimits: u64,
    /// When the next class might send, in ticks, the last time that none might. As in Linux, the
    /// timer is set then, and no packet stops it.
    timer: u64,
}

impl<P: Packet + Flow, Q: Inner<P>> Hfsc<P, Q> {
    /// Passive classes and nothing queued.
    #[must_use]
    pub fn new(config: HfscConfig<Q::Config>, salt: u32, random: Source) -> Self {
        let mut hfsc = Self {
            tree: Tree::new(),
            leaves: BTreeMap::new(),
            now: Instant::ZERO,
            salt,
            random,
            len: 0,
            bytes: 0,
            beside: Stats::default(),
            overlimits: 0,
            timer: 0,
            config,
        };
        hfsc.add_new_classes(|_| true);
        hfsc
    }

    /// Adds the classes of the configuration that are new.
    fn add_new_classes(&mut self, is_new: impl Fn(u32) -> bool) {
        let has_classes = !self.config.classes.is_empty();
        self.tree.set_root(has_classes);
        if !has_classes && !self.leaves.contains_key(&ROOT) {
            self.leaves.insert(ROOT, Leaf::new(Q::Config::usual(), ROOT, self.salt, &mut self.random));
        }
        for class in &self.config.classes {
            let minor = class.minor;
            if !is_new(minor) {
                continue;
            }
            let node = Node::new(class.parent, class.leaf.is_none(), &self.config.curves(minor));
            self.tree.add(minor, node);
            if let Some(inner) = class.leaf.clone() {
                self.leaves.insert(minor, Leaf::new(inner, minor, self.salt, &mut self.random));
            }
        }
    }

    const fn ticks(&self) -> u64 {
        self.now.as_nanos() / NANOS_PER_TICK
    }

    /// The leaf that takes `packet`, if any does.
    fn classify(&self, packet: &P) -> Option<u32> {
        let is_leaf = |minor: &u32| self.leaves.contains_key(minor);
        // As in Linux, a packet of an inner class, or of none, goes to the default class.
        packet.class().filter(is_leaf).or_else(|| Some(self.config.default).filter(is_leaf))
    }

    /// Brings the totals up to date after a leaf that held `before` holds `after`.
    fn settle(&mut self, before: Load, after: Load) {
        self.len = (self.len + after.packets).saturating_sub(before.packets);
        self.bytes = self.bytes.saturating_add(after.bytes).saturating_sub(before.bytes);
    }

    /// Looks at the next packet of a leaf, as Linux does where a deadline depends on its length.
    /// Returns its length, and what the leaf held before and after.
    fn peek(&mut self, class: u32, drops: &mut impl Drops<P>) -> Option<(u32, Load, Load)> {
        let now = self.now;
        let leaf = self.leaves.get_mut(&class)?;
        let before = leaf.load();
        // A discipline that gives nothing now counts as one with a packet of no bytes.
        let len = leaf.peek_len(now, drops).unwrap_or(0);
        let after = leaf.load();
        self.settle(before, after);
        Some((len, before, after))
    }

    /// Computes the deadline of the packet behind the one that the class has sent.
    fn plan_next(&mut self, choice: Choice, drops: &mut impl Drops<P>) {
        let Some((len, before, after)) = self.peek(choice.class, drops) else { return };
        let has_dropped = after.packets < before.packets;
        // The discipline tells its parent at the drop that it is empty. In Linux, the packet at
        // which the parent looks does not count then.
        if after.packets == 0 || has_dropped && after.packets == 1 && choice.is_real_time {
            self.tree.deactivate(choice.class);
        }
        if after.packets > 0 {
            self.tree.continues(choice, len);
        }
    }

    /// Removes a leaf, or a class without active children.
    fn close(&mut self, minor: u32, drops: &mut impl Drops<P>) {
        if let Some(mut leaf) = self.leaves.remove(&minor) {
            self.settle(leaf.load(), Load::default());
            leaf.purge(self.now, drops);
            self.beside = self.beside.plus(&leaf.stats());
            self.tree.deactivate(minor);
        }
        // The root stays a node: it is the parent of the classes that replace it.
        if minor != ROOT {
            self.tree.remove(minor);
        }
    }

    /// Takes new curves and disciplines for a class that goes on.
    fn change(&mut self, minor: u32, old: &HfscConfig<Q::Config>, drops: &mut impl Drops<P>) {
        let now = self.ticks();
        let clock = self.now;
        let [new_curves, old_curves] = [self.config.curves(minor), old.curves(minor)];
        if new_curves != old_curves {
            let next = self.peek(minor, drops).filter(|peeked| peeked.2.packets > 0).map(|peeked| peeked.0);
            self.tree.change(minor, now, [&new_curves, &old_curves], next);
        }
        let wanted = self.config.class(minor).and_then(|class| class.leaf.clone());
        let Some((leaf, wanted)) = self.leaves.get_mut(&minor).zip(wanted) else { return };
        let before = leaf.load();
        leaf.reconfigure(clock, wanted, drops);
        let after = leaf.load();
        self.settle(before, after);
        if after.packets == 0 {
            self.tree.deactivate(minor);
        }
    }
}

impl<P: Packet + Flow, Q: Inner<P>> Build<P, Source> for Hfsc<P, Q> {
    fn build(config: HfscConfig<Q::Config>, salt: u32, random: Source) -> Self {
        Self::new(config, salt, random)
    }
}

impl<P: Packet + Flow, Q: Inner<P>> Qdisc<P> for Hfsc<P, Q> {
    type Config = HfscConfig<Q::Config>;

    fn enqueue(&mut self, now: Instant, packet: P, drops: &mut impl Drops<P>) {
        self.now = self.now.max(now);
        let clock = self.now;
        let bytes = packet.len();
        let class = self.classify(&packet);
        let Some((class, leaf)) = class.and_then(|class| Some((class, self.leaves.get_mut(&class)?))) else {
            self.beside.offered.add(bytes);
            self.beside.dropped_before.add(bytes);
            drops.dropped(packet, DropReason::Overlimit);
            return;
        };
        let before = leaf.load();
        leaf.enqueue(clock, packet, drops);
        let after = leaf.load();
        self.settle(before, after);
        if after.packets == 0 {
            self.tree.deactivate(class);
        // Only the first packet makes a class active; its times then follow from what it sends.
        } else if before.packets == 0 {
            let ticks = self.ticks();
            if self.tree.activate(class, ticks, bytes) {
                // The deadline is that of this packet, so the discipline must not drop it any more.
                let peeked = self.peek(class, drops);
                if peeked.is_some_and(|peeked| peeked.2.packets == 0) {
                    self.tree.deactivate(class);
                }
            }
        }
    }

    fn dequeue(&mut self, now: Instant, drops: &mut impl Drops<P>) -> Option<P> {
        self.now = self.now.max(now);
        let clock = self.now;
        // Again after a discipline that dropped all it had: the next class may send.
        while self.len > 0 {
            let ticks = self.ticks();
            let Some(choice) = self.tree.choose(ticks) else {
                self.overlimits = self.overlimits.wrapping_add(1);
                // A timer that no class moves keeps its time, as Linux's watchdog does.
                self.timer = self.tree.next_change().unwrap_or(self.timer);
                return None;
            };
            let leaf = self.leaves.get_mut(&choice.class)?;
            let before = leaf.load();
            let packet = leaf.dequeue(clock, drops);
            let after = leaf.load();
            self.settle(before, after);
            let has_dropped = after.packets + usize::from(packet.is_some()) < before.packets;
            // The discipline tells its parent at the drop that it is empty, before it gives its
            // last packet.
            if after.packets == 0 && (has_dropped || packet.is_none()) {
                self.tree.deactivate(choice.class);
            }
            let Some(packet) = packet else {
                if after.packets == 0 {
                    continue;
                }
                // It has packets, but not now.
                return None;
            };
            self.tree.sent(choice, packet.len(), after.packets == 0);
            if after.packets > 0 && self.tree.has_guarantee(choice.class) {
                self.plan_next(choice, drops);
            }
            return Some(packet);
        }
        None
    }

    fn next_event(&self, now: Instant) -> Option<Instant> {
        if self.len == 0 {
            return None;
        }
        let clock = self.now.max(now);
        // In ticks: at the end of time there is no later instant.
        let later = |ticks: &u64| *ticks > clock.as_nanos() / NANOS_PER_TICK;
        let due = self.tree.next_change().filter(later);
        let first = nesting::earlier(due.map(instant), Some(self.timer).filter(later).map(instant));
        if due.is_some() {
            return first;
        }
        // The class whose turn it is may hold its packets back.
        // Without a change of the tree only the disciplines of the leaves know when they give a
        // packet.
        let asked = self.leaves.values().filter(|leaf| !leaf.is_empty());
        asked.fold(first, |first, leaf| nesting::earlier(first, leaf.next_event(clock)))
    }

    fn len(&self) -> usize {
        self.len
    }

    fn backlog(&self) -> u64 {
        self.bytes
    }

    fn stats(&self) -> Stats {
        self.leaves.values().fold(self.beside, |sum, leaf| sum.plus(&leaf.stats()))
    }

    /// Classes that are no longer in their places drop their packets. The others keep their packets
    /// and their turns. A changed curve starts now.
    fn reconfigure(&mut self, now: Instant, config: HfscConfig<Q::Config>, drops: &mut impl Drops<P>) {
        self.now = self.now.max(now);
        if config == self.config {
            return;
        }
        let old = core::mem::replace(&mut self.config, config);
        let minors: Vec<u32> = old.classes.iter().map(|class| class.minor).collect();
        let going_on = |minor: u32| old.goes_on_in(minor, &self.config);
        let stays: Vec<bool> = minors.iter().map(|minor| going_on(*minor)).collect();
        // Leaves first: the classes above them are then passive.
        let gone = || minors.iter().zip(&stays).filter(|(_, stays)| !**stays).map(|(minor, _)| *minor);
        let leaves: Vec<u32> = gone().filter(|minor| self.leaves.contains_key(minor)).collect();
        for minor in leaves.into_iter().chain(gone()) {
            self.close(minor, drops);
        }
        if !self.config.classes.is_empty() {
            self.close(ROOT, drops);
        }
        let kept: Vec<u32> =
            minors.iter().zip(&stays).filter(|(_, stays)| **stays).map(|(minor, _)| *minor).collect();
        self.add_new_classes(|minor| kept.binary_search(&minor).is_err());
        for minor in kept {
            self.change(minor, &old, drops);
        }
    }

    fn config(&self) -> HfscConfig<Q::Config> {
        self.config.clone()
    }

    fn purge(&mut self, now: Instant, drops: &mut impl Drops<P>) {
        self.now = self.now.max(now);
        let clock = self.now;
        for leaf in self.leaves.values_mut() {
            leaf.purge(clock, drops);
        }
        (self.len, self.bytes, self.timer) = (0, 0, 0);
        let config = &self.config;
        self.tree.restart(|minor| config.curves(minor));
    }
}

impl<P: Packet + Flow, Q: Inner<P>> Lookahead<P> for Hfsc<P, Q> {
    const RULES: &'static [&'static [Rule]] = &[RULES];

    fn other_flow(&self, packet: &P) -> Option<&P> {
        self.leaves.get(&self.classify(packet)?)?.other_flow(packet)
    }

    fn evidence(&self, question: &Question<'_, P>) -> Evidence {
        let mut evidence = Evidence::from_kind(HfscConfig::<Q::Config>::KIND.name);
        let about = &question.about;
        let Some(class) = self.classify(question.packet) else {
            evidence.rule(NO_CLASS, SOURCE, &[]);
            return evidence;
        };
        evidence.given("class", Quantity::Number(u64::from(class)), "the class of this packet");
        if let Some(Times { eligible_at, deadline, virtual_time, fit_at }) = self.tree.times(class) {
            let at = |ticks: u64| Quantity::at(instant(ticks), about.now);
            if let Some(eligible_at) = eligible_at {
                evidence.fact("eligible", at(eligible_at), "when it needs its guarantee");
                evidence.fact("deadline", at(deadline), "when its next packet is to be sent");
            }
            evidence.fact(
                "virtual_time",
                Quantity::Number(virtual_time),
                "its virtual time, in ticks of 64 ns",
            );
            evidence.fact("fits", at(fit_at), "when its upper limit lets it send");
            let is_sent = about.is_end() && !matches!(about.fate, Fate::Dropped(_));
            if about.moment == Moment::Departure && is_sent {
                let ticks = about.now.as_nanos() / NANOS_PER_TICK;
                let is_eligible = eligible_at.is_some_and(|eligible_at| eligible_at <= ticks);
                evidence.rule(if is_eligible { REAL_TIME } else { LINK_SHARING }, SOURCE, &[]);
            }
        }
        evidence.with_inner(self.leaves.get(&class).map(|leaf| leaf.evidence(question)))
    }
}

/// Source of the rules in stories.
const SOURCE: &str = "Stoica et al. 1997 §4; tc-hfsc(7)";

impl<P: Packet + Flow, Q: Inner<P>> Observe for Hfsc<P, Q> {
    fn observe(&self, now: Instant, seen: &mut Observation) {
        seen.overlimits = self.overlimits;
        for class in &self.config.classes {
            let Some(node) = self.tree.node(class.minor) else { continue };
            let gauges = vec![
                ("period", Gauge::Number(u64::from(node.period))),
                ("work", Gauge::Number(node.total)),
                ("rtwork", Gauge::Number(node.guaranteed)),
                ("level", Gauge::Number(self.config.level(class.minor))),
            ];
            seen.parts.push(Part { class: class.minor, parent: class.parent, gauges });
        }
        seen.children.extend(self.leaves.iter().map(|(minor, leaf)| (*minor, leaf.observe(now))));
    }
}

impl<P: Packet + Flow, Q: Inner<P>> Inner<P> for Hfsc<P, Q> {}

const fn instant(ticks: u64) -> Instant {
    Instant::from_nanos(ticks.saturating_mul(NANOS_PER_TICK))
}

/// Number of the root.
const ROOT: u32 = 0;
/// Linux counts time in ticks of 64 ns here (`PSCHED_SHIFT` is 6).
const NANOS_PER_TICK: u64 = 64;

rules! {
    /// Rules of HFSC.
    RULES;
    /// No class takes the packet.
    NO_CLASS: "hfsc.no_class" [];
    /// The class was eligible, and its deadline was the first.
    REAL_TIME: "hfsc.real_time" [];
    /// No class was eligible, and the class had the smallest virtual time.
    LINK_SHARING: "hfsc.link_sharing" [];
}

#[cfg(test)]
mod tests;
