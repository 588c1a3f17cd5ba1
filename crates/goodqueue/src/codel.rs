//! CoDel: controlled delay.
//!
//! # What it does
//! CoDel judges the queue by the sojourn time of its packets. A sojourn time at or above `target`
//! for a whole `interval` means a standing queue. CoDel then drops (or marks) the packet at the
//! head, and continues at decreasing distances of `interval / sqrt(count)`. It stops as soon as one
//! packet was queued for less than `target`.
//!
//! # Reference
//! RFC 8289 (2018); Nichols & Jacobson, "Controlling Queue Delay", ACM Queue 10(5), 2012; Linux 7.3
//! and 6.1 `include/net/codel_impl.h` and `net/sched/sch_codel.c`, 6.1 with the stable fix that
//! forgets `first_above_time` when a dequeue finds the queue empty (in 6.1.192).
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
//! | name | meaning | unit | default | source of the default | range |
//! |---|---|---|---|---|---|
//! | `limit` | packets that the queue holds | packets | 1000p | Linux sch_codel | 1 to 4294967295 |
//! | `target` | acceptable sojourn time of a standing queue | time | 5ms | RFC 8289 §4.2 | any; linux, linux61: at most 2199s; sensible: 5 to 10 % of interval, and at least the serialization time of one packet |
//! | `interval` | time within which the sojourn time must fall below target at least once | time | 100ms | RFC 8289 §4.3 | more than 0; linux: at most 2199s; linux61: 1024ns to 2199s; sensible: the longest expected round-trip time |
//! | `ecn` | mark ECN-capable packets instead of dropping them | flag | noecn | Linux sch_codel | |
//! | `ce_threshold` | sojourn time above which every ECN-capable packet is marked | time | off | Linux sch_codel | any |
//! | `recall` | drop count with which the next dropping phase starts | `a`, `b`, `c` | rfc8289, linux, linux61: c; cacm2012: a; ns2: b | RFC 8289 §5.5; Linux; Nichols & Jacobson 2012; ns-2 | a: last count - 1, if the last phase ended less than 16 intervals ago; b: last count - 2, within 8 intervals; c: the drops that the last phase added, within 16 intervals |
//! | `startup` | state of a queue that has seen no packet | `zero`, `ns2` | zero | RFC 8289 §5.3; ns-2 codel.cc | zero: below target; ns2: above target for longer than an interval |
//! | `variant` | `linux`: Linux 7.3 sch_codel, bit for bit. `rfc8289`: RFC 8289 with exact arithmetic. `linux61`: Linux 6.1 sch_codel, bit for bit. `cacm2012`: the pseudo-code of Nichols & Jacobson 2012, and their first ns-2 code. `ns2`: Nichols' later ns-2 code of 2012 | word | linux | | |
//!
//! # Deviations
//! * `rfc8289`: the square root is exact to the nanosecond (an integer root of `interval² /
//!   count`). The RFC leaves the details of marking open (§3). As in Linux, a dequeue marks at
//!   most one packet and delivers it.
//! * `linux`: none known. The clock counts units of 1024 ns in 32 bits, so `interval` is at most
//!   2199 s. Two drops are at least one unit apart. After 256 drops in one dequeue the next drop
//!   is scheduled from the present time instead of the time at which the last one was due. The
//!   inverse square root improves by one Newton step per drop: the second distance is 50 ms, where
//!   the law gives 70.7 ms. A packet that arrives with CE is not counted as marked.
//! * `linux61`: as `linux`, without these two rules. `interval` must be at least 1024 ns, because
//!   Linux 6.1 would drop without end.
//! * `cacm2012`: a phase of dropping that starts within 16 intervals of the last one resumes at
//!   `count - 1`. "At most one packet left" means at most the largest packet seen.
//! * `ns2` (Nichols' later code of 2012): a phase that starts within 8 intervals resumes at
//!   `count - 2`, or at 0.9844 of `count` if that is more than 126 (never with `recall b`). A drop
//!   that ends the phase is not counted. The wait before re-entry within 8 intervals is `interval /
//!   sqrt(count)`. ns-2 starts with `first_above_time` at -1, as if the queue had been above
//!   target for long. `startup ns2` does the same in every variant; without it, every variant
//!   starts below target.
//!
//! # Cost
//! Constant per packet, plus dropped packets. Each drop computes one 128-bit integer root (`linux`:
//! one Newton step).
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
pub(crate) mod evidence;
pub(crate) mod exact;
mod law;
mod linux;
#[cfg(test)]
mod tests;
mod vars;

pub use config::{
    CE_THRESHOLD, CeSelector, CodelConfig, CodelParams, CodelVariant, INTERVAL, RECALL, Recall, STARTUP,
    Startup, TARGET,
};
pub(crate) use config::{
    CE_THRESHOLD_SELECTOR, CE_THRESHOLD_SHOWN, ECN, INTERVAL_SHOWN, LIMIT, RECALL_RULES, TARGET_SHOWN,
};
pub use controller::{Controller, Waiting};
pub use exact::control_law;
pub use law::CodelLaw;
pub use vars::CodelVars;

use crate::config::{Build, Configure as _};
use crate::decision::{Evidence, Limit, Quantity, Question, Rule};
use crate::gauge::{Gauge, Observation, Observe};
pub(crate) use crate::head::mark;
pub use crate::head::{CodelTally, Head, Mark, Source};
use crate::nesting::Inner;
use crate::packet::{Ecn, Packet};
use crate::qdisc::{DropReason, Drops, Lookahead, Qdisc, Stats};
use crate::queue::{Fifo, Queued};
use crate::time::Instant;

/// The queue `codel`: one FIFO under CoDel's control law.
#[derive(Clone, Debug)]
pub struct Codel<P> {
    config: CodelConfig,
    law: CodelLaw,
    vars: CodelVars,
    queue: Fifo<P>,
    /// A packet that the parent keeps counts against the limit.
    taken_ahead: bool,
    /// Counters except those that the queue keeps.
    stats: Stats,
    tally: CodelTally,
    /// When the last packet arrived, and when it left.
    last_came: Instant,
    last_left: Instant,
    now: Instant,
}

impl<P: Packet> Codel<P> {
    /// An empty queue.
    #[must_use]
    pub fn new(config: CodelConfig) -> Self {
        Self {
            config,
            law: CodelLaw::from_params(config.params),
            vars: CodelVars::starting(&config.params),
            queue: Fifo::default(),
            taken_ahead: false,
            stats: Stats::default(),
            tally: CodelTally::default(),
            last_came: Instant::ZERO,
            last_left: Instant::ZERO,
            now: Instant::ZERO,
        }
    }

    /// The state of the control law.
    #[must_use]
    pub const fn vars(&self) -> &CodelVars {
        &self.vars
    }

    // Most packets pass without being judged. Out of line, the loop that drops does not lengthen
    // the path of those packets.
    #[inline(never)]
    fn judge(&mut self, drops: &mut impl Drops<P>) -> bool {
        // A copy, because the source of packets borrows the whole discipline. It has at most 32
        // bytes.
        let mut vars = self.vars;
        let now = self.now;
        let params = self.config.params;
        let sends = vars.judge(now, &params, &mut FifoSource { codel: self, drops });
        self.vars = vars;
        sends
    }

    #[inline]
    fn take(&mut self) -> Option<P> {
        let Queued { at, packet } = self.queue.pop_front()?;
        self.tally.max_packet = self.tally.max_packet.max(packet.len());
        // Linux sets `ldelay` for every packet that it takes from the queue, also for those that it
        // drops.
        self.last_came = at;
        self.last_left = self.now;
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
        // Time never goes backwards here, whatever the caller says: sojourn times stay positive.
        self.now = self.now.max(now);
        let Some(head) = self.queue.front() else {
            // Only an empty dequeue ends a phase in the kernel; a queue that becomes empty does
            // not.
            self.vars.emptied(self.law.below);
            return None;
        };
        // A packet far below target changes no state outside of a dropping phase.
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
        // As in Linux, the state of the law survives a change of its parameters.
        if config.params.variant != self.config.params.variant {
            // The variants keep time in different units: what one remembers means nothing to the
            // other.
            self.vars = CodelVars::starting(&config.params);
        }
        (self.config, self.law) = (config, CodelLaw::from_params(config.params));
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
        // As `codel_reset()` in Linux, which clears the law along with the queue.
        self.vars = CodelVars::starting(&self.config.params);
    }
}

impl<P: Packet> Lookahead<P> for Codel<P> {
    const RULES: &'static [&'static [Rule]] = &[evidence::RULES, evidence::OF_QUEUE];

    fn set_taken_ahead(&mut self, _now: Instant, taken: bool) {
        self.taken_ahead = taken;
    }

    fn evidence(&self, question: &Question<'_, P>) -> Evidence {
        let mut evidence = Evidence::from_kind(CodelConfig::KIND.name);
        let about = &question.about;
        let bytes = question.packet.len();
        // The question is about the head, which the queue still counts.
        let bytes_behind = self.queue.bytes().saturating_sub(u64::from(bytes));
        let head = Head { at: about.arrived, bytes, bytes_behind };
        self.vars.observe(&self.config.params, about, &head, evidence::DEQUEUE, &mut evidence);
        let held = self.queue.len() as u64 + u64::from(self.taken_ahead);
        let limit = Limit {
            held: Quantity::Packets(held),
            allowed: Quantity::Packets(u64::from(self.config.limit)),
            rule: evidence::FULL,
            source: "RFC 8289 §5.4",
        };
        evidence.limit(about, DropReason::Overlimit, &limit);
        evidence
    }
}

impl<P: Packet> Observe for Codel<P> {
    fn observe(&self, now: Instant, seen: &mut Observation) {
        let vars = &self.vars;
        let params = &self.config.params;
        seen.number("count", u64::from(vars.count()));
        seen.number("lastcount", u64::from(vars.lastcount()));
        seen.time("ldelay", params.age(self.last_came, self.last_left));
        if vars.is_dropping() {
            // tc prints this value only while it is true.
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

    fn head_ecn(&self) -> Option<Ecn> {
        self.codel.queue.front().map(|queued| queued.packet.ecn())
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
