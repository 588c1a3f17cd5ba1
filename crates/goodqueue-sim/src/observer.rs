//! Who looks on at the packets of the bottleneck, one by one.
//!
//! A link notes what it sees, the run hands it on after every event: a run that nobody looks on at pays for one comparison.
//! Which packet it was is found out here, by when it came and what it carries, so that packets need no number of their own.

use std::collections::{BTreeMap, VecDeque};

use goodqueue::{DropReason, Instant, Packet as _};

use crate::packet::{Direction, Packet, Payload};

/// Is told of every packet that comes to one of the two queues of the bottleneck, and of what becomes of it, in the order in
/// which things happen.
pub trait Observer {
    /// A packet has come to its queue; [`Visit::packet`] is as it came.
    fn arrived(&mut self, visit: &Visit);

    /// It is there no more: this became of it, at this time. [`Visit::packet`] is as it left.
    fn ended(&mut self, visit: &Visit, at: Instant, fate: Fate);

    /// False to end the run soon: nobody will use what comes.
    fn goes_on(&self) -> bool {
        true
    }
}

/// A packet at a queue.
#[derive(Clone, Copy, Debug)]
pub struct Visit {
    /// Counts the packets that came to either queue, from 0. A copy that the queue made itself (`netem duplicate`) has a
    /// number of its own, and nobody is told that it came.
    pub number: u64,
    /// The number of the packet that it is a copy of, if it is one.
    pub copy_of: Option<u64>,
    /// Which of the two queues.
    pub direction: Direction,
    /// TOS byte with which it came: code point and ECN.
    pub tos: u8,
    /// What it is; it came at `packet.queued_at`.
    pub packet: Packet,
}

/// What became of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It left the discipline, towards the link or the device's ring.
    Sent,
    /// The discipline dropped it.
    Dropped(DropReason),
    /// It was still there when the run ended.
    Queued,
}

/// What a link has noted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Note {
    /// A packet came.
    Arrived(Packet),
    /// The queue made so many copies of the packet that came last.
    Copied(u64),
    /// This became of a packet.
    Ended(Packet, Fate),
}

/// Finds out which packet is which.
pub(crate) struct Register<'a> {
    observer: &'a mut dyn Observer,
    next: u64,
    /// The visit that began last.
    last: Option<Visit>,
    present: [BTreeMap<Mark, VecDeque<Visit>>; 2],
}

/// By what a packet is known again. What one queue cannot tell apart it may give back in either order.
type Mark = (Instant, u32, u32, u32, bool, [u64; 2]);

impl<'a> Register<'a> {
    pub(crate) fn new(observer: &'a mut dyn Observer) -> Self {
        Self { observer, next: 0, last: None, present: [BTreeMap::new(), BTreeMap::new()] }
    }

    pub(crate) fn goes_on(&self) -> bool {
        self.observer.goes_on()
    }

    /// Hands on what the link of `direction` noted at `now`.
    pub(crate) fn take(&mut self, now: Instant, direction: Direction, notes: &mut Vec<Note>) {
        for note in notes.drain(..) {
            match note {
                Note::Arrived(packet) => {
                    let visit = self.begin(direction, packet, None);
                    self.last = Some(visit);
                    self.observer.arrived(&visit);
                }
                Note::Copied(copies) => {
                    let Some(original) = self.last else { continue };
                    for copy in (0..copies).filter_map(|_| original.packet.duplicate()) {
                        self.begin(direction, copy, Some(original.number));
                    }
                }
                Note::Ended(packet, fate) => {
                    let present = &mut self.present[direction.index()];
                    let Some(same) = present.get_mut(&mark(&packet)) else { continue };
                    let visit = same.pop_front();
                    if same.is_empty() {
                        present.remove(&mark(&packet));
                    }
                    debug_assert!(visit.is_some(), "what ends has begun");
                    if let Some(visit) = visit {
                        self.observer.ended(&Visit { packet, ..visit }, now, fate);
                    }
                }
            }
        }
    }

    fn begin(&mut self, direction: Direction, packet: Packet, copy_of: Option<u64>) -> Visit {
        let visit = Visit { number: self.next, copy_of, direction, tos: packet.tos(), packet };
        self.next += 1;
        self.present[direction.index()].entry(mark(&packet)).or_default().push_back(visit);
        visit
    }

    /// The run has ended: tells of what is still queued, in the order in which it came.
    pub(crate) fn finish(self, now: Instant) {
        let mut left: Vec<Visit> = self.present.into_iter().flatten().flat_map(|(_, same)| same).collect();
        left.sort_unstable_by_key(|visit| visit.number);
        for visit in &left {
            self.observer.ended(visit, now, Fate::Queued);
        }
    }
}

fn mark(packet: &Packet) -> Mark {
    let carries = match &packet.payload {
        Payload::Tcp(segment) => [segment.seq, segment.ack],
        Payload::Datagram { sent_at, number, .. } => [*number, sent_at.as_nanos()],
    };
    (packet.queued_at, packet.flow, packet.connection, packet.len, packet.ends.is_copy(), carries)
}

impl Packet {
    /// The TOS byte: code point and ECN.
    #[must_use]
    pub fn tos(&self) -> u8 {
        self.ends.dscp() << 2 | self.ecn().bits()
    }
}
