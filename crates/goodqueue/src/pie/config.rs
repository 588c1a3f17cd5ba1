//! The parameters of PIE, and the defaults of each variant.

use super::rules::{DelayFrom, PieVariant, Rules};
use crate::config::{ConfigError, Configure, Kind, Link, Settings, Value, Variant};
use crate::shown::{Show, Shown};
use crate::time::{Duration, Rate};
use crate::typed::{in_variants, parameters};

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

impl Departure {
    const fn from_rules(rules: &Rules, rate_estimator: bool) -> Self {
        match rules.delay {
            DelayFrom::LinkRate => Self::Ignored,
            DelayFrom::Either if !rate_estimator => {
                Self::Timed { tick: rules.tick, shrinks_burst: rules.burst_by_departure }
            }
            DelayFrom::Either | DelayFrom::Estimator => Self::Measured,
        }
    }
}

impl Configure for PieConfig {
    const KIND: Kind = KIND;
    const LIMIT_DROPS_NEXT: bool = true;

    fn from_checked(settings: &Settings, link: &Link) -> Result<Self, ConfigError> {
        let variant = settings.choice("variant").map_or(Ok(PieVariant::Linux), PieVariant::named)?;
        let on_off = ONOFF.read(settings)?;
        if on_off && variant != PieVariant::Rfc8033 {
            return Err(ConfigError::new(ONOFF.name, "", "onoff with variant rfc8033 only"));
        }
        let estimator = DQ_RATE_ESTIMATOR.given(settings)?;
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
        let bandwidth = BANDWIDTH.read_or(settings, link.rate)?;
        // tc accepts gains up to 32, but RFC 8034 needs a beta of 40.
        for gain in [ALPHA, BETA].iter().filter(|_| variant != PieVariant::Docsis) {
            let given = gain.read::<u32>(settings)?;
            if given > MAX_GAIN {
                let allowed = alloc::format!("a value from 0 to {MAX_GAIN}");
                return Err(ConfigError::new(gain.name, alloc::format!("{given}"), allowed));
            }
        }
        let rate_estimator = DQ_RATE_ESTIMATOR.read(settings)?;
        Ok(Self {
            variant,
            departure: Departure::from_rules(variant.rules(), rate_estimator),
            limit: LIMIT.read(settings)?,
            target: TARGET.read(settings)?,
            tupdate: TUPDATE.read(settings)?,
            alpha: ALPHA.read(settings)?,
            beta: BETA.read(settings)?,
            max_burst: MAX_BURST.read(settings)?,
            ecn: ECN.read(settings)?,
            byte_mode: BYTEMODE.read(settings)?,
            rate_estimator,
            on_off,
            threshold: DQ_THRESHOLD.read(settings)?,
            bandwidth: if bandwidth.as_bps() < 8 { FALLBACK_RATE } else { bandwidth },
            // `bytemode` divides by it.
            mtu: link.mtu.max(1),
        })
    }

    fn to_settings(&self) -> Settings {
        Settings::new()
            .with("variant", Value::Choice(self.variant.name()))
            .and(&LIMIT, self.limit)
            .and(&TARGET, self.target)
            .and(&TUPDATE, self.tupdate)
            .and(&ALPHA, self.alpha)
            .and(&BETA, self.beta)
            .and(&MAX_BURST, self.max_burst)
            .and(&ECN, self.ecn)
            .and(&BYTEMODE, self.byte_mode)
            .and(&DQ_RATE_ESTIMATOR, self.rate_estimator)
            .and(&ONOFF, self.on_off)
            .and(&DQ_THRESHOLD, self.threshold)
            .and(&BANDWIDTH, self.bandwidth)
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
        // tc's pie has no option for the burst or the threshold.
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

parameters! {
    PARAMETERS of [] PieConfig;
    /// packets that the queue holds
    LIMIT: packets "limit", with_limit { default: 1000, range: 1..=4_294_967_295, source: "Linux sch_pie" };
    /// target queue delay
    TARGET: time "target", with_target {
        default: Duration::from_millis(15),
        of_variants: &[(OF_2014, Duration::from_millis(20)), (&["docsis"], Duration::from_millis(10))],
        range: Duration::from_nanos(1)..=LONGEST,
        source: "RFC 8033 §4.2; Linux sch_pie; draft-pan-aqm-pie-00; RFC 8034",
    };
    /// time between updates of the drop probability
    TUPDATE: time "tupdate", with_tupdate {
        default: Duration::from_millis(15),
        of_variants: &[(OF_2014, Duration::from_millis(30)), (&["docsis"], Duration::from_millis(16))],
        range: Duration::from_micros(1)..=LONGEST,
        source: "RFC 8033 §4.2; Linux sch_pie; draft-pan-aqm-pie-00; RFC 8034",
    };
    /// gain on the distance from the target, in 1/16 per second
    ALPHA: integer "alpha", with_alpha {
        default: 2,
        of_variants: &[(&["docsis"], 4)],
        range: 0..=64,
        range_in_words: "0 to 32; docsis: 0 to 64",
        source: "RFC 8033 §4.2 (0.125 per s); Linux sch_pie; RFC 8034",
    };
    /// gain on the change of the delay, in 1/16 per second
    BETA: integer "beta", with_beta {
        default: 20,
        of_variants: &[(&["docsis"], 40)],
        range: 0..=64,
        range_in_words: "0 to 32; docsis: 0 to 64",
        source: "RFC 8033 §4.2 (1.25 per s); Linux sch_pie; RFC 8034",
    };
    /// length of a burst that passes without drops
    MAX_BURST: time "max_burst", with_max_burst {
        default: Duration::from_millis(150),
        of_variants: &[(OF_2014, Duration::from_millis(100)), (&["docsis"], Duration::from_millis(142))],
        range: Duration::ZERO..=LONGEST,
        source: "RFC 8033 §4.4; Linux sch_pie; draft-pan-aqm-pie-00; RFC 8034",
    };
    /// mark ECN-capable packets instead of dropping them, up to a probability of 10 %
    ECN: flag "ecn", with_ecn { default: false, off: "noecn", source: "Linux sch_pie" };
    /// scale the drop probability by packet length over MTU
    BYTEMODE: flag "bytemode", with_bytemode {
        default: false,
        of_variants: &[(&["docsis"], true)],
        off: "nobytemode",
        source: "Linux sch_pie; RFC 8034",
    };
    /// derive the delay from the measured departure rate, not from timestamps
    DQ_RATE_ESTIMATOR: flag "dq_rate_estimator", with_dq_rate_estimator {
        default: false,
        of_variants: &[(OF_2014, true)],
        off: "no_dq_rate_estimator",
        condition: "draft00, linux314, ns2, ns2_2014: always on; docsis: always off",
        source: "Linux sch_pie since 5.6",
    };
    /// start control when a third of the buffer is in use
    ONOFF: flag "onoff", with_onoff {
        default: false,
        off: "noonoff",
        condition: "variant rfc8033",
        source: "FreeBSD ipfw(8); RFC 8033 §5.3: optional",
    };
    /// bytes over which the departure rate is measured
    DQ_THRESHOLD: bytes "dq_threshold", with_dq_threshold {
        default: 16_384,
        of_variants: &[(&["draft00", "linux314"], 10_000), (&["ns2", "ns2_2014"], 15_000)],
        range: 1..=4_294_967_295,
        source: "RFC 8033 §5.2; Linux; draft-pan-aqm-pie-00; Järvinen and Kojo 2014",
    };
    /// rate from which variant docsis derives the delay; others ignore it
    BANDWIDTH: rate "bandwidth", with_bandwidth {
        derived: "the link rate",
        range: Rate::from_bps(8)..=Rate::MAX,
        source: "RFC 8034: MSR and PEAK_RATE of the modem",
    };
}

in_variants! { [] PieConfig }

const KIND: Kind = Kind {
    name: "pie",
    summary: "Drops arrivals with a probability that a PI controller adjusts to hold the delay at a target",
    reference: "RFC 8033; tc-pie(8)",
    variants: &[
        Variant { name: "linux", doc: "Linux 6.1 and 7.3, bit for bit" },
        Variant { name: "rfc8033", doc: "RFC 8033 in exact arithmetic" },
        Variant { name: "draft00", doc: "draft-pan-aqm-pie-00 of 2013" },
        Variant { name: "linux314", doc: "Linux 3.14 of 2014, in its 32-bit arithmetic" },
        Variant { name: "ns2", doc: "the code for ns-2 that may never leave its burst allowance" },
        Variant { name: "ns2_2014", doc: "the later code for ns-2 of 2014" },
        Variant { name: "docsis", doc: "RFC 8034, the PIE of cable modems" },
    ],
    children: crate::config::Children::None,
    parameters: PARAMETERS,
};

/// The variants with the defaults of PIE's first draft.
const OF_2014: &[&str] = &["draft00", "linux314", "ns2", "ns2_2014"];
/// What Linux can be told: 2^32 - 1 microseconds.
const LONGEST: Duration = Duration::from_micros(4_294_967_295);
/// For a link whose rate is not known, as tc assumes elsewhere.
const FALLBACK_RATE: Rate = Rate::from_bps(10_000_000);
/// tc-pie(8).
const MAX_GAIN: u32 = 32;
