//! Random early detection: `red`.
//!
//! # What it does
//! A low-pass filter over the queue length tells a standing queue from a burst. While the average is between `min` and
//! `max`, arriving packets are dropped (or marked) with a probability that grows to `probability`, evenly spaced; above
//! `max` all are. With `adaptive` the probability follows the load so that the average stays in the middle.
//!
//! # Reference
//! S. Floyd and V. Jacobson, "Random Early Detection Gateways for Congestion Avoidance", 1993; S. Floyd, R. Gummadi and
//! S. Shenker, "Adaptive RED", 2001; behaviour of Linux 6.1 `net/sched/sch_red.c`, `include/net/red.h` and of iproute2's
//! `red`; tc-red(8).
//!
//! # State
//! ```text
//! avg   += w * (queue - avg) at each arrival; after an idle time as if that many small packets had found it empty
//! count  packets since the last drop or mark; -1 while avg < min
//!        avg:   0 ......... min ~~~~~~~~~~ max .................  limit
//!               no drop         drop evenly    drop all (gentle: linear up to 2 max)
//! ```
//!
//! # Parameters
//! | name | unit | default | source of the default | range |
//! |---|---|---|---|---|
//! | `limit` | bytes | max(4 × max, 127 MTU) | tc demands it; here room for the average to act | 1 to 2^32 - 1 |
//! | `min` | bytes | max / 3; without `limit` and `max` 10 ms of the link rate, at least one MTU | tc; Høiland-Jørgensen et al. 2015, table 1 (target delay 20 ms) | 1 to max - 1 |
//! | `max` | bytes | 3 × min, or limit / 4; 2 MTU where min is one MTU by default | tc; the same table | up to 2^32 - 1 |
//! | `avpkt` | bytes | 1000, at most 2/3 MTU | tc-red(8) recommends 1000 | 1 to 2^32 - 1 |
//! | `burst` | packets | (2 min + max) / (3 avpkt) | tc | at least min / avpkt |
//! | `probability` | fraction | 0.02; `floyd1993 adaptive`: 0.1 | tc; Floyd 2001 | above 0, to 1 |
//! | `bandwidth` | rate | the link rate | tc: 10 Mbit/s | 8 bit/s and more |
//! | `adaptive` | flag | off | tc | |
//! | `ecn` | flag | off | tc | |
//! | `harddrop` | flag | off | tc | |
//! | `nodrop` | flag | off | tc | needs `ecn` |
//! | `gentle` | flag | off; on with `adaptive` and in `ns2` | Floyd 2000; Floyd 2001; ns-2 | `floyd1993`, `ns2` |
//! | `bytemode` | flag | off; `ns2`: on | Floyd and Jacobson 1993; ns-2 | `floyd1993`, `ns2` |
//! | `weight` | fraction | 0.002; with `adaptive` 1 - e^(-1/C), C the link rate in packets per second; `ns2`: `autoweight` | 1993; 2001; ns-2 | `floyd1993`, `ns2`: above 0, to 1 |
//! | `wait` | flag | `ns2`: on | ns-2 | `ns2` |
//! | `autoweight` | word | `delay` | ns-2: q_weight -1, 0 or -2 | `ns2`: `delay`, `rate`, `fast` |
//!
//! `ns2` has other defaults, those of ns-2.35: `avpkt` 500, `limit` 50 avpkt, `probability` 0.1, `min` half of what the link
//! carries in 5 ms and at least 5 avpkt, `max` 3 × min.
//!
//! For `floyd1993` the default of `min` is 5 avpkt and of `max` 3 × min (1993); with `adaptive` `min` is at least half of
//! what the link carries in 5 ms (2001).
//!
//! # Deviations
//! `linux`: the integers of Linux 6.1 and the tables of tc 6.1, except that thresholds and averages are 64 bits wide,
//! so that large thresholds are possible which Linux refuses. The queue below is a `bfifo` of `limit` bytes. `adaptive`
//! works (iproute2 6.1 sets a flag at which that kernel does not look). `harddrop` drops what exceeds `max` even if
//! ECN-capable.
//!
//! `floyd1993`: queue length and thresholds in packets of `avpkt` bytes, with `bytemode` in bytes, the probability then
//! in proportion to the packet's length. The exponent of the idle decay is rounded down. The band of `adaptive` is
//! compared with the average decayed by the idle time so far.
//!
//! `ns2`: `limit` is never exceeded (ns-2 admits a packet while less than the limit is queued). The idle decay is a power
//! by squaring, where ns-2 multiplies once per packet missed; they differ in the last digits. The sum that stands for e^x
//! is right to 10^-14. Signals above 10 % are drops even with `ecn` (ns-2's `mark_p_`). Not there: `cautious_`, Feng's
//! adaptation, drops other than at the tail.
//!
//! `linux` and `floyd1993`: `adaptive` looks every 500 ms of the caller's clock (`linux`: 504, as the timer of a 1000 Hz kernel fires). Looks
//! that fall between two calls are made up for at the later one, at most 256 of them (128 s). A packet that carries CE
//! already is not counted as marked, nor one that the full buffer then drops.
//!
//! # Cost
//! Constant per packet (`floyd1993`: some 60 multiplications after an idle time); at most one drop and 256 missed updates
//! per call. A table of 256 bytes.
//!
//! # Example
//! ```
//! use goodqueue::{Configure, Link, Rate, Settings, red::RedConfig};
//! let link = Link { rate: Rate::from_bps(10_000_000), ..Link::default() };
//! let config = RedConfig::from_settings(&Settings::new(), &link).unwrap();
//! println!("{:?}", config.to_settings());
//! assert_eq!((config.min(), config.max()), (12_500, 37_500));
//! ```

pub(crate) mod floyd1993;
pub(crate) mod linux;
mod ns2;

use crate::config::{Build, ConfigError, Configure, Kind, Link, Parameter, Settings, Unit, Value, Variant};
use crate::gauge::Observation;
use crate::jiffies;
use crate::packet::{Ecn, Packet};
use crate::qdisc::{DropReason, Drops, NextLen, Qdisc, Stats};
use crate::queue::Fifo;
use crate::random::Random;
use crate::time::{Duration, Instant, Rate};

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
    /// Without what the queue knows.
    stats: Stats,
    tally: Tally,
}

/// What Linux counts for `tc -s` beside the packets.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Tally {
    /// Signals, whatever came of them.
    signals: u64,
    /// Marks instead of drops; packets that had a mark already count.
    marked: u64,
    /// Early drops.
    early: u64,
    /// Drops because the queue was full.
    full: u64,
}

/// Configuration of [`Red`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RedConfig {
    variant: RedVariant,
    limit: u32,
    min: u32,
    max: u32,
    avpkt: u32,
    burst: u32,
    probability: f64,
    bandwidth: Rate,
    adaptive: bool,
    ecn: bool,
    hard_drop: bool,
    no_drop: bool,
    gentle: bool,
    byte_mode: bool,
    wait: bool,
    weight: f64,
    mtu: u32,
}

/// Whose behaviour.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum RedVariant {
    /// Linux 6.1 with tc.
    Linux,
    /// Floyd and Jacobson 1993, `adaptive` as Floyd et al. 2001.
    Floyd1993,
    /// ns-2.35.
    Ns2,
}

/// Averaging and decision; everything else is the same.
#[derive(Clone, Debug)]
enum Algorithm {
    Linux(linux::Linux),
    Floyd1993(floyd1993::Floyd1993),
    Ns2(ns2::Ns2),
}

/// What the algorithm wants done about an arriving packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Signal {
    /// Nothing.
    None,
    /// A probabilistic signal, between the thresholds.
    Early,
    /// A certain one, above them.
    Forced,
    /// One that must be a drop.
    Unmarkable,
}

/// What an arriving packet finds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) now: Instant,
    pub(crate) backlog: u64,
    pub(crate) packets: usize,
    pub(crate) bytes: u32,
}

impl RedVariant {
    const fn name(self) -> &'static str {
        match self {
            Self::Linux => "linux",
            Self::Floyd1993 => "floyd1993",
            Self::Ns2 => "ns2",
        }
    }

    fn named(name: &'static str) -> Result<Self, ConfigError> {
        [Self::Linux, Self::Floyd1993, Self::Ns2]
            .into_iter()
            .find(|variant| variant.name() == name)
            .ok_or_else(|| ConfigError::new("variant", name, "linux, floyd1993 or ns2"))
    }
}

impl RedConfig {
    /// Bytes that the queue holds.
    #[must_use]
    pub const fn limit(&self) -> u32 {
        self.limit
    }

    /// Average below which nothing is dropped, in bytes.
    #[must_use]
    pub const fn min(&self) -> u32 {
        self.min
    }

    /// Average above which everything is dropped, in bytes.
    #[must_use]
    pub const fn max(&self) -> u32 {
        self.max
    }

    /// Whose behaviour.
    #[must_use]
    pub const fn variant(&self) -> RedVariant {
        self.variant
    }

    /// Transmission time of a packet of `avpkt` bytes.
    const fn packet_time(&self) -> Duration {
        self.bandwidth.serialization(self.avpkt)
    }

    /// When a look of `adaptive` is due that is armed at `at`.
    fn next_look(&self, at: Instant) -> Instant {
        match self.variant {
            RedVariant::Linux => jiffies::fires(at, ADAPT_INTERVAL),
            RedVariant::Floyd1993 | RedVariant::Ns2 => at + ADAPT_INTERVAL,
        }
    }

    /// The first look after `now` if one was due at `due` and none is made up for.
    fn resumed(&self, due: Instant, now: Instant) -> Instant {
        if due > now {
            return due;
        }
        let period = self.next_look(due).since(due).as_nanos().max(1);
        let late = Duration::from_nanos(now.since(due).as_nanos() % period);
        self.next_look(now - late)
    }

    /// The size of the queue in bytes, of which `given` (limit, min, max) may be known.
    fn sizes(&mut self, given: [Option<u32>; 3], link: &Link) -> Result<(), ConfigError> {
        let mtu = link.mtu.max(SMALLEST_MTU);
        let [limit, min, max] = given;
        (self.min, self.max) = match (self.variant, limit, min, max) {
            // Høiland-Jørgensen et al. 2015, table 1: 10 ms of the rate and three times that, but one and two packets
            // where 10 ms are less than one.
            (RedVariant::Linux, None, None, None) => {
                let part = u32::try_from(link.rate.bytes_in(Duration::from_millis(10))).unwrap_or(u32::MAX);
                if part < mtu { (mtu, mtu.saturating_mul(2)) } else { (part.min(u32::MAX / 12), 0) }
            }
            (RedVariant::Linux, Some(limit), None, None) => (0, limit / 4),
            (RedVariant::Floyd1993, _, None, None) => {
                let packets = self.avpkt.saturating_mul(5);
                let part =
                    if self.adaptive { self.bandwidth.bytes_in(Duration::from_millis(5)) / 2 } else { 0 };
                (packets.max(u32::try_from(part).unwrap_or(u32::MAX)).min(u32::MAX / 12), 0)
            }
            // ns-2: half of what the link carries in 5 ms, at least five packets, and three times that.
            (RedVariant::Ns2, _, None, None) => {
                let part = self.bandwidth.bytes_in(Duration::from_millis(5));
                let part = part.max(u64::from(self.avpkt).saturating_mul(10)).min(u64::from(u32::MAX / 12));
                let half = |bytes: u64| u32::try_from(bytes.div_ceil(2)).unwrap_or(u32::MAX);
                (half(part), half(part * 3))
            }
            (_, _, min, max) => (min.unwrap_or(0), max.unwrap_or(0)),
        };
        if self.max == 0 {
            self.max = self.min.saturating_mul(3);
        }
        if self.min == 0 {
            self.min = self.max / 3;
        }
        let room = match self.variant {
            RedVariant::Ns2 => self.avpkt.saturating_mul(50),
            _ => self.max.saturating_mul(4).max(mtu.saturating_mul(127)),
        };
        self.limit = limit.unwrap_or(room);
        if self.min == 0 || self.max <= self.min {
            let (name, value) = if max.is_some() { ("max", self.max) } else { ("min", self.min) };
            let allowed = alloc::format!("0 < min < max (min is {}, max is {})", self.min, self.max);
            return Err(ConfigError::new(name, alloc::format!("{value}"), allowed));
        }
        Ok(())
    }
}

impl Configure for RedConfig {
    const KIND: Kind = KIND;

    fn from_settings(settings: &Settings, link: &Link) -> Result<Self, ConfigError> {
        let number = |name| -> Result<Option<u32>, ConfigError> {
            let given = settings.number(name, 1, u64::from(u32::MAX))?;
            Ok(given.and_then(|value| u32::try_from(value).ok()))
        };
        let fraction = |name, default: f64| -> Result<f64, ConfigError> {
            let given = settings.probability(name).unwrap_or(default);
            let fits = given * TWO_TO_32 >= 1.0 && given <= 1.0;
            if fits {
                Ok(given)
            } else {
                Err(ConfigError::new(name, alloc::format!("{given}"), FRACTION_RANGE))
            }
        };
        let flag = |name| settings.flag(name).unwrap_or(false);
        let variant = settings.choice("variant").map_or(Ok(RedVariant::Linux), RedVariant::named)?;
        let linux = variant == RedVariant::Linux;
        let (floyd, ns2) = (variant == RedVariant::Floyd1993, variant == RedVariant::Ns2);
        let adaptive = flag("adaptive");
        let mtu = link.mtu.max(SMALLEST_MTU);
        let typical = if ns2 { 500 } else { 1000.min(mtu.saturating_sub(mtu / 3)) };
        let avpkt = number("avpkt")?.unwrap_or(typical);
        let bandwidth = match settings.number("bandwidth", 8, u64::MAX)? {
            Some(bits) => Rate::from_bps(bits),
            // tc assumes 10 Mbit/s where it does not know.
            None if link.rate.as_bps() == 0 => Rate::from_bps(10_000_000),
            None => Rate::from_bps(link.rate.as_bps().max(8)),
        };
        let mut config = Self {
            variant,
            limit: 0,
            min: 0,
            max: 0,
            avpkt,
            burst: 0,
            probability: fraction("probability", if ns2 || (floyd && adaptive) { 0.1 } else { 0.02 })?,
            bandwidth,
            adaptive,
            ecn: flag("ecn"),
            hard_drop: flag("harddrop"),
            no_drop: flag("nodrop"),
            gentle: settings.flag("gentle").unwrap_or(ns2 || (floyd && adaptive)),
            byte_mode: settings.flag("bytemode").unwrap_or(ns2),
            wait: settings.flag("wait").unwrap_or(ns2),
            weight: 0.0,
            mtu,
        };
        if config.no_drop && !config.ecn {
            return Err(ConfigError::new("nodrop", "", "nodrop together with ecn"));
        }
        for name in ["gentle", "bytemode", "weight", "wait", "autoweight"] {
            let given = settings.get(name).filter(|value| *value != Value::Flag(false));
            let only_ns2 = ["wait", "autoweight"].contains(&name);
            if let Some(value) = given.filter(|_| linux || (only_ns2 && !ns2)) {
                let allowed =
                    if only_ns2 { "with variant ns2 only" } else { "with variants floyd1993 and ns2 only" };
                return Err(ConfigError::new(name, alloc::format!("{value}"), allowed));
            }
        }
        config.sizes([number("limit")?, number("min")?, number("max")?], link)?;
        let fair = (u64::from(config.min) * 2 + u64::from(config.max)) / (u64::from(avpkt) * 3);
        let least = config.min.div_ceil(avpkt);
        config.burst = number("burst")?.unwrap_or(u32::try_from(fair).unwrap_or(u32::MAX).max(least));
        if !linux {
            let packets_per_second = bandwidth.as_bps() as f64 / (8.0 * f64::from(avpkt));
            let weight = if ns2 {
                let rule = settings.choice("autoweight").unwrap_or("delay");
                ns2::automatic_weight(rule, packets_per_second, link.delay)
            } else if adaptive {
                floyd1993::one_minus_exp(1.0 / packets_per_second)
            } else {
                0.002
            };
            config.weight = fraction("weight", weight.max(1.0 / TWO_TO_32))?;
        } else if linux::filter_shift(config.min, config.burst, avpkt).is_none() {
            let allowed = alloc::format!(
                "an average that settles: avpkt below min ({}) and burst of at least {}",
                config.min,
                u64::from(least) + 1
            );
            return Err(ConfigError::new("burst", alloc::format!("{}", config.burst), allowed));
        }
        Ok(config)
    }

    fn to_settings(&self) -> Settings {
        let settings = Settings::new()
            .with("variant", Value::Choice(self.variant.name()))
            .with("limit", Value::Bytes(u64::from(self.limit)))
            .with("min", Value::Bytes(u64::from(self.min)))
            .with("max", Value::Bytes(u64::from(self.max)))
            .with("avpkt", Value::Bytes(u64::from(self.avpkt)))
            .with("burst", Value::Packets(u64::from(self.burst)))
            .with("probability", Value::Probability(self.probability))
            .with("bandwidth", Value::Rate(self.bandwidth))
            .with("adaptive", Value::Flag(self.adaptive))
            .with("ecn", Value::Flag(self.ecn))
            .with("harddrop", Value::Flag(self.hard_drop))
            .with("nodrop", Value::Flag(self.no_drop));
        if self.variant == RedVariant::Linux {
            return settings;
        }
        let settings = settings
            .with("gentle", Value::Flag(self.gentle))
            .with("bytemode", Value::Flag(self.byte_mode))
            .with("weight", Value::Probability(self.weight));
        match self.variant {
            RedVariant::Ns2 => settings.with("wait", Value::Flag(self.wait)),
            _ => settings,
        }
    }
}

impl Algorithm {
    fn new(config: &RedConfig) -> Self {
        match config.variant {
            RedVariant::Linux => Self::Linux(linux::Linux::new(config)),
            RedVariant::Floyd1993 => Self::Floyd1993(floyd1993::Floyd1993::new(config)),
            RedVariant::Ns2 => Self::Ns2(ns2::Ns2::new(config)),
        }
    }

    /// True if an arrival that finds `backlog` bytes is averaged and nothing is to be done about it; false: see
    /// [`Self::arrival`].
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
            // Linux and ns-2: idle from the moment the link asks in vain.
            Self::Linux(linux) if !found => linux.idle(now),
            Self::Ns2(ns2) if !found => ns2.idle(now),
            Self::Linux(_) | Self::Ns2(_) => {}
            // 1993: from the moment the queue is empty.
            Self::Floyd1993(floyd) if found && packets == 0 => floyd.idle(now),
            Self::Floyd1993(_) => {}
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
        match &self.algorithm {
            Algorithm::Linux(linux) => linux.average(),
            Algorithm::Floyd1993(floyd) => floyd.average(),
            Algorithm::Ns2(ns2) => ns2.average(),
        }
    }

    /// The largest probability of an early signal, which `adaptive` moves.
    #[must_use]
    pub fn max_probability(&self) -> f64 {
        match &self.algorithm {
            Algorithm::Linux(linux) => linux.max_probability(),
            Algorithm::Floyd1993(floyd) => floyd.max_probability(),
            Algorithm::Ns2(ns2) => ns2.max_probability(),
        }
    }

    /// For `linux`: what the kernel calls `max_P` (1 = 2^32) and `qavg` (bytes × 2^Wlog).
    #[must_use]
    pub fn raw(&self) -> Option<(u64, u64)> {
        match &self.algorithm {
            Algorithm::Linux(linux) => Some(linux.raw()),
            Algorithm::Floyd1993(_) | Algorithm::Ns2(_) => None,
        }
    }

    /// Does the looks of `adaptive` that are due at `now`. Every call of the queue does so by itself.
    #[inline]
    pub fn update(&mut self, now: Instant) {
        self.now = self.now.max(now);
        if self.adapt_at.is_none_or(|at| at <= self.now) {
            self.catch_up();
        }
    }

    #[inline(never)]
    fn catch_up(&mut self) {
        let config = &self.config;
        let first = || config.resumed(config.next_look(Instant::ZERO), self.now);
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
        // What remains is too long ago to matter: only the phase of the clock goes on.
        at = self.config.resumed(at, self.now);
        self.adapt_at = Some(at);
    }

    /// Whether a packet that `signal` is about stays, and whether the signal made it carry CE.
    fn stays(&mut self, signal: Signal, packet: &mut P) -> (bool, bool) {
        let must_drop = signal == Signal::Unmarkable || (signal == Signal::Forced && self.config.hard_drop);
        let may_mark = self.config.ecn && !must_drop;
        if signal == Signal::None {
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

    /// Averages, and decides what becomes of an arriving packet, for which there is room if it `fits`.
    #[inline(never)]
    fn judge(&mut self, fits: bool, mut packet: P, drops: &mut impl Drops<P>) {
        let bytes = packet.len();
        let (backlog, packets) = (self.queue.bytes(), self.queue.len());
        let arrival = Arrival { now: self.now, backlog, packets, bytes };
        let signal = self.algorithm.arrival(&arrival, &mut self.random);
        let (stays, marked) = self.stays(signal, &mut packet);
        let signalled = u64::from(signal != Signal::None);
        self.tally.signals = self.tally.signals.wrapping_add(signalled);
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
        self.algorithm.departure(self.now, packets > 0, packets.saturating_sub(1));
        self.queue.pop_front().map(|queued| queued.packet)
    }

    fn next_len(&self) -> Option<u32> {
        self.queue.front().map(|queued| queued.packet.len())
    }

    /// In Linux a parent that looks in vain asks for nothing: RED below a token bucket is never idle.
    fn look_ahead(&mut self, now: Instant, _drops: &mut impl Drops<P>) -> Option<NextLen> {
        self.update(now);
        matches!(self.algorithm, Algorithm::Linux(_))
            .then(|| self.queue.front().map(|queued| queued.packet.len()))
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

    fn observe(&self, _now: Instant, seen: &mut Observation) {
        seen.overlimits = self.tally.signals;
        seen.number("marked", self.tally.marked);
        seen.number("early", self.tally.early);
        seen.number("pdrop", self.tally.full);
        seen.number("other", 0);
    }

    /// The average begins anew, as in Linux, since its scale depends on the configuration.
    fn reconfigure(&mut self, now: Instant, config: RedConfig, drops: &mut impl Drops<P>) {
        self.update(now);
        if config == self.config {
            return;
        }
        self.config = config;
        self.algorithm = Algorithm::new(&config);
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

/// `base^exponent` by repeated squaring: the same bits on every platform, unlike a library's power.
fn power(base: f64, mut exponent: u64) -> f64 {
    let (mut square, mut result) = (base, 1.0);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result *= square;
        }
        square *= square;
        exponent >>= 1;
    }
    result
}

const KIND: Kind = Kind {
    name: "red",
    summary: "Drops arrivals with a probability that grows with the average queue length",
    reference: "Floyd and Jacobson 1993; Floyd et al. 2001; tc-red(8)",
    variants: &[
        Variant { name: "linux", doc: "Linux 6.1 and tc, bit for bit" },
        Variant { name: "floyd1993", doc: "Floyd and Jacobson 1993; with adaptive, Floyd et al. 2001" },
        Variant { name: "ns2", doc: "ns-2.35, which sets itself up from rate and delay of the link" },
    ],
    children: crate::config::Children::None,
    parameters: &[
        Parameter {
            name: "limit",
            unit: Unit::Bytes,
            default: "4 x max, at least 127 MTU; ns2: 50 avpkt",
            source: "room for the average to act; tc demands it; ns-2",
            range: "1 to 4294967295",
            doc: "bytes that the queue holds",
        },
        Parameter {
            name: "min",
            unit: Unit::Bytes,
            default: "max / 3; 10 ms of the link rate, at least 1 MTU; floyd1993, ns2: 5 avpkt",
            source: "tc; Høiland-Jørgensen et al. 2015; Floyd 1993, 2001; ns-2",
            range: "1 to max - 1",
            doc: "average queue below which nothing is dropped",
        },
        Parameter {
            name: "max",
            unit: Unit::Bytes,
            default: "3 x min, or limit / 4; 2 MTU where min is 1 MTU by default",
            source: "tc; Høiland-Jørgensen et al. 2015",
            range: "min + 1 to 4294967295",
            doc: "average queue above which everything is dropped",
        },
        Parameter {
            name: "avpkt",
            unit: Unit::Bytes,
            default: "1000, at most 2/3 MTU; ns2: 500",
            source: "tc-red(8); ns-2",
            range: "1 to 4294967295; linux: below min",
            doc: "average packet: how fast the average decays on an idle link",
        },
        Parameter {
            name: "burst",
            unit: Unit::Packets,
            default: "(2 min + max) / (3 avpkt)",
            source: "tc",
            range: "at least min / avpkt",
            doc: "burst that passes: how slow the average is",
        },
        Parameter {
            name: "probability",
            unit: Unit::Probability,
            default: "0.02; floyd1993 adaptive and ns2: 0.1",
            source: "tc; Floyd 2001; ns-2",
            range: FRACTION_RANGE,
            doc: "largest probability of an early drop",
        },
        Parameter {
            name: "bandwidth",
            unit: Unit::Rate,
            default: "the link rate",
            source: "tc: 10mbit",
            range: "8bit and more",
            doc: "rate at which the average decays on an idle link",
        },
        Parameter {
            name: "adaptive",
            unit: Unit::Flag { off: None },
            default: "off",
            source: "tc",
            range: "",
            doc: "move the probability so that the average stays half way between min and max",
        },
        Parameter {
            name: "ecn",
            unit: Unit::Flag { off: None },
            default: "off",
            source: "tc",
            range: "",
            doc: "mark ECN-capable packets instead of dropping them",
        },
        Parameter {
            name: "harddrop",
            unit: Unit::Flag { off: None },
            default: "off",
            source: "tc",
            range: "",
            doc: "above max drop even what could be marked",
        },
        Parameter {
            name: "nodrop",
            unit: Unit::Flag { off: None },
            default: "off",
            source: "tc",
            range: "with ecn",
            doc: "queue what cannot be marked",
        },
        Parameter {
            name: "gentle",
            unit: Unit::Flag { off: Some("nogentle") },
            default: "off; with adaptive on; ns2: on",
            source: "Floyd 2000, 2001; ns-2",
            range: "with variants floyd1993 and ns2",
            doc: "let the probability rise to 1 between max and 2 max",
        },
        Parameter {
            name: "bytemode",
            unit: Unit::Flag { off: Some("nobytemode") },
            default: "off; ns2: on",
            source: "Floyd and Jacobson 1993; ns-2",
            range: "with variants floyd1993 and ns2",
            doc: "measure the queue in bytes, drop in proportion to a packet's length",
        },
        Parameter {
            name: "weight",
            unit: Unit::Probability,
            default: "0.002; with adaptive 1 - e^(-1/C), C in packets/s; ns2: see autoweight",
            source: "Floyd and Jacobson 1993; Floyd 2001; ns-2",
            range: "with variants floyd1993 and ns2: above 0, to 1",
            doc: "weight of a sample in the average",
        },
        Parameter {
            name: "wait",
            unit: Unit::Flag { off: Some("nowait") },
            default: "ns2: on",
            source: "ns-2",
            range: "with variant ns2",
            doc: "let 1/p packets pass after each drop before the next is possible",
        },
        Parameter {
            name: "autoweight",
            unit: Unit::Choice(&["delay", "rate", "fast"]),
            default: "delay",
            source: "ns-2: q_weight -1, 0, -2",
            range: "with variant ns2",
            doc: "weight by default: 1 - e^(-1/(10 R C)), R = max(0.1 s, 3 (link delay + 1/C)); 1 - e^(-1/C); 1 - e^(-10/C)",
        },
    ],
};

const FRACTION_RANGE: &str = "above 0 (at least 2^-32), to 1";
pub(crate) const TWO_TO_32: f64 = 4_294_967_296.0;
/// Smaller ones only serve to break the derived sizes.
const SMALLEST_MTU: u32 = 64;
/// Floyd 2001: `interval`; Linux: HZ / 2.
const ADAPT_INTERVAL: Duration = Duration::from_millis(500);
/// The probability crosses its whole range in less than 130 looks.
const MAX_LOOKS: u32 = 256;

#[cfg(test)]
mod tests;
