//! FQ-CoDel: one queue per flow, deficit round robin between them, and CoDel on each.
//!
//! # What it does
//! FQ-CoDel hashes packets to one of `flows` queues and serves the queues in turn, `quantum` bytes
//! per round. A flow that has just become active is served before the flows that have been busy for
//! a round. Sparse flows (DNS, VoIP, the first packets of a web page) therefore hardly wait. CoDel
//! controls each queue. When the packet or memory limit is exceeded, the flow with the most bytes
//! loses packets from its head.
//!
//! # Reference
//! RFC 8290 (2018); Linux 7.3 and 6.1 `net/sched/sch_fq_codel.c`.
//!
//! # State
//! ```text
//!   enqueue -> hash -> flow (FIFO, deficit, CoDel vars)      new flows --,
//!                         |  on no list: deficit = quantum, to ---->     |  served first
//!                         |  deficit used up: + quantum, to -----> old flows
//!                         '- emptied: from new to old (once), from old to no list
//! ```
//!
//! # Parameters
//! | name | meaning | unit | default | source of the default | range |
//! |---|---|---|---|---|---|
//! | `limit` | packets that all queues together hold | packets | 10240p | RFC 8290 §5.2.3 | 1 to 16777216 |
//! | `flows` | number of queues; does not change while packets are queued | number | 1024 | RFC 8290 §5.2.5 | 1 to 65536 |
//! | `quantum` | bytes that a flow may send in a round | bytes | MTU (1514) | RFC 8290 §5.2.4 | 1 to 1073741824 |
//! | `target` | acceptable sojourn time of a standing queue | time | 5ms | RFC 8289 §4.2 | any; linux, linux61: at most 2199s; sensible: 5 to 10 % of interval, and at least the serialization time of one packet |
//! | `interval` | time within which the sojourn time must fall below target at least once | time | 100ms | RFC 8289 §4.3 | more than 0; linux: at most 2199s; linux61: 1024ns to 2199s; sensible: the longest expected round-trip time |
//! | `memory_limit` | bytes of memory that all queues together hold | bytes | 32mb | Linux sch_fq_codel | 1 or more |
//! | `truesize` | memory that each packet is charged, at least its length; 2304 for many network drivers, 1 to charge lengths | bytes | linux: as Linux allocates; others: the packet's length | Linux skb->truesize | 1 to 1073741824 |
//! | `ecn` | mark ECN-capable packets instead of dropping them | flag | ecn | RFC 8290 §5.2.6 | |
//! | `ce_threshold` | sojourn time above which every ECN-capable packet is marked | time | off | Linux sch_codel | any |
//! | `ce_threshold_selector` | packets that ce_threshold marks | `1/1` | every ECN-capable packet | Linux sch_fq_codel | 1/1: those of L4S, with ECT(1) or CE |
//! | `drop_batch` | most packets that the flow with the largest backlog loses at an overflow | number | 64; linux314: 1 | RFC 8290 §4.1 | 1 to 4294967295 |
//! | `recall` | drop count with which the next dropping phase starts | `a`, `b`, `c` | c | RFC 8289 §5.5; Linux | a: last count - 1, if the last phase ended less than 16 intervals ago; b: last count - 2, within 8 intervals; c: the drops that the last phase added, within 16 intervals |
//! | `startup` | state of a queue that has seen no packet | `zero`, `ns2` | zero | RFC 8289 §5.3; ns-2 codel.cc | zero: below target; ns2: above target for longer than an interval |
//! | `variant` | `linux`: Linux 7.3 sch_fq_codel, bit for bit. `rfc8290`: RFC 8290 with exact arithmetic. `linux61`: Linux 6.1 sch_fq_codel, bit for bit. `linux314`: Linux before 4.7, as in papers of that time; drop_batch is 1 | word | linux | | |
//!
//! # Deviations
//! * `rfc8290`: CoDel's condition "at most one MTU left" refers to the flow's own queue, because
//!   RFC 8290 §4.2 runs CoDel on each queue. `memory_limit` counts packet lengths, unless
//!   `truesize` is set.
//! * `linux`: the same condition refers to the whole discipline, as in the kernel. The control
//!   law is the kernel's. The packets of one overflow are reported in reverse order, as the
//!   kernel frees them. An arrival makes at most one batch of drops, even if the memory stays
//!   above its limit. Linux 7.3 counts packets of the host's own TCP connections as 0 bytes of
//!   memory; here they count as packets that are forwarded.
//! * `linux61`: as `linux`, with the control law of Linux 6.1, and with the memory that its
//!   allocator gives a packet.
//! * `linux314`: the control law is that of Linux 6.1. An overflow drops one packet, which CoDel
//!   does not count. Two other differences of Linux 3.14 are missing: the largest packet seen in
//!   place of the MTU, and an empty queue that keeps `first_above_time`. `memory_limit` exists,
//!   which Linux 3.14 does not have.
//! * All: a packet of no bytes is charged one byte, so that a flow of such packets cannot be
//!   served forever. The hash is the packet's own, with a salt. An overflow takes packets until
//!   half of the flow's bytes are gone, as in Linux; RFC 8290 §4.1 says half of its packets.
//!   `ce_threshold_selector` selects by ECT(1) only, and not by other values of the DS field.
//!
//! # Cost
//! Constant per packet, plus dropped packets. The first overflow of a series compares the backlogs
//! of all flows. After it, each change of a backlog costs up to `log2(flows)` comparisons, until
//! twice as many changes as flows have passed without an overflow. A dequeue visits each listed
//! flow at most a few times, however small the quantum is. Memory per flow: 56 bytes, a backlog and
//! a node of the tree of backlogs.
//!
//! # Example
//! ```
//! use goodqueue::config::{Configure, Link, Settings};
//! use goodqueue::fq_codel::FqCodelConfig;
//! let config = FqCodelConfig::from_settings(&Settings::new(), &Link::default()).unwrap();
//! assert_eq!(config.quantum(), 1514);
//! ```

use crate::codel::{
    CE_THRESHOLD, CE_THRESHOLD_SELECTOR, CE_THRESHOLD_SHOWN, CodelLaw, CodelParams, CodelTally, CodelVariant,
    CodelVars, Head, INTERVAL, INTERVAL_SHOWN, RECALL_RULES, STARTUP, Source, TARGET, TARGET_SHOWN,
};
use crate::config::{Build, ConfigError, Configure, Kind, Link, Settings, Value, Variant};
use crate::decision::{Evidence, Limit, Quantity, Question, Rule, rules};
use crate::flow_queue::{FlowAqm, FlowQueues, FlowState};
use crate::gauge::{Observation, Observe};
use crate::memory::{Buffers, TRUESIZE};
use crate::nesting::Inner;
use crate::packet::{Flow, Packet};
use crate::qdisc::{DropReason, Drops, Lookahead, Qdisc, Stats};
use crate::shown::{Show, Shown};
use crate::time::Instant;
use crate::typed::{in_variants, parameters};

/// The discipline `fq_codel`.
#[derive(Clone, Debug)]
pub struct FqCodel<P> {
    config: FqCodelConfig,
    law: CodelLaw,
    salt: u32,
    queues: FlowQueues<P, CodelVars>,
    /// A packet that the parent keeps counts against the limit.
    taken_ahead: bool,
    /// Packets that the queues may still accept: the rest of the limit.
    room: u64,
    /// Packets lost to the limits, and those of them lost while the one in bytes was exceeded.
    overflows: [u64; 2],
    now: Instant,
}

/// Configuration of [`FqCodel`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FqCodelConfig {
    limit: u32,
    flows: u32,
    quantum: u32,
    memory_limit: u64,
    buffers: Buffers,
    drop_batch: u32,
    params: CodelParams,
    variant: FqCodelVariant,
}

/// Whose FQ-CoDel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum FqCodelVariant {
    /// RFC 8290, with exact arithmetic.
    Rfc8290,
    /// Linux 7.3, bit for bit.
    Linux,
    /// Linux 6.1, bit for bit.
    Linux61,
    /// Linux before 4.7: an overflow takes one packet, of which CoDel knows nothing.
    Linux314,
}

const _: () = assert!(size_of::<FlowState<CodelVars>>() <= 64, "a thousand flows must stay in the cache");

impl FlowAqm for CodelVars {
    type Params = CodelLaw;

    #[inline]
    fn passes(&mut self, now: Instant, law: &CodelLaw, head: Head) -> bool {
        self.passes(now, law, head.at)
    }

    #[inline]
    fn emptied(&mut self, law: &CodelLaw) {
        self.emptied(law.below);
    }

    fn decide<S: Source>(&mut self, now: Instant, law: &CodelLaw, source: &mut S) -> bool {
        self.judge(now, &law.params, source)
    }

    /// RFC 8290 §4.1 leaves it open; Linux counts them as CoDel's own drops.
    fn overflowed(&mut self, drops: u32) {
        self.add_to_count(drops);
    }
}

impl FqCodelVariant {
    const ALL: [Self; 4] = [Self::Rfc8290, Self::Linux, Self::Linux61, Self::Linux314];

    const fn name(self) -> &'static str {
        match self {
            Self::Rfc8290 => "rfc8290",
            Self::Linux => "linux",
            Self::Linux61 => "linux61",
            Self::Linux314 => "linux314",
        }
    }

    const fn law(self) -> CodelVariant {
        match self {
            Self::Rfc8290 => CodelVariant::Rfc8289,
            Self::Linux => CodelVariant::Linux,
            Self::Linux61 | Self::Linux314 => CodelVariant::Linux61,
        }
    }

    /// The kernel's rules, whichever kernel's.
    const fn is_linux(self) -> bool {
        !matches!(self, Self::Rfc8290)
    }

    const fn buffers(self) -> Buffers {
        match self {
            Self::Rfc8290 => Buffers::Bare,
            Self::Linux => Buffers::Allocated,
            Self::Linux61 | Self::Linux314 => Buffers::Allocated61,
        }
    }

    /// An overflow takes one batch, also if that does not suffice. Linux 3.14 limits packets only,
    /// so its one drop always suffices.
    const fn takes_one_batch(self) -> bool {
        matches!(self, Self::Linux | Self::Linux61)
    }
}

impl FqCodelConfig {
    /// Bytes that a flow may send in a round.
    #[must_use]
    pub const fn quantum(&self) -> u32 {
        self.quantum
    }

    /// Number of queues.
    #[must_use]
    pub const fn flows(&self) -> u32 {
        self.flows
    }

    /// Parameters of every flow's CoDel.
    #[must_use]
    pub const fn params(&self) -> &CodelParams {
        &self.params
    }
}

impl Configure for FqCodelConfig {
    const KIND: Kind = Kind {
        name: "fq_codel",
        summary: "Flow queueing with CoDel: a queue per flow, sparse flows first, CoDel on each",
        reference: "RFC 8290",
        variants: &[
            Variant { name: "linux", doc: "Linux 7.3 sch_fq_codel, bit for bit" },
            Variant { name: "rfc8290", doc: "RFC 8290 with exact arithmetic" },
            Variant { name: "linux61", doc: "Linux 6.1 sch_fq_codel, bit for bit" },
            Variant { name: "linux314", doc: "Linux before 4.7, as in papers of that time; drop_batch is 1" },
        ],
        children: crate::config::Children::None,
        parameters: PARAMETERS,
    };
    const LIMIT_DROPS_NEXT: bool = true;

    fn from_checked(settings: &Settings, link: &Link) -> Result<Self, ConfigError> {
        let variant = settings.choice("variant").unwrap_or("linux");
        let variant = FqCodelVariant::ALL
            .into_iter()
            .find(|known| known.name() == variant)
            // Other names were refused before.
            .unwrap_or(FqCodelVariant::Linux);
        // The MTU of a link may be outside the range of the parameter.
        let quantum = QUANTUM.read_or(settings, link.mtu.clamp(1, MAX_QUANTUM))?;
        Ok(Self {
            limit: LIMIT.read(settings)?,
            flows: FLOWS.read(settings)?,
            // `fq_codel_change()` raises smaller values silently.
            quantum: if variant.is_linux() { quantum.max(LINUX_MIN_QUANTUM) } else { quantum },
            memory_limit: MEMORY_LIMIT.read(settings)?,
            buffers: Buffers::from_settings(settings, variant.buffers())?,
            drop_batch: DROP_BATCH.read(settings)?,
            params: CodelParams::from_settings(settings, link, ECN.read(settings)?, variant.law())?,
            variant,
        })
    }

    fn to_settings(&self) -> Settings {
        let shape =
            Settings::new().and(&LIMIT, self.limit).and(&FLOWS, self.flows).and(&QUANTUM, self.quantum);
        let shape = self.params.add_to_settings(shape).and(&MEMORY_LIMIT, self.memory_limit);
        self.buffers
            .add_to(shape)
            .and(&DROP_BATCH, self.drop_batch)
            .with("variant", Value::Choice(self.variant.name()))
    }

    /// Linux reads every parameter by itself.
    fn is_kept_by_change(_parameter: &str, _given: &Settings) -> bool {
        true
    }

    fn link(&self) -> Link {
        Link { mtu: self.params.mtu, ..Link::default() }
    }
}

impl Show for FqCodelConfig {
    const SHOWN: &'static [Shown] = &[
        Shown::Setting(LIMIT.name),
        Shown::Setting(FLOWS.name),
        Shown::Setting(QUANTUM.name),
        TARGET_SHOWN,
        CE_THRESHOLD_SHOWN,
        // iproute2 prints both numbers in hexadecimal.
        Shown::Computed(CE_THRESHOLD_SELECTOR.name, |all| {
            all.choice(CE_THRESHOLD_SELECTOR.name).map(|_| Value::Choice("0x1/0x1").into())
        }),
        INTERVAL_SHOWN,
        Shown::Setting(MEMORY_LIMIT.name),
        Shown::FlagIfOn(ECN.name),
        Shown::Setting(DROP_BATCH.name),
    ];
}

parameters! {
    PARAMETERS of [] FqCodelConfig;
    // `Pool` numbers its nodes in 32 bits and relies on a bound far below that.
    /// packets that all queues together hold
    LIMIT: packets "limit", with_limit { default: 10_240, range: 1..=16_777_216, source: "RFC 8290 §5.2.3" };
    // Linux refuses more queues (`fq_codel_change()`).
    /// number of queues; does not change while packets are queued
    FLOWS: integer "flows", with_flows { default: 1024, range: 1..=65_536, source: "RFC 8290 §5.2.5" };
    /// bytes that a flow may send in a round
    QUANTUM: bytes "quantum", with_quantum {
        derived: "MTU (1514)",
        range: 1..=1_073_741_824,
        source: "RFC 8290 §5.2.4",
    };
    TARGET: time, with_target;
    INTERVAL: time, with_interval;
    /// bytes of memory that all queues together hold
    MEMORY_LIMIT: bytes "memory_limit", with_memory_limit {
        default: 32 << 20,
        range: 1..=u64::MAX,
        source: "Linux sch_fq_codel",
    };
    TRUESIZE: bytes, with_truesize;
    /// mark ECN-capable packets instead of dropping them
    ECN: flag "ecn", with_ecn { default: true, off: "noecn", source: "RFC 8290 §5.2.6" };
    CE_THRESHOLD: time, with_ce_threshold;
    CE_THRESHOLD_SELECTOR: choice, with_ce_threshold_selector;
    /// most packets that the flow with the largest backlog loses at an overflow
    DROP_BATCH: integer "drop_batch", with_drop_batch {
        default: 64,
        of_variants: &[(&["linux314"], 1)],
        range: 1..=4_294_967_295,
        source: "RFC 8290 §4.1",
    };
    /// drop count with which the next dropping phase starts
    RECALL: choice "recall", with_recall {
        default: "c",
        words: &["a", "b", "c"],
        range_in_words: RECALL_RULES,
        source: "RFC 8289 §5.5; Linux",
    };
    STARTUP: choice, with_startup;
}

in_variants! { [] FqCodelConfig }

impl<P: Packet + Flow> FqCodel<P> {
    /// An empty queue; `salt` seeds the hash of flows.
    #[must_use]
    pub fn new(config: FqCodelConfig, salt: u32) -> Self {
        let aqm = CodelVars::starting(&config.params);
        Self {
            config,
            law: CodelLaw::from_params(config.params),
            salt,
            queues: FlowQueues::with_buffers(config.flows, aqm, config.buffers),
            taken_ahead: false,
            room: u64::from(config.limit),
            overflows: [0; 2],
            now: Instant::ZERO,
        }
    }

    // Twice in the machine code. In line where queueing needs no further call, so that the compiler
    // saves no registers; behind a call elsewhere (`is_ready`).
    #[inline(always)]
    fn admit(&mut self, now: Instant, packet: P, drops: &mut impl Drops<P>) {
        // Rule 1 of the contract: a time before the latest one counts as the latest.
        self.now = self.now.max(now);
        let index = self.queues.classify(&packet, self.salt);
        // The packet is queued first and the fattest flow pays: the new packet may belong to
        // another flow (RFC 8290 §4.1).
        self.queues.push(self.now, index, packet, self.config.quantum);
        if self.excess().is_some() {
            self.drop_excess(self.config.drop_batch, drops);
        }
    }

    #[inline(never)]
    fn admit_by_call(&mut self, now: Instant, packet: P, drops: &mut impl Drops<P>) {
        self.admit(now, packet, drops);
    }

    fn make_room(&mut self) {
        // Kept instead of computed, because every arrival compares with it.
        self.room = u64::from(self.config.limit).saturating_sub(u64::from(self.taken_ahead));
    }

    /// Why a packet must go, if one must.
    #[inline]
    fn excess(&self) -> Option<DropReason> {
        if self.queues.packets() > self.room {
            Some(DropReason::Overlimit)
        } else if self.queues.memory() > self.config.memory_limit {
            Some(DropReason::Overmemory)
        } else {
            None
        }
    }

    /// As in Linux, a lower limit drops the packets that the flows would send next.
    fn drop_what_is_next(&mut self, drops: &mut impl Drops<P>) {
        let FqCodelConfig { quantum, variant, .. } = self.config;
        while let Some(why) = self.excess() {
            // Linux `fq_codel_change()` calls its own dequeue, so CoDel may drop further packets on
            // the way.
            let next = self.queues.pop(self.now, quantum, &self.law, variant.is_linux(), drops);
            let Some(packet) = next else { break };
            self.queues.stats.dropped_after.add(packet.len());
            drops.dropped(packet, why);
        }
    }

    #[inline(never)]
    fn drop_excess(&mut self, batch: u32, drops: &mut impl Drops<P>) {
        let last_first = self.config.variant.is_linux();
        while let Some(why) = self.excess() {
            // As in Linux, the memory counter also counts drops for which the other limit is the
            // reason.
            let needs_memory = self.queues.memory() > self.config.memory_limit;
            // The kernel frees a batch from its last packet to its first.
            let (index, dropped) = self.queues.drop_from_fattest(batch, why, last_first, drops);
            let [all, of_memory] = &mut self.overflows;
            *all = all.wrapping_add(u64::from(dropped));
            if needs_memory {
                *of_memory = of_memory.wrapping_add(u64::from(dropped));
            }
            // Linux 3.14 dropped one packet here, and CoDel did not learn of it.
            if self.config.variant != FqCodelVariant::Linux314 {
                if let Some(codel) = self.queues.aqm_mut(index) {
                    codel.overflowed(dropped);
                }
            }
            // The next arrival takes another batch, so the kernel holds its lock for a bounded
            // time.
            if self.config.variant.takes_one_batch() {
                break;
            }
        }
    }
}

impl<P: Packet + Flow, R> Build<P, R> for FqCodel<P> {
    fn build(config: FqCodelConfig, salt: u32, _random: R) -> Self {
        Self::new(config, salt)
    }
}

impl<P: Packet + Flow> Qdisc<P> for FqCodel<P> {
    type Config = FqCodelConfig;

    #[inline]
    fn enqueue(&mut self, now: Instant, packet: P, drops: &mut impl Drops<P>) {
        if self.queues.is_ready() {
            self.admit(now, packet, drops);
        } else {
            self.admit_by_call(now, packet, drops);
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Instant, drops: &mut impl Drops<P>) -> Option<P> {
        self.now = self.now.max(now);
        let FqCodelConfig { quantum, variant, .. } = &self.config;
        self.queues.pop(self.now, *quantum, &self.law, variant.is_linux(), drops)
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
    fn reconfigure(&mut self, now: Instant, config: FqCodelConfig, drops: &mut impl Drops<P>) {
        self.now = self.now.max(now);
        self.queues.set_buffers(config.buffers);
        // Linux refuses to change the number of flows of an existing queue.
        if config.flows != self.config.flows && self.queues.is_empty() {
            self.queues.resize(config.flows, CodelVars::starting(&config.params));
            (self.config, self.law) = (config, CodelLaw::from_params(config.params));
            self.make_room();
            return;
        }
        // The variants keep time in different units.
        if config.params.variant != self.config.params.variant {
            for codel in self.queues.aqms() {
                *codel = CodelVars::starting(&config.params);
            }
        }
        self.config = FqCodelConfig { flows: self.config.flows, ..config };
        self.law = CodelLaw::from_params(config.params);
        self.make_room();
        self.drop_what_is_next(drops);
    }

    fn config(&self) -> FqCodelConfig {
        self.config
    }

    fn purge(&mut self, _now: Instant, drops: &mut impl Drops<P>) {
        let params = &self.config.params;
        self.queues.purge(|_| CodelVars::starting(params), drops);
    }
}

impl<P: Packet + Flow> Lookahead<P> for FqCodel<P> {
    const RULES: &'static [&'static [Rule]] =
        &[RULES, crate::codel::evidence::RULES, crate::flow_queue::evidence::RULES];

    fn set_taken_ahead(&mut self, _now: Instant, taken: bool) {
        self.taken_ahead = taken;
        self.make_room();
    }

    fn upcoming(&self) -> Option<&Option<P>> {
        self.queues.upcoming()
    }

    fn other_flow(&self, packet: &P) -> Option<&P> {
        self.queues.other_flow(packet, self.salt)
    }

    fn evidence(&self, question: &Question<'_, P>) -> Evidence {
        let mut evidence = Evidence::from_kind(FqCodelConfig::KIND.name);
        let about = &question.about;
        let FqCodelConfig { quantum, limit, memory_limit, drop_batch, .. } = self.config;
        let index = self.queues.classify(question.packet, self.salt);
        self.queues.observe(index, quantum, about, "RFC 8290 §4.1 and §4.2", &mut evidence);
        let whole = self.config.variant.is_linux();
        // Linux asks the whole discipline whether a packet is the last one, the RFC the flow's
        // queue.
        let held = if whole { self.queues.bytes() } else { self.queues.backlog(index) };
        let bytes = question.packet.len();
        let bytes_behind = held.saturating_sub(u64::from(bytes));
        let head = Head { at: about.arrived, bytes, bytes_behind };
        if let Some(codel) = self.queues.aqm(index) {
            codel.observe(&self.config.params, about, &head, crate::codel::evidence::DEQUEUE, &mut evidence);
        }
        let source = "RFC 8290 §4.1";
        let packets = Limit {
            held: Quantity::Packets(self.queues.packets()),
            allowed: Quantity::Packets(u64::from(limit)),
            rule: FULL,
            source,
        };
        let memory = Limit {
            held: Quantity::Bytes(self.queues.memory()),
            allowed: Quantity::Bytes(memory_limit),
            rule: FULL_MEMORY,
            source,
        };
        for (why, full) in [(DropReason::Overlimit, packets), (DropReason::Overmemory, memory)] {
            if let Some(applied) = evidence.limit(about, why, &full) {
                let fattest = self.queues.fattest_now();
                applied.numbers.extend([
                    ("fattest", Quantity::Number(u64::from(fattest.0))),
                    ("fattest_backlog", Quantity::Bytes(fattest.1)),
                    (DROP_BATCH.name, Quantity::Number(u64::from(drop_batch))),
                ]);
            }
        }
        evidence
    }
}

impl<P: Packet + Flow> Observe for FqCodel<P> {
    fn observe(&self, _now: Instant, seen: &mut Observation) {
        let CodelTally { max_packet, ecn_mark, ce_mark } = self.queues.tally;
        let [overflows, of_memory] = self.overflows;
        let (new, old) = self.queues.listed();
        seen.number("maxpacket", u64::from(max_packet));
        seen.number("drop_overlimit", overflows);
        seen.number("new_flow_count", self.queues.activations());
        seen.number("ecn_mark", ecn_mark);
        // tc prints this value, and those of memory, only if they are not 0.
        if ce_mark > 0 {
            seen.number("ce_mark", ce_mark);
        }
        if self.queues.memory() > 0 {
            seen.number("memory_used", self.queues.memory());
        }
        if of_memory > 0 {
            seen.number("drop_overmemory", of_memory);
        }
        seen.number("new_flows_len", new);
        seen.number("old_flows_len", old);
    }
}

impl<P: Packet + Flow> Inner<P> for FqCodel<P> {}

/// A deficit counts in 64 bits; this is beyond any packet.
const MAX_QUANTUM: u32 = 1 << 30;
/// Linux sch_fq_codel raises a smaller quantum to 256.
const LINUX_MIN_QUANTUM: u32 = 256;

rules! {
    /// Rules of FQ-CoDel, beside those of CoDel and of the scheduler.
    RULES;
    /// The queue with the most bytes loses packets when the limit is reached.
    FULL: "fq_codel.full" ["held", "allowed", "fattest", "fattest_backlog", DROP_BATCH.name];
    /// The same when the memory is used up.
    FULL_MEMORY: "fq_codel.full_memory" ["held", "allowed", "fattest", "fattest_backlog", DROP_BATCH.name];
}

#[cfg(test)]
mod tests;
