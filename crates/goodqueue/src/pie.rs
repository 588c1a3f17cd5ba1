//! Proportional integral controller enhanced: `pie`.
//!
//! # What it does
//! Every `tupdate` a drop probability moves in proportion to how far the queue delay is from `target` (integral term,
//! `alpha`) and to how much it has changed since the last update (proportional term, `beta`). Arriving packets are dropped
//! with that probability. Bursts shorter than `max_burst` pass, and small probabilities move in small steps.
//!
//! # Reference
//! RFC 8033; R. Pan et al., HPSR 2013; behaviour of Linux 6.1 `net/sched/sch_pie.c`, `include/net/pie.h`; tc-pie(8).
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
//! | `alpha` | 1/16 per s | 2 (0.125) | RFC 8033 §4.2; Linux | 0 to 32 |
//! | `beta` | 1/16 per s | 20 (1.25) | RFC 8033 §4.2; Linux | 0 to 32 |
//! | `max_burst` | time | 150 ms | RFC 8033 §4.4 MAX_BURST; Linux, where it is fixed | 0 to 2^32 us |
//! | `ecn` | flag | off | Linux | |
//! | `bytemode` | flag | off | Linux | |
//! | `dq_rate_estimator` | flag | off | Linux since 5.6 | |
//! | `onoff` | flag | off | FreeBSD ipfw(8); RFC 8033 §5.3 calls it optional | `rfc8033` only |
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
//! Both: updates that fall between two calls are made up for at the later one, at most 2048 of them: by then the
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
use crate::jiffies;
use crate::packet::{Ecn, Packet};
use crate::qdisc::{DropReason, Drops, Qdisc, Stats};
use crate::queue::Fifo;
use crate::random::Random;
use crate::time::{Duration, Instant};

/// A queue under PIE.
#[derive(Clone, Debug)]
pub struct Pie<P, R> {
    config: PieConfig,
    random: R,
    queue: Fifo<P>,
    vars: Vars,
    /// Latest time seen (contract rule 1).
    now: Instant,
    /// When the probability is updated next; set by the first call.
    update_at: Option<Instant>,
    stats: Stats,
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
}

/// What the variants differ in.
#[derive(Clone, Copy, Debug)]
struct Rules {
    /// Probability 1.
    one: u64,
    /// Time is counted in units of `2^tick` ns.
    tick: u32,
    /// Steps of auto-tuning: below 10^-1, 10^-2, ... the increment shrinks.
    levels: u32,
    /// With both delays zero, one part in this many of the probability goes at each update.
    decay: u64,
    /// A delay above 250 ms adds 2 % per update.
    surcharge: bool,
    /// No decay while packets are queued.
    decay_when_empty: bool,
    /// The burst allowance shrinks with departures, not with updates.
    burst_by_departure: bool,
    /// The test for a small delay looks at the delay now, not at that of the last update.
    current_delay: bool,
    /// The departure rate is averaged, not the time that `THRESHOLD` bytes take.
    average_rate: bool,
    /// Re-arming the burst allowance restarts all measurements, and needs one to have succeeded.
    restart: bool,
    /// Updates are driven by the kernel's timers.
    jiffies: bool,
    /// The accumulated probability starts anew also when a forced drop became a mark.
    clear_on_mark: bool,
}

const RFC8033: Rules = Rules {
    // RFC 8033 works in reals. 10^18 makes every threshold exact, and 8.5 times it still fits in 64 bits.
    one: 1_000_000_000_000_000_000,
    tick: 0,
    levels: 6,
    decay: 50,
    surcharge: false,
    decay_when_empty: false,
    burst_by_departure: false,
    current_delay: false,
    average_rate: false,
    restart: false,
    jiffies: false,
    clear_on_mark: true,
};

const LINUX: Rules = Rules {
    one: u64::MAX >> 8,
    tick: 6,
    levels: 6,
    decay: 64,
    surcharge: true,
    decay_when_empty: true,
    burst_by_departure: true,
    current_delay: true,
    average_rate: true,
    restart: true,
    jiffies: true,
    clear_on_mark: false,
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
    /// Since when departures are measured (with the estimator), or the last departure.
    since: Option<u64>,
    /// Bytes departed in the measurement under way.
    departed: Option<u64>,
    /// The estimate: bytes × 2^8 per tick, or ticks per `THRESHOLD` bytes. 0: none yet.
    estimate: u64,
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
            since: None,
            departed: None,
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
        let estimated = config.rate_estimator;
        let vars = self;
        if !vars.active {
            return;
        }
        if !rules.burst_by_departure {
            // RFC 8033 §4.4.
            vars.burst = vars.burst.saturating_sub(config.ticks(config.tupdate));
        }
        let (delay, old) = if estimated {
            let delay = match vars.estimate {
                0 => 0,
                rate if rules.average_rate => backlog.saturating_mul(1 << RATE_SHIFT) / rate,
                time => wide_product(backlog, time) / THRESHOLD,
            };
            (delay, vars.delay)
        } else {
            (vars.delay, vars.old_delay)
        };
        let mut delta = config.increment(vars.probability, delay, old);
        // RFC 8033 §5.5: no jumps once many packets are dropped.
        if delta > i128::from(rules.one / 50) && vars.probability >= rules.one / 10 {
            delta = i128::from(rules.one / 100 * 2);
        }
        if rules.surcharge && delay > config.ticks(Duration::from_millis(250)) {
            delta += i128::from(rules.one / 50);
        }
        let (probability, overflowed) = config.moved(vars.probability, delta);
        vars.probability = probability;
        let kept = overflowed || (rules.decay_when_empty && delay == 0 && backlog != 0);
        if delay == 0 && old == 0 && !kept {
            vars.probability -= vars.probability / rules.decay;
        }
        vars.delay = delay;
        vars.old_delay = if estimated { old } else { delay };
        let half = config.ticks(config.target) / 2;
        if vars.probability == 0 && delay < half && old < half {
            // RFC 8033 §4.4: the congestion is over, the next burst may pass.
            if !rules.restart {
                vars.burst = config.ticks(config.max_burst);
            } else if !estimated || vars.estimate > 0 {
                *vars = Vars { delay: vars.delay, old_delay: vars.old_delay, ..config.fresh() };
            }
            // RFC 8033 §5.3: nothing to control.
            if config.on_off && delay == 0 && old == 0 {
                *vars = config.fresh();
            }
        }
    }

    /// Whether the controller wants to signal congestion on a packet of `bytes` that arrives behind `backlog` bytes.
    pub(crate) fn congested(
        &mut self,
        config: &PieConfig,
        backlog: u64,
        bytes: u32,
        random: &mut impl Random,
    ) -> bool {
        let rules = config.rules();
        let vars = self;
        if !vars.active || vars.burst > 0 {
            return false;
        }
        let last = if rules.current_delay || config.rate_estimator { vars.delay } else { vars.old_delay };
        // RFC 8033 §4.1: safeguards that keep the link busy.
        let small = last < config.ticks(config.target) / 2 && vars.probability < rules.one / 5;
        let tiny = match config.variant {
            PieVariant::Rfc8033 => backlog <= 2 * MEAN_PACKET,
            PieVariant::Linux => backlog < 2 * u64::from(config.mtu),
        };
        if small || tiny {
            return false;
        }
        let probability = if config.byte_mode && bytes <= config.mtu {
            u64::from(bytes) * (vars.probability / u64::from(config.mtu))
        } else {
            vars.probability
        };
        // RFC 8033 §5.4: neither early nor late drops in a row of independent draws.
        vars.accumulated = if probability == 0 { 0 } else { vars.accumulated.saturating_add(probability) };
        if vars.accumulated < rules.one / 100 * 85 {
            return false;
        }
        if vars.accumulated >= rules.one / 2 * 17 {
            if rules.clear_on_mark {
                vars.accumulated = 0;
            }
            return true;
        }
        let drawn = random.next_u64();
        let hit = match config.variant {
            PieVariant::Rfc8033 => scale_64(drawn, rules.one) < probability,
            PieVariant::Linux => drawn >> 8 < probability,
        };
        if hit {
            vars.accumulated = 0;
        }
        hit
    }

    /// Measures the departure at `now` of a packet of `bytes` that came at `came` and leaves `backlog` bytes behind.
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
        if !config.rate_estimator {
            vars.delay = if backlog == 0 { 0 } else { now.saturating_sub(came.as_nanos() >> rules.tick) };
            elapsed = vars.since.map_or(0, |last| now.saturating_sub(last));
            vars.since = Some(now);
        } else {
            // RFC 8033 §5.2: measure only while enough is queued for the link to be busy throughout.
            if vars.departed.is_none() && backlog >= THRESHOLD {
                (vars.departed, vars.since) = (Some(0), Some(now));
            }
            if let Some(departed) = &mut vars.departed {
                *departed += u64::from(bytes);
                let span = now.saturating_sub(vars.since.unwrap_or(now));
                if *departed >= THRESHOLD && span > 0 {
                    elapsed = span;
                    let sample = if rules.average_rate { (*departed << RATE_SHIFT) / span } else { span };
                    vars.estimate = match vars.estimate {
                        0 => sample,
                        average if rules.average_rate => average - (average >> 3) + (sample >> 3),
                        average => average - average / 4 + sample / 4,
                    };
                    vars.departed = if backlog < THRESHOLD { None } else { Some(0) };
                    if backlog >= THRESHOLD {
                        vars.since = Some(now);
                    }
                }
            }
        }
        if rules.burst_by_departure {
            vars.burst = vars.burst.saturating_sub(elapsed);
        }
    }
}

impl PieVariant {
    const fn rules(self) -> &'static Rules {
        match self {
            Self::Rfc8033 => &RFC8033,
            Self::Linux => &LINUX,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Rfc8033 => "rfc8033",
            Self::Linux => "linux",
        }
    }

    fn named(name: &'static str) -> Result<Self, ConfigError> {
        [Self::Rfc8033, Self::Linux]
            .into_iter()
            .find(|variant| variant.name() == name)
            .ok_or_else(|| ConfigError::new("variant", name, "rfc8033 or linux"))
    }
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

    pub(crate) const fn fresh(&self) -> Vars {
        Vars::new(self.ticks(self.max_burst), !self.on_off)
    }

    /// When an update is due first after `now`, for a queue made at the origin of the clock.
    pub(crate) fn first_update(&self, now: Instant) -> Instant {
        // Linux starts the timer with half a second, whatever tupdate is.
        let first = if self.rules().jiffies {
            jiffies::fires(Instant::ZERO, Duration::from_millis(500))
        } else {
            Instant::ZERO + self.tupdate
        };
        self.resumed(first, now)
    }

    /// When the update after that of `at` is due.
    pub(crate) fn next_update(&self, at: Instant) -> Instant {
        if self.rules().jiffies { jiffies::fires(at, self.tupdate) } else { at + self.tupdate }
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
        match self.variant {
            PieVariant::Rfc8033 => {
                let sum =
                    i128::from(gain(self.alpha)) * integral + i128::from(gain(self.beta)) * proportional;
                sum / (1 << shift)
            }
            // Linux shifts the gains, and its sum wraps at 64 bits.
            PieVariant::Linux => {
                let sum = i128::from(gain(self.alpha) >> shift) * integral
                    + i128::from(gain(self.beta) >> shift) * proportional;
                i128::from(wrap_64(sum))
            }
        }
    }

    /// The probability after an increment, and whether it hit the ceiling.
    fn moved(&self, probability: u64, delta: i128) -> (u64, bool) {
        match self.variant {
            PieVariant::Rfc8033 => {
                let one = i128::from(self.rules().one);
                let moved = (i128::from(probability) + delta).clamp(0, one);
                (u64::try_from(moved).unwrap_or(0), false)
            }
            // Linux only notices when 64 bits overflow, which is 256 times probability 1.
            PieVariant::Linux => match u64::try_from(i128::from(probability) + delta) {
                Ok(moved) => (moved, false),
                Err(_) if delta > 0 => (self.rules().one, true),
                Err(_) => (0, false),
            },
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
        let on_off = flag("onoff");
        if on_off && variant != PieVariant::Rfc8033 {
            return Err(ConfigError::new("onoff", "", "onoff with variant rfc8033 only"));
        }
        Ok(Self {
            variant,
            limit: number("limit", 1, u64::from(u32::MAX), 1000)?,
            target: time("target", 1, Duration::from_millis(15))?,
            tupdate: time("tupdate", 1_000, Duration::from_millis(15))?,
            alpha: number("alpha", 0, MAX_GAIN, 2)?,
            beta: number("beta", 0, MAX_GAIN, 20)?,
            max_burst: time("max_burst", 0, Duration::from_millis(150))?,
            ecn: flag("ecn"),
            byte_mode: flag("bytemode"),
            rate_estimator: flag("dq_rate_estimator"),
            on_off,
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
            update_at: None,
            stats: Stats::default(),
        }
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
    pub fn update(&mut self, now: Instant) {
        self.now = self.now.max(now);
        let mut at = *self.update_at.get_or_insert_with(|| self.config.first_update(self.now));
        let mut done = 0;
        while at <= self.now {
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
        self.update_at = Some(at);
    }

    fn update_once(&mut self) {
        self.vars.update(&self.config, self.queue.bytes());
    }

    /// Sets CE on an ECN-capable packet if marking is on and not too many would be marked (RFC 8033 §5.1).
    fn mark(&mut self, packet: &mut P) -> bool {
        if !self.config.ecn || self.vars.probability > self.config.rules().one / 10 {
            return false;
        }
        let already = packet.ecn() == Ecn::Ce;
        let carries = packet.set_ce();
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

/// `a * b`, or the largest number.
fn wide_product(a: u64, b: u64) -> u64 {
    u64::try_from(u128::from(a) * u128::from(b)).unwrap_or(u64::MAX)
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

    fn enqueue(&mut self, now: Instant, mut packet: P, drops: &mut impl Drops<P>) {
        self.update(now);
        let bytes = packet.len();
        self.stats.offered.add(bytes);
        let why = if self.queue.len() >= self.config.limit as usize {
            Some(DropReason::Overlimit)
        } else if self.vars.congested(&self.config, self.queue.bytes(), bytes, &mut self.random)
            && !self.mark(&mut packet)
        {
            Some(DropReason::Congested)
        } else {
            None
        };
        if let Some(why) = why {
            self.vars.accumulated = 0;
            self.stats.dropped_before.add(bytes);
            drops.dropped(packet, why);
            return;
        }
        self.stats.enqueued.add(bytes);
        self.queue.push_back(self.now, packet);
        // RFC 8033 §5.3: PIE begins when a third of the buffer is in use.
        if !self.vars.active && self.queue.len().saturating_mul(3) >= self.config.limit as usize {
            self.vars = Vars { active: true, ..self.config.fresh() };
        }
    }

    fn dequeue(&mut self, now: Instant, _drops: &mut impl Drops<P>) -> Option<P> {
        self.update(now);
        let queued = self.queue.pop_front()?;
        let bytes = queued.packet.len();
        self.vars.departed(&self.config, self.now, queued.at, bytes, self.queue.bytes());
        self.stats.dequeued.add(bytes);
        Some(queued.packet)
    }

    fn next_len(&self) -> Option<u32> {
        self.queue.front().map(|queued| queued.packet.len())
    }

    fn len(&self) -> usize {
        self.queue.len()
    }

    fn backlog(&self) -> u64 {
        self.queue.bytes()
    }

    fn stats(&self) -> Stats {
        self.stats
    }

    fn reconfigure(&mut self, now: Instant, config: PieConfig, drops: &mut impl Drops<P>) {
        self.update(now);
        let old = core::mem::replace(&mut self.config, config);
        if old.variant != config.variant || old.on_off != config.on_off {
            self.vars = config.fresh();
        }
        if old.tupdate != config.tupdate {
            let soon = config.next_update(self.now);
            self.update_at = self.update_at.map(|at| at.min(soon));
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
            default: "15ms",
            source: "RFC 8033 §4.2; Linux sch_pie",
            range: "1ns to 4294s",
            doc: "queue delay aimed at",
        },
        Parameter {
            name: "tupdate",
            unit: Unit::Time,
            default: "15ms",
            source: "RFC 8033 §4.2; Linux sch_pie",
            range: "1us to 4294s",
            doc: "time between updates of the drop probability",
        },
        Parameter {
            name: "alpha",
            unit: Unit::Integer,
            default: "2",
            source: "RFC 8033 §4.2 (0.125 per s); Linux sch_pie",
            range: "0 to 32",
            doc: "gain of the distance from the target, in sixteenths per second",
        },
        Parameter {
            name: "beta",
            unit: Unit::Integer,
            default: "20",
            source: "RFC 8033 §4.2 (1.25 per s); Linux sch_pie",
            range: "0 to 32",
            doc: "gain of the change of the delay, in sixteenths per second",
        },
        Parameter {
            name: "max_burst",
            unit: Unit::Time,
            default: "150ms",
            source: "RFC 8033 §4.4; Linux sch_pie",
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
            default: "nobytemode",
            source: "Linux sch_pie",
            range: "",
            doc: "scale the drop probability with the packet's length over the MTU",
        },
        Parameter {
            name: "dq_rate_estimator",
            unit: Unit::Flag { off: Some("no_dq_rate_estimator") },
            default: "no_dq_rate_estimator",
            source: "Linux sch_pie since 5.6",
            range: "",
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
    ],
};

/// RFC 8033 §5.2: DQ_THRESHOLD, 2^14 bytes.
const THRESHOLD: u64 = 16_384;
/// Linux keeps the departure rate with 8 binary places.
const RATE_SHIFT: u32 = 8;
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
