//! The parameters of `dualpi2`.

use crate::config::{ConfigError, Configure, Kind, Link, Settings, Value, Variant};
use crate::decision::Quantity;
use crate::gauge::Gauge;
use crate::memory::{Buffers, TRUESIZE};
use crate::shown::{self, Printed, Show, Shown};
use crate::time::Duration;
use crate::typed::{in_variants, parameters};
use crate::weights::Weights;

/// Configuration of [`DualPi2`](super::DualPi2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DualPi2Config {
    pub(super) variant: DualPi2Variant,
    pub(super) limit: u32,
    pub(super) memory_limit: u64,
    pub(super) buffers: Buffers,
    pub(super) target: Duration,
    pub(super) tupdate: Duration,
    pub(super) alpha: u32,
    pub(super) beta: u32,
    pub(super) step: Step,
    /// Packets in L from which the step applies.
    pub(super) min_qlen_step: u32,
    /// ECT(0) goes to L, too.
    pub(super) any_ect: bool,
    /// The AQM decides about arriving packets.
    pub(super) drop_enqueue: bool,
    pub(super) split_gso: bool,
    pub(super) coupling: u32,
    pub(super) classic_share: u32,
    pub(super) overflow: bool,
    pub(super) mtu: u32,
}

/// Whose decisions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum DualPi2Variant {
    /// RFC 9332, with exact arithmetic.
    Rfc9332,
    /// Linux 7.3, bit for bit.
    Linux,
}

/// Threshold of the low-latency queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    Delay(Duration),
    Packets(u32),
}

impl Step {
    /// Returns the delay above which packets are marked; the longest time if packets decide.
    pub(super) const fn delay(self) -> Duration {
        match self {
            Self::Delay(delay) => delay,
            Self::Packets(_) => Duration::MAX,
        }
    }

    pub(super) fn quantity(self) -> Quantity {
        match self {
            Self::Delay(delay) => Quantity::Span(delay),
            Self::Packets(packets) => Quantity::Packets(u64::from(packets)),
        }
    }

    fn from_settings(settings: &Settings) -> Result<Self, ConfigError> {
        match STEP_THRESH_PACKETS.given(settings)? {
            Some(_) if settings.get(STEP_THRESH.name).is_some() => {
                Err(ConfigError::new(STEP_THRESH.name, "", "either a time or packets"))
            }
            Some(packets) => Ok(Self::Packets(packets)),
            None => Ok(Self::Delay(STEP_THRESH.read(settings)?)),
        }
    }

    fn add_to(self, settings: Settings) -> Settings {
        match self {
            Self::Delay(delay) => settings.and(&STEP_THRESH, delay),
            Self::Packets(packets) => settings.and(&STEP_THRESH_PACKETS, packets),
        }
    }
}

/// Controller for the expected round-trip times, in place of the defaults.
struct Control {
    target: Duration,
    tupdate: Duration,
    alpha: u32,
    beta: u32,
}

impl Control {
    /// Returns the values of iproute2. One of the two times is derived from the other if it is not
    /// given.
    fn from_settings(settings: &Settings) -> Result<Self, ConfigError> {
        // The gains are divided by these times.
        let micros = |time: Duration| (time.as_nanos() / 1_000).max(1);
        let (longest, typical) = match (MAX_RTT.given(settings)?, TYPICAL_RTT.given(settings)?) {
            (None, None) => {
                return Ok(Self {
                    target: TARGET.default_time(),
                    tupdate: TUPDATE.default_time(),
                    alpha: DEFAULT_ALPHA,
                    beta: DEFAULT_BETA,
                });
            }
            (Some(longest), Some(typical)) => (micros(longest), micros(typical)),
            (Some(longest), None) => (micros(longest), (micros(longest) / TYPICAL_TO_MAX).max(1)),
            (None, Some(typical)) => (micros(typical).saturating_mul(TYPICAL_TO_MAX), micros(typical)),
        };
        // RFC 9332 §A.1: the smaller one of the target and a third of the longest round-trip time.
        let tupdate = typical.min(longest / 3).max(1);
        // RFC 9332 §A.1: alpha = 0.1 tupdate / max_rtt^2, beta = 0.3 / max_rtt, in 256ths per
        // second.
        let longest = u128::from(longest);
        let gain = |value: u128| u32::try_from(value).unwrap_or(u32::MAX).min(MOST_GAIN);
        Ok(Self {
            target: Duration::from_micros(typical),
            tupdate: Duration::from_micros(tupdate),
            // The times are microseconds: 0.1 x 256 x 10^6, and 0.3 x 256 x 10^6.
            alpha: gain(u128::from(tupdate) * 25_600_000 / (longest * longest)),
            beta: gain(76_800_000 / longest),
        })
    }
}

impl DualPi2Config {
    /// Probability 1 in the units of the variant.
    pub(super) const fn one(&self) -> u64 {
        match self.variant {
            DualPi2Variant::Rfc9332 => ONE,
            DualPi2Variant::Linux => ONE_OF_LINUX,
        }
    }

    /// p' at which the marks of L are certain.
    pub(super) const fn saturation(&self) -> u64 {
        self.one() / self.coupling as u64
    }

    /// Refuses parameters that RFC 9332 does not have.
    fn check(&self) -> Result<(), ConfigError> {
        let only_linux = "only with `variant linux`";
        if self.variant == DualPi2Variant::Linux {
            return Ok(());
        }
        if let Step::Packets(packets) = self.step {
            return Err(ConfigError::new(STEP_THRESH_PACKETS.name, alloc::format!("{packets}"), only_linux));
        }
        let given = [
            (MIN_QLEN_STEP.name, self.min_qlen_step > 0),
            (ANY_ECT.name, self.any_ect),
            (DROP_ENQUEUE.name, self.drop_enqueue),
        ];
        match given.into_iter().find(|given| given.1) {
            Some((name, _)) => Err(ConfigError::new(name, "", only_linux)),
            None => Ok(()),
        }
    }

    pub(super) const fn first_credit(&self) -> i64 {
        self.weights().first_credit(self.mtu)
    }

    pub(super) const fn weights(&self) -> Weights {
        Weights { low_latency: 100 - self.classic_share, classic: self.classic_share }
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
        let linux = settings.choice("variant") != Some("rfc9332");
        let control = Control::from_settings(settings)?;
        let config = Self {
            variant: if linux { DualPi2Variant::Linux } else { DualPi2Variant::Rfc9332 },
            limit,
            // Linux keeps it in 32 bits (`get_memory_limit()`).
            memory_limit: MEMLIMIT
                .read_or(settings, (2 * u64::from(mtu) * u64::from(limit)).min(u64::from(u32::MAX)))?,
            buffers: Buffers::from_settings(
                settings,
                if linux { Buffers::Allocated } else { Buffers::Bare },
            )?,
            target: TARGET.read_or(settings, control.target)?,
            tupdate: TUPDATE.read_or(settings, control.tupdate)?,
            alpha: ALPHA.read_or(settings, control.alpha)?,
            beta: BETA.read_or(settings, control.beta)?,
            step: Step::from_settings(settings)?,
            min_qlen_step: MIN_QLEN_STEP.read(settings)?,
            any_ect: ANY_ECT.read(settings)?,
            drop_enqueue: DROP_ENQUEUE.read(settings)?,
            split_gso: SPLIT_GSO.read(settings)?,
            coupling: COUPLING_FACTOR.read(settings)?,
            classic_share: CLASSIC_PROTECTION.read(settings)?,
            overflow: OVERFLOW.read(settings)?,
            mtu,
        };
        config.check()?;
        Ok(config)
    }

    fn to_settings(&self) -> Settings {
        let settings = Settings::new()
            .and(&LIMIT, self.limit)
            .and(&MEMLIMIT, self.memory_limit)
            .and(&TARGET, self.target)
            .and(&TUPDATE, self.tupdate)
            .and(&ALPHA, self.alpha)
            .and(&BETA, self.beta)
            .and(&MIN_QLEN_STEP, self.min_qlen_step)
            .and(&ANY_ECT, self.any_ect)
            .and(&DROP_ENQUEUE, self.drop_enqueue)
            .and(&SPLIT_GSO, self.split_gso)
            .and(&COUPLING_FACTOR, self.coupling)
            .and(&CLASSIC_PROTECTION, self.classic_share)
            .and(if self.overflow { &OVERFLOW } else { &DROP_ON_OVERLOAD }, true)
            .with(
                "variant",
                Value::Choice(match self.variant {
                    DualPi2Variant::Linux => "linux",
                    DualPi2Variant::Rfc9332 => "rfc9332",
                }),
            );
        self.buffers.add_to(self.step.add_to(settings))
    }

    /// Linux reads every parameter by itself.
    fn is_kept_by_change(parameter: &str, given: &Settings) -> bool {
        let given_any = |names: &[&str]| names.iter().any(|name| given.get(name).is_some());
        let steps = [STEP_THRESH.name, STEP_THRESH_PACKETS.name];
        let loads = [OVERFLOW.name, DROP_ON_OVERLOAD.name];
        let controls = [TARGET.name, TUPDATE.name, ALPHA.name, BETA.name];
        !(steps.contains(&parameter) && given_any(&steps)
            || loads.contains(&parameter) && given_any(&loads)
            || controls.contains(&parameter) && given_any(&[MAX_RTT.name, TYPICAL_RTT.name]))
    }

    fn stays_beside(parameter: &str, given: &Settings) -> bool {
        Self::is_kept_by_change(parameter, given)
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
            settings.time(STEP_THRESH.name).map(|step| Value::Time(step).into())
        }),
        Shown::Computed("step-thresh-packets", |settings| {
            settings
                .get(STEP_THRESH_PACKETS.name)
                .map(|_| Value::Integer(shown::number(settings, STEP_THRESH_PACKETS.name)).into())
        }),
        Shown::Computed("min-qlen-step", |settings| number(settings, MIN_QLEN_STEP.name)),
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
        derived: "2 x MTU x limit, at most 4294967295",
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
        default: DEFAULT_ALPHA as u64,
        range: 0..=MOST_GAIN as u64,
        source: "RFC 9332 §A.1 (0.16 per s)",
    };
    /// gain on the change of the delay, in 1/256 per second
    BETA: integer "beta", with_beta {
        default: DEFAULT_BETA as u64,
        range: 0..=MOST_GAIN as u64,
        source: "RFC 9332 §A.1 (3.2 per s)",
    };
    /// delay above which every packet of the low-latency queue is marked
    STEP_THRESH: time "step_thresh", with_step_thresh {
        default: Duration::from_millis(1),
        range: Duration::ZERO..=Duration::from_micros(4_294_967_295),
        source: "Linux sch_dualpi2; RFC 9332 §A.1",
    };
    /// packets in the low-latency queue above which each of its packets is marked, in place of a
    /// delay; tc writes `step_thresh 4p`
    STEP_THRESH_PACKETS: packets "step_thresh_packets", with_step_thresh_packets {
        derived: "a delay",
        range: 0..=4_294_967_295,
        condition: "needs variant linux",
        source: "Linux sch_dualpi2",
    };
    /// packets in the low-latency queue from which the threshold applies to an arriving packet
    MIN_QLEN_STEP: packets "min_qlen_step", with_min_qlen_step {
        default: 0,
        range: 0..=4_294_967_295,
        condition: "needs variant linux",
        source: "Linux sch_dualpi2",
    };
    /// longest expected round-trip time; the controller follows from it
    MAX_RTT: time "max_rtt", with_max_rtt {
        derived: "off; with typical_rtt: 6 x typical_rtt",
        range: Duration::from_micros(1)..=Duration::from_micros(4_294_967_295),
        source: "tc-dualpi2(8)",
    };
    /// typical round-trip time; the target follows from it
    TYPICAL_RTT: time "typical_rtt", with_typical_rtt {
        derived: "off; with max_rtt: max_rtt / 6",
        range: Duration::from_micros(1)..=Duration::from_micros(4_294_967_295),
        source: "tc-dualpi2(8)",
    };
    /// ECT(0) goes to the low-latency queue, too
    ANY_ECT: flag "any_ect", with_any_ect {
        default: false,
        off: "l4s_ect",
        condition: "needs variant linux",
        source: "Linux sch_dualpi2",
    };
    /// the controller drops and marks arriving packets, in place of departing ones
    DROP_ENQUEUE: flag "drop_enqueue", with_drop_enqueue {
        default: false,
        off: "drop_dequeue",
        condition: "needs variant linux",
        source: "Linux sch_dualpi2",
    };
    /// split aggregated packets; accepted without effect, since there are none here
    SPLIT_GSO: flag "split_gso", with_split_gso {
        default: true,
        off: "no_split_gso",
        source: "Linux sch_dualpi2",
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
            name: "linux",
            doc: "Linux 7.3, bit for bit; the controller uses the larger delay of both queues, and the low-latency queue has a step",
        },
        Variant {
            name: "rfc9332",
            doc: "RFC 9332; the controller uses the delay of the classic queue, and the low-latency queue has a ramp",
        },
    ],
    parameters: PARAMETERS,
};

// 0.16 and 3.2 per second, in 256ths.
const DEFAULT_ALPHA: u32 = 41;
const DEFAULT_BETA: u32 = 819;
/// 65,536 per second.
const MOST_GAIN: u32 = 16_777_216;
/// Longest round-trip time of tc, as a multiple of the typical one.
const TYPICAL_TO_MAX: u64 = 6;

/// Probability 1.
pub(super) const ONE: u64 = 1_000_000_000_000_000_000;
/// Probability 1 in Linux, whose probabilities have 32 bits.
pub(super) const ONE_OF_LINUX: u64 = u32::MAX as u64;
