//! The parameters of PIE, and the defaults of each variant.

use super::rules::{DelayFrom, PieVariant, Rules};
use crate::config::{ConfigError, Configure, Kind, Link, Parameter, Settings, Unit, Value, Variant};
use crate::shown::{Show, Shown};
use crate::time::{Duration, Rate};
use crate::typed::setters;

/// Configuration of [`Pie`](super::Pie).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PieConfig {
    pub(super) variant: PieVariant,
    pub(super) departure: Departure,
    pub(super) limit: u32,
    pub(super) target: Duration,
    pub(super) tupdate: Duration,
    pub(super) alpha: u32,
    pub(super) beta: u32,
    pub(super) max_burst: Duration,
    pub(super) ecn: bool,
    pub(super) byte_mode: bool,
    pub(super) rate_estimator: bool,
    pub(super) on_off: bool,
    /// Bytes over which the departure rate is measured.
    pub(super) threshold: u64,
    /// Rate of the link, from which `docsis` knows the delay.
    pub(super) bandwidth: Rate,
    /// Largest packet, for `bytemode` and for Linux's bound of a tiny queue.
    pub(super) mtu: u32,
}

/// Information that a departure gives to the controller. Computed once, because every packet needs
/// it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Departure {
    /// Nothing.
    Ignored,
    /// How long the packet has waited.
    Timed {
        /// Of [`Rules`].
        tick: u32,
        /// True if departures reduce the burst allowance.
        shrinks_burst: bool,
    },
    /// How fast the queue drains.
    Measured,
}

/// Default values of a variant.
#[derive(Clone, Copy, Debug)]
pub(super) struct Defaults {
    pub(super) target: Duration,
    pub(super) tupdate: Duration,
    pub(super) max_burst: Duration,
    /// Alpha and beta, in sixteenths.
    pub(super) gains: (u32, u32),
    pub(super) threshold: u64,
}

impl Departure {
    const fn of(rules: &Rules, rate_estimator: bool) -> Self {
        match rules.delay {
            DelayFrom::LinkRate => Self::Ignored,
            DelayFrom::Either if !rate_estimator => {
                Self::Timed { tick: rules.tick, shrinks_burst: rules.burst_by_departure }
            }
            DelayFrom::Either | DelayFrom::Estimator => Self::Measured,
        }
    }
}

impl PieVariant {
    fn defaults(self) -> Defaults {
        let of = |target, tupdate, max_burst| Defaults {
            target: Duration::from_millis(target),
            tupdate: Duration::from_millis(tupdate),
            max_burst: Duration::from_millis(max_burst),
            gains: (2, 20),
            threshold: 16_384,
        };
        match self {
            Self::Rfc8033 | Self::Linux => of(15, 15, 150),
            // draft-pan-aqm-pie-00; Linux 3.14: 10000 bytes.
            Self::Draft00 | Self::Linux314 => Defaults { threshold: 10_000, ..of(20, 30, 100) },
            // Järvinen and Kojo 2014, table I: ten packets.
            Self::Ns2 | Self::Ns2Of2014 => Defaults { threshold: 15_000, ..of(20, 30, 100) },
            // RFC 8034 appendix A: A = 0.25, B = 2.5.
            Self::Docsis => Defaults { gains: (4, 40), ..of(10, 16, 142) },
        }
    }
}

impl Configure for PieConfig {
    const KIND: Kind = KIND;
    const LIMIT_DROPS_NEXT: bool = true;

    fn from_checked(settings: &Settings, link: &Link) -> Result<Self, ConfigError> {
        let time = |name, low, default| -> Result<Duration, ConfigError> {
            Ok(settings.number(name, low, MAX_TIME)?.map_or(default, Duration::from_nanos))
        };
        let flag = |name| settings.flag(name).unwrap_or(false);
        let variant = settings.choice("variant").map_or(Ok(PieVariant::Rfc8033), PieVariant::named)?;
        let default = variant.defaults();
        let on_off = flag(ONOFF.name);
        if on_off && variant != PieVariant::Rfc8033 {
            return Err(ConfigError::new(ONOFF.name, "", "onoff with variant rfc8033 only"));
        }
        let estimator = settings.flag(DQ_RATE_ESTIMATOR.name);
        match (variant.rules().delay, estimator) {
            (DelayFrom::Estimator, Some(false)) => {
                let allowed = "no timestamps with this variant: it always estimates";
                return Err(ConfigError::new("no_dq_rate_estimator", "", allowed));
            }
            (DelayFrom::LinkRate, Some(true)) => {
                return Err(ConfigError::new(
                    DQ_RATE_ESTIMATOR.name,
                    "",
                    "not with variant docsis, which knows the rate",
                ));
            }
            _ => {}
        }
        let bandwidth = settings.number(BANDWIDTH.name, 8, u64::MAX)?.map_or(link.rate, Rate::from_bps);
        let (alpha, beta) = default.gains;
        let most = if variant == PieVariant::Docsis { 2 * MAX_GAIN } else { MAX_GAIN };
        let rate_estimator = estimator.unwrap_or(variant.rules().delay == DelayFrom::Estimator);
        Ok(Self {
            variant,
            departure: Departure::of(variant.rules(), rate_estimator),
            limit: settings.small_or(LIMIT.name, 1, u64::from(u32::MAX), 1000)?,
            target: time(TARGET.name, 1, default.target)?,
            tupdate: time(TUPDATE.name, 1_000, default.tupdate)?,
            alpha: settings.small_or(ALPHA.name, 0, most, alpha)?,
            beta: settings.small_or(BETA.name, 0, most, beta)?,
            max_burst: time(MAX_BURST.name, 0, default.max_burst)?,
            ecn: flag(ECN.name),
            byte_mode: settings.flag(BYTEMODE.name).unwrap_or(variant == PieVariant::Docsis),
            rate_estimator,
            on_off,
            threshold: settings
                .number(DQ_THRESHOLD.name, 1, u64::from(u32::MAX))?
                .unwrap_or(default.threshold),
            bandwidth: if bandwidth.as_bps() < 8 { FALLBACK_RATE } else { bandwidth },
            mtu: link.mtu.max(1),
        })
    }

    fn to_settings(&self) -> Settings {
        Settings::new()
            .with("variant", Value::Choice(self.variant.name()))
            .with(LIMIT.name, Value::Packets(u64::from(self.limit)))
            .with(TARGET.name, Value::Time(self.target))
            .with(TUPDATE.name, Value::Time(self.tupdate))
            .with(ALPHA.name, Value::Integer(u64::from(self.alpha)))
            .with(BETA.name, Value::Integer(u64::from(self.beta)))
            .with(MAX_BURST.name, Value::Time(self.max_burst))
            .with(ECN.name, Value::Flag(self.ecn))
            .with(BYTEMODE.name, Value::Flag(self.byte_mode))
            .with(DQ_RATE_ESTIMATOR.name, Value::Flag(self.rate_estimator))
            .with(ONOFF.name, Value::Flag(self.on_off))
            .with(DQ_THRESHOLD.name, Value::Bytes(self.threshold))
            .with(BANDWIDTH.name, Value::Rate(self.bandwidth))
    }

    /// Linux reads every parameter by itself.
    fn is_kept_by_change(_parameter: &str, _given: &Settings) -> bool {
        true
    }

    fn link(&self) -> Link {
        Link { mtu: self.mtu, ..Link::default() }
    }
}

impl Show for PieConfig {
    const SHOWN: &'static [Shown] = &[
        Shown::Setting(LIMIT.name),
        Shown::Setting(TARGET.name),
        Shown::Setting(TUPDATE.name),
        Shown::Setting(ALPHA.name),
        Shown::Setting(BETA.name),
        Shown::FlagIfOn(ECN.name),
        Shown::FlagIfOn(BYTEMODE.name),
        Shown::FlagIfOn(DQ_RATE_ESTIMATOR.name),
    ];
}

setters! {
    [] PieConfig,
    /// Sets `limit`: packets that the queue holds. Default: 1000p. Range: 1 to 4294967295.
    with_limit(packets);
    /// Sets `target`: target queue delay. Default: 15ms; draft00, linux314, ns2, ns2_2014: 20ms;
    /// docsis: 10ms. Range: 1ns to 4294s.
    with_target(time);
    /// Sets `tupdate`: time between updates of the drop probability. Default: 15ms; draft00,
    /// linux314, ns2, ns2_2014: 30ms; docsis: 16ms. Range: 1us to 4294s.
    with_tupdate(time);
    /// Sets `alpha`: gain on the distance from the target, in 1/16 per second. Default: 2; docsis:
    /// 4. Range: 0 to 32; docsis: 0 to 64.
    with_alpha(integer);
    /// Sets `beta`: gain on the change of the delay, in 1/16 per second. Default: 20; docsis: 40.
    /// Range: 0 to 32; docsis: 0 to 64.
    with_beta(integer);
    /// Sets `max_burst`: length of a burst that passes without drops. Default: 150ms; draft00,
    /// linux314, ns2, ns2_2014: 100ms; docsis: 142ms. Range: 0 to 4294s.
    with_max_burst(time);
    /// Sets `ecn`: mark ECN-capable packets instead of dropping them, up to a probability of 10 %.
    /// Default: noecn.
    with_ecn(flag);
    /// Sets `bytemode`: scale the drop probability by packet length over MTU. Default: nobytemode;
    /// docsis: bytemode.
    with_bytemode(flag);
    /// Sets `dq_rate_estimator`: derive the delay from the measured departure rate, not from
    /// timestamps. Default: no_dq_rate_estimator; draft00, linux314, ns2, ns2_2014:
    /// dq_rate_estimator. Range: draft00, linux314, ns2, ns2_2014: always on; docsis: always off.
    with_dq_rate_estimator(flag);
    /// Sets `onoff`: start control when a third of the buffer is in use. Default: noonoff. Range:
    /// variant rfc8033.
    with_onoff(flag);
    /// Sets `dq_threshold`: bytes over which the departure rate is measured. Default: 16384;
    /// draft00, linux314: 10000; ns2, ns2_2014: 15000. Range: 1 to 4294967295.
    with_dq_threshold(bytes);
    /// Sets `bandwidth`: rate from which variant docsis derives the delay; others ignore it.
    /// Default: the link rate. Range: 8bit and more.
    with_bandwidth(rate);
}

setters! { @variant [] PieConfig }

const KIND: Kind = Kind {
    name: "pie",
    summary: "Drops arrivals with a probability that a PI controller adjusts to hold the delay at a target",
    reference: "RFC 8033; tc-pie(8)",
    variants: &[
        Variant { name: "rfc8033", doc: "RFC 8033 in exact arithmetic" },
        Variant { name: "linux", doc: "Linux 6.1, bit for bit" },
        Variant { name: "draft00", doc: "draft-pan-aqm-pie-00 of 2013" },
        Variant { name: "linux314", doc: "Linux 3.14 of 2014, in its 32-bit arithmetic" },
        Variant { name: "ns2", doc: "the code for ns-2 that may never leave its burst allowance" },
        Variant { name: "ns2_2014", doc: "the later code for ns-2 of 2014" },
        Variant { name: "docsis", doc: "RFC 8034, the PIE of cable modems" },
    ],
    children: crate::config::Children::None,
    parameters: &[
        LIMIT,
        TARGET,
        TUPDATE,
        ALPHA,
        BETA,
        MAX_BURST,
        ECN,
        BYTEMODE,
        DQ_RATE_ESTIMATOR,
        ONOFF,
        DQ_THRESHOLD,
        BANDWIDTH,
    ],
};

/// For a link whose rate is not known, as tc assumes elsewhere.
const FALLBACK_RATE: Rate = Rate::from_bps(10_000_000);
/// tc-pie(8).
const MAX_GAIN: u64 = 32;
/// What Linux can be told: 2^32 - 1 microseconds.
const MAX_TIME: u64 = u32::MAX as u64 * 1_000;

const LIMIT: Parameter = Parameter {
    name: "limit",
    unit: Unit::Packets,
    default: "1000p",
    source: "Linux sch_pie",
    range: "1 to 4294967295",
    doc: "packets that the queue holds",
};

const TARGET: Parameter = Parameter {
    name: "target",
    unit: Unit::Time,
    default: "15ms; draft00, linux314, ns2, ns2_2014: 20ms; docsis: 10ms",
    source: "RFC 8033 §4.2; Linux sch_pie; draft-pan-aqm-pie-00; RFC 8034",
    range: "1ns to 4294s",
    doc: "target queue delay",
};

const TUPDATE: Parameter = Parameter {
    name: "tupdate",
    unit: Unit::Time,
    default: "15ms; draft00, linux314, ns2, ns2_2014: 30ms; docsis: 16ms",
    source: "RFC 8033 §4.2; Linux sch_pie; draft-pan-aqm-pie-00; RFC 8034",
    range: "1us to 4294s",
    doc: "time between updates of the drop probability",
};

const ALPHA: Parameter = Parameter {
    name: "alpha",
    unit: Unit::Integer,
    default: "2; docsis: 4",
    source: "RFC 8033 §4.2 (0.125 per s); Linux sch_pie; RFC 8034",
    range: "0 to 32; docsis: 0 to 64",
    doc: "gain on the distance from the target, in 1/16 per second",
};

const BETA: Parameter = Parameter {
    name: "beta",
    unit: Unit::Integer,
    default: "20; docsis: 40",
    source: "RFC 8033 §4.2 (1.25 per s); Linux sch_pie; RFC 8034",
    range: "0 to 32; docsis: 0 to 64",
    doc: "gain on the change of the delay, in 1/16 per second",
};

const MAX_BURST: Parameter = Parameter {
    name: "max_burst",
    unit: Unit::Time,
    default: "150ms; draft00, linux314, ns2, ns2_2014: 100ms; docsis: 142ms",
    source: "RFC 8033 §4.4; Linux sch_pie; draft-pan-aqm-pie-00; RFC 8034",
    range: "0 to 4294s",
    doc: "length of a burst that passes without drops",
};

const ECN: Parameter = Parameter {
    name: "ecn",
    unit: Unit::Flag { off: Some("noecn") },
    default: "noecn",
    source: "Linux sch_pie",
    range: "",
    doc: "mark ECN-capable packets instead of dropping them, up to a probability of 10 %",
};

const BYTEMODE: Parameter = Parameter {
    name: "bytemode",
    unit: Unit::Flag { off: Some("nobytemode") },
    default: "nobytemode; docsis: bytemode",
    source: "Linux sch_pie; RFC 8034",
    range: "",
    doc: "scale the drop probability by packet length over MTU",
};

const DQ_RATE_ESTIMATOR: Parameter = Parameter {
    name: "dq_rate_estimator",
    unit: Unit::Flag { off: Some("no_dq_rate_estimator") },
    default: "no_dq_rate_estimator; draft00, linux314, ns2, ns2_2014: dq_rate_estimator",
    source: "Linux sch_pie since 5.6",
    range: "draft00, linux314, ns2, ns2_2014: always on; docsis: always off",
    doc: "derive the delay from the measured departure rate, not from timestamps",
};

const ONOFF: Parameter = Parameter {
    name: "onoff",
    unit: Unit::Flag { off: Some("noonoff") },
    default: "noonoff",
    source: "FreeBSD ipfw(8); RFC 8033 §5.3: optional",
    range: "variant rfc8033",
    doc: "start control when a third of the buffer is in use",
};

const DQ_THRESHOLD: Parameter = Parameter {
    name: "dq_threshold",
    unit: Unit::Bytes,
    default: "16384; draft00, linux314: 10000; ns2, ns2_2014: 15000",
    source: "RFC 8033 §5.2; Linux; draft-pan-aqm-pie-00; Järvinen and Kojo 2014",
    range: "1 to 4294967295",
    doc: "bytes over which the departure rate is measured",
};

const BANDWIDTH: Parameter = Parameter {
    name: "bandwidth",
    unit: Unit::Rate,
    default: "the link rate",
    source: "RFC 8034: MSR and PEAK_RATE of the modem",
    range: "8bit and more",
    doc: "rate from which variant docsis derives the delay; others ignore it",
};
