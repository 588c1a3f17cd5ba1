//! The token arithmetic of HTB for one leaf below a chain of classes, after tc-htb(8): a class may
//! send while it has tokens, and borrow from the one above while it has tokens at its ceiling.

use super::Item;

/// A class. Tokens are in ns at the class's rate.
#[derive(Clone, Debug)]
pub struct Class {
    /// Nanoseconds per byte at the rate and at the ceiling.
    pub cost: (f64, f64),
    /// Depths of the buckets.
    pub depth: (f64, f64),
    /// What is in the buckets.
    pub tokens: (f64, f64),
    /// When they were filled last.
    pub filled_at: u64,
}

/// A FIFO in a leaf; the leaf is the first class, each other one is above the one before.
#[derive(Clone, Debug)]
pub struct Htb {
    /// Packets that the leaf holds.
    pub limit: usize,
    /// The classes.
    pub classes: Vec<Class>,
    /// What is queued.
    pub queue: Vec<Item>,
}

/// Debts and idle times beyond a minute are forgotten.
const MINUTE: f64 = 60e9;

impl Class {
    /// A class of such a rate and ceiling, in ns per byte, with full buckets of so many bytes.
    #[must_use]
    pub fn new(cost: (f64, f64), burst: f64) -> Self {
        let depth = (burst * cost.0, burst * cost.1);
        Self { cost, depth, tokens: depth, filled_at: 0 }
    }

    fn elapsed(&self, now: u64) -> f64 {
        // Linux counts a minute at most (`mbuffer`).
        ((now - self.filled_at) as f64).min(MINUTE)
    }
}

impl Htb {
    /// True if the packet is dropped.
    pub fn enqueue(&mut self, item: Item) -> bool {
        let drop = self.queue.len() >= self.limit;
        if !drop {
            self.queue.push(item);
        }
        drop
    }

    /// The packet sent.
    pub fn dequeue(&mut self, now: u64) -> Option<u64> {
        if self.queue.is_empty() {
            return None;
        }
        // Up to the first class that has tokens; on the way there nobody may be above its ceiling.
        let mut lender = None;
        for (index, class) in self.classes.iter().enumerate() {
            let elapsed = class.elapsed(now);
            if class.tokens.1 + elapsed < 0.0 {
                return None;
            }
            if class.tokens.0 + elapsed >= 0.0 {
                lender = Some(index);
                break;
            }
        }
        let lender = lender?;
        let item = self.queue.remove(0);
        for (index, class) in self.classes.iter_mut().enumerate() {
            let elapsed = class.elapsed(now);
            let filled = class.tokens.0 + elapsed;
            // Those below the lender have not paid, but time went on for them too.
            class.tokens.0 = if index >= lender {
                // Linux limits a debt to a nanosecond less than the longest wait
                // (`htb_accnt_tokens()`).
                (filled.min(class.depth.0) - f64::from(item.len) * class.cost.0).max(1.0 - MINUTE)
            } else {
                filled
            };
            let ceiling = (class.tokens.1 + elapsed).min(class.depth.1) - f64::from(item.len) * class.cost.1;
            class.tokens.1 = ceiling.max(1.0 - MINUTE);
            class.filled_at = now;
        }
        Some(item.id)
    }
}
