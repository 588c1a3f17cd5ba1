//! The parameters of `dualpi2`.

use crate::config::{ConfigError, Configure, Kind, Link, Settings, Value, Variant};
use crate::gauge::Gauge;
use crate::memory::{Buffers, TRUESIZE};
use crate::shown::{self, Printed, Show, Shown};
use crate::time::Duration;
use crate::typed::{in_variants, parameters};

/// Configuration of [`DualPi2`](super::DualPi2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DualPi2Config {
    pub(super) linux: bool,
    pub(super) limit: u32,
    pub(super) memory_limit: u64,
    pub(super) buffers: Buffers,
    pub(super) target: Duration,
    pub(super) tupdate: Duration,
    pub(super) alpha: u32,
    pub(super) beta: u32,
    pub(super) step: Duration,
    pub(super) coupling: u32,
    pub(super) classic_share: u32,
    pub(super) overflow: bool,
    pub(super) mtu: u32,
}

impl DualPi2Config {
    /// p' at which the marks of L are certain.
    pub(super) const fn saturation(&self) -> u64 {
        ONE / self.coupling as u64
    }

    pub(super) const fn first_credit(&self) -> i64 {
        (2 * self.classic_share as i64 - 100) * self.mtu as i64
    }
}

impl Configure for DualPi2Config {
    const KIND: Kind = KIND;

    fn from_checked(settings: &Settings, link: &Link) -> Result<Self, ConfigError> {
        if settings.flag(OVERFLOW.name) == Some(true) && settings.flag(DROP_ON_OVERLOAD.name) == Some(true) {
            return Err(ConfigError::new(OVERFLOW.name, "", "either `overflow` or `drop_on_overload`"));
        }
        let limit = LIMIT.read(settings)?;
        let mtu = link.mtu.max(1);
        let linux = settings.choice("variant") == Some("linux");
        Ok(Self {
            linux,
            limit,
            memory_limit: MEMLIMIT.read_or(settings, 2 * u64::from(mtu) * u64::from(limit))?,
            buffers: Buffers::from_settings(
                settings,
                if linux { Buffers::Allocated } else { Buffers::Bare },
            )?,
            target: TARGET.read(settings)?,
            tupdate: TUPDATE.read(settings)?,
            alpha: ALPHA.read(settings)?,
            beta: BETA.read(settings)?,
            step: STEP_THRESH.read(settings)?,
            coupling: COUPLING_FACTOR.read(settings)?,
            classic_share: CLASSIC_PROTECTION.read(settings)?,
            overflow: OVERFLOW.read(settings)?,
            mtu,
        })
    }

    fn to_settings(&self) -> Settings {
        let settings = Settings::new()
            .and(&LIMIT, self.limit)
            .and(&MEMLIMIT, self.memory_limit)
            .and(&TARGET, self.target)
            .and(&TUPDATE, self.tupdate)
            .and(&ALPHA, self.alpha)
            .and(&BETA, self.beta)
            .and(&STEP_THRESH, self.step)
            .and(&COUPLING_FACTOR, self.coupling)
            .and(&CLASSIC_PROTECTION, self.classic_share)
            .and(if self.overflow { &OVERFLOW } else { &DROP_ON_OVERLOAD }, true)
            .with("variant", Value::Choice(if self.linux { "linux" } else { "rfc9332" }));
        self.buffers.add_to(settings)
    }

    /// Linux reads every parameter by itself.
    fn is_kept_by_change(_parameter: &str, _given: &Settings) -> bool {
        true
    }
}

impl Show for DualPi2Config {
    const SHOWN: &'static [Shown] = &[
        Shown::Setting(LIMIT.name),
        Shown::Computed("memory-limit", |settings| number(settings, MEMLIMIT.name)),
        Shown::Setting(TARGET.name),
        Shown::Setting(TUPDATE.name),
        Shown::Computed(ALPHA.name, |settings| hertz(settings, ALPHA.name)),
        Shown::Computed(BETA.name, |settings| hertz(settings, BETA.name)),
        Shown::Computed("step-thresh-us", |settings| {
            Some(Value::Time(settings.time(STEP_THRESH.name).unwrap_or_default()).into())
        }),
        Shown::Computed("coupling", |settings| number(settings, COUPLING_FACTOR.name)),
        Shown::Computed("overload", |settings| {
            let goes_on = settings.flag(OVERFLOW.name) == Some(true);
            Some(Value::Choice(if goes_on { OVERFLOW.name } else { "drop" }).into())
        }),
        Shown::Computed("classic-protection", |settings| number(settings, CLASSIC_PROTECTION.name)),
    ];
}

fn number(settings: &Settings, name: &str) -> Option<Printed> {
    Some(Value::Integer(shown::number(settings, name)).into())
}

/// Returns a gain in hertz, as tc takes and prints it. A setting counts in 256ths.
fn hertz(settings: &Settings, name: &str) -> Option<Printed> {
    Some(Gauge::Fraction(shown::number(settings, name) as f64 / 256.0).into())
}

parameters! {
    PARAMETERS of [] DualPi2Config;
    /// packets that both queues together hold
    LIMIT: packets "limit", with_limit {
        default: 10_000,
        range: 1..=16_777_216,
        source: "Linux sch_dualpi2",
    };
    /// bytes of memory that both queues together hold
    MEMLIMIT: bytes "memlimit", with_memlimit {
        derived: "2 x MTU x limit",
        range: 1..=u64::MAX,
        source: "Linux sch_dualpi2",
    };
    TRUESIZE: bytes, with_truesize;
    /// target delay of the classic queue
    TARGET: time "target", with_target {
        default: Duration::from_millis(15),
        range: Duration::ZERO..=Duration::from_micros(4_294_967_295),
        source: "RFC 9332 §A.1",
    };
    /// time between updates of the base probability
    TUPDATE: time "tupdate", with_tupdate {
        default: Duration::from_millis(16),
        range: Duration::from_micros(1)..=Duration::from_micros(4_294_967_295),
        source: "RFC 9332 §A.1",
    };
    /// gain on the distance from the target, in 1/256 per second
    ALPHA: integer "alpha", with_alpha {
        default: 41,
        range: 0..=16_777_216,
        source: "RFC 9332 §A.1 (0.16 per s)",
    };
    /// gain on the change of the delay, in 1/256 per second
    BETA: integer "beta", with_beta {
        default: 819,
        range: 0..=16_777_216,
        source: "RFC 9332 §A.1 (3.2 per s)",
    };
    /// delay above which every packet of the low-latency queue is marked
    STEP_THRESH: time "step_thresh", with_step_thresh {
        default: Duration::from_millis(1),
        range: Duration::ZERO..=Duration::from_micros(4_294_967_295),
        source: "Linux sch_dualpi2; RFC 9332 §A.1",
    };
    /// mark probability of the low-latency queue, as a multiple of the base probability
    COUPLING_FACTOR: integer "coupling_factor", with_coupling_factor {
        default: 2,
        range: 1..=255,
        source: "RFC 9332 §A.1",
    };
    /// share of the link that the classic queue keeps, in per cent
    CLASSIC_PROTECTION: integer "classic_protection", with_classic_protection {
        default: 10,
        range: 0..=100,
        source: "Linux sch_dualpi2",
    };
    /// at overload, go on marking and let the queue overflow
    OVERFLOW: flag "overflow", with_overflow { default: false, source: "Linux sch_dualpi2" };
    /// at overload, drop from both queues
    DROP_ON_OVERLOAD: flag "drop_on_overload", with_drop_on_overload {
        default: true,
        source: "Linux sch_dualpi2; RFC 9332 §4.2",
    };
}

in_variants! { [] DualPi2Config }

const KIND: Kind = Kind {
    name: "dualpi2",
    summary: "Two coupled queues: scalable traffic waits about a millisecond, classic traffic gets its fair share",
    reference: "RFC 9332; tc-dualpi2(8)",
    children: crate::config::Children::None,
    variants: &[
        Variant {
            name: "rfc9332",
            doc: "RFC 9332; the controller uses the delay of the classic queue, and the low-latency queue has a ramp",
        },
        Variant {
            name: "linux",
            doc: "Linux 6.17; the controller uses the larger delay of both queues, and the low-latency queue has a step",
        },
    ],
    parameters: PARAMETERS,
};

/// Probability 1.
pub(super) const ONE: u64 = 1_000_000_000_000_000_000;
