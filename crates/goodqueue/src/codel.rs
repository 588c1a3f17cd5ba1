//! CoDel: controlled delay.
//!
//! # What it does
//! Judges the queue by the time that packets spent in it (sojourn time). When the sojourn time has
//! stayed at or above `target` for a whole `interval`, the queue is a standing one, and CoDel drops
//! (or marks) at the head, each time sooner after the last: `interval / sqrt(count)`. As soon as
//! one packet was queued for less than `target`, it stops.
//!
//! # Reference
//! RFC 8289 (2018); Nichols & Jacobson, "Controlling Queue Delay", ACM Queue 10(5), 2012; Linux 6.1
//! `include/net/codel_impl.h` and `net/sched/sch_codel.c`, with the stable fix that forgets
//! `first_above_time` when a dequeue finds the queue empty (in 6.1.192).
//!
//! # State
//! ```text
//!              sojourn >= target for `interval`: drop one
//!   waiting  ------------------------------------------->  dropping
//!            <-------------------------------------------  drop at drop_next, then
//!              one packet below target, or <= 1 MTU left   drop_next += interval / sqrt(++count)
//! ```
//! Per queue: `first_above_time`, `drop_next`, `count`, `lastcount`, `dropping`: [`CodelVars`], 32
//! bytes.
//!
//! # Parameters
//! | name | unit | default | source of the default | range |
//! |---|---|---|---|---|
//! | `limit` | packets | 1000 | Linux sch_codel `DEFAULT_CODEL_LIMIT` | 1 to 2^32 - 1 |
//! | `target` | time | 5 ms | RFC 8289 §4.2 | 0 to 584 years |
//! | `interval` | time | 100 ms | RFC 8289 §4.3 | 1 ns to 584 years; linux: 1024 ns to 2199 s |
//! | `ecn` | flag | off | Linux sch_codel | |
//! | `ce_threshold` | time | off | Linux sch_codel | |
//! | `recall` | word | that of the variant | RFC 8289 §5.5 and Linux: c; 2012 article: a; ns-2: b | `a`, `b`, `c` |
//! | `startup` | word | `zero` | RFC 8289 §5.3; ns-2: `ns2` | `zero`, `ns2` |
//! | `variant` | | `rfc8289` | | `rfc8289`, `linux`, `cacm2012`, `ns2` |
//!
//! # Deviations
//! * `rfc8289`: the square root is exact to the nanosecond (an integer root of `interval² /
//!   count`). Marking, where the RFC leaves the details open (§3), goes as in Linux: one mark per
//!   dequeue, the marked packet is delivered.
//! * `linux`: none known; the clock has units of 1024 ns in 32 bits and the root is improved by one
//!   Newton step per drop, so the second spacing is 50 ms where the law says 70.7. A packet that
//!   carries CE already is not counted as marked.
//! * `cacm2012`: `count - 1` is recalled within 16 intervals, and "a packet left" means at most the
//!   largest packet seen.
//! * `ns2` (Nichols' code of May 2012): `count - 2` is recalled within 8 intervals, or 0.9844 of
//!   `count` if that leaves more than 126 (with `recall b` never); a drop that ends the episode is
//!   not counted; the wait before re-entry within 8 intervals is `interval / sqrt(count)`. ns-2
//!   starts with `first_above_time` at -1, "above target for long": so does `startup ns2`, with any
//!   variant; without it every variant starts in "below".
//!
//! # Cost
//! Constant per packet, plus the packets dropped. At a drop: one 128-bit integer root (`linux`: one
//! Newton step).
//!
//! # Example
//! ```
//! use goodqueue::codel::{CodelConfig, control_law};
//! use goodqueue::{Duration, Instant};
//! let codel = CodelConfig::default();
//! let third = control_law(Instant::ZERO, codel.params().interval, 3);
//! assert_eq!(third, Instant::ZERO + Duration::from_nanos(57_735_026)); // 100 ms / sqrt(3)
//! ```

mod config;
mod controller;
pub(crate) mod exact;
mod linux;
#[cfg(test)]
mod tests;

use alloc::format;

pub use config::{CE_THRESHOLD, INTERVAL, RECALL, STARTUP, TARGET};
pub(crate) use config::{ECN, LIMIT};
pub use controller::{Controller, Waiting};
pub use exact::control_law;

use crate::config::{Build, ConfigError};
use crate::gauge::{Gauge, Observation, Observe};
pub(crate) use crate::head::mark;
pub use crate::head::{CodelTally, Head, Mark, Source};
use crate::nesting::Inner;
use crate::packet::Packet;
use crate::qdisc::{DropReason, Drops, Lookahead, Qdisc, Stats};
use crate::queue::{Fifo, Queued};
use crate::time::{Duration, Instant};

/// The queue `codel`: one FIFO under CoDel's control law.
#[derive(Clone, Debug)]
pub struct Codel<P> {
    config: CodelConfig,
    law: CodelLaw,
    vars: CodelVars,
    queue: Fifo<P>,
    /// A packet that the parent keeps counts against the limit.
    taken_ahead: bool,
    /// Without what the queue knows.
    stats: Stats,
    tally: CodelTally,
    /// When the packet taken last came, and when it was taken.
    last: (Instant, Instant),
    now: Instant,
}

/// Configuration of [`Codel`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CodelConfig {
    limit: u32,
    params: CodelParams,
}

/// What the control law is told: shared by all flows of a discipline that runs one CoDel per flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CodelParams {
    /// Acceptable standing sojourn time (RFC 8289 §4.2).
    pub target: Duration,
    /// Time in which the sojourn time must fall below the target at least once (RFC 8289 §4.3).
    pub interval: Duration,
    /// Mark instead of dropping where the transport allows it.
    pub ecn: bool,
    /// Mark every packet that was queued for longer than this.
    pub ce_threshold: Option<Duration>,
    /// With no more bytes than this left behind a packet, the queue is not a standing one (RFC 8289
    /// §5.4).
    pub mtu: u32,
    /// Whose decisions.
    pub variant: CodelVariant,
    /// Where the count goes on from in a new episode; `None`: as the variant does.
    pub recall: Option<Recall>,
    /// How a queue begins; `None`: below target.
    pub startup: Option<Startup>,
}

/// What is remembered of the last episode of dropping when the next one begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recall {
    /// 2012 article: `count - 1` within 16 intervals of the drop that was due last.
    A,
    /// ns-2 of May 2012 and the first drafts: `count - 2` within 8 intervals.
    B,
    /// Linux and RFC 8289: what the last episode added to the count, within 16 intervals.
    C,
}

/// What a queue that has seen no packet believes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Startup {
    /// It is below target.
    Zero,
    /// It has been above target for longer than an interval, as in ns-2: if the first packet comes
    /// out late, it is dropped.
    Ns2,
}

/// Whose CoDel it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CodelVariant {
    /// RFC 8289, with exact arithmetic.
    Rfc8289,
    /// Linux 6.1, bit for bit.
    Linux,
    /// The pseudo-code of the 2012 article.
    Cacm2012,
    /// Nichols' ns-2 code of May 2012.
    Ns2,
    /// Her ns-2 code for CableLabs of January 2013, which is in bins only ([`crate::sfq_codel`]):
    /// as [`Self::Ns2`], but a bin that comes above target again waits for a whole interval.
    Ns2CableLabs,
}

/// What the control law remembers between packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CodelVars {
    /// When the queue will have been above target for an interval (`NEVER`: it is below). `linux`:
    /// ticks of 1024 ns, 0 = below.
    first_above: u64,
    /// When to drop next, while dropping. `linux`: ticks.
    drop_next: u64,
    /// Drops since dropping began, as the control law counts them.
    count: u32,
    /// `count` when dropping last began.
    lastcount: u32,
    /// Largest packet seen (`cacm2012`, `ns2`).
    max_packet: u32,
    /// `linux`: 1/sqrt(count) as a 16-bit fraction.
    rec_inv_sqrt: u16,
    dropping: bool,
}

const _: () = assert!(size_of::<CodelVars>() <= 32, "a thousand flows' state must stay in the cache");

/// "Below target": no instant of interest is that late.
const NEVER: u64 = u64::MAX;

impl Default for CodelVars {
    fn default() -> Self {
        Self {
            first_above: NEVER,
            drop_next: 0,
            count: 0,
            lastcount: 0,
            max_packet: FIRST_MAX_PACKET,
            rec_inv_sqrt: 0,
            dropping: false,
        }
    }
}

impl CodelVars {
    /// The state of a queue that was never above target, for this variant.
    #[must_use]
    pub fn new(variant: CodelVariant) -> Self {
        match variant {
            CodelVariant::Linux => Self { first_above: below(variant), ..Self::default() },
            _ => Self::default(),
        }
    }

    /// The state of a queue that has seen no packet.
    #[must_use]
    pub fn starting(params: &CodelParams) -> Self {
        let fresh = Self::new(params.variant);
        match (params.startup, params.variant) {
            (Some(Startup::Ns2), CodelVariant::Linux) => Self { first_above: 1, ..fresh },
            (Some(Startup::Ns2), _) => Self { first_above: 0, ..fresh },
            _ => fresh,
        }
    }

    /// Drops and marks at the head of `source`, as CoDel says, until a packet may be sent: it is
    /// then at the head. False if none is left.
    #[inline]
    pub fn dequeue<S: Source>(&mut self, now: Instant, params: &CodelParams, source: &mut S) -> bool {
        if source.head().is_some() {
            return self.judge(now, params, source);
        }
        self.emptied(below(params.variant));
        false
    }

    /// True for nearly every packet of a queue that is under control: the one at the head, which
    /// came at `came`, is below target while nothing is being dropped, and may be sent. False:
    /// [`Self::judge`] must be asked.
    #[inline]
    pub(crate) fn passes(&mut self, now: Instant, law: &CodelLaw, came: Instant) -> bool {
        let passes = !self.dropping && now.since(came) < law.spared;
        if passes {
            self.first_above = law.below;
        }
        passes
    }

    /// As [`Self::dequeue`], with all questions.
    #[inline(never)]
    pub(crate) fn judge<S: Source>(&mut self, now: Instant, params: &CodelParams, source: &mut S) -> bool {
        match params.variant {
            CodelVariant::Linux => linux::dequeue(self, now, params, source),
            _ => exact::dequeue(self, now, params, source),
        }
    }

    /// As [`Self::judge`], of a bin of ns-2's `sfqcodel.cc`, which has a packet: a drop that
    /// empties it leaves the time since which it is above target.
    pub(crate) fn judge_bin<S: Source>(
        &mut self,
        now: Instant,
        params: &CodelParams,
        source: &mut S,
    ) -> bool {
        let first_above = self.first_above;
        let is_left = self.judge(now, params, source);
        if !is_left {
            self.first_above = first_above;
        }
        is_left
    }

    /// A packet of so many bytes was seen, if not in this queue.
    pub(crate) fn know_largest(&mut self, bytes: u32) {
        self.max_packet = self.max_packet.max(bytes);
    }

    /// A dequeue found the queue empty; `below` is `first_above` of a queue below target.
    #[inline]
    pub(crate) const fn emptied(&mut self, below: u64) {
        self.first_above = below;
        self.dropping = false;
    }

    /// Dropping ends, whatever comes.
    pub(crate) const fn stop(&mut self) {
        self.dropping = false;
    }

    /// Drops since dropping began, as the control law counts them.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// What the count was when dropping last began.
    #[must_use]
    pub const fn lastcount(&self) -> u32 {
        self.lastcount
    }

    /// Adds drops that somebody else made, as `fq_codel` does at an overflow.
    pub const fn add_to_count(&mut self, drops: u32) {
        self.count = self.count.wrapping_add(drops);
    }

    /// True while the law is dropping.
    #[must_use]
    pub const fn is_dropping(&self) -> bool {
        self.dropping
    }

    /// The time until the next drop; 0 while nothing is being dropped.
    #[must_use]
    pub fn until_drop(&self, params: &CodelParams, now: Instant) -> Gauge {
        if !self.dropping {
            return Gauge::Time(Duration::ZERO);
        }
        if params.variant == CodelVariant::Linux {
            return linux::until(self.drop_next, now);
        }
        let next = Instant::from_nanos(self.drop_next);
        if next >= now { Gauge::Time(next.since(now)) } else { Gauge::Overdue(now.since(next)) }
    }
}

/// `first_above` of a queue that is below target.
const fn below(variant: CodelVariant) -> u64 {
    if matches!(variant, CodelVariant::Linux) { 0 } else { NEVER }
}

/// The parameters, and what they say about nearly every packet of a queue that is under control,
/// found once for all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CodelLaw {
    /// What the control law is told.
    pub params: CodelParams,
    /// A packet that has waited for less may be sent while nothing is being dropped. Not all that
    /// are below target: the law says which of the others are.
    spared: Duration,
    /// `first_above` then.
    pub(crate) below: u64,
}

impl CodelLaw {
    /// What `params` say.
    #[must_use]
    pub fn of(params: CodelParams) -> Self {
        let spared = match params.variant {
            _ if params.ce_threshold.is_some() => Duration::ZERO,
            CodelVariant::Rfc8289 => params.target,
            CodelVariant::Linux => linux::surely_below(params.target),
            CodelVariant::Cacm2012 | CodelVariant::Ns2 | CodelVariant::Ns2CableLabs => Duration::ZERO,
        };
        Self { params, spared, below: below(params.variant) }
    }
}

/// `count` at the beginning of an episode; `within` tells whether the last one ended less than so
/// many intervals ago.
fn recalled<N: From<u8>>(vars: &CodelVars, params: &CodelParams, within: impl Fn(N) -> bool) -> u32 {
    let (intervals, recalled) = match params.recall() {
        Recall::A => (16, vars.count.saturating_sub(1)),
        Recall::B => (8, vars.count.saturating_sub(2)),
        Recall::C => (16, vars.count.wrapping_sub(vars.lastcount)),
    };
    // RFC 8289 §5.5 asks for more than one; the others for a count that leaves at least one.
    let enough = if params.recall() == Recall::C { 2 } else { 1 };
    if recalled >= enough && within(N::from(intervals)) { recalled } else { 1 }
}

impl CodelParams {
    /// The age at `now` of a packet that came at `came`, as the variant's clock has it.
    fn age(&self, came: Instant, now: Instant) -> Duration {
        match self.variant {
            CodelVariant::Linux => linux::age(came, now),
            _ => now.since(came),
        }
    }
}

impl<P: Packet> Codel<P> {
    /// An empty queue.
    #[must_use]
    pub fn new(config: CodelConfig) -> Self {
        Self {
            config,
            law: CodelLaw::of(config.params),
            vars: CodelVars::starting(&config.params),
            queue: Fifo::default(),
            taken_ahead: false,
            stats: Stats::default(),
            tally: CodelTally::default(),
            last: (Instant::ZERO, Instant::ZERO),
            now: Instant::ZERO,
        }
    }

    /// The state of the control law.
    #[must_use]
    pub const fn vars(&self) -> &CodelVars {
        &self.vars
    }

    #[inline(never)]
    fn judge(&mut self, drops: &mut impl Drops<P>) -> bool {
        let mut vars = self.vars;
        let (now, params) = (self.now, self.config.params);
        let sends = vars.judge(now, &params, &mut FifoSource { codel: self, drops });
        self.vars = vars;
        sends
    }

    #[inline]
    fn take(&mut self) -> Option<P> {
        let Queued { at, packet } = self.queue.pop_front()?;
        self.tally.max_packet = self.tally.max_packet.max(packet.len());
        self.last = (at, self.now);
        Some(packet)
    }
}

impl<P: Packet, R> Build<P, R> for Codel<P> {
    fn build(config: CodelConfig, _salt: u32, _random: R) -> Self {
        Self::new(config)
    }
}

impl<P: Packet> Qdisc<P> for Codel<P> {
    type Config = CodelConfig;

    #[inline]
    fn enqueue(&mut self, now: Instant, packet: P, drops: &mut impl Drops<P>) {
        self.now = self.now.max(now);
        // RFC 8289 §5.4: drops of a full buffer are not the control law's business.
        if self.queue.len() + usize::from(self.taken_ahead) >= self.config.limit as usize {
            self.stats.dropped_before.add(packet.len());
            drops.dropped(packet, DropReason::Overlimit);
            return;
        }
        self.queue.push_back(self.now, packet);
    }

    #[inline]
    fn dequeue(&mut self, now: Instant, drops: &mut impl Drops<P>) -> Option<P> {
        self.now = self.now.max(now);
        let Some(head) = self.queue.front() else {
            self.vars.emptied(self.law.below);
            return None;
        };
        let passes = self.vars.passes(self.now, &self.law, head.at);
        if passes || self.judge(drops) { self.take() } else { None }
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

    fn reconfigure(&mut self, _now: Instant, config: CodelConfig, drops: &mut impl Drops<P>) {
        if config.params.variant != self.config.params.variant {
            // The variants keep time in different units: what one remembers means nothing to the
            // other.
            self.vars = CodelVars::starting(&config.params);
        }
        (self.config, self.law) = (config, CodelLaw::of(config.params));
        while self.queue.len() > self.config.limit as usize {
            // Linux sch_codel: what no longer fits is dropped from the head.
            let Some(oldest) = self.queue.pop_front() else { break };
            self.stats.dropped_after.add(oldest.packet.len());
            drops.dropped(oldest.packet, DropReason::Overlimit);
        }
    }

    fn config(&self) -> CodelConfig {
        self.config
    }

    fn purge(&mut self, _now: Instant, drops: &mut impl Drops<P>) {
        while let Some(queued) = self.queue.pop_front() {
            self.stats.dropped_after.add(queued.packet.len());
            drops.dropped(queued.packet, DropReason::Purged);
        }
        self.vars = CodelVars::starting(&self.config.params);
    }
}

impl<P: Packet> Lookahead<P> for Codel<P> {
    fn set_taken_ahead(&mut self, _now: Instant, taken: bool) {
        self.taken_ahead = taken;
    }
}

impl<P: Packet> Observe for Codel<P> {
    fn observe(&self, now: Instant, seen: &mut Observation) {
        let (vars, params) = (&self.vars, &self.config.params);
        seen.number("count", u64::from(vars.count()));
        seen.number("lastcount", u64::from(vars.lastcount()));
        seen.time("ldelay", params.age(self.last.0, self.last.1));
        if vars.dropping {
            seen.gauges.push(("dropping", Gauge::Flag(true)));
        }
        seen.gauges.push(("drop_next", vars.until_drop(params, self.now.max(now))));
        seen.number("maxpacket", u64::from(self.tally.max_packet));
        seen.number("ecn_mark", self.tally.ecn_mark);
        seen.number("drop_overlimit", self.stats.dropped_before.packets);
        if params.ce_threshold.is_some() {
            seen.number("ce_mark", self.tally.ce_mark);
        }
    }
}

impl<P: Packet> Inner<P> for Codel<P> {}

struct FifoSource<'a, P, D> {
    codel: &'a mut Codel<P>,
    drops: &'a mut D,
}

impl<P: Packet, D: Drops<P>> Source for FifoSource<'_, P, D> {
    fn head(&self) -> Option<Head> {
        let queue = &self.codel.queue;
        let queued = queue.front()?;
        let bytes = queued.packet.len();
        Some(Head { at: queued.at, bytes, bytes_behind: queue.bytes().saturating_sub(u64::from(bytes)) })
    }

    fn drop_head(&mut self) {
        if let Some(packet) = self.codel.take() {
            self.codel.stats.dropped_after.add(packet.len());
            self.drops.dropped(packet, DropReason::Congested);
        }
    }

    fn mark_head(&mut self, why: Mark) -> bool {
        let Codel { queue, stats, tally, .. } = &mut *self.codel;
        queue.front_mut().is_some_and(|packet| mark(packet, why, stats, tally))
    }
}

/// ns-2 codel.cc: the largest packet seen starts at 256 bytes.
const FIRST_MAX_PACKET: u32 = 256;

/// The parameter error that both laws raise.
fn out_of_range(parameter: &'static str, span: Duration, allowed: &'static str) -> ConfigError {
    ConfigError::new(parameter, format!("{span}"), allowed)
}
