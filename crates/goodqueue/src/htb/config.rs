//! The parameters of `htb`.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use crate::bucket::{ByteCost, Framing};
use crate::config::{Child, Children, ConfigError, Configure, Kind, Link, Parameter, Settings, Unit, Value};
use crate::nesting::{self, InnerConfig};
use crate::shown::{Show, Shown};
use crate::time::Rate;
use crate::typed::{self, setters};

/// Place of a class in the order of the numbers.
pub(super) type Index = u32;

/// Guarantees of a class, in the units of the buckets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Terms {
    pub(super) rate: ByteCost,
    pub(super) ceil: ByteCost,
    pub(super) depth: i64,
    pub(super) cdepth: i64,
    pub(super) prio: usize,
    pub(super) quantum: u32,
}

/// Configuration of [`Htb`](super::Htb).
#[derive(Clone, PartialEq, Debug)]
pub struct HtbConfig<C> {
    pub(super) default: u32,
    pub(super) r2q: u32,
    pub(super) direct_qlen: u32,
    /// In the order of their numbers.
    pub(super) classes: Vec<HtbClass<C>>,
}

/// One class of an [`HtbConfig`].
#[derive(Clone, PartialEq, Debug)]
pub struct HtbClass<C> {
    pub(super) minor: u32,
    pub(super) parent: u32,
    pub(super) rate: Rate,
    pub(super) ceil: Rate,
    pub(super) burst: u32,
    pub(super) cburst: u32,
    pub(super) prio: u32,
    pub(super) quantum: u32,
    pub(super) framing: Framing,
    pub(super) terms: Terms,
    /// `None`: it has classes below it.
    pub(super) leaf: Option<C>,
}

impl<C: InnerConfig> HtbConfig<C> {
    /// The classes, in the order of their numbers.
    #[must_use]
    pub fn classes(&self) -> &[HtbClass<C>] {
        &self.classes
    }

    pub(super) fn position(&self, minor: u32) -> Option<usize> {
        self.classes.binary_search_by_key(&minor, |class| class.minor).ok()
    }

    pub(super) fn index(&self, minor: u32) -> Option<Index> {
        Index::try_from(self.position(minor)?).ok()
    }

    /// Leaves are at level 0, classes with children at the highest if they have no parent, and
    /// below that one by one.
    pub(super) fn level(&self, minor: u32) -> usize {
        let class = |number| self.classes.get(self.position(number)?);
        let Some(own) = class(minor).filter(|own| own.leaf.is_none()) else { return 0 };
        let parents = core::iter::successors(class(own.parent), |above| class(above.parent));
        (LEVELS - 1).saturating_sub(parents.take(LEVELS).count())
    }
}

impl<C: InnerConfig> HtbClass<C> {
    /// The minor number.
    #[must_use]
    pub const fn minor(&self) -> u32 {
        self.minor
    }

    /// The rate that it is assured of.
    #[must_use]
    pub const fn rate(&self) -> Rate {
        self.rate
    }

    /// The rate that it never exceeds for long.
    #[must_use]
    pub const fn ceil(&self) -> Rate {
        self.ceil
    }

    pub(super) fn from_child(
        child: &Child,
        is_leaf: bool,
        r2q: u32,
        link: &Link,
    ) -> Result<Self, ConfigError> {
        let settings = &child.settings;
        let number = |name, low: u64, high: u64| -> Result<Option<u32>, ConfigError> {
            settings.small(name, low, high)
        };
        let rate = settings
            .rate(RATE.name)
            .ok_or_else(|| ConfigError::new(RATE.name, "", "a rate; every class has one"))?;
        let ceil = settings.rate(CEIL.name).unwrap_or(rate);
        let framing = Framing::from_settings(settings)?;
        let cost = |name, given: Rate| match ByteCost::new(given) {
            Some(plain) => Ok(plain.framed(framing)),
            None => Err(ConfigError::new(name, alloc::format!("{given}"), RATE_RANGE)),
        };
        let (rate_cost, ceil_cost) = (cost(RATE.name, rate)?, cost(CEIL.name, ceil)?);
        let burst = number(BURST.name, 1, u64::from(u32::MAX))?.unwrap_or(DEFAULT_BURST);
        let cburst = number(CBURST.name, 1, u64::from(u32::MAX))?.unwrap_or(DEFAULT_BURST);
        let prio = number(PRIO.name, 0, u64::from(u32::MAX))?.unwrap_or(0).min(7);
        let derived = (rate.as_bps() / 8 / u64::from(r2q.max(1))).clamp(MIN_QUANTUM, MAX_QUANTUM);
        let quantum = number(QUANTUM.name, 1, u64::from(i32::MAX.unsigned_abs()))?
            .unwrap_or_else(|| u32::try_from(derived).unwrap_or(1));
        let terms = Terms {
            rate: rate_cost,
            ceil: ceil_cost,
            depth: rate_cost.depth(burst),
            cdepth: ceil_cost.depth(cburst),
            prio: prio as usize,
            quantum,
        };
        let leaf = match nesting::qdisc_of(child, link)? {
            Some(_) if !is_leaf => {
                return Err(ConfigError::new("qdisc", "", "none, since there are classes below it"));
            }
            given if is_leaf => Some(given.unwrap_or_else(C::usual)),
            _ => None,
        };
        let (minor, parent) = (child.class, child.parent);
        Ok(Self { minor, parent, rate, ceil, burst, cburst, prio, quantum, framing, terms, leaf })
    }
}

impl<C: InnerConfig> HtbConfig<C> {
    /// Adds leaf class `minor` below class `parent` (0: none), with an assured `rate` that it may
    /// exceed up to `ceil`, or replaces it.
    ///
    /// # Errors
    /// The number is not from 1 to 65535, the parent does not exist, or a rate is below 8 bit/s.
    pub fn with_leaf(
        &self,
        minor: u32,
        parent: u32,
        [rate, ceil]: [Rate; 2],
        inner: &C,
    ) -> Result<Self, ConfigError> {
        let own = Settings::new().with(RATE.name, Value::Rate(rate)).with(CEIL.name, Value::Rate(ceil));
        typed::with_child(self, Child { parent, ..nesting::child(minor, own, inner) })
    }

    /// Adds class `minor`, which is to have classes below it, or replaces it. See
    /// [`Self::with_leaf`].
    ///
    /// # Errors
    /// As those of [`Self::with_leaf`].
    pub fn with_inner_class(
        &self,
        minor: u32,
        parent: u32,
        [rate, ceil]: [Rate; 2],
    ) -> Result<Self, ConfigError> {
        let settings = Settings::new().with(RATE.name, Value::Rate(rate)).with(CEIL.name, Value::Rate(ceil));
        typed::with_child(self, Child { class: minor, parent, settings, qdisc: None })
    }
}

impl<C: InnerConfig> Configure for HtbConfig<C> {
    const KIND: Kind = KIND;

    fn from_checked(settings: &Settings, link: &Link) -> Result<Self, ConfigError> {
        let number = |name, low: u64| -> Result<Option<u32>, ConfigError> {
            settings.small(name, low, u64::from(u32::MAX))
        };
        let default = match settings.get(DEFAULT.name) {
            Some(Value::Class(minor)) => minor,
            _ => 0,
        };
        let r2q = number(R2Q.name, 1)?.unwrap_or(10);
        let direct_qlen = number(DIRECT_QLEN.name, 1)?.unwrap_or(1000);
        let children = settings.children();
        nesting::check_minors(children)?;
        let parents: BTreeSet<u32> = children.iter().map(|child| child.parent).collect();
        let mut classes = Vec::new();
        for child in children {
            let is_leaf = !parents.contains(&child.class);
            let class = HtbClass::from_child(child, is_leaf, r2q, link);
            classes.push(class.map_err(|error| error.in_class(child.class))?);
        }
        classes.sort_by_key(|class| class.minor);
        let config = Self { default, r2q, direct_qlen, classes };
        for class in &config.classes {
            let (mut above, mut depth) = (class.parent, 1);
            while above != 0 {
                let position = config.position(above).filter(|_| depth < LEVELS);
                let parent = position.and_then(|index| config.classes.get(index)).ok_or_else(|| {
                    let allowed = alloc::format!("a class, with at most {} others above it", LEVELS - 2);
                    ConfigError::new("parent", alloc::format!("{above:x}"), allowed).in_class(class.minor)
                })?;
                above = parent.parent;
                depth += 1;
            }
        }
        Ok(config)
    }

    fn to_settings(&self) -> Settings {
        let settings = Settings::new()
            .with(DEFAULT.name, Value::Class(self.default))
            .with(R2Q.name, Value::Integer(u64::from(self.r2q)))
            .with(DIRECT_QLEN.name, Value::Packets(u64::from(self.direct_qlen)));
        self.classes.iter().fold(settings, |all, class| {
            let mut own = Settings::new()
                .with(RATE.name, Value::Rate(class.rate))
                .with(CEIL.name, Value::Rate(class.ceil))
                .with(BURST.name, Value::Bytes(u64::from(class.burst)))
                .with(CBURST.name, Value::Bytes(u64::from(class.cburst)))
                .with(PRIO.name, Value::Integer(u64::from(class.prio)))
                .with(QUANTUM.name, Value::Bytes(u64::from(class.quantum)));
            class.framing.add_to_settings(&mut own);
            let qdisc = class.leaf.as_ref().map(|leaf| (leaf.kind().name, leaf.to_settings()));
            all.with_child(Child { class: class.minor, parent: class.parent, settings: own, qdisc })
        })
    }
}

impl<C: InnerConfig> Show for HtbConfig<C> {
    const SHOWN: &'static [Shown] = &[
        Shown::Setting(R2Q.name),
        Shown::Setting(DEFAULT.name),
        Shown::Gauge(DIRECT_PACKETS),
        Shown::Setting(DIRECT_QLEN.name),
    ];
}

setters! {
    [C: InnerConfig] HtbConfig<C>,
    /// Sets `default`: class of packets that have none; 0: they bypass all classes. Default: 0.
    with_default(class);
    /// Sets `r2q`: divisor that turns a class's rate in bytes per second into its quantum. Default:
    /// 10. Range: 1 to 4294967295.
    with_r2q(integer);
    /// Sets `direct_qlen`: packets without a class that may wait. Default: 1000p. Range: 1 to
    /// 4294967295.
    with_direct_qlen(packets);
}

const KIND: Kind = Kind {
    name: "htb",
    summary: "Hierarchical token bucket: classes with assured rates that may borrow up to their ceilings",
    reference: "Devera 2002; tc-htb(8)",
    variants: &[],
    children: Children::Classes(&[
        RATE,
        CEIL,
        BURST,
        CBURST,
        PRIO,
        QUANTUM,
        Framing::OVERHEAD,
        Framing::MPU,
        Framing::LINKLAYER,
    ]),
    parameters: &[DEFAULT, R2Q, DIRECT_QLEN],
};

const RATE_RANGE: &str = "8bit or more";
const DEFAULT_BURST: u32 = 1600;
/// Gauge of the packets that bypassed all classes.
pub(super) const DIRECT_PACKETS: &str = "direct_packets_stat";
/// Linux `TC_HTB_MAXDEPTH`.
pub(super) const LEVELS: usize = 8;
const MIN_QUANTUM: u64 = 1000;
const MAX_QUANTUM: u64 = 200_000;

pub(super) const RATE: Parameter = Parameter {
    name: "rate",
    unit: Unit::Rate,
    default: "none",
    source: "tc wants one",
    range: RATE_RANGE,
    doc: "rate that the class is guaranteed",
};

pub(super) const CEIL: Parameter = Parameter {
    name: "ceil",
    unit: Unit::Rate,
    default: "rate",
    source: "tc",
    range: RATE_RANGE,
    doc: "rate up to which the class may borrow",
};

const BURST: Parameter = Parameter {
    name: "burst",
    unit: Unit::Bytes,
    default: "1600",
    source: "tc",
    range: "1 to 4294967295",
    doc: "bytes that may leave at once at the guaranteed rate",
};

const CBURST: Parameter = Parameter {
    name: "cburst",
    unit: Unit::Bytes,
    default: "1600",
    source: "tc",
    range: "1 to 4294967295",
    doc: "bytes that may leave at once at the ceiling",
};

const PRIO: Parameter = Parameter {
    name: "prio",
    unit: Unit::Integer,
    default: "0",
    source: "tc",
    range: "0 to 7; limited to 7",
    doc: "order of borrowing, the lowest number first",
};

const QUANTUM: Parameter = Parameter {
    name: "quantum",
    unit: Unit::Bytes,
    default: "rate / r2q, within 1000 to 200000",
    source: "Linux sch_htb",
    range: "1 to 2147483647",
    doc: "bytes that a leaf class borrows per turn",
};

const DEFAULT: Parameter = Parameter {
    name: "default",
    unit: Unit::Class,
    default: "0",
    source: "tc",
    range: "",
    doc: "class of packets that have none; 0: they bypass all classes",
};

const R2Q: Parameter = Parameter {
    name: "r2q",
    unit: Unit::Integer,
    default: "10",
    source: "tc",
    range: "1 to 4294967295",
    doc: "divisor that turns a class's rate in bytes per second into its quantum",
};

const DIRECT_QLEN: Parameter = Parameter {
    name: "direct_qlen",
    unit: Unit::Packets,
    default: "1000p",
    source: "Linux: txqueuelen of Ethernet",
    range: "1 to 4294967295",
    doc: "packets without a class that may wait",
};
