//! DualPI2 in the words of RFC 9332 appendix A, in seconds and real numbers; the two queues are
//! weighted by credit.

use super::{Item, bytes};

/// How a packet says what it needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Codepoint {
    /// Neither ECN nor low latency.
    NotEct,
    /// Classic ECN.
    Ect0,
    /// Low latency.
    Ect1,
}

/// The two queues and their controller.
#[derive(Clone, Debug)]
pub struct DualPi2 {
    /// Packets that both queues together hold.
    pub limit: usize,
    /// Largest packet.
    pub mtu: f64,
    /// The L queue.
    pub low_latency: Vec<Item>,
    /// The C queue, with what each packet can bear.
    pub classic: Vec<(Item, Codepoint)>,
    /// Packets sent with a mark.
    pub marked: Vec<u64>,
    /// p'.
    pub base: f64,
    delay: f64,
    credit: f64,
    update_at: Option<u64>,
}

const TARGET: f64 = 0.015;
const TUPDATE: u64 = 16_000_000;
/// 41/256 and 819/256: RFC 9332's 0.16 and 3.2 as the kernel can hold them.
const ALPHA: f64 = 41.0 / 256.0;
const BETA: f64 = 819.0 / 256.0;
const COUPLING: f64 = 2.0;
/// Shares of the link.
const CLASSIC: f64 = 10.0;
const LOW_LATENCY: f64 = 90.0;
/// The ramp of L's own AQM.
const RAMP: (f64, f64) = (0.0008, 0.0012);

impl DualPi2 {
    /// Empty queues with the RFC's defaults.
    #[must_use]
    pub fn new(limit: usize, mtu: u32) -> Self {
        let mtu = f64::from(mtu);
        Self {
            limit,
            mtu,
            low_latency: Vec::new(),
            classic: Vec::new(),
            marked: Vec::new(),
            base: 0.0,
            delay: 0.0,
            // Below 0 it is the turn of L, so L begins.
            credit: mtu * (CLASSIC - LOW_LATENCY),
            update_at: None,
        }
    }

    /// True if the packet is dropped.
    pub fn enqueue(&mut self, now: u64, item: Item, needs: Codepoint) -> bool {
        self.advance(now);
        if self.low_latency.len() + self.classic.len() >= self.limit {
            return true;
        }
        match needs {
            Codepoint::Ect1 => self.low_latency.push(item),
            other => self.classic.push((item, other)),
        }
        false
    }

    /// The packets dropped and the one sent; `random` gives a number in 0..1.
    pub fn dequeue(&mut self, now: u64, mut random: impl FnMut() -> f64) -> (Vec<u64>, Option<u64>) {
        self.advance(now);
        let mut dropped = Vec::new();
        loop {
            let has_low = !self.low_latency.is_empty();
            let has_classic = !self.classic.is_empty();
            if !has_low && !has_classic {
                self.credit = self.mtu * (CLASSIC - LOW_LATENCY);
                return (dropped, None);
            }
            // The coupled probability exceeds 1, so L is dropped with the probability of C.
            let is_overloaded = COUPLING * self.base > 1.0;
            if has_classic && (!has_low || self.credit > 0.0) {
                let (item, needs) = self.classic.remove(0);
                if has_low {
                    self.credit -= LOW_LATENCY * f64::from(item.len);
                }
                // Two comparisons square the base probability. Less than two packets are no
                // standing queue.
                let is_hit = !self.is_small() && random() < self.base && random() < self.base;
                if is_hit && (needs == Codepoint::NotEct || is_overloaded) {
                    dropped.push(item.id);
                    continue;
                }
                if is_hit {
                    self.marked.push(item.id);
                }
                return (dropped, Some(item.id));
            }
            let item = self.low_latency.remove(0);
            if has_classic {
                self.credit += CLASSIC * f64::from(item.len);
            }
            if self.is_small() {
                return (dropped, Some(item.id));
            }
            if is_overloaded {
                if random() < self.base && random() < self.base {
                    dropped.push(item.id);
                    continue;
                }
                self.marked.push(item.id);
            } else if random() < (COUPLING * self.base).max(self.native(now, item)) {
                self.marked.push(item.id);
            }
            return (dropped, Some(item.id));
        }
    }

    fn is_small(&self) -> bool {
        let classic: f64 = self.classic.iter().map(|(item, _)| f64::from(item.len)).sum();
        bytes(&self.low_latency) + classic < 2.0 * self.mtu
    }

    /// L's own AQM, for a packet that leaves others behind.
    fn native(&self, now: u64, item: Item) -> f64 {
        if self.low_latency.is_empty() {
            return 0.0;
        }
        let sojourn = (now - item.at) as f64 / 1e9;
        ((sojourn - RAMP.0) / (RAMP.1 - RAMP.0)).clamp(0.0, 1.0)
    }

    fn advance(&mut self, now: u64) {
        let mut at = *self.update_at.get_or_insert((now / TUPDATE + 1) * TUPDATE);
        while at <= now {
            // The delay of the oldest classic packet that is still queued; an empty queue has none.
            let delay = self.classic.first().map_or(0.0, |(item, _)| (at - item.at) as f64 / 1e9);
            self.base += ALPHA * (delay - TARGET) + BETA * (delay - self.delay);
            self.base = self.base.clamp(0.0, 1.0);
            self.delay = delay;
            at += TUPDATE;
        }
        self.update_at = Some(at);
    }
}
