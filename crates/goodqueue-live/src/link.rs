//! One direction of the bottleneck, without a clock: a discipline, a link, and a path with losses
//! and a propagation delay.
//!
//! # Time
//! A process wakes up late. If packets left the queue when it wakes, the rate would be too low, and
//! the discipline would see delays that the network does not have. So the link computes in the time
//! of its packets. It takes each packet at the instant at which the last bit of the previous one is
//! out, however late the process runs, and before it looks at packets that arrived after that
//! instant. Lateness only delays the handing over of packets. It changes no decision and does not
//! accumulate. It also makes a run repeatable: replayed arrivals have the same fates at the same
//! nanoseconds.

use std::collections::VecDeque;

use goodqueue::random::Source;
use goodqueue::{AnyConfig, AnyQdisc, DropReason, Duration, Instant, Packet, Qdisc, Stats};

use crate::capacity::{Capacity, OPPORTUNITY_BYTES, TUN_HEADER};
use crate::meter::Meter;
use crate::observer::{Direction, Observer, Reconfigured};
use crate::packet::IpPacket;

/// Configuration of a link.
#[derive(Clone, Debug)]
pub struct LinkConfig {
    /// Capacity of the link.
    pub capacity: Capacity,
    /// Queue discipline in front of the link.
    pub qdisc: AnyConfig,
    /// Discipline that acts as the path behind the link, apart from its delay; a `netem` line for
    /// example.
    pub path: Option<AnyConfig>,
    /// Propagation delay of the path.
    pub delay: Delay,
    /// Bytes that the queue counts on top of each IP packet. Mahimahi traces do not count them.
    pub framing: u32,
    /// Seed of the discipline's and the path's random numbers.
    pub seed: u64,
}

impl LinkConfig {
    /// Returns the most bytes that can propagate at a time; `None` without a limit.
    #[must_use]
    pub fn most_propagating(&self) -> Option<u64> {
        most_propagating(&self.capacity, &self.delay)
    }
}

/// Propagation delay of all packets, or by their ports.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Delay {
    /// Delay of packets without an entry in `by_port`.
    pub base: Duration,
    /// Delays of packets from or to these ports, in ascending order of ports.
    pub by_port: Vec<(u16, Duration)>,
}

impl Delay {
    /// Returns a delay that all packets share.
    #[must_use]
    pub const fn from_base(base: Duration) -> Self {
        Self { base, by_port: Vec::new() }
    }

    /// Returns the longest delay of any packet.
    fn longest(&self) -> Duration {
        self.by_port.iter().map(|entry| entry.1).fold(self.base, Duration::max)
    }

    fn for_packet(&self, packet: &IpPacket) -> Duration {
        if self.by_port.is_empty() {
            return self.base;
        }
        let (source, destination) = packet.headers().ports;
        let of = |port| {
            let index = self.by_port.binary_search_by_key(&port, |entry| entry.0).ok()?;
            self.by_port.get(index).map(|entry| entry.1)
        };
        of(source).or_else(|| of(destination)).unwrap_or(self.base)
    }
}

/// One running direction of the bottleneck.
#[derive(Debug)]
pub struct Link {
    direction: Direction,
    capacity: Capacity,
    qdisc: AnyQdisc<IpPacket>,
    path: Option<AnyQdisc<IpPacket>>,
    delay: Delay,
    framing: u32,
    seed: u64,
    /// Time at which the last bit of the current packet is out.
    busy_until: Instant,
    /// Time to ask the discipline for the next packet; `None` if only an arrival can change the
    /// answer.
    ask_at: Option<Instant>,
    /// Time to ask the path for the next packet.
    path_at: Option<Instant>,
    /// The packet that enters the path once its last bit is out, and that time.
    on_wire: Option<(Instant, IpPacket)>,
    /// Number of the trace's next opportunity.
    opportunity: u64,
    /// A packet that needs another opportunity, and the bytes that it still needs.
    unfinished: Option<(IpPacket, u32)>,
    /// Packets that propagate: one queue for each delay.
    lines: Vec<(Duration, VecDeque<(Instant, IpPacket)>)>,
    /// Counters of earlier disciplines, see [`handed_over`].
    counted: Stats,
    /// Measurements of this direction.
    pub meter: Meter,
}

impl Link {
    /// Creates a link that starts at time 0.
    #[must_use]
    pub fn new(direction: Direction, config: &LinkConfig) -> Self {
        Self {
            direction,
            capacity: config.capacity.clone(),
            qdisc: AnyQdisc::new(config.qdisc.clone(), 0, Source::seeded(config.seed)),
            path: config
                .path
                .as_ref()
                // Losses on the path do not depend on the discipline's random numbers.
                .map(|path| AnyQdisc::new(path.clone(), 0, Source::seeded(config.seed ^ PATH_SEED))),
            delay: config.delay.clone(),
            framing: config.framing,
            seed: config.seed,
            busy_until: Instant::ZERO,
            ask_at: None,
            path_at: None,
            on_wire: None,
            opportunity: 0,
            unfinished: None,
            lines: Vec::new(),
            counted: Stats::default(),
            meter: Meter::default(),
        }
    }

    /// Takes an arriving packet. Times must not decrease.
    pub fn arrive(&mut self, now: Instant, packet: IpPacket, observer: &mut impl Observer) {
        // A departure at this same instant happens after the arrival.
        self.run_until(now, observer);
        let direction = self.direction;
        observer.arrived(now, direction, &packet);
        let meter = &mut self.meter;
        meter.arrived(packet.len());
        self.qdisc.enqueue(now, packet, &mut |lost: IpPacket, why| {
            meter.dropped(why);
            observer.dropped(now, direction, &lost, why);
        });
        self.meter.length_is(now, self.qdisc.len());
        match self.capacity {
            Capacity::Trace(_) if self.ask_at.is_none() && !self.qdisc.is_empty() => {
                self.opportunity = self.opportunity.max(self.capacity.first_opportunity(now));
                self.ask_at = self.capacity.opportunity(self.opportunity);
            }
            Capacity::Trace(_) => {}
            Capacity::Unlimited => while self.send_next(now, observer) {},
            _ if self.busy_until <= now => {
                self.send_next(now, observer);
            }
            _ => {}
        }
    }

    /// Processes everything that is due before `end`.
    fn run_until(&mut self, end: Instant, observer: &mut impl Observer) {
        while let Some(due) = self.next_step().filter(|&due| due < end) {
            self.run_step(due, observer);
        }
    }

    /// Returns the time of the next event, apart from propagation.
    fn next_step(&self) -> Option<Instant> {
        let wire = self.on_wire.as_ref().map(|on_wire| on_wire.0);
        [self.ask_at, wire, self.path_at].into_iter().flatten().min()
    }

    fn run_step(&mut self, due: Instant, observer: &mut impl Observer) {
        if let Some((_, packet)) = self.on_wire.take_if(|on_wire| on_wire.0 <= due)
            && let Some(path) = &mut self.path
        {
            let direction = self.direction;
            path.enqueue(due, packet, &mut |lost: IpPacket, why| observer.lost(due, direction, &lost, why));
        }
        self.leave_path(due, observer);
        if self.ask_at.is_some_and(|ask| ask <= due) {
            match self.capacity {
                Capacity::Trace(_) => self.use_opportunity(due, observer),
                Capacity::Unlimited => while self.send_next(due, observer) {},
                _ => {
                    self.send_next(due, observer);
                }
            }
        }
    }

    fn leave_path(&mut self, now: Instant, observer: &mut impl Observer) {
        let direction = self.direction;
        while let Some(packet) = self.path.as_mut().and_then(|path| {
            path.dequeue(now, &mut |lost: IpPacket, why| observer.lost(now, direction, &lost, why))
        }) {
            self.propagate(now, packet);
        }
        let later = now + Duration::from_nanos(1);
        self.path_at = self.path.as_ref().and_then(|path| path.next_event(now)).map(|event| event.max(later));
    }

    /// Takes the next packet, because the link is free. Returns false if there is none now.
    fn send_next(&mut self, now: Instant, observer: &mut impl Observer) -> bool {
        let rate = match self.capacity.rate_at(now) {
            Some((rate, change)) if rate.as_bps() == 0 => {
                self.ask_at = change;
                return false;
            }
            rate => rate.map(|(rate, _)| rate),
        };
        let Some(packet) = self.take(now, observer) else {
            let later = now + Duration::from_nanos(1);
            self.ask_at = self.qdisc.next_event(now).map(|event| event.max(later));
            return false;
        };
        self.busy_until = rate.map_or(now, |rate| now + rate.serialization(packet.len()));
        self.ask_at = Some(self.busy_until);
        self.hand_over(self.busy_until, packet, observer);
        true
    }

    /// Uses one opportunity, by Mahimahi's rule: it carries 1504 bytes, a packet may need several,
    /// several packets may share one, and unused bytes are lost.
    fn use_opportunity(&mut self, now: Instant, observer: &mut impl Observer) {
        let mut budget = OPPORTUNITY_BYTES;
        let more = loop {
            let next = self.unfinished.take().or_else(|| {
                let packet = self.take(now, observer)?;
                let bytes = packet.len().saturating_sub(self.framing).saturating_add(TUN_HEADER);
                Some((packet, bytes))
            });
            let Some((packet, bytes)) = next else {
                // A shaper that holds packets is asked again at every opportunity.
                break !self.qdisc.is_empty();
            };
            if bytes > budget {
                self.unfinished = Some((packet, bytes - budget));
                break true;
            }
            budget -= bytes;
            self.hand_over(now, packet, observer);
            if budget == 0 {
                break !self.qdisc.is_empty();
            }
        };
        self.opportunity += 1;
        self.ask_at = if more { self.capacity.opportunity(self.opportunity) } else { None };
    }

    /// Returns the next packet of the discipline, if any.
    fn take(&mut self, now: Instant, observer: &mut impl Observer) -> Option<IpPacket> {
        let direction = self.direction;
        let meter = &mut self.meter;
        let taken = self.qdisc.dequeue(now, &mut |lost: IpPacket, why| {
            meter.dropped(why);
            observer.dropped(now, direction, &lost, why);
        });
        self.meter.length_is(now, self.qdisc.len());
        let packet = taken?;
        self.meter.sent(packet.len(), now.since(packet.arrived));
        observer.sent(now, direction, &packet);
        Some(packet)
    }

    /// Passes on a packet whose last bit is out at `end`.
    fn hand_over(&mut self, end: Instant, packet: IpPacket, observer: &mut impl Observer) {
        if self.path.is_none() {
            self.propagate(end, packet);
            return;
        }
        if let Some((at, before)) = self.on_wire.replace((end, packet)) {
            // This happens if an opportunity carries several packets or the link has no limit: the
            // previous packet enters the path at once.
            self.enter_path(at, before, observer);
        }
    }

    fn enter_path(&mut self, at: Instant, packet: IpPacket, observer: &mut impl Observer) {
        let direction = self.direction;
        if let Some(path) = &mut self.path {
            path.enqueue(at, packet, &mut |lost: IpPacket, why| observer.lost(at, direction, &lost, why));
        }
        self.leave_path(at, observer);
    }

    fn propagate(&mut self, from: Instant, packet: IpPacket) {
        let delay = self.delay.for_packet(&packet);
        let line = match self.lines.iter().position(|line| line.0 == delay) {
            Some(index) => index,
            None => {
                self.lines.push((delay, VecDeque::new()));
                self.lines.len() - 1
            }
        };
        if let Some(line) = self.lines.get_mut(line) {
            line.1.push_back((from + delay, packet));
        }
    }

    /// Processes everything that is due until `now`, and returns the next packet that has reached
    /// the other side.
    pub fn poll(&mut self, now: Instant, observer: &mut impl Observer) -> Option<IpPacket> {
        // Departures at this same instant wait, because an arrival at it goes first.
        self.run_until(now, observer);
        let due = |line: &(Duration, VecDeque<(Instant, IpPacket)>)| line.1.front().map(|first| first.0);
        let line = self.lines.iter_mut().min_by_key(|line| due(line).unwrap_or(Instant::MAX))?;
        if due(line)? > now {
            return None;
        }
        line.1.pop_front().map(|(_, packet)| packet)
    }

    /// Returns the time at which [`Self::poll`] has something to do next.
    #[must_use]
    pub fn next_event(&self) -> Option<Instant> {
        let propagated = self.lines.iter().filter_map(|line| line.1.front().map(|first| first.0)).min();
        [self.next_step(), propagated].into_iter().flatten().min()
    }

    /// True if sending the backlog takes longer than `span` and sending a full packet takes less.
    /// The link then stays busy for that long, whatever arrives.
    pub(crate) fn is_dense(&self, now: Instant, span: Duration) -> bool {
        let backlog = u32::try_from(self.qdisc.backlog()).unwrap_or(u32::MAX);
        self.capacity.rate_at(now).is_some_and(|(rate, _)| {
            rate.serialization(FULL_PACKET) < span && rate.serialization(backlog) > span
        })
    }

    /// Ends the link: sends the queued packets as if no others arrived, and purges packets that a
    /// blocked link holds.
    pub fn finish(&mut self, now: Instant, observer: &mut impl Observer) {
        self.run_until(now + LONGEST_DRAIN, observer);
        let direction = self.direction;
        let meter = &mut self.meter;
        let end = now + LONGEST_DRAIN;
        self.qdisc.purge(end, &mut |lost: IpPacket, why| {
            meter.dropped(why);
            observer.dropped(end, direction, &lost, why);
        });
        self.lines.clear();
        self.on_wire = None;
    }

    /// Replaces the discipline or its configuration. Queued packets stay queued; another discipline
    /// takes them over in order of arrival. Only packets that it refuses are dropped, and they
    /// count as dropped after having been queued.
    pub fn reconfigure(&mut self, now: Instant, config: AnyConfig, observer: &mut impl Observer) {
        self.run_until(now, observer);
        let direction = self.direction;
        let meter = &mut self.meter;
        if std::mem::discriminant(&self.qdisc.config()) == std::mem::discriminant(&config) {
            observer.reconfigured(now, direction, Reconfigured::Settings(&config));
            let mut dropped = Vec::new();
            self.qdisc.reconfigure(now, config, &mut |lost: IpPacket, why| dropped.push((lost, why)));
            dropped.sort_by_key(|(lost, _)| lost.seq);
            for (lost, why) in dropped {
                meter.dropped(why);
                observer.dropped(now, direction, &lost, why);
            }
        } else {
            observer.reconfigured(now, direction, Reconfigured::Discipline(&config));
            let before = self.qdisc.stats();
            let mut kept = Vec::new();
            self.qdisc.purge(now, &mut |packet: IpPacket, _: DropReason| kept.push(packet));
            kept.sort_by_key(|packet| packet.seq);
            self.qdisc = AnyQdisc::new(config, 0, Source::seeded(self.seed));
            for packet in kept {
                self.qdisc.enqueue(now, packet, &mut |lost: IpPacket, why| {
                    meter.dropped(why);
                    observer.dropped(now, direction, &lost, why);
                });
            }
            self.counted = self.counted.plus(&handed_over(before, &self.qdisc.stats()));
        }
        self.meter.length_is(now, self.qdisc.len());
        self.wake(now);
    }

    /// Changes the capacity. The current packet finishes at the old rate.
    pub fn set_capacity(&mut self, now: Instant, capacity: Capacity, observer: &mut impl Observer) {
        self.run_until(now, observer);
        observer.reconfigured(now, self.direction, Reconfigured::Capacity);
        self.capacity = capacity;
        self.opportunity = self.capacity.first_opportunity(now);
        self.wake(now);
    }

    /// Asks the discipline as soon as the link is free, because something has changed.
    fn wake(&mut self, now: Instant) {
        if self.qdisc.is_empty() && self.unfinished.is_none() {
            return;
        }
        self.ask_at = match self.capacity {
            Capacity::Trace(_) => self.capacity.opportunity(self.opportunity),
            // A packet that would take for ever (rate 0) does not block the next ones.
            _ if self.busy_until == Instant::MAX => Some(now),
            _ => Some(self.busy_until.max(now)),
        };
    }

    /// Returns the capacity.
    #[must_use]
    pub const fn capacity(&self) -> &Capacity {
        &self.capacity
    }

    /// Returns the discipline.
    #[must_use]
    pub const fn qdisc(&self) -> &AnyQdisc<IpPacket> {
        &self.qdisc
    }

    /// Returns the counters of the discipline and of its predecessors.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.counted.plus(&self.qdisc.stats())
    }

    /// Returns the most bytes that can propagate at a time; `None` without a limit.
    pub(crate) fn most_propagating(&self) -> Option<u64> {
        most_propagating(&self.capacity, &self.delay)
    }

    /// Returns the number of packets that have left the queue and not yet reached the other side.
    #[must_use]
    pub fn propagating(&self) -> usize {
        self.lines.iter().map(|line| line.1.len()).sum()
    }
}

fn most_propagating(capacity: &Capacity, delay: &Delay) -> Option<u64> {
    match delay.longest() {
        Duration::ZERO => Some(0),
        longest => capacity.most_within(longest),
    }
}

/// Returns the counters that a replaced discipline leaves to its link. `before` are its own,
/// `taken` those of its successor for the packets taken over. These packets were offered and queued
/// only once, so the result may wrap below zero; the counters of the successor make up for it.
fn handed_over(before: Stats, taken: &Stats) -> Stats {
    let mut left = before;
    left.offered = before.offered.minus(taken.offered);
    left.enqueued = before.enqueued.minus(taken.enqueued);
    left.dropped_before = before.dropped_before.minus(taken.dropped_before);
    left.dropped_after = before.dropped_after.plus(taken.dropped_before);
    left
}

/// Bytes of a full packet on Ethernet.
const FULL_PACKET: u32 = 1514;
/// Time on the link in which a queue may drain at the end.
const LONGEST_DRAIN: Duration = Duration::from_secs(3600);

/// Keeps the path's random numbers apart from the discipline's. Any number except 0 would do.
const PATH_SEED: u64 = 0x70_61_74_68;

#[cfg(test)]
mod tests;
