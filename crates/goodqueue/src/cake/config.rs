//! The parameters of `cake`, and the values that follow from them.

use alloc::vec;
use alloc::vec::Vec;

use super::keywords::KEYWORDS;
use super::parameters::{
    ACK_FILTER, ACK_FILTER_AGGRESSIVE, ATM, AUTORATE_INGRESS, BANDWIDTH, BESTEFFORT, DIFFSERV3, DIFFSERV4,
    DIFFSERV8, DSTHOST, DUAL_DSTHOST, DUAL_SRCHOST, FLOWBLIND, FLOWS, FWMARK, HOSTS, INGRESS, KIND, MEMLIMIT,
    MPU, NAT, OVERHEAD, PRECEDENCE, PTM, RAW, RTT, SPLIT_GSO, SRCHOST, TRIPLE_ISOLATE, UNLIMITED, WASH,
};
use crate::cobalt::CobaltVariant;
use crate::config::{ConfigError, Configure, Keyword, Kind, Link, Settings, Value};
use crate::memory::Buffers;
use crate::time::{Duration, Rate};
use crate::typed::setters;

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
        let bandwidth = settings.number(BANDWIDTH.name, 8, u64::MAX)?;
        if bandwidth.is_some() && settings.flag(UNLIMITED.name) == Some(true) {
            return Err(ConfigError::new(UNLIMITED.name, "", "either `bandwidth` or `unlimited`"));
        }
        let overhead = settings.signed(OVERHEAD.name, -64, 256)?;
        let rtt = settings.number(RTT.name, 0, MAX_RTT)?.unwrap_or(DEFAULT_RTT);
        let variant = CobaltVariant::from_settings(settings);
        Ok(Self {
            rate: bandwidth.map_or(0, |bits| bits / 8),
            bandwidth: Rate::from_bps(bandwidth.unwrap_or(0)),
            classes: one_of(settings, &Classes::ALL, Classes::Diffserv3)?,
            isolation: one_of(settings, &Isolation::ALL, Isolation::Triple)?,
            ack_filter: one_of(settings, &AckFilter::ALL, AckFilter::Off)?,
            cells: one_of(settings, &Cells::ALL, Cells::None)?,
            ingress: settings.flag(INGRESS.name).unwrap_or(false),
            split_gso: settings.flag(SPLIT_GSO.name).unwrap_or(true),
            wash: settings.flag(WASH.name).unwrap_or(false),
            nat: settings.flag(NAT.name).unwrap_or(false),
            overhead: overhead.unwrap_or(0),
            raw: settings.flag(RAW.name).unwrap_or(overhead.is_none()),
            mpu: small(MPU.name)?.unwrap_or(0),
            rtt: Duration::from_micros((rtt / 1_000).max(1)),
            memory_limit: settings.number(MEMLIMIT.name, 1, u64::from(u32::MAX))?,
            buffers: Buffers::from_settings(
                settings,
                match variant {
                    CobaltVariant::Linux => Buffers::Allocated,
                    CobaltVariant::Paper => Buffers::Bare,
                },
            )?,
            mtu: link.mtu,
            autorate: settings.flag(AUTORATE_INGRESS.name).unwrap_or(false),
            fwmark: settings.small(FWMARK.name, 0, u64::from(u32::MAX))?.unwrap_or(0),
            variant,
        })
    }

    fn to_settings(&self) -> Settings {
        let mut settings = if self.bandwidth.as_bps() > 0 {
            Settings::new().with(BANDWIDTH.name, Value::Rate(self.bandwidth))
        } else {
            Settings::new().with(UNLIMITED.name, Value::Flag(true))
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
        settings.set(RTT.name, Value::Time(self.rtt));
        if self.raw {
            settings.set(RAW.name, Value::Flag(true));
        }
        if self.overhead != 0 || !self.raw {
            settings.set(OVERHEAD.name, Value::Signed(i64::from(self.overhead)));
        }
        settings.set(MPU.name, Value::Integer(u64::from(self.mpu)));
        settings.set(INGRESS.name, Value::Flag(self.ingress));
        settings.set(SPLIT_GSO.name, Value::Flag(self.split_gso));
        settings.set(WASH.name, Value::Flag(self.wash));
        settings.set(NAT.name, Value::Flag(self.nat));
        settings.set(AUTORATE_INGRESS.name, Value::Flag(self.autorate));
        if self.fwmark > 0 {
            settings.set(FWMARK.name, Value::Integer(u64::from(self.fwmark)));
        }
        if let Some(limit) = self.memory_limit {
            settings.set(MEMLIMIT.name, Value::Bytes(limit));
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

setters! {
    [] CakeConfig,
    /// Sets `bandwidth`: rate of the shaper. Default: unlimited. Range: 8bit or more.
    with_bandwidth(rate);
    /// Sets `unlimited`: no shaper. Default: on.
    with_unlimited(flag);
    /// Sets `besteffort`: one tin for all packets. Default: off.
    with_besteffort(flag);
    /// Sets `precedence`: eight tins by the three IP precedence bits (RFC 791). Default: off.
    with_precedence(flag);
    /// Sets `diffserv8`: eight tins by DSCP. Default: off.
    with_diffserv8(flag);
    /// Sets `diffserv4`: four tins by DSCP: bulk, best effort, video, voice. Default: off.
    with_diffserv4(flag);
    /// Sets `diffserv3`: three tins by DSCP: bulk, best effort, voice. Default: on.
    with_diffserv3(flag);
    /// Sets `flowblind`: one queue for all flows. Default: off.
    with_flowblind(flag);
    /// Sets `srchost`: one queue per source host. Default: off.
    with_srchost(flag);
    /// Sets `dsthost`: one queue per destination host. Default: off.
    with_dsthost(flag);
    /// Sets `hosts`: one queue per pair of hosts. Default: off.
    with_hosts(flag);
    /// Sets `flows`: one queue per flow. Default: off.
    with_flows(flag);
    /// Sets `dual-srchost`: fairness between source hosts, then between the flows of each. Default:
    /// off.
    with_dual_srchost(flag) = "dual-srchost";
    /// Sets `dual-dsthost`: fairness between destination hosts, then between the flows of each.
    /// Default: off.
    with_dual_dsthost(flag) = "dual-dsthost";
    /// Sets `triple-isolate`: fairness between source hosts and between destination hosts, then
    /// between flows. Default: on.
    with_triple_isolate(flag) = "triple-isolate";
    /// Sets `rtt`: expected round-trip time; COBALT's interval, and twenty times its target.
    /// Default: 100ms. Range: 1us to 4294s.
    with_rtt(time);
    /// Sets `overhead`: bytes that the link adds to each IP packet. Default: raw. Range: -64 to
    /// 256.
    with_overhead(signed);
    /// Sets `raw`: charge each packet its length with the Ethernet header, nothing more. Default:
    /// on.
    with_raw(flag);
    /// Sets `mpu`: smallest length of a packet on the link, in bytes. Default: 0. Range: 0 to 256.
    with_mpu(integer);
    /// Sets `atm`: the link sends cells of 53 bytes that carry 48. Default: noatm.
    with_atm(flag);
    /// Sets `ptm`: the link adds one byte to every 64 (VDSL2). Default: off.
    with_ptm(flag);
    /// Sets `ack-filter`: drop an ACK when two later ones make it superfluous. Default:
    /// no-ack-filter.
    with_ack_filter(flag) = "ack-filter";
    /// Sets `ack-filter-aggressive`: drop an ACK when one later one makes it superfluous. Default:
    /// off.
    with_ack_filter_aggressive(flag) = "ack-filter-aggressive";
    /// Sets `ingress`: charge dropped packets to the shaper, for a shaper behind the bottleneck.
    /// Default: egress.
    with_ingress(flag);
    /// Sets `memlimit`: bytes of memory that all queues together hold. Default: 4 x bandwidth x
    /// rtt, at least 4mb, at most 10240 x MTU. Range: 1 to 4294967295.
    with_memlimit(bytes);
    /// Sets `truesize`: memory that each packet is charged, at least its length; 2304 for many
    /// network drivers, 1 to charge lengths. Default: linux: as Linux allocates; others: the
    /// packet's length. Range: 1 to 1073741824.
    with_truesize(bytes);
    /// Sets `autorate-ingress`: set the shaper to 15/16 of the measured peak arrival rate. Default:
    /// off.
    with_autorate_ingress(flag) = "autorate-ingress";
    /// Sets `fwmark`: mask of the firewall mark whose bits choose the tin, counted from 1; if they
    /// are 0, the DSCP does. Default: 0. Range: 0 to 4294967295.
    with_fwmark(integer);
    /// Sets `wash`: clear the DSCP of each packet after its tin is chosen. Default: nowash.
    with_wash(flag);
    /// Sets `nat`: look up addresses behind NAT; accepted without effect, since nothing is
    /// translated here. Default: nonat.
    with_nat(flag);
    /// Sets `split-gso`: split aggregated packets; accepted without effect, since there are none
    /// here. Default: split-gso.
    with_split_gso(flag) = "split-gso";
}

setters! { @variant [] CakeConfig }

/// Linux sch_cake: limit of the default memory, in packets of the largest size.
const MAX_PACKETS: u64 = 10_240;
const DEFAULT_RTT: u64 = 100_000_000;
/// 2^32 - 1 microseconds.
const MAX_RTT: u64 = u32::MAX as u64 * 1_000;
