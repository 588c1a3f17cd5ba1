//! One line of a recording: an event, and how it is written.

use std::fmt;
use std::io;

use goodqueue::{Instant, TcpAck};
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::diagnostic::{Diagnostic, shortened, unknown};

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
        /// Further headers, if recorded.
        headers: Option<Headers>,
    },
    /// `H`: the recorder's hashes of the packet that arrives next. For a discipline that hashes
    /// with a secret, they are the only way to know which flows share a queue.
    Hashes {
        /// When.
        t: Instant,
        /// Hash of its flow. While the next set of bins of `sfb` warms up, the first of two hashes.
        flow: u32,
        /// Hashes of its source host and its destination host.
        hosts: Option<(u32, u32)>,
    },
    /// `T`: the memory of the packet that arrives next, if its length does not determine it.
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
        /// Bytes drawn: 2, 4 or 8.
        len: u8,
        /// The number.
        value: u64,
    },
    /// `P`: PIE or DualPI2 updated its probability.
    PieUpdate {
        /// When.
        t: Instant,
        /// The probability; 2^56 - 1 is 1 (`dualpi2`: 2^32 - 1).
        prob: u64,
        /// The queue delay, in units of 64 ns (`dualpi2`: in ns).
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
        /// The tc command.
        command: String,
    },
    /// `E`: the recording ends before the queue is empty.
    End {
        /// When.
        t: Instant,
    },
}

/// Headers of a packet for disciplines that look at hosts and acknowledgements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Headers {
    /// Number of its source host.
    pub source: u32,
    /// Number of its destination host.
    pub destination: u32,
    /// Its acknowledgement.
    pub ack: Option<TcpAck>,
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

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // JSON does not need the length.
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

/// Reads the optional fields of an arrival after the TOS byte.
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

pub(super) fn parse_row(line: &[u8]) -> Result<Row, Diagnostic> {
    serde_json::from_slice(line).map_err(|error| {
        let text = String::from_utf8_lossy(line);
        Diagnostic::new(format!("`{}` is not a row: {error}", shortened(text.trim_end()))).allowed(ROWS)
    })
}

pub(super) fn write_line(value: &impl Serialize, to: &mut impl io::Write) -> io::Result<()> {
    serde_json::to_writer(&mut *to, value)?;
    to.write_all(b"\n")
}

const TAGS: &[&str] = &["A", "X", "D", "R", "P", "M", "H", "T", "C", "E"];
const ROWS: &str = "[\"A\", t, seq, flow, bytes, tos], [\"X\", t, seq, bytes, tos], [\"D\", t, seq], \
                    [\"R\", t, len, value], [\"P\", t, prob, qdelay], [\"M\", t, max_p, qavg], \
                    [\"H\", t, flow], [\"T\", t, memory], [\"C\", t, command] or [\"E\", t]";
