//! The parameters of `dualpi2`.

use crate::config::{ConfigError, Configure, Kind, Link, Parameter, Settings, Unit, Value, Variant};
use crate::gauge::Gauge;
use crate::memory::{Buffers, TRUESIZE};
use crate::shown::{self, Printed, Show, Shown};
use crate::time::Duration;
use crate::typed::setters;

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
        let time = |name, low, default| -> Result<Duration, ConfigError> {
            Ok(settings.number(name, low, MAX_TIME)?.map_or(default, Duration::from_nanos))
        };
        if settings.flag(OVERFLOW.name) == Some(true) && settings.flag(DROP_ON_OVERLOAD.name) == Some(true) {
            return Err(ConfigError::new(OVERFLOW.name, "", "either `overflow` or `drop_on_overload`"));
        }
        let limit = settings.small_or(LIMIT.name, 1, MAX_LIMIT, 10_000)?;
        let mtu = link.mtu.max(1);
        let linux = settings.choice("variant") == Some("linux");
        Ok(Self {
            linux,
            limit,
            memory_limit: settings
                .number(MEMLIMIT.name, 1, u64::MAX)?
                .unwrap_or(2 * u64::from(mtu) * u64::from(limit)),
            buffers: Buffers::from_settings(
                settings,
                if linux { Buffers::Allocated } else { Buffers::Bare },
            )?,
            target: time(TARGET.name, 0, Duration::from_millis(15))?,
            tupdate: time(TUPDATE.name, 1_000, Duration::from_millis(16))?,
            alpha: settings.small_or(ALPHA.name, 0, MAX_GAIN, 41)?,
            beta: settings.small_or(BETA.name, 0, MAX_GAIN, 819)?,
            step: time(STEP_THRESH.name, 0, Duration::from_millis(1))?,
            coupling: settings.small_or(COUPLING_FACTOR.name, 1, 255, 2)?,
            classic_share: settings.small_or(CLASSIC_PROTECTION.name, 0, 100, 10)?,
            overflow: settings.flag(OVERFLOW.name).unwrap_or(false),
            mtu,
        })
    }

    fn to_settings(&self) -> Settings {
        let settings = Settings::new()
            .with(LIMIT.name, Value::Packets(u64::from(self.limit)))
            .with(MEMLIMIT.name, Value::Bytes(self.memory_limit))
            .with(TARGET.name, Value::Time(self.target))
            .with(TUPDATE.name, Value::Time(self.tupdate))
            .with(ALPHA.name, Value::Integer(u64::from(self.alpha)))
            .with(BETA.name, Value::Integer(u64::from(self.beta)))
            .with(STEP_THRESH.name, Value::Time(self.step))
            .with(COUPLING_FACTOR.name, Value::Integer(u64::from(self.coupling)))
            .with(CLASSIC_PROTECTION.name, Value::Integer(u64::from(self.classic_share)))
            .with(if self.overflow { OVERFLOW.name } else { DROP_ON_OVERLOAD.name }, Value::Flag(true))
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

setters! {
    [] DualPi2Config,
    /// Sets `limit`: packets that both queues together hold. Default: 10000p. Range: 1 to 16777216.
    with_limit(packets);
    /// Sets `memlimit`: bytes of memory that both queues together hold. Default: 2 x MTU x limit.
    /// Range: 1 or more.
    with_memlimit(bytes);
    /// Sets `truesize`: memory that each packet is charged, at least its length; 2304 for many
    /// network drivers, 1 to charge lengths. Default: linux: as Linux allocates; others: the
    /// packet's length. Range: 1 to 1073741824.
    with_truesize(bytes);
    /// Sets `target`: target delay of the classic queue. Default: 15ms. Range: 0 to 4294s.
    with_target(time);
    /// Sets `tupdate`: time between updates of the base probability. Default: 16ms. Range: 1us to
    /// 4294s.
    with_tupdate(time);
    /// Sets `alpha`: gain on the distance from the target, in 1/256 per second. Default: 41. Range:
    /// 0 to 16777216.
    with_alpha(integer);
    /// Sets `beta`: gain on the change of the delay, in 1/256 per second. Default: 819. Range: 0 to
    /// 16777216.
    with_beta(integer);
    /// Sets `step_thresh`: delay above which every packet of the low-latency queue is marked.
    /// Default: 1ms. Range: 0 to 4294s.
    with_step_thresh(time);
    /// Sets `coupling_factor`: mark probability of the low-latency queue, as a multiple of the base
    /// probability. Default: 2. Range: 1 to 255.
    with_coupling_factor(integer);
    /// Sets `classic_protection`: share of the link that the classic queue keeps, in per cent.
    /// Default: 10. Range: 0 to 100.
    with_classic_protection(integer);
    /// Sets `overflow`: at overload, go on marking and let the queue overflow. Default: off.
    with_overflow(flag);
    /// Sets `drop_on_overload`: at overload, drop from both queues. Default: on.
    with_drop_on_overload(flag);
}

setters! { @variant [] DualPi2Config }

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
    parameters: &[
        LIMIT,
        MEMLIMIT,
        TRUESIZE,
        TARGET,
        TUPDATE,
        ALPHA,
        BETA,
        STEP_THRESH,
        COUPLING_FACTOR,
        CLASSIC_PROTECTION,
        OVERFLOW,
        DROP_ON_OVERLOAD,
    ],
};

/// Probability 1.
pub(super) const ONE: u64 = 1_000_000_000_000_000_000;

/// 2^32 - 1 microseconds.
const MAX_TIME: u64 = u32::MAX as u64 * 1_000;
const MAX_GAIN: u64 = 1 << 24;
const MAX_LIMIT: u64 = 1 << 24;

const LIMIT: Parameter = Parameter {
    name: "limit",
    unit: Unit::Packets,
    default: "10000p",
    source: "Linux sch_dualpi2",
    range: "1 to 16777216",
    doc: "packets that both queues together hold",
};

const MEMLIMIT: Parameter = Parameter {
    name: "memlimit",
    unit: Unit::Bytes,
    default: "2 x MTU x limit",
    source: "Linux sch_dualpi2",
    range: "1 or more",
    doc: "bytes of memory that both queues together hold",
};

const TARGET: Parameter = Parameter {
    name: "target",
    unit: Unit::Time,
    default: "15ms",
    source: "RFC 9332 §A.1",
    range: "0 to 4294s",
    doc: "target delay of the classic queue",
};

const TUPDATE: Parameter = Parameter {
    name: "tupdate",
    unit: Unit::Time,
    default: "16ms",
    source: "RFC 9332 §A.1",
    range: "1us to 4294s",
    doc: "time between updates of the base probability",
};

const ALPHA: Parameter = Parameter {
    name: "alpha",
    unit: Unit::Integer,
    default: "41",
    source: "RFC 9332 §A.1 (0.16 per s)",
    range: "0 to 16777216",
    doc: "gain on the distance from the target, in 1/256 per second",
};

const BETA: Parameter = Parameter {
    name: "beta",
    unit: Unit::Integer,
    default: "819",
    source: "RFC 9332 §A.1 (3.2 per s)",
    range: "0 to 16777216",
    doc: "gain on the change of the delay, in 1/256 per second",
};

const STEP_THRESH: Parameter = Parameter {
    name: "step_thresh",
    unit: Unit::Time,
    default: "1ms",
    source: "Linux sch_dualpi2; RFC 9332 §A.1",
    range: "0 to 4294s",
    doc: "delay above which every packet of the low-latency queue is marked",
};

const COUPLING_FACTOR: Parameter = Parameter {
    name: "coupling_factor",
    unit: Unit::Integer,
    default: "2",
    source: "RFC 9332 §A.1",
    range: "1 to 255",
    doc: "mark probability of the low-latency queue, as a multiple of the base probability",
};

const CLASSIC_PROTECTION: Parameter = Parameter {
    name: "classic_protection",
    unit: Unit::Integer,
    default: "10",
    source: "Linux sch_dualpi2",
    range: "0 to 100",
    doc: "share of the link that the classic queue keeps, in per cent",
};

const OVERFLOW: Parameter = Parameter {
    name: "overflow",
    unit: Unit::Flag { off: None },
    default: "off",
    source: "Linux sch_dualpi2",
    range: "",
    doc: "at overload, go on marking and let the queue overflow",
};

const DROP_ON_OVERLOAD: Parameter = Parameter {
    name: "drop_on_overload",
    unit: Unit::Flag { off: None },
    default: "on",
    source: "Linux sch_dualpi2; RFC 9332 §4.2",
    range: "",
    doc: "at overload, drop from both queues",
};
