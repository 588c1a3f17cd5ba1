//! What PIE is told, and what each variant does if it is not.

use super::rules::{DelayFrom, PieVariant, Rules};
use crate::config::{ConfigError, Configure, Kind, Link, Parameter, Settings, Unit, Value, Variant};
use crate::time::{Duration, Rate};
use crate::typed::setters;

/// Configuration of [`Pie`].
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
    /// Largest packet, for `bytemode` and for what counts as a tiny queue in Linux.
    pub(super) mtu: u32,
}

/// What a departure tells the controller: found once, because every packet asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Departure {
    /// Nothing.
    Ignored,
    /// How long the packet has waited.
    Timed {
        /// Of [`Rules`].
        tick: u32,
        /// And what is left of the burst allowance.
        shrinks_burst: bool,
    },
    /// How fast the queue drains.
    Measured,
}

/// What a variant does if not told.
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
        let number = |name, low, high, default: u32| -> Result<u32, ConfigError> {
            let given = settings.number(name, low, high)?;
            Ok(given.and_then(|value| u32::try_from(value).ok()).unwrap_or(default))
        };
        let time = |name, low, default| -> Result<Duration, ConfigError> {
            Ok(settings.number(name, low, MAX_TIME)?.map_or(default, Duration::from_nanos))
        };
        let flag = |name| settings.flag(name).unwrap_or(false);
        let variant = settings.choice("variant").map_or(Ok(PieVariant::Rfc8033), PieVariant::named)?;
        let default = variant.defaults();
        let on_off = flag("onoff");
        if on_off && variant != PieVariant::Rfc8033 {
            return Err(ConfigError::new("onoff", "", "onoff with variant rfc8033 only"));
        }
        let estimator = settings.flag("dq_rate_estimator");
        match (variant.rules().delay, estimator) {
            (DelayFrom::Estimator, Some(false)) => {
                let allowed = "no timestamps with this variant: it always estimates";
                return Err(ConfigError::new("no_dq_rate_estimator", "", allowed));
            }
            (DelayFrom::LinkRate, Some(true)) => {
                return Err(ConfigError::new(
                    "dq_rate_estimator",
                    "",
                    "not with variant docsis, which knows the rate",
                ));
            }
            _ => {}
        }
        let bandwidth = settings.number("bandwidth", 8, u64::MAX)?.map_or(link.rate, Rate::from_bps);
        let (alpha, beta) = default.gains;
        let most = if variant == PieVariant::Docsis { 2 * MAX_GAIN } else { MAX_GAIN };
        let rate_estimator = estimator.unwrap_or(variant.rules().delay == DelayFrom::Estimator);
        Ok(Self {
            variant,
            departure: Departure::of(variant.rules(), rate_estimator),
            limit: number("limit", 1, u64::from(u32::MAX), 1000)?,
            target: time("target", 1, default.target)?,
            tupdate: time("tupdate", 1_000, default.tupdate)?,
            alpha: number("alpha", 0, most, alpha)?,
            beta: number("beta", 0, most, beta)?,
            max_burst: time("max_burst", 0, default.max_burst)?,
            ecn: flag("ecn"),
            byte_mode: settings.flag("bytemode").unwrap_or(variant == PieVariant::Docsis),
            rate_estimator,
            on_off,
            threshold: settings.number("dq_threshold", 1, u64::from(u32::MAX))?.unwrap_or(default.threshold),
            bandwidth: if bandwidth.as_bps() < 8 { FALLBACK_RATE } else { bandwidth },
            mtu: link.mtu.max(1),
        })
    }

    fn to_settings(&self) -> Settings {
        Settings::new()
            .with("variant", Value::Choice(self.variant.name()))
            .with("limit", Value::Packets(u64::from(self.limit)))
            .with("target", Value::Time(self.target))
            .with("tupdate", Value::Time(self.tupdate))
            .with("alpha", Value::Integer(u64::from(self.alpha)))
            .with("beta", Value::Integer(u64::from(self.beta)))
            .with("max_burst", Value::Time(self.max_burst))
            .with("ecn", Value::Flag(self.ecn))
            .with("bytemode", Value::Flag(self.byte_mode))
            .with("dq_rate_estimator", Value::Flag(self.rate_estimator))
            .with("onoff", Value::Flag(self.on_off))
            .with("dq_threshold", Value::Bytes(self.threshold))
            .with("bandwidth", Value::Rate(self.bandwidth))
    }

    /// Linux reads every parameter by itself.
    fn is_kept_by_change(_parameter: &str, _given: &Settings) -> bool {
        true
    }

    fn link(&self) -> Link {
        Link { mtu: self.mtu, ..Link::default() }
    }
}

setters! {
    [] PieConfig,
    /// Sets `limit`: packets that the queue holds. Default: 1000p. Range: 1 to 4294967295.
    with_limit(packets);
    /// Sets `target`: queue delay aimed at. Default: 15ms; draft00, linux314, ns2, ns2_2014: 20ms;
    /// docsis: 10ms. Range: 1ns to 4294s.
    with_target(time);
    /// Sets `tupdate`: time between updates of the drop probability. Default: 15ms; draft00,
    /// linux314, ns2, ns2_2014: 30ms; docsis: 16ms. Range: 1us to 4294s.
    with_tupdate(time);
    /// Sets `alpha`: gain of the distance from the target, in sixteenths per second. Default: 2;
    /// docsis: 4. Range: 0 to 32; docsis: 0 to 64.
    with_alpha(integer);
    /// Sets `beta`: gain of the change of the delay, in sixteenths per second. Default: 20;
    /// docsis: 40. Range: 0 to 32; docsis: 0 to 64.
    with_beta(integer);
    /// Sets `max_burst`: burst that passes before the first drop. Default: 150ms; draft00,
    /// linux314, ns2, ns2_2014: 100ms; docsis: 142ms. Range: 0 to 4294s.
    with_max_burst(time);
    /// Sets `ecn`: mark ECN-capable packets instead of dropping them, up to a probability of 10 %.
    /// Default: noecn.
    with_ecn(flag);
    /// Sets `bytemode`: scale the drop probability with the packet's length over the MTU. Default:
    /// nobytemode; docsis: bytemode.
    with_bytemode(flag);
    /// Sets `dq_rate_estimator`: delay from the measured departure rate instead of from timestamps.
    /// Default: no_dq_rate_estimator; draft00, linux314, ns2, ns2_2014: dq_rate_estimator. Range:
    /// draft00, linux314, ns2, ns2_2014: always on; docsis: always off.
    with_dq_rate_estimator(flag);
    /// Sets `onoff`: control only after a third of the buffer was in use. Default: noonoff. Range:
    /// with variant rfc8033 only.
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
        Variant { name: "ns2", doc: "the code for ns-2, which may never leave its burst allowance" },
        Variant { name: "ns2_2014", doc: "the later code for ns-2 of 2014" },
        Variant { name: "docsis", doc: "RFC 8034, the PIE of cable modems" },
    ],
    children: crate::config::Children::None,
    parameters: &[
        Parameter {
            name: "limit",
            unit: Unit::Packets,
            default: "1000p",
            source: "Linux sch_pie",
            range: "1 to 4294967295",
            doc: "packets that the queue holds",
        },
        Parameter {
            name: "target",
            unit: Unit::Time,
            default: "15ms; draft00, linux314, ns2, ns2_2014: 20ms; docsis: 10ms",
            source: "RFC 8033 §4.2; Linux sch_pie; draft-pan-aqm-pie-00; RFC 8034",
            range: "1ns to 4294s",
            doc: "queue delay aimed at",
        },
        Parameter {
            name: "tupdate",
            unit: Unit::Time,
            default: "15ms; draft00, linux314, ns2, ns2_2014: 30ms; docsis: 16ms",
            source: "RFC 8033 §4.2; Linux sch_pie; draft-pan-aqm-pie-00; RFC 8034",
            range: "1us to 4294s",
            doc: "time between updates of the drop probability",
        },
        Parameter {
            name: "alpha",
            unit: Unit::Integer,
            default: "2; docsis: 4",
            source: "RFC 8033 §4.2 (0.125 per s); Linux sch_pie; RFC 8034",
            range: "0 to 32; docsis: 0 to 64",
            doc: "gain of the distance from the target, in sixteenths per second",
        },
        Parameter {
            name: "beta",
            unit: Unit::Integer,
            default: "20; docsis: 40",
            source: "RFC 8033 §4.2 (1.25 per s); Linux sch_pie; RFC 8034",
            range: "0 to 32; docsis: 0 to 64",
            doc: "gain of the change of the delay, in sixteenths per second",
        },
        Parameter {
            name: "max_burst",
            unit: Unit::Time,
            default: "150ms; draft00, linux314, ns2, ns2_2014: 100ms; docsis: 142ms",
            source: "RFC 8033 §4.4; Linux sch_pie; draft-pan-aqm-pie-00; RFC 8034",
            range: "0 to 4294s",
            doc: "burst that passes before the first drop",
        },
        Parameter {
            name: "ecn",
            unit: Unit::Flag { off: Some("noecn") },
            default: "noecn",
            source: "Linux sch_pie",
            range: "",
            doc: "mark ECN-capable packets instead of dropping them, up to a probability of 10 %",
        },
        Parameter {
            name: "bytemode",
            unit: Unit::Flag { off: Some("nobytemode") },
            default: "nobytemode; docsis: bytemode",
            source: "Linux sch_pie; RFC 8034",
            range: "",
            doc: "scale the drop probability with the packet's length over the MTU",
        },
        Parameter {
            name: "dq_rate_estimator",
            unit: Unit::Flag { off: Some("no_dq_rate_estimator") },
            default: "no_dq_rate_estimator; draft00, linux314, ns2, ns2_2014: dq_rate_estimator",
            source: "Linux sch_pie since 5.6",
            range: "draft00, linux314, ns2, ns2_2014: always on; docsis: always off",
            doc: "delay from the measured departure rate instead of from timestamps",
        },
        Parameter {
            name: "onoff",
            unit: Unit::Flag { off: Some("noonoff") },
            default: "noonoff",
            source: "FreeBSD ipfw(8); RFC 8033 §5.3: optional",
            range: "with variant rfc8033 only",
            doc: "control only after a third of the buffer was in use",
        },
        Parameter {
            name: "dq_threshold",
            unit: Unit::Bytes,
            default: "16384; draft00, linux314: 10000; ns2, ns2_2014: 15000",
            source: "RFC 8033 §5.2; Linux; draft-pan-aqm-pie-00; Järvinen and Kojo 2014",
            range: "1 to 4294967295",
            doc: "bytes over which the departure rate is measured",
        },
        Parameter {
            name: "bandwidth",
            unit: Unit::Rate,
            default: "the link rate",
            source: "RFC 8034: MSR and PEAK_RATE of the modem",
            range: "8bit and more",
            doc: "rate from which variant docsis derives the delay; others ignore it",
        },
    ],
};

/// For a link whose rate is not known, as tc assumes elsewhere.
const FALLBACK_RATE: Rate = Rate::from_bps(10_000_000);
/// tc-pie(8).
const MAX_GAIN: u64 = 32;
/// What Linux can be told: 2^32 - 1 microseconds.
const MAX_TIME: u64 = u32::MAX as u64 * 1_000;
