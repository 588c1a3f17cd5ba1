//! Recordings of a live bottleneck for `goodqueue replay`: the arrivals at each queue and their
//! fates.

use std::collections::VecDeque;
use std::io::Write;
use std::path::{Path, PathBuf};

use goodqueue::{DropReason, Flow, Instant, Packet};
use goodqueue_link::capacity::Capacity;
use goodqueue_live::link::LinkConfig;
use goodqueue_live::observer::{Direction, Observer, Reconfigured};
use goodqueue_live::packet::IpPacket;
use goodqueue_live::sink::Sink;
use goodqueue_tc as tc;
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tc::recording::{self, Header, Row};
use serde_json::json;

use crate::error::diagnostic;
use crate::statistics::seconds;

/// Writes one file for each direction.
pub struct Recorder {
    files: [Sink; 2],
    /// True once the rate or the discipline has changed, which a replay could not follow.
    over: [bool; 2],
    troubles: VecDeque<String>,
}

impl Recorder {
    /// Creates the files of `path`, with `.down` and `.up` in their names.
    ///
    /// # Errors
    /// A file cannot be created.
    pub fn create(path: &Path, links: &[LinkConfig; 2]) -> Result<Self, Diagnostic> {
        let file = |direction: Direction| {
            let path = with_direction(path, direction);
            let mut sink = Sink::create(&path).map_err(|error| diagnostic(&error))?;
            // The sink reports errors later, as for the rest of the file.
            let _ = header(direction, &links[direction.index()]).write(&mut sink);
            Ok(sink)
        };
        Ok(Self {
            files: [file(Direction::Down)?, file(Direction::Up)?],
            over: [false; 2],
            troubles: VecDeque::new(),
        })
    }

    fn write(&mut self, direction: Direction, row: &Row) {
        if !self.over[direction.index()] {
            // The sink keeps an error until `trouble` asks for it.
            let _ = row.write(&mut self.files[direction.index()]);
        }
    }
}

fn header(direction: Direction, link: &LinkConfig) -> Header {
    let tree = tc::to_tc(&link.qdisc);
    let mut lines = tree.lines().map(str::to_owned);
    // A replay has one constant rate.
    let rate_bps = match &link.capacity {
        Capacity::Constant(rate) if !link.capacity.is_unlimited() => Some(rate.as_bps()),
        _ => None,
    };
    let mut other = serde_json::Map::new();
    // Bands are chosen by the TOS byte, because live packets have no class.
    other.insert("priority".to_owned(), json!("tos"));
    other.insert("qdisc_seed".to_owned(), json!(link.seed));
    other.insert("direction".to_owned(), json!(direction.name()));
    Header { qdisc: lines.next(), extra: lines.collect(), rate_bps, other, ..Header::default() }
}

/// Returns the path of one direction: `run.jsonl` becomes `run.down.jsonl`.
#[must_use]
pub fn with_direction(path: &Path, direction: Direction) -> PathBuf {
    match path.extension() {
        Some(extension) => path.with_extension(format!("{}.{}", direction.name(), extension.display())),
        None => path.with_extension(direction.name()),
    }
}

impl Observer for Recorder {
    fn arrived(&mut self, now: Instant, direction: Direction, packet: &IpPacket) {
        let headers = packet.headers();
        let row = Row::Arrival {
            t: now,
            seq: packet.seq,
            flow: headers.flow,
            bytes: packet.len(),
            tos: headers.tos,
            headers: Some(recording::Headers {
                source: headers.source,
                destination: headers.destination,
                ack: packet.tcp_ack(),
            }),
        };
        self.write(direction, &row);
    }

    fn sent(&mut self, now: Instant, direction: Direction, packet: &IpPacket) {
        let tos = packet.dscp() << 2 | packet.ecn().bits();
        self.write(direction, &Row::Exit { t: now, seq: packet.seq, bytes: packet.len(), tos });
    }

    fn dropped(&mut self, now: Instant, direction: Direction, packet: &IpPacket, why: DropReason) {
        let reason = Some(why.name().to_owned());
        self.write(direction, &Row::Drop { t: now, seq: packet.seq, reason });
    }

    fn reconfigured(&mut self, now: Instant, direction: Direction, change: Reconfigured<'_>) {
        // The discipline stays and gets other settings, which a replay can follow.
        if let Reconfigured::Settings(config) = change {
            let command = format!("tc qdisc replace dev {DEVICE} root {}", tc::to_tc(config));
            self.write(direction, &Row::Change { t: now, command });
            return;
        }
        self.write(direction, &Row::End { t: now });
        // Only the first change ends the recording, so there is one message.
        if !std::mem::replace(&mut self.over[direction.index()], true) {
            self.troubles.push_back(format!(
                "the recording of `{}` ends at {:.3} s: a replay has one rate and one discipline, of which only the settings may change",
                direction.name(),
                seconds(now)
            ));
        }
    }

    fn ended(&mut self, _: Instant) {
        for file in &mut self.files {
            let _ = file.flush();
        }
    }

    fn trouble(&mut self) -> Option<String> {
        self.files.iter_mut().find_map(Sink::trouble).or_else(|| self.troubles.pop_front())
    }

    fn failure(&self) -> Option<&str> {
        self.files.iter().find_map(Sink::failure)
    }
}

/// Name of the device in the commands of a recording.
const DEVICE: &str = "goodqueue";
