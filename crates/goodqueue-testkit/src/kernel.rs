//! Replays what the Linux kernel's queue disciplines did, packet by packet, and compares.
//!
//! A recording (`recordings/*.jsonl.gz`) holds arrivals at a root qdisc on an ideal serial link, what became of each
//! packet, and the random numbers drawn. The kernel's clock at a row is the header's `t_start_ns` + t; the qdisc was made
//! within the first milliseconds of that clock.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use goodqueue::config::{Children, Kind, Unit, Value};
use goodqueue::random::{Recorded, Source};
use goodqueue::{
    AnyConfig, AnyQdisc, DropReason, Duration, Ecn, Flow, Instant, Link, Packet, Qdisc, Rate, Settings,
    registry,
};
use serde_json::Value as Json;

/// A recording.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Its name, `sfq_30` for instance.
    pub name: String,
    /// The qdisc in tc's grammar.
    pub qdisc: String,
    /// Rate of the link.
    pub rate: Rate,
    /// The kernel's clock at time 0 of the rows.
    pub start: Instant,
    /// Each packet's class was chosen by its flow.
    pub classed: bool,
    /// What happened, in order.
    pub rows: Vec<Row>,
}

/// One thing that happened, at `t` nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the fields have the names of the recording's columns")]
pub enum Row {
    /// A packet arrives.
    Arrival { t: u64, seq: u64, flow: u32, bytes: u32, tos: u8 },
    /// A packet starts on the link.
    Departure { t: u64, seq: u64, tos: u8 },
    /// A packet is dropped.
    Drop { t: u64, seq: u64 },
    /// A random number is drawn.
    Draw { t: u64, value: u64 },
    /// The periodic work of PIE or adaptive RED was done; two of its variables afterwards.
    Tick { t: u64, first: u64, second: u64 },
}

/// A packet of a recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecordedPacket {
    /// Its number.
    pub seq: u64,
    /// Its flow; the class is this plus one.
    pub flow: u32,
    /// Frame length.
    pub bytes: u32,
    /// The TOS byte.
    pub tos: u8,
    /// The flow's number chose the class: `skb->priority` was set.
    pub classed: bool,
}

impl Packet for RecordedPacket {
    fn len(&self) -> u32 {
        self.bytes
    }

    fn ecn(&self) -> Ecn {
        Ecn::from_bits(self.tos)
    }

    fn set_ce(&mut self) -> bool {
        let capable = self.ecn().is_capable();
        if capable {
            self.tos |= Ecn::Ce.bits();
        }
        capable
    }
}

impl Flow for RecordedPacket {
    fn flow_hash(&self, salt: u32) -> u32 {
        (self.flow ^ salt).wrapping_mul(0x9E37_79B1)
    }

    fn class(&self) -> Option<u32> {
        self.classed.then_some(self.flow + 1)
    }

    /// All flows of a recording go from one host to another.
    fn source_hash(&self, _salt: u32) -> u32 {
        0
    }

    fn destination_hash(&self, _salt: u32) -> u32 {
        0
    }

    fn dscp(&self) -> u8 {
        self.tos >> 2
    }

    fn clear_dscp(&mut self) {
        self.tos &= 3;
    }
}

impl Recording {
    /// Reads a recording.
    ///
    /// # Errors
    /// The file cannot be read or is not a recording; the text says where.
    pub fn read(path: &Path) -> Result<Self, String> {
        let place = path.display();
        let file = File::open(path).map_err(|error| format!("{place}: {error}"))?;
        let mut lines = BufReader::new(flate2::read::GzDecoder::new(file)).lines();
        let first = lines.next().ok_or_else(|| format!("{place}: empty"))?;
        let header: Json = first
            .map_err(|error| error.to_string())
            .and_then(|line| serde_json::from_str(&line).map_err(|error| error.to_string()))
            .map_err(|error| format!("{place}:1: {error}"))?;
        let text =
            |key: &str| header[key].as_str().map(String::from).ok_or_else(|| format!("{place}:1: no {key}"));
        let number = |key: &str| header[key].as_u64().ok_or_else(|| format!("{place}:1: no {key}"));
        let mut rows = Vec::new();
        for (index, line) in lines.enumerate() {
            let row = line
                .map_err(|error| error.to_string())
                .and_then(|line| serde_json::from_str(&line).map_err(|error| error.to_string()))
                .and_then(|row: Json| Row::parse(&row).ok_or_else(|| format!("not a row: {row}")))
                .map_err(|error| format!("{place}:{}: {error}", index + 2))?;
            rows.push(row);
        }
        Ok(Self {
            name: text("name")?,
            qdisc: text("qdisc")?,
            rate: Rate::from_bps(number("rate_bps")?),
            start: Instant::from_nanos(number("t_start_ns")?),
            classed: header["priority"] != "none",
            rows,
        })
    }

    /// The paths of all recordings of this crate, by name.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn all() -> Result<Vec<PathBuf>, String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings");
        let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "gz"));
        paths.sort();
        Ok(paths)
    }

    /// The qdisc of the recording, empty and with the recorded draws; `None` if no discipline has its name, or if it holds
    /// others: trees are compared by the tests of `goodqueue-scenario`, which reads tc's commands.
    #[must_use]
    pub fn qdisc(&self) -> Option<Result<AnyQdisc<RecordedPacket>, String>> {
        let mut words = self.qdisc.split_whitespace();
        let kind = registry::find(words.next()?).filter(|kind| kind.children == Children::None)?;
        Some(settings(&kind, words).and_then(|mut settings| {
            if kind.variants.iter().any(|variant| variant.name == "linux") {
                settings.set("variant", Value::Choice("linux"));
            }
            let link = Link { rate: self.rate, ..Link::default() };
            let config = AnyConfig::from_settings(kind.name, &settings, &link);
            let config = config.ok_or("unknown")?.map_err(|error| error.to_string())?;
            let mut draws = Recorded::default();
            for row in &self.rows {
                if let Row::Draw { value, .. } = row {
                    draws.push(*value);
                }
            }
            Ok(AnyQdisc::new(config, 0, Source::Recorded(draws)))
        }))
    }

    /// Feeds the arrivals to `qdisc` on an ideal serial link and compares each packet's fate, and at each tick the two
    /// variables that `variables` brings up to date and gives.
    ///
    /// # Errors
    /// The first difference.
    pub fn compare(
        &self,
        mut qdisc: AnyQdisc<RecordedPacket>,
        mut variables: impl FnMut(&mut AnyQdisc<RecordedPacket>, Instant) -> Option<(u64, u64)>,
    ) -> Result<u64, String> {
        let mut wire =
            Wire { start: self.start, rate: self.rate, free_at: u64::MAX, busy: false, done: Vec::new() };
        let mut seen = 0;
        let mut packets = 0;
        for row in &self.rows {
            match *row {
                Row::Arrival { t, seq, flow, bytes, tos } => {
                    wire.run_until(&mut qdisc, t);
                    packets += 1;
                    wire.arrive(
                        &mut qdisc,
                        t,
                        RecordedPacket { seq, flow, bytes, tos, classed: self.classed },
                    );
                }
                Row::Departure { t, .. } | Row::Drop { t, .. } => {
                    wire.run_until(&mut qdisc, t);
                    let ours = wire.done.get(seen).copied();
                    seen += 1;
                    if ours != Some(*row) {
                        return Err(format!("fate {seen}: the kernel has {row:?}, we have {ours:?}"));
                    }
                }
                Row::Tick { t, first, second } => {
                    wire.run_until(&mut qdisc, t.saturating_sub(1));
                    let ours = variables(&mut qdisc, wire.clock(t));
                    if ours.is_some_and(|ours| ours != (first, second)) {
                        return Err(format!("after fate {seen}: the kernel has {row:?}, we have {ours:?}"));
                    }
                }
                Row::Draw { .. } => {}
            }
        }
        if wire.done.len() > seen {
            return Err(format!("the kernel's record ends; we have {:?}", wire.done.get(seen)));
        }
        Ok(packets)
    }
}

impl Row {
    fn parse(row: &Json) -> Option<Self> {
        let number = |index: usize| row[index].as_u64();
        let (t, first) = (number(1)?, number(2)?);
        let tos = |index| number(index).and_then(|tos| u8::try_from(tos).ok());
        Some(match row[0].as_str()? {
            "A" => Self::Arrival {
                t,
                seq: first,
                flow: u32::try_from(number(3)?).ok()?,
                bytes: u32::try_from(number(4)?).ok()?,
                tos: tos(5)?,
            },
            "X" => Self::Departure { t, seq: first, tos: tos(4)? },
            "D" => Self::Drop { t, seq: first },
            "R" => Self::Draw { t, value: number(3)? },
            "P" | "M" => Self::Tick { t, first, second: number(3)? },
            _ => return None,
        })
    }
}

/// An ideal serial link: one packet at a time, the next is taken at the instant the last one's bits end.
struct Wire {
    start: Instant,
    rate: Rate,
    /// When to ask for the next packet, in ns; the maximum: only once one has arrived.
    free_at: u64,
    /// A packet is on the link until `free_at`.
    busy: bool,
    done: Vec<Row>,
}

impl Wire {
    fn clock(&self, t: u64) -> Instant {
        self.start + Duration::from_nanos(t)
    }

    /// All ends of packets before or at `t`, and all times at which a qdisc wanted to be asked again.
    fn run_until(&mut self, qdisc: &mut AnyQdisc<RecordedPacket>, t: u64) {
        while self.free_at <= t {
            self.take(qdisc, self.free_at);
        }
    }

    fn arrive(&mut self, qdisc: &mut AnyQdisc<RecordedPacket>, t: u64, packet: RecordedPacket) {
        let done = &mut self.done;
        let mut drops = |lost: RecordedPacket, _: DropReason| done.push(Row::Drop { t, seq: lost.seq });
        qdisc.enqueue(self.start + Duration::from_nanos(t), packet, &mut drops);
        if !self.busy {
            self.take(qdisc, t);
        }
    }

    fn take(&mut self, qdisc: &mut AnyQdisc<RecordedPacket>, t: u64) {
        let now = self.clock(t);
        let done = &mut self.done;
        let mut drops = |lost: RecordedPacket, _: DropReason| done.push(Row::Drop { t, seq: lost.seq });
        let sent = qdisc.dequeue(now, &mut drops);
        self.busy = sent.is_some();
        if let Some(sent) = sent {
            self.done.push(Row::Departure { t, seq: sent.seq, tos: sent.tos });
            self.free_at = t + self.rate.serialization(sent.bytes).as_nanos();
        } else {
            self.free_at = qdisc.next_event(now).map_or(u64::MAX, |at| at.since(self.start).as_nanos());
        }
    }
}

/// Settings from words in tc's grammar, as far as recordings use it.
///
/// # Errors
/// A word that `kind` does not know, or a value that its unit does not allow.
pub fn settings<'a>(kind: &Kind, words: impl IntoIterator<Item = &'a str>) -> Result<Settings, String> {
    let mut settings = Settings::new();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let off = kind.parameters.iter().find(|p| p.unit == Unit::Flag { off: Some(leak(word)) });
        if let Some(parameter) = off {
            settings.set(parameter.name, Value::Flag(false));
            continue;
        }
        let parameter = kind.parameters.iter().find(|parameter| parameter.name == word);
        let parameter = parameter.ok_or_else(|| format!("{} has no {word}", kind.name))?;
        let value = match parameter.unit {
            Unit::Flag { .. } => Value::Flag(true),
            unit => {
                let text = words.next().ok_or_else(|| format!("{word} lacks its value"))?;
                value(unit, text).ok_or_else(|| format!("{word} {text}"))?
            }
        };
        settings.set(parameter.name, value);
    }
    Ok(settings)
}

/// The words of a test are few and live as long as the test.
fn leak(word: &str) -> &'static str {
    Box::leak(word.to_owned().into_boxed_str())
}

fn value(unit: Unit, text: &str) -> Option<Value> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, suffix) = text.split_at(digits);
    let whole = || number.parse::<u64>().ok();
    Some(match unit {
        Unit::Packets => Value::Packets(whole()?),
        Unit::Integer => Value::Integer(whole()?),
        Unit::Signed => Value::Signed(text.parse().ok()?),
        Unit::Probability => Value::Probability(text.parse().ok()?),
        Unit::Bytes => Value::Bytes(match suffix {
            "" | "b" => whole()?,
            "k" | "kb" => whole()? * 1024,
            "m" | "mb" => whole()? * 1024 * 1024,
            _ => return None,
        }),
        Unit::Time => Value::Time(match suffix {
            "" | "us" => Duration::from_micros(whole()?),
            "ms" => Duration::from_millis(whole()?),
            "s" => Duration::from_secs(whole()?),
            _ => return None,
        }),
        Unit::Seconds => Value::Time(Duration::from_secs(whole()?)),
        Unit::Rate => Value::Rate(Rate::from_bps(match suffix {
            "" | "bit" => whole()?,
            "kbit" => whole()? * 1_000,
            "mbit" => whole()? * 1_000_000,
            "gbit" => whole()? * 1_000_000_000,
            _ => return None,
        })),
        Unit::Choice(words) => Value::Choice(words.iter().find(|word| **word == text)?),
        Unit::Class => Value::Class(u32::from_str_radix(text, 16).ok()?),
        Unit::Flag { .. } | Unit::Priomap => return None,
    })
}
