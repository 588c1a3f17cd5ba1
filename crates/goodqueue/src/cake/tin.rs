//! A class of packets: its queues, the rounds in which they are served, and what it counts.

use alloc::vec;

use super::config::{CakeConfig, Isolation};
use super::hash::Hash;
use super::links::{Links, NIL, Neighbours};
use super::queues::{CakeFlow, Flows, QUEUES_32, Set, charge, for_each_queue};
use super::shaper::{Pace, Shaper};
use super::tally::TinTally;
use crate::cobalt::{CobaltParams, CobaltVars};
use crate::gauge::{Gauge, Gauges};
use crate::queue::{Chain, Turns};
use crate::random::Random;
use crate::time::{Duration, Instant};

#[derive(Clone, Debug)]
pub(super) struct Tin {
    pub(super) flows: Flows,
    /// Bytes in all queues, counted as theirs are.
    pub(super) backlog: u64,
    /// Its share of the service without a shaper.
    pub(super) weight: Weight,
    pub(super) hash: Hash,
    pub(super) cobalt: CobaltParams,
    pub(super) shaper: Shaper,
    /// Between `MIN_FLOW_QUANTUM` and `MAX_FLOW_QUANTUM`.
    pub(super) flow_quantum: u32,
    sparse: u32,
    pub(super) bulk: u32,
    decaying: u32,
    /// Rings, so that the processor knows the next flow before the current one is in its cache.
    new_flows: Turns,
    old_flows: Turns,
    /// Linked both ways, because a flow leaves this round from any place when a packet arrives.
    decaying_flows: Links,
    pub(super) tally: TinTally,
}

/// A tin's share of the service without a shaper.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Weight {
    pub(super) quantum: i64,
    pub(super) deficit: i64,
}

impl Weight {
    /// Charges a packet that takes `charged` bytes on the link. Returns true if no deficit is left.
    #[inline]
    pub(super) fn pays(&mut self, charged: u32) -> bool {
        self.deficit = self.deficit.wrapping_sub(i64::from(charged));
        self.deficit <= 0
    }
}

impl Tin {
    pub(super) fn new(config: &CakeConfig) -> Self {
        let flow = CakeFlow {
            packets: Chain::default(),
            deficit: 0,
            backlog: 0,
            cobalt: CobaltVars::new(config.variant),
            source: 0,
            destination: 0,
            set: Set::None,
        };
        Self {
            flows: Flows(for_each_queue(&flow)),
            backlog: 0,
            weight: Weight::default(),
            hash: Hash::new(),
            cobalt: CobaltParams::new(Duration::ZERO, Duration::ZERO, config.variant),
            shaper: Shaper::default(),
            flow_quantum: 0,
            sparse: 0,
            bulk: 0,
            decaying: 0,
            new_flows: Turns::with_room_for(QUEUES_32),
            old_flows: Turns::with_room_for(QUEUES_32),
            decaying_flows: Links {
                first: NIL,
                flows: for_each_queue(&Neighbours { before: NIL, next: NIL }),
            },
            tally: TinTally::default(),
        }
    }

    /// Takes over a share of the link: `rate` bytes per second, 0 without a shaper.
    pub(super) fn set_rate(&mut self, config: &CakeConfig, rate: u64) {
        // Linux `cake_set_rate()`: the bytes of 1/4096 s, within bounds. Slow links thus serve a
        // large packet in several rounds, between which small packets pass.
        self.flow_quantum = if rate == 0 {
            MAX_FLOW_QUANTUM
        } else {
            u32::try_from(rate >> 12).unwrap_or(u32::MAX).clamp(MIN_FLOW_QUANTUM, MAX_FLOW_QUANTUM)
        };
        self.shaper.pace = Pace::from_rate(rate);
        let mtu_time = self.shaper.pace.time(config.mtu);
        let asked = config.target();
        let target = asked.max(Duration::from_nanos(mtu_time.as_nanos().saturating_mul(3) / 2));
        // A link that takes long for a packet raises the target, and the interval by as much (Linux
        // `cake_set_rate()`).
        let interval = (config.rtt + target).saturating_sub(asked).max(target.saturating_mul(2));
        self.cobalt = CobaltParams { mtu_time, ..CobaltParams::new(target, interval, config.variant) };
    }

    pub(super) fn gauges(&self, rate: u64) -> Gauges {
        let number = |value: u32| Gauge::Number(u64::from(value));
        let time = |nanos: u64| Gauge::Time(Duration::from_nanos(nanos));
        let unresponsive = self.flows.iter().filter(|flow| flow.cobalt.blue() > 0).count() as u64;
        let tally = &self.tally;
        vec![
            ("threshold_rate", Gauge::Number(rate)),
            // tc calls them sent, but Linux counts them at arrival.
            ("sent_bytes", Gauge::Number(tally.bytes)),
            ("backlog_bytes", Gauge::Number(self.backlog)),
            ("target_us", Gauge::Time(self.cobalt.target)),
            ("interval_us", Gauge::Time(self.cobalt.interval)),
            ("peak_delay_us", time(tally.peak_delay)),
            ("avg_delay_us", time(tally.mean_delay)),
            ("base_delay_us", time(tally.base_delay)),
            ("sent_packets", Gauge::Number(tally.packets)),
            ("way_indirect_hits", Gauge::Number(tally.indirect_hits)),
            ("way_misses", Gauge::Number(tally.misses)),
            ("way_collisions", Gauge::Number(tally.collisions)),
            ("drops", Gauge::Number(tally.drops)),
            ("ecn_mark", Gauge::Number(tally.marks)),
            ("ack_drops", Gauge::Number(tally.ack_drops)),
            // Linux `cake_dump_stats()` counts decaying flows as sparse.
            ("sparse_flows", number(self.sparse.saturating_add(self.decaying))),
            ("bulk_flows", number(self.bulk)),
            ("unresponsive_flows", Gauge::Number(unresponsive)),
            ("max_pkt_len", number(tally.largest)),
            ("flow_quantum", number(self.flow_quantum)),
        ]
    }

    /// Counts a packet of `bytes` that leaves queue `index`. Returns the queue's new backlog.
    pub(super) fn leaves(&mut self, index: u32, bytes: u32) -> u64 {
        let flow = self.flows.at_mut(index);
        flow.backlog = flow.backlog.wrapping_sub(charge(bytes));
        self.backlog = self.backlog.wrapping_sub(charge(bytes));
        flow.backlog
    }

    /// Returns the backlog of each queue.
    pub(super) fn backlogs(&self) -> impl Iterator<Item = u64> {
        self.flows.iter().map(|flow| flow.backlog)
    }

    #[inline]
    pub(super) const fn has_flows(&self) -> bool {
        self.sparse > 0 || self.bulk > 0
    }

    /// The flow that may send the oldest of its packets. `None` if there is none; or if flows turn
    /// out empty and the tin is not to be served on then, unless `stays`.
    #[inline(always)]
    pub(super) fn flow_to_serve(
        &mut self,
        now: Instant,
        stays: bool,
        isolation: Isolation,
        random: &mut impl Random,
    ) -> Option<u32> {
        while let Some(index) = self.new_flows.first() {
            let flow = self.flows.at_mut(index);
            if flow.deficit <= 0 {
                self.new_flows.advance();
                self.send_back(index, isolation, random);
            } else if !flow.packets.is_empty() {
                return Some(index);
            } else {
                self.new_flows.advance();
                self.emptied(index, now, isolation);
                if !stays {
                    return None;
                }
            }
        }
        let mut denied: u32 = 0;
        while let Some(index) = self.old_flows.first() {
            let flow = self.flows.at_mut(index);
            if flow.deficit <= 0 {
                self.old_flows.advance();
                self.send_back(index, isolation, random);
                denied += 1;
                if denied > FRUITLESS_VISITS {
                    self.skip_fruitless_rounds(isolation);
                    denied = 0;
                }
            } else if !flow.packets.is_empty() {
                return Some(index);
            } else {
                self.old_flows.advance();
                self.emptied(index, now, isolation);
                if !stays {
                    return None;
                }
            }
        }
        None
    }

    /// The first of the decaying flows, which all are empty, is looked at: it goes behind the
    /// others, or is done.
    #[inline]
    pub(super) fn visit_decaying(&mut self, now: Instant) {
        let Some(index) = self.decaying_flows.first() else { return };
        let flow = self.flows.at_mut(index);
        if !flow.cobalt.rests_when_empty(now, &self.cobalt) {
            self.decaying_flows.rotate();
            return;
        }
        flow.set = Set::None;
        self.decaying_flows.remove(index);
        self.decaying = self.decaying.wrapping_sub(1);
        self.hash.set_used(index, false);
    }

    /// Flow `index` has a packet: it takes its place among the flows to be served.
    #[inline(always)]
    pub(super) fn enlist(&mut self, index: u32, isolation: Isolation, random: &mut impl Random) {
        match self.flows.at(index).set {
            Set::Sparse | Set::Bulk => return,
            // It has a turn among the old flows already, so only the counts change (Linux
            // `cake_enqueue()`).
            Set::SparseWait => return self.becomes_bulk(index, isolation),
            Set::Decaying => {
                self.decaying_flows.remove(index);
                self.decaying = self.decaying.wrapping_sub(1);
            }
            Set::None => self.hash.set_used(index, true),
        }
        self.new_flows.push(index);
        self.sparse = self.sparse.wrapping_add(1);
        let quantum = self.quantum(index, isolation, random);
        let flow = self.flows.at_mut(index);
        (flow.set, flow.deficit) = (Set::Sparse, quantum);
    }

    // Once for each time that a flow becomes busy.
    /// A sparse flow counts as a bulk flow from now on.
    #[inline(never)]
    fn becomes_bulk(&mut self, index: u32, isolation: Isolation) {
        self.flows.at_mut(index).set = Set::Bulk;
        self.sparse = self.sparse.wrapping_sub(1);
        self.bulk = self.bulk.wrapping_add(1);
        self.count_hosts(index, isolation, true);
    }

    /// Flow `index`, which was to send, is empty: it stays a flow of its queue until its COBALT is
    /// at rest.
    #[inline]
    fn emptied(&mut self, index: u32, now: Instant, isolation: Isolation) {
        let flow = self.flows.at_mut(index);
        let was = flow.set;
        let rests = flow.cobalt.rests_when_empty(now, &self.cobalt);
        flow.set = if rests { Set::None } else { Set::Decaying };
        if was == Set::Bulk {
            self.bulk = self.bulk.wrapping_sub(1);
            self.count_hosts(index, isolation, false);
        } else {
            self.sparse = self.sparse.wrapping_sub(1);
        }
        if rests {
            self.hash.set_used(index, false);
        } else {
            self.decaying = self.decaying.wrapping_add(1);
            self.decaying_flows.push(index);
        }
    }

    /// Flow `index`, whose turn it was, has used up its deficit: it gets a quantum and goes to the
    /// end of the old flows.
    #[inline(always)]
    fn send_back(&mut self, index: u32, isolation: Isolation, random: &mut impl Random) {
        self.old_flows.push(index);
        let flow = self.flows.at_mut(index);
        // A flow that owes bytes is no longer sparse, even if it is empty: it pays among the old
        // flows (Linux `cake_dequeue()`).
        if flow.set == Set::Sparse {
            if flow.packets.is_empty() {
                flow.set = Set::SparseWait;
            } else {
                self.becomes_bulk(index, isolation);
            }
        }
        let quantum = self.quantum(index, isolation, random);
        let served = self.flows.at_mut(index);
        // Far from any end: the deficit was none.
        served.deficit = served.deficit.wrapping_add(quantum);
    }

    /// What flow `index` may send per round, with 16 binary places: less, the more bulk flows its
    /// busier host has.
    #[inline]
    fn fine_quantum(&self, index: u32, isolation: Isolation) -> u32 {
        // A division takes long, and most hosts have one bulk flow at most. As in Linux's
        // `quantum_div`, the whole is 65535, not 65536.
        let share = if self.hash.is_crowded() { u16::MAX / self.load(index, isolation) } else { u16::MAX };
        self.flow_quantum * u32::from(share)
    }

    /// Returns the same in bytes, rounded up or down at random, so that nothing is lost in the long
    /// run.
    #[inline]
    fn quantum(&self, index: u32, isolation: Isolation, random: &mut impl Random) -> i32 {
        let dithered = self.fine_quantum(index, isolation) + (random.next_u32() & 0xFFFF);
        // 16 bits are left.
        (dithered >> 16) as i32
    }

    /// Skips rounds at once when every flow has a deficit of many rounds.
    #[cold]
    fn skip_fruitless_rounds(&mut self, isolation: Isolation) {
        let mut rounds = u64::MAX;
        for index in self.old_flows.iter() {
            // As exact as `fine_quantum`. The dither of each round is left out: it changes no sum
            // in the long run.
            let missing = u64::from(self.flows.at(index).deficit.min(0).unsigned_abs()) << 16;
            rounds = rounds.min(missing / u64::from(self.fine_quantum(index, isolation).max(1)));
        }
        for turn in 0..self.old_flows.len() {
            let Some(index) = self.old_flows.nth(turn) else { return };
            let gained = u64::from(self.fine_quantum(index, isolation)).saturating_mul(rounds) >> 16;
            let flow = self.flows.at_mut(index);
            flow.deficit = flow.deficit.saturating_add(i32::try_from(gained).unwrap_or(i32::MAX));
        }
    }
}

/// Linux sch_cake: bounds of a flow's quantum, which is 1/4096 of the tin's rate in bytes per
/// second.
const MIN_FLOW_QUANTUM: u32 = 300;
const MAX_FLOW_QUANTUM: u32 = 1514;
/// After this number of visits without a packet, rounds are skipped at once. No packet of a common
/// size needs as many.
const FRUITLESS_VISITS: u32 = 16_384;
