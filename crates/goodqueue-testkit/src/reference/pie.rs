//! PIE in the words of RFC 8033, in seconds and real numbers.

use super::{Item, bytes};

/// The queue and its controller. Delays in seconds.
#[derive(Clone, Debug)]
pub struct Pie {
    /// Packets that the queue holds.
    pub limit: usize,
    /// QDELAY_REF.
    pub target: f64,
    /// T_UPDATE in ns.
    pub tupdate: u64,
    /// Gain of the distance from the target, per second.
    pub alpha: f64,
    /// Gain of the change, per second.
    pub beta: f64,
    /// MAX_BURST, in ns: ten times 0.015 is not 0.15 in real numbers of 64 bits.
    pub max_burst: f64,
    /// What is queued.
    pub queue: Vec<Item>,
    /// drop_prob_.
    pub probability: f64,
    accumulated: f64,
    delay: f64,
    old_delay: f64,
    burst_allowance: f64,
    update_at: Option<u64>,
}

impl Pie {
    /// An empty queue with the defaults of RFC 8033 §4.2.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            target: 0.015,
            tupdate: 15_000_000,
            alpha: 0.125,
            beta: 1.25,
            max_burst: 150e6,
            queue: Vec::new(),
            probability: 0.0,
            accumulated: 0.0,
            delay: 0.0,
            old_delay: 0.0,
            burst_allowance: 150e6,
            update_at: None,
        }
    }

    /// Arrival; `random` gives a number in 0..1. True if the packet is dropped.
    pub fn enqueue(&mut self, now: u64, item: Item, random: impl FnOnce() -> f64) -> bool {
        self.advance(now);
        let drop = self.queue.len() >= self.limit || (self.burst_allowance <= 0.0 && self.drop_early(random));
        // A forced drop of a full queue resets the sum, too.
        if drop {
            self.accumulated = 0.0;
        } else {
            self.queue.push(item);
        }
        drop
    }

    /// The packet sent.
    pub fn dequeue(&mut self, now: u64) -> Option<u64> {
        self.advance(now);
        if self.queue.is_empty() {
            return None;
        }
        let item = self.queue.remove(0);
        // An empty queue has no delay, however long its last packet waited.
        self.delay = if self.queue.is_empty() { 0.0 } else { seconds(now - item.at) };
        Some(item.id)
    }

    /// RFC 8033 §4.1 and §5.4.
    fn drop_early(&mut self, random: impl FnOnce() -> f64) -> bool {
        if self.old_delay < self.target / 2.0 && self.probability < 0.2 {
            return false;
        }
        // Two packets of the mean size, MEAN_PKTSIZE.
        if bytes(&self.queue) <= 2.0 * 1024.0 {
            return false;
        }
        if self.probability == 0.0 {
            self.accumulated = 0.0;
        }
        self.accumulated += self.probability;
        if self.accumulated < 0.85 {
            return false;
        }
        if self.accumulated >= 8.5 || random() < self.probability {
            self.accumulated = 0.0;
            return true;
        }
        false
    }

    fn advance(&mut self, now: u64) {
        // The period counts from time 0.
        let mut at = *self.update_at.get_or_insert((now / self.tupdate + 1) * self.tupdate);
        while at <= now {
            self.status_update();
            at += self.tupdate;
        }
        self.update_at = Some(at);
    }

    /// RFC 8033 §4.2 to §4.4 and §5.5.
    pub fn status_update(&mut self) {
        self.burst_allowance = (self.burst_allowance - self.tupdate as f64).max(0.0);
        let mut p = self.alpha * (self.delay - self.target) + self.beta * (self.delay - self.old_delay);
        let divisors = [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0)];
        if let Some((_, divisor)) = divisors.iter().find(|(bound, _)| self.probability < *bound) {
            p /= divisor;
        }
        if self.probability >= 0.1 && p > 0.02 {
            p = 0.02;
        }
        self.probability += p;
        if self.delay == 0.0 && self.old_delay == 0.0 {
            self.probability *= 0.98;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        let half = self.target / 2.0;
        if self.probability == 0.0 && self.delay < half && self.old_delay < half {
            self.burst_allowance = self.max_burst;
        }
        self.old_delay = self.delay;
    }

    /// Sets what the controller sees, for tests without packets.
    pub fn set_delay(&mut self, delay: f64) {
        self.delay = delay;
    }
}

fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}
