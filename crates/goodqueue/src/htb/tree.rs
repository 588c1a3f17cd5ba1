//! The tree of classes of `htb`: which of them may send now, with whose tokens, and whose turn it
//! is.
//!
//! The tree knows no packets and no disciplines. It hears which leaves have packets and what they
//! sent.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::cmp::Ordering;

use super::class::{Class, Mode, PRIOS, Turn, charged};
use super::config::{Index, LEVELS};

/// Classes, and how they stand to each other at one time. All times are nanoseconds.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    /// In the order of their numbers: `Index` counts here.
    pub(super) classes: Vec<Class>,
    /// Classes of each level and priority that can send and are active.
    rows: Vec<[Turn; PRIOS]>,
    /// Classes by the time at which their mode changes; equal times in the order in which they
    /// came.
    waiting: Vec<BTreeSet<(u64, u64, Index)>>,
    waits: u64,
    /// Number of times that a class reached its ceiling.
    pub(super) overlimits: u64,
}

#[derive(Clone, Copy)]
enum Place {
    Row(usize),
    Feed(Index),
}

impl Tree {
    /// None of the classes is active or waits.
    pub(super) fn with_idle(classes: Vec<Class>) -> Self {
        Self { classes, rows: empty_rows(), waiting: no_waiting(), waits: 0, overlimits: 0 }
    }

    /// Forgets which classes are active or wait. As in Linux `htb_reset()`, each class may send a
    /// packet at once, but the buckets stay as full as they are.
    pub(super) fn restart(&mut self) {
        for class in &mut self.classes {
            (class.mode, class.active, class.wait) = (Mode::CanSend, 0, None);
            class.feed = core::array::from_fn(|_| Turn::default());
        }
        self.rows = empty_rows();
        self.waiting = no_waiting();
    }

    /// Moves each class to the place that `place` says, if it has one, and returns the classes as
    /// they were. The classes now are `fresh`.
    pub(super) fn renumber(
        &mut self,
        fresh: Vec<Class>,
        place: impl Fn(Index) -> Option<Index> + Copy,
    ) -> Vec<Class> {
        let turns = self.rows.iter_mut().flatten();
        let feeds = self.classes.iter_mut().flat_map(|class| &mut class.feed);
        for turn in turns.chain(feeds) {
            *turn = Turn {
                classes: turn.classes.iter().copied().filter_map(place).collect(),
                at: turn.at.and_then(place),
                left: turn.left.and_then(place),
            };
        }
        for waiting in &mut self.waiting {
            let moved = |&(due, number, index): &(u64, u64, Index)| Some((due, number, place(index)?));
            *waiting = waiting.iter().filter_map(moved).collect();
        }
        core::mem::replace(&mut self.classes, fresh)
    }

    /// True if a class of `level` can send and is active at `prio`.
    pub(super) fn has_turn(&self, level: usize, prio: usize) -> bool {
        self.rows.get(level).and_then(|row| row.get(prio)).is_some_and(|turn| !turn.classes.is_empty())
    }

    /// When the mode of a class changes next.
    pub(super) fn next_change(&self) -> Option<u64> {
        self.waiting.iter().filter_map(|waiting| waiting.first()).map(|first| first.0).min()
    }

    pub(super) fn class(&self, index: Index) -> Option<&Class> {
        self.classes.get(index as usize)
    }

    pub(super) fn class_mut(&mut self, index: Index) -> Option<&mut Class> {
        self.classes.get_mut(index as usize)
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
                            // resumes there or behind it.
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
                            // Unlike in a feed, the turn passes on at once (Linux
                            // `htb_remove_class_from_row()`).
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

    pub(super) fn activate(&mut self, index: Index) {
        if let Some(class) = self.class_mut(index).filter(|class| class.active == 0) {
            class.active = 1 << class.terms.prio;
            self.join(index);
        }
    }

    pub(super) fn deactivate(&mut self, index: Index) {
        if self.class(index).is_some_and(|class| class.active != 0) {
            self.part(index);
            if let Some(class) = self.class_mut(index) {
                class.active = 0;
            }
        }
    }

    /// True if class `index` has tokens, or may borrow from a class that has some.
    pub(super) fn may_send(&self, index: Index) -> bool {
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

    fn wait(&mut self, index: Index, span: i64, now: u64) {
        // At least a nanosecond ahead, as in Linux `htb_add_to_wait_tree()`.
        let due = now.saturating_add(span.max(1).unsigned_abs());
        self.waits = self.waits.wrapping_add(1);
        let place = (due, self.waits);
        let Some(class) = self.class_mut(index) else { return };
        class.wait = Some(place);
        let level = class.level;
        if let Some(waiting) = self.waiting.get_mut(level) {
            waiting.insert((place.0, place.1, index));
        }
    }

    pub(super) fn wait_no_more(&mut self, index: Index) {
        let Some(class) = self.class_mut(index) else { return };
        let level = class.level;
        let Some((due, number)) = class.wait.take() else { return };
        if let Some(waiting) = self.waiting.get_mut(level) {
            waiting.remove(&(due, number, index));
        }
    }

    /// Changes of mode that are due at `level`: at most one for each class, since each lasts.
    pub(super) fn change_due_modes(&mut self, level: usize, now: u64) {
        let bound = self.classes.len();
        for _ in 0..bound {
            let first = self.waiting.get(level).and_then(|waiting| waiting.first().copied());
            let Some((_, _, index)) = first.filter(|first| first.0 <= now) else { return };
            self.wait_no_more(index);
            let Some(elapsed) = self.class(index).map(|class| class.elapsed(now)) else { return };
            let lasts = self.change_mode(index, elapsed);
            if self.class(index).is_some_and(|class| class.mode != Mode::CanSend) {
                self.wait(index, lasts, now);
            }
        }
    }

    /// Books a packet of `bytes` that `leaf` sent, borrowing from `level`: every class on the way
    /// up pays at its ceiling, those from `level` on at their rate.
    pub(super) fn charge(&mut self, leaf: Index, level: usize, bytes: u32, now: u64) {
        let mut next = Some(leaf);
        while let Some(index) = next {
            let Some(class) = self.class_mut(index) else { return };
            let terms = class.terms;
            let elapsed = class.elapsed(now);
            match class.level.cmp(&level) {
                // Linux counts a loan at every class below the lender, not only at the leaf.
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
                    self.wait(index, lasts, now);
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
    pub(super) fn leaf_in_turn(&mut self, level: usize, prio: usize) -> Option<Index> {
        let mut path = [Place::Row(level); LEVELS + 1];
        let mut depth = 0;
        // Each step goes down, or up at the end of a feed: no feed is looked at more than twice.
        for _ in 0..4 * LEVELS + 4 {
            let place = *path.get(depth)?;
            let turn = self.turn(place, prio)?;
            if let (None, Some(left)) = (turn.at, turn.left) {
                turn.at = turn.classes.range(left..).next().copied();
            }
            // As in Linux, the number serves once: the classes may change before the next look.
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
    pub(super) fn pass_turn(&mut self, index: Index, level: usize, prio: usize) {
        let place = match self.class(index).and_then(|class| class.parent) {
            Some(parent) if level > 0 => Place::Feed(parent),
            _ => Place::Row(0),
        };
        if let Some(turn) = self.turn(place, prio) {
            turn.pass();
        }
    }
}

fn empty_rows() -> Vec<[Turn; PRIOS]> {
    (0..LEVELS).map(|_| core::array::from_fn(|_| Turn::default())).collect()
}

fn no_waiting() -> Vec<BTreeSet<(u64, u64, Index)>> {
    (0..LEVELS).map(|_| BTreeSet::new()).collect()
}

fn prios(mask: u8) -> impl Iterator<Item = usize> {
    (0..PRIOS).filter(move |prio| mask & (1 << prio) != 0)
}
