//! The parameters of `red`, and the values that follow from them.

use super::weight::{automatic_weight, filter_shift, one_minus_exp};
use crate::config::{ConfigError, Configure, Kind, Link, Parameter, Settings, Unit, Value, Variant};
use crate::jiffies;
use crate::shown::{Show, Shown};
use crate::time::{Duration, Instant, Rate};
use crate::typed::setters;

/// Configuration of [`Red`](super::Red).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RedConfig {
    pub(super) variant: RedVariant,
    pub(super) limit: u32,
    pub(super) min: u32,
    pub(super) max: u32,
    pub(super) avpkt: u32,
    pub(super) burst: u32,
    pub(super) probability: f64,
    pub(super) bandwidth: Rate,
    pub(super) adaptive: bool,
    pub(super) ecn: bool,
    pub(super) hard_drop: bool,
    pub(super) no_drop: bool,
    pub(super) gentle: bool,
    pub(super) byte_mode: bool,
    pub(super) wait: bool,
    pub(super) weight: f64,
    pub(super) mtu: u32,
}

/// Whose behaviour.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum RedVariant {
    /// Linux 6.1 with tc.
    Linux,
    /// Floyd and Jacobson 1993, `adaptive` as Floyd et al. 2001.
    Floyd1993,
    /// ns-2.35.
    Ns2,
}

impl RedVariant {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Linux => "linux",
            Self::Floyd1993 => "floyd1993",
            Self::Ns2 => "ns2",
        }
    }

    pub(super) fn named(name: &'static str) -> Result<Self, ConfigError> {
        [Self::Linux, Self::Floyd1993, Self::Ns2]
            .into_iter()
            .find(|variant| variant.name() == name)
            .ok_or_else(|| ConfigError::new("variant", name, "linux, floyd1993 or ns2"))
    }
}

impl RedConfig {
    /// Bytes that the queue holds.
    #[must_use]
    pub const fn limit(&self) -> u32 {
        self.limit
    }

    /// Average below which nothing is dropped, in bytes.
    #[must_use]
    pub const fn min(&self) -> u32 {
        self.min
    }

    /// Average above which everything is dropped, in bytes.
    #[must_use]
    pub const fn max(&self) -> u32 {
        self.max
    }

    /// Whose behaviour.
    #[must_use]
    pub const fn variant(&self) -> RedVariant {
        self.variant
    }

    /// Transmission time of a packet of `avpkt` bytes.
    pub(super) const fn packet_time(&self) -> Duration {
        self.bandwidth.serialization(self.avpkt)
    }

    /// When a look of `adaptive` is due that is armed at `at`.
    pub(super) fn next_look(&self, at: Instant) -> Instant {
        match self.variant {
            RedVariant::Linux => jiffies::fires(at, ADAPT_INTERVAL),
            RedVariant::Floyd1993 | RedVariant::Ns2 => at + ADAPT_INTERVAL,
        }
    }

    /// The first look after `now` if one was due at `due` and none is made up for.
    pub(super) fn resumed(&self, due: Instant, now: Instant) -> Instant {
        if due > now {
            return due;
        }
        let period = self.next_look(due).since(due).as_nanos().max(1);
        let late = Duration::from_nanos(now.since(due).as_nanos() % period);
        self.next_look(now - late)
    }

    /// The size of the queue in bytes, of which `given` (limit, min, max) may be known.
    fn sizes(&mut self, given: [Option<u32>; 3], link: &Link) -> Result<(), ConfigError> {
        let mtu = link.mtu.max(SMALLEST_MTU);
        let [limit, min, max] = given;
        (self.min, self.max) = match (self.variant, limit, min, max) {
            // Høiland-Jørgensen et al. 2015, table 1: 10 ms of the rate and three times that, but
            // one and two packets where 10 ms are less than one.
            (RedVariant::Linux, None, None, None) => {
                let part = u32::try_from(link.rate.bytes_in(Duration::from_millis(10))).unwrap_or(u32::MAX);
                if part < mtu { (mtu, mtu.saturating_mul(2)) } else { (part.min(u32::MAX / 12), 0) }
            }
            (RedVariant::Linux, Some(limit), None, None) => (0, limit / 4),
            (RedVariant::Floyd1993, _, None, None) => {
                let packets = self.avpkt.saturating_mul(5);
                let part =
                    if self.adaptive { self.bandwidth.bytes_in(Duration::from_millis(5)) / 2 } else { 0 };
                (packets.max(u32::try_from(part).unwrap_or(u32::MAX)).min(u32::MAX / 12), 0)
            }
            // ns-2: half of what the link carries in 5 ms, at least five packets, and three times
            // that.
            (RedVariant::Ns2, _, None, None) => {
                let part = self.bandwidth.bytes_in(Duration::from_millis(5));
                let part = part.max(u64::from(self.avpkt).saturating_mul(10)).min(u64::from(u32::MAX / 12));
                let half = |bytes: u64| u32::try_from(bytes.div_ceil(2)).unwrap_or(u32::MAX);
                (half(part), half(part * 3))
            }
            (_, _, min, max) => (min.unwrap_or(0), max.unwrap_or(0)),
        };
        if self.max == 0 {
            self.max = self.min.saturating_mul(3);
        }
        if self.min == 0 {
            self.min = self.max / 3;
        }
        let room = match self.variant {
            RedVariant::Ns2 => self.avpkt.saturating_mul(50),
            _ => self.max.saturating_mul(4).max(mtu.saturating_mul(127)),
        };
        self.limit = limit.unwrap_or(room);
        if self.min == 0 || self.max <= self.min {
            let (name, value) = if max.is_some() { (MAX.name, self.max) } else { (MIN.name, self.min) };
            let allowed = alloc::format!("0 < min < max (min is {}, max is {})", self.min, self.max);
            return Err(ConfigError::new(name, alloc::format!("{value}"), allowed));
        }
        Ok(())
    }
}

impl Configure for RedConfig {
    const KIND: Kind = KIND;

    fn from_checked(settings: &Settings, link: &Link) -> Result<Self, ConfigError> {
        let number =
            |name| -> Result<Option<u32>, ConfigError> { settings.small(name, 1, u64::from(u32::MAX)) };
        let flag = |name| settings.flag(name).unwrap_or(false);
        let variant = settings.choice("variant").map_or(Ok(RedVariant::Linux), RedVariant::named)?;
        let linux = variant == RedVariant::Linux;
        let (floyd, ns2) = (variant == RedVariant::Floyd1993, variant == RedVariant::Ns2);
        let adaptive = flag(ADAPTIVE.name);
        let mtu = link.mtu.max(SMALLEST_MTU);
        let typical = if ns2 { 500 } else { 1000.min(mtu.saturating_sub(mtu / 3)) };
        let avpkt = number(AVPKT.name)?.unwrap_or(typical);
        let bandwidth = settings.bandwidth(link)?;
        let mut config = Self {
            variant,
            limit: 0,
            min: 0,
            max: 0,
            avpkt,
            burst: 0,
            probability: fraction(
                settings,
                PROBABILITY.name,
                if ns2 || (floyd && adaptive) { 0.1 } else { 0.02 },
            )?,
            bandwidth,
            adaptive,
            ecn: flag(ECN.name),
            hard_drop: flag(HARDDROP.name),
            no_drop: flag(NODROP.name),
            gentle: settings.flag(GENTLE.name).unwrap_or(ns2 || (floyd && adaptive)),
            byte_mode: settings.flag(BYTEMODE.name).unwrap_or(ns2),
            wait: settings.flag(WAIT.name).unwrap_or(ns2),
            weight: 0.0,
            mtu,
        };
        if config.no_drop && !config.ecn {
            return Err(ConfigError::new(NODROP.name, "", "nodrop together with ecn"));
        }
        for name in [GENTLE.name, BYTEMODE.name, WEIGHT.name, WAIT.name, AUTOWEIGHT.name] {
            let given = settings.get(name).filter(|value| *value != Value::Flag(false));
            let only_ns2 = [WAIT.name, AUTOWEIGHT.name].contains(&name);
            if let Some(value) = given.filter(|_| linux || (only_ns2 && !ns2)) {
                let allowed =
                    if only_ns2 { "with variant ns2 only" } else { "with variants floyd1993 and ns2 only" };
                return Err(ConfigError::new(name, alloc::format!("{value}"), allowed));
            }
        }
        config.sizes([number(LIMIT.name)?, number(MIN.name)?, number(MAX.name)?], link)?;
        let fair = (u64::from(config.min) * 2 + u64::from(config.max)) / (u64::from(avpkt) * 3);
        let least = config.min.div_ceil(avpkt);
        config.burst = number(BURST.name)?.unwrap_or(u32::try_from(fair).unwrap_or(u32::MAX).max(least));
        if !linux {
            let packets_per_second = bandwidth.as_bps() as f64 / (8.0 * f64::from(avpkt));
            let weight = if ns2 {
                let rule = settings.choice(AUTOWEIGHT.name).unwrap_or("delay");
                automatic_weight(rule, packets_per_second, link.delay)
            } else if adaptive {
                one_minus_exp(1.0 / packets_per_second)
            } else {
                0.002
            };
            config.weight = fraction(settings, WEIGHT.name, weight.max(1.0 / TWO_TO_32))?;
        } else if filter_shift(config.min, config.burst, avpkt).is_none() {
            let allowed = alloc::format!(
                "an average that settles: avpkt below min ({}) and burst of at least {}",
                config.min,
                u64::from(least) + 1
            );
            return Err(ConfigError::new(BURST.name, alloc::format!("{}", config.burst), allowed));
        }
        Ok(config)
    }

    fn to_settings(&self) -> Settings {
        let settings = Settings::new()
            .with("variant", Value::Choice(self.variant.name()))
            .with(LIMIT.name, Value::Bytes(u64::from(self.limit)))
            .with(MIN.name, Value::Bytes(u64::from(self.min)))
            .with(MAX.name, Value::Bytes(u64::from(self.max)))
            .with(AVPKT.name, Value::Bytes(u64::from(self.avpkt)))
            .with(BURST.name, Value::Packets(u64::from(self.burst)))
            .with(PROBABILITY.name, Value::Probability(self.probability))
            .with(BANDWIDTH.name, Value::Rate(self.bandwidth))
            .with(ADAPTIVE.name, Value::Flag(self.adaptive))
            .with(ECN.name, Value::Flag(self.ecn))
            .with(HARDDROP.name, Value::Flag(self.hard_drop))
            .with(NODROP.name, Value::Flag(self.no_drop));
        if self.variant == RedVariant::Linux {
            return settings;
        }
        let settings = settings
            .with(GENTLE.name, Value::Flag(self.gentle))
            .with(BYTEMODE.name, Value::Flag(self.byte_mode))
            .with(WEIGHT.name, Value::Probability(self.weight));
        match self.variant {
            RedVariant::Ns2 => settings.with(WAIT.name, Value::Flag(self.wait)),
            _ => settings,
        }
    }
}

impl Show for RedConfig {
    const SHOWN: &'static [Shown] = &[
        Shown::Setting(LIMIT.name),
        Shown::Setting(MIN.name),
        Shown::Setting(MAX.name),
        Shown::Flag(ECN.name),
        Shown::Flag(HARDDROP.name),
        Shown::Flag(ADAPTIVE.name),
        Shown::Flag(NODROP.name),
    ];
}

setters! {
    [] RedConfig,
    /// Sets `limit`: bytes that the queue holds. Default: 4 x max, at least 127 MTU; ns2: 50 avpkt.
    /// Range: 1 to 4294967295.
    with_limit(bytes);
    /// Sets `min`: average queue length below which nothing is dropped. Default: max / 3; 10 ms of
    /// the link rate, at least 1 MTU; floyd1993, ns2: 5 avpkt. Range: 1 to max - 1.
    with_min(bytes);
    /// Sets `max`: average queue length above which every packet is dropped. Default: 3 x min, or
    /// limit / 4; 2 MTU where min is 1 MTU by default. Range: min + 1 to 4294967295.
    with_max(bytes);
    /// Sets `avpkt`: typical packet length, which sets how fast the average decays on an idle link.
    /// Default: 1000, at most 2/3 MTU; ns2: 500. Range: 1 to 4294967295; linux: below min.
    with_avpkt(bytes);
    /// Sets `burst`: length of a burst that passes, which sets how slowly the average moves.
    /// Default: (2 min + max) / (3 avpkt). Range: at least min / avpkt.
    with_burst(packets);
    /// Sets `probability`: largest probability of an early drop. Default: 0.02; floyd1993 adaptive
    /// and ns2: 0.1. Range: above 0 (at least 2^-32), to 1.
    with_probability(probability);
    /// Sets `bandwidth`: rate at which the average decays on an idle link. Default: the link rate.
    /// Range: 8bit and more.
    with_bandwidth(rate);
    /// Sets `adaptive`: adapt the probability to keep the average halfway between min and max.
    /// Default: off.
    with_adaptive(flag);
    /// Sets `ecn`: mark ECN-capable packets instead of dropping them. Default: off.
    with_ecn(flag);
    /// Sets `harddrop`: above max, drop ECN-capable packets too. Default: off.
    with_harddrop(flag);
    /// Sets `nodrop`: enqueue packets that cannot be marked instead of dropping them. Default: off.
    /// Range: needs ecn.
    with_nodrop(flag);
    /// Sets `gentle`: let the probability rise to 1 between max and 2 x max, not jump. Default:
    /// off; on with adaptive and for ns2. Range: variants floyd1993 and ns2.
    with_gentle(flag);
    /// Sets `bytemode`: measure the queue in bytes, and drop in proportion to packet length.
    /// Default: off; ns2: on. Range: variants floyd1993 and ns2.
    with_bytemode(flag);
    /// Sets `weight`: weight of one sample in the average. Default: 0.002; with adaptive 1 -
    /// e^(-1/C), C in packets/s; ns2: see autoweight. Range: variants floyd1993 and ns2: above 0,
    /// to 1.
    with_weight(probability);
    /// Sets `wait`: after each drop, let 1/p packets pass before the next. Default: ns2: on. Range:
    /// variant ns2.
    with_wait(flag);
    /// Sets `autoweight`: rule for the default weight. delay: 1 - e^(-1/(10 R C)) with R = max(0.1
    /// s, 3 (link delay + 1/C)); rate: 1 - e^(-1/C); fast: 1 - e^(-10/C); C: link rate in
    /// packets/s. Default: delay. One of `delay`, `rate`, `fast`.
    with_autoweight(choice);
}

setters! { @variant [] RedConfig }

/// Returns the fraction set for `name`, or `default`. Linux counts it in units of 2^-32.
pub(crate) fn fraction(settings: &Settings, name: &'static str, default: f64) -> Result<f64, ConfigError> {
    let given = settings.probability(name).unwrap_or(default);
    let fits = given * TWO_TO_32 >= 1.0 && given <= 1.0;
    if fits { Ok(given) } else { Err(ConfigError::new(name, alloc::format!("{given}"), FRACTION_RANGE)) }
}

const KIND: Kind = Kind {
    name: "red",
    summary: "Drops arrivals with a probability that grows with the average queue length",
    reference: "Floyd and Jacobson 1993; Floyd et al. 2001; tc-red(8)",
    variants: &[
        Variant { name: "linux", doc: "Linux 6.1 and tc, bit for bit" },
        Variant { name: "floyd1993", doc: "Floyd and Jacobson 1993; with adaptive, Floyd et al. 2001" },
        Variant {
            name: "ns2",
            doc: "ns-2.35, which derives its parameters from the rate and delay of the link",
        },
    ],
    children: crate::config::Children::None,
    parameters: &[
        LIMIT,
        MIN,
        MAX,
        AVPKT,
        BURST,
        PROBABILITY,
        BANDWIDTH,
        ADAPTIVE,
        ECN,
        HARDDROP,
        NODROP,
        GENTLE,
        BYTEMODE,
        WEIGHT,
        WAIT,
        AUTOWEIGHT,
    ],
};

const FRACTION_RANGE: &str = "above 0 (at least 2^-32), to 1";
/// Smaller ones only serve to break the derived sizes.
const SMALLEST_MTU: u32 = 64;
pub(super) const TWO_TO_32: f64 = 4_294_967_296.0;
/// Floyd 2001: `interval`; Linux: HZ / 2.
pub(super) const ADAPT_INTERVAL: Duration = Duration::from_millis(500);

const LIMIT: Parameter = Parameter {
    name: "limit",
    unit: Unit::Bytes,
    default: "4 x max, at least 127 MTU; ns2: 50 avpkt",
    source: "room for the average to act; tc demands it; ns-2",
    range: "1 to 4294967295",
    doc: "bytes that the queue holds",
};

const MIN: Parameter = Parameter {
    name: "min",
    unit: Unit::Bytes,
    default: "max / 3; 10 ms of the link rate, at least 1 MTU; floyd1993, ns2: 5 avpkt",
    source: "tc; Høiland-Jørgensen et al. 2015; Floyd 1993, 2001; ns-2",
    range: "1 to max - 1",
    doc: "average queue length below which nothing is dropped",
};

pub(crate) const MAX: Parameter = Parameter {
    name: "max",
    unit: Unit::Bytes,
    default: "3 x min, or limit / 4; 2 MTU where min is 1 MTU by default",
    source: "tc; Høiland-Jørgensen et al. 2015",
    range: "min + 1 to 4294967295",
    doc: "average queue length above which every packet is dropped",
};

pub(crate) const AVPKT: Parameter = Parameter {
    name: "avpkt",
    unit: Unit::Bytes,
    default: "1000, at most 2/3 MTU; ns2: 500",
    source: "tc-red(8); ns-2",
    range: "1 to 4294967295; linux: below min",
    doc: "typical packet length, which sets how fast the average decays on an idle link",
};

pub(crate) const BURST: Parameter = Parameter {
    name: "burst",
    unit: Unit::Packets,
    default: "(2 min + max) / (3 avpkt)",
    source: "tc",
    range: "at least min / avpkt",
    doc: "length of a burst that passes, which sets how slowly the average moves",
};

pub(crate) const PROBABILITY: Parameter = Parameter {
    name: "probability",
    unit: Unit::Probability,
    default: "0.02; floyd1993 adaptive and ns2: 0.1",
    source: "tc; Floyd 2001; ns-2",
    range: FRACTION_RANGE,
    doc: "largest probability of an early drop",
};

pub(crate) const BANDWIDTH: Parameter = Parameter {
    name: "bandwidth",
    unit: Unit::Rate,
    default: "the link rate",
    source: "tc: 10mbit",
    range: "8bit and more",
    doc: "rate at which the average decays on an idle link",
};

/// A flag that is off by default and has no word that switches it off.
const fn flag(name: &'static str, range: &'static str, doc: &'static str) -> Parameter {
    Parameter { name, unit: Unit::Flag { off: None }, default: "off", source: "tc", range, doc }
}

const ADAPTIVE: Parameter =
    flag("adaptive", "", "adapt the probability to keep the average halfway between min and max");

const ECN: Parameter = flag("ecn", "", "mark ECN-capable packets instead of dropping them");

const HARDDROP: Parameter = flag("harddrop", "", "above max, drop ECN-capable packets too");

const NODROP: Parameter =
    flag("nodrop", "needs ecn", "enqueue packets that cannot be marked instead of dropping them");

const GENTLE: Parameter = Parameter {
    name: "gentle",
    unit: Unit::Flag { off: Some("nogentle") },
    default: "off; on with adaptive and for ns2",
    source: "Floyd 2000, 2001; ns-2",
    range: "variants floyd1993 and ns2",
    doc: "let the probability rise to 1 between max and 2 x max, not jump",
};

const BYTEMODE: Parameter = Parameter {
    name: "bytemode",
    unit: Unit::Flag { off: Some("nobytemode") },
    default: "off; ns2: on",
    source: "Floyd and Jacobson 1993; ns-2",
    range: "variants floyd1993 and ns2",
    doc: "measure the queue in bytes, and drop in proportion to packet length",
};

const WEIGHT: Parameter = Parameter {
    name: "weight",
    unit: Unit::Probability,
    default: "0.002; with adaptive 1 - e^(-1/C), C in packets/s; ns2: see autoweight",
    source: "Floyd and Jacobson 1993; Floyd 2001; ns-2",
    range: "variants floyd1993 and ns2: above 0, to 1",
    doc: "weight of one sample in the average",
};

const WAIT: Parameter = Parameter {
    name: "wait",
    unit: Unit::Flag { off: Some("nowait") },
    default: "ns2: on",
    source: "ns-2",
    range: "variant ns2",
    doc: "after each drop, let 1/p packets pass before the next",
};

const AUTOWEIGHT: Parameter = Parameter {
    name: "autoweight",
    unit: Unit::Choice(&["delay", "rate", "fast"]),
    default: "delay",
    source: "ns-2: q_weight -1, 0, -2",
    range: "variant ns2",
    doc: "rule for the default weight. delay: 1 - e^(-1/(10 R C)) with R = max(0.1 s, 3 (link delay + 1/C)); rate: 1 - e^(-1/C); fast: 1 - e^(-10/C); C: link rate in packets/s",
};
