//! Packets of a queue as qlog, for tools that read the logs of QUIC stacks.
//!
//! A file is a JSON text sequence (RFC 7464) of the schema `QlogFileSeq` of
//! draft-ietf-quic-qlog-main-schema-13. The events of the draft describe endpoints, so those of a
//! queue are in a namespace of their own, as the draft allows:
//!
//! | event | when | data beside `packet`, `flow`, `length` and `ecn` |
//! |---|---|---|
//! | `goodqueue:packet_enqueued` | it arrived at the queue | |
//! | `goodqueue:packet_dequeued` | its first bit went on the link | `sojourn` |
//! | `goodqueue:packet_dropped` | the discipline dropped it | `sojourn`, `reason` |
//! | `goodqueue:packet_lost` | the path behind the queue lost it | `reason` |
//!
//! `packet` and `flow` are numbers from 0, `length` is in bytes with the headers of the link,
//! `sojourn` and `time` are in milliseconds. A packet that was marked leaves with the `ecn` `CE`.
//! Time 0 is that of the link.

extern crate std;

use core::fmt::{self, Write as _};
use std::io::{self, Write};
use std::string::{String, ToString};

use goodqueue::{DropReason, Duration, Ecn, Flow, Instant, Packet};

use crate::numbers::Numbers;
use crate::observe::Observer;
use crate::tagged::Queued;

/// Appends the record that begins a file.
pub fn header(to: &mut String, title: &str) {
    let title = Text(title);
    // Writing to a string cannot fail.
    let _ = writeln!(
        to,
        // Each record begins with a record separator (RFC 7464).
        "\u{1e}{{\"file_schema\":\"urn:ietf:params:qlog:file:sequential\",\
         \"serialization_format\":\"application/qlog+json-seq\",\"title\":{title},\
         \"trace\":{{\"common_fields\":{{\"time_format\":\"relative_to_epoch\",\
         \"reference_time\":{{\"clock_type\":\"monotonic\",\"epoch\":\"unknown\"}}}},\
         \"vantage_point\":{{\"type\":\"network\",\"flow\":\"unknown\"}},\
         \"event_schemas\":[\"{SCHEMA}\"]}}}}"
    );
}

/// The schema of these events. The draft asks for the month in the URI of a private schema.
pub const SCHEMA: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/112026/qlog");

/// What happened to a packet, and how long it had been in the queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Happened {
    /// It arrived at the queue.
    Enqueued,
    /// Its first bit went on the link.
    Dequeued(Duration),
    /// The discipline dropped it.
    Dropped(Duration, DropReason),
    /// The path behind the queue lost it.
    Lost(DropReason),
}

/// An event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record {
    /// Time of the event.
    pub at: Instant,
    /// The event.
    pub happened: Happened,
    /// Number of the packet.
    pub packet: u64,
    /// Number of its flow.
    pub flow: u32,
    /// Bytes, with the headers of the link.
    pub length: u32,
    /// ECN field.
    pub ecn: Ecn,
    /// Name of the queue, if a file has several.
    pub queue: Option<&'static str>,
}

/// Appends an event.
pub fn event(to: &mut String, record: &Record) {
    let Record { at, happened, packet, flow, length, ecn, queue } = record;
    let name = match happened {
        Happened::Enqueued => "enqueued",
        Happened::Dequeued(_) => "dequeued",
        Happened::Dropped(..) => "dropped",
        Happened::Lost(_) => "lost",
    };
    let time = Milliseconds(at.since(Instant::ZERO));
    let ecn = match ecn {
        Ecn::NotEct => "Not-ECT",
        Ecn::Ect1 => "ECT(1)",
        Ecn::Ect0 => "ECT(0)",
        Ecn::Ce => "CE",
    };
    // Writing to a string cannot fail.
    let _ = write!(
        to,
        "\u{1e}{{\"time\":{time},\"name\":\"goodqueue:packet_{name}\",\
         \"data\":{{\"packet\":{packet},\"flow\":{flow},\"length\":{length},\"ecn\":\"{ecn}\""
    );
    if let Happened::Dequeued(sojourn) | Happened::Dropped(sojourn, _) = happened {
        let _ = write!(to, ",\"sojourn\":{}", Milliseconds(*sojourn));
    }
    if let Happened::Dropped(_, reason) | Happened::Lost(reason) = happened {
        let _ = write!(to, ",\"reason\":{}", Text(reason.name()));
    }
    if let Some(queue) = queue {
        let _ = write!(to, ",\"queue\":{}", Text(queue));
    }
    to.push_str("}}\n");
}

/// Writes every packet of a link as qlog.
///
/// ```
/// use goodqueue::Datagram;
/// use goodqueue_link::qlog::Qlog;
/// use goodqueue_link::{Link, Units};
///
/// let mut link: Link<Datagram<Vec<u8>>> = Link::builder().rate(8.mbit()).build()?;
/// link.observe(Qlog::to(std::io::sink(), "bottleneck, down")?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Qlog<W> {
    to: W,
    flows: Numbers<[u32; 2]>,
    text: String,
    trouble: Option<String>,
}

impl<W: Write> Qlog<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// The writer's.
    pub fn to(mut to: W, title: &str) -> io::Result<Self> {
        let mut text = String::new();
        header(&mut text, title);
        to.write_all(text.as_bytes())?;
        Ok(Self { to, flows: Numbers::default(), text, trouble: None })
    }

    fn write<P: Packet + Flow>(&mut self, at: Instant, packet: &Queued<P>, happened: Happened) {
        if self.trouble.is_some() {
            return;
        }
        // Two hashes, so that two flows have the same number only if both collide.
        let flow = self.flows.number([0, u32::MAX].map(|salt| packet.flow_hash(salt)));
        let record = Record {
            at,
            happened,
            packet: packet.tag.number,
            flow,
            length: packet.len(),
            ecn: packet.ecn(),
            queue: None,
        };
        self.text.clear();
        event(&mut self.text, &record);
        self.trouble = self.to.write_all(self.text.as_bytes()).err().map(|error| error.to_string());
    }
}

impl<P: Packet + Flow, W: Write> Observer<P> for Qlog<W> {
    fn arrived(&mut self, at: Instant, packet: &Queued<P>) {
        self.write(at, packet, Happened::Enqueued);
    }

    fn sent(&mut self, at: Instant, packet: &Queued<P>) {
        self.write(at, packet, Happened::Dequeued(at.since(packet.tag.at)));
    }

    fn dropped(&mut self, at: Instant, packet: &Queued<P>, why: DropReason) {
        self.write(at, packet, Happened::Dropped(at.since(packet.tag.at), why));
    }

    fn lost(&mut self, at: Instant, packet: &Queued<P>, why: DropReason) {
        self.write(at, packet, Happened::Lost(why));
    }

    fn ended(&mut self, _: Instant) {
        if let (Err(error), None) = (self.to.flush(), &self.trouble) {
            self.trouble = Some(error.to_string());
        }
    }

    fn trouble(&self) -> Option<String> {
        self.trouble.clone()
    }
}

/// A time with all its digits: a float of 64 bits has not enough after some months.
struct Milliseconds(Duration);

impl fmt::Display for Milliseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.as_nanos();
        write!(f, "{}.{:06}", nanos / 1_000_000, nanos % 1_000_000)
    }
}

/// A string of JSON.
struct Text<'a>(&'a str);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for letter in self.0.chars() {
            match letter {
                '"' | '\\' => write!(f, "\\{letter}")?,
                // RFC 8259 §7: these have to be escaped.
                '\0'..' ' => write!(f, "\\u{:04x}", u32::from(letter))?,
                _ => f.write_char(letter)?,
            }
        }
        f.write_char('"')
    }
}
