//! CoDel in the pseudo-code of RFC 8289 §5.6, with real square roots.

use super::{Item, bytes};

/// The queue and its control law. Times in ns.
#[derive(Clone, Debug)]
pub struct Codel {
    /// Acceptable standing sojourn time.
    pub target: u64,
    /// Width of the moving window.
    pub interval: u64,
    /// Largest packet.
    pub mtu: f64,
    /// What is queued.
    pub queue: Vec<Item>,
    first_above: Option<u64>,
    drop_next: u64,
    count: u32,
    last_count: u32,
    dropping: bool,
}

impl Codel {
    /// An empty queue.
    #[must_use]
    pub fn new(target: u64, interval: u64, mtu: u32) -> Self {
        Self {
            target,
            interval,
            mtu: f64::from(mtu),
            queue: Vec::new(),
            first_above: None,
            drop_next: 0,
            count: 0,
            last_count: 0,
            dropping: false,
        }
    }

    /// Arrival.
    pub fn enqueue(&mut self, item: Item) {
        self.queue.push(item);
    }

    /// The packets dropped and the one sent.
    pub fn dequeue(&mut self, now: u64) -> (Vec<u64>, Option<u64>) {
        let mut dropped = Vec::new();
        let (mut head, mut ok_to_drop) = self.do_dequeue(now);
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
            }
            while self.dropping && now >= self.drop_next {
                dropped.extend(head);
                self.count += 1;
                (head, ok_to_drop) = self.do_dequeue(now);
                if ok_to_drop {
                    self.drop_next = self.control_law(self.drop_next);
                } else {
                    self.dropping = false;
                }
            }
        } else if ok_to_drop {
            dropped.extend(head);
            head = self.do_dequeue(now).0;
            self.dropping = true;
            // An episode soon after the last goes on at the rate that had proved right.
            let delta = self.count - self.last_count;
            let soon = (now as f64) - (self.drop_next as f64) < 16.0 * self.interval as f64;
            self.count = if delta > 1 && soon { delta } else { 1 };
            self.drop_next = self.control_law(now);
            self.last_count = self.count;
        }
        (dropped, head)
    }

    fn do_dequeue(&mut self, now: u64) -> (Option<u64>, bool) {
        if self.queue.is_empty() {
            self.first_above = None;
            return (None, false);
        }
        let item = self.queue.remove(0);
        if now - item.at < self.target || bytes(&self.queue) <= self.mtu {
            self.first_above = None;
            return (Some(item.id), false);
        }
        let since = *self.first_above.get_or_insert(now + self.interval);
        (Some(item.id), now >= since)
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a spacing is positive and short"
    )]
    fn control_law(&self, from: u64) -> u64 {
        from + (self.interval as f64 / f64::from(self.count).sqrt()).floor() as u64
    }
}
