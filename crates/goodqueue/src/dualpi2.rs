//! DualPI2: two coupled queues, one for traffic that needs little delay and one for the rest.
//!
//! # What it does
//! Packets that ask for low latency (ECT(1), and CE) have a queue of their own (L), all others
//! another (C). One PI controller moves a base probability p' from the delay of the classic queue.
//! Classic packets are dropped or marked with p'², L packets marked with `coupling_factor` × p', so
//! that a scalable and a classic flow get about the same rate. L packets that waited longer than
//! `step_thresh` are marked in any case. L is served first, but C keeps a tenth.
//!
//! # Reference
//! RFC 9332 (2023), appendix A; RFC 9331; tc-dualpi2(8); behaviour of Linux 6.17
//! `net/sched/sch_dualpi2.c`.
//!
//! # State
//! ```text
//! arrival --> ECT(1) or CE? --> L --\   weighted by credit: L 90, C 10
//!                       else --> C ---> departure: C: drop or mark with p'^2; L: mark with max(native, k p')
//! every tupdate: p' += alpha * (delay - target) + beta * (delay - last delay)
//! overload (k p' > 1): both drop with p'^2, C even if ECN-capable; what is left of L is marked
//! ```
//!
//! # Parameters
//! | name | unit | default | source of the default | range |
//! |---|---|---|---|---|
//! | `limit` | packets | 10000 | Linux sch_dualpi2 | 1 to 2^24 |
//! | `memlimit` | bytes | 2 × MTU × limit | Linux sch_dualpi2 | 1 to 2^64 - 1 |
//! | `truesize` | bytes | as Linux 6.1 allocates with `linux`, else the packet's bytes | Linux | 1 to 2^30 |
//! | `target` | time | 15 ms | RFC 9332 §A.1 | 0 to 4294 s |
//! | `tupdate` | time | 16 ms | RFC 9332 §A.1 | 1 us to 4294 s |
//! | `alpha` | 1/256 per s | 41 (0.16) | RFC 9332 §A.1 | 0 to 2^24 |
//! | `beta` | 1/256 per s | 819 (3.2) | RFC 9332 §A.1 | 0 to 2^24 |
//! | `step_thresh` | time | 1 ms | Linux; RFC 9332 §A.1: 0.8 to 1.2 ms | 0 to 4294 s |
//! | `coupling_factor` | number | 2 | RFC 9332 §A.1 | 1 to 255 |
//! | `classic_protection` | per cent | 10 | Linux sch_dualpi2 | 0 to 100 |
//! | `overflow` | flag | off (`drop_on_overload`) | Linux sch_dualpi2 | |
//! | `variant` | | `rfc9332` | | `rfc9332`, `linux` |
//!
//! # Deviations
//! `rfc9332`: the delay is that of the oldest classic packet; the native mark of L begins at 0.8
//! and is certain at 1.2 of `step_thresh`, and is given only if a packet is left behind in L. L
//! marks are drawn, where the RFC's pseudo-code spreads them evenly; the two queues are weighted,
//! where it shifts time. `linux`: the older one of both heads; a step at `step_thresh`. Not
//! compared with recordings: Linux 6.1 has no `dualpi2`.
//!
//! Both: nothing is signalled while less than two of the largest packets are queued. tc writes
//! `alpha` and `beta` as decimal numbers; here they are whole 256ths, as the kernel gets them.
//! `memlimit` counts packet bytes with `rfc9332`, unless `truesize` says what a packet takes. A
//! probability of 0 never signals. Not there: `step_thresh` in packets, `max_rtt`, `typical_rtt`,
//! `drop_enqueue`, `any_ect`. A flow that changes its ECN field from packet to packet may be
//! reordered.
//!
//! # Cost
//! Constant per packet, plus packets dropped; at most 2048 missed updates per call.
//!
//! # Example
//! ```
//! use goodqueue::{Configure, Link, Settings, dualpi2::DualPi2Config};
//! let config = DualPi2Config::from_settings(&Settings::new(), &Link::default()).unwrap();
//! println!("{:?}", config.to_settings());
//! assert_eq!(config.to_settings().number("memlimit", 0, u64::MAX), Ok(Some(30_280_000)));
//! ```

use crate::config::{Build, ConfigError, Configure, Kind, Link, Parameter, Settings, Unit, Value, Variant};
use crate::gauge::{Gauge, Observation, Observe};
use crate::memory::{Buffers, Memory, Size, TRUESIZE};
use crate::nesting::Inner;
use crate::packet::{Ecn, Packet};
use crate::qdisc::{DropReason, Drops, Lookahead, Qdisc, Stats};
use crate::queue::{Fifo, Queued};
use crate::random::Random;
use crate::time::{Duration, Instant};
use crate::typed::setters;

/// The discipline `dualpi2`.
#[derive(Clone, Debug)]
pub struct DualPi2<P, R> {
    config: DualPi2Config,
    random: R,
    low_latency: Fifo<P>,
    classic: Fifo<P>,
    memory: Memory,
    /// The base probability p', in units of 10^-18.
    probability: u64,
    last_delay: Duration,
    /// Above 0 it is the turn of C.
    credit: i64,
    /// When the probability is updated next; set by the first call.
    update_at: Option<Instant>,
    stats: Stats,
    tally: Tally,
    now: Instant,
}

/// What Linux counts for `tc -s` beside the packets.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Tally {
    classic: u64,
    low_latency: u64,
    /// Most packets queued at once, and most bytes.
    longest: usize,
    most_memory: u64,
    ecn_mark: u64,
    step_mark: u64,
}

/// Configuration of [`DualPi2`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DualPi2Config {
    linux: bool,
    limit: u32,
    memory_limit: u64,
    buffers: Buffers,
    target: Duration,
    tupdate: Duration,
    alpha: u32,
    beta: u32,
    step: Duration,
    coupling: u32,
    classic_share: u32,
    overflow: bool,
    mtu: u32,
}

/// What is to be done with a packet that is about to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Signal {
    None,
    Mark,
    /// A mark because L waited beyond its threshold.
    StepMark,
    Drop,
}

impl DualPi2Config {
    /// p' at which the marks of L are certain.
    const fn saturation(&self) -> u64 {
        ONE / self.coupling as u64
    }

    const fn first_credit(&self) -> i64 {
        (2 * self.classic_share as i64 - 100) * self.mtu as i64
    }
}

impl Configure for DualPi2Config {
    const KIND: Kind = KIND;

    fn from_checked(settings: &Settings, link: &Link) -> Result<Self, ConfigError> {
        let number = |name, low, high, default: u32| -> Result<u32, ConfigError> {
            Ok(settings.small(name, low, high)?.unwrap_or(default))
        };
        let time = |name, low, default| -> Result<Duration, ConfigError> {
            Ok(settings.number(name, low, MAX_TIME)?.map_or(default, Duration::from_nanos))
        };
        if settings.flag("overflow") == Some(true) && settings.flag("drop_on_overload") == Some(true) {
            return Err(ConfigError::new("overflow", "", "either `overflow` or `drop_on_overload`"));
        }
        let limit = number("limit", 1, MAX_LIMIT, 10_000)?;
        let mtu = link.mtu.max(1);
        let linux = settings.choice("variant") == Some("linux");
        Ok(Self {
            linux,
            limit,
            memory_limit: settings
                .number("memlimit", 1, u64::MAX)?
                .unwrap_or(2 * u64::from(mtu) * u64::from(limit)),
            buffers: Buffers::from_settings(
                settings,
                if linux { Buffers::Allocated } else { Buffers::Bare },
            )?,
            target: time("target", 0, Duration::from_millis(15))?,
            tupdate: time("tupdate", 1_000, Duration::from_millis(16))?,
            alpha: number("alpha", 0, MAX_GAIN, 41)?,
            beta: number("beta", 0, MAX_GAIN, 819)?,
            step: time("step_thresh", 0, Duration::from_millis(1))?,
            coupling: number("coupling_factor", 1, 255, 2)?,
            classic_share: number("classic_protection", 0, 100, 10)?,
            overflow: settings.flag("overflow").unwrap_or(false),
            mtu,
        })
    }

    fn to_settings(&self) -> Settings {
        let settings = Settings::new()
            .with("limit", Value::Packets(u64::from(self.limit)))
            .with("memlimit", Value::Bytes(self.memory_limit))
            .with("target", Value::Time(self.target))
            .with("tupdate", Value::Time(self.tupdate))
            .with("alpha", Value::Integer(u64::from(self.alpha)))
            .with("beta", Value::Integer(u64::from(self.beta)))
            .with("step_thresh", Value::Time(self.step))
            .with("coupling_factor", Value::Integer(u64::from(self.coupling)))
            .with("classic_protection", Value::Integer(u64::from(self.classic_share)))
            .with(if self.overflow { "overflow" } else { "drop_on_overload" }, Value::Flag(true))
            .with("variant", Value::Choice(if self.linux { "linux" } else { "rfc9332" }));
        self.buffers.add_to(settings)
    }

    /// Linux reads every parameter by itself.
    fn is_kept_by_change(_parameter: &str, _given: &Settings) -> bool {
        true
    }
}

setters! {
    [] DualPi2Config,
    /// Sets `limit`: packets that both queues together hold. Default: 10000p. Range: 1 to 16777216.
    with_limit(packets);
    /// Sets `memlimit`: bytes that both queues together hold. Default: 2 x MTU x limit. Range: 1 or
    /// more.
    with_memlimit(bytes);
    /// Sets `truesize`: memory that each packet takes; longer ones take their bytes. Default: as
    /// Linux allocates (`linux`), or the packet's bytes. Range: 1 to 1073741824.
    with_truesize(bytes);
    /// Sets `target`: delay of the classic queue aimed at. Default: 15ms. Range: 0 to 4294s.
    with_target(time);
    /// Sets `tupdate`: time between updates of the base probability. Default: 16ms. Range: 1us to
    /// 4294s.
    with_tupdate(time);
    /// Sets `alpha`: gain of the distance from the target, in 256ths per second. Default: 41.
    /// Range: 0 to 16777216.
    with_alpha(integer);
    /// Sets `beta`: gain of the change of the delay, in 256ths per second. Default: 819. Range: 0
    /// to 16777216.
    with_beta(integer);
    /// Sets `step_thresh`: delay above which L packets are marked in any case. Default: 1ms. Range:
    /// 0 to 4294s.
    with_step_thresh(time);
    /// Sets `coupling_factor`: mark probability of L over the base probability. Default: 2. Range:
    /// 1 to 255.
    with_coupling_factor(integer);
    /// Sets `classic_protection`: share of the link in per cent that the classic queue keeps.
    /// Default:
    /// 10. Range: 0 to 100.
    with_classic_protection(integer);
    /// Sets `overflow`: at overload, mark on and let the queue overflow. Default: off.
    with_overflow(flag);
    /// Sets `drop_on_overload`: at overload, drop from both queues. Default: on.
    with_drop_on_overload(flag);
}

setters! { @variant [] DualPi2Config }

impl<P: Packet, R: Random> DualPi2<P, R> {
    /// An empty pair of queues that draws from `random`.
    #[must_use]
    pub fn new(config: DualPi2Config, random: R) -> Self {
        Self {
            config,
            random,
            low_latency: Fifo::default(),
            classic: Fifo::default(),
            memory: Memory::new(config.buffers),
            probability: 0,
            last_delay: Duration::ZERO,
            credit: config.first_credit(),
            update_at: None,
            stats: Stats::default(),
            tally: Tally::default(),
            now: Instant::ZERO,
        }
    }

    /// The base probability p'.
    #[must_use]
    pub fn probability(&self) -> f64 {
        self.probability as f64 / ONE as f64
    }

    /// Does the updates that are due at `now`. Every call of the queue does so by itself.
    pub fn update(&mut self, now: Instant) {
        self.now = self.now.max(now);
        let period = self.config.tupdate;
        let mut at = *self.update_at.get_or_insert_with(|| {
            let phase = self.now.as_nanos() % period.as_nanos();
            self.now - Duration::from_nanos(phase) + period
        });
        let mut done = 0;
        while at <= self.now {
            let before = (self.probability, self.last_delay);
            self.update_once(at);
            done += 1;
            if done == MAX_UPDATES || (self.probability, self.last_delay) == before {
                // What follows changes nothing, or is too much for one call: only the phase of the
                // clock goes on.
                let late = self.now.since(at).as_nanos() % period.as_nanos();
                at = self.now - Duration::from_nanos(late) + period;
                break;
            }
            at += period;
        }
        self.update_at = Some(at);
    }

    fn update_once(&mut self, at: Instant) {
        let waited = |queue: &Fifo<P>| queue.front().map_or(Duration::ZERO, |queued| at.since(queued.at));
        let mut delay = waited(&self.classic);
        if self.config.linux {
            delay = delay.max(waited(&self.low_latency));
        }
        let gap = |a: Duration, b: Duration| i128::from(a.as_nanos()) - i128::from(b.as_nanos());
        let change = i128::from(self.config.alpha) * gap(delay, self.config.target)
            + i128::from(self.config.beta) * gap(delay, self.last_delay);
        let most = if self.config.overflow { self.config.saturation() } else { ONE };
        let moved =
            (i128::from(self.probability) + change.saturating_mul(PER_256_NANOS)).clamp(0, i128::from(most));
        self.probability = u64::try_from(moved).unwrap_or(0);
        self.last_delay = delay;
    }

    /// True with `probability`, and never with 0.
    fn roll(&mut self, probability: u64) -> bool {
        let drawn = (u128::from(self.random.next_u64()) * u128::from(ONE)) >> 64;
        drawn < u128::from(probability)
    }

    /// p'²: two draws.
    fn roll_twice(&mut self) -> bool {
        self.roll(self.probability) && self.roll(self.probability)
    }

    fn is_small(&self) -> bool {
        Qdisc::<P>::backlog(self) < 2 * u64::from(self.config.mtu)
    }

    fn is_overloaded(&self) -> bool {
        self.probability > self.config.saturation()
    }

    /// What a classic packet is told.
    fn classic_signal(&mut self, capable: bool) -> Signal {
        if self.is_small() || !self.roll_twice() {
            Signal::None
        } else if capable && !self.is_overloaded() {
            Signal::Mark
        } else {
            Signal::Drop
        }
    }

    /// What an L packet that waited for `sojourn` is told.
    fn low_latency_signal(&mut self, sojourn: Duration) -> Signal {
        if self.is_small() {
            return Signal::None;
        }
        if self.is_overloaded() {
            return if self.roll_twice() { Signal::Drop } else { Signal::Mark };
        }
        let coupled = self.probability.saturating_mul(u64::from(self.config.coupling)).min(ONE);
        let native = self.native(sojourn);
        match self.roll(coupled.max(native)) {
            true if native == ONE => Signal::StepMark,
            true => Signal::Mark,
            false => Signal::None,
        }
    }

    /// The mark probability of L's own AQM.
    fn native(&self, sojourn: Duration) -> u64 {
        let step = self.config.step.as_nanos();
        if self.config.linux {
            return if sojourn.as_nanos() > step { ONE } else { 0 };
        }
        if self.low_latency.is_empty() {
            return 0;
        }
        // RFC 9332 §A.1: a ramp from 0.8 to 1.2 ms.
        let (low, range) = (step / 5 * 4, step / 5 * 2);
        let above = sojourn.as_nanos().saturating_sub(low);
        if above >= range {
            return if sojourn.as_nanos() > low { ONE } else { 0 };
        }
        u64::try_from(u128::from(above) * u128::from(ONE) / u128::from(range.max(1))).unwrap_or(ONE)
    }

    /// The next packet by weight, and whether it comes from L.
    fn next(&mut self) -> Option<(Queued<P>, bool)> {
        let (low_latency, classic) = (!self.low_latency.is_empty(), !self.classic.is_empty());
        if classic && (!low_latency || self.credit > 0) {
            let queued = self.classic.pop_front()?;
            self.memory.leaves(Size::of(&queued.packet));
            if low_latency {
                self.charge(&queued.packet, i64::from(self.config.classic_share) - 100);
            }
            return Some((queued, false));
        }
        let Some(queued) = self.low_latency.pop_front() else {
            self.credit = self.config.first_credit();
            return None;
        };
        self.memory.leaves(Size::of(&queued.packet));
        if classic {
            self.charge(&queued.packet, i64::from(self.config.classic_share));
        }
        Some((queued, true))
    }

    fn charge(&mut self, packet: &P, weight: i64) {
        let change = weight.saturating_mul(i64::from(packet.len().max(1)));
        self.credit = self.credit.saturating_add(change);
    }

    fn mark(&mut self, packet: &mut P) {
        if packet.ecn() != Ecn::Ce && packet.set_ce() {
            self.stats.marked.add(packet.len());
        }
    }

    /// Memory that the queued packets take.
    fn used(&self) -> u64 {
        self.memory.used(self.low_latency.bytes().saturating_add(self.classic.bytes()))
    }

    /// Counts the memory anew, since packets take another one.
    fn count_memory(&mut self) {
        self.memory = Memory::new(self.config.buffers);
        for queued in self.low_latency.iter().chain(self.classic.iter()) {
            self.memory.enters(Size::of(&queued.packet));
        }
    }

    fn excess(&self, packets: usize, memory: u64) -> Option<DropReason> {
        if packets > self.config.limit as usize {
            Some(DropReason::Overlimit)
        } else if memory > self.config.memory_limit {
            Some(DropReason::Overmemory)
        } else {
            None
        }
    }

    fn drop_oldest(&mut self, why: DropReason, drops: &mut impl Drops<P>) -> bool {
        let Some((oldest, _)) = self.next() else { return false };
        self.stats.dropped_after.add(oldest.packet.len());
        drops.dropped(oldest.packet, why);
        true
    }
}

impl<P: Packet, R: Random> Build<P, R> for DualPi2<P, R> {
    fn build(config: DualPi2Config, _salt: u32, random: R) -> Self {
        Self::new(config, random)
    }
}

impl<P: Packet, R: Random> Qdisc<P> for DualPi2<P, R> {
    type Config = DualPi2Config;

    fn enqueue(&mut self, now: Instant, packet: P, drops: &mut impl Drops<P>) {
        self.update(now);
        let size = Size::of(&packet);
        let bytes = size.bytes;
        self.stats.offered.add(bytes);
        let own = self.config.buffers.of(size);
        let then = (self.len().saturating_add(1), self.used().saturating_add(own));
        if let Some(why) = self.excess(then.0, then.1) {
            self.stats.dropped_before.add(bytes);
            drops.dropped(packet, why);
            return;
        }
        self.stats.enqueued.add(bytes);
        self.tally.longest = self.tally.longest.max(then.0);
        self.tally.most_memory = self.tally.most_memory.max(then.1);
        self.memory.enters(size);
        let (queue, count) = match packet.ecn() {
            Ecn::Ect1 | Ecn::Ce => (&mut self.low_latency, &mut self.tally.low_latency),
            Ecn::Ect0 | Ecn::NotEct => (&mut self.classic, &mut self.tally.classic),
        };
        *count = count.wrapping_add(1);
        queue.push_back(self.now, packet);
    }

    fn dequeue(&mut self, now: Instant, drops: &mut impl Drops<P>) -> Option<P> {
        self.update(now);
        while let Some((mut queued, low_latency)) = self.next() {
            let signal = if low_latency {
                self.low_latency_signal(self.now.since(queued.at))
            } else {
                self.classic_signal(queued.packet.ecn().is_capable())
            };
            match signal {
                Signal::None => {}
                Signal::Mark => {
                    self.mark(&mut queued.packet);
                    self.tally.ecn_mark = self.tally.ecn_mark.wrapping_add(1);
                }
                Signal::StepMark => {
                    self.mark(&mut queued.packet);
                    self.tally.step_mark = self.tally.step_mark.wrapping_add(1);
                }
                Signal::Drop => {
                    self.stats.dropped_after.add(queued.packet.len());
                    drops.dropped(queued.packet, DropReason::Congested);
                    continue;
                }
            }
            self.stats.dequeued.add(queued.packet.len());
            return Some(queued.packet);
        }
        None
    }

    fn len(&self) -> usize {
        self.low_latency.len().saturating_add(self.classic.len())
    }

    fn backlog(&self) -> u64 {
        self.low_latency.bytes().saturating_add(self.classic.bytes())
    }

    fn stats(&self) -> Stats {
        self.stats
    }

    fn reconfigure(&mut self, now: Instant, config: DualPi2Config, drops: &mut impl Drops<P>) {
        self.update(now);
        let old = core::mem::replace(&mut self.config, config);
        if old.tupdate != config.tupdate {
            let soon = self.now + config.tupdate;
            self.update_at = self.update_at.map(|at| at.min(soon));
        }
        if old.classic_share != config.classic_share {
            self.credit = config.first_credit();
        }
        if old.buffers != config.buffers {
            self.count_memory();
        }
        while let Some(why) = self.excess(self.len(), self.used())
            && self.drop_oldest(why, drops)
        {}
    }

    fn config(&self) -> DualPi2Config {
        self.config
    }

    fn purge(&mut self, now: Instant, drops: &mut impl Drops<P>) {
        self.update(now);
        while self.drop_oldest(DropReason::Purged, drops) {}
        (self.probability, self.last_delay) = (0, Duration::ZERO);
    }
}

impl<P: Packet, R: Random> Lookahead<P> for DualPi2<P, R> {}

impl<P: Packet, R: Random> Observe for DualPi2<P, R> {
    fn observe(&self, now: Instant, seen: &mut Observation) {
        let now = self.now.max(now);
        let waited = |queue: &Fifo<P>| queue.front().map_or(Duration::ZERO, |queued| now.since(queued.at));
        seen.fraction("prob", self.probability());
        seen.time("delay-c", waited(&self.classic));
        seen.time("delay-l", waited(&self.low_latency));
        seen.number("pkts-in-c", self.tally.classic);
        seen.number("pkts-in-l", self.tally.low_latency);
        seen.number("maxq", self.tally.longest as u64);
        seen.number("ecn-mark", self.tally.ecn_mark);
        seen.number("step-mark", self.tally.step_mark);
        seen.gauges.push(("credit", Gauge::Signed(self.credit)));
        seen.number("memory-used", self.used());
        seen.number("max-memory-used", self.tally.most_memory);
        seen.number("memory-limit", self.config.memory_limit);
    }
}

impl<P: Packet> Inner<P> for DualPi2<P, crate::random::Source> {}

const KIND: Kind = Kind {
    name: "dualpi2",
    summary: "Two coupled queues: scalable traffic waits a millisecond, classic traffic gets its fair share",
    reference: "RFC 9332; tc-dualpi2(8)",
    children: crate::config::Children::None,
    variants: &[
        Variant { name: "rfc9332", doc: "RFC 9332: delay of the classic queue, a ramp for L" },
        Variant { name: "linux", doc: "as Linux 6.17: delay of the older queue, a step for L" },
    ],
    parameters: &[
        Parameter {
            name: "limit",
            unit: Unit::Packets,
            default: "10000p",
            source: "Linux sch_dualpi2",
            range: "1 to 16777216",
            doc: "packets that both queues together hold",
        },
        Parameter {
            name: "memlimit",
            unit: Unit::Bytes,
            default: "2 x MTU x limit",
            source: "Linux sch_dualpi2",
            range: "1 or more",
            doc: "bytes of memory that both queues together hold",
        },
        TRUESIZE,
        Parameter {
            name: "target",
            unit: Unit::Time,
            default: "15ms",
            source: "RFC 9332 §A.1",
            range: "0 to 4294s",
            doc: "delay of the classic queue aimed at",
        },
        Parameter {
            name: "tupdate",
            unit: Unit::Time,
            default: "16ms",
            source: "RFC 9332 §A.1",
            range: "1us to 4294s",
            doc: "time between updates of the base probability",
        },
        Parameter {
            name: "alpha",
            unit: Unit::Integer,
            default: "41",
            source: "RFC 9332 §A.1 (0.16 per s)",
            range: "0 to 16777216",
            doc: "gain of the distance from the target, in 256ths per second",
        },
        Parameter {
            name: "beta",
            unit: Unit::Integer,
            default: "819",
            source: "RFC 9332 §A.1 (3.2 per s)",
            range: "0 to 16777216",
            doc: "gain of the change of the delay, in 256ths per second",
        },
        Parameter {
            name: "step_thresh",
            unit: Unit::Time,
            default: "1ms",
            source: "Linux sch_dualpi2; RFC 9332 §A.1",
            range: "0 to 4294s",
            doc: "delay above which L packets are marked in any case",
        },
        Parameter {
            name: "coupling_factor",
            unit: Unit::Integer,
            default: "2",
            source: "RFC 9332 §A.1",
            range: "1 to 255",
            doc: "mark probability of L over the base probability",
        },
        Parameter {
            name: "classic_protection",
            unit: Unit::Integer,
            default: "10",
            source: "Linux sch_dualpi2",
            range: "0 to 100",
            doc: "share of the link in per cent that the classic queue keeps",
        },
        Parameter {
            name: "overflow",
            unit: Unit::Flag { off: None },
            default: "off",
            source: "Linux sch_dualpi2",
            range: "",
            doc: "at overload, mark on and let the queue overflow",
        },
        Parameter {
            name: "drop_on_overload",
            unit: Unit::Flag { off: None },
            default: "on",
            source: "Linux sch_dualpi2; RFC 9332 §4.2",
            range: "",
            doc: "at overload, drop from both queues",
        },
    ],
};

/// Probability 1.
const ONE: u64 = 1_000_000_000_000_000_000;
/// A gain of 1/256 per second times a nanosecond, in units of 10^-18: exact.
const PER_256_NANOS: i128 = 3_906_250;
/// 2^32 - 1 microseconds.
const MAX_TIME: u64 = u32::MAX as u64 * 1_000;
const MAX_GAIN: u64 = 1 << 24;
const MAX_LIMIT: u64 = 1 << 24;
const MAX_UPDATES: u32 = 2_048;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::story::Datagram;
    use alloc::vec::Vec;

    use crate::random::Xoshiro256PlusPlus;

    type Queue = DualPi2<Datagram, Xoshiro256PlusPlus>;

    fn dualpi2(settings: &Settings) -> Queue {
        let config = DualPi2Config::from_settings(settings, &Link::default()).expect("valid");
        DualPi2::new(config, Xoshiro256PlusPlus::new(1))
    }

    fn ms(n: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(n)
    }

    #[test]
    fn linux_counts_buffers_in_memlimit_and_rfc9332_packet_bytes() {
        let lost = |variant| {
            let limits = Settings::new().with("memlimit", Value::Bytes(5 * 1514));
            let mut queue = dualpi2(&limits.with("variant", Value::Choice(variant)));
            let mut lost = Vec::new();
            for _ in 0..6 {
                queue.enqueue(Instant::ZERO, Datagram::new(1514, Ecn::NotEct), &mut |_, why| lost.push(why));
            }
            while queue.dequeue(Instant::ZERO, &mut |_, _| ()).is_some() {}
            assert_eq!(queue.used(), 0);
            lost
        };
        // Three buffers of 2,304 bytes fit into 7,570.
        assert_eq!(lost("linux"), [DropReason::Overmemory; 3]);
        assert_eq!(lost("rfc9332"), [DropReason::Overmemory; 1]);
    }

    /// Of 100,000 packets that find p' at `per_mille` thousandths: how many are sent with a mark,
    /// and how many dropped.
    fn fates(ecn: Ecn, per_mille: u64) -> (u64, u64) {
        let mut queue = dualpi2(&Settings::new().with("tupdate", Value::Time(Duration::from_secs(4_000))));
        queue.probability = ONE / 1_000 * per_mille;
        let (mut marked, mut dropped) = (0, 0);
        for _ in 0..3 {
            queue.enqueue(Instant::ZERO, Datagram::new(1514, ecn), &mut |_, _| ());
        }
        for _ in 0..100_000 {
            queue.enqueue(Instant::ZERO, Datagram::new(1514, ecn), &mut |_, _| ());
            let sent = queue.dequeue(Instant::ZERO, &mut |_, _| dropped += 1);
            marked += u64::from(sent.is_some_and(|frame| frame.ecn == Ecn::Ce));
            while queue.len() < 3 {
                queue.enqueue(Instant::ZERO, Datagram::new(1514, ecn), &mut |_, _| ());
            }
        }
        (marked, dropped)
    }

    #[test]
    fn d1_classic_probability_is_the_square_and_that_of_l_twice_the_base() {
        let (marked, dropped) = fates(Ecn::NotEct, 100);
        assert!(marked == 0 && (900..1_100).contains(&dropped), "{dropped}");
        let (marked, dropped) = fates(Ecn::Ect0, 100);
        assert!(dropped == 0 && (900..1_100).contains(&marked), "{marked}");
        let (marked, dropped) = fates(Ecn::Ect1, 100);
        assert!(dropped == 0 && (19_500..20_500).contains(&marked), "{marked}");
    }

    #[test]
    fn d2_l_packets_later_than_a_millisecond_are_marked() {
        for (variant, cases) in
            [("linux", [(1_000, false), (1_001, true)]), ("rfc9332", [(800, false), (1_201, true)])]
        {
            for (micros, expected) in cases {
                let mut queue = dualpi2(&Settings::new().with("variant", Value::Choice(variant)));
                for _ in 0..3 {
                    queue.enqueue(Instant::ZERO, Datagram::new(1514, Ecn::Ect1), &mut |_, _| ());
                }
                let now = Instant::ZERO + Duration::from_micros(micros);
                let sent = queue.dequeue(now, &mut |_, _| ()).expect("queued");
                assert_eq!(sent.ecn == Ecn::Ce, expected, "{variant} {micros}");
            }
        }
    }

    #[test]
    fn d3_l_goes_first_and_c_keeps_a_tenth() {
        let mut queue = dualpi2(&Settings::new());
        for _ in 0..2_000 {
            queue.enqueue(Instant::ZERO, Datagram::new(1514, Ecn::Ect1), &mut |_, _| ());
            queue.enqueue(Instant::ZERO, Datagram::new(1514, Ecn::NotEct), &mut |_, _| ());
        }
        let order: Vec<Ecn> = (0..1_000)
            .filter_map(|_| queue.dequeue(Instant::ZERO, &mut |_, _| ()))
            .map(|frame| frame.ecn)
            .collect();
        assert!(order[..8].iter().all(|ecn| *ecn == Ecn::Ect1));
        let classic = order.iter().filter(|ecn| **ecn == Ecn::NotEct).count();
        assert!((95..=105).contains(&classic), "{classic}");
    }

    #[test]
    fn d4_at_overload_both_queues_drop_or_overflow_as_asked() {
        for ecn in [Ecn::Ect0, Ecn::Ect1] {
            let (_, dropped) = fates(ecn, 700);
            // Of four queued the first two can be dropped: 0.49 + 0.24.
            assert!((72_000..74_000).contains(&dropped), "{ecn:?} {dropped}");
        }
        let overflow = Settings::new().with("overflow", Value::Flag(true)).with("limit", Value::Packets(500));
        let mut queue = dualpi2(&overflow);
        let mut lost = 0;
        for step in 0..20_000_u64 {
            let now = Instant::from_nanos(step * 500_000);
            queue.enqueue(now, Datagram::new(1514, Ecn::Ect0), &mut |_, why| {
                lost += u64::from(why == DropReason::Overlimit)
            });
            if step % 2 == 0 {
                queue.dequeue(now, &mut |_, why| assert_eq!(why, DropReason::Overlimit));
            }
        }
        assert!(queue.probability <= ONE / 2 && lost > 9_000, "{} {lost}", queue.probability());
    }

    #[test]
    fn d5_ect1_and_ce_go_to_l_and_the_rest_to_c() {
        let mut queue = dualpi2(&Settings::new());
        for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce, Ecn::Ce] {
            queue.enqueue(Instant::ZERO, Datagram::new(1514, ecn), &mut |_, _| ());
        }
        assert_eq!((queue.classic.len(), queue.low_latency.len()), (2, 3));
    }

    #[test]
    fn d6_a_probability_of_zero_signals_nothing() {
        for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1] {
            assert_eq!(fates(ecn, 0), (0, 0));
        }
    }

    #[test]
    fn at_twice_the_target_the_base_probability_climbs_by_alpha_times_15_ms() {
        let mut queue = dualpi2(&Settings::new());
        queue.last_delay = Duration::from_millis(30);
        queue.classic.push_back(ms(70), Datagram::new(1514, Ecn::NotEct));
        queue.update_once(ms(100));
        // 0.16 per s x 15 ms = 0.0024 (41/256 is 0.16016).
        assert!((queue.probability() - 0.0024).abs() < 5e-6, "{}", queue.probability());
    }

    #[test]
    fn the_classic_queue_of_a_deaf_flow_is_held_at_its_target() {
        let mut queue = dualpi2(&Settings::new());
        let (mut waited, mut sent, mut arrived) = (0_u64, 0_u64, 0_u64);
        for step in 0..300_000_u64 {
            let now = Instant::from_nanos(step * 100_000);
            // 10 % more than the link takes.
            if now.as_nanos() >= arrived {
                queue.enqueue(now, Datagram::new(1514, Ecn::NotEct), &mut |_, _| ());
                arrived += 1_100_000;
            }
            if step % 12 == 0
                && let Some(front) = queue.classic.front().map(|queued| queued.at)
            {
                queue.dequeue(now, &mut |_, _| ());
                if step > 100_000 {
                    waited += now.since(front).as_nanos();
                    sent += 1;
                }
            }
        }
        let mean = waited / sent / 100_000;
        assert!((120..180).contains(&mean), "{mean} tenths of a millisecond");
    }
}
