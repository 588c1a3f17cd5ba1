//! Sets of eight adjacent places, for the queues of a flow and the entries of a host.

use super::queues::{QUEUES, QUEUES_32};

/// The tags of a set.
pub(super) type Tags = [u32; WAYS];

/// The ways of a set, from `place` on and round.
pub(super) fn ways_from(place: u32) -> impl Iterator<Item = u32> {
    (0..WAYS_32).map(move |step| (place + step) % WAYS_32)
}

/// The first of the ways in a bit mask, from `place` on and round.
#[inline]
pub(super) fn nearest(ways: u8, place: u32) -> Option<u32> {
    let steps = ways.rotate_right(place).trailing_zeros();
    (ways != 0).then_some((place + steps) % WAYS_32)
}

/// The first of the ways from `place` on that has this tag.
#[inline]
pub(super) fn way_with(tags: &Tags, tag: u32, place: u32) -> Option<u32> {
    // Compares all at once, because usually none matches.
    let any = tags.iter().fold(false, |any, own| any | (*own == tag));
    if any { ways_from(place).find(|way| tags[*way as usize % WAYS] == tag) } else { None }
}

/// Where a tag belongs: its set, and the way in it.
#[inline]
pub(super) const fn home_of(tag: u32) -> (usize, u32) {
    (tag as usize / WAYS % SETS, tag % WAYS_32)
}

/// Returns the index of this way of this set.
#[inline]
pub(super) fn index_of(set: usize, way: u32) -> u32 {
    u32::try_from(set * WAYS % QUEUES).unwrap_or(0) % QUEUES_32 + way
}

/// Linux sch_cake: how many queues a flow can be put into.
pub(super) const WAYS: usize = 8;
pub(super) const WAYS_32: u32 = 8;
pub(super) const SETS: usize = QUEUES / WAYS;
