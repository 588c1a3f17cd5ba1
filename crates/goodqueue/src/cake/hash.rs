//! The set-associative hash of `cake`: which queue a flow has, and which entry a host.

use alloc::boxed::Box;

use super::config::Isolation;
use super::tin::{QUEUES, QUEUES_32, Set, Tin, for_each_queue};

/// Who has the queues and the entries for hosts of a tin. What may be used for one tag lies side by
/// side: a set.
#[derive(Clone, Debug)]
pub(super) struct Hash {
    /// The flow that each queue is reserved for.
    tags: Box<[Tags; SETS]>,
    /// A bit for each queue of a set that is listed nowhere.
    unused: [u8; SETS],
    sources: Hosts,
    destinations: Hosts,
}

type Tags = [u32; WAYS];

/// Hosts that send, or hosts that are sent to.
#[derive(Clone, Debug)]
struct Hosts {
    tags: Box<[Tags; SETS]>,
    /// How many bulk flows each has.
    bulk: Box<[[u16; WAYS]; SETS]>,
    /// How many have more than one.
    crowded: u32,
}

impl Hosts {
    fn new() -> Self {
        Self { tags: for_each_queue(&[0; WAYS]), bulk: for_each_queue(&[0; WAYS]), crowded: 0 }
    }

    /// The entry for a host with this tag: its own, else one without bulk flows, else the one where
    /// it belongs.
    #[inline]
    fn entry_of(&mut self, tag: u32) -> u16 {
        let (set, place) = home_of(tag);
        let tags = &mut self.tags[set];
        let mut way = place;
        if tags[place as usize % WAYS] != tag {
            let bulk = &self.bulk[set];
            let idle = || ways_from(place).find(|other| bulk[*other as usize % WAYS] == 0);
            way = way_with(tags, tag, place).or_else(idle).unwrap_or(place);
            tags[way as usize % WAYS] = tag;
        }
        u16::try_from(index_of(set, way)).unwrap_or(0)
    }

    /// How many bulk flows the host with this entry has.
    fn bulk_of(&self, entry: u16) -> u16 {
        self.bulk[entry as usize / WAYS % SETS][entry as usize % WAYS]
    }

    /// A bulk flow of this host begins, or ends.
    fn count_bulk(&mut self, entry: u16, begins: bool) {
        let count = &mut self.bulk[entry as usize / WAYS % SETS][entry as usize % WAYS];
        let before = *count;
        *count = if begins { count.saturating_add(1) } else { count.saturating_sub(1) };
        self.crowded = self.crowded.wrapping_add(u32::from(*count > 1)).wrapping_sub(u32::from(before > 1));
    }
}

impl Hash {
    pub(super) fn new() -> Self {
        Self {
            tags: for_each_queue(&[0; WAYS]),
            unused: [u8::MAX; SETS],
            sources: Hosts::new(),
            destinations: Hosts::new(),
        }
    }

    /// Queue `index` is listed from now on, or no longer.
    #[inline]
    pub(super) fn set_used(&mut self, index: u32, used: bool) {
        let (set, bit) = (index as usize / WAYS % SETS, 1 << (index % WAYS_32));
        if used {
            self.unused[set] &= !bit;
        } else {
            self.unused[set] |= bit;
        }
    }

    /// True if some host has more than one bulk flow.
    #[inline]
    pub(super) const fn is_crowded(&self) -> bool {
        self.sources.crowded | self.destinations.crowded > 0
    }
}

impl Tin {
    /// The queue for a flow with this tag: the one reserved for it, else an unused one of its set,
    /// else, as a collision, the one where it belongs. Its `hosts` are asked for if the queue is
    /// new to them.
    #[inline]
    pub(super) fn queue_of(
        &mut self,
        tag: u32,
        hosts: impl FnOnce() -> (u32, u32),
        isolation: Isolation,
    ) -> u32 {
        let (set, place) = home_of(tag);
        let (tags, unused) = (&self.hash.tags[set], self.hash.unused[set]);
        if tags[place as usize % WAYS] == tag && unused & (1 << place) == 0 {
            return index_of(set, place);
        }
        self.queue_elsewhere(tag, hosts, isolation)
    }

    /// As [`Self::queue_of`] would choose, with nothing reserved.
    pub(super) fn known_queue_of(&self, tag: u32) -> u32 {
        let (set, place) = home_of(tag);
        let known = way_with(&self.hash.tags[set], tag, place);
        index_of(set, known.or_else(|| nearest(self.hash.unused[set], place)).unwrap_or(place))
    }

    /// As [`Self::queue_of`], if that is not the queue where the flow belongs, or it is new to it.
    #[inline(never)]
    fn queue_elsewhere(&mut self, tag: u32, hosts: impl FnOnce() -> (u32, u32), isolation: Isolation) -> u32 {
        let (set, place) = home_of(tag);
        let unused = self.hash.unused[set];
        let way = if let Some(way) = way_with(&self.hash.tags[set], tag, place) {
            self.tally.indirect_hits = self.tally.indirect_hits.wrapping_add(u64::from(way != place));
            if unused & (1 << way) == 0 {
                return index_of(set, way);
            }
            way
        } else if let Some(way) = nearest(unused, place) {
            self.tally.misses = self.tally.misses.wrapping_add(1);
            way
        } else {
            self.tally.collisions = self.tally.collisions.wrapping_add(1);
            let home = index_of(set, place);
            if self.flows.at(home).set == Set::Bulk {
                self.count_hosts(home, isolation, false);
            }
            place
        };
        self.hash.tags[set][way as usize % WAYS] = tag;
        let index = index_of(set, way);
        self.join_hosts(index, hosts(), isolation);
        index
    }

    /// Queue `index` is used by a flow of these hosts from now on.
    #[inline(never)]
    fn join_hosts(&mut self, index: u32, hosts: (u32, u32), isolation: Isolation) {
        let flow = self.flows.at_mut(index);
        if isolation.shares_by_source() {
            flow.source = self.hash.sources.entry_of(hosts.0);
        }
        if isolation.shares_by_destination() {
            flow.destination = self.hash.destinations.entry_of(hosts.1);
        }
        // The queue's place among the bulk flows goes over to the hosts that use it now.
        if flow.set == Set::Bulk {
            self.count_hosts(index, isolation, true);
        }
    }

    /// Flow `index` begins, or ends, to count as a bulk flow of its hosts.
    pub(super) fn count_hosts(&mut self, index: u32, isolation: Isolation, begins: bool) {
        let flow = self.flows.at(index);
        if isolation.shares_by_source() {
            self.hash.sources.count_bulk(flow.source, begins);
        }
        if isolation.shares_by_destination() {
            self.hash.destinations.count_bulk(flow.destination, begins);
        }
    }

    /// How many bulk flows the busier host of flow `index` has, 1 at least.
    #[inline(never)]
    pub(super) fn load(&self, index: u32, isolation: Isolation) -> u16 {
        let flow = self.flows.at(index);
        let mut load = 1;
        if isolation.shares_by_source() {
            load = load.max(self.hash.sources.bulk_of(flow.source));
        }
        if isolation.shares_by_destination() {
            load = load.max(self.hash.destinations.bulk_of(flow.destination));
        }
        load
    }
}

/// The ways of a set, from `place` on and round.
fn ways_from(place: u32) -> impl Iterator<Item = u32> {
    (0..WAYS_32).map(move |step| (place + step) % WAYS_32)
}

/// The first of the ways in a bit mask, from `place` on and round.
#[inline]
fn nearest(ways: u8, place: u32) -> Option<u32> {
    let steps = ways.rotate_right(place).trailing_zeros();
    (ways != 0).then_some((place + steps) % WAYS_32)
}

/// The first of the ways from `place` on that has this tag.
#[inline]
fn way_with(tags: &Tags, tag: u32, place: u32) -> Option<u32> {
    // All at once, since most often none has.
    let any = tags.iter().fold(false, |any, own| any | (*own == tag));
    if any { ways_from(place).find(|way| tags[*way as usize % WAYS] == tag) } else { None }
}

/// Where a tag belongs: its set, and the way in it.
#[inline]
const fn home_of(tag: u32) -> (usize, u32) {
    (tag as usize / WAYS % SETS, tag % WAYS_32)
}

/// The number of what is in this way of this set.
#[inline]
fn index_of(set: usize, way: u32) -> u32 {
    u32::try_from(set * WAYS % QUEUES).unwrap_or(0) % QUEUES_32 + way
}

/// Linux sch_cake: how many queues a flow can be put into.
const WAYS: usize = 8;
const WAYS_32: u32 = 8;
const SETS: usize = QUEUES / WAYS;
