//! Recordings of a queue: fixed arrivals and each packet's fate, as JSON lines, plain or gzip.
//!
//! The first line is a header object ([`Header`]), each further one an event ([`Row`]) in the order
//! in which they happened; times are nanoseconds since the header's `t_start_ns`:
//!
//! | row | meaning |
//! |---|---|
//! | `["A", t, seq, flow, bytes, tos]` | a packet arrives |
//! | `["A", t, seq, flow, bytes, tos, from, to]` | the same, from one host to another ([`Headers`]) |
//! | `["A", …, to, number, ecn, sacked, tsval, tsecr, pure]` | the same, and it acknowledges ([`TcpAck`](goodqueue::TcpAck)) |
//! | `["H", t, flow]`, `["H", t, flow, from, to]` | the recorder's hashes of the packet that arrives next ([`Row::Hashes`]) |
//! | `["T", t, memory]` | bytes of memory (`skb->truesize`) that the packet takes that arrives next |
//! | `["X", t, seq, bytes, tos]` | it leaves and starts on the link; `tos & 3 == 3` if it carries CE |
//! | `["D", t, seq]`, `["D", t, seq, reason]` | it is dropped |
//! | `["R", t, len, value]` | a random number of `len` bytes was drawn |
//! | `["P", t, prob, qdelay]` | PIE's timer ran: probability (scale 2^56 - 1) and queue delay (64 ns) after it |
//! | `["M", t, max_p, qavg]` | adaptive RED's timer ran: `max_p` (scale 2^32) and average (bytes << Wlog) after it |
//! | `["C", t, command]` | this command of tc changed the discipline, or one in it |
//! | `["E", t]` | the recording ends here: packets that are still queued have no fate in it |
//!
//! Of the header's further fields these concern every packet: `priority`
//! ([`Priority::of_recording`]), `mark`, `skb_hash` (`"flow+1"`: that is the hash of each packet's
//! flow) and `truesize` (an object that gives the memory of a packet by its length; a `T` row
//! overrides it).
//!
//! A file is read row by row and never held whole.

mod row;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use crate::replay::{Arrival, Hashes, Priority};
use flate2::bufread::MultiGzDecoder;
use goodqueue::config::Link;
use goodqueue::{AnyConfig, Disciplines, Instant, Rate};
pub use row::{Headers, Row};
use row::{parse_row, write_line};
use serde::{Deserialize, Serialize};

use crate::diagnostic::{Diagnostic, shortened};
use crate::input::Input;
use crate::line;

/// The first line of a recording. Everything in it may be absent.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Header {
    /// Name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The discipline, in tc's grammar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qdisc: Option<String>,
    /// Further tc commands that built it (classes, leaves).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra: Vec<String>,
    /// Rate of the link in bit/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_bps: Option<u64>,
    /// The recorder's clock at time 0 of the rows. Disciplines that truncate the clock depend on
    /// it.
    #[serde(default)]
    pub t_start_ns: u64,
    /// The discipline as the kernel showed it, every parameter included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tc_params: Option<String>,
    /// Other fields (schedule, kernel, counters).
    #[serde(flatten)]
    pub other: serde_json::Map<String, serde_json::Value>,
}

impl Header {
    /// Rate of the link.
    #[must_use]
    pub fn rate(&self) -> Option<Rate> {
        self.rate_bps.map(Rate::from_bps)
    }

    /// The recorder's clock at a row.
    #[must_use]
    pub const fn clock(&self, row_time: Instant) -> Instant {
        Instant::from_nanos(self.t_start_ns.saturating_add(row_time.as_nanos()))
    }

    /// Returns the end of the recording on the clock of the rows, or [`Instant::MAX`] if it is not
    /// given.
    fn end(&self) -> Result<Instant, Diagnostic> {
        let Some(given) = self.other.get("t_end_ns") else { return Ok(Instant::MAX) };
        given.as_u64().map(Instant::from_nanos).ok_or_else(|| {
            let message = format!("`t_end_ns` is {}, which is no time", shortened(&given.to_string()));
            Diagnostic::new(message).allowed("whole nanoseconds, 0 or more")
        })
    }

    /// Returns the tc commands that built the discipline. If the recorder charged packets only
    /// their length, a `truesize` of 1 is added for disciplines with a memory limit.
    #[must_use]
    pub fn commands(&self) -> Vec<String> {
        let said = self.other.get("memory").and_then(serde_json::Value::as_str);
        let bare = said.is_some_and(|said| said.starts_with("packet bytes"));
        let first =
            self.qdisc.iter().map(|line| if bare { format!("{line} truesize 1") } else { line.clone() });
        first.chain(self.extra.iter().cloned()).collect()
    }

    /// Returns the properties that the header gives to all packets.
    ///
    /// # Errors
    /// `truesize` is not an object of lengths and sizes.
    pub fn arrivals(&self) -> Result<Arrivals, Diagnostic> {
        let said = |name: &str| self.other.get(name).and_then(serde_json::Value::as_str);
        let truesizes = match self.other.get("truesize") {
            None => BTreeMap::new(),
            Some(given) => BTreeMap::deserialize(given).map_err(|error| {
                let given = shortened(&given.to_string());
                Diagnostic::new(format!("`truesize` is {given}: {error}"))
                    .allowed("bytes of memory by bytes of the packet, such as {\"66\": 768, \"1514\": 2304}")
            })?,
        };
        Ok(Arrivals {
            priority: Priority::of_recording(said("priority")),
            marks: said("mark").map(str::to_owned),
            hash_is_number: said("skb_hash") == Some("flow+1"),
            truesizes,
            hashes: None,
            truesize: None,
        })
    }

    /// Writes the header as the first line.
    ///
    /// # Errors
    /// The writer's.
    pub fn write(&self, to: &mut impl io::Write) -> io::Result<()> {
        write_line(self, to)
    }
}

/// Makes the packets of a recording from its rows, which must come in their order.
#[derive(Clone, Debug)]
pub struct Arrivals {
    priority: Priority,
    marks: Option<String>,
    /// True if the hash of a packet is the number of its flow plus 1.
    hash_is_number: bool,
    /// Memory by length.
    truesizes: BTreeMap<u32, u32>,
    /// Hashes of the next packet.
    hashes: Option<Hashes>,
    /// Memory of the next packet.
    truesize: Option<u32>,
}

impl Arrivals {
    /// Returns the meaning of a flow's number for the discipline.
    #[must_use]
    pub const fn priority(&self) -> Priority {
        self.priority
    }

    /// Returns the packet if one arrives in this row.
    pub fn next(&mut self, row: &Row) -> Option<Arrival> {
        match *row {
            Row::Hashes { flow, hosts, .. } => self.hashes = Some(Hashes { flow, hosts }),
            Row::Memory { bytes, .. } => self.truesize = Some(bytes),
            Row::Arrival { t, seq, flow, bytes, tos, headers } => {
                let number = self.hash_is_number.then(|| Hashes { flow: flow.wrapping_add(1), hosts: None });
                return Some(Arrival {
                    at: t,
                    seq,
                    flow,
                    bytes,
                    tos,
                    priority: self.priority,
                    mark: Arrival::mark_of_recording(self.marks.as_deref(), flow),
                    hosts: headers.map(|headers| (headers.source, headers.destination)),
                    ack: headers.and_then(|headers| headers.ack),
                    hashes: self.hashes.take().or(number),
                    truesize: self.truesize.take().or_else(|| self.truesizes.get(&bytes).copied()),
                });
            }
            _ => {}
        }
        None
    }
}

/// Returns the discipline that `commands` of tc create, and its configuration after each change
/// among `rows`, as [`crate::parse_among`] reads them.
///
/// # Errors
/// A command cannot be read, or the discipline refuses it.
pub fn configs(
    disciplines: &Disciplines,
    commands: &[String],
    rows: &[Row],
    link: &Link,
    variant: Option<&str>,
) -> Result<(AnyConfig, Vec<AnyConfig>), Diagnostic> {
    let mut script = commands.join("\n");
    let first = line::parse_among(disciplines, &script, link, variant)?;
    let mut changes = Vec::new();
    for row in rows {
        if let Row::Change { command, .. } = row {
            script.push('\n');
            script.push_str(command);
            changes.push(line::parse_among(disciplines, &script, link, variant)?);
        }
    }
    Ok((first, changes))
}

/// Reads a recording row by row: an iterator that ends after the first error.
pub struct Recording {
    name: String,
    header: Header,
    lines: Box<dyn BufRead + Send>,
    line: Vec<u8>,
    number: usize,
    now: Instant,
    arrived: Seen,
    /// End of the recording.
    end: Instant,
    ended: bool,
    failed: bool,
}

impl Recording {
    /// Opens the file at `path` and reads its header. Whether it is gzip shows in its first bytes,
    /// not in its name.
    ///
    /// # Errors
    /// The file cannot be read, or its first line is not a header.
    pub fn open(path: &Path) -> Result<Self, Diagnostic> {
        let name = path.display().to_string();
        let file = Input::open(path, MOST_BYTES).map_err(|error| {
            Diagnostic::new(format!("the recording cannot be opened: {error}")).in_file(&name)
        })?;
        Self::read(&name, BufReader::new(file))
    }

    /// Reads a recording, plain or gzip; `name` stands for it in messages.
    ///
    /// # Errors
    /// As [`Recording::open`].
    pub fn read(name: &str, mut reader: impl BufRead + Send + 'static) -> Result<Self, Diagnostic> {
        let first = reader.fill_buf().map_err(|error| unreadable(&error).in_file(name))?;
        let lines: Box<dyn BufRead + Send> = if first.starts_with(GZIP_MAGIC) {
            Box::new(BufReader::new(MultiGzDecoder::new(reader)))
        } else {
            Box::new(reader)
        };
        let mut recording = Self {
            name: name.to_owned(),
            header: Header::default(),
            lines,
            line: Vec::new(),
            number: 0,
            now: Instant::ZERO,
            arrived: Seen::default(),
            end: Instant::MAX,
            ended: false,
            failed: false,
        };
        if !recording.next_line()? {
            return Err(Diagnostic::new("the recording is empty").allowed(FIRST_LINE).in_file(name));
        }
        recording.header = serde_json::from_slice(&recording.line).map_err(|error| {
            Diagnostic::new(format!("the first line is not a header: {error}"))
                .allowed(FIRST_LINE)
                .in_line(name, 1)
        })?;
        recording.end = recording.header.end().map_err(|error| error.in_line(name, 1))?;
        Ok(recording)
    }

    /// The first line.
    #[must_use]
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// Name of the file, as given.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Line of the row read last, from 1.
    #[must_use]
    pub const fn line_number(&self) -> usize {
        self.number
    }

    fn next_line(&mut self) -> Result<bool, Diagnostic> {
        self.line.clear();
        self.number += 1;
        let read = self.lines.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut self.line);
        match read {
            Ok(bytes) if bytes as u64 == LONGEST_LINE => {
                let message = format!("the line is longer than {} KiB", LONGEST_LINE >> 10);
                Err(Diagnostic::new(message).in_line(&self.name, self.number))
            }
            Ok(bytes) => Ok(bytes > 0),
            Err(error) => Err(unreadable(&error).in_line(&self.name, self.number)),
        }
    }

    fn next_row(&mut self) -> Result<Option<Row>, Diagnostic> {
        if !self.next_line()? {
            return Ok(None);
        }
        let row = parse_row(&self.line).map_err(|error| error.in_line(&self.name, self.number))?;
        if row.time() < self.now {
            let message =
                format!("time goes back from {} ns to {} ns", self.now.as_nanos(), row.time().as_nanos());
            return Err(Diagnostic::new(message)
                .allowed("rows in the order in which they happened")
                .in_line(&self.name, self.number));
        }
        if std::mem::replace(&mut self.ended, matches!(row, Row::End { .. })) {
            return Err(Diagnostic::new("the recording has ended in the line before")
                .help("remove the row that says so, or those behind it")
                .in_line(&self.name, self.number));
        }
        self.now = row.time();
        let refused = |message: Diagnostic| Err(message.in_line(&self.name, self.number));
        if self.now > self.end {
            let (at, end) = (self.now.as_nanos(), self.end.as_nanos());
            let message = format!("the row is of {at} ns, after the end of the recording at {end} ns");
            return refused(Diagnostic::new(message).allowed("rows up to `t_end_ns` of the first line"));
        }
        if let Row::Arrival { seq, .. } = row
            && !self.arrived.insert(seq)
        {
            let message = Diagnostic::new(format!("packet {seq} arrives a second time"));
            return refused(message.allowed("a number of its own for each arrival"));
        }
        Ok(Some(row))
    }
}

/// Numbers of packets that have arrived, as ranges: most recordings number their packets one by
/// one.
#[derive(Clone, Default, Debug)]
struct Seen {
    /// The first and the last number of each range.
    ranges: BTreeMap<u64, u64>,
}

impl Seen {
    /// False if the number was there already.
    fn insert(&mut self, number: u64) -> bool {
        let before = self.ranges.range(..=number).next_back().map(|(first, last)| (*first, *last));
        if before.is_some_and(|(_, last)| number <= last) {
            return false;
        }
        let joined = number.checked_add(1).and_then(|next| self.ranges.remove(&next));
        let first = match before {
            Some((first, last)) if last + 1 == number => first,
            _ => number,
        };
        self.ranges.insert(first, joined.unwrap_or(number));
        true
    }
}

impl Iterator for Recording {
    type Item = Result<Row, Diagnostic>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let row = self.next_row().transpose();
        self.failed = matches!(row, Some(Err(_)));
        row
    }
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recording")
            .field("name", &self.name)
            .field("line", &self.number)
            .finish_non_exhaustive()
    }
}

fn unreadable(error: &io::Error) -> Diagnostic {
    Diagnostic::new(format!("cannot be read: {error}"))
}

const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b];
const LONGEST_LINE: u64 = 1 << 20;
/// Recordings are read row by row, and may be of hours.
const MOST_BYTES: u64 = 16 << 30;
const FIRST_LINE: &str = "a JSON object, such as {\"qdisc\": \"codel\", \"rate_bps\": 10000000}";
