//! A link with a FIFO, as a definition: a packet begins to be sent when it is the first, the one
//! before is out, no gap is open and the rate is not 0.

use std::collections::VecDeque;

use goodqueue::{Duration, Instant, Rate};

use super::choices::Fate;

/// A link without an event queue. It looks at everything on each call.
pub(super) struct Model {
    rate: Rate,
    delay: Duration,
    limit: usize,
    queue: VecDeque<(u64, u32)>,
    /// End of the last transmission.
    free_at: Instant,
    gap_until: Instant,
    /// Before this time nothing begins: the latest change after which the link looked again.
    not_before: Instant,
    fates: Vec<Fate>,
}

impl Model {
    pub(super) fn new(rate: Rate, delay: Duration, limit: usize) -> Self {
        let [free_at, gap_until, not_before] = [Instant::ZERO; 3];
        Self { rate, delay, limit, queue: VecDeque::new(), free_at, gap_until, not_before, fates: Vec::new() }
    }

    pub(super) fn send(&mut self, now: Instant, number: u64, bytes: u32) {
        self.begin_before(now);
        if self.queue.len() == self.limit {
            self.fates.push((now, number, false));
        } else {
            if self.queue.is_empty() {
                self.not_before = now;
            }
            self.queue.push_back((number, bytes));
        }
        // A free link takes the packet at once, before others that arrive at the same instant.
        if self.start().is_some_and(|start| start <= now) {
            self.begin();
        }
    }

    pub(super) fn set_rate(&mut self, now: Instant, rate: Rate) {
        self.begin_before(now);
        self.rate = rate;
        self.not_before = self.not_before.max(now);
    }

    pub(super) fn set_delay(&mut self, now: Instant, delay: Duration) {
        self.begin_before(now);
        self.delay = delay;
    }

    pub(super) fn gap(&mut self, now: Instant, until: Instant) {
        self.begin_before(now);
        self.gap_until = self.gap_until.max(until);
        self.not_before = self.not_before.max(now);
    }

    /// Returns and forgets the fates until `now`.
    pub(super) fn until(&mut self, now: Instant) -> Vec<Fate> {
        self.begin_before(now);
        // A packet that is on its way has its fate in the future already.
        let (past, future) = self.fates.drain(..).partition(|fate| fate.0 <= now);
        self.fates = future;
        past
    }

    pub(super) fn queued(&self) -> usize {
        self.queue.len()
    }

    /// Time at which the first packet begins to be sent.
    fn start(&self) -> Option<Instant> {
        let free = self.free_at.max(self.gap_until).max(self.not_before);
        (!self.queue.is_empty() && self.rate.as_bps() > 0).then_some(free)
    }

    fn begin_before(&mut self, now: Instant) {
        while self.start().is_some_and(|start| start < now) {
            self.begin();
        }
    }

    fn begin(&mut self) {
        let Some(start) = self.start() else { return };
        if let Some((number, bytes)) = self.queue.pop_front() {
            self.free_at = start + self.rate.serialization(bytes);
            self.fates.push((self.free_at + self.delay, number, true));
        }
    }
}
