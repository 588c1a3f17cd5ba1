//! Recordings in short form, whose arrivals are in a file that several recordings share.
//!
//! A header with `arrivals` names the file `arrivals/NAME.jsonl.gz` beside the recording, a
//! recording of arrivals alone. A header with `rows_of` names a recording in the same folder that
//! has exactly the same rows. The rows of a short recording may have these forms, in which times
//! and numbers follow from the rows before and from the rate of the link:
//!
//! | row | meaning |
//! |---|---|
//! | `["a"]` | the next arrival |
//! | `["f"]` | time advances to the end of the packet on the link |
//! | `["x", n]` | a packet leaves, at the end of the packet on the link or now if the link is idle |
//! | `["c", n]` | the same, and it was marked with CE |
//! | `["d", n, reason]` | a packet is dropped now |
//! | `["t", reason]` | the packet that arrived last is dropped now |
//! | `["r", len, value]` | a random number was drawn now |
//!
//! `n` is the number of the packet, counted from the one after the last packet that left or was
//! dropped by a row `d`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use goodqueue::{Instant, Rate};
use serde_json::Value;

use super::row::Row;

/// What the short forms refer to.
#[derive(Clone, Debug)]
pub struct Context {
    rate: Rate,
    /// Time of the last row.
    now: Instant,
    /// End of the packet on the link.
    free: Instant,
    /// Number after that of the packet that left last.
    next: u64,
    /// Number of the packet that arrived last.
    newest: u64,
    /// Length and TOS byte of each packet without a fate.
    queued: BTreeMap<u64, (u32, u8)>,
}

impl Context {
    /// Returns the context of the first row of a recording on a link of `rate`.
    #[must_use]
    pub const fn new(rate: Rate) -> Self {
        Self { rate, now: Instant::ZERO, free: Instant::ZERO, next: 0, newest: 0, queued: BTreeMap::new() }
    }

    /// Takes note of a row.
    pub fn see(&mut self, row: &Row) {
        self.now = self.now.max(row.time());
        match *row {
            Row::Arrival { seq, bytes, tos, .. } => {
                self.newest = seq;
                self.queued.insert(seq, (bytes, tos));
            }
            Row::Exit { t, seq, bytes, .. } => {
                self.queued.remove(&seq);
                self.next = seq.wrapping_add(1);
                self.free = t + self.rate.serialization(bytes);
            }
            Row::Drop { seq, .. } => {
                self.queued.remove(&seq);
                // A packet that is refused at its arrival tells nothing about the order of
                // departures.
                if seq != self.newest {
                    self.next = seq.wrapping_add(1);
                }
            }
            _ => {}
        }
    }

    /// Returns the row that a short one means; `None` for `["f"]`, or the reason why there is none.
    pub(super) fn read(
        &mut self,
        short: &[Value],
        next_arrival: impl FnOnce() -> Option<Row>,
    ) -> Result<Option<Row>, &'static str> {
        let number = |index: usize| short.get(index).and_then(Value::as_i64).ok_or("a number is missing");
        let word = |index: usize| short.get(index).and_then(Value::as_str).ok_or("a reason is missing");
        let t = self.now;
        let row = match short.first().and_then(Value::as_str) {
            Some("a") => next_arrival().ok_or("no further packet arrives")?,
            Some("f") => {
                self.now = t.max(self.free);
                return Ok(None);
            }
            Some(tag @ ("x" | "c")) => {
                // A file may have any number. One that wraps around is not queued either.
                let seq = self.next.wrapping_add_signed(number(1)?);
                let &(bytes, tos) = self.queued.get(&seq).ok_or("the packet is not queued")?;
                let tos = if tag == "c" { tos | 3 } else { tos };
                Row::Exit { t: t.max(self.free), seq, bytes, tos }
            }
            Some("d") => {
                let seq = self.next.wrapping_add_signed(number(1)?);
                let reason = word(2)?;
                Row::Drop { t, seq, reason: Some(reason.to_owned()) }
            }
            Some("t") => Row::Drop { t, seq: self.newest, reason: Some(word(1)?.to_owned()) },
            Some("r") => {
                let len = u8::try_from(number(1)?).map_err(|_| "the length is no length")?;
                let value = short.get(2).and_then(Value::as_u64).ok_or("the number is missing")?;
                Row::Random { t, len, value }
            }
            _ => return Err("the kind of row is unknown"),
        };
        self.see(&row);
        Ok(Some(row))
    }

    /// Writes `row`, in short form if there is one.
    pub fn write(&mut self, row: &Row, to: &mut String) {
        // Writing to a string cannot fail.
        let frees = row.time() > self.now && row.time() == self.free;
        let at_once = row.time() == self.now;
        // The difference of two `u64` may need 65 bits.
        let relative = |seq: u64| i128::from(seq) - i128::from(self.next);
        let short = match row {
            Row::Arrival { .. } => Some("[\"a\"]".to_owned()),
            Row::Exit { t, seq, bytes, tos } if *t == self.now.max(self.free) => match self.queued.get(seq) {
                Some(&(came, before)) if came == *bytes && before == *tos => {
                    Some(format!("[\"x\",{}]", relative(*seq)))
                }
                Some(&(came, before)) if came == *bytes && before | 3 == *tos => {
                    Some(format!("[\"c\",{}]", relative(*seq)))
                }
                _ => None,
            },
            Row::Drop { seq, reason: Some(reason), .. } if frees || at_once => {
                // A recorder of its own may use any characters, also a quotation mark.
                let reason = Value::from(reason.as_str());
                Some(if *seq == self.newest {
                    format!("[\"t\",{reason}]")
                } else {
                    format!("[\"d\",{},{reason}]", relative(*seq))
                })
            }
            Row::Random { len, value, .. } if frees || at_once => Some(format!("[\"r\",{len},{value}]")),
            _ => None,
        };
        // An exit advances the time by itself, and an arrival has its own.
        let advances = frees && !matches!(row, Row::Exit { .. } | Row::Arrival { .. });
        match short {
            Some(short) => {
                if advances {
                    to.push_str("[\"f\"]\n");
                }
                let _ = writeln!(to, "{short}");
            }
            None => {
                let mut line = Vec::new();
                let _ = row.write(&mut line);
                to.push_str(&String::from_utf8_lossy(&line));
            }
        }
        self.see(row);
    }
}
