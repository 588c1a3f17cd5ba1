//! Observation of single packets at the bottleneck, and on request at all queues of the path.
//!
//! A link notes its events, and the run reports them to the observer after each event. A run
//! without an observer pays one comparison per event. The observer's register identifies a packet
//! by its arrival time and contents, so packets carry no identity of their own.

use std::collections::{BTreeMap, VecDeque};

use goodqueue::{AnyQdisc, Direction, DropReason, Instant, Packet as _, Qdisc as _};

use crate::id::FlowId;
use crate::packet::Packet;
use crate::witness::Witness;

/// Receives every arrival at the two queues of the bottleneck and every packet's fate, in the order
/// in which they happen.
pub trait Observer {
    /// Reports that a packet has arrived at its queue. [`Visit::packet`] is the packet as it
    /// arrived.
    fn arrived(&mut self, visit: &Visit);

    /// Reports the packet's fate and the time at which it left the queue. [`Visit::packet`] is the
    /// packet as it left.
    fn ended(&mut self, visit: &Visit, at: Instant, fate: Fate);

    /// Reports that a packet has arrived at a queue beside the bottleneck. Only a run that is
    /// [observed everywhere](crate::Run::observed_everywhere) reports these queues.
    /// [`Visit::number`] counts the packets of this place.
    fn arrived_at(&mut self, place: Place, visit: &Visit) {
        // Named without an underscore, because the documentation shows the names of arguments.
        let _ = (place, visit);
    }

    /// Reports the fate of a packet at a queue beside the bottleneck, and the time.
    fn ended_at(&mut self, place: Place, visit: &Visit, at: Instant, fate: Fate) {
        let _ = (place, visit, at, fate);
    }

    /// Returns false to end the run soon, when no further reports are needed.
    fn goes_on(&self) -> bool {
        true
    }
}

/// A place beside the bottleneck at which packets wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// A hop, by its index among [`Config::before`](crate::Config::before) and
    /// [`Config::after`](crate::Config::after) together.
    Hop(usize),
    /// The WiFi channel: disciplines, drivers and the air. Packets leave it when they are received.
    Wifi,
}

/// The stay of a packet at a queue.
#[derive(Clone, Copy, Debug)]
pub struct Visit {
    /// Running number, from 0, of the packets that arrived at either queue. A copy made by the
    /// queue (`netem duplicate`) gets a number of its own, but its arrival is not reported.
    pub number: u64,
    /// Number of the original, if the packet is a copy.
    pub copy_of: Option<u64>,
    /// Queue at which the packet is.
    pub direction: Direction,
    /// TOS byte with which the packet arrived: DSCP and ECN.
    pub tos: u8,
    /// The packet; it arrived at `packet.queued_at`.
    pub packet: Packet,
}

/// The fate of a packet at a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// Left the discipline, towards the link or the device's ring.
    Sent,
    /// Dropped by the discipline.
    Dropped(DropReason),
    /// Still queued when the run ended.
    Queued,
}

/// An event that a link has noted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Note {
    /// A packet arrived.
    Arrived(Packet),
    /// The queue made this number of copies of the packet that arrived last.
    Copied(u64),
    /// A packet left the queue.
    Ended(Packet, Fate),
}

/// The events of a link, and the witness of one packet's story.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    pub(crate) events: Vec<Note>,
    pub(crate) witness: Option<Witness<Packet>>,
}

impl Notes {
    pub(crate) fn add(&mut self, note: Note) {
        self.events.push(note);
    }

    /// Offers a packet to `qdisc`, and notes what happens.
    // Out of line: it would be inlined wherever a discipline drops a packet.
    #[cold]
    #[inline(never)]
    pub(crate) fn enqueue(
        &mut self,
        qdisc: &mut AnyQdisc<Packet>,
        now: Instant,
        packet: Packet,
        drops: &mut dyn FnMut(Packet, DropReason),
    ) {
        let Self { events, witness } = self;
        // Noted before the call, because the discipline may drop this packet within the call.
        events.push(Note::Arrived(packet));
        let place = events.len();
        let before = all_of(qdisc);
        let mut noted = |lost: Packet, why| {
            events.push(Note::Ended(lost, Fate::Dropped(why)));
            drops(lost, why);
        };
        match witness {
            None => qdisc.enqueue(now, packet, &mut noted),
            Some(witness) => witness.enqueue(qdisc, now, packet, &mut noted),
        }
        // The copies precede the fates of the packets.
        // All but the packet itself.
        let copies = all_of(qdisc).saturating_sub(before + 1);
        events.insert(place, Note::Copied(copies));
    }

    /// Takes a packet from `qdisc`, and notes what happens.
    #[cold]
    #[inline(never)]
    pub(crate) fn dequeue(
        &mut self,
        qdisc: &mut AnyQdisc<Packet>,
        now: Instant,
        drops: &mut dyn FnMut(Packet, DropReason),
    ) -> Option<Packet> {
        let Self { events, witness } = self;
        let mut noted = |lost: Packet, why| {
            events.push(Note::Ended(lost, Fate::Dropped(why)));
            drops(lost, why);
        };
        let sent = match witness {
            None => qdisc.dequeue(now, &mut noted),
            Some(witness) => witness.dequeue(qdisc, now, &mut noted),
        };
        if let Some(packet) = sent {
            events.push(Note::Ended(packet, Fate::Sent));
        }
        sent
    }
}

/// Returns the number of all packets that were ever in a discipline, including its own copies.
fn all_of(qdisc: &AnyQdisc<Packet>) -> u64 {
    let stats = qdisc.stats();
    stats.dequeued.packets + stats.dropped().packets + qdisc.len() as u64
}

/// Matches the notes of the links with visits, and reports them to an observer.
pub(crate) struct Register<'a> {
    observer: &'a mut dyn Observer,
    visits: &'a mut Visits,
    other_queues: &'a mut OtherQueues,
}

/// The visits to the queues beside the bottleneck.
#[derive(Default, Debug)]
pub(crate) struct OtherQueues {
    hops: Vec<Visits>,
    wifi: Visits,
}

/// The visits that have begun and not ended.
#[derive(Default, Debug)]
pub(crate) struct Visits {
    next: u64,
    /// The visit that began last.
    last: Option<Visit>,
    present: [BTreeMap<PacketIdentity, VecDeque<Visit>>; 2],
}

/// The properties that identify a packet. Packets that are equal in all of them may be confused
/// with each other.
// ECN and DSCP are missing, because a queue may change them.
pub(crate) type PacketIdentity = (Instant, FlowId, u32, u32, bool, [u64; 2]);

impl<'a> Register<'a> {
    pub(crate) fn new(
        observer: &'a mut dyn Observer,
        visits: &'a mut Visits,
        other_queues: &'a mut OtherQueues,
    ) -> Self {
        Self { observer, visits, other_queues }
    }

    pub(crate) fn goes_on(&self) -> bool {
        self.observer.goes_on()
    }

    /// Reports the notes that a queue of `direction` made at `now`. Without a place it is that of
    /// the bottleneck.
    pub(crate) fn take(
        &mut self,
        now: Instant,
        place: Option<Place>,
        direction: Direction,
        notes: impl Iterator<Item = Note>,
    ) {
        let Self { observer, visits, other_queues } = self;
        let visits = match place {
            None => &mut **visits,
            Some(Place::Wifi) => &mut other_queues.wifi,
            Some(Place::Hop(hop)) => {
                // Most observers see the bottleneck only, so the list grows with the first note of
                // a hop.
                if other_queues.hops.len() <= hop {
                    other_queues.hops.resize_with(hop + 1, Visits::default);
                }
                &mut other_queues.hops[hop]
            }
        };
        for note in notes {
            match note {
                Note::Arrived(packet) => {
                    let visit = visits.begin(direction, packet, None);
                    visits.last = Some(visit);
                    match place {
                        None => observer.arrived(&visit),
                        Some(place) => observer.arrived_at(place, &visit),
                    }
                }
                Note::Copied(copies) => {
                    // The note of an arrival is in front of this one (`Notes::enqueue`), so there
                    // is always one.
                    let Some(original) = visits.last else { continue };
                    for copy in (0..copies).filter_map(|_| original.packet.duplicate()) {
                        visits.begin(direction, copy, Some(original.number));
                    }
                }
                Note::Ended(packet, fate) => {
                    let present = &mut visits.present[direction.index()];
                    // A packet that arrived before there was an observer has no visit.
                    let Some(same) = present.get_mut(&identity(&packet)) else { continue };
                    let visit = same.pop_front();
                    if same.is_empty() {
                        present.remove(&identity(&packet));
                    }
                    debug_assert!(visit.is_some(), "what ends has begun");
                    if let Some(visit) = visit {
                        let visit = Visit { packet, ..visit };
                        match place {
                            None => observer.ended(&visit, now, fate),
                            Some(place) => observer.ended_at(place, &visit, now, fate),
                        }
                    }
                }
            }
        }
    }
}

impl Visits {
    fn begin(&mut self, direction: Direction, packet: Packet, copy_of: Option<u64>) -> Visit {
        let visit = Visit { number: self.next, copy_of, direction, tos: packet.tos(), packet };
        self.next += 1;
        self.present[direction.index()].entry(identity(&packet)).or_default().push_back(visit);
        visit
    }

    /// Reports the packets still queued at the end of the run, in the order of their arrival.
    pub(crate) fn finish(self, now: Instant, observer: &mut dyn Observer) {
        let mut left: Vec<Visit> = self.present.into_iter().flatten().flat_map(|(_, same)| same).collect();
        // The map is in the order of identities.
        left.sort_unstable_by_key(|visit| visit.number);
        for visit in &left {
            observer.ended(visit, now, Fate::Queued);
        }
    }
}

/// Returns the properties that identify a packet.
pub(crate) fn identity(packet: &Packet) -> PacketIdentity {
    let carries = packet.payload.numbers();
    (packet.queued_at, packet.flow, packet.connection, packet.len, packet.ends.is_copy(), carries)
}

impl Packet {
    /// Returns the TOS byte: DSCP and ECN.
    #[must_use]
    pub fn tos(&self) -> u8 {
        self.ends.dscp() << 2 | self.ecn().bits()
    }
}
