//! FQ-PIE: one queue per flow, deficit round robin between them, and PIE on each.
//!
//! # What it does
//! FQ-PIE schedules as `fq_codel` does. Packets are hashed to one of `flows` queues, which are
//! served in turn, `quantum` bytes per round, newly active flows first. A PIE controller per queue
//! decides about arriving packets by the delay and backlog of that queue. When the packet limit is
//! reached, the arriving packet is dropped, whichever flow it belongs to.
//!
//! # Reference
//! G. Ramakrishnan et al., "FQ-PIE Queue Discipline in the Linux Kernel", LCN 2019; tc-fq_pie(8);
//! behaviour of Linux 6.1 `net/sched/sch_fq_pie.c`.
//!
//! # State
//! ```text
//! arrival --> hash --> flow: PIE: drop? mark? --> FIFO --> deficit round robin, new flows first --> departure
//! every tupdate: each flow with packets, or whose PIE is not at rest, moves its drop probability
//! ```
//!
//! # Parameters
//! | name | meaning | unit | default | source of the default | range |
//! |---|---|---|---|---|---|
//! | `limit` | packets that all queues together hold | packets | 10240p | Linux sch_fq_pie | 1 to 16777216 |
//! | `flows` | number of queues; does not change while packets are queued | number | 1024 | Linux sch_fq_pie | 1 to 65536 |
//! | `target` | target queue delay of each flow | time | 15ms | RFC 8033 §4.2; Linux | 1ns to 4294967295us |
//! | `tupdate` | time between updates of the drop probabilities | time | 15ms | RFC 8033 §4.2; Linux | 1us to 4294967295us |
//! | `alpha` | gain on the distance from the target, in 1/16 per second | number | 2 | RFC 8033 §4.2 (0.125 per s); Linux | 0 to 32 |
//! | `beta` | gain on the change of the delay, in 1/16 per second | number | 20 | RFC 8033 §4.2 (1.25 per s); Linux | 0 to 32 |
//! | `quantum` | bytes that a flow may send in a round | bytes | MTU (1514) | Linux sch_fq_pie | 1 to 1048576; linux: raised to 256 |
//! | `memory_limit` | bytes of memory that all queues together hold; variant linux counts packets beyond it and keeps them | bytes | 32mb | Linux sch_fq_pie | 1 or more |
//! | `truesize` | memory that each packet is charged, at least its length; 2304 for many network drivers, 1 to charge lengths | bytes | linux: as Linux allocates; others: the packet's length | Linux skb->truesize | 1 to 1073741824 |
//! | `ecn_prob` | drop probability in per cent above which ECN-capable packets are dropped as well | number | 10 | Linux sch_fq_pie; RFC 8033 §5.1 | 0 to 100 |
//! | `ecn` | mark ECN-capable packets instead of dropping them, up to the probability ecn_prob | flag | noecn | Linux sch_fq_pie | |
//! | `bytemode` | scale the drop probability by packet length over MTU | flag | nobytemode | Linux sch_fq_pie | |
//! | `dq_rate_estimator` | derive the delay from the measured departure rate, not from timestamps | flag | no_dq_rate_estimator | Linux sch_fq_pie | |
//! | `variant` | `linux`: the PIE of Linux 6.1, bit for bit. `rfc8033`: the PIE of RFC 8033 in exact arithmetic | word | linux | | |
//!
//! # Deviations
//! `linux`: as in Linux 6.1, `memory_limit` drops nothing. Arrivals that exceed it only count as
//! `overmemory`. With more than 2048 flows, Linux updates the rest a few jiffies later; here all
//! flows are updated at once. `rfc8033`: `memory_limit` drops packets, and counts packet lengths
//! unless `truesize` is set. Both: a packet of no bytes is charged one byte. The deviations of
//! `pie` hold for the PIE of each flow.
//!
//! # Cost
//! Constant per packet. An update visits the flows that are not at rest, with at most 2048 missed
//! updates each. State per flow takes two cache lines, as in the kernel, because PIE's eight
//! variables need 64 bits each to decide as the kernel does.
//!
//! # Example
//! ```
//! use goodqueue::{Configure, Link, Settings, fq_pie::FqPieConfig};
//! let config = FqPieConfig::from_settings(&Settings::new(), &Link::default()).unwrap();
//! println!("{:?}", config.to_settings());
//! assert_eq!(config.quantum(), 1514);
//! ```

mod config;

pub use config::FqPieConfig;

use alloc::vec::Vec;

use crate::config::{Build, Configure as _};
use crate::decision::{Evidence, FULL, FULL_MEMORY, LIMITS, Limit, Quantity, Question, Rule};
use crate::flow_queue::{FlowQueues, FlowState};
use crate::gauge::{Observation, Observe};
use crate::nesting::Inner;
use crate::packet::{Flow, Packet};
use crate::pie::flow::{Arrival, PieFlow, updates_due};
use crate::pie::{self, PieVariant};
use crate::qdisc::{DropReason, Drops, Lookahead, Qdisc, Stats};
use crate::random::Random;
use crate::time::Instant;

const _: () = assert!(size_of::<FlowState<PieFlow>>() <= 128, "two lines of the cache per flow");

/// The discipline `fq_pie`.
#[derive(Clone, Debug)]
pub struct FqPie<P, R> {
    config: FqPieConfig,
    salt: u32,
    random: R,
    queues: FlowQueues<P, PieFlow>,
    /// Flows that an update can change.
    awake: Vec<u32>,
    /// When the probabilities are updated next; set by the first call.
    update_at: Option<Instant>,
    tally: pie::Tally,
    /// A packet that the parent keeps counts against the limit.
    taken_ahead: bool,
    now: Instant,
}

impl<P: Packet + Flow, R: Random> FqPie<P, R> {
    /// An empty queue; `salt` seeds the hash of flows, PIE draws from `random`.
    #[must_use]
    pub fn new(config: FqPieConfig, salt: u32, random: R) -> Self {
        Self {
            config,
            salt,
            random,
            queues: FlowQueues::with_buffers(config.flows, PieFlow::new(&config.pie), config.buffers),
            awake: Vec::new(),
            update_at: None,
            tally: pie::Tally::default(),
            taken_ahead: false,
            now: Instant::ZERO,
        }
    }

    /// Does the updates that are due at `now`. Every call of the queue does so by itself.
    #[inline]
    pub fn update(&mut self, now: Instant) {
        // Rule 1 of the contract: a time before the latest one counts as the latest.
        self.now = self.now.max(now);
        if self.update_at.is_none_or(|at| at <= self.now) {
            self.catch_up();
        }
    }

    // All packets between two updates only compare the clock.
    #[inline(never)]
    fn catch_up(&mut self) {
        let pie = &self.config.pie;
        let (due, next) = updates_due(pie, self.update_at, self.now);
        self.update_at = Some(next);
        if due == 0 {
            return;
        }
        let queues = &mut self.queues;
        // Linux updates all flows. An update leaves a flow at rest as it is, so only the others are
        // visited.
        self.awake.retain(|&index| {
            let backlog = queues.backlog(index);
            let Some(flow) = queues.aqm_mut(index) else { return false };
            flow.awake = flow.update(pie, backlog, due);
            flow.awake
        });
    }
}

impl<P: Packet, R> FqPie<P, R> {
    /// Returns true if there is no memory for an arriving packet that is charged `own`. Linux 6.1
    /// only counts such packets.
    #[inline]
    fn exceeds_memory(&mut self, own: u64) -> bool {
        let used = self.queues.memory();
        let limit = self.config.memory_limit;
        if self.config.pie.variant() == PieVariant::Linux {
            // Linux adds the packet to the limit, not to the memory in use.
            if used > limit.saturating_add(own) {
                self.tally.dropped(DropReason::Overmemory);
            }
            return false;
        }
        used.saturating_add(own) > limit
    }
}

impl<P: Packet + Flow, R: Random> Build<P, R> for FqPie<P, R> {
    fn build(config: FqPieConfig, salt: u32, random: R) -> Self {
        Self::new(config, salt, random)
    }
}

impl<P: Packet + Flow, R: Random> Qdisc<P> for FqPie<P, R> {
    type Config = FqPieConfig;

    fn enqueue(&mut self, now: Instant, mut packet: P, drops: &mut impl Drops<P>) {
        self.update(now);
        let bytes = packet.len();
        let memory = self.config.buffers.memory_of(&packet, bytes);
        let index = self.queues.classify(&packet, self.salt);
        let backlog = self.queues.backlog(index);
        let full = if self.queues.len() + usize::from(self.taken_ahead) >= self.config.limit as usize {
            Some(DropReason::Overlimit)
        } else if self.exceeds_memory(memory) {
            Some(DropReason::Overmemory)
        } else {
            None
        };
        let FqPieConfig { pie, ecn_percent, quantum, .. } = &self.config;
        let Some(flow) = self.queues.aqm_mut(index) else { return };
        let why = match full {
            Some(why) => {
                // Linux `fq_pie_qdisc_enqueue()` resets the sum of the flow at every drop.
                flow.vars.lost_one();
                Some(why)
            }
            None => match flow.arrives(pie, backlog, &mut packet, *ecn_percent, &mut self.random) {
                Arrival::Queued => None,
                Arrival::Marked { already } => {
                    self.tally.marked();
                    if !already {
                        self.queues.stats.marked.add(bytes);
                    }
                    None
                }
                Arrival::Dropped => Some(DropReason::Congested),
            },
        };
        if let Some(why) = why {
            self.tally.dropped(why);
            self.queues.stats.dropped_before.add(bytes);
            drops.dropped(packet, why);
            return;
        }
        if let Some(listed) = self.queues.aqm_mut(index).filter(|listed| !listed.awake) {
            listed.awake = true;
            self.awake.push(index);
        }
        self.queues.push_charged(self.now, index, packet, *quantum, memory);
    }

    fn dequeue(&mut self, now: Instant, drops: &mut impl Drops<P>) -> Option<P> {
        self.update(now);
        self.queues.pop(self.now, self.config.quantum, &self.config.pie, false, drops)
    }

    fn len(&self) -> usize {
        self.queues.len()
    }

    fn backlog(&self) -> u64 {
        self.queues.bytes()
    }

    fn stats(&self) -> Stats {
        self.queues.stats()
    }

    /// The number of flows does not change while packets are queued, because flows cannot be split
    /// or joined.
    fn reconfigure(&mut self, now: Instant, config: FqPieConfig, drops: &mut impl Drops<P>) {
        self.update(now);
        self.queues.set_buffers(config.buffers);
        let resize = config.flows != self.config.flows && self.queues.is_empty();
        let flows = if resize { config.flows } else { self.config.flows };
        let old = core::mem::replace(&mut self.config, FqPieConfig { flows, ..config });
        if resize {
            self.queues.resize(flows, PieFlow::new(&config.pie));
            self.awake.clear();
        } else if old.pie.variant() != config.pie.variant() {
            for flow in self.queues.aqms() {
                flow.vars = config.pie.fresh();
            }
        }
        // As in Linux, the packets that would be sent next are dropped, and the running timer is
        // kept. The memory limit applies to new packets.
        let room = (config.limit as usize).saturating_sub(usize::from(self.taken_ahead));
        while self.queues.len() > room {
            let next = self.queues.pop(self.now, config.quantum, &config.pie, false, drops);
            let Some(packet) = next else { break };
            self.queues.stats.dropped_after.add(packet.len());
            drops.dropped(packet, DropReason::Overlimit);
        }
    }

    fn config(&self) -> FqPieConfig {
        self.config
    }

    fn purge(&mut self, now: Instant, drops: &mut impl Drops<P>) {
        self.update(now);
        // Flows stay awake, because the probability that Linux keeps goes on fading.
        let pie = &self.config.pie;
        self.queues.purge(|flow| PieFlow { vars: pie.after_reset(&flow.vars), ..*flow }, drops);
    }
}

impl<P: Packet + Flow, R: Random> Lookahead<P> for FqPie<P, R> {
    const RULES: &'static [&'static [Rule]] =
        &[crate::flow_queue::evidence::RULES, pie::evidence::RULES, LIMITS];

    fn set_taken_ahead(&mut self, _now: Instant, taken: bool) {
        self.taken_ahead = taken;
    }

    fn upcoming(&self) -> Option<&Option<P>> {
        self.queues.upcoming()
    }

    fn other_flow(&self, packet: &P) -> Option<&P> {
        self.queues.other_flow(packet, self.salt)
    }

    fn evidence(&self, question: &Question<'_, P>) -> Evidence {
        let mut evidence = Evidence::from_kind(FqPieConfig::KIND.name);
        let about = &question.about;
        let FqPieConfig { pie, quantum, limit, memory_limit, .. } = &self.config;
        let index = self.queues.classify(question.packet, self.salt);
        self.queues.observe(
            index,
            *quantum,
            about,
            "RFC 8290 §4.1 and §4.2; Linux sch_fq_pie",
            &mut evidence,
        );
        let backlog = self.queues.backlog(index);
        if let Some(flow) = self.queues.aqm(index) {
            // The updates that the decision does first.
            let mut then = *flow;
            let (due, _) = updates_due(pie, self.update_at, about.now);
            if then.awake {
                then.update(pie, backlog, due);
            }
            then.vars.observe(pie, about, backlog, question.packet.len(), &mut evidence);
        }
        let held = self.queues.packets().saturating_add(u64::from(self.taken_ahead));
        let source = "Linux sch_fq_pie";
        let packets = Limit {
            held: Quantity::Packets(held),
            allowed: Quantity::Packets(u64::from(*limit)),
            rule: FULL,
            source,
        };
        evidence.limit(about, DropReason::Overlimit, &packets);
        let memory = Limit {
            held: Quantity::Bytes(self.queues.memory()),
            allowed: Quantity::Bytes(*memory_limit),
            rule: FULL_MEMORY,
            source,
        };
        evidence.limit(about, DropReason::Overmemory, &memory);
        evidence
    }
}

impl<P: Packet + Flow, R: Random> Observe for FqPie<P, R> {
    fn observe(&self, _now: Instant, seen: &mut Observation) {
        let (new, old) = self.queues.listed();
        self.tally.show(&self.queues.stats(), seen);
        seen.number("new_flow_count", self.queues.activations());
        seen.number("new_flows_len", new);
        seen.number("old_flows_len", old);
        seen.number("memory_used", self.queues.memory());
    }
}

impl<P: Packet + Flow> Inner<P> for FqPie<P, crate::random::Source> {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Configure, Link, Settings, Value};
    use crate::packet::Ecn;
    use crate::random::Xoshiro256PlusPlus;
    use crate::time::Duration;
    use alloc::vec;

    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    struct Of {
        flow: u32,
        ecn: Ecn,
    }

    impl Packet for Of {
        fn len(&self) -> u32 {
            1514
        }
        fn ecn(&self) -> Ecn {
            self.ecn
        }
        fn set_ce(&mut self) -> bool {
            let capable = self.ecn.is_capable();
            if capable {
                self.ecn = Ecn::Ce;
            }
            capable
        }
    }

    impl Flow for Of {
        fn flow_hash(&self, _salt: u32) -> u32 {
            0
        }
        fn class(&self) -> Option<u32> {
            Some(self.flow + 1)
        }
    }

    /// For 10 s, 12 Mbit/s of flow 0 and a packet of flow 1 every 20 ms, on a link of 10 Mbit/s.
    fn story(settings: &Settings, ecn: Ecn) -> ([u64; 2], u64) {
        let config = FqPieConfig::from_settings(settings, &Link::default()).expect("valid");
        let mut queue = FqPie::new(config, 0, Xoshiro256PlusPlus::new(1));
        let mut lost = [0; 2];
        let mut bulk = 0;
        let mut sparse = 0;
        let mut free = 0_u64;
        for step in 0..100_000_u64 {
            let now = Instant::from_nanos(step * 100_000);
            let mut drops = |packet: Of, _| lost[packet.flow as usize] += 1;
            if now.as_nanos() >= bulk {
                queue.enqueue(now, Of { flow: 0, ecn }, &mut drops);
                // 1514 bytes at 12 Mbit/s; below the same at 10 Mbit/s.
                bulk += 1_009_000;
            }
            if now.as_nanos() >= sparse {
                queue.enqueue(now, Of { flow: 1, ecn }, &mut drops);
                sparse += 20_000_000;
            }
            if now.as_nanos() >= free && queue.dequeue(now, &mut drops).is_some() {
                free = now.as_nanos() + 1_211_200;
            }
        }
        (lost, queue.stats().marked.packets)
    }

    #[test]
    fn the_flow_that_fills_the_link_loses_and_the_sparse_one_does_not() {
        for variant in ["linux", "rfc8033"] {
            let settings = Settings::new().with("variant", Value::Choice(variant));
            let (lost, marked) = story(&settings, Ecn::NotEct);
            // 12 + 0.6 Mbit/s are offered, 10 leave: 2.6 of 12 are too much.
            assert!(lost[0] > 1_000 && lost[1] == 0, "{variant}: {lost:?}");
            assert_eq!(marked, 0);
        }
    }

    #[test]
    fn with_ecn_packets_are_marked_up_to_ecn_prob() {
        let ecn = Settings::new().with("ecn", Value::Flag(true));
        let always = ecn.clone().with("ecn_prob", Value::Integer(100));
        let (lost, marked) = story(&always, Ecn::Ect0);
        assert!(marked > 1_000 && lost[1] == 0, "{lost:?} {marked}");
        let never = ecn.with("ecn_prob", Value::Integer(0));
        let (lost, marked) = story(&never, Ecn::Ect0);
        assert!(marked == 0 && lost[0] > 1_000, "{lost:?} {marked}");
    }

    #[test]
    fn at_the_limit_the_arriving_packet_goes_whose_ever_it_is() {
        let settings = Settings::new().with("limit", Value::Packets(3));
        let config = FqPieConfig::from_settings(&settings, &Link::default()).expect("valid");
        let mut queue = FqPie::new(config, 0, Xoshiro256PlusPlus::new(1));
        let mut lost = Vec::new();
        for flow in [0, 0, 0, 1] {
            let packet = Of { flow, ecn: Ecn::NotEct };
            queue.enqueue(Instant::ZERO, packet, &mut |packet: Of, why| lost.push((packet.flow, why)));
        }
        assert_eq!(lost, [(1, DropReason::Overlimit)]);
    }

    #[test]
    fn linux_only_counts_arrivals_beyond_the_memory_limit_which_holds_with_rfc8033() {
        let lost = |variant| {
            let settings = Settings::new()
                .with("variant", Value::Choice(variant))
                .with("memory_limit", Value::Bytes(3 * 1514));
            let config = FqPieConfig::from_settings(&settings, &Link::default()).expect("valid");
            let mut queue = FqPie::new(config, 0, Xoshiro256PlusPlus::new(1));
            let mut lost = Vec::new();
            for _ in 0..6 {
                let packet = Of { flow: 0, ecn: Ecn::NotEct };
                queue.enqueue(Instant::ZERO, packet, &mut |_, why| lost.push(why));
            }
            (lost, queue.tally, queue.queues.memory())
        };
        let (dropped, tally, memory) = lost("rfc8033");
        assert_eq!((dropped, memory), (vec![DropReason::Overmemory; 3], 3 * 1514));
        // Packets 4 to 6 find 6,912 bytes and more, beyond the limit of 4,542 and their own 2,304.
        let (dropped, counted, memory) = lost("linux");
        assert_eq!((dropped, counted, memory), (vec![], tally, 6 * 2304));
    }

    #[test]
    fn flows_at_rest_are_not_visited() {
        let config = FqPieConfig::from_settings(&Settings::new(), &Link::default()).expect("valid");
        let mut queue = FqPie::new(config, 0, Xoshiro256PlusPlus::new(1));
        for flow in 0..100 {
            queue.enqueue(Instant::ZERO, Of { flow, ecn: Ecn::NotEct }, &mut |_, _| ());
        }
        assert_eq!(queue.awake.len(), 100);
        while queue.dequeue(Instant::ZERO, &mut |_, _| ()).is_some() {}
        queue.update(Instant::ZERO + Duration::from_secs(60));
        assert_eq!(queue.awake.len(), 0);
    }
}
