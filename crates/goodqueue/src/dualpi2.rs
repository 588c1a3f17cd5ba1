//! DualPI2: two coupled queues, one for low-latency traffic and one for all other traffic.
//!
//! # What it does
//! Packets marked ECT(1) or CE go to the low-latency queue (L), all others to the classic queue
//! (C). One PI controller moves a base probability p' by the delay of the classic queue. Classic
//! packets are dropped or marked with probability p'², L packets are marked with `coupling_factor`
//! × p'. With these probabilities a scalable and a classic flow get about the same rate. L packets
//! that waited for longer than `step_thresh` are always marked. L is served first, but C keeps a
//! tenth of the link.
//!
//! # Reference
//! RFC 9332 (2023), appendix A; RFC 9331; tc-dualpi2(8); behaviour of Linux 7.3
//! `net/sched/sch_dualpi2.c`.
//!
//! # State
//! ```text
//! arrival --> ECT(1) or CE? --> L --\   weighted by credit: L 90, C 10
//!                       else --> C ---> departure: C: drop or mark with p'^2; L: mark with max(native, k p')
//! every tupdate: p' += alpha * (delay - target) + beta * (delay - last delay)
//! overload (k p' > 1): both drop with p'^2, C even if ECN-capable; the other packets of L are marked
//! ```
//!
//! # Parameters
//! | name | meaning | unit | default | source of the default | range |
//! |---|---|---|---|---|---|
//! | `limit` | packets that both queues together hold | packets | 10000p | Linux sch_dualpi2 | 1 to 16777216 |
//! | `memlimit` | bytes of memory that both queues together hold | bytes | 2 x MTU x limit, at most 4294967295 | Linux sch_dualpi2 | 1 or more |
//! | `truesize` | memory that each packet is charged, at least its length; 2304 for many network drivers, 1 to charge lengths | bytes | linux: as Linux allocates; others: the packet's length | Linux skb->truesize | 1 to 1073741824 |
//! | `target` | target delay of the classic queue | time | 15ms | RFC 9332 §A.1 | 0 to 4294967295us |
//! | `tupdate` | time between updates of the base probability | time | 16ms | RFC 9332 §A.1 | 1us to 4294967295us |
//! | `alpha` | gain on the distance from the target, in 1/256 per second | number | 41 | RFC 9332 §A.1 (0.16 per s) | 0 to 16777216 |
//! | `beta` | gain on the change of the delay, in 1/256 per second | number | 819 | RFC 9332 §A.1 (3.2 per s) | 0 to 16777216 |
//! | `step_thresh` | delay above which every packet of the low-latency queue is marked | time | 1ms | Linux sch_dualpi2; RFC 9332 §A.1 | 0 to 4294967295us |
//! | `step_thresh_packets` | packets in the low-latency queue above which each of its packets is marked, in place of a delay; tc writes `step_thresh 4p` | packets | a delay | Linux sch_dualpi2 | 0 to 4294967295; needs variant linux |
//! | `min_qlen_step` | packets in the low-latency queue from which the threshold applies to an arriving packet | packets | 0p | Linux sch_dualpi2 | 0 to 4294967295; needs variant linux |
//! | `max_rtt` | longest expected round-trip time; the controller follows from it | time | off; with typical_rtt: 6 x typical_rtt | tc-dualpi2(8) | 1us to 4294967295us |
//! | `typical_rtt` | typical round-trip time; the target follows from it | time | off; with max_rtt: max_rtt / 6 | tc-dualpi2(8) | 1us to 4294967295us |
//! | `any_ect` | ECT(0) goes to the low-latency queue, too | flag | l4s_ect | Linux sch_dualpi2 | needs variant linux |
//! | `drop_enqueue` | the controller drops and marks arriving packets, in place of departing ones | flag | drop_dequeue | Linux sch_dualpi2 | needs variant linux |
//! | `split_gso` | split aggregated packets; accepted without effect, since there are none here | flag | split_gso | Linux sch_dualpi2 | |
//! | `coupling_factor` | mark probability of the low-latency queue, as a multiple of the base probability | number | 2 | RFC 9332 §A.1 | 1 to 255 |
//! | `classic_protection` | share of the link that the classic queue keeps, in per cent | number | 10 | Linux sch_dualpi2 | 0 to 100 |
//! | `overflow` | at overload, go on marking and let the queue overflow | flag | off | Linux sch_dualpi2 | |
//! | `drop_on_overload` | at overload, drop from both queues | flag | on | Linux sch_dualpi2; RFC 9332 §4.2 | |
//! | `variant` | `linux`: Linux 7.3, bit for bit; the controller uses the larger delay of both queues, and the low-latency queue has a step. `rfc9332`: RFC 9332; the controller uses the delay of the classic queue, and the low-latency queue has a ramp | word | linux | | |
//!
//! # Deviations
//! `rfc9332`: the controller uses the delay of the oldest classic packet. The native mark
//! probability of L rises from 0 at 0.8 × `step_thresh` to 1 at 1.2 × `step_thresh`, and applies
//! only if another packet is left in L. L marks are drawn at random; the RFC's pseudo-code spreads
//! them evenly. The scheduler weights the two queues; the RFC's shifts time.
//!
//! `linux`: the controller uses the larger delay of the two queues, and the native mark is a step
//! at `step_thresh`, also below two packets. Probabilities have 32 bits, and a draw signals if it
//! is at most the probability, so that a probability of 0 signals once in 2^32 draws. A packet that
//! is dropped costs no credit. The change of the probability is added modulo 2^32. A class chosen
//! by the caller, as by `skb->priority`, picks the queue of a packet whose ECN field does not: 1 is
//! L, 2 is L without marks and drops. The timer runs at multiples of `tupdate`; in the kernel, at
//! the time of the set-up plus multiples of it ([`DualPi2::update_next_at`]).
//!
//! Both: the coupled AQM signals nothing while less than two packets of the largest size are
//! queued. tc writes `alpha` and `beta` as decimal numbers of 1/s; a number without a decimal point
//! is in 256ths, as the kernel stores them. `memlimit` counts packet lengths with `rfc9332`, unless
//! `truesize` is set; with `rfc9332` a probability of 0 never signals. `max_rtt` and `typical_rtt`
//! set `target`, `tupdate`, `alpha` and `beta` by the formulas of RFC 9332 §A.1, as tc does. A flow
//! that changes its ECN field from packet to packet may be reordered. Packets are never aggregates,
//! so `split_gso` has no effect.
//!
//! # Cost
//! Constant per packet, plus dropped packets; at most 2048 missed updates per call while packets
//! wait.
//!
//! # Example
//! ```
//! use goodqueue::{Configure, Link, Settings, config::Value, dualpi2::DualPi2Config};
//! let config = DualPi2Config::from_settings(&Settings::new(), &Link::default()).unwrap();
//! println!("{:?}", config.to_settings());
//! assert_eq!(config.to_settings().get("memlimit"), Some(Value::Bytes(30_280_000)));
//! ```

mod config;
mod evidence;
mod linux;
mod queues;
mod rfc9332;
mod rules;
#[cfg(test)]
mod tests;

pub use config::{DualPi2Config, DualPi2Variant};

use crate::config::Build;
use crate::decision::{Evidence, LIMITS, Question, Rule};
use crate::gauge::{Gauge, Observation, Observe};
use crate::memory::Memory;
use crate::nesting::Inner;
use crate::packet::{Ecn, Flow, Packet};
use crate::qdisc::{DropReason, Drops, Lookahead, Qdisc, Stats};
use crate::random::Random;
use crate::time::{Duration, Instant};
use queues::{Head, Held, Queues, Service};

/// The discipline `dualpi2`.
#[derive(Clone, Debug)]
pub struct DualPi2<P, R> {
    config: DualPi2Config,
    random: R,
    queues: Queues<P>,
    memory: Memory,
    pi: Pi,
    /// When the probability is updated next. [`UNSET`] until the first call.
    update_at: Instant,
    stats: Stats,
    tally: Tally,
    now: Instant,
}

/// The state of the PI controller.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Pi {
    /// The base probability p', in units of the variant: 10^-18, or 1/(2^32 - 1).
    probability: u64,
    /// Queue delay at the last update.
    last_delay: Duration,
}

/// What Linux counts for `tc -s` beside the packets.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Tally {
    /// Most packets queued at once, and most bytes.
    longest: usize,
    most_memory: u64,
    ecn_mark: u64,
    step_mark: u64,
}

/// Decision about a packet that is about to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Signal {
    None,
    Mark,
    /// A mark because L waited beyond its threshold.
    StepMark,
    Drop,
    /// A drop in place of such a mark, of a packet that cannot carry one.
    StepDrop,
}

impl<P: Packet + Flow, R: Random> DualPi2<P, R> {
    /// An empty pair of queues that draws from `random`.
    #[must_use]
    pub fn new(config: DualPi2Config, random: R) -> Self {
        Self {
            config,
            random,
            queues: Queues::new(config.first_credit()),
            memory: Memory::new(config.buffers),
            pi: Pi::default(),
            update_at: UNSET,
            stats: Stats::default(),
            tally: Tally::default(),
            now: Instant::ZERO,
        }
    }

    /// The base probability p'.
    #[must_use]
    pub fn probability(&self) -> f64 {
        self.pi.probability as f64 / self.config.one() as f64
    }

    /// Returns the probability as Linux's log has it (2^32 - 1 is 1 with `variant linux`), and the
    /// queue delay at the last update in nanoseconds.
    #[must_use]
    pub const fn raw(&self) -> (u64, u64) {
        (self.pi.probability, self.pi.last_delay.as_nanos())
    }

    /// Sets the time of the next update, as if the discipline had been created one `tupdate`
    /// before. Without a call the updates are at multiples of `tupdate`.
    pub const fn update_next_at(&mut self, at: Instant) {
        self.update_at = at;
    }

    /// Does the updates that are due at `now`. Every call of the queue does so by itself.
    #[inline]
    pub fn update(&mut self, now: Instant) {
        // Nearly every call finds time gone on and no update due. Two comparisons are all that it
        // pays; the cases are told apart in `catch_up`.
        if self.now <= now && now < self.update_at {
            self.now = now;
        } else {
            self.catch_up(now);
        }
    }

    /// Sets the clock, and does the updates that are due. Few packets find one.
    #[cold]
    fn catch_up(&mut self, now: Instant) {
        // Rule 1 of the contract: a time before the latest one counts as the latest.
        self.now = self.now.max(now);
        if self.update_at == UNSET {
            // Multiples of `tupdate` do not depend on when the first packet comes, so a replay and
            // a simulation update at the same times.
            let phase = self.now.as_nanos() % self.config.tupdate.as_nanos();
            self.update_at = self.now - Duration::from_nanos(phase) + self.config.tupdate;
        }
        (self.pi, self.update_at) = self.after_updates(self.update_at, self.now);
    }

    /// Returns the state after the updates from `at` to `now`, and the time of the next one.
    fn after_updates(&self, mut at: Instant, now: Instant) -> (Pi, Instant) {
        let period = self.config.tupdate;
        let mut state = self.pi;
        let mut done = 0;
        while at <= now {
            let before = state;
            state = self.updated(at, before);
            at += period;
            done += 1;
            let is_idle = self.queues.len() == 0 && before.last_delay.is_zero();
            if is_idle || done == MAX_UPDATES {
                let left = if at > now { 0 } else { now.since(at).as_nanos() / period.as_nanos() + 1 };
                at += Duration::from_nanos(period.as_nanos().saturating_mul(left));
                if is_idle {
                    // Each update without a delay lowers the probability by the same amount.
                    let step = before.probability.saturating_sub(state.probability);
                    state.probability = state.probability.saturating_sub(step.saturating_mul(left));
                }
                break;
            }
        }
        (state, at)
    }

    /// Returns the state after an update at `at`, given the one before.
    fn updated(&self, at: Instant, before: Pi) -> Pi {
        let since = |front: Option<Instant>| front.map_or(Duration::ZERO, |came| at.since(came));
        let classic = since(self.queues.classic.front().map(|queued| queued.at));
        let low_latency = since(self.queues.low_latency.front().map(|queued| queued.at));
        match self.config.variant {
            DualPi2Variant::Rfc9332 => Pi {
                probability: self.config.rfc_updated(classic, before.probability, before.last_delay),
                last_delay: classic,
            },
            DualPi2Variant::Linux => {
                // Linux controls by the longer delay of both queues (`calculate_probability()`).
                let delay = classic.max(low_latency);
                let probability = self.config.linux_updated(delay, before.probability, before.last_delay);
                Pi { probability, last_delay: delay }
            }
        }
    }

    /// Returns the state as the next call at `now` will see it.
    fn due(&self, now: Instant) -> Pi {
        if self.update_at == UNSET { self.pi } else { self.after_updates(self.update_at, now).0 }
    }

    /// True if `backlog` bytes are too few for a signal.
    const fn is_small(&self, backlog: u64) -> bool {
        // Linux `must_drop()`: two packets are no standing queue.
        backlog < 2 * self.config.mtu as u64
    }

    /// Returns the packet whose turn it is.
    #[inline]
    fn head(&mut self) -> Option<Head> {
        let head = self.queues.head(self.config.weights());
        if head.is_none() {
            // As in Linux, two empty queues start anew.
            self.queues.credit = self.config.first_credit();
        }
        head
    }

    /// Removes the oldest packet of a queue.
    #[inline]
    fn take(&mut self, service: Service) -> Option<P> {
        let held = self.queues.queue(service).pop_front()?.packet;
        self.memory.leaves(held.memory);
        Some(held.packet)
    }

    /// Returns the queue for an arriving packet.
    fn service(&self, packet: &P) -> Service {
        match (self.config.variant, packet.ecn()) {
            (DualPi2Variant::Linux, _) => self.linux_service(packet),
            (DualPi2Variant::Rfc9332, Ecn::Ect1 | Ecn::Ce) => Service::LowLatency,
            (DualPi2Variant::Rfc9332, Ecn::Ect0 | Ecn::NotEct) => Service::Classic,
        }
    }

    /// Returns the next packet that is not dropped, by the rules of RFC 9332.
    fn next_by_rfc(&mut self, drops: &mut impl Drops<P>) -> Option<P> {
        loop {
            let head = self.head()?;
            self.charge(head);
            let signal = self.rfc_signal(head);
            if let Some(why) = signal.reason() {
                self.lose(head.service, why, drops);
                continue;
            }
            self.mark_head(head, signal);
            return self.take(head.service);
        }
    }

    /// Returns the next packet that is not dropped, by the rules of Linux.
    #[inline]
    fn next_by_linux(&mut self, drops: &mut impl Drops<P>) -> Option<P> {
        loop {
            let head = self.head()?;
            let coupled = if self.config.drop_enqueue {
                Signal::None
            } else {
                // The backlog is that behind the packet, which has left its queue in the kernel.
                let behind = self.queues.bytes().saturating_sub(u64::from(head.bytes));
                self.linux_signal(head.service, head.ecn, behind)
            };
            let native = if head.steps && coupled != Signal::Drop {
                // Only a packet in L has `steps`, so the head is one of its packets.
                let behind = self.queues.low_latency.len().saturating_sub(1);
                self.linux_step(head.ecn, self.now.since(head.at), behind)
            } else {
                Signal::None
            };
            let is_signal = coupled != Signal::None || native != Signal::None;
            if is_signal && !self.signals(head, [coupled, native], drops) {
                // Dropped packets cost no credit.
                continue;
            }
            self.charge(head);
            return self.take(head.service);
        }
    }

    /// Drops the packet whose turn it is, or marks it and returns true.
    #[cold]
    fn signals(&mut self, head: Head, signals: [Signal; 2], drops: &mut impl Drops<P>) -> bool {
        let [coupled, native] = signals;
        if let Some(why) = coupled.reason().or(native.reason()) {
            self.lose(head.service, why, drops);
            return false;
        }
        self.mark_head(head, coupled);
        self.mark_head(head, native);
        true
    }

    #[inline]
    fn charge(&mut self, head: Head) {
        // Most packets find the other queue empty.
        if head.change != 0 {
            self.queues.credit = self.queues.credit.saturating_add(head.change);
        }
    }

    /// Marks the packet whose turn it is, if the signal is a mark.
    fn mark_head(&mut self, head: Head, signal: Signal) {
        if signal == Signal::None {
            return;
        }
        if let Some(held) = self.queues.queue(head.service).front_mut() {
            mark(&mut held.packet, signal, self.config.variant, &mut self.stats, &mut self.tally);
        }
    }

    /// Drops the oldest packet of a queue.
    fn lose(&mut self, service: Service, why: DropReason, drops: &mut impl Drops<P>) {
        if let Some(packet) = self.take(service) {
            self.stats.dropped_after.add(packet.len());
            drops.dropped(packet, why);
        }
    }

    fn excess(&self, packets: usize, memory: u64) -> Option<DropReason> {
        if packets > self.config.limit as usize {
            Some(DropReason::Overlimit)
        } else if memory > self.config.memory_limit {
            Some(DropReason::Overmemory)
        } else {
            None
        }
    }

    /// Drops a packet to make room or to end: of C as long as it has any, whoever's turn it is
    /// (Linux `dualpi2_change()`). Returns false if there is none.
    fn drop_one(&mut self, why: DropReason, drops: &mut impl Drops<P>) -> bool {
        let service = if self.queues.classic.is_empty() { Service::LowLatency } else { Service::Classic };
        let was_empty = self.queues.len() == 0;
        self.lose(service, why, drops);
        !was_empty
    }
}

/// Marks a packet if the signal is a mark and the packet can carry it.
fn mark<P: Packet>(
    packet: &mut P,
    signal: Signal,
    variant: DualPi2Variant,
    stats: &mut Stats,
    tally: &mut Tally,
) {
    let (marks, steps) = match signal {
        Signal::Mark => (1, 0),
        // Linux counts this mark twice.
        Signal::StepMark => (u64::from(variant == DualPi2Variant::Linux), 1),
        Signal::None | Signal::Drop | Signal::StepDrop => return,
    };
    let before = packet.ecn();
    if !before.is_capable() {
        return;
    }
    if before != Ecn::Ce && packet.set_ce() {
        stats.marked.add(packet.len());
    }
    tally.ecn_mark = tally.ecn_mark.wrapping_add(marks);
    tally.step_mark = tally.step_mark.wrapping_add(steps);
}

impl<P: Packet + Flow, R: Random> Build<P, R> for DualPi2<P, R> {
    fn build(config: DualPi2Config, _salt: u32, random: R) -> Self {
        Self::new(config, random)
    }
}

impl<P: Packet + Flow, R: Random> Qdisc<P> for DualPi2<P, R> {
    type Config = DualPi2Config;

    #[inline]
    fn enqueue(&mut self, now: Instant, mut packet: P, drops: &mut impl Drops<P>) {
        self.update(now);
        let bytes = packet.len();
        let memory = self.config.buffers.memory_of(&packet, bytes);
        // Neither sum can overflow: all these packets are in memory.
        let then = (self.len().wrapping_add(1), self.memory.used().wrapping_add(memory));
        if let Some(why) = self.excess(then.0, then.1) {
            self.stats.dropped_before.add(bytes);
            drops.dropped(packet, why);
            return;
        }
        let service = self.service(&packet);
        if self.config.drop_enqueue {
            let signal = self.linux_signal(service, packet.ecn(), self.queues.bytes());
            if let Some(why) = signal.reason() {
                self.stats.dropped_before.add(bytes);
                drops.dropped(packet, why);
                return;
            }
            mark(&mut packet, signal, self.config.variant, &mut self.stats, &mut self.tally);
        }
        // Seldom exceeded, so that most packets store nothing here.
        if then.0 > self.tally.longest {
            self.tally.longest = then.0;
        }
        if then.1 > self.tally.most_memory {
            self.tally.most_memory = then.1;
        }
        self.memory.enters(memory);
        let steps = service == Service::LowLatency
            && self.queues.low_latency.len() >= self.config.min_qlen_step as usize;
        self.queues.queue(service).push_back(self.now, Held { packet, memory, service, steps });
    }

    #[inline]
    fn dequeue(&mut self, now: Instant, drops: &mut impl Drops<P>) -> Option<P> {
        self.update(now);
        match self.config.variant {
            DualPi2Variant::Rfc9332 => self.next_by_rfc(drops),
            DualPi2Variant::Linux => self.next_by_linux(drops),
        }
    }

    fn len(&self) -> usize {
        self.queues.len()
    }

    fn backlog(&self) -> u64 {
        self.queues.bytes()
    }

    fn stats(&self) -> Stats {
        self.queues.complete(self.stats)
    }

    fn reconfigure(&mut self, now: Instant, config: DualPi2Config, drops: &mut impl Drops<P>) {
        self.update(now);
        let old = core::mem::replace(&mut self.config, config);
        if old.variant != config.variant {
            // The variants have probabilities of different units.
            self.pi = Pi::default();
        }
        // Linux leaves its timer as it was set.
        if old.tupdate != config.tupdate && config.variant == DualPi2Variant::Rfc9332 {
            let soon = self.now + config.tupdate;
            // An update that was planned at a slower pace may be far away.
            self.update_at = self.update_at.min(soon);
        }
        if old.classic_share != config.classic_share {
            self.queues.credit = config.first_credit();
        }
        if old.buffers != config.buffers {
            self.memory = Memory::new(config.buffers);
            let charge = |packet: &P| config.buffers.memory_of(packet, packet.len());
            self.memory.enters(self.queues.charge_again(charge));
        }
        while let Some(why) = self.excess(self.len(), self.memory.used()) {
            if !self.drop_one(why, drops) {
                break;
            }
        }
    }

    fn config(&self) -> DualPi2Config {
        self.config
    }

    fn purge(&mut self, now: Instant, drops: &mut impl Drops<P>) {
        self.update(now);
        while self.drop_one(DropReason::Purged, drops) {}
        self.queues.credit = self.config.first_credit();
        let last_delay = match self.config.variant {
            // `dualpi2_reset()` leaves the delay of the last update.
            DualPi2Variant::Linux => self.pi.last_delay,
            DualPi2Variant::Rfc9332 => Duration::ZERO,
        };
        self.pi = Pi { probability: 0, last_delay };
    }
}

impl<P: Packet + Flow, R: Random> Lookahead<P> for DualPi2<P, R> {
    const RULES: &'static [&'static [Rule]] = &[rules::RULES, LIMITS];

    fn evidence(&self, question: &Question<'_, P>) -> Evidence {
        self.evidence_about(question.packet, &question.about)
    }
}

impl<P: Packet + Flow, R: Random> Observe for DualPi2<P, R> {
    fn observe(&self, now: Instant, seen: &mut Observation) {
        let now = self.now.max(now);
        let waited = |front: Option<Instant>| front.map_or(Duration::ZERO, |came| now.since(came));
        seen.fraction("prob", self.probability());
        seen.time("delay-c", waited(self.queues.classic.front().map(|queued| queued.at)));
        seen.time("delay-l", waited(self.queues.low_latency.front().map(|queued| queued.at)));
        seen.number("pkts-in-c", self.queues.classic.entered().packets);
        seen.number("pkts-in-l", self.queues.low_latency.entered().packets);
        seen.number("maxq", self.tally.longest as u64);
        seen.number("ecn-mark", self.tally.ecn_mark);
        seen.number("step-mark", self.tally.step_mark);
        seen.gauges.push(("credit", Gauge::Signed(self.queues.credit)));
        seen.number("memory-used", self.memory.used());
        seen.number("max-memory-used", self.tally.most_memory);
        seen.number("memory-limit", self.config.memory_limit);
    }
}

impl<P: Packet + Flow> Inner<P> for DualPi2<P, crate::random::Source> {}

// At the default period, 33 s in which packets wait and nobody calls.
const MAX_UPDATES: u32 = 2_048;

/// No update is planned yet. The first one is always later than time 0.
const UNSET: Instant = Instant::ZERO;
