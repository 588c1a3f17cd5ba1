//! The parameters of `qfq`.

use alloc::vec::Vec;

use crate::config::{Children, ConfigError, Configure, Kind, Link, Settings};
use crate::nesting::{self, InnerConfig};
use crate::shown::{Show, Shown};
use crate::typed::{self, parameters};

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
        let own = Settings::new().and(&WEIGHT, weight);
        typed::with_child(self, nesting::child(minor, own, inner))
    }
}

impl<C: InnerConfig> Configure for QfqConfig<C> {
    const KIND: Kind = KIND;

    fn from_checked(settings: &Settings, link: &Link) -> Result<Self, ConfigError> {
        let mtu = link.mtu.clamp(MIN_LONGEST, MAX_LONGEST);
        nesting::check_minors(settings.children())?;
        let mut classes: Vec<QfqClass<C>> = Vec::new();
        let mut sum = 0;
        for child in settings.children() {
            let in_class = |error: ConfigError| error.in_class(child.class);
            let weight = WEIGHT.read(&child.settings).map_err(in_class)?;
            let longest = MAXPKT.read_or(&child.settings, mtu).map_err(in_class)?;
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
        // Packets find their class by binary search, and a change pairs old and new classes in one
        // pass.
        classes.sort_by_key(|class| class.minor);
        let flows = if classes.is_empty() { FLOWS.read(settings)? } else { 0 };
        Ok(Self { flows, longest: mtu, classes })
    }

    fn to_settings(&self) -> Settings {
        let mut settings = Settings::new();
        if self.classes.is_empty() {
            settings.put(&FLOWS, self.flows);
        }
        self.classes.iter().fold(settings, |all, class| {
            let own = Settings::new().and(&WEIGHT, class.weight).and(&MAXPKT, class.longest);
            all.with_child(nesting::child(class.minor, own, &class.qdisc))
        })
    }
}

impl<C: InnerConfig> Show for QfqConfig<C> {
    /// Linux prints its classes and no options.
    const SHOWN: &'static [Shown] = &[];
}

parameters! {
    PARAMETERS of [C: InnerConfig] QfqConfig<C>;
    /// number of classes to create if none is given; flows are hashed into them
    FLOWS: integer "flows", with_flows {
        default: 1024,
        range: 1..=65_536,
        source: "ours; Linux has no classes until they are made",
    };
}

const KIND: Kind = Kind {
    name: "qfq",
    summary: "Quick fair queueing: classes share the link in the ratio of their weights, each with its discipline",
    reference: "Checconi, Rizzo & Valente 2013; tc-qfq(8)",
    variants: &[],
    children: Children::Classes(CLASS_PARAMETERS),
    parameters: PARAMETERS,
};

const MIN_LONGEST: u32 = 512; // QFQ_MIN_LMAX of Linux
pub(super) const MAX_LONGEST: u32 = 65_536; // 2^QFQ_MTU_SHIFT of Linux
const MAX_WEIGHTS: u64 = 65_536; // QFQ_MAX_WSUM of Linux

parameters! {
    CLASS_PARAMETERS;
    /// share of the link
    WEIGHT: integer "weight" {
        default: 1,
        range: 1..=1024,
        condition: "all together 65536",
        source: "Linux sch_qfq",
    };
    /// length of the longest expected packet
    MAXPKT: bytes "maxpkt" { derived: "MTU", range: 512..=65_536, source: "Linux sch_qfq" };
}
