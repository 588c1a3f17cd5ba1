//! HFSC by the rules of Stoica, Zhang & Ng 1997 (§4), with the whole numbers of Linux.
//!
//! Classes are a list, the packets of a leaf are a list, and each question goes through all
//! classes. A service curve is a function with its segments written out. Only the values that the
//! paper calls state are stored. Eligible times, deadlines and fit times are computed at each
//! question, so no stored copy can be out of date.
//!
//! Linux rounds slopes, times and crossings to whole numbers. A byte at 64 kbit/s takes 125 µs, and
//! a class that becomes eligible 125 µs late may lose its turn. So the rounding belongs to the
//! rules, and a comment at each place names it.
//!
//! Leaves hold FIFOs: the paper has no other queues. Curves that cross must be less than 2⁴⁰ bytes
//! apart. Beyond that Linux's shift overflows, which the model does not imitate.

mod curve;

pub use curve::{Curve, Function};

use super::Item;

/// A class as it is configured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Class {
    /// Its number, from 1 on.
    pub number: u32,
    /// Number of the class above; 0: none.
    pub parent: u32,
    /// Real-time curve.
    pub rt: Option<Curve>,
    /// Link-sharing curve.
    pub ls: Option<Curve>,
    /// Upper-limit curve.
    pub ul: Option<Curve>,
    /// The queue of a leaf; `None`: it has classes below it.
    pub queue: Option<Limit>,
}

/// Which packets a full queue drops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// The most packets that it holds. If it is full, the packet that arrives is dropped.
    Packets(u32),
    /// The most bytes that it holds. A packet that does not fit is dropped.
    Bytes(u32),
    /// The most packets that it holds. If it is full, the oldest packet is dropped.
    OldestOf(u32),
}

/// The configuration: classes in the order of their numbers, and the class of packets without one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// Class of packets that name no leaf.
    pub default: u32,
    /// All classes.
    pub classes: Vec<Class>,
}

/// A class with its state; the root is number 0.
#[derive(Clone, Debug)]
struct Node {
    class: Class,
    packets: Vec<Item>,
    /// Length of the packet for which the deadline holds.
    expected: u32,
    /// Deadline curve, link-sharing curve and upper limit since the class became active.
    deadline: Option<Function>,
    virtual_curve: Option<Function>,
    limit: Option<Function>,
    /// Bytes sent, and those of them that the real-time criterion sent.
    total: u64,
    guaranteed: u64,
    virtual_time: u64,
    /// Virtual time added because the upper limit of the class had held it back.
    given: u64,
    /// When its own limit lets it send, as of its last packet.
    own_fit: u64,
    /// Number of its active periods, and in which one of its parent it became active.
    period: u32,
    parent_period: u32,
    /// Active children. The one whose virtual time was computed last is the last.
    active: Vec<u32>,
    /// The largest virtual time of the children that were chosen in this period.
    served: u64,
    /// The largest virtual time of children that became passive.
    left: u64,
}

/// The discipline.
#[derive(Clone, Debug)]
pub struct Model {
    default: u32,
    nodes: Vec<Node>,
    /// Leaves that have packets and a guarantee. The one whose eligible time was computed last is
    /// the last.
    waiting: Vec<u32>,
    /// When Linux's timer fires, in ticks.
    timer: u64,
    /// Number of times that no class might send.
    overlimits: u64,
}

/// What `tc -s class` shows of a class: its period, and its bytes in all and by its guarantee.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shown {
    /// Its number.
    pub class: u32,
    /// Number of its active periods.
    pub period: u64,
    /// Bytes sent.
    pub work: u64,
    /// Bytes that its guarantee sent.
    pub guaranteed_work: u64,
}

impl Plan {
    fn has_children(&self, number: u32) -> bool {
        self.classes.iter().any(|class| class.parent == number)
    }

    fn find(&self, number: u32) -> Option<&Class> {
        self.classes.iter().find(|class| class.number == number)
    }

    /// A class goes on if it, and each class above it, is where it was and has the curves that it
    /// had. In Linux a class cannot lose one.
    fn goes_on(&self, class: &Class, new: &Self) -> bool {
        let same_place = new.find(class.number).is_some_and(|other| {
            let [before, after] = [class, other].map(|class| class.shared_by_guarantee());
            after.parent == before.parent
                && after.queue.is_some() == before.queue.is_some()
                && after.rt.is_some() >= before.rt.is_some()
                && after.ls.is_some() >= before.ls.is_some()
                && after.ul.is_some() >= before.ul.is_some()
        });
        same_place && self.find(class.parent).is_none_or(|parent| self.goes_on(parent, new))
    }
}

impl Class {
    /// As in Linux, a class with classes below it and without a link-sharing curve shares by its
    /// real-time curve.
    fn shared_by_guarantee(&self) -> Self {
        let ls = if self.queue.is_none() { self.ls.or(self.rt) } else { self.ls };
        Self { ls, ..*self }
    }
}

impl Node {
    /// A passive class. Linux lets the curves of a new class start at the time 0.
    fn new(class: &Class) -> Self {
        let class = class.shared_by_guarantee();
        let from_zero = |curve: Curve| Function::starting(curve, 0, 0);
        Self {
            class,
            packets: Vec::new(),
            expected: 0,
            deadline: class.rt.map(from_zero),
            virtual_curve: class.ls.map(from_zero),
            limit: class.ul.map(from_zero),
            total: 0,
            guaranteed: 0,
            virtual_time: 0,
            given: 0,
            own_fit: 0,
            period: 0,
            parent_period: 0,
            active: Vec::new(),
            served: 0,
            left: 0,
        }
    }

    /// §4: the time from which on the class must be served to meet all later deadlines.
    fn eligible_at(&self) -> u64 {
        self.deadline.as_ref().map_or(0, |deadline| deadline.eligible().time_of(self.guaranteed))
    }

    /// §4: the time at which the deadline curve reaches the end of the packet.
    fn deadline(&self) -> u64 {
        let end = self.guaranteed.wrapping_add(u64::from(self.expected));
        self.deadline.as_ref().map_or(0, |deadline| deadline.time_of(end))
    }
}

impl Model {
    /// Passive classes.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        let mut nodes = vec![Node::new(&root(plan))];
        nodes.extend(plan.classes.iter().map(Node::new));
        Self { default: plan.default, nodes, waiting: Vec::new(), timer: 0, overlimits: 0 }
    }

    fn node(&self, number: u32) -> &Node {
        self.nodes.iter().find(|node| node.class.number == number).expect("a class of this number")
    }

    fn node_mut(&mut self, number: u32) -> &mut Node {
        self.nodes.iter_mut().find(|node| node.class.number == number).expect("a class of this number")
    }

    fn parent_of(&self, number: u32) -> u32 {
        self.node(number).class.parent
    }

    fn is_leaf(&self, number: u32) -> bool {
        self.nodes.iter().any(|node| node.class.number == number && node.class.queue.is_some())
    }

    fn is_active(&self, number: u32) -> bool {
        number != ROOT && self.node(self.parent_of(number)).active.contains(&number)
    }

    /// The packets dropped when `item` arrives for `class`.
    pub fn enqueue(&mut self, now: u64, class: Option<u32>, item: Item) -> Vec<u64> {
        let named = class.filter(|number| self.is_leaf(*number));
        let Some(leaf) = named.or_else(|| Some(self.default).filter(|number| self.is_leaf(*number))) else {
            return vec![item.id];
        };
        let node = self.node_mut(leaf);
        let was_empty = node.packets.is_empty();
        let bytes: u64 = node.packets.iter().map(|item| u64::from(item.len)).sum();
        let mut dropped = Vec::new();
        match node.class.queue.expect("a leaf has a queue") {
            Limit::Packets(most) if node.packets.len() as u64 >= u64::from(most) => return vec![item.id],
            Limit::Bytes(most) if bytes + u64::from(item.len) > u64::from(most) => return vec![item.id],
            Limit::OldestOf(most) if node.packets.len() as u64 >= u64::from(most) => {
                dropped.push(node.packets.remove(0).id);
            }
            _ => {}
        }
        node.packets.push(item);
        if was_empty {
            if node.class.rt.is_some() {
                self.start_guarantee(leaf, ticks(now));
            }
            if self.node(leaf).class.ls.is_some() {
                self.start_sharing(leaf, ticks(now));
            }
        }
        dropped
    }

    /// The packet sent.
    pub fn dequeue(&mut self, now: u64) -> Option<u64> {
        let now = ticks(now);
        if self.nodes.iter().all(|node| node.packets.is_empty()) {
            return None;
        }
        // §4: the real-time criterion if a class is eligible, otherwise the link-sharing one.
        let by_deadline = self.first_deadline(now);
        let Some(leaf) = by_deadline.or_else(|| self.least_virtual_time(now)) else {
            self.overlimits += 1;
            // The timer keeps its time if nobody waits.
            self.timer = self.next_change().unwrap_or(self.timer);
            return None;
        };
        let sent = self.node_mut(leaf).packets.remove(0);
        let is_empty = self.node(leaf).packets.is_empty();
        self.account(leaf, u64::from(sent.len), is_empty);
        if by_deadline.is_some() {
            // §4: only service by the real-time criterion counts for deadlines, so that a class
            // is not punished for the excess service that it got.
            self.node_mut(leaf).guaranteed += u64::from(sent.len);
        }
        if is_empty {
            self.waiting.retain(|number| *number != leaf);
        } else if self.node(leaf).class.rt.is_some() {
            self.look_at_next(leaf);
            if by_deadline.is_some() {
                self.wait(leaf);
            }
        }
        Some(sent.id)
    }

    /// The time in ns of the next change after `now`: a class becomes eligible, a class fits, or
    /// the timer fires. Linux sets its timer when no class may send, and no packet stops it.
    #[must_use]
    pub fn next_event(&self, now: u64) -> Option<u64> {
        if self.nodes.iter().all(|node| node.packets.is_empty()) {
            return None;
        }
        let times = [self.next_change(), Some(self.timer)];
        let first = times.into_iter().flatten().filter(|time| *time > ticks(now)).min();
        first.map(|time| time.saturating_mul(NANOS_PER_TICK))
    }

    /// What a class shows, in the order of their numbers.
    #[must_use]
    pub fn shown(&self) -> Vec<Shown> {
        let mut all: Vec<Shown> =
            self.nodes.iter().filter(|node| node.class.number != ROOT).map(shown).collect();
        all.sort_by_key(|shown| shown.class);
        all
    }

    /// Number of times that no class might send.
    #[must_use]
    pub const fn overlimits(&self) -> u64 {
        self.overlimits
    }

    /// The packets dropped. All classes are then as if new.
    pub fn purge(&mut self) -> Vec<u64> {
        let dropped = self.nodes.iter().flat_map(|node| node.packets.iter().map(|item| item.id)).collect();
        for node in &mut self.nodes {
            *node = Node::new(&node.class);
        }
        self.waiting.clear();
        self.timer = 0;
        dropped
    }

    /// The packets dropped when the classes change to those of `new`.
    pub fn reconfigure(&mut self, now: u64, old: &Plan, new: &Plan) -> Vec<u64> {
        let now = ticks(now);
        let mut dropped = Vec::new();
        self.default = new.default;
        // Leaves first, as tc must delete them, and in the order of their numbers.
        let gone: Vec<u32> =
            old.classes.iter().filter(|class| !old.goes_on(class, new)).map(|class| class.number).collect();
        for &number in &gone {
            dropped.extend(self.empty(number));
        }
        self.nodes.retain(|node| !gone.contains(&node.class.number));
        // Without classes the root is a leaf, and its packets go when it gets classes.
        self.node_mut(ROOT).class.queue = root(new).queue;
        if root(new).queue.is_none() {
            dropped.extend(self.empty(ROOT));
        }
        for class in &new.classes {
            if old.find(class.number).is_some_and(|before| old.goes_on(before, new)) {
                self.change_curves(class, now);
                dropped.extend(self.change_queue(class));
            } else {
                self.nodes.push(Node::new(class));
            }
        }
        dropped
    }

    /// Drops the packets of a leaf, which becomes passive.
    fn empty(&mut self, number: u32) -> Vec<u64> {
        let dropped = self.node_mut(number).packets.drain(..).map(|item| item.id).collect();
        if self.is_active(number) && self.is_leaf(number) {
            self.account(number, 0, true);
        }
        self.waiting.retain(|other| *other != number);
        dropped
    }

    /// A changed curve starts now, from what the class has sent.
    fn change_curves(&mut self, class: &Class, now: u64) {
        let new = class.shared_by_guarantee();
        let node = self.node_mut(new.number);
        let old = node.class;
        if [new.rt, new.ls, new.ul] == [old.rt, old.ls, old.ul] {
            return;
        }
        let changed = |new: Option<Curve>, old: Option<Curve>| new.filter(|_| new != old);
        if let Some(rt) = changed(new.rt, old.rt) {
            node.deadline = Some(Function::starting(rt, now, node.guaranteed));
        }
        if let Some(ls) = changed(new.ls, old.ls) {
            // Virtual time is the clock of this curve, and includes the added part. Linux does not
            // clear that part here, so it is added twice.
            node.virtual_curve = Some(Function::starting(ls, node.virtual_time, node.total));
        }
        if let Some(ul) = changed(new.ul, old.ul) {
            node.limit = Some(Function::starting(ul, now, node.total));
        }
        node.class = Class { queue: old.queue, ..new };
        // Linux computes the times of a leaf with packets anew, and those of other classes only
        // with their next packet.
        if node.packets.is_empty() {
            return;
        }
        match (old.rt, new.rt) {
            (Some(_), Some(_)) => {
                self.look_at_next(new.number);
                self.wait(new.number);
            }
            (None, Some(_)) => self.start_guarantee(new.number, now),
            _ => {}
        }
        match (old.ls, new.ls) {
            (Some(_), Some(_)) => self.account(new.number, 0, false),
            (None, Some(_)) => self.start_sharing(new.number, now),
            _ => {}
        }
    }

    /// Another kind of queue begins empty. A lower limit holds for the packets that come.
    fn change_queue(&mut self, class: &Class) -> Vec<u64> {
        let Some(old) = self.node(class.number).class.queue else { return Vec::new() };
        let Some(new) = class.queue else { return Vec::new() };
        let is_other_kind = core::mem::discriminant(&new) != core::mem::discriminant(&old);
        let dropped = if is_other_kind { self.empty(class.number) } else { Vec::new() };
        self.node_mut(class.number).class.queue = Some(new);
        dropped
    }

    /// The real-time criterion (§4): of the eligible leaves the one with the first deadline. Of
    /// equal deadlines Linux takes the class that is eligible first, and of equal eligible times
    /// the one that was computed first.
    fn first_deadline(&self, now: u64) -> Option<u32> {
        let eligible = self.waiting.iter().filter(|number| self.node(**number).eligible_at() <= now);
        let times = |number: &&u32| (self.node(**number).deadline(), self.node(**number).eligible_at());
        eligible.min_by_key(times).copied()
    }

    /// The link-sharing criterion (§4): from the root down, the active child with the smallest
    /// virtual time. Those that do not fit are passed over.
    fn least_virtual_time(&mut self, now: u64) -> Option<u32> {
        let mut number = ROOT;
        while !self.is_leaf(number) {
            let children = self.node(number).active.iter();
            let fitting = children.filter(|child| self.fits_at(**child) <= now);
            let child = *fitting.min_by_key(|child| self.node(**child).virtual_time)?;
            let reached = self.node(child).virtual_time;
            let parent = self.node_mut(number);
            parent.served = parent.served.max(reached);
            number = child;
        }
        Some(number)
    }

    /// When a class may send by its share: its own limit and one of its children must allow it.
    ///
    /// Linux computes its own limit with the packets of the class, and not when the curve of a
    /// class with classes below it changes.
    fn fits_at(&self, number: u32) -> u64 {
        let node = self.node(number);
        let children = node.active.iter().map(|child| self.fits_at(*child)).min();
        node.own_fit.max(children.unwrap_or(0))
    }

    fn next_change(&self) -> Option<u64> {
        let eligible = self.waiting.iter().map(|number| self.node(*number).eligible_at());
        eligible.chain(self.node(ROOT).active.iter().map(|child| self.fits_at(*child))).min()
    }

    /// §4: a leaf becomes active, and its deadline curve is lowered.
    fn start_guarantee(&mut self, leaf: u32, now: u64) {
        let node = self.node_mut(leaf);
        let reached = node.guaranteed;
        if let Some(deadline) = &mut node.deadline {
            deadline.lower(now, reached);
        }
        self.look_at_next(leaf);
        self.wait(leaf);
    }

    /// The deadline is that of the packet that is next now. A queue that later drops it does not
    /// change the deadline.
    fn look_at_next(&mut self, leaf: u32) {
        let node = self.node_mut(leaf);
        node.expected = node.packets.first().map_or(0, |item| item.len);
    }

    fn wait(&mut self, leaf: u32) {
        self.waiting.retain(|number| *number != leaf);
        self.waiting.push(leaf);
    }

    /// §4: a leaf, and each class above it that had no active child, becomes active.
    fn start_sharing(&mut self, leaf: u32, now: u64) {
        let mut number = leaf;
        while number != ROOT && !self.is_active(number) {
            let parent = self.parent_of(number);
            self.enter(number, parent, now);
            number = parent;
        }
    }

    fn enter(&mut self, number: u32, parent: u32, now: u64) {
        let last = self.node(parent).active.iter().map(|child| self.node(*child).virtual_time).max();
        let above = self.node_mut(parent);
        // Each period of the parent begins where the last one ended. Later in the period a class
        // starts between the smallest and the largest virtual time of its siblings.
        let start = match last {
            None => {
                above.served = 0;
                above.left
            }
            Some(last) if above.served == 0 => last,
            Some(last) => above.served.wrapping_add(last) / 2,
        };
        let period = above.period;
        // Linux counts no periods of the root.
        let is_same_period = last.is_some() && parent != ROOT && self.node(number).parent_period == period;
        let node = self.node_mut(number);
        // A class that leaves and returns within a period keeps its virtual time if that is larger.
        node.virtual_time = if is_same_period { start.max(node.virtual_time) } else { start };
        // The period of a passive parent begins with this child.
        node.parent_period = if last.is_none() { period + 1 } else { period };
        node.period += 1;
        node.given = 0;
        if let Some(curve) = &mut node.virtual_curve {
            curve.lower(node.virtual_time, node.total);
        }
        if let Some(limit) = &mut node.limit {
            limit.lower(now, node.total);
            node.own_fit = limit.time_of(node.total);
        }
        self.node_mut(parent).active.push(number);
    }

    /// §4: the virtual times of a leaf and of all classes above it follow from the bytes that
    /// they have sent. A leaf that `is_empty` becomes passive, and so does a class whose last
    /// active child did.
    fn account(&mut self, leaf: u32, bytes: u64, is_empty: bool) {
        let mut number = leaf;
        // A leaf without a share was never active among its siblings.
        let mut leaves = is_empty && self.is_active(leaf);
        while number != ROOT {
            let parent = self.parent_of(number);
            let is_active = self.is_active(number);
            let least = self.node(parent).served;
            let node = self.node_mut(number);
            node.total += bytes;
            let fitted = node.limit.as_ref().map(|limit| limit.time_of(node.total));
            if let Some(curve) = node.virtual_curve.as_ref().filter(|_| is_active) {
                node.virtual_time = curve.time_of(node.total).wrapping_add(node.given);
                // The class was passed over because it did not fit. It does not catch up.
                if node.virtual_time < least {
                    node.given = node.given.wrapping_add(least - node.virtual_time);
                    node.virtual_time = least;
                }
                leaves = leaves && node.active.is_empty();
                let reached = node.virtual_time;
                let above = self.node_mut(parent);
                above.active.retain(|child| *child != number);
                if leaves {
                    above.left = above.left.max(reached);
                } else {
                    above.active.push(number);
                    self.node_mut(number).own_fit = fitted.unwrap_or(0);
                }
            }
            number = parent;
        }
    }
}

/// The root: without classes it is a leaf, with a queue of 1000 packets.
fn root(plan: &Plan) -> Class {
    let queue = (!plan.has_children(ROOT)).then_some(Limit::Packets(1_000));
    Class { number: ROOT, parent: ROOT, rt: None, ls: None, ul: None, queue }
}

fn shown(node: &Node) -> Shown {
    let class = node.class.number;
    let period = u64::from(node.period);
    Shown { class, period, work: node.total, guaranteed_work: node.guaranteed }
}

const fn ticks(nanos: u64) -> u64 {
    nanos / NANOS_PER_TICK
}

const ROOT: u32 = 0;
/// Linux's packet schedulers count time in ticks of 64 ns.
const NANOS_PER_TICK: u64 = 64;
