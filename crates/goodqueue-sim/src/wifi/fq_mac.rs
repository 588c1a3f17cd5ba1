//! Queueing in the MAC: FQ-CoDel flows for every receiver, and airtime fairness between receivers.
//!
//! It follows mac80211 since Linux 4.9 and 4.11 ("Ending the Anomaly", USENIX ATC 2017, §3.1).
//! There is no discipline above it. One limit holds for all packets of the node, and an overflow
//! drops from the longest of all flows. CoDel runs on each flow with a target that suits the
//! receiver's rate. The queue below holds at most two aggregates. Unlike in mac80211, each receiver
//! has its own hash table, so flows of different receivers never share a queue.

use goodqueue::codel::{CeSelector, CodelLaw, CodelParams, CodelVariant, CodelVars};
use goodqueue::flow_queue::FlowQueues;
use goodqueue::random::mix_64;
use goodqueue::{Count, DropReason, Drops, Duration, Flow, Instant, Packet, Stats};

use super::airtime::Airtime;
use super::contention::AccessCategory;
use super::demand::{Demand, Outside};

/// The configuration of an FQ-MAC.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FqMacConfig {
    /// Largest number of packets (mac80211: 8192).
    pub limit: u32,
    /// Largest number of bytes. Packet bytes count here; mac80211 limits buffer memory to 16 MiB.
    pub memory_limit: u64,
    /// Number of queues of each receiver and access category (mac80211: 4096).
    pub flows: u32,
    /// Bytes that a flow may send in a round (mac80211: 300).
    pub quantum: u32,
    /// Airtime that a station may use in a round (ath9k: 300 µs).
    pub airtime_quantum: Duration,
    /// True if stations share the airtime equally; otherwise each gets the same number of
    /// transmissions.
    pub airtime_fairness: bool,
    /// Limits on the airtime of prepared aggregates.
    pub airtime_limits: AirtimeLimits,
    /// Sojourn time above which CoDel marks ECN-capable packets
    /// ([`CodelParams::ce_threshold`]); `None` for no such marks, as in mac80211.
    pub ce_threshold: Option<Duration>,
    /// Packets that `ce_threshold` marks ([`CodelParams::ce_threshold_selector`]).
    pub ce_threshold_selector: Option<CeSelector>,
}

/// Airtime queue limits (AQL, Linux 5.5). A station that would exceed them gets no further
/// aggregate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AirtimeLimits {
    /// Airtime that a station may always have prepared (mac80211
    /// `IEEE80211_DEFAULT_AQL_TXQ_LIMIT_L`: 5 ms).
    pub low: Duration,
    /// Airtime that a station may have prepared while all stations together have less than `total`
    /// (`..._LIMIT_H`: 12 ms).
    pub high: Duration,
    /// Airtime of all stations up to which `high` applies (`IEEE80211_AQL_THRESHOLD`: 24 ms).
    pub total: Duration,
}

impl AirtimeLimits {
    /// Returns true if a station with `station` of prepared airtime may get more, while all
    /// stations together have `total`.
    fn allow(&self, station: Duration, total: Duration) -> bool {
        station < self.low || (total < self.total && station < self.high)
    }
}

impl Default for FqMacConfig {
    /// The values of mac80211 and ath9k.
    fn default() -> Self {
        Self {
            limit: 8192,
            memory_limit: 16 << 20,
            flows: 4096,
            quantum: 300,
            airtime_quantum: Duration::from_micros(300),
            airtime_fairness: true,
            airtime_limits: AirtimeLimits {
                low: Duration::from_millis(5),
                high: Duration::from_millis(12),
                total: Duration::from_millis(24),
            },
            ce_threshold: None,
            // mac80211 sets no threshold, so a selector would select nothing.
            ce_threshold_selector: None,
        }
    }
}

/// Expected throughput per station, in bits per second, below which a station is slow (mac80211
/// `STA_SLOW_THRESHOLD`).
const SLOW_BPS: u64 = 6_000_000;

/// Returns CoDel's parameters for a station with this expected throughput among `stations`
/// (mac80211 `sta_update_codel_params`): 20 and 100 ms, or 50 and 300 ms without ECN for a slow
/// station.
fn codel_params(config: &FqMacConfig, expected_bps: u64, stations: usize) -> CodelParams {
    let slow = expected_bps < SLOW_BPS.saturating_mul(stations as u64);
    let (target, interval) = if slow { (50, 300) } else { (20, 100) };
    CodelParams {
        target: Duration::from_millis(target),
        interval: Duration::from_millis(interval),
        ecn: !slow,
        // Linux marks by the threshold whether the law marks or drops.
        ce_threshold: config.ce_threshold,
        ce_threshold_selector: config.ce_threshold_selector,
        variant: CodelVariant::Linux,
        // mac80211 leaves the MTU at 0, so CoDel may drop even the last packet.
        ..CodelParams::new(0)
    }
}

/// The queues of one node.
#[derive(Clone, Debug)]
pub(crate) struct FqMac<P> {
    config: FqMacConfig,
    seed: u64,
    hash_key: u32,
    stations: Vec<Station<P>>,
    rounds: [Airtime; 4],
    pending: Duration,
    len: usize,
    bytes: u64,
}

/// Packets and bytes that one receiver's queue holds.
#[derive(Clone, Copy)]
struct Load {
    packets: usize,
    bytes: u64,
}

#[derive(Clone, Debug)]
struct Station<P> {
    codel: CodelParams,
    /// Estimated airtime of the aggregates prepared for the station.
    pending: Duration,
    tids: [Option<Box<FlowQueues<P, CodelVars>>>; 4],
}

/// The properties of a receiver that the MAC needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer {
    pub(crate) expected_bps: u64,
    pub(crate) weight: u32,
}

impl<P: Packet + Flow> Station<P> {
    /// Returns whether there is something to send, counting packets that have left the queue.
    fn demand(&self, category: AccessCategory, within_limits: bool, outside: Outside) -> Demand {
        let queued = self.tids[category.index()].as_ref().is_some_and(|tid| !tid.is_empty());
        match outside.demand(queued) {
            Demand::Ready if !within_limits => Demand::Blocked,
            other => other,
        }
    }
}

impl<P: Packet + Flow> FqMac<P> {
    pub(crate) fn new(config: FqMacConfig, peers: &[Peer], seed: u64, hash_key: u32) -> Self {
        let station = |peer: &Peer| Station {
            codel: codel_params(&config, peer.expected_bps, peers.len()),
            pending: Duration::ZERO,
            tids: [const { None }; 4],
        };
        let weights: Vec<u32> = peers.iter().map(|peer| peer.weight).collect();
        let round = Airtime::new(config.airtime_quantum, &weights);
        Self {
            config,
            seed,
            hash_key,
            stations: peers.iter().map(station).collect(),
            rounds: [round.clone(), round.clone(), round.clone(), round],
            pending: Duration::ZERO,
            len: 0,
            bytes: 0,
        }
    }

    /// Returns the packets queued.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    pub(crate) const fn queued(&self) -> Count {
        Count { packets: self.len as u64, bytes: self.bytes }
    }

    pub(crate) fn stats(&self) -> Stats {
        let tids = self.stations.iter().flat_map(|station| station.tids.iter().flatten());
        tids.fold(Stats::default(), |sum, tid| sum.plus(&tid.stats()))
    }

    pub(crate) fn enqueue(
        &mut self,
        now: Instant,
        category: AccessCategory,
        peer: usize,
        packet: P,
        drops: &mut impl Drops<P>,
    ) {
        let Self { config, seed, hash_key, stations, .. } = self;
        let station = &mut stations[peer];
        let codel = station.codel;
        let tid = station.tids[category.index()]
            .get_or_insert_with(|| Box::new(FlowQueues::new(config.flows, CodelVars::starting(&codel))));
        // The two lowest bits are the category. Each hash table has a salt of its own.
        let mixed = mix_64(*seed ^ ((peer as u64) << 2 | category.index() as u64));
        let salt = u32::try_from(mixed >> 32).unwrap_or(0) ^ *hash_key;
        let flow = tid.classify(&packet, salt);
        let before = Load { packets: tid.len(), bytes: tid.bytes() };
        // Queued before the limits are checked, as in mac80211: its own flow may be the longest.
        tid.push(now, flow, packet, config.quantum);
        self.changed(before, category, peer);
        self.rounds[category.index()].activate(peer);
        self.drop_excess(drops);
    }

    /// Drops packets one by one from the longest flow of all receivers until the limits hold.
    fn drop_excess(&mut self, drops: &mut impl Drops<P>) {
        loop {
            let why = if self.len > self.config.limit as usize {
                DropReason::Overlimit
            } else if self.bytes > self.config.memory_limit {
                DropReason::Overmemory
            } else {
                return;
            };
            let mut fattest: Option<(u64, usize, AccessCategory)> = None;
            for (peer, station) in self.stations.iter_mut().enumerate() {
                for category in AccessCategory::ALL {
                    if let Some(tid) = &mut station.tids[category.index()] {
                        let (_, bytes) = tid.fattest();
                        if fattest.is_none_or(|(most, ..)| bytes > most) {
                            fattest = Some((bytes, peer, category));
                        }
                    }
                }
            }
            // Without a byte in any flow there is nothing to drop.
            let Some((1.., peer, category)) = fattest else { return };
            let Some(tid) = &mut self.stations[peer].tids[category.index()] else { return };
            let before = Load { packets: tid.len(), bytes: tid.bytes() };
            tid.drop_from_fattest(1, why, false, drops);
            self.changed(before, category, peer);
        }
    }

    /// Updates the totals after a receiver's queue, which held `before`, has changed.
    fn changed(&mut self, before: Load, category: AccessCategory, peer: usize) {
        if let Some(tid) = &self.stations[peer].tids[category.index()] {
            // The sums come first, because drops can leave fewer packets than before.
            self.len = self.len + tid.len() - before.packets;
            self.bytes = self.bytes + tid.bytes() - before.bytes;
        }
    }

    /// Returns the receiver whose turn it is. `outside` describes a receiver's packets that have
    /// left this queue.
    pub(crate) fn next_peer(
        &mut self,
        category: AccessCategory,
        outside: impl Fn(usize) -> Outside,
    ) -> Option<usize> {
        let Self { config, stations, rounds, pending, .. } = self;
        rounds[category.index()].next(|peer| {
            let station = &stations[peer];
            let within = config.airtime_limits.allow(station.pending, *pending);
            station.demand(category, within, outside(peer))
        })
    }

    /// Returns true if [`Self::next_peer`] would return a receiver.
    pub(crate) fn has_ready_peer(
        &self,
        category: AccessCategory,
        outside: impl Fn(usize) -> Outside,
    ) -> bool {
        self.stations.iter().enumerate().any(|(peer, station)| {
            let within = self.config.airtime_limits.allow(station.pending, self.pending);
            station.demand(category, within, outside(peer)) == Demand::Ready
        })
    }

    pub(crate) fn take(
        &mut self,
        now: Instant,
        category: AccessCategory,
        peer: usize,
        drops: &mut impl Drops<P>,
    ) -> Option<P> {
        let station = &mut self.stations[peer];
        let codel = station.codel;
        let tid = station.tids[category.index()].as_mut()?;
        let before = Load { packets: tid.len(), bytes: tid.bytes() };
        // mac80211 gives CoDel the backlog of the flow (`codel_dequeue()`), unlike sch_fq_codel.
        let packet = tid.pop(now, self.config.quantum, &CodelLaw::from_params(codel), false, drops);
        self.changed(before, category, peer);
        packet
    }

    /// Accounts for an aggregate of this airtime, prepared for a receiver.
    pub(crate) fn prepared(&mut self, peer: usize, airtime: Duration) {
        self.stations[peer].pending += airtime;
        self.pending += airtime;
    }

    /// Accounts for a prepared aggregate that was sent and used `used` of airtime. There may be
    /// something to send again.
    pub(crate) fn completed(
        &mut self,
        category: AccessCategory,
        peer: usize,
        estimated: Duration,
        used: Duration,
    ) {
        let station = &mut self.stations[peer];
        station.pending = station.pending.saturating_sub(estimated);
        self.pending = self.pending.saturating_sub(estimated);
        self.charge(category, peer, used);
        self.rounds[category.index()].activate(peer);
    }

    /// Accounts for airtime that the peer itself used.
    pub(crate) fn heard(&mut self, category: AccessCategory, peer: usize, used: Duration) {
        if self.config.airtime_fairness {
            self.charge(category, peer, used);
        }
    }

    fn charge(&mut self, category: AccessCategory, peer: usize, used: Duration) {
        // The same charge for each transmission gives all stations the same number of them.
        let charged = if self.config.airtime_fairness { used } else { self.config.airtime_quantum };
        self.rounds[category.index()].charge(peer, charged);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodqueue::Ecn;

    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    struct Marked(Ecn);

    impl Packet for Marked {
        fn len(&self) -> u32 {
            1514
        }
        fn ecn(&self) -> Ecn {
            self.0
        }
        fn set_ce(&mut self) -> bool {
            let capable = self.0 != Ecn::NotEct;
            if capable {
                self.0 = Ecn::Ce;
            }
            capable
        }
    }

    impl Flow for Marked {
        fn flow_hash(&self, _salt: u32) -> u32 {
            0
        }
    }

    /// Returns the ECN field of a packet that waited for this time in the queue of a station.
    fn after(config: FqMacConfig, expected_bps: u64, sent: Ecn, micros: u64) -> Ecn {
        let mut mac = FqMac::new(config, &[Peer { expected_bps, weight: 256 }], 1, 0);
        let category = AccessCategory::ALL[0];
        mac.enqueue(Instant::ZERO, category, 0, Marked(sent), &mut |_, _| ());
        let now = Instant::ZERO + Duration::from_micros(micros);
        mac.take(now, category, 0, &mut |_, _| ()).expect("queued").0
    }

    #[test]
    fn a_packet_that_waited_longer_than_ce_threshold_is_marked() {
        let off = FqMacConfig::default();
        let at_1_ms = FqMacConfig { ce_threshold: Some(Duration::from_millis(1)), ..off };
        let of_l4s = FqMacConfig { ce_threshold_selector: Some(CeSelector::L4s), ..at_1_ms };
        // The second station is too slow for marks by the law.
        for expected_bps in [50_000_000, 1_000_000] {
            for ect in [Ecn::Ect0, Ecn::Ect1] {
                assert_eq!(after(at_1_ms, expected_bps, ect, 990), ect);
                assert_eq!(after(at_1_ms, expected_bps, ect, 1010), Ecn::Ce);
                assert_eq!(after(off, expected_bps, ect, 19_000), ect, "the threshold is off by default");
            }
            assert_eq!(after(at_1_ms, expected_bps, Ecn::NotEct, 1010), Ecn::NotEct);
            assert_eq!(after(of_l4s, expected_bps, Ecn::Ect1, 1010), Ecn::Ce);
            assert_eq!(after(of_l4s, expected_bps, Ecn::Ect0, 1010), Ecn::Ect0);
        }
    }
}
