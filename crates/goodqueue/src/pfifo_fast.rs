//! Three FIFOs in strict priority, formerly the default queue of Linux: `pfifo_fast`.
//!
//! # What it does
//! Three FIFOs, each served only while those before it are empty. Linux chooses the FIFO by the
//! priority that the TOS byte stands for. Ordinary packets all go to the second FIFO, so for them
//! `pfifo_fast` is a drop-tail FIFO.
//!
//! # Reference
//! tc-pfifo_fast(8); behaviour of Linux 6.1 `net/sched/sch_generic.c`.
//!
//! # State
//! The three FIFOs.
//!
//! # Parameters
//! | name | meaning | unit | default | source of the default | range |
//! |---|---|---|---|---|---|
//! | `txqueuelen` | packets that each FIFO holds | packets | 1000p | Linux: txqueuelen of Ethernet | 1 to 4294967295 |
//!
//! # Deviations
//! [`Flow::class`] names the FIFO, from 1 to 3; any other class means the second one. A packet
//! without a class goes to the FIFO of its priority ([`Flow::priority`]), which follows its TOS
//! byte as in Linux. tc cannot set the length; Linux takes it from the device.
//!
//! # Cost
//! Constant per packet; at most one drop per call.
//!
//! # Example
//! ```
//! use goodqueue::{Configure, Link, Settings, pfifo_fast::PfifoFastConfig};
//! let config = PfifoFastConfig::from_settings(&Settings::new(), &Link::default()).unwrap();
//! assert_eq!(config.txqueuelen(), 1000);
//! ```

use crate::config::{Build, Children, ConfigError, Configure, Kind, Link, Settings, Value};
use crate::decision::{Evidence, Fate, Limit, Moment, Quantity, Question, Rule, rules};
use crate::gauge::Observe;
use crate::nesting::Inner;
use crate::packet::{Flow, Packet};
use crate::prio::DEFAULT_PRIOMAP;
use crate::qdisc::{DropReason, Drops, Lookahead, Qdisc, Stats};
use crate::queue::Fifo;
use crate::shown::{Show, Shown};
use crate::time::Instant;
use crate::typed::parameters;

/// Three FIFOs in strict priority.
#[derive(Clone, Debug)]
pub struct PfifoFast<P> {
    config: PfifoFastConfig,
    bands: [Fifo<P>; 3],
    stats: Stats,
}

/// Configuration of [`PfifoFast`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PfifoFastConfig {
    txqueuelen: u32,
}

impl PfifoFastConfig {
    /// Packets that each FIFO holds.
    #[must_use]
    pub const fn txqueuelen(&self) -> u32 {
        self.txqueuelen
    }
}

impl Configure for PfifoFastConfig {
    const KIND: Kind = KIND;

    fn from_checked(settings: &Settings, _link: &Link) -> Result<Self, ConfigError> {
        Ok(Self { txqueuelen: TXQUEUELEN.read(settings)? })
    }

    fn to_settings(&self) -> Settings {
        Settings::new().and(&TXQUEUELEN, self.txqueuelen)
    }
}

impl Show for PfifoFastConfig {
    /// tc prints what Linux fixes.
    const SHOWN: &'static [Shown] = &[
        Shown::Computed("bands", |_| Some(Value::Integer(3).into())),
        Shown::Computed("priomap", |_| Some(Value::Priomap(DEFAULT_PRIOMAP).into())),
        Shown::Flag("multiqueue"),
    ];
}

parameters! {
    PARAMETERS of [] PfifoFastConfig;
    /// packets that each FIFO holds
    TXQUEUELEN: packets "txqueuelen", with_txqueuelen {
        default: 1000,
        range: 1..=4_294_967_295,
        source: "Linux: txqueuelen of Ethernet",
    };
}

impl<P: Packet> PfifoFast<P> {
    /// Empty FIFOs.
    #[must_use]
    pub fn new(config: PfifoFastConfig) -> Self {
        Self { config, bands: core::array::from_fn(|_| Fifo::default()), stats: Stats::default() }
    }
}

impl<P: Packet + Flow, R> Build<P, R> for PfifoFast<P> {
    fn build(config: PfifoFastConfig, _salt: u32, _random: R) -> Self {
        Self::new(config)
    }
}

impl<P: Packet + Flow> Qdisc<P> for PfifoFast<P> {
    type Config = PfifoFastConfig;

    fn enqueue(&mut self, now: Instant, packet: P, drops: &mut impl Drops<P>) {
        let bytes = packet.len();
        self.stats.offered.add(bytes);
        let chosen = band_of(&packet);
        let [first, ordinary, last] = &mut self.bands;
        let band = match chosen {
            0 => first,
            2 => last,
            _ => ordinary,
        };
        if band.len() >= self.config.txqueuelen as usize {
            self.stats.dropped_before.add(bytes);
            drops.dropped(packet, DropReason::Overlimit);
            return;
        }
        self.stats.enqueued.add(bytes);
        band.push_back(now, packet);
    }

    fn dequeue(&mut self, _now: Instant, _drops: &mut impl Drops<P>) -> Option<P> {
        let packet = self.bands.iter_mut().find_map(Fifo::pop_front)?.packet;
        self.stats.dequeued.add(packet.len());
        Some(packet)
    }

    fn len(&self) -> usize {
        self.bands.iter().map(Fifo::len).sum()
    }

    fn backlog(&self) -> u64 {
        self.bands.iter().map(Fifo::bytes).sum()
    }

    fn stats(&self) -> Stats {
        self.stats
    }

    fn reconfigure(&mut self, _now: Instant, config: PfifoFastConfig, drops: &mut impl Drops<P>) {
        self.config = config;
        for band in &mut self.bands {
            while band.len() > config.txqueuelen as usize {
                // Linux moves the oldest packets into a ring of the new size and frees the others.
                let Some(youngest) = band.pop_back() else { break };
                self.stats.dropped_after.add(youngest.packet.len());
                drops.dropped(youngest.packet, DropReason::Overlimit);
            }
        }
    }

    fn config(&self) -> PfifoFastConfig {
        self.config
    }

    fn purge(&mut self, _now: Instant, drops: &mut impl Drops<P>) {
        while let Some(queued) = self.bands.iter_mut().find_map(Fifo::pop_front) {
            self.stats.dropped_after.add(queued.packet.len());
            drops.dropped(queued.packet, DropReason::Purged);
        }
    }
}

/// Returns the band of a packet.
fn band_of(packet: &impl Flow) -> u8 {
    match packet.class() {
        // TC_PRIO_MAX of Linux is 15.
        None => DEFAULT_PRIOMAP.get(usize::from(packet.priority() & 15)).copied().unwrap_or(1),
        Some(1) => 0,
        Some(3) => 2,
        Some(_) => 1,
    }
}

impl<P: Packet + Flow> Lookahead<P> for PfifoFast<P> {
    const RULES: &'static [&'static [Rule]] = &[RULES];

    fn evidence(&self, question: &Question<'_, P>) -> Evidence {
        let mut evidence = Evidence::from_kind(KIND.name);
        let about = &question.about;
        let band = usize::from(band_of(question.packet));
        let held = self.bands.get(band).map_or(0, Fifo::len);
        let before = self.bands.iter().take(band).map(Fifo::len).sum::<usize>();
        evidence.given("band", Quantity::Number(band as u64), "the band of this packet; 0 is served first");
        evidence.fact("band_packets", Quantity::Packets(held as u64), "packets in that band");
        evidence.fact("ahead", Quantity::Packets(before as u64), "packets in earlier bands");
        let limit = u64::from(self.config.txqueuelen);
        let limit = Limit {
            held: Quantity::Packets(held as u64),
            allowed: Quantity::Packets(limit),
            rule: FULL_BAND,
            source: KIND.reference,
        };
        evidence.limit(about, DropReason::Overlimit, &limit);
        if about.moment == Moment::Departure && about.fate == Fate::Sent {
            evidence.rule(FIRST_BAND, KIND.reference, &[]);
        }
        evidence
    }

    fn next_len(&self) -> Option<u32> {
        self.bands.iter().find_map(Fifo::front).map(|queued| queued.packet.len())
    }
}

impl<P: Packet + Flow> Observe for PfifoFast<P> {}

impl<P: Packet + Flow> Inner<P> for PfifoFast<P> {}

const KIND: Kind = Kind {
    name: "pfifo_fast",
    summary: "Three FIFOs in strict priority; a drop-tail FIFO for packets of ordinary priority",
    reference: "tc-pfifo_fast(8)",
    variants: &[],
    children: Children::None,
    parameters: PARAMETERS,
};

rules! {
    /// Rules of the bands.
    RULES;
    /// The earlier bands are empty.
    FIRST_BAND: "pfifo_fast.first_band" [];
    /// A full band drops the packet that arrives.
    FULL_BAND: "pfifo_fast.full_band" ["held", "allowed"];
}
