//! What `cake` is told: tc's flags, and what follows from them.

use alloc::vec;
use alloc::vec::Vec;

use super::keywords::KEYWORDS;
use crate::cobalt::{CobaltVariant, VARIANTS};
use crate::config::{ConfigError, Configure, Keyword, Kind, Link, Parameter, Settings, Unit, Value};
use crate::memory::{Buffers, TRUESIZE};
use crate::time::{Duration, Rate};
use crate::typed::setters;

/// Configuration of [`Cake`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CakeConfig {
    /// Bytes per second; 0: no shaper.
    pub(super) rate: u64,
    pub(super) bandwidth: Rate,
    pub(super) classes: Classes,
    pub(super) isolation: Isolation,
    pub(super) ack_filter: AckFilter,
    pub(super) cells: Cells,
    pub(super) ingress: bool,
    pub(super) split_gso: bool,
    pub(super) wash: bool,
    pub(super) nat: bool,
    /// What the link adds to what a packet has: the IP packet, or where `raw`, the whole of it.
    pub(super) overhead: i32,
    pub(super) raw: bool,
    pub(super) mpu: u32,
    pub(super) rtt: Duration,
    pub(super) memory_limit: Option<u64>,
    pub(super) buffers: Buffers,
    pub(super) mtu: u32,
    pub(super) autorate: bool,
    /// Of a packet's mark, these bits choose the tin.
    pub(super) fwmark: u32,
    pub(super) variant: CobaltVariant,
}

/// How packets are put into tins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Classes {
    BestEffort,
    Diffserv3,
    Diffserv4,
    Diffserv8,
    Precedence,
}

/// What a queue is for, and between whom service is shared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Isolation {
    FlowBlind,
    SourceHost,
    DestinationHost,
    Hosts,
    Flows,
    DualSource,
    DualDestination,
    Triple,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AckFilter {
    Off,
    Conservative,
    Aggressive,
}

/// What a packet takes on the link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Cells {
    None,
    Atm,
    Ptm,
}

impl Classes {
    pub(super) const ALL: [(&'static str, Self); 5] = [
        ("diffserv3", Self::Diffserv3),
        ("besteffort", Self::BestEffort),
        ("diffserv4", Self::Diffserv4),
        ("diffserv8", Self::Diffserv8),
        ("precedence", Self::Precedence),
    ];

    /// Each tin's share of the bandwidth and its weight without a shaper.
    pub(super) fn tins(self, rate: u64) -> Vec<(u64, i64)> {
        match self {
            Self::BestEffort => vec![(rate, 65_535)],
            Self::Diffserv3 => vec![(rate, 1024), (rate >> 4, 64), (rate >> 2, 256)],
            Self::Diffserv4 => vec![(rate, 1024), (rate >> 4, 64), (rate >> 1, 512), (rate >> 2, 256)],
            Self::Diffserv8 | Self::Precedence => {
                // Each has seven eighths of the one before.
                let smaller =
                    |&(share, weight): &(u64, i64)| Some((share - share.div_ceil(8), weight * 7 / 8));
                core::iter::successors(Some((rate, 256)), smaller).take(8).collect()
            }
        }
    }

    /// The tins in the order in which they are listed: bulk traffic first.
    pub(super) fn order(self) -> Vec<usize> {
        match self {
            Self::BestEffort => vec![0],
            Self::Diffserv3 => vec![1, 0, 2],
            Self::Diffserv4 => vec![1, 0, 2, 3],
            Self::Diffserv8 | Self::Precedence => (0..8).collect(),
        }
    }

    /// The tin that the class numbered `class`, from 1, stands for: with bulk traffic before the
    /// rest.
    pub(super) fn of_class(self, class: u32) -> Option<usize> {
        let tins = match self {
            Self::BestEffort => return None,
            Self::Diffserv3 => 3,
            Self::Diffserv4 => 4,
            Self::Diffserv8 | Self::Precedence => 8,
        };
        let index = class.checked_sub(1).filter(|index| *index < tins)? as usize;
        Some(if tins < 8 && index < 2 { 1 - index } else { index })
    }

    /// The tin of a packet with this DSCP (RFC 4594, RFC 8622; tc-cake(8)).
    pub(super) const fn of_dscp(self, dscp: u8) -> usize {
        const LE: u8 = 1;
        const TOS4: u8 = 4;
        const VA: u8 = 44;
        const EF: u8 = 46;
        const CS: u8 = 8;
        match self {
            Self::BestEffort => 0,
            Self::Precedence => (dscp >> 3) as usize & 7,
            Self::Diffserv3 => match dscp {
                LE | CS => 1,
                TOS4 | VA | EF | 48 | 56 => 2,
                _ => 0,
            },
            Self::Diffserv4 => match dscp {
                LE | CS => 1,
                // CS2, AF2x, CS3, AF3x, AF4x.
                TOS4 | 16 | 18 | 20 | 22 | 24 | 26 | 28 | 30 | 34 | 36 | 38 => 2,
                // CS4 to CS7.
                32 | 40 | VA | EF | 48 | 56 => 3,
                _ => 0,
            },
            Self::Diffserv8 => match dscp {
                LE => 0,
                // TOS2, CS1, AF1x.
                2 | CS | 10 | 12 | 14 => 1,
                // CS3, AF3x, AF4x.
                24 | 26 | 28 | 30 | 34 | 36 | 38 => 3,
                // AF2x.
                TOS4 | 18 | 20 | 22 => 4,
                16 => 5,
                32 | 40 | VA | EF => 6,
                48 | 56 => 7,
                _ => 2,
            },
        }
    }
}

impl Isolation {
    pub(super) const ALL: [(&'static str, Self); 8] = [
        ("triple-isolate", Self::Triple),
        ("flowblind", Self::FlowBlind),
        ("srchost", Self::SourceHost),
        ("dsthost", Self::DestinationHost),
        ("hosts", Self::Hosts),
        ("flows", Self::Flows),
        ("dual-srchost", Self::DualSource),
        ("dual-dsthost", Self::DualDestination),
    ];

    pub(super) const fn shares_by_source(self) -> bool {
        matches!(self, Self::DualSource | Self::Triple)
    }

    pub(super) const fn shares_by_destination(self) -> bool {
        matches!(self, Self::DualDestination | Self::Triple)
    }
}

impl AckFilter {
    pub(super) const ALL: [(&'static str, Self); 2] =
        [("ack-filter", Self::Conservative), ("ack-filter-aggressive", Self::Aggressive)];
}

impl Cells {
    pub(super) const ALL: [(&'static str, Self); 2] = [("atm", Self::Atm), ("ptm", Self::Ptm)];
}

/// The one of `choices` whose flag is on; `default` if none is.
pub(super) fn one_of<T: Copy>(
    settings: &Settings,
    choices: &[(&'static str, T)],
    default: T,
) -> Result<T, ConfigError> {
    let mut on = choices.iter().filter(|(name, _)| settings.flag(name) == Some(true));
    match (on.next(), on.next()) {
        (None, _) => Ok(default),
        (Some((_, choice)), None) => Ok(*choice),
        (Some(first), Some(second)) => {
            Err(ConfigError::new(second.0, "", alloc::format!("either `{}` or `{}`", first.0, second.0)))
        }
    }
}

/// The flag of the one of `choices` that is `chosen`.
pub(super) fn flag_of<T: Copy + PartialEq>(choices: &[(&'static str, T)], chosen: T) -> Option<&'static str> {
    choices.iter().find(|(_, choice)| *choice == chosen).map(|(name, _)| *name)
}

impl CakeConfig {
    /// Bytes that all queues together hold.
    #[must_use]
    pub fn memory(&self) -> u64 {
        let asked = self.memory_limit.unwrap_or(0);
        let wanted = if asked > 0 {
            asked
        } else if self.rate > 0 {
            let product = u128::from(self.rate) * u128::from(self.rtt.as_nanos() / 1_000) / 250_000;
            u64::try_from(product).unwrap_or(u64::MAX).max(4 << 20)
        } else {
            u64::MAX
        };
        wanted.min(asked.max(MAX_PACKETS * u64::from(self.mtu.max(1))))
    }

    /// A twentieth of the round-trip time, in whole microseconds (iproute2).
    pub(super) fn target(&self) -> Duration {
        Duration::from_micros((self.rtt.as_nanos() / 20_000).max(1))
    }
}

impl Configure for CakeConfig {
    const KIND: Kind = KIND;
    const KEYWORDS: &[Keyword] = KEYWORDS;

    fn from_checked(settings: &Settings, link: &Link) -> Result<Self, ConfigError> {
        let small = |name| -> Result<Option<u32>, ConfigError> {
            Ok(settings.number(name, 0, 256)?.and_then(|n| u32::try_from(n).ok()))
        };
        let bandwidth = settings.number("bandwidth", 8, u64::MAX)?;
        if bandwidth.is_some() && settings.flag("unlimited") == Some(true) {
            return Err(ConfigError::new("unlimited", "", "either `bandwidth` or `unlimited`"));
        }
        let overhead = settings.signed("overhead", -64, 256)?;
        let rtt = settings.number("rtt", 0, MAX_RTT)?.unwrap_or(DEFAULT_RTT);
        let variant = CobaltVariant::from_settings(settings);
        Ok(Self {
            rate: bandwidth.map_or(0, |bits| bits / 8),
            bandwidth: Rate::from_bps(bandwidth.unwrap_or(0)),
            classes: one_of(settings, &Classes::ALL, Classes::Diffserv3)?,
            isolation: one_of(settings, &Isolation::ALL, Isolation::Triple)?,
            ack_filter: one_of(settings, &AckFilter::ALL, AckFilter::Off)?,
            cells: one_of(settings, &Cells::ALL, Cells::None)?,
            ingress: settings.flag("ingress").unwrap_or(false),
            split_gso: settings.flag("split-gso").unwrap_or(true),
            wash: settings.flag("wash").unwrap_or(false),
            nat: settings.flag("nat").unwrap_or(false),
            overhead: overhead.unwrap_or(0),
            raw: settings.flag("raw").unwrap_or(overhead.is_none()),
            mpu: small("mpu")?.unwrap_or(0),
            rtt: Duration::from_micros((rtt / 1_000).max(1)),
            memory_limit: settings.number("memlimit", 1, u64::from(u32::MAX))?,
            buffers: Buffers::from_settings(
                settings,
                match variant {
                    CobaltVariant::Linux => Buffers::Allocated,
                    CobaltVariant::Paper => Buffers::Bare,
                },
            )?,
            mtu: link.mtu,
            autorate: settings.flag("autorate-ingress").unwrap_or(false),
            fwmark: settings.small("fwmark", 0, u64::from(u32::MAX))?.unwrap_or(0),
            variant,
        })
    }

    fn to_settings(&self) -> Settings {
        let mut settings = if self.bandwidth.as_bps() > 0 {
            Settings::new().with("bandwidth", Value::Rate(self.bandwidth))
        } else {
            Settings::new().with("unlimited", Value::Flag(true))
        };
        let flags = [
            flag_of(&Classes::ALL, self.classes),
            flag_of(&Isolation::ALL, self.isolation),
            flag_of(&AckFilter::ALL, self.ack_filter),
            flag_of(&Cells::ALL, self.cells),
        ];
        for flag in flags.into_iter().flatten() {
            settings.set(flag, Value::Flag(true));
        }
        settings.set("rtt", Value::Time(self.rtt));
        if self.raw {
            settings.set("raw", Value::Flag(true));
        }
        if self.overhead != 0 || !self.raw {
            settings.set("overhead", Value::Signed(i64::from(self.overhead)));
        }
        settings.set("mpu", Value::Integer(u64::from(self.mpu)));
        settings.set("ingress", Value::Flag(self.ingress));
        settings.set("split-gso", Value::Flag(self.split_gso));
        settings.set("wash", Value::Flag(self.wash));
        settings.set("nat", Value::Flag(self.nat));
        settings.set("autorate-ingress", Value::Flag(self.autorate));
        if self.fwmark > 0 {
            settings.set("fwmark", Value::Integer(u64::from(self.fwmark)));
        }
        if let Some(limit) = self.memory_limit {
            settings.set("memlimit", Value::Bytes(limit));
        }
        self.buffers.add_to(settings).with("variant", Value::Choice(self.variant.name()))
    }

    /// Linux sch_cake changes what is given, and what that excludes.
    fn is_kept_by_change(parameter: &str, given: &Settings) -> bool {
        fn names<T>(choices: &[(&'static str, T)]) -> Vec<&'static str> {
            choices.iter().map(|choice| choice.0).collect()
        }
        let exclusive = [
            vec!["bandwidth", "unlimited"],
            vec!["overhead", "raw"],
            names(&Classes::ALL),
            names(&Isolation::ALL),
            names(&AckFilter::ALL),
            names(&Cells::ALL),
        ];
        let given_any = |names: &[&str]| names.iter().any(|name| given.get(name).is_some());
        // A rate that is given ends the search for one.
        if parameter == "autorate-ingress" {
            return !given_any(&["bandwidth", "unlimited"]);
        }
        !exclusive.iter().any(|names| names.contains(&parameter) && given_any(names))
    }

    fn link(&self) -> Link {
        Link { mtu: self.mtu, ..Link::default() }
    }

    fn stays_beside(parameter: &str, given: &Settings) -> bool {
        Self::is_kept_by_change(parameter, given)
    }
}

setters! {
    [] CakeConfig,
    /// Sets `bandwidth`: rate of the shaper. Default: unlimited. Range: 8bit or more.
    with_bandwidth(rate);
    /// Sets `unlimited`: no shaper. Default: on.
    with_unlimited(flag);
    /// Sets `besteffort`: one tin for all packets. Default: off.
    with_besteffort(flag);
    /// Sets `precedence`: eight tins by the old precedence bits. Default: off.
    with_precedence(flag);
    /// Sets `diffserv8`: eight tins by DSCP. Default: off.
    with_diffserv8(flag);
    /// Sets `diffserv4`: four tins by DSCP: bulk, best effort, video, voice. Default: off.
    with_diffserv4(flag);
    /// Sets `diffserv3`: three tins by DSCP: bulk, best effort, voice. Default: on.
    with_diffserv3(flag);
    /// Sets `flowblind`: one queue for all flows. Default: off.
    with_flowblind(flag);
    /// Sets `srchost`: a queue per source host. Default: off.
    with_srchost(flag);
    /// Sets `dsthost`: a queue per destination host. Default: off.
    with_dsthost(flag);
    /// Sets `hosts`: a queue per pair of hosts. Default: off.
    with_hosts(flag);
    /// Sets `flows`: a queue per flow. Default: off.
    with_flows(flag);
    /// Sets `dual-srchost`: fair between source hosts, then between flows. Default: off.
    with_dual_srchost(flag) = "dual-srchost";
    /// Sets `dual-dsthost`: fair between destination hosts, then between flows. Default: off.
    with_dual_dsthost(flag) = "dual-dsthost";
    /// Sets `triple-isolate`: fair between hosts of either side, then between flows. Default: on.
    with_triple_isolate(flag) = "triple-isolate";
    /// Sets `rtt`: round-trip time to be expected: COBALT's interval, and twenty times its target.
    /// Default: 100ms. Range: 1us to 4294s.
    with_rtt(time);
    /// Sets `overhead`: bytes that the link adds to an IP packet. Default: raw. Range: -64 to 256.
    with_overhead(signed);
    /// Sets `raw`: packets take what they have, Ethernet header included. Default: on.
    with_raw(flag);
    /// Sets `mpu`: least that a packet takes on the link, in bytes. Default: 0. Range: 0 to 256.
    with_mpu(integer);
    /// Sets `atm`: the link sends cells of 53 bytes for 48. Default: noatm.
    with_atm(flag);
    /// Sets `ptm`: the link adds a byte to every 64. Default: off.
    with_ptm(flag);
    /// Sets `ack-filter`: drop ACKs that two later ones make superfluous. Default: no-ack-filter.
    with_ack_filter(flag) = "ack-filter";
    /// Sets `ack-filter-aggressive`: drop ACKs that one later one makes superfluous. Default: off.
    with_ack_filter_aggressive(flag) = "ack-filter-aggressive";
    /// Sets `ingress`: charge dropped packets to the shaper: they came over the link. Default:
    /// egress.
    with_ingress(flag);
    /// Sets `memlimit`: bytes of memory that all queues together hold. Default: 4 x bandwidth x
    /// rtt, 4mb at least. Range: 1 to 4294967295.
    with_memlimit(bytes);
    /// Sets `truesize`: memory that each packet takes, longer ones take their bytes: 2304 with many
    /// drivers; 1: bytes of packets. Default: as Linux allocates (`linux`), or the packet's bytes.
    /// Range: 1 to 1073741824.
    with_truesize(bytes);
    /// Sets `autorate-ingress`: set `bandwidth` to fifteen sixteenths of the rate at which packets
    /// come at most. Default: off.
    with_autorate_ingress(flag) = "autorate-ingress";
    /// Sets `fwmark`: bits of a packet's mark that choose its tin, from 1; 0 bits there, and the
    /// DSCP does. Default: 0. Range: 0 to 4294967295.
    with_fwmark(integer);
    /// Sets `wash`: clear the DSCP of each packet once its tin is chosen. Default: nowash.
    with_wash(flag);
    /// Sets `nat`: look behind address translation: there is none here, so this changes nothing.
    /// Default: nonat.
    with_nat(flag);
    /// Sets `split-gso`: split aggregates: there are none here. Default: split-gso.
    with_split_gso(flag) = "split-gso";
}

setters! { @variant [] CakeConfig }

const fn flag(
    name: &'static str,
    off: Option<&'static str>,
    default: &'static str,
    doc: &'static str,
) -> Parameter {
    Parameter { name, unit: Unit::Flag { off }, default, source: "tc-cake(8)", range: "", doc }
}

const KIND: Kind = Kind {
    name: "cake",
    summary: "Shaper, DSCP tins, flow and host isolation and COBALT in one",
    reference: "tc-cake(8); Høiland-Jørgensen et al. 2018",
    children: crate::config::Children::None,
    variants: VARIANTS,
    parameters: &[
        Parameter {
            name: "bandwidth",
            unit: Unit::Rate,
            default: "unlimited",
            source: "tc-cake(8)",
            range: "8bit or more",
            doc: "rate of the shaper",
        },
        flag("unlimited", None, "on", "no shaper"),
        flag("besteffort", None, "off", "one tin for all packets"),
        flag("precedence", None, "off", "eight tins by the old precedence bits"),
        flag("diffserv8", None, "off", "eight tins by DSCP"),
        flag("diffserv4", None, "off", "four tins by DSCP: bulk, best effort, video, voice"),
        flag("diffserv3", None, "on", "three tins by DSCP: bulk, best effort, voice"),
        flag("flowblind", None, "off", "one queue for all flows"),
        flag("srchost", None, "off", "a queue per source host"),
        flag("dsthost", None, "off", "a queue per destination host"),
        flag("hosts", None, "off", "a queue per pair of hosts"),
        flag("flows", None, "off", "a queue per flow"),
        flag("dual-srchost", None, "off", "fair between source hosts, then between flows"),
        flag("dual-dsthost", None, "off", "fair between destination hosts, then between flows"),
        flag("triple-isolate", None, "on", "fair between hosts of either side, then between flows"),
        Parameter {
            name: "rtt",
            unit: Unit::Time,
            default: "100ms",
            source: "tc-cake(8)",
            range: "1us to 4294s",
            doc: "round-trip time to be expected: COBALT's interval, and twenty times its target",
        },
        Parameter {
            name: "overhead",
            unit: Unit::Signed,
            default: "raw",
            source: "tc-cake(8)",
            range: "-64 to 256",
            doc: "bytes that the link adds to an IP packet",
        },
        flag("raw", None, "on", "packets take what they have, Ethernet header included"),
        Parameter {
            name: "mpu",
            unit: Unit::Integer,
            default: "0",
            source: "tc-cake(8)",
            range: "0 to 256",
            doc: "least that a packet takes on the link, in bytes",
        },
        flag("atm", Some("noatm"), "noatm", "the link sends cells of 53 bytes for 48"),
        flag("ptm", None, "off", "the link adds a byte to every 64"),
        flag(
            "ack-filter",
            Some("no-ack-filter"),
            "no-ack-filter",
            "drop ACKs that two later ones make superfluous",
        ),
        flag("ack-filter-aggressive", None, "off", "drop ACKs that one later one makes superfluous"),
        flag(
            "ingress",
            Some("egress"),
            "egress",
            "charge dropped packets to the shaper: they came over the link",
        ),
        Parameter {
            name: "memlimit",
            unit: Unit::Bytes,
            default: "4 x bandwidth x rtt, 4mb at least",
            source: "Linux sch_cake",
            range: "1 to 4294967295",
            doc: "bytes of memory that all queues together hold",
        },
        TRUESIZE,
        flag(
            "autorate-ingress",
            None,
            "off",
            "set `bandwidth` to fifteen sixteenths of the rate at which packets come at most",
        ),
        Parameter {
            name: "fwmark",
            unit: Unit::Integer,
            default: "0",
            source: "tc-cake(8)",
            range: "0 to 4294967295",
            doc: "bits of a packet's mark that choose its tin, from 1; 0 bits there, and the DSCP does",
        },
        flag("wash", Some("nowash"), "nowash", "clear the DSCP of each packet once its tin is chosen"),
        flag(
            "nat",
            Some("nonat"),
            "nonat",
            "look behind address translation: there is none here, so this changes nothing",
        ),
        flag("split-gso", Some("no-split-gso"), "split-gso", "split aggregates: there are none here"),
    ],
};

/// Linux sch_cake: no more memory than so many of the largest packets, unless asked for.
const MAX_PACKETS: u64 = 10_240;
const DEFAULT_RTT: u64 = 100_000_000;
/// 2^32 - 1 microseconds.
const MAX_RTT: u64 = u32::MAX as u64 * 1_000;
