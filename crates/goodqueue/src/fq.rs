//! Fair queueing and pacing for a host that sends: `fq`.
//!
//! # What it does
//! Each flow has its own queue, and flows send in rounds of `quantum` bytes. Three bands share the
//! link by weight; the priority of a packet chooses its band. A packet leaves no earlier than its
//! sender planned (its earliest departure time), and a flow no faster than `maxrate`. While no flow
//! has anything to send, packets take a fast path past the flows.
//!
//! # Reference
//! tc-fq(8); behaviour of Linux 7.3 `net/sched/sch_fq.c`.
//!
//! # State
//! ```text
//! arrival --> fast path (nothing else to send) --> first at departure
//!         --> flow (hash): packets by departure time, credit, time_next
//! flow:  detached --> new list of its band --> old list --> detached
//!                         |  planned later           ^
//!                         '--> throttled ------------'  at time_next
//! ```
//!
//! # Parameters
//! | name | meaning | unit | default | source of the default | range |
//! |---|---|---|---|---|---|
//! | `limit` | packets that each band holds | packets | 10000p | Linux sch_fq | 1 to 16777216 |
//! | `flow_limit` | packets that each flow holds | packets | 100p | Linux sch_fq | 1 to 16777216 |
//! | `buckets` | size of the table of flows; accepted without effect, since it decides nothing here | number | 1024 | Linux sch_fq | a power of 2 from 1 to 262144 |
//! | `orphan_mask` | bits of a packet's hash that choose its flow | number | 1023 | Linux sch_fq | 0 to 65535 |
//! | `bands` | number of bands | number | 3 | Linux sch_fq | 3 to 3 |
//! | `priomap` | the band of each priority from 0 to 15, the first band being 0 | 16 bands, from 0 | 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1 | Linux sch_fq | each below 3 |
//! | `weights` | bytes that the first band sends in a round | number | 589824 | Linux sch_fq | 16384 to 2147483647 |
//! | `weights.second` | bytes that the second band sends in a round | number | 196608 | Linux sch_fq | 16384 to 2147483647 |
//! | `weights.third` | bytes that the third band sends in a round | number | 65536 | Linux sch_fq | 16384 to 2147483647 |
//! | `quantum` | bytes that a flow may send in a round | bytes | 2 x MTU (3028) | Linux sch_fq | 1 to 1048576 |
//! | `initial_quantum` | bytes that a new flow may send before its second round | bytes | 10 x MTU (15140) | Linux sch_fq | 0 to 2147483647 |
//! | `pacing` | pace packets by `maxrate` | flag | pacing | Linux sch_fq | |
//! | `maxrate` | most that each flow may send | rate | unlimited | Linux sch_fq | 8bit to 34359738352bit |
//! | `low_rate_threshold` | rate at or below which each packet of a flow is paced by itself | rate | 550kbit | Linux sch_fq | 0bit to 34359738352bit |
//! | `refill_delay` | idle time after which a flow gets a quantum again | time | 40ms | Linux sch_fq | 0 to 4294967295us |
//! | `timer_slack` | how much later than asked for the timer may wake the queue | time | 10us | Linux sch_fq | 0 to 4294967295ns |
//! | `ce_threshold` | delay beyond the planned departure above which every ECN-capable packet is marked | time | off | Linux sch_fq | 0 to 4294967295us |
//! | `horizon` | how far in the future the sender may plan a departure | time | 10s | Linux sch_fq | 0 to 4294967295us |
//! | `horizon_cap` | let a packet beyond the horizon depart there, in place of dropping it | flag | horizon_drop | Linux sch_fq | |
//! | `offload_horizon` | how much earlier than planned a packet may be given to the device | time | 0s | Linux sch_fq | 0 to 4294967295us |
//!
//! # Deviations
//! * There are no sockets: flows are chosen by the packet's hash, as Linux does with forwarded
//!   packets, and their rate is `maxrate`. [`Packet::earliest_departure`] is `skb->tstamp`.
//! * Linux forgets flows that were idle for 3 s if there are more than twice `buckets`; such a flow
//!   starts with `initial_quantum` again. Here every flow is kept, so `buckets` has no effect, and
//!   `orphan_mask` has at most 16 bits.
//! * A class chosen by the caller is the priority, as `skb->priority` is; else it is
//!   [`Flow::priority`]. `bands` is 3, as in Linux.
//! * As in Linux, a flow is put on the list of the band of its previous packet. A packet that is
//!   planned earlier than one before it overtakes that packet. A packet on the fast path overtakes
//!   packets of its flow that wait for their time, and is not marked by `ce_threshold`.
//! * The timer that wakes the queue is late by `timer_slack`, as it is in Linux unless another
//!   timer runs in the meantime.
//! * `limit` counts each band by itself; the fast path holds at most 8 packets more.
//! * If a quantum is far smaller than the packets, rounds in which no flow may send are skipped at
//!   once, with the same result.
//!
//! # Cost
//! Constant per packet; a look at each of the three bands if the others are empty, and a logarithm
//! of the number of throttled flows for each flow that waits. 48 bytes per flow.
//!
//! # Example
//! ```
//! use goodqueue::{Configure, Link, Rate, Settings, config::Value, fq::FqConfig};
//! let settings = Settings::new().with("maxrate", Value::Rate(Rate::from_bps(2_000_000)));
//! let config = FqConfig::from_settings(&settings, &Link::default()).unwrap();
//! assert_eq!(config.quantum(), 3028);
//! ```

mod config;
mod evidence;
mod flows;
mod rules;
#[cfg(test)]
mod tests;

use config::BANDS;
pub use config::FqConfig;
use flows::{Flows, List, NIL, Next, Plan, State};

use crate::config::Build;
use crate::decision::{Evidence, Question, Rule};
use crate::gauge::{Observation, Observe};
use crate::nesting::Inner;
use crate::packet::{Ecn, Flow, Packet};
use crate::qdisc::{DropReason, Drops, Lookahead, Qdisc, Stats};
use crate::queue::{Fifo, Passage};
use crate::time::{Duration, Instant, Rate};

/// The discipline `fq`.
#[derive(Clone, Debug)]
pub struct Fq<P> {
    config: FqConfig,
    salt: u32,
    flows: Flows<P>,
    bands: [Band; BANDS],
    /// The band whose turn it is.
    current: usize,
    /// Packets that came while no flow had anything to send.
    fast: Fifo<P>,
    /// All packets, those in `fast` too.
    passage: Passage,
    /// When the first throttled flow may send, as known at the last look.
    wakes_at: Instant,
    /// Time for which the timer is set.
    timer: Option<Instant>,
    stats: Stats,
    tally: Tally,
    now: Instant,
}

/// A band: its flows, and its share of the link.
#[derive(Clone, Copy, Default, Debug)]
struct Band {
    new_flows: List,
    old_flows: List,
    /// Bytes that it may send in this round.
    credit: i64,
    packets: u32,
}

/// What Linux counts for `tc -s` beside the packets.
#[derive(Clone, Copy, Default, Debug)]
struct Tally {
    fast_path: u64,
    throttled: u64,
    flow_limit: u64,
    band_limit: [u64; BANDS],
    beyond_horizon: u64,
    too_long: u64,
    ce_mark: u64,
}

/// A packet that is to be sent now.
#[derive(Clone, Copy, Debug)]
struct Due {
    /// Its flow.
    number: u32,
    /// When it could have left.
    at: Instant,
    bytes: u32,
    by_sender: bool,
}

impl<P: Packet + Flow> Fq<P> {
    /// An empty queue; `salt` seeds the hash of flows.
    #[must_use]
    pub fn new(config: FqConfig, salt: u32) -> Self {
        Self {
            config,
            salt,
            flows: Flows::new(),
            bands: [Band::default(); BANDS],
            current: 0,
            fast: Fifo::default(),
            passage: Passage::default(),
            wakes_at: Instant::MAX,
            timer: None,
            stats: Stats::default(),
            tally: Tally::default(),
            now: Instant::ZERO,
        }
    }

    /// Returns the band of a packet.
    fn band_of(&self, packet: &P) -> u8 {
        // `TC_PRIO_MAX` is 15.
        let priority = packet.class().unwrap_or_else(|| u32::from(packet.priority())) & 15;
        self.config.map.get(priority as usize).copied().unwrap_or(0)
    }

    fn hash_of(&self, packet: &P) -> u32 {
        packet.flow_hash(self.salt) & self.config.orphan_mask
    }

    /// Returns the planned departure of an arriving packet; the reason if it is to be dropped.
    fn plan(&mut self, packet: &P, band: u8) -> Result<Plan, DropReason> {
        let Some(asked) = packet.earliest_departure() else {
            return Ok(Plan { at: self.now, by_sender: false, band });
        };
        let horizon = self.now + self.config.horizon;
        if asked > horizon {
            self.tally.beyond_horizon = self.tally.beyond_horizon.wrapping_add(1);
            if !self.config.caps {
                return Err(DropReason::Horizon);
            }
        }
        Ok(Plan { at: asked.min(horizon), by_sender: true, band })
    }

    /// True if a packet with this plan may pass the flows, because none has anything to send now.
    fn takes_fast_path(&self, plan: Plan) -> bool {
        let is_mostly_idle = || {
            // If a throttled flow were due, a packet could pass earlier ones of its own flow (Linux
            // `fq_fastpath_check()`).
            self.flows.active as usize == self.flows.throttled()
                && self.fast.len() < MOST_FAST
                && self.wakes_at > self.now + self.config.offload_horizon
        };
        let is_due = plan.at <= self.now + self.config.offload_horizon;
        // The fast path knows no flows, so it cannot keep a rate for each.
        is_due && self.config.max_rate.is_none() && (self.passage.packets() == 0 || is_mostly_idle())
    }

    /// Admits a packet, or returns the reason why it is dropped.
    fn admit(&mut self, packet: P) -> Result<(), (P, DropReason)> {
        let band = self.band_of(&packet);
        let held = self.bands.get(usize::from(band)).map_or(0, |band| band.packets);
        if held >= self.config.limit {
            if let Some(count) = self.tally.band_limit.get_mut(usize::from(band)) {
                *count = count.wrapping_add(1);
            }
            return Err((packet, DropReason::BandLimit));
        }
        let plan = match self.plan(&packet, band) {
            Ok(plan) => plan,
            Err(why) => return Err((packet, why)),
        };
        if self.takes_fast_path(plan) {
            self.tally.fast_path = self.tally.fast_path.wrapping_add(1);
            self.fast.push_back(self.now, packet);
            return Ok(());
        }
        let mask = self.config.orphan_mask;
        // Both quanta fit: their ranges end at `i32::MAX` or below.
        let credit = self.config.initial_quantum as i32;
        let number = self.flows.of_hash(self.hash_of(&packet), mask, credit);
        let quantum = self.config.quantum as i32;
        if let Some(flow) = self.flows.flow_mut(number) {
            if flow.len() >= self.config.flow_limit {
                self.tally.flow_limit = self.tally.flow_limit.wrapping_add(1);
                return Err((packet, DropReason::FlowLimit));
            }
            // A flow that is in no list goes to that of new flows, of the band that it had so far.
            if let State::Detached(since) = flow.state {
                // Rounded up, as by Linux `usecs_to_jiffies()`.
                let delay = self.config.refill_delay.as_nanos().div_ceil(JIFFY);
                if jiffies(self.now) > since.saturating_add(delay) {
                    // As in Linux `fq_enqueue()`: after a rest a flow has a quantum again, and
                    // keeps a larger credit, such as what is left of the initial one.
                    flow.credit = flow.credit.max(quantum);
                }
                let listed = flow.band;
                flow.band = band;
                self.list_as_new(number, listed);
            } else {
                flow.band = band;
            }
        }
        if let Some(band) = self.bands.get_mut(usize::from(band)) {
            band.packets += 1;
        }
        self.flows.push(number, packet, plan);
        if plan.by_sender && self.config.max_rate.is_none() {
            self.hasten(number, plan.at);
        }
        Ok(())
    }

    /// Lets a throttled flow send from `at` on, if that is earlier than planned so far: its newest
    /// packet goes before those that it waits with (Linux `fq_flow_adjust_timer()`).
    #[inline]
    fn hasten(&mut self, number: u32, at: Instant) {
        let waits_longer = |flow: &flows::Flow| flow.state == State::Throttled && at < flow.time_next;
        if self.flows.flow(number).is_some_and(waits_longer) {
            self.hasten_throttled(number, at);
        }
    }

    #[cold]
    fn hasten_throttled(&mut self, number: u32, at: Instant) {
        let Some(until) = self.flows.recall(number) else { return };
        if at > self.now {
            self.flows.throttle(number, at);
            self.wakes_at = self.wakes_at.min(at);
            return;
        }
        if let Some(flow) = self.flows.flow_mut(number) {
            flow.time_next = at;
        }
        self.send_back(number);
        if self.wakes_at == until {
            self.wakes_at = self.flows.first_wake().unwrap_or(Instant::MAX);
        }
    }

    /// Appends a flow to the new flows of this band.
    #[inline]
    fn list_as_new(&mut self, number: u32, band: u8) {
        if let Some(band) = self.bands.get_mut(usize::from(band)) {
            self.flows.list(number);
            self.flows.append(&mut band.new_flows, number);
        }
    }

    /// Appends a flow to the old flows of its band.
    #[inline]
    fn send_back(&mut self, number: u32) {
        let band = self.flows.list(number).map_or(0, usize::from);
        if let Some(band) = self.bands.get_mut(band) {
            self.flows.append(&mut band.old_flows, number);
        }
    }

    /// Lists the flows whose time has come.
    fn wake_flows(&mut self) {
        let now = self.now + self.config.offload_horizon;
        if self.wakes_at > now {
            return;
        }
        self.wakes_at = Instant::MAX;
        while let Some(at) = self.flows.first_wake() {
            if at > now {
                self.wakes_at = at;
                return;
            }
            if let Some(number) = self.flows.wake() {
                self.send_back(number);
            }
        }
    }

    /// Returns a band that has a flow to serve and credit, by weighted rounds.
    fn next_band(&mut self) -> Option<usize> {
        let mut fruitless = 0;
        loop {
            let band = self.bands.get_mut(self.current)?;
            let has_flows = band.new_flows.first != NIL || band.old_flows.first != NIL;
            if band.credit > 0 && has_flows {
                return Some(self.current);
            }
            loop {
                fruitless += 1;
                if fruitless > BANDS {
                    return None;
                }
                self.current = (self.current + 1) % BANDS;
                let weight = self.config.weights.get(self.current).copied().map_or(1, i64::from);
                let next = self.bands.get_mut(self.current)?;
                // A band without packets saves no credit.
                next.credit = (next.credit + weight).min(weight);
                if next.credit > 0 {
                    break;
                }
                // A band in debt comes nearer to a credit with each visit, so the search goes on.
                fruitless = 0;
            }
        }
    }

    /// Returns the packet that the flows send next, which is still in its flow but counted as sent.
    fn next_of_flows(&mut self) -> Option<Due> {
        let latest = self.now + self.config.offload_horizon;
        let quantum = self.config.quantum as i32;
        let mut fruitless: u32 = 0;
        loop {
            let chosen = self.next_band()?;
            let band = self.bands.get_mut(chosen)?;
            let is_new = band.new_flows.first != NIL;
            let list = if is_new { &mut band.new_flows } else { &mut band.old_flows };
            let number = list.first;
            let flow = self.flows.flow_mut(number)?;
            if flow.credit <= 0 {
                flow.credit = flow.credit.saturating_add(quantum);
                list.first = flow.next;
                self.send_back(number);
                fruitless += 1;
                if fruitless % FRUITLESS_VISITS == 0 {
                    self.skip_fruitless_rounds(chosen);
                }
                continue;
            }
            if flow.len() == 0 {
                list.first = flow.next;
                if is_new {
                    // Through the old flows, so that it starves none of them.
                    self.send_back(number);
                } else {
                    // Linux keeps the mark "detached" in the lowest bit of the time.
                    flow.state = State::Detached(jiffies(self.now) | 1);
                }
                continue;
            }
            let time_next = flow.time_next;
            let following = flow.next;
            let Next { plan, bytes } = self.flows.next(number)?;
            let at = plan.at.max(time_next);
            if at > latest {
                list.first = following;
                self.flows.throttle(number, at);
                self.tally.throttled = self.tally.throttled.wrapping_add(1);
                self.wakes_at = self.wakes_at.min(at);
                continue;
            }
            // A packet counts in its own band, but the band in which its flow was listed pays for
            // it.
            band.credit = band.credit.saturating_sub(i64::from(bytes));
            if let Some(own) = self.bands.get_mut(usize::from(plan.band)) {
                own.packets = own.packets.saturating_sub(1);
            }
            if let Some(sender) = self.flows.flow_mut(number) {
                let charge = i32::try_from(bytes).unwrap_or(i32::MAX);
                sender.credit = sender.credit.saturating_sub(charge);
            }
            return Some(Due { number, at, bytes, by_sender: plan.by_sender });
        }
    }

    /// Gives the old flows of a band the credit of all rounds in which none of them could send.
    #[cold]
    fn skip_fruitless_rounds(&mut self, band: usize) {
        let Some(Band { new_flows, old_flows, .. }) = self.bands.get(band) else { return };
        if new_flows.first != NIL {
            return;
        }
        let quantum = i64::from(self.config.quantum).max(1);
        let rounds = self.flows.credits(*old_flows).map(|credit| i64::from(-credit) / quantum).min();
        let gained = i32::try_from(rounds.unwrap_or(0).max(0) * quantum).unwrap_or(0);
        self.flows.add_credit(*old_flows, gained);
    }

    /// Sets the time of the next packet of a flow that has sent `bytes`.
    fn pace(&mut self, number: u32, bytes: u32, by_sender: bool) {
        let now = self.now;
        let quantum = self.config.quantum;
        let slow = self.config.low_rate_threshold;
        let rate = self.config.max_rate.filter(|_| self.config.pacing);
        let (Some(rate), Some(flow)) = (rate, self.flows.flow_mut(number)) else { return };
        let mut counted = bytes;
        if !by_sender {
            if rate <= slow {
                // As in Linux, a slow flow is paced packet by packet: without credit its next
                // packet sets the time again.
                flow.credit = 0;
            } else {
                // A fast flow sends a quantum at once, and the time after it follows from the
                // quantum.
                counted = bytes.max(quantum);
                if flow.credit > 0 {
                    return;
                }
            }
        }
        let mut gap = time_of(counted, rate);
        // Linux `fq_dequeue()`: the rate of a socket can change before such a packet is due.
        if gap > SECOND {
            gap = SECOND;
            self.tally.too_long = self.tally.too_long.wrapping_add(1);
        }
        // The packet may have left too late.
        if flow.time_next > Instant::ZERO {
            let late = now.since(flow.time_next).as_nanos();
            // Timers fire tens of microseconds late (Linux `fq_dequeue()`), so the next gap is
            // shorter by that, but never by more than half.
            gap = gap.saturating_sub((gap / 2).min(late));
        }
        flow.time_next = now + Duration::from_nanos(gap);
    }

    /// True if a packet that could have left at `at` is to be marked now.
    fn is_late(&self, at: Instant) -> bool {
        self.config.ce_threshold.is_some_and(|threshold| self.now.since(at) > threshold)
    }

    #[cold]
    fn marked(&mut self, mut packet: P) -> P {
        let was_marked = packet.ecn() == Ecn::Ce;
        let carries = packet.set_ce();
        // Linux counts packets that cannot carry the mark, too.
        self.tally.ce_mark = self.tally.ce_mark.wrapping_add(1);
        if carries && !was_marked {
            self.stats.marked.add(packet.len());
        }
        packet
    }

    /// Sets the timer for the first throttled flow. A timer that is set for a little later stays.
    fn set_timer(&mut self) {
        if self.wakes_at == Instant::MAX {
            return;
        }
        let stays =
            |set: Instant| set >= self.wakes_at && set.since(self.wakes_at) <= self.config.timer_slack;
        if !self.timer.is_some_and(stays) {
            self.timer = Some(self.wakes_at);
        }
    }

    /// Removes and returns the next packet.
    #[inline]
    fn take(&mut self) -> Option<P> {
        if self.passage.packets() == 0 {
            return None;
        }
        if let Some(queued) = self.fast.pop_front() {
            self.passage.leaves(queued.packet.len());
            return Some(queued.packet);
        }
        self.wake_flows();
        let Some(due) = self.next_of_flows() else {
            self.set_timer();
            return None;
        };
        self.pace(due.number, due.bytes, due.by_sender);
        self.passage.leaves(due.bytes);
        let packet = self.flows.pop(due.number);
        if self.is_late(due.at) { packet.map(|packet| self.marked(packet)) } else { packet }
    }

    /// Advances the clock. A timer that is due has run.
    fn advance(&mut self, now: Instant) {
        // Rule 1 of the contract: a time before the latest one counts as the latest.
        self.now = self.now.max(now);
        if self.timer.is_some_and(|at| at <= self.now) {
            self.timer = None;
        }
    }
}

impl<P: Packet + Flow, R> Build<P, R> for Fq<P> {
    fn build(config: FqConfig, salt: u32, _random: R) -> Self {
        Self::new(config, salt)
    }
}

impl<P: Packet + Flow> Qdisc<P> for Fq<P> {
    type Config = FqConfig;

    fn enqueue(&mut self, now: Instant, packet: P, drops: &mut impl Drops<P>) {
        self.advance(now);
        let bytes = packet.len();
        match self.admit(packet) {
            Ok(()) => self.passage.enters(bytes),
            Err((packet, why)) => {
                self.stats.dropped_before.add(bytes);
                drops.dropped(packet, why);
            }
        }
    }

    fn dequeue(&mut self, now: Instant, _drops: &mut impl Drops<P>) -> Option<P> {
        self.advance(now);
        self.take()
    }

    fn next_event(&self, now: Instant) -> Option<Instant> {
        let is_listed = |band: &Band| band.new_flows.first != NIL || band.old_flows.first != NIL;
        if self.passage.packets() == 0 || !self.fast.is_empty() || self.bands.iter().any(is_listed) {
            return None;
        }
        // A Linux timer with slack fires at the end of the slack if no other timer runs before.
        let set = self.timer.unwrap_or(self.wakes_at) + self.config.timer_slack;
        (self.wakes_at > now.max(self.now)).then_some(set)
    }

    fn len(&self) -> usize {
        usize::try_from(self.passage.packets()).unwrap_or(usize::MAX)
    }

    fn backlog(&self) -> u64 {
        self.passage.bytes()
    }

    fn stats(&self) -> Stats {
        self.passage.complete(self.stats)
    }

    /// As in Linux, a lower limit drops the packets that would leave next.
    fn reconfigure(&mut self, now: Instant, config: FqConfig, drops: &mut impl Drops<P>) {
        self.advance(now);
        // Another `orphan_mask` changes the hashes of later packets. As in Linux, a flow keeps its
        // hash: a later packet with this hash finds it.
        self.config = config;
        while self.passage.packets() > u64::from(config.limit) {
            let Some(packet) = self.take() else { break };
            self.stats.dropped_after.add(packet.len());
            drops.dropped(packet, DropReason::Overlimit);
        }
    }

    fn config(&self) -> FqConfig {
        self.config
    }

    fn purge(&mut self, now: Instant, drops: &mut impl Drops<P>) {
        self.advance(now);
        while let Some(queued) = self.fast.pop_front() {
            self.purge_packet(queued.packet, drops);
        }
        for number in 0..self.flows.count() {
            while let Some(packet) = self.flows.pop(number) {
                self.purge_packet(packet, drops);
            }
        }
        self.flows.forget();
        for band in &mut self.bands {
            // Linux `fq_reset()` keeps the credit.
            *band = Band { credit: band.credit, ..Band::default() };
        }
        (self.wakes_at, self.timer) = (Instant::MAX, None);
    }
}

impl<P: Packet + Flow> Fq<P> {
    fn purge_packet(&mut self, packet: P, drops: &mut impl Drops<P>) {
        self.passage.leaves(packet.len());
        self.stats.dropped_after.add(packet.len());
        drops.dropped(packet, DropReason::Purged);
    }
}

impl<P: Packet + Flow> Lookahead<P> for Fq<P> {
    const RULES: &'static [&'static [Rule]] = &[rules::RULES];

    fn evidence(&self, question: &Question<'_, P>) -> Evidence {
        self.evidence_about(question.packet, &question.about)
    }
}

impl<P: Packet + Flow> Observe for Fq<P> {
    fn observe(&self, _now: Instant, seen: &mut Observation) {
        let tally = &self.tally;
        let all = u64::from(self.flows.count());
        seen.number("flows", all);
        seen.number("inactive_flows", all - u64::from(self.flows.active));
        seen.number("throttled_flows", self.flows.throttled() as u64);
        for (name, band) in ["band0_pkts", "band1_pkts", "band2_pkts"].into_iter().zip(&self.bands) {
            seen.number(name, u64::from(band.packets));
        }
        seen.number("fastpath", tally.fast_path);
        seen.number("throttled", tally.throttled);
        seen.number("flows_plimit", tally.flow_limit);
        let drops = tally.band_limit;
        for (name, count) in ["band0_drops", "band1_drops", "band2_drops"].into_iter().zip(drops) {
            seen.number(name, count);
        }
        let what = if self.config.caps { "horizon_caps" } else { "horizon_drops" };
        seen.number(what, tally.beyond_horizon);
        seen.number("pkts_too_long", tally.too_long);
        seen.number("ce_mark", tally.ce_mark);
    }
}

impl<P: Packet + Flow> Inner<P> for Fq<P> {}

/// Nanoseconds in which a flow of `rate` sends `bytes`; Linux keeps rates in bytes per second.
fn time_of(bytes: u32, rate: Rate) -> u64 {
    u64::from(bytes) * SECOND / (rate.as_bps() / 8).max(1)
}

/// The kernel's count of milliseconds since its start, whose lowest bit is that of the clock.
const fn jiffies(now: Instant) -> u64 {
    now.as_nanos() / JIFFY
}

const JIFFY: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;
/// After this number of visits without a packet, rounds are skipped at once.
const FRUITLESS_VISITS: u32 = 16_384;
// More would let a flow that sends much pass without a turn (`fq_fastpath_check()`).
/// Linux sch_fq: packets that the fast path holds.
const MOST_FAST: usize = 8;
