//! Fixed arrivals into a discipline on an ideal serial link. The result is the fate of each packet
//! and its time.
//!
//! The kernel's disciplines were recorded in this set-up: one packet in transmission, no ring, no
//! batching. The link takes the next packet at the instant at which the last packet's bits end.

use goodqueue::random::mix_64;
use goodqueue::{AnyConfig, DropReason, Duration, Ecn, Flow, Instant, Qdisc, Rate, TcpAck};

/// A packet that arrives at the discipline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// Time of the arrival.
    pub at: Instant,
    /// Number of the packet, which identifies it in [`Fate`].
    pub seq: u64,
    /// Index of the flow, from 0.
    pub flow: u32,
    /// Length in bytes.
    pub bytes: u32,
    /// TOS byte, with the ECN field in the low two bits.
    pub tos: u8,
    /// How the discipline classifies the packet.
    pub priority: Priority,
    /// Firewall mark; 0 for none.
    pub mark: u32,
    /// Source and destination host; `None`: all packets without hosts share the same two.
    pub hosts: Option<(u32, u32)>,
    /// TCP acknowledgement, if the packet is one.
    pub ack: Option<TcpAck>,
    /// Recorded hashes; `None`: computed from `flow` and `hosts`.
    pub hashes: Option<Hashes>,
    /// Memory of its buffers in the recorder; `None`: unknown.
    pub truesize: Option<u32>,
    /// Time on the recorder's clock before which the sender lets the packet not depart; `None`: at
    /// once.
    pub earliest: Option<Instant>,
}

/// Hashes of a packet's headers that were recorded elsewhere. They do not depend on the salt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hashes {
    /// Hash of the flow.
    pub flow: u32,
    /// Hashes of the source and the destination host.
    pub hosts: Option<(u32, u32)>,
}

/// The meaning of a flow's number `f` to a discipline (the kernel's `skb->priority`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Priority {
    /// The class `f + 1` of the discipline. Disciplines that hash flows use it too.
    Class,
    /// The plain number `f + 1`, which `prio` looks up in its `priomap`.
    Number,
    /// None: the headers distinguish flows.
    None,
    /// The priority that Linux routers derive from the TOS byte ([`Flow::priority`]), as on the
    /// live path.
    Tos,
    /// As [`Self::Tos`], with the flow and host hashes of the simulator: the packets were
    /// simulated.
    Simulated,
}

impl Priority {
    /// Reads the value from the header of a recording.
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

/// The fate of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// Left the discipline, and its first bit went on the link.
    Sent {
        /// Time of departure.
        at: Instant,
        /// Number of the packet.
        seq: u64,
        /// Length in bytes.
        bytes: u32,
        /// TOS byte, with CE if the packet was marked.
        tos: u8,
    },
    /// Dropped by the discipline.
    Dropped {
        /// Time of the drop.
        at: Instant,
        /// Number of the packet.
        seq: u64,
        /// Reason of the drop.
        why: DropReason,
    },
}

impl Fate {
    /// Returns the time of the departure or the drop.
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

    fn truesize(&self) -> Option<u32> {
        self.truesize
    }

    fn earliest_departure(&self) -> Option<Instant> {
        self.earliest
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
        // With the number of its original, as in recordings of the kernel.
        Some(*self)
    }

    /// Only the TOS byte of a recorded packet exists; it follows the Ethernet header and the first
    /// byte of the IP header. Packets of our own recordings have no bytes, as when they were
    /// recorded.
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
        // The last number of a flow has no class behind it.
        self.flow.checked_add(1).filter(|_| self.priority == Priority::Class)
    }

    fn priority(&self) -> u8 {
        match self.priority {
            // Linux looks at the low four bits (`TC_PRIO_MAX`). The recorder's priorities have bit
            // 0x10, too.
            Priority::Number => u8::try_from((self.flow & 15) + 1).unwrap_or(0) & 15,
            Priority::Class | Priority::None => 0,
            // tc-prio(8), table of the TOS values.
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

    /// Recorded hashes may be hashes of hosts, which several flows share.
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
    /// Returns the firewall mark of a packet of `flow`, given the header's description of marks:
    /// `flow+1<<24`, or none.
    #[must_use]
    pub fn mark_of_recording(said: Option<&str>, flow: u32) -> u32 {
        // As in C, `+` binds more tightly than `<<`.
        if said == Some("flow+1<<24") { flow.wrapping_add(1) << 24 } else { 0 }
    }

    fn hash(&self, number: u32, salt: u32) -> u32 {
        match self.priority {
            Priority::Simulated => mixed(salt, u64::from(number)),
            // Not 0 for flow 0: hashes of real headers hardly ever are.
            _ => mixed(salt, u64::from(number) + 1),
        }
    }
}

/// The simulator hashes the numbers of its flows in this way, too.
fn mixed(salt: u32, number: u64) -> u32 {
    // The upper half of 64 bits always fits.
    u32::try_from(mix_64((u64::from(salt) << 32) | number) >> 32).unwrap_or(0)
}

/// Where the TOS byte is in a frame.
const TOS_AT: u32 = 15;

/// Feeds `arrivals` (in order of time) to `qdisc` on a link of `rate` until the queue is empty, and
/// reports each packet's fate in the order in which things happen.
///
/// `origin` is added to every time that the discipline receives. It is the kernel's clock at the
/// start of a recording.
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

/// An ideal serial link: it sends one packet at a time and takes the next packet when the last bit
/// of the previous one has left.
#[derive(Clone, Debug)]
pub struct SerialLink {
    rate: Rate,
    origin: Duration,
    /// End of the packet in transmission.
    busy_until: Instant,
    /// Time at which to ask the discipline next; `None` if only an arrival can change its answer.
    ask_at: Option<Instant>,
    /// How much earlier than that an arrival asks.
    slack: Duration,
}

impl SerialLink {
    /// Returns an idle link of `rate`; `origin` is added to every time that the discipline
    /// receives.
    #[must_use]
    pub const fn new(rate: Rate, origin: Duration) -> Self {
        Self { rate, origin, busy_until: Instant::ZERO, ask_at: None, slack: Duration::ZERO }
    }

    /// Sets the slack of the discipline's timer to that of `config` (`timer_slack`). The kernel
    /// runs a timer with slack late, or together with another timer that is due in the meantime.
    /// Here that is the timer of an arrival.
    #[must_use]
    pub fn with_slack_of(self, config: &AnyConfig) -> Self {
        Self { slack: config.to_settings().time("timer_slack").unwrap_or_default(), ..self }
    }

    /// Handles everything due before `arrival`, then enqueues it, and takes a packet if the link is
    /// idle.
    pub fn arrive<Q: Qdisc<Arrival>>(
        &mut self,
        qdisc: &mut Q,
        arrival: Arrival,
        report: &mut impl FnMut(Fate),
    ) {
        let now = arrival.at;
        // At the same instant, packets arrive before the link takes one. In a recording of a
        // simulated run this holds only while the link is busy; an idle link asked before the
        // arrival.
        let simulated = arrival.priority == Priority::Simulated;
        let asked_before = Duration::from_nanos(u64::from(simulated && qdisc.len() == 0));
        self.run_until(qdisc, now + asked_before, report);
        let is_due = self.busy_until <= now && self.ask_at.is_some_and(|at| at <= now + self.slack);
        if is_due && !simulated && self.slack > Duration::ZERO {
            self.send_next(qdisc, now, report);
        }
        qdisc.enqueue(now + self.origin, arrival, &mut |packet: Arrival, why| {
            report(Fate::Dropped { at: now, seq: packet.seq, why });
        });
        // In a simulated run, the event that is planned for this instant asks after all arrivals.
        let waits = simulated && self.ask_at == Some(now);
        if self.busy_until <= now && !waits {
            self.send_next(qdisc, now, report);
        }
    }

    /// Changes the configuration of the discipline at `now`, after everything that is due before.
    /// Packets that it drops are reported in the order of their numbers. The link asks the
    /// discipline again at the time already planned.
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

    /// Takes the packets that are due before `end`.
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
                // At least a nanosecond, or a discipline that gives nothing at its own event would
                // be asked forever.
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
            truesize: None,
            earliest: None,
            mark: 0,
        };
        let mut fates = Vec::new();
        // A packet of 125 bytes takes 1 ms at 1 Mbit/s. The first packet goes on the link, the
        // second waits, the third exceeds the limit.
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
