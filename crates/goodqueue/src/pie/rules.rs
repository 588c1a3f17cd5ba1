//! The differences between the variants of PIE.

use crate::config::ConfigError;
use crate::time::Duration;

/// Whose behaviour.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PieVariant {
    /// RFC 8033.
    Rfc8033,
    /// Linux 6.1.
    Linux,
    /// draft-pan-aqm-pie-00 of 2013.
    Draft00,
    /// Linux 3.14 of 2014.
    Linux314,
    /// The code for ns-2 whose measurement is reset without a guard.
    Ns2,
    /// The code for ns-2 of 2014.
    Ns2Of2014,
    /// RFC 8034.
    Docsis,
}

impl PieVariant {
    /// Looked up and not decided on, since every packet asks.
    pub(super) const fn rules(self) -> &'static Rules {
        // In the order of the variants.
        const RULES: [Rules; 7] = [RFC8033, LINUX, DRAFT00, LINUX314, NS2, NS2_2014, DOCSIS];
        &RULES[self as usize]
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Rfc8033 => "rfc8033",
            Self::Linux => "linux",
            Self::Draft00 => "draft00",
            Self::Linux314 => "linux314",
            Self::Ns2 => "ns2",
            Self::Ns2Of2014 => "ns2_2014",
            Self::Docsis => "docsis",
        }
    }

    pub(super) fn named(name: &'static str) -> Result<Self, ConfigError> {
        use PieVariant::*;
        [Rfc8033, Linux, Draft00, Linux314, Ns2, Ns2Of2014, Docsis]
            .into_iter()
            .find(|variant| variant.name() == name)
            .ok_or_else(|| {
                let all = "rfc8033, linux, draft00, linux314, ns2, ns2_2014 or docsis";
                ConfigError::new("variant", name, all)
            })
    }
}

/// Differences between the variants.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) arithmetic: Arithmetic,
    /// Probability 1.
    pub(super) one: u64,
    /// Time is counted in units of `2^tick` ns.
    pub(super) tick: u32,
    /// Steps of auto-tuning: below 10^-1, 10^-2, ... the increment shrinks.
    pub(super) levels: u32,
    /// Larger steps from a probability of 0.1 on, and beyond 1.
    pub(super) above_one: bool,
    /// The highest probability; below 19 times 1.
    pub(super) most: u64,
    /// No jumps of the probability once many packets are dropped.
    pub(super) capped: bool,
    /// With both delays zero, one part in this many of the probability goes at each update; 0:
    /// none.
    pub(super) decay: u64,
    /// Delays up to this count as zero for the decay.
    pub(super) negligible: Duration,
    /// A delay above this adds 2 % per update.
    pub(super) surcharge: Option<Duration>,
    /// No decay while packets are queued.
    pub(super) decay_when_empty: bool,
    /// While burst allowance is left the probability stands at 0.
    pub(super) burst_first: bool,
    /// No drop while the delay is small or the queue tiny.
    pub(super) safeguards: bool,
    /// Drops are spaced by accumulating the probability.
    pub(super) spaced: bool,
    /// The burst allowance is re-armed at delays below the target, not half of it.
    pub(super) calm_below_target: bool,
    /// The queue falls quiet for a second before it is inactive again.
    pub(super) quiescent: bool,
    pub(super) delay: DelayFrom,
    /// The burst allowance shrinks with departures, not with updates.
    pub(super) burst_by_departure: bool,
    /// The test for a small delay looks at the delay now, not at that of the last update.
    pub(super) current_delay: bool,
    pub(super) averaging: Averaging,
    /// A departure rate is counted in bytes × `2^rate_shift` per tick.
    pub(super) rate_shift: u32,
    pub(super) restart: Restart,
    /// Updates are driven by the kernel's timers.
    pub(super) jiffies: bool,
    /// The accumulated probability is also reset when a forced drop becomes a mark.
    pub(super) clear_on_mark: bool,
    /// The bytes of a packet that the parent took ahead of time and keeps are still in the queue.
    pub(super) counts_ahead: bool,
}

impl Rules {
    /// RFC 8033 §4.1: probability below which no packet is dropped while the delay is small.
    pub(super) const fn calm(&self) -> u64 {
        self.one / 5
    }

    /// RFC 8033 §5.4: accumulated probability below which no packet is dropped.
    pub(super) const fn spacing(&self) -> u64 {
        // Rounded as Linux rounds: `(MAX_PROB / 100) * 85`, and `(MAX_PROB / 2) * 17` below.
        self.one / 100 * 85
    }

    /// RFC 8033 §5.4: accumulated probability from which on a drop is certain.
    pub(super) const fn certain(&self) -> u64 {
        self.one / 2 * 17
    }
}

/// How numbers are computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Arithmetic {
    /// As if in reals.
    Exact,
    /// Linux since 4.20: probabilities of 64 bits.
    Linux64,
    /// Linux before: probabilities and their changes wrap at 32 bits.
    Linux32,
}

/// Where the queue delay comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum DelayFrom {
    /// Timestamps, or the estimator if it is asked for.
    Either,
    /// Always the estimator.
    Estimator,
    /// The backlog and the known rate of the link.
    LinkRate,
}

/// How the measurements of the departure rate are averaged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Averaging {
    /// The time for `threshold` bytes, a quarter each new one (RFC 8033 §5.2).
    Time,
    /// The rate, one part in `2^shift` each new one.
    Rate {
        /// 0: only the last one counts.
        shift: u32,
    },
}

/// Whether re-arming the burst allowance restarts the measurement of the departure rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Restart {
    /// No.
    Never,
    /// Yes; and it is re-armed only once a measurement has succeeded.
    AfterSuccess,
    /// Yes, even before the first has succeeded, which then may never happen.
    Always,
    /// The measurement restarts by itself once one has succeeded. The first arrival after 1.5 s of
    /// quiet re-arms the allowance.
    AfterQuiet,
}

/// Makes every threshold exact, and 8.5 times it still fits in 64 bits.
pub(crate) const ONE: u64 = 1_000_000_000_000_000_000;

pub(super) const RFC8033: Rules = Rules {
    arithmetic: Arithmetic::Exact,
    // RFC 8033 works in reals.
    one: ONE,
    tick: 0,
    // RFC 8033 §4.2: six rows of its table have smaller steps.
    levels: 6,
    above_one: false,
    most: ONE,
    capped: true,
    // RFC 8033 §4.2: 98 % of the probability remain.
    decay: 50,
    negligible: Duration::ZERO,
    surcharge: None,
    decay_when_empty: false,
    burst_first: false,
    safeguards: true,
    spaced: true,
    calm_below_target: false,
    quiescent: false,
    delay: DelayFrom::Either,
    burst_by_departure: false,
    current_delay: false,
    averaging: Averaging::Time,
    rate_shift: 0,
    restart: Restart::Never,
    jiffies: false,
    clear_on_mark: true,
    counts_ahead: true,
};

pub(super) const LINUX: Rules = Rules {
    arithmetic: Arithmetic::Linux64,
    // `MAX_PROB` of Linux's `pie.h`. The sum of probabilities reaches 8.5 and still fits.
    one: u64::MAX >> 8,
    // Linux only notices when 64 bits overflow, which is 256 times probability 1.
    most: u64::MAX,
    // `PSCHED_SHIFT`: units of 64 ns.
    tick: 6,
    // Linux: `prob -= prob / 64`, where RFC 8033 takes 2 %.
    decay: 64,
    surcharge: Some(Duration::from_millis(250)),
    decay_when_empty: true,
    burst_by_departure: true,
    current_delay: true,
    averaging: Averaging::Rate { shift: 3 },
    // `PIE_SCALE`.
    rate_shift: 8,
    restart: Restart::AfterSuccess,
    jiffies: true,
    clear_on_mark: false,
    ..RFC8033
};

/// The basis of 2013: three levels, no spacing, the estimator.
const DRAFT00: Rules = Rules {
    levels: 2,
    capped: false,
    decay: 0,
    safeguards: false,
    spaced: false,
    calm_below_target: true,
    delay: DelayFrom::Estimator,
    averaging: Averaging::Rate { shift: 0 },
    // Slow links send few bytes per nanosecond.
    rate_shift: 40,
    ..RFC8033
};

const LINUX314: Rules = Rules {
    counts_ahead: false,
    arithmetic: Arithmetic::Linux32,
    one: u32::MAX as u64,
    most: u32::MAX as u64,
    decay: 50,
    levels: 2,
    spaced: false,
    delay: DelayFrom::Estimator,
    ..LINUX
};

const NS2: Rules = Rules {
    capped: true,
    decay: 50,
    // As Linux had it when that code was written.
    surcharge: Some(Duration::from_millis(250)),
    safeguards: true,
    calm_below_target: false,
    burst_by_departure: true,
    // The code for ns-2 weighs the old and the new rate equally.
    averaging: Averaging::Rate { shift: 1 },
    restart: Restart::Always,
    ..DRAFT00
};

const NS2_2014: Rules = Rules {
    levels: 3,
    above_one: true,
    most: u64::MAX,
    surcharge: Some(Duration::from_millis(200)),
    burst_first: true,
    burst_by_departure: false,
    restart: Restart::AfterQuiet,
    ..NS2
};

const DOCSIS: Rules = Rules {
    above_one: true,
    // RFC 8034: the highest probability that still matters for a packet of MIN_PKTSIZE.
    most: ONE / 100 * 85 * (MEAN_PACKET / 64),
    // RFC 8034: LATENCY_LOW, LATENCY_HIGH.
    negligible: Duration::from_millis(5),
    surcharge: Some(Duration::from_millis(200)),
    burst_first: true,
    quiescent: true,
    delay: DelayFrom::LinkRate,
    ..RFC8033
};

/// RFC 8033 appendix A: MEAN_PKTSIZE.
pub(crate) const MEAN_PACKET: u64 = 1_024;
