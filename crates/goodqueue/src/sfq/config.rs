//! The parameters of `sfq`: limits that depend on each other, and RED on each flow.

use super::{FlowRed, SfqConfig, SfqVariant};
use crate::config::{ConfigError, Configure, Kind, Link, Settings, Value, Variant};
use crate::red::linux::{Law, Terms};
use crate::red::{self, filter_shift};
use crate::shown::{Show, Shown};
use crate::time::Duration;
use crate::typed::{in_variants, parameters};

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
        // The limit may just have become lower, and no more flows than packets can be queued.
        self.flows = self.flows.min(self.limit);
        self
    }
}

impl Configure for SfqConfig {
    const KIND: Kind = KIND;

    fn from_checked(settings: &Settings, link: &Link) -> Result<Self, ConfigError> {
        let variant = match settings.choice("variant") {
            Some("mckenney1990") => SfqVariant::McKenney1990,
            Some("ns2") => SfqVariant::Ns2,
            _ => SfqVariant::Linux,
        };
        let config = Self {
            red: FlowRed::from_settings(settings)?,
            limit: LIMIT.read(settings)?,
            depth: DEPTH.read(settings)?,
            flows: FLOWS.read(settings)?,
            divisor: DIVISOR.read(settings)?,
            // The MTU of a link may be outside the range of the parameter.
            quantum: QUANTUM.read_or(settings, link.mtu.clamp(1, i32::MAX.unsigned_abs()))?,
            perturb: PERTURB.read(settings)?,
            head_drop: HEADDROP.read(settings)?,
            variant,
        };
        Ok(config.consistent())
    }

    fn to_settings(&self) -> Settings {
        let settings = Settings::new()
            .and(&LIMIT, self.limit)
            .and(&DEPTH, self.depth)
            .and(&FLOWS, self.flows)
            .and(&DIVISOR, self.divisor)
            .and(&QUANTUM, self.quantum)
            .and(&PERTURB, self.perturb)
            .and(&HEADDROP, self.head_drop)
            .with("variant", Value::Choice(self.variant.name()));
        let Some(red) = &self.red else { return settings };
        settings
            .and(&REDFLOWLIMIT, red.limit)
            .and(&MIN, red.min)
            .and(&MAX, red.max)
            .and(&AVPKT, red.avpkt)
            .and(&BURST, red.burst)
            .and(&PROBABILITY, red.probability)
            .and(&ECN, red.ecn)
            .and(&HARDDROP, red.hard_drop)
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

parameters! {
    PARAMETERS of [] SfqConfig;
    /// packets that the queue holds
    LIMIT: packets "limit", with_limit {
        default: 127,
        range: 1..=4_294_967_295,
        condition: "limited to depth x flows",
        source: "Linux sch_sfq",
    };
    // Linux: `SFQ_MAX_DEPTH`.
    /// packets that one flow may have queued
    DEPTH: packets "depth", with_depth { default: 127, range: 1..=127, source: "Linux sch_sfq" };
    // Linux: `SFQ_MAX_FLOWS`. Its indices of 16 bits also name the list of each depth, 0 to 127.
    /// number of flows that can have packets queued at once
    FLOWS: integer "flows", with_flows {
        default: 128,
        range: 1..=65_408,
        condition: "limited to divisor and to limit",
        source: "Linux sch_sfq",
    };
    /// number of hash buckets
    DIVISOR: integer "divisor", with_divisor {
        default: 1024,
        powers_of_two: 1..=65_536,
        source: "Linux sch_sfq",
    };
    /// bytes that a flow sends per turn
    QUANTUM: bytes "quantum", with_quantum {
        derived: "MTU",
        range: 1..=2_147_483_647,
        source: "Linux sch_sfq",
    };
    /// time between changes of the hash function; 0: never
    PERTURB: seconds "perturb", with_perturb {
        default: Duration::ZERO,
        range: Duration::ZERO..=Duration::from_secs(1_000_000),
        source: "Linux sch_sfq",
    };
    /// drop the oldest packet of a flow, not the youngest
    HEADDROP: flag "headdrop", with_headdrop { default: false, source: "Linux sch_sfq" };
    /// bytes that a flow may have queued; switches on RED for each flow
    REDFLOWLIMIT: bytes "redflowlimit", with_redflowlimit {
        derived: "none",
        range: 1..=4_294_967_295,
        source: "tc-sfq(8)",
    };
    /// average backlog of a flow above which packets are signalled
    MIN: bytes "min", with_min {
        derived: "max / 3",
        range: 1..=4_294_967_295,
        range_in_words: "needs redflowlimit",
        source: "tc-sfq(8)",
    };
    /// average backlog above which every packet is signalled
    MAX: bytes "max", with_max {
        derived: "redflowlimit / 4",
        range: 1..=4_294_967_295,
        range_in_words: "needs redflowlimit",
        source: "tc-sfq(8)",
    };
    /// typical packet length, from which the averaging filter is computed
    AVPKT: bytes "avpkt", with_avpkt {
        default: 1000,
        range: 1..=4_294_967_295,
        range_in_words: "needs redflowlimit",
        source: "tc-sfq(8)",
    };
    /// length of a burst that passes without a signal
    BURST: packets "burst", with_burst {
        derived: "(2 min + max) / (3 avpkt)",
        range: 1..=4_294_967_295,
        range_in_words: "needs redflowlimit",
        source: "tc-sfq(8)",
    };
    /// probability of a signal at `max`
    PROBABILITY: probability "probability", with_probability {
        default: 0.02,
        range: red::SMALLEST_FRACTION..=1.0,
        range_in_words: "above 0 (at least 2^-32), to 1; needs redflowlimit",
        source: "tc-sfq(8)",
    };
    /// mark ECN-capable packets instead of dropping them
    ECN: flag "ecn", with_ecn { default: false, condition: "needs redflowlimit", source: "tc-sfq(8)" };
    /// above max, drop ECN-capable packets too
    HARDDROP: flag "harddrop", with_harddrop {
        default: false,
        condition: "needs redflowlimit",
        source: "tc-sfq(8)",
    };
}

in_variants! { [] SfqConfig }

impl FlowRed {
    /// tc's defaults; `None` if no RED is asked for.
    fn from_settings(settings: &Settings) -> Result<Option<Self>, ConfigError> {
        let Some(limit) = REDFLOWLIMIT.given::<u32>(settings)? else {
            let first = [MIN, MAX, AVPKT, BURST, PROBABILITY, ECN, HARDDROP]
                .map(|parameter| parameter.name)
                .into_iter()
                // A flag that is off asks for nothing.
                .find(|name| settings.get(name).is_some_and(|value| value != Value::Flag(false)));
            return match first {
                Some(name) => Err(ConfigError::new(name, "", "nothing without `redflowlimit`")),
                None => Ok(None),
            };
        };
        let max = MAX.read_or(settings, limit / 4)?;
        let min = MIN.read_or(settings, max / 3)?;
        if min == 0 || max <= min {
            let (name, value) =
                if settings.get(MAX.name).is_some() { (MAX.name, max) } else { (MIN.name, min) };
            let allowed = alloc::format!("0 < min < max (min is {min}, max is {max})");
            return Err(ConfigError::new(name, alloc::format!("{value}"), allowed));
        }
        let avpkt = AVPKT.read::<u32>(settings)?;
        let sum = u64::from(min) * 2 + u64::from(max);
        let derived = u32::try_from(sum / (3 * u64::from(avpkt))).unwrap_or(u32::MAX).max(1);
        let burst = BURST.read_or(settings, derived)?;
        let shift = filter_shift(min, burst, avpkt).ok_or_else(|| {
            let allowed = alloc::format!("more than min / avpkt, which is {}", min / avpkt);
            ConfigError::new(BURST.name, alloc::format!("{burst}"), allowed)
        })?;
        let probability = PROBABILITY.read(settings)?;
        let terms =
            Terms::from_law(&Law { min, max, shift, unit: 1, probability, packet_time: Duration::ZERO });
        let ecn = ECN.read(settings)?;
        let hard_drop = HARDDROP.read(settings)?;
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
    parameters: PARAMETERS,
};
