//! CAKE: common applications kept enhanced.
//!
//! # What it does
//! A shaper, a few classes (tins), a queue per flow, fairness between hosts and an AQM per flow, as one discipline. The
//! shaper lets packets go when the link is free, without a burst. Packets are put into tins by DSCP; within a tin each
//! flow has a queue of its own (an 8-way set-associative hash keeps flows apart until there are very many), flows that
//! send little go first, and every queue is under COBALT. When the memory is used up, the longest queue loses its oldest
//! packet.
//!
//! # Reference
//! T. Høiland-Jørgensen, D. Täht, J. Morton, "Piece of CAKE", LANMAN 2018; tc-cake(8); behaviour of Linux 6.1
//! `net/sched/sch_cake.c`.
//!
//! # State
//! ```text
//! arrival --> tin (DSCP) --> flow (hash, 8 ways): FIFO, deficit, COBALT, hosts
//! flow:  none --> sparse (new flows) --> bulk (old flows) --> decaying (empty, COBALT not at rest) --> none
//! dequeue: not before time_next (or the failsafe, at 2/3 of the rate); the highest tin that is on schedule, else the
//!          one due first; in it a decaying flow (once), else new, else old ones by deficit
//! ```
//!
//! # Parameters
//! | name | unit | default | source of the default | range |
//! |---|---|---|---|---|
//! | `bandwidth` | rate | none (`unlimited`) | tc-cake(8) | 8 bit/s to 2^64 - 1 |
//! | `besteffort`, `diffserv3`, `diffserv4`, `diffserv8`, `precedence` | flags | `diffserv3` | tc-cake(8) | one of them |
//! | `flowblind`, `srchost`, `dsthost`, `hosts`, `flows`, `dual-srchost`, `dual-dsthost`, `triple-isolate` | flags | `triple-isolate` | tc-cake(8) | one of them |
//! | `rtt` | time | 100 ms | tc-cake(8) | 1 us to 4294 s; the target is a twentieth of it |
//! | `overhead`, `raw` | bytes, flag | `raw` | tc-cake(8) | 0 to 256 beyond the IP packet; beyond the whole packet if `raw` |
//! | `mpu` | bytes | 0 | tc-cake(8) | 0 to 256 |
//! | `atm`, `ptm` | flags | `noatm` | tc-cake(8) | one of them |
//! | `ack-filter`, `ack-filter-aggressive` | flags | off | tc-cake(8) | one of them |
//! | `ingress` | flag | off (`egress`) | tc-cake(8) | |
//! | `memlimit` | bytes | 4 × bandwidth × rtt, at least 4 MiB, at most 10240 × MTU | Linux sch_cake | 1 to 2^32 - 1 |
//! | `wash`, `nat`, `split-gso` | flags | off, off, on | tc-cake(8) | |
//! | `variant` | | `linux` | | `linux`, `paper`: how COBALT begins |
//!
//! tc's words for links and distances (`docsis`, `pppoe-ptm`, `regional`, ...) stand for settings of these.
//!
//! # Deviations
//! The memory limit counts packet bytes, where Linux counts the larger `truesize` of its buffers, and of several longest
//! queues the first loses. Not there: `autorate-ingress`, `fwmark`, negative overhead. Packets are never aggregates and
//! addresses never translated, so `split-gso` and `nat` change nothing. A class chosen by the caller picks the tin, as
//! `skb->priority` does. Flows and hosts are told apart by [`Flow::flow_hash`], [`Flow::source_hash`] and
//! [`Flow::destination_hash`]; for packets that know no hosts each flow has its own. The ACK filter knows what
//! [`Flow::tcp_ack`] tells. A packet of no bytes is charged for one.
//! As in Linux, a flow can be reordered when more than eight flows share a set of the hash, for one of them then loses its
//! queue to another. A change of the classes, the isolation or the variant puts what is queued where it belongs, where
//! Linux leaves it and drops what is in tins that are no more; what was washed belongs to best effort then. Where a quantum is far smaller than the packets
//! (many flows of one host), rounds that serve nobody are made up at once, without dithering.
//!
//! # Cost
//! Constant per packet, plus packets dropped; the ACK filter looks at every packet of the flow, an overflow at up to
//! `log2` of all flows. 64 bytes, a backlog, two tags and two hosts per queue, 1024 queues per tin.
//!
//! # Example
//! ```
//! use goodqueue::{Configure, Link, Rate, Settings, cake::CakeConfig, config::Value};
//! let settings = Settings::new().with("bandwidth", Value::Rate(Rate::from_bps(20_000_000)));
//! let config = CakeConfig::from_settings(&settings, &Link::default()).unwrap();
//! println!("{:?}", config.to_settings());
//! assert_eq!(config.memory(), 4 << 20);
//! ```

use alloc::vec;
use alloc::vec::Vec;

pub(crate) use keywords::KEYWORDS;

use crate::cobalt::{CobaltParams, CobaltVariant, CobaltVars, VARIANTS};
use crate::config::{Build, ConfigError, Configure, Kind, Link, Parameter, Settings, Unit, Value};
use crate::flow_queue::Largest;
use crate::gauge::{Gauge, Gauges, Observation, Part};
use crate::packet::{Flow, Packet};
use crate::qdisc::{Count, DropReason, Drops, Qdisc, Stats};
use crate::queue::{Chain, Pool, Queued};
use crate::random::Random;
use crate::time::{Duration, Instant, Rate};

/// The discipline `cake`.
#[derive(Clone, Debug)]
pub struct Cake<P, R> {
    config: CakeConfig,
    salt: u32,
    random: R,
    tins: Vec<Tin>,
    pool: Pool<P>,
    /// Bytes of each queue of each tin, a packet of no bytes counted as one.
    backlogs: Vec<u64>,
    longest: Largest,
    /// Their sum.
    used: u64,
    shaper: Pace,
    time_next: Instant,
    failsafe_next: Instant,
    /// The tin served last.
    current: usize,
    len: usize,
    bytes: u64,
    /// All that was ever queued.
    entered: Count,
    /// Drops and marks.
    stats: Stats,
    sizes: Sizes,
    overlimits: u64,
    now: Instant,
}

/// Configuration of [`Cake`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CakeConfig {
    /// Bytes per second; 0: no shaper.
    rate: u64,
    bandwidth: Rate,
    classes: Classes,
    isolation: Isolation,
    ack_filter: AckFilter,
    cells: Cells,
    ingress: bool,
    split_gso: bool,
    wash: bool,
    nat: bool,
    /// What the link adds to what a packet has: the IP packet, or where `raw`, the whole of it.
    overhead: u32,
    raw: bool,
    mpu: u32,
    rtt: Duration,
    memory_limit: Option<u64>,
    mtu: u32,
    variant: CobaltVariant,
}

/// How packets are put into tins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Classes {
    BestEffort,
    Diffserv3,
    Diffserv4,
    Diffserv8,
    Precedence,
}

/// What a queue is for, and between whom service is shared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Isolation {
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
enum AckFilter {
    Off,
    Conservative,
    Aggressive,
}

/// What a packet takes on the link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cells {
    None,
    Atm,
    Ptm,
}

/// Nanoseconds per byte: `len * scaled >> shift`.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Pace {
    scaled: u64,
    shift: u32,
}

#[derive(Clone, Debug)]
struct Tin {
    flows: Vec<CakeFlow>,
    /// The flow that each queue is reserved for.
    tags: Vec<u32>,
    hosts: Vec<Host>,
    cobalt: CobaltParams,
    pace: Pace,
    time_next: Instant,
    flow_quantum: u32,
    quantum: i64,
    deficit: i64,
    backlog: u64,
    sparse: u32,
    bulk: u32,
    decaying: u32,
    new_flows: Ring,
    old_flows: Ring,
    decaying_flows: Ring,
    tally: TinTally,
}

/// What Linux counts for `tc -s` in each tin.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct TinTally {
    packets: u64,
    bytes: u64,
    /// Moving averages of the sojourn time: of its peaks, of all, of its troughs.
    peak_delay: u64,
    mean_delay: u64,
    base_delay: u64,
    /// Flows that found their queue elsewhere in their set, that found a new one, that had to share one.
    indirect_hits: u64,
    misses: u64,
    collisions: u64,
    drops: u64,
    marks: u64,
    ack_drops: u64,
    largest: u32,
}

/// Moves an average by a part in `2^shift` of the way.
const fn moving(average: u64, sample: u64, shift: u32) -> u64 {
    (average - (average >> shift)).saturating_add(sample >> shift)
}

impl TinTally {
    /// A packet that waited for `sojourn` is sent.
    fn sent(&mut self, sojourn: Duration) {
        let delay = sojourn.as_nanos();
        let (peak, base) = (self.peak_delay, self.base_delay);
        self.mean_delay = moving(self.mean_delay, delay, 8);
        self.peak_delay = moving(peak, delay, if delay > peak { 2 } else { 8 });
        self.base_delay = moving(base, delay, if delay < base { 2 } else { 8 });
    }
}

/// The sizes of packets, as they came and as the link has them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Sizes {
    network: (u32, u32),
    adjusted: (u32, u32),
    /// Moving average of the link header's length, with 16 binary places.
    header: u64,
    most_memory: u64,
}

impl Default for Sizes {
    fn default() -> Self {
        let none = (u32::from(u16::MAX), 0);
        Self { network: none, adjusted: none, header: 0, most_memory: 0 }
    }
}

/// One queue.
#[derive(Clone, Debug)]
struct CakeFlow {
    packets: Chain,
    deficit: i32,
    cobalt: CobaltVars,
    /// Neighbours on its list.
    before: u16,
    next: u16,
    source: u16,
    destination: u16,
    set: Set,
}

const _: () = assert!(size_of::<CakeFlow>() <= 64, "a thousand flows must stay in the cache");

/// A pair of hosts that share an entry: how many bulk flows come from the one and go to the other.
#[derive(Clone, Copy, Default, Debug)]
struct Host {
    source_tag: u32,
    destination_tag: u32,
    source_bulk: u16,
    destination_bulk: u16,
}

/// Where a flow stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Set {
    None,
    Sparse,
    /// Counted as sparse, but among the old flows, since it has a deficit.
    SparseWait,
    Bulk,
    Decaying,
}

/// A list of flows, linked both ways through `before` and `next`.
#[derive(Clone, Copy, Debug)]
struct Ring {
    head: u16,
    tail: u16,
}

/// "No flow".
const NIL: u16 = u16::MAX;

/// Which of the three lists of a tin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum List {
    New,
    Old,
    Decaying,
}

impl Classes {
    const ALL: [(&'static str, Self); 5] = [
        ("diffserv3", Self::Diffserv3),
        ("besteffort", Self::BestEffort),
        ("diffserv4", Self::Diffserv4),
        ("diffserv8", Self::Diffserv8),
        ("precedence", Self::Precedence),
    ];

    /// Each tin's share of the bandwidth and its weight without a shaper.
    fn tins(self, rate: u64) -> Vec<(u64, i64)> {
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
    fn order(self) -> Vec<usize> {
        match self {
            Self::BestEffort => vec![0],
            Self::Diffserv3 => vec![1, 0, 2],
            Self::Diffserv4 => vec![1, 0, 2, 3],
            Self::Diffserv8 | Self::Precedence => (0..8).collect(),
        }
    }

    /// The tin that the class numbered `class`, from 1, stands for: with bulk traffic before the rest.
    fn of_class(self, class: u32) -> Option<usize> {
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
    const fn of_dscp(self, dscp: u8) -> usize {
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
    const ALL: [(&'static str, Self); 8] = [
        ("triple-isolate", Self::Triple),
        ("flowblind", Self::FlowBlind),
        ("srchost", Self::SourceHost),
        ("dsthost", Self::DestinationHost),
        ("hosts", Self::Hosts),
        ("flows", Self::Flows),
        ("dual-srchost", Self::DualSource),
        ("dual-dsthost", Self::DualDestination),
    ];

    const fn shares_by_source(self) -> bool {
        matches!(self, Self::DualSource | Self::Triple)
    }

    const fn shares_by_destination(self) -> bool {
        matches!(self, Self::DualDestination | Self::Triple)
    }
}

impl AckFilter {
    const ALL: [(&'static str, Self); 2] =
        [("ack-filter", Self::Conservative), ("ack-filter-aggressive", Self::Aggressive)];
}

impl Cells {
    const ALL: [(&'static str, Self); 2] = [("atm", Self::Atm), ("ptm", Self::Ptm)];
}

/// The one of `choices` whose flag is on; `default` if none is.
fn one_of<T: Copy>(settings: &Settings, choices: &[(&'static str, T)], default: T) -> Result<T, ConfigError> {
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
fn flag_of<T: Copy + PartialEq>(choices: &[(&'static str, T)], chosen: T) -> Option<&'static str> {
    choices.iter().find(|(_, choice)| *choice == chosen).map(|(name, _)| *name)
}

impl Pace {
    /// `rate` in bytes per second, taken as 64 at least so that a link never stops for good; 0: no pace.
    fn of(rate: u64) -> Self {
        if rate == 0 {
            return Self::default();
        }
        let mut shift = 34;
        let mut scaled = (NANOS_PER_SECOND << shift) / rate.max(64);
        while scaled >> 34 > 0 {
            scaled >>= 1;
            shift -= 1;
        }
        Self { scaled, shift }
    }

    fn time(self, bytes: u32) -> Duration {
        let nanos = (u128::from(bytes) * u128::from(self.scaled)) >> self.shift;
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
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

    /// What a packet of `bytes`, Ethernet header included, has without what the link adds.
    const fn on_the_network(&self, bytes: u32) -> u32 {
        if self.raw { bytes } else { bytes.saturating_sub(ETHERNET_HEADER) }
    }

    /// What a packet of `bytes`, Ethernet header included, takes on the link.
    fn on_the_link(&self, bytes: u32) -> u32 {
        let bytes = self.on_the_network(bytes).saturating_add(self.overhead);
        let bytes = bytes.max(self.mpu).max(1);
        match self.cells {
            Cells::None => bytes,
            Cells::Atm => bytes.div_ceil(48).saturating_mul(53),
            Cells::Ptm => bytes.saturating_add(bytes.div_ceil(64)),
        }
    }

    /// A twentieth of the round-trip time, in whole microseconds (iproute2).
    fn target(&self) -> Duration {
        Duration::from_micros((self.rtt.as_nanos() / 20_000).max(1))
    }
}

impl Configure for CakeConfig {
    const KIND: Kind = KIND;

    fn from_settings(settings: &Settings, link: &Link) -> Result<Self, ConfigError> {
        let small = |name| -> Result<Option<u32>, ConfigError> {
            Ok(settings.number(name, 0, 256)?.and_then(|n| u32::try_from(n).ok()))
        };
        let bandwidth = settings.number("bandwidth", 8, u64::MAX)?;
        if bandwidth.is_some() && settings.flag("unlimited") == Some(true) {
            return Err(ConfigError::new("unlimited", "", "either `bandwidth` or `unlimited`"));
        }
        let overhead = small("overhead")?;
        let rtt = settings.number("rtt", 0, MAX_RTT)?.unwrap_or(DEFAULT_RTT);
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
            mtu: link.mtu,
            variant: CobaltVariant::from_settings(settings),
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
        if self.overhead > 0 || !self.raw {
            settings.set("overhead", Value::Integer(u64::from(self.overhead)));
        }
        settings.set("mpu", Value::Integer(u64::from(self.mpu)));
        settings.set("ingress", Value::Flag(self.ingress));
        settings.set("split-gso", Value::Flag(self.split_gso));
        settings.set("wash", Value::Flag(self.wash));
        settings.set("nat", Value::Flag(self.nat));
        if let Some(limit) = self.memory_limit {
            settings.set("memlimit", Value::Bytes(limit));
        }
        settings.with("variant", Value::Choice(self.variant.name()))
    }
}

impl Tin {
    fn new(config: &CakeConfig) -> Self {
        let flow = CakeFlow {
            packets: Chain::default(),
            deficit: 0,
            cobalt: CobaltVars::new(config.variant),
            before: NIL,
            next: NIL,
            source: 0,
            destination: 0,
            set: Set::None,
        };
        Self {
            flows: vec![flow; QUEUES],
            tags: vec![0; QUEUES],
            hosts: vec![Host::default(); QUEUES],
            cobalt: CobaltParams::new(Duration::ZERO, Duration::ZERO, config.variant),
            pace: Pace::default(),
            time_next: Instant::ZERO,
            flow_quantum: 0,
            quantum: 0,
            deficit: 0,
            backlog: 0,
            sparse: 0,
            bulk: 0,
            decaying: 0,
            new_flows: Ring::EMPTY,
            old_flows: Ring::EMPTY,
            decaying_flows: Ring::EMPTY,
            tally: TinTally::default(),
        }
    }

    /// Takes over a share of the link: `rate` bytes per second, and a weight where there is no shaper.
    fn set_rate(&mut self, config: &CakeConfig, (rate, weight): (u64, i64)) {
        self.flow_quantum = if rate == 0 {
            MAX_FLOW_QUANTUM
        } else {
            u32::try_from(rate >> 12).unwrap_or(u32::MAX).clamp(MIN_FLOW_QUANTUM, MAX_FLOW_QUANTUM)
        };
        self.quantum = weight.max(1);
        self.pace = Pace::of(rate);
        let mtu_time = self.pace.time(config.mtu);
        let asked = config.target();
        let target = asked.max(Duration::from_nanos(mtu_time.as_nanos().saturating_mul(3) / 2));
        let interval = (config.rtt + target).saturating_sub(asked).max(target.saturating_mul(2));
        self.cobalt = CobaltParams { mtu_time, ..CobaltParams::new(target, interval, config.variant) };
    }

    fn gauges(&self, rate: u64) -> Gauges {
        let number = |value: u32| Gauge::Number(u64::from(value));
        let time = |nanos: u64| Gauge::Time(Duration::from_nanos(nanos));
        let unresponsive = self.flows.iter().filter(|flow| flow.cobalt.blue() > 0).count() as u64;
        let tally = &self.tally;
        vec![
            ("threshold_rate", Gauge::Number(rate)),
            ("sent_bytes", Gauge::Number(tally.bytes)),
            ("backlog_bytes", Gauge::Number(self.backlog)),
            ("target_us", Gauge::Time(self.cobalt.target)),
            ("interval_us", Gauge::Time(self.cobalt.interval)),
            ("peak_delay_us", time(tally.peak_delay)),
            ("avg_delay_us", time(tally.mean_delay)),
            ("base_delay_us", time(tally.base_delay)),
            ("sent_packets", Gauge::Number(tally.packets)),
            ("way_indirect_hits", Gauge::Number(tally.indirect_hits)),
            ("way_misses", Gauge::Number(tally.misses)),
            ("way_collisions", Gauge::Number(tally.collisions)),
            ("drops", Gauge::Number(tally.drops)),
            ("ecn_mark", Gauge::Number(tally.marks)),
            ("ack_drops", Gauge::Number(tally.ack_drops)),
            ("sparse_flows", number(self.sparse.saturating_add(self.decaying))),
            ("bulk_flows", number(self.bulk)),
            ("unresponsive_flows", Gauge::Number(unresponsive)),
            ("max_pkt_len", number(tally.largest)),
            ("flow_quantum", number(self.flow_quantum)),
        ]
    }

    const fn has_flows(&self) -> bool {
        self.sparse > 0 || self.bulk > 0
    }

    fn ring(&mut self, list: List) -> &mut Ring {
        match list {
            List::New => &mut self.new_flows,
            List::Old => &mut self.old_flows,
            List::Decaying => &mut self.decaying_flows,
        }
    }

    fn append(&mut self, list: List, index: u16) {
        let tail = core::mem::replace(&mut self.ring(list).tail, index);
        match self.flows.get_mut(tail as usize) {
            Some(last) => last.next = index,
            None => self.ring(list).head = index,
        }
        if let Some(flow) = self.flows.get_mut(index as usize) {
            (flow.before, flow.next) = (tail, NIL);
        }
    }

    fn unlink(&mut self, list: List, index: u16) {
        let Some(flow) = self.flows.get_mut(index as usize) else { return };
        let (before, next) = (flow.before, flow.next);
        match self.flows.get_mut(before as usize) {
            Some(neighbour) => neighbour.next = next,
            None => self.ring(list).head = next,
        }
        match self.flows.get_mut(next as usize) {
            Some(neighbour) => neighbour.before = before,
            None => self.ring(list).tail = before,
        }
    }

    /// The flow to serve: one that decays, if that may be, else a new one, else an old one.
    const fn first(&self, decaying_first: bool) -> Option<(List, u16)> {
        if decaying_first && self.decaying_flows.head != NIL {
            Some((List::Decaying, self.decaying_flows.head))
        } else if self.new_flows.head != NIL {
            Some((List::New, self.new_flows.head))
        } else if self.old_flows.head != NIL {
            Some((List::Old, self.old_flows.head))
        } else if self.decaying_flows.head != NIL {
            Some((List::Decaying, self.decaying_flows.head))
        } else {
            None
        }
    }

    /// The queue for a flow with this tag: the one reserved for it, else an unused one of its set, else, as a collision,
    /// the one where it belongs.
    fn queue_of(&mut self, tag: u32, hosts: (u32, u32), isolation: Isolation) -> u16 {
        let home = remainder(tag);
        let ways = || ways(home);
        let tagged = ways().find(|&way| self.tags.get(way).copied() == Some(tag));
        let unused = |tin: &Self, way: usize| tin.flows.get(way).is_some_and(|flow| flow.set == Set::None);
        let (way, join_hosts) = match tagged {
            Some(way) => {
                self.tally.indirect_hits = self.tally.indirect_hits.wrapping_add(u64::from(way != home));
                (way, unused(self, way))
            }
            None => match ways().find(|&way| unused(self, way)) {
                Some(way) => {
                    self.tally.misses = self.tally.misses.wrapping_add(1);
                    (way, true)
                }
                None => {
                    self.tally.collisions = self.tally.collisions.wrapping_add(1);
                    if self.flows.get(home).is_some_and(|flow| flow.set == Set::Bulk) {
                        self.count_hosts(home, isolation, false);
                    }
                    (home, true)
                }
            },
        };
        if let Some(entry) = self.tags.get_mut(way) {
            *entry = tag;
        }
        if join_hosts {
            if isolation.shares_by_source() {
                let host = self.host_of(hosts.0, |host| (&mut host.source_tag, host.source_bulk));
                if let Some(flow) = self.flows.get_mut(way) {
                    flow.source = host;
                }
            }
            if isolation.shares_by_destination() {
                let host = self.host_of(hosts.1, |host| (&mut host.destination_tag, host.destination_bulk));
                if let Some(flow) = self.flows.get_mut(way) {
                    flow.destination = host;
                }
            }
            // The queue's place among the bulk flows goes over to the hosts that use it now.
            if self.flows.get(way).is_some_and(|flow| flow.set == Set::Bulk) {
                self.count_hosts(way, isolation, true);
            }
        }
        u16::try_from(way).unwrap_or(0)
    }

    /// The entry for a host with this tag: its own, else one without bulk flows, else the one where it belongs.
    fn host_of(&mut self, tag: u32, side: impl Fn(&mut Host) -> (&mut u32, u16)) -> u16 {
        let home = remainder(tag);
        let mut chosen = None;
        for way in ways(home) {
            if self.hosts.get_mut(way).is_some_and(|host| *side(host).0 == tag) {
                chosen = Some(way);
                break;
            }
        }
        if chosen.is_none() {
            for way in ways(home) {
                if self.hosts.get_mut(way).is_some_and(|host| side(host).1 == 0) {
                    chosen = Some(way);
                    break;
                }
            }
        }
        let way = chosen.unwrap_or(home);
        if let Some(host) = self.hosts.get_mut(way) {
            *side(host).0 = tag;
        }
        u16::try_from(way).unwrap_or(0)
    }

    /// Flow `index` begins, or ends, to count as a bulk flow of its hosts.
    fn count_hosts(&mut self, index: usize, isolation: Isolation, begins: bool) {
        let Some(flow) = self.flows.get(index) else { return };
        let (source, destination) = (flow.source as usize, flow.destination as usize);
        let change = |count: &mut u16| {
            *count = if begins { count.saturating_add(1) } else { count.saturating_sub(1) };
        };
        if isolation.shares_by_source()
            && let Some(host) = self.hosts.get_mut(source)
        {
            change(&mut host.source_bulk);
        }
        if isolation.shares_by_destination()
            && let Some(host) = self.hosts.get_mut(destination)
        {
            change(&mut host.destination_bulk);
        }
    }

    /// What flow `index` may send per round, with 16 binary places: less, the more bulk flows its busier host has.
    fn fine_quantum(&self, index: u16, isolation: Isolation) -> u64 {
        let Some(flow) = self.flows.get(index as usize) else { return 0 };
        let mut load = 1;
        if isolation.shares_by_source() {
            load = self.hosts.get(flow.source as usize).map_or(load, |host| load.max(host.source_bulk));
        }
        if isolation.shares_by_destination() {
            load = self
                .hosts
                .get(flow.destination as usize)
                .map_or(load, |host| load.max(host.destination_bulk));
        }
        u64::from(self.flow_quantum) * u64::from(u16::MAX / load.max(1))
    }

    /// The same in bytes, rounded up or down at random so that nothing is lost in the long run.
    fn quantum(&self, index: u16, isolation: Isolation, random: &mut impl Random) -> i32 {
        let dithered = self.fine_quantum(index, isolation) + u64::from(random.next_u32() & 0xFFFF);
        i32::try_from(dithered >> 16).unwrap_or(i32::MAX)
    }

    /// All flows have a deficit that many rounds will not make up: all but the last of these rounds are done at once.
    fn skip_fruitless_rounds(&mut self, isolation: Isolation) {
        let mut rounds = u64::MAX;
        let mut looked_at = self.old_flows.head;
        while let Some(flow) = self.flows.get(looked_at as usize) {
            let missing = u64::from(flow.deficit.min(0).unsigned_abs()) << 16;
            rounds = rounds.min(missing / self.fine_quantum(looked_at, isolation).max(1));
            looked_at = flow.next;
        }
        let mut index = self.old_flows.head;
        while index != NIL {
            let gained = self.fine_quantum(index, isolation).saturating_mul(rounds) >> 16;
            let Some(flow) = self.flows.get_mut(index as usize) else { break };
            flow.deficit = flow.deficit.saturating_add(i32::try_from(gained).unwrap_or(i32::MAX));
            index = flow.next;
        }
    }
}

/// The ways of the set that `home` belongs to, from `home` on.
fn ways(home: usize) -> impl Iterator<Item = usize> {
    let first = home - home % WAYS;
    (0..WAYS).map(move |step| first + (home + step) % WAYS)
}

/// Where a tag belongs.
fn remainder(tag: u32) -> usize {
    tag as usize % QUEUES
}

impl Ring {
    const EMPTY: Self = Self { head: NIL, tail: NIL };
}

impl<P: Packet + Flow, R: Random> Cake<P, R> {
    /// An empty queue; flows and hosts are hashed with `salt`, COBALT and the quanta draw from `random`.
    #[must_use]
    pub fn new(config: CakeConfig, salt: u32, random: R) -> Self {
        let mut cake = Self {
            config,
            salt,
            random,
            tins: Vec::new(),
            pool: Pool::default(),
            backlogs: Vec::new(),
            longest: Largest::default(),
            used: 0,
            shaper: Pace::default(),
            time_next: Instant::ZERO,
            failsafe_next: Instant::ZERO,
            current: 0,
            len: 0,
            bytes: 0,
            entered: Count::default(),
            stats: Stats::default(),
            sizes: Sizes::default(),
            overlimits: 0,
            now: Instant::ZERO,
        };
        cake.set_up();
        cake
    }

    /// Brings tins and rates into line with the configuration.
    fn set_up(&mut self) {
        let shares = self.config.classes.tins(self.config.rate);
        let config = self.config;
        if self.tins.len() != shares.len() {
            self.tins.resize_with(shares.len(), || Tin::new(&config));
            self.backlogs = vec![0; shares.len() * QUEUES];
            self.longest = Largest::default();
        }
        for (tin, share) in self.tins.iter_mut().zip(shares) {
            tin.set_rate(&config, share);
        }
        self.shaper = self.tins.first().map(|tin| tin.pace).unwrap_or_default();
        self.current = self.current.min(self.tins.len().saturating_sub(1));
    }

    /// Takes the size of an arriving packet down, for the statistics.
    fn measure(&mut self, bytes: u32) {
        let widened = |(least, most): (u32, u32), size: u32| (least.min(size), most.max(size));
        let sizes = &mut self.sizes;
        sizes.network = widened(sizes.network, self.config.on_the_network(bytes));
        sizes.adjusted = widened(sizes.adjusted, self.config.on_the_link(bytes));
        sizes.header = moving(sizes.header, u64::from(ETHERNET_HEADER) << 16, 8);
        sizes.most_memory = sizes.most_memory.max(self.used);
    }

    fn tally(&mut self, tin: usize) -> Option<&mut TinTally> {
        self.tins.get_mut(tin).map(|tin| &mut tin.tally)
    }

    const fn is_shaped(&self) -> bool {
        self.config.rate > 0
    }

    /// When the shaper lets the next packet go, if that is later than now.
    fn held_until(&self) -> Option<Instant> {
        let next = self.time_next.min(self.failsafe_next);
        (next > self.now).then_some(next)
    }

    fn tin_of(&self, packet: &P) -> usize {
        let chosen = packet.class().and_then(|class| self.config.classes.of_class(class));
        let tin = chosen.unwrap_or_else(|| self.config.classes.of_dscp(packet.dscp()));
        if tin < self.tins.len() { tin } else { 0 }
    }

    /// The hash that tells flows, or hosts, apart, and those of the hosts.
    fn tags_of(&self, packet: &P) -> (u32, (u32, u32)) {
        let hosts = (packet.source_hash(self.salt), packet.destination_hash(self.salt));
        let tag = match self.config.isolation {
            Isolation::FlowBlind => 0,
            Isolation::SourceHost => hosts.0,
            Isolation::DestinationHost => hosts.1,
            Isolation::Hosts => hosts.0 ^ hosts.1,
            _ => packet.flow_hash(self.salt),
        };
        (tag, hosts)
    }

    /// Charges `bytes` on the link to the shapers of the tin and of the whole.
    fn advance(&mut self, tin: usize, bytes: u32, dropped: bool) {
        if !self.is_shaped() {
            return;
        }
        let whole = self.shaper.time(bytes);
        if let Some(tin) = self.tins.get_mut(tin) {
            let own = tin.pace.time(bytes);
            if tin.time_next < self.now {
                tin.time_next += own;
            } else if tin.time_next < self.now + own {
                tin.time_next = self.now + own;
            }
        }
        self.time_next += whole;
        if !dropped {
            self.failsafe_next = self.failsafe_next + whole + Duration::from_nanos(whole.as_nanos() >> 1);
        }
    }

    /// Takes the oldest packet of a queue.
    fn take(&mut self, tin: usize, index: u16) -> Option<P> {
        let flow = self.tins.get_mut(tin)?.flows.get_mut(index as usize)?;
        let bytes = self.pool.front(&flow.packets)?.packet.len();
        self.forget(tin, index, bytes);
        self.pool.pop_front(&mut self.tins.get_mut(tin)?.flows.get_mut(index as usize)?.packets)
    }

    /// When the oldest packet of a queue came.
    fn arrival(&self, tin: usize, index: u16) -> Option<Instant> {
        let flow = self.tins.get(tin)?.flows.get(index as usize)?;
        self.pool.front(&flow.packets).map(|queued| queued.at)
    }

    /// A packet of `bytes` has left a queue.
    fn forget(&mut self, tin: usize, index: u16, bytes: u32) {
        let charge = u64::from(bytes.max(1));
        self.change_backlog(tin, index, |backlog| backlog.saturating_sub(charge));
        self.used = self.used.saturating_sub(charge);
        if let Some(tin) = self.tins.get_mut(tin) {
            tin.backlog = tin.backlog.saturating_sub(charge);
        }
        self.len = self.len.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(u64::from(bytes));
    }

    #[inline]
    fn change_backlog(&mut self, tin: usize, index: u16, change: impl FnOnce(u64) -> u64) {
        let place = tin * QUEUES + index as usize;
        if let Some(backlog) = self.backlogs.get_mut(place) {
            *backlog = change(*backlog);
            self.longest.set(u32::try_from(place).unwrap_or(u32::MAX), *backlog);
        }
    }

    /// The memory is used up: the longest queue loses its oldest packet.
    fn drop_from_longest(&mut self, drops: &mut impl Drops<P>) -> bool {
        let longest = self.longest.find(self.backlogs.iter().copied()) as usize;
        let (tin, index) = (longest / QUEUES, longest % QUEUES);
        let Some(lost) = self.take(tin, u16::try_from(index).unwrap_or(NIL)) else { return false };
        let now = self.now;
        if let Some(tin) = self.tins.get_mut(tin)
            && let Some(flow) = tin.flows.get_mut(index)
        {
            flow.cobalt.queue_full(now, &tin.cobalt);
            tin.tally.drops = tin.tally.drops.wrapping_add(1);
        }
        let bytes = lost.len();
        if self.config.ingress {
            self.advance(tin, self.config.on_the_link(bytes), true);
        }
        self.stats.dropped_after.add(bytes);
        drops.dropped(lost, DropReason::Overmemory);
        true
    }

    fn drop_excess(&mut self, drops: &mut impl Drops<P>) {
        let memory = self.config.memory();
        while self.used > memory && self.drop_from_longest(drops) {}
    }

    /// An ACK at the end of a queue makes older ones of its connection superfluous: one of them goes, the oldest that may
    /// be spared. Two such are needed, unless the filter is aggressive and nothing stands between.
    fn filter_acks(&mut self, tin: usize, index: u16, drops: &mut impl Drops<P>) {
        let Some(flow) = self.tins.get(tin).and_then(|tin| tin.flows.get(index as usize)) else { return };
        let Some((last, newest)) = self.pool.back(&flow.packets) else { return };
        let Some(trigger) = newest.packet.tcp_ack() else { return };
        let tag = newest.packet.flow_hash(self.salt);
        let mut found: Option<(u32, u8)> = None;
        let mut behind_found = NIL_NODE;
        let mut spare = false;
        for (node, older) in self.pool.nodes(&flow.packets) {
            if found.is_some() && behind_found == NIL_NODE {
                behind_found = node;
            }
            if node == last {
                break;
            }
            let Some(ack) = older.tcp_ack() else { continue };
            if older.flow_hash(self.salt) != tag {
                continue;
            }
            if found.is_some_and(|(_, ecn)| ecn != ack.ecn) {
                found = None;
                behind_found = NIL_NODE;
            }
            if !ack.is_superseded_by(&trigger) {
                continue;
            }
            if found.is_some() {
                spare = true;
                break;
            }
            found = Some((node, ack.ecn));
        }
        let Some((node, ecn)) = found else { return };
        let adjacent = behind_found == last && ecn == trigger.ecn;
        let aggressive = self.config.ack_filter == AckFilter::Aggressive;
        if !(spare || aggressive && adjacent) {
            return;
        }
        let Some(queue) = self.tins.get_mut(tin).and_then(|tin| tin.flows.get_mut(index as usize)) else {
            return;
        };
        let Some(old) = self.pool.remove(&mut queue.packets, node) else { return };
        if let Some(tally) = self.tally(tin) {
            tally.ack_drops = tally.ack_drops.wrapping_add(1);
        }
        let bytes = old.len();
        self.forget(tin, index, bytes);
        if self.config.ingress {
            self.advance(tin, self.config.on_the_link(bytes), true);
        }
        self.stats.dropped_after.add(bytes);
        drops.dropped(old, DropReason::Superseded);
    }

    /// Puts a packet that came at `at` into its queue.
    fn insert(&mut self, at: Instant, mut packet: P, drops: &mut impl Drops<P>) {
        let (now, isolation) = (self.now, self.config.isolation);
        let bytes = packet.len();
        let tin_index = self.tin_of(&packet);
        if self.config.wash {
            packet.clear_dscp();
        }
        let (tag, hosts) = self.tags_of(&packet);
        let Some(tin) = self.tins.get_mut(tin_index) else { return };
        let index = tin.queue_of(tag, hosts, isolation);
        // An idle shaper has no credit.
        if tin.backlog == 0 {
            tin.time_next = tin.time_next.max(now);
            if self.len == 0 && self.time_next < now {
                (self.time_next, self.failsafe_next) = (now, now);
            } else if self.len == 0 && self.time_next > now && self.failsafe_next > now {
                self.overlimits = self.overlimits.wrapping_add(1);
            }
        }
        let Some(flow) = tin.flows.get_mut(index as usize) else { return };
        self.pool.push_back(&mut flow.packets, at, packet);
        tin.tally.packets = tin.tally.packets.wrapping_add(1);
        tin.tally.bytes = tin.tally.bytes.wrapping_add(u64::from(bytes));
        tin.tally.largest = tin.tally.largest.max(bytes);
        let charge = u64::from(bytes.max(1));
        tin.backlog = tin.backlog.saturating_add(charge);
        self.used = self.used.saturating_add(charge);
        self.change_backlog(tin_index, index, |backlog| backlog.saturating_add(charge));
        self.len = self.len.saturating_add(1);
        self.bytes = self.bytes.saturating_add(u64::from(bytes));
        if self.config.ack_filter != AckFilter::Off {
            self.filter_acks(tin_index, index, drops);
        }
        self.enlist(tin_index, index);
    }

    /// Flow `index` of a tin has a packet: it takes its place among the flows to be served.
    fn enlist(&mut self, tin: usize, index: u16) {
        let isolation = self.config.isolation;
        let Some(tin) = self.tins.get_mut(tin) else { return };
        match tin.flows.get(index as usize).map(|flow| flow.set) {
            Some(was @ (Set::None | Set::Decaying)) => {
                if was == Set::Decaying {
                    tin.unlink(List::Decaying, index);
                    tin.decaying = tin.decaying.saturating_sub(1);
                }
                tin.append(List::New, index);
                tin.sparse = tin.sparse.saturating_add(1);
                let quantum = tin.quantum(index, isolation, &mut self.random);
                if let Some(flow) = tin.flows.get_mut(index as usize) {
                    flow.set = Set::Sparse;
                    flow.deficit = quantum;
                }
            }
            Some(Set::SparseWait) => {
                tin.sparse = tin.sparse.saturating_sub(1);
                tin.bulk = tin.bulk.saturating_add(1);
                if let Some(flow) = tin.flows.get_mut(index as usize) {
                    flow.set = Set::Bulk;
                }
                tin.count_hosts(index as usize, isolation, true);
            }
            _ => {}
        }
    }

    /// Makes all tins and queues anew and puts every packet where it belongs now, queue by queue, so that no flow is
    /// reordered.
    fn rebuild(&mut self, drops: &mut impl Drops<P>) {
        let mut queued = Vec::new();
        for tin in 0..self.tins.len() {
            for index in 0..QUEUES_16 {
                while let Some((at, packet)) = self.arrival(tin, index).zip(self.take(tin, index)) {
                    queued.push(Queued { at, packet });
                }
            }
        }
        let tallies = self.begin_anew();
        for Queued { at, packet } in queued {
            self.insert(at, packet, drops);
        }
        // What was queued is not counted twice.
        self.restore(tallies);
    }

    /// Makes all tins anew; what was counted in the old ones is for [`Self::restore`].
    fn begin_anew(&mut self) -> Vec<TinTally> {
        let tallies = self.tins.iter().map(|tin| tin.tally).collect();
        self.tins.clear();
        self.set_up();
        tallies
    }

    fn restore(&mut self, tallies: Vec<TinTally>) {
        for (tin, tally) in self.tins.iter_mut().zip(tallies) {
            tin.tally = tally;
        }
    }

    /// The tin to serve.
    fn choose_tin(&mut self) -> Option<usize> {
        if self.is_shaped() {
            // The last one that is on schedule; if none is, the one that will be so first.
            let mut best: Option<(u64, usize)> = None;
            for (index, tin) in self.tins.iter().enumerate().filter(|(_, tin)| tin.has_flows()) {
                let wait = tin.time_next.since(self.now).as_nanos();
                if best.is_none_or(|(least, _)| wait <= least) {
                    best = Some((wait, index));
                }
            }
            return best.map(|(_, index)| index);
        }
        // Without a shaper, by weight.
        if !self.tins.iter().any(Tin::has_flows) {
            return None;
        }
        let mut index = self.current;
        let mut visits = 0;
        loop {
            let tin = self.tins.get_mut(index)?;
            if tin.deficit >= 0 && tin.has_flows() {
                return Some(index);
            }
            if tin.deficit <= 0 {
                tin.deficit = tin.deficit.saturating_add(tin.quantum);
            }
            index = if index + 1 < self.tins.len() { index + 1 } else { 0 };
            visits += 1;
            if visits == FRUITLESS_TINS {
                self.skip_fruitless_tins();
            }
        }
    }

    /// All tins that have flows have a deficit of many rounds: all but the last of these are done at once.
    fn skip_fruitless_tins(&mut self) {
        let missing = |tin: &Tin| tin.deficit.min(0).saturating_neg() / tin.quantum;
        let rounds = self.tins.iter().filter(|tin| tin.has_flows()).map(missing).min().unwrap_or(0);
        for tin in &mut self.tins {
            let own = rounds.min(missing(tin));
            tin.deficit = tin.deficit.saturating_add(own.saturating_mul(tin.quantum));
        }
    }

    /// A queue that was served is empty: it stays listed until its COBALT is at rest.
    fn emptied(&mut self, tin: usize, list: List, index: u16) {
        let (now, isolation) = (self.now, self.config.isolation);
        let Some(tin) = self.tins.get_mut(tin) else { return };
        tin.unlink(list, index);
        let Some(flow) = tin.flows.get_mut(index as usize) else { return };
        flow.cobalt.queue_empty(now, &tin.cobalt);
        let decays = !flow.cobalt.is_at_rest(now);
        let was = core::mem::replace(&mut flow.set, if decays { Set::Decaying } else { Set::None });
        match was {
            Set::Bulk => {
                tin.bulk = tin.bulk.saturating_sub(1);
                tin.count_hosts(index as usize, isolation, false);
            }
            Set::Sparse | Set::SparseWait => tin.sparse = tin.sparse.saturating_sub(1),
            Set::Decaying | Set::None => tin.decaying = tin.decaying.saturating_sub(1),
        }
        if decays {
            tin.decaying = tin.decaying.saturating_add(1);
            tin.append(List::Decaying, index);
        }
    }

    /// A flow has used up its deficit: it gets a quantum and goes to the end of the old flows.
    fn send_back(&mut self, tin: usize, list: List, index: u16) {
        let isolation = self.config.isolation;
        let Some(tin) = self.tins.get_mut(tin) else { return };
        if let Some(flow) = tin.flows.get_mut(index as usize)
            && flow.set == Set::Sparse
        {
            if flow.packets.is_empty() {
                flow.set = Set::SparseWait;
            } else {
                flow.set = Set::Bulk;
                tin.sparse = tin.sparse.saturating_sub(1);
                tin.bulk = tin.bulk.saturating_add(1);
                tin.count_hosts(index as usize, isolation, true);
            }
        }
        let quantum = tin.quantum(index, isolation, &mut self.random);
        if let Some(flow) = tin.flows.get_mut(index as usize) {
            flow.deficit = flow.deficit.saturating_add(quantum);
        }
        tin.unlink(list, index);
        tin.append(List::Old, index);
    }

    /// Serves flow `index` of a tin: the packet to send, or `Err(true)` if the queue turned out empty, `Err(false)` if a
    /// packet was dropped and charged so that another flow may be next.
    fn serve(&mut self, tin: usize, index: u16, drops: &mut impl Drops<P>) -> Result<P, bool> {
        loop {
            let state = self.tins.get_mut(tin).ok_or(true)?;
            let bulk = if self.config.ingress { state.bulk } else { 0 };
            let flow = state.flows.get_mut(index as usize).ok_or(true)?;
            let came = self.pool.front(&flow.packets).ok_or(true)?.at;
            // It is judged where it lies.
            let packet = self.pool.front_mut(&flow.packets).ok_or(true)?;
            let sojourn = self.now.since(came);
            let verdict =
                flow.cobalt.decide(self.now, &state.cobalt, sojourn, bulk, packet, &mut self.random);
            let bytes = packet.len();
            let charge = self.config.on_the_link(bytes);
            // The last packet may be marked, not dropped.
            let sent = !verdict.drop || flow.packets.len() == 1;
            if verdict.marked {
                self.stats.marked.add(bytes);
                state.tally.marks = state.tally.marks.wrapping_add(1);
            }
            if sent || self.config.ingress {
                flow.deficit = flow.deficit.saturating_sub_unsigned(charge);
                state.deficit = state.deficit.saturating_sub(i64::from(charge));
            }
            if sent {
                state.tally.sent(sojourn);
            } else {
                state.tally.drops = state.tally.drops.wrapping_add(1);
            }
            if sent || self.config.ingress {
                self.advance(tin, charge, !sent);
            }
            let taken = self.take(tin, index);
            if sent {
                return taken.ok_or(true);
            }
            self.stats.dropped_after.add(bytes);
            if let Some(lost) = taken {
                drops.dropped(lost, DropReason::Congested);
            }
            if self.config.ingress {
                return Err(false);
            }
        }
    }
}

impl<P: Packet + Flow, R: Random> Build<P, R> for Cake<P, R> {
    fn build(config: CakeConfig, salt: u32, random: R) -> Self {
        Self::new(config, salt, random)
    }
}

impl<P: Packet + Flow, R: Random> Qdisc<P> for Cake<P, R> {
    type Config = CakeConfig;

    fn enqueue(&mut self, now: Instant, packet: P, drops: &mut impl Drops<P>) {
        self.now = self.now.max(now);
        let bytes = packet.len();
        self.entered.add(bytes);
        self.insert(self.now, packet, drops);
        self.measure(bytes);
        self.drop_excess(drops);
    }

    fn dequeue(&mut self, now: Instant, drops: &mut impl Drops<P>) -> Option<P> {
        self.now = self.now.max(now);
        let mut decaying_first = true;
        let mut visits = 0_u32;
        while self.len > 0 {
            if self.is_shaped() && self.held_until().is_some() {
                self.overlimits = self.overlimits.wrapping_add(1);
                return None;
            }
            let chosen = self.choose_tin()?;
            self.current = chosen;
            while let Some((list, index)) = self.tins.get(chosen)?.first(decaying_first) {
                decaying_first = false;
                let spent = self
                    .tins
                    .get(chosen)
                    .and_then(|tin| tin.flows.get(index as usize))
                    .is_none_or(|flow| flow.deficit <= 0);
                if spent {
                    self.send_back(chosen, list, index);
                    visits = visits.saturating_add(1);
                    if visits.is_multiple_of(FRUITLESS_FLOWS)
                        && let Some(tin) = self.tins.get_mut(chosen)
                        && tin.new_flows.head == NIL
                    {
                        tin.skip_fruitless_rounds(self.config.isolation);
                    }
                    continue;
                }
                match self.serve(chosen, index, drops) {
                    Ok(packet) => return Some(packet),
                    Err(true) => {
                        self.emptied(chosen, list, index);
                        break;
                    }
                    Err(false) => {}
                }
            }
        }
        None
    }

    fn next_event(&self, now: Instant) -> Option<Instant> {
        let next = self.time_next.min(self.failsafe_next);
        (self.len > 0 && self.is_shaped() && next > self.now.max(now)).then_some(next)
    }

    fn len(&self) -> usize {
        self.len
    }

    fn backlog(&self) -> u64 {
        self.bytes
    }

    fn stats(&self) -> Stats {
        let queued = Count { packets: self.len as u64, bytes: self.bytes };
        self.stats.with_queue(self.entered, queued)
    }

    fn observe(&self, _now: Instant, seen: &mut Observation) {
        let Sizes { network, adjusted, header, most_memory } = self.sizes;
        seen.overlimits = self.overlimits;
        seen.number("memory_used", most_memory);
        seen.number("memory_limit", self.config.memory());
        seen.number("capacity_estimate", self.config.rate);
        seen.number("min_network_size", u64::from(network.0));
        seen.number("max_network_size", u64::from(network.1));
        seen.number("min_adj_size", u64::from(adjusted.0));
        seen.number("max_adj_size", u64::from(adjusted.1));
        seen.number("avg_hdr_offset", (header + (1 << 15)) >> 16);
        let shares = self.config.classes.tins(self.config.rate);
        for (class, index) in (1..).zip(self.config.classes.order()) {
            if let (Some(tin), Some(share)) = (self.tins.get(index), shares.get(index)) {
                seen.parts.push(Part { class, parent: 0, gauges: tin.gauges(share.0) });
            }
        }
    }

    fn reconfigure(&mut self, now: Instant, config: CakeConfig, drops: &mut impl Drops<P>) {
        self.now = self.now.max(now);
        let old = core::mem::replace(&mut self.config, config);
        if old.isolation != config.isolation || old.classes != config.classes || old.variant != config.variant
        {
            self.rebuild(drops);
        } else {
            self.set_up();
        }
        self.drop_excess(drops);
    }

    fn config(&self) -> CakeConfig {
        self.config
    }

    fn purge(&mut self, now: Instant, drops: &mut impl Drops<P>) {
        self.now = self.now.max(now);
        for tin in 0..self.tins.len() {
            for index in 0..QUEUES_16 {
                while let Some(packet) = self.take(tin, index) {
                    self.stats.dropped_after.add(packet.len());
                    drops.dropped(packet, DropReason::Purged);
                }
            }
        }
        let tallies = self.begin_anew();
        self.restore(tallies);
    }
}

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
            unit: Unit::Integer,
            default: "raw",
            source: "tc-cake(8)",
            range: "0 to 256",
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
            doc: "bytes that all queues together hold",
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

/// Linux sch_cake: queues per tin, and how many of them a flow can be put into.
const QUEUES: usize = 1024;
const QUEUES_16: u16 = 1024;
const WAYS: usize = 8;
/// Linux sch_cake: what a flow sends per round lies between these, a 4096th of the tin's rate per second.
const MIN_FLOW_QUANTUM: u32 = 300;
const MAX_FLOW_QUANTUM: u32 = 1514;
/// Linux sch_cake: no more memory than so many of the largest packets, unless asked for.
const MAX_PACKETS: u64 = 10_240;
/// What Linux subtracts where an overhead is given: the header of Ethernet.
const ETHERNET_HEADER: u32 = 14;
const DEFAULT_RTT: u64 = 100_000_000;
/// 2^32 - 1 microseconds.
const MAX_RTT: u64 = u32::MAX as u64 * 1_000;
const NANOS_PER_SECOND: u64 = 1_000_000_000;
/// After so many visits without a packet, rounds are made up at once. No packet of a common size needs that many.
const FRUITLESS_TINS: u32 = 4_096;
const FRUITLESS_FLOWS: u32 = 16_384;
/// "No node" of the pool.
const NIL_NODE: u32 = u32::MAX;

mod keywords;

#[cfg(test)]
mod tests;
