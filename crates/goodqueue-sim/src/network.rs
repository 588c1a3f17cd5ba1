//! The dumbbell: two directions of one bottleneck, and for each round-trip time a delay line behind each.

use std::collections::{BTreeMap, VecDeque};

use goodqueue::{Duration, Instant, Qdisc, Stats};

use crate::events::EventQueue;
use crate::link::Link;
use crate::packet::{Direction, Packet, Payload};

/// Everything that packets travel through. Traffic sources send into it and ask it to be woken.
#[derive(Debug)]
pub struct Network {
    events: EventQueue,
    links: [Link; 2],
    lines: Vec<DelayLine>,
    /// The delay line of each flow, per direction.
    line_of: Vec<[u32; 2]>,
    /// When each flow will be woken; [`Instant::MAX`]: not at all.
    wake_at: Vec<Instant>,
    counters: Vec<FlowCounters>,
    framing: u32,
}

/// Packets in flight that all need the same time: they arrive in the order in which they left, so one event, for the
/// first of them, is enough.
#[derive(Debug)]
struct DelayLine {
    delay: Duration,
    packets: VecDeque<(Instant, Packet)>,
    direction: Direction,
}

/// What happened to a flow's packets at the bottleneck.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct FlowCounters {
    /// Packets offered to a queue.
    pub offered: u64,
    /// Packets that a queue dropped.
    pub dropped: u64,
}

/// Something that is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    /// A link may take its next packet.
    Serve(Direction),
    /// The rate of a link changes.
    RateChange(Direction),
    /// The first packet of a delay line arrives.
    Arrive(u32),
    /// A flow asked to be woken.
    Wake(u32),
    /// A flow begins.
    Start(u32),
    /// A flow ends.
    Stop(u32),
}

/// The largest number of flows and of delay lines: an event holds 21 bits of index.
pub const MAX_FLOWS: usize = 1 << 20;

impl Event {
    const fn encode(self) -> u32 {
        match self {
            Self::Serve(direction) => direction as u32,
            Self::RateChange(direction) => 2 | direction as u32,
            Self::Arrive(line) => 4 | line << 3,
            Self::Wake(flow) => 5 | flow << 3,
            Self::Start(flow) => 6 | flow << 3,
            Self::Stop(flow) => 7 | flow << 3,
        }
    }

    const fn decode(what: u32) -> Self {
        let index = what >> 3;
        match what & 7 {
            0 => Self::Serve(Direction::Down),
            1 => Self::Serve(Direction::Up),
            2 => Self::RateChange(Direction::Down),
            3 => Self::RateChange(Direction::Up),
            4 => Self::Arrive(index),
            5 => Self::Wake(index),
            6 => Self::Start(index),
            _ => Self::Stop(index),
        }
    }
}

impl Network {
    /// A network of two links (down, up) for flows with these round-trip times.
    pub(crate) fn new(links: [Link; 2], rtts: &[Duration], framing: u32) -> Self {
        let mut network = Self {
            events: EventQueue::default(),
            links,
            lines: Vec::new(),
            line_of: Vec::with_capacity(rtts.len()),
            wake_at: vec![Instant::MAX; rtts.len()],
            counters: vec![FlowCounters::default(); rtts.len()],
            framing,
        };
        for direction in Direction::BOTH {
            for when in network.links[direction.index()].change_times() {
                network.schedule(when, Event::RateChange(direction));
            }
        }
        let mut known = BTreeMap::new();
        for &rtt in rtts {
            // Half of the round-trip time each way; of an odd nanosecond the way down takes the larger half.
            let up = Duration::from_nanos(rtt.as_nanos() / 2);
            let down = rtt.saturating_sub(up);
            let lines = [(Direction::Down, down), (Direction::Up, up)].map(|(direction, delay)| {
                *known.entry((direction, delay)).or_insert_with(|| {
                    network.lines.push(DelayLine { delay, packets: VecDeque::new(), direction });
                    u32::try_from(network.lines.len() - 1).unwrap_or(u32::MAX)
                })
            });
            network.line_of.push(lines);
        }
        network
    }

    pub(crate) fn schedule(&mut self, when: Instant, event: Event) {
        self.events.push(when, event.encode());
    }

    /// The next event that is due before `end`.
    #[inline]
    pub(crate) fn next_event(&mut self, end: Instant) -> Option<(Instant, Event)> {
        let (when, what) = self.events.pop_before(end)?;
        Some((when, Event::decode(what)))
    }

    /// Sends a packet of `flow`, `bytes` long at the IP layer, into the bottleneck's queue for `direction`.
    #[inline]
    pub fn send(&mut self, now: Instant, direction: Direction, flow: u32, bytes: u32, payload: Payload) {
        let packet = Packet { queued_at: now, flow, len: bytes + self.framing, payload };
        let Self { links, counters, .. } = self;
        counters[flow as usize].offered += 1;
        let link = &mut links[direction.index()];
        let call_at =
            link.enqueue(now, packet, &mut |lost: &Packet| counters[lost.flow as usize].dropped += 1);
        if let Some(when) = call_at {
            if link.serves_at(now) {
                self.serve(now, direction);
            } else {
                self.events.push(when, Event::Serve(direction).encode());
            }
        }
    }

    /// Wakes `flow` at `when`, unless it will be woken before that: who is woken too early asks again.
    #[inline]
    pub fn wake(&mut self, flow: u32, when: Instant) {
        let wake_at = &mut self.wake_at[flow as usize];
        if when < *wake_at {
            *wake_at = when;
            self.events.push(when, Event::Wake(flow).encode());
        }
    }

    /// True if the wake-up of `flow` at `now` is the one last asked for.
    #[inline]
    pub(crate) fn wakes(&mut self, now: Instant, flow: u32) -> bool {
        let wake_at = &mut self.wake_at[flow as usize];
        let current = *wake_at == now;
        if current {
            *wake_at = Instant::MAX;
        }
        current
    }

    #[inline]
    pub(crate) fn serve(&mut self, now: Instant, direction: Direction) {
        let Self { links, counters, .. } = self;
        let progress = links[direction.index()]
            .serve(now, &mut |lost: &Packet| counters[lost.flow as usize].dropped += 1);
        if let Some((end, packet)) = progress.sent {
            let index = self.line_of[packet.flow as usize][direction.index()];
            let line = &mut self.lines[index as usize];
            let arrival = end + line.delay;
            line.packets.push_back((arrival, packet));
            if line.packets.len() == 1 {
                self.events.push(arrival, Event::Arrive(index).encode());
            }
        }
        if let Some(when) = progress.call_at {
            self.events.push(when, Event::Serve(direction).encode());
        }
    }

    pub(crate) fn change_rate(&mut self, now: Instant, direction: Direction) {
        if let Some(when) = self.links[direction.index()].change_rate(now) {
            self.schedule(when, Event::Serve(direction));
        }
    }

    /// Takes the packet that arrives at the end of a delay line, and the direction in which it travelled.
    #[inline]
    pub(crate) fn arrive(&mut self, index: u32) -> Option<(Packet, Direction)> {
        let line = &mut self.lines[index as usize];
        let (_, packet) = line.packets.pop_front()?;
        if let Some(&(next, _)) = line.packets.front() {
            self.events.push(next, Event::Arrive(index).encode());
        }
        Some((packet, line.direction))
    }

    pub(crate) fn links_mut(&mut self) -> &mut [Link; 2] {
        &mut self.links
    }

    pub(crate) fn into_links(self) -> [Link; 2] {
        self.links
    }

    pub(crate) fn stats(&self) -> [Stats; 2] {
        [self.links[0].qdisc().stats(), self.links[1].qdisc().stats()]
    }

    pub(crate) fn counters(&self) -> &[FlowCounters] {
        &self.counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_survive_their_packing() {
        let last = u32::try_from(MAX_FLOWS).expect("small") - 1;
        let events = [
            Event::Serve(Direction::Down),
            Event::Serve(Direction::Up),
            Event::RateChange(Direction::Down),
            Event::RateChange(Direction::Up),
            Event::Arrive(last),
            Event::Wake(last),
            Event::Start(0),
            Event::Stop(last),
        ];
        for event in events {
            assert!(event.encode() <= EventQueue::MAX_WHAT);
            assert_eq!(Event::decode(event.encode()), event);
        }
    }
}
