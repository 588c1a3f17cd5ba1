//! The parameters of `cake`, and the values that follow from them.

use alloc::vec;
use alloc::vec::Vec;

use crate::cobalt::{CobaltVariant, VARIANTS};
use crate::config::{ConfigError, Configure, Keyword, Kind, Link, Settings, Value};
use crate::memory::{Buffers, TRUESIZE};
use crate::time::{Duration, Rate};
use crate::typed::{in_variants, parameters};

/// Configuration of [`Cake`](super::Cake).
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
    /// Bytes that the link adds to the IP packet, or to the whole frame if `raw`.
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

/// What shares a queue, and between which hosts service is fair.
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

/// Cell framing of the link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Cells {
    None,
    Atm,
    Ptm,
}

impl Classes {
    pub(super) const ALL: [(&'static str, Self); 5] = [
        (DIFFSERV3.name, Self::Diffserv3),
        (BESTEFFORT.name, Self::BestEffort),
        (DIFFSERV4.name, Self::Diffserv4),
        (DIFFSERV8.name, Self::Diffserv8),
        (PRECEDENCE.name, Self::Precedence),
    ];

    /// Each tin's share of the bandwidth and its weight without a shaper.
    pub(super) fn tins(self, rate: u64) -> Vec<(u64, i64)> {
        match self {
            // Rates and weights of Linux `cake_config_besteffort()`, `cake_config_diffserv3()` and
            // so on. A tin above its share is only served later, so the shares need not add up to
            // the rate.
            Self::BestEffort => vec![(rate, 65_535)],
            Self::Diffserv3 => vec![(rate, 1024), (rate >> 4, 64), (rate >> 2, 256)],
            Self::Diffserv4 => vec![(rate, 1024), (rate >> 4, 64), (rate >> 1, 512), (rate >> 2, 256)],
            Self::Diffserv8 | Self::Precedence => {
                // Each has seven eighths of the one before.
                let smaller =
                    // This difference is 7/8 rounded down, and cannot overflow.
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
            // Linux `cake_select_tin()` looks at no mark and no class in this mode.
            Self::BestEffort => return None,
            Self::Diffserv3 => 3,
            Self::Diffserv4 => 4,
            Self::Diffserv8 | Self::Precedence => 8,
        };
        let index = class.checked_sub(1).filter(|index| *index < tins)? as usize;
        // Linux lists the bulk tin first (`tin_order`), and numbers the tins otherwise.
        Some(if tins < 8 && index < 2 { 1 - index } else { index })
    }

    /// The tin of a packet with this DSCP (RFC 4594, RFC 8622; tc-cake(8)).
    pub(super) const fn of_dscp(self, dscp: u8) -> usize {
        const LE: u8 = 1;
        // The "minimize delay" bit of the old TOS byte (RFC 1349).
        const TOS4: u8 = 4;
        // RFC 5865: calls whose capacity was admitted.
        const VA: u8 = 44;
        const EF: u8 = 46;
        const CS: u8 = 8;
        match self {
            Self::BestEffort => 0,
            Self::Precedence => (dscp >> 3) as usize & 7,
            Self::Diffserv3 => match dscp {
                LE | CS => 1,
                // Calls, and CS6 and CS7 for the control of the network.
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
        (TRIPLE_ISOLATE.name, Self::Triple),
        (FLOWBLIND.name, Self::FlowBlind),
        (SRCHOST.name, Self::SourceHost),
        (DSTHOST.name, Self::DestinationHost),
        (HOSTS.name, Self::Hosts),
        (FLOWS.name, Self::Flows),
        (DUAL_SRCHOST.name, Self::DualSource),
        (DUAL_DSTHOST.name, Self::DualDestination),
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
        [(ACK_FILTER.name, Self::Conservative), (ACK_FILTER_AGGRESSIVE.name, Self::Aggressive)];
}

impl Cells {
    pub(super) const ALL: [(&'static str, Self); 2] = [(ATM.name, Self::Atm), (PTM.name, Self::Ptm)];
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
            // Four times what the rate sends in a round-trip time: 250,000 microseconds are a
            // quarter of a second.
            let product = u128::from(self.rate) * u128::from(self.rtt.as_nanos() / 1_000) / 250_000;
            u64::try_from(product).unwrap_or(u64::MAX).max(4 << 20)
        } else {
            u64::MAX
        };
        // As `cake_reconfigure()` in Linux: the limit in packets times the MTU bounds the default,
        // but not a value that was asked for.
        wanted.min(asked.max(MAX_PACKETS * u64::from(self.mtu.max(1))))
    }

    /// A twentieth of the round-trip time, in whole microseconds (iproute2).
    pub(super) fn target(&self) -> Duration {
        // tc raises 0 to 1.
        Duration::from_micros((self.rtt.as_nanos() / 20_000).max(1))
    }
}

impl Configure for CakeConfig {
    const KIND: Kind = KIND;
    const KEYWORDS: &[Keyword] = KEYWORDS;

    fn from_checked(settings: &Settings, link: &Link) -> Result<Self, ConfigError> {
        let bandwidth: Option<Rate> = BANDWIDTH.given(settings)?;
        if bandwidth.is_some() && settings.flag(UNLIMITED.name) == Some(true) {
            return Err(ConfigError::new(UNLIMITED.name, "", "either `bandwidth` or `unlimited`"));
        }
        let overhead = OVERHEAD.given(settings)?;
        let rtt: Duration = RTT.read(settings)?;
        let variant = CobaltVariant::from_settings(settings);
        Ok(Self {
            // Linux shapes in bytes per second (`TCA_CAKE_BASE_RATE64`), so the rest of the
            // division is lost.
            rate: bandwidth.map_or(0, |rate| rate.as_bps() / 8),
            bandwidth: bandwidth.unwrap_or_default(),
            classes: one_of(settings, &Classes::ALL, Classes::Diffserv3)?,
            isolation: one_of(settings, &Isolation::ALL, Isolation::Triple)?,
            ack_filter: one_of(settings, &AckFilter::ALL, AckFilter::Off)?,
            cells: one_of(settings, &Cells::ALL, Cells::None)?,
            ingress: INGRESS.read(settings)?,
            split_gso: SPLIT_GSO.read(settings)?,
            wash: WASH.read(settings)?,
            nat: NAT.read(settings)?,
            overhead: overhead.unwrap_or(0),
            // Linux starts without compensation (`CAKE_FLAG_OVERHEAD` off); a given overhead turns
            // it on.
            raw: RAW.read_or(settings, overhead.is_none())?,
            mpu: MPU.read(settings)?,
            // Linux keeps the interval in microseconds (`TCA_CAKE_RTT`), and raises 0 to 1.
            rtt: Duration::from_micros((rtt.as_nanos() / 1_000).max(1)),
            memory_limit: MEMLIMIT.given(settings)?,
            buffers: Buffers::from_settings(
                settings,
                match variant {
                    CobaltVariant::Linux => Buffers::Allocated,
                    CobaltVariant::Linux61 => Buffers::Allocated61,
                    CobaltVariant::Paper => Buffers::Bare,
                },
            )?,
            mtu: link.mtu,
            autorate: AUTORATE_INGRESS.read(settings)?,
            fwmark: FWMARK.read(settings)?,
            variant,
        })
    }

    fn to_settings(&self) -> Settings {
        let mut settings = if self.bandwidth.as_bps() > 0 {
            Settings::new().and(&BANDWIDTH, self.bandwidth)
        } else {
            Settings::new().and(&UNLIMITED, true)
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
        settings.put(&RTT, self.rtt);
        if self.raw {
            settings.put(&RAW, true);
        }
        if self.overhead != 0 || !self.raw {
            settings.put(&OVERHEAD, self.overhead);
        }
        settings.put(&MPU, self.mpu);
        settings.put(&INGRESS, self.ingress);
        settings.put(&SPLIT_GSO, self.split_gso);
        settings.put(&WASH, self.wash);
        settings.put(&NAT, self.nat);
        settings.put(&AUTORATE_INGRESS, self.autorate);
        if self.fwmark > 0 {
            settings.put(&FWMARK, self.fwmark);
        }
        if let Some(limit) = self.memory_limit {
            settings.put(&MEMLIMIT, limit);
        }
        self.buffers.add_to(settings).with("variant", Value::Choice(self.variant.name()))
    }

    /// Linux sch_cake changes the given parameters and those that they exclude.
    fn is_kept_by_change(parameter: &str, given: &Settings) -> bool {
        fn names<T>(choices: &[(&'static str, T)]) -> Vec<&'static str> {
            choices.iter().map(|choice| choice.0).collect()
        }
        let exclusive = [
            vec![BANDWIDTH.name, UNLIMITED.name],
            vec![OVERHEAD.name, RAW.name],
            names(&Classes::ALL),
            names(&Isolation::ALL),
            names(&AckFilter::ALL),
            names(&Cells::ALL),
        ];
        let given_any = |names: &[&str]| names.iter().any(|name| given.get(name).is_some());
        // A rate that is given ends the search for one.
        if parameter == AUTORATE_INGRESS.name {
            return !given_any(&[BANDWIDTH.name, UNLIMITED.name]);
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

in_variants! { [] CakeConfig }

/// Linux sch_cake: limit of the default memory, in packets of the largest size.
const MAX_PACKETS: u64 = 10_240;

const KIND: Kind = Kind {
    name: "cake",
    summary: "Shaper, DSCP tins, flow and host isolation and COBALT in one",
    reference: "tc-cake(8); Høiland-Jørgensen et al. 2018",
    children: crate::config::Children::None,
    variants: VARIANTS,
    parameters: PARAMETERS,
};

const TC: &str = "tc-cake(8)";

parameters! {
    PARAMETERS of [] CakeConfig;
    /// rate of the shaper
    pub(super) BANDWIDTH: rate "bandwidth", with_bandwidth {
        derived: "unlimited",
        // Below 8 bit/s the rate in bytes would be 0, which means no shaper.
        range: Rate::from_bps(8)..=Rate::MAX,
        source: TC,
    };
    /// no shaper
    pub(super) UNLIMITED: flag "unlimited", with_unlimited { default: true, source: TC };
    /// one tin for all packets
    pub(super) BESTEFFORT: flag "besteffort", with_besteffort { default: false, source: TC };
    /// eight tins by the three IP precedence bits (RFC 791)
    pub(super) PRECEDENCE: flag "precedence", with_precedence { default: false, source: TC };
    /// eight tins by DSCP
    pub(super) DIFFSERV8: flag "diffserv8", with_diffserv8 { default: false, source: TC };
    /// four tins by DSCP: bulk, best effort, video, voice
    pub(super) DIFFSERV4: flag "diffserv4", with_diffserv4 { default: false, source: TC };
    /// three tins by DSCP: bulk, best effort, voice
    pub(super) DIFFSERV3: flag "diffserv3", with_diffserv3 { default: true, source: TC };
    /// one queue for all flows
    pub(super) FLOWBLIND: flag "flowblind", with_flowblind { default: false, source: TC };
    /// one queue per source host
    pub(super) SRCHOST: flag "srchost", with_srchost { default: false, source: TC };
    /// one queue per destination host
    pub(super) DSTHOST: flag "dsthost", with_dsthost { default: false, source: TC };
    /// one queue per pair of hosts
    pub(super) HOSTS: flag "hosts", with_hosts { default: false, source: TC };
    /// one queue per flow
    pub(super) FLOWS: flag "flows", with_flows { default: false, source: TC };
    /// fairness between source hosts, then between the flows of each
    pub(super) DUAL_SRCHOST: flag "dual-srchost", with_dual_srchost { default: false, source: TC };
    /// fairness between destination hosts, then between the flows of each
    pub(super) DUAL_DSTHOST: flag "dual-dsthost", with_dual_dsthost { default: false, source: TC };
    /// fairness between source hosts and between destination hosts, then between flows
    pub(super) TRIPLE_ISOLATE: flag "triple-isolate", with_triple_isolate {
        default: true,
        source: TC,
    };
    /// expected round-trip time; COBALT's interval, and twenty times its target
    pub(super) RTT: time "rtt", with_rtt {
        default: Duration::from_millis(100),
        // `TCA_CAKE_RTT` has 32 bits of microseconds.
        range: Duration::ZERO..=Duration::from_micros(4_294_967_295),
        condition: "raised to 1us",
        source: TC,
    };
    /// bytes that the link adds to each IP packet
    pub(super) OVERHEAD: signed "overhead", with_overhead {
        derived: "raw",
        // tc refuses other overheads.
        range: -64..=256,
        source: TC,
    };
    /// charge each packet its length with the Ethernet header, nothing more
    pub(super) RAW: flag "raw", with_raw { default: true, source: TC };
    // tc refuses more than 256.
    /// smallest length of a packet on the link, in bytes
    pub(super) MPU: integer "mpu", with_mpu { default: 0, range: 0..=256, source: TC };
    /// the link sends cells of 53 bytes that carry 48
    pub(super) ATM: flag "atm", with_atm { default: false, off: "noatm", source: TC };
    /// the link adds one byte to every 64 (VDSL2)
    pub(super) PTM: flag "ptm", with_ptm { default: false, source: TC };
    /// drop an ACK when two later ones make it superfluous
    pub(super) ACK_FILTER: flag "ack-filter", with_ack_filter {
        default: false,
        off: "no-ack-filter",
        source: TC,
    };
    /// drop an ACK when one later one makes it superfluous
    pub(super) ACK_FILTER_AGGRESSIVE: flag "ack-filter-aggressive", with_ack_filter_aggressive {
        default: false,
        source: TC,
    };
    /// charge dropped packets to the shaper, for a shaper behind the bottleneck
    pub(super) INGRESS: flag "ingress", with_ingress { default: false, off: "egress", source: TC };
    /// bytes of memory that all queues together hold
    pub(super) MEMLIMIT: bytes "memlimit", with_memlimit {
        derived: "4 x bandwidth x rtt, at least 4mb, at most 10240 x MTU",
        // `TCA_CAKE_MEMORY` has 32 bits.
        range: 1..=4_294_967_295,
        source: "Linux sch_cake",
    };
    TRUESIZE: bytes, with_truesize;
    /// set the shaper to 15/16 of the measured peak arrival rate
    pub(super) AUTORATE_INGRESS: flag "autorate-ingress", with_autorate_ingress {
        default: false,
        source: TC,
    };
    /// mask of the firewall mark whose bits choose the tin, counted from 1; if they are 0, the DSCP
    /// does
    pub(super) FWMARK: integer "fwmark", with_fwmark {
        default: 0,
        range: 0..=4_294_967_295,
        source: TC,
    };
    /// clear the DSCP of each packet after its tin is chosen
    pub(super) WASH: flag "wash", with_wash { default: false, off: "nowash", source: TC };
    /// look up addresses behind NAT; accepted without effect, since nothing is translated here
    pub(super) NAT: flag "nat", with_nat { default: false, off: "nonat", source: TC };
    /// split aggregated packets; accepted without effect, since there are none here
    pub(super) SPLIT_GSO: flag "split-gso", with_split_gso {
        default: true,
        off: "no-split-gso",
        source: TC,
    };
}

/// The words that tc-cake(8) has for common links and distances. Each stands for settings that
/// could be written out.
const KEYWORDS: &[Keyword] = &[
    Keyword {
        name: "conservative",
        // tc sets this overhead, and adds those of the other words.
        adds: None,
        sets: &[(OVERHEAD.name, Value::Signed(48)), (ATM.name, Value::Flag(true))],
        doc: "more overhead than any link has, in cells: `overhead 48 atm`",
    },
    link(
        "ethernet",
        38,
        &[(MPU.name, Value::Integer(84))],
        "Ethernet with preamble, checksum and gap: 38, `mpu 84`",
    ),
    Keyword {
        name: "via-ethernet",
        adds: None,
        sets: &[],
        doc: "accepted without effect, as in tc: `tc qdisc show` prints it on Ethernet",
    },
    link("ether-vlan", 4, &[], "a VLAN tag more: 4; may stand several times"),
    link(
        "docsis",
        18,
        &[(MPU.name, Value::Integer(64)), (ATM.name, Value::Flag(false))],
        "cable modem: 18, `mpu 64 noatm`",
    ),
    link("pppoe-ptm", 30, PTM_CELLS, "VDSL2 with PPPoE: 30, `ptm`"),
    link("bridged-ptm", 22, PTM_CELLS, "VDSL2 with Ethernet: 22, `ptm`"),
    link("ipoa-vcmux", 8, ATM_CELLS, "ADSL with bare IP: 8, `atm`"),
    link("ipoa-llcsnap", 16, ATM_CELLS, "ADSL with IP behind LLC/SNAP: 16, `atm`"),
    link("bridged-vcmux", 24, ATM_CELLS, "ADSL with Ethernet: 24, `atm`"),
    link("bridged-llcsnap", 32, ATM_CELLS, "ADSL with Ethernet behind LLC/SNAP: 32, `atm`"),
    link("pppoa-vcmux", 10, ATM_CELLS, "ADSL with PPPoA: 10, `atm`"),
    link("pppoa-llc", 14, ATM_CELLS, "ADSL with PPPoA behind LLC: 14, `atm`"),
    link("pppoe-vcmux", 32, ATM_CELLS, "ADSL with PPPoE: 32, `atm`"),
    link("pppoe-llcsnap", 40, ATM_CELLS, "ADSL with PPPoE behind LLC/SNAP: 40, `atm`"),
    distance("datacentre", &[(RTT.name, Value::Time(Duration::from_micros(100)))], "`rtt 100us`"),
    distance("lan", &[(RTT.name, Value::Time(Duration::from_millis(1)))], "`rtt 1ms`"),
    distance("metro", &[(RTT.name, Value::Time(Duration::from_millis(10)))], "within a city: `rtt 10ms`"),
    distance(
        "regional",
        &[(RTT.name, Value::Time(Duration::from_millis(30)))],
        "within a country: `rtt 30ms`",
    ),
    distance("internet", &[(RTT.name, Value::Time(Duration::from_millis(100)))], "`rtt 100ms`"),
    distance(
        "oceanic",
        &[(RTT.name, Value::Time(Duration::from_millis(300)))],
        "across an ocean: `rtt 300ms`",
    ),
    distance("satellite", &[(RTT.name, Value::Time(Duration::from_secs(1)))], "geostationary: `rtt 1s`"),
    distance("interplanetary", &[(RTT.name, Value::Time(Duration::from_secs(1_000)))], "`rtt 1000s`"),
];

const ATM_CELLS: &[(&str, Value)] = &[(ATM.name, Value::Flag(true))];
const PTM_CELLS: &[(&str, Value)] = &[(PTM.name, Value::Flag(true))];

/// A kind of link, with its share of the overhead.
const fn link(
    name: &'static str,
    overhead: i64,
    sets: &'static [(&'static str, Value)],
    doc: &'static str,
) -> Keyword {
    Keyword { name, adds: Some((OVERHEAD.name, overhead)), sets, doc }
}

const fn distance(name: &'static str, sets: &'static [(&'static str, Value)], doc: &'static str) -> Keyword {
    Keyword { name, adds: None, sets, doc }
}
