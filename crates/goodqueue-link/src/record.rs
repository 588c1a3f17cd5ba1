//! Recordings of a link for `goodqueue replay`.

extern crate std;

use std::borrow::ToOwned;
use std::io::{self, Write};
use std::string::{String, ToString};
use std::vec::Vec;

use goodqueue::{DropReason, Flow, Instant, Packet, Qdisc as _};
use goodqueue_tc::recording::{Header, Headers, Row};

use crate::capacity::Capacity;
use crate::line::Line;
use crate::link::Link;
use crate::numbers::Numbers;
use crate::observe::Observer;
use crate::tagged::Queued;

impl<P: Packet + Flow> Link<P> {
    /// Writes every packet of the queue from now on to `to`, as JSON lines for `goodqueue replay`:
    /// its arrival, and its departure or drop. The recording replaces an earlier observer. It ends
    /// with [`Self::stop_observing`], or with the link.
    ///
    /// `goodqueue replay FILE --qdisc pie` sends the same arrivals through another discipline, and
    /// `--compare` repeats every decision of this one. A recording begins with an empty queue, and
    /// does not contain later changes of the link.
    ///
    /// # Errors
    /// The writer's. Later ones are returned by [`Self::stop_observing`].
    ///
    /// ```
    /// use goodqueue::Datagram;
    /// use goodqueue_link::{Duplex, Link};
    ///
    /// let mut line: Duplex<Datagram<Vec<u8>>> = Duplex::from_text("20mbit delay 25ms [codel]", 7)?;
    /// # let folder = std::env::temp_dir();
    /// # let file = std::fs::File::create(folder.join("goodqueue-link-doc.jsonl"))?;
    /// line.down.record(std::io::BufWriter::new(file))?;
    /// # std::fs::remove_file(folder.join("goodqueue-link-doc.jsonl"))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn record(&mut self, mut to: impl Write + Send + Sync + 'static) -> io::Result<()> {
        let line = self.line();
        let salt = line.salt();
        header(line, salt).write(&mut to)?;
        self.observe(Recorder {
            to,
            salt,
            flows: Numbers::default(),
            hosts: Numbers::default(),
            trouble: None,
        });
        Ok(())
    }
}

/// Returns the first line of a recording.
fn header<P: Packet + Flow>(line: &Line<Queued<P>>, salt: u32) -> Header {
    let tree = goodqueue_tc::to_tc(&line.qdisc().config());
    let rate_bps = match line.capacity() {
        Capacity::Constant(rate) => Some(rate.as_bps()),
        // A recording has one rate.
        Capacity::Schedule(_) | Capacity::Trace(_) => None,
    };
    let mut lines = tree.lines().map(str::to_owned);
    // A replay needs these to draw the same random numbers and hashes as the link.
    let other = [("priority", "tos".into()), ("qdisc_seed", line.seed().into()), ("qdisc_salt", salt.into())];
    Header {
        qdisc: lines.next(),
        extra: lines.collect(),
        rate_bps,
        other: other.map(|(key, value)| (key.to_owned(), value)).into_iter().collect(),
        ..Header::default()
    }
}

/// Writes rows.
struct Recorder<W> {
    to: W,
    salt: u32,
    /// Numbers of flows, by two of their hashes.
    flows: Numbers<[u32; 2]>,
    /// Numbers of hosts.
    hosts: Numbers<u32>,
    trouble: Option<String>,
}

impl<W: Write> Recorder<W> {
    fn write(&mut self, rows: &[Row]) {
        for row in rows {
            if self.trouble.is_none() {
                self.trouble = row.write(&mut self.to).err().map(|error| error.to_string());
            }
        }
    }
}

impl<P: Packet + Flow, W: Write> Observer<P> for Recorder<W> {
    fn arrived(&mut self, at: Instant, packet: &Queued<P>) {
        let source = packet.source_hash(self.salt);
        let destination = packet.destination_hash(self.salt);
        let mut rows = Vec::with_capacity(3);
        rows.push(Row::Hashes {
            t: at,
            flow: packet.flow_hash(self.salt),
            hosts: Some((source, destination)),
        });
        if let Some(bytes) = packet.truesize() {
            rows.push(Row::Memory { t: at, bytes });
        }
        rows.push(Row::Arrival {
            t: at,
            seq: packet.tag.number,
            // Two hashes, so that two flows have the same number only if both collide.
            flow: self.flows.number([0, u32::MAX].map(|salt| packet.flow_hash(salt))),
            bytes: packet.len(),
            tos: tos(packet),
            headers: Some(Headers {
                source: self.hosts.number(source),
                destination: self.hosts.number(destination),
                ack: packet.tcp_ack(),
            }),
        });
        self.write(&rows);
    }

    fn sent(&mut self, at: Instant, packet: &Queued<P>) {
        let row = Row::Exit { t: at, seq: packet.tag.number, bytes: packet.len(), tos: tos(packet) };
        self.write(&[row]);
    }

    fn dropped(&mut self, at: Instant, packet: &Queued<P>, why: DropReason) {
        let reason = Some(why.name().to_owned());
        self.write(&[Row::Drop { t: at, seq: packet.tag.number, reason }]);
    }

    fn ended(&mut self, at: Instant) {
        self.write(&[Row::End { t: at }]);
        if let (Err(error), None) = (self.to.flush(), &self.trouble) {
            self.trouble = Some(error.to_string());
        }
    }

    fn trouble(&self) -> Option<String> {
        self.trouble.clone()
    }
}

fn tos(packet: &(impl Packet + Flow)) -> u8 {
    packet.dscp() << 2 | packet.ecn().bits()
}
