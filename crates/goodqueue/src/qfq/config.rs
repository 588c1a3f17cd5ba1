//! The parameters of `qfq`.

use alloc::vec::Vec;

use crate::config::{Children, ConfigError, Configure, Kind, Link, Parameter, Settings, Unit, Value};
use crate::nesting::{self, InnerConfig};
use crate::shown::{Show, Shown};
use crate::typed::{self, setters};

/// Configuration of [`Qfq`](super::Qfq).
#[derive(Clone, PartialEq, Debug)]
pub struct QfqConfig<C> {
    /// Classes that are made if none is given.
    pub(super) flows: u32,
    pub(super) longest: u32,
    pub(super) classes: Vec<QfqClass<C>>,
}

/// One class of a [`QfqConfig`].
#[derive(Clone, PartialEq, Debug)]
pub struct QfqClass<C> {
    pub(super) minor: u32,
    pub(super) weight: u32,
    pub(super) longest: u32,
    pub(super) qdisc: C,
}

impl<C: InnerConfig> QfqConfig<C> {
    /// The classes that were given, in the order of their numbers.
    #[must_use]
    pub fn classes(&self) -> &[QfqClass<C>] {
        &self.classes
    }

    /// The classes that there are.
    pub(super) fn all_classes(&self) -> Vec<QfqClass<C>> {
        if !self.classes.is_empty() {
            return self.classes.clone();
        }
        (1..=self.flows)
            .map(|minor| QfqClass { minor, weight: 1, longest: self.longest, qdisc: C::usual() })
            .collect()
    }
}

impl<C: InnerConfig> QfqClass<C> {
    /// The minor number.
    #[must_use]
    pub const fn minor(&self) -> u32 {
        self.minor
    }

    /// Its share of the link.
    #[must_use]
    pub const fn weight(&self) -> u32 {
        self.weight
    }
}

impl<C: InnerConfig> QfqConfig<C> {
    /// Adds class `minor` with this `weight`, or replaces it.
    ///
    /// # Errors
    /// The number is not from 1 to 65535, or a value is out of range.
    pub fn with_class(&self, minor: u32, weight: u32, inner: &C) -> Result<Self, ConfigError> {
        let own = Settings::new().with(WEIGHT.name, Value::Integer(u64::from(weight)));
        typed::with_child(self, nesting::child(minor, own, inner))
    }
}

impl<C: InnerConfig> Configure for QfqConfig<C> {
    const KIND: Kind = KIND;

    fn from_checked(settings: &Settings, link: &Link) -> Result<Self, ConfigError> {
        let mtu = link.mtu.clamp(MIN_LONGEST, MAX_LONGEST);
        let flows = settings.number(FLOWS.name, 1, MAX_FLOWS)?;
        nesting::check_minors(settings.children())?;
        let mut classes: Vec<QfqClass<C>> = Vec::new();
        let mut sum = 0;
        for child in settings.children() {
            let number = |name, low: u32, high: u32, default: u32| -> Result<u32, ConfigError> {
                let given = child.settings.small(name, u64::from(low), u64::from(high));
                Ok(given.map_err(|error| error.in_class(child.class))?.unwrap_or(default))
            };
            let weight = number(WEIGHT.name, 1, MAX_WEIGHT, 1)?;
            let longest = number(MAXPKT.name, MIN_LONGEST, MAX_LONGEST, mtu)?;
            let qdisc = nesting::qdisc_of(child, link)?.unwrap_or_else(C::usual);
            classes.push(QfqClass { minor: child.class, weight, longest, qdisc });
            sum += u64::from(weight);
            if sum > MAX_WEIGHTS {
                let error = ConfigError::new(
                    WEIGHT.name,
                    alloc::format!("{weight}"),
                    "65536 for all classes together",
                );
                return Err(error.in_class(child.class));
            }
        }
        classes.sort_by_key(|class| class.minor);
        let flows = if classes.is_empty() { flows.unwrap_or(DEFAULT_FLOWS) } else { 0 };
        Ok(Self { flows: u32::try_from(flows).unwrap_or(0), longest: mtu, classes })
    }

    fn to_settings(&self) -> Settings {
        let mut settings = Settings::new();
        if self.classes.is_empty() {
            settings.set(FLOWS.name, Value::Integer(u64::from(self.flows)));
        }
        self.classes.iter().fold(settings, |all, class| {
            let own = Settings::new()
                .with(WEIGHT.name, Value::Integer(u64::from(class.weight)))
                .with(MAXPKT.name, Value::Bytes(u64::from(class.longest)));
            all.with_child(nesting::child(class.minor, own, &class.qdisc))
        })
    }
}

impl<C: InnerConfig> Show for QfqConfig<C> {
    /// Linux prints its classes and no options.
    const SHOWN: &'static [Shown] = &[];
}

setters! {
    [C: InnerConfig] QfqConfig<C>,
    /// Sets `flows`: number of classes to create if none is given; flows are hashed into them.
    /// Default: 1024. Range: 1 to 65536.
    with_flows(integer);
}

const KIND: Kind = Kind {
    name: "qfq",
    summary: "Quick fair queueing: classes share the link in the ratio of their weights, each with its discipline",
    reference: "Checconi, Rizzo & Valente 2013; tc-qfq(8)",
    variants: &[],
    children: Children::Classes(&[WEIGHT, MAXPKT]),
    parameters: &[FLOWS],
};

const MIN_LONGEST: u32 = 512;
pub(super) const MAX_LONGEST: u32 = 65_536;
const MAX_WEIGHT: u32 = 1024;
const MAX_WEIGHTS: u64 = 65_536;
const DEFAULT_FLOWS: u64 = 1024;
const MAX_FLOWS: u64 = 65_536;

const WEIGHT: Parameter = Parameter {
    name: "weight",
    unit: Unit::Integer,
    default: "1",
    source: "Linux sch_qfq",
    range: "1 to 1024; all together 65536",
    doc: "share of the link",
};

const MAXPKT: Parameter = Parameter {
    name: "maxpkt",
    unit: Unit::Bytes,
    default: "MTU",
    source: "Linux sch_qfq",
    range: "512 to 65536",
    doc: "length of the longest expected packet",
};

const FLOWS: Parameter = Parameter {
    name: "flows",
    unit: Unit::Integer,
    default: "1024",
    source: "ours; Linux has no classes until they are made",
    range: "1 to 65536",
    doc: "number of classes to create if none is given; flows are hashed into them",
};
