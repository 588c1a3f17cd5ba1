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
//! RFC 9332 (2023), appendix A; RFC 9331; tc-dualpi2(8); behaviour of Linux 6.17
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
//! | `memlimit` | bytes of memory that both queues together hold | bytes | 2 x MTU x limit | Linux sch_dualpi2 | 1 or more |
//! | `truesize` | memory that each packet is charged, at least its length; 2304 for many network drivers, 1 to charge lengths | bytes | linux: as Linux allocates; others: the packet's length | Linux skb->truesize | 1 to 1073741824 |
//! | `target` | target delay of the classic queue | time | 15ms | RFC 9332 §A.1 | 0 to 4294967295us |
//! | `tupdate` | time between updates of the base probability | time | 16ms | RFC 9332 §A.1 | 1us to 4294967295us |
//! | `alpha` | gain on the distance from the target, in 1/256 per second | number | 41 | RFC 9332 §A.1 (0.16 per s) | 0 to 16777216 |
//! | `beta` | gain on the change of the delay, in 1/256 per second | number | 819 | RFC 9332 §A.1 (3.2 per s) | 0 to 16777216 |
//! | `step_thresh` | delay above which every packet of the low-latency queue is marked | time | 1ms | Linux sch_dualpi2; RFC 9332 §A.1 | 0 to 4294967295us |
//! | `coupling_factor` | mark probability of the low-latency queue, as a multiple of the base probability | number | 2 | RFC 9332 §A.1 | 1 to 255 |
//! | `classic_protection` | share of the link that the classic queue keeps, in per cent | number | 10 | Linux sch_dualpi2 | 0 to 100 |
//! | `overflow` | at overload, go on marking and let the queue overflow | flag | off | Linux sch_dualpi2 | |
//! | `drop_on_overload` | at overload, drop from both queues | flag | on | Linux sch_dualpi2; RFC 9332 §4.2 | |
//! | `variant` | `rfc9332`: RFC 9332; the controller uses the delay of the classic queue, and the low-latency queue has a ramp. `linux`: Linux 6.17; the controller uses the larger delay of both queues, and the low-latency queue has a step | word | rfc9332 | | |
//!
//! # Deviations
//! `rfc9332`: the controller uses the delay of the oldest classic packet. The native mark
//! probability of L rises from 0 at 0.8 × `step_thresh` to 1 at 1.2 × `step_thresh`, and applies
//! only if another packet is left in L. L marks are drawn at random; the RFC's pseudo-code spreads
//! them evenly. The scheduler weights the two queues; the RFC's shifts time.
//!
//! `linux`: the controller uses the larger delay of the two queues, and the native mark is a step
//! at `step_thresh`. Not compared with recordings, because Linux 6.1 has no `dualpi2`.
//!
//! Both: nothing is signalled while less than two packets of the largest size are queued. tc writes
//! `alpha` and `beta` as decimal numbers; here they are whole 256ths, as the kernel stores them.
//! `memlimit` counts packet lengths with `rfc9332`, unless `truesize` is set. A probability of 0
//! never signals. Missing: `step_thresh` in packets, `max_rtt`, `typical_rtt`, `drop_enqueue`,
//! `any_ect`. A flow that changes its ECN field from packet to packet may be reordered.
//!
//! # Cost
//! Constant per packet, plus dropped packets; at most 2048 missed updates per call.
//!
//! # Example
//! ```
//! use goodqueue::{Configure, Link, Settings, config::Value, dualpi2::DualPi2Config};
//! let config = DualPi2Config::from_settings(&Settings::new(), &Link::default()).unwrap();
//! println!("{:?}", config.to_settings());
//! assert_eq!(config.to_settings().get("memlimit"), Some(Value::Bytes(30_280_000)));
//! ```

mod account;
mod config;
#[cfg(test)]
mod tests;

pub use config::DualPi2Config;
use config::ONE;

use crate::account::{Account, Question};
use crate::config::Build;
use crate::gauge::{Gauge, Observation, Observe};
use crate::memory::Memory;
use crate::nesting::Inner;
use crate::packet::{Ecn, Packet};
use crate::qdisc::{DropReason, Drops, Lookahead, Qdisc, Stats};
use crate::queue::{Fifo, Queued};
use crate::random::Random;
use crate::time::{Duration, Instant};

/// The discipline `dualpi2`.
#[derive(Clone, Debug)]
pub struct DualPi2<P, R> {
    config: DualPi2Config,
    random: R,
    low_latency: Fifo<P>,
    classic: Fifo<P>,
    memory: Memory,
    /// The base probability p', in units of 10^-18.
    probability: u64,
    last_delay: Duration,
    /// Above 0 it is the turn of C.
    credit: i64,
    /// When the probability is updated next; set by the first call.
    update_at: Option<Instant>,
    stats: Stats,
    tally: Tally,
    now: Instant,
}

/// What Linux counts for `tc -s` beside the packets.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Tally {
    classic: u64,
    low_latency: u64,
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
}

impl<P: Packet, R: Random> DualPi2<P, R> {
    /// An empty pair of queues that draws from `random`.
    #[must_use]
    pub fn new(config: DualPi2Config, random: R) -> Self {
        Self {
            config,
            random,
            low_latency: Fifo::default(),
            classic: Fifo::default(),
            memory: Memory::new(config.buffers),
            probability: 0,
            last_delay: Duration::ZERO,
            credit: config.first_credit(),
            update_at: None,
            stats: Stats::default(),
            tally: Tally::default(),
            now: Instant::ZERO,
        }
    }

    /// The base probability p'.
    #[must_use]
    pub fn probability(&self) -> f64 {
        self.probability as f64 / ONE as f64
    }

    /// Does the updates that are due at `now`. Every call of the queue does so by itself.
    pub fn update(&mut self, now: Instant) {
        self.now = self.now.max(now);
        let period = self.config.tupdate;
        let mut at = *self.update_at.get_or_insert_with(|| {
            let phase = self.now.as_nanos() % period.as_nanos();
            self.now - Duration::from_nanos(phase) + period
        });
        let mut done = 0;
        while at <= self.now {
            let before = (self.probability, self.last_delay);
            self.update_once(at);
            done += 1;
            if done == MAX_UPDATES || (self.probability, self.last_delay) == before {
                // Further updates change nothing, or are too many for one call: only the phase of
                // the clock advances.
                let late = self.now.since(at).as_nanos() % period.as_nanos();
                at = self.now - Duration::from_nanos(late) + period;
                break;
            }
            at += period;
        }
        self.update_at = Some(at);
    }

    fn update_once(&mut self, at: Instant) {
        (self.probability, self.last_delay) = self.updated(at, (self.probability, self.last_delay));
    }

    /// Returns base probability and delay after an update at `at`, given those before.
    fn updated(&self, at: Instant, (probability, last_delay): (u64, Duration)) -> (u64, Duration) {
        let waited = |queue: &Fifo<P>| queue.front().map_or(Duration::ZERO, |queued| at.since(queued.at));
        let mut delay = waited(&self.classic);
        if self.config.linux {
            delay = delay.max(waited(&self.low_latency));
        }
        let gap = |a: Duration, b: Duration| i128::from(a.as_nanos()) - i128::from(b.as_nanos());
        let change = i128::from(self.config.alpha) * gap(delay, self.config.target)
            + i128::from(self.config.beta) * gap(delay, last_delay);
        let most = if self.config.overflow { self.config.saturation() } else { ONE };
        let moved =
            (i128::from(probability) + change.saturating_mul(PER_256_NANOS)).clamp(0, i128::from(most));
        (u64::try_from(moved).unwrap_or(0), delay)
    }

    /// Returns base probability and delay as the next call at `now` will see them.
    fn due(&self, now: Instant) -> (u64, Duration) {
        let mut state = (self.probability, self.last_delay);
        let mut at = self.update_at.unwrap_or(Instant::MAX);
        let mut done = 0;
        while at <= now && done < MAX_UPDATES {
            state = self.updated(at, state);
            at += self.config.tupdate;
            done += 1;
        }
        state
    }

    /// True with `probability`, and never with 0.
    fn roll(&mut self, probability: u64) -> bool {
        let drawn = (u128::from(self.random.next_u64()) * u128::from(ONE)) >> 64;
        drawn < u128::from(probability)
    }

    /// p'²: two draws.
    fn roll_twice(&mut self) -> bool {
        self.roll(self.probability) && self.roll(self.probability)
    }

    fn is_small(&self) -> bool {
        Qdisc::<P>::backlog(self) < 2 * u64::from(self.config.mtu)
    }

    fn is_overloaded(&self) -> bool {
        self.probability > self.config.saturation()
    }

    /// Returns the signal for a classic packet.
    fn classic_signal(&mut self, capable: bool) -> Signal {
        if self.is_small() || !self.roll_twice() {
            Signal::None
        } else if capable && !self.is_overloaded() {
            Signal::Mark
        } else {
            Signal::Drop
        }
    }

    /// Returns the signal for an L packet that waited for `sojourn`.
    fn low_latency_signal(&mut self, sojourn: Duration) -> Signal {
        if self.is_small() {
            return Signal::None;
        }
        if self.is_overloaded() {
            return if self.roll_twice() { Signal::Drop } else { Signal::Mark };
        }
        let coupled = self.probability.saturating_mul(u64::from(self.config.coupling)).min(ONE);
        let native = self.native(sojourn);
        match self.roll(coupled.max(native)) {
            true if native == ONE => Signal::StepMark,
            true => Signal::Mark,
            false => Signal::None,
        }
    }

    /// The mark probability of L's own AQM.
    fn native(&self, sojourn: Duration) -> u64 {
        let step = self.config.step.as_nanos();
        if self.config.linux {
            return if sojourn.as_nanos() > step { ONE } else { 0 };
        }
        if self.low_latency.is_empty() {
            return 0;
        }
        // RFC 9332 §A.1: a ramp from 0.8 to 1.2 ms.
        let (low, range) = (step / 5 * 4, step / 5 * 2);
        let above = sojourn.as_nanos().saturating_sub(low);
        if above >= range {
            return if sojourn.as_nanos() > low { ONE } else { 0 };
        }
        u64::try_from(u128::from(above) * u128::from(ONE) / u128::from(range.max(1))).unwrap_or(ONE)
    }

    /// Returns the next packet by weight, and whether it comes from L.
    fn next(&mut self) -> Option<(Queued<P>, bool)> {
        let (low_latency, classic) = (!self.low_latency.is_empty(), !self.classic.is_empty());
        if classic && (!low_latency || self.credit > 0) {
            let queued = self.classic.pop_front()?;
            self.forget(&queued.packet);
            if low_latency {
                self.charge(&queued.packet, i64::from(self.config.classic_share) - 100);
            }
            return Some((queued, false));
        }
        let Some(queued) = self.low_latency.pop_front() else {
            self.credit = self.config.first_credit();
            return None;
        };
        self.forget(&queued.packet);
        if classic {
            self.charge(&queued.packet, i64::from(self.config.classic_share));
        }
        Some((queued, true))
    }

    fn charge(&mut self, packet: &P, weight: i64) {
        let change = weight.saturating_mul(i64::from(packet.len().max(1)));
        self.credit = self.credit.saturating_add(change);
    }

    fn mark(&mut self, packet: &mut P) {
        if packet.ecn() != Ecn::Ce && packet.set_ce() {
            self.stats.marked.add(packet.len());
        }
    }

    /// Counts a packet that left.
    #[inline]
    fn forget(&mut self, packet: &P) {
        self.memory.leaves(self.config.buffers.of(packet, packet.len()));
    }

    /// Counts the memory again, after a change of the memory per packet.
    fn count_memory(&mut self) {
        self.memory = Memory::new(self.config.buffers);
        for queued in self.low_latency.iter().chain(self.classic.iter()) {
            self.memory.enters(self.config.buffers.of(&queued.packet, queued.packet.len()));
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

    fn drop_oldest(&mut self, why: DropReason, drops: &mut impl Drops<P>) -> bool {
        let Some((oldest, _)) = self.next() else { return false };
        self.stats.dropped_after.add(oldest.packet.len());
        drops.dropped(oldest.packet, why);
        true
    }
}

impl<P: Packet, R: Random> Build<P, R> for DualPi2<P, R> {
    fn build(config: DualPi2Config, _salt: u32, random: R) -> Self {
        Self::new(config, random)
    }
}

impl<P: Packet, R: Random> Qdisc<P> for DualPi2<P, R> {
    type Config = DualPi2Config;

    fn enqueue(&mut self, now: Instant, packet: P, drops: &mut impl Drops<P>) {
        self.update(now);
        let bytes = packet.len();
        self.stats.offered.add(bytes);
        let own = self.config.buffers.of(&packet, bytes);
        let then = (self.len().saturating_add(1), self.memory.used().saturating_add(own));
        if let Some(why) = self.excess(then.0, then.1) {
            self.stats.dropped_before.add(bytes);
            drops.dropped(packet, why);
            return;
        }
        self.stats.enqueued.add(bytes);
        self.tally.longest = self.tally.longest.max(then.0);
        self.tally.most_memory = self.tally.most_memory.max(then.1);
        self.memory.enters(own);
        let (queue, count) = match packet.ecn() {
            Ecn::Ect1 | Ecn::Ce => (&mut self.low_latency, &mut self.tally.low_latency),
            Ecn::Ect0 | Ecn::NotEct => (&mut self.classic, &mut self.tally.classic),
        };
        *count = count.wrapping_add(1);
        queue.push_back(self.now, packet);
    }

    fn dequeue(&mut self, now: Instant, drops: &mut impl Drops<P>) -> Option<P> {
        self.update(now);
        while let Some((mut queued, low_latency)) = self.next() {
            let signal = if low_latency {
                self.low_latency_signal(self.now.since(queued.at))
            } else {
                self.classic_signal(queued.packet.ecn().is_capable())
            };
            match signal {
                Signal::None => {}
                Signal::Mark => {
                    self.mark(&mut queued.packet);
                    self.tally.ecn_mark = self.tally.ecn_mark.wrapping_add(1);
                }
                Signal::StepMark => {
                    self.mark(&mut queued.packet);
                    self.tally.step_mark = self.tally.step_mark.wrapping_add(1);
                }
                Signal::Drop => {
                    self.stats.dropped_after.add(queued.packet.len());
                    drops.dropped(queued.packet, DropReason::Congested);
                    continue;
                }
            }
            self.stats.dequeued.add(queued.packet.len());
            return Some(queued.packet);
        }
        None
    }

    fn len(&self) -> usize {
        self.low_latency.len().saturating_add(self.classic.len())
    }

    fn backlog(&self) -> u64 {
        self.low_latency.bytes().saturating_add(self.classic.bytes())
    }

    fn stats(&self) -> Stats {
        self.stats
    }

    fn reconfigure(&mut self, now: Instant, config: DualPi2Config, drops: &mut impl Drops<P>) {
        self.update(now);
        let old = core::mem::replace(&mut self.config, config);
        if old.tupdate != config.tupdate {
            let soon = self.now + config.tupdate;
            self.update_at = self.update_at.map(|at| at.min(soon));
        }
        if old.classic_share != config.classic_share {
            self.credit = config.first_credit();
        }
        if old.buffers != config.buffers {
            self.count_memory();
        }
        while let Some(why) = self.excess(self.len(), self.memory.used())
            && self.drop_oldest(why, drops)
        {}
    }

    fn config(&self) -> DualPi2Config {
        self.config
    }

    fn purge(&mut self, now: Instant, drops: &mut impl Drops<P>) {
        self.update(now);
        while self.drop_oldest(DropReason::Purged, drops) {}
        (self.probability, self.last_delay) = (0, Duration::ZERO);
    }
}

impl<P: Packet, R: Random> Lookahead<P> for DualPi2<P, R> {
    fn account(&self, question: &Question<'_, P>) -> Account {
        self.told(question.packet, &question.about)
    }
}

impl<P: Packet, R: Random> Observe for DualPi2<P, R> {
    fn observe(&self, now: Instant, seen: &mut Observation) {
        let now = self.now.max(now);
        let waited = |queue: &Fifo<P>| queue.front().map_or(Duration::ZERO, |queued| now.since(queued.at));
        seen.fraction("prob", self.probability());
        seen.time("delay-c", waited(&self.classic));
        seen.time("delay-l", waited(&self.low_latency));
        seen.number("pkts-in-c", self.tally.classic);
        seen.number("pkts-in-l", self.tally.low_latency);
        seen.number("maxq", self.tally.longest as u64);
        seen.number("ecn-mark", self.tally.ecn_mark);
        seen.number("step-mark", self.tally.step_mark);
        seen.gauges.push(("credit", Gauge::Signed(self.credit)));
        seen.number("memory-used", self.memory.used());
        seen.number("max-memory-used", self.tally.most_memory);
        seen.number("memory-limit", self.config.memory_limit);
    }
}

impl<P: Packet> Inner<P> for DualPi2<P, crate::random::Source> {}

/// A gain of 1/256 per second times a nanosecond, in units of 10^-18: exact.
const PER_256_NANOS: i128 = 3_906_250;
const MAX_UPDATES: u32 = 2_048;
