//! What can be set of `sfq`: its limits, which depend on each other, and RED on each flow.

use super::{FlowRed, SfqConfig, SfqVariant};
use crate::config::{ConfigError, Configure, Kind, Link, Parameter, Settings, Unit, Value, Variant};
use crate::red::linux::{Law, Terms};
use crate::red::{TWO_TO_32, filter_shift};
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

    /// Flows that may be queued at once.
    #[must_use]
    pub const fn flows(&self) -> u32 {
        self.flows
    }

    /// What a flow sends per round, in bytes.
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
        let number = |name, high, default: u32| -> Result<u32, ConfigError> {
            let given = settings.number(name, 1, high)?;
            Ok(given.and_then(|value| u32::try_from(value).ok()).unwrap_or(default))
        };
        let divisor = number("divisor", MAX_DIVISOR, 1024)?;
        if !divisor.is_power_of_two() {
            return Err(ConfigError::new("divisor", alloc::format!("{divisor}"), DIVISOR_RANGE));
        }
        let perturb = settings.time("perturb").unwrap_or_default();
        let variant = match settings.choice("variant") {
            Some("mckenney1990") => SfqVariant::McKenney1990,
            Some("ns2") => SfqVariant::Ns2,
            _ => SfqVariant::Linux,
        };
        if perturb > MAX_PERTURB {
            return Err(ConfigError::new("perturb", alloc::format!("{perturb}"), PERTURB_RANGE));
        }
        let config = Self {
            red: FlowRed::from_settings(settings)?,
            limit: number("limit", u64::from(u32::MAX), 127)?,
            depth: number("depth", MAX_DEPTH, 127)?,
            flows: number("flows", MAX_FLOWS, 128)?,
            divisor,
            quantum: number("quantum", MAX_QUANTUM, link.mtu.clamp(1, i32::MAX.unsigned_abs()))?,
            perturb,
            head_drop: settings.flag("headdrop").unwrap_or(false),
            variant,
        };
        Ok(config.consistent())
    }

    fn to_settings(&self) -> Settings {
        let settings = Settings::new()
            .with("limit", Value::Packets(u64::from(self.limit)))
            .with("depth", Value::Packets(u64::from(self.depth)))
            .with("flows", Value::Integer(u64::from(self.flows)))
            .with("divisor", Value::Integer(u64::from(self.divisor)))
            .with("quantum", Value::Bytes(u64::from(self.quantum)))
            .with("perturb", Value::Time(self.perturb))
            .with("headdrop", Value::Flag(self.head_drop))
            .with("variant", Value::Choice(self.variant.name()));
        let Some(red) = &self.red else { return settings };
        settings
            .with("redflowlimit", Value::Bytes(u64::from(red.limit)))
            .with("min", Value::Bytes(u64::from(red.min)))
            .with("max", Value::Bytes(u64::from(red.max)))
            .with("avpkt", Value::Bytes(u64::from(red.avpkt)))
            .with("burst", Value::Packets(u64::from(red.burst)))
            .with("probability", Value::Probability(red.probability))
            .with("ecn", Value::Flag(red.ecn))
            .with("harddrop", Value::Flag(red.hard_drop))
    }
}

setters! {
    [] SfqConfig,
    /// Sets `limit`: packets that the queue holds. Default: 127p. Range: 1 to 4294967295; more than
    /// depth x flows counts as that.
    with_limit(packets);
    /// Sets `depth`: packets that one flow may have queued. Default: 127p. Range: 1 to 127.
    with_depth(packets);
    /// Sets `flows`: flows that may be queued at once. Default: 128. Range: 1 to 65408; more than
    /// divisor or limit counts as that.
    with_flows(integer);
    /// Sets `divisor`: buckets of the hash table. Default: 1024. Range: a power of 2 from 1
    /// to 65536.
    with_divisor(integer);
    /// Sets `quantum`: bytes that a flow sends before the next one's turn. Default: MTU. Range: 1
    /// to 2147483647.
    with_quantum(bytes);
    /// Sets `perturb`: time between changes of the hash function; 0: never. Default: 0. Range: 0 to
    /// 1000000s.
    with_perturb(time);
    /// Sets `headdrop`: drop the oldest packet of a flow, not the youngest. Default: off.
    with_headdrop(flag);
    /// Sets `redflowlimit`: turns on RED in each flow; `max` is a quarter of it. Default: none.
    /// Range: with redflowlimit.
    with_redflowlimit(bytes);
    /// Sets `min`: average of a flow's bytes from which on it is signalled. Default: max / 3.
    /// Range: with redflowlimit.
    with_min(bytes);
    /// Sets `max`: average from which on every packet is signalled. Default: redflowlimit / 4.
    /// Range: with redflowlimit.
    with_max(bytes);
    /// Sets `avpkt`: a typical packet, with which the filter is computed. Default: 1000. Range:
    /// with redflowlimit.
    with_avpkt(bytes);
    /// Sets `burst`: packets of a burst that the filter lets pass. Default: (2 min + max) / (3
    /// avpkt). Range: with redflowlimit.
    with_burst(packets);
    /// Sets `probability`: probability of a signal at `max`. Default: 0.02. Range: with
    /// redflowlimit.
    with_probability(probability);
    /// Sets `ecn`: mark CE where possible instead of dropping. Default: off. Range: with
    /// redflowlimit.
    with_ecn(flag);
    /// Sets `harddrop`: above `max` drop, even with `ecn`. Default: off. Range: with redflowlimit.
    with_harddrop(flag);
}

setters! { @variant [] SfqConfig }

impl FlowRed {
    /// tc's defaults; `None` if no RED is asked for.
    fn from_settings(settings: &Settings) -> Result<Option<Self>, ConfigError> {
        let number = |name| -> Result<Option<u32>, ConfigError> {
            let given = settings.number(name, 1, u64::from(u32::MAX))?;
            Ok(given.and_then(|value| u32::try_from(value).ok()))
        };
        let Some(limit) = number("redflowlimit")? else {
            let first = ["min", "max", "avpkt", "burst", "probability", "ecn", "harddrop"]
                .into_iter()
                .find(|name| settings.get(name).is_some_and(|value| value != Value::Flag(false)));
            return match first {
                Some(name) => Err(ConfigError::new(name, "", "nothing without `redflowlimit`")),
                None => Ok(None),
            };
        };
        let (given_min, given_max) = (number("min")?, number("max")?);
        let max = given_max.unwrap_or(limit / 4);
        let min = given_min.unwrap_or(max / 3);
        if min == 0 || max <= min {
            let (name, value) = if given_max.is_some() { ("max", max) } else { ("min", min) };
            let allowed = alloc::format!("0 < min < max (min is {min}, max is {max})");
            return Err(ConfigError::new(name, alloc::format!("{value}"), allowed));
        }
        let avpkt = number("avpkt")?.unwrap_or(1000);
        let sum = u64::from(min) * 2 + u64::from(max);
        let derived = u32::try_from(sum / (3 * u64::from(avpkt))).unwrap_or(u32::MAX).max(1);
        let burst = number("burst")?.unwrap_or(derived);
        let shift = filter_shift(min, burst, avpkt).ok_or_else(|| {
            let allowed = alloc::format!("more than min / avpkt, which is {}", min / avpkt);
            ConfigError::new("burst", alloc::format!("{burst}"), allowed)
        })?;
        let probability = settings.probability("probability").unwrap_or(0.02);
        if !(probability * TWO_TO_32 >= 1.0 && probability <= 1.0) {
            return Err(ConfigError::new("probability", alloc::format!("{probability}"), "2^-32 to 1"));
        }
        let terms = Terms::of(&Law { min, max, shift, unit: 1, probability, packet_time: Duration::ZERO });
        let flag = |name| settings.flag(name).unwrap_or(false);
        let (ecn, hard_drop) = (flag("ecn"), flag("harddrop"));
        Ok(Some(Self { limit, min, max, avpkt, burst, probability, ecn, hard_drop, terms }))
    }
}

const KIND: Kind = Kind {
    name: "sfq",
    summary: "Stochastic fairness: flows hashed into FIFOs served in turn, the longest loses when full; no AQM",
    reference: "McKenney 1990; tc-sfq(8)",
    variants: &[
        Variant { name: "linux", doc: "Linux 6.1: byte quanta, depth and headdrop" },
        Variant { name: "mckenney1990", doc: "the paper: a packet a turn, whatever its length" },
        Variant {
            name: "ns2",
            doc: "ns-2.35: the same, and a flow is refused packets when little room is left",
        },
    ],
    children: crate::config::Children::None,
    parameters: &[
        Parameter {
            name: "limit",
            unit: Unit::Packets,
            default: "127p",
            source: "Linux sch_sfq",
            range: "1 to 4294967295; more than depth x flows counts as that",
            doc: "packets that the queue holds",
        },
        Parameter {
            name: "depth",
            unit: Unit::Packets,
            default: "127p",
            source: "Linux sch_sfq",
            range: "1 to 127",
            doc: "packets that one flow may have queued",
        },
        Parameter {
            name: "flows",
            unit: Unit::Integer,
            default: "128",
            source: "Linux sch_sfq",
            range: "1 to 65408; more than divisor or limit counts as that",
            doc: "flows that may be queued at once",
        },
        Parameter {
            name: "divisor",
            unit: Unit::Integer,
            default: "1024",
            source: "Linux sch_sfq",
            range: DIVISOR_RANGE,
            doc: "buckets of the hash table",
        },
        Parameter {
            name: "quantum",
            unit: Unit::Bytes,
            default: "MTU",
            source: "Linux sch_sfq",
            range: "1 to 2147483647",
            doc: "bytes that a flow sends before the next one's turn",
        },
        Parameter {
            name: "perturb",
            unit: Unit::Seconds,
            default: "0",
            source: "Linux sch_sfq",
            range: PERTURB_RANGE,
            doc: "time between changes of the hash function; 0: never",
        },
        Parameter {
            name: "headdrop",
            unit: Unit::Flag { off: None },
            default: "off",
            source: "Linux sch_sfq",
            range: "",
            doc: "drop the oldest packet of a flow, not the youngest",
        },
        of_red("redflowlimit", Unit::Bytes, "none", "turns on RED in each flow; `max` is a quarter of it"),
        of_red("min", Unit::Bytes, "max / 3", "average of a flow's bytes from which on it is signalled"),
        of_red("max", Unit::Bytes, "redflowlimit / 4", "average from which on every packet is signalled"),
        of_red("avpkt", Unit::Bytes, "1000", "a typical packet, with which the filter is computed"),
        of_red(
            "burst",
            Unit::Packets,
            "(2 min + max) / (3 avpkt)",
            "packets of a burst that the filter lets pass",
        ),
        of_red("probability", Unit::Probability, "0.02", "probability of a signal at `max`"),
        of_red("ecn", Unit::Flag { off: None }, "off", "mark CE where possible instead of dropping"),
        of_red("harddrop", Unit::Flag { off: None }, "off", "above `max` drop, even with `ecn`"),
    ],
};

const fn of_red(name: &'static str, unit: Unit, default: &'static str, doc: &'static str) -> Parameter {
    Parameter { name, unit, default, source: "tc-sfq(8)", range: "with redflowlimit", doc }
}

const DIVISOR_RANGE: &str = "a power of 2 from 1 to 65536";
const PERTURB_RANGE: &str = "0 to 1000000s";

/// Linux: a slot number and a depth share 16 bits.
const MAX_FLOWS: u64 = 65408;
const MAX_DEPTH: u64 = 127;
const MAX_DIVISOR: u64 = 65536;
const MAX_QUANTUM: u64 = i32::MAX.unsigned_abs() as u64;
const MAX_PERTURB: Duration = Duration::from_secs(1_000_000);
