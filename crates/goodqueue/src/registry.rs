//! Every discipline of this crate, by name. A new one is added to the list below and nowhere else.

use alloc::vec::Vec;

use crate::config::{Build, ConfigError, Configure, Keyword, Kind, Link, Settings, Value};
use crate::decision::{Decision, Evidence, Question, Rule};
use crate::fifo::{BfifoConfig, Pfifo, PfifoConfig};
use crate::gauge::{Observation, Observe};
use crate::leaf::REPLACED;
use crate::nesting::{Inner, InnerConfig};
use crate::own::{OwnConfig, OwnQdisc};
use crate::qdisc::{Drops, Lookahead, NextLen, Qdisc, Stats};
use crate::random::Source;
use crate::shown::{Show, Shown};
use crate::time::{Duration, Instant};
use crate::{Flow, Packet};

/// A discipline chosen at run time. A call costs one branch; there is no virtual table.
///
/// ```
/// use goodqueue::{AnyConfig, Duration, fq_codel::FqCodelConfig};
/// let config = AnyConfig::from(FqCodelConfig::default().with_target(Duration::from_millis(13))?);
/// assert_eq!(config.kind().name, "fq_codel");
/// # Ok::<(), goodqueue::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct AnyQdisc<P: Packet + Flow> {
    chosen: Chosen<P>,
    /// Salt and random source of a discipline that may replace this one.
    salt: u32,
    random: Source,
}

/// Writes the enum over all disciplines, its configuration and the dispatch.
macro_rules! disciplines {
    ($($name:ident = $qdisc:ty, $config:ty;)+) => {
        /// The descriptions of all disciplines.
        pub const KINDS: &[Kind] = &[$(<$config as Configure>::KIND),+];

        /// The discipline in an [`AnyQdisc`].
        #[derive(Clone, Debug)]
        #[expect(missing_docs, reason = "each variant is the discipline of its name")]
        // A tag of its own, not a niche in a discipline's fields: dispatch takes one load.
        #[repr(u8)]
        #[non_exhaustive]
        pub enum Chosen<P: Packet + Flow> {
            $($name($qdisc),)+
            /// A discipline of another crate.
            Own(OwnQdisc<P>),
        }

        /// The configuration of a discipline chosen at run time.
        #[derive(Clone, PartialEq, Debug)]
        #[expect(missing_docs, reason = "each variant is the configuration of the discipline of its name")]
        #[non_exhaustive]
        pub enum AnyConfig {
            $($name($config),)+
            /// The configuration of a discipline of another crate.
            Own(OwnConfig),
        }

        impl AnyConfig {
            /// Returns the configuration of the discipline called `kind` in tc's grammar, or `None`
            /// if no discipline has this name. Settings that [`Disciplines`](crate::Disciplines)
            /// returned lead to a discipline of another crate.
            ///
            /// # Errors
            /// The discipline refuses a setting.
            pub fn from_settings(kind: &str, settings: &Settings, link: &Link) -> Option<Result<Self, ConfigError>> {
                $(if kind == <$config as Configure>::KIND.name {
                    return Some(<$config>::from_settings(settings, link).map(Self::$name));
                })+
                let owner = settings.owner().filter(|owner| owner.kind().name == kind)?;
                Some(OwnConfig::new(owner, settings, link).map(Self::Own))
            }

            /// Returns the description of the discipline.
            #[must_use]
            pub const fn kind(&self) -> Kind {
                match self {
                    $(Self::$name(_) => <$config as Configure>::KIND,)+
                    Self::Own(config) => config.kind(),
                }
            }

            const fn drops_next_for_limit(&self) -> bool {
                match self {
                    $(Self::$name(_) => <$config as Configure>::LIMIT_DROPS_NEXT,)+
                    Self::Own(_) => false,
                }
            }

            /// Returns every parameter with the value in force.
            #[must_use]
            pub fn to_settings(&self) -> Settings {
                match self {
                    $(Self::$name(config) => Configure::to_settings(config),)+
                    Self::Own(config) => config.to_settings(),
                }
            }
        }

        impl From<OwnConfig> for AnyConfig {
            fn from(config: OwnConfig) -> Self {
                Self::Own(config)
            }
        }

        $(
            impl From<$config> for AnyConfig {
                fn from(config: $config) -> Self {
                    Self::$name(config)
                }
            }
        )+

        impl<P: Packet + Flow> AnyQdisc<P> {
            /// Returns an empty queue. Flows are hashed with `salt`, and `random` gives random
            /// numbers.
            #[must_use]
            pub fn new(config: AnyConfig, salt: u32, random: Source) -> Self {
                // Before the discipline draws, so that the randomness of a later one does not
                // depend on its draws.
                let spare = random.spare();
                let chosen = match config {
                    $(AnyConfig::$name(config) => Chosen::$name(Build::<P, Source>::build(config, salt, random)),)+
                    AnyConfig::Own(config) => Chosen::Own(OwnQdisc::new(config, salt, random)),
                };
                Self { chosen, salt, random: spare }
            }

            /// Returns the description of the discipline.
            #[must_use]
            pub const fn kind(&self) -> Kind {
                match &self.chosen {
                    $(Chosen::$name(_) => <$config as Configure>::KIND,)+
                    Chosen::Own(qdisc) => qdisc.kind(),
                }
            }
        }

        impl<P: Packet + Flow> Qdisc<P> for AnyQdisc<P> {
            type Config = AnyConfig;

            #[inline]
            fn enqueue(&mut self, now: Instant, packet: P, drops: &mut impl Drops<P>) {
                match &mut self.chosen {
                    $(Chosen::$name(qdisc) => enqueue(qdisc, now, packet, drops),)+
                    Chosen::Own(qdisc) => enqueue(qdisc, now, packet, drops),
                }
            }

            #[inline]
            fn dequeue(&mut self, now: Instant, drops: &mut impl Drops<P>) -> Option<P> {
                match &mut self.chosen {
                    $(Chosen::$name(qdisc) => dequeue(qdisc, now, drops),)+
                    Chosen::Own(qdisc) => dequeue(qdisc, now, drops),
                }
            }

            fn next_event(&self, now: Instant) -> Option<Instant> {
                match &self.chosen {
                    $(Chosen::$name(qdisc) => Qdisc::<P>::next_event(qdisc, now),)+
                    Chosen::Own(qdisc) => Qdisc::<P>::next_event(qdisc, now),
                }
            }

            #[inline]
            fn len(&self) -> usize {
                match &self.chosen {
                    $(Chosen::$name(qdisc) => len(qdisc),)+
                    Chosen::Own(qdisc) => len(qdisc),
                }
            }

            fn backlog(&self) -> u64 {
                match &self.chosen {
                    $(Chosen::$name(qdisc) => Qdisc::<P>::backlog(qdisc),)+
                    Chosen::Own(qdisc) => Qdisc::<P>::backlog(qdisc),
                }
            }

            fn stats(&self) -> Stats {
                match &self.chosen {
                    $(Chosen::$name(qdisc) => Qdisc::<P>::stats(qdisc),)+
                    Chosen::Own(qdisc) => Qdisc::<P>::stats(qdisc),
                }
            }

            /// Changes the configuration. A configuration of another discipline replaces this one:
            /// the queued packets are purged and the statistics start again. The new discipline
            /// hashes with the same salt and draws from a stream of the same random source.
            fn reconfigure(&mut self, now: Instant, config: AnyConfig, drops: &mut impl Drops<P>) {
                match (&mut self.chosen, config) {
                    $((Chosen::$name(qdisc), AnyConfig::$name(config)) => qdisc.reconfigure(now, config, drops),)+
                    (Chosen::Own(qdisc), AnyConfig::Own(config)) if qdisc.is_of(&config) => {
                        qdisc.reconfigure(now, config, drops);
                    }
                    (_, config) => {
                        self.purge(now, drops);
                        let random = self.random.fork(REPLACED);
                        *self = Self::new(config, self.salt, random);
                    }
                }
            }

            fn config(&self) -> AnyConfig {
                match &self.chosen {
                    $(Chosen::$name(qdisc) => AnyConfig::$name(Qdisc::<P>::config(qdisc)),)+
                    Chosen::Own(qdisc) => AnyConfig::Own(Qdisc::<P>::config(qdisc)),
                }
            }

            fn purge(&mut self, now: Instant, drops: &mut impl Drops<P>) {
                match &mut self.chosen {
                    $(Chosen::$name(qdisc) => qdisc.purge(now, drops),)+
                    Chosen::Own(qdisc) => qdisc.purge(now, drops),
                }
            }
        }

        impl<P: Packet + Flow> Lookahead<P> for AnyQdisc<P> {
            fn next_len(&self) -> Option<u32> {
                match &self.chosen {
                    $(Chosen::$name(qdisc) => Lookahead::<P>::next_len(qdisc),)+
                    Chosen::Own(qdisc) => Lookahead::<P>::next_len(qdisc),
                }
            }

            fn look_ahead(&mut self, now: Instant, drops: &mut impl Drops<P>) -> Option<NextLen> {
                match &mut self.chosen {
                    $(Chosen::$name(qdisc) => qdisc.look_ahead(now, drops),)+
                    Chosen::Own(qdisc) => qdisc.look_ahead(now, drops),
                }
            }

            fn set_taken_ahead(&mut self, now: Instant, taken: bool) {
                match &mut self.chosen {
                    $(Chosen::$name(qdisc) => Lookahead::<P>::set_taken_ahead(qdisc, now, taken),)+
                    Chosen::Own(qdisc) => Lookahead::<P>::set_taken_ahead(qdisc, now, taken),
                }
            }

            #[inline]
            fn upcoming(&self) -> Option<&Option<P>> {
                match &self.chosen {
                    $(Chosen::$name(qdisc) => Lookahead::<P>::upcoming(qdisc),)+
                    Chosen::Own(qdisc) => Lookahead::<P>::upcoming(qdisc),
                }
            }

            fn other_flow(&self, packet: &P) -> Option<&P> {
                match &self.chosen {
                    $(Chosen::$name(qdisc) => Lookahead::<P>::other_flow(qdisc, packet),)+
                    Chosen::Own(qdisc) => Lookahead::<P>::other_flow(qdisc, packet),
                }
            }

            fn evidence(&self, question: &Question<'_, P>) -> Evidence {
                let evidence = match &self.chosen {
                    $(Chosen::$name(qdisc) => Lookahead::<P>::evidence(qdisc, question),)+
                    Chosen::Own(qdisc) => Lookahead::<P>::evidence(qdisc, question),
                };
                self.complete(evidence, question.about)
            }
        }

        impl<P: Packet + Flow> Observe for AnyQdisc<P> {
            fn observe(&self, now: Instant, seen: &mut Observation) {
                seen.kind = self.kind().name;
                match &self.chosen {
                    $(Chosen::$name(qdisc) => qdisc.observe(now, seen),)+
                    Chosen::Own(qdisc) => qdisc.observe(now, seen),
                }
            }
        }

        /// Returns the rules by which the discipline called `name` decides, in groups.
        #[must_use]
        pub fn rules(name: &str) -> &'static [&'static [Rule]] {
            type P = crate::Datagram<()>;
            $(if name == <$config as Configure>::KIND.name {
                return <$qdisc as Lookahead<P>>::RULES;
            })+
            &[]
        }

        /// Returns the keywords of the discipline called `name`: words that stand for settings of
        /// other parameters.
        #[must_use]
        pub fn keywords(name: &str) -> &'static [Keyword] {
            $(if name == <$config as Configure>::KIND.name {
                return <$config as Configure>::KEYWORDS;
            })+
            &[]
        }

        /// Returns the options that tc prints of the discipline called `name`: [`Show::SHOWN`], or
        /// every setting of a discipline of another crate.
        #[must_use]
        pub fn shown(name: &str) -> &'static [Shown] {
            $(if name == <$config as Configure>::KIND.name {
                return <$config as Show>::SHOWN;
            })+
            &[Shown::Every]
        }

        /// Calls [`Configure::is_kept_by_change`] of the discipline called `name`.
        #[must_use]
        pub fn is_kept_by_change(name: &str, parameter: &str, given: &Settings) -> bool {
            $(if name == <$config as Configure>::KIND.name {
                return <$config as Configure>::is_kept_by_change(parameter, given);
            })+
            false
        }

        /// Calls [`Configure::handed_down`] of the discipline called `name`.
        #[must_use]
        pub fn handed_down(name: &str, inner: &str, changed: &Settings) -> Option<(&'static str, Value)> {
            $(if name == <$config as Configure>::KIND.name {
                return <$config as Configure>::handed_down(inner, changed);
            })+
            None
        }
    };
}

impl<P: Packet + Flow> AnyQdisc<P> {
    /// Returns the discipline itself.
    #[must_use]
    pub const fn chosen(&self) -> &Chosen<P> {
        &self.chosen
    }

    /// Adds what the discipline left open: its source, and the values that tc shows.
    fn complete(&self, mut evidence: Evidence, about: Decision) -> Evidence {
        let kind = self.kind();
        (evidence.kind, evidence.reference) = (kind.name, kind.reference);
        if evidence.facts.is_empty() {
            let seen = Observation::from_qdisc(self, about.now);
            for (name, gauge) in seen.gauges {
                evidence.fact(name, gauge.into(), "");
            }
        }
        evidence
    }

    /// Returns the discipline itself, to be changed.
    #[must_use]
    pub const fn chosen_mut(&mut self) -> &mut Chosen<P> {
        &mut self.chosen
    }
}

impl<P: Packet + Flow> Build<P, Source> for AnyQdisc<P> {
    fn build(config: AnyConfig, salt: u32, random: Source) -> Self {
        Self::new(config, salt, random)
    }
}

impl<P: Packet + Flow> Inner<P> for AnyQdisc<P> {
    fn name(&self) -> &'static str {
        self.kind().name
    }

    #[inline]
    fn as_pfifo(&self) -> Option<&Pfifo<P>> {
        if let Chosen::Pfifo(pfifo) = &self.chosen { Some(pfifo) } else { None }
    }

    #[inline]
    fn as_pfifo_mut(&mut self) -> Option<&mut Pfifo<P>> {
        if let Chosen::Pfifo(pfifo) = &mut self.chosen { Some(pfifo) } else { None }
    }
}

impl InnerConfig for AnyConfig {
    fn of_kind(kind: &str, settings: &Settings, link: &Link) -> Result<Self, ConfigError> {
        match Self::from_settings(kind, settings, link) {
            Some(config) => config,
            None => Err(ConfigError::new("qdisc", kind, names().join(", "))),
        }
    }

    /// Linux's `pfifo` with the queue length of an Ethernet device.
    fn usual() -> Self {
        Self::Pfifo(PfifoConfig::with_default_limit())
    }

    fn of_bytes(bytes: u32) -> Option<Self> {
        BfifoConfig::new(bytes).ok().map(Self::Bfifo)
    }

    fn pfifo_limit(&self) -> u32 {
        if let Self::Pfifo(pfifo) = self { pfifo.limit() } else { 0 }
    }

    fn limit_drops_next(&self) -> bool {
        self.drops_next_for_limit()
    }

    fn kind(&self) -> Kind {
        self.kind()
    }

    fn to_settings(&self) -> Settings {
        self.to_settings()
    }
}

/// Kept out of [`AnyQdisc::enqueue`], which is then one jump to the discipline chosen. With all
/// disciplines inlined into one function, the smallest would set up the stack of the largest.
#[inline(never)]
fn enqueue<P, Q: Qdisc<P>>(qdisc: &mut Q, now: Instant, packet: P, drops: &mut impl Drops<P>) {
    qdisc.enqueue(now, packet, drops);
}

/// See [`enqueue`].
#[inline(never)]
fn dequeue<P, Q: Qdisc<P>>(qdisc: &mut Q, now: Instant, drops: &mut impl Drops<P>) -> Option<P> {
    qdisc.dequeue(now, drops)
}

/// See [`enqueue`].
#[inline(never)]
fn len<P, Q: Qdisc<P>>(qdisc: &Q) -> usize {
    qdisc.len()
}

disciplines! {
    Codel = crate::codel::Codel<P>, crate::codel::CodelConfig;
    CodelDt = crate::codel_dt::CodelDt<P>, crate::codel_dt::CodelDtConfig;
    FqCodel = crate::fq_codel::FqCodel<P>, crate::fq_codel::FqCodelConfig;
    Fq = crate::fq::Fq<P>, crate::fq::FqConfig;
    FqPie = crate::fq_pie::FqPie<P, Source>, crate::fq_pie::FqPieConfig;
    Cobalt = crate::cobalt::Cobalt<P, Source>, crate::cobalt::CobaltConfig;
    CnqCodelAf = crate::cnq_codel_af::CnqCodelAf<P, Source>, crate::cnq_codel_af::CnqCodelAfConfig;
    Cake = crate::cake::Cake<P, Source>, crate::cake::CakeConfig;
    DualPi2 = crate::dualpi2::DualPi2<P, Source>, crate::dualpi2::DualPi2Config;
    Docsis = crate::docsis::Docsis<P, Source>, crate::docsis::DocsisConfig;
    SfqCodel = crate::sfq_codel::SfqCodel<P>, crate::sfq_codel::SfqCodelConfig;
    SfqPie = crate::sfq_pie::SfqPie<P, Source>, crate::sfq_pie::SfqPieConfig;
    Pfifo = Pfifo<P>, PfifoConfig;
    Bfifo = crate::fifo::Bfifo<P>, BfifoConfig;
    PfifoHeadDrop = crate::fifo::PfifoHeadDrop<P>, crate::fifo::PfifoHeadDropConfig;
    Sfq = crate::sfq::Sfq<P, Source>, crate::sfq::SfqConfig;
    Hhf = crate::hhf::Hhf<P>, crate::hhf::HhfConfig;
    Pie = crate::pie::Pie<P, Source>, crate::pie::PieConfig;
    Red = crate::red::Red<P, Source>, crate::red::RedConfig;
    Sfb = crate::sfb::Sfb<P, Source>, crate::sfb::SfbConfig;
    Blue = crate::blue::Blue<P, Source>, crate::blue::BlueConfig;
    Choke = crate::choke::Choke<P, Source>, crate::choke::ChokeConfig;
    PfifoFast = crate::pfifo_fast::PfifoFast<P>, crate::pfifo_fast::PfifoFastConfig;
    Prio = crate::prio::Prio<P, AnyQdisc<P>>, crate::prio::PrioConfig<AnyConfig>;
    Ets = crate::ets::Ets<P, AnyQdisc<P>>, crate::ets::EtsConfig<AnyConfig>;
    Drr = crate::drr::Drr<P, AnyQdisc<P>>, crate::drr::DrrConfig<AnyConfig>;
    Tbf = crate::tbf::Tbf<P, AnyQdisc<P>>, crate::tbf::TbfConfig<AnyConfig>;
    Htb = crate::htb::Htb<P, AnyQdisc<P>>, crate::htb::HtbConfig<AnyConfig>;
    Hfsc = crate::hfsc::Hfsc<P, AnyQdisc<P>>, crate::hfsc::HfscConfig<AnyConfig>;
    Qfq = crate::qfq::Qfq<P, AnyQdisc<P>>, crate::qfq::QfqConfig<AnyConfig>;
    Netem = crate::netem::Netem<P, AnyQdisc<P>>, crate::netem::NetemConfig<AnyConfig>;
}

/// Returns the names of all disciplines.
#[must_use]
pub fn names() -> Vec<&'static str> {
    KINDS.iter().map(|kind| kind.name).collect()
}

/// Returns the description of the discipline called `name`.
#[must_use]
pub fn find(name: &str) -> Option<Kind> {
    KINDS.iter().find(|kind| kind.name == name).copied()
}

/// A name for a discipline with certain settings, which may stand where the discipline's own name
/// stands.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Preset {
    /// The name.
    pub name: &'static str,
    /// The discipline it stands for.
    pub kind: &'static str,
    /// Settings; parameters given after the name replace them.
    pub settings: &'static [(&'static str, Value)],
    /// Purpose in one sentence.
    pub doc: &'static str,
    /// Source of these settings.
    pub source: &'static str,
}

/// Every preset.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "fq_nocodel",
        kind: "fq_codel",
        settings: &[("target", Value::Time(Duration::from_secs(100)))],
        doc: "The scheduler of fq_codel without its AQM: CoDel's target is out of reach",
        source: "Høiland-Jørgensen et al. 2015, \"The Good, the Bad and the WiFi\"",
    },
    Preset {
        name: "cake_mq",
        kind: "cake",
        settings: &[("variant", Value::Choice("linux"))],
        doc: "CAKE for a device with several transmit queues, of which one is used: it then decides as `cake`",
        source: "Linux 7.3 sch_cake, cake_mq",
    },
    Preset {
        name: "hred",
        kind: "red",
        settings: &harsh_red(0.02),
        doc: "Harsh RED: early, fast and steep; 3 and 40 packets of 1500 bytes, buffer of 100",
        source: HARSH_RED,
    },
    Preset {
        name: "hred_aggressive",
        kind: "red",
        settings: &harsh_red(0.04),
        doc: "Harsh RED with an average that moves twice as fast",
        source: HARSH_RED,
    },
    Preset {
        name: "pie_thresh",
        kind: "pie",
        settings: &[
            ("variant", Value::Choice("ns2")),
            ("limit", Value::Packets(100)),
            ("dq_threshold", Value::Bytes(7_500)),
        ],
        doc: "ns-2's PIE that measures over 5 packets, so that it works at 2 Mbit/s; buffer of 100",
        source: "Järvinen and Kojo 2014, table I: PIEthresh",
    },
    Preset {
        name: "pie_update",
        kind: "pie",
        settings: &[
            ("variant", Value::Choice("ns2")),
            ("limit", Value::Packets(100)),
            ("tupdate", Value::Time(Duration::from_millis(60))),
        ],
        doc: "ns-2's PIE that updates every 60 ms, so that it works at 2 Mbit/s; buffer of 100",
        source: "Järvinen and Kojo 2014, table I: PIEupdate",
    },
    Preset {
        name: "red_star",
        kind: "red",
        settings: &[("min", Value::Bytes(15_000)), ("max", Value::Bytes(45_000))],
        doc: "RED* for 500 kbit/s: a delay below `min` of 240 ms, beyond LEDBAT's target of 100 ms",
        source: "a reconstruction of Gong et al., after Christiansen et al. 2000; they give no numbers",
    },
];

const HARSH_RED: &str =
    "Järvinen et al. 2012; Järvinen and Kojo 2014, table I; packet mode and no waiting fit their results";

/// Harsh RED on ns-2's RED.
const fn harsh_red(weight: f64) -> [(&'static str, Value); 9] {
    [
        ("variant", Value::Choice("ns2")),
        // 100 frames of 1514 bytes.
        ("limit", Value::Bytes(151_400)),
        ("avpkt", Value::Bytes(1_500)),
        ("min", Value::Bytes(4_500)),
        ("max", Value::Bytes(60_000)),
        ("probability", Value::Probability(0.65)),
        ("weight", Value::Probability(weight)),
        ("bytemode", Value::Flag(false)),
        ("wait", Value::Flag(false)),
    ]
}

/// The preset called `name`.
#[must_use]
pub fn find_preset(name: &str) -> Option<Preset> {
    PRESETS.iter().find(|preset| preset.name == name).copied()
}

impl Preset {
    /// Its settings, with `given` in place of those that both have.
    #[must_use]
    pub fn with(&self, given: &Settings) -> Settings {
        let mut settings = Settings::new();
        for (name, value) in self.settings {
            settings.set(name, value.clone());
        }
        for (name, value) in given.iter() {
            settings.set(name, value);
        }
        settings
    }
}
