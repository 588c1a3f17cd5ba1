//! SFQ-CoDel: CoDel in each bin of a stochastic fair queue, as Nichols wrote it for ns-2.
//!
//! # What it does
//! SFQ-CoDel hashes packets to bins and serves the bins in turn, one packet each (or `quantum`
//! bytes). CoDel controls each bin. A bin that becomes active is served before the bins that have
//! been served already, and after other new bins.
//!
//! # Reference
//! K. Nichols, ns-2 `queue/sfqcodel.cc`, 2012, and its version for CableLabs of January 2013; used
//! by Järvinen & Kojo, LCN 2014.
//!
//! # State
//! ```text
//! arrival --> hash --> bin: FIFO, CoDel     round: sched -> bin -> bin -> ... -> sched
//! a bin not in the round joins in front of the first bin that is not new, or at the end if all bins are new
//! ```
//!
//! # Parameters
//! | name | meaning | unit | default | source of the default | range |
//! |---|---|---|---|---|---|
//! | `limit` | packets that all bins together hold | packets | 1000p | ours; ns-2's scripts set it | 1 to 16777216 |
//! | `flows` | number of bins; does not change while packets are queued | number | 1024 | ns-2 sfqcodel | 1 to 65536 |
//! | `quantum` | bytes that a bin sends per turn; 0: one packet | bytes | 0 | ns-2 sfqcodel | 0 to 1073741824; variant cablelabs |
//! | `target` | acceptable sojourn time of a standing queue | time | 5ms | RFC 8289 §4.2 | any; linux, linux61: at most 2199s; sensible: 5 to 10 % of interval, and at least the serialization time of one packet |
//! | `interval` | time within which the sojourn time must fall below target at least once | time | 100ms | RFC 8289 §4.3 | more than 0; linux: at most 2199s; linux61: 1024ns to 2199s; sensible: the longest expected round-trip time |
//! | `recall` | drop count with which the next dropping phase starts | `a`, `b`, `c` | b | ns-2 sfqcodel.cc | a: last count - 1, if the last phase ended less than 16 intervals ago; b: last count - 2, within 8 intervals; c: the drops that the last phase added, within 16 intervals |
//! | `ns2_init_quirk` | drop the first packet of a bin if it waited for longer than target | flag | off | on in ns-2 sfqcodel | |
//! | `variant` | `ns2`: Nichols' ns-2 code of 2012; one packet per turn, and a full queue drops arrivals. `cablelabs`: Nichols' ns-2 code of 2013 for CableLabs; byte quanta, and a full queue drops the newest packet of the longest bin | word | ns2 | | |
//!
//! # Deviations
//! `ns2`: none known, except the hash, which is the packet's own. As in ns-2, a full queue drops
//! the arriving packet. With `ns2_init_quirk` the first packet served from a bin is dropped if it
//! waited for `target`, as in ns-2, where `first_above_time` starts at -1. Without it a bin starts
//! below target. The largest packet is the largest that any bin has seen. A drop that empties a bin
//! keeps its `first_above_time`.
//!
//! `cablelabs`: an overflow drops the newest packet of the bin with the most packets before the
//! arrival is queued. Of several such bins the last one loses a packet, except the bin that lost
//! the previous one. The last packet of a bin is never dropped. A bin that leaves the round stops
//! dropping, and a bin that exceeds the target again waits for a whole `interval`.
//!
//! Both: a packet of no bytes is charged one byte.
//!
//! # Cost
//! 64 bytes per bin. Constant per packet, plus dropped packets. A bin that becomes active passes
//! the new bins one by one, at most `flows`. A dequeue visits each bin at most a few times: rounds
//! in which no bin may send are skipped at once.
//!
//! # Example
//! ```
//! use goodqueue::{Configure, Link, Settings, config::Value, sfq_codel::SfqCodelConfig};
//! let config = SfqCodelConfig::from_settings(&Settings::new(), &Link::default()).unwrap();
//! println!("{:?}", config.to_settings());
//! assert_eq!(config.to_settings().get("quantum"), Some(Value::Bytes(0)), "packet by packet");
//! ```

use crate::bins::{Behind, Bin, Bins, FLOWS, LIMIT};
use crate::codel::{
    CodelParams, CodelVariant, CodelVars, INTERVAL, RECALL_RULES, Recall, Source, Startup, TARGET,
};
use crate::config::{Build, ConfigError, Configure, Kind, Link, Settings, Value, Variant};
use crate::decision::{Evidence, FULL, LIMITS, Limit, Quantity, Question, Rule, rules};
use crate::flow_queue::FlowAqm;
use crate::gauge::{Observation, Observe};
use crate::head::Head;
use crate::nesting::Inner;
use crate::packet::{Flow, Packet};
use crate::qdisc::{DropReason, Drops, Lookahead, Qdisc, Stats};
use crate::shown::Show;
use crate::time::Instant;
use crate::typed::{in_variants, parameters};

const _: () = assert!(size_of::<Bin<BinCodel>>() <= 64, "a thousand bins must stay in the cache");

/// CoDel in a bin. All bins share the size of the largest packet.
#[derive(Clone, Copy, Debug)]
struct BinCodel(CodelVars);

impl FlowAqm for BinCodel {
    type Params = CodelParams;

    fn know_largest(&mut self, bytes: u32) {
        self.0.know_largest(bytes);
    }

    fn decide<S: Source>(&mut self, now: Instant, law: &CodelParams, source: &mut S) -> bool {
        self.0.judge_bin(now, law, source)
    }

    fn emptied(&mut self, law: &CodelParams) {
        // A bin that leaves the round keeps its phase in the code of 2012.
        if law.variant == CodelVariant::Ns2CableLabs {
            self.0.stop();
        }
    }
}

/// The discipline `sfq_codel`.
#[derive(Clone, Debug)]
pub struct SfqCodel<P> {
    config: SfqCodelConfig,
    salt: u32,
    bins: Bins<P, BinCodel>,
    /// Packets lost to the limit.
    overflows: u64,
    now: Instant,
}

/// Configuration of [`SfqCodel`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SfqCodelConfig {
    limit: u32,
    flows: u32,
    quantum: u32,
    params: CodelParams,
    quirk: bool,
}

impl SfqCodelConfig {
    fn fresh(&self) -> BinCodel {
        BinCodel(CodelVars::starting(&self.params))
    }

    fn cablelabs(&self) -> bool {
        self.params.variant == CodelVariant::Ns2CableLabs
    }
}

impl Configure for SfqCodelConfig {
    const KIND: Kind = Kind {
        name: "sfq_codel",
        summary: "Stochastic fairness with CoDel in each bin, as in ns-2",
        reference: "ns-2 sfqcodel.cc (Nichols 2012)",
        children: crate::config::Children::None,
        variants: &[
            Variant {
                name: "ns2",
                doc: "Nichols' ns-2 code of 2012; one packet per turn, and a full queue drops arrivals",
            },
            Variant {
                name: "cablelabs",
                doc: "Nichols' ns-2 code of 2013 for CableLabs; byte quanta, and a full queue drops the newest packet of the longest bin",
            },
        ],
        parameters: PARAMETERS,
    };

    fn from_checked(settings: &Settings, link: &Link) -> Result<Self, ConfigError> {
        let cablelabs = settings.choice("variant") == Some("cablelabs");
        let quantum = QUANTUM.read(settings)?;
        // The code of 2012 sends one packet per turn. Byte quanta came with the code for CableLabs.
        if quantum > 0 && !cablelabs {
            return Err(ConfigError::new(
                QUANTUM.name,
                alloc::format!("{quantum}"),
                "0 but with variant cablelabs",
            ));
        }
        let quirk: bool = NS2_INIT_QUIRK.read(settings)?;
        let variant = if cablelabs { CodelVariant::Ns2CableLabs } else { CodelVariant::Ns2 };
        let mut params = CodelParams::from_settings(settings, link, false, variant)?;
        params.startup = quirk.then_some(Startup::Ns2);
        // Set although it is the default of the law: without it the law also scales large counts,
        // as `codel.cc` does and `sfqcodel.cc` does not.
        params.recall = params.recall.or(Some(Recall::B));
        Ok(Self { limit: LIMIT.read(settings)?, flows: FLOWS.read(settings)?, quantum, params, quirk })
    }

    fn to_settings(&self) -> Settings {
        Settings::new()
            .and(&LIMIT, self.limit)
            .and(&FLOWS, self.flows)
            .and(&QUANTUM, self.quantum)
            .and(&TARGET, self.params.target)
            .and(&INTERVAL, self.params.interval)
            .and(&RECALL, self.params.recall())
            .and(&NS2_INIT_QUIRK, self.quirk)
            .with("variant", Value::Choice(if self.cablelabs() { "cablelabs" } else { "ns2" }))
    }

    fn link(&self) -> Link {
        Link { mtu: self.params.mtu, ..Link::default() }
    }
}

impl Show for SfqCodelConfig {}

parameters! {
    PARAMETERS of [] SfqCodelConfig;
    LIMIT: packets, with_limit;
    FLOWS: integer, with_flows;
    /// bytes that a bin sends per turn; 0: one packet
    QUANTUM: bytes "quantum", with_quantum {
        default: 0,
        range: 0..=1_073_741_824,
        condition: "variant cablelabs",
        source: "ns-2 sfqcodel",
    };
    TARGET: time, with_target;
    INTERVAL: time, with_interval;
    /// drop count with which the next dropping phase starts
    RECALL: choice "recall", with_recall {
        default: "b",
        words: &["a", "b", "c"],
        range_in_words: RECALL_RULES,
        source: "ns-2 sfqcodel.cc",
    };
    /// drop the first packet of a bin if it waited for longer than target
    NS2_INIT_QUIRK: flag "ns2_init_quirk", with_ns2_init_quirk {
        default: false,
        source: "on in ns-2 sfqcodel",
    };
}

in_variants! { [] SfqCodelConfig }

impl<P: Packet + Flow> SfqCodel<P> {
    /// An empty queue; `salt` seeds the hash of flows.
    #[must_use]
    pub fn new(config: SfqCodelConfig, salt: u32) -> Self {
        Self { config, salt, bins: Bins::new(config.flows, config.fresh()), overflows: 0, now: Instant::ZERO }
    }
}

impl<P: Packet + Flow, R> Build<P, R> for SfqCodel<P> {
    fn build(config: SfqCodelConfig, salt: u32, _random: R) -> Self {
        Self::new(config, salt)
    }
}

impl<P: Packet + Flow> Qdisc<P> for SfqCodel<P> {
    type Config = SfqCodelConfig;

    #[inline]
    fn enqueue(&mut self, now: Instant, packet: P, drops: &mut impl Drops<P>) {
        // Rule 1 of the contract: a time before the latest one counts as the latest.
        self.now = self.now.max(now);
        if self.bins.len() >= self.config.limit as usize {
            self.overflows = self.overflows.wrapping_add(1);
            if !self.config.cablelabs() {
                self.bins.stats.dropped_before.add(packet.len());
                drops.dropped(packet, DropReason::Overlimit);
                return;
            }
            self.bins.drop_from_another_longest(DropReason::Overlimit, drops);
        }
        let index = self.bins.classify(&packet, self.salt);
        self.bins.push(self.now, index, packet, self.config.quantum);
    }

    #[inline]
    fn dequeue(&mut self, now: Instant, drops: &mut impl Drops<P>) -> Option<P> {
        self.now = self.now.max(now);
        // Both codes compare the bytes of all bins with one packet. That for CableLabs also spares
        // the last packet of a bin.
        let behind = if self.config.cablelabs() { Behind::AllIfAnyInBin } else { Behind::All };
        self.bins.pop(self.now, self.config.quantum, &self.config.params, behind, drops)
    }

    fn len(&self) -> usize {
        self.bins.len()
    }

    fn backlog(&self) -> u64 {
        self.bins.bytes()
    }

    fn stats(&self) -> Stats {
        self.bins.stats()
    }

    /// The number of bins does not change while packets are queued.
    fn reconfigure(&mut self, now: Instant, config: SfqCodelConfig, drops: &mut impl Drops<P>) {
        self.now = self.now.max(now);
        if config.flows != self.config.flows && self.bins.len() == 0 {
            self.bins.resize(config.flows, config.fresh());
            self.config = config;
            return;
        }
        self.config = SfqCodelConfig { flows: self.config.flows, ..config };
        while self.bins.len() > self.config.limit as usize
            && self.bins.drop_from_longest(DropReason::Overlimit, drops)
        {}
    }

    fn config(&self) -> SfqCodelConfig {
        self.config
    }

    fn purge(&mut self, now: Instant, drops: &mut impl Drops<P>) {
        self.now = self.now.max(now);
        self.bins.purge(self.config.fresh(), drops);
    }
}

impl<P: Packet + Flow> Lookahead<P> for SfqCodel<P> {
    const RULES: &'static [&'static [Rule]] = &[RULES, crate::codel::evidence::RULES, LIMITS];

    fn other_flow(&self, packet: &P) -> Option<&P> {
        self.bins.other_flow(packet, self.salt)
    }

    fn evidence(&self, question: &Question<'_, P>) -> Evidence {
        let mut evidence = Evidence::from_kind(SfqCodelConfig::KIND.name);
        let about = &question.about;
        let index = self.bins.classify(question.packet, self.salt);
        self.bins.observe(index, &mut evidence);
        let behind = if self.config.cablelabs() { Behind::AllIfAnyInBin } else { Behind::All };
        let bytes = question.packet.len();
        if let Some((codel, bytes_behind)) = self.bins.aqm_of(index, behind, bytes) {
            let head = Head { at: about.arrived, bytes, bytes_behind };
            let source = "ns-2 sfqcodel.cc; RFC 8289 §5.5";
            codel.0.observe(&self.config.params, about, &head, source, &mut evidence);
        }
        let limit = Limit {
            held: Quantity::Packets(self.bins.len() as u64),
            allowed: Quantity::Packets(u64::from(self.config.limit)),
            rule: if self.config.cablelabs() { FULL_LONGEST } else { FULL },
            source: "ns-2 sfqcodel.cc",
        };
        evidence.limit(about, DropReason::Overlimit, &limit);
        evidence
    }
}

impl<P: Packet + Flow> Observe for SfqCodel<P> {
    fn observe(&self, _now: Instant, seen: &mut Observation) {
        seen.number("maxpacket", u64::from(self.bins.tally.max_packet));
        seen.number("drop_overlimit", self.overflows);
        seen.number("bins_active", self.bins.active());
    }
}

impl<P: Packet + Flow> Inner<P> for SfqCodel<P> {}

rules! {
    /// Rules of the bins, beside those of CoDel.
    RULES;
    /// The bin with the most packets loses its newest packet.
    FULL_LONGEST: "sfq_codel.full_longest" ["held", "allowed"];
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Ecn;
    use crate::time::Duration;
    use alloc::vec::Vec;

    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    struct Of(u32, u32);

    impl Packet for Of {
        fn len(&self) -> u32 {
            self.1
        }
        fn ecn(&self) -> Ecn {
            Ecn::NotEct
        }
        fn set_ce(&mut self) -> bool {
            false
        }
    }

    impl Flow for Of {
        fn flow_hash(&self, _salt: u32) -> u32 {
            0
        }
        fn class(&self) -> Option<u32> {
            Some(self.0 + 1)
        }
    }

    fn queue(settings: &Settings) -> SfqCodel<Of> {
        SfqCodel::new(SfqCodelConfig::from_settings(settings, &Link::default()).expect("valid"), 0)
    }

    fn put(queue: &mut SfqCodel<Of>, flows: &[u32]) -> Vec<u32> {
        let mut lost = Vec::new();
        for flow in flows {
            queue.enqueue(Instant::ZERO, Of(*flow, 1000), &mut |packet: Of, _| lost.push(packet.0));
        }
        lost
    }

    fn order(queue: &mut SfqCodel<Of>, count: usize) -> Vec<u32> {
        (0..count)
            .filter_map(|_| queue.dequeue(Instant::ZERO, &mut |_, _| ()))
            .map(|packet| packet.0)
            .collect()
    }

    #[test]
    fn two_bins_alternate_packet_by_packet() {
        let mut queue = queue(&Settings::new());
        put(&mut queue, &[0, 0, 0, 1, 1, 1]);
        assert_eq!(order(&mut queue, 6), [0, 1, 0, 1, 0, 1]);
    }

    #[test]
    fn a_new_flow_goes_ahead_of_three_old_ones_but_not_of_a_single_one() {
        let mut three = queue(&Settings::new());
        put(&mut three, &[0, 0, 0, 1, 1, 1, 2, 2, 2]);
        order(&mut three, 3);
        put(&mut three, &[9]);
        assert_eq!(order(&mut three, 2), [9, 0]);
        let mut one = queue(&Settings::new());
        put(&mut one, &[0, 0, 0]);
        order(&mut one, 1);
        put(&mut one, &[9]);
        assert_eq!(order(&mut one, 2), [0, 9]);
    }

    #[test]
    fn no_drop_while_the_whole_queue_is_no_more_than_a_packet() {
        let mut queue = queue(&Settings::new());
        for n in 0..1_000_u64 {
            let now = Instant::ZERO + Duration::from_millis(n * 20);
            queue.enqueue(now, Of(0, 1000), &mut |_, _| ());
            let late = now + Duration::from_millis(15);
            assert!(queue.dequeue(late, &mut |_, _| panic!("nothing is to be dropped")).is_some());
        }
    }

    #[test]
    fn when_full_ns2_drops_arrivals_and_cablelabs_the_longest_bins_youngest() {
        let settings = Settings::new().with("limit", Value::Packets(4));
        assert_eq!(put(&mut queue(&settings), &[0, 0, 0, 1, 2]), [2]);
        let later = settings.with("variant", Value::Choice("cablelabs"));
        assert_eq!(put(&mut queue(&later), &[0, 0, 0, 1, 2]), [0]);
        assert_eq!(put(&mut queue(&later), &[0, 0, 1, 1, 2]), [1], "of equals the last");
        assert_eq!(put(&mut queue(&later), &[0, 0, 1, 1, 1, 1]), [1, 0], "but another than last time");
    }

    #[test]
    fn ns2_drops_the_first_packet_of_a_bin_that_is_late_from_the_start() {
        for (quirk, expected) in [(true, 1), (false, 0)] {
            let mut queue = queue(&Settings::new().with("ns2_init_quirk", Value::Flag(quirk)));
            put(&mut queue, &[0, 0, 0, 0]);
            let mut lost = 0;
            // Later than the target of 5 ms.
            queue.dequeue(Instant::ZERO + Duration::from_millis(6), &mut |_, _| lost += 1);
            assert_eq!(lost, expected, "{quirk}");
        }
    }

    #[test]
    fn cablelabs_never_drops_the_last_packet_of_a_bin() {
        for (variant, expected) in [("ns2", 1), ("cablelabs", 0)] {
            let settings = Settings::new()
                .with("ns2_init_quirk", Value::Flag(true))
                .with("variant", Value::Choice(variant));
            let mut queue = queue(&settings);
            put(&mut queue, &[0, 1, 1, 1]);
            let mut lost = Vec::new();
            let late = Instant::ZERO + Duration::from_millis(6);
            queue.dequeue(late, &mut |packet: Of, _| lost.push(packet.0));
            assert_eq!(lost.iter().filter(|flow| **flow == 0).count(), expected, "{variant}");
        }
    }

    #[test]
    fn packets_of_many_quanta_are_not_waited_for_round_by_round() {
        let settings =
            Settings::new().with("variant", Value::Choice("cablelabs")).with("quantum", Value::Bytes(1));
        let mut queue = queue(&settings);
        for flow in [0, 1, 0, 1] {
            queue.enqueue(Instant::ZERO, Of(flow, u32::MAX), &mut |_, _| ());
        }
        assert_eq!(order(&mut queue, 4), [0, 1, 0, 1]);
    }

    #[test]
    fn what_was_sent_packet_by_packet_is_not_owed_once_there_is_a_quantum() {
        let mut queue = queue(&Settings::new().with("variant", Value::Choice("cablelabs")));
        put(&mut queue, &[0; 20]);
        put(&mut queue, &[1; 5]);
        order(&mut queue, 12);
        let settings =
            Settings::new().with("variant", Value::Choice("cablelabs")).with("quantum", Value::Bytes(1000));
        let config = SfqCodelConfig::from_settings(&settings, &Link::default()).expect("valid");
        queue.reconfigure(Instant::ZERO, config, &mut |_, _| ());
        put(&mut queue, &[1; 4]);
        let next = order(&mut queue, 6);
        assert_eq!(next.iter().filter(|flow| **flow == 1).count(), 3, "{next:?}");
    }

    #[test]
    fn with_a_quantum_shares_are_of_bytes() {
        let settings = Settings::new()
            .with("variant", Value::Choice("cablelabs"))
            .with("quantum", Value::Bytes(1514))
            .with("limit", Value::Packets(100_000));
        let mut queue = queue(&settings);
        for _ in 0..3_000 {
            queue.enqueue(Instant::ZERO, Of(0, 1500), &mut |_, _| ());
            queue.enqueue(Instant::ZERO, Of(1, 500), &mut |_, _| ());
        }
        let mut bytes = [0_u32; 2];
        for _ in 0..2_000 {
            let packet = queue.dequeue(Instant::ZERO, &mut |_, _| ()).expect("backlogged");
            bytes[packet.0 as usize] += packet.1;
        }
        // Backlogged bins of deficit round robin differ by at most a quantum and a packet.
        assert!(bytes[0].abs_diff(bytes[1]) <= 1514 + 1500, "{bytes:?}");
    }
}
