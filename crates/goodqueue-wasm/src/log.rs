//! The packets of the queues as numbers.

use goodqueue::{DropReason, Ecn, Instant, Packet as _};
use goodqueue_sim::observer::{Fate, Place, Visit};
use goodqueue_sim::packet::{Payload, QuicContents};
use goodqueue_sim::{Capacity, Observer, UNLIMITED};

/// Writes what happens to packets into records.
///
/// A record is eight numbers. The first one is 0 for an arrival and 1 for an end, plus 2 for a
/// queue towards the servers, plus 4 times the number of the place. Each place numbers its packets.
///
/// | | 1 | 2 | 3 | 4 | 5 | 6 | 7 |
/// |---|---|---|---|---|---|---|---|
/// | arrival | number | time | flow | bytes | kind | packets found | bytes found |
/// | end | number | time | fate | end of the transmission | marked | packets left | bytes left |
///
/// Times are nanoseconds. The kind is 0 for data, 1 for a packet without data such as an ACK, 2 for
/// a probe, plus 8 for an ECN-capable packet. The fate is 0 for a packet that was sent; a higher
/// number less 1 is the index of its [`DropReason`].
#[derive(Debug)]
pub(crate) struct Log {
    records: Vec<f64>,
    /// For each place: down, up.
    held: Vec<[Held; 2]>,
    /// Capacities of the links, for the ends of transmissions.
    capacity: Vec<[Capacity; 2]>,
    /// Number of each other hop's place; `None` for a hop that is not shown.
    hops: Vec<Option<usize>>,
    /// Whether each flow is a probe.
    probes: Vec<bool>,
}

/// Packets and bytes in a queue.
#[derive(Clone, Copy, Default, Debug)]
struct Held {
    packets: u64,
    bytes: u64,
}

impl Log {
    pub(crate) fn new(capacity: Vec<[Capacity; 2]>, hops: Vec<Option<usize>>, probes: Vec<bool>) -> Self {
        Self { records: Vec::new(), held: vec![[Held::default(); 2]; capacity.len()], capacity, hops, probes }
    }

    /// Returns the number of a place, if it is shown. The WiFi channel is the last one.
    fn number(&self, place: Place) -> Option<usize> {
        match place {
            Place::Hop(hop) => self.hops.get(hop).copied().flatten(),
            Place::Wifi => self.held.len().checked_sub(1),
        }
    }

    /// Returns the records since the last call.
    pub(crate) fn take(&mut self) -> Vec<f64> {
        std::mem::take(&mut self.records)
    }

    fn kind(&self, visit: &Visit) -> u32 {
        let ecn = if visit.packet.ecn() == Ecn::NotEct { 0 } else { 8 };
        let is_probe = self.probes.get(visit.packet.flow.index()).is_some_and(|probe| *probe);
        ecn + match visit.packet.payload {
            _ if is_probe => 2,
            Payload::Tcp(segment) if segment.len == 0 => 1,
            Payload::Quic { contents: QuicContents::Control, .. } => 1,
            _ => 0,
        }
    }

    /// Returns the time at which a packet that leaves its queue now is on the wire.
    fn transmitted(&self, place: usize, visit: &Visit, at: Instant) -> Instant {
        let rate = match &self.capacity[place][visit.direction.index()] {
            Capacity::Constant(rate) => *rate,
            Capacity::Schedule(changes) => {
                // The first change is at 0, so there is always one that has begun.
                let begun = changes.partition_point(|change| change.0 <= at);
                let due = changes.get(begun.saturating_sub(1));
                due.map_or(UNLIMITED, |change| change.1)
            }
            // A trace delivers a packet at the instant of its opportunity.
            Capacity::Trace(_) => UNLIMITED,
        };
        // At a rate of 0 the transmission would have no end.
        if rate == UNLIMITED || rate.as_bps() == 0 {
            return at;
        }
        at + rate.serialization(visit.packet.len)
    }

    fn begin(&mut self, place: usize, visit: &Visit) {
        let found = self.held[place][visit.direction.index()];
        let packet = &visit.packet;
        self.records.extend([
            kind_of_record(place, visit, false),
            exact(visit.number),
            nanos(packet.queued_at),
            f64::from(packet.flow.number()),
            f64::from(packet.len),
            f64::from(self.kind(visit)),
            exact(found.packets),
            exact(found.bytes),
        ]);
        let held = &mut self.held[place][visit.direction.index()];
        held.packets += 1;
        held.bytes += u64::from(packet.len);
    }

    fn end(&mut self, place: usize, visit: &Visit, at: Instant, fate: Fate) {
        let code = match fate {
            Fate::Sent => 0,
            Fate::Dropped(why) => 1 + why.index(),
            Fate::Queued => return,
        };
        let held = &mut self.held[place][visit.direction.index()];
        // The arrival of a copy is not reported, so the copy was not counted.
        if visit.copy_of.is_none() {
            held.packets = held.packets.saturating_sub(1);
            held.bytes = held.bytes.saturating_sub(u64::from(visit.packet.len));
        }
        let left = *held;
        let sent = fate == Fate::Sent;
        // A packet that arrived with CE was marked elsewhere. The low two bits of the TOS byte are
        // the ECN field (RFC 3168, section 5).
        let is_marked = visit.packet.ecn() == Ecn::Ce && visit.tos & 3 != Ecn::Ce.bits();
        self.records.extend([
            kind_of_record(place, visit, true),
            exact(visit.number),
            nanos(at),
            exact(code as u64),
            nanos(if sent { self.transmitted(place, visit, at) } else { at }),
            f64::from(u8::from(is_marked)),
            exact(left.packets),
            exact(left.bytes),
        ]);
    }
}

impl Observer for Log {
    fn arrived(&mut self, visit: &Visit) {
        self.begin(0, visit);
    }

    fn ended(&mut self, visit: &Visit, at: Instant, fate: Fate) {
        self.end(0, visit, at, fate);
    }

    fn arrived_at(&mut self, place: Place, visit: &Visit) {
        if let Some(place) = self.number(place) {
            self.begin(place, visit);
        }
    }

    fn ended_at(&mut self, place: Place, visit: &Visit, at: Instant, fate: Fate) {
        if let Some(place) = self.number(place) {
            self.end(place, visit, at, fate);
        }
    }
}

/// Returns the first number of a record.
fn kind_of_record(place: usize, visit: &Visit, is_end: bool) -> f64 {
    exact((4 * place + 2 * visit.direction.index() + usize::from(is_end)) as u64)
}

/// Returns the names of the drop reasons, in the order of their indexes.
pub(crate) fn reasons() -> Vec<&'static str> {
    DropReason::ALL.iter().map(|reason| reason.name()).collect()
}

pub(crate) fn nanos(at: Instant) -> f64 {
    exact(at.as_nanos())
}

/// Returns a count or a time as JavaScript's number, which is exact up to 2^53.
#[expect(clippy::cast_precision_loss, reason = "2^53 ns are 104 days")]
pub(crate) const fn exact(number: u64) -> f64 {
    number as f64
}
