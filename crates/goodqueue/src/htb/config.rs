//! The parameters of `htb`.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use crate::bucket::{ByteCost, Framing, LINKLAYER, MPU, OVERHEAD};
use crate::config::{Child, Children, ConfigError, Configure, Kind, Link, Settings};
use crate::nesting::{self, InnerConfig};
use crate::shown::{Show, Shown};
use crate::tc_version::{self, TcVersion};
use crate::time::Rate;
use crate::typed::{self, in_variants, parameters};

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
    pub(super) version: TcVersion,
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
        version: TcVersion,
        link: &Link,
    ) -> Result<Self, ConfigError> {
        let settings = &child.settings;
        let rate = settings
            .rate(RATE.name)
            .ok_or_else(|| ConfigError::new(RATE.name, "", "a rate; every class has one"))?;
        let ceil = CEIL.read_or(settings, rate)?;
        let framing = Framing::from_settings(settings)?;
        let cost = |name, given: Rate| match ByteCost::new(given) {
            Some(plain) => Ok(plain.framed(framing)),
            None => Err(ConfigError::new(name, alloc::format!("{given}"), RATE.range_text())),
        };
        let rate_cost = cost(RATE.name, rate)?;
        let ceil_cost = cost(CEIL.name, ceil)?;
        let burst = BURST.read(settings)?;
        let cburst = CBURST.read(settings)?;
        // Linux lowers a larger number to the last of its `TC_HTB_NUMPRIO` priorities.
        let prio = PRIO.read::<u32>(settings)?.min(7);
        // As in Linux, the bounds apply to the derived quantum, not to a given one.
        let derived = (rate.as_bps() / 8 / u64::from(r2q.max(1))).clamp(MIN_QUANTUM, MAX_QUANTUM);
        let quantum = QUANTUM.read_or(settings, u32::try_from(derived).unwrap_or(1))?;
        let terms = Terms {
            rate: rate_cost,
            ceil: ceil_cost,
            depth: rate_cost.depth(burst, version),
            cdepth: ceil_cost.depth(cburst, version),
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
        let minor = child.class;
        let parent = child.parent;
        Ok(Self { minor, parent, rate, ceil, burst, cburst, prio, quantum, framing, terms, leaf })
    }
}

impl<C: InnerConfig> HtbConfig<C> {
    /// Adds leaf class `minor` below class `parent` (0: none), with an assured `rate` that it may
    /// exceed up to `ceil`, or replaces it. The parent has no discipline of its own from then on.
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
        let own = Settings::new().and(&RATE, rate).and(&CEIL, ceil);
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
        let settings = Settings::new().and(&RATE, rate).and(&CEIL, ceil);
        typed::with_child(self, Child { class: minor, parent, settings, qdisc: None })
    }
}

impl<C: InnerConfig> Configure for HtbConfig<C> {
    const KIND: Kind = KIND;

    fn from_checked(settings: &Settings, link: &Link) -> Result<Self, ConfigError> {
        let r2q = R2Q.read(settings)?;
        let version = TcVersion::from_settings(settings);
        let children = settings.children();
        nesting::check_minors(children)?;
        let parents: BTreeSet<u32> = children.iter().map(|child| child.parent).collect();
        let mut classes = Vec::new();
        for child in children {
            let is_leaf = !parents.contains(&child.class);
            let class = HtbClass::from_child(child, is_leaf, r2q, version, link);
            classes.push(class.map_err(|error| error.in_class(child.class))?);
        }
        classes.sort_by_key(|class| class.minor);
        let config = Self {
            default: DEFAULT.read(settings)?,
            r2q,
            direct_qlen: DIRECT_QLEN.read(settings)?,
            version,
            classes,
        };
        for class in &config.classes {
            let mut above = class.parent;
            let mut depth = 1;
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
        let settings = self
            .version
            .add_to(Settings::new())
            .and(&DEFAULT, self.default)
            .and(&R2Q, self.r2q)
            .and(&DIRECT_QLEN, self.direct_qlen);
        self.classes.iter().fold(settings, |all, class| {
            let mut own = Settings::new()
                .and(&RATE, class.rate)
                .and(&CEIL, class.ceil)
                .and(&BURST, class.burst)
                .and(&CBURST, class.cburst)
                .and(&PRIO, class.prio)
                .and(&QUANTUM, class.quantum);
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

parameters! {
    PARAMETERS of [C: InnerConfig] HtbConfig<C>;
    /// class of packets that have none; 0: they bypass all classes
    DEFAULT: class "default", with_default { default: 0, source: "tc" };
    /// divisor that turns a class's rate in bytes per second into its quantum
    R2Q: integer "r2q", with_r2q { default: 10, range: 1..=4_294_967_295, source: "tc" };
    /// packets without a class that may wait
    DIRECT_QLEN: packets "direct_qlen", with_direct_qlen {
        default: 1000,
        range: 1..=4_294_967_295,
        source: "Linux: txqueuelen of Ethernet",
    };
}

in_variants! { [C: InnerConfig] HtbConfig<C> }

const KIND: Kind = Kind {
    name: "htb",
    summary: "Hierarchical token bucket: classes with assured rates that may borrow up to their ceilings",
    reference: "Devera 2002; tc-htb(8)",
    variants: tc_version::VARIANTS,
    children: Children::Classes(CLASS_PARAMETERS),
    parameters: PARAMETERS,
};

/// Gauge of the packets that bypassed all classes.
pub(super) const DIRECT_PACKETS: &str = "direct_packets_stat";
/// Linux `TC_HTB_MAXDEPTH`.
pub(super) const LEVELS: usize = 8;
// Linux `htb_change_class()` bounds the derived quantum by these, and warns.
const MIN_QUANTUM: u64 = 1000;
const MAX_QUANTUM: u64 = 200_000;

parameters! {
    CLASS_PARAMETERS;
    /// rate that the class is guaranteed
    pub(super) RATE: rate "rate" {
        derived: "none",
        range: Rate::from_bps(8)..=Rate::MAX,
        source: "tc wants one",
    };
    /// rate up to which the class may borrow
    pub(super) CEIL: rate "ceil" { derived: "rate", range: Rate::from_bps(8)..=Rate::MAX, source: "tc" };
    // To 1600, tc adds the bytes of one tick of the clock, whose frequency is 10^9.
    /// bytes that may leave at once at the guaranteed rate
    BURST: bytes "burst" { default: 1600, range: 1..=4_294_967_295, source: "tc" };
    /// bytes that may leave at once at the ceiling
    CBURST: bytes "cburst" { default: 1600, range: 1..=4_294_967_295, source: "tc" };
    /// order of borrowing, the lowest number first
    PRIO: integer "prio" {
        default: 0,
        range: 0..=4_294_967_295,
        range_in_words: "0 to 7; limited to 7",
        source: "tc",
    };
    /// bytes that a leaf class borrows per turn
    QUANTUM: bytes "quantum" {
        derived: "rate / r2q, within 1000 to 200000",
        range: 1..=2_147_483_647,
        source: "Linux sch_htb",
    };
    OVERHEAD: bytes;
    MPU: bytes;
    LINKLAYER: choice;
}
