//! Fair queueing with pacing as tc-fq(8) describes it and Linux 7.3 does it: lists of flow numbers
//! in vectors, and scans for the flows that wait.

use super::Item;

/// The queue of a host.
#[derive(Clone, Debug)]
pub struct Fq {
    /// Packets of each band, and of each flow.
    pub limits: (usize, usize),
    /// Bytes of a round, and of a flow's first round.
    pub quanta: (i64, i64),
    /// Bytes of each band in a round.
    pub weights: [i64; 3],
    /// Bytes per second of each flow; 0: unlimited.
    pub rate: u64,
    /// Milliseconds after which an idle flow gets a quantum.
    pub refill: u64,
    flows: Vec<ModelFlow>,
    /// New and old flows of each band.
    lists: [[Vec<usize>; 2]; 3],
    credits: [i64; 3],
    held: [usize; 3],
    turn: usize,
    fast: Vec<Item>,
    /// Flows that wait, and until when, in the order in which they came to wait.
    waiting: Vec<(u64, usize)>,
    wakes_at: u64,
}

#[derive(Clone, Debug)]
struct ModelFlow {
    packets: Vec<(Item, usize)>,
    credit: i64,
    next: u64,
    band: usize,
    /// Millisecond since which it is in no list; `NEVER` before its first packet.
    idle_since: Option<u64>,
}

/// tc-fq(8): the default `priomap`.
const PRIOMAP: [usize; 16] = [1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1];
/// 550 kbit/s in bytes per second: Linux `low_rate_threshold`.
const LOW_RATE: u64 = 68_750;
/// Packets on the fast path (Linux `fq_fastpath_check()`).
const FAST: usize = 8;
const SECOND: u64 = 1_000_000_000;
const MILLI: u64 = 1_000_000;
const NEVER: u64 = u64::MAX;

impl Fq {
    /// An empty queue of `flows` flows.
    #[must_use]
    pub fn new(
        flows: usize,
        limits: (usize, usize),
        quanta: (i64, i64),
        weights: [i64; 3],
        rate: u64,
    ) -> Self {
        let flow =
            ModelFlow { packets: Vec::new(), credit: quanta.1, next: 0, band: 0, idle_since: Some(NEVER) };
        Self {
            limits,
            quanta,
            weights,
            rate,
            refill: 40,
            flows: vec![flow; flows],
            lists: Default::default(),
            credits: [0; 3],
            held: [0; 3],
            turn: 0,
            fast: Vec::new(),
            waiting: Vec::new(),
            wakes_at: u64::MAX,
        }
    }

    /// True if the packet of a flow with this priority is dropped.
    pub fn enqueue(&mut self, now: u64, number: usize, priority: usize, item: Item) -> bool {
        let band = PRIOMAP[priority & 15];
        if self.held[band] >= self.limits.0 {
            return true;
        }
        let busy = self.flows.iter().filter(|flow| !flow.packets.is_empty()).count();
        let is_empty = busy == 0 && self.fast.is_empty();
        // If a flow that waits were due, a packet could pass earlier ones of its own flow.
        let is_idle = busy == self.waiting.len() && self.fast.len() < FAST && self.wakes_at > now;
        if self.rate == 0 && (is_empty || is_idle) {
            self.fast.push(item);
            return false;
        }
        let flow = &mut self.flows[number];
        if flow.packets.len() >= self.limits.1 {
            return true;
        }
        if let Some(since) = flow.idle_since.take() {
            // A new flow has been idle for no time (Linux `fq_classify()`).
            if since != NEVER && now / MILLI > since + self.refill {
                flow.credit = flow.credit.max(self.quanta.0);
            }
            // As in Linux, this is the band of the flow's previous packet.
            self.lists[flow.band][0].push(number);
        }
        flow.band = band;
        flow.packets.push((item, band));
        self.held[band] += 1;
        false
    }

    /// The packet sent, if any.
    pub fn dequeue(&mut self, now: u64) -> Option<u64> {
        if !self.fast.is_empty() {
            return Some(self.fast.remove(0).id);
        }
        if self.held == [0; 3] {
            return None;
        }
        self.wake(now);
        let mut passes = 0;
        loop {
            let [new, old] = &self.lists[self.turn];
            if self.credits[self.turn] <= 0 || new.is_empty() && old.is_empty() {
                passes += 1;
                if passes > 3 {
                    return None;
                }
                self.turn = (self.turn + 1) % 3;
                let weight = self.weights[self.turn];
                // A band without packets saves no credit.
                self.credits[self.turn] = weight.min(self.credits[self.turn] + weight);
                // A band in debt does not count as an attempt that failed (Linux `fq_dequeue()`).
                if self.credits[self.turn] <= 0 {
                    passes = 0;
                }
                continue;
            }
            passes = 0;
            if let Some(id) = self.serve(now) {
                return Some(id);
            }
        }
    }

    /// Lists the flows whose time has come, the earliest first.
    fn wake(&mut self, now: u64) {
        if self.wakes_at > now {
            return;
        }
        self.waiting.sort_by_key(|&(at, _)| at);
        while self.waiting.first().is_some_and(|&(at, _)| at <= now) {
            let (_, number) = self.waiting.remove(0);
            self.lists[self.flows[number].band][1].push(number);
        }
        self.wakes_at = self.waiting.first().map_or(u64::MAX, |&(at, _)| at);
    }

    /// Looks at the first flow of the band whose turn it is.
    fn serve(&mut self, now: u64) -> Option<u64> {
        let turn = self.turn;
        let which = usize::from(self.lists[turn][0].is_empty());
        let number = self.lists[turn][which][0];
        let flow = &mut self.flows[number];
        if flow.credit <= 0 {
            flow.credit += self.quanta.0;
            self.lists[turn][which].remove(0);
            self.lists[flow.band][1].push(number);
            return None;
        }
        let Some(&(item, band)) = flow.packets.first() else {
            self.lists[turn][which].remove(0);
            if which == 0 {
                // An empty new flow passes through the old ones, so that it starves none of them.
                self.lists[flow.band][1].push(number);
            } else {
                // Linux keeps the mark "detached" in the lowest bit of the time.
                flow.idle_since = Some((now / MILLI) | 1);
            }
            return None;
        };
        if flow.next > now {
            self.lists[turn][which].remove(0);
            self.waiting.push((flow.next, number));
            self.wakes_at = self.wakes_at.min(flow.next);
            return None;
        }
        flow.packets.remove(0);
        self.held[band] -= 1;
        self.credits[turn] -= i64::from(item.len);
        flow.credit -= i64::from(item.len);
        self.pace(now, number, item.len);
        Some(item.id)
    }

    fn pace(&mut self, now: u64, number: usize, len: u32) {
        let flow = &mut self.flows[number];
        let mut bytes = u64::from(len);
        if self.rate == 0 {
            return;
        }
        // At a low rate a gap follows each packet, otherwise each quantum (Linux `fq_dequeue()`).
        if self.rate <= LOW_RATE {
            flow.credit = 0;
        } else {
            bytes = bytes.max(self.quanta.0.unsigned_abs());
            if flow.credit > 0 {
                return;
            }
        }
        // Linux waits for at most a second, because the rate of a socket can change.
        let mut gap = (bytes * SECOND / self.rate).min(SECOND);
        if flow.next > 0 {
            // Timers fire late, so the next gap is shorter by that, but never by more than half.
            gap -= (gap / 2).min(now - flow.next);
        }
        flow.next = now + gap;
    }
}
