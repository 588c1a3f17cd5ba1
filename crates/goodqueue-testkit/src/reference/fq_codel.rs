//! FQ-CoDel in the words of RFC 8290: vectors of packets, and a scan for the fattest flow.

use super::codel::Law;
use super::{Item, bytes};

/// The discipline.
#[derive(Clone, Debug)]
pub struct FqCodel {
    /// Packets that all queues together hold.
    pub limit: usize,
    /// Bytes per round.
    pub quantum: i64,
    /// Packets that the fattest flow loses at most at once.
    pub drop_batch: usize,
    /// The queues.
    pub flows: Vec<Flow>,
    /// Flows that have just become active, by number.
    pub new: Vec<usize>,
    /// The others that are active.
    pub old: Vec<usize>,
}

/// A queue.
#[derive(Clone, Debug)]
pub struct Flow {
    queue: Vec<Item>,
    deficit: i64,
    law: Law,
}

impl FqCodel {
    /// Empty queues, each under a law that is in the state `law`.
    #[must_use]
    pub fn new(limit: usize, quantum: i64, drop_batch: usize, flows: usize, law: &Law) -> Self {
        let flow = Flow { queue: Vec::new(), deficit: 0, law: law.clone() };
        Self { limit, quantum, drop_batch, flows: vec![flow; flows], new: Vec::new(), old: Vec::new() }
    }

    /// The packets dropped when `item` arrives for `flow`.
    pub fn enqueue(&mut self, flow: usize, item: Item) -> Vec<u64> {
        self.flows[flow].queue.push(item);
        if !self.new.contains(&flow) && !self.old.contains(&flow) {
            self.new.push(flow);
            self.flows[flow].deficit = self.quantum;
        }
        let mut dropped = Vec::new();
        while self.flows.iter().map(|flow| flow.queue.len()).sum::<usize>() > self.limit {
            dropped.extend(self.drop_from_fattest());
        }
        dropped
    }

    /// RFC 8290 §4.1.
    fn drop_from_fattest(&mut self) -> Vec<u64> {
        let most = self.flows.iter().map(|flow| bytes(&flow.queue)).fold(0.0, f64::max);
        // The first one of several.
        let Some(fattest) = self.flows.iter_mut().find(|flow| bytes(&flow.queue) >= most) else {
            return Vec::new();
        };
        let mut dropped = Vec::new();
        let mut lost = 0.0;
        // Half of the backlog, in a batch of limited size, and at least one packet.
        while dropped.len() < self.drop_batch && (dropped.is_empty() || lost < most / 2.0) {
            let item = fattest.queue.remove(0);
            lost += f64::from(item.len);
            dropped.push(item.id);
        }
        // CoDel learns of these drops, as in Linux `fq_codel_drop()`.
        fattest.law.count += u32::try_from(dropped.len()).unwrap_or(u32::MAX);
        dropped
    }

    /// The packets dropped and the one sent: RFC 8290 §4.2.
    pub fn dequeue(&mut self, now: u64) -> (Vec<u64>, Option<u64>) {
        let mut dropped = Vec::new();
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let Some(&number) = list.first() else { return (dropped, None) };
            let flow = &mut self.flows[number];
            if flow.deficit <= 0 {
                flow.deficit += self.quantum;
                list.remove(0);
                self.old.push(number);
                continue;
            }
            let (lost, sent) = flow.law.dequeue(now, &mut flow.queue, 0.0);
            dropped.extend(lost);
            if let Some(item) = sent {
                flow.deficit -= i64::from(item.len);
                return (dropped, Some(item.id));
            }
            list.remove(0);
            // A new flow that is empty passes through the old ones, so that it cannot starve them
            // (RFC 8290 §4.2).
            if is_new && !self.old.is_empty() {
                self.old.push(number);
            }
        }
    }
}
