//! The parameters of `red`, and the values that follow from them.

use super::weight::{automatic_weight, filter_shift, one_minus_exp};
use crate::config::{ConfigError, Configure, Kind, Link, Settings, Value, Variant};
use crate::jiffies;
use crate::shown::{Show, Shown};
use crate::time::{Duration, Instant, Rate};
use crate::typed::{in_variants, parameters};

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
                // The default limit of four times max, so twelve times this, fits in 32 bits.
                if part < mtu { (mtu, mtu.saturating_mul(2)) } else { (part.min(u32::MAX / 12), 0) }
            }
            (RedVariant::Linux, Some(limit), None, None) => (0, limit / 4),
            (RedVariant::Floyd1993, _, None, None) => {
                // Adaptive RED's min_th is half of the queue of 5 ms, and at least 5 packets
                // (Floyd, Gummadi & Shenker 2001).
                let packets = self.avpkt.saturating_mul(5);
                let part =
                    if self.adaptive { self.bandwidth.bytes_in(Duration::from_millis(5)) / 2 } else { 0 };
                (packets.max(u32::try_from(part).unwrap_or(u32::MAX)).min(u32::MAX / 12), 0)
            }
            // ns-2: half of what the link carries in 5 ms, at least five packets, and three times
            // that.
            (RedVariant::Ns2, _, None, None) => {
                let part = self.bandwidth.bytes_in(Duration::from_millis(5));
                // Both are halved at the end, so that max is three times a min with its half byte.
                let part = part.max(u64::from(self.avpkt).saturating_mul(10)).min(u64::from(u32::MAX / 12));
                let half = |bytes: u64| u32::try_from(bytes.div_ceil(2)).unwrap_or(u32::MAX);
                (half(part), half(part * 3))
            }
            (_, _, min, max) => (min.unwrap_or(0), max.unwrap_or(0)),
        };
        if self.max == 0 {
            // The same paper sets max_th to three times min_th.
            self.max = self.min.saturating_mul(3);
        }
        if self.min == 0 {
            self.min = self.max / 3;
        }
        let room = match self.variant {
            // ns-2's `limit_` of 50 packets counts packets of the mean size.
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
        let variant = settings.choice("variant").map_or(Ok(RedVariant::Linux), RedVariant::named)?;
        let linux = variant == RedVariant::Linux;
        let floyd = variant == RedVariant::Floyd1993;
        let ns2 = variant == RedVariant::Ns2;
        let adaptive = ADAPTIVE.read(settings)?;
        let mtu = link.mtu.max(SMALLEST_MTU);
        // Two thirds of an MTU, because `min` can be an MTU by default, and must be above `avpkt`.
        let typical = if ns2 { 500 } else { 1000.min(mtu.saturating_sub(mtu / 3)) };
        let avpkt = AVPKT.read_or(settings, typical)?;
        let bandwidth = bandwidth(settings, link)?;
        let mut config = Self {
            variant,
            limit: 0,
            min: 0,
            max: 0,
            avpkt,
            burst: 0,
            probability: PROBABILITY
                .read_or(settings, if ns2 || (floyd && adaptive) { 0.1 } else { 0.02 })?,
            bandwidth,
            adaptive,
            ecn: ECN.read(settings)?,
            hard_drop: HARDDROP.read(settings)?,
            no_drop: NODROP.read(settings)?,
            gentle: GENTLE.read_or(settings, ns2 || (floyd && adaptive))?,
            byte_mode: BYTEMODE.read(settings)?,
            wait: WAIT.read(settings)?,
            weight: 0.0,
            mtu,
        };
        if config.no_drop && !config.ecn {
            return Err(ConfigError::new(NODROP.name, "", "nodrop together with ecn"));
        }
        for name in [GENTLE.name, BYTEMODE.name, WEIGHT.name, WAIT.name, AUTOWEIGHT.name] {
            // A flag that is off states what the variant does anyway.
            let given = settings.get(name).filter(|value| *value != Value::Flag(false));
            let only_ns2 = [WAIT.name, AUTOWEIGHT.name].contains(&name);
            if let Some(value) = given.filter(|_| linux || (only_ns2 && !ns2)) {
                let allowed =
                    if only_ns2 { "with variant ns2 only" } else { "with variants floyd1993 and ns2 only" };
                return Err(ConfigError::new(name, alloc::format!("{value}"), allowed));
            }
        }
        config.sizes([LIMIT.given(settings)?, MIN.given(settings)?, MAX.given(settings)?], link)?;
        let fair = (u64::from(config.min) * 2 + u64::from(config.max)) / (u64::from(avpkt) * 3);
        let least = config.min.div_ceil(avpkt);
        config.burst = BURST.read_or(settings, u32::try_from(fair).unwrap_or(u32::MAX).max(least))?;
        if !linux {
            let packets_per_second = bandwidth.as_bps() as f64 / (8.0 * f64::from(avpkt));
            let weight = if ns2 {
                let rule = AUTOWEIGHT.read(settings)?;
                automatic_weight(rule, packets_per_second, link.delay)
            } else if adaptive {
                one_minus_exp(1.0 / packets_per_second)
            } else {
                0.002
            };
            config.weight = WEIGHT.read_or(settings, weight.max(SMALLEST_FRACTION))?;
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
            .and(&LIMIT, self.limit)
            .and(&MIN, self.min)
            .and(&MAX, self.max)
            .and(&AVPKT, self.avpkt)
            .and(&BURST, self.burst)
            .and(&PROBABILITY, self.probability)
            .and(&BANDWIDTH, self.bandwidth)
            .and(&ADAPTIVE, self.adaptive)
            .and(&ECN, self.ecn)
            .and(&HARDDROP, self.hard_drop)
            .and(&NODROP, self.no_drop);
        if self.variant == RedVariant::Linux {
            return settings;
        }
        let settings =
            settings.and(&GENTLE, self.gentle).and(&BYTEMODE, self.byte_mode).and(&WEIGHT, self.weight);
        match self.variant {
            RedVariant::Ns2 => settings.and(&WAIT, self.wait),
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

parameters! {
    PARAMETERS of [] RedConfig;
    /// bytes that the queue holds
    LIMIT: bytes "limit", with_limit {
        derived: "4 x max, at least 127 MTU; ns2: 50 avpkt",
        range: 1..=4_294_967_295,
        source: "room for the average to act; tc demands it; ns-2",
    };
    /// average queue length below which nothing is dropped
    pub(super) MIN: bytes "min", with_min {
        derived: "max / 3; 10 ms of the link rate, at least 1 MTU; floyd1993, ns2: 5 avpkt",
        range: 1..=4_294_967_295,
        range_in_words: "1 to max - 1",
        source: "tc; Høiland-Jørgensen et al. 2015; Floyd 1993, 2001; ns-2",
    };
    /// average queue length above which every packet is dropped
    pub(super) MAX: bytes "max", with_max {
        derived: "3 x min, or limit / 4; 2 MTU where min is 1 MTU by default",
        range: 1..=4_294_967_295,
        range_in_words: "min + 1 to 4294967295",
        source: "tc; Høiland-Jørgensen et al. 2015",
    };
    /// typical packet length, which sets how fast the average decays on an idle link
    AVPKT: bytes "avpkt", with_avpkt {
        derived: "1000, at most 2/3 MTU; ns2: 500",
        range: 1..=4_294_967_295,
        condition: "linux: below min",
        source: "tc-red(8); ns-2",
    };
    /// length of a burst that passes, which sets how slowly the average moves
    BURST: packets "burst", with_burst {
        derived: "(2 min + max) / (3 avpkt)",
        range: 1..=4_294_967_295,
        range_in_words: "at least min / avpkt",
        source: "tc",
    };
    /// largest probability of an early drop
    PROBABILITY: probability "probability", with_probability {
        derived: "0.02; floyd1993 adaptive and ns2: 0.1",
        range: SMALLEST_FRACTION..=1.0,
        range_in_words: "above 0 (at least 2^-32), to 1",
        source: "tc; Floyd 2001; ns-2",
    };
    /// rate at which the average decays on an idle link
    pub(crate) BANDWIDTH: rate "bandwidth", with_bandwidth {
        derived: "the link rate",
        range: Rate::from_bps(8)..=Rate::MAX,
        source: "tc: 10mbit",
    };
    /// adapt the probability to keep the average halfway between min and max
    ADAPTIVE: flag "adaptive", with_adaptive { default: false, source: "tc" };
    /// mark ECN-capable packets instead of dropping them
    ECN: flag "ecn", with_ecn { default: false, source: "tc" };
    /// above max, drop ECN-capable packets too
    HARDDROP: flag "harddrop", with_harddrop { default: false, source: "tc" };
    /// enqueue packets that cannot be marked instead of dropping them
    NODROP: flag "nodrop", with_nodrop { default: false, condition: "needs ecn", source: "tc" };
    /// let the probability rise to 1 between max and 2 x max, not jump
    GENTLE: flag "gentle", with_gentle {
        derived: "off; on with adaptive and for ns2",
        off: "nogentle",
        condition: "variants floyd1993 and ns2",
        source: "Floyd 2000, 2001; ns-2",
    };
    /// measure the queue in bytes, and drop in proportion to packet length
    BYTEMODE: flag "bytemode", with_bytemode {
        default: false,
        of_variants: &[(&["ns2"], true)],
        off: "nobytemode",
        condition: "variants floyd1993 and ns2",
        source: "Floyd and Jacobson 1993; ns-2",
    };
    /// weight of one sample in the average
    WEIGHT: probability "weight", with_weight {
        derived: "0.002; with adaptive 1 - e^(-1/C), C in packets/s; ns2: see autoweight",
        range: SMALLEST_FRACTION..=1.0,
        range_in_words: "variants floyd1993 and ns2: above 0, to 1",
        source: "Floyd and Jacobson 1993; Floyd 2001; ns-2",
    };
    /// after each drop, let 1/p packets pass before the next
    WAIT: flag "wait", with_wait {
        default: false,
        of_variants: &[(&["ns2"], true)],
        off: "nowait",
        condition: "variant ns2",
        source: "ns-2",
    };
    /// rule for the default weight. delay: 1 - e^(-1/(10 R C)) with R = max(0.1 s, 3 (link delay +
    /// 1/C)); rate: 1 - e^(-1/C); fast: 1 - e^(-10/C); C: link rate in packets/s
    AUTOWEIGHT: choice "autoweight", with_autoweight {
        default: "delay",
        words: &["delay", "rate", "fast"],
        condition: "variant ns2",
        source: "ns-2: q_weight -1, 0, -2",
    };
}

in_variants! { [] RedConfig }

/// Returns `bandwidth`, or else the rate of the link. An unknown rate counts as 10 Mbit/s, as in tc
/// (tc-red(8)).
pub(crate) fn bandwidth(settings: &Settings, link: &Link) -> Result<Rate, ConfigError> {
    let of_link = match link.rate.as_bps() {
        0 => Rate::from_bps(10_000_000),
        // The smallest rate that the parameter allows.
        bits => Rate::from_bps(bits.max(8)),
    };
    BANDWIDTH.read_or(settings, of_link)
}

/// Linux counts fractions in units of 2^-32.
pub(crate) const SMALLEST_FRACTION: f64 = 1.0 / 4_294_967_296.0;

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
    parameters: PARAMETERS,
};

/// Smaller ones only serve to break the derived sizes.
const SMALLEST_MTU: u32 = 64;
pub(super) const TWO_TO_32: f64 = 4_294_967_296.0;
/// Floyd 2001: `interval`; Linux: HZ / 2.
pub(super) const ADAPT_INTERVAL: Duration = Duration::from_millis(500);
