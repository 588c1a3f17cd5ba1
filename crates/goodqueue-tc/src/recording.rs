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
//! ([`of_recording`](crate::replay::Priority::of_recording)), `mark`, `skb_hash` (`"flow+1"`: that
//! is the hash of each packet's flow), `truesize` (an object that gives the memory of a packet by
//! its length; a `T` row overrides it) and `edt_us` (an object that gives, by flow, the
//! microseconds from the arrival of a packet to the time at which its sender lets it depart). `R`
//! rows of 2 bytes are draws of 16 bits. In recordings of `dualpi2`, `P` rows have the base
//! probability (scale 2^32 - 1) and the queue delay in nanoseconds.
//!
//! A simulated queue has its random numbers as `qdisc_seed`, with `qdisc_stream` and
//! `qdisc_hash_key`, or with `qdisc_salt`.
//!
//! A recording may share its arrivals with others ([`short`]).
//!
//! A file is read row by row and never held whole.

mod header;
mod row;
pub mod short;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use goodqueue::config::Link;
use goodqueue::registry::Chosen;
use goodqueue::{AnyConfig, AnyQdisc, Disciplines, Duration, Instant, Rate};
pub use header::{Arrivals, Header};
use row::parse_row;
pub use row::{Headers, Row};

use crate::diagnostic::{Diagnostic, shortened};
use crate::input::Input;
use crate::line;
use crate::replay::Arrival;

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
            // A change is read behind all commands before it: it keeps some of their settings.
            script.push('\n');
            script.push_str(command);
            changes.push(line::parse_among(disciplines, &script, link, variant)?);
        }
    }
    Ok((first, changes))
}

/// Sets the timer of a discipline to the phase that `rows` show. Other disciplines know the phase
/// from the kernel's clock; `dualpi2` has a timer of its own, which starts when it is made.
pub fn set_timer(qdisc: &mut AnyQdisc<Arrival>, rows: &[Row], origin: Duration) {
    let ran = rows.iter().find_map(|row| match row {
        Row::PieUpdate { t, .. } => Some(*t),
        _ => None,
    });
    if let (Some(first), Chosen::DualPi2(dualpi2)) = (ran, qdisc.chosen_mut()) {
        dualpi2.update_next_at(first + origin);
    }
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
    /// Arrivals in a file of their own, and the context of rows in short form.
    shared: Option<(Box<Recording>, short::Context)>,
}

impl Recording {
    /// Opens the file at `path` and reads its header. Whether it is gzip shows in its first bytes,
    /// not in its name.
    ///
    /// # Errors
    /// The file cannot be read, or its first line is not a header.
    pub fn open(path: &Path) -> Result<Self, Diagnostic> {
        let mut recording = Self::open_alone(path)?;
        recording.open_shared(path)?;
        Ok(recording)
    }

    /// Opens the files that the header names: the recording with the same rows, or the arrivals.
    fn open_shared(&mut self, path: &Path) -> Result<(), Diagnostic> {
        // A file without a folder in its name is in the working directory.
        let beside = path.parent().unwrap_or(Path::new(""));
        if let Some(name) = self.header.beside("rows_of").map_err(|error| error.in_line(&self.name, 1))? {
            let file = beside.join(format!("{name}.jsonl.gz"));
            let mut same = Self::open_alone(&file)?;
            // One step only: two files could name each other.
            if same.header.beside("rows_of").is_ok_and(|name| name.is_none()) {
                same.open_shared(&file)?;
            }
            (self.lines, self.number, self.shared) = (same.lines, same.number, same.shared);
        } else if let Some(name) =
            self.header.beside("arrivals").map_err(|error| error.in_line(&self.name, 1))?
        {
            let rate = self.header.rate().unwrap_or(Rate::from_bps(1));
            let arrivals = Self::open_alone(&beside.join("arrivals").join(format!("{name}.jsonl.gz")))?;
            self.shared = Some((Box::new(arrivals), short::Context::new(rate)));
        }
        Ok(())
    }

    /// Opens a file without those that its header names.
    fn open_alone(path: &Path) -> Result<Self, Diagnostic> {
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
        // The first byte of the mark is enough, as no JSON begins with it. A pipe may have no
        // second one yet.
        let is_packed = first.first() == GZIP_MAGIC.first();
        let lines: Box<dyn BufRead + Send> = if is_packed {
            // A gzip file may have several members (RFC 1952 §2.2).
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
            shared: None,
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
            // A line that fills the limit may go on behind it.
            Ok(bytes) if bytes as u64 == LONGEST_LINE => {
                let message = format!("the line is longer than {} KiB", LONGEST_LINE >> 10);
                Err(Diagnostic::new(message).in_line(&self.name, self.number))
            }
            Ok(bytes) => Ok(bytes > 0),
            Err(error) => Err(unreadable(&error).in_line(&self.name, self.number)),
        }
    }

    /// Returns the row of the next line.
    fn read_row(&mut self) -> Result<Option<Row>, Diagnostic> {
        loop {
            if !self.next_line()? {
                return Ok(None);
            }
            let place = |error: Diagnostic| error.in_line(&self.name, self.number);
            let Some((arrivals, context)) = &mut self.shared else {
                return parse_row(&self.line).map(Some).map_err(place);
            };
            // Tags of short rows are lower-case letters: `["a"]`.
            let short = self.line.get(2).is_some_and(u8::is_ascii_lowercase);
            if !short {
                let row = parse_row(&self.line).map_err(place)?;
                context.see(&row);
                return Ok(Some(row));
            }
            // A line that is no JSON has no words, which `Context::read` refuses as an unknown kind
            // of row.
            let words: Vec<serde_json::Value> = serde_json::from_slice(&self.line).unwrap_or_default();
            let mut broken = None;
            let next_arrival = || arrivals.next()?.map_err(|error| broken = Some(error)).ok();
            match context.read(&words, next_arrival) {
                Ok(None) => {}
                Ok(row) => return Ok(row),
                Err(why) => {
                    // This error names the file of the arrivals, and its line.
                    if let Some(error) = broken {
                        return Err(error);
                    }
                    let line = String::from_utf8_lossy(&self.line);
                    let text = shortened(line.trim_end());
                    return Err(place(Diagnostic::new(format!("`{text}` is not a row: {why}"))));
                }
            }
        }
    }

    fn next_row(&mut self) -> Result<Option<Row>, Diagnostic> {
        let Some(row) = self.read_row()? else { return Ok(None) };
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
            let at = self.now.as_nanos();
            let end = self.end.as_nanos();
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
            // `last` is below `number`, so the sum cannot overflow.
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
// A gzip file of a megabyte may hold a line of a gigabyte.
const LONGEST_LINE: u64 = 1 << 20;
/// Recordings are read row by row, and may be of hours.
const MOST_BYTES: u64 = 16 << 30;
const FIRST_LINE: &str = "a JSON object, such as {\"qdisc\": \"codel\", \"rate_bps\": 10000000}";
