//! Proportional integral controller enhanced: `pie`.
//!
//! # What it does
//! Every `tupdate` a drop probability moves in proportion to how far the queue delay is from `target` (integral term,
//! `alpha`) and to how much it has changed since the last update (proportional term, `beta`). Arriving packets are dropped
//! with that probability. Bursts shorter than `max_burst` pass, and small probabilities move in small steps.
//!
//! # Reference
//! RFC 8033; RFC 8034; R. Pan et al., HPSR 2013; draft-pan-aqm-pie-00; I. Järvinen and M. Kojo, "Evaluating CoDel, PIE, and
//! HRED AQM Techniques with Load Transients", LCN 2014; behaviour of Linux 6.1 `net/sched/sch_pie.c`, `include/net/pie.h`; tc-pie(8).
//!
//! # State
//! ```text
//! arrival --> [burst left? | delay small and p < 0.2? | queue tiny?] --> no drop
//!                       |  accumulated += p;  < 0.85: no drop;  >= 8.5: drop;  else drop if random < p
//! update  --> p += (alpha * (delay - target) + beta * (delay - old_delay)) / {1, 2, 8, 32, 128, 512, 2048}
//! delay   --> time in the queue of the packet sent last, or backlog over the measured departure rate
//! ```
//!
//! # Parameters
//! | name | unit | default | source of the default | range |
//! |---|---|---|---|---|
//! | `limit` | packets | 1000 | Linux sch_pie | 1 to 2^32 - 1 |
//! | `target` | time | 15 ms | RFC 8033 §4.2 QDELAY_REF; Linux | 1 ns to 2^32 us |
//! | `tupdate` | time | 15 ms | RFC 8033 §4.2 T_UPDATE; Linux | 1 us to 2^32 us |
//! | `alpha` | 1/16 per s | 2 (0.125) | RFC 8033 §4.2; Linux | 0 to 32; `docsis`: 0 to 64 |
//! | `beta` | 1/16 per s | 20 (1.25) | RFC 8033 §4.2; Linux | 0 to 32; `docsis`: 0 to 64 |
//! | `max_burst` | time | 150 ms | RFC 8033 §4.4 MAX_BURST; Linux, where it is fixed | 0 to 2^32 us |
//! | `ecn` | flag | off | Linux | |
//! | `bytemode` | flag | off | Linux | |
//! | `dq_rate_estimator` | flag | off | Linux since 5.6 | |
//! | `dq_threshold` | bytes | 16384 | RFC 8033 §5.2; Linux | 1 to 2^32 - 1 |
//! | `bandwidth` | rate | the link rate | RFC 8034 | 8 bit/s and more; `docsis` only |
//! | `onoff` | flag | off | FreeBSD ipfw(8); RFC 8033 §5.3 calls it optional | `rfc8033` only |
//!
//! Other variants, other defaults: `draft00`, `linux314` and `ns2` have target 20 ms, tupdate 30 ms, max_burst 100 ms and
//! the estimator over 10000 (`ns2`: 15000) bytes (draft-pan-aqm-pie-00; Linux 3.14; Järvinen and Kojo 2014); `docsis` has
//! 10 ms, 16 ms, 142 ms, alpha 4, beta 40 and `bytemode` (RFC 8034).
//!
//! # Deviations
//! `rfc8033`: exact integer arithmetic with probability 1 = 10^18 and time in nanoseconds. The delay is the time in the
//! queue of the last packet sent (0 when the queue is empty) unless `dq_rate_estimator` asks for RFC 8033 §5.2's
//! estimate. De-randomisation (§5.4) and the cap on the increase (§5.5) are always on, activation at a third of the
//! buffer (§5.3) with `onoff`. No drop is considered, nor accumulated, while burst allowance is left. Updates are at
//! multiples of `tupdate` of the caller's clock.
//!
//! `linux`: the integers of Linux 6.1 (probability 1 = 2^56 - 1, time in 64 ns, updates when a 1000 Hz kernel's timer
//! would fire if the queue had been made at the origin of the caller's clock; the first comes half a second later). Not
//! reproduced: the wrap of its delay estimate at a backlog of 16 MiB.
//!
//! `draft00`: as `rfc8033` in arithmetic; three levels of steps, each arrival is dropped independently, nothing else. The
//! last measurement of the departure rate counts alone.
//!
//! `linux314`: the integers of Linux 3.14, wraps of its 32-bit probability included, on timers that fire at their jiffy.
//!
//! `ns2`: as `draft00` with the safeguards of the code. As there, the measurement starts anew at every update at which the
//! probability and the delay are zero, even if none has succeeded, so that with default values PIE is a FIFO at 2 Mbit/s:
//! ten packets take longer than `tupdate` (Järvinen and Kojo 2014). The probability moves while burst allowance is left, as
//! the draft says, and rises by 2 % more beyond 250 ms, as in Linux at that time. Reconstructed from what is known of
//! that code; a later one, of 2014, has 200 ms there.
//!
//! `docsis`: the delay is the backlog over `bandwidth`, without the token bucket of a modem. A third of `limit` packets
//! stands for a third of the buffer. `ecn` marks up to 10 %, where RFC 8034 knows no ECN.
//!
//! All: updates that fall between two calls are made up for at the later one, at most 2048 of them: by then the
//! probability has reached the end to which a silent queue drives it. A packet that carries CE already is not counted as
//! marked.
//!
//! # Cost
//! Constant per packet; at most one drop and 2048 missed updates per call. One ring of packets with their times.
//!
//! # Example
//! ```
//! use goodqueue::{Configure, Link, Settings, pie::PieConfig};
//! let config = PieConfig::from_settings(&Settings::new(), &Link::default()).unwrap();
//! println!("{:?}", config.to_settings());
//! assert_eq!(config.target().to_string(), "15ms");
//! ```

use crate::config::{Build, ConfigError, Configure, Kind, Link, Parameter, Settings, Unit, Value, Variant};
use crate::gauge::Observation;
use crate::jiffies;
use crate::packet::{Ecn, Packet};
use crate::qdisc::{DropReason, Drops, Qdisc, Stats};
use crate::queue::Fifo;
use crate::random::Random;
use crate::time::{Duration, Instant, Rate};

/// A queue under PIE.
#[derive(Clone, Debug)]
pub struct Pie<P, R> {
    config: PieConfig,
    random: R,
    queue: Fifo<P>,
    vars: Vars,
    /// Latest time seen (contract rule 1).
    now: Instant,
    /// When the probability is updated next; 0: the first call will set it.
    update_at: Instant,
    /// Without what the queue knows.
    stats: Stats,
    tally: Tally,
    /// Most packets that an arrival found and joined.
    longest: usize,
    /// Bytes of the packet that was dequeued last, and of the one that the parent took ahead of time and keeps; 0: none.
    last: u32,
    ahead: u32,
}

/// Configuration of [`Pie`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PieConfig {
    variant: PieVariant,
    limit: u32,
    target: Duration,
    tupdate: Duration,
    alpha: u32,
    beta: u32,
    max_burst: Duration,
    ecn: bool,
    byte_mode: bool,
    rate_estimator: bool,
    on_off: bool,
    /// Bytes over which the departure rate is measured.
    threshold: u64,
    /// Rate of the link, from which `docsis` knows the delay.
    bandwidth: Rate,
    /// Largest packet, for `bytemode` and for what counts as a tiny queue in Linux.
    mtu: u32,
}

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
    /// RFC 8034.
    Docsis,
}

/// How numbers are computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Arithmetic {
    /// As if in reals.
    Exact,
    /// Linux since 4.20: probabilities of 64 bits.
    Linux64,
    /// Linux before: probabilities and their changes wrap at 32 bits.
    Linux32,
}

/// Where the queue delay comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum DelayFrom {
    /// Timestamps, or the estimator if it is asked for.
    Either,
    /// Always the estimator.
    Estimator,
    /// The backlog and the known rate of the link.
    LinkRate,
}

/// How the measurements of the departure rate are averaged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Averaging {
    /// The time for `threshold` bytes, a quarter each new one (RFC 8033 §5.2).
    Time,
    /// The rate, one part in `2^shift` each new one.
    Rate {
        /// 0: only the last one counts.
        shift: u32,
    },
}

/// When the burst allowance is re-armed, do the measurements of the departure rate begin anew?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Restart {
    /// No.
    Never,
    /// Yes; and it is re-armed only once a measurement has succeeded.
    AfterSuccess,
    /// Yes, even before the first has succeeded, which then may never happen.
    Always,
}

/// What the variants differ in.
#[derive(Clone, Copy, Debug)]
struct Rules {
    arithmetic: Arithmetic,
    /// Probability 1.
    one: u64,
    /// Time is counted in units of `2^tick` ns.
    tick: u32,
    /// Steps of auto-tuning: below 10^-1, 10^-2, ... the increment shrinks.
    levels: u32,
    /// Larger steps also above probability 1, which byte mode can reach.
    above_one: bool,
    /// No jumps of the probability once many packets are dropped.
    capped: bool,
    /// With both delays zero, one part in this many of the probability goes at each update; 0: none.
    decay: u64,
    /// Delays up to this count as zero for the decay.
    negligible: Duration,
    /// A delay above this adds 2 % per update.
    surcharge: Option<Duration>,
    /// No decay while packets are queued.
    decay_when_empty: bool,
    /// While burst allowance is left the probability stands at 0.
    burst_first: bool,
    /// No drop while the delay is small or the queue tiny.
    safeguards: bool,
    /// Drops are spaced by accumulating the probability.
    spaced: bool,
    /// The burst allowance is re-armed at delays below the target, not half of it.
    calm_below_target: bool,
    /// The queue falls quiet for a second before it is inactive again.
    quiescent: bool,
    delay: DelayFrom,
    /// The burst allowance shrinks with departures, not with updates.
    burst_by_departure: bool,
    /// The test for a small delay looks at the delay now, not at that of the last update.
    current_delay: bool,
    averaging: Averaging,
    /// A departure rate is counted in bytes × `2^rate_shift` per tick.
    rate_shift: u32,
    restart: Restart,
    /// Updates are driven by the kernel's timers.
    jiffies: bool,
    /// The accumulated probability starts anew also when a forced drop became a mark.
    clear_on_mark: bool,
}

const RFC8033: Rules = Rules {
    arithmetic: Arithmetic::Exact,
    // RFC 8033 works in reals. 10^18 makes every threshold exact, and 8.5 times it still fits in 64 bits.
    one: 1_000_000_000_000_000_000,
    tick: 0,
    levels: 6,
    above_one: false,
    capped: true,
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
};

const LINUX: Rules = Rules {
    arithmetic: Arithmetic::Linux64,
    one: u64::MAX >> 8,
    tick: 6,
    decay: 64,
    surcharge: Some(Duration::from_millis(250)),
    decay_when_empty: true,
    burst_by_departure: true,
    current_delay: true,
    averaging: Averaging::Rate { shift: 3 },
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
    arithmetic: Arithmetic::Linux32,
    one: u32::MAX as u64,
    decay: 50,
    levels: 2,
    spaced: false,
    delay: DelayFrom::Estimator,
    ..LINUX
};

const NS2: Rules = Rules {
    capped: true,
    decay: 50,
    surcharge: Some(Duration::from_millis(250)),
    safeguards: true,
    calm_below_target: false,
    burst_by_departure: true,
    averaging: Averaging::Rate { shift: 1 },
    restart: Restart::Always,
    ..DRAFT00
};

const DOCSIS: Rules = Rules {
    above_one: true,
    // RFC 8034: LATENCY_LOW, LATENCY_HIGH.
    negligible: Duration::from_millis(5),
    surcharge: Some(Duration::from_millis(200)),
    burst_first: true,
    quiescent: true,
    delay: DelayFrom::LinkRate,
    ..RFC8033
};

/// The controller's variables for one queue, times in ticks; a discipline with a PIE per flow has one for each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Vars {
    active: bool,
    probability: u64,
    accumulated: u64,
    delay: u64,
    old_delay: u64,
    burst: u64,
    /// Since when departures are measured (with the estimator), or the last departure; for how long a `docsis` queue has
    /// been quiet.
    since: u64,
    /// Bytes departed in the measurement under way.
    departed: u64,
    /// The estimate: bytes × 2^`rate_shift` per tick, or ticks per `threshold` bytes. 0: none yet.
    estimate: u64,
}

/// In [`Vars`]: no time, no measurement.
const NONE: u64 = u64::MAX;

/// What Linux counts for `tc -s` beside the packets.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Tally {
    /// Arrivals that found the queue full.
    overlimit: u64,
    /// Arrivals that found the memory used up.
    overmemory: u64,
    /// Marks instead of drops; packets that had a mark already count.
    ecn_mark: u64,
}

impl Tally {
    /// Counts a drop at arrival.
    pub(crate) const fn dropped(&mut self, why: DropReason) {
        match why {
            DropReason::Overlimit => self.overlimit = self.overlimit.wrapping_add(1),
            DropReason::Overmemory => self.overmemory = self.overmemory.wrapping_add(1),
            _ => {}
        }
    }

    /// Counts a mark.
    pub(crate) const fn marked(&mut self) {
        self.ecn_mark = self.ecn_mark.wrapping_add(1);
    }

    /// What a discipline with a PIE per flow tells.
    pub(crate) fn show(&self, stats: &Stats, seen: &mut Observation) {
        seen.number("pkts_in", stats.enqueued.packets);
        seen.number("overlimit", self.overlimit);
        seen.number("overmemory", self.overmemory);
        seen.number("dropped", stats.dropped_before.packets);
        seen.number("ecn_mark", self.ecn_mark);
    }
}

impl Vars {
    const fn new(burst: u64, active: bool) -> Self {
        Self {
            active,
            probability: 0,
            accumulated: 0,
            delay: 0,
            old_delay: 0,
            burst,
            since: NONE,
            departed: NONE,
            estimate: 0,
        }
    }

    /// True up to a drop probability of `percent`, if marking is on.
    pub(crate) fn may_mark(&self, config: &PieConfig, percent: u32) -> bool {
        config.ecn && self.probability <= config.rules().one / 100 * u64::from(percent)
    }

    /// A packet was dropped: the accumulated probability starts anew.
    pub(crate) const fn lost_one(&mut self) {
        self.accumulated = 0;
    }

    /// Does one periodic update of a queue that holds `backlog` bytes.
    pub(crate) fn update(&mut self, config: &PieConfig, backlog: u64) {
        let rules = config.rules();
        let vars = self;
        if !vars.active {
            return;
        }
        let protected = rules.burst_first && vars.burst > 0;
        if !rules.burst_by_departure {
            // RFC 8033 §4.4.
            vars.burst = vars.burst.saturating_sub(config.ticks(config.tupdate));
        }
        let (delay, old) = match config.delay_from() {
            DelayFrom::Either => (vars.delay, vars.old_delay),
            DelayFrom::Estimator => (config.estimated(vars.estimate, backlog), vars.delay),
            DelayFrom::LinkRate => (config.ticks(config.time_to_send(backlog)), vars.delay),
        };
        if protected {
            vars.probability = 0;
        } else {
            vars.move_probability(config, delay, old, backlog);
        }
        vars.delay = delay;
        vars.old_delay = if config.delay_from() == DelayFrom::Either { delay } else { old };
        let target = config.ticks(config.target);
        let calm = if rules.calm_below_target { target } else { target / 2 };
        let quiet = vars.probability == 0 && delay < calm && old < calm;
        if rules.quiescent {
            vars.rest(config, quiet && vars.burst == 0);
        } else if quiet {
            // RFC 8033 §4.4: the congestion is over, the next burst may pass.
            let estimated = config.delay_from() == DelayFrom::Estimator;
            match rules.restart {
                Restart::Never => vars.burst = config.ticks(config.max_burst),
                Restart::AfterSuccess if estimated && vars.estimate == 0 => {}
                _ => *vars = Vars { delay: vars.delay, old_delay: vars.old_delay, ..config.fresh() },
            }
            // RFC 8033 §5.3: nothing to control.
            if config.on_off && delay == 0 && old == 0 {
                *vars = config.fresh();
            }
        }
    }

    fn move_probability(&mut self, config: &PieConfig, delay: u64, old: u64, backlog: u64) {
        let rules = config.rules();
        let mut delta = config.increment(self.probability, delay, old);
        // RFC 8033 §5.5: no jumps once many packets are dropped.
        if rules.capped && delta > i128::from(rules.one / 50) && self.probability >= rules.one / 10 {
            delta = i128::from(rules.one / 100 * 2);
        }
        let (fades_below, zero) = (config.ticks(rules.negligible), rules.negligible.is_zero());
        let nothing = |span: u64| if zero { span == 0 } else { span < fades_below };
        let fades = nothing(delay) && nothing(old);
        if rules.surcharge.is_some_and(|bound| delay > config.ticks(bound)) && !fades {
            delta += i128::from(rules.one / 50);
        }
        let (probability, overflowed) = config.moved(self.probability, delta);
        self.probability = probability;
        let kept = overflowed || (rules.decay_when_empty && delay == 0 && backlog != 0);
        if fades && !kept {
            self.probability = config.faded(self.probability);
        }
    }

    /// RFC 8034: a second of quiet ends the control.
    fn rest(&mut self, config: &PieConfig, quiet: bool) {
        self.since = match self.since {
            NONE if quiet => 0,
            NONE => NONE,
            span if quiet => span.saturating_add(config.ticks(config.tupdate)),
            _ => 0,
        };
        if self.since != NONE && self.since > config.ticks(QUIET) {
            *self = config.fresh();
        }
    }

    /// Whether the controller wants to signal congestion on a packet of `bytes` that arrives behind `backlog` bytes.
    #[inline]
    pub(crate) fn congested(
        &mut self,
        config: &PieConfig,
        backlog: u64,
        bytes: u32,
        random: &mut impl Random,
    ) -> bool {
        self.active && self.burst == 0 && self.hits(config, backlog, bytes, random)
    }

    #[inline(never)]
    fn hits(&mut self, config: &PieConfig, backlog: u64, bytes: u32, random: &mut impl Random) -> bool {
        let rules = config.rules();
        let vars = self;
        if rules.safeguards {
            let measured = config.delay_from() != DelayFrom::Either;
            let last = if rules.current_delay || measured { vars.delay } else { vars.old_delay };
            // RFC 8033 §4.1: safeguards that keep the link busy.
            let small = last < config.ticks(config.target) / 2 && vars.probability < rules.one / 5;
            let tiny = match rules.arithmetic {
                Arithmetic::Exact => backlog <= 2 * MEAN_PACKET,
                Arithmetic::Linux64 | Arithmetic::Linux32 => backlog < 2 * u64::from(config.mtu),
            };
            if small || tiny {
                return false;
            }
        }
        let probability = config.of_packet(vars.probability, bytes);
        let hit = if rules.spaced {
            // RFC 8033 §5.4: neither early nor late drops in a row of independent draws.
            vars.accumulated =
                if probability == 0 { 0 } else { vars.accumulated.saturating_add(probability) };
            if vars.accumulated < rules.one / 100 * 85 {
                return false;
            }
            if vars.accumulated >= rules.one / 2 * 17 {
                if rules.clear_on_mark {
                    vars.accumulated = 0;
                }
                true
            } else {
                let hit = config.draw(probability, random);
                if hit {
                    vars.accumulated = 0;
                }
                hit
            }
        } else {
            config.draw(probability, random)
        };
        if hit && rules.quiescent {
            vars.since = NONE;
        }
        hit
    }

    /// Measures the departure at `now` of a packet of `bytes` that came at `came` and leaves `backlog` bytes behind.
    #[inline]
    pub(crate) fn departed(
        &mut self,
        config: &PieConfig,
        now: Instant,
        came: Instant,
        bytes: u32,
        backlog: u64,
    ) {
        let rules = config.rules();
        let vars = self;
        let now = now.as_nanos() >> rules.tick;
        let mut elapsed = 0;
        match config.delay_from() {
            DelayFrom::LinkRate => {}
            DelayFrom::Either => {
                vars.delay = if backlog == 0 { 0 } else { now.saturating_sub(came.as_nanos() >> rules.tick) };
                // Without a last departure, which is NONE, no time has elapsed since.
                elapsed = now.saturating_sub(vars.since);
                vars.since = now;
            }
            DelayFrom::Estimator => elapsed = vars.measured(config, now, bytes, backlog),
        }
        if rules.burst_by_departure {
            vars.burst = vars.burst.saturating_sub(elapsed);
        }
    }

    /// The time of a measurement that the departure at tick `now` ends, if it ends one.
    #[inline(never)]
    fn measured(&mut self, config: &PieConfig, now: u64, bytes: u32, backlog: u64) -> u64 {
        let vars = self;
        let mut elapsed = 0;
        // RFC 8033 §5.2: measure only while enough is queued for the link to be busy throughout.
        if vars.departed == NONE && backlog >= config.threshold {
            (vars.departed, vars.since) = (0, now);
        }
        if vars.departed != NONE {
            vars.departed = vars.departed.saturating_add(u64::from(bytes));
            let span = now.saturating_sub(vars.since);
            if vars.departed >= config.threshold && span > 0 {
                elapsed = span;
                vars.estimate = config.averaged(vars.estimate, vars.departed, span);
                vars.departed = if backlog < config.threshold { NONE } else { 0 };
                if backlog >= config.threshold {
                    vars.since = now;
                }
            }
        }
        elapsed
    }
}

impl PieVariant {
    const fn rules(self) -> &'static Rules {
        match self {
            Self::Rfc8033 => &RFC8033,
            Self::Linux => &LINUX,
            Self::Draft00 => &DRAFT00,
            Self::Linux314 => &LINUX314,
            Self::Ns2 => &NS2,
            Self::Docsis => &DOCSIS,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Rfc8033 => "rfc8033",
            Self::Linux => "linux",
            Self::Draft00 => "draft00",
            Self::Linux314 => "linux314",
            Self::Ns2 => "ns2",
            Self::Docsis => "docsis",
        }
    }

    fn named(name: &'static str) -> Result<Self, ConfigError> {
        [Self::Rfc8033, Self::Linux, Self::Draft00, Self::Linux314, Self::Ns2, Self::Docsis]
            .into_iter()
            .find(|variant| variant.name() == name)
            .ok_or_else(|| {
                ConfigError::new("variant", name, "rfc8033, linux, draft00, linux314, ns2 or docsis")
            })
    }

    fn defaults(self) -> Defaults {
        let of = |target, tupdate, max_burst| Defaults {
            target: Duration::from_millis(target),
            tupdate: Duration::from_millis(tupdate),
            max_burst: Duration::from_millis(max_burst),
            gains: (2, 20),
            threshold: 16_384,
        };
        match self {
            Self::Rfc8033 | Self::Linux => of(15, 15, 150),
            // draft-pan-aqm-pie-00; Linux 3.14: 10000 bytes.
            Self::Draft00 | Self::Linux314 => Defaults { threshold: 10_000, ..of(20, 30, 100) },
            // Järvinen and Kojo 2014, table I: ten packets.
            Self::Ns2 => Defaults { threshold: 15_000, ..of(20, 30, 100) },
            // RFC 8034 appendix A: A = 0.25, B = 2.5.
            Self::Docsis => Defaults { gains: (4, 40), ..of(10, 16, 142) },
        }
    }
}

/// What a variant does if not told.
#[derive(Clone, Copy, Debug)]
struct Defaults {
    target: Duration,
    tupdate: Duration,
    max_burst: Duration,
    /// Alpha and beta, in sixteenths.
    gains: (u32, u32),
    threshold: u64,
}

impl PieConfig {
    /// Packets that the queue holds.
    #[must_use]
    pub const fn limit(&self) -> u32 {
        self.limit
    }

    /// The delay aimed at.
    #[must_use]
    pub const fn target(&self) -> Duration {
        self.target
    }

    /// Time between updates.
    #[must_use]
    pub const fn tupdate(&self) -> Duration {
        self.tupdate
    }

    /// Whose behaviour.
    #[must_use]
    pub const fn variant(&self) -> PieVariant {
        self.variant
    }

    const fn rules(&self) -> &'static Rules {
        self.variant.rules()
    }

    const fn ticks(&self, span: Duration) -> u64 {
        span.as_nanos() >> self.rules().tick
    }

    /// Control begins when a third of the buffer is in use.
    const fn waits(&self) -> bool {
        self.on_off || self.rules().quiescent
    }

    fn delay_from(&self) -> DelayFrom {
        match self.rules().delay {
            DelayFrom::Either if self.rate_estimator => DelayFrom::Estimator,
            from => from,
        }
    }

    /// The delay of `backlog` bytes at the estimated departure rate.
    fn estimated(&self, estimate: u64, backlog: u64) -> u64 {
        let rules = self.rules();
        let delay = match (estimate, rules.averaging) {
            (0, _) => 0,
            (time, Averaging::Time) => u128::from(backlog) * u128::from(time) / u128::from(self.threshold),
            (rate, Averaging::Rate { .. }) => (u128::from(backlog) << rules.rate_shift) / u128::from(rate),
        };
        u64::try_from(delay).unwrap_or(u64::MAX)
    }

    /// The estimate after one more measurement: `departed` bytes in `span` ticks, which is not 0.
    fn averaged(&self, estimate: u64, departed: u64, span: u64) -> u64 {
        let rules = self.rules();
        let sample = match rules.averaging {
            Averaging::Time => span,
            Averaging::Rate { .. } => {
                let rate = (u128::from(departed) << rules.rate_shift) / u128::from(span);
                u64::try_from(rate).unwrap_or(u64::MAX)
            }
        };
        match (estimate, rules.averaging) {
            (0, _) | (_, Averaging::Rate { shift: 0 }) => sample,
            (average, Averaging::Time) => average - average / 4 + sample / 4,
            (average, Averaging::Rate { shift }) => average - (average >> shift) + (sample >> shift),
        }
    }

    /// An estimate in bytes per second.
    fn bytes_per_second(&self, estimate: u64) -> u64 {
        let rules = self.rules();
        let ticks = u128::from(NANOS_PER_SECOND >> rules.tick);
        let rate = match (estimate, rules.averaging) {
            (0, _) => 0,
            (time, Averaging::Time) => u128::from(self.threshold) * ticks / u128::from(time),
            (rate, Averaging::Rate { .. }) => (u128::from(rate) * ticks) >> rules.rate_shift,
        };
        u64::try_from(rate).unwrap_or(u64::MAX)
    }

    /// How long the link takes for `backlog` bytes.
    fn time_to_send(&self, backlog: u64) -> Duration {
        let rate = u128::from(self.bandwidth.as_bps().max(1));
        let nanos = u128::from(backlog) * 8 * u128::from(NANOS_PER_SECOND) / rate;
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// The probability for a packet of `bytes`.
    fn of_packet(&self, probability: u64, bytes: u32) -> u64 {
        let (mtu, one) = (u64::from(self.mtu), self.rules().one);
        if !self.byte_mode {
            probability.min(one)
        } else if self.variant == PieVariant::Docsis {
            let scaled = u128::from(probability) * u128::from(bytes) / u128::from(MEAN_PACKET);
            u64::try_from(scaled).unwrap_or(u64::MAX).min(one / 100 * 85)
        } else if bytes <= self.mtu {
            u64::from(bytes) * (probability / mtu)
        } else {
            probability
        }
    }

    fn draw(&self, probability: u64, random: &mut impl Random) -> bool {
        match self.rules().arithmetic {
            Arithmetic::Exact => scale_64(random.next_u64(), self.rules().one) < probability,
            Arithmetic::Linux64 => random.next_u64() >> 8 < probability,
            Arithmetic::Linux32 => u64::from(random.next_u32()) < probability,
        }
    }

    /// The probability after an update without any delay.
    fn faded(&self, probability: u64) -> u64 {
        match self.rules() {
            // Linux 3.14 forgets that 98 times its probability may not fit in 32 bits.
            rules if rules.arithmetic == Arithmetic::Linux32 => {
                ((probability * 98) & u64::from(u32::MAX)) / 100
            }
            rules if rules.decay > 0 => probability - probability / rules.decay,
            _ => probability,
        }
    }

    pub(crate) const fn fresh(&self) -> Vars {
        Vars::new(self.ticks(self.max_burst), !self.waits())
    }

    /// When an update is due first after `now`, for a queue made at the origin of the clock.
    pub(crate) fn first_update(&self, now: Instant) -> Instant {
        // Linux starts the timer with half a second, whatever tupdate is.
        let half = Duration::from_millis(500);
        let first = match self.variant {
            PieVariant::Linux314 => jiffies::fires_on_time(Instant::ZERO, half),
            _ if self.rules().jiffies => jiffies::fires(Instant::ZERO, half),
            _ => Instant::ZERO + self.tupdate,
        };
        self.resumed(first, now)
    }

    /// When the update after that of `at` is due.
    pub(crate) fn next_update(&self, at: Instant) -> Instant {
        match self.variant {
            PieVariant::Linux314 => jiffies::fires_on_time(at, self.tupdate),
            _ if self.rules().jiffies => jiffies::fires(at, self.tupdate),
            _ => at + self.tupdate,
        }
    }

    /// The first update after `now` if one was due at `due` and none is made up for.
    pub(crate) fn resumed(&self, due: Instant, now: Instant) -> Instant {
        if due > now {
            return due;
        }
        let period = self.next_update(due).since(due).as_nanos().max(1);
        let late = Duration::from_nanos(now.since(due).as_nanos() % period);
        self.next_update(now - late)
    }

    /// How much the probability moves when the delay is `delay` after `old` (ticks).
    fn increment(&self, probability: u64, delay: u64, old: u64) -> i128 {
        let rules = self.rules();
        let target = self.ticks(self.target);
        // RFC 8033 §4.2: the smaller the probability, the smaller the steps: /2, then /4 more for every power of ten.
        let mut shift = 0;
        let mut bound = 10;
        for _ in 0..rules.levels {
            if probability >= rules.one / bound {
                break;
            }
            shift = if shift == 0 { 1 } else { shift + 2 };
            bound *= 10;
        }
        let per_second = rules.one / (NANOS_PER_SECOND >> rules.tick);
        let gain = |factor: u32| (u64::from(factor).saturating_mul(per_second)) >> 4;
        let (integral, proportional) = (signed_gap(delay, target), signed_gap(delay, old));
        let sum = |by: u32| {
            i128::from(gain(self.alpha) >> by) * integral + i128::from(gain(self.beta) >> by) * proportional
        };
        match rules.arithmetic {
            // RFC 8034 goes on: twice the step from 0.1 on, 8 and 32 times from 1 and 10 on.
            Arithmetic::Exact if rules.above_one && probability >= rules.one => {
                sum(0) * if probability / rules.one >= 10 { 32 } else { 8 }
            }
            Arithmetic::Exact if rules.above_one && probability >= rules.one / 10 => sum(0) * 2,
            Arithmetic::Exact => sum(0) / (1 << shift),
            // Linux shifts the gains, and its sum wraps.
            Arithmetic::Linux64 => i128::from(wrap_64(sum(shift))),
            Arithmetic::Linux32 => i128::from(wrap_32(sum(shift))),
        }
    }

    /// The probability after an increment, and whether it hit the ceiling.
    fn moved(&self, probability: u64, delta: i128) -> (u64, bool) {
        let one = self.rules().one;
        let moved = i128::from(probability) + delta;
        let most = match self.rules().arithmetic {
            // RFC 8034: what a packet of MIN_PKTSIZE still feels.
            Arithmetic::Exact if self.rules().above_one => one / 100 * 85 * (MEAN_PACKET / 64),
            Arithmetic::Exact => one,
            // Linux only notices when 64 bits overflow, which is 256 times probability 1.
            Arithmetic::Linux64 => u64::MAX,
            Arithmetic::Linux32 => u64::from(u32::MAX),
        };
        match u64::try_from(moved) {
            Ok(fits) if fits <= most => (fits, false),
            Ok(_) if self.rules().arithmetic == Arithmetic::Exact => (most, false),
            Ok(_) => (one, true),
            Err(_) if delta > 0 => (one, true),
            Err(_) => (0, false),
        }
    }
}

fn signed_gap(a: u64, b: u64) -> i128 {
    i128::from(a) - i128::from(b)
}

#[expect(clippy::cast_possible_truncation, reason = "the wrap of Linux's s64 is what is wanted")]
const fn wrap_64(wide: i128) -> i64 {
    wide as i64
}

#[expect(clippy::cast_possible_truncation, reason = "the wrap of Linux's s32 is what is wanted")]
const fn wrap_32(wide: i128) -> i32 {
    wide as i32
}

impl Configure for PieConfig {
    const KIND: Kind = KIND;

    fn from_settings(settings: &Settings, link: &Link) -> Result<Self, ConfigError> {
        let number = |name, low, high, default: u32| -> Result<u32, ConfigError> {
            let given = settings.number(name, low, high)?;
            Ok(given.and_then(|value| u32::try_from(value).ok()).unwrap_or(default))
        };
        let time = |name, low, default| -> Result<Duration, ConfigError> {
            Ok(settings.number(name, low, MAX_TIME)?.map_or(default, Duration::from_nanos))
        };
        let flag = |name| settings.flag(name).unwrap_or(false);
        let variant = settings.choice("variant").map_or(Ok(PieVariant::Rfc8033), PieVariant::named)?;
        let default = variant.defaults();
        let on_off = flag("onoff");
        if on_off && variant != PieVariant::Rfc8033 {
            return Err(ConfigError::new("onoff", "", "onoff with variant rfc8033 only"));
        }
        let estimator = settings.flag("dq_rate_estimator");
        match (variant.rules().delay, estimator) {
            (DelayFrom::Estimator, Some(false)) => {
                let allowed = "no timestamps with this variant: it always estimates";
                return Err(ConfigError::new("no_dq_rate_estimator", "", allowed));
            }
            (DelayFrom::LinkRate, Some(true)) => {
                return Err(ConfigError::new(
                    "dq_rate_estimator",
                    "",
                    "not with variant docsis, which knows the rate",
                ));
            }
            _ => {}
        }
        let bandwidth = settings.number("bandwidth", 8, u64::MAX)?.map_or(link.rate, Rate::from_bps);
        let (alpha, beta) = default.gains;
        let most = if variant == PieVariant::Docsis { 2 * MAX_GAIN } else { MAX_GAIN };
        Ok(Self {
            variant,
            limit: number("limit", 1, u64::from(u32::MAX), 1000)?,
            target: time("target", 1, default.target)?,
            tupdate: time("tupdate", 1_000, default.tupdate)?,
            alpha: number("alpha", 0, most, alpha)?,
            beta: number("beta", 0, most, beta)?,
            max_burst: time("max_burst", 0, default.max_burst)?,
            ecn: flag("ecn"),
            byte_mode: settings.flag("bytemode").unwrap_or(variant == PieVariant::Docsis),
            rate_estimator: estimator.unwrap_or(variant.rules().delay == DelayFrom::Estimator),
            on_off,
            threshold: settings.number("dq_threshold", 1, u64::from(u32::MAX))?.unwrap_or(default.threshold),
            bandwidth: if bandwidth.as_bps() < 8 { FALLBACK_RATE } else { bandwidth },
            mtu: link.mtu.max(1),
        })
    }

    fn to_settings(&self) -> Settings {
        Settings::new()
            .with("variant", Value::Choice(self.variant.name()))
            .with("limit", Value::Packets(u64::from(self.limit)))
            .with("target", Value::Time(self.target))
            .with("tupdate", Value::Time(self.tupdate))
            .with("alpha", Value::Integer(u64::from(self.alpha)))
            .with("beta", Value::Integer(u64::from(self.beta)))
            .with("max_burst", Value::Time(self.max_burst))
            .with("ecn", Value::Flag(self.ecn))
            .with("bytemode", Value::Flag(self.byte_mode))
            .with("dq_rate_estimator", Value::Flag(self.rate_estimator))
            .with("onoff", Value::Flag(self.on_off))
            .with("dq_threshold", Value::Bytes(self.threshold))
            .with("bandwidth", Value::Rate(self.bandwidth))
    }
}

impl<P: Packet, R: Random> Pie<P, R> {
    /// An empty queue that draws from `random`.
    #[must_use]
    pub fn new(config: PieConfig, random: R) -> Self {
        Self {
            config,
            random,
            queue: Fifo::default(),
            vars: config.fresh(),
            now: Instant::ZERO,
            update_at: Instant::ZERO,
            stats: Stats::default(),
            tally: Tally::default(),
            longest: 0,
            last: 0,
            ahead: 0,
        }
    }

    /// Packets queued, one that the parent took ahead of time included, as Linux counts.
    fn held(&self) -> usize {
        self.queue.len() + usize::from(self.ahead > 0)
    }

    /// Their bytes.
    fn held_bytes(&self) -> u64 {
        self.queue.bytes() + u64::from(self.ahead)
    }

    /// The drop probability.
    #[must_use]
    pub fn probability(&self) -> f64 {
        let one = self.config.rules().one;
        self.vars.probability.min(one) as f64 / one as f64
    }

    /// The queue delay that the controller last saw.
    #[must_use]
    pub fn queue_delay(&self) -> Duration {
        Duration::from_nanos(self.vars.delay.saturating_mul(1 << self.config.rules().tick))
    }

    /// Probability and queue delay in the variant's own units: for `linux` what the kernel calls `vars.prob` and
    /// `vars.qdelay`.
    #[must_use]
    pub fn raw(&self) -> (u64, u64) {
        (self.vars.probability, self.vars.delay)
    }

    /// Does the updates that are due at `now`. Every call of the queue does so by itself.
    #[inline]
    pub fn update(&mut self, now: Instant) {
        self.now = self.now.max(now);
        if self.update_at <= self.now {
            self.catch_up();
        }
    }

    #[inline(never)]
    fn catch_up(&mut self) {
        let mut at = self.update_at;
        if at == Instant::ZERO {
            at = self.config.first_update(self.now);
        }
        let mut done = 0;
        // An update that is due at the end of time would be due at every call from then on.
        while at <= self.now && at < Instant::MAX {
            let before = self.vars;
            self.update_once();
            let next = self.config.next_update(at);
            done += 1;
            if done == MAX_UPDATES || self.vars == before {
                // What follows changes nothing, or is too much for one call: only the phase of the clock goes on.
                at = self.config.resumed(next, self.now);
                break;
            }
            at = next;
        }
        self.update_at = at;
    }

    fn update_once(&mut self) {
        self.vars.update(&self.config, self.held_bytes());
    }

    #[cold]
    fn begin(&mut self) {
        self.vars = Vars { active: true, ..self.config.fresh() };
    }

    /// Drops an arriving packet.
    #[inline(never)]
    fn refuse(&mut self, packet: P, why: DropReason, drops: &mut impl Drops<P>) {
        self.vars.lost_one();
        self.tally.dropped(why);
        self.stats.dropped_before.add(packet.len());
        drops.dropped(packet, why);
    }

    /// Sets CE on an ECN-capable packet if marking is on and not too many would be marked (RFC 8033 §5.1).
    #[inline(never)]
    fn mark(&mut self, packet: &mut P) -> bool {
        if !self.config.ecn || self.vars.probability > self.config.rules().one / 10 {
            return false;
        }
        let already = packet.ecn() == Ecn::Ce;
        let carries = packet.set_ce();
        if carries {
            self.tally.marked();
        }
        if carries && !already {
            self.stats.marked.add(packet.len());
        }
        carries
    }

    fn drop_oldest(&mut self, why: DropReason, drops: &mut impl Drops<P>) -> bool {
        let Some(oldest) = self.queue.pop_front() else { return false };
        self.stats.dropped_after.add(oldest.packet.len());
        drops.dropped(oldest.packet, why);
        true
    }
}

/// Maps 64 uniform bits to `0..one`.
fn scale_64(drawn: u64, one: u64) -> u64 {
    u64::try_from((u128::from(drawn) * u128::from(one)) >> 64).unwrap_or(0)
}

impl<P: Packet, R: Random> Build<P, R> for Pie<P, R> {
    fn build(config: PieConfig, _salt: u32, random: R) -> Self {
        Self::new(config, random)
    }
}

impl<P: Packet, R: Random> Qdisc<P> for Pie<P, R> {
    type Config = PieConfig;

    #[inline]
    fn enqueue(&mut self, now: Instant, mut packet: P, drops: &mut impl Drops<P>) {
        self.update(now);
        if self.held() >= self.config.limit as usize {
            self.refuse(packet, DropReason::Overlimit, drops);
            return;
        }
        if self.vars.congested(&self.config, self.held_bytes(), packet.len(), &mut self.random)
            && !self.mark(&mut packet)
        {
            self.refuse(packet, DropReason::Congested, drops);
            return;
        }
        self.longest = self.longest.max(self.held());
        self.queue.push_back(self.now, packet);
        // RFC 8033 §5.3: PIE begins when a third of the buffer is in use.
        if !self.vars.active && self.queue.len().saturating_mul(3) >= self.config.limit as usize {
            self.begin();
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Instant, _drops: &mut impl Drops<P>) -> Option<P> {
        self.update(now);
        let head = self.queue.front()?;
        let (came, bytes) = (head.at, head.packet.len());
        let left = self.queue.bytes().wrapping_sub(u64::from(bytes));
        self.vars.departed(&self.config, self.now, came, bytes, left);
        self.last = bytes;
        self.queue.pop_front().map(|queued| queued.packet)
    }

    /// Linux dequeues to look at the head, so that PIE measures the delay when a packet reaches it.
    fn next_len(&self) -> Option<u32> {
        let is_linux = matches!(self.config.variant, PieVariant::Linux | PieVariant::Linux314);
        self.queue.front().filter(|_| !is_linux).map(|queued| queued.packet.len())
    }

    fn set_taken_ahead(&mut self, now: Instant, taken: bool) {
        // Updates that were due before the packet went still count it.
        self.update(now);
        self.ahead = if taken { self.last } else { 0 };
    }

    fn len(&self) -> usize {
        self.queue.len()
    }

    fn backlog(&self) -> u64 {
        self.queue.bytes()
    }

    fn stats(&self) -> Stats {
        self.queue.complete(self.stats)
    }

    fn observe(&self, _now: Instant, seen: &mut Observation) {
        seen.fraction("prob", self.probability());
        seen.time("delay", self.queue_delay());
        if self.config.delay_from() == DelayFrom::Estimator {
            seen.number("avg_dq_rate", self.config.bytes_per_second(self.vars.estimate));
        }
        seen.number("pkts_in", self.stats().enqueued.packets);
        seen.number("overlimit", self.tally.overlimit);
        seen.number("dropped", self.stats.dropped_before.packets);
        seen.number("maxq", self.longest as u64);
        seen.number("ecn_mark", self.tally.ecn_mark);
    }

    fn reconfigure(&mut self, now: Instant, config: PieConfig, drops: &mut impl Drops<P>) {
        self.update(now);
        let old = core::mem::replace(&mut self.config, config);
        if old.variant != config.variant
            || old.on_off != config.on_off
            || old.rate_estimator != config.rate_estimator
            || old.threshold != config.threshold
        {
            self.vars = config.fresh();
        }
        if old.tupdate != config.tupdate {
            let soon = config.next_update(self.now);
            self.update_at = self.update_at.min(soon);
        }
        // As Linux does: the oldest go.
        while self.queue.len() > config.limit as usize && self.drop_oldest(DropReason::Overlimit, drops) {}
    }

    fn config(&self) -> PieConfig {
        self.config
    }

    fn purge(&mut self, now: Instant, drops: &mut impl Drops<P>) {
        self.update(now);
        while self.drop_oldest(DropReason::Purged, drops) {}
        self.vars = self.config.fresh();
    }
}

const KIND: Kind = Kind {
    name: "pie",
    summary: "Drops arrivals with a probability that a PI controller adjusts to hold the delay at a target",
    reference: "RFC 8033; tc-pie(8)",
    variants: &[
        Variant { name: "rfc8033", doc: "RFC 8033 in exact arithmetic" },
        Variant { name: "linux", doc: "Linux 6.1, bit for bit" },
        Variant { name: "draft00", doc: "draft-pan-aqm-pie-00 of 2013" },
        Variant { name: "linux314", doc: "Linux 3.14 of 2014, in its 32-bit arithmetic" },
        Variant { name: "ns2", doc: "the code for ns-2, which may never leave its burst allowance" },
        Variant { name: "docsis", doc: "RFC 8034, the PIE of cable modems" },
    ],
    children: crate::config::Children::None,
    parameters: &[
        Parameter {
            name: "limit",
            unit: Unit::Packets,
            default: "1000p",
            source: "Linux sch_pie",
            range: "1 to 4294967295",
            doc: "packets that the queue holds",
        },
        Parameter {
            name: "target",
            unit: Unit::Time,
            default: "15ms; draft00, linux314, ns2: 20ms; docsis: 10ms",
            source: "RFC 8033 §4.2; Linux sch_pie; draft-pan-aqm-pie-00; RFC 8034",
            range: "1ns to 4294s",
            doc: "queue delay aimed at",
        },
        Parameter {
            name: "tupdate",
            unit: Unit::Time,
            default: "15ms; draft00, linux314, ns2: 30ms; docsis: 16ms",
            source: "RFC 8033 §4.2; Linux sch_pie; draft-pan-aqm-pie-00; RFC 8034",
            range: "1us to 4294s",
            doc: "time between updates of the drop probability",
        },
        Parameter {
            name: "alpha",
            unit: Unit::Integer,
            default: "2; docsis: 4",
            source: "RFC 8033 §4.2 (0.125 per s); Linux sch_pie; RFC 8034",
            range: "0 to 32; docsis: 0 to 64",
            doc: "gain of the distance from the target, in sixteenths per second",
        },
        Parameter {
            name: "beta",
            unit: Unit::Integer,
            default: "20; docsis: 40",
            source: "RFC 8033 §4.2 (1.25 per s); Linux sch_pie; RFC 8034",
            range: "0 to 32; docsis: 0 to 64",
            doc: "gain of the change of the delay, in sixteenths per second",
        },
        Parameter {
            name: "max_burst",
            unit: Unit::Time,
            default: "150ms; draft00, linux314, ns2: 100ms; docsis: 142ms",
            source: "RFC 8033 §4.4; Linux sch_pie; draft-pan-aqm-pie-00; RFC 8034",
            range: "0 to 4294s",
            doc: "burst that passes before the first drop",
        },
        Parameter {
            name: "ecn",
            unit: Unit::Flag { off: Some("noecn") },
            default: "noecn",
            source: "Linux sch_pie",
            range: "",
            doc: "mark ECN-capable packets instead of dropping them, up to a probability of 10 %",
        },
        Parameter {
            name: "bytemode",
            unit: Unit::Flag { off: Some("nobytemode") },
            default: "nobytemode; docsis: bytemode",
            source: "Linux sch_pie; RFC 8034",
            range: "",
            doc: "scale the drop probability with the packet's length over the MTU",
        },
        Parameter {
            name: "dq_rate_estimator",
            unit: Unit::Flag { off: Some("no_dq_rate_estimator") },
            default: "no_dq_rate_estimator; draft00, linux314, ns2: dq_rate_estimator",
            source: "Linux sch_pie since 5.6",
            range: "draft00, linux314, ns2: always on; docsis: always off",
            doc: "delay from the measured departure rate instead of from timestamps",
        },
        Parameter {
            name: "onoff",
            unit: Unit::Flag { off: Some("noonoff") },
            default: "noonoff",
            source: "FreeBSD ipfw(8); RFC 8033 §5.3: optional",
            range: "with variant rfc8033 only",
            doc: "control only after a third of the buffer was in use",
        },
        Parameter {
            name: "dq_threshold",
            unit: Unit::Bytes,
            default: "16384; draft00, linux314: 10000; ns2: 15000",
            source: "RFC 8033 §5.2; Linux; draft-pan-aqm-pie-00; Järvinen and Kojo 2014",
            range: "1 to 4294967295",
            doc: "bytes over which the departure rate is measured",
        },
        Parameter {
            name: "bandwidth",
            unit: Unit::Rate,
            default: "the link rate",
            source: "RFC 8034: MSR and PEAK_RATE of the modem",
            range: "8bit and more",
            doc: "rate from which variant docsis derives the delay; others ignore it",
        },
    ],
};

/// RFC 8034: BURST_RESET_TIMEOUT.
const QUIET: Duration = Duration::from_secs(1);
/// For a link whose rate is not known, as tc assumes elsewhere.
const FALLBACK_RATE: Rate = Rate::from_bps(10_000_000);
/// RFC 8033 appendix A: MEAN_PKTSIZE.
const MEAN_PACKET: u64 = 1_024;
/// tc-pie(8).
const MAX_GAIN: u64 = 32;
/// What Linux can be told: 2^32 - 1 microseconds.
const MAX_TIME: u64 = u32::MAX as u64 * 1_000;
const NANOS_PER_SECOND: u64 = 1_000_000_000;
/// From certainty to nothing takes about 800 updates at the default gains.
const MAX_UPDATES: u32 = 2_048;

#[cfg(test)]
mod tests;
