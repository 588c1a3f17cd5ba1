//! RED in the words of Floyd and Jacobson 1993, counted in packets, and its adaptation of 2001
//! (Floyd, Gummadi and Shenker).

use super::Item;

/// The queue and its average.
#[derive(Clone, Debug)]
pub struct Red {
    /// w_q.
    pub weight: f64,
    /// Thresholds, in packets.
    pub min: f64,
    /// Thresholds, in packets.
    pub max: f64,
    /// max_p.
    pub max_p: f64,
    /// Probability rises to 1 between max and 2 max.
    pub gentle: bool,
    /// Transmission time of a typical packet, in ns.
    pub packet_time: f64,
    /// What is queued.
    pub queue: Vec<Item>,
    /// avg.
    pub average: f64,
    /// count.
    pub count: i64,
    /// q_time.
    pub idle_since: u64,
    /// When max_p is looked at next, in ns; `None`: never.
    pub look_at: Option<u64>,
}

/// Floyd et al. 2001: `interval`.
pub const LOOK_INTERVAL: u64 = 500_000_000;

impl Red {
    /// Arrival; `random` gives a number in 0..1. True if the packet is dropped.
    pub fn enqueue(&mut self, now: u64, item: Item, random: impl FnOnce() -> f64) -> bool {
        self.adapt(now);
        self.average(now);
        let drop = self.decide(random);
        if !drop {
            self.queue.push(item);
        }
        drop
    }

    /// Averages what an arriving packet finds.
    pub fn average(&mut self, now: u64) {
        if self.queue.is_empty() {
            self.average = self.idled(now);
            // If the packet is dropped, the queue stays empty and idles on from here.
            self.idle_since = now;
        } else {
            self.average = (1.0 - self.weight) * self.average + self.weight * self.queue.len() as f64;
        }
    }

    /// Every half second the probability moves towards where the average is in the middle fifth
    /// between the thresholds.
    fn adapt(&mut self, now: u64) {
        while let Some(at) = self.look_at.filter(|&at| at <= now) {
            let span = self.max - self.min;
            let average = if self.queue.is_empty() { self.idled(at) } else { self.average };
            // The steps and their bounds are those of Adaptive RED (Floyd, Gummadi and Shenker
            // 2001).
            if average > self.min + 0.6 * span && self.max_p <= 0.5 {
                self.max_p += (self.max_p / 4.0).min(0.01);
            } else if average < self.min + 0.4 * span && self.max_p >= 0.01 {
                self.max_p *= 0.9;
            }
            self.look_at = Some(at + LOOK_INTERVAL);
        }
    }

    /// The average after an idle time, as if small packets had come all the while.
    fn idled(&self, now: u64) -> f64 {
        let m = ((now - self.idle_since) as f64 / self.packet_time).floor();
        self.average * libm::pow(1.0 - self.weight, m)
    }

    fn decide(&mut self, random: impl FnOnce() -> f64) -> bool {
        !self.is_below_min() && self.drops(random)
    }

    /// True if nobody is dropped.
    pub fn is_below_min(&mut self) -> bool {
        if self.average < self.min {
            self.count = -1;
        }
        self.average < self.min
    }

    /// Whether the arriving packet is dropped, with the average at min or above.
    pub fn drops(&mut self, random: impl FnOnce() -> f64) -> bool {
        if self.average >= if self.gentle { 2.0 * self.max } else { self.max } {
            self.count = 0;
            return true;
        }
        self.count += 1;
        let p_b = if self.average < self.max {
            self.max_p * (self.average - self.min) / (self.max - self.min)
        } else {
            self.max_p + (1.0 - self.max_p) * (self.average / self.max - 1.0)
        };
        let rest = 1.0 - self.count as f64 * p_b;
        // Spaced by the packets since the last drop, which makes the gaps uniform (Floyd and
        // Jacobson 1993, method 2).
        let p_a = if rest > 0.0 { p_b / rest } else { 1.0 };
        let drop = random() < p_a;
        if drop {
            self.count = 0;
        }
        drop
    }

    /// The packet sent.
    pub fn dequeue(&mut self, now: u64) -> Option<u64> {
        self.adapt(now);
        if self.queue.is_empty() {
            return None;
        }
        let item = self.queue.remove(0);
        if self.queue.is_empty() {
            self.idle_since = now;
        }
        Some(item.id)
    }
}
