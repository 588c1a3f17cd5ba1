//! Stochastic fair BLUE in the words of Feng et al. 2001, with the numbers of Linux: eight levels
//! of sixteen bins, signals in 65535ths, a penalty box for those whose bins are full at every
//! level.

use super::Item;

/// The queue and its bins.
#[derive(Clone, Debug)]
pub struct Sfb {
    /// Packets that the queue holds.
    pub limit: usize,
    /// Packets of one bin above which its flows are dropped.
    pub max: u32,
    /// Packets of one bin from which on its probability rises.
    pub target: u32,
    /// How much the probability rises and falls, in 65535ths.
    pub steps: (u32, u32),
    /// Packets per second of all that do not respond, and as many at once.
    pub penalty: (f64, f64),
    /// What is queued, with the hash of its flow.
    pub queue: Vec<(Item, u32)>,
    /// Probability of each bin of each level, in 65535ths.
    pub probability: [[u32; 16]; 8],
    tokens: f64,
    tokens_at: u64,
}

impl Sfb {
    /// An empty queue.
    #[must_use]
    pub fn new(limit: usize, max: u32, target: u32, steps: (u32, u32), penalty: (f64, f64)) -> Self {
        let probability = [[0; 16]; 8];
        Self {
            limit,
            max,
            target,
            steps,
            penalty,
            queue: Vec::new(),
            probability,
            tokens: penalty.1,
            tokens_at: 0,
        }
    }

    /// Arrival of a packet whose flow has this hash; `random` gives a number from 0 to 65535. True
    /// if it is dropped.
    pub fn enqueue(&mut self, now: u64, hash: u32, item: Item, random: impl FnOnce() -> u32) -> bool {
        if self.queue.len() >= self.limit {
            return true;
        }
        // Four bits of the hash for each level.
        let bin = |hash: u32, level: usize| (hash >> (4 * level)) as usize % 16;
        let mut least = u32::MAX;
        let mut fewest = usize::MAX;
        for level in 0..8 {
            let own = bin(hash, level);
            let queued = self.queue.iter().filter(|(_, other)| bin(*other, level) == own).count();
            let p = &mut self.probability[level][own];
            if queued == 0 {
                *p = p.saturating_sub(self.steps.1);
            } else if queued >= self.target as usize {
                *p = (*p + self.steps.0).min(65_535);
            }
            least = least.min(*p);
            fewest = fewest.min(queued);
        }
        let drop = fewest >= self.max as usize
            // A draw of 65535 is not below 65535, so a probability of 1 is decided without a draw.
            || if least == 65_535 {
                self.is_punished(now)
            } else {
                // Nobody here can be marked.
                random() < least
            };
        if !drop {
            self.queue.push((item, hash));
        }
        drop
    }

    /// So many a second pass, and no credit for more than a burst; the box is only filled up once
    /// it is empty.
    fn is_punished(&mut self, now: u64) -> bool {
        if self.tokens == 0.0 {
            let millis = now / 1_000_000;
            // Linux `sfb_rate_limit()` adds tokens for at most 10 s at once.
            let age = (millis - self.tokens_at).min(10_000);
            self.tokens = (age as f64 * self.penalty.0 / 1000.0).floor().min(self.penalty.1);
            self.tokens_at = millis;
            if self.tokens == 0.0 {
                return true;
            }
        }
        self.tokens -= 1.0;
        false
    }

    /// The packet sent.
    pub fn dequeue(&mut self) -> Option<u64> {
        if self.queue.is_empty() { None } else { Some(self.queue.remove(0).0.id) }
    }
}
