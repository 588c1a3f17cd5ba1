//! An emulated network: `netem`.
//!
//! # What it does
//! Delays packets, by a fixed time and a random one, and loses, duplicates and reorders some: a path's faults in front of
//! an inner discipline or none. Packets wait in order of the time at which they are due, so a random delay reorders them.
//!
//! # Reference
//! tc-netem(8); S. Hemminger, "Network emulation with NetEm", LCA 2005; E. Gilbert 1960 and E. Elliott 1963 for the bursts
//! of losses; behaviour of Linux 6.1 `net/sched/sch_netem.c`.
//!
//! # State
//! ```text
//! line: packets in order of time        tree: those that came before one already in line
//! front: packets sent out of turn       correlations: the last number of each correlated source
//! inner discipline, if any: holds packets that are due
//! ```
//!
//! # Parameters
//! | name | unit | default | source of the default | range |
//! |---|---|---|---|---|
//! | `limit` | packets | 1000 | tc | 1 to 2^32 - 1; counts the packets that are being delayed, too |
//! | `delay` TIME \[JITTER \[CORRELATION\]\] | time | 0 | tc | uniform within ± jitter |
//! | `loss` P \[CORRELATION\] | probability | 0 | tc | |
//! | `loss gemodel` P \[R \[1-H \[1-K\]\]\] | probability | none; R: 1 - P, 1-H: 1, 1-K: 0 | tc | not with `loss` |
//! | `duplicate` P \[CORRELATION\] | probability | 0 | tc | |
//! | `reorder` P \[CORRELATION\] | probability | 0 | tc | needs `delay` |
//! | `gap` | packets | 1 with `reorder` | tc | every so many packets one may be sent at once |
//! | `rate` | rate | none | tc | 8 bit/s or more |
//! | `ecn` | flag | off | tc | mark instead of losing |
//! | `seed` | number | that of the run | tc | |
//!
//! A limit of 1000 packets with a delay of 100 ms holds a flow below 121 Mbit/s: what comes beyond it is dropped, which
//! looks like a slow path. Set `limit` to more than the packets of one delay.
//!
//! # Deviations
//! From Linux: `distribution` other than uniform, `slot`, `corrupt`, `loss state` and the overheads of `rate` are not there.
//! A copy enters this discipline, in Linux the root of the tree; a copy of a packet that cannot be copied
//! ([`Packet::duplicate`]) is not made. The first number of a correlated source is drawn when it is needed. A jitter above
//! 2.1 s works. A copy counts as offered.
//!
//! # Cost
//! Constant per packet, logarithmic in the packets that came out of order. A `dequeue` moves all packets that are due to
//! the inner discipline.
//!
//! # Example
//! ```
//! use goodqueue::{Configure, Duration, Link, Settings, config::Value, netem::NetemConfig};
//! let settings = Settings::new().with("delay", Value::Time(Duration::from_millis(25)));
//! let config = NetemConfig::from_settings(&settings, &Link::default()).unwrap();
//! assert_eq!(config.limit(), 1000);
//! ```

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};

use crate::config::{Build, Children, ConfigError, Configure, Kind, Link, Parameter, Settings, Unit, Value};
use crate::gauge::Observation;
use crate::leaf::{self, Leaf};
use crate::packet::{Ecn, Flow, Packet};
use crate::qdisc::{DropReason, Drops, Qdisc, Stats};
use crate::random::{Random, Source};
use crate::registry::AnyConfig;
use crate::time::{Duration, Instant, Rate};

/// An emulated network.
#[derive(Clone, Debug)]
pub struct Netem<P> {
    config: NetemConfig,
    /// Latest time seen (contract rule 1).
    now: Instant,
    random: Source,
    salt: u32,
    line: VecDeque<(Instant, P)>,
    tree: BTreeMap<(Instant, u64), P>,
    /// Sent out of turn; the youngest goes first.
    front: VecDeque<(Instant, P)>,
    /// Packets put into `tree` so far: those due at the same time keep their order.
    arrivals: u64,
    inner: Option<Leaf<P>>,
    /// Packets delayed since the last one sent out of turn.
    counter: u32,
    correlations: Correlations,
    /// The bad state of Gilbert and Elliott.
    bad: bool,
    len: usize,
    bytes: u64,
    stats: Stats,
    tally: Tally,
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

/// The last numbers of the correlated sources.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Correlations {
    delay: Option<u32>,
    loss: Option<u32>,
    duplicate: Option<u32>,
    reorder: Option<u32>,
}

/// Configuration of [`Netem`].
#[derive(Clone, PartialEq, Debug)]
pub struct NetemConfig {
    limit: u32,
    delay: Duration,
    jitter: Duration,
    delay_correlation: Share,
    loss: Loss,
    duplicate: Chance,
    reorder: Chance,
    gap: u32,
    rate: Option<Rate>,
    ecn: bool,
    seed: Option<u64>,
    inner: Option<Box<AnyConfig>>,
}

/// A fraction, and the same as tc hands it over: 2^32 - 1 is 1.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Share {
    fraction: f64,
    scaled: u32,
}

/// How often something happens, and how much that depends on whether it did the last time.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Chance {
    share: Share,
    correlation: Share,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Loss {
    Random(Chance),
    /// Into the bad state, out of it, lost in the bad state, lost in the good one.
    GilbertElliott([Share; 4]),
}

impl Share {
    fn new(fraction: f64) -> Self {
        Self { fraction, scaled: scale(fraction) }
    }

    const fn is_zero(self) -> bool {
        self.scaled == 0
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the conversion saturates, and a fraction is between 0 and 1"
)]
fn scale(fraction: f64) -> u32 {
    (fraction * f64::from(u32::MAX) + 0.5) as u32
}

impl NetemConfig {
    /// Packets held.
    #[must_use]
    pub const fn limit(&self) -> u32 {
        self.limit
    }

    /// The fixed delay.
    #[must_use]
    pub const fn delay(&self) -> Duration {
        self.delay
    }

    fn source(&self, given: Source) -> Source {
        self.seed.map_or(given, Source::seeded)
    }
}

impl Configure for NetemConfig {
    const KIND: Kind = KIND;

    fn from_settings(settings: &Settings, link: &Link) -> Result<Self, ConfigError> {
        let number = |name, default: u32| -> Result<u32, ConfigError> {
            let given = settings.number(name, 1, u64::from(u32::MAX))?;
            Ok(given.and_then(|value| u32::try_from(value).ok()).unwrap_or(default))
        };
        let share = |name, default: f64| -> Result<Share, ConfigError> {
            let fraction = settings.probability(name).unwrap_or(default);
            if !(0.0..=1.0).contains(&fraction) {
                return Err(ConfigError::new(name, alloc::format!("{fraction}"), SHARE_RANGE));
            }
            Ok(Share::new(fraction))
        };
        let chance = |name, correlation| -> Result<Chance, ConfigError> {
            Ok(Chance { share: share(name, 0.0)?, correlation: share(correlation, 0.0)? })
        };
        let time = |name| -> Result<Duration, ConfigError> {
            let span = settings.time(name).unwrap_or_default();
            if span > MAX_DELAY {
                return Err(ConfigError::new(name, alloc::format!("{span}"), DELAY_RANGE));
            }
            Ok(span)
        };
        let (delay, jitter) = (time("delay")?, time("delay.jitter")?);
        let loss = match settings.probability("loss gemodel") {
            None => Loss::Random(chance("loss", "loss.correlation")?),
            Some(_) if settings.get("loss").is_some() => {
                return Err(ConfigError::new("loss", "", "one of `loss` and `loss gemodel`"));
            }
            Some(into) => Loss::GilbertElliott([
                share("loss gemodel", 0.0)?,
                share("loss gemodel.r", 1.0 - into)?,
                share("loss gemodel.1-h", 1.0)?,
                share("loss gemodel.1-k", 0.0)?,
            ]),
        };
        let reorder = chance("reorder", "reorder.correlation")?;
        if !reorder.share.is_zero() && delay.is_zero() && jitter.is_zero() {
            return Err(ConfigError::new(
                "reorder",
                alloc::format!("{}", reorder.share.fraction),
                "0 without `delay`",
            ));
        }
        let gap =
            if settings.get("gap").is_some() || !reorder.share.is_zero() { number("gap", 1)? } else { 0 };
        let rate = settings.rate("rate");
        if let Some(rate) = rate.filter(|rate| rate.as_bps() < 8) {
            return Err(ConfigError::new("rate", alloc::format!("{rate}"), "8bit or more"));
        }
        let inner = match settings.children() {
            [] => None,
            [child] => leaf::qdisc_of(child, link)?.map(Box::new),
            _ => return Err(ConfigError::new("qdisc", "", "one inner discipline")),
        };
        let seed = match settings.get("seed") {
            Some(Value::Integer(seed)) => Some(seed),
            _ => None,
        };
        Ok(Self {
            limit: number("limit", DEFAULT_LIMIT)?,
            delay,
            jitter,
            delay_correlation: share("delay.correlation", 0.0)?,
            loss,
            duplicate: chance("duplicate", "duplicate.correlation")?,
            reorder,
            gap,
            rate,
            ecn: settings.flag("ecn").unwrap_or(false),
            seed,
            inner,
        })
    }

    fn to_settings(&self) -> Settings {
        let mut settings = Settings::new()
            .with("limit", Value::Packets(u64::from(self.limit)))
            .with("delay", Value::Time(self.delay))
            .with("delay.jitter", Value::Time(self.jitter))
            .with("delay.correlation", Value::Probability(self.delay_correlation.fraction));
        let mut set = |name, share: Share| settings.set(name, Value::Probability(share.fraction));
        match self.loss {
            Loss::Random(chance) => {
                set("loss", chance.share);
                set("loss.correlation", chance.correlation);
            }
            Loss::GilbertElliott([into, out, bad, good]) => {
                set("loss gemodel", into);
                set("loss gemodel.r", out);
                set("loss gemodel.1-h", bad);
                set("loss gemodel.1-k", good);
            }
        }
        set("duplicate", self.duplicate.share);
        set("duplicate.correlation", self.duplicate.correlation);
        set("reorder", self.reorder.share);
        set("reorder.correlation", self.reorder.correlation);
        if self.gap > 0 {
            settings.set("gap", Value::Packets(u64::from(self.gap)));
        }
        if let Some(rate) = self.rate {
            settings.set("rate", Value::Rate(rate));
        }
        settings.set("ecn", Value::Flag(self.ecn));
        if let Some(seed) = self.seed {
            settings.set("seed", Value::Integer(seed));
        }
        match &self.inner {
            Some(config) => settings.with_child(leaf::child(1, Settings::new(), config)),
            None => settings,
        }
    }
}

/// A number from a source that remembers: the larger the correlation, the closer to the last one.
fn correlated(random: &mut Source, last: &mut Option<u32>, correlation: Share) -> u32 {
    if correlation.is_zero() {
        return random.next_u32();
    }
    let before = last.unwrap_or_else(|| random.next_u32());
    let drawn = u64::from(random.next_u32());
    let rho = u64::from(correlation.scaled) + 1;
    let mixed = u128::from(drawn) * u128::from((1 << 32) - rho) + u128::from(before) * u128::from(rho);
    let answer = u32::try_from(mixed >> 32).unwrap_or(u32::MAX);
    *last = Some(answer);
    answer
}

/// True as often as `chance` says; never draws if that is never.
fn happens(random: &mut Source, last: &mut Option<u32>, chance: &Chance) -> bool {
    !chance.share.is_zero() && chance.share.scaled >= correlated(random, last, chance.correlation)
}

impl<P: Packet + Flow> Netem<P> {
    /// An empty path. `random` is used unless the configuration has a seed.
    #[must_use]
    pub fn new(config: NetemConfig, salt: u32, random: Source) -> Self {
        let mut random = config.source(random);
        let inner = config.inner.as_deref().map(|inner| Leaf::new(inner.clone(), 0, salt, &mut random));
        Self {
            config,
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
            bad: false,
            len: 0,
            bytes: 0,
            stats: Stats::default(),
            tally: Tally::default(),
        }
    }

    fn is_lost(&mut self) -> bool {
        match &self.config.loss {
            Loss::Random(chance) => happens(&mut self.random, &mut self.correlations.loss, chance),
            Loss::GilbertElliott([into, out, lost_in_bad, lost_in_good]) => {
                if self.bad {
                    self.bad = self.random.next_u32() >= out.scaled;
                    self.random.next_u32() > u32::MAX - lost_in_bad.scaled
                } else {
                    self.bad = self.random.next_u32() < into.scaled;
                    self.random.next_u32() < lost_in_good.scaled
                }
            }
        }
    }

    /// The packet and, if `may_copy`, perhaps a copy of it.
    fn take_in(&mut self, mut packet: P, may_copy: bool, drops: &mut impl Drops<P>) {
        let bytes = packet.len();
        self.stats.offered.add(bytes);
        let doubled =
            may_copy && happens(&mut self.random, &mut self.correlations.duplicate, &self.config.duplicate);
        let mut lost = self.is_lost();
        let marked_before = packet.ecn() == Ecn::Ce;
        if lost && self.config.ecn && packet.set_ce() {
            if !marked_before {
                self.stats.marked.add(bytes);
            }
            lost = false;
        }
        // One of two lost leaves one.
        if lost && !doubled {
            self.tally.lost = self.tally.lost.wrapping_add(1);
            self.stats.dropped_before.add(bytes);
            drops.dropped(packet, DropReason::Lost);
            return;
        }
        if self.len >= self.config.limit as usize {
            self.stats.dropped_before.add(bytes);
            drops.dropped(packet, DropReason::Overlimit);
            return;
        }
        if doubled
            && !lost
            && let Some(copy) = packet.duplicate()
        {
            self.tally.duplicated = self.tally.duplicated.wrapping_add(1);
            self.take_in(copy, false, drops);
            // The copy may have taken the last place.
            if self.len >= self.config.limit as usize {
                self.stats.dropped_before.add(bytes);
                drops.dropped(packet, DropReason::Overlimit);
                return;
            }
        }
        self.stats.enqueued.add(bytes);
        self.len += 1;
        self.bytes = self.bytes.saturating_add(u64::from(bytes));
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
            self.front.push_front((self.now, packet));
        }
    }

    /// When a packet that comes now is due.
    fn due(&mut self, bytes: u32) -> Instant {
        let delay = self.random_delay();
        let later = |from: Instant, span: i64| {
            if span < 0 { from - nanos(span) } else { from + nanos(span) }
        };
        let Some(rate) = self.config.rate else { return later(self.now, delay) };
        let on_wire = i64::try_from(rate.serialization(bytes).as_nanos()).unwrap_or(i64::MAX);
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
        let behind = i64::try_from(self.now.since(last).as_nanos()).unwrap_or(i64::MAX);
        let rest = delay.saturating_sub(ahead).saturating_add(behind).max(0);
        later(later(last, rest), on_wire)
    }

    fn random_delay(&mut self) -> i64 {
        // Both are at most `MAX_DELAY`.
        let delay = i64::try_from(self.config.delay.as_nanos()).unwrap_or(i64::MAX);
        let jitter = self.config.jitter.as_nanos();
        if jitter == 0 {
            return delay;
        }
        let drawn = correlated(&mut self.random, &mut self.correlations.delay, self.config.delay_correlation);
        let width = jitter.saturating_mul(2);
        let offset = if width <= u64::from(u32::MAX) {
            u64::from(drawn) % width
        } else {
            u64::try_from((u128::from(drawn) * u128::from(width)) >> 32).unwrap_or(u64::MAX)
        };
        let signed = |span: u64| i64::try_from(span).unwrap_or(i64::MAX);
        delay.saturating_add(signed(offset)).saturating_sub(signed(jitter))
    }

    fn wait(&mut self, due: Instant, packet: P) {
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
        leaf::earlier(line, self.tree.first_key_value().map(|(key, _)| key.0))
    }

    /// The next packet in order of time, if it is due.
    fn take_due(&mut self) -> Option<P> {
        let due = self.next_due().filter(|&due| due <= self.now)?;
        if self.line.front().is_some_and(|first| first.0 <= due) {
            return self.line.pop_front().map(|first| first.1);
        }
        self.tree.pop_first().map(|first| first.1)
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

    /// Brings the totals up to date after the inner discipline has gone from `before` packets of so many bytes to what it
    /// holds now, of which it gave away `sent`.
    fn settle(&mut self, before: (usize, u64)) {
        let Some(inner) = &self.inner else { return };
        let gone = (before.0 as u64).saturating_sub(inner.len() as u64);
        self.len = self.len.saturating_sub(usize::try_from(gone).unwrap_or(usize::MAX));
        self.bytes = self.bytes.saturating_sub(before.1.saturating_sub(inner.backlog()));
    }
}

const fn nanos(span: i64) -> Duration {
    Duration::from_nanos(span.unsigned_abs())
}

impl<P: Packet + Flow> Build<P, Source> for Netem<P> {
    fn build(config: NetemConfig, salt: u32, random: Source) -> Self {
        Self::new(config, salt, random)
    }
}

impl<P: Packet + Flow> Qdisc<P> for Netem<P> {
    type Config = NetemConfig;

    fn enqueue(&mut self, now: Instant, packet: P, drops: &mut impl Drops<P>) {
        self.now = self.now.max(now);
        self.take_in(packet, true, drops);
    }

    fn dequeue(&mut self, now: Instant, drops: &mut impl Drops<P>) -> Option<P> {
        self.now = self.now.max(now);
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
            let before = (inner.len() + 1, inner.backlog().saturating_add(u64::from(bytes)));
            inner.enqueue(self.now, packet, drops);
            self.settle(before);
        }
        let inner = self.inner.as_mut()?;
        let before = (inner.len(), inner.backlog());
        let sent = inner.dequeue(self.now, drops);
        self.settle(before);
        sent
    }

    fn next_event(&self, now: Instant) -> Option<Instant> {
        let now = self.now.max(now);
        let due = self.next_due().filter(|&due| due > now);
        leaf::earlier(due, self.inner.as_ref().and_then(|inner| inner.next_event(now)))
    }

    fn len(&self) -> usize {
        self.len
    }

    fn backlog(&self) -> u64 {
        self.bytes
    }

    /// What the inner discipline drops was queued here.
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
            leaf::add(&mut stats, &beyond);
        }
        stats
    }

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

    /// Packets that are being delayed keep their times. An inner discipline that goes takes its packets with it.
    fn reconfigure(&mut self, now: Instant, config: NetemConfig, drops: &mut impl Drops<P>) {
        self.now = self.now.max(now);
        if config == self.config {
            return;
        }
        if config.seed != self.config.seed && config.seed.is_some() {
            self.random = config.source(Source::seeded(0));
        }
        let before = self.inner.as_ref().map_or((0, 0), |inner| (inner.len(), inner.backlog()));
        match (&mut self.inner, config.inner.as_deref()) {
            (Some(inner), Some(new)) => {
                inner.reconfigure(self.now, new.clone(), drops);
                self.settle(before);
            }
            (Some(inner), None) => {
                inner.purge(self.now, drops);
                self.settle(before);
                self.stats = self.stats();
                self.inner = None;
            }
            (None, Some(new)) => {
                self.inner = Some(Leaf::new(new.clone(), 0, self.salt, &mut self.random));
            }
            (None, None) => {}
        }
        self.config = config;
        while self.len > self.config.limit as usize {
            // The one that is due last; those inside the inner discipline are its own business, and the last to go.
            let line_is_last = match (self.line.back(), self.tree.last_key_value()) {
                (Some(line), Some((key, _))) => line.0 >= key.0,
                (line, _) => line.is_some(),
            };
            let last = if line_is_last {
                self.line.pop_back().map(|last| last.1)
            } else {
                self.tree.pop_last().map(|last| last.1)
            };
            if let Some(packet) = last.or_else(|| self.front.pop_back().map(|waiting| waiting.1)) {
                self.drop_queued(packet, DropReason::Overlimit, drops);
            } else if let Some(inner) = &mut self.inner {
                let held = (inner.len(), inner.backlog());
                inner.purge(self.now, drops);
                self.settle(held);
                break;
            } else {
                break;
            }
        }
    }

    fn config(&self) -> NetemConfig {
        self.config.clone()
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
            let before = (inner.len(), inner.backlog());
            inner.purge(self.now, drops);
            self.settle(before);
        }
        self.counter = 0;
        self.bad = false;
        self.correlations = Correlations::default();
    }
}

const fn follower(name: &'static str, unit: Unit, default: &'static str, doc: &'static str) -> Parameter {
    Parameter { name, unit, default, source: "tc", range: "", doc }
}

const fn correlation(name: &'static str) -> Parameter {
    follower(name, Unit::Probability, "0", "how much each depends on the last one")
}

const KIND: Kind = Kind {
    name: "netem",
    summary: "An emulated network: delay, jitter, loss, duplicates, reordering, rate",
    reference: "Hemminger 2005; tc-netem(8)",
    variants: &[],
    children: Children::One,
    parameters: &[
        Parameter {
            name: "limit",
            unit: Unit::Packets,
            default: "1000p",
            source: "tc",
            range: "1 to 4294967295",
            doc: "packets held, those being delayed included; must exceed what is under way in one delay",
        },
        Parameter {
            name: "delay",
            unit: Unit::Time,
            default: "0s",
            source: "tc",
            range: DELAY_RANGE,
            doc: "delay of every packet",
        },
        Parameter {
            name: "delay.jitter",
            unit: Unit::Time,
            default: "0s",
            source: "tc",
            range: DELAY_RANGE,
            doc: "random delay more or less, uniform",
        },
        correlation("delay.correlation"),
        follower("loss", Unit::Probability, "0", "probability that a packet is lost"),
        correlation("loss.correlation"),
        follower(
            "loss gemodel",
            Unit::Probability,
            "none",
            "losses in bursts: probability to enter the bad state",
        ),
        follower("loss gemodel.r", Unit::Probability, "1 - P", "probability to leave the bad state"),
        follower("loss gemodel.1-h", Unit::Probability, "1", "probability of a loss in the bad state"),
        follower("loss gemodel.1-k", Unit::Probability, "0", "probability of a loss in the good state"),
        follower("duplicate", Unit::Probability, "0", "probability that a packet comes twice"),
        correlation("duplicate.correlation"),
        Parameter {
            name: "reorder",
            unit: Unit::Probability,
            default: "0",
            source: "tc",
            range: "needs delay",
            doc: "probability that a packet is sent at once",
        },
        correlation("reorder.correlation"),
        Parameter {
            name: "gap",
            unit: Unit::Packets,
            default: "1 with reorder",
            source: "tc",
            range: "1 to 4294967295",
            doc: "only one packet of so many may be sent at once",
        },
        Parameter {
            name: "rate",
            unit: Unit::Rate,
            default: "none",
            source: "tc",
            range: "8bit or more",
            doc: "packets follow each other no closer than at this rate",
        },
        Parameter {
            name: "ecn",
            unit: Unit::Flag { off: None },
            default: "off",
            source: "tc",
            range: "",
            doc: "mark CE where possible instead of losing",
        },
        Parameter {
            name: "seed",
            unit: Unit::Integer,
            default: "the run's",
            source: "tc",
            range: "",
            doc: "seed of this network's own random numbers",
        },
    ],
};

const SHARE_RANGE: &str = "0 to 1";
const DELAY_RANGE: &str = "0 to 1000000s";
const MAX_DELAY: Duration = Duration::from_secs(1_000_000);
const DEFAULT_LIMIT: u32 = 1000;
