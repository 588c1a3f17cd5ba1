//! The ring of a network device: a queue below the discipline, which the discipline does not see.
//!
//! A discipline controls only the packets that wait in the discipline. A device that takes more
//! packets than it can send at once forms a FIFO, whose delay adds to that of the discipline. Byte
//! queue limits (BQL, Linux 3.3) keep that FIFO short.

use std::collections::VecDeque;

use goodqueue::{Count, Duration, Instant};

use crate::packet::Packet;

/// The limit of a device's ring. The packet in transmission counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Driver {
    /// At most this number of packets; 1 is a device without a queue.
    Packets(u32),
    /// Takes another packet while it holds fewer than this number of bytes.
    Bytes(u32),
    /// Byte queue limits: the fewest bytes that keep the device busy.
    Bql,
}

/// A ring in operation.
#[derive(Debug)]
pub(crate) struct Ring {
    driver: Driver,
    packets: VecDeque<Packet>,
    bytes: u64,
    /// Length of the packet in transmission; 0 if there is none.
    sending: u32,
    bql: Bql,
}

/// The state of byte queue limits (Linux, lib/dynamic_queue_limits.c).
///
/// The limit grows by the completed bytes when the device ran empty while the discipline had more
/// packets. It shrinks by the smallest number of bytes that was left over at the completions of one
/// second.
#[derive(Debug, Default)]
struct Bql {
    limit: u64,
    /// True if the limit kept packets in the discipline.
    held_back: bool,
    /// Smallest number of bytes left in the ring at a completion since `since`.
    slack: Option<u64>,
    /// Start of the present watch for slack.
    since: Instant,
}

/// Time for which slack is watched before the limit shrinks (`slack_hold_time`, HZ in Linux).
const HOLD: Duration = Duration::from_secs(1);

impl Ring {
    pub(crate) fn new(driver: Driver) -> Self {
        Self { driver, packets: VecDeque::new(), bytes: 0, sending: 0, bql: Bql::default() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Returns the packets that wait in the ring, without the one in transmission.
    pub(crate) fn held(&self) -> Count {
        Count { packets: self.packets.len() as u64, bytes: self.bytes }
    }

    /// Returns true if the device takes another packet now.
    pub(crate) fn has_room(&self) -> bool {
        let inside = self.bytes + u64::from(self.sending);
        // Linux counts a packet in the ring until its transmission is complete.
        let packets = self.packets.len() + usize::from(self.sending > 0);
        match self.driver {
            // A limit of 0 would stop the device for good.
            Driver::Packets(limit) => packets < limit.max(1) as usize,
            Driver::Bytes(limit) => inside < u64::from(limit.max(1)),
            // An empty device takes a packet whatever the limit is, or a limit of 0 would stop it
            // for good.
            Driver::Bql => inside == 0 || inside < self.bql.limit,
        }
    }

    /// Records whether the ring is full while the discipline has `more` packets.
    pub(crate) fn holds_back(&mut self, more: bool) {
        self.bql.held_back = more;
    }

    pub(crate) fn push(&mut self, packet: Packet) {
        self.bytes += u64::from(packet.len);
        self.packets.push_back(packet);
    }

    /// Completes the transmission of the current packet.
    pub(crate) fn complete(&mut self, now: Instant) {
        // An idle device has completed nothing.
        if self.sending == 0 {
            return;
        }
        let completed = u64::from(self.sending);
        self.sending = 0;
        let bql = &mut self.bql;
        // The device ran empty although packets were waiting above: the limit was too small (Linux,
        // `dql_completed()`).
        if self.bytes == 0 && bql.held_back {
            bql.limit += completed;
            (bql.slack, bql.since) = (None, now);
        } else {
            let slack = bql.slack.map_or(self.bytes, |slack| slack.min(self.bytes));
            bql.slack = Some(slack);
            if now.since(bql.since) > HOLD {
                // The slack was measured below another limit and may exceed this one.
                bql.limit = bql.limit.saturating_sub(slack);
                // The next second is watched anew, as in `dql_completed()`.
                (bql.slack, bql.since) = (None, now);
            }
        }
    }

    /// Removes the next packet and begins its transmission.
    pub(crate) fn pop(&mut self) -> Option<Packet> {
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.len);
        self.sending = packet.len;
        Some(packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FlowId;
    use crate::packet::{Ends, Payload};
    use goodqueue::Ecn;

    fn packet(len: u32) -> Packet {
        let payload = Payload::Datagram { sent_at: Instant::ZERO, number: 0, ecn: Ecn::NotEct };
        Packet {
            queued_at: Instant::ZERO,
            flow: FlowId::new(0),
            connection: 0,
            len,
            ends: Ends::default(),
            payload,
        }
    }

    /// Fills the ring and returns the number of packets in it.
    fn taken(ring: &mut Ring) -> u64 {
        while ring.has_room() {
            ring.push(packet(1514));
        }
        ring.holds_back(true);
        ring.held().packets
    }

    #[test]
    fn a_ring_counts_the_packet_that_is_being_sent() {
        let mut ring = Ring::new(Driver::Packets(3));
        assert_eq!(taken(&mut ring), 3);
        assert!(ring.pop().is_some());
        assert!(!ring.has_room(), "two wait and one is on the wire");
        ring.complete(Instant::ZERO);
        assert!(ring.has_room());
    }

    #[test]
    fn byte_queue_limits_settle_where_the_device_just_stays_busy() {
        let mut ring = Ring::new(Driver::Bql);
        let mut most = 0;
        for step in 0..10_000_u64 {
            taken(&mut ring);
            most = most.max(ring.held().packets);
            assert!(ring.pop().is_some(), "the device never runs dry with packets waiting");
            // About the time of a frame at 10 Mbit/s.
            ring.complete(Instant::ZERO + Duration::from_micros(1200).saturating_mul(step + 1));
        }
        assert!(most <= 3, "{most} packets in a device that is served at once");
    }

    #[test]
    fn a_byte_limit_of_one_packet_leaves_nothing_below_the_discipline() {
        let mut ring = Ring::new(Driver::Bytes(1514));
        assert_eq!(taken(&mut ring), 1);
        assert!(ring.pop().is_some());
        assert_eq!(taken(&mut ring), 0);
    }
}
