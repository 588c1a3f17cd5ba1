//! Queue protection (RFC 9957): a score per flow of the low-latency queue.

use alloc::boxed::Box;

use super::config::DocsisConfig;
use crate::time::Instant;

/// The scores of the flows.
#[derive(Clone, Debug)]
pub(super) struct Protection {
    /// One bucket for each value of five hash bits, and one that all other flows share. In a box,
    /// because any discipline takes as much room as the largest one.
    buckets: Box<[Bucket; BUCKETS + 1]>,
}

/// The score of one flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Bucket {
    /// Hash of the flow; `None` before the first.
    flow: Option<u32>,
    /// Time at which the score reaches 0. The score of a flow is the time until then.
    expires: Instant,
}

/// A packet that arrives at the low-latency queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arriving {
    /// Hash of the flow.
    pub(super) flow: u32,
    /// Length in bytes.
    pub(super) bytes: u32,
    /// Delay of the queue with this packet, in ns.
    pub(super) delay: u64,
    /// Native mark probability, in units of 2^-lg_range.
    pub(super) native: u64,
}

impl Protection {
    pub(super) fn new() -> Self {
        Self { buckets: Box::new([Bucket { flow: None, expires: Instant::ZERO }; BUCKETS + 1]) }
    }

    /// Adds a packet to the score of its flow. Returns true if the packet is to be moved to the
    /// classic queue (`qprotect`, RFC 9957 §4.2).
    pub(super) fn sanctions(&mut self, config: &DocsisConfig, now: Instant, packet: Arriving) -> bool {
        let index = self.pick(config.attempts, now, packet.flow);
        let Some(bucket) = self.buckets.get_mut(index) else { return false };
        // The shared bucket gets the hash of its last flow; nobody looks for it there.
        bucket.flow = Some(packet.flow);
        let start = bucket.expires.max(now);
        let score = (start.since(now).as_nanos().saturating_add(growth(config, packet))).min(MOST_SCORE);
        bucket.expires = Instant::from_nanos(now.as_nanos().saturating_add(score));
        is_critical(config, packet.delay, score)
    }

    /// Returns the score that the flow of an arriving packet will have, in ns.
    pub(super) fn score_with(&self, config: &DocsisConfig, now: Instant, packet: Arriving) -> u64 {
        let index = self.pick(config.attempts, now, packet.flow);
        let expires = self.buckets.get(index).map_or(now, |bucket| bucket.expires.max(now));
        expires.since(now).as_nanos().saturating_add(growth(config, packet)).min(MOST_SCORE)
    }

    /// Returns the number of the bucket for a flow (`pick_bucket`, RFC 9957 §4.2): its own one,
    /// else the first expired one, else the shared one.
    fn pick(&self, attempts: u32, now: Instant, flow: u32) -> usize {
        let mut free = BUCKETS;
        let mut hash = flow;
        for _ in 0..attempts {
            let index = hash as usize % BUCKETS;
            let Some(bucket) = self.buckets.get(index) else { break };
            if bucket.flow == Some(flow) {
                return index;
            }
            if free == BUCKETS && bucket.expires <= now {
                free = index;
            }
            // Each attempt uses five other bits, so that 32 bits are enough for six attempts.
            hash >>= BUCKETS.ilog2();
        }
        free
    }
}

/// Returns by how much a packet raises the score, in ns (`fill_bucket`, RFC 9957 §4.2): its bytes
/// times the native mark probability, over the aging rate of 2^lg_aging bytes per 2^30 ns.
fn growth(config: &DocsisConfig, packet: Arriving) -> u64 {
    let marked = u128::from(packet.native) * u128::from(packet.bytes);
    let nanos = (marked << (30 - config.lg_aging)) >> config.lg_range;
    u64::try_from(nanos).unwrap_or(u64::MAX)
}

/// Returns true if a flow with this score is sanctioned at this delay. The product of both decides,
/// so that a longer queue needs a lower score.
pub(super) fn is_critical(config: &DocsisConfig, delay: u64, score: u64) -> bool {
    let critical = u128::from(config.critical_delay.as_nanos());
    let product = critical * u128::from(config.critical_score.as_nanos());
    u128::from(delay) > critical && u128::from(delay) * u128::from(score) > product
}

/// RFC 9957 §4.1: 2^BI_SIZE buckets, BI_SIZE = 5.
const BUCKETS: usize = 32;
/// RFC 9957 §4.1: Q_SCORE_MAX of 5 s.
const MOST_SCORE: u64 = 5_000_000_000;
