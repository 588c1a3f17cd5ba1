//! PIE in the words of draft-pan-aqm-pie-00 (2013), in seconds and real numbers: three levels of
//! steps, a delay estimated from the departure rate, each arrival dropped independently.

use super::{Item, bytes};

/// The queue and its controller. Delays in seconds.
#[derive(Clone, Debug)]
pub struct Pie {
    /// Packets that the queue holds.
    pub limit: usize,
    /// What is queued.
    pub queue: Vec<Item>,
    /// The drop probability.
    pub probability: f64,
    delay: f64,
    /// In ns: multiples of 0.03 s are none of real numbers of 64 bits.
    burst_allowance: f64,
    /// Bytes per second; `None`: not measured yet.
    rate: Option<f64>,
    /// When the measurement under way began, and the bytes that have left since.
    measuring: Option<(u64, f64)>,
    update_at: u64,
}

const TARGET: f64 = 0.02;
const TUPDATE: u64 = 30_000_000;
const ALPHA: f64 = 0.125;
const BETA: f64 = 1.25;
const MAX_BURST: f64 = 100e6;
const DQ_THRESHOLD: f64 = 10_000.0;

impl Pie {
    /// An empty queue with the draft's defaults.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            queue: Vec::new(),
            probability: 0.0,
            delay: 0.0,
            burst_allowance: MAX_BURST,
            rate: None,
            measuring: None,
            update_at: TUPDATE,
        }
    }

    /// Arrival; `random` gives a number in 0..1. True if the packet is dropped.
    pub fn enqueue(&mut self, now: u64, item: Item, random: impl FnOnce() -> f64) -> bool {
        self.advance(now);
        let drop =
            self.queue.len() >= self.limit || (self.burst_allowance <= 0.0 && random() < self.probability);
        if !drop {
            self.queue.push(item);
        }
        drop
    }

    /// The packet sent.
    pub fn dequeue(&mut self, now: u64) -> Option<u64> {
        self.advance(now);
        if self.queue.is_empty() {
            return None;
        }
        let item = self.queue.remove(0);
        let left = bytes(&self.queue);
        // Only with this backlog the link is busy throughout a measurement.
        if self.measuring.is_none() && left >= DQ_THRESHOLD {
            self.measuring = Some((now, 0.0));
        }
        if let Some((start, count)) = &mut self.measuring {
            *count += f64::from(item.len);
            // A span of 0 has no rate, so the measurement continues.
            if *count >= DQ_THRESHOLD && now > *start {
                self.rate = Some(*count / ((now - *start) as f64 / 1e9));
                self.measuring = (left >= DQ_THRESHOLD).then_some((now, 0.0));
            }
        }
        Some(item.id)
    }

    fn advance(&mut self, now: u64) {
        while self.update_at <= now {
            self.update();
            self.update_at += TUPDATE;
        }
    }

    fn update(&mut self) {
        self.burst_allowance = (self.burst_allowance - TUPDATE as f64).max(0.0);
        let delay = self.rate.map_or(0.0, |rate| bytes(&self.queue) / rate);
        let step = ALPHA * (delay - TARGET) + BETA * (delay - self.delay);
        let divisor = match self.probability {
            p if p < 0.01 => 8.0,
            p if p < 0.1 => 2.0,
            _ => 1.0,
        };
        self.probability = (self.probability + step / divisor).clamp(0.0, 1.0);
        if self.probability == 0.0 && delay < TARGET && self.delay < TARGET {
            self.burst_allowance = MAX_BURST;
        }
        self.delay = delay;
    }
}
