//! The schedule of `qfq`: aggregates of classes in groups, and which of them is served next.

use alloc::collections::{BTreeSet, VecDeque};
use alloc::vec::Vec;

/// Virtual time and the aggregates that it serves.
#[derive(Clone, Debug)]
pub(super) struct Scheduler {
    aggregates: Vec<Aggregate>,
    /// The aggregates that have room for one more class: weight, length, the count of `rooms` when
    /// it got room, and number.
    room: BTreeSet<(u64, u32, u64, u32)>,
    /// How often an aggregate got room.
    rooms: u64,
    /// Aggregates without classes.
    unused: BTreeSet<u32>,
    groups: Vec<Group>,
    /// Groups by state: bit 0 of the index is "not eligible", bit 1 "blocked".
    maps: [u64; 4],
    time: u64,
    time_before: u64,
    weights: u64,
    pub(super) serving: Option<u32>,
}

#[derive(Clone, Debug)]
pub(super) struct Aggregate {
    pub(super) weight: u64,
    pub(super) longest: u32,
    classes: u64,
    /// The count of `rooms` when it last got room.
    room_since: u64,
    /// Active classes; the one in turn first.
    pub(super) active: VecDeque<u32>,
    group: usize,
    start: u64,
    finish: u64,
    pub(super) initial_budget: u64,
    pub(super) budget: u64,
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

impl Scheduler {
    pub(super) fn new() -> Self {
        Self {
            aggregates: Vec::new(),
            room: BTreeSet::new(),
            rooms: 0,
            unused: BTreeSet::new(),
            groups: (0..GROUPS).map(|_| Group::default()).collect(),
            maps: [0; 4],
            time: 0,
            time_before: 0,
            weights: 0,
            serving: None,
        }
    }

    pub(super) fn aggregate(&mut self, index: u32) -> Option<&mut Aggregate> {
        self.aggregates.get_mut(index as usize)
    }

    /// Returns the virtual time, and of an aggregate its weight, its virtual start and finish time,
    /// and its budget.
    pub(super) fn times(&self, index: u32) -> Option<(u64, u64, [u64; 2], u64)> {
        let aggregate = self.aggregates.get(index as usize)?;
        Some((self.time, aggregate.weight, [aggregate.start, aggregate.finish], aggregate.budget))
    }

    /// The numbers of all active classes.
    pub(super) fn listed(&mut self) -> impl Iterator<Item = &mut u32> {
        self.aggregates.iter_mut().flat_map(|aggregate| &mut aggregate.active)
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
        let next = if above == 0 { None } else { self.groups.get(first_bit(above)) };
        if next.is_some_and(|next| !later(next.finish, old_finish)) {
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
        if self.ready() == 0 {
            let first = self.groups.get(first_bit(waiting));
            if let Some(first) = first.filter(|first| later(first.start, self.time)) {
                self.time = first.start;
            }
        }
        let flipped = (self.time >> MIN_SLOT_SHIFT) ^ (self.time_before >> MIN_SLOT_SHIFT);
        if flipped != 0 {
            let highest = 64 - flipped.leading_zeros();
            // There are fewer groups than 31.
            let mask = if highest > 31 { u64::MAX } else { (1 << highest) - 1 };
            self.move_groups(mask, WAITING, READY);
            self.move_groups(mask, BLOCKED_WAITING, BLOCKED);
        }
    }

    /// A start time for an aggregate that was idle.
    fn update_start(&mut self, index: u32) {
        let time = self.time;
        let ready = self.ready();
        let Some(aggregate) = self.aggregates.get(index as usize) else { return };
        let shift = shift_of(aggregate.group);
        // As Linux `qfq_update_start()`: a finish time that has passed, or is too far ahead, is
        // stale.
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
    pub(super) fn update_times(&mut self, index: u32, again: bool) {
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

    pub(super) fn activate(&mut self, index: u32) {
        if let Some(aggregate) = self.aggregate(index) {
            aggregate.recharge();
        }
        self.update_times(index, false);
        match self.serving {
            None => {
                self.serving = Some(index);
                // What is served must be eligible, so time moves to its start.
                self.time = self.aggregates.get(index as usize).map_or(self.time, |first| first.start);
                self.time_before = self.time;
            }
            Some(serving) if serving != index => self.schedule(index),
            Some(_) => {}
        }
    }

    pub(super) fn schedule(&mut self, index: u32) {
        let Some(aggregate) = self.aggregates.get(index as usize) else { return };
        let start = aggregate.start;
        let at = aggregate.group;
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
                // A start that can move back is ahead of the time: the group was not eligible.
                self.clear_state(at, WAITING);
                self.clear_state(at, BLOCKED_WAITING);
            } else if idle && later(rounded, self.time) {
                self.time = rounded;
            }
            if let Some(moved) = self.groups.get_mut(at) {
                moved.start = rounded;
                // QFQ approximates a group's finish time by two slots behind its start, so that
                // groups compare in one step.
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
        // For example, a change of weights can activate an aggregate too early for the slots. Linux
        // `qfq_slot_insert()` then moves its times back to the last slot but one: a later slot
        // would be lost if an earlier start shifted the front of the group.
        let ahead = rounded.wrapping_sub(group.start);
        // As in Linux `qfq_slot_insert()`, a start that is further ahead is moved back by the
        // excess.
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
    pub(super) fn choose(&mut self) -> Option<u32> {
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
                // With the same start the finish is the same, too, so the group blocks as before.
                if !self.restart(at, front) {
                    return chosen;
                }
            }
        }
        self.unblock(at, old_finish);
        chosen
    }

    /// Makes aggregate `front` the first of group `at`. Returns whether that changed anything.
    fn restart(&mut self, at: usize, front: u32) -> bool {
        let shift = shift_of(at);
        let rounded = self.aggregates.get(front as usize).map_or(0, |first| round_down(first.start, shift));
        let Some(group) = self.groups.get_mut(at).filter(|group| group.start != rounded) else {
            return false;
        };
        group.start = rounded;
        // A group finishes two slots after its start (Checconi et al., QFQ).
        group.finish = rounded.wrapping_add(2 << shift);
        for state in [READY, WAITING, BLOCKED, BLOCKED_WAITING] {
            self.clear_state(at, state);
        }
        let state = self.state_of(at);
        self.set_state(at, state);
        true
    }

    /// Takes an aggregate without active classes out of the schedule.
    pub(super) fn deactivate(&mut self, index: u32) {
        if self.serving == Some(index) {
            if let Some(aggregate) = self.aggregate(index) {
                aggregate.charge_service();
            }
            self.serving = self.choose();
            return;
        }
        let Some(aggregate) = self.aggregate(index) else { return };
        // It has not been served since its start, so it owes nothing.
        aggregate.finish = aggregate.start;
        let start = aggregate.start;
        let at = aggregate.group;
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
                // The group blocked only those above the next ready group below it.
                let mask =
                    if below == 0 { u64::MAX } else { !below_bit(63 - below.leading_zeros() as usize) };
                self.unblock_masked(mask);
            }
            self.clear_state(at, READY);
        } else if group.head().is_none() {
            if let Some(front) = group.scan() {
                self.restart(at, front);
            }
        }
    }

    /// An aggregate with room for one more class of this weight and length.
    pub(super) fn join(&mut self, weight: u32, longest: u32) -> u32 {
        // Weights are rounded as their inverses are.
        let weight = ONE / (ONE / u64::from(weight.max(1)));
        // As in Linux, the one that got room last (`qfq_find_agg()`).
        let alike = (weight, longest, 0, 0)..=(weight, longest, u64::MAX, u32::MAX);
        let place = match self.room.range(alike).next_back() {
            Some(&(.., place)) => place,
            None => self.found(weight, longest),
        };
        self.weights += weight;
        if let Some(aggregate) = self.aggregates.get_mut(place as usize) {
            aggregate.classes += 1;
            if aggregate.classes == FULL {
                self.room.remove(&(weight, longest, aggregate.room_since, place));
            }
        }
        place
    }

    /// A new aggregate for classes of this weight and length.
    fn found(&mut self, weight: u64, longest: u32) -> u32 {
        let fresh = Aggregate {
            weight,
            longest,
            classes: 0,
            room_since: 0,
            active: VecDeque::new(),
            // The group stays as classes join: lengths and weights grow alike.
            group: group_of(u64::from(longest) * (ONE / weight)),
            start: 0,
            finish: 0,
            initial_budget: u64::from(longest),
            budget: u64::from(longest),
        };
        let next = u32::try_from(self.aggregates.len()).unwrap_or(u32::MAX);
        let place = self.unused.pop_first().unwrap_or(next);
        match self.aggregates.get_mut(place as usize) {
            Some(old) => *old = fresh,
            None => self.aggregates.push(fresh),
        }
        self.get_room(place);
        place
    }

    /// Notes that an aggregate has got room.
    fn get_room(&mut self, index: u32) {
        self.rooms += 1;
        let now = self.rooms;
        if let Some(aggregate) = self.aggregates.get_mut(index as usize) {
            aggregate.room_since = now;
            self.room.insert((aggregate.weight, aggregate.longest, now, index));
        }
    }

    pub(super) fn leave(&mut self, index: u32) {
        let Some(aggregate) = self.aggregate(index) else { return };
        let was_full = aggregate.classes == FULL;
        aggregate.classes = aggregate.classes.saturating_sub(1);
        let weight = aggregate.weight;
        let entry = (weight, aggregate.longest, aggregate.room_since, index);
        let empty = aggregate.classes == 0;
        self.weights = self.weights.saturating_sub(weight);
        if empty {
            self.room.remove(&entry);
            self.unused.insert(index);
        } else if was_full {
            self.get_room(index);
        }
        if empty && self.serving == Some(index) {
            self.serving = self.choose();
        }
    }

    /// Advances virtual time by the bytes sent.
    pub(super) fn advance(&mut self, bytes: u32) {
        // The last class may have left, and its weight with it.
        let inverse = ONE.checked_div(self.weights).unwrap_or(0);
        self.time = self.time.wrapping_add(u64::from(bytes) * inverse);
    }
}

impl Aggregate {
    pub(super) fn most(&self) -> u64 {
        self.classes * u64::from(self.longest)
    }

    fn inverse_weight(&self) -> u64 {
        ONE.checked_div(self.weight * self.classes).unwrap_or(ONE)
    }

    /// Its finish time follows from the bytes that it sent, not from its budget.
    pub(super) fn charge_service(&mut self) {
        // If classes have left since the recharge, the old budget may be above the greatest of now.
        let sent = self.initial_budget.saturating_sub(self.budget).min(self.most());
        self.finish = self.start.wrapping_add(sent * self.inverse_weight());
    }

    pub(super) fn recharge(&mut self) {
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

/// The group of aggregates that need the virtual time `span` for their longest packets.
fn group_of(span: u64) -> usize {
    let map = span >> MIN_SLOT_SHIFT;
    if map == 0 {
        return 0;
    }
    let index = 64 - map.leading_zeros() as usize;
    // A span that is a power of 2 just fits into the slots of the group below.
    let exact = span == 1 << (index + MIN_SLOT_SHIFT as usize - 1);
    (index - usize::from(exact)).min(GROUPS - 1)
}

/// Groups are few.
fn shift_of(group: usize) -> u32 {
    MIN_SLOT_SHIFT.saturating_add(u32::try_from(group).unwrap_or(0))
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

const READY: usize = 0;
const WAITING: usize = 1;
const BLOCKED: usize = 2;
const BLOCKED_WAITING: usize = 3;
/// Virtual time has 30 bits behind the point.
const ONE: u64 = 1 << 30;
const SLOTS: usize = 32; // QFQ_MAX_SLOTS of Linux
const GROUPS: usize = 25; // groups 0 to QFQ_MAX_INDEX of Linux
/// Classes of an aggregate, at most.
const FULL: u64 = 8;
/// So that the largest group holds the largest budget at weight 1: 30 + 16 + 3 bits in 24 groups.
const MIN_SLOT_SHIFT: u32 = 25;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_class_joins_the_aggregate_that_got_room_last() {
        let mut scheduler = Scheduler::new();
        let mut join = |times: u64| -> Vec<u32> { (0..times).map(|_| scheduler.join(1, 1514)).collect() };
        let first = join(FULL)[0];
        let second = join(FULL)[0];
        assert_ne!(first, second);
        for leaves in [[first, second], [second, first]] {
            scheduler.leave(leaves[0]);
            scheduler.leave(leaves[1]);
            // Room for more classes changes nothing.
            scheduler.leave(leaves[0]);
            let joined: Vec<u32> = (0..3).map(|_| scheduler.join(1, 1514)).collect();
            assert_eq!(joined, [leaves[1], leaves[0], leaves[0]]);
        }
    }
}
