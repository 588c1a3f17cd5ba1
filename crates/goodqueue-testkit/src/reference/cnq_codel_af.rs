//! Cheap Nasty Queueing with CoDel and approximate fairness, as the module of 2019 does it: two
//! lists of packets and dummies, and for each of 65,536 flows a counter and the state of an AQM.
//!
//! The inverse root is a fraction of 2^32, as in the module. Weighted sojourn times and BLUE's
//! probability are fractions and real numbers.

use std::collections::BTreeMap;

use super::Item;

/// The discipline. Times in ns.
#[derive(Clone, Debug)]
pub struct CnqCodelAf {
    /// Packets that both queues together hold; the module has no such bound.
    pub limit: usize,
    /// Acceptable weighted sojourn time.
    pub target: u64,
    /// Unit of the pace.
    pub interval: u64,
    /// Packets and their flows.
    sparse: Vec<(u16, Item)>,
    /// `None` is a dummy.
    bulk: Vec<(u16, Option<Item>)>,
    /// Counters of the bulk queue, without those that are 0.
    backlogs: BTreeMap<u16, u32>,
    aqms: Vec<Aqm>,
    decay_index: u16,
    /// Packets that were marked.
    pub marked: Vec<u64>,
}

#[derive(Clone, Copy, Default, Debug)]
struct Aqm {
    count: u64,
    root: u64,
    next: u64,
    blue_timer: u64,
    p_drop: f64,
    dropping: bool,
}

/// What the AQM of a flow is told of a packet.
struct Judged {
    now: u64,
    at: u64,
    flow_backlog: u32,
    active: u32,
    total: usize,
    /// The packet can be marked.
    is_capable: bool,
}

impl CnqCodelAf {
    /// Empty queues.
    #[must_use]
    pub fn new(limit: usize, target: u64, interval: u64) -> Self {
        Self {
            limit,
            target,
            interval,
            sparse: Vec::new(),
            bulk: Vec::new(),
            backlogs: BTreeMap::new(),
            aqms: vec![Aqm::default(); 65_536],
            decay_index: 0,
            marked: Vec::new(),
        }
    }

    fn backlog(&self, flow: u16) -> u32 {
        self.backlogs.get(&flow).copied().unwrap_or(0)
    }

    /// Packets without dummies.
    fn len(&self) -> usize {
        self.sparse.len() + self.bulk.iter().filter(|entry| entry.1.is_some()).count()
    }

    /// The packet dropped when `item` arrives.
    pub fn enqueue(&mut self, flow: u16, item: Item) -> Vec<u64> {
        if self.len() >= self.limit {
            return vec![item.id];
        }
        if self.backlog(flow) == 0 {
            self.sparse.push((flow, item));
            self.bulk.push((flow, None));
        } else {
            self.bulk.push((flow, Some(item)));
        }
        *self.backlogs.entry(flow).or_insert(0) += 1;
        Vec::new()
    }

    /// The packets dropped and the one sent; `random` gives a number in 0..1, and `is_capable` is
    /// true for a packet that can be marked.
    pub fn dequeue(
        &mut self,
        now: u64,
        mut random: impl FnMut() -> f64,
        is_capable: impl Fn(u64) -> bool,
    ) -> (Vec<u64>, Option<u64>) {
        let mut dropped = Vec::new();
        while self.len() > 0 {
            let sent = if self.sparse.is_empty() {
                let mut taken = None;
                while taken.is_none() {
                    let entry = self.bulk.remove(0);
                    let left = self.backlog(entry.0) - 1;
                    self.backlogs.insert(entry.0, left);
                    self.backlogs.retain(|_, backlog| *backlog > 0);
                    taken = entry.1.map(|item| (entry.0, item));
                }
                let taken = taken.expect("the loop ends with one");
                let flow = taken.0;
                let judged = Judged {
                    now,
                    at: taken.1.at,
                    flow_backlog: self.backlog(flow) + 1,
                    active: self.active(),
                    total: self.len() + 1,
                    is_capable: is_capable(taken.1.id),
                };
                let drop = self.should_drop(usize::from(flow), &judged, taken.1.id, &mut random);
                if drop && self.backlog(flow) > 0 {
                    dropped.push(taken.1.id);
                    continue;
                }
                taken.1.id
            } else {
                let first = self.sparse.remove(0);
                self.queue_empty(usize::from(first.0), now);
                first.1.id
            };
            if self.backlog(self.decay_index) == 0 {
                self.queue_empty(usize::from(self.decay_index), now);
            }
            self.decay_index = self.decay_index.wrapping_add(1);
            return (dropped, Some(sent));
        }
        (dropped, None)
    }

    /// Flows in the bulk queue, less the dummies.
    fn active(&self) -> u32 {
        let flows = self.backlogs.len();
        let dummies = self.bulk.iter().filter(|entry| entry.1.is_none()).count();
        u32::try_from(flows - dummies).expect("65,536 flows")
    }

    fn should_drop(
        &mut self,
        flow: usize,
        judged: &Judged,
        id: u64,
        random: &mut impl FnMut() -> f64,
    ) -> bool {
        let now = judged.now;
        let interval = self.interval;
        // Of whole numbers: a quotient would be rounded.
        let weighted =
            u128::from(now - judged.at) * u128::from(judged.flow_backlog) * u128::from(judged.active);
        let exceeds = |bound: u64| weighted > u128::from(bound) * judged.total as u128;
        let aqm = &mut self.aqms[flow];
        let signed = |time: u64| i128::from(now) - i128::from(time);
        let mut schedule = signed(aqm.next);
        let mut next_due = aqm.count > 0 && schedule >= 0;
        if exceeds(self.target) {
            if !aqm.dropping {
                aqm.dropping = true;
                aqm.next = now + aqm.spacing(interval);
                next_due = false;
            }
            aqm.count = aqm.count.max(1);
        } else if aqm.dropping {
            aqm.next = now + aqm.spacing(interval);
            aqm.dropping = false;
        }
        let mut drop = false;
        if next_due && aqm.dropping {
            if judged.is_capable {
                self.marked.push(id);
            } else {
                drop = true;
            }
            aqm.set_count(aqm.count + 1);
            aqm.next += aqm.spacing(interval);
            schedule = signed(aqm.next);
        } else {
            while next_due {
                aqm.set_count(aqm.count - 1);
                aqm.next += aqm.spacing(interval);
                schedule = signed(aqm.next);
                next_due = aqm.count > 0 && schedule >= 0;
            }
        }
        if exceeds(4 * interval) {
            aqm.queue_full(now, self.target);
        }
        if aqm.p_drop > 0.0 && random() < aqm.p_drop {
            drop = true;
        }
        if aqm.count == 0 {
            aqm.next = now + interval;
        } else if schedule > 0 && !drop {
            aqm.next = now;
        }
        drop
    }

    fn queue_empty(&mut self, flow: usize, now: u64) {
        let interval = self.interval;
        let aqm = &mut self.aqms[flow];
        if aqm.p_drop > 0.0 && now - aqm.blue_timer > self.target {
            aqm.p_drop = (aqm.p_drop - 1.0 / 4096.0).max(0.0);
            aqm.blue_timer = now;
        }
        while aqm.count > 0 && now >= aqm.next {
            aqm.set_count(aqm.count - 1);
            aqm.next += aqm.spacing(interval);
        }
        if aqm.dropping {
            aqm.next = now + aqm.spacing(interval);
            aqm.dropping = false;
        }
    }
}

impl Aqm {
    fn queue_full(&mut self, now: u64, target: u64) {
        if now - self.blue_timer > target {
            // The largest probability that 32 bits can hold.
            self.p_drop = (self.p_drop + 1.0 / 256.0).min(1.0 - 2_f64.powi(-32));
            self.blue_timer = now;
        }
        self.dropping = true;
        self.next = now;
        self.count = self.count.max(1);
    }

    fn spacing(&self, interval: u64) -> u64 {
        interval * self.root / (1 << 32)
    }

    fn set_count(&mut self, count: u64) {
        let newton = |root: u64, of: u64| {
            let square = root * root / (1 << 32);
            ((3 << 32) - of * square) / 4 * root / (1 << 31)
        };
        self.count = count;
        // A table of 16 roots, each found from the one before it by four steps.
        self.root = if count < 16 {
            let start = (1 << 32) - 1;
            (1..=count).fold(start, |root, of| (0..4).fold(root, |better, _| newton(better, of)))
        } else {
            newton(self.root, count)
        };
    }
}
