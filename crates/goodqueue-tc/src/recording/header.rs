//! The first line of a recording, and what it says of all packets.

use std::collections::BTreeMap;
use std::io;

use goodqueue::{Duration, Instant, Rate};
use serde::{Deserialize, Serialize};

use super::row::{Row, write_line};
use crate::diagnostic::{Diagnostic, shortened};
use crate::replay::{Arrival, Hashes, Priority};

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
    pub(super) fn end(&self) -> Result<Instant, Diagnostic> {
        let Some(given) = self.other.get("t_end_ns") else { return Ok(Instant::MAX) };
        given.as_u64().map(Instant::from_nanos).ok_or_else(|| {
            let message = format!("`t_end_ns` is {}, which is no time", shortened(&given.to_string()));
            Diagnostic::new(message).allowed("whole nanoseconds, 0 or more")
        })
    }

    /// Returns the name of another file that the field `field` gives. It is one of the same folder,
    /// or of a folder in it.
    pub(super) fn beside(&self, field: &str) -> Result<Option<&str>, Diagnostic> {
        let Some(given) = self.other.get(field) else { return Ok(None) };
        // Neither `.` nor `/`: a recording must not lead to files outside of its folder.
        let is_name = |text: &&str| {
            !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        given.as_str().filter(is_name).map(Some).ok_or_else(|| {
            Diagnostic::new(format!("`{field}` is {}, which is no name", shortened(&given.to_string())))
                .allowed("letters, digits and _")
        })
    }

    /// Returns the variant whose decisions the recorder made: `linux61` if it was a Linux before
    /// 7.0, else `linux`.
    #[must_use]
    pub fn variant(&self) -> &'static str {
        let kernel = self.other.get("kernel").and_then(serde_json::Value::as_str).unwrap_or_default();
        let version = kernel.strip_prefix("Linux ").and_then(|rest| rest.split('.').next());
        match version.and_then(|major| major.parse::<u32>().ok()) {
            Some(major) if major < 7 => "linux61",
            _ => "linux",
        }
    }

    /// Returns the tc commands that built the discipline. If the recorder charged packets only
    /// their length, a `truesize` of 1 is added for disciplines with a memory limit.
    #[must_use]
    pub fn commands(&self) -> Vec<String> {
        let said = self.other.get("memory").and_then(serde_json::Value::as_str);
        // Such a recorder gave each packet its bytes as memory, and no buffer around them.
        let bare = said.is_some_and(|said| said.starts_with("packet bytes"));
        let first =
            self.qdisc.iter().map(|line| if bare { format!("{line} truesize 1") } else { line.clone() });
        first.chain(self.extra.iter().cloned()).collect()
    }

    /// Returns the properties that the header gives to all packets.
    ///
    /// # Errors
    /// `truesize` is not an object of lengths and sizes, or `edt_us` none of flows and times.
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
            departures: self.departures()?,
            origin: Duration::from_nanos(self.t_start_ns),
            hashes: None,
            truesize: None,
        })
    }

    /// Returns the time from the arrival of a packet to its earliest departure, by flow.
    fn departures(&self) -> Result<BTreeMap<u32, Duration>, Diagnostic> {
        let Some(given) = self.other.get("edt_us") else { return Ok(BTreeMap::new()) };
        let by_flow = BTreeMap::<u32, u64>::deserialize(given).map_err(|error| {
            let given = shortened(&given.to_string());
            Diagnostic::new(format!("`edt_us` is {given}: {error}"))
                .allowed("microseconds by number of the flow, such as {\"0\": 2500}")
        })?;
        Ok(by_flow.into_iter().map(|(flow, micros)| (flow, Duration::from_micros(micros))).collect())
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
    /// Time from the arrival to the earliest departure, by flow.
    departures: BTreeMap<u32, Duration>,
    /// The recorder's clock at time 0 of the rows.
    origin: Duration,
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
                    // Disciplines are given the recorder's clock.
                    earliest: self.departures.get(&flow).map(|&later| t + self.origin + later),
                });
            }
            _ => {}
        }
        None
    }
}
