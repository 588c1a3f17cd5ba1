//! Packets as comma-separated values (RFC 4180, with line feeds) below a heading.

use std::io::{self, Write};

use goodqueue::Instant;
use goodqueue_sim::observer::{Fate, Visit};

use super::writer::{PacketWriter, Row};
use crate::files::StreamedFile;

/// A table that gets a row when a packet was sent or dropped.
pub(super) struct Table(StreamedFile);

impl Table {
    pub(super) fn begin(mut file: StreamedFile) -> io::Result<Self> {
        writeln!(
            file,
            "packet,direction,flow,connection,bytes,dscp,ecn,fate,reason,arrival_ns,departure_ns,sojourn_ns"
        )?;
        Ok(Self(file))
    }
}

impl PacketWriter for Table {
    fn ended(&mut self, visit: &Visit, at: Instant, fate: Fate) -> io::Result<()> {
        let row = Row::new(visit, at, fate);
        let Row { packet, direction, flow, connection, bytes, dscp, ecn, fate, arrival_ns, .. } = row;
        let reason = row.reason.unwrap_or_default();
        // No value contains a comma or a quote: they are numbers and names of our own.
        write!(
            self.0,
            "{packet},{direction},{flow},{connection},{bytes},{dscp},{ecn},{fate},{reason},{arrival_ns},"
        )?;
        match row.departure_ns.zip(row.sojourn_ns) {
            Some((departure, sojourn)) => writeln!(self.0, "{departure},{sojourn}"),
            None => writeln!(self.0, ","),
        }
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        self.0.finish()
    }
}
