//! Packets as recordings for `goodqueue replay`, one file for each direction.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use goodqueue::{Flow as _, Instant};
use goodqueue_sim::observer::{Fate, Visit};
use goodqueue_sim::{Capacity, Direction};
use goodqueue_tc as tc;
use goodqueue_tc::recording::{Header, Headers, Row};
use serde_json::json;

use super::writer::PacketWriter;
use crate::files::{Existing, StreamedFile};
use crate::run::RunSpec;

/// Name of the file of one direction: `run.jsonl` becomes `run.down.jsonl` and `run.up.jsonl`.
pub(super) fn file(path: &Path, end: &str, direction: Direction) -> PathBuf {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let stem = &name[..name.len().saturating_sub(end.len())];
    path.with_file_name(format!("{stem}.{}{end}", direction.name()))
}

/// Both directions.
pub(super) struct Recordings([Text; 2]);

enum Text {
    Plain(StreamedFile),
    Packed(GzEncoder<StreamedFile>),
}

impl Recordings {
    pub(super) fn create(path: &Path, end: &str, run: &RunSpec) -> io::Result<Self> {
        let begin = |direction: Direction| {
            // Nobody typed the name with the direction in it.
            let file = StreamedFile::create(&file(path, end, direction), Existing::Replaced)?;
            let mut text = if end.ends_with(".gz") {
                Text::Packed(GzEncoder::new(file, Compression::default()))
            } else {
                Text::Plain(file)
            };
            header(run, direction).write(&mut text)?;
            Ok::<_, io::Error>(text)
        };
        Ok(Self([begin(Direction::Down)?, begin(Direction::Up)?]))
    }
}

fn header(run: &RunSpec, direction: Direction) -> Header {
    let link = &run.config.links[direction.index()];
    let tree = tc::to_tc(&link.qdisc);
    let mut lines = tree.lines().map(str::to_owned);
    // All other links were refused (`has_one_rate`).
    let rate_bps = match &link.capacity {
        Capacity::Constant(rate) => Some(rate.as_bps()),
        _ => None,
    };
    // A replay needs these to draw the same random numbers and hashes as the run.
    let other = [
        ("priority", json!("simulated")),
        ("qdisc_seed", json!(run.config.seed)),
        ("qdisc_stream", json!(direction.index())),
        ("qdisc_hash_key", json!(link.hash_key)),
        ("direction", json!(direction.name())),
        ("t_end_ns", json!(run.config.duration.as_nanos())),
    ];
    Header {
        qdisc: lines.next(),
        extra: lines.collect(),
        rate_bps,
        other: other.map(|(key, value)| (key.to_owned(), value)).into_iter().collect(),
        ..Header::default()
    }
}

impl PacketWriter for Recordings {
    fn arrived(&mut self, visit: &Visit) -> io::Result<()> {
        let packet = &visit.packet;
        let (source, destination) = packet.ends.hosts();
        let row = Row::Arrival {
            t: packet.queued_at,
            seq: visit.number,
            flow: packet.queue_flow(),
            bytes: packet.len,
            tos: visit.tos,
            headers: Some(Headers { source, destination, ack: packet.tcp_ack() }),
        };
        row.write(&mut self.0[visit.direction.index()])
    }

    fn ended(&mut self, visit: &Visit, at: Instant, fate: Fate) -> io::Result<()> {
        // A duplicate has the number of its original, as in recordings of the kernel.
        let seq = visit.copy_of.unwrap_or(visit.number);
        let packet = &visit.packet;
        let row = match fate {
            Fate::Sent => Row::Exit { t: at, seq, bytes: packet.len, tos: packet.tos() },
            Fate::Dropped(why) => Row::Drop { t: at, seq, reason: Some(why.name().to_owned()) },
            Fate::Queued => return Ok(()),
        };
        row.write(&mut self.0[visit.direction.index()])
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        self.0.into_iter().try_for_each(|text| match text {
            Text::Plain(file) => file.finish(),
            Text::Packed(packed) => packed.finish()?.finish(),
        })
    }
}

impl Write for Text {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(file) => file.write(bytes),
            Self::Packed(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(file) => file.flush(),
            Self::Packed(file) => file.flush(),
        }
    }
}
