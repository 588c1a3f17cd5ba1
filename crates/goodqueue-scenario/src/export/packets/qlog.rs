//! Packets as qlog: a JSON text sequence with the events of [`goodqueue_link::qlog`].

use std::io::{self, Write as _};

use goodqueue::{Ecn, Instant};
use goodqueue_link::qlog::{self, Happened, Record};
use goodqueue_sim::observer::{Fate, Visit};

use super::writer::PacketWriter;
use crate::files::StreamedFile;
use crate::run::RunSpec;

/// A log with every packet when it arrives at a queue, and again when it leaves or is dropped.
pub(super) struct Log {
    file: StreamedFile,
    text: String,
}

impl Log {
    pub(super) fn begin(mut file: StreamedFile, run: &RunSpec) -> io::Result<Self> {
        let mut text = String::new();
        qlog::header(&mut text, &format!("{}, seed {}", run.labels.qdisc, run.config.seed));
        file.write_all(text.as_bytes())?;
        Ok(Self { file, text })
    }

    fn write(&mut self, at: Instant, visit: &Visit, happened: Happened, tos: u8) -> io::Result<()> {
        // Keeps the memory of the text for the next event.
        self.text.clear();
        let record = Record {
            at,
            happened,
            packet: visit.number,
            flow: visit.packet.flow.number(),
            length: visit.packet.len,
            ecn: Ecn::from_bits(tos),
            queue: Some(visit.direction.name()),
        };
        qlog::event(&mut self.text, &record);
        self.file.write_all(self.text.as_bytes())
    }
}

impl PacketWriter for Log {
    fn arrived(&mut self, visit: &Visit) -> io::Result<()> {
        self.write(visit.packet.queued_at, visit, Happened::Enqueued, visit.tos)
    }

    fn ended(&mut self, visit: &Visit, at: Instant, fate: Fate) -> io::Result<()> {
        let sojourn = at.since(visit.packet.queued_at);
        let happened = match fate {
            Fate::Sent => Happened::Dequeued(sojourn),
            Fate::Dropped(why) => Happened::Dropped(sojourn, why),
            // The run ended while the packet waited, which is no event.
            Fate::Queued => return Ok(()),
        };
        // The packet has the bits that the queue left it with, and `visit` those of its arrival.
        self.write(at, visit, happened, visit.packet.tos())
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        self.file.finish()
    }
}
