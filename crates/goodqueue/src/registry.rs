//! Every discipline of this crate, by name. A new one is added in the list below and nowhere else.

use alloc::vec::Vec;

use crate::config::{Build, ConfigError, Configure, Keyword, Kind, Link, Settings, Value};
use crate::gauge::Observation;
use crate::qdisc::{Drops, NextLen, Qdisc, Stats};
use crate::random::Source;
use crate::time::{Duration, Instant};
use crate::{Flow, Packet};

/// Writes the enum over all disciplines, its configuration and the dispatch.
macro_rules! disciplines {
    ($($name:ident = $qdisc:ty, $config:ty;)+) => {
        /// The name and parameters of every discipline.
        pub const KINDS: &[Kind] = &[$(<$config as Configure>::KIND),+];

        /// Any discipline, chosen at run time. One branch per call; no allocation, no virtual table.
        #[derive(Clone, Debug)]
        #[expect(missing_docs, reason = "each arm is the discipline of its name")]
        // A tag of its own, not a niche in a discipline's fields: a call finds its way with one load.
        #[repr(u8)]
        pub enum AnyQdisc<P> {
            $($name($qdisc)),+
        }

        /// The configuration of any discipline.
        #[derive(Clone, PartialEq, Debug)]
        #[expect(missing_docs, reason = "each arm is the configuration of the discipline of its name")]
        pub enum AnyConfig {
            $($name($config)),+
        }

        impl AnyConfig {
            /// The configuration of the discipline called `kind` in tc's grammar.
            ///
            /// # Errors
            /// The discipline refuses a value. `None` if no discipline has this name.
            pub fn from_settings(kind: &str, settings: &Settings, link: &Link) -> Option<Result<Self, ConfigError>> {
                $(if kind == <$config as Configure>::KIND.name {
                    return Some(<$config>::from_settings(settings, link).map(Self::$name));
                })+
                None
            }

            /// The discipline's own description.
            #[must_use]
            pub const fn kind(&self) -> Kind {
                match self {
                    $(Self::$name(_) => <$config as Configure>::KIND),+
                }
            }

            /// Every parameter with the value in force.
            #[must_use]
            pub fn to_settings(&self) -> Settings {
                match self {
                    $(Self::$name(config) => config.to_settings()),+
                }
            }
        }

        impl<P: Packet + Flow> AnyQdisc<P> {
            /// An empty queue.
            #[must_use]
            pub fn new(config: AnyConfig, salt: u32, random: Source) -> Self {
                match config {
                    $(AnyConfig::$name(config) => Self::$name(Build::<P, Source>::build(config, salt, random))),+
                }
            }
        }

        impl<P> AnyQdisc<P> {
            /// The discipline's own description.
            #[must_use]
            pub const fn kind(&self) -> Kind {
                match self {
                    $(Self::$name(_) => <$config as Configure>::KIND),+
                }
            }
        }

        impl<P: Packet + Flow> Qdisc<P> for AnyQdisc<P> {
            type Config = AnyConfig;

            #[inline]
            fn enqueue(&mut self, now: Instant, packet: P, drops: &mut impl Drops<P>) {
                match self {
                    $(Self::$name(qdisc) => enqueue(qdisc, now, packet, drops)),+
                }
            }

            #[inline]
            fn dequeue(&mut self, now: Instant, drops: &mut impl Drops<P>) -> Option<P> {
                match self {
                    $(Self::$name(qdisc) => dequeue(qdisc, now, drops)),+
                }
            }

            fn next_event(&self, now: Instant) -> Option<Instant> {
                match self {
                    $(Self::$name(qdisc) => Qdisc::<P>::next_event(qdisc, now)),+
                }
            }

            fn next_len(&self) -> Option<u32> {
                match self {
                    $(Self::$name(qdisc) => Qdisc::<P>::next_len(qdisc)),+
                }
            }

            fn look_ahead(&mut self, now: Instant, drops: &mut impl Drops<P>) -> Option<NextLen> {
                match self {
                    $(Self::$name(qdisc) => qdisc.look_ahead(now, drops)),+
                }
            }

            fn set_taken_ahead(&mut self, now: Instant, taken: bool) {
                match self {
                    $(Self::$name(qdisc) => Qdisc::<P>::set_taken_ahead(qdisc, now, taken)),+
                }
            }

            #[inline]
            fn upcoming(&self) -> Option<&Option<P>> {
                match self {
                    $(Self::$name(qdisc) => Qdisc::<P>::upcoming(qdisc)),+
                }
            }

            fn stranger(&self, packet: &P) -> Option<&P> {
                match self {
                    $(Self::$name(qdisc) => Qdisc::<P>::stranger(qdisc, packet)),+
                }
            }

            #[inline]
            fn len(&self) -> usize {
                match self {
                    $(Self::$name(qdisc) => Qdisc::<P>::len(qdisc)),+
                }
            }

            fn backlog(&self) -> u64 {
                match self {
                    $(Self::$name(qdisc) => Qdisc::<P>::backlog(qdisc)),+
                }
            }

            fn stats(&self) -> Stats {
                match self {
                    $(Self::$name(qdisc) => Qdisc::<P>::stats(qdisc)),+
                }
            }

            fn observe(&self, now: Instant, seen: &mut Observation) {
                match self {
                    $(Self::$name(qdisc) => Qdisc::<P>::observe(qdisc, now, seen)),+
                }
            }

            /// A configuration of another discipline replaces this one: what was queued is purged, the statistics
            /// begin anew.
            fn reconfigure(&mut self, now: Instant, config: AnyConfig, drops: &mut impl Drops<P>) {
                match (self, config) {
                    $((Self::$name(qdisc), AnyConfig::$name(config)) => qdisc.reconfigure(now, config, drops),)+
                    (this, config) => {
                        this.purge(now, drops);
                        *this = Self::new(config, 0, Source::seeded(0));
                    }
                }
            }

            fn config(&self) -> AnyConfig {
                match self {
                    $(Self::$name(qdisc) => AnyConfig::$name(Qdisc::<P>::config(qdisc))),+
                }
            }

            fn purge(&mut self, now: Instant, drops: &mut impl Drops<P>) {
                match self {
                    $(Self::$name(qdisc) => qdisc.purge(now, drops)),+
                }
            }
        }
    };
}

/// Kept out of [`AnyQdisc::enqueue`], which so is one jump to the discipline chosen: with all disciplines written into one
/// function, the stack of the largest was set up for the smallest too.
#[inline(never)]
fn enqueue<P, Q: Qdisc<P>>(qdisc: &mut Q, now: Instant, packet: P, drops: &mut impl Drops<P>) {
    qdisc.enqueue(now, packet, drops);
}

/// As [`enqueue`].
#[inline(never)]
fn dequeue<P, Q: Qdisc<P>>(qdisc: &mut Q, now: Instant, drops: &mut impl Drops<P>) -> Option<P> {
    qdisc.dequeue(now, drops)
}

disciplines! {
    Codel = crate::codel::Codel<P>, crate::codel::CodelConfig;
    CodelDt = crate::codel_dt::CodelDt<P>, crate::codel_dt::CodelDtConfig;
    FqCodel = crate::fq_codel::FqCodel<P>, crate::fq_codel::FqCodelConfig;
    FqPie = crate::fq_pie::FqPie<P, Source>, crate::fq_pie::FqPieConfig;
    Cobalt = crate::cobalt::Cobalt<P, Source>, crate::cobalt::CobaltConfig;
    Cake = crate::cake::Cake<P, Source>, crate::cake::CakeConfig;
    DualPi2 = crate::dualpi2::DualPi2<P, Source>, crate::dualpi2::DualPi2Config;
    SfqCodel = crate::sfq_codel::SfqCodel<P>, crate::sfq_codel::SfqCodelConfig;
    SfqPie = crate::sfq_pie::SfqPie<P, Source>, crate::sfq_pie::SfqPieConfig;
    Pfifo = crate::fifo::Pfifo<P>, crate::fifo::PfifoConfig;
    Bfifo = crate::fifo::Bfifo<P>, crate::fifo::BfifoConfig;
    PfifoHeadDrop = crate::fifo::PfifoHeadDrop<P>, crate::fifo::PfifoHeadDropConfig;
    Sfq = crate::sfq::Sfq<P, Source>, crate::sfq::SfqConfig;
    Pie = crate::pie::Pie<P, Source>, crate::pie::PieConfig;
    Red = crate::red::Red<P, Source>, crate::red::RedConfig;
    Sfb = crate::sfb::Sfb<P, Source>, crate::sfb::SfbConfig;
    Blue = crate::blue::Blue<P, Source>, crate::blue::BlueConfig;
    Choke = crate::choke::Choke<P, Source>, crate::choke::ChokeConfig;
    PfifoFast = crate::pfifo_fast::PfifoFast<P>, crate::pfifo_fast::PfifoFastConfig;
    Prio = crate::prio::Prio<P>, crate::prio::PrioConfig;
    Drr = crate::drr::Drr<P>, crate::drr::DrrConfig;
    Tbf = crate::tbf::Tbf<P>, crate::tbf::TbfConfig;
    Htb = crate::htb::Htb<P>, crate::htb::HtbConfig;
    Qfq = crate::qfq::Qfq<P>, crate::qfq::QfqConfig;
    Netem = crate::netem::Netem<P>, crate::netem::NetemConfig;
}

/// The names of all disciplines.
#[must_use]
pub fn names() -> Vec<&'static str> {
    KINDS.iter().map(|kind| kind.name).collect()
}

/// The description of the discipline called `name`.
#[must_use]
pub fn find(name: &str) -> Option<Kind> {
    KINDS.iter().find(|kind| kind.name == name).copied()
}

/// The words of the discipline called `name` that stand for settings of other parameters.
#[must_use]
pub fn keywords(name: &str) -> &'static [Keyword] {
    if name == "cake" { crate::cake::KEYWORDS } else { &[] }
}

/// True if `tc qdisc change` leaves `parameter` of the discipline called `name` as it is when only `given` are; otherwise it
/// takes its default again, as when the discipline was made. Linux sends and reads some parameters one by one and others
/// all together.
#[must_use]
pub fn is_kept_by_change(name: &str, parameter: &str, given: &Settings) -> bool {
    match name {
        // Of drr: the quantum of a class.
        "codel" | "fq_codel" | "pie" | "fq_pie" | "dualpi2" | "drr" => true,
        "cake" => crate::cake::is_kept_by_change(parameter, given),
        "netem" => crate::netem::is_kept_by_change(parameter, given),
        _ => false,
    }
}

/// What `tc qdisc change` of the discipline called `name`, which is told `changed`, also sets in the one called `inner`
/// inside it.
#[must_use]
pub fn handed_down(name: &str, inner: &str, changed: &Settings) -> Option<(&'static str, Value)> {
    if name == "tbf" { crate::tbf::handed_down(inner, changed) } else { None }
}

/// A name for a discipline with certain settings, which may stand where the discipline's own name stands.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Preset {
    /// The name.
    pub name: &'static str,
    /// The discipline it stands for.
    pub kind: &'static str,
    /// What it sets; parameters given behind the name replace these.
    pub settings: &'static [(&'static str, Value)],
    /// One sentence: what it is for.
    pub doc: &'static str,
    /// Who used these settings.
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
