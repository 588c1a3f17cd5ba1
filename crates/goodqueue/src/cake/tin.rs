//! A class of packets: its queues, the rounds in which they are served, and what it counts.

use alloc::boxed::Box;
use alloc::vec;

use super::CakeConfig;
use super::config::Isolation;
use super::hash::Hash;
use super::shaper::{Pace, Shaper};
use crate::cobalt::{CobaltParams, CobaltVars};
use crate::gauge::{Gauge, Gauges};
use crate::queue::{Chain, Turns};
use crate::random::Random;
use crate::time::{Duration, Instant};

#[derive(Clone, Debug)]
pub(super) struct Tin {
    pub(super) flows: Flows,
    /// Bytes of each queue, a packet of no bytes counted as one.
    backlogs: Box<[u64; QUEUES]>,
    pub(super) hash: Hash,
    pub(super) cobalt: CobaltParams,
    pub(super) shaper: Shaper,
    pub(super) flow_quantum: u32,
    /// The sum of `backlogs`.
    pub(super) backlog: u64,
    sparse: u32,
    pub(super) bulk: u32,
    decaying: u32,
    /// Rings, so that the processor knows which flow comes next before it has the one at hand in its cache.
    new_flows: Turns,
    old_flows: Turns,
    /// Links, since a flow leaves this list from anywhere when a packet comes.
    decaying_flows: Links,
    pub(super) tally: TinTally,
}

/// What Linux counts for `tc -s` in each tin.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct TinTally {
    pub(super) packets: u64,
    pub(super) bytes: u64,
    /// Moving averages of the sojourn time: of its peaks, of all, of its troughs.
    pub(super) peak_delay: u64,
    pub(super) mean_delay: u64,
    pub(super) base_delay: u64,
    /// Flows that found their queue elsewhere in their set, that found a new one, that had to share one.
    pub(super) indirect_hits: u64,
    pub(super) misses: u64,
    pub(super) collisions: u64,
    pub(super) drops: u64,
    pub(super) marks: u64,
    pub(super) ack_drops: u64,
    pub(super) largest: u32,
}

/// Moves an average by a part in `2^shift` of the way.
pub(super) const fn moving(average: u64, sample: u64, shift: u32) -> u64 {
    (average - (average >> shift)).saturating_add(sample >> shift)
}

impl TinTally {
    /// A packet that waited for `sojourn` is sent.
    pub(super) fn sent(&mut self, sojourn: Duration) {
        let delay = sojourn.as_nanos();
        let (peak, base) = (self.peak_delay, self.base_delay);
        self.mean_delay = moving(self.mean_delay, delay, 8);
        self.peak_delay = moving(peak, delay, if delay > peak { 2 } else { 8 });
        self.base_delay = moving(base, delay, if delay < base { 2 } else { 8 });
    }
}

/// One queue.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct CakeFlow {
    pub(super) packets: Chain,
    pub(super) deficit: i32,
    pub(super) cobalt: CobaltVars,
    /// Neighbours among the decaying flows.
    before: u16,
    next: u16,
    /// Entries of its hosts.
    pub(super) source: u16,
    pub(super) destination: u16,
    pub(super) set: Set,
}

const _: () = assert!(size_of::<CakeFlow>() <= 64, "a thousand flows must stay in the cache");

/// Where a flow stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Set {
    None,
    Sparse,
    /// Counted as sparse, but among the old flows, since it has a deficit.
    SparseWait,
    Bulk,
    Decaying,
}

/// Ends of a list of flows that is linked both ways through `before` and `next`.
#[derive(Clone, Copy, Debug)]
struct Links {
    head: u16,
    tail: u16,
}

/// "No flow".
const NIL: u16 = u16::MAX;

/// Which of the three lists of a tin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum List {
    New,
    Old,
    Decaying,
}

/// The queues of a tin.
#[derive(Clone, Debug)]
pub(super) struct Flows(Box<[CakeFlow; QUEUES]>);

impl Flows {
    #[inline]
    pub(super) fn at(&self, index: u32) -> &CakeFlow {
        &self.0[index as usize % QUEUES]
    }

    #[inline]
    pub(super) fn at_mut(&mut self, index: u32) -> &mut CakeFlow {
        &mut self.0[index as usize % QUEUES]
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &CakeFlow> {
        self.0.iter()
    }
}

/// As many of `value` as there are queues, made on the heap.
pub(super) fn for_each_queue<T: Clone, const N: usize>(value: &T) -> Box<[T; N]> {
    let many = vec![value.clone(); N].into_boxed_slice();
    many.try_into().unwrap_or_else(|_| Box::new(core::array::from_fn(|_| value.clone())))
}

impl Tin {
    pub(super) fn new(config: &CakeConfig) -> Self {
        let flow = CakeFlow {
            packets: Chain::default(),
            deficit: 0,
            cobalt: CobaltVars::new(config.variant),
            before: NIL,
            next: NIL,
            source: 0,
            destination: 0,
            set: Set::None,
        };
        Self {
            flows: Flows(for_each_queue(&flow)),
            backlogs: for_each_queue(&0),
            hash: Hash::new(),
            cobalt: CobaltParams::new(Duration::ZERO, Duration::ZERO, config.variant),
            shaper: Shaper::default(),
            flow_quantum: 0,
            backlog: 0,
            sparse: 0,
            bulk: 0,
            decaying: 0,
            new_flows: Turns::of(QUEUES_32),
            old_flows: Turns::of(QUEUES_32),
            decaying_flows: Links { head: NIL, tail: NIL },
            tally: TinTally::default(),
        }
    }

    /// Takes over a share of the link: `rate` bytes per second, 0 without a shaper.
    pub(super) fn set_rate(&mut self, config: &CakeConfig, rate: u64) {
        self.flow_quantum = if rate == 0 {
            MAX_FLOW_QUANTUM
        } else {
            u32::try_from(rate >> 12).unwrap_or(u32::MAX).clamp(MIN_FLOW_QUANTUM, MAX_FLOW_QUANTUM)
        };
        self.shaper.pace = Pace::of(rate);
        let mtu_time = self.shaper.pace.time(config.mtu);
        let asked = config.target();
        let target = asked.max(Duration::from_nanos(mtu_time.as_nanos().saturating_mul(3) / 2));
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
            ("sparse_flows", number(self.sparse.saturating_add(self.decaying))),
            ("bulk_flows", number(self.bulk)),
            ("unresponsive_flows", Gauge::Number(unresponsive)),
            ("max_pkt_len", number(tally.largest)),
            ("flow_quantum", number(self.flow_quantum)),
        ]
    }

    #[inline]
    pub(super) const fn has_flows(&self) -> bool {
        self.sparse > 0 || self.bulk > 0
    }

    pub(super) fn backlogs(&self) -> impl Iterator<Item = u64> {
        self.backlogs.iter().copied()
    }

    /// A packet that counts as `charge` bytes comes to queue `index`; what that holds now.
    #[inline]
    pub(super) fn gains(&mut self, index: u32, charge: u64) -> u64 {
        let backlog = &mut self.backlogs[index as usize % QUEUES];
        *backlog = backlog.wrapping_add(charge);
        self.backlog = self.backlog.wrapping_add(charge);
        *backlog
    }

    /// A packet that counts as `charge` bytes leaves queue `index`; what that holds now.
    #[inline]
    pub(super) fn loses(&mut self, index: u32, charge: u64) -> u64 {
        let backlog = &mut self.backlogs[index as usize % QUEUES];
        *backlog = backlog.wrapping_sub(charge);
        self.backlog = self.backlog.wrapping_sub(charge);
        *backlog
    }

    /// The flow to serve: one that decays, if that may be, else a new one, else an old one.
    #[inline]
    pub(super) fn first(&self, decaying_first: bool) -> Option<(List, u32)> {
        let decaying = self.decaying_flows.head;
        if decaying_first && decaying != NIL {
            return Some((List::Decaying, u32::from(decaying)));
        }
        if let Some(index) = self.new_flows.first() {
            Some((List::New, index))
        } else if let Some(index) = self.old_flows.first() {
            Some((List::Old, index))
        } else if decaying != NIL {
            Some((List::Decaying, u32::from(decaying)))
        } else {
            None
        }
    }

    /// No flow is new.
    pub(super) const fn has_no_new_flows(&self) -> bool {
        self.new_flows.is_empty()
    }

    /// Takes the first flow of a list, which is `index`, off it.
    #[inline]
    fn remove_first(&mut self, list: List, index: u32) {
        match list {
            List::New => self.new_flows.advance(),
            List::Old => self.old_flows.advance(),
            List::Decaying => self.unlink(index),
        }
    }

    /// Puts a flow behind all that decay.
    fn link(&mut self, index: u32) {
        let place = place(index);
        let tail = core::mem::replace(&mut self.decaying_flows.tail, place);
        let flow = self.flows.at_mut(index);
        (flow.before, flow.next) = (tail, NIL);
        if tail == NIL {
            self.decaying_flows.head = place;
        } else {
            self.flows.at_mut(u32::from(tail)).next = place;
        }
    }

    /// Takes a flow off the list of those that decay.
    fn unlink(&mut self, index: u32) {
        let &CakeFlow { before, next, .. } = self.flows.at(index);
        if before == NIL {
            self.decaying_flows.head = next;
        } else {
            self.flows.at_mut(u32::from(before)).next = next;
        }
        if next == NIL {
            self.decaying_flows.tail = before;
        } else {
            self.flows.at_mut(u32::from(next)).before = before;
        }
    }

    /// Flow `index` has a packet: it takes its place among the flows to be served.
    #[inline]
    pub(super) fn enlist(&mut self, index: u32, isolation: Isolation, random: &mut impl Random) {
        match self.flows.at(index).set {
            was @ (Set::None | Set::Decaying) => {
                if was == Set::Decaying {
                    self.unlink(index);
                    self.decaying = self.decaying.wrapping_sub(1);
                } else {
                    self.hash.set_used(index, true);
                }
                self.new_flows.push(index);
                self.sparse = self.sparse.wrapping_add(1);
                let quantum = self.quantum(index, isolation, random);
                let flow = self.flows.at_mut(index);
                (flow.set, flow.deficit) = (Set::Sparse, quantum);
            }
            Set::SparseWait => self.becomes_bulk(index, isolation),
            Set::Sparse | Set::Bulk => {}
        }
    }

    /// A sparse flow counts as a bulk flow from now on.
    #[inline]
    fn becomes_bulk(&mut self, index: u32, isolation: Isolation) {
        self.flows.at_mut(index).set = Set::Bulk;
        self.sparse = self.sparse.wrapping_sub(1);
        self.bulk = self.bulk.wrapping_add(1);
        self.count_hosts(index, isolation, true);
    }

    /// Flow `index`, the first of its list, was to be served and is empty: it stays listed until its COBALT is at rest.
    #[inline]
    pub(super) fn emptied(&mut self, list: List, index: u32, now: Instant, isolation: Isolation) {
        self.remove_first(list, index);
        let flow = self.flows.at_mut(index);
        flow.cobalt.queue_empty(now, &self.cobalt);
        let decays = !flow.cobalt.is_at_rest(now);
        let was = core::mem::replace(&mut flow.set, if decays { Set::Decaying } else { Set::None });
        match was {
            Set::Bulk => {
                self.bulk = self.bulk.wrapping_sub(1);
                self.count_hosts(index, isolation, false);
            }
            Set::Sparse | Set::SparseWait => self.sparse = self.sparse.wrapping_sub(1),
            Set::Decaying | Set::None => self.decaying = self.decaying.wrapping_sub(1),
        }
        if decays {
            self.decaying = self.decaying.wrapping_add(1);
            self.link(index);
        } else {
            self.hash.set_used(index, false);
        }
    }

    /// Flow `index`, the first of its list, has used up its deficit: it gets a quantum and goes to the end of the old flows.
    #[inline]
    pub(super) fn send_back(
        &mut self,
        list: List,
        index: u32,
        isolation: Isolation,
        random: &mut impl Random,
    ) {
        let flow = self.flows.at_mut(index);
        if flow.set == Set::Sparse {
            if flow.packets.is_empty() {
                flow.set = Set::SparseWait;
            } else {
                self.becomes_bulk(index, isolation);
            }
        }
        let quantum = self.quantum(index, isolation, random);
        let served = self.flows.at_mut(index);
        served.deficit = served.deficit.saturating_add(quantum);
        self.remove_first(list, index);
        self.old_flows.push(index);
    }

    /// Flow `index` begins, or ends, to count as a bulk flow of its hosts.
    pub(super) fn count_hosts(&mut self, index: u32, isolation: Isolation, begins: bool) {
        let &CakeFlow { source, destination, .. } = self.flows.at(index);
        let change = |count: &mut u16| {
            *count = if begins { count.saturating_add(1) } else { count.saturating_sub(1) };
        };
        if isolation.shares_by_source() {
            change(&mut self.hash.host_mut(source).source_bulk);
        }
        if isolation.shares_by_destination() {
            change(&mut self.hash.host_mut(destination).destination_bulk);
        }
    }

    /// What flow `index` may send per round, with 16 binary places: less, the more bulk flows its busier host has.
    #[inline]
    fn fine_quantum(&self, index: u32, isolation: Isolation) -> u64 {
        let flow = self.flows.at(index);
        let mut load = 1;
        if isolation.shares_by_source() {
            load = load.max(self.hash.host(flow.source).source_bulk);
        }
        if isolation.shares_by_destination() {
            load = load.max(self.hash.host(flow.destination).destination_bulk);
        }
        // Most hosts have one bulk flow at most, and a division takes long.
        let share = if load == 1 { u16::MAX } else { u16::MAX / load };
        u64::from(self.flow_quantum) * u64::from(share)
    }

    /// The same in bytes, rounded up or down at random so that nothing is lost in the long run.
    #[inline]
    fn quantum(&self, index: u32, isolation: Isolation, random: &mut impl Random) -> i32 {
        let dithered = self.fine_quantum(index, isolation) + u64::from(random.next_u32() & 0xFFFF);
        i32::try_from(dithered >> 16).unwrap_or(i32::MAX)
    }

    /// All flows have a deficit that many rounds will not make up: all but the last of these rounds are done at once.
    #[cold]
    pub(super) fn skip_fruitless_rounds(&mut self, isolation: Isolation) {
        let mut rounds = u64::MAX;
        for index in self.old_flows.iter() {
            let missing = u64::from(self.flows.at(index).deficit.min(0).unsigned_abs()) << 16;
            rounds = rounds.min(missing / self.fine_quantum(index, isolation).max(1));
        }
        for turn in 0..self.old_flows.len() {
            let Some(index) = self.old_flows.nth(turn) else { return };
            let gained = self.fine_quantum(index, isolation).saturating_mul(rounds) >> 16;
            let flow = self.flows.at_mut(index);
            flow.deficit = flow.deficit.saturating_add(i32::try_from(gained).unwrap_or(i32::MAX));
        }
    }
}

/// The number of a flow as links have it.
#[inline]
fn place(index: u32) -> u16 {
    u16::try_from(index).unwrap_or(NIL)
}

/// Linux sch_cake: queues per tin.
pub(super) const QUEUES: usize = 1024;
pub(super) const QUEUES_32: u32 = 1024;
/// Linux sch_cake: what a flow sends per round lies between these, a 4096th of the tin's rate per second.
const MIN_FLOW_QUANTUM: u32 = 300;
const MAX_FLOW_QUANTUM: u32 = 1514;
