//! SFQ as Linux schedules it, from the description in tc-sfq(8): scans instead of lists.

use super::Item;

/// The queue.
#[derive(Clone, Debug)]
pub struct Sfq {
    /// Packets in all, and per flow.
    pub limit: usize,
    /// Packets per flow.
    pub depth: usize,
    /// Flows at once.
    pub flows: usize,
    /// Bytes per round.
    pub quantum: i64,
    /// Drop the oldest instead of the youngest.
    pub head_drop: bool,
    /// Flows with packets, in the order of service.
    pub round: Vec<Active>,
    /// Counts changes of any flow's length.
    pub clock: u64,
}

/// A flow with packets.
#[derive(Clone, Debug)]
pub struct Active {
    bucket: u32,
    queue: Vec<Item>,
    allot: i64,
    changed: u64,
}

impl Sfq {
    /// The packets dropped when `item` arrives for `bucket`.
    pub fn enqueue(&mut self, bucket: u32, item: Item) -> Vec<u64> {
        self.clock += 1;
        let quantum = self.quantum;
        let position = match self.round.iter().position(|flow| flow.bucket == bucket) {
            Some(position) => position,
            None if self.round.len() >= self.flows => return vec![item.id],
            None => {
                self.round.push(Active { bucket, queue: Vec::new(), allot: quantum, changed: 0 });
                self.round.len() - 1
            }
        };
        let own = &mut self.round[position];
        if own.queue.len() >= self.depth {
            if !self.head_drop {
                return vec![item.id];
            }
            // `changed` stays, because the flow keeps its length.
            let oldest = own.queue.remove(0);
            own.queue.push(item);
            return vec![oldest.id];
        }
        own.queue.push(item);
        own.changed = self.clock;
        if self.round.iter().map(|flow| flow.queue.len()).sum::<usize>() <= self.limit {
            return Vec::new();
        }
        let longest = self.round.iter().map(|flow| flow.queue.len()).max().unwrap_or(0);
        // Among flows of one packet each the next in turn loses, else the one that got this long
        // last.
        let victim = if longest == 1 {
            0
        } else {
            let latest =
                self.round.iter().filter(|flow| flow.queue.len() == longest).map(|flow| flow.changed).max();
            self.round.iter().position(|f| f.queue.len() == longest && Some(f.changed) == latest).unwrap_or(0)
        };
        self.clock += 1;
        let loser = &mut self.round[victim];
        let index = if self.head_drop { 0 } else { loser.queue.len() - 1 };
        let dropped = loser.queue.remove(index);
        loser.changed = self.clock;
        if loser.queue.is_empty() {
            self.round.remove(victim);
        }
        vec![dropped.id]
    }

    /// The packet sent.
    pub fn dequeue(&mut self) -> Option<u64> {
        loop {
            let flow = self.round.first_mut()?;
            if flow.allot <= 0 {
                flow.allot += self.quantum;
                self.round.rotate_left(1);
                continue;
            }
            self.clock += 1;
            let item = flow.queue.remove(0);
            // A flow of packets without bytes would be served forever.
            flow.allot -= i64::from(item.len.max(1));
            flow.changed = self.clock;
            if flow.queue.is_empty() {
                self.round.remove(0);
            }
            return Some(item.id);
        }
    }
}
