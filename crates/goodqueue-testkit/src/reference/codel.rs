//! CoDel in the pseudo-code of RFC 8289 §5.6, of the 2012 article, and of ns-2 in May 2012, with
//! real square roots.

use super::{Item, bytes};

/// Where the three differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Author {
    /// RFC 8289: recalls what the last episode added; "not more than an MTU left".
    Rfc8289,
    /// Nichols & Jacobson 2012: recalls all but one; "not more than the largest packet seen left".
    Cacm2012,
    /// Nichols' later ns-2 code of 2012: recalls all but two, and waits less before dropping again
    /// soon.
    Ns2,
}

/// The control law. Times in ns.
#[derive(Clone, Debug)]
pub struct Law {
    /// Whose.
    pub author: Author,
    /// Acceptable standing sojourn time.
    pub target: u64,
    /// Width of the moving window.
    pub interval: u64,
    /// Largest packet: the MTU, or the largest seen.
    pub largest: f64,
    /// ns-2 codel.cc, but not sfqcodel.cc: a recalled count above 126 is scaled instead.
    pub scales_large_counts: bool,
    /// ns-2 sfqcodel.cc, but not codel.cc: a drop that empties the queue leaves the time since
    /// which it is above target.
    pub keeps_first_above: bool,
    first_above: Option<u64>,
    drop_next: u64,
    /// Drops since dropping began.
    pub count: u32,
    last_count: u32,
    dropping: bool,
}

impl Law {
    /// The law of a queue that has seen no packet; `mtu` counts for RFC 8289.
    #[must_use]
    pub fn new(author: Author, target: u64, interval: u64, mtu: u32) -> Self {
        Self {
            author,
            target,
            interval,
            // ns-2 codel.cc starts with 256 bytes.
            largest: if author == Author::Rfc8289 { f64::from(mtu) } else { 256.0 },
            scales_large_counts: author == Author::Ns2,
            keeps_first_above: false,
            first_above: None,
            drop_next: 0,
            count: 0,
            last_count: 0,
            dropping: false,
        }
    }

    /// The same, of a queue that believes to have been above target for long: ns-2's start.
    #[must_use]
    pub const fn above_target_for_long(mut self) -> Self {
        self.first_above = Some(0);
        self
    }

    /// The packets dropped from `queue`, and the one sent; `beside` bytes are queued elsewhere and
    /// count as left.
    pub fn dequeue(&mut self, now: u64, queue: &mut Vec<Item>, beside: f64) -> (Vec<u64>, Option<Item>) {
        let mut dropped = Vec::new();
        let (mut head, mut ok_to_drop) = self.do_dequeue(now, queue, beside);
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
            }
            while self.dropping && now >= self.drop_next {
                dropped.extend(head.map(|item| item.id));
                if self.author != Author::Ns2 {
                    self.count += 1;
                }
                (head, ok_to_drop) = self.do_dequeue(now, queue, beside);
                if ok_to_drop {
                    // ns-2 counts a drop only if the packet behind it is above target, too.
                    if self.author == Author::Ns2 {
                        self.count += 1;
                    }
                    // From the scheduled time and not from now, so that a late call can drop
                    // several packets.
                    self.drop_next = self.control_law(self.drop_next);
                } else {
                    self.dropping = false;
                }
            }
        } else if ok_to_drop {
            dropped.extend(head.map(|item| item.id));
            head = self.do_dequeue(now, queue, beside).0;
            // The phase begins even if the drop emptied the queue (RFC 8289 §5.5).
            self.dropping = true;
            self.count = self.recalled(now);
            self.drop_next = self.control_law(now);
            self.last_count = self.count;
        }
        (dropped, head)
    }

    /// An episode soon after the last goes on at the rate that had proved right.
    fn recalled(&self, now: u64) -> u32 {
        // `drop_next` still is the time that the last phase had scheduled (RFC 8289 §5.5). It can
        // be in the future, so the difference has a sign.
        let since = now as f64 - self.drop_next as f64;
        let within = |intervals: f64| since < intervals * self.interval as f64;
        match self.author {
            Author::Rfc8289 => {
                let delta = self.count - self.last_count;
                if delta > 1 && within(16.0) { delta } else { 1 }
            }
            Author::Cacm2012 if self.count > 1 && within(16.0) => self.count - 1,
            Author::Ns2 if self.count > 2 && within(8.0) => {
                // The scaled count is a share of the one before the subtraction.
                let count = self.count - 2;
                if self.scales_large_counts && count > 126 { self.count * 9844 / 10_000 } else { count }
            }
            Author::Cacm2012 | Author::Ns2 => 1,
        }
    }

    fn do_dequeue(&mut self, now: u64, queue: &mut Vec<Item>, beside: f64) -> (Option<Item>, bool) {
        if queue.is_empty() {
            if !self.keeps_first_above {
                self.first_above = None;
            }
            self.dropping = false;
            return (None, false);
        }
        let item = queue.remove(0);
        if self.author != Author::Rfc8289 {
            self.largest = self.largest.max(f64::from(item.len));
        }
        // With at most one packet left the queue does not stand: a drop would only idle the link.
        if now - item.at < self.target || bytes(queue) + beside <= self.largest {
            self.first_above = None;
            return (Some(item), false);
        }
        match self.first_above {
            None => {
                let soon = (now as f64 - self.drop_next as f64) < 8.0 * self.interval as f64;
                // Soon after the last phase, ns-2 waits only for the current spacing of drops.
                let again = self.author == Author::Ns2 && soon && self.count > 1;
                self.first_above = Some(if again { self.control_law(now) } else { now + self.interval });
                (Some(item), false)
            }
            // At or after, as in RFC 8289 §5.6. Linux compares strictly.
            Some(since) => (Some(item), now >= since),
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a spacing is positive and short"
    )]
    fn control_law(&self, from: u64) -> u64 {
        // The disciplines round down to whole nanoseconds, too.
        from + (self.interval as f64 / f64::from(self.count).sqrt()).floor() as u64
    }
}

/// One queue under the law.
#[derive(Clone, Debug)]
pub struct Codel {
    /// The law.
    pub law: Law,
    /// What is queued.
    pub queue: Vec<Item>,
}

impl Codel {
    /// Arrival.
    pub fn enqueue(&mut self, item: Item) {
        self.queue.push(item);
    }

    /// The packets dropped and the one sent.
    pub fn dequeue(&mut self, now: u64) -> (Vec<u64>, Option<u64>) {
        let (dropped, sent) = self.law.dequeue(now, &mut self.queue, 0.0);
        (dropped, sent.map(|item| item.id))
    }
}
