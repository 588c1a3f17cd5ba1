//! COBALT as "Piece of CAKE" (2018) and tc-cake(8) describe it: CoDel's law with a count that
//! decays, and BLUE beside it.
//!
//! The inverse root is the one of the code, a fraction of 2^32: four Newton steps from the root
//! before for small counts, one for others. Everything else is in real numbers.

use super::Item;

/// One queue. Times in ns.
#[derive(Clone, Debug)]
pub struct Cobalt {
    /// Packets that the queue holds.
    pub limit: usize,
    /// Acceptable standing sojourn time.
    pub target: u64,
    /// Unit of the pace.
    pub interval: u64,
    /// BLUE's steps.
    pub steps: (f64, f64),
    /// What is queued.
    pub queue: Vec<Item>,
    count: u64,
    root: u64,
    drop_next: u64,
    dropping: bool,
    p_drop: f64,
    blue_timer: u64,
}

impl Cobalt {
    /// An empty queue with the defaults of `cake`.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            target: 5_000_000,
            interval: 100_000_000,
            // Linux `cake_init()`: `p_inc` is 2^24 and `p_dec` 2^20, of 2^32.
            steps: (1.0 / 256.0, 1.0 / 4096.0),
            queue: Vec::new(),
            count: 0,
            // The root of 1, as far as 32 bits can hold it.
            root: (1 << 32) - 1,
            drop_next: 0,
            dropping: false,
            p_drop: 0.0,
            blue_timer: 0,
        }
    }

    /// The packets dropped when `item` arrives.
    pub fn enqueue(&mut self, now: u64, item: Item) -> Vec<u64> {
        self.queue.push(item);
        if self.queue.len() <= self.limit {
            return Vec::new();
        }
        // The target bounds how often BLUE moves, as its paper's freeze time does.
        if now - self.blue_timer > self.target {
            // The largest probability that 32 bits can hold.
            self.p_drop = (self.p_drop + self.steps.0).min(1.0 - 2_f64.powi(-32));
            self.blue_timer = now;
        }
        // An overflow also starts CoDel's drops (Linux `cobalt_queue_full()`).
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
        vec![self.queue.remove(0).id]
    }

    /// The packets dropped and the one sent; `random` gives a number in 0..1.
    pub fn dequeue(&mut self, now: u64, mut random: impl FnMut() -> f64) -> (Vec<u64>, Option<u64>) {
        let mut dropped = Vec::new();
        loop {
            if self.queue.is_empty() {
                self.found_empty(now);
                return (dropped, None);
            }
            let item = self.queue.remove(0);
            let drop = self.should_drop(now, now - item.at, &mut random);
            // The last packet of the queue is not dropped, as in Linux.
            if !drop || self.queue.is_empty() {
                return (dropped, Some(item.id));
            }
            dropped.push(item.id);
        }
    }

    fn found_empty(&mut self, now: u64) {
        if self.p_drop > 0.0 && now - self.blue_timer > self.target {
            self.p_drop = (self.p_drop - self.steps.1).max(0.0);
            self.blue_timer = now;
        }
        self.dropping = false;
        if self.count > 0 && now >= self.drop_next {
            self.decay();
        }
    }

    fn should_drop(&mut self, now: u64, sojourn: u64, random: &mut impl FnMut() -> f64) -> bool {
        // Decided before the state changes, as in Linux `cobalt_should_drop()`.
        let due = self.count > 0 && now >= self.drop_next;
        if sojourn > self.target {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = now + self.spacing();
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
        let mut drop = false;
        if due && self.dropping {
            drop = true;
            self.count += 1;
            self.find_root();
            self.drop_next += self.spacing();
        } else if due {
            while self.count > 0 && now >= self.drop_next {
                self.decay();
            }
        }
        let late = now > self.drop_next;
        if self.p_drop > 0.0 && random() < self.p_drop {
            drop = true;
        }
        if self.count == 0 {
            // Without a count, `drop_next` tells when the state is at rest.
            self.drop_next = now + self.interval;
        } else if late && !drop {
            self.drop_next = now;
        }
        drop
    }

    fn decay(&mut self) {
        self.count -= 1;
        self.find_root();
        self.drop_next += self.spacing();
    }

    fn spacing(&self) -> u64 {
        self.interval * self.root / (1 << 32)
    }

    fn find_root(&mut self) {
        let newton = |root: u64, count: u64| {
            // x (3 - count x^2) / 2. The division by 4 keeps the product in 64 bits, and the one by
            // 2^31 makes up for it.
            let square = root * root / (1 << 32);
            let rest = ((3 << 32) - count * square) / 4;
            rest * root / (1 << 31)
        };
        // Linux 6.1 keeps a table of the first 16 roots (`REC_INV_SQRT_CACHE`). Each is found from
        // the one before it by four steps (`cobalt_cache_init()`).
        self.root = if self.count < 16 {
            let start = (1 << 32) - 1;
            (1..=self.count).fold(start, |root, count| (0..4).fold(root, |root, _| newton(root, count)))
        } else {
            newton(self.root, self.count)
        };
    }
}
