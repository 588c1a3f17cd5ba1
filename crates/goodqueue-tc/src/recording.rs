//! Recordings of a queue: fixed arrivals and each packet's fate, as JSON lines, plain or gzip.
//!
//! The first line is a header object ([`Header`]), each further one an event ([`Row`]) in the order
//! in which they happened; times are nanoseconds since the header's `t_start_ns`:
//!
//! | row | meaning |
//! |---|---|
//! | `["A", t, seq, flow, bytes, tos]` | a packet arrives |
//! | `["A", t, seq, flow, bytes, tos, from, to]` | the same, from one host to another ([`Headers`]) |
//! | `["A", …, to, number, ecn, sacked, tsval, tsecr, pure]` | the same, and it acknowledges ([`TcpAck`]) |
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

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use crate::replay::{Arrival, Hashes, Priority};
use flate2::bufread::MultiGzDecoder;
use goodqueue::config::Link;
use goodqueue::{AnyConfig, Instant, Rate, TcpAck};
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::diagnostic::{Diagnostic, shortened, unknown};
use crate::input::Input;
use crate::line;

/// The first line of a recording. Everything in it may be absent.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Header {
    /// What it is called.
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
    /// The recorder's clock at time 0 of the rows; disciplines that truncate the clock depend on
    /// it.
    #[serde(default)]
    pub t_start_ns: u64,
    /// The discipline as the kernel showed it, every parameter included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tc_params: Option<String>,
    /// Whatever else stands there (schedule, kernel, counters).
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

    /// When the record ends, on the clock of the rows; never if nothing is said.
    fn end(&self) -> Result<Instant, Diagnostic> {
        let Some(given) = self.other.get("t_end_ns") else { return Ok(Instant::MAX) };
        given.as_u64().map(Instant::from_nanos).ok_or_else(|| {
            let message = format!("`t_end_ns` is {}, which is no time", shortened(&given.to_string()));
            Diagnostic::new(message).allowed("whole nanoseconds, 0 or more")
        })
    }

    /// The commands of tc that built the discipline. A recorder that says so let packets take no
    /// more memory than they have bytes, and `truesize` tells disciplines with a limit in memory.
    #[must_use]
    pub fn commands(&self) -> Vec<String> {
        let said = self.other.get("memory").and_then(serde_json::Value::as_str);
        let bare = said.is_some_and(|said| said.starts_with("packet bytes"));
        let first =
            self.qdisc.iter().map(|line| if bare { format!("{line} truesize 1") } else { line.clone() });
        first.chain(self.extra.iter().cloned()).collect()
    }

    /// What the header says of all packets.
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
    /// The hash of a packet is the number of its flow and 1.
    hash_is_number: bool,
    /// Memory by length.
    truesizes: BTreeMap<u32, u32>,
    /// What is known of the packet that arrives next.
    hashes: Option<Hashes>,
    /// See `hashes`.
    truesize: Option<u32>,
}

impl Arrivals {
    /// What a flow's number means to the discipline.
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

/// What disciplines that look at hosts and acknowledgements (`cake`) want to know of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Headers {
    /// Number of the host that it comes from.
    pub source: u32,
    /// Number of the host that it goes to.
    pub destination: u32,
    /// What it acknowledges.
    pub ack: Option<TcpAck>,
}

/// One event, at `t` since the start of the recording.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Row {
    /// `A`: a packet arrives.
    Arrival {
        /// When.
        t: Instant,
        /// Number of the packet.
        seq: u64,
        /// Number of its flow.
        flow: u32,
        /// Length as the queue counts it.
        bytes: u32,
        /// Type-of-service byte; its two low bits are ECN.
        tos: u8,
        /// Further headers, if the recording has them.
        headers: Option<Headers>,
    },
    /// `H`: what the recorder made of the headers of the packet that arrives next. Of a discipline
    /// that hashes with a secret nothing else tells which flows share a queue.
    Hashes {
        /// When.
        t: Instant,
        /// Of its flow; of the two that `sfb` takes while its next set of bins warms up, the first.
        flow: u32,
        /// Of the host that it comes from, and of the one that it goes to.
        hosts: Option<(u32, u32)>,
    },
    /// `T`: the memory that the packet takes that arrives next, where its length does not tell it.
    Memory {
        /// When.
        t: Instant,
        /// Bytes of memory, as Linux's `skb->truesize`.
        bytes: u32,
    },
    /// `X`: a packet leaves the queue.
    Exit {
        /// When.
        t: Instant,
        /// Number of the packet.
        seq: u64,
        /// Length as the queue counts it.
        bytes: u32,
        /// Type-of-service byte, with CE if it was marked.
        tos: u8,
    },
    /// `D`: a packet is dropped.
    Drop {
        /// When.
        t: Instant,
        /// Number of the packet.
        seq: u64,
        /// Why, where it is known.
        reason: Option<String>,
    },
    /// `R`: the discipline drew a random number.
    Random {
        /// When.
        t: Instant,
        /// Bytes drawn: 4 or 8.
        len: u8,
        /// The number.
        value: u64,
    },
    /// `P`: PIE updated its drop probability.
    PieUpdate {
        /// When.
        t: Instant,
        /// The probability; 2^56 - 1 is 1.
        prob: u64,
        /// The queue delay, in units of 64 ns.
        qdelay: u64,
    },
    /// `M`: adaptive RED updated its maximum probability.
    RedUpdate {
        /// When.
        t: Instant,
        /// The maximum probability; 2^32 is 1.
        max_p: u64,
        /// The average queue, bytes shifted left by Wlog.
        qavg: u64,
    },
    /// `C`: the discipline, or one in it, was changed while packets were queued.
    Change {
        /// When.
        t: Instant,
        /// What tc was told.
        command: String,
    },
    /// `E`: the recording ends before the queue is empty.
    End {
        /// When.
        t: Instant,
    },
}

impl Row {
    /// When it happened, since the start of the recording.
    #[must_use]
    pub const fn time(&self) -> Instant {
        match self {
            Self::Arrival { t, .. }
            | Self::Exit { t, .. }
            | Self::Drop { t, .. }
            | Self::Random { t, .. }
            | Self::PieUpdate { t, .. }
            | Self::RedUpdate { t, .. }
            | Self::Hashes { t, .. }
            | Self::Memory { t, .. }
            | Self::Change { t, .. }
            | Self::End { t } => *t,
        }
    }

    /// Writes the row as one line.
    ///
    /// # Errors
    /// The writer's.
    pub fn write(&self, to: &mut impl io::Write) -> io::Result<()> {
        write_line(self, to)
    }
}

/// The discipline that `commands` of tc made, and what each change among `rows` made of it, as
/// [`crate::parse_as`] reads them.
///
/// # Errors
/// A command that cannot be read, or one that the discipline refuses.
pub fn configs(
    commands: &[String],
    rows: &[Row],
    link: &Link,
    variant: Option<&str>,
) -> Result<(AnyConfig, Vec<AnyConfig>), Diagnostic> {
    let mut script = commands.join("\n");
    let first = line::parse_as(&script, link, variant)?;
    let mut changes = Vec::new();
    for row in rows {
        if let Row::Change { command, .. } = row {
            script.push('\n');
            script.push_str(command);
            changes.push(line::parse_as(&script, link, variant)?);
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
    /// When the record ends, if the header says it.
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

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut row = serializer.serialize_seq(None)?;
        match self {
            Self::Arrival { t, seq, flow, bytes, tos, headers } => {
                row.serialize_element("A")?;
                row.serialize_element(&t.as_nanos())?;
                row.serialize_element(seq)?;
                row.serialize_element(flow)?;
                row.serialize_element(bytes)?;
                row.serialize_element(tos)?;
                if let Some(Headers { source, destination, ack }) = headers {
                    row.serialize_element(source)?;
                    row.serialize_element(destination)?;
                    if let Some(ack) = ack {
                        row.serialize_element(&ack.number)?;
                        row.serialize_element(&ack.ecn)?;
                        row.serialize_element(&ack.sacked)?;
                        row.serialize_element(&ack.timestamps.0)?;
                        row.serialize_element(&ack.timestamps.1)?;
                        row.serialize_element(&u8::from(ack.pure))?;
                    }
                }
            }
            Self::Exit { t, seq, bytes, tos } => {
                row.serialize_element("X")?;
                row.serialize_element(&t.as_nanos())?;
                row.serialize_element(seq)?;
                row.serialize_element(bytes)?;
                row.serialize_element(tos)?;
            }
            Self::Drop { t, seq, reason } => {
                row.serialize_element("D")?;
                row.serialize_element(&t.as_nanos())?;
                row.serialize_element(seq)?;
                if let Some(reason) = reason {
                    row.serialize_element(reason)?;
                }
            }
            Self::Random { t, len, value } => numbers(&mut row, "R", *t, u64::from(*len), *value)?,
            Self::PieUpdate { t, prob, qdelay } => numbers(&mut row, "P", *t, *prob, *qdelay)?,
            Self::RedUpdate { t, max_p, qavg } => numbers(&mut row, "M", *t, *max_p, *qavg)?,
            Self::Memory { t, bytes } => {
                row.serialize_element("T")?;
                row.serialize_element(&t.as_nanos())?;
                row.serialize_element(bytes)?;
            }
            Self::Hashes { t, flow, hosts } => {
                row.serialize_element("H")?;
                row.serialize_element(&t.as_nanos())?;
                row.serialize_element(flow)?;
                if let Some((source, destination)) = hosts {
                    row.serialize_element(source)?;
                    row.serialize_element(destination)?;
                }
            }
            Self::Change { t, command } => {
                row.serialize_element("C")?;
                row.serialize_element(&t.as_nanos())?;
                row.serialize_element(command)?;
            }
            Self::End { t } => {
                row.serialize_element("E")?;
                row.serialize_element(&t.as_nanos())?;
            }
        }
        row.end()
    }
}

fn numbers<S: SerializeSeq>(
    row: &mut S,
    tag: &str,
    t: Instant,
    first: u64,
    second: u64,
) -> Result<(), S::Error> {
    row.serialize_element(tag)?;
    row.serialize_element(&t.as_nanos())?;
    row.serialize_element(&first)?;
    row.serialize_element(&second)
}

impl<'de> Deserialize<'de> for Row {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(RowVisitor)
    }
}

struct RowVisitor;

impl<'de> Visitor<'de> for RowVisitor {
    type Value = Row;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(ROWS)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut row: A) -> Result<Row, A::Error> {
        let tag: String = field(&mut row, "the kind of row")?;
        let t = Instant::from_nanos(field(&mut row, "the time")?);
        match tag.as_str() {
            "A" => Ok(Row::Arrival {
                t,
                seq: field(&mut row, "the packet's number")?,
                flow: field(&mut row, "the flow")?,
                bytes: field(&mut row, "the length")?,
                tos: field(&mut row, "the TOS byte")?,
                headers: headers(&mut row)?,
            }),
            "X" => Ok(Row::Exit {
                t,
                seq: field(&mut row, "the packet's number")?,
                bytes: field(&mut row, "the length")?,
                tos: field(&mut row, "the TOS byte")?,
            }),
            "D" => {
                Ok(Row::Drop { t, seq: field(&mut row, "the packet's number")?, reason: row.next_element()? })
            }
            "R" => Ok(Row::Random {
                t,
                len: field(&mut row, "the length")?,
                value: field(&mut row, "the number")?,
            }),
            "P" => {
                Ok(Row::PieUpdate { t, prob: field(&mut row, "prob")?, qdelay: field(&mut row, "qdelay")? })
            }
            "M" => Ok(Row::RedUpdate { t, max_p: field(&mut row, "max_p")?, qavg: field(&mut row, "qavg")? }),
            "H" => {
                let flow = field(&mut row, "the hash of the flow")?;
                let hosts = match row.next_element()? {
                    Some(source) => Some((source, field(&mut row, "the hash of the host that it goes to")?)),
                    None => None,
                };
                Ok(Row::Hashes { t, flow, hosts })
            }
            "T" => Ok(Row::Memory { t, bytes: field(&mut row, "the memory")? }),
            "C" => Ok(Row::Change { t, command: field(&mut row, "the command")? }),
            "E" => Ok(Row::End { t }),
            other => Err(A::Error::custom(unknown("the kind of row", other, TAGS).problem())),
        }
    }
}

/// What a row of an arrival may hold beyond the TOS byte.
fn headers<'de, A: SeqAccess<'de>>(row: &mut A) -> Result<Option<Headers>, A::Error> {
    let Some(source) = row.next_element()? else { return Ok(None) };
    let destination = field(row, "the host that it goes to")?;
    let ack = match row.next_element()? {
        Some(number) => Some(TcpAck {
            number,
            ecn: field(row, "ECE and CWR")?,
            sacked: field(row, "the bytes that SACK acknowledges")?,
            timestamps: (field(row, "TSval")?, field(row, "TSecr")?),
            pure: field::<u8, A>(row, "whether it is a pure ACK")? != 0,
        }),
        None => None,
    };
    Ok(Some(Headers { source, destination, ack }))
}

fn field<'de, T: Deserialize<'de>, A: SeqAccess<'de>>(row: &mut A, what: &str) -> Result<T, A::Error> {
    row.next_element()?.ok_or_else(|| A::Error::custom(format!("{what} is missing")))
}

fn parse_row(line: &[u8]) -> Result<Row, Diagnostic> {
    serde_json::from_slice(line).map_err(|error| {
        let text = String::from_utf8_lossy(line);
        Diagnostic::new(format!("`{}` is not a row: {error}", shortened(text.trim_end()))).allowed(ROWS)
    })
}

fn write_line(value: &impl Serialize, to: &mut impl io::Write) -> io::Result<()> {
    serde_json::to_writer(&mut *to, value)?;
    to.write_all(b"\n")
}

fn unreadable(error: &io::Error) -> Diagnostic {
    Diagnostic::new(format!("cannot be read: {error}"))
}

const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b];
const LONGEST_LINE: u64 = 1 << 20;
/// Recordings are read row by row, and may be of hours.
const MOST_BYTES: u64 = 16 << 30;
const TAGS: &[&str] = &["A", "X", "D", "R", "P", "M", "H", "T", "C", "E"];
const FIRST_LINE: &str = "a JSON object, such as {\"qdisc\": \"codel\", \"rate_bps\": 10000000}";
const ROWS: &str = "[\"A\", t, seq, flow, bytes, tos], [\"X\", t, seq, bytes, tos], [\"D\", t, seq], \
                    [\"R\", t, len, value], [\"P\", t, prob, qdelay], [\"M\", t, max_p, qavg], \
                    [\"H\", t, flow], [\"T\", t, memory], [\"C\", t, command] or [\"E\", t]";

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use proptest::prelude::*;
    use std::io::{Cursor, Write};

    const STORY: &str = r#"{"golden": 1, "name": "two", "qdisc": "pfifo limit 1", "rate_bps": 10000000, "t_start_ns": 7}
["A",1000,0,3,1514,2]
["X",1000,0,1514,3]
["A",1001,1,0,60,0]
["A",1001,2,9,60,0,4000000000,7]
["A",1001,3,9,60,0,7,4000000000,1,2,3,4,5,1]
["R",1001,4,3735928559]
["D",1001,1]
["D",1001,2,"overlimit"]
["P",15000,72057594037927935,64]
["M",500000,42949672,12500]
["H",500000,4294967295]
["H",500001,1,2,3]
["T",500001,2304]
["C",500002,"tc qdisc change dev eth0 root pfifo limit 2"]
["E",500003]
"#;

    fn read(bytes: &[u8]) -> Result<Recording, Diagnostic> {
        Recording::read("two.jsonl", Cursor::new(bytes.to_vec()))
    }

    fn rows(bytes: &[u8]) -> Result<Vec<Row>, Diagnostic> {
        read(bytes)?.collect()
    }

    #[test]
    fn plain_or_compressed_gives_the_same_rows_and_writing_gives_the_same_text() {
        let recording = read(STORY.as_bytes()).unwrap();
        assert_eq!(recording.header().qdisc.as_deref(), Some("pfifo limit 1"));
        assert_eq!(recording.header().rate(), Some(Rate::from_bps(10_000_000)));
        assert_eq!(recording.header().clock(Instant::from_nanos(3)), Instant::from_nanos(10));
        assert_eq!(recording.header().other["golden"], 1);
        let plain: Vec<Row> = recording.map(Result::unwrap).collect();
        assert_eq!(plain.len(), 15);
        assert_eq!(
            plain[0],
            Row::Arrival {
                t: Instant::from_nanos(1000),
                seq: 0,
                flow: 3,
                bytes: 1514,
                tos: 2,
                headers: None
            }
        );

        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(STORY.as_bytes()).unwrap();
        assert_eq!(rows(&packed.finish().unwrap()), Ok(plain.clone()));

        let mut written = Vec::new();
        for row in &plain {
            row.write(&mut written).unwrap();
        }
        assert_eq!(String::from_utf8(written).unwrap(), STORY.split_once('\n').unwrap().1);
    }

    #[test]
    fn a_bad_row_is_shown_with_its_line_and_ends_the_reading() {
        let mut recording = read(b"{}\n[\"A\",1,0,0,60,0]\n[\"A\",2,1,0]\n[\"A\",3,0,0,60,0]\n").unwrap();
        assert!(recording.next().unwrap().is_ok());
        insta::assert_snapshot!(recording.next().unwrap().unwrap_err(), @r#"
        two.jsonl:3:1: `["A",2,1,0]` is not a row: the length is missing at line 1 column 11
          allowed: ["A", t, seq, flow, bytes, tos], ["X", t, seq, bytes, tos], ["D", t, seq], ["R", t, len, value], ["P", t, prob, qdelay], ["M", t, max_p, qavg], ["H", t, flow], ["T", t, memory], ["C", t, command] or ["E", t]
        "#);
        assert!(recording.next().is_none());
        insta::assert_snapshot!(rows(b"{}\n[\"D\",5,0]\n[\"D\",4,1]\n").unwrap_err(), @r"
        two.jsonl:3:1: time goes back from 5 ns to 4 ns
          allowed: rows in the order in which they happened
        ");
        insta::assert_snapshot!(rows(b"{}\n[\"E\",5]\n[\"D\",6,1]\n").unwrap_err(), @r"
        two.jsonl:3:1: the recording has ended in the line before
          help: remove the row that says so, or those behind it
        ");
        insta::assert_snapshot!(rows(b"{}\n[\"A\",5,0,0,60,0]\n[\"X\",6,0,60,0]\n[\"A\",7,0,0,60,0]\n").unwrap_err(), @r"
        two.jsonl:4:1: packet 0 arrives a second time
          allowed: a number of its own for each arrival
        ");
        insta::assert_snapshot!(rows(b"{\"t_end_ns\": 6}\n[\"A\",6,0,0,60,0]\n[\"X\",7,0,60,0]\n").unwrap_err(), @r"
        two.jsonl:3:1: the row is of 7 ns, after the end of the recording at 6 ns
          allowed: rows up to `t_end_ns` of the first line
        ");
        for end in ["-5", "1.5", "\"7\"", "1e30", "[]"] {
            let refused = read(format!("{{\"t_end_ns\": {end}}}\n").as_bytes()).unwrap_err().to_string();
            assert!(refused.starts_with("two.jsonl:1:1: `t_end_ns` is "), "{refused}");
        }
        for bad in
            ["[\"Q\",1,2]", "[\"A\",-1,0,0,60,0]", "[\"A\",1,0,0,60,256]", "[]", "7", "", "[\"D\",1,2,3,4"]
        {
            assert!(rows(format!("{{}}\n{bad}\n").as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_file_that_is_no_recording_is_refused() {
        insta::assert_snapshot!(read(b"").unwrap_err(), @r#"
        two.jsonl: the recording is empty
          allowed: a JSON object, such as {"qdisc": "codel", "rate_bps": 10000000}
        "#);
        assert!(read(b"[1]\n").is_err());
        assert!(read(&[0x1f, 0x8b, 0, 0, 1]).is_err());
        assert!(read(&vec![b' '; 2 << 20]).unwrap_err().to_string().contains("longer than 1024 KiB"));
        assert!(
            Recording::open(Path::new("/nonexistent")).unwrap_err().to_string().contains("cannot be opened")
        );
    }

    proptest! {
        #[test]
        fn every_number_is_new_once(numbers in prop::collection::vec(0u64..40, 0..80)) {
            let (mut ranges, mut list) = (Seen::default(), Vec::new());
            for number in numbers {
                prop_assert_eq!(ranges.insert(number), !list.contains(&number));
                list.push(number);
            }
        }

        #[test]
        fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..80), text in "[\\[\\]\",AXD0-9]{0,40}") {
            let _ = rows(&bytes);
            let _ = rows(format!("{{}}\n{text}").as_bytes());
        }
    }
}
