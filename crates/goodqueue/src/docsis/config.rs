//! The parameters of `docsis`.

use crate::config::{Children, ConfigError, Configure, Kind, Link, Settings, Value};
use crate::pie::PieConfig;
use crate::pie::flow::pie_settings;
use crate::shown::{Show, Shown};
use crate::time::{Duration, Rate};
use crate::typed::parameters;
use crate::weights::Weights;

/// Configuration of [`Docsis`](super::Docsis).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DocsisConfig {
    /// The controller of the classic queue.
    pub(super) pie: PieConfig,
    /// Rate of both queues together (MAX_RATE).
    pub(super) bandwidth: Rate,
    /// Bytes that the classic queue holds.
    pub(super) classic_limit: u64,
    /// Bytes that the low-latency queue holds.
    pub(super) low_latency_limit: u64,
    pub(super) max_burst: Duration,
    pub(super) max_th: Duration,
    pub(super) lg_range: u32,
    pub(super) ramp: Ramp,
    pub(super) coupling: u32,
    /// Weight of the low-latency queue, in 256ths.
    pub(super) weight: u32,
    pub(super) nqb: bool,
    pub(super) qprotect: bool,
    pub(super) critical_delay: Duration,
    pub(super) critical_score: Duration,
    pub(super) lg_aging: u32,
    pub(super) attempts: u32,
    pub(super) mtu: u32,
}

/// The ramp of the immediate AQM.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Ramp {
    /// MINTH in ns.
    pub(super) start: u64,
    /// Base-2 logarithm of the length in ns.
    pub(super) lg_range: u32,
}

impl Ramp {
    /// MAXTH is `max_th`, unless the link takes longer for two frames than MINTH (RFC 9957 §4.1).
    fn new(max_th: Duration, lg_range: u32, bandwidth: Rate) -> Self {
        let floor = time_to_send(2 * MAX_FRAME, bandwidth).min(MOST_FLOOR);
        Self { start: max_th.as_nanos().saturating_sub(1 << lg_range).max(floor), lg_range }
    }

    /// Delay from which every packet is marked.
    pub(super) const fn end(self) -> Duration {
        Duration::from_nanos(self.start.saturating_add(1 << self.lg_range))
    }

    /// Returns the mark probability at `delay` as a numerator; the denominator is `2^lg_range`.
    pub(super) fn native(self, delay: u64) -> u64 {
        delay.saturating_sub(self.start).min(1 << self.lg_range)
    }
}

/// Returns the time in ns that a link of this rate takes for `bytes`.
pub(super) fn time_to_send(bytes: u64, rate: Rate) -> u64 {
    let nanos = u128::from(bytes) * 8_000_000_000 / u128::from(rate.as_bps().max(1));
    u64::try_from(nanos).unwrap_or(u64::MAX)
}

/// Returns the bytes that a link of this rate sends in `millis`.
fn bytes_in(millis: u64, rate: Rate) -> u64 {
    u64::try_from(u128::from(rate.as_bps()) * u128::from(millis) / 8_000).unwrap_or(u64::MAX)
}

impl DocsisConfig {
    pub(super) const fn weights(&self) -> Weights {
        Weights { low_latency: self.weight, classic: WEIGHTS - self.weight }
    }

    /// Returns the rate that is left for the classic queue if the low-latency queue sent `bytes` in
    /// the last period (MULPIv3.1 Annex O, `qdelayCoupledC`).
    pub(super) fn classic_rate(&self, bytes: u64) -> Rate {
        let all = self.bandwidth.as_bps();
        // L may have sent more than its share while C was empty; a busy C gets at least its own.
        let share = u128::from(all) * u128::from(self.weight) / u128::from(WEIGHTS);
        let period = u128::from(self.pie.tupdate().as_nanos());
        let sent = u128::from(bytes) * 8_000_000_000 / period.max(1);
        Rate::from_bps(all - u64::try_from(share.min(sent)).unwrap_or(0).min(all))
    }

    /// Returns the settings of the controller of the classic queue.
    fn pie(settings: &Settings, link: &Link) -> Result<PieConfig, ConfigError> {
        let pie = Settings::new()
            .with("variant", Value::Choice("docsis"))
            .and(&TARGET, TARGET.read::<Duration>(settings)?)
            .and(&TUPDATE, TUPDATE.read::<Duration>(settings)?)
            .and(&ALPHA, ALPHA.read::<u32>(settings)?)
            .and(&BETA, BETA.read::<u32>(settings)?);
        PieConfig::from_checked(&pie, link)
    }
}

impl Configure for DocsisConfig {
    const KIND: Kind = KIND;

    fn from_checked(settings: &Settings, link: &Link) -> Result<Self, ConfigError> {
        let known = if link.rate.as_bps() < 8 { FALLBACK_RATE } else { link.rate };
        let bandwidth = BANDWIDTH.read_or(settings, known)?;
        let max_th = MAX_TH.read(settings)?;
        let lg_range = LG_RANGE.read(settings)?;
        let ramp = Ramp::new(max_th, lg_range, bandwidth);
        Ok(Self {
            pie: Self::pie(settings, link)?,
            bandwidth,
            classic_limit: CLASSIC_LIMIT.read_or(settings, bytes_in(100, bandwidth).max(2 * MAX_FRAME))?,
            low_latency_limit: LL_LIMIT.read_or(settings, bytes_in(10, bandwidth).max(20 * MAX_FRAME))?,
            max_burst: MAX_BURST.read(settings)?,
            max_th,
            lg_range,
            ramp,
            coupling: COUPLING_FACTOR.read(settings)?,
            weight: WEIGHT.read(settings)?,
            nqb: NQB.read(settings)?,
            qprotect: QPROTECT.read(settings)?,
            critical_delay: CRITICAL_DELAY.read_or(settings, ramp.end())?,
            critical_score: CRITICAL_SCORE.read(settings)?,
            lg_aging: LG_AGING.read(settings)?,
            attempts: ATTEMPTS.read(settings)?,
            mtu: link.mtu.max(1),
        })
    }

    fn to_settings(&self) -> Settings {
        pie_settings(&self.pie, &[TARGET, TUPDATE, ALPHA, BETA])
            .and(&BANDWIDTH, self.bandwidth)
            .and(&CLASSIC_LIMIT, self.classic_limit)
            .and(&LL_LIMIT, self.low_latency_limit)
            .and(&MAX_BURST, self.max_burst)
            .and(&MAX_TH, self.max_th)
            .and(&LG_RANGE, self.lg_range)
            .and(&COUPLING_FACTOR, self.coupling)
            .and(&WEIGHT, self.weight)
            .and(&NQB, self.nqb)
            .and(&QPROTECT, self.qprotect)
            .and(&CRITICAL_DELAY, self.critical_delay)
            .and(&CRITICAL_SCORE, self.critical_score)
            .and(&LG_AGING, self.lg_aging)
            .and(&ATTEMPTS, self.attempts)
    }

    fn link(&self) -> Link {
        Link { mtu: self.mtu, ..Link::default() }
    }
}

impl Show for DocsisConfig {
    const SHOWN: &'static [Shown] = &[
        Shown::Setting(BANDWIDTH.name),
        Shown::Setting(CLASSIC_LIMIT.name),
        Shown::Setting(LL_LIMIT.name),
        Shown::Setting(TARGET.name),
        Shown::Setting(TUPDATE.name),
        Shown::Setting(MAX_TH.name),
        Shown::Setting(COUPLING_FACTOR.name),
        Shown::Setting(WEIGHT.name),
        Shown::FlagIfOn(NQB.name),
        Shown::FlagIfOn(QPROTECT.name),
        Shown::Setting(CRITICAL_DELAY.name),
        Shown::Setting(CRITICAL_SCORE.name),
        Shown::Setting(LG_AGING.name),
    ];
}

parameters! {
    PARAMETERS of [] DocsisConfig;
    /// rate of both queues together, from which both delays are computed
    BANDWIDTH: rate "bandwidth", with_bandwidth {
        derived: "the link rate",
        range: Rate::from_bps(8)..=Rate::MAX,
        source: "RFC 9957 §4.1: MAX_RATE",
    };
    /// bytes that the classic queue holds
    CLASSIC_LIMIT: bytes "classic_limit", with_classic_limit {
        derived: "100ms at bandwidth, at least 4000",
        range: 1..=u64::MAX,
        source: "MULPIv3.1 C.1.2.17: target buffer",
    };
    /// bytes that the low-latency queue holds
    LL_LIMIT: bytes "ll_limit", with_ll_limit {
        derived: "10ms at bandwidth, at least 40000",
        range: 1..=u64::MAX,
        source: "MULPIv3.1 C.2.2.9.11.4: target buffer",
    };
    /// target delay of the classic queue
    pub(super) TARGET: time "target", with_target {
        default: Duration::from_millis(10),
        range: Duration::from_nanos(1)..=LONGEST,
        source: "RFC 8034 appendix A: LATENCY_TARGET",
    };
    /// time between updates of the drop probability
    TUPDATE: time "tupdate", with_tupdate {
        default: Duration::from_millis(16),
        range: Duration::from_micros(1)..=LONGEST,
        source: "RFC 8034 appendix A: INTERVAL",
    };
    /// gain on the distance from the target, in 1/16 per second
    ALPHA: integer "alpha", with_alpha { default: 4, range: 0..=64, source: "RFC 8034 appendix A: A (0.25 per s)" };
    /// gain on the change of the delay, in 1/16 per second
    BETA: integer "beta", with_beta { default: 40, range: 0..=64, source: "RFC 8034 appendix A: B (2.5 per s)" };
    /// time without drops after the first drop of a burst
    MAX_BURST: time "max_burst", with_max_burst {
        default: Duration::from_millis(142),
        range: Duration::ZERO..=LONGEST,
        source: "RFC 8034 appendix A: MAX_BURST",
    };
    /// delay from which every packet of the low-latency queue is marked; slow links mark later
    MAX_TH: time "max_th", with_max_th {
        default: Duration::from_millis(1),
        range: Duration::ZERO..=LONGEST,
        source: "RFC 9957 §4.1: MAXTH_us",
    };
    /// base-2 logarithm of the length of the marking ramp in nanoseconds
    LG_RANGE: integer "lg_range", with_lg_range {
        default: 19,
        range: 0..=25,
        source: "RFC 9957 §4.1: LG_RANGE (0.52 ms)",
    };
    /// mark probability of L, as a multiple of the root of the drop probability of C
    COUPLING_FACTOR: integer "coupling_factor", with_coupling_factor {
        default: 2,
        range: 1..=25,
        source: "MULPIv3.1 TLV 70/71.42.5; RFC 9332 §2.1",
    };
    /// share of the link for the low-latency queue while both are busy, in 256ths
    WEIGHT: integer "weight", with_weight { default: 230, range: 1..=255, source: "MULPIv3.1 TLV 70/71.42.6" };
    /// packets with the DSCP 45 (NQB) go to the low-latency queue, too
    NQB: flag "nqb", with_nqb { default: true, off: "nonqb", source: "RFC 9956: DSCP 45" };
    /// queue protection moves packets of flows with a high score to the classic queue
    QPROTECT: flag "qprotect", with_qprotect {
        default: true,
        off: "noqprotect",
        source: "RFC 9957 §4.1: QPROTECT_ON",
    };
    /// delay of the low-latency queue above which packets are moved
    pub(super) CRITICAL_DELAY: time "critical_delay", with_critical_delay {
        derived: "end of the marking ramp",
        range: Duration::ZERO..=LONGEST,
        source: "RFC 9957 §4.1: CRITICALqL_us",
    };
    /// score above which a flow's packets are moved at the critical delay; less at a longer one
    pub(super) CRITICAL_SCORE: time "critical_score", with_critical_score {
        default: Duration::from_millis(4),
        range: Duration::ZERO..=Duration::from_secs(5),
        source: "RFC 9957 §4.1: CRITICALqLSCORE_us",
    };
    /// base-2 logarithm of the marked bytes per second that leave the score of a flow unchanged
    LG_AGING: integer "lg_aging", with_lg_aging {
        default: 19,
        range: 1..=30,
        source: "RFC 9957 §4.1: LG_AGING",
    };
    /// buckets that may hold the score of a flow, before all other flows share one
    ATTEMPTS: integer "attempts", with_attempts { default: 2, range: 0..=6, source: "RFC 9957 §4.1: ATTEMPTS" };
}

const KIND: Kind = Kind {
    name: "docsis",
    summary: "The two queues of a DOCSIS 3.1 modem: low latency with queue protection, and classic with PIE",
    reference: "RFC 9957; RFC 9332; RFC 8034; CableLabs MULPIv3.1 Annexes M to P",
    variants: &[],
    children: Children::None,
    parameters: PARAMETERS,
};

/// Sum of the two weights.
const WEIGHTS: u32 = 256;
/// RFC 9957 §4.1: MAX_FRAME_SIZE, in bytes.
const MAX_FRAME: u64 = 2_000;
/// MULPIv3.1 Annex N: no threshold exceeds 65.535 ms.
const MOST_FLOOR: u64 = 65_535_000;
/// 2^32 - 1 microseconds, as for the other disciplines.
const LONGEST: Duration = Duration::from_micros(4_294_967_295);
/// For a link whose rate is not known, as tc assumes elsewhere.
const FALLBACK_RATE: Rate = Rate::from_bps(10_000_000);
