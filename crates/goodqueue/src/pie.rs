//! Proportional integral controller enhanced: `pie`.
//!
//! # What it does
//! PIE updates a drop probability every `tupdate`. The integral term (`alpha`) moves it in
//! proportion to the distance of the queue delay from `target`, the proportional term (`beta`) in
//! proportion to the change of the delay since the last update. Arriving packets are dropped with
//! that probability. Bursts shorter than `max_burst` pass. Small probabilities move in small steps.
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
//! delay   --> sojourn time of the packet sent last, or backlog over the measured departure rate
//! ```
//!
//! # Parameters
//! | name | meaning | unit | default | source of the default | range |
//! |---|---|---|---|---|---|
//! | `limit` | packets that the queue holds | packets | 1000p | Linux sch_pie | 1 to 4294967295 |
//! | `target` | target queue delay | time | 15ms; draft00, linux314, ns2, ns2_2014: 20ms; docsis: 10ms | RFC 8033 §4.2; Linux sch_pie; draft-pan-aqm-pie-00; RFC 8034 | 1ns to 4294967295us |
//! | `tupdate` | time between updates of the drop probability | time | 15ms; draft00, linux314, ns2, ns2_2014: 30ms; docsis: 16ms | RFC 8033 §4.2; Linux sch_pie; draft-pan-aqm-pie-00; RFC 8034 | 1us to 4294967295us |
//! | `alpha` | gain on the distance from the target, in 1/16 per second | number | 2; docsis: 4 | RFC 8033 §4.2 (0.125 per s); Linux sch_pie; RFC 8034 | 0 to 32; docsis: 0 to 64 |
//! | `beta` | gain on the change of the delay, in 1/16 per second | number | 20; docsis: 40 | RFC 8033 §4.2 (1.25 per s); Linux sch_pie; RFC 8034 | 0 to 32; docsis: 0 to 64 |
//! | `max_burst` | length of a burst that passes without drops | time | 150ms; draft00, linux314, ns2, ns2_2014: 100ms; docsis: 142ms | RFC 8033 §4.4; Linux sch_pie; draft-pan-aqm-pie-00; RFC 8034 | 0 to 4294967295us |
//! | `ecn` | mark ECN-capable packets instead of dropping them, up to a probability of 10 % | flag | noecn | Linux sch_pie | |
//! | `bytemode` | scale the drop probability by packet length over MTU | flag | nobytemode; docsis: bytemode | Linux sch_pie; RFC 8034 | |
//! | `dq_rate_estimator` | derive the delay from the measured departure rate, not from timestamps | flag | no_dq_rate_estimator; draft00, linux314, ns2, ns2_2014: dq_rate_estimator | Linux sch_pie since 5.6 | draft00, linux314, ns2, ns2_2014: always on; docsis: always off |
//! | `onoff` | start control when a third of the buffer is in use | flag | noonoff | FreeBSD ipfw(8); RFC 8033 §5.3: optional | variant rfc8033 |
//! | `dq_threshold` | bytes over which the departure rate is measured | bytes | 16384; draft00, linux314: 10000; ns2, ns2_2014: 15000 | RFC 8033 §5.2; Linux; draft-pan-aqm-pie-00; Järvinen and Kojo 2014 | 1 to 4294967295 |
//! | `bandwidth` | rate from which variant docsis derives the delay; others ignore it | rate | the link rate | RFC 8034: MSR and PEAK_RATE of the modem | 8bit or more |
//! | `variant` | `linux`: Linux 6.1 and 7.3, bit for bit. `rfc8033`: RFC 8033 in exact arithmetic. `draft00`: draft-pan-aqm-pie-00 of 2013. `linux314`: Linux 3.14 of 2014, in its 32-bit arithmetic. `ns2`: the code for ns-2 that may never leave its burst allowance. `ns2_2014`: the later code for ns-2 of 2014. `docsis`: RFC 8034, the PIE of cable modems | word | linux | | |
//!
//! Other variants, other defaults: `draft00`, `linux314`, `ns2` and `ns2_2014` have target 20 ms,
//! tupdate 30 ms, max_burst 100 ms and the estimator over 10000 (`ns2`, `ns2_2014`: 15000) bytes
//! (draft-pan-aqm-pie-00; Linux 3.14; Järvinen and Kojo 2014); `docsis` has 10 ms, 16 ms, 142 ms,
//! alpha 4, beta 40 and `bytemode` (RFC 8034).
//!
//! # Deviations
//! `rfc8033`: exact integer arithmetic, with probability 1 = 10^18 and time in nanoseconds. The
//! delay is the sojourn time of the last packet sent (0 when the queue is empty), unless
//! `dq_rate_estimator` selects RFC 8033 §5.2's estimate. De-randomisation (§5.4) and the limit on
//! increases (§5.5) are always on; activation at a third of the buffer (§5.3) needs `onoff`. No
//! drop is considered or accumulated while burst allowance is left. Updates are at multiples of
//! `tupdate` of the caller's clock.
//!
//! `linux`: the integers of Linux 6.1, with probability 1 = 2^56 - 1 and time in units of 64 ns.
//! Updates happen when the timer of a 1000 Hz kernel would fire if the queue had been created at
//! the origin of the caller's clock; the first comes half a second later. Linux's delay estimate
//! wraps at a backlog of 16 MiB; here it does not. In Linux, packets queued before a change to
//! `no_dq_rate_estimator` have no arrival time and seem to have arrived at boot; here they have
//! one. An `alpha` or `beta` of 0 is 0; tc 6.1 treats it as not given.
//!
//! `draft00`: the arithmetic of `rfc8033`, three levels of steps, independent drops, and none of
//! the safeguards. Only the last measurement of the departure rate counts.
//!
//! `linux314`: the integers of Linux 3.14, including the wraps of its 32-bit probability. Its
//! timers fire exactly at their jiffy.
//!
//! `ns2`: `draft00` with the safeguards of the ns-2 code, reconstructed from what is known of that
//! code. The measurement restarts at every update at which the probability and the delay are zero,
//! even if no measurement has succeeded yet. With default values PIE is therefore a FIFO at 2
//! Mbit/s, where ten packets take longer than `tupdate` (Järvinen and Kojo 2014). The probability
//! moves while burst allowance is left, as the draft says. Above 250 ms it rises by 2 % more per
//! update, as in Linux at that time.
//!
//! `ns2_2014`: the later ns-2 code by P. Natarajan and others, outside its DOCSIS mode. It has
//! three levels of steps, and doubles the step from a probability of 0.1 on, which may exceed 1.
//! The probability stays at 0 while burst allowance is left. The first arrival arms the burst
//! allowance, and so does the first arrival after 1.5 s of quiet. Above 200 ms the probability
//! rises by 2 % more per update. `limit` counts packets, where the code counts bytes by their mean
//! packet size. That mean is RFC 8033's; two such packets may wait before any drop.
//!
//! `docsis`: the delay is the backlog over `bandwidth`, without the token bucket of a modem. A
//! third of `limit` packets stands for a third of the buffer. `ecn` marks up to a probability of 10
//! %; RFC 8034 has no ECN.
//!
//! All: updates that are due between two calls are made at the later call, at most 2048 of them.
//! After 2048 updates the probability has reached its final value for a silent queue. A packet that
//! arrives with CE is not counted as marked.
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
pub(crate) mod evidence;
pub(crate) mod flow;
mod law;
mod rules;

pub use config::PieConfig;
pub use controller::{Arriving, Controller};
use law::catch_up;
pub(crate) use law::{Delays, Vars};
use rules::DelayFrom;
pub use rules::PieVariant;
pub(crate) use rules::{MEAN_PACKET, ONE};

use crate::config::{Build, Configure as _};
use crate::decision::{Evidence, FULL, LIMITS, Limit, Quantity, Question, Rule};
use crate::gauge::{Observation, Observe};
use crate::nesting::Inner;
use crate::packet::{Ecn, Packet};
use crate::qdisc::{DropReason, Drops, Lookahead, Qdisc, Stats};
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
    /// When the probability is updated next; 0: the first call will set it.
    update_at: Instant,
    /// Counters except those that the queue keeps.
    stats: Stats,
    tally: Tally,
    /// Most packets that an arrival found and joined.
    longest: usize,
    /// Bytes of the packet that was dequeued last, and of the one that the parent took ahead of
    /// time and keeps; 0: none.
    last: u32,
    ahead: u32,
}

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

    /// Adds the values that a discipline with a PIE per flow shows.
    pub(crate) fn show(&self, stats: &Stats, seen: &mut Observation) {
        seen.number("pkts_in", stats.enqueued.packets);
        seen.number("overlimit", self.overlimit);
        seen.number("overmemory", self.overmemory);
        seen.number("dropped", stats.dropped_before.packets);
        seen.number("ecn_mark", self.ecn_mark);
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

    /// Bytes of these packets. Linux counts the packet taken ahead only since 4.7.
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
        // Rule 1 of the contract: a time before the latest one counts as the latest.
        self.now = self.now.max(now);
        if self.update_at <= self.now {
            self.catch_up();
        }
    }

    // By default an update comes every 15 ms. All packets between two of them only compare the
    // clock.
    #[inline(never)]
    fn catch_up(&mut self) {
        let backlog = self.held_bytes();
        self.update_at = catch_up(&self.config, &mut self.vars, self.update_at, self.now, backlog);
    }

    // Once per busy period of a queue whose control sleeps in between.
    #[cold]
    fn begin(&mut self) {
        self.vars = Vars { active: true, ..self.config.fresh() };
    }

    /// Whether an arriving packet, for which no burst allowance is left, is to be dropped; marks it
    /// instead if it may.
    #[inline(never)]
    fn signals(&mut self, packet: &mut P) -> bool {
        // Here and not in `admit`, whose usual path stays short. Before the test, because the
        // packet that arms the allowance is the first of the burst.
        self.vars.arm(&self.config);
        let backlog = self.held_bytes();
        self.vars.may_signal()
            && self.vars.congested(&self.config, backlog, packet.len(), &mut self.random)
            && !self.mark(packet)
    }

    /// Drops an arriving packet.
    #[inline(never)]
    fn refuse(&mut self, packet: P, why: DropReason, drops: &mut impl Drops<P>) {
        // Also when the queue is full (Linux `pie_qdisc_enqueue()`).
        self.vars.lost_one();
        self.tally.dropped(why);
        self.stats.dropped_before.add(packet.len());
        drops.dropped(packet, why);
    }

    /// Sets CE on an ECN-capable packet if marking is on and not too many would be marked (RFC 8033
    /// §5.1).
    fn mark(&mut self, packet: &mut P) -> bool {
        // One part in ten, not ten parts in a hundred as in `may_mark`: Linux sch_pie and
        // sch_fq_pie round them differently.
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

    // Twice in the machine code, as `send` is: in line where no further call is needed, and behind
    // one elsewhere.
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
        // Linux compares before the packet is in the queue.
        if held > self.longest {
            self.longest = held;
        }
        self.queue.push_back(self.now, packet);
        // RFC 8033 §5.3: PIE starts when a third of the buffer is in use.
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
        let came = head.at;
        let bytes = head.packet.len();
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
        // A function that calls others only at its end saves no registers, so this case is kept
        // apart.
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
        // Variants differ in their units, `onoff` decides whether control has begun, and an
        // estimate is a time per `threshold` bytes.
        if old.variant != config.variant || old.on_off != config.on_off || old.threshold != config.threshold {
            self.vars = config.fresh();
        }
        // As in Linux, the running timer is kept, and the oldest packets are dropped.
        while self.queue.len() > config.limit as usize && self.drop_oldest(DropReason::Overlimit, drops) {}
    }

    fn config(&self) -> PieConfig {
        self.config
    }

    fn purge(&mut self, now: Instant, drops: &mut impl Drops<P>) {
        self.update(now);
        while self.drop_oldest(DropReason::Purged, drops) {}
        self.vars = self.config.after_reset(&self.vars);
    }
}

impl<P: Packet, R: Random> Lookahead<P> for Pie<P, R> {
    const RULES: &'static [&'static [Rule]] = &[evidence::RULES, LIMITS];

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

    fn evidence(&self, question: &Question<'_, P>) -> Evidence {
        let mut evidence = Evidence::from_kind(PieConfig::KIND.name);
        let about = &question.about;
        // The updates that the decision does first.
        let mut vars = self.vars;
        let backlog = self.held_bytes();
        if self.update_at <= about.now {
            catch_up(&self.config, &mut vars, self.update_at, about.now, backlog);
        }
        vars.observe(&self.config, about, backlog, question.packet.len(), &mut evidence);
        let limit = Limit {
            held: Quantity::Packets(self.held() as u64),
            allowed: Quantity::Packets(u64::from(self.config.limit)),
            rule: FULL,
            source: "RFC 8033 §4.1",
        };
        evidence.limit(about, DropReason::Overlimit, &limit);
        evidence
    }
}

impl<P: Packet, R: Random> Observe for Pie<P, R> {
    fn observe(&self, _now: Instant, seen: &mut Observation) {
        seen.fraction("prob", self.probability());
        seen.time("delay", self.queue_delay());
        // tc prints the rate only if it is estimated.
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

#[cfg(test)]
mod tests;
