//! Proportional integral controller enhanced: `pie`.
//!
//! # What it does
//! Every `tupdate` a drop probability moves in proportion to how far the queue delay is from
//! `target` (integral term, `alpha`) and to how much it has changed since the last update
//! (proportional term, `beta`). Arriving packets are dropped with that probability. Bursts shorter
//! than `max_burst` pass, and small probabilities move in small steps.
//!
//! # Reference
//! RFC 8033; RFC 8034; R. Pan et al., HPSR 2013; draft-pan-aqm-pie-00; I. Järvinen and M. Kojo,
//! "Evaluating CoDel, PIE, and HRED AQM Techniques with Load Transients", LCN 2014; behaviour of
//! Linux 6.1 `net/sched/sch_pie.c`, `include/net/pie.h`; tc-pie(8).
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
//! Other variants, other defaults: `draft00`, `linux314`, `ns2` and `ns2_2014` have target 20 ms,
//! tupdate 30 ms, max_burst 100 ms and the estimator over 10000 (`ns2`, `ns2_2014`: 15000) bytes
//! (draft-pan-aqm-pie-00; Linux 3.14; Järvinen and Kojo 2014); `docsis` has 10 ms, 16 ms, 142 ms,
//! alpha 4, beta 40 and `bytemode` (RFC 8034).
//!
//! # Deviations
//! `rfc8033`: exact integer arithmetic with probability 1 = 10^18 and time in nanoseconds. The
//! delay is the time in the queue of the last packet sent (0 when the queue is empty) unless
//! `dq_rate_estimator` asks for RFC 8033 §5.2's estimate. De-randomisation (§5.4) and the cap on
//! the increase (§5.5) are always on, activation at a third of the buffer (§5.3) with `onoff`. No
//! drop is considered, nor accumulated, while burst allowance is left. Updates are at multiples of
//! `tupdate` of the caller's clock.
//!
//! `linux`: the integers of Linux 6.1 (probability 1 = 2^56 - 1, time in 64 ns, updates when a 1000
//! Hz kernel's timer would fire if the queue had been made at the origin of the caller's clock; the
//! first comes half a second later). Not reproduced: the wrap of its delay estimate at a backlog of
//! 16 MiB, nor that packets which a change to `no_dq_rate_estimator` finds queued have no time of
//! arrival there, so that they seem to have come when the machine was started. An `alpha` or `beta`
//! of 0 is 0; tc 6.1 takes it for not given.
//!
//! `draft00`: as `rfc8033` in arithmetic; three levels of steps, each arrival is dropped
//! independently, nothing else. The last measurement of the departure rate counts alone.
//!
//! `linux314`: the integers of Linux 3.14, wraps of its 32-bit probability included, on timers that
//! fire at their jiffy.
//!
//! `ns2`: as `draft00` with the safeguards of the code. As there, the measurement starts anew at
//! every update at which the probability and the delay are zero, even if none has succeeded, so
//! that with default values PIE is a FIFO at 2 Mbit/s: ten packets take longer than `tupdate`
//! (Järvinen and Kojo 2014). The probability moves while burst allowance is left, as the draft
//! says, and rises by 2 % more beyond 250 ms, as in Linux at that time. Reconstructed from what is
//! known of that code.
//!
//! `ns2_2014`: the later code of P. Natarajan and others for ns-2, outside its DOCSIS mode: three
//! levels of steps, and twice the step from a probability of 0.1 on, which may go beyond 1; the
//! probability stays at 0 while burst allowance is left, which is armed by the first arrival and
//! again by the first after 1.5 s of quiet; 2 % more beyond 200 ms. `limit` counts packets, not
//! bytes by their mean size, and that mean, of which two may wait before any is dropped, is RFC
//! 8033's.
//!
//! `docsis`: the delay is the backlog over `bandwidth`, without the token bucket of a modem. A
//! third of `limit` packets stands for a third of the buffer. `ecn` marks up to 10 %, where RFC
//! 8034 knows no ECN.
//!
//! All: updates that fall between two calls are made up for at the later one, at most 2048 of them:
//! by then the probability has reached the end to which a silent queue drives it. A packet that
//! carries CE already is not counted as marked.
//!
//! # Cost
//! Constant per packet; at most one drop and 2048 missed updates per call. One ring of packets with
//! their times.
//!
//! # Example
//! ```
//! use goodqueue::{Configure, Link, Settings, pie::PieConfig};
//! let config = PieConfig::from_settings(&Settings::new(), &Link::default()).unwrap();
//! println!("{:?}", config.to_settings());
//! assert_eq!(config.target().to_string(), "15ms");
//! ```

mod config;
mod controller;
mod law;

use config::Defaults;
pub use controller::{Arriving, Controller};

use crate::config::{Build, ConfigError};
use crate::gauge::{Observation, Observe};
use crate::nesting::Inner;
use crate::packet::{Ecn, Packet};
use crate::qdisc::{DropReason, Drops, Lookahead, Qdisc, Stats};
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
    /// Bytes of the packet that was dequeued last, and of the one that the parent took ahead of
    /// time and keeps; 0: none.
    last: u32,
    ahead: u32,
}

/// Configuration of [`Pie`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PieConfig {
    variant: PieVariant,
    departure: Departure,
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
    /// The code for ns-2 of 2014.
    Ns2Of2014,
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

/// What a departure tells the controller: found once, because every packet asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Departure {
    /// Nothing.
    Ignored,
    /// How long the packet has waited.
    Timed {
        /// Of [`Rules`].
        tick: u32,
        /// And what is left of the burst allowance.
        shrinks_burst: bool,
    },
    /// How fast the queue drains.
    Measured,
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
    /// They begin anew by themselves, once one has succeeded; the allowance is re-armed after 1.5 s
    /// of quiet, by an arrival.
    AfterQuiet,
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
    /// Larger steps from a probability of 0.1 on, and beyond 1.
    above_one: bool,
    /// The highest probability; below 19 times 1.
    most: u64,
    /// No jumps of the probability once many packets are dropped.
    capped: bool,
    /// With both delays zero, one part in this many of the probability goes at each update; 0:
    /// none.
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
    /// The bytes of a packet that the parent took ahead of time and keeps are still in the queue.
    counts_ahead: bool,
}

/// Makes every threshold exact, and 8.5 times it still fits in 64 bits.
const ONE: u64 = 1_000_000_000_000_000_000;

const RFC8033: Rules = Rules {
    arithmetic: Arithmetic::Exact,
    // RFC 8033 works in reals.
    one: ONE,
    tick: 0,
    levels: 6,
    above_one: false,
    most: ONE,
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
    counts_ahead: true,
};

const LINUX: Rules = Rules {
    arithmetic: Arithmetic::Linux64,
    one: u64::MAX >> 8,
    // Linux only notices when 64 bits overflow, which is 256 times probability 1.
    most: u64::MAX,
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
    surcharge: Some(Duration::from_millis(250)),
    safeguards: true,
    calm_below_target: false,
    burst_by_departure: true,
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
    // RFC 8034: what a packet of MIN_PKTSIZE still feels.
    most: ONE / 100 * 85 * (law::MEAN_PACKET / 64),
    // RFC 8034: LATENCY_LOW, LATENCY_HIGH.
    negligible: Duration::from_millis(5),
    surcharge: Some(Duration::from_millis(200)),
    burst_first: true,
    quiescent: true,
    delay: DelayFrom::LinkRate,
    ..RFC8033
};

/// The controller's variables for one queue, times in ticks; a discipline with a PIE per flow has
/// one for each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Vars {
    active: bool,
    /// How far the burst allowance is from being re-armed ([`Restart::AfterQuiet`]).
    allowance: Allowance,
    /// The measurement under way was begun anew in ns-2's way, which counts from -1.
    one_short: bool,
    probability: u64,
    accumulated: u64,
    delay: u64,
    old_delay: u64,
    burst: u64,
    /// Since when departures are measured (with the estimator), or the last departure; for how long
    /// a `docsis` queue has been quiet.
    since: u64,
    /// Bytes departed in the measurement under way.
    departed: u64,
    /// The estimate: bytes × 2^`rate_shift` per tick, or ticks per `threshold` bytes. 0: none yet.
    estimate: u64,
}

/// The burst allowance of [`Restart::AfterQuiet`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Allowance {
    /// The next arrival arms it.
    Due,
    /// It was armed.
    Armed,
    /// So many updates have been quiet since.
    Quiet(u16),
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

impl PieVariant {
    /// Looked up and not decided on, since every packet asks.
    const fn rules(self) -> &'static Rules {
        const RULES: [Rules; 7] = [RFC8033, LINUX, DRAFT00, LINUX314, NS2, NS2_2014, DOCSIS];
        &RULES[self as usize]
    }

    const fn name(self) -> &'static str {
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

    fn named(name: &'static str) -> Result<Self, ConfigError> {
        use PieVariant::*;
        [Rfc8033, Linux, Draft00, Linux314, Ns2, Ns2Of2014, Docsis]
            .into_iter()
            .find(|variant| variant.name() == name)
            .ok_or_else(|| {
                let all = "rfc8033, linux, draft00, linux314, ns2, ns2_2014 or docsis";
                ConfigError::new("variant", name, all)
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
            Self::Ns2 | Self::Ns2Of2014 => Defaults { threshold: 15_000, ..of(20, 30, 100) },
            // RFC 8034 appendix A: A = 0.25, B = 2.5.
            Self::Docsis => Defaults { gains: (4, 40), ..of(10, 16, 142) },
        }
    }
}

/// Does the updates of `vars` from `update_at` to `now`, for a queue of `backlog` bytes. Returns
/// when the next one is due.
fn catch_up(config: &PieConfig, vars: &mut Vars, update_at: Instant, now: Instant, backlog: u64) -> Instant {
    let mut at = update_at;
    if at == Instant::ZERO {
        at = config.first_update(now);
    }
    let mut done = 0;
    // An update at the end of time would be due at every call from then on.
    while at <= now && at < Instant::MAX {
        let before = *vars;
        vars.update(config, backlog);
        let next = config.next_update(at);
        done += 1;
        if done == MAX_UPDATES || *vars == before {
            // Further updates change nothing, or are too many for one call: only the phase of the
            // clock moves on.
            return config.resumed(next, now);
        }
        at = next;
    }
    at
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

    /// Their bytes; Linux counted that one's only from 4.7 on.
    fn held_bytes(&self) -> u64 {
        self.queue.bytes() + if self.config.rules().counts_ahead { u64::from(self.ahead) } else { 0 }
    }

    /// The drop probability.
    #[must_use]
    pub fn probability(&self) -> f64 {
        self.config.fraction(self.vars.probability)
    }

    /// The queue delay that the controller last saw.
    #[must_use]
    pub fn queue_delay(&self) -> Duration {
        Duration::from_nanos(self.vars.delay.saturating_mul(1 << self.config.rules().tick))
    }

    /// Probability and queue delay in the variant's own units: for `linux` what the kernel calls
    /// `vars.prob` and `vars.qdelay`.
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
        let backlog = self.held_bytes();
        self.update_at = catch_up(&self.config, &mut self.vars, self.update_at, self.now, backlog);
    }

    #[cold]
    fn begin(&mut self) {
        self.vars = Vars { active: true, ..self.config.fresh() };
    }

    /// Whether an arriving packet, for which no burst allowance is left, is to be dropped; marks it
    /// instead if it may.
    #[inline(never)]
    fn signals(&mut self, packet: &mut P) -> bool {
        self.vars.arm(&self.config);
        let backlog = self.held_bytes();
        self.vars.may_signal()
            && self.vars.congested(&self.config, backlog, packet.len(), &mut self.random)
            && !self.mark(packet)
    }

    /// Drops an arriving packet.
    #[inline(never)]
    fn refuse(&mut self, packet: P, why: DropReason, drops: &mut impl Drops<P>) {
        self.vars.lost_one();
        self.tally.dropped(why);
        self.stats.dropped_before.add(packet.len());
        drops.dropped(packet, why);
    }

    /// Sets CE on an ECN-capable packet if marking is on and not too many would be marked (RFC 8033
    /// §5.1).
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

    #[inline(always)]
    fn admit(&mut self, now: Instant, mut packet: P, drops: &mut impl Drops<P>) {
        self.update(now);
        let held = self.held();
        if held >= self.config.limit as usize {
            self.refuse(packet, DropReason::Overlimit, drops);
            return;
        }
        if self.vars.burst == 0 && self.signals(&mut packet) {
            self.refuse(packet, DropReason::Congested, drops);
            return;
        }
        if held > self.longest {
            self.longest = held;
        }
        self.queue.push_back(self.now, packet);
        // RFC 8033 §5.3: PIE begins when a third of the buffer is in use.
        if !self.vars.active && self.queue.len().saturating_mul(3) >= self.config.limit as usize {
            self.begin();
        }
    }

    #[inline(never)]
    fn admit_by_call(&mut self, now: Instant, packet: P, drops: &mut impl Drops<P>) {
        self.admit(now, packet, drops);
    }

    #[inline(always)]
    fn send(&mut self, now: Instant) -> Option<P> {
        self.update(now);
        let head = self.queue.front()?;
        let (came, bytes) = (head.at, head.packet.len());
        let left = self.queue.bytes().wrapping_sub(u64::from(bytes));
        self.vars.departed(&self.config, self.now, came, bytes, left);
        self.last = bytes;
        self.queue.pop_front().map(|queued| queued.packet)
    }

    #[inline(never)]
    fn send_by_call(&mut self, now: Instant) -> Option<P> {
        self.send(now)
    }

    fn drop_oldest(&mut self, why: DropReason, drops: &mut impl Drops<P>) -> bool {
        let Some(oldest) = self.queue.pop_front() else { return false };
        self.stats.dropped_after.add(oldest.packet.len());
        drops.dropped(oldest.packet, why);
        true
    }
}

impl<P: Packet, R: Random> Build<P, R> for Pie<P, R> {
    fn build(config: PieConfig, _salt: u32, random: R) -> Self {
        Self::new(config, random)
    }
}

impl<P: Packet, R: Random> Qdisc<P> for Pie<P, R> {
    type Config = PieConfig;

    #[inline]
    fn enqueue(&mut self, now: Instant, packet: P, drops: &mut impl Drops<P>) {
        // What calls nothing but for its last has no registers to save: it is kept apart.
        let now = self.now.max(now);
        if now < self.update_at && self.vars.burst > 0 && self.queue.has_room() {
            self.admit(now, packet, drops);
        } else {
            self.admit_by_call(now, packet, drops);
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Instant, _drops: &mut impl Drops<P>) -> Option<P> {
        let now = self.now.max(now);
        if now < self.update_at { self.send(now) } else { self.send_by_call(now) }
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

    fn reconfigure(&mut self, now: Instant, config: PieConfig, drops: &mut impl Drops<P>) {
        self.update(now);
        let old = core::mem::replace(&mut self.config, config);
        if old.variant != config.variant || old.on_off != config.on_off || old.threshold != config.threshold {
            self.vars = config.fresh();
        }
        // As in Linux: the timer runs out as it was set, and the oldest go.
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

impl<P: Packet, R: Random> Lookahead<P> for Pie<P, R> {
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
}

impl<P: Packet, R: Random> Observe for Pie<P, R> {
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
}

impl<P: Packet> Inner<P> for Pie<P, crate::random::Source> {}

/// From certainty to nothing takes about 800 updates at the default gains.
const MAX_UPDATES: u32 = 2_048;

#[cfg(test)]
mod tests;
