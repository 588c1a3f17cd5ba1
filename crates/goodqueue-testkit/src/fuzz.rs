//! What the fuzz targets in `fuzz/` do with their bytes. It stands here so that an ordinary test can do the same with
//! the committed inputs in `fuzz/seeds`, on the stable toolchain.
//!
//! Each function panics if something is wrong and else returns nothing.

use std::io::Cursor;
use std::path::{Path, PathBuf};

use goodqueue::config::{Children, Kind, Value};
use goodqueue::registry::KINDS;
use goodqueue::{AnyConfig, Duration, Ecn, Instant, Link, Settings};
use goodqueue_scenario::recording::{Recording, Row};
use goodqueue_scenario::scenario::{Document, Names};
use goodqueue_scenario::trace::Trace;
use goodqueue_scenario::{sweep, tc};
use goodqueue_sim::Opportunities;
use goodqueue_tcp::{
    AnyCongestionControl, Config as TcpConfig, DelayedAck, Flags, HyStart, Receiver, Segment, Sender,
};

use crate::check::{Checked, round_trip};
use crate::edge;
use crate::operation::{Operation, Step};

/// A fuzz target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name, and that of its folder of inputs.
    pub name: &'static str,
    /// What it does.
    pub run: fn(&[u8]),
}

/// Every target.
pub const TARGETS: &[Target] = &[
    Target { name: "operations", run: operations },
    Target { name: "tc_line", run: tc_line },
    Target { name: "scenario", run: scenario },
    Target { name: "trace", run: trace },
    Target { name: "recording", run: recording },
    Target { name: "tcp_segments", run: tcp_segments },
];

/// Where the committed inputs of a target are.
#[must_use]
pub fn seeds_of(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target)
}

/// Bytes as a source of choices; zeros follow the last one.
struct Choices<'a> {
    bytes: &'a [u8],
}

impl Choices<'_> {
    const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.bytes.split_first() else { return 0 };
        self.bytes = rest;
        *first
    }

    fn word(&mut self) -> u16 {
        u16::from_le_bytes([self.byte(), self.byte()])
    }

    /// Small numbers, any number, and some of the largest, each often.
    fn number(&mut self) -> u64 {
        match self.byte() {
            small @ 0..=191 => u64::from(small),
            192..=223 => u64::from(self.word()),
            224..=247 => u64::from(self.word()) << (self.byte() % 49),
            248..=251 => u64::MAX - u64::from(self.byte()),
            _ => u64::from(u32::MAX) - u64::from(self.byte()),
        }
    }

    fn of<T: Copy>(&mut self, from: &[T]) -> T {
        from[usize::from(self.byte()) % from.len()]
    }
}

/// A discipline, its configuration, and what is done to it: the invariants of [`Checked`] hold.
///
/// The first byte chooses the discipline by its place among the [names in alphabetical order](sorted_kinds).
///
/// # Panics
/// An invariant does not hold.
pub fn operations(bytes: &[u8]) {
    let mut choices = Choices { bytes };
    let kind = choices.of(&sorted_kinds());
    let config = configuration(&mut choices, &kind);
    if let Err(broken) = round_trip(&config, &Link::default()) {
        panic!("{broken}");
    }
    let mut queue = Checked::new(config.clone(), 1);
    let mut number = 0;
    while !choices.is_empty() {
        let operation = operation(&mut choices, &kind);
        if let Err(broken) = queue.apply(&operation) {
            panic!("{config:?}\noperation {number}, {operation:?}: {broken}");
        }
        number += 1;
    }
    if let Err(broken) = queue.drain() {
        panic!("{config:?}\nafter {number} operations: {broken}");
    }
}

/// The disciplines, such that a new one moves only those behind it in the alphabet.
#[must_use]
pub fn sorted_kinds() -> Vec<Kind> {
    let mut kinds = KINDS.to_vec();
    kinds.sort_by_key(|kind| kind.name);
    kinds
}

/// Disciplines within disciplines, at most.
const DEPTH: u32 = 4;

/// As many of the chosen values as the discipline accepts together; other disciplines inside, if it can hold some.
fn configuration(choices: &mut Choices<'_>, kind: &Kind) -> AnyConfig {
    let settings = settings(choices, kind, DEPTH);
    edge::accepted(kind, &settings).unwrap_or_else(|| edge::default_config(kind))
}

fn settings(choices: &mut Choices<'_>, kind: &Kind, depth: u32) -> Settings {
    let mut settings = Settings::new();
    if !kind.variants.is_empty() {
        settings.set("variant", Value::Choice(choices.of(kind.variants).name));
    }
    if edge::accepted(kind, &settings).is_none() {
        settings = Settings::new();
    }
    for parameter in kind.parameters {
        let choice = choices.byte();
        let values = edge::values(parameter.unit);
        if choice < 128 || values.is_empty() {
            continue;
        }
        let value = values[usize::from(choice - 128) % values.len()].clone();
        let wider = settings.clone().with(parameter.name, value);
        if edge::accepted(kind, &wider).is_some() {
            settings = wider;
        }
    }
    if kind.children != Children::None && depth > 1 && choices.byte() >= 64 {
        let child = choices.of(&sorted_kinds());
        let inner = self::settings(choices, &child, depth - 1);
        let tree = edge::holding(kind, child.name, &inner);
        let wider =
            tree.map(|tree| tree.children().iter().cloned().fold(settings.clone(), Settings::with_child));
        if let Some(wider) = wider.filter(|wider| edge::accepted(kind, wider).is_some()) {
            settings = wider;
        }
    }
    settings
}

fn operation(choices: &mut Choices<'_>, kind: &Kind) -> Operation {
    const LENGTHS: [u32; 12] = [1514, 1514, 1514, 64, 40, 0, 1, 2, 9_014, 65_535, 262_144, u32::MAX];
    const ECN: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];
    match choices.byte() {
        0..=99 => {
            let shape = choices.byte();
            let class = match shape >> 6 {
                0 => None,
                1 => Some(u32::from(choices.byte())),
                _ => Some(1),
            };
            Operation::Enqueue {
                len: LENGTHS[usize::from(shape & 15) % LENGTHS.len()],
                flow: u32::from(choices.byte()),
                class: class.filter(|_| shape >> 6 != 2),
                ecn: ECN[usize::from(shape >> 4 & 3)],
            }
        }
        100..=169 => Operation::Dequeue,
        170..=239 => {
            const SPANS: [u64; 16] = [
                0,
                1,
                1_000,
                1_211_200,
                4_999_999,
                5_000_000,
                5_000_001,
                15_000_000,
                16_000_000,
                100_000_000,
                100_000_001,
                500_000_000,
                1_000_000_000,
                3_600_000_000_000,
                1 << 42,
                1 << 60,
            ];
            let choice = choices.byte();
            let span = Duration::from_nanos(SPANS[usize::from(choice & 15)]);
            Operation::Advance(match choice >> 4 {
                15 => Step::End,
                13 | 14 => Step::Back(span),
                // Larger steps are rare, or every run would end at the end of time.
                0..=9 => Step::Forward(Duration::from_nanos(u64::from(choices.word()) * 1_000)),
                _ => Step::Forward(span),
            })
        }
        240..=243 => Operation::Reconfigure(configuration(choices, kind)),
        244..=246 => Operation::Purge,
        247..=251 => Operation::Snapshot,
        _ => Operation::Restore,
    }
}

/// A line in tc's grammar: either a sentence says what is wrong, or writing what was read gives it again.
///
/// # Panics
/// Neither.
pub fn tc_line(bytes: &[u8]) {
    let line = String::from_utf8_lossy(bytes);
    let link = Link::default();
    match tc::parse(&line, &link) {
        Ok(config) => {
            let written = tc::to_tc(&config);
            let again = tc::parse(&written, &link).unwrap_or_else(|error| panic!("{written}: {error}"));
            assert_eq!(again, config, "{line:?} was written as {written:?}");
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// A scenario file: either a sentence says what is wrong, or its result form reads back as the same scenario.
///
/// # Panics
/// Neither.
pub fn scenario(bytes: &[u8]) {
    /// Commas: of a sweep with more of them there may be too many points to try here.
    const MOST: usize = 16;
    let text = String::from_utf8_lossy(bytes);
    let document = match Document::parse("fuzz.toml", &text, Path::new("/nonexistent")) {
        Ok(document) => document,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    match document.resolve(&Names::default()) {
        Ok(scenario) => {
            let json = scenario.to_json();
            let again = Document::from_json(&json).and_then(|read| read.resolve(&Names::default()));
            let again = again.unwrap_or_else(|error| panic!("{json}: {error}"));
            assert_eq!(again.to_json(), json, "of {text:?}");
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    if text.matches(',').count() <= MOST {
        match sweep::expand(&document, &Names::default()) {
            Ok(points) => assert!(!points.is_empty()),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

/// A link trace: either a sentence says what is wrong, or the link can be simulated.
///
/// # Panics
/// Neither.
pub fn trace(bytes: &[u8]) {
    match Trace::read("fuzz", bytes) {
        Ok(trace) => {
            assert!(!trace.period().is_zero());
            let at_ms = trace.opportunities_ms().iter().copied().map(u64::from).collect();
            let opportunities = Opportunities::new(at_ms).expect("the reader has checked it");
            assert_eq!(opportunities.period(), trace.period());
            assert!(
                opportunities.count_before(Instant::ZERO + trace.period()) <= opportunities.count() as u64
            );
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// A recording, plain or compressed: it ends, or a sentence says where it is wrong; rows are written as they were read.
///
/// # Panics
/// Neither.
pub fn recording(bytes: &[u8]) {
    /// A few bytes of gzip can be a million rows.
    const MOST: usize = 2_000;
    let mut recording = match Recording::read("fuzz", Cursor::new(bytes.to_vec())) {
        Ok(recording) => recording,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let mut written = Vec::new();
    recording.header().write(&mut written).expect("memory");
    let mut rows: Vec<Row> = Vec::new();
    for row in recording.by_ref().take(MOST) {
        match row {
            Ok(row) => rows.push(row),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    for row in &rows {
        row.write(&mut written).expect("memory");
    }
    let again = Recording::read("again", Cursor::new(written)).expect("the header was read before");
    assert_eq!(again.header(), recording.header());
    let again: Vec<Row> = again.map(|row| row.expect("the row was read before")).collect();
    assert_eq!(again, rows);
}

/// A peer that says anything, to a sender and to a receiver: nothing sent without end, and the books stay right.
///
/// # Panics
/// They do not.
pub fn tcp_segments(bytes: &[u8]) {
    /// Segments sent at one instant: windows are at most [`MOST_WINDOW`] bytes, of segments of [`LEAST_MSS`] or more.
    const BURST: u32 = 70_000;
    const LEAST_MSS: u32 = 13;
    const MOST_WINDOW: u32 = 200_000;
    let mut choices = Choices { bytes };
    let switches = choices.byte();
    let on = |bit: u8| switches & 1 << bit != 0;
    let config = TcpConfig {
        mss: choices.of(&[1460, 1460, LEAST_MSS, 536, 65_495]),
        iw: choices.of(&[10, 1, 3, 1_000]),
        delayed_ack: DelayedAck { every: choices.of(&[2, 1, 100]), ..DelayedAck::default() },
        sack: on(0),
        ecn: on(1),
        timestamps: on(2),
        limited_transmit: on(3),
        prr: on(4),
        idle_restart: on(5),
        rwnd: choices.of(&[MOST_WINDOW, 65_535, 0, 1]),
        hystart: if on(7) { HyStart::Rfc9406 } else { HyStart::Own },
        ..TcpConfig::default()
    };
    let name = if on(6) { "cubic" } else { "newreno" };
    let control = AnyCongestionControl::by_name(name).expect("listed");
    let mut sender = Sender::new(config, control).expect("in range");
    let mut receiver = Receiver::new(config).expect("in range");
    let mut now = Instant::ZERO;
    sender.open(now);
    // What both ends sent: true copies of it are the most harmful lies.
    let mut said: Vec<Segment> = Vec::new();
    let mut written = 0_u64;
    while !choices.is_empty() {
        match choices.byte() {
            0..=15 => {
                let more = choices.number().min(100_000);
                written += more;
                sender.write(more);
            }
            16..=31 => now += Duration::from_nanos(choices.number().min(1 << 40)),
            32..=63 => now += Duration::from_millis(u64::from(choices.byte())),
            64..=79 => now = sender.next_event().map_or(now, |event| event.max(now)),
            80..=95 => now = receiver.next_event().map_or(now, |event| event.max(now)),
            96..=99 => now = now - Duration::from_millis(u64::from(choices.byte())),
            100 => sender.close(),
            101..=119 => receiver.set_window(u32::try_from(choices.number()).unwrap_or(0).min(MOST_WINDOW)),
            120..=169 => {
                let index = choices.byte();
                if let Some(segment) = said.get(said.len().saturating_sub(1 + usize::from(index))) {
                    receiver.on_segment(now, segment);
                }
            }
            170..=219 => {
                let index = choices.byte();
                if let Some(segment) = said.get(said.len().saturating_sub(1 + usize::from(index))) {
                    sender.on_segment(now, segment);
                }
            }
            220..=239 => receiver.on_segment(now, &segment(&mut choices, MOST_WINDOW)),
            _ => sender.on_segment(now, &segment(&mut choices, MOST_WINDOW)),
        }
        let mut burst = 0;
        while let Some(segment) = sender.poll_transmit(now) {
            burst += 1;
            assert!(burst < BURST, "the sender does not stop at {now:?}");
            assert!(segment.len <= config.payload(), "{segment:?} is longer than the MSS allows");
            said.push(segment);
        }
        burst = 0;
        while let Some(segment) = receiver.poll_transmit(now) {
            burst += 1;
            assert!(burst < 100, "the receiver does not stop at {now:?}");
            assert_eq!(segment.len, 0, "a receiver has no data");
            said.push(segment);
        }
        if said.len() > 2_000 {
            said.drain(..1_000);
        }
        assert_eq!(sender.pipe(), sender.recount_pipe(), "the scoreboard's sum is wrong");
        assert!(sender.cwnd() >= u64::from(config.payload()), "a window of {} is none", sender.cwnd());
        assert!(sender.bytes_acked() <= written, "more acknowledged than written");
        if let Some(event) = sender.next_event() {
            assert!(event > Instant::ZERO, "a timer at the beginning of time");
        }
    }
}

/// Any segment: numbers near zero, near each other, or anywhere.
fn segment(choices: &mut Choices<'_>, most_window: u32) -> Segment {
    let mut flags = Flags::NONE;
    let bits = choices.byte();
    for (bit, flag) in [Flags::FIN, Flags::SYN, Flags::ACK, Flags::ECE, Flags::CWR].into_iter().enumerate() {
        flags = flags.and_if(bits & 1 << bit != 0, flag);
    }
    let far = |number: u64, factor: u8| number.saturating_mul(u64::from(factor).max(1));
    let ack = far(choices.number(), choices.byte());
    let mut segment = Segment {
        seq: far(choices.number(), choices.byte()),
        ack,
        len: u32::try_from(choices.number()).unwrap_or(u32::MAX),
        window: u32::try_from(choices.number().saturating_mul(1_000)).unwrap_or(0).min(most_window),
        ts_val: u32::from(choices.word()),
        ts_ecr: u32::from(choices.word()),
        flags,
        ecn: Ecn::from_bits(bits >> 6),
        ..Segment::default()
    };
    for _ in 0..bits >> 5 & 3 {
        let start = ack.wrapping_add(far(choices.number(), choices.byte()));
        segment.sack.push(ack, start, start.wrapping_add(choices.number()));
    }
    segment
}
