//! One direction of the bottleneck, without a clock: a discipline, a link, what the path loses, and its delay.
//!
//! # Time
//! A process wakes up late. If packets left the queue when it wakes, the rate would be too low and the discipline would
//! see delays that are not the network's. So the link lives in the time of its packets: it takes packet after packet at
//! the instants at which its last bit was out, however late it is told, and before it looks at a packet that came after
//! these instants. Lateness only delays the moment at which a packet is handed out; it changes no decision and adds up
//! to nothing. It also makes a run repeatable: the same arrivals, replayed, have the same fates at the same nanosecond.

use std::collections::VecDeque;

use goodqueue::random::Source;
use goodqueue::{AnyConfig, AnyQdisc, DropReason, Duration, Instant, Packet, Qdisc, Stats};

use crate::capacity::{Capacity, OPPORTUNITY_BYTES, TUN_HEADER};
use crate::meter::Meter;
use crate::observer::{Direction, Observer, Reconfigured};
use crate::packet::IpPacket;

/// What a link is made from.
#[derive(Clone, Debug)]
pub struct LinkConfig {
    /// What it carries.
    pub capacity: Capacity,
    /// The discipline in front of it.
    pub qdisc: AnyConfig,
    /// What the path behind it does to packets beside delaying them: a `netem` line, say.
    pub path: Option<AnyConfig>,
    /// Propagation delay.
    pub delay: Delay,
    /// Bytes that the queue counts on top of an IP packet and a trace does not.
    pub framing: u32,
    /// Seed of the discipline's random numbers.
    pub seed: u64,
}

/// Propagation delay, of all packets or by their ports.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Delay {
    /// Of packets that are not told apart.
    pub base: Duration,
    /// Of packets from or to these ports, ascending.
    pub by_port: Vec<(u16, Duration)>,
}

impl Delay {
    /// The same for all packets.
    #[must_use]
    pub const fn of(base: Duration) -> Self {
        Self { base, by_port: Vec::new() }
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

/// One direction of the bottleneck, running.
#[derive(Debug)]
pub struct Link {
    direction: Direction,
    capacity: Capacity,
    qdisc: AnyQdisc<IpPacket>,
    path: Option<AnyQdisc<IpPacket>>,
    delay: Delay,
    framing: u32,
    seed: u64,
    /// When the last bit of the packet on the link is out.
    busy_until: Instant,
    /// When to ask the discipline next; `None` once only an arrival can help.
    ask_at: Option<Instant>,
    /// When to ask the path next.
    path_at: Option<Instant>,
    /// On its way to a path that does something, until its last bit is out.
    on_wire: Option<(Instant, IpPacket)>,
    /// Of a trace: the number of the next opportunity, and a packet that needs more than the last one gave.
    opportunity: u64,
    unfinished: Option<(IpPacket, u32)>,
    /// Packets that propagate, one line for each delay.
    lines: Vec<(Duration, VecDeque<(Instant, IpPacket)>)>,
    /// What disciplines that were replaced have counted, see [`handed_over`].
    counted: Stats,
    /// What is measured.
    pub meter: Meter,
}

impl Link {
    /// A link that begins at time 0.
    #[must_use]
    pub fn new(direction: Direction, config: &LinkConfig) -> Self {
        Self {
            direction,
            capacity: config.capacity.clone(),
            qdisc: AnyQdisc::new(config.qdisc.clone(), 0, Source::seeded(config.seed)),
            path: config
                .path
                .as_ref()
                // A seed of its own: what is lost on the path has nothing to do with the discipline's draws.
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

    /// A packet arrives. Times must not go back.
    pub fn arrive(&mut self, now: Instant, packet: IpPacket, observer: &mut impl Observer) {
        // What leaves at this very instant leaves after it.
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

    /// Does everything that is due before `end`.
    fn run_until(&mut self, end: Instant, observer: &mut impl Observer) {
        while let Some(due) = self.next_step().filter(|&due| due < end) {
            self.run_step(due, observer);
        }
    }

    /// When the link itself has something to do next, propagation apart.
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

    /// Takes the next packet, as the link is free. False if there is none now.
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

    /// Mahimahi's rule: an opportunity carries 1504 bytes; a packet may need several, several may share one, and what is
    /// not used is lost.
    fn use_opportunity(&mut self, now: Instant, observer: &mut impl Observer) {
        let mut budget = OPPORTUNITY_BYTES;
        let more = loop {
            let next = self.unfinished.take().or_else(|| {
                let packet = self.take(now, observer)?;
                let bytes = packet.len().saturating_sub(self.framing).saturating_add(TUN_HEADER);
                Some((packet, bytes))
            });
            let Some((packet, bytes)) = next else {
                // What a shaper holds back is asked for at every opportunity.
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

    /// The packet that the discipline gives, if any.
    fn take(&mut self, now: Instant, observer: &mut impl Observer) -> Option<IpPacket> {
        let (direction, meter) = (self.direction, &mut self.meter);
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

    /// The last bit of `packet` is on the link at `end`.
    fn hand_over(&mut self, end: Instant, packet: IpPacket, observer: &mut impl Observer) {
        if self.path.is_none() {
            self.propagate(end, packet);
            return;
        }
        if let Some((at, before)) = self.on_wire.replace((end, packet)) {
            // Of an opportunity that carries several, and of a link without a limit, the one before is through at once.
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

    /// Does everything that is due until `now`, and gives the next packet that has come through, if one has.
    pub fn poll(&mut self, now: Instant, observer: &mut impl Observer) -> Option<IpPacket> {
        // What is due at this very instant waits: a packet that comes at it comes first.
        self.run_until(now, observer);
        let due = |line: &(Duration, VecDeque<(Instant, IpPacket)>)| line.1.front().map(|first| first.0);
        let line = self.lines.iter_mut().min_by_key(|line| due(line).unwrap_or(Instant::MAX))?;
        if due(line)? > now {
            return None;
        }
        line.1.pop_front().map(|(_, packet)| packet)
    }

    /// When [`Self::poll`] has something to do next.
    #[must_use]
    pub fn next_event(&self) -> Option<Instant> {
        let propagated = self.lines.iter().filter_map(|line| line.1.front().map(|first| first.0)).min();
        [self.next_step(), propagated].into_iter().flatten().min()
    }

    /// Packets wait that take longer than `span`, and a full one takes less: the link is busy for so long whatever comes.
    pub(crate) fn is_dense(&self, now: Instant, span: Duration) -> bool {
        let backlog = u32::try_from(self.qdisc.backlog()).unwrap_or(u32::MAX);
        self.capacity.rate_at(now).is_some_and(|(rate, _)| {
            rate.serialization(FULL_PACKET) < span && rate.serialization(backlog) > span
        })
    }

    /// Follows what is still queued to its fate, as if nothing came any more; what a blocked link holds is purged. Ends the
    /// link.
    pub fn finish(&mut self, now: Instant, observer: &mut impl Observer) {
        self.run_until(now + LONGEST_DRAIN, observer);
        let (direction, meter, end) = (self.direction, &mut self.meter, now + LONGEST_DRAIN);
        self.qdisc.purge(end, &mut |lost: IpPacket, why| {
            meter.dropped(why);
            observer.dropped(end, direction, &lost, why);
        });
        self.lines.clear();
        self.on_wire = None;
    }

    /// Puts another discipline, or another configuration, in the place of this one. Queued packets stay queued: another
    /// discipline takes them over in the order of their arrival. Only packets that it refuses are dropped, and counted as
    /// packets that were queued.
    pub fn reconfigure(&mut self, now: Instant, config: AnyConfig, observer: &mut impl Observer) {
        self.run_until(now, observer);
        let (direction, meter) = (self.direction, &mut self.meter);
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

    /// From now on the link carries this. The packet on it ends at the old rate.
    pub fn set_capacity(&mut self, now: Instant, capacity: Capacity, observer: &mut impl Observer) {
        self.run_until(now, observer);
        observer.reconfigured(now, self.direction, Reconfigured::Capacity);
        self.capacity = capacity;
        self.opportunity = self.capacity.first_opportunity(now);
        self.wake(now);
    }

    /// Asks the discipline as soon as the link is free: something about it has changed.
    fn wake(&mut self, now: Instant) {
        if self.qdisc.is_empty() && self.unfinished.is_none() {
            return;
        }
        self.ask_at = match self.capacity {
            Capacity::Trace(_) => self.capacity.opportunity(self.opportunity),
            // A packet that would have taken for ever (rate 0) does not hold up the others.
            _ if self.busy_until == Instant::MAX => Some(now),
            _ => Some(self.busy_until.max(now)),
        };
    }

    /// What it carries.
    #[must_use]
    pub const fn capacity(&self) -> &Capacity {
        &self.capacity
    }

    /// The discipline.
    #[must_use]
    pub const fn qdisc(&self) -> &AnyQdisc<IpPacket> {
        &self.qdisc
    }

    /// What the discipline has done, and those that were here before it.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.counted.plus(&self.qdisc.stats())
    }

    /// Packets that are past the queue and not out yet.
    #[must_use]
    pub fn propagating(&self) -> usize {
        self.lines.iter().map(|line| line.1.len()).sum()
    }
}

/// What a discipline that is replaced adds to the counters of its link: `before` is what it had done, `taken` what the next
/// one did with the packets that it took over. These packets were offered and queued once only, so the counters may wrap
/// below zero here; those of the next discipline make up for that.
fn handed_over(before: Stats, taken: &Stats) -> Stats {
    Stats {
        offered: before.offered.minus(taken.offered),
        enqueued: before.enqueued.minus(taken.enqueued),
        dropped_before: before.dropped_before.minus(taken.dropped_before),
        dropped_after: before.dropped_after.plus(taken.dropped_before),
        ..before
    }
}

/// On Ethernet.
const FULL_PACKET: u32 = 1514;
/// So much time of the link a queue gets to empty itself at the end.
const LONGEST_DRAIN: Duration = Duration::from_secs(3600);

/// Any number but 0.
const PATH_SEED: u64 = 0x70_61_74_68;

#[cfg(test)]
mod tests;
