//! The parameters of `codel`, and of every discipline with CoDel inside.

use alloc::format;

use crate::config::{
    ConfigError, Configure, Declaration, Kind, Link, Parameter, Settings, VARIANT, Value, Variant,
};
use crate::shown::{Printed, Show, Shown};
use crate::time::Duration;
use crate::typed::{in_variants, parameters, words};

/// Configuration of [`Codel`](super::Codel).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CodelConfig {
    pub(super) limit: u32,
    pub(super) params: CodelParams,
}

/// Parameters of the control law, shared by all flows of a discipline that runs one CoDel per flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CodelParams {
    /// Acceptable standing sojourn time (RFC 8289 §4.2).
    pub target: Duration,
    /// Time in which the sojourn time must fall below the target at least once (RFC 8289 §4.3).
    pub interval: Duration,
    /// Mark instead of dropping where the transport allows it.
    pub ecn: bool,
    /// Mark every packet that was queued for longer than this.
    pub ce_threshold: Option<Duration>,
    /// Packets that `ce_threshold` marks; `None`: every ECN-capable one.
    pub ce_threshold_selector: Option<CeSelector>,
    /// A queue with at most this number of bytes behind a packet is not a standing queue (RFC 8289
    /// §5.4).
    pub mtu: u32,
    /// Whose decisions.
    pub variant: CodelVariant,
    /// Rule for the first count of a dropping phase; `None`: the variant's.
    pub recall: Option<Recall>,
    /// Initial state of a queue; `None`: below target.
    pub startup: Option<Startup>,
}

words! {
    /// The count with which a dropping phase starts.
    pub enum Recall {
        /// 2012 article: `count - 1` within 16 intervals of the drop that was due last.
        A = "a",
        /// Nichols' later ns-2 code and the first drafts: `count - 2` within 8 intervals.
        B = "b",
        /// Linux and RFC 8289: the drops that the last phase added to the count, within 16
        /// intervals.
        C = "c",
    }
}

words! {
    /// State of a queue that has seen no packet.
    pub enum Startup {
        /// Below target.
        Zero = "zero",
        /// Above target for longer than an interval, as in ns-2: the first packet is dropped if it
        /// leaves late.
        Ns2 = "ns2",
    }
}

words! {
    /// Packets that `ce_threshold` marks.
    pub enum CeSelector {
        /// Those of L4S, whose ECN field has bit 0: ECT(1) and CE.
        L4s = "1/1",
    }
}

/// Whose CoDel it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CodelVariant {
    /// RFC 8289, with exact arithmetic.
    Rfc8289,
    /// Linux 7.3, bit for bit.
    Linux,
    /// Linux 6.1, bit for bit.
    Linux61,
    /// The pseudo-code of the 2012 article, and Nichols' first patch for ns-2.35.
    Cacm2012,
    /// Nichols' later, experimental ns-2 code of 2012.
    Ns2,
    /// Nichols' ns-2 code for CableLabs of January 2013, for bins only ([`crate::sfq_codel`]). It
    /// is like [`Self::Ns2`], but a bin that exceeds the target again waits for a whole interval.
    Ns2CableLabs,
}

impl CodelConfig {
    /// A configuration; `limit` in packets.
    ///
    /// # Errors
    /// The limit or the interval is 0, or the interval is not representable in the variant.
    pub fn new(limit: u32, params: CodelParams) -> Result<Self, ConfigError> {
        LIMIT.check(&Value::Packets(u64::from(limit)))?;
        params.check()?;
        Ok(Self { limit, params })
    }

    /// The parameters of the control law.
    #[must_use]
    pub const fn params(&self) -> &CodelParams {
        &self.params
    }

    /// Packets that the queue holds.
    #[must_use]
    pub const fn limit(&self) -> u32 {
        self.limit
    }
}

impl CodelParams {
    /// The defaults of RFC 8289, for packets of at most `mtu` bytes.
    #[must_use]
    pub const fn new(mtu: u32) -> Self {
        Self {
            target: TARGET.default_time(),
            interval: INTERVAL.default_time(),
            ecn: false,
            ce_threshold: None,
            ce_threshold_selector: None,
            mtu,
            variant: CodelVariant::Rfc8289,
            recall: None,
            startup: None,
        }
    }

    /// The rule of recall in force.
    #[must_use]
    pub fn recall(&self) -> Recall {
        self.recall.unwrap_or(match self.variant {
            CodelVariant::Cacm2012 => Recall::A,
            CodelVariant::Ns2 | CodelVariant::Ns2CableLabs => Recall::B,
            CodelVariant::Rfc8289 | CodelVariant::Linux | CodelVariant::Linux61 => Recall::C,
        })
    }

    /// Checks ranges.
    ///
    /// # Errors
    /// The interval is 0, or beyond what the variant's clock can hold.
    pub fn check(&self) -> Result<(), ConfigError> {
        INTERVAL.check(&Value::Time(self.interval))?;
        if self.variant.is_linux() {
            self.check_linux_clock()?;
        }
        Ok(())
    }

    /// Refuses times that the kernel's clock of 32 bits, in units of 1024 ns, cannot hold. The
    /// kernel would cut them silently.
    fn check_linux_clock(&self) -> Result<(), ConfigError> {
        // Half of the clock's range, because the sign of a difference tells which time is later.
        let longest = Duration::from_nanos(u64::from(u32::MAX >> 1) << 10);
        if self.variant == CodelVariant::Linux61 && self.interval.as_nanos() < 1024 {
            // The distance of drops would be 0: Linux 6.1 would drop for ever.
            return Err(out_of_range(INTERVAL.name, self.interval, "1024ns to 2199s with variant linux61"));
        }
        if self.interval > longest {
            return Err(out_of_range(INTERVAL.name, self.interval, "at most 2199s with variant linux"));
        }
        if self.target > longest {
            return Err(out_of_range(TARGET.name, self.target, "at most 2199s with variant linux"));
        }
        Ok(())
    }

    /// Reads those settings that every discipline with CoDel inside shares.
    ///
    /// # Errors
    /// A value is out of range.
    pub fn from_settings(
        settings: &Settings,
        link: &Link,
        ecn: bool,
        variant: CodelVariant,
    ) -> Result<Self, ConfigError> {
        let params = Self {
            target: TARGET.read(settings)?,
            interval: INTERVAL.read(settings)?,
            ecn,
            ce_threshold: CE_THRESHOLD.given(settings)?,
            ce_threshold_selector: CE_THRESHOLD_SELECTOR.given(settings)?,
            mtu: link.mtu,
            variant,
            recall: RECALL.given(settings)?,
            startup: STARTUP.given(settings)?,
        };
        params.check()?;
        Ok(params)
    }

    /// Adds the shared settings to `settings`.
    #[must_use]
    pub fn add_to_settings(&self, settings: Settings) -> Settings {
        let mut all = settings.and(&TARGET, self.target).and(&INTERVAL, self.interval).and(&ECN, self.ecn);
        if let Some(threshold) = self.ce_threshold {
            all.put(&CE_THRESHOLD, threshold);
        }
        if let Some(selector) = self.ce_threshold_selector {
            all.put(&CE_THRESHOLD_SELECTOR, selector.name());
        }
        if let Some(recall) = self.recall {
            all.put(&RECALL, recall.name());
        }
        if let Some(startup) = self.startup {
            all.put(&STARTUP, startup.name());
        }
        all
    }
}

impl CodelVariant {
    /// The variant of a single queue called `name`.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        [Self::Rfc8289, Self::Linux, Self::Linux61, Self::Cacm2012, Self::Ns2]
            .into_iter()
            .find(|variant| variant.name() == name)
    }

    /// True for the kernel's law, in any version.
    #[must_use]
    pub(crate) const fn is_linux(self) -> bool {
        matches!(self, Self::Linux | Self::Linux61)
    }

    /// True for the laws that take the largest packet that they have seen as the size of a packet.
    pub(super) const fn learns_packet_size(self) -> bool {
        matches!(self, Self::Cacm2012 | Self::Ns2 | Self::Ns2CableLabs)
    }

    /// Its name after the keyword `variant`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rfc8289 => "rfc8289",
            Self::Linux => "linux",
            Self::Linux61 => "linux61",
            Self::Cacm2012 => "cacm2012",
            Self::Ns2 => "ns2",
            Self::Ns2CableLabs => "cablelabs",
        }
    }
}

impl Configure for CodelConfig {
    const KIND: Kind = Kind {
        name: "codel",
        summary: "Controlled delay: drops at the head when packets have waited too long for a whole interval",
        reference: "RFC 8289",
        variants: &[
            Variant { name: "linux", doc: "Linux 7.3 sch_codel, bit for bit" },
            Variant { name: "rfc8289", doc: "RFC 8289 with exact arithmetic" },
            Variant { name: "linux61", doc: "Linux 6.1 sch_codel, bit for bit" },
            Variant {
                name: "cacm2012",
                doc: "the pseudo-code of Nichols & Jacobson 2012, and their first ns-2 code",
            },
            Variant { name: "ns2", doc: "Nichols' later ns-2 code of 2012" },
        ],
        children: crate::config::Children::None,
        parameters: PARAMETERS,
    };
    const LIMIT_DROPS_NEXT: bool = true;

    fn from_checked(settings: &Settings, link: &Link) -> Result<Self, ConfigError> {
        let variant =
            // Other names were refused before, so `None` means that no variant is given.
            settings.choice("variant").and_then(CodelVariant::by_name).unwrap_or(CodelVariant::Linux);
        Self::new(
            LIMIT.read(settings)?,
            CodelParams::from_settings(settings, link, ECN.read(settings)?, variant)?,
        )
    }

    fn to_settings(&self) -> Settings {
        let limit = Settings::new().and(&LIMIT, self.limit);
        self.params.add_to_settings(limit).with("variant", Value::Choice(self.params.variant.name()))
    }

    /// Linux reads every parameter by itself.
    fn is_kept_by_change(_parameter: &str, _given: &Settings) -> bool {
        true
    }

    fn link(&self) -> Link {
        Link { mtu: self.params.mtu, ..Link::default() }
    }
}

impl Show for CodelConfig {
    const SHOWN: &'static [Shown] = &[
        // iproute2's `q_codel.c` prints `ce_threshold` before `interval`.
        Shown::Setting(LIMIT.name),
        TARGET_SHOWN,
        CE_THRESHOLD_SHOWN,
        INTERVAL_SHOWN,
        Shown::FlagIfOn(ECN.name),
    ];
}

parameters! {
    PARAMETERS of [] CodelConfig;
    /// packets that the queue holds
    pub(crate) LIMIT: packets "limit", with_limit {
        default: 1000,
        range: 1..=4_294_967_295,
        source: "Linux sch_codel",
    };
    /// acceptable sojourn time of a standing queue
    pub TARGET: time "target", with_target {
        default: Duration::from_millis(5),
        range: Duration::ZERO..=Duration::MAX,
        condition: "linux, linux61: at most 2199s; sensible: 5 to 10 % of interval, and at least the serialization time of one packet",
        source: "RFC 8289 §4.2",
    };
    /// time within which the sojourn time must fall below target at least once
    pub INTERVAL: time "interval", with_interval {
        default: Duration::from_millis(100),
        range: Duration::from_nanos(1)..=Duration::MAX,
        condition: "linux: at most 2199s; linux61: 1024ns to 2199s; sensible: the longest expected round-trip time",
        source: "RFC 8289 §4.3",
    };
    /// mark ECN-capable packets instead of dropping them
    pub(crate) ECN: flag "ecn", with_ecn { default: false, off: "noecn", source: "Linux sch_codel" };
    /// sojourn time above which every ECN-capable packet is marked
    pub CE_THRESHOLD: time "ce_threshold", with_ce_threshold {
        derived: "off",
        range: Duration::ZERO..=Duration::MAX,
        source: "Linux sch_codel",
    };
    /// drop count with which the next dropping phase starts
    pub RECALL: choice "recall", with_recall {
        derived: "rfc8289, linux, linux61: c; cacm2012: a; ns2: b",
        words: &["a", "b", "c"],
        range_in_words: RECALL_RULES,
        source: "RFC 8289 §5.5; Linux; Nichols & Jacobson 2012; ns-2",
    };
    /// state of a queue that has seen no packet
    pub STARTUP: choice "startup", with_startup {
        default: "zero",
        words: &["zero", "ns2"],
        range_in_words: "zero: below target; ns2: above target for longer than an interval",
        source: "RFC 8289 §5.3; ns-2 codel.cc",
    };
}

in_variants! { [] CodelConfig }

/// The parameter [`CodelParams::ce_threshold_selector`], which Linux has for `fq_codel` only.
pub(crate) const CE_THRESHOLD_SELECTOR: Parameter = Declaration::choice("ce_threshold_selector")
    .derived("every ECN-capable packet")
    .words(&[CeSelector::L4s.name()])
    .range_in_words("1/1: those of L4S, with ECT(1) or CE")
    .source("Linux sch_fq_codel")
    .meaning("packets that ce_threshold marks");

/// The words of `recall`.
pub(crate) const RECALL_RULES: &str = "a: last count - 1, if the last phase ended less than 16 intervals ago; b: last count - 2, within 8 intervals; c: the drops that the last phase added, within 16 intervals";

/// `target` as tc prints it.
pub(crate) const TARGET_SHOWN: Shown = Shown::Computed(TARGET.name, |all| in_clock(all, TARGET.name));
/// `interval` as tc prints it.
pub(crate) const INTERVAL_SHOWN: Shown = Shown::Computed(INTERVAL.name, |all| in_clock(all, INTERVAL.name));
/// `ce_threshold` as tc prints it.
pub(crate) const CE_THRESHOLD_SHOWN: Shown =
    Shown::Computed(CE_THRESHOLD.name, |all| in_clock(all, CE_THRESHOLD.name));

/// Returns a time as tc prints it. The variants of the kernel keep times in units of 1024 ns, so
/// that 5 ms are printed as 4999 us.
fn in_clock(settings: &Settings, name: &str) -> Option<Printed> {
    let span = settings.time(name)?;
    let is_linux = settings.choice(VARIANT).is_some_and(|variant| variant.starts_with("linux"));
    let kept = if is_linux { Duration::from_nanos(span.as_nanos() >> 10 << 10) } else { span };
    Some(Value::Time(kept).into())
}

/// The parameter error that both laws raise.
fn out_of_range(parameter: &'static str, span: Duration, allowed: &'static str) -> ConfigError {
    ConfigError::new(parameter, format!("{span}"), allowed)
}
