//! SFQ-CoDel as Nichols wrote it for ns-2 in 2012: a round of bins, one packet a turn.

use super::codel::Law;
use super::{Item, bytes};

/// The discipline.
#[derive(Clone, Debug)]
pub struct SfqCodel {
    /// Packets that all bins together hold.
    pub limit: usize,
    /// The bins.
    pub bins: Vec<Bin>,
    /// Bins in the round, the one to be served next first.
    pub round: Vec<usize>,
}

/// A bin.
#[derive(Clone, Debug)]
pub struct Bin {
    queue: Vec<Item>,
    law: Law,
    is_new: bool,
}

impl SfqCodel {
    /// Empty bins, each under a law that is in the state `law`.
    #[must_use]
    pub fn new(limit: usize, bins: usize, law: &Law) -> Self {
        let bin = Bin { queue: Vec::new(), law: law.clone(), is_new: false };
        Self { limit, bins: vec![bin; bins], round: Vec::new() }
    }

    /// The packets dropped when `item` arrives for `bin`.
    pub fn enqueue(&mut self, bin: usize, item: Item) -> Vec<u64> {
        if self.bins.iter().map(|bin| bin.queue.len()).sum::<usize>() >= self.limit {
            return vec![item.id];
        }
        self.bins[bin].queue.push(item);
        if !self.round.contains(&bin) {
            self.bins[bin].is_new = true;
            // In front of the first that is not new; behind the last one if the walk ends there.
            let first_old = self.round.iter().position(|&other| !self.bins[other].is_new);
            let place = match first_old {
                Some(place) if place + 1 < self.round.len() => place,
                _ => self.round.len(),
            };
            self.round.insert(place, bin);
        }
        Vec::new()
    }

    /// The packets dropped and the one sent.
    pub fn dequeue(&mut self, now: u64) -> (Vec<u64>, Option<u64>) {
        let mut dropped = Vec::new();
        while let Some(&number) = self.round.first() {
            // An emptied bin keeps its place until its turn, so that its flow cannot return as new
            // at once.
            if self.bins[number].queue.is_empty() {
                self.round.remove(0);
                continue;
            }
            let all: f64 = self.bins.iter().map(|bin| bytes(&bin.queue)).sum();
            // The largest packet that any of them has seen.
            let largest = self.bins.iter().map(|bin| bin.law.largest).fold(0.0, f64::max);
            let bin = &mut self.bins[number];
            bin.law.largest = largest;
            bin.is_new = false;
            let beside = all - bytes(&bin.queue);
            let (lost, sent) = bin.law.dequeue(now, &mut bin.queue, beside);
            dropped.extend(lost);
            // A bin that CoDel's drops have emptied leaves the round at once.
            match sent {
                Some(item) => {
                    self.round.rotate_left(1);
                    return (dropped, Some(item.id));
                }
                None => {
                    self.round.remove(0);
                }
            }
        }
        (dropped, None)
    }
}
