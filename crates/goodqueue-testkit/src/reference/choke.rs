//! CHOKe in the words of Pan et al. 2000, on RED of 1993.

use super::Item;
use super::red::Red;

/// RED's average and queue, and the flows of what is queued.
#[derive(Clone, Debug)]
pub struct Choke {
    /// Packets that the queue holds.
    pub limit: usize,
    /// RED.
    pub red: Red,
    /// Flow of each packet queued.
    pub flows: Vec<u32>,
}

impl Choke {
    /// Arrival of a packet of `flow`; `draw` gives a number in 0..1. The packets dropped, the
    /// arriving one first.
    pub fn enqueue(&mut self, now: u64, flow: u32, item: Item, mut draw: impl FnMut() -> f64) -> Vec<u64> {
        self.red.average(now);
        if !self.red.is_below_min() {
            let queued = self.flows.len();
            if queued > 0 {
                let place = draw() * queued as f64;
                // The largest index that is not above `place`, without a conversion from real
                // numbers.
                let candidate = (1..queued).rev().find(|&index| index as f64 <= place).unwrap_or(0);
                if self.flows[candidate] == flow {
                    // RED's count stays, because RED has not decided yet.
                    self.flows.remove(candidate);
                    return vec![item.id, self.red.queue.remove(candidate).id];
                }
            }
            if self.red.drops(&mut draw) {
                return vec![item.id];
            }
        }
        if self.flows.len() >= self.limit {
            return vec![item.id];
        }
        self.flows.push(flow);
        self.red.queue.push(item);
        Vec::new()
    }

    /// The packet sent.
    pub fn dequeue(&mut self, now: u64) -> Option<u64> {
        let sent = self.red.dequeue(now)?;
        self.flows.remove(0);
        Some(sent)
    }
}
