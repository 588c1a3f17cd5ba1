//! A round of flows that a flow can leave from anywhere.

use alloc::boxed::Box;

use super::queues::{QUEUES, QUEUES_32};

/// Flows in a round, linked both ways.
#[derive(Clone, Debug)]
pub(super) struct Links {
    pub(super) first: u16,
    /// Of each flow; apart from the flows, since they are needed when those are not.
    pub(super) flows: Box<[Neighbours; QUEUES]>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Neighbours {
    pub(super) before: u16,
    pub(super) next: u16,
}

/// "No flow".
pub(super) const NIL: u16 = u16::MAX;

impl Links {
    #[inline]
    fn neighbours(&mut self, place: u16) -> &mut Neighbours {
        &mut self.flows[place as usize % QUEUES]
    }

    #[inline]
    pub(super) fn first(&self) -> Option<u32> {
        if self.first == NIL { None } else { Some(u32::from(self.first)) }
    }

    /// The first becomes the last.
    #[inline]
    pub(super) fn rotate(&mut self) {
        self.first = self.neighbours(self.first).next;
    }

    /// Puts a flow behind all others.
    #[inline]
    pub(super) fn push(&mut self, index: u32) {
        let place = u16::try_from(index % QUEUES_32).unwrap_or(NIL);
        let first = self.first;
        if first == NIL {
            *self.neighbours(place) = Neighbours { before: place, next: place };
            self.first = place;
            return;
        }
        let last = core::mem::replace(&mut self.neighbours(first).before, place);
        self.neighbours(last).next = place;
        *self.neighbours(place) = Neighbours { before: last, next: first };
    }

    /// Takes a flow out.
    #[inline]
    pub(super) fn remove(&mut self, index: u32) {
        let place = u16::try_from(index % QUEUES_32).unwrap_or(NIL);
        let Neighbours { before, next } = *self.neighbours(place);
        self.neighbours(before).next = next;
        self.neighbours(next).before = before;
        if self.first == place {
            self.first = if next == place { NIL } else { next };
        }
    }
}
