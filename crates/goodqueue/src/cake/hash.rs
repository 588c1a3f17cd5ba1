//! The set-associative hash of `cake`: which queue a flow has, and which entry a host.

use alloc::boxed::Box;

use super::config::Isolation;
use super::tin::{QUEUES, Set, Tin, for_each_queue};

/// Who has the queues and the entries for hosts of a tin. What may be used for one tag lies side by side: a set.
#[derive(Clone, Debug)]
pub(super) struct Hash {
    /// The flow that each queue is reserved for.
    tags: Box<[[u32; WAYS]; SETS]>,
    /// A bit for each queue of a set that is listed nowhere.
    unused: [u8; SETS],
    hosts: Box<[Host; QUEUES]>,
}

/// A pair of hosts that share an entry: how many bulk flows come from the one and go to the other.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Host {
    source_tag: u32,
    destination_tag: u32,
    pub(super) source_bulk: u16,
    pub(super) destination_bulk: u16,
}

impl Hash {
    pub(super) fn new() -> Self {
        Self {
            tags: for_each_queue(&[0; WAYS]),
            unused: [u8::MAX; SETS],
            hosts: for_each_queue(&Host::default()),
        }
    }

    #[inline]
    pub(super) fn host(&self, index: u16) -> &Host {
        &self.hosts[index as usize % QUEUES]
    }

    #[inline]
    pub(super) fn host_mut(&mut self, index: u16) -> &mut Host {
        &mut self.hosts[index as usize % QUEUES]
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

    /// The entry for a host with this tag: its own, else one without bulk flows, else the one where it belongs.
    fn host_of(&mut self, tag: u32, side: impl Fn(&mut Host) -> (&mut u32, u16)) -> u16 {
        let home = home_of(tag);
        let first = home - home % WAYS_32;
        let mut chosen = None;
        let ways = || (0..WAYS_32).map(|step| first + (home + step) % WAYS_32);
        for way in ways() {
            if *side(&mut self.hosts[way as usize % QUEUES]).0 == tag {
                chosen = Some(way);
                break;
            }
        }
        if chosen.is_none() {
            for way in ways() {
                if side(&mut self.hosts[way as usize % QUEUES]).1 == 0 {
                    chosen = Some(way);
                    break;
                }
            }
        }
        let way = chosen.unwrap_or(home);
        *side(&mut self.hosts[way as usize % QUEUES]).0 = tag;
        u16::try_from(way).unwrap_or(0)
    }
}

impl Tin {
    /// The queue for a flow with this tag: the one reserved for it, else an unused one of its set, else, as a collision,
    /// the one where it belongs. Its `hosts` are asked for if the queue is new to them.
    #[inline]
    pub(super) fn queue_of(
        &mut self,
        tag: u32,
        hosts: impl FnOnce() -> (u32, u32),
        isolation: Isolation,
    ) -> u32 {
        let home = home_of(tag);
        let (set, place) = (home as usize / WAYS % SETS, home % WAYS_32);
        let tags = &self.hash.tags[set];
        let unused = self.hash.unused[set];
        if tags[place as usize % WAYS] == tag && unused & (1 << place) == 0 {
            return home;
        }
        let tagged = (0..WAYS_32).zip(tags).fold(0, |ways, (way, own)| ways | (u8::from(*own == tag) << way));
        let way = match (nearest(tagged, place), nearest(unused, place)) {
            (Some(way), _) => {
                self.tally.indirect_hits = self.tally.indirect_hits.wrapping_add(u64::from(way != place));
                if unused & (1 << way) == 0 {
                    return home - place + way;
                }
                way
            }
            (None, Some(way)) => {
                self.tally.misses = self.tally.misses.wrapping_add(1);
                way
            }
            (None, None) => {
                self.tally.collisions = self.tally.collisions.wrapping_add(1);
                if self.flows.at(home).set == Set::Bulk {
                    self.count_hosts(home, isolation, false);
                }
                place
            }
        };
        self.hash.tags[set][way as usize % WAYS] = tag;
        let index = home - place + way;
        self.join_hosts(index, hosts(), isolation);
        index
    }

    /// Queue `index` is used by a flow of these hosts from now on.
    #[inline(never)]
    fn join_hosts(&mut self, index: u32, hosts: (u32, u32), isolation: Isolation) {
        if isolation.shares_by_source() {
            let host = self.hash.host_of(hosts.0, |host| (&mut host.source_tag, host.source_bulk));
            self.flows.at_mut(index).source = host;
        }
        if isolation.shares_by_destination() {
            let host = self.hash.host_of(hosts.1, |host| (&mut host.destination_tag, host.destination_bulk));
            self.flows.at_mut(index).destination = host;
        }
        // The queue's place among the bulk flows goes over to the hosts that use it now.
        if self.flows.at(index).set == Set::Bulk {
            self.count_hosts(index, isolation, true);
        }
    }
}

/// The first of the ways in a bit mask, from `place` on and round.
#[inline]
fn nearest(ways: u8, place: u32) -> Option<u32> {
    let steps = ways.rotate_right(place).trailing_zeros();
    (ways != 0).then_some((place + steps) % WAYS_32)
}

/// Where a tag belongs.
#[inline]
const fn home_of(tag: u32) -> u32 {
    tag % super::tin::QUEUES_32
}

/// Linux sch_cake: how many queues a flow can be put into.
const WAYS: usize = 8;
const WAYS_32: u32 = 8;
const SETS: usize = QUEUES / WAYS;
