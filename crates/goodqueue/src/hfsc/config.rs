//! The parameters of `hfsc`.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::curve::Curve;
use crate::config::{Child, Children, ConfigError, Configure, Kind, Link, Parameter, Settings};
use crate::nesting::{self, InnerConfig};
use crate::shown::{Show, Shown};
use crate::time::{Duration, Rate};
use crate::typed::{self, parameters};

/// Configuration of [`Hfsc`](super::Hfsc).
#[derive(Clone, PartialEq, Debug)]
pub struct HfscConfig<C> {
    pub(super) default: u32,
    /// In the order of their numbers.
    pub(super) classes: Vec<HfscClass<C>>,
}

/// One class of an [`HfscConfig`].
#[derive(Clone, PartialEq, Debug)]
pub struct HfscClass<C> {
    pub(super) minor: u32,
    pub(super) parent: u32,
    pub(super) curves: Curves,
    /// `None`: it has classes below it.
    pub(super) leaf: Option<C>,
}

/// The service curves of a class.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Curves {
    /// Real-time curve: what the class is guaranteed.
    pub rt: Option<Curve>,
    /// Link-sharing curve: its share of what the guarantees leave.
    pub ls: Option<Curve>,
    /// Upper-limit curve: what it gets at most by its share.
    pub ul: Option<Curve>,
}

impl Curves {
    /// The curves of a class that has classes below it. As in Linux, a real-time curve alone is
    /// then the link-sharing curve, too.
    pub(super) fn of_inner(self) -> Self {
        Self { ls: self.ls.or(self.rt), ..self }
    }

    /// Returns true if `new` has every curve of these.
    const fn all_stay_in(&self, new: &Self) -> bool {
        (new.rt.is_some() || self.rt.is_none())
            && (new.ls.is_some() || self.ls.is_none())
            && (new.ul.is_some() || self.ul.is_none())
    }
}

impl Curve {
    /// Returns the curve of one slope.
    ///
    /// # Errors
    /// The rate is less than 8 bit/s or above 34 Gbit/s.
    pub fn from_rate(rate: Rate) -> Result<Self, ConfigError> {
        Self::new([Rate::from_bps(0), rate], Duration::ZERO)
    }

    /// Returns the curve of `first` for the time `length`, and of `second` after it.
    ///
    /// # Errors
    /// A rate is above 34 Gbit/s, both are below 8 bit/s, or the time is above 4294 s.
    pub fn new([first, second]: [Rate; 2], length: Duration) -> Result<Self, ConfigError> {
        let settings = Settings::new().and(&RT_M1, first).and(&RT_D, length).and(&RT_M2, second);
        for parameter in [&RT_M1, &RT_D, &RT_M2] {
            if let Some(value) = settings.get(parameter.name) {
                parameter.check(&value)?;
            }
        }
        let curve = Words::RT.read(&settings)?;
        curve.ok_or_else(|| ConfigError::new(RT_M2.name, "", "a rate"))
    }
}

impl<C: InnerConfig> HfscConfig<C> {
    /// The classes, in the order of their numbers.
    #[must_use]
    pub fn classes(&self) -> &[HfscClass<C>] {
        &self.classes
    }

    pub(super) fn class(&self, minor: u32) -> Option<&HfscClass<C>> {
        let position = self.classes.binary_search_by_key(&minor, |class| class.minor).ok()?;
        self.classes.get(position)
    }

    /// The curves by which a class is served.
    pub(super) fn curves(&self, minor: u32) -> Curves {
        let curves = |class: &HfscClass<C>| {
            if class.leaf.is_some() { class.curves } else { class.curves.of_inner() }
        };
        self.class(minor).map(curves).unwrap_or_default()
    }

    /// Returns the classes above a class, the closest first.
    fn above(&self, minor: u32) -> impl Iterator<Item = &HfscClass<C>> {
        let parent = self.class(minor).and_then(|class| self.class(class.parent));
        core::iter::successors(parent, |class| self.class(class.parent))
    }

    /// The levels below a class; 0: it is a leaf. The root has number 0.
    pub(super) fn level(&self, minor: u32) -> u64 {
        // From each class, the way up to `minor`.
        let depth = |class: &HfscClass<C>| {
            if minor == 0 {
                return 1 + self.above(class.minor).count() as u64;
            }
            let place = self.above(class.minor).position(|above| above.minor == minor);
            place.map_or(0, |steps| 1 + steps as u64)
        };
        self.classes.iter().map(depth).max().unwrap_or(0)
    }

    /// Returns true if a class of this number goes on in `new`: it is in the same place, and has
    /// every curve that it had.
    pub(super) fn goes_on_in(&self, minor: u32, new: &Self) -> bool {
        let goes_on = |old: &HfscClass<C>| {
            new.class(old.minor).is_some_and(|class| {
                class.parent == old.parent
                    && class.leaf.is_some() == old.leaf.is_some()
                    && self.curves(old.minor).all_stay_in(&new.curves(old.minor))
            })
        };
        self.class(minor).is_some_and(goes_on) && self.above(minor).all(goes_on)
    }

    /// Adds leaf class `minor` below class `parent` (0: none) with these curves, or replaces it.
    /// The parent has no discipline of its own from then on.
    ///
    /// # Errors
    /// The number is not from 1 to 65535, the parent does not exist, or the curves are not those of
    /// a class: it has a real-time or a link-sharing curve, and no upper limit without the latter.
    pub fn with_leaf(
        &self,
        minor: u32,
        parent: u32,
        curves: &Curves,
        inner: &C,
    ) -> Result<Self, ConfigError> {
        let child = Child { parent, ..nesting::child(minor, curves.to_settings(), inner) };
        typed::with_child(self, child)
    }

    /// Adds class `minor`, which is to have classes below it, or replaces it. See
    /// [`Self::with_leaf`].
    ///
    /// # Errors
    /// As those of [`Self::with_leaf`].
    pub fn with_inner_class(&self, minor: u32, parent: u32, curves: &Curves) -> Result<Self, ConfigError> {
        let child = Child { class: minor, parent, settings: curves.to_settings(), qdisc: None };
        typed::with_child(self, child)
    }
}

impl<C: InnerConfig> HfscClass<C> {
    /// The minor number.
    #[must_use]
    pub const fn minor(&self) -> u32 {
        self.minor
    }

    /// The curves as they were given.
    #[must_use]
    pub const fn curves(&self) -> &Curves {
        &self.curves
    }

    fn from_child(child: &Child, is_leaf: bool, link: &Link) -> Result<Self, ConfigError> {
        let curves = Curves::from_settings(&child.settings)?;
        let leaf = match nesting::qdisc_of(child, link)? {
            Some(_) if !is_leaf => {
                return Err(ConfigError::new("qdisc", "", "none, since there are classes below it"));
            }
            given if is_leaf => Some(given.unwrap_or_else(C::usual)),
            _ => None,
        };
        Ok(Self { minor: child.class, parent: child.parent, curves, leaf })
    }
}

impl Curves {
    fn from_settings(settings: &Settings) -> Result<Self, ConfigError> {
        let both = Words::SC.read(settings)?;
        let curves = Self {
            rt: Words::RT.read(settings)?.or(both),
            ls: Words::LS.read(settings)?.or(both),
            ul: Words::UL.read(settings)?,
        };
        if curves.rt.is_none() && curves.ls.is_none() {
            return Err(ConfigError::new(RT_M2.name, "", "a rate; every class has `rt`, `ls` or `sc`"));
        }
        if curves.ul.is_some() && curves.ls.is_none() {
            return Err(ConfigError::new(LS_M2.name, "", "a rate; `ul` limits the share of `ls` or `sc`"));
        }
        Ok(curves)
    }

    fn to_settings(self) -> Settings {
        let curves = [(Words::RT, self.rt), (Words::LS, self.ls), (Words::UL, self.ul)];
        curves.into_iter().fold(Settings::new(), |all, part| match part {
            (words, Some(curve)) => all
                .and(words.m1, Rate::from_bps(8 * u64::from(curve.m1)))
                .and(words.d, Duration::from_micros(u64::from(curve.d)))
                .and(words.m2, Rate::from_bps(8 * u64::from(curve.m2))),
            (_, None) => all,
        })
    }
}

/// The parameters of one curve.
#[derive(Clone, Copy)]
struct Words {
    m1: &'static Parameter,
    d: &'static Parameter,
    m2: &'static Parameter,
    umax: &'static Parameter,
    dmax: &'static Parameter,
    rate: &'static Parameter,
}

impl Words {
    const RT: Self =
        Self { m1: &RT_M1, d: &RT_D, m2: &RT_M2, umax: &RT_UMAX, dmax: &RT_DMAX, rate: &RT_RATE };
    const LS: Self =
        Self { m1: &LS_M1, d: &LS_D, m2: &LS_M2, umax: &LS_UMAX, dmax: &LS_DMAX, rate: &LS_RATE };
    const SC: Self =
        Self { m1: &SC_M1, d: &SC_D, m2: &SC_M2, umax: &SC_UMAX, dmax: &SC_DMAX, rate: &SC_RATE };
    const UL: Self =
        Self { m1: &UL_M1, d: &UL_D, m2: &UL_M2, umax: &UL_UMAX, dmax: &UL_DMAX, rate: &UL_RATE };

    /// The curve of `settings`, if one is given.
    fn read(&self, settings: &Settings) -> Result<Option<Curve>, ConfigError> {
        let is_given = |parameters: [&Parameter; 3]| {
            parameters.into_iter().any(|parameter| settings.get(parameter.name).is_some())
        };
        let by_slopes = is_given([self.m1, self.d, self.m2]);
        let curve = match (by_slopes, is_given([self.umax, self.dmax, self.rate])) {
            (false, false) => return Ok(None),
            (true, false) => {
                let m2 = bytes_per_second(self.m2.given(settings)?.ok_or_else(|| missing(self.m2))?);
                let m1 = self.m1.given(settings)?.map_or(0, bytes_per_second);
                Curve { m1, d: self.d.given(settings)?.map_or(0, micros), m2 }
            }
            (false, true) => self.of_units(settings)?,
            (true, true) => {
                let allowed = "either `m1`, `d` and `m2`, or `umax`, `dmax` and `rate`";
                return Err(ConfigError::new(self.m2.name, "", allowed));
            }
        };
        if curve.m1 == 0 && curve.m2 == 0 {
            let last = if by_slopes { self.m2 } else { self.rate };
            return Err(ConfigError::new(last.name, "0bit", "8bit or more in one of the two segments"));
        }
        Ok(Some(curve))
    }

    /// The curve that sends `umax` bytes within `dmax`, and has the slope `rate`.
    fn of_units(&self, settings: &Settings) -> Result<Curve, ConfigError> {
        let m2 = bytes_per_second(self.rate.given(settings)?.ok_or_else(|| missing(self.rate))?);
        let umax: u64 = self.umax.given(settings)?.unwrap_or(0);
        let dmax = self.dmax.given(settings)?.map_or(0, micros);
        if umax > 0 && dmax == 0 {
            return Err(ConfigError::new(self.dmax.name, "", "1us or more behind `umax`"));
        }
        let parts = umax * 1_000_000;
        let slope = if dmax > 0 { parts.div_ceil(u64::from(dmax)) } else { 0 };
        if slope > u64::from(m2) {
            let m1 = u32::try_from(slope).map_err(|_| {
                ConfigError::new(self.umax.name, alloc::format!("{umax}"), "at most 34 Gbit/s within `dmax`")
            })?;
            return Ok(Curve { m1, d: dmax, m2 });
        }
        // `rate` alone sends `umax` in less than `dmax`, so the class may send nothing at first.
        let own = parts.checked_div(u64::from(m2)).unwrap_or(0);
        let d = u64::from(dmax).saturating_sub(own);
        Ok(Curve { m1: 0, d: u32::try_from(d).unwrap_or(u32::MAX), m2 })
    }
}

fn missing(parameter: &Parameter) -> ConfigError {
    ConfigError::new(parameter.name, "", "a rate; every curve ends with one")
}

/// tc counts whole bytes per second.
fn bytes_per_second(rate: Rate) -> u32 {
    u32::try_from(rate.as_bps() / 8).unwrap_or(u32::MAX)
}

/// tc counts whole microseconds.
fn micros(span: Duration) -> u32 {
    u32::try_from(span.as_nanos() / 1_000).unwrap_or(u32::MAX)
}

impl<C: InnerConfig> Configure for HfscConfig<C> {
    const KIND: Kind = KIND;

    fn from_checked(settings: &Settings, link: &Link) -> Result<Self, ConfigError> {
        let children = settings.children();
        nesting::check_minors(children)?;
        let parents: BTreeSet<u32> = children.iter().map(|child| child.parent).collect();
        let mut classes = Vec::new();
        for child in children {
            let class = HfscClass::from_child(child, !parents.contains(&child.class), link);
            classes.push(class.map_err(|error| error.in_class(child.class))?);
        }
        classes.sort_by_key(|class| class.minor);
        let config = Self { default: DEFAULT.read(settings)?, classes };
        for class in &config.classes {
            // A class above itself is found by the number of steps.
            let steps = config.above(class.minor).take(config.classes.len()).count();
            let top = config.above(class.minor).take(steps).last().unwrap_or(class);
            if top.parent != 0 {
                let given = alloc::format!("{:x}", top.parent);
                return Err(ConfigError::new("parent", given, "a class that is not below this one")
                    .in_class(class.minor));
            }
        }
        Ok(config)
    }

    fn to_settings(&self) -> Settings {
        self.classes.iter().fold(Settings::new().and(&DEFAULT, self.default), |all, class| {
            let qdisc = class.leaf.as_ref().map(|leaf| (leaf.kind().name, leaf.to_settings()));
            let settings = class.curves.to_settings();
            all.with_child(Child { class: class.minor, parent: class.parent, settings, qdisc })
        })
    }
}

impl<C: InnerConfig> Show for HfscConfig<C> {
    const SHOWN: &'static [Shown] = &[Shown::Setting(DEFAULT.name)];
}

parameters! {
    PARAMETERS of [C: InnerConfig] HfscConfig<C>;
    /// class of packets that have none; 0: they are dropped if there are classes
    DEFAULT: class "default", with_default { default: 0, source: "tc" };
}

const KIND: Kind = Kind {
    name: "hfsc",
    summary: "Hierarchical fair service curves: classes with guaranteed rates and delays share the rest",
    reference: "Stoica, Zhang and Ng 1997; tc-hfsc(7)",
    variants: &[],
    children: Children::Classes(CLASS_PARAMETERS),
    parameters: PARAMETERS,
};

/// tc counts bytes per second in 32 bits.
const FASTEST: Rate = Rate::from_bps(8 * 4_294_967_295 + 7);
const SLOWEST: Rate = Rate::from_bps(0);
/// tc counts microseconds in 32 bits.
const LONGEST: Duration = Duration::from_micros(4_294_967_295);

parameters! {
    CLASS_PARAMETERS;
    /// guaranteed rate of the first `d`
    RT_M1: rate "rt m1" { derived: "0bit", range: SLOWEST..=FASTEST, source: "tc" };
    /// time for which `m1` holds when the class becomes active
    RT_D: time "rt d" { derived: "0us", range: Duration::ZERO..=LONGEST, source: "tc" };
    /// guaranteed rate after `d`
    RT_M2: rate "rt m2" { derived: "none", range: SLOWEST..=FASTEST, source: "tc" };
    /// bytes that are sent within `dmax`
    RT_UMAX: bytes "rt umax" { derived: "0", range: 0..=4_294_967_295, source: "tc" };
    /// time within which `umax` bytes are sent
    RT_DMAX: time "rt dmax" { derived: "0us", range: Duration::ZERO..=LONGEST, source: "tc" };
    /// guaranteed rate, in place of `m2`
    RT_RATE: rate "rt rate" { derived: "none", range: SLOWEST..=FASTEST, source: "tc" };
    /// share in the first `d`
    LS_M1: rate "ls m1" { derived: "0bit", range: SLOWEST..=FASTEST, source: "tc" };
    /// time for which `m1` holds when the class becomes active
    LS_D: time "ls d" { derived: "0us", range: Duration::ZERO..=LONGEST, source: "tc" };
    /// share after `d`
    LS_M2: rate "ls m2" { derived: "none", range: SLOWEST..=FASTEST, source: "tc" };
    /// bytes that have the share of `umax` within `dmax`
    LS_UMAX: bytes "ls umax" { derived: "0", range: 0..=4_294_967_295, source: "tc" };
    /// time of `umax`
    LS_DMAX: time "ls dmax" { derived: "0us", range: Duration::ZERO..=LONGEST, source: "tc" };
    /// share, in place of `m2`
    LS_RATE: rate "ls rate" { derived: "none", range: SLOWEST..=FASTEST, source: "tc" };
    /// `rt m1` and `ls m1` together
    SC_M1: rate "sc m1" { derived: "0bit", range: SLOWEST..=FASTEST, source: "tc" };
    /// `rt d` and `ls d` together
    SC_D: time "sc d" { derived: "0us", range: Duration::ZERO..=LONGEST, source: "tc" };
    /// `rt m2` and `ls m2` together
    SC_M2: rate "sc m2" { derived: "none", range: SLOWEST..=FASTEST, source: "tc" };
    /// `rt umax` and `ls umax` together
    SC_UMAX: bytes "sc umax" { derived: "0", range: 0..=4_294_967_295, source: "tc" };
    /// `rt dmax` and `ls dmax` together
    SC_DMAX: time "sc dmax" { derived: "0us", range: Duration::ZERO..=LONGEST, source: "tc" };
    /// `rt rate` and `ls rate` together
    SC_RATE: rate "sc rate" { derived: "none", range: SLOWEST..=FASTEST, source: "tc" };
    /// upper limit of the share in the first `d`
    UL_M1: rate "ul m1" { derived: "0bit", range: SLOWEST..=FASTEST, source: "tc" };
    /// time for which `m1` holds when the class becomes active
    UL_D: time "ul d" { derived: "0us", range: Duration::ZERO..=LONGEST, source: "tc" };
    /// upper limit of the share after `d`
    UL_M2: rate "ul m2" { derived: "none", range: SLOWEST..=FASTEST, source: "tc" };
    /// bytes that the class may send within `dmax`
    UL_UMAX: bytes "ul umax" { derived: "0", range: 0..=4_294_967_295, source: "tc" };
    /// time of `umax`
    UL_DMAX: time "ul dmax" { derived: "0us", range: Duration::ZERO..=LONGEST, source: "tc" };
    /// upper limit, in place of `m2`
    UL_RATE: rate "ul rate" { derived: "none", range: SLOWEST..=FASTEST, source: "tc" };
}
