//! Fixed arrivals into a discipline on an ideal serial link: what becomes of each packet, and when.
//!
//! This is the set-up in which the kernel's disciplines were recorded: one packet in flight, no ring, no batching; the
//! next packet is taken at the instant at which the last one's bits end.

use goodqueue::random::mix_64;
use goodqueue::{DropReason, Duration, Ecn, Flow, Instant, Qdisc, Rate, TcpAck};

use crate::packet;

/// A packet that arrives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// When.
    pub at: Instant,
    /// Its number; part of the answer.
    pub seq: u64,
    /// Its flow, from 0.
    pub flow: u32,
    /// Its length.
    pub bytes: u32,
    /// Its TOS byte, the ECN field in the low two bits.
    pub tos: u8,
    /// What the flow's number means to a discipline.
    pub priority: Priority,
    /// What a firewall marked it with; 0: nothing.
    pub mark: u32,
    /// The hosts that it comes from and goes to; `None`: those that all packets without share.
    pub hosts: Option<(u32, u32)>,
    /// What it acknowledges, if it is a TCP segment that does.
    pub ack: Option<TcpAck>,
    /// What the recorder's hashes made of it; `None`: hashes of our own.
    pub hashes: Option<Hashes>,
}

/// Hashes of a packet's headers as somebody else took them, whatever the salt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hashes {
    /// Of its flow.
    pub flow: u32,
    /// Of the host that it comes from, and of the one that it goes to.
    pub hosts: Option<(u32, u32)>,
}

/// What was in the kernel's `skb->priority` of a packet of flow `f`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Priority {
    /// The class `f + 1` of the discipline, which disciplines that hash flows take too.
    Class,
    /// The plain number `f + 1`, which `prio` looks up in its `priomap`.
    Number,
    /// Nothing: flows are told apart by their headers.
    None,
    /// What Linux's routers make of the TOS byte ([`Flow::priority`]), as on the live path.
    Tos,
    /// The same, and flows and hosts are hashed as in the simulator: the packets were simulated.
    Simulated,
}

impl Priority {
    /// What the header of a recording says.
    #[must_use]
    pub fn of_recording(said: Option<&str>) -> Self {
        match said {
            Some("none") => Self::None,
            Some("tos") => Self::Tos,
            Some("simulated") => Self::Simulated,
            Some(number) if number.starts_with("0x10|") => Self::Number,
            _ => Self::Class,
        }
    }
}

/// What became of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It left the discipline and its first bit went on the link.
    Sent {
        /// When.
        at: Instant,
        /// Its number.
        seq: u64,
        /// Its length.
        bytes: u32,
        /// Its TOS byte, with CE if it was marked.
        tos: u8,
    },
    /// It was dropped.
    Dropped {
        /// When.
        at: Instant,
        /// Its number.
        seq: u64,
        /// Why.
        why: DropReason,
    },
}

impl Fate {
    /// When.
    #[must_use]
    pub const fn at(&self) -> Instant {
        match self {
            Self::Sent { at, .. } | Self::Dropped { at, .. } => *at,
        }
    }
}

impl goodqueue::Packet for Arrival {
    fn len(&self) -> u32 {
        self.bytes
    }

    fn ecn(&self) -> Ecn {
        Ecn::from_bits(self.tos)
    }

    fn set_ce(&mut self) -> bool {
        let capable = self.ecn().is_capable();
        if capable {
            self.tos |= Ecn::Ce.bits();
        }
        capable
    }

    fn duplicate(&self) -> Option<Self> {
        Some(*self)
    }

    /// Of the bytes only TOS is there: behind the header of Ethernet, the second one of IP's. Packets of our own recordings have
    /// none, as when they were recorded.
    fn corrupt(&mut self, byte: u32, bit: u8) -> bool {
        if matches!(self.priority, Priority::Tos | Priority::Simulated) {
            return false;
        }
        if byte == TOS_AT {
            self.tos ^= 1 << (bit & 7);
        }
        true
    }
}

impl Flow for Arrival {
    fn flow_hash(&self, salt: u32) -> u32 {
        self.hashes.map_or_else(|| self.hash(self.flow, salt), |hashes| hashes.flow)
    }

    fn class(&self) -> Option<u32> {
        self.flow.checked_add(1).filter(|_| self.priority == Priority::Class)
    }

    fn priority(&self) -> u8 {
        match self.priority {
            Priority::Number => u8::try_from((self.flow & 15) + 1).unwrap_or(0) & 15,
            Priority::Class | Priority::None => 0,
            // tc-prio(8).
            Priority::Tos | Priority::Simulated => match self.tos >> 3 & 3 {
                1 => 2,
                2 => 6,
                3 => 4,
                _ => 0,
            },
        }
    }

    fn mark(&self) -> u32 {
        self.mark
    }

    fn source_hash(&self, salt: u32) -> u32 {
        match self.hashes.and_then(|hashes| hashes.hosts) {
            Some((source, _)) => source,
            None => self.hosts.map_or(0, |hosts| self.hash(hosts.0, salt)),
        }
    }

    fn destination_hash(&self, salt: u32) -> u32 {
        match self.hashes.and_then(|hashes| hashes.hosts) {
            Some((_, destination)) => destination,
            None => self.hosts.map_or(0, |hosts| self.hash(hosts.1, salt)),
        }
    }

    fn tcp_ack(&self) -> Option<TcpAck> {
        self.ack
    }

    /// Recorded hashes may be those of hosts, which several flows share.
    fn same_flow(&self, other: &Self) -> bool {
        (self.flow, self.hosts) == (other.flow, other.hosts)
    }

    fn dscp(&self) -> u8 {
        self.tos >> 2
    }

    fn clear_dscp(&mut self) {
        self.tos &= 3;
    }
}

impl Arrival {
    /// The mark of a packet of `flow` in a recording whose header says this of marks: `flow+1<<24`, or nothing.
    #[must_use]
    pub fn mark_of_recording(said: Option<&str>, flow: u32) -> u32 {
        if said == Some("flow+1<<24") { flow.wrapping_add(1) << 24 } else { 0 }
    }

    fn hash(&self, number: u32, salt: u32) -> u32 {
        match self.priority {
            Priority::Simulated => packet::hash(salt, number),
            // Not 0 for flow 0: hashes of real headers hardly ever are.
            _ => u32::try_from(mix_64((u64::from(salt) << 32) | (u64::from(number) + 1)) >> 32).unwrap_or(0),
        }
    }
}

/// Where the TOS byte is in a frame.
const TOS_AT: u32 = 15;

/// Feeds `arrivals` (in order of time) to `qdisc` on a link of `rate`, and reports each packet's fate, in the order in
/// which things happen, until the queue is empty. `origin` is added to every time that the discipline is told: the
/// kernel's own clock at the start of a recording.
pub fn replay<Q: Qdisc<Arrival>>(
    qdisc: &mut Q,
    rate: Rate,
    origin: Duration,
    arrivals: impl IntoIterator<Item = Arrival>,
    mut report: impl FnMut(Fate),
) {
    let mut link = SerialLink::new(rate, origin);
    for arrival in arrivals {
        link.arrive(qdisc, arrival, &mut report);
    }
    link.run_until(qdisc, Instant::MAX, &mut report);
}

/// An ideal serial link: one packet at a time, the next is taken at the instant at which the last one's bits end.
#[derive(Clone, Debug)]
pub struct SerialLink {
    rate: Rate,
    origin: Duration,
    /// When the last bit of the packet on the link ends.
    busy_until: Instant,
    /// When to ask the discipline next; `None` once it has said that only an arrival can help.
    ask_at: Option<Instant>,
}

impl SerialLink {
    /// An idle link of `rate`; `origin` is added to every time that the discipline is told.
    #[must_use]
    pub const fn new(rate: Rate, origin: Duration) -> Self {
        Self { rate, origin, busy_until: Instant::ZERO, ask_at: None }
    }

    /// Lets `arrival` come, after all that is due before it, and takes a packet if the link is idle.
    pub fn arrive<Q: Qdisc<Arrival>>(
        &mut self,
        qdisc: &mut Q,
        arrival: Arrival,
        report: &mut impl FnMut(Fate),
    ) {
        let now = arrival.at;
        // At one instant packets come before the link takes one. In a simulated run all of them do, if the link was busy; an
        // idle one has asked before.
        let simulated = arrival.priority == Priority::Simulated;
        let asked_before = Duration::from_nanos(u64::from(simulated && qdisc.len() == 0));
        self.run_until(qdisc, now + asked_before, report);
        qdisc.enqueue(now + self.origin, arrival, &mut |packet: Arrival, why| {
            report(Fate::Dropped { at: now, seq: packet.seq, why });
        });
        let waits = simulated && self.ask_at == Some(now);
        if self.busy_until <= now && !waits {
            self.send_next(qdisc, now, report);
        }
    }

    /// Changes the discipline at `now`, after all that is due before. What it drops is reported by number: it goes all
    /// at once. The link asks again when it would have asked.
    pub fn reconfigure<Q: Qdisc<Arrival>>(
        &mut self,
        qdisc: &mut Q,
        now: Instant,
        config: Q::Config,
        report: &mut impl FnMut(Fate),
    ) {
        self.run_until(qdisc, now, report);
        let clock = now + self.origin;
        let mut dropped = Vec::new();
        qdisc.reconfigure(clock, config, &mut |packet: Arrival, why| dropped.push((packet.seq, why)));
        dropped.sort_by_key(|&(seq, _)| seq);
        for (seq, why) in dropped {
            report(Fate::Dropped { at: now, seq, why });
        }
    }

    /// Takes packets that are due before `end`.
    pub fn run_until<Q: Qdisc<Arrival>>(
        &mut self,
        qdisc: &mut Q,
        end: Instant,
        report: &mut impl FnMut(Fate),
    ) {
        while let Some(now) = self.ask_at.filter(|&due| due < end) {
            self.send_next(qdisc, now, report);
        }
    }

    fn send_next<Q: Qdisc<Arrival>>(&mut self, qdisc: &mut Q, now: Instant, report: &mut impl FnMut(Fate)) {
        let clock = now + self.origin;
        let mut drops = |packet: Arrival, why| report(Fate::Dropped { at: now, seq: packet.seq, why });
        self.ask_at = match qdisc.dequeue(clock, &mut drops) {
            Some(packet) => {
                report(Fate::Sent { at: now, seq: packet.seq, bytes: packet.bytes, tos: packet.tos });
                self.busy_until = now + self.rate.serialization(packet.bytes);
                Some(self.busy_until)
            }
            None => {
                qdisc.next_event(clock).map(|event| now + event.since(clock).max(Duration::from_nanos(1)))
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodqueue::fifo::{Pfifo, PfifoConfig};

    #[test]
    fn packets_leave_back_to_back_and_what_does_not_fit_is_dropped() {
        let mut queue = Pfifo::new(PfifoConfig::new(1).expect("valid"));
        let arrival = |at, seq| Arrival {
            at: Instant::from_nanos(at),
            seq,
            flow: 0,
            bytes: 125,
            tos: 0,
            priority: Priority::Class,
            hosts: None,
            ack: None,
            hashes: None,
            mark: 0,
        };
        let mut fates = Vec::new();
        // 125 bytes take 1 ms at 1 Mbit/s: the first goes on the link, the second waits, the third is too many.
        let arrivals = [arrival(0, 0), arrival(10, 1), arrival(20, 2), arrival(1_000_001, 3)];
        replay(&mut queue, Rate::from_bps(1_000_000), Duration::ZERO, arrivals, |fate| {
            fates.push(match fate {
                Fate::Sent { at, seq, .. } => (at.as_nanos(), seq, true),
                Fate::Dropped { at, seq, .. } => (at.as_nanos(), seq, false),
            });
        });
        assert_eq!(fates, [(0, 0, true), (20, 2, false), (1_000_000, 1, true), (2_000_000, 3, true)]);
    }
}
