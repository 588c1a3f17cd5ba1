//! Statistics by flow: packets, sojourn times, drops and marks of the flows seen last.
//!
//! The table is bounded, whatever addresses packets carry. While it is full of recent flows,
//! further flows share one entry.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::net::IpAddr;
use std::rc::Rc;

use goodqueue::{DropReason, Duration, Ecn, Instant, Packet};

use crate::observer::{Direction, Observer};
use crate::packet::IpPacket;

/// The flows of both directions. Clones share the same table: one is an observer, another answers
/// questions.
#[derive(Clone, Debug, Default)]
pub struct Flows(Rc<RefCell<[Table; 2]>>);

#[derive(Debug, Default)]
struct Table {
    flows: BTreeMap<u32, FlowSeen>,
    others: FlowSeen,
}

/// Statistics of a flow.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct FlowSeen {
    /// Protocol, source and destination; empty for the entry that several flows share.
    pub name: FlowName,
    /// Packets that left the queue for the link.
    pub sent: u64,
    /// Bytes of these packets.
    pub bytes: u64,
    /// Packets dropped.
    pub dropped: u64,
    /// Packets that left the queue with a CE mark.
    pub marked: u64,
    /// Packets queued now.
    pub queued: u64,
    /// Bytes that left the queue in the last whole second.
    pub bytes_last_second: u64,
    /// Mean sojourn time in the last whole second.
    pub sojourn_last_second: Option<Duration>,
    second: Second,
    seen: Instant,
    /// Number of the first packet that `queued` of this entry counts. Earlier packets of the flow
    /// arrived while the table was full, and are in `queued` of the shared entry.
    first: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Second {
    bytes: u64,
    packets: u64,
    sojourn_sum: u64,
}

/// The two ends of a flow, as people write them.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct FlowName {
    /// `TCP`, `UDP`, `ICMP`, or a number.
    pub protocol: String,
    /// Address and port.
    pub source: String,
    /// Address and port.
    pub destination: String,
}

impl FlowName {
    fn from_packet(packet: &IpPacket) -> Self {
        let headers = packet.headers();
        let Some((source, destination)) = headers.addresses(packet.bytes()) else {
            return Self { protocol: "not IP".to_owned(), ..Self::default() };
        };
        let end = |address: IpAddr, port: u16| match (address, port) {
            // Headers without ports have port 0.
            (address, 0) => address.to_string(),
            (IpAddr::V4(address), port) => format!("{address}:{port}"),
            (IpAddr::V6(address), port) => format!("[{address}]:{port}"),
        };
        let protocol = match headers.protocol {
            // Protocol numbers of IANA; 58 is ICMPv6.
            1 | 58 => "ICMP".to_owned(),
            6 => "TCP".to_owned(),
            17 => "UDP".to_owned(),
            132 => "SCTP".to_owned(),
            number => number.to_string(),
        };
        let (from, to) = headers.ports;
        Self { protocol, source: end(source, from), destination: end(destination, to) }
    }
}

impl Flows {
    /// Returns at most `most` flows of a direction, sorted by queued packets, then by rate. The
    /// entry that several flows share comes last.
    #[must_use]
    pub fn in_direction(&self, direction: Direction, most: usize) -> Vec<FlowSeen> {
        let tables = self.0.borrow();
        let table = &tables[direction.index()];
        let mut flows: Vec<FlowSeen> = table.flows.values().cloned().collect();
        flows.sort_by_key(|flow| std::cmp::Reverse((flow.queued, flow.bytes_last_second, flow.bytes)));
        flows.truncate(most);
        if table.others.sent + table.others.dropped + table.others.queued > 0 {
            flows.push(table.others.clone());
        }
        flows
    }

    /// Ends a second: updates the rates, and forgets flows that have ended.
    pub fn end_second(&self, now: Instant) {
        for table in self.0.borrow_mut().iter_mut() {
            // A flow with queued packets stays, because their departures must find the entry that
            // counted them.
            table.flows.retain(|_, flow| flow.queued > 0 || now.since(flow.seen) < REMEMBERED);
            table.flows.values_mut().chain([&mut table.others]).for_each(FlowSeen::end_second);
        }
    }

    /// Records the departure of a packet in the entry of its flow.
    fn left(
        &self,
        now: Instant,
        direction: Direction,
        packet: &IpPacket,
        change: impl FnOnce(&mut FlowSeen),
    ) {
        let table = &mut self.0.borrow_mut()[direction.index()];
        // A flow with queued packets of its own has an entry. If this packet makes a new one, the
        // shared entry counted its arrival.
        let flow = table.entry(now, packet, packet.seq.saturating_add(1));
        change(flow);
        if packet.seq >= flow.first {
            flow.queued = flow.queued.saturating_sub(1);
        } else {
            table.others.queued = table.others.queued.saturating_sub(1);
        }
    }
}

impl Table {
    /// Returns the entry of a packet's flow, or the shared one if the table is full. A new entry
    /// counts the queued packets from number `first` on.
    fn entry(&mut self, now: Instant, packet: &IpPacket, first: u64) -> &mut FlowSeen {
        let is_full = self.flows.len() >= MOST_FLOWS;
        let flow = match self.flows.entry(packet.headers().flow) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(_) if is_full => return &mut self.others,
            Entry::Vacant(new) => {
                let name = FlowName::from_packet(packet);
                new.insert(FlowSeen { name, first, ..FlowSeen::default() })
            }
        };
        flow.seen = now;
        flow
    }
}

impl FlowSeen {
    fn end_second(&mut self) {
        let Second { bytes, packets, sojourn_sum } = std::mem::take(&mut self.second);
        self.bytes_last_second = bytes;
        self.sojourn_last_second = sojourn_sum.checked_div(packets).map(Duration::from_nanos);
    }
}

impl Observer for Flows {
    fn arrived(&mut self, now: Instant, direction: Direction, packet: &IpPacket) {
        self.0.borrow_mut()[direction.index()].entry(now, packet, packet.seq).queued += 1;
    }

    fn sent(&mut self, now: Instant, direction: Direction, packet: &IpPacket) {
        let sojourn = now.since(packet.arrived).as_nanos();
        self.left(now, direction, packet, |flow| {
            flow.sent += 1;
            flow.bytes += u64::from(packet.len());
            flow.marked += u64::from(packet.ecn() == Ecn::Ce);
            flow.second.packets += 1;
            flow.second.bytes += u64::from(packet.len());
            flow.second.sojourn_sum = flow.second.sojourn_sum.saturating_add(sojourn);
        });
    }

    fn dropped(&mut self, now: Instant, direction: Direction, packet: &IpPacket, _: DropReason) {
        self.left(now, direction, packet, |flow| flow.dropped += 1);
    }
}

/// Entries of each direction's table: more than anybody reads.
const MOST_FLOWS: usize = 1024;
const REMEMBERED: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::Pool;
    use crate::packet::Framing;

    fn packet(pool: &Pool, port: u16) -> IpPacket {
        numbered(pool, port, 0)
    }

    fn numbered(pool: &Pool, port: u16, number: u64) -> IpPacket {
        let mut bytes =
            [&[0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2][..], &[0; 8]].concat();
        bytes[20..22].copy_from_slice(&port.to_be_bytes());
        IpPacket::new(pool.copy(&bytes).unwrap(), Framing::Ip { counted: 0 }, number, Instant::ZERO)
    }

    #[test]
    fn each_flow_is_told_with_its_name_and_what_it_did() {
        let pool = Pool::new(1 << 20);
        let mut flows = Flows::default();
        let at = Instant::from_nanos;
        for port in [1, 1, 2] {
            flows.arrived(at(0), Direction::Up, &packet(&pool, port));
        }
        flows.sent(at(3_000), Direction::Up, &packet(&pool, 1));
        flows.dropped(at(4_000), Direction::Up, &packet(&pool, 2), DropReason::ALL[0]);
        flows.end_second(at(5_000));
        let seen = flows.in_direction(Direction::Up, 10);
        assert_eq!(seen.len(), 2);
        assert_eq!(
            (seen[0].name.source.as_str(), seen[0].name.destination.as_str()),
            ("10.0.0.1:1", "10.0.0.2")
        );
        assert_eq!((seen[0].queued, seen[0].sent, seen[0].bytes_last_second), (1, 1, 28));
        assert_eq!(seen[0].sojourn_last_second, Some(Duration::from_nanos(3_000)));
        assert_eq!((seen[1].queued, seen[1].dropped, seen[1].name.protocol.as_str()), (0, 1, "UDP"));
        assert!(flows.in_direction(Direction::Down, 10).is_empty());
        flows.end_second(at(0) + REMEMBERED + Duration::from_secs(1));
        assert_eq!(
            flows.in_direction(Direction::Up, 10).len(),
            1,
            "the one that has nothing queued is forgotten"
        );
    }

    #[test]
    fn made_up_flows_take_no_more_memory_than_there_is_for_them() {
        let pool = Pool::new(1 << 20);
        let mut flows = Flows::default();
        for port in 0..3000 {
            flows.arrived(Instant::ZERO, Direction::Down, &packet(&pool, port));
        }
        let seen = flows.in_direction(Direction::Down, usize::MAX);
        assert_eq!(seen.len(), MOST_FLOWS + 1);
        assert_eq!(seen.last().map(|others| others.queued), Some(3000 - MOST_FLOWS as u64));
    }

    #[test]
    fn a_packet_leaves_the_entry_that_counted_it_although_its_flow_got_its_own() {
        let pool = Pool::new(1 << 20);
        let mut flows = Flows::default();
        let mut numbers = 0..;
        let mut next = |port: u16| numbered(&pool, port, numbers.next().unwrap());
        for port in 0..1024 {
            let one = next(port);
            flows.arrived(Instant::ZERO, Direction::Up, &one);
            flows.sent(Instant::ZERO, Direction::Up, &one);
        }
        // The table is full, so these packets are counted in the shared entry.
        let early = [2000, 2000, 3000].map(&mut next);
        early.iter().for_each(|one| flows.arrived(Instant::ZERO, Direction::Up, one));
        let later = Instant::ZERO + REMEMBERED;
        flows.end_second(later);
        assert_eq!(flows.in_direction(Direction::Up, 9).last().map(|others| others.queued), Some(3));
        // Now there is room. One flow gets its entry when a packet arrives, the other one when its
        // packet leaves.
        let late = next(2000);
        flows.arrived(later, Direction::Up, &late);
        flows.sent(later, Direction::Up, &early[0]);
        flows.dropped(later, Direction::Up, &early[1], DropReason::ALL[0]);
        flows.sent(later, Direction::Up, &early[2]);
        let seen = flows.in_direction(Direction::Up, 9);
        let counts: Vec<_> = seen.iter().map(|flow| (flow.queued, flow.sent, flow.dropped)).collect();
        assert_eq!(counts, [(1, 1, 1), (0, 1, 0)], "the shared entry is empty again");
        flows.sent(later, Direction::Up, &late);
        assert_eq!(flows.in_direction(Direction::Up, 9).iter().map(|flow| flow.queued).sum::<u64>(), 0);
    }

    #[test]
    fn packets_of_other_protocols_share_an_entry_with_a_name() {
        let pool = Pool::new(1 << 20);
        let mut flows = Flows::default();
        for bytes in [[0; 40], [0x50; 40]] {
            let packet =
                IpPacket::new(pool.copy(&bytes).unwrap(), Framing::Ip { counted: 0 }, 0, Instant::ZERO);
            assert_eq!(packet.headers().addresses(packet.bytes()), None, "{bytes:?}");
            flows.arrived(Instant::ZERO, Direction::Up, &packet);
        }
        let seen = flows.in_direction(Direction::Up, 9);
        assert_eq!((seen.len(), seen[0].queued, seen[0].name.protocol.as_str()), (1, 2, "not IP"));
        assert_eq!(seen[0].name.source, "");
    }
}
