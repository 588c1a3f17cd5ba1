//! The two queues of a DOCSIS 3.1 cable modem, with queue protection: `docsis`.
//!
//! # What it does
//! Packets marked ECT(1) or CE, and those with the DSCP 45, go to the low-latency queue (L), all
//! others to the classic queue (C). C has the PIE of cable modems and drops packets. L marks
//! arriving packets by its own delay, or by the root of the drop probability of C, so that a
//! scalable and a classic flow get about the same rate. Queue protection keeps a score for each
//! flow of L. While the delay of L is above a threshold, packets of flows with a high score go to C
//! in place of L.
//!
//! # Reference
//! RFC 9957 (2026), the algorithm of queue protection; RFC 9332, the framework of coupled queues;
//! RFC 8034, PIE for cable modems; RFC 9956, the DSCP of flows that build no queue; CableLabs
//! CM-SP-MULPIv3.1, Annexes M (PIE), N (immediate AQM), O (queue delays) and P (queue protection).
//!
//! # State
//! ```text
//! arrival --> ECT(1), CE or NQB? --> mark with max(ramp, k sqrt(p)) --> sanctioned? --no--> L --\ weighted:
//!                       else -------------------------------------------------yes----> C --/ L 230, C 26
//! ramp:    0 at MINTH to 1 at MAXTH, by the delay of L = (backlog + packet) / bandwidth
//! score:   += ramp x bytes / aging for each packet of the flow; shrinks by 1 s per second
//! sanction: delay > critical_delay and delay x score > critical_delay x critical_score
//! C:       drop with p x bytes / 1024 at arrival; p by RFC 8034 from the delay of C
//! ```
//!
//! # Parameters
//! | name | meaning | unit | default | source of the default | range |
//! |---|---|---|---|---|---|
//! | `bandwidth` | rate of both queues together, from which both delays are computed | rate | the link rate | RFC 9957 §4.1: MAX_RATE | 8bit or more |
//! | `classic_limit` | bytes that the classic queue holds | bytes | 100ms at bandwidth, at least 4000 | MULPIv3.1 C.1.2.17: target buffer | 1 or more |
//! | `ll_limit` | bytes that the low-latency queue holds | bytes | 10ms at bandwidth, at least 40000 | MULPIv3.1 C.2.2.9.11.4: target buffer | 1 or more |
//! | `target` | target delay of the classic queue | time | 10ms | RFC 8034 appendix A: LATENCY_TARGET | 1ns to 4294967295us |
//! | `tupdate` | time between updates of the drop probability | time | 16ms | RFC 8034 appendix A: INTERVAL | 1us to 4294967295us |
//! | `alpha` | gain on the distance from the target, in 1/16 per second | number | 4 | RFC 8034 appendix A: A (0.25 per s) | 0 to 64 |
//! | `beta` | gain on the change of the delay, in 1/16 per second | number | 40 | RFC 8034 appendix A: B (2.5 per s) | 0 to 64 |
//! | `max_burst` | time without drops after the first drop of a burst | time | 142ms | RFC 8034 appendix A: MAX_BURST | 0 to 4294967295us |
//! | `max_th` | delay from which every packet of the low-latency queue is marked; slow links mark later | time | 1ms | RFC 9957 §4.1: MAXTH_us | 0 to 4294967295us |
//! | `lg_range` | base-2 logarithm of the length of the marking ramp in nanoseconds | number | 19 | RFC 9957 §4.1: LG_RANGE (0.52 ms) | 0 to 25 |
//! | `coupling_factor` | mark probability of L, as a multiple of the root of the drop probability of C | number | 2 | MULPIv3.1 TLV 70/71.42.5; RFC 9332 §2.1 | 1 to 25 |
//! | `weight` | share of the link for the low-latency queue while both are busy, in 256ths | number | 230 | MULPIv3.1 TLV 70/71.42.6 | 1 to 255 |
//! | `nqb` | packets with the DSCP 45 (NQB) go to the low-latency queue, too | flag | nqb | RFC 9956: DSCP 45 | |
//! | `qprotect` | queue protection moves packets of flows with a high score to the classic queue | flag | qprotect | RFC 9957 §4.1: QPROTECT_ON | |
//! | `critical_delay` | delay of the low-latency queue above which packets are moved | time | end of the marking ramp | RFC 9957 §4.1: CRITICALqL_us | 0 to 4294967295us |
//! | `critical_score` | score above which a flow's packets are moved at the critical delay; less at a longer one | time | 4ms | RFC 9957 §4.1: CRITICALqLSCORE_us | 0 to 5s |
//! | `lg_aging` | base-2 logarithm of the marked bytes per second that leave the score of a flow unchanged | number | 19 | RFC 9957 §4.1: LG_AGING | 1 to 30 |
//! | `attempts` | buckets that may hold the score of a flow, before all other flows share one | number | 2 | RFC 9957 §4.1: ATTEMPTS | 0 to 6 |
//!
//! # Deviations
//! The documents describe both directions of a cable link. Here a frame has the bytes that the
//! caller counts, and the rate is constant. The delay of L is its backlog over `bandwidth`, as in
//! the termination system (Annex O, `qdelayCoupledL`). A modem uses a virtual queue in its place,
//! because its backlog also waits for grants. The delay of C is its backlog over the rate that L
//! left in the last period.
//!
//! The scheduler has a credit, as that of `dualpi2`; DOCSIS leaves the scheduler to the vendor. The
//! hash of a flow identifies its bucket, so that two flows with the same 32 bits share one. A
//! score counts nanoseconds (T_RES = 1 ns). L drops a packet for which it has no room; the
//! documents keep room for one frame of 2000 bytes. `classic_limit` is at least two such frames.
//! `coupling_factor` is a whole number; DOCSIS has tenths. C does not mark, as in RFC 8034.
//! Updates are at multiples of `tupdate` of the caller's clock.
//!
//! A packet that is moved to C keeps the mark that it got in L. It may be reordered with packets of
//! its flow in L.
//!
//! # Cost
//! Constant per packet: two buckets are looked at. At most 2048 missed updates per call. 33 buckets
//! of 16 bytes.
//!
//! # Example
//! ```
//! use goodqueue::{Configure, Link, Settings, docsis::DocsisConfig};
//! let config = DocsisConfig::from_settings(&Settings::new(), &Link::default()).unwrap();
//! println!("{:?}", config.to_settings());
//! assert_eq!(config.to_settings().flag("qprotect"), Some(true));
//! ```

mod classic;
mod config;
mod evidence;
mod protection;
mod rules;
#[cfg(test)]
mod tests;

pub use config::DocsisConfig;

use crate::config::Build;
use crate::decision::{Evidence, LIMITS, Question, Rule};
use crate::gauge::{Gauge, Observation, Observe};
use crate::nesting::Inner;
use crate::packet::{Ecn, Flow, Packet};
use crate::pie::ONE;
use crate::qdisc::{Count, DropReason, Drops, Lookahead, Qdisc, Stats};
use crate::queue::{Fifo, Queued};
use crate::random::Random;
use crate::time::{Duration, Instant};
use classic::ClassicAqm;
use config::time_to_send;
use protection::{Arriving, Protection};

/// The discipline `docsis`.
#[derive(Clone, Debug)]
pub struct Docsis<P, R> {
    config: DocsisConfig,
    salt: u32,
    random: R,
    low_latency: Fifo<P>,
    classic: Fifo<P>,
    aqm: ClassicAqm,
    protection: Protection,
    /// Bytes that left the low-latency queue since the last update.
    sent_by_l: u64,
    /// Mark probabilities of the low-latency queue since the last mark, in units of 2^-60.
    marks_due: u64,
    /// Above 0 it is the turn of the classic queue.
    credit: i64,
    /// Time of the next update; set by the first call.
    update_at: Option<Instant>,
    stats: Stats,
    tally: Tally,
    now: Instant,
}

/// Counters beside those of [`Stats`].
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Tally {
    classic: u64,
    low_latency: u64,
    /// Packets marked by the immediate AQM.
    marked: u64,
    /// Packets of the low-latency queue that queue protection moved to the classic queue.
    sanctioned: Count,
}

/// The state that updates change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Updated {
    aqm: ClassicAqm,
    sent_by_l: u64,
    next_at: Instant,
}

impl<P: Packet + Flow, R: Random> Docsis<P, R> {
    /// Returns an empty pair of queues that draws from `random`. Flows are hashed with `salt`.
    #[must_use]
    pub fn new(config: DocsisConfig, salt: u32, random: R) -> Self {
        Self {
            config,
            salt,
            random,
            low_latency: Fifo::default(),
            classic: Fifo::default(),
            aqm: ClassicAqm::new(),
            protection: Protection::new(),
            sent_by_l: 0,
            marks_due: 0,
            credit: config.weights().first_credit(config.mtu),
            update_at: None,
            stats: Stats::default(),
            tally: Tally::default(),
            now: Instant::ZERO,
        }
    }

    /// Returns the drop probability of the classic queue, for a packet of 1024 bytes.
    #[must_use]
    pub fn probability(&self) -> f64 {
        self.config.pie.fraction(self.aqm.probability)
    }

    /// Returns the packets that queue protection moved to the classic queue.
    #[must_use]
    pub const fn sanctioned(&self) -> Count {
        self.tally.sanctioned
    }

    /// Does the updates that are due at `now`. Every call of the queue does so by itself.
    pub fn update(&mut self, now: Instant) {
        // Rule 1 of the contract: a time before the latest one counts as the latest.
        self.now = self.now.max(now);
        if self.update_at.is_none_or(|at| at <= self.now) {
            let updated = self.updated(self.now);
            self.aqm = updated.aqm;
            self.sent_by_l = updated.sent_by_l;
            self.update_at = Some(updated.next_at);
        }
    }

    /// Returns the state after the updates that are due at `now`.
    fn updated(&self, now: Instant) -> Updated {
        let period = self.config.pie.tupdate();
        // Multiples of `tupdate` do not depend on when the first packet comes, so a replay and a
        // simulation update at the same times.
        let first = || now - Duration::from_nanos(now.as_nanos() % period.as_nanos().max(1)) + period;
        let mut next_at = self.update_at.unwrap_or_else(first);
        let mut aqm = self.aqm;
        let mut sent_by_l = self.sent_by_l;
        let mut done = 0;
        while next_at <= now {
            let before = aqm;
            aqm.update(&self.config, self.config.classic_rate(sent_by_l), self.classic.bytes());
            done += 1;
            // Without departures a second update finds another rate than the first.
            let is_final = sent_by_l == 0 && aqm == before;
            sent_by_l = 0;
            if done == MAX_UPDATES || is_final {
                // The next update stays in phase, as if all updates in between had been done.
                let late = now.since(next_at).as_nanos() % period.as_nanos().max(1);
                next_at = now - Duration::from_nanos(late) + period;
                break;
            }
            next_at += period;
        }
        Updated { aqm, sent_by_l, next_at }
    }

    fn is_for_l(&self, packet: &P) -> bool {
        // A CE packet may have been ECT(1), so RFC 9331 §5.1 treats it as one.
        matches!(packet.ecn(), Ecn::Ect1 | Ecn::Ce) || (self.config.nqb && packet.dscp() == NQB)
    }

    /// Returns an arriving packet as the low-latency queue sees it.
    fn arriving(&self, packet: &P) -> Arriving {
        let bytes = packet.len();
        let queued = self.low_latency.bytes().saturating_add(u64::from(bytes));
        let delay = time_to_send(queued, self.config.bandwidth);
        let native = self.config.ramp.native(delay);
        Arriving { flow: packet.flow_hash(self.salt), bytes, delay, native }
    }

    /// Returns the mark probability of the low-latency queue in units of 2^-60: the larger one of
    /// the native probability and that of the coupling.
    fn mark_probability(&self, aqm: &ClassicAqm, native: u64) -> u64 {
        // PIE's probability is at most 13.6, so 128 bits hold its root shifted by 60 bits.
        let coupled = ((aqm.base() << 60) / u128::from(ONE)) * u128::from(self.config.coupling);
        let coupled = u64::try_from(coupled).unwrap_or(CERTAIN).min(CERTAIN);
        coupled.max(native << (CERTAIN.ilog2() - self.config.lg_range))
    }

    /// Marks an arriving packet when the probabilities since the last mark exceed 1
    /// (MULPIv3.1 Annex N, `recur`).
    fn mark(&mut self, packet: &mut P, native: u64) {
        // Both are at most 2^60, so the sum cannot overflow.
        self.marks_due += self.mark_probability(&self.aqm, native);
        if self.marks_due <= CERTAIN {
            return;
        }
        self.marks_due -= CERTAIN;
        if packet.ecn() != Ecn::Ce && packet.set_ce() {
            self.stats.marked.add(packet.len());
            self.tally.marked = self.tally.marked.wrapping_add(1);
        }
    }

    fn refuse(&mut self, packet: P, why: DropReason, drops: &mut impl Drops<P>) {
        self.stats.dropped_before.add(packet.len());
        drops.dropped(packet, why);
    }

    fn enter_l(&mut self, packet: P, drops: &mut impl Drops<P>) {
        let bytes = u64::from(packet.len());
        // The documents keep room for one frame of 2000 bytes; here a packet that fits is queued.
        if self.low_latency.bytes().saturating_add(bytes) > self.config.low_latency_limit {
            self.refuse(packet, DropReason::Overlimit, drops);
            return;
        }
        self.stats.enqueued.add(packet.len());
        self.tally.low_latency = self.tally.low_latency.wrapping_add(1);
        self.low_latency.push_back(self.now, packet);
    }

    fn enter_c(&mut self, packet: P, drops: &mut impl Drops<P>) {
        let backlog = self.classic.bytes();
        let bytes = packet.len();
        if backlog.saturating_add(u64::from(bytes)) > self.config.classic_limit {
            self.aqm.lost_one();
            self.refuse(packet, DropReason::Overlimit, drops);
            return;
        }
        if self.aqm.drops(&self.config, backlog, bytes, &mut self.random) {
            self.refuse(packet, DropReason::Congested, drops);
            return;
        }
        self.stats.enqueued.add(bytes);
        self.tally.classic = self.tally.classic.wrapping_add(1);
        self.classic.push_back(self.now, packet);
    }

    fn is_turn_of_c(&self) -> bool {
        !self.classic.is_empty() && (self.low_latency.is_empty() || self.credit > 0)
    }

    /// Returns the next packet by weight.
    fn next(&mut self) -> Option<P> {
        if self.is_turn_of_c() {
            let packet = self.classic.pop_front()?.packet;
            if !self.low_latency.is_empty() {
                self.charge(self.config.weights().by_classic(packet.len()));
            }
            return Some(packet);
        }
        let Some(Queued { packet, .. }) = self.low_latency.pop_front() else {
            self.credit = self.config.weights().first_credit(self.config.mtu);
            return None;
        };
        self.sent_by_l = self.sent_by_l.saturating_add(u64::from(packet.len()));
        if !self.classic.is_empty() {
            self.charge(self.config.weights().by_low_latency(packet.len()));
        }
        Some(packet)
    }

    fn charge(&mut self, change: i64) {
        self.credit = self.credit.saturating_add(change);
    }

    fn lose(&mut self, packet: P, why: DropReason, drops: &mut impl Drops<P>) {
        self.stats.dropped_after.add(packet.len());
        drops.dropped(packet, why);
    }
}

impl<P: Packet + Flow, R: Random> Build<P, R> for Docsis<P, R> {
    fn build(config: DocsisConfig, salt: u32, random: R) -> Self {
        Self::new(config, salt, random)
    }
}

impl<P: Packet + Flow, R: Random> Qdisc<P> for Docsis<P, R> {
    type Config = DocsisConfig;

    fn enqueue(&mut self, now: Instant, mut packet: P, drops: &mut impl Drops<P>) {
        self.update(now);
        self.stats.offered.add(packet.len());
        if !self.is_for_l(&packet) {
            self.enter_c(packet, drops);
            return;
        }
        let arriving = self.arriving(&packet);
        // The mark comes before the sanction, as in CableLabs' module for ns-3.
        self.mark(&mut packet, arriving.native);
        if self.config.qprotect && self.protection.sanctions(&self.config, self.now, arriving) {
            self.tally.sanctioned.add(packet.len());
            self.enter_c(packet, drops);
        } else {
            self.enter_l(packet, drops);
        }
    }

    fn dequeue(&mut self, now: Instant, _drops: &mut impl Drops<P>) -> Option<P> {
        self.update(now);
        let packet = self.next()?;
        self.stats.dequeued.add(packet.len());
        Some(packet)
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

    fn reconfigure(&mut self, now: Instant, config: DocsisConfig, drops: &mut impl Drops<P>) {
        self.update(now);
        let old = core::mem::replace(&mut self.config, config);
        if old.pie.tupdate() != config.pie.tupdate() {
            let soon = self.now + config.pie.tupdate();
            self.update_at = self.update_at.map(|at| at.min(soon));
        }
        if old.weight != config.weight {
            self.credit = config.weights().first_credit(config.mtu);
        }
        while self.classic.bytes() > config.classic_limit {
            let Some(oldest) = self.classic.pop_front() else { break };
            self.lose(oldest.packet, DropReason::Overlimit, drops);
        }
        while self.low_latency.bytes() > config.low_latency_limit {
            let Some(oldest) = self.low_latency.pop_front() else { break };
            self.lose(oldest.packet, DropReason::Overlimit, drops);
        }
    }

    fn config(&self) -> DocsisConfig {
        self.config
    }

    fn purge(&mut self, now: Instant, drops: &mut impl Drops<P>) {
        self.update(now);
        while let Some(packet) = self.next() {
            self.lose(packet, DropReason::Purged, drops);
        }
        // The last call of `next` found both queues empty and reset the credit.
        self.aqm = ClassicAqm::new();
        self.protection = Protection::new();
        self.sent_by_l = 0;
        self.marks_due = 0;
    }
}

impl<P: Packet + Flow, R: Random> Lookahead<P> for Docsis<P, R> {
    const RULES: &'static [&'static [Rule]] = &[rules::RULES, LIMITS];

    fn next_len(&self) -> Option<u32> {
        let turn = if self.is_turn_of_c() { &self.classic } else { &self.low_latency };
        turn.front().map(|queued| queued.packet.len())
    }

    fn evidence(&self, question: &Question<'_, P>) -> Evidence {
        self.evidence_about(question.packet, &question.about)
    }
}

impl<P: Packet + Flow, R: Random> Observe for Docsis<P, R> {
    fn observe(&self, now: Instant, seen: &mut Observation) {
        let now = self.now.max(now);
        let waited = |front: Option<Instant>| front.map_or(Duration::ZERO, |came| now.since(came));
        seen.fraction("prob", self.probability());
        seen.time("delay-c", waited(self.classic.front().map(|queued| queued.at)));
        seen.time("delay-l", waited(self.low_latency.front().map(|queued| queued.at)));
        seen.number("pkts-in-c", self.tally.classic);
        seen.number("pkts-in-l", self.tally.low_latency);
        seen.number("ecn-mark", self.tally.marked);
        seen.number("sanctioned", self.tally.sanctioned.packets);
        seen.number("sanctioned-bytes", self.tally.sanctioned.bytes);
        seen.gauges.push(("credit", Gauge::Signed(self.credit)));
    }
}

impl<P: Packet + Flow> Inner<P> for Docsis<P, crate::random::Source> {}

/// Probability 1 of a mark. The native probability is exact in this unit.
const CERTAIN: u64 = 1 << 60;
/// RFC 9956: the code point of flows that build no queue.
const NQB: u8 = 45;
// At the default gains the highest probability, 13.6, takes about 230 updates of an empty queue to
// become 0.
const MAX_UPDATES: u32 = 2_048;
