//! An emulated network: `netem`.
//!
//! # What it does
//! netem delays packets by a fixed and a random time, and loses, duplicates, corrupts and reorders
//! some of them. It emulates the faults of a path, with or without an inner discipline. Packets
//! wait in order of the time at which they are due, so a random delay reorders them.
//!
//! # Reference
//! tc-netem(8); S. Hemminger, "Network emulation with NetEm", LCA 2005; E. Gilbert 1960 and E.
//! Elliott 1963 for the bursts of losses; behaviour of Linux 7.3 `net/sched/sch_netem.c`.
//!
//! # State
//! ```text
//! line: packets in order of time        tree: packets due before a packet that is already in line
//! front: packets sent out of turn       correlations: the last number of each correlated source
//! inner discipline, if any: holds packets that are due
//! ```
//!
//! # Parameters
//! | name | meaning | unit | default | source of the default | range |
//! |---|---|---|---|---|---|
//! | `limit` | packets held, including those being delayed; must exceed the packets that arrive within one delay | packets | 1000p | tc | 1 to 4294967295 |
//! | `delay` | delay of every packet | time | 0s | tc | 0 to 1000000s |
//! | `delay.jitter` | random variation of the delay | time | 0s | tc | 0 to 1000000s |
//! | `delay.correlation` | correlation with the value of the packet before | percentage; without a unit: percent | 0% | tc | |
//! | `distribution` | distribution of the random delay; jitter is the half width of uniform and the standard deviation of the others | `uniform`, `normal`, `pareto`, `paretonormal`, or a table | uniform | tc | |
//! | `loss` | probability that a packet is lost | percentage; without a unit: percent | 0% | tc | |
//! | `loss.correlation` | correlation with the value of the packet before | percentage; without a unit: percent | 0% | tc | |
//! | `loss gemodel` | loss in bursts (Gilbert-Elliott): probability to enter the bad state; not with `loss` | percentage; without a unit: percent | none | tc | |
//! | `loss gemodel.r` | probability to leave the bad state | percentage; without a unit: percent | 1 - P | tc | |
//! | `loss gemodel.1-h` | probability of a loss in the bad state | percentage; without a unit: percent | 100% | tc | |
//! | `loss gemodel.1-k` | probability of a loss in the good state | percentage; without a unit: percent | 0% | tc | |
//! | `loss state` | loss by a Markov chain of four states: probability from a gap to a loss in a burst; not with `loss` | percentage; without a unit: percent | none | tc | |
//! | `loss state.p31` | probability from a loss in a burst to a gap | percentage; without a unit: percent | 1 - P13 | tc | |
//! | `loss state.p32` | probability from a loss in a burst to a delivery in a burst | percentage; without a unit: percent | 0% | tc | |
//! | `loss state.p23` | probability from a delivery in a burst to a loss | percentage; without a unit: percent | 100% | tc | |
//! | `loss state.p14` | probability of a single loss in a gap | percentage; without a unit: percent | 0% | tc | |
//! | `corrupt` | probability that one bit of a packet is flipped | percentage; without a unit: percent | 0% | tc | |
//! | `corrupt.correlation` | correlation with the value of the packet before | percentage; without a unit: percent | 0% | tc | |
//! | `duplicate` | probability that a packet is duplicated | percentage; without a unit: percent | 0% | tc | |
//! | `duplicate.correlation` | correlation with the value of the packet before | percentage; without a unit: percent | 0% | tc | |
//! | `reorder` | probability that a packet skips the delay | percentage; without a unit: percent | 0% | tc | needs delay |
//! | `reorder.correlation` | correlation with the value of the packet before | percentage; without a unit: percent | 0% | tc | |
//! | `gap` | one packet out of this many may skip the delay | packets | 1 with reorder | tc | 1 to 4294967295 |
//! | `rate` | link rate that spaces packets | rate | none | tc | 8bit or more |
//! | `rate.packetoverhead` | bytes added to each packet | number, may be negative | 0 | tc | -65535 to 65535 |
//! | `rate.cellsize` | payload bytes of a cell; the link sends whole cells | number | 0 | tc | 0 to 65535 |
//! | `rate.celloverhead` | bytes added to each cell | number, may be negative | 0 | tc | -65535 to 65535 |
//! | `slot` | shortest time between bunches of packets | time | none | tc | 0 to 1000000s |
//! | `slot.max` | longest time between bunches | time | the least | tc | 0 to 1000000s |
//! | `slot distribution` | distribution of the time between bunches | `uniform`, `normal`, `pareto`, `paretonormal`, or a table | none | tc | |
//! | `slot distribution.delay` | mean time between bunches | time | 0s | tc | 0 to 1000000s |
//! | `slot distribution.jitter` | standard deviation of the time between bunches | time | 0s | tc | 0 to 1000000s |
//! | `packets` | packets per bunch | packets | no bound | tc | 1 to 2147483647; needs slot or slot distribution |
//! | `bytes` | bytes per bunch | bytes | no bound | tc | 1 to 2147483647; needs slot or slot distribution |
//! | `ecn` | mark ECN-capable packets instead of losing them | flag | off | tc | |
//! | `seed` | seed of the random numbers of this discipline | number | that of the run | tc | |
//! | `variant` | `linux`: Linux 7.3, whose tc hardly rounds times. `linux61`: Linux 6.1, whose tc rounds times down | word | linux | | |
//!
//! tc writes a parameter `a.b` without its name, directly after the value of `a`: `delay 100ms 10ms
//! 25%` sets `delay`, `delay.jitter` and `delay.correlation`. A distribution by table has 1 to
//! 16384 numbers of 16 bits, in units of 1/8192 of the jitter.
//!
//! A limit of 1000 packets with a delay of 100 ms holds a flow below 121 Mbit/s. Packets beyond the
//! limit are dropped, which looks like a slow path. Set `limit` to more than the packets that
//! arrive within one delay.
//!
//! # Deviations
//! * tc's measured table `experimental` is not built in, but can be given as any other table.
//! * A corrupted packet without bytes ([`Packet::corrupt`]) is lost.
//! * As in Linux: the time of the next bunch is chosen anew whenever the link asks before a
//!   packet is due. `rate` is cut to whole bytes per second. A packet that finds room for one may
//!   enter together with its copy.
//! * `linux61`: delay and jitter are rounded down to units of 64 ns.
//! * A copy enters this discipline; in Linux it enters the root of the tree. A packet that cannot
//!   be copied ([`Packet::duplicate`]) is not duplicated. In Linux both share their bytes, so a
//!   mark on one marks both. Here only a mark that `ecn` sets on the copy also marks the
//!   original.
//! * A copy counts as offered, and as dropped if it finds no room. Linux does not count it.
//! * The first number of a correlated source is drawn when it is needed.
//! * A jitter above 2.1 s works.
//! * After a change from `slot distribution` to `slot` with two times, Linux keeps the table, and
//!   every packet may then leave at once. Here the times apply.
//! * With a jitter above the delay, Linux never sends a packet that is due before the clock began
//!   (at boot). Here it leaves at once.
//! * The first bunch may leave from the origin of the caller's clock on. In Linux it may leave
//!   from the creation of the queue on.
//!
//! # Cost
//! Constant per packet, logarithmic in the packets that arrived out of order. A `dequeue` moves all
//! packets that are due to the inner discipline.
//!
//! # Example
//! ```
//! use goodqueue::{AnyConfig, Configure, Duration, Link, Settings, config::Value, netem::NetemConfig};
//! let settings = Settings::new().with("delay", Value::Time(Duration::from_millis(25)));
//! let config = NetemConfig::<AnyConfig>::from_settings(&settings, &Link::default()).unwrap();
//! assert_eq!(config.limit(), 1000);
//! ```

mod chance;
mod config;
mod distribution;
mod shown;
#[cfg(test)]
mod tests;

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};

use crate::config::{Build, Configure as _};
use crate::decision::{Evidence, FULL, Fate, LIMITS, Limit, Moment, Quantity, Question, Rule, rules};
use crate::gauge::{Observation, Observe};
use crate::leaf::{Leaf, Load};
use crate::nesting::{self, Inner};
use crate::packet::{Ecn, Flow, Packet};
use crate::qdisc::{DropReason, Drops, Lookahead, Qdisc, Stats};
use crate::random::{Random, Source};
use crate::tc_version::TcVersion;
use crate::time::{Duration, Instant, Rate};

use self::chance::{Chance, Share, correlated, happens};
use self::distribution::Distribution;

/// An emulated network.
#[derive(Clone, Debug)]
pub struct Netem<P, Q: Qdisc<P>> {
    config: Box<NetemConfig<Q::Config>>,
    /// Latest time seen (contract rule 1).
    now: Instant,
    random: Source,
    salt: u32,
    line: VecDeque<(Instant, P)>,
    tree: BTreeMap<(Instant, u64), P>,
    /// Packets sent out of turn, the newest first.
    front: VecDeque<(Instant, P)>,
    /// Packets put into `tree` so far. The number keeps packets of equal due times in order.
    arrivals: u64,
    inner: Option<Leaf<P, Q>>,
    /// Packets delayed since the last one sent out of turn.
    counter: u32,
    correlations: Correlations,
    /// Where the losses in bursts have got to.
    period: Period,
    bunch: Bunch,
    len: usize,
    bytes: u64,
    stats: Stats,
    tally: Tally,
    taken_ahead: bool,
}

/// What befell packets so far.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Tally {
    delayed: u64,
    lost: u64,
    corrupted: u64,
    duplicated: u64,
    reordered: u64,
}

/// The states of a model of losses in bursts; Gilbert and Elliott's has the first and the third.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Period {
    #[default]
    Gap,
    LostInGap,
    LostInBurst,
    Burst,
}

/// Packets and bytes that `slot` still lets pass, and the start of the bunch.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Bunch {
    from: Instant,
    packets: u64,
    /// May go below zero by one packet.
    bytes: i64,
}

/// The last numbers of the correlated sources.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Correlations {
    delay: Option<u32>,
    loss: Option<u32>,
    duplicate: Option<u32>,
    corrupt: Option<u32>,
    reorder: Option<u32>,
}

/// Configuration of [`Netem`].
#[derive(Clone, PartialEq, Debug)]
pub struct NetemConfig<C> {
    limit: u32,
    delay: Duration,
    jitter: Duration,
    delay_correlation: Share,
    distribution: Distribution,
    loss: Loss,
    duplicate: Chance,
    corrupt: Chance,
    reorder: Chance,
    gap: u32,
    rate: Option<Rate>,
    overhead: Overhead,
    slot: Option<Box<Slot>>,
    ecn: bool,
    seed: Option<u64>,
    inner: Option<Box<C>>,
    version: TcVersion,
}

/// Bytes added to each packet, payload bytes of a cell (0: no cells), and bytes added to each cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Overhead {
    packet: i32,
    cell: u32,
    per_cell: i32,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Loss {
    Random(Chance),
    /// Into the bad state, out of it, lost in the bad state, lost in the good one.
    GilbertElliott([Share; 4]),
    /// p13, p31, p32, p23 and p14 of a Markov chain: 1 gap, 2 burst, 3 lost in burst, 4 lost in
    /// gap.
    States([Share; 5]),
}

/// Bunches of packets.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Slot {
    apart: BunchSpacing,
    packets: Option<u32>,
    bytes: Option<u32>,
}

/// How far bunches are apart.
#[derive(Clone, PartialEq, Eq, Debug)]
enum BunchSpacing {
    Between(Duration, Duration),
    Spread(Distribution, Duration, Duration),
}

impl<P: Packet + Flow, Q: Inner<P>> Netem<P, Q> {
    /// An empty path. `random` is used unless the configuration has a seed.
    #[must_use]
    pub fn new(config: NetemConfig<Q::Config>, salt: u32, random: Source) -> Self {
        let mut random = config.source(random);
        let inner = config.inner.as_deref().map(|inner| Leaf::new(inner.clone(), 0, salt, &mut random));
        let bunch = Bunch::first(config.slot.as_deref(), Instant::ZERO);
        Self {
            config: Box::new(config),
            now: Instant::ZERO,
            random,
            salt,
            line: VecDeque::new(),
            tree: BTreeMap::new(),
            front: VecDeque::new(),
            arrivals: 0,
            inner,
            counter: 0,
            correlations: Correlations::default(),
            period: Period::Gap,
            bunch,
            len: 0,
            bytes: 0,
            stats: Stats::default(),
            tally: Tally::default(),
            taken_ahead: false,
        }
    }

    fn is_lost(&mut self) -> bool {
        match &self.config.loss {
            Loss::Random(chance) => happens(&mut self.random, &mut self.correlations.loss, chance),
            // As in Linux `loss_gilb_ell()`, the next state is drawn first, but the packet is lost
            // by the probability of the state that it found.
            Loss::GilbertElliott([into, out, lost_in_bad, lost_in_good]) => {
                if self.period == Period::LostInBurst {
                    if self.random.next_u32() < out.scaled {
                        self.period = Period::Gap;
                    }
                    // `>` here and `<` below: tc gives the kernel the probability that a packet of
                    // the bad state passes (`loss_gilb_ell()`).
                    self.random.next_u32() > u32::MAX - lost_in_bad.scaled
                } else {
                    if self.random.next_u32() < into.scaled {
                        self.period = Period::LostInBurst;
                    }
                    self.random.next_u32() < lost_in_good.scaled
                }
            }
            Loss::States([p13, p31, p32, p23, p14]) => {
                let drawn = self.random.next_u32();
                // As in Linux, the sum of two probabilities above 1 wraps.
                let either = |a: &Share, b: &Share| drawn < a.scaled.wrapping_add(b.scaled);
                self.period = match self.period {
                    Period::Gap if drawn < p14.scaled => Period::LostInGap,
                    Period::Gap if either(p13, p14) => Period::LostInBurst,
                    Period::Burst if drawn < p23.scaled => Period::LostInBurst,
                    Period::LostInBurst if drawn < p32.scaled => Period::Burst,
                    Period::LostInBurst if either(p31, p32) => Period::Gap,
                    Period::LostInGap => Period::Gap,
                    same => same,
                };
                matches!(self.period, Period::LostInGap | Period::LostInBurst)
            }
        }
    }

    /// A packet that the parent keeps counts against the limit.
    fn is_full(&self) -> bool {
        self.len + usize::from(self.taken_ahead) >= self.config.limit as usize
    }

    /// The packet and, if `may_copy`, perhaps a copy of it. True if it was marked.
    fn take_in(&mut self, mut packet: P, may_copy: bool, drops: &mut impl Drops<P>) -> bool {
        let bytes = packet.len();
        self.stats.offered.add(bytes);
        let doubled =
            may_copy && happens(&mut self.random, &mut self.correlations.duplicate, &self.config.duplicate);
        // The numbers are drawn in Linux's order: copy, loss, corruption, reordering, delay.
        let mut lost = self.is_lost();
        let marked = lost && self.config.ecn && self.mark(&mut packet);
        lost &= !marked;
        // One of two lost leaves one.
        if lost && !doubled {
            self.tally.lost = self.tally.lost.wrapping_add(1);
            self.stats.dropped_before.add(bytes);
            drops.dropped(packet, DropReason::Lost);
            return marked;
        }
        // The copy is made before the original is corrupted.
        let copy = if doubled && !lost { packet.duplicate() } else { None };
        let corrupted = happens(&mut self.random, &mut self.correlations.corrupt, &self.config.corrupt);
        if corrupted {
            self.tally.corrupted = self.tally.corrupted.wrapping_add(1);
            // As in Linux, the bit is drawn first, with a number of eight bits.
            let bit = (self.random.next_u32() & 255) >> 5;
            let byte = self.random.below(bytes);
            if !packet.corrupt(byte, u8::try_from(bit).unwrap_or(0)) {
                self.stats.dropped_before.add(bytes);
                drops.dropped(packet, DropReason::Lost);
                return marked;
            }
        }
        if self.is_full() {
            if let Some(copy) = copy {
                self.stats.offered.add(bytes);
                self.stats.dropped_before.add(bytes);
                drops.dropped(copy, DropReason::Overlimit);
            }
            self.stats.dropped_before.add(bytes);
            drops.dropped(packet, DropReason::Overlimit);
            return marked;
        }
        // Both find room where there was room for one, as in Linux.
        if let Some(copy) = copy {
            self.tally.duplicated = self.tally.duplicated.wrapping_add(1);
            // The copy draws its own loss, corruption and delay, but no copy: Linux sets its
            // `duplicate` to 0 for this call.
            let copy_marked = self.take_in(copy, false, drops);
            // There they share their bytes, unless one was corrupted.
            if copy_marked && !corrupted {
                self.mark(&mut packet);
            }
        }
        self.stats.enqueued.add(bytes);
        self.len += 1;
        self.bytes = self.bytes.saturating_add(u64::from(bytes));
        // As in Linux, a number is drawn only for a packet that may be sent out of turn.
        let in_turn = self.config.gap == 0
            || self.counter < self.config.gap - 1
            || self.config.reorder.share.scaled
                < correlated(
                    &mut self.random,
                    &mut self.correlations.reorder,
                    self.config.reorder.correlation,
                );
        if in_turn {
            self.counter = self.counter.saturating_add(1);
            self.tally.delayed = self.tally.delayed.wrapping_add(1);
            let due = self.due(bytes);
            self.wait(due, packet);
        } else {
            self.counter = 0;
            self.tally.reordered = self.tally.reordered.wrapping_add(1);
            // As in Linux, the packet goes to the head of the queue, in front of earlier ones.
            self.front.push_front((self.now, packet));
        }
        marked
    }

    /// True if the packet carries CE now.
    fn mark(&mut self, packet: &mut P) -> bool {
        let before = packet.ecn() == Ecn::Ce;
        let carries = packet.set_ce();
        if carries && !before {
            self.stats.marked.add(packet.len());
        }
        carries
    }

    /// Returns the time at which a packet that arrives now is due.
    fn due(&mut self, bytes: u32) -> Instant {
        let delay = self.random_delay();
        let Some(rate) = self.config.rate else { return later(self.now, delay) };
        let on_wire = self.config.on_wire(rate, bytes);
        let youngest = [
            self.front.back().map(|waiting| waiting.0),
            self.tree.last_key_value().map(|(key, _)| key.0),
            self.line.back().map(|waiting| waiting.0),
        ];
        // It follows the last one; what that one still waits is part of the delay.
        let Some(last) = youngest.into_iter().flatten().max() else {
            return later(later(self.now, delay), on_wire);
        };
        let ahead = i64::try_from(last.since(self.now).as_nanos()).unwrap_or(i64::MAX);
        // If the time of the last packet has passed, the difference adds to the rest, and the sum
        // is again `now + delay`.
        let behind = i64::try_from(self.now.since(last).as_nanos()).unwrap_or(i64::MAX);
        let rest = delay.saturating_sub(ahead).saturating_add(behind).max(0);
        later(later(last, rest), on_wire)
    }

    fn random_delay(&mut self) -> i64 {
        let NetemConfig { delay, jitter, distribution, version, .. } = &*self.config;
        let [delay, jitter] = [*delay, *jitter].map(|span| version.hands_over(span));
        if jitter.is_zero() {
            return i64::try_from(delay.as_nanos()).unwrap_or(i64::MAX);
        }
        let drawn = correlated(&mut self.random, &mut self.correlations.delay, self.config.delay_correlation);
        distribution.around(delay, jitter, drawn)
    }

    fn wait(&mut self, due: Instant, packet: P) {
        // As in Linux `tfifo_enqueue()`, a packet in order costs no search in the tree.
        if self.line.back().is_none_or(|last| last.0 <= due) {
            self.line.push_back((due, packet));
        } else {
            self.arrivals = self.arrivals.wrapping_add(1);
            self.tree.insert((due, self.arrivals), packet);
        }
    }

    /// When the next packet in order of time is due.
    fn next_due(&self) -> Option<Instant> {
        let line = self.line.front().map(|first| first.0);
        nesting::earlier(line, self.tree.first_key_value().map(|(key, _)| key.0))
    }

    /// The next packet in order of time, if it is due and its bunch may go.
    fn take_due(&mut self) -> Option<P> {
        let due = self.next_due()?;
        // As in Linux this happens at every call, so the number of calls matters.
        if self.config.slot.is_some() && self.bunch.from < due {
            self.next_bunch();
        }
        if due > self.now || self.bunch.from > self.now {
            return None;
        }
        let packet = if self.line.front().is_some_and(|first| first.0 <= due) {
            self.line.pop_front().map(|first| first.1)
        } else {
            self.tree.pop_first().map(|first| first.1)
        }?;
        if self.config.slot.is_some() {
            self.bunch.packets = self.bunch.packets.saturating_sub(1);
            self.bunch.bytes = self.bunch.bytes.saturating_sub(i64::from(packet.len()));
            if self.bunch.packets == 0 || self.bunch.bytes <= 0 {
                self.next_bunch();
            }
        }
        Some(packet)
    }

    /// The next bunch leaves a random time from now. If that time has passed, it is chosen again
    /// for a packet that was due later.
    fn next_bunch(&mut self) {
        let Some(slot) = &self.config.slot else { return };
        let from = match &slot.apart {
            BunchSpacing::Between(least, most) => {
                let width = most.saturating_sub(*least).as_nanos();
                let offset = (u128::from(width) * u128::from(self.random.next_u32())) >> 32;
                self.now + *least + Duration::from_nanos(u64::try_from(offset).unwrap_or(u64::MAX))
            }
            // Linux `tabledist()` draws no number without jitter.
            BunchSpacing::Spread(_, mean, Duration::ZERO) => self.now + *mean,
            BunchSpacing::Spread(distribution, mean, jitter) => {
                later(self.now, distribution.around(*mean, *jitter, self.random.next_u32()))
            }
        };
        self.bunch = Bunch::first(Some(slot), from);
    }

    fn leaves(&mut self, bytes: u32) {
        self.len = self.len.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(u64::from(bytes));
    }

    fn drop_queued(&mut self, packet: P, why: DropReason, drops: &mut impl Drops<P>) {
        self.leaves(packet.len());
        self.stats.dropped_after.add(packet.len());
        drops.dropped(packet, why);
    }

    /// Updates the totals after a call of the inner discipline, which held `before`.
    fn settle(&mut self, before: Load) {
        let Some(inner) = &self.inner else { return };
        let gone = (before.packets as u64).saturating_sub(inner.len() as u64);
        self.len = self.len.saturating_sub(usize::try_from(gone).unwrap_or(usize::MAX));
        self.bytes = self.bytes.saturating_sub(before.bytes.saturating_sub(inner.backlog()));
    }
}

impl Bunch {
    /// One that may go from `from` on, with all that it may hold.
    fn first(slot: Option<&Slot>, from: Instant) -> Self {
        // Linux `get_slot()` stores INT_MAX for a bound of 0.
        let most = |bound: Option<u32>| bound.unwrap_or(i32::MAX.unsigned_abs());
        let (packets, bytes) = slot.map_or((0, 0), |slot| (most(slot.packets), most(slot.bytes)));
        Self { from, packets: u64::from(packets), bytes: i64::from(bytes) }
    }
}

fn later(from: Instant, span: i64) -> Instant {
    let nanos = Duration::from_nanos(span.unsigned_abs());
    if span < 0 { from - nanos } else { from + nanos }
}

impl<P: Packet + Flow, Q: Inner<P>> Build<P, Source> for Netem<P, Q> {
    fn build(config: NetemConfig<Q::Config>, salt: u32, random: Source) -> Self {
        Self::new(config, salt, random)
    }
}

impl<P: Packet + Flow, Q: Inner<P>> Qdisc<P> for Netem<P, Q> {
    type Config = NetemConfig<Q::Config>;

    fn enqueue(&mut self, now: Instant, packet: P, drops: &mut impl Drops<P>) {
        // Rule 1 of the contract: a time before the latest one counts as the latest.
        self.now = self.now.max(now);
        self.take_in(packet, true, drops);
    }

    fn dequeue(&mut self, now: Instant, drops: &mut impl Drops<P>) -> Option<P> {
        self.now = self.now.max(now);
        // As in Linux `netem_dequeue()`, a packet out of turn does not pass the inner discipline.
        if let Some((_, packet)) = self.front.pop_front() {
            self.leaves(packet.len());
            self.stats.dequeued.add(packet.len());
            return Some(packet);
        }
        while let Some(packet) = self.take_due() {
            let bytes = packet.len();
            let Some(inner) = &mut self.inner else {
                self.leaves(bytes);
                self.stats.dequeued.add(bytes);
                return Some(packet);
            };
            // The packet already counts in the totals, so it counts as held before the call.
            let held = inner.load();
            let before =
                Load { packets: held.packets + 1, bytes: held.bytes.saturating_add(u64::from(bytes)) };
            inner.enqueue(self.now, packet, drops);
            self.settle(before);
        }
        let inner = self.inner.as_mut()?;
        let before = inner.load();
        let sent = inner.dequeue(self.now, drops);
        self.settle(before);
        sent
    }

    fn next_event(&self, now: Instant) -> Option<Instant> {
        let now = self.now.max(now);
        let due = self.next_due().map(|due| due.max(self.bunch.from)).filter(|&due| due > now);
        nesting::earlier(due, self.inner.as_ref().and_then(|inner| inner.next_event(now)))
    }

    fn len(&self) -> usize {
        self.len
    }

    fn backlog(&self) -> u64 {
        self.bytes
    }

    /// Packets that the inner discipline drops were queued here.
    fn stats(&self) -> Stats {
        let mut stats = self.stats;
        if let Some(inner) = &self.inner {
            let inside = inner.stats();
            let beyond = Stats {
                dequeued: inside.dequeued,
                dropped_after: inside.dropped(),
                marked: inside.marked,
                ..Stats::default()
            };
            stats = stats.plus(&beyond);
        }
        stats
    }

    /// Packets that are being delayed keep their times. An inner discipline that goes takes its
    /// packets with it.
    fn reconfigure(&mut self, now: Instant, config: NetemConfig<Q::Config>, drops: &mut impl Drops<P>) {
        self.now = self.now.max(now);
        // A change to the configuration in force must change nothing (`Qdisc::config`).
        if config == *self.config {
            return;
        }
        if config.seed != self.config.seed && config.seed.is_some() {
            // The configuration has a seed, so the argument is not used.
            self.random = config.source(Source::seeded(0));
        }
        let before = self.inner.as_ref().map_or(Load::default(), Leaf::load);
        match (&mut self.inner, config.inner.as_deref()) {
            (Some(inner), Some(new)) => {
                inner.reconfigure(self.now, new.clone(), drops);
                self.settle(before);
            }
            (Some(inner), None) => {
                inner.purge(self.now, drops);
                self.settle(before);
                // The counters of the inner discipline would go with it.
                self.stats = self.stats();
                self.inner = None;
            }
            (None, Some(new)) => {
                self.inner = Some(Leaf::new(new.clone(), 0, self.salt, &mut self.random));
            }
            (None, None) => {}
        }
        if config.slot != self.config.slot {
            // Linux `get_slot()`: bunches begin at the time of the change, and the time without
            // bunches is 0.
            let from = if config.slot.is_some() { self.now } else { Instant::ZERO };
            self.bunch = Bunch::first(config.slot.as_deref(), from);
        }
        // As in Linux, queued packets stay, and the loss model starts again.
        self.counter = 0;
        if !matches!(config.loss, Loss::Random(_)) && config.loss != self.config.loss {
            self.period = Period::Gap;
        }
        *self.config = config;
    }

    fn config(&self) -> NetemConfig<Q::Config> {
        (*self.config).clone()
    }

    fn purge(&mut self, now: Instant, drops: &mut impl Drops<P>) {
        self.now = self.now.max(now);
        loop {
            let next = self.front.pop_front().or_else(|| self.line.pop_front());
            let Some(packet) =
                next.map(|waiting| waiting.1).or_else(|| self.tree.pop_first().map(|waiting| waiting.1))
            else {
                break;
            };
            self.drop_queued(packet, DropReason::Purged, drops);
        }
        if let Some(inner) = &mut self.inner {
            let before = inner.load();
            inner.purge(self.now, drops);
            self.settle(before);
        }
        // Linux `netem_reset()` keeps the rest: the count to the next packet out of turn, and the
        // states of losses and of correlated numbers.
    }
}

impl<P: Packet + Flow, Q: Inner<P>> Lookahead<P> for Netem<P, Q> {
    const RULES: &'static [&'static [Rule]] = &[RULES, LIMITS];

    fn set_taken_ahead(&mut self, _now: Instant, taken: bool) {
        self.taken_ahead = taken;
    }

    fn other_flow(&self, packet: &P) -> Option<&P> {
        self.inner.as_ref()?.other_flow(packet)
    }

    fn evidence(&self, question: &Question<'_, P>) -> Evidence {
        let mut evidence = Evidence::from_kind(NetemConfig::<Q::Config>::KIND.name);
        let about = &question.about;
        evidence.fact("queued", Quantity::Packets(self.len as u64), "packets in the emulated network");
        let source = NetemConfig::<Q::Config>::KIND.reference;
        match about.fate {
            Fate::Dropped(DropReason::Lost) => evidence.rule(LOST, source, &[]),
            Fate::Sent | Fate::Marked if about.moment == Moment::Departure => {
                evidence.rule(DELAYED, source, &[]);
            }
            _ => {}
        }
        let limit = Limit {
            held: Quantity::Packets(self.len as u64),
            allowed: Quantity::Packets(u64::from(self.config.limit())),
            rule: FULL,
            source,
        };
        evidence.limit(about, DropReason::Overlimit, &limit);
        evidence.with_inner(self.inner.as_ref().map(|inner| inner.evidence(question)))
    }
}

impl<P: Packet + Flow, Q: Inner<P>> Observe for Netem<P, Q> {
    fn observe(&self, now: Instant, seen: &mut Observation) {
        let Tally { delayed, lost, corrupted, duplicated, reordered } = self.tally;
        seen.number("delayed", delayed);
        seen.number("dropped", lost);
        seen.number("corrupted", corrupted);
        seen.number("duplicated", duplicated);
        seen.number("reordered", reordered);
        if let Some(inner) = &self.inner {
            seen.children.push((1, inner.observe(now)));
        }
    }
}

impl<P: Packet + Flow, Q: Inner<P>> Inner<P> for Netem<P, Q> {}

rules! {
    /// Rules of an emulated network.
    RULES;
    /// The network lost the packet.
    LOST: "netem.lost" [];
    /// The delay of the packet was over.
    DELAYED: "netem.delayed" [];
}
