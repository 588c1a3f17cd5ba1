//! Heavy-hitter filter: `hhf`.
//!
//! # What it does
//! Two queues: one for heavy hitters, which are flows that have sent much lately, and one for all
//! other flows. The other flows get a larger share of the link, and overtake the heavy hitters when
//! their queue was empty. A filter of four stages finds the heavy hitters without state per flow. A
//! full queue drops the oldest packet of a heavy hitter.
//!
//! # Reference
//! T. Lam, N. Dukkipati, "Heavy-Hitter Filter qdisc", Linux 3.14, 2013; C. Estan and G. Varghese,
//! "New Directions in Traffic Measurement and Accounting", SIGCOMM 2002; tc-hhf(8); behaviour of
//! Linux 6.1 `net/sched/sch_hhf.c`.
//!
//! # State
//! ```text
//! arrival -> in the table of heavy hitters? ------------------- yes -> heavy queue, weight 1
//!            | no                                                      ^
//!            four counters of bytes + length: all > admit_bytes? yes --+ and into the table
//!            | no: smaller counters are raised to the smallest sum
//!            '-> other queue, weight non_hh_weight; served first when it was empty
//! ```
//! The counters are cleared every `reset_timeout`. A flow leaves the table when it has sent nothing
//! for `evict_timeout`.
//!
//! # Parameters
//! | name | meaning | unit | default | source of the default | range |
//! |---|---|---|---|---|---|
//! | `limit` | packets that both queues together hold | packets | 1000p | Linux sch_hhf | 1 to 4294967295 |
//! | `quantum` | bytes that the queue of heavy hitters sends in its turn; raised to 256 | bytes | MTU (1514) | Linux sch_hhf | 1 to 2147483647; times `non_hh_weight` at most 2147483647 |
//! | `hh_limit` | heavy hitters that the table holds | number | 2048 | Linux sch_hhf | 1 to 2048 |
//! | `reset_timeout` | time after which the counters of the filter are cleared | time | 40ms | Linux sch_hhf | 1us to 4294967295us |
//! | `admit_bytes` | bytes that a flow may send until the counters are cleared; with more it is a heavy hitter | bytes | 131072 | Linux sch_hhf | 1 to 4294967295 |
//! | `evict_timeout` | time without a packet after which a flow is no heavy hitter any more | time | 1s | Linux sch_hhf | 1us to 4294967295us |
//! | `non_hh_weight` | share of the queue of all other flows, for each share of the heavy hitters | number | 2 | Linux sch_hhf | 1 to 8388607; times `quantum` at most 2147483647 |
//!
//! # Deviations
//! Flows are hashed by [`Flow::flow_hash`] with the salt; Linux uses siphash with a random key. As
//! in Linux, two flows with the same 32-bit hash are one flow. Times are in whole milliseconds,
//! rounded up, as in a Linux with 1000 clock ticks per second. The clock of `reset_timeout` starts
//! with the caller's clock. A packet of no bytes is charged one byte, so that a queue of such
//! packets cannot be served forever. Ages of flows are 64 bits wide; in Linux a flow that sent
//! nothing for 25 days is young again. As in Linux, packets of a flow may overtake each other when
//! the flow becomes a heavy hitter or ceases to be one, and a lower limit drops the packets that
//! would be sent next.
//!
//! # Cost
//! Four counters per packet, and a short list of heavy hitters; at most one drop per arrival. Every
//! `reset_timeout` one arrival clears 16 KiB of counters. 40 KiB of memory, and 16 bytes per heavy
//! hitter.
//!
//! # Example
//! ```
//! use goodqueue::{Configure, Link, Settings, config::Value, hhf::HhfConfig};
//! let settings = Settings::new().with("admit_bytes", Value::Bytes(64_000));
//! let config = HhfConfig::from_settings(&settings, &Link::default()).unwrap();
//! println!("{:?}", config.to_settings());
//! assert_eq!((config.admit_bytes(), config.quantum()), (64_000, 1514));
//! ```

mod filter;

use filter::{Filter, Finding, MOST_HITTERS, Tally, Thresholds};

use crate::config::{Build, Children, ConfigError, Configure, Kind, Link, Settings};
use crate::decision::{Evidence, Fate, Limit, Moment, Quantity, Question, Rule, rules};
use crate::gauge::{Observation, Observe};
use crate::nesting::Inner;
use crate::packet::{Flow, Packet};
use crate::qdisc::{DropReason, Drops, Lookahead, Qdisc, Stats};
use crate::queue::{Fifo, Turns};
use crate::shown::{Show, Shown};
use crate::time::{Duration, Instant};
use crate::typed::parameters;

/// A queue of heavy hitters and a queue of all other flows.
#[derive(Clone, Debug)]
pub struct Hhf<P> {
    config: HhfConfig,
    salt: u32,
    filter: Filter,
    /// The queues, by the numbers [`HEAVY`] and [`OTHERS`].
    queues: [WeightedQueue<P>; 2],
    /// The queue of [`OTHERS`] was empty when its last packets came, and is served first. Heavy
    /// hitters are never served first.
    others_first: bool,
    /// The queues that take turns.
    turns: Turns,
    /// A packet that the parent keeps counts against the limit.
    taken_ahead: bool,
    overflows: u64,
    /// Latest time seen (contract rule 1).
    now: Instant,
}

/// One of the two queues.
#[derive(Clone, Debug)]
struct WeightedQueue<P> {
    packets: Fifo<P>,
    /// Bytes that it may still send in its turn; may go below zero by one packet.
    deficit: i64,
    /// It is served first, or takes turns.
    listed: bool,
    /// Drops; the queue itself knows the rest.
    stats: Stats,
}

/// Configuration of [`Hhf`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HhfConfig {
    limit: u32,
    quantum: u32,
    thresholds: Thresholds,
    non_hh_weight: u32,
}

impl HhfConfig {
    /// Packets that both queues together hold.
    #[must_use]
    pub const fn limit(&self) -> u32 {
        self.limit
    }

    /// Bytes that the queue of heavy hitters sends in its turn.
    #[must_use]
    pub const fn quantum(&self) -> u32 {
        self.quantum
    }

    /// Bytes that a flow sends before it is a heavy hitter.
    #[must_use]
    pub const fn admit_bytes(&self) -> u32 {
        self.thresholds.admit_bytes
    }

    /// Bytes that a queue sends in its turn.
    const fn share(&self, queue: u32) -> i64 {
        let weight = if queue == HEAVY { 1 } else { self.non_hh_weight };
        // At most 2^31 - 1, which `from_checked` makes sure of.
        self.quantum as i64 * weight as i64
    }
}

impl Configure for HhfConfig {
    const KIND: Kind = KIND;
    const LIMIT_DROPS_NEXT: bool = true;

    fn from_checked(settings: &Settings, link: &Link) -> Result<Self, ConfigError> {
        // Linux `hhf_init()` and `hhf_change()`: the MTU within these bounds, a given quantum only
        // above the lower one.
        let quantum: u32 = QUANTUM.read_or(settings, link.mtu.clamp(LEAST_QUANTUM, MOST_DERIVED))?;
        let quantum = quantum.max(LEAST_QUANTUM);
        let non_hh_weight: u32 = NON_HH_WEIGHT.read(settings)?;
        let product = u64::from(quantum) * u64::from(non_hh_weight);
        if product > MOST_SHARE {
            let given = alloc::format!("{non_hh_weight}");
            let allowed =
                alloc::format!("1 to {} with a quantum of {quantum}", MOST_SHARE / u64::from(quantum));
            return Err(ConfigError::new(NON_HH_WEIGHT.name, given, allowed));
        }
        Ok(Self {
            limit: LIMIT.read(settings)?,
            quantum,
            thresholds: Thresholds {
                hh_limit: HH_LIMIT.read(settings)?,
                reset_timeout: jiffies(RESET_TIMEOUT.read(settings)?),
                admit_bytes: ADMIT_BYTES.read(settings)?,
                evict_timeout: jiffies(EVICT_TIMEOUT.read(settings)?),
            },
            non_hh_weight,
        })
    }

    fn to_settings(&self) -> Settings {
        let Thresholds { hh_limit, reset_timeout, admit_bytes, evict_timeout } = self.thresholds;
        Settings::new()
            .and(&LIMIT, self.limit)
            .and(&QUANTUM, self.quantum)
            .and(&HH_LIMIT, hh_limit)
            .and(&RESET_TIMEOUT, Duration::from_millis(reset_timeout))
            .and(&ADMIT_BYTES, admit_bytes)
            .and(&EVICT_TIMEOUT, Duration::from_millis(evict_timeout))
            .and(&NON_HH_WEIGHT, self.non_hh_weight)
    }

    /// Linux reads every parameter by itself.
    fn is_kept_by_change(_parameter: &str, _given: &Settings) -> bool {
        true
    }
}

impl Show for HhfConfig {
    const SHOWN: &'static [Shown] = &[
        Shown::Setting(LIMIT.name),
        Shown::Setting(QUANTUM.name),
        Shown::Setting(HH_LIMIT.name),
        Shown::Setting(RESET_TIMEOUT.name),
        Shown::Setting(ADMIT_BYTES.name),
        Shown::Setting(EVICT_TIMEOUT.name),
        Shown::Setting(NON_HH_WEIGHT.name),
    ];
}

/// Returns a time in jiffies of 1 ms, rounded up as Linux `usecs_to_jiffies()` does. tc takes whole
/// microseconds.
const fn jiffies(span: Duration) -> u64 {
    (span.as_nanos() / 1_000).div_ceil(1_000)
}

parameters! {
    PARAMETERS of [] HhfConfig;
    /// packets that both queues together hold
    LIMIT: packets "limit", with_limit { default: 1000, range: 1..=4_294_967_295, source: "Linux sch_hhf" };
    /// bytes that the queue of heavy hitters sends in its turn; raised to 256
    QUANTUM: bytes "quantum", with_quantum {
        derived: "MTU (1514)",
        range: 1..=2_147_483_647,
        condition: "times `non_hh_weight` at most 2147483647",
        source: "Linux sch_hhf",
    };
    /// heavy hitters that the table holds
    HH_LIMIT: integer "hh_limit", with_hh_limit {
        default: MOST_HITTERS,
        range: 1..=MOST_HITTERS,
        source: "Linux sch_hhf",
    };
    /// time after which the counters of the filter are cleared
    RESET_TIMEOUT: time "reset_timeout", with_reset_timeout {
        default: Duration::from_millis(40),
        range: SHORTEST..=LONGEST,
        source: "Linux sch_hhf",
    };
    /// bytes that a flow may send until the counters are cleared; with more it is a heavy hitter
    ADMIT_BYTES: bytes "admit_bytes", with_admit_bytes {
        default: 131_072,
        range: 1..=4_294_967_295,
        source: "Linux sch_hhf",
    };
    /// time without a packet after which a flow is no heavy hitter any more
    EVICT_TIMEOUT: time "evict_timeout", with_evict_timeout {
        default: Duration::from_secs(1),
        range: SHORTEST..=LONGEST,
        source: "Linux sch_hhf",
    };
    /// share of the queue of all other flows, for each share of the heavy hitters
    NON_HH_WEIGHT: integer "non_hh_weight", with_non_hh_weight {
        default: 2,
        range: 1..=8_388_607,
        condition: "times `quantum` at most 2147483647",
        source: "Linux sch_hhf",
    };
}

impl<P: Packet> WeightedQueue<P> {
    fn new() -> Self {
        Self { packets: Fifo::default(), deficit: 0, listed: false, stats: Stats::default() }
    }

    fn drop_oldest(&mut self, why: DropReason, drops: &mut impl Drops<P>) {
        let Some(oldest) = self.packets.pop_front() else { return };
        self.stats.dropped_after.add(oldest.packet.len());
        drops.dropped(oldest.packet, why);
    }
}

impl<P: Packet + Flow> Hhf<P> {
    /// Empty queues. Flows are hashed with `salt`.
    #[must_use]
    pub fn new(config: HhfConfig, salt: u32) -> Self {
        Self {
            config,
            salt,
            filter: Filter::new(0),
            queues: [WeightedQueue::new(), WeightedQueue::new()],
            others_first: false,
            turns: Turns::with_room_for(2),
            taken_ahead: false,
            overflows: 0,
            now: Instant::ZERO,
        }
    }

    const fn jiffies(&self) -> u64 {
        self.now.as_nanos() / 1_000_000
    }

    fn queue(&self, number: u32) -> &WeightedQueue<P> {
        let [heavy, others] = &self.queues;
        if number == HEAVY { heavy } else { others }
    }

    fn queue_mut(&mut self, number: u32) -> &mut WeightedQueue<P> {
        let [heavy, others] = &mut self.queues;
        if number == HEAVY { heavy } else { others }
    }

    /// Packets that count against the limit.
    fn held(&self) -> u64 {
        self.len() as u64 + u64::from(self.taken_ahead)
    }

    fn is_over_limit(&self) -> bool {
        self.held() > u64::from(self.config.limit)
    }

    /// Returns the queue that is served, which has packets and may send.
    fn queue_in_turn(&mut self) -> Option<u32> {
        loop {
            let is_first = self.others_first;
            let number = if is_first { OTHERS } else { self.turns.first()? };
            let share = self.config.share(number);
            let queue = self.queue_mut(number);
            if queue.deficit <= 0 {
                queue.deficit = queue.deficit.saturating_add(share);
                let is_short = queue.deficit <= 0;
                self.end_turn();
                self.turns.push(number);
                if is_short && !is_first {
                    self.skip_fruitless_rounds();
                }
            } else if !queue.packets.is_empty() {
                return Some(number);
            } else {
                let is_alone = self.turns.is_empty();
                self.end_turn();
                // It takes a turn with the other one before it may be served first again, or a
                // queue of few packets could starve the other one.
                if is_first && !is_alone {
                    self.turns.push(number);
                } else {
                    self.queue_mut(number).listed = false;
                }
            }
        }
    }

    /// Takes the queue in turn off its list.
    const fn end_turn(&mut self) {
        if self.others_first {
            self.others_first = false;
        } else {
            self.turns.advance();
        }
    }

    /// A packet of many shares would take as many rounds. The rounds in which no queue may send are
    /// skipped at once.
    #[cold]
    fn skip_fruitless_rounds(&mut self) {
        let fruitless = |number| -self.queue(number).deficit.min(0) / self.config.share(number);
        let rounds = self.turns.iter().map(fruitless).min().unwrap_or(0);
        for number in [HEAVY, OTHERS] {
            let share = self.config.share(number);
            let queue = self.queue_mut(number);
            // Both are listed, or one is and the other gets a new deficit when it is listed.
            queue.deficit = queue.deficit.saturating_add(rounds.saturating_mul(share));
        }
    }

    /// Takes the next packet, and its queue.
    fn take(&mut self) -> Option<(u32, P)> {
        let number = self.queue_in_turn()?;
        let queue = self.queue_mut(number);
        let packet = queue.packets.pop_front()?.packet;
        queue.deficit = queue.deficit.saturating_sub(i64::from(packet.len().max(1)));
        Some((number, packet))
    }

    /// Drops the packets that would be sent next, while `goes_on`.
    fn drop_next(&mut self, why: DropReason, goes_on: fn(&Self) -> bool, drops: &mut impl Drops<P>) {
        while goes_on(self) {
            let Some((number, packet)) = self.take() else { break };
            self.queue_mut(number).stats.dropped_after.add(packet.len());
            drops.dropped(packet, why);
        }
    }
}

impl<P: Packet + Flow, R> Build<P, R> for Hhf<P> {
    fn build(config: HhfConfig, salt: u32, _random: R) -> Self {
        Self::new(config, salt)
    }
}

impl<P: Packet + Flow> Qdisc<P> for Hhf<P> {
    type Config = HhfConfig;

    fn enqueue(&mut self, now: Instant, packet: P, drops: &mut impl Drops<P>) {
        self.now = self.now.max(now);
        let clock = self.now;
        let hash = packet.flow_hash(self.salt);
        let now_in_jiffies = self.jiffies();
        let finding = self.filter.classify(now_in_jiffies, hash, packet.len(), &self.config.thresholds);
        let number = if finding.is_heavy() { HEAVY } else { OTHERS };
        let share = self.config.share(number);
        let queue = self.queue_mut(number);
        queue.packets.push_back(clock, packet);
        if !queue.listed {
            queue.listed = true;
            queue.deficit = share;
            if number == HEAVY {
                self.turns.push(number);
            } else {
                self.others_first = true;
            }
        }
        if self.is_over_limit() {
            self.overflows = self.overflows.wrapping_add(1);
            let victim = if self.queue(HEAVY).packets.is_empty() { OTHERS } else { HEAVY };
            self.queue_mut(victim).drop_oldest(DropReason::Overlimit, drops);
        }
    }

    fn dequeue(&mut self, now: Instant, _drops: &mut impl Drops<P>) -> Option<P> {
        self.now = self.now.max(now);
        self.take().map(|taken| taken.1)
    }

    fn len(&self) -> usize {
        self.queues.iter().map(|queue| queue.packets.len()).sum()
    }

    fn backlog(&self) -> u64 {
        self.queues.iter().map(|queue| queue.packets.bytes()).sum()
    }

    fn stats(&self) -> Stats {
        let each = self.queues.iter().map(|queue| queue.packets.complete(queue.stats));
        each.fold(Stats::default(), |sum, stats| sum.plus(&stats))
    }

    fn reconfigure(&mut self, now: Instant, config: HhfConfig, drops: &mut impl Drops<P>) {
        self.now = self.now.max(now);
        self.config = config;
        self.drop_next(DropReason::Overlimit, Self::is_over_limit, drops);
    }

    fn config(&self) -> HhfConfig {
        self.config
    }

    fn purge(&mut self, now: Instant, drops: &mut impl Drops<P>) {
        self.now = self.now.max(now);
        self.drop_next(DropReason::Purged, |_| true, drops);
        let now_in_jiffies = self.jiffies();
        self.filter.clear(now_in_jiffies);
    }
}

impl<P: Packet + Flow> Lookahead<P> for Hhf<P> {
    const RULES: &'static [&'static [Rule]] = &[RULES];

    fn set_taken_ahead(&mut self, _now: Instant, taken: bool) {
        self.taken_ahead = taken;
    }

    fn evidence(&self, question: &Question<'_, P>) -> Evidence {
        let mut evidence = Evidence::from_kind(KIND.name);
        let about = &question.about;
        let bytes = question.packet.len();
        let hash = question.packet.flow_hash(self.salt);
        let thresholds = &self.config.thresholds;
        let heavy = self.queue(HEAVY);
        let others = self.queue(OTHERS);
        let packets = |queue: &WeightedQueue<P>| Quantity::Packets(queue.packets.len() as u64);
        let deficit = |queue: &WeightedQueue<P>| Quantity::Credit(queue.deficit);
        evidence.fact("heavy_packets", packets(heavy), "packets of heavy hitters");
        evidence.fact("other_packets", packets(others), "packets of all other flows");
        evidence.fact("heavy_deficit", deficit(heavy), "bytes that the heavy hitters may still send");
        evidence.fact("other_deficit", deficit(others), "bytes that the other flows may still send");
        let hitters = Quantity::Number(u64::from(self.filter.tally.entries));
        evidence.fact("heavy_hitters", hitters, "flows in the table of heavy hitters");
        let admit = Quantity::Bytes(u64::from(thresholds.admit_bytes));
        evidence.given(ADMIT_BYTES.name, admit, "bytes that a flow sends before it is a heavy hitter");
        if about.moment == Moment::Arrival {
            let now = about.now.as_nanos() / 1_000_000;
            let (rule, smallest) = match self.filter.preview(now, hash, bytes, thresholds) {
                Finding::Known => (KNOWN, 0),
                Finding::Added { smallest } => (ADDED, smallest),
                Finding::Refused { smallest } => (REFUSED, smallest),
                Finding::Small { smallest } => (SMALL, smallest),
            };
            evidence.rule(rule, SOURCE, &[("smallest", Quantity::Bytes(u64::from(smallest)))]);
        }
        if about.moment == Moment::Departure && about.is_end() && !matches!(about.fate, Fate::Dropped(_)) {
            let weight = Quantity::Number(u64::from(self.config.non_hh_weight));
            let is_first = self.others_first && others.deficit > 0 && !others.packets.is_empty();
            let rule = if is_first { FIRST } else { TURN };
            evidence.rule(rule, SOURCE, &[(NON_HH_WEIGHT.name, weight)]);
        }
        let allowed = Quantity::Packets(u64::from(self.config.limit));
        let whole = Limit { held: Quantity::Packets(self.held()), allowed, rule: FULL, source: SOURCE };
        evidence.limit(about, DropReason::Overlimit, &whole);
        evidence
    }
}

impl<P: Packet + Flow> Observe for Hhf<P> {
    fn observe(&self, _now: Instant, seen: &mut Observation) {
        let Tally { refused, added, entries } = self.filter.tally;
        seen.number("drop_overlimit", self.overflows);
        seen.number("hh_overlimit", refused);
        seen.number("tot_hh", added);
        seen.number("cur_hh", u64::from(entries));
    }
}

impl<P: Packet + Flow> Inner<P> for Hhf<P> {}

/// Source of the rules in stories.
const SOURCE: &str = "tc-hhf(8), DESCRIPTION";

const KIND: Kind = Kind {
    name: "hhf",
    summary: "Heavy-hitter filter: flows that send much wait in a queue of less weight than all others",
    reference: "Lam and Dukkipati 2013; Estan and Varghese 2002; tc-hhf(8)",
    variants: &[],
    children: Children::None,
    parameters: PARAMETERS,
};

/// Numbers of the queues.
const HEAVY: u32 = 0;
const OTHERS: u32 = 1;
/// Linux sch_hhf raises a smaller quantum to 256.
const LEAST_QUANTUM: u32 = 256;
/// Linux `hhf_init()` limits the quantum that follows from the MTU.
const MOST_DERIVED: u32 = 1 << 20;
/// Linux `hhf_change()` refuses a share that does not fit in 31 bits.
const MOST_SHARE: u64 = i32::MAX as u64;
/// tc takes a time of 0 for one that is not given.
const SHORTEST: Duration = Duration::from_micros(1);
/// tc counts microseconds in 32 bits.
const LONGEST: Duration = Duration::from_micros(4_294_967_295);

rules! {
    /// Rules of the heavy-hitter filter.
    RULES;
    /// The flow is in the table of heavy hitters.
    KNOWN: "hhf.known" [];
    /// All counters of the flow exceed the threshold, and the table has room.
    ADDED: "hhf.added" ["smallest", ADMIT_BYTES.name];
    /// All counters of the flow exceed the threshold, and the table is full.
    REFUSED: "hhf.refused" [];
    /// A counter of the flow does not exceed the threshold.
    SMALL: "hhf.small" ["smallest", ADMIT_BYTES.name];
    /// The queue of the other flows was empty and is served first.
    FIRST: "hhf.first" [];
    /// The queues take turns by their weights.
    TURN: "hhf.turn" [NON_HH_WEIGHT.name];
    /// The queue is full, and the heavy hitters lose a packet.
    FULL: "hhf.full" ["held", "allowed"];
}

#[cfg(test)]
mod tests;
