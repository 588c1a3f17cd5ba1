//! The set-associative hash of `cake`: which queue a flow has, and which entry a host.

use alloc::boxed::Box;

use super::queues::for_each_queue;
use super::sets::{SETS, Tags, WAYS, WAYS_32, home_of, index_of, way_with, ways_from};

/// Owners of the queues and host entries of a tin. The eight queues that one tag may use are
/// adjacent and form a set.
#[derive(Clone, Debug)]
pub(super) struct Hash {
    /// The flow that each queue is reserved for.
    pub(super) tags: Box<[Tags; SETS]>,
    /// A bit for each queue of a set that is listed nowhere.
    pub(super) unused: [u8; SETS],
    pub(super) sources: Hosts,
    pub(super) destinations: Hosts,
}

/// Hosts that send, or hosts that are sent to.
#[derive(Clone, Debug)]
pub(super) struct Hosts {
    pub(super) tags: Box<[Tags; SETS]>,
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
    pub(super) fn entry_of(&mut self, tag: u32) -> u16 {
        let (set, place) = home_of(tag);
        let tags = &mut self.tags[set];
        let mut way = place;
        if tags[place as usize % WAYS] != tag {
            let bulk = &self.bulk[set];
            // A host without bulk flows has nothing to share, so its entry can be taken.
            let idle = || ways_from(place).find(|other| bulk[*other as usize % WAYS] == 0);
            way = way_with(tags, tag, place).or_else(idle).unwrap_or(place);
            tags[way as usize % WAYS] = tag;
        }
        u16::try_from(index_of(set, way)).unwrap_or(0)
    }

    /// How many bulk flows the host with this entry has.
    pub(super) fn bulk_of(&self, entry: u16) -> u16 {
        self.bulk[entry as usize / WAYS % SETS][entry as usize % WAYS]
    }

    /// Counts the start or end of a bulk flow of this host.
    pub(super) fn count_bulk(&mut self, entry: u16, begins: bool) {
        let count = &mut self.bulk[entry as usize / WAYS % SETS][entry as usize % WAYS];
        let before = *count;
        *count = if begins { count.saturating_add(1) } else { count.saturating_sub(1) };
        // The number of hosts with several bulk flows tells without a scan whether any quantum must
        // be divided.
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
        let set = index as usize / WAYS % SETS;
        let bit = 1 << (index % WAYS_32);
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
