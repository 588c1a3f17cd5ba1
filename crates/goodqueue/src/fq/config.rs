//! The parameters of `fq`.

use alloc::format;

use crate::config::{ConfigError, Configure, Kind, Link, Settings};
use crate::prio::DEFAULT_PRIOMAP;
use crate::shown::{Printed, Show, Shown};
use crate::time::{Duration, Rate};
use crate::typed::parameters;

/// Configuration of [`Fq`](super::Fq).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FqConfig {
    /// Packets of each band.
    pub(super) limit: u32,
    /// Packets of each flow.
    pub(super) flow_limit: u32,
    pub(super) buckets: u32,
    pub(super) orphan_mask: u32,
    /// Band of each priority.
    pub(super) map: [u8; 16],
    /// Bytes of each band in a round.
    pub(super) weights: [u32; BANDS],
    pub(super) quantum: u32,
    pub(super) initial_quantum: u32,
    pub(super) pacing: bool,
    /// Rate of each flow; `None`: unlimited.
    pub(super) max_rate: Option<Rate>,
    pub(super) low_rate_threshold: Rate,
    pub(super) refill_delay: Duration,
    pub(super) timer_slack: Duration,
    pub(super) ce_threshold: Option<Duration>,
    pub(super) horizon: Duration,
    /// A packet beyond the horizon departs there instead of being dropped.
    pub(super) caps: bool,
    pub(super) offload_horizon: Duration,
    pub(super) mtu: u32,
}

impl FqConfig {
    /// Bytes that a flow may send in a round.
    #[must_use]
    pub const fn quantum(&self) -> u32 {
        self.quantum
    }
}

impl Configure for FqConfig {
    const KIND: Kind = KIND;

    fn from_checked(settings: &Settings, link: &Link) -> Result<Self, ConfigError> {
        let map = PRIOMAP.read_or(settings, DEFAULT_PRIOMAP)?;
        if let Some(band) = map.iter().find(|band| usize::from(**band) >= BANDS) {
            return Err(ConfigError::new(PRIOMAP.name, format!("{band}"), "0 to 2: there are 3 bands"));
        }
        // The number is fixed, so reading it only refuses all others.
        let _: u64 = COUNT.read(settings)?;
        let mtu = link.mtu.clamp(1, MOST_MTU);
        Ok(Self {
            limit: LIMIT.read(settings)?,
            flow_limit: FLOW_LIMIT.read(settings)?,
            buckets: BUCKETS.read(settings)?,
            orphan_mask: ORPHAN_MASK.read(settings)?,
            map,
            weights: [WEIGHT_0.read(settings)?, WEIGHT_1.read(settings)?, WEIGHT_2.read(settings)?],
            quantum: QUANTUM.read_or(settings, (2 * mtu).min(MOST_QUANTUM))?,
            initial_quantum: INITIAL_QUANTUM.read_or(settings, 10 * mtu)?,
            pacing: PACING.read(settings)?,
            max_rate: MAXRATE.given(settings)?,
            low_rate_threshold: LOW_RATE_THRESHOLD.read(settings)?,
            refill_delay: REFILL_DELAY.read(settings)?,
            timer_slack: TIMER_SLACK.read(settings)?,
            ce_threshold: CE_THRESHOLD.given(settings)?,
            horizon: HORIZON.read(settings)?,
            caps: HORIZON_CAP.read(settings)?,
            offload_horizon: OFFLOAD_HORIZON.read(settings)?,
            mtu: link.mtu,
        })
    }

    fn to_settings(&self) -> Settings {
        let [first, second, third] = self.weights;
        let mut settings = Settings::new()
            .and(&LIMIT, self.limit)
            .and(&FLOW_LIMIT, self.flow_limit)
            .and(&BUCKETS, self.buckets)
            .and(&ORPHAN_MASK, self.orphan_mask)
            .and(&COUNT, BANDS as u64)
            .and(&PRIOMAP, self.map)
            .and(&WEIGHT_0, first)
            .and(&WEIGHT_1, second)
            .and(&WEIGHT_2, third)
            .and(&QUANTUM, self.quantum)
            .and(&INITIAL_QUANTUM, self.initial_quantum)
            .and(&PACING, self.pacing)
            .and(&LOW_RATE_THRESHOLD, self.low_rate_threshold)
            .and(&REFILL_DELAY, self.refill_delay)
            .and(&TIMER_SLACK, self.timer_slack)
            .and(&HORIZON, self.horizon)
            .and(&HORIZON_CAP, self.caps)
            .and(&OFFLOAD_HORIZON, self.offload_horizon);
        if let Some(rate) = self.max_rate {
            settings.put(&MAXRATE, rate);
        }
        if let Some(threshold) = self.ce_threshold {
            settings.put(&CE_THRESHOLD, threshold);
        }
        settings
    }

    /// Linux reads every parameter by itself.
    fn is_kept_by_change(_parameter: &str, _given: &Settings) -> bool {
        true
    }

    fn link(&self) -> Link {
        Link { mtu: self.mtu, ..Link::default() }
    }
}

impl Show for FqConfig {
    const SHOWN: &'static [Shown] = &[
        Shown::Setting(LIMIT.name),
        Shown::Setting(FLOW_LIMIT.name),
        Shown::Setting(BUCKETS.name),
        Shown::Setting(ORPHAN_MASK.name),
        Shown::Setting(COUNT.name),
        Shown::Setting(PRIOMAP.name),
        Shown::Setting(WEIGHT_0.name),
        Shown::Setting(QUANTUM.name),
        Shown::Setting(INITIAL_QUANTUM.name),
        Shown::Computed(MAXRATE.name, |all| all.get(MAXRATE.name).map(Printed::from)),
        Shown::Setting(LOW_RATE_THRESHOLD.name),
        Shown::Setting(REFILL_DELAY.name),
        Shown::Setting(TIMER_SLACK.name),
        Shown::Computed(CE_THRESHOLD.name, |all| all.get(CE_THRESHOLD.name).map(Printed::from)),
        Shown::Setting(HORIZON.name),
        Shown::FlagIfOn(HORIZON_CAP.name),
        Shown::Setting(OFFLOAD_HORIZON.name),
    ];
}

parameters! {
    PARAMETERS of [] FqConfig;
    /// packets that each band holds
    pub(super) LIMIT: packets "limit", with_limit {
        default: 10_000,
        range: 1..=16_777_216,
        source: "Linux sch_fq",
    };
    /// packets that each flow holds
    pub(super) FLOW_LIMIT: packets "flow_limit", with_flow_limit {
        default: 100,
        range: 1..=16_777_216,
        source: "Linux sch_fq",
    };
    /// size of the table of flows; accepted without effect, since it decides nothing here
    pub(super) BUCKETS: integer "buckets", with_buckets {
        default: 1024,
        powers_of_two: 1..=262_144,
        source: "Linux sch_fq",
    };
    /// bits of a packet's hash that choose its flow
    pub(super) ORPHAN_MASK: integer "orphan_mask", with_orphan_mask {
        default: 1023,
        range: 0..=65_535,
        source: "Linux sch_fq",
    };
    /// number of bands
    pub(super) COUNT: integer "bands", with_bands { default: 3, range: 3..=3, source: "Linux sch_fq" };
    /// the band of each priority from 0 to 15, the first band being 0
    pub(super) PRIOMAP: priomap "priomap", with_priomap {
        default: DEFAULT_PRIOMAP,
        condition: "each below 3",
        source: "Linux sch_fq",
    };
    /// bytes that the first band sends in a round
    pub(super) WEIGHT_0: integer "weights", with_weights {
        default: 9 << 16,
        range: LEAST_WEIGHT..=MOST_WEIGHT,
        source: "Linux sch_fq",
    };
    /// bytes that the second band sends in a round
    pub(super) WEIGHT_1: integer "weights.second", with_second_weight {
        default: 3 << 16,
        range: LEAST_WEIGHT..=MOST_WEIGHT,
        source: "Linux sch_fq",
    };
    /// bytes that the third band sends in a round
    pub(super) WEIGHT_2: integer "weights.third", with_third_weight {
        default: 1 << 16,
        range: LEAST_WEIGHT..=MOST_WEIGHT,
        source: "Linux sch_fq",
    };
    /// bytes that a flow may send in a round
    pub(super) QUANTUM: bytes "quantum", with_quantum {
        derived: "2 x MTU (3028)",
        range: 1..=MOST_QUANTUM as u64,
        source: "Linux sch_fq",
    };
    /// bytes that a new flow may send before its second round
    pub(super) INITIAL_QUANTUM: bytes "initial_quantum", with_initial_quantum {
        derived: "10 x MTU (15140)",
        range: 0..=2_147_483_647,
        source: "Linux sch_fq",
    };
    /// pace packets by `maxrate`
    pub(super) PACING: flag "pacing", with_pacing {
        default: true,
        off: "nopacing",
        source: "Linux sch_fq",
    };
    // 8 x (2^32 - 2): Linux gets bytes per second in 32 bits, and 2^32 - 1 is no limit.
    /// most that each flow may send
    pub(super) MAXRATE: rate "maxrate", with_maxrate {
        derived: "unlimited",
        range: Rate::from_bps(8)..=Rate::from_bps(34_359_738_352),
        source: "Linux sch_fq",
    };
    /// rate at or below which each packet of a flow is paced by itself
    pub(super) LOW_RATE_THRESHOLD: rate "low_rate_threshold", with_low_rate_threshold {
        default: Rate::from_bps(550_000),
        range: Rate::from_bps(0)..=Rate::from_bps(34_359_738_352),
        source: "Linux sch_fq",
    };
    /// idle time after which a flow gets a quantum again
    pub(super) REFILL_DELAY: time "refill_delay", with_refill_delay {
        default: Duration::from_millis(40),
        range: Duration::ZERO..=Duration::from_micros(4_294_967_295),
        source: "Linux sch_fq",
    };
    /// how much later than asked for the timer may wake the queue
    pub(super) TIMER_SLACK: time "timer_slack", with_timer_slack {
        default: Duration::from_micros(10),
        // `TCA_FQ_TIMER_SLACK` has nanoseconds; the other times have microseconds.
        range: Duration::ZERO..=Duration::from_nanos(4_294_967_295),
        source: "Linux sch_fq",
    };
    /// delay beyond the planned departure above which every ECN-capable packet is marked
    pub(super) CE_THRESHOLD: time "ce_threshold", with_ce_threshold {
        derived: "off",
        range: Duration::ZERO..=Duration::from_micros(4_294_967_295),
        source: "Linux sch_fq",
    };
    /// how far in the future the sender may plan a departure
    pub(super) HORIZON: time "horizon", with_horizon {
        default: Duration::from_secs(10),
        range: Duration::ZERO..=Duration::from_micros(4_294_967_295),
        source: "Linux sch_fq",
    };
    /// let a packet beyond the horizon depart there, in place of dropping it
    pub(super) HORIZON_CAP: flag "horizon_cap", with_horizon_cap {
        default: false,
        off: "horizon_drop",
        source: "Linux sch_fq",
    };
    /// how much earlier than planned a packet may be given to the device
    pub(super) OFFLOAD_HORIZON: time "offload_horizon", with_offload_horizon {
        default: Duration::ZERO,
        range: Duration::ZERO..=Duration::from_micros(4_294_967_295),
        source: "Linux sch_fq",
    };
}

const KIND: Kind = Kind {
    name: "fq",
    summary: "Fair queueing of a host's flows in three bands, paced by a rate or by the sender's departure times",
    reference: "tc-fq(8)",
    children: crate::config::Children::None,
    variants: &[],
    parameters: PARAMETERS,
};

/// Number of bands.
pub(super) const BANDS: usize = 3;
/// Linux sch_fq.
const MOST_QUANTUM: u32 = 1 << 20;
const LEAST_WEIGHT: u64 = 1 << 14; // FQ_MIN_WEIGHT of Linux
const MOST_WEIGHT: u64 = (1 << 31) - 1; // Linux has weights with a sign
/// Ten of these fit into 31 bits.
const MOST_MTU: u32 = 214_748_364;
