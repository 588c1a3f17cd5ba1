//! Deficit round robin: `drr`.
//!
//! # What it does
//! Classes are served in turn. In its turn a class may send as many bytes as its deficit allows.
//! The deficit grows by the class's quantum each time its next packet is too long. Busy classes
//! therefore share the link in the ratio of their quanta, whatever the lengths of their packets.
//!
//! # Reference
//! M. Shreedhar & G. Varghese, "Efficient fair queueing using deficit round robin", SIGCOMM 1995;
//! tc-drr(8); behaviour of Linux 6.1 `net/sched/sch_drr.c`.
//!
//! # State
//! ```text
//! class: discipline, quantum, deficit        active: classes that have packets, the one whose turn it is first
//! ```
//!
//! # Parameters
//! | name | meaning | unit | default | source of the default | range |
//! |---|---|---|---|---|---|
//! | `flows` | number of classes to create if none is given; flows are hashed into them | number | 1024 | ours; Linux has no classes until they are made | 1 to 65536 |
//! | `quantum` | bytes that a class without its own quantum sends per round | bytes | MTU | Linux sch_drr | 1 to 2147483647 |
//! | class `quantum` | bytes that the class sends per round; raised to 256, limited to 1048576 | bytes | quantum of the discipline | Linux sch_drr: MTU | 1 to 2147483647 |
//!
//! A class is written in brackets: `[1 quantum 1514: pfifo limit 30]`. A class without a discipline
//! holds a `pfifo` of 1000 packets.
//!
//! # Deviations
//! Linux has no class until one is created, and drops packets that no filter assigns to a class.
//! Here a packet goes to the class that [`Flow::class`] names, or to one chosen by the hash of its
//! flow. If no class is given, `flows` classes are created, each with a `pfifo` of 1000 packets.
//!
//! The paper's queues share one buffer and drop from the longest queue. Here, as in Linux, each
//! class has its own limit, and a class starts with a deficit of one quantum. Quanta below 256
//! count as 256, and quanta above 2^20 as 2^20. If a class holds its packets back, Linux stops
//! serving; here the other classes continue. A packet of no bytes is charged one byte.
//!
//! # Cost
//! Constant per packet while quanta are at least the packet length. With smaller quanta, a
//! `dequeue` visits every active class at most three times.
//!
//! # Example
//! ```
//! use goodqueue::{AnyConfig, Configure, Link, Settings, config::{Child, Value}, drr::DrrConfig};
//! let class = Child { class: 1, settings: Settings::new().with("quantum", Value::Bytes(500)), ..Child::default() };
//! let config = DrrConfig::<AnyConfig>::from_settings(&Settings::new().with_child(class), &Link::default()).unwrap();
//! assert_eq!(config.classes().len(), 1);
//! ```

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use crate::config::{Build, Children, ConfigError, Configure, Kind, Link, Settings};
use crate::decision::{Evidence, Fate, Moment, Quantity, Question, Rule, rules};
use crate::gauge::{Gauge, Observation, Observe, Part};
use crate::leaf::ClassLeaf;
use crate::nesting::{self, Inner, InnerConfig};
use crate::packet::{Flow, Packet, scale_hash};
use crate::qdisc::{DropReason, Drops, Lookahead, Qdisc, Stats};
use crate::queue::{Pool, Turns};
use crate::random::Source;
use crate::shown::{Show, Shown};
use crate::time::Instant;
use crate::typed::{self, parameters};

/// Deficit round robin between disciplines.
#[derive(Clone, Debug)]
pub struct Drr<P, Q: Qdisc<P>> {
    config: DrrConfig<Q::Config>,
    /// In the order of their numbers, which are in `minors`.
    classes: Vec<Class<P, Q>>,
    minors: Vec<u32>,
    /// Packets of those classes that hold a `pfifo`.
    pool: Pool<P>,
    /// Classes with packets, by their place in `classes`; the one whose turn it is first.
    active: Turns,
    /// Latest time that any child has seen (contract rule 1).
    now: Instant,
    salt: u32,
    random: Source,
    /// Packets that no class took, and the counters of deleted classes.
    beside: Stats,
}

// A packet then touches one line of the cache of its class.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Class<P, Q> {
    leaf: ClassLeaf<P, Q>,
    deficit: u64,
    quantum: u32,
    active: bool,
}

const _: () = assert!(size_of::<Class<[u64; 10], ()>>() <= 64, "a thousand flows must stay in the cache");

/// Configuration of [`Drr`].
#[derive(Clone, PartialEq, Debug)]
pub struct DrrConfig<C> {
    /// Classes that are made if none is given.
    flows: u32,
    quantum: u32,
    classes: Vec<DrrClass<C>>,
}

/// One class of a [`DrrConfig`].
#[derive(Clone, PartialEq, Debug)]
pub struct DrrClass<C> {
    minor: u32,
    quantum: u32,
    qdisc: C,
}

impl<C: InnerConfig> DrrConfig<C> {
    /// The classes that were given, in the order of their numbers.
    #[must_use]
    pub fn classes(&self) -> &[DrrClass<C>] {
        &self.classes
    }

    /// Returns classes with these numbers, quanta and disciplines, in the order of their numbers.
    pub(crate) fn from_classes(classes: impl IntoIterator<Item = (u32, u32, C)>) -> Self {
        let classes = classes.into_iter().map(|(minor, quantum, qdisc)| DrrClass { minor, quantum, qdisc });
        Self { flows: 0, quantum: LEAST_QUANTUM, classes: classes.collect() }
    }

    /// The classes that there are.
    fn all_classes(&self) -> Vec<DrrClass<C>> {
        if !self.classes.is_empty() {
            return self.classes.clone();
        }
        (1..=self.flows).map(|minor| DrrClass { minor, quantum: self.quantum, qdisc: C::usual() }).collect()
    }
}

impl<C: InnerConfig> DrrClass<C> {
    /// The minor number.
    #[must_use]
    pub const fn minor(&self) -> u32 {
        self.minor
    }

    /// Bytes per round.
    #[must_use]
    pub const fn quantum(&self) -> u32 {
        self.quantum
    }

    /// The discipline in it.
    #[must_use]
    pub const fn qdisc(&self) -> &C {
        &self.qdisc
    }
}

impl<C: InnerConfig> DrrConfig<C> {
    /// Adds class `minor` with `quantum` bytes per round, or replaces it.
    ///
    /// # Errors
    /// The number is not from 1 to 65535, or a value is out of range.
    pub fn with_class(&self, minor: u32, quantum: u32, inner: &C) -> Result<Self, ConfigError> {
        let own = Settings::new().and(&QUANTUM, quantum);
        typed::with_child(self, nesting::child(minor, own, inner))
    }
}

impl<C: InnerConfig> Configure for DrrConfig<C> {
    const KIND: Kind = KIND;

    fn from_checked(settings: &Settings, link: &Link) -> Result<Self, ConfigError> {
        let quantum_of = |given_settings: &Settings, default: u32| -> Result<u32, ConfigError> {
            Ok(QUANTUM.read_or(given_settings, default)?.clamp(LEAST_QUANTUM, MOST_QUANTUM))
        };
        // The MTU of a link may be outside the range of the parameter.
        let quantum = quantum_of(settings, link.mtu.clamp(1, i32::MAX.unsigned_abs()))?;
        let mut classes: Vec<DrrClass<C>> = Vec::new();
        for child in settings.children() {
            let own = quantum_of(&child.settings, quantum).map_err(|error| error.in_class(child.class))?;
            let qdisc = nesting::qdisc_of(child, link)?.unwrap_or_else(C::usual);
            classes.push(DrrClass { minor: child.class, quantum: own, qdisc });
        }
        nesting::check_minors(settings.children())?;
        // Packets find their class by binary search, and a change pairs old and new classes in one
        // pass.
        classes.sort_by_key(|class| class.minor);
        let flows = if classes.is_empty() { FLOWS.read(settings)? } else { 0 };
        Ok(Self { flows, quantum, classes })
    }

    fn to_settings(&self) -> Settings {
        let mut settings = Settings::new();
        if self.classes.is_empty() {
            settings.put(&FLOWS, self.flows);
        }
        settings.put(&QUANTUM, self.quantum);
        self.classes.iter().fold(settings, |all, class| {
            let own = Settings::new().and(&QUANTUM, class.quantum);
            all.with_child(nesting::child(class.minor, own, &class.qdisc))
        })
    }

    /// Linux reads every parameter by itself.
    fn is_kept_by_change(_parameter: &str, _given: &Settings) -> bool {
        true
    }
}

impl<C: InnerConfig> Show for DrrConfig<C> {
    /// Linux prints its classes and no options.
    const SHOWN: &'static [Shown] = &[];
}

parameters! {
    PARAMETERS of [C: InnerConfig] DrrConfig<C>;
    /// number of classes to create if none is given; flows are hashed into them
    FLOWS: integer "flows", with_flows {
        default: 1024,
        range: 1..=65_536,
        source: "ours; Linux has no classes until they are made",
    };
    /// bytes that a class without its own quantum sends per round
    CLASS_QUANTUM: bytes "quantum", with_quantum {
        derived: "MTU",
        range: 1..=2_147_483_647,
        source: "Linux sch_drr",
    };
}

impl<P: Packet + Flow, Q: Inner<P>> Drr<P, Q> {
    /// Empty classes. Flows are hashed with `salt`.
    #[must_use]
    pub fn new(config: DrrConfig<Q::Config>, salt: u32, random: Source) -> Self {
        let mut drr = Self {
            classes: Vec::new(),
            minors: Vec::new(),
            pool: Pool::default(),
            active: Turns::with_room_for(0),
            now: Instant::ZERO,
            salt,
            random,
            beside: Stats::default(),
            config,
        };
        for class in drr.config.all_classes() {
            drr.minors.push(class.minor);
            let added = drr.class(class);
            drr.classes.push(added);
        }
        drr.active = Turns::with_room_for(u32::try_from(drr.classes.len()).unwrap_or(u32::MAX));
        drr
    }

    fn class(&mut self, class: DrrClass<Q::Config>) -> Class<P, Q> {
        let leaf = ClassLeaf::new(class.qdisc, class.minor, self.salt, &mut self.random);
        Class { leaf, deficit: 0, quantum: class.quantum, active: false }
    }

    #[inline]
    fn classify(&self, packet: &P) -> u32 {
        let chosen = packet.class().and_then(|minor| self.minors.binary_search(&minor).ok());
        let count = u32::try_from(self.classes.len()).unwrap_or(u32::MAX);
        match chosen.and_then(|index| u32::try_from(index).ok()) {
            Some(index) => index,
            None => scale_hash(packet.flow_hash(self.salt), count),
        }
    }

    /// Offers a packet to the class at this place.
    #[inline]
    pub(crate) fn enqueue_in(&mut self, index: u32, clock: Instant, packet: P, drops: &mut impl Drops<P>) {
        let Some(class) = self.classes.get_mut(index as usize) else {
            self.beside.offered.add(packet.len());
            self.beside.dropped_before.add(packet.len());
            drops.dropped(packet, DropReason::Overlimit);
            return;
        };
        class.leaf.enqueue(&mut self.pool, clock, packet, drops);
        if !class.active && !class.leaf.is_empty() {
            class.active = true;
            // Linux sch_drr starts with a quantum, Shreedhar and Varghese 1995 with none.
            class.deficit = u64::from(class.quantum);
            self.active.push(index);
        } else if class.active && class.leaf.is_empty() {
            // An overflow has cost it all that it had.
            class.active = false;
            self.active.remove(index);
        }
    }

    /// The disciplines that hold packets.
    fn queued(&self) -> impl Iterator<Item = &ClassLeaf<P, Q>> {
        self.active.iter().filter_map(|index| self.classes.get(index as usize)).map(|class| &class.leaf)
    }

    /// The class in turn goes behind all others.
    fn rotate(&mut self) {
        if let Some(index) = self.active.first() {
            self.active.advance();
            self.active.push(index);
        }
    }

    /// A packet of many quanta would take as many rounds. All but the last of these rounds are
    /// skipped at once.
    #[cold]
    fn skip_fruitless_rounds(&mut self) {
        let mut rounds = u64::MAX;
        for index in self.active.iter() {
            let Some(class) = self.classes.get(index as usize) else { continue };
            let Some(len) = class.leaf.known_len(&self.pool) else { continue };
            let lacking = charge(len).saturating_sub(class.deficit);
            // Rounded up: after these rounds the class that lacks least can send.
            rounds = rounds.min(lacking.div_ceil(u64::from(class.quantum)));
        }
        for index in self.active.iter() {
            let Some(class) = self.classes.get_mut(index as usize) else { continue };
            if class.leaf.known_len(&self.pool).is_some() && rounds < u64::MAX {
                class.deficit = class.deficit.saturating_add(rounds.saturating_mul(u64::from(class.quantum)));
            }
        }
    }
}

impl<P: Packet + Flow, Q: Inner<P>> Build<P, Source> for Drr<P, Q> {
    fn build(config: DrrConfig<Q::Config>, salt: u32, random: Source) -> Self {
        Self::new(config, salt, random)
    }
}

impl<P: Packet + Flow, Q: Inner<P>> Qdisc<P> for Drr<P, Q> {
    type Config = DrrConfig<Q::Config>;

    #[inline]
    fn enqueue(&mut self, now: Instant, packet: P, drops: &mut impl Drops<P>) {
        // Rule 1 of the contract: a time before the latest one counts as the latest.
        self.now = self.now.max(now);
        let clock = self.now;
        let index = self.classify(&packet);
        self.enqueue_in(index, clock, packet, drops);
    }

    #[inline]
    fn dequeue(&mut self, now: Instant, drops: &mut impl Drops<P>) -> Option<P> {
        self.now = self.now.max(now);
        let clock = self.now;
        let mut short = 0;
        let mut waiting = 0;
        loop {
            let index = self.active.first()?;
            let class = self.classes.get_mut(index as usize)?;
            match class.leaf.peek_len(&self.pool, clock, drops) {
                Some(len) if charge(len) <= class.deficit => {
                    class.deficit -= charge(len);
                    let packet = class.leaf.dequeue(&mut self.pool, clock, drops);
                    // The rest of the deficit is lost: the class starts anew with its next packet.
                    if class.leaf.is_empty() {
                        class.active = false;
                        self.active.advance();
                    }
                    return packet;
                }
                Some(_) => {
                    class.deficit = class.deficit.saturating_add(u64::from(class.quantum));
                    short += 1;
                    self.rotate();
                }
                // It dropped all that it had.
                None if class.leaf.is_empty() => {
                    class.active = false;
                    self.active.advance();
                }
                // It has packets, but not now.
                None => {
                    waiting += 1;
                    self.rotate();
                }
            }
            // Each class was looked at since the last packet, so none can send in this round.
            if short + waiting >= self.active.len() {
                if short == 0 {
                    return None;
                }
                self.skip_fruitless_rounds();
                (short, waiting) = (0, 0);
            }
        }
    }

    fn next_event(&self, now: Instant) -> Option<Instant> {
        let clock = self.now.max(now);
        self.queued().fold(None, |first, leaf| nesting::earlier(first, leaf.next_event(clock)))
    }

    fn len(&self) -> usize {
        self.queued().map(ClassLeaf::len).sum()
    }

    fn backlog(&self) -> u64 {
        self.queued().map(ClassLeaf::backlog).sum()
    }

    fn stats(&self) -> Stats {
        let mut stats = self.beside;
        for class in &self.classes {
            stats = stats.plus(&class.leaf.stats());
        }
        stats
    }

    /// Deleted classes are purged. The others keep their packets, deficits and turns.
    fn reconfigure(&mut self, now: Instant, config: DrrConfig<Q::Config>, drops: &mut impl Drops<P>) {
        self.now = self.now.max(now);
        let clock = self.now;
        // A change to the configuration in force must change nothing (`Qdisc::config`).
        if config == self.config {
            return;
        }
        // By number, because a change moves the classes to other places.
        let turns: Vec<u32> =
            self.active.iter().filter_map(|index| self.minors.get(index as usize).copied()).collect();
        let minors = core::mem::take(&mut self.minors).into_iter();
        let mut old: VecDeque<(u32, Class<P, Q>)> = minors.zip(core::mem::take(&mut self.classes)).collect();
        self.config = config;
        for wanted in self.config.all_classes() {
            // Both lists are in the order of the numbers, so one pass pairs them.
            while old.front().is_some_and(|(minor, _)| *minor < wanted.minor) {
                let Some((_, gone)) = old.pop_front() else { break };
                self.remove(clock, gone, drops);
            }
            self.minors.push(wanted.minor);
            let class = match old.front() {
                Some((minor, _)) if *minor == wanted.minor => old.pop_front(),
                _ => None,
            };
            let class = match class {
                Some((_, mut class)) => {
                    class.quantum = wanted.quantum;
                    class.leaf.reconfigure(&mut self.pool, clock, wanted.qdisc, drops);
                    class
                }
                None => self.class(wanted),
            };
            self.classes.push(class);
        }
        for (_, gone) in old {
            self.remove(clock, gone, drops);
        }
        for class in &mut self.classes {
            class.active = false;
        }
        self.active = Turns::with_room_for(u32::try_from(self.classes.len()).unwrap_or(u32::MAX));
        for minor in turns {
            let Ok(index) = self.minors.binary_search(&minor) else { continue };
            if let Some(class) = self.classes.get_mut(index).filter(|class| !class.leaf.is_empty()) {
                class.active = true;
                self.active.push(u32::try_from(index).unwrap_or(0));
            }
        }
    }

    fn config(&self) -> DrrConfig<Q::Config> {
        self.config.clone()
    }

    fn purge(&mut self, now: Instant, drops: &mut impl Drops<P>) {
        self.now = self.now.max(now);
        let clock = self.now;
        // The deficits need no reset: a class gets a quantum with its next packet.
        self.active.clear();
        for class in &mut self.classes {
            class.active = false;
            class.leaf.purge(&mut self.pool, clock, drops);
        }
    }
}

impl<P: Packet + Flow, Q: Inner<P>> Lookahead<P> for Drr<P, Q> {
    const RULES: &'static [&'static [Rule]] = &[RULES];

    fn evidence(&self, question: &Question<'_, P>) -> Evidence {
        self.evidence_in(self.classify(question.packet), question)
    }
}

impl<P: Packet + Flow, Q: Inner<P>> Drr<P, Q> {
    /// Returns the evidence about a packet of the class at this place.
    pub(crate) fn evidence_in(&self, index: u32, question: &Question<'_, P>) -> Evidence {
        let mut evidence = Evidence::from_kind(KIND.name);
        let Some(class) = self.classes.get(index as usize) else { return evidence };
        let minor = self.minors.get(index as usize).copied().unwrap_or(0);
        evidence.given("class", Quantity::Number(u64::from(minor)), "the class of this packet");
        evidence.fact("deficit", Quantity::Bytes(class.deficit), "bytes that the class may still send");
        evidence.given(QUANTUM.name, Quantity::Bytes(class.quantum.into()), "bytes that each round adds");
        evidence.fact("active", Quantity::Number(self.active.len() as u64), "classes that have packets");
        let about = &question.about;
        if about.moment == Moment::Departure && about.is_end() && !matches!(about.fate, Fate::Dropped(_)) {
            let bytes = charge(question.packet.len());
            let rule = if class.deficit >= bytes { COVERED } else { ROUNDS };
            let source = "Shreedhar & Varghese 1995; tc-drr(8), ALGORITHM";
            evidence.rule(rule, source, &[("bytes", Quantity::Bytes(bytes))]);
        }
        evidence.with_inner(Some(class.leaf.evidence(question)))
    }
}

impl<P: Packet + Flow, Q: Inner<P>> Observe for Drr<P, Q> {
    fn observe(&self, now: Instant, seen: &mut Observation) {
        for (&minor, class) in self.minors.iter().zip(&self.classes) {
            let deficit = Gauge::Number(class.deficit);
            seen.parts.push(Part { class: minor, parent: 0, gauges: vec![("deficit", deficit)] });
            seen.children.push((minor, class.leaf.observe(now)));
        }
    }
}

impl<P: Packet + Flow, Q: Inner<P>> Inner<P> for Drr<P, Q> {}

impl<P: Packet + Flow, Q: Inner<P>> Drr<P, Q> {
    fn remove(&mut self, now: Instant, mut class: Class<P, Q>, drops: &mut impl Drops<P>) {
        class.leaf.purge(&mut self.pool, now, drops);
        self.beside = self.beside.plus(&class.leaf.stats());
    }
}

/// Returns the cost of sending: at least one byte, or packets of no bytes would be served forever.
fn charge(len: u32) -> u64 {
    u64::from(len.max(1))
}

const KIND: Kind = Kind {
    name: "drr",
    summary: "Deficit round robin: classes share the link in the ratio of their quanta, each with its discipline",
    reference: "Shreedhar & Varghese 1995; tc-drr(8)",
    variants: &[],
    children: Children::Classes(CLASS_PARAMETERS),
    parameters: PARAMETERS,
};

/// Linux `drr_change_class`: quanta are limited to this range.
pub(crate) const LEAST_QUANTUM: u32 = 256;
pub(crate) const MOST_QUANTUM: u32 = 1 << 20;

parameters! {
    CLASS_PARAMETERS;
    /// bytes that the class sends per round; raised to 256, limited to 1048576
    QUANTUM: bytes "quantum" {
        derived: "quantum of the discipline",
        range: 1..=2_147_483_647,
        source: "Linux sch_drr: MTU",
    };
}

rules! {
    /// Rules of DRR.
    pub(crate) RULES;
    /// The deficit covers the packet.
    COVERED: "drr.covered" ["deficit", "bytes"];
    /// Rounds added quanta until the deficit covered the packet.
    ROUNDS: "drr.rounds" ["deficit", "bytes", QUANTUM.name];
}
