//! A token bucket in front of a FIFO, as tc-tbf(8) describes it, in bytes and real numbers.

use super::{Item, bytes};

/// The bucket and the queue.
#[derive(Clone, Debug)]
pub struct Tbf {
    /// Bytes per ns.
    pub rate: f64,
    /// Bytes that may go at once.
    pub burst: f64,
    /// Bytes per ns, and bytes at once, of the second bucket.
    pub peak: Option<(f64, f64)>,
    /// Bytes that the queue holds.
    pub limit: f64,
    /// What is queued.
    pub queue: Vec<Item>,
    /// What is in the buckets, and since when.
    pub tokens: (f64, f64),
    /// When they were filled last.
    pub filled_at: u64,
}

impl Tbf {
    /// True if the packet is dropped.
    pub fn enqueue(&mut self, item: Item) -> bool {
        // A longer packet would never find enough tokens.
        let longest = self.peak.map_or(self.burst, |(_, most)| most.min(self.burst));
        let len = f64::from(item.len);
        let drop = len > longest || bytes(&self.queue) + len > self.limit;
        if !drop {
            self.queue.push(item);
        }
        drop
    }

    /// The packet sent, if its tokens are there.
    pub fn dequeue(&mut self, now: u64) -> Option<u64> {
        let len = f64::from(self.queue.first()?.len);
        let elapsed = (now - self.filled_at) as f64;
        let tokens = (self.tokens.0 + elapsed * self.rate).min(self.burst) - len;
        let peak = match self.peak {
            // No longer than it takes to fill the first bucket.
            Some((rate, most)) => {
                (self.tokens.1 + elapsed.min(self.burst / self.rate) * rate).min(most) - len
            }
            None => 0.0,
        };
        // An attempt that fails leaves the buckets as they are, so the next one counts its time.
        if tokens < 0.0 || peak < 0.0 {
            return None;
        }
        (self.tokens, self.filled_at) = ((tokens, peak), now);
        Some(self.queue.remove(0).id)
    }
}
