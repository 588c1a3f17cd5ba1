//! Deficit round robin in the words of Shreedhar & Varghese 1995, with the deficit of a new flow at
//! one quantum as in Linux.

use super::Item;

/// The discipline.
#[derive(Clone, Debug)]
pub struct Drr {
    /// Packets that each flow holds.
    pub limit: usize,
    /// The flows.
    pub flows: Vec<Flow>,
    /// The list of active flows, by number.
    pub active: Vec<usize>,
}

/// A flow.
#[derive(Clone, Debug, Default)]
pub struct Flow {
    /// Bytes per round.
    pub quantum: u64,
    /// What is queued.
    pub queue: Vec<Item>,
    /// What it may send in this round.
    pub deficit: u64,
}

impl Drr {
    /// The packets dropped when `item` arrives for `flow`.
    pub fn enqueue(&mut self, flow: usize, item: Item) -> Vec<u64> {
        let own = &mut self.flows[flow];
        if own.queue.len() >= self.limit {
            return vec![item.id];
        }
        own.queue.push(item);
        if own.queue.len() == 1 {
            own.deficit = own.quantum;
            self.active.push(flow);
        }
        Vec::new()
    }

    /// The packet sent.
    pub fn dequeue(&mut self) -> Option<u64> {
        loop {
            let &number = self.active.first()?;
            let flow = &mut self.flows[number];
            let head = *flow.queue.first()?;
            // DRR never sends more than the deficit, unlike the schedulers that borrow from the
            // next round.
            if u64::from(head.len) > flow.deficit {
                flow.deficit += flow.quantum;
                self.active.rotate_left(1);
                continue;
            }
            flow.deficit -= u64::from(head.len);
            flow.queue.remove(0);
            if flow.queue.is_empty() {
                self.active.remove(0);
            }
            return Some(head.id);
        }
    }
}
