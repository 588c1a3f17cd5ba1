//! Enhanced transmission selection: `ets`.
//!
//! # What it does
//! Strict bands come first and are served in their order. The other bands share what is left in the
//! ratio of their quanta, by [deficit round robin](crate::drr). Switches for data centres divide
//! their links like this (IEEE 802.1Qaz).
//!
//! # Reference
//! tc-ets(8); behaviour of Linux 7.3 `net/sched/sch_ets.c`.
//!
//! # State
//! ```text
//! band 1 .. strict: disciplines, served in order    others: classes of drr
//! ```
//!
//! # Parameters
//! | name | meaning | unit | default | source of the default | range |
//! |---|---|---|---|---|---|
//! | `bands` | number of bands; band n is written [n: qdisc] | number | all that are named, at least 1 | tc: `strict` and `quanta` | 1 to 16 |
//! | `strict` | number of strict bands, which come first | number | 0 | Linux sch_ets | 0 to 16 |
//! | `quanta` | bytes that the first band with a share sends in a round; raised to 256, limited to 1048576 | number | MTU | Linux sch_ets | 1 to 4294967295 |
//! | `quanta.second` | bytes that the second band with a share sends in a round; raised to 256, limited to 1048576 | number | MTU | Linux sch_ets | 1 to 4294967295 |
//! | `quanta.third` | bytes that the third band with a share sends in a round; raised to 256, limited to 1048576 | number | MTU | Linux sch_ets | 1 to 4294967295 |
//! | `quanta.fourth` | bytes that the fourth band with a share sends in a round; raised to 256, limited to 1048576 | number | MTU | Linux sch_ets | 1 to 4294967295 |
//! | `quanta.fifth` | bytes that the fifth band with a share sends in a round; raised to 256, limited to 1048576 | number | MTU | Linux sch_ets | 1 to 4294967295 |
//! | `quanta.sixth` | bytes that the sixth band with a share sends in a round; raised to 256, limited to 1048576 | number | MTU | Linux sch_ets | 1 to 4294967295 |
//! | `quanta.seventh` | bytes that the seventh band with a share sends in a round; raised to 256, limited to 1048576 | number | MTU | Linux sch_ets | 1 to 4294967295 |
//! | `quanta.eighth` | bytes that the eighth band with a share sends in a round; raised to 256, limited to 1048576 | number | MTU | Linux sch_ets | 1 to 4294967295 |
//! | `quanta.ninth` | bytes that the ninth band with a share sends in a round; raised to 256, limited to 1048576 | number | MTU | Linux sch_ets | 1 to 4294967295 |
//! | `quanta.tenth` | bytes that the tenth band with a share sends in a round; raised to 256, limited to 1048576 | number | MTU | Linux sch_ets | 1 to 4294967295 |
//! | `quanta.eleventh` | bytes that the eleventh band with a share sends in a round; raised to 256, limited to 1048576 | number | MTU | Linux sch_ets | 1 to 4294967295 |
//! | `quanta.twelfth` | bytes that the twelfth band with a share sends in a round; raised to 256, limited to 1048576 | number | MTU | Linux sch_ets | 1 to 4294967295 |
//! | `quanta.thirteenth` | bytes that the thirteenth band with a share sends in a round; raised to 256, limited to 1048576 | number | MTU | Linux sch_ets | 1 to 4294967295 |
//! | `quanta.fourteenth` | bytes that the fourteenth band with a share sends in a round; raised to 256, limited to 1048576 | number | MTU | Linux sch_ets | 1 to 4294967295 |
//! | `quanta.fifteenth` | bytes that the fifteenth band with a share sends in a round; raised to 256, limited to 1048576 | number | MTU | Linux sch_ets | 1 to 4294967295 |
//! | `quanta.sixteenth` | bytes that the sixteenth band with a share sends in a round; raised to 256, limited to 1048576 | number | MTU | Linux sch_ets | 1 to 4294967295 |
//! | `priomap` | the band of each priority from 0 to 15, the first band being 0 | 16 bands, from 0 | the last band | Linux sch_ets | each below `bands` |
//!
//! Band `n` is written in brackets, `[2: codel]`, or in a tc script as parent `1:2`. A band without
//! a discipline holds a `pfifo` of 1000 packets.
//!
//! # Deviations
//! Linux needs `bands`, `strict` or `quanta`, and has no default for all three. A packet goes to
//! the band that [`Flow::class`] names, counted from 1. A packet without a class goes to the band
//! that `priomap` gives to its [`Flow::priority`], and a packet of a class that does not exist to
//! the band of priority 0. A change of `strict` drops all packets; Linux keeps them. If a band with
//! a share holds its packets back, Linux stops serving these bands; here the others continue.
//!
//! # Cost
//! A look at each strict band before the one served, or at all of them and the cost of `drr`.
//!
//! # Example
//! ```
//! use goodqueue::{AnyConfig, Configure, Link, Settings, config::Value, ets::EtsConfig};
//! let settings = Settings::new().with("bands", Value::Integer(4)).with("strict", Value::Integer(1));
//! let config = EtsConfig::<AnyConfig>::from_settings(&settings, &Link::default()).unwrap();
//! assert_eq!(config.bands().len(), 4);
//! ```

mod config;

use alloc::vec::Vec;

pub use config::EtsConfig;
use config::KIND;

use crate::config::Build;
use crate::decision::{Evidence, Fate, Moment, Quantity, Question, Rule, rules};
use crate::drr::{self, Drr};
use crate::gauge::{Observation, Observe};
use crate::leaf::Leaf;
use crate::nesting::{self, Inner};
use crate::packet::{Flow, Packet};
use crate::qdisc::{Drops, Lookahead, Qdisc, Stats};
use crate::random::Source;
use crate::time::Instant;

/// Strict bands, and bands that share the rest of the link.
#[derive(Clone, Debug)]
pub struct Ets<P, Q: Qdisc<P>> {
    config: EtsConfig<Q::Config>,
    strict: Vec<Leaf<P, Q>>,
    /// Its classes have the numbers of their bands; `None` if all bands are strict.
    sharing: Option<Drr<P, Q>>,
    /// Latest time that any child has seen (contract rule 1).
    now: Instant,
    salt: u32,
    random: Source,
    /// Counters of deleted bands.
    gone: Stats,
}

impl<P: Packet + Flow, Q: Inner<P>> Ets<P, Q> {
    /// Empty bands.
    #[must_use]
    pub fn new(config: EtsConfig<Q::Config>, salt: u32, random: Source) -> Self {
        let mut ets = Self {
            config,
            strict: Vec::new(),
            sharing: None,
            now: Instant::ZERO,
            salt,
            random,
            gone: Stats::default(),
        };
        ets.make_bands();
        ets
    }

    fn make_bands(&mut self) {
        self.strict.clear();
        for (index, config) in (0..).zip(self.config.bands.iter().take(self.config.strict)) {
            self.strict.push(Leaf::new(config.clone(), index, self.salt, &mut self.random));
        }
        let random = self.random.fork(SHARING);
        self.sharing = self.config.sharing().map(|config| Drr::new(config, self.salt, random));
    }
}

impl<P: Flow, Q: Qdisc<P>> Ets<P, Q> {
    fn band_of(&self, packet: &P) -> usize {
        let of_priority =
            |priority: u8| self.config.map.get(usize::from(priority)).copied().map_or(0, usize::from);
        // Minor numbers count from 1. 0 wraps around to a band that does not exist.
        match packet.class().map(|class| (class as usize).wrapping_sub(1)) {
            Some(index) if index < self.config.bands.len() => index,
            // Linux does so for a class that is no band (`ets_classify`).
            Some(_) => of_priority(0),
            // TC_PRIO_MAX of Linux is 15.
            None => of_priority(packet.priority() & 15),
        }
    }
}

impl<P: Packet + Flow, Q: Inner<P>> Build<P, Source> for Ets<P, Q> {
    fn build(config: EtsConfig<Q::Config>, salt: u32, random: Source) -> Self {
        Self::new(config, salt, random)
    }
}

impl<P: Packet + Flow, Q: Inner<P>> Qdisc<P> for Ets<P, Q> {
    type Config = EtsConfig<Q::Config>;

    fn enqueue(&mut self, now: Instant, packet: P, drops: &mut impl Drops<P>) {
        // Rule 1 of the contract: a time before the latest one counts as the latest.
        self.now = self.now.max(now);
        let clock = self.now;
        let band = self.band_of(&packet);
        if let Some(leaf) = self.strict.get_mut(band) {
            leaf.enqueue(clock, packet, drops);
        } else if let Some(sharing) = &mut self.sharing {
            sharing.enqueue_in(place(band, self.config.strict), clock, packet, drops);
        }
    }

    fn dequeue(&mut self, now: Instant, drops: &mut impl Drops<P>) -> Option<P> {
        self.now = self.now.max(now);
        let clock = self.now;
        // A band that has nothing is asked too, as in Linux: its discipline may care.
        let strict = self.strict.iter_mut().find_map(|band| band.dequeue(clock, drops));
        strict.or_else(|| self.sharing.as_mut()?.dequeue(clock, drops))
    }

    fn next_event(&self, now: Instant) -> Option<Instant> {
        let clock = self.now.max(now);
        let shared = self.sharing.as_ref().and_then(|sharing| sharing.next_event(clock));
        self.strict.iter().fold(shared, |first, band| nesting::earlier(first, band.next_event(clock)))
    }

    fn len(&self) -> usize {
        self.strict.iter().map(Leaf::len).sum::<usize>() + self.sharing.as_ref().map_or(0, Qdisc::len)
    }

    fn backlog(&self) -> u64 {
        self.strict.iter().map(Leaf::backlog).sum::<u64>() + self.sharing.as_ref().map_or(0, Qdisc::backlog)
    }

    fn stats(&self) -> Stats {
        let shared = self.sharing.as_ref().map(Qdisc::stats).unwrap_or_default();
        self.strict.iter().fold(self.gone.plus(&shared), |sum, band| sum.plus(&band.stats()))
    }

    fn reconfigure(&mut self, now: Instant, config: EtsConfig<Q::Config>, drops: &mut impl Drops<P>) {
        self.now = self.now.max(now);
        let clock = self.now;
        // A band cannot take its packets from the strict bands to `sharing` or back. Linux keeps
        // them.
        if config.strict != self.config.strict {
            self.purge(clock, drops);
            self.gone = self.stats();
            self.config = config;
            self.make_bands();
            return;
        }
        self.config = config;
        for (band, new) in self.strict.iter_mut().zip(&self.config.bands) {
            band.reconfigure(clock, new.clone(), drops);
        }
        match (self.sharing.as_mut(), self.config.sharing()) {
            (Some(sharing), Some(new)) => sharing.reconfigure(clock, new, drops),
            (Some(sharing), None) => {
                sharing.purge(clock, drops);
                self.gone = self.gone.plus(&sharing.stats());
                self.sharing = None;
            }
            (None, new) => {
                let random = self.random.fork(SHARING);
                self.sharing = new.map(|shares| Drr::new(shares, self.salt, random));
            }
        }
    }

    fn config(&self) -> EtsConfig<Q::Config> {
        self.config.clone()
    }

    fn purge(&mut self, now: Instant, drops: &mut impl Drops<P>) {
        self.now = self.now.max(now);
        let clock = self.now;
        for band in &mut self.strict {
            band.purge(clock, drops);
        }
        if let Some(sharing) = &mut self.sharing {
            sharing.purge(clock, drops);
        }
    }
}

impl<P: Packet + Flow, Q: Inner<P>> Lookahead<P> for Ets<P, Q> {
    const RULES: &'static [&'static [Rule]] = &[RULES, drr::RULES];

    fn evidence(&self, question: &Question<'_, P>) -> Evidence {
        let mut evidence = Evidence::from_kind(KIND.name);
        let band = self.band_of(question.packet);
        let before = self.strict.iter().take(band).map(Leaf::len).sum::<usize>();
        evidence.given("band", Quantity::Number(band as u64), "the band of this packet; 0 is the first");
        evidence.fact("ahead", Quantity::Packets(before as u64), "packets in strict bands before it");
        let about = &question.about;
        if about.moment == Moment::Departure && !matches!(about.fate, Fate::Dropped(_)) {
            evidence.rule(STRICT_BANDS, KIND.reference, &[]);
        }
        if let Some(leaf) = self.strict.get(band) {
            return evidence.with_inner(Some(leaf.evidence(question)));
        }
        let sharing = self.sharing.as_ref();
        evidence.with_inner(sharing.map(|drr| drr.evidence_in(place(band, self.config.strict), question)))
    }
}

impl<P: Packet + Flow, Q: Inner<P>> Observe for Ets<P, Q> {
    fn observe(&self, now: Instant, seen: &mut Observation) {
        seen.children.extend((1..).zip(self.strict.iter().map(|band| band.observe(now))));
        if let Some(sharing) = &self.sharing {
            sharing.observe(now, seen);
        }
    }
}

impl<P: Packet + Flow, Q: Inner<P>> Inner<P> for Ets<P, Q> {}

/// Returns the place of a band among those that share.
fn place(band: usize, strict: usize) -> u32 {
    u32::try_from(band.saturating_sub(strict)).unwrap_or(u32::MAX)
}

/// The part of the randomness that the bands with shares have; strict bands have their numbers.
const SHARING: u64 = 16;

rules! {
    /// Rules of the bands.
    RULES;
    /// No strict band before this one could send a packet.
    STRICT_BANDS: "ets.strict_bands" ["band"];
}
