//! Strict priority: `prio`.
//!
//! # What it does
//! A number of bands, each with its own discipline. A band is served only while all bands before it
//! have nothing to send. A later band may wait without bound; put a shaper into an earlier band to
//! prevent that.
//!
//! # Reference
//! tc-prio(8); behaviour of Linux 6.1 `net/sched/sch_prio.c`.
//!
//! # State
//! One discipline per band.
//!
//! # Parameters
//! | name | meaning | unit | default | source of the default | range |
//! |---|---|---|---|---|---|
//! | `bands` | number of bands; band n is written [n: qdisc] | number | 3 | Linux sch_prio | 2 to 16 |
//! | `priomap` | the band of each priority from 0 to 15, the first band being 0 | 16 bands, from 0 | 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1 | Linux sch_prio | each below `bands` |
//!
//! Band `n` is written in brackets, `[2: codel]`, or in a tc script as parent `1:2`. A band without
//! a discipline holds a `pfifo` of 1000 packets.
//!
//! # Deviations
//! A `prio` of two bands needs no `priomap`: packets that the default map puts into the third band
//! go to the second. A packet goes to the band that [`Flow::class`] names, counted from 1. A packet
//! without a class goes to the band that `priomap` gives to its [`Flow::priority`], and a packet of
//! a class that does not exist to the band of priority 0. In a tree, the number of a class applies
//! to every discipline with classes or bands on the packet's way. In Linux it belongs to one
//! discipline, and the others take priority 0.
//!
//! # Cost
//! A look at each band before the one served, plus the cost of the discipline served.
//!
//! # Example
//! ```
//! use goodqueue::{AnyConfig, Configure, Link, Settings, prio::PrioConfig};
//! let config = PrioConfig::<AnyConfig>::from_settings(&Settings::new(), &Link::default()).unwrap();
//! assert_eq!(config.bands().len(), 3);
//! ```

use alloc::vec::Vec;

use crate::config::{Build, Children, ConfigError, Configure, Kind, Link, Settings};
use crate::decision::{Evidence, Fate, Moment, Quantity, Question, Rule, rules};
use crate::gauge::{Observation, Observe};
use crate::leaf::Leaf;
use crate::nesting::{self, Inner, InnerConfig};
use crate::packet::{Flow, Packet};
use crate::qdisc::{Drops, Lookahead, NextLen, Qdisc, Stats};
use crate::random::Source;
use crate::shown::{Show, Shown};
use crate::time::Instant;
use crate::typed::{self, parameters};

/// Strict priority between disciplines.
#[derive(Clone, Debug)]
pub struct Prio<P, Q: Qdisc<P>> {
    bands: Vec<Leaf<P, Q>>,
    map: [u8; 16],
    /// Latest time that any child has seen (contract rule 1).
    now: Instant,
    salt: u32,
    random: Source,
    /// Counters of deleted bands.
    gone: Stats,
}

/// Configuration of [`Prio`].
#[derive(Clone, PartialEq, Debug)]
pub struct PrioConfig<C> {
    bands: Vec<C>,
    map: [u8; 16],
}

impl<C: InnerConfig> PrioConfig<C> {
    /// The discipline of each band, the first served first.
    #[must_use]
    pub fn bands(&self) -> &[C] {
        &self.bands
    }
}

impl<C: InnerConfig> PrioConfig<C> {
    /// Sets the discipline of band `number`. Bands count from 1, and band 1 is served first.
    ///
    /// # Errors
    /// There is no such band, or the inner discipline refuses its settings on this link.
    pub fn with_band(&self, number: u32, inner: &C) -> Result<Self, ConfigError> {
        typed::with_child(self, nesting::child(number, Settings::new(), inner))
    }
}

impl<C: InnerConfig> Configure for PrioConfig<C> {
    const KIND: Kind = KIND;

    fn from_checked(settings: &Settings, link: &Link) -> Result<Self, ConfigError> {
        let children = settings.children();
        let highest = children.iter().map(|child| u64::from(child.class)).max().unwrap_or(0);
        let count = BANDS.read_or(settings, highest.clamp(BANDS.default_number(), MAX_BANDS))?;
        let mut bands = Vec::new();
        for _ in 0..count {
            bands.push(C::usual());
        }
        for child in children {
            // Class 0 wraps around to an index that no band has.
            let index = (child.class as usize).wrapping_sub(1);
            let band = bands.get_mut(index).ok_or_else(|| {
                ConfigError::new(
                    "band",
                    alloc::format!("{:x}", child.class),
                    alloc::format!("1 to {count:x}"),
                )
                .in_class(child.class)
            })?;
            if let Some(config) = nesting::qdisc_of(child, link)? {
                *band = config;
            }
        }
        // Linux refuses two bands without a map for them.
        let default = DEFAULT_PRIOMAP.map(|band| band.min(u8::try_from(count - 1).unwrap_or(u8::MAX)));
        let map = PRIOMAP.read_or(settings, default)?;
        if let Some(band) = map.iter().find(|band| u64::from(**band) >= count) {
            let allowed = alloc::format!("0 to {}: there are {count} bands", count - 1);
            return Err(ConfigError::new(PRIOMAP.name, alloc::format!("{band}"), allowed));
        }
        Ok(Self { bands, map })
    }

    fn to_settings(&self) -> Settings {
        let settings = Settings::new().and(&BANDS, self.bands.len() as u64).and(&PRIOMAP, self.map);
        (1..)
            .zip(&self.bands)
            .fold(settings, |all, (class, band)| all.with_child(nesting::child(class, Settings::new(), band)))
    }
}

impl<C: InnerConfig> Show for PrioConfig<C> {
    const SHOWN: &'static [Shown] = &[Shown::Setting(BANDS.name), Shown::Setting(PRIOMAP.name)];
}

parameters! {
    PARAMETERS of [C: InnerConfig] PrioConfig<C>;
    /// number of bands; band n is written [n: qdisc]
    BANDS: integer "bands", with_bands { default: 3, range: 2..=16, source: "Linux sch_prio" };
    /// the band of each priority from 0 to 15, the first band being 0
    PRIOMAP: priomap "priomap", with_priomap {
        default: DEFAULT_PRIOMAP,
        condition: "each below `bands`",
        source: "Linux sch_prio",
    };
}

impl<P: Packet + Flow, Q: Inner<P>> Prio<P, Q> {
    /// Empty bands.
    #[must_use]
    pub fn new(config: PrioConfig<Q::Config>, salt: u32, random: Source) -> Self {
        let mut prio = Self {
            bands: Vec::new(),
            map: config.map,
            now: Instant::ZERO,
            salt,
            random,
            gone: Stats::default(),
        };
        prio.add_bands(config.bands);
        prio
    }

    fn add_bands(&mut self, configs: impl IntoIterator<Item = Q::Config>) {
        for config in configs {
            let index = u32::try_from(self.bands.len()).unwrap_or(0);
            self.bands.push(Leaf::new(config, index, self.salt, &mut self.random));
        }
    }
}

impl<P: Flow, Q: Inner<P>> Prio<P, Q> {
    fn band_of(&self, packet: &P) -> usize {
        let of_priority = |priority: u8| self.map.get(usize::from(priority)).copied().map_or(0, usize::from);
        // Minor numbers count from 1. 0 wraps around to a band that does not exist.
        match packet.class().map(|class| (class as usize).wrapping_sub(1)) {
            Some(index) if index < self.bands.len() => index,
            // Linux does so for a class that is no band (`prio_classify`).
            Some(_) => of_priority(0),
            // TC_PRIO_MAX of Linux is 15.
            None => of_priority(packet.priority() & 15),
        }
    }
}

impl<P: Packet + Flow, Q: Inner<P>> Build<P, Source> for Prio<P, Q> {
    fn build(config: PrioConfig<Q::Config>, salt: u32, random: Source) -> Self {
        Self::new(config, salt, random)
    }
}

impl<P: Packet + Flow, Q: Inner<P>> Qdisc<P> for Prio<P, Q> {
    type Config = PrioConfig<Q::Config>;

    fn enqueue(&mut self, now: Instant, packet: P, drops: &mut impl Drops<P>) {
        // Rule 1 of the contract: a time before the latest one counts as the latest.
        self.now = self.now.max(now);
        let clock = self.now;
        let index = self.band_of(&packet);
        if let Some(band) = self.bands.get_mut(index) {
            band.enqueue(clock, packet, drops);
        }
    }

    fn dequeue(&mut self, now: Instant, drops: &mut impl Drops<P>) -> Option<P> {
        self.now = self.now.max(now);
        let clock = self.now;
        // A band that has nothing is asked too, as in Linux: its discipline may care.
        self.bands.iter_mut().find_map(|band| band.dequeue(clock, drops))
    }

    fn next_event(&self, now: Instant) -> Option<Instant> {
        let clock = self.now.max(now);
        self.bands.iter().fold(None, |first, band| nesting::earlier(first, band.next_event(clock)))
    }

    fn len(&self) -> usize {
        self.bands.iter().map(Leaf::len).sum()
    }

    fn backlog(&self) -> u64 {
        self.bands.iter().map(Leaf::backlog).sum()
    }

    fn stats(&self) -> Stats {
        let mut stats = self.gone;
        for band in &self.bands {
            stats = stats.plus(&band.stats());
        }
        stats
    }

    fn reconfigure(&mut self, now: Instant, config: PrioConfig<Q::Config>, drops: &mut impl Drops<P>) {
        self.now = self.now.max(now);
        let clock = self.now;
        self.map = config.map;
        while self.bands.len() > config.bands.len() {
            let Some(mut band) = self.bands.pop() else { break };
            band.purge(clock, drops);
            self.gone = self.gone.plus(&band.stats());
        }
        let mut configs = config.bands.into_iter();
        for (band, new) in self.bands.iter_mut().zip(configs.by_ref()) {
            band.reconfigure(clock, new, drops);
        }
        self.add_bands(configs);
    }

    fn config(&self) -> PrioConfig<Q::Config> {
        PrioConfig { bands: self.bands.iter().map(Leaf::config).collect(), map: self.map }
    }

    fn purge(&mut self, now: Instant, drops: &mut impl Drops<P>) {
        self.now = self.now.max(now);
        let clock = self.now;
        for band in &mut self.bands {
            band.purge(clock, drops);
        }
    }
}

impl<P: Packet + Flow, Q: Inner<P>> Lookahead<P> for Prio<P, Q> {
    const RULES: &'static [&'static [Rule]] = &[RULES];

    /// As in Linux, the band keeps a packet that the parent looks at, so a packet of an earlier
    /// band may still leave first. A band without packets is asked as well.
    fn look_ahead(&mut self, now: Instant, drops: &mut impl Drops<P>) -> Option<NextLen> {
        self.now = self.now.max(now);
        let clock = self.now;
        Some(self.bands.iter_mut().find_map(|band| band.peek_len(clock, drops)))
    }

    fn evidence(&self, question: &Question<'_, P>) -> Evidence {
        let mut evidence = Evidence::from_kind(KIND.name);
        let band = self.band_of(question.packet);
        let before = self.bands.iter().take(band).map(Leaf::len).sum::<usize>();
        evidence.given("band", Quantity::Number(band as u64), "the band of this packet; 0 is served first");
        evidence.fact("ahead", Quantity::Packets(before as u64), "packets in earlier bands");
        let about = &question.about;
        if about.moment == Moment::Departure && !matches!(about.fate, Fate::Dropped(_)) {
            evidence.rule(FIRST_BAND, KIND.reference, &[]);
        }
        evidence.with_inner(self.bands.get(band).map(|leaf| leaf.evidence(question)))
    }

    fn next_len(&self) -> Option<u32> {
        self.bands.iter().find(|band| !band.is_empty())?.known_len()
    }

    fn other_flow(&self, packet: &P) -> Option<&P> {
        self.bands.get(self.band_of(packet))?.other_flow(packet)
    }
}

impl<P: Packet + Flow, Q: Inner<P>> Observe for Prio<P, Q> {
    fn observe(&self, now: Instant, seen: &mut Observation) {
        seen.children.extend((1..).zip(self.bands.iter().map(|band| band.observe(now))));
    }
}

impl<P: Packet + Flow, Q: Inner<P>> Inner<P> for Prio<P, Q> {}

const KIND: Kind = Kind {
    name: "prio",
    summary: "Strict priority between bands, each with its own discipline",
    reference: "tc-prio(8)",
    variants: &[],
    children: Children::Bands,
    parameters: PARAMETERS,
};

const MAX_BANDS: u64 = 16; // TCQ_PRIO_BANDS of Linux
/// Default of `priomap` in Linux and tc. `pfifo_fast` has the same bands.
// Band 0: interactive (6) and control (7). Band 2: filler (1), bulk (2) and the unnamed 3 and 5.
pub const DEFAULT_PRIOMAP: [u8; 16] = [1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1];

rules! {
    /// Rules of the bands.
    RULES;
    /// No earlier band could send a packet.
    FIRST_BAND: "prio.first_band" ["band"];
}
