//! The parameters of `sfq`: limits that depend on each other, and RED on each flow.

use super::{FlowRed, SfqConfig, SfqVariant};
use crate::config::{ConfigError, Configure, Kind, Link, Parameter, Settings, Unit, Value, Variant};
use crate::red::linux::{Law, Terms};
use crate::red::{self, filter_shift};
use crate::shown::{Show, Shown};
use crate::time::Duration;
use crate::typed::setters;

impl SfqVariant {
    const fn name(self) -> &'static str {
        match self {
            Self::Linux => "linux",
            Self::McKenney1990 => "mckenney1990",
            Self::Ns2 => "ns2",
        }
    }
}

impl SfqConfig {
    /// Packets that the queue holds.
    #[must_use]
    pub const fn limit(&self) -> u32 {
        self.limit
    }

    /// Packets that one flow may have queued.
    #[must_use]
    pub const fn depth(&self) -> u32 {
        self.depth
    }

    /// Largest number of flows with queued packets.
    #[must_use]
    pub const fn flows(&self) -> u32 {
        self.flows
    }

    /// Bytes that a flow sends per round.
    #[must_use]
    pub const fn quantum(&self) -> u32 {
        self.quantum
    }

    /// Brings the limits that depend on each other into agreement, as Linux does. Every minimum
    /// is 1.
    fn consistent(mut self) -> Self {
        self.flows = self.flows.min(self.divisor);
        self.limit = self.limit.min(self.depth.saturating_mul(self.flows));
        self.flows = self.flows.min(self.limit);
        self
    }
}

impl Configure for SfqConfig {
    const KIND: Kind = KIND;

    fn from_checked(settings: &Settings, link: &Link) -> Result<Self, ConfigError> {
        let divisor = settings.small_or(DIVISOR.name, 1, MAX_DIVISOR, 1024)?;
        if !divisor.is_power_of_two() {
            return Err(ConfigError::new(DIVISOR.name, alloc::format!("{divisor}"), DIVISOR_RANGE));
        }
        let perturb = settings.time(PERTURB.name).unwrap_or_default();
        let variant = match settings.choice("variant") {
            Some("mckenney1990") => SfqVariant::McKenney1990,
            Some("ns2") => SfqVariant::Ns2,
            _ => SfqVariant::Linux,
        };
        if perturb > MAX_PERTURB {
            return Err(ConfigError::new(PERTURB.name, alloc::format!("{perturb}"), PERTURB_RANGE));
        }
        let config = Self {
            red: FlowRed::from_settings(settings)?,
            limit: settings.small_or(LIMIT.name, 1, u64::from(u32::MAX), 127)?,
            depth: settings.small_or(DEPTH.name, 1, MAX_DEPTH, 127)?,
            flows: settings.small_or(FLOWS.name, 1, MAX_FLOWS, 128)?,
            divisor,
            quantum: settings.small_or(
                QUANTUM.name,
                1,
                MAX_QUANTUM,
                link.mtu.clamp(1, i32::MAX.unsigned_abs()),
            )?,
            perturb,
            head_drop: settings.flag(HEADDROP.name).unwrap_or(false),
            variant,
        };
        Ok(config.consistent())
    }

    fn to_settings(&self) -> Settings {
        let settings = Settings::new()
            .with(LIMIT.name, Value::Packets(u64::from(self.limit)))
            .with(DEPTH.name, Value::Packets(u64::from(self.depth)))
            .with(FLOWS.name, Value::Integer(u64::from(self.flows)))
            .with(DIVISOR.name, Value::Integer(u64::from(self.divisor)))
            .with(QUANTUM.name, Value::Bytes(u64::from(self.quantum)))
            .with(PERTURB.name, Value::Time(self.perturb))
            .with(HEADDROP.name, Value::Flag(self.head_drop))
            .with("variant", Value::Choice(self.variant.name()));
        let Some(red) = &self.red else { return settings };
        settings
            .with(REDFLOWLIMIT.name, Value::Bytes(u64::from(red.limit)))
            .with(MIN.name, Value::Bytes(u64::from(red.min)))
            .with(MAX.name, Value::Bytes(u64::from(red.max)))
            .with(AVPKT.name, Value::Bytes(u64::from(red.avpkt)))
            .with(BURST.name, Value::Packets(u64::from(red.burst)))
            .with(PROBABILITY.name, Value::Probability(red.probability))
            .with(ECN.name, Value::Flag(red.ecn))
            .with(HARDDROP.name, Value::Flag(red.hard_drop))
    }
}

impl Show for SfqConfig {
    const SHOWN: &'static [Shown] = &[
        Shown::Setting(LIMIT.name),
        Shown::Setting(QUANTUM.name),
        Shown::Setting(DEPTH.name),
        Shown::Setting(DIVISOR.name),
        Shown::Computed(PERTURB.name, |settings| {
            let span = settings.time(PERTURB.name).filter(|span| !span.is_zero())?;
            Some(Value::Integer(span.as_nanos() / 1_000_000_000).into())
        }),
        // These are set only with `redflowlimit`.
        Shown::Setting(MIN.name),
        Shown::Setting(MAX.name),
        Shown::Setting(PROBABILITY.name),
        Shown::Setting(ECN.name),
        Shown::Setting(HARDDROP.name),
    ];
}

setters! {
    [] SfqConfig,
    /// Sets `limit`: packets that the queue holds. Default: 127p. Range: 1 to 4294967295; limited
    /// to depth x flows.
    with_limit(packets);
    /// Sets `depth`: packets that one flow may have queued. Default: 127p. Range: 1 to 127.
    with_depth(packets);
    /// Sets `flows`: number of flows that can have packets queued at once. Default: 128. Range: 1
    /// to 65408; limited to divisor and to limit.
    with_flows(integer);
    /// Sets `divisor`: number of hash buckets. Default: 1024. Range: a power of 2 from 1 to 65536.
    with_divisor(integer);
    /// Sets `quantum`: bytes that a flow sends per turn. Default: MTU. Range: 1 to 2147483647.
    with_quantum(bytes);
    /// Sets `perturb`: time between changes of the hash function; 0: never. Default: 0. Range: 0 to
    /// 1000000s.
    with_perturb(time);
    /// Sets `headdrop`: drop the oldest packet of a flow, not the youngest. Default: off.
    with_headdrop(flag);
    /// Sets `redflowlimit`: bytes that a flow may have queued; switches on RED for each flow.
    /// Default: none. Range: 1 to 4294967295.
    with_redflowlimit(bytes);
    /// Sets `min`: average backlog of a flow above which packets are signalled. Default: max / 3.
    /// Range: needs redflowlimit.
    with_min(bytes);
    /// Sets `max`: average backlog above which every packet is signalled. Default: redflowlimit /
    /// 4. Range: needs redflowlimit.
    with_max(bytes);
    /// Sets `avpkt`: typical packet length, from which the averaging filter is computed. Default:
    /// 1000. Range: needs redflowlimit.
    with_avpkt(bytes);
    /// Sets `burst`: length of a burst that passes without a signal. Default: (2 min + max) / (3
    /// avpkt). Range: needs redflowlimit.
    with_burst(packets);
    /// Sets `probability`: probability of a signal at `max`. Default: 0.02. Range: needs
    /// redflowlimit.
    with_probability(probability);
    /// Sets `ecn`: mark ECN-capable packets instead of dropping them. Default: off. Range: needs
    /// redflowlimit.
    with_ecn(flag);
    /// Sets `harddrop`: above max, drop ECN-capable packets too. Default: off. Range: needs
    /// redflowlimit.
    with_harddrop(flag);
}

setters! { @variant [] SfqConfig }

impl FlowRed {
    /// tc's defaults; `None` if no RED is asked for.
    fn from_settings(settings: &Settings) -> Result<Option<Self>, ConfigError> {
        let number = |name| settings.small(name, 1, u64::from(u32::MAX));
        let Some(limit) = number(REDFLOWLIMIT.name)? else {
            let first = [MIN, MAX, AVPKT, BURST, PROBABILITY, ECN, HARDDROP]
                .map(|parameter| parameter.name)
                .into_iter()
                .find(|name| settings.get(name).is_some_and(|value| value != Value::Flag(false)));
            return match first {
                Some(name) => Err(ConfigError::new(name, "", "nothing without `redflowlimit`")),
                None => Ok(None),
            };
        };
        let (given_min, given_max) = (number(MIN.name)?, number(MAX.name)?);
        let max = given_max.unwrap_or(limit / 4);
        let min = given_min.unwrap_or(max / 3);
        if min == 0 || max <= min {
            let (name, value) = if given_max.is_some() { (MAX.name, max) } else { (MIN.name, min) };
            let allowed = alloc::format!("0 < min < max (min is {min}, max is {max})");
            return Err(ConfigError::new(name, alloc::format!("{value}"), allowed));
        }
        let avpkt = number(AVPKT.name)?.unwrap_or(1000);
        let sum = u64::from(min) * 2 + u64::from(max);
        let derived = u32::try_from(sum / (3 * u64::from(avpkt))).unwrap_or(u32::MAX).max(1);
        let burst = number(BURST.name)?.unwrap_or(derived);
        let shift = filter_shift(min, burst, avpkt).ok_or_else(|| {
            let allowed = alloc::format!("more than min / avpkt, which is {}", min / avpkt);
            ConfigError::new(BURST.name, alloc::format!("{burst}"), allowed)
        })?;
        let probability = red::fraction(settings, PROBABILITY.name, 0.02)?;
        let terms = Terms::of(&Law { min, max, shift, unit: 1, probability, packet_time: Duration::ZERO });
        let flag = |name| settings.flag(name).unwrap_or(false);
        let (ecn, hard_drop) = (flag(ECN.name), flag(HARDDROP.name));
        Ok(Some(Self { limit, min, max, avpkt, burst, probability, ecn, hard_drop, terms }))
    }
}

const KIND: Kind = Kind {
    name: "sfq",
    summary: "Stochastic fairness: flows hashed into FIFOs served in turn, the longest loses when full; no AQM",
    reference: "McKenney 1990; tc-sfq(8)",
    variants: &[
        Variant { name: "linux", doc: "Linux 6.1; byte quanta, depth and headdrop" },
        Variant { name: "mckenney1990", doc: "the paper; one packet per turn, whatever its length" },
        Variant {
            name: "ns2",
            doc: "ns-2.35; one packet per turn, and arrivals of flows with many packets are dropped when little room is left",
        },
    ],
    children: crate::config::Children::None,
    parameters: &[
        LIMIT,
        DEPTH,
        FLOWS,
        DIVISOR,
        QUANTUM,
        PERTURB,
        HEADDROP,
        REDFLOWLIMIT,
        MIN,
        MAX,
        AVPKT,
        BURST,
        PROBABILITY,
        ECN,
        HARDDROP,
    ],
};

const fn of_red(name: &'static str, unit: Unit, default: &'static str, doc: &'static str) -> Parameter {
    Parameter { name, unit, default, source: "tc-sfq(8)", range: "needs redflowlimit", doc }
}

const DIVISOR_RANGE: &str = "a power of 2 from 1 to 65536";
const PERTURB_RANGE: &str = "0 to 1000000s";

/// Linux: a slot number and a depth share 16 bits.
const MAX_FLOWS: u64 = 65408;
const MAX_DEPTH: u64 = 127;
const MAX_DIVISOR: u64 = 65536;
const MAX_QUANTUM: u64 = i32::MAX.unsigned_abs() as u64;
const MAX_PERTURB: Duration = Duration::from_secs(1_000_000);

const LIMIT: Parameter = Parameter {
    name: "limit",
    unit: Unit::Packets,
    default: "127p",
    source: "Linux sch_sfq",
    range: "1 to 4294967295; limited to depth x flows",
    doc: "packets that the queue holds",
};

const DEPTH: Parameter = Parameter {
    name: "depth",
    unit: Unit::Packets,
    default: "127p",
    source: "Linux sch_sfq",
    range: "1 to 127",
    doc: "packets that one flow may have queued",
};

const FLOWS: Parameter = Parameter {
    name: "flows",
    unit: Unit::Integer,
    default: "128",
    source: "Linux sch_sfq",
    range: "1 to 65408; limited to divisor and to limit",
    doc: "number of flows that can have packets queued at once",
};

const DIVISOR: Parameter = Parameter {
    name: "divisor",
    unit: Unit::Integer,
    default: "1024",
    source: "Linux sch_sfq",
    range: DIVISOR_RANGE,
    doc: "number of hash buckets",
};

const QUANTUM: Parameter = Parameter {
    name: "quantum",
    unit: Unit::Bytes,
    default: "MTU",
    source: "Linux sch_sfq",
    range: "1 to 2147483647",
    doc: "bytes that a flow sends per turn",
};

const PERTURB: Parameter = Parameter {
    name: "perturb",
    unit: Unit::Seconds,
    default: "0",
    source: "Linux sch_sfq",
    range: PERTURB_RANGE,
    doc: "time between changes of the hash function; 0: never",
};

const HEADDROP: Parameter = Parameter {
    name: "headdrop",
    unit: Unit::Flag { off: None },
    default: "off",
    source: "Linux sch_sfq",
    range: "",
    doc: "drop the oldest packet of a flow, not the youngest",
};

const REDFLOWLIMIT: Parameter = Parameter {
    range: "1 to 4294967295",
    ..of_red(
        "redflowlimit",
        Unit::Bytes,
        "none",
        "bytes that a flow may have queued; switches on RED for each flow",
    )
};

const MIN: Parameter =
    of_red("min", Unit::Bytes, "max / 3", "average backlog of a flow above which packets are signalled");

const MAX: Parameter =
    of_red("max", Unit::Bytes, "redflowlimit / 4", "average backlog above which every packet is signalled");

const AVPKT: Parameter = of_red(
    "avpkt",
    Unit::Bytes,
    "1000",
    "typical packet length, from which the averaging filter is computed",
);

const BURST: Parameter = of_red(
    "burst",
    Unit::Packets,
    "(2 min + max) / (3 avpkt)",
    "length of a burst that passes without a signal",
);

const PROBABILITY: Parameter =
    of_red("probability", Unit::Probability, "0.02", "probability of a signal at `max`");

const ECN: Parameter =
    of_red("ecn", Unit::Flag { off: None }, "off", "mark ECN-capable packets instead of dropping them");

const HARDDROP: Parameter =
    of_red("harddrop", Unit::Flag { off: None }, "off", "above max, drop ECN-capable packets too");
