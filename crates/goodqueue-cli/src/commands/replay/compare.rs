//! `replay --compare`: the fates here beside those recorded, and every difference.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use goodqueue::gauge::{Gauge, Observation};
use goodqueue::{AnyConfig, AnyQdisc, Drops, Instant, Qdisc, Stats};
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tc::printable;
use goodqueue_tc::recording::Row;
use goodqueue_tc::replay::Arrival;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::input::{Input, row_of};

/// The comparison of one recording.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Comparison {
    /// The recording.
    pub(super) file: String,
    /// The discipline here, in tc's grammar.
    qdisc: String,
    /// Packets that arrive.
    packets: u64,
    /// True if every packet has the recorded fate, at the recorded time and in the recorded order.
    pub(super) equal: bool,
    /// The first place at which the two sequences of fates differ, in words; null if they are
    /// equal.
    first_difference: Option<String>,
    /// Every packet with another fate, in the order of time.
    differences: Vec<Difference>,
    /// Whose fates are compared with the recorded ones, for people.
    #[serde(skip)]
    whose: &'static str,
}

/// A packet whose fate differs.
#[derive(Serialize, JsonSchema)]
struct Difference {
    /// Number of the packet.
    packet: u64,
    /// Time of the earlier of the two fates.
    t_ns: u64,
    /// The recorded fate in words.
    recorded: String,
    /// The fate here in words.
    here: String,
    /// Recorded operations before that time, the latest last.
    before: Vec<String>,
    /// The recorded queue before that time.
    recorded_state: Queued,
    /// The queue here before that time.
    here_state: Queued,
    /// State of the discipline before that time, by tc's names; times in seconds.
    state: Map<String, Value>,
}

/// Packets queued on one side.
#[derive(Serialize, Clone, Copy, JsonSchema)]
struct Queued {
    /// Packets queued.
    queued_packets: u64,
    /// Bytes queued.
    queued_bytes: u64,
}

impl Input {
    /// Compares the recorded fates with those here. Also returns the final statistics.
    pub(super) fn compare(&self) -> Result<(Comparison, Vec<Value>), Diagnostic> {
        let recorded = self.recorded()?;
        let mut ours = Vec::new();
        let end = self.end();
        let left = self.replay(|fate| {
            // An event at exactly the end may belong to either side of it.
            if fate.at() < end || fate.at() == end && ours.len() < recorded.len() {
                ours.push(row_of(&fate));
            }
        });
        Ok((self.compared(&recorded, &ours, "here"), left.statistics()))
    }

    /// Compares the recorded fates with those that another queue decided.
    pub(super) fn judge(&self, theirs: &[Row]) -> Result<Comparison, Diagnostic> {
        let recorded = self.recorded()?;
        let end = self.end();
        let before_end: Vec<Row> = theirs.iter().filter(|row| time(row) <= end).cloned().collect();
        Ok(self.compared(&recorded, &before_end, "yours"))
    }

    /// Returns the recorded fates.
    fn recorded(&self) -> Result<Vec<&Row>, Diagnostic> {
        let is_fate = |row: &&Row| matches!(row, Row::Exit { .. } | Row::Drop { .. });
        let recorded: Vec<&Row> = self.rows.iter().filter(is_fate).collect();
        if recorded.is_empty() {
            return Err(
                Diagnostic::new("the recording contains no fates to compare with").in_file(&self.name)
            );
        }
        Ok(recorded)
    }

    /// Returns the end of a recording that lacks the fates of packets that were queued then.
    fn end(&self) -> Instant {
        let stated = self.header.other.get("t_end_ns").and_then(Value::as_u64).map(Instant::from_nanos);
        let ended = self.rows.iter().find_map(|row| if let Row::End { t } = row { Some(*t) } else { None });
        // Recorders state the end in the header if they know it in advance, or else in a last row.
        stated.into_iter().chain(ended).min().unwrap_or(Instant::MAX)
    }

    fn compared(&self, recorded: &[&Row], ours: &[Row], whose: &'static str) -> Comparison {
        let first_difference = (0..recorded.len().max(ours.len())).find_map(|index| {
            let theirs = recorded.get(index).map(|row| in_words(row));
            let ours = ours.get(index).map(in_words);
            (theirs != ours).then(|| {
                let [theirs, ours] = [theirs, ours].map(|fate| fate.unwrap_or_else(|| "nothing".to_owned()));
                format!("recorded: {theirs}; {whose}: {ours}")
            })
        });
        let packets = self.rows.iter().filter(|row| matches!(row, Row::Arrival { .. })).count() as u64;
        let equal = first_difference.is_none();
        let differences = if equal { Vec::new() } else { self.differences(recorded, ours) };
        let file = self.name.clone();
        Comparison { file, qdisc: self.qdisc(), packets, equal, first_difference, differences, whose }
    }

    /// Returns every packet whose fates differ.
    fn differences(&self, recorded: &[&Row], ours: &[Row]) -> Vec<Difference> {
        let theirs = by_packet(recorded.iter().copied());
        let here = by_packet(ours.iter());
        let packets: BTreeSet<u64> = theirs.keys().chain(here.keys()).copied().collect();
        let fates = |of: &BTreeMap<u64, Vec<&Row>>, packet: u64| -> Vec<String> {
            of.get(&packet).into_iter().flatten().map(|row| in_words(row)).collect()
        };
        let mut found: Vec<(Instant, u64, [Vec<String>; 2])> = packets
            .into_iter()
            .filter_map(|packet| {
                let both = [fates(&theirs, packet), fates(&here, packet)];
                let times = [&theirs, &here].into_iter().filter_map(|of| of.get(&packet)?.first());
                (both[0] != both[1]).then_some((times.map(|row| time(row)).min()?, packet, both))
            })
            .collect();
        // Lengths, states and operations are found in one pass over the rows, so the times must
        // ascend.
        found.sort_by_key(|&(at, packet, _)| (at, packet));
        let times: Vec<Instant> = found.iter().map(|&(at, ..)| at).collect();
        let lengths = self.lengths(&times, recorded.iter().copied());
        // With another fate, both sides hold different packets from then on.
        let our_lengths = self.lengths(&times, ours.iter());
        let states = self.states(&times);
        let operations = self.operations(&times);
        let contexts = lengths.into_iter().zip(our_lengths).zip(states.into_iter().zip(operations));
        found
            .into_iter()
            .zip(contexts)
            .map(|((at, packet, both), ((recorded_state, here_state), (state, before)))| {
                let [recorded, here] = both.map(|fates| match fates.as_slice() {
                    [] => "nothing".to_owned(),
                    fates => fates.join(", "),
                });
                let t_ns = at.as_nanos();
                Difference { packet, t_ns, recorded, here, before, recorded_state, here_state, state }
            })
            .collect()
    }

    /// Returns what is queued just before each of `times`, given the fates of one side.
    fn lengths<'a>(&self, times: &[Instant], fates: impl Iterator<Item = &'a Row>) -> Vec<Queued> {
        let mut fates = fates.peekable();
        let mut arrivals = self.rows.iter().filter(|row| matches!(row, Row::Arrival { .. })).peekable();
        let mut waiting: BTreeMap<u64, u32> = BTreeMap::new();
        let mut queued_bytes = 0_u64;
        let mut lengths = Vec::new();
        for &at in times {
            while let Some(Row::Arrival { seq, bytes, .. }) = arrivals.next_if(|row| time(row) < at) {
                waiting.insert(*seq, *bytes);
                queued_bytes += u64::from(*bytes);
            }
            while let Some(Row::Exit { seq, .. } | Row::Drop { seq, .. }) =
                fates.next_if(|row| time(row) < at)
            {
                // A copy that netem made has the number of its original and may leave after it.
                queued_bytes -= u64::from(waiting.remove(seq).unwrap_or(0));
            }
            lengths.push(Queued { queued_packets: waiting.len() as u64, queued_bytes });
        }
        lengths
    }

    /// Returns the discipline's own values just before each of `times`.
    fn states(&self, times: &[Instant]) -> Vec<Map<String, Value>> {
        let at = |time: &Instant| *time + self.origin();
        let times: Vec<Instant> = times.iter().map(at).collect();
        let probe = |qdisc| Probe { qdisc, times: times.into_iter().peekable(), seen: Vec::new() };
        let mut probe = self.replay_in(probe, |_| ()).qdisc;
        // A difference may be later than the last call.
        probe.look(Instant::MAX);
        probe.seen
    }

    /// Returns the recorded operations just before each of `times`.
    fn operations(&self, times: &[Instant]) -> Vec<Vec<String>> {
        let words: Vec<(Instant, &Row)> = self
            .rows
            .iter()
            .filter(|row| {
                matches!(row, Row::Arrival { .. } | Row::Exit { .. } | Row::Drop { .. } | Row::Change { .. })
            })
            .map(|row| (time(row), row))
            .collect();
        let before = |at: &Instant| {
            let end = words.partition_point(|(time, _)| time < at);
            // The first packets have fewer operations before them.
            words[end.saturating_sub(OPERATIONS)..end].iter().map(|(_, row)| in_words(row)).collect()
        };
        times.iter().map(before).collect()
    }
}

/// A discipline that notes its values at certain times.
struct Probe<I: Iterator<Item = Instant>> {
    qdisc: AnyQdisc<Arrival>,
    times: std::iter::Peekable<I>,
    seen: Vec<Map<String, Value>>,
}

impl<I: Iterator<Item = Instant>> Probe<I> {
    /// Notes the values before a call at `now`.
    fn look(&mut self, now: Instant) {
        while let Some(at) = self.times.next_if(|at| *at <= now) {
            let seen = Observation::from_qdisc(&self.qdisc, at);
            self.seen
                .push(seen.gauges.iter().map(|(name, gauge)| ((*name).to_owned(), plain(*gauge))).collect());
        }
    }
}

impl<I: Iterator<Item = Instant>> Qdisc<Arrival> for Probe<I> {
    type Config = AnyConfig;

    fn enqueue(&mut self, now: Instant, packet: Arrival, drops: &mut impl Drops<Arrival>) {
        self.look(now);
        self.qdisc.enqueue(now, packet, drops);
    }

    fn dequeue(&mut self, now: Instant, drops: &mut impl Drops<Arrival>) -> Option<Arrival> {
        self.look(now);
        self.qdisc.dequeue(now, drops)
    }

    fn next_event(&self, now: Instant) -> Option<Instant> {
        self.qdisc.next_event(now)
    }

    fn len(&self) -> usize {
        self.qdisc.len()
    }

    fn backlog(&self) -> u64 {
        self.qdisc.backlog()
    }

    fn stats(&self) -> Stats {
        self.qdisc.stats()
    }

    fn reconfigure(&mut self, now: Instant, config: AnyConfig, drops: &mut impl Drops<Arrival>) {
        self.look(now);
        self.qdisc.reconfigure(now, config, drops);
    }

    fn config(&self) -> AnyConfig {
        self.qdisc.config()
    }

    fn purge(&mut self, now: Instant, drops: &mut impl Drops<Arrival>) {
        self.qdisc.purge(now, drops);
    }
}

#[expect(clippy::cast_precision_loss, reason = "results are given in floating point")]
fn plain(gauge: Gauge) -> Value {
    match gauge {
        Gauge::Number(number) => json!(number),
        Gauge::Signed(number) => json!(number),
        Gauge::Time(span) => json!(span.as_nanos() as f64 / 1e9),
        Gauge::Overdue(span) => json!(-(span.as_nanos() as f64) / 1e9),
        Gauge::Fraction(part) => json!(part),
        Gauge::Flag(flag) => json!(flag),
        _ => Value::Null,
    }
}

fn by_packet<'a>(rows: impl Iterator<Item = &'a Row>) -> BTreeMap<u64, Vec<&'a Row>> {
    let mut of: BTreeMap<u64, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        if let Row::Exit { seq, .. } | Row::Drop { seq, .. } = row {
            // Copies of netem have the number of their original, so a packet may have several
            // fates.
            of.entry(*seq).or_default().push(row);
        }
    }
    of
}

fn time(row: &Row) -> Instant {
    match row {
        Row::Arrival { t, .. } | Row::Exit { t, .. } | Row::Drop { t, .. } | Row::Change { t, .. } => *t,
        _ => Instant::ZERO,
    }
}

/// Describes an operation. The reason of a drop is left out, since a recording may lack it.
fn in_words(row: &Row) -> String {
    match row {
        Row::Arrival { t, seq, flow, bytes, .. } => {
            format!("packet {seq} ({bytes} bytes, flow {flow}) arrives at {} ns", t.as_nanos())
        }
        Row::Exit { t, seq, bytes, tos } => {
            // The low two bits of the TOS byte are the ECN field (RFC 3168, section 5).
            let marked = if tos & 3 == 3 { ", CE" } else { "" };
            format!("packet {seq} ({bytes} bytes{marked}) leaves at {} ns", t.as_nanos())
        }
        Row::Drop { t, seq, .. } => format!("packet {seq} is dropped at {} ns", t.as_nanos()),
        Row::Change { t, command } => format!("change at {} ns: {command}", t.as_nanos()),
        _ => String::new(),
    }
}

/// Returns the comparisons as text: a line for each recording, and its first differences.
pub(super) fn table(comparisons: &[Comparison]) -> String {
    let mut text = String::new();
    let width = comparisons.iter().map(|comparison| comparison.file.len()).max().unwrap_or(0);
    // Writing to a string cannot fail.
    for Comparison { file, qdisc, packets, equal, first_difference, differences, whose } in comparisons {
        let verdict = if *equal { "equal" } else { "DIFFERS" };
        let file = printable::line(file);
        let _ = writeln!(text, "{file:width$}  {packets:>7} packets  {verdict:7}  {qdisc}");
        let Some(first) = first_difference else { continue };
        if differences.is_empty() {
            let _ = writeln!(text, "  Every packet has the same fate, but the order differs: {first}");
            continue;
        }
        let count = differences.len();
        let fates = if count == 1 {
            "1 packet has another fate".to_owned()
        } else {
            format!("{count} packets have other fates")
        };
        let more =
            if count > LISTED { format!("; the first {LISTED} (--json lists all)") } else { String::new() };
        let _ = writeln!(text, "  {fates}{more}:");
        for difference in differences.iter().take(LISTED) {
            difference.write(whose, &mut text);
        }
    }
    let equal = comparisons.iter().filter(|comparison| comparison.equal).count();
    let _ = writeln!(text, "{equal} of {} recordings equal, packet by packet", comparisons.len());
    text
}

/// Returns the verdict about another queue as text. Only the first difference is one of its code;
/// later ones follow from it.
pub(super) fn verdict(comparison: &Comparison) -> String {
    let Comparison { qdisc, packets, differences, first_difference, whose, .. } = comparison;
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = match (first_difference, differences.first()) {
        (None, _) => writeln!(text, "equal: all {packets} packets have the recorded fates of {qdisc}"),
        (Some(first), None) => writeln!(text, "DIFFERS in the order only: {first}"),
        (Some(_), Some(first)) => {
            let count = differences.len();
            let _ = writeln!(
                text,
                "DIFFERS: {count} of {packets} packets have other fates than in {qdisc}; the first:"
            );
            first.write(whose, &mut text);
            writeln!(text)
        }
    };
    text
}

impl Difference {
    /// Writes the difference; `whose` are the fates that are not the recorded ones.
    fn write(&self, whose: &str, text: &mut String) {
        let Self { packet, recorded, here, before, recorded_state, here_state, state, .. } = self;
        let queued = |side: &Queued| {
            let packets = if side.queued_packets == 1 { "packet" } else { "packets" };
            format!("{} {packets}, {} bytes", side.queued_packets, side.queued_bytes)
        };
        let values: Vec<String> = state.iter().map(|(name, value)| format!("{name} {value}")).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "\n  packet {packet}");
        for operation in before {
            let _ = writeln!(text, "    before    {}", printable::line(operation));
        }
        let _ = writeln!(text, "    recorded  {recorded}  (queued: {})", queued(recorded_state));
        let _ = writeln!(text, "    {whose:8}  {here}  (queued: {})", queued(here_state));
        if !values.is_empty() {
            let _ = writeln!(text, "    state     {}", values.join(", "));
        }
    }
}

/// Differences that the text lists for each recording.
const LISTED: usize = 10;
/// Recorded operations shown before a difference.
const OPERATIONS: usize = 3;
