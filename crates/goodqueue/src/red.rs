//! Random early detection: `red`.
//!
//! # What it does
//! A low-pass filter over the queue length distinguishes a standing queue from a burst. While the
//! average is between `min` and `max`, arriving packets are dropped (or marked) with a probability
//! that grows up to `probability`, at even distances. Above `max` every arriving packet is dropped.
//! With `adaptive` the probability follows the load, so that the average stays in the middle
//! between `min` and `max`.
//!
//! # Reference
//! S. Floyd and V. Jacobson, "Random Early Detection Gateways for Congestion Avoidance", 1993; S.
//! Floyd, R. Gummadi and S. Shenker, "Adaptive RED", 2001; behaviour of Linux 6.1
//! `net/sched/sch_red.c`, `include/net/red.h` and of iproute2's `red`; tc-red(8).
//!
//! # State
//! ```text
//! avg   += w * (queue - avg) at each arrival; after idle time as if that many small packets had found it empty
//! count  packets since the last drop or mark; -1 while avg < min
//!        avg:   0 ......... min ~~~~~~~~~~ max .................  limit
//!               no drop         drop evenly    drop all (gentle: linear up to 2 max)
//! ```
//!
//! # Parameters
//! | name | meaning | unit | default | source of the default | range |
//! |---|---|---|---|---|---|
//! | `limit` | bytes that the queue holds | bytes | 4 x max, at least 127 MTU; ns2: 50 avpkt | room for the average to act; tc demands it; ns-2 | 1 to 4294967295 |
//! | `min` | average queue length below which nothing is dropped | bytes | max / 3; 10 ms of the link rate, at least 1 MTU; floyd1993, ns2: 5 avpkt | tc; Høiland-Jørgensen et al. 2015; Floyd 1993, 2001; ns-2 | 1 to max - 1 |
//! | `max` | average queue length above which every packet is dropped | bytes | 3 x min, or limit / 4; 2 MTU where min is 1 MTU by default | tc; Høiland-Jørgensen et al. 2015 | min + 1 to 4294967295 |
//! | `avpkt` | typical packet length, which sets how fast the average decays on an idle link | bytes | 1000, at most 2/3 MTU; ns2: 500 | tc-red(8); ns-2 | 1 to 4294967295; linux: below min |
//! | `burst` | length of a burst that passes, which sets how slowly the average moves | packets | (2 min + max) / (3 avpkt) | tc | at least min / avpkt |
//! | `probability` | largest probability of an early drop | fraction, 0 to 1 | 0.02; floyd1993 adaptive and ns2: 0.1 | tc; Floyd 2001; ns-2 | above 0 (at least 2^-32), to 1 |
//! | `bandwidth` | rate at which the average decays on an idle link | rate | the link rate | tc: 10mbit | 8bit or more |
//! | `adaptive` | adapt the probability to keep the average halfway between min and max | flag | off | tc | |
//! | `ecn` | mark ECN-capable packets instead of dropping them | flag | off | tc | |
//! | `harddrop` | above max, drop ECN-capable packets too | flag | off | tc | |
//! | `nodrop` | enqueue packets that cannot be marked instead of dropping them | flag | off | tc | needs ecn |
//! | `gentle` | let the probability rise to 1 between max and 2 x max, not jump | flag | off; on with adaptive and for ns2 | Floyd 2000, 2001; ns-2 | variants floyd1993 and ns2 |
//! | `bytemode` | measure the queue in bytes, and drop in proportion to packet length | flag | nobytemode; ns2: bytemode | Floyd and Jacobson 1993; ns-2 | variants floyd1993 and ns2 |
//! | `weight` | weight of one sample in the average | fraction, 0 to 1 | 0.002; with adaptive 1 - e^(-1/C), C in packets/s; ns2: see autoweight | Floyd and Jacobson 1993; Floyd 2001; ns-2 | variants floyd1993 and ns2: above 0, to 1 |
//! | `wait` | after each drop, let 1/p packets pass before the next | flag | nowait; ns2: wait | ns-2 | variant ns2 |
//! | `autoweight` | rule for the default weight. delay: 1 - e^(-1/(10 R C)) with R = max(0.1 s, 3 (link delay + 1/C)); rate: 1 - e^(-1/C); fast: 1 - e^(-10/C); C: link rate in packets/s | `delay`, `rate`, `fast` | delay | ns-2: q_weight -1, 0, -2 | variant ns2 |
//! | `variant` | `linux`: Linux 6.1 and tc, bit for bit. `floyd1993`: Floyd and Jacobson 1993; with adaptive, Floyd et al. 2001. `ns2`: ns-2.35, which derives its parameters from the rate and delay of the link | word | linux | | |
//!
//! The `ns2` default of `min` is half of the bytes that the link sends in 5 ms, at least 5 avpkt,
//! and of `max` 3 × min. The `floyd1993` default of `min` is 5 avpkt, with `adaptive` at least half
//! of the bytes that the link sends in 5 ms, and of `max` 3 × min.
//!
//! # Deviations
//! `linux`: the integers of Linux 6.1 and the tables of tc 6.1, except that thresholds and averages
//! have 64 bits. Large thresholds that Linux refuses are therefore possible. The queue is a `bfifo`
//! of `limit` bytes. `adaptive` works; iproute2 6.1 sets a flag that the kernel ignores. Its timer
//! runs from the start, so a queue that stays without packets for long starts with a small
//! probability. A `probability` of 1 becomes a power of two over max - min, from 0.5 to 1, as in
//! Linux, because tc's 1 does not fit in 32 bits. Above `max`, `harddrop` drops ECN-capable packets
//! too.
//!
//! `floyd1993`: queue length and thresholds count packets of `avpkt` bytes. With `bytemode` they
//! count bytes, and the probability is proportional to the packet length. The exponent of the idle
//! decay is rounded down. `adaptive` compares its band with the average after the decay of the idle
//! time so far.
//!
//! `ns2`: `limit` is never exceeded; ns-2 admits a packet while less than the limit is queued. The
//! idle decay is a power by squaring, where ns-2 multiplies once per missed packet; the results
//! differ in the last digits. The series for e^x is accurate to 10^-14. Signals above a probability
//! of 10 % are drops even with `ecn` (ns-2's `mark_p_`). Missing: `cautious_`, Feng's adaptation,
//! and drops other than at the tail. With the arrivals and random numbers of ns-2.35, 36 of 40
//! random configurations drop the same packets up to the last one. One of the other four was
//! traced: an arrival and the end of a transmission coincide.
//!
//! `linux` and `floyd1993`: `adaptive` adapts every 500 ms of the caller's clock (`linux`: 504 ms,
//! as the timer of a 1000 Hz kernel fires). Adaptations that are due between two calls are made at
//! the later call, at most 256 of them (128 s). A packet that arrives with CE is not counted as
//! marked, and neither is a marked packet that the full buffer drops.
//!
//! # Cost
//! Constant per packet (`floyd1993`: about 60 multiplications after idle time); at most one drop
//! and 256 missed adaptations per call. A table of 256 bytes.
//!
//! # Example
//! ```
//! use goodqueue::{Configure, Link, Rate, Settings, red::RedConfig};
//! let link = Link { rate: Rate::from_bps(10_000_000), ..Link::default() };
//! let config = RedConfig::from_settings(&Settings::new(), &link).unwrap();
//! println!("{:?}", config.to_settings());
//! assert_eq!((config.min(), config.max()), (12_500, 37_500));
//! ```

mod arrival;
mod config;
mod evidence;
pub(crate) mod floyd1993;
pub(crate) mod linux;
mod ns2;
mod weight;

pub(crate) use arrival::{Arrival, Signal};
pub(crate) use config::{BANDWIDTH, SMALLEST_FRACTION, bandwidth};
pub use config::{RedConfig, RedVariant};
pub(crate) use weight::filter_shift;

use crate::config::{Build, Configure as _};
use crate::decision::{Evidence, Limit, Moment, Quantity, Question, Rule};
use crate::gauge::{Observation, Observe};
use crate::nesting::Inner;
use crate::packet::{Ecn, Packet};
use crate::qdisc::{DropReason, Drops, Lookahead, NextLen, Qdisc, Stats};
use crate::queue::Fifo;
use crate::random::Random;
use crate::time::Instant;

/// A queue under RED.
#[derive(Clone, Debug)]
pub struct Red<P, R> {
    config: RedConfig,
    random: R,
    queue: Fifo<P>,
    algorithm: Algorithm,
    /// Latest time seen (contract rule 1).
    now: Instant,
    /// When `adaptive` looks next; set by the first call.
    adapt_at: Option<Instant>,
    /// Counters except those that the queue keeps.
    stats: Stats,
    tally: Tally,
}

/// What Linux counts for `tc -s` beside the packets.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Tally {
    /// Signals, whether they led to a mark, a drop or nothing.
    signals: u64,
    /// Marks instead of drops; packets that had a mark already count.
    marked: u64,
    /// Early drops.
    early: u64,
    /// Drops because the queue was full.
    full: u64,
}

/// The averaging and decision of a variant. Everything else is shared.
#[derive(Clone, Debug)]
enum Algorithm {
    Linux(linux::Linux),
    Floyd1993(floyd1993::Floyd1993),
    Ns2(ns2::Ns2),
}

impl Algorithm {
    fn new(config: &RedConfig) -> Self {
        match config.variant {
            RedVariant::Linux => Self::Linux(linux::Linux::new(config)),
            RedVariant::Floyd1993 => Self::Floyd1993(floyd1993::Floyd1993::new(config)),
            RedVariant::Ns2 => Self::Ns2(ns2::Ns2::new(config)),
        }
    }

    /// Averages an arrival and returns true if it needs no decision. Otherwise changes nothing and
    /// returns false: see [`Self::arrival`].
    #[inline]
    fn spares(&mut self, backlog: u64) -> bool {
        match self {
            Self::Linux(linux) => linux.spares(backlog),
            Self::Floyd1993(_) | Self::Ns2(_) => false,
        }
    }

    /// Averages and decides.
    fn arrival(&mut self, arrival: &Arrival, random: &mut impl Random) -> Signal {
        match self {
            Self::Linux(linux) => linux.arrival(arrival, random),
            Self::Floyd1993(floyd) => floyd.arrival(arrival, random),
            Self::Ns2(ns2) => ns2.arrival(arrival, random),
        }
    }

    /// A `dequeue` has returned (`found`) or found nothing, and has left `packets`.
    #[inline]
    fn departure(&mut self, now: Instant, found: bool, packets: usize) {
        match self {
            // Linux and ns-2: idle since the first dequeue that finds no packet.
            Self::Linux(linux) if !found => linux.idle(now),
            Self::Ns2(ns2) if !found => ns2.idle(now),
            Self::Linux(_) | Self::Ns2(_) => {}
            // 1993: from the moment the queue is empty.
            Self::Floyd1993(floyd) if found && packets == 0 => floyd.idle(now),
            Self::Floyd1993(_) => {}
        }
    }

    fn average(&self) -> f64 {
        match self {
            Self::Linux(linux) => linux.average(),
            Self::Floyd1993(floyd) => floyd.average(),
            Self::Ns2(ns2) => ns2.average(),
        }
    }

    fn max_probability(&self) -> f64 {
        match self {
            Self::Linux(linux) => linux.max_probability(),
            Self::Floyd1993(floyd) => floyd.max_probability(),
            Self::Ns2(ns2) => ns2.max_probability(),
        }
    }

    /// The probability at the average, before spacing.
    fn probability(&self) -> f64 {
        match self {
            Self::Linux(linux) => linux.probability(),
            Self::Floyd1993(floyd) => floyd.probability(),
            Self::Ns2(ns2) => ns2.probability(),
        }
    }

    /// Packets since the last signal; `None` below the thresholds.
    fn count(&self) -> Option<u64> {
        match self {
            Self::Linux(linux) => linux.count(),
            Self::Floyd1993(floyd) => floyd.count(),
            Self::Ns2(ns2) => Some(ns2.count()),
        }
    }

    fn adapt(&mut self, now: Instant, is_idle: bool) {
        match self {
            Self::Linux(linux) => linux.adapt(now),
            Self::Floyd1993(floyd) => floyd.adapt(now, is_idle),
            // It looks at arrivals.
            Self::Ns2(_) => {}
        }
    }

    /// The buffer was full.
    fn overflowed(&mut self) {
        if let Self::Ns2(ns2) = self {
            ns2.dropped();
        }
    }
}

impl<P: Packet, R: Random> Red<P, R> {
    /// An empty queue that draws from `random`.
    #[must_use]
    pub fn new(config: RedConfig, random: R) -> Self {
        Self {
            config,
            random,
            queue: Fifo::default(),
            algorithm: Algorithm::new(&config),
            now: Instant::ZERO,
            adapt_at: None,
            stats: Stats::default(),
            tally: Tally::default(),
        }
    }

    /// The average queue length, in bytes, as of the last arrival.
    #[must_use]
    pub fn average(&self) -> f64 {
        self.algorithm.average()
    }

    /// The largest probability of an early signal, which `adaptive` moves.
    #[must_use]
    pub fn max_probability(&self) -> f64 {
        self.algorithm.max_probability()
    }

    /// For `linux`: what the kernel calls `max_P` (1 = 2^32) and `qavg` (bytes × 2^Wlog).
    #[must_use]
    pub fn raw(&self) -> Option<(u64, u64)> {
        match &self.algorithm {
            Algorithm::Linux(linux) => Some(linux.raw()),
            Algorithm::Floyd1993(_) | Algorithm::Ns2(_) => None,
        }
    }

    /// Does the looks of `adaptive` that are due at `now`. Every call of the queue does so by
    /// itself.
    #[inline]
    pub fn update(&mut self, now: Instant) {
        // Rule 1 of the contract: a time before the latest one counts as the latest.
        self.now = self.now.max(now);
        if self.adapt_at.is_none_or(|at| at <= self.now) {
            self.catch_up();
        }
    }

    #[inline(never)]
    fn catch_up(&mut self) {
        let config = &self.config;
        // Linux's timer runs from the beginning, whether packets come or not.
        let first = || match config.variant {
            RedVariant::Linux => config.next_look(Instant::ZERO),
            _ => config.resumed(config.next_look(Instant::ZERO), self.now),
        };
        let mut at = *self.adapt_at.get_or_insert_with(first);
        if self.now < at {
            return;
        }
        let mut done = 0;
        while at <= self.now && done < MAX_LOOKS {
            if self.config.adaptive {
                self.algorithm.adapt(at, self.queue.is_empty());
            }
            at = self.config.next_look(at);
            done += 1;
        }
        // The remaining updates are too old to matter: only the phase of the clock advances.
        at = self.config.resumed(at, self.now);
        self.adapt_at = Some(at);
    }

    /// Whether a packet that `signal` is about stays, and whether the signal made it carry CE.
    fn stays(&mut self, signal: Signal, packet: &mut P) -> (bool, bool) {
        let must_drop = signal == Signal::Unmarkable || (signal == Signal::Forced && self.config.hard_drop);
        let may_mark = self.config.ecn && !must_drop;
        if matches!(signal, Signal::Spared(_)) {
            return (true, false);
        }
        if !may_mark {
            return (false, false);
        }
        let already = packet.ecn() == Ecn::Ce;
        let carries = packet.set_ce();
        self.tally.marked = self.tally.marked.wrapping_add(u64::from(carries));
        (carries || self.config.no_drop, carries && !already)
    }

    /// Averages, and decides what becomes of an arriving packet, for which there is room if it
    /// `fits`.
    #[inline(never)]
    fn judge(&mut self, fits: bool, mut packet: P, drops: &mut impl Drops<P>) {
        let bytes = packet.len();
        let backlog = self.queue.bytes();
        let packets = self.queue.len();
        let arrival = Arrival { now: self.now, backlog, packets, bytes };
        let signal = self.algorithm.arrival(&arrival, &mut self.random);
        let (stays, marked) = self.stays(signal, &mut packet);
        let signalled = u64::from(!matches!(signal, Signal::Spared(_)));
        self.tally.signals = self.tally.signals.wrapping_add(signalled);
        // RED decides before the limit: in Linux the limit is that of the FIFO behind RED.
        let why = if !stays {
            self.tally.early = self.tally.early.wrapping_add(1);
            DropReason::Congested
        } else if !fits {
            self.algorithm.overflowed();
            self.tally.full = self.tally.full.wrapping_add(1);
            DropReason::Overlimit
        } else {
            if marked {
                self.stats.marked.add(bytes);
            }
            self.queue.push_back(self.now, packet);
            return;
        };
        self.stats.dropped_before.add(bytes);
        drops.dropped(packet, why);
    }

    fn drop_oldest(&mut self, why: DropReason, drops: &mut impl Drops<P>) -> bool {
        let Some(oldest) = self.queue.pop_front() else { return false };
        self.stats.dropped_after.add(oldest.packet.len());
        drops.dropped(oldest.packet, why);
        true
    }
}

impl<P: Packet, R: Random> Build<P, R> for Red<P, R> {
    fn build(config: RedConfig, _salt: u32, random: R) -> Self {
        Self::new(config, random)
    }
}

impl<P: Packet, R: Random> Qdisc<P> for Red<P, R> {
    type Config = RedConfig;

    #[inline]
    fn enqueue(&mut self, now: Instant, packet: P, drops: &mut impl Drops<P>) {
        self.update(now);
        let backlog = self.queue.bytes();
        let fits = backlog + u64::from(packet.len()) <= u64::from(self.config.limit);
        if fits && self.algorithm.spares(backlog) {
            self.queue.push_back(self.now, packet);
        } else {
            self.judge(fits, packet, drops);
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Instant, _drops: &mut impl Drops<P>) -> Option<P> {
        self.update(now);
        let packets = self.queue.len();
        // The algorithm is told of the packets that stay, before one leaves.
        self.algorithm.departure(self.now, packets > 0, packets.saturating_sub(1));
        self.queue.pop_front().map(|queued| queued.packet)
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

    /// As in Linux, the average is reset, because its scale depends on the configuration. Linux
    /// also replaces the queue, so queued packets are dropped.
    fn reconfigure(&mut self, now: Instant, config: RedConfig, drops: &mut impl Drops<P>) {
        self.update(now);
        // A change to the configuration in force must change nothing (`Qdisc::config`).
        if config == self.config {
            return;
        }
        self.config = config;
        self.algorithm = Algorithm::new(&config);
        if config.variant == RedVariant::Linux {
            while self.drop_oldest(DropReason::Purged, drops) {}
            // Linux `red_change()` starts an idle period, because the new queue is empty.
            self.algorithm.departure(self.now, false, 0);
            self.adapt_at = Some(config.next_look(self.now));
            return;
        }
        while self.queue.bytes() > u64::from(config.limit) {
            let Some(youngest) = self.queue.pop_back() else { break };
            self.stats.dropped_after.add(youngest.packet.len());
            drops.dropped(youngest.packet, DropReason::Overlimit);
        }
    }

    fn config(&self) -> RedConfig {
        self.config
    }

    fn purge(&mut self, now: Instant, drops: &mut impl Drops<P>) {
        self.update(now);
        while self.drop_oldest(DropReason::Purged, drops) {}
        self.algorithm = Algorithm::new(&self.config);
    }
}

impl<P: Packet, R: Random> Lookahead<P> for Red<P, R> {
    const RULES: &'static [&'static [Rule]] = &[evidence::RULES];

    fn next_len(&self) -> Option<u32> {
        self.queue.front().map(|queued| queued.packet.len())
    }

    /// In Linux a parent that peeks at an empty queue does not dequeue, so RED below a token bucket
    /// is never idle.
    fn look_ahead(&mut self, now: Instant, _drops: &mut impl Drops<P>) -> Option<NextLen> {
        self.update(now);
        let next = self.queue.front().map(|queued| queued.packet.len());
        (next.is_some() || matches!(self.algorithm, Algorithm::Linux(_))).then_some(next)
    }

    fn evidence(&self, question: &Question<'_, P>) -> Evidence {
        let mut evidence = Evidence::from_kind(RedConfig::KIND.name);
        let about = &question.about;
        let backlog = self.queue.bytes();
        let packets = self.queue.len();
        let bytes = question.packet.len();
        let arrival = Arrival { now: about.now, backlog, packets, bytes };
        // An arrival first moves the average. The copy draws no number that would be a signal.
        let mut then = self.algorithm.clone();
        let signal =
            (about.moment == Moment::Arrival).then(|| then.arrival(&arrival, &mut evidence::Highest));
        let state = evidence::State {
            average: then.average(),
            max_p: then.max_probability(),
            probability: then.probability(),
            count: self.algorithm.count(),
            signal,
        };
        evidence::observe(&self.config, &state, &arrival, about, &mut evidence);
        let limit = Limit {
            held: Quantity::Bytes(backlog),
            allowed: Quantity::Bytes(u64::from(self.config.limit)),
            rule: evidence::FULL,
            source: "Floyd and Jacobson 1993",
        };
        evidence.limit(about, DropReason::Overlimit, &limit);
        evidence
    }
}

impl<P: Packet, R: Random> Observe for Red<P, R> {
    fn observe(&self, _now: Instant, seen: &mut Observation) {
        seen.overlimits = self.tally.signals;
        seen.number("marked", self.tally.marked);
        seen.number("early", self.tally.early);
        seen.number("pdrop", self.tally.full);
        // Linux counted here the drops of `drop()` calls, which its qdiscs no longer have.
        seen.number("other", 0);
    }
}

impl<P: Packet> Inner<P> for Red<P, crate::random::Source> {}

/// The probability crosses its whole range in less than 130 looks.
const MAX_LOOKS: u32 = 256;

#[cfg(test)]
mod tests;
