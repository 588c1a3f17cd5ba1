//! The trait of the file formats, and the row of a table.

use std::io;

use goodqueue::{Ecn, Instant};
use goodqueue_sim::observer::{Fate, Visit};

/// One file.
pub(super) trait PacketWriter {
    /// Writes that a packet has arrived at its queue.
    fn arrived(&mut self, _: &Visit) -> io::Result<()> {
        Ok(())
    }

    /// Writes that a packet has left its queue.
    fn ended(&mut self, visit: &Visit, at: Instant, fate: Fate) -> io::Result<()>;

    /// Finishes the file.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

/// A row of the table: one packet that was sent or dropped.
pub(super) struct Row {
    pub(super) packet: u64,
    pub(super) direction: &'static str,
    pub(super) flow: u32,
    pub(super) connection: u32,
    pub(super) bytes: u32,
    pub(super) dscp: u8,
    pub(super) ecn: &'static str,
    pub(super) fate: &'static str,
    pub(super) reason: Option<&'static str>,
    pub(super) arrival_ns: u64,
    pub(super) departure_ns: Option<u64>,
    pub(super) sojourn_ns: Option<u64>,
}

impl Row {
    pub(super) fn new(visit: &Visit, at: Instant, fate: Fate) -> Self {
        let packet = &visit.packet;
        let is_ce = |tos| Ecn::from_bits(tos) == Ecn::Ce;
        let (fate, reason) = match fate {
            // A packet that arrived with a mark got it from another queue.
            Fate::Sent if is_ce(packet.tos()) && !is_ce(visit.tos) => ("marked", None),
            Fate::Sent => ("sent", None),
            Fate::Dropped(why) => ("dropped", Some(why.name())),
            Fate::Queued => ("queued", None),
        };
        let gone = (fate != "queued").then_some(at);
        Self {
            packet: visit.number,
            direction: visit.direction.name(),
            flow: packet.flow.number(),
            connection: packet.connection,
            bytes: packet.len,
            // As the packet arrived: `fate` tells what this queue did to it.
            dscp: visit.tos >> 2,
            ecn: match Ecn::from_bits(visit.tos) {
                Ecn::NotEct => "Not-ECT",
                Ecn::Ect1 => "ECT(1)",
                Ecn::Ect0 => "ECT(0)",
                Ecn::Ce => "CE",
            },
            fate,
            reason,
            arrival_ns: packet.queued_at.as_nanos(),
            departure_ns: gone.map(Instant::as_nanos),
            sojourn_ns: gone.map(|at| at.since(packet.queued_at).as_nanos()),
        }
    }
}
