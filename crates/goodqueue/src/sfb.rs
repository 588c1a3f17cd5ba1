//! Stochastic fair BLUE: `sfb`.
//!
//! # What it does
//! One FIFO, and eight levels of sixteen bins, each with its own BLUE drop probability. A flow is
//! hashed to one bin per level. A bin with too many queued packets raises its probability, and a
//! bin without packets lowers it. A packet is dropped or marked with the smallest probability of
//! its eight bins, so only a flow whose bins are congested at every level suffers. A flow whose
//! probability reaches 1 is unresponsive and gets a small fixed rate. The hash function changes
//! periodically; the new bins learn before they are used.
//!
//! # Reference
//! W. Feng, D. Kandlur, D. Saha and K. Shin, "Stochastic Fair Blue: A Queue Management Algorithm
//! for Enforcing Fairness", INFOCOM 2001; behaviour of Linux 6.1 `net/sched/sch_sfb.c` and of
//! iproute2's `sfb`; tc-sfb(8).
//!
//! # State
//! ```text
//! bins[2][8][16]: packets queued, probability (1 = 65535)     hashes of each packet: one per set of bins
//! arrival: every bin of the flow: empty: p -= decrement;  target or more: p += increment
//!          min packets >= max: drop;  min p = 1: penalty box;  random < min p: mark; above 1/2, drop increasingly often
//! ```
//!
//! # Parameters
//! | name | meaning | unit | default | source of the default | range |
//! |---|---|---|---|---|---|
//! | `rehash` | time between changes of the hash, in milliseconds | number | 600000 | tc | 0 to 4294967295; 0: never |
//! | `db` | time for which the next set of bins learns beside the set in use (double buffering), in milliseconds | number | 60000 | tc | 0 to 4294967295 |
//! | `limit` | packets that the queue holds | packets | 1000p | Linux sch_sfb: txqueuelen of Ethernet | 1 to 4294967295 |
//! | `max` | packets that one flow may have queued | packets | (5 target + 1) / 4; 25p | tc | 1 to 4294967295 |
//! | `target` | bin length above which the bin's drop probability rises | packets | (4 max + 3) / 5 | tc | 1 to 4294967295 |
//! | `increment` | increase of a bin's probability when a packet arrives at a long bin | fraction, 0 to 1 | 0.0005 | tc | 0 to 1 |
//! | `decrement` | decrease of a bin's probability when a packet arrives at an empty bin | fraction, 0 to 1 | 0.00005 | tc | 0 to 1 |
//! | `penalty_rate` | packets per second that all unresponsive flows together may send | number | 10 | tc | 0 to 4294967295 |
//! | `penalty_burst` | burst that unresponsive flows may send, in packets | packets | 20p | tc | 0 to 4294967295 |
//!
//! # Deviations
//! As in Linux, the penalty box refills by the time since its last refusal. A flow that sends more
//! often than `penalty_rate` therefore gets its burst and then nothing.
//!
//! Flows are hashed by [`Flow::flow_hash`]; Linux uses siphash with a random key. Both salts are
//! derived from the given salt, without random draws. As in Linux, `reconfigure` drops queued
//! packets and empties the bins. The clock of `rehash` starts with the caller's clock. A packet
//! that arrives with CE is not counted as marked.
//!
//! # Cost
//! Eight bins per packet, sixteen while two sets are in use; at most one drop per call. 1 KiB of
//! bins, and 8 bytes per packet.
//!
//! # Example
//! ```
//! use goodqueue::{Configure, Link, Settings, config::Value, sfb::SfbConfig};
//! let settings = Settings::new().with("target", Value::Packets(10));
//! let config = SfbConfig::from_settings(&settings, &Link::default()).unwrap();
//! println!("{:?}", config.to_settings());
//! assert_eq!(config.max(), 12);
//! ```

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use crate::config::{Build, Children, ConfigError, Configure, Kind, Link, Settings, Value};
use crate::decision::{Evidence, FULL, Fate, LIMITS, Limit, Moment, Quantity, Question, Rule, rules};
use crate::gauge::{Observation, Observe};
use crate::nesting::Inner;
use crate::packet::{Ecn, Flow, Packet};
use crate::qdisc::{DropReason, Drops, Lookahead, Qdisc, Stats};
use crate::queue::Fifo;
use crate::random::{Random, mix_64};
use crate::shown::{self, Printed, Show, Shown};
use crate::time::Instant;
use crate::typed::parameters;

/// A queue under stochastic fair BLUE.
#[derive(Clone, Debug)]
pub struct Sfb<P, R> {
    config: SfbConfig,
    random: R,
    queue: Fifo<P>,
    /// Of each packet queued, its hash in each set of bins; 0: not counted there.
    hashes: VecDeque<[u32; 2]>,
    bins: Box<[[Bin; LEVELS * BINS]; 2]>,
    salts: [u32; 2],
    /// Salts made so far.
    generation: u64,
    /// The set in use.
    slot: usize,
    double_buffering: bool,
    /// In jiffies of 1 ms, as Linux counts.
    rehashed_at: u64,
    tokens: u64,
    tokens_at: u64,
    /// Latest time seen (contract rule 1).
    now: Instant,
    /// Counters except those that the queue keeps.
    stats: Stats,
    tally: Tally,
}

/// What Linux counts for `tc -s` beside the packets.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Tally {
    early: u64,
    penalty: u64,
    bucket: u64,
    queue: u64,
    marked: u64,
}

/// One BLUE.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Bin {
    packets: u16,
    probability: u16,
}

/// Configuration of [`Sfb`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SfbConfig {
    rehash: u32,
    warmup: u32,
    limit: u32,
    max: u32,
    target: u32,
    increment: u16,
    decrement: u16,
    penalty_rate: u32,
    penalty_burst: u32,
}

/// The answer of a flow's bins.
#[derive(Clone, Copy, Debug)]
struct Verdict {
    fewest: u16,
    probability: u16,
}

impl Bin {
    /// Learns from an arrival.
    #[inline]
    const fn learn(&mut self, config: &SfbConfig) {
        if self.packets == 0 {
            self.probability = self.probability.saturating_sub(config.decrement);
        } else if self.packets as u32 >= config.target {
            self.probability = self.probability.saturating_add(config.increment);
        }
    }
}

impl SfbConfig {
    /// Packets that the queue holds.
    #[must_use]
    pub const fn limit(&self) -> u32 {
        self.limit
    }

    /// Packets of one flow that the queue holds.
    #[must_use]
    pub const fn max(&self) -> u32 {
        self.max
    }

    /// Packets of a bin from which on its probability rises.
    #[must_use]
    pub const fn target(&self) -> u32 {
        self.target
    }
}

impl Configure for SfbConfig {
    const KIND: Kind = KIND;

    fn from_checked(settings: &Settings, _link: &Link) -> Result<Self, ConfigError> {
        let given_target: Option<u32> = TARGET.given(settings)?;
        // tc derives one of `max` and `target` from the other: the target is about four fifths.
        let five_fourths = |n: u32| u32::try_from((u64::from(n) * 5 + 1) / 4).unwrap_or(u32::MAX);
        let max = MAX.read_or(settings, given_target.map_or(25, five_fourths))?;
        let four_fifths = u32::try_from((u64::from(max) * 4 + 3) / 5).unwrap_or(u32::MAX);
        Ok(Self {
            rehash: REHASH.read(settings)?,
            warmup: DB.read(settings)?,
            limit: LIMIT.read(settings)?,
            max,
            target: given_target.unwrap_or(four_fifths),
            increment: sixteen_bits(INCREMENT.read(settings)?),
            decrement: sixteen_bits(DECREMENT.read(settings)?),
            penalty_rate: PENALTY_RATE.read(settings)?,
            penalty_burst: PENALTY_BURST.read(settings)?,
        })
    }

    fn to_settings(&self) -> Settings {
        let fraction = |units: u16| f64::from(units) / 65_535.0;
        Settings::new()
            .and(&REHASH, self.rehash)
            .and(&DB, self.warmup)
            .and(&LIMIT, self.limit)
            .and(&MAX, self.max)
            .and(&TARGET, self.target)
            .and(&INCREMENT, fraction(self.increment))
            .and(&DECREMENT, fraction(self.decrement))
            .and(&PENALTY_RATE, self.penalty_rate)
            .and(&PENALTY_BURST, self.penalty_burst)
    }
}

impl Show for SfbConfig {
    const SHOWN: &'static [Shown] = &[
        Shown::Computed(REHASH.name, |settings| micros(settings, REHASH.name)),
        Shown::Computed(DB.name, |settings| micros(settings, DB.name)),
        Shown::Setting(LIMIT.name),
        Shown::Setting(MAX.name),
        Shown::Setting(TARGET.name),
        Shown::Setting(INCREMENT.name),
        Shown::Setting(DECREMENT.name),
        Shown::Setting(PENALTY_RATE.name),
        Shown::Setting(PENALTY_BURST.name),
    ];
}

/// tc takes these times in milliseconds and prints them in microseconds.
fn micros(settings: &Settings, name: &str) -> Option<Printed> {
    Some(Value::Integer(shown::number(settings, name).saturating_mul(1_000)).into())
}

parameters! {
    PARAMETERS of [] SfbConfig;
    /// time between changes of the hash, in milliseconds
    REHASH: integer "rehash", with_rehash {
        default: 600_000,
        range: 0..=4_294_967_295,
        condition: "0: never",
        source: "tc",
    };
    /// time for which the next set of bins learns beside the set in use (double buffering), in
    /// milliseconds
    DB: integer "db", with_db { default: 60_000, range: 0..=4_294_967_295, source: "tc" };
    /// packets that the queue holds
    LIMIT: packets "limit", with_limit {
        default: 1000,
        range: 1..=4_294_967_295,
        source: "Linux sch_sfb: txqueuelen of Ethernet",
    };
    /// packets that one flow may have queued
    MAX: packets "max", with_max {
        derived: "(5 target + 1) / 4; 25p",
        range: 1..=4_294_967_295,
        source: "tc",
    };
    /// bin length above which the bin's drop probability rises
    TARGET: packets "target", with_target {
        derived: "(4 max + 3) / 5",
        range: 1..=4_294_967_295,
        source: "tc",
    };
    // tc sends 1/2000 and, for the decrement, 1/20000. The kernel's own defaults, 1/1000 and
    // 1/6000, apply only without tc.
    /// increase of a bin's probability when a packet arrives at a long bin
    INCREMENT: probability "increment", with_increment { default: 0.0005, range: 0.0..=1.0, source: "tc" };
    /// decrease of a bin's probability when a packet arrives at an empty bin
    DECREMENT: probability "decrement", with_decrement { default: 0.00005, range: 0.0..=1.0, source: "tc" };
    /// packets per second that all unresponsive flows together may send
    PENALTY_RATE: integer "penalty_rate", with_penalty_rate {
        default: 10,
        range: 0..=4_294_967_295,
        source: "tc",
    };
    /// burst that unresponsive flows may send, in packets
    PENALTY_BURST: packets "penalty_burst", with_penalty_burst {
        default: 20,
        range: 0..=4_294_967_295,
        source: "tc",
    };
}

/// A fraction from 0 to 1 in units of 1/65535, rounded as tc does.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 65535.5")]
fn sixteen_bits(fraction: f64) -> u16 {
    (fraction * 65_535.0 + 0.5) as u16
}

/// The places of a hash in a set of bins: four bits per level.
fn places(hash: u32) -> impl Iterator<Item = usize> {
    (0..LEVELS).map(move |level| level * BINS + (hash >> (4 * level)) as usize % BINS)
}

impl<P: Packet + Flow, R: Random> Sfb<P, R> {
    /// An empty queue. Flows are hashed with `salt` and with salts that follow from it; drops are
    /// drawn from `random`.
    #[must_use]
    pub fn new(config: SfbConfig, salt: u32, random: R) -> Self {
        Self {
            config,
            random,
            queue: Fifo::default(),
            hashes: VecDeque::new(),
            bins: Box::new([[Bin::default(); LEVELS * BINS]; 2]),
            salts: [salt, next_salt(salt, 1)],
            generation: 1,
            slot: 0,
            double_buffering: false,
            rehashed_at: 0,
            tokens: u64::from(config.penalty_burst),
            tokens_at: 0,
            now: Instant::ZERO,
            stats: Stats::default(),
            tally: Tally::default(),
        }
    }

    /// The probability with which a packet of the flow of `packet` would be dropped or marked.
    #[must_use]
    pub fn probability(&self, packet: &P) -> f64 {
        let hash = self.hash(packet, self.slot);
        let bins = self.bins.get(self.slot);
        let of = |place| bins.and_then(|bins| bins.get(place)).map_or(0, |bin: &Bin| bin.probability);
        f64::from(places(hash).map(of).min().unwrap_or(0)) / 65_535.0
    }

    /// Never 0: that means "not counted".
    fn hash(&self, packet: &P, slot: usize) -> u32 {
        packet.flow_hash(self.salts.get(slot).copied().unwrap_or(0)).max(1)
    }

    const fn jiffies(&self) -> u64 {
        self.now.as_nanos() / 1_000_000
    }

    fn rehash(&mut self) {
        let now = self.jiffies();
        let interval = u64::from(self.config.rehash);
        if interval == 0 {
            return;
        }
        let due = self.rehashed_at.saturating_add(interval);
        let warmup = u64::from(self.config.warmup);
        // Strictly after, as Linux's `time_after()`.
        if now > due {
            self.generation = self.generation.wrapping_add(1);
            if let Some(salt) = self.salts.get_mut(self.slot) {
                *salt = next_salt(*salt, self.generation);
            }
            self.slot ^= 1;
            self.double_buffering = false;
            self.rehashed_at = now;
        } else if warmup > 0 && now > due.saturating_sub(warmup) {
            self.double_buffering = true;
        }
    }

    /// Lets the bins of a flow learn from an arrival.
    fn learn(&mut self, slot: usize, hash: u32) -> Verdict {
        let mut verdict = Verdict { fewest: u16::MAX, probability: u16::MAX };
        let Some(bins) = self.bins.get_mut(slot) else { return verdict };
        for place in places(hash) {
            let Some(bin) = bins.get_mut(place) else { continue };
            bin.learn(&self.config);
            verdict.fewest = verdict.fewest.min(bin.packets);
            verdict.probability = verdict.probability.min(bin.probability);
        }
        verdict
    }

    /// Counts a packet in its bins, or no longer.
    fn count(&mut self, hashes: [u32; 2], change: fn(u16) -> u16) {
        for (bins, hash) in self.bins.iter_mut().zip(hashes) {
            if hash == 0 {
                continue;
            }
            for place in places(hash) {
                if let Some(bin) = bins.get_mut(place) {
                    bin.packets = change(bin.packets);
                }
            }
        }
    }

    /// Whether the penalty box is full.
    fn is_punished(&mut self) -> bool {
        let rate = u64::from(self.config.penalty_rate);
        let burst = u64::from(self.config.penalty_burst);
        // As in `sfb_rate_limit()`, a rate or a burst of 0 lets no packet of such flows pass.
        if rate == 0 || burst == 0 {
            return true;
        }
        // Linux `sfb_rate_limit()` adds tokens only when none is left, for at most 10 s at once.
        if self.tokens == 0 {
            let now = self.jiffies();
            let age = now.saturating_sub(self.tokens_at).min(10_000);
            self.tokens = (age * rate / 1_000).min(burst);
            self.tokens_at = now;
        }
        let spent = self.tokens == 0;
        self.tokens = self.tokens.saturating_sub(1);
        spent
    }

    /// The hashes under which the packet is to be counted, and whether it was marked; or why it is
    /// dropped.
    fn admit(&mut self, packet: &mut P) -> Result<([u32; 2], bool), DropReason> {
        if self.queue.len() >= self.config.limit as usize {
            self.tally.queue = self.tally.queue.wrapping_add(1);
            return Err(DropReason::Overlimit);
        }
        // As in Linux, the packet whose arrival triggers the change still uses the old bins.
        let slot = self.slot;
        let other = self.slot ^ 1;
        self.rehash();
        let hash = self.hash(packet, slot);
        let verdict = self.learn(slot, hash);
        if u32::from(verdict.fewest) >= self.config.max {
            self.tally.bucket = self.tally.bucket.wrapping_add(1);
            return Err(DropReason::FlowLimit);
        }
        let pair = |own: u32, next: u32| if slot == 0 { [own, next] } else { [next, own] };
        if verdict.probability == u16::MAX {
            let mut next = 0;
            // Only flows at probability 1 teach the next set, as in Linux `sfb_enqueue()`.
            if self.double_buffering {
                next = self.hash(packet, other);
                self.learn(other, next);
            }
            return if self.is_punished() {
                self.tally.penalty = self.tally.penalty.wrapping_add(1);
                Err(DropReason::Congested)
            } else {
                Ok((pair(hash, next), false))
            };
        }
        // Linux draws 16 bits, so probability 1, which is 65535, is decided before the draw.
        let drawn = self.random.next_u32() & u32::from(u16::MAX);
        let probability = u32::from(verdict.probability);
        let half = u32::from(u16::MAX / 2);
        if drawn >= probability {
            return Ok((pair(hash, 0), false));
        }
        // With that many signals the flow does not respond, or the link is in a bad state: marks do
        // not help.
        let hopeless = probability > half && drawn < (probability - half) * 2;
        let already = packet.ecn() == Ecn::Ce;
        if !hopeless && packet.set_ce() {
            self.tally.marked = self.tally.marked.wrapping_add(1);
            return Ok((pair(hash, 0), !already));
        }
        self.tally.early = self.tally.early.wrapping_add(1);
        Err(DropReason::Congested)
    }

    fn drop_last(&mut self, why: DropReason, drops: &mut impl Drops<P>) -> bool {
        let Some(youngest) = self.queue.pop_back() else { return false };
        if let Some(hashes) = self.hashes.pop_back() {
            self.count(hashes, |packets| packets.saturating_sub(1));
        }
        self.stats.dropped_after.add(youngest.packet.len());
        drops.dropped(youngest.packet, why);
        true
    }
}

fn next_salt(salt: u32, generation: u64) -> u32 {
    u32::try_from(mix_64(u64::from(salt) ^ mix_64(generation)) >> 32).unwrap_or(0)
}

impl<P: Packet + Flow, R: Random> Build<P, R> for Sfb<P, R> {
    fn build(config: SfbConfig, salt: u32, random: R) -> Self {
        Self::new(config, salt, random)
    }
}

impl<P: Packet + Flow, R: Random> Qdisc<P> for Sfb<P, R> {
    type Config = SfbConfig;

    fn enqueue(&mut self, now: Instant, mut packet: P, drops: &mut impl Drops<P>) {
        // Rule 1 of the contract: a time before the latest one counts as the latest.
        self.now = self.now.max(now);
        let bytes = packet.len();
        match self.admit(&mut packet) {
            Ok((hashes, marked)) => {
                if marked {
                    self.stats.marked.add(bytes);
                }
                // Linux `increment_one_qlen()` stops at 16 bits.
                self.count(hashes, |packets| packets.saturating_add(1));
                self.hashes.push_back(hashes);
                self.queue.push_back(self.now, packet);
            }
            Err(why) => {
                self.stats.dropped_before.add(bytes);
                drops.dropped(packet, why);
            }
        }
    }

    fn dequeue(&mut self, now: Instant, _drops: &mut impl Drops<P>) -> Option<P> {
        self.now = self.now.max(now);
        let packet = self.queue.pop_front()?.packet;
        if let Some(hashes) = self.hashes.pop_front() {
            self.count(hashes, |packets| packets.saturating_sub(1));
        }
        Some(packet)
    }

    fn len(&self) -> usize {
        self.queue.len()
    }

    fn backlog(&self) -> u64 {
        self.queue.bytes()
    }

    fn stats(&self) -> Stats {
        self.queue.complete(self.stats)
    }

    fn reconfigure(&mut self, now: Instant, config: SfbConfig, drops: &mut impl Drops<P>) {
        self.now = self.now.max(now);
        // A change to the configuration in force must change nothing (`Qdisc::config`).
        if config == self.config {
            return;
        }
        // As in Linux `sfb_change()`, a change drops the queued packets.
        self.purge(now, drops);
        self.config = config;
        (self.rehashed_at, self.tokens_at) = (self.jiffies(), self.jiffies());
        (self.tokens, self.double_buffering) = (u64::from(config.penalty_burst), false);
    }

    fn config(&self) -> SfbConfig {
        self.config
    }

    fn purge(&mut self, now: Instant, drops: &mut impl Drops<P>) {
        self.now = self.now.max(now);
        while self.drop_last(DropReason::Purged, drops) {}
        *self.bins = [[Bin::default(); LEVELS * BINS]; 2];
        self.slot = 0;
        self.double_buffering = false;
    }
}

impl<P: Packet + Flow, R: Random> Lookahead<P> for Sfb<P, R> {
    const RULES: &'static [&'static [Rule]] = &[RULES, LIMITS];

    fn next_len(&self) -> Option<u32> {
        self.queue.front().map(|queued| queued.packet.len())
    }

    fn evidence(&self, question: &Question<'_, P>) -> Evidence {
        let mut evidence = Evidence::from_kind(KIND.name);
        let about = &question.about;
        let hash = self.hash(question.packet, self.slot);
        let bins = self.bins.get(self.slot);
        let least = |of: &dyn Fn(&Bin) -> u16| {
            places(hash).filter_map(|place| bins?.get(place)).map(of).min().unwrap_or(0)
        };
        let fraction = |units: u16| Quantity::Fraction(f64::from(units) / f64::from(u16::MAX));
        let packets = |count: u64| Quantity::Packets(count);
        let fewest = least(&|bin| bin.packets);
        let learned = least(&|bin| {
            let mut after = *bin;
            after.learn(&self.config);
            after.probability
        });
        evidence.fact("shortest_bin", packets(fewest.into()), "packets in the shortest of the flow's bins");
        evidence.fact("probability", fraction(least(&|bin| bin.probability)), "the smallest of its bins");
        let target = packets(self.config.target.into());
        evidence.given("target", target, "length from which on the probability of a bin rises");
        evidence.fact("tokens", packets(self.tokens), "packets that unresponsive flows may still send");
        evidence.fact("queued", packets(self.queue.len() as u64), "packets in the queue");
        let unresponsive = learned == u16::MAX;
        let is_decided = about.moment == Moment::Arrival && (about.is_signal() || about.fate == Fate::Sent);
        if is_decided {
            let rule = match (unresponsive, about.is_signal()) {
                (true, true) => NO_TOKEN,
                (true, false) => TOKEN,
                (false, true) => HIT,
                (false, false) => MISSED,
            };
            let numbers = [
                ("bins", Quantity::Number(LEVELS as u64)),
                (PENALTY_RATE.name, Quantity::Number(u64::from(self.config.penalty_rate))),
                ("learned", fraction(learned)),
            ];
            evidence.rule(rule, SOURCE, &numbers);
        }
        let limit = packets(self.config.max.into());
        let of_bin = Limit { held: packets(fewest.into()), allowed: limit, rule: FULL_BINS, source: SOURCE };
        evidence.limit(about, DropReason::FlowLimit, &of_bin);
        let held = packets(self.queue.len() as u64);
        let whole = Limit { held, allowed: packets(self.config.limit.into()), rule: FULL, source: SOURCE };
        evidence.limit(about, DropReason::Overlimit, &whole);
        evidence
    }
}

impl<P: Packet + Flow, R: Random> Observe for Sfb<P, R> {
    fn observe(&self, _now: Instant, seen: &mut Observation) {
        let Tally { early, penalty, bucket, queue, marked } = self.tally;
        let bins: &[Bin] = self.bins.get(self.slot).map_or(&[], |bins| bins.as_slice());
        let of = |probability: u64| probability as f64 / f64::from(u16::MAX);
        let sum: u64 = bins.iter().map(|bin| u64::from(bin.probability)).sum();
        let most = |what: fn(&Bin) -> u16| u64::from(bins.iter().map(what).max().unwrap_or(0));
        // A full queue, a full bin and a full penalty box are limits; the probability is not.
        seen.overlimits = queue.wrapping_add(bucket).wrapping_add(penalty);
        seen.number("earlydrop", early);
        seen.number("penaltydrop", penalty);
        seen.number("bucketdrop", bucket);
        seen.number("queuedrop", queue);
        // Linux's inner `pfifo` has the same limit as `sfb`, so it never drops.
        seen.number("childdrop", 0);
        seen.number("marked", marked);
        seen.number("maxqlen", most(|bin| bin.packets));
        seen.fraction("maxprob", of(most(|bin| bin.probability)));
        seen.fraction("avgprob", of(sum / bins.len().max(1) as u64));
    }
}

impl<P: Packet + Flow> Inner<P> for Sfb<P, crate::random::Source> {}

/// Source of the rules in stories.
const SOURCE: &str = "tc-sfb(8), ALGORITHM";

const KIND: Kind = Kind {
    name: "sfb",
    summary: "Keeps a BLUE drop probability in each of 8 x 16 bins; a flow gets the smallest of its eight",
    reference: "Feng, Kandlur, Saha and Shin 2001; tc-sfb(8)",
    variants: &[],
    children: Children::None,
    parameters: PARAMETERS,
};

/// Linux: `SFB_LEVELS`.
const LEVELS: usize = 8;
/// Linux: `SFB_NUMBUCKETS`.
const BINS: usize = 16;

rules! {
    /// Rules of SFB.
    RULES;
    /// An unresponsive flow found no token in the penalty box.
    NO_TOKEN: "sfb.no_token" ["bins", PENALTY_RATE.name];
    /// An unresponsive flow found a token in the penalty box.
    TOKEN: "sfb.token" ["bins", PENALTY_RATE.name];
    /// The draw hit the packet.
    HIT: "sfb.hit" ["bins", "learned"];
    /// The draw missed the packet.
    MISSED: "sfb.missed" ["bins", "learned"];
    /// All bins of the flow are full.
    FULL_BINS: "sfb.full_bins" ["held", "allowed"];
}

#[cfg(test)]
mod tests;
