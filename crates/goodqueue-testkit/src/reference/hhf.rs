//! The heavy-hitter filter in the words of Estan & Varghese 2002 and of tc-hhf(8): counters by
//! stage and place, a list of the heavy hitters, and two queues with weights.

use std::collections::BTreeMap;

use super::Item;

/// The discipline.
#[derive(Clone, Debug)]
pub struct Hhf {
    /// Packets that both queues together hold.
    pub limit: usize,
    /// Bytes that the heavy hitters, and the other flows, send in their turns.
    pub shares: [i64; 2],
    /// Bytes above which a flow is a heavy hitter.
    pub admit: u32,
    /// Time after which the counters are cleared, in ms.
    pub reset: u64,
    /// Time of silence after which a heavy hitter is forgotten, in ms.
    pub evict: u64,
    counters: BTreeMap<(u32, u32), u32>,
    cleared: u64,
    /// When each heavy hitter sent its last packet.
    hitters: BTreeMap<u32, u64>,
    queues: [Vec<Item>; 2],
    deficits: [i64; 2],
    /// The other flows if they are served first.
    first: Vec<usize>,
    /// The queues that take turns.
    turns: Vec<usize>,
}

const HEAVY: usize = 0;
const OTHERS: usize = 1;

impl Hhf {
    /// Empty queues.
    #[must_use]
    pub fn new(limit: usize, shares: [i64; 2], admit: u32, [reset, evict]: [u64; 2]) -> Self {
        Self {
            limit,
            shares,
            admit,
            reset,
            evict,
            counters: BTreeMap::new(),
            cleared: 0,
            hitters: BTreeMap::new(),
            queues: [Vec::new(), Vec::new()],
            deficits: [0; 2],
            first: Vec::new(),
            turns: Vec::new(),
        }
    }

    /// The packet dropped when `item` arrives from the flow with this hash.
    pub fn enqueue(&mut self, now: u64, hash: u32, item: Item) -> Vec<u64> {
        let queue = if self.is_heavy(now / 1_000_000, hash, item.len) { HEAVY } else { OTHERS };
        self.queues[queue].push(item);
        if !self.first.contains(&queue) && !self.turns.contains(&queue) {
            self.deficits[queue] = self.shares[queue];
            if queue == HEAVY { self.turns.push(queue) } else { self.first.push(queue) }
        }
        if self.queues.iter().map(Vec::len).sum::<usize>() <= self.limit {
            return Vec::new();
        }
        let victim = if self.queues[HEAVY].is_empty() { OTHERS } else { HEAVY };
        vec![self.queues[victim].remove(0).id]
    }

    /// The multi-stage filter with shielding and conservative update, behind the table.
    fn is_heavy(&mut self, millis: u64, hash: u32, bytes: u32) -> bool {
        if millis - self.cleared > self.reset {
            self.counters.clear();
            self.cleared = millis;
        }
        self.hitters.retain(|_, last| millis - *last <= self.evict);
        if let Some(last) = self.hitters.get_mut(&hash) {
            *last = millis;
            return true;
        }
        let part = |stage: u32| (hash >> (10 * stage)) % 1024;
        let places = [part(0), part(1), part(2), part(0) ^ part(1) ^ part(2) ^ part(3)];
        let stages = || (0_u32..).zip(places);
        let counters = stages().map(|stage| self.counters.get(&stage).copied().unwrap_or(0));
        let smallest = counters.min().unwrap_or(0) + bytes;
        if smallest > self.admit {
            self.hitters.insert(hash, millis);
            return true;
        }
        for stage in stages() {
            let counter = self.counters.entry(stage).or_insert(0);
            *counter = smallest.max(*counter);
        }
        false
    }

    /// The packet sent.
    pub fn dequeue(&mut self) -> Option<u64> {
        loop {
            let is_first = !self.first.is_empty();
            let list = if is_first { &mut self.first } else { &mut self.turns };
            let &queue = list.first()?;
            if self.deficits[queue] > 0 && !self.queues[queue].is_empty() {
                let item = self.queues[queue].remove(0);
                self.deficits[queue] -= i64::from(item.len);
                return Some(item.id);
            }
            list.remove(0);
            if self.deficits[queue] <= 0 {
                self.deficits[queue] += self.shares[queue];
                self.turns.push(queue);
            } else if is_first && !self.turns.is_empty() {
                // A queue that was served first takes one turn before it may be first again.
                self.turns.push(queue);
            }
        }
    }
}
