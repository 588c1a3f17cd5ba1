//! COBALT: CoDel and BLUE side by side.
//!
//! # What it does
//! CoDel controls flows that slow down when signalled. It marks or drops packets that waited for
//! longer than `target`, at a growing rate. When the queue is short again, the drop count decays
//! step by step instead of being reset. BLUE controls flows that do not slow down. Its drop
//! probability grows by `p_inc` when the buffer overflows and shrinks by `p_dec` when the queue is
//! found empty, at most once per `target`.
//!
//! # Reference
//! T. Høiland-Jørgensen, D. Täht, J. Morton, "Piece of CAKE", LANMAN 2018; behaviour of Linux 7.3
//! and 6.1 `net/sched/sch_cake.c`; the ns-3 model `cobalt`.
//!
//! # State
//! ```text
//! departure --> waited > target? --> dropping; due at drop_next: signal, count + 1, drop_next += interval / sqrt(count)
//!          \--> not: every due step count - 1, drop_next += interval / sqrt(count), until 0
//! overflow --> p_drop += p_inc     empty --> p_drop -= p_dec, count - 1
//! ```
//! Per queue: [`CobaltVars`], 32 bytes.
//!
//! # Parameters
//! | name | meaning | unit | default | source of the default | range |
//! |---|---|---|---|---|---|
//! | `limit` | packets that the queue holds | packets | 1000p | as codel | 1 to 4294967295 |
//! | `target` | acceptable sojourn time of a standing queue | time | 5ms | RFC 8289 §4.2 | any; linux, linux61: at most 2199s; sensible: 5 to 10 % of interval, and at least the serialization time of one packet |
//! | `interval` | time within which the sojourn time must fall below target at least once | time | 100ms | RFC 8289 §4.3 | more than 0; linux: at most 2199s; linux61: 1024ns to 2199s; sensible: the longest expected round-trip time |
//! | `p_inc` | increase of BLUE's drop probability at an overflow | fraction, 0 to 1 | 0.00390625 | Linux sch_cake | 0 to 1 |
//! | `p_dec` | decrease of BLUE's drop probability when the queue is empty | fraction, 0 to 1 | 0.000244140625 | Linux sch_cake | 0 to 1 |
//! | `ecn` | mark ECN-capable packets that CoDel would drop; BLUE never marks | flag | ecn | Linux sch_cake | |
//! | `variant` | `linux`: Linux 7.3 sch_cake; the first packet above target is signalled at once. `linux61`: Linux 6.1 sch_cake; as linux, with slightly different square roots and draws. `paper`: the article; the first signal comes one interval after the first packet above target | word | linux | | |
//!
//! # Deviations
//! Linux has COBALT only inside `cake`. As in Linux, the last packet of the queue is not dropped,
//! and an overflow drops the oldest packet. CAKE treats a queue of less than four packets'
//! serialization time as no standing queue. That rule needs the rate of a shaper, so `cobalt` alone
//! does not have it.
//!
//! `linux`: a queue that exceeds `target` for the first time, or after an interval without packets,
//! is signalled at its next packet. Linux overwrites the interval that it has just started. Its
//! inverse square root starts at 0. Steps of an interval above 4.29 s are cut to 32 bits of
//! nanoseconds. `paper`: the interval passes before the first signal.
//!
//! `linux61` and `paper`: the inverse square root of 2 is 0.06 % too small, and six others
//! up to that of 15 differ by less than 0.00001 %. BLUE draws a number also for a packet that CoDel
//! signals.
//!
//! # Cost
//! Constant per packet, plus dropped packets, plus the steps by which the count decays. There are
//! never more such steps than signals.
//!
//! # Example
//! ```
//! use goodqueue::{Configure, Link, Settings, cobalt::CobaltConfig};
//! let config = CobaltConfig::from_settings(&Settings::new(), &Link::default()).unwrap();
//! println!("{:?}", config.to_settings());
//! assert_eq!(config.params().target.to_string(), "5ms");
//! ```

mod evidence;
pub(crate) mod rules;

use crate::codel::{INTERVAL, TARGET};
use crate::config::{Build, ConfigError, Configure, Kind, Link, Settings, Value, Variant};
use crate::decision::{Evidence, Limit, Quantity, Question, Rule};
use crate::gauge::{Gauge, Observation, Observe};
use crate::nesting::Inner;
use crate::packet::{Ecn, Packet};
use crate::qdisc::{DropReason, Drops, Lookahead, Qdisc, Stats};
use crate::queue::Fifo;
use crate::random::Random;
use crate::shown::Show;
use crate::time::{Duration, Instant};
use crate::typed::{in_variants, parameters};

/// The queue `cobalt`: one FIFO under COBALT.
#[derive(Clone, Debug)]
pub struct Cobalt<P, R> {
    config: CobaltConfig,
    random: R,
    vars: CobaltVars,
    queue: Fifo<P>,
    /// Counters except those that the queue keeps.
    stats: Stats,
    /// Packets lost to the limit.
    overflows: u64,
    now: Instant,
}

/// Configuration of [`Cobalt`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CobaltConfig {
    limit: u32,
    params: CobaltParams,
}

/// Parameters of COBALT, shared by all flows of a discipline that runs one per flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CobaltParams {
    /// Acceptable standing sojourn time, and how often BLUE may move.
    pub target: Duration,
    /// Time from the first late packet to the first signal, and the unit of the pace.
    pub interval: Duration,
    /// Time of the largest packet on the link: less than four of these is no standing queue. Zero:
    /// no such rule.
    pub mtu_time: Duration,
    /// BLUE's steps, as fractions of 2^32.
    pub p_inc: u32,
    /// See `p_inc`.
    pub p_dec: u32,
    /// Mark instead of dropping where the transport allows it.
    pub ecn: bool,
    /// First signal after idle time.
    pub variant: CobaltVariant,
}

/// First signal for a queue that exceeds the target for the first time, or again after an idle
/// interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CobaltVariant {
    /// Linux 7.3: the next packet is signalled.
    Linux,
    /// Linux 6.1: the same, with a square root of 2 that is slightly off; BLUE draws for each
    /// packet.
    Linux61,
    /// As described: an interval passes before the first signal.
    Paper,
}

/// What COBALT remembers of one queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CobaltVars {
    /// When to signal next; while not dropping, when to decay next, or when the state is at rest.
    drop_next: Instant,
    blue_timer: Instant,
    count: u32,
    /// 1/sqrt(count) as a fraction of 2^32.
    rec_inv_sqrt: u32,
    /// BLUE's probability as a fraction of 2^32.
    p_drop: u32,
    dropping: bool,
}

const _: () = assert!(size_of::<CobaltVars>() <= 32, "a thousand flows' state must stay in the cache");

/// Decision about a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Verdict {
    /// It is to be dropped.
    pub drop: bool,
    /// It was marked, and had no mark before.
    pub marked: bool,
}

impl Verdict {
    /// Send the packet unchanged.
    pub(crate) const SEND: Self = Self { drop: false, marked: false };
}

impl CobaltVars {
    /// A queue that was never late.
    #[must_use]
    pub const fn new(variant: CobaltVariant) -> Self {
        Self {
            drop_next: Instant::ZERO,
            blue_timer: Instant::ZERO,
            count: 0,
            rec_inv_sqrt: match variant {
                // Linux `cobalt_vars_init()` clears the state, and looks the root up only when the
                // count changes: the first step has no length.
                CobaltVariant::Linux | CobaltVariant::Linux61 => 0,
                CobaltVariant::Paper => u32::MAX,
            },
            p_drop: 0,
            dropping: false,
        }
    }

    /// Signals since the queue became late, less those that have decayed.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// BLUE's drop probability as a fraction of 2^32.
    #[must_use]
    pub const fn blue(&self) -> u32 {
        self.p_drop
    }

    /// True if nothing is remembered that could matter at `now`.
    #[must_use]
    pub fn is_at_rest(&self, now: Instant) -> bool {
        self.p_drop == 0 && self.count == 0 && now >= self.drop_next
    }

    /// True if a packet that has waited for `sojourn` may be sent at `now`, and that is all there
    /// is to it; false: see [`Self::decide`].
    #[inline]
    pub(crate) fn passes(&mut self, now: Instant, params: &CobaltParams, sojourn: Duration) -> bool {
        // With a count or a probability the state changes at every packet.
        let passes = self.count | self.p_drop == 0 && sojourn <= params.target;
        if passes {
            self.dropping = false;
            self.drop_next = now + params.interval;
        }
        passes
    }

    /// Decides about `packet`, which has waited for `sojourn` and is to be sent at `now`.
    /// `bulk_flows` stretches the time that is no standing queue by as many packets, twice (CAKE's
    /// ingress mode; else 0).
    #[inline(never)]
    pub fn decide<P: Packet>(
        &mut self,
        now: Instant,
        params: &CobaltParams,
        sojourn: Duration,
        bulk_flows: u32,
        packet: &mut P,
        random: &mut impl Random,
    ) -> Verdict {
        let mut verdict = Verdict::SEND;
        let mut late = now > self.drop_next;
        let due = self.count > 0 && now >= self.drop_next;
        // As `cobalt_should_drop()` in Linux: `mtu_time * bulk_flows * 2`, and `mtu_time * 4`.
        let packets = u64::from(bulk_flows).saturating_mul(2).max(4);
        if sojourn > params.target && sojourn > params.mtu_time.saturating_mul(packets) {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = now;
                self.step(params);
            }
            // With a count of 0 no signal would ever be due.
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
        // Linux continues with its old state and so overwrites the interval that it has just
        // started.
        if params.variant == CobaltVariant::Paper {
            late = now > self.drop_next;
        }
        if due && self.dropping {
            let already = packet.ecn() == Ecn::Ce;
            let carries = params.ecn && packet.set_ce();
            verdict = Verdict { drop: !carries, marked: carries && !already };
            // As in Linux, the count does not wrap: a count of 0 would end the pace.
            self.count = self.count.saturating_add(1);
            self.find_root(params.variant);
            self.step(params);
            late = now > self.drop_next;
        } else if due {
            while self.count > 0 && now >= self.drop_next {
                self.decay(params);
            }
            late = now > self.drop_next;
        }
        // Linux 6.1 draws even for a packet that is dropped anyway, which moves the random numbers
        // of all later packets.
        let draws = self.p_drop > 0 && (params.variant != CobaltVariant::Linux || !verdict.drop);
        if draws && random.next_u32() < self.p_drop {
            verdict.drop = true;
        }
        // Without a count, drop_next tells when the state is at rest.
        if self.count == 0 {
            self.drop_next = now + params.interval;
        } else if late && !verdict.drop {
            self.drop_next = now;
        }
        verdict
    }

    /// The buffer overflowed and this queue lost a packet.
    pub fn queue_full(&mut self, now: Instant, params: &CobaltParams) {
        if now.since(self.blue_timer) > params.target {
            // The target bounds how often BLUE moves, as its paper's freeze time does.
            self.p_drop = self.p_drop.saturating_add(params.p_inc);
            self.blue_timer = now;
        }
        // As `cobalt_queue_full()` in Linux: an overflow also puts CoDel into its phase, with a
        // signal due at once.
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    // An empty queue without a count and without BLUE's probability is told so by
    // `rests_when_empty`.
    /// A packet was asked for and none was there.
    #[inline(never)]
    pub fn queue_empty(&mut self, now: Instant, params: &CobaltParams) {
        if self.p_drop > 0 && now.since(self.blue_timer) > params.target {
            self.p_drop = self.p_drop.saturating_sub(params.p_dec);
            self.blue_timer = now;
        }
        self.dropping = false;
        // One step per call, as `cobalt_queue_empty()` in Linux does. A late packet decays all due
        // steps.
        if self.count > 0 && now >= self.drop_next {
            self.decay(params);
        }
    }

    /// As [`Self::queue_empty`]; true if nothing is remembered then that could matter at `now`.
    #[inline]
    pub(crate) fn rests_when_empty(&mut self, now: Instant, params: &CobaltParams) -> bool {
        if self.count | self.p_drop > 0 {
            self.queue_empty(now, params);
            return self.is_at_rest(now);
        }
        self.dropping = false;
        now >= self.drop_next
    }

    fn decay(&mut self, params: &CobaltParams) {
        self.count = self.count.saturating_sub(1);
        self.find_root(params.variant);
        self.step(params);
    }

    /// `drop_next += interval / sqrt(count)`.
    fn step(&mut self, params: &CobaltParams) {
        let interval = match params.variant {
            // Linux multiplies 32 bits.
            CobaltVariant::Linux | CobaltVariant::Linux61 => params.interval.as_nanos() & u64::from(u32::MAX),
            CobaltVariant::Paper => params.interval.as_nanos(),
        };
        let scaled = (u128::from(interval) * u128::from(self.rec_inv_sqrt)) >> 32;
        self.drop_next += Duration::from_nanos(u64::try_from(scaled).unwrap_or(u64::MAX));
    }

    /// Small counts are looked up, since one Newton step would be far off there; above, one step is
    /// enough.
    fn find_root(&mut self, variant: CobaltVariant) {
        let roots = if variant == CobaltVariant::Linux { &ROOTS } else { &ROOTS_BY_STEPS };
        self.rec_inv_sqrt = root_of(roots, self.rec_inv_sqrt, self.count);
    }
}

/// 1/sqrt(count) as a fraction of 2^32, from the root before a change of the count. As Linux 6.1
/// computes it.
pub(crate) fn root_by_steps(root: u32, count: u32) -> u32 {
    root_of(&ROOTS_BY_STEPS, root, count)
}

#[inline]
fn root_of(roots: &[u32; 16], root: u32, count: u32) -> u32 {
    match roots.get(count as usize) {
        Some(&known) => known,
        None => newton_step(root, count),
    }
}

/// 1/sqrt of 0 (taken as 1) to 15, rounded to fractions of 2^32.
#[expect(clippy::cast_possible_truncation, reason = "1/sqrt of 2 and more is below 2^32")]
const ROOTS: [u32; 16] = {
    let mut roots = [u32::MAX; 16];
    let mut count = 2;
    while count < 16 {
        // Twice the root, so that half of it can be rounded.
        let double = ((1_u128 << 66) / count as u128).isqrt();
        roots[count] = double.div_ceil(2) as u32;
        count += 1;
    }
    roots
};

/// The same, each by four Newton steps from the one before, as Linux 6.1 computes them.
const ROOTS_BY_STEPS: [u32; 16] = {
    let mut roots = [u32::MAX; 16];
    let mut root = u32::MAX;
    let mut count = 1;
    while count < 16 {
        let mut step = 0;
        while step < 4 {
            root = newton_step(root, count);
            step += 1;
        }
        roots[count as usize] = root;
        count += 1;
    }
    roots
};

/// One step of Newton's iteration for 1/sqrt(count), in fractions of 2^32; overflow wraps, as in
/// Linux.
const fn newton_step(root: u32, count: u32) -> u32 {
    let root = root as u64;
    let square = (root * root) >> 32;
    let rest = (3_u64 << 32).wrapping_sub((count as u64).wrapping_mul(square)) >> 2;
    (rest.wrapping_mul(root) >> 31) as u32
}

impl CobaltParams {
    /// Those of Linux's CAKE without a shaper.
    #[must_use]
    pub const fn new(target: Duration, interval: Duration, variant: CobaltVariant) -> Self {
        Self {
            target,
            interval,
            mtu_time: Duration::ZERO,
            p_inc: DEFAULT_P_INC,
            p_dec: DEFAULT_P_DEC,
            ecn: true,
            variant,
        }
    }
}

impl CobaltConfig {
    /// Returns the parameters of the law.
    #[must_use]
    pub const fn params(&self) -> &CobaltParams {
        &self.params
    }
}

/// A probability as a fraction of 2^32; 1 becomes the largest fraction.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
fn fraction(probability: f64) -> u32 {
    (probability * TWO_TO_32) as u32
}

impl Configure for CobaltConfig {
    const KIND: Kind = KIND;

    fn from_checked(settings: &Settings, _link: &Link) -> Result<Self, ConfigError> {
        Ok(Self {
            limit: LIMIT.read(settings)?,
            params: CobaltParams {
                p_inc: fraction(P_INC.read(settings)?),
                p_dec: fraction(P_DEC.read(settings)?),
                ecn: ECN.read(settings)?,
                ..CobaltParams::new(
                    TARGET.read(settings)?,
                    INTERVAL.read(settings)?,
                    CobaltVariant::from_settings(settings),
                )
            },
        })
    }

    fn to_settings(&self) -> Settings {
        Settings::new()
            .and(&LIMIT, self.limit)
            .and(&TARGET, self.params.target)
            .and(&INTERVAL, self.params.interval)
            .and(&P_INC, f64::from(self.params.p_inc) / TWO_TO_32)
            .and(&P_DEC, f64::from(self.params.p_dec) / TWO_TO_32)
            .and(&ECN, self.params.ecn)
            .with("variant", Value::Choice(self.params.variant.name()))
    }
}

impl Show for CobaltConfig {}

parameters! {
    PARAMETERS of [] CobaltConfig;
    /// packets that the queue holds
    LIMIT: packets "limit", with_limit { default: 1000, range: 1..=4_294_967_295, source: "as codel" };
    TARGET: time, with_target;
    INTERVAL: time, with_interval;
    /// increase of BLUE's drop probability at an overflow
    P_INC: probability "p_inc", with_p_inc {
        default: 1.0 / 256.0,
        range: 0.0..=1.0,
        source: "Linux sch_cake",
    };
    /// decrease of BLUE's drop probability when the queue is empty
    P_DEC: probability "p_dec", with_p_dec {
        default: 1.0 / 4096.0,
        range: 0.0..=1.0,
        source: "Linux sch_cake",
    };
    /// mark ECN-capable packets that CoDel would drop; BLUE never marks
    ECN: flag "ecn", with_ecn { default: true, off: "noecn", source: "Linux sch_cake" };
}

in_variants! { [] CobaltConfig }

impl CobaltVariant {
    pub(crate) fn from_settings(settings: &Settings) -> Self {
        match settings.choice("variant") {
            Some("paper") => Self::Paper,
            Some("linux61") => Self::Linux61,
            _ => Self::Linux,
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Linux => "linux",
            Self::Linux61 => "linux61",
            Self::Paper => "paper",
        }
    }
}

impl<P: Packet, R: Random> Cobalt<P, R> {
    /// An empty queue; BLUE draws from `random`.
    #[must_use]
    pub fn new(config: CobaltConfig, random: R) -> Self {
        Self {
            config,
            random,
            vars: CobaltVars::new(config.params.variant),
            queue: Fifo::default(),
            stats: Stats::default(),
            overflows: 0,
            now: Instant::ZERO,
        }
    }

    /// The state of the law.
    #[must_use]
    pub const fn vars(&self) -> &CobaltVars {
        &self.vars
    }

    fn drop_oldest(&mut self, why: DropReason, drops: &mut impl Drops<P>) -> bool {
        let Some(oldest) = self.queue.pop_front() else { return false };
        self.stats.dropped_after.add(oldest.packet.len());
        drops.dropped(oldest.packet, why);
        true
    }
}

impl<P: Packet, R: Random> Build<P, R> for Cobalt<P, R> {
    fn build(config: CobaltConfig, _salt: u32, random: R) -> Self {
        Self::new(config, random)
    }
}

impl<P: Packet, R: Random> Qdisc<P> for Cobalt<P, R> {
    type Config = CobaltConfig;

    fn enqueue(&mut self, now: Instant, packet: P, drops: &mut impl Drops<P>) {
        // Rule 1 of the contract: a time before the latest one counts as the latest.
        self.now = self.now.max(now);
        self.queue.push_back(self.now, packet);
        if self.queue.len() > self.config.limit as usize {
            self.overflows = self.overflows.wrapping_add(1);
            self.vars.queue_full(self.now, &self.config.params);
            self.drop_oldest(DropReason::Overlimit, drops);
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Instant, drops: &mut impl Drops<P>) -> Option<P> {
        self.now = self.now.max(now);
        loop {
            let Some(mut queued) = self.queue.pop_front() else {
                self.vars.queue_empty(self.now, &self.config.params);
                return None;
            };
            let sojourn = self.now.since(queued.at);
            let params = &self.config.params;
            let verdict =
                self.vars.decide(self.now, params, sojourn, 0, &mut queued.packet, &mut self.random);
            let bytes = queued.packet.len();
            if verdict.marked {
                self.stats.marked.add(bytes);
            }
            // The last packet may be marked, not dropped.
            if !verdict.drop || self.queue.is_empty() {
                return Some(queued.packet);
            }
            self.stats.dropped_after.add(bytes);
            drops.dropped(queued.packet, DropReason::Congested);
        }
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

    fn reconfigure(&mut self, now: Instant, config: CobaltConfig, drops: &mut impl Drops<P>) {
        self.now = self.now.max(now);
        self.config = config;
        while self.queue.len() > self.config.limit as usize && self.drop_oldest(DropReason::Overlimit, drops)
        {
        }
    }

    fn config(&self) -> CobaltConfig {
        self.config
    }

    fn purge(&mut self, now: Instant, drops: &mut impl Drops<P>) {
        self.now = self.now.max(now);
        while self.drop_oldest(DropReason::Purged, drops) {}
        self.vars = CobaltVars::new(self.config.params.variant);
    }
}

impl<P: Packet, R: Random> Lookahead<P> for Cobalt<P, R> {
    const RULES: &'static [&'static [Rule]] = &[rules::RULES, rules::OF_QUEUE];

    fn evidence(&self, question: &Question<'_, P>) -> Evidence {
        let mut evidence = Evidence::from_kind(KIND.name);
        let about = &question.about;
        self.vars.observe(&self.config.params, about, self.queue.len() <= 1, &mut evidence);
        let limit = Limit {
            held: Quantity::Packets(self.queue.len() as u64),
            allowed: Quantity::Packets(u64::from(self.config.limit)),
            rule: rules::FULL,
            source: KIND.reference,
        };
        evidence.limit(about, DropReason::Overlimit, &limit);
        evidence
    }
}

impl<P: Packet, R: Random> Observe for Cobalt<P, R> {
    fn observe(&self, _now: Instant, seen: &mut Observation) {
        seen.number("count", u64::from(self.vars.count));
        if self.vars.dropping {
            seen.gauges.push(("dropping", Gauge::Flag(true)));
        }
        seen.fraction("blue_prob", f64::from(self.vars.p_drop) / TWO_TO_32);
        seen.number("ecn_mark", self.stats.marked.packets);
        seen.number("drop_overlimit", self.overflows);
    }
}

impl<P: Packet> Inner<P> for Cobalt<P, crate::random::Source> {}

const KIND: Kind = Kind {
    name: "cobalt",
    summary: "CoDel with a decaying count for flows that respond, BLUE for those that do not",
    reference: "Høiland-Jørgensen et al. 2018; Linux 7.3 sch_cake",
    children: crate::config::Children::None,
    variants: VARIANTS,
    parameters: PARAMETERS,
};

/// Variants of `cobalt` and of `cake`.
pub(crate) const VARIANTS: &[Variant] = &[
    Variant { name: "linux", doc: "Linux 7.3 sch_cake; the first packet above target is signalled at once" },
    Variant {
        name: "linux61",
        doc: "Linux 6.1 sch_cake; as linux, with slightly different square roots and draws",
    },
    Variant {
        name: "paper",
        doc: "the article; the first signal comes one interval after the first packet above target",
    },
];

/// Linux sch_cake: 1/256.
const DEFAULT_P_INC: u32 = 1 << 24;
/// Linux sch_cake: 1/4096.
const DEFAULT_P_DEC: u32 = 1 << 20;
const TWO_TO_32: f64 = 4_294_967_296.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::story::Datagram;
    use alloc::vec::Vec;

    use crate::random::Xoshiro256PlusPlus;

    fn cobalt(settings: &Settings) -> Cobalt<Datagram, Xoshiro256PlusPlus> {
        let config = CobaltConfig::from_settings(settings, &Link::default()).expect("valid");
        Cobalt::new(config, Xoshiro256PlusPlus::new(1))
    }

    fn paper() -> Settings {
        Settings::new().with("variant", Value::Choice("paper")).with("limit", Value::Packets(1_000_000))
    }

    /// A queue that is always late, served every 0.1 ms: the times of the drops in 0.1 ms.
    fn drops_of(settings: &Settings, steps: u64) -> Vec<u64> {
        let mut queue = cobalt(settings);
        let mut times = Vec::new();
        for _ in 0..steps * 2 {
            queue.enqueue(Instant::ZERO, Datagram::new(1000, Ecn::NotEct), &mut |_, _| ());
        }
        for step in 0..steps {
            let now = Instant::from_nanos(10_000_000 + step * 100_000);
            queue.dequeue(now, &mut |_, _| times.push(step));
        }
        times
    }

    #[test]
    fn the_first_signal_comes_after_an_interval_and_the_next_ones_at_its_inverse_root() {
        // 100 ms, then 100/sqrt(2) = 70.7 (70.67 by the table), 100/sqrt(3) = 57.7, 50, 44.7 ms
        // more.
        assert_eq!(drops_of(&paper(), 3_250), [1_000, 1_707, 2_285, 2_785, 3_232]);
    }

    #[test]
    fn in_linux_the_first_late_queue_is_signalled_at_its_next_packet() {
        // 100 ms / sqrt(2) after the first signal: 70.67 ms by the table of Linux 6.1, 70.71 ms by
        // that of 7.3.
        assert_eq!(drops_of(&paper().with("variant", Value::Choice("linux61")), 800), [1, 707]);
        assert_eq!(drops_of(&paper().with("variant", Value::Choice("linux")), 800), [1, 708]);
    }

    #[test]
    fn the_table_holds_inverse_roots() {
        for (roots, tolerance) in [(&ROOTS_BY_STEPS, 1e-3), (&ROOTS, 1e-9)] {
            for (count, root) in roots.iter().enumerate().skip(1) {
                let exact = TWO_TO_32 / (count as f64).sqrt_exact();
                assert!((f64::from(*root) - exact).abs() / exact < tolerance, "{count}: {root} {exact}");
            }
        }
        // The others differ by 1 at most.
        let far: Vec<usize> = (0..16).filter(|&n| ROOTS[n].abs_diff(ROOTS_BY_STEPS[n]) > 1).collect();
        assert_eq!(far, [2, 3]);
    }

    trait Root {
        fn sqrt_exact(self) -> f64;
    }

    impl Root for f64 {
        /// Heron's method: there is no `sqrt` without a standard library.
        fn sqrt_exact(self) -> f64 {
            (0..50).fold(self, |root, _| (root + self / root) / 2.0)
        }
    }

    #[test]
    fn the_count_decays_when_the_queue_is_short_again() {
        let mut queue = cobalt(&paper());
        for _ in 0..20_000 {
            queue.enqueue(Instant::ZERO, Datagram::new(1000, Ecn::NotEct), &mut |_, _| ());
        }
        for step in 0..10_000_u64 {
            queue.dequeue(Instant::from_nanos(10_000_000 + step * 100_000), &mut |_, _| ());
        }
        let reached = queue.vars().count();
        assert!(reached > 25, "{reached}");
        let later = Instant::from_nanos(2_000_000_000);
        while queue.dequeue(later, &mut |_, _| ()).is_some() {}
        for ms in 0..3_000 {
            queue.dequeue(later + Duration::from_millis(ms), &mut |_, _| ());
        }
        assert!(queue.vars().is_at_rest(later + Duration::from_secs(4)), "{:?}", queue.vars());
    }

    #[test]
    fn ecn_capable_packets_are_marked() {
        let mut queue = cobalt(&paper());
        let mut lost = 0;
        for _ in 0..4_000 {
            queue.enqueue(Instant::ZERO, Datagram::new(1000, Ecn::Ect0), &mut |_, _| lost += 1);
        }
        for step in 0..3_250_u64 {
            queue.dequeue(Instant::from_nanos(10_000_000 + step * 100_000), &mut |_, _| lost += 1);
        }
        // As many marks as the first test has drops in the same time.
        assert_eq!((queue.stats().marked.packets, lost), (5, 0));
    }

    #[test]
    fn blue_grows_by_one_step_per_target_of_overflow_and_fades_when_empty() {
        let mut queue = cobalt(&Settings::new().with("limit", Value::Packets(10)));
        let mut now = Instant::ZERO + Duration::from_millis(1);
        for _ in 0..100 {
            now += Duration::from_millis(1);
            queue.enqueue(now, Datagram::new(1000, Ecn::NotEct), &mut |_, _| ());
        }
        // Overflow from 12 ms to 101 ms; a step each time that more than 5 ms have passed: 12, 18,
        // ... 96 ms.
        assert_eq!(queue.vars().blue(), 15 << 24);
        while queue.dequeue(now, &mut |_, _| ()).is_some() {}
        for _ in 0..100 {
            now += Duration::from_millis(10);
            queue.dequeue(now, &mut |_, _| ());
        }
        // Each dequeue comes more than 5 ms after the last one, so each is a step.
        assert_eq!(queue.vars().blue(), (15 << 24) - (100 << 20));
    }
}
