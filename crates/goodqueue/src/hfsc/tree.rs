//! The classes of `hfsc` as a tree: which of them are active, and which is served next.
//!
//! The tree knows no packets and no disciplines. It hears which leaves have packets and what they
//! sent. Times are ticks of 64 ns. Equal keys of a set are in the order in which they came.

use alloc::collections::{BTreeMap, BTreeSet};

use super::config::Curves;
use super::curve::{Running, Scaled};

/// All classes by number; 0 is the root.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    nodes: BTreeMap<u32, Node>,
    /// Active leaves with a guarantee, by eligible time.
    eligible: BTreeSet<Entry>,
    /// Entries made so far.
    entries: u64,
}

/// A key, the count of entries when it was made, and the number of the class.
type Entry = (u64, u64, u32);

/// A class.
#[derive(Clone, Default, Debug)]
pub(super) struct Node {
    parent: u32,
    is_inner: bool,
    guarantee: Option<Guarantee>,
    share: Option<Share>,
    limit: Option<Bound>,
    /// Bytes sent.
    pub(super) total: u64,
    /// Bytes sent by the guarantee.
    pub(super) guaranteed: u64,
    deadline: u64,
    eligible_at: u64,
    /// Its entry in [`Tree::eligible`].
    eligible_entry: Option<Entry>,
    virtual_time: u64,
    /// Sum of what was added to `virtual_time` since it became active.
    adjustment: u64,
    /// Number of its active periods, and the number of its parent's period when it became active.
    pub(super) period: u32,
    parent_period: u32,
    /// When it may send: no earlier than its own limit and the first of its children allow.
    fit_at: u64,
    own_fit: u64,
    children_fit: u64,
    /// Its entries in the sets of its parent.
    virtual_entry: Option<Entry>,
    fit_entry: Option<Entry>,
    /// Active children of an inner class; 1 for an active leaf.
    active: u32,
    /// Active children by virtual time and by fit time.
    by_virtual_time: BTreeSet<Entry>,
    by_fit_time: BTreeSet<Entry>,
    /// The smallest virtual time of the children served lately, in this period.
    least_virtual: u64,
    /// The largest virtual time of the children that became passive.
    greatest_virtual: u64,
}

/// The real-time curve, and what follows from it.
#[derive(Clone, Copy, Debug)]
struct Guarantee {
    curve: Scaled,
    deadline: Running,
    eligible: Running,
}

/// The link-sharing curve.
#[derive(Clone, Copy, Debug)]
struct Share {
    curve: Scaled,
    running: Running,
}

/// The upper-limit curve.
#[derive(Clone, Copy, Debug)]
struct Bound {
    curve: Scaled,
    running: Running,
}

/// The class to be served.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Choice {
    pub(super) class: u32,
    /// By its guarantee; otherwise by link sharing.
    pub(super) is_real_time: bool,
}

/// What a story tells of a class.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub(super) eligible_at: Option<u64>,
    pub(super) deadline: u64,
    pub(super) virtual_time: u64,
    pub(super) fit_at: u64,
}

impl Node {
    /// A passive class that has sent nothing.
    pub(super) fn new(parent: u32, is_inner: bool, curves: &Curves) -> Self {
        // As in Linux, the curves of a new class start at the time 0 (`hfsc_change_class()`).
        let mut node = Self { parent, is_inner, ..Self::default() };
        node.set_curves(curves, &Curves::default(), 0);
        node
    }

    /// Takes those of `curves` that differ from `before`. They start now.
    fn set_curves(&mut self, curves: &Curves, before: &Curves, now: u64) {
        if let Some(given) = curves.rt.filter(|_| curves.rt != before.rt) {
            let curve = Scaled::new(given);
            // From the bytes of the guarantee only: what link sharing gave beyond it is not
            // charged.
            let deadline = curve.starting(now, self.guaranteed);
            self.guarantee = Some(Guarantee { curve, deadline, eligible: deadline.eligible(&curve) });
        }
        if let Some(given) = curves.ls.filter(|_| curves.ls != before.ls) {
            let curve = Scaled::new(given);
            // Virtual time does not run with the clock, so a curve of shares starts at the virtual
            // time.
            self.share = Some(Share { curve, running: curve.starting(self.virtual_time, self.total) });
        }
        if let Some(given) = curves.ul.filter(|_| curves.ul != before.ul) {
            let curve = Scaled::new(given);
            self.limit = Some(Bound { curve, running: curve.starting(now, self.total) });
        }
    }

    const fn is_listed(&self) -> bool {
        self.eligible_entry.is_some() || self.share.is_some() && self.active > 0
    }

    /// When the upper limit lets the next byte go.
    fn update_own_fit(&mut self) {
        if let Some(limit) = &self.limit {
            self.own_fit = limit.running.time_of(self.total);
        }
    }

    /// Linux `update_cfmin()`.
    fn update_children_fit(&mut self) {
        // Without active children nothing holds the class back.
        self.children_fit = self.by_fit_time.first().map_or(0, |first| first.0);
    }
}

impl Tree {
    /// The root alone.
    pub(super) fn new() -> Self {
        let mut nodes = BTreeMap::new();
        nodes.insert(0, Node::default());
        Self { nodes, eligible: BTreeSet::new(), entries: 0 }
    }

    /// Adds a passive class.
    pub(super) fn add(&mut self, class: u32, node: Node) {
        self.nodes.insert(class, node);
    }

    /// Sets whether the root has classes.
    pub(super) fn set_root(&mut self, is_inner: bool) {
        self.node_mut(0).is_inner = is_inner;
    }

    /// Removes a passive class.
    pub(super) fn remove(&mut self, class: u32) {
        self.nodes.remove(&class);
    }

    pub(super) fn node(&self, class: u32) -> Option<&Node> {
        self.nodes.get(&class)
    }

    /// Every number names a class: the configuration is a tree, and the root always exists.
    fn node_mut(&mut self, class: u32) -> &mut Node {
        self.nodes.entry(class).or_default()
    }

    fn entry(&mut self, key: u64, class: u32) -> Entry {
        // Linux inserts behind equal keys (`rb_link_node()` goes right), so the count decides
        // between them.
        self.entries = self.entries.wrapping_add(1);
        (key, self.entries, class)
    }

    /// Returns the times of a class.
    pub(super) fn times(&self, class: u32) -> Option<Times> {
        let node = self.nodes.get(&class)?;
        Some(Times {
            eligible_at: node.eligible_entry.map(|entry| entry.0),
            deadline: node.deadline,
            virtual_time: node.virtual_time,
            fit_at: node.fit_at,
        })
    }

    /// All classes become passive and forget what they sent. As in Linux `hfsc_reset_qdisc()`.
    pub(super) fn restart(&mut self, curves: impl Fn(u32) -> Curves) {
        for (&class, node) in &mut self.nodes {
            *node = Node::new(node.parent, node.is_inner, &curves(class));
        }
        self.eligible.clear();
    }

    /// Changes the curves of a class whose leaf has `next` as the length of its next packet, if it
    /// has any (Linux `hfsc_change_class()`).
    pub(super) fn change(&mut self, class: u32, now: u64, curves: [&Curves; 2], next: Option<u32>) {
        let [new, old] = curves;
        self.node_mut(class).set_curves(new, old, now);
        let Some(len) = next else { return };
        match (old.rt.is_some(), new.rt.is_some()) {
            // A curve that was there keeps its place, so only the times follow from the new slopes.
            (true, true) => self.update_eligible(class, len),
            (false, true) => self.start_guarantee(class, now, len),
            _ => {}
        }
        match (old.ls.is_some(), new.ls.is_some()) {
            (true, true) => self.account(class, 0, false),
            (false, true) => self.start_sharing(class, now),
            _ => {}
        }
    }

    /// The first packet of a leaf has come. True if the leaf was passive and has a guarantee: its
    /// first packet is then to be set aside.
    pub(super) fn activate(&mut self, class: u32, now: u64, len: u32) -> bool {
        let Some(node) = self.nodes.get(&class).filter(|node| !node.is_listed()) else { return false };
        let has_guarantee = node.guarantee.is_some();
        let has_share = node.share.is_some();
        if has_guarantee {
            self.start_guarantee(class, now, len);
        }
        if has_share {
            self.start_sharing(class, now);
        }
        has_guarantee
    }

    /// The leaf has lost its last packet without sending one (Linux `hfsc_qlen_notify()`).
    pub(super) fn deactivate(&mut self, class: u32) {
        // A class without a share is in no set of its parent.
        if self.node_mut(class).active > 0 {
            self.account(class, 0, true);
        }
        self.unlist_eligible(class);
    }

    /// The leaf has sent a packet of `bytes`.
    pub(super) fn sent(&mut self, choice: Choice, bytes: u32, is_empty: bool) {
        self.account(choice.class, u64::from(bytes), is_empty);
        // Packets that link sharing sent do not use up the guarantee (Stoica et al. 1997, §4.3).
        if choice.is_real_time {
            let node = self.node_mut(choice.class);
            node.guaranteed = node.guaranteed.wrapping_add(u64::from(bytes));
        }
        if is_empty {
            self.unlist_eligible(choice.class);
        }
    }

    /// The leaf that has just sent has a next packet of `len` bytes.
    pub(super) fn continues(&mut self, choice: Choice, len: u32) {
        if choice.is_real_time {
            self.update_eligible(choice.class, len);
        } else {
            self.update_deadline(choice.class, len);
        }
    }

    /// Returns true if packets of the class have deadlines.
    pub(super) fn has_guarantee(&self, class: u32) -> bool {
        self.nodes.get(&class).is_some_and(|node| node.guarantee.is_some())
    }

    /// Chooses the class to be served at `now`: of the eligible leaves the one with the first
    /// deadline, otherwise by virtual time from the root down.
    pub(super) fn choose(&mut self, now: u64) -> Option<Choice> {
        if let Some(class) = self.first_deadline(now) {
            return Some(Choice { class, is_real_time: true });
        }
        // Without a class that fits, a look at all of them would only confirm it.
        if self.node_mut(0).children_fit > now {
            return None;
        }
        let mut class = 0;
        while self.node_mut(class).is_inner {
            let children = &self.nodes.get(&class)?.by_virtual_time;
            let fits = |entry: &&Entry| self.nodes.get(&entry.2).is_some_and(|child| child.fit_at <= now);
            let &(_, _, child) = children.iter().find(fits)?;
            let reached = self.node_mut(child).virtual_time;
            let parent = self.node_mut(class);
            // A sibling that becomes active later starts no earlier than this (`cl_cvtmin`).
            parent.least_virtual = parent.least_virtual.max(reached);
            class = child;
        }
        Some(Choice { class, is_real_time: false })
    }

    fn first_deadline(&self, now: u64) -> Option<u32> {
        // The set is in the order of eligible times, so the first that is not due ends the search.
        let due = self.eligible.iter().take_while(|entry| entry.0 <= now);
        let deadline = |entry: &&Entry| self.nodes.get(&entry.2).map_or(u64::MAX, |node| node.deadline);
        // Of equal deadlines the one that is eligible first.
        due.min_by_key(deadline).map(|entry| entry.2)
    }

    /// Returns when the first class becomes eligible or fits; `None` if no class is active.
    pub(super) fn next_change(&self) -> Option<u64> {
        let eligible = self.eligible.first().map(|first| first.0);
        let fits = self.nodes.get(&0).and_then(|root| root.by_fit_time.first()).map(|first| first.0);
        match (eligible, fits) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }

    /// Linux `init_ed()`: the curves are lowered to the present, and the first packet has `len`
    /// bytes.
    fn start_guarantee(&mut self, class: u32, now: u64, len: u32) {
        let node = self.node_mut(class);
        if let Some(guarantee) = &mut node.guarantee {
            guarantee.deadline.lower(&guarantee.curve, now, node.guaranteed);
            guarantee.eligible = guarantee.deadline.eligible(&guarantee.curve);
        }
        self.update_eligible(class, len);
    }

    /// Linux `update_ed()`.
    fn update_eligible(&mut self, class: u32, len: u32) {
        self.update_deadline(class, len);
        let node = self.node_mut(class);
        if let Some(guarantee) = &node.guarantee {
            node.eligible_at = guarantee.eligible.time_of(node.guaranteed);
        }
        let key = node.eligible_at;
        // A new entry even for the same time: Linux moves the class behind its equals, too
        // (`eltree_update()`).
        let old = node.eligible_entry.take();
        if let Some(entry) = old {
            self.eligible.remove(&entry);
        }
        let entry = self.entry(key, class);
        self.eligible.insert(entry);
        self.node_mut(class).eligible_entry = Some(entry);
    }

    /// Linux `update_d()`.
    fn update_deadline(&mut self, class: u32, len: u32) {
        let node = self.node_mut(class);
        if let Some(guarantee) = &node.guarantee {
            node.deadline = guarantee.deadline.time_of(node.guaranteed.wrapping_add(u64::from(len)));
        }
    }

    fn unlist_eligible(&mut self, class: u32) {
        let old = self.node_mut(class).eligible_entry.take();
        if let Some(entry) = old {
            self.eligible.remove(&entry);
        }
    }

    /// Linux `init_vf()`: the leaf, and each class above it that had no active child, becomes
    /// active.
    fn start_sharing(&mut self, leaf: u32, now: u64) {
        let mut class = leaf;
        let mut goes_active = true;
        while class != 0 {
            let node = self.node_mut(class);
            let parent = node.parent;
            // Above a class that was active already, no number of active children changes.
            if goes_active {
                goes_active = node.active == 0;
                node.active += 1;
            }
            if goes_active {
                self.enter(class, parent, now);
            }
            self.refresh_fit(class, parent);
            // A class that was active already may fit earlier, too.
            self.node_mut(parent).update_children_fit();
            class = parent;
        }
    }

    /// The class gets its virtual time among the active children of its parent.
    fn enter(&mut self, class: u32, parent: u32, now: u64) {
        let above = self.node_mut(parent);
        let last = above.by_virtual_time.last().map(|entry| entry.0);
        let parent_period = above.period;
        // The middle between the first and the last one, or where the last period ended.
        let start = match last {
            Some(last) if above.least_virtual != 0 => above.least_virtual.wrapping_add(last) / 2,
            Some(last) => last,
            None => {
                above.least_virtual = 0;
                above.greatest_virtual
            }
        };
        let starts_period = above.active == 0;
        let node = self.node_mut(class);
        // Within a period of the parent, virtual time does not go back.
        if last.is_none() || parent_period != node.parent_period || start > node.virtual_time {
            node.virtual_time = start;
        }
        if let Some(share) = &mut node.share {
            share.running.lower(&share.curve, node.virtual_time, node.total);
        }
        // What an upper limit cost in the last period is forgotten.
        node.adjustment = 0;
        node.period = node.period.wrapping_add(1);
        node.parent_period = parent_period.wrapping_add(u32::from(starts_period));
        // Below any fit time, so that `refresh_fit` notices the new one.
        node.fit_at = 0;
        if let Some(limit) = &mut node.limit {
            limit.running.lower(&limit.curve, now, node.total);
            node.own_fit = limit.running.time_of(node.total);
        }
        self.list_virtual(class, parent);
        self.list_fit(class, parent);
    }

    /// Linux `update_vf()`: the leaf has sent `bytes`, and becomes passive if it is empty.
    fn account(&mut self, leaf: u32, bytes: u64, is_empty: bool) {
        let mut class = leaf;
        let own = self.node_mut(leaf);
        // A leaf with a guarantee alone was never active among its siblings.
        let mut goes_passive = is_empty && own.share.is_some() && own.active > 0;
        while class != 0 {
            let node = self.node_mut(class);
            let parent = node.parent;
            // Also above classes without a share: their upper limits count all bytes below them.
            node.total = node.total.wrapping_add(bytes);
            let share = node.share.filter(|_| node.active > 0);
            if let Some(share) = share {
                if goes_passive {
                    node.active -= 1;
                    goes_passive = node.active == 0;
                }
                self.advance(class, parent, &share.running);
                if goes_passive {
                    self.leave(class, parent);
                } else {
                    self.list_virtual(class, parent);
                    self.node_mut(class).update_own_fit();
                    if self.refresh_fit(class, parent) {
                        self.node_mut(parent).update_children_fit();
                    }
                }
            }
            class = parent;
        }
    }

    /// The virtual time of the class follows from what it has sent. A class that its upper limit
    /// held back does not catch up with its siblings.
    fn advance(&mut self, class: u32, parent: u32, curve: &Running) {
        let least = self.node_mut(parent).least_virtual;
        let node = self.node_mut(class);
        node.virtual_time = curve.time_of(node.total).wrapping_add(node.adjustment);
        if node.virtual_time < least {
            node.adjustment = node.adjustment.wrapping_add(least - node.virtual_time);
            node.virtual_time = least;
        }
    }

    fn leave(&mut self, class: u32, parent: u32) {
        let node = self.node_mut(class);
        let reached = node.virtual_time;
        let old = [node.virtual_entry.take(), node.fit_entry.take()];
        let above = self.node_mut(parent);
        // The next period of the parent begins here, so that a class which left early cannot gain
        // by it
        // (`cl_cvtoff`).
        above.greatest_virtual = above.greatest_virtual.max(reached);
        if let Some(entry) = &old[0] {
            above.by_virtual_time.remove(entry);
        }
        if let Some(entry) = &old[1] {
            above.by_fit_time.remove(entry);
        }
        above.update_children_fit();
    }

    /// Computes when the class fits. True if that has changed.
    fn refresh_fit(&mut self, class: u32, parent: u32) -> bool {
        let node = self.node_mut(class);
        let fit_at = node.own_fit.max(node.children_fit);
        if fit_at == node.fit_at {
            return false;
        }
        node.fit_at = fit_at;
        self.list_fit(class, parent);
        true
    }

    fn list_virtual(&mut self, class: u32, parent: u32) {
        let key = self.node_mut(class).virtual_time;
        let entry = self.entry(key, class);
        let old = self.node_mut(class).virtual_entry.replace(entry);
        let set = &mut self.node_mut(parent).by_virtual_time;
        if let Some(old) = old {
            set.remove(&old);
        }
        set.insert(entry);
    }

    fn list_fit(&mut self, class: u32, parent: u32) {
        let key = self.node_mut(class).fit_at;
        let entry = self.entry(key, class);
        let old = self.node_mut(class).fit_entry.replace(entry);
        let set = &mut self.node_mut(parent).by_fit_time;
        if let Some(old) = old {
            set.remove(&old);
        }
        set.insert(entry);
    }
}
