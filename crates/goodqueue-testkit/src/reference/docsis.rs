//! The queues of a DOCSIS modem in the words of RFC 8034 appendix A, RFC 9957 §4 and MULPIv3.1
//! Annexes N and O, in real numbers. Times are in seconds for PIE and in ns for queue protection;
//! the two queues are weighted by credit. The order of the steps is that of the
//! public module of CableLabs for ns-3, so this model does not check that order.

use super::{Item, bytes};

/// The two queues and their algorithms.
#[derive(Clone, Debug)]
pub struct Docsis {
    /// True if queue protection is on.
    pub protects: bool,
    /// `CRITICALqLSCORE` in ns.
    pub critical_score: f64,
    /// The low-latency queue.
    pub low_latency: Vec<Item>,
    /// The classic queue.
    pub classic: Vec<Item>,
    /// Marked packets.
    pub marked: Vec<u64>,
    /// Packets that were moved to the classic queue.
    pub sanctioned: Vec<u64>,
    /// MAX_RATE in bit/s.
    rate: f64,
    classic_buffer: f64,
    mtu: f64,
    count: f64,
    credit: f64,
    interval_bits_l: f64,
    pie: Pie,
    buckets: Vec<Bucket>,
    update_at: Option<u64>,
}

/// Variables of RFC 8034.
#[derive(Clone, Debug)]
struct Pie {
    drop_prob: f64,
    accu_prob: f64,
    qdelay: f64,
    burst_allowance: f64,
    burst_reset: u32,
    burst_state: BurstState,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum BurstState {
    NoBurst,
    InBurst,
    InBurstProtecting,
}

/// `struct bucket`.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    id: Option<u32>,
    t_exp: f64,
}

// RFC 8034 appendix A. Delays are in seconds, the interval in ns.
const INTERVAL: u64 = 16_000_000;
const LATENCY_TARGET: f64 = 0.010;
const MAX_BURST: f64 = 0.142;
const LATENCY_LOW: f64 = 0.005;
const LATENCY_HIGH: f64 = 0.2;
const A: f64 = 0.25;
const B: f64 = 2.5;
const PROB_LOW: f64 = 0.85;
const PROB_HIGH: f64 = 8.5;
const PROB_DAMP: f64 = 0.2;
const MEAN_PKTSIZE: f64 = 1024.0;
const MIN_PKTSIZE: f64 = 64.0;
/// BURST_RESET_TIMEOUT over INTERVAL.
const BURST_RESET_LIMIT: u32 = 62;
// MULPIv3.1 TLV 70/71.42.5, and 42.6 for the weights.
const COUPLING_FACTOR: f64 = 2.0;
/// Weights of the queues.
const LOW_LATENCY: f64 = 230.0;
const CLASSIC: f64 = 26.0;
const MAX_FRAME_SIZE: f64 = 2000.0;
/// MAXTH and the length of the ramp in ns.
const MAXTH: f64 = 1e6;
const RANGE: f64 = 524_288.0;
// RFC 9957 §4.1.
const LG_AGING: i32 = 19;
const Q_SCORE_MAX: f64 = 5e9;
const ATTEMPTS: usize = 2;
const BI_SIZE: u32 = 5;
const NBUCKETS: usize = 1 << BI_SIZE;

impl Docsis {
    /// Empty queues with the defaults of the documents.
    #[must_use]
    pub fn new(rate: f64, classic_buffer: f64, mtu: u32) -> Self {
        let mtu = f64::from(mtu);
        Self {
            protects: true,
            critical_score: 4e6,
            low_latency: Vec::new(),
            classic: Vec::new(),
            marked: Vec::new(),
            sanctioned: Vec::new(),
            rate,
            classic_buffer,
            mtu,
            count: 0.0,
            // Below 0 it is the turn of the low-latency queue, so that queue begins.
            credit: mtu * (CLASSIC - LOW_LATENCY),
            interval_bits_l: 0.0,
            pie: Pie {
                drop_prob: 0.0,
                accu_prob: 0.0,
                qdelay: 0.0,
                burst_allowance: 0.0,
                burst_reset: 0,
                burst_state: BurstState::NoBurst,
            },
            // All flows that find no bucket of their own share the last one.
            buckets: vec![Bucket { id: None, t_exp: 0.0 }; NBUCKETS + 1],
            update_at: None,
        }
    }

    /// True if the packet is dropped. A packet with the hash of its flow is for the low-latency
    /// queue.
    pub fn enqueue(
        &mut self,
        now: u64,
        item: Item,
        uflow: Option<u32>,
        random: impl FnOnce() -> f64,
    ) -> bool {
        self.advance(now);
        let Some(uflow) = uflow else { return self.enqueue_classic(item, random) };
        // The arriving packet counts as queued. Delays are whole nanoseconds.
        let qdelay = (8e9 * (bytes(&self.low_latency) + f64::from(item.len)) / self.rate).floor();
        let prob_native = self.calc_prob_native(qdelay);
        // The classic drop probability is the square of the coupled one (RFC 9332 §2.1).
        let prob_cl = (COUPLING_FACTOR * self.pie.drop_prob.sqrt()).min(1.0);
        if self.recur(prob_native.max(prob_cl)) {
            self.marked.push(item.id);
        }
        if self.protects && self.qprotect(now as f64, item, uflow, qdelay, prob_native) {
            self.sanctioned.push(item.id);
            return self.enqueue_classic(item, random);
        }
        // 10 ms at the rate, and at least 20 of the longest frames (MULPIv3.1 C.2.2.9.11.4).
        let buffer = (0.010 * self.rate / 8.0).max(20.0 * MAX_FRAME_SIZE);
        if bytes(&self.low_latency) + f64::from(item.len) > buffer {
            return true;
        }
        self.low_latency.push(item);
        false
    }

    /// The packet sent.
    pub fn dequeue(&mut self, now: u64) -> Option<u64> {
        self.advance(now);
        let has_low = !self.low_latency.is_empty();
        let has_classic = !self.classic.is_empty();
        if has_classic && (!has_low || self.credit > 0.0) {
            let item = self.classic.remove(0);
            if has_low {
                self.credit -= LOW_LATENCY * f64::from(item.len);
            }
            return Some(item.id);
        }
        if !has_low {
            self.credit = self.mtu * (CLASSIC - LOW_LATENCY);
            return None;
        }
        let item = self.low_latency.remove(0);
        self.interval_bits_l += 8.0 * f64::from(item.len);
        if has_classic {
            self.credit += CLASSIC * f64::from(item.len);
        }
        Some(item.id)
    }

    /// The ramp (RFC 9957 §4.1).
    fn calc_prob_native(&self, qdelay: f64) -> f64 {
        // FLOOR: the ramp begins no earlier than two of the longest frames take (RFC 9957 §4.1).
        let floor = (2.0 * 8e9 * MAX_FRAME_SIZE / self.rate).floor();
        let minth = (MAXTH - RANGE).max(floor);
        ((qdelay - minth) / RANGE).clamp(0.0, 1.0)
    }

    /// Annex N: marks are spread evenly.
    fn recur(&mut self, likelihood: f64) -> bool {
        self.count += likelihood;
        if self.count > 1.0 {
            self.count -= 1.0;
            return true;
        }
        false
    }

    /// RFC 9957 §4.2.1. True: sanction.
    fn qprotect(&mut self, now: f64, item: Item, uflow: u32, qdelay: f64, prob_native: f64) -> bool {
        let critical = (MAXTH - RANGE).max((2.0 * 8e9 * MAX_FRAME_SIZE / self.rate).floor()) + RANGE;
        let bucket = self.pick_bucket(now, uflow);
        let score = self.fill_bucket(now, bucket, item, prob_native);
        qdelay > critical && qdelay * score > critical * self.critical_score
    }

    fn pick_bucket(&mut self, now: f64, uflow: u32) -> usize {
        // The shared bucket, unless an attempt finds one whose score has expired.
        let mut hsav = NBUCKETS;
        let mut h32 = uflow;
        for _ in 0..ATTEMPTS {
            let h = h32 as usize & (NBUCKETS - 1);
            if self.buckets[h].id == Some(uflow) {
                if self.buckets[h].t_exp <= now {
                    self.buckets[h].t_exp = now;
                }
                return h;
            } else if hsav == NBUCKETS && self.buckets[h].t_exp <= now {
                hsav = h;
            }
            // Each attempt takes further bits of the hash.
            h32 >>= BI_SIZE;
        }
        if self.buckets[hsav].t_exp <= now {
            self.buckets[hsav].t_exp = now;
        }
        self.buckets[hsav].id = Some(uflow);
        hsav
    }

    fn fill_bucket(&mut self, now: f64, bucket: usize, item: Item, prob_native: f64) -> f64 {
        // A score counts ns, and a second has 2^30 of them here.
        let aging = 2_f64.powi(LG_AGING - 30);
        let t_exp = &mut self.buckets[bucket].t_exp;
        *t_exp += (prob_native * f64::from(item.len) / aging).floor();
        *t_exp = t_exp.min(now + Q_SCORE_MAX);
        *t_exp - now
    }

    fn enqueue_classic(&mut self, item: Item, random: impl FnOnce() -> f64) -> bool {
        let queued = bytes(&self.classic);
        if queued + f64::from(item.len) > self.classic_buffer {
            self.pie.accu_prob = 0.0;
            return true;
        }
        if self.pie.drop_early(queued, self.classic_buffer, f64::from(item.len), random) {
            return true;
        }
        self.classic.push(item);
        false
    }

    fn advance(&mut self, now: u64) {
        // Updates are at multiples of the interval of the caller's clock.
        let mut at = *self.update_at.get_or_insert((now / INTERVAL + 1) * INTERVAL);
        while at <= now {
            // Annex O, qdelayCoupledC; rates in bit/s.
            // The low-latency queue never takes more than its weight while the classic queue is
            // busy.
            let rate_l = (self.interval_bits_l * 1e9 / INTERVAL as f64).min(LOW_LATENCY / 256.0 * self.rate);
            let qdelay = bytes(&self.classic) * 8.0 / (self.rate - rate_l);
            self.interval_bits_l = 0.0;
            self.pie.calculate_drop_prob(qdelay);
            at += INTERVAL;
        }
        self.update_at = Some(at);
    }
}

impl Pie {
    fn drop_early(&mut self, queued: f64, buffer: f64, size: f64, random: impl FnOnce() -> f64) -> bool {
        if self.burst_allowance > 0.0 {
            return false;
        }
        if self.drop_prob == 0.0 {
            self.accu_prob = 0.0;
        }
        if self.burst_state == BurstState::NoBurst {
            // RFC 8034: PIE starts when a third of the buffer is in use.
            if queued < (buffer / 3.0).floor() {
                return false;
            }
            self.burst_state = BurstState::InBurst;
        }
        let p1 = (self.drop_prob * size / MEAN_PKTSIZE).min(PROB_LOW);
        // The sum grows before the queue is looked at, so spared packets count.
        self.accu_prob += p1;
        if self.qdelay < 0.5 * LATENCY_TARGET && self.drop_prob < PROB_DAMP || queued <= 2.0 * MEAN_PKTSIZE {
            return false;
        }
        if self.accu_prob < PROB_LOW {
            return false;
        }
        if self.accu_prob < PROB_HIGH && random() >= p1 {
            return false;
        }
        self.accu_prob = 0.0;
        if self.burst_state == BurstState::InBurst {
            self.burst_state = BurstState::InBurstProtecting;
            self.burst_allowance = MAX_BURST;
        }
        true
    }

    fn calculate_drop_prob(&mut self, qdelay: f64) {
        if self.burst_allowance > 0.0 {
            self.drop_prob = 0.0;
        } else {
            self.drop_prob = self.moved(qdelay);
        }
        // 142 ms less eight periods is 14 ms: rounding errors are below a nanosecond.
        self.burst_allowance -= INTERVAL as f64 / 1e9;
        if self.burst_allowance < 1e-9 {
            self.burst_allowance = 0.0;
        }
        let half = 0.5 * LATENCY_TARGET;
        let is_quiet =
            qdelay < half && self.qdelay < half && self.drop_prob == 0.0 && self.burst_allowance == 0.0;
        if is_quiet {
            if self.burst_state == BurstState::InBurstProtecting {
                self.burst_state = BurstState::InBurst;
                self.burst_reset = 0;
            } else if self.burst_state == BurstState::InBurst {
                self.burst_reset += 1;
                if self.burst_reset > BURST_RESET_LIMIT {
                    self.burst_reset = 0;
                    self.burst_state = BurstState::NoBurst;
                }
            }
        } else if self.burst_state == BurstState::InBurst {
            self.burst_reset = 0;
        }
        self.qdelay = qdelay;
    }

    fn moved(&self, qdelay: f64) -> f64 {
        let mut p = A * (qdelay - LATENCY_TARGET) + B * (qdelay - self.qdelay);
        let factors = [
            // RFC 8033 §4.2 up to 0.1. RFC 8034 continues the steps for larger probabilities.
            (1e-6, 1.0 / 2048.0),
            (1e-5, 1.0 / 512.0),
            (1e-4, 1.0 / 128.0),
            (1e-3, 1.0 / 32.0),
            (1e-2, 1.0 / 8.0),
            (1e-1, 1.0 / 2.0),
            (1.0, 2.0),
            (10.0, 8.0),
        ];
        p *= factors.iter().find(|(bound, _)| self.drop_prob < *bound).map_or(32.0, |(_, factor)| *factor);
        if self.drop_prob >= 0.1 && p > 0.02 {
            p = 0.02;
        }
        let mut drop_prob = self.drop_prob + p;
        if qdelay < LATENCY_LOW && self.qdelay < LATENCY_LOW {
            drop_prob *= 0.98;
        } else if qdelay > LATENCY_HIGH {
            drop_prob += 0.02;
        }
        // The highest probability that still matters for a packet of MIN_PKTSIZE.
        drop_prob.clamp(0.0, PROB_LOW * MEAN_PKTSIZE / MIN_PKTSIZE)
    }
}
