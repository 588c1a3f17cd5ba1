//! The controller: how the probability moves, whom it hits, and what departures are measured for.

use super::config::{Departure, PieConfig};
use super::rules::{Arithmetic, Averaging, DelayFrom, MEAN_PACKET, PieVariant, Restart, Rules};
use crate::jiffies;
use crate::random::Random;
use crate::time::{Duration, Instant};

/// The controller's variables for one queue, times in ticks; a discipline with a PIE per flow has
/// one for each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Vars {
    pub(super) active: bool,
    /// How far the burst allowance is from being re-armed ([`Restart::AfterQuiet`]).
    pub(super) allowance: Allowance,
    /// True if ns-2 restarted the current measurement, which then counts from -1.
    pub(super) one_short: bool,
    pub(super) probability: u64,
    pub(super) accumulated: u64,
    pub(super) delay: u64,
    pub(super) old_delay: u64,
    pub(super) burst: u64,
    /// Since when departures are measured (with the estimator), or the last departure; for how long
    /// a `docsis` queue has been quiet.
    pub(super) since: u64,
    /// Bytes departed in the measurement under way.
    pub(super) departed: u64,
    /// The estimate: bytes × 2^`rate_shift` per tick, or ticks per `threshold` bytes. 0: none yet.
    pub(super) estimate: u64,
}

/// The burst allowance of [`Restart::AfterQuiet`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Allowance {
    /// The next arrival arms it.
    Due,
    /// It was armed.
    Armed,
    /// Armed, followed by this number of quiet updates.
    Quiet(u16),
}

/// Queue delays in ticks at an update, and at the one before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Delays {
    pub(crate) now: u64,
    pub(crate) before: u64,
}

/// In [`Vars`]: no time, no measurement.
pub(super) const NONE: u64 = u64::MAX;

impl Vars {
    pub(super) const fn new(burst: u64, allowance: Allowance, active: bool) -> Self {
        Self {
            active,
            allowance,
            one_short: false,
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
        // The division comes first, as in `fq_pie_qdisc_enqueue()`: `(MAX_PROB / 100) * ecn_prob`.
        config.ecn && self.probability <= config.rules().one / 100 * u64::from(percent)
    }

    /// Resets the accumulated probability after a drop.
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
            // Each departure changes `delay`, so the delay at the last update has a variable of its
            // own.
            DelayFrom::Either => (vars.delay, vars.old_delay),
            DelayFrom::Estimator => (config.estimated(vars.estimate, backlog), vars.delay),
            DelayFrom::LinkRate => (config.ticks(config.time_to_send(backlog)), vars.delay),
        };
        if protected {
            vars.probability = 0;
        } else {
            vars.probability =
                config.after_update(vars.probability, Delays { now: delay, before: old }, backlog);
        }
        vars.delay = delay;
        vars.old_delay = if config.delay_from() == DelayFrom::Either { delay } else { old };
        let target = config.ticks(config.target);
        let calm = if rules.calm_below_target { target } else { target / 2 };
        let quiet = vars.probability == 0 && delay < calm && old < calm;
        if rules.quiescent {
            vars.rest(config, quiet && vars.burst == 0);
        } else if rules.restart == Restart::AfterQuiet {
            vars.calm_down(config, quiet);
        } else if quiet {
            // RFC 8033 §4.4: the congestion is over, the next burst may pass.
            let estimated = config.delay_from() == DelayFrom::Estimator;
            match rules.restart {
                Restart::Never => vars.burst = config.ticks(config.max_burst),
                // Linux resets only after a measurement (`avg_dq_rate > 0`). Without this condition
                // a slow link, on which no measurement ends, would be reset for ever.
                Restart::AfterSuccess if estimated && vars.estimate == 0 => {}
                // Linux `pie_vars_init()` resets all but the two delays.
                _ => *vars = Vars { delay: vars.delay, old_delay: vars.old_delay, ..config.fresh() },
            }
            // RFC 8033 §5.3: nothing to control.
            if config.on_off && delay == 0 && old == 0 {
                *vars = config.fresh();
            }
        }
    }

    /// RFC 8034: a second of quiet ends the control.
    pub(super) fn rest(&mut self, config: &PieConfig, quiet: bool) {
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

    /// The first burst, and the first after 1.5 s of quiet, may pass.
    pub(super) fn arm(&mut self, config: &PieConfig) {
        if self.burst == 0 && self.allowance == Allowance::Due {
            self.allowance = Allowance::Armed;
            self.burst = config.ticks(config.max_burst);
        }
    }

    /// What follows an update at which the queue was `quiet`, or not.
    fn calm_down(&mut self, config: &PieConfig, quiet: bool) {
        if quiet && self.estimate > 0 {
            self.estimate = 0;
            if self.departed != NONE {
                // The ns-2 code sets the count to -1, its mark of no measurement, but leaves the
                // measurement on.
                (self.departed, self.one_short) = (0, true);
            }
        }
        self.allowance = match self.allowance {
            Allowance::Armed if quiet && self.burst == 0 => Allowance::Quiet(0),
            Allowance::Quiet(updates) if quiet && self.burst == 0 => {
                let enough = BURST_RESET.as_nanos() / config.tupdate.as_nanos().max(1);
                let updates = updates.saturating_add(1);
                if u64::from(updates) > enough { Allowance::Due } else { Allowance::Quiet(updates) }
            }
            Allowance::Quiet(_) => Allowance::Quiet(0),
            as_it_was => as_it_was,
        };
    }

    /// Returns false while no packet can be dropped: before control starts and while burst
    /// allowance is left.
    #[inline]
    pub(crate) const fn may_signal(&self) -> bool {
        self.active && self.burst == 0
    }

    /// Decides whether to signal congestion on a packet of `bytes` that arrives behind `backlog`
    /// bytes.
    #[inline]
    pub(crate) fn congested(
        &mut self,
        config: &PieConfig,
        backlog: u64,
        bytes: u32,
        random: &mut impl Random,
    ) -> bool {
        self.may_signal() && self.hits(config, backlog, bytes, random)
    }

    // No packet comes here while the burst allowance lasts.
    #[inline(never)]
    pub(super) fn hits(
        &mut self,
        config: &PieConfig,
        backlog: u64,
        bytes: u32,
        random: &mut impl Random,
    ) -> bool {
        let rules = config.rules();
        let vars = self;
        if rules.safeguards && (vars.is_calm(config) || config.is_few(backlog)) {
            return false;
        }
        let probability = config.of_packet(vars.probability, bytes);
        let hit = if rules.spaced {
            // RFC 8033 §5.4: neither early nor late drops in a row of independent draws.
            vars.accumulated = if probability == 0 { 0 } else { vars.accumulated.wrapping_add(probability) };
            if vars.accumulated < rules.spacing() {
                return false;
            }
            // Linux resets the sum of a forced hit where it drops the packet, so the sum survives a
            // hit that becomes a mark.
            if vars.accumulated >= rules.certain() {
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

    /// RFC 8033 §4.1: true if the delay and the probability are small, so that no packet is dropped
    /// and the link stays busy.
    #[inline]
    pub(super) fn is_calm(&self, config: &PieConfig) -> bool {
        let rules = config.rules();
        self.tested_delay(config) < config.ticks(config.target) / 2 && self.probability < rules.calm()
    }

    /// The delay that [`Self::is_calm`] compares with half of the target.
    #[inline]
    pub(super) fn tested_delay(&self, config: &PieConfig) -> u64 {
        let measured = config.delay_from() != DelayFrom::Either;
        if config.rules().current_delay || measured { self.delay } else { self.old_delay }
    }

    /// Measures the departure at `now` of a packet of `bytes` that arrived at `came` and leaves
    /// `backlog` bytes behind.
    #[inline]
    pub(crate) fn departed(
        &mut self,
        config: &PieConfig,
        now: Instant,
        came: Instant,
        bytes: u32,
        backlog: u64,
    ) {
        match config.departure {
            Departure::Ignored => {}
            Departure::Timed { tick, shrinks_burst } => {
                // Both times are cut to ticks before the subtraction, as Linux's
                // `psched_get_time()` does.
                let now = now.as_nanos() >> tick;
                // An empty queue has no delay, however long its last packet waited
                // (`pie_process_dequeue()`).
                self.delay = if backlog == 0 { 0 } else { now.saturating_sub(came.as_nanos() >> tick) };
                if shrinks_burst {
                    // Without a last departure, which is NONE, no time has elapsed since.
                    let elapsed = now.saturating_sub(core::mem::replace(&mut self.since, now));
                    self.burst = self.burst.saturating_sub(elapsed);
                }
            }
            Departure::Measured => {
                let rules = config.rules();
                let elapsed = self.measured(config, now.as_nanos() >> rules.tick, bytes, backlog);
                if rules.burst_by_departure {
                    self.burst = self.burst.saturating_sub(elapsed);
                }
            }
        }
    }

    // Only variants that estimate the departure rate come here; the others use timestamps.
    /// The time of a measurement that the departure at tick `now` ends, if it ends one.
    #[inline(never)]
    pub(super) fn measured(&mut self, config: &PieConfig, now: u64, bytes: u32, backlog: u64) -> u64 {
        let vars = self;
        let mut elapsed = 0;
        // RFC 8033 §5.2: measure only while enough is queued for the link to be busy throughout.
        if vars.departed == NONE && backlog >= config.threshold {
            (vars.departed, vars.since) = (0, now);
        }
        if vars.departed != NONE {
            vars.departed = vars.departed.saturating_add(u64::from(bytes));
            let departed = vars.departed.saturating_sub(u64::from(vars.one_short));
            let span = now.saturating_sub(vars.since);
            // A span of 0 ticks has no rate: the measurement goes on.
            if departed >= config.threshold && span > 0 {
                elapsed = span;
                vars.estimate = config.averaged(vars.estimate, departed, span);
                vars.one_short = false;
                let least = config.threshold + u64::from(config.rules().restart == Restart::AfterQuiet);
                // The ns-2 code starts a measurement at a backlog of at least the threshold, but
                // restarts one only above it.
                vars.departed = if backlog < least { NONE } else { 0 };
                if backlog >= least {
                    vars.since = now;
                }
            }
        }
        elapsed
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

    /// Returns a probability in the variant's units as a fraction of 1.
    pub(crate) fn fraction(&self, probability: u64) -> f64 {
        let one = self.rules().one;
        // Linux's probability can exceed 1, and so can those of `docsis` and `ns2_2014`.
        probability.min(one) as f64 / one as f64
    }

    pub(super) const fn rules(&self) -> &'static Rules {
        self.variant.rules()
    }

    pub(super) const fn ticks(&self, span: Duration) -> u64 {
        span.as_nanos() >> self.rules().tick
    }

    /// Returns true if control starts only when a third of the buffer is in use.
    pub(super) const fn waits(&self) -> bool {
        self.on_off || self.rules().quiescent
    }

    pub(super) fn delay_from(&self) -> DelayFrom {
        match self.rules().delay {
            DelayFrom::Either if self.rate_estimator => DelayFrom::Estimator,
            from => from,
        }
    }

    /// The delay of `backlog` bytes at the estimated departure rate.
    pub(super) fn estimated(&self, estimate: u64, backlog: u64) -> u64 {
        let rules = self.rules();
        let delay = match (estimate, rules.averaging) {
            (0, _) => 0,
            (time, Averaging::Time) => u128::from(backlog) * u128::from(time) / u128::from(self.threshold),
            (rate, Averaging::Rate { .. }) => (u128::from(backlog) << rules.rate_shift) / u128::from(rate),
        };
        u64::try_from(delay).unwrap_or(u64::MAX)
    }

    /// The estimate after one more measurement: `departed` bytes in `span` ticks, which is not 0.
    pub(super) fn averaged(&self, estimate: u64, departed: u64, span: u64) -> u64 {
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
            // Linux shifts the terms one by one, and so loses fractions of both.
            (average, Averaging::Rate { shift }) => average - (average >> shift) + (sample >> shift),
        }
    }

    /// An estimate in bytes per second.
    pub(super) fn bytes_per_second(&self, estimate: u64) -> u64 {
        let rules = self.rules();
        let ticks = u128::from(NANOS_PER_SECOND >> rules.tick);
        let rate = match (estimate, rules.averaging) {
            (0, _) => 0,
            (time, Averaging::Time) => u128::from(self.threshold) * ticks / u128::from(time),
            (rate, Averaging::Rate { .. }) => (u128::from(rate) * ticks) >> rules.rate_shift,
        };
        u64::try_from(rate).unwrap_or(u64::MAX)
    }

    /// RFC 8033 §4.1: true if `backlog` is at most two packets, which a link needs to stay busy.
    #[inline]
    pub(super) fn is_few(&self, backlog: u64) -> bool {
        match self.rules().arithmetic {
            // Linux compares with `<`, and with the MTU and Ethernet header for the mean packet.
            Arithmetic::Exact => backlog <= 2 * MEAN_PACKET,
            Arithmetic::Linux64 | Arithmetic::Linux32 => backlog < 2 * u64::from(self.mtu),
        }
    }

    /// How long the link takes for `backlog` bytes.
    pub(super) fn time_to_send(&self, backlog: u64) -> Duration {
        // A bandwidth of 0 must not divide.
        let rate = u128::from(self.bandwidth.as_bps().max(1));
        let nanos = u128::from(backlog) * 8 * u128::from(NANOS_PER_SECOND) / rate;
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// The probability for a packet of `bytes`.
    pub(crate) fn of_packet(&self, probability: u64, bytes: u32) -> u64 {
        let mtu = u64::from(self.mtu);
        let one = self.rules().one;
        if !self.byte_mode {
            // Linux's goes beyond 1, so that it soon drops without a draw.
            if self.rules().arithmetic == Arithmetic::Linux64 { probability } else { probability.min(one) }
        } else if self.variant == PieVariant::Docsis {
            let scaled = u128::from(probability) * u128::from(bytes) / u128::from(MEAN_PACKET);
            // RFC 8034 bounds the probability of a packet by PROB_LOW.
            u64::try_from(scaled).unwrap_or(u64::MAX).min(one / 100 * 85)
        } else if bytes <= self.mtu {
            // The division comes first, as in `pie_drop_early()`, where the product would not fit
            // in 64 bits.
            u64::from(bytes) * (probability / mtu)
        } else {
            probability
        }
    }

    pub(crate) fn draw(&self, probability: u64, random: &mut impl Random) -> bool {
        match self.rules().arithmetic {
            Arithmetic::Exact => scale_64(random.next_u64(), self.rules().one) < probability,
            // The kernel's probability has 56 bits. It draws 64 and shifts them.
            Arithmetic::Linux64 => random.next_u64() >> 8 < probability,
            Arithmetic::Linux32 => u64::from(random.next_u32()) < probability,
        }
    }

    /// The probability after an update without any delay.
    pub(super) fn faded(&self, probability: u64) -> u64 {
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
        match self.rules().restart {
            Restart::AfterQuiet => Vars::new(0, Allowance::Due, !self.waits()),
            _ => Vars::new(self.ticks(self.max_burst), Allowance::Armed, !self.waits()),
        }
    }

    /// The variables after a reset of a queue that had `before`.
    pub(crate) const fn after_reset(&self, before: &Vars) -> Vars {
        let fresh = self.fresh();
        if !matches!(self.variant, PieVariant::Linux | PieVariant::Linux314) {
            return fresh;
        }
        // Linux `pie_reset()` calls `pie_vars_init()`, which leaves these three as they are.
        Vars { probability: before.probability, delay: before.delay, old_delay: before.old_delay, ..fresh }
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
        // The first period of a kernel timer may differ from the following ones, which start at
        // steps of its coarser wheel.
        let second = self.next_update(due);
        if second > now {
            return second;
        }
        let period = self.next_update(second).since(second).as_nanos().max(1);
        let late = Duration::from_nanos(now.since(second).as_nanos() % period);
        self.next_update(now - late)
    }

    /// Returns the probability after an update that finds these delays and `backlog` queued bytes.
    pub(crate) fn after_update(&self, probability: u64, delays: Delays, backlog: u64) -> u64 {
        let rules = self.rules();
        let mut delta = self.increment(probability, delays.now, delays.before);
        // RFC 8033 §5.5: no jumps once many packets are dropped.
        if rules.capped && delta > i128::from(rules.one / 50) && probability >= rules.one / 10 {
            // Not the bound of the comparison: Linux rounds one as `MAX_PROB / (100 / 2)`, the
            // other as `(MAX_PROB / 100) * 2`.
            delta = i128::from(rules.one / 100 * 2);
        }
        let fades_below = self.ticks(rules.negligible);
        let nothing = |span: u64| if rules.negligible.is_zero() { span == 0 } else { span < fades_below };
        let fades = nothing(delays.now) && nothing(delays.before);
        if rules.surcharge.is_some_and(|bound| delays.now > self.ticks(bound)) && !fades {
            delta += i128::from(rules.one / 50);
        }
        let (moved, overflowed) = self.moved(probability, delta);
        // In Linux, a delay of 0 with packets queued is one that is too short to measure, not an
        // idle queue.
        let kept = overflowed || (rules.decay_when_empty && delays.now == 0 && backlog != 0);
        if fades && !kept { self.faded(moved) } else { moved }
    }

    /// How much the probability moves when the delay is `delay` after `old` (ticks).
    pub(super) fn increment(&self, probability: u64, delay: u64, old: u64) -> i128 {
        let rules = self.rules();
        let target = self.ticks(self.target);
        // RFC 8033 §4.2: the smaller the probability, the smaller the steps: /2, then /4 more for
        // every power of ten.
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
        // Rounded down per second before the factor, and shifted after it, as in Linux
        // `pie_calculate_probability()`. `Exact` loses nothing, since 10^9 divides its 1.
        let gain = |factor: u32| (u64::from(factor).saturating_mul(per_second)) >> 4;
        let integral = signed_gap(delay, target);
        let proportional = signed_gap(delay, old);
        let sum = |by: u32| {
            i128::from(gain(self.alpha) >> by) * integral + i128::from(gain(self.beta) >> by) * proportional
        };
        match rules.arithmetic {
            // RFC 8034 continues the steps: doubled from 0.1, times 8 from 1 and times 32 from 10.
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
    pub(super) fn moved(&self, probability: u64, delta: i128) -> (u64, bool) {
        let one = self.rules().one;
        let moved = i128::from(probability) + delta;
        let most = self.rules().most;
        let exact = self.rules().arithmetic == Arithmetic::Exact;
        match u64::try_from(moved) {
            Ok(fits) if fits <= most => (fits, false),
            _ if exact && delta > 0 => (most, false),
            // Linux `pie_calculate_probability()` skips the decay after an overflow.
            Ok(_) => (one, true),
            Err(_) if delta > 0 => (one, true),
            Err(_) => (0, false),
        }
    }
}

/// Does the updates of `vars` from `update_at` to `now`, for a queue of `backlog` bytes. Returns
/// when the next one is due.
pub(super) fn catch_up(
    config: &PieConfig,
    vars: &mut Vars,
    update_at: Instant,
    now: Instant,
    backlog: u64,
) -> Instant {
    let mut at = update_at;
    // The origin of the clock stands for a queue that has not been called yet.
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
            // clock advances.
            return config.resumed(next, now);
        }
        at = next;
    }
    at
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

/// Maps 64 uniform bits to `0..one`.
fn scale_64(drawn: u64, one: u64) -> u64 {
    u64::try_from((u128::from(drawn) * u128::from(one)) >> 64).unwrap_or(0)
}

/// RFC 8034: BURST_RESET_TIMEOUT.
const QUIET: Duration = Duration::from_secs(1);
/// The same in the code for ns-2 of 2014.
const BURST_RESET: Duration = Duration::from_millis(1500);
const NANOS_PER_SECOND: u64 = 1_000_000_000;
/// From certainty to nothing takes about 800 updates at the default gains.
const MAX_UPDATES: u32 = 2_048;
