//! The choice of a queue for a packet's flow, and the number of bulk flows of its hosts.

use super::config::Isolation;
use super::queues::Set;
use super::sets::{WAYS, home_of, index_of, nearest, way_with};
use super::tin::Tin;

/// Hashes of the two hosts of a packet.
#[derive(Clone, Copy)]
pub(super) struct HostTags {
    pub(super) source: u32,
    pub(super) destination: u32,
}

impl Tin {
    /// The queue for a flow with this tag: the one reserved for it, else an unused one of its set,
    /// else, as a collision, the one where it belongs. Its `hosts` are asked for if the queue is
    /// new to them.
    #[inline]
    pub(super) fn queue_of(
        &mut self,
        tag: u32,
        hosts: impl FnOnce() -> HostTags,
        isolation: Isolation,
    ) -> u32 {
        let (set, place) = home_of(tag);
        let tags = &self.hash.tags[set];
        let unused = self.hash.unused[set];
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

    // Most packets find their flow's tag where it belongs.
    /// As [`Self::queue_of`], if that is not the queue where the flow belongs, or it is new to it.
    #[inline(never)]
    fn queue_elsewhere(&mut self, tag: u32, hosts: impl FnOnce() -> HostTags, isolation: Isolation) -> u32 {
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
            // `join_hosts` counts the queue for its new hosts, so the former ones must lose it.
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

    // Only when a queue goes to another flow.
    /// Queue `index` is used by a flow of these hosts from now on.
    #[inline(never)]
    fn join_hosts(&mut self, index: u32, hosts: HostTags, isolation: Isolation) {
        let flow = self.flows.at_mut(index);
        if isolation.shares_by_source() {
            flow.source = self.hash.sources.entry_of(hosts.source);
        }
        if isolation.shares_by_destination() {
            flow.destination = self.hash.destinations.entry_of(hosts.destination);
        }
        // The queue's place among the bulk flows goes over to the hosts that use it now.
        if flow.set == Set::Bulk {
            self.count_hosts(index, isolation, true);
        }
    }

    /// Starts or stops counting flow `index` as a bulk flow of its hosts.
    pub(super) fn count_hosts(&mut self, index: u32, isolation: Isolation, begins: bool) {
        let flow = self.flows.at(index);
        if isolation.shares_by_source() {
            self.hash.sources.count_bulk(flow.source, begins);
        }
        if isolation.shares_by_destination() {
            self.hash.destinations.count_bulk(flow.destination, begins);
        }
    }

    // Asked for only while a host has several bulk flows.
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
