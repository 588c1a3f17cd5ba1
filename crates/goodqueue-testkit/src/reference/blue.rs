//! BLUE in the words of Feng et al. 2002.

use super::Item;

/// The queue and its probability.
#[derive(Clone, Debug)]
pub struct Blue {
    /// Packets that the queue holds.
    pub limit: usize,
    /// freeze_time, in ns.
    pub freeze_time: u64,
    /// d1.
    pub d1: f64,
    /// d2.
    pub d2: f64,
    /// L.
    pub threshold: Option<usize>,
    /// What is queued.
    pub queue: Vec<Item>,
    /// p_m.
    pub p_m: f64,
    /// last_update; `None`: never.
    pub last_update: Option<u64>,
}

impl Blue {
    /// Arrival; `random` gives a number in 0..1. True if the packet is dropped.
    pub fn enqueue(&mut self, now: u64, item: Item, random: impl FnOnce() -> f64) -> bool {
        let loss = self.queue.len() == self.limit;
        // The variant with L reacts before the buffer is full.
        if loss || self.threshold.is_some_and(|threshold| self.queue.len() > threshold) {
            self.update(now, self.d1);
        }
        // A full queue draws no number.
        let drop = loss || random() < self.p_m;
        if !drop {
            self.queue.push(item);
        }
        drop
    }

    /// The packet sent.
    pub fn dequeue(&mut self, now: u64) -> Option<u64> {
        let sent = if self.queue.is_empty() { None } else { Some(self.queue.remove(0).id) };
        // The link is idle once a dequeue leaves the queue empty or finds it empty.
        if self.queue.is_empty() {
            self.update(now, -self.d2);
        }
        sent
    }

    fn update(&mut self, now: u64, delta: f64) {
        // The paper's pseudo-code compares with `>`. The first event may change the probability at
        // once.
        if self.last_update.is_none_or(|last| now - last > self.freeze_time) {
            self.p_m = (self.p_m + delta).clamp(0.0, 1.0);
            self.last_update = Some(now);
        }
    }
}
